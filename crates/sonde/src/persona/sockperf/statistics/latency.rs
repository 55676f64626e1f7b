//! Figures of the observations, by the original's formulas.
//!
//! A value is half a round trip cut to whole nanoseconds, or with `--full-rtt` the whole. Every figure of up to [`EXACT`]
//! values is exact. With more the average, the deviation and the extremes are; figures that need the values in order come
//! from a histogram of three significant digits, each value counted as the middle of its bucket: off by no more than 1 part
//! in 2,000.

use measure::recorder::{EXACT, Values};
use measure::statistics::quantile::Ranked;
use measure::unit::Nanos;

use crate::persona::sockperf::options::Histogram;
use crate::persona::sockperf::statistics::bins::Bins;
use crate::persona::sockperf::statistics::normal;

/// The percentiles that are printed between the extremes, as shares.
pub const PERCENTILES: [f64; 8] = [0.99999, 0.9999, 0.999, 0.99, 0.90, 0.75, 0.50, 0.25];
/// A median absolute deviation times this estimates a standard deviation: 1 over the normal quantile at 3/4.
const TO_DEVIATION: f64 = 1.482_602_218_51;

/// Figures of some observations, in whole nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    /// Number of observations, at least one.
    pub observations: u64,
    /// The mean.
    pub average_ns: u64,
    /// Standard deviation of a sample; 0 of one observation, as the three below.
    pub deviation_ns: u64,
    /// Mean distance from the mean.
    pub mean_distance_ns: u64,
    /// Median distance from the median, scaled to compare with a standard deviation.
    pub median_distance_ns: u64,
    /// Half the distance between the quartiles.
    pub half_quartile_range_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// The shortest.
    pub min_ns: u64,
    /// At [`PERCENTILES`]; `None` where there are too few observations for any to stand there.
    pub percentiles_ns: [Option<u64>; 8],
    /// `--histogram`.
    pub bins: Option<Bins>,
}

impl Latency {
    /// Standard deviation over average; NaN where both are 0.
    pub fn variation(&self) -> f64 {
        self.deviation_ns as f64 / self.average_ns as f64
    }

    /// Standard error of the average in nanoseconds, as if no observation resembled the one before.
    pub fn error_ns(&self) -> f64 {
        self.deviation_ns as f64 / (self.observations as f64).sqrt()
    }

    /// Ends of the interval around the average that belongs to a level in percent, in nanoseconds; the lower may be
    /// negative.
    pub fn interval_ns(&self, level: u8) -> (f64, f64) {
        let reach = normal::quantile(1.0 - (1.0 - f64::from(level) / 100.0) / 2.0) * self.error_ns();
        (self.average_ns as f64 - reach, self.average_ns as f64 + reach)
    }
}

/// Keeps values, or what can be kept of them.
#[derive(Debug)]
pub(super) struct Keeper {
    full_rtt: bool,
    /// Every value so far, while there are no more than [`EXACT`].
    exact: Option<Vec<u64>>,
    values: Values,
    /// Sum of whole round trips: the average is halved only at the end.
    round_trips: u128,
    bins: Option<Bins>,
}

impl Keeper {
    pub(super) fn new(full_rtt: bool, histogram: Option<Histogram>) -> Self {
        let bins = histogram.map(Bins::new);
        Self { full_rtt, exact: Some(Vec::new()), values: Values::new(), round_trips: 0, bins }
    }

    /// One more round trip.
    pub(super) fn keep(&mut self, round_trip_ns: u64) {
        let value = if self.full_rtt { round_trip_ns } else { round_trip_ns / 2 };
        self.round_trips += u128::from(round_trip_ns);
        self.values.record(value);
        if let Some(bins) = &mut self.bins {
            bins.count(value);
        }
        match &mut self.exact {
            Some(exact) if exact.len() < EXACT => exact.push(value),
            exact => *exact = None,
        }
    }

    /// The figures; `None` of nothing.
    pub(super) fn latency(&self) -> Option<Latency> {
        let (Some(Nanos(min_ns)), Some(Nanos(max_ns))) = (self.values.min(), self.values.max()) else { return None };
        let observations = self.values.count();
        let ranked = match &self.exact {
            Some(exact) => Ranked::exact(exact.clone()),
            None => Ranked::counted(&self.values),
        };
        let average = (self.round_trips / u128::from(observations)) as u64;
        let figures = Figures { ranked: &ranked, values: &self.values };
        Some(Latency {
            observations,
            average_ns: if self.full_rtt { average } else { average / 2 },
            deviation_ns: figures.deviation(),
            mean_distance_ns: figures.mean_distance(),
            median_distance_ns: figures.median_distance(),
            half_quartile_range_ns: figures.half_quartile_range(),
            max_ns,
            min_ns,
            percentiles_ns: PERCENTILES.map(|share| figures.percentile(share)),
            bins: self.bins.clone(),
        })
    }
}

/// Values in order and their moments.
struct Figures<'a> {
    ranked: &'a Ranked,
    values: &'a Values,
}

impl Figures<'_> {
    fn count(&self) -> u64 {
        self.values.count()
    }

    /// The value at the 0-based index ⌊0.5 + share · n⌋ − 1.
    fn percentile(&self, share: f64) -> Option<u64> {
        self.ranked.at((0.5 + share * self.count() as f64) as u64)
    }

    fn deviation(&self) -> u64 {
        let count = self.count();
        if count < 2 {
            return 0;
        }
        // n Σx² − (Σx)², in integers: no digits cancel.
        let spread = (u128::from(count) * self.values.sum_of_squares()).saturating_sub(self.values.sum().pow(2));
        let variance = spread as f64 / count as f64 / (count - 1) as f64;
        (variance.sqrt() + 0.5) as u64
    }

    fn mean_distance(&self) -> u64 {
        let mean = self.values.sum() as f64 / self.count() as f64;
        let distances: f64 =
            weights(self.ranked).map(|(value, count)| (value as f64 - mean).abs() * count as f64).sum();
        (distances / self.count() as f64) as u64
    }

    fn median_distance(&self) -> u64 {
        let centre = median(self.ranked);
        let mut distances: Vec<(u64, u64)> =
            weights(self.ranked).map(|(value, count)| (value.abs_diff(centre), count)).collect();
        distances.sort_unstable();
        let mut upto = 0;
        for (_, count) in &mut distances {
            upto += *count;
            *count = upto;
        }
        (median(&Ranked::Counted(distances)) as f64 * TO_DEVIATION) as u64
    }

    fn half_quartile_range(&self) -> u64 {
        match (self.percentile(0.75), self.percentile(0.25)) {
            (Some(high), Some(low)) => (high - low) / 2,
            _ => 0,
        }
    }
}

/// The middle value, or the mean of the two in the middle, cut.
fn median(ranked: &Ranked) -> u64 {
    let count = ranked.count();
    let at = |rank| ranked.at(rank).unwrap_or_default();
    if count % 2 == 1 { at(count / 2 + 1) } else { at(count / 2).midpoint(at(count / 2 + 1)) }
}

/// Values and how many stand at each.
fn weights(ranked: &Ranked) -> Box<dyn Iterator<Item = (u64, u64)> + '_> {
    match ranked {
        Ranked::Exact(values) => Box::new(values.iter().map(|value| (*value, 1))),
        Ranked::Counted(steps) => {
            let mut before = 0;
            Box::new(steps.iter().map(move |&(value, upto)| (value, upto - std::mem::replace(&mut before, upto))))
        }
    }
}
