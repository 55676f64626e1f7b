//! `/metrics`: what Prometheus reads, as text with classic buckets, or as protobuf with native histograms beside them.
//!
//! The text format is `text/plain; version=0.0.4`, or OpenMetrics 1.0.0 with exemplars; the protobuf one is `io.prometheus.client.MetricFamily`,
//! each with its length before it (`metrics.proto` of Prometheus' `client_model`). Names and units are as Prometheus' naming practices want them:
//! base units, counters that end in `_total`, and no two label sets of one name that count the same thing.

pub mod otlp;
mod probes;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use logbook::monitor::talk::{Counters, Over};
use measure::span::Distribution;
use prost::Message;

use crate::centre::picture::{Example, Picture, Standing, Sum, Totals};

/// Upper bounds of the classic buckets: 1, 2 and 5 of each decade from 1 µs to 1 s, nanoseconds, and as text in seconds.
const BOUNDS: [(u64, &str); 19] = [
    (1_000, "1e-06"),
    (2_000, "2e-06"),
    (5_000, "5e-06"),
    (10_000, "1e-05"),
    (20_000, "2e-05"),
    (50_000, "5e-05"),
    (100_000, "0.0001"),
    (200_000, "0.0002"),
    (500_000, "0.0005"),
    (1_000_000, "0.001"),
    (2_000_000, "0.002"),
    (5_000_000, "0.005"),
    (10_000_000, "0.01"),
    (20_000_000, "0.02"),
    (50_000_000, "0.05"),
    (100_000_000, "0.1"),
    (200_000_000, "0.2"),
    (500_000_000, "0.5"),
    (1_000_000_000, "1"),
];

/// The schema of native histograms: eight buckets for each doubling, 9.05 % each.
const SCHEMA: i32 = 3;
/// Bound below which a value counts as zero, seconds (a bound of a bucket): of times in nanoseconds, 0 alone.
const ZERO: f64 = 1.0 / (1_u64 << 30) as f64;
/// Zones up to which each pair of them is told.
const MOST_ZONES: usize = 16;
/// Hosts up to which all classic buckets are told. Beyond, every other one is: `/metrics` of a thousand hosts has at most two megabytes.
const MOST_HOSTS: usize = 500;
/// The label of an exemplar: its value is the rest of the page's address `#/cell/…` that shows the minute.
const RECORD: &str = "record";

/// A form in which metrics are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text, version 0.0.4.
    Text,
    /// OpenMetrics 1.0.0.
    OpenMetrics,
    /// Protobuf, with native histograms.
    Protobuf,
}

impl Form {
    /// The form that a client's `Accept` wants most, of those it names; text where it names none.
    pub fn accepted(accept: &str) -> Self {
        let quality = |part: &str| {
            let given = part.split(';').find_map(|word| word.trim().strip_prefix("q=")?.trim().parse::<f64>().ok());
            given.unwrap_or(1.0)
        };
        let form = |part: &str| {
            if part.contains("application/vnd.google.protobuf") && part.contains("io.prometheus.client.MetricFamily") {
                part.contains("encoding=delimited").then_some(Self::Protobuf)
            } else if part.contains("application/openmetrics-text") {
                Some(Self::OpenMetrics)
            } else {
                (part.contains("text/plain") || part.contains("*/*")).then_some(Self::Text)
            }
        };
        let mut best = (0.0, Self::Text);
        for part in accept.split(',') {
            if let Some(form) = form(part).filter(|_| quality(part) > best.0) {
                best = (quality(part), form);
            }
        }
        best.1
    }

    /// Value of `Content-Type`.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Protobuf => {
                "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
            }
        }
    }
}

