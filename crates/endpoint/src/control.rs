//! Our end of a control connection to a reflector: opens the session, watches that the peer lives, fetches its report.

use std::io::Write;
use std::net::SocketAddr;

use measure::authentication::Authentication;
use measure::method::{Carrier, SocketOptions};
use measure::unit::{Instant, Nanos};
use protocol::native::client::{Client, ClientEvent};
use protocol::native::error::{SessionError, Side as SessionSide};
use protocol::native::key::{Key, Proof, Secret};
use protocol::native::mac::Mac;
use protocol::native::message::{Ending, Open, Opened, Report, capability};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use socket2::{Domain, Protocol, Socket, Type};

use crate::clock::Monotonic;
use crate::error::hint::Hint;
use crate::error::{Cause, EndpointError, Side, Step};
use crate::random;
use crate::socket;
use crate::stop::{GLANCE, Stop};

/// Longest time for a connection to be established: a lost SYN is sent again after one and three seconds.
const CONNECT: Nanos = Nanos::secs(5);
/// Longest wait for the reflector's report after the request: little more than the time to read a busy host's facts, so
/// that a peer that hangs holds nothing up.
const REPORT: Nanos = Nanos::secs(5);
/// The same once the user wants the end.
const HASTE: Nanos = Nanos::millis(500);
/// Longest wait for the reason of a reflector whose data connection ended.
const REASON: Nanos = Nanos::millis(300);

/// Credential of a client for a reflector that wants a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// Secret by which the client proves itself.
    pub proof: Proof,
    /// True where datagrams are to be authenticated, if the reflector can.
    pub authenticate_datagrams: bool,
}

impl From<Key> for Credential {
    fn from(key: Key) -> Self {
        Proof::from(key).into()
    }
}

impl From<Proof> for Credential {
    fn from(proof: Proof) -> Self {
        Self { proof, authenticate_datagrams: true }
    }
}

/// A session that is open.
#[derive(Debug)]
pub struct Control {
    socket: Socket,
    client: Client,
    peer: SocketAddr,
    /// Session that the reflector granted.
    pub opened: Opened,
    /// Version of the protocol agreed on.
    pub version: u16,
    /// Authentication of the session; absent without a key.
    pub authentication: Option<Authentication>,
    /// True where each datagram is authenticated; absent without a key, and where none is sent.
    pub authenticated: Option<bool>,
}

impl Control {
    /// Authentication of the session's datagrams; absent where they have none.
    pub fn mac(&self) -> Option<Mac> {
        self.opened.got.datagram_key.as_ref().map(Mac::new)
    }
}

impl Control {
    /// Connects to `peer` and opens a session as `open` asks. The control connection has the local address and the
    /// interface of `options`: it takes the same path as the data.
    pub fn open(
        peer: SocketAddr,
        mut open: Open,
        credential: Option<&Credential>,
        options: &SocketOptions,
        stop: &Stop,
    ) -> Result<Self, EndpointError> {
        let socket = connect(peer, options, stop)?;
        if credential.is_some_and(|credential| credential.authenticate_datagrams) {
            open.capabilities.insert(capability::DATAGRAM_AUTH.to_owned());
        }
        let secret = match credential {
            Some(credential) => Some(Secret {
                proof: credential.proof.clone(),
                ephemeral: random::bytes()
                    .map_err(|cause| EndpointError::new(Step::Agree, peer, cause).on(Side::Ours))?,
            }),
            None => None,
        };
        let of_datagrams = secret.is_some() && open.carrier == Carrier::Udp;
        let mut client = Client::new(open, secret, Monotonic::now());
        let opened = loop {
            match turn(&socket, &mut client, peer, Step::Agree, (GLANCE, stop))? {
                Some(ClientEvent::Opened(opened)) => break opened,
                None if stop.requested() => return Err(EndpointError::new(Step::Agree, peer, Cause::Stopped)),
                Some(_) | None => {}
            }
        };
        let version = client.version().unwrap_or(protocol::native::preamble::Versions::OURS.highest);
        let authenticated = of_datagrams.then_some(opened.got.datagram_key.is_some());
        let authentication = credential.map(|credential| credential.proof.kind());
        Ok(Self { socket, client, peer, opened, version, authentication, authenticated })
    }

    /// Its socket, for those who wait for several.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Returns the time by which [`Self::watch`] must be called at the latest.
    pub fn deadline(&self) -> Instant {
        self.client.deadline().unwrap_or(Instant::NEVER)
    }

    /// Asks the reflector whether it is there, unless it is asked already; [`Self::watch`] hears what it says.
    pub fn ask(&mut self) -> Result<(), EndpointError> {
        self.client.progress(Monotonic::now()).map_err(|error| refused(self.peer, Step::Measure, &error))?;
        let fail = |cause| EndpointError::new(Step::Measure, self.peer, cause);
        write_all(&self.socket, &self.client.outgoing()).map_err(fail)
    }

    /// Our end of the connection.
    pub fn local(&self) -> Option<SocketAddr> {
        self.socket.local_addr().ok()?.as_socket()
    }

