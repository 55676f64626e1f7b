//! Rates and numbers of streams as they are typed.

use std::str::FromStr;

/// Bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitRate(pub u64);

impl FromStr for BitRate {
    type Err = String;

    /// `800000`, `100k`, `1.5M`, `10Gbit/s`: decimal multiples of bits a second.
    fn from_str(text: &str) -> Result<Self, String> {
        let fault = || "is not a rate: write bits a second, as in 800000, 100M or 1.5G".to_owned();
        let bare = text.trim();
        let bare = ["bit/s", "bps", "b/s", "bit"].iter().find_map(|unit| bare.strip_suffix(unit)).unwrap_or(bare);
        let (number, factor) = match bare.char_indices().next_back() {
            Some((at, 'k' | 'K')) => (&bare[..at], 1e3),
            Some((at, 'M' | 'm')) => (&bare[..at], 1e6),
            Some((at, 'G' | 'g')) => (&bare[..at], 1e9),
            Some((at, 'T' | 't')) => (&bare[..at], 1e12),
            _ => (bare, 1.0),
        };
        let plain = number.bytes().all(|octet| octet.is_ascii_digit() || octet == b'.');
        let value = number.parse::<f64>().ok().filter(|_| plain).ok_or_else(fault)? * factor;
        // Beyond any interface, and exact as a whole number all the same.
        if !(8.0..=1e15).contains(&value) {
            return Err("is out of range: from 8 bit/s to 1000 Tbit/s".to_owned());
        }
        Ok(Self(value.round() as u64))
    }
}

/// One number, or several to be measured one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts(pub Vec<u32>);

impl FromStr for Counts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.trim().parse::<u32>().ok().filter(|count| (1..=1_024).contains(count));
        let counts: Option<Vec<u32>> = text.split(',').map(number).collect();
        let counts = counts.ok_or("is not a list of numbers: write numbers from 1 to 1024, as in 4 or 1,4,8")?;
        if counts.len() > 32 {
            return Err("is too long a list: 32 numbers at most".to_owned());
        }
        Ok(Self(counts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case("800000", Some(800_000))]
    #[test_case("100k", Some(100_000))]
    #[test_case("1.5M", Some(1_500_000))]
    #[test_case("10Gbit/s", Some(10_000_000_000))]
    #[test_case("1T", Some(1_000_000_000_000))]
    #[test_case("7", None; "less than an octet a second")]
    #[test_case("1e300", None; "an exponent")]
    #[test_case("-1M", None; "negative")]
    #[test_case("", None; "nothing")]
    #[test_case("M", None; "no number")]
    #[test_case("nan", None; "not a number")]
    #[test_case("9999T", None; "beyond any interface")]
    fn rates_are_decimal(text: &str, bits: Option<u64>) {
        assert_eq!(text.parse::<BitRate>().ok().map(|rate| rate.0), bits);
    }

    #[test_case("4", Some(&[4]))]
    #[test_case("1,4, 8", Some(&[1, 4, 8]))]
    #[test_case("0", None; "none")]
    #[test_case("1,,2", None; "an empty one")]
    #[test_case("1025", None; "too many")]
    fn counts_are_lists(text: &str, counts: Option<&[u32]>) {
        assert_eq!(text.parse::<Counts>().ok().map(|counts| counts.0), counts.map(<[u32]>::to_vec));
    }
}
