//! The server's end of a control connection, as a machine without I/O.
//!
//! The driver hands in octets that arrive ([`Server::feed`]) and takes the actions in order. After [`Action::Run`] it calls
//! [`Server::ready`], runs the test, and calls [`Server::results`]; or [`Server::refuse`] in place of either. Messages of
//! the client in the meantime are kept, and yield their actions with the next `feed`, of nothing if need be. No input makes it
//! panic; memory is bounded by the octets fed and [`AHEAD`] messages.

use measure::unit::Nanos;

use crate::netperf::answer::{Calibration, Ready, Results};
use crate::netperf::ask::{Ask, Dialect};
use crate::netperf::error::{INVALID, Nonsense, OLD_CLIENT, UNKNOWN_REQUEST};
use crate::netperf::inbox::Inbox;
use crate::netperf::kind::{self, Kind};
use crate::netperf::message::Message;
use crate::netperf::passphrase::{LONGEST, Passphrase};
use crate::netperf::{MESSAGE, OLD_MESSAGE, classic, omni};

/// Longest wait of a server with a passphrase for the client's first message. One without waits as long as it likes.
pub const PASSPHRASE: Nanos = Nanos::secs(20);
/// Whole messages that a client may send ahead while its test runs. A netperf sends none.
pub const AHEAD: usize = 2;

/// Action that the driver is to take.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Run this test: call [`Server::ready`] or [`Server::refuse`].
    Run(Box<Ask>),
    /// Write this.
    Answer(Vec<u8>),
    /// Close the connection, once all octets are written: nothing further will come.
    Close(Reason),
}

/// Reason why a server closes a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The first message is no passphrase, where the server has one.
    #[error("the client sent no passphrase, and this server requires one (-Z)")]
    NoPassphrase,
    /// The passphrase is another one.
    #[error("the client's passphrase differs from this server's (-Z)")]
    WrongPassphrase,
    /// The client sends on while its test runs.
    #[error("the client sent more than {AHEAD} messages ahead while its test ran")]
    Flood,
    /// The client's messages are the old, short ones.
    #[error("the client sends messages of {OLD_MESSAGE} octets instead of {MESSAGE}: a netperf older than 2.6")]
    OldClient,
    /// The rest of a message did not come.
    #[error("only {received} of {MESSAGE} octets of a message arrived")]
    Stalled {
        /// Octets that came of it.
        received: usize,
    },
}

/// The server's end.
#[derive(Debug)]
pub struct Server {
    passphrase: Option<Passphrase>,
    calibration: Calibration,
    inbox: Inbox,
    state: State,
    nonsense: Option<Nonsense>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Asked(Dialect),
    Running(Dialect),
    Closed,
}

impl Server {
    /// The machine of a connection that was just accepted: it insists on the passphrase where there is one, and tells who
    /// asks how this host's CPUs are counted.
    pub fn new(passphrase: Option<Passphrase>, calibration: Calibration) -> Self {
        Self { passphrase, calibration, inbox: Inbox::default(), state: State::Idle, nonsense: None }
    }

