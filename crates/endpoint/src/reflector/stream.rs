//! Streams at the reflector: each flow is a sink or a source, on its own thread, and reports the payload it carried.
//!
//! A source waits for the client's start before it sends, so that all streams of a run start together, and it sends
//! only to clients that asked for it: over TCP the connection is proof, over UDP see [`datagrams`]. Every thread checks
//! about ten times a second for the end of its session.

pub mod datagrams;
pub mod tally;

use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

use measure::method::{Carrier, Schedule, Sending, Waiting};
use measure::throughput::detail::ZeroCopied;
use measure::throughput::{Carried, Stream};
use measure::unit::{Instant, Nanos, Rate};
use protocol::bulk::{Mark, Numbering};
use protocol::native::limits;
use protocol::native::message::{Open, Reason, Refused};
use protocol::native::preamble::DataAnswer;
use protocol::native::stream::{Ask, Numbers, Told, goes_there, place, share, streams};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::{Domain, Protocol, Socket, Type};

use super::Shared;
use super::budget::Limited;
use super::session::Session;
use crate::clock::Monotonic;
use crate::engine::Ended;
use crate::engine::stream::{self, Halt, Plan, Streamed};
use crate::facts::socket::socket_facts;
use crate::facts::thread::ThreadFacts;
use crate::link::bulk::any::Any;
use crate::link::bulk::zero_copy::ZeroCopySender;
use crate::link::bulk::{FileSender, Receiver, Sender, any_file};
use crate::link::clockwork::poll_one;
use crate::link::ring::{Ring, Shape};
use crate::random;
use crate::socket::{self, option};
use crate::thread::{CpuTime, cpu_for, settle};

/// One flow of a session of streams, and all that its thread needs.
pub struct Flow<'a> {
    session: &'a Session,
    ask: &'a Ask,
    /// Its number.
    number: u16,
    shared: &'a Shared,
}

impl<'a> Flow<'a> {
    /// Flow `number` of `session`; `None` where that is no session of streams.
    pub fn of(session: &'a Session, number: u16, shared: &'a Shared) -> Option<Self> {
        session.open.stream.as_deref().map(|ask| Self { session, ask, number, shared })
    }

    /// Returns true where payload goes from the client to us.
    fn sinks(&self) -> bool {
        goes_there(self.ask.direction, u32::from(self.number), self.session.open.flows)
    }

    fn is_over(&self) -> bool {
        self.session.over.requested()
    }

    /// Waits until there is something to read; `false`: the session is over.
    fn await_word(&self, socket: &Socket) -> bool {
        while !self.is_over() {
            if self.session.over.wait_or_input(socket, Instant::NEVER) {
                return true;
            }
        }
        false
    }

    /// Options that a stream of the session has beyond those of any data socket.
    fn prepare(&self, socket: &Socket, from: SocketAddr) -> std::io::Result<()> {
        if let Some(bytes) = self.ask.send_buffer_bytes {
            socket.set_send_buffer_size(bytes.0.min(LARGEST_BUFFER) as usize)?;
        }
        if let Some(bytes) = self.session.open.receive_buffer_bytes {
            socket.set_recv_buffer_size(bytes.0.min(LARGEST_BUFFER) as usize)?;
        }
        match self.ask.tos {
            Some(tos) => option::set_type_of_service(socket, from.is_ipv6(), tos),
            None => Ok(()),
        }
    }

