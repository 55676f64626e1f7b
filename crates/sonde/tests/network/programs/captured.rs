//! A capture beside: each time that sonde tells of a program holds that of the same request and reply on the wire. The rest
//! is this host's: the send, the wake-up and the reading of the reply. It is told beside that of sonde's own exchange, and
//! not judged: other work on this machine is in it, and what a build for tests adds.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;

use measure::statistics::quantile::Ranked;
use serde_json::Value;

use super::Asked;
use crate::capture::Capture;
use crate::pcap::{Packet, segment};
use crate::scene::{Sample, Scene, counts, document, samples, tell};

/// Exchanges that are held against the capture, two in a millisecond so that the path is warm.
const EXCHANGES: u64 = 500;
/// The port of our own reflector.
const OURS: u16 = 7_663;

/// The capture beside, of one measurement after the other: each ends by a mark of its own.
pub struct Beside(Mutex<()>);

impl Beside {
    /// Our own reflector comes first, for whoever compares.
    pub fn start(scene: &Scene) -> Self {
        let _reflector = scene.reflector(&[]);
        seen(scene, &[&scene.target(false), "--tcp"], OURS).tell("sonde over TCP");
        Self(Mutex::new(()))
    }

    /// Complaints about the times that are told of a program.
    pub fn complaints(&self, asked: &Asked<'_>) -> Option<String> {
        let _turn = self.0.lock().expect("sound");
        let words = asked.words(&asked.scene.target(false));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let seen = seen(asked.scene, &words, asked.port());
        seen.tell(asked.row.name);
        (seen.shorter > 0)
            .then(|| format!("{}: {} exchanges are shorter than on the wire", asked.row.name, seen.shorter))
    }
}

/// A measurement beside its capture.
struct Seen {
    record: Value,
    /// Medians, nanoseconds: on the wire, and of the rest in this host.
    wire: u64,
    host: u64,
    /// Exchanges that took less than the capture has it.
    shorter: usize,
    /// Their number.
    matched: usize,
}

impl Seen {
    fn tell(&self, name: &str) {
        let Self { wire, host, matched, .. } = self;
        let outside = self.outside().map(|outside| format!(", by kernel timestamps {outside} ns")).unwrap_or_default();
        tell(&format!("{name}: {matched} exchanges, on the wire {wire} ns{outside}, in this host {host} ns"));
    }

    /// The time outside of this host by kernel timestamps.
    fn outside(&self) -> Option<u64> {
        self.record.pointer("/outcome/split/outside_ns").and_then(Value::as_u64)
    }
}

/// Measures with these words beside a capture, of which what goes to and from `port` is read.
fn seen(scene: &Scene, words: &[&str], port: u16) -> Seen {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("samples.csv");
    let capture = Capture::start(scene.near());
    let count = EXCHANGES.to_string();
    // Nothing is late, however busy this machine is.
    let ending = ["-c", &count, "--warm-up", "100ms", "--timeout", "60s"];
    let method = [&["--window", "1", "--every", "500us"][..], &ending, &["--samples"]].concat();
    let record = scene.record(&[words, &method[..], &[file.to_str().expect("a path")]].concat());
    assert_eq!(counts(&record).answered, EXCHANGES, "{words:?}");
    let mark = scene.rtt(&[&scene.target(false), "--port", "9", "--connect", "-c", "1", "--warm-up", "0"]);
    assert_eq!(counts(&document(&mark)).refused, 1);
    let passed = turns(&capture.end(), port);
    compared(record, &passed, &file)
}

/// The last turns of a capture against the samples, in order.
fn compared(record: Value, passed: &[u64], file: &Path) -> Seen {
    let mut samples: Vec<Sample> = samples(file);
    samples.sort_by_key(|sample| sample.seq);
    assert_eq!(samples.len() as u64, EXCHANGES);
    let begin = passed.len().checked_sub(samples.len()).expect("as many on the wire");
    let both = || samples.iter().map(|sample| sample.service_ns).zip(passed[begin..].iter().copied());
    let shorter = both().filter(|(told, wire)| told <= wire).count();
    let host = median(both().map(|(told, wire)| told.saturating_sub(wire)));
    Seen { record, wire: median(both().map(|(_, wire)| wire)), host, shorter, matched: samples.len() }
}

/// Times from each request until the last of its reply, nanoseconds. Requests are the messages of the commonest length on the busiest
/// connection: what opens and ends a connection has others.
fn turns(packets: &[Packet], port: u16) -> Vec<u64> {
    let messages: Vec<_> = packets
        .iter()
        .filter(|packet| matches!(packet.protocol, 6 | 17))
        .filter_map(|packet| Some((packet.at, segment(packet)?)))
        .filter(|(_, (from, to, payload))| (*from == port || *to == port) && !payload.is_empty())
        .collect();
    let mut kinds: HashMap<(u16, usize), usize> = HashMap::new();
    for (_, (from, _, payload)) in messages.iter().filter(|(_, (_, to, _))| *to == port) {
        *kinds.entry((*from, payload.len())).or_default() += 1;
    }
    let (flow, length) = kinds.into_iter().max_by_key(|(_, count)| *count).expect("requests").0;
    let (mut turns, mut open): (Vec<(u64, Option<u64>)>, bool) = (Vec::new(), false);
    for (at, (from, to, payload)) in messages {
        if from == flow {
            open = payload.len() == length;
            if open {
                turns.push((at, None));
            }
        } else if to == flow && open {
            turns.last_mut().expect("it is open").1 = Some(at);
        }
    }
    turns.into_iter().filter_map(|(out, back)| Some(back? - out)).collect()
}

fn median(values: impl Iterator<Item = u64>) -> u64 {
    Ranked::exact(values.collect()).quantile(0.5).expect("values")
}
