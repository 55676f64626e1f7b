//! The server's end of a connection that was just accepted, as a machine without I/O.
//!
//! Every TCP connection to the one port starts here, for only its preamble tells what it is. A data connection leaves as
//! [`ServerEvent::Data`], with the octets that came behind the preamble in [`Server::unread`]; the driver answers it by
//! a [`super::preamble::DataAnswer`]. A control connection goes on: handshake, [`ServerEvent::Open`] once the request
//! passed the limits (the driver then calls [`Server::accept`] or [`Server::refuse`]), progress and close as the client
//! asks. An error is final, and what the client shall hear of it is already in [`Server::outgoing`]. No input makes it
//! panic; memory is bounded by one frame, what was fed, and [`OUTBOX`].

use std::collections::{BTreeSet, VecDeque};

use measure::environment::Environment;
use measure::unit::{Instant, Nanos};

use crate::native::channel::Channel;
use crate::native::error::{SessionError, Step};
use crate::native::header::Token;
use crate::native::key::Secret;
use crate::native::limits::Limits;
use crate::native::message::{
    Ending, FromClient, FromServer, Got, Notice, Open, Opened, Reason, Received, Refused, Report,
};
use crate::native::noise::{Handshake, Prologue};
use crate::native::preamble::{Answer, Control, Data, Decline, Greeting, Versions};
use crate::native::stranger::{NotSonde, Saw};

/// How long a client has for each step up to its request to open.
pub const STEP: Nanos = Nanos::secs(10);
/// Octets that may wait to be written: a client that asks on and on without reading is cut off.
pub const OUTBOX: usize = 1 << 20;
/// Events that may wait to be taken, for the same reason.
const EVENTS: usize = 4_096;

/// What a server offers every client.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Name and version of the program.
    pub program: String,
    /// The versions it speaks.
    pub versions: Versions,
    /// What it can do beyond version 1, by the names of [`super::message::capability`].
    pub capabilities: BTreeSet<String>,
    /// Its bounds.
    pub limits: Limits,
    /// Whether it answers UDP on the same port.
    pub udp: bool,
    /// The key it insists on, with fresh random octets for this connection; absent: it has none.
    pub secret: Option<Secret>,
    /// Declines every control connection, where it is full or going down.
    pub decline: Option<Decline>,
}

/// What the driver is told.
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
    state: State,
    terms: Terms,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    events: VecDeque<ServerEvent>,
    /// The client's next step has to be done by then.
    due: Option<Instant>,
    session: Option<Session>,
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

#[derive(Debug)]
enum State {
    Greeting,
    Shaking(Handshake),
    /// Waiting for the request to open; then for the driver's decision.
    Opening(Channel),
    Deciding(Channel),
    Running(Channel),
    Closing(Channel),
    Done,
    Failed(SessionError),
}

impl State {
    fn step(&self) -> Step {
        match self {
            Self::Greeting => Step::Greet,
            Self::Shaking(_) => Step::Handshake,
            Self::Opening(_) | Self::Deciding(_) => Step::Open,
            Self::Running(_) => Step::Run,
            Self::Closing(_) => Step::Close,
            Self::Done | Self::Failed(_) => Step::Done,
        }
    }

    fn channel(&mut self) -> Option<&mut Channel> {
        match self {
            Self::Opening(channel) | Self::Deciding(channel) | Self::Running(channel) | Self::Closing(channel) => {
                Some(channel)
            }
            _ => None,
        }
    }

    /// Moves the channel on into the next state; without one, the connection is done.
    fn advance(&mut self, next: fn(Channel) -> Self) {
        *self = match std::mem::replace(self, Self::Done) {
            Self::Opening(channel) | Self::Deciding(channel) | Self::Running(channel) | Self::Closing(channel) => {
                next(channel)
            }
            other => other,
        };
    }
}

impl Server {
    /// The machine of a connection that was accepted at `now`.
    pub fn new(terms: Terms, now: Instant) -> Self {
        Self {
            state: State::Greeting,
            terms,
            inbox: Vec::new(),
            outbox: Vec::new(),
            events: VecDeque::new(),
            due: Some(now.after(STEP)),
            session: None,
            agreed: None,
        }
    }

