//! The client's end of a control connection, as a machine without I/O.
//!
//! The driver writes the octets of [`Client::ask`] or [`Client::calibrate`], hands in those that arrive ([`Client::feed`]), the
//! other end's close ([`Client::end`]), or too long a silence ([`Client::silent`]). A test is one `ask`, then
//! [`Answer::Ready`], the data, then [`Answer::Results`]; then the next may be asked. An error of arrived octets
//! is final: later calls return it again. No input makes it panic, and memory is bounded by one message and the octets fed.

use measure::unit::Nanos;

use crate::netperf::answer::{Calibration, Ready, Results};
use crate::netperf::ask::{Ask, Dialect, Flags};
use crate::netperf::error::{Error, Step};
use crate::netperf::inbox::Inbox;
use crate::netperf::kind;
use crate::netperf::message::{Message, SECOND};
use crate::netperf::pass::Pass;
use crate::netperf::passphrase::Passphrase;
use crate::netperf::{MESSAGE, OLD_MESSAGE, classic, omni};

/// Longest wait of netperf for the first octet of a response or of the results; for the latter from the end of its own data.
pub const ANSWER: Nanos = Nanos::secs(120);
/// Longest wait of netperf for the rate of the server's CPUs.
pub const CALIBRATION: Nanos = Nanos::secs(160);
/// Longest wait of netperf, once it closed its half of the connection, for the server to close the other.
pub const CLOSE: Nanos = Nanos::secs(60);

/// Answer of the server.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// It is ready: data may flow.
    Ready(Ready),
    /// The test is over.
    Results(Results),
    /// Rate and number of its CPUs.
    Cpu(Calibration),
}

/// The client's end.
#[derive(Debug)]
pub struct Client {
    passphrase: Option<Passphrase>,
    inbox: Inbox,
    state: State,
}

#[derive(Debug)]
enum State {
    Idle,
    Asked { dialect: Dialect, cpu: bool },
    Running { dialect: Dialect, measured: bool },
    Calibrating,
    Failed(Error),
}

impl Client {
    /// A client that says its passphrase, where it has one, in front of its first question.
    pub fn new(passphrase: Option<Passphrase>) -> Self {
        Self { passphrase, inbox: Inbox::default(), state: State::Idle }
    }

    /// Asks for a test: returns the octets to be written. A request that the layout can't carry is refused and the
    /// connection goes on.
    pub fn ask(&mut self, ask: &Ask) -> Result<Vec<u8>, Error> {
        self.turn()?;
        let message = ask.write()?;
        self.state = State::Asked { dialect: ask.dialect, cpu: ask.flags.has(Flags::MEASURE_CPU) };
        Ok(self.say(&message))
    }

    /// Asks for the rate of the server's CPUs, and for its binding to `cpu` where one is given: returns the octets to be written.
    pub fn calibrate(&mut self, cpu: Option<u32>) -> Result<Vec<u8>, Error> {
        self.turn()?;
        let mut pass = Pass::writing(kind::CALIBRATE, 0);
        pass.size(SECOND, "server CPU", &mut { cpu });
        let message = pass.written()?;
        self.state = State::Calibrating;
        Ok(self.say(&message))
    }

    /// Returns the message that is awaited.
    pub fn step(&self) -> Step {
        match self.state {
            State::Idle | State::Failed(_) => Step::Idle,
            State::Asked { .. } => Step::Ready,
            State::Running { .. } => Step::Results,
            State::Calibrating => Step::Calibration,
        }
    }

    /// Octets that came of a message whose rest is due within [`REST`](super::REST).
    pub fn partial(&self) -> usize {
        self.inbox.pending()
    }

