//! Waiting for a socket until an instant, or a wish to stop.

use std::os::fd::AsFd;

use measure::unit::Instant;
use rustix::event::{PollFd, PollFlags, poll};

use crate::clock::Monotonic;
use crate::stop::{GLANCE, Stop};

/// Outcome of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// These events, or an error.
    Ready(PollFlags),
    /// The instant came.
    Late,
    /// Somebody asked to stop.
    Stopped,
}

/// Waits for `events` on `socket`. An entry on its error queue ends the wait too.
pub(crate) fn until(socket: impl AsFd, events: PollFlags, instant: Instant, stop: &Stop) -> Waited {
    loop {
        if stop.requested() {
            return Waited::Stopped;
        }
        let now = Monotonic::now();
        let left = instant.since(now).unwrap_or_default();
        let glance = left.min(GLANCE);
        let timeout = rustix::fs::Timespec { tv_sec: 0, tv_nsec: glance.0 as i64 };
        let mut set = [PollFd::new(&socket, events)];
        if poll(&mut set, Some(&timeout)).is_ok_and(|ready| ready > 0) {
            return Waited::Ready(set[0].revents());
        }
        if left.0 == 0 {
            return Waited::Late;
        }
    }
}
