//! Results of datagrams that were sent slower and faster than a stream that the path may limit.
//!
//! A lossy path takes the same share whatever the rate. A path that takes nothing below a rate and much above it is a
//! bottleneck. If it is a queue, a datagram next after a lost one has waited as long as a full queue lasts; if it is a
//! policer, it has not. That holds however rarely the queue is full, as where the sender pauses. Either is named only
//! where as much got through at two rates: losses that come and go are neither. A queue that does not overflow is
//! judged by the shortest time on the way in each short interval: one that stands does so all the time.
//!
//! Legs that left far slower than they should tell nothing, and neither do losses at the receiver's own sockets. A
//! sender that is late leaves out the datagrams that were due, for many at once would overflow any bucket. [`course`]
//! decides which legs are sent, and how long.

pub mod course;
pub mod leg;

use self::leg::{Leg, Met};
use super::reason::Reason;
use super::{LOSSES, Limiter};
use crate::unit::Nanos;

/// Datagrams at several rates, slowest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moved {
    /// In the order in which they were sent.
    pub legs: Vec<Leg>,
}

/// Ratio of the rate of another leg to that of the slowest, at least.
const FASTER: f64 = 1.2;
/// Share lost from which a leg went beyond the path's capacity.
const BEYOND: f64 = 0.05;
/// Ratio of the loss of a leg beyond it to that of all slower ones, at least.
const STEEPER: f64 = 4.0;
/// Chance of so few losses in the slower legs, if they lost as a faster one does, below which they do not.
const CHANCE: f64 = 1e-6;
/// Ratio of the rates that get through a bottleneck from two legs, at most, where one leg is faster by [`FASTER`].
const CAPPED: f64 = 1.15;
/// Losses in all from which they tell that their share is the same at any rate.
const ENOUGH: f64 = 20.0;
/// Losses in all legs but the fastest, beyond which alone there may be a bottleneck.
const FEW: f64 = 8.0;
/// Ratio of the share of a stream that is sent again to the share of datagrams lost, at most, where the path loses both
/// at random.
const AGAIN: f64 = 4.0;
/// Ratio of a queue's rate to that of a stream that it holds back, at most: a stream that meets losses at its start has
/// no more of it.
const RESEMBLES: f64 = 2.0;
/// Ratio of a stream's rate to that of a policer that limits it, at most: its bucket may have saved up a second's tokens for it.
const SAVED: f64 = 2.5;
/// The same of a queue, which lets all through at its own rate.
const HELD_UP: f64 = 1.5;
/// Ratio of what a bottleneck lets through to what each connection had, at most, where the slowest leg already was beyond it: datagrams that had so much
/// less than the stream tell of it only where they had as much as one of its connections.
const AS_MUCH: f64 = 1.25;
/// Delay that never left the queue, from which there is one.
const QUEUED: Nanos = Nanos::millis(1);

impl Moved {
    /// Concludes from moving the rate on a path on which the stream `lost` such a share, and had `arrived` bytes per
    /// second of it, of which each connection had `each`; `None`: no limit is shown.
    pub(super) fn tells(
        &self,
        lost: Option<f64>,
        arrived: Option<f64>,
        each: Option<f64>,
    ) -> (Option<Limiter>, Vec<Reason>) {
        let mut tried: Vec<Reason> = self.legs.iter().map(Leg::told).collect();
        if !self.legs.first().is_some_and(Leg::left) {
            tried.push(Reason::SlowDatagrams);
            return (None, tried);
        }
        if self.legs.len() < 2 {
            tried.push(Reason::NoFasterDatagrams);
        }
        if let Some((queued, leg)) = self.queued() {
            tried.push(Reason::StandingQueue { waited_ns: queued, bytes_per_s: leg.through() });
            return (queue(leg.through(), arrived, each, &mut tried), tried);
        }
        if let Some(place) = self.beyond() {
            return self.tells_beyond(place, arrived, each, tried);
        }
        if self.is_below_all() {
            let through = self.capped(0).map(|(_, through)| through);
            let is_as_much = each.zip(through).is_some_and(|(each, through)| apart(each, through) <= AS_MUCH);
            let (named, tried) = self.tells_beyond(0, arrived, each, tried);
            return (named.filter(|_| is_as_much), tried);
        }
        // A stream that lost next to nothing was not limited by what takes datagrams.
        let even = self.evenly().filter(|share| lost.is_some_and(|lost| lost <= share * AGAIN));
        let even = even.filter(|_| !self.waits_behind_losses());
        tried.extend(even.map(|_| Reason::EvenLoss));
        (even.map(|_| Limiter::Loss), tried)
    }

