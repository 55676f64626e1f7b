//! A list of keys: a TOML file that says who may use a server, and for what.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::num::NonZeroU64;
use std::str::FromStr;

use endpoint::reflector::budget::{Bounds, Budget};
use endpoint::reflector::permit::{MOST_KEYS, Permit};
use endpoint::serve::gate::Gate;
use ipnet::IpNet;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use measure::method::Pattern;
use measure::unit::{Bytes, Nanos, Rate};
use protocol::native::identity::{self, Public};
use protocol::native::key::{Holder, Key, PREFIX};
use protocol::native::limits::Limits;
use serde::{Deserialize, Deserializer};
use toml::Spanned;
use toml::value::Datetime;

use crate::command::throughput::words::BitRate;
use crate::failure::Failure;

/// Letters of a name at most.
const LONGEST_NAME: usize = 64;
/// Beginning of each key's table.
pub const TABLE: &str = "[[keys]]";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    keys: Vec<Spanned<Entry>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    key: Option<Secret>,
    public: Option<PublicPart>,
    patterns: Option<Vec<PatternWord>>,
    #[serde(default)]
    networks: Vec<Network>,
    expires: Option<Moment>,
    max_sessions: Option<u32>,
    max_connections: Option<u32>,
    #[serde(default, deserialize_with = "parsed")]
    max_rate: Option<Rate>,
    #[serde(default, deserialize_with = "parsed")]
    max_total_rate: Option<Rate>,
    #[serde(default, deserialize_with = "parsed")]
    max_bandwidth: Option<BitRate>,
    #[serde(default, deserialize_with = "parsed")]
    max_duration: Option<Nanos>,
    #[serde(default, deserialize_with = "parsed")]
    max_memory: Option<Bytes>,
    #[serde(default, deserialize_with = "parsed")]
    max_size: Option<Bytes>,
    #[serde(default = "granted")]
    spin: bool,
    #[serde(default = "granted")]
    pin: bool,
    max_pin: Option<u32>,
    facts: Option<bool>,
}

fn granted() -> bool {
    true
}

/// Its `Debug` shows nothing of it.
#[derive(Debug)]
struct Secret(Key);

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Key::parse(&text).map(Self).map_err(serde::de::Error::custom)
    }
}

#[derive(Debug)]
struct PublicPart(Public);

impl<'de> Deserialize<'de> for PublicPart {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Public::parse(&text).map(Self).map_err(serde::de::Error::custom)
    }
}

#[derive(Debug)]
struct Network(IpNet);

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let network = super::serve::options::network(&text);
        network.map(Self).map_err(|why| serde::de::Error::custom(format!("`{}` {why}", text.escape_debug())))
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PatternWord {
    Exchange,
    ConnectExchange,
    Stream,
}

/// Letters of a day, as 2027-01-31.
const DAY: usize = 10;

/// The start of a day is that of UTC.
#[derive(Clone, Copy, Debug)]
struct Moment(Timestamp);

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Datetime::deserialize(from)?.to_string();
        let day = || text.parse::<Date>().and_then(|day| day.to_zoned(TimeZone::UTC)).map(|day| day.timestamp());
        let moment = text.parse().ok().or_else(|| if text.len() == DAY { day().ok() } else { None });
        moment.map(Self).ok_or_else(|| {
            let words = "expected a day or a moment with its offset: 2027-01-31 or 2027-01-31T12:00:00Z";
            serde::de::Error::custom(words)
        })
    }
}

fn parsed<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(from: D) -> Result<Option<T>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    text.map(|text| text.parse().map_err(serde::de::Error::custom)).transpose()
}

/// One key of a list.
#[derive(Debug)]
pub struct Listed {
    /// Holder of the key.
    pub holder: Holder,
    /// Its name and its rights, within those of all.
    pub permit: Permit,
}

impl Listed {
    /// Its name.
    pub fn name(&self) -> &str {
        self.permit.name.as_deref().unwrap_or_default()
    }
}

/// Returns true where `text` is a list of keys rather than one key.
pub fn is_list(text: &str) -> bool {
    first_line(text).is_some_and(|line| line.starts_with('[') || line.starts_with("keys"))
}

/// Returns true where `text` holds nothing.
pub fn is_bare(text: &str) -> bool {
    first_line(text).is_none()
}

fn first_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The keys of `text`, the file `name`; what is not said of one is as `usual`.
///
/// # Errors
/// The first fault, with its line. No error repeats a key.
pub fn read(text: &str, name: &str, usual: &Permit) -> Result<Vec<Listed>, Failure> {
    let fault = |at: usize, what: String| {
        let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
        Failure::usage(format!("{name}, line {line}: {what}"))
            .hint("docs/howto/keys.md has each word of a list")
            .about(name)
    };
    let document: Document = toml::from_str(text).map_err(|error| {
        // A word in a wrong place may be a key.
        let what = if [PREFIX, identity::PREFIX].iter().any(|secret| error.message().contains(secret)) {
            "a key in the place of something else"
        } else {
            error.message()
        };
        fault(error.span().map_or(0, |span| span.start), what.to_owned())
    })?;
    if document.keys.len() > MOST_KEYS {
        return Err(fault(0, format!("{} keys, and {MOST_KEYS} may be in a list", document.keys.len())));
    }
    let mut names = BTreeSet::new();
    let mut listed: Vec<Listed> = Vec::new();
    for entry in document.keys {
        let at = entry.span().start;
        let entry = entry.into_inner();
        if entry.name.is_empty()
            || entry.name.contains(|letter: char| letter.is_control() || letter == '/')
            || entry.name.chars().count() > LONGEST_NAME
        {
            let what = format!("a key's name has 1 to {LONGEST_NAME} letters, no slash and no control character");
            return Err(fault(at, what));
        }
        if !names.insert(entry.name.clone()) {
            return Err(fault(at, format!("a second key `{}`", entry.name)));
        }
        let holder = match (&entry.key, &entry.public) {
            (Some(key), None) => Holder::PreShared(key.0.clone()),
            (None, Some(public)) => Holder::Identity(public.0),
            _ => return Err(fault(at, format!("key `{}` has either `key` or `public`", entry.name))),
        };
        if let Some(other) = listed.iter().find(|other| other.holder == holder) {
            return Err(fault(at, format!("key `{}` is the key of `{}` again", entry.name, other.name())));
        }
        listed.push(entry.listed(holder, usual));
    }
    Ok(listed)
}

