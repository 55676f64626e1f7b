//! Numbers and times as the real program reads them: leading digits, then every K M G (powers of 1024) and k m g
//! (powers of 1000) multiplies, whatever else stands there.
//!
//! Where that reading would be a surprise (a fraction, minutes that become millions of seconds, no digits at all) it is
//! refused, or read as it was meant; a note says so.

/// The largest number the control messages hold.
pub const MAX: u64 = i32::MAX as u64;

/// A value read, and what there is to say about the reading.
#[derive(Clone, Debug, PartialEq)]
pub struct Read<T> {
    /// The value.
    pub value: T,
    /// Note on the value that the text was taken for, where it has another one.
    pub note: Option<String>,
}

impl<T> Read<T> {
    fn plain(value: T) -> Self {
        Self { value, note: None }
    }
}

/// Reason for which a text is no number.
pub type Reason = String;

/// A number with its multipliers; a sign is allowed.
///
/// # Errors
/// No digits, a fraction, more than the control messages hold.
pub fn signed(text: &str) -> Result<Read<i64>, Reason> {
    let (negative, text) = match text.trim_start().strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.trim_start().trim_start_matches('+')),
    };
    let (digits, behind) = leading_digits(text)?;
    if behind.starts_with('.') && behind[1..].starts_with(|c: char| c.is_ascii_digit()) {
        return Err("takes whole numbers: netperf itself would drop the fraction".to_owned());
    }
    let factor = behind.chars().try_fold(1_u64, |factor, letter| factor.checked_mul(multiplier(letter)));
    let value = factor.and_then(|factor| digits.checked_mul(factor)).filter(|value| *value <= MAX);
    let value = value.ok_or_else(|| format!("is more than the control messages hold ({MAX})"))?;
    let note = behind
        .contains(|c: char| c.is_ascii_digit())
        .then(|| format!("is read as {value}: what stands behind the first number does not count"));
    Ok(Read { value: if negative { -(value as i64) } else { value as i64 }, note })
}

/// A number that is not negative.
///
/// # Errors
/// As [`signed`], or a minus sign.
pub fn unsigned(text: &str) -> Result<Read<u32>, Reason> {
    let Read { value, note } = signed(text)?;
    u32::try_from(value).map(|value| Read { value, note }).map_err(|_| "may not be negative".to_owned())
}

/// A port.
///
/// # Errors
/// Text that is no number from 0 to 65535.
pub fn port(text: &str) -> Result<u16, Reason> {
    text.trim().parse().map_err(|_| "is no port: write a number from 0 to 65535".to_owned())
}

fn leading_digits(text: &str) -> Result<(u64, &str), Reason> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, behind) = text.split_at(end);
    match digits.parse() {
        Ok(digits) => Ok((digits, behind)),
        Err(_) if digits.is_empty() => Err("is no number".to_owned()),
        Err(_) => Err(format!("is more than the control messages hold ({MAX})")),
    }
}

fn multiplier(letter: char) -> u64 {
    match letter {
        'K' => 1 << 10,
        'M' => 1 << 20,
        'G' => 1 << 30,
        'k' => 1_000,
        'm' => 1_000_000,
        'g' => 1_000_000_000,
        _ => 1,
    }
}

/// The length of a test: seconds, or a count where it is negative. Durations with units (`10s`, `1m`, `1h30m`) are
/// taken as such.
///
/// # Errors
/// As [`signed`]; a duration that is no whole number of seconds.
pub fn length(text: &str) -> Result<Read<i64>, Reason> {
    if text.trim_start().starts_with('-') {
        return signed(text);
    }
    if text.contains("ms") || text.contains("us") || text.contains('µ') || text.contains("ns") {
        return Err("takes whole seconds, or a duration of h, m and s".to_owned());
    }
    match duration(text) {
        Some(seconds) if seconds <= MAX && text.contains(['m', 'h']) => {
            let note = format!("is taken as {seconds} seconds: netperf itself knows no minutes and hours");
            Ok(Read { value: seconds as i64, note: Some(note) })
        }
        None if text.contains(['m', 'h']) => Err("is no length: write seconds, or 1m30s".to_owned()),
        _ => signed(text),
    }
}

/// Whole seconds of numbers that each have one of the units h, m and s behind them.
fn duration(text: &str) -> Option<u64> {
    let mut rest = text.trim();
    let mut seconds = 0_u64;
    while !rest.is_empty() {
        let (number, behind) = leading_digits(rest).ok()?;
        let unit = match behind.chars().next()? {
            'h' => 3_600,
            'm' => 60,
            's' => 1,
            _ => return None,
        };
        seconds = seconds.checked_add(number.checked_mul(unit)?)?;
        rest = &behind[1..];
    }
    Some(seconds)
}

