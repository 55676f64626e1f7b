//! A playback file: when each message leaves and how long it is.
//!
//! `time, size`, one message a line: seconds since the beginning as a decimal number, and bytes. Times are above 0 and
//! rise from line to line; the first message leaves at its own time. A line that is empty or begins with `#` is skipped;
//! text behind the size is not looked at. Seen with sockperf 3.7 and 3.10, whose three ways to refuse a line are
//! [`Fault`]'s; a carriage return at a line's end is let pass here.

use measure::unit::Nanos;

/// Bytes of the smallest message.
pub const SMALLEST: u32 = 14;

/// Bytes of the largest message, over TCP too.
pub const LARGEST: u32 = 64_000;

/// The latest time, seconds: 2^31 - 1.
pub const LATEST: u32 = i32::MAX as u32;

/// A message to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Departure since the beginning, to the nearest nanosecond.
    pub at: Nanos,
    /// Its length, bytes, [`SMALLEST`] to [`LARGEST`].
    pub size: u32,
}

/// Reads the departures of a playback file, in order. An empty one is not an error here, as it is none in sockperf.
pub fn parse(text: &str) -> Result<Vec<Departure>, Error> {
    let mut departures = Vec::new();
    let mut before = 0.0;
    for (line, text) in (1..).zip(text.lines()) {
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let error = |fault| Error { line, fault };
        let (seconds, size) = fields(text).ok_or_else(|| error(Fault::Unreadable))?;
        if seconds < before {
            return Err(error(Fault::OutOfOrder));
        }
        let at = nanos(seconds).filter(|at| departures.last().map_or(Nanos::ZERO, |last: &Departure| last.at) < *at);
        let size = size.filter(|size| (SMALLEST..=LARGEST).contains(size));
        let (Some(at), Some(size)) = (at, size) else { return Err(error(Fault::Illegal)) };
        departures.push(Departure { at, size });
        before = seconds;
    }
    Ok(departures)
}

/// The two numbers of a line: the time, and the size where one can be that large.
fn fields(line: &str) -> Option<(f64, Option<u32>)> {
    let (time, rest) = line.split_once(',')?;
    let seconds = time.trim_ascii_start().parse().ok()?;
    let rest = rest.trim_ascii_start();
    let (negative, rest) = match rest.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, rest.strip_prefix('+').unwrap_or(rest)),
    };
    let digits = &rest[..rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len())];
    if digits.is_empty() {
        return None;
    }
    let size = if negative { None } else { digits.parse().ok() };
    Some((seconds, size))
}

/// Converts a time; `None` where it is none.
fn nanos(seconds: f64) -> Option<Nanos> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within 0 and 2^61")]
    (0.0..=f64::from(LATEST)).contains(&seconds).then(|| Nanos((seconds * 1e9).round() as u64))
}

/// A line that can't be played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct Error {
    /// Number of the line, from 1, skipped ones counted.
    pub line: usize,
    /// Fault of the line.
    pub fault: Fault,
}

