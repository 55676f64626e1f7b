//! A run as samples of `PerfKit` Benchmarker: newline-delimited JSON with its metric names, units, metadata and labels.
//!
//! A value that a record does not have is absent, never 0. Figures that `PerfKit` Benchmarker has no name for stand under
//! names that begin with `sonde_`, so that nothing clashes: the mean, the loss of echoes, interval and sizes, each pair of a
//! mesh. Quantiles are by nearest rank over all that was sent, where `PerfKit` Benchmarker takes the lower edge of a bucket
//! of the answered. A mesh has no `TCP_STREAM_Total_Throughput`: that is of all pairs at once, and no plan measures so.

mod bidirectional;
mod hosts;
mod iperf;
mod metrics;
mod row;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::{self, Write};

use logbook::record::Record;
use logbook::run::{Cell, Place, RunDocument};
use uuid::Uuid;

use bidirectional::InStar;
use metrics::InMesh;
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
    /// `bidirectional_network`: the plan's first host with each other, as its pairs list them; whichever sends is the first of a pair.
    BidirectionalNetwork,
}

impl Benchmark {
    /// Its name, as it stands in `test`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::Netperf => "netperf",
            Self::Iperf => "iperf",
            Self::MeshNetwork => "mesh_network",
            Self::BidirectionalNetwork => "bidirectional_network",
        }
    }
}

/// Percentiles of `netperf` where nobody says.
const USUAL_PERCENTILES: [f64; 7] = [10.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999];

/// The form of a method's records.
#[derive(Clone, Debug, PartialEq)]
pub struct Telling {
    /// Benchmark that the samples are told as.
    pub benchmark: Benchmark,
    /// The histogram of `netperf`; `None`: none is told, nor the percentiles that come from it.
    pub histogram: Option<Histogram>,
    /// True where `iperf`'s metadata has the series of its intervals.
    pub series: bool,
    /// Repeats of a cell that are one run, a count: `run_number` counts runs.
    pub repeats_of_a_run: u32,
    /// Its request; what was found goes before.
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
    let told = each(run, tellings, records, &mut |some| {
        samples.extend(some);
        Ok(())
    });
    debug_assert!(told.is_ok(), "nothing that could fail was done");
    samples
}

/// Writes the samples of `run`, one a line, and tells how many; `tellings` and `records` as [`samples`] takes them. One record at a
/// time is held.
///
/// # Errors
/// The error of `out`.
pub fn write(
    out: &mut dyn Write,
    run: &RunDocument,
    tellings: &BTreeMap<String, Telling>,
    publisher: &Publisher,
    records: &dyn Fn(Uuid) -> Option<Record>,
) -> io::Result<usize> {
    let mut told = 0;
    each(run, tellings, records, &mut |mut samples| {
        publisher.label(&mut samples);
        for sample in &samples {
            told += 1;
            out.write_all(publisher.line(sample, run.head.id, told).as_bytes())?;
        }
        Ok(())
    })?;
    Ok(told)
}

/// The place of the run that a cell is a repeat of: its repeat is the number of that run.
fn run_of(cell: &Cell, telling: &Telling) -> Place {
    Place { repeat: cell.place.repeat / telling.repeats_of_a_run.max(1), ..cell.place.clone() }
}

/// The rates of the repeats of each run of `netperf` that has several.
fn sure(
    cells: &[&Cell],
    tellings: &BTreeMap<String, Telling>,
    records: &dyn Fn(Uuid) -> Option<Record>,
) -> BTreeMap<Place, Vec<f64>> {
    let mut runs: BTreeMap<Place, Vec<f64>> = BTreeMap::new();
    for cell in cells {
        let telling = tellings.get(&cell.place.method);
        let Some(telling) = telling.filter(|told| told.benchmark == Benchmark::Netperf && told.repeats_of_a_run > 1)
        else {
            continue;
        };
        if let Some(rate) = cell.record.and_then(records).and_then(|record| metrics::result(&record)) {
            runs.entry(run_of(cell, telling)).or_default().push(rate);
        }
    }
    runs
}

/// Hands the samples of each cell over, and at last those of whole meshes.
fn each(
    run: &RunDocument,
    tellings: &BTreeMap<String, Telling>,
    records: &dyn Fn(Uuid) -> Option<Record>,
    tell: &mut dyn FnMut(Vec<Sample>) -> io::Result<()>,
) -> io::Result<()> {
    let mut stars: BTreeMap<(&str, u32), Vec<InStar<'_>>> = BTreeMap::new();
    let mut meshes: BTreeMap<(&str, u32), Vec<InMesh<'_>>> = BTreeMap::new();
    let mut cells: Vec<&Cell> = run.last_cells().into_values().collect();
    cells.sort_by_key(|cell| cell.started.timestamp());
    let sure = sure(&cells, tellings, records);
    for cell in cells {
        let Some(record) = cell.record.and_then(records) else { continue };
        let usual = || {
            let is_ping = record.method.traffic.carrier() == measure::method::Carrier::Icmp;
            Telling::from(if is_ping { Benchmark::Ping } else { Benchmark::Netperf })
        };
        let telling = tellings.get(&cell.place.method).cloned().unwrap_or_else(usual);
        let width = sure.get(&run_of(cell, &telling)).and_then(|rates| metrics::width_of(rates));
        tell(metrics::of(run, cell, &record, &telling, width))?;
        if telling.benchmark == Benchmark::MeshNetwork {
            let mesh = meshes.entry((&cell.place.method, cell.place.repeat)).or_default();
            mesh.push(InMesh::of(cell, &record));
        }
        if telling.benchmark == Benchmark::BidirectionalNetwork {
            stars.entry((&cell.place.method, cell.place.repeat)).or_default().extend(InStar::of(cell, &record));
        }
    }
    for ((method, _), cells) in meshes {
        if let Some(telling) = tellings.get(method) {
            tell(metrics::mesh(run, &cells, telling))?;
        }
    }
    for ((method, _), cells) in stars {
        if let Some(telling) = tellings.get(method) {
            tell(bidirectional::totals(run, &cells, telling))?;
        }
    }
    Ok(())
}
