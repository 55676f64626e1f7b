//! Numbers as cJSON prints them, and amounts and rates in four places.

use crate::persona::number::general;

/// As cJSON prints a number: 15 digits where they are the number, else 17. A value that is not finite is `null`.
pub fn json(value: f64) -> String {
    if !value.is_finite() {
        return "null".to_owned();
    }
    let short = general(value, 15);
    let read: f64 = short.parse().unwrap_or(f64::NAN);
    let near = (read - value).abs() <= read.abs().max(value.abs()) * f64::EPSILON;
    if near { short } else { general(value, 17) }
}

/// A number in four places, by its size.
fn four_places(value: f64) -> String {
    let decimals = usize::from(value < 9.995) + usize::from(value < 99.95);
    format!("{value:4.decimals$}")
}

const BYTES: [&str; 5] = ["Bytes", "KBytes", "MBytes", "GBytes", "TBytes"];
const BITS: [&str; 5] = ["bits", "Kbits", "Mbits", "Gbits", "Tbits"];

fn scaled(value: f64, factor: f64, power: usize) -> f64 {
    value / factor.powi(power as i32)
}

fn by_size(value: f64, factor: f64, units: [&str; 5]) -> String {
    let fits = |power: &usize| scaled(value, factor, *power) < factor;
    let power = (0..units.len()).find(fits).unwrap_or(units.len() - 1);
    format!("{} {}", four_places(scaled(value, factor, power)), units[power])
}

/// An amount of bytes, as `5.32 GBytes`.
pub fn amount(bytes: u64) -> String {
    by_size(bytes as f64, 1_024.0, BYTES)
}

/// A rate, as `45.7 Gbits/sec`: in the unit of `-f`, or by its size.
pub fn rate(bits_per_second: f64, format: Option<char>) -> String {
    let power = |letter: char| "kmgt".find(letter.to_ascii_lowercase()).map_or(0, |place| place + 1);
    let text = match format {
        None => by_size(bits_per_second, 1_000.0, BITS),
        Some(letter) if letter.is_ascii_uppercase() => {
            let value = scaled(bits_per_second / 8.0, 1_024.0, power(letter));
            format!("{} {}", four_places(value), BYTES[power(letter)])
        }
        Some(letter) => {
            format!("{} {}", four_places(scaled(bits_per_second, 1_000.0, power(letter))), BITS[power(letter)])
        }
    };
    text + "/sec"
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case(5_007_605_760.0, "5007605760"; "whole")]
    #[test_case(1.000_027, "1.000027"; "microseconds")]
    #[test_case(2.9e-5, "2.9e-05"; "small")]
    #[test_case(f64::from(1.000_027_f32), "1.0000269412994385"; "single precision")]
    #[test_case(5_007_605_760.0 * 8.0 / f64::from(1.000_027_f32), "40059766817.826729"; "seventeen digits")]
    #[test_case(f64::NAN, "null"; "no number")]
    fn numbers_of_cjson(value: f64, text: &str) {
        assert_eq!(json(value), text);
    }

    #[test_case(0, "0.00 Bytes"; "nothing")]
    #[test_case(1_000, "1000 Bytes"; "just below a unit")]
    #[test_case(1_047_728, "1023 KBytes"; "just below the next")]
    #[test_case(425_984, " 416 KBytes"; "three places")]
    #[test_case(131_072, " 128 KBytes"; "a block")]
    #[test_case(5_712_306_503, "5.32 GBytes"; "two decimals")]
    #[test_case(53_687_091_200, "50.0 GBytes"; "one decimal")]
    #[test_case(u64::MAX, "16777216 TBytes"; "no larger unit")]
    fn amounts(bytes: u64, text: &str) {
        assert_eq!(amount(bytes), text);
    }

    #[test_case(None, "30.4 Mbits/sec"; "by size")]
    #[test_case(Some('k'), "30377 Kbits/sec"; "k")]
    #[test_case(Some('m'), "30.4 Mbits/sec"; "m")]
    #[test_case(Some('g'), "0.03 Gbits/sec"; "g")]
    #[test_case(Some('t'), "0.00 Tbits/sec"; "t")]
    #[test_case(Some('K'), "3708 KBytes/sec"; "large k")]
    #[test_case(Some('M'), "3.62 MBytes/sec"; "large m")]
    fn rates(format: Option<char>, text: &str) {
        assert_eq!(rate(30_377_000.0, format), text);
    }
}
