//! The server's end of a connection that was just accepted, as a machine without I/O.
//!
//! Every TCP connection to the one port starts here, for only its preamble shows its kind. A data connection leaves as
//! [`ServerEvent::Data`], with the octets that came behind the preamble in [`Server::unread`]; the driver answers it by
//! a [`super::preamble::DataAnswer`]. A control connection continues: handshake, [`ServerEvent::Open`] once the request
//! passed the limits (the driver then calls [`Server::accept`] or [`Server::refuse`]), progress and close as the client
//! asks. An error is final, and the message about it to the client is already in [`Server::outgoing`]. No input makes it
//! panic; memory is bounded by one frame, the octets fed, and [`OUTBOX`].

use std::collections::BTreeSet;

use measure::environment::Environment;
use measure::unit::{Instant, Nanos};

use crate::native::conversation::{self, Conversation, Fed};
use crate::native::error::{SessionError, Step};
use crate::native::header::Token;
use crate::native::key::Keyring;
use crate::native::limits::Limits;
use crate::native::message::{
    Ending, FromClient, FromServer, Got, Notice, Open, Opened, Reason, Received, Refused, Report,
};
use crate::native::noise::{Handshake, Prologue};
use crate::native::preamble::{Answer, Control, Data, Decline, Greeting, Versions};
use crate::native::stranger::Saw;
use crate::native::stream;

/// Longest wait for each step of a client up to its request to open.
pub const STEP: Nanos = Nanos::secs(10);
/// Octets that may wait to be written: a client that asks on and on without reading is cut off.
pub const OUTBOX: usize = 1 << 20;

/// Terms that a server offers every client.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Name and version of the program.
    pub program: String,
    /// The versions it speaks.
    pub versions: Versions,
    /// Its capabilities beyond version 1, by the names of [`super::message::capability`].
    pub capabilities: BTreeSet<String>,
    /// Its bounds.
    pub limits: Limits,
    /// True where it answers UDP on the same port.
    pub udp: bool,
    /// The keys, one of which it insists on, with fresh random octets for this connection; absent: it has none.
    pub keyring: Option<Keyring>,
    /// Declines every control connection, where it is full or going down.
    pub decline: Option<Decline>,
}

/// Event for the driver.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerEvent {
    /// This is a data connection: the machine is done with it.
    Data(Data),
    /// A session is asked for, within the limits: call [`Server::accept`] or [`Server::refuse`].
    Open(Open),
    /// Counts are asked for: call [`Server::received`].
    Progress,
    /// The session is to end: call [`Server::report`].
    Close,
}

/// The server's end.
#[derive(Debug)]
pub struct Server {
    talk: Conversation<Phase, ServerEvent>,
    terms: Terms,
    /// The client's next step has to be done by then.
    due: Option<Instant>,
    session: Option<Session>,
    /// Counts are asked for and not yet told: a client asks one question at a time.
    asked: bool,
    agreed: Option<u16>,
}

/// The session's bounds in time.
#[derive(Clone, Copy, Debug)]
struct Session {
    ends: Instant,
    duration: Nanos,
    idle: Nanos,
    heard: Instant,
}

/// Where the session stands, once there is a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Waiting for the request to open; then for the driver's decision.
    Opening,
    Deciding,
    Running,
    Closing,
}

impl conversation::Phase for Phase {
    const FIRST: Self = Self::Opening;

    fn step(self) -> Step {
        match self {
            Self::Opening | Self::Deciding => Step::Open,
            Self::Running => Step::Run,
            Self::Closing => Step::Close,
        }
    }
}

impl Server {
    /// The machine of a connection that was accepted at `now`.
    pub fn new(terms: Terms, now: Instant) -> Self {
        Self {
            talk: Conversation::new(Vec::new()),
            terms,
            due: Some(now.after(STEP)),
            session: None,
            asked: false,
            agreed: None,
        }
    }

