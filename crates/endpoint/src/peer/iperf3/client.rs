//! The client's end of iperf3's protocol: one control connection, one test, any number of streams either way.
//!
//! Nothing waits without bound: not for the server's messages ([`control`]), not for its streams ([`open`]), not for
//! data ([`Test::receive_timeout`]). A [`Stop`] ends every wait, and ends a running test as an interrupted iperf3 does.
//! A failure while data flowed stands beside the measurement ([`Measured::trouble`]); before that it is an error.

pub mod control;
mod ending;
pub mod open;

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::PathBuf;

use measure::environment::Environment;
use measure::event::Event;
use measure::method::Pacing;
use measure::unit::{Bytes, Nanos};
use protocol::iperf3::code::Code;
use protocol::iperf3::cookie::Cookie;
use protocol::iperf3::login::{Padding, PublicKey, Token};
use protocol::iperf3::parameters::{DATAGRAM, Parameters, Protocol, Segmentation};
use protocol::iperf3::results::Results;

use self::control::{Control, Heard};
use super::course::{Course, Limit};
use super::sockets::Connection;
use super::streams::{self, Ran, Run};
use super::tell;
use crate::clock::{Monotonic, wall};
use crate::environment::Reader;
use crate::environment::watch::Watch;
use crate::error::{Cause, EndpointError, Step};
use crate::facts::socket::socket_facts;
use crate::random;
use crate::socket::option;
use crate::stop::Stop;
use crate::thread::CpuTime;

/// Default of a receiver's longest wait for data.
pub const RECEIVE_TIMEOUT: Nanos = Nanos::secs(120);
/// Default of the longest time for a connection to be established.
pub const CONNECT: Nanos = Nanos::secs(30);

/// Settings of a control connection.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Addresses of the server, tried in turn.
    pub servers: Vec<SocketAddr>,
    /// The local address of all connections; `None`: any. The port is the data's alone, see [`Test::local_port`].
    pub local: Option<std::net::IpAddr>,
    /// The network interface of all connections (`SO_BINDTODEVICE`); `None`: any.
    pub interface: Option<String>,
    /// Longest time for each address.
    pub connect_timeout: Nanos,
    /// Name and version of the program, for the facts of this host.
    pub program: String,
}

impl Setup {
    /// A setup towards these servers, from any local address.
    pub fn towards(servers: Vec<SocketAddr>) -> Self {
        Self { servers, local: None, interface: None, connect_timeout: CONNECT, program: String::new() }
    }
}

/// User and password of the client, for a server that admits only known users.
#[derive(Clone)]
pub struct Credentials {
    /// User name.
    pub user: String,
    /// Password.
    pub password: String,
    /// The server's public key.
    pub key: PublicKey,
    /// Padding of the token.
    pub padding: Padding,
}

/// The name alone.
impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").field("user", &self.user).field("padding", &self.padding).finish_non_exhaustive()
    }
}

/// One test.
#[derive(Clone, Debug)]
pub struct Test {
    /// Parameters of the test, for the server and for our end. Without a size, datagrams are as large as the control
    /// connection's segments.
    pub parameters: Parameters,
    /// Credentials of the user; `None`: the server admits anyone.
    pub credentials: Option<Credentials>,
    /// Local port of the first stream; the others have those after it. `None`: any.
    pub local_port: Option<u16>,
    /// The CPU of our threads; `None`: any.
    pub cpu: Option<u32>,
    /// File whose content is sent over TCP; absent: octets of ours.
    pub file: Option<PathBuf>,
    /// Length of an interval.
    pub interval: Nanos,
    /// Longest time for which a stream may carry nothing; then the test ends.
    pub receive_timeout: Nanos,
    /// Longest time that unacknowledged data may wait (`TCP_USER_TIMEOUT`); `None`: the system's default.
    pub send_timeout: Option<Nanos>,
    /// Pacing: the way in which a sender with a rate waits for its next call.
    pub pacing: Pacing,
}

