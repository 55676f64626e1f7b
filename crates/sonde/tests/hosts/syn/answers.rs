//! Kinds of answers: each is told from the others, with its numbers, and counted exactly.

use serde_json::{Value, json};
use test_case::test_case;

use crate::syn::scene::{CLOSED, OPEN, Scene, counts};

fn kinds(record: &Value) -> Vec<(u64, String)> {
    let kinds = record["probes"]["kinds"].as_array().expect("kinds");
    kinds
        .iter()
        .map(|kind| (kind["count"].as_u64().unwrap_or(0), kind["class"].as_str().unwrap_or("").into()))
        .collect()
}

#[test_case(false, OPEN, "syn-ack", 63; "open over v4")]
#[test_case(true, OPEN, "syn-ack", 63; "open over v6")]
#[test_case(false, CLOSED, "rst-ack", 63; "closed over v4")]
#[test_case(true, CLOSED, "rst-ack", 63; "closed over v6")]
fn a_port_is_open_or_closed(six: bool, port: u16, class: &str, ttl: u8) {
    let Some(scene) = Scene::new("probes of a port") else { return };
    let record = scene.record(&[&scene.target(six, port), "-c", "20", "--every", "2ms", "--timeout", "20s"]);
    let fates = counts(&record);
    assert_eq!((fates.scheduled, fates.answered, fates.duplicated), (20, 20, 0), "{fates:?}");
    assert_eq!(kinds(&record), [(20, class.to_owned())]);
    let kind = &record["probes"]["kinds"][0];
    assert_eq!((&kind["ttl"], &kind["from"]), (&json!(ttl), &record["target"]["address"]));
    if port == OPEN {
        assert!(kind["options"].as_str().is_some_and(|options| options.contains("mss")), "{kind}");
    }
    assert_eq!(record["method"]["carrier"], "tcp-syn");
    let told =
        |kind: &str| record["warnings"].as_array().expect("warnings").iter().any(|warning| warning["kind"] == kind);
    // Resets explain why it is no application's round trip.
    let expected = (port == CLOSED, port == OPEN);
    assert_eq!((told("resets-timed"), told("handshake-is-not-the-application")), expected, "{}", record["warnings"]);
}

/// Each probe of these comes from a port that another may have come from a moment before: our kernel's resets, which
/// clear the far side's half-open connections, must not meet the next one.
#[test_case(&["--every", "1ms"]; "a thousand a second")]
#[test_case(&["--every", "1ms", "--window", "1"]; "one at a time")]
#[test_case(&["--rate", "5k/s", "--force"]; "by force")]
fn resets_of_our_own_kernel_spoil_no_probe(schedule: &[&str]) {
    let Some(scene) = Scene::new("probes in quick succession") else { return };
    let target = scene.target(false, OPEN);
    let record = scene.record(&[&[target.as_str(), "-c", "500", "--timeout", "20s"], schedule].concat());
    let fates = counts(&record);
    assert_eq!((fates.answered, fates.refused, fates.lost), (500, 0, 0), "{fates:?}");
    assert_eq!(kinds(&record), [(500, "syn-ack".to_owned())]);
}

const FIREWALL: &str = "table inet truth { chain input { type filter hook input priority 0; \
    tcp dport 81 drop; \
    tcp dport 82 reject with icmpx port-unreachable; \
    tcp dport 83 reject with icmpx admin-prohibited; \
    tcp dport 84 numgen inc mod 2 == 1 drop; }; }";

#[test_case(false, 82, 3, 3; "port unreachable over v4")]
#[test_case(true, 82, 1, 4; "port unreachable over v6")]
#[test_case(false, 83, 3, 13; "prohibited over v4")]
#[test_case(true, 83, 1, 1; "prohibited over v6")]
fn an_icmp_error_refuses_and_says_by_whom(six: bool, port: u16, kind: u8, code: u8) {
    let Some(scene) = Scene::with_rules("probes that ICMP rejects", Scene::far, FIREWALL) else { return };
    // By either engine: many probes out, and one at a time.
    for window in ["0", "1"] {
        let target = scene.target(six, port);
        let words = [&target, "-c", "10", "--every", "5ms", "--window", window, "--timeout", "20s"];
        let record = scene.record(&words);
        let fates = counts(&record);
        assert_eq!((fates.refused, fates.answered, fates.lost), (10, 0, 0), "{fates:?}");
        let told = &record["probes"]["kinds"][0];
        assert_eq!((&told["count"], &told["icmp"]), (&json!(10), &json!([kind, code])), "{told}");
        assert_eq!(told["from"], record["target"]["address"]);
    }
}

