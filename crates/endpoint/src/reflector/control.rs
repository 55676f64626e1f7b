//! A TCP connection to the reflector: a control connection is attended to its end, a data connection is answered.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use measure::method::{Carrier, Pattern};
use measure::unit::Instant;
use protocol::native::header::Token;
use protocol::native::key::Secret;
use protocol::native::message::{Ending, Got, Open, Reason, Refused, capability};
use protocol::native::preamble::{Data, DataAnswer, DataRefusal, Decline, Versions};
use protocol::native::server::{Server, ServerEvent, Terms};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use rustix::thread::CpuSet;
use socket2::Socket;

use super::Shared;
use super::answer::Answerer;
use super::session::{Overdue, Session};
use super::stream;
use crate::clock::Monotonic;
use crate::environment::Reader;
use crate::environment::watch::Watch;
use crate::link::stamping::Stamping;
use crate::link::stream::Stream;
use crate::random;
use crate::socket;
use crate::stop::GLANCE;
use crate::thread::{CpuTime, cpu_for, settle};

/// Serves one accepted connection to its end.
pub fn attend(connection: &Arc<Socket>, from: SocketAddr, shared: &Arc<Shared>) {
    let before = CpuTime::own();
    if connection.set_write_timeout(Some(GLANCE.into())).is_err() {
        return;
    }
    let Some(terms) = terms(shared) else { return };
    let mut attendant =
        Attendant { connection, shared, server: Server::new(terms, Monotonic::now()), session: None, watch: None };
    let data = attendant.run();
    attendant.forget();
    if let Some((data, unread)) = data {
        serve_data((connection, from), data, &unread, shared, before);
    }
}

fn terms(shared: &Shared) -> Option<Terms> {
    let settings = &shared.settings;
    let secret = match &settings.key {
        Some(key) => Some(Secret { key: key.clone(), ephemeral: random::bytes().ok()? }),
        None => None,
    };
    let full = shared.sessions.count() >= settings.limits.sessions;
    let decline = if shared.hall.stop.requested() { Some(Decline::Stopping) } else { full.then_some(Decline::Busy) };
    let mut capabilities: BTreeSet<String> =
        [capability::STAMPS, capability::BUSY_POLL, capability::CPUS, capability::STREAMS].map(str::to_owned).into();
    if shared.segments {
        capabilities.insert(capability::SEGMENTS.to_owned());
    }
    Some(Terms {
        program: settings.program.clone(),
        versions: Versions::OURS,
        capabilities,
        limits: settings.limits,
        udp: true,
        secret,
        decline,
    })
}

/// One control connection.
struct Attendant<'a> {
    connection: &'a Socket,
    shared: &'a Shared,
    server: Server,
    session: Option<Arc<Session>>,
    watch: Option<Watch>,
}

