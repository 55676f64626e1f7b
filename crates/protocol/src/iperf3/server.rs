//! The server's end of a control connection, as a machine without I/O.
//!
//! The driver reads the cookie, for it alone knows whose it is, and makes a machine for a new one. It hands in octets that arrive
//! ([`Server::feed`]), takes the actions in order, and writes the octets that the calls return. A call out of turn writes
//! nothing. Closed, it stays so. No input makes it panic; memory is bounded by [`LONGEST_CLIENT_RESULTS`] and grows with
//! octets that really came.

use crate::iperf3::code::Code;
use crate::iperf3::frame;
use crate::iperf3::parameters::Parameters;
use crate::iperf3::results::{Results, Unreadable};
use crate::iperf3::state::State;
use crate::iperf3::{LONGEST_CLIENT_RESULTS, LONGEST_PARAMETERS};

/// Action that the driver is to take.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Write this.
    Answer(Vec<u8>),
    /// The client asks for this test: call [`Server::accept`], or [`Server::fail`].
    Ask(Box<Parameters>),
    /// The client has ended the test: stop, and call [`Server::exchange`].
    End,
    /// Results of the client: call [`Server::results`].
    Results(Box<Results>),
    /// The client is content.
    Done,
    /// Close the connection, once all octets are written: nothing further will come.
    Close(Reason),
}

/// Reason why a server closes a connection before the end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// Parameters that cannot be read, or are out of bounds.
    #[error("{0}")]
    Parameters(Code),
    /// A message of no length, or of too large a one.
    #[error("a message of {length} octets instead of 1 to {most}")]
    Length {
        /// Its length.
        length: u32,
        /// Longest length allowed, octets.
        most: usize,
    },
    /// Results that cannot be read.
    #[error("{}: {_0}", Code::RESULTS)]
    Results(Unreadable),
    /// Results of other streams than there were.
    #[error("{}", Code::STREAM_ID)]
    Streams,
    /// No message of this protocol.
    #[error("{}: {_0}", Code::MESSAGE)]
    Unknown(u8),
    /// A message at the wrong time.
    #[error("the client sent {0:?} at the wrong time")]
    OutOfOrder(State),
    /// The client sends on while it is our turn.
    #[error("the client sent {0} octets out of turn")]
    Flood(usize),
    /// The client ended by itself.
    #[error("{}", Code::CLIENT_TERMINATED)]
    Terminated,
    /// We said that we cannot go on.
    #[error("{0}")]
    Failed(Code),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Greeting,
    Parameters,
    Asked,
    Streams,
    Running,
    Ended,
    Results,
    Telling,
    Last,
    Terminating,
    Closed,
}

/// The server's end.
#[derive(Debug)]
pub struct Server {
    step: Step,
    streams: usize,
    inbox: Vec<u8>,
}

impl Default for Server {
    fn default() -> Self {
        Self { step: Step::Greeting, streams: 0, inbox: Vec::new() }
    }
}

/// That the server is busy, or that a data connection's cookie is no test's: all that is written to it.
pub const DENIED: [u8; 1] = [State::AccessDenied.octet()];

impl Server {
    /// The cookie is here: the question for parameters.
    pub fn greet(&mut self) -> Vec<u8> {
        self.say(Step::Greeting, Step::Parameters, &[State::ParamExchange])
    }

    /// The test can be run: the word to open its streams. Their listener must be there already.
    pub fn accept(&mut self) -> Vec<u8> {
        self.say(Step::Asked, Step::Streams, &[State::CreateStreams])
    }

    /// All streams are there: go.
    pub fn start(&mut self) -> Vec<u8> {
        self.say(Step::Streams, Step::Running, &[State::TestStart, State::TestRunning])
    }

    /// All streams are stopped: the question for results.
    pub fn exchange(&mut self) -> Vec<u8> {
        self.say(Step::Ended, Step::Results, &[State::ExchangeResults])
    }

    /// Our results, and that they are complete.
    pub fn results(&mut self, results: &Results) -> Vec<u8> {
        if self.step != Step::Telling {
            return Vec::new();
        }
        self.step = Step::Last;
        let mut octets = frame::write(&results.write());
        octets.push(State::DisplayResults.octet());
        octets
    }

    /// We cannot go on, at whatever time before the end: why, and the system's error number or 0. Then the connection is to
    /// be closed.
    pub fn fail(&mut self, code: Code, errno: i32) -> Vec<u8> {
        if matches!(self.step, Step::Greeting | Step::Closed) {
            return Vec::new();
        }
        self.close();
        failure(code, errno)
    }

    /// We end by ourselves. The client answers that it is done, where the test ran.
    pub fn terminate(&mut self) -> Vec<u8> {
        match self.step {
            Step::Greeting | Step::Last | Step::Terminating | Step::Closed => Vec::new(),
            _ => {
                self.step = Step::Terminating;
                vec![State::ServerTerminate.octet()]
            }
        }
    }

    /// Octets that came of a message whose rest is due within [`REST`](super::REST).
    pub fn partial(&self) -> usize {
        if matches!(self.step, Step::Parameters | Step::Results) { self.inbox.len() } else { 0 }
    }

