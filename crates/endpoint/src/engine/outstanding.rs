//! Requests of one connection that may still be answered: those in flight, those lost whose reply may yet come late,
//! and those answered whose reply may yet come twice.
//!
//! Messages are numbered all alike, but only those that ask for a reply are requests and kept here, in the order of
//! their departure: their *ordinal*. A ring holds the latest; an entry that is overwritten while it still matters moves
//! to maps, which are touched only where something is lost or held for long.

use std::collections::BTreeMap;

use measure::unit::{Instant, Nanos};

/// Lost requests remembered beyond the ring.
const REMEMBERED: usize = 4_096;
/// Places of the smallest ring.
const LEAST: usize = 64;

/// One request.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The number of its message on its connection.
    pub seq: u64,
    /// Its place among the requests of its connection, from 0.
    pub ordinal: u64,
    /// Scheduled send time; absent where there is no schedule.
    pub intended: Option<Instant>,
    /// Actual send time: it was handed to the kernel.
    pub sent: Instant,
    /// State of the request.
    pub state: State,
}

/// State of a request.
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
    /// By ordinal, modulo its length.
    ring: Vec<Request>,
    /// Waiting, and overwritten in the ring: by number.
    held: BTreeMap<u64, Request>,
    /// Lost, and overwritten in the ring: by number.
    lost: BTreeMap<u64, Request>,
    /// Number of the next message.
    next: u64,
    /// Ordinal of the next request.
    requests: u64,
    /// From one request's number to the next one's, as of the latest two.
    stride: u64,
    /// In the ring no ordinal below this is waiting.
    oldest: u64,
    /// In the ring each ordinal below this has its end.
    owed: u64,
    /// Number of requests that wait for a reply.
    waiting: u64,
}

const UNUSED: Request =
    Request { seq: u64::MAX, ordinal: u64::MAX, intended: None, sent: Instant(0), state: State::Done };

impl Outstanding {
    /// Room for twice `window`, so that usually nothing is overwritten that matters.
    pub fn new(window: u64) -> Self {
        let places = (window as usize).saturating_mul(2).next_power_of_two().max(LEAST);
        Self {
            ring: vec![UNUSED; places],
            held: BTreeMap::new(),
            lost: BTreeMap::new(),
            next: 0,
            requests: 0,
            stride: 1,
            oldest: 0,
            owed: 0,
            waiting: 0,
        }
    }

    /// Number of requests that wait for a reply.
    #[inline]
    pub fn waiting(&self) -> u64 {
        self.waiting
    }

    /// The number of the oldest request without an answer, or of the next message: what a wire without numbers takes
    /// the next reply for.
    #[inline]
    pub fn owed(&self) -> u64 {
        let first = |map: &BTreeMap<u64, Request>| map.first_key_value().map(|(&seq, _)| seq);
        let old = first(&self.held).into_iter().chain(first(&self.lost)).min();
        old.unwrap_or_else(|| if self.owed < self.requests { self.ring[self.place(self.owed)].seq } else { self.next })
    }

    /// Forgets what still waits of those so far: the warm-up is over.
    pub fn begin(&mut self) {
        self.oldest = self.requests;
    }

    /// The number of the next message.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Requests so far: the ordinal of the next one.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Takes the next number.
    #[inline]
    pub fn take_number(&mut self) -> u64 {
        let seq = self.next;
        self.next += 1;
        seq
    }

    /// The latest number was not used: the next message has it again.
    pub fn give_back(&mut self) {
        self.next -= 1;
    }

    /// Request `seq`, numbered above all before it, was handed over, or failed to be.
    #[inline]
    pub fn note(&mut self, seq: u64, intended: Option<Instant>, sent: Instant, waiting: bool) {
        let ordinal = self.requests;
        let place = self.place(ordinal);
        if self.ring[place].state != State::Done {
            self.put_aside(place);
        }
        if ordinal > 0 {
            self.stride = seq - self.ring[self.place(ordinal - 1)].seq;
        }
        self.requests += 1;
        let state = if waiting { State::Waiting } else { State::Done };
        self.ring[place] = Request { seq, ordinal, intended, sent, state };
        if waiting {
            self.waiting += 1;
        } else {
            self.advance_owed();
        }
    }

    /// Returns request `seq`; `None` where it is forgotten, or never was.
    #[inline]
    pub fn find(&self, seq: u64) -> Option<Request> {
        match self.place_of(seq) {
            Some(place) => Some(self.ring[place]),
            None => self.held.get(&seq).or_else(|| self.lost.get(&seq)).copied(),
        }
    }

