//! The client's end: connections or flows to a server, their first messages, and the engine on them.
//!
//! A test is a number of streams to a server. Each carries payload to the server, payload from the server over the same
//! connection or flow, or both. Streams that the server opens back to us (`-d`, `-r`) arrive at a server of our own,
//! which serves no other client. [`bounce`] is requests and replies.

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

use super::framed::Frames;
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
    /// Address at which the server listens.
    pub server: SocketAddr,
    /// Over connections or by datagrams.
    pub datagrams: bool,
    /// Direction of each stream.
    pub way: Way,
    /// Streams that the server opens back to us besides: our port, 0 for any, and their time, at once or afterwards.
    /// Absent: none.
    pub back: Option<Back>,
    /// Number of parallel streams.
    pub streams: u32,
    /// Quantity that each sender of each stream sends.
    pub quantity: Quantity,
    /// Rate of each sender; absent: as fast as possible over TCP, the default rate over UDP. Datagrams as fast as
    /// possible are asked for by more bits a second than there can be.
    pub pace: Option<Pace>,
    /// Varying rate of what we send; the server receives the pace alone. Absent: the rate does not vary.
    pub spread: Option<Spread>,
    /// Frames in place of a steady stream, at their own rate; an upload's alone. Absent: none.
    pub frames: Option<Frames>,
    /// A pause behind each write over a connection, in TCP's round trips (`--near-congestion`); absent: none.
    pub near_congestion: Option<f64>,
    /// A file that each stream over a connection sends, whose end is its end (`-F`).
    pub file: Option<PathBuf>,
    /// The key that connections show (`--permit-key`).
    pub key: Option<String>,
    /// True where the time that writes over connections take is kept.
    pub write_times: bool,
    /// Octets of a write, a read or a datagram (`-l`); absent: the usual.
    pub call_bytes: Option<u32>,
    /// True where the clocks are synchronised, and each datagram or burst is timed (`--trip-times`).
    pub trip_times: bool,
    /// True where the server's acknowledgement is awaited (`-X`).
    pub detects: bool,
    /// True where no header describes the test (`-C`): traffic starts at once.
    pub plain: bool,
    /// True where the end of UDP traffic asks for no report (`--no-udp-fin`).
    pub silent: bool,
    /// Wait mode, pacing, CPUs and socket options of our end. The rest of it is set by this test.
    pub method: Method,
    /// Local port of the first stream, the others' counting on from it; 0: any.
    pub local_port: u16,
    /// Further socket options.
    pub tuning: Tuning,
    /// Longest time for a connection to be established.
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
            frames: None,
            near_congestion: None,
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

    /// Parts of the threads, in the order of their numbers: the first stream first, and for a stream in both directions
    /// our sending first.
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
    /// Number of the stream, from 0.
    pub stream: u32,
    /// True where we send; false where we receive.
    pub sends: bool,
}

/// Something that happened while a test is made.
#[derive(Debug)]
pub enum Told<'a> {
    /// A stream is open; nothing is said over it yet.
    Open(&'a Opened),
    /// An engine's event; its thread is a place in [`Test::lanes`].
    Measured(Event),
    /// Event of our own server, for the streams that the server opens back to us.
    Back(&'a Served),
}

/// A stream that is open.
#[derive(Clone, Debug)]
pub struct Opened {
    /// Number of the stream, from 0.
    pub stream: u32,
    /// Local address.
    pub local: SocketAddr,
    /// Address of the server's end.
    pub remote: SocketAddr,
    /// Time to establish the connection; zero for datagrams.
    pub connecting: Nanos,
    /// Facts of its socket at the start.
    pub facts: SocketFacts,
    /// TCP facts of the connection at the start: the initial window, segment and round trip; absent for datagrams.
    pub tcp: Option<TcpGlance>,
}

/// Result of one thread.
#[derive(Clone, Debug)]
pub struct Found {
    /// Part of the test that the thread had.
    pub lane: Lane,
    /// Counts and times of the payload.
    pub count: StreamCount,
    /// Cause of the end.
    pub ended: Ended,
    /// Reads by the eighths of the buffer that they filled; for payload received over a connection.
    pub reads: Option<[u64; 8]>,
    /// Transit of bursts; for payload received over a connection with trip times.
    pub latency: Option<Transit>,
    /// Durations of writes; for payload sent over a connection, where they are recorded.
    pub write_times: Option<Transit>,
    /// Server's acknowledgement of our header; absent: none came.
    pub ack: Option<Ack>,
    /// Server's report on datagrams sent. Absent although it was asked for: no reply within two seconds.
    pub report: Option<AckFin>,
    /// True where the server ended the connection in order, after us.
    pub closed: bool,
    /// Facts of the socket at its end.
    pub facts: SocketFacts,
}

/// Result of a test.
#[derive(Debug)]
pub struct Outcome {
    /// Results in the order of [`Test::lanes`].
    pub found: Vec<Found>,
    /// Wall clock at the start of the threads, nanoseconds since 1970.
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
