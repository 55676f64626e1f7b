//! The words behind `twping`, by the table of its version 5.2.3.

use std::net::IpAddr;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::str::FromStr;

use endpoint::name::Family;
use measure::method::{Schedule, SourcePorts};
use measure::unit::{Nanos, Rate};
use protocol::twamp;

use crate::command::value::Far;
use crate::persona::answer::Answer;
use crate::persona::getopt::{Entry, GNU, Given, Rules, Scan, flag, perhaps, valued};
use crate::persona::number;

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The host and its port, as typed.
    pub typed: String,
    /// The host, as named.
    pub host: String,
    /// Port of its server; with `light`, of its reflector.
    pub port: u16,
    /// The family of its address.
    pub family: Family,
    /// True where there is no control connection; an option of ours.
    pub light: bool,
    /// `-S`.
    pub source: Option<IpAddr>,
    /// `-B`.
    pub interface: Option<String>,
    /// `-P`: local ports of packets.
    pub ports: Option<SourcePorts>,
    /// `-c`.
    pub count: u32,
    /// `-D`: code point of packets.
    pub class: u8,
    /// `-i`.
    pub schedule: Schedule,
    /// `-L`: a packet without an answer for so long is lost.
    pub timeout: Nanos,
    /// `-s`: octets behind those of a packet.
    pub padding: u32,
    /// `-z`: wait before anything is sent.
    pub delay: Nanos,
    /// What is printed.
    pub form: Form,
    /// The record goes there; an option of ours.
    pub record: Option<PathBuf>,
    /// Options that are passed over for others, in the original's words.
    pub notes: Vec<String>,
}

/// What is printed.
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    /// The kind of it.
    pub mode: Mode,
    /// `-n`.
    pub unit: Unit,
    /// `-a`.
    pub percentiles: Vec<f64>,
    /// `-b`: seconds of a bucket of the histogram.
    pub bucket: f32,
    /// `-N`: packets of each summary; absent: all.
    pub part: Option<u32>,
    /// `-v`: lines of packets, at most so many.
    pub lines: u32,
    /// `-U`: lines and machine-readable summaries have times since 1970.
    pub unix: bool,
}

/// The kind of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// For people.
    Text,
    /// `-M`: names and values.
    Machine,
    /// `-R`: a line of numbers for each packet.
    Raw,
    /// `-Q`: nothing.
    Quiet,
}

/// The unit of times in output for people.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// Its name.
    pub name: &'static str,
    /// How many are a second.
    pub of_a_second: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    V4,
    V6,
    Modes,
    Source,
    Interface,
    Count,
    Class,
    Schedule,
    Timeout,
    Ports,
    Padding,
    Delay,
    Percentiles,
    Bucket,
    Machine,
    Units,
    Part,
    Quiet,
    Raw,
    Verbose,
    Unix,
    Stamp,
    Record,
    Help,
    /// An option that is not taken, and why.
    Refused(&'static str),
}

const ENTRIES: &[Entry<Key>] = &[
    flag(Key::V4, "4", &[], (), ""),
    flag(Key::V6, "6", &[], (), ""),
    valued(Key::Modes, "A", &[], (), ""),
    valued(Key::Source, "S", &[], (), ""),
    valued(Key::Interface, "B", &[], (), ""),
    valued(Key::Count, "c", &[], (), ""),
    valued(Key::Class, "D", &[], (), ""),
    valued(Key::Schedule, "i", &[], (), ""),
    valued(Key::Timeout, "L", &[], (), ""),
    valued(Key::Ports, "P", &[], (), ""),
    valued(Key::Padding, "s", &[], (), ""),
    valued(Key::Delay, "z", &[], (), ""),
    valued(Key::Percentiles, "a", &[], (), ""),
    valued(Key::Bucket, "b", &[], (), ""),
    flag(Key::Machine, "M", &[], (), ""),
    valued(Key::Units, "n", &[], (), ""),
    valued(Key::Part, "N", &[], (), ""),
    flag(Key::Quiet, "Q", &[], (), ""),
    flag(Key::Raw, "R", &[], (), ""),
    perhaps(Key::Verbose, "v", &[], (), ""),
    flag(Key::Unix, "U", &[], (), ""),
    flag(Key::Stamp, "", &["stamp"], (), ""),
    valued(Key::Record, "", &["record"], (), ""),
    flag(Key::Help, "h", &["help"], (), ""),
    valued(Key::Refused("sessions are opened without authentication, so there is no passphrase"), "k", &[], (), ""),
    valued(Key::Refused("sessions are opened without authentication, so there is no user"), "u", &[], (), ""),
    valued(Key::Refused("sessions are stopped when all packets are answered or lost"), "E", &[], (), ""),
    valued(
        Key::Refused("owstats' files are not written: -R prints the same, --record FILE keeps a record"),
        "F",
        &[],
        (),
        "",
    ),
    valued(Key::Refused("summaries are not written into files: send standard output into one"), "d", &[], (), ""),
    flag(Key::Refused("summaries are not written into files: send standard output into one"), "p", &[], (), ""),
    flag(Key::Refused("requests name the addresses of packets"), "Z", &[], (), ""),
];

