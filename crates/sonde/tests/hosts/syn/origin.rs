//! Origin of the resets, where it is known: a box on the way that answers by itself, one that copies the host, the host.

use serde_json::Value;
use test_case::test_case;

use crate::syn::scene::{CLOSED, OPEN, Scene};

/// Searches for a planted origin: `SONDE_PLANTED` sets them, for those who have the time.
#[expect(clippy::disallowed_methods, reason = "how often is up to whoever runs the tests")]
fn runs() -> usize {
    std::env::var("SONDE_PLANTED").ok().and_then(|runs| runs.parse().ok()).unwrap_or(2)
}

/// The verdict on the resets of a closed port, of which `count` are sent first.
fn origin(scene: &Scene, six: bool, count: &str) -> Value {
    let (target, open) = (scene.target(six, CLOSED), OPEN.to_string());
    let words = [&target, "-c", count, "--every", "2ms", "--compare-port", &open];
    let record = scene.record(&words);
    record["probes"]["origin"].clone()
}

/// Number of all runs that come to this verdict.
fn found(scene: &Scene, six: bool, verdict: &str) -> (usize, Vec<Value>) {
    let origins: Vec<Value> = (0..runs()).map(|_| origin(scene, six, "10")).collect();
    (origins.iter().filter(|origin| origin["verdict"] == verdict).count(), origins)
}

const RESET: &str =
    "table inet box { chain forward { type filter hook forward priority 0; tcp dport 9 reject with tcp reset; }; }";

#[test_case(false; "v4")]
#[test_case(true; "v6")]
fn a_reset_of_a_box_on_the_way_is_told_from_the_host_s(six: bool) {
    let Some(scene) = Scene::with_rules("resets of a box on the way", Scene::middle, RESET) else { return };
    let (found, origins) = found(&scene, six, "another-hop");
    assert!(found * 20 >= runs() * 19, "{found} of {}: {origins:?}", runs());
    let ttl = &origins[0]["traits"][0];
    assert_eq!((&ttl["fit"], &ttl["trait"]["ttl"]["host"]), (&"impossible".into(), &serde_json::json!([63, 63])));
    assert_eq!(ttl["trait"]["ttl"]["theirs"], serde_json::json!([64, 64]));
}

/// The same box with the host's own hop count: its kernel's resets have the host's other marks as they are.
const FORGED: &str = "table inet box { \
    chain forward { type filter hook forward priority 0; tcp dport 9 reject with tcp reset; }; \
    chain output { type filter hook output priority 0; \
        tcp sport 9 meta nfproto ipv4 ip ttl set 63; tcp sport 9 meta nfproto ipv6 ip6 hoplimit set 63; }; }";

#[test_case(false; "v4")]
#[test_case(true; "v6")]
fn a_box_that_copies_the_host_is_not_taken_for_it(six: bool) {
    let Some(scene) = Scene::with_rules("resets that copy the host's", Scene::middle, FORGED) else { return };
    let (found, origins) = found(&scene, six, "not-shown");
    assert!(found * 20 >= runs() * 19, "{found} of {}: {origins:?}", runs());
}

#[test_case(false; "v4")]
#[test_case(true; "v6")]
fn a_hundred_resets_of_the_host_accuse_nobody(six: bool) {
    let Some(scene) = Scene::new("resets of a host") else { return };
    let origin = origin(&scene, six, "100");
    assert_eq!(origin["verdict"], "not-shown", "{origin}");
    assert!(origin["accepted"].as_u64() >= Some(50) && origin["questioned"].as_u64() >= Some(50), "{origin}");
    let traits = origin["traits"].as_array().expect("traits");
    assert!(traits.iter().all(|of| of["fit"] != "impossible"), "{origin}");
}

#[test]
fn without_a_port_to_compare_with_nothing_is_claimed() {
    let Some(scene) = Scene::with_rules("resets with nothing to compare", Scene::middle, RESET) else { return };
    let record = scene.record(&[&scene.target(false, CLOSED), "-c", "8", "--every", "2ms"]);
    let origin = &record["probes"]["origin"];
    assert_eq!((&origin["verdict"], &origin["compared_port"]), (&"not-shown".into(), &Value::Null));
}
