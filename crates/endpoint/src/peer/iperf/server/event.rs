//! Events of a server.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use measure::interval::arrivals::Transit;
use measure::interval::bins::Bins;
use measure::interval::glance::TcpGlance;
use measure::throughput::Interval;
use measure::throughput::meter::StreamCount;
use measure::unit::Nanos;
use protocol::iperf::bounce::Bounce;
use protocol::iperf::fin::AckFin;
use protocol::iperf::wish::Wish;

/// Listener to the events, called on the thread of the test or on the server's own, which waits for it.
#[derive(Clone)]
pub struct Tell(pub Arc<dyn Fn(&Event) + Send + Sync>);

impl fmt::Debug for Tell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tell(…)")
    }
}

/// Transport of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Connections.
    Tcp,
    /// Datagrams.
    Udp,
}

/// Event of a server. A test begins, has any number of intervals, and each of its streams ends.
#[derive(Clone, Debug)]
pub enum Event {
    /// A test began.
    Began(Box<Began>),
    /// An interval of a stream is over.
    Interval {
        /// Number of the test.
        test: u64,
        /// True for the stream that we send; false for the stream that we receive.
        sends: bool,
        /// Payload of the interval.
        interval: Box<Interval>,
    },
    /// A stream ended. A test in both directions has two.
    Ended(Box<Ended>),
    /// A test of requests and replies ended.
    Bounced {
        /// Number of the test.
        test: u64,
        /// Replies sent.
        replies: u64,
        /// Duration of the test.
        elapsed: Nanos,
    },
    /// A client could not be served, or no longer.
    Failed {
        /// Address of the client; absent where no client in particular is meant.
        peer: Option<SocketAddr>,
        /// Reason, in words.
        why: String,
    },
}

/// A test that began.
#[derive(Clone, Debug)]
pub struct Began {
    /// Its number, from 1.
    pub test: u64,
    /// Transport of the test.
    pub transport: Transport,
    /// Our end; of datagrams the socket's address, which may be the wildcard.
    pub local: SocketAddr,
    /// The client's.
    pub peer: SocketAddr,
    /// Kind of the test.
    pub kind: Kind,
    /// TCP facts of the connection at its beginning; absent for datagrams.
    pub tcp: Option<TcpGlance>,
}

/// Kind of a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// As its header says.
    Asked(Wish),
    /// Traffic without a header.
    Plain,
    /// Requests and replies, the first of which said so.
    Bounce(Bounce),
    /// A stream that a client asked to be opened back to it, with the number of the test that asked.
    Back(u64),
}

/// A stream that ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Number of the test.
    pub test: u64,
    /// True where we sent it.
    pub sends: bool,
    /// Counts and times of the payload.
    pub count: StreamCount,
    /// Reason for which it was cut short; absent: it was not.
    pub cut_short: Option<String>,
    /// Transit of bursts; for payload received over a connection with trip times.
    pub latency: Option<Transit>,
    /// Transit of each datagram or burst received, in bins; absent where not kept.
    pub bins: Option<Bins>,
    /// Reads by the eighths of the buffer that they filled; for payload received over a connection.
    pub reads: Option<[u64; 8]>,
    /// Report on datagrams that we sent, or that came back to us; absent for connections.
    pub report: Option<AckFin>,
}
