//! Captures made for the purpose: one flow found among others, sizes and times read, damage told.

use etherparse::PacketBuilder;
use measure::unit::Bytes;
use test_case::test_case;

use super::*;

const NEAR: [u8; 4] = [10, 0, 0, 1];
const FAR: [u8; 4] = [10, 0, 0, 2];
const ETHERNET: u32 = 1;

/// A capture as a program of either byte order writes it.
struct Written {
    bytes: Vec<u8>,
    big: bool,
    nanos: bool,
}

impl Written {
    fn new(big: bool, nanos: bool, link: u32) -> Self {
        let mut written = Self { bytes: Vec::new(), big, nanos };
        let magic = if nanos { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
        for word in [magic, if big { 0x0002_0004 } else { 0x0004_0002 }, 0, 0, 65_535, link] {
            written.word(word);
        }
        written
    }

    fn ethernet() -> Self {
        Self::new(false, true, ETHERNET)
    }

    fn word(&mut self, word: u32) {
        self.bytes.extend(if self.big { word.to_be_bytes() } else { word.to_le_bytes() });
    }

    /// A packet that passed `at` nanoseconds after a moment of 2025, kept up to `kept` bytes.
    fn cut(mut self, at: u64, packet: &[u8], kept: usize) -> Self {
        let kept = &packet[..kept.min(packet.len())];
        let part = at % 1_000_000_000 / if self.nanos { 1 } else { 1_000 };
        for word in [1_760_000_000 + (at / 1_000_000_000) as u32, part as u32, kept.len() as u32, packet.len() as u32] {
            self.word(word);
        }
        self.bytes.extend(kept);
        self
    }

    fn packet(self, at: u64, packet: &[u8]) -> Self {
        self.cut(at, packet, usize::MAX)
    }

    fn take(&self, flow: Option<&str>) -> Result<Taken, CaptureError> {
        let flow = flow.map(|text| text.parse().unwrap());
        schedule(&self.bytes, flow.as_ref())
    }
}

/// A datagram without a header of a link.
fn udp(from: ([u8; 4], u16), to: ([u8; 4], u16), payload: usize) -> Vec<u8> {
    let mut packet = Vec::new();
    let builder = PacketBuilder::ipv4(from.0, to.0, 64).udp(from.1, to.1);
    builder.write(&mut packet, &vec![7; payload]).unwrap();
    packet
}

fn udp6(payload: usize) -> Vec<u8> {
    let mut packet = Vec::new();
    let end = |last| [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
    let builder = PacketBuilder::ipv6(end(1), end(2), 64).udp(5, 6);
    builder.write(&mut packet, &vec![7; payload]).unwrap();
    packet
}

fn tcp(sequence: u32, payload: usize, opens: bool) -> Vec<u8> {
    let mut packet = Vec::new();
    let builder = PacketBuilder::ipv4(NEAR, FAR, 64).tcp(5, 6, sequence, 1_000);
    let builder = if opens { builder.syn() } else { builder };
    builder.write(&mut packet, &vec![7; payload]).unwrap();
    packet
}

fn there(payload: usize) -> Vec<u8> {
    udp((NEAR, 5), (FAR, 6), payload)
}

/// Behind the header of an Ethernet frame that says this type.
fn framed(kind: u16, packet: &[u8]) -> Vec<u8> {
    [&[0; 12][..], &kind.to_be_bytes(), packet].concat()
}

fn messages(taken: &Taken) -> Vec<(u64, u32)> {
    taken.trace.departures().iter().map(|message| (message.at.0, message.bytes)).collect()
}

#[test_case(false, false; "microseconds, little")]
#[test_case(false, true; "nanoseconds, little")]
#[test_case(true, false; "microseconds, big")]
#[test_case(true, true; "nanoseconds, big")]
fn a_flow_is_taken_out_whoever_wrote_the_capture(big: bool, nanos: bool) {
    let written = Written::new(big, nanos, ETHERNET)
        .packet(999_999_000, &framed(0x0800, &there(100)))
        .packet(1_000_250_000, &framed(0x0800, &there(0)))
        .packet(1_000_250_000, &framed(0x0800, &there(1_400)));
    let taken = written.take(None).unwrap();
    assert_eq!(messages(&taken), [(0, 100), (251_000, 0), (251_000, 1_400)], "an empty datagram is a message too");
    assert_eq!(taken.flow.to_string(), "udp 10.0.0.1:5>10.0.0.2:6");
    assert_eq!((taken.others, taken.repeated, taken.broken_off), (0, 0, None));
}

#[test_case(1, &framed(0x0800, &there(64)); "ethernet")]
#[test_case(0x1400_0001, &framed(0x0800, &there(64)); "ethernet with a frame check sequence")]
#[test_case(1, &framed(0x8100, &[&[0, 7, 8, 0][..], &there(64)].concat()); "a tag")]
#[test_case(1, &framed(0x88a8, &[&[0, 7, 0x81, 0, 0, 9, 8, 0][..], &there(64)].concat()); "two tags")]
#[test_case(1, &framed(0x86dd, &udp6(64)); "version 6")]
#[test_case(101, &there(64); "raw")]
#[test_case(12, &udp6(64); "raw, by another number")]
#[test_case(228, &there(64); "raw version 4")]
#[test_case(229, &udp6(64); "raw version 6")]
#[test_case(0, &[&[2, 0, 0, 0][..], &there(64)].concat(); "null")]
#[test_case(108, &[&[0, 0, 0, 30][..], &udp6(64)].concat(); "loop")]
#[test_case(113, &[&[0; 14][..], &[8, 0], &there(64)].concat(); "cooked")]
#[test_case(276, &[&[8, 0][..], &[0; 18], &there(64)].concat(); "cooked, second form")]
fn every_kind_of_link_is_read(link: u32, packet: &[u8]) {
    let taken = Written::new(false, true, link).packet(5, packet).take(None).unwrap();
    assert_eq!(messages(&taken), [(0, 64)]);
    assert_eq!((taken.flow.from.port(), taken.flow.to.port()), (5, 6));
}

#[test]
fn lengths_are_those_that_passed_and_not_those_that_were_kept() {
    let padded = [framed(0x0800, &there(3)), vec![0; 15]].concat();
    let written = Written::ethernet().cut(0, &framed(0x0800, &there(1_200)), 60).packet(9, &padded);
    assert_eq!(messages(&written.take(None).unwrap()), [(0, 1_200), (9, 3)]);
}

#[test]
fn a_datagram_in_fragments_is_one_message_of_its_whole_length() {
    let mut first = there(1_000);
    // More fragments follow, and the total length is that of this one.
    first[6] = 0x20;
    first[2..4].copy_from_slice(&500_u16.to_be_bytes());
    let mut second = there(1_000);
    second[7] = 60;
    let written = Written::ethernet().packet(0, &framed(0x0800, &first)).packet(1, &framed(0x0800, &second));
    assert_eq!(messages(&written.take(None).unwrap()), [(0, 1_000)]);
}

#[test]
fn of_tcp_only_what_is_new_is_a_message() {
    let at_the_end = u32::MAX - 99;
    let segments = [
        (at_the_end.wrapping_sub(1), 0, true),
        (at_the_end, 200, false),
        (at_the_end, 200, false),
        (100, 0, false),
        (50, 150, false),
        (99, 1, false),
        (300, 40, false),
    ];
    let written = segments.iter().enumerate().fold(Written::ethernet(), |written, (at, &(sequence, length, opens))| {
        written.packet(at as u64, &framed(0x0800, &tcp(sequence, length, opens)))
    });
    let taken = written.take(None).unwrap();
    // Across the end of the numbers; again; an acknowledgement; half new; one byte to keep it alive; after a gap.
    assert_eq!(messages(&taken), [(0, 200), (3, 100), (5, 40)]);
    assert_eq!(taken.repeated, 2);
}

#[test]
fn of_several_flows_one_has_to_be_chosen() {
    let back = udp((FAR, 6), (NEAR, 5), 40);
    let written = Written::ethernet()
        .packet(0, &framed(0x0800, &back))
        .packet(1, &framed(0x0800, &there(100)))
        .packet(2, &framed(0x0800, &there(200)))
        .packet(3, &framed(0x0800, &tcp(1, 10, false)));
    let error = written.take(None).unwrap_err();
    assert_eq!(error.to_string(), "it has 3 flows");
    let CaptureError::WhichFlow { flows } = error else { panic!("{error}") };
    let listed: Vec<_> = flows.iter().map(|seen| (seen.flow.to_string(), seen.messages, seen.bytes.0)).collect();
    let flow = str::to_owned;
    assert_eq!(
        listed,
        [
            (flow("udp 10.0.0.1:5>10.0.0.2:6"), 2, 300),
            (flow("udp 10.0.0.2:6>10.0.0.1:5"), 1, 40),
            (flow("tcp 10.0.0.1:5>10.0.0.2:6"), 1, 10)
        ]
    );
    assert_eq!(messages(&written.take(Some("10.0.0.2:6>10.0.0.1:5")).unwrap()), [(0, 40)]);
    assert_eq!(messages(&written.take(Some("tcp 10.0.0.1:5>10.0.0.2:6")).unwrap()), [(0, 10)]);
    let ambiguous = written.take(Some("10.0.0.1:5>10.0.0.2:6")).unwrap_err();
    assert!(matches!(ambiguous, CaptureError::WhichFlow { flows } if flows.len() == 2 && flows[0].bytes == Bytes(300)));
    let absent = written.take(Some("10.0.0.1:7>10.0.0.2:6")).unwrap_err();
    assert_eq!(absent.to_string(), "the flow 10.0.0.1:7>10.0.0.2:6 is not in it");
    assert!(matches!(absent, CaptureError::NotThere { flows, .. } if flows[0].messages == 2));
}

#[test]
fn time_that_runs_backwards_is_told_by_its_packet_and_not_sorted() {
    let other = udp((FAR, 6), (NEAR, 5), 40);
    let written = Written::ethernet()
        .packet(5_000_000_000, &framed(0x0800, &there(1)))
        .packet(1_000_000_000, &framed(0x0800, &other))
        .packet(4_999_999_999, &framed(0x0800, &there(1)));
    let error = written.take(Some("10.0.0.1:5>10.0.0.2:6")).unwrap_err();
    assert_eq!(error.to_string(), "packet 3: time runs backwards by 1 ns");
    assert!(written.take(Some("10.0.0.2:6>10.0.0.1:5")).is_ok(), "another flow's times do not matter");
}

#[test]
fn a_capture_that_breaks_off_is_used_up_to_there() {
    let mut written = Written::ethernet().packet(0, &framed(0x0800, &there(1))).packet(7, &framed(0x0800, &there(2)));
    written.bytes.truncate(written.bytes.len() - 1);
    let taken = written.take(None).unwrap();
    assert_eq!((messages(&taken), taken.broken_off), (vec![(0, 1)], Some(2)));
}

#[test_case(b"", "is not a packet capture"; "nothing")]
#[test_case(b"0.1,64\n0.2,64\n0.3,64\n0.4,64\n", "is not a packet capture"; "a text")]
#[test_case(b"\x0a\x0d\x0d\x0a\x1c\0\0\0", "is a pcapng file, and only classic pcap is supported"; "pcapng")]
#[test_case(b"\x34\xcd\xb2\xa1", "is a modified pcap with longer packet headers"; "modified")]
#[test_case(b"\x1f\x8b\x08\0\0", "is compressed (gunzip)"; "compressed")]
#[test_case(b"\xd4\xc3\xb2\xa1\x02\0\x04\0", "the file ends within its header"; "cut off")]
fn what_is_no_capture_is_refused(bytes: &[u8], said: &str) {
    let error = schedule(bytes, None).unwrap_err();
    assert_eq!(error.to_string(), said);
    assert_eq!(is_capture(bytes), !matches!(error, CaptureError::NotACapture));
}

#[test]
fn a_link_or_a_packet_that_makes_no_sense_is_refused() {
    let said = |written: Written| written.take(None).unwrap_err().to_string();
    assert_eq!(said(Written::new(false, true, 127)), "was captured on a link of type 127, which is not supported");
    let mut huge = Written::ethernet();
    for word in [1, 1, u32::MAX, u32::MAX] {
        huge.word(word);
    }
    assert_eq!(said(huge), "packet 1 is damaged: more of it was kept than there can be");
    let mut late = Written::ethernet();
    for word in [1, 1_000_000_000, 0, 0] {
        late.word(word);
    }
    assert_eq!(said(late), "packet 1 is damaged: the part of a second in its time is a second or more");
    assert_eq!(said(Written::ethernet()), "no packet in it carries a UDP or TCP message");
    let arp = Written::ethernet().packet(0, &framed(0x0806, &[0; 28]));
    assert_eq!(said(arp), "no packet in it carries a UDP or TCP message");
}

#[test_case("10.0.0.1:5>10.0.0.2:6", true)]
#[test_case("udp [fd00::1]:5>[fd00::2]:6", true)]
#[test_case("10.0.0.1>10.0.0.2", false; "no ports")]
#[test_case("db1:5>db2:6", false; "names")]
#[test_case("sctp 10.0.0.1:5>10.0.0.2:6", false; "another protocol")]
fn a_flow_is_read_as_it_is_printed(text: &str, sound: bool) {
    match text.parse::<FlowPattern>() {
        Ok(pattern) => assert!(sound && pattern.to_string() == text),
        Err(error) => assert!(!sound && error.to_string().contains("quotation marks"), "{error}"),
    }
}
