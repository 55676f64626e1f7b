//! Which answer belongs to which probe: by ports and numbers, never by order.
//!
//! Each probe has a sequence number of its own, far enough from its neighbours' that what acknowledges one acknowledges no
//! other. Source ports take turns: a port that was just used may still be known to the far side as half a connection. What
//! comes is told to a [`Listener`] besides, with all that speaks of its sender.

use std::net::IpAddr;

use measure::answer::{Answer, Content, Flags, Segment};

use super::delivered::{Form, Head};
use super::segment::{self, HEADER, Header, MOST_OPTIONS, Packet, Pseudo};
use crate::icmp::echo::Family;
use crate::icmp::error::IcmpError;
use crate::native::header;
use crate::wire::{Reading, Wire};

/// The options of a SYN of ours: the largest segment of an Ethernet path. Bare SYNs are often filtered.
pub const MSS: [u8; 4] = [2, 4, 5, 180];
/// The window of a probe: what Linux opens with.
pub const WINDOW: u16 = 64_240;

/// What every probe of a run has in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Our address.
    pub local: IpAddr,
    /// Whom is probed.
    pub remote: IpAddr,
    /// Source ports.
    pub sources: Sources,
    /// Destination ports.
    pub aim: Aim,
    /// The flags.
    pub flags: Flags,
    /// The window.
    pub window: u16,
    /// The options, a multiple of four octets up to [`MOST_OPTIONS`].
    pub options: Vec<u8>,
    /// Octets of payload.
    pub payload: usize,
    /// One sequence number for all, in place of one for each.
    pub seq: Option<u32>,
    /// One acknowledgement for all, likewise.
    pub ack: Option<u32>,
    /// Whether the checksum is wrong on purpose: what answers does not look at it, and is no host.
    pub bad_checksum: bool,
    /// Where the sequence numbers begin.
    pub base: u32,
}

impl Shape {
    /// SYNs from `local` to `remote`, numbered from `base` on.
    pub fn syn(local: IpAddr, remote: IpAddr, sources: Sources, aim: Aim, base: u32) -> Self {
        Self {
            local,
            remote,
            sources,
            aim,
            flags: Flags::SYN,
            window: WINDOW,
            options: MSS.to_vec(),
            payload: 0,
            seq: None,
            ack: None,
            bad_checksum: false,
            base,
        }
    }

    /// Octets of a probe, header and all.
    pub fn length(&self) -> usize {
        HEADER + self.options.len().min(MOST_OPTIONS) + self.payload
    }
}

/// Source ports in turn: `count` of them from `first` on, beyond 65,535 from 0 again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sources {
    /// The port of probe 0.
    pub first: u16,
    /// How many there are, 1 to 65,536.
    pub count: u32,
}

impl Sources {
    /// The port of a probe.
    #[inline]
    pub fn port(self, seq: u64) -> u16 {
        self.first.wrapping_add((seq % u64::from(self.count.max(1))) as u16)
    }

    /// Which of them it is, from 0; `None`: none of them.
    #[inline]
    pub fn place(self, port: u16) -> Option<u32> {
        let place = u32::from(port.wrapping_sub(self.first));
        (place < self.count).then_some(place)
    }
}

/// Destination ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// Always this one.
    One(u16),
    /// The next with each probe.
    Rising(u16),
    /// These two in turn.
    Two(u16, u16),
}

impl Aim {
    /// The port of a probe.
    #[inline]
    pub fn port(self, seq: u64) -> u16 {
        match self {
            Self::One(port) => port,
            Self::Rising(first) => first.wrapping_add(seq as u16),
            Self::Two(first, second) => {
                if seq.is_multiple_of(2) {
                    first
                } else {
                    second
                }
            }
        }
    }
}

/// Who is told of answers. Called between a socket and a stamp: neither memory nor I/O.
pub trait Listener {
    /// An answer to one of our probes.
    fn hear(&mut self, answer: Answer);
}

/// Nobody.
impl Listener for () {
    fn hear(&mut self, _answer: Answer) {}
}

/// The wire of probes.
#[derive(Debug)]
pub struct Probe<T> {
    shape: Shape,
    listener: T,
    there: Pseudo,
    back: Pseudo,
    /// Numbers of a probe are a power of two apart: the power.
    shift: u32,
    /// What a sound answer acknowledges beyond a probe's number: all of it, or of a SYN that flag alone.
    acknowledged: [u32; 2],
    /// The latest probe that was written.
    latest: u64,
}

impl<T: Listener> Probe<T> {
    /// Probes of this shape, their answers told to `listener`.
    pub fn new(shape: Shape, listener: T) -> Self {
        let flag = |flag| u32::from(shape.flags.has(flag));
        let whole = shape.payload as u32 + flag(Flags::SYN) + flag(Flags::FIN);
        let shift = (whole + 2).next_power_of_two().trailing_zeros();
        let syn_alone = if shape.flags.has(Flags::SYN) { 1 } else { whole };
        Self {
            there: Pseudo::new(shape.local, shape.remote),
            back: Pseudo::new(shape.remote, shape.local),
            shift,
            acknowledged: [whole, syn_alone],
            latest: 0,
            shape,
            listener,
        }
    }

    #[inline]
    fn number(&self, seq: u64) -> u32 {
        self.shape.base.wrapping_add((seq as u32) << self.shift)
    }

    /// The latest probe whose number, or a little less than it, is `number`, and how much less.
    #[inline]
    fn by_number(&self, number: u32) -> Option<(u64, u32)> {
        let beyond = number.wrapping_sub(self.shape.base);
        let all = (1_u64 << (32 - self.shift)) - 1;
        let back = self.latest.wrapping_sub(u64::from(beyond >> self.shift)) & all;
        Some((self.latest.checked_sub(back)?, beyond & ((1 << self.shift) - 1)))
    }

