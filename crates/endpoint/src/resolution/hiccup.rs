//! Pauses of a thread that does nothing but read the clock.

use measure::resolution::{HICCUP, Hiccups};
use measure::unit::{Instant, Nanos};

use crate::clock::Monotonic;
use crate::facts::thread::{ThreadFacts, ThreadSpan};

/// Reads the clock for `span`; returns the pauses seen, and the scheduler's facts of that time.
pub(super) fn watch(span: Nanos) -> (Hiccups, Option<ThreadSpan>) {
    let begin = ThreadFacts::own();
    let hiccups = count(std::iter::repeat_with(Monotonic::now), span);
    let end = ThreadFacts::own();
    (hiccups, end.zip(begin).and_then(|(end, begin)| end.since(&begin)))
}

/// Gaps between `readings`, until `span` has passed.
fn count(mut readings: impl Iterator<Item = Instant>, span: Nanos) -> Hiccups {
    let mut seen = Hiccups::default();
    let Some(start) = readings.next() else { return seen };
    let mut last = start;
    for now in readings {
        let gap = now.since(last).unwrap_or_default();
        if gap > HICCUP {
            seen.count += 1;
            seen.total_ns.0 += gap.0;
        }
        seen.longest_ns = seen.longest_ns.max(gap);
        last = now;
        seen.watched_ns = now.since(start).unwrap_or_default();
        if seen.watched_ns >= span {
            break;
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_counted_as_planted() {
        // 10 us exactly is none; 11 us and 500 us are; after 1 ms it is over.
        let readings = [0, 1_000, 11_000, 22_000, 522_000, 1_030_000, 9_000_000].map(|at| Instant(5 + at));
        let seen = count(readings.into_iter(), Nanos::millis(1));
        assert_eq!(seen.count, 3);
        assert_eq!(seen.total_ns, Nanos(11_000 + 500_000 + 508_000));
        assert_eq!((seen.longest_ns, seen.watched_ns), (Nanos(508_000), Nanos(1_030_000)));
    }

    #[test]
    fn the_real_clock_is_watched_as_long_as_asked() {
        let (seen, span) = watch(Nanos::millis(20));
        assert!(seen.watched_ns >= Nanos::millis(20) && seen.longest_ns > Nanos::ZERO);
        assert!(span.unwrap().watched_ns >= seen.watched_ns);
    }
}