impl Entry {
    fn listed(self, holder: Holder, usual: &Permit) -> Listed {
        let limits = &usual.limits;
        let pattern = |word: &PatternWord| match word {
            PatternWord::Exchange => Pattern::Exchange,
            PatternWord::ConnectExchange => Pattern::ConnectExchange,
            PatternWord::Stream => Pattern::Stream,
        };
        let size = self.max_size;
        Listed {
            holder,
            permit: Permit {
                name: Some(self.name),
                networks: Gate(self.networks.into_iter().map(|network| network.0).collect()),
                expires: self.expires.map(|end| u64::try_from(end.0.as_nanosecond()).unwrap_or(0)),
                budget: Budget::of(Bounds {
                    octets: self.max_bandwidth.and_then(|rate| NonZeroU64::new(rate.0 / 8)),
                    messages: self.max_total_rate,
                }),
                patterns: self.patterns.map(|words| words.iter().map(pattern).collect()),
                limits: Limits {
                    sessions: self.max_sessions.unwrap_or(limits.sessions),
                    flows_per_session: self.max_connections.unwrap_or(limits.flows_per_session),
                    rate_per_flow: self.max_rate.or(limits.rate_per_flow),
                    duration_ns: self.max_duration.unwrap_or(limits.duration_ns),
                    idle_ns: limits.idle_ns,
                    memory_bytes: self.max_memory.unwrap_or(limits.memory_bytes),
                    largest_request: size.unwrap_or(limits.largest_request),
                    largest_response: size.unwrap_or(limits.largest_response),
                },
                spin: self.spin,
                pin: self.pin,
                pinned: self.max_pin,
                facts: self.facts.unwrap_or(usual.facts),
            },
        }
    }
}

/// The keys by their names, with what each may do; never a secret.
pub fn table(keys: &[Listed]) -> String {
    let usual = Permit::within(Limits::default());
    let width = keys.iter().map(|key| key.name().chars().count()).max().unwrap_or_default();
    let lines: Vec<String> = keys.iter().map(|key| format!("{:width$}  {}\n", key.name(), told(key, &usual))).collect();
    lines.concat()
}

/// An identity is told as one, since its name says nothing of it.
fn told(key: &Listed, usual: &Permit) -> String {
    let rights = rights(&key.permit, usual);
    if matches!(key.holder, Holder::Identity(_)) { format!("identity; {rights}") } else { rights }
}

/// Only what is less than everything.
fn rights(permit: &Permit, usual: &Permit) -> String {
    let mut said = Vec::new();
    if let Some(end) = permit.expires.and_then(|end| Timestamp::from_nanosecond(end.into()).ok()) {
        let is_over = end <= Timestamp::now();
        said.push(format!("{} {end:.0}", if is_over { "expired" } else { "expires" }));
    }
    if !permit.networks.0.is_empty() {
        let networks: Vec<String> = permit.networks.0.iter().map(ToString::to_string).collect();
        said.push(format!("from {}", networks.join(", ")));
    }
    if let Some(patterns) = &permit.patterns {
        let words: Vec<String> = patterns.iter().map(ToString::to_string).collect();
        said.push(format!("patterns {}", words.join(", ")));
    }
    let (limits, most) = (&permit.limits, &usual.limits);
    let bounds = permit.budget.as_ref().map(|budget| budget.bounds()).unwrap_or_default();
    let words = [
        (limits.sessions != most.sessions, format!("sessions {}", limits.sessions)),
        (limits.flows_per_session != most.flows_per_session, format!("connections {}", limits.flows_per_session)),
        (limits.rate_per_flow.is_some(), limits.rate_per_flow.map_or_else(String::new, |rate| format!("rate {rate}"))),
        (bounds.messages.is_some(), bounds.messages.map_or_else(String::new, |rate| format!("total rate {rate}"))),
        (
            bounds.octets.is_some(),
            bounds.octets.map_or_else(String::new, |octets| format!("bandwidth {}/s", Bytes(octets.get()))),
        ),
        (limits.duration_ns != most.duration_ns, format!("duration {}", limits.duration_ns)),
        (limits.memory_bytes != most.memory_bytes, format!("memory {}", limits.memory_bytes)),
        (limits.largest_request != most.largest_request, format!("size {}", limits.largest_request)),
        (!permit.spin, "no spin".to_owned()),
        (!permit.pin, "no pin".to_owned()),
        (permit.pinned.is_some(), permit.pinned.map_or_else(String::new, |most| format!("pin {most}"))),
        (!permit.facts, "no facts".to_owned()),
    ];
    said.extend(words.into_iter().filter(|(is_less, _)| *is_less).map(|(_, words)| words));
    if said.is_empty() { "all rights".to_owned() } else { said.join("; ") }
}
