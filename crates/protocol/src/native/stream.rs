//! Streams of the native session: the client's request, the numbering of datagrams, and the reflector's report.
//!
//! A flow carries one stream, one way. In a session that goes both ways the first half of the flows goes to the reflector
//! and the second half comes from it. Not here: the limits of a reflector ([`super::limits`]), and the order of octets
//! (`docs/protocol/native.md`, section 5).

use measure::interval::arrivals::Datagrams;
use measure::method::{Direction, Sending};
use measure::outcome::SocketFacts;
use measure::throughput::detail::ZeroCopied;
use measure::throughput::{Carried, Stream};
use measure::unit::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::bulk::{Mark, Numbering, StampClock};
use crate::native::header::Token;
use crate::native::mac::{Direction as Way, Mac};

/// Settings of a stream, beside those of every [`super::message::Open`]. There, `request_bytes` is the size of a call or
/// datagram of the client, `response_bytes` of one of the reflector, and `rate_per_flow` is of calls that send: of
/// datagrams over UDP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ask {
    /// Direction of the streams, seen from the client.
    pub direction: Direction,
    /// Send call of the reflector.
    pub sending: Sending,
    /// True where the reflector has its kernel discard data unread (`MSG_TRUNC`); of TCP alone.
    pub discard: bool,
    /// Datagrams of one call of the reflector's sender, at least 1 (`UDP_SEGMENT`); absent: each has its own.
    pub segments: Option<u32>,
    /// The reflector's sender ends after so many nanoseconds, warm-up not included; absent: not by time.
    pub after_ns: Option<Nanos>,
    /// Its streams end when they have sent so many octets of payload all together, warm-up not included.
    pub bytes: Option<Bytes>,
    /// Nanoseconds at the start whose payload is not counted.
    pub warm_up_ns: Nanos,
    /// Length of an interval of the reflector's series, nanoseconds; it may make it longer. Absent: a second.
    pub interval_ns: Option<Nanos>,
    /// TCP congestion control of the reflector's senders, by name; absent: as its system has it.
    pub congestion: Option<String>,
    /// Send buffer of the reflector's sockets, octets; absent: as its system has it. The receive buffer is asked for as of
    /// any session.
    pub send_buffer_bytes: Option<Bytes>,
    /// Type-of-service octet of the reflector's packets.
    pub tos: Option<u8>,
    /// True where the datagrams probe a path: then the reflector's sender leaves out late ones, instead of sending them together,
    /// and its receiver takes the instants of arrival from its kernel.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub even: bool,
}

/// Flows of a session of `streams` streams each way it goes.
pub fn flows(direction: Direction, streams: u32) -> u32 {
    if direction == Direction::Both { streams.saturating_mul(2) } else { streams }
}

/// Streams each way of a session of so many flows.
pub fn streams(direction: Direction, flows: u32) -> u32 {
    if direction == Direction::Both { flows / 2 } else { flows }
}

/// Returns true where `flow`, of so many, goes from the client to the reflector.
pub fn goes_there(direction: Direction, flow: u32, flows: u32) -> bool {
    direction.sends() && flow < streams(direction, flows)
}

/// The place of `flow`, of so many, among those that go the same way, from 0.
pub fn place(direction: Direction, flow: u32, flows: u32) -> u32 {
    flow % streams(direction, flows).max(1)
}

/// The share of `bytes` that stream number `place` of `streams` has: they add up, and no two differ by more than one.
pub fn share(bytes: Bytes, place: u32, streams: u32) -> Bytes {
    let (place, streams) = (u64::from(place), u64::from(streams.max(1)));
    Bytes(bytes.0 / streams + u64::from(place < bytes.0 % streams))
}

