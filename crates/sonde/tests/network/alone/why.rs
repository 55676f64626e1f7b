//! Causes of a round trip, planted one at a time and absent: a peer that holds its replies, a CPU that others use at the peer, one
//! that others take where we sleep. Once here, as often as `SONDE_PLANTED` says elsewhere.
//!
//! A cause that is not there may never be named. That one that is there is not named is no accusation, and its rate is one
//! that a single run does not have: of many runs it is one of twenty.
//!
//! Both ends and what disturbs them run at real-time priority, so that nothing else on this machine is a cause.

use std::process::{Child, Stdio};

use lab::namespace::Namespace;
use serde_json::Value;

use crate::scene::{Reflector, Scene, document, sonde_in, tell};

/// Short trials in one block more than the fewest that can show any cause: a trial may fail. `--intervals 0` leaves out what only tells
/// where the time goes.
const SHORT: &str = "why --json -q --intervals 0 --blocks 9 -t 100ms --warm-up 20ms --every 2ms";

#[expect(clippy::disallowed_methods, reason = "how often is up to whoever runs the tests")]
fn times() -> usize {
    let asked = std::env::var("SONDE_PLANTED").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or_else(|| {
        testbed::skip::aloud("causes of a round trip, planted in 20 runs each: `make planted`; once here");
        1
    })
}

/// Our end has a CPU of its own, for a peer that ran there would find it busy, and that would be true. It blocks for replies: where both
/// ends spin at real-time priority, the kernel finds no CPU for what turns its timestamps on.
const APART: &str = "--udp --cpu 0";

/// The last CPU, where there are several; otherwise that is said aloud.
fn last_cpu(what: &str) -> Option<String> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    if cpus < 2 {
        testbed::skip::aloud(&format!("{what}: it takes two CPUs"));
        return None;
    }
    Some((cpus - 1).to_string())
}

/// Findings of `sonde why` in the near namespace with these words. A trial that failed is named and has its status: where
/// both ends spin beside others at real-time priority, the kernel may find no CPU for the packets of one.
fn why(scene: &Scene, words: &str) -> Value {
    let target = scene.target(false);
    let words: Vec<&str> = SHORT.split(' ').chain(words.split_whitespace()).chain([target.as_str()]).collect();
    let output = sonde_in(scene.near()).args(&words).output().expect("started");
    let found = document(&output);
    let failures: Vec<&Value> =
        found["trials"].as_array().expect("trials").iter().map(|trial| &trial["failure"]).collect();
    let partly = failures.iter().any(|failure| !failure.is_null());
    assert_eq!(output.status.code(), Some(if partly { 3 } else { 0 }), "{words:?}: {failures:?}");
    jsonschema::validate(&logbook::schema::study_schema(), &found).expect("a study");
    found["explanation"].clone()
}

/// The causes that were named.
fn named(found: &Value) -> Vec<&str> {
    let causes = found["causes"].as_array().expect("causes").iter();
    causes.filter(|cause| cause["doubt"].is_null()).map(|cause| cause["cause"].as_str().expect("a name")).collect()
}

/// Holds how often `cause` was named against the rate at which it is to be, and says it.
fn rate(cause: &str, named: usize, runs: usize) {
    tell(&format!("{cause}: named in {named} of {runs}"));
    assert!(runs - named <= runs.div_ceil(20), "{cause} was named in {named} of {runs} only");
}

/// The time that a cause takes, or an end of its interval, nanoseconds; absent where it was not measured.
fn takes(found: &Value, name: &str, of: &str) -> Option<f64> {
    let causes = found["causes"].as_array().expect("causes");
    causes.iter().find(|cause| cause["cause"] == name)?["takes"][of].as_f64()
}

/// Asserts that the measured difference is the sum of the named parts and the rest, as far as medians of blocks and centres
/// of differences agree: where blocks lie far apart, no closer than their intervals.
fn adds_up(found: &Value) {
    let width = |of: &Value| Some(of["high"].as_f64()? - of["low"].as_f64()?);
    let adding = named(found).into_iter().filter(|name| *name != "peer-cpu-busy");
    let explained: f64 = adding.map(|name| takes(found, name, "value").expect("a time of what is named")).sum();
    let (Some(of_rest), Some(of_measured)) = (width(&found["unexplained"]), width(&found["measured"])) else {
        return tell(&format!("too few blocks to add up: {found:#}"));
    };
    let value = |of: &Value| of["value"].as_f64().expect("a value");
    let (measured, rest) = (value(&found["measured"]), value(&found["unexplained"]));
    let room = of_rest.max(of_measured).max(measured * 0.1);
    assert!((measured - explained - rest).abs() <= room, "{measured} = {explained} + {rest}? {found:#}");
}

