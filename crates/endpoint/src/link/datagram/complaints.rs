//! Contents of a UDP or ICMP socket's error queue: the messages that were refused, and the cause of a failed call where
//! it is an earlier message.
//!
//! The kernel keeps the latest ICMP error at the socket and fails the next call with it, even a send: its message has
//! not left, and can.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::sync::Mutex;

use protocol::icmp::echo::{Echo, Family};
use protocol::icmp::error::IcmpError;
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
    /// Sender, type and code of the errors behind them.
    senders: Vec<(IpAddr, u8, u8)>,
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
        let Some(from) = report.from else {
            self.local = true;
            return;
        };
        self.from_others.push(report.errno);
        if ours {
            self.ours.push(refusal(report.errno));
            self.senders.push((from, report.kind, report.code));
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

/// Counts of the ICMP errors that came for a socket, by sender, type and code.
#[derive(Debug, Default)]
pub struct IcmpErrors(Mutex<BTreeMap<(IpAddr, u8, u8), u64>>);

impl IcmpErrors {
    /// Counts those among `found` that are about messages of ours.
    pub(super) fn count(&self, found: &Complaints) {
        let Ok(mut counts) = self.0.lock() else { return };
        for error in &found.senders {
            *counts.entry(*error).or_default() += 1;
        }
    }

    /// The counts by the text of the error; where the sender is not `peer`, its address follows.
    pub fn told(&self, peer: IpAddr) -> BTreeMap<String, u64> {
        let mut told = BTreeMap::new();
        for ((from, kind, code), count) in self.0.lock().iter().flat_map(|counts| counts.iter()) {
            let family = if from.is_ipv6() { Family::V6 } else { Family::V4 };
            let what = IcmpError::of(family, *kind, *code, 0);
            let what = what.map_or_else(|| format!("type {kind}, code {code}"), |error| error.to_string());
            let what = if *from == peer { what } else { format!("{what} from {from}") };
            *told.entry(what).or_default() += count;
        }
        told
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
