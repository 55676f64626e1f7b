//! Effects of a firewall on a measurement, and their report: bounded in time, named, on the right side.

use measure::unit::{Instant, Nanos};
use serde_json::Value;
use test_case::test_case;

use crate::scene::{Scene, counts, document, installed, run, sonde_in};

/// A far host whose firewall does `rule` to what comes in.
fn behind(what: &str, rule: &str) -> Option<Scene> {
    let scene = installed("nft", "nftables", what).then(|| Scene::beside(what))??;
    let rules = format!("table inet truth {{ chain input {{ type filter hook input priority 0; {rule}; }}; }}");
    run(scene.far(), &["nft", &rules]);
    Some(scene)
}

/// No patience of the program is as long, and without one it would wait for ever.
const BOUND: Nanos = Nanos::secs(60);

/// The document of a measurement that finds nothing, in bounded time.
fn in_vain(scene: &Scene, words: &[&str]) -> Value {
    let start: Instant = endpoint::clock::Monotonic::now();
    let output = scene.rtt(words);
    let took = endpoint::clock::Monotonic::now().since(start).expect("a clock that goes on");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(took < BOUND, "took {took}");
    document(&output)
}

#[test_case(false; "v4")]
#[test_case(true; "v6")]
fn udp_blocked_where_tcp_gets_through_is_told_as_that(six: bool) {
    let Some(scene) = behind("a firewall against UDP", "udp dport 7663 drop") else { return };
    let _reflector = scene.reflector(&[]);
    let target = scene.target(six);
    let error = &in_vain(&scene, &[&target, "--udp", "-c", "10"])["error"];
    assert_eq!(error["side"], "path", "{error}");
    assert!(error["what"].as_str().is_some_and(|what| what.contains("UDP")), "{error}");
    let hint = error["hint"].as_str().expect("a hint");
    for word in ["TCP to this port works", "allow UDP", "firewall"] {
        assert!(hint.contains(word), "{word} in {hint}");
    }
    let record = scene.record(&[&target, "--tcp", "-c", "10", "--warm-up", "0"]);
    assert_eq!(counts(&record).answered, 10);
}

#[test_case(false, "icmp type echo-request drop"; "v4")]
#[test_case(true, "icmpv6 type echo-request drop"; "v6")]
fn icmp_blocked_is_lost_to_the_last(six: bool, rule: &str) {
    let Some(scene) = behind("a firewall against ICMP", rule) else { return };
    let words = [&scene.target(six), "--icmp", "-c", "5", "--timeout", "100ms"];
    let record = in_vain(&scene, &words);
    let fates = counts(&record);
    assert_eq!((fates.scheduled, fates.lost), (5, 5), "{fates:?}");
    let response = &record["outcome"]["response"];
    assert_eq!((&response["min_ns"], &response["mean_ns"]), (&Value::Null, &Value::Null), "no value is no zero");
    let warnings = record["warnings"].as_array().expect("warnings");
    assert!(warnings.iter().any(|warning| warning["kind"] == "lost"), "{warnings:?}");
}

#[test_case(false; "v4")]
#[test_case(true; "v6")]
fn tcp_rejected_is_refused(six: bool) {
    let rule = "tcp dport 7663 reject with tcp reset";
    let Some(scene) = behind("a firewall that rejects TCP", rule) else { return };
    let _reflector = scene.reflector(&[]);
    let target = scene.target(six);
    let error = &in_vain(&scene, &[&target, "--tcp", "-c", "5"])["error"];
    assert!(error["what"].as_str().is_some_and(|text| text.contains("refused")), "{error}");
    let record = in_vain(&scene, &[&target, "--connect", "-c", "5"]);
    assert_eq!(counts(&record).refused, 5);
    assert_eq!(refusal(&record)["by"], "reset");
}

fn refusal(record: &Value) -> &Value {
    let warnings = record["warnings"].as_array().expect("warnings");
    warnings.iter().find(|warning| warning["kind"] == "refused").unwrap_or_else(|| panic!("{warnings:?}"))
}