/// The time of `-w` in nanoseconds: `m` behind the digits makes it milliseconds, else `u` microseconds, else `s`
/// seconds; without a letter it is milliseconds. Fractions count.
///
/// # Errors
/// No digits, a letter alone, more than an hour.
pub fn interval(text: &str) -> Result<Read<u64>, Reason> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let nanos = match unit {
        u if u.contains('m') => 1e6,
        u if u.contains('u') => 1e3,
        u if u.contains('s') => 1e9,
        _ => 1e6,
    };
    let number: f64 = number.parse().map_err(|_| "is no time: write 10ms, 100us or 1s".to_owned())?;
    let value = (number * nanos).round();
    if value > 3.6e12 {
        return Err("is longer than an hour".to_owned());
    }
    let note =
        (number.fract() != 0.0).then(|| format!("is taken as {} us: netperf itself drops fractions", value / 1e3));
    Ok(Read { note, ..Read::plain(value as u64) })
}

/// A decimal number with a fraction, as `-D` and `-I` take it.
///
/// # Errors
/// Text that is no finite number.
pub fn decimal(text: &str) -> Result<f64, Reason> {
    text.trim().parse().ok().filter(|value: &f64| value.is_finite()).ok_or_else(|| "is no number".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case("10", 10)]
    #[test_case("1s", 1; "an unknown letter is ignored")]
    #[test_case("1400b", 1400; "a b too")]
    #[test_case("64K", 65_536; "binary")]
    #[test_case("64k", 64_000; "decimal")]
    #[test_case("1kk", 1_000_000; "each letter multiplies")]
    #[test_case("1KB", 1_024; "a letter that multiplies before one that doesn't")]
    #[test_case("-1000", -1_000; "negative")]
    #[test_case("-1m", -1_000_000; "a million of them")]
    fn numbers(text: &str, expected: i64) {
        assert_eq!(signed(text), Ok(Read::plain(expected)));
    }

    #[test_case("1.5K"; "a fraction")]
    #[test_case("abc"; "no digits")]
    #[test_case(""; "nothing")]
    #[test_case("3G"; "too much")]
    #[test_case("99999999999999999999"; "too many digits")]
    #[test_case("1GGGGGGGGG"; "too many letters")]
    fn no_numbers(text: &str) {
        assert!(signed(text).is_err());
    }

    #[test]
    fn digits_behind_a_letter_are_told() {
        let read = signed("64:128").unwrap();
        assert_eq!(read.value, 64);
        assert!(read.note.unwrap().contains("64"));
    }

    #[test_case("10", 10, false; "seconds")]
    #[test_case("10s", 10, false; "seconds with their unit")]
    #[test_case("1m", 60, true; "a minute")]
    #[test_case("1m30s", 90, true; "minutes and seconds")]
    #[test_case("2h", 7_200, true; "hours")]
    #[test_case("0m", 0, true; "nothing")]
    #[test_case("2k", 2_000, false; "thousands")]
    #[test_case("-2k", -2_000, false; "a count")]
    #[test_case("-1m", -1_000_000, false; "a million")]
    fn lengths(text: &str, expected: i64, told: bool) {
        let read = length(text).unwrap();
        assert_eq!((read.value, read.note.is_some()), (expected, told));
    }

    #[test_case("500ms")]
    #[test_case("1.5")]
    #[test_case("0.5s")]
    #[test_case("forever")]
    #[test_case("10sm")]
    #[test_case("1mk")]
    fn no_lengths(text: &str) {
        assert!(length(text).is_err());
    }

    #[test_case("10", 10_000_000, false; "milliseconds where nothing is said")]
    #[test_case("10ms", 10_000_000, false; "milliseconds")]
    #[test_case("1m", 1_000_000, false; "m is milliseconds")]
    #[test_case("100us", 100_000, false; "microseconds")]
    #[test_case("2s", 2_000_000_000, false; "seconds")]
    #[test_case("0.5ms", 500_000, true; "a fraction counts")]
    fn intervals(text: &str, nanos: u64, told: bool) {
        let read = interval(text).unwrap();
        assert_eq!((read.value, read.note.is_some()), (nanos, told));
    }

    #[test_case("ms")]
    #[test_case("-1ms")]
    #[test_case("1.2.3")]
    #[test_case("99999s")]
    fn no_intervals(text: &str) {
        assert!(interval(text).is_err());
    }
}
