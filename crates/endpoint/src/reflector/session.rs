//! A session of a reflector: the client that it answers, its settings, and its counts.

use std::net::{IpAddr, Shutdown};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use measure::method::{Carrier, Waiting};
use measure::unit::{Bytes, Instant, Nanos};
use protocol::bulk::Mark;
use protocol::native::header::Token;
use protocol::native::mac::{Direction, Mac};
use protocol::native::message::{Got, Open, Report};
use protocol::native::stream::{Numbers, Told as StreamTold, goes_there};
use socket2::Socket;

use super::behaviour::Behaviour;
use super::budget::{Budget, Load, Shares};
use super::flow::FlowCount;
use super::permit::Permit;
use super::stream::tally::Tally;
use crate::clock::Monotonic;
use crate::facts::thread::ThreadSpan;
use crate::serve::open_sockets::OpenSockets;
use crate::serve::places::{Place, Places};
use crate::stop::{GLANCE, Stop};
use crate::thread::CpuTime;

/// One client's session.
#[derive(Debug)]
pub struct Session {
    /// Its name.
    pub token: Token,
    /// Version agreed on.
    pub version: u16,
    /// Its number, from 1; 0 before it is among the others.
    pub number: u64,
    /// Address of its client, as its control connection shows.
    pub client: IpAddr,
    /// Permit under which it was opened.
    pub permit: Arc<Permit>,
    /// Deviations of its replies from answering at once.
    pub behaviour: Behaviour,
    /// Settings that the client asked for, within the limits.
    pub open: Open,
    /// Settings that it has in effect.
    pub got: Got,
    /// Key that authenticates its datagrams; absent: they are not authenticated.
    pub mac: Option<Mac>,
    /// Counts by flow.
    pub flows: Vec<Arc<FlowCount>>,
    /// Messages with the session's token that made no sense, or whose code was wrong, or which had come before where that is
    /// not the path's doing.
    pub malformed: AtomicU64,
    /// Authentic datagrams that came from another address or port than their flow began with, which stay unanswered.
    pub elsewhere: AtomicU64,
    /// Set when it is over, or the reflector stops: its threads end.
    pub over: Stop,
    /// Budgets that it shares: with all sessions, and with those of its key.
    pub(super) budgets: Vec<Arc<Budget>>,
    /// Time that its threads waited because of a limit of the reflector, nanoseconds.
    held_back: AtomicU64,
    /// Its control connection, by which it can be told that others need its place; absent: it keeps it.
    pub(super) control: Option<Arc<Socket>>,
    /// Others need its place.
    pub(super) gives_way: AtomicBool,
    /// Those of flows that are exchanges, whose threads wait for the next request as long as it takes.
    pub sockets: OpenSockets,
    /// Time of its latest message, nanoseconds of the monotonic clock; as coarse as a thread's glance.
    seen: AtomicU64,
    /// Requests that had been received when that was last looked at.
    noted: AtomicU64,
    opened: Instant,
    threads: AtomicU32,
    /// True once a request was answered in the yard.
    rested: AtomicBool,
    /// Threads that have not told what they used and saw yet.
    running: Places,
    told: Mutex<Told>,
    /// Reports of the flows, where they are streams.
    streams: Option<Tally>,
}

/// Facts that the threads of a session reported at their end.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    cpu: CpuTime,
    sockets: Option<SocketEnd>,
    /// Scheduler's facts of the thread that waited longest for a CPU.
    span: Option<ThreadSpan>,
}

/// Facts of a flow's own UDP socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketEnd {
    /// Its receive buffer, as the kernel counts it.
    pub receive_buffer: Option<Bytes>,
    /// Arrivals that the kernel dropped at the socket.
    pub dropped: Option<u64>,
}

impl SocketEnd {
    /// Combines two sockets: the smaller buffer, and the sum of the drops. A fact absent for one of them is absent for
    /// both.
    fn and(self, other: Self) -> Self {
        Self {
            receive_buffer: self.receive_buffer.zip(other.receive_buffer).map(|(one, other)| one.min(other)),
            dropped: self.dropped.zip(other.dropped).map(|(one, other)| one + other),
        }
    }
}

