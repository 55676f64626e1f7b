//! A run: a PING every 10 ms by the engine that measures all else; samples become text as they come.

use std::cell::RefCell;
use std::io::IsTerminal;
use std::sync::Arc;

use endpoint::error::{Cause, EndpointError};
use endpoint::name::{self, Family};
use endpoint::rtt::{self, Protocol, Target, Task};
use endpoint::stop::Stop;
use measure::event::{Event, Exchange, Fate, INTERVAL};
use measure::method::{self, Far, Method, Schedule};
use measure::unit::{Instant, Nanos};
use protocol::application::{self, Application};

use crate::command::application::{self as native, ApplicationOptions, Url, Whom};
use crate::command::spoken::Spoken;
use crate::command::value;
use crate::exit::Exit;
use crate::output::Output;
use crate::persona::answer::Answer;
use crate::persona::process;
use crate::persona::record::{Keeping, inquiry};
use crate::persona::redis_cli::options::{Asked, Form, Mode};
use crate::persona::redis_cli::output::{Figures, Spectrum, range};
use crate::program::PROGRAM;
use crate::system::now;
use crate::words;

/// From one PING to the next, as the original has it.
const GAP: Nanos = Nanos::millis(10);
/// The original waits for a reply for ever; a request without one for so long is lost here.
const TIMEOUT: Nanos = Nanos::secs(60);
/// Words of Rust before those of the system, where a name is not found.
const NOT_FOUND: &str = "failed to lookup address information: ";
/// A run without an end has one: a week.
const WEEK: Nanos = Nanos::secs(7 * 86_400);

/// Runs what was asked for.
///
/// # Errors
/// The answer in place of figures where nothing could be asked.
pub fn run(asked: &Asked, command: &[String], output: &Arc<Output>) -> Result<Exit, Answer> {
    let stop = Stop::default();
    let interruption = process::heed(&stop).map_err(|error| complaint(&error.to_string()))?;
    let keeping = Keeping::of(asked.record.as_deref(), false)?;
    let application = application(asked)?;
    let form = asked.form.unwrap_or_else(|| if std::io::stdout().is_terminal() { Form::Standard } else { Form::Raw });
    let (wanted, method) = method(asked, form, &application)?;
    let address =
        name::look_up(&asked.host, asked.port, Family::Any, &stop).map_err(|error| unreached(asked, &error))?;
    let target = Target { host: asked.host.clone(), address };
    let task = Task {
        method: method.clone(),
        trace: None,
        target: Some(target.clone()),
        protocol: Protocol::Application(Box::new(application)),
        key: None,
        one_will_do: false,
        samples: true,
        interval: INTERVAL,
        program: PROGRAM.to_owned(),
        verify: None,
    };
    let spoken = Spoken::from(&task.protocol);
    let inquiry = inquiry(command, &wanted, &method, target, spoken, now());
    let teller = RefCell::new(Teller::new(asked, form, output));
    let found = rtt::run(&task, &stop, &mut |event| teller.borrow_mut().take(&event, &stop));
    let finding = found.map_err(|error| unreached(asked, &error))?;
    let answered = teller.into_inner().finish();
    let signal = interruption.signal();
    keeping.deliver(|| Ok(inquiry.record(finding, signal, None)))?;
    Ok(match signal {
        Some(signal) => Exit::CutShort(signal),
        None if answered => Exit::Done,
        None => Exit::Persona(1),
    })
}

fn complaint(what: &str) -> Answer {
    Answer::complaint(format!("redis-cli: {what}\n"))
}

/// A server that is not reached, in the original's words.
fn unreached(asked: &Asked, error: &EndpointError) -> Answer {
    let why = match &error.cause {
        Cause::System(error) => process::said(error),
        cause => cause.to_string(),
    };
    let why = why.strip_prefix(NOT_FOUND).unwrap_or(&why);
    Answer::complaint(format!("Could not connect to Redis at {}:{}: {why}\n", asked.host, asked.port))
}

