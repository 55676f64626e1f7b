//! Time in which the receiver of a stream got nothing, or next to nothing: whole intervals with less than a tenth of what others bring, where
//! each brings many calls' worth otherwise. A stream that begins slowly is not silent, nor is one of an even low rate.

use serde::{Deserialize, Serialize};

use super::{Carried, Interval, Stream, merged};
use crate::unit::{Bytes, Nanos};

/// Whole intervals in which the receiver of all streams together got nothing, or next to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Silence {
    /// Number of times, each of one interval or several in a row.
    pub times: u64,
    /// Length of all of them, in nanoseconds: to the grain of an interval, so that each may have been longer by up to two.
    pub total_ns: Nanos,
    /// Their share of all whole intervals, 0 to 1.
    pub share: f64,
    /// Payload that came in them.
    pub bytes: Bytes,
    /// Beginning of the longest, nanoseconds after the start of the measurement.
    pub longest_from_ns: Nanos,
    /// Its end, likewise.
    pub longest_to_ns: Nanos,
    /// True where the last of the intervals is one of them, and what is left behind it, which then counts too, brought as little.
    pub to_the_end: bool,
}

/// Calls of the receiver that an interval with payload has on average, from which an empty one is no accident of a low rate.
const CALLS: u64 = 10;

/// Ratio of what other intervals bring, by their median, to what one brings that is silent, at least.
const NEXT_TO_NOTHING: u64 = 10;

/// Intervals in a row from which a little of each may be a low rate.
const LOW: usize = 2;
/// Calls of each of them, at least: fewer slip through where nothing else does.
const LOW_CALLS: u64 = 3;

/// Returns the silence of `receivers` within the first `elapsed` of their streams; `None` where none was, or where intervals bring too
/// little to tell.
pub fn silence(receivers: &[Stream], elapsed: Nanos) -> Option<Silence> {
    let whole = whole(receivers, elapsed);
    let mut brought: Vec<u64> =
        whole.iter().map(|interval| interval.carried.bytes.0).filter(|bytes| *bytes > 0).collect();
    brought.sort_unstable();
    let usual = brought.get(brought.len() / 2).copied()?;
    let usual_length = u128::from(whole[0].length_ns.0);
    let is_little = |interval: &Interval| {
        let bytes = u128::from(interval.carried.bytes.0) * u128::from(NEXT_TO_NOTHING);
        bytes.saturating_mul(usual_length) < u128::from(usual) * u128::from(interval.length_ns.0)
    };
    let begun = &whole[beginning(&whole)..];
    let (with, calls) = begun
        .iter()
        .filter(|interval| !is_little(interval))
        .fold((0_u64, 0_u64), |(with, calls), interval| (with + 1, calls.saturating_add(interval.carried.calls)));
    if calls < with.max(1) * CALLS {
        return None;
    }
    let spells = begun.chunk_by(|one, next| is_little(one) == is_little(next));
    // The rate may have changed in the middle of the first.
    let spells = spells.filter(|part| is_little(&part[0]) && !is_even(part) && !is_even(&part[1..]));
    let mut spells: Vec<Interval> =
        spells.filter_map(|part| part.iter().copied().reduce(|one, next| one.then(&next))).collect();
    let mut all = whole.iter().fold(0_u64, |sum, interval| sum.saturating_add(interval.length_ns.0));
    // One lasts to the end where what is left behind the last interval brings as little.
    let rest = rest(receivers, &whole, elapsed);
    let is_last = spells.last().map(end) == whole.last().map(end);
    let to_the_end = is_last && rest.as_ref().is_none_or(is_little);
    if let (true, Some(rest), Some(last)) = (to_the_end, rest, spells.last_mut()) {
        *last = last.then(&rest);
        all = all.saturating_add(rest.length_ns.0);
    }
    let longest = spells.iter().max_by_key(|spell| spell.length_ns)?;
    let sum = |of: fn(&Interval) -> u64| spells.iter().fold(0_u64, |sum, spell| sum.saturating_add(of(spell)));
    let total = sum(|spell| spell.length_ns.0);
    Some(Silence {
        times: spells.len() as u64,
        total_ns: Nanos(total),
        share: total as f64 / all.max(1) as f64,
        bytes: Bytes(sum(|spell| spell.carried.bytes.0)),
        longest_from_ns: longest.at_ns,
        longest_to_ns: end(longest),
        to_the_end,
    })
}

/// True of intervals that bring a little evenly: a low rate, as of a shaper, and no silence.
fn is_even(part: &[Interval]) -> bool {
    let brought = || part.iter().map(|interval| interval.carried.bytes.0);
    let is_alike = brought().min().unwrap_or(0).saturating_mul(2) >= brought().max().unwrap_or(0);
    part.len() >= LOW && is_alike && part.iter().all(|interval| interval.carried.calls >= LOW_CALLS)
}

/// The rest of the streams' time, behind the `whole` intervals, as one; `None` where they are all of it.
fn rest(receivers: &[Stream], whole: &[Interval], elapsed: Nanos) -> Option<Interval> {
    let (from, stop) = (end(whole.last()?), Nanos(whole[0].at_ns.0.saturating_add(elapsed.0)));
    let behind = receivers.iter().flat_map(|stream| &stream.intervals);
    let behind = behind.filter(|interval| (from..stop).contains(&interval.at_ns));
    let bytes = Bytes(behind.fold(0, |sum, interval| sum.saturating_add(interval.carried.bytes.0)));
    let carried = Carried { bytes, ..Carried::default() };
    (from < stop).then(|| Interval { at_ns: from, length_ns: Nanos(stop.0 - from.0), carried, ..Interval::default() })
}

