//! What is known of the requests of one connection that may still be answered: those outstanding, those lost whose
//! reply may yet come late, and those answered whose reply may yet come twice.
//!
//! A ring holds the latest; what is overwritten in it while it still matters moves to a map, which is touched only
//! where something is lost or held for long.

use std::collections::BTreeMap;

use measure::unit::{Instant, Nanos};

/// Lost requests remembered beyond the ring.
const REMEMBERED: usize = 4_096;
/// Places of the smallest ring.
const LEAST: usize = 64;

/// One request.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Its number on its connection.
    pub seq: u64,
    /// When it was due, where it was scheduled.
    pub intended: Option<Instant>,
    /// When it was handed to the kernel.
    pub sent: Instant,
    /// How it stands.
    pub state: State,
}

/// How a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Its reply is awaited.
    Waiting,
    /// Its timeout has passed.
    Lost,
    /// It has its end.
    Done,
}

/// The requests of one connection.
#[derive(Debug)]
pub struct Outstanding {
    ring: Vec<Request>,
    /// Waiting or lost, and overwritten in the ring.
    old: BTreeMap<u64, Request>,
    /// Number of the next request.
    next: u64,
    /// In the ring nothing below this is waiting.
    oldest: u64,
    /// Nothing below this is without an answer: what a wire without numbers takes the next reply for.
    owed: u64,
    /// How many are waiting.
    waiting: u64,
}

const UNUSED: Request = Request { seq: u64::MAX, intended: None, sent: Instant(0), state: State::Done };

impl Outstanding {
    /// Room for twice `window`, so that usually nothing is overwritten that matters.
    pub fn new(window: u64) -> Self {
        let places = (window as usize).saturating_mul(2).next_power_of_two().max(LEAST);
        Self { ring: vec![UNUSED; places], old: BTreeMap::new(), next: 0, oldest: 0, owed: 0, waiting: 0 }
    }

    /// How many are waiting.
    #[inline]
    pub fn waiting(&self) -> u64 {
        self.waiting
    }

    /// The oldest request without an answer, or the next one.
    #[inline]
    pub fn owed(&self) -> u64 {
        self.owed
    }

    /// The number of the next request.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Forgets all before the next request: the warm-up is over.
    pub fn begin(&mut self) {
        self.oldest = self.next;
        self.advance_owed();
    }

    /// Takes the next number, making its place free.
    #[inline]
    pub fn take_number(&mut self) -> u64 {
        let seq = self.next;
        self.next += 1;
        let place = self.place(seq);
        if self.ring[place].state != State::Done {
            self.put_aside(place);
        }
        seq
    }

    /// Request `seq` was handed over, or failed to be.
    #[inline]
    pub fn note(&mut self, seq: u64, intended: Option<Instant>, sent: Instant, waiting: bool) {
        let place = self.place(seq);
        self.ring[place] = Request { seq, intended, sent, state: if waiting { State::Waiting } else { State::Done } };
        if waiting {
            self.waiting += 1;
        } else {
            self.advance_owed();
        }
    }

    /// What is known of request `seq`; `None` where it is forgotten, or never was.
    #[inline]
    pub fn find(&self, seq: u64) -> Option<Request> {
        let request = self.ring[self.place(seq)];
        if request.seq == seq { Some(request) } else { self.old.get(&seq).copied() }
    }

    /// Request `seq`, which is known, comes to stand so.
    #[inline]
    pub fn settle(&mut self, seq: u64, state: State) {
        let place = self.place(seq);
        if self.ring[place].seq == seq {
            self.waiting -= u64::from(self.ring[place].state == State::Waiting);
            self.ring[place].state = state;
        } else if let Some(request) = self.old.get_mut(&seq) {
            self.waiting -= u64::from(request.state == State::Waiting);
            request.state = state;
            if state == State::Done {
                self.old.remove(&seq);
            }
        }
        if state == State::Done {
            self.advance_owed();
        }
    }

    /// The longest-waiting request, if one is waiting.
    pub fn oldest_waiting(&mut self) -> Option<Request> {
        if self.waiting == 0 {
            self.oldest = self.next;
            return None;
        }
        if let Some(request) = self.old.values().find(|request| request.state == State::Waiting) {
            return Some(*request);
        }
        while self.oldest < self.next {
            let request = self.ring[self.place(self.oldest)];
            if request.seq == self.oldest && request.state == State::Waiting {
                return Some(request);
            }
            self.oldest += 1;
        }
        None
    }

    /// The longest-waiting request where its timeout has passed.
    #[inline]
    pub fn overdue(&mut self, now: Instant, timeout: Nanos) -> Option<Request> {
        self.oldest_waiting().filter(|request| request.sent.after(timeout) <= now)
    }

    #[inline]
    fn place(&self, seq: u64) -> usize {
        (seq & (self.ring.len() as u64 - 1)) as usize
    }

    #[cold]
    fn put_aside(&mut self, place: usize) {
        let request = self.ring[place];
        self.old.insert(request.seq, request);
        if self.old.len() > REMEMBERED {
            let forgettable = self.old.values().find(|request| request.state == State::Lost).map(|request| request.seq);
            if let Some(seq) = forgettable {
                self.old.remove(&seq);
            }
        }
    }

    #[inline]
    fn advance_owed(&mut self) {
        while self.owed < self.next && self.find(self.owed).is_none_or(|request| request.state == State::Done) {
            self.owed += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(count: u64) -> Outstanding {
        let mut outstanding = Outstanding::new(8);
        for at in 0..count {
            let seq = outstanding.take_number();
            outstanding.note(seq, None, Instant(at), true);
        }
        outstanding
    }

    #[test]
    fn what_is_overwritten_while_it_waits_is_still_found() {
        let mut outstanding = with(200);
        for seq in 1..200 {
            outstanding.settle(seq, State::Done);
        }
        assert_eq!((outstanding.waiting(), outstanding.owed()), (1, 0));
        assert_eq!(outstanding.oldest_waiting().map(|request| request.seq), Some(0));
        assert!(outstanding.overdue(Instant(9), Nanos(10)).is_none());
        assert_eq!(outstanding.overdue(Instant(10), Nanos(10)).map(|request| request.seq), Some(0));
        outstanding.settle(0, State::Lost);
        assert_eq!(outstanding.waiting(), 0);
        assert_eq!(outstanding.find(0).map(|request| request.state), Some(State::Lost));
        outstanding.settle(0, State::Done);
        assert_eq!((outstanding.owed(), outstanding.find(0).is_none()), (200, true));
    }

    #[test]
    fn the_lost_are_remembered_up_to_a_bound() {
        let mut outstanding = with(0);
        for at in 0..20_000 {
            let seq = outstanding.take_number();
            outstanding.note(seq, None, Instant(at), true);
            outstanding.settle(seq, State::Lost);
        }
        assert!(outstanding.old.len() <= REMEMBERED);
        assert!(outstanding.find(19_999).is_some() && outstanding.find(0).is_none());
    }
}
