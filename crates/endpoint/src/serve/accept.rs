//! The loop that accepts connections.
//!
//! One wait for all listeners, the wish to stop, and the connections that have said nothing yet. A failure for lack of
//! a resource is reported, and accepting is tried again a little later, not at once: the listener stays ready until
//! then.

use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;

use measure::unit::Instant;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use socket2::Socket;

use super::SHORTAGE;
use super::listen::BACKLOG;
use crate::clock::Monotonic;
use crate::stop::{Stop, timeout};

/// Connections taken from one listener before the next has its turn.
const TURN: usize = 64;

/// An accepted connection and its address, or the error for which none can be accepted at the moment.
pub type Arrival = io::Result<(Socket, SocketAddr)>;

/// Handler of accepted connections.
pub trait Reception {
    /// A connection arrived at the listener of this number, or could not be accepted.
    fn arrived(&mut self, listener: usize, arrival: Arrival);
    /// Attends to the connections that wait.
    fn attend(&mut self);
    /// Returns the time by which `attend` must be called though nothing has happened.
    fn due(&self) -> Instant;
}

/// Takes those who connect to any of `listeners`, which it names by their places, until `stop`. Something at `waiting` is for those
/// who have come already.
///
/// # Errors
/// A system that has no descriptor left for an event of `stop`, where that has none yet.
pub fn accept<'a>(
    listeners: impl IntoIterator<Item = &'a Socket>,
    stop: &Stop,
    waiting: Option<BorrowedFd<'_>>,
    reception: &mut impl Reception,
) -> io::Result<()> {
    let listeners: Vec<&Socket> = listeners.into_iter().collect();
    let mut set: Vec<PollFd<'_>> = listeners.iter().map(|listener| PollFd::new(*listener, PollFlags::IN)).collect();
    set.push(PollFd::from_borrowed_fd(stop.event()?, PollFlags::IN));
    set.extend(waiting.map(|waiting| PollFd::from_borrowed_fd(waiting, PollFlags::IN)));
    while !stop.requested() {
        // An interruption ends the wait early, which is allowed for.
        let _woken = poll(&mut set, timeout(reception.due()).as_ref());
        for (place, listener) in listeners.iter().enumerate() {
            if !set[place].revents().is_empty()
                && !take(listener, TURN, stop, &mut |arrival| reception.arrived(place, arrival))
            {
                stop.wait(Monotonic::now().after(SHORTAGE));
            }
        }
        reception.attend();
    }
    Ok(())
}

/// Takes those who had connected to `listener` when it was to stop.
pub fn rest(listener: &Socket, mut arrived: impl FnMut(Arrival)) {
    take(listener, BACKLOG as usize, &Stop::default(), &mut arrived);
}

/// Takes `most` of those that wait; `false`: no more can be taken for want of something.
fn take(listener: &Socket, most: usize, stop: &Stop, arrived: &mut dyn FnMut(Arrival)) -> bool {
    for _ in 0..most {
        if stop.requested() {
            break;
        }
        match listener.accept() {
            Ok((connection, from)) => {
                // A listener of IP accepts addresses of IP alone.
                if let Some(from) = from.as_socket() {
                    // Its filter has let it in, and need not look at each of its segments: without one this says so.
                    let _none = connection.detach_filter();
                    arrived(Ok((connection, from)));
                }
            }
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::AGAIN) => break,
                Some(errno) if is_of_the_client(errno) => {}
                _ => {
                    arrived(Err(error));
                    return false;
                }
            },
        }
    }
    true
}

/// Returns true where the client has gone already: `accept` returns the errors of the connection that it takes.
fn is_of_the_client(errno: Errno) -> bool {
    let gone = [Errno::CONNABORTED, Errno::INTR, Errno::PROTO, Errno::NETDOWN, Errno::NETUNREACH];
    gone.contains(&errno) || [Errno::HOSTDOWN, Errno::HOSTUNREACH, Errno::NOPROTOOPT, Errno::OPNOTSUPP].contains(&errno)
}
