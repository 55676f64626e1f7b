//! Echo requests to many hosts, in turn: one thread, and one socket for each IP version, however many hosts there are.
//!
//! The `schedule` says when a request is due; here are the clock, the sockets and what wakes the thread. A round trip
//! goes from the wall clock's reading before the send to the kernel's stamp of the reply. Not here: what is printed,
//! and for whom.

mod schedule;
mod socket;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use measure::method::SocketOptions;
use measure::unit::Nanos;

use self::schedule::{Expired, Request, Schedule};
use self::socket::{EchoSocket, Message};
use crate::clock::{self, Monotonic};
use crate::error::EndpointError;
use crate::socket::icmp::Wishes;
use crate::stop::Stop;

/// Requests to many hosts.
#[derive(Clone, Debug)]
pub struct Task {
    /// The hosts; ports have no meaning.
    pub targets: Vec<SocketAddr>,
    /// The payload. Numbers are written over its first 12 octets, where there are as many.
    pub payload: Vec<u8>,
    /// The requests of each host.
    pub course: Course,
    /// Shortest time between two requests, to any host.
    pub interval: Nanos,
    /// The wait for a reply to a first request.
    pub timeout: Nanos,
    /// The time from one [`Happening::Due`] to the next.
    pub report: Option<Nanos>,
    /// The source address of requests over IPv4, and that over IPv6.
    pub sources: [Option<IpAddr>; 2],
    /// Options of the sockets.
    pub socket: SocketOptions,
    /// More options of them.
    pub wishes: Wishes,
}

/// The requests of one host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Course {
    /// Until one is answered, this many more than the first; each wait is longer by this factor.
    UntilAnswered {
        /// Requests behind the first.
        retries: u32,
        /// Factor of the wait.
        backoff: f64,
    },
    /// A number of requests to each host, or without end, at this interval.
    Every {
        /// The number; absent: without end.
        count: Option<u32>,
        /// From one to the next.
        period: Nanos,
    },
}

/// A reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The request's number of its host, from 0.
    pub index: u32,
    /// The round trip.
    pub time: Nanos,
    /// Octets of the ICMP message.
    pub octets: usize,
    /// Its sender.
    pub from: IpAddr,
    /// Wall clock of its arrival, nanoseconds since 1970.
    pub at: u64,
}

/// An event of a host, which is named by its place among the targets.
#[derive(Debug)]
pub enum Happening {
    /// A request left.
    Sent(usize),
    /// A request could not leave.
    Unsent(usize, u32, std::io::Error),
    /// A reply came in time.
    Reply(usize, Reply),
    /// A reply to a request that has one.
    Duplicate(usize, Reply),
    /// A reply came too late.
    Late(usize),
    /// No reply came in time.
    TimedOut(usize, u32),
    /// An ICMP error came about a request.
    Error {
        /// The host that the request was for.
        target: usize,
        /// The error's sender.
        from: IpAddr,
        /// ICMP type.
        kind: u8,
        /// ICMP code.
        code: u8,
    },
    /// A report is due, or one was requested.
    Due,
}

/// Asks all hosts until each has had its requests, or `stop` asks. `interim`, where it is set, asks for a report.
///
/// # Errors
/// A socket that cannot be had.
pub fn run(
    task: &Task,
    stop: &Stop,
    interim: &Arc<AtomicBool>,
    tell: &mut dyn FnMut(Happening),
) -> Result<(), EndpointError> {
    let mut sockets = [None, None];
    for (place, socket) in sockets.iter_mut().enumerate() {
        let first = task.targets.iter().find(|target| usize::from(target.is_ipv6()) == place);
        *socket = first.map(|first| EchoSocket::open(task, *first, task.sources[place])).transpose()?;
    }
    let schedule = Schedule::new(task.targets.len(), task.course, task.timeout, task.interval, Monotonic::now());
    Round { task, sockets, schedule, tell }.run(stop, interim);
    Ok(())
}

/// A run.
struct Round<'a> {
    task: &'a Task,
    sockets: [Option<EchoSocket>; 2],
    schedule: Schedule,
    tell: &'a mut dyn FnMut(Happening),
}

