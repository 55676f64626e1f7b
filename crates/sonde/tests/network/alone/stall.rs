//! A peer that stands still for 100 ms once in 1000 requests, one request a millisecond: what an open loop sees of it
//! and a closed one omits (method.md, coordinated omission).
//!
//! A stall makes the hundred requests that are due in it wait 100, 99, … 1 ms. Four stalls in 3600 requests are 400 that
//! wait: the p90 is the 360th longest wait, 10 ms, and the p99 the 36th, 91 ms.

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::scene::{Scene, counts, document, number, quantile, rtt_in, samples, tell};

const MILLI: u64 = 1_000_000;
const STALLS: u64 = 4;
/// Stalls of 5,000 requests, one in 500.
const STALLED: u64 = 10;
/// Instants that a machine passes over by itself without moving stalls by more than the finest timer does, all together.
const SHIFTED: u64 = 10;

#[test]
fn an_open_loop_sees_what_a_closed_one_omits() {
    let Some(scene) = Scene::alone("a peer that stalls") else { return };
    let _reflector = scene.reflector(&["--stall", "100ms", "--stall-every", "1000"]);
    let target = scene.target(false);
    let folder = tempfile::tempdir().expect("a folder");
    // At once, each in a session of its own whose requests and stalls are counted apart.
    let methods = [("--udp", "0"), ("--tcp", "0"), ("--udp", "1")];
    let running = methods.map(|(carrier, window)| {
        let words = ["--every", "1ms", "-c", "3600", "--warm-up", "0", "--no-stamps", "--samples"];
        let file = folder.path().join(format!("{}{window}.csv", &carrier[2..]));
        let mut command = rtt_in(scene.near(), &[&target, carrier, "--window", window]);
        command.args(words).arg(file).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started")
    });
    let [udp, tcp, closed] = running.map(|child| document(&child.wait_with_output().expect("ended")));
    for (record, file) in [(&udp, "udp0.csv"), (&tcp, "tcp0.csv")] {
        open_loop(record, &folder.path().join(file));
    }
    closed_loop(&closed);
    // One request met each stall, where fifty were due that would have waited so long.
    let waited = |file: &str| waited(&folder.path().join(file), 50);
    let (closed, open) = (waited("udp1.csv"), waited("udp0.csv"));
    assert!(closed >= STALLS && closed * 8 < open, "{closed} and {open} waited 50 ms");
}

/// Exchanges that waited longer than so many milliseconds.
fn waited(file: &Path, millis: u64) -> u64 {
    samples(file).iter().filter(|sample| sample.response_ns > millis * MILLI).count() as u64
}

fn open_loop(record: &Value, file: &Path) {
    let fates = counts(record);
    assert_eq!((fates.scheduled, fates.answered, fates.ticks_missed), (3_600, 3_600, 0), "{fates:?}");
    assert_eq!(record["outcome"]["loop_kind"], "open");
    let [p50, p90, p99] = [0.5, 0.9, 0.99].map(|q| quantile(record, "/outcome/response", q));
    // From below as exact as the stalls are; from above as far as others on this machine delay requests too.
    assert!(p50 < 5 * MILLI, "most requests meet no stall: {p50}");
    assert!((5 * MILLI..60 * MILLI).contains(&p90), "{p90}");
    assert!((85 * MILLI..200 * MILLI).contains(&p99), "{p99}");
    assert!(number(record, "/outcome/response/max_ns") >= 99 * MILLI);
    // The requests left on time all the same: their wait is all service, none of it slip.
    assert!(quantile(record, "/outcome/slip/distribution", 0.5) < MILLI);
    assert!(quantile(record, "/outcome/service", 0.99) > 80 * MILLI);
    assert_eq!(record["outcome"]["slip"]["rate_achieved"], true);
    // Request by request: of each stall as many waited so long as were due before its last so many milliseconds.
    assert_eq!(waited(file, 0), 3_600);
    for wait in [20, 40, 60, 80] {
        let waited = waited(file, wait);
        let due = STALLS * (100 - wait);
        assert!((due - STALLS..=2 * due + 50).contains(&waited), "{waited} waited {wait} ms, {due} were due");
    }
}

fn closed_loop(record: &Value) {
    let fates = counts(record);
    assert_eq!(record["outcome"]["loop_kind"], "closed");
    assert_eq!(fates.answered, 3_600, "{fates:?}");
    assert!(number(record, "/outcome/response/max_ns") >= 100 * MILLI);
    // It reports the requests that it omits: the instants that passed without a request, in the stalls and whenever else.
    assert!(fates.ticks_missed >= STALLS * 99, "{}", fates.ticks_missed);
    let ticks = number(record, "/outcome/elapsed_ns") / MILLI;
    assert!(ticks.abs_diff(fates.answered + fates.ticks_missed) <= 2, "{ticks} instants, {fates:?}");
    let warnings = record["warnings"].as_array().expect("warnings");
    assert!(warnings.iter().any(|warning| warning["kind"] == "ticks-missed"), "{warnings:?}");
}

/// At once, as above: an open loop, and a closed one, which sends nothing meanwhile.
#[test]
fn what_comes_back_at_even_distances_is_told() {
    let Some(scene) = Scene::alone("a peer that stalls at even distances") else { return };
    let _reflector = scene.reflector(&["--stall", "50ms", "--stall-every", "500"]);
    let target = scene.target(false);
    let running = [("0", 500), ("1", 550)].map(|(window, period)| {
        let words = ["--udp", "--every", "1ms", "--window", window, "-c", "5000", "--warm-up", "0", "--no-stamps"];
        let mut command = rtt_in(scene.near(), &[&[target.as_str()], &words[..]].concat());
        (command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started"), window, period)
    });
    for (child, window, period) in running {
        even_distances(&document(&child.wait_with_output().expect("ended")), window, period);
    }
}

fn even_distances(record: &Value, window: &str, period: u64) {
    // A closed loop passes over instants while it waits: those of the stalls, and those in which this machine stood still, after which all
    // later stalls come later.
    let stood_still = counts(record).ticks_missed.saturating_sub(STALLED * 51);
    if window != "0" && stood_still > SHIFTED {
        let found = &record["outcome"]["periodic"];
        tell(&format!(
            "this machine stood still for {stood_still} ms beside the stalls, which then come unevenly: {found}"
        ));
        // None, or no other than theirs.
        let within = |found: u64| (period - 10..period + 10 + stood_still).contains(&(found / MILLI));
        assert!(found["period_ns"].as_u64().is_none_or(within), "{found}");
        return;
    }
    let found = number(record, "/outcome/periodic/period_ns");
    assert!(found.abs_diff(period * MILLI) < 10 * MILLI, "{}", record["outcome"]["periodic"]);
    // Stalls that chance moved out of place are not counted.
    assert!((6..=10).contains(&number(record, "/outcome/periodic/count")), "{}", record["outcome"]["periodic"]);
    assert!(number(record, "/outcome/periodic/longer_ns").abs_diff(50 * MILLI) < 10 * MILLI);
    let warnings = record["warnings"].as_array().expect("warnings");
    assert!(warnings.iter().any(|warning| warning["kind"] == "periodic"), "{warnings:?}");
}
