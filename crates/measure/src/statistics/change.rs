//! One change of level in a run, or a stretch at another level: as where a route moves to a longer path, and perhaps back.
//!
//! The run is cut into parts of one length, each with the median of its exchanges. The stretch is the one for which these deviate least
//! from the two medians, within and outside it. It is told where it stands out from what a run does by itself:
//!
//! - the two levels differ by half of the lower one or more, and by more than scheduling does;
//! - of the parts on either side at most one in ten is nearer to the other level, and dealt out by chance so many would stand so in less
//!   than one of two thousand runs, all stretches counted;
//! - neither level moves by itself, from its first half to its second, by more than a third of the distance: a ramp is no change of level.
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
    let told = stretch(&values)?;
    let (outside, within) = told.levels(&values)?;
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
    let (from_ns, to_ns) = (edge(told.from, rises), (told.to < values.len()).then(|| edge(told.to, !rises)));
    // Each exchange counts once, as in the median of the whole run.
    let is_within = |at: u64| at >= from_ns.0 && to_ns.is_none_or(|to| at < to.0);
    let median_of = |side: bool| {
        let times = taken.iter().filter(|(at, _)| is_within(*at) == side).map(|(_, time)| *time as f64);
        median(&times.collect::<Vec<_>>())
    };
    let (before, within) = median_of(false).zip(median_of(true))?;
    let apart = (before - within).abs() >= APART && (before / within).ln().abs() >= RATIO.ln();
    let nanos = |time: f64| Nanos(time.round() as u64);
    apart.then(|| Change { from_ns, to_ns, before_ns: nanos(before), within_ns: nanos(within), of_firsts: false })
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

#[cfg(test)]
mod tests {
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
