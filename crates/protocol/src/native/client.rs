//! The client's end of a control connection, as a machine without I/O.
//!
//! The driver writes the octets of [`Client::outgoing`], hands in those that arrive ([`Client::feed`]) or that nothing will
//! ([`Client::ended`]), comes back at [`Client::deadline`] ([`Client::overdue`]), and takes events. The way is: preamble,
//! handshake where there is a key, open, then progress as often as wanted, close, report. An error is final: later calls
//! return it again. No input makes it panic, and memory is bounded by one frame and the octets fed.

use measure::authentication::Authentication;
use measure::unit::{Instant, Nanos};

use crate::native::conversation::{self, Conversation, Fed};
use crate::native::error::{SessionError, Step};
use crate::native::key::Secret;
use crate::native::message::{Ending, FromClient, FromServer, Notice, Open, Opened, Received, Report};
use crate::native::noise::{Handshake, Prologue};
use crate::native::preamble::{Answer, Control, Decline, Versions};
use crate::native::stranger::{NotSonde, Saw};

/// Longest wait for each of the server's answers: far above any round trip, and a person still waits for it.
pub const ANSWER: Nanos = Nanos::secs(10);

/// A server that would hear from us more often than this is not indulged.
const SHORTEST_KEEP_ALIVE: Nanos = Nanos::millis(50);

/// Event for the driver.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientEvent {
    /// The session is open: data may flow.
    Opened(Opened),
    /// Requests received so far, the answer to [`Client::progress`].
    Received(Received),
    /// The end, the answer to [`Client::close`].
    Report(Box<Report>),
}

/// The client's end.
#[derive(Debug)]
pub struct Client {
    talk: Conversation<Phase, ClientEvent>,
    open: Open,
    secret: Option<Secret>,
    preamble: Control,
    version: Option<u16>,
    /// The answer we wait for has to be here by then.
    due: Option<Instant>,
    idle: Option<Nanos>,
    spoke: Instant,
}

/// Where the session stands, once there is a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Opening,
    Running,
    Closing,
}

impl conversation::Phase for Phase {
    const FIRST: Self = Self::Opening;

    fn step(self) -> Step {
        match self {
            Self::Opening => Step::Open,
            Self::Running => Step::Run,
            Self::Closing => Step::Close,
        }
    }
}

impl Client {
    /// A client that will ask for `open`, keyed where there is a `secret`. Its preamble is ready to be written.
    pub fn new(open: Open, secret: Option<Secret>, now: Instant) -> Self {
        Self::with_versions(open, secret, Versions::OURS, now)
    }

    /// As [`Client::new`], speaking other versions than ours: for tests of the agreement.
    pub fn with_versions(open: Open, secret: Option<Secret>, versions: Versions, now: Instant) -> Self {
        let preamble = Control { versions, keyed: secret.as_ref().map(|secret| secret.proof.kind()) };
        Self {
            talk: Conversation::new(preamble.encode().to_vec()),
            open,
            secret,
            preamble,
            version: None,
            due: Some(now.after(ANSWER)),
            idle: None,
            spoke: now,
        }
    }

    /// Takes the octets to be written.
    pub fn outgoing(&mut self) -> Vec<u8> {
        self.talk.outgoing()
    }

    /// The next event.
    pub fn event(&mut self) -> Option<ClientEvent> {
        self.talk.event()
    }

    /// Returns the progress of the connection; [`Step::Done`] also after an error.
    pub fn step(&self) -> Step {
        self.talk.step()
    }

    /// The version agreed on; `None` before.
    pub fn version(&self) -> Option<u16> {
        self.version
    }

    /// Returns the latest instant at which to call [`Client::overdue`] and [`Client::keep_alive`]; `None`: nothing is due.
    pub fn deadline(&self) -> Option<Instant> {
        match (self.due, self.keep_alive_at()) {
            (Some(due), Some(keep)) => Some(due.min(keep)),
            (due, keep) => due.or(keep),
        }
    }

