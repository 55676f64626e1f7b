//! Worlds of other people's making: a route that moves while it is measured, a box before one port, a limit for one protocol.
//!
//! And a series of many more of them, of which each command is held against what is so: [`series`].

mod judge;
mod place;
mod rows;
mod series;

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;

use crate::limits::plant::{FORWARDED, Forward};
use crate::scene::{Reflector, Scene, document, installed, number, run, sonde_in};

/// A hundred requests a second in the first two seconds and in all: the route moves when the second one has been told.
#[test]
fn a_route_that_moves_in_the_middle_is_told_with_both_levels() {
    let Some(scene) = Scene::undisturbed("a route that moves") else { return };
    let (near, far) = (scene.near(), scene.far());
    let host = "10.9.9.9";
    for namespace in [near, far] {
        run(namespace, &["sysctl", "-qw", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0"]);
    }
    run(far, &["ip", "address", "add", &format!("{host}/32"), "dev", "lo"]);
    let _forward = Forward::start(&scene, &["--delay", "20ms", "--one-way"]);
    let _reflector = scene.reflector(&["--listen", host]);
    run(near, &["ip", "route", "add", host, "via", &far.v4().to_string()]);
    let words =
        ["rtt", host, "--udp", "--every", "10ms", "-c", "400", "--warm-up", "0", "--no-stamps", "--json-lines", "-q"];
    let mut child = sonde_in(near).args(words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("started");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines().map(|line| line.expect("text"));
    let is_second = |line: &String| serde_json::from_str::<Value>(line).is_ok_and(|line| line["event"] == "second");
    assert_eq!(lines.by_ref().filter(is_second).take(2).count(), 2);
    run(near, &["ip", "route", "replace", host, "via", FORWARDED]);
    let last = lines.last().expect("the end");
    assert!(child.wait().expect("ended").success());
    let end: Value = serde_json::from_str(&last).expect("JSON");
    let record = &end["data"];
    let change = &record["outcome"]["change"];
    assert!(change["to_ns"].is_null(), "{change}");
    // A route takes over within moments; how late the second was told is the machine's.
    assert!((1_900_000_000..3_500_000_000).contains(&number(change, "/from_ns")), "{change}");
    assert!(number(change, "/before_ns") < 10_000_000 && number(change, "/within_ns") > 20_000_000, "{change}");
    let warnings = record["warnings"].as_array().expect("warnings");
    assert!(warnings.iter().any(|warning| warning["kind"] == "changed"), "{warnings:?}");
}

#[test]
fn of_two_open_ports_the_one_that_a_nearer_box_answers_is_found() {
    let what = "an open port that a nearer box answers";
    let Some(scene) = installed("nft", "nftables", what).then(|| Scene::beside(what)).flatten() else { return };
    let _forward = Forward::start(&scene, &["--delay", "5ms"]);
    let _reflector = scene.reflector(&[]);
    let near = scene.near().v4().to_string();
    let _box = Reflector::start(scene.near(), &["--open", "--listen", &near]);
    let rule = format!("ip daddr {FORWARDED} tcp dport 7664 dnat to {near}:7663;");
    run(scene.near(), &["nft", &format!("table ip t {{ chain o {{ type nat hook output priority -100; {rule} }}; }}")]);
    let compared = |port: &str, with: &str| {
        let words = ["syn", FORWARDED, "--port", port, "--compare-port", with, "-c", "10", "--json", "-q"];
        let record = document(&sonde_in(scene.near()).args(words).output().expect("started"));
        let origin = &record["probes"]["origin"];
        assert_eq!(origin["both_accept"], true, "{origin}");
        origin["verdict"].clone()
    };
    assert_eq!(compared("7664", "7663"), "another-hop");
    assert_eq!(compared("7663", "7664"), "another-hop");
}

#[test]
fn a_limit_for_echo_alone_is_no_loss_of_the_path() {
    let what = "a limit for ICMP";
    let Some(scene) = installed("nft", "nftables", what).then(|| Scene::beside(what)).flatten() else { return };
    let rule = "icmp type echo-request limit rate over 2/second burst 3 packets drop;";
    run(scene.far(), &["nft", &format!("table ip t {{ chain i {{ type filter hook input priority 0; {rule} }}; }}")]);
    let _reflector = scene.reflector(&[]);
    let output = sonde_in(scene.near()).args([&scene.target(false), "--json", "-q"]).output().expect("started");
    let look = &document(&output)["look"];
    let legs = look["legs"].as_array().expect("legs");
    let echo = legs.iter().position(|leg| leg["carrier"] == "icmp").expect("echo");
    let findings = look["judgement"]["findings"].as_array().expect("findings");
    let of = serde_json::json!({ "kind": "losses", "leg": echo });
    let found = findings.iter().find(|finding| finding["of"] == of);
    assert_eq!(found.map(|finding| &finding["cause"]), Some(&"loses-alone".into()), "{:#}", look["judgement"]);
}
