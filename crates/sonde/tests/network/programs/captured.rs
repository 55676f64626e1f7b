//! A capture beside: each time that sonde tells of a program holds that of the same request and reply on the wire. The rest
//! is this host's: the send, the wake-up and the reading of the reply. It is told beside that of sonde's own exchange, and
//! not judged: other work on this machine is in it, and what a build for tests adds.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Mutex;

use measure::statistics::quantile::Ranked;
use serde_json::Value;

use super::Asked;
use crate::capture::Capture;
use crate::pcap::{Packet, segment};
use crate::scene::{Sample, Scene, counts, document, number, samples, tell};

/// Exchanges that are held against the capture, two in a millisecond so that the path is warm.
const EXCHANGES: u64 = 500;
/// The port of our own reflector.
const OURS: u16 = 7_663;
/// So far apart may medians lie, nanoseconds: the capture's stamp is taken before the driver's.
const APART: u64 = 2_000;
/// Standard errors within which the median of those that the kernel stamps is one of the median of all: of 60,000 one is further away.
const ERRORS: f64 = 4.3;

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
        let name = asked.row.name;
        if !asked.row.shows {
            return None;
        }
        let words = asked.words(&asked.scene.target(false));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let seen = seen(asked.scene, &words, asked.port());
        seen.tell(name);
        if seen.shorter > 0 {
            return Some(format!("{name}: {} exchanges are shorter than on the wire", seen.shorter));
        }
        let (outside, around) = (seen.outside(), seen.expected());
        (!around.contains(&outside)).then(|| format!("{name}: outside {outside} ns, on the wire {around:?}"))
    }
}

/// A measurement beside its capture.
struct Seen {
    record: Value,
    /// Times on the wire, in their order.
    wires: Ranked,
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
        let (outside, around) = (self.outside(), self.expected());
        tell(&format!(
            "{name}: {matched} exchanges, on the wire {wire} ns ({around:?}), by kernel timestamps {outside} ns, in this host {host} ns"
        ));
    }

    /// The time outside of this host by kernel timestamps.
    fn outside(&self) -> u64 {
        number(&self.record, "/outcome/split/outside_ns")
    }

    /// The medians on the wire that those may have which the kernel stamped, of all the same, and as far around them as its stamps may lie.
    fn expected(&self) -> RangeInclusive<u64> {
        let stamped = number(&self.record, "/outcome/split/samples") as f64;
        let apart = (ERRORS / 2.0 / stamped.sqrt()).min(0.45);
        let at = |share| self.wires.quantile(share).expect("values");
        at(0.5 - apart).saturating_sub(APART)..=at(0.5 + apart) + APART
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
    let method = [&["--window", "1", "--every", "500us", "--stamps"][..], &ending, &["--samples"]].concat();
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
    let wires = Ranked::exact(passed[begin..].to_vec());
    let wire = wires.quantile(0.5).expect("values");
    Seen { record, wires, wire, host, shorter, matched: samples.len() }
}

/// Times from each request until the last of its reply, nanoseconds. Requests are the messages of the commonest length on the busiest
/// connection: what opens and ends a connection has others. Segments that TCP sent again are passed over: a server does so within
/// milliseconds where our kernel, kept from running, acknowledges its reply no sooner (a tail loss probe).
fn turns(packets: &[Packet], port: u16) -> Vec<u64> {
    let mut latest: HashMap<(u16, u16), u32> = HashMap::new();
    let mut is_new = |packet: &Packet, (from, to, payload): (u16, u16, &[u8])| {
        let Some(number) = packet.body.get(4..8).filter(|_| packet.protocol == 6 && !payload.is_empty()) else {
            return true;
        };
        let number = u32::from_be_bytes(number.try_into().expect("four octets"));
        let before = latest.entry((from, to)).or_insert_with(|| number.wrapping_sub(1));
        let is_new = number.wrapping_sub(*before).cast_signed() > 0;
        if is_new {
            *before = number;
        }
        is_new
    };
    let messages: Vec<_> = packets
        .iter()
        .filter(|packet| matches!(packet.protocol, 6 | 17))
        .filter_map(|packet| Some((packet.at, segment(packet).filter(|segment| is_new(packet, *segment))?)))
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