/// Longest wait of a session's end for its threads, which check every tenth of a second, and later where the host is
/// busy. A client waits five seconds for the report.
const LAST_WORDS: Nanos = Nanos::secs(2);

impl Session {
    /// A new session under `token`, of `client`, by `permit`.
    pub fn new(token: Token, version: u16, (open, got): (Open, Got), client: IpAddr, permit: &Arc<Permit>) -> Self {
        let now = Monotonic::now();
        let flows = (0..open.flows).map(|_| Arc::default()).collect();
        let streams = open.stream.is_some().then(|| Tally::new(open.flows));
        Self {
            token,
            version,
            number: 0,
            client,
            permit: Arc::clone(permit),
            behaviour: Behaviour::default(),
            mac: got.datagram_key.as_ref().map(Mac::new),
            open,
            got,
            flows,
            malformed: AtomicU64::new(0),
            elsewhere: AtomicU64::new(0),
            over: Stop::default(),
            budgets: permit.budget.iter().cloned().collect(),
            held_back: AtomicU64::new(0),
            control: None,
            gives_way: AtomicBool::new(false),
            sockets: OpenSockets::default(),
            seen: AtomicU64::new(now.0),
            noted: AtomicU64::new(0),
            opened: now,
            threads: AtomicU32::new(0),
            rested: AtomicBool::new(false),
            running: Places::new(u32::MAX),
            told: Mutex::default(),
            streams,
        }
    }

    /// The same, whose requests are answered so, and not faster than its permit says.
    pub fn behaving(self, behaviour: Behaviour) -> Self {
        let rates = [behaviour.rate, self.permit.limits.rate_per_flow];
        Self { behaviour: Behaviour { rate: rates.into_iter().flatten().min(), ..behaviour }, ..self }
    }

    /// The same for a client that showed no key: it gives way to one of another address, and is informed over
    /// `control`.
    pub fn giving_way(self, control: Arc<Socket>) -> Self {
        Self { control: Some(control), ..self }
    }

    /// Returns true where it shares a budget with others.
    pub fn is_bounded(&self) -> bool {
        !self.budgets.is_empty()
    }

    /// Returns true where another client needs its place.
    pub fn gives_way(&self) -> bool {
        self.gives_way.load(Ordering::Acquire)
    }

    /// Waits until `load` may pass; `false`: the session was over before.
    pub fn pass(&self, load: Load) -> bool {
        let now = Monotonic::now();
        let due = self.take(load, now);
        if now >= due {
            return true;
        }
        self.hold_back(due);
        let is_over = self.over.requested();
        if is_over {
            self.budgets.iter().for_each(|budget| budget.give_back(load));
        }
        !is_over
    }

    /// Counts a wait of a thread that a limit of the reflector caused.
    pub fn held_back(&self, time: Nanos) {
        self.held_back.fetch_add(time.0, Ordering::Relaxed);
    }

    /// Requests that were answered; `None` where it is of streams.
    pub fn answered(&self) -> Option<u64> {
        let replied = |flow: &Arc<FlowCount>| flow.replied.load(Ordering::Relaxed);
        self.streams.is_none().then(|| self.flows.iter().map(replied).sum())
    }

    /// Octets of messages that came, and that were sent.
    pub fn octets(&self) -> (Bytes, Bytes) {
        if let (Some(streams), Some(ask)) = (&self.streams, &self.open.stream) {
            let (mut came, mut went) = (0_u64, 0_u64);
            for (flow, octets) in (0..).zip(streams.octets()) {
                let here = goes_there(ask.direction, flow, self.open.flows);
                let sum = if here { &mut came } else { &mut went };
                *sum = sum.saturating_add(octets);
            }
            return (Bytes(came), Bytes(went));
        }
        let sum = |count: fn(&FlowCount) -> &AtomicU64, each: Bytes| {
            let count: u64 = self.flows.iter().map(|flow| count(flow).load(Ordering::Relaxed)).sum();
            Bytes(count.saturating_mul(each.0))
        };
        (sum(|flow| &flow.received, self.open.request_bytes), sum(|flow| &flow.replied, self.open.response_bytes))
    }