    /// Streams over `way` until it ends. Returns the way, to be closed as its client expects it, and what was counted.
    fn run(&self, way: Any<Numbers>) -> (Any<Numbers>, Told) {
        let sends = way.sends();
        let count = &self.session.flows[usize::from(self.number)];
        // Payload sent is no sign of life: perhaps no client takes it.
        let halt = |carried: &Carried| {
            if !sends {
                count.received.store(carried.calls, Ordering::Relaxed);
            }
            self.session.over.requested()
        };
        let mut plan = Plan {
            schedule: self.schedule(sends),
            even: self.ask.even && sends,
            seed: u64::from(self.number),
            warm_up: self.ask.warm_up_ns,
            interval: limits::interval(self.ask),
            intervals: limits::INTERVALS,
            halt: Some(Halt(&halt)),
            ..Plan::unbounded(&self.shared.hall.stop)
        };
        if sends {
            plan.after = self.ask.after_ns;
            let (flow, flows) = (u32::from(self.number), self.session.open.flows);
            let (place, streams) = (place(self.ask.direction, flow, flows), streams(self.ask.direction, flows));
            plan.bytes = self.ask.bytes.map(|bytes| share(bytes, place, streams).0);
        }
        let (before, facts) = (CpuTime::own(), ThreadFacts::own());
        let Streamed { mut way, mut metered, ended } = if self.session.is_bounded() {
            let Streamed { way, metered, ended } = stream::run(Limited::new(way, self.session, sends), &plan, None);
            Streamed { way: way.way, metered, ended }
        } else {
            stream::run(way, &plan, None)
        };
        let cpu = CpuTime::own().since(before);
        if let Any::ReceiveNumbered(way) = &way {
            way.ended().into_iter().for_each(|ended| metered.end_at(ended));
        }
        if let Some(span) = facts.and_then(|facts| ThreadFacts::own()?.since(&facts)) {
            self.session.had(span);
        }
        let mut told = metered.streams.first().map(|counted| Told {
            stream: Stream::of(counted),
            omitted: counted.omitted,
            ..Told::default()
        });
        let told = told.take().unwrap_or_default();
        let calls = told.stream.carried.calls + told.omitted.calls;
        if sends { &count.replied } else { &count.received }.store(calls, Ordering::Relaxed);
        let told = Told {
            user_ns: Some(cpu.user_ns),
            system_ns: Some(cpu.system_ns),
            sent_datagrams: if let Any::SendNumbered(way) = &way { Some(way.sent()) } else { None },
            highest: if let Any::ReceiveNumbered(way) = &way { way.highest() } else { None },
            zero_copy: if let Any::ZeroCopy(way) = &mut way { Some(released(way)) } else { None },
            socket: Some(socket_facts(way.socket())),
            trouble: trouble(ended),
            ..told
        };
        (way, told)
    }

    /// Schedule of the calls: as asked for, where we send, and never faster than the reflector's limit.
    fn schedule(&self, sends: bool) -> Schedule {
        let segments = if sends { u64::from(self.ask.segments.unwrap_or(1).max(1)) } else { 1 };
        let asked = self.session.open.rate_per_flow.filter(|_| sends);
        let rate = match (asked, self.session.behaviour.rate) {
            (Some(asked), Some(bound)) => Some(asked.min(bound)),
            (asked, bound) => asked.or(bound),
        };
        let rate = rate.and_then(|rate| NonZeroU64::new((rate.0.get() / segments).max(1)));
        rate.map_or(Schedule::BackToBack, |rate| Schedule::Rate { rate_per_1000s: Rate(rate) })
    }
}

/// The most that a socket can be asked for: the kernel takes a signed number and doubles it.
const LARGEST_BUFFER: u64 = i32::MAX as u64 / 2;

/// Counts of the zero-copy sends and of those that the kernel copied, as far as it reported them.
pub fn released(way: &mut ZeroCopySender) -> ZeroCopied {
    let released = way.released();
    ZeroCopied { sends: released.sends, copied: released.copied }
}

/// Reason for a stream's early end; `None`: it was complete.
fn trouble(ended: Ended) -> Option<String> {
    match ended {
        Ended::Complete => None,
        Ended::Stopped => Some("it was stopped".to_owned()),
        Ended::Broken(fault) => Some(fault.to_string()),
    }
}

/// Checks that this host has the congestion control that the streams are to be sent with.
pub fn can_be_asked(open: &Open) -> Result<(), Refused> {
    let sends = |ask: &&Ask| ask.direction.receives() && open.carrier == Carrier::Tcp;
    let Some(name) = open.stream.as_deref().filter(sends).and_then(|ask| ask.congestion.as_deref()) else {
        return Ok(());
    };
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP));
    socket.and_then(|socket| socket.set_tcp_congestion(name.as_bytes())).map_err(|cause| Refused {
        reason: Reason::Other,
        detail: format!("the reflector's host has no congestion control {name} for us: {cause}"),
        hint: Some("net.ipv4.tcp_allowed_congestion_control there lists what may be chosen".to_owned()),
    })
}

