//! A first look at a host whose port refuses: by its own reset, or by that of a box on the way.

use serde_json::{Value, json};
use test_case::test_case;

use crate::syn::scene::{CLOSED, Scene, document, sonde_in};

/// Searches for a planted cause: `SONDE_PLANTED` sets them, for those who have the time.
#[expect(clippy::disallowed_methods, reason = "how often is up to whoever runs the tests")]
fn runs() -> usize {
    std::env::var("SONDE_PLANTED").ok().and_then(|runs| runs.parse().ok()).unwrap_or(2)
}

/// Cause that a look names for the closed port.
fn cause(scene: &Scene, six: bool) -> Value {
    let mut command = sonde_in(scene.near());
    let target = scene.target(six, CLOSED);
    let output = command.args(["look", &target, "-t", "1", "--json", "-q"]).output().expect("started");
    let document = document(&output);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let look = &document["look"];
    // It was looked at, and held against the port where the host accepts.
    assert_eq!((&look["resets"][0]["port"], &look["resets"][0]["origin"]["compared_port"]), (&json!(9), &json!(7_663)));
    let findings = look["judgement"]["findings"].as_array().expect("findings");
    let of = json!({ "kind": "port", "address": 0, "port": CLOSED });
    findings.iter().find(|finding| finding["of"] == of).map_or(Value::Null, |finding| finding["cause"].clone())
}

const RESET: &str =
    "table inet box { chain forward { type filter hook forward priority 0; tcp dport 9 reject with tcp reset; }; }";

#[test_case(false; "v4")]
#[test_case(true; "v6")]
fn a_reset_of_a_box_on_the_way_is_said_to_be_another_s(six: bool) {
    let Some(scene) = Scene::with_rules("a look through a box that resets", Scene::middle, RESET) else { return };
    let causes: Vec<Value> = (0..runs()).map(|_| cause(&scene, six)).collect();
    let named = causes.iter().filter(|cause| **cause == "another-hop").count();
    assert!(named * 20 >= runs() * 19, "{causes:?}");
}

#[test_case(false; "v4")]
#[test_case(true; "v6")]
fn a_reset_of_the_host_itself_accuses_nobody(six: bool) {
    let Some(scene) = Scene::new("a look at a host that resets") else { return };
    for _ in 0..runs() {
        assert_eq!(cause(&scene, six), Value::Null);
    }
}
