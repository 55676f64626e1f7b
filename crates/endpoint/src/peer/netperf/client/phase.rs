//! The data phase of any test: data connections opened as the servers are ready, watched while they are measured over,
//! and ended ([`super::end`]).

use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};

use measure::event::Event;
use measure::method::Method;
use measure::outcome::SocketFacts;
use measure::unit::{Bytes, Instant, Nanos};
use protocol::netperf::answer::Ready;
use protocol::netperf::data::PAD;
use socket2::Socket;

use super::data::{self, Prepared};
use super::end::{End, Ends, Went};
use super::keeper::Keeper;
use super::{Session, Test, stream};
use crate::clock::Monotonic;
use crate::cpu_usage::Snapshot;
use crate::environment::watch::Watch;
use crate::error::{EndpointError, Step};
use crate::facts::socket::socket_facts;
use crate::pace;
use crate::session::scene::Scene;
use crate::socket::any;
use crate::stop::{GLANCE, Stop};

/// Longest time without an answer; then the peer is given up.
const QUIET: Nanos = Nanos::secs(60);
/// Time after its end for which a timed test may still wait for the last reply.
const LAST_REPLY: Nanos = Nanos::secs(5);
/// So much later than it should an engine may come to its end.
const SLACK: Nanos = Nanos::secs(1);

/// A test under way, with its listener.
pub struct Phase<'a> {
    /// The test that is measured.
    pub test: &'a Test,
    /// Set for an early end.
    pub stop: &'a Stop,
    /// This host under observation.
    pub watch: &'a mut Watch,
    /// Listener to the events.
    pub on_event: &'a mut dyn FnMut(Event),
    /// Ends every wait on a data connection; see [`Scene::halt`].
    halt: Stop,
    /// Time without any sign of a server when the data phase ended.
    silence: Nanos,
    /// CPU ticks before the first data connection was made.
    cpu: Option<Snapshot>,
}

/// A session's data connection while it is measured over.
#[derive(Debug)]
pub struct Open {
    /// Server's ready message.
    pub ready: Ready,
    /// Facts of its socket at the start.
    pub facts: SocketFacts,
    /// Local address.
    pub local: SocketAddr,
    /// Address of the server's end.
    pub remote: SocketAddr,
    /// Time to establish the connection.
    pub connecting: Nanos,
    /// Second handle of the socket, beside the engine's; absent for a connection per transaction.
    pub socket: Option<Socket>,
}

/// Arguments needed to open a data connection once the server is ready.
#[derive(Debug)]
pub struct Opening<'a> {
    /// The test that is measured.
    pub test: &'a Test,
    /// Set for an early end.
    pub stop: &'a Stop,
    /// Flag that a link over the connection checks; see [`Scene::halt`].
    pub halt: &'a Stop,
    /// The server's control address.
    pub control: SocketAddr,
    /// The connection's number.
    pub index: u32,
}

impl<'a> Phase<'a> {
    /// Before anything is asked.
    pub fn new(test: &'a Test, stop: &'a Stop, watch: &'a mut Watch, on_event: &'a mut dyn FnMut(Event)) -> Self {
        Self { test, stop, watch, on_event, halt: Stop::default(), silence: Nanos::ZERO, cpu: None }
    }

