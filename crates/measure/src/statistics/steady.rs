//! Steady state of a run: the end of its transient, and the drift from its first third to its last.
//!
//! Nothing is cut from any number: the verdict is told beside them. Many systems never settle, and none is forced to.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::outcome::Steady;
use crate::statistics::quantile::Ranked;

/// Values of one batch of MSER-5.
const BATCH: usize = 5;
/// Below so many values nothing is said: 20 batches.
pub const SHORTEST: usize = 100;
/// Batches that a steady part has at least: the criterion of a handful of batches is small by chance.
const FEWEST_BATCHES: usize = 10;
/// A start is at most one of so many parts of a run: what is longer has half of the first third.
const START: usize = 6;
/// Consecutive segments of a third whose medians are compared.
const SEGMENTS: usize = 8;
/// A shift of the median by less than this share of it is no drift, however surely it is there: by so much processors, caches and queues of a host
/// that does nothing else move it.
pub const RELEVANT: f64 = 0.05;
/// Probability on either side of the interval that must exclude zero: a 99.9 % interval, so that one steady run in a thousand is called drifting.
const TAIL: f64 = 0.000_5;

/// The verdict over a series in order of time, each value of which stands for `stride` answers.
///
/// Settled: after the transient by MSER-5 the medians of the first and the last third do not differ by [`RELEVANT`] or more, or not surely (99.9 %
/// interval from the medians of eight segments of each); nor those of the whole run, where the transient is more than a sixth of it. Where the transient ends in the second half, there is no steady state if what is before
/// and behind that differs as surely, in its median or in its spread: of a steady run the criterion lies there once in twenty by chance.
pub fn steady(series: &[u64], stride: u64) -> Steady {
    if series.len() < SHORTEST {
        return Steady::TooShort;
    }
    let cut = transient(series);
    let is_late = 2 * cut > series.len();
    let transient = if is_late { 0 } else { cut };
    // Of a long part that is cut it is told that it was another: it is in all numbers.
    let of_all = || (START * transient > series.len()).then(|| drift(series)).flatten();
    match drift(&series[transient..]).or_else(of_all) {
        Some(shift_ns) => Steady::Drifting { shift_ns },
        None if is_late && differs(&series[..cut], &series[cut..]) => Steady::NotFound,
        None => Steady::Settled { transient: transient as u64 * stride },
    }
}

/// Values before the steady part by MSER-5 (White 1997): the d that minimises the squared deviations of the batches
/// behind it from their mean, over the square of how many they are; batches are of five.
///
/// The batches are of ranks, not of values: of values as latencies have them (one stall of a second among microseconds)
/// the criterion would cut just behind the largest and see nothing else.
fn transient(series: &[u64]) -> usize {
    let batches: Vec<f64> =
        middle_ranks(series).chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
    let n = batches.len();
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (d, &y) in batches.iter().enumerate().rev() {
        sum += y;
        squares += y * y;
        let rest = (n - d) as f64;
        let criterion = (squares - sum * sum / rest) / (rest * rest);
        // At equal worth the longer steady part.
        if n - d >= FEWEST_BATCHES && criterion <= best.0 {
            best = (criterion, d);
        }
    }
    best.1 * BATCH
}

/// True where the median or the spread of two parts surely differs, by [`RELEVANT`] of the median at least.
fn differs(one: &[u64], other: &[u64]) -> bool {
    let (Some(here), Some(there)) = (median(one), median(other)) else { return false };
    let least = RELEVANT * here.min(there) as f64;
    let apart = |one: &[u64], other: &[u64]| {
        let by = median(one).zip(median(other)).map_or(0, |(one, other)| one.abs_diff(other));
        by as f64 >= least && surely_differ(one, other) == Some(true)
    };
    let spread = |part: &[u64], middle: u64| part.iter().map(|value| value.abs_diff(middle)).collect::<Vec<_>>();
    apart(one, other) || apart(&spread(one, here), &spread(other, there))
}