/// Results of the reflector's end of one stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// Payload of its calls, its time, its numbers, its intervals.
    #[serde(flatten)]
    pub stream: Stream,
    /// Payload of the warm-up.
    #[serde(default)]
    pub omitted: Carried,
    /// Datagrams that it sent from its start to its end, warm-up included: the number of the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_datagrams: Option<u64>,
    /// Highest number that it received, warm-up included, where the sender's end mark never came: those behind it, which the sender alone knows, are
    /// lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highest: Option<u64>,
    /// User CPU time of its thread, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_ns: Option<Nanos>,
    /// System CPU time of its thread, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_ns: Option<Nanos>,
    /// Results of sending without a copy: the kernel's own counts; absent where it was not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zero_copy: Option<ZeroCopied>,
    /// Settings and counts of its socket, as the kernel reported them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<SocketFacts>,
    /// Reason why it ended before its time; absent where it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// CPU use of a machine while it streamed: shares of 0 to 1, means over its CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostCpu {
    /// All but idle.
    pub busy_share: f64,
    /// Programs.
    pub user_share: f64,
    /// The kernel.
    pub system_share: f64,
    /// Interrupts.
    pub irq_share: f64,
    /// Software interrupts: most of the cost of receiving.
    pub softirq_share: f64,
    /// The same of the CPU that has most of it.
    #[serde(default)]
    pub most_softirq_share: f64,
    /// Number of CPUs that is of.
    pub cpus: u32,
    /// Number of the busiest CPU.
    pub busiest: u32,
    /// Its own share, all but idle.
    pub busiest_share: f64,
}

/// Octets at the start of each datagram of a stream, and so of the smallest.
pub const OCTETS: usize = 24;
/// Version of their layout.
pub const VERSION: u8 = 1;

const DATA: u8 = 1;
const LAST: u8 = 2;

/// The numbers in the datagrams of one flow: 24 octets, big-endian.
///
/// | octets | |
/// |---|---|
/// | 0-3 | the first octets of the session's token, or the code of [`super::mac`] |
/// | 4 | version of this layout, 1 |
/// | 5 | 1: data; 2: the sender sent its last |
/// | 6-7 | flow number |
/// | 8-15 | number of the datagram, from 1; in a last one: how many there were |
/// | 16-23 | when it was sent, nanoseconds of the sender's monotonic clock |
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    head: [u8; 8],
    /// Code of each datagram, and the direction of those that this end sends; absent where they are not authenticated.
    mac: Option<(Mac, Way)>,
}

impl Numbers {
    /// Those of `flow` of the session named `token`.
    pub fn new(token: &Token, flow: u16) -> Self {
        let [a, b, c, d, ..] = token.0;
        let [high, low] = flow.to_be_bytes();
        Self { head: [a, b, c, d, VERSION, DATA, high, low], mac: None }
    }

    /// The same with codes of `mac`, where there is one, of the end whose datagrams go `way`.
    #[must_use]
    pub fn authenticated(self, mac: Option<Mac>, way: Way) -> Self {
        Self { mac: mac.map(|mac| (mac, way)), ..self }
    }

    /// Returns a datagram that says that `count` datagrams were the last.
    pub fn last(&self, count: u64, sent: Nanos) -> [u8; OCTETS] {
        let mut datagram = [0; OCTETS];
        self.write_as(LAST, &mut datagram, count, sent);
        datagram
    }

    #[inline]
    fn write_as(&self, kind: u8, datagram: &mut [u8], number: u64, sent: Nanos) {
        let length = datagram.len();
        if let Some(head) = datagram.first_chunk_mut::<OCTETS>() {
            head[..8].copy_from_slice(&self.head);
            head[5] = kind;
            head[8..16].copy_from_slice(&number.to_be_bytes());
            head[16..].copy_from_slice(&sent.0.to_be_bytes());
            if let Some((mac, way)) = &self.mac {
                let code = mac.of_stream(head, length, *way);
                head[..4].copy_from_slice(&code);
            }
        }
    }

    /// True where a datagram has the fixed octets of those with data, whatever stream it is of.
    pub fn has_form(datagram: &[u8]) -> bool {
        datagram.len() >= OCTETS && datagram[4..6] == [VERSION, DATA]
    }

    /// As [`Numbering::read`], of a datagram of `length` octets of which `front` was kept.
    #[inline]
    pub fn read_of(&self, front: &[u8], length: usize) -> Option<Mark> {
        let octets = front.first_chunk::<OCTETS>()?;
        let first = match &self.mac {
            None => self.head,
            Some((mac, way)) => {
                let [a, b, c, d] = mac.of_stream(octets, length, way.reversed());
                let [_, _, _, _, rest @ ..] = self.head;
                let [version, kind, high, low] = rest;
                [a, b, c, d, version, kind, high, low]
            }
        };
        let (head, rest) = octets.split_first_chunk::<8>()?;
        let (number, sent) = rest.split_first_chunk::<8>()?;
        let (number, sent) = (u64::from_be_bytes(*number), Nanos(u64::from_be_bytes(*sent.first_chunk()?)));
        let kind = head[5];
        if [head[0], head[1], head[2], head[3], head[4], DATA, head[6], head[7]] != first {
            return None;
        }
        match kind {
            DATA if number > 0 => Some(Mark::Data { number, sent }),
            LAST => Some(Mark::Last { count: number, sent }),
            _ => None,
        }
    }
}

