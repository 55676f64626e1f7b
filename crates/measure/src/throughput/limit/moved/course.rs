//! Choice of the datagrams that are sent to test a path: the next leg after those that were.
//!
//! A share of losses is told from none where at least sixteen of them are to be expected in the slowest leg: fewer than a
//! third of them come in one of a thousand tries. That decides its length, within two seconds. All legs together take no longer
//! than six seconds and a bit.

use super::Moved;
use crate::throughput::limit::LOSSES;
use crate::unit::{Bytes, Nanos};

/// The stream that the path may limit, and the datagrams that can be sent instead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course {
    /// Bytes of payload per second that arrived of it.
    pub arrived_bytes_per_s: f64,
    /// Share of it that was lost; `None`: none to speak of.
    pub lost: Option<f64>,
    /// Bytes of payload of a datagram.
    pub datagram: Bytes,
    /// Bytes of payload per second that can be sent at most.
    pub most_bytes_per_s: f64,
}

/// A leg that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    /// Bytes of payload per second.
    pub bytes_per_s: f64,
    /// Its duration.
    pub length: Nanos,
}

/// Duration of a leg: six glimpses, half of which are free of the host's occasional disturbances.
const LEG: Nanos = Nanos::millis(600);
/// Longest duration of a leg.
const LONGEST: Nanos = Nanos::secs(2);
/// Losses that are to be expected in it.
const EXPECTED: f64 = 16.0;
/// Datagrams of it at the least: of a leg that loses half of its own, and of these none, that is no accident.
const FEWEST: f64 = 40.0;
/// Datagrams through a bottleneck of which its rate is told.
const THROUGH: f64 = 16.0;
/// Rates of the legs, as multiples of the stream's rate of arrival. A policer lets a TCP have as little as a third of
/// its rate; one that lost much at its start has still less in a short run, so that where it lost any the search
/// continues.
const RATES: [f64; 6] = [0.5, 1.5, 4.0, 10.0, 25.0, 60.0];
/// Number of those rates to try where the stream lost nothing.
const WITHOUT_LOSSES: usize = 4;
/// Another leg beyond a bottleneck's rate is faster than the first by so much; slower where it cannot be sent.
const CONFIRMS: f64 = 2.0;
const CONFIRMS_BELOW: f64 = 0.75;
/// Share of the requested rate that leaves even where the host has other things to do.
const KEPT: f64 = 0.7;
/// Number of those legs, at most: the first may be needed to empty a bucket.
const CONFIRMING: usize = 3;
/// All of [`RATES`] and two of those: six seconds, of a slow line more.
const MOST_LEGS: usize = RATES.len() + 2;

impl Moved {
    /// Returns the next leg to send; `None`: there is nothing more to find out, or no way to.
    pub fn next(&self, of: &Course) -> Option<Wanted> {
        let wanted = |bytes_per_s: f64| Wanted { bytes_per_s, length: of.shortest() };
        let first = |rate: f64| Wanted { length: of.length(rate), ..wanted(rate) };
        let unsent = self.legs.iter().any(|leg| !leg.left());
        if unsent || self.legs.len() >= MOST_LEGS || self.queued().is_some() {
            return None;
        }
        if let Some(place) = self.beyond() {
            return self.confirms(place, of.most_bytes_per_s).map(wanted);
        }
        if self.is_below_all() || self.legs.len() > 2 && self.evenly().is_some() {
            return None;
        }
        let rates = if of.lost.is_some() { &RATES[..] } else { &RATES[..WITHOUT_LOSSES] };
        let rate = rates.get(self.legs.len())? * of.arrived_bytes_per_s;
        let next = if self.legs.is_empty() { first(rate) } else { wanted(rate) };
        (rate > 0.0 && rate <= of.most_bytes_per_s).then_some(next)
    }

    /// Returns the rate of another leg after the one at `place`, which was beyond the path's capacity.
    fn confirms(&self, place: usize, most_bytes_per_s: f64) -> Option<f64> {
        let last = self.legs.last()?;
        if self.legs.len() - place > CONFIRMING || self.capped(place).is_some() {
            return None;
        }
        // A host that sent far less than it should sends no faster leg.
        if last.sent_bytes_per_s < last.asked_bytes_per_s * KEPT {
            return Some(last.sent_bytes_per_s * CONFIRMS_BELOW);
        }
        let faster = last.asked_bytes_per_s * CONFIRMS;
        Some(if faster <= most_bytes_per_s { faster } else { last.asked_bytes_per_s * CONFIRMS_BELOW })
    }
}

impl Course {
    /// Returns the duration of datagrams at such a rate, so that a share of losses as the stream's shows.
    fn length(&self, bytes_per_s: f64) -> Nanos {
        let lost = self.lost.filter(|lost| *lost >= LOSSES);
        let count = lost.map_or(0.0, |lost| EXPECTED / lost).max(FEWEST);
        let ns = count * self.datagram.0 as f64 / bytes_per_s.max(1.0) * 1e9;
        Nanos(ns as u64).clamp(LEG, LONGEST)
    }

    /// Returns the duration in which so many datagrams get through a bottleneck of the stream's rate that a rate can be told of them: of a slow line
    /// longer than usual.
    fn shortest(&self) -> Nanos {
        let ns = THROUGH * self.datagram.0 as f64 / self.arrived_bytes_per_s.max(1.0) * 1e9;
        Nanos(ns as u64).clamp(LEG, LONGEST)
    }
}
