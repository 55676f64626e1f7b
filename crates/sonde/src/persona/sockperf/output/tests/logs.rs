//! Full logs, row by row, and what their rows come to.

use report::markup::for_terminal;
use test_case::test_case;

use crate::persona::sockperf::options::Client;
use crate::persona::sockperf::output::full_log::{self, RULE};
use crate::persona::sockperf::output::latency::Run;
use crate::persona::sockperf::output::paint::Paint::Coloured;
use crate::persona::sockperf::output::tests::clients::{as_three_seven, statistics};
use crate::persona::sockperf::statistics::latency::Latency;
use crate::persona::sockperf::statistics::{Collector, Finding, Observation, Setting, Slot, Statistics, Window};
use crate::persona::sockperf::transcript::{Transcript, file};

/// The observations of a log, and its rows.
fn rows(log: &str) -> Vec<(Observation, String)> {
    let row = |line: &str| {
        let parts: Vec<&str> = line.split(", ").collect();
        let &[index, sent, received, _] = parts.as_slice() else { return None };
        let nanos = |text: &str| text.replace('.', "").parse().ok();
        let observation =
            Observation { index: index.parse().ok()?, sent_ns: nanos(sent)?, received_ns: nanos(received)? };
        Some((observation, format!("{line}\n")))
    };
    log.lines().filter_map(row).collect()
}

#[test_case("11-pingpong-full-log", "log.csv"; "of half round trips")]
#[test_case("11-pingpong-full-log-3.7", "log37.csv"; "of whole ones, by the older version")]
#[test_case("12-pingpong-histogram", "hist.csv"; "with a histogram")]
#[test_case("39-no-rdtsc-pingpong", "log.csv"; "by the system's clock")]
#[test_case("40-no-rdtsc-underload", "log.csv"; "under load")]
#[test_case("41-no-rdtsc-underload-3.7", "log.csv"; "under load, by the older version")]
fn a_log_is_that_of_the_original(name: &str, log: &str) {
    let (transcript, theirs) = (Transcript::of(name), file(&format!("{name}.{log}")));
    let client = transcript.client();
    let ours = log_of(&transcript, &client, &theirs);
    let ours = if transcript.version.starts_with("3.7") { as_three_seven(&ours) } else { ours };
    // The middle of a long one is left out of the fixture.
    assert_eq!(ours, theirs.split_inclusive('\n').filter(|line| !line.starts_with("...")).collect::<String>());
}

fn log_of(transcript: &Transcript, client: &Client, theirs: &str) -> String {
    let statistics = statistics(transcript, client);
    let run = Run {
        client,
        lasted_ns: transcript.number("[Total Run] RunTime=").unwrap() * 1_000_000,
        sent: transcript.number("SentMessages=").unwrap(),
        skipped: 0,
        never_waited: false,
        statistics: &statistics,
        columns: None,
    };
    let rows: String = rows(theirs).iter().map(|(observation, _)| full_log::row(client, observation, 0)).collect();
    let Finding::Valid(valid) = &statistics.finding else {
        panic!("{name:?} has observations", name = transcript.words)
    };
    full_log::head(client)
        + &for_terminal(&run.logged(Coloured))
        + &full_log::columns(client)
        + &rows
        + RULE
        + &full_log::histogram(&valid.latency)
}

/// Figures that follow from the rows of a log.
fn recomputed(rows: &[(Observation, String)], full_rtt: bool) -> Latency {
    let setting = Setting { reply_every: 1, window: Window::All, full_rtt, histogram: None };
    let mut collector = Collector::new(&setting);
    for (Observation { index, sent_ns, received_ns }, _) in rows {
        let slot =
            Slot { socket: 0, sequence: index + 1, sent_ns: *sent_ns, received_ns: Some(*received_ns), duplicates: 0 };
        collector.slot(slot, &mut |_| {});
    }
    match collector.finish(&mut |_| {}).finding {
        Finding::Valid(valid) => valid.latency,
        other => panic!("{other:?}"),
    }
}

