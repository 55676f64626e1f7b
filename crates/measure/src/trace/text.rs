//! A recorded schedule as text, one message a line: `time,size`.
//!
//! The time counts from the start of sending, in seconds (`0.00125`, `1e-3`) or with a unit (`250us`), and is rounded to
//! a nanosecond; the size is in bytes or has a unit (`1kB`, `1KiB`). A comma or a tab lies between them. Empty lines and
//! lines that start with `#` are passed over. A first line that names its columns may put them in any order and have
//! others beside them. sockperf's playback files are of this form: there as here the first message leaves at its own
//! time, so `1.0, 14` starts a second in. sockperf's further conditions (times above 0 that increase, 14 to 64,000 bytes)
//! are checked in its own reader.

use crate::trace::{Departure, MOST, Trace, TraceError};
use crate::unit::{Bytes, Nanos, UnitError, grouped};

/// Accepted names of a column of times, in lower case.
const TIME: [&str; 6] = ["time", "t", "at", "seconds", "timestamp", "frame.time_relative"];
/// Accepted names of a column of sizes, in lower case.
const SIZE: [&str; 6] = ["size", "bytes", "length", "len", "payload", "tcp.len"];

/// The most digits of a number that are read; more than a float prints.
const DIGITS: usize = 30;

/// Reason to refuse a text as a schedule. Lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// Bytes that are no text.
    #[error("line {line} is not text")]
    NotText {
        /// The line.
        line: usize,
    },
    /// There is no message in it.
    #[error("it has no time,size line")]
    Empty,
    /// The first line is neither a message nor names for columns.
    #[error("line {line} names the columns, but not {missing}")]
    Header {
        /// The line.
        line: usize,
        /// Name of the column that it lacks.
        missing: &'static str,
    },
    /// A line without two values.
    #[error("line {line} is not time,size: `{found}`")]
    Columns {
        /// The line.
        line: usize,
        /// Its beginning.
        found: String,
    },
    /// A time that is none.
    #[error("line {line}: `{found}` is not a time from the start of sending")]
    Time {
        /// The line.
        line: usize,
        /// The text in place of the time.
        found: String,
    },
    /// A size that is none.
    #[error("line {line}: {fault}")]
    Size {
        /// The line.
        line: usize,
        /// Fault of the size.
        fault: UnitError,
    },
    /// A size beyond what any message can have.
    #[error("line {line}: a message cannot be as long as `{found}`")]
    TooLong {
        /// The line.
        line: usize,
        /// The text in place of the size.
        found: String,
    },
    /// More messages than are read.
    #[error("it has more than {} messages", grouped(*most as u64))]
    TooMany {
        /// Most messages that are read.
        most: usize,
    },
    /// Time runs backwards.
    #[error("line {line}: time runs backwards by {back}")]
    Backwards {
        /// The line.
        line: usize,
        /// Size of the step back, nanoseconds.
        back: Nanos,
    },
}

/// The schedule in `text`.
///
/// # Errors
/// The first line that does not fit, by its number.
pub fn read(text: &[u8]) -> Result<Trace, TextError> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut columns = None;
    let (mut departures, mut lines) = (Vec::new(), Vec::new());
    for (index, bytes) in text.split(|&byte| byte == b'\n').enumerate() {
        let line = index + 1;
        if departures.len() > MOST {
            return Err(TextError::TooMany { most: MOST });
        }
        let content = std::str::from_utf8(bytes).map_err(|_| TextError::NotText { line })?.trim();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let Some(columns) = columns else {
            let found = Columns::of_first(content, line)?;
            if !found.named {
                departures.push(found.departure(content, line)?);
                lines.push(line);
            }
            columns = Some(found);
            continue;
        };
        departures.push(columns.departure(content, line)?);
        lines.push(line);
    }
    Trace::new(departures).map_err(|error| match error {
        TraceError::Empty => TextError::Empty,
        TraceError::Backwards { number, back } => TextError::Backwards { line: lines[number as usize - 1], back },
    })
}

/// Where time and size stand in a line.
#[derive(Clone, Copy, Debug)]
struct Columns {
    time: usize,
    size: usize,
    /// True where a first line names them.
    named: bool,
}

impl Columns {
    fn of_first(content: &str, line: usize) -> Result<Self, TextError> {
        let is_value = |field: &str| field.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+'));
        if fields(content).any(is_value) {
            return Ok(Self { time: 0, size: 1, named: false });
        }
        let place = |names: &[&str]| fields(content).position(|field| names.contains(&field.to_lowercase().as_str()));
        match (place(&TIME), place(&SIZE)) {
            (Some(time), Some(size)) => Ok(Self { time, size, named: true }),
            (None, None) => Err(TextError::Columns { line, found: beginning(content) }),
            (time, _) => Err(TextError::Header { line, missing: if time.is_none() { "a time" } else { "a size" } }),
        }
    }

    fn departure(self, content: &str, line: usize) -> Result<Departure, TextError> {
        let other = || TextError::Columns { line, found: beginning(content) };
        // Further values without names are more likely a misread than a comment.
        if !self.named && fields(content).count() != 2 {
            return Err(other());
        }
        let field = |place| fields(content).nth(place).filter(|field| !field.is_empty()).ok_or_else(other);
        let (time, size) = (field(self.time)?, field(self.size)?);
        let at = time_of(time).ok_or_else(|| TextError::Time { line, found: beginning(time) })?;
        let bytes: Bytes = size.parse().map_err(|fault: UnitError| TextError::Size {
            line,
            fault: UnitError { text: beginning(size), ..fault },
        })?;
        let bytes = u32::try_from(bytes.0).map_err(|_| TextError::TooLong { line, found: beginning(size) })?;
        Ok(Departure { at, bytes })
    }
}