impl Round<'_> {
    fn run(&mut self, stop: &Stop, interim: &AtomicBool) {
        let mut report = self.task.report.map(|every| Monotonic::now().after(every));
        loop {
            // Replies stamped before now are read before now's timers: else a reply in time would count as lost.
            let now = Monotonic::now();
            self.hear();
            while let Some(expired) = self.schedule.expire(now) {
                self.expired(expired);
            }
            let is_due = report.is_some_and(|at| at <= now);
            if interim.swap(false, Ordering::Relaxed) || is_due {
                (self.tell)(Happening::Due);
            }
            while let (Some(at), Some(every)) = (report, self.task.report)
                && at <= now
            {
                report = Some(at.after(every.max(Nanos::micros(1))));
            }
            if stop.requested() {
                return;
            }
            if let Some((target, index)) = self.schedule.due(now) {
                self.send(target, index);
            }
            let Some(next) = self.schedule.next() else { return };
            let until = report.map_or(next, |report| report.min(next));
            let waiting: Vec<_> = self.sockets.iter().flatten().map(EchoSocket::descriptor).collect();
            stop.wait_or_inputs(&waiting, until);
        }
    }

    fn expired(&mut self, expired: Expired) {
        (self.tell)(Happening::TimedOut(expired.target, expired.index));
        if expired.goes_again {
            self.send(expired.target, expired.index);
        }
    }

    fn send(&mut self, target: usize, index: u32) {
        let address = self.task.targets[target];
        let number = self.schedule.number();
        let place = usize::from(address.is_ipv6());
        let Self { schedule, tell, sockets, .. } = &mut *self;
        let Some(socket) = &mut sockets[place] else { return };
        let (sent, wall) = (Monotonic::now(), clock::wall());
        let mut errors = |error| told(schedule, &error, tell);
        match socket.send(number, address, &mut errors) {
            Ok(()) => {
                self.schedule.sent(target, index, sent, wall);
                (self.tell)(Happening::Sent(target));
            }
            Err(error) => {
                self.schedule.unsent(target, sent);
                (self.tell)(Happening::Unsent(target, index, error));
            }
        }
    }

    /// Hears all that has come.
    fn hear(&mut self) {
        let Self { sockets, schedule, tell, .. } = self;
        for socket in sockets.iter_mut().flatten() {
            let oldest = schedule.oldest();
            while let Some(message) = socket.hear(oldest) {
                match message {
                    Message::Reply { .. } => answered(schedule, &message, tell),
                    Message::Error { .. } => told(schedule, &message, tell),
                    Message::Other => {}
                }
            }
        }
    }
}

/// A reply has come.
fn answered(schedule: &mut Schedule, message: &Message, tell: &mut dyn FnMut(Happening)) {
    let Message::Reply { number, octets, from, stamp } = *message else { return };
    let Some(request) = schedule.request(number) else { return };
    let time = round_trip(&request, stamp);
    let at = stamp.unwrap_or_else(clock::wall);
    let reply = Reply { index: request.index, time, octets, from, at };
    (tell)(match schedule.answer(number, time) {
        schedule::Answer::InTime => Happening::Reply(request.target, reply),
        schedule::Answer::Again => Happening::Duplicate(request.target, reply),
        schedule::Answer::Late => Happening::Late(request.target),
    });
}

/// An error has come.
fn told(schedule: &Schedule, message: &Message, tell: &mut dyn FnMut(Happening)) {
    let &Message::Error { number, from, kind, code } = message else { return };
    if let Some(request) = schedule.near(number) {
        (tell)(Happening::Error { target: request.target, from, kind, code });
    }
}

/// Returns the round-trip time: by the kernel's stamp, unless the wall clock was stepped before the reply.
fn round_trip(request: &Request, stamp: Option<u64>) -> Nanos {
    let ours = Monotonic::now().since(request.sent).unwrap_or_default();
    let kernels = stamp.and_then(|stamp| stamp.checked_sub(request.wall)).map(Nanos);
    kernels.filter(|time| *time <= ours).unwrap_or(ours)
}

#[cfg(test)]
mod tests;
