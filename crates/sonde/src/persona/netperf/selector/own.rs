//! Selectors that the original has not: further percentiles, and what was lost. `all` leaves them out.

use super::latency::percentile;
use super::{Row, int_or, row};
use crate::persona::netperf::facts::Percentile;

/// Percentiles beside 50, 90 and 99. 99.9 and its like drop the point.
pub(super) const LATENCY: [Row; 7] = [
    row("P10_LATENCY", &["10th", "Percentile", "Latency", "Microseconds"], |v| percentile(v, Percentile::P10)),
    row("P25_LATENCY", &["25th", "Percentile", "Latency", "Microseconds"], |v| percentile(v, Percentile::P25)),
    row("P75_LATENCY", &["75th", "Percentile", "Latency", "Microseconds"], |v| percentile(v, Percentile::P75)),
    row("P95_LATENCY", &["95th", "Percentile", "Latency", "Microseconds"], |v| percentile(v, Percentile::P95)),
    row("P999_LATENCY", &["99.9th", "Percentile", "Latency", "Microseconds"], |v| percentile(v, Percentile::P999)),
    row("P9999_LATENCY", &["99.99th", "Percentile", "Latency", "Microseconds"], |v| percentile(v, Percentile::P9999)),
    row("P99999_LATENCY", &["99.999th", "Percentile", "Latency", "Microseconds"], |v| {
        percentile(v, Percentile::P99999)
    }),
];

/// Requests or datagrams lost in all iterations; −1 where nothing can be lost unseen.
pub(super) const OTHERS: [Row; 1] = [row("LOST", &["Lost"], |v| {
    let lost: Option<u64> = v.facts.iterations.iter().map(|iteration| iteration.lost).sum();
    int_or(lost, -1)
})];
