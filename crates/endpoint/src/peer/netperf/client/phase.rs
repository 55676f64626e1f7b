//! The data phase of a test, whatever flows in it: data connections opened as the servers are ready, looked after while
//! they are measured over, and ended as the servers expect it.

use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;

use measure::event::Event;
use measure::method::{Carrier, Direction, Method};
use measure::outcome::SocketFacts;
use measure::unit::{Bytes, Instant, Nanos};
use protocol::netperf::answer::Ready;
use protocol::netperf::ask::Length;
use protocol::netperf::client::ANSWER;
use protocol::netperf::data::{END_DATAGRAMS, PAD};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use socket2::{Domain, SockAddr, Socket, Type};

use super::data::{self, Prepared};
use super::keeper::Keeper;
use super::{Course, Session, Test};
use crate::clock::Monotonic;
use crate::cpu_usage::{Snapshot, Usage};
use crate::environment::watch::Watch;
use crate::error::{EndpointError, Step};
use crate::facts::socket::socket_facts;
use crate::link::clockwork::poll_until;
use crate::pace;
use crate::rtt::scene::Scene;
use crate::socket::{GLANCE, any};
use crate::stop::Stop;

/// A peer that answers nothing for so long is given up.
const QUIET: Nanos = Nanos::secs(60);
/// How long the end of one that gave no sign of life is waited for.
const HASTE: Nanos = Nanos::secs(3);
/// How long results that nobody wants are waited for: a server that ends at once leaves its control connection in order.
const UNWANTED: Nanos = Nanos::millis(300);
/// So long after its end a timed test may still wait for the last reply.
const LAST_REPLY: Nanos = Nanos::secs(5);

/// A test under way, with whoever listens to it.
pub struct Phase<'a> {
    /// What is measured.
    pub test: &'a Test,
    /// Whether to end early.
    pub stop: &'a Stop,
    /// This host under observation.
    pub watch: &'a mut Watch,
    /// Who listens.
    pub on_event: &'a mut dyn FnMut(Event),
    /// What the CPUs had been doing before the first data connection was made.
    cpu: Option<Snapshot>,
}

/// How the data phase went, as far as its end depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Went {
    /// A control connection failed, or nothing came over the data connections: our end may not come through either.
    pub silently: bool,
    /// Fewer transactions than asked for: a server that counts them waits for more.
    pub short: bool,
}

/// How a test ended with its servers.
#[derive(Debug)]
pub struct Ends {
    /// How it went with each.
    pub courses: Vec<Course>,
    /// How busy this host's CPUs were, from before the data connections until they were closed; `None` where no tick of
    /// the kernel's accounting passed.
    pub cpu: Option<Usage>,
}

/// A session's data connection while it is measured over.
#[derive(Debug)]
pub struct Open {
    /// What the server said.
    pub ready: Ready,
    /// Its socket at the start.
    pub facts: SocketFacts,
    /// Our end.
    pub local: SocketAddr,
    /// The server's end.
    pub remote: SocketAddr,
    /// How long it took to be made.
    pub connecting: Nanos,
    /// Beside the engine's; absent for a connection per transaction.
    pub socket: Option<Socket>,
}

/// What it takes to open a data connection once the server is ready.
#[derive(Debug)]
pub struct Opening<'a> {
    /// What is measured.
    pub test: &'a Test,
    /// Whether to end early.
    pub stop: &'a Stop,
    /// The server's control address.
    pub control: SocketAddr,
    /// The connection's number.
    pub index: u32,
}

impl<'a> Phase<'a> {
    /// Before anything is asked.
    pub fn new(test: &'a Test, stop: &'a Stop, watch: &'a mut Watch, on_event: &'a mut dyn FnMut(Event)) -> Self {
        Self { test, stop, watch, on_event, cpu: None }
    }

