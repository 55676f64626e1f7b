//! Numbers as people type them for iperf3: a decimal and a letter for its factor. Unlike the original's, a reading takes
//! the whole word: what it would pass over is refused.

/// Factor of one letter: of rates 1000, of sizes and counts 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factor {
    /// Bits a second.
    Thousand,
    /// Bytes, blocks.
    Kibi,
}

/// `10`, `1.5M`, `3g`; `None` for anything else, what is below 0 and what 63 bits do not hold.
pub fn scaled(text: &str, factor: Factor) -> Option<u64> {
    let base: f64 = if factor == Factor::Thousand { 1_000.0 } else { 1_024.0 };
    let power = match text.chars().last()?.to_ascii_lowercase() {
        'k' => 1,
        'm' => 2,
        'g' => 3,
        't' => 4,
        _ => 0,
    };
    let digits = if power > 0 { &text[..text.len() - 1] } else { text };
    let value = decimal(digits)? * base.powi(power);
    (value < i64::MAX as f64).then_some(value as u64)
}

/// A decimal of digits and at most one point.
pub fn decimal(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|octet| octet.is_ascii_digit() || octet == b'.');
    text.parse().ok().filter(|_| plain)
}

/// Digits alone.
pub fn whole<N: std::str::FromStr>(text: &str) -> Option<N> {
    text.parse().ok().filter(|_| text.bytes().all(|octet| octet.is_ascii_digit()))
}

/// An octet as C reads one: `52`, `064`, `0x34`.
pub fn octet(text: &str) -> Option<u8> {
    let lower = text.to_ascii_lowercase();
    match (lower.strip_prefix("0x"), lower.strip_prefix('0')) {
        (Some(digits), _) => u8::from_str_radix(digits, 16).ok(),
        (_, Some(digits)) if !digits.is_empty() => u8::from_str_radix(digits, 8).ok(),
        _ => whole(&lower),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case("10", Some(10), Some(10); "bare")]
    #[test_case("1.5M", Some(1_500_000), Some(1_572_864); "a fraction of a unit")]
    #[test_case("2k", Some(2_000), Some(2_048); "a small letter")]
    #[test_case("1T", Some(1_000_000_000_000), Some(1 << 40); "the largest unit")]
    #[test_case("0", Some(0), Some(0); "none")]
    #[test_case("1Q", None, None; "no unit")]
    #[test_case("10Mb", None, None; "more than a unit")]
    #[test_case("-1", None, None; "below nought")]
    #[test_case("1e3", None, None; "an exponent")]
    #[test_case("M", None, None; "a unit of nothing")]
    #[test_case("", None, None; "nothing")]
    #[test_case("99999999T", None, None; "more than there can be")]
    fn numbers(text: &str, rate: Option<u64>, size: Option<u64>) {
        assert_eq!((scaled(text, Factor::Thousand), scaled(text, Factor::Kibi)), (rate, size));
    }

    #[test_case("52", Some(52); "decimal")]
    #[test_case("064", Some(52); "octal")]
    #[test_case("0x34", Some(52); "hexadecimal")]
    #[test_case("0", Some(0); "nought")]
    #[test_case("256", None; "too large")]
    #[test_case("+1", None; "a sign")]
    fn octets(text: &str, value: Option<u8>) {
        assert_eq!(octet(text), value);
    }
}
