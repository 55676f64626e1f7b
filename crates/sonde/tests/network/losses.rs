//! Losses agree exactly with the count of who made them, and stand under the direction in which they happened.

use lab::namespace::Namespace;
use serde_json::Value;
use test_case::test_case;

use crate::scene::{Scene, counts, document, installed, number, run};

/// Recorded datagrams of the native protocol alone: a flag of octet 25, behind the 8 of UDP, marks the others.
const RECORDED: &str = "@th,264,8 & 4 == 0";

/// Makes `namespace` drop each tenth of the incoming packets that match.
fn drop_each_tenth(namespace: &Namespace, matching: &str) {
    let rules = format!(
        "table inet truth {{ 
         counter dropped {{ }}
         chain input {{ type filter hook input priority 0;
         {matching} numgen inc mod 10 == 0 counter name dropped drop; }}; }}"
    );
    run(namespace, &["nft", &rules]);
}

/// Packets that it has dropped.
fn dropped(namespace: &Namespace) -> u64 {
    let text = run(namespace, &["nft", "list", "counter", "inet", "truth", "dropped"]);
    let mut words = text.split_whitespace().skip_while(|word| *word != "packets");
    words.nth(1).and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("{text}"))
}

fn scene(what: &str) -> Option<Scene> {
    installed("nft", "nftables", what).then(|| Scene::beside(what))?
}

/// Asserts the record's account of losses that somebody else has counted, each tenth of `sent`.
fn agrees(record: &Value, sent: u64, dropped: u64) {
    let fates = counts(record);
    assert_eq!(dropped, sent / 10);
    assert_eq!((fates.scheduled, fates.lost, fates.late), (sent, dropped, 0), "{fates:?}");
    assert_eq!(fates.answered, sent - dropped);
    let loss = &record["outcome"]["loss"];
    assert_eq!(loss["ratio"], 0.1);
    assert_eq!((loss["periods"].as_u64(), loss["longest_period"].as_u64()), (Some(dropped), Some(1)), "{loss}");
}

/// An open loop, and a closed one that waits for each lost reply: how many, and how. No machine is so busy that a reply
/// which was not dropped takes as long as the timeout.
const LOOPS: [(u64, &[&str]); 2] =
    [(500, &["--every", "1ms", "--timeout", "5s"]), (50, &["--window", "1", "--timeout", "2s"])];

#[test_case(LOOPS[0], false; "open v4")]
#[test_case(LOOPS[0], true; "open v6")]
#[test_case(LOOPS[1], false; "closed v4")]
fn losses_on_the_way_there((sent, method): (u64, &[&str]), six: bool) {
    let Some(scene) = scene("counted losses on the way there") else { return };
    let _reflector = scene.reflector(&[]);
    drop_each_tenth(scene.far(), &format!("udp dport 7663 {RECORDED}"));
    let words = [&scene.target(six), "--udp", "-c", &sent.to_string(), "--warm-up", "20ms"];
    let record = scene.record(&[&words[..], method].concat());
    agrees(&record, sent, dropped(scene.far()));
    assert_eq!(number(&record, "/outcome/loss/peer_received"), sent - sent / 10);
}

#[test_case(LOOPS[0], false; "open v4")]
#[test_case(LOOPS[1], true; "closed v6")]
fn losses_on_the_way_back((sent, method): (u64, &[&str]), six: bool) {
    let Some(scene) = scene("counted losses on the way back") else { return };
    let _reflector = scene.reflector(&[]);
    drop_each_tenth(scene.near(), &format!("udp sport 7663 {RECORDED}"));
    let words = [&scene.target(six), "--udp", "-c", &sent.to_string(), "--warm-up", "20ms"];
    let record = scene.record(&[&words[..], method].concat());
    agrees(&record, sent, dropped(scene.near()));
    assert_eq!(number(&record, "/outcome/loss/peer_received"), sent, "all of them came there");
}

/// Over TCP nothing is lost, and replies are late: that the path loses is said all the same.
#[test]
fn what_tcp_sends_again_is_said_beside_none_lost() {
    let Some(scene) = scene("segments sent again") else { return };
    let _reflector = scene.reflector(&[]);
    drop_each_tenth(scene.far(), "tcp dport 7663 tcp flags & psh == psh");
    let words = ["--tcp", "-c", "100", "--connections", "1", "--warm-up", "0", "--timeout", "30s"];
    let record = scene.record(&[&[scene.target(false).as_str()], &words[..]].concat());
    let fates = counts(&record);
    assert_eq!((fates.answered, fates.lost, fates.late), (100, 0, 0), "{fates:?}");
    let warnings = record["warnings"].as_array().expect("warnings");
    let told = warnings.iter().find(|warning| warning["kind"] == "retransmitted").expect("told");
    let (segments, again) = (number(told, "/segments"), number(&record, "/ours/counters/Tcp.RetransSegs"));
    // Some of the dropped ones were of the control connection.
    let dropped = dropped(scene.far());
    assert!(dropped >= 10 && segments >= dropped / 2, "{segments} sent again, {dropped} dropped");
    assert!(segments <= again, "{segments} of the sockets, {again} of the host");
}

