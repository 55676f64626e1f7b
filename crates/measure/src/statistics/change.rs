//! A change of level in a run, or stretches at another level: as where a route moves to a longer path, and perhaps back, or to and fro.
//!
//! The run is cut into parts of one length, each with the median of its exchanges. The stretch is the one for which these deviate least
//! from the two medians, within and outside it. It is told where it stands out from what a run does by itself:
//!
//! - the two levels differ by half of the lower one or more, and by more than scheduling does;
//! - of the parts on either side at most one in ten is nearer to the other level, and dealt out by chance so many would stand so in less
//!   than one of two thousand runs, all stretches counted;
//! - neither level moves by itself, from its first half to its second, by more than a third of the distance: a ramp is no change of level.
//!
//! Where there is no such stretch, the parts are divided by their times, where the two sides deviate least from their medians. They are told as
//! several stretches where the two levels differ by as much, where at most one part in ten lies about the middle between both, neither level moves
//! by itself, and the parts in random order would go from one to the other so seldom in less than one of two thousand runs (Wald and Wolfowitz 1940).
//!
//! Parts, not exchanges, are counted: a closed loop makes few exchanges where each takes long.

use statrs::function::factorial::ln_binomial;

use super::paired::median;
use crate::outcome::change::Change;
use crate::unit::Nanos;

/// Parts of a run at the most.
const PARTS: usize = 40;
/// Parts of a run at the least: with fewer, chance divides them.
const FEWEST_PARTS: usize = 16;
/// Exchanges of a part, on average, at the least.
const OF_PART: usize = 2;
/// Parts on either side at the least.
const SIDE: usize = 4;
/// The higher level over the lower one.
const RATIO: f64 = 1.5;
/// Levels that differ by less are those of processors and queues.
const APART: f64 = 10_000.0;
/// This share of the parts of a side may lie nearer to the other level.
const STRAYS: f64 = 0.1;
/// Share, at most, of runs with parts in random order that are said to have changed.
const CHANCE: f64 = 0.000_5;
/// A level may move by this share of the distance of both, on a logarithmic scale.
const MOVES: f64 = 1.0 / 3.0;

/// The change among `taken`, each an instant and the time of the exchange that was due then, nanoseconds, of a run of `length`
/// nanoseconds. `None` where there was none, or there are too few to tell.
pub fn change(taken: &[(u64, u64)], length: u64) -> Option<Change> {
    let count = PARTS.min(taken.len() / OF_PART);
    if count < FEWEST_PARTS || length == 0 {
        return None;
    }
    let place = |at: u64| ((u128::from(at) * count as u128 / u128::from(length)) as usize).min(count - 1);
    let mut parts: Vec<Vec<f64>> = vec![Vec::new(); count];
    for (at, time) in taken {
        parts[place(*at)].push((*time).max(1) as f64);
    }
    // Where nobody answered there is no level; that is told as dark time.
    let levels: Vec<(usize, f64)> =
        parts.iter().enumerate().filter_map(|(place, times)| Some((place, median(times)?.ln()))).collect();
    let values: Vec<f64> = levels.iter().map(|(_, level)| *level).collect();
    if values.len() < FEWEST_PARTS {
        return None;
    }
    let told = stretch(&values).map_or_else(|| to_and_fro(&values), |stretch| vec![stretch]);
    if told.is_empty() {
        return None;
    }
    let is_at = |place: usize| told.iter().any(|stretch| (stretch.from..stretch.to).contains(&place));
    let (within, outside): (Vec<usize>, Vec<usize>) = (0..values.len()).partition(|place| is_at(*place));
    let level = |of: &[usize]| median(&of.iter().map(|place| values[*place]).collect::<Vec<_>>());
    let (outside, within) = level(&outside).zip(level(&within))?;
    let middle = f64::midpoint(outside, within).exp();
    // The instant at which the fewest exchanges around it are on the wrong side.
    let edge = |part: usize, rises: bool| {
        let width = length as f64 / count as f64;
        let at = levels[part].0 as f64 * width;
        let near: Vec<&(u64, u64)> =
            taken.iter().filter(|(from, _)| (*from as f64 - at).abs() <= 1.5 * width).collect();
        let high = |pair: &(u64, u64)| (pair.1 as f64 > middle) == rises;
        let total = near.iter().filter(|pair| !high(pair)).count();
        let (mut before, mut best) = ((0, 0), (usize::MAX, at as u64));
        for pair in near {
            // Wrong are those of the new level before the edge, and those of the old one behind it.
            let wrong = before.0 + total - before.1;
            if wrong < best.0 {
                best = (wrong, pair.0);
            }
            if high(pair) { before.0 += 1 } else { before.1 += 1 }
        }
        Nanos(best.1)
    };
    let rises = within > outside;
    let edges: Vec<(Nanos, Option<Nanos>)> = told
        .iter()
        .map(|stretch| (edge(stretch.from, rises), (stretch.to < values.len()).then(|| edge(stretch.to, !rises))))
        .collect();
    let (from_ns, to_ns) = edges[0];
    // Each exchange counts once, as in the median of the whole run.
    let is_within = |at: u64| edges.iter().any(|(from, to)| at >= from.0 && to.is_none_or(|to| at < to.0));
    let median_of = |side: bool| {
        let times = taken.iter().filter(|(at, _)| is_within(*at) == side).map(|(_, time)| *time as f64);
        median(&times.collect::<Vec<_>>())
    };
    let (before, within) = median_of(false).zip(median_of(true))?;
    let apart = (before - within).abs() >= APART && (before / within).ln().abs() >= RATIO.ln();
    let nanos = |time: f64| Nanos(time.round() as u64);
    let (before_ns, within_ns) = (nanos(before), nanos(within));
    apart.then_some(Change { from_ns, to_ns, stretches: told.len() as u32, before_ns, within_ns, of_firsts: false })
}

