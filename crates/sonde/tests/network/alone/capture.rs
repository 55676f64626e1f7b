//! Agreement with a packet capture taken beside the measurement, packet by packet.
//!
//! The capture sees each request leave the near host and each reply come in. Two things must hold. Every exchange's
//! round trip, as the application saw it, contains what the capture saw of it. And what the kernel's time stamps say of
//! the way from the driver to the receive stamp is what the capture says of the same packets.

use std::collections::{BTreeSet, HashMap};

use measure::statistics::quantile::Ranked;
use protocol::native::header::{Flags, Header};
use rustix::process::geteuid;
use serde_json::Value;

use crate::capture::Capture;
use crate::pcap::{Packet, segment};
use crate::scene::{Sample, Scene, counts, document, installed, let_ping, number, samples, tell};

/// Exchanges of a run, four in a millisecond so that the path is warm; one in 2 ms has kernel time stamps.
const EXCHANGES: u64 = 6_000;
/// At least so many are to be compared.
const LEAST: usize = 600;
/// So far apart may medians lie, nanoseconds: the capture's stamp is taken before the driver's.
const APART: u64 = 2_000;
/// Or by so many parts of what they are, where this machine makes everything slow, what lies between the two stamps too.
const PARTS: u64 = 20;

#[test]
fn udp_agrees_packet_by_packet() {
    let Some(seen) = watched("UDP beside a packet capture", &["--udp"], false) else { return };
    seen.contained();
    // The requests that were stamped say so in their header, so exactly these are compared.
    assert_eq!(number(&seen.record, "/outcome/split/samples"), seen.stamped().len() as u64);
    seen.agrees(&seen.stamped());
}

#[test]
fn icmp_agrees_packet_by_packet() {
    for (six, may, kind) in [(false, false, "raw"), (true, true, "ping")] {
        let Some(seen) = watched_as("ICMP beside a packet capture", &["--icmp"], six, may) else { return };
        assert_eq!(seen.record["outcome"]["sockets"][0]["icmp_socket"], kind);
        seen.contained();
        assert_eq!(
            seen.looks.len(),
            1,
            "routers may choose a path by type, code, checksum and identifier: {:?}",
            seen.looks
        );
        // An echo does not say whether it was stamped: some were, anywhere in the run.
        seen.agrees(&seen.passed.iter().map(Passed::took).collect::<Vec<_>>());
    }
}

#[test]
fn tcp_is_reported() {
    let Some(seen) = watched("TCP beside a packet capture", &["--tcp"], false) else { return };
    seen.contained();
    seen.report(&seen.stamped());
}

/// A request and its reply as the capture saw them.
#[derive(Clone, Copy, Debug)]
struct Passed {
    seq: u64,
    stamped: bool,
    out: u64,
    back: u64,
}

impl Passed {
    fn took(&self) -> u64 {
        self.back - self.out
    }
}

/// A measurement with what a capture beside it saw.
struct Seen {
    what: String,
    record: Value,
    samples: Vec<Sample>,
    /// Recorded exchanges alone, their numbers from 0.
    passed: Vec<Passed>,
    /// The different beginnings of echo requests, up to their identifier.
    looks: BTreeSet<[u8; 6]>,
}

impl Seen {
    fn stamped(&self) -> Vec<u64> {
        self.passed.iter().filter(|passed| passed.stamped).map(Passed::took).collect()
    }

    /// Every exchange is in the capture, and its round trip contains the capture's.
    fn contained(&self) {
        let by_number: HashMap<u64, &Passed> = self.passed.iter().map(|passed| (passed.seq, passed)).collect();
        let matched: Vec<_> =
            self.samples.iter().filter_map(|sample| Some((sample, *by_number.get(&sample.seq)?))).collect();
        assert_eq!((matched.len(), self.passed.len()), (self.samples.len(), self.samples.len()), "none unmatched");
        assert!(matched.len() >= LEAST);
        for (sample, passed) in &matched {
            assert!(sample.service_ns > passed.took(), "{sample:?} {passed:?}");
        }
        let host = median(matched.iter().map(|(sample, passed)| sample.service_ns - passed.took()));
        tell(&format!("{}: {} matched, 0 unmatched, {host} ns of a round trip in this host", self.what, matched.len()));
    }

    /// The time outside this host by the kernel's time stamps is that of the capture. Where some of these exchanges have stamps alone, it is as
    /// near as the median of so few is to that of all: once in a thousand runs further (order statistics of the capture, 3.3 deviations).
    fn agrees(&self, took: &[u64]) {
        let apart = self.report(took);
        let (all, stamped) = (took.len() as f64, number(&self.record, "/outcome/split/samples") as f64);
        let ranks = 3.3 * 0.5 * ((all - stamped).max(0.0) / all / stamped).sqrt();
        let of_all = Ranked::exact(took.to_vec());
        let [low, high] = [0.5 - ranks, 0.5 + ranks].map(|q| of_all.quantile(q).expect("values"));
        let allowed = APART.max(median(took.iter().copied()) / PARTS) + (high - low);
        assert!(apart <= allowed, "{apart} ns apart, {allowed} allowed");
    }