/// Rank of each value, equal ones sharing the middle of theirs, less the middle of all: from -1/2 to 1/2.
pub(super) fn middle_ranks(series: &[u64]) -> Vec<f64> {
    let n = series.len();
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.sort_unstable_by_key(|&i| series[i as usize]);
    let mut ranks = vec![0.0; n];
    let mut before = 0;
    for ties in order.chunk_by(|&left, &right| series[left as usize] == series[right as usize]) {
        let middle = (before as f64 + ties.len() as f64 / 2.0) / n as f64 - 0.5;
        for &i in ties {
            ranks[i as usize] = middle;
        }
        before += ties.len();
    }
    ranks
}

/// Median of the last third minus that of the first, where it is surely not zero and large enough to matter.
fn drift(series: &[u64]) -> Option<i64> {
    let third = series.len() / 3;
    let (first, last) = (&series[..third], &series[series.len() - third..]);
    let (before, after) = (median(first)?, median(last)?);
    let shift = after as i64 - before as i64;
    let matters = shift.unsigned_abs() as f64 >= RELEVANT * before as f64 && shift != 0;
    (matters && surely_differ(first, last)?).then_some(shift)
}

fn median(values: &[u64]) -> Option<u64> {
    Ranked::exact(values.to_vec()).quantile(0.5)
}

/// Returns true where the medians of consecutive segments of the one and of the other differ by more than they scatter (Welch's
/// test). Segments, not values: they are far less correlated, and a trend within a third does not hide that between.
fn surely_differ(first: &[u64], last: &[u64]) -> Option<bool> {
    let (one, other) = (Scatter::of(first)?, Scatter::of(last)?);
    let difference = (one.mean - other.mean).abs();
    let variance = one.variance + other.variance;
    if variance <= 0.0 {
        return Some(difference > 0.0);
    }
    let each = (one.variance.powi(2) + other.variance.powi(2)) / (SEGMENTS as f64 - 1.0);
    let student = StudentsT::new(0.0, 1.0, variance.powi(2) / each).ok()?;
    Some(difference > student.inverse_cdf(1.0 - TAIL) * variance.sqrt())
}

/// Mean of the medians of segments, and the variance of that mean.
struct Scatter {
    mean: f64,
    variance: f64,
}