    /// Takes the octets to be written.
    pub fn outgoing(&mut self) -> Vec<u8> {
        self.talk.outgoing()
    }

    /// The next event.
    pub fn event(&mut self) -> Option<ServerEvent> {
        self.talk.event()
    }

    /// Takes the octets that came behind the preamble of a data connection.
    pub fn unread(&mut self) -> Vec<u8> {
        self.talk.take_inbox()
    }

    /// The version agreed on; `None` before.
    pub fn version(&self) -> Option<u16> {
        self.agreed
    }

    /// The number of the key that the client proved by its first sealed message, in the keyring's order; `None` before, and where
    /// none is wanted.
    pub fn holder(&self) -> Option<usize> {
        self.talk.holder()
    }

    /// Tells the client of narrower bounds than all have: those of the key that it proved. Before [`Server::accept`].
    pub fn narrow(&mut self, limits: Limits) {
        self.terms.limits = limits;
    }

    /// Returns the progress of the connection; [`Step::Done`] also after an error.
    pub fn step(&self) -> Step {
        self.talk.step()
    }

    /// Returns the latest instant at which to call [`Server::overdue`]; `None`: nothing is due.
    pub fn deadline(&self) -> Option<Instant> {
        self.session.map(|session| session.ends.min(session.heard.after(session.idle))).or(self.due)
    }

    /// Takes octets that arrived. Events before an error can still be taken.
    pub fn feed(&mut self, bytes: &[u8], now: Instant) -> Result<(), SessionError> {
        let fed = self.talk.feed(bytes).and_then(|fed| self.go_on(fed, now));
        self.settle(fed)
    }

    /// The client closed the connection.
    pub fn ended(&mut self) -> Result<(), SessionError> {
        let closed = self.talk.closed().map_or(Ok(()), Err);
        self.settle(closed)
    }

    /// Data of the session came: it is not idle.
    pub fn touch(&mut self, now: Instant) {
        if let Some(session) = &mut self.session {
            session.heard = session.heard.max(now);
        }
    }

    /// Checks that the client has time left: for its next step, for silence, and for the session; fails where it has used it up.
    pub fn overdue(&mut self, now: Instant) -> Result<(), SessionError> {
        if let Some(error) = self.talk.failure() {
            return Err(error.clone());
        }
        let overdue = |allowed| SessionError::Overdue { step: self.talk.step(), allowed };
        let (error, ending) = match self.session {
            Some(session) if now >= session.ends => {
                (SessionError::Outlived { allowed: session.duration }, Ending::Duration)
            }
            Some(session) if now >= session.heard.after(session.idle) => (overdue(session.idle), Ending::Idle),
            Some(_) => return Ok(()),
            None if self.due.is_none_or(|due| now < due) => return Ok(()),
            None => (self.talk.stranger(Saw::SILENCE).unwrap_or_else(|| overdue(STEP)), Ending::Idle),
        };
        self.tell(ending, &error.to_string());
        self.settle(Err(error))
    }

    /// Opens the session under this name, from `now` on; `got` holds the reflector's settings in effect, and its times
    /// bound the session.
    pub fn accept(&mut self, token: Token, got: Got, now: Instant) -> Result<(), SessionError> {
        if self.talk.phase() != Some(Phase::Deciding) {
            return Err(self.talk.misplaced("accept"));
        }
        self.due = None;
        self.session = Some(Session {
            ends: now.after(got.duration_ns),
            duration: got.duration_ns,
            idle: got.idle_ns,
            heard: now,
        });
        let opened = Opened {
            token,
            program: self.terms.program.clone(),
            udp: self.terms.udp,
            capabilities: self.terms.capabilities.clone(),
            limits: self.terms.limits,
            got,
        };
        let said = self.talk.say(&FromServer::Opened(opened));
        self.talk.enter(Phase::Running);
        // The client may have spoken on behind its request.
        let read = said.and_then(|()| self.read_messages(now));
        self.settle(read)
    }

