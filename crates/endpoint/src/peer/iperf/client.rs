//! The client's end: connections or flows to a server, what each says first, and the engine on them.
//!
//! A test is a number of streams to a server; each of them carries what it sends, what the server sends back over the same
//! connection or flow, or both. What the server is to open back to us (`-d`, `-r`) comes to a server of our own, which
//! serves nobody else. [`bounce`] is requests and replies.

pub mod bounce;
mod home;
mod open;
mod stream;

use std::net::SocketAddr;
use std::path::PathBuf;

use measure::environment::Environment;
use measure::event::Event;
use measure::interval::arrivals::Transit;
use measure::interval::glance::TcpGlance;
use measure::method::{Method, SocketOptions};
use measure::outcome::SocketFacts;
use measure::throughput::meter::StreamCount;
use measure::unit::Nanos;
use measure::varying::Spread;
use protocol::iperf::ack::Ack;
use protocol::iperf::fin::AckFin;
use protocol::iperf::wish::{Back, Pace, Quantity, Way};

use super::usual;
use crate::engine::Ended;
use crate::error::EndpointError;
use crate::peer::iperf::server::event::Event as Served;
use crate::socket::tuning::Tuning;
use crate::stop::Stop;

/// One test.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own, on or off by itself")]
pub struct Test {
    /// Where the server listens.
    pub server: SocketAddr,
    /// Over connections or by datagrams.
    pub datagrams: bool,
    /// Who sends over each stream.
    pub way: Way,
    /// Whether the server opens streams back to us besides: our port, 0 for any, and whether at once.
    pub back: Option<Back>,
    /// Streams at once.
    pub streams: u32,
    /// How much each sender of each stream sends.
    pub quantity: Quantity,
    /// How fast each does; absent: as fast as it goes, or with datagrams at the usual rate. Datagrams as fast as they go are
    /// more bits a second than there can be.
    pub pace: Option<Pace>,
    /// A rate of what we send that varies; the server is told the pace alone.
    pub spread: Option<Spread>,
    /// A file that each stream over a connection sends, whose end is its end (`-F`).
    pub file: Option<PathBuf>,
    /// The key that connections show (`--permit-key`).
    pub key: Option<String>,
    /// True where the time that writes over connections take is kept.
    pub write_times: bool,
    /// Octets of a write, a read or a datagram (`-l`); absent: the usual.
    pub call_bytes: Option<u32>,
    /// Whether the clocks are synchronised, and each datagram or burst is timed (`--trip-times`).
    pub trip_times: bool,
    /// Whether the server's acknowledgement is waited for (`-X`).
    pub detects: bool,
    /// Whether nothing is said of the test (`-C`): traffic at once.
    pub plain: bool,
    /// Of datagrams: whether the end is not asked to be reported (`--no-udp-fin`).
    pub silent: bool,
    /// How our end waits, paces, is spread over CPUs, and its sockets' options. All else of it is this test's.
    pub method: Method,
    /// Local port of the first stream, the others' counting on from it; 0: any.
    pub local_port: u16,
    /// Further socket options.
    pub tuning: Tuning,
    /// How long a connection may take to be made.
    pub connect: Nanos,
    /// Length of an interval of the series.
    pub interval: Nanos,
    /// Name and version of the program, for the facts of this host.
    pub program: String,
}

impl Test {
    /// A test of ten seconds over one connection to `server`, as the original's without an option; `method` says how our
    /// own end works.
    pub fn new(server: SocketAddr, method: Method) -> Self {
        Self {
            server,
            datagrams: false,
            way: Way::Upload,
            back: None,
            streams: 1,
            quantity: Quantity::Time(Nanos::secs(10)),
            pace: None,
            spread: None,
            file: None,
            key: None,
            write_times: false,
            call_bytes: None,
            trip_times: false,
            detects: false,
            plain: false,
            silent: false,
            method,
            local_port: 0,
            tuning: Tuning::default(),
            connect: Nanos::secs(10),
            interval: measure::event::INTERVAL,
            program: String::new(),
        }
    }

