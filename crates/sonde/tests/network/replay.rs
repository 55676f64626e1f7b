//! A recorded schedule goes over the wire as it was recorded: sizes and order as a capture at the far side sees them, due
//! instants as the samples tell. And what was captured can be replayed itself.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use protocol::capture::schedule;
use serde_json::Value;

use crate::scene::{Scene, counts, document, installed, number, sonde_in};

/// Recorded messages: microseconds and bytes. Some leave at once, one is as short as may be, none is longer than a packet.
fn recorded() -> Vec<(u64, u32)> {
    (0..60).map(|n| (5_000 + n / 3 * 2_000 + n % 3 / 2 * 700, 32 + (n as u32 * 379) % 1_400)).collect()
}

/// The recording as text.
fn text(messages: &[(u64, u32)]) -> String {
    messages.iter().fold("time,size\n".to_owned(), |mut text, (micros, bytes)| {
        writeln!(text, "{micros}us,{bytes}").expect("a string");
        text
    })
}

/// Captures so many recorded messages that come in at the far side, into `file`; ends by itself when it has them.
fn capture(scene: &Scene, file: &Path, messages: usize) -> Child {
    // Recorded datagrams alone: a flag of octet 25, behind the 8 of UDP, marks the others.
    let filter = "udp dst port 7663 and udp[33] & 4 = 0";
    let mut command = scene.far().command("tcpdump");
    command.args(["-i", scene.far().interface(), "--immediate-mode", "-s", "100", "-c", &messages.to_string(), "-w"]);
    let child = command.arg(file).arg(filter).stderr(Stdio::piped()).stdout(Stdio::null()).spawn();
    let mut child = child.expect("started");
    let mut said = String::new();
    BufReader::new(child.stderr.as_mut().expect("piped")).read_line(&mut said).expect("a line");
    assert!(said.contains("listening on"), "{said}");
    child
}

fn replay(scene: &Scene, file: &Path, words: &[&str]) -> Value {
    let mut command = sonde_in(scene.near());
    command.args(["replay", "--json", "-q", &scene.target(false)]).arg(file).args(words);
    let output = command.output().expect("started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    document(&output)
}

#[test]
fn a_recorded_schedule_goes_over_the_wire_as_it_was_recorded() {
    let what = "a recorded schedule";
    if !installed("tcpdump", "tcpdump", what) {
        return;
    }
    let Some(scene) = Scene::beside(what) else { return };
    let _reflector = scene.reflector(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let messages = recorded();
    fs::write(at("recorded.csv"), text(&messages)).expect("written");
    let mut watcher = capture(&scene, &at("seen.pcap"), messages.len());
    let samples = at("samples.csv");
    let record = replay(&scene, &at("recorded.csv"), &["--samples", samples.to_str().expect("UTF-8")]);
    assert!(watcher.wait().expect("ended").success());

    let sizes: Vec<u32> = messages.iter().map(|(_, bytes)| *bytes).collect();
    let seen = schedule(&fs::read(at("seen.pcap")).expect("captured"), None).expect("one flow");
    let seen_sizes: Vec<u32> = seen.trace.departures().iter().map(|message| message.bytes).collect();
    assert_eq!(seen_sizes, sizes, "sizes in their order");
    assert_eq!(due(&samples), messages.iter().map(|(micros, _)| micros * 1_000).collect::<Vec<_>>());
    let total: u64 = sizes.iter().map(|bytes| u64::from(*bytes)).sum();
    tells(&record, 60, total, 5_000_000 + 38_000_000 + 700_000);

    let again = replay(&scene, &at("seen.pcap"), &["--reply-every", "7", "-c", "50"]);
    tells(&again, 60, total, seen.trace.length().0);
    let fates = counts(&again);
    assert_eq!((fates.scheduled, fates.answered, fates.one_way), (7, 7, 43), "every seventh of fifty");
}

/// Asserts the record's account of the schedule, and that every message of a whole one was answered.
fn tells(record: &Value, messages: u64, bytes: u64, length: u64) {
    assert_eq!(record["question"], "load");
    let schedule = "/method/schedule/trace";
    let told = ["messages", "bytes", "length_ns"].map(|key| number(record, &format!("{schedule}/{key}")));
    assert_eq!(told, [messages, bytes, length]);
    let fates = counts(record);
    assert_eq!((fates.lost, fates.late, fates.send_failed), (0, 0, 0), "{fates:?}");
}

/// Scheduled send time of each message, nanoseconds from the start.
fn due(samples: &Path) -> Vec<u64> {
    let text = fs::read_to_string(samples).expect("samples");
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().expect("a head");
    let column = head.iter().position(|title| *title == "intended_ns").expect("that column");
    lines.map(|line| line[column].parse().expect("a number")).collect()
}
