//! A run: handshakes by the engine that measures all else; each becomes a line when its end is known.

use std::cell::RefCell;
use std::sync::Arc;

use endpoint::error::{Cause, EndpointError};
use endpoint::name;
use endpoint::rtt::{self, Protocol, Target, Task};
use endpoint::stop::Stop;
use measure::event::{Event, Exchange, Fate, INTERVAL};
use measure::method::{self, Carrier, Far, Method, Schedule};
use measure::unit::Nanos;

use crate::command::spoken::Spoken;
use crate::exit::Exit;
use crate::output::Output;
use crate::persona::answer::Answer;
use crate::persona::process;
use crate::persona::record::{Keeping, inquiry};
use crate::persona::tcping::options::Asked;
use crate::persona::tcping::output::{End, Summary, line};
use crate::program::PROGRAM;
use crate::system::now;
use crate::words;

/// A run without an end has one: a week.
const WEEK: Nanos = Nanos::secs(7 * 86_400);

/// Runs what was asked for.
///
/// # Errors
/// The answer in place of lines where nothing could be asked.
pub fn run(asked: &Asked, command: &[String], output: &Arc<Output>) -> Result<Exit, Answer> {
    let stop = Stop::default();
    let interruption = process::heed(&stop).map_err(|error| complaint(&error.to_string()))?;
    let keeping = Keeping::of(asked.record.as_deref(), false)?;
    let (wanted, method) = method(asked)?;
    let address =
        name::look_up(&asked.host, asked.port, asked.family, &stop).map_err(|error| unreached(asked, &error))?;
    let target = Target { host: asked.host.clone(), address };
    let task = Task {
        method: method.clone(),
        trace: None,
        target: Some(target.clone()),
        protocol: Protocol::Native,
        key: None,
        one_will_do: false,
        samples: true,
        interval: INTERVAL,
        program: PROGRAM.to_owned(),
        verify: None,
    };
    let spoken = Spoken::from(&task.protocol);
    let inquiry = inquiry(command, &wanted, &method, target, spoken, now());
    let teller =
        RefCell::new(Teller { place: format!("{}[{}]", asked.host, asked.port), output, summary: Summary::default() });
    let found = rtt::run(&task, &stop, &mut |event| teller.borrow_mut().take(&event, &stop));
    let finding = found.map_err(|error| unreached(asked, &error))?;
    let Teller { place, summary, .. } = teller.into_inner();
    output.result(&summary.text(&place));
    let signal = interruption.signal();
    keeping.deliver(|| Ok(inquiry.record(finding, signal, None)))?;
    Ok(if summary.any() { Exit::Done } else { Exit::Persona(1) })
}

fn complaint(what: &str) -> Answer {
    Answer::complaint(format!("tcping: {what}\n"))
}

fn unreached(asked: &Asked, error: &EndpointError) -> Answer {
    let why = match &error.cause {
        Cause::System(error) => process::said(error),
        cause => cause.to_string(),
    };
    complaint(&format!("{}: {why}", asked.host))
}

fn method(asked: &Asked) -> Result<(method::Asked, Method), Answer> {
    let wanted = method::Asked {
        carrier: Some(Carrier::TcpConnect),
        schedule: Some(Schedule::Every { interval_ns: asked.interval }),
        warm_up_ns: Some(Nanos::ZERO),
        stop: method::Stop {
            count: asked.count,
            after_ns: asked.count.is_none().then_some(WEEK),
            ..method::Stop::default()
        },
        timeout_ns: Some(asked.timeout),
        ..method::Asked::default()
    };
    let method = wanted.resolve_towards(Far::Native).map_err(|refusal| complaint(&words::refusal(&refusal)))?;
    Ok((wanted, method))
}

/// Tells of handshakes as they end.
struct Teller<'a> {
    place: String,
    output: &'a Output,
    summary: Summary,
}

impl Teller<'_> {
    fn take(&mut self, event: &Event, stop: &Stop) {
        if let Event::Exchange(exchange) = event {
            let end = end(exchange);
            self.summary.take(end);
            self.output.result(&line(&self.place, exchange.seq + 1, end));
        }
        if !self.output.is_open() {
            stop.request();
        }
    }
}

fn end(exchange: &Exchange) -> End {
    let time = exchange.sent.zip(exchange.received).and_then(|(sent, received)| received.since(sent));
    match (exchange.fate, time) {
        (Fate::Answered, Some(time)) => End::Made(time),
        (Fate::Refused | Fate::Corrupt, _) => End::Refused,
        (Fate::SendFailed, _) => End::Unsent,
        (Fate::Answered | Fate::Late | Fate::Lost, _) => End::TimedOut,
    }
}
