//! Common misreadings of the numbers.

use super::machines::always_awake;
use crate::method::{LoopKind, Method, Schedule, Window};
use crate::outcome::{Distribution, Outcome, Standing};
use crate::unit::Nanos;
use crate::verdict::Warning;
use crate::verdict::threshold::{FEWEST_FOR_MEAN, IDLE_GAP, MISLEADING, OUTSTANDING, SHORT_TRIP};

/// Returns the warnings about them.
pub(super) fn reading(outcome: &Outcome, method: &Method) -> impl Iterator<Item = Warning> {
    let found = [
        outcome.stalls.map(|stalls| Warning::Stalled { stalls, answered: outcome.counts.answered }),
        idle_between(outcome, method),
        rate_is_not_round_trip(outcome, method),
        mean_misleads(&outcome.response),
        rhythm(outcome, method),
        periodic(outcome),
        outcome.change.map(|change| Warning::Changed { change }),
    ];
    found.into_iter().flatten()
}

fn median(distribution: &Distribution) -> Option<Nanos> {
    distribution.quantiles.first().filter(|quantile| quantile.q == 0.5).and_then(|quantile| quantile.value_ns)
}

/// Warns where both ends sleep between requests that are short enough for the wake-up to show.
pub(super) fn idle_between(outcome: &Outcome, method: &Method) -> Option<Warning> {
    let one_by_one = matches!(
        method.schedule,
        Schedule::Every { .. }
            | Schedule::Rate { .. }
            | Schedule::Poisson { .. }
            | Schedule::Slots { .. }
            | Schedule::Preloaded { count: 1, .. }
    );
    let interval_ns = method.schedule.mean_gap().filter(|gap| one_by_one && *gap > IDLE_GAP)?;
    // From the send: how late our own side was is no part of the path.
    let median_ns = median(outcome.service.as_ref().unwrap_or(&outcome.response))?;
    let waking_ns = outcome
        .split
        .as_ref()
        .filter(|split| split.samples > 0)
        .and_then(|split| Some(Nanos(split.wake_up_ns?.0.saturating_add(split.peer_wake_up_ns?.0))));
    // Said of the number that is printed first, and of none where it has too few values to be printed.
    let printed = outcome.response.quantiles.first().filter(|quantile| quantile.standing != Standing::TooFew);
    let told_ns = printed.and_then(|_| median(&outcome.response));
    // Stamps are of some exchanges only: where these took longer than the others, they tell no part of the median.
    let waking_ns = waking_ns.filter(|waking| *waking < told_ns.unwrap_or(median_ns));
    let is_short = median_ns <= SHORT_TRIP && told_ns.is_none_or(|told| told <= SHORT_TRIP);
    (is_short && !always_awake(method)).then_some(Warning::IdleBetween { interval_ns, median_ns: told_ns, waking_ns })
}

/// Warns where one over the rate would be read as the duration of an exchange. By Little's law the number outstanding is the rate
/// times that duration.
pub(super) fn rate_is_not_round_trip(outcome: &Outcome, method: &Method) -> Option<Warning> {
    let window = match method.traffic.window() {
        Window::Closed(n) | Window::Volley(n) => u64::from(n),
        Window::Open { .. } => return None,
    };
    let several = window.saturating_mul(u64::from(method.spread.connections.max(1))) > 1;
    let (rate, mean_ns) = (outcome.answered_per_s.filter(|rate| *rate > 0.0)?, outcome.response.mean_ns?);
    let outstanding = rate * mean_ns / 1e9;
    let closed = outcome.loop_kind == LoopKind::Closed && !method.schedule.has_instants();
    (closed && several && outstanding >= OUTSTANDING).then(|| Warning::RateIsNotRoundTrip {
        outstanding,
        reciprocal_ns: Nanos((1e9 / rate).round() as u64),
        mean_ns,
    })
}

pub(super) fn mean_misleads(response: &Distribution) -> Option<Warning> {
    let (mean_ns, median_ns) = (response.mean_ns?, median(response)?);
    (response.count >= FEWEST_FOR_MEAN && mean_ns >= MISLEADING * median_ns.0 as f64)
        .then_some(Warning::MeanMisleads { mean_ns, median_ns })
}

fn periodic(outcome: &Outcome) -> Option<Warning> {
    let closed = outcome.loop_kind == LoopKind::Closed;
    outcome.periodic.map(|periodic| Warning::Periodic { periodic, closed })
}

fn rhythm(outcome: &Outcome, method: &Method) -> Option<Warning> {
    let (found, gap) = (outcome.rhythm?, method.schedule.mean_gap()?);
    let period_ns = Nanos(gap.0.saturating_mul(u64::from(found.lag)));
    Some(Warning::Rhythm { lag: found.lag, period_ns, correlation: found.correlation })
}