    fn tells_beyond(
        &self,
        place: usize,
        arrived: Option<f64>,
        each: Option<f64>,
        mut tried: Vec<Reason>,
    ) -> (Option<Limiter>, Vec<Reason>) {
        let leg = &self.legs[place];
        tried.extend(leg.after_loss.map(|waited_ns| Reason::WaitedAfterLoss { waited_ns }));
        let Some((met, through)) = self.capped(place) else { return (None, tried) };
        tried.push(Reason::CappedRate { bytes_per_s: through });
        let named = match met {
            Met::Queue => queue(through, arrived, each, &mut tried),
            _ => is_reached(through, SAVED, each, &mut tried).then_some(Limiter::Policer),
        };
        (named, tried)
    }

    /// Returns true where the path carried datagrams that were faster than a stream of `arrived` bytes per second, and
    /// lost hardly any.
    pub(super) fn carried_more(&self, arrived: f64) -> bool {
        let more = |leg: &Leg| leg.left() && leg.loss() < LOSSES && leg.through() >= arrived * FASTER;
        self.legs.iter().any(more)
    }

    /// True where no leg lost enough to speak of.
    pub(super) fn lost_nothing(&self) -> bool {
        self.legs.iter().all(|leg| leg.loss() < LOSSES)
    }

    /// The first leg that was too fast for the path, where the slower ones were not.
    fn beyond(&self) -> Option<usize> {
        let is_beyond = |place: &usize| {
            let (leg, slower) = (&self.legs[*place], &self.legs[..*place]);
            let (lost, count) = slower.iter().fold((0.0, 0.0), |(lost, count), slower| {
                (lost + slower.lost(), count + slower.datagrams.expected as f64)
            });
            slower.iter().all(|slower| leg.sent_bytes_per_s >= slower.sent_bytes_per_s * FASTER)
                && leg.loss() >= BEYOND.max(lost / count.max(1.0) * STEEPER)
                && at_most(lost, leg.loss() * count) < CHANCE
        };
        (1..self.legs.len()).find(is_beyond)
    }

    /// True where every leg so far was too fast for a bottleneck, which let as much through of the slowest as of a faster one.
    pub(super) fn is_below_all(&self) -> bool {
        self.beyond().is_none() && self.capped(0).is_some()
    }

    /// Returns the common result of two legs of different rates, from the one at `place` on, where as much got through;
    /// and that rate.
    fn capped(&self, place: usize) -> Option<(Met, f64)> {
        let alike = |one: &Leg, other: &Leg| {
            let (through, as_much) = (one.through_bytes_per_s?, other.through_bytes_per_s?);
            // Both went beyond it: a leg of which hardly anything was lost shows no bound.
            let is_alike = one.loss().min(other.loss()) >= BEYOND
                && apart(one.sent_bytes_per_s, other.sent_bytes_per_s) >= FASTER
                && apart(through, as_much) <= CAPPED
                && one.met() == other.met();
            (is_alike && one.met() != Met::Unknown).then_some((one.met(), as_much))
        };
        let legs = &self.legs[place..];
        let alike = |one: &Leg, other: &Leg| alike(one, other).filter(|(_, through)| !self.contradicts(*through));
        legs.iter().enumerate().find_map(|(at, one)| legs[at + 1..].iter().find_map(|other| alike(one, other)))
    }

    /// The queue that stood in the fastest leg and did not in the slowest.
    fn queued(&self) -> Option<(Nanos, &Leg)> {
        let (slowest, fastest) = (self.legs.first()?, self.legs.last()?);
        // One that fills its own socket's buffer makes a queue there.
        if fastest.dropped >= LOSSES {
            return None;
        }
        let (before, stood) = (slowest.standing?, fastest.standing?);
        // A path that carries all of the requested rate is no bottleneck: the delay has another cause.
        let capped = fastest.through_bytes_per_s.is_some_and(|through| through * CAPPED <= fastest.asked_bytes_per_s);
        let stands = capped && stood.0 >= before.0 + QUEUED.0 && stood.0 >= 2 * before.0;
        (stands && !self.contradicts(fastest.through())).then_some((stood, fastest))
    }

