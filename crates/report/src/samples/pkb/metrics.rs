//! Samples of a record, by the names of the benchmark it is told as.

use std::collections::BTreeMap;

use logbook::plan::Directions;
use logbook::record::Record;
use logbook::run::{Cell, RunDocument};
use measure::method::{Carrier, Method, Traffic};
use measure::outcome::Outcome;
use measure::statistics::payload;
use measure::statistics::width::width_percent;
use measure::study::figure::Figure;
use measure::throughput::Throughput;
use measure::unit::Nanos;

use super::row::{Sample, seconds};
use super::{Benchmark, Histogram, Telling, bidirectional, hosts, iperf};

/// The common part of a benchmark's samples.
pub(super) struct Told {
    test: &'static str,
    metadata: BTreeMap<String, String>,
    timestamp: f64,
    samples: Vec<Sample>,
}

impl Told {
    /// Nothing yet, of a benchmark with this metadata, measured from then on.
    pub(super) fn new(benchmark: Benchmark, metadata: BTreeMap<String, String>, timestamp: f64) -> Self {
        Self { test: benchmark.name(), metadata, timestamp, samples: Vec::new() }
    }

    /// All of them.
    pub(super) fn samples(self) -> Vec<Sample> {
        self.samples
    }

    /// A sample, where there is a number.
    pub(super) fn put(&mut self, metric: impl Into<String>, value: Option<f64>, unit: &'static str) {
        let Some(value) = value.filter(|value| value.is_finite()) else { return };
        let (test, metadata, timestamp) = (self.test, self.metadata.clone(), self.timestamp);
        self.samples.push(Sample { test, metric: metric.into(), value, unit, metadata, timestamp });
    }

    pub(super) fn note(&mut self, name: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.metadata.insert(name.to_owned(), value.to_string());
        }
    }
}

/// The samples of one cell.
///
/// `width`: repeats of its run, and the width of the interval of their mean, percent.
pub(super) fn of(
    run: &RunDocument,
    cell: &Cell,
    record: &Record,
    telling: &Telling,
    width: Option<(usize, f64)>,
) -> Vec<Sample> {
    let mut metadata = telling.metadata.clone();
    metadata.extend(hosts::pair(run, cell, telling.benchmark));
    metadata.extend(hosts::each(run, cell, telling.benchmark));
    let mut told = Told::new(telling.benchmark, metadata, seconds(record.head.started));
    number(&mut told, cell, telling);
    told.note("confidence_iter", width.map(|(repeats, _)| repeats));
    told.note("confidence_width_percent", width.map(|(_, width)| format!("{width:.3}")));
    match telling.benchmark {
        Benchmark::Ping => ping(&mut told, record),
        Benchmark::Iperf => iperf::of(&mut told, record, telling.series),
        Benchmark::Netperf => netperf(&mut told, record, telling.histogram.as_ref()),
        // It has names for all pairs together alone.
        Benchmark::MeshNetwork => {}
        Benchmark::BidirectionalNetwork => bidirectional::of(&mut told, run, cell, record),
    }
    further(&mut told, cell, record);
    told.samples
}

/// The main result of a test: exchanges or bytes a second.
pub(super) fn result(record: &Record) -> Option<f64> {
    let exchanges = record.outcome.as_ref().and_then(|outcome| outcome.answered_per_s);
    exchanges.or_else(|| Figure::Throughput.of(None, record.stream.as_ref()))
}

/// Repeats, and the full width of the 99 % interval of their mean in percent of it; `None` of one alone.
pub(super) fn width_of(rates: &[f64]) -> Option<(usize, f64)> {
    (rates.len() > 1).then(|| (rates.len(), width_percent(rates, 99)))
}

/// Which run it is, and which repeat of it where there are several.
pub(super) fn number(told: &mut Told, cell: &Cell, telling: &Telling) {
    let each = telling.repeats_of_a_run.max(1);
    told.note("run_number", Some(cell.place.repeat / each));
    told.note("sonde_repeat", (each > 1).then_some(cell.place.repeat % each));
}

/// Times of echoes, in milliseconds.
fn ping(told: &mut Told, record: &Record) {
    let Some(outcome) = &record.outcome else { return };
    let millis = |ns: f64| ns / 1e6;
    let times = &outcome.response;
    told.put("Min Latency", times.min_ns.map(|ns| millis(ns.0 as f64)), "ms");
    told.put("Average Latency", times.mean_ns.map(millis), "ms");
    told.put("Max Latency", times.max_ns.map(|ns| millis(ns.0 as f64)), "ms");
    told.put("Latency Std Dev", times.stddev_ns.map(millis), "ms");
}

