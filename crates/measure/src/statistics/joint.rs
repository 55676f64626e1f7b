//! Many comparisons of two sides whose runs were made in the same rounds: how probable each difference is among all of them.
//!
//! The step-down maxT procedure (Westfall and Young, Resampling-Based Multiple Testing, 1993, algorithm 4.1; Ge, Dudoit and Speed,
//! Test 12, 2003, box 2). The rounds are dealt out anew to the two sides, those of all comparisons alike, and each difference is set
//! against the largest of every dealing. So one difference among thousands is shown by the few rounds that would show it alone, a
//! disturbance of a whole round counts once, and the rate of any false alarm holds whatever the dependence between comparisons.

use fastrand::Rng;

use super::paired::median;

/// Dealings to go through at most; where there are more, this many are drawn.
const DEALINGS: usize = 2_000;
/// With more rounds than these the dealings are not counted one by one.
const COUNTED: usize = 20;
/// Standard deviations of a normal distribution in a median absolute deviation of it.
const NORMAL: f64 = 1.482_6;

/// The values of one comparison, one of each round of the first side, then of the second; absent where a round has none.
pub type Rounds = Vec<Option<f64>>;

/// Returns for each of `all` the probability, 0 to 1, that a difference as large comes up anywhere among them where none of them
/// differs. Each has `first` rounds of the first side and others of the second. `seed` decides which dealings are drawn.
pub fn probabilities(all: &[Rounds], first: usize, seed: u64) -> Vec<f64> {
    let Some(rounds) = all.iter().map(Vec::len).max().filter(|rounds| *rounds >= first) else {
        return vec![1.0; all.len()];
    };
    let centred: Vec<Rounds> = all.iter().map(|one| centred(one)).collect();
    let spreads: Vec<f64> = centred.iter().filter_map(|one| spread(one)).collect();
    // A comparison whose few values happen to lie close together is not surer than the others by that (SAM: Tusher, Tibshirani and
    // Chu, PNAS 98, 2001). All values make it, of both sides, so that it is the same for every dealing.
    let usual = median(&spreads).unwrap_or(0.0);
    let observed: Vec<f64> = {
        let own: Vec<bool> = (0..rounds).map(|round| round >= first).collect();
        centred.iter().map(|one| statistic(one, &own, usual)).collect()
    };
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|a, b| observed[*b].total_cmp(&observed[*a]));
    let mut reached = vec![0_u32; all.len()];
    let dealings = dealings(rounds, first, seed);
    for dealing in &dealings {
        let mut largest = 0.0_f64;
        for place in (0..order.len()).rev() {
            largest = largest.max(statistic(&centred[order[place]], dealing, usual));
            // The same sums in another order.
            reached[place] += u32::from(largest >= observed[order[place]] * (1.0 - 1e-9));
        }
    }
    let mut probabilities = vec![1.0; all.len()];
    let mut least = 0.0_f64;
    for (place, which) in order.into_iter().enumerate() {
        least = least.max(f64::from(reached[place]) / dealings.len().max(1) as f64);
        probabilities[which] = least;
    }
    probabilities
}

/// The values of a comparison less their mean, which changes no difference and keeps sums of squares exact.
fn centred(one: &[Option<f64>]) -> Rounds {
    let (count, sum) = one.iter().flatten().fold((0_u32, 0.0), |(count, sum), value| (count + 1, sum + value));
    let mean = sum / f64::from(count.max(1));
    one.iter().map(|value| value.map(|value| value - mean)).collect()
}

/// The spread of all values of a comparison, as a standard deviation that few of them cannot make large.
fn spread(one: &[Option<f64>]) -> Option<f64> {
    let values: Vec<f64> = one.iter().flatten().copied().collect();
    let middle = median(&values)?;
    let deviations: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    median(&deviations).map(|deviation| NORMAL * deviation)
}

/// The distance of both sides' means, in standard errors; 0 where a side has fewer than two values.
fn statistic(one: &[Option<f64>], is_second: &[bool], usual: f64) -> f64 {
    let (mut count, mut sum, mut squares) = ([0_u32; 2], [0.0; 2], [0.0; 2]);
    for (value, side) in one.iter().zip(is_second) {
        if let Some(value) = value {
            let side = usize::from(*side);
            count[side] += 1;
            sum[side] += value;
            squares[side] += value * value;
        }
    }
    let [first, second] = count.map(f64::from);
    if count.iter().any(|count| *count < 2) {
        return 0.0;
    }
    let apart = (sum[1] / second - sum[0] / first).abs();
    let within = squares[0] - sum[0] * sum[0] / first + squares[1] - sum[1] * sum[1] / second;
    let deviation = (within.max(0.0) / (first + second - 2.0)).sqrt() + usual;
    let error = deviation * (1.0 / first + 1.0 / second).sqrt();
    if apart > 0.0 { apart / error } else { 0.0 }
}

