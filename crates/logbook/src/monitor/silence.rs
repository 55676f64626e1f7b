//! Work on hosts that is known of before: what it does to them is shown, but told to nobody.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use measure::lookout::incident::Kind;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Incidents that are told to nobody for a time: those of the hosts, pairs and zones that it names, or of all where it names none; of these the kinds that
/// it names, or all where it names none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Silence {
    /// Hosts and targets. An incident between one of them and another is silenced too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Pairs of hosts: incidents between the two, whichever of them asks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<[String; 2]>,
    /// Zones, and links between one of them and another.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
    /// Kinds of incidents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<Kind>,
    /// Start, seconds since 1970; absent: the silence has begun.
    #[serde(
        default,
        deserialize_with = "maybe_moment",
        serialize_with = "maybe_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub from: Option<u64>,
    /// End, seconds since 1970.
    #[serde(deserialize_with = "moment", serialize_with = "text")]
    pub until: u64,
    /// Reason, for those who see the page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Silence {
    /// Returns true where the silence is in force at second `now`.
    pub fn is_on(&self, now: u64) -> bool {
        self.from.is_none_or(|from| from <= now) && now < self.until
    }

    /// True where it names no place: then it is about all.
    pub fn is_everywhere(&self) -> bool {
        self.hosts.is_empty() && self.pairs.is_empty() && self.zones.is_empty()
    }
}

/// A moment in UTC, as [`moment`] reads it.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn text<S: Serializer>(second: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    use serde::ser::Error as _;
    let at = i64::try_from(*second).ok().and_then(|second| Timestamp::from_second(second).ok());
    let at = at.ok_or_else(|| S::Error::custom(format!("{second} seconds after 1970 are beyond all times")))?;
    serializer.collect_str(&at)
}

#[expect(clippy::ref_option, reason = "serde hands it over so")]
fn maybe_text<S: Serializer>(second: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    match second {
        Some(second) => text(second, serializer),
        None => serializer.serialize_none(),
    }
}

fn maybe_moment<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    moment(deserializer).map(Some)
}

fn moment<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Moment(toml::value::Datetime),
        Text(String),
    }
    let text = match Written::deserialize(deserializer)? {
        Written::Moment(moment) => moment.to_string(),
        Written::Text(text) => text,
    };
    second(&text).ok_or_else(|| {
        D::Error::custom(format!("`{text}` is no time, expected 2026-11-28T02:00 or 2026-11-28T02:00:00+01:00"))
    })
}

/// The second of a time with its offset, or of one by the clock of this host.
fn second(text: &str) -> Option<u64> {
    let here = || Some(text.parse::<DateTime>().ok()?.to_zoned(TimeZone::system()).ok()?.timestamp());
    let at = text.parse::<Timestamp>().ok().or_else(here)?;
    u64::try_from(at.as_second()).ok()
}