/// The number of intervals at the start of which each brought something and the next more: over a long path TCP's slow start takes seconds, and
/// brings next to nothing at first.
fn beginning(whole: &[Interval]) -> usize {
    let brought = |interval: &Interval| interval.carried.bytes.0;
    whole.windows(2).take_while(|pair| (1..brought(&pair[1])).contains(&brought(&pair[0]))).count()
}

/// The whole intervals of `receivers` together within the first `elapsed` of their streams, without those of the warm-up.
pub fn whole(receivers: &[Stream], elapsed: Nanos) -> Vec<Interval> {
    let all = merged(&receivers.iter().map(|stream| stream.intervals.as_slice()).collect::<Vec<_>>());
    let mut whole: Vec<Interval> = all.into_iter().filter(|interval| !interval.omitted).collect();
    whole.pop();
    let start = whole.first().map_or(0, |first| first.at_ns.0);
    whole.retain(|interval| end(interval).0.saturating_sub(start) <= elapsed.0);
    whole
}

fn end(interval: &Interval) -> Nanos {
    Nanos(interval.at_ns.0.saturating_add(interval.length_ns.0))
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;
    use crate::throughput::change::change;

    /// A stream whose receiver made so many calls in each half second, the last of which is not whole.
    fn stream(calls: &[u64]) -> Stream {
        let half = |(place, calls): (u64, &u64)| Interval {
            at_ns: Nanos::millis(500 * place),
            length_ns: Nanos::millis(500),
            carried: Carried { bytes: Bytes(calls * 1_000), calls: *calls, ..Carried::default() },
            ..Interval::default()
        };
        Stream { intervals: (0..).zip(calls).map(half).collect(), ..Stream::default() }
    }

    /// Times, milliseconds in all, and of the longest from and to.
    fn found(streams: &[Stream], elapsed: u64) -> Option<(u64, u64, u64, u64, bool)> {
        let silence = silence(streams, Nanos::millis(elapsed))?;
        let millis = [silence.total_ns, silence.longest_from_ns, silence.longest_to_ns].map(|at| at.0 / 1_000_000);
        Some((silence.times, millis[0], millis[1], millis[2], silence.to_the_end))
    }

    #[test_case(&[50, 40, 60, 50, 0], 2_500, None; "the last interval is not whole")]
    #[test_case(&[50, 0, 60, 0, 0, 50, 3], 3_500, Some((2, 1_500, 1_500, 2_500, false)); "twice")]
    #[test_case(&[50, 4, 60, 0, 50, 50, 3], 3_500, Some((2, 1_000, 1_500, 2_000, false)); "once with a few at its end")]
    #[test_case(&[50, 5, 60, 50, 50, 50, 3], 3_500, None; "a tenth is a slow time and no silence")]
    #[test_case(&[50, 40, 0, 0, 0, 0, 0], 3_000, Some((1, 2_000, 1_000, 3_000, true)); "to the end")]
    #[test_case(&[50, 40, 50, 0, 0, 0], 2_900, Some((1, 1_400, 1_500, 2_900, true)); "to the end of what is left behind the whole ones")]
    #[test_case(&[50, 40, 50, 0, 0, 30], 2_900, Some((1, 1_000, 1_500, 2_500, false)); "until what is left brings much")]
    #[test_case(&[90, 90, 90, 5, 5, 5, 5], 3_500, None; "an even low rate")]
    #[test_case(&[90, 90, 90, 90, 8, 3, 3, 3], 4_000, None; "an even low rate that begins within an interval")]
    #[test_case(&[90, 90, 90, 90, 8, 3, 7, 0], 4_000, Some((1, 2_000, 2_000, 4_000, true)); "uneven little")]
    #[test_case(&[90, 90, 90, 1, 1, 1, 1], 3_500, Some((1, 2_000, 1_500, 3_500, true)); "what slips through")]
    #[test_case(&[50, 40, 50, 0, 0, 0, 0], 1_600, None; "a receiver that listens on when the stream is over")]
    #[test_case(&[1, 4, 30, 90, 95, 90, 3], 3_500, None; "a slow start")]
    #[test_case(&[1, 4, 0, 90, 95, 90, 3], 3_500, Some((1, 1_000, 500, 1_500, false)); "a slow start with a break")]
    #[test_case(&[0, 0, 30, 90, 95, 90, 3], 3_500, Some((1, 1_000, 0, 1_000, false)); "nothing at the start")]
    #[test_case(&[2, 0, 1, 0, 2, 2, 1], 3_500, None; "a stream of few datagrams")]
    #[test_case(&[0, 0, 0, 0, 0], 2_500, None; "nothing ever came")]
    fn whole_intervals_without_an_octet_are_silence(
        calls: &[u64],
        elapsed: u64,
        expected: Option<(u64, u64, u64, u64, bool)>,
    ) {
        assert_eq!(found(&[stream(calls)], elapsed), expected);
    }

    #[test]
    fn an_even_low_rate_is_a_change() {
        let stream = stream(&[90, 90, 45, 4, 4, 4, 4]);
        let change = change(&whole(&[stream], Nanos::millis(3_500))).map(|change| change.at_ns);
        assert_eq!(change, Some(Nanos::millis(1_500)));
    }

    #[test]
    fn one_stream_that_goes_on_is_no_silence_and_shares_are_of_whole_intervals() {
        let [one, other] = [&[50, 0, 0, 50, 9], &[50, 0, 40, 50, 9]].map(|calls| stream(calls));
        assert_eq!(found(&[one.clone(), other], 2_500), Some((1, 500, 500, 1_000, false)));
        assert_eq!(silence(&[one], Nanos::millis(2_500)).map(|silence| silence.share), Some(0.5));
        assert_eq!(silence(&[], Nanos::secs(1)), None);
    }
}
