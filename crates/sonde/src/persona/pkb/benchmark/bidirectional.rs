//! `bidirectional_network`: the first host streams to and from several others at once.

use logbook::plan::Directions;

use super::{Wanted, test};
use crate::persona::answer::Answer;
use crate::persona::pkb::ask::Metrics;
use crate::persona::pkb::flags::{Flags, complain};

const KNOWN: [&str; 2] = ["TCP_STREAM", "TCP_MAERTS"];
const USUAL: [&str; 3] = ["TCP_STREAM", "TCP_MAERTS", "TCP_MAERTS"];
/// Hosts beside the first, a count.
const MOST: usize = 199;

/// As the flags want it: each test has a second host of its own, and one that is named twice is there twice.
///
/// # Errors
/// A test that is none, or more of them than there can be machines.
pub fn wanted(flags: &Flags) -> Result<Wanted, Answer> {
    const NAME: &str = "bidirectional_network_tests";
    let said: Vec<&str> = flags.list(NAME).iter().map(String::as_str).collect();
    let tests = if flags.is_said(NAME) { &said[..] } else { &USUAL };
    if let Some(wrong) = tests.iter().find(|test| !KNOWN.contains(test)) {
        return Err(complain(&format!("--{NAME}={wrong}: is no test: there are {}", KNOWN.join(", "))));
    }
    if tests.is_empty() || tests.len() > MOST {
        return Err(complain(&format!("--{NAME}: {} tests: 1 to {MOST}, each with a host of its own", tests.len())));
    }
    let streams = flags.count("bidirectional_stream_num_streams").unwrap_or(8);
    let seconds = u64::from(flags.count("bidirectional_network_test_length").unwrap_or(60));
    let metadata = [
        ("bidirectional_network_test_length", seconds.to_string()),
        ("bidirectional_stream_num_streams", streams.to_string()),
        ("bidirectional_network_tests", tests.join(",")),
    ];
    // netperf's own size of a send is that of a socket's send buffer as Linux makes it.
    let command = format!("throughput --tcp --size 16384 --nagle --no-test --streams {streams} --time {seconds}s");
    Ok(Wanted {
        hosts: tests.len() as u32 + 1,
        directions: Directions::Forward,
        fan: tests.iter().map(|test| *test == KNOWN[0]).collect(),
        repeats: 1,
        tests: vec![test("streams", command, Metrics::Bidirectional, &metadata, seconds)],
        notes: vec![
            "all tests at once. TCP_MAERTS is a stream that the other host sends: it is measured from there. No start_delta is told, for hosts' \
             clocks differ by more than that"
                .to_owned(),
        ],
    })
}
