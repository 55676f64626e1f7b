//! Match of answers to probes: by ports and numbers, never by order.
//!
//! Each probe has a sequence number of its own, far enough from its neighbours' that an acknowledgement of one acknowledges no
//! other. Source ports take turns: a port that was just used may still be known to the far side as half a connection. A
//! [`Listener`] gets each answer besides, with every field that identifies its sender.

#[cfg(test)]
mod tests;

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

/// Common part of all probes of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Our address.
    pub local: IpAddr,
    /// Address of the probed host.
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
    /// True where the checksum is wrong on purpose: a box that answers does not check it, and is no host.
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

    /// The source port of a probe. Towards two ports in turn each of them is probed from one source port after the other: routers that choose by a
    /// few bits of the ports would else send all probes of one port one way, and those of the other port another.
    #[inline]
    pub fn source(&self, seq: u64) -> u16 {
        let numbered = self.seq.is_none() && self.ack.is_none();
        let pairs = numbered && matches!(self.aim, Aim::Two(..));
        let apart = seq % 2 * u64::from(self.sources.count / 2);
        self.sources.port(if pairs { seq / 2 + apart } else { seq })
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
    /// Number of ports, 1 to 65,536.
    pub count: u32,
}

impl Sources {
    /// The port of a probe.
    #[inline]
    pub fn port(self, seq: u64) -> u16 {
        self.first.wrapping_add((seq % u64::from(self.count.max(1))) as u16)
    }

    /// The latest probe up to `latest` that came from this port.
    pub(super) fn latest(self, latest: u64, port: u16) -> Option<u64> {
        let (place, count) = (self.place(port)?, u64::from(self.count.max(1)));
        let back = (latest % count + count - u64::from(place)) % count;
        latest.checked_sub(back)
    }

    /// Returns its place among them, from 0; `None`: none of them.
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
    /// Each of these, and then from the first again.
    Among(&'static [u16]),
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
            Self::Among(ports) => {
                let place = seq.checked_rem(ports.len() as u64).unwrap_or(0);
                ports.get(place as usize).copied().unwrap_or(0)
            }
        }
    }
}

/// Receiver of answers. Called between a socket and a stamp: neither memory nor I/O.
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
    /// Numbers that a sound answer acknowledges beyond a probe's own: all of it, or of a SYN that flag alone.
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
        self.shape.sources.latest(self.latest, port)
    }

    /// The probe with this source port that sent `number` or has it acknowledged, by so much as `beyond` lets through.
    fn which(&self, port: u16, fixed: Option<u32>, number: u32, beyond: [u32; 2]) -> Option<u64> {
        let (seq, more) = match fixed {
            Some(fixed) => (self.by_port(port)?, number.wrapping_sub(fixed)),
            None => self.by_number(number)?,
        };
        (beyond.contains(&more) && self.shape.source(seq) == port).then_some(seq)
    }

    fn answered(&self, answer: &Segment) -> Option<u64> {
        let port = answer.destination_port;
        let seq = if answer.flags.has(Flags::ACK) {
            self.which(port, self.shape.seq, answer.ack, self.acknowledged)?
        } else if answer.flags.has(Flags::RST) && self.shape.flags.has(Flags::ACK) {
            // Such a probe had an acknowledgement, which becomes the number of its answer.
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
        let content = Content::Icmp { kind, code, info, port: Some(port(0)) };
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
            source_port: self.shape.source(seq),
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
                let of = Packet::over_ipv6(rest.len(), hop_limit, traffic_class);
                self.segment(&head, of, head.from, rest)
            }
            Form::Icmp { .. } => self.refusal(&head, rest),
        }
    }
}