#[test_case(&["--window", "1"]; "a closed loop")]
#[test_case(&["--every", "1ms"]; "an open loop")]
fn a_path_that_goes_dark_is_no_success(method: &[&str]) {
    let Some(scene) = scene("a path that goes dark") else { return };
    let _reflector = scene.reflector(&[]);
    let rules = "table inet truth { chain input { type filter hook input priority 0;
        udp dport 7663 quota over 60 kbytes drop; }; }";
    run(scene.far(), &["nft", rules]);
    let target = scene.target(false);
    let words = [&[&target, "--udp", "-t", "5s", "--warm-up", "0"], method].concat();
    let output = scene.rtt(&words);
    let record: Value = document(&output);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(record["ended"]["how"], "complete", "the peer lives, and its control connection: {}", record["ended"]);
    let dark = &record["outcome"]["dark"];
    assert_eq!((dark["to_the_end"].as_bool(), dark["spells"].as_u64()), (Some(true), Some(1)), "{dark}");
    assert!(dark["share"].as_f64().is_some_and(|share| share > 0.5), "{dark}");
    assert_eq!(record["outcome"]["steady"], "not-found", "no steady state after that");
    let kinds: Vec<&str> =
        record["warnings"].as_array().expect("warnings").iter().filter_map(|w| w["kind"].as_str()).collect();
    assert!(kinds.contains(&"dark"), "{kinds:?}");
}

/// The firewall of the peer's host resets the connection of the data in the middle of the run; the peer's program lives, and so does
/// its control connection.
#[test]
fn a_reset_from_a_box_is_not_laid_at_the_peers_door() {
    let Some(scene) = scene("a reset from a box") else { return };
    let _reflector = scene.reflector(&[]);
    let rules = "table inet truth { chain input { type filter hook input priority 0;
        tcp dport 7663 ct original packets > 2000 reject with tcp reset; }; }";
    run(scene.far(), &["nft", rules]);
    let output = scene.rtt(&[&scene.target(false), "--tcp", "-t", "20s", "--warm-up", "0"]);
    let record: Value = document(&output);
    assert_eq!(
        (output.status.code(), record["ended"]["how"].as_str()),
        (Some(1), Some("peer-lost")),
        "{}",
        record["ended"]
    );
    let reason = record["ended"]["reason"].as_str().expect("a reason");
    assert_eq!(reason, "the connection was reset, but the peer's program still answers");
}

#[test_case(false, "icmp type echo-request"; "v4")]
#[test_case(true, "icmpv6 type echo-request"; "v6")]
fn losses_of_echoes(six: bool, matching: &str) {
    let Some(scene) = scene("counted losses of echoes") else { return };
    drop_each_tenth(scene.far(), matching);
    let words = [&scene.target(six), "--icmp", "-c", "500", "--warm-up", "0", "--every", "1ms", "--timeout", "5s"];
    let record = scene.record(&words);
    agrees(&record, 500, dropped(scene.far()));
    assert_eq!(record["outcome"]["loss"]["peer_received"], Value::Null, "a kernel does not tell");
}

#[test_case(false; "v4")]
#[test_case(true; "v6")]
fn a_lost_handshake_is_lost_and_the_next_is_none_of_its_business(six: bool) {
    let Some(scene) = scene("counted losses of handshakes") else { return };
    let _listener = scene.reflector(&["--port", "9999"]);
    drop_each_tenth(scene.far(), "tcp dport 9999 tcp flags & (syn | ack) == syn");
    let words = ["--port", "9999", "--connect", "-c", "50", "--warm-up", "0", "--timeout", "800ms"];
    let record = scene.record(&[&[scene.target(six).as_str()], &words[..]].concat());
    let fates = counts(&record);
    assert_eq!((dropped(scene.far()), fates.lost, fates.late, fates.answered), (5, 5, 0, 45), "{fates:?}");
}

#[test]
fn what_our_own_socket_has_no_room_for_is_lost_as_the_kernel_counts_it() {
    let Some(scene) = Scene::beside("losses in a full receive buffer") else { return };
    let _reflector = scene.reflector(&[]);
    let shape = ["--every", "20ms", "--burst", "200", "-c", "2000", "--receive-buffer", "2304", "--timeout", "5s"];
    let record = scene.record(&[&[&scene.target(false), "--udp", "--warm-up", "0"], &shape[..]].concat());
    let fates = counts(&record);
    assert!(fates.lost > 0, "200 replies at once do not fit the smallest buffer: {fates:?}");
    // A reflector that was kept from running for two bursts has had no room either.
    let there = without_room(scene.far());
    let here = fates.lost - there;
    assert_eq!(number(&record, "/ours/counters/Udp.RcvbufErrors"), here, "{there}");
    assert_eq!(number(&record, "/ours/counters/Udp.InDatagrams"), fates.answered);
    assert_eq!(number(&record, "/outcome/loss/peer_received"), 2_000 - there, "they came there");
    assert_eq!(number(&record, "/outcome/sockets/0/dropped"), here);
    let warnings = record["warnings"].as_array().expect("warnings");
    let lost = warnings.iter().find(|warning| warning["kind"] == "lost").expect("told");
    assert_eq!(lost["dropped_by_us"], here, "{lost}");
}

/// Datagrams for which a socket in `namespace` had no room, by the kernel's count.
pub fn without_room(namespace: &Namespace) -> u64 {
    let text = run(namespace, &["cat", "/proc/net/snmp"]);
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, counts) = (lines.next().expect("names"), lines.next().expect("counts"));
    let mut fields = names.split_whitespace().zip(counts.split_whitespace());
    fields.find(|(name, _)| *name == "RcvbufErrors").and_then(|(_, count)| count.parse().ok()).expect("that count")
}
