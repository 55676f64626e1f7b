//! The client's end of netperf's protocol: a control connection, and one test after the other over it.
//!
//! A test is measured by the engines that serve every protocol. Special to netperf are the time at which the data
//! connection is made, its request, and its end. Nothing waits without bound: not for the server's answers
//! (`protocol::netperf::client::ANSWER`), not for its data ([`phase`]); a [`Stop`] ends every wait.

pub mod control;
pub mod data;
pub mod end;
pub mod exchange;
mod keeper;
pub mod phase;
pub mod stream;

use std::net::SocketAddr;

use measure::environment::Environment;
use measure::event::Event;
use measure::method::Method;
use measure::outcome::SocketFacts;
use measure::unit::Nanos;
use protocol::netperf::answer::{Calibration, Ready, Results, Traffic};
use protocol::netperf::ask::Ask;
use protocol::netperf::passphrase::Passphrase;

use self::control::Control;
use self::data::DataSocket;
use self::end::Ends;
use self::stream::{Calls, Streams};
use crate::cpu_usage::Usage;
use crate::engine::Ended;
use crate::environment::Reader;
use crate::environment::watch::Watch;
use crate::error::{EndpointError, Step};
use crate::session::Ending;
use crate::session::workers::Gathered;
use crate::stop::Stop;

/// Default timeout of a request over TCP. netperf waits for ever.
pub const TCP_TIMEOUT: Nanos = Nanos::secs(60);

/// Settings of a control connection.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// Addresses of the server, tried in turn.
    pub servers: Vec<SocketAddr>,
    /// The local address and port of the control connection; `None`: any.
    pub local: Option<SocketAddr>,
    /// The network interface of the control connection (`SO_BINDTODEVICE`); `None`: any.
    pub interface: Option<String>,
    /// Passphrase sent before the first request; absent: none.
    pub passphrase: Option<Passphrase>,
    /// The CPU that the server binds itself to; `None`: any.
    pub server_cpu: Option<u32>,
    /// Name and version of the program, for the facts of this host.
    pub program: String,
}

/// One test.
#[derive(Clone, Debug)]
pub struct Test {
    /// Method of the measurement.
    pub method: Method,
    /// Request to the server. Ports, addresses and family of our end are filled in from the data socket.
    pub ask: Ask,
    /// Settings of the data socket that are in neither of them.
    pub data: DataSocket,
    /// The calls of a stream at our end; the method's sizes say nothing of them.
    pub calls: Calls,
    /// Pause between the server's ready message and the first data. A real server gives up after 4 s.
    pub pause: Nanos,
    /// True where the server's results are awaited. A real server that is asked for a connection per transaction by
    /// time sends them 4 s late.
    pub wants_results: bool,
    /// True where every exchange is reported as an event.
    pub samples: bool,
    /// Length of an interval of the series; usually [`measure::event::INTERVAL`].
    pub interval: Nanos,
}

impl Test {
    /// A test of `method`, as the server is asked for by `ask`, with nothing said of the data socket.
    pub fn new(method: Method, ask: Ask) -> Self {
        Self {
            method,
            ask,
            data: DataSocket::default(),
            calls: Calls::default(),
            pause: Nanos::ZERO,
            wants_results: true,
            samples: false,
            interval: measure::event::INTERVAL,
        }
    }
}

/// Result of a test.
#[derive(Debug)]
pub struct Measured {
    /// Recording or counts that the engines gathered.
    pub found: Found,
    /// Messages and sockets of the session with the server.
    pub course: Course,
    /// Cause of our end's end.
    pub ended: Ending,
    /// Time from just before the data connection was made until it was closed in order, as netperf has it.
    pub elapsed: Nanos,
    /// Payload that our end received, in bytes and in calls.
    pub received: Traffic,
    /// Payload that our end sent, likewise.
    pub sent: Traffic,
    /// CPU use of this host, from before the data connection until it was closed; `None` where that was too short to be
    /// measured.
    pub cpu: Option<Usage>,
    /// This host.
    pub environment: Environment,
}

/// Result of the engines.
#[derive(Debug)]
pub enum Found {
    /// Exchanges: requests and replies.
    Exchanges(Gathered),
    /// A stream.
    Stream(Streams),
}

/// One session's part of a test.
#[derive(Debug)]
pub struct Course {
    /// Server's ready message, before the data.
    pub ready: Ready,
    /// Server's results, or the reason for which they are missing.
    pub results: Result<Results, EndpointError>,
    /// Facts of the data socket when it was connected; for a connection per transaction before that.
    pub at_start: SocketFacts,
    /// Facts of the data socket at the end; for a connection per transaction as at the start.
    pub at_end: SocketFacts,
    /// Local address of the data connection; for a connection per transaction that of the first.
    pub local: SocketAddr,
    /// Server's address of the data connection.
    pub remote: SocketAddr,
    /// Time to establish the data connection.
    pub connecting: Nanos,
    /// Duration of its orderly end.
    pub closing: Nanos,
}

