//! Output of a server while it serves.
//!
//! The original has one test at a time. The first of several at once to print is told as it goes, and each of the others is
//! told whole when its turn comes: lines of two tests never stand among each other, for nothing in them says whose they are.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use endpoint::clock;
use endpoint::peer::iperf3::server::event::{Event, Observer};
use protocol::iperf3::code::Code;
use protocol::iperf3::parameters::Parameters;
use protocol::iperf3::results::Output;

use crate::persona::iperf3::facts::Role;
use crate::persona::iperf3::options::{Common, Form};
use crate::persona::iperf3::output::{failure, start};
use crate::persona::iperf3::run::facts::{self, About};
use crate::persona::iperf3::run::printer::Printer;
use crate::persona::iperf3::run::telling::Telling;

/// A client went away without a word.
const VANISHED: &str = "the client has unexpectedly closed the connection";

/// Most octets that are held back of tests that have no turn.
const HELD: usize = 1 << 20;

/// Tells what happens, each test by itself.
#[derive(Debug)]
pub struct Teller {
    common: Common,
    one_off: bool,
    printer: Arc<Printer>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    tests: BTreeMap<u64, Test>,
    /// The test whose lines are printed as they come.
    speaking: Option<u64>,
    /// Output of tests that are over and had no turn.
    waiting: Vec<String>,
    /// Tests that are over.
    over: u64,
    failed: bool,
}

#[derive(Debug)]
struct Test {
    from: SocketAddr,
    cookie: String,
    asked: Option<Parameters>,
    telling: Telling,
    /// All that it said.
    said: String,
    /// Octets of it that were printed.
    printed: usize,
}

impl Test {
    /// Its output that nobody has printed.
    fn rest(&mut self) -> &str {
        let from = std::mem::replace(&mut self.printed, self.said.len());
        &self.said[from..]
    }
}

impl Teller {
    /// For a server of these options.
    pub fn new(common: &Common, one_off: bool, printer: Arc<Printer>) -> Self {
        Self { common: common.clone(), one_off, printer, state: Mutex::default() }
    }

    /// It listens: what stands in front of each test.
    pub fn listening(&self) {
        let number = self.state().over + 1;
        self.listen(number);
    }

    /// A signal ended it, and the form is JSON.
    pub fn interrupted(&self, text: &str) {
        let telling = Telling::new(&self.common);
        self.printer.print(&telling.over(Some(text), None));
    }

