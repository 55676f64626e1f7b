//! Answers of every kind to probes of every shape, and what is none.

use etherparse::PacketBuilder;
use measure::answer::Class;
use measure::unit::Instant;
use proptest::prelude::*;
use test_case::test_case;

use super::*;
use crate::syn::delivered::HEAD;

const HERE: [u8; 4] = [10, 0, 0, 1];
const THERE: [u8; 4] = [10, 0, 0, 2];
const POOL: Sources = Sources { first: 65_530, count: 16 };

#[derive(Debug, Default)]
struct Heard(Vec<Answer>);

impl Listener for Heard {
    fn hear(&mut self, answer: Answer) {
        self.0.push(answer);
    }
}

fn shape() -> Shape {
    Shape::syn(HERE.into(), THERE.into(), POOL, Aim::One(80), 0xFFFF_FF00)
}

fn probe(shape: Shape) -> Probe<Heard> {
    Probe::new(shape, Heard::default())
}

/// Probe `seq` as it leaves.
fn sent(wire: &mut Probe<Heard>, seq: u64) -> Vec<u8> {
    let mut message = vec![0x5A; wire.shape.length()];
    wire.open(&mut message);
    wire.prepare(&mut message, seq, header::Flags::NONE);
    message
}

fn delivered(form: Form, from: [u8; 4], rest: &[u8]) -> Vec<u8> {
    let mut buffer = vec![0; HEAD];
    Head { form, from: from.into(), at: Instant(5) }.write(&mut buffer);
    [buffer, rest.to_vec()].concat()
}

/// Returns a kernel's answer to `probe`, as it is delivered; a port that is `open` accepts it.
fn answer(probe: &[u8], open: bool, from: [u8; 4]) -> Vec<u8> {
    let sent = segment::read(Packet { length: 0, ttl: 0, tos: None, ip_id: None, dont_fragment: None }, probe).unwrap();
    let mut packet = Vec::new();
    let builder = PacketBuilder::ipv4(from, HERE, 63);
    let ports = (sent.destination_port, sent.source_port);
    let data = probe.len() - usize::from(probe[12] >> 4) * 4;
    let length = data as u32 + u32::from(sent.flags.has(Flags::SYN)) + u32::from(sent.flags.has(Flags::FIN));
    let ack = sent.seq.wrapping_add(length);
    let builder = match (open, sent.flags.has(Flags::ACK)) {
        (true, _) => builder.tcp(ports.0, ports.1, 77, 64_240).syn().ack(sent.seq.wrapping_add(1)),
        (false, false) => builder.tcp(ports.0, ports.1, 0, 0).rst().ack(ack),
        (false, true) => builder.tcp(ports.0, ports.1, sent.ack, 0).rst(),
    };
    builder.write(&mut packet, &[]).unwrap();
    delivered(Form::Ipv4, from, &packet)
}

#[test_case(Flags::SYN, 0, true, Class::SynAck; "open")]
#[test_case(Flags::SYN, 0, false, Class::RstAck; "closed")]
#[test_case(Flags::SYN, 64, true, Class::SynAck; "open, and the payload is left")]
#[test_case(Flags::SYN, 64, false, Class::RstAck; "closed with a payload")]
#[test_case(Flags(0), 0, false, Class::RstAck; "no flags")]
#[test_case(Flags::FIN, 1_400, false, Class::RstAck; "FIN")]
#[test_case(Flags::ACK, 0, false, Class::Rst; "ACK")]
#[test_case(Flags::SYN.with(Flags::ACK), 8, false, Class::Rst; "SYN and ACK")]
fn an_answer_belongs_to_its_probe(flags: Flags, payload: usize, open: bool, class: Class) {
    let mut wire = probe(Shape { flags, payload, ..shape() });
    let probes: Vec<_> = (0..40).map(|seq| sent(&mut wire, seq)).collect();
    for seq in [0_u64, 7, 39] {
        let reply = answer(&probes[seq as usize], open, THERE);
        assert_eq!(wire.identify(&reply, 0), Reading::Reply(seq));
    }
    let heard = &wire.listener.0;
    assert_eq!(heard.iter().map(|answer| answer.seq).collect::<Vec<_>>(), [0, 7, 39]);
    assert!(heard.iter().all(|answer| answer.content.class() == class && answer.at == Instant(5)));
}

#[test]
fn numbers_that_go_round_still_tell_the_probe() {
    let mut wire = probe(shape());
    let seq = (1_u64 << 40) + 12_345;
    let message = sent(&mut wire, seq);
    sent(&mut wire, seq + 70_000);
    assert_eq!(wire.identify(&answer(&message, true, THERE), 0), Reading::Reply(seq));
}

#[test]
fn one_number_for_all_is_told_by_the_port() {
    let mut wire = probe(Shape { seq: Some(1), ack: Some(2), ..shape() });
    let message = sent(&mut wire, 20);
    sent(&mut wire, 30);
    assert_eq!(wire.identify(&answer(&message, true, THERE), 0), Reading::Reply(20));
}

