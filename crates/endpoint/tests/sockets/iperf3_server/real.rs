//! The real iperf3's client against our server: both ends count the same.

use std::process::{Command, Output};

use endpoint::peer::iperf3::server::settings::RateLimit;
use protocol::iperf3::code::Code;
use serde_json::Value;
use test_case::test_case;

use super::{Ours, Told};

/// Runs iperf3 towards `server` at `host`; `None`, said aloud, where it is not installed.
pub(super) fn iperf3(server: &Ours, host: &str, words: &[&str]) -> Option<Output> {
    let mut command = Command::new("iperf3");
    command.args(["-c", host, "-p", &server.port().to_string(), "-J"]).args(words);
    let output = command.output().ok();
    if output.is_none() {
        testbed::skip::aloud("our iperf3 server by the real iperf3: it is not installed");
    }
    output
}

/// Output of iperf3, and the events of its test at our server.
fn run(server: &Ours, host: &str, words: &[&str]) -> Option<(Value, Told)> {
    let output = iperf3(server, host, words)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let told = server.notes.over(1);
    assert!(output.status.success(), "{words:?}: {text} {told:?}");
    Some((serde_json::from_str(&text).expect("iperf3 prints JSON"), told))
}

/// Bytes by stream: what our end told, in order.
fn bytes(told: &Told) -> Vec<u64> {
    let ours = told.ours.as_ref().expect("results");
    ours.streams.iter().map(|stream| stream.bytes).collect()
}

fn theirs(told: &Told) -> Vec<u64> {
    let theirs = told.theirs.as_ref().expect("results");
    theirs.streams.iter().map(|stream| stream.bytes).collect()
}

#[test_case("127.0.0.1", &["-t", "1", "-b", "200M"], 1; "to us")]
#[test_case("::1", &["-t", "1", "-b", "200M"], 1; "to us over v6")]
#[test_case("127.0.0.1", &["-t", "1", "-b", "200M", "-R"], 1; "from us")]
#[test_case("::1", &["-t", "1", "-b", "200M", "-R"], 1; "from us over v6")]
#[test_case("127.0.0.1", &["-t", "1", "-b", "100M", "-P", "4"], 4; "four streams to us")]
#[test_case("127.0.0.1", &["-t", "1", "-b", "100M", "-P", "3", "-R"], 3; "three streams from us")]
#[test_case("127.0.0.1", &["-t", "1", "-b", "100M", "--bidir"], 2; "both ways")]
#[test_case("::1", &["-t", "1", "-b", "50M", "--bidir", "-P", "2"], 4; "two streams each way over v6")]
#[test_case("127.0.0.1", &["-n", "20M", "-b", "400M"], 1; "so many bytes")]
#[test_case("127.0.0.1", &["-k", "100", "-b", "400M"], 1; "so many calls")]
#[test_case("127.0.0.1", &["-t", "1", "-O", "1", "-b", "100M"], 1; "with the first second left out")]
#[test_case("127.0.0.1", &["-t", "1", "-b", "100M", "-w", "256K", "-N", "-M", "1400", "-C", "reno", "-S", "0x20", "-Z"], 1; "with options")]
fn bytes_are_the_same_at_both_ends(host: &str, words: &[&str], streams: usize) {
    let server = Ours::start();
    let Some((printed, told)) = run(&server, host, words) else { return };
    assert_eq!(told.events, ["accepted", "asked", "streams", "ran", "done"], "{told:?}");
    let (ours, theirs) = (bytes(&told), theirs(&told));
    assert_eq!(ours.len(), streams);
    let uploads = if words.contains(&"--bidir") { streams / 2 } else { streams };
    for (index, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert!(*ours > 0);
        if words.contains(&"-R") || index >= uploads {
            // A client of 3.12 does not count payload that is on its way at the end.
            assert!(ours >= theirs, "stream {index}: {ours} {theirs} {printed}");
        } else if !words.contains(&"-O") {
            assert_eq!(ours, theirs, "stream {index}: {printed}");
        }
    }
    assert_eq!(told.intervals, ours, "intervals add up");
    let end = &printed["end"];
    let received = end["sum_received"]["bytes"].as_u64().expect("a sum");
    if !words.contains(&"-R") {
        assert_eq!(received, ours[..uploads].iter().sum::<u64>(), "the client prints what we told");
    }
}

