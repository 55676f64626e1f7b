//! ICMP errors that a hop or the peer's kernel sends in place of a reply (RFC 792, RFC 1122, RFC 1812, RFC 4443).
//!
//! A ping socket hears of them on its error queue, as type, code and information; a raw socket gets the message itself,
//! which quotes the start of the packet it is about.

use std::fmt;

use etherparse::{IpNumber, Ipv4HeaderSlice, Ipv6HeaderSlice};

use crate::icmp::echo::{Family, HEADER};

/// An ICMP error by its meaning; both families share the names where they share the meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IcmpError {
    /// No route to the network.
    NetworkUnreachable,
    /// No one answers for the address on its network.
    HostUnreachable,
    /// The host has no such protocol.
    ProtocolUnreachable,
    /// No one listens on the port.
    PortUnreachable,
    /// The packet is larger than a link on the way, and may not be cut.
    TooBig {
        /// The largest packet that link takes, octets; `None` where the hop does not tell.
        mtu: Option<u32>,
    },
    /// A source route failed.
    SourceRouteFailed,
    /// A filter forbids it.
    Prohibited,
    /// The source address is beyond the scope of the destination's (IPv6).
    BeyondScope,
    /// The source address fails the ingress or egress policy (IPv6).
    SourcePolicy,
    /// The route rejects it (IPv6).
    RouteRejected,
    /// No route for this type of service.
    TypeOfService,
    /// Too low a precedence.
    Precedence,
    /// Unreachable, with a code of no known meaning.
    Unreachable {
        /// The code.
        code: u8,
    },
    /// The hop limit (TTL) ran out on the way.
    HopLimit,
    /// Not all fragments came in time.
    Reassembly,
    /// A field of the packet's header makes no sense to a hop.
    Parameter {
        /// Where, octets from the start of the packet; over IPv4 only told with code 0.
        pointer: Option<u32>,
    },
    /// A hop asks to slow down (IPv4, obsolete since RFC 6633).
    SourceQuench,
    /// A hop names a better first hop; the packet itself went on.
    Redirect,
}

impl IcmpError {
    /// The meaning of an error by its numbers, as the error queue gives them (`ee_type`, `ee_code`, `ee_info`): `info` is
    /// the MTU of a packet too big, the pointer of a parameter problem, else of no meaning. `None`: not an error.
    pub fn of(family: Family, kind: u8, code: u8, info: u32) -> Option<Self> {
        match family {
            Family::V4 => Self::of_v4(kind, code, info),
            Family::V6 => Self::of_v6(kind, code, info),
        }
    }

    fn of_v4(kind: u8, code: u8, info: u32) -> Option<Self> {
        Some(match (kind, code) {
            (3, 0 | 6) => Self::NetworkUnreachable,
            (3, 1 | 7 | 8) => Self::HostUnreachable,
            (3, 2) => Self::ProtocolUnreachable,
            (3, 3) => Self::PortUnreachable,
            // RFC 1191 section 4: a hop that is older leaves the MTU 0.
            (3, 4) => Self::TooBig { mtu: (info != 0).then_some(info) },
            (3, 5) => Self::SourceRouteFailed,
            (3, 9 | 10 | 13) => Self::Prohibited,
            (3, 11 | 12) => Self::TypeOfService,
            (3, 14 | 15) => Self::Precedence,
            (3, code) => Self::Unreachable { code },
            (4, _) => Self::SourceQuench,
            (5, _) => Self::Redirect,
            (11, 1) => Self::Reassembly,
            (11, _) => Self::HopLimit,
            (12, 0) => Self::Parameter { pointer: Some(info) },
            (12, _) => Self::Parameter { pointer: None },
            _ => return None,
        })
    }

    fn of_v6(kind: u8, code: u8, info: u32) -> Option<Self> {
        Some(match (kind, code) {
            (1, 0) => Self::NetworkUnreachable,
            (1, 1) => Self::Prohibited,
            (1, 2) => Self::BeyondScope,
            (1, 3) => Self::HostUnreachable,
            (1, 4) => Self::PortUnreachable,
            (1, 5) => Self::SourcePolicy,
            (1, 6) => Self::RouteRejected,
            (1, code) => Self::Unreachable { code },
            (2, _) => Self::TooBig { mtu: (info != 0).then_some(info) },
            (3, 1) => Self::Reassembly,
            (3, _) => Self::HopLimit,
            (4, _) => Self::Parameter { pointer: Some(info) },
            (137, _) => Self::Redirect,
            _ => return None,
        })
    }

