//! A study as the screen a person reads: what was set against what, what was found, and how surely.

pub(crate) mod claims;
pub(crate) mod comparison;
mod rerun;
mod sweep;
pub(crate) mod why;

use std::collections::BTreeSet;

pub use comparison::{setting, so_far};
use logbook::record::Ended;
use logbook::study::{Question, StudyDocument};
use measure::event::Counts;
use measure::outcome::Outcome;
use measure::study::figure::Figure;
use measure::unit::grouped;
use measure::verdict::Warning;

use crate::layout::{Page, Style};
use crate::number;

/// The screen for `study`: lines of at most `style.width` cells, none with spaces at its end.
pub fn render(study: &StudyDocument, style: &Style) -> String {
    screen(study, style).finish()
}

fn screen(study: &StudyDocument, style: &Style) -> Page {
    let mut page = Page::new(*style);
    match &study.question {
        Question::Compare { .. } => {
            if let Some(rerun) = &study.rerun {
                rerun::render(&mut page, study, rerun);
            }
            comparison::render(&mut page, study);
        }
        Question::Claims { title, looks, .. } => claims::render(&mut page, study, title.as_deref(), looks),
        Question::Sweep { axis, values, figures, methods } => {
            sweep::render(&mut page, study, &sweep::Asked { axis, values: *values, figures, methods });
        }
        Question::Why { interval_ns, method, switches } => {
            why::render(&mut page, study, &why::Asked { interval: *interval_ns, method, switches });
        }
        _ => {}
    }
    page
}

/// The first and last words of a study, each without breaks.
pub(crate) struct Said {
    /// The answer; absent where it has none.
    pub(crate) answer: Option<String>,
    /// The warnings, all of them.
    pub(crate) warnings: Vec<String>,
}

/// The answer and the warnings of `study`, word for word as on its screen.
pub(crate) fn said(study: &StudyDocument) -> Said {
    let page = screen(study, &Style { verbose: true, ..Style::default() });
    let answer = page.answers().join(". ");
    Said { answer: Some(answer).filter(|answer| !answer.is_empty()), warnings: page.warnings().to_vec() }
}

/// Trials that were made, where fewer were than planned.
fn made(study: &StudyDocument) -> Option<usize> {
    let made = study.trials.iter().filter(|trial| trial.record.is_some()).count();
    (study.takes_ns.is_some() && made < study.planned()).then_some(made)
}

/// For the answer: that trials are missing, where some are.
fn missing(study: &StudyDocument) -> String {
    made(study).map_or(String::new(), |made| format!(" (incomplete: {made} of {} trials)", study.planned()))
}

/// The reason why trials are missing, where some are, and the action to try.
fn incomplete(page: &mut Page, study: &StudyDocument, action: &str) {
    let Some(made) = made(study) else { return };
    let mut parts = vec![number::count((study.planned() - made) as u64, "trial is missing", "trials are missing")];
    parts.extend(match &study.ended {
        Some(Ended::Interrupted { signal }) => Some(format!("interrupted by {signal}")),
        Some(Ended::PeerLost { reason }) => Some(format!("it broke off ({reason})")),
        Some(Ended::Complete) => None,
        None => Some("the study was still running".to_owned()),
    });
    let is_short = study.ended == Some(Ended::Complete) && study.trials.iter().all(|trial| trial.failure.is_none());
    let no_time = study.budget_ns.is_some() && is_short;
    let budget = if no_time { ": --budget had no time left for them → raise it" } else { "" };
    page.warning(&format!("{}{budget}{action}", parts.join("; ")));
}

/// That hosts were busy in trials, by how many, and the action against it.
fn busy(page: &mut Page, study: &StudyDocument) {
    let in_end = |ours: bool| {
        let is = |warning: &Warning| warning.busy_end().is_some_and(|end| (end == "our") == ours);
        let trials = study.trials.iter().filter_map(|trial| trial.record.as_ref());
        trials.filter(|record| record.warnings.iter().any(is)).count() as u64
    };
    let hosts = [(in_end(true), "this host"), (in_end(false), "the peer")].into_iter().filter(|(count, _)| *count > 0);
    let hosts: Vec<String> =
        hosts.map(|(count, host)| format!("{host} in {}", number::count(count, "trial", "trials"))).collect();
    if !hosts.is_empty() {
        let all = study.trials.len();
        page.warning(&format!(
            "Busy ({}, of {all}): times and their differences may be larger than on quiet hosts → repeat when they are quiet",
            hosts.join(", ")
        ));
    }
}

/// The requests of each side that were refused, the replies that say so, and what they cost the comparison.
fn refusals(page: &mut Page, study: &StudyDocument) {
    for (setting, number) in study.settings.iter().zip(0..) {
        let outcomes = study.trials.iter().filter(|trial| trial.setting == number);
        let outcomes: Vec<_> = outcomes.filter_map(|trial| trial.record.as_ref()?.outcome.as_ref()).collect();
        let sum = |count: fn(&Counts) -> u64| {
            outcomes.iter().map(|outcome| count(&outcome.counts)).fold(0, u64::saturating_add)
        };
        let (refused, all) = (sum(|counts| counts.refused), sum(|counts| counts.scheduled));
        if refused == 0 {
            continue;
        }
        let trials = outcomes.iter().filter(|outcome| outcome.counts.refused > 0).count();
        let has_median = |outcome: &Outcome| Figure::Quantile(0.5).of(Some(outcome), None).is_some();
        let none = outcomes.iter().filter(|outcome| !has_median(outcome)).count();
        let kinds = outcomes.iter().filter_map(|outcome| outcome.replies.as_ref()).flat_map(|replies| &replies.kinds);
        let kinds: BTreeSet<&str> = kinds.filter(|(_, kind)| !kind.answers).map(|(name, _)| name.as_str()).collect();
        let kinds = Vec::from_iter(kinds).join(", ");
        let kinds = if kinds.is_empty() { kinds } else { format!(" (reply {kinds})") };
        let without = if none == 0 {
            String::new()
        } else {
            let runs = number::count(none as u64, "trial has", "trials have");
            format!(". {runs} no p50, because too few requests were answered: their pairs are missing")
        };
        let (name, of) = (setting.name.split(' ').next().unwrap_or_default(), outcomes.len());
        let (refused, all) = (grouped(refused), grouped(all));
        page.warning(&format!(
            "{name}: {refused} of {all} requests were refused{kinds}, in {trials} of {of} trials{without} → compare what is answered: ask more rarely, or correct the request"
        ));
    }
}

/// The number of trials that failed or broke off, and the reason of the first of each.
fn failed(page: &mut Page, study: &StudyDocument) {
    let failures = study.trials.iter().filter_map(|trial| trial.failure.as_ref());
    if let Some(first) = failures.clone().next() {
        let count = number::count(failures.count() as u64, "trial failed", "trials failed");
        page.warning(&format!("{count}, the first: {}", first.what));
    }
    if let Some(first) = study.broken_off().next() {
        let count = number::count(study.broken_off().count() as u64, "trial", "trials");
        page.warning(&format!("The peer went away in {count}, the first: {first} → sonde rtt tells when it does"));
    }
}
