//! Rates and sizes of a load as they are typed.

use std::str::FromStr;

use measure::method::{Share, Sizes};
use measure::unit::{Bytes, Rate};

/// A rate, or as fast as it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateWord {
    /// So many a second.
    Rate(Rate),
    /// As many as can be sent.
    Max,
}

impl FromStr for RateWord {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "max" {
            return Ok(Self::Max);
        }
        let rate = text.parse().map(Self::Rate);
        rate.map_err(|error: measure::unit::UnitError| format!("{}, or max", error.expected))
    }
}

/// One size, or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SizeWord {
    /// All messages alike.
    One(Bytes),
    /// By chance.
    Several(Sizes),
}

impl FromStr for SizeWord {
    type Err = String;

    /// `64`, `1kB`; `64..1400`; `64:7,576:4,1400:1`.
    fn from_str(text: &str) -> Result<Self, String> {
        let size = |text: &str| text.trim().parse::<Bytes>().map_err(|error| error.expected.to_string());
        if let Some((smallest, largest)) = text.split_once("..") {
            let largest = largest.strip_prefix('=').unwrap_or(largest);
            return Ok(Self::Several(Sizes::Uniform { smallest: size(smallest)?, largest: size(largest)? }));
        }
        if !text.contains([':', ',']) {
            return size(text).map(Self::One);
        }
        let shares = text.split(',').map(|part| {
            let fault =
                || format!("has `{}` for a size and its share: write each as 64:7, shares above 0", part.trim());
            let (bytes, weight) = part.split_once(':').ok_or_else(fault)?;
            let weight = weight.trim().parse().ok().filter(|weight| *weight > 0).ok_or_else(fault)?;
            Ok(Share { bytes: size(bytes)?, weight })
        });
        shares.collect::<Result<_, String>>().map(|shares| Self::Several(Sizes::Mix(shares)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test]
    fn a_rate_is_a_rate_or_max() {
        assert_eq!("max".parse(), Ok(RateWord::Max));
        assert_eq!("100k".parse(), Ok(RateWord::Rate(Rate::per_second(100_000).unwrap())));
        assert!("fast".parse::<RateWord>().unwrap_err().ends_with("30/min, or max"));
    }

    fn share(bytes: u64, weight: u32) -> Share {
        Share { bytes: Bytes(bytes), weight }
    }

    #[test]
    fn sizes_are_one_a_range_or_a_mix() {
        let size = |text: &str| text.parse::<SizeWord>().unwrap();
        assert_eq!(size("1kB"), SizeWord::One(Bytes(1_000)));
        let range = Sizes::Uniform { smallest: Bytes(64), largest: Bytes(1_024) };
        assert_eq!(size("64..1KiB"), SizeWord::Several(range));
        let mix = Sizes::Mix(vec![share(64, 7), share(576, 4), share(1_500, 1)]);
        assert_eq!(size("64:7, 576:4,1500:1"), SizeWord::Several(mix));
        assert_eq!(size("64:7"), SizeWord::Several(Sizes::Mix(vec![share(64, 7)])));
    }

    #[test_case("large", "is not a size"; "no size")]
    #[test_case("64..", "is not a size"; "half a range")]
    #[test_case("64,128", "has `64` for a size and its share"; "sizes without shares")]
    #[test_case("64:0", "shares above 0"; "a share of nothing")]
    #[test_case("64:1,", "has `` for"; "an empty share")]
    #[test_case("64:x", "has `64:x`"; "a share that is not a number")]
    fn what_is_no_size_is_told(text: &str, said: &str) {
        let error = text.parse::<SizeWord>().unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}
