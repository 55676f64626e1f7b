//! The words behind `irtt client`, by the table of its version 0.9.0, and the complaints of them in its order.

pub mod table;
pub mod timer;
pub mod wait;

use endpoint::name::Family;
use endpoint::socket::icmp::Fragments;
use protocol::irtt::VERSION;
use protocol::irtt::fill::{self, Fill, FillError};
use protocol::irtt::key::Key;
use protocol::irtt::parameters::Parameters;

use self::table::{ENTRIES, Word, help};
use self::timer::Timer;
use self::wait::Wait;
use crate::persona::answer::Answer;
use crate::persona::irtt::duration;
use crate::persona::irtt::flags::{Words, complaint, number, usage};

/// One run.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own, on or off by itself")]
pub struct Asked {
    /// The host, with a port where one was typed.
    pub host: String,
    /// `-4`, `-6`.
    pub family: Family,
    /// `--local`, as typed.
    pub local: String,
    /// The parameters that the server is asked for.
    pub parameters: Parameters,
    /// `--timeouts`, nanoseconds.
    pub timeouts: Vec<i64>,
    /// `--loose`: a server may restrict the parameters.
    pub loose: bool,
    /// `-n`: nothing is measured.
    pub no_test: bool,
    /// `--df`; absent: the system's choice.
    pub fragments: Option<Fragments>,
    /// `--ttl`; 0: the system's choice.
    pub ttl: i64,
    /// `--wait`.
    pub wait: Wait,
    /// `--timer`.
    pub timer: Timer,
    /// `--fill`.
    pub fill: Fill,
    /// `--fill-one`.
    pub fill_one: bool,
    /// `--hmac`.
    pub key: Option<Key>,
    /// `--thread`.
    pub thread_lock: bool,
    /// `-o`.
    pub output: Option<String>,
    /// `-q`.
    pub quiet: bool,
    /// `-Q`.
    pub really_quiet: bool,
}

/// Reads the words; absent: the version is asked for.
///
/// # Errors
/// Words that do not fit.
pub fn parse(words: &[String]) -> Result<Option<Asked>, Answer> {
    let words = Words::parse(words, ENTRIES).map_err(|why| usage(&why, &help()))?;
    if words.has(Word::Help) {
        return Err(usage("", &help()));
    }
    if words.is_on(Word::Version) {
        return Ok(None);
    }
    let (duration, interval) = (time(words.text(Word::Duration, "1m"))?, time(words.text(Word::Interval, "1s"))?);
    let class = number(words.text(Word::Dscp, "0"), 32).map_err(|why| complaint(&format!("Error: {why}")))?;
    let fragments = match words.text(Word::Df, "default") {
        "default" => None,
        "false" => Some(Fragments::Anywhere),
        "true" => Some(Fragments::Never),
        other => return Err(complaint(&format!("[InvalidDFString] invalid DF string: {other}"))),
    };
    let wait = Wait::parse(words.text(Word::Wait, "3x4s")).map_err(|why| complaint(&why))?;
    let stats = choice("ReceivedStats", &STATS, words.text(Word::Stats, "both"))?;
    let stamp_at = choice("StampAt", &STAMPS, words.text(Word::Tstamp, "both"))?;
    let clock = choice("Clock", &CLOCKS, words.text(Word::Clock, "both"))? + 1;
    timer::check_average(words.text(Word::Tcomp, "exp:0.1")).map_err(|why| complaint(&why))?;
    let timer = Timer::parse(words.text(Word::Timer, "comp")).map_err(|why| complaint(&why))?;
    let fill = Fill::of(words.text(Word::Fill, "none")).map_err(|error| match error {
        FillError::NoSuch(_) => complaint(&error.to_string()),
        FillError::Digits(_) => complaint(&format!("Error: {error}")),
    })?;
    let timeouts: Vec<i64> =
        words.text(Word::Timeouts, "1s,2s,4s,8s").split(',').map(time).collect::<Result<_, _>>()?;
    let key = key(words.text(Word::Hmac, ""))?;
    let [host] = words.operands() else { return Err(usage("", &help())) };
    let (length, sfill) = (words.whole(Word::Length, 0), words.text(Word::Sfill, "").to_owned());
    Ok(Some(Asked {
        host: host.clone(),
        family: match (words.is_on(Word::V4), words.is_on(Word::V6)) {
            (true, false) => Family::V4,
            (false, true) => Family::V6,
            _ => Family::Any,
        },
        local: words.text(Word::Local, ":0").to_owned(),
        parameters: Parameters {
            version: VERSION,
            duration,
            interval,
            length,
            stats,
            stamp_at,
            clock,
            class,
            fill: sfill,
        },
        timeouts,
        loose: words.is_on(Word::Loose),
        no_test: words.is_on(Word::NoTest),
        fragments,
        ttl: words.whole(Word::Ttl, 0),
        wait,
        timer,
        fill,
        fill_one: words.is_on(Word::FillOne),
        key,
        thread_lock: words.is_on(Word::Thread),
        output: Some(words.text(Word::Output, "")).filter(|name| !name.is_empty()).map(str::to_owned),
        quiet: words.is_on(Word::Quiet),
        really_quiet: words.is_on(Word::ReallyQuiet),
    }))
}

/// The counts that a server may be asked for, in the order of their numbers.
pub const STATS: [&str; 4] = ["none", "count", "window", "both"];
/// The times, likewise.
pub const STAMPS: [&str; 5] = ["none", "send", "receive", "both", "midpoint"];
/// The clocks, whose numbers begin with 1.
pub const CLOCKS: [&str; 3] = ["wall", "monotonic", "both"];

/// The name at a place; what was read is one of them.
pub fn named(names: &[&'static str], place: i64) -> &'static str {
    usize::try_from(place).ok().and_then(|place| names.get(place)).copied().unwrap_or("none")
}

fn time(text: &str) -> Result<i64, Answer> {
    duration::parse(text).map_err(|why| complaint(&format!("Error: {why} (use s for seconds)")))
}

/// The place of a name among all.
fn choice(kind: &str, all: &[&str], name: &str) -> Result<i64, Answer> {
    let found = (0..).zip(all).find(|(_, one)| **one == name).map(|(place, _)| place);
    found.ok_or_else(|| complaint(&format!("[Invalid{kind}String] invalid {kind} string: {name}")))
}

/// A key as any text, or in digits behind `0x`; one without octets is none.
fn key(text: &str) -> Result<Option<Key>, Answer> {
    let octets = match text.strip_prefix("0x") {
        Some(digits) => fill::octets(digits).map_err(|why| complaint(&format!("Error: {why}")))?,
        None => text.as_bytes().to_vec(),
    };
    Ok(Some(octets).filter(|octets| !octets.is_empty()).map(|octets| Key::new(&octets)))
}

#[cfg(test)]
mod tests;
