//! Reads a captured packet of a measurement that is being made: its place in the stream, its number, its way.

use std::net::{IpAddr, SocketAddr};

use etherparse::{IpNumber, TcpHeaderSlice, UdpHeaderSlice, ip_number};
use measure::wire::{Mark, Seen, Segment, Way, What};

use crate::capture::packet::{Inner, Part, datagram_length, inner};
use crate::icmp::echo::HEADER as ECHO;
use crate::native::header::{Flags, Header};
use crate::native::preamble::MAGIC;

/// Measurement whose packets are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The peer; of ICMP the port means nothing, and 0 is any port.
    pub peer: SocketAddr,
    /// Transport of the measurement.
    pub carrier: Carrier,
    /// Marks in its messages.
    pub marks: Marks,
}

/// Transport of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// Connections.
    Tcp,
    /// Datagrams.
    Udp,
    /// Echoes.
    Icmp,
}

/// Marks that identify messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// Nothing that is read here.
    None,
    /// They begin with our header ([`Header`]).
    Header,
    /// They begin with the numbers of a stream of datagrams ([`crate::native::stream::Numbers`]).
    Numbers,
}

/// Passage of a packet, as the capture reports it beside the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Its time, nanoseconds since 1970.
    pub at_ns: u64,
    /// True where this host sent it.
    pub outgoing: bool,
    /// Index of the interface.
    pub interface: u32,
    /// Length of the packet of IP as it passed, bytes.
    pub length: u32,
}

/// Reads a packet of IP, of which the beginning was kept; `None` where it is not the measurement's.
///
/// Over loopback every packet passes twice, once each way: for packets to the peer the outgoing copy counts, for
/// packets from it the other.
pub fn look(packet: &[u8], passage: Passage, target: &Target) -> Option<Seen> {
    let inner = inner(packet, passage.length as usize)?;
    if inner.protocol != target.protocol() {
        return None;
    }
    let (from, to) = inner.ends;
    let (way, ours, theirs) = if passage.outgoing { (Way::Out, from, to) } else { (Way::In, to, from) };
    if theirs != target.peer.ip().to_canonical() {
        return None;
    }
    let seen = |local: u16, remote: u16, what, payload_bytes, mark| Seen {
        at_ns: passage.at_ns,
        way,
        interface: passage.interface,
        local: SocketAddr::new(ours, local),
        remote: SocketAddr::new(theirs, if target.carrier == Carrier::Icmp { 0 } else { remote }),
        packet_bytes: u32::try_from(inner.packet).unwrap_or(u32::MAX),
        payload_bytes,
        what,
        mark,
    };
    if inner.part == Part::Later {
        return Some(seen(0, target.peer.port(), What::Fragment, u32::try_from(inner.whole).ok()?, Mark::Aside));
    }
    let Found { local, remote, what, payload, front } = target.found(&inner, way)?;
    let to_the_port = remote.is_none_or(|port| [0, port].contains(&target.peer.port()));
    to_the_port.then(|| seen(local, remote.unwrap_or(0), what, payload, target.mark(front, what, payload)))
}

/// Content of the headers behind IP.
struct Found<'a> {
    local: u16,
    remote: Option<u16>,
    what: What,
    payload: u32,
    front: &'a [u8],
}

impl Target {
    /// Number of the protocol over IP.
    pub fn protocol(&self) -> IpNumber {
        match (self.carrier, self.peer.ip().to_canonical()) {
            (Carrier::Tcp, _) => ip_number::TCP,
            (Carrier::Udp, _) => ip_number::UDP,
            (Carrier::Icmp, IpAddr::V4(_)) => ip_number::ICMP,
            (Carrier::Icmp, IpAddr::V6(_)) => ip_number::IPV6_ICMP,
        }
    }

    /// Types of an echo's request and reply.
    pub(super) fn echo_types(&self) -> (u8, u8) {
        if self.peer.ip().to_canonical().is_ipv4() { (8, 0) } else { (128, 129) }
    }