    /// The latest probe from this source port.
    fn by_port(&self, port: u16) -> Option<u64> {
        let (place, count) = (self.shape.sources.place(port)?, u64::from(self.shape.sources.count));
        let back = (self.latest % count + count - u64::from(place)) % count;
        self.latest.checked_sub(back)
    }

    /// The probe with this source port that sent `number` or has it acknowledged, by so much as `beyond` lets through.
    fn which(&self, port: u16, fixed: Option<u32>, number: u32, beyond: [u32; 2]) -> Option<u64> {
        let (seq, more) = match fixed {
            Some(fixed) => (self.by_port(port)?, number.wrapping_sub(fixed)),
            None => self.by_number(number)?,
        };
        (beyond.contains(&more) && self.shape.sources.port(seq) == port).then_some(seq)
    }

    fn answered(&self, answer: &Segment) -> Option<u64> {
        let port = answer.destination_port;
        let seq = if answer.flags.has(Flags::ACK) {
            self.which(port, self.shape.seq, answer.ack, self.acknowledged)?
        } else if answer.flags.has(Flags::RST) && self.shape.flags.has(Flags::ACK) {
            // What is answered so had an acknowledgement, which becomes the number.
            self.which(port, self.shape.ack, answer.seq, [0, 0])?
        } else {
            return None;
        };
        (self.shape.aim.port(seq) == answer.source_port).then_some(seq)
    }

    fn segment(&mut self, head: &Head, of: Packet, from: IpAddr, octets: &[u8]) -> Reading {
        let Some(segment) = segment::read(of, octets).filter(|_| from == self.shape.remote) else {
            return Reading::Stray;
        };
        let Some(seq) = self.answered(&segment) else { return Reading::Stray };
        if !self.back.checks(octets) {
            return Reading::Corrupt(Some(seq));
        }
        self.listener.hear(Answer { seq, at: head.at, from, content: Content::Segment(segment) });
        Reading::Reply(seq)
    }

    /// An ICMP error quotes ports and number of the probe at least (RFC 792).
    fn refusal(&mut self, head: &Head, quoted: &[u8]) -> Reading {
        let Form::Icmp { kind, code, info } = head.form else { return Reading::Stray };
        let Some(quoted) = quoted.first_chunk::<8>() else { return Reading::Stray };
        let port = |at: usize| u16::from_be_bytes([quoted[at], quoted[at + 1]]);
        let number = u32::from_be_bytes([quoted[4], quoted[5], quoted[6], quoted[7]]);
        let Some(seq) = self.which(port(0), self.shape.seq, number, [0, 0]) else { return Reading::Stray };
        if self.shape.aim.port(seq) != port(2) {
            return Reading::Stray;
        }
        let content = Content::Icmp { kind, code, info };
        self.listener.hear(Answer { seq, at: head.at, from: head.from, content });
        let family = if self.shape.remote.is_ipv4() { Family::V4 } else { Family::V6 };
        let is_final = IcmpError::of(family, kind, code, info).is_some_and(IcmpError::is_final);
        if is_final { Reading::Refused(seq) } else { Reading::Stray }
    }
}

impl<T: Listener> Wire for Probe<T> {
    fn open(&mut self, message: &mut [u8]) {
        let options = &self.shape.options[..self.shape.options.len().min(MOST_OPTIONS)];
        if let Some(place) = message.get_mut(HEADER..HEADER + options.len()) {
            place.copy_from_slice(options);
        }
    }

    #[inline]
    fn prepare(&mut self, message: &mut [u8], seq: u64, _flags: header::Flags) {
        self.latest = seq;
        let number = self.number(seq);
        let acknowledges = if self.shape.flags.has(Flags::ACK) { number } else { 0 };
        let header = Header {
            source_port: self.shape.sources.port(seq),
            destination_port: self.shape.aim.port(seq),
            seq: self.shape.seq.unwrap_or(number),
            ack: self.shape.ack.unwrap_or(acknowledges),
            flags: self.shape.flags,
            window: self.shape.window,
            urgent: 0,
        };
        segment::write(message, &header, self.shape.options.len());
        segment::seal(message, self.there);
        if let (true, Some(octet)) = (self.shape.bad_checksum, message.get_mut(16)) {
            *octet ^= 0x55;
        }
    }

    #[inline]
    fn identify(&mut self, reply: &[u8], _oldest: u64) -> Reading {
        let Some((head, rest)) = Head::read(reply) else { return Reading::Stray };
        match head.form {
            Form::Ipv4 => match segment::in_ipv4(rest) {
                Some((of, from, octets)) => self.segment(&head, of, from, octets),
                None => Reading::Stray,
            },
            Form::Ipv6 { hop_limit, traffic_class } => {
                let length = (rest.len() + 40) as u16;
                let of = Packet { length, ttl: hop_limit, tos: traffic_class, ip_id: None, dont_fragment: None };
                self.segment(&head, of, head.from, rest)
            }
            Form::Icmp { .. } => self.refusal(&head, rest),
        }
    }
}

#[cfg(test)]
mod tests {
    use etherparse::PacketBuilder;
    use measure::answer::Class;
    use measure::unit::Instant;
    use proptest::prelude::*;
    use test_case::test_case;

    use super::super::delivered::HEAD;
    use super::*;

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

    /// What a kernel answers to `probe`, delivered: `open` accepts it.
    fn answer(probe: &[u8], open: bool, from: [u8; 4]) -> Vec<u8> {
        let sent =
            segment::read(Packet { length: 0, ttl: 0, tos: None, ip_id: None, dont_fragment: None }, probe).unwrap();
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
}