#[test]
fn who_refuses_a_handshake_is_told() {
    let rule = "tcp dport 7663 reject with icmpx port-unreachable";
    let Some(scene) = behind("a firewall that rejects by ICMP", rule) else { return };
    // IPv4: over a cable without delay an ICMPv6 error meets a socket that is still in use, and the kernel keeps it.
    let words = [&scene.target(false), "--connect", "-c", "3", "--warm-up", "0"];
    let record = in_vain(&scene, &words);
    let told = refusal(&record);
    assert_eq!((&told["by"], &told["count"], &told["sent"]), (&"icmp-error".into(), &3.into(), &3.into()), "{told}");
    let rules = "table inet own { chain output { type filter hook output priority 0; tcp dport 7663 reject; }; }";
    run(scene.near(), &["nft", rules]);
    assert_eq!(refusal(&in_vain(&scene, &words))["by"], "our-kernel");
}

#[test_case("--connect"; "handshakes")]
#[test_case("--icmp"; "echoes")]
#[test_case("--tcp"; "a session")]
fn without_a_route_nothing_is_measured(carrier: &str) {
    let Some(scene) = Scene::beside("an address without a route") else { return };
    let error = &in_vain(&scene, &["198.51.100.1:9", carrier, "-c", "3"])["error"];
    assert_eq!(error["side"], "path", "{error}");
    assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("routing table")), "{error}");
}

/// The data would not get through either; that it is the control connection which fails says that it goes the same way.
#[test_case(&[]; "with a reflector")]
#[test_case(&["--peer", "netperf"]; "with a netserver")]
fn the_control_connection_goes_by_the_interface_too(words: &[&str]) {
    let Some(scene) = Scene::beside("an interface that does not lead there") else { return };
    let _reflector = scene.reflector(&["--netperf"]);
    let target = scene.target(false);
    let name = near_interface(&scene);
    let through = [&[&*target, "-c", "5", "--interface", &name], words].concat();
    assert_eq!(counts(&scene.record(&through)).answered, 5);
    let astray = [&[&*target, "-c", "5", "--interface", "lo"], words].concat();
    let error = &in_vain(&scene, &astray)["error"];
    let what = error["what"].as_str().unwrap_or_default();
    assert!(what.contains("cannot open the control connection"), "{error}");
}

/// The interface by which the near side reaches the far one.
fn near_interface(scene: &Scene) -> String {
    let route = run(scene.near(), &["ip", "route", "get", &scene.target(false)]);
    let mut words = route.split_whitespace().skip_while(|word| *word != "dev");
    words.nth(1).expect("a device").to_owned()
}

#[test_case(false; "v4")]
#[test_case(true; "v6")]
fn tcp_dropped_is_silence(six: bool) {
    let Some(scene) = behind("a firewall that drops TCP", "tcp dport 7663 drop") else { return };
    let _reflector = scene.reflector(&[]);
    let target = scene.target(six);
    let error = &in_vain(&scene, &[&target, "--tcp", "-c", "5"])["error"];
    assert!(error["hint"].as_str().is_some_and(|text| text.contains("firewall")), "{error}");
    let record = in_vain(&scene, &[&target, "--connect", "-c", "5", "--timeout", "100ms"]);
    assert_eq!(counts(&record).lost, 5);
}

#[test_case(&["--tcp"]; "an error")]
#[test_case(&["--connect", "--timeout", "100ms"]; "a record of nothing answered")]
fn a_port_that_was_read_as_part_of_an_address_is_asked_for(words: &[&str]) {
    let Some(scene) = Scene::beside("a port behind an address without brackets") else { return };
    let (far, host) = (scene.target(true), format!("{}:7663", scene.target(true)));
    let mut command = sonde_in(scene.near());
    let output = command.args(["rtt", &host, "-c", "1", "--warm-up", "0"]).args(words).output().expect("started");
    let said = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(1), "{said}");
    let hint = format!("try:   {host} was read as one IPv6 address: where 7663 is the port, write [{far}]:7663");
    assert!(said.lines().any(|line| line.starts_with(&hint)), "{said}");
}
