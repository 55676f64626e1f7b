//! A TCP connection to the reflector: a control connection is attended to its end, a data connection is answered.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use measure::environment::Environment;
use measure::method::{Carrier, Pattern, Waiting};
use measure::served::{RefusalReason, SessionEnd};
use measure::unit::{Instant, Nanos};
use protocol::native::error::{SessionError, Step};
use protocol::native::header::Token;
use protocol::native::mac::DatagramKey;
use protocol::native::message::{Ending, Got, Open, Reason, Refused, capability};
use protocol::native::preamble::{Data, DataAnswer, DataRefusal, Decline, Versions};
use protocol::native::server::{OUTBOX, Server, ServerEvent, Terms};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::thread::CpuSet;
use socket2::Socket;

use super::Shared;
use super::exchange::{Exchange, Held};
use super::permit::{Offered, Permit};
use super::session::{Overdue, Session};
use super::stream;
use crate::clock::{self, Monotonic};
use crate::environment::Reader;
use crate::environment::watch::Watch;
use crate::facts::thread::ThreadFacts;
use crate::link::stamping::Stamping;
use crate::link::stream::Stream;
use crate::random;
use crate::serve::book::{self, Client};
use crate::serve::places::Place;
use crate::serve::sources::source;
use crate::socket;
use crate::stop::GLANCE;
use crate::thread::{CpuTime, cpu_for, settle};

/// Longest time for which a client may read nothing of the messages sent to it.
const UNREAD: Nanos = Nanos::secs(10);

/// A connection that was accepted, until it turns out to carry data or ends.
#[derive(Debug)]
pub struct Guest {
    /// Its socket.
    pub connection: Arc<Socket>,
    from: SocketAddr,
    shared: Arc<Shared>,
    server: Server,
    offered: Offered,
    session: Option<Arc<Session>>,
    /// The same in the book.
    entry: Option<book::Session>,
    /// Octets that came of it.
    heard: u64,
    /// Cause of its session's end, where no other comes first.
    how: SessionEnd,
    watch: Option<Watch>,
    /// The time that the yard's thread had been given by the scheduler when the session began.
    yard: Option<ThreadFacts>,
    /// Octets that the client has not read yet; `take_by` is their deadline.
    unwritten: Vec<u8>,
    take_by: Option<Instant>,
    /// Nothing is read any more: it is closed once all is written.
    ending: bool,
}

/// Next step after a turn.
#[derive(Debug)]
pub enum Turn {
    /// Nothing, until the client sends something or something is due.
    Wait,
    /// The connection has ended.
    Over,
    /// Something that takes a while.
    Work(Work),
}

/// Tasks that take longer than a turn.
#[derive(Debug)]
pub enum Work {
    /// It is a data connection: it is answered to its end.
    Data(Data),
    /// A session is asked for.
    Open(Open),
    /// The session's report is asked for.
    Close,
}

fn terms(shared: &Shared, offered: &Offered, from: SocketAddr) -> Option<Terms> {
    let settings = &shared.settings;
    let full = !shared.sessions.has_room(&settings.limits, from.ip(), !offered.is_keyed());
    let decline = if shared.hall.stop.requested() { Some(Decline::Stopping) } else { full.then_some(Decline::Busy) };
    let mut capabilities: BTreeSet<String> =
        [capability::STAMPS, capability::BUSY_POLL, capability::CPUS, capability::STREAMS, capability::DATAGRAM_AUTH]
            .map(str::to_owned)
            .into();
    if shared.segments {
        capabilities.insert(capability::SEGMENTS.to_owned());
    }
    Some(Terms {
        program: settings.program.clone(),
        versions: Versions::OURS,
        capabilities,
        limits: settings.limits,
        udp: true,
        keyring: offered.keyring().ok()?,
        decline,
    })
}

impl Guest {
    /// A connection that was just accepted; `None` where it cannot be served.
    pub fn new(connection: Arc<Socket>, from: SocketAddr, shared: &Arc<Shared>) -> Option<Self> {
        connection.set_write_timeout(Some(GLANCE.into())).ok()?;
        let offered = shared.settings.permits.offered();
        let server = Server::new(terms(shared, &offered, from)?, Monotonic::now());
        Some(Self {
            connection,
            from,
            shared: Arc::clone(shared),
            server,
            offered,
            session: None,
            entry: None,
            heard: 0,
            how: SessionEnd::Lost,
            watch: None,
            yard: None,
            unwritten: Vec::new(),
            take_by: None,
            ending: false,
        })
    }