    /// Waits up to `patience` for a message from the reflector, or until `done` is requested. An error: the reflector
    /// is gone, or gives up.
    pub fn watch(&mut self, patience: Nanos, done: &Stop) -> Result<(), EndpointError> {
        let fail = |error| refused(self.peer, Step::Measure, &error);
        self.client.keep_alive(Monotonic::now()).map_err(fail)?;
        turn(&self.socket, &mut self.client, self.peer, Step::Measure, (patience, done)).map(drop)
    }

    /// A data connection ended: what the reflector says of it, where it says anything in good time.
    pub fn reason(&mut self) -> Option<EndpointError> {
        let give_up = Monotonic::now().after(REASON);
        while let Some(left) = give_up.since(Monotonic::now()).filter(|left| *left > Nanos::ZERO) {
            if let Err(said) = self.watch(left, &Stop::default()) {
                return Some(said);
            }
        }
        None
    }

    /// Ends the session and fetches the report; a reflector that is slow with it is not waited for once `stop` asks.
    pub fn close(mut self, stop: &Stop) -> Result<Report, EndpointError> {
        let asked = Monotonic::now();
        let fail = |error| refused(self.peer, Step::FetchReport, &error);
        self.client.close(asked).map_err(fail)?;
        let never = Stop::default();
        loop {
            let patience = if stop.requested() { HASTE } else { REPORT };
            if Monotonic::now() >= asked.after(patience) {
                return Err(EndpointError::new(Step::FetchReport, self.peer, Cause::Silence(patience)));
            }
            let event = turn(&self.socket, &mut self.client, self.peer, Step::FetchReport, (GLANCE, &never))?;
            if let Some(ClientEvent::Report(report)) = event {
                return Ok(*report);
            }
        }
    }

    /// Tells the reflector that we give up.
    pub fn give_up(mut self, why: &str) {
        self.client.give_up(Ending::Internal, why, Monotonic::now());
        let _told = write_all(&self.socket, &self.client.outgoing());
    }
}

fn connect(peer: SocketAddr, options: &SocketOptions, stop: &Stop) -> Result<Socket, EndpointError> {
    let fail = |cause: std::io::Error| EndpointError::new(Step::Connect, peer, cause);
    let socket = Socket::new(Domain::for_address(peer), Type::STREAM, Some(Protocol::TCP)).map_err(fail)?;
    let way = SocketOptions { bind: options.bind, interface: options.interface.clone(), ..SocketOptions::default() };
    socket::prepare(&socket, peer, &way)?;
    match socket::connect(&socket, peer, CONNECT, stop) {
        Ok(true) => {}
        Ok(false) => return Err(EndpointError::new(Step::Connect, peer, Cause::Stopped)),
        Err(cause) => return Err(fail(cause)),
    }
    socket.set_tcp_nodelay(true).map_err(fail)?;
    socket::set_glance(&socket).map_err(fail)?;
    Ok(socket)
}

/// Writes what is to be written, waits up to `patience` for something to read or for the wish of `stop`, and returns the next event.
fn turn(
    socket: &Socket,
    client: &mut Client,
    peer: SocketAddr,
    step: Step,
    (patience, stop): (Nanos, &Stop),
) -> Result<Option<ClientEvent>, EndpointError> {
    // Messages that the peer sent before it went away are still readable, and may be the reason.
    let unwritten = write_all(socket, &client.outgoing()).err();
    if let Some(event) = client.event() {
        return Ok(Some(event));
    }
    stop.wait_or_input(socket, Monotonic::now().after(patience));
    let mut buffer = [0; 16 << 10];
    let now = Monotonic::now();
    let fed = match recv(socket, &mut buffer[..], RecvFlags::DONTWAIT) {
        // A reset before a word was said is how a stranger declines; later the machine knows what was still to do.
        Ok((0, _)) | Err(Errno::CONNRESET | Errno::PIPE) => client.ended(),
        // A peer that talks on and on without answering has no more time than a silent one.
        Ok((count, _)) => client.feed(&buffer[..count], now).and_then(|()| client.overdue(now)),
        Err(Errno::AGAIN | Errno::INTR) => match unwritten {
            Some(cause) => return Err(EndpointError::new(step, peer, cause)),
            None => client.overdue(now),
        },
        Err(cause) => return Err(EndpointError::new(step, peer, cause)),
    };
    // Messages before an error still count: one may be the reason.
    match (client.event(), fed) {
        (Some(event), _) => Ok(Some(event)),
        (None, Ok(())) => Ok(None),
        (None, Err(error)) => Err(refused(peer, step, &error)),
    }
}

fn write_all(socket: &Socket, mut out: &[u8]) -> std::io::Result<()> {
    let give_up: Instant = Monotonic::now().after(REPORT);
    while !out.is_empty() {
        match (&mut &*socket).write(out) {
            Ok(count) => out = &out[count..],
            Err(error) if is_glance(&error) && Monotonic::now() < give_up => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn is_glance(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut | std::io::ErrorKind::Interrupted
    )
}

/// A session's error as an error towards this peer.
fn refused(peer: SocketAddr, step: Step, error: &SessionError) -> EndpointError {
    let side = match error.side() {
        SessionSide::Ours => Side::Ours,
        SessionSide::Theirs => Side::Theirs,
        SessionSide::Path => Side::Path,
    };
    EndpointError::new(step, peer, Cause::Peer(error.to_string())).on(side).with_hint(Hint::Session(error.clone()))
}