#[test]
fn a_peer_that_holds_its_replies_is_named() {
    let Some(scene) = Scene::alone("causes of round trips, planted") else { return };
    let Some(last) = last_cpu("a peer that holds its replies") else { return };
    let _slow = Reflector::start(scene.far(), &["--open", "--hold", "200us", "--cpu", &last]);
    let (runs, mut shown) = (times(), 0);
    for _ in 0..runs {
        let found = why(&scene, APART);
        let names = named(&found);
        assert!(!names.contains(&"peer-cpu-busy"), "nobody else is there: {found:#}");
        if names.contains(&"peer-holds") {
            shown += 1;
            // A hold is never shorter; a host that takes the CPU away makes it longer.
            let [low, high] = ["low", "high"].map(|end| takes(&found, "peer-holds", end).expect("an end"));
            assert!(low < 1_000_000.0 && high > 180_000.0, "{low} to {high} ns of 200 us: {found:#}");
        }
        adds_up(&found);
    }
    rate("a peer that holds its replies", shown, runs);
}

#[test]
fn what_is_absent_is_not_named() {
    let Some(scene) = Scene::alone("causes of round trips, absent") else { return };
    let Some(last) = last_cpu("causes that are absent") else { return };
    let _prompt = scene.reflector(&["--cpu", &last]);
    for _ in 0..times() {
        let found = why(&scene, &format!("{APART} --pace spin"));
        let names = named(&found);
        for absent in ["peer-holds", "sleep-pacing", "peer-cpu-busy"] {
            assert!(!names.contains(&absent), "{absent}: {found:#}");
        }
        adds_up(&found);
    }
}

/// Somebody who works most of the time on a CPU, at the priority of both ends.
struct Hog(Child);

impl Hog {
    fn on(namespace: &Namespace, cpu: &str) -> Self {
        // A millisecond or two of work, and about as much of rest in which the others come in.
        let work = "while :; do i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done; sleep 0.002; done";
        let words = ["--fifo", "1", "taskset", "-c", cpu, "sh", "-c", work];
        let child = namespace.command("chrt").args(words).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        Self(child.expect("started"))
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn others_on_the_peers_cpu_are_named() {
    let Some(scene) = Scene::alone("a CPU that others use at the peer") else { return };
    let Some(last) = last_cpu("a CPU that others use at the peer") else { return };
    let _reflector = scene.reflector(&["--cpu", &last]);
    let _hog = Hog::on(scene.far(), &last);
    let (runs, mut shown) = (times(), 0);
    for _ in 0..runs {
        let found = why(&scene, "--udp --cpu 0");
        let names = named(&found);
        shown += usize::from(names.contains(&"peer-cpu-busy"));
        assert!(!names.contains(&"peer-holds"), "{found:#}");
        let cost = takes(&found, "peer-cpu-busy", "value").map(|nanos| (nanos / 1e3).round());
        tell(&format!("a busy CPU at the peer cost {cost:?} us: {names:?}"));
    }
    rate("a busy CPU at the peer", shown, runs);
}

/// A request that is sent at its own time, answered or not, is late by as long as others keep the CPU that we slept on; a
/// thread that spins hardly ever gives it away. Each of the two waits of such a loop ends by the same sleep, so that either
/// switch shows it, and it is shared out between them. A netserver has no switch of its own: where both ends spin beside
/// others at real-time priority, the kernel finds no CPU for the packets, and trials fail.
#[test]
fn what_sleeping_until_a_request_is_due_costs_is_named() {
    let Some(scene) = Scene::alone("a CPU that others take where we sleep") else { return };
    if last_cpu("a CPU that others take where we sleep").is_none() {
        return;
    }
    let _netserver = scene.reflector(&["--netperf"]);
    let _hog = Hog::on(scene.near(), "0");
    let (runs, mut shown) = (times(), 0);
    for _ in 0..runs {
        let found = why(&scene, &format!("{APART} --peer netperf --window 0"));
        let names = named(&found);
        shown += usize::from(names.contains(&"sleep-pacing"));
        let cost = [takes(&found, "sleep-pacing", "value"), found["measured"]["value"].as_f64()];
        let cost = cost.map(|nanos| nanos.map(|nanos| (nanos / 1e3).round()));
        tell(&format!("sleeping on a CPU that others take cost {:?} of {:?} us: {names:?}", cost[0], cost[1]));
        if !names.contains(&"sleep-pacing") {
            tell(&format!("not named: {:#}", found["causes"]));
        }
        adds_up(&found);
    }
    rate("sleep pacing", shown, runs);
}
