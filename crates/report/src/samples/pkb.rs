//! A run as samples of `PerfKit` Benchmarker: newline-delimited JSON with its metric names, units, metadata and labels.
//!
//! What a record does not have is absent, never 0. What `PerfKit` Benchmarker has no name for stands under names that begin with
//! `sonde_`, so that nothing clashes: the mean, the loss of echoes, interval and sizes, each pair of a mesh. Quantiles are by nearest rank
//! over all that was sent, where `PerfKit` Benchmarker takes the lower edge of a bucket of the answered. A mesh has no
//! `TCP_STREAM_Total_Throughput`: that is of all pairs at once, and no plan measures so.

mod hosts;
mod iperf;
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

/// Percentiles of `netperf` where nobody says.
const USUAL_PERCENTILES: [f64; 7] = [10.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999];

/// How the records of a method are told.
#[derive(Clone, Debug, PartialEq)]
pub struct Telling {
    /// As which benchmark.
    pub benchmark: Benchmark,
    /// The histogram of `netperf`; `None`: none is told, nor the percentiles that come from it.
    pub histogram: Option<Histogram>,
    /// Whether `iperf`'s metadata has the series of its intervals.
    pub series: bool,
    /// Repeats of a cell that are one run, a count: `run_number` counts runs.
    pub repeats_of_a_run: u32,
    /// What was asked of it; what was found goes before.
    pub metadata: BTreeMap<String, String>,
}

/// A histogram of latencies.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// Buckets of each row of ten times, a count; what was recorded finer than that is put together.
    pub buckets: u32,
    /// Percentiles that are told beside p50, p90 and p99, 0 to 100.
    pub percentiles: Vec<f64>,
}

impl From<Benchmark> for Telling {
    /// As `PerfKit` Benchmarker tells it where nobody says otherwise.
    fn from(benchmark: Benchmark) -> Self {
        let histogram = Some(Histogram { buckets: 1_000, percentiles: USUAL_PERCENTILES.to_vec() });
        Self { benchmark, histogram, series: false, repeats_of_a_run: 1, metadata: BTreeMap::new() }
    }
}

/// The samples of `run`, in the order in which they were measured. `tellings`: how each method of the plan is told; one that is not named there is told by its carrier, as `ping`
/// or `netperf`. `records` finds a record by its name; a cell without one has no samples.
pub fn samples(
    run: &RunDocument,
    tellings: &BTreeMap<String, Telling>,
    records: &dyn Fn(Uuid) -> Option<Record>,
) -> Vec<Sample> {
    let mut samples = Vec::new();
    let mut meshes: BTreeMap<(&str, u32), Vec<(&Cell, Record)>> = BTreeMap::new();
    let mut cells: Vec<&Cell> = run.last_cells().into_values().collect();
    cells.sort_by_key(|cell| cell.started.timestamp());
    for cell in cells {
        let Some(record) = cell.record.and_then(records) else { continue };
        let usual = || {
            let is_ping = record.method.carrier == measure::method::Carrier::Icmp;
            Telling::from(if is_ping { Benchmark::Ping } else { Benchmark::Netperf })
        };
        let telling = tellings.get(&cell.place.method).cloned().unwrap_or_else(usual);
        samples.extend(metrics::of(run, cell, &record, &telling));
        if telling.benchmark == Benchmark::MeshNetwork {
            meshes.entry((&cell.place.method, cell.place.repeat)).or_default().push((cell, record));
        }
    }
    for ((method, _), cells) in meshes {
        samples.extend(tellings.get(method).into_iter().flat_map(|telling| metrics::mesh(run, &cells, telling)));
    }
    samples
}

/// Writes the samples of `run`, one a line, and tells how many; `tellings` and `records` as [`samples`] takes them.
///
/// # Errors
/// What `out` says.
pub fn write(
    out: &mut dyn Write,
    run: &RunDocument,
    tellings: &BTreeMap<String, Telling>,
    publisher: &Publisher,
    records: &dyn Fn(Uuid) -> Option<Record>,
) -> io::Result<usize> {
    let mut samples = samples(run, tellings, records);
    publisher.label(&mut samples);
    for (at, sample) in samples.iter().enumerate() {
        out.write_all(publisher.line(sample, run.id, at + 1).as_bytes())?;
    }
    Ok(samples.len())
}
