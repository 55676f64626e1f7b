//! A TCP segment as octets: written for a probe, read from an answer, checked by the Internet checksum.

use std::net::IpAddr;

use etherparse::checksum::Sum16BitWords;
use etherparse::{Ipv4HeaderSlice, TcpHeaderSlice};
use measure::answer::{Flags, Options, Segment};

/// Octets of a header without options.
pub const HEADER: usize = 20;
/// Octets of options at the most.
pub const MOST_OPTIONS: usize = 40;
/// The protocol number of TCP.
pub const TCP: u8 = 6;

const CHECKSUM: std::ops::Range<usize> = 16..18;

/// Fields of a probe's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Where it comes from.
    pub source_port: u16,
    /// Where it goes to.
    pub destination_port: u16,
    /// Its number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Its flags.
    pub flags: Flags,
    /// Its window.
    pub window: u16,
    /// Its urgent pointer.
    pub urgent: u16,
}

/// Writes `header` over the first twenty octets of `message`; options and payload behind it stay as they are. `options`
/// octets of them are options, a multiple of four up to [`MOST_OPTIONS`]. A message that is shorter stays as it is.
pub fn write(message: &mut [u8], header: &Header, options: usize) {
    let Some(first) = message.first_chunk_mut::<HEADER>() else { return };
    first[0..2].copy_from_slice(&header.source_port.to_be_bytes());
    first[2..4].copy_from_slice(&header.destination_port.to_be_bytes());
    first[4..8].copy_from_slice(&header.seq.to_be_bytes());
    first[8..12].copy_from_slice(&header.ack.to_be_bytes());
    first[12] = (((HEADER + options.min(MOST_OPTIONS)) / 4) as u8) << 4;
    first[13] = header.flags.0;
    first[14..16].copy_from_slice(&header.window.to_be_bytes());
    first[CHECKSUM].copy_from_slice(&[0, 0]);
    first[18..20].copy_from_slice(&header.urgent.to_be_bytes());
}

/// Puts the checksum into `message`, which goes from `local` to `remote`.
#[inline]
pub fn seal(message: &mut [u8], pseudo: Pseudo) {
    let sum = pseudo.sum(message.len());
    let sum = sum.add_slice(message).ones_complement();
    if let Some(place) = message.get_mut(CHECKSUM) {
        place.copy_from_slice(&sum.to_ne_bytes());
    }
}

/// Octets that a checksum covers besides the segment or datagram (RFC 9293 section 3.1, RFC 768).
#[derive(Clone, Copy, Debug)]
pub struct Pseudo {
    /// The sum of both addresses.
    addresses: [u8; 2],
    protocol: u8,
}

impl Pseudo {
    /// Pseudo-header of TCP from one to the other.
    pub fn new(from: IpAddr, to: IpAddr) -> Self {
        Self::of(TCP, from, to)
    }

    /// Pseudo-header of this protocol from one to the other.
    pub fn of(protocol: u8, from: IpAddr, to: IpAddr) -> Self {
        let mut sum = Sum16BitWords::new();
        for address in [from, to] {
            sum = match address {
                IpAddr::V4(address) => sum.add_4bytes(address.octets()),
                IpAddr::V6(address) => sum.add_16bytes(address.octets()),
            };
        }
        Self { addresses: (!sum.ones_complement()).to_ne_bytes(), protocol }
    }

    /// With protocol and length.
    #[inline]
    pub(super) fn sum(self, length: usize) -> Sum16BitWords {
        let mut sum = Sum16BitWords::new();
        sum = sum.add_2bytes(self.addresses);
        sum = sum.add_2bytes([0, self.protocol]);
        sum.add_2bytes((length as u16).to_be_bytes())
    }

    /// Returns true where `segment`, all of it, has the checksum it should. A segment that never left this host's memory, as over
    /// loopback and between namespaces, has only the addresses' part of it: the card would have filled in the rest.
    pub fn checks(self, segment: &[u8]) -> bool {
        self.checks_at(segment, CHECKSUM)
    }

    /// The same where the checksum stands elsewhere.
    pub(super) fn checks_at(self, whole: &[u8], place: std::ops::Range<usize>) -> bool {
        let sum = self.sum(whole.len());
        let unfinished = (!sum.ones_complement()).to_ne_bytes();
        sum.add_slice(whole).ones_complement() == 0 || whole.get(place) == Some(&unfinished)
    }
}

