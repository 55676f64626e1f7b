//! Results of datagrams at one rate, from their receiver's intervals.

use crate::interval::arrivals::Datagrams;
use crate::throughput::limit::reason::Reason;
use crate::throughput::{Interval, per_second};
use crate::unit::{Bytes, Nanos};

/// Datagrams at one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leg {
    /// Bytes of payload per second that were to leave.
    pub asked_bytes_per_s: f64,
    /// Bytes of payload per second that left.
    pub sent_bytes_per_s: f64,
    /// Datagrams that arrived, by number.
    pub datagrams: Datagrams,
    /// Share of them that the receiver's own kernel dropped.
    pub dropped: f64,
    /// Middle one of the intervals' shortest waits.
    pub standing: Option<Nanos>,
    /// Lower quartile of the waits of datagrams that came next after lost ones.
    pub after_loss: Option<Nanos>,
    /// Bytes of payload per second that arrived once some had been lost or had queued: before that the savings of a
    /// bucket were let through beside its rate. Middle one of the whole intervals after the first such, or that of all of them together where each
    /// has few datagrams; `None` where there are too few.
    pub through_bytes_per_s: Option<f64>,
}

/// Kind of bottleneck that a leg beyond the path's capacity met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Met {
    /// A queue that was full.
    Queue,
    /// None.
    NoQueue,
    /// That cannot be told.
    Unknown,
}

/// Share of the requested rate that must have left for a leg to tell something.
const LEFT: f64 = 0.5;
/// Wait of a datagram next after a lost one: at least this behind a full queue, and at most the second where there is no queue.
const QUEUED: Nanos = Nanos::millis(1);
const UNQUEUED: Nanos = Nanos::micros(500);
/// Datagrams of an interval on average below which its rate is one of how many happen to fall into it: then all intervals are one.
const COUNTED: u64 = 10;
/// Fewest datagrams of which a rate is told.
const FEWEST: u64 = 4;

impl Leg {
    /// A leg of datagrams that were to leave at `asked_bytes_per_s`, and left at `sent_bytes_per_s`, as their receiver counted
    /// them in all and by `intervals`.
    pub fn of<'a>(
        (asked_bytes_per_s, sent_bytes_per_s): (f64, f64),
        datagrams: Datagrams,
        intervals: impl Iterator<Item = &'a Interval> + Clone,
    ) -> Self {
        let told = |interval: &Interval| interval.datagrams;
        Self {
            asked_bytes_per_s,
            sent_bytes_per_s,
            datagrams,
            dropped: 0.0,
            standing: middle(intervals.clone().filter_map(|interval| told(interval)?.standing_ns))
                .map(|nanos| Nanos(nanos as u64)),
            after_loss: datagrams.after_loss_ns.map(|nanos| Nanos(nanos as u64)),
            through_bytes_per_s: through(&intervals.collect::<Vec<_>>()),
        }
    }

    /// Returns the share that the path lost.
    pub(super) fn loss(&self) -> f64 {
        (self.datagrams.loss().unwrap_or(0.0) - self.dropped).max(0.0)
    }

    /// Returns the number that the path lost.
    pub(super) fn lost(&self) -> f64 {
        self.loss() * self.datagrams.expected as f64
    }

    /// Bytes of payload per second that got through the path.
    pub(super) fn through(&self) -> f64 {
        self.through_bytes_per_s.unwrap_or(self.sent_bytes_per_s * (1.0 - self.loss()))
    }

    pub(in crate::throughput::limit) fn left(&self) -> bool {
        self.sent_bytes_per_s >= self.asked_bytes_per_s * LEFT
    }

    /// Returns the kind of bottleneck that its losses show.
    pub(super) fn met(&self) -> Met {
        match (self.standing, self.after_loss) {
            (_, Some(waited)) if waited >= QUEUED => Met::Queue,
            (Some(standing), Some(waited)) if waited <= UNQUEUED && standing <= UNQUEUED => Met::NoQueue,
            _ => Met::Unknown,
        }
    }

    pub(super) fn told(&self) -> Reason {
        Reason::Datagrams { bytes_per_s: self.sent_bytes_per_s, lost: self.loss() }
    }
}

/// Returns the rate of arrival after the first losses, or once a queue stood. The last interval ends with the sender's
/// last message, not with its last payload.
fn through(intervals: &[&Interval]) -> Option<f64> {
    let stands = |datagrams: &Datagrams| datagrams.standing_ns.is_some_and(|standing| standing >= QUEUED.0 as f64);
    let fills = |interval: &&Interval| interval.datagrams.is_some_and(|seen| seen.lost > 0 || stands(&seen));
    let first = intervals.iter().position(fills)?;
    let whole = intervals.get(first + 1..intervals.len().checked_sub(1)?)?;
    let came: u64 = whole.iter().filter_map(|interval| interval.datagrams).map(|seen| seen.received).sum();
    if came < COUNTED * whole.len() as u64 {
        let (bytes, length) = whole.iter().fold((0, 0), |(bytes, length): (u64, u64), interval| {
            (bytes.saturating_add(interval.carried.bytes.0), length.saturating_add(interval.length_ns.0))
        });
        return per_second(Bytes(bytes), Nanos(length)).filter(|_| came >= FEWEST);
    }
    let rates = whole.iter().filter_map(|interval| per_second(interval.carried.bytes, interval.length_ns));
    middle(rates).filter(|_| whole.len() > 1)
}

/// The middle one of these.
fn middle(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
