//! Two equal paths to one host: which connections take which is told as the routing table has it.

use std::process::Output;

use serde_json::Value;

use crate::paths::{HOST, TwoPaths};
use crate::plant::{FORWARDED, Forward};
use crate::scene::{Scene, document, sonde_in, tell};

fn paths(scene: &Scene, words: &[&str]) -> Output {
    sonde_in(scene.near()).args([&["paths", HOST], words].concat()).output().expect("started")
}

/// The groups of connections, and the next hop of each connection by the routing table.
fn groups(record: &Value) -> (Vec<Vec<usize>>, Vec<String>) {
    let flows = |group: &Value| -> Vec<usize> {
        let flows = group["flows"].as_array().expect("flows").iter();
        flows.map(|flow| usize::try_from(flow.as_u64().expect("a number")).expect("small")).collect()
    };
    let groups = record["outcome"]["flows"]["groups"].as_array().expect("groups").iter().map(flows).collect();
    let sockets = record["outcome"]["sockets"].as_array().expect("sockets").iter();
    (groups, sockets.map(|socket| socket["next_hop"].as_str().unwrap_or_default().to_owned()).collect())
}

#[test]
fn connections_are_grouped_as_the_routing_table_sends_them() {
    let Some(scene) = Scene::undisturbed("which connections take which path") else { return };
    let ways = TwoPaths::lay(&scene);
    let _reflector = scene.reflector(&["--listen", HOST]);
    let _forward = Forward::start(&scene, &["--delay", "5ms", "--one-way"]);
    ways.take_both();
    for carrier in ["--udp", "--tcp"] {
        let words = [carrier, "--flows", "16", "-t", "3", "--source-port", "40000..40999", "--json", "-q"];
        let record = document(&paths(&scene, &words));
        let (groups, hops) = groups(&record);
        let detour = |flow: &usize| hops[*flow].starts_with(FORWARDED);
        tell(&format!("{carrier}: {} groups, {} of 16 by the detour", groups.len(), (0..16).filter(detour).count()));
        assert!(groups.len() > 1, "{:#}", record["outcome"]["flows"]["groups"]);
        // A difference besides the path may part a side further; no group may hold connections of both.
        for group in &groups {
            let by_detour = group.iter().filter(|flow| detour(flow)).count();
            assert!(by_detour == 0 || by_detour == group.len(), "{carrier}: {groups:?} {hops:?}");
        }
    }
}

#[test]
fn handshakes_tell_the_paths_of_any_open_port_and_the_screen_says_so() {
    let Some(scene) = Scene::undisturbed("the paths of handshakes") else { return };
    let ways = TwoPaths::lay(&scene);
    let _reflector = scene.reflector(&["--listen", HOST]);
    let _forward = Forward::start(&scene, &["--delay", "2ms", "--one-way"]);
    ways.take_both();
    let text = paths(&scene, &["--flows", "32", "-t", "4", "-q"]).stdout;
    let text = String::from_utf8(text).expect("text");
    tell(&text);
    assert!(text.contains("2 groups"), "{text}");
    assert!(text.contains("a run over one connection measures one group"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_run_of_which_nothing_else_is_said_sees_both_paths_and_one_connection_says_that_it_is_one() {
    let Some(scene) = Scene::undisturbed("several connections by default") else { return };
    let ways = TwoPaths::lay(&scene);
    let _reflector = scene.reflector(&["--listen", HOST]);
    let _few = scene.reflector(&["--listen", HOST, "--port", "7664", "--max-connections", "4"]);
    let _spinning = scene.reflector(&["--listen", HOST, "--port", "7665", "--wait", "spin"]);
    let _forward = Forward::start(&scene, &["--delay", "5ms", "--one-way"]);
    ways.take_both();
    let rtt = |words: &[&str]| {
        sonde_in(scene.near()).args([&["rtt", HOST, "-t", "2"], words].concat()).output().expect("started")
    };
    let record = document(&rtt(&["--source-port", "40000..40999", "--json", "-q"]));
    let (groups, hops) = groups(&record);
    assert_eq!(record["outcome"]["flows"]["each"].as_array().expect("connections").len(), 8);
    let by_detour = hops.iter().filter(|hop| hop.starts_with(FORWARDED)).count();
    // All eight may have drawn one path: once in 128 times.
    assert_eq!(groups.len() > 1, (1..8).contains(&by_detour), "{groups:?} {hops:?}");
    for port in ["7664", "7665"] {
        let text = String::from_utf8(rtt(&["--port", port, "-q"]).stdout).expect("text");
        assert!(text.contains("scope   this run and its one connection (source port "), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