    /// Returns true where the request it is about will get no reply; the others are advice.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::SourceQuench | Self::Redirect)
    }
}

impl fmt::Display for IcmpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NetworkUnreachable => "network unreachable",
            Self::HostUnreachable => "host unreachable",
            Self::ProtocolUnreachable => "protocol unreachable",
            Self::PortUnreachable => "port unreachable",
            Self::TooBig { mtu: Some(mtu) } => return write!(f, "packet too big for a link of {mtu} B on the way"),
            Self::TooBig { mtu: None } => "packet too big for a link on the way",
            Self::SourceRouteFailed => "source route failed",
            Self::Prohibited => "forbidden by a filter",
            Self::BeyondScope => "beyond the scope of the source address",
            Self::SourcePolicy => "source address against the policy of the route",
            Self::RouteRejected => "rejected by the route",
            Self::TypeOfService => "unreachable for this type of service",
            Self::Precedence => "precedence too low",
            Self::Unreachable { code } => return write!(f, "unreachable (code {code})"),
            Self::HopLimit => "hop limit (TTL) exceeded on the way",
            Self::Reassembly => "fragments did not all arrive in time",
            Self::Parameter { pointer: Some(at) } => return write!(f, "header field at octet {at} not accepted"),
            Self::Parameter { pointer: None } => "header not accepted",
            Self::SourceQuench => "asked to slow down",
            Self::Redirect => "redirected to another first hop",
        })
    }
}

/// An ICMP error as a raw socket gets it, about an echo request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoError {
    /// The error.
    pub error: IcmpError,
    /// Identifier of the request it is about.
    pub identifier: u16,
    /// Lower 16 bits of the sequence number of the request it is about.
    pub short_seq: u16,
}

impl EchoError {
    /// Reads an ICMP message (no IP header in front); `None` where it is no error, or not about an echo request.
    pub fn read(family: Family, message: &[u8]) -> Option<Self> {
        let (header, quoted) = message.split_first_chunk::<HEADER>()?;
        let word = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
        // The MTU of RFC 1191 is the lower half of the second word; the parameter pointer is the highest octet.
        let info = match (family, header[0]) {
            (Family::V4, 3) => word & 0xFFFF,
            (Family::V4, 12) => word >> 24,
            _ => word,
        };
        let error = IcmpError::of(family, header[0], header[1], info)?;
        let request = quoted_icmp(family, quoted)?.first_chunk::<HEADER>()?;
        if request[0] != family.request() {
            return None;
        }
        let half = |at: usize| u16::from_be_bytes([request[at], request[at + 1]]);
        Some(Self { error, identifier: half(4), short_seq: half(6) })
    }
}

/// The ICMP message within a quoted packet; IPv6 extension headers are not followed, for our requests have none.
fn quoted_icmp(family: Family, quoted: &[u8]) -> Option<&[u8]> {
    let (protocol, length) = match family {
        Family::V4 => {
            let header = Ipv4HeaderSlice::from_slice(quoted).ok()?;
            (header.protocol() == IpNumber::ICMP, header.slice().len())
        }
        Family::V6 => {
            let header = Ipv6HeaderSlice::from_slice(quoted).ok()?;
            (header.next_header() == IpNumber::IPV6_ICMP, header.slice().len())
        }
    };
    quoted.get(length..).filter(|_| protocol)
}

#[cfg(test)]
mod tests {
    use etherparse::{Icmpv4Type, Icmpv6Type, PacketBuilder, icmpv4, icmpv6};
    use proptest::prelude::*;
    use test_case::test_case;

    use super::*;

