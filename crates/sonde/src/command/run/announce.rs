//! The announcement of a plan before it is carried out, and of what is closed between its hosts.

use lab::campaign::Measure;
use lab::campaign::rule::Opening;
use lab::pairs::{self, Chosen};
use lab::rounds;
use logbook::plan::{Directions, Plan};
use logbook::run::Stage;
use measure::unit::Nanos;
use report::number::count;

use crate::command::study::trials::Span;
use crate::output::Output;

/// The number of names that are listed; of more only the count is given.
const SHOWN: usize = 6;

/// The number of cells and rounds, and the time they take.
pub fn plan(plan: &Plan, chosen: &Chosen, measures: &[Measure], output: &Output) {
    let rounds = rounds::of(&chosen.pairs, &pairs::machines(&plan.hosts, &[]), plan.at_once);
    let cells = super::wanted(plan);
    let ways = ways(plan);
    let takes = Span(takes(plan, rounds.len(), measures));
    let names: Vec<&str> = measures.iter().map(|measure| measure.name.as_str()).collect();
    let name = plan.name.as_ref().map_or_else(String::new, |name| format!("{name}: "));
    let hosts = count(plan.hosts.len() as u64, "host", "hosts");
    let pairs = count(chosen.pairs.pairs().len() as u64, "pair", "pairs");
    let both = if ways == 2 { " both ways" } else { "" };
    let by = names.join(", ");
    let times = if plan.repeats > 1 { format!(", {} times", plan.repeats) } else { String::new() };
    let cells = count(cells as u64, "cell", "cells");
    let rounds = count(rounds.len() as u64 * u64::from(plan.repeats), "round", "rounds");
    output.note(&format!("{name}{hosts}, {pairs}{both}, by {by}{times}: {cells} in {rounds}, about {takes}\n"));
    for left_out in &chosen.left_out {
        output.note(&format!("note: {left_out}\n"));
    }
}

/// The number of times that a pair is measured by each method and over each address: from one of its ends, or from both.
fn ways(plan: &Plan) -> u64 {
    if plan.directions == Directions::Both { 2 } else { 1 }
}

/// The time that so many rounds take.
pub fn takes(plan: &Plan, rounds: usize, measures: &[Measure]) -> Nanos {
    let each: u64 = measures.iter().map(|measure| measure.lasts.0).sum();
    let turns = rounds as u64 * u64::from(plan.repeats) * ways(plan) * plan.addresses.each().len() as u64;
    Nanos(each.saturating_mul(turns))
}

/// The machines that these stages make or remove.
pub fn machines(plan: &Plan, stages: &[Stage], output: &Output) {
    for machines in &plan.machines {
        let zones = machines.zones.iter().fold(Vec::new(), |mut kept: Vec<&str>, zone| {
            if !kept.contains(&zone.as_str()) {
                kept.push(zone);
            }
            kept
        });
        let many = count(machines.machines(), "machine", "machines");
        let what = format!("{many} of {}, {}, in {}", machines.cloud, machines.machine_type, zones.join(", "));
        if stages.contains(&Stage::Provision) {
            output.note(&format!("makes {what}\n"));
        }
        if stages.contains(&Stage::Teardown) {
            output.note(&format!("removes {what}\n"));
        }
    }
}

/// The closed ports, with the rules that would open them.
pub fn openings(openings: &[Opening], output: &Output) {
    for opening in openings {
        let mut from: Vec<&str> = opening.from.iter().map(String::as_str).take(SHOWN).collect();
        let more = opening.from.len() - from.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        if from.is_empty() {
            from.push("anywhere");
        }
        let mut text =
            format!("closed: {} at {}, from {}{more}\n", opening.closed.join(", "), opening.host, from.join(", "));
        for (place, rule) in &opening.rules {
            text.extend(["  ", place, ":\n    ", rule, "\n"]);
        }
        output.note(&text);
    }
}