    /// Asks each server for the test, and opens a data connection with each by `open`.
    pub fn open<T>(
        &mut self,
        sessions: &mut [Session],
        open: impl Fn(&Opening<'_>, Prepared, Ready) -> Result<(T, Open), EndpointError>,
    ) -> Result<(Vec<T>, Vec<Open>), EndpointError> {
        let (test, stop) = (self.test, self.stop);
        let cpu = &mut self.cpu;
        let each = sessions.iter_mut().enumerate().map(|(index, session)| {
            let control = session.peer();
            let prepared = data::prepare(test, control)?;
            let mut ask = data::complete(test, &prepared, control, session.control.local());
            ask.server_cpu = ask.server_cpu.or(session.server_cpu);
            let ready = session.control.ask(&ask, stop)?;
            wait(test.pause, stop);
            *cpu = cpu.take().or_else(Snapshot::take);
            open(&Opening { test, stop, control, index: index as u32 }, prepared, ready)
        });
        let each: Result<Vec<(T, Open)>, EndpointError> = each.collect();
        Ok(each?.into_iter().unzip())
    }

    /// Measures, with the control connections looked after meanwhile.
    pub fn during<T>(
        &mut self,
        sessions: &mut [Session],
        opened: &[Open],
        measure: impl FnOnce(&mut Scene<'_>) -> Result<T, EndpointError>,
    ) -> Result<T, EndpointError> {
        let Self { test, stop, watch, on_event, .. } = self;
        let peer = opened.first().map_or_else(|| SocketAddr::new(IpAddr::from([0; 4]), 0), |open| open.remote);
        let alive = Cell::new(Monotonic::now());
        let mut keeper = Keeper { sessions, end: end_of(test), alive: &alive, quiet: quiet(&test.method) };
        let mut listen = |event: Event| {
            if shows_life(&event) {
                alive.set(Monotonic::now());
            }
            on_event(event);
        };
        measure(&mut Scene {
            method: &test.method,
            trace: None,
            peer,
            far: &mut keeper,
            samples: test.samples,
            interval: test.interval,
            stop,
            watch,
            on_event: &mut listen,
        })
    }

    /// Ends the data connections as the servers expect it, and fetches what those saw.
    pub fn close(&self, sessions: &mut [Session], opened: Vec<Open>, at_end: &[SocketFacts], went: Went) -> Ends {
        let patience = if went.silently { HASTE } else { ANSWER };
        let counts = matches!(self.test.ask.length, Length::Count(_));
        let resets = !self.test.wants_results || (counts && went.short);
        let end = End { test: self.test, patience, resets, stop: self.stop };
        let closings: Vec<Nanos> =
            sessions.iter_mut().zip(&opened).map(|(session, open)| end.close(session, open)).collect();
        // Before the results, which a server may take long to send.
        let cpu = Snapshot::take().zip(self.cpu.as_ref()).and_then(|(after, before)| after.since(before));
        let parts = sessions.iter_mut().zip(opened).zip(closings).zip(at_end);
        let courses = parts.map(|(((session, open), closing), at_end)| end.results(session, open, closing, at_end));
        Ends { courses: courses.collect(), cpu }
    }
}

/// Whether the peer did something.
fn shows_life(event: &Event) -> bool {
    match event {
        Event::Second { second, .. } => second.counts.answered > 0,
        Event::Carried { interval, .. } => interval.carried.bytes > Bytes(0),
        Event::Started { .. } | Event::Exchange(_) | Event::SamplesDropped { .. } => false,
    }
}

/// When a timed test must be over: its time, its warm-up at the longest, and a moment for the last reply. Where the
/// server ends it, as much more as the server gives.
fn end_of(test: &Test) -> Instant {
    let method = &test.method;
    let Some(length) = method.stop.after_ns else { return Instant::NEVER };
    let warm_up = method.warm_up_ns.0.saturating_mul(4).saturating_add(method.timeout_ns.0.min(LAST_REPLY.0));
    let theirs = if method.direction == Some(Direction::Receive) { PAD.0 } else { 0 };
    Monotonic::now().after(Nanos(length.0.saturating_add(warm_up).saturating_add(LAST_REPLY.0 + theirs)))
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

    /// Where the server's data socket is.
    pub fn remote(&self, ready: &Ready) -> SocketAddr {
        data::server_at(self.test, self.control, ready.data_port)
    }
}

/// The end of a test: of its data connections, and what the servers saw.
struct End<'a> {
    test: &'a Test,
    patience: Nanos,
    /// Whether a server that accepts connections must be told that there are no more.
    resets: bool,
    stop: &'a Stop,
}

impl End<'_> {
    /// Ends a data connection. Returns how long that took.
    fn close(&self, session: &mut Session, open: &Open) -> Nanos {
        let began = Monotonic::now();
        match (&open.socket, self.test.method.carrier) {
            (None, _) if self.resets => end_by_reset(open.remote),
            (None, _) => {}
            (Some(socket), Carrier::Udp) => end_datagrams(socket),
            (Some(socket), _) => self.end_stream(socket, session),
        }
        // Of a connection for each transaction nothing is left to be closed.
        let timed = open.socket.is_some();
        if timed { Monotonic::now().since(began).unwrap_or_default() } else { Nanos::ZERO }
    }

    fn results(&self, session: &mut Session, open: Open, closing: Nanos, at_end: &SocketFacts) -> Course {
        let Open { ready, facts, local, remote, connecting, socket } = open;
        // A server that sends goes on as long as there is somebody to send to.
        let socket = socket.filter(|_| self.test.method.direction != Some(Direction::Receive));
        // One that heeds the reset answers at once.
        let told = self.resets && socket.is_none();
        let patience = if self.test.wants_results { self.patience } else { UNWANTED };
        let patience = if told { patience.min(HASTE) } else { patience };
        // One patience for the end of the data and for what came of them: a server that is stuck answers neither.
        let patience = Nanos(patience.0.saturating_sub(closing.0)).max(patience.min(HASTE));
        let results = session.control.results(patience, self.stop);
        drop(socket);
        Course { results, ready, at_start: facts, at_end: at_end.clone(), local, remote, connecting, closing }
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

/// A server that accepts connection after connection does not see the end of a timed test and waits four seconds more, or
/// waits for those that its count lacks. One that is reset at once ends it there, without results.
fn end_by_reset(remote: SocketAddr) {
    let connect = || -> std::io::Result<()> {
        let socket = Socket::new(Domain::for_address(remote), Type::STREAM, None)?;
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
