//! Amounts and rates in four places, as the original prints them: `1.30 GByte`, ` 825 Byte`, `50.3 Mbit`.

use crate::persona::iperf::options::Unit;

const BYTES: [&str; 6] = ["Byte", "KByte", "MByte", "GByte", "TByte", "PByte"];
const BITS: [&str; 6] = ["bit", "Kbit", "Mbit", "Gbit", "Tbit", "Pbit"];

/// An amount of bytes: powers of 1024, in the unit asked for or in the one that fits.
pub fn amount(bytes: f64, unit: Unit) -> String {
    match unit {
        Unit::Bits | Unit::Bytes => fitting(bytes, 1024.0, &BYTES),
        Unit::FixedBits(power) | Unit::FixedBytes(power) => fixed(bytes, 1024.0, power, &BYTES),
    }
}

/// A rate of so many bytes a second: bits in powers of 1000, or bytes in powers of 1024.
pub fn rate(bytes_per_s: f64, unit: Unit) -> String {
    match unit {
        Unit::Bits => fitting(bytes_per_s * 8.0, 1000.0, &BITS),
        Unit::Bytes => fitting(bytes_per_s, 1024.0, &BYTES),
        Unit::FixedBits(power) => fixed(bytes_per_s * 8.0, 1000.0, power, &BITS),
        Unit::FixedBytes(power) => fixed(bytes_per_s, 1024.0, power, &BYTES),
    }
}

/// Bytes in the unit that fits, whatever was asked for.
pub fn size(bytes: f64) -> String {
    amount(bytes, Unit::Bytes)
}

/// Bytes as they are, in four places or more: `131072 Byte`.
pub fn whole(bytes: u32) -> String {
    amount(bytes.into(), Unit::FixedBytes(0))
}

/// A share in percent, as C prints it with two digits: `0`, `5`, `0.12`, `9.1`. A share of nothing is 0, and all is 100.
pub fn percent(part: i64, whole: u64) -> String {
    let percent = share(part, whole);
    let size = percent.abs();
    if size < 5e-5 {
        return "0".to_owned();
    }
    // Two digits that count, wherever the point is.
    let place = size.log10().floor();
    let unit = 10_f64.powf(place - 1.0);
    let rounded = (percent / unit).round() * unit;
    let decimals = if place >= 1.0 { 0 } else { (1.0 - place) as usize };
    let text = format!("{rounded:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A share in percent; of nothing it is 0.
pub fn share(part: i64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// Network power: bytes a second by seconds of delay, in millions. `None`: no delay is known.
pub fn power(bytes_per_s: f64, delay_s: Option<f64>) -> String {
    match delay_s.filter(|delay| *delay > 0.0).map(|delay| bytes_per_s / delay * 1e-6) {
        None => "NAN".to_owned(),
        Some(power) if power < 100.0 => format!("{power:.6}"),
        Some(power) => format!("{power:.0}"),
    }
}

/// The same as 2.0.13 prints it: two decimals of any number.
pub fn power_older(bytes_per_s: f64, delay_s: Option<f64>) -> String {
    let power = delay_s.filter(|delay| *delay > 0.0).map(|delay| bytes_per_s / delay * 1e-6);
    power.map_or_else(|| "NAN".to_owned(), |power| format!("{power:.2}"))
}

fn fitting(mut value: f64, factor: f64, labels: &[&str]) -> String {
    let mut power = 0;
    while value >= factor && power + 1 < labels.len() {
        value /= factor;
        power += 1;
    }
    format!("{} {}", places(value), labels[power])
}

fn fixed(value: f64, factor: f64, power: u8, labels: &[&str]) -> String {
    format!("{} {}", places(value / factor.powi(power.into())), labels[usize::from(power)])
}

/// Four places where they do, with as many decimals as fit.
fn places(value: f64) -> String {
    let decimals = match value {
        value if value < 0.9995 => 3,
        value if value < 9.995 => 2,
        value if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:4.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case(0.0, "0.000 Byte"; "nothing")]
    #[test_case(848.0, " 848 Byte"; "bytes")]
    #[test_case(131_072.0, " 128 KByte"; "kilobytes")]
    #[test_case(16_384.0, "16.0 KByte"; "a decimal")]
    #[test_case(4_194_304.0, "4.00 MByte"; "two decimals")]
    #[test_case(1023.6, "1024 Byte"; "just below a power")]
    #[test_case(5e15, "4.44 PByte"; "the last power")]
    fn sizes(bytes: f64, expected: &str) {
        assert_eq!(size(bytes), expected);
    }

    #[test_case(131_072.0, Unit::Bits, "1.05 Mbit"; "what fits, in bits")]
    #[test_case(131_072.0, Unit::Bytes, " 128 KByte"; "what fits, in bytes")]
    #[test_case(3_618_346_125.0, Unit::FixedBits(1), "28946769 Kbit"; "kilobits, however many")]
    #[test_case(125.0, Unit::FixedBytes(2), "0.000 MByte"; "megabytes, however few")]
    #[test_case(1e6, Unit::FixedBits(0), "8000000 bit"; "bits alone")]
    fn rates(bytes_per_s: f64, unit: Unit, expected: &str) {
        assert_eq!(rate(bytes_per_s, unit), expected);
    }

    #[test_case(0, 182, "0"; "none")]
    #[test_case(1, 854, "0.12"; "less than one")]
    #[test_case(1, 428, "0.23"; "rounded")]
    #[test_case(50, 1_003, "5"; "a trailing zero goes")]
    #[test_case(1, 11, "9.1"; "one decimal")]
    #[test_case(1, 29, "3.4"; "another")]
    #[test_case(25, 50, "50"; "no decimal")]
    #[test_case(7, 7, "100"; "all")]
    #[test_case(999, 1_000, "100"; "nearly all")]
    #[test_case(0, 0, "0"; "of nothing")]
    #[test_case(-1, 100, "-1"; "late ones")]
    fn percents(part: i64, whole: u64, expected: &str) {
        assert_eq!(percent(part, whole), expected);
    }

    #[test]
    fn powers() {
        assert_eq!(power(1_395_864_371.0, Some(63e-6)), "22156577");
        assert_eq!(power(1_500.0, Some(4_397e-6)), "0.341142");
        assert_eq!(power(1.0, None), "NAN");
    }
}