    /// Returns true where the client's next message is due, rather than ours or the end of a test.
    pub fn awaits_client(&self) -> bool {
        matches!(self.step, Step::Parameters | Step::Results | Step::Last | Step::Terminating)
    }

    /// Returns true where nothing further will come.
    pub fn is_closed(&self) -> bool {
        self.step == Step::Closed
    }

    /// Takes octets that arrived. Octets for later are kept, and yield their actions with the next `feed`, of nothing if need
    /// be.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.step == Step::Closed {
            return actions;
        }
        self.inbox.extend_from_slice(bytes);
        while let Some(taken) = self.next() {
            match taken {
                Ok(action) => actions.push(action),
                Err(mut last) => {
                    actions.append(&mut last);
                    break;
                }
            }
        }
        actions
    }

    fn say(&mut self, from: Step, to: Step, states: &[State]) -> Vec<u8> {
        if self.step != from {
            return Vec::new();
        }
        self.step = to;
        states.iter().map(|state| state.octet()).collect()
    }

    fn close(&mut self) {
        self.step = Step::Closed;
        self.inbox = Vec::new();
    }

    /// The connection is over: the actions that say so.
    fn broken(&mut self, reason: Reason) -> Vec<Action> {
        self.close();
        let answer = match &reason {
            Reason::Parameters(code) => Some(*code),
            Reason::Terminated => Some(Code::CLIENT_TERMINATED),
            _ => None,
        };
        let answer = answer.map(|code| Action::Answer(failure(code, 0)));
        answer.into_iter().chain([Action::Close(reason)]).collect()
    }

    /// Returns the next action that the octets here make due; an error is the last.
    fn next(&mut self) -> Option<Result<Action, Vec<Action>>> {
        match self.step {
            Step::Closed => None,
            Step::Parameters => self.framed(LONGEST_PARAMETERS, Self::take_parameters),
            Step::Results => self.framed(LONGEST_CLIENT_RESULTS, Self::take_results),
            // Our turn, and never for long.
            Step::Greeting | Step::Asked | Step::Ended | Step::Telling => {
                let waiting = self.inbox.len();
                (waiting > AHEAD).then(|| Err(self.broken(Reason::Flood(waiting))))
            }
            Step::Streams | Step::Running | Step::Last | Step::Terminating => {
                let (octet, rest) = self.inbox.split_first()?;
                let octet = *octet;
                self.inbox = rest.to_vec();
                Some(self.take(octet))
            }
        }
    }

    fn take(&mut self, octet: u8) -> Result<Action, Vec<Action>> {
        let Some(said) = State::of(octet) else { return Err(self.broken(Reason::Unknown(octet))) };
        match (said, self.step) {
            (State::TestEnd, Step::Running) => {
                self.step = Step::Ended;
                Ok(Action::End)
            }
            // The end of a test may cross our word that we terminate.
            (State::Done, Step::Last | Step::Terminating) | (State::TestEnd, Step::Terminating) => {
                self.close();
                Ok(Action::Done)
            }
            (State::ClientTerminate, _) => Err(self.broken(Reason::Terminated)),
            (said, _) => Err(self.broken(Reason::OutOfOrder(said))),
        }
    }

    fn framed(
        &mut self,
        most: usize,
        take: fn(&mut Self, &[u8]) -> Result<Action, Reason>,
    ) -> Option<Result<Action, Vec<Action>>> {
        let taken = match frame::read(&self.inbox, most) {
            Ok(None) => return None,
            Ok(Some((text, length))) => {
                let text = text.to_vec();
                self.inbox.drain(..length);
                take(self, &text)
            }
            // A client that gives up does so by one octet, wherever it is.
            Err(_) if self.inbox.first() == Some(&State::ClientTerminate.octet()) => Err(Reason::Terminated),
            Err(bad) => Err(Reason::Length { length: bad.length, most }),
        };
        Some(taken.map_err(|reason| self.broken(reason)))
    }

    fn take_parameters(&mut self, text: &[u8]) -> Result<Action, Reason> {
        let parameters = Parameters::read(text).map_err(Reason::Parameters)?;
        self.streams = (parameters.uploads() + parameters.downloads()) as usize;
        self.step = Step::Asked;
        Ok(Action::Ask(Box::new(parameters)))
    }

    fn take_results(&mut self, text: &[u8]) -> Result<Action, Reason> {
        let results = Results::read(text).map_err(Reason::Results)?;
        if !results.are_of(self.streams) {
            return Err(Reason::Streams);
        }
        self.step = Step::Telling;
        Ok(Action::Results(Box::new(results)))
    }
}

/// Octets that a client may send ahead of its turn: its results, behind the end of the test.
const AHEAD: usize = LONGEST_CLIENT_RESULTS + 4;

/// A word that we cannot go on, and its two numbers.
fn failure(code: Code, errno: i32) -> Vec<u8> {
    let mut octets = vec![State::ServerError.octet()];
    octets.extend(code.0.to_be_bytes());
    octets.extend(errno.to_be_bytes());
    octets
}
