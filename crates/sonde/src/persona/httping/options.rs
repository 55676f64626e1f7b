//! The words behind `httping`, by the rules of GNU's getopt.

mod table;

use std::path::PathBuf;

use endpoint::name::Family;
use measure::unit::Nanos;
use protocol::application::http::Request;

use self::table::{ENTRIES, Key, REFUSED};
use crate::persona::answer::Answer;
use crate::persona::getopt::{GNU, Given, Scan};
use crate::persona::number;

pub use self::table::HELP;

/// One run.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct Asked {
    /// True for HTTPS.
    pub secured: bool,
    /// The host, as named.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Path and query.
    pub path: String,
    /// The family of its address.
    pub family: Family,
    /// Requests; absent: until it is stopped.
    pub count: Option<u64>,
    /// From one to the next; absent: none waits.
    pub interval: Option<Nanos>,
    /// The longest wait for one.
    pub timeout: Nanos,
    /// GET in place of HEAD.
    pub get: bool,
    /// Further fields of the request.
    pub fields: Vec<(String, String)>,
    /// The name by which it asks.
    pub agent: Option<String>,
    /// The forms of a line.
    pub shown: Shown,
    /// Nothing is said.
    pub quiet: bool,
    /// The time alone.
    pub machine: bool,
    /// Certificates to trust; an option of ours.
    pub ca: Option<PathBuf>,
    /// No certificate is verified; an option of ours.
    pub insecure: bool,
    /// The record goes there; an option of ours.
    pub record: Option<PathBuf>,
}

/// The parts of a line beside its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct Shown {
    /// The status.
    pub status: bool,
    /// The time in its parts.
    pub split: bool,
    /// The octets of the body.
    pub transferred: bool,
    /// Their rate.
    pub speed: bool,
}

/// Longest interval and wait: a day.
const LONGEST: f64 = 86_400.0;
const VERSION: &str = concat!("HTTPing v2.5 (sonde ", env!("CARGO_PKG_VERSION"), ")\n");

/// Reads the words.
///
/// # Errors
/// The text in place of a run: help, version, words that do not fit.
pub fn parse(words: &[String]) -> Result<Asked, Answer> {
    let given = Given::all(Scan::new(words, ENTRIES, GNU));
    let given = given.map_err(|fault| Answer::complaint(format!("httping: {}\n", fault.glibc())))?;
    if given.has(Key::Help) {
        return Err(Answer::said(HELP, 0));
    }
    if given.has(Key::Version) {
        return Err(Answer::said(VERSION, 0));
    }
    if let Some(entry) = given.entries().find(|entry| entry.key == Key::Refused) {
        let name = entry.name();
        let found = REFUSED.iter().find(|(names, _)| names.contains(&name.trim_start_matches('-')));
        return Err(refusal(&name, found.map_or(UNKNOWN, |(_, why)| why)));
    }
    let place = Place::of(&given)?;
    let get = given.has(Key::Get);
    let needs_get = [(Key::Transferred, "-X"), (Key::Speed, "-b")];
    if let Some((_, name)) = needs_get.into_iter().find(|(key, _)| given.has(*key) && !get) {
        return Err(refusal(name, "is about the body of a reply, and HEAD has none: add -G"));
    }
    let interval = given.text(Key::Interval).map_or(Ok(Nanos::secs(1)), |text| seconds("-i", text, 0.01))?;
    Ok(Asked {
        secured: place.secured,
        host: place.host,
        port: place.port,
        path: place.path,
        family: if given.has(Key::V6) { Family::V6 } else { Family::V4 },
        count: given.text(Key::Count).map(count).transpose()?,
        interval: (!given.has(Key::Flood)).then_some(interval),
        timeout: given.text(Key::Timeout).map_or(Ok(Nanos::secs(30)), |text| seconds("-t", text, 0.001))?,
        get,
        fields: fields(&given)?,
        agent: given
            .text(Key::Agent)
            .map(|agent| field(&format!("User-Agent: {agent}")))
            .transpose()?
            .map(|(_, agent)| agent),
        shown: Shown {
            status: given.has(Key::Status),
            split: given.has(Key::Split),
            transferred: given.has(Key::Transferred),
            speed: given.has(Key::Speed),
        },
        quiet: given.has(Key::Quiet),
        machine: given.has(Key::Machine),
        ca: given.path(Key::Ca),
        insecure: given.has(Key::Insecure),
        record: given.path(Key::Record),
    })
}

