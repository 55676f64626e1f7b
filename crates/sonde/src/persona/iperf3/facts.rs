//! Facts that output is made from: plain values, whoever found them.
//!
//! Times are in nanoseconds and told in microseconds. An unknown value is absent; where the original's form has no way to
//! leave it out, output writes what the original writes there.

use std::net::SocketAddr;

use protocol::iperf3::parameters::{Direction, Protocol};

/// Our end, and the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// The client: the server as it was typed.
    Client {
        /// Name or address.
        host: String,
        /// Its port.
        port: u16,
    },
    /// The server: where the control connection came from.
    Server {
        /// The client.
        client: SocketAddr,
    },
}

impl Role {
    /// Returns true where we are the client.
    pub fn is_client(&self) -> bool {
        matches!(self, Self::Client { .. })
    }
}

/// A test as it was agreed on.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// Our end.
    pub role: Role,
    /// The 36 characters of the cookie.
    pub cookie: String,
    /// Start of the test, milliseconds since 1970.
    pub began_ms: i64,
    /// Protocol of the data.
    pub protocol: Protocol,
    /// Direction of the data.
    pub direction: Direction,
    /// Streams in each direction.
    pub parallel: u32,
    /// Bytes of a call or datagram.
    pub block_bytes: u32,
    /// Seconds that do not count.
    pub omit_s: u32,
    /// Seconds it lasts; 0: no limit.
    pub time_s: u32,
    /// Bytes after which it ends; 0: no limit.
    pub bytes: u64,
    /// Blocks after which it ends; 0: no limit.
    pub blocks: u64,
    /// Type of service.
    pub tos: u8,
    /// Bits a second of each stream; 0: no limit.
    pub rate: u64,
    /// Bits a second of the kernel's pacing; 0: none.
    pub fq_rate: u64,
    /// True where the kernel cuts and joins datagrams.
    pub segmented: bool,
    /// Bytes of a segment that were asked for.
    pub segment_bytes: Option<u32>,
    /// Bytes of a segment of the control connection; the original's server tells 0.
    pub control_segment_bytes: u32,
    /// Bytes of socket buffers that were asked for; 0: none.
    pub window: u32,
    /// Send buffer that a stream's socket got, bytes.
    pub send_buffer: Option<u64>,
    /// Receive buffer that it got, bytes.
    pub receive_buffer: Option<u64>,
    /// Seconds between reports.
    pub interval_s: f64,
    /// `-T`.
    pub title: Option<String>,
    /// `--extra-data`.
    pub extra_data: Option<String>,
    /// The streams, in the order in which they were made.
    pub streams: Vec<Stream>,
}

impl Test {
    /// Returns true where both ends send.
    pub fn is_bidirectional(&self) -> bool {
        self.direction == Direction::Both
    }

    /// The streams of one direction, with their places among all: those we send on, or the others.
    pub fn way(&self, sends: bool) -> impl Iterator<Item = (usize, &Stream)> {
        self.streams.iter().enumerate().filter(move |(_, stream)| stream.sends == sends)
    }

    /// The directions that there are, in the order in which they are told: that of the first stream first. `true`: we
    /// send.
    pub fn ways(&self) -> Vec<bool> {
        let first = self.streams.first().is_some_and(|stream| stream.sends);
        if self.is_bidirectional() { vec![first, !first] } else { vec![first] }
    }
}

/// One stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The number that it is called by.
    pub label: u32,
    /// Our end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// True where we send on it.
    pub sends: bool,
}

/// One stream in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slice {
    /// Its start, nanoseconds after the start of the count.
    pub start_ns: u64,
    /// Its end, likewise.
    pub end_ns: u64,
    /// Its length, in nanoseconds.
    pub length_ns: u64,
    /// Bytes carried.
    pub bytes: u64,
    /// True where it does not count.
    pub omitted: bool,
    /// Segments retransmitted in it, where we send over TCP.
    pub retransmits: Option<u64>,
    /// Our TCP's figures at its end.
    pub tcp: Tcp,
    /// Datagrams of it.
    pub datagrams: Datagrams,
}

