//! Datagrams of UDP (RFC 768) as probes, and which answer belongs to which: by the ports, for they carry nothing else that
//! every service gives back.
//!
//! Source ports take turns. An answer that comes when its port has been used again is taken for one to the later probe.

use std::net::IpAddr;

use measure::answer::{Answer, Content, Datagram};

use super::delivered::{Form, Head};
use super::probe::{Aim, Listener, Sources};
use super::segment::{Packet, Pseudo, opened};
use crate::icmp::echo::Family;
use crate::icmp::error::IcmpError;
use crate::native::header;
use crate::wire::{Reading, Wire};

/// Octets of a header.
pub const HEADER: usize = 8;
/// The protocol number of UDP.
pub const UDP: u8 = 17;

const LENGTH: std::ops::Range<usize> = 4..6;
const CHECKSUM: std::ops::Range<usize> = 6..8;

/// Common part of all probes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Our address.
    pub local: IpAddr,
    /// Address of the probed host.
    pub remote: IpAddr,
    /// Source ports.
    pub sources: Sources,
    /// Destination ports.
    pub aim: Aim,
    /// True where the checksum is wrong on purpose: a box that answers does not check it, and is no host.
    pub bad_checksum: bool,
}

/// The wire of probes.
#[derive(Debug)]
pub struct Datagrams<T> {
    shape: Shape,
    listener: T,
    there: Pseudo,
    back: Pseudo,
    /// The latest probe that was written.
    latest: u64,
}

impl<T: Listener> Datagrams<T> {
    /// Probes of this shape, their answers told to `listener`.
    pub fn new(shape: Shape, listener: T) -> Self {
        let (there, back) = (Pseudo::of(UDP, shape.local, shape.remote), Pseudo::of(UDP, shape.remote, shape.local));
        Self { shape, listener, there, back, latest: 0 }
    }

    /// The latest probe between these ports, ours and theirs.
    fn between(&self, ours: u16, theirs: u16) -> Option<u64> {
        let seq = self.shape.sources.latest(self.latest, ours)?;
        (self.shape.aim.port(seq) == theirs).then_some(seq)
    }

    fn datagram(&mut self, head: &Head, of: Packet, from: IpAddr, octets: &[u8]) -> Reading {
        let Some(header) = octets.first_chunk::<HEADER>().copied().filter(|_| from == self.shape.remote) else {
            return Reading::Stray;
        };
        let (source, destination) = ports(header);
        let Some(seq) = self.between(destination, source) else { return Reading::Stray };
        // One that the buffer cut cannot be checked; over IPv4 a sum of 0 is none.
        let whole = usize::from(u16::from_be_bytes([header[4], header[5]])) == octets.len();
        if whole && header[CHECKSUM] != [0, 0] && !self.back.checks_at(octets, CHECKSUM) {
            return Reading::Corrupt(Some(seq));
        }
        let Packet { length, ttl, tos, ip_id, dont_fragment } = of;
        let datagram = Datagram { length, ttl, tos, ip_id, dont_fragment, source };
        self.listener.hear(Answer { seq, at: head.at, from, content: Content::Datagram(datagram) });
        Reading::Reply(seq)
    }

    /// An ICMP error quotes the whole header at least (RFC 792).
    fn refusal(&mut self, head: &Head, quoted: &[u8]) -> Reading {
        let Form::Icmp { kind, code, info } = head.form else { return Reading::Stray };
        let Some(header) = quoted.first_chunk::<HEADER>().copied() else { return Reading::Stray };
        let (ours, theirs) = ports(header);
        let Some(seq) = self.between(ours, theirs) else { return Reading::Stray };
        let content = Content::Icmp { kind, code, info, port: Some(ours) };
        self.listener.hear(Answer { seq, at: head.at, from: head.from, content });
        let family = if self.shape.remote.is_ipv4() { Family::V4 } else { Family::V6 };
        let is_final = IcmpError::of(family, kind, code, info).is_some_and(IcmpError::is_final);
        if is_final { Reading::Refused(seq) } else { Reading::Stray }
    }
}

/// Source and destination.
fn ports(header: [u8; HEADER]) -> (u16, u16) {
    (u16::from_be_bytes([header[0], header[1]]), u16::from_be_bytes([header[2], header[3]]))
}

impl<T: Listener> Wire for Datagrams<T> {
    /// A message shorter than the header stays as it is.
    #[inline]
    fn prepare(&mut self, message: &mut [u8], seq: u64, _flags: header::Flags) {
        self.latest = seq;
        let length = u16::try_from(message.len()).unwrap_or(u16::MAX);
        let Some(header) = message.first_chunk_mut::<HEADER>() else { return };
        header[0..2].copy_from_slice(&self.shape.sources.port(seq).to_be_bytes());
        header[2..4].copy_from_slice(&self.shape.aim.port(seq).to_be_bytes());
        header[LENGTH].copy_from_slice(&length.to_be_bytes());
        header[CHECKSUM].copy_from_slice(&[0, 0]);
        // A sum of 0 would mean that there is none (RFC 768).
        let sum = match self.there.sum(message.len()).add_slice(message).ones_complement() {
            0 => u16::MAX,
            sum => sum,
        };
        message[CHECKSUM].copy_from_slice(&sum.to_ne_bytes());
        if self.shape.bad_checksum {
            message[CHECKSUM.start] ^= 0x55;
        }
    }

