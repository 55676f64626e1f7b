//! Loss that a trace shows. A hop that answers less than those behind it limits its answers, and loses nothing by that.

use statrs::distribution::{Beta, Binomial, ContinuousCDF, DiscreteCDF};

use super::{Says, Walk, answers};
use crate::outcome::hops::Hop;
use crate::statistics::sides::holm;

/// A smaller share of probes is not told as lost, 0 to 1.
const LEAST: f64 = 0.01;
/// Probability of telling a loss where there is less, over all hops; and of the tail that an interval leaves out.
const LEFT_OUT: f64 = 0.05;

/// Hops with the loss that is shown at them.
///
/// Shown is that more than [`LEAST`] of the probes are lost up to a hop where each hop from there to the peer shows it (one-sided binomial test;
/// Holm's correction over the hops), and none of the later ones loses less. A peer that answers by ICMP limits its answers too, so nothing is
/// shown beside it.
pub(super) fn told(mut hops: Vec<Hop>, walks: &[&Walk]) -> Vec<Hop> {
    let Some(end) = hops.iter().position(|hop| hop.peer) else { return hops };
    let by_itself =
        walks.iter().flat_map(|walk| answers(walk, hops[end].ttl)).all(|answer| answer.says == Says::Reached);
    // Flows that reach the peer by ways of different length have no hop at which all of them meet it.
    if !by_itself || end + 1 != hops.len() {
        return hops;
    }
    let counts: Vec<(u64, u64)> = hops.iter().map(|hop| (hop.sent - hop.answered, hop.sent)).collect();
    let alone: Vec<f64> = counts.iter().map(|(missing, sent)| at_least(*missing, *sent, LEAST)).collect();
    let with_later: Vec<f64> = (0..alone.len()).map(|hop| alone[hop..].iter().copied().fold(0.0, f64::max)).collect();
    for (place, probability) in holm(&with_later).into_iter().enumerate() {
        let (missing, sent) = counts[place];
        let none_less = counts[place + 1..].iter().all(|later| !is_less(*later, missing as f64 / sent as f64));
        if probability <= LEFT_OUT && none_less {
            hops[place].lost = counts[place..].iter().map(|(missing, sent)| lowest(*missing, *sent)).reduce(f64::min);
        }
    }
    hops
}

/// Probability of `missing` or more of `sent`, where each is lost with `share`.
fn at_least(missing: u64, sent: u64, share: f64) -> f64 {
    match missing.checked_sub(1) {
        None => 1.0,
        Some(fewer) => Binomial::new(share, sent).map_or(1.0, |law| law.sf(fewer)),
    }
}

/// True where so few of so many would be missing too rarely, were each lost with `share`.
fn is_less((missing, sent): (u64, u64), share: f64) -> bool {
    Binomial::new(share.min(1.0), sent).is_ok_and(|law| law.cdf(missing) <= LEFT_OUT)
}

/// Lower end of the one-sided 95 % interval of a share (Clopper and Pearson).
fn lowest(missing: u64, sent: u64) -> f64 {
    if missing == 0 {
        return 0.0;
    }
    Beta::new(missing as f64, (sent - missing + 1) as f64).map_or(0.0, |law| law.inverse_cdf(LEFT_OUT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_that_of_tables() {
        // Clopper and Pearson, one-sided 95 %: 1 of 10 0.005116, 5 of 10 0.2224.
        assert!((lowest(1, 10) - 0.005_116).abs() < 1e-5);
        assert!((lowest(5, 10) - 0.222_4).abs() < 1e-4);
        assert!((lowest(10, 10) - 0.741_1).abs() < 1e-4);
        assert!((at_least(1, 10, 0.01) - (1.0 - 0.99_f64.powi(10))).abs() < 1e-9);
        assert!(is_less((0, 40), 0.1) && !is_less((3, 40), 0.1));
    }
}