impl Attendant<'_> {
    /// Drives the connection to its end; `Some`: it is a data connection instead, and what came behind its preamble.
    fn run(&mut self) -> Option<(Data, Vec<u8>)> {
        let mut buffer = [0; 16 << 10];
        loop {
            self.wait();
            let fed = match recv(self.connection, &mut buffer[..], RecvFlags::DONTWAIT) {
                Ok((0, _)) => {
                    drop(self.server.ended());
                    return None;
                }
                Ok((count, _)) => self.server.feed(&buffer[..count], Monotonic::now()),
                Err(Errno::AGAIN | Errno::INTR) => Ok(()),
                Err(_) => return None,
            };
            while let Some(event) = self.server.event() {
                if let ServerEvent::Data(data) = event {
                    return Some((data, self.server.unread()));
                }
                self.handle(event);
            }
            let over = fed.is_err() || self.look_up() || self.server.step() == protocol::native::error::Step::Done;
            if over {
                // Before the client is told: what it is told has happened.
                self.forget();
            }
            if self.write().is_err() || over {
                return None;
            }
        }
    }

    /// The session's token is void from here on.
    fn forget(&mut self) {
        if let Some(session) = self.session.take() {
            self.shared.sessions.remove(&session.token);
        }
    }

    /// Waits for the client's next word, or until something is due: a thousand connections that say nothing cost no time.
    fn wait(&self) {
        let of_session = self.session.as_ref().map(|session| session.next_look(Monotonic::now()));
        let until = of_session.into_iter().chain(self.server.deadline()).min();
        self.shared.hall.stop.wait_or_input(self.connection, until.unwrap_or(Instant::NEVER));
    }

    fn write(&mut self) -> std::io::Result<()> {
        let out = self.server.outgoing();
        let mut rest = &out[..];
        let give_up = Monotonic::now().after(measure::unit::Nanos::secs(10));
        while !rest.is_empty() {
            match (&mut &*self.connection).write(rest) {
                Ok(count) => rest = &rest[count..],
                // A client that reads nothing is given up after a while.
                Err(error) if is_glance(&error) && Monotonic::now() < give_up && !self.shared.hall.stop.requested() => {
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// What is due without anything having come: `true` when the connection must end.
    fn look_up(&mut self) -> bool {
        let now = Monotonic::now();
        if self.shared.hall.stop.requested() {
            self.server.stop(Ending::Stopping, "the reflector is shutting down");
            return true;
        }
        if let Some(session) = &self.session {
            if session.stirred() {
                session.touch(now);
                self.server.touch(now);
            }
            if let Some(overdue) = session.overdue(now) {
                let (ending, words) = match overdue {
                    Overdue::Duration => (Ending::Duration, "the session lasted longer than agreed on"),
                    Overdue::Idle => (Ending::Idle, "nothing was heard of the session for too long"),
                };
                self.server.stop(ending, words);
                return true;
            }
        }
        self.server.overdue(now).is_err()
    }

    fn handle(&mut self, event: ServerEvent) {
        let now = Monotonic::now();
        if let Some(session) = &self.session {
            session.touch(now);
        }
        // An error of an answer ends the connection in the machine itself, which the loop sees.
        let _answered = match event {
            ServerEvent::Open(open) => self.open(open),
            ServerEvent::Progress => {
                let received = self.session.as_ref().map(|session| session.received()).unwrap_or_default();
                self.server.received(received)
            }
            ServerEvent::Close => self.close(),
            ServerEvent::Data(_) => Ok(()),
        };
    }

    fn open(&mut self, open: Open) -> Result<(), protocol::native::error::SessionError> {
        let got = match self.offer(&open) {
            Ok(got) => got,
            Err(refused) => return self.server.refuse(refused),
        };
        let Ok(token) = random::bytes().map(Token) else {
            return self.server.refuse(Refused {
                reason: Reason::Other,
                detail: "no random bytes to name a session".into(),
                hint: None,
            });
        };
        let version = self.server.version().unwrap_or(Versions::OURS.highest);
        let session = Arc::new(Session::new(token, version, open, got.clone()));
        session.over.follow(&self.shared.hall.stop);
        if !self.shared.sessions.add(Arc::clone(&session), self.shared.settings.limits.sessions) {
            let detail = format!("{} sessions are open, which is the limit", self.shared.settings.limits.sessions);
            return self.server.refuse(Refused {
                reason: Reason::Sessions,
                detail,
                hint: Some("try again when another measurement has ended".into()),
            });
        }
        self.session = Some(session);
        self.watch = Some(Watch::start(self.reader()));
        self.server.accept(token, got, Monotonic::now())
    }

    /// Of this host, and of the interface by which the client is reached.
    fn reader(&self) -> Reader {
        let reader = Reader::host(self.shared.settings.program.clone());
        let client = self.connection.peer_addr().ok().and_then(|address| address.as_socket());
        match client {
            Some(client) => reader.towards(client.ip().to_canonical()),
            None => reader,
        }
    }

    /// What the client will really get.
    fn offer(&self, open: &Open) -> Result<Got, Refused> {
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
        let limits = settings.limits;
        let batch = self.shared.batch(open);
        Ok(Got {
            waiting: open.waiting.unwrap_or(settings.waiting),
            cpus,
            // What came in one call has one arrival, which is not that of each.
            stamps: open.stamps && batch.is_none(),
            batch,
            duration_ns: open.duration_ns.map_or(limits.duration_ns, |wanted| wanted.min(limits.duration_ns)),
            idle_ns: open.idle_ns.min(limits.idle_ns),
        })
    }

    fn close(&mut self) -> Result<(), protocol::native::error::SessionError> {
        let mut report = self.session.as_ref().map(|session| session.finish()).unwrap_or_default();
        report.environment = match self.watch.take() {
            Some(watch) => watch.finish(),
            None => self.shared.environment.clone(),
        };
        self.server.report(report)
    }
}

fn is_glance(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut | std::io::ErrorKind::Interrupted
    )
}

/// A data connection: let in or refused by one octet, then answered. `before`: what its thread had used when it came.
fn serve_data(
    (connection, from): (&Arc<Socket>, SocketAddr),
    data: Data,
    unread: &[u8],
    shared: &Shared,
    before: CpuTime,
) {
    let (session, (thread, running)) = match admit(data, shared) {
        Ok(session) => {
            let thread = session.begin_thread();
            (session, thread)
        }
        Err(refusal) => {
            let _refused = (&mut &**connection).write(&[DataAnswer::Refused(refusal).code()]);
            return;
        }
    };
    let flow = &session.flows[usize::from(data.flow)];
    // What fails here is this connection: its client is told by its end.
    if session.open.pattern == Pattern::Stream {
        // It is told of once: no other has its flow.
        let _streamed = stream::serve(connection, from, &session, (data.flow, thread), unread, shared);
    } else {
        let place = session.sockets.enter(connection);
        let _answered = answer_stream(connection, from, &session, (data.flow, thread), unread, shared);
        session.sockets.leave(place);
    }
    session.end_thread(CpuTime::own().since(before), running);
    if session.open.pattern == Pattern::Exchange {
        flow.leave();
    }
}

fn admit(data: Data, shared: &Shared) -> Result<Arc<Session>, DataRefusal> {
    let session = shared.sessions.find(&data.token).ok_or(DataRefusal::UnknownToken)?;
    if session.version != data.version {
        return Err(DataRefusal::Version);
    }
    if session.open.carrier != Carrier::Tcp {
        return Err(DataRefusal::NotTcp);
    }
    let flow = session.flows.get(usize::from(data.flow)).ok_or(DataRefusal::FlowBeyond)?;
    // Connect + exchange opens one connection after another, the last of which may still be ending.
    if session.open.pattern != Pattern::ConnectExchange && !flow.take() {
        return Err(DataRefusal::FlowTaken);
    }
    Ok(session)
}

fn answer_stream(
    connection: &Socket,
    from: SocketAddr,
    session: &Session,
    (flow, thread): (u16, u32),
    unread: &[u8],
    shared: &Shared,
) -> std::io::Result<()> {
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
    let mut answerer = Answerer::new(link, session, flow, false, &shared.settings.behaviour);
    answerer.run();
    Ok(())
}
