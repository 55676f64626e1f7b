//! Samples by the names and units that `PerfKit` Benchmarker has for them, and lines as it writes them.

use std::collections::BTreeSet;

use logbook::plan::{AtOnce, Pairs};
use logbook::record::Record;
use logbook::run::{Cell, Place, RunDocument};
use measure::method::{Asked, Carrier, Pattern, Traffic};
use serde_json::Value;
use uuid::Uuid;

use measure::outcome::flows::{Flows, OfFlow};
use measure::study::figure::Figure;

use super::*;
use crate::fixture;

/// The samples that the real `PerfKit` Benchmarker (commit 946ea317) published of hosts of a lab: each metric with its unit and its metadata, and of
/// each piece of metadata how its values are written.
fn real() -> Value {
    serde_json::from_str(include_str!("../../../fixtures/pkb_samples.json")).unwrap()
}

/// The form of a value, as the fixture calls it.
fn form(value: &str) -> &'static str {
    match value {
        _ if value.parse::<i64>().is_ok() => "whole",
        _ if value.contains('.') && value.parse::<f64>().is_ok() => "decimal",
        _ if value.starts_with('[') => "list",
        _ if value.starts_with('{') => "object",
        _ => "text",
    }
}

/// True where a sample of ours is one that the real one has, with metadata as there.
fn as_the_real_one(real: &Value, row: &Value) -> Result<(), String> {
    let (test, metric) = (row["test"].as_str().unwrap(), row["metric"].as_str().unwrap());
    // There TCP_CRR streams, for its netperf does not know the word: what it is meant to be is told as TCP_RR is.
    let metric = metric.replace("TCP_CRR", "TCP_RR");
    let is_it = |one: &&Value| one["test"] == test && one["metric"] == *metric;
    let model =
        real["samples"].as_array().unwrap().iter().find(is_it).ok_or_else(|| format!("{test} has no {metric}"))?;
    if model["unit"] != row["unit"] {
        return Err(format!("{metric} is in {}", model["unit"]));
    }
    // It knows no type for hosts that were there before: it reports that of machines it made.
    let is_ours = |key: &str| key.starts_with("sonde_") || key.starts_with("vm_") && key.ends_with("_machine_type");
    for (key, value) in metadata_of(row).into_iter().filter(|(key, _)| !is_ours(key)) {
        let of_every = &real["every"][test][&key];
        let forms =
            model["metadata"][&key].as_str().or(of_every.as_str()).ok_or_else(|| format!("{metric} has no {key}"))?;
        // `None` is what it writes where it does not know; here that is absent.
        if !forms.split('/').any(|known| known == form(&value) || known == "None") {
            return Err(format!("{metric}: {key} is {forms} there, and `{value}` here"));
        }
    }
    Ok(())
}

fn metadata_of(row: &Value) -> BTreeMap<String, String> {
    let labels = row["labels"].as_str().unwrap().strip_prefix('|').unwrap().strip_suffix('|').unwrap();
    let pairs = labels.split("|,|").map(|label| label.split_once(':').unwrap());
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// The fixture's run with this record in each cell that has one, by one method told as `asked`.
fn rows(record: &Record, asked: Option<Benchmark>) -> Vec<Value> {
    let mut run = fixture::run();
    run.cells.retain(|cell| cell.place.method == "tcp_rr");
    rows_of(&run, record, asked)
}

fn rows_of(run: &RunDocument, record: &Record, asked: Option<Benchmark>) -> Vec<Value> {
    rows_told(run, record, asked.map(Telling::from))
}

fn rows_told(run: &RunDocument, record: &Record, asked: Option<Telling>) -> Vec<Value> {
    let mut out = Vec::new();
    let tellings = asked.map(|asked| ("tcp_rr".to_owned(), asked)).into_iter().collect();
    let find = |id: Uuid| Some(fixture::named(id, record.clone()));
    let count = write(&mut out, run, &tellings, &Publisher::default(), &find).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.lines().count(), count);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn names(rows: &[Value]) -> BTreeSet<&str> {
    rows.iter().map(|row| row["metric"].as_str().unwrap()).collect()
}

fn value(rows: &[Value], metric: &str) -> Option<f64> {
    rows.iter().find(|row| row["metric"] == metric)?["value"].as_f64()
}

fn label<'a>(row: &'a Value, name: &str) -> Option<&'a str> {
    let labels = row["labels"].as_str()?.strip_prefix('|')?.strip_suffix('|')?;
    labels.split("|,|").filter_map(|label| label.split_once(':')).find(|(key, _)| *key == name).map(|(_, value)| value)
}