    /// Octets of a call.
    pub fn size(&self) -> usize {
        let usual = match (self.datagrams, self.server.is_ipv4()) {
            (false, _) => usual::WRITE,
            (true, true) => usual::DATAGRAM,
            (true, false) => usual::DATAGRAM_V6,
        };
        self.call_bytes.map_or(usual, |bytes| bytes as usize).max(1)
    }

    /// The rate of each sender: datagrams are never without one.
    pub fn rate(&self) -> Option<Pace> {
        self.pace.or(if self.datagrams { Some(Pace::Bits(usual::RATE)) } else { None })
    }

    /// What the threads are, in the order of their numbers: those of the first stream first, and of one that goes both
    /// ways what we send first.
    pub fn lanes(&self) -> Vec<Lane> {
        let ways: &[bool] = match self.way {
            Way::Upload => &[true],
            Way::Reverse => &[false],
            Way::Duplex => &[true, false],
        };
        (0..self.streams).flat_map(|stream| ways.iter().map(move |sends| Lane { stream, sends: *sends })).collect()
    }

    fn options(&self) -> &SocketOptions {
        &self.method.socket
    }
}

/// One thread's part of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane {
    /// Which stream, from 0.
    pub stream: u32,
    /// Whether we send; else we receive.
    pub sends: bool,
}

/// Something that happened while a test is made.
#[derive(Debug)]
pub enum Told<'a> {
    /// A stream is open; nothing is said over it yet.
    Open(&'a Opened),
    /// An engine's event; its thread is a place in [`Test::lanes`].
    Measured(Event),
    /// What came of the streams that the server opens back to us.
    Back(&'a Served),
}

/// A stream that is open.
#[derive(Clone, Debug)]
pub struct Opened {
    /// Which, from 0.
    pub stream: u32,
    /// Our end.
    pub local: SocketAddr,
    /// The server's.
    pub remote: SocketAddr,
    /// How long it took to be made; zero for datagrams.
    pub connecting: Nanos,
    /// Its socket at the start.
    pub facts: SocketFacts,
    /// What its TCP knows at the start: the initial window, segment and round trip; absent for datagrams.
    pub tcp: Option<TcpGlance>,
}

/// What one thread found out.
#[derive(Clone, Debug)]
pub struct Found {
    /// Which.
    pub lane: Lane,
    /// What went through, and when.
    pub count: StreamCount,
    /// Why it ended.
    pub ended: Ended,
    /// Received over a connection: how many reads brought how many eighths of what they might have.
    pub reads: Option<[u64; 8]>,
    /// Received with trip times over a connection: how long bursts took.
    pub latency: Option<Transit>,
    /// Sent over a connection: how long writes took, where that is kept.
    pub write_times: Option<Transit>,
    /// What the server said to our header, where it did.
    pub ack: Option<Ack>,
    /// Of datagrams sent: what the server reported. Absent although it was asked for: it did not answer in two seconds.
    pub report: Option<AckFin>,
    /// Of a connection: whether the server ended it in order, after ours.
    pub closed: bool,
    /// The socket at its end.
    pub facts: SocketFacts,
}

/// What a test came to.
#[derive(Debug)]
pub struct Outcome {
    /// By the places of [`Test::lanes`].
    pub found: Vec<Found>,
    /// When the threads were let go, nanoseconds since 1970.
    pub began_wall: u64,
    /// Streams that the server was to open back and did not, or not to their end.
    pub missing_back: u32,
    /// This host.
    pub environment: Environment,
}

/// Makes a connection as a test would, says nothing over it and drops it.
pub fn connect(test: &Test, stop: &Stop) -> Result<Opened, EndpointError> {
    open::open(test, 0, stop).map(|(_, opened)| opened)
}

/// Makes a test. An error is one of the time before anything flowed.
pub fn measure(test: &Test, stop: &Stop, on_told: &mut dyn FnMut(Told<'_>)) -> Result<Outcome, EndpointError> {
    stream::measure(test, stop, on_told)
}
