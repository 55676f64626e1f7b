//! Between departures: waits for the next event, and at the end for the replies that are still out.

use measure::method::Pacing;
use measure::unit::{Instant, Nanos};
use protocol::link::Link;
use protocol::wire::Wire;

use super::stamping::Stamp;
use super::{Ended, QUIET, Windowed};
use crate::engine::edge::Edges;

impl<L: Link, W: Wire> Windowed<'_, L, W> {
    /// Next departure that the limit on requests in flight allows: its time, and its lane; `None` when each lane waits
    /// for room.
    fn next_due(&self) -> Option<(Instant, usize)> {
        if self.volley.is_some() {
            let turn = self.turn_of_volley().filter(|turn| self.lanes[*turn].takes())?;
            return self.lanes[turn].due.peek().map(|due| (due, turn));
        }
        self.lanes
            .iter()
            .enumerate()
            .filter(|(turn, lane)| lane.takes() && (lane.requests.waiting() < self.window || !self.asks_next(*turn)))
            .filter_map(|(turn, lane)| lane.due.peek().map(|due| (due, turn)))
            .min()
    }

    /// Waits until something comes, something is due, or something else has to be looked at.
    pub(super) fn wait(&mut self, now: Instant, edges: &Edges) -> Result<(), Ended> {
        // Requests that ended by their timeout have made room.
        if !self.scheduled && self.turn_of_volley().is_some_and(|turn| self.lanes[turn].takes()) {
            return Ok(());
        }
        let gap = self.gap.filter(|_| self.budget > 0).map_or(Instant::NEVER, |gap| gap.end(self.sent));
        let limit = edges.next().min(self.next_expiry()).min(gap);
        let next = if self.scheduled { self.next_due() } else { None };
        let Some(only) = self.sole_blocking_lane() else { return self.wait_for_any(now, next, limit) };
        // Back to back on one connection there is nothing to do but wait for its reply: one call instead of two.
        let (link, lane) = (&mut self.links[only], &mut self.lanes[only]);
        match link.receive(&mut lane.reply, limit) {
            Ok(Some(length)) => {
                let received = link.received();
                self.arrived(only, length, received);
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(fault) => self.refused(only, fault),
        }
    }

    /// The only lane on which anything is to be done, where that is to wait.
    pub(super) fn sole_blocking_lane(&self) -> Option<usize> {
        let only = if self.lanes.len() == 1 { Some(0) } else { self.lane_of_volley() };
        only.filter(|&only| !self.scheduled && self.stamp == Stamp::Idle && !self.lanes[only].blocked)
    }

    fn wait_for_any(&mut self, now: Instant, next: Option<(Instant, usize)>, limit: Instant) -> Result<(), Ended> {
        let wake = self.pacer.wake(next.map_or(Instant::NEVER, |(due, _)| due));
        if now < wake.min(limit) {
            let until = wake.min(limit);
            L::wait_any(&mut self.links, until);
            self.looked = true;
            let now = self.links[0].now();
            if until == wake && now >= wake && !self.polling {
                self.pacer.woke(wake, now);
            }
            return Ok(());
        }
        self.spin_towards(now, next, limit)
    }

    /// The last stretch before a departure. With replies outstanding the sockets are polled until shortly before;
    /// otherwise only the clock is read, by [`Self::send`] itself where nothing else comes before the departure.
    fn spin_towards(&mut self, mut now: Instant, next: Option<(Instant, usize)>, limit: Instant) -> Result<(), Ended> {
        let until = next.map_or(limit, |(due, _)| due.min(limit));
        if self.told.method.pacing == Pacing::Sleep {
            return Ok(());
        }
        let expecting = self.lanes.iter().any(|lane| lane.requests.waiting() > 0);
        if expecting && now < until.before(QUIET) {
            return Ok(());
        }
        if let Some((_, turn)) = next.filter(|(due, _)| *due < limit) {
            // One that finds no room is no departure any more: the next turn waits for a reply.
            if self.is_full(turn, now) {
                return Ok(());
            }
            if self.held.is_some() {
                self.release(now);
            }
            return self.send_next(turn, Some(until)).map(|_| ());
        }
        while now < until {
            self.links[0].spin(until);
            now = self.links[0].now();
        }
        Ok(())
    }

    /// Departures are over: replies still out are waited for, each until its timeout, unless there is no point.
    pub(super) fn drain(&mut self, edges: &mut Edges, ended: Ended) -> Ended {
        if ended != Ended::Complete {
            return ended;
        }
        let last_call = self.linger().map_or(Instant::NEVER, |linger| self.links[0].now().after(linger));
        while self.lanes.iter().any(|lane| lane.requests.waiting() > 0) {
            if self.told.stop.requested() {
                // Requests still in flight have no result, so the run is not complete.
                return Ended::Stopped;
            }
            if let Err(broken) = self.flush_all() {
                return broken;
            }
            let took = match self.receive_all() {
                Ok(took) => took,
                Err(broken) => return broken,
            };
            let now = self.links[0].now();
            if now >= last_call {
                self.give_up();
                break;
            }
            self.expire(now);
            if edges.due(now) {
                // The end has been passed already; seconds still go by.
                let _passed = edges.pass(now, &self.told, &mut self.recorder, &mut self.outlet);
            }
            if !took {
                let until = self.next_expiry().min(last_call).min(now.after(crate::stop::GLANCE));
                L::wait_any(&mut self.links, until);
            }
        }
        match self.flush_rest().and_then(|()| self.mark_ends()) {
            Ok(()) => ended,
            Err(broken) => broken,
        }
    }

    /// Longest wait for replies behind the last departure; `None`: each until its timeout.
    fn linger(&self) -> Option<Nanos> {
        let stop = &self.told.method.stop;
        match (stop.linger_answered_ns, self.recorder.response().max()) {
            (Some(least), Some(longest)) => Some(least.max(Nanos(longest.0.saturating_mul(2)))),
            _ => stop.linger_ns,
        }
    }

    /// The last message of a stream, of which nothing comes back, may have been taken in part: its rest goes too, as long
    /// as a request would be waited for.
    fn flush_rest(&mut self) -> Result<(), Ended> {
        let until = self.links[0].now().after(self.told.method.timeout_ns);
        loop {
            self.flush_all()?;
            let now = self.links[0].now();
            let left = self.lanes.iter().any(|lane| lane.blocked);
            if !left || now >= until || self.told.stop.requested() {
                return Ok(());
            }
            L::wait_any(&mut self.links, until.min(now.after(crate::stop::GLANCE)));
        }
    }
}
