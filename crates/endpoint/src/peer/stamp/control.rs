//! A control connection of TWAMP (RFC 5357 section 3) to a server that grants sessions, in open mode. It lasts as long as they do.

use std::net::SocketAddr;
use std::os::fd::AsFd;

use measure::method::SocketOptions;
use measure::unit::Nanos;
use protocol::twamp::{self, Refusal, Session};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::Socket;

use crate::clock::Monotonic;
use crate::error::hint::Hint;
use crate::error::{Cause, EndpointError, Step};
use crate::socket;
use crate::stop::Stop;

/// The longest time for the connection to be made, and for each answer to come.
const PATIENCE: Nanos = Nanos::secs(10);

/// A connection over which sessions are asked for.
#[derive(Debug)]
pub struct Control {
    socket: Socket,
    server: SocketAddr,
    /// Identifiers of the sessions that were granted, in order.
    pub sessions: Vec<[u8; 16]>,
    stop: Stop,
}

impl Control {
    /// Connects to `server`, and agrees on the open mode. The connection has the local address and the interface of
    /// `options`.
    pub fn open(server: SocketAddr, options: &SocketOptions, stop: &Stop) -> Result<Self, EndpointError> {
        let fail = |cause: std::io::Error| EndpointError::new(Step::Connect, server, cause);
        let own =
            SocketOptions { bind: options.bind, interface: options.interface.clone(), ..SocketOptions::default() };
        let socket = socket::tcp(server, &own)?;
        if !socket::connect(&socket, server, PATIENCE, stop).map_err(|cause| unreached(server, cause))? {
            return Err(EndpointError::new(Step::Connect, server, Cause::Stopped));
        }
        socket::set_glance(&socket).map_err(fail)?;
        let control = Self { socket, server, sessions: Vec::new(), stop: stop.clone() };
        control.read().and_then(|octets| control.judged(twamp::greeting(&octets)))?;
        control.write(&twamp::response())?;
        control.read().and_then(|octets| control.judged(twamp::server_start(&octets)))?;
        Ok(control)
    }

    /// Asks for a session of packets from `local` with `padding` octets behind their first ones. Returns their
    /// destination.
    pub fn request(
        &mut self,
        local: SocketAddr,
        padding: u32,
        class: u8,
        timeout: Nanos,
    ) -> Result<SocketAddr, EndpointError> {
        let here = local.ip().to_canonical();
        let there = self.server.ip().to_canonical();
        let timeout_s = u32::try_from(timeout.0.div_ceil(1_000_000_000)).unwrap_or(u32::MAX);
        // A server that uses another port says so in its answer.
        let session =
            Session { sender: (here, local.port()), receiver: (there, local.port()), padding, timeout_s, class };
        self.write(&session.request())?;
        let octets = self.read()?;
        let granted = self.judged(twamp::accept_session(&octets))?;
        self.sessions.push(granted.session);
        let mut to = self.server;
        to.set_port(granted.port);
        Ok(to)
    }

    /// Has the sessions start.
    pub fn start(&self) -> Result<(), EndpointError> {
        self.write(&twamp::start_sessions())?;
        let octets = self.read()?;
        self.judged(twamp::start_ack(&octets))
    }

    /// Ends the sessions; `false`: the server had ended the connection before.
    pub fn end(self) -> bool {
        let mut octet = [0];
        let lives =
            matches!(recv(self.socket.as_fd(), &mut octet[..], RecvFlags::DONTWAIT), Err(Errno::AGAIN | Errno::INTR));
        lives && self.write(&twamp::stop_sessions(self.sessions.len() as u32)).is_ok()
    }

    fn judged<T>(&self, read: Result<T, Refusal>) -> Result<T, EndpointError> {
        read.map_err(|refusal| self.failed(Cause::Peer(refusal.to_string())).with_hint(Hint::TwampRefusal(refusal)))
    }

    fn failed(&self, cause: impl Into<Cause>) -> EndpointError {
        EndpointError::new(Step::Agree, self.server, cause)
    }

    fn write(&self, mut octets: &[u8]) -> Result<(), EndpointError> {
        let give_up = Monotonic::now().after(PATIENCE);
        while !octets.is_empty() {
            match send(&self.socket, octets, SendFlags::NOSIGNAL) {
                Ok(count) => octets = octets.get(count..).unwrap_or_default(),
                Err(Errno::AGAIN | Errno::INTR) if Monotonic::now() < give_up => {}
                Err(errno) => return Err(self.failed(std::io::Error::from(errno))),
            }
        }
        Ok(())
    }

    /// Reads the next message, of `N` octets.
    fn read<const N: usize>(&self) -> Result<[u8; N], EndpointError> {
        let (mut octets, mut had) = ([0; N], 0);
        let give_up = Monotonic::now().after(PATIENCE);
        while had < N {
            match recv(self.socket.as_fd(), &mut octets[had..], RecvFlags::DONTWAIT) {
                Ok((0, _)) => {
                    let closed = Cause::Peer("the server closed the control connection".to_owned());
                    return Err(self.failed(closed).with_hint(Hint::NoTwampServer));
                }
                Ok((count, _)) => had += count,
                Err(Errno::AGAIN | Errno::INTR) => {
                    self.stop.wait_or_input(&self.socket, give_up);
                    if self.stop.requested() {
                        return Err(self.failed(Cause::Stopped));
                    }
                    if Monotonic::now() >= give_up {
                        return Err(self.failed(Cause::Silence(PATIENCE)).with_hint(Hint::NoTwampServer));
                    }
                }
                Err(errno) => return Err(self.failed(std::io::Error::from(errno))),
            }
        }
        Ok(octets)
    }
}

fn unreached(server: SocketAddr, cause: std::io::Error) -> EndpointError {
    let refused = cause.kind() == std::io::ErrorKind::ConnectionRefused;
    let error = EndpointError::new(Step::Connect, server, cause);
    if refused { error.with_hint(Hint::NoTwampServer) } else { error }
}
