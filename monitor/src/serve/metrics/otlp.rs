//! The same metrics as OpenTelemetry has them: `ExportMetricsServiceRequest` of `opentelemetry-proto`, histograms as exponential ones, and all sums
//! cumulative, so that what is sent again after a failure counts once.
//!
//! Names are Prometheus' with dots, without what Prometheus adds: a collector that hands them on to Prometheus gets the same names as `/metrics` has.
//! Histograms have scale 3, and with it the bounds of the native ones there: only the number of a bucket is one lower.

mod proto;

use prost::Message;

use super::{Family, Labels, Reading, SCHEMA, Series, ZERO, natives};
use crate::centre::picture::Example;

/// The most buckets of a histogram: where a scale has more, pairs of them are one at half of it.
const MOST: usize = 160;
/// Sums since the start.
const CUMULATIVE: i32 = 2;

/// Time of the samples, and the head of what is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Attributes of the resource: the monitor that sends.
    pub resource: Vec<(String, String)>,
    /// Time since which sums count, nanoseconds since 1970.
    pub since: u64,
    /// Now.
    pub now: u64,
}

/// All families as a collector takes them.
pub fn request(families: &[Family], head: &Head) -> Vec<u8> {
    let told = families.iter().filter(|family| !family.is_empty() && family.name != "sonde_build_info");
    let metrics = told.map(|family| metric(family, head)).collect();
    let scope = proto::Scope { name: "sonde-monitor".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
    let resource =
        proto::Resource { attributes: head.resource.iter().map(|(key, value)| attribute(key, value)).collect() };
    proto::Request {
        resource_metrics: vec![proto::ResourceMetrics {
            resource: Some(resource),
            scope_metrics: vec![proto::ScopeMetrics { scope: Some(scope), metrics }],
        }],
    }
    .encode_to_vec()
}

/// Points that the collector refused, and its reason; `None`: it took all, or its answer cannot be read.
pub fn refused(answer: &[u8]) -> Option<(i64, String)> {
    let told = proto::Answer::decode(answer).ok()?.partial_success?;
    (told.rejected_data_points != 0).then_some((told.rejected_data_points, told.error_message))
}

/// `sonde_host_round_trip_seconds` is `sonde.host.round_trip` in `s`.
fn named(family: &Family) -> (String, String) {
    let bare = family.unit.and_then(|unit| family.name.strip_suffix(unit)?.strip_suffix('_')).unwrap_or(family.name);
    let spaces = ["sonde_host_", "sonde_zone_", "sonde_agent_", "sonde_monitor_", "sonde_"];
    let space = spaces.into_iter().find(|space| bare.starts_with(space)).unwrap_or_default();
    let name = format!("{}{}", space.replace('_', "."), &bare[space.len()..]);
    let unit = match (family.unit, &family.series) {
        (Some("seconds"), _) => "s",
        (Some("ratio"), _) => "1",
        (Some("bytes"), _) => "By",
        _ if family.name == "sonde_agent_connections" => "{connection}",
        (_, Series::Counters(_)) => "{request}",
        _ if family.name.starts_with("sonde_incidents") => "{incident}",
        _ => "",
    };
    (name, unit.to_owned())
}

/// Semantic conventions have names for some.
fn attributes(labels: &Labels) -> Vec<proto::KeyValue> {
    let name = |label: &str| match label {
        "host" => "host.name".to_owned(),
        "from" => "source.address".to_owned(),
        "to" => "destination.address".to_owned(),
        other => format!("sonde.{other}"),
    };
    labels.iter().map(|(label, value)| attribute(&name(label), value)).collect()
}

fn attribute(key: &str, value: &str) -> proto::KeyValue {
    proto::KeyValue { key: key.to_owned(), value: Some(proto::Value { string_value: Some(value.to_owned()) }) }
}

fn metric(family: &Family, head: &Head) -> proto::Metric {
    let (name, unit) = named(family);
    let (mut gauge, mut sum, mut exponential_histogram) = (None, None, None);
    match &family.series {
        Series::Gauges(all) => {
            let points = all.iter().map(|(labels, value)| proto::Number {
                attributes: attributes(labels),
                time_unix_nano: head.now,
                as_double: Some(*value),
                ..proto::Number::default()
            });
            gauge = Some(proto::Gauge { data_points: points.collect() });
        }
        Series::Counters(all) => {
            // An agent's own counters began with the agent, at a time that is not known here.
            let since = if family.name.starts_with("sonde_agent_") { 0 } else { head.since };
            let is_whole = family.unit.is_none();
            let points = all.iter().map(|(labels, value)| proto::Number {
                attributes: attributes(labels),
                start_time_unix_nano: since,
                time_unix_nano: head.now,
                as_int: is_whole.then_some(*value as i64),
                as_double: (!is_whole).then_some(*value),
            });
            let data_points = points.collect();
            sum = Some(proto::Sum { data_points, aggregation_temporality: CUMULATIVE, is_monotonic: true });
        }
        Series::Histograms(all) => {
            let data_points =
                all.iter().map(|(labels, reading)| histogram(attributes(labels), reading, head)).collect();
            exponential_histogram = Some(proto::Exponential { data_points, aggregation_temporality: CUMULATIVE });
        }
    }
    proto::Metric { name, description: family.help.to_owned(), unit, gauge, sum, exponential_histogram }
}

fn histogram(attributes: Vec<proto::KeyValue>, reading: &Reading, head: &Head) -> proto::Point {
    let (mut buckets, zero_count) = natives(&reading.times);
    let mut scale = SCHEMA;
    let ends =
        |buckets: &std::collections::BTreeMap<i32, u64>| Some((*buckets.keys().next()?, *buckets.keys().last()?));
    while ends(&buckets).is_some_and(|(first, last)| (last - first) as usize >= MOST) {
        let mut halved = std::collections::BTreeMap::new();
        // Bucket i ends at base^i: of a pair the even one has the bound that stays.
        for (index, count) in &buckets {
            *halved.entry((index + 1).div_euclid(2)).or_default() += *count;
        }
        (buckets, scale) = (halved, scale - 1);
    }
    let positive = ends(&buckets).map(|(first, last)| proto::Buckets {
        // Here bucket i begins where it ends there.
        offset: first - 1,
        bucket_counts: (first..=last).map(|index| buckets.get(&index).copied().unwrap_or(0)).collect(),
    });
    let exemplar = |example: &Example| proto::Exemplar {
        filtered_attributes: vec![attribute("sonde.record", &example.record)],
        time_unix_nano: example.at * 1_000_000_000,
        as_double: Some(example.took.as_secs_f64()),
    };
    proto::Point {
        attributes,
        start_time_unix_nano: head.since,
        time_unix_nano: head.now,
        count: reading.times.count(),
        sum: Some(reading.sum),
        scale,
        zero_count,
        positive,
        exemplars: reading.examples.iter().map(exemplar).collect(),
        zero_threshold: ZERO,
    }
}

#[cfg(test)]
mod tests {
    use logbook::monitor::talk::Over;
    use measure::span::{Span, coarse};
    use measure::unit::Nanos;

    use super::*;
    use crate::centre::picture::{Picture, Totals};
    use crate::serve::metrics::families;

    fn decoded(times: &[u64]) -> Vec<proto::Metric> {
        let mut totals = Totals { since: 100.0, cells: Some(std::collections::BTreeMap::new()), ..Totals::default() };
        for (second, took) in times.iter().enumerate() {
            let mut span = Span::default();
            span.answer(Nanos(*took));
            totals.take(("a", "b", Over::Udp), (Some("p"), Some("q")), 120 + second as u64, &span);
        }
        let head = Head { resource: vec![("service.name".to_owned(), "x".to_owned())], since: 100, now: 200 };
        let sent = request(&families(&Picture::default(), &totals), &head);
        let read = proto::Request::decode(sent.as_slice()).unwrap();
        assert_eq!(read.encode_to_vec(), sent);
        let resource = &read.resource_metrics[0];
        assert_eq!(resource.resource.as_ref().unwrap().attributes, [attribute("service.name", "x")]);
        resource.scope_metrics[0].metrics.clone()
    }

    fn named<'a>(metrics: &'a [proto::Metric], name: &str) -> &'a proto::Metric {
        let found = metrics.iter().find(|metric| metric.name == name);
        found.unwrap_or_else(|| panic!("{name}: {:?}", metrics.iter().map(|each| &each.name).collect::<Vec<_>>()))
    }

    fn point(times: &[u64]) -> proto::Point {
        let metrics = decoded(times);
        let metric = named(&metrics, "sonde.round_trip");
        assert_eq!(metric.unit, "s");
        let histogram = metric.exponential_histogram.clone().unwrap();
        assert_eq!(histogram.aggregation_temporality, CUMULATIVE);
        histogram.data_points[0].clone()
    }

    /// Each bucket with something in it: above which and up to which seconds.
    fn bounds(point: &proto::Point) -> Vec<(f64, f64, u64)> {
        let base = 2_f64.powf(2_f64.powi(-point.scale));
        let buckets = point.positive.as_ref().unwrap();
        let each = buckets.bucket_counts.iter().zip(buckets.offset..);
        each.filter(|(count, _)| **count > 0).map(|(count, at)| (base.powi(at), base.powi(at + 1), *count)).collect()
    }

    #[test]
    fn each_value_is_between_the_bounds_that_opentelemetry_gives_its_bucket() {
        let times = [2_000, 53_120, 53_130, 1_000_000_000];
        let point = point(&times);
        assert_eq!((point.scale, point.count, point.zero_count), (3, 4, 0));
        assert_eq!((point.start_time_unix_nano, point.time_unix_nano), (100, 200));
        assert!((point.sum.unwrap() - 1.000_108_25).abs() < 1e-12);
        let found = bounds(&point);
        assert_eq!(found.iter().map(|(.., count)| *count).collect::<Vec<_>>(), [1, 2, 1]);
        for ((low, high, _), took) in found.iter().zip([2_000, 53_120, 1_000_000_000]) {
            let seconds = coarse(took) as f64 / 1e9;
            assert!(*low < seconds * (1.0 + 1e-12) && seconds <= high * (1.0 + 1e-12), "{low} {seconds} {high}");
        }
        assert_eq!(point.exemplars.len(), 3);
        assert_eq!(point.exemplars[0].filtered_attributes, [attribute("sonde.record", "a/b/udp/120")]);
    }

    #[test]
    fn where_there_are_too_many_buckets_they_are_wider_and_hold_the_same() {
        let times: Vec<u64> = (0..40).map(|k| 1 << k).collect();
        let point = point(&times);
        assert_eq!(point.scale, 2, "313 buckets at scale 3, 157 at scale 2");
        let found = bounds(&point);
        let counted: u64 = found.iter().map(|(.., count)| count).sum();
        assert_eq!(counted, 40);
        for took in times {
            let seconds = coarse(took) as f64 / 1e9;
            let held =
                found.iter().any(|(low, high, _)| *low < seconds * (1.0 + 1e-12) && seconds <= high * (1.0 + 1e-12));
            assert!(held, "{took}");
        }
    }

    #[test]
    fn names_are_those_that_prometheus_makes_its_own_of() {
        let metrics = decoded(&[900]);
        let names: Vec<_> = metrics.iter().map(|metric| (metric.name.as_str(), metric.unit.as_str())).collect();
        for wanted in
            [("sonde.host.round_trip", "s"), ("sonde.zone.requests", "{request}"), ("sonde.monitor.store_up", "")]
        {
            assert!(names.contains(&wanted), "{wanted:?} of {names:?}");
        }
        let requests = named(&metrics, "sonde.requests").sum.as_ref().unwrap();
        assert!(requests.is_monotonic && requests.aggregation_temporality == CUMULATIVE);
        let answered = &requests.data_points[0];
        assert_eq!(answered.as_int, Some(1));
        let keys: Vec<_> = answered.attributes.iter().map(|each| each.key.as_str()).collect();
        assert_eq!(keys, ["source.address", "destination.address", "sonde.over", "sonde.fate"]);
    }

    #[test]
    fn what_is_refused_in_part_is_told() {
        let answer = |rejected| {
            let told = proto::Partial { rejected_data_points: rejected, error_message: "too old".to_owned() };
            proto::Answer { partial_success: Some(told) }.encode_to_vec()
        };
        assert_eq!(refused(&answer(3)), Some((3, "too old".to_owned())));
        assert_eq!((refused(&answer(0)), refused(b""), refused(b"\xff")), (None, None, None));
    }
}
