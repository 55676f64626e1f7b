//! Work on hosts that is known of before: what it does to them is shown, but told to nobody.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// Incidents that are told to nobody for a time. Those of the hosts and zones that it names; of all, where it names none.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Silence {
    /// Hosts and targets. An incident between one of them and another is silenced too.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Zones, and links between one of them and another.
    #[serde(default)]
    pub zones: Vec<String>,
    /// When it begins, seconds since 1970; absent: it has begun.
    #[serde(default, deserialize_with = "maybe_moment")]
    pub from: Option<u64>,
    /// When it ends, seconds since 1970.
    #[serde(deserialize_with = "moment")]
    pub until: u64,
    /// Why, for those who see the page.
    #[serde(default)]
    pub why: Option<String>,
}

impl Silence {
    /// Whether it is in force at second `now`.
    pub fn is_on(&self, now: u64) -> bool {
        self.from.is_none_or(|from| from <= now) && now < self.until
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
