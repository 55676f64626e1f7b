//! Departures: each message leaves once it is due and the limit on requests in flight allows it, never before its
//! scheduled time.

use measure::event::Fate;
use measure::recorder::Held;
use measure::unit::Instant;
use protocol::link::{Fault, Link};
use protocol::native::header::Flags;
use protocol::wire::Wire;

use super::stamping::{Stamp, stamped};
use super::{AT_ONCE, Ended, Windowed};
use crate::engine::edge::Edges;
use crate::engine::gap::Gap;
use crate::engine::{fate_of, refusals_end, sample, slip};

impl<L: Link, W: Wire> Windowed<'_, L, W> {
    /// Sends everything that is due and fits its window. Returns whether there is more of it.
    ///
    /// Connections take turns from the one behind the last that sent: what is overdue leaves in the order in which it was due, and none is always
    /// the last of those that a stall of this host has held up.
    pub(super) fn depart(&mut self, now: &mut Instant, edges: &Edges) -> Result<bool, Ended> {
        let lanes = self.lanes.len();
        let (mut idle, mut left) = (0, lanes * AT_ONCE);
        while idle < lanes && left > 0 {
            let turn = self.first;
            let Some(intended) = self.departs_next(turn, *now, edges)? else {
                idle += 1;
                self.first = self.lane_behind(turn);
                continue;
            };
            if self.held.is_some() {
                self.release(*now);
            }
            *now = self.send(turn, intended)?;
            if self.scheduled {
                self.turn_from(turn, intended);
            }
            if edges.due(*now) {
                return Ok(false);
            }
            (idle, left) = (0, left - 1);
        }
        Ok(false)
    }

    /// The intended instant of the next request of a lane, where that may leave at `now`.
    #[inline]
    #[expect(clippy::option_option, reason = "whether it leaves, and whether it was scheduled")]
    fn departs_next(&mut self, turn: usize, now: Instant, edges: &Edges) -> Result<Option<Option<Instant>>, Ended> {
        let lane = &mut self.lanes[turn];
        if lane.blocked {
            lane.blocked = !self.links[turn].flush().map_err(Ended::Broken)?;
        }
        if self.budget == 0 {
            return Ok(None);
        }
        if lane.blocked {
            self.hold_blocked(turn, now, edges);
            return Ok(None);
        }
        let room = |out: u64| out < self.window;
        let lets = |gap: Gap| gap.lets(room(lane.behind()), self.sent, now);
        if !self.gap.map_or(room(lane.requests.waiting()), lets) {
            self.hold_connecting(turn, now, edges);
            return Ok(None);
        }
        let intended = if self.scheduled {
            match lane.due.peek() {
                Some(due) if due <= now && due < edges.end() => Some(due),
                _ => return Ok(None),
            }
        } else {
            None
        };
        Ok((!self.is_full(turn, now)).then_some(intended))
    }

    /// True where the peer takes no more at once of this lane: its next request waits, and in an open loop is noted as held back.
    #[inline]
    pub(super) fn is_full(&mut self, turn: usize, now: Instant) -> bool {
        let lane = &mut self.lanes[turn];
        lane.full = !self.links[turn].has_room(lane.requests.waiting());
        if lane.full && self.open {
            self.hold(Held::Cap, now);
        }
        self.lanes[turn].full
    }

    /// In an open loop of handshakes a connection makes one after the other: that holds the due ones back, not this
    /// host.
    #[cold]
    fn hold_connecting(&mut self, turn: usize, now: Instant, edges: &Edges) {
        if self.told.method.traffic.connects() && self.has_due(turn, now, edges) {
            self.hold(Held::Cap, now);
        }
    }

    /// A socket that takes no more, as where nothing is acknowledged: in an open loop that holds the due ones back, not this host. Loads ask their
    /// links at the end.
    #[cold]
    fn hold_blocked(&mut self, turn: usize, now: Instant, edges: &Edges) {
        if !self.is_load() && self.has_due(turn, now, edges) {
            self.hold(Held::Socket, now);
        }
    }

    /// True where a request of an open loop is due.
    fn has_due(&self, turn: usize, now: Instant, edges: &Edges) -> bool {
        self.open && self.lanes[turn].due.peek().is_some_and(|due| due <= now && due < edges.end())
    }

    /// Sends one request, not before its intended instant. All is ready before that comes, and the reading of the clock
    /// that ends the wait is the send stamp, the last thing before the send call.
    pub(super) fn send(&mut self, turn: usize, intended: Option<Instant>) -> Result<Instant, Ended> {
        if let Some(volley) = &mut self.volley {
            volley.takes(turn);
        }
        let (link, lane) = (&mut self.links[turn], &mut self.lanes[turn]);
        let seq = lane.requests.take_number();
        let length = lane.length;
        lane.trails = false;
        lane.advance();
        self.budget -= 1;
        let flags = match self.stamp {
            Stamp::Announce(wanted) if wanted == turn => Flags::ANNOUNCE,
            Stamp::Send(wanted) if wanted == turn => Flags::STAMPED,
            _ => Flags::NONE,
        };
        let last = flags == Flags::STAMPED && self.spells.is_last(self.latest);
        let ends = if last && self.spells.pauses() { Flags::LAST_STAMPED } else { Flags::NONE };
        lane.wire.prepare(&mut lane.request[..length], seq, flags.with(ends));
        let ready = link.ready();
        if flags == Flags::STAMPED {
            link.departure();
        }
        let due = intended.unwrap_or(Instant(0));
        let mut sent = link.now();
        while sent < due {
            link.spin(due);
            sent = link.now();
        }
        let (result, stamp) = if let Err(fault) = ready {
            (Err(fault), Stamp::Idle)
        } else if flags == Flags::STAMPED {
            let sent_at = link.send_stamped(lane.wire.prepared(&lane.request[..length]));
            (sent_at.map(|_| ()), stamped(turn, seq, sent_at, last))
        } else {
            (
                link.send(lane.wire.prepared(&lane.request[..length])),
                if flags == Flags::ANNOUNCE { Stamp::Send(turn) } else { self.stamp },
            )
        };
        self.stamp = stamp;
        (self.latest, self.sent) = (sent, sent);
        if result == Err(Fault::LeftOut) {
            // A message becomes a request only when it leaves: so far it is none.
            lane.requests.give_back();
            self.recorder.one_way_failed(slip(intended, sent));
            return Ok(sent);
        }
        lane.requests.note(seq, intended, sent, result.is_ok());
        if let Some(gap) = &mut self.gap {
            gap.tried(result.is_ok());
        }
        match result {
            Ok(()) => {
                lane.blocked = !link.flush().map_err(Ended::Broken)?;
            }
            Err(fault) => self.not_sent(turn, seq, intended, sent, fault)?,
        }
        Ok(sent)
    }

    #[cold]
    fn not_sent(
        &mut self,
        turn: usize,
        seq: u64,
        intended: Option<Instant>,
        sent: Instant,
        fault: Fault,
    ) -> Result<(), Ended> {
        let lane = &mut self.lanes[turn];
        let (seq, ordinal) = (seq - lane.base, lane.requests.requests() - 1 - lane.first);
        let (index, fate) = (lane.index, fate_of(fault));
        self.recorder.ended(fate, &mut lane.sequence, ordinal, slip(intended, sent));
        self.recorder.unanswered(fate, sent);
        if self.told.samples {
            let sent = (fate != Fate::SendFailed).then_some(sent);
            self.outlet.push(sample(index, seq, intended, sent, None, fate, None));
        }
        let ended = fault.ends_the_run().then_some(Ended::Broken(fault));
        ended.or_else(|| refusals_end(&self.told, self.recorder.counts(), fault)).map_or(Ok(()), Err)
    }

    /// Sends the rest of messages that did not fit at once, as far as possible without waiting.
    pub(super) fn flush_all(&mut self) -> Result<(), Ended> {
        for (link, lane) in self.links.iter_mut().zip(&mut self.lanes).filter(|(_, lane)| lane.blocked) {
            lane.blocked = !link.flush().map_err(Ended::Broken)?;
        }
        Ok(())
    }
}
