//! Ctrl-C ends with the figures, Ctrl-\ asks for them.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use test_case::test_case;

use crate::ping_pairs::scene::Scene;

/// Starts ours, sends it `signals` once two replies have come, and gives what it printed besides, its complaints and status.
fn signalled(line: &str, signals: &[Signal]) -> Option<(String, String, Option<i32>)> {
    let scene = Scene::new("signals to ping", &[])?;
    let mut child = scene.ours(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    let mut stdout = BufReader::new(child.stdout.take().expect("piped")).lines().map(|line| line.expect("text"));
    assert!(stdout.any(|line| line.contains("icmp_seq=2 ")), "it ended before its second reply");
    let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
    let mut besides = Vec::new();
    for signal in signals {
        kill_process(Pid::from_child(&child), *signal).expect("a child of ours");
        if *signal == Signal::QUIT {
            stderr.read_until(b'\n', &mut besides).expect("text");
        }
    }
    let rest = stdout.map(|line| line + "\n").collect();
    std::io::Read::read_to_end(&mut stderr, &mut besides).expect("text");
    let status = child.wait().expect("a child of ours").code();
    Some((rest, String::from_utf8(besides).expect("text"), status))
}

#[test_case(Signal::INT, 0; "interrupted")]
#[test_case(Signal::TERM, 143; "terminated")]
fn a_signal_ends_with_the_figures(signal: Signal, status: i32) {
    let Some((stdout, stderr, code)) = signalled("-i 0.2 D", &[signal]) else { return };
    assert_eq!((code, stderr.as_str()), (Some(status), ""), "{stdout}");
    assert!(stdout.contains("ping statistics ---\n") && stdout.contains("rtt min/avg/max/mdev = "), "{stdout}");
}

/// As in `ping host | head -1`. It gives up by itself after a minute, with another status.
#[test]
fn it_ends_when_its_reader_does() {
    let Some(scene) = Scene::new("a reader of ping that goes", &[]) else { return };
    let mut child = scene.ours("-i 0.1 -w 60 D").stdout(Stdio::piped()).spawn().expect("started");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("text");
    assert!(line.starts_with("PING "), "{line}");
    assert_eq!(child.wait().expect("a child of ours").code(), Some(141));
}

#[test]
fn the_figures_so_far_are_asked_for_by_a_signal() {
    let Some((stdout, stderr, code)) = signalled("-i 0.2 D", &[Signal::QUIT, Signal::INT]) else { return };
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    assert!(stderr.contains(" packets, 0% loss, min/avg/ewma/max = "), "{stderr}");
}
