//! Sends the metrics to a collector of OpenTelemetry: OTLP over HTTP, protobuf, by a thread of its own.
//!
//! Sums count since the start, so that what is sent after a failure holds what the failed one would have: nothing is queued, lost or counted twice.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver as Inbox, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use jiff::Timestamp;
use logbook::monitor::plan::Otlp;
use ureq::Agent;

use super::post::agent;
use crate::failure::Failure;
use crate::serve::board::Board;
use crate::serve::metrics::families;
use crate::serve::metrics::otlp::{Head, refused, request};

/// The first wait after a failure, seconds; each is twice the one before, up to the time between two sends.
const FIRST: u64 = 1;
/// The longest that a collector may ask to be left alone, seconds.
const LONGEST: u64 = 3_600;
/// The most of an answer that is read, octets.
const ANSWER: u64 = 64 << 10;

/// Receiver of the metrics, and the form of the messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// URL that metrics are posted to.
    url: String,
    headers: Vec<(String, String)>,
    timeout: Duration,
    /// The time between two sends.
    every: Duration,
    /// Attributes of whoever sends.
    resource: Vec<(String, String)>,
}

impl Settings {
    /// Settings of the plan, and else of the environment's `OTEL_…`; `None`: nothing is to be sent. `name` is the plan's,
    /// `host` this machine's.
    ///
    /// # Errors
    /// A value is none of its kind; a protocol is wanted that is not spoken here.
    pub fn new(
        plan: Option<&Otlp>,
        variable: impl Fn(&str) -> Option<String>,
        (name, host): (&str, &str),
    ) -> Result<Option<Self>> {
        let either = |name: &str| {
            let own = format!("OTEL_EXPORTER_OTLP_METRICS_{name}");
            let common = format!("OTEL_EXPORTER_OTLP_{name}");
            variable(&own).map(|value| (own, value)).or_else(|| variable(&common).map(|value| (common, value)))
        };
        let below = |base: &str| format!("{}/v1/metrics", base.trim_end_matches('/'));
        let own = || variable("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT");
        let common = || variable("OTEL_EXPORTER_OTLP_ENDPOINT").map(|base| below(&base));
        let Some(url) = plan.map(|plan| below(&plan.endpoint)).or_else(own).or_else(common) else { return Ok(None) };
        if !url.starts_with("http://") && !url.starts_with("https://") {
            let text = format!("`{url}` is no address of a collector");
            return Err(Failure::new(text, "begin it with http:// or https://, as http://127.0.0.1:4318").into());
        }
        if let Some((name, protocol)) = either("PROTOCOL").filter(|(_, protocol)| protocol != "http/protobuf") {
            let text = format!("{name}={protocol}: the monitor speaks OTLP as http/protobuf alone");
            return Err(Failure::new(text, "set it to http/protobuf, and the endpoint's port to 4318").into());
        }
        let millis = |found: Option<(String, String)>, default: u64| match found {
            None => Ok(Duration::from_millis(default)),
            Some((name, value)) => match value.trim().parse::<u64>() {
                Ok(millis @ 1..=86_400_000) => Ok(Duration::from_millis(millis)),
                _ => Err(Failure::new(format!("{name}={value} is no time"), "give milliseconds, as 10000")),
            },
        };
        let interval =
            variable("OTEL_METRIC_EXPORT_INTERVAL").map(|value| ("OTEL_METRIC_EXPORT_INTERVAL".to_owned(), value));
        let every = millis(interval, plan.map_or(60_000, |plan| plan.every.0 / 1_000_000))?.max(Duration::from_secs(1));
        let headers = either("HEADERS").map_or(Ok(Vec::new()), |(name, value)| pairs(&name, &value))?;
        if headers
            .iter()
            .any(|(key, value)| !is_token(key) || value.chars().any(|letter| !(' '..='~').contains(&letter)))
        {
            // A header may be a secret: it is not repeated.
            let text = "OTEL_EXPORTER_OTLP_HEADERS: a header's name or value has letters that none may have";
            return Err(Failure::new(text, "write them as NAME=VALUE,NAME=VALUE").into());
        }
        let mut resource = vec![
            ("service.name".to_owned(), "sonde-monitor".to_owned()),
            ("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
            ("service.instance.id".to_owned(), format!("{name}@{host}")),
            ("host.name".to_owned(), host.to_owned()),
        ];
        let given = "OTEL_RESOURCE_ATTRIBUTES";
        let wanted = variable(given).map_or(Ok(Vec::new()), |value| pairs(given, &value))?;
        let called = variable("OTEL_SERVICE_NAME").map(|name| ("service.name".to_owned(), name));
        for (key, value) in wanted.into_iter().chain(called) {
            resource.retain(|(known, _)| *known != key);
            resource.push((key, value));
        }
        Ok(Some(Self { url, headers, timeout: millis(either("TIMEOUT"), 10_000)?, every, resource }))
    }
}

/// `a=b,c=d`, values with `%20` and the like.
fn pairs(name: &str, text: &str) -> Result<Vec<(String, String)>, Failure> {
    let each = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    let read = |pair: &str| {
        let (key, value) = pair.split_once('=').filter(|(key, _)| !key.trim().is_empty())?;
        Some((key.trim().to_owned(), plain(value.trim())?))
    };
    each.map(|pair| {
        read(pair)
            .ok_or_else(|| Failure::new(format!("{name}: a pair of it is none"), "write it as NAME=VALUE,NAME=VALUE"))
    })
    .collect()
}

/// A text without its percent signs; `None` where it is none.
fn plain(text: &str) -> Option<String> {
    let mut octets = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            octets.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            octets.push(*first);
            rest = after;
        }
    }
    String::from_utf8(octets).ok()
}