/// Labels of a series.
type Labels = Vec<(&'static str, String)>;

/// A family of series of one name.
#[derive(Debug)]
pub struct Family {
    /// The name, for a counter without `_total`.
    name: &'static str,
    help: &'static str,
    unit: Option<&'static str>,
    series: Series,
}

#[derive(Debug)]
enum Series {
    Counters(Vec<(Labels, f64)>),
    Gauges(Vec<(Labels, f64)>),
    Histograms(Vec<(Labels, Reading)>),
}

/// A histogram as it stands.
#[derive(Debug)]
struct Reading {
    times: Distribution,
    sum: f64,
    /// Answers as examples, the shortest first.
    examples: Vec<Example>,
    /// True where every other classic bucket is left out.
    is_coarse: bool,
}

impl Reading {
    fn of(sum: &Sum, is_coarse: bool) -> Self {
        let span = &sum.span;
        // An exemplar's labels have at most 128 letters.
        let short = sum.examples.values().filter(|example| RECORD.len() + example.record.len() <= 128);
        let (sum, examples) = (span.sum_ns as f64 / 1e9, short.cloned().collect());
        Self { times: span.times.clone(), sum, examples, is_coarse }
    }

    /// Classic buckets but the last, which has no bound: the place of each among [`BOUNDS`], its bound in nanoseconds and as text, and how many values are at most that.
    fn finite(&self) -> impl Iterator<Item = (usize, u64, &'static str, u64)> {
        let counted = BOUNDS.iter().zip(classic(&self.times)).enumerate();
        counted
            .filter(|(place, _)| !self.is_left_out(*place))
            .map(|(place, ((bound, text), count))| (place, *bound, *text, count))
    }

    fn is_left_out(&self, place: usize) -> bool {
        self.is_coarse && place < BOUNDS.len() && !place.is_multiple_of(2)
    }

    /// The example of the classic bucket at `place`, where there is one.
    fn example(&self, place: usize) -> Option<&Example> {
        self.examples.iter().find(|example| {
            let at = BOUNDS.partition_point(|(bound, _)| *bound < example.took.0);
            at + usize::from(self.is_left_out(at)) == place
        })
    }
}

/// The families in `form`.
pub fn written(families: &[Family], form: Form) -> Vec<u8> {
    match form {
        Form::Text => text(families, false).into_bytes(),
        Form::OpenMetrics => text(families, true).into_bytes(),
        Form::Protobuf => families.iter().flat_map(|family| message(family).encode_length_delimited_to_vec()).collect(),
    }
}

/// All that is told.
pub fn families(picture: &Picture, totals: &Totals) -> Vec<Family> {
    let over = |over: Over| ("over", over.name().to_owned());
    let hosts: Vec<(Labels, &Sum)> =
        totals.hosts.iter().map(|((host, by), sum)| (vec![("host", host.clone()), over(*by)], sum)).collect();
    let two = |one: &'static str, other: &'static str| {
        move |((from, to, by), sum): (&(String, String, _), _)| {
            (vec![(one, from.clone()), (other, to.clone()), over(*by)], sum)
        }
    };
    let gathered = gathered(picture, totals);
    let zones: Vec<(Labels, &Sum)> =
        gathered.as_ref().unwrap_or(&totals.zones).iter().map(two("from_zone", "to_zone")).collect();
    let cells: Vec<(Labels, &Sum)> = totals.cells.iter().flatten().map(two("from", "to")).collect();
    let mut all = Vec::new();
    for (names, series) in [(&HOST, hosts), (&ZONES, zones), (&CELL, cells)] {
        if !series.is_empty() {
            all.extend(measured(names, &series, picture.hosts.len() > MOST_HOSTS));
        }
    }
    all.extend(agents(picture));
    all.extend(probes::families(picture));
    all.extend(whole(picture, totals));
    all
}

/// Sums of zones where these are many: of each the way within and the way to all others together, since pairs grow with the square of zones.
fn gathered(picture: &Picture, totals: &Totals) -> Option<BTreeMap<(String, String, Over), Sum>> {
    let zones: BTreeSet<&str> = picture.hosts.iter().filter_map(|host| host.zone.as_deref()).collect();
    if zones.len() <= MOST_ZONES {
        return None;
    }
    let mut sums = BTreeMap::<(String, String, Over), Sum>::new();
    for ((from, to, over), sum) in &totals.zones {
        let to = if from == to { to } else { "other" };
        sums.entry((from.clone(), to.to_owned(), *over)).or_default().add(sum);
    }
    Some(sums)
}

struct Names {
    times: (&'static str, &'static str),
    fates: (&'static str, &'static str),
    lost: (&'static str, &'static str),
}

const HOST: Names = Names {
    times: (
        "sonde_host_round_trip_seconds",
        "Response times of the requests that a host made, from when each was due.",
    ),
    fates: ("sonde_host_requests", "Requests that a host made, by what became of them."),
    lost: ("sonde_host_lost", "Of those lost, by the way on which they were; unknown where the far end does not tell."),
};
const ZONES: Names = Names {
    times: ("sonde_zone_round_trip_seconds", "Response times between zones, from when each request was due."),
    fates: ("sonde_zone_requests", "Requests between zones, by what became of them."),
    lost: ("sonde_zone_lost", "Of those lost, by the way on which they were; unknown where the far end does not tell."),
};
const CELL: Names = Names {
    times: ("sonde_round_trip_seconds", "Response times between two hosts, from when each request was due."),
    fates: ("sonde_requests", "Requests between two hosts, by what became of them."),
    lost: ("sonde_lost", "Of those lost, by the way on which they were; unknown where the far end does not tell."),
};

fn measured(names: &Names, series: &[(Labels, &Sum)], is_coarse: bool) -> [Family; 3] {
    let with = |labels: &Labels, name: &'static str, value: &str| {
        let mut labels = labels.clone();
        labels.push((name, value.to_owned()));
        labels
    };
    let fates = series.iter().flat_map(|(labels, sum)| {
        let counts = &sum.span.counts;
        let fates = [
            ("answered", counts.answered),
            ("late", counts.late),
            ("lost", counts.lost),
            ("refused", counts.refused),
            ("corrupt", counts.corrupt),
            ("not_sent", counts.send_failed),
        ];
        // Answered and lost are there from the first, so that a rate of them is one; the others once they occur.
        let is_told = |fate: &str, count: u64| count > 0 || fate == "answered" || fate == "lost";
        fates
            .into_iter()
            .filter(move |(fate, count)| is_told(fate, *count))
            .map(move |(fate, count)| (with(labels, "fate", fate), count as f64))
    });
    let lost = series.iter().flat_map(|(labels, sum)| {
        let span = &sum.span;
        let unknown = span.counts.lost.saturating_sub(span.lost_out + span.lost_back);
        let ways = [("out", span.lost_out), ("back", span.lost_back), ("unknown", unknown)];
        ways.into_iter()
            .filter(|(_, count)| *count > 0)
            .map(move |(way, count)| (with(labels, "direction", way), count as f64))
    });
    [
        Family {
            name: names.times.0,
            help: names.times.1,
            unit: Some("seconds"),
            series: Series::Histograms(
                series.iter().map(|(labels, sum)| (labels.clone(), Reading::of(sum, is_coarse))).collect(),
            ),
        },
        Family { name: names.fates.0, help: names.fates.1, unit: None, series: Series::Counters(fates.collect()) },
        Family { name: names.lost.0, help: names.lost.1, unit: None, series: Series::Counters(lost.collect()) },
    ]
}