fn stream_of(carrier: Carrier) -> Record {
    let asked = Asked { carrier: Some(carrier), pattern: Some(Pattern::Stream), ..Asked::default() };
    Record { method: asked.resolve().unwrap(), ..fixture::stream() }
}

#[test]
fn samples_are_those_of_the_real_one_with_their_units_and_metadata() {
    let real = real();
    let exchange = |carrier: Carrier| {
        let asked = Asked { carrier: Some(carrier), ..Asked::default() };
        Record { method: asked.resolve().unwrap(), ..fixture::closed() }
    };
    let records = vec![
        (fixture::icmp(), None),
        (exchange(Carrier::Tcp), None),
        (exchange(Carrier::Udp), None),
        (stream_of(Carrier::Tcp), None),
        (stream_of(Carrier::Udp), None),
        (stream_of(Carrier::Tcp), Some(Benchmark::Iperf)),
        (stream_of(Carrier::Udp), Some(Benchmark::Iperf)),
        (stream_of(Carrier::Tcp), Some(Benchmark::MeshNetwork)),
        (fixture::silent(), None),
    ];
    for (record, asked) in records {
        let rows = rows(&record, asked);
        let own = rows.iter().filter(|row| !row["metric"].as_str().unwrap().starts_with("sonde_"));
        let differ: Vec<String> = own.filter_map(|row| as_the_real_one(&real, row).err()).collect();
        assert!(differ.is_empty(), "{differ:#?}");
        assert!(rows.iter().all(|row| row["value"].as_f64().unwrap().is_finite()));
    }
}

#[test]
fn a_ping_is_four_numbers_in_milliseconds() {
    let record = fixture::icmp();
    let rows = rows(&record, None);
    assert!(rows.iter().all(|row| row["test"] == "ping"));
    let outcome = record.outcome.as_ref().unwrap();
    assert_eq!(value(&rows, "Min Latency"), outcome.response.min_ns.map(|ns| ns.0 as f64 / 1e6));
    assert_eq!(value(&rows, "Average Latency"), outcome.response.mean_ns.map(|ns| ns / 1e6));
    assert_eq!(value(&rows, "sonde_Loss"), Some(0.0));
    assert_eq!(value(&rows, "sonde_Interval"), Some(1e6));
    assert_eq!((label(&rows[0], "sending_zone"), label(&rows[0], "ip_type")), (Some("z1"), Some("internal")));
}

#[test]
fn a_request_and_response_test_has_its_rate_its_times_and_its_histogram() {
    let record = fixture::closed();
    let rows = rows(&record, None);
    let outcome = record.outcome.as_ref().unwrap();
    assert_eq!(value(&rows, "TCP_RR_Transaction_Rate"), outcome.answered_per_s);
    let p99 = Figure::Quantile(0.99).of(Some(outcome), None).map(|ns| ns / 1e3);
    assert_eq!(value(&rows, "TCP_RR_Latency_p99"), p99);
    assert_eq!(value(&rows, "TCP_RR_Latency_p99.999"), None, "40,000 exchanges have no such quantile");
    let histogram = rows.iter().find(|row| row["metric"] == "TCP_RR_Latency_Histogram").unwrap();
    let buckets: Value = serde_json::from_str(label(histogram, "histogram").unwrap()).unwrap();
    let counted: u64 = buckets.as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(counted, 40_000);
    let rate = rows.iter().find(|row| row["metric"] == "TCP_RR_Transaction_Rate").unwrap();
    assert_eq!((label(rate, "netperf_mss"), label(rate, "sending_thread_count")), (Some("1448"), Some("1")));
    assert_eq!(label(&rows[0], "netperf_mss"), None, "when it started nothing was found yet");
    assert!(
        rows.iter()
            .filter(|row| row["metric"] != "TCP_RR_Latency_Histogram")
            .all(|row| label(row, "histogram").is_none())
    );
}

