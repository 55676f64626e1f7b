//! `sonde runs`: the runs that are kept, and what waits to be.

pub mod place;
pub mod word;

use std::path::PathBuf;

use clap::Args;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};
use logbook::document::Form;
use logbook::moment::Moment;
use logbook::run_list::RunListDocument;
use logbook::shelf::keeper::PATIENCE;
use logbook::shelf::spool::Spool;
use logbook::shelf::sqlite::SqliteShelf;
use logbook::shelf::{Found, RecordFilter, RunFilter, RunSummary, Shelf, short};
use report::run::list;

use crate::command::runs::place::{StoreOptions, tell_left};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::system::now;

const EXAMPLES: &str = "\
Examples:
  sonde runs                          the last 20, the latest first
  sonde runs --since 7d --plan mesh   this week's runs of plans whose name contains mesh
  sonde runs --json                   for programs
  sonde show last                     the latest run
  sonde runs --import                 import results kept beside the store
  sonde runs --import copied.spool    import results of another machine
  sonde runs --delete 0199f2ab-1234   delete a run and its records
  sonde runs --prune --older-than 90d --dry-run
                                      print the runs that are older, delete nothing

docs/store.md says where runs are kept.
";

/// Runs listed where nobody says how many.
const LISTED: u32 = 20;

/// Arguments of `sonde runs`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "one per switch of the command line")]
pub struct RunsOptions {
    /// Only runs since WHEN: 7d, 2h 30m ago, 2026-10-20, or a date and time
    #[arg(long, value_name = "WHEN", value_parser = since)]
    since: Option<Timestamp>,
    /// Only runs whose plan has TEXT in its name
    #[arg(long, value_name = "TEXT", conflicts_with = "records")]
    plan: Option<String>,
    /// Maximum number of lines
    #[arg(long, value_name = "NUMBER", default_value_t = LISTED)]
    limit: u32,
    /// Print one JSON document
    #[arg(short = 'J', long)]
    json: bool,
    /// List records instead of runs
    #[arg(long, conflicts_with = "json")]
    records: bool,
    /// Only records of this host or address
    #[arg(long, value_name = "HOST", requires = "records")]
    target: Option<String>,
    /// Import results kept in the folder beside the store, or in FOLDER
    #[arg(long, value_name = "FOLDER", num_args = 0.., conflicts_with_all = ["records", "json", "since", "plan"])]
    import: Option<Vec<PathBuf>>,
    /// Delete runs and their records, by the first digits of the ID or `last`
    #[arg(long, value_name = "RUN", num_args = 1.., conflicts_with_all = ["records", "json", "since", "plan", "import"])]
    delete: Vec<String>,
    /// Delete the runs that --older-than selects, and their records
    #[arg(long, requires = "older_than", conflicts_with_all = ["records", "json", "since", "import", "delete"])]
    prune: bool,
    /// With --prune: runs started before WHEN: 90d, 2026-10-20, or a date and time
    #[arg(long, value_name = "WHEN", value_parser = since, requires = "prune")]
    older_than: Option<Timestamp>,
    /// With --delete and --prune: print the runs, delete nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    place: StoreOptions,
}

/// Lists them, or takes in what waits.
///
/// # Errors
/// A store that cannot be opened, things that stay where they are.
pub fn run(options: &RunsOptions, output: &Output) -> Result<Exit, Failure> {
    if let Some(folders) = &options.import {
        return import(folders, options, output);
    }
    if options.dry_run && !options.prune && options.delete.is_empty() {
        return Err(Failure::usage("--dry-run is for --delete and --prune").hint("`sonde runs` alone deletes nothing"));
    }
    let mut shelf = options.place.open(output)?;
    if options.prune {
        let filter = RunFilter { before: options.older_than, plan: options.plan.clone(), ..RunFilter::default() };
        let runs = shelf.runs(&filter)?;
        return delete(&runs, &mut shelf, options.dry_run, output);
    }
    if !options.delete.is_empty() {
        let all = shelf.runs(&RunFilter::default())?;
        let mut runs: Vec<RunSummary> = Vec::new();
        for word in &options.delete {
            let none = || {
                Failure::usage(format!("--delete {word}: the store has no run of that name"))
                    .hint("`sonde runs` lists them")
                    .about(word)
            };
            let Found::Run(id) = shelf.find(word)? else { return Err(none()) };
            if runs.iter().all(|run| run.id != id) {
                runs.push(all.iter().find(|run| run.id == id).cloned().ok_or_else(none)?);
            }
        }
        return delete(&runs, &mut shelf, options.dry_run, output);
    }
    if options.records {
        let filter = RecordFilter { since: options.since, target: options.target.clone(), limit: Some(options.limit) };
        output.result(&list::records(&shelf.records(&filter)?, output.style()));
        return Ok(Exit::Done);
    }
    let filter =
        RunFilter { since: options.since, before: None, plan: options.plan.clone(), limit: Some(options.limit) };
    let runs = shelf.runs(&filter)?;
    if options.json {
        output.result(&RunListDocument::new(shelf.place(), runs).to_json()?);
    } else {
        output.result(&list::runs(&runs, output.style()));
    }
    Ok(Exit::Done)
}