/// Parts from one place up to another, against all others.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    from: usize,
    to: usize,
}

impl Stretch {
    /// The parts outside it and those within.
    fn sides(self, values: &[f64]) -> (Vec<f64>, &[f64]) {
        ([&values[..self.from], &values[self.to..]].concat(), &values[self.from..self.to])
    }

    /// The medians outside it and within.
    fn levels(self, values: &[f64]) -> Option<(f64, f64)> {
        let (outside, within) = self.sides(values);
        median(&outside).zip(median(within))
    }

    /// Returns true where it stands out, as one of so many stretches.
    fn is_told(self, values: &[f64], of: usize) -> bool {
        let Some((outside, within)) = self.levels(values) else { return false };
        let distance = (outside - within).abs();
        let apart = (outside.exp() - within.exp()).abs();
        let strays = |side: &[f64], own: f64, other: f64| {
            side.iter().filter(|value| (*value - own).abs() > (*value - other).abs()).count() as f64
                <= STRAYS * side.len() as f64
        };
        let stays = |side: &[f64]| {
            let (first, second) = side.split_at(side.len() / 2);
            median(first).zip(median(second)).is_none_or(|(one, two)| (one - two).abs() <= MOVES * distance)
        };
        let (all_outside, all_within) = self.sides(values);
        // Share of all orders of the parts in which as many of the stretch are at its level.
        let nearer = |side: &[f64]| {
            side.iter().filter(|value| (*value - within).abs() < (*value - outside).abs()).count() as u64
        };
        let (all, length, own) = (values.len() as u64, all_within.len() as u64, nearer(all_within));
        let at_level = own + nearer(&all_outside);
        let chance =
            (ln_binomial(length, own) + ln_binomial(all - length, at_level - own) - ln_binomial(all, at_level)).exp();
        let halves = [&values[..self.from], &values[self.to..]];
        distance >= RATIO.ln()
            && apart >= APART
            && chance * of as f64 <= CHANCE
            && strays(&all_outside, outside, within)
            && strays(all_within, within, outside)
            && [halves[0], halves[1], all_within, &all_outside].into_iter().all(stays)
    }
}

/// The stretch for which the parts deviate least from the levels of their sides: one up to the end, or where none is told of those, any.
fn stretch(values: &[f64]) -> Option<Stretch> {
    let count = values.len();
    let deviation = |stretch: &Stretch| {
        let of = |side: &[f64]| median(side).map_or(0.0, |level| side.iter().map(|value| (value - level).abs()).sum());
        let (outside, within) = stretch.sides(values);
        of(&outside) + of(within)
    };
    let best = |stretches: Vec<Stretch>| {
        let of = stretches.len();
        let nearest = stretches.into_iter().min_by(|one, other| deviation(one).total_cmp(&deviation(other)))?;
        nearest.is_told(values, of).then_some(nearest)
    };
    let to_the_end = (SIDE..=count - SIDE).map(|from| Stretch { from, to: count }).collect();
    let inner = || {
        let all =
            (SIDE..count - SIDE).flat_map(|from| (from + SIDE..=count - SIDE).map(move |to| Stretch { from, to }));
        all.collect()
    };
    best(to_the_end).or_else(|| best(inner()))
}