impl Test {
    /// A test by `parameters`, with nothing said of our end.
    pub fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            credentials: None,
            local_port: None,
            cpu: None,
            file: None,
            interval: measure::event::INTERVAL,
            receive_timeout: RECEIVE_TIMEOUT,
            send_timeout: None,
            pacing: Pacing::Hybrid,
        }
    }

    /// Limit that ends our senders by the payload they carried.
    fn limit(&self) -> Limit {
        match (self.parameters.bytes, self.parameters.blocks) {
            (0, 0) => Limit::None,
            (0, calls) => Limit::Calls(calls),
            (bytes, _) => Limit::Bytes(bytes),
        }
    }

    /// Duration of the data; `None`: no limit by time.
    fn length(&self) -> Option<Nanos> {
        let timed = self.parameters.time > 0 && self.limit() == Limit::None;
        timed.then(|| Nanos::secs(u64::from(self.parameters.time)))
    }
}

/// Progress of a test.
#[derive(Debug)]
pub enum Progress<'a> {
    /// All streams are there, in this order; the test begins.
    Streams(&'a [Connection]),
    /// An interval, or another event of the engine; threads are numbered as streams.
    Engine(Event),
}

/// Cause of a test's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// As requested.
    Complete,
    /// The user requested the end.
    Stopped,
    /// The server ended by itself.
    ServerTerminated,
    /// A stream carried nothing for too long: iperf3's number 144.
    Silent,
    /// The server or the path to it failed: see [`Measured::trouble`].
    Lost,
}

/// Failure of a test.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct Failure {
    /// iperf3's number for the failure.
    pub code: Code,
    /// System's error number, ours or the one that the server reported; absent: none.
    pub errno: Option<i32>,
    /// The error itself.
    #[source]
    pub error: EndpointError,
}

impl Failure {
    /// `error`, which iperf3 has the number `code` for.
    pub fn new(code: Code, error: EndpointError) -> Self {
        let errno = if let Cause::System(cause) = &error.cause { cause.raw_os_error() } else { None };
        Self { code, errno, error }
    }
}

/// Result of a test.
#[derive(Debug)]
pub struct Measured {
    /// The parameters with sizes filled in; several paths stand in them where each stream had them to the end.
    pub parameters: Parameters,
    /// Each stream, in the order they were opened.
    pub streams: Vec<Ran>,
    /// Results of our end.
    pub ours: Results,
    /// Results of the server; `None`: none came.
    pub theirs: Option<Results>,
    /// Cause of the end.
    pub finish: Finish,
    /// Failure of the test; absent: none.
    pub trouble: Option<Failure>,
    /// Wall clock at the start of the streams, nanoseconds since 1970.
    pub began_wall: u64,
    /// This host.
    pub environment: Environment,
}

/// A control connection that is open.
#[derive(Debug)]
pub struct Session {
    control: Control,
    cookie: Cookie,
    setup: Setup,
}

impl Session {
    /// Opens the control connection. The test shows later that the peer is an iperf3 server, and that it is not busy.
    pub fn open(setup: Setup, stop: &Stop) -> Result<Self, Failure> {
        let drawn = random::bytes().map_err(|cause| {
            Failure::new(Code(101), EndpointError::new(Step::Connect, "this host", cause).on(crate::error::Side::Ours))
        })?;
        let cookie = Cookie::random(drawn);
        let control = Control::open(&setup, &cookie, stop)?;
        Ok(Self { control, cookie, setup })
    }

    /// Our end of the control connection.
    pub fn local(&self) -> Option<SocketAddr> {
        self.control.local()
    }

    /// The server's end.
    pub fn peer(&self) -> SocketAddr {
        self.control.peer
    }

    /// The test's cookie.
    pub fn cookie(&self) -> &Cookie {
        &self.cookie
    }

    /// Bytes of a segment of the control connection.
    pub fn segment(&self) -> Option<Bytes> {
        socket_facts(self.control.socket()).mss_bytes
    }

