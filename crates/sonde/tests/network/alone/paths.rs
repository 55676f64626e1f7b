//! Two equal paths to one host: which connections take which is told as the routing table has it.
//!
//! A group never holds connections of both. That both are told is asked of a run whose own medians lie clearly apart: where a machine stands
//! still again and again, they do not, and a run that shows no difference claims nothing.

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
    // None are sought where many connections changed their times in mid-run.
    let groups = record["outcome"]["flows"]["groups"].as_array().into_iter().flatten().map(flows).collect();
    let sockets = record["outcome"]["sockets"].as_array().expect("sockets").iter();
    (groups, sockets.map(|socket| socket["next_hop"].as_str().unwrap_or_default().to_owned()).collect())
}

/// Holds the groups of a run against the table: none is of both ways, and there are several where the medians of the connections by the detour
/// lie above all others by half of what it takes longer.
fn hold(what: &str, record: &Value, detour_ns: u64) {
    let (groups, hops) = groups(record);
    let is_by_detour = |flow: &usize| hops[*flow].starts_with(FORWARDED);
    // Differences besides the path may part a side further.
    for group in &groups {
        let by_detour = group.iter().filter(|flow| is_by_detour(flow)).count();
        assert!(by_detour == 0 || by_detour == group.len(), "{what}: {groups:?} {hops:?}");
    }
    let each = record["outcome"]["flows"]["each"].as_array().expect("connections");
    let (detour, cable): (Vec<usize>, Vec<usize>) = (0..each.len()).partition(is_by_detour);
    let medians =
        |flows: &[usize]| -> Vec<u64> { flows.iter().filter_map(|flow| each[*flow]["p50_ns"].as_u64()).collect() };
    let apart = medians(&detour).into_iter().min().zip(medians(&cable).into_iter().max());
    tell(&format!(
        "{what}: {} groups, {} of {} by the detour, medians {apart:?}",
        groups.len(),
        detour.len(),
        each.len()
    ));
    match apart {
        Some((detour, cable)) if detour >= cable + detour_ns / 2 && !groups.is_empty() => {
            assert!(groups.len() > 1, "{what}: {:#}", record["outcome"]["flows"]["groups"]);
        }
        Some(_) => {
            testbed::skip::aloud(&format!(
                "{what}: this machine stood still too often for medians to tell paths apart"
            ));
        }
        // All may have drawn one path.
        None => {}
    }
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
        hold(carrier, &document(&paths(&scene, &words)), 5_000_000);
    }
}

#[test]
fn handshakes_tell_the_paths_of_any_open_port_and_the_screen_says_so() {
    let Some(scene) = Scene::undisturbed("the paths of handshakes") else { return };
    let ways = TwoPaths::lay(&scene);
    let _reflector = scene.reflector(&["--listen", HOST]);
    let _forward = Forward::start(&scene, &["--delay", "2ms", "--one-way"]);
    ways.take_both();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("record.json");
    let text = paths(&scene, &["--flows", "32", "-t", "4", "-q", "-o", file.to_str().expect("UTF-8")]).stdout;
    let text = String::from_utf8(text).expect("text");
    tell(&text);
    let record: Value = serde_json::from_slice(&std::fs::read(&file).expect("kept")).expect("JSON");
    hold("handshakes", &record, 2_000_000);
    let (groups, _) = groups(&record);
    let several = groups.len() > 1;
    assert_eq!(text.contains(&format!("{} groups", groups.len())), several, "{text}");
    assert_eq!(text.contains("a run over one connection measures one group"), several, "{text}");
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
    assert_eq!(record["outcome"]["flows"]["each"].as_array().expect("connections").len(), 8);
    hold("by default", &record, 5_000_000);
    for port in ["7664", "7665"] {
        let text = String::from_utf8(rtt(&["--port", port, "-q"]).stdout).expect("text");
        assert!(text.contains("scope   this run and its one connection (source port "), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
