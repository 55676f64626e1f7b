//! The departures of a load: most of its messages go one way, and only their count and their schedule lag are kept.
//! Between the reading of the clock and the send call there is nothing.

use measure::method::{Pacing, Schedule};
use measure::recorder::Held;
use measure::unit::{Instant, Nanos};
use protocol::link::{Fault, Link};
use protocol::native::header::Flags;
use protocol::wire::Wire;

use super::lane::Lane;
use super::{AT_ONCE, Ended, QUIET, Windowed};
use crate::engine::edge::Edges;
use crate::engine::slip;

/// While a reply is awaited, so many calls send before the sockets are looked at. A call takes about 2 us over loopback,
/// so a reply waits for its stamp 4 us on average and 8 at the most; a look that finds nothing costs a tenth of that
/// call, so one after each would cost a tenth of the rate, and one after four a fortieth.
const FEW: usize = 4;
/// A load that ends one way asks the peer once more so often, in case that too is lost.
const MARKS: u32 = 3;
/// Longest wait for the answer to each of them, or the timeout where that is shorter.
const MARK: Nanos = Nanos::millis(300);

impl<L: Link, W: Wire> Windowed<'_, L, W> {
    /// Sends what is due by now, until the sockets have to be looked at. Returns whether more is due: then there is
    /// nothing to wait for.
    pub(super) fn depart_load(&mut self, now: &mut Instant, edges: &Edges) -> Result<bool, Ended> {
        let lanes = self.lanes.len();
        let mut expecting = self.lanes.iter().any(|lane| lane.requests.waiting() > 0);
        let (mut calls, mut idle) = (0, 0);
        let batch = self.load.and_then(|load| load.batch);
        while idle < lanes {
            let turn = self.first;
            let Some(intended) = self.leaves_next(turn, now, calls > 0, edges)? else {
                idle += 1;
                self.first = self.lane_behind(turn);
                continue;
            };
            if calls >= if expecting { FEW } else { AT_ONCE } {
                return Ok(true);
            }
            let asks = self.asks_next(turn);
            let due = intended.is_none_or(|intended| intended <= *now);
            *now = match batch {
                Some(batch) if due && !asks => self.send_batch(turn, batch.messages as usize, *now, edges)?,
                _ => {
                    let sent = if asks { self.send(turn, intended)? } else { self.send_one_way(turn, intended)? };
                    self.turn_from(turn, intended);
                    sent
                }
            };
            calls += 1;
            idle = 0;
            expecting |= asks;
            if edges.due(*now) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A message left a lane, or several in one call: connections take turns, so that they leave in the order in which
    /// they were due however late that is. A burst is one connection's.
    #[inline]
    pub(super) fn turn_from(&mut self, turn: usize, intended: Option<Instant>) {
        let bursts = matches!(self.told.method.schedule, Schedule::Bursts { .. });
        if self.lanes.len() > 1 && !(bursts && self.lanes[turn].due.peek() == intended) {
            self.first = self.lane_behind(turn);
        }
    }

    /// The lane whose turn it is behind this one.
    #[inline]
    pub(super) fn lane_behind(&self, turn: usize) -> usize {
        if turn + 1 < self.lanes.len() { turn + 1 } else { 0 }
    }

    /// The intended instant of the next message of a lane, where that may leave at `now`. `stale`: a call was made since.
    #[inline]
    #[expect(clippy::option_option, reason = "whether it leaves, and whether it was scheduled")]
    fn leaves_next(
        &mut self,
        turn: usize,
        now: &mut Instant,
        stale: bool,
        edges: &Edges,
    ) -> Result<Option<Option<Instant>>, Ended> {
        let intended = if self.scheduled { self.lanes[turn].due.peek() } else { None };
        if let Some(due) = intended {
            // The call before has taken its time: at a high rate the next is due by then, or almost. One reading of the
            // clock tells, where a whole turn would be as long as a look at the socket.
            if due > *now && stale {
                *now = self.links[turn].now();
            }
            let soon = if stale && self.spins() { now.after(QUIET) } else { *now };
            if due > soon || due >= edges.end() {
                return Ok(None);
            }
        }
        if self.budget == 0 {
            return Ok(None);
        }
        let (lane, now) = (&self.lanes[turn], *now);
        if lane.blocked {
            let blocked = !self.links[turn].flush().map_err(Ended::Broken)?;
            self.lanes[turn].blocked = blocked;
            if blocked {
                self.hold(Held::Socket, now);
                return Ok(None);
            }
        }
        if self.lanes[turn].requests.waiting() >= self.window && self.asks_next(turn) {
            self.hold(Held::Cap, now);
            return Ok(None);
        }
        self.release(now);
        Ok(Some(intended))
    }

    /// Returns true where the next departure may be awaited by reading the clock alone: no other lane waits.
    #[inline]
    fn spins(&self) -> bool {
        self.lanes.len() == 1 && self.told.method.pacing != Pacing::Sleep
    }

    #[inline]
    pub(super) fn asks_next(&self, turn: usize) -> bool {
        let lane = &self.lanes[turn];
        self.load.is_none_or(|load| lane.wire.asks(lane.next_number(), load.reply_every))
    }

    /// Sends the next message of a lane, not before its intended instant, whether it asks for a reply or not.
    #[inline]
    pub(super) fn send_next(&mut self, turn: usize, intended: Option<Instant>) -> Result<Instant, Ended> {
        let sent = if self.asks_next(turn) { self.send(turn, intended) } else { self.send_one_way(turn, intended) };
        self.turn_from(turn, intended);
        sent
    }

    /// As [`Self::send`], of a message that nothing comes back to.
    fn send_one_way(&mut self, turn: usize, intended: Option<Instant>) -> Result<Instant, Ended> {
        let (link, lane) = (&mut self.links[turn], &mut self.lanes[turn]);
        let seq = lane.requests.take_number();
        let length = lane.length;
        lane.wire.prepare(&mut lane.request[..length], seq, Flags::SILENT);
        lane.advance();
        lane.trails = true;
        self.budget -= 1;
        let due = intended.unwrap_or(Instant(0));
        let mut sent = link.now();
        while sent < due {
            link.spin(due);
            sent = link.now();
        }
        let result = link.send(&lane.request[..length]);
        (self.latest, self.sent) = (sent, sent);
        match result {
            Ok(()) => {
                self.recorder.one_way(slip(intended, sent));
                lane.blocked = !link.flush().map_err(Ended::Broken)?;
            }
            Err(fault) => self.one_way_not_sent(turn, length, slip(intended, sent), fault)?,
        }
        Ok(sent)
    }

    /// An error of the send call may be told of a message before: then this one was not sent, but can be.
    #[cold]
    fn one_way_not_sent(&mut self, turn: usize, length: usize, slip: Option<Nanos>, fault: Fault) -> Result<(), Ended> {
        if fault.ends_the_run() {
            self.recorder.one_way_failed(slip);
            return Err(Ended::Broken(fault));
        }
        if !matches!(fault, Fault::Refused(_)) {
            if fault == Fault::LeftOut {
                self.lanes[turn].requests.give_back();
            }
            self.recorder.one_way_failed(slip);
            return Ok(());
        }
        self.refused(turn, fault)?;
        match self.links[turn].send(&self.lanes[turn].request[..length]) {
            Ok(()) => self.recorder.one_way(slip),
            Err(again) => {
                self.recorder.one_way_failed(slip);
                if again.ends_the_run() {
                    return Err(Ended::Broken(again));
                }
            }
        }
        Ok(())
    }

    /// Sends the one-way messages of a lane that are due by `now`, up to `most` and to the next that asks for a reply or
    /// has another length, in as few calls as the link can. None waits for another: those that are not due yet are left.
    fn send_batch(&mut self, turn: usize, most: usize, now: Instant, edges: &Edges) -> Result<Instant, Ended> {
        let length = self.lanes[turn].length;
        self.gather(turn, length, most, now, edges);
        let count = self.batch.len();
        let mut gone = 0;
        let mut sent = now;
        while gone < count {
            let (link, lane) = (&mut self.links[turn], &mut self.lanes[turn]);
            let rest = &lane.together.messages[gone * length..count * length];
            sent = link.now();
            let taken = if count - gone == 1 { link.send(rest).map(|()| 1) } else { link.send_many(rest, length) };
            // A fault is counted for the first message; the others continue.
            let passed = taken.unwrap_or(1).clamp(1, count - gone);
            for intended in &self.batch[gone..gone + passed] {
                match taken {
                    Ok(_) => self.recorder.one_way(slip(*intended, sent)),
                    Err(_) => self.recorder.one_way_failed(slip(*intended, sent)),
                }
            }
            gone += passed;
            (self.latest, self.sent) = (sent, sent);
            if let Err(fault) = taken {
                self.refused(turn, fault)?;
            }
        }
        self.turn_from(turn, self.batch.last().copied().flatten());
        Ok(sent)
    }

    /// Prepares the messages of a batch, at least one, and notes when each was due.
    fn gather(&mut self, turn: usize, length: usize, most: usize, now: Instant, edges: &Edges) {
        let reply_every = self.load.map_or(1, |load| load.reply_every);
        let (lane, end) = (&mut self.lanes[turn], edges.end());
        self.batch.clear();
        while self.batch.len() < most && self.budget > 0 {
            let intended = lane.due.peek();
            let due = intended.is_none_or(|due| due <= now && due < end);
            if !due || lane.length != length || lane.wire.asks(lane.next_number(), reply_every) {
                break;
            }
            let seq = lane.requests.take_number();
            let Lane { together, wire, request, .. } = lane;
            wire.prepare(together.place(self.batch.len(), length, request), seq, Flags::SILENT);
            lane.advance();
            self.batch.push(intended);
            self.budget -= 1;
        }
        lane.trails = true;
    }

    /// A load that ended one way asks the peer once more on each lane, unrecorded: its answer says that the peer has read
    /// all that came before, so that its counts at the end hold all of it.
    pub(super) fn mark_ends(&mut self) -> Result<(), Ended> {
        if !W::MARKS_WARM_UP {
            return Ok(());
        }
        for turn in 0..self.lanes.len() {
            let mut left = MARKS;
            while self.lanes[turn].trails && left > 0 && !self.told.stop.requested() {
                left -= 1;
                self.mark_end(turn)?;
            }
        }
        Ok(())
    }

    fn mark_end(&mut self, turn: usize) -> Result<(), Ended> {
        let (link, lane) = (&mut self.links[turn], &mut self.lanes[turn]);
        let until = link.now().after(MARK.min(self.told.method.timeout_ns));
        while lane.blocked {
            lane.blocked = !link.flush().map_err(Ended::Broken)?;
            if lane.blocked {
                if link.now() >= until || self.told.stop.requested() {
                    return Ok(());
                }
                L::wait_any(std::slice::from_mut(link), until);
            }
        }
        let seq = lane.requests.take_number();
        lane.marker = Some(seq);
        lane.wire.prepare(&mut lane.request, seq, Flags::WARM_UP);
        match link.send(&lane.request).and_then(|()| link.flush()) {
            Ok(whole) => lane.blocked = !whole,
            Err(fault) if fault.ends_the_run() => return Err(Ended::Broken(fault)),
            Err(_) => return Ok(()),
        }
        while self.lanes[turn].marker.is_some() && self.links[turn].now() < until && !self.told.stop.requested() {
            let (link, lane) = (&mut self.links[turn], &mut self.lanes[turn]);
            if lane.blocked {
                lane.blocked = !link.flush().map_err(Ended::Broken)?;
            }
            match link.receive(&mut lane.reply, until) {
                Ok(Some(length)) => {
                    let received = link.now();
                    self.arrived(turn, length, received);
                }
                Ok(None) => {}
                Err(fault) => self.refused(turn, fault)?,
            }
        }
        if self.lanes[turn].marker.take().is_none() {
            self.lanes[turn].trails = false;
        }
        Ok(())
    }
}
