//! Requests and replies with netservers: one control connection and one data connection each, all measured together.

use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;

use measure::event::Event;
use measure::method::{Carrier, Method, Pattern};
use measure::outcome::SocketFacts;
use measure::unit::{Instant, Nanos};
use protocol::link::Link;
use protocol::netperf::answer::Ready;
use protocol::netperf::client::ANSWER;
use protocol::netperf::data::END_DATAGRAMS;
use protocol::wire::{Bare, Unnumbered, Wire};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use socket2::{SockAddr, Socket};

use super::data::{self, Prepared};
use super::keeper::Keeper;
use super::{Course, Session, Test};
use crate::clock::Monotonic;
use crate::engine::{Ended, Flow};
use crate::environment::watch::Watch;
use crate::error::{EndpointError, Step};
use crate::facts::socket::socket_facts;
use crate::link::clockwork::poll_until;
use crate::link::datagram::Datagram;
use crate::link::handshake::ports::Ports;
use crate::link::handshake::{self, Content, Handshake};
use crate::link::stream::Stream;
use crate::pace;
use crate::rtt::Ending;
use crate::rtt::connections::{self, Connection};
use crate::rtt::scene::Scene;
use crate::rtt::workers::Gathered;
use crate::socket::{GLANCE, any};
use crate::stop::Stop;

/// A peer that answers nothing for so long is given up.
const QUIET: Nanos = Nanos::secs(60);
/// How long the end of such a one, or of one whose control connection failed, is waited for.
const HASTE: Nanos = Nanos::secs(3);
/// So long after its end a timed test may still wait for the last reply.
const LAST_REPLY: Nanos = Nanos::secs(5);

/// A session's data connection while it is measured over.
#[derive(Debug)]
struct Open {
    ready: Ready,
    facts: SocketFacts,
    local: SocketAddr,
    remote: SocketAddr,
    connecting: Nanos,
    /// Beside the link, which the engine keeps; absent for a connection per transaction.
    socket: Option<Socket>,
}

/// Measures `test` over one data connection of each session at once.
pub fn measure(
    sessions: &mut [Session],
    test: &Test,
    stop: &Stop,
    watch: &mut Watch,
    on_event: &mut dyn FnMut(Event),
) -> Result<(Gathered, Vec<Course>), EndpointError> {
    let run = Run { test, stop, watch, on_event };
    match test.method.carrier {
        Carrier::Udp => run.over(sessions, datagram, |link: &Datagram| Some(link.socket())),
        _ if test.ask.per_connection => run.over(sessions, each, |_: &Handshake| None),
        _ => run.over(sessions, stream, |link: &Stream| Some(link.socket())),
    }
}

/// How our end came to its end.
pub fn ending(gathered: &Gathered) -> Ending {
    match (gathered.ended, &gathered.trouble) {
        (_, Some(reason)) => Ending::PeerLost { reason: reason.clone() },
        (Ended::Complete, None) => Ending::Complete,
        (Ended::Stopped, None) => Ending::Stopped,
        (Ended::Broken(fault), None) => Ending::PeerLost { reason: fault.to_string() },
    }
}

/// A measurement over connections of any kind.
struct Run<'a> {
    test: &'a Test,
    stop: &'a Stop,
    watch: &'a mut Watch,
    on_event: &'a mut dyn FnMut(Event),
}