    /// Declines the session that was asked for; the connection is done.
    pub fn refuse(&mut self, refused: Refused) -> Result<(), SessionError> {
        if self.talk.phase() != Some(Phase::Deciding) {
            return Err(self.talk.misplaced("refuse"));
        }
        let said = self.talk.say(&FromServer::Refused(refused));
        self.finish();
        self.settle(said)
    }

    /// Answers [`ServerEvent::Progress`].
    pub fn received(&mut self, received: Vec<u64>) -> Result<(), SessionError> {
        if !self.asked || self.talk.phase().is_none() {
            return Err(self.talk.misplaced("received"));
        }
        self.asked = false;
        let said = self.talk.say(&FromServer::Received(Received { received }));
        self.settle(said)
    }

    /// Answers [`ServerEvent::Close`]; the connection is done. An environment too long for a frame is left out, and
    /// says so.
    pub fn report(&mut self, report: Report) -> Result<(), SessionError> {
        if self.talk.phase() != Some(Phase::Closing) {
            return Err(self.talk.misplaced("report"));
        }
        let mut report = report;
        let mut said = self.talk.say(&FromServer::Report(Box::new(report.clone())));
        while matches!(said, Err(SessionError::Frame(_))) && shorten(&mut report) {
            said = self.talk.say(&FromServer::Report(Box::new(report.clone())));
        }
        self.finish();
        self.settle(said)
    }

    /// Ends the connection unasked, telling the client why where it can be told.
    pub fn stop(&mut self, ending: Ending, detail: &str) {
        self.tell(ending, detail);
        self.finish();
    }

    fn finish(&mut self) {
        self.talk.finish();
        self.due = None;
        self.session = None;
    }

    fn settle(&mut self, result: Result<(), SessionError>) -> Result<(), SessionError> {
        if let Err(error) = &result {
            self.finish();
            self.talk.fail(error.clone());
        }
        result
    }

    /// Sends a last message. One that cannot be framed makes no difference: the connection ends either way.
    fn tell(&mut self, reason: Ending, detail: &str) {
        let _ = self.talk.say(&FromServer::Fault(Notice { reason, detail: detail.to_owned() }));
    }

    fn go_on(&mut self, fed: Fed, now: Instant) -> Result<(), SessionError> {
        match fed {
            Fed::Greeting => self.greet(now),
            Fed::Open => {
                self.due = Some(now.after(STEP));
                self.read_messages(now)
            }
            Fed::Messages => self.read_messages(now),
            Fed::Nothing => Ok(()),
        }
    }

    fn greet(&mut self, now: Instant) -> Result<(), SessionError> {
        let Some((greeting, length)) = Greeting::read(self.talk.inbox())? else { return Ok(()) };
        let control = match greeting {
            Greeting::Control(control) => control,
            Greeting::Data(data) => {
                self.talk.drop_read(length);
                self.talk.tell(ServerEvent::Data(data));
                self.finish();
                return Ok(());
            }
            Greeting::Unknown { .. } => {
                let nothing = Versions { lowest: 0, highest: 0 };
                return self.answer(Control { versions: nothing, keyed: None }, Some(Decline::UnknownKind)).map(drop);
            }
        };
        let answer = self.answer(control, self.terms.decline)?;
        let octets = self.talk.take_inbox();
        let (preamble, rest) = octets.split_at(length);
        self.due = Some(now.after(STEP));
        let fed = match (self.terms.keyring.take(), control.keyed, preamble.first_chunk()) {
            (Some(keyring), Some(kind), Some(preamble)) => {
                let prologue = Prologue::new(*preamble, answer.encode());
                self.talk.shake(|_| Ok(Handshake::respond(keyring, kind, &prologue)), rest)?
            }
            _ => self.talk.open(rest)?,
        };
        self.go_on(fed, now)
    }