/// The stretches at the level that the first part has not, of a run that goes back and forth between two; none where it does not.
fn to_and_fro(values: &[f64]) -> Vec<Stretch> {
    let Some((low, high)) = two_levels(values) else { return Vec::new() };
    let middle = f64::midpoint(low, high);
    let is_high = |value: f64| value > middle;
    let (above, below): (Vec<f64>, Vec<f64>) = values.iter().partition(|value| is_high(**value));
    let between = values.iter().filter(|value| (*value - middle).abs() < (high - low) / 6.0).count() as f64;
    let stays = |side: &[f64]| {
        let (first, second) = side.split_at(side.len() / 2);
        median(first).zip(median(second)).is_none_or(|(one, two)| (one - two).abs() <= MOVES * (high - low))
    };
    // One part between two of the other level is a stray, and no stretch.
    let highs: Vec<bool> = values.iter().map(|value| is_high(*value)).collect();
    let mut levels = highs.clone();
    for (place, three) in highs.windows(3).enumerate() {
        if three[0] == three[2] {
            levels[place + 1] = three[0];
        }
    }
    let (mut from, mut stretches) = (0, Vec::new());
    for run in levels.chunk_by(|one, next| one == next) {
        if run[0] != levels[0] {
            stretches.push(Stretch { from, to: from + run.len() });
        }
        from += run.len();
    }
    let runs = values.chunk_by(|one, next| is_high(*one) == is_high(*next)).count();
    let is_told = stretches.len() > 1
        && high - low >= RATIO.ln()
        && high.exp() - low.exp() >= APART
        && between <= STRAYS * values.len() as f64
        && stays(&above)
        && stays(&below)
        && seldom(above.len() as u64, below.len() as u64, runs as u64) <= CHANCE;
    if is_told { stretches } else { Vec::new() }
}

/// The medians of the low and of the high values, divided where they deviate least from these.
fn two_levels(values: &[f64]) -> Option<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let halves = |at: usize| {
        let (low, high) = sorted.split_at(at);
        let levels = median(low).zip(median(high))?;
        let of = |side: &[f64], level: f64| side.iter().map(|value| (value - level).abs()).sum::<f64>();
        Some((of(low, levels.0) + of(high, levels.1), levels))
    };
    let divided = (SIDE..=sorted.len() - SIDE).filter_map(halves);
    divided.min_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, levels)| levels)
}

/// The share of all orders of so many of two kinds that have so few runs of one kind, or fewer.
fn seldom(one: u64, other: u64, runs: u64) -> f64 {
    let all = ln_binomial(one + other, one);
    let ways = |of_one: u64, of_other: u64| {
        if of_one == 0 || of_other == 0 || of_one > one || of_other > other {
            return 0.0;
        }
        (ln_binomial(one - 1, of_one - 1) + ln_binomial(other - 1, of_other - 1) - all).exp()
    };
    // As many runs of each kind, begun by either, or one more of one of them.
    let of = |runs: u64| {
        let half = runs / 2;
        if runs.is_multiple_of(2) { 2.0 * ways(half, half) } else { ways(half, half + 1) + ways(half + 1, half) }
    };
    (2..=runs).map(of).sum()
}

#[cfg(test)]
mod tests {
    use std::ops::RangeInclusive;

    use fastrand::Rng;
    use test_case::test_case;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// A loop that waits for each reply, which takes `level` of the instant, times a noise with a tail.
    fn closed(rng: &mut Rng, length: u64, most: usize, level: impl Fn(u64) -> f64) -> Vec<(u64, u64)> {
        let (mut now, mut taken) = (0, Vec::new());
        let pause = length / most as u64;
        while now < length {
            let tail = if rng.u32(0..50) == 0 { 20.0 } else { 1.0 };
            let time = (level(now) * (1.0 + 0.4 * rng.f64()) * tail) as u64;
            taken.push((now, time));
            now += time.max(pause);
        }
        taken
    }

    #[test_case(50, 80; "fifty exchanges")]
    #[test_case(2_000, 98; "thousands")]
    fn a_longer_path_is_found_where_it_begins(most: usize, at_least: usize) {
        let found = (0..100).filter(|seed| {
            let mut rng = Rng::with_seed(*seed);
            let at = rng.u64(SECOND..3 * SECOND);
            let taken = closed(&mut rng, 4 * SECOND, most, |now| if now < at { 20_000.0 } else { 2_000_000.0 });
            change(&taken, 4 * SECOND).is_some_and(|found| {
                let (begins, low) = (found.from_ns.0.abs_diff(at), found.before_ns.0.abs_diff(24_000));
                begins < 4 * SECOND / 20 && low < 6_000 && found.to_ns.is_none() && found.within_ns > Nanos::millis(2)
            })
        });
        let found = found.count();
        assert!(found >= at_least, "{found} of 100");
    }

    #[test]
    fn a_detour_is_told_with_its_end() {
        let taken = closed(&mut Rng::with_seed(1), 10 * SECOND, 1_000, |now| {
            if (2 * SECOND..5 * SECOND).contains(&now) { 900_000.0 } else { 300_000.0 }
        });
        let found = change(&taken, 10 * SECOND).expect("a detour");
        let back = found.to_ns.expect("and back");
        assert!(found.from_ns.0.abs_diff(2 * SECOND) < SECOND / 10 && back.0.abs_diff(5 * SECOND) < SECOND / 10);
        assert!(found.within_ns > found.before_ns);
    }

