//! The table as people read it, at most 100 columns wide.

use std::fmt::Write;

use jiff::Timestamp;
use serde::Serialize;

use crate::machine::Machine;
use crate::process::Priority;
use crate::row::{Family, Section};
use crate::sonde::{CLIENT_CPU, RECORDED_S, SERVER_CPU, SIZE, WARM_UP};
use crate::subject::Seen;
use crate::trial::PAIRS;
use crate::verdict::{Effect, Target};

/// Reading of the figures above it.
const FOOT: &str = "\
ratio: Hodges-Lehmann of the logarithms of ours / theirs, with the signed-rank interval; met when
estimate >= target and lower bound >= target - 0.03 (where less is better, <= and upper and + 0.03).
difference: median of ours - theirs, with the order-statistics interval; met when estimate and upper
bound <= target. Instructions: callgrind's, in user space, without an interval. Ours, theirs:
medians of their own runs. No row is run twice. stamps-* have seven times as many pairs, netperf's
streams and least durations three times. netperf: a whole second each, both ends of the same
program, between namespaces where the name ends in veth, on loopback otherwise. sockperf-*-rate*:
at the normal priority. limit: what a plain C loop carries of the same, the median of 5 runs.
";

/// One output of the bench, whole.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Begin of the report's rows.
    pub began: Timestamp,
    /// The machine.
    pub machine: Machine,
    /// Priority of both sides.
    pub priority: Priority,
    /// Pairs of each row.
    pub pairs: usize,
    /// Seed of the order within pairs.
    pub seed: u64,
    /// The family whose rows these are; absent where all were run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<Family>,
    /// The rows, as they were run.
    pub rows: Vec<Seen>,
}

impl Report {
    /// The table.
    pub fn table(&self) -> String {
        let mut text = self.head();
        let mut section = None;
        for seen in &self.rows {
            let own = seen.row.subject.section();
            if section != Some(own) {
                heading(&mut text, own);
                section = Some(own);
            }
            line(&mut text, seen, own);
        }
        text.push('\n');
        text.push_str(FOOT);
        text
    }

    fn head(&self) -> String {
        let Machine { kernel, cpu, cpus, guest, congestion, clock_read_ns, load, revision } = &self.machine;
        let known = |fact: &Option<String>| fact.clone().unwrap_or_else(|| "unknown".to_owned());
        let guest = if *guest == Some(true) { ", guest" } else { "" };
        let number = |value: &Option<f64>| value.map_or_else(|| "unknown".to_owned(), |value| format!("{value:.1}"));
        let cpus = cpus.map_or_else(|| "unknown".to_owned(), |cpus| cpus.to_string());
        let mut text = String::new();
        let began = self.began.strftime("%Y-%m-%d %H:%M:%S UTC");
        push(&mut text, format_args!("sonde bench · {began} · revision {}", known(revision)));
        push(
            &mut text,
            format_args!("Linux {} · {} · {cpus} CPUs{guest} · load {}", known(kernel), known(cpu), number(load)),
        );
        let clock = number(clock_read_ns);
        push(
            &mut text,
            format_args!("loopback · tcp by {} · clock read {clock} ns · {}", known(congestion), self.priority),
        );
        push(
            &mut text,
            format_args!(
                "{SIZE} B each way · client CPU {CLIENT_CPU}, server CPU {SERVER_CPU} · {} pairs of {RECORDED_S} s after {WARM_UP} · seed {}",
                self.pairs, self.seed
            ),
        );
        if self.pairs < PAIRS {
            push(&mut text, format_args!("NOT A RESULT: a row that counts has {PAIRS} pairs"));
        }
        text
    }
}

fn push(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("writing to a string cannot fail");
}

fn heading(text: &mut String, section: Section) {
    let Section { title, ours, theirs, effect, .. } = section;
    let (interval, target, verdict) = ("95 % interval", "target", "verdict");
    let limit = if section.limited { "     limit" } else { "" };
    push(
        text,
        format_args!("\n{title:<27}{ours:>8}{theirs:>9}{effect:>11}{interval:>16}{target:>10}  {verdict}{limit}"),
    );
}

fn line(text: &mut String, seen: &Seen, section: Section) {
    let name = format!("  {}", seen.row.name);
    let (target, verdict) = (seen.row.target, seen.verdict);
    let Some(effect) = seen.effect else {
        let why = seen.fault.as_deref().unwrap_or("no figure came of it");
        push(text, format_args!("{name:<27}{:>54}  {verdict}", target.to_string()));
        return wrapped(text, why);
    };
    let side = |values: Vec<f64>| format!("{:.*}", section.decimals, middle(values));
    let ours = side(seen.pairs.iter().map(|pair| pair.ours).collect());
    let theirs = side(seen.pairs.iter().map(|pair| pair.theirs).collect());
    let theirs = if section.theirs.is_empty() { String::new() } else { theirs };
    let (value, interval) = printed(target, effect);
    let limit = seen.limit.map(|limit| format!("{limit:.*}", section.decimals)).unwrap_or_default();
    let (target, verdict) = (target.to_string(), format!("{verdict:<9}{limit:>8}"));
    let verdict = verdict.trim_end();
    push(text, format_args!("{name:<27}{ours:>8}{theirs:>9}{value:>11}{interval:>16}{target:>10}  {verdict}"));
}

