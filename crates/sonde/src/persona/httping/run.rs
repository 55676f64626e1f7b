//! A run: requests over a connection each by the engine that measures all else; each becomes a line when it has ended.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::sync::Arc;

use endpoint::clock::Monotonic;
use endpoint::error::{Cause, EndpointError, Step};
use endpoint::name;
use endpoint::rtt::{self, Finding, Protocol, Target, Task};
use endpoint::stop::Stop;
use measure::event::{Event, Exchange, Fate, INTERVAL};
use measure::method::{self, Far, Method, Pattern, Schedule};
use measure::unit::{Bytes, Instant, Nanos};
use protocol::application::http::{Expected, Http, Request};
use protocol::application::talk::Talk;
use protocol::application::{self, Application};

use crate::command::application::{self as native, ApplicationOptions, Url, Whom};
use crate::command::spoken::Spoken;
use crate::command::value;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::persona::answer::Answer;
use crate::persona::httping::options::Asked;
use crate::persona::httping::output::{self, Failed, Reply, Split, Summary};
use crate::persona::process;
use crate::persona::record::{Keeping, inquiry};
use crate::program::PROGRAM;
use crate::system::now;
use crate::words;

/// A run without an end has one: a week.
const WEEK: Nanos = Nanos::secs(7 * 86_400);
/// The exit status where no request was answered well, as the original has it.
const NOTHING_WELL: u8 = 127;

/// Runs what was asked for.
///
/// # Errors
/// The answer in place of lines where nothing could be asked.
pub fn run(asked: &Asked, command: &[String], output: &Arc<Output>) -> Result<Exit, Answer> {
    let stop = Stop::default();
    let interruption = process::heed(&stop).map_err(|error| complaint(&error.to_string()))?;
    let keeping = Keeping::of(asked.record.as_deref(), false)?;
    let application = application(asked)?;
    method(asked, &application, 0)?;
    let speaks = !asked.quiet && !asked.machine;
    if speaks {
        output.result(&output::header(asked));
    }
    let address =
        name::look_up(&asked.host, asked.port, asked.family, &stop).map_err(|error| unknown(asked, &error))?;
    let target = Target { host: asked.host.clone(), address };
    let begun = Monotonic::now();
    let teller = RefCell::new(Teller { asked, output, peer: address, base: 0, summary: Summary::default() });
    let found = measure(asked, &application, &target, &stop, &teller)?;
    let signal = interruption.signal();
    if let Some(signal) = signal {
        output.aside(&format!("Got signal {}\n", signal.number()));
    }
    let summary = teller.into_inner().summary;
    if speaks {
        let passed = Monotonic::now().since(begun).unwrap_or_default();
        output.result(&summary.text(&url(asked), passed));
    }
    match found {
        Some((task, wanted, finding)) => {
            let spoken = Spoken::from(&task.protocol);
            let inquiry = inquiry(command, &wanted, &task.method, target, spoken, now());
            keeping.deliver(|| Ok(inquiry.record(finding, signal, None)))?;
        }
        None if asked.record.is_some() => output.aside("httping: no server was reached: there is no record\n"),
        None => {}
    }
    Ok(if summary.any() { Exit::Done } else { Exit::Persona(NOTHING_WELL) })
}

/// Measures; a server that is not there at the begin is tried again, as often as requests are wanted.
fn measure(
    asked: &Asked,
    application: &Application,
    target: &Target,
    stop: &Stop,
    teller: &RefCell<Teller<'_>>,
) -> Result<Option<(Task, method::Asked, Finding)>, Answer> {
    loop {
        let before = teller.borrow().summary.sent;
        if asked.count.is_some_and(|count| before >= count) || stop.requested() {
            return Ok(None);
        }
        let (wanted, method) = method(asked, application, before)?;
        let task = task(method, application, target);
        teller.borrow_mut().base = before;
        let error = match rtt::run(&task, stop, &mut |event| teller.borrow_mut().take(&event, stop)) {
            Ok(finding) => return Ok(Some((task, wanted, finding))),
            Err(error) => error,
        };
        if matches!(error.cause, Cause::Stopped) {
            return Ok(None);
        }
        let why = unanswered(&error).ok_or_else(|| Answer::from(Failure::from(error)))?;
        teller.borrow_mut().failed(&why);
        let next = Monotonic::now().after(asked.interval.unwrap_or(Nanos::millis(10)));
        if asked.count.is_none_or(|count| before + 1 < count) {
            stop.wait(next);
        }
    }
}

fn task(method: Method, application: &Application, target: &Target) -> Task {
    Task {
        method,
        trace: None,
        target: Some(target.clone()),
        protocol: Protocol::Application(Box::new(application.clone())),
        key: None,
        one_will_do: false,
        samples: true,
        interval: INTERVAL,
        program: PROGRAM.to_owned(),
        verify: None,
    }
}

fn complaint(what: &str) -> Answer {
    Answer::complaint(format!("httping: {what}\n"))
}

/// A name that is none, in the original's words.
fn unknown(asked: &Asked, error: &EndpointError) -> Answer {
    let why = match &error.cause {
        Cause::System(error) => process::said(error),
        cause => cause.to_string(),
    };
    Answer {
        stdout: format!("No valid IPv4 or IPv6 address found for {}\n", asked.host),
        stderr: format!("Resolving {} failed: {why}\n", asked.host),
        status: 1,
    }
}