    #[test_case(Family::V4, 3, 0, 0, IcmpError::NetworkUnreachable)]
    #[test_case(Family::V4, 3, 1, 0, IcmpError::HostUnreachable)]
    #[test_case(Family::V4, 3, 3, 0, IcmpError::PortUnreachable)]
    #[test_case(Family::V4, 3, 4, 1_400, IcmpError::TooBig { mtu: Some(1_400) })]
    #[test_case(Family::V4, 3, 4, 0, IcmpError::TooBig { mtu: None }; "an old hop")]
    #[test_case(Family::V4, 3, 13, 0, IcmpError::Prohibited)]
    #[test_case(Family::V4, 3, 99, 0, IcmpError::Unreachable { code: 99 })]
    #[test_case(Family::V4, 11, 0, 0, IcmpError::HopLimit)]
    #[test_case(Family::V4, 11, 1, 0, IcmpError::Reassembly)]
    #[test_case(Family::V4, 12, 0, 20, IcmpError::Parameter { pointer: Some(20) })]
    #[test_case(Family::V6, 1, 0, 0, IcmpError::NetworkUnreachable; "v6 no route")]
    #[test_case(Family::V6, 1, 1, 0, IcmpError::Prohibited; "v6 prohibited")]
    #[test_case(Family::V6, 1, 3, 0, IcmpError::HostUnreachable; "v6 address")]
    #[test_case(Family::V6, 1, 4, 0, IcmpError::PortUnreachable; "v6 port")]
    #[test_case(Family::V6, 2, 0, 1_280, IcmpError::TooBig { mtu: Some(1_280) }; "v6 too big")]
    #[test_case(Family::V6, 3, 0, 0, IcmpError::HopLimit; "v6 hop limit")]
    #[test_case(Family::V6, 4, 0, 40, IcmpError::Parameter { pointer: Some(40) }; "v6 parameter")]
    fn numbers_have_their_meaning(family: Family, kind: u8, code: u8, info: u32, error: IcmpError) {
        assert_eq!(IcmpError::of(family, kind, code, info), Some(error));
        assert!(!error.to_string().is_empty());
    }

    #[test]
    fn what_is_no_error_has_none() {
        for (family, kind) in [(Family::V4, 0), (Family::V4, 8), (Family::V6, 128), (Family::V6, 129)] {
            assert_eq!(IcmpError::of(family, kind, 0, 0), None);
        }
        assert!(!IcmpError::Redirect.is_final() && IcmpError::HopLimit.is_final());
    }

    #[test]
    fn an_error_names_the_request_it_is_about() {
        let mut quoted = Vec::new();
        let request = PacketBuilder::ipv4([10, 0, 0, 1], [10, 9, 9, 9], 1).icmpv4_echo_request(77, 5);
        request.write(&mut quoted, &[0; 56]).unwrap();
        let kind = icmpv4::DestUnreachableHeader::FragmentationNeeded { next_hop_mtu: 1_300 };
        let header = etherparse::Icmpv4Header::with_checksum(Icmpv4Type::DestinationUnreachable(kind), &quoted[..28]);
        let message = [&header.to_bytes()[..], &quoted[..28]].concat();
        let error = IcmpError::TooBig { mtu: Some(1_300) };
        assert_eq!(EchoError::read(Family::V4, &message), Some(EchoError { error, identifier: 77, short_seq: 5 }));
        assert_eq!(EchoError::read(Family::V4, &message[..35]), None, "the quote is too short to say");

        let mut quoted = Vec::new();
        let request = PacketBuilder::ipv6([1; 16], [2; 16], 1).icmpv6_echo_request(78, 6);
        request.write(&mut quoted, &[0; 56]).unwrap();
        let kind = Icmpv6Type::TimeExceeded(icmpv6::TimeExceededCode::HopLimitExceeded);
        let message = [&etherparse::Icmpv6Header::new(kind).to_bytes()[..], &quoted].concat();
        let error = IcmpError::HopLimit;
        assert_eq!(EchoError::read(Family::V6, &message), Some(EchoError { error, identifier: 78, short_seq: 6 }));
    }

    #[test]
    fn an_error_about_something_else_is_not_ours() {
        let mut quoted = Vec::new();
        PacketBuilder::ipv4([10, 0, 0, 1], [10, 9, 9, 9], 1).udp(1, 2).write(&mut quoted, &[0; 20]).unwrap();
        let message = [&[3, 3, 0, 0, 0, 0, 0, 0][..], &quoted].concat();
        assert_eq!(EchoError::read(Family::V4, &message), None);
    }

    proptest! {
        #[test]
        fn nothing_panics(octets in prop::collection::vec(any::<u8>(), 0..128)) {
            EchoError::read(Family::V4, &octets);
            EchoError::read(Family::V6, &octets);
        }
    }
}
