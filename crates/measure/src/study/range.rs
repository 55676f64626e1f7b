//! Values along an axis: their unit, their form as text, and points between two of them that are equally far
//! apart in ratio.

use serde::{Deserialize, Serialize};

/// Unit of the values of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Values {
    /// Times, nanoseconds.
    Times,
    /// Sizes, bytes.
    Sizes,
    /// Rates, events a second.
    Rates,
    /// Rates of payload, bits a second.
    BitRates,
    /// Counts.
    Counts,
    /// Words, which have no number.
    Words,
}

/// Units by which a number is typed, the smallest first.
type Typed = &'static [(u64, &'static str)];

const TIMES: Typed = &[(1, "ns"), (1_000, "us"), (1_000_000, "ms"), (1_000_000_000, "s")];
const RATES: Typed = &[(1_000, "/s"), (1_000_000, "k/s"), (1_000_000_000, "M/s"), (1_000_000_000_000, "G/s")];
const BIT_RATES: Typed = &[(1, ""), (1_000, "k"), (1_000_000, "M"), (1_000_000_000, "G"), (1_000_000_000_000, "T")];
const PLAIN: Typed = &[(1, "")];

impl Values {
    /// `number` as a command takes it; of [`Values::Rates`] it counts events in 1000 seconds, as [`crate::unit::Rate`] does.
    ///
    /// ```
    /// use measure::study::range::Values;
    /// assert_eq!(Values::Times.typed(46_400), "46.4us");
    /// assert_eq!(Values::Rates.typed(500), "0.5/s");
    /// ```
    pub fn typed(self, number: u64) -> String {
        let units = match self {
            Self::Times => TIMES,
            Self::Rates => RATES,
            Self::BitRates => BIT_RATES,
            Self::Sizes | Self::Counts | Self::Words => PLAIN,
        };
        let fits = units.iter().rev().find(|(size, _)| number >= *size);
        let (size, name) = fits.copied().unwrap_or(units[0]);
        let digits = size.ilog10() as usize;
        let fraction = format!("{:0digits$}", number % size);
        match fraction.trim_end_matches('0') {
            "" => format!("{}{name}", number / size),
            fraction => format!("{}.{fraction}{name}", number / size),
        }
    }

    /// The points from `low` to `high` where nobody says how many: three a decade, of counts and sizes powers of two.
    pub fn between(self, low: u64, high: u64) -> Vec<u64> {
        match self {
            Self::Sizes | Self::Counts => doublings(low, high),
            _ => decades(low, high),
        }
    }
}

/// `low`, then 1, 2 and 5 times each power of ten between, then `high`: three points a decade. Ascending, each once; none where
/// `low` is 0 or above `high`.
///
/// ```
/// use measure::study::range::decades;
/// assert_eq!(decades(1, 100), [1, 2, 5, 10, 20, 50, 100]);
/// assert_eq!(decades(30, 70), [30, 50, 70]);
/// ```
pub fn decades(low: u64, high: u64) -> Vec<u64> {
    let powers = (0..20).filter_map(|power| 10_u64.checked_pow(power));
    let steps = powers.flat_map(|power| [1, 2, 5].into_iter().filter_map(move |digit| power.checked_mul(digit)));
    with_ends(low, high, steps)
}

/// `low`, the powers of two between, and `high`. Ascending, each once; none where `low` is 0 or above `high`.
pub fn doublings(low: u64, high: u64) -> Vec<u64> {
    with_ends(low, high, (0..64).map(|power| 1 << power))
}

fn with_ends(low: u64, high: u64, between: impl Iterator<Item = u64>) -> Vec<u64> {
    if low == 0 || low > high {
        return Vec::new();
    }
    let mut points = vec![low];
    points.extend(between.filter(|value| (low + 1..high).contains(value)));
    points.push(high);
    points.dedup();
    points
}

/// `count` points from `low` to `high`, each the same ratio above the one before, rounded to three digits but for the ends.
/// Ascending, each once, so that there are fewer where they would fall together; none where `low` is 0 or above `high`.
pub fn spaced(low: u64, high: u64, count: u32) -> Vec<u64> {
    if low == 0 || low > high || count == 0 {
        return Vec::new();
    }
    let step = (high as f64 / low as f64).ln() / f64::from(count.max(2) - 1);
    let inner = (1..count.saturating_sub(1)).map(|place| rounded(low as f64 * (step * f64::from(place)).exp()));
    with_ends(low, if count == 1 { low } else { high }, inner)
}

/// To three digits.
fn rounded(value: f64) -> u64 {
    let scale = 10_f64.powf((value.log10().floor() - 2.0).max(0.0));
    ((value / scale).round() * scale).round() as u64
}

/// More points than anybody waits for.
pub const MOST: usize = 2_000;