#[test]
fn a_hop_that_rejects_is_named() {
    let rules = "table inet box { chain forward { type filter hook forward priority 0; tcp dport 9 reject with icmp net-unreachable; }; }";
    let Some(scene) = Scene::with_rules("probes that a hop rejects", Scene::middle, rules) else { return };
    let record = scene.record(&[&scene.target(false, CLOSED), "-c", "5", "--every", "5ms", "--timeout", "20s"]);
    assert_eq!(counts(&record).refused, 5);
    let told = &record["probes"]["kinds"][0];
    assert_eq!((&told["icmp"], &told["from"]), (&json!([3, 0]), &json!(scene.middle().v4().to_string())), "{told}");
}

#[test]
fn silence_and_every_second_answer_are_counted() {
    let Some(scene) = Scene::with_rules("probes that are dropped", Scene::far, FIREWALL) else { return };
    let probes = |port| {
        let target = scene.target(false, port);
        scene.record(&[&target, "-c", "10", "--every", "20ms", "--timeout", "2s"])
    };
    let fates = counts(&probes(81));
    assert_eq!((fates.lost, fates.answered), (10, 0), "{fates:?}");
    let fates = counts(&probes(84));
    assert_eq!((fates.lost, fates.answered), (5, 5), "{fates:?}");
}

#[test]
fn the_text_tells_the_kinds_and_a_record_is_shown_again() {
    let Some(scene) = Scene::new("the text of probes") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("record.json").to_str().expect("a path in UTF-8").to_owned();
    let mut command = crate::syn::scene::sonde_in(scene.near());
    let target = scene.target(false, CLOSED);
    let output = command.args(["syn", "-q", &target, "-c", "6", "--every", "2ms", "-o", &file]).output();
    let printed = String::from_utf8(output.expect("started").stdout).expect("text");
    for words in ["is closed: 6 of 6 SYNs got RST", "RST+ACK: closed", "RST sender", "who answered is not established"]
    {
        assert!(printed.contains(words), "{words} in {printed}");
    }
    let again = crate::syn::scene::sonde_in(scene.near()).args(["show", &file]).output().expect("started");
    assert_eq!(String::from_utf8(again.stdout).expect("text"), printed);
}

/// SYNs and their answers pass the interface one by one; what is dropped on the way left, and was not answered.
#[test_case(false, OPEN, 100; "open over v4")]
#[test_case(true, OPEN, 100; "open over v6")]
#[test_case(false, CLOSED, 100; "closed")]
#[test_case(false, 84, 50; "every second one dropped")]
fn probes_that_were_counted_crossed_the_cable(six: bool, port: u16, answered: u64) {
    let Some(scene) = Scene::with_rules("verified probes", Scene::far, FIREWALL) else { return };
    let target = scene.target(six, port);
    let record = scene.record(&[&target, "-c", "100", "--every", "2ms", "--timeout", "2s", "--verify"]);
    assert_eq!(counts(&record).answered, answered);
    let checks = record["wire"]["checks"].as_array().unwrap_or_else(|| panic!("{}", record["wire"]));
    let told: Vec<_> = checks.iter().map(|check| (&check["subject"], &check["verdict"], &check["seen"])).collect();
    let verified = json!("verified");
    let expected =
        [(&json!("connections-asked"), &verified, &json!(100)), (&json!("answers"), &verified, &json!(answered))];
    assert_eq!(told, expected, "{}", record["wire"]);
    if port == OPEN {
        assert_eq!(record["wire"]["times"]["of_handshakes"], true);
        assert!(record["wire"]["times"]["count"].as_u64() >= Some(90), "{}", record["wire"]["times"]);
    }
}

/// All probes come from the ports that were named, in turn: the far host answers two of them alone.
#[test]
fn probes_come_from_the_ports_that_were_named() {
    let rules =
        "table ip t { chain i { type filter hook input priority 0; tcp dport 7663 tcp sport != 41000-41001 drop; }; }";
    let Some(scene) = Scene::with_rules("probes from named ports", Scene::far, rules) else { return };
    let target = scene.target(false, OPEN);
    for (ports, answered) in [("41000..41001", 10), ("41000", 10), ("41001..41002", 5), ("41003", 0)] {
        let words = [&target, "--source-port", ports, "-c", "10", "--every", "20ms"];
        assert_eq!(counts(&scene.record(&words)).answered, answered, "{ports}");
    }
}
