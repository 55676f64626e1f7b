//! The wait for the last replies: a time, or so many round trips, and a time where none is known.

use std::fmt;

use crate::persona::irtt::client::statistics::Statistics;
use crate::persona::irtt::duration;

/// The wait for the last replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The number of round trips, and whether of the mean one instead of the longest; absent: the time alone.
    times: Option<(i64, bool)>,
    /// The time, nanoseconds.
    fixed: i64,
}

impl Wait {
    /// Reads `3x4s`, `3r4s` or `4s`.
    ///
    /// # Errors
    /// The words of the original.
    pub fn parse(text: &str) -> Result<Self, String> {
        let of_mean = text.find('x').is_none();
        let Some((factor, fixed)) = text.split_once(if of_mean { 'r' } else { 'x' }) else {
            let fixed = duration::parse(text).map_err(|_| format!("[NoSuchWaiter] no such Waiter {text}"))?;
            return Ok(Self { times: None, fixed });
        };
        let invalid = |why: String| format!("[InvalidWaitString] invalid wait {text} ({why})");
        let times = factor.parse().map_err(|_| invalid(format!("[InvalidWaitFactor] unparseable factor {factor}")))?;
        let fixed =
            duration::parse(fixed).map_err(|_| invalid(format!("[InvalidWaitDuration] not a duration {fixed}")))?;
        Ok(Self { times: Some((times, of_mean)), fixed })
    }

    /// Its nanoseconds where these are the round trips so far.
    pub fn nanos(&self, round_trips: &Statistics) -> i64 {
        match self.times {
            Some((times, of_mean)) if round_trips.n > 0 => {
                times.saturating_mul(if of_mean { round_trips.mean() } else { round_trips.max })
            }
            _ => self.fixed,
        }
    }

    /// Its nanoseconds where no round trip is known.
    pub fn fixed(&self) -> i64 {
        self.fixed
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((times, of_mean)) = self.times {
            write!(f, "{times}{}", if of_mean { 'r' } else { 'x' })?;
        }
        f.write_str(&duration::text(self.fixed))
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case("3x4s", "3x4s", 4_000_000_000, 900; "times the longest")]
    #[test_case("2r1500ms", "2r1.5s", 1_500_000_000, 400; "times the mean")]
    #[test_case("1500ms", "1.5s", 1_500_000_000, 1_500_000_000; "a time")]
    #[test_case("0s", "0s", 0, 0; "none")]
    fn waits_are_read_and_printed(text: &str, printed: &str, alone: i64, known: i64) {
        let wait = Wait::parse(text).unwrap();
        let mut round_trips = Statistics::default();
        assert_eq!((wait.to_string(), wait.nanos(&round_trips), wait.fixed()), (printed.to_owned(), alone, alone));
        round_trips.push(100);
        round_trips.push(300);
        assert_eq!(wait.nanos(&round_trips), known);
    }

    #[test_case("foo", "[NoSuchWaiter] no such Waiter foo"; "no wait")]
    #[test_case("axs", "[InvalidWaitString] invalid wait axs ([InvalidWaitFactor] unparseable factor a)"; "no factor")]
    #[test_case("3xs", "[InvalidWaitString] invalid wait 3xs ([InvalidWaitDuration] not a duration s)"; "no time")]
    #[test_case("3r", "[InvalidWaitString] invalid wait 3r ([InvalidWaitDuration] not a duration )"; "no time of the mean")]
    fn others_are_refused(text: &str, said: &str) {
        assert_eq!(Wait::parse(text), Err(said.to_owned()));
    }
}
