//! Splits exchanges where no line fits them any more, and tells a clock that was set from one whose rate changed.

use std::ops::Range;

use super::FourTimes;
use super::envelope::Envelope;
use crate::unit::Nanos;

/// The longest window: a time service changes the rate of a clock every minute or so.
const LONGEST: u64 = 60_000_000_000;
/// Windows at the most: a longer run has longer ones.
const MOST: u64 = 512;

/// Where exchanges were split.
#[derive(Clone, Debug, Default)]
pub(super) struct Cut {
    /// Stretches that a line fits.
    pub windows: Vec<Range<usize>>,
    /// Reasons for the splits, except for windows that reached their greatest length.
    pub breaks: Vec<Break>,
}

/// Something happened to a clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Break {
    /// After this instant …
    pub after: u64,
    /// … and before this.
    pub before: u64,
    /// Size of the setting and its largest error, nanoseconds; `None`: its rate changed.
    pub by: Option<(i64, Nanos)>,
}

/// Splits `exchanges`, in order of their departure.
pub(super) fn cut(exchanges: &[FourTimes], grain: Nanos) -> Cut {
    let fits = |range: Range<usize>| range.is_empty() || Envelope::of(&exchanges[range], grain).drifts().is_some();
    let span = exchanges.last().map_or(0, |last| last.sent) - exchanges.first().map_or(0, |first| first.sent);
    let length = LONGEST.max(span.div_ceil(MOST / 2));
    let mut cut = Cut::default();
    let mut begin = 0;
    while begin < exchanges.len() && (cut.windows.len() as u64) < MOST {
        let full = exchanges.partition_point(|e| e.sent < exchanges[begin].sent.saturating_add(length));
        // A single exchange that contradicts itself had a clock set in the middle of it.
        if !fits(begin..begin + 1) {
            begin += 1;
            continue;
        }
        let mut end = reach(begin + 1, full, |end| fits(begin..end));
        let next = end;
        if end < full {
            end = contested(exchanges, begin, end, full, fits);
            if let Some(found) = judge(exchanges, begin..end, next, full, grain, fits) {
                cut.breaks.push(found);
            }
        }
        cut.windows.push(begin..end);
        begin = next;
    }
    cut
}

/// The farthest end up to `full` of which `fits` holds, where it holds of every nearer one; `from` is taken as given. Asks
/// of ends not much beyond the one found, so that its cost goes with the result.
fn reach(from: usize, full: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut good, mut step) = (from, 1);
    let mut bad = loop {
        if good >= full {
            return full;
        }
        let next = (good + step).min(full);
        if !fits(next) {
            break next;
        }
        good = next;
        step *= 2;
    };
    while bad - good > 1 {
        let between = usize::midpoint(good, bad);
        if fits(between) { good = between } else { bad = between }
    }
    good
}

/// Exchanges before `end` fit what comes after it as well: the break may lie before them, so they belong to neither.
/// Returns where those of the first window end that fit it alone.
fn contested(
    exchanges: &[FourTimes],
    begin: usize,
    end: usize,
    full: usize,
    fits: impl Fn(Range<usize>) -> bool,
) -> usize {
    let after = reach(end, full.min(end + (end - begin).max(16)), |after| fits(end..after)).max(end + 1);
    let after = after.min(exchanges.len());
    if !fits(end..after) {
        return end;
    }
    let back = reach(0, end - begin - 1, |back| fits(end - back..after));
    end - back
}

/// Returns the event between the window before and the exchanges from `next` on.
fn judge(
    exchanges: &[FourTimes],
    before: Range<usize>,
    next: usize,
    full: usize,
    grain: Nanos,
    fits: impl Fn(Range<usize>) -> bool,
) -> Option<Break> {
    let last = exchanges.get(before.end.checked_sub(1)?)?;
    let first = exchanges.get(next)?;
    let end = reach(next + 1, full, |end| fits(next..end));
    let (early, late) = (Envelope::of(&exchanges[before], grain), Envelope::of(&exchanges[next..end], grain));
    let at = last.sent + (first.sent.saturating_sub(last.sent)) / 2;
    let (was, is) = (span(&early, at)?, span(&late, at)?);
    let apart = is.0 > was.1 || is.1 < was.0;
    let middle = |(low, high): (f64, f64)| f64::midpoint(low, high);
    let by = (middle(is) - middle(was)).round() as i64;
    let off = (is.1 - is.0 + was.1 - was.0) / 2.0;
    let by = apart.then_some((by, Nanos(off.ceil() as u64 + 1)));
    Some(Break { after: last.sent, before: first.came.max(last.sent), by })
}

/// The lowest and the highest difference that any line of an envelope has at an instant. Numbers of several envelopes are
/// compared: they are counted from zero here, to the quarter of a nanosecond for two clocks within a week.
fn span(envelope: &Envelope, at: u64) -> Option<(f64, f64)> {
    let (low, high) = envelope.range(envelope.place(at), envelope.drifts()?);
    let base = envelope.base as f64;
    Some((low + base, high + base))
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case(1, 1 => 1; "nothing beyond")]
    #[test_case(100, 100 => 100; "all fits")]
    #[test_case(37, 100 => 37; "in the middle")]
    #[test_case(99, 100 => 99; "all but the last")]
    #[test_case(1, 2 => 1; "not the second")]
    fn the_farthest_end_is_found(truth: usize, full: usize) -> usize {
        reach(1, full, |end| end <= truth)
    }
}