    /// Request `seq`, which is known, comes to stand so.
    #[inline]
    pub fn settle(&mut self, seq: u64, state: State) {
        if let Some(place) = self.place_of(seq) {
            self.waiting -= u64::from(self.ring[place].state == State::Waiting);
            self.ring[place].state = state;
        } else if let Some(request) = self.held.remove(&seq) {
            self.waiting -= 1;
            self.keep(Request { state, ..request });
        } else if state == State::Done {
            self.lost.remove(&seq);
        }
        if state == State::Done {
            self.advance_owed();
        }
    }

    /// The longest-waiting request, if one is waiting.
    #[inline]
    pub fn oldest_waiting(&mut self) -> Option<Request> {
        if self.waiting == 0 {
            self.oldest = self.requests;
            return None;
        }
        if let Some((_, request)) = self.held.first_key_value() {
            return Some(*request);
        }
        self.oldest = self.oldest.max(self.first_kept());
        while self.oldest < self.requests {
            let request = self.ring[self.place(self.oldest)];
            if request.state == State::Waiting {
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
    fn place(&self, ordinal: u64) -> usize {
        (ordinal & (self.ring.len() as u64 - 1)) as usize
    }

    /// The lowest ordinal that is still in the ring.
    #[inline]
    fn first_kept(&self) -> u64 {
        self.requests.saturating_sub(self.ring.len() as u64)
    }

    /// Returns the place of request `seq` in the ring. Requests are usually evenly spaced, so its distance to the
    /// latest gives the place; where it does not, the ring is searched.
    #[inline]
    fn place_of(&self, seq: u64) -> Option<usize> {
        let latest = self.requests.checked_sub(1)?;
        let distance = self.ring[self.place(latest)].seq.checked_sub(seq)?;
        let back = if self.stride == 1 { distance } else { distance / self.stride };
        if let Some(ordinal) = latest.checked_sub(back) {
            let place = self.place(ordinal);
            if self.ring[place].seq == seq {
                return Some(place);
            }
        }
        self.search(seq)
    }

    #[cold]
    fn search(&self, seq: u64) -> Option<usize> {
        let (mut low, mut high) = (self.first_kept(), self.requests);
        while low < high {
            let middle = low + (high - low) / 2;
            let place = self.place(middle);
            match self.ring[place].seq.cmp(&seq) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(place),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    #[cold]
    fn put_aside(&mut self, place: usize) {
        self.keep(self.ring[place]);
    }

    fn keep(&mut self, request: Request) {
        match request.state {
            State::Waiting => {
                self.held.insert(request.seq, request);
            }
            State::Lost => {
                self.lost.insert(request.seq, request);
                if self.lost.len() > REMEMBERED {
                    self.lost.pop_first();
                }
            }
            State::Done => {}
        }
    }

    #[inline]
    fn advance_owed(&mut self) {
        self.owed = self.owed.max(self.first_kept());
        while self.owed < self.requests && self.ring[self.place(self.owed)].state == State::Done {
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
        assert!(outstanding.lost.len() <= REMEMBERED);
        assert!(outstanding.find(19_999).is_some() && outstanding.find(0).is_none());
    }

    /// Messages of which those that `asks` says are requests, in the order of their numbers.
    fn asking(count: u64, asks: impl Fn(u64) -> bool) -> Outstanding {
        let mut outstanding = Outstanding::new(8);
        for number in 0..count {
            let seq = outstanding.take_number();
            if asks(number) {
                outstanding.note(seq, None, Instant(number), true);
            }
        }
        outstanding
    }

    #[test]
    fn one_way_messages_take_numbers_and_no_room() {
        let mut outstanding = asking(6_400, |number| (number + 1) % 100 == 0);
        assert!(outstanding.held.is_empty(), "64 requests fit the ring");
        assert_eq!((outstanding.waiting(), outstanding.requests(), outstanding.next()), (64, 64, 6_400));
        let seqs: Vec<u64> = (0..6_400).filter(|seq| outstanding.find(*seq).is_some()).collect();
        assert_eq!(seqs, (0..64).map(|k| 100 * k + 99).collect::<Vec<_>>());
        assert_eq!(outstanding.find(299).map(|request| request.ordinal), Some(2));
        outstanding.settle(99, State::Done);
        assert_eq!((outstanding.owed(), outstanding.oldest_waiting().map(|request| request.seq)), (199, Some(199)));
        (1..64).for_each(|k| outstanding.settle(100 * k + 99, State::Done));
        assert_eq!((outstanding.owed(), outstanding.waiting()), (6_400, 0));
    }

    #[test]
    fn requests_are_found_however_unevenly_they_stand() {
        let asks = |number: u64| [0, 1, 7, 8, 30, 31, 32, 90, 1_000].contains(&number);
        let outstanding = asking(1_002, asks);
        assert!((0..1_002).all(|seq| outstanding.find(seq).is_some_and(|request| request.seq == seq) == asks(seq)));
        assert!(outstanding.find(5_000).is_none());
    }
}
