//! Expected time until a change is noticed: for a plan, before anything is measured.

use super::evidence::log_growth;
use super::level::WARM_UP;
use super::silence::{FEWEST, SECONDS};
use super::slot::SLOT;
use super::stream::{ENOUGH, NORMAL_LOSS, PATIENCE, SLOT_MOST};
use super::{COMPANY, Settings, limit};
use crate::unit::Nanos;

/// Seconds from a silence to its being noticed, where a request leaves each cell every `every` and is lost after `timeout`. Half a second of it is the
/// way to the end of the second, and the rest is waited for so that the silent cells of one cause come together.
pub fn of_silence(every: Nanos, timeout: Nanos) -> f64 {
    let run = (every.as_secs_f64() * FEWEST as f64).max(SECONDS as f64);
    run + 0.5 + timeout.as_secs_f64() + COMPANY as f64 / 2.0
}

/// Seconds until the medians of a cell that is asked every `every` are judged. `None` where they never are: it has too few answers.
pub fn of_warm_up(every: Nanos) -> Option<u64> {
    let a_slot = SLOT as f64 / every.as_secs_f64().max(1e-9);
    let slots = (ENOUGH as f64 / a_slot).ceil().max(1.0);
    (slots <= f64::from(PATIENCE)).then_some(slots as u64 * SLOT * u64::from(WARM_UP))
}

/// Within how many seconds it is noticed that the median of a single cell is 30 % longer, and in which share of cases, 0 to 1: as simulated for cells whose level
/// wanders by 5 % and which were watched for an hour (docs/explain/noticing.md). More requests are no worse. `None`: asked more seldom than was simulated.
pub fn of_slower(every: Nanos) -> Option<(u64, f64)> {
    match every {
        Nanos(..=100_000_000) => Some((360, 0.97)),
        Nanos(..=1_000_000_000) => Some((3_600, 0.67)),
        _ => None,
    }
}

/// Seconds until it is noticed that cells which together make `per_second` requests a second lose the `share` of them, 0 to 1, in a mesh of `cells`
/// cells. `None` where it is not expected to be noticed.
pub fn of_loss(settings: &Settings, cells: usize, per_second: f64, share: f64) -> Option<f64> {
    let requests = per_second * SLOT as f64;
    let growth = log_growth(requests, share, NORMAL_LOSS, SLOT_MOST);
    // Twice as many streams as cells: the most that a mesh of five hosts or more has.
    let slots = (limit(settings, cells, cells as f64) * 4.0).ln() / growth;
    (growth > 0.0).then(|| slots.ceil() * SLOT as f64 + SLOT as f64 / 2.0 + settings.settle as f64)
}
