//! The words behind `fping`, by the table of its version 5.1.

use std::net::IpAddr;
use std::str::FromStr;

use endpoint::name::Family;
use measure::unit::Nanos;

use crate::persona::answer::Answer;
use crate::persona::getopt::{Entry, Fault, GNU, Given, Rules, Scan, Why, flag, valued};
use crate::persona::number;

/// One run.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own, on or off by itself")]
pub struct Asked {
    /// The words that are no options.
    pub operands: Vec<String>,
    /// `-f`: the file of hosts.
    pub file: Option<String>,
    /// `-g`: the operands are a range of addresses.
    pub generate: bool,
    /// `-4`, `-6`.
    pub family: Family,
    /// `-m`: all addresses of a name.
    pub all_addresses: bool,
    /// The name by which a host is shown.
    pub shown: Shown,
    /// Requests of each host.
    pub course: Course,
    /// `-C`: each round trip in the summary.
    pub each: bool,
    /// `-p`.
    pub period: Nanos,
    /// `-i`.
    pub interval: Nanos,
    /// `-t`, or what the course makes of it.
    pub timeout: Nanos,
    /// `-r`.
    pub retries: u32,
    /// `-B`.
    pub backoff: f64,
    /// `-b`.
    pub size: u16,
    /// `-R`.
    pub random: bool,
    /// `-H`.
    pub ttl: Option<u8>,
    /// `-O`.
    pub tos: Option<u8>,
    /// `-M`.
    pub dont_fragment: bool,
    /// `-I`.
    pub interface: Option<String>,
    /// `-S`, of IPv4 and of IPv6.
    pub sources: [Option<IpAddr>; 2],
    /// `-a`.
    pub alive: bool,
    /// `-u`.
    pub unreachable: bool,
    /// `-e`.
    pub elapsed: bool,
    /// `-D`.
    pub timestamps: bool,
    /// `-o`.
    pub outage: bool,
    /// `-q`, `-Q`.
    pub quiet: bool,
    /// `-Q`: from one summary to the next.
    pub report: Option<Nanos>,
    /// `-N`.
    pub netdata: bool,
    /// `-s`.
    pub stats: bool,
    /// `-x`.
    pub enough: Option<u32>,
}

/// Requests of each host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// Until it answers.
    UntilAnswered,
    /// `-c`, `-C`.
    Count(u32),
    /// `-l`.
    Endless,
}

/// The name by which a host is shown: as typed, where nothing is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// `-A`: its address.
    pub address: bool,
    /// `-n`: the name of what was typed as an address; `-d`: that of every address.
    pub name: Option<Looked>,
}

/// The hosts whose names are looked up by their addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looked {
    /// Those that were typed as addresses.
    Addresses,
    /// All.
    All,
}

impl Asked {
    /// True where hosts are said to be alive or not.
    pub fn verbose(&self) -> bool {
        !self.quiet && !self.alive && !self.unreachable && self.enough.is_none() && self.once()
    }

    /// True where a host is asked until it answers.
    pub fn once(&self) -> bool {
        self.course == Course::UntilAnswered
    }

