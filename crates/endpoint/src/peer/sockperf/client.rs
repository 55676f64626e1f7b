//! The client's end: sockets opened as a command line asks, and the engines that serve every protocol over them.
//!
//! Nothing is agreed on with a server, and only its client ends a test. Special to this client are the numbers of its
//! messages, which run over all its sockets, and that it continues where a real one ends: a reply that is lost,
//! duplicate or unexpected is counted.
//!
//! A UDP socket is connected, unlike a real client's: the kernel then keeps strangers away, reports a closed port, and
//! looks the route up once. The price is that replies from another address of the server than the requested one are not
//! received: request that one. Sockets of groups are not connected, for any member may answer.

mod arrivals;
mod flows;
mod framed;
mod group;
mod sockets;
mod way;

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::Arc;

use measure::environment::Environment;
use measure::event::Event;
use measure::method::{Carrier, Method};
use measure::trace::Trace;
use measure::unit::Nanos;
use protocol::sockperf::message::{LARGEST_DATAGRAM, LARGEST_STREAM};
use protocol::sockperf::payload;
use protocol::sockperf::wire::{Tallied, Tally};
use socket2::Socket;

use self::arrivals::Arrivals;
use crate::environment::Reader;
use crate::environment::watch::Watch;
use crate::error::{Cause, EndpointError, Step};
use crate::session::workers::Gathered;
use crate::socket::multicast::{Interface, Outgoing};
use crate::stop::Stop;

/// Timeout of a request over TCP: data that TCP loses come late, not never.
pub const TCP_TIMEOUT: Nanos = Nanos::secs(60);
/// Timeout of a request over UDP. A real client waits to the end of its test.
pub const UDP_TIMEOUT: Nanos = Nanos::secs(1);
/// Longest wait for replies behind the last message; a real client waits a tenth of it, whatever the path.
pub const LINGER: Nanos = Nanos::secs(1);

/// One test.
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own, and all go together")]
#[derive(Clone, Debug)]
pub struct Test {
    /// Method. Its carrier is that of the first socket where they differ; one thread serves all.
    pub method: Method,
    /// Trace to replay; present where the schedule is a trace.
    pub trace: Option<Arc<Trace>>,
    /// Destinations of the messages: a socket each, in turn, at least one.
    pub places: Vec<Place>,
    /// The local port; 0: any.
    pub local_port: u16,
    /// Messages of one turn of a socket, which decides on their numbers.
    pub burst: NonZeroU32,
    /// Content behind the headers.
    pub content: Content,
    /// True where a reply that differs from its request counts as none.
    pub integrity: bool,
    /// True where a UDP server is asked for the number of arrivals. A server that does not know the question ignores
    /// it.
    pub counts: bool,
    /// True where a message that would have to wait for room in a TCP socket is skipped.
    pub skips: bool,
    /// Longest time for a TCP connection to be established.
    pub connect: Nanos,
    /// Socket options beside the method's.
    pub options: Options,
    /// Multicast settings.
    pub groups: Groups,
    /// True where every exchange is reported as an event.
    pub samples: bool,
    /// Length of an interval of the series; usually [`measure::event::INTERVAL`].
    pub interval: Nanos,
    /// Name and version of the program, for the facts of this host.
    pub program: String,
}

impl Test {
    /// A test of `method` with `places`, with nothing said of the sockets.
    pub fn new(method: Method, places: Vec<Place>) -> Self {
        let longest = u32::try_from(method.traffic.request_bytes().0).unwrap_or(u32::MAX);
        Self {
            method,
            trace: None,
            places,
            local_port: 0,
            burst: NonZeroU32::MIN,
            content: Content { longest, seed: payload::SEED },
            integrity: false,
            counts: false,
            skips: false,
            connect: Nanos::secs(5),
            options: Options::default(),
            groups: Groups::default(),
            samples: false,
            interval: measure::event::INTERVAL,
            program: String::new(),
        }
    }
}

/// One socket's other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The server, or a group.
    pub address: SocketAddr,
    /// [`Carrier::Udp`] or [`Carrier::Tcp`].
    pub carrier: Carrier,
    /// Only sender accepted of a group; absent: any.
    pub source: Option<IpAddr>,
}

impl Place {
    /// Returns true where it is a group's.
    pub fn is_group(&self) -> bool {
        self.address.ip().is_multicast()
    }