    fn answer(&mut self, control: Control, decline: Option<Decline>) -> Result<Answer, SessionError> {
        let ours = self.terms.versions;
        let accepted = self.terms.keyring.as_ref().map_or(&[][..], Keyring::accepted);
        let mut answer = Answer::to(control, ours, accepted);
        if let Some(decline) = decline {
            answer.verdict = Err(decline);
        }
        self.talk.write(&answer.encode());
        self.agreed = answer.verdict.ok();
        match answer.verdict {
            Ok(_) => Ok(answer),
            Err(decline) => Err(SessionError::Declined { decline, ours, theirs: control.versions }),
        }
    }

    fn read_messages(&mut self, now: Instant) -> Result<(), SessionError> {
        // Messages that come while the driver decides wait for the decision.
        while self.talk.phase() != Some(Phase::Deciding) {
            let Some(text) = self.talk.message()? else { return Ok(()) };
            self.touch(now);
            match serde_json::from_slice::<FromClient>(&text) {
                Ok(message) => self.take(message)?,
                Err(error) => return Err(self.not_understood(&error)),
            }
            if self.talk.unwritten() > OUTBOX {
                return Err(SessionError::Flood);
            }
        }
        if self.talk.pending() > OUTBOX { Err(SessionError::Flood) } else { Ok(()) }
    }

    fn not_understood(&mut self, error: &serde_json::Error) -> SessionError {
        let detail = error.to_string();
        if self.talk.phase() == Some(Phase::Opening) {
            let hint = Some("are both ends of the same version?".to_owned());
            let refused = Refused { reason: Reason::NotUnderstood, detail: detail.clone(), hint };
            // A refusal that cannot be framed makes no difference: the connection ends either way.
            let _ = self.talk.say(&FromServer::Refused(refused));
        } else {
            self.tell(Ending::NotUnderstood, &detail);
        }
        SessionError::Unreadable { detail }
    }

    fn take(&mut self, message: FromClient) -> Result<(), SessionError> {
        let what = match (message, self.talk.step()) {
            (FromClient::Open(open), Step::Open) => return self.consider(open),
            (FromClient::Progress, Step::Run) if self.asked => return Err(SessionError::Flood),
            (FromClient::Progress, Step::Run) => {
                self.asked = true;
                self.talk.tell(ServerEvent::Progress);
                return Ok(());
            }
            (FromClient::Close, Step::Run) => {
                self.talk.tell(ServerEvent::Close);
                self.talk.enter(Phase::Closing);
                return Ok(());
            }
            (FromClient::Fault(notice), _) => return Err(SessionError::Fault(notice)),
            (FromClient::Unknown, _) => return Ok(()),
            (FromClient::Open(_), _) => "open",
            (FromClient::Progress, _) => "progress",
            (FromClient::Close, _) => "close",
        };
        let error = SessionError::OutOfOrder { what, step: self.talk.step() };
        self.tell(Ending::OutOfOrder, &error.to_string());
        Err(error)
    }

    fn consider(&mut self, open: Open) -> Result<(), SessionError> {
        if let Err(refused) = self.terms.limits.check(&open) {
            self.talk.say(&FromServer::Refused(refused.clone()))?;
            return Err(SessionError::Refused(refused));
        }
        self.due = None;
        self.talk.enter(Phase::Deciding);
        self.talk.tell(ServerEvent::Open(open));
        Ok(())
    }
}

/// Leaves a part of the report out: details of streams first, then parts without a bound. `false`: nothing is left to be left
/// out.
fn shorten(report: &mut Report) -> bool {
    if report.streams.as_mut().is_some_and(stream::shorten) {
        report.streams.take_if(|streams| streams.is_empty());
        return true;
    }
    let unread = vec!["environment: it did not fit into a message".to_owned()];
    if report.environment.unread == unread {
        return false;
    }
    let program = std::mem::take(&mut report.environment.program);
    report.environment = Environment { program, unread, ..Environment::default() };
    true
}
