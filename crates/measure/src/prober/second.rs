//! The seconds of somebody who measures without end: one after the other by the monotonic clock, named by the wall clock.
//!
//! A wall clock that is set forward makes the next second's name jump; one that is set back leaves the name as it is until the clock has come
//! to it again. So a name never goes back, and no second is longer for a step.

use std::collections::BTreeMap;

use crate::event::Fate;
use crate::prober::CellId;
use crate::unit::{Instant, Nanos};

const SECOND: i128 = 1_000_000_000;
/// Lateness of a request from which its result may show this host and not the network.
pub const LATE: Nanos = Nanos::millis(1);
/// Distance within which a boundary is the one aimed at: a time service may have slewed the clock.
const NEAR: i128 = 1_000_000;

/// A second: the requests due in it, with their results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Second {
    /// Its number, from 0.
    pub number: u64,
    /// Its name: seconds since 1970 by the wall clock.
    pub at: u64,
    /// The instant of its end.
    pub end: Instant,
    /// Requests due in it without a final status, a count.
    pub(super) open: u64,
    /// The longest that a request left after it was due; absent where none was due.
    pub slip: Option<Nanos>,
    /// Requests that left, and those of them that left [`LATE`] or later after they were due: counts.
    left: (u64, u64),
    /// Results of each cell that had a request due.
    pub tallies: BTreeMap<CellId, Tally>,
}

/// Results of the requests of one cell. Their sum is the number of requests due.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Not answered.
    pub lost: u64,
    /// Lost requests that did not reach the far end, a count.
    pub lost_out: u64,
    /// Lost requests that reached the far end, a count.
    pub lost_back: u64,
    /// Answered after the timeout.
    pub late: u64,
    /// Refused.
    pub refused: u64,
    /// Answered with wrong content.
    pub corrupt: u64,
    /// Not sent, for a reason of our own side.
    pub send_failed: u64,
    /// Further copies of replies; not among the fates.
    pub duplicated: u64,
    /// Response time of each answer, from when its request was due.
    pub times: Vec<Nanos>,
}

impl Tally {
    /// Counts one that was not answered in time.
    pub(super) fn end(&mut self, fate: Fate) {
        match fate {
            // Its time is kept where it is known.
            Fate::Answered => {}
            Fate::Late => self.late += 1,
            Fate::Lost => self.lost += 1,
            Fate::Refused => self.refused += 1,
            Fate::Corrupt => self.corrupt += 1,
            Fate::SendFailed => self.send_failed += 1,
        }
    }

    /// Returns the number of requests due.
    pub fn due(&self) -> u64 {
        self.lost + self.late + self.refused + self.corrupt + self.send_failed + self.times.len() as u64
    }
}

impl Second {
    /// The one that begins at `begin`, behind that of this number and name; `ahead` is how far the wall clock is ahead of the monotonic one.
    pub(super) fn beginning(begin: Instant, before: Option<(u64, u64)>, ahead: i128) -> Self {
        let wall = i128::from(begin.0) + ahead;
        let named = (wall + NEAR).div_euclid(SECOND);
        let left = (named + 1) * SECOND - wall;
        let by_clock = u64::try_from(named).unwrap_or(0);
        let (number, at) = before.map_or((0, by_clock), |(number, at)| (number + 1, by_clock.max(at)));
        let end = begin.after(Nanos(u64::try_from(left).unwrap_or(1)));
        Self { number, at, end, open: 0, slip: None, left: (0, 0), tallies: BTreeMap::new() }
    }

    /// A request left so long after it was due.
    pub(super) fn slipped(&mut self, by: Nanos) {
        self.slip = self.slip.max(Some(by));
        self.left = (self.left.0 + 1, self.left.1 + u64::from(by >= LATE));
    }

    /// Returns the requests that left, and those of them that left [`LATE`] or later after they were due.
    pub fn left(&self) -> (u64, u64) {
        self.left
    }

    /// The share of its requests that left [`LATE`] or later after they were due, 0 to 1; absent where none was due.
    pub fn late(&self) -> Option<f64> {
        let (all, late) = self.left;
        (all > 0).then(|| late as f64 / all as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of seconds, where the wall clock is so far ahead as each begins.
    fn names(ahead: &[i128]) -> Vec<(u64, u64)> {
        let (mut before, mut begin, mut found) = (None, Instant(300_000_000), Vec::new());
        for ahead in ahead {
            let second = Second::beginning(begin, before, *ahead);
            found.push((second.at, second.end.since(begin).unwrap().0 / 1_000_000));
            (before, begin) = (Some((second.number, second.at)), second.end);
        }
        found
    }

    #[test]
    fn seconds_end_where_the_wall_clocks_do() {
        assert_eq!(names(&[5 * SECOND; 3]), [(5, 700), (6, 1_000), (7, 1_000)]);
        // Slewed by 0.2 ms a second, either way.
        assert_eq!(names(&[SECOND, SECOND - 200_000, SECOND - 400_000]), [(1, 700), (2, 1_000), (3, 1_000)]);
        assert_eq!(names(&[SECOND, SECOND + 200_000, SECOND + 400_000]), [(1, 700), (2, 999), (3, 999)]);
    }

    #[test]
    fn a_step_forward_skips_and_one_back_holds() {
        assert_eq!(
            names(&[SECOND, SECOND + 3_600 * SECOND, SECOND + 3_600 * SECOND]),
            [(1, 700), (3_602, 1_000), (3_603, 1_000)]
        );
        let back = SECOND - 2_300_000_000;
        assert_eq!(
            names(&[SECOND, back, back, back, back, back]),
            [(1, 700), (1, 300), (1, 1_000), (1, 1_000), (2, 1_000), (3, 1_000)]
        );
    }

    #[test]
    fn a_clock_before_1970_is_named_by_0() {
        assert_eq!(names(&[-10 * SECOND])[0].0, 0);
    }
}
