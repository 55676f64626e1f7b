//! Values as people type them on a command line, beyond the times, sizes and rates of `measure::unit`.

use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{PossibleValue, TypedValueParser, ValueParserFactory};
use measure::method::{Settled, SourcePorts, Waiting};
use measure::unit::Nanos;
use report::samples;

use crate::command::pages::Form;

/// The time that the kernel polls where `busy-poll` comes without one, in microseconds: the value of the kernel's own
/// documentation for `net.core.busy_read`.
pub const BUSY_POLL_MICROS: u32 = 50;

/// The far side: a name or an address, and a port where one was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Far {
    /// Name or address, without brackets.
    pub host: String,
    /// The port written behind it.
    pub port: Option<u16>,
}

impl FromStr for Far {
    type Err = String;

    /// `name`, `name:7663`, `10.0.0.2:7663`, `fe80::1%eth0`, `[fe80::1]:7663`. A bare IPv6 address has no port.
    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains("://") {
            return Err("is a URL: `sonde rtt URL` asks a program in its own protocol, and only that takes one".into());
        }
        let (host, port) = split_port(text)?;
        if host.is_empty() || host.contains(char::is_whitespace) {
            return Err("is not a host: write a name or an address, as in 10.0.0.2, db1:7663 or [fd00::2]:7663".into());
        }
        Ok(Self { host: host.to_owned(), port })
    }
}

fn split_port(text: &str) -> Result<(&str, Option<u16>), String> {
    if let Some(inner) = text.strip_prefix('[') {
        let (host, rest) = inner.split_once(']').ok_or("has a `[` without its `]`")?;
        if !is_ipv6(host) {
            return Err("has brackets around what is not an IPv6 address".into());
        }
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(port_number(port)?))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err("has something else than :PORT behind the `]`".into()),
        };
    }
    match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') => Ok((host, Some(port_number(port)?))),
        Some(_) if !is_ipv6(text) => Err("is not an IPv6 address; with a port it is written [ADDRESS]:PORT".into()),
        _ => Ok((text, None)),
    }
}

/// The address and the port that an IPv6 address without brackets may have been meant as: `fd00::2:7663` is one address,
/// and `fd00::2` another.
pub fn port_in_address(host: &str) -> Option<(&str, u16)> {
    let (address, group) = host.rsplit_once(':')?;
    let port = port_number(group).ok()?;
    is_ipv6(address).then_some((address, port))
}

fn is_ipv6(text: &str) -> bool {
    text.split('%').next().is_some_and(|address| address.parse::<Ipv6Addr>().is_ok())
}

fn port_number(text: &str) -> Result<u16, String> {
    text.parse()
        .ok()
        .filter(|port| *port > 0)
        .ok_or_else(|| format!("has `{text}` for a port: it goes from 1 to 65535"))
}

/// Address of a reflector: an address, and a port where one was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listen {
    /// The local address.
    pub address: IpAddr,
    /// The port; 0 lets the system choose one.
    pub port: Option<u16>,
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(address) = text.parse::<std::net::SocketAddr>() {
            return Ok(Self { address: address.ip(), port: Some(address.port()) });
        }
        let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
        match bare.parse() {
            Ok(address) => Ok(Self { address, port: None }),
            Err(_) => Err("is not a local address: write 10.0.0.2, 0.0.0.0:7663, :: or [::1]:7663".into()),
        }
    }
}

/// CPUs by number, as in `0,2-3`: in this order, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuList(pub Vec<u32>);

impl FromStr for CpuList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fault = || "is not a list of CPUs: write numbers and ranges, as in 0,2-3".to_owned();
        let number = |text: &str| text.trim().parse::<u32>().ok().filter(|cpu| *cpu < 65_536).ok_or_else(fault);
        let mut cpus = Vec::new();
        for part in text.split(',') {
            let (first, last) = match part.split_once('-') {
                Some((first, last)) => (number(first)?, number(last)?),
                None => (number(part)?, number(part)?),
            };
            if first > last {
                return Err(fault());
            }
            for cpu in first..=last {
                if cpus.contains(&cpu) {
                    return Err(format!("names CPU {cpu} twice"));
                }
                cpus.push(cpu);
            }
        }
        Ok(Self(cpus))
    }
}

