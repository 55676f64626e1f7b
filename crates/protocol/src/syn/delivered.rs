//! Form in which a raw link hands over a packet: a head of its own making, and behind it the packet, the segment or the quote.
//!
//! A raw IPv4 socket delivers the IP header, a raw IPv6 socket keeps it to itself and tells the hop limit beside, and an
//! ICMP error comes by the error queue: the wire gets all three in one form.
//!
//! | octets | |
//! |---|---|
//! | 0 | what follows: see [`Form`] |
//! | 1 | hop limit, of IPv6 |
//! | 2-3 | type and code, of ICMP |
//! | 4-7 | further word of the ICMP error |
//! | 8-15 | when it was in the program's hands, ns |
//! | 16 | IP version of the sender's address |
//! | 17 | traffic class of IPv6, where told |
//! | 18 | whether the traffic class was told |
//! | 19 | 0 |
//! | 20-35 | the sender's address |

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use measure::unit::Instant;

/// Octets of the head.
pub const HEAD: usize = 36;

/// Form of the octets behind the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// An IPv4 packet.
    Ipv4,
    /// A TCP segment that came over IPv6.
    Ipv6 {
        /// Its hop limit.
        hop_limit: u8,
        /// Its traffic class, where the socket told.
        traffic_class: Option<u8>,
    },
    /// The TCP segment, or its beginning, that an ICMP error is about.
    Icmp {
        /// The error's type.
        kind: u8,
        /// Its code.
        code: u8,
        /// Its further word: the MTU of "too big".
        info: u32,
    },
}

/// The head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Form of the octets behind it.
    pub form: Form,
    /// Sender.
    pub from: IpAddr,
    /// Instant at which the program had it.
    pub at: Instant,
}

impl Head {
    /// Writes it over the beginning of `buffer`; one that is shorter stays as it is.
    #[inline]
    pub fn write(&self, buffer: &mut [u8]) {
        let Some(head) = buffer.first_chunk_mut::<HEAD>() else { return };
        *head = [0; HEAD];
        match self.form {
            Form::Ipv4 => head[0] = 4,
            Form::Ipv6 { hop_limit, traffic_class } => {
                (head[0], head[1]) = (6, hop_limit);
                (head[17], head[18]) = (traffic_class.unwrap_or(0), u8::from(traffic_class.is_some()));
            }
            Form::Icmp { kind, code, info } => {
                (head[0], head[2], head[3]) = (1, kind, code);
                head[4..8].copy_from_slice(&info.to_be_bytes());
            }
        }
        head[8..16].copy_from_slice(&self.at.0.to_be_bytes());
        match self.from {
            IpAddr::V4(from) => {
                head[16] = 4;
                head[20..24].copy_from_slice(&from.octets());
            }
            IpAddr::V6(from) => {
                head[16] = 6;
                head[20..36].copy_from_slice(&from.octets());
            }
        }
    }

    /// Reads it, and gives what follows. `None`: nothing that a link of ours wrote.
    #[inline]
    pub fn read(delivered: &[u8]) -> Option<(Self, &[u8])> {
        let (head, rest) = delivered.split_first_chunk::<HEAD>()?;
        let form = match head[0] {
            4 => Form::Ipv4,
            6 => Form::Ipv6 { hop_limit: head[1], traffic_class: (head[18] == 1).then_some(head[17]) },
            1 => {
                let info = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
                Form::Icmp { kind: head[2], code: head[3], info }
            }
            _ => return None,
        };
        let address: [u8; 16] = *head[20..].first_chunk()?;
        let from = match head[16] {
            4 => Ipv4Addr::from(*address.first_chunk::<4>()?).into(),
            6 => Ipv6Addr::from(address).into(),
            _ => return None,
        };
        let at = Instant(u64::from_be_bytes(*head[8..].first_chunk()?));
        Some((Self { form, from, at }, rest))
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case(Form::Ipv4, [10, 0, 0, 2].into(); "a packet")]
    #[test_case(Form::Ipv6 { hop_limit: 63, traffic_class: Some(8) }, [0xFE; 16].into(); "a segment over IPv6")]
    #[test_case(Form::Ipv6 { hop_limit: 255, traffic_class: None }, [0xFE; 16].into(); "one of no traffic class")]
    #[test_case(Form::Icmp { kind: 3, code: 4, info: 1_400 }, [10, 0, 0, 9].into(); "an error")]
    fn a_head_is_read_as_it_was_written(form: Form, from: IpAddr) {
        let head = Head { form, from, at: Instant(0x0102_0304_0506) };
        let mut buffer = [0xAA; HEAD + 3];
        head.write(&mut buffer);
        assert_eq!(Head::read(&buffer), Some((head, &[0xAA; 3][..])));
        assert_eq!(Head::read(&buffer[..HEAD - 1]), None);
    }
}