    /// Source it belongs to: see [`source`].
    pub fn source(&self) -> IpAddr {
        source(self.from.ip())
    }

    /// Returns true until the client has opened a session.
    pub fn is_stranger(&self) -> bool {
        self.session.is_none()
    }

    /// Returns true where octets wait for the client to read them.
    pub fn has_unwritten(&self) -> bool {
        !self.unwritten.is_empty()
    }

    /// Returns the time of its next turn where nothing arrives before.
    pub fn due(&self, now: Instant) -> Instant {
        let of_session = self.session.as_ref().map(|session| session.next_look(now));
        of_session.into_iter().chain(self.server.deadline()).chain(self.take_by).min().unwrap_or(Instant::NEVER)
    }

    /// Attends to it on a separate thread until its kind is known: the data connection of a client that has a session
    /// is answered by the thread that waits for its first message.
    pub fn attend(mut self: Box<Self>, expected: Place) {
        let before = CpuTime::own();
        loop {
            self.shared.hall.stop.wait_or_input(&*self.connection, self.due(Monotonic::now()));
            match self.turn() {
                Turn::Wait if self.server.step() == Step::Greet => {}
                Turn::Wait => return Arc::clone(&self.shared).lobby.keep(self),
                Turn::Over => return,
                Turn::Work(work) => {
                    drop(expected);
                    return self.work(work, before);
                }
            }
        }
    }

    /// Takes what has come, and looks at what is due. Waits for nothing.
    pub fn turn(&mut self) -> Turn {
        let mut buffer = [0; 16 << 10];
        let fed = match recv(&*self.connection, &mut buffer[..], RecvFlags::DONTWAIT) {
            // Or we have shut it: nothing more is read from it, but the client receives the reason.
            Ok((0, _)) if self.session.as_ref().is_some_and(|session| session.gives_way()) => Ok(()),
            Ok((0, _)) => {
                drop(self.server.ended());
                return Turn::Over;
            }
            Ok(_) if self.ending => Ok(()),
            Ok((count, _)) => {
                self.heard += count as u64;
                self.server.feed(&buffer[..count], Monotonic::now())
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(()),
            Err(_) => return Turn::Over,
        };
        if let Err(error) = &fed {
            self.how = SessionEnd::Fault;
            if self.session.is_none() && !matches!(error, SessionError::Closed { .. }) {
                self.tell_refused(RefusalReason::Protocol, &error.to_string());
                self.shared.settings.book.count_senseless(self.heard);
            }
        }
        self.go_on(fed.is_err())
    }

    fn tell_refused(&self, reason: RefusalReason, why: &str) {
        self.shared.settings.book.refuse(Some(self.client()), reason, &why);
    }

    fn client(&self) -> Client<'_> {
        let permit = self.server.holder().and_then(|holder| self.offered.of(Some(holder)));
        Client { from: self.from, key: permit.and_then(|permit| permit.name.as_deref()) }
    }

    fn go_on(&mut self, failed: bool) -> Turn {
        while let Some(event) = self.server.event() {
            if let Some(session) = &self.session {
                session.touch(Monotonic::now());
            }
            match event {
                ServerEvent::Data(data) => return Turn::Work(Work::Data(data)),
                ServerEvent::Open(open) => return Turn::Work(Work::Open(open)),
                ServerEvent::Close => return Turn::Work(Work::Close),
                ServerEvent::Progress => {
                    let received = self.session.as_ref().map(|session| session.received()).unwrap_or_default();
                    // An error ends the connection in the machine itself, which is seen below.
                    let _answered = self.server.received(received);
                }
            }
        }
        if !self.ending && (failed || self.look_up() || self.server.step() == Step::Done) {
            self.ending = true;
            // Before the client is informed: the message is true when it arrives.
            self.forget();
        }
        if self.write() && !(self.ending && self.unwritten.is_empty()) { Turn::Wait } else { Turn::Over }
    }

