//! Cost of each exchange beyond its system calls: two clock readings and a record.

use std::hint::black_box;

use measure::method::LoopKind;
use measure::recorder::Recorder;
use measure::resolution::ClockCost;
use measure::unit::{Instant, Nanos};

use crate::clock::Monotonic;

const BATCHES: usize = 51;
const BATCH: u32 = 2_000;

/// Cost and step of the clock.
pub(super) fn clock() -> ClockCost {
    let read_ns = median_cost(|| {
        black_box(Monotonic::now());
    });
    ClockCost { read_ns, smallest_step_ns: smallest_step() }
}

/// Cost of recording one exchange, for round trips that differ as real ones do.
pub(super) fn record() -> Option<f64> {
    let mut recorder = Recorder::new(LoopKind::Closed, BATCH as usize);
    recorder.begin(Instant(0), None);
    let mut at = 0_u64;
    median_cost(|| {
        // Round trips from 20 to 36 us, a step of 4099 ns each time: no two alike in a row, and no random draw in the cost.
        at = at.wrapping_add(4_099) & 0x3fff;
        black_box(&mut recorder).answered(Instant(0), Instant(20_000 + at));
    })
}

/// Median over batches of the cost of one call, nanoseconds; `None` where the clock saw none pass.
fn median_cost(mut call: impl FnMut()) -> Option<f64> {
    let mut costs: Vec<u64> = (0..BATCHES)
        .filter_map(|_| {
            let start = Monotonic::now();
            for _ in 0..BATCH {
                call();
            }
            Some(Monotonic::now().since(start)?.0)
        })
        .collect();
    costs.sort_unstable();
    let median = *costs.get(costs.len() / 2)?;
    (median > 0).then(|| median as f64 / f64::from(BATCH))
}

fn smallest_step() -> Option<Nanos> {
    let mut last = Monotonic::now();
    let mut smallest = None;
    for _ in 0..100_000 {
        let now = Monotonic::now();
        if let Some(step) = now.since(last).filter(|&step| step > Nanos::ZERO) {
            smallest = Some(smallest.map_or(step, |smallest: Nanos| smallest.min(step)));
        }
        last = now;
    }
    smallest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_that_of_one_call() {
        // A call that takes at least 2 us by the clock itself.
        let cost = median_cost(|| {
            let start = Monotonic::now();
            while Monotonic::now().since(start).unwrap() < Nanos::micros(2) {}
        });
        assert!((2_000.0..200_000.0).contains(&cost.unwrap()), "{cost:?}");
    }
}