fn application(asked: &Asked) -> Result<Application, Answer> {
    let scheme = if asked.tls.is_some() { "rediss" } else { "redis" };
    let protocol = application::of(scheme).ok_or_else(|| complaint("this program speaks no Redis"))?;
    let far = value::Far { host: asked.host.clone(), port: Some(asked.port) };
    let whom = Whom { far, url: Some(Url { protocol, user: None, target: String::new() }) };
    let tls = asked.tls.clone().unwrap_or_default();
    let options =
        ApplicationOptions { ca: tls.ca, tls_name: tls.name, insecure: tls.insecure, ..ApplicationOptions::default() };
    options.application(Some(&whom))?.ok_or_else(|| complaint("this program speaks no Redis"))
}

fn method(asked: &Asked, form: Form, application: &Application) -> Result<(method::Asked, Method), Answer> {
    let once = asked.mode == Mode::Latency && form != Form::Standard;
    let wanted = method::Asked {
        schedule: Some(Schedule::Every { interval_ns: GAP }),
        window: Some(1),
        warm_up_ns: Some(Nanos::ZERO),
        stop: method::Stop { after_ns: Some(if once { asked.interval } else { WEEK }), ..method::Stop::default() },
        timeout_ns: Some(TIMEOUT),
        stamps: Some(false),
        ..method::Asked::default()
    };
    let wanted = native::towards(application, &ApplicationOptions::default(), wanted)?;
    let method = wanted.resolve_towards(Far::Foreign).map_err(|refusal| complaint(&words::refusal(&refusal)))?;
    Ok((wanted, method))
}

/// Tells of samples as they come.
struct Teller<'a> {
    asked: &'a Asked,
    form: Form,
    output: &'a Output,
    figures: Figures,
    spectrum: Spectrum,
    /// The begin of the interval.
    since: Option<Instant>,
    answered: u64,
    unanswered: u64,
}

impl<'a> Teller<'a> {
    fn new(asked: &'a Asked, form: Form, output: &'a Output) -> Self {
        let (figures, spectrum) = (Figures::default(), Spectrum::default());
        Self { asked, form, output, figures, spectrum, since: None, answered: 0, unanswered: 0 }
    }

    fn take(&mut self, event: &Event, stop: &Stop) {
        match event {
            Event::Started { at, .. } => self.since = Some(*at),
            Event::Exchange(exchange) => self.exchange(exchange),
            _ => {}
        }
        if !self.output.is_open() {
            stop.request();
        }
    }

    fn exchange(&mut self, exchange: &Exchange) {
        let (Some(sent), Some(received)) = (exchange.sent, exchange.received) else {
            self.unanswered += 1;
            return;
        };
        let (Some(time), Fate::Answered | Fate::Late) = (received.since(sent), exchange.fate) else {
            self.unanswered += 1;
            return;
        };
        self.answered += 1;
        self.figures.take(time);
        self.spectrum.take(time);
        let once = self.asked.mode == Mode::Latency && self.form != Form::Standard;
        if self.asked.mode != Mode::Distribution && !once {
            self.output.exactly(&self.figures.text(self.form));
        }
        let passed = self.since.and_then(|since| received.since(since)).filter(|passed| *passed >= self.asked.interval);
        let Some(passed) = passed else { return };
        match self.asked.mode {
            Mode::Latency => return,
            Mode::History => {
                self.output.exactly(&range(passed));
                self.figures = Figures::default();
            }
            Mode::Distribution => {
                self.output.exactly(&self.spectrum.line());
            }
        }
        self.since = Some(received);
    }

    /// The one line of a run that prints but one, and what is in no figure. True where anything was answered.
    fn finish(self) -> bool {
        if self.asked.mode == Mode::Latency && self.form != Form::Standard {
            self.output.exactly(&self.figures.text(self.form));
        }
        if self.unanswered > 0 {
            let what = "requests were not answered: they are in none of these figures";
            self.output.aside(&format!("redis-cli: {} {what}\n", self.unanswered));
        }
        self.answered > 0
    }
}
