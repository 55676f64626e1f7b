//! The client's end of a control connection, as a machine without I/O.
//!
//! The driver writes the cookie and then the octets that the calls return, hands in octets that arrive
//! ([`Client::feed`]), the other end's close ([`Client::ended`]), or too long a silence ([`Client::silent`]), and acts
//! on the events. A call out of turn writes nothing. An error of arrived octets is final: later calls return it again.
//! No input makes it panic; memory is bounded by [`LONGEST_SERVER_RESULTS`] and grows with octets that really came.

use measure::unit::Nanos;

use crate::iperf3::LONGEST_SERVER_RESULTS;
use crate::iperf3::code::Code;
use crate::iperf3::error::{Error, Step};
use crate::iperf3::frame;
use crate::iperf3::parameters::Parameters;
use crate::iperf3::results::Results;
use crate::iperf3::state::State;

/// Request or report of the server.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// It wants the parameters: call [`Client::parameters`].
    SendParameters,
    /// It wants the streams, one after the other.
    OpenStreams,
    /// It has all streams; nothing may be sent yet.
    MakeReady,
    /// The test runs. Call [`Client::end`] when it is over.
    Go,
    /// It wants our results: call [`Client::results`].
    SendResults,
    /// Its own.
    Results(Box<Results>),
    /// They are complete: close the streams and call [`Client::done`].
    Complete,
    /// The server ends by itself, for a signal, at whatever time: call [`Client::done`].
    ServerTerminated,
}

/// The client's end.
#[derive(Debug)]
pub struct Client {
    step: Step,
    /// True until the driver has made the call that is due; nothing is read before.
    owes: bool,
    /// True once the server said that it cannot go on: its numbers follow.
    failing: bool,
    /// Streams that there are, both ways.
    streams: usize,
    inbox: Vec<u8>,
    failed: Option<Error>,
}

impl Default for Client {
    fn default() -> Self {
        Self { step: Step::Greeting, owes: false, failing: false, streams: 0, inbox: Vec::new(), failed: None }
    }
}

impl Client {
    /// Returns the message that is awaited.
    pub fn step(&self) -> Step {
        self.step
    }

    /// Octets that came of a message whose rest is due within [`REST`](super::REST).
    pub fn partial(&self) -> usize {
        if self.owes { 0 } else { self.inbox.len() }
    }

    /// Answers the server's request for parameters.
    pub fn parameters(&mut self, parameters: &Parameters) -> Vec<u8> {
        if !self.owed(Step::Greeting) {
            return Vec::new();
        }
        self.streams = (parameters.uploads() + parameters.downloads()) as usize;
        self.step = Step::Streams;
        frame::write(&parameters.write())
    }

    /// The test is over.
    pub fn end(&mut self) -> Vec<u8> {
        self.say(State::TestEnd, self.step == Step::Run, Step::Exchange)
    }

    /// Our results, where the server wants them.
    pub fn results(&mut self, results: &Results) -> Vec<u8> {
        if !self.owed(Step::Exchange) {
            return Vec::new();
        }
        self.step = Step::Results;
        frame::write(&results.write())
    }

    /// The last word, once all is complete or the server has terminated.
    pub fn done(&mut self) -> Vec<u8> {
        let turn = self.step == Step::Done && self.owes;
        self.owes = false;
        self.say(State::Done, turn, Step::Done)
    }

    /// We end by ourselves, at whatever time: the last word.
    pub fn terminate(&mut self) -> Vec<u8> {
        let turn = self.step != Step::Done;
        self.owes = false;
        self.inbox = Vec::new();
        self.say(State::ClientTerminate, turn, Step::Done)
    }

