//! A run as samples of `PerfKit` Benchmarker: newline-delimited JSON with its metric names, units, metadata and labels.
//!
//! What a record does not have is absent, never 0. What `PerfKit` Benchmarker has no name for stands under names that begin with
//! `sonde_`, so that nothing clashes: the mean, the loss of echoes, interval and sizes, each pair of a mesh. Quantiles are by nearest rank
//! over all that was sent, where `PerfKit` Benchmarker takes the lower edge of a bucket of the answered.

mod metrics;
mod row;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::{self, Write};

use logbook::record::Record;
use logbook::run::{Cell, RunDocument};
use uuid::Uuid;

pub use row::{Publisher, Sample};

/// A benchmark of `PerfKit` Benchmarker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Benchmark {
    /// `ping`.
    Ping,
    /// `netperf`, whatever its test.
    Netperf,
    /// `iperf`.
    Iperf,
    /// `mesh_network`.
    MeshNetwork,
}

impl Benchmark {
    /// Its name, as it stands in `test`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::Netperf => "netperf",
            Self::Iperf => "iperf",
            Self::MeshNetwork => "mesh_network",
        }
    }
}

/// Writes the samples of `run`, one a line, and tells how many. `benchmarks`: as which benchmark each method of the plan is told; one
/// that is not named there is told by its carrier, as `ping` or `netperf`. `records` finds a record by its name.
///
/// # Errors
/// What `out` says.
pub fn write(
    out: &mut dyn Write,
    run: &RunDocument,
    benchmarks: &BTreeMap<String, Benchmark>,
    publisher: &Publisher,
    records: &dyn Fn(Uuid) -> Option<Record>,
) -> io::Result<usize> {
    let mut number = 0;
    let mut put = |sample: Sample| {
        number += 1;
        out.write_all(sample.line(run.id, number, publisher).as_bytes())
    };
    let mut rates: BTreeMap<(&str, u32), Vec<(&Cell, Record)>> = BTreeMap::new();
    for cell in run.last_cells().into_values() {
        let Some(record) = cell.record.and_then(records) else { continue };
        let asked = benchmarks.get(&cell.place.method).copied();
        for sample in metrics::of(run, cell, &record, asked) {
            put(sample)?;
        }
        if asked == Some(Benchmark::MeshNetwork) {
            rates.entry((&cell.place.method, cell.place.repeat)).or_default().push((cell, record));
        }
    }
    for cells in rates.into_values() {
        for sample in metrics::mesh(run, &cells) {
            put(sample)?;
        }
    }
    Ok(number)
}
