//! A reflector that holds each reply a known time: seen in full by the measurement, and told to be the peer's.

use measure::unit::Nanos;
use serde_json::Value;
use test_case::test_case;

use crate::scene::{Reflector, Scene, number, quantile};

/// Runs of each kind, with and without the hold, in turn.
const RUNS: usize = 3;
/// So much more than the hold a round trip may rise by, on a machine that others use too.
const ABOVE: u64 = 200_000;
/// So much less: a hold ends in spinning for 150 us, and a CPU that spins need not be woken for the reply.
const BELOW: u64 = 150_000;

#[test_case("--udp", "500us"; "udp 500 us")]
#[test_case("--udp", "2ms"; "udp 2 ms")]
#[test_case("--tcp", "500us"; "tcp 500 us")]
#[test_case("--tcp", "2ms"; "tcp 2 ms")]
fn a_known_time_at_the_peer_is_seen_in_full_and_put_down_to_the_peer(carrier: &str, text: &str) {
    let Some(scene) = Scene::alone("a reflector that holds its replies") else { return };
    let hold = text.parse::<Nanos>().expect("a time").0;
    let _prompt = scene.reflector(&["--port", "7001"]);
    let _slow = Reflector::start(scene.far(), &["--open", "--port", "7002", "--hold", text]);
    let target = scene.target(false);
    let measure = |port: &str| {
        // One at a time and both as often, so that both ends are as cold with the hold as without.
        let method = ["-c", "60", "--every", "3ms", "--window", "1", "--warm-up", "100ms", "--stamps"];
        scene.record(&[&[&target, "--port", port, carrier], &method[..]].concat())
    };
    let runs: Vec<[Value; 2]> = (0..RUNS).map(|_| [measure("7001"), measure("7002")]).collect();
    let least =
        |side: usize, figure: &dyn Fn(&Value) -> u64| runs.iter().map(|pair| figure(&pair[side])).min().expect("runs");
    let shortest = |record: &Value| number(record, "/outcome/response/min_ns");
    let median = |record: &Value| quantile(record, "/outcome/response", 0.5);
    for [prompt, slow] in &runs {
        assert!(shortest(slow) > hold, "no reply is earlier than its hold");
        assert!(median(slow) > hold);
        assert!(number(slow, "/outcome/split/samples") > 0);
        for part in ["peer_hold_ns", "peer_ns"] {
            assert!(number(slow, &format!("/outcome/split/{part}")) >= hold, "{part}: {}", slow["outcome"]["split"]);
        }
        assert!(number(prompt, "/outcome/split/peer_hold_ns") < hold / 2, "{}", prompt["outcome"]["split"]);
    }
    // Others who have a CPU when a hold ends make half of the round trips longer than that, but not all.
    let rise = least(1, &shortest) - least(0, &shortest);
    assert!((hold - BELOW..=hold + ABOVE).contains(&rise), "the shortest rose by {rise} ns for a hold of {hold} ns");
    // Nobody else's part grew with it.
    for part in ["send_to_sched_ns", "sched_to_driver_ns", "path_ns", "wake_up_ns"] {
        let figure = |record: &Value| number(record, &format!("/outcome/split/{part}"));
        assert!(
            least(1, &figure) < least(0, &figure) + hold / 2,
            "{part}: {} and {}",
            least(1, &figure),
            least(0, &figure)
        );
    }
}