/// The IP header's part of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Octets of the packet.
    pub length: u16,
    /// TTL or hop limit.
    pub ttl: u8,
    /// Type of service or traffic class.
    pub tos: Option<u8>,
    /// Identification, of IPv4.
    pub ip_id: Option<u16>,
    /// DF, of IPv4.
    pub dont_fragment: Option<bool>,
}

impl Packet {
    /// Facts about a segment or datagram of so many octets that came over IPv6, whose header the socket keeps to itself.
    pub fn over_ipv6(octets: usize, hop_limit: u8, traffic_class: Option<u8>) -> Self {
        let length = u16::try_from(octets + IPV6_HEADER).unwrap_or(u16::MAX);
        Self { length, ttl: hop_limit, tos: traffic_class, ip_id: None, dont_fragment: None }
    }
}

const IPV6_HEADER: usize = 40;

/// The TCP segment in an IPv4 packet as a raw socket delivers it; what lies behind the packet's own length is no part of
/// it. `None` where it is none, or cut.
pub fn in_ipv4(packet: &[u8]) -> Option<(Packet, IpAddr, &[u8])> {
    let (of, from, segment) = opened(TCP, packet)?;
    (segment.len() + packet_header(packet) == usize::from(of.length)).then_some((of, from, segment))
}

fn packet_header(packet: &[u8]) -> usize {
    packet.first().map_or(0, |first| usize::from(first & 0xF) * 4)
}

/// Returns the payload of an IPv4 packet of this protocol, as far as it was delivered. `None` where it is of another.
pub fn opened(protocol: u8, packet: &[u8]) -> Option<(Packet, IpAddr, &[u8])> {
    let header = Ipv4HeaderSlice::from_slice(packet).ok()?;
    if header.protocol().0 != protocol {
        return None;
    }
    let end = usize::from(header.total_len()).min(packet.len());
    let segment = packet.get(header.slice().len()..end)?;
    let of = Packet {
        length: header.total_len(),
        ttl: header.ttl(),
        tos: Some(packet[1]),
        ip_id: Some(header.identification()),
        dont_fragment: Some(header.dont_fragment()),
    };
    Some((of, IpAddr::from(header.source()), segment))
}

/// Reads a segment that came in `packet`. `None`: not even its header is whole.
#[inline]
pub fn read(packet: Packet, segment: &[u8]) -> Option<Segment> {
    let header = TcpHeaderSlice::from_slice(segment).ok()?;
    let Packet { length, ttl, tos, ip_id, dont_fragment } = packet;
    Some(Segment {
        length,
        ttl,
        tos,
        ip_id,
        dont_fragment,
        source_port: header.source_port(),
        destination_port: header.destination_port(),
        seq: header.sequence_number(),
        ack: header.acknowledgment_number(),
        flags: Flags(segment[13]),
        window: header.window_size(),
        checksum: header.checksum(),
        urgent: header.urgent_pointer(),
        options: options(header.options()),
    })
}

/// The options as they stand: an end or one that makes no sense ends them.
fn options(mut octets: &[u8]) -> Options {
    let mut options = Options::default();
    while let Some((&kind, rest)) = octets.split_first() {
        if kind <= 1 {
            options.push(kind);
            octets = if kind == 0 { &[] } else { rest };
            continue;
        }
        let length = rest.first().map_or(0, |length| usize::from(*length));
        let Some(content) = octets.get(2..length).filter(|_| length >= 2) else { break };
        options.push(kind);
        match (kind, content) {
            (2, &[high, low]) => options.mss = Some(u16::from_be_bytes([high, low])),
            (3, &[shift]) => options.window_scale = Some(shift),
            (8, content) => options.timestamps = word(content, 0).zip(word(content, 4)),
            _ => {}
        }
        octets = &octets[length..];
    }
    options
}

fn word(octets: &[u8], at: usize) -> Option<u32> {
    octets.get(at..)?.first_chunk().map(|word| u32::from_be_bytes(*word))
}

#[cfg(test)]
mod tests {
    use etherparse::{PacketBuilder, TcpHeader, TcpOptionElement};
    use proptest::prelude::*;

