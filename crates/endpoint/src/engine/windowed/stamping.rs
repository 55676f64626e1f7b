//! Exchanges that kernel stamps split into their parts: one of a thread at a time, in three steps.

use measure::event::Event;
use measure::unit::Instant;
use protocol::link::{Departure, Fault, Link, Stamped};
use protocol::wire::Wire;

use super::{Ended, Windowed};
use crate::engine::edge::Edges;
use crate::engine::spell::Spells;
use crate::engine::split::StampedExchange;

/// A stamped exchange on its way through its three steps; at most one of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stamp {
    /// None wanted now.
    Idle,
    /// The next departure of this lane announces it.
    Announce(usize),
    /// The departure of this lane after that is stamped.
    Send(usize),
    /// It left with this number; its reply is awaited.
    Await {
        lane: usize,
        seq: u64,
        sent: u64,
        departure: Departure,
        /// None of this spell comes after it.
        last: bool,
    },
}

impl<L: Link, W: Wire> Windowed<'_, L, W> {
    #[cold]
    pub(super) fn receive_one_stamped(&mut self, turn: usize) -> Result<bool, Ended> {
        let (link, lane) = (&mut self.links[turn], &mut self.lanes[turn]);
        match link.try_receive_stamped(&mut lane.reply) {
            Ok(Some(reply)) => {
                let received = link.now();
                let answered = self.arrived(turn, reply.length, received);
                self.settle_stamp(turn, answered, reply, received);
                Ok(true)
            }
            Ok(None) => {
                // Stamps of the departure wake the poll too: they are taken so that it can sleep again.
                let news = link.departure();
                if let Stamp::Await { departure, .. } = &mut self.stamp {
                    departure.sched = departure.sched.or(news.sched);
                    departure.driver = departure.driver.or(news.driver);
                }
                Ok(false)
            }
            Err(fault) => self.refused(turn, fault).map(|()| true),
        }
    }

    fn settle_stamp(&mut self, turn: usize, answered: Option<(u64, Instant)>, reply: Stamped, received: Instant) {
        let Stamp::Await { lane, seq, sent, departure, last } = self.stamp else { return };
        let Some((number, left)) = answered else { return };
        if lane != turn || number != seq {
            return;
        }
        self.stamp = if last { Stamp::Idle } else { Stamp::Announce(turn) };
        let news = self.links[turn].departure();
        let departure = Departure { sched: departure.sched.or(news.sched), driver: departure.driver.or(news.driver) };
        let lane = &self.lanes[turn];
        let peer = lane.wire.peer_stamps(&lane.reply[..reply.length]);
        // The first of a spell may come before the kernel stamps.
        if let (Some(round_trip), Some(_)) = (received.since(left), reply.kernel) {
            self.spells.stamped();
            let settled = self.splits.add(StampedExchange { sent, departure, reply, peer, round_trip });
            if let Some(parts) = settled.filter(|_| self.told.samples) {
                self.outlet.push(Event::Split(parts));
            }
        }
    }

    pub(super) fn plan_stamp(&mut self, now: Instant, edges: &mut Edges) {
        if !edges.stamp_due(now) {
            return;
        }
        let next = match (self.stamp, self.spell) {
            (Stamp::Idle, None) => {
                // The connections in turn; their number has no common factor with the clock.
                let turn = (now.0 / 1_024) as usize % self.lanes.len();
                self.links[turn].stamp_arrivals(true);
                (self.stamp, self.spell) = (Stamp::Announce(turn), Some(turn));
                self.spells.begin(now)
            }
            (Stamp::Idle, Some(turn)) => {
                if self.spells.pauses() {
                    self.links[turn].stamp_arrivals(false);
                }
                self.spell = None;
                self.spells.end(now)
            }
            _ => Spells::look(now),
        };
        edges.set_stamp(next);
    }
}

pub(super) fn stamped(lane: usize, seq: u64, sent: Result<Option<u64>, Fault>, last: bool) -> Stamp {
    match sent {
        Ok(Some(sent)) => Stamp::Await { lane, seq, sent, departure: Departure::default(), last },
        _ => Stamp::Idle,
    }
}
