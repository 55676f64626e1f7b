//! Statistical limits of the numbers.

use crate::method::Method;
use crate::outcome::{Outcome, Quantile, Standing, Steady};
use crate::statistics::quantile::needed;
use crate::unit::Nanos;
use crate::verdict::Warning;
use crate::verdict::threshold::CORRELATED;

/// Returns the warnings about them.
pub(super) fn statistics(outcome: &Outcome, method: &Method) -> impl Iterator<Item = Warning> {
    let found = [not_steady(&outcome.steady), not_settled(outcome, method), correlated(outcome), too_few(outcome)];
    found.into_iter().flatten()
}

pub(super) fn clocks(outcome: &Outcome) -> impl Iterator<Item = Warning> + use<> {
    let count = outcome.counts.clock_steps;
    let monotonic = (count > 0).then_some(Warning::ClockStepped { count });
    let stepped = outcome.split.as_ref().is_some_and(|split| split.clock_stepped);
    monotonic.into_iter().chain(stepped.then_some(Warning::SystemClockStepped))
}

pub(super) fn not_steady(steady: &Steady) -> Option<Warning> {
    match *steady {
        Steady::Drifting { shift_ns } => Some(Warning::NotSteady { shift_ns: Some(shift_ns) }),
        Steady::NotFound => Some(Warning::NotSteady { shift_ns: None }),
        Steady::Settled { .. } | Steady::TooShort => None,
    }
}

pub(super) fn not_settled(outcome: &Outcome, method: &Method) -> Option<Warning> {
    let asked = method.stop.settled?;
    let found = outcome.response.quantiles.iter().find(|quantile| quantile.q == asked.quantile);
    let reached = found.and_then(Quantile::half_width);
    let settled = match asked.within {
        Some(within) => reached.is_some_and(|reached| reached <= within),
        None => found.is_some_and(|quantile| quantile.standing != Standing::TooFew),
    };
    (!settled).then_some(Warning::NotSettled { q: asked.quantile, reached })
}

pub(super) fn correlated(outcome: &Outcome) -> Option<Warning> {
    let (effective, count) = (outcome.response.effective_sample_size?, outcome.response.examined?);
    (effective < CORRELATED * count as f64).then_some(Warning::Correlated { count, effective })
}

/// The first quantile that could not be printed: the one that a longer run would show next. Where nothing answers, none
/// would.
pub(super) fn too_few(outcome: &Outcome) -> Option<Warning> {
    let response = &outcome.response;
    if response.count == 0 {
        return None;
    }
    let first = response.quantiles.iter().find(|quantile| quantile.standing == Standing::TooFew)?;
    let needed = needed(first.q)?;
    let rate = outcome.answered_per_s.filter(|&rate| rate > 0.0);
    let run_for_ns = rate.map(|rate| Nanos((needed as f64 / rate * 1e9) as u64));
    Some(Warning::TooFewForQuantile { q: first.q, needed, seen: response.count, run_for_ns })
}
