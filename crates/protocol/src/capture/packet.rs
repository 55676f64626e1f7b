//! From a frame to the flow it belongs to and the length of its payload, by the headers alone.
//!
//! `None` for packets that have neither: other protocols, fragments after the first, headers that are cut off or make no sense.

use std::net::{IpAddr, SocketAddr};

use etherparse::{
    IpNumber, Ipv4HeaderSlice, Ipv6ExtensionSlice, Ipv6ExtensionsSlice, Ipv6HeaderSlice, TcpHeaderSlice,
    UdpHeaderSlice, ip_number,
};

use crate::capture::file::{Link, Record};
use crate::capture::flow::{Flow, Transport};

/// `EtherType` of IPv4.
const IPV4: u16 = 0x0800;
/// `EtherType` of IPv6.
const IPV6: u16 = 0x86dd;
/// Values in place of an `EtherType` for a tag before the real one: 802.1Q, 802.1ad, and an older one.
const TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// More tags than this are nobody's.
const MOST_TAGS: usize = 4;

/// Part of a packet that belongs to its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Flow of the packet.
    pub flow: Flow,
    /// Length of its payload, bytes.
    pub payload: u32,
    /// Where it stands in the stream; absent for datagrams.
    pub sequence: Option<Sequence>,
}

/// Where a segment of TCP stands in its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// Sequence number of its first byte.
    pub number: u32,
    /// True where it opens the connection, which takes a number of its own.
    pub opens: bool,
}

/// Reads the flow's part of a kept packet; `None` where it is no UDP or TCP, or a later fragment.
pub fn read(link: Link, record: &Record<'_>) -> Option<Segment> {
    let packet = network(link, record.kept)?;
    // The headers of IP give the length, where they have it: frames are padded, and kept in part.
    let length = record.length as usize - (record.kept.len() - packet.len());
    let inner = inner(packet, length)?;
    if inner.part == Part::Later {
        return None;
    }
    transport(&inner)
}

/// Payload of a packet of IP, behind all headers of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inner<'a> {
    /// Source and destination.
    pub ends: (IpAddr, IpAddr),
    /// Protocol of the payload.
    pub protocol: IpNumber,
    /// The part of it that was kept.
    pub body: &'a [u8],
    /// Its length as it passed, bytes.
    pub whole: usize,
    /// Length of the packet as it passed, bytes of IP.
    pub packet: usize,
    /// Place of the payload in its datagram.
    pub part: Part,
}

/// Part of a datagram that a packet holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All.
    Whole,
    /// The first fragment of several.
    First,
    /// A later one: without the header of its datagram.
    Later,
}

/// Reads the payload of a packet of IP that was `length` bytes long as it passed; `None` where it is none, or cut within
/// its headers.
pub fn inner(packet: &[u8], length: usize) -> Option<Inner<'_>> {
    match packet.first()? >> 4 {
        4 => version_4(packet, length),
        6 => version_6(packet, length),
        _ => None,
    }
}

/// The packet of IP in a frame.
fn network(link: Link, frame: &[u8]) -> Option<&[u8]> {
    match link {
        Link::Raw => Some(frame),
        // The family's number differs by system: the packet itself says its version.
        Link::Null => frame.get(4..),
        Link::Ethernet => tagged(frame.get(12..)?),
        Link::Cooked => tagged(frame.get(14..)?),
        Link::Cooked2 => is_ip(word(frame, 0)?).then(|| frame.get(20..))?,
    }
}

/// Skips an `EtherType` of IP and the tags before it; `None` where there is none.
fn tagged(mut rest: &[u8]) -> Option<&[u8]> {
    for _ in 0..=MOST_TAGS {
        let kind = word(rest, 0)?;
        if is_ip(kind) {
            return rest.get(2..);
        }
        if !TAGS.contains(&kind) {
            return None;
        }
        rest = rest.get(4..)?;
    }
    None
}

fn is_ip(kind: u16) -> bool {
    matches!(kind, IPV4 | IPV6)
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn version_4(packet: &[u8], length: usize) -> Option<Inner<'_>> {
    let header = Ipv4HeaderSlice::from_slice(packet).ok()?;
    let part = match (header.fragments_offset().value(), header.more_fragments()) {
        (0, false) => Part::Whole,
        (0, true) => Part::First,
        _ => Part::Later,
    };
    let ends = (header.source_addr().into(), header.destination_addr().into());
    // A kernel that hands more than 64 KiB to the card at once writes 0.
    let packet_length = if header.total_len() == 0 { length } else { header.total_len().into() };
    let at = header.slice().len();
    let (body, whole) = (packet.get(at..)?, packet_length.checked_sub(at)?);
    Some(Inner { ends, protocol: header.protocol(), body, whole, packet: packet_length, part })
}

fn version_6(packet: &[u8], length: usize) -> Option<Inner<'_>> {
    let header = Ipv6HeaderSlice::from_slice(packet).ok()?;
    let ends = (header.source_addr().into(), header.destination_addr().into());
    let at = header.slice().len();
    let (extensions, protocol, rest) = Ipv6ExtensionsSlice::from_slice(header.next_header(), packet.get(at..)?).ok()?;
    let later =
        |extension| matches!(extension, Ipv6ExtensionSlice::Fragment(part) if part.fragment_offset().value() > 0);
    let part = match extensions.is_fragmenting_payload() {
        true if extensions.clone().into_iter().any(later) => Part::Later,
        true => Part::First,
        false => Part::Whole,
    };
    let whole = match header.payload_length() {
        0 => length.checked_sub(at)?,
        said => said.into(),
    };
    let (packet, whole) = (whole + at, whole.checked_sub(extensions.slice().len())?);
    Some(Inner { ends, protocol, body: rest, whole, packet, part })
}

/// The segment in a packet that holds its head; of a datagram in fragments `whole` is the length of the first.
fn transport(inner: &Inner<'_>) -> Option<Segment> {
    let Inner { ends, body, whole, .. } = *inner;
    let flow =
        |transport, from, to| Flow { transport, from: SocketAddr::new(ends.0, from), to: SocketAddr::new(ends.1, to) };
    match inner.protocol {
        ip_number::UDP => {
            let header = UdpHeaderSlice::from_slice(body).ok()?;
            let flow = flow(Transport::Udp, header.source_port(), header.destination_port());
            let payload = datagram_length(&header, whole)?;
            Some(Segment { flow, payload, sequence: None })
        }
        ip_number::TCP if inner.part == Part::Whole => {
            let header = TcpHeaderSlice::from_slice(body).ok()?;
            let flow = flow(Transport::Tcp, header.source_port(), header.destination_port());
            let payload = u32::try_from(whole.checked_sub(header.slice().len())?).ok()?;
            let sequence = Sequence { number: header.sequence_number(), opens: header.syn() };
            Some(Segment { flow, payload, sequence: Some(sequence) })
        }
        _ => None,
    }
}

/// Payload of a datagram, bytes.
pub(super) fn datagram_length(header: &UdpHeaderSlice<'_>, whole: usize) -> Option<u32> {
    // A datagram that is too long for the field says 0.
    let said = if header.length() == 0 { whole } else { header.length().into() };
    u32::try_from(said.checked_sub(8)?).ok()
}