/// Deletes `runs`, and tells which; in a dry run it only tells.
fn delete(runs: &[RunSummary], shelf: &mut SqliteShelf, dry_run: bool, output: &Output) -> Result<Exit, Failure> {
    for run in runs {
        if !dry_run {
            shelf.remove(run.id)?;
        }
        let done = if dry_run { "would be deleted" } else { "deleted" };
        let cells = report::number::count(run.done + run.failed, "cell", "cells");
        let plan = run.plan.as_ref().map_or_else(String::new, |plan| format!("{plan}, "));
        output.result(&format!("run {} {done}: {plan}{}, {cells}\n", short(run.id), run.started));
    }
    if runs.is_empty() {
        output.result("no stored run matches\n");
    }
    Ok(Exit::Done)
}

/// Takes in what waits in `folders`, beside the store where none is named.
fn import(folders: &[PathBuf], options: &RunsOptions, output: &Output) -> Result<Exit, Failure> {
    let path = options.place.path()?;
    let spools: Vec<Spool> = match folders {
        [] => vec![Spool::beside(&path)],
        _ => folders.iter().map(Spool::new).collect(),
    };
    if let Some(missing) = folders.iter().find(|folder| !folder.is_dir()) {
        let name = missing.display().to_string();
        return Err(Failure::usage(format!("{name}: there is no such folder")).about(name));
    }
    let mut shelf = SqliteShelf::open(&path, PATIENCE)?;
    let mut left = 0;
    for spool in spools {
        let taken = spool.take_all(&mut shelf)?;
        tell_left(&taken, output);
        left += taken.left.len();
        let word = report::number::count(taken.taken, "thing", "things");
        output.result(&format!("{}: {word} taken in\n", spool.folder().display()));
    }
    Ok(if left == 0 { Exit::Done } else { Exit::Usage })
}

/// A moment as it is typed: RFC 3339, a date or a date and time of this place, or how long ago.
fn since(text: &str) -> Result<Timestamp, String> {
    if let Ok(moment) = text.parse::<Moment>() {
        return Ok(moment.timestamp());
    }
    let here = |at: DateTime| at.to_zoned(TimeZone::system()).map(|at: Zoned| at.timestamp());
    let civil = text.parse::<Date>().map(|date| date.at(0, 0, 0, 0)).or_else(|_| text.parse::<DateTime>());
    let said = "say how long ago (7d, 2h 30m), a date (2026-10-20) or a date and time";
    if let Ok(at) = civil {
        return here(at).map_err(|_| said.to_owned());
    }
    let span: Span = text.trim_end_matches("ago").trim().parse().map_err(|_| said.to_owned())?;
    // Days and weeks are those of the calendar here.
    let at = now().timestamp().to_zoned(TimeZone::system()).checked_sub(span.abs()).map_err(|_| said.to_owned())?;
    Ok(at.timestamp())
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case("2026-10-20T14:03:12+02:00", Some("2026-10-20T12:03:12Z"); "an instant")]
    #[test_case("yesterday", None; "a word")]
    #[test_case("7", None; "no unit")]
    fn since_is_read(text: &str, expected: Option<&str>) {
        assert_eq!(since(text).ok(), expected.map(|at| at.parse().unwrap()));
    }

    #[test]
    fn how_long_ago_is_counted_from_now() {
        let before = now().timestamp();
        let ago = since("2h 30m").unwrap();
        let after = now().timestamp();
        let length = jiff::SignedDuration::from_mins(150);
        assert!(before - length <= ago && ago <= after - length);
        assert!(since("2026-10-20").is_ok() && since("7d").unwrap() < ago);
    }
}