/// The effect and its interval.
fn printed(target: Target, effect: Effect) -> (String, String) {
    let number = |value: f64| match target {
        Target::FigureAtMost(_) => format!("{value:.1}"),
        // A bound far out needs its size, not its decimals.
        Target::DifferenceAtMost(_) => match value.abs() {
            0.0..10.0 => format!("{value:+.3}"),
            10.0..100.0 => format!("{value:+.1}"),
            _ => format!("{value:+.0}"),
        },
        _ => format!("{value:.3}"),
    };
    let bound = |value: Option<f64>| value.map_or_else(|| "none".to_owned(), number);
    let Effect { value, low, high } = effect;
    let interval =
        if low.is_none() && high.is_none() { "-".to_owned() } else { format!("{} … {}", bound(low), bound(high)) };
    (number(value), interval)
}

/// Writes the reason for which a row was not run, in lines of at most 96 characters.
fn wrapped(text: &mut String, why: &str) {
    let mut column = 0;
    text.push_str("   ");
    for word in why.split_whitespace() {
        let length = word.chars().count() + 1;
        if column > 0 && column + length > 93 {
            text.push_str("\n   ");
            column = 0;
        }
        text.push(' ');
        text.push_str(word);
        column += length;
    }
    text.push('\n');
}

/// The median of what one side gave: shown beside the effect, which does not come from it.
fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::all;
    use crate::trial::Pair;
    use crate::verdict::{Verdict, effect, judge};

    fn report(pairs: usize) -> Report {
        let machine = Machine {
            kernel: Some("6.18.1".to_owned()),
            cpu: Some("A CPU".to_owned()),
            cpus: Some(2),
            guest: Some(true),
            congestion: Some("bbr".to_owned()),
            clock_read_ns: Some(23.1),
            load: None,
            revision: Some("0123456789ab-dirty".to_owned()),
        };
        let seen = |row: crate::row::Row| {
            let pairs = vec![Pair { ours: 1_234.567, theirs: 1_200.25, ours_first: true }; pairs];
            let effect = effect(row.target, &pairs);
            let verdict = effect.map_or(Verdict::NotRun, |effect| judge(row.target, effect, &pairs));
            let fault = effect.is_none().then(|| "`sonde rtt` ended with 2: no such option, ".repeat(5));
            let limit = row.subject.section().limited.then_some(4_934_567.8);
            Seen { row, pairs, limit, effect, verdict, fault }
        };
        let began = "2026-01-02T03:04:05Z".parse().unwrap();
        Report {
            began,
            machine,
            priority: Priority::RealTime,
            pairs,
            seed: 1,
            family: None,
            rows: all().into_iter().map(seen).collect(),
        }
    }

    #[test]
    fn no_line_is_wider_than_100_columns() {
        for pairs in [0, 1, 21] {
            for line in report(pairs).table().lines() {
                assert!(line.chars().count() <= 100, "{} columns: {line}", line.chars().count());
            }
        }
    }

    #[test]
    fn a_bound_far_out_stays_in_its_column() {
        let effect = Effect { value: 0.1034, low: Some(-1_077.084), high: Some(3_369.59) };
        let (value, interval) = printed(Target::DifferenceAtMost(0.2), effect);
        assert_eq!((value.as_str(), interval.as_str()), ("+0.103", "-1077 … +3370"));
    }

    #[test]
    fn fewer_pairs_are_no_result() {
        assert!(report(5).table().contains("NOT A RESULT"));
        assert!(!report(21).table().contains("NOT A RESULT"));
    }

    #[test]
    fn every_row_is_printed_with_its_verdict() {
        let table = report(21).table();
        for row in all() {
            let line = table.lines().find(|line| line.trim_start().starts_with(&format!("{} ", row.name)));
            let end: String = line.unwrap_or_else(|| panic!("{}: {table}", row.name)).chars().skip(80).collect();
            let verdict = ["met", "not shown", "-"].iter().any(|verdict| end.contains(verdict));
            assert!(verdict, "{line:?}");
        }
    }

    #[test]
    fn a_row_that_was_not_run_says_why() {
        let table = report(0).table();
        assert!(table.contains("not run") && table.contains("no such option"), "{table}");
    }
}