    use super::*;

    const HERE: [u8; 4] = [10, 0, 0, 1];
    const THERE: [u8; 4] = [10, 0, 0, 2];

    fn header() -> Header {
        Header {
            source_port: 40_001,
            destination_port: 80,
            seq: 0xDEAD_BEEF,
            ack: 7,
            flags: Flags::SYN,
            window: 64_240,
            urgent: 3,
        }
    }

    #[test]
    fn what_is_written_is_what_etherparse_writes() {
        let mut message = vec![0_u8; HEADER + 4 + 5];
        message[HEADER..HEADER + 4].copy_from_slice(&[2, 4, 5, 180]);
        message[HEADER + 4..].copy_from_slice(b"hello");
        write(&mut message, &header(), 4);
        seal(&mut message, Pseudo::new(HERE.into(), THERE.into()));
        let mut theirs = TcpHeader::new(40_001, 80, 0xDEAD_BEEF, 64_240);
        (theirs.syn, theirs.acknowledgment_number, theirs.urgent_pointer) = (true, 7, 3);
        theirs.set_options(&[TcpOptionElement::MaximumSegmentSize(1_460)]).unwrap();
        theirs.checksum = theirs.calc_checksum_ipv4_raw(HERE, THERE, b"hello").unwrap();
        assert_eq!(message, [&theirs.to_bytes()[..], b"hello"].concat());
        assert!(Pseudo::new(HERE.into(), THERE.into()).checks(&message));
    }

    #[test]
    fn checksums_hold_over_ipv6_too() {
        let (here, there): ([u8; 16], [u8; 16]) = ([0xFD; 16], [0xFE; 16]);
        let mut message = vec![0; HEADER];
        write(&mut message, &header(), 0);
        let pseudo = Pseudo::new(here.into(), there.into());
        seal(&mut message, pseudo);
        let theirs = TcpHeader::from_slice(&message).unwrap().0;
        assert_eq!(theirs.checksum, theirs.calc_checksum_ipv6_raw(here, there, &[]).unwrap());
        assert!(pseudo.checks(&message));
        message[4] ^= 1;
        assert!(!pseudo.checks(&message));
    }

    #[test]
    fn a_sum_that_the_card_was_to_finish_is_no_fault() {
        let mut message = vec![0; HEADER];
        write(&mut message, &header(), 0);
        let pseudo = Pseudo::new(HERE.into(), THERE.into());
        let unfinished = (!pseudo.sum(HEADER).ones_complement()).to_ne_bytes();
        message[CHECKSUM].copy_from_slice(&unfinished);
        assert!(pseudo.checks(&message));
    }

    #[test]
    fn an_answer_is_read_with_its_way_and_its_options() {
        let mut packet = Vec::new();
        PacketBuilder::ipv4(THERE, HERE, 63)
            .tcp(80, 40_001, 9, 65_160)
            .syn()
            .ack(8)
            .options(&[
                TcpOptionElement::MaximumSegmentSize(1_460),
                TcpOptionElement::SelectiveAcknowledgementPermitted,
                TcpOptionElement::Timestamp(11, 12),
                TcpOptionElement::Noop,
                TcpOptionElement::WindowScale(7),
            ])
            .unwrap()
            .write(&mut packet, &[])
            .unwrap();
        packet.extend_from_slice(&[0; 6]);
        let (of, from, segment) = in_ipv4(&packet).unwrap();
        assert_eq!((of.length, of.ttl, from), (60, 63, IpAddr::from(THERE)));
        let read = read(of, segment).unwrap();
        assert_eq!((read.flags, read.window, read.ack), (Flags::SYN.with(Flags::ACK), 65_160, 8));
        assert_eq!(read.options.to_string(), "mss 1460, sack, timestamps, nop, wscale 7");
        assert_eq!(read.options.timestamps, Some((11, 12)));
        for cut in 0..packet.len() - 6 {
            assert!(in_ipv4(&packet[..cut]).is_none(), "cut at {cut}");
        }
    }

    proptest! {
        #[test]
        fn options_of_any_octets_are_read_to_their_end(octets in prop::collection::vec(any::<u8>(), 0..=40)) {
            prop_assert!(options(&octets).kinds().len() <= octets.len());
        }
    }
}