/// Streams over a data connection that was let in. `unread` came behind its preamble: a client of streams says nothing
/// before it has its answer.
pub fn serve(
    connection: &Socket,
    from: SocketAddr,
    session: &Session,
    (number, thread): (u16, u32),
    unread: &[u8],
    shared: &Shared,
) -> std::io::Result<()> {
    let Some(flow) = Flow::of(session, number, shared) else { return Ok(()) };
    if !unread.is_empty() {
        session.malformed.fetch_add(1, Ordering::Relaxed);
        return Ok(());
    }
    let fail = |error: crate::error::EndpointError| std::io::Error::other(error.to_string());
    socket::set_glance(connection)?;
    connection.set_tcp_nodelay(true)?;
    flow.prepare(connection, from)?;
    if let Some(name) = flow.ask.congestion.as_ref().filter(|_| !flow.sinks()) {
        connection.set_tcp_congestion(name.as_bytes())?;
    }
    socket::set_waiting(connection, from, session.got.waiting).map_err(fail)?;
    let _pinned = settle(cpu_for(&session.got.cpus, thread), "reflector").map_err(fail)?;
    let way = if flow.sinks() { sink(&flow, connection)? } else { source(&flow, connection)? };
    session.begin_stream();
    send(connection, &[DataAnswer::Accepted.code()], SendFlags::NOSIGNAL)?;
    if !flow.await_word(connection) || !flow.sinks() && !is_let_go(connection) {
        return Ok(());
    }
    let (_way, told) = flow.run(way);
    session.end_stream(number, told);
    Ok(())
}

/// Returns true where the client's start arrived, and not its end.
fn is_let_go(connection: &Socket) -> bool {
    matches!(recv(connection, &mut [0_u8; 1][..], RecvFlags::DONTWAIT), Ok((1, _)))
}

fn sink(flow: &Flow<'_>, connection: &Socket) -> std::io::Result<Any<Numbers>> {
    let ring = Ring::new(Shape::of(flow.session.open.request_bytes.0 as usize));
    let way = Receiver::new(connection.try_clone()?, ring, flow.session.got.waiting);
    Ok(Any::Receive(if flow.ask.discard { way.discarding() } else { way }))
}

fn source(flow: &Flow<'_>, connection: &Socket) -> std::io::Result<Any<Numbers>> {
    let socket = connection.try_clone()?;
    sender(socket, flow.session.open.response_bytes.0 as usize, flow.ask.sending, flow.session.got.waiting)
}

/// A sender of calls of `size` octets over a connection, whose content nothing on the way makes smaller.
pub fn sender(socket: Socket, size: usize, sending: Sending, waiting: Waiting) -> std::io::Result<Any<Numbers>> {
    let ring = content(size);
    Ok(match sending {
        Sending::ZeroCopy => Any::ZeroCopy(ZeroCopySender::new(socket, ring, waiting)?),
        Sending::File => {
            let mut ring = ring;
            Any::File(FileSender::new(socket, any_file(ring.turn(), size)?, size)?)
        }
        Sending::Copy => Any::Send(Sender::new(socket, ring, waiting)),
    })
}

/// One buffer of what nothing on the way makes smaller.
pub fn content(size: usize) -> Ring {
    let seed = random::bytes().map_or(0, u64::from_ne_bytes);
    Ring::random(Shape::of(size), seed)
}

/// Interval at which the end of a stream of datagrams is sent again …
const AGAIN: Nanos = Nanos::millis(20);
/// … and how often, where the other end does not answer it: a path may lose each of ten …
const TIMES: u32 = 10;
/// … or be down for a while: then so often more, each time after twice as long, in all for 1.4 s.
const LATER: u32 = 5;

/// Sends over a connected socket that `last` datagrams were all, until the other end confirms it, or for a time in
/// which no path loses each of them by chance.
pub fn say_last(socket: &Socket, numbers: Numbers, last: u64, over: impl Fn() -> bool) -> bool {
    let mut heard = [0_u8; 64];
    for time in 0..TIMES + LATER {
        let again = Nanos(AGAIN.0 << (time + 1).saturating_sub(TIMES));
        let now = Monotonic::now();
        let datagram = numbers.last(last, Nanos(now.0));
        // A datagram that cannot be sent now may be sent the next time.
        let _said = send(socket, &datagram, SendFlags::NOSIGNAL);
        while Monotonic::now() < now.after(again) {
            poll_one(socket.as_fd(), false, now.after(again));
            let Ok((length, _)) = recv(socket, &mut heard[..], RecvFlags::DONTWAIT) else { continue };
            if matches!(numbers.read(&heard[..length]), Some(Mark::Last { .. })) {
                return true;
            }
        }
        if over() {
            return false;
        }
    }
    false
}
