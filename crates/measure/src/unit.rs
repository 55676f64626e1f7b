//! Time, sizes and rates with their units, as people type and read them.
//!
//! Integers for time and bytes: a float appears in the last step of a statistic or not at all. Text follows one rule
//! everywhere: a gap needs a unit (`10ms`, `250us`), 1 kB is 1000 bytes and 1 KiB 1024, a bare `K` is refused with both
//! readings, rates are decimal (`10k/s`).

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A length of time in nanoseconds, never negative. Up to 584 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// `count` microseconds.
    pub const fn micros(count: u64) -> Self {
        Self(count * 1_000)
    }

    /// `count` milliseconds.
    pub const fn millis(count: u64) -> Self {
        Self(count * 1_000_000)
    }

    /// `count` seconds.
    pub const fn secs(count: u64) -> Self {
        Self(count * 1_000_000_000)
    }

    /// As seconds, for the last step of a rate.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// As microseconds, for the last step of a printed value.
    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }
}

impl From<std::time::Duration> for Nanos {
    fn from(duration: std::time::Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for std::time::Duration {
    fn from(nanos: Nanos) -> Self {
        Self::from_nanos(nanos.0)
    }
}

/// Three significant digits and the unit that suits them: `19.8 µs`, `1.03 ms`, `10 s`. `{:#}` writes them of a whole number too, as of a
/// measured time: `23.0 µs`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0;
        // The bounds are where three rounded digits would carry into the next unit: 999.95 µs is "1.00 ms", not "1000 µs".
        let (scale, unit) = match ns {
            0..1_000 => return f.pad(&format!("{ns} ns")),
            1_000..999_500 => (1e3, "µs"),
            999_500..999_500_000 => (1e6, "ms"),
            _ => (1e9, "s"),
        };
        let value = ns as f64 / scale;
        let exact = value.fract() == 0.0 && !f.alternate();
        let decimals = if exact || value >= 99.95 {
            0
        } else if value >= 9.995 {
            1
        } else {
            2
        };
        f.pad(&format!("{value:.decimals$} {unit}"))
    }
}

impl FromStr for Nanos {
    type Err = UnitError;

    /// A number with its unit: `ns`, `us` or `µs`, `ms`, `s`, `min` or `m`, `h`; also sums such as `1m30s`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let fault = |expected| UnitError { text: text.to_owned(), expected };
        let mut rest = text.trim();
        if rest.is_empty() {
            return Err(fault(Expected::Time));
        }
        let mut total = 0_u64;
        while !rest.is_empty() {
            let (number, tail) = split_number(rest);
            let unit_len = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
            let (unit, tail) = tail.split_at(unit_len);
            let scale = match unit.trim() {
                "ns" => 1_u64,
                "us" | "µs" | "μs" => 1_000,
                "ms" => 1_000_000,
                "s" | "sec" => 1_000_000_000,
                "m" | "min" => 60_000_000_000,
                "h" => 3_600_000_000_000,
                "" => return Err(fault(Expected::TimeUnit)),
                _ => return Err(fault(Expected::Time)),
            };
            let part = scaled(number, scale).ok_or_else(|| fault(Expected::Time))?;
            total = total.checked_add(part).ok_or_else(|| fault(Expected::Time))?;
            rest = tail;
        }
        Ok(Self(total))
    }
}

/// Parses the length of a run, where bare seconds are usual: `10` is 10 s, everything else as [`Nanos`].
pub fn run_length(text: &str) -> Result<Nanos, UnitError> {
    let trimmed = text.trim();
    if !trimmed.is_empty() && trimmed.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return scaled(trimmed, 1_000_000_000)
            .map(Nanos)
            .ok_or_else(|| UnitError { text: text.to_owned(), expected: Expected::Time });
    }
    trimmed.parse()
}

/// A moment of one monotonic clock, in nanoseconds since an unspecified start. Only differences mean anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Instant(pub u64);

impl Instant {
    /// A moment later than all others: "never".
    pub const NEVER: Self = Self(u64::MAX);

    /// Time since `earlier`; `None` where the clock went backwards, which is a fault to count and not a zero.
    #[inline]
    pub fn since(self, earlier: Self) -> Option<Nanos> {
        self.0.checked_sub(earlier.0).map(Nanos)
    }

    /// This moment, `span` later; stays at [`Instant::NEVER`] rather than wrap.
    #[inline]
    pub const fn after(self, span: Nanos) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// This moment, `span` earlier; stays at the clock's start rather than wrap.
    #[inline]
    pub const fn before(self, span: Nanos) -> Self {
        Self(self.0.saturating_sub(span.0))
    }

    /// `self - other` with its sign, in nanoseconds: for offsets between clocks, where negative tells something.
    pub fn signed_since(self, other: Self) -> i64 {
        self.0.wrapping_sub(other.0) as i64
    }
}