    /// Takes octets that arrived. Events before an error can still be taken.
    pub fn feed(&mut self, bytes: &[u8], now: Instant) -> Result<(), SessionError> {
        let fed = self.talk.feed(bytes).and_then(|fed| self.go_on(fed, now));
        self.settle(fed)
    }

    /// The other end closed the connection.
    pub fn ended(&mut self) -> Result<(), SessionError> {
        let closed = self.talk.closed().map_or(Ok(()), Err);
        self.settle(closed)
    }

    /// Checks that the server has time left for an answer; fails where it has used it up.
    pub fn overdue(&mut self, now: Instant) -> Result<(), SessionError> {
        if let Some(error) = self.talk.failure() {
            return Err(error.clone());
        }
        if self.due.is_none_or(|due| now < due) {
            return Ok(());
        }
        let late = || SessionError::Overdue { step: self.talk.step(), allowed: ANSWER };
        let error = self.talk.stranger(Saw::SILENCE).unwrap_or_else(late);
        self.settle(Err(error))
    }

    /// Asks how many requests came. False where the last answer has not come yet: nothing is asked then.
    pub fn progress(&mut self, now: Instant) -> Result<bool, SessionError> {
        if self.talk.phase() != Some(Phase::Running) {
            return Err(self.talk.misplaced("progress"));
        }
        if self.due.is_some() {
            return Ok(false);
        }
        self.due = Some(now.after(ANSWER));
        let result = self.say(&FromClient::Progress, now);
        self.settle(result).map(|()| true)
    }

    /// Asks for progress where a third of the time has passed after which the server takes us for dead.
    pub fn keep_alive(&mut self, now: Instant) -> Result<bool, SessionError> {
        match self.keep_alive_at() {
            Some(at) if now >= at => self.progress(now),
            _ => Ok(false),
        }
    }

    /// Ends the session; the report comes as an event.
    pub fn close(&mut self, now: Instant) -> Result<(), SessionError> {
        if self.talk.phase() != Some(Phase::Running) {
            return Err(self.talk.misplaced("close"));
        }
        self.due = Some(now.after(ANSWER));
        let said = self.say(&FromClient::Close, now);
        self.talk.enter(Phase::Closing);
        self.settle(said)
    }

    /// Gives up: the server is told why, where it can be. Nothing comes after.
    pub fn give_up(&mut self, reason: Ending, detail: &str, now: Instant) {
        let notice = Notice { reason, detail: detail.to_owned() };
        // A notice that cannot be framed makes no difference: the connection ends either way.
        let _ = self.say(&FromClient::Fault(notice), now);
        self.finish();
    }

    fn finish(&mut self) {
        self.talk.finish();
        self.due = None;
        self.idle = None;
    }

    fn keep_alive_at(&self) -> Option<Instant> {
        // While an answer is awaited, its deadline comes first.
        self.idle
            .filter(|_| self.due.is_none())
            .map(|idle| self.spoke.after(Nanos(idle.0 / 3).max(SHORTEST_KEEP_ALIVE)))
    }

    fn settle(&mut self, result: Result<(), SessionError>) -> Result<(), SessionError> {
        if let Err(error) = &result {
            self.finish();
            self.talk.fail(error.clone());
        }
        result
    }

    fn say(&mut self, message: &FromClient, now: Instant) -> Result<(), SessionError> {
        self.spoke = now;
        self.talk.say(message)
    }

    fn go_on(&mut self, fed: Fed, now: Instant) -> Result<(), SessionError> {
        match fed {
            Fed::Greeting => self.read_answer(now),
            Fed::Open => self.ask(now),
            Fed::Messages => self.read_messages(now),
            Fed::Nothing => Ok(()),
        }
    }