impl Scatter {
    fn of(values: &[u64]) -> Option<Self> {
        let medians: Vec<f64> = values
            .chunks_exact(values.len() / SEGMENTS)
            .take(SEGMENTS)
            .map(|segment| median(segment).map(|median| median as f64))
            .collect::<Option<_>>()?;
        let n = medians.len() as f64;
        let mean = medians.iter().sum::<f64>() / n;
        let squares: f64 = medians.iter().map(|median| (median - mean).powi(2)).sum();
        Some(Self { mean, variance: squares / (n - 1.0) / n })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::simulated::{autoregressive, latencies};
    use fastrand::Rng;
    use test_case::test_case;

    #[test]
    fn a_slow_start_is_a_transient() {
        let mut rng = Rng::with_seed(1);
        let mut series = latencies(&mut rng, 3_000);
        series[..300].iter_mut().for_each(|value| *value += 30_000);
        let Steady::Settled { transient } = steady(&series, 1) else { panic!("{:?}", steady(&series, 1)) };
        assert!((290..=330).contains(&transient), "{transient}");
        let Steady::Settled { transient: thinned } = steady(&series, 8) else { panic!("settled") };
        assert_eq!(thinned, transient * 8, "each value stands for eight");
    }

    #[test]
    fn a_run_that_creeps_up_is_drifting_by_so_much() {
        let mut rng = Rng::with_seed(2);
        let mut series = latencies(&mut rng, 3_000);
        series.iter_mut().enumerate().for_each(|(i, value)| *value += i as u64 * 10);
        // A third is 1000 values, the thirds are 2000 apart: 20 us.
        let Steady::Drifting { shift_ns } = steady(&series, 1) else { panic!("{:?}", steady(&series, 1)) };
        assert!((18_000..22_000).contains(&shift_ns), "{shift_ns}");
        series.reverse();
        let Steady::Drifting { shift_ns } = steady(&series, 1) else { panic!("drifting") };
        assert!((-22_000..-18_000).contains(&shift_ns), "{shift_ns}");
    }

    #[test]
    fn a_step_in_the_second_half_is_no_steady_state() {
        let mut series = latencies(&mut Rng::with_seed(3), 2_000);
        series[1_400..].iter_mut().for_each(|value| *value += 40_000);
        assert!(!matches!(steady(&series, 1), Steady::Settled { .. }));
    }

    #[test_case(500; "a sixth")]
    #[test_case(1_000; "a third")]
    #[test_case(1_400; "almost half")]
    fn a_step_in_the_first_half_is_a_start_where_it_is_short_alone(at: usize) {
        let mut series = latencies(&mut Rng::with_seed(13), 3_000);
        series[at..].iter_mut().for_each(|value| *value += 40_000);
        let found = steady(&series, 1);
        let is_right = match found {
            Steady::Settled { transient } => at == 500 && (490..=510).contains(&transient),
            Steady::Drifting { shift_ns } => at > 500 && (35_000..45_000).contains(&shift_ns),
            _ => false,
        };
        assert!(is_right, "{at}: {found:?}");
    }

    #[test]
    fn a_run_that_quiets_down_only_late_has_no_steady_part() {
        // Its medians agree, but the spread of its first two thirds is not that of the rest.
        let mut rng = Rng::with_seed(4);
        let series: Vec<u64> =
            (0..3_000).map(|i| if i < 2_000 { rng.u64(0..200_000) } else { rng.u64(99_000..101_000) }).collect();
        assert_eq!(steady(&series, 1), Steady::NotFound);
    }

    #[test_case(&[], Steady::TooShort; "empty")]
    #[test_case(&[5; 99], Steady::TooShort; "just too short")]
    #[test_case(&[5; 100], Steady::Settled { transient: 0 }; "constant")]
    fn edges(series: &[u64], verdict: Steady) {
        assert_eq!(steady(series, 1), verdict);
    }

    #[test]
    fn a_sure_but_tiny_shift_is_no_drift() {
        let mut rng = Rng::with_seed(5);
        let mut series: Vec<u64> = (0..30_000).map(|_| 100_000 + rng.u64(0..100)).collect();
        series.iter_mut().enumerate().for_each(|(i, value)| *value += i as u64 / 10);
        assert!(surely_differ(&series[..10_000], &series[20_000..]).unwrap());
        assert_eq!(drift(&series), None);
    }

    /// The steady runs of 1,000 that are called otherwise.
    fn false_alarms(seed: u64, mut draw: impl FnMut(&mut Rng) -> Vec<u64>) -> usize {
        let mut rng = Rng::with_seed(seed);
        (0..1_000).filter(|_| !matches!(steady(&draw(&mut rng), 1), Steady::Settled { .. })).count()
    }

    #[test]
    fn steady_runs_are_seldom_called_unsteady() {
        let found = [
            ("stalls", false_alarms(6, |rng| latencies(rng, 1_000))),
            ("few", false_alarms(7, |rng| latencies(rng, 150))),
            ("mild", false_alarms(8, |rng| autoregressive(rng, 2_000, 0.5))),
            ("strong", false_alarms(9, |rng| autoregressive(rng, 2_000, 0.9))),
            ("very strong", false_alarms(11, |rng| autoregressive(rng, 4_000, 0.95))),
            ("coarse", false_alarms(10, |rng| latencies(rng, 1_000).iter().map(|x| x / 1_000 * 1_000).collect())),
        ];
        // Segments of a series with correlation over forty values and more are not quite independent.
        let most = |kind: &str| if kind == "very strong" { 12 } else { 3 };
        assert!(found.iter().all(|&(kind, alarms)| alarms <= most(kind)), "of 1,000: {found:?}");
    }

    #[test]
    fn a_planted_drift_is_found() {
        // Up by a quarter from start to end, under stalls: at least 19 of 20 times, with its sign.
        let mut rng = Rng::with_seed(12);
        let found = (0..100).filter(|_| {
            let mut series = latencies(&mut rng, 3_000);
            for (i, value) in series.iter_mut().enumerate() {
                *value += 2 * i as u64;
            }
            matches!(steady(&series, 1), Steady::Drifting { shift_ns: 1_000..6_000 })
        });
        let found = found.count();
        assert!(found >= 95, "{found} of 100");
    }

    #[test]
    fn ranks_of_ties_are_shared() {
        assert_eq!(middle_ranks(&[30, 10, 10, 20]), [0.375, -0.25, -0.25, 0.125]);
    }
}