    /// Does what takes a while, on a thread of the pool that had used `before` when this began; then it waits again.
    pub fn work(mut self: Box<Self>, work: Work, before: CpuTime) {
        let shared = Arc::clone(&self.shared);
        let here = shared.flows.take();
        let mut turn = Turn::Work(work);
        loop {
            // An error of an answer ends the connection in the machine itself.
            let _answered = match turn {
                Turn::Work(Work::Data(data)) => {
                    let unread = self.server.unread();
                    return serve_data((&self.connection, self.from), data, &unread, &shared, (before, here));
                }
                Turn::Work(Work::Open(open)) => self.open(open),
                Turn::Work(Work::Close) => self.close(),
                Turn::Wait => return shared.lobby.keep(self),
                Turn::Over => return,
            };
            turn = self.go_on(false);
        }
    }

    /// Ends it with the reflector: the client is informed, as far as it reads at once.
    pub fn dismiss(mut self: Box<Self>) {
        self.server.stop(Ending::Stopping, "the reflector is shutting down");
        self.how = SessionEnd::Stopping;
        self.forget();
        self.write();
    }

    /// Ends a connection whose place others need. A client that has had no answer yet receives the reason.
    pub fn turn_away(self: Box<Self>) {
        let why = "others needed its room: it had opened no session yet";
        self.tell_refused(RefusalReason::GaveWay, why);
        if self.server.step() == Step::Greet {
            super::turn_away(&self.connection, &self.shared);
        }
    }

    /// The session's token is void from here on.
    fn forget(&mut self) {
        let Some(session) = self.session.take() else { return };
        self.shared.sessions.remove(&session.token);
        let Some(entry) = self.entry.take() else { return };
        let (received, sent) = session.octets();
        entry.moved(received.0, sent.0);
        if let Some(answered) = session.answered() {
            entry.answered(answered);
        }
        entry.malformed(session.malformed.load(Ordering::Relaxed));
        entry.ends(self.how);
    }