    fn found<'a>(&self, inner: &Inner<'a>, way: Way) -> Option<Found<'a>> {
        let ends = |source: u16, destination: u16| match way {
            Way::Out => (source, Some(destination)),
            Way::In => (destination, Some(source)),
        };
        match self.carrier {
            Carrier::Tcp => {
                let header = TcpHeaderSlice::from_slice(inner.body).ok()?;
                let (local, remote) = ends(header.source_port(), header.destination_port());
                let at = header.slice().len();
                let payload = u32::try_from(inner.whole.checked_sub(at)?).ok()?;
                Some(Found { local, remote, what: What::Segment(head(&header)), payload, front: &inner.body[at..] })
            }
            Carrier::Udp => {
                let header = UdpHeaderSlice::from_slice(inner.body).ok()?;
                let (local, remote) = ends(header.source_port(), header.destination_port());
                // Where several segments were merged, the header has the length of the first alone.
                let merged = u32::try_from(inner.whole.checked_sub(8)?).ok()?;
                let payload = match inner.part {
                    Part::Whole => merged,
                    _ => datagram_length(&header, inner.whole)?,
                };
                Some(Found { local, remote, what: What::Datagram, payload, front: inner.body.get(8..)? })
            }
            Carrier::Icmp => {
                let message = inner.body.first_chunk::<ECHO>()?;
                let (request, reply) = self.echo_types();
                let wanted = if way == Way::Out { request } else { reply };
                let identifier = u16::from_be_bytes([message[4], message[5]]);
                let payload = u32::try_from(inner.whole.checked_sub(ECHO)?).ok()?;
                let found = Found { local: identifier, remote: None, what: What::Datagram, payload, front: inner.body };
                (message[0] == wanted && message[1] == 0).then_some(found)
            }
        }
    }

    fn mark(&self, front: &[u8], what: What, payload_bytes: u32) -> Mark {
        if self.carrier == Carrier::Icmp {
            return Mark::Number(u64::from(u16::from_be_bytes([front[6], front[7]])));
        }
        match self.marks {
            // A datagram of nothing is no message: netperf ends a test by some.
            Marks::None if what == What::Datagram && payload_bytes == 0 => Mark::Aside,
            Marks::None => Mark::None,
            // The greeting of a data connection, before its first message.
            Marks::Header if front.starts_with(&MAGIC) => Mark::Aside,
            Marks::Header => match Header::read(front) {
                Some(header) if header.flags.has(Flags::WARM_UP) || header.flags.has(Flags::START) => Mark::Aside,
                Some(header) => Mark::Number(header.seq),
                // A message of a connection goes on in another segment; no datagram of ours is without a header.
                None if matches!(what, What::Segment(_)) => Mark::None,
                None => Mark::Aside,
            },
            // Version 1 of the layout, and data: the greeting has octets of the session's token there.
            Marks::Numbers => match front.get(4..6) {
                Some([1, 1]) => Mark::None,
                _ => Mark::Aside,
            },
        }
    }
}

fn head(header: &TcpHeaderSlice<'_>) -> Segment {
    Segment {
        number: header.sequence_number(),
        acknowledges: header.acknowledgment_number(),
        syn: header.syn(),
        ack: header.ack(),
        fin: header.fin(),
        rst: header.rst(),
    }
}

#[cfg(test)]
mod tests {
    use etherparse::PacketBuilder;
    use test_case::test_case;

    use super::*;
    use crate::native::header::Token;

    const NEAR: [u8; 4] = [10, 0, 0, 1];
    const FAR: [u8; 4] = [10, 0, 0, 2];

    fn target(carrier: Carrier, marks: Marks) -> Target {
        Target { peer: (FAR, 7_663).into(), carrier, marks }
    }

    fn passage(outgoing: bool, packet: &[u8]) -> Passage {
        Passage { at_ns: 9, outgoing, interface: 4, length: packet.len() as u32 }
    }

    fn written(builder: etherparse::PacketBuilderStep<etherparse::UdpHeader>, payload: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        builder.write(&mut packet, payload).unwrap();
        packet
    }

    fn message(flags: Flags) -> [u8; 64] {
        let mut message = [0; 64];
        Header { token: Token([7; 16]), seq: 11, flags, flow: 0, word: 64 }.write(&mut message);
        message
    }

    #[test_case(Flags::NONE, Mark::Number(11); "recorded")]
    #[test_case(Flags::SILENT, Mark::Number(11); "one way")]
    #[test_case(Flags::WARM_UP, Mark::Aside; "of the warm-up")]
    fn a_datagram_says_whether_it_is_recorded(flags: Flags, mark: Mark) {
        let packet = written(PacketBuilder::ipv4(NEAR, FAR, 64).udp(40_000, 7_663), &message(flags));
        let seen = look(&packet, passage(true, &packet), &target(Carrier::Udp, Marks::Header)).unwrap();
        assert_eq!((seen.way, seen.mark, seen.what), (Way::Out, mark, What::Datagram));
        assert_eq!((seen.local, seen.remote), ((NEAR, 40_000).into(), (FAR, 7_663).into()));
        assert_eq!((seen.payload_bytes, seen.packet_bytes, seen.interface, seen.at_ns), (64, 92, 4, 9));
        // Its other copy over loopback, and what is of somebody else.
        assert_eq!(look(&packet, passage(false, &packet), &target(Carrier::Udp, Marks::Header)), None);
        assert_eq!(look(&packet, passage(true, &packet), &target(Carrier::Tcp, Marks::Header)), None);
    }

