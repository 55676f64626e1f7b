//! Metrics as their readers take them: text, OpenMetrics and protobuf.

use measure::span::Span;
use measure::unit::Nanos;
use test_case::test_case;

use super::*;

fn told(picture: &Picture, totals: &Totals, form: Form) -> Vec<u8> {
    written(&families(picture, totals), form)
}

fn reading(span: Span) -> Reading {
    Reading::of(&Sum { span, ..Sum::default() })
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
    let native = histogram(&Reading::of(totals.hosts.values().next().unwrap()));
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
    let host = |zone: usize| crate::centre::picture::HostNow {
        name: format!("h{zone}"),
        zone: Some(format!("z{zone}")),
        agent: None,
    };
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
fn buckets_that_are_empty_in_all_series_are_left_out_but_the_one_below_what_was_answered() {
    let bounds = |totals: &Totals| {
        let told = lines(&told(&Picture::default(), totals, Form::Text));
        let of = |line: &String| {
            let rest = line.strip_prefix("sonde_host_round_trip_seconds_bucket{")?;
            Some(rest.split_once("le=\"")?.1.split_once('"')?.0.to_owned())
        };
        told.iter().filter_map(of).collect::<Vec<_>>()
    };
    let mut totals = totals(&[150_000, 700_000]);
    let all = BOUNDS.iter().map(|(_, bound)| *bound).chain(["+Inf"]);
    assert_eq!(bounds(&totals), all.clone().skip_while(|bound| *bound != "0.0001").collect::<Vec<_>>());
    let families = families(&Picture::default(), &totals);
    let first = message(&families[0]).metric[0].histogram.as_ref().unwrap().bucket[0].clone();
    assert_eq!((first.upper_bound, first.cumulative_count), (0.0001, 0));
    let mut faster = Span::default();
    faster.answer(Nanos(800));
    totals.take(("d", "c", Over::Udp), (None, None), 61, &faster);
    assert_eq!(bounds(&totals), [all.clone(), all].into_iter().flatten().collect::<Vec<_>>(), "both have all of them");
}

#[test]
fn a_thousand_hosts_are_at_most_two_megabytes() {
    /// Requests of a host in a day, of 40 cells.
    const ANSWERED: u64 = 40 * 86_400;
    let mut span = Span::default();
    for k in 0..400 {
        span.times.put(measure::span::coarse(25_000 + k * 1_237), ANSWERED / 400);
    }
    (span.counts.answered, span.counts.scheduled, span.sum_ns) = (ANSWERED, ANSWERED, ANSWERED * 234_567);
    let (mut totals, mut picture) = (Totals::default(), Picture::default());
    let full = full();
    for host in 0..1_000 {
        let (name, zone) = (format!("h{host:04}"), format!("z{:02}", host / 25));
        let next = format!("z{:02}", (host / 25 + 1) % 40);
        for to in [&zone, &next] {
            totals.take((&name, "x", Over::Udp), (Some(&zone), Some(to)), 0, &span);
        }
        let mut shown = full.hosts[0].clone();
        (shown.name, shown.zone) = (name, Some(zone));
        let agent = shown.agent.as_mut().unwrap();
        (agent.last, agent.slip_ns, agent.cpu_pressure) = (Some(1_800_000_000), Some(Nanos(83_127)), Some(0.013));
        picture.hosts.push(shown);
    }
    let told = told(&picture, &totals, Form::Text);
    assert!(told.len() <= 2_000_000, "{} octets", told.len());
}

/// A picture in which every family has something.
fn full() -> Picture {
    let agent = crate::centre::picture::AgentNow {
        standing: Standing::Measuring,
        since: 0,
        last: Some(1),
        version: None,
        slip_ns: Some(Nanos(1)),
        cpu_pressure: Some(0.0),
        troubles: Vec::new(),
    };
    let host = crate::centre::picture::HostNow { name: "a".to_owned(), zone: None, agent: Some(agent) };
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
    };
    Picture { hosts: vec![host], incidents: vec![incident], ..Picture::default() }
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
    let named: Vec<&str> = shipped.split(|other| !letter(other)).filter(|word| word.starts_with("sonde_")).collect();
    assert!(named.len() > 5, "{named:?}");
    let unknown: Vec<_> = named.into_iter().filter(|name| !is_known(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}, of {known:?}");
}
