//! The seconds of a run: of several threads as one list, and how the response times of each were distributed.

use hdrhistogram::Histogram;

use crate::event::Second;
use crate::outcome::Stretches;
use crate::recorder::{LONGEST, Recording};
use crate::statistics::payload;
use crate::unit::Nanos;

/// Stretches kept of a run at most: more than a picture tells apart.
const STRETCHES: usize = 512;

/// Merges the seconds of all threads: those of one thread take in the seconds of the others whose middle they hold.
pub(super) fn merged_seconds(threads: &[Vec<Second>]) -> Vec<Second> {
    let frame = frame(threads);
    let mut places = vec![Vec::new(); frame.len()];
    for second in threads.iter().flatten() {
        places[place(frame, second)].push(*second);
    }
    let lengths = frame.iter().map(|second| second.length_ns);
    places.iter().zip(lengths).map(|(held, length_ns)| Second { length_ns, ..Second::merged(held.iter()) }).collect()
}

/// Returns the place in `frame` of the second that holds the middle of `second`.
fn place(frame: &[Second], second: &Second) -> usize {
    let middle = Nanos(second.at_ns.0 + second.length_ns.0 / 2);
    frame.partition_point(|of_frame| of_frame.at_ns <= middle).saturating_sub(1)
}

/// The seconds of the thread whose seconds a long run made longest, and among such of the one that ran to the end.
fn frame(threads: &[Vec<Second>]) -> &[Second] {
    // A thread with a single second does not show how long its seconds are: it ended within the first.
    let length = |thread: &[Second]| thread.first().filter(|_| thread.len() > 1).map(|first| first.length_ns.0);
    let usual = threads.iter().filter_map(|thread| length(thread)).min().unwrap_or(1).max(1);
    let standing = |thread: &&Vec<Second>| {
        let last = thread.last()?;
        let times = length(thread).map_or(0, |length| (length + usual / 2) / usual);
        Some((times, last.at_ns.0 + last.length_ns.0))
    };
    threads.iter().max_by_key(standing).map_or(&[], Vec::as_slice)
}

/// Returns the kept response times of each stretch, from the recorder's own data: a thread's seconds give the number of
/// its answers in each.
pub(super) fn stretches(recording: &Recording) -> Option<Stretches> {
    let frame = frame(&recording.seconds);
    let stride = recording.series.iter().map(|series| series.stride).max()?;
    let each = frame.len().div_ceil(STRETCHES).max(1);
    let mut found = vec![empty(); frame.len().div_ceil(each)];
    for (seconds, series) in recording.seconds.iter().zip(&recording.series) {
        let (mut answered, mut from) = (0, 0);
        for second in seconds {
            answered += second.counts.answered;
            let upto = from + series.samples[from..].partition_point(|kept| kept.index < answered);
            let stretch = &mut found[place(frame, second) / each];
            for kept in series.samples[from..upto].iter().filter(|kept| kept.index.is_multiple_of(stride)) {
                stretch.saturating_record(kept.response);
            }
            from = upto;
        }
    }
    let encoded = |stretch: &Histogram<u64>| if stretch.is_empty() { String::new() } else { payload::encode(stretch) };
    let seconds = u32::try_from(each).unwrap_or(u32::MAX);
    let some = found.iter().any(|stretch| !stretch.is_empty());
    some.then(|| Stretches { seconds, stride, histograms: found.iter().map(encoded).collect() })
}