/// The name of netperf's test that is this point; `None` where it has none.
fn test(method: &Method) -> Option<&'static str> {
    match (&method.traffic, method.traffic.carrier()) {
        (Traffic::Stream(_), Carrier::Tcp) => Some("TCP_STREAM"),
        (Traffic::Stream(_), Carrier::Udp) => Some("UDP_STREAM"),
        (Traffic::Exchange(_), Carrier::Tcp) => Some("TCP_RR"),
        (Traffic::Exchange(_), Carrier::Udp) => Some("UDP_RR"),
        (Traffic::ConnectExchange { .. }, Carrier::Tcp) => Some("TCP_CRR"),
        _ => None,
    }
}

fn netperf(told: &mut Told, record: &Record, asked: Option<&Histogram>) {
    let Some(test) = test(&record.method) else { return };
    let method = &record.method;
    let whole = |ns: Nanos| ns.0 / 1_000_000_000;
    told.note("netperf_test_length", method.stop.after_ns.map(whole));
    told.note("netperf_warmup_test_length", Some(whole(method.warm_up_ns)));
    told.note("sending_thread_count", Some(method.spread.connections));
    let send_size = method.traffic.stream().map(|stream| stream.call_bytes.0);
    told.note("netperf_send_size_in_bytes", send_size);
    let start = seconds(record.head.started);
    told.put("start_time", Some(start), "sec");
    told.put("end_time", record.elapsed().map(|elapsed| start + elapsed.0 as f64 / 1e9), "sec");
    if method.traffic.carrier() == Carrier::Tcp {
        found_of_tcp(told, record);
    }
    match (&record.outcome, &record.stream) {
        (_, Some(stream)) => throughput(told, test, stream),
        (Some(outcome), None) => exchanges(told, test, outcome, method.spread.connections, asked),
        (None, None) => {}
    }
}

/// The facts of the sockets. One that makes a connection an exchange is described before its first: it has no segment size yet.
fn found_of_tcp(told: &mut Told, record: &Record) {
    if !record.method.traffic.connects() {
        told.note("netperf_mss", record.sockets().iter().find_map(|socket| socket.mss_bytes).map(|bytes| bytes.0));
        let each = || record.sockets().iter().map(|socket| socket.retransmitted).collect::<Option<Vec<u64>>>();
        let of_sockets = || each().filter(|all| !all.is_empty()).map(sum);
        told.note("netperf_retransmissions", record.stream.as_ref().map_or_else(of_sockets, retransmissions));
    }
}

/// Segments that our end sent again, of all streams; absent where one of them did not tell.
pub(super) fn retransmissions(stream: &Throughput) -> Option<u64> {
    let each = stream.streams.iter().map(|stream| stream.tcp?.retransmits);
    each.collect::<Option<Vec<u64>>>().filter(|all| !all.is_empty()).map(sum)
}

