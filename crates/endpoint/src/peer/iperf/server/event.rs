//! What a server tells while it serves.

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

/// Who is told what goes on, on the thread that it concerns or on the server's own: it waits meanwhile.
#[derive(Clone)]
pub struct Tell(pub Arc<dyn Fn(&Event) + Send + Sync>);

impl fmt::Debug for Tell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tell(…)")
    }
}

/// Over what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Connections.
    Tcp,
    /// Datagrams.
    Udp,
}

/// Something that happened. Of one test: it began, any number of intervals, and each of its streams ended.
#[derive(Clone, Debug)]
pub enum Event {
    /// A test began.
    Began(Box<Began>),
    /// An interval of a stream is over.
    Interval {
        /// Which test's.
        test: u64,
        /// Whether it is the stream that we send; else the one that we receive.
        sends: bool,
        /// What it held.
        interval: Box<Interval>,
    },
    /// A stream ended. Of a test both ways there are two.
    Ended(Box<Ended>),
    /// A test of requests and replies ended.
    Bounced {
        /// Which test.
        test: u64,
        /// Replies sent.
        replies: u64,
        /// From its beginning to its end.
        elapsed: Nanos,
    },
    /// A client could not be served, or no longer.
    Failed {
        /// Whose; absent where nobody's in particular.
        peer: Option<SocketAddr>,
        /// Why.
        why: String,
    },
}

/// A test that began.
#[derive(Clone, Debug)]
pub struct Began {
    /// Its number, from 1.
    pub test: u64,
    /// Over what.
    pub transport: Transport,
    /// Our end; of datagrams the socket's address, which may be the wildcard.
    pub local: SocketAddr,
    /// The client's.
    pub peer: SocketAddr,
    /// What it is.
    pub kind: Kind,
    /// What the connection's TCP knows at its beginning.
    pub tcp: Option<TcpGlance>,
}

/// What a test is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// As its header says.
    Asked(Wish),
    /// Traffic without a header.
    Plain,
    /// Requests and replies, the first of which said so.
    Bounce(Bounce),
    /// What a client asked to be opened back to it: the number of the test that it asked by.
    Back(u64),
}

/// A stream that ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Which test's.
    pub test: u64,
    /// Whether we sent it.
    pub sends: bool,
    /// What went through, and when.
    pub count: StreamCount,
    /// Why it was cut short; absent: it was not.
    pub cut_short: Option<String>,
    /// With trip times over a connection, received: how long bursts took.
    pub latency: Option<Transit>,
    /// Received, where that is kept: how long each datagram or burst was on its way.
    pub bins: Option<Bins>,
    /// Received over a connection: how many reads brought how many eighths of what they might have.
    pub reads: Option<[u64; 8]>,
    /// Of datagrams: the report that we sent, or that came back to us.
    pub report: Option<AckFin>,
}