/// A size in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// `64 B`, `1.5 kB`, `64 KiB`: a power of two is said in powers of two, everything else decimally.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.0;
        let text = if n < 1_000 {
            format!("{n} B")
        } else if n.is_multiple_of(1 << 30) {
            format!("{} GiB", n >> 30)
        } else if n.is_multiple_of(1 << 20) {
            format!("{} MiB", n >> 20)
        } else if n.is_multiple_of(1 << 10) {
            format!("{} KiB", n >> 10)
        } else if n < 10_000 {
            format!("{n} B")
        } else {
            let (scale, unit) = match n {
                0..1_000_000 => (1e3, "kB"),
                1_000_000..1_000_000_000 => (1e6, "MB"),
                _ => (1e9, "GB"),
            };
            format!("{:.3} {unit}", n as f64 / scale)
        };
        f.pad(&text)
    }
}

impl FromStr for Bytes {
    type Err = UnitError;

    /// `64`, `64B`, `1kB` (1000), `64KiB` (65,536), up to `GiB`. A bare `K`, `M` or `G` is refused with both readings.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let fault = |expected| UnitError { text: text.to_owned(), expected };
        let (number, unit) = split_number(text.trim());
        let scale = match unit.trim() {
            "" | "B" | "b" => 1,
            "kB" | "KB" => 1_000,
            "MB" => 1_000_000,
            "GB" => 1_000_000_000,
            "KiB" | "kiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            "k" | "K" | "m" | "M" | "g" | "G" => return Err(fault(Expected::SizeUnit)),
            _ => return Err(fault(Expected::Size)),
        };
        scaled(number, scale).map(Self).ok_or_else(|| fault(Expected::Size))
    }
}

/// Events in a time, kept as events per 1000 seconds so that no schedule drifts by a rounded period.
/// From 0.001/s up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Rate(
    /// Events per 1000 seconds.
    pub NonZeroU64,
);

impl Rate {
    /// `count` events a second; `None` for zero.
    pub fn per_second(count: u64) -> Option<Self> {
        NonZeroU64::new(count.checked_mul(1_000)?).map(Self)
    }

    /// As events per second, for the last step.
    pub fn as_per_second(self) -> f64 {
        self.0.get() as f64 / 1e3
    }

    /// Mean time between events, rounded down to a nanosecond.
    pub fn period(self) -> Nanos {
        Nanos(1_000_000_000_000 / self.0.get())
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/s", grouped_f64(self.as_per_second())))
    }
}

impl FromStr for Rate {
    type Err = UnitError;

    /// `100`, `10k/s`, `1.5M/s`, `30/min`: decimal multiples, per second unless said.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let fault = || UnitError { text: text.to_owned(), expected: Expected::Rate };
        let (head, per) = match text.trim().split_once('/') {
            Some((head, per)) => (head, per.trim()),
            None => (text.trim(), "s"),
        };
        let (number, unit) = split_number(head.trim());
        let scale: u64 = match unit.trim() {
            "" => 1,
            "k" | "K" => 1_000,
            "M" => 1_000_000,
            "G" => 1_000_000_000,
            _ => return Err(fault()),
        };
        let per_thousand_seconds = match per {
            "s" | "sec" => scaled(number, scale.checked_mul(1_000).ok_or_else(fault)?),
            "min" | "m" => scaled(number, scale.checked_mul(1_000).ok_or_else(fault)?).map(|n| n / 60),
            "h" => scaled(number, scale.checked_mul(1_000).ok_or_else(fault)?).map(|n| n / 3_600),
            _ => None,
        };
        per_thousand_seconds.and_then(NonZeroU64::new).map(Self).ok_or_else(fault)
    }
}

/// `388124` as `388 124`: thin groups of three, as the screens print counts.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

fn grouped_f64(value: f64) -> String {
    if value >= 1_000.0 || value.fract() == 0.0 {
        return grouped(value.round() as u64);
    }
    format!("{value}")
}

/// Text that is not the time, size or rate it should be; its message has the text and a form that would be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` {expected}")]
pub struct UnitError {
    /// The typed text.
    pub text: String,
    /// Form that would have been understood.
    pub expected: Expected,
}

/// Form that a piece of text should have had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// A time.
    Time,
    /// A time that came without its unit.
    TimeUnit,
    /// A size.
    Size,
    /// A size whose unit has two readings.
    SizeUnit,
    /// A rate.
    Rate,
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Time => "is not a time: write it as 250us, 10ms, 1.5s or 1m30s",
            Self::TimeUnit => "has no unit: write 10ms or 10s (ping means seconds, fping milliseconds)",
            Self::Size => "is not a size: write it as 64, 1500B, 1kB (1000) or 64KiB (65536)",
            Self::SizeUnit => {
                "has two readings: write kB, MB, GB for powers of 1000 or KiB, MiB, GiB for powers of 1024"
            }
            Self::Rate => "is not a rate above 0: write it as 100/s, 10k/s, 1.5M/s or 30/min",
        })
    }
}

