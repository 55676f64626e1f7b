//! Addresses of a host for measurements, or names that whoever measures it looks up.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::is_argument;

/// The longest name that can be looked up, bytes (RFC 1035).
const LONGEST: usize = 253;

/// An address, or a name in its place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DataAddress {
    /// The address.
    Ip(IpAddr),
    /// A name: it is looked up by the host that measures, each time, for it may mean something else elsewhere.
    Name(String),
}

/// The addresses of one host that are of one kind, at least one, the first that fits before the others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DataAddresses(Vec<DataAddress>);

/// A family of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// A text that is neither an address nor a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is neither an address nor a host name, expected for example 10.0.0.5, 2001:db8::5 or db-1.internal")]
pub struct NoAddress(String);

impl Family {
    /// That of an address.
    pub fn of(address: IpAddr) -> Self {
        if address.is_ipv4() { Self::V4 } else { Self::V6 }
    }
}

impl DataAddress {
    /// Its family; of a name nobody knows before it is looked up.
    pub fn family(&self) -> Option<Family> {
        match self {
            Self::Ip(address) => Some(Family::of(*address)),
            Self::Name(_) => None,
        }
    }

    /// The address, where it is one.
    pub fn ip(&self) -> Option<IpAddr> {
        match self {
            Self::Ip(address) => Some(*address),
            Self::Name(_) => None,
        }
    }
}

impl DataAddresses {
    /// All of them.
    pub fn each(&self) -> &[DataAddress] {
        &self.0
    }

    /// These; `None` where there are none.
    pub fn several(all: Vec<DataAddress>) -> Option<Self> {
        (!all.is_empty()).then_some(Self(all))
    }

    /// Returns true where this address is among them.
    pub fn holds(&self, address: IpAddr) -> bool {
        self.0.contains(&DataAddress::Ip(address))
    }

    /// The one at which a host that has `near` itself measures: of the family that is wanted; where none is, the first of a family that
    /// both have, else the first.
    pub fn seen_from(&self, near: Option<&Self>, wanted: Option<Family>) -> Option<&DataAddress> {
        let fits = |family: Family| self.0.iter().find(|there| there.family().is_none_or(|theirs| theirs == family));
        if let Some(family) = wanted {
            return fits(family);
        }
        let has = |family: Family| {
            near.is_none_or(|near| near.0.iter().any(|own| own.family().is_none_or(|own| own == family)))
        };
        let common = self.0.iter().find(|there| there.family().is_none_or(has));
        common.or_else(|| self.0.first())
    }
}

impl FromStr for DataAddress {
    type Err = NoAddress;

    fn from_str(text: &str) -> Result<Self, NoAddress> {
        if let Ok(address) = text.parse() {
            return Ok(Self::Ip(address));
        }
        let letters = |part: &str| part.chars().all(|letter| letter.is_alphanumeric() || "-_".contains(letter));
        let is_name = is_argument(text)
            && text.len() <= LONGEST
            && text.trim_end_matches('.').split('.').all(|part| !part.is_empty() && letters(part))
            // A name that ends in a number is a mistyped address.
            && text.trim_end_matches('.').rsplit('.').next().is_some_and(|last| last.parse::<u64>().is_err());
        if is_name { Ok(Self::Name(text.to_owned())) } else { Err(NoAddress(text.escape_debug().to_string())) }
    }
}

impl FromStr for DataAddresses {
    type Err = NoAddress;

    fn from_str(text: &str) -> Result<Self, NoAddress> {
        Ok(Self(text.split(',').map(|one| one.trim().parse()).collect::<Result<_, _>>()?))
    }
}

impl From<IpAddr> for DataAddresses {
    fn from(address: IpAddr) -> Self {
        Self(vec![DataAddress::Ip(address)])
    }
}

impl From<[u8; 4]> for DataAddresses {
    fn from(octets: [u8; 4]) -> Self {
        IpAddr::from(octets).into()
    }
}

impl fmt::Display for DataAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => address.fmt(f),
            Self::Name(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for DataAddresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, one) in self.0.iter().enumerate() {
            write!(f, "{}{one}", if at > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

impl Serialize for DataAddresses {
    /// One alone as its text, several as a list.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [one] => serializer.collect_str(one),
            several => serializer.collect_seq(several.iter().map(ToString::to_string)),
        }
    }
}

impl<'de> Deserialize<'de> for DataAddresses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Told)
    }
}

struct Told;

impl<'de> Visitor<'de> for Told {
    type Value = DataAddresses;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an address, a name, or a list of them")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<DataAddresses, E> {
        text.parse::<DataAddress>().map(|one| DataAddresses(vec![one])).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<DataAddresses, A::Error> {
        let mut all: Vec<DataAddress> = Vec::new();
        while let Some(text) = list.next_element::<String>()? {
            all.push(text.parse().map_err(de::Error::custom)?);
        }
        DataAddresses::several(all).ok_or_else(|| de::Error::invalid_length(0, &self))
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for DataAddresses {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "DataAddresses".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An address, or a name that the host which measures looks up; or a list of them, the first that fits before the others.",
            "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    fn list(text: &str) -> DataAddresses {
        text.parse().unwrap()
    }

    #[test_case("10.0.0.1, fd00::1", Some("10.0.0.9"), None, Some("10.0.0.1"); "the first of a family that both have")]
    #[test_case("10.0.0.1, fd00::1", Some("fd00::9"), None, Some("fd00::1"); "the second where that is common")]
    #[test_case("10.0.0.1, fd00::1", None, None, Some("10.0.0.1"); "the first where nothing is known of the other")]
    #[test_case("10.0.0.1", Some("fd00::9"), None, Some("10.0.0.1"); "the first where none is common")]
    #[test_case("10.0.0.1, fd00::1", Some("10.0.0.9"), Some(Family::V6), Some("fd00::1"); "what is wanted goes before")]
    #[test_case("10.0.0.1", None, Some(Family::V6), None; "none where there is none of it")]
    #[test_case("db-1.internal, 10.0.0.1", Some("10.0.0.9"), Some(Family::V6), Some("db-1.internal"); "a name may be of any")]
    fn who_measures_takes_the_address_that_fits(
        there: &str,
        near: Option<&str>,
        wanted: Option<Family>,
        expected: Option<&str>,
    ) {
        let near = near.map(list);
        let found = list(there).seen_from(near.as_ref(), wanted).map(ToString::to_string);
        assert_eq!(found.as_deref(), expected);
    }

    #[test]
    fn one_is_a_text_and_several_are_a_list() {
        for text in [r#""10.0.0.1""#, r#"["10.0.0.1","fd00::1","db-1.internal"]"#] {
            let read: DataAddresses = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), text);
        }
        for text in ["[]", "7", r#""10.0.0.300""#, r#""a b""#, r#""-x""#, r#""10.0.0""#, r#"["x", ""]"#, r#""a/b""#] {
            assert!(serde_json::from_str::<DataAddresses>(text).is_err(), "{text}");
        }
    }
}
