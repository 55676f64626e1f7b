//! Functions that every real link shares: the machine's clock, sleeping and spinning until an instant, polling many
//! sockets.

use std::os::fd::BorrowedFd;

use measure::unit::{Instant, Nanos};
use protocol::link::Fault;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Timespec;
use rustix::io::Errno;

use crate::clock::Monotonic;

/// Waits until one of the sockets has something to read (or to write, for those that say so), or until `until`.
pub fn poll_until<'a>(sockets: impl Iterator<Item = (BorrowedFd<'a>, bool)>, until: Instant) {
    let mut set: Vec<PollFd<'a>> = sockets.map(|(socket, writing)| event_of(socket, writing)).collect();
    poll_set(&mut set, until);
}

/// As [`poll_until`], with at least one look at the sockets: of each, whether there is something; of none where that is not known.
pub fn poll_each<'a>(sockets: impl Iterator<Item = (BorrowedFd<'a>, bool)>, until: Instant) -> Vec<bool> {
    let mut set: Vec<PollFd<'a>> = sockets.map(|(socket, writing)| event_of(socket, writing)).collect();
    let left = until.since(Monotonic::now()).unwrap_or_default();
    let told = poll(&mut set, Some(&timespec(left)));
    told.map_or_else(|_| Vec::new(), |_| set.iter().map(|event| !event.revents().is_empty()).collect())
}

/// As [`poll_until`] for one socket, without an allocation.
pub fn poll_one(socket: BorrowedFd<'_>, writing: bool, until: Instant) {
    poll_set(&mut [event_of(socket, writing)], until);
}

fn event_of(socket: BorrowedFd<'_>, writing: bool) -> PollFd<'_> {
    let flags = if writing { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
    PollFd::from_borrowed_fd(socket, flags)
}

fn poll_set(set: &mut [PollFd<'_>], until: Instant) {
    let Some(left) = until.since(Monotonic::now()) else { return };
    // An interruption ends the wait early, which every caller allows.
    let _woken = poll(set, Some(&timespec(left)));
}

fn timespec(time: Nanos) -> Timespec {
    Timespec { tv_sec: (time.0 / 1_000_000_000) as i64, tv_nsec: (time.0 % 1_000_000_000) as i64 }
}

/// Fault of the exchange that an error of a socket call means.
#[cold]
pub fn fault_of(errno: Errno) -> Fault {
    match errno {
        Errno::CONNREFUSED | Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::PROTO | Errno::NOPROTOOPT => {
            Fault::Refused(errno.raw_os_error())
        }
        Errno::NOBUFS | Errno::PERM | Errno::NOMEM | Errno::ACCESS | Errno::AGAIN => {
            Fault::SendFailed(errno.raw_os_error())
        }
        Errno::MSGSIZE => Fault::TooLong,
        Errno::CONNRESET | Errno::CONNABORTED => Fault::Reset,
        Errno::PIPE | Errno::NOTCONN | Errno::SHUTDOWN => Fault::Closed,
        other => Fault::System(other.raw_os_error()),
    }
}