/// One value of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// As a command takes it.
    pub text: String,
    /// Its number, in the unit of [`Values::typed`]; absent where it is a word.
    pub number: Option<u64>,
}

/// A text that names no points of an axis.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoRange {
    /// Nothing between two commas, or at all.
    #[error("`{0}` has an empty value: separate values with commas, or write a range")]
    Empty(String),
    /// A value that is none.
    #[error("`{value}` {reason}")]
    NoValue {
        /// The typed text.
        value: String,
        /// Fault of the text.
        reason: String,
    },
    /// A range of values without an order.
    #[error("`{0}` is a range, but this setting takes words: separate them with commas")]
    OfWords(String),
    /// A range from nothing.
    #[error("`{0}` starts at 0, but a range has points of equal ratio: write 0 separately, as in 0,1us..1s")]
    FromNothing(String),
    /// A range whose end lies before its start.
    #[error("`{0}` runs backwards: write the smaller end first")]
    Backwards(String),
    /// A range of no stated number of points, or of none.
    #[error("`{0}` has no number of points after the `/`: write a whole number from 2, as in 1us..1s/13")]
    NoCount(String),
    /// Too many.
    #[error("{0} points are too many, a sweep has at most {MOST}: narrow the range, or write fewer after a `/`")]
    TooMany(usize),
}

/// Returns the points that `text` names: values with commas between them. Each may be a range `A..B` (as
/// [`Values::between`]) or `A..B/N` (N points, each the same ratio above the one before). `read` parses a value into
/// its number. The points are in the order they were named, each once.
///
/// # Errors
/// The part of it that names no points.
pub fn points(text: &str, values: Values, read: &dyn Fn(&str) -> Result<u64, String>) -> Result<Vec<Step>, NoRange> {
    let mut points: Vec<Step> = Vec::new();
    for part in text.split(',').map(str::trim) {
        let steps = match part.split_once("..") {
            _ if part.is_empty() => return Err(NoRange::Empty(text.to_owned())),
            Some(_) if values == Values::Words => return Err(NoRange::OfWords(part.to_owned())),
            Some((low, high)) => range(part, low, high, values, read)?,
            None if values == Values::Words => vec![Step { text: part.to_owned(), number: None }],
            None => vec![Step { text: part.to_owned(), number: Some(number(part, read)?) }],
        };
        for step in steps {
            let known =
                |there: &Step| there.number.map_or(there.text == step.text, |number| step.number == Some(number));
            if !points.iter().any(known) {
                points.push(step);
            }
        }
        if points.len() > MOST {
            return Err(NoRange::TooMany(points.len()));
        }
    }
    Ok(points)
}

fn range(
    part: &str,
    low: &str,
    high: &str,
    values: Values,
    read: &dyn Fn(&str) -> Result<u64, String>,
) -> Result<Vec<Step>, NoRange> {
    let (high, count) = match (read(high.trim()), high.rsplit_once('/')) {
        (Ok(high), _) => (high, None),
        // A rate has a `/` of its own: only a text that is no value is searched for one.
        (Err(_), Some((high, count))) => (number(high, read)?, Some(count)),
        (Err(reason), None) => return Err(NoRange::NoValue { value: high.trim().to_owned(), reason }),
    };
    let low = number(low, read)?;
    let numbers = match count.map(|count| count.trim().parse::<u32>()) {
        _ if low == 0 => return Err(NoRange::FromNothing(part.to_owned())),
        _ if low > high => return Err(NoRange::Backwards(part.to_owned())),
        None => values.between(low, high),
        Some(Ok(count)) if count as usize > MOST => return Err(NoRange::TooMany(count as usize)),
        Some(Ok(count)) if count >= 2 => spaced(low, high, count),
        Some(_) => return Err(NoRange::NoCount(part.to_owned())),
    };
    Ok(numbers.into_iter().map(|number| Step { text: values.typed(number), number: Some(number) }).collect())
}