    /// Takes octets that arrived, and returns the answers in them. An error behind an answer comes with the next call.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Answer>, Error> {
        self.alive()?;
        self.inbox.feed(bytes);
        let mut answers = Vec::new();
        while let Some(result) = self.next() {
            match result {
                Ok(answer) => answers.push(answer),
                Err(error) => {
                    self.inbox.clear();
                    self.state = State::Failed(error.clone());
                    if answers.is_empty() {
                        return Err(error);
                    }
                    break;
                }
            }
        }
        Ok(answers)
    }

    /// The other end closed the connection: an error where an answer is still due.
    pub fn end(&mut self) -> Result<(), Error> {
        self.alive()?;
        match self.step() {
            Step::Idle => Ok(()),
            step => self.fail(Error::Closed { step, received: self.inbox.pending() }),
        }
    }

    /// Takes a silence of `waited`, which is too long, and returns its meaning. No error where nothing is due.
    pub fn silent(&mut self, waited: Nanos) -> Result<(), Error> {
        self.alive()?;
        match (self.step(), self.inbox.pending()) {
            (Step::Idle, _) => Ok(()),
            (step, received) if received > 0 && received % OLD_MESSAGE == 0 => self.fail(Error::OldServer { step }),
            (step, received) => self.fail(Error::Silent { step, received, waited }),
        }
    }

    fn alive(&self) -> Result<(), Error> {
        match &self.state {
            State::Failed(error) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    fn turn(&self) -> Result<(), Error> {
        self.alive()?;
        match self.step() {
            Step::Idle => Ok(()),
            step => Err(Error::OutOfTurn { step }),
        }
    }

    fn fail<T>(&mut self, error: Error) -> Result<T, Error> {
        self.inbox.clear();
        self.state = State::Failed(error.clone());
        Err(error)
    }

    fn say(&mut self, message: &Message) -> Vec<u8> {
        let mut octets = Vec::new();
        if let Some(passphrase) = self.passphrase.take() {
            let mut first = Message::new(kind::PASSPHRASE, u32::MAX);
            first.put_text(8, passphrase.bytes());
            octets = first.to_vec();
        }
        octets.extend(message.to_vec());
        octets
    }

    fn next(&mut self) -> Option<Result<Answer, Error>> {
        let step = self.step();
        match self.inbox.pending() {
            0 => None,
            octets if step == Step::Idle => Some(Err(Error::Unasked { octets })),
            _ => self.inbox.message().map(|message| self.take(step, &message)),
        }
    }

    fn take(&mut self, step: Step, message: &Message) -> Result<Answer, Error> {
        match message.word(SECOND) as i32 {
            0 if is_old(message) => return Err(Error::OldServer { step }),
            0 => {}
            code => return Err(Error::Refused { step, code }),
        }
        let (state, answer) = match self.state {
            State::Asked { dialect, cpu } => {
                let ready = match dialect {
                    Dialect::Omni => omni::read_ready(message),
                    Dialect::Classic(test) => classic::read_ready(message, test),
                };
                let ready = ready.map_err(|nonsense| Error::Nonsense { step, nonsense })?;
                let measured = cpu && ready.flags.has(Flags::MEASURE_CPU);
                (State::Running { dialect, measured }, Answer::Ready(ready))
            }
            State::Running { dialect: Dialect::Omni, measured } => {
                (State::Idle, Answer::Results(omni::read_results(message, measured)))
            }
            State::Running { dialect: Dialect::Classic(test), measured } => {
                (State::Idle, Answer::Results(classic::read_results(message, test, measured)))
            }
            State::Calibrating => (State::Idle, Answer::Cpu(kind::read_calibration(message))),
            State::Idle | State::Failed(_) => return Err(Error::Unasked { octets: MESSAGE }),
        };
        self.state = state;
        Ok(answer)
    }
}

/// Returns true for an old server, which mistakes our request for three messages of its own size: a server older than 2.6
/// knows no request like the second or the third, and says so. A new one leaves the place of these errors empty.
fn is_old(message: &Message) -> bool {
    let unknown = crate::netperf::error::UNKNOWN_REQUEST as u32;
    [OLD_MESSAGE, 2 * OLD_MESSAGE].into_iter().any(|start| message.word(start + SECOND) == unknown)
}