#[test]
fn several_connections_have_the_spread_of_their_rates() {
    let mut record = fixture::closed();
    record.method.spread.connections = 3;
    let outcome = record.outcome.as_mut().unwrap();
    outcome.answered_per_s = Some(20_000.0);
    let of = |answered| OfFlow { scheduled: answered, answered, p50_ns: None, p99_ns: None, histogram: String::new() };
    let flows = |each| Flows { each, groups: None, least_ns: 0.0, moved: Vec::new(), losing: Vec::new() };
    outcome.flows = Some(flows(vec![of(20_000), of(5_000), of(15_000)]));
    let rows_of_three = rows(&record, None);
    let real = real();
    assert!(
        rows_of_three
            .iter()
            .filter(|row| row["metric"].as_str().unwrap().contains("_Throughput_"))
            .all(|row| { as_the_real_one(&real, row).is_ok() })
    );
    let told = |name: &str| value(&rows_of_three, &format!("TCP_RR_Throughput_{name}"));
    // 40,000 exchanges in 2 s.
    let expected = [2_500.0, 7_500.0, 10_000.0, 20_000.0 / 3.0, 20_000.0];
    for (name, expected) in ["min", "p50", "max", "average", "total"].into_iter().zip(expected) {
        let told = told(name).unwrap();
        assert!((told - expected).abs() < 1e-6, "{name}: {told}");
    }
    // One of the three is not known apart.
    record.outcome.as_mut().unwrap().flows = Some(flows(vec![of(20_000), of(5_000)]));
    let rows_of_two = rows(&record, None);
    assert_eq!(value(&rows_of_two, "TCP_RR_Throughput_min"), None);
    assert_eq!(value(&rows_of_two, "TCP_RR_Throughput_total"), Some(20_000.0));
}

#[test]
fn a_stream_has_its_throughput_and_nothing_that_was_not_measured() {
    let rows = rows(&stream_of(Carrier::Tcp), None);
    let found = value(&rows, "TCP_STREAM_Throughput").unwrap();
    let stream = fixture::stream().stream.unwrap();
    assert_eq!(found, stream.received_bytes_per_s.unwrap() * 8.0 / 1e6);
    assert_eq!(value(&rows, "TCP_STREAM_Throughput_1stream"), Some(found));
    assert!(names(&rows).iter().all(|name| !name.contains("Latency")), "{:?}", names(&rows));
    assert_eq!(label(&rows[0], "netperf_retransmissions"), None, "nobody told");
}

#[test]
fn what_was_not_answered_has_no_times() {
    let rows = rows(&fixture::silent(), None);
    assert!(!names(&rows).iter().any(|name| name.contains("Latency")), "{:?}", names(&rows));
    assert_eq!(value(&rows, "sonde_Loss"), Some(62.5), "five of eight were lost, the others refused");
}

#[test]
fn a_mesh_has_a_mean_only_where_every_pair_was_measured_and_no_total_ever() {
    let mut run = fixture::run();
    run.cells.retain(|cell| cell.place.method == "tcp_rr" && cell.place.repeat == 0);
    let mesh = |run: &RunDocument, record: &Record| rows_of(run, record, Some(Benchmark::MeshNetwork));
    let streams = mesh(&run, &stream_of(Carrier::Tcp));
    assert_eq!(value(&streams, "TCP_STREAM_Total_Throughput"), None, "pairs were not measured at once");
    assert_eq!(streams.iter().filter(|row| row["metric"] == "sonde_Throughput").count(), 6, "each pair by itself");
    let mut record = fixture::closed();
    let rate = record.outcome.as_ref().unwrap().answered_per_s.unwrap();
    let latency = value(&mesh(&run, &record), "TCP_RR_Average_Latency").unwrap();
    assert!((latency - 1_000.0 / rate).abs() < 1e-9);
    record.method.spread.connections = 4;
    let of_four = value(&mesh(&run, &record), "TCP_RR_Average_Latency").unwrap();
    assert!((of_four - 4.0 * latency).abs() < 1e-9, "four exchanges are out at once");
    run.cells.pop();
    assert_eq!(value(&mesh(&run, &record), "TCP_RR_Average_Latency"), None);
}

