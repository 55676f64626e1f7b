//! The command line, read as the original reads it: short options, alone or together, before and behind the destination.
//!
//! An option that cannot be honoured is refused with a sentence, never passed over. Long options are ours.

mod number;
mod pattern;
pub mod usage;

use std::net::IpAddr;
use std::path::PathBuf;

use endpoint::name::Family;
use endpoint::socket::icmp::Fragments;
use measure::method::Pacing;
use measure::unit::Nanos;

use self::number::{octet_of, seconds, whole};
use crate::persona::answer::Answer;
use crate::persona::getopt::{Called, Entry, Fault, GNU, Item, Rules, Scan, Takes, Why, alike};
use crate::persona::own;

/// A request leaves so often where nothing else was said.
pub const INTERVAL: Nanos = Nanos::secs(1);
/// Replies are waited for so long where nothing has come at all.
pub const LINGER: Nanos = Nanos::secs(10);
/// The largest payload that fits an IPv4 packet, octets.
pub const LARGEST: u32 = 65_507;

/// Options of a run.
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own, on or off by itself")]
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Host to ask, as it was typed.
    pub destination: String,
    /// `-4`, `-6`.
    pub family: Family,
    /// `-a`: each reply rings.
    pub audible: bool,
    /// `-A`: as fast as replies come.
    pub adaptive: bool,
    /// `-b`: a broadcast address is meant.
    pub broadcast: bool,
    /// `-B`: the source address stays.
    pub sticky: bool,
    /// `-c`: the end, counted in replies.
    pub count: Option<u64>,
    /// `-C`: the socket is connected.
    pub connect: bool,
    /// `-d`.
    pub debug: bool,
    /// `-D`: each line says when.
    pub timestamps: bool,
    /// `-e`: the identifier.
    pub identifier: Option<u16>,
    /// `-f`: dots, and as fast as replies come where no interval was said.
    pub flood: bool,
    /// `-i`; absent: not said.
    pub interval: Option<Nanos>,
    /// `-I` with an address.
    pub source: Option<IpAddr>,
    /// `-I` with the name of an interface.
    pub interface: Option<String>,
    /// `-l`: so many leave without waiting.
    pub preload: u32,
    /// `-L`: requests to groups do not come back.
    pub no_loopback: bool,
    /// `-m`: the firewall mark.
    pub mark: Option<u32>,
    /// `-M`.
    pub fragments: Option<Fragments>,
    /// `-n`: addresses are not looked up.
    pub numeric: bool,
    /// `-O`: the unanswered are told.
    pub outstanding: bool,
    /// `-p`: the octets of the payload, in turn; empty: their places.
    pub pattern: Vec<u8>,
    /// `-q`.
    pub quiet: bool,
    /// `-Q`: the type of service.
    pub tos: Option<u8>,
    /// `-r`: only the own link.
    pub link_only: bool,
    /// `-R`, `-T`: what hops are asked to write into the header.
    pub asked_of_hops: Option<AskedOfHops>,
    /// `-s`: octets of payload.
    pub size: u32,
    /// `-S`: octets of the send buffer.
    pub send_buffer: Option<u32>,
    /// `-t`.
    pub ttl: Option<u8>,
    /// `-U`: times are those of this program, not of the kernel.
    pub user_to_user: bool,
    /// `-v`.
    pub verbose: bool,
    /// `-w`: the end, whatever came.
    pub deadline: Option<Nanos>,
    /// `-W`: how long replies are waited for where nothing came; zero: for ever.
    pub linger: Option<Nanos>,
    /// Options that the original has not.
    pub own: Own,
}

/// Facts that hops are asked to write into the IP header of requests and replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedOfHops {
    /// Their addresses.
    Route,
    /// The time of day.
    Times,
    /// Both.
    TimesAndAddresses,
}