/// Sum of the counts of sockets or streams.
fn sum(counts: Vec<u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

fn exchanges(told: &mut Told, test: &str, outcome: &Outcome, connections: u32, asked: Option<&Histogram>) {
    const UNIT: &str = "transactions_per_second";
    if connections == 1 {
        told.put(format!("{test}_Transaction_Rate"), outcome.answered_per_s, UNIT);
    } else {
        if let Some(each) = answered_per_s(outcome, connections) {
            of_several(told, test, &each, UNIT);
        }
        told.put(format!("{test}_Throughput_total"), outcome.answered_per_s, UNIT);
    }
    let times = &outcome.response;
    let micros = |ns: f64| ns / 1e3;
    // netperf itself tells three; the histogram the others.
    let mut percentiles = vec![50.0, 90.0, 99.0];
    if let Some(asked) = asked {
        histogram(told, test, &times.histogram, asked.buckets);
        percentiles.extend(&asked.percentiles);
        percentiles.sort_unstable_by(f64::total_cmp);
        percentiles.dedup();
    }
    for percentile in percentiles {
        // Percentiles are decimals: 99.9 / 100 is more than the nearest number to 0.999.
        let q = (percentile * 1e7).round() / 1e9;
        let value = Figure::Quantile(q).of(Some(outcome), None).map(micros);
        told.put(format!("{test}_Latency_p{percentile}"), value, "us");
    }
    told.put(format!("{test}_Latency_min"), times.min_ns.map(|ns| micros(ns.0 as f64)), "us");
    told.put(format!("{test}_Latency_max"), times.max_ns.map(|ns| micros(ns.0 as f64)), "us");
    told.put(format!("{test}_Latency_stddev"), times.stddev_ns.map(micros), "us");
}

/// Exchanges a second of each connection, sorted; `None` where one of them is not known apart.
fn answered_per_s(outcome: &Outcome, connections: u32) -> Option<Vec<f64>> {
    let each = &outcome.flows.as_ref()?.each;
    let answered: u64 = each.iter().map(|flow| flow.answered).sum();
    let all_per_s = outcome.answered_per_s.filter(|_| answered > 0 && each.len() == connections as usize)?;
    let mut rates: Vec<f64> = each.iter().map(|flow| flow.answered as f64 / answered as f64 * all_per_s).collect();
    rates.sort_unstable_by(f64::total_cmp);
    Some(rates)
}

/// The histogram itself, whose sample has the value 0 and the numbers in its metadata: the lower edge of each bucket in microseconds,
/// and how many.
fn histogram(told: &mut Told, test: &str, encoded: &str, buckets: u32) {
    let Ok(found) = payload::decode(encoded) else { return };
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for (at, count) in payload::buckets(&found) {
        *counts.entry(edge(at, buckets)).or_default() += count;
    }
    if counts.is_empty() {
        return;
    }
    // Edges as Python writes its floats: 6 us is "6.0".
    let counts: Vec<String> = counts.iter().map(|(ns, count)| format!("\"{:?}\": {count}", *ns as f64 / 1e3)).collect();
    let known = told.metadata.clone();
    told.note("histogram", Some(format!("{{{}}}", counts.join(", "))));
    told.put(format!("{test}_Latency_Histogram"), Some(0.0), "us");
    told.metadata = known;
}

/// The lower edge of the bucket that `at` falls in, nanoseconds: rows end at 10 us, 100 us, and so on, with so many buckets each.
fn edge(at: Nanos, buckets: u32) -> u64 {
    let (at, buckets) = (u128::from(at.0), u128::from(buckets.max(1)));
    let mut row = 10_000_u128;
    while row <= at {
        row *= 10;
    }
    u64::try_from(at * buckets / row * row / buckets).unwrap_or(u64::MAX)
}

/// Megabits a second.
pub(super) fn megabits(bytes_per_s: f64) -> f64 {
    bytes_per_s * 8.0 / 1e6
}

fn throughput(told: &mut Told, test: &str, stream: &Throughput) {
    const UNIT: &str = "Mbits/sec";
    let all = Figure::Throughput.of(None, Some(stream)).map(megabits);
    let count = stream.streams.len().max(1);
    if count == 1 {
        told.put(format!("{test}_Throughput"), all, UNIT);
    } else {
        let mut each: Vec<f64> =
            stream.streams.iter().filter_map(|stream| rate(stream.carried.bytes.0, stream.elapsed_ns)).collect();
        each.sort_unstable_by(f64::total_cmp);
        if each.len() == count {
            of_several(told, test, &each, UNIT);
        }
        told.put(format!("{test}_Throughput_total"), all, UNIT);
    }
    if test == "TCP_STREAM" {
        let name = if count == 1 { "1stream".to_owned() } else { format!("{count}streams") };
        told.put(format!("{test}_Throughput_{name}"), all, UNIT);
    }
}

pub(super) fn rate(bytes: u64, elapsed: Nanos) -> Option<f64> {
    (elapsed.0 > 0).then(|| megabits(bytes as f64 * 1e9 / elapsed.0 as f64))
}

/// The values of several streams or connections, sorted.
pub(super) fn of_several(told: &mut Told, test: &str, each: &[f64], unit: &'static str) {
    let count = each.len() as f64;
    let mean = each.iter().sum::<f64>() / count;
    let squares = each.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>();
    // Its rule: between the two neighbours of the place, in proportion.
    let at = |q: f64| {
        let place = (count - 1.0) * q;
        let (below, above) = (each.get(place as usize)?, each.get(place.ceil() as usize)?);
        Some(below + (above - below) * place.fract())
    };
    let values = [
        ("p50", at(0.5)),
        ("p90", at(0.9)),
        ("p99", at(0.99)),
        ("average", Some(mean)),
        ("stddev", (each.len() > 1).then(|| (squares / (count - 1.0)).sqrt())),
        ("min", each.first().copied()),
        ("max", each.last().copied()),
    ];
    for (name, value) in values {
        told.put(format!("{test}_Throughput_{name}"), value, unit);
    }
}

/// Metrics that `PerfKit` Benchmarker has no name for.
fn further(told: &mut Told, cell: &Cell, record: &Record) {
    let method = &record.method;
    told.note("sonde_method", Some(&cell.place.method));
    told.note("sonde_command", Some(record.head.command.join(" ")));
    told.note("sonde_record", Some(record.head.id));
    told.note("sonde_clock_source", record.ours.as_ref().and_then(|ours| ours.clock_source.as_ref()));
    told.note("sonde_beside", (cell.beside > 0).then_some(cell.beside));
    let exchanges = record.outcome.as_ref();
    told.put("sonde_Latency_mean", exchanges.and_then(|outcome| outcome.response.mean_ns).map(|ns| ns / 1e3), "us");
    told.put("sonde_Latency_p50", Figure::Quantile(0.5).of(exchanges, None).map(|ns| ns / 1e3), "us");
    told.put("sonde_Loss", exchanges.and_then(|outcome| outcome.loss.ratio).map(|share| share * 100.0), "percent");
    let interval = method.schedule.mean_gap().filter(|_| exchanges.is_some());
    told.put("sonde_Interval", interval.map(|gap| gap.0 as f64 / 1e3), "us");
    told.put("sonde_Request_Size", exchanges.map(|_| method.traffic.request_bytes().0 as f64), "bytes");
    told.put("sonde_Response_Size", exchanges.map(|_| method.traffic.response_bytes().0 as f64), "bytes");
    told.put("sonde_Throughput", Figure::Throughput.of(None, record.stream.as_ref()).map(megabits), "Mbits/sec");
}

/// The description of a mesh, of one of its records.
pub(super) struct InMesh<'a> {
    cell: &'a Cell,
    test: Option<&'static str>,
    connections: u32,
    started: f64,
    /// The mean time of an exchange, milliseconds.
    wait_ms: Option<f64>,
}