/// `p99±5%`, `p99+-5%`, `p99:5%`, or `p99` alone: until the printing rule prints it.
pub fn settled(text: &str) -> Result<Settled, String> {
    let fault = || "is not a quantile to settle: write p99±5% (or p99:5%), or p99 alone".to_owned();
    let (quantile, within) = ["±", "+-", ":"]
        .iter()
        .find_map(|mark| text.split_once(mark))
        .map_or((text, None), |(quantile, within)| (quantile, Some(within)));
    let percent = |text: &str| text.trim().parse::<f64>().ok().filter(|p| *p > 0.0 && *p < 100.0).ok_or_else(fault);
    let quantile = match quantile.trim() {
        "median" => 50.0,
        name => percent(name.strip_prefix('p').ok_or_else(fault)?)?,
    };
    let within = within.map(|text| percent(text.trim().strip_suffix('%').ok_or_else(fault)?)).transpose()?;
    Ok(Settled { quantile: as_share(quantile), within: within.map(as_share) })
}

/// A percentage as a share, free of the error that dividing leaves: 99.9 % is 0.999 and not its neighbour.
fn as_share(percent: f64) -> f64 {
    let text = format!("{:.9}", percent / 100.0);
    text.parse().unwrap_or(percent / 100.0)
}

/// A count as people type it: `1000`, `10k`, `1.5M`.
pub fn count(text: &str) -> Result<u64, String> {
    let fault = || "is not a count: write a whole number, as in 1000, 10k or 1.5M".to_owned();
    let (digits, scale) = match text.trim() {
        t if t.ends_with(['k', 'K']) => (&t[..t.len() - 1], 1_000_u64),
        t if t.ends_with('M') => (&t[..t.len() - 1], 1_000_000),
        t => (t, 1),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !all_digits(whole) || !all_digits(part) || part.len() > 6 {
        return Err(fault());
    }
    let fraction = part.parse::<u64>().unwrap_or(0) * scale;
    let unit = 10_u64.pow(part.len() as u32);
    if !fraction.is_multiple_of(unit) {
        return Err(fault());
    }
    let whole = whole.parse::<u64>().ok().and_then(|n| n.checked_mul(scale)).ok_or_else(fault)?;
    whole.checked_add(fraction / unit).ok_or_else(fault)
}

/// A time that may be none at all: `0`, or as [`Nanos`].
pub fn time_or_none(text: &str) -> Result<Nanos, String> {
    if text.trim() == "0" {
        return Ok(Nanos::ZERO);
    }
    text.parse().map_err(|error| reason(&error))
}

/// A time with its unit.
pub fn time(text: &str) -> Result<Nanos, String> {
    text.parse().map_err(|error| reason(&error))
}

/// The reason without the text that was typed: clap says that already.
fn reason(error: &measure::unit::UnitError) -> String {
    error.expected.to_string()
}

/// A size.
pub fn size(text: &str) -> Result<measure::unit::Bytes, String> {
    text.parse().map_err(|error| reason(&error))
}

/// A rate.
pub fn rate(text: &str) -> Result<measure::unit::Rate, String> {
    text.parse().map_err(|error| reason(&error))
}

/// A run's length: bare seconds, or a time with its unit.
pub fn run_length(text: &str) -> Result<Nanos, String> {
    measure::unit::run_length(text).map_err(|error| reason(&error))
}

/// The names of differentiated-services code points (RFC 2474, 2597, 3246, 8622) and their six bits.
const DSCP: [(&str, u8); 23] = [
    ("cs0", 0),
    ("le", 1),
    ("cs1", 8),
    ("af11", 10),
    ("af12", 12),
    ("af13", 14),
    ("cs2", 16),
    ("af21", 18),
    ("af22", 20),
    ("af23", 22),
    ("cs3", 24),
    ("af31", 26),
    ("af32", 28),
    ("af33", 30),
    ("cs4", 32),
    ("af41", 34),
    ("af42", 36),
    ("af43", 38),
    ("cs5", 40),
    ("va", 44),
    ("ef", 46),
    ("cs6", 48),
    ("cs7", 56),
];

/// A code point by name (`ef`, `af21`, `cs5`) or number from 0 to 63.
pub fn dscp(text: &str) -> Result<u8, String> {
    let name = text.to_ascii_lowercase();
    let named = DSCP.iter().find(|(known, _)| *known == name).map(|(_, bits)| *bits);
    named
        .or_else(|| number(&name).filter(|bits| *bits < 64))
        .ok_or_else(|| "is not a code point: write a number from 0 to 63, or a name such as ef, cs5 or af21".into())
}

/// Local ports: one, or the first and the last of a range.
pub fn source_ports(text: &str) -> Result<SourcePorts, String> {
    let (first, last) = text.split_once("..").or_else(|| text.split_once('-')).unwrap_or((text, text));
    let port = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0);
    match (port(first), port(last)) {
        (Some(first), Some(last)) if first <= last => Ok(SourcePorts { first, last }),
        (Some(_), Some(_)) => Err("runs backwards: write the lower port first, as in 40000..40063".into()),
        _ => Err("is not a port: write a number from 1 to 65535, or a range such as 40000..40063".into()),
    }
}