fn agents(picture: &Picture) -> Vec<Family> {
    let agents: Vec<_> = picture
        .hosts
        .iter()
        .filter_map(|host| Some((vec![("host", host.name.clone())], host.agent.as_ref()?)))
        .collect();
    let gauge = |name, help, unit, value: &dyn Fn(&crate::centre::picture::AgentNow) -> Option<f64>| Family {
        name,
        help,
        unit,
        series: Series::Gauges(
            agents.iter().filter_map(|(labels, agent)| Some((labels.clone(), value(agent)?))).collect(),
        ),
    };
    let mut all = vec![
        gauge("sonde_agent_up", "1 where the seconds of a host's agent come, else 0.", None, &|agent| {
            Some(f64::from(u8::from(agent.standing == Standing::Measuring)))
        }),
        gauge(
            "sonde_agent_last_second_timestamp_seconds",
            "The latest second that a host's agent told, since 1970.",
            Some("seconds"),
            &|agent| Some(agent.last? as f64),
        ),
        gauge(
            "sonde_agent_send_slip_seconds",
            "The longest that a request left after it was due, in the agent's latest second.",
            Some("seconds"),
            &|agent| Some(agent.slip_ns?.0 as f64 / 1e9),
        ),
        gauge(
            "sonde_agent_cpu_pressure_ratio",
            "Share of the agent's latest second in which something on its host waited for a processor.",
            Some("ratio"),
            &|agent| agent.cpu_pressure,
        ),
    ];
    let told: Vec<_> = agents.iter().filter_map(|(labels, agent)| Some((labels, agent.counters.as_ref()?))).collect();
    let each = |value: &dyn Fn(&Counters) -> Option<f64>| -> Vec<(Labels, f64)> {
        told.iter().filter_map(|(labels, counters)| Some(((*labels).clone(), value(counters)?))).collect()
    };
    let seconds = Some("seconds");
    let counted = [
        (
            "sonde_agent_requests",
            None,
            "Requests that a host's agent sent since it started.",
            each(&|of| Some(of.sent as f64)),
        ),
        (
            "sonde_agent_late_requests",
            None,
            "Of those, requests that left a millisecond or later after they were due.",
            each(&|of| Some(of.late as f64)),
        ),
        (
            "sonde_agent_given_up_seconds",
            seconds,
            "Seconds that a host's agent measured and had to give up, since nobody took them for too long.",
            each(&|of| Some(of.given_up as f64)),
        ),
        (
            "sonde_agent_connections",
            None,
            "Connections of monitors to a host's agent since it started.",
            each(&|of| Some(of.connections as f64)),
        ),
        (
            "sonde_agent_cpu_seconds",
            seconds,
            "Processor time of a host's agent since it started.",
            each(&|of| Some(of.cpu_ns.as_secs_f64())),
        ),
    ];
    all.extend(counted.map(|(name, unit, help, series)| Family { name, help, unit, series: Series::Counters(series) }));
    let now = [
        (
            "sonde_agent_spooled_seconds",
            seconds,
            "Seconds that a host's agent measured and the store does not have yet.",
            each(&|of| Some(of.spooled as f64)),
        ),
        (
            "sonde_agent_resident_memory_bytes",
            Some("bytes"),
            "Resident memory of a host's agent.",
            each(&|of| of.resident_bytes.map(|octets| octets as f64)),
        ),
    ];
    all.extend(now.map(|(name, unit, help, series)| Family { name, help, unit, series: Series::Gauges(series) }));
    all
}