/// Figures that both versions print, and those that only the newer does.
fn figures(latency: &Latency) -> (Vec<Option<u64>>, [u64; 3]) {
    let Latency { average_ns, deviation_ns, max_ns, min_ns, .. } = *latency;
    let mut both = vec![Some(average_ns), Some(deviation_ns), Some(max_ns), Some(min_ns)];
    both.extend(latency.percentiles_ns);
    (both, [latency.mean_distance_ns, latency.median_distance_ns, latency.half_quartile_range_ns])
}

/// By the system's clock a tick is a nanosecond, and a log holds the very values its figures were made of. By the time
/// stamp counter each difference is cut to nanoseconds anew: off by one.
#[test_case("39-no-rdtsc-pingpong", "log.csv", 0; "of half round trips")]
#[test_case("40-no-rdtsc-underload", "log.csv", 0; "of whole ones under load")]
#[test_case("41-no-rdtsc-underload-3.7", "log.csv", 0; "under load, by the older version")]
#[test_case("11-pingpong-full-log", "log.csv", 1; "by the counter")]
#[test_case("11-pingpong-full-log-3.7", "log37.csv", 1; "by the counter, by the older version")]
fn the_figures_of_a_log_follow_from_its_rows(name: &str, log: &str, tolerance_ns: u64) {
    let transcript = Transcript::of(name);
    let client = transcript.client();
    let rows = rows(&file(&format!("{name}.{log}")));
    let Finding::Valid(printed) = statistics(&transcript, &client).finding else { panic!("{name} has observations") };
    assert_eq!(rows.len() as u64, printed.latency.observations);
    let (ours, ours_newer) = figures(&recomputed(&rows, client.display.full_rtt));
    let (theirs, theirs_newer) = figures(&printed.latency);
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert!(ours.unwrap().abs_diff(theirs.unwrap()) <= tolerance_ns, "{ours:?} for {theirs:?}");
    }
    if !transcript.version.starts_with("3.7") {
        for (ours, theirs) in ours_newer.iter().zip(&theirs_newer) {
            assert!(ours.abs_diff(*theirs) <= tolerance_ns, "{ours} for {theirs}");
        }
    }
    let (first, last) = (rows[0].0.sent_ns, rows[rows.len() - 1].0.received_ns);
    assert!((last - first).abs_diff(printed.run_ns) <= 1_000_000, "printed to the millisecond");
}

/// The original's own slots, most of them outside its window, some lost, some overtaken, make the original's figures.
#[test_case("42-lossy-underload")]
#[test_case("43-lossy-underload")]
fn the_figures_of_a_run_follow_from_its_slots(name: &str) {
    let transcript = Transcript::of(name);
    let client = transcript.client();
    let printed = statistics(&transcript, &client);
    let mut collector = Collector::new(&Setting::of(&client));
    for line in file(&format!("{name}.slots.csv")).lines() {
        let mut parts = line.split(", ").map(|part| part.parse::<u64>().ok());
        let (sequence, sent_ns) = (parts.next().unwrap().unwrap(), parts.next().unwrap().unwrap());
        let slot = Slot { socket: 0, sequence, sent_ns, received_ns: parts.next().flatten(), duplicates: 0 };
        collector.slot(slot, &mut |_| {});
    }
    for _ in 0..printed.duplicated {
        collector.unasked();
    }
    let ours = collector.finish(&mut |_| {});
    let counts = |of: &Statistics| [of.received, of.dropped, of.duplicated, of.out_of_order];
    assert_eq!(counts(&ours), counts(&printed));
    assert!(ours.dropped > 0 && ours.out_of_order > 0, "{ours:?}");
    let (Finding::Valid(ours), Finding::Valid(theirs)) = (ours.finding, printed.finding) else {
        panic!("observations")
    };
    assert_eq!((ours.sent, ours.latency.observations), (theirs.sent, theirs.latency.observations));
    assert!(ours.run_ns.abs_diff(theirs.run_ns) < 1_000_000, "printed to the millisecond");
    let ((both, newer), (theirs, theirs_newer)) = (figures(&ours.latency), figures(&theirs.latency));
    // Each difference is cut from ticks to nanoseconds anew.
    assert!(both.iter().zip(&theirs).all(|(ours, theirs)| ours.unwrap().abs_diff(theirs.unwrap()) <= 1), "{both:?}");
    assert!(newer.iter().zip(&theirs_newer).all(|(ours, theirs)| ours.abs_diff(*theirs) <= 1), "{newer:?}");
}
