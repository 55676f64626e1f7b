//! Full logs, row by row, and what their rows come to.

use test_case::test_case;

use crate::persona::sockperf::options::Client;
use crate::persona::sockperf::output::full_log::{self, RULE};
use crate::persona::sockperf::output::latency::Run;
use crate::persona::sockperf::output::paint::Paint::Coloured;
use crate::persona::sockperf::output::tests::clients::{as_three_seven, statistics};
use crate::persona::sockperf::statistics::{Finding, Observation};
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
fn a_log_is_that_of_the_original(name: &str, log: &str) {
    let (transcript, theirs) = (Transcript::of(name), file(&format!("{name}.{log}")));
    let client = transcript.client();
    let ours = log_of(&transcript, &client, &theirs);
    let ours = if transcript.version.starts_with("3.7") { as_three_seven(&ours) } else { ours };
    // The middle of a long one is left out of the fixture.
    assert_eq!(
        ours,
        theirs.lines().filter(|line| !line.starts_with("...")).map(|line| format!("{line}\n")).collect::<String>()
    );
}

fn log_of(transcript: &Transcript, client: &Client, theirs: &str) -> String {
    let statistics = statistics(transcript, client);
    let run = Run {
        client,
        run_ns: transcript.number("[Total Run] RunTime=").unwrap() * 1_000_000,
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
        + &run.logged(Coloured)
        + &full_log::columns(client)
        + &rows
        + RULE
        + &full_log::histogram(&valid.latency)
}