fn whole(picture: &Picture, totals: &Totals) -> Vec<Family> {
    let mut kinds = BTreeMap::<&str, (u32, u32)>::new();
    for incident in &picture.incidents {
        let (all, silent) = kinds.entry(incident.kind.as_str()).or_default();
        (*all, *silent) = (*all + 1, *silent + u32::from(incident.silent_until.is_some()));
    }
    let by_kind = |count: fn(&(u32, u32)) -> u32| {
        let each = kinds.iter().map(|(kind, of)| (vec![("kind", (*kind).to_owned())], f64::from(count(of))));
        Series::Gauges(each.collect())
    };
    let one = |value: f64| Series::Gauges(vec![(Vec::new(), value)]);
    let up = |is_up: bool| f64::from(u8::from(is_up));
    vec![
        Family {
            name: "sonde_incidents",
            help: "Incidents that go on, by kind; none of a kind that has none.",
            unit: None,
            series: by_kind(|(all, _)| *all),
        },
        Family {
            name: "sonde_incidents_silenced",
            help: "Of those, incidents that a silence is about, by kind: nobody is told of them.",
            unit: None,
            series: by_kind(|(_, silent)| *silent),
        },
        Family {
            name: "sonde_monitor_start_timestamp_seconds",
            help: "When the monitor started to count, since 1970.",
            unit: Some("seconds"),
            series: one(totals.since),
        },
        Family {
            name: "sonde_monitor_store_up",
            help: "1 where history is kept, 0 where the store does not take it.",
            unit: None,
            series: one(up(picture.store_fault.is_none())),
        },
        Family {
            name: "sonde_monitor_collector_up",
            help: "1 where the collector of OpenTelemetry takes the metrics, 0 where it does not; only where one is named.",
            unit: None,
            series: Series::Gauges(
                picture.collector.iter().map(|held| (Vec::new(), up(held.fault.is_none()))).collect(),
            ),
        },
        Family {
            name: "sonde_build_info",
            help: "1, with the version of the program.",
            unit: None,
            series: Series::Gauges(vec![(vec![("version", env!("CARGO_PKG_VERSION").to_owned())], 1.0)]),
        },
    ]
}

fn text(families: &[Family], is_open: bool) -> String {
    let mut text = String::new();
    for family in families.iter().filter(|family| !family.is_empty()) {
        write_family(&mut text, family, is_open).expect("a string takes all that is written");
    }
    if is_open {
        text.push_str("# EOF\n");
    }
    text
}

impl Family {
    fn is_empty(&self) -> bool {
        match &self.series {
            Series::Counters(all) | Series::Gauges(all) => all.is_empty(),
            Series::Histograms(all) => all.is_empty(),
        }
    }
}

