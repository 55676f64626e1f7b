//! A socket whose buffer the interface empties more slowly than messages are due: what held the load back is the socket, not
//! the sender, and where nothing holds it back nobody says so.

use serde_json::Value;
use test_case::test_case;

use crate::scene::{Scene, counts, document, installed, number, run, sonde_in};

/// Frames a second that our interface lets through; twice as many messages are due.
const FRAMES: u64 = 500;
/// A message of 1000 bytes with the heads of UDP, IPv4 and Ethernet.
const FRAME: u64 = 1_000 + 8 + 20 + 14;

/// The record of a load of twice the frames, with these words.
fn load(scene: &Scene, words: &[&str]) -> Value {
    let rate = (2 * FRAMES).to_string();
    let target = scene.target(false);
    let fixed = ["load", "--json", "-q", &target, "--size", "1000", "--rate", &rate, "-t", "2", "--warm-up", "0"];
    document(&sonde_in(scene.near()).args(fixed).args(words).output().expect("started"))
}

fn warning<'a>(record: &'a Value, kind: &str) -> Option<&'a Value> {
    record["warnings"].as_array().expect("warnings").iter().find(|warning| warning["kind"] == kind)
}

#[test_case(&[]; "one by one")]
#[test_case(&["--batch", "8"]; "several in a call")]
#[test_case(&["--segments", "8"]; "in segments")]
fn a_full_socket_is_named_and_an_empty_one_is_not(words: &[&str]) {
    let what = "a socket that is full";
    if !installed("tc", "iproute2", what) {
        return;
    }
    let Some(scene) = Scene::beside(what) else { return };
    let _reflector = scene.reflector(&[]);
    // Replies are few, so that it is no cap that holds back.
    let words = [&["--reply-every", "100", "--send-buffer", "64KiB"], words].concat();
    let free = load(&scene, &words);
    assert_eq!(number(&free, "/outcome/slip/held_by_socket_ns"), 0, "there was room");
    let held = |record: &Value| Some(warning(record, "rate-not-achieved")?["held_back_by_socket"] == true);
    assert_ne!(held(&free), Some(true), "{}", free["warnings"]);
    // Its queue holds more than the socket's buffer, which so is what is full.
    let (rate, burst) = (format!("{}bit", FRAMES * FRAME * 8), (9 * FRAME).to_string());
    let tbf = ["tc", "qdisc", "add", "dev", scene.near().interface(), "root", "tbf", "rate", &rate, "burst", &burst];
    run(scene.near(), &[&tbf[..], &["limit", "4000000"]].concat());
    let full = load(&scene, &words);
    assert_eq!(held(&full), Some(true), "{}", full["warnings"]);
    assert_eq!(warning(&full, "behind-schedule"), None, "that is not ours");
    let waited = number(&full, "/outcome/slip/held_by_socket_ns");
    assert!(2 * waited > number(&full, "/outcome/elapsed_ns"), "{waited} ns");
    assert_eq!(counts(&full).send_failed, 0, "they wait, and leave");
}