impl Run<'_> {
    fn over<L, W>(
        self,
        sessions: &mut [Session],
        open: impl Fn(&Opening<'_>, Prepared, Ready) -> Result<(Connection<L, W>, Open), EndpointError>,
        socket_of: fn(&L) -> Option<&Socket>,
    ) -> Result<(Gathered, Vec<Course>), EndpointError>
    where
        L: Link + Send,
        W: Wire + Send,
    {
        let Run { test, stop, watch, on_event } = self;
        let mut connections = Vec::new();
        let mut opened = Vec::new();
        for (index, session) in sessions.iter_mut().enumerate() {
            let control = session.peer();
            let prepared = data::prepare(test, control)?;
            let mut ask = data::complete(test, &prepared, control, session.control.local());
            ask.server_cpu = ask.server_cpu.or(session.server_cpu);
            let ready = session.control.ask(&ask, stop)?;
            wait(test.pause, stop);
            let opening = Opening { test, stop, control, index: index as u32 };
            let (connection, remains) = open(&opening, prepared, ready)?;
            connections.push(connection);
            opened.push(remains);
        }
        let peer = opened.first().map_or_else(|| SocketAddr::new(IpAddr::from([0; 4]), 0), |open| open.remote);
        let alive = Cell::new(Monotonic::now());
        let mut keeper = Keeper { sessions, end: end_of(&test.method), alive: &alive, quiet: quiet(&test.method) };
        let mut listen = |event: Event| {
            if matches!(&event, Event::Second { second, .. } if second.counts.answered > 0) {
                alive.set(Monotonic::now());
            }
            on_event(event);
        };
        let mut scene = Scene {
            method: &test.method,
            peer,
            far: &mut keeper,
            samples: test.samples,
            interval: test.interval,
            stop,
            watch,
            on_event: &mut listen,
        };
        let mut gathered = connections::measure(connections.into_iter().collect(), &mut scene, socket_of)?;
        let at_end = std::mem::take(&mut gathered.sockets);
        let parts = sessions.iter_mut().zip(opened).zip(&at_end);
        // One that gave no sign of life is not waited for as long as one that did.
        let patience = if gathered.trouble.is_some() { HASTE } else { ANSWER };
        let end = End { test, patience, stop };
        let courses = parts.map(|((session, open), at_end)| end.close(session, open, at_end)).collect();
        gathered.sockets = at_end;
        Ok((gathered, courses))
    }
}

/// When a timed test must be over: its time, its warm-up at the longest, and a moment for the last reply.
fn end_of(method: &Method) -> Instant {
    let Some(length) = method.stop.after_ns else { return Instant::NEVER };
    let warm_up = method.warm_up_ns.0.saturating_mul(4).saturating_add(method.timeout_ns.0.min(LAST_REPLY.0));
    Monotonic::now().after(Nanos(length.0.saturating_add(warm_up).saturating_add(LAST_REPLY.0)))
}

/// How long nothing may be answered: a slow schedule has long pauses.
fn quiet(method: &Method) -> Nanos {
    let gap = method.schedule.mean_gap().unwrap_or_default();
    Nanos(QUIET.0.saturating_add(gap.0.saturating_mul(10)).saturating_add(method.warm_up_ns.0.saturating_mul(4)))
}

/// Waits `pause`, or until `stop`.
fn wait(pause: Nanos, stop: &Stop) {
    let until = Monotonic::now().after(pause);
    while Monotonic::now() < until && !stop.requested() {
        pace::sleep_until(until.min(Monotonic::now().after(GLANCE)));
    }
}

/// The end of a test: of its data connections, and what the servers saw.
struct End<'a> {
    test: &'a Test,
    patience: Nanos,
    stop: &'a Stop,
}

impl End<'_> {
    /// Ends a session's data connection as the server expects it, and fetches what that saw.
    fn close(&self, session: &mut Session, open: Open, at_end: &SocketFacts) -> Course {
        let began = Monotonic::now();
        match (&open.socket, self.test.method.carrier) {
            (None, _) if !self.test.wants_results => end_by_reset(open.remote),
            (None, _) => {}
            (Some(socket), Carrier::Udp) => end_datagrams(socket),
            (Some(socket), _) => self.end_stream(socket, session),
        }
        let closing = Monotonic::now().since(began).unwrap_or_default();
        Course {
            results: session.control.results(self.patience, self.stop),
            ready: open.ready,
            at_start: open.facts,
            at_end: at_end.clone(),
            local: open.local,
            remote: open.remote,
            connecting: open.connecting,
            closing: if open.socket.is_some() { closing } else { Nanos::ZERO },
        }
    }

    /// Our half is closed; the server closes the other when it has read everything. What it still sends is read, for a
    /// connection closed over unread data is reset.
    fn end_stream(&self, socket: &Socket, session: &mut Session) {
        // Where the peer ended it first this is no news.
        let _half_closed = shutdown(socket, Shutdown::Write);
        let give_up = Monotonic::now().after(self.patience);
        let mut scratch = vec![0; 64 << 10];
        while Monotonic::now() < give_up && !self.stop.requested() {
            match recv(socket, &mut scratch[..], RecvFlags::DONTWAIT) {
                Ok((1.., _)) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    // A server that is gone closes neither.
                    if session.control.answered() || session.control.look().is_err() {
                        return;
                    }
                    let both = [(socket.as_fd(), false), (session.control.as_fd(), false)];
                    poll_until(both.into_iter(), Monotonic::now().after(GLANCE));
                }
                Ok((0, _)) | Err(_) => return,
            }
        }
    }
}