    fn read_answer(&mut self, now: Instant) -> Result<(), SessionError> {
        let Some((answer, length)) = Answer::read(self.talk.inbox())? else { return Ok(()) };
        if self.talk.inbox().starts_with(&self.preamble.encode()) {
            return Err(SessionError::NotSonde(NotSonde { saw: Saw::ECHO }));
        }
        let octets = self.talk.take_inbox();
        self.version = Some(self.check_answer(answer)?);
        let (answer, rest) = octets.split_at(length);
        self.due = Some(now.after(ANSWER));
        let fed = match (&self.secret, answer.first_chunk()) {
            (Some(secret), Some(answer)) => {
                let prologue = Prologue::new(self.preamble.encode(), *answer);
                self.talk.shake(|out| Handshake::initiate(secret, &prologue, out), rest)?
            }
            _ => self.talk.open(rest)?,
        };
        self.go_on(fed, now)
    }

    fn check_answer(&self, answer: Answer) -> Result<u16, SessionError> {
        let ours = self.preamble.versions;
        let version =
            answer.verdict.map_err(|decline| SessionError::Declined { decline, ours, theirs: answer.versions })?;
        if !ours.hold(version) {
            return Err(SessionError::Contradiction { detail: format!("version {version}, where we speak {ours}") });
        }
        let detail = match (self.preamble.keyed, answer.keyed) {
            (wanted, agreed) if wanted == agreed => return Ok(version),
            // A server of before identities takes one for a pre-shared key.
            (Some(Authentication::Identity), Some(_)) => {
                let decline = Decline::NoIdentityHere;
                return Err(SessionError::Declined { decline, ours, theirs: answer.versions });
            }
            (Some(_), None) => "our key is to be left aside",
            (Some(_), Some(_)) => "an identity is wanted after all",
            (None, _) => "a key is wanted after all",
        };
        Err(SessionError::Contradiction { detail: detail.to_owned() })
    }

    fn ask(&mut self, now: Instant) -> Result<(), SessionError> {
        self.due = Some(now.after(ANSWER));
        self.say(&FromClient::Open(self.open.clone()), now)?;
        self.read_messages(now)
    }

    fn read_messages(&mut self, now: Instant) -> Result<(), SessionError> {
        while let Some(text) = self.talk.message()? {
            let message: FromServer = serde_json::from_slice(&text)
                .map_err(|error| SessionError::Unreadable { detail: error.to_string() })?;
            self.take(message, now)?;
        }
        Ok(())
    }

    fn take(&mut self, message: FromServer, now: Instant) -> Result<(), SessionError> {
        match (message, self.talk.step()) {
            (FromServer::Opened(opened), Step::Open) => self.opened(opened, now),
            (FromServer::Refused(refused), Step::Open) => return Err(SessionError::Refused(refused)),
            (FromServer::Received(received), Step::Run | Step::Close) => {
                self.check_flows(received.received.len())?;
                if self.talk.step() == Step::Run {
                    self.due = None;
                }
                self.talk.tell(ClientEvent::Received(received));
            }
            (FromServer::Report(report), Step::Close) => {
                self.check_flows(report.received.len())?;
                self.check_flows(report.replied.len())?;
                self.talk.tell(ClientEvent::Report(report));
                self.finish();
            }
            (FromServer::Fault(notice), _) => return Err(SessionError::Fault(notice)),
            (FromServer::Unknown, _) => {}
            (FromServer::Opened(_), step) => return Err(SessionError::OutOfOrder { what: "opened", step }),
            (FromServer::Refused(_), step) => return Err(SessionError::OutOfOrder { what: "refused", step }),
            (FromServer::Received(_), step) => return Err(SessionError::OutOfOrder { what: "received", step }),
            (FromServer::Report(_), step) => return Err(SessionError::OutOfOrder { what: "report", step }),
        }
        Ok(())
    }

    fn opened(&mut self, opened: Opened, now: Instant) {
        self.talk.enter(Phase::Running);
        self.due = None;
        self.idle = Some(opened.got.idle_ns);
        self.spoke = now;
        self.talk.tell(ClientEvent::Opened(opened));
    }

    /// Counts for another number of flows than there are would be added up to a wrong number.
    fn check_flows(&self, counted: usize) -> Result<(), SessionError> {
        if counted == self.open.flows as usize {
            return Ok(());
        }
        let detail = format!("counts for {counted} flows, where there are {}", self.open.flows);
        Err(SessionError::Unreadable { detail })
    }
}