#[test]
fn a_histogram_has_the_buckets_and_percentiles_that_are_asked_for() {
    let mut run = fixture::run();
    run.cells.retain(|cell| cell.place.method == "tcp_rr" && cell.place.repeat == 0);
    let told = |histogram: Option<Histogram>| {
        rows_told(&run, &fixture::closed(), Some(Telling { histogram, ..Benchmark::Netperf.into() }))
    };
    let rows = told(Some(Histogram { buckets: 2, percentiles: vec![25.0, 99.9] }));
    let histogram = rows.iter().find(|row| row["metric"] == "TCP_RR_Latency_Histogram").unwrap();
    let counts: Value = serde_json::from_str(label(histogram, "histogram").unwrap()).unwrap();
    let counts = counts.as_object().unwrap();
    assert_eq!(counts.values().map(|count| count.as_u64().unwrap()).sum::<u64>(), 40_000);
    for edge in counts.keys() {
        let us: f64 = edge.parse().unwrap();
        assert!(us == 0.0 || [1.0, 5.0].contains(&(us / 10_f64.powf(us.log10().floor()))), "{edge} is no edge");
    }
    let percentiles = |rows: &[Value]| -> BTreeSet<String> {
        names(rows).into_iter().filter_map(|name| name.strip_prefix("TCP_RR_Latency_p")).map(str::to_owned).collect()
    };
    assert_eq!(percentiles(&rows), ["25", "50", "90", "99", "99.9"].map(str::to_owned).into());
    let rows = told(None);
    assert_eq!(percentiles(&rows), ["50", "90", "99"].map(str::to_owned).into(), "as netperf tells them");
    assert!(!names(&rows).contains("TCP_RR_Latency_Histogram"));
}

#[test]
fn repeats_of_a_run_are_one_run_and_what_was_asked_gives_way_to_what_was_found() {
    let mut run = fixture::run();
    run.cells.retain(|cell| cell.place.method == "tcp_rr");
    run.cells.truncate(1);
    run.cells[0].place.repeat = 5;
    let metadata = BTreeMap::from([("max_iter".to_owned(), "3".to_owned()), ("ip_type".to_owned(), "?".to_owned())]);
    let telling = Telling { repeats_of_a_run: 3, metadata, ..Benchmark::Netperf.into() };
    let rows = rows_told(&run, &fixture::closed(), Some(telling));
    let labels = ["run_number", "sonde_repeat", "max_iter", "ip_type"].map(|name| label(&rows[0], name));
    assert_eq!(labels, [Some("1"), Some("2"), Some("3"), Some("internal")]);
}

#[test]
fn repeats_of_a_run_say_how_sure_their_mean_is() {
    let mut run = fixture::run();
    run.cells.retain(|cell| cell.place.method == "tcp_rr");
    run.cells.truncate(1);
    let rates = [1_000.0, 2_000.0, 3_000.0, 7.0];
    let records: Vec<(Uuid, f64)> = (1..).map(Uuid::from_u128).zip(rates).collect();
    let cell = run.cells.remove(0);
    run.cells = (0..)
        .zip(&records)
        .map(|(repeat, (id, _))| Cell {
            place: Place { repeat, ..cell.place.clone() },
            record: Some(*id),
            ..cell.clone()
        })
        .collect();
    let find = |id: Uuid| {
        let mut record = fixture::named(id, fixture::closed());
        let (_, rate) = records.iter().find(|(known, _)| *known == id)?;
        record.outcome.as_mut()?.answered_per_s = Some(*rate);
        Some(record)
    };
    let telling = Telling { repeats_of_a_run: 3, ..Benchmark::Netperf.into() };
    let tellings = BTreeMap::from([("tcp_rr".to_owned(), telling)]);
    let told = samples(&run, &tellings, &find);
    let of = |run_number: &str, key: &str| {
        let mut values: Vec<_> = told
            .iter()
            .filter(|sample| sample.metadata["run_number"] == run_number)
            .map(|sample| sample.metadata.get(key).cloned())
            .collect();
        values.dedup();
        values
    };
    // For 10, 20 and 30 it is 573.02 %, worked by hand where it is computed; rates a hundred times as high have the same.
    assert_eq!(of("0", "confidence_iter"), [Some("3".to_owned())]);
    assert_eq!(of("0", "confidence_width_percent"), [Some("573.020".to_owned())]);
    assert_eq!(
        (of("1", "confidence_iter"), of("1", "confidence_width_percent")),
        (vec![None], vec![None]),
        "one alone"
    );
}