/// A server that accepts connection after connection does not see the end of a timed test, and waits four seconds more.
/// One that is reset at once ends it there, without results.
fn end_by_reset(remote: SocketAddr) {
    let connect = || -> std::io::Result<()> {
        let socket = Socket::new(socket2::Domain::for_address(remote), socket2::Type::STREAM, None)?;
        socket.set_linger(Some(Duration::ZERO))?;
        socket.connect_timeout(&SockAddr::from(remote), GLANCE.into())
    };
    // Where it has ended already there is nothing to end.
    let _ended = connect();
}

/// Three datagrams of nothing: one is enough, so two may be lost.
fn end_datagrams(socket: &Socket) {
    for _ in 0..END_DATAGRAMS {
        // A server that is done with its count has closed its socket, which the next call tells: no matter.
        let _told = send(socket, &[], SendFlags::NOSIGNAL);
    }
}

/// What it takes to open a data connection once the server is ready.
struct Opening<'a> {
    test: &'a Test,
    stop: &'a Stop,
    control: SocketAddr,
    index: u32,
}

fn stream(
    opening: &Opening<'_>,
    prepared: Prepared,
    ready: Ready,
) -> Result<(Connection<Stream, Bare>, Open), EndpointError> {
    let (socket, open) = connect(opening, prepared, ready)?;
    Ok((connections::stream(socket, Bare, opening.index, &opening.test.method, opening.stop), open))
}

fn datagram(
    opening: &Opening<'_>,
    prepared: Prepared,
    ready: Ready,
) -> Result<(Connection<Datagram, Unnumbered>, Open), EndpointError> {
    let method = &opening.test.method;
    let (socket, open) = connect(opening, prepared, ready)?;
    let length = method.request_bytes.0 as usize;
    let mut connection = connections::datagram(socket, Unnumbered, opening.index, length, method, opening.stop);
    let expected = method.response_bytes.0 as usize;
    connection.flow.expected = Some(expected);
    // One byte more, so that a reply that is too long is seen as such.
    connection.flow.reply.resize(expected + 1, 0);
    Ok((connection, open))
}

fn connect(opening: &Opening<'_>, prepared: Prepared, ready: Ready) -> Result<(Socket, Open), EndpointError> {
    let remote = data::server_at(opening.test, opening.control, ready.data_port);
    let fail = |cause: std::io::Error| EndpointError::new(Step::ConnectData, remote, cause);
    let Prepared::Socket(socket) = prepared else { return Err(fail(std::io::ErrorKind::NotConnected.into())) };
    let connecting = data::connect(&socket, remote, opening.test, opening.stop)?;
    let facts = socket_facts(&socket);
    let local = data::local(&socket).unwrap_or_else(|| SocketAddr::new(any(remote), 0));
    let beside = Some(socket.try_clone().map_err(fail)?);
    Ok((socket, Open { ready, facts, local, remote, connecting, socket: beside }))
}

fn each(
    opening: &Opening<'_>,
    prepared: Prepared,
    ready: Ready,
) -> Result<(Connection<Handshake, Unnumbered>, Open), EndpointError> {
    let (test, method) = (opening.test, &opening.test.method);
    let remote = data::server_at(test, opening.control, ready.data_port);
    let fail = |cause: std::io::Error| EndpointError::new(Step::ConnectData, remote, cause);
    let Prepared::Each(ports) = prepared else { return Err(fail(std::io::ErrorKind::NotConnected.into())) };
    let ports: Ports = ports.without(remote.port());
    let local = SocketAddr::new(method.socket.bind.unwrap_or_else(|| any(remote)), ports.peek());
    let reply_length = method.response_bytes.0 as usize;
    let content = if method.pattern == Pattern::ConnectExchange {
        Content::Exchange { preamble: Vec::new(), accepted: None, reply_length }
    } else {
        Content::None
    };
    let course = handshake::Course::Whole { ports, tuning: data::tuning(test) };
    let link = Handshake::new(remote, &method.socket, method.waiting, content, course, opening.stop.clone())?;
    let facts = link.socket().map(socket_facts).unwrap_or_default();
    let facts = SocketFacts { local: local.to_string(), remote: remote.to_string(), ..facts };
    let (request, reply) = (vec![0; method.request_bytes.0 as usize], vec![0; reply_length]);
    let flow = Flow { link, wire: Unnumbered, index: opening.index, request, reply, expected: Some(reply_length) };
    let open = Open { ready, facts: facts.clone(), local, remote, connecting: Nanos::ZERO, socket: None };
    Ok((Connection { flow, facts, refused: None }, open))
}