    /// Takes octets that arrived. An error behind an event comes with the next call.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Event>, Error> {
        self.alive()?;
        let mut events = Vec::new();
        if self.step == Step::Done {
            return Ok(events);
        }
        self.inbox.extend_from_slice(bytes);
        while !self.owes && self.step != Step::Done {
            match self.next() {
                Ok(Some(event)) => events.push(event),
                Ok(None) => break,
                Err(error) => {
                    let failed = self.fail(error);
                    if events.is_empty() {
                        return failed.map(|()| events);
                    }
                    break;
                }
            }
        }
        // While it is our turn the server has nothing to say but that it gives up.
        if self.owes && self.inbox.len() > LONGEST_SERVER_RESULTS + 8 {
            self.fail(Error::Length { length: u32::MAX })?;
        }
        Ok(events)
    }

    /// The other end closed the connection: an error where something was still due.
    pub fn ended(&mut self) -> Result<(), Error> {
        self.alive()?;
        match self.step {
            Step::Done => Ok(()),
            step => {
                let error = self.half_told().unwrap_or(Error::Closed { step });
                self.fail(error)
            }
        }
    }

    /// Takes a silence of `waited`, which is too long, and returns its meaning. No error where nothing is due.
    pub fn silent(&mut self, waited: Nanos) -> Result<(), Error> {
        self.alive()?;
        match self.step {
            Step::Done => Ok(()),
            step => {
                let error = self.half_told().unwrap_or(Error::Silent { step, waited });
                self.fail(error)
            }
        }
    }

    /// Returns the error of a server that cannot go on, from its numbers before the connection ended: 3.12 leaves out the
    /// second number.
    fn half_told(&self) -> Option<Error> {
        let code = self.inbox.first_chunk().map(|word| Code(i32::from_be_bytes(*word)));
        self.failing.then_some(Error::Server { code, errno: None })
    }

    fn alive(&self) -> Result<(), Error> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    fn fail(&mut self, error: Error) -> Result<(), Error> {
        self.inbox = Vec::new();
        self.owes = false;
        self.failed = Some(error.clone());
        Err(error)
    }

    /// Returns true where the driver owes the message after `step`; from then on it does not.
    fn owed(&mut self, step: Step) -> bool {
        let turn = self.failed.is_none() && self.step == step && self.owes;
        self.owes &= !turn;
        turn
    }

    fn say(&mut self, state: State, turn: bool, next: Step) -> Vec<u8> {
        if !turn || self.failed.is_some() {
            return Vec::new();
        }
        self.step = next;
        vec![state.octet()]
    }

    fn next(&mut self) -> Result<Option<Event>, Error> {
        if self.failing {
            return match self.inbox.first_chunk::<8>() {
                None => Ok(None),
                Some(words) => {
                    let (code, errno) = words.split_at(4);
                    let number = |word: &[u8]| word.iter().fold(0, |all: i32, octet| all << 8 | i32::from(*octet));
                    Err(Error::Server { code: Some(Code(number(code))), errno: Some(number(errno)) })
                }
            };
        }
        if self.step == Step::Results {
            return self.next_results();
        }
        let Some((octet, rest)) = self.inbox.split_first() else { return Ok(None) };
        let octet = *octet;
        self.inbox = rest.to_vec();
        let said = State::of(octet).ok_or(Error::Unknown { octet, step: self.step })?;
        self.take(said)
    }

    fn take(&mut self, said: State) -> Result<Option<Event>, Error> {
        let (next, owes, event) = match (said, self.step) {
            (State::AccessDenied, _) => return Err(Error::Busy),
            (State::ServerError, _) => {
                self.failing = true;
                return self.next();
            }
            (State::ServerTerminate, _) => (Step::Done, true, Event::ServerTerminated),
            (State::ParamExchange, Step::Greeting) => (Step::Greeting, true, Event::SendParameters),
            (State::CreateStreams, Step::Streams) => (Step::Start, false, Event::OpenStreams),
            (State::TestStart, Step::Start) => (Step::Go, false, Event::MakeReady),
            (State::TestRunning, Step::Go) => (Step::Run, false, Event::Go),
            (State::ExchangeResults, Step::Exchange) => (Step::Exchange, true, Event::SendResults),
            (State::DisplayResults, Step::Display) => (Step::Done, true, Event::Complete),
            (said, step) => return Err(Error::OutOfOrder { said, step }),
        };
        (self.step, self.owes) = (next, owes);
        Ok(Some(event))
    }

    fn next_results(&mut self) -> Result<Option<Event>, Error> {
        // In place of a length: no results are that long.
        if let [first, ..] = self.inbox[..]
            && let Some(State::ServerError | State::AccessDenied) = State::of(first)
        {
            let said = State::of(self.inbox.remove(0));
            return said.map_or(Ok(None), |said| self.take(said));
        }
        let read = frame::read(&self.inbox, LONGEST_SERVER_RESULTS);
        let Some((text, length)) = read.map_err(|bad| Error::Length { length: bad.length })? else { return Ok(None) };
        let results = Results::read(text).map_err(|why| Error::Results { why })?;
        if !results.are_of(self.streams) {
            return Err(Error::Streams);
        }
        self.inbox.drain(..length);
        self.step = Step::Display;
        Ok(Some(Event::Results(Box::new(results))))
    }
}
