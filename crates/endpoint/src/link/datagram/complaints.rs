//! Contents of a UDP or ICMP socket's error queue: the messages that were refused, and the cause of a failed call where
//! it is an earlier message.
//!
//! The kernel keeps the latest ICMP error at the socket and fails the next call with it, even a send: its message has
//! not left, and can.

use std::os::fd::BorrowedFd;

use protocol::icmp::echo::Echo;
use protocol::link::{Departure, Fault};
use rustix::io::Errno;

use crate::link::clockwork::fault_of;
use crate::link::stamping;
use crate::socket::queue::{self, Notice};
use crate::socket::report::Report;

/// Notices read from an error queue, which is empty now.
#[derive(Debug, Default)]
pub struct Complaints {
    /// Refusals of messages of ours by others, oldest first.
    pub ours: Vec<Fault>,
    /// True where our own host reported an error.
    pub local: bool,
    /// Departure stamps of the latest message that asked for them.
    pub departure: Departure,
    /// Error numbers of the errors that other hosts sent, whichever messages they are about.
    from_others: Vec<i32>,
}

impl Complaints {
    /// Takes them all off the queue, where no call will find them again. The quoted packet separates requests of `echo`
    /// from others'.
    pub fn take(socket: BorrowedFd<'_>, echo: Option<&Echo>) -> Self {
        let mut found = Self::default();
        while let Some(notice) = queue::next_notice(socket) {
            stamping::note(&mut found.departure, notice);
            if let Notice::Error(report) = notice {
                let ours = echo.is_none_or(|echo| echo.quoted(report.quote()).is_some());
                found.add(report, ours);
            }
        }
        found
    }

    fn add(&mut self, report: Report, ours: bool) {
        if report.from.is_none() {
            self.local = true;
            return;
        }
        self.from_others.push(report.errno);
        if ours {
            self.ours.push(refusal(report.errno));
        }
    }

    /// Returns true where any error was read.
    pub fn any(&self) -> bool {
        self.local || !self.from_others.is_empty()
    }

    /// Returns true where a send that failed by `errno` failed because of an earlier message. A filter of our own host
    /// that refuses the message may have an ICMP error sent as well, but fails the call by another number.
    pub fn explain(&self, errno: Errno) -> bool {
        !self.local && (self.from_others.contains(&errno.raw_os_error()) || never_of_a_send(errno))
    }
}

/// Fault of the message that an ICMP error is about.
pub fn refusal(errno: i32) -> Fault {
    match fault_of(Errno::from_raw_os_error(errno)) {
        Fault::TooLong => Fault::TooLong,
        _ => Fault::Refused(errno),
    }
}

/// Errors that a datagram's send has of nothing but an ICMP error to an earlier one.
fn never_of_a_send(errno: Errno) -> bool {
    matches!(errno, Errno::CONNREFUSED | Errno::PROTO | Errno::NOPROTOOPT)
}
