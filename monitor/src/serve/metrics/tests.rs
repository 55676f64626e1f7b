//! Metrics as their readers take them: text, OpenMetrics and protobuf.

use measure::span::Span;
use measure::unit::Nanos;
use test_case::test_case;

use super::*;
use crate::centre::picture::{AgentNow, CellNow, HostNow, ProbeNow, State};

fn told(picture: &Picture, totals: &Totals, form: Form) -> Vec<u8> {
    written(&families(picture, totals), form)
}

fn reading(span: Span) -> Reading {
    Reading::of(&Sum { span, ..Sum::default() }, false)
}

fn totals(times: &[u64]) -> Totals {
    let mut span = Span::default();
    for took in times {
        span.answer(Nanos(*took));
    }
    let mut totals = Totals { cells: Some(BTreeMap::new()), ..Totals::default() };
    totals.take(("a\"b", "c", Over::Udp), (Some("p"), Some("q")), 61, &span);
    totals
}

fn lines(text: &[u8]) -> Vec<String> {
    String::from_utf8(text.to_vec()).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn classic_buckets_count_what_is_at_most_their_bound() {
    let told = lines(&told(&Picture::default(), &totals(&[900, 1_500, 40_000, 2_000_000_000]), Form::Text));
    let at = |bound: &str| {
        let start = format!("sonde_host_round_trip_seconds_bucket{{host=\"a\\\"b\",over=\"udp\",le=\"{bound}\"}} ");
        told.iter().find_map(|line| line.strip_prefix(&start)).unwrap().to_owned()
    };
    assert_eq!(
        (at("1e-06"), at("2e-06"), at("5e-05"), at("1"), at("+Inf")),
        ("1".into(), "2".into(), "3".into(), "3".into(), "4".into())
    );
    assert!(
        told.contains(&"sonde_zone_round_trip_seconds_count{from_zone=\"p\",to_zone=\"q\",over=\"udp\"} 4".to_owned())
    );
    assert!(told.contains(&"sonde_requests_total{from=\"a\\\"b\",to=\"c\",over=\"udp\",fate=\"lost\"} 0".to_owned()));
}

#[test]
fn openmetrics_ends_as_it_has_to_and_names_units() {
    let told = lines(&told(&Picture::default(), &totals(&[900]), Form::OpenMetrics));
    assert_eq!(told.last().unwrap(), "# EOF");
    assert!(told.contains(&"# UNIT sonde_round_trip_seconds seconds".to_owned()));
    assert!(told.contains(&"# TYPE sonde_requests counter".to_owned()));
}

#[test]
fn native_buckets_hold_each_value_between_their_bounds() {
    for nanos in [1_u64, 999, 1_000, 53_120, 1_000_000_000, 3_600_000_000_000] {
        let index = f64::from(native(nanos));
        let seconds = nanos as f64 / 1e9;
        assert!(seconds <= 2_f64.powf(index / 8.0) * (1.0 + 1e-12), "{nanos}");
        assert!(seconds > 2_f64.powf((index - 1.0) / 8.0) * (1.0 - 1e-12), "{nanos}");
    }
    assert_eq!(native(1_000_000_000), 0, "the bound belongs to its bucket");
}

#[test]
fn spans_and_deltas_give_the_counts_back() {
    let mut span = Span::default();
    for took in [1_000, 1_010, 1_150, 80_000, 80_000, 80_000] {
        span.answer(Nanos(took));
    }
    let times = span.times.clone();
    let told = histogram(&reading(span));
    let (mut at, mut count, mut found, mut deltas) = (0, 0, Vec::new(), told.positive_delta.iter());
    for span in &told.positive_span {
        at += span.offset;
        for _ in 0..span.length {
            count += deltas.next().unwrap();
            found.push((at, count));
            at += 1;
        }
    }
    let mut wanted = BTreeMap::new();
    times.buckets().for_each(|(value, count)| *wanted.entry(native(value)).or_default() += count.cast_signed());
    assert_eq!(found, wanted.into_iter().collect::<Vec<_>>());
    assert_eq!(told.sample_count, 6);
    assert_eq!(histogram(&reading(Span::default())).positive_span.len(), 1, "of nothing, no classic one");
}

#[test]
fn an_exemplar_stands_at_its_bucket_and_names_the_record_of_its_minute() {
    let mut totals = Totals::default();
    let answered = |took| {
        let mut span = Span::default();
        span.answer(Nanos(took));
        span
    };
    totals.take(("a", "b", Over::Udp), (None, None), 121, &answered(1_500));
    totals.take(("a", "c", Over::Udp), (None, None), 122, &answered(1_600));
    totals.take(("a", "c", Over::Udp), (None, None), 180, &answered(3_000_000_000));
    let told = |form| told(&Picture::default(), &totals, form);
    let open = lines(&told(Form::OpenMetrics));
    let of = |bound: &str| {
        open.iter()
            .find(|line| line.contains(&format!("le=\"{bound}\"")))
            .unwrap()
            .rsplit_once(" # ")
            .map(|(_, told)| told)
    };
    assert_eq!(of("2e-06"), Some("{record=\"a/b/udp/120\"} 0.0000015 121"), "the first of the minute");
    assert_eq!((of("1e-06"), of("1")), (None, None));
    assert_eq!(of("+Inf"), Some("{record=\"a/c/udp/180\"} 3 180"));
    assert!(!lines(&told(Form::Text)).iter().any(|line| line.contains("record")));
    let native = histogram(&Reading::of(totals.hosts.values().next().unwrap(), false));
    assert_eq!(native.exemplars.iter().map(|each| each.value).collect::<Vec<_>>(), [1.5e-6, 3.0]);
    assert!(native.exemplars.iter().all(|each| each.timestamp.is_some()));
    assert_eq!(native.bucket[1].exemplar, Some(native.exemplars[0].clone()));
}

#[test]
fn an_answer_that_took_no_time_is_a_zero() {
    let mut span = Span::default();
    span.answer(Nanos(0));
    let told = histogram(&reading(span));
    assert_eq!((told.zero_count, told.sample_count, told.positive_delta.len()), (1, 1, 0));
}

#[test_case("application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", Form::Protobuf; "Prometheus with native histograms")]
#[test_case("application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", Form::OpenMetrics; "Prometheus")]
#[test_case("*/*", Form::Text; "curl")]
#[test_case("text/html,application/xhtml+xml,*/*;q=0.8", Form::Text; "a browser")]
#[test_case("", Form::Text; "nothing")]
fn the_form_is_the_one_that_is_wanted_most(accept: &str, form: Form) {
    assert_eq!(Form::accepted(accept), form);
}

#[test]
fn of_many_zones_each_request_is_told_once_within_or_to_the_others() {
    let host =
        |zone: usize| HostNow { name: format!("h{zone}"), zone: Some(format!("z{zone}")), agent: None, scheme: None };
    let mut totals = Totals::default();
    let mut span = Span::default();
    span.answer(Nanos(1_000));
    for (from, to) in [("z0", "z0"), ("z0", "z1"), ("z0", "z2"), ("z1", "z0")] {
        totals.take(("a", "b", Over::Udp), (Some(from), Some(to)), 0, &span);
    }
    let counts = |zones: usize| {
        let picture = Picture { hosts: (0..zones).map(host).collect(), ..Picture::default() };
        let told = lines(&told(&picture, &totals, Form::Text));
        let counts = told.iter().filter_map(|line| line.strip_prefix("sonde_zone_round_trip_seconds_count"));
        counts.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(counts(MOST_ZONES).len(), 4);
    let many = counts(MOST_ZONES + 1);
    assert!(many.contains(&"{from_zone=\"z0\",to_zone=\"other\",over=\"udp\"} 2".to_owned()), "{many:?}");
    assert!(many.contains(&"{from_zone=\"z0\",to_zone=\"z0\",over=\"udp\"} 1".to_owned()), "{many:?}");
    assert_eq!(many.len(), 3);
}

#[test]
fn a_thousand_hosts_are_at_most_two_megabytes() {
    let mut span = Span::default();
    (1..500).for_each(|k| span.answer(Nanos(k * 1_237)));
    span.sum_ns = u64::MAX / 3;
    let mut totals = Totals::default();
    let mut picture = Picture::default();
    for host in 0..1_000 {
        let (name, zone) = (format!("node-{host:04}"), format!("zone-{}", host % 10));
        for far in 0..10 {
            let far = format!("zone-{far}");
            totals.take((&name, "x", Over::Udp), (Some(&zone), Some(&far)), 0, &span);
        }
        let agent = AgentNow { last: Some(1_764_115_200), slip_ns: Some(Nanos(81_234)), ..agent() };
        picture.hosts.push(HostNow { name, zone: Some(zone), agent: Some(agent), scheme: None });
    }
    let size = told(&picture, &totals, Form::Text).len();
    assert!((1_500_000..=2_000_000).contains(&size), "{size}");
}

#[test]
fn of_many_hosts_every_other_classic_bucket_is_told_with_its_example() {
    let host = |at: usize| HostNow { name: format!("h{at}"), zone: None, agent: None, scheme: None };
    let told = |hosts: usize, times: &[u64], form| {
        let picture = Picture { hosts: (0..hosts).map(host).collect(), ..Picture::default() };
        told(&picture, &totals(times), form)
    };
    let buckets = |hosts, times: &[u64]| {
        let lines = lines(&told(hosts, times, Form::OpenMetrics));
        let found = lines.iter().filter_map(|line| line.strip_prefix("sonde_host_round_trip_seconds_bucket"));
        found.map(|line| line.split_once("le=").unwrap().1.to_owned()).collect::<Vec<_>>()
    };
    let times = [1_500, 1_700, 2_000_000_000];
    let (all, half) = (buckets(MOST_HOSTS, &times), buckets(MOST_HOSTS + 1, &times));
    assert_eq!((all.len(), half.len()), (20, 11));
    let counts = |of: &[String]| of.iter().map(|line| line.split(" #").next().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(counts(&half)[..3], ["\"1e-06\"} 0", "\"5e-06\"} 2", "\"2e-05\"} 2"]);
    assert_eq!(counts(&half)[9..], ["\"1\"} 2", "\"+Inf\"} 3"]);
    assert!(counts(&half).iter().all(|line| counts(&all).contains(line)), "{half:?}");
    // An example stands in the first bucket that is told and has it.
    let with_example = |hosts, times: &[u64]| -> Vec<String> {
        let found = buckets(hosts, times).into_iter().filter(|line| line.contains(" # "));
        found.map(|line| line.split('}').next().unwrap().to_owned()).collect()
    };
    assert_eq!(with_example(MOST_HOSTS, &[1_500]), ["\"2e-06\""]);
    assert_eq!(with_example(MOST_HOSTS + 1, &[1_500]), ["\"5e-06\""]);
    assert_eq!(with_example(MOST_HOSTS + 1, &times), ["\"+Inf\""]);
    let octets = |hosts| told(hosts, &times, Form::Protobuf).len();
    assert!(octets(MOST_HOSTS + 1) < octets(MOST_HOSTS));
}

/// An agent of which everything is known.
fn agent() -> AgentNow {
    let counters = Counters {
        sent: 3_456_000,
        late: 1_234,
        spooled: 61,
        given_up: 1,
        connections: 2,
        cpu_ns: Nanos(1_234_567_890_123),
        resident_bytes: Some(7_654_321),
    };
    AgentNow {
        standing: Standing::Measuring,
        since: 0,
        last: Some(1),
        version: None,
        slip_ns: Some(Nanos(1)),
        cpu_pressure: Some(0.0123),
        counters: Some(counters),
        troubles: Vec::new(),
    }
}

#[test]
fn what_an_agent_counts_is_told_of_its_host_and_nothing_of_one_that_does_not_tell() {
    let host = |name: &str, agent| HostNow { name: name.to_owned(), zone: None, agent: Some(agent), scheme: None };
    let silent = AgentNow { counters: None, ..agent() };
    let picture = Picture { hosts: vec![host("a", agent()), host("b", silent)], ..Picture::default() };
    let told = lines(&told(&picture, &Totals::default(), Form::Text));
    for line in [
        "sonde_agent_requests_total{host=\"a\"} 3456000",
        "sonde_agent_late_requests_total{host=\"a\"} 1234",
        "sonde_agent_given_up_seconds_total{host=\"a\"} 1",
        "sonde_agent_connections_total{host=\"a\"} 2",
        "sonde_agent_cpu_seconds_total{host=\"a\"} 1234.567890123",
        "sonde_agent_spooled_seconds{host=\"a\"} 61",
        "sonde_agent_resident_memory_bytes{host=\"a\"} 7654321",
    ] {
        assert!(told.contains(&line.to_owned()), "{line} in {told:#?}");
    }
    // The other agent's samples say that it measures, its last second, its lateness and its host's pressure.
    assert_eq!(told.iter().filter(|line| line.contains("{host=\"b\"}")).count(), 4);
}

/// A picture in which every family has something.
fn full() -> Picture {
    let host = HostNow { name: "a".to_owned(), zone: None, agent: Some(agent()), scheme: None };
    let incident = crate::centre::picture::IncidentNow {
        id: 1,
        text: String::new(),
        kind: "loss".to_owned(),
        scope: String::new(),
        onset_from: 0,
        onset_to: 0,
        found: 0,
        ended: None,
        cells: 1,
        silent_until: None,
        silent_why: None,
    };
    let target = |name: &str, scheme: &str| HostNow { scheme: Some(scheme.to_owned()), agent: None, ..named(name) };
    let hosts = vec![host, target("api", "https"), target("names", "dns")];
    let cells = vec![probed(1, Some("503"), false), probed(2, Some("NXDOMAIN"), true)];
    Picture { hosts, cells, incidents: vec![incident], ..Picture::default() }
}

fn named(name: &str) -> HostNow {
    HostNow { name: name.to_owned(), zone: None, agent: None, scheme: None }
}

/// A cell from the first host to a target, as its latest second was.
fn probed(to: u32, reply: Option<&str>, success: bool) -> CellNow {
    let took_ns = success.then_some(Nanos(1_500_000));
    CellNow {
        from: 0,
        to,
        over: Over::Url,
        state: State::Unknown,
        p50_ns: None,
        p99_ns: None,
        sent: 0,
        lost: 0,
        usual_ns: None,
        probe: Some(ProbeNow {
            success,
            took_ns,
            reply: reply.map(str::to_owned),
            certified_until_s: (to == 1).then_some(4_107_542_400),
        }),
    }
}

/// Rules made for `blackbox_exporter` find its names; nothing is told that was not seen.
#[test]
fn targets_are_told_as_probes_and_hosts_are_not() {
    let mut picture = full();
    picture.hosts.push(HostNow { agent: Some(agent()), ..named("b") });
    picture.hosts.push(named("port"));
    picture.cells.extend([probed(3, None, true), probed(4, None, true)]);
    let told = lines(&told(&picture, &Totals::default(), Form::Text));
    let probes: Vec<&String> = told.iter().filter(|line| line.starts_with("probe_")).collect();
    let expected = [
        "probe_success{from=\"a\",to=\"api\"} 0",
        "probe_success{from=\"a\",to=\"names\"} 1",
        "probe_success{from=\"a\",to=\"port\"} 1",
        "probe_duration_seconds{from=\"a\",to=\"names\"} 0.0015",
        "probe_duration_seconds{from=\"a\",to=\"port\"} 0.0015",
        "probe_http_status_code{from=\"a\",to=\"api\"} 503",
        "probe_ssl_earliest_cert_expiry{from=\"a\",to=\"api\"} 4107542400",
        "probe_dns_query_succeeded{from=\"a\",to=\"names\"} 1",
    ];
    assert_eq!(probes, expected);
    let reply = "sonde_target_reply_info{from=\"a\",to=\"names\",protocol=\"dns\",reply=\"NXDOMAIN\"} 1".to_owned();
    assert!(told.contains(&reply), "{told:#?}");
}

#[test_case(include_str!("../../../../packaging/prometheus/sonde.rules.yml"); "rules")]
#[test_case(include_str!("../../../../packaging/grafana/sonde-monitor.json"); "dashboard")]
fn what_is_shipped_for_others_names_metrics_that_there_are(shipped: &str) {
    let mut totals = totals(&[900]);
    let lost = Span { lost_out: 1, ..Span::default() };
    totals.take(("a", "c", Over::Udp), (Some("p"), Some("q")), 0, &lost);
    let told = lines(&told(&full(), &totals, Form::Text));
    let known: BTreeSet<&str> =
        told.iter().filter(|line| !line.starts_with('#')).filter_map(|line| line.split(['{', ' ']).next()).collect();
    // A native histogram is asked for by its bare name.
    let is_known = |name: &str| known.contains(name) || known.contains(format!("{name}_bucket").as_str());
    let letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == ':';
    let named: Vec<&str> = shipped
        .split(|other| !letter(other))
        .filter(|word| word.starts_with("sonde_") || word.starts_with("probe_"))
        .collect();
    assert!(named.len() > 5, "{named:?}");
    let unknown: Vec<_> = named.into_iter().filter(|name| !is_known(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}, of {known:?}");
}
