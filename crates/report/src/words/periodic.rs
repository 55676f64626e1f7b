//! Words for long times that come back at even distances.

use measure::outcome::periodic::Periodic;

/// `Every 1.00 s something takes 100 ms longer (9 times)`.
pub fn seen(periodic: &Periodic) -> String {
    let Periodic { period_ns, longer_ns, count } = periodic;
    format!("Every {period_ns} something takes about {longer_ns} longer ({count} times)")
}
