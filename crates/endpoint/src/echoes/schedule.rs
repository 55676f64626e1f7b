//! Due times of requests, and the requests that still wait: pure, in any clock.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use measure::unit::{Instant, Nanos};

use super::Course;

/// Time for which a request is remembered, for replies that come late or twice.
const MEMORY: Nanos = Nanos::secs(10);

/// A request that left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its host.
    pub target: usize,
    /// Its number of its host, from 0.
    pub index: u32,
    /// The send.
    pub sent: Instant,
    /// Wall clock of the send, nanoseconds since 1970.
    pub wall: u64,
    /// The end of the wait; absent where that is over.
    until: Option<Instant>,
    answered: bool,
}

/// A wait that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expired {
    /// The host.
    pub target: usize,
    /// The request's number of it.
    pub index: u32,
    /// True where the host is to be asked again at once.
    pub goes_again: bool,
}

/// The meaning of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The first, in time.
    InTime,
    /// Its request has one.
    Again,
    /// Later than is waited for.
    Late,
}

/// The state of a host.
#[derive(Clone, Copy, Debug)]
struct Host {
    requests: u32,
    timeout: Nanos,
    answered: bool,
    latest: u64,
}

/// The schedule of a run.
#[derive(Debug)]
pub struct Schedule {
    course: Course,
    timeout: Nanos,
    interval: Nanos,
    hosts: Vec<Host>,
    /// Requests to come: when, in the order in which they were decided.
    due: BTreeMap<(Instant, u64), (usize, u32)>,
    decided: u64,
    /// Waits, by end and number.
    waits: BTreeSet<(Instant, u64)>,
    /// The latest requests, the first of which has the number `first`.
    requests: VecDeque<Option<Request>>,
    first: u64,
    last: Option<Instant>,
}

impl Schedule {
    /// The first request of each of `hosts` is due at `start`.
    pub fn new(hosts: usize, course: Course, timeout: Nanos, interval: Nanos, start: Instant) -> Self {
        let host = Host { requests: 0, timeout, answered: false, latest: 0 };
        let due = (0..hosts).map(|target| ((start, target as u64), (target, 0))).collect();
        Self {
            course,
            timeout,
            interval,
            hosts: vec![host; hosts],
            due,
            decided: hosts as u64,
            waits: BTreeSet::new(),
            requests: VecDeque::new(),
            first: 0,
            last: None,
        }
    }

    /// The number of the next request.
    pub fn number(&self) -> u64 {
        self.first + self.requests.len() as u64
    }

    /// The number of the oldest request that is remembered.
    pub fn oldest(&self) -> u64 {
        self.first
    }

    /// The request that is due now, which is taken from the schedule, and the next of its host put there.
    pub fn due(&mut self, now: Instant) -> Option<(usize, u32)> {
        let ((at, _), (target, index)) = self.due.first_key_value().map(|(key, value)| (*key, *value))?;
        if at.max(self.free()) > now {
            return None;
        }
        self.due.pop_first();
        if let Course::Every { count, period } = self.course
            && let Some(next) = index.checked_add(1).filter(|next| count.is_none_or(|count| *next < count))
        {
            self.due.insert((at.after(period), self.decided), (target, next));
            self.decided += 1;
        }
        Some((target, index))
    }

    /// No request leaves before it.
    fn free(&self) -> Instant {
        self.last.map_or(Instant(0), |last| last.after(self.interval))
    }

    /// The next instant at which something is to be done; absent where nothing is left.
    pub fn next(&self) -> Option<Instant> {
        let request = self.due.first_key_value().map(|((at, _), _)| (*at).max(self.free()));
        let wait = self.waits.first().map(|(at, _)| *at);
        request.into_iter().chain(wait).min()
    }

    /// A request left with the next number.
    pub fn sent(&mut self, target: usize, index: u32, sent: Instant, wall: u64) {
        let number = self.number();
        let host = &mut self.hosts[target];
        let until = sent.after(host.timeout);
        host.requests += 1;
        host.latest = number;
        self.last = Some(sent);
        self.waits.insert((until, number));
        let request = Request { target, index, sent, wall, until: Some(until), answered: false };
        self.requests.push_back(Some(request));
        self.forget(sent);
    }

    /// The request with the next number could not leave.
    pub fn unsent(&mut self, target: usize, now: Instant) {
        self.hosts[target].requests += 1;
        self.last = Some(now);
        self.requests.push_back(None);
        self.forget(now);
    }

    fn forget(&mut self, now: Instant) {
        let is_over = |request: &Option<Request>| {
            request.is_none_or(|request| {
                request.until.is_none() && now.since(request.sent).is_some_and(|age| age > MEMORY)
            })
        };
        while self.requests.front().is_some_and(is_over) {
            self.requests.pop_front();
            self.first += 1;
        }
    }

    /// The next wait that is over.
    pub fn expire(&mut self, now: Instant) -> Option<Expired> {
        let (until, number) = *self.waits.first()?;
        if until > now {
            return None;
        }
        self.waits.pop_first();
        let request = self.request_mut(number)?;
        request.until = None;
        let Request { target, index, .. } = *request;
        let host = &mut self.hosts[target];
        let goes_again = match self.course {
            Course::UntilAnswered { retries, backoff } => {
                host.timeout = Nanos((host.timeout.0 as f64 * backoff) as u64);
                host.requests <= retries
            }
            Course::Every { .. } => false,
        };
        Some(Expired { target, index, goes_again })
    }

