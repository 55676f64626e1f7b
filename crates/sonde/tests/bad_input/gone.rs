//! A far side that hangs, dies or goes down in the middle.

use std::time::Duration;

use endpoint::clock::Monotonic;
use rustix::process::Signal;
use serde_json::Value;
use test_case::test_case;

use crate::{Running, SOON, Serve, balanced, count, since};

/// Measures until the first second is told, does `what` to the far side, and waits for the end.
fn struck(words: &[&str], signal: Signal) -> (Option<i32>, Value, Duration) {
    let serve = Serve::start(&[]);
    let mut running = Running::start(&[&[&serve.address, "--warm-up", "0"], words].concat());
    running.event("second");
    serve.signal(signal);
    let struck = Monotonic::now();
    let (code, last, said) = running.end();
    assert_eq!(last["event"], "end", "{last:#} {said}");
    let record = last["data"].clone();
    balanced(&record);
    assert!(count(&record, "answered") > 100, "what was measured before is kept");
    assert!(record["outcome"]["response"]["quantiles"].as_array().is_some_and(|quantiles| !quantiles.is_empty()));
    (code, record, since(struck))
}

#[test_case(&["--tcp"]; "tcp")]
#[test_case(&["--udp"]; "udp")]
#[test_case(&["--udp", "--every", "1ms"]; "udp in an open loop")]
fn a_peer_that_hangs_is_counted_as_lost_and_not_waited_for(words: &[&str]) {
    // From then on it is silent: the status says so.
    let (code, record, took) = struck(&[words, &["-t", "4", "--timeout", "300ms"]].concat(), Signal::STOP);
    assert!(count(&record, "lost") > 0, "{:#}", record["outcome"]["counts"]);
    assert_eq!((code, &record["ended"]["how"]), (Some(1), &"complete".into()));
    let warnings = record["warnings"].to_string();
    assert!(warnings.contains("no-report"), "{warnings}");
    assert!(took < SOON, "{took:?}");
}

#[test_case(&["--tcp"]; "tcp")]
#[test_case(&["--udp"]; "udp")]
#[test_case(&["--tcp", "--window", "8"]; "a window")]
#[test_case(&["--crr"]; "connect and exchange")]
fn a_peer_that_dies_ends_the_run_with_what_there_is(words: &[&str]) {
    let (code, record, took) = struck(&[words, &["-t", "600"]].concat(), Signal::KILL);
    assert_eq!((code, &record["ended"]["how"]), (Some(1), &"peer-lost".into()), "{:#}", record["ended"]);
    assert!(took < SOON, "{took:?}");
}

#[test_case(&["--tcp"]; "tcp")]
#[test_case(&["--udp"]; "udp")]
fn a_peer_that_goes_down_says_so(words: &[&str]) {
    let (code, record, _) = struck(&[words, &["-t", "600"]].concat(), Signal::TERM);
    assert_eq!((code, &record["ended"]["how"]), (Some(1), &"peer-lost".into()));
    let reason = record["ended"]["reason"].as_str().unwrap();
    assert!(reason.contains("the reflector is shutting down"), "{reason}");
}

#[test]
fn a_peer_that_dies_is_noticed_while_samples_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    let samples = folder.path().join("samples.csv").display().to_string();
    let (code, record, took) = struck(&["--udp", "-t", "600", "--samples", &samples], Signal::KILL);
    assert_eq!((code, &record["ended"]["how"]), (Some(1), &"peer-lost".into()));
    assert!(took < SOON, "{took:?}");
    let rows = std::fs::read_to_string(&samples).unwrap().lines().filter(|line| !line.starts_with('#')).count() as u64;
    assert!(rows > 100, "{rows}");
}

#[test]
fn a_reflector_that_is_asked_to_end_does_so_while_it_is_measured() {
    let mut serve = Serve::start(&[]);
    let mut running = Running::start(&[&serve.address, "-t", "600", "--warm-up", "0", "--connections", "4"]);
    running.event("second");
    serve.signal(Signal::TERM);
    let asked = Monotonic::now();
    assert_eq!(serve.child.wait().unwrap().code(), Some(0));
    assert!(since(asked) < SOON, "{:?}", since(asked));
    // Its port is free at once, and another is measured there.
    let port = serve.address.rsplit(':').next().unwrap().to_owned();
    let (_, last, _) = running.end();
    assert_eq!(last["data"]["ended"]["how"], "peer-lost");
    let next = Serve::start(&["--port", &port]);
    assert_eq!(next.address, serve.address);
    assert_eq!(count(&crate::rtt(&next.address, &["-c", "5", "--warm-up", "0"]).record(), "answered"), 5);
}