/// A server that was not reached, or does not answer, at the begin; `None` of what would not be otherwise at the next request.
fn unanswered(error: &EndpointError) -> Option<Failed> {
    match (&error.step, &error.cause) {
        (Step::Reach, Cause::System(cause)) => Some(Failed::Unconnected(process::said(cause))),
        (Step::Reach, Cause::Silence(_)) => Some(Failed::Unconnected("Connection timed out".to_owned())),
        (Step::Ask, Cause::Silence(_) | Cause::Unfinished(_)) => Some(Failed::Silent),
        (Step::Ask, Cause::Peer(_) | Cause::Link(_) | Cause::System(_)) => Some(Failed::Short),
        _ => None,
    }
}

/// The URL of the summary.
fn url(asked: &Asked) -> String {
    let (scheme, usual) = if asked.secured { ("https", 443) } else { ("http", 80) };
    let host = if asked.host.contains(':') { format!("[{}]", asked.host) } else { asked.host.clone() };
    let port = if asked.port == usual { String::new() } else { format!(":{}", asked.port) };
    format!("{scheme}://{host}{port}{}", asked.path)
}

fn application(asked: &Asked) -> Result<Application, Answer> {
    let scheme = if asked.secured { "https" } else { "http" };
    let none = || complaint("this program speaks no HTTP");
    let protocol = application::of(scheme).ok_or_else(none)?;
    let far = value::Far { host: asked.host.clone(), port: Some(asked.port) };
    let whom = Whom { far, url: Some(Url { protocol, user: None, target: asked.path.clone() }) };
    let options =
        ApplicationOptions { ca: asked.ca.clone(), insecure: asked.insecure, ..ApplicationOptions::default() };
    let terms = options.application(Some(&whom))?.ok_or_else(none)?.tls;
    let request = Request {
        method: if asked.get { "GET" } else { "HEAD" }.to_owned(),
        host: native::host_field(&whom.far, protocol.port),
        target: asked.path.clone(),
        fields: asked.fields.clone(),
        body: Vec::new(),
        agent: asked.agent.clone().unwrap_or_else(native::agent),
    };
    // Every status is a reply here: the persona counts them as the original does.
    let every = Expected::Only { statuses: Vec::new(), classes: (1..6).collect() };
    let http = Http::new(&request, every).map_err(|error| complaint(&error.to_string()))?;
    Ok(Application { tls: terms, ..Application::talk(protocol, Talk::Http(Box::new(http))) })
}

/// The method of what is left where so many were tried before.
fn method(asked: &Asked, application: &Application, before: u64) -> Result<(method::Asked, Method), Answer> {
    let count = asked.count.map(|count| count.saturating_sub(before));
    let wanted = method::Asked {
        pattern: Some(Pattern::ConnectExchange),
        schedule: Some(asked.interval.map_or(Schedule::BackToBack, |interval_ns| Schedule::Every { interval_ns })),
        window: Some(1),
        warm_up_ns: Some(Nanos::ZERO),
        stop: method::Stop { count, after_ns: count.is_none().then_some(WEEK), ..method::Stop::default() },
        timeout_ns: Some(asked.timeout),
        ..method::Asked::default()
    };
    let forced = ApplicationOptions { force: true, ..ApplicationOptions::default() };
    let wanted = native::towards(application, &forced, wanted)?;
    let method = wanted.resolve_towards(Far::Foreign).map_err(|refusal| complaint(&words::refusal(&refusal)))?;
    Ok((wanted, method))
}

/// Tells of requests as they end.
struct Teller<'a> {
    asked: &'a Asked,
    output: &'a Output,
    peer: SocketAddr,
    /// Requests before the measurement under way.
    base: u64,
    summary: Summary,
}

impl Teller<'_> {
    fn take(&mut self, event: &Event, stop: &Stop) {
        if let Event::Exchange(exchange) = event {
            match reply(exchange, self.base) {
                Some(reply) => {
                    self.summary.take(&reply, self.asked.shown);
                    if !self.asked.quiet {
                        self.output.result(&output::line(self.asked, self.peer, &reply));
                    }
                }
                None => self.failed(&failed(exchange)),
            }
        }
        if !self.output.is_open() {
            stop.request();
        }
    }

    fn failed(&mut self, why: &Failed) {
        self.summary.sent += 1;
        if !self.asked.quiet && !self.asked.machine {
            self.output.result(&output::failed(why));
        }
    }
}

/// The reply that ended a request.
fn reply(exchange: &Exchange, base: u64) -> Option<Reply> {
    let (sent, received, details) = (exchange.sent?, exchange.received?, exchange.details?);
    let time = received.since(sent).filter(|_| exchange.fate == Fate::Answered)?;
    let between = |from: Option<Instant>, to: Option<Instant>| to?.since(from?);
    let split = || {
        Some(Split {
            connect: between(Some(sent), details.opened)?,
            request: between(details.opened, details.handed)?,
            reply: between(details.handed, Some(received))?,
        })
    };
    let (head, body) = (details.head.unwrap_or(Bytes(0)), details.body.unwrap_or(Bytes(0)));
    Some(Reply { seq: base + exchange.seq, time, split: split(), status: details.kind?, head, body })
}

/// Reason for which there is none.
fn failed(exchange: &Exchange) -> Failed {
    let details = exchange.details.unwrap_or_default();
    match (exchange.fate, details.connected, details.fault) {
        (Fate::Lost | Fate::Late, Some(_), _) => Failed::Silent,
        (Fate::Lost | Fate::Late, None, _) => Failed::Unconnected("Connection timed out".to_owned()),
        (_, None, Some(fault)) => Failed::Unconnected(process::said(&std::io::Error::from_raw_os_error(fault))),
        (_, None, None) => Failed::Unconnected("no connection was made".to_owned()),
        (_, Some(_), _) => Failed::Short,
    }
}