    fn report(&self, took: &[u64]) -> u64 {
        assert!(took.len() >= LEAST, "{} to compare", took.len());
        assert!(number(&self.record, "/outcome/split/samples") >= LEAST as u64, "{}", self.record["outcome"]["split"]);
        let captured = median(took.iter().copied());
        let outside = number(&self.record, "/outcome/split/outside_ns");
        let apart = captured.abs_diff(outside);
        tell(&format!("{}: median outside {outside} ns, in the capture {captured} ns: {apart} ns apart", self.what));
        apart
    }
}

fn median(values: impl Iterator<Item = u64>) -> u64 {
    Ranked::exact(values.collect()).quantile(0.5).expect("values")
}

fn watched(what: &str, words: &[&str], six: bool) -> Option<Seen> {
    watched_as(what, words, six, false)
}

/// Measures beside a capture, root being allowed ping sockets or not.
fn watched_as(what: &str, words: &[&str], six: bool, may_ping: bool) -> Option<Seen> {
    if !installed("tcpdump", "tcpdump", what) {
        return None;
    }
    if !geteuid().is_root() {
        // It gives up the groups it has, which nobody may inside a user namespace.
        testbed::skip::aloud(&format!("{what}: only root can run tcpdump"));
        return None;
    }
    let scene = Scene::alone(what)?;
    if may_ping {
        let_ping(scene.near(), "0 0");
    }
    let _reflector = scene.reflector(&[]);
    let target = scene.target(six);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("samples.csv");
    let capture = Capture::start(scene.near());
    let count = EXCHANGES.to_string();
    let pace = ["--window", "1", "--every", "250us", "-c", &count, "--warm-up", "200ms", "--timeout", "60s"];
    let method = [&pace[..], &["--stamps", "--samples"]].concat();
    let record = scene.record(&[&[target.as_str()], words, &method[..], &[file.to_str().expect("a path")]].concat());
    assert_eq!(counts(&record).answered, EXCHANGES);
    let mark = scene.rtt(&[&target, "--port", "9", "--connect", "-c", "1", "--warm-up", "0"]);
    assert_eq!(counts(&document(&mark)).refused, 1);
    let packets = capture.end();
    let requests = packets.iter().filter(|packet| is_echo_request(packet));
    let looks = requests.filter_map(|packet| packet.body.first_chunk().copied()).collect();
    let passed = recorded(pairs(&packets));
    let what = format!("{} IPv{}", words[0], if six { 6 } else { 4 });
    Some(Seen { what, record, samples: samples(&file), passed, looks })
}

/// The recorded exchanges among all that passed: the last so many, numbered from 0 as the measurement numbers them.
fn recorded(passed: HashMap<u64, Passed>) -> Vec<Passed> {
    let end = passed.keys().max().expect("packets") + 1;
    let base = end - EXCHANGES;
    let recorded = passed.into_values().filter(|passed| passed.seq >= base);
    recorded.map(|passed| Passed { seq: passed.seq - base, ..passed }).collect()
}

fn is_echo_request(packet: &Packet) -> bool {
    matches!((packet.protocol, packet.body.first()), (1, Some(8)) | (58, Some(128)))
}

/// Requests with their replies, by the number they carry.
fn pairs(packets: &[Packet]) -> HashMap<u64, Passed> {
    let mut pairs: HashMap<u64, Passed> = HashMap::new();
    for (packet, message) in packets.iter().filter_map(|packet| Some((packet, message(packet)?))) {
        if message.request {
            let passed = Passed { seq: message.seq, stamped: message.stamped, out: packet.at, back: 0 };
            let before = pairs.insert(message.seq, passed);
            assert!(before.is_none(), "{} left twice", message.seq);
        } else if let Some(passed) = pairs.get_mut(&message.seq) {
            assert_eq!(passed.back, 0, "{} came back twice", message.seq);
            passed.back = packet.at;
        }
    }
    pairs.retain(|_, passed| passed.back > 0);
    pairs
}

/// The content of an exchange's packet.
struct Message {
    seq: u64,
    request: bool,
    stamped: bool,
}

fn message(packet: &Packet) -> Option<Message> {
    match packet.protocol {
        // Type; code, checksum, identifier and the short number; what keeps the checksum and the number of 48 bits.
        1 | 58 => {
            let seq = u64::from_be_bytes(packet.body.get(8..16)?.try_into().ok()?) & ((1 << 48) - 1);
            match packet.body[0] {
                8 | 128 => Some(Message { seq, request: true, stamped: false }),
                0 | 129 => Some(Message { seq, request: false, stamped: false }),
                _ => None,
            }
        }
        6 | 17 => {
            let (_, to, payload) = segment(packet)?;
            // Messages of 64 bytes; the control connection's are of other lengths, or no headers.
            let header = Header::read(payload).filter(|_| payload.len() == 64)?;
            // The first datagrams of a flow are numbered from the other end.
            let seq = Some(header.seq).filter(|seq| *seq < u64::MAX / 2)?;
            Some(Message { seq, request: to == 7_663, stamped: header.flags.has(Flags::STAMPED) })
        }
        _ => None,
    }
}
