//! The client's data streams, opened one after the other: their order is all by which the server knows them.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use measure::method::SocketOptions;
use measure::unit::Nanos;
use protocol::iperf3::code::Code;
use protocol::iperf3::datagram::{HELLO, is_reply};
use protocol::iperf3::parameters::{Parameters, Protocol};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::{SockAddr, Socket};

use super::{Failure, Session, Test, now};
use crate::error::{Cause, EndpointError, Step};
use crate::facts::socket::socket_facts;
use crate::link::bulk::any::Any;
use crate::link::clockwork::poll_one;
use crate::peer::iperf3::sockets::{self, Connection};
use crate::peer::iperf3::streams::Ready;
use crate::socket::{self, any};
use crate::stop::{GLANCE, Stop};

/// Times that a first datagram is sent: iperf3 sends it once, and a loss makes the test fail. The waits after each are
/// a second, two, four and so on.
const HELLOS: u32 = 4;

/// Opens all streams that the test wants: those that we send on, then those that the server sends on.
pub(super) fn streams(session: &mut Session, test: &Test, stop: &Stop) -> Result<Vec<Ready>, Failure> {
    let uploads = test.parameters.uploads() as usize;
    let all = uploads + test.parameters.downloads() as usize;
    (0..all).map(|index| stream(session, test, index, index < uploads, stop)).collect()
}

fn stream(session: &mut Session, test: &Test, index: usize, sends: bool, stop: &Stop) -> Result<Ready, Failure> {
    let (peer, parameters) = (session.peer(), &test.parameters);
    let port = test.local_port.map(|first| first.wrapping_add(index as u16));
    let opened = match parameters.protocol {
        Protocol::Udp => flow(session, parameters, port, stop),
        Protocol::Tcp | Protocol::Sctp => connection(session, parameters, port, stop),
    };
    let ready = opened.and_then(|socket| {
        if let Some(patience) = test.send_timeout.filter(|_| parameters.protocol == Protocol::Tcp) {
            sockets::set_send_timeout(&socket, peer, patience)?;
        }
        let fail = |cause: io::Error| EndpointError::new(Step::ConnectData, peer, cause);
        let connection = Connection::of(&socket, index, sends).map_err(fail)?;
        let at_start = socket_facts(&socket);
        let way = match sockets::way(socket, parameters, sends, test.file.as_ref())? {
            // A file of the user's is sent once; the one in memory is a buffer.
            Any::File(file) if test.file.is_some() => Any::File(file.once()),
            way => way,
        };
        Ok(Ready { connection, way, at_start })
    });
    ready.map_err(|error| {
        // The server may have said why before.
        if let Some(super::Heard::Failed(failure)) = session.control.watch(now()) {
            return failure;
        }
        Failure::new(code_of(&error.step), error)
    })
}

/// iperf3's number for what could not be done with a data socket.
fn code_of(step: &Step) -> Code {
    match step {
        Step::Set("TCP_NODELAY") => Code(122),
        Step::Set("maximum segment") => Code(123),
        Step::Set("send buffer" | "receive buffer") => Code(124),
        Step::Set("socket buffers") => Code::BUFFER_NOT_SET,
        Step::Set("type of service") => Code(125),
        Step::Set("congestion control") => Code::CONGESTION,
        Step::Set("pacing rate") => Code(140),
        Step::Set("path MTU discovery") => Code(145),
        Step::Set("TCP_USER_TIMEOUT") => Code(148),
        Step::Set("content to be sent") => Code(14),
        Step::FirstExchange => Code::STREAM_READ,
        Step::ConnectData | Step::OpenSocket("MPTCP") => Code::STREAM_CONNECT,
        _ => Code::CREATE_STREAM,
    }
}

fn options(session: &Session, parameters: &Parameters) -> SocketOptions {
    SocketOptions { interface: session.setup.interface.clone(), ..sockets::options(parameters) }
}

/// Binds where an address or a port is asked for.
fn bind(socket: &Socket, session: &Session, port: Option<u16>) -> Result<(), EndpointError> {
    let peer = session.peer();
    if session.setup.local.is_none() && port.is_none() {
        return Ok(());
    }
    let address = SocketAddr::new(session.setup.local.unwrap_or(any(peer)), port.unwrap_or(0));
    let fail = |cause: io::Error| EndpointError::new(Step::Set("local address"), peer, cause);
    // A port that a test had just now is free all the same.
    socket.set_reuse_address(true).map_err(fail)?;
    socket.bind(&SockAddr::from(address)).map_err(fail)
}

fn connection(
    session: &Session,
    parameters: &Parameters,
    port: Option<u16>,
    stop: &Stop,
) -> Result<Socket, EndpointError> {
    let peer = session.peer();
    let fail = |cause: io::Error| EndpointError::new(Step::ConnectData, peer, cause);
    let options = options(session, parameters);
    let socket = if parameters.mptcp { socket::multipath_tcp(peer, &options) } else { socket::tcp(peer, &options) }?;
    sockets::check_window(&socket, peer, parameters)?;
    sockets::tuning(parameters).apply(&socket, peer)?;
    bind(&socket, session, port)?;
    match socket::connect(&socket, peer, session.setup.connect_timeout, stop) {
        Ok(true) => {}
        Ok(false) => return Err(EndpointError::new(Step::ConnectData, peer, Cause::Stopped)),
        Err(cause) => return Err(fail(cause)),
    }
    // A new connection has room for so little.
    let said = send(&socket, &session.cookie.octets(), SendFlags::NOSIGNAL).map_err(|cause| fail(cause.into()))?;
    if said < session.cookie.octets().len() {
        return Err(fail(io::ErrorKind::WriteZero.into()));
    }
    Ok(socket)
}

/// A flow of datagrams: the first is answered by the server once it has a socket for what follows.
fn flow(
    session: &mut Session,
    parameters: &Parameters,
    port: Option<u16>,
    stop: &Stop,
) -> Result<Socket, EndpointError> {
    let peer = session.peer();
    let fail = |cause: Errno| EndpointError::new(Step::FirstExchange, peer, cause);
    let socket = socket::udp_unconnected(peer, &options(session, parameters))?;
    sockets::check_window(&socket, peer, parameters)?;
    sockets::tuning(parameters).apply(&socket, peer)?;
    bind(&socket, session, port)?;
    socket.connect(&SockAddr::from(peer)).map_err(|cause| EndpointError::new(Step::ConnectData, peer, cause))?;
    let began = now();
    for wait in (0..HELLOS).map(|turn| Nanos::secs(1 << turn)) {
        send(&socket, &HELLO, SendFlags::NOSIGNAL).map_err(fail)?;
        let until = now().after(wait);
        while now() < until {
            poll_one(socket.as_fd(), false, until.min(now().after(GLANCE)));
            let mut datagram = [0; 64];
            match recv(&socket, &mut datagram[..], RecvFlags::DONTWAIT) {
                Ok((count, _)) if is_reply(&datagram[..count]) => return Ok(socket),
                // Data that overtook the answer: not counted by an iperf3 either.
                Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
                Err(cause) => return Err(fail(cause)),
            }
            if stop.requested() {
                return Err(EndpointError::new(Step::FirstExchange, peer, Cause::Stopped));
            }
            if let Some(super::Heard::Failed(failure)) = session.control.watch(now()) {
                return Err(failure.error);
            }
            // The answer to the last one was lost.
            if session.control.has_streams() {
                return Ok(socket);
            }
        }
    }
    let waited = now().since(began).unwrap_or_default();
    Err(EndpointError::new(Step::FirstExchange, peer, Cause::Silence(waited)))
}
