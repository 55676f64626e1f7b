//! Warnings that take a path or a machine of their own, planted between two hosts.

use serde_json::Value;
use test_case::test_case;

use crate::plant::{Quota, Standing, sonde_of};
use crate::scene::{Reflector, Scene, document};

/// The kinds of a record's warnings.
pub fn kinds(record: &Value) -> Vec<&str> {
    let warnings = record["warnings"].as_array().unwrap_or_else(|| panic!("{record}"));
    warnings.iter().map(|warning| warning["kind"].as_str().expect("a kind")).collect()
}

/// A datagram is eight octets of UDP and the head of IP longer than what it carries; an Ethernet packet has 1500.
#[test_case(false, 1_472, false; "one packet over v4")]
#[test_case(false, 1_473, true; "two over v4")]
#[test_case(true, 1_452, false; "one packet over v6")]
#[test_case(true, 1_453, true; "two over v6")]
fn a_datagram_of_more_than_a_packet_is_told(six: bool, bytes: u64, expected: bool) {
    let Some(scene) = Scene::beside("datagrams longer than a packet") else { return };
    let _reflector = scene.reflector(&[]);
    let size = bytes.to_string();
    let words = [&*scene.target(six), "--udp", "--size", &size, "-c", "20", "--warm-up", "0", "--timeout", "60s"];
    let record = scene.record(&words);
    assert_eq!(kinds(&record).contains(&"fragmented"), expected, "{}", record["warnings"]);
    // Over a cable between two namespaces nobody knows that they are one machine.
    assert!(!kinds(&record).contains(&"same-host"), "{}", record["warnings"]);
}

#[test]
fn a_control_group_that_keeps_an_end_from_running_is_told_by_its_end() {
    let what = "a CPU quota of one end";
    let Some(scene) = Scene::beside(what) else { return };
    let Some(quota) = Quota::tenth(what) else { return };
    let target = scene.target(false);
    let told = |client: Standing<'_>, server: Standing<'_>| {
        let mut serve = sonde_of(scene.far(), server);
        serve.args(["serve", "--open"]);
        let _reflector = Reflector::started(serve, "listening on");
        let mut command = sonde_of(scene.near(), client);
        // Busy all the time, which is ten times what the group may be.
        command.args([
            "rtt",
            &target,
            "--json",
            "-q",
            "-t",
            "1",
            "--warm-up",
            "0",
            "--timeout",
            "60s",
            "--wait",
            "spin",
        ]);
        command.args(["--peer-wait", "spin"]);
        let record = document(&command.output().expect("started"));
        let warnings = record["warnings"].as_array().expect("warnings");
        let ends = warnings.iter().filter(|warning| warning["kind"] == "throttled");
        ends.map(|warning| warning["end"].as_str().expect("an end").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(told(Standing::Within(&quota), Standing::Plain), ["our"]);
    assert_eq!(told(Standing::Plain, Standing::Within(&quota)), ["the peer's"]);
    assert_eq!(told(Standing::Plain, Standing::Plain), [] as [&str; 0]);
}