/// Fault of a line: sockperf's three classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Earlier than the line before, or than 0.
    #[error("its time is before that of the previous message; times must increase")]
    OutOfOrder,
    /// At the same nanosecond as the line before, at 0, or beyond [`LATEST`]; or a size out of its bounds.
    #[error(
        "the time is not above 0 and above the previous one, or is beyond {LATEST} s, or the size is not {SMALLEST} to \
         {LARGEST} bytes"
    )]
    Illegal,
    /// No time, comma and size.
    #[error("not \"time, size\" in seconds and bytes")]
    Unreadable,
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn at(nanos: u64, size: u32) -> Departure {
        Departure { at: Nanos(nanos), size }
    }

    #[test]
    fn a_file_is_read_as_it_was_played() {
        // The captures udp-playback and tcp-playback were made from it.
        let text = "# time, size\n1.0, 14\n1.1, 100\n1.1005, 40\n\n1.2, 64\n1.25, 14\n1.4, 500\n";
        let expected = [
            at(1_000_000_000, 14),
            at(1_100_000_000, 100),
            at(1_100_500_000, 40),
            at(1_200_000_000, 64),
            at(1_250_000_000, 14),
            at(1_400_000_000, 500),
        ];
        assert_eq!(parse(text), Ok(expected.to_vec()));
        assert_eq!(parse(text.trim_end()), Ok(expected.to_vec()), "without the last newline");
        assert_eq!(parse(&text.replace('\n', "\r\n")), Ok(expected.to_vec()));
    }

    // All but where it is said as both sockperfs.
    #[test_case("0.01,20"; "no space")]
    #[test_case(" 0.01, 20"; "spaces before")]
    #[test_case("\t0.01,\t20"; "tabs")]
    #[test_case("1e-2, 20"; "exponent")]
    #[test_case("+.01, +20"; "signs")]
    #[test_case("0.01, 020"; "no octal")]
    #[test_case("0.01, 20.7"; "a fraction of a byte")]
    #[test_case("0.01, 20, 3 more"; "what follows")]
    #[test_case("0.01, 20#c"; "a comment behind it")]
    fn a_line_is_read(line: &str) {
        assert_eq!(parse(line), Ok(vec![at(10_000_000, 20)]));
    }

    #[test_case("0.01 20", Fault::Unreadable; "no comma")]
    #[test_case("0.01 , 20", Fault::Unreadable; "a space before the comma")]
    #[test_case("0.01,, 20", Fault::Unreadable; "two commas")]
    #[test_case("0.01", Fault::Unreadable; "no size")]
    #[test_case("0.01,", Fault::Unreadable; "no size behind the comma")]
    #[test_case(", 20", Fault::Unreadable; "no time")]
    #[test_case("x, 20", Fault::Unreadable; "not a time")]
    #[test_case("0.01, x", Fault::Unreadable; "not a size")]
    #[test_case("0.01, -", Fault::Unreadable; "a sign alone")]
    #[test_case("  ", Fault::Unreadable; "blanks")]
    #[test_case(" # x", Fault::Unreadable; "a comment further on")]
    #[test_case("0, 20", Fault::Illegal; "time 0")]
    #[test_case("0.0000000001, 20", Fault::Illegal; "too soon")]
    #[test_case("inf, 20", Fault::Illegal; "never")]
    #[test_case("nan, 20", Fault::Illegal; "not a number")]
    #[test_case("1e300, 20", Fault::Illegal; "too late")]
    #[test_case("4e9, 20", Fault::Illegal; "later than 31 bits")]
    #[test_case("0.01, 13", Fault::Illegal; "too small")]
    #[test_case("0.01, 64001", Fault::Illegal; "too large")]
    #[test_case("0.01, -20", Fault::Illegal; "a negative size")]
    #[test_case("0.01, 0x20", Fault::Illegal; "hexadecimal")]
    #[test_case("0.01, 4294967316", Fault::Illegal; "no 32 bits, where sockperf takes 20")]
    #[test_case("0.01, 99999999999999999999", Fault::Illegal; "no 64 bits")]
    #[test_case("-1, 20", Fault::OutOfOrder; "before the beginning")]
    #[test_case("-1, 5", Fault::OutOfOrder; "before it and too small")]
    fn a_line_is_refused(line: &str, fault: Fault) {
        assert_eq!(parse(&format!("#\n\n{line}\n0.02, 20\n")), Err(Error { line: 3, fault }));
    }

    #[test]
    fn times_rise() {
        assert_eq!(parse("0.02, 20\n0.01, 20\n"), Err(Error { line: 2, fault: Fault::OutOfOrder }));
        assert_eq!(parse("0.01, 20\n#\n0.01, 20\n"), Err(Error { line: 3, fault: Fault::Illegal }));
        assert_eq!(parse("0.0000000011, 20\n0.0000000012, 20"), Err(Error { line: 2, fault: Fault::Illegal }));
        assert_eq!(parse("0.000000001, 20\n0.000000002, 20"), Ok(vec![at(1, 20), at(2, 20)]));
        let latest = format!("{LATEST}, {LARGEST}");
        assert_eq!(parse(&latest), Ok(vec![at(2_147_483_647_000_000_000, LARGEST)]));
    }

    #[test]
    fn a_time_is_the_nearest_nanosecond() {
        assert_eq!(parse("1.001, 20\n2.0000000019, 20"), Ok(vec![at(1_001_000_000, 20), at(2_000_000_002, 20)]));
    }

    #[test]
    fn a_file_may_play_nothing() {
        assert_eq!(parse("# nothing\n\n"), Ok(vec![]));
    }

    #[test]
    fn an_error_says_where_and_what() {
        let error = parse("1, 20\n1, 20\n").expect_err("the same time");
        assert!(error.to_string().starts_with("line 2: the time is not above 0 and above the previous one"));
    }
}