/// Figures of a sender's TCP; 0 is what the original prints where the system has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tcp {
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// The peer's window, bytes.
    pub window: u64,
    /// Round trip, microseconds.
    pub rtt_us: u64,
    /// Its variation, microseconds.
    pub rttvar_us: u64,
    /// Path MTU, bytes.
    pub pmtu: u64,
    /// Reorderings seen.
    pub reorder: u64,
}

/// Datagrams of one stream, in an interval or in all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Datagrams {
    /// Sent, or by number due at a receiver.
    pub packets: u64,
    /// Lost ones among them; `None`: some of those that do not count may be among them, and the peer does not say how many.
    pub lost: Option<i64>,
    /// Come behind one of a higher number.
    pub out_of_order: u64,
    /// Jitter, seconds.
    pub jitter_s: f64,
}

/// Result of a test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Length of the test for the sender, nanoseconds. Where it did not tell: as for us.
    pub sender_ns: u64,
    /// Length for the receiver, likewise.
    pub receiver_ns: u64,
    /// Length for us.
    pub own_ns: u64,
    /// Each stream, in the order of [`Test::streams`].
    pub outcomes: Vec<Outcome>,
    /// Our CPU.
    pub cpu: Cpu,
    /// The peer's; all 0 where it did not tell.
    pub peer_cpu: Cpu,
    /// Congestion control of whoever sends.
    pub sender_congestion: Option<String>,
    /// And of whoever receives.
    pub receiver_congestion: Option<String>,
    /// The file that was sent or written.
    pub file: Option<File>,
}

/// A file that a stream was made from, or went into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name as it was typed.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
}

/// One stream at the end. A figure that an end did not report is 0 there, as in the original.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Bytes the sender sent.
    pub sent_bytes: u64,
    /// Bytes the receiver had.
    pub received_bytes: u64,
    /// Segments that the sender retransmitted; absent where nobody knows.
    pub retransmits: Option<u64>,
    /// Extremes of our TCP over the intervals that count.
    pub peaks: Peaks,
    /// Datagrams that the sender sent.
    pub sent_packets: u64,
    /// Counts of the receiver.
    pub received: Datagrams,
}

/// Extremes of a sender's TCP over all intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peaks {
    /// Reorderings seen.
    pub reorder: u64,
    /// The largest congestion window, bytes.
    pub cwnd: u64,
    /// The largest window of the peer, bytes.
    pub window: u64,
    /// The longest round trip, microseconds.
    pub max_rtt_us: u64,
    /// The shortest.
    pub min_rtt_us: u64,
    /// Sum of all.
    pub sum_rtt_us: u64,
    /// Number of round trips.
    pub count: u64,
}

impl Peaks {
    /// Takes what is known at the end of an interval.
    pub fn take(&mut self, tcp: &Tcp) {
        self.reorder = tcp.reorder;
        self.cwnd = self.cwnd.max(tcp.cwnd);
        self.window = self.window.max(tcp.window);
        self.max_rtt_us = self.max_rtt_us.max(tcp.rtt_us);
        self.min_rtt_us = if self.count == 0 { tcp.rtt_us } else { self.min_rtt_us.min(tcp.rtt_us) };
        self.sum_rtt_us += tcp.rtt_us;
        self.count += 1;
    }

    /// Their mean, microseconds.
    pub fn mean_rtt_us(&self) -> u64 {
        self.sum_rtt_us.checked_div(self.count).unwrap_or(0)
    }
}

/// Use of CPU, per cent of one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cpu {
    /// In all.
    pub total: f64,
    /// In the program.
    pub user: f64,
    /// In the system.
    pub system: f64,
}

/// Seconds, cut to microseconds as all times are told: whole ones and the rest are added, so that the last digits of rates
/// are those of the original.
pub fn seconds(nanos: u64) -> f64 {
    (nanos / 1_000_000_000) as f64 + (nanos % 1_000_000_000 / 1_000) as f64 / 1e6
}

/// Bits a second; 0 where there was no time.
pub fn bits_per_second(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 }
}

/// Lost datagrams per cent; 0 where there were none.
pub fn percent(lost: i64, packets: u64) -> f64 {
    if packets > 0 { 100.0 * lost as f64 / packets as f64 } else { 0.0 }
}