/// A type-of-service octet, decimal or hexadecimal.
pub fn tos(text: &str) -> Result<u8, String> {
    number(text).ok_or_else(|| "is not an octet: write a number from 0 to 255, or 0x00 to 0xff".into())
}

fn number(text: &str) -> Option<u8> {
    match text.strip_prefix("0x") {
        Some(digits) => u8::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The wait mode of an end, as it is typed: `block`, `spin`, `busy-poll` or `busy-poll=US`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingWord(pub Waiting);

impl FromStr for WaitingWord {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fault =
            || "is not a way to wait: write block, spin, or busy-poll=US with the microseconds to poll".to_owned();
        let waiting = match text.split_once('=') {
            None if text == "block" => Waiting::Block,
            None if text == "spin" => Waiting::Spin,
            None if text == "busy-poll" => Waiting::BusyPoll { micros: BUSY_POLL_MICROS },
            Some(("busy-poll", micros)) => {
                let micros = micros.strip_suffix("us").unwrap_or(micros).parse().map_err(|_| fault())?;
                Waiting::BusyPoll { micros: Some(micros).filter(|m| (1..=1_000_000).contains(m)).ok_or_else(fault)? }
            }
            _ => return Err(fault()),
        };
        Ok(Self(waiting))
    }
}

impl ValueParserFactory for WaitingWord {
    type Parser = WaitingParser;

    fn value_parser() -> WaitingParser {
        WaitingParser
    }
}

/// Reads a [`WaitingWord`] and tells completions the words there are.
#[derive(Clone, Debug)]
pub struct WaitingParser;

impl TypedValueParser for WaitingParser {
    type Value = WaitingWord;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<WaitingWord, clap::Error> {
        TypedValueParser::parse_ref(&|text: &str| text.parse::<WaitingWord>(), command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(["block", "spin", "busy-poll"].into_iter().map(PossibleValue::new)))
    }
}

/// A file to write, its format told by its ending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The file.
    pub path: PathBuf,
    /// Its content.
    pub format: Format,
}

/// The content of a file of `-o`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The record.
    Json,
    /// Events, one a line.
    JsonLines,
    /// The text for people.
    Text,
    /// The page or chart that `sonde report` makes of the record.
    Report(Form),
}

impl FromStr for Destination {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let path = PathBuf::from(text);
        let format = match path.extension().and_then(|e| e.to_str()) {
            Some("json") => Format::Json,
            Some("jsonl") => Format::JsonLines,
            Some("txt") => Format::Text,
            _ => Format::Report(Form::of(&path).ok_or(
                "ends in no format we write: .json (record), .jsonl (events), .txt, .html (a page), .svg or .png (a chart)",
            )?),
        };
        Ok(Self { path, format })
    }
}

/// A file for every exchange, its format told by its ending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleFile {
    /// The file.
    pub path: PathBuf,
    /// Its content.
    pub format: samples::Format,
}

impl FromStr for SampleFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let path = PathBuf::from(text);
        let format = samples::Format::of(&path).map_err(|_| "ends in no format of samples: .csv or .parquet")?;
        Ok(Self { path, format })
    }
}

#[cfg(test)]
mod tests;
