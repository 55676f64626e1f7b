//! One control connection, to its end: reads the client's requests, runs them, answers.

use std::fmt::Display;
use std::net::SocketAddr;
use std::time::Duration;

use measure::served::{RefusalReason, SessionEnd};
use measure::unit::{Instant, Nanos};
use protocol::netperf::answer::{Calibration, Results, Traffic};
use protocol::netperf::ask::{Ask, Carrier};
use protocol::netperf::server::{Action, PASSPHRASE, Reason, Server};
use protocol::netperf::{MESSAGE, REST};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::{Socket, TcpKeepalive};

use super::Shared;
use super::data::{Errno as Refusal, Prepared, prepare};
use super::test::{self, Setting};
use crate::clock::Monotonic;
use crate::cpu_usage::{Snapshot, TICKS_PER_SECOND};
use crate::pace;
use crate::serve::book::Session;
use crate::serve::visits::Visit;
use crate::socket;
use crate::thread::{Pinned, pin};

/// Longest time for which a client may read nothing of an answer; then it counts as gone.
const ANSWER: Nanos = Nanos::secs(20);

/// Sets an accepted connection up; `false`: its client has gone again.
pub fn greet(connection: &Socket, from: SocketAddr, shared: &Shared) -> bool {
    match set_up(connection) {
        Ok(()) => shared.log(from, "connected"),
        Err(error) => {
            shared.log(from, format!("gone before it was served: {error}"));
            return false;
        }
    }
    true
}

/// Serves one connection to its end.
pub fn attend(connection: &Socket, from: SocketAddr, shared: &Shared, visit: &Visit) {
    pace::be_punctual();
    let rate = Snapshot::take().map(|now| Calibration { rate: Some(TICKS_PER_SECOND as f32), count: now.cpus() });
    let calibration = rate.unwrap_or(Calibration { rate: None, count: 0 });
    let server = Server::new(shared.settings.passphrase.clone(), calibration);
    let first_part = visit.spoke();
    Attendant { connection, from, shared, visit, server, first_part, partial_since: None, pinned: None }.run();
}

fn set_up(connection: &Socket) -> std::io::Result<()> {
    socket::set_glance(connection)?;
    // Else each answer would wait for the acknowledgement of the one before.
    connection.set_tcp_nodelay(true)?;
    // A client whose host is gone says nothing, as an idle one does: the system asks after it, gone after two minutes.
    let probing = TcpKeepalive::new().with_time(Duration::from_mins(1)).with_interval(Duration::from_secs(15));
    connection.set_tcp_keepalive(&probing.with_retries(4))
}

/// Adds the results of a test to the book.
fn note(session: &Session, ask: &Ask, results: &Results) {
    let bytes = |traffic: Option<Traffic>| traffic.map_or(0, |traffic| traffic.bytes);
    session.moved(bytes(results.received), bytes(results.sent));
    if let Some(transactions) = results.transactions.filter(|_| ask.is_transactions()) {
        session.answered(transactions);
    }
    session.ends(SessionEnd::Closed);
}

fn of_key_or_protocol(reason: Reason) -> RefusalReason {
    match reason {
        Reason::NoPassphrase | Reason::WrongPassphrase => RefusalReason::Key,
        Reason::Flood | Reason::OldClient | Reason::Stalled { .. } => RefusalReason::Protocol,
    }
}

fn of_limit_or_host(refusal: Refusal) -> RefusalReason {
    if refusal.0 == libc::ENOMEM { RefusalReason::Limit } else { RefusalReason::Unable }
}

/// The connection is at its end.
struct Ended;

struct Attendant<'a> {
    connection: &'a Socket,
    from: SocketAddr,
    shared: &'a Shared,
    visit: &'a Visit,
    server: Server,
    /// Since when a part of the first message is here, before any was read.
    first_part: Option<Instant>,
    /// Since when the rest of a message is due.
    partial_since: Option<Instant>,
    /// The client's thread, which runs its tests too, is bound until it goes, as a netserver's process is.
    pinned: Option<Pinned>,
}

