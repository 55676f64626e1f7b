//! Answers to probes of the bare wire: packets, segments, quotes of ICMP errors.

use std::net::IpAddr;

use measure::answer::{Answer, Flags};

use super::Input;
use protocol::icmp::echo::{Echo, Family, Socket};
use protocol::native::header;
use protocol::syn::datagram::{self, Datagrams};
use protocol::syn::delivered::Head;
use protocol::syn::echoed::Echoed;
use protocol::syn::probe::{Aim, Listener, Probe, Shape, Sources};
use protocol::syn::segment::{Packet, in_ipv4, read};
use protocol::wire::{Reading, Wire};

#[derive(Default)]
struct Heard(Option<Answer>);

impl Listener for Heard {
    fn hear(&mut self, answer: Answer) {
        self.0 = Some(answer);
    }
}

/// Anything at all, delivered as an answer to probes of any shape.
pub fn syn_probe(data: &[u8]) {
    let mut input = Input(data);
    let mut next = || input.next().unwrap_or(0);
    let (flags, choice, latest) = (Flags(next()), next(), u64::from(next()));
    let mut shape = Shape::syn(
        IpAddr::from([10, 0, 0, 1]),
        IpAddr::from([10, 0, 0, 2]),
        Sources { first: 40_000, count: 1 << (choice & 15) },
        if choice & 16 == 0 { Aim::One(80) } else { Aim::Rising(80) },
        u32::from(next()) << 24,
    );
    shape.flags = flags;
    shape.payload = usize::from(next());
    shape.seq = (choice & 32 != 0).then_some(1);
    let delivered = input.0;
    let mut wire = Probe::new(shape.clone(), Heard::default());
    let mut message = vec![0; shape.length()];
    wire.open(&mut message);
    for seq in 0..=latest {
        wire.prepare(&mut message, seq, header::Flags::NONE);
    }
    let whole = Packet { length: 0, ttl: 0, tos: None, ip_id: None, dont_fragment: None };
    let sent = read(whole, &message).expect("what we send can be read");
    assert_eq!((sent.flags, sent.window, sent.source_port), (flags, shape.window, shape.sources.port(latest)));
    match wire.identify(delivered, 0) {
        Reading::Reply(seq) | Reading::Refused(seq) | Reading::Corrupt(Some(seq)) => {
            assert!(seq <= latest && Head::read(delivered).is_some(), "an answer to nothing");
        }
        Reading::Stray => {}
        Reading::Corrupt(None) => panic!("every answer says which probe it is for"),
    }
    of_others(delivered, latest);
    if let Some((packet, _, segment)) = in_ipv4(delivered) {
        assert!(segment.len() <= usize::from(packet.length));
        drop(read(packet, segment).map(|segment| segment.options.to_string()));
    }
}

/// The same, as an answer to datagrams and to echo requests.
fn of_others(delivered: &[u8], latest: u64) {
    let (local, remote) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
    let sources = Sources { first: 40_000, count: 16 };
    let shape = datagram::Shape { local, remote, sources, aim: Aim::One(80), bad_checksum: false };
    let echo = Echo::new(Family::V4, Socket::Raw, 0x1234, 7).for_payload(0);
    let mut datagrams = Datagrams::new(shape, Heard::default());
    let mut echoes = Echoed::new(echo, remote, Heard::default());
    let mut message = [0; 8];
    for seq in 0..=latest {
        datagrams.prepare(&mut message, seq, header::Flags::NONE);
        echoes.prepare(&mut message, seq, header::Flags::NONE);
    }
    for reading in [datagrams.identify(delivered, 0), echoes.identify(delivered, 0)] {
        if let Reading::Reply(seq) | Reading::Refused(seq) | Reading::Corrupt(Some(seq)) = reading {
            assert!(seq <= latest && Head::read(delivered).is_some(), "an answer to nothing");
        }
    }
}
