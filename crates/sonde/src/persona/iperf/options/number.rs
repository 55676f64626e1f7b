//! Numbers as the original reads them: decimals, and a letter for a power of 1000 (k m g) or of 1024 (K M G).

use measure::unit::Nanos;

use crate::persona::number::decimal;

/// A number of bytes, or of bits: `1.5m`, `128K`, `1000`. Cut to a whole one.
pub fn amount(text: &str) -> Option<u64> {
    let (digits, factor) = split(text)?;
    let value = decimal(digits)? * factor;
    // Above this a float no longer tells neighbours apart, and nothing measures so much.
    (value < (1_u64 << 53) as f64).then_some(value as u64)
}

/// A time in seconds with decimals: `10`, `0.5`.
pub fn seconds(text: &str) -> Option<Nanos> {
    let value = decimal(text)?;
    (value <= 1e9).then_some(Nanos((value * 1e9).round() as u64))
}

fn split(text: &str) -> Option<(&str, f64)> {
    let factor = match text.chars().last()? {
        'k' => 1e3,
        'm' => 1e6,
        'g' => 1e9,
        'K' => 1024.0,
        'M' => 1024.0 * 1024.0,
        'G' => 1024.0 * 1024.0 * 1024.0,
        _ => return Some((text, 1.0)),
    };
    Some((&text[..text.len() - 1], factor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case("1000", Some(1_000); "plain")]
    #[test_case("10m", Some(10_000_000); "small letters are powers of 1000")]
    #[test_case("10M", Some(10_485_760); "large ones of 1024")]
    #[test_case("1.5k", Some(1_500); "decimals")]
    #[test_case("1G", Some(1 << 30); "a large one")]
    #[test_case("", None; "nothing")]
    #[test_case("k", None; "a letter alone")]
    #[test_case("-5", None; "below zero")]
    #[test_case("5x", None; "another letter")]
    #[test_case("1e5", None; "an exponent")]
    #[test_case("inf", None; "no number")]
    #[test_case("99999999999G", None; "more than there is")]
    #[test_case("5\u{e9}", None; "a letter of two octets")]
    fn amounts(text: &str, expected: Option<u64>) {
        assert_eq!(amount(text), expected);
    }

    #[test_case("2", Some(2_000_000_000))]
    #[test_case("0.01", Some(10_000_000))]
    #[test_case("1s", None)]
    #[test_case("", None)]
    fn times(text: &str, expected: Option<u64>) {
        assert_eq!(seconds(text), expected.map(Nanos));
    }
}
