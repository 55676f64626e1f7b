//! Long times after even numbers of requests, as where a server stops at each hundredth.
//!
//! The requests are laid out at one distance in their order, and searched as those in time are. A server counts without error, so a count is told
//! only where nearly all distances are the same number, or whole multiples of it.

use super::{CHANCE, TICK, Taken, likeliest};
use crate::outcome::periodic::Periodic;
use crate::unit::Nanos;

/// Share of the distances that are whole multiples of the count, at least: a lost reply moves one of them.
const EXACT: f64 = 0.8;

/// Long times that come after an even number of requests.
pub(super) struct Counted {
    /// Their count, length and mean distance.
    pub found: Periodic,
    /// True where their distances in time differ by more than those of two requests: a cause that keeps time would be as uneven in requests.
    pub is_uneven_in_time: bool,
}

/// The count of requests after which the long times among `taken`, one lane in order, come back. `None` where none fits.
pub(super) fn counted(taken: &[Taken]) -> Option<Counted> {
    let last = (taken.len() as u64).checked_sub(1)?;
    // Others may wait behind the one that is stopped, so the first of a stretch tells: backwards that is where it ends.
    let laid_out: Vec<Taken> = (0..)
        .zip(taken.iter().rev())
        .map(|(place, taken)| Taken { lane: 0, from: place * TICK, took: 0, excess: taken.excess })
        .collect();
    let chain = likeliest(&laid_out, TICK as f64).filter(|chain| chain.chance < CHANCE)?;
    let firsts: Vec<u64> = chain.ends.iter().rev().map(|end| last - end / TICK).collect();
    let distances: Vec<u64> = firsts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let requests = middle(distances.clone())?;
    let exact = distances.iter().filter(|distance| distance.is_multiple_of(requests)).count();
    if requests < 2 || (exact as f64) < EXACT * distances.len() as f64 {
        return None;
    }
    let ends: Vec<u64> =
        firsts.iter().filter_map(|first| taken.get(*first as usize)).map(|taken| taken.from + taken.took).collect();
    let times = ends.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    let rounds = distances.iter().map(|distance| ((distance + requests / 2) / requests).max(1));
    let times: Vec<(u64, u64)> = times.zip(rounds).collect();
    let period = middle(times.iter().map(|(time, rounds)| time / rounds).collect())?;
    let off = middle(times.iter().map(|(time, rounds)| time.abs_diff(rounds * period)).collect())?;
    let step = middle(taken.windows(2).map(|pair| pair[1].from.saturating_sub(pair[0].from)).collect())?;
    let found = Periodic { period_ns: Nanos(period), requests: Some(requests), ..chain.found };
    Some(Counted { found, is_uneven_in_time: off > step })
}

fn middle(mut values: Vec<u64>) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}
