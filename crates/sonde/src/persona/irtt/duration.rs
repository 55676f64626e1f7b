//! Durations as Go's library reads and prints them, `1m30s`, `1.5ms`, `-20µs`, and as irtt rounds them: nanoseconds with a sign.

/// Units by their names; the micro sign and the Greek letter are both known.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", SECOND),
    ("m", MINUTE),
    ("h", 60 * MINUTE),
];
const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
/// Largest size of a duration below zero.
const MOST: u64 = 1 << 63;

/// Reads a duration.
///
/// # Errors
/// Text that is none, in the words of Go's library.
pub fn parse(text: &str) -> Result<i64, String> {
    let invalid = || format!("time: invalid duration {text:?}");
    let is_negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut sum = 0_u64;
    while !rest.is_empty() {
        let (whole, behind) = digits(rest);
        let (fraction, behind) = behind.strip_prefix('.').map_or(("", behind), digits);
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let end = behind.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(behind.len());
        let (name, behind) = behind.split_at(end);
        if name.is_empty() {
            return Err(format!("time: missing unit in duration {text:?}"));
        }
        let unit = UNITS.iter().find(|(known, _)| *known == name).map(|(_, unit)| *unit);
        let unit = unit.ok_or_else(|| format!("time: unknown unit {name:?} in duration {text:?}"))?;
        let size = size(whole, fraction, unit).ok_or_else(invalid)?;
        sum = sum.checked_add(size).filter(|sum| *sum <= MOST).ok_or_else(invalid)?;
        rest = behind;
    }
    let signed = if is_negative { 0_i64.checked_sub_unsigned(sum) } else { i64::try_from(sum).ok() };
    signed.ok_or_else(invalid)
}

/// The digits that a text begins with, and the rest.
fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// A number of units in nanoseconds; `None`: too many.
fn size(whole: &str, fraction: &str, unit: u64) -> Option<u64> {
    let whole = if whole.is_empty() { 0 } else { whole.parse::<u64>().ok()? };
    // More digits would not change a nanosecond of an hour. In this order a fraction of a second is exact.
    let fraction = fraction.get(..18).unwrap_or(fraction);
    let scale = 10_f64.powi(i32::try_from(fraction.len()).ok()?);
    let part = if fraction.is_empty() { 0 } else { fraction.parse::<u64>().ok()? };
    whole.checked_mul(unit)?.checked_add((part as f64 * (unit as f64 / scale)) as u64)
}

/// The text of a duration, to the nanosecond.
pub fn text(nanos: i64) -> String {
    let size = nanos.unsigned_abs();
    let sign = if nanos < 0 { "-" } else { "" };
    let (minutes, seconds) = (size / MINUTE, || decimal(size % MINUTE, 9));
    let words = match size {
        0 => "0s".to_owned(),
        1..1_000 => format!("{size}ns"),
        1_000..1_000_000 => format!("{}µs", decimal(size, 3)),
        1_000_000..SECOND => format!("{}ms", decimal(size, 6)),
        SECOND..MINUTE => format!("{}s", seconds()),
        _ if minutes < 60 => format!("{minutes}m{}s", seconds()),
        _ => format!("{}h{}m{}s", minutes / 60, minutes % 60, seconds()),
    };
    format!("{sign}{words}")
}