    /// Takes octets that arrived.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.state == State::Closed {
            return actions;
        }
        self.inbox.feed(bytes);
        while self.state == State::Idle {
            let Some(message) = self.inbox.message() else { break };
            actions.extend(self.take(&message));
        }
        if self.inbox.pending() > AHEAD * MESSAGE {
            actions.push(self.close(Reason::Flood));
        }
        actions
    }

    /// The response to the test last asked for; its data socket waits. A number too large for its field is sent as the
    /// largest. Nothing, where no test was asked for.
    pub fn ready(&mut self, ready: &Ready) -> Vec<u8> {
        let State::Asked(dialect) = self.state else { return Vec::new() };
        self.state = State::Running(dialect);
        match dialect {
            Dialect::Omni => omni::write_ready(ready),
            Dialect::Classic(test) => classic::write_ready(ready, test),
        }
        .to_vec()
    }

    /// The results of the test that runs; then the client may ask again. Nothing, where no test runs.
    pub fn results(&mut self, results: &Results) -> Vec<u8> {
        let State::Running(dialect) = self.state else { return Vec::new() };
        self.state = State::Idle;
        match dialect {
            Dialect::Omni => omni::write_results(results),
            Dialect::Classic(test) => classic::write_results(results, test),
        }
        .to_vec()
    }

    /// In place of a response or of results: this system's error number, which a netperf shows by its own system's text.
    /// Then the client may ask again. Nothing, where no test was asked for.
    pub fn refuse(&mut self, code: i32) -> Vec<u8> {
        let number = match self.state {
            State::Asked(dialect) => dialect.response(),
            State::Running(dialect) => dialect.results(),
            State::Idle | State::Closed => return Vec::new(),
        };
        self.state = State::Idle;
        Message::new(number, code as u32).to_vec()
    }

    /// Returns true where the passphrase is still to come, for which there is no more than [`PASSPHRASE`].
    pub fn awaits_passphrase(&self) -> bool {
        self.passphrase.is_some()
    }

    /// Octets that came of a message whose rest is due within [`REST`](super::REST), then [`Server::stale`]. None while a test
    /// is asked for or runs.
    pub fn partial(&self) -> usize {
        if self.state == State::Idle { self.inbox.pending() } else { 0 }
    }

    /// Returns the actions where the rest of a message will not come. An old client, whose messages are all that short,
    /// is told so by one that it understands. Nothing to do between messages: how long a client may be idle is the
    /// driver's to say.
    pub fn stale(&mut self) -> Vec<Action> {
        match self.partial() {
            0 => Vec::new(),
            received if received % OLD_MESSAGE != 0 => vec![self.close(Reason::Stalled { received })],
            _ => {
                let number = self.inbox.first_word().unwrap_or_default().wrapping_add(1);
                let mut answer = Message::new(number, OLD_CLIENT as u32).to_vec();
                answer.truncate(OLD_MESSAGE);
                vec![Action::Answer(answer), self.close(Reason::OldClient)]
            }
        }
    }

    /// Takes the fault of the last request that was answered by [`INVALID`]: for the server's log.
    pub fn nonsense(&mut self) -> Option<Nonsense> {
        self.nonsense.take()
    }

    fn close(&mut self, reason: Reason) -> Action {
        self.state = State::Closed;
        self.inbox.clear();
        Action::Close(reason)
    }

    fn take(&mut self, message: &Message) -> Option<Action> {
        let kind = Kind::of(message.word(0));
        if let Some(passphrase) = self.passphrase.take() {
            return match kind {
                Some(Kind::Passphrase) if passphrase.is(message.text(8, LONGEST + 1)) => None,
                Some(Kind::Passphrase) => Some(self.close(Reason::WrongPassphrase)),
                _ => Some(self.close(Reason::NoPassphrase)),
            };
        }
        let answer = match kind {
            Some(Kind::Passphrase) => return None,
            Some(Kind::Test(dialect)) => match read_ask(message, dialect) {
                Ok(ask) => {
                    self.state = State::Asked(dialect);
                    return Some(Action::Run(Box::new(ask)));
                }
                Err(nonsense) => {
                    self.nonsense = Some(nonsense);
                    Message::new(dialect.response(), INVALID as u32)
                }
            },
            Some(Kind::Debug) => Message::new(kind::DEBUG_ANSWER, 0),
            Some(Kind::Calibrate) => kind::write_calibration(self.calibration),
            Some(Kind::System) => kind::system(),
            None => Message::new(0, UNKNOWN_REQUEST as u32),
        };
        Some(Action::Answer(answer.to_vec()))
    }
}

fn read_ask(message: &Message, dialect: Dialect) -> Result<Ask, Nonsense> {
    match dialect {
        Dialect::Omni => omni::read_ask(message),
        Dialect::Classic(test) => classic::read_ask(message, test),
    }
}