    #[test]
    fn the_beginning_of_a_packet_is_enough() {
        let packet = written(PacketBuilder::ipv4(FAR, NEAR, 64).udp(7_663, 40_000), &[0; 900]);
        let seen = look(&packet[..60], passage(false, &packet), &target(Carrier::Udp, Marks::None)).unwrap();
        assert_eq!((seen.way, seen.payload_bytes, seen.packet_bytes), (Way::In, 900, 928));
        for cut in 0..28 {
            assert_eq!(
                look(&packet[..cut], passage(false, &packet), &target(Carrier::Udp, Marks::None)),
                None,
                "{cut}"
            );
        }
    }

    #[test]
    fn a_segment_is_read_with_its_flags() {
        let mut packet = Vec::new();
        PacketBuilder::ipv6([1; 16], [2; 16], 64)
            .tcp(7_663, 5, 77, 1_000)
            .syn()
            .ack(34)
            .write(&mut packet, &[])
            .unwrap();
        let target = Target { peer: ([1; 16], 7_663).into(), ..target(Carrier::Tcp, Marks::None) };
        let seen = look(&packet, passage(false, &packet), &target).unwrap();
        let head = Segment { number: 77, acknowledges: 34, syn: true, ack: true, ..Segment::default() };
        assert_eq!((seen.what, seen.local.port(), seen.payload_bytes), (What::Segment(head), 5, 0));
    }

    #[test]
    fn an_echo_over_loopback_counts_once_each_way() {
        let here = [127, 0, 0, 1];
        let target = Target { peer: (here, 0).into(), ..target(Carrier::Icmp, Marks::None) };
        let (mut request, mut reply) = (Vec::new(), Vec::new());
        PacketBuilder::ipv4(here, here, 64).icmpv4_echo_request(9, 3).write(&mut request, &[0; 56]).unwrap();
        PacketBuilder::ipv4(here, here, 64).icmpv4_echo_reply(9, 3).write(&mut reply, &[0; 56]).unwrap();
        let ways = |packet: &[u8]| {
            [true, false].map(|outgoing| look(packet, passage(outgoing, packet), &target).map(|seen| seen.way))
        };
        assert_eq!((ways(&request), ways(&reply)), ([Some(Way::Out), None], [None, Some(Way::In)]));
        let seen = look(&request, passage(true, &request), &target).unwrap();
        assert_eq!((seen.local.port(), seen.mark, seen.payload_bytes), (9, Mark::Number(3), 56));
    }

    #[test]
    fn fragments_after_the_first_have_no_port() {
        let mut packet = written(PacketBuilder::ipv4(NEAR, FAR, 64).udp(40_000, 7_663), &[0; 64]);
        packet[6] = 0x20;
        let first = look(&packet, passage(true, &packet), &target(Carrier::Udp, Marks::None)).unwrap();
        assert_eq!((first.what, first.local.port()), (What::Datagram, 40_000));
        packet[7] = 0xb9;
        let later = look(&packet, passage(true, &packet), &target(Carrier::Udp, Marks::None)).unwrap();
        assert_eq!((later.what, later.local.port(), later.mark), (What::Fragment, 0, Mark::Aside));
    }

    #[test]
    fn a_stream_of_datagrams_is_told_from_its_greeting() {
        let mut datagram = [0; 100];
        datagram[4..6].copy_from_slice(&[1, 1]);
        let of = |payload: &[u8]| {
            let packet = written(PacketBuilder::ipv4(NEAR, FAR, 64).udp(40_000, 7_663), payload);
            look(&packet, passage(true, &packet), &target(Carrier::Udp, Marks::Numbers)).unwrap().mark
        };
        assert_eq!((of(&datagram), of(&message(Flags::WARM_UP)), of(&[])), (Mark::None, Mark::Aside, Mark::Aside));
        datagram[5] = 2;
        assert_eq!(of(&datagram), Mark::Aside, "what says that it was the last");
    }
}