/// Deals rounds to the second side, `first` staying at the first: all ways, or many of them, the one that was measured
/// among them.
fn dealings(rounds: usize, first: usize, seed: u64) -> Vec<Vec<bool>> {
    if rounds <= COUNTED {
        let of_size = |mask: &u32| mask.count_ones() as usize == rounds - first;
        let ways: Vec<u32> = (0..1_u32 << rounds).filter(of_size).take(DEALINGS + 1).collect();
        if ways.len() <= DEALINGS {
            return ways.into_iter().map(|way| (0..rounds).map(|round| way >> round & 1 == 1).collect()).collect();
        }
    }
    let mut rng = Rng::with_seed(seed);
    let mut dealing: Vec<bool> = (0..rounds).map(|round| round >= first).collect();
    let mut drawn = vec![dealing.clone()];
    drawn.extend((1..DEALINGS).map(|_| {
        rng.shuffle(&mut dealing);
        dealing.clone()
    }));
    drawn
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    /// Sums of twelve even draws less six.
    fn normal(rng: &mut Rng) -> f64 {
        (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0
    }

    /// Logarithms of a mesh's medians: each cell differs by 5 % from round to round, all of them by 3 % together, and one value in
    /// 20 is a stall.
    fn mesh(rng: &mut Rng, cells: usize, rounds: usize) -> Vec<Rounds> {
        let common: Vec<f64> = (0..rounds).map(|_| 0.03 * normal(rng)).collect();
        let value = |rng: &mut Rng, round: usize| {
            let stall = if rng.u8(0..20) == 0 { 0.3 * rng.f64() } else { 0.0 };
            Some(common[round] + 0.05 * normal(rng) + stall)
        };
        (0..cells).map(|_| (0..rounds).map(|round| value(rng, round)).collect()).collect()
    }

    #[test]
    fn every_dealing_is_one_of_those_there_are() {
        // Three and three values can be dealt in 20 ways, two of which are as far apart as these.
        let apart: Rounds = [1.0, 1.1, 1.2, 2.0, 2.1, 2.2].map(Some).to_vec();
        assert_eq!(probabilities(&[apart], 3, 1), [0.1]);
        assert_eq!(probabilities(&[vec![Some(1.0); 6]], 3, 1), [1.0], "no difference at all");
        assert_eq!(probabilities(&[vec![Some(1.0), None, None, Some(2.0), None, None]], 3, 1), [1.0], "a value a side");
        assert!(probabilities(&[], 3, 1).is_empty());
    }

    #[test]
    fn what_moves_by_much_is_surer_and_what_does_not_move_is_not() {
        let mut rng = Rng::with_seed(7);
        let mut all = mesh(&mut rng, 20, 12);
        all[3].iter_mut().skip(6).for_each(|value| *value = value.map(|value| value + 0.5));
        let found = probabilities(&all, 6, 1);
        assert!(found[3] < 0.01, "{found:?}");
        assert!(found.iter().enumerate().all(|(cell, p)| cell == 3 || *p > 0.05), "{found:?}");
    }

    #[test_case(5, 30; "five and five")]
    #[test_case(9, 30; "nine and nine, of which some dealings are drawn")]
    fn where_nothing_differs_hardly_anything_is_called_different(repeats: usize, cells: usize) {
        let mut rng = Rng::with_seed(3);
        let alarms = (0..200).filter(|_| {
            let found = probabilities(&mesh(&mut rng, cells, 2 * repeats), repeats, 1);
            found.iter().any(|p| *p <= 0.05)
        });
        // 10 are expected; 20 or more come up once in 500 seeds.
        assert!(alarms.count() < 20);
    }

    /// 60 hosts, each with every other, five repeats before and after; one link is 1.5 times as slow.
    #[test]
    fn one_link_of_sixty_hosts_is_named() {
        let mut rng = Rng::with_seed(11);
        for _ in 0..3 {
            let mut all = mesh(&mut rng, 60 * 59, 10);
            for cell in [100, 2_000] {
                all[cell].iter_mut().skip(5).for_each(|value| *value = value.map(|value| value + 1.5_f64.ln()));
            }
            let found = probabilities(&all, 5, 1);
            let named: Vec<usize> = (0..all.len()).filter(|cell| found[*cell] <= 0.05).collect();
            assert_eq!(named, [100, 2_000]);
        }
    }
}