impl Numbering for Numbers {
    fn octets(&self) -> usize {
        OCTETS
    }

    fn clock(&self) -> StampClock {
        StampClock::Monotonic
    }

    #[inline]
    fn write(&self, datagram: &mut [u8], number: u64, sent: Nanos) {
        self.write_as(DATA, datagram, number, sent);
    }

    fn last_is_data(&self) -> bool {
        false
    }

    #[inline]
    fn read(&self, datagram: &[u8]) -> Option<Mark> {
        self.read_of(datagram, datagram.len())
    }
}

/// Makes the results of streams shorter, a step at a time: intervals without their details, half as many intervals,
/// sockets, and in the end all but the payload. `false`: nothing is left to leave out.
pub fn shorten(streams: &mut Vec<Told>) -> bool {
    let details = |told: &Told| told.stream.intervals.iter().any(|span| span.tcp.is_some() || span.datagrams.is_some());
    if streams.iter().any(details) {
        for interval in streams.iter_mut().flat_map(|told| &mut told.stream.intervals) {
            (interval.tcp, interval.datagrams) = (None, None);
        }
        return true;
    }
    if streams.iter().any(|told| told.stream.intervals.len() > 1) {
        for told in streams.iter_mut() {
            let pairs = told.stream.intervals.chunks(2);
            told.stream.intervals =
                pairs.filter_map(|pair| pair.iter().copied().reduce(|one, next| one.then(&next))).collect();
        }
        return true;
    }
    if streams.iter().any(|told| told.socket.is_some() || !told.stream.intervals.is_empty()) {
        for told in streams.iter_mut() {
            told.socket = None;
            told.stream.intervals.clear();
        }
        return true;
    }
    if streams.iter().any(|told| told.stream.tcp.is_some()) {
        for told in streams.iter_mut() {
            told.stream.tcp = None;
        }
        return true;
    }
    let any = !streams.is_empty();
    streams.clear();
    any
}

impl Told {
    /// Cuts each count so that thousands of them add up without overflowing: a peer may report anything, and it can still be
    /// reckoned with.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        let stream = &mut self.stream;
        for carried in [&mut stream.carried, &mut self.omitted] {
            bound(carried);
        }
        stream.elapsed_ns = stream.elapsed_ns.min(Nanos(MOST));
        for interval in &mut stream.intervals {
            bound(&mut interval.carried);
            interval.at_ns = interval.at_ns.min(Nanos(MOST));
            interval.length_ns = interval.length_ns.min(Nanos(MOST));
            interval.datagrams = interval.datagrams.map(sensible);
        }
        stream.datagrams = stream.datagrams.map(sensible);
        self.sent_datagrams = self.sent_datagrams.map(|count| count.min(MOST));
        self.highest = self.highest.map(|count| count.min(MOST));
        self.user_ns = self.user_ns.map(|time| time.min(Nanos(MOST)));
        self.system_ns = self.system_ns.map(|time| time.min(Nanos(MOST)));
        self.zero_copy =
            self.zero_copy.map(|told| ZeroCopied { sends: told.sends.min(MOST), copied: told.copied.min(MOST) });
        self
    }
}

/// Largest count of a flow: as many flows as there can be, and as many intervals as a message holds, add up below the
/// largest number: two petabytes, or 26 days.
const MOST: u64 = u64::MAX >> 13;

fn bound(carried: &mut Carried) {
    *carried = Carried {
        bytes: carried.bytes.min(Bytes(MOST)),
        calls: carried.calls.min(MOST),
        failed_calls: carried.failed_calls.min(MOST),
    };
}

fn sensible(told: Datagrams) -> Datagrams {
    Datagrams {
        expected: told.expected.min(MOST),
        received: told.received.min(MOST),
        lost: told.lost.clamp(-MOST.cast_signed(), MOST.cast_signed()),
        out_of_order: told.out_of_order.min(MOST),
        duplicates: told.duplicates.min(MOST),
        foreign: told.foreign.min(MOST),
        ..told
    }
}

#[cfg(test)]
mod tests;