pub(crate) fn split_number(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len()))
}

/// `number` (decimal digits with at most one point) times `scale`, exactly; `None` when it is no number or too large.
/// Digits below one unit of the result are refused rather than dropped: `0.5ns` is not a time.
pub(crate) fn scaled(number: &str, scale: u64) -> Option<u64> {
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && part.is_empty() {
        return None;
    }
    let digits_only = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if !digits_only(whole) || !digits_only(part) || part.len() > 18 {
        return None;
    }
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut total = whole.checked_mul(u128::from(scale))?;
    if !part.is_empty() {
        let unit = 10_u128.pow(part.len() as u32);
        let fraction = part.parse::<u128>().ok()? * u128::from(scale);
        if !fraction.is_multiple_of(unit) {
            return None;
        }
        total += fraction / unit;
    }
    u64::try_from(total).ok()
}

/// Returns the name of a quantile: 0.99 is `p99`, 0.9999 `p99.99`.
pub fn quantile_name(q: f64) -> String {
    let percent = format!("{:.6}", q * 100.0);
    format!("p{}", percent.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case("10ms", 10_000_000)]
    #[test_case("250us", 250_000)]
    #[test_case("250µs", 250_000; "micro sign")]
    #[test_case("1.5s", 1_500_000_000)]
    #[test_case("1m30s", 90_000_000_000)]
    #[test_case("1h", 3_600_000_000_000)]
    #[test_case("0.25 us", 250)]
    fn a_time_is_read_as_typed(text: &str, ns: u64) {
        assert_eq!(text.parse(), Ok(Nanos(ns)));
    }

    #[test_case("10", Expected::TimeUnit; "bare")]
    #[test_case("", Expected::Time; "empty")]
    #[test_case("ms", Expected::Time; "no digits")]
    #[test_case("1..5s", Expected::Time; "two points")]
    #[test_case("-5ms", Expected::Time; "negative")]
    #[test_case("0.5ns", Expected::Time; "below a nanosecond")]
    #[test_case("99999999999h", Expected::Time; "beyond the range")]
    #[test_case("10parsec", Expected::Time; "unknown unit")]
    fn what_is_no_time_is_refused(text: &str, expected: Expected) {
        assert_eq!(text.parse::<Nanos>(), Err(UnitError { text: text.into(), expected }));
    }

    #[test]
    fn a_run_length_may_be_bare_seconds() {
        assert_eq!(run_length("10"), Ok(Nanos::secs(10)));
        assert_eq!(run_length("0.5"), Ok(Nanos::millis(500)));
        assert_eq!(run_length("250ms"), Ok(Nanos::millis(250)));
    }

    #[test_case("64", 64)]
    #[test_case("1500B", 1500)]
    #[test_case("1kB", 1000)]
    #[test_case("64KiB", 65_536)]
    #[test_case("1.5MB", 1_500_000)]
    #[test_case("1GiB", 1 << 30)]
    fn a_size_is_read_as_typed(text: &str, bytes: u64) {
        assert_eq!(text.parse(), Ok(Bytes(bytes)));
    }

    #[test]
    fn a_bare_k_is_refused_with_both_readings() {
        let error = "64K".parse::<Bytes>().unwrap_err().to_string();
        assert!(error.contains("kB") && error.contains("KiB"), "{error}");
    }

    #[test_case("10k/s", 10_000_000)]
    #[test_case("100", 100_000)]
    #[test_case("0.5/s", 500)]
    #[test_case("30/min", 500)]
    #[test_case("1.5M/s", 1_500_000_000)]
    fn a_rate_is_read_as_typed(text: &str, per_thousand_seconds: u64) {
        assert_eq!(text.parse::<Rate>().unwrap().0.get(), per_thousand_seconds);
    }

    #[test_case("0"; "zero")]
    #[test_case("10k/fortnight"; "unknown time")]
    #[test_case("fast"; "no number")]
    fn what_is_no_rate_is_refused(text: &str) {
        assert_eq!(text.parse::<Rate>().unwrap_err().expected, Expected::Rate);
    }

    #[test_case(999, "999 ns")]
    #[test_case(19_840, "19.8 µs"; "tens of micros")]
    #[test_case(4_213, "4.21 µs"; "a few micros")]
    #[test_case(214_000, "214 µs"; "hundreds of micros")]
    #[test_case(999_600, "1.00 ms")]
    #[test_case(1_034_000, "1.03 ms")]
    #[test_case(10_000_000_000, "10 s")]
    #[test_case(0, "0 ns")]
    fn a_time_is_printed_with_three_digits(ns: u64, text: &str) {
        assert_eq!(Nanos(ns).to_string(), text);
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!(grouped(388_124), "388 124");
        assert_eq!(grouped(12), "12");
        assert_eq!(grouped(1_000_000), "1 000 000");
    }
}
