//! An interface that goes down in the middle, and comes up again: told, counted, and no end.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::ping_pairs::scene::{Scene, run};

/// Reads lines until one says `words`.
fn until(lines: &mut impl Iterator<Item = std::io::Result<String>>, words: &str) {
    let found = lines.by_ref().map(|line| line.expect("text")).find(|line| line.contains(words));
    assert!(found.is_some(), "it ended without {words:?}");
}

#[test]
fn an_interface_that_goes_down_is_told_and_the_run_goes_on() {
    let Some(scene) = Scene::new("an interface that goes down", &[]) else { return };
    let mut command = scene.ours("-i 0.1 D");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    let mut stdout = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut stderr = BufReader::new(child.stderr.take().expect("piped")).lines();
    until(&mut stdout, "icmp_seq=2 ");
    let interface = scene.near().interface();
    run(scene.near(), &format!("ip link set {interface} down"));
    until(&mut stderr, "ping: sendmsg: Network is unreachable");
    run(scene.near(), &format!("ip link set {interface} up"));
    // Replies from before it went down may still stand in the pipe: a tenth line behind that is one of afterwards.
    until(&mut stdout, "icmp_seq=");
    (0..10).for_each(|_| until(&mut stdout, "icmp_seq="));
    kill_process(Pid::from_child(&child), Signal::INT).expect("a child of ours");
    let rest: String = stdout.map(|line| line.expect("text") + "\n").collect();
    let mut besides = String::new();
    stderr.for_each(|line| besides += &line.expect("text"));
    assert_eq!(child.wait().expect("a child of ours").code(), Some(0), "{rest}{besides}");
    let summary = rest.lines().find(|line| line.contains("packets transmitted")).expect("a summary");
    assert!(!summary.contains(" 0% packet loss"), "what could not be sent is missing: {summary}");
}