/// Options of our own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Own {
    /// `--record FILE`.
    pub record: Option<PathBuf>,
    /// `--json`: the record on standard output, and nothing else there.
    pub json: bool,
    /// `--pacing`.
    pub pacing: Option<Pacing>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            destination: String::new(),
            family: Family::Any,
            audible: false,
            adaptive: false,
            broadcast: false,
            sticky: false,
            count: None,
            connect: false,
            debug: false,
            timestamps: false,
            identifier: None,
            flood: false,
            interval: None,
            source: None,
            interface: None,
            preload: 1,
            no_loopback: false,
            mark: None,
            fragments: None,
            numeric: false,
            outstanding: false,
            pattern: Vec::new(),
            quiet: false,
            tos: None,
            link_only: false,
            asked_of_hops: None,
            size: 56,
            send_buffer: None,
            ttl: None,
            user_to_user: false,
            verbose: false,
            deadline: None,
            linger: None,
            own: Own::default(),
        }
    }
}

impl Options {
    /// Returns true where requests leave as replies come: `-f` without an interval, `-i 0`.
    pub fn floods(&self) -> bool {
        !self.adaptive && self.interval.map_or(self.flood, |interval| interval == Nanos::ZERO)
    }

    /// From one request to the next, where replies do not decide.
    pub fn interval(&self) -> Nanos {
        self.interval.unwrap_or(INTERVAL)
    }

    /// Returns true where a payload has room for the original's time stamp: without it no times are shown.
    pub fn times(&self) -> bool {
        self.size >= 16
    }
}

const ENTRIES: &[Entry<()>] = &[
    alike(Takes::Nothing, "46aAbBCdDfLnOqrRUvVh?", &[]),
    alike(Takes::Value, "ceiIlmMNpQsStTFwW", &["record", "pacing"]),
    // A value behind a `=` is passed over.
    alike(Takes::Perhaps, "", &["json", "help", "version"]),
];

/// GNU's; long names are ours alone, and whole.
const RULES: Rules = Rules { abbreviations: false, ..GNU };

/// Reads the words behind the program's name.
///
/// # Errors
/// The text that is printed in place of a run: help, version, or the fault.
pub fn parse(words: &[String]) -> Result<Options, Answer> {
    let mut options = Options::default();
    let mut destinations = Vec::new();
    for item in Scan::new(words, ENTRIES, RULES) {
        match item.map_err(|fault| complaint(&fault))? {
            Item::Option(_, Called::Letter(letter), None) => flag(&mut options, letter)?,
            Item::Option(_, Called::Letter(letter), Some(value)) => valued(&mut options, letter, &value)?,
            Item::Option(_, Called::Name(name), value) => ours(&mut options, name, value.unwrap_or_default())?,
            Item::Operand(word) => destinations.push(word),
        }
    }
    let mut destinations = destinations.into_iter();
    options.destination =
        destinations.next().ok_or_else(|| complain(1, "usage error: Destination address required"))?;
    if destinations.next().is_some() {
        let why = "several destinations are a route through all of them, which routers refuse everywhere: name the last one alone";
        return Err(complain(2, why));
    }
    together(&options)?;
    Ok(options)
}

/// The complaint of a word: the original's, but for long names.
fn complaint(fault: &Fault) -> Answer {
    match (fault.why, fault.letter) {
        (Why::NoValue, None) => complain(2, &format!("{} takes a value", fault.typed())),
        (_, None) => usage::wrong(&format!("no option {}", fault.typed())),
        _ => usage::wrong(&fault.glibc()),
    }
}

fn flag(options: &mut Options, letter: char) -> Result<(), Answer> {
    match letter {
        '4' | '6' => {
            let family = if letter == '4' { Family::V4 } else { Family::V6 };
            if options.family != Family::Any && options.family != family {
                return Err(complain(2, "only one -4 or -6 option may be specified"));
            }
            options.family = family;
        }
        'a' => options.audible = true,
        'A' => options.adaptive = true,
        'b' => options.broadcast = true,
        'B' => options.sticky = true,
        'C' => options.connect = true,
        'd' => options.debug = true,
        'D' => options.timestamps = true,
        'f' => options.flood = true,
        'L' => options.no_loopback = true,
        'n' => options.numeric = true,
        'O' => options.outstanding = true,
        'q' => options.quiet = true,
        'r' => options.link_only = true,
        'R' => ask_hops(options, AskedOfHops::Route)?,
        'U' => options.user_to_user = true,
        'v' => options.verbose = true,
        'V' => return Err(usage::version()),
        _ => return Err(usage::help()),
    }
    Ok(())
}