    /// Bytes of the largest message that it takes.
    fn largest(&self) -> u32 {
        if self.carrier == Carrier::Tcp { LARGEST_STREAM } else { LARGEST_DATAGRAM }
    }
}

/// Content behind the headers of a client's messages: see [`payload`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    /// The longest message it is made for, bytes.
    pub longest: u32,
    /// Seed of the content.
    pub seed: u32,
}

/// Socket options that no method has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// True where others may have the address too (`SO_REUSEADDR`).
    pub reuse_address: bool,
    /// `SO_BUSY_POLL`, microseconds, where it differs from the method's wait mode.
    pub busy_poll_us: Option<u32>,
    /// `SO_MAX_PACING_RATE`, bytes a second.
    pub pacing_bytes_per_s: Option<u64>,
}

/// Multicast settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups {
    /// Interface at which groups are joined; absent: the routing table's choice.
    pub receive: Option<Interface>,
    /// Settings of messages to groups.
    pub outgoing: Outgoing,
    /// True where two unanswered messages go to each before the test.
    pub warm_up: bool,
}

impl Default for Groups {
    /// As sockperf: two hops, not to members on this host, a warm-up.
    fn default() -> Self {
        Self { receive: None, outgoing: Outgoing { interface: None, ttl: 2, loopback: false }, warm_up: true }
    }
}

/// Buffer sizes that the kernel granted a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// Number of the socket's descriptor.
    pub descriptor: i32,
    /// Receive buffer, bytes.
    pub receive_bytes: usize,
    /// Send buffer, bytes.
    pub send_bytes: usize,
}

/// Sockets that are set up and not connected yet.
#[derive(Debug)]
pub struct Prepared {
    sockets: Vec<Socket>,
}

/// Sockets that are ready for a test.
#[derive(Debug)]
pub struct Session {
    sockets: Vec<Socket>,
}

/// Result of a test.
#[derive(Debug)]
pub struct Measured {
    /// Recording and facts that the engine gathered.
    pub gathered: Gathered,
    /// Counts of messages that no sound server sends.
    pub tallied: Tallied,
    /// Messages that arrived; absent where a server did not report them.
    pub arrived: Option<u64>,
    /// This host.
    pub environment: Environment,
}

/// Makes the sockets of a test and binds them.
pub fn prepare(test: &Test) -> Result<Prepared, EndpointError> {
    if test.places.is_empty() {
        let nowhere = Cause::Peer("there is nobody to send to".into());
        return Err(EndpointError::new(Step::ConnectData, "sockperf", nowhere));
    }
    test.places
        .iter()
        .map(|place| sockets::open(test, place))
        .collect::<Result<_, _>>()
        .map(|sockets| Prepared { sockets })
}

impl Prepared {
    /// Returns the buffer sizes that each socket was granted.
    pub fn buffers(&self) -> Vec<Buffers> {
        self.sockets.iter().map(sockets::buffers).collect()
    }

    /// Connects them, and joins the groups. Messages before a test go to groups alone.
    pub fn connect(self, test: &Test, stop: &Stop) -> Result<Session, EndpointError> {
        let Self { sockets } = self;
        for (socket, place) in sockets.iter().zip(&test.places) {
            sockets::connect(test, socket, place, stop)?;
        }
        Ok(Session { sockets })
    }
}

impl Session {
    /// Sends the warm-up messages before a test to each group. Their arrival is not checked.
    pub fn warm_up(&self, test: &Test) {
        for (socket, place) in self.sockets.iter().zip(&test.places).filter(|(_, place)| place.is_group()) {
            sockets::warm_up(test, socket, place);
        }
    }

    /// Runs the test. An error is one of the time before messages flowed; what happened later stands in the result.
    pub fn measure(self, test: &Test, stop: &Stop, on_event: &mut dyn FnMut(Event)) -> Result<Measured, EndpointError> {
        let Self { sockets } = self;
        let datagrams = test.places.iter().all(|place| place.carrier == Carrier::Udp && !place.is_group());
        let asked = if test.counts && datagrams { Arrivals::begin(&sockets, stop) } else { None };
        let mut watch = Watch::start(Reader::host(test.program.clone()).towards(test.places[0].address.ip()));
        let tally = Arc::new(Tally::default());
        let gathered = flows::measure(test, sockets, &tally, &mut watch, stop, on_event)?;
        let arrived = asked.and_then(|arrivals| arrivals.end(stop));
        Ok(Measured { gathered, tallied: tally.read(), arrived, environment: watch.finish() })
    }
}