fn is_token(name: &str) -> bool {
    let is_one = |letter: char| letter.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(letter);
    !name.is_empty() && name.chars().all(is_one)
}

/// The thread that sends.
#[derive(Debug)]
pub struct Export {
    bell: Sender<()>,
    thread: thread::JoinHandle<()>,
}

impl Export {
    /// Starts it. A fault is noted on the board, and said once by `tell`.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn start(settings: Settings, board: Arc<Board>, tell: impl Fn(String) + Send + 'static) -> Result<Self> {
        let (bell, inbox) = mpsc::channel();
        board.note_collector(None);
        let agent = agent(settings.timeout);
        let clerk = Clerk { settings, board, agent, tell, fault: None };
        let thread = thread::Builder::new().name("otlp".to_owned()).spawn(move || clerk.run(&inbox))?;
        Ok(Self { bell, thread })
    }

    /// Sends what has come since, where the collector took the last; and ends.
    pub fn finish(self) {
        drop(self.bell);
        let _ended = self.thread.join();
    }
}

struct Clerk<T> {
    settings: Settings,
    board: Arc<Board>,
    agent: Agent,
    tell: T,
    fault: Option<String>,
}

/// Result of a try.
#[derive(Debug, PartialEq, Eq)]
enum Tried {
    Taken,
    /// It may be taken later, not before so many seconds where the collector said so: why it was not.
    Later(Option<u64>, String),
    /// The same would be refused again: why.
    Refused(String),
}

impl<T: Fn(String)> Clerk<T> {
    fn run(mut self, inbox: &Inbox<()>) {
        let mut wait = self.settings.every;
        let mut tries = 0;
        loop {
            if let Err(RecvTimeoutError::Disconnected) = inbox.recv_timeout(wait) {
                if self.fault.is_none() {
                    let _last = self.send();
                }
                return;
            }
            let tried = self.send();
            (wait, tries) = next(&tried, tries, self.settings.every, fastrand::f64());
            match tried {
                Tried::Taken => self.note(None),
                Tried::Later(_, why) => self.note(Some(format!("{why}; it is tried again"))),
                Tried::Refused(why) => self.note(Some(why)),
            }
        }
    }

    /// The first of several failures is said, and that it is over.
    fn note(&mut self, fault: Option<String>) {
        match (&self.fault, &fault) {
            (None, Some(why)) => (self.tell)(format!("metrics are not taken: {why}")),
            (Some(_), None) => (self.tell)("metrics are taken again".to_owned()),
            _ => {}
        }
        self.fault.clone_from(&fault);
        self.board.note_collector(fault);
    }

    fn send(&self) -> Tried {
        let picture = self.board.picture();
        let (families, since) = {
            let totals = self.board.totals();
            (families(&picture, &totals), (totals.since * 1e9) as u64)
        };
        let now = u64::try_from(Timestamp::now().as_nanosecond()).unwrap_or_default();
        let body = request(&families, &Head { resource: self.settings.resource.clone(), since, now });
        let mut posted = self.agent.post(&self.settings.url).header("Content-Type", "application/x-protobuf");
        for (name, value) in &self.settings.headers {
            posted = posted.header(name, value);
        }
        match posted.send(&body[..]) {
            Ok(mut answer) => {
                let after =
                    answer.headers().get("Retry-After").and_then(|wait| wait.to_str().ok()?.trim().parse().ok());
                let said = answer.body_mut().with_config().limit(ANSWER).read_to_vec().unwrap_or_default();
                judged(answer.status().as_u16(), after, &said)
            }
            Err(error) => Tried::Later(None, error.to_string()),
        }
    }
}

/// Meaning of an answer: OTLP names the statuses after which the same may be sent again.
fn judged(status: u16, after: Option<u64>, said: &[u8]) -> Tried {
    match status {
        200..=299 => match refused(said) {
            None => Tried::Taken,
            Some((points, why)) => Tried::Refused(format!("{points} data points were refused: {why}")),
        },
        429 | 502 | 503 | 504 => Tried::Later(after, format!("it answered {status}")),
        _ => Tried::Refused(format!("it answered {status}")),
    }
}