impl Attendant<'_> {
    fn run(&mut self) {
        while !self.shared.hall.stop.requested() {
            let actions = match self.hear() {
                Ok(actions) => actions,
                Err(Ended) => return,
            };
            if self.perform(actions).is_err() {
                return;
            }
        }
    }

    /// Waits for something to do: what the client sent, or the end of our patience with it.
    fn hear(&mut self) -> Result<Vec<Action>, Ended> {
        let now = Monotonic::now();
        let rest = self.partial_since.map(|since| since.after(REST));
        let word = self.server.awaits_passphrase().then(|| self.visit.since().after(PASSPHRASE));
        let due = [rest, word].into_iter().flatten().min();
        if due.is_some_and(|due| now >= due) {
            return Ok(self.impatient(rest.is_some_and(|rest| now >= rest)));
        }
        self.shared.hall.stop.wait_or_input(self.connection, due.unwrap_or(Instant::NEVER));
        let mut buffer = [0; 4 * MESSAGE];
        let actions = match recv(self.connection, &mut buffer[..], RecvFlags::DONTWAIT) {
            Ok((0, _)) => {
                self.shared.log(self.from, "closed the connection");
                return Err(Ended);
            }
            Ok((count, _)) => self.server.feed(&buffer[..count]),
            Err(Errno::AGAIN | Errno::INTR) => return Ok(Vec::new()),
            Err(errno) => {
                self.shared.log(self.from, format!("lost: {}", std::io::Error::from(errno)));
                return Err(Ended);
            }
        };
        self.note_partial();
        Ok(actions)
    }

    fn impatient(&mut self, with_a_part: bool) -> Vec<Action> {
        if with_a_part {
            self.partial_since = None;
            return self.server.stale();
        }
        vec![Action::Close(Reason::NoPassphrase)]
    }

    /// A message whose first part is here is waited for from now on, if it was not before.
    fn note_partial(&mut self) {
        let since = self.first_part.take().or(self.partial_since);
        let partial = self.server.partial() > 0;
        self.partial_since = partial.then(|| since.unwrap_or_else(Monotonic::now));
    }

    fn perform(&mut self, actions: Vec<Action>) -> Result<(), Ended> {
        for action in actions {
            match action {
                Action::Answer(answer) => {
                    if let Some(nonsense) = self.server.nonsense() {
                        self.shared.log(self.from, format!("asked for a test that makes no sense: {nonsense}"));
                        self.book_refusal(RefusalReason::Protocol, &nonsense);
                    }
                    self.say(&answer)?;
                }
                Action::Close(reason) => {
                    self.shared.log(self.from, format!("the connection is closed: {reason}"));
                    self.book_refusal(of_key_or_protocol(reason), &reason);
                    return Err(Ended);
                }
                Action::Run(ask) => {
                    self.visit.known();
                    self.serve(&ask)?;
                    // Messages that arrived during the test are handled now.
                    let kept = self.server.feed(&[]);
                    self.note_partial();
                    self.perform(kept)?;
                }
            }
        }
        Ok(())
    }

    /// One test: set up, answered, run, and its results told; or an error number in place of either.
    fn serve(&mut self, ask: &Ask) -> Result<(), Ended> {
        self.shared.log(self.from, format!("asks for {}", test::name(ask)));
        self.bind_to(ask.server_cpu);
        let prepared = self.prepare(ask);
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(refusal) => {
                self.book_refusal(of_limit_or_host(refusal), &refusal);
                return self.refuse(refusal);
            }
        };
        let session = self.begin(ask);
        let ready = self.server.ready(&prepared.ready);
        self.say(&ready)?;
        let setting = Setting { ask, control: self.connection, from: self.from, stop: &self.shared.hall.stop };
        match test::run(prepared, &setting) {
            Ok(Some(results)) => {
                note(&session, ask, &results);
                let results = self.server.results(&results);
                self.say(&results)
            }
            Ok(None) => {
                if self.shared.hall.stop.requested() {
                    session.ends(SessionEnd::Stopping);
                }
                self.shared.log(self.from, "gone while its test ran");
                Err(Ended)
            }
            Err(refusal) => {
                session.ends(SessionEnd::Fault);
                self.refuse(refusal)
            }
        }
    }

    /// A test is a session in the book.
    fn begin(&self, ask: &Ask) -> Session {
        self.shared.settings.door.book.begin(self.from, ask.carrier == Carrier::Udp, || test::name(ask))
    }

    fn book_refusal(&self, reason: RefusalReason, why: &dyn Display) {
        self.shared.settings.door.book.refuse(Some(self.from), reason, why);
    }

    /// Binds to the CPU. A CPU that this host lacks does not end the test: a real netserver continues unbound.
    fn bind_to(&mut self, cpu: Option<u32>) {
        let Some(cpu) = cpu else { return };
        let bound = match self.pinned {
            Some(_) => pin(cpu),
            None => Pinned::to(cpu).map(|pinned| self.pinned = Some(pinned)),
        };
        if let Err(error) = bound {
            self.shared.log(self.from, format!("not bound to CPU {cpu}: {error}"));
        }
    }

    fn prepare(&self, ask: &Ask) -> Result<Prepared, Refusal> {
        let local = self.connection.local_addr().ok().and_then(|address| address.as_socket());
        prepare(ask, local, &self.shared.settings, &self.shared.memory)
    }

    fn refuse(&mut self, refusal: Refusal) -> Result<(), Ended> {
        self.shared.log(self.from, format!("its test cannot be done: {refusal}"));
        let answer = self.server.refuse(refusal.0);
        self.say(&answer)
    }

    fn say(&self, mut message: &[u8]) -> Result<(), Ended> {
        let give_up = Monotonic::now().after(ANSWER);
        while !message.is_empty() {
            match send(self.connection, message, SendFlags::NOSIGNAL) {
                Ok(count) => message = &message[count..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if Monotonic::now() < give_up && !self.shared.hall.stop.requested() => {}
                Err(errno) => {
                    self.shared.log(self.from, format!("cannot be answered: {}", std::io::Error::from(errno)));
                    return Err(Ended);
                }
            }
        }
        Ok(())
    }
}
