//! Numbers as people type them for iperf3: a decimal and a letter for its factor. Unlike the original's, a reading takes
//! the whole word: what it would pass over is refused.

use crate::persona::number::decimal;

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
}