/// Wait after a try, and the number of failed ones by then; `chance` from 0 to 1 keeps many monitors from coming at once.
fn next(tried: &Tried, tries: u32, every: Duration, chance: f64) -> (Duration, u32) {
    match tried {
        Tried::Later(Some(after), _) => (Duration::from_secs((*after).clamp(1, LONGEST)), tries + 1),
        Tried::Later(None, _) => {
            let wait = Duration::from_secs(FIRST << tries.min(20)).min(every);
            (wait.mul_f64(0.5 + chance / 2.0), tries + 1)
        }
        Tried::Taken | Tried::Refused(_) => (every, 0),
    }
}

/// This machine's name.
///
/// # Errors
/// It has none that is text.
pub fn host() -> Result<String> {
    let name = rustix::system::uname();
    name.nodename().to_str().map(str::to_owned).context("this machine's name is no text")
}

#[cfg(test)]
mod tests {
    use measure::unit::Nanos;
    use test_case::test_case;

    use super::*;

    fn settings(plan: Option<&Otlp>, set: &[(&str, &str)]) -> Result<Option<Settings>> {
        let variable = |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        Settings::new(plan, variable, ("mesh", "m1"))
    }

    #[test]
    fn nothing_is_sent_unless_an_endpoint_is_named() {
        assert_eq!(settings(None, &[("OTEL_SERVICE_NAME", "x")]).unwrap(), None);
    }

    #[test]
    fn variables_mean_what_opentelemetry_says() {
        let found = settings(
            None,
            &[
                ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/"),
                ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20eDp5, x-a = 1"),
                ("OTEL_EXPORTER_OTLP_TIMEOUT", "2500"),
                ("OTEL_METRIC_EXPORT_INTERVAL", "5000"),
                ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=lab,service.name=a,host.name=h"),
                ("OTEL_SERVICE_NAME", "b"),
            ],
        );
        let found = found.unwrap().unwrap();
        assert_eq!(found.url, "http://c:4318/v1/metrics");
        assert_eq!((found.timeout, found.every), (Duration::from_millis(2_500), Duration::from_secs(5)));
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(found.headers, [pair("authorization", "Basic eDp5"), pair("x-a", "1")]);
        let value = |name: &str| {
            let all: Vec<_> =
                found.resource.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str()).collect();
            all.join("|")
        };
        assert_eq!((value("service.name"), value("host.name")), ("b".to_owned(), "h".to_owned()));
        assert_eq!(
            (value("service.instance.id"), value("deployment.environment.name")),
            ("mesh@m1".to_owned(), "lab".to_owned())
        );
    }

    #[test]
    fn the_plan_comes_first_and_an_endpoint_of_metrics_is_taken_as_it_is() {
        let set =
            [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c"), ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://m/push")];
        assert_eq!(settings(None, &set).unwrap().unwrap().url, "http://m/push");
        let plan = Otlp { endpoint: "https://p:4318".to_owned(), every: Nanos::secs(30) };
        let found = settings(Some(&plan), &set).unwrap().unwrap();
        assert_eq!((found.url.as_str(), found.every), ("https://p:4318/v1/metrics", Duration::from_secs(30)));
    }

    #[test_case("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318", "no address of a collector"; "no scheme")]
    #[test_case("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "http/protobuf alone"; "another protocol")]
    #[test_case("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "10s", "is no time"; "a unit")]
    #[test_case("OTEL_METRIC_EXPORT_INTERVAL", "0", "is no time"; "no time at all")]
    #[test_case("OTEL_EXPORTER_OTLP_HEADERS", "a", "is none"; "no value")]
    #[test_case("OTEL_EXPORTER_OTLP_HEADERS", "a=%zz", "is none"; "no digits")]
    #[test_case("OTEL_EXPORTER_OTLP_HEADERS", "a=%0d%0ax", "none may have"; "a line end")]
    #[test_case("OTEL_EXPORTER_OTLP_HEADERS", "a b=x", "none may have"; "no name")]
    #[test_case("OTEL_RESOURCE_ATTRIBUTES", "=x", "is none"; "no key")]
    fn what_is_wrong_is_said(name: &str, value: &str, part: &str) {
        let error = settings(None, &[(name, value), ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c")]).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }

    #[test]
    fn what_may_be_sent_again_is_sent_soon_and_what_is_refused_is_not() {
        let every = Duration::from_mins(1);
        let (mut tries, mut waits) = (0, Vec::new());
        for _ in 0..8 {
            let (wait, failed) = next(&judged(503, None, b""), tries, every, 1.0);
            tries = failed;
            waits.push(wait.as_secs());
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(next(&judged(429, Some(90), b""), 3, every, 0.0), (Duration::from_secs(90), 4));
        assert_eq!(next(&judged(400, Some(1), b""), 3, every, 0.0), (every, 0));
        assert_eq!(judged(200, None, b""), Tried::Taken);
    }
}