    /// Its threads that may poll without blocking because the client asked for it.
    pub(super) fn spinning(&self) -> u32 {
        let asked = matches!(self.open.waiting, Some(Waiting::Spin | Waiting::BusyPoll { .. }));
        if asked && self.got.waiting != Waiting::Block { self.open.flows } else { 0 }
    }

    /// CPUs that its threads are pinned to because the client asked for it.
    pub(super) fn pinned_to(&self) -> impl Iterator<Item = u32> + '_ {
        self.open.cpus.iter().copied().take(self.open.flows as usize)
    }

    /// Something of this session was seen at `now`.
    pub fn touch(&self, now: Instant) {
        self.seen.fetch_max(now.0, Ordering::Relaxed);
    }

    /// Returns true where requests have arrived since the last call.
    pub fn stirred(&self) -> bool {
        let received = self.flows.iter().map(|flow| flow.received.load(Ordering::Relaxed)).sum();
        self.noted.swap(received, Ordering::Relaxed) != received
    }

    /// Returns the cause for which the session must end at `now`, or `None` where it may continue.
    pub fn overdue(&self, now: Instant) -> Option<Overdue> {
        if self.gives_way.load(Ordering::Acquire) {
            return Some(Overdue::Place);
        }
        let seen = Instant(self.seen.load(Ordering::Relaxed));
        if now.since(self.opened).is_some_and(|age| age > self.got.duration_ns) {
            return Some(Overdue::Duration);
        }
        now.since(seen).is_some_and(|silence| silence > self.got.idle_ns).then_some(Overdue::Idle)
    }

    /// Returns the time of the next check, as of `now`, for the end of the session: at the latest the time at which it
    /// may have ended. Before that, the wait is as long as the silence so far, so that a silent session is checked less
    /// and less often, and its end is reported in time. While data flows, the wait is an eighth of the silence that
    /// ends it.
    pub fn next_look(&self, now: Instant) -> Instant {
        let seen = Instant(self.seen.load(Ordering::Relaxed));
        let due = self.opened.after(self.got.duration_ns).min(seen.after(self.got.idle_ns));
        let silence = now.since(seen).unwrap_or_default();
        due.after(Nanos(1)).min(now.after(silence.max(GLANCE).max(Nanos(self.got.idle_ns.0 / 8))))
    }

    /// A thread of this session begins. Its number, from 0, says which CPU of the list is its; its place is for its end.
    pub fn begin_thread(&self) -> (u32, Option<Place>) {
        let place = self.running.take();
        (self.threads.fetch_add(1, Ordering::Relaxed), place)
    }

    /// A thread used so much CPU time for it. Before its place is given up.
    pub fn used(&self, time: CpuTime) {
        let cpu = &mut self.told().cpu;
        cpu.user_ns = Nanos(cpu.user_ns.0 + time.user_ns.0);
        cpu.system_ns = Nanos(cpu.system_ns.0 + time.system_ns.0);
    }

    /// Notes a thread's time from the scheduler while it served the session. To be called before the thread's place is
    /// given up.
    pub fn had(&self, span: ThreadSpan) {
        let worst = &mut self.told().span;
        if worst.and_then(|worst| worst.waited_share()) <= span.waited_share() {
            *worst = Some(span);
        }
    }

    /// Scheduler's facts of the thread that waited longest for a CPU; `None`: none is known.
    pub fn span(&self) -> Option<ThreadSpan> {
        self.told().span
    }

    /// One of its flows had its turn in the yard.
    pub fn rested(&self) {
        self.rested.store(true, Ordering::Relaxed);
    }

    /// Returns true where a flow had its turn in the yard.
    pub fn has_rested(&self) -> bool {
        self.rested.load(Ordering::Relaxed)
    }

    /// The socket of a flow is done with. Before its thread ends.
    pub fn end_socket(&self, end: SocketEnd) {
        let sockets = &mut self.told().sockets;
        *sockets = Some(sockets.map_or(end, |before| before.and(end)));
    }

    /// A stream of the session is about to begin.
    pub fn begin_stream(&self) {
        self.streams.iter().for_each(Tally::begin);
    }

    /// The stream of `flow` is over. Before its thread ends.
    pub fn end_stream(&self, flow: u16, told: StreamTold) {
        if let Some(streams) = &self.streams {
            streams.end(flow, told);
        }
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends its threads. Messages that have arrived are still taken.
    pub(super) fn end(&self) {
        self.over.request();
        self.sockets.end(Shutdown::Read);
    }

    /// Requests received so far, by flow.
    pub fn received(&self) -> Vec<u64> {
        self.flows.iter().map(|flow| flow.received.load(Ordering::Relaxed)).collect()
    }

    /// True for a numbered datagram of one of its streams that has another port than `port`.
    pub(super) fn has_elsewhere(&self, message: &[u8], port: u16) -> bool {
        let Some(&[high, low]) = message.get(6..8).and_then(|flow| flow.first_chunk()) else { return false };
        let flow = u16::from_be_bytes([high, low]);
        let taken = self.flows.get(usize::from(flow)).and_then(|flow| flow.port());
        let is_elsewhere =
            self.streams.is_some() && self.open.carrier == Carrier::Udp && taken.is_some_and(|taken| taken != port);
        let numbers = || Numbers::new(&self.token, flow).authenticated(self.mac, Direction::Back);
        // What repeats the end of a stream is none of its datagrams.
        is_elsewhere && matches!(numbers().read_of(message, message.len()), Some(Mark::Data { .. }))
    }

    /// Ends the threads of the session, and returns the counts at its end. CPU time and sockets are reported where all
    /// threads reported theirs.
    pub fn finish(&self) -> Report {
        self.end();
        let all_told = self.running.await_empty(Monotonic::now().after(LAST_WORDS));
        let told = all_told.then(|| *self.told());
        let sockets = told.and_then(|told| told.sockets);
        let of = |count: fn(&FlowCount) -> &AtomicU64| -> Vec<u64> {
            self.flows.iter().map(|flow| count(flow).load(Ordering::Relaxed)).collect()
        };
        let (streams, cpu) = self.streams.as_ref().map(Tally::all).unzip();
        Report {
            received: self.received(),
            warm_up: Some(of(|flow| &flow.warm_up)),
            again: Some(of(|flow| &flow.again)),
            replied: of(|flow| &flow.replied),
            replied_again: Some(of(|flow| &flow.replied_again)),
            malformed: self.malformed.load(Ordering::Relaxed),
            elsewhere: Some(self.elsewhere.load(Ordering::Relaxed)),
            limited_ns: Some(Nanos(self.held_back.load(Ordering::Relaxed))),
            user_ns: told.map(|told| told.cpu.user_ns),
            system_ns: told.map(|told| told.cpu.system_ns),
            dropped: sockets.and_then(|end| end.dropped),
            receive_buffer_bytes: sockets.and_then(|end| end.receive_buffer),
            streams,
            cpu: cpu.flatten(),
            ..Report::default()
        }
    }
}

impl Shares for Session {
    fn take(&self, load: Load, now: Instant) -> Instant {
        self.budgets.iter().map(|budget| budget.take(load, now)).max().unwrap_or(now)
    }

    fn hold_back(&self, until: Instant) {
        let now = Monotonic::now();
        self.over.wait(until);
        self.held_back(Monotonic::now().since(now).unwrap_or_default());
    }
}

/// Cause for which the reflector ends a session that its client did not close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overdue {
    /// It lasted longer than agreed on.
    Duration,
    /// Nothing was heard for too long.
    Idle,
    /// Another client needs its place.
    Place,
}
