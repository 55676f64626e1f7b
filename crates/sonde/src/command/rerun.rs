//! `sonde rerun`: the measurement of a record made again, and compared with it.

pub mod words;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use logbook::document::Head;
use logbook::event::Line;
use logbook::read::Document;
use logbook::record::{Ended, Record};
use logbook::rerun::differences;
use logbook::shelf::{Found, Shelf};
use logbook::study::{Place, Question, Rerun, Setting, StudyDocument, Trial};
use measure::comparison::Design;
use measure::method::Method;
use uuid::Uuid;

use self::words::IsForeign;
use crate::command::compare::judge::{self, Asked};
use crate::command::result_options::ResultOptions;
use crate::command::rtt::stream::Stream;
use crate::command::runs::place::StoreOptions;
use crate::command::runs::word::{Named, Words as Names};
use crate::command::study::campaign::Campaign;
use crate::command::study::trials;
use crate::command::{deliver, gather};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::program::tool;
use crate::system::now;

const EXAMPLES: &str = "\
Examples:
  sonde rerun monday.json                     the same measurement today, beside Monday's
  sonde rerun monday.json --runs 5            five times
  sonde rerun monday/*.json --runs 7          with at least 5 records and 5 runs a difference can be shown
  sonde rerun 0199f2ab-1234                   a stored record, by the first digits of its ID
";

/// The command line of `sonde rerun`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n{}", crate::exit::TABLE))]
pub struct RerunOptions {
    /// Records of one method: files, or stored records by the first digits of their IDs
    #[arg(value_name = "RECORD", required = true)]
    records: Vec<PathBuf>,
    /// Runs to make now
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,
    /// Key for the peer, which no record holds, where the record's command names none
    #[arg(long, value_name = "FILE", env = "SONDE_KEY_FILE")]
    key: Option<PathBuf>,
    /// Send the files that the record's command names to its peer, as with --body or --headers
    ///
    /// Whoever wrote the record chose the files and the peer: look at both first.
    #[arg(long)]
    send_files: bool,
    #[command(flatten)]
    place: StoreOptions,
    /// Where the result goes
    #[command(flatten)]
    result: ResultOptions,
}

/// Measures again, compares and delivers.
///
/// # Errors
/// A document that is no record of one measuring command of sonde, a key that is missing, a peer that does not answer.
pub fn run(
    options: &RerunOptions,
    command: Vec<String>,
    is_foreign: IsForeign,
    output: &Arc<Output>,
) -> Result<Exit, Failure> {
    let records = records(options, output)?;
    let words = words::of_all(&records, is_foreign, options.key.as_deref())?;
    if !options.send_files {
        words.send_no_file(&records[0].0, "if you know the file and the peer: --send-files")?;
    }
    deliver::check(&options.result)?;
    let planned = trials::again(&words, options.runs)?;
    let (name, first) = &records[0];
    let setting = |name: String, method: &Method| Setting {
        name,
        command: words.words(),
        method: Some(method.clone()),
        at: Place::Side,
    };
    let mut settings =
        vec![setting(format!("A {name}"), &first.method), setting("B now".to_owned(), &planned.methods[1])];
    let trial = |(block, (_, record)): (usize, &(String, Record))| Trial {
        block: block as u32,
        setting: 0,
        record: Some(Box::new(record.clone())),
        failure: None,
    };
    let before: Vec<Trial> = records.iter().enumerate().map(trial).collect();
    let campaign = Campaign::new(output)?;
    let mut stream = Stream::open(&options.result, output)?;
    let started = now();
    campaign.announce(&planned, &before, "--runs");
    let mut each =
        |trials: &[Trial]| trials.last().is_none_or(|trial| stream.write(&Line::Trial(Box::new(trial.clone()))));
    let course = campaign.carry_out(&planned, &settings, before, &mut each)?;
    let made = || course.trials.iter().filter(|trial| trial.setting == 1);
    let Some(again) = made().find_map(|trial| trial.record.as_deref()) else {
        let failure = unmade(made().find_map(|trial| trial.failure.clone()), &campaign);
        stream.write_to_files(&Line::Error(Box::new(failure.told.clone())));
        return Err(failure);
    };
    // Said by the run itself: alone, a command has defaults that a trial of a comparison has not.
    let changes = changes(first, &again.method);
    settings[1].method = Some(again.method.clone());
    let rerun = Rerun {
        of: records.iter().map(|(_, record)| record.head.id).collect(),
        environment: differences(first, again),
        changes,
    };
    let has_failures = made().any(|trial| trial.failure.is_some());
    let complete = course.ended == Ended::Complete;
    let mut study = StudyDocument {
        head: Head::new(Uuid::now_v7(), tool(), command, started),
        question: Question::Compare { design: Design::Apart, looks: Vec::new() },
        blocks: (records.len() as u32).max(options.runs),
        settings,
        seed: 1,
        takes_ns: None,
        budget_ns: None,
        trials: course.trials,
        ended: Some(course.ended),
        comparisons: Vec::new(),
        claims: Vec::new(),
        rerun: Some(rerun),
        explanation: None,
    };
    let asked = Asked { design: Design::Apart, looks: Vec::new(), figures: Vec::new(), thresholds: Vec::new() };
    let axes = judge::told_by_records(&study.trials_of(0), &study.trials_of(1));
    study.comparisons = vec![judge::comparison(&study, 1, axes, &asked)];
    let delivered = deliver::study(&study, &options.result, output);
    stream.write(&Line::Studied(Box::new(study)));
    stream.faults().into_iter().next().map_or(delivered, Err)?;
    Ok(match campaign.interruption().signal() {
        Some(signal) if !complete => Exit::CutShort(signal),
        _ if has_failures => Exit::PartlyDone,
        _ => Exit::Done,
    })
}

/// The records, each with its name.
fn records(options: &RerunOptions, output: &Output) -> Result<Vec<(String, Record)>, Failure> {
    let mut names = Names::new(&options.place, output);
    let mut all = Vec::new();
    for word in &options.records {
        let name = word.display().to_string();
        let record = match names.find(word)? {
            Named::Kept(Found::Record(id)) => names.shelf()?.record(id)?,
            Named::Kept(Found::Run(_)) => {
                let what = format!("{name}: is a run of a plan, with a record for each cell");
                return Err(Failure::usage(what)
                    .hint("`sonde runs RUN --records` lists them; `sonde run PLAN` measures all")
                    .about(name));
            }
            Named::File(file) => of_document(gather::read(&file)?, &name)?,
        };
        all.push((name, record));
    }
    Ok(all)
}

fn of_document(document: Document, name: &str) -> Result<Record, Failure> {
    let (what, hint) = match document {
        Document::Record(record) => return Ok(*record),
        Document::Study(_) => ("holds many trials", "its command makes it again: `sonde show -v FILE` prints that"),
        Document::Look(_) => ("is a quick survey of a host", "`sonde HOST` makes it again"),
        Document::Search(_) => ("is a search for a rate", "`sonde load HOST --find CONDITION` makes it again"),
        Document::Run(_) => ("is a run of a plan", "`sonde run PLAN` makes it again"),
    };
    Err(Failure::usage(format!("{name}: {what}, and no record of one measurement")).hint(hint).about(name))
}

/// Sentences on what makes the comparison one of two methods.
fn changes(record: &Record, method: &Method) -> Vec<String> {
    let mut changes = Vec::new();
    let told = |method: &Method| method.to_string();
    if told(&record.method) != told(method) {
        changes.push(format!(
            "The command means another method now: {} → {}. The comparison is of the two",
            told(&record.method),
            told(method)
        ));
    }
    if record.ended != Ended::Complete {
        changes.push("The record ended early: its run was shorter than its command says".to_owned());
    }
    changes
}

/// The error where nothing could be measured again.
fn unmade(told: Option<logbook::failure::Failure>, campaign: &Campaign<'_>) -> Failure {
    let mut failure = Failure::usage("nothing was measured again");
    failure.exit = campaign.interruption().signal().map_or(Exit::NothingAnswered, Exit::CutShort);
    if let Some(told) = told {
        failure.told = logbook::failure::Failure { what: format!("measured again: {}", told.what), ..told };
    }
    failure
}
