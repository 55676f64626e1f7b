//! Deviations from the schedule and their causes.

use crate::method::{Method, Window};
use crate::outcome::{Outcome, Steady};
use crate::unit::Nanos;
use crate::verdict::Warning;
use crate::verdict::threshold::{AT_CAP, BEHIND, HELD, OVERTAKEN};

/// Returns the warnings about the schedule.
pub(super) fn schedule(outcome: &Outcome, method: &Method) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = ticks_missed(outcome).into_iter().collect();
    warnings.extend(rate(outcome, method));
    warnings.extend(overtaken(outcome, method));
    warnings
}

fn ticks_missed(outcome: &Outcome) -> Option<Warning> {
    let counts = &outcome.counts;
    let (count, due) = (counts.ticks_missed, counts.ticks_missed.saturating_add(counts.scheduled));
    (count > 0).then_some(Warning::TicksMissed { count, due })
}

pub(super) fn rate(outcome: &Outcome, method: &Method) -> Vec<Warning> {
    let Some(slip) = &outcome.slip else { return Vec::new() };
    let held_back_by_window = held_back(outcome, method);
    let held_back_by_socket = held_for(slip.held_by_socket_ns, outcome);
    let mut warnings = Vec::new();
    if let (false, Some(offered_per_s), Some(sent_per_s)) =
        (slip.rate_achieved, outcome.offered_per_s, outcome.sent_per_s)
    {
        let in_turn = held_back_by_window && method.traffic.connects();
        warnings.push(Warning::RateNotAchieved {
            offered_per_s,
            sent_per_s,
            held_back_by_window,
            held_back_by_socket,
            in_turn,
        });
    }
    if slip.behind_share > BEHIND && !held_back_by_window && !held_back_by_socket {
        warnings.push(Warning::BehindSchedule { share: slip.behind_share });
    }
    warnings
}

/// More is offered than is answered: delays grow in an open loop, whose schedule does not wait, and replies come after their timeout. A path that
/// loses as many delays nothing.
fn overtaken(outcome: &Outcome, method: &Method) -> Option<Warning> {
    let grows = matches!(outcome.steady, Steady::Drifting { shift_ns: 1.. });
    let is_open = matches!(method.traffic.window(), Window::Open { .. });
    let (offered_per_s, answered_per_s) = outcome.offered_per_s.zip(outcome.answered_per_s)?;
    (grows && is_open && outcome.counts.late > 0 && answered_per_s < OVERTAKEN * offered_per_s)
        .then_some(Warning::Overtaken { offered_per_s, answered_per_s })
}

/// Returns true where due requests were held back for more than the share [`HELD`] of the run.
fn held_for(span: Option<Nanos>, outcome: &Outcome) -> bool {
    span.is_some_and(|span| span.as_secs_f64() > HELD * outcome.elapsed_ns.as_secs_f64())
}

/// Returns true where the cap on outstanding requests was reached. A load measures it; elsewhere their mean number is rate times
/// mean service time (Little).
fn held_back(outcome: &Outcome, method: &Method) -> bool {
    if let Some(span) = outcome.slip.as_ref().and_then(|slip| slip.held_by_cap_ns) {
        return held_for(Some(span), outcome);
    }
    let Window::Open { cap } = method.traffic.window() else { return false };
    let all = f64::from(cap) * f64::from(method.spread.connections.max(1));
    let service = outcome.service.as_ref().and_then(|service| service.mean_ns);
    let outstanding = outcome.answered_per_s.zip(service).map(|(rate, service_ns)| rate * service_ns / 1e9);
    outstanding.is_some_and(|outstanding| outstanding >= AT_CAP * all)
}
