//! Worlds of other people's making: a box before one port, a limit for one protocol.
//!
//! And a series of many more of them, of which each command is held against what is so: [`series`].

mod judge;
mod place;
mod rows;
mod series;

use std::net::Ipv4Addr;

use crate::plant::{FORWARDED, Forward};
use crate::scene::{Reflector, Scene, document, installed, run, sonde_in};

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

#[test]
fn answers_from_another_address_are_said_to_come_from_there() {
    let what = "answers over UDP from another address";
    let Some(scene) = installed("nft", "nftables", what).then(|| Scene::beside(what)).flatten() else { return };
    let other = Ipv4Addr::from_bits(scene.far().v4().to_bits() ^ 4);
    // Untracked, or the kernel would put the right address back.
    let out = "chain o { type filter hook output priority -300; udp sport 7663 notrack; };";
    let back = format!("chain p {{ type filter hook postrouting priority 0; udp sport 7663 ip saddr set {other}; }};");
    run(scene.far(), &["nft", &format!("table ip t {{ {out} {back} }}")]);
    let _reflector = scene.reflector(&[]);
    let target = scene.target(false);
    for command in ["rtt", "throughput"] {
        let output = sonde_in(scene.near()).args([command, &target, "--udp", "-t", "1"]).output().expect("started");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(&format!("{other}:7663 answered instead")), "{said}");
    }
}