/// A control connection that is open.
#[derive(Debug)]
pub struct Session {
    control: Control,
    server_cpu: Option<u32>,
    program: String,
}

impl Session {
    /// Opens the control connection. The first request shows later that the peer is a netserver, and that the
    /// passphrase is right.
    pub fn open(setup: Setup, stop: &Stop) -> Result<Self, EndpointError> {
        let Setup { servers, local, interface, passphrase, server_cpu, program } = setup;
        let control = Control::open(&servers, local, interface.as_deref(), passphrase, stop)?;
        Ok(Self { control, server_cpu, program })
    }

    /// Returns the server's address of the control connection.
    pub fn peer(&self) -> SocketAddr {
        self.control.peer
    }

    /// Our end of the control connection.
    pub fn local(&self) -> Option<SocketAddr> {
        self.control.local_end()
    }

    /// Asks how the server's CPUs count.
    pub fn calibrate(&mut self, stop: &Stop) -> Result<Calibration, EndpointError> {
        self.control.calibrate(self.server_cpu, stop)
    }

    /// Runs one test. An error is one of the time before data flowed; what happened later stands in the result.
    pub fn measure(
        &mut self,
        test: &Test,
        stop: &Stop,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<Measured, EndpointError> {
        let mut watch = Watch::start(Reader::host(self.program.clone()).towards(self.peer().ip()));
        let sessions = std::slice::from_mut(self);
        let (found, Ends { courses, cpu }) = if test.method.traffic.stream().is_some() {
            let (streams, ends) = stream::measure(sessions, test, stop, &mut watch, on_event)?;
            (Found::Stream(streams), ends)
        } else {
            let (gathered, ends) = exchange::measure(sessions, test, stop, &mut watch, on_event)?;
            (Found::Exchanges(gathered), ends)
        };
        let nobody = || EndpointError::new(Step::Measure, self.peer(), std::io::Error::other("there was no session"));
        let course = courses.into_iter().next().ok_or_else(nobody)?;
        let (running, received, sent) = found.carried(&test.method);
        Ok(Measured {
            ended: found.ending(),
            elapsed: Nanos(course.connecting.0 + running.0 + course.closing.0),
            received,
            sent,
            found,
            course,
            cpu,
            environment: watch.finish(),
        })
    }

    /// Ends the control connection in order.
    pub fn close(self, stop: &Stop) {
        self.control.close(stop);
    }
}

impl Found {
    /// Cause of our end's end.
    pub fn ending(&self) -> Ending {
        let ended = match self {
            Self::Exchanges(gathered) => gathered.ended,
            Self::Stream(streams) => streams.ended,
        };
        match (ended, self.trouble()) {
            (_, Some(error)) => Ending::PeerLost { reason: error.cause.to_string() },
            (Ended::Complete, None) => Ending::Complete,
            (Ended::Stopped, None) => Ending::Stopped,
            (Ended::Broken(fault), None) => Ending::PeerLost { reason: fault.to_string() },
        }
    }

    /// Error of the control connection, or of the server as a whole, while data flowed; `None`: none.
    pub fn trouble(&self) -> Option<&EndpointError> {
        match self {
            Self::Exchanges(gathered) => gathered.trouble.as_ref(),
            Self::Stream(streams) => streams.trouble.as_ref(),
        }
    }

    /// Returns the duration of the engine's run, and the payload that our end received and sent in it.
    fn carried(&self, method: &Method) -> (Nanos, Traffic, Traffic) {
        let of = |calls: u64, bytes: u64| Traffic { bytes: calls * bytes, calls };
        match self {
            Self::Exchanges(gathered) => {
                let recorded = &gathered.recording;
                let running = recorded.ended.since(recorded.began).unwrap_or_default();
                let answered = recorded.counts.answered + recorded.counts.late;
                let sent = recorded.counts.scheduled - recorded.counts.send_failed;
                (running, of(answered, method.traffic.response_bytes().0), of(sent, method.traffic.request_bytes().0))
            }
            Self::Stream(streams) => {
                let carried = streams.metered.carried;
                let carried = Traffic { bytes: carried.bytes.0, calls: carried.calls };
                let (received, sent) =
                    if stream::sends(method) { (Traffic::default(), carried) } else { (carried, Traffic::default()) };
                (streams.running, received, sent)
            }
        }
    }
}
