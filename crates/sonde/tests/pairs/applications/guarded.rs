//! A gate over a real program, as a pipeline has it: Redis, and a Redis that answers later.

use testbed::skip;
use testbed::slow::{HELD_NS, Slow};

use super::measured_by;
use super::real::redis;

/// The delay is hundreds of round trips, and the limit half of one: neither verdict is left to chance.
#[test]
fn a_gate_stops_a_redis_that_answers_later_and_lets_one_pass_that_does_not() {
    if !skip::installed("strace", "strace", "a gate over a Redis that answers later") {
        return;
    }
    let (Some(before), Some(same), Some(later)) = (redis(&[]), redis(&[]), redis(&[])) else { return };
    let _slow = Slow::hold(&later, "write");
    let [before, same, later] = [&before, &same, &later].map(|server| format!("rtt redis://127.0.0.1:{}", server.port));
    let common = "-c 20 --warm-up 0 --force";
    let gate = |build: &str| {
        let words =
            [&before, build, "--with", common, "--figures", "p50", "--runs", "7", "--fail-if", "p50>+50%", "-q"];
        let (found, code) = measured_by("compare", &words);
        let judged = &found["comparisons"][0];
        let difference = &judged["figures"][0]["compared"]["difference"];
        (judged["thresholds"][0]["held"].clone(), difference["low"].as_f64().expect("an interval"), code)
    };
    let (held, _, code) = gate(&same);
    assert!(held != "exceeded" && code == Some(0), "{held} {code:?}");
    let (held, low, code) = gate(&later);
    assert_eq!((held.as_str(), code), (Some("exceeded"), Some(99)));
    // An answer is never earlier than its hold, and a busy machine makes either later.
    assert!(low > HELD_NS as f64 / 2.0, "{low}");
}