fn number(text: &str, read: &dyn Fn(&str) -> Result<u64, String>) -> Result<u64, NoRange> {
    let text = text.trim();
    read(text).map_err(|reason| NoRange::NoValue { value: text.to_owned(), reason })
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;
    use crate::unit::{Nanos, Rate};

    #[test]
    fn from_a_microsecond_to_a_second_there_are_three_points_a_decade() {
        let points = decades(1_000, 1_000_000_000);
        assert_eq!(points.len(), 19);
        assert!(points.windows(2).all(|pair| pair[0] < pair[1]));
        let typed: Vec<String> = points.iter().map(|point| Values::Times.typed(*point)).collect();
        assert_eq!(typed[..5], ["1us", "2us", "5us", "10us", "20us"]);
        assert_eq!(typed[18], "1s");
    }

    #[test_case(1, 8, &[1, 2, 4, 8]; "powers")]
    #[test_case(3, 20, &[3, 4, 8, 16, 20]; "ends that are none")]
    #[test_case(5, 5, &[5]; "one")]
    #[test_case(0, 8, &[]; "nothing has no place")]
    #[test_case(8, 1, &[]; "backwards")]
    fn counts_double(low: u64, high: u64, expected: &[u64]) {
        assert_eq!(doublings(low, high), expected);
        assert_eq!(Values::Counts.between(low, high), expected);
    }

    #[test_case(1_000, 1_000_000, 4, &[1_000, 10_000, 100_000, 1_000_000]; "by ten")]
    #[test_case(1_000, 100_000, 4, &[1_000, 4_640, 21_500, 100_000]; "to three digits")]
    #[test_case(1, 3, 9, &[1, 2, 3]; "fewer where they fall together")]
    #[test_case(7, 9, 1, &[7]; "one is the first")]
    #[test_case(7, 9, 0, &[]; "none")]
    #[test_case(u64::MAX - 1, u64::MAX, 3, &[u64::MAX - 1, u64::MAX]; "as far as numbers go")]
    fn points_are_equally_far_apart_in_ratio(low: u64, high: u64, count: u32, expected: &[u64]) {
        assert_eq!(spaced(low, high, count), expected);
    }

    fn times(text: &str) -> Result<Vec<String>, NoRange> {
        let read = |text: &str| match text {
            "0" => Ok(0),
            _ => text.parse::<Nanos>().map(|time| time.0).map_err(|error| error.expected.to_string()),
        };
        points(text, Values::Times, &read).map(|steps| steps.into_iter().map(|step| step.text).collect())
    }

    #[test_case("1ms..10ms", &["1ms", "2ms", "5ms", "10ms"]; "a range")]
    #[test_case("1us..1ms/4", &["1us", "10us", "100us", "1ms"]; "so many points")]
    #[test_case("0,1ms..2ms", &["0", "1ms", "2ms"]; "back to back and a range")]
    #[test_case("5ms, 1ms,5000us", &["5ms", "1ms"]; "a list in its order, each once")]
    #[test_case("10ms", &["10ms"]; "one")]
    #[test_case("1ms..1ms", &["1ms"]; "a range of one")]
    fn times_are_named(text: &str, expected: &[&str]) {
        assert_eq!(times(text).unwrap(), expected);
    }

    #[test_case("0..1s", "starts at 0"; "from nothing")]
    #[test_case("1s..1ms", "runs backwards"; "backwards")]
    #[test_case("1..10ms", "`1` has no unit"; "no unit at the low end")]
    #[test_case("1ms..10", "`10` has no unit"; "no unit at the high end")]
    #[test_case("1ms..1s/x", "no number of points"; "no count")]
    #[test_case("1ms..1s/1", "no number of points"; "one of two ends")]
    #[test_case("1ms..1s/9999", "9999 points"; "too many")]
    #[test_case("1ms,,2ms", "empty value"; "nothing between commas")]
    #[test_case("", "empty value"; "nothing")]
    #[test_case("soon", "is not a time"; "no time")]
    #[test_case("..", "is not a time"; "no ends")]
    fn what_names_no_points_says_why(text: &str, said: &str) {
        let told = times(text).unwrap_err().to_string();
        assert!(told.contains(said), "{told}");
    }

    #[test]
    fn rates_have_a_stroke_of_their_own_and_words_no_range() {
        let read =
            |text: &str| text.parse::<Rate>().map(|rate| rate.0.get()).map_err(|error| error.expected.to_string());
        let texts = |text: &str| -> Vec<String> {
            points(text, Values::Rates, &read).unwrap().into_iter().map(|step| step.text).collect()
        };
        assert_eq!(texts("1k/s..5k/s"), ["1k/s", "2k/s", "5k/s"]);
        assert_eq!(texts("1k/s..100k/s/3"), ["1k/s", "10k/s", "100k/s"]);
        let words = |text: &str| points(text, Values::Words, &read);
        assert_eq!(words("cubic,bbr").unwrap().len(), 2);
        assert_eq!(words("ef..be"), Err(NoRange::OfWords("ef..be".to_owned())));
    }

    #[test]
    fn what_is_typed_is_read_as_the_same() {
        for number in [1, 999, 1_000, 46_400, 1_500_000, 999_999_999, 1_000_000_000, 90_000_000_000] {
            assert_eq!(Values::Times.typed(number).parse(), Ok(Nanos(number)));
            assert_eq!(Values::Rates.typed(number).parse::<Rate>().map(|rate| rate.0.get()), Ok(number));
        }
        assert_eq!(Values::BitRates.typed(1_500_000), "1.5M");
        assert_eq!(Values::Counts.typed(16), "16");
    }
}