    /// Asks each server for the test, and opens a data connection with each by `open`.
    pub fn open<T>(
        &mut self,
        sessions: &mut [Session],
        open: impl Fn(&Opening<'_>, Prepared, Ready) -> Result<(T, Open), EndpointError>,
    ) -> Result<(Vec<T>, Vec<Open>), EndpointError> {
        let (test, stop, halt) = (self.test, self.stop, &self.halt);
        let cpu = &mut self.cpu;
        let each = sessions.iter_mut().enumerate().map(|(index, session)| {
            let control = session.peer();
            let prepared = data::prepare(test, control)?;
            let mut ask = data::complete(test, &prepared, control, session.control.local());
            ask.server_cpu = ask.server_cpu.or(session.server_cpu);
            let ready = session.control.ask(&ask, stop)?;
            wait(test.pause, stop);
            *cpu = cpu.take().or_else(Snapshot::take);
            open(&Opening { test, stop, halt, control, index: index as u32 }, prepared, ready)
        });
        let each: Result<Vec<(T, Open)>, EndpointError> = each.collect();
        Ok(each?.into_iter().unzip())
    }

    /// Measures, and watches the control connections.
    pub fn during<T>(
        &mut self,
        sessions: &mut [Session],
        opened: &[Open],
        measure: impl FnOnce(&mut Scene<'_>) -> Result<T, EndpointError>,
    ) -> Result<T, EndpointError> {
        let Self { test, stop, watch, on_event, halt, silence, .. } = self;
        let peer = opened.first().map_or_else(|| SocketAddr::new(IpAddr::from([0; 4]), 0), |open| open.remote);
        let alive = Cell::new(Monotonic::now());
        let mut keeper = Keeper { sessions, end: end_of(test), alive: &alive, quiet: quiet(&test.method) };
        let mut listen = |event: Event| {
            if shows_life(&event) {
                alive.set(Monotonic::now());
            }
            on_event(event);
        };
        let measured = measure(&mut Scene {
            method: &test.method,
            trace: None,
            peer,
            far: &mut keeper,
            samples: test.samples,
            interval: test.interval,
            stop,
            halt,
            watch,
            on_event: &mut listen,
        });
        *silence = Monotonic::now().since(alive.get()).unwrap_or_default();
        measured
    }

    /// Ends the data connections as the servers expect it, and fetches what those saw.
    pub fn close(&self, sessions: &mut [Session], opened: Vec<Open>, at_end: &[SocketFacts], went: Went) -> Ends {
        let gap = self.test.method.schedule.mean_gap().unwrap_or_default();
        let end = End::new(self.test, self.stop, went, self.silence, gap);
        let closings = end.close(sessions, &opened);
        // Before the results, which a server may take long to send.
        let cpu = Snapshot::take().zip(self.cpu.as_ref()).and_then(|(after, before)| after.since(before));
        Ends { courses: end.results(sessions, opened, &closings, at_end), cpu }
    }
}

/// Returns true where an event shows that the peer did something.
fn shows_life(event: &Event) -> bool {
    match event {
        Event::Second { second, .. } => second.counts.answered > 0,
        Event::Carried { interval, .. } => interval.carried.bytes > Bytes(0),
        Event::Started { .. }
        | Event::Exchange(_)
        | Event::Split(_)
        | Event::Replies(_)
        | Event::SamplesDropped { .. } => false,
    }
}

/// Returns the time by which a timed test must be over: its duration, its warm-up at the longest, and a moment for the
/// last reply. Where the server ends it, the server's own grace is added.
fn end_of(test: &Test) -> Instant {
    let method = &test.method;
    let Some(length) = method.stop.after_ns else { return Instant::NEVER };
    let warm_up = method.warm_up_ns.0.saturating_mul(4).saturating_add(method.timeout_ns.0.min(LAST_REPLY.0));
    let theirs = if stream::sends(method) { 0 } else { PAD.0 };
    Monotonic::now().after(Nanos(length.0.saturating_add(warm_up).saturating_add(SLACK.0 + theirs)))
}

/// Longest time without an answer: a slow schedule has long pauses.
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

impl Opening<'_> {
    /// Connects a prepared socket: the one for the engine, and what stays beside it.
    pub fn connect(&self, prepared: Prepared, ready: Ready) -> Result<(Socket, Open), EndpointError> {
        let remote = self.remote(&ready);
        let fail = |cause: std::io::Error| EndpointError::new(Step::ConnectData, remote, cause);
        let Prepared::Socket { socket, send_buffer, receive_buffer } = prepared else {
            return Err(fail(std::io::ErrorKind::NotConnected.into()));
        };
        let connecting = data::connect(&socket, remote, self.test, self.stop)?;
        // As they were asked for: the kernel grows those of a connection by itself from here on.
        let facts = SocketFacts {
            send_buffer_bytes: send_buffer,
            receive_buffer_bytes: receive_buffer,
            ..socket_facts(&socket)
        };
        let local = data::local(&socket).unwrap_or_else(|| SocketAddr::new(any(remote), 0));
        let beside = Some(socket.try_clone().map_err(fail)?);
        Ok((socket, Open { ready, facts, local, remote, connecting, socket: beside }))
    }

    /// Returns the address of the server's data socket.
    pub fn remote(&self, ready: &Ready) -> SocketAddr {
        data::server_at(self.test, self.control, ready.data_port)
    }
}