fn valued(options: &mut Options, letter: char, value: &str) -> Result<(), Answer> {
    let of_32_bits = |least, most| whole(value, least, most).map(|number| u32::try_from(number).unwrap_or(u32::MAX));
    match letter {
        'c' => options.count = Some(whole(value, 1, i64::MAX)?.unsigned_abs()),
        'e' => options.identifier = Some(whole(value, 0, i64::from(u16::MAX))? as u16),
        'i' => options.interval = Some(seconds(value).ok_or_else(|| bad("timing interval", value))?),
        'I' => match value.parse::<IpAddr>() {
            Ok(address) => options.source = Some(address),
            Err(_) => options.interface = Some(value.to_owned()),
        },
        'l' => options.preload = of_32_bits(1, 65_536)?,
        'm' => options.mark = Some(of_32_bits(0, i64::from(u32::MAX))?),
        'M' => {
            options.fragments = Some(match value {
                "do" => Fragments::Never,
                "dont" => Fragments::Anywhere,
                "want" => Fragments::Here,
                _ => return Err(complain(2, &format!("invalid -M argument: {value}"))),
            });
        }
        'N' => {
            return Err(complain(
                2,
                "-N: node information queries (RFC 4620) are not spoken here, nor answered by Linux",
            ));
        }
        'p' => options.pattern = pattern::read(value)?,
        'Q' => options.tos = Some(octet_of(value)?),
        's' => {
            options.size = of_32_bits(0, i64::from(i32::MAX))?;
            if options.size > LARGEST {
                let why = format!("-s {value}: a packet takes {LARGEST} octets of payload at most");
                return Err(complain(1, &why));
            }
        }
        'S' => options.send_buffer = Some(of_32_bits(1, i64::from(i32::MAX))?),
        't' => options.ttl = Some(whole(value, 0, 255)? as u8),
        'T' => {
            let asked = match value {
                "tsonly" => AskedOfHops::Times,
                "tsandaddr" => AskedOfHops::TimesAndAddresses,
                "tsprespec" => {
                    return Err(complain(2, "-T tsprespec: hops are not named beforehand here: -T tsandaddr"));
                }
                _ => return Err(complain(2, &format!("invalid timestamp type: {value}"))),
            };
            ask_hops(options, asked)?;
        }
        'F' => {
            return Err(complain(
                2,
                "-F: flow labels are left to the kernel here, which gives each run one of its own",
            ));
        }
        'w' => {
            let deadline = whole(value, 0, i64::from(i32::MAX))?.unsigned_abs();
            options.deadline = (deadline > 0).then(|| Nanos::secs(deadline));
        }
        _ => options.linger = Some(seconds(value).ok_or_else(|| bad("linger time", value))?),
    }
    Ok(())
}

fn ask_hops(options: &mut Options, asked: AskedOfHops) -> Result<(), Answer> {
    match options.asked_of_hops.replace(asked) {
        Some(before) if before != asked => Err(complain(2, "only one of -T or -R may be used")),
        _ => Ok(()),
    }
}

/// Options of our own.
fn ours(options: &mut Options, name: &str, value: String) -> Result<(), Answer> {
    match name {
        "record" => options.own.record = Some(value.into()),
        "json" => options.own.json = true,
        "pacing" => {
            let why = || complain(2, &format!("--pacing {value}: {}", own::PACINGS));
            options.own.pacing = Some(own::pacing(&value).ok_or_else(why)?);
        }
        "help" => return Err(Answer::said(usage::text(), 0)),
        _ => return Err(usage::version()),
    }
    Ok(())
}

/// Refuses options that make no sense together.
fn together(options: &Options) -> Result<(), Answer> {
    if options.own.pacing.is_some() && (options.floods() || options.adaptive) {
        return Err(complain(2, "--pacing: there is nothing to pace where replies decide: say an interval"));
    }
    Ok(())
}

fn bad(what: &str, value: &str) -> Answer {
    complain(2, &format!("bad {what}: {value}"))
}

/// Complaint about a fault, in the original's form.
pub fn complain(status: u8, what: &str) -> Answer {
    Answer { stdout: String::new(), stderr: format!("ping: {what}\n"), status }
}

#[cfg(test)]
mod tests;
