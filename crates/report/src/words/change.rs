//! Words for a run, parts of which took another time than the rest.

use measure::outcome::change::Change;

use crate::number;

/// `p50 20.1 µs until 2.21 s, then 2.12 ms`, `p50 2.12 ms between 1 s and 3 s of the run, 20.1 µs before and after`,
/// `p50 20.1 µs until 1 s, 2.12 ms until 3 s, and so back and forth, 4 times in all`: neither of the two levels is called the usual one, for either may have the larger part of the run.
pub fn seen(change: &Change) -> String {
    let Change { from_ns, to_ns, before_ns, within_ns, of_firsts, stretches } = change;
    let [from, before, within] =
        [from_ns, before_ns, within_ns].map(|at| number::time(at.0 as f64).unwrap_or_default());
    match to_ns {
        None if *of_firsts => {
            format!("p50 {before} until {from}, while each connection was asked for the first time, then {within}")
        }
        None => format!("p50 {before} until {from}, then {within}"),
        Some(to) if *stretches > 1 => {
            let to = number::time(to.0 as f64).unwrap_or_default();
            format!("p50 {before} until {from}, {within} until {to}, and so back and forth, {stretches} times in all")
        }
        Some(to) => {
            let to = number::time(to.0 as f64).unwrap_or_default();
            format!("p50 {within} between {from} and {to} of the run, {before} before and after")
        }
    }
}
