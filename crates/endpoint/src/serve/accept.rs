//! The loop that takes those who connect.
//!
//! One wait for all listeners, the wish to stop, and those who have come and said nothing yet. What cannot be taken for want of something is told and
//! tried again a little later, not at once: the listener stays ready meanwhile.

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

/// Of one listener so many are taken before the next has its turn.
const TURN: usize = 64;

/// Who has connected, and from where; or why nobody can be let in at the moment.
pub type Arrival = io::Result<(Socket, SocketAddr)>;

/// What becomes of those who come.
pub trait Reception {
    /// Somebody has come to the listener of this number, or could not be let in.
    fn arrived(&mut self, listener: usize, arrival: Arrival);
    /// Looks after those who wait.
    fn attend(&mut self);
    /// When that is due though nothing has happened.
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
                // Of another family nobody comes to a socket of IP.
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

/// Whether the client has gone again: the errors of its connection are told by the call that takes it.
fn is_of_the_client(errno: Errno) -> bool {
    let gone = [Errno::CONNABORTED, Errno::INTR, Errno::PROTO, Errno::NETDOWN, Errno::NETUNREACH];
    gone.contains(&errno) || [Errno::HOSTDOWN, Errno::HOSTUNREACH, Errno::NOPROTOOPT, Errno::OPNOTSUPP].contains(&errno)
}
