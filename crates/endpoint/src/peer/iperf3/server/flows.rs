//! Flows of datagrams as they begin: each belongs to a test.
//!
//! A first datagram shows its test only by the address it comes from, which must be that of a test's control
//! connection: else any host could have another flooded. So one test at a time opens flows from one address ([`Turn`]).
//! The socket that a first datagram came to becomes that flow's own, by being connected. A new one takes its place
//! before that, and datagrams of others at the old one are taken from it, so that no first datagram is lost.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use measure::served::RefusalReason;
use measure::unit::Instant;
use protocol::iperf3::datagram::REPLY;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, recvfrom, send};
use socket2::{SockAddr, Socket, Type};

use super::Shared;
use crate::error::{EndpointError, Step};
use crate::serve::gate::Gate;
use crate::serve::listen;
use crate::serve::mailbox::Slot;

/// Length of a first datagram, octets, whatever its content.
const FIRST: usize = 4;

/// Tests that open flows now, by the address of their clients.
#[derive(Debug, Default)]
pub(super) struct Flows(Mutex<HashMap<IpAddr, Expected>>);

#[derive(Debug)]
struct Expected {
    left: usize,
    to: Slot<Socket>,
    /// Tests of the same client whose turn comes behind this: told when it is over.
    next: Vec<Slot<Socket>>,
    /// Addresses of flows that it has already: a first datagram that is repeated is no second flow.
    known: Vec<SocketAddr>,
}

/// A test's turn to open its flows.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    flows: &'a Flows,
    client: IpAddr,
}

impl Flows {
    /// Assigns the next `count` flows of `client` to this test: they are sent to it. `None`: it is another's turn, and
    /// its end is reported there.
    pub fn turn(&self, client: IpAddr, count: usize, to: &Slot<Socket>) -> Option<Turn<'_>> {
        let client = client.to_canonical();
        let mut expected = self.expected();
        if let Some(other) = expected.get_mut(&client) {
            other.next.push(to.clone());
            return None;
        }
        expected.insert(client, Expected { left: count, to: to.clone(), next: Vec::new(), known: Vec::new() });
        Some(Turn { flows: self, client })
    }

    fn expected(&self) -> MutexGuard<'_, HashMap<IpAddr, Expected>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the test of the flow that begins from `from`; `None`: it belongs to none.
    fn claim(&self, from: SocketAddr) -> Option<Slot<Socket>> {
        let mut expected = self.expected();
        let test = expected.get_mut(&from.ip().to_canonical())?;
        if test.left == 0 || test.known.contains(&from) {
            return None;
        }
        test.left -= 1;
        test.known.push(from);
        Some(test.to.clone())
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let over = self.flows.expected().remove(&self.client);
        over.iter().flat_map(|expected| &expected.next).for_each(Slot::ring);
    }
}

/// A socket for first datagrams at `address`.
pub(super) fn bind(address: SocketAddr, gate: &Gate) -> Result<Socket, EndpointError> {
    let fail = |cause: std::io::Error| EndpointError::new(Step::Listen, address, cause);
    let socket = listen::unbound(address, Type::DGRAM, gate).map_err(fail)?;
    socket.set_reuse_address(true).map_err(fail)?;
    socket.bind(&SockAddr::from(address)).map_err(fail)?;
    Ok(socket)
}

/// Takes first datagrams until the server stops.
pub(super) fn serve(mut socket: Socket, shared: &Shared) {
    while !shared.hall.stop.requested() {
        shared.hall.stop.wait_or_input(&socket, Instant::NEVER);
        let mut waiting = take_all(&socket);
        while let Some(from) = waiting.pop() {
            let Some(to) = shared.flows.claim(from) else { continue };
            match take_over(&mut socket, from, &shared.settings.door.gate) {
                Ok((flow, others)) => {
                    waiting.extend(others);
                    answer(flow, from, &to, shared);
                }
                Err(error) => {
                    shared.refuse(from, RefusalReason::Unable, &format!("no socket for it: {error}"));
                }
            }
        }
    }
}

/// Whence first datagrams have come, the latest first.
fn take_all(socket: &Socket) -> Vec<SocketAddr> {
    let mut waiting = Vec::new();
    let mut datagram = [0; FIRST + 1];
    loop {
        match recvfrom(socket.as_fd(), &mut datagram[..], RecvFlags::DONTWAIT) {
            Ok((FIRST, _, Some(from))) => waiting.extend(SocketAddr::try_from(from).ok()),
            Ok(_) | Err(Errno::INTR | Errno::CONNREFUSED) => {}
            Err(_) => break,
        }
    }
    waiting.reverse();
    waiting
}

/// Makes `socket` the flow of `from`, and a new one in its place; returns the sources of other first datagrams that
/// came to it.
fn take_over(socket: &mut Socket, from: SocketAddr, gate: &Gate) -> Result<(Socket, Vec<SocketAddr>), EndpointError> {
    let fail = |cause: std::io::Error| EndpointError::new(Step::ConnectData, from, cause);
    let local = socket.local_addr().map_err(fail)?;
    let local = local.as_socket().ok_or_else(|| fail(std::io::ErrorKind::Unsupported.into()))?;
    let fresh = bind(local, gate)?;
    if let Err(error) = socket.connect(&SockAddr::from(from)) {
        return Err(fail(error));
    }
    let flow = std::mem::replace(socket, fresh);
    // Nobody else is heard by it any more: its datagrams need no filter.
    let _none = flow.detach_filter();
    let others = take_all(&flow).into_iter().filter(|other| *other != from).collect();
    Ok((flow, others))
}

/// A first datagram that is sent again, for its answer was lost, comes to the flow's own socket.
pub(super) fn answer_again(flow: &Socket) {
    let mut datagram = [0; FIRST + 1];
    while let Ok((count, _)) = recv(flow, &mut datagram[..], RecvFlags::DONTWAIT) {
        if count == FIRST {
            // Best effort: it is sent once more.
            let _answered = send(flow, &REPLY, SendFlags::NOSIGNAL);
        }
    }
}

fn answer(flow: Socket, from: SocketAddr, to: &Slot<Socket>, shared: &Shared) {
    match send(&flow, &REPLY, SendFlags::NOSIGNAL) {
        // A test that is over by now closes it.
        Ok(_) => to.send(flow),
        Err(error) => {
            let why = format!("cannot be answered: {}", std::io::Error::from(error));
            shared.refuse(from, RefusalReason::Unable, &why);
        }
    }
}