    /// The request of a number, where it is remembered.
    pub fn request(&self, number: u64) -> Option<Request> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        *self.requests.get(place)?
    }

    /// The latest request whose number ends in these 16 bits.
    pub fn near(&self, number: u16) -> Option<Request> {
        let latest = self.number().checked_sub(1)?;
        self.request(latest.checked_sub(u64::from((latest as u16).wrapping_sub(number)))?)
    }

    fn request_mut(&mut self, number: u64) -> Option<&mut Request> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.requests.get_mut(place)?.as_mut()
    }

    /// A reply came to the request with this number, behind so much time.
    pub fn answer(&mut self, number: u64, time: Nanos) -> Answer {
        let Some(request) = self.request(number) else { return Answer::Late };
        let (once, host) = (matches!(self.course, Course::UntilAnswered { .. }), self.hosts[request.target]);
        if request.answered || (once && host.answered) {
            return Answer::Again;
        }
        // For a host that is asked until it answers, the wait for its latest request counts.
        let counting = if once { host.latest } else { number };
        let waits = self.request(counting).and_then(|request| request.until);
        if time > host.timeout || waits.is_none() {
            return Answer::Late;
        }
        let timeout = self.timeout;
        let host = &mut self.hosts[request.target];
        (host.answered, host.timeout) = (true, timeout);
        if let Some(until) = waits {
            self.waits.remove(&(until, counting));
        }
        for number in [counting, number] {
            if let Some(request) = self.request_mut(number) {
                (request.until, request.answered) = (None, true);
            }
        }
        Answer::InTime
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: u64) -> Instant {
        Instant(1_000_000_000 + millis * 1_000_000)
    }

    fn send(schedule: &mut Schedule, now: Instant) -> Option<(usize, u32)> {
        let (target, index) = schedule.due(now)?;
        schedule.sent(target, index, now, 0);
        Some((target, index))
    }

    #[test]
    fn hosts_take_turns_by_interval_and_period() {
        let course = Course::Every { count: Some(2), period: Nanos::millis(30) };
        let mut schedule = Schedule::new(2, course, Nanos::millis(30), Nanos::millis(10), at(0));
        assert_eq!(send(&mut schedule, at(0)), Some((0, 0)));
        assert_eq!((send(&mut schedule, at(9)), schedule.next()), (None, Some(at(10))));
        assert_eq!(send(&mut schedule, at(10)), Some((1, 0)));
        assert_eq!(schedule.answer(0, Nanos::millis(1)), Answer::InTime);
        assert_eq!((send(&mut schedule, at(29)), schedule.next()), (None, Some(at(30))));
        assert_eq!(send(&mut schedule, at(30)), Some((0, 1)));
        assert_eq!(schedule.expire(at(39)), None);
        assert_eq!(schedule.expire(at(40)), Some(Expired { target: 1, index: 0, goes_again: false }));
        assert_eq!(send(&mut schedule, at(40)), Some((1, 1)));
        for number in [2, 3] {
            assert_eq!(schedule.answer(number, Nanos::millis(1)), Answer::InTime);
        }
        assert_eq!(schedule.next(), None, "nothing is left");
    }

    #[test]
    fn a_host_is_asked_again_with_a_longer_wait_until_it_answers() {
        let course = Course::UntilAnswered { retries: 2, backoff: 2.0 };
        let mut schedule = Schedule::new(1, course, Nanos::millis(100), Nanos::millis(10), at(0));
        assert_eq!(send(&mut schedule, at(0)), Some((0, 0)));
        assert_eq!(schedule.expire(at(100)), Some(Expired { target: 0, index: 0, goes_again: true }));
        schedule.sent(0, 0, at(100), 0);
        assert_eq!((schedule.expire(at(299)), schedule.next()), (None, Some(at(300))));
        // To the first request: late for its own wait, in time for the one under way.
        assert_eq!(schedule.answer(0, Nanos::millis(150)), Answer::InTime);
        assert_eq!(schedule.answer(1, Nanos::millis(60)), Answer::Again);
        assert_eq!(schedule.next(), None);
    }

    #[test]
    fn who_never_answers_is_asked_as_often_as_was_said() {
        let course = Course::UntilAnswered { retries: 1, backoff: 1.0 };
        let mut schedule = Schedule::new(1, course, Nanos::millis(100), Nanos::ZERO, at(0));
        send(&mut schedule, at(0));
        assert!(schedule.expire(at(100)).unwrap().goes_again);
        schedule.sent(0, 0, at(100), 0);
        assert!(!schedule.expire(at(200)).unwrap().goes_again);
        assert_eq!((schedule.next(), schedule.answer(1, Nanos::millis(101))), (None, Answer::Late));
    }

    #[test]
    fn a_quoted_number_names_the_latest_request_that_ends_so() {
        let course = Course::Every { count: None, period: Nanos::millis(1) };
        let mut schedule = Schedule::new(1, course, Nanos::secs(100), Nanos::ZERO, at(0));
        for number in 0..70_000_u64 {
            let (target, index) = schedule.due(at(number)).unwrap();
            schedule.sent(target, index, at(number), 0);
        }
        assert_eq!(schedule.near(0).unwrap().index, 65_536);
        assert_eq!(schedule.near(60_000).unwrap().index, 60_000);
    }

    #[test]
    fn what_is_over_is_forgotten() {
        let course = Course::Every { count: None, period: Nanos::secs(1) };
        let mut schedule = Schedule::new(1, course, Nanos::millis(500), Nanos::ZERO, at(0));
        for second in 0..100 {
            assert!(send(&mut schedule, at(second * 1_000)).is_some());
            schedule.expire(at(second * 1_000 + 500));
        }
        assert!(schedule.requests.len() < 13 && schedule.request(99).is_some() && schedule.request(5).is_none());
    }
}