/// The values of a line, without the blanks and quotation marks around them.
fn fields(content: &str) -> impl Iterator<Item = &str> {
    content.split([',', '\t']).map(|field| field.trim().trim_matches('"').trim())
}

/// Returns the part of a text that an error shows.
fn beginning(found: &str) -> String {
    match found.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &found[..end]),
        None => found.to_owned(),
    }
}

/// Seconds, or a number with its unit.
fn time_of(text: &str) -> Option<Nanos> {
    seconds(text).or_else(|| text.parse().ok())
}

/// Decimal seconds, with or without an exponent, to the nearest nanosecond.
fn seconds(text: &str) -> Option<Nanos> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i8>().ok()?),
        None => (text, 0),
    };
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: String = [whole, part].concat();
    if digits.is_empty() || digits.len() > DIGITS || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let value: u128 = digits.parse().ok()?;
    // The value is of the order 10^-places nanoseconds.
    let places = part.len() as i32 - i32::from(exponent) - 9;
    let scale = |places: i32| 10_u128.checked_pow(places.unsigned_abs());
    let ns = match scale(places) {
        Some(scale) if places > 0 => (value + scale / 2) / scale,
        Some(scale) => value.checked_mul(scale)?,
        // Far below a nanosecond, or far beyond all time.
        None if places > 0 || value == 0 => 0,
        None => return None,
    };
    u64::try_from(ns).ok().map(Nanos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    fn messages(text: &str) -> Vec<(u64, u32)> {
        let trace = read(text.as_bytes()).unwrap();
        trace.departures().iter().map(|message| (message.at.0, message.bytes)).collect()
    }

    #[test_case("0.1,200\n0.2,300\n", &[(100_000_000, 200), (200_000_000, 300)]; "seconds")]
    #[test_case("0,1\n0,2", &[(0, 1), (0, 2)]; "two at once, and no line end")]
    #[test_case("time,size\r\n250us,1kB\r\n1ms,1KiB\r\n", &[(250_000, 1_000), (1_000_000, 1_024)]; "a header and units")]
    #[test_case("\u{feff}\"Size\",\"Time\"\n64,0.5\n", &[(500_000_000, 64)]; "columns by name, as a spreadsheet writes them")]
    #[test_case("no,time,peer,bytes\n1,0.5,a,64\n", &[(500_000_000, 64)]; "other columns beside them")]
    #[test_case("0.5\t64\n", &[(500_000_000, 64)]; "a tab")]
    #[test_case("1e-05,64\n2.5E-3,64\n", &[(10_000, 64), (2_500_000, 64)]; "exponents")]
    #[test_case("0.010000000000000002,64\n0.0149999999999999994,64\n", &[(10_000_000, 64), (15_000_000, 64)]; "digits of a float")]
    #[test_case("5e-100,0\n", &[(0, 0)]; "next to nothing")]
    fn a_schedule_is_read_as_people_write_it(text: &str, expected: &[(u64, u32)]) {
        assert_eq!(messages(text), expected);
    }

    #[test]
    fn the_first_message_of_a_playback_file_leaves_at_its_own_time() {
        let text = "# a playback file of sockperf\n\n1.0, 14\n1.5, 64000\n";
        assert_eq!(messages(text), [(1_000_000_000, 14), (1_500_000_000, 64_000)]);
    }

    #[test_case("", "it has no time,size line"; "nothing")]
    #[test_case("# only\n\n", "it has no time,size line"; "only comments")]
    #[test_case("time,size\n", "it has no time,size line"; "only a header")]
    #[test_case("hello world\n", "line 1 is not time,size: `hello world`"; "prose")]
    #[test_case("time,colour\n", "line 1 names the columns, but not a size"; "no size")]
    #[test_case("0.1\n", "line 1 is not time,size: `0.1`"; "one value")]
    #[test_case("0.1,\n", "line 1 is not time,size: `0.1,`"; "an empty value")]
    #[test_case("0.1,2,3\n", "line 1 is not time,size: `0.1,2,3`"; "three values")]
    #[test_case("0,1\n-0.1,64\n", "line 2: `-0.1` is not a time from the start of sending"; "before the start")]
    #[test_case("nan,64\n", "line 1: `nan` is not a time from the start of sending"; "not a number")]
    #[test_case("1e99,64\n", "line 1: `1e99` is not a time from the start of sending"; "beyond all time")]
    #[test_case("0,1\n\n0,-1\n", "line 3: `-1` is not a size: write it as 64, 1500B, 1kB (1000) or 64KiB (65536)"; "a negative size")]
    #[test_case("0,5GiB\n", "line 1: a message cannot be as long as `5GiB`"; "too long")]
    #[test_case("0.2,1\n# x\n0.1,1\n", "line 3: time runs backwards by 100 ms"; "backwards")]
    fn what_is_no_schedule_is_refused_by_its_line(text: &str, expected: &str) {
        let error = read(text.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn bytes_that_are_no_text_are_refused() {
        assert_eq!(read(b"0,1\n\xff\xfe,1\n"), Err(TextError::NotText { line: 2 }));
    }

    #[test]
    fn an_error_shows_no_more_than_the_beginning() {
        let error = read(format!("{}\n", "é".repeat(5_000)).as_bytes()).unwrap_err();
        assert!(error.to_string().chars().count() < 80, "{error}");
    }
}