    #[inline]
    fn identify(&mut self, reply: &[u8], _oldest: u64) -> Reading {
        let Some((head, rest)) = Head::read(reply) else { return Reading::Stray };
        match head.form {
            Form::Ipv4 => match opened(UDP, rest) {
                Some((of, from, octets)) => self.datagram(&head, of, from, octets),
                None => Reading::Stray,
            },
            Form::Ipv6 { hop_limit, traffic_class } => {
                let of = Packet::over_ipv6(rest.len(), hop_limit, traffic_class);
                self.datagram(&head, of, head.from, rest)
            }
            Form::Icmp { .. } => self.refusal(&head, rest),
        }
    }
}

#[cfg(test)]
mod tests {
    use etherparse::{PacketBuilder, UdpHeader};
    use measure::answer::Class;
    use measure::unit::Instant;
    use test_case::test_case;

    use super::*;
    use crate::syn::delivered::HEAD;

    const HERE: [u8; 4] = [10, 0, 0, 1];
    const THERE: [u8; 4] = [10, 0, 0, 2];

    #[derive(Debug, Default)]
    struct Heard(Vec<Answer>);

    impl Listener for Heard {
        fn hear(&mut self, answer: Answer) {
            self.0.push(answer);
        }
    }

    fn wire(count: u32) -> Datagrams<Heard> {
        let sources = Sources { first: 65_530, count };
        let shape = Shape { local: HERE.into(), remote: THERE.into(), sources, aim: Aim::One(7), bad_checksum: false };
        Datagrams::new(shape, Heard::default())
    }

    fn sent(wire: &mut Datagrams<Heard>, seq: u64, data: usize) -> Vec<u8> {
        let mut message = vec![0x5A; HEADER + data];
        wire.prepare(&mut message, seq, header::Flags::NONE);
        message
    }

    fn delivered(form: Form, from: [u8; 4], rest: &[u8]) -> Vec<u8> {
        let mut buffer = vec![0; HEAD];
        Head { form, from: from.into(), at: Instant(5) }.write(&mut buffer);
        [buffer, rest.to_vec()].concat()
    }

    /// Returns the answer of an echo service to `probe`.
    fn answer(probe: &[u8], from: [u8; 4]) -> Vec<u8> {
        let (ours, theirs) = ports(*probe.first_chunk().unwrap());
        let mut packet = Vec::new();
        PacketBuilder::ipv4(from, HERE, 63).udp(theirs, ours).write(&mut packet, &probe[HEADER..]).unwrap();
        delivered(Form::Ipv4, from, &packet)
    }

    #[test_case(0; "nothing in it")]
    #[test_case(5; "an odd number of octets")]
    fn what_is_written_is_what_etherparse_writes(data: usize) {
        let message = sent(&mut wire(16), 2, data);
        let payload = vec![0x5A; data];
        let mut theirs = UdpHeader::without_ipv4_checksum(65_532, 7, data).unwrap();
        theirs.checksum = theirs.calc_checksum_ipv4_raw(HERE, THERE, &payload).unwrap();
        assert_eq!(message, [&theirs.to_bytes()[..], &payload].concat());
    }

    #[test]
    fn an_answer_belongs_to_the_latest_probe_from_its_port() {
        let mut wire = wire(16);
        let probes: Vec<_> = (0..20).map(|seq| sent(&mut wire, seq, 9)).collect();
        for (probe, seq) in [(3, 19), (4, 4), (15, 15), (19, 19)] {
            assert_eq!(wire.identify(&answer(&probes[probe], THERE), 0), Reading::Reply(seq), "{probe}");
        }
        assert!(wire.listener.0.iter().all(|answer| answer.content.class() == Class::Datagram));
        let Content::Datagram(heard) = wire.listener.0[0].content else { panic!("a datagram") };
        assert_eq!((heard.length, heard.ttl, heard.source), (37, 63, 7));
    }

    #[test]
    fn what_is_not_ours_is_a_stray_and_what_is_broken_is_corrupt() {
        let mut wire = wire(16);
        let probe = sent(&mut wire, 3, 8);
        let reply = answer(&probe, THERE);
        assert_eq!(wire.identify(&answer(&probe, [10, 0, 0, 77]), 0), Reading::Stray, "from another address");
        for octet in [HEAD + 9, HEAD + 21, HEAD + 22] {
            let mut other = reply.clone();
            other[octet] ^= 0x20;
            assert_eq!(wire.identify(&other, 0), Reading::Stray, "octet {octet}");
        }
        let mut broken = reply.clone();
        *broken.last_mut().unwrap() ^= 1;
        assert_eq!(wire.identify(&broken, 0), Reading::Corrupt(Some(3)));
        // Cut behind its header: no more than that is looked at.
        assert_eq!(wire.identify(&reply[..HEAD + 30], 0), Reading::Reply(3));
        for cut in 0..HEAD + 28 {
            assert_eq!(wire.identify(&reply[..cut], 0), Reading::Stray, "cut at {cut}");
        }
    }

    #[test]
    fn an_error_refuses_the_probe_it_quotes_and_advice_does_not() {
        let mut wire = wire(16);
        let probe = sent(&mut wire, 9, 0);
        let quote = |kind, code| delivered(Form::Icmp { kind, code, info: 0 }, THERE, &probe);
        assert_eq!(wire.identify(&quote(3, 3), 0), Reading::Refused(9));
        assert_eq!(wire.identify(&quote(5, 0), 0), Reading::Stray);
        let short = &quote(3, 3)[..HEAD + 7];
        assert_eq!(wire.identify(short, 0), Reading::Stray);
        assert_eq!(wire.listener.0.len(), 2);
    }
}
