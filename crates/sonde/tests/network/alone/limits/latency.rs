//! `--with-latency` on a bottleneck whose queue is known: what a full one holds, at the rate at which it empties.

use serde_json::Value;
use test_case::test_case;

use super::Case::{self, First, Further};
use super::reflector;
use crate::plant::{FORWARDED, Forward, Standing, bucket, sonde_of};
use crate::scene::{Scene, document, installed, number, tell};

/// Bits a second of the bottleneck, and what its queue holds.
const RATE: u64 = 20_000_000;
const QUEUE: u64 = 100_000;
/// A datagram, and the same with its heads, as the bucket counts it; the line of the forwarder counts 14 less.
const PAYLOAD: u64 = 1_400;
const FRAME: u64 = PAYLOAD + 8 + 20 + 14;

/// The median of a phase, nanoseconds.
fn median(record: &Value, phase: &str) -> u64 {
    let quantiles = record["stream"]["latency"][phase]["response"]["quantiles"].as_array().expect("quantiles");
    let found = quantiles.iter().find(|quantile| quantile["q"] == 0.5).expect("a median");
    found["value_ns"].as_u64().unwrap_or_else(|| panic!("{phase}: {found}"))
}

/// Datagrams at twice the rate keep the queue full: a small one among them finds all but at most two of them before it, and
/// waits as long as those take.
#[test_case(First, true; "token bucket")]
#[test_case(Further, false; "forwarder")]
fn what_a_full_queue_adds_is_what_it_holds_by_its_rate(case: Case, of_tokens: bool) {
    let Some(runs) = case.runs() else { return };
    let what = if of_tokens { "the latency of a token bucket" } else { "the latency of a forwarder" };
    if of_tokens && !installed("tc", "iproute2", what) {
        return;
    }
    let Some(scene) = Scene::undisturbed(what) else { return };
    let (rate, queue) = (RATE.to_string(), QUEUE.to_string());
    let forward = (!of_tokens).then(|| Forward::start(&scene, &["--one-way", "--rate", &rate, "--queue", &queue]));
    if of_tokens {
        bucket(&scene, &format!("{rate}bit"), "5000", &queue);
    }
    let _reflector = reflector(&scene, Standing::Ahead);
    let target = if forward.is_some() { FORWARDED.to_owned() } else { scene.target(false) };
    // A run takes ten seconds: one with all other tests, and half as many as of other cases.
    for _ in 0..runs.div_ceil(2) {
        under_load(&scene, &target).hold(what);
    }
}

/// Medians of a run beside datagrams at twice the rate, nanoseconds, and what came through.
struct Seen {
    idle: u64,
    loaded: u64,
    after: u64,
    /// Bits a second that left the queue.
    rate: f64,
}

impl Seen {
    fn hold(&self, what: &str) {
        let Self { idle, loaded, after, rate } = *self;
        let takes = |bytes: u64, rate: f64| bytes as f64 * 8e9 / rate;
        let added = loaded as f64 - idle as f64;
        tell(&format!("{what}: {:.0} us were added of {:.0}", added / 1e3, takes(QUEUE, rate) / 1e3));
        assert!(loaded as f64 >= takes(QUEUE - 2 * FRAME, RATE as f64), "{loaded} ns");
        // A machine that stands still again and again empties the queue more slowly than its rate, and by as much less comes through.
        // Beyond the queue, the machine alone: half of its exchanges are not late by so much.
        assert!(added <= takes(QUEUE, rate.min(RATE as f64)) + 5e6, "{added} ns at {rate} bit/s");
        assert!(after < idle + (loaded - idle) / 2, "it is empty again: {idle} {loaded} {after}");
    }
}

fn under_load(scene: &Scene, target: &str) -> Seen {
    let words =
        ["throughput", "--json", "-q", target, "-t", "3", "--udp", "--rate", "40M", "--with-latency", "--no-test"];
    let output = sonde_of(scene.near(), Standing::Ahead).args(words).output().expect("started");
    let record = document(&output);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // The exchanges' own session is made through the queue too, which takes a while; a median needs twenty.
    assert!(number(&record, "/stream/latency/loaded/scheduled") >= 50);
    let [idle, loaded, after] = ["idle", "loaded", "after"].map(|phase| median(&record, phase));
    let came = record["stream"]["received_bytes_per_s"].as_f64().expect("the peer tells");
    Seen { idle, loaded, after, rate: came * 8.0 * FRAME as f64 / PAYLOAD as f64 }
}