fn write_family(text: &mut String, family: &Family, is_open: bool) -> std::fmt::Result {
    let kind = match family.series {
        Series::Counters(_) => "counter",
        Series::Gauges(_) => "gauge",
        Series::Histograms(_) => "histogram",
    };
    let name = family.name;
    // In the older text a counter's family is called as its samples are.
    let suffix = if kind == "counter" { "_total" } else { "" };
    let called = if is_open { "" } else { suffix };
    writeln!(text, "# HELP {name}{called} {}", family.help)?;
    writeln!(text, "# TYPE {name}{called} {kind}")?;
    if let Some(unit) = family.unit.filter(|_| is_open) {
        writeln!(text, "# UNIT {name} {unit}")?;
    }
    match &family.series {
        Series::Counters(all) | Series::Gauges(all) => {
            for (labels, value) in all {
                writeln!(text, "{name}{suffix}{} {value}", braced(labels, None))?;
            }
        }
        Series::Histograms(all) => {
            for (labels, reading) in all {
                let last = (BOUNDS.len(), u64::MAX, "+Inf", reading.times.count());
                for (place, _, bound, count) in reading.finite().chain([last]) {
                    write!(text, "{name}_bucket{} {count}", braced(labels, Some(bound)))?;
                    if let Some(example) = reading.example(place).filter(|_| is_open) {
                        let (took, at) = (example.took.as_secs_f64(), example.at);
                        write!(text, " # {{{RECORD}=\"{}\"}} {took} {at}", example.record)?;
                    }
                    text.push('\n');
                }
                writeln!(text, "{name}_sum{} {}", braced(labels, None), reading.sum)?;
                writeln!(text, "{name}_count{} {}", braced(labels, None), reading.times.count())?;
            }
        }
    }
    Ok(())
}

/// `{host="db1",le="0.1"}`; nothing where there is no label.
fn braced(labels: &Labels, bound: Option<&str>) -> String {
    let escaped = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let each = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
    let all: Vec<String> = each.chain(bound.map(|bound| format!("le=\"{bound}\""))).collect();
    if all.is_empty() { String::new() } else { format!("{{{}}}", all.join(",")) }
}

/// Number of values up to each bound, by the middles of their buckets.
fn classic(times: &Distribution) -> [u64; BOUNDS.len()] {
    let mut counts = [0; BOUNDS.len()];
    for (value, count) in times.buckets() {
        let first = BOUNDS.partition_point(|(bound, _)| *bound < value);
        counts[first..].iter_mut().for_each(|upto| *upto += count);
    }
    counts
}

/// Number of values in each native bucket, and number of values that are zero.
fn natives(times: &Distribution) -> (BTreeMap<i32, u64>, u64) {
    let (mut natives, mut zero) = (BTreeMap::<i32, u64>::new(), 0);
    for (value, count) in times.buckets() {
        if value == 0 { zero += count } else { *natives.entry(native(value)).or_default() += count }
    }
    (natives, zero)
}

/// The native bucket of a value above 0: the smallest i with value ≤ 2^(i / 8) seconds.
fn native(nanos: u64) -> i32 {
    ((nanos as f64 / 1e9).log2() * f64::from(1 << SCHEMA)).ceil() as i32
}

fn message(family: &Family) -> proto::MetricFamily {
    let labels = |labels: &Labels| {
        labels.iter().map(|(name, value)| proto::LabelPair { name: (*name).to_owned(), value: value.clone() }).collect()
    };
    let (kind, suffix, metric): (i32, &str, Vec<proto::Metric>) = match &family.series {
        Series::Counters(all) => {
            let metric = |(of, value): &(Labels, f64)| proto::Metric {
                label: labels(of),
                counter: Some(proto::Number { value: *value }),
                ..proto::Metric::default()
            };
            (proto::COUNTER, "_total", all.iter().map(metric).collect())
        }
        Series::Gauges(all) => {
            let metric = |(of, value): &(Labels, f64)| proto::Metric {
                label: labels(of),
                gauge: Some(proto::Number { value: *value }),
                ..proto::Metric::default()
            };
            (proto::GAUGE, "", all.iter().map(metric).collect())
        }
        Series::Histograms(all) => {
            let metric = |(of, reading): &(Labels, Reading)| proto::Metric {
                label: labels(of),
                histogram: Some(histogram(reading)),
                ..proto::Metric::default()
            };
            (proto::HISTOGRAM, "", all.iter().map(metric).collect())
        }
    };
    proto::MetricFamily { name: format!("{}{suffix}", family.name), help: family.help.to_owned(), kind, metric }
}