    /// Returns true where the latest test failed.
    pub fn failed(&self) -> bool {
        self.state().failed
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listen(&self, number: u64) {
        if self.common.form == Form::Text {
            let program = if self.common.verbose { start::program() } else { String::new() };
            self.printer.print(&(program + &start::listening(self.common.port, number)));
        }
    }

    /// Has a test say something, and keeps what it said.
    fn say(&self, test: u64, what: impl FnOnce(&mut Test) -> String) {
        let mut state = self.state();
        let State { tests, speaking, .. } = &mut *state;
        let Some(found) = tests.get_mut(&test) else { return };
        let text = what(found);
        found.said += &text;
        if *speaking.get_or_insert(test) == test {
            // Printed under the lock: the lines of a test keep their order.
            self.printer.print(found.rest());
        }
    }

    /// A test is over. `error`: why it failed.
    fn over(&self, number: u64, error: Option<(Code, &str)>) {
        let mut state = self.state();
        let Some(mut test) = state.tests.remove(&number) else { return };
        state.over += 1;
        state.failed = error.is_some();
        let words = error.map(|(code, _)| words(code));
        test.said += &test.telling.over(words.as_deref(), None);
        if state.speaking.is_some_and(|speaking| speaking != number) {
            state.waiting.push(test.rest().to_owned());
            if state.waiting.iter().map(String::len).sum::<usize>() > HELD {
                // A test of days is not waited for: the others stand among its lines then, each still whole.
                for told in std::mem::take(&mut state.waiting) {
                    self.printer.print(&told);
                }
            }
        } else {
            self.printer.print(test.rest());
            state.speaking = None;
        }
        if let Some((code, why)) = error {
            if self.common.form == Form::Text {
                self.printer.error(&line(code));
            }
            if why != code.to_string() {
                self.printer.note(why);
            }
        }
        let next = state.over + 1;
        if state.speaking.is_none() {
            for told in std::mem::take(&mut state.waiting) {
                self.printer.print(&told);
            }
            // A client that was not let in had no test.
            if !self.one_off || error.is_some_and(|(code, _)| code == Code::AUTHORISATION) {
                self.listen(next);
            }
            // The longest of those that go on has the turn.
            let State { tests, speaking, .. } = &mut *state;
            if let Some((&next, test)) = tests.iter_mut().find(|(_, test)| !test.said.is_empty()) {
                *speaking = Some(next);
                self.printer.print(test.rest());
            }
        }
    }

    fn agree(&self, test: &mut Test, asked: &Parameters) -> String {
        let about = About {
            role: Role::Server { client: test.from },
            cookie: test.cookie.clone(),
            began_ms: (clock::wall() / 1_000_000).cast_signed(),
            control_segment_bytes: 0,
            interval_s: self.common.interval_s,
        };
        test.asked = Some(asked.clone());
        test.telling.agreed(facts::test(about, asked))
    }
}

/// The words of a fault, as a server says them.
fn words(code: Code) -> String {
    if code == Code::CLOSED { VANISHED.to_owned() } else { code.to_string() }
}

/// A client that ended by itself or went away is told without the word "error".
fn line(code: Code) -> String {
    let words = words(code);
    let by_itself = matches!(code, Code::CLIENT_TERMINATED | Code::CLOSED);
    if by_itself { format!("iperf3: {words}\n") } else { failure::line(&words) }
}

impl Observer for Teller {
    fn told(&self, event: &Event<'_>) {
        match *event {
            Event::Accepted { test, from, cookie } => {
                let telling = Telling::new(&self.common);
                let begun = Test { from, cookie: cookie.text(), asked: None, telling, said: String::new(), printed: 0 };
                self.state().tests.insert(test, begun);
            }
            Event::Asked { test, parameters, user } => {
                if let Some(user) = user.filter(|_| self.common.verbose) {
                    self.printer.note(&format!("{user} has logged in"));
                }
                self.say(test, |test| self.agree(test, parameters));
            }
            Event::Streams { test, connections, no_congestion } => {
                if let Some(name) = no_congestion {
                    self.printer.note(&format!("warning: TCP congestion control algorithm not supported: {name}"));
                }
                let buffers = connections
                    .first()
                    .map_or((None, None), |first| (first.send_buffer_bytes, first.receive_buffer_bytes));
                self.say(test, |test| test.telling.streams(connections.iter().map(facts::stream).collect(), buffers));
            }
            Event::Interval { test, stream, interval } => {
                self.say(test, |test| test.telling.interval(stream, interval));
            }
            Event::Ran { test, streams, ours, theirs, .. } => self.say(test, |test| {
                let intervals = streams.iter().map(|stream| stream.count.intervals.as_slice());
                let text = test.telling.ended(intervals);
                let Some(asked) = &test.asked else { return text };
                let all = facts::summary(asked, streams, ours, theirs, test.telling.peaks());
                text + &test.telling.summary(all)
            }),
            Event::Done { test } => self.over(test, None),
            Event::Failed { test, code, why } => self.over(test, Some((code, why))),
            Event::TurnedAway { from, why } => {
                if self.common.verbose {
                    let from = from.map(|from| format!("{from}: ")).unwrap_or_default();
                    self.printer.note(&format!("{from}turned away: {why}"));
                }
            }
            Event::Idle => {
                if self.common.verbose {
                    self.printer.note("nobody came for as long as --idle-timeout says");
                }
            }
        }
    }

    fn output(&self, test: u64) -> Option<Output> {
        let state = self.state();
        let test = state.tests.get(&test)?;
        Some(match self.common.form {
            Form::Text => Output::Text(test.said.clone()),
            Form::Json | Form::Stream { .. } => Output::Json(test.telling.object()),
        })
    }
}
