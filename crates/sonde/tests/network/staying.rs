//! An agent that stays: what it lost agrees exactly with the count of who made it, and stands under the direction in which it happened.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use lab::namespace::Namespace;
use serde_json::{Value, json};

use crate::scene::{Scene, installed, run};

/// Far above what any of this takes.
const PATIENCE: Duration = Duration::from_secs(90);
/// Recorded datagrams of the native protocol alone.
const RECORDED: &str = "@th,264,8 & 4 == 0";

/// An agent in a namespace, and who speaks to it.
struct Agent {
    staying: Child,
    attached: Child,
    orders: ChildStdin,
    told: Receiver<Value>,
    folder: tempfile::TempDir,
}

impl Agent {
    fn start(namespace: &Namespace) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let command = |words: &[&str]| {
            let mut command = namespace.command(assert_cmd::cargo::cargo_bin!("sonde"));
            command.arg("agent").args(words).arg("--state").arg(folder.path());
            command
        };
        let staying = command(&["--monitor"]).spawn().unwrap();
        let socket = folder.path().join("agent.sock");
        testbed::wait::until("the agent listens", || std::os::unix::net::UnixStream::connect(&socket).is_ok());
        let mut attached = command(&["--attach"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (orders, out) = (attached.stdin.take().unwrap(), BufReader::new(attached.stdout.take().unwrap()));
        let (tell, told) = channel();
        thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let _ = tell.send(serde_json::from_str(&line).unwrap());
            }
        });
        Self { staying, attached, orders, told, folder }
    }

    fn ask(&mut self, cells: &Value) {
        let order = json!({"do": "assign", "revision": 1, "host": "near", "port": null, "key": null,
            "timeout_ns": 2_000_000_000_u64, "cells": cells});
        writeln!(self.orders, "{order}").unwrap();
    }

    /// The next second of its one cell.
    fn second(&self) -> Value {
        loop {
            let told = self.told.recv_timeout(PATIENCE).expect("it tells more than that");
            if told["told"] == "beat" && !told["cells"].as_array().unwrap().is_empty() {
                return told["cells"][0].clone();
            }
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        for child in [&mut self.attached, &mut self.staying] {
            let _ = child.kill();
            let _ = child.wait();
        }
        assert!(self.folder.path().exists());
    }
}

/// Makes `namespace` drop the incoming packets that match.
fn drop_those(namespace: &Namespace, matching: &str) {
    let rules = format!(
        "table inet truth {{ 
         counter dropped {{ }}
         chain input {{ type filter hook input priority 0;
         {matching} counter name dropped drop; }}; }}"
    );
    run(namespace, &["nft", &rules]);
}

/// Drops no more; how many were.
fn dropped(namespace: &Namespace) -> u64 {
    run(namespace, &["nft", "flush", "chain", "inet", "truth", "input"]);
    let text = run(namespace, &["nft", "list", "counter", "inet", "truth", "dropped"]);
    let mut words = text.split_whitespace().skip_while(|word| *word != "packets");
    words.nth(1).and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("{text}"))
}

fn count(cell: &Value, fate: &str) -> u64 {
    cell[fate].as_u64().unwrap_or(0)
}

#[test]
fn losses_of_both_ways_agree_with_who_made_them() {
    let what = "counted losses of an agent that stays";
    let Some(scene) = installed("nft", "nftables", what).then(|| Scene::beside(what)).flatten() else { return };
    let _reflector = scene.reflector(&[]);
    let mut agent = Agent::start(scene.near());
    agent.ask(
        &json!([{"to": "far", "address": scene.target(false), "port": 7663, "over": "udp", "every_ns": 5_000_000}]),
    );
    // Nothing is lost before it is planted, and the reflector's count has begun.
    while agent.second()["times_ns"].as_array().map_or(0, Vec::len) < 150 {}
    drop_those(scene.far(), &format!("udp dport 7663 {RECORDED} numgen inc mod 10 == 0"));
    drop_those(scene.near(), &format!("udp sport 7663 {RECORDED} numgen inc mod 7 == 0"));
    let (mut out, mut back, mut lost, mut clean) = (0, 0, 0, 0);
    let mut add = |cell: &Value| {
        out += count(cell, "lost_out");
        back += count(cell, "lost_back");
        lost += count(cell, "lost");
        clean = if count(cell, "lost") == 0 { clean + 1 } else { 0 };
        (out, back, lost, clean)
    };
    while add(&agent.second()).2 < 150 {}
    let planted = (dropped(scene.far()), dropped(scene.near()));
    // All that was lost is told once a whole second without a loss was.
    let (out, back, lost, _) = loop {
        let sums = add(&agent.second());
        if sums.3 >= 2 {
            break sums;
        }
    };
    assert_eq!((out, back, lost), (planted.0, planted.1, planted.0 + planted.1));
    assert!(planted.0 >= 40 && planted.1 >= 60, "{planted:?}");
}

#[test]
fn a_silent_peer_loses_them_and_one_that_is_back_is_measured_again() {
    let what = "an outage seen by an agent that stays";
    let Some(scene) = installed("nft", "nftables", what).then(|| Scene::beside(what)).flatten() else { return };
    let _reflector = scene.reflector(&[]);
    let mut agent = Agent::start(scene.near());
    agent.ask(
        &json!([{"to": "far", "address": scene.target(false), "port": 7663, "over": "udp", "every_ns": 100_000_000}]),
    );
    let answered = |cell: &Value| cell["times_ns"].as_array().map_or(0, |times| times.len() as u64);
    while answered(&agent.second()) < 9 {}
    drop_those(scene.far(), "");
    let mut second = agent.second();
    while count(&second, "lost") < 9 {
        second = agent.second();
    }
    let fates = ["late", "refused", "corrupt", "send_failed", "lost_out", "lost_back"];
    assert!(fates.iter().all(|fate| count(&second, fate) == 0), "{second}: nobody could tell which way");
    dropped(scene.far());
    while answered(&agent.second()) < 9 {}
}