impl<'a> InMesh<'a> {
    pub(super) fn of(cell: &'a Cell, record: &Record) -> Self {
        let connections = record.method.spread.connections;
        // Mean time of an exchange over several connections, which is their number by the rate of all.
        let rate = record.outcome.as_ref().and_then(|outcome| outcome.answered_per_s).filter(|rate| *rate > 0.0);
        let wait_ms = rate.map(|rate| 1_000.0 * f64::from(connections) / rate);
        Self { cell, test: test(&record.method), connections, started: seconds(record.head.started), wait_ms }
    }
}

/// The number of a mesh, of one method and repeat: only where every pair was measured, for a mean of some is none of all.
pub(super) fn mesh(run: &RunDocument, cells: &[InMesh<'_>], telling: &Telling) -> Vec<Sample> {
    let Some(first) = cells.first() else { return Vec::new() };
    let hosts = run.plan.hosts.len();
    let ends = if run.plan.directions == Directions::Both { 1 } else { 2 };
    let whole = hosts * hosts.saturating_sub(1) / ends * run.plan.addresses.each().len();
    let metadata =
        telling.metadata.clone().into_iter().chain(hosts::each(run, first.cell, telling.benchmark)).collect();
    let mut told = Told::new(telling.benchmark, metadata, first.started);
    number(&mut told, first.cell, telling);
    told.note("number_machines", Some(hosts));
    told.note("number_connections", Some(first.connections));
    // There all pairs measure at once; here in rounds.
    told.note("sonde_at_once", Some(format!("{:?}", run.plan.at_once).to_lowercase()));
    if first.test == Some("TCP_RR") {
        let waits = cells.iter().map(|cell| cell.wait_ms).collect::<Option<Vec<f64>>>();
        let waits = waits.filter(|waits| waits.len() == whole);
        let mean = waits.map(|waits| waits.iter().sum::<f64>() / waits.len() as f64);
        told.put("TCP_RR_Average_Latency", mean, "ms");
    }
    told.samples
}