#[test]
fn ports_in_turn_and_two_aims_are_each_their_own() {
    let mut wire = probe(Shape { aim: Aim::Two(80, 81), ..shape() });
    let (even, odd) = (sent(&mut wire, 4), sent(&mut wire, 5));
    assert_eq!((&even[2..4], &odd[2..4]), (&[0, 80][..], &[0, 81][..]));
    assert_eq!(wire.identify(&answer(&odd, false, THERE), 0), Reading::Reply(5));
    // The same with the other port's number.
    let mut crossed = answer(&odd, false, THERE);
    crossed[HEAD + 21] = 80;
    assert_eq!(wire.identify(&crossed, 0), Reading::Stray);
}

/// Link groups and some routers choose by the ports' lowest bits, or by what a small number leaves of them.
#[test_case(2)]
#[test_case(3)]
#[test_case(4)]
fn of_two_aims_each_is_probed_from_ports_of_every_kind(members: u16) {
    let shape = Shape { aim: Aim::Two(80, 81), sources: Sources { first: 40_000, count: 256 }, ..shape() };
    for aim in 0..2 {
        let ports = (0..48).map(|pair| shape.source(2 * pair + aim));
        let mut of_member = vec![0; usize::from(members)];
        ports.for_each(|port| of_member[usize::from(port % members)] += 1);
        assert!(of_member.iter().all(|count| *count == 48 / members), "aim {aim}: {of_member:?}");
    }
    let mut all: Vec<u16> = (0..256).map(|seq| shape.source(seq)).collect();
    all.sort_unstable();
    assert!(all.into_iter().eq(40_000..40_256), "none again before its turn");
}

#[test]
fn what_is_not_ours_is_a_stray() {
    let mut wire = probe(shape());
    let message = sent(&mut wire, 3);
    let reply = answer(&message, true, THERE);
    assert_eq!(wire.identify(&answer(&message, true, [10, 0, 0, 77]), 0), Reading::Stray, "from another address");
    for octet in [HEAD + 20, HEAD + 22, HEAD + 28] {
        let mut other = reply.clone();
        other[octet] ^= 0x10;
        assert_eq!(wire.identify(&other, 0), Reading::Stray, "octet {octet}");
    }
    let mut spoilt = reply.clone();
    spoilt[HEAD + 35] ^= 1;
    assert_eq!(wire.identify(&spoilt, 0), Reading::Corrupt(Some(3)), "the checksum");
    for cut in 0..reply.len() {
        assert_eq!(wire.identify(&reply[..cut], 0), Reading::Stray, "cut at {cut}");
    }
    assert!(wire.listener.0.is_empty());
}

#[test_case(3, 3, Reading::Refused(2); "port unreachable")]
#[test_case(3, 13, Reading::Refused(2); "prohibited")]
#[test_case(11, 0, Reading::Refused(2); "time exceeded")]
#[test_case(5, 1, Reading::Stray; "a redirect is advice")]
fn an_icmp_error_ends_the_probe_it_quotes(kind: u8, code: u8, reading: Reading) {
    let mut wire = probe(shape());
    let message = sent(&mut wire, 2);
    sent(&mut wire, 3);
    let error = |quote: &[u8]| delivered(Form::Icmp { kind, code, info: 0 }, [10, 0, 0, 9], quote);
    assert_eq!(wire.identify(&error(&message[..8]), 0), reading);
    assert_eq!(wire.listener.0[0].from, IpAddr::from([10, 0, 0, 9]));
    assert_eq!(wire.identify(&error(&message[..7]), 0), Reading::Stray, "a quote too short");
    let mut other = message.clone();
    other[7] ^= 1;
    assert_eq!(wire.identify(&error(&other), 0), Reading::Stray, "a number never sent");
}

#[test]
fn over_ipv6_the_segment_stands_alone() {
    let (here, there) = (IpAddr::from([0xFD; 16]), IpAddr::from([0xFE; 16]));
    let mut wire = probe(Shape { local: here, remote: there, ..shape() });
    let message = sent(&mut wire, 1);
    let mut reply = vec![0; HEAD + HEADER];
    let form = Form::Ipv6 { hop_limit: 61, traffic_class: Some(0) };
    Head { form, from: there, at: Instant(1) }.write(&mut reply);
    let number = u32::from_be_bytes(*message[4..].first_chunk().unwrap());
    let back = Header {
        source_port: 80,
        destination_port: POOL.port(1),
        seq: 0,
        ack: number.wrapping_add(1),
        flags: Flags::RST.with(Flags::ACK),
        window: 0,
        urgent: 0,
    };
    segment::write(&mut reply[HEAD..], &back, 0);
    segment::seal(&mut reply[HEAD..], Pseudo::new(there, here));
    assert_eq!(wire.identify(&reply, 0), Reading::Reply(1));
    let Content::Segment(heard) = wire.listener.0[0].content else { panic!("a segment") };
    assert_eq!((heard.ttl, heard.length, heard.ip_id), (61, 60, None));
}

proptest! {
    #[test]
    fn any_port_is_in_its_place(first: u16, count in 1_u32..=65_536, seq: u64) {
        let sources = Sources { first, count };
        prop_assert_eq!(sources.place(sources.port(seq)), Some((seq % u64::from(count)) as u32));
    }
}
