//! The words behind `tcping`.

use std::path::PathBuf;

use endpoint::name::Family;
use measure::unit::Nanos;

use crate::persona::answer::Answer;
use crate::persona::getopt::{Entry, GNU, Given, Rules, Scan, flag, valued};
use crate::persona::number;

/// One run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The host, as named.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The family of its address.
    pub family: Family,
    /// Handshakes; absent: until it is stopped.
    pub count: Option<u64>,
    /// From one to the next.
    pub interval: Nanos,
    /// The longest wait for one.
    pub timeout: Nanos,
    /// The record goes there; an option of ours.
    pub record: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Port,
    Count,
    Interval,
    Timeout,
    V4,
    V6,
    Report,
    Record,
    Help,
    Version,
}

const ENTRIES: &[Entry<Key>] = &[
    valued(Key::Port, "p", &["port"], (), ""),
    valued(Key::Count, "c", &["count"], (), ""),
    valued(Key::Interval, "i", &["interval"], (), ""),
    valued(Key::Timeout, "t", &["timeout"], (), ""),
    flag(Key::V4, "4", &[], (), ""),
    flag(Key::V6, "6", &[], (), ""),
    flag(Key::Report, "", &["report", "no-report"], (), ""),
    valued(Key::Record, "", &["record"], (), ""),
    flag(Key::Help, "h", &["help"], (), ""),
    flag(Key::Version, "V", &["version"], (), ""),
];
const RULES: Rules = Rules { operands: 2, ..GNU };

/// The help, in our words.
pub const HELP: &str = "\
usage: tcping [options] HOST [PORT]
  -p PORT     port, where none stands behind the host (default 80)
  -c COUNT    handshakes (default 10; 0: until Ctrl-C)
  -i SECONDS  from one to the next (default 1)
  -t SECONDS  longest wait for one (default 1)
  -4, -6      IPv4 or IPv6 alone
  --record FILE  the record of the run (sonde's own)
";

const VERSION: &str = concat!("tcping (sonde ", env!("CARGO_PKG_VERSION"), ")\n");
/// Longest interval and wait: a day.
const LONGEST: f64 = 86_400.0;
/// Shortest interval: more handshakes than that are a flood.
const SHORTEST: f64 = 0.01;
/// Shortest wait: the engine's own is coarser below it.
const SHORTEST_WAIT: f64 = 0.001;

/// Reads the words.
///
/// # Errors
/// The text in place of a run: help, version, words that do not fit.
pub fn parse(words: &[String]) -> Result<Asked, Answer> {
    let given = Given::all(Scan::new(words, ENTRIES, RULES));
    let given = given.map_err(|fault| Answer::complaint(format!("tcping: {}\n{HELP}", fault.glibc())))?;
    if given.has(Key::Help) {
        return Err(Answer::said(HELP, 0));
    }
    if given.has(Key::Version) {
        return Err(Answer::said(VERSION, 0));
    }
    if given.has(Key::Report) {
        return Err(refusal("--report", "sonde prints no table: --record FILE, then `sonde show FILE`"));
    }
    let mut operands = given.operands.iter();
    let host = operands.next().ok_or_else(|| Answer::complaint(format!("tcping: no host\n{HELP}")))?;
    let count = given.text(Key::Count).map_or(Ok(10), |text| {
        number::whole::<u64>(text).ok_or_else(|| refusal("-c", "is a number of handshakes, 0 for no end"))
    })?;
    Ok(Asked {
        host: host.clone(),
        port: port(operands.next().map(String::as_str), given.text(Key::Port))?,
        family: match (given.has(Key::V4), given.has(Key::V6)) {
            (true, true) => return Err(refusal("-4 and -6", "exclude each other")),
            (true, false) => Family::V4,
            (false, true) => Family::V6,
            (false, false) => Family::Any,
        },
        count: Some(count).filter(|count| *count > 0),
        interval: seconds("-i", given.text(Key::Interval), SHORTEST)?,
        timeout: seconds("-t", given.text(Key::Timeout), SHORTEST_WAIT)?,
        record: given.path(Key::Record),
    })
}

fn refusal(what: &str, why: &str) -> Answer {
    Answer::refusal("tcping", what, why)
}

fn port(behind: Option<&str>, named: Option<&str>) -> Result<u16, Answer> {
    if behind.is_some() && named.is_some() {
        return Err(refusal("-p", "and a port behind the host are two ports: remove one of them"));
    }
    let Some(text) = behind.or(named) else { return Ok(80) };
    number::whole(text)
        .filter(|port| *port > 0)
        .ok_or_else(|| refusal("the port", "is a number from 1 to 65535, as in `tcping db1 5432`"))
}

/// Seconds, 1 where nothing is said.
fn seconds(option: &str, text: Option<&str>, shortest: f64) -> Result<Nanos, Answer> {
    let Some(text) = text else { return Ok(Nanos::secs(1)) };
    let seconds = number::decimal(text).filter(|seconds| (shortest..=LONGEST).contains(seconds));
    let seconds =
        seconds.ok_or_else(|| refusal(option, &format!("is a number of seconds from {shortest} to {LONGEST}")))?;
    Ok(Nanos((seconds * 1e9).round() as u64))
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn of(line: &str) -> Result<Asked, Answer> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_port_stands_behind_the_host_or_behind_its_option() {
        assert_eq!(
            ["db1", "db1 5432", "-p 443 db1", "db1 -p 8080"].map(|line| of(line).unwrap().port),
            [80, 5432, 443, 8080]
        );
    }

    #[test]
    fn the_usual_run_and_another() {
        let usual = of("db1").unwrap();
        assert_eq!((usual.count, usual.interval, usual.timeout), (Some(10), Nanos::secs(1), Nanos::secs(1)));
        let other = of("-6 -c 0 -i 0.2 -t 3 db1").unwrap();
        assert_eq!(
            (other.count, other.interval, other.timeout, other.family),
            (None, Nanos::millis(200), Nanos::secs(3), Family::V6)
        );
    }

    #[test_case("", "no host"; "nothing")]
    #[test_case("db1 0", "from 1 to 65535"; "no port")]
    #[test_case("db1 http", "from 1 to 65535"; "a name")]
    #[test_case("db1 80 -p 80", "two ports"; "two ports")]
    #[test_case("db1 80 81", "belongs to no option"; "a word too many")]
    #[test_case("db1 -i 0", "from 0.01 to 86400"; "no interval")]
    #[test_case("db1 -t 1e9", "from 0.001 to 86400"; "no number")]
    #[test_case("db1 -c -1", "a number of handshakes"; "a count below nothing")]
    #[test_case("db1 --report", "--record FILE"; "a table")]
    #[test_case("db1 -4 -6", "exclude each other"; "two families")]
    #[test_case("db1 -x", "invalid option"; "no option")]
    fn what_does_not_fit_is_refused(line: &str, why: &str) {
        let answer = of(line).unwrap_err();
        assert!(answer.status == 1 && answer.stdout.is_empty() && answer.stderr.contains(why), "{answer:?}");
    }
}