const UNKNOWN: &str = "sonde does not play this part of httping: call the original by its path";

fn refusal(what: &str, why: &str) -> Answer {
    Answer::refusal("httping", what, why)
}

/// The place that is asked.
struct Place {
    secured: bool,
    host: String,
    port: u16,
    path: String,
}

impl Place {
    /// The place that `-g URL`, `-h HOST` with its `-p PORT`, or the word that is no option names; that word is either.
    fn of(given: &Given<Key>) -> Result<Self, Answer> {
        let words = [given.text(Key::Url), given.text(Key::Host), given.operands.first().map(String::as_str)];
        let word = match words.iter().flatten().collect::<Vec<_>>().as_slice() {
            [word] if given.operands.len() < 2 => **word,
            [] => return Err(refusal("no place", "name one: `httping http://HOST/`, -g URL, or -h HOST")),
            _ => {
                return Err(refusal("two places", "one is asked: keep -g URL, -h HOST or the word behind the options"));
            }
        };
        let (scheme, rest) = word.split_once("://").unwrap_or(("http", word));
        let tls = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            other => return Err(refusal(other, "is not asked: write http:// or https://")),
        };
        let secured = tls || given.has(Key::Ssl);
        let (host, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if host.contains('@') {
            return Err(refusal(host, "has a name before the host: nobody logs in here"));
        }
        let far: crate::command::value::Far =
            host.parse().map_err(|why: String| refusal(host, &format!("{why}: write a host, or host:port")))?;
        let named = given.text(Key::Port).map(port).transpose()?;
        if let (Some(one), Some(other)) = (far.port, named)
            && one != other
        {
            return Err(refusal("-p", "and the port in the place are two ports: remove one of them"));
        }
        let usual = if secured { 443 } else { 80 };
        Ok(Self {
            secured,
            host: far.host,
            port: far.port.or(named).unwrap_or(usual),
            path: if path.starts_with('/') { path.to_owned() } else { format!("/{path}") },
        })
    }
}

fn port(text: &str) -> Result<u16, Answer> {
    number::whole(text).filter(|port| *port > 0).ok_or_else(|| refusal("-p", "is a port from 1 to 65535"))
}

fn count(text: &str) -> Result<u64, Answer> {
    number::whole(text).filter(|count| *count > 0).ok_or_else(|| refusal("-c", "is a number of requests, at least 1"))
}

fn seconds(option: &str, text: &str, shortest: f64) -> Result<Nanos, Answer> {
    let seconds = number::decimal(text).filter(|seconds| (shortest..=LONGEST).contains(seconds));
    let seconds =
        seconds.ok_or_else(|| refusal(option, &format!("is a number of seconds from {shortest} to {LONGEST}")))?;
    Ok(Nanos((seconds * 1e9).round() as u64))
}

/// Further fields of the request, in their order.
fn fields(given: &Given<Key>) -> Result<Vec<(String, String)>, Answer> {
    let lines = given.options.iter().filter_map(|(entry, value)| {
        let value = value.as_deref()?;
        match entry.key {
            Key::Header => Some(value.to_owned()),
            Key::Referer => Some(format!("Referer: {value}")),
            Key::Cookie => Some(format!("Cookie: {value}")),
            _ => None,
        }
    });
    let caches = given.has(Key::NoCache).then(|| "Cache-Control: no-cache".to_owned());
    lines.chain(caches).map(|line| field(&line)).collect()
}

fn field(line: &str) -> Result<(String, String), Answer> {
    Request::field(line).map_err(|error| refusal("--header", &error.to_string()))
}

#[cfg(test)]
mod tests;