#[test_case("127.0.0.1", &[]; "to us")]
#[test_case("::1", &[]; "to us over v6")]
#[test_case("127.0.0.1", &["--udp-counters-64bit"]; "numbered in 64 bits")]
#[test_case("127.0.0.1", &["-P", "3"]; "three streams to us")]
#[test_case("127.0.0.1", &["-O", "1"]; "with the first second left out")]
#[test_case("127.0.0.1", &["-n", "20K"]; "so many bytes")]
fn every_datagram_to_us_is_counted(host: &str, words: &[&str]) {
    let server = Ours::start();
    let all = [&["-u", "-b", "200K", "-l", "100", "-t", "1"][..], words].concat();
    let all = if words.contains(&"-n") { [&all[..5], words].concat() } else { all };
    let Some((printed, told)) = run(&server, host, &all) else { return };
    let (ours, theirs) = (told.ours.as_ref().unwrap(), told.theirs.as_ref().unwrap());
    // A kernel without room reports its drops; but so few fit a socket's buffer.
    let full = told.dropped.iter().sum::<u64>();
    for ((ours, theirs), dropped) in ours.streams.iter().zip(&theirs.streams).zip(&told.dropped) {
        // Only the sender knows the losses behind the last arrival.
        assert_eq!(ours.errors as u64 + (theirs.packets - ours.packets), *dropped, "{printed}");
        assert!(ours.packets > 0 && ours.jitter_s < 1.0);
        assert!(ours.bytes == (theirs.packets - dropped) * 100 || words.contains(&"-O"));
    }
    let sum = &printed["end"]["sum"];
    assert!(sum["lost_packets"].as_u64() == Some(full) || words.contains(&"-O"), "{printed}");
}

#[test_case("127.0.0.1", &["-R"]; "from us")]
#[test_case("::1", &["-R", "-P", "2"]; "two from us over v6")]
#[test_case("127.0.0.1", &["--bidir", "-P", "2"]; "two each way")]
fn every_datagram_from_us_is_numbered(host: &str, words: &[&str]) {
    let server = Ours::start();
    let all = [&["-u", "-b", "200K", "-l", "100", "-t", "1"][..], words].concat();
    let Some((printed, told)) = run(&server, host, &all) else { return };
    for (ours, theirs) in told.ours.as_ref().unwrap().streams.iter().zip(&told.theirs.as_ref().unwrap().streams) {
        assert!(ours.packets > 0 && ours.packets >= theirs.packets, "{ours:?} {theirs:?} {printed}");
        assert_eq!((ours.errors, theirs.errors), (0, 0), "{printed}");
    }
}

#[test]
fn a_client_gets_what_the_server_printed() {
    let server = Ours::start();
    let Some((printed, _)) = run(&server, "127.0.0.1", &["-k", "10", "-b", "100M", "--get-server-output"]) else {
        return;
    };
    assert_eq!(printed["server_output_text"], "output of test 1\n");
}

#[test]
fn a_client_is_told_why_it_may_not() {
    let server = Ours::with(|settings| settings.limits.rate = Some(RateLimit::new(1_000_000)));
    let Some(output) = iperf3(&server, "127.0.0.1", &["-b", "2M", "-t", "1"]) else { return };
    let printed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let why = printed["error"].as_str().expect("an error");
    assert!(why.contains("total required bandwidth is larger than server limit"), "{why}");
    assert_eq!(server.notes.over(1).failed.map(|failed| failed.0), Some(Code::TOTAL_RATE));
}

#[test]
fn a_busy_server_says_so() {
    let server = Ours::with(|settings| settings.limits.tests = 0);
    let Some(output) = iperf3(&server, "127.0.0.1", &["-t", "1"]) else { return };
    let printed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let why = printed["error"].as_str().expect("an error");
    assert!(why.contains("the server is busy running a test"), "{why}");
}