    /// Runs the test and ends the connection.
    pub fn measure(
        mut self,
        test: &Test,
        stop: &Stop,
        on_progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Measured, Failure> {
        let mut watch = Watch::start(Reader::host(self.setup.program.clone()).towards(self.peer().ip()));
        let test = Test { parameters: self.complete(test)?, ..test.clone() };
        let parameters = &test.parameters;
        self.control.ask(parameters, stop)?;
        let course = Course::new(test.limit(), false);
        let ready = open::streams(&mut self, &test, stop)?;
        self.control.await_start(stop)?;
        let connections: Vec<Connection> = ready.iter().map(|stream| stream.connection.clone()).collect();
        on_progress(Progress::Streams(&connections));
        watch.begin();
        let own = CpuTime::own();
        let mut ending = ending::Ending::new(&mut self.control, &test, &course, stop, &ready);
        let how = Run {
            parameters,
            after: test.length(),
            interval: test.interval,
            cpu: test.cpu,
            patience: test.receive_timeout,
            course: &course,
            pacing: test.pacing,
            closes: true,
        };
        let ran = streams::run(ready, how, &mut |event| on_progress(Progress::Engine(event)), &mut |began| {
            ending.look(began);
        });
        let (ran, began_wall) = ran.map_err(|error| Failure::new(Code(151), error))?;
        let (mut finish, mut trouble) = ending.finish();
        ran.iter().filter_map(|stream| stream.span).for_each(|span| watch.add(span));
        let elapsed = ran.iter().map(|stream| stream.elapsed).max().unwrap_or_default();
        let ours = tell::results(parameters, &ran, CpuTime::own().since(own), elapsed, None);
        let mut theirs = None;
        if finish == Finish::Complete {
            match self.control.exchange(&ours, stop) {
                Ok(told) => theirs = Some(told),
                Err(failure) => (finish, trouble) = (Finish::Lost, Some(failure)),
            }
        }
        let over_several = ran.iter().all(|stream| option::is_multipath(stream.way.socket().as_fd()));
        // Before the server hears that we are content, as an iperf3 does it; the ways stay for who wants to look at them.
        for stream in &ran {
            let _closed = stream.way.socket().shutdown(std::net::Shutdown::Both);
        }
        self.control.close();
        let environment = watch.finish();
        let mptcp = test.parameters.mptcp && over_several;
        let parameters = Parameters { mptcp, ..test.parameters };
        Ok(Measured { parameters, streams: ran, ours, theirs, finish, trouble, began_wall, environment })
    }

    /// The parameters with what only the connection knows: the size of datagrams, and who asks, as of now.
    fn complete(&mut self, test: &Test) -> Result<Parameters, Failure> {
        let mut parameters = test.parameters.clone();
        let lacking = [
            (parameters.protocol == Protocol::Sctp, Code::NO_SCTP, "SCTP is not supported: choose TCP or UDP"),
            (parameters.flow_label.is_some(), Code(127), "flow labels of IPv6 are not supported: leave -L away"),
        ];
        if let Some((_, code, why)) = lacking.into_iter().find(|(wanted, ..)| *wanted) {
            let cause = std::io::Error::new(std::io::ErrorKind::Unsupported, why);
            return Err(Failure::new(code, EndpointError::new(Step::OpenSocket("data"), self.peer(), cause)));
        }
        if parameters.protocol == Protocol::Udp && parameters.block.is_none() {
            let segment = self.segment().and_then(|bytes| u32::try_from(bytes.0).ok());
            parameters.block = segment.filter(|bytes| DATAGRAM.contains(bytes)).or(Some(Protocol::Udp.default_block()));
        }
        let block = *parameters.block.get_or_insert(parameters.protocol.default_block());
        if parameters.segmentation.is_some_and(|cut| cut.gso) {
            parameters.segmentation = Some(Segmentation::of(block));
        }
        if let Some(asks) = &test.credentials {
            let made_s = (wall() / 1_000_000_000).cast_signed();
            let token = Token { user: asks.user.clone(), password: asks.password.clone(), made_s };
            let sealed = asks.key.seal(&token, asks.padding).ok_or_else(|| {
                let cause =
                    std::io::Error::new(std::io::ErrorKind::InvalidInput, "name and password do not fit its key");
                Failure::new(Code(22), EndpointError::new(Step::Agree, self.peer(), cause).on(crate::error::Side::Ours))
            })?;
            parameters.auth_token = Some(sealed);
        }
        Ok(parameters)
    }
}

/// Cause of an early end, with its failure.
fn lost(heard: Heard) -> (Finish, Option<Failure>) {
    match heard {
        Heard::Terminated => (Finish::ServerTerminated, None),
        Heard::Failed(failure) => (Finish::Lost, Some(failure)),
    }
}

/// The present instant, for the waits here.
fn now() -> measure::unit::Instant {
    Monotonic::now()
}