/// GNU's; long names are ours alone, and whole.
const RULES: Rules = Rules { abbreviations: false, ..GNU };

/// The help, in our words.
pub const HELP: &str = "\
usage: twping [options] HOST[:PORT]
  -c COUNT       packets (default 100, at most 100000)
  -i GAP         seconds from one to the next: mean of random gaps (0.1, 0.1e), or even (0.1f)
  -L SECONDS     a packet without an answer for so long is lost (default 2)
  -s OCTETS      padding of packets (default 27)
  -D DSCP        code point of packets: a number or a name, as EF or AF41
  -P LOW-HIGH    local ports of packets
  -z SECONDS     wait before the first packet
  -S ADDRESS, -B INTERFACE   local address, interface
  -4, -6         IPv4 or IPv6 alone
  -A MODES       modes of authentication: O, without, has to be among them
  -a LIST        percentiles of the round trip, as 90,99.9
  -b SECONDS     bucket of the histogram, of which medians are made (default 0.0001)
  -n UNIT        n, u, m or s
  -N COUNT       a summary for so many packets each
  -v[COUNT]      a line for each packet, or for the first of them
  -U             times since 1970 in these lines
  -M             names and values      -R   a line of numbers for each packet
  -Q             no output             -h   this help
  --stamp        packets to a reflector of STAMP or TWAMP Light, without a control connection (sonde's own)
  --record FILE  the record of the run (sonde's own)
";

/// The most packets: their answers are kept until the end.
const MOST: u32 = 100_000;
/// The original's padding: an answer has so many octets more than a packet.
const PADDING: u32 = 27;
/// The most padding; more is cut down to it, as in the original.
const MOST_PADDING: u32 = 65_000;
/// A packet without an answer for so long is lost, where nothing is said. The original adds the time that its connection took.
const TIMEOUT: Nanos = Nanos::secs(2);
/// Seconds of the shortest gap between packets.
const SHORTEST: f64 = 0.000_01;
/// Seconds of the longest mean of random gaps, and of any other time.
const LONGEST_MEAN: f64 = 10.0;
const LONGEST: f64 = 86_400.0;
/// Words of the original where a number is none.
const WHOLE: &str = "Invalid value. Positive integer expected";

/// Reads the words.
///
/// # Errors
/// The text in place of a run: help, words that do not fit, options that are not taken.
pub fn parse(words: &[String]) -> Result<Asked, Answer> {
    let given = Given::all(Scan::new(words, ENTRIES, RULES)).map_err(|fault| usage(&fault.glibc()))?;
    if given.has(Key::Help) {
        return Err(Answer::said(HELP, 0));
    }
    for entry in given.entries() {
        if let Key::Refused(why) = entry.key {
            return Err(refusal(&format!("-{}", entry.letters), why));
        }
    }
    modes(&given)?;
    let (typed, far) = far(&given)?;
    let (form, notes) = form(&given)?;
    let timeout = seconds(&given, Key::Timeout, "L")?.filter(|time| *time > Nanos::ZERO).unwrap_or(TIMEOUT);
    let (lost, bucket) = (timeout.0 as f64 / 1e9, form.bucket);
    if lost < f64::from(bucket) {
        let what = format!("LossThreshold({lost:.6}) '-L' < BucketWidth ({bucket:.6}) '-b'");
        return Err(complaint(&format!("Invalid test specification: {what}")));
    }
    Ok(Asked {
        typed,
        host: far.host,
        port: far.port.unwrap_or(twamp::PORT),
        family: family(&given)?,
        light: given.has(Key::Stamp),
        source: given.text(Key::Source).map(source).transpose()?,
        interface: given.text(Key::Interface).map(str::to_owned),
        ports: ports(given.text(Key::Ports))?,
        count: count(&given)?,
        class: given.text(Key::Class).map_or(Ok(0), class)?,
        schedule: schedule(given.text(Key::Schedule).unwrap_or("0.1e"))?,
        timeout,
        padding: whole(&given, Key::Padding, WHOLE)?.unwrap_or(PADDING).min(MOST_PADDING),
        delay: seconds(&given, Key::Delay, "z")?.unwrap_or_default(),
        form,
        record: given.path(Key::Record),
        notes,
    })
}

/// A fault, behind the program's name.
pub fn complaint(what: &str) -> Answer {
    Answer::complaint(format!("twping: {what}\n"))
}

/// Words that do not fit: the fault and the help, as in the original.
fn usage(what: &str) -> Answer {
    Answer::complaint(format!("twping: {what}\n{HELP}"))
}

fn refusal(option: &str, why: &str) -> Answer {
    Answer::refusal("twping", option, why)
}

fn modes(given: &Given<Key>) -> Result<(), Answer> {
    let Some(modes) = given.text(Key::Modes) else { return Ok(()) };
    let modes = modes.to_ascii_uppercase();
    if let Some(unknown) = modes.chars().find(|mode| !"AEMO".contains(*mode)) {
        return Err(usage(&format!("Invalid -authmode {unknown}")));
    }
    if modes.contains('O') {
        return Ok(());
    }
    Err(refusal("-A", "only sessions without authentication are opened: O has to be among the modes"))
}

fn far(given: &Given<Key>) -> Result<(String, Far), Answer> {
    let host = match given.operands.as_slice() {
        [host] => host,
        [host, server] if server == host => host,
        [_, server] => {
            return Err(refusal(server, "the server is the host that packets go to: name that one alone"));
        }
        _ => return Err(Answer::complaint(HELP)),
    };
    let far = host.parse().map_err(|why: String| refusal(host, &why))?;
    Ok((host.clone(), far))
}

fn family(given: &Given<Key>) -> Result<Family, Answer> {
    match (given.has(Key::V4), given.has(Key::V6)) {
        (true, true) => Err(complaint("-4 and -6 flags cannot be set together")),
        (true, false) => Ok(Family::V4),
        (false, true) => Ok(Family::V6),
        (false, false) => Ok(Family::Any),
    }
}

fn source(text: &str) -> Result<IpAddr, Answer> {
    text.parse().map_err(|_| refusal("-S", "takes an address of this host; an interface is named by -B"))
}

fn whole<N: FromStr>(given: &Given<Key>, key: Key, fault: &str) -> Result<Option<N>, Answer> {
    given.text(key).map(|text| number::whole(text).ok_or_else(|| usage(fault))).transpose()
}

fn count(given: &Given<Key>) -> Result<u32, Answer> {
    let count = whole(given, Key::Count, WHOLE)?.unwrap_or(100);
    let fits = (1..=MOST).contains(&count);
    if fits { Ok(count) } else { Err(refusal("-c", &format!("takes 1 to {MOST} packets: their answers are kept"))) }
}

fn seconds(given: &Given<Key>, key: Key, letter: &str) -> Result<Option<Nanos>, Answer> {
    let Some(text) = given.text(key) else { return Ok(None) };
    let seconds = number::decimal(text).filter(|seconds| *seconds <= LONGEST);
    let seconds = seconds.ok_or_else(|| usage(&format!("Invalid '-{letter}' value. Positive float expected")))?;
    Ok(Some(nanos(seconds)))
}

fn nanos(seconds: f64) -> Nanos {
    Nanos((seconds * 1e9).round() as u64)
}

fn ports(text: Option<&str>) -> Result<Option<SourcePorts>, Answer> {
    let Some(text) = text.filter(|text| *text != "0") else { return Ok(None) };
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let ports = number::whole(first.trim()).zip(number::whole(last.trim()));
    let ports = ports.filter(|(first, last): &(u16, u16)| *first > 0 && first <= last);
    let (first, last) = ports.ok_or_else(|| usage("Invalid test port range specified."))?;
    Ok(Some(SourcePorts { first, last }))
}

/// The code point of a number, or of a name of RFC 4594.
fn class(text: &str) -> Result<u8, Answer> {
    let name = text.trim().to_ascii_lowercase();
    let named = match &*name {
        "none" | "default" | "df" => Some(0),
        _ => number::code_point(&name).map(|octet| octet >> 2),
    };
    let class = number::octet(&name).filter(|class| *class < 64).or(named);
    class.ok_or_else(|| complaint(&format!("Invalid DSCP value (-D): \"{text}\": Invalid argument")))
}

fn schedule(text: &str) -> Result<Schedule, Answer> {
    if text.contains(',') {
        return Err(refusal("-i", "takes one gap: several in turn are not taken"));
    }
    let lower = text.to_ascii_lowercase();
    let even = lower.strip_suffix('f');
    let seconds = number::decimal(even.unwrap_or(lower.strip_suffix('e').unwrap_or(&lower)));
    let seconds = seconds.ok_or_else(|| usage("Invalid Schedule."))?;
    let longest = if even.is_some() { LONGEST } else { LONGEST_MEAN };
    if !(SHORTEST..=longest).contains(&seconds) {
        return Err(refusal("-i", &format!("takes {SHORTEST} to {longest} seconds here")));
    }
    let rate = NonZeroU64::new((1e3 / seconds).round() as u64).filter(|_| even.is_none());
    let even = Schedule::Every { interval_ns: nanos(seconds) };
    Ok(rate.map_or(even, |rate| Schedule::Poisson { rate_per_1000s: Rate(rate) }))
}

fn form(given: &Given<Key>) -> Result<(Form, Vec<String>), Answer> {
    let (raw, machine) = (given.has(Key::Raw), given.has(Key::Machine));
    let quiet = raw || given.has(Key::Quiet);
    let lines = match (given.has(Key::Verbose), given.text(Key::Verbose)) {
        (false, _) => 0,
        (true, None | Some("0")) => u32::MAX,
        (true, Some(text)) => {
            let lines = number::whole(text);
            lines.ok_or_else(|| usage("Invalid \"-v\" value. Positive integer expected"))?
        }
    };
    let passed_over = [
        (lines > 0 && quiet, "-v", "-Q"),
        (machine && quiet, "-M", "-Q"),
        (lines > 0 && machine && !quiet, "-v", "-M"),
    ];
    let passed_over = passed_over.into_iter().filter(|(is_so, ..)| *is_so);
    let notes = passed_over.map(|(_, option, other)| format!("Ignoring '{option}', '{other}' set")).collect();
    let mode = match (raw, quiet, machine) {
        (true, ..) => Mode::Raw,
        (_, true, _) => Mode::Quiet,
        (.., true) => Mode::Machine,
        _ => Mode::Text,
    };
    let form = Form {
        mode,
        unit: unit(given.text(Key::Units))?,
        percentiles: percentiles(given.text(Key::Percentiles))?,
        bucket: bucket(given.text(Key::Bucket))?,
        part: whole(given, Key::Part, "Invalid \"-N\" value. Positive integer expected")?.filter(|part| *part > 0),
        lines,
        unix: given.has(Key::Unix),
    };
    Ok((form, notes))
}

fn unit(text: Option<&str>) -> Result<Unit, Answer> {
    let letter = text.unwrap_or("m").chars().next().map(|letter| letter.to_ascii_lowercase());
    let (name, of_a_second) = match letter {
        Some('m') => ("ms", 1e3),
        Some('n') => ("ns", 1e9),
        Some('u') => ("us", 1e6),
        // As the original has it: without a name.
        Some('s') => ("", 1.0),
        _ => return Err(usage("Invalid '-n' value.")),
    };
    Ok(Unit { name, of_a_second })
}

/// In single precision, as the original has it.
fn single(text: &str) -> Option<f32> {
    number::decimal(text).and_then(|_| text.parse().ok())
}

fn percentiles(text: Option<&str>) -> Result<Vec<f64>, Answer> {
    let Some(text) = text else { return Ok(Vec::new()) };
    let share = |word: &str| single(word).filter(|share| *share <= 100.0).map(f64::from);
    text.split(',').map(share).collect::<Option<_>>().ok_or_else(|| usage("Invalid '-a' alpha list ."))
}

fn bucket(text: Option<&str>) -> Result<f32, Answer> {
    let Some(text) = text else { return Ok(0.0001) };
    single(text).filter(|width| *width > 0.0).ok_or_else(|| usage("Invalid '-b' value. Positive float expected"))
}

#[cfg(test)]
mod tests;