fn empty() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST.0, 1).expect("one digit up to an hour are valid bounds")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Counts;
    use crate::method::LoopKind;
    use crate::recorder::Recorder;
    use crate::unit::Instant;

    #[test]
    fn seconds_of_threads_add_up() {
        let second = |at, answered, mean: Option<f64>, min, max, length| Second {
            at_ns: Nanos::millis(at),
            length_ns: length,
            counts: Counts { scheduled: answered, answered, ..Counts::default() },
            min_ns: min,
            mean_ns: mean,
            max_ns: max,
        };
        let some = |x| Some(Nanos(x));
        let one = vec![
            second(0, 3, Some(10.0), some(5), some(20), Nanos::secs(1)),
            second(1_000, 0, None, None, None, Nanos::secs(1)),
            second(2_000, 1, Some(4.0), some(4), some(4), Nanos::millis(5)),
        ];
        let other = vec![
            second(0, 1, Some(30.0), some(30), some(30), Nanos(999)),
            second(1_000, 0, None, None, None, Nanos(1)),
        ];
        let found = merged_seconds(&[one, other]);
        assert_eq!(found.len(), 3);
        assert_eq!((found[0].counts.answered, found[0].mean_ns), (4, Some(15.0)));
        assert_eq!((found[0].min_ns, found[0].max_ns, found[0].length_ns), (some(5), some(30), Nanos::secs(1)));
        assert_eq!((found[1].min_ns, found[1].mean_ns, found[1].max_ns), (None, None, None));
        assert_eq!(found[2].length_ns, Nanos::millis(5));
    }

    #[test]
    fn a_thread_whose_seconds_became_longer_takes_those_of_one_that_just_did_not_need_it() {
        let second = |at: u64, length: u64, answered: u64| Second {
            at_ns: Nanos::millis(at),
            length_ns: Nanos::millis(length),
            counts: Counts { scheduled: answered, answered, ..Counts::default() },
            min_ns: None,
            mean_ns: None,
            max_ns: None,
        };
        let one = vec![second(0, 1_000, 1), second(1_000, 1_000, 2), second(2_001, 1_000, 3), second(3_001, 1_009, 4)];
        let other = vec![second(0, 2_000, 10), second(2_000, 2_000, 20), second(4_000, 15, 30)];
        for threads in [[one.clone(), other.clone()], [other, one]] {
            let found = merged_seconds(&threads);
            assert_eq!(found.iter().map(|second| second.counts.answered).collect::<Vec<_>>(), [13, 27, 30]);
            assert_eq!(found[0].length_ns, Nanos::secs(2));
        }
        assert_eq!(merged_seconds(&[]), []);
    }

    /// A thread that is answered each millisecond for `seconds`, slowly in the second one, and keeps so many.
    fn slow_in_the_second(seconds: u64, keep: usize) -> Recording {
        let mut recorder = Recorder::new(LoopKind::Closed, keep);
        recorder.begin(Instant(0), None);
        for n in 0..seconds * 1_000 {
            let at = Instant(n * 1_000_000);
            if n > 0 && n % 1_000 == 0 {
                recorder.second(at);
            }
            recorder.answered(at, at.after(Nanos(if n / 1_000 == 1 { 500_000 } else { 20_000 })));
        }
        recorder.finish(Instant(seconds * 1_000_000_000))
    }

    fn decoded(found: &Stretches) -> Vec<Histogram<u64>> {
        found.histograms.iter().map(|text| payload::decode(text).unwrap_or_else(|_| empty())).collect()
    }

    #[test]
    fn every_answer_is_in_the_stretch_it_came_in() {
        let mut both = slow_in_the_second(3, 10_000);
        both.merge(slow_in_the_second(3, 10_000));
        for (recording, each) in [(slow_in_the_second(3, 10_000), 1_000), (both, 2_000)] {
            let found = stretches(&recording).unwrap();
            assert_eq!((found.seconds, found.stride), (1, 1));
            let seen: Vec<(u64, u64)> =
                decoded(&found).iter().map(|stretch| (stretch.len(), stretch.value_at_quantile(0.5))).collect();
            for ((count, median), wanted) in seen.iter().zip([20_000.0, 500_000.0, 20_000.0]) {
                assert_eq!(*count, each);
                assert!((*median as f64 / wanted - 1.0).abs() < 1.0 / 16.0, "{median}");
            }
        }
    }

    #[test]
    fn of_a_thinned_run_each_value_stands_for_several() {
        let found = stretches(&slow_in_the_second(4, 100)).unwrap();
        assert!(found.stride >= 40, "{found:?}");
        for stretch in decoded(&found) {
            assert!((stretch.len() * found.stride).abs_diff(1_000) <= found.stride, "{}", stretch.len());
        }
    }

    #[test]
    fn a_long_run_has_longer_stretches_and_a_silent_one_none() {
        let found = stretches(&slow_in_the_second(1_000, 10_000)).unwrap();
        assert_eq!((found.seconds, found.histograms.len()), (2, 500));
        assert_eq!(stretches(&Recorder::new(LoopKind::Closed, 10).finish(Instant(5))), None);
    }

    #[test]
    fn a_second_without_an_answer_is_empty() {
        let mut recorder = Recorder::new(LoopKind::Closed, 10);
        recorder.begin(Instant(0), None);
        recorder.answered(Instant(0), Instant(50));
        recorder.second(Instant(1_000));
        recorder.second(Instant(2_000));
        let found = stretches(&recorder.finish(Instant(2_000))).unwrap();
        assert_eq!(found.histograms.iter().map(String::is_empty).collect::<Vec<_>>(), [false, true]);
    }
}
