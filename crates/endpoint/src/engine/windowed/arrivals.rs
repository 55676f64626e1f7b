//! Arrivals: the request of a reply, its timeliness, and the results of requests without one.

use measure::event::Fate;
use measure::unit::Instant;
use protocol::link::{Fault, Link};
use protocol::wire::{Reading, Wire};

use super::stamping::Stamp;
use super::{AT_ONCE, Ended, Windowed, given_up};
use crate::engine::outstanding::{Request, State};
use crate::engine::{fate_of, refusals_end, sample, slip};

/// Lanes from which on one look at all of them costs less than a look at each.
const SEVERAL: usize = 3;

impl<L: Link, W: Wire> Windowed<'_, L, W> {
    /// Has the links note which of them have something, unless a wait has just told.
    fn look(&mut self) {
        if !std::mem::take(&mut self.looked) && self.lanes.len() >= SEVERAL {
            L::look_any(&mut self.links);
        }
    }

    /// Takes every reply that is there on lanes where one is awaited. Returns whether one was.
    pub(super) fn receive_expected(&mut self) -> Result<bool, Ended> {
        self.look();
        let mut took = false;
        for turn in 0..self.lanes.len() {
            took |= self.heed_refusals(turn)?;
            for _ in 0..AT_ONCE {
                if self.lanes[turn].requests.waiting() == 0 || !self.receive_one(turn)? {
                    break;
                }
                took = true;
            }
        }
        Ok(took)
    }

    /// Takes every reply that is there. Returns whether one was.
    pub(super) fn receive_all(&mut self) -> Result<bool, Ended> {
        self.look();
        let mut took = false;
        for turn in 0..self.lanes.len() {
            took |= self.heed_refusals(turn)?;
            // A peer that floods us must not keep us from what is due.
            for _ in 0..AT_ONCE {
                if !self.receive_one(turn)? {
                    break;
                }
                took = true;
                // In a window back to back a reply makes room for the next request, which should leave at once.
                if !self.scheduled {
                    break;
                }
                if self.lanes[turn].requests.waiting() == 0 {
                    break;
                }
            }
        }
        Ok(took)
    }

    fn receive_one(&mut self, turn: usize) -> Result<bool, Ended> {
        if matches!(self.stamp, Stamp::Await { lane, .. } if lane == turn) {
            return self.receive_one_stamped(turn);
        }
        let (link, lane) = (&mut self.links[turn], &mut self.lanes[turn]);
        match link.try_receive(&mut lane.reply) {
            Ok(Some(length)) => {
                let received = link.received();
                self.arrived(turn, length, received);
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(fault) => self.refused(turn, fault).map(|()| true),
        }
    }

    /// A message came: whose answer is it, and was it in time? Returns the request it answers and when that left.
    #[inline]
    pub(super) fn arrived(&mut self, turn: usize, length: usize, received: Instant) -> Option<(u64, Instant)> {
        let lane = &mut self.lanes[turn];
        let mut reading = lane.wire.identify(&lane.reply[..length], lane.requests.owed());
        if let (Reading::Reply(seq), Some(expected)) = (reading, lane.expected)
            && expected != length
        {
            reading = Reading::Corrupt(Some(seq));
        }
        let Reading::Reply(seq) = reading else {
            self.unsound(turn, reading);
            return None;
        };
        let request = lane.requests.find(seq);
        let Some(request) = request.filter(|request| request.seq >= lane.base) else {
            self.stale(turn, seq);
            return None;
        };
        if request.state == State::Waiting && received > request.sent.after(self.told.method.timeout_ns) {
            // A wait may end later than it was asked to: what it then brings is late, though nothing had expired yet.
            self.end_early(turn, request, Fate::Late);
            return None;
        }
        match request.state {
            State::Waiting => {
                self.answered(turn, request, received);
                Some((seq, request.sent))
            }
            State::Lost => {
                lane.requests.settle(seq, State::Done);
                self.recorder.came_late();
                self.recorder.heard(received);
                None
            }
            State::Done => {
                self.recorder.duplicated();
                self.recorder.heard(received);
                None
            }
        }
    }

    #[inline]
    fn answered(&mut self, turn: usize, request: Request, received: Instant) {
        self.make_room(turn, received);
        let lane = &mut self.lanes[turn];
        lane.requests.settle(request.seq, State::Done);
        self.recorder.arrived(&mut lane.sequence, request.ordinal - lane.first);
        self.recorder.over(lane.index);
        lane.answered += 1;
        self.latest = received;
        if let Some(gap) = &mut self.gap {
            lane.settle(request.ordinal);
            gap.saw(received.since(request.sent).unwrap_or_default());
        }
        match request.intended {
            Some(due) if self.open => self.recorder.answered_as_scheduled(due, request.sent, received),
            _ => {
                self.recorder.heard(received);
                self.recorder.answered(request.sent, received);
            }
        }
        if self.told.samples {
            self.tell(turn, request, Some(received), Fate::Answered);
        }
    }

    /// A reply to something before the recording began, or to a request long forgotten.
    #[cold]
    fn stale(&mut self, turn: usize, seq: u64) {
        let lane = &mut self.lanes[turn];
        if seq < lane.base {
            lane.requests.settle(seq, State::Done);
        } else if lane.marker == Some(seq) {
            lane.marker = None;
        } else {
            self.recorder.stray();
        }
    }

    #[cold]
    fn unsound(&mut self, turn: usize, reading: Reading) {
        let number = match reading {
            Reading::Corrupt(number) => number,
            Reading::Refused(seq) => return self.refusal(turn, seq),
            Reading::Reply(_) | Reading::Stray => return self.recorder.stray(),
        };
        // An error that does not show its request ends the oldest one in flight.
        let requests = &mut self.lanes[turn].requests;
        let named = number.and_then(|seq| requests.find(seq)).filter(|request| request.state == State::Waiting);
        match named.or_else(|| requests.oldest_waiting()) {
            Some(request) => self.end_early(turn, request, Fate::Corrupt),
            None => self.recorder.stray(),
        }
    }

    /// Somebody refuses this request, which ends by it where it is still waited for.
    #[cold]
    fn refusal(&mut self, turn: usize, seq: u64) {
        let lane = &self.lanes[turn];
        let found = lane.requests.find(seq).filter(|request| request.seq >= lane.base);
        if found.is_some() {
            // A peer that says that it did nothing is heard.
            self.recorder.heard(self.links[turn].now());
        }
        match found.map(|request| (request, request.state)) {
            Some((request, State::Waiting)) => self.end_early(turn, request, Fate::Refused),
            Some((_, State::Lost)) => {
                self.lanes[turn].requests.settle(seq, State::Done);
                self.recorder.came_late();
            }
            Some((_, State::Done)) => self.recorder.duplicated(),
            None => self.stale(turn, seq),
        }
    }

    /// Takes what was found of earlier messages while others were sent. Returns whether there was any.
    fn heed_refusals(&mut self, turn: usize) -> Result<bool, Ended> {
        match self.links[turn].pending_refusal() {
            Some(fault) => self.refused(turn, fault).map(|()| true),
            None => Ok(false),
        }
    }

    /// The link reports an error that belongs to something sent before, and with it all that wait to be told.
    #[cold]
    pub(super) fn refused(&mut self, turn: usize, fault: Fault) -> Result<(), Ended> {
        self.one_refused(turn, fault)?;
        while let Some(more) = self.links[turn].pending_refusal() {
            self.one_refused(turn, more)?;
        }
        Ok(())
    }

    /// The link reports an error that belongs to something sent before: the request it names ends by it, or the oldest
    /// outstanding one where it names none.
    fn one_refused(&mut self, turn: usize, fault: Fault) -> Result<(), Ended> {
        if fault.ends_the_run() {
            return Err(Ended::Broken(fault));
        }
        let blamed = self.links[turn].blamed();
        let requests = &mut self.lanes[turn].requests;
        let named = blamed.map(|seq| requests.find(seq).filter(|request| request.state == State::Waiting));
        match named.unwrap_or_else(|| requests.oldest_waiting()) {
            Some(request) => self.end_early(turn, request, fate_of(fault)),
            None if self.is_load() => self.recorder.one_way_refused(),
            None => {}
        }
        refusals_end(&self.told, self.recorder.counts(), fault).map_or(Ok(()), Err)
    }

    /// One request of a lane is no longer outstanding. In a closed loop the ticks that went by while its window was
    /// full are missed: the next request leaves at the next tick.
    #[inline]
    fn make_room(&mut self, turn: usize, now: Instant) {
        let lane = &mut self.lanes[turn];
        lane.full = false;
        if self.scheduled && !self.open && self.volley.is_none() && lane.requests.waiting() >= self.window {
            let missed = lane.due.skip_to(now);
            self.recorder.ticks_missed(missed);
        }
    }

    fn end_early(&mut self, turn: usize, request: Request, fate: Fate) {
        let now = self.links[turn].now();
        self.make_room(turn, now);
        let lane = &mut self.lanes[turn];
        lane.requests.settle(request.seq, if fate == Fate::Lost { given_up::<W>() } else { State::Done });
        lane.settle(request.ordinal);
        let ordinal = request.ordinal - lane.first;
        self.recorder.ended(fate, &mut lane.sequence, ordinal, slip(request.intended, request.sent));
        self.recorder.unanswered(fate, request.sent);
        if fate.is_reply() {
            self.recorder.heard(now);
        }
        if matches!(self.stamp, Stamp::Await { lane, seq, .. } if lane == turn && seq == request.seq) {
            self.stamp = Stamp::Idle;
            self.splits.interrupted();
        }
        if self.told.samples {
            self.tell(turn, request, None, fate);
        }
    }

    /// Requests whose timeout has passed are lost; they leave their window.
    pub(super) fn expire(&mut self, now: Instant) {
        let timeout = self.told.method.timeout_ns;
        for turn in 0..self.lanes.len() {
            while let Some(request) = self.lanes[turn].requests.overdue(now, timeout) {
                self.end_early(turn, request, Fate::Lost);
            }
        }
    }

    /// Nothing is waited for any longer: what has no answer is lost.
    pub(super) fn give_up(&mut self) {
        for turn in 0..self.lanes.len() {
            while let Some(request) = self.lanes[turn].requests.oldest_waiting() {
                self.end_early(turn, request, Fate::Lost);
            }
        }
    }

    pub(super) fn next_expiry(&mut self) -> Instant {
        let timeout = self.told.method.timeout_ns;
        let expiries = self.lanes.iter_mut().filter_map(|lane| lane.requests.oldest_waiting());
        expiries.map(|request| request.sent.after(timeout)).min().unwrap_or(Instant::NEVER)
    }

    #[cold]
    fn tell(&mut self, turn: usize, request: Request, received: Option<Instant>, fate: Fate) {
        // For a request without an answer, the link's latest reply may be another's.
        let details = if fate == Fate::Answered { self.links[turn].details() } else { None };
        let lane = &self.lanes[turn];
        self.outlet.push(sample(
            lane.index,
            request.seq - lane.base,
            request.intended,
            Some(request.sent),
            received,
            fate,
            details,
        ));
    }
}