    /// Writes what the client takes at once; `false`: it takes nothing any more.
    fn write(&mut self) -> bool {
        self.unwritten.append(&mut self.server.outgoing());
        let mut written = 0;
        while written < self.unwritten.len() {
            match send(&*self.connection, &self.unwritten[written..], SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(count) => {
                    written += count;
                    self.take_by = None;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => return false,
            }
        }
        self.unwritten.drain(..written);
        if self.unwritten.is_empty() {
            self.unwritten = Vec::new();
            return true;
        }
        let now = Monotonic::now();
        now < *self.take_by.get_or_insert(now.after(UNREAD)) && self.unwritten.len() <= OUTBOX
    }

    /// Does what is due although nothing arrived. Returns `true` when the connection must end.
    fn look_up(&mut self) -> bool {
        let now = Monotonic::now();
        if let Some(session) = &self.session {
            if session.stirred() {
                session.touch(now);
                self.server.touch(now);
            }
            if let Some(overdue) = session.overdue(now) {
                let (ending, words, how) = match overdue {
                    Overdue::Duration => {
                        (Ending::Duration, "the session lasted longer than agreed on", SessionEnd::Duration)
                    }
                    Overdue::Place => (
                        Ending::Other,
                        "the server is full, and another client needs this place: this address has most of them",
                        SessionEnd::GaveWay,
                    ),
                    Overdue::Idle => (Ending::Idle, "nothing was heard of the session for too long", SessionEnd::Idle),
                };
                self.how = how;
                self.server.stop(ending, words);
                return true;
            }
        }
        self.server.overdue(now).is_err()
    }

    fn open(&mut self, open: Open) -> Result<(), SessionError> {
        match self.admitted(open) {
            Ok(session) => {
                let (token, got, limits) = (session.token, session.got.clone(), session.permit.limits);
                self.entry = Some(self.shared.settings.book.begin_own(self.client(), &session.open));
                self.begin_watch(session.open.pattern);
                self.session = Some(session);
                self.server.narrow(limits.within(&self.shared.settings.limits));
                self.server.accept(token, got, Monotonic::now())
            }
            Err(refused) => {
                self.tell_refused(RefusalReason::Limit, &refused.to_string());
                self.server.refuse(refused)
            }
        }
    }

    /// The session that is asked for, where there is room for it and its client may have it.
    fn admitted(&self, open: Open) -> Result<Arc<Session>, Refused> {
        let other = |detail: &str| Refused { reason: Reason::Other, detail: detail.to_owned(), hint: None };
        let permit = self.offered.of(self.server.holder()).ok_or_else(|| other("no key was proved"))?;
        permit.check(&open, self.from.ip(), clock::wall())?;
        let got = self.offer(&open, permit)?;
        let token = random::bytes().map(Token).map_err(|_| no_random_bits())?;
        let version = self.server.version().unwrap_or(Versions::OURS.highest);
        let client = self.from.ip().to_canonical();
        let settings = &self.shared.settings;
        let session = Session::new(token, version, (open, got), client, permit).behaving(settings.behaviour);
        let session = if self.offered.is_keyed() { session } else { session.giving_way(Arc::clone(&self.connection)) };
        session.over.follow(&self.shared.hall.stop);
        self.shared.sessions.add(session, &settings.limits, settings.together)
    }

    /// Reader of the facts of this host, and of the interface by which the client is reached.
    fn reader(&self) -> Reader {
        let reader = Reader::host(self.shared.settings.program.clone());
        reader.towards(self.from.ip().to_canonical()).shared()
    }

    /// Returns the settings that the client gets in effect.
    fn offer(&self, open: &Open, permit: &Permit) -> Result<Got, Refused> {
        let settings = &self.shared.settings;
        let cpus = if open.cpus.is_empty() { settings.cpus.clone() } else { open.cpus.clone() };
        let allowed = rustix::thread::sched_getaffinity(None).ok();
        let missing = cpus
            .iter()
            .map(|cpu| *cpu as usize)
            .find(|cpu| *cpu >= CpuSet::MAX_CPU || allowed.as_ref().is_some_and(|set| !set.is_set(*cpu)));
        if let Some(cpu) = missing {
            let detail = format!("the reflector may not run on CPU {cpu}");
            return Err(Refused { reason: Reason::Cpus, detail, hint: None });
        }
        stream::can_be_asked(open)?;
        let limits = permit.limits.within(&settings.limits);
        let batch = self.shared.batch(open);
        let authentic = self.offered.is_keyed()
            && open.carrier == Carrier::Udp
            && open.capabilities.contains(capability::DATAGRAM_AUTH);
        let datagram_key = authentic.then(random::bytes).transpose().map(|key| key.map(DatagramKey));
        Ok(Got {
            datagram_key: datagram_key.map_err(|_| no_random_bits())?,
            waiting: match open.waiting {
                Some(Waiting::Spin | Waiting::BusyPoll { .. }) if !permit.spin => Waiting::Block,
                asked => asked.unwrap_or(settings.waiting),
            },
            cpus,
            // Messages that arrive in one call share one arrival time, which is not that of each.
            stamps: open.stamps && batch.is_none(),
            batch,
            duration_ns: open.duration_ns.map_or(limits.duration_ns, |wanted| wanted.min(limits.duration_ns)),
            idle_ns: open.idle_ns.min(limits.idle_ns),
        })
    }

    /// Looks at the host from here on. Threads tell of themselves where each serves for long; of the many of connect + exchange
    /// those count that live throughout.
    fn begin_watch(&mut self, pattern: Pattern) {
        self.watch = Some(if pattern == Pattern::ConnectExchange {
            Watch::start(self.reader())
        } else {
            Watch::start_without_threads(self.reader())
        });
        self.yard = self.shared.yard.facts();
    }

    /// Ends the watch of the host, once the session's threads have told what they saw; what happened since it began.
    fn end_watch(&mut self) -> Environment {
        let Some(mut watch) = self.watch.take() else { return Environment::default() };
        let Some(session) = &self.session else { return watch.finish() };
        let of_yard = || self.shared.yard.facts()?.since(self.yard.as_ref()?);
        let yard = session.has_rested().then(of_yard).flatten();
        session.span().into_iter().chain(yard).for_each(|span| watch.add(span));
        watch.finish()
    }

    fn close(&mut self) -> Result<(), SessionError> {
        let mut report = self.session.as_ref().map(|session| session.finish()).unwrap_or_default();
        let told = self.end_watch();
        let has_facts = self.session.as_ref().is_some_and(|session| session.permit.facts);
        report.environment = if has_facts { told } else { told.without_facts() };
        self.how = SessionEnd::Closed;
        self.server.report(report)
    }
}

/// No session without its secrets.
fn no_random_bits() -> Refused {
    let detail = "no random octets to name a session and to authenticate it".to_owned();
    Refused { reason: Reason::Other, detail, hint: None }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.forget();
    }
}