/// A number in units of 10 to the power of `places`, without noughts at its end.
fn decimal(value: u64, places: usize) -> String {
    let digits = format!("{value:0>width$}", width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") }
}

/// The text of a duration with three or four digits, as most lines of irtt have it.
pub fn rounded(nanos: i64) -> String {
    let size = nanos.unsigned_abs();
    let step = match size {
        0..1_000 => 1,
        1_000..10_000 => 10,
        10_000..100_000 => 100,
        100_000..1_000_000 => 1_000,
        1_000_000..100_000_000 => 10_000,
        100_000_000..SECOND => 100_000,
        SECOND..10_000_000_000 => 10_000_000,
        10_000_000_000..MINUTE => 100_000_000,
        _ => SECOND,
    };
    let rounded = i64::try_from((size + step / 2) / step * step).unwrap_or(i64::MAX);
    text(if nanos < 0 { -rounded } else { rounded })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use test_case::test_case;

    use super::*;

    #[test_case("0", 0; "nothing")]
    #[test_case("-0", 0; "nothing with a sign")]
    #[test_case("5s", 5_000_000_000; "seconds")]
    #[test_case("+1.5h2m.5s", 5_520_500_000_000; "several units")]
    #[test_case("300ms", 300_000_000; "milliseconds")]
    #[test_case("2.5µs", 2_500; "micro")]
    #[test_case("1μs", 1_000; "the letter")]
    #[test_case("1us2ns", 1_002; "the latin letter")]
    #[test_case("-1.s", -1_000_000_000; "a point and nothing")]
    #[test_case("0.2s", 200_000_000; "a fifth")]
    #[test_case("9223372036854775807ns", i64::MAX; "the longest")]
    #[test_case("-9223372036854775808ns", i64::MIN; "the longest below zero")]
    fn durations_are_read(text: &str, nanos: i64) {
        assert_eq!(parse(text), Ok(nanos));
    }

    #[test_case("", "time: invalid duration \"\""; "nothing")]
    #[test_case("-", "time: invalid duration \"-\""; "a sign")]
    #[test_case("abc", "time: invalid duration \"abc\""; "letters")]
    #[test_case(".s", "time: invalid duration \".s\""; "a point")]
    #[test_case("5", "time: missing unit in duration \"5\""; "no unit")]
    #[test_case("5x", "time: unknown unit \"x\" in duration \"5x\""; "no such unit")]
    #[test_case("1e3s", "time: unknown unit \"e\" in duration \"1e3s\""; "an exponent")]
    #[test_case("9223372036854775808ns", "time: invalid duration \"9223372036854775808ns\""; "too long")]
    #[test_case("99999999999999999999h", "time: invalid duration \"99999999999999999999h\""; "far too long")]
    fn others_are_refused(text: &str, said: &str) {
        assert_eq!(parse(text), Err(said.to_owned()));
    }

    #[test_case(0, "0s", "0s"; "nothing")]
    #[test_case(999, "999ns", "999ns"; "nanoseconds")]
    #[test_case(1_005, "1.005µs", "1.01µs"; "half a step up")]
    #[test_case(-1_005, "-1.005µs", "-1.01µs"; "half a step down")]
    #[test_case(12_345, "12.345µs", "12.3µs"; "tens of microseconds")]
    #[test_case(999_999, "999.999µs", "1ms"; "into the next unit")]
    #[test_case(20_884_000, "20.884ms", "20.88ms"; "milliseconds")]
    #[test_case(123_456_789, "123.456789ms", "123.5ms"; "hundreds of them")]
    #[test_case(1_500_000_000, "1.5s", "1.5s"; "seconds")]
    #[test_case(59_014_000_000, "59.014s", "59s"; "nearly a minute")]
    #[test_case(60_000_000_000, "1m0s", "1m0s"; "a minute")]
    #[test_case(90_600_000_000, "1m30.6s", "1m31s"; "more")]
    #[test_case(3_600_500_000_000, "1h0m0.5s", "1h0m1s"; "an hour")]
    fn durations_are_printed(nanos: i64, exact: &str, round: &str) {
        assert_eq!((text(nanos), rounded(nanos)), (exact.to_owned(), round.to_owned()));
    }

    proptest! {
        #[test]
        fn a_printed_duration_is_read_again(nanos in -1_000_000_000_000..1_000_000_000_000_i64) {
            prop_assert_eq!(parse(&text(nanos)), Ok(nanos));
        }

        #[test]
        fn any_text_is_read_without_a_fault(text in "\\PC{0,12}") {
            let _ = parse(&text);
        }

        #[test]
        fn any_duration_is_rounded_without_a_fault(nanos: i64) {
            prop_assert!(!rounded(nanos).is_empty());
        }
    }
}
