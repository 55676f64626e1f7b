//! Selectors of durations: whole microseconds cut off, means and deviations with two decimals, −1 where none were kept.

use super::{Row, int, int_or, row, two};
use crate::persona::netperf::facts::{Latency, Percentile};
use crate::persona::netperf::view::View;

/// Those of the original.
pub(super) const ROWS: [Row; 7] = [
    row("MIN_LATENCY", &["Minimum", "Latency", "Microseconds"], |v| whole(v, |latency| latency.min_ns)),
    row("MAX_LATENCY", &["Maximum", "Latency", "Microseconds"], |v| whole(v, |latency| latency.max_ns)),
    row("P50_LATENCY", &["50th", "Percentile", "Latency", "Microseconds"], |v| percentile(v, Percentile::P50)),
    row("P90_LATENCY", &["90th", "Percentile", "Latency", "Microseconds"], |v| percentile(v, Percentile::P90)),
    row("P99_LATENCY", &["99th", "Percentile", "Latency", "Microseconds"], |v| percentile(v, Percentile::P99)),
    row("MEAN_LATENCY", &["Mean", "Latency", "Microseconds"], |v| fraction(v, |latency| latency.mean_ns)),
    row("STDDEV_LATENCY", &["Stddev", "Latency", "Microseconds"], |v| fraction(v, |latency| latency.stddev_ns)),
];

const NANOS: u64 = 1_000;

fn whole(v: &View<'_>, find: fn(&Latency) -> u64) -> Option<String> {
    int_or(v.facts.latency.as_ref().map(|latency| find(latency) / NANOS), -1)
}

fn fraction(v: &View<'_>, find: fn(&Latency) -> f64) -> Option<String> {
    two(v.facts.latency.as_ref().map_or(-1.0, |latency| find(latency) / NANOS as f64))
}

pub(super) fn percentile(v: &View<'_>, which: Percentile) -> Option<String> {
    match &v.facts.latency {
        Some(latency) => int(latency.percentile_ns(which) / NANOS),
        None => int(-1),
    }
}