    /// True where each request has a line.
    pub fn lines(&self) -> bool {
        match self.course {
            Course::UntilAnswered => false,
            Course::Count(_) => !self.quiet && !self.alive && !self.unreachable && self.enough.is_none(),
            Course::Endless => self.report.is_none(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    V4,
    V6,
    Alive,
    Addr,
    Size,
    Backoff,
    Count,
    Each,
    Rdns,
    Timestamp,
    Elapsed,
    File,
    Generate,
    Help,
    Ttl,
    Interval,
    Iface,
    Loop,
    All,
    DontFragment,
    Name,
    Netdata,
    Outage,
    Tos,
    Period,
    Quiet,
    Summaries,
    Retry,
    Random,
    Stats,
    Source,
    Timeout,
    Ignored,
    Unreach,
    Version,
    Reachable,
}

const ENTRIES: &[Entry<Key>] = &[
    flag(Key::V4, "4", &["ipv4"], (), "only IPv4 addresses"),
    flag(Key::V6, "6", &["ipv6"], (), "only IPv6 addresses"),
    flag(Key::Alive, "a", &["alive"], (), "show hosts that answer"),
    flag(Key::Addr, "A", &["addr"], (), "show hosts by address"),
    valued(Key::Size, "b", &["size"], (), "BYTES  octets of data in a request (default 56)"),
    valued(Key::Backoff, "B", &["backoff"], (), "N  factor of the wait at each retry (default 1.5)"),
    valued(Key::Count, "c", &["count"], (), "N  send N requests to each host"),
    valued(Key::Each, "C", &["vcount"], (), "N  the same, with each round trip in the summary"),
    flag(Key::Rdns, "d", &["rdns"], (), "show hosts by the name of their address"),
    flag(Key::Timestamp, "D", &["timestamp"], (), "begin each line with the time"),
    flag(Key::Elapsed, "e", &["elapsed"], (), "show round trips"),
    valued(Key::File, "f", &["file"], (), "FILE  read hosts from a file (- is standard input)"),
    flag(Key::Generate, "g", &["generate"], (), "all addresses of a network, or from one to another"),
    flag(Key::Help, "h", &["help"], (), "show this"),
    valued(Key::Ttl, "H", &["ttl"], (), "N  time to live of requests"),
    valued(Key::Interval, "i", &["interval"], (), "MS  least time between two requests (default 10)"),
    valued(Key::Iface, "I", &["iface"], (), "NAME  send by this interface"),
    flag(Key::Loop, "l", &["loop"], (), "send requests until stopped"),
    flag(Key::All, "m", &["all"], (), "all addresses of a name"),
    flag(Key::DontFragment, "M", &["dontfrag"], (), "never fragment"),
    flag(Key::Name, "n", &["name"], (), "show hosts typed as addresses by name"),
    flag(Key::Netdata, "N", &["netdata"], (), "summaries for netdata (with -l and -Q)"),
    flag(Key::Outage, "o", &["outage"], (), "show lost requests as time"),
    valued(Key::Tos, "O", &["tos"], (), "N  type of service"),
    valued(Key::Period, "p", &["period"], (), "MS  from one request to a host to the next (default 1000)"),
    flag(Key::Quiet, "q", &["quiet"], (), "show only the summary"),
    valued(Key::Summaries, "Q", &["squiet"], (), "SECONDS  the same, and a summary so often"),
    valued(Key::Retry, "r", &["retry"], (), "N  retries (default 3)"),
    flag(Key::Random, "R", &["random"], (), "random data"),
    flag(Key::Stats, "s", &["stats"], (), "show totals at the end"),
    valued(Key::Source, "S", &["src"], (), "ADDRESS  source address"),
    valued(
        Key::Timeout,
        "t",
        &["timeout"],
        (),
        "MS  wait for a reply (default 500; with -c, -C, -l the period, at most 2000)",
    ),
    valued(Key::Ignored, "T", &[], (), "N  ignored"),
    flag(Key::Unreach, "u", &["unreach"], (), "show hosts that do not answer"),
    flag(Key::Version, "v", &["version"], (), "show the version"),
    valued(Key::Reachable, "x", &["reachable"], (), "N  show whether at least N hosts answer"),
];

/// GNU's, with whole long names.
const RULES: Rules = Rules { abbreviations: false, ..GNU };

/// The most octets of data.
const LARGEST: u32 = 65_488;
/// The longest time of an option: about 49 days.
const LONGEST_MS: f64 = 4_294_967_295.0;

/// The help, in our words.
pub fn help() -> String {
    let options: String = ENTRIES.iter().map(|entry| entry.line(1, 24)).collect();
    format!("Usage: fping [options] [targets...]\n\n{options}")
}

/// Reads the words.
///
/// # Errors
/// The text in place of a run: help, version, words that do not fit.
pub fn parse(words: &[String]) -> Result<Asked, Answer> {
    let given = Given::all(Scan::new(words, ENTRIES, RULES)).map_err(|fault| wrong_word(&fault))?;
    if given.has(Key::Help) {
        return Err(Answer::said(help(), 0));
    }
    if given.has(Key::Version) {
        let version = concat!("fping: Version 5.1 (sonde ", env!("CARGO_PKG_VERSION"), ")\n");
        return Err(Answer::said(version, 0));
    }
    let course = course(&given)?;
    let period = millis(&given, Key::Period, 1_000.0)?;
    let usual = if course == Course::UntilAnswered { Nanos::millis(500) } else { period.min(Nanos::secs(2)) };
    let asked = Asked {
        operands: given.operands.clone(),
        file: file(&given)?,
        generate: given.has(Key::Generate),
        family: family(&given)?,
        all_addresses: given.has(Key::All),
        shown: shown(&given)?,
        course,
        each: given.has(Key::Each),
        period,
        interval: millis(&given, Key::Interval, 10.0)?,
        timeout: if given.has(Key::Timeout) { millis(&given, Key::Timeout, 500.0)? } else { usual },
        retries: number(&given, Key::Retry)?.unwrap_or(3),
        backoff: backoff(&given)?,
        size: size(&given)?,
        random: given.has(Key::Random),
        ttl: ttl(&given)?,
        tos: given.text(Key::Tos).map(|text| number::octet(text).ok_or_else(usage)).transpose()?,
        dont_fragment: given.has(Key::DontFragment),
        interface: given.text(Key::Iface).map(str::to_owned),
        sources: sources(&given)?,
        alive: given.has(Key::Alive),
        unreachable: given.has(Key::Unreach),
        elapsed: given.has(Key::Elapsed),
        timestamps: given.has(Key::Timestamp),
        outage: given.has(Key::Outage),
        quiet: given.has(Key::Quiet) || given.has(Key::Summaries),
        report: report(&given)?,
        netdata: given.has(Key::Netdata),
        stats: given.has(Key::Stats),
        enough: number(&given, Key::Reachable)?,
    };
    if asked.alive && asked.unreachable {
        return Err(complaint("specify only one of a, u"));
    }
    if asked.enough == Some(0) || (asked.file.is_some() && (!asked.operands.is_empty() || asked.generate)) {
        return Err(usage());
    }
    Ok(asked)
}

fn wrong_word(fault: &Fault) -> Answer {
    let name =
        fault.letter.map_or_else(|| fault.typed().trim_start_matches('-').to_owned(), |letter| letter.to_string());
    let why = match fault.why {
        Why::NoValue => "option requires an argument",
        Why::Value => "option takes no arguments",
        _ => "invalid option",
    };
    Answer::complaint(format!("fping: {why} -- '{name}'\nsee 'fping -h' for usage information\n"))
}

/// The fault, behind the program's name.
pub fn complaint(what: &str) -> Answer {
    Answer::complaint(format!("fping: {what}\n"))
}

/// Words that do not fit have the help for an answer, as in the original.
pub fn usage() -> Answer {
    Answer::complaint(help())
}

fn course(given: &Given<Key>) -> Result<Course, Answer> {
    let place = given.place(Key::Count).max(given.place(Key::Each));
    match (place, given.has(Key::Loop)) {
        (Some(_), true) => Err(complaint("specify only one of c, l")),
        (Some(place), false) => {
            let text = given.options[place].1.as_deref().unwrap_or_default();
            number::whole(text).filter(|count| *count > 0).map(Course::Count).ok_or_else(usage)
        }
        (None, true) => Ok(Course::Endless),
        (None, false) => Ok(Course::UntilAnswered),
    }
}

fn file(given: &Given<Key>) -> Result<Option<String>, Answer> {
    let file = given.text(Key::File).map(str::to_owned);
    match (file, given.operands.is_empty(), given.has(Key::Generate)) {
        (None, true, true) => Err(usage()),
        (None, true, false) => Ok(Some("-".to_owned())),
        (file, ..) => Ok(file),
    }
}

fn family(given: &Given<Key>) -> Result<Family, Answer> {
    match (given.has(Key::V4), given.has(Key::V6)) {
        (true, true) => Err(complaint("can't specify both -4 and -6")),
        (true, false) => Ok(Family::V4),
        (false, true) => Ok(Family::V6),
        (false, false) => Ok(Family::Any),
    }
}

fn shown(given: &Given<Key>) -> Result<Shown, Answer> {
    let name = match (given.has(Key::Name), given.has(Key::Rdns)) {
        (true, true) => return Err(complaint("use either one of -d or -n")),
        (true, false) => Some(Looked::Addresses),
        (false, true) => Some(Looked::All),
        (false, false) => None,
    };
    Ok(Shown { address: given.has(Key::Addr), name })
}

fn number<N: FromStr>(given: &Given<Key>, key: Key) -> Result<Option<N>, Answer> {
    given.text(key).map(|text| number::whole(text).ok_or_else(usage)).transpose()
}

fn millis(given: &Given<Key>, key: Key, usual: f64) -> Result<Nanos, Answer> {
    let text = given.text(key);
    let millis = text.map_or(Some(usual), number::decimal).filter(|millis| *millis <= LONGEST_MS).ok_or_else(usage)?;
    Ok(Nanos((millis * 1e6).round() as u64))
}

fn report(given: &Given<Key>) -> Result<Option<Nanos>, Answer> {
    let Some(text) = given.text(Key::Summaries) else { return Ok(None) };
    let seconds = number::decimal(text).filter(|seconds| *seconds <= LONGEST_MS / 1e3).ok_or_else(usage)?;
    Ok(Some(Nanos((seconds * 1e9).round() as u64)).filter(|every| *every > Nanos::ZERO))
}

fn backoff(given: &Given<Key>) -> Result<f64, Answer> {
    let Some(text) = given.text(Key::Backoff) else { return Ok(1.5) };
    let factor = number::decimal(text).filter(|factor| *factor > 0.0).ok_or_else(usage)?;
    if (1.0..=5.0).contains(&factor) {
        return Ok(factor);
    }
    Err(complaint(&format!("backoff factor {factor:.1} not valid, must be between 1.0 and 5.0")))
}

fn size(given: &Given<Key>) -> Result<u16, Answer> {
    let size: u32 = number(given, Key::Size)?.unwrap_or(56);
    u16::try_from(size)
        .ok()
        .filter(|_| size <= LARGEST)
        .ok_or_else(|| complaint(&format!("data size {size} not valid, must be lower than {LARGEST}")))
}

fn ttl(given: &Given<Key>) -> Result<Option<u8>, Answer> {
    let Some(ttl) = number::<u32>(given, Key::Ttl)? else { return Ok(None) };
    if ttl == 0 {
        return Err(usage());
    }
    u8::try_from(ttl).map(Some).map_err(|_| complaint(&format!("ttl {ttl} out of range")))
}

fn sources(given: &Given<Key>) -> Result<[Option<IpAddr>; 2], Answer> {
    let mut sources = [None, None];
    for (entry, value) in &given.options {
        let (Key::Source, Some(text)) = (entry.key, value) else { continue };
        let source: IpAddr = text.parse().map_err(|_| complaint(&format!("can't parse source address: {text}")))?;
        sources[usize::from(source.is_ipv6())] = Some(source);
    }
    Ok(sources)
}

#[cfg(test)]
mod tests;
