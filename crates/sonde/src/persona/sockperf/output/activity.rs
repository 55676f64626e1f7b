//! Signs of life while messages go: a dot, or a line of figures, after each so many.

use crate::persona::sockperf::options::Activity;

/// The line above the figures, once for each 20 of them.
const HEADER: &str = "    -- Interval --     -- Message Rate --  -- Total Message Count --\n";
/// Figures under a header.
const LINES: u64 = 20;
/// An interval of an hour or more is told of no further: nobody was looking.
const HOUR_NS: u64 = 3_600_000_000_000;

/// Says when something is to be printed.
#[derive(Clone, Debug)]
pub struct Ticker {
    activity: Activity,
    since_ns: u64,
    lines: u64,
}

impl Ticker {
    /// The test starts at `now_ns`.
    pub fn new(activity: Activity, now_ns: u64) -> Self {
        Self { activity, since_ns: now_ns, lines: 0 }
    }

    /// The message of number `count` went, at `now_ns`: what is printed, if anything.
    pub fn message(&mut self, count: u64, now_ns: u64) -> Option<String> {
        if !count.is_multiple_of(self.activity.every) {
            return None;
        }
        if !self.activity.detailed {
            return Some(".".to_owned());
        }
        let interval_ns = now_ns.saturating_sub(std::mem::replace(&mut self.since_ns, now_ns));
        if interval_ns >= HOUR_NS {
            return None;
        }
        let header = if self.lines.is_multiple_of(LINES) { HEADER } else { "" };
        self.lines += 1;
        let micros = (interval_ns + 500) / 1_000;
        let rate = u128::from(self.activity.every) * 1_000_000_000 / u128::from(interval_ns.max(1));
        Some(format!("{header} {micros:>10} [usec]    {rate:>10} [msg/s]    {count:>13} [msg]\n"))
    }

    /// Returns true where a line of dots is to be ended when `count` messages have gone.
    pub fn has_dots(&self, count: u64) -> bool {
        !self.activity.detailed && count >= self.activity.every
    }
}
