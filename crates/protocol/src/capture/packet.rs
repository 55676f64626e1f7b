//! From a frame to the flow it belongs to and the length of its payload, by the headers alone.
//!
//! `None` is what has neither: other protocols, fragments after the first, headers that are cut off or make no sense.

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
/// What stands in place of it for a tag before the real one: 802.1Q, 802.1ad, and what was used before that.
const TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// More tags than this are nobody's.
const MOST_TAGS: usize = 4;

/// What one packet says of its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Whose.
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
    /// Whether it opens the connection, which takes a number of its own.
    pub opens: bool,
}

/// What a kept packet says of its flow.
pub fn read(link: Link, record: &Record<'_>) -> Option<Segment> {
    let packet = network(link, record.kept)?;
    // What the headers of IP say where they say it: frames are padded, and kept in part.
    let length = record.length as usize - (record.kept.len() - packet.len());
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

/// What follows an `EtherType` and the tags before it.
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

fn version_4(packet: &[u8], length: usize) -> Option<Segment> {
    let header = Ipv4HeaderSlice::from_slice(packet).ok()?;
    if header.fragments_offset().value() > 0 {
        return None;
    }
    let ends = (header.source_addr().into(), header.destination_addr().into());
    // 0 is what a kernel writes that hands more than 64 KiB to the card at once.
    let whole = if header.total_len() == 0 { length } else { header.total_len().into() };
    let at = header.slice().len();
    transport(ends, header.protocol(), packet.get(at..)?, whole.checked_sub(at)?, header.more_fragments())
}

fn version_6(packet: &[u8], length: usize) -> Option<Segment> {
    let header = Ipv6HeaderSlice::from_slice(packet).ok()?;
    let ends = (header.source_addr().into(), header.destination_addr().into());
    let at = header.slice().len();
    let (extensions, protocol, rest) = Ipv6ExtensionsSlice::from_slice(header.next_header(), packet.get(at..)?).ok()?;
    let later =
        |extension| matches!(extension, Ipv6ExtensionSlice::Fragment(part) if part.fragment_offset().value() > 0);
    if extensions.clone().into_iter().any(later) {
        return None;
    }
    let whole = match header.payload_length() {
        0 => length.checked_sub(at)?,
        said => said.into(),
    };
    transport(ends, protocol, rest, whole.checked_sub(extensions.slice().len())?, extensions.is_fragmenting_payload())
}

/// The segment in `body`, `whole` bytes long as it passed; of a datagram in fragments this is the first.
fn transport(
    ends: (IpAddr, IpAddr),
    protocol: IpNumber,
    body: &[u8],
    whole: usize,
    in_fragments: bool,
) -> Option<Segment> {
    let flow =
        |transport, from, to| Flow { transport, from: SocketAddr::new(ends.0, from), to: SocketAddr::new(ends.1, to) };
    match protocol {
        ip_number::UDP => {
            let header = UdpHeaderSlice::from_slice(body).ok()?;
            let flow = flow(Transport::Udp, header.source_port(), header.destination_port());
            // 0 is what a datagram says that is too long to say it.
            let said = if header.length() == 0 { whole } else { header.length().into() };
            Some(Segment { flow, payload: u32::try_from(said.checked_sub(8)?).ok()?, sequence: None })
        }
        ip_number::TCP if !in_fragments => {
            let header = TcpHeaderSlice::from_slice(body).ok()?;
            let flow = flow(Transport::Tcp, header.source_port(), header.destination_port());
            let payload = u32::try_from(whole.checked_sub(header.slice().len())?).ok()?;
            let sequence = Sequence { number: header.sequence_number(), opens: header.syn() };
            Some(Segment { flow, payload, sequence: Some(sequence) })
        }
        _ => None,
    }
}