#[test]
fn metadata_of_the_publisher_is_in_each_sample_in_place_of_what_was_found() {
    let mut run = fixture::run();
    run.cells.truncate(1);
    let find = |id: Uuid| Some(fixture::named(id, fixture::icmp()));
    let mut labelled = samples(&run, &BTreeMap::new(), &find);
    let metadata = BTreeMap::from([("ip_type".to_owned(), "mine".to_owned()), ("team".to_owned(), "net".to_owned())]);
    let said = Publisher { metadata, run_uri: Some("ab12".to_owned()), official: true, ..Publisher::default() };
    said.label(&mut labelled);
    assert!(labelled.iter().all(|sample| sample.metadata["ip_type"] == "mine" && sample.metadata["team"] == "net"));
    let row: Value = serde_json::from_str(&said.line(&labelled[0], run.head.id, 1)).unwrap();
    assert_eq!(
        (&row["run_uri"], &row["official"]),
        (&Value::from(format!("ab12-{}", run.head.id)), &Value::Bool(true))
    );
}

#[test]
fn a_line_is_as_pkb_writes_it() {
    let mut run = fixture::run();
    run.cells.truncate(1);
    let find = |id: Uuid| Some(fixture::named(id, fixture::icmp()));
    let line = |publisher: &Publisher| {
        let mut out = Vec::new();
        write(&mut out, &run, &BTreeMap::new(), publisher, &find).unwrap();
        String::from_utf8(out).unwrap().lines().next().unwrap().to_owned()
    };
    let collapsed = line(&Publisher { owner: "u".to_owned(), ..Publisher::default() });
    let keys: Vec<&str> = collapsed.split("\": ").filter_map(|part| part.rsplit('"').next()).collect();
    let order = [
        "metric",
        "value",
        "unit",
        "timestamp",
        "test",
        "product_name",
        "official",
        "owner",
        "run_uri",
        "sample_uri",
        "labels",
    ];
    assert_eq!(keys[..order.len()], order);
    let row: Value = serde_json::from_str(&collapsed).unwrap();
    assert_eq!((&row["official"], &row["owner"]), (&Value::Bool(false), &Value::from("u")));
    assert_eq!(row["timestamp"].as_f64(), Some(1_792_497_792.25));
    let labels = row["labels"].as_str().unwrap();
    let names: Vec<&str> = labels.trim_matches('|').split("|,|").filter_map(|label| label.split(':').next()).collect();
    assert!(names.is_sorted() && names.contains(&"run_number"), "{names:?}");
    let row: Value =
        serde_json::from_str(&line(&Publisher { collapse_labels: false, ..Publisher::default() })).unwrap();
    assert_eq!((&row["metadata"]["ip_type"], &row["labels"]), (&Value::from("internal"), &Value::Null));
}

#[test]
fn no_value_can_end_a_label() {
    let mut run = fixture::run();
    run.cells.truncate(1);
    run.plan.hosts[0].labels.insert("zone".to_owned(), "a|,|evil:1\nb".to_owned());
    let rows = rows_of(&run, &fixture::icmp(), None);
    assert_eq!((label(&rows[0], "sending_zone"), label(&rows[0], "evil")), (Some("a¦,¦evil:1 b"), None));
}

#[test]
fn cells_without_a_record_have_no_samples_and_names_are_the_same_each_time() {
    let run = fixture::run();
    let none = write(&mut Vec::new(), &run, &BTreeMap::new(), &Publisher::default(), &|_| None).unwrap();
    assert_eq!(none, 0);
    let uris = || -> Vec<Value> {
        rows_of(&run, &fixture::icmp(), None).iter().map(|row| row["sample_uri"].clone()).collect()
    };
    let different: BTreeSet<String> = uris().iter().map(ToString::to_string).collect();
    assert_eq!((uris(), different.len()), (uris(), uris().len()));
    assert!(run.cells.iter().any(|cell: &Cell| cell.record.is_none()));
}

