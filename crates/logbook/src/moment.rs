//! A moment of wall-clock time as records write it: RFC 3339 with the UTC offset of the place.
//!
//! Not here: reading the clock, and durations (`measure::unit::Nanos`).

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use jiff::fmt::temporal::Pieces;
use jiff::tz::Offset;
use jiff::{Timestamp, Zoned};
#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// An instant and the offset from UTC that was in force where it was taken. Resolution 1 ns; not monotonic: for saying
/// when something was measured, never for how long it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    at: Timestamp,
    offset: Offset,
}

impl Moment {
    /// `at`, told in UTC.
    pub fn utc(at: Timestamp) -> Self {
        Self { at, offset: Offset::UTC }
    }

    /// So many seconds after the begin of 1970, told in UTC; absent where no date is so late.
    pub fn after_1970(seconds: u64) -> Option<Self> {
        Timestamp::from_second(i64::try_from(seconds).ok()?).ok().map(Self::utc)
    }

    /// The instant.
    pub fn timestamp(self) -> Timestamp {
        self.at
    }
}

impl From<&Zoned> for Moment {
    fn from(zoned: &Zoned) -> Self {
        Self { at: zoned.timestamp(), offset: zoned.offset() }
    }
}

/// RFC 3339: `2026-10-20T14:03:12.25+02:00`.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.at.display_with_offset(self.offset))
    }
}

/// Text that is no date and time with an offset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an RFC 3339 date and time with an offset, such as 2026-10-20T14:03:12+02:00")]
pub struct NoMoment {
    /// The text in its place.
    pub text: String,
}

impl FromStr for Moment {
    type Err = NoMoment;

    fn from_str(text: &str) -> Result<Self, NoMoment> {
        let fault = || NoMoment { text: text.to_owned() };
        let at: Timestamp = text.parse().map_err(|_| fault())?;
        let offset = Pieces::parse(text).map_err(|_| fault())?.to_numeric_offset().ok_or_else(fault)?;
        Ok(Self { at, offset })
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for Moment {
    fn schema_name() -> Cow<'static, str> {
        "Moment".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": "date-time",
            "description": "Date and time with the offset from UTC of the place, RFC 3339."
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case("2026-10-20T14:03:12.25+02:00"; "east")]
    #[test_case("2026-10-20T14:03:12-07:30"; "west")]
    #[test_case("2026-10-20T14:03:12.000000001+00:00"; "a nanosecond")]
    fn a_moment_is_written_as_it_was_read(text: &str) {
        let moment: Moment = text.parse().unwrap();
        assert_eq!(moment.to_string(), text);
    }

    #[test]
    fn two_offsets_tell_one_instant() {
        let here: Moment = "2026-10-20T14:03:12+02:00".parse().unwrap();
        let there: Moment = "2026-10-20T12:03:12Z".parse().unwrap();
        assert_eq!(here.timestamp(), there.timestamp());
    }

    #[test_case("2026-10-20T14:03:12"; "no offset")]
    #[test_case("yesterday"; "words")]
    #[test_case("2026-13-20T14:03:12Z"; "month 13")]
    fn what_is_no_moment_is_refused(text: &str) {
        assert_eq!(text.parse::<Moment>(), Err(NoMoment { text: text.to_owned() }));
    }
}
