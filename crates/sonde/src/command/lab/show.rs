//! `sonde lab list`: the labs of this user, and how they stand.

use std::fmt::Write;

use clap::Args;
use endpoint::clock;
use lab::network::{self, Found, Standing};
use logbook::host::Reach;
use serde_json::json;

use crate::command::lab::place::{self, failed};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

/// Options of `sonde lab list`.
#[derive(Debug, Args)]
pub struct ListOptions {
    /// Print one JSON document
    #[arg(short = 'J', long)]
    json: bool,
}

/// Lists them.
///
/// # Errors
/// A folder that cannot be read.
pub fn run(options: &ListOptions, output: &Output) -> Result<Exit, Failure> {
    let labs = network::list(&place::folder()?).map_err(failed)?;
    let now = clock::wall();
    if options.json {
        output.result(&document(&labs, now));
        return Ok(Exit::Done);
    }
    if labs.is_empty() {
        output.note("no lab stands here: `sonde lab up --hosts 3` makes one\n");
        return Ok(Exit::Done);
    }
    output.result(&table(&labs, now));
    if labs.iter().any(|lab| matches!(lab.standing, Standing::CutShort | Standing::Gone)) {
        output
            .note("`sonde lab clean` removes what was cut short, and what is left of before the machine was started\n");
    }
    Ok(Exit::Done)
}

fn table(labs: &[Found], now: u64) -> String {
    let mut text = format!("{:<16} {:>5}  {:<10} {:<11} {}\n", "lab", "hosts", "reached", "stands", "age");
    for lab in labs {
        let (hosts, reached, age) = facts(lab, now);
        let hosts = hosts.map_or_else(|| "–".to_owned(), |hosts| hosts.to_string());
        let age = age.map_or_else(|| "–".to_owned(), age_text);
        let _ = writeln!(
            text,
            "{:<16} {hosts:>5}  {:<10} {:<11} {age}",
            lab.id,
            reached.unwrap_or("–"),
            words(lab.standing)
        );
    }
    text
}

fn document(labs: &[Found], now: u64) -> String {
    let lab = |lab: &Found| {
        let (hosts, reached, age) = facts(lab, now);
        json!({
            "id": lab.id,
            "standing": words(lab.standing).replace(' ', "-"),
            "hosts": hosts,
            "reached": reached,
            "age_ns": age,
            "listed": lab.state.as_ref().map(|state| &state.hosts),
        })
    };
    let labs: Vec<_> = labs.iter().map(lab).collect();
    let document = json!({ "format": "sonde-labs", "version": 1, "labs": labs });
    format!("{document:#}\n")
}

/// Number of its hosts, how they are reached, and its age in nanoseconds.
fn facts(lab: &Found, now: u64) -> (Option<usize>, Option<&'static str>, Option<u64>) {
    let Some(state) = &lab.state else { return (None, None, None) };
    let reached = state.hosts.first().map(|host| match host.reach {
        Reach::Ssh(_) => "ssh",
        _ => "namespaces",
    });
    // The first of its namespaces is the switch.
    (Some(state.namespaces.len().saturating_sub(1)), reached, Some(now.saturating_sub(state.made_ns)))
}

fn words(standing: Standing) -> &'static str {
    match standing {
        Standing::Ready => "ready",
        Standing::Busy => "in work",
        Standing::CutShort => "cut short",
        Standing::Gone => "gone",
        Standing::Elsewhere => "elsewhere",
    }
}

/// An age by its largest unit: nobody asks for the seconds of a day.
fn age_text(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_told_by_one_unit() {
        let second = 1_000_000_000;
        let told = [0, 119, 120, 7_199, 7_200, 172_800].map(|seconds| age_text(seconds * second));
        assert_eq!(told, ["0 s", "119 s", "2 min", "119 min", "2 h", "2 days"]);
    }

    #[test]
    fn a_lab_of_which_nothing_can_be_read_is_listed() {
        let labs = [Found { id: "a1".into(), state: None, standing: Standing::CutShort }];
        assert!(table(&labs, 0).lines().nth(1).unwrap().starts_with("a1 "));
        let document: serde_json::Value = serde_json::from_str(&document(&labs, 0)).unwrap();
        assert_eq!(
            (&document["labs"][0]["standing"], &document["labs"][0]["hosts"]),
            (&"cut-short".into(), &().into())
        );
    }
}