#[test]
fn iperf_tells_what_its_senders_tcp_knew_in_its_units() {
    use measure::interval::glance::TcpGlance;
    use measure::throughput::{Interval, Stream};
    use measure::unit::{Bytes, Nanos};
    let mut record = stream_of(Carrier::Tcp);
    let tcp = |rtt: u64, cwnd: u64| {
        Some(TcpGlance { rtt_ns: Some(Nanos(rtt)), cwnd_bytes: Some(Bytes(cwnd)), ..TcpGlance::default() })
    };
    let interval = |tcp| Interval { tcp, length_ns: Nanos::secs(1), ..Interval::default() };
    let one = |rtt, cwnd| Stream {
        tcp: tcp(rtt, cwnd),
        elapsed_ns: Nanos::secs(2),
        intervals: vec![interval(tcp(rtt / 2, cwnd)), interval(tcp(rtt, cwnd))],
        carried: measure::throughput::Carried { bytes: Bytes(400_000_000), ..Default::default() },
        ..Stream::default()
    };
    let Traffic::Stream(stream) = &mut record.method.traffic else { panic!("{}", record.method) };
    stream.call_bytes = Bytes(131_072);
    let stream = record.stream.as_mut().unwrap();
    stream.streams = vec![one(200_000, 102_400), one(400_000, 204_800)];
    stream.intervals = vec![interval(None), interval(None)];
    stream.sockets[0].send_buffer_bytes = Some(Bytes(2_621_440));
    let told = |record: &Record, series: bool, names: &[&str]| -> Vec<Option<String>> {
        let telling = Telling { series, ..Telling::from(Benchmark::Iperf) };
        let mut run = fixture::run();
        run.cells.retain(|cell| cell.place.method == "tcp_rr");
        let rows = rows_told(&run, record, Some(telling));
        names.iter().map(|name| label(&rows[0], name).map(str::to_owned)).collect()
    };
    let names = ["buffer_size", "tcp_window_size", "congestion_window", "rtt", "rtt_unit", "netpwr"];
    // 200 MB/s by 200 and by 400 microseconds are 1,000,000 and 500,000.
    let expected = ["0.12", "2.5", "150.0", "300.0", "us", "750000.0"].map(|word| Some(word.to_owned()));
    assert_eq!(told(&record, false, &names), expected);
    let series = ["interval_rtt_list", "interval_congestion_window_list", "congestion_window_scale"];
    assert_eq!(told(&record, false, &series), [const { None }; 3]);
    let expected = ["[150.0, 300.0]", "[150.0, 150.0]", "K"].map(|word| Some(word.to_owned()));
    assert_eq!(told(&record, true, &series), expected);
    // Where one of them did not tell there is none.
    record.stream.as_mut().unwrap().streams[1].tcp = None;
    assert_eq!(told(&record, false, &names[2..]), [const { None }; 4]);
}

/// The fixture's run as a star of its first host, one pair outbound and one inbound.
fn star() -> RunDocument {
    let mut run = fixture::run();
    let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    let pairs = vec![pair("a", "b"), pair("c", "a")];
    run.cells.retain(|cell| {
        let Place { from, to, method, repeat, .. } = &cell.place;
        pairs.contains(&pair(from, to)) && method == "tcp_rr" && *repeat == 0
    });
    run.plan.pairs = Pairs::Listed(pairs);
    run.plan.at_once = AtOnce::All;
    run
}

#[test]
fn a_star_has_each_second_host_by_its_place_and_both_directions_in_total() {
    let mut run = star();
    let record = stream_of(Carrier::Tcp);
    let rows = |run: &RunDocument| rows_of(run, &record, Some(Benchmark::BidirectionalNetwork));
    let told = rows(&run);
    let [out, back] = ["0_TCP_STREAM_Throughput_total", "1_TCP_MAERTS_Throughput_total"].map(|name| value(&told, name));
    assert!(out.is_some_and(|total| total > 0.0), "{:?}", names(&told));
    assert_eq!((value(&told, "outbound_network_total"), value(&told, "inbound_network_total")), (out, back));
    let inbound = told.iter().find(|row| row["metric"] == "1_TCP_MAERTS_Throughput_p50").unwrap();
    let roles = ["sonde_primary_host", "sonde_secondary_host", "ip_type"].map(|key| label(inbound, key));
    assert_eq!(roles, [Some("a"), Some("c"), Some("internal")]);
    run.plan.at_once = AtOnce::Rounds;
    assert_eq!(value(&rows(&run), "outbound_network_total"), None, "one after the other is no load of both");
    run.plan.at_once = AtOnce::All;
    run.cells.pop();
    assert_eq!(value(&rows(&run), "outbound_network_total"), None, "a total of some is none");
}