    #[test_case(1.5, 4..=4; "of some seconds each")]
    #[test_case(1.2, 5..=5; "shorter ones")]
    fn a_path_that_moves_to_and_fro_is_told_with_its_moves(each: f64, stretches: RangeInclusive<u32>) {
        for seed in 0..20 {
            let is_long = |now: u64| (now as f64 / (each * SECOND as f64)) as u64 % 2 == 1;
            let taken =
                closed(
                    &mut Rng::with_seed(seed),
                    12 * SECOND,
                    4_000,
                    |now| {
                        if is_long(now) { 900_000.0 } else { 300_000.0 }
                    },
                );
            let found = change(&taken, 12 * SECOND).expect("two levels");
            let near = |at: Nanos, seconds: f64| (at.0 as f64 - seconds * SECOND as f64).abs() < SECOND as f64 / 10.0;
            assert!(near(found.from_ns, each) && found.to_ns.is_some_and(|to| near(to, 2.0 * each)), "{found:?}");
            assert!(stretches.contains(&found.stretches), "{found:?}");
            assert!((300_000..500_000).contains(&found.before_ns.0) && found.within_ns.0 > 900_000, "{found:?}");
        }
    }

    #[test]
    fn one_part_at_the_other_level_is_no_stretch() {
        let is_long = |now: u64| now / (2 * SECOND) % 2 == 1;
        // A slow moment in the middle of a quick time.
        let stray = |now: u64| (5 * SECOND - SECOND / 5..5 * SECOND + SECOND / 10).contains(&now);
        let taken = closed(&mut Rng::with_seed(1), 12 * SECOND, 4_000, |now| {
            if is_long(now) || stray(now) { 900_000.0 } else { 300_000.0 }
        });
        assert_eq!(change(&taken, 12 * SECOND).map(|found| found.stretches), Some(3));
    }

    /// A path that swings has times everywhere between both ends.
    #[test]
    fn a_swing_is_no_change_of_level() {
        let taken = closed(&mut Rng::with_seed(1), 12 * SECOND, 4_000, |now| {
            600_000.0 - 300_000.0 * (now as f64 / SECOND as f64 * 2.0).cos()
        });
        assert_eq!(change(&taken, 12 * SECOND), None);
    }

    /// All orders of few.
    #[test_case(2, 2, 2, 2.0 / 6.0; "two and two")]
    #[test_case(2, 2, 4, 1.0; "any number of runs")]
    #[test_case(1, 3, 2, 0.5; "one of four")]
    #[test_case(3, 3, 3, 6.0 / 20.0; "an odd number")]
    fn orders_with_few_runs_are_counted(one: u64, other: u64, runs: u64, expected: f64) {
        assert!((seldom(one, other, runs) - expected).abs() < 1e-9, "{}", seldom(one, other, runs));
    }

    #[test]
    fn a_shorter_path_is_told_as_well() {
        let taken =
            closed(&mut Rng::with_seed(1), 4 * SECOND, 500, |now| if now < SECOND { 900_000.0 } else { 90_000.0 });
        let found = change(&taken, 4 * SECOND).expect("a change");
        assert!(found.before_ns > found.within_ns && found.from_ns.0.abs_diff(SECOND) < SECOND / 10, "{found:?}");
    }

    #[test]
    fn a_ramp_is_no_change_of_level() {
        let taken = closed(&mut Rng::with_seed(1), 4 * SECOND, 500, |now| 50_000.0 + now as f64 / 2_000.0);
        assert_eq!(change(&taken, 4 * SECOND), None);
    }

    /// Heavy tails, a common drift, and bursts of a busy host.
    #[test_case(|_, rng: &mut Rng| rng.f64() * 4.0; "wide")]
    #[test_case(|drift: f64, rng: &mut Rng| 0.2 * rng.f64() + drift.abs(); "drift")]
    #[test_case(|_, rng: &mut Rng| if rng.u32(0..6) == 0 { 20.0 } else { 0.2 * rng.f64() }; "bursts")]
    fn noise_is_no_change(noise: impl Fn(f64, &mut Rng) -> f64) {
        let wrong = (0..400).filter(|seed| {
            let rng = &mut Rng::with_seed(*seed);
            let mut drift = 0.0_f64;
            let taken: Vec<(u64, u64)> = (0..40 + seed % 200)
                .map(|k| {
                    drift = 0.9 * drift + 0.2 * (rng.f64() - 0.5);
                    (k * 10_000_000, (30_000.0 * (1.0 + noise(drift, rng))) as u64)
                })
                .collect();
            change(&taken, taken.len() as u64 * 10_000_000).is_some()
        });
        assert!(wrong.count() <= 1);
    }
}