    /// Returns true where a leg after the first one with losses lost far less than a bottleneck of this rate takes: what a bucket had saved up
    /// is gone by then.
    fn contradicts(&self, through: f64) -> bool {
        let mut since = self.legs.iter().skip_while(|leg| leg.loss() < LOSSES).skip(1);
        let taken = |leg: &Leg| 1.0 - through * CAPPED / leg.sent_bytes_per_s;
        since.any(|leg| leg.loss() < taken(leg) / STEEPER)
    }

    /// True where datagrams next after lost ones waited far longer than those of the slowest leg on average: they have been in a queue.
    fn waits_behind_losses(&self) -> bool {
        let usual = self.legs.first().and_then(|leg| leg.datagrams.waited_ns).unwrap_or(0.0);
        let queued =
            |leg: &Leg| leg.met() == Met::Queue && leg.after_loss.is_some_and(|waited| waited.0 as f64 >= 2.0 * usual);
        self.legs.iter().any(queued)
    }

    /// The share that all legs lost about alike, where it is enough to tell.
    fn evenly(&self) -> Option<f64> {
        let (_, slower) = self.legs.split_last()?;
        let count = |leg: &Leg| leg.datagrams.expected as f64;
        let sum = |legs: &[Leg], of: fn(&Leg) -> f64| legs.iter().map(of).sum::<f64>();
        let (all, total) = (self.legs.iter().map(count).sum::<f64>(), sum(&self.legs, Leg::lost));
        if total < ENOUGH || total < LOSSES * all || sum(slower, Leg::lost) < FEW {
            return None;
        }
        let share = total / all;
        // Within five standard deviations of independent losses, and two for those that come together; and so few are no accident.
        let even = |leg: &Leg| {
            let expected = share * count(leg);
            let apart = (leg.lost() - expected).abs();
            apart <= 5.0 * (expected * (1.0 - share)).sqrt() + 2.0 && at_most(leg.lost(), expected) >= CHANCE.sqrt()
        };
        self.legs.iter().all(|leg| leg.left() && even(leg)).then_some(share)
    }
}

/// Ratio of two rates, 1 or more.
fn apart(one: f64, other: f64) -> f64 {
    one.max(other) / one.min(other)
}

/// A queue that lets so much through, where that is neither far more than the stream had nor less than each connection of it: then another thing held it
/// back.
fn queue(through: f64, arrived: Option<f64>, each: Option<f64>, tried: &mut Vec<Reason>) -> Option<Limiter> {
    let resembles = arrived.is_none_or(|arrived| through <= arrived * RESEMBLES);
    if !resembles {
        tried.push(Reason::FarMoreThanStream);
    }
    (resembles && is_reached(through, HELD_UP, each, tried)).then_some(Limiter::Congestion)
}

/// Returns false where each connection of the stream had more than so many `times` what a bottleneck lets through: what holds datagrams
/// alone back limits no stream. A bottleneck may be of each connection.
fn is_reached(through: f64, times: f64, each: Option<f64>, tried: &mut Vec<Reason>) -> bool {
    let reached = each.is_none_or(|each| each <= through * times);
    if !reached {
        tried.push(Reason::LessThanStream);
    }
    reached
}

/// Chance of at most `count` events where `expected` are, if they are independent (Poisson's, which is no less than
/// where each of a number either comes or does not).
fn at_most(count: f64, expected: f64) -> f64 {
    // Beyond, all terms that can be written are 0.
    if expected > 700.0 {
        return if count < expected / 2.0 { 0.0 } else { 1.0 };
    }
    let most = count.max(0.0).round() as u64;
    let (mut term, mut sum) = ((-expected).exp(), 0.0);
    for place in 0..=most {
        sum += term;
        term *= expected / (place + 1) as f64;
        if term < f64::MIN_POSITIVE && place as f64 > expected {
            break;
        }
    }
    f64::min(sum, 1.0)
}

#[cfg(test)]
mod tests;
