//! The exchanges of a leg as they come, by their rounds.

use std::collections::BTreeMap;

use super::{Sums, Timed};
use crate::event::{Counts, Exchange, Fate};
use crate::statistics::paired;
use crate::unit::{Instant, Nanos};

/// Exchanges of a leg so far: counts, and times by round.
#[derive(Clone, Debug)]
pub struct Course {
    interval: Nanos,
    counts: Counts,
    pub(super) rounds: BTreeMap<u64, Exchanged>,
}

/// An exchange of a round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchanged {
    pub(super) flow: u32,
    pub(super) sent: Instant,
    /// From the send to the reply, where there was one in time.
    pub(super) rtt: Option<Nanos>,
    pub(super) fate: Fate,
}

impl Exchanged {
    pub(super) fn received(&self) -> Option<Instant> {
        self.rtt.map(|rtt| self.sent.after(rtt))
    }
}

impl Course {
    /// Nothing yet, of rounds of this length.
    pub fn new(interval: Nanos) -> Self {
        Self { interval: interval.max(Nanos(1)), counts: Counts::default(), rounds: BTreeMap::new() }
    }

    /// Takes an exchange of `flow` in. One without an instant at which it was due belongs to no round, and is counted alone.
    pub fn take(&mut self, exchange: &Exchange, flow: u32) {
        self.counts.end(exchange.fate);
        let Some(due) = exchange.intended else { return };
        let answered = exchange.fate == Fate::Answered;
        let times = exchange.received.zip(exchange.sent).filter(|_| answered);
        let rtt = times.and_then(|(received, sent)| received.since(sent));
        let exchanged = Exchanged { flow, sent: exchange.sent.unwrap_or(due), rtt, fate: exchange.fate };
        self.rounds.insert(due.0 / self.interval.0, exchanged);
    }

    /// Returns the number of requests with a final status.
    pub fn ended(&self) -> u64 {
        self.counts.scheduled
    }

    /// The median so far; `None` before the first answer.
    pub fn median(&self) -> Option<Nanos> {
        let times: Vec<f64> = self.times().map(|time| time as f64).collect();
        paired::median(&times).map(|median| Nanos(median as u64))
    }

    /// Summarises all its exchanges.
    pub fn sums(&self) -> Sums {
        Sums::of(self.times().collect(), &self.counts)
    }

    /// The exchanges in the order of their rounds.
    pub fn exchanges(&self) -> Vec<Timed> {
        let timed = |(round, asked): (&u64, &Exchanged)| Timed { round: *round, flow: asked.flow, rtt_ns: asked.rtt };
        self.rounds.iter().map(timed).collect()
    }

    fn times(&self) -> impl Iterator<Item = u64> {
        self.rounds.values().filter_map(|asked| Some(asked.rtt?.0))
    }

    pub(super) fn rounds(&self) -> impl Iterator<Item = &Exchanged> {
        self.rounds.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(due: u64, late: u64, rtt: u64, fate: Fate) -> Exchange {
        let sent = due + late;
        let received = (fate == Fate::Answered).then_some(Instant(sent + rtt));
        Exchange {
            flow: 0,
            seq: 0,
            intended: Some(Instant(due)),
            sent: Some(Instant(sent)),
            received,
            fate,
            details: None,
        }
    }

    #[test]
    fn times_count_from_the_send_and_stand_in_their_rounds() {
        let mut course = Course::new(Nanos(100));
        for (due, late, rtt) in [(730, 9, 40), (830, 0, 60), (1_030, 0, 50)] {
            course.take(&exchange(due, late, rtt, Fate::Answered), 0);
        }
        course.take(&exchange(930, 0, 0, Fate::Lost), 0);
        let rounds: Vec<_> = course.exchanges().iter().map(|at| (at.round, at.rtt_ns.map(|rtt| rtt.0))).collect();
        assert_eq!(rounds, [(7, Some(40)), (8, Some(60)), (9, None), (10, Some(50))]);
        let sums = course.sums();
        assert_eq!((sums.due, sums.answered, sums.lost, sums.refused, sums.failed), (4, 3, 1, 0, 0));
        assert_eq!((sums.min_ns, sums.median(), sums.max_ns), (Some(Nanos(40)), Some(Nanos(50)), Some(Nanos(60))));
        assert_eq!((course.ended(), course.median()), (4, Some(Nanos(50))));
    }

    #[test]
    fn each_fate_is_counted_once() {
        let mut course = Course::new(Nanos(10));
        let fates = [Fate::Late, Fate::Lost, Fate::Refused, Fate::Corrupt, Fate::SendFailed];
        for (round, fate) in (0..).zip(fates) {
            course.take(&exchange(round * 10, 0, 1, fate), 0);
        }
        let sums = course.sums();
        assert_eq!((sums.due, sums.answered, sums.lost, sums.refused, sums.failed), (5, 0, 2, 1, 2));
        assert_eq!((sums.min_ns, sums.median(), sums.quantiles.len()), (None, None, 0));
        assert_eq!(course.median(), None);
    }
}
