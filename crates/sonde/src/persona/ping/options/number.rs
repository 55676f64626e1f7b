//! Numbers of the command line, within their bounds, and what is said of others.

use measure::unit::Nanos;

use super::complain;
use crate::persona::answer::Answer;

/// The longest time the original takes, seconds.
const LONGEST: f64 = 2_147_483.0;

/// A whole number between `least` and `most`.
pub fn whole(word: &str, least: i64, most: i64) -> Result<i64, Answer> {
    let wrong = |why: &str| complain(1, &format!("invalid argument: '{word}'{why}"));
    let digits = word.trim_start();
    match digits.parse::<i64>() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        Ok(_) => Err(wrong(&format!(": out of range: {least} <= value <= {most}"))),
        Err(_) if is_number(digits) => Err(wrong(": Numerical result out of range")),
        Err(_) => Err(wrong("")),
    }
}

fn is_number(word: &str) -> bool {
    let digits = word.strip_prefix(['-', '+']).unwrap_or(word);
    !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
}

/// Seconds with a fraction, down to the nanosecond. `None`: something else, or more than the original takes. A word that the
/// original takes for 0 because it begins with no digit would flood by mistake: that is none.
pub fn seconds(word: &str) -> Option<Nanos> {
    let value: f64 = word.trim_start().parse().ok()?;
    (0.0..=LONGEST).contains(&value).then(|| Nanos((value * 1e9).round() as u64))
}

/// An octet in decimal, octal (`0…`) or hexadecimal (`0x…`).
pub fn octet_of(word: &str) -> Result<u8, Answer> {
    let lower = word.to_ascii_lowercase();
    let value = match (lower.strip_prefix("0x"), lower.strip_prefix('0').filter(|rest| !rest.is_empty())) {
        (Some(hexadecimal), _) => i64::from_str_radix(hexadecimal, 16),
        (None, Some(octal)) => i64::from_str_radix(octal, 8),
        (None, None) => lower.parse(),
    };
    let value = value.map_err(|_| complain(2, &format!("bad TOS value: {word}")))?;
    let range = || complain(2, &format!("the decimal value of TOS bits must be in range 0-255: {value}"));
    u8::try_from(value).map_err(|_| range())
}