/// A data connection: let in or refused by one octet, then answered. `before`: what its thread had used when it came.
fn serve_data(
    (connection, from): (&Arc<Socket>, SocketAddr),
    data: Data,
    unread: &[u8],
    shared: &Arc<Shared>,
    (before, here): (CpuTime, Option<Place>),
) {
    let (session, (thread, running)) = match admit(data, from, shared) {
        Ok(session) => {
            let thread = session.begin_thread();
            (session, thread)
        }
        Err(refusal) => {
            let _refused = (&mut &**connection).write(&[DataAnswer::Refused(refusal).code()]);
            return;
        }
    };
    // A failure here concerns this connection alone: its client learns it from the connection's end.
    if session.open.pattern == Pattern::Stream {
        // It is reported once: no other connection has its flow.
        let _streamed = stream::serve(connection, from, &session, (data.flow, thread), unread, shared);
        session.used(CpuTime::own().since(before));
        drop(running);
    } else {
        let mut held = Held::new(session, data.flow, (Some(Arc::clone(connection)), false), (running, here));
        // Its client does not ask anything before it has its answer.
        held.look_at_thread();
        let _answered = answer_stream((connection, from), held, thread, unread, (shared, before));
    }
}

/// The session of a data connection. A token is of use only where the session's control connection comes from.
fn admit(data: Data, from: SocketAddr, shared: &Shared) -> Result<Arc<Session>, DataRefusal> {
    let session = shared.sessions.find(&data.token).ok_or(DataRefusal::UnknownToken)?;
    if from.ip().to_canonical() != session.client {
        return Err(DataRefusal::UnknownToken);
    }
    if session.version != data.version {
        return Err(DataRefusal::Version);
    }
    if session.open.carrier != Carrier::Tcp {
        return Err(DataRefusal::NotTcp);
    }
    let flow = session.flows.get(usize::from(data.flow)).ok_or(DataRefusal::FlowBeyond)?;
    // Connect + exchange opens one connection after another, the last of which may still be ending.
    if session.open.pattern != Pattern::ConnectExchange && flow.take(from.port()).is_err() {
        return Err(DataRefusal::FlowTaken);
    }
    Ok(session)
}

fn answer_stream(
    (connection, from): (&Socket, SocketAddr),
    held: Held,
    thread: u32,
    unread: &[u8],
    (shared, before): (&Arc<Shared>, CpuTime),
) -> std::io::Result<()> {
    let session = Arc::clone(held.session());
    connection.set_tcp_nodelay(true)?;
    let fail = |error: crate::error::EndpointError| std::io::Error::other(error.to_string());
    socket::set_waiting(connection, from, session.got.waiting).map_err(fail)?;
    let _pinned = settle(cpu_for(&session.got.cpus, thread), "reflector").map_err(fail)?;
    let connection = connection.try_clone()?;
    let lengths = (session.open.response_bytes.0 as usize, session.open.request_bytes.0 as usize);
    let stamping =
        if session.got.stamps { Stamping::prepare(std::os::fd::AsFd::as_fd(&connection)) } else { Stamping::default() };
    let mut link = Stream::new(connection, session.got.waiting, lengths, false, shared.hall.stop.clone());
    link.stamping = stamping;
    link.socket().write_all(&[DataAnswer::Accepted.code()])?;
    link.begin_with(unread);
    Exchange::new(link, held, Arc::clone(shared)).begin(&[], false, before);
    Ok(())
}
