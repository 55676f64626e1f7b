//! The times of one part of some requests, as they are told.

use crate::outcome::Standing;
use crate::outcome::replies::Phase;
use crate::recorder::Values;
use crate::unit::Nanos;

use super::quantile::{Ranked, standing};

/// The part that took these times.
pub fn phase(times: &Values) -> Phase {
    let (count, ranked) = (times.count(), Ranked::counted(times));
    let at = |q: f64| ranked.quantile(q).map(Nanos).filter(|_| standing(q, count) != Standing::TooFew);
    Phase { count, min_ns: times.min(), p50_ns: at(0.5), p90_ns: at(0.9), p99_ns: at(0.99), max_ns: times.max() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_says_no_more_than_its_values_bear() {
        let mut times = Values::new();
        (1..=100).for_each(|time| times.record(time * 1_000));
        let told = phase(&times);
        assert_eq!((told.count, told.min_ns, told.max_ns), (100, Some(Nanos(1_000)), Some(Nanos(100_000))));
        let near =
            |found: Option<Nanos>, value: u64| found.is_some_and(|found| found.0.abs_diff(value) * 1_000 <= value);
        assert!(near(told.p50_ns, 50_000) && near(told.p90_ns, 90_000), "{told:?}");
        assert_eq!(told.p99_ns, None, "one value beyond it is too few");
        assert_eq!(phase(&Values::new()), Phase::default());
    }
}