    /// What has to be written, once.
    pub fn outgoing(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.outbox)
    }

    /// The next event.
    pub fn event(&mut self) -> Option<ServerEvent> {
        self.events.pop_front()
    }

    /// What came behind the preamble of a data connection, once.
    pub fn unread(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.inbox)
    }

    /// The version agreed on; `None` before.
    pub fn version(&self) -> Option<u16> {
        self.agreed
    }

    /// How far the connection has come; [`Step::Done`] also after an error.
    pub fn step(&self) -> Step {
        self.state.step()
    }

    /// When to call [`Server::overdue`] at the latest; `None`: nothing is due.
    pub fn deadline(&self) -> Option<Instant> {
        self.session.map(|session| session.ends.min(session.heard.after(session.idle))).or(self.due)
    }

    /// Takes octets that arrived. Events before an error can still be taken.
    pub fn feed(&mut self, bytes: &[u8], now: Instant) -> Result<(), SessionError> {
        let result = match &mut self.state {
            State::Failed(error) => return Err(error.clone()),
            State::Done => return Ok(()),
            State::Greeting => {
                self.inbox.extend_from_slice(bytes);
                self.greet(now)
            }
            State::Shaking(_) => self.shake(bytes, now),
            State::Opening(channel) | State::Deciding(channel) | State::Running(channel) | State::Closing(channel) => {
                channel.feed(bytes).and_then(|()| self.read_messages(now))
            }
        };
        self.settle(result)
    }

    /// The client closed the connection.
    pub fn ended(&mut self) -> Result<(), SessionError> {
        let error = match &self.state {
            State::Done => return Ok(()),
            State::Failed(error) => return Err(error.clone()),
            State::Greeting => SessionError::NotSonde(NotSonde { saw: self.saw(Saw::CLOSED) }),
            state => SessionError::Closed { step: state.step() },
        };
        self.settle(Err(error))
    }

    /// Data of the session came: it is not idle.
    pub fn touch(&mut self, now: Instant) {
        if let Some(session) = &mut self.session {
            session.heard = session.heard.max(now);
        }
    }

    /// Whether the client has used up its time: for its next step, for silence, or for the session.
    pub fn overdue(&mut self, now: Instant) -> Result<(), SessionError> {
        let step = self.state.step();
        let (error, ending) = match (&self.state, self.session) {
            (State::Failed(error), _) => return Err(error.clone()),
            (_, Some(session)) if now >= session.ends => {
                (SessionError::Outlived { allowed: session.duration }, Ending::Duration)
            }
            (_, Some(session)) if now >= session.heard.after(session.idle) => {
                (SessionError::Overdue { step, allowed: session.idle }, Ending::Idle)
            }
            (_, Some(_)) => return Ok(()),
            _ if self.due.is_none_or(|due| now < due) => return Ok(()),
            (State::Greeting, _) => (SessionError::NotSonde(NotSonde { saw: self.saw(Saw::SILENCE) }), Ending::Idle),
            _ => (SessionError::Overdue { step, allowed: STEP }, Ending::Idle),
        };
        self.tell(ending, &error.to_string());
        self.settle(Err(error))
    }

    /// Opens the session under this name, from `now` on; `got` is what the reflector will really do, and its times
    /// bound the session.
    pub fn accept(&mut self, token: Token, got: Got, now: Instant) -> Result<(), SessionError> {
        if !matches!(self.state, State::Deciding(_)) {
            return Err(self.misplaced("accept"));
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
        let said = self.say(&FromServer::Opened(opened));
        self.state.advance(State::Running);
        // The client may have spoken on behind its request.
        let read = said.and_then(|()| self.read_messages(now));
        self.settle(read)
    }

    /// Declines the session that was asked for; the connection is done.
    pub fn refuse(&mut self, refused: Refused) -> Result<(), SessionError> {
        if !matches!(self.state, State::Deciding(_)) {
            return Err(self.misplaced("refuse"));
        }
        let said = self.say(&FromServer::Refused(refused));
        self.finish();
        self.settle(said)
    }

    /// Answers [`ServerEvent::Progress`].
    pub fn received(&mut self, received: Vec<u64>) -> Result<(), SessionError> {
        if !matches!(self.state, State::Running(_) | State::Closing(_)) {
            return Err(self.misplaced("received"));
        }
        let said = self.say(&FromServer::Received(Received { received }));
        self.settle(said)
    }

    /// Answers [`ServerEvent::Close`]; the connection is done. An environment too long for a frame is left out, and
    /// says so.
    pub fn report(&mut self, report: Report) -> Result<(), SessionError> {
        if !matches!(self.state, State::Closing(_)) {
            return Err(self.misplaced("report"));
        }
        let whole = self.say(&FromServer::Report(Box::new(report.clone())));
        let said = match whole {
            Err(SessionError::Frame(_)) => self.say(&FromServer::Report(Box::new(shorten(report)))),
            other => other,
        };
        self.finish();
        self.settle(said)
    }

    /// Ends the connection unasked, telling the client why where it can be told.
    pub fn stop(&mut self, ending: Ending, detail: &str) {
        self.tell(ending, detail);
        self.finish();
    }

    fn finish(&mut self) {
        if !matches!(self.state, State::Failed(_)) {
            self.state = State::Done;
        }
        self.due = None;
        self.session = None;
    }

    fn misplaced(&self, what: &'static str) -> SessionError {
        match &self.state {
            State::Failed(error) => error.clone(),
            state => SessionError::OutOfOrder { what, step: state.step() },
        }
    }

    fn saw(&self, nothing: Saw) -> Saw {
        if self.inbox.is_empty() { nothing } else { Saw::of(&self.inbox) }
    }

    fn settle(&mut self, result: Result<(), SessionError>) -> Result<(), SessionError> {
        if let Err(error) = &result {
            self.finish();
            self.state = State::Failed(error.clone());
        }
        result
    }

    fn say(&mut self, message: &FromServer) -> Result<(), SessionError> {
        let Some(channel) = self.state.channel() else { return Ok(()) };
        let text =
            serde_json::to_vec(message).map_err(|error| SessionError::Unreadable { detail: error.to_string() })?;
        channel.write(&text, &mut self.outbox)
    }

    /// A last word. Whether it could be framed makes no difference: the connection ends either way.
    fn tell(&mut self, reason: Ending, detail: &str) {
        let _ = self.say(&FromServer::Fault(Notice { reason, detail: detail.to_owned() }));
    }

    fn greet(&mut self, now: Instant) -> Result<(), SessionError> {
        let Some((greeting, length)) = Greeting::read(&self.inbox)? else { return Ok(()) };
        let control = match greeting {
            Greeting::Control(control) => control,
            Greeting::Data(data) => {
                self.inbox.drain(..length);
                self.events.push_back(ServerEvent::Data(data));
                self.finish();
                return Ok(());
            }
            Greeting::Unknown { .. } => {
                let nothing = Versions { lowest: 0, highest: 0 };
                return self.answer(Control { versions: nothing, keyed: false }, Some(Decline::UnknownKind)).map(drop);
            }
        };
        let answer = self.answer(control, self.terms.decline)?;
        let octets = std::mem::take(&mut self.inbox);
        let (preamble, rest) = octets.split_at(length);
        self.due = Some(now.after(STEP));
        if let (Some(secret), Some(preamble)) = (&self.terms.secret, preamble.first_chunk()) {
            let prologue = Prologue::new(*preamble, answer.encode());
            self.state = State::Shaking(Handshake::respond(secret, &prologue)?);
            self.shake(rest, now)
        } else {
            self.state = State::Opening(Channel::default());
            self.read_on(rest, now)
        }
    }

    fn answer(&mut self, control: Control, decline: Option<Decline>) -> Result<Answer, SessionError> {
        let ours = self.terms.versions;
        let mut answer = Answer::to(control, ours, self.terms.secret.is_some());
        if let Some(decline) = decline {
            answer.verdict = Err(decline);
        }
        self.outbox.extend_from_slice(&answer.encode());
        self.agreed = answer.verdict.ok();
        match answer.verdict {
            Ok(_) => Ok(answer),
            Err(decline) => Err(SessionError::Declined { decline, ours, theirs: control.versions }),
        }
    }

    fn shake(&mut self, bytes: &[u8], now: Instant) -> Result<(), SessionError> {
        let State::Shaking(handshake) = &mut self.state else { return Ok(()) };
        if !handshake.feed(bytes, &mut self.outbox)? {
            return Ok(());
        }
        let State::Shaking(handshake) = std::mem::replace(&mut self.state, State::Done) else { return Ok(()) };
        let (transport, rest) = handshake.finish()?;
        self.due = Some(now.after(STEP));
        self.state = State::Opening(Channel::sealed(transport));
        self.read_on(&rest, now)
    }

    fn read_on(&mut self, rest: &[u8], now: Instant) -> Result<(), SessionError> {
        if let Some(channel) = self.state.channel() {
            channel.feed(rest)?;
        }
        self.read_messages(now)
    }

    fn read_messages(&mut self, now: Instant) -> Result<(), SessionError> {
        // What comes while the driver decides waits for the decision.
        while let State::Opening(channel) | State::Running(channel) | State::Closing(channel) = &mut self.state {
            let Some(text) = channel.message()? else { break };
            self.touch(now);
            match serde_json::from_slice::<FromClient>(&text) {
                Ok(message) => self.take(message)?,
                Err(error) => return Err(self.not_understood(&error)),
            }
            if self.outbox.len() > OUTBOX || self.events.len() > EVENTS {
                return Err(SessionError::Flood);
            }
        }
        match &self.state {
            State::Deciding(channel) if channel.pending() > OUTBOX => Err(SessionError::Flood),
            _ => Ok(()),
        }
    }

    fn not_understood(&mut self, error: &serde_json::Error) -> SessionError {
        let detail = error.to_string();
        if matches!(self.state, State::Opening(_)) {
            let hint = Some("are both ends of the same version?".to_owned());
            let refused = Refused { reason: Reason::NotUnderstood, detail: detail.clone(), hint };
            // Whether the refusal could be framed makes no difference: the connection ends either way.
            let _ = self.say(&FromServer::Refused(refused));
        } else {
            self.tell(Ending::NotUnderstood, &detail);
        }
        SessionError::Unreadable { detail }
    }

    fn take(&mut self, message: FromClient) -> Result<(), SessionError> {
        let what = match (message, self.state.step()) {
            (FromClient::Open(open), Step::Open) => return self.consider(open),
            (FromClient::Progress, Step::Run) => {
                self.events.push_back(ServerEvent::Progress);
                return Ok(());
            }
            (FromClient::Close, Step::Run) => {
                self.events.push_back(ServerEvent::Close);
                self.state.advance(State::Closing);
                return Ok(());
            }
            (FromClient::Fault(notice), _) => return Err(SessionError::Fault(notice)),
            (FromClient::Unknown, _) => return Ok(()),
            (FromClient::Open(_), _) => "open",
            (FromClient::Progress, _) => "progress",
            (FromClient::Close, _) => "close",
        };
        let error = SessionError::OutOfOrder { what, step: self.state.step() };
        self.tell(Ending::OutOfOrder, &error.to_string());
        Err(error)
    }

    fn consider(&mut self, open: Open) -> Result<(), SessionError> {
        if let Err(refused) = self.terms.limits.check(&open) {
            self.say(&FromServer::Refused(refused.clone()))?;
            return Err(SessionError::Refused(refused));
        }
        self.due = None;
        self.state.advance(State::Deciding);
        self.events.push_back(ServerEvent::Open(open));
        Ok(())
    }
}

/// The report without what has no bound.
fn shorten(mut report: Report) -> Report {
    let program = std::mem::take(&mut report.environment.program);
    let unread = vec!["environment: it did not fit into a message".to_owned()];
    report.environment = Environment { program, unread, ..Environment::default() };
    report
}