fn histogram(reading: &Reading) -> proto::Histogram {
    let (natives, zero_count) = natives(&reading.times);
    let mut spans = Vec::<proto::BucketSpan>::new();
    let (mut deltas, mut last, mut next) = (Vec::new(), 0, 0);
    for (index, count) in natives {
        match spans.last_mut() {
            Some(span) if index == next => span.length += 1,
            _ => spans.push(proto::BucketSpan { offset: index - next, length: 1 }),
        }
        next = index + 1;
        deltas.push(count.cast_signed() - last);
        last = count.cast_signed();
    }
    if spans.is_empty() {
        // Without any span a native histogram would be taken for a classic one.
        spans.push(proto::BucketSpan { offset: 0, length: 0 });
    }
    let exemplar = |example: &Example| proto::Exemplar {
        label: vec![proto::LabelPair { name: RECORD.to_owned(), value: example.record.clone() }],
        value: example.took.as_secs_f64(),
        timestamp: Some(proto::Timestamp { seconds: example.at.cast_signed() }),
    };
    let buckets = reading.finite().map(|(place, bound, _, count)| {
        let exemplar = reading.example(place).map(exemplar);
        proto::Bucket { cumulative_count: count, upper_bound: bound as f64 / 1e9, exemplar }
    });
    proto::Histogram {
        sample_count: reading.times.count(),
        sample_sum: reading.sum,
        bucket: buckets.collect(),
        schema: SCHEMA,
        zero_threshold: ZERO,
        zero_count,
        positive_span: spans,
        positive_delta: deltas,
        exemplars: reading.examples.iter().map(exemplar).collect(),
    }
}

/// Messages of `metrics.proto`, as far as they are written here; the numbers are that file's.
mod proto {
    use prost::Message;

    pub const COUNTER: i32 = 0;
    pub const GAUGE: i32 = 1;
    pub const HISTOGRAM: i32 = 4;

    #[derive(Clone, PartialEq, Message)]
    pub struct LabelPair {
        #[prost(string, tag = "1")]
        pub name: String,
        #[prost(string, tag = "2")]
        pub value: String,
    }

    /// `Counter` and `Gauge` have the same first field.
    #[derive(Clone, Copy, PartialEq, Message)]
    pub struct Number {
        #[prost(double, tag = "1")]
        pub value: f64,
    }

    #[derive(Clone, Copy, PartialEq, Message)]
    pub struct Timestamp {
        #[prost(int64, tag = "1")]
        pub seconds: i64,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct Exemplar {
        #[prost(message, repeated, tag = "1")]
        pub label: Vec<LabelPair>,
        #[prost(double, tag = "2")]
        pub value: f64,
        #[prost(message, optional, tag = "3")]
        pub timestamp: Option<Timestamp>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct Bucket {
        #[prost(uint64, tag = "1")]
        pub cumulative_count: u64,
        #[prost(double, tag = "2")]
        pub upper_bound: f64,
        #[prost(message, optional, tag = "3")]
        pub exemplar: Option<Exemplar>,
    }

    #[derive(Clone, Copy, PartialEq, Message)]
    pub struct BucketSpan {
        #[prost(sint32, tag = "1")]
        pub offset: i32,
        #[prost(uint32, tag = "2")]
        pub length: u32,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct Histogram {
        #[prost(uint64, tag = "1")]
        pub sample_count: u64,
        #[prost(double, tag = "2")]
        pub sample_sum: f64,
        #[prost(message, repeated, tag = "3")]
        pub bucket: Vec<Bucket>,
        #[prost(sint32, tag = "5")]
        pub schema: i32,
        #[prost(double, tag = "6")]
        pub zero_threshold: f64,
        #[prost(uint64, tag = "7")]
        pub zero_count: u64,
        #[prost(message, repeated, tag = "12")]
        pub positive_span: Vec<BucketSpan>,
        #[prost(sint64, repeated, tag = "13")]
        pub positive_delta: Vec<i64>,
        #[prost(message, repeated, tag = "16")]
        pub exemplars: Vec<Exemplar>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct Metric {
        #[prost(message, repeated, tag = "1")]
        pub label: Vec<LabelPair>,
        #[prost(message, optional, tag = "2")]
        pub gauge: Option<Number>,
        #[prost(message, optional, tag = "3")]
        pub counter: Option<Number>,
        #[prost(message, optional, tag = "7")]
        pub histogram: Option<Histogram>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct MetricFamily {
        #[prost(string, tag = "1")]
        pub name: String,
        #[prost(string, tag = "2")]
        pub help: String,
        #[prost(int32, tag = "3")]
        pub kind: i32,
        #[prost(message, repeated, tag = "4")]
        pub metric: Vec<Metric>,
    }
}
