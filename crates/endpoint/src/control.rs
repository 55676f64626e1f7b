//! Our end of a control connection to a reflector: opens the session, watches that the peer lives, fetches its report.

use std::io::{Read, Write};
use std::net::SocketAddr;

use measure::unit::{Instant, Nanos};
use protocol::native::client::{Client, ClientEvent};
use protocol::native::error::{SessionError, Side as SessionSide};
use protocol::native::key::{Key, Secret};
use protocol::native::message::{Ending, Open, Opened, Report};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::clock::Monotonic;
use crate::error::{Cause, EndpointError, Side, Step};
use crate::random;
use crate::socket;
use crate::stop::Stop;

/// How long a connection may take to be made: a lost SYN is sent again after one and three seconds.
const CONNECT: Nanos = Nanos::secs(5);
/// How long a reflector may take to report after it was asked.
const REPORT: Nanos = Nanos::secs(10);

/// A session that is open.
#[derive(Debug)]
pub struct Control {
    socket: Socket,
    client: Client,
    peer: SocketAddr,
    /// What the reflector agreed to.
    pub opened: Opened,
    /// Version of the protocol agreed on.
    pub version: u16,
}

impl Control {
    /// Connects to `peer` and opens a session as `open` asks.
    pub fn open(
        peer: SocketAddr,
        open: Open,
        key: Option<&Key>,
        bind: Option<std::net::IpAddr>,
        stop: &Stop,
    ) -> Result<Self, EndpointError> {
        let socket = connect(peer, bind)?;
        let secret = match key {
            Some(key) => Some(Secret {
                key: key.clone(),
                ephemeral: random::bytes()
                    .map_err(|cause| EndpointError::new(Step::Agree, peer, cause).on(Side::Ours))?,
            }),
            None => None,
        };
        let mut link = Half { socket, client: Client::new(open, secret, Monotonic::now()), peer };
        let opened = loop {
            match link.turn(stop)? {
                Some(ClientEvent::Opened(opened)) => break opened,
                Some(_) => {}
                None if stop.requested() => return Err(EndpointError::new(Step::Agree, peer, Cause::Stopped)),
                None => {}
            }
        };
        let version = link.client.version().unwrap_or(protocol::native::preamble::Versions::OURS.highest);
        Ok(Self { socket: link.socket, client: link.client, peer, opened, version })
    }

    /// Waits a glance for something from the reflector; tells when it is gone or gives up.
    pub fn watch(&mut self) -> Result<(), EndpointError> {
        let fail = |error| refused(self.peer, Step::Measure, error);
        self.client.keep_alive(Monotonic::now()).map_err(fail)?;
        turn(&self.socket, &mut self.client, self.peer, Step::Measure).map(drop)
    }

    /// Ends the session and fetches the report; `None` where the reflector does not answer any more.
    pub fn close(mut self) -> Option<Report> {
        let give_up = Monotonic::now().after(REPORT);
        self.client.close(Monotonic::now()).ok()?;
        while Monotonic::now() < give_up {
            match turn(&self.socket, &mut self.client, self.peer, Step::Measure).ok()? {
                Some(ClientEvent::Report(report)) => return Some(*report),
                _ => {}
            }
        }
        None
    }

    /// Tells the reflector that we give up.
    pub fn give_up(mut self, why: &str) {
        self.client.give_up(Ending::Internal, why, Monotonic::now());
        let _told = write_all(&self.socket, &self.client.outgoing());
    }
}

/// A connection whose session is not open yet.
struct Half {
    socket: Socket,
    client: Client,
    peer: SocketAddr,
}

impl Half {
    fn turn(&mut self, _stop: &Stop) -> Result<Option<ClientEvent>, EndpointError> {
        turn(&self.socket, &mut self.client, self.peer, Step::Agree)
    }
}

fn connect(peer: SocketAddr, bind: Option<std::net::IpAddr>) -> Result<Socket, EndpointError> {
    let fail = |cause: std::io::Error| EndpointError::new(Step::Connect, peer, cause);
    let socket = Socket::new(Domain::for_address(peer), Type::STREAM, Some(Protocol::TCP)).map_err(fail)?;
    if let Some(bind) = bind {
        socket.bind(&SockAddr::from(SocketAddr::new(bind, 0))).map_err(|cause| {
            EndpointError::new(Step::Set("local address"), peer, cause)
                .with_hint(format!("{bind} must be an address of this host, of the peer's IP version"))
        })?;
    }
    socket.connect_timeout(&SockAddr::from(peer), CONNECT.into()).map_err(fail)?;
    socket.set_tcp_nodelay(true).map_err(fail)?;
    socket::set_glance(&socket).map_err(fail)?;
    Ok(socket)
}

/// Writes what is to be written, reads for a glance at most, and returns the next event.
fn turn(
    socket: &Socket,
    client: &mut Client,
    peer: SocketAddr,
    step: Step,
) -> Result<Option<ClientEvent>, EndpointError> {
    let out = client.outgoing();
    write_all(socket, &out).map_err(|cause| EndpointError::new(step.clone(), peer, cause))?;
    if let Some(event) = client.event() {
        return Ok(Some(event));
    }
    let mut buffer = [0; 64 << 10];
    let now = Monotonic::now();
    let fed = match (&mut &*socket).read(&mut buffer) {
        Ok(0) => client.ended(),
        Ok(count) => client.feed(&buffer[..count], now),
        Err(error) if is_glance(&error) => client.overdue(now),
        // A reset before a word was said is how a stranger, or a reflector that is full, may decline.
        Err(cause) => return Err(EndpointError::new(step, peer, cause)),
    };
    // What came before an error still counts: it may be the reason.
    match (client.event(), fed) {
        (Some(event), _) => Ok(Some(event)),
        (None, Ok(())) => Ok(None),
        (None, Err(error)) => Err(refused(peer, step, error)),
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
fn refused(peer: SocketAddr, step: Step, error: SessionError) -> EndpointError {
    let side = match error.side() {
        SessionSide::Ours => Side::Ours,
        SessionSide::Theirs => Side::Theirs,
        SessionSide::Path => Side::Path,
    };
    let hint = error.hint();
    let failed = EndpointError::new(step, peer, Cause::Peer(error.to_string())).on(side);
    match hint {
        Some(hint) => failed.with_hint(hint),
        None => failed,
    }
}
