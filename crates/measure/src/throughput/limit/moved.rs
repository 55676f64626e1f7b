//! What datagrams met that were sent slower and faster than a stream that the path may limit.
//!
//! A lossy path takes the same share whatever the rate. What takes nothing below a rate and much above it is a bottleneck: a
//! queue where what arrives has waited, a policer where it has not. Waiting is judged by the shortest time on the way in each
//! short interval: a queue that is full is so all the time, while a program that is late is so now and then.
//!
//! Legs that left far slower than they should tell nothing, and neither do losses at the receiver's own sockets. A sender that is
//! late leaves out what was due, for many datagrams at once would overflow any bucket.

use super::{LOSSES, Limiter, percent, rate};
use crate::throughput::arrivals::Datagrams;
use crate::unit::Nanos;

/// Datagrams at several rates, slowest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moved {
    /// In the order in which they were sent.
    pub legs: Vec<Leg>,
}

/// Datagrams at one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leg {
    /// Bytes of payload per second that were to leave.
    pub asked_bytes_per_s: f64,
    /// Bytes of payload per second that left.
    pub sent_bytes_per_s: f64,
    /// What arrived, by number.
    pub datagrams: Datagrams,
    /// Share of them that the receiver's own kernel dropped.
    pub dropped: f64,
    /// Middle one of the intervals' shortest waits.
    pub standing: Option<Nanos>,
    /// Middle one of the mean waits of those intervals in which some were lost.
    pub waited: Option<Nanos>,
}

/// Of the rate asked for, what must have left for a leg to tell something.
const LEFT: f64 = 0.5;
/// How much faster than the slowest leg another has to have left.
const FASTER: f64 = 1.2;
/// Share lost from which a leg went beyond what the path carries.
const BEYOND: f64 = 0.05;
/// How much more a leg beyond it loses than the slowest.
const STEEPER: f64 = 4.0;
/// Losses in all from which they tell that their share is the same at any rate.
const ENOUGH: f64 = 20.0;
/// Of them, in the slowest leg.
const FEW: f64 = 3.0;
/// Part of the share of all that each leg has to have lost.
const ALIKE: f64 = 1.0 / 3.0;
/// How much more of a stream may be sent again than datagrams are lost, where the path loses both at random.
const AGAIN: f64 = 4.0;
/// What never left the queue, from which there is one; and up to which there is none.
const QUEUED: Nanos = Nanos::millis(1);
const UNQUEUED: Nanos = Nanos::micros(500);
/// Likewise of the mean wait while datagrams are lost. A queue that is full now and then, because the sender pauses, stands in no
/// interval, but what arrives beside what it drops has waited; a program that is late now and then makes less of it.
const UNWAITED: Nanos = Nanos::millis(1);

impl Moved {
    /// Whether there is nothing more to find out by going faster.
    pub fn is_enough(&self) -> bool {
        let unsent = self.legs.iter().any(|leg| !leg.left());
        unsent || self.beyond().is_some() || self.queued().is_some() || (self.legs.len() > 2 && self.evenly().is_some())
    }

    /// What moving the rate shows of a path on which the stream `lost` such a share; `None`: nothing.
    pub(super) fn tells(&self, lost: Option<f64>) -> (Option<Limiter>, Vec<String>) {
        let mut tried: Vec<String> = self.legs.iter().map(Leg::told).collect();
        if !self.legs.first().is_some_and(Leg::left) {
            tried.push("datagrams could not be sent as fast as the stream, so that they tell nothing of it".to_owned());
            return (None, tried);
        }
        if let Some(queued) = self.queued() {
            tried.push(format!("a queue of {queued} stood meanwhile"));
            return (Some(Limiter::Congestion), tried);
        }
        if let Some(leg) = self.beyond() {
            let at_once = leg.standing.is_some_and(|standing| standing <= UNQUEUED)
                && leg.waited.is_some_and(|waited| waited <= UNWAITED);
            tried.extend(leg.waited.map(|waited| format!("what arrived meanwhile had waited {waited} on average")));
            return (at_once.then_some(Limiter::Policer), tried);
        }
        let even = self.evenly().filter(|share| lost.is_none_or(|lost| lost <= share * AGAIN));
        tried.extend(even.map(|_| "the same share whatever the rate".to_owned()));
        (even.map(|_| Limiter::Loss), tried)
    }

    /// The first leg that was too fast for the path, where a slower one was not.
    fn beyond(&self) -> Option<&Leg> {
        let (slowest, faster) = self.legs.split_first()?;
        let is_faster = |leg: &&Leg| leg.sent_bytes_per_s >= slowest.sent_bytes_per_s * FASTER;
        faster.iter().filter(is_faster).find(|leg| leg.loss() >= BEYOND.max(slowest.loss() * STEEPER))
    }

    /// The queue that stood in the fastest leg and did not in the slowest.
    fn queued(&self) -> Option<Nanos> {
        let (slowest, fastest) = (self.legs.first()?, self.legs.last()?);
        // One that fills its own socket's buffer makes a queue there.
        if fastest.dropped >= LOSSES {
            return None;
        }
        let (before, stood) = (slowest.standing?, fastest.standing?);
        (stood.0 >= before.0 + QUEUED.0 && stood.0 >= 2 * before.0).then_some(stood)
    }

    /// The share that all legs lost about alike, where it is enough to tell.
    fn evenly(&self) -> Option<f64> {
        let (slowest, others) = self.legs.split_first()?;
        let count = |leg: &Leg| leg.datagrams.expected as f64;
        let lost = |leg: &Leg| leg.loss() * count(leg);
        let (all, total) = self.legs.iter().fold((0.0, 0.0), |(all, total), leg| (all + count(leg), total + lost(leg)));
        if total < ENOUGH || total < LOSSES * all || others.is_empty() || lost(slowest) < FEW {
            return None;
        }
        let share = total / all;
        // Within five standard deviations of independent losses, and two for those that come together.
        let even = |leg: &Leg| {
            let expected = share * count(leg);
            let apart = (lost(leg) - expected).abs();
            leg.loss() >= share * ALIKE && apart <= 5.0 * (expected * (1.0 - share)).sqrt() + 2.0
        };
        self.legs.iter().all(|leg| leg.left() && even(leg)).then_some(share)
    }
}

impl Leg {
    /// What the path lost.
    fn loss(&self) -> f64 {
        (self.datagrams.loss().unwrap_or(0.0) - self.dropped).max(0.0)
    }

    fn left(&self) -> bool {
        self.sent_bytes_per_s >= self.asked_bytes_per_s * LEFT
    }

    fn told(&self) -> String {
        format!("datagrams at {}: {} lost", rate(self.sent_bytes_per_s), percent(self.loss()))
    }
}
