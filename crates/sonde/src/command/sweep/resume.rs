//! A sweep that was begun before, gone on with: only where it asks the very same.

use std::ffi::OsString;
use std::path::Path;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use logbook::document::Head;
use logbook::read::Document;
use logbook::store;
use logbook::study::{Setting, StudyDocument};

use crate::command::argv;
use crate::command::everywhere::Everywhere;
use crate::command::study::argv::arranged;
use crate::command::study::options::TrialOptions;
use crate::command::sweep::options::SweepOptions;
use crate::failure::Failure;

/// A command line that has to be a sweep's.
#[derive(Debug, Parser)]
#[command(name = "sonde")]
struct Line {
    #[command(flatten)]
    _everywhere: Everywhere,
    #[command(subcommand)]
    command: Sweep,
}

#[derive(Debug, Subcommand)]
enum Sweep {
    Sweep(SweepOptions),
}

/// The sweep in `file`.
///
/// # Errors
/// A file that cannot be read, or holds something else.
pub fn read(file: &Path) -> Result<StudyDocument, Failure> {
    let name = file.display().to_string();
    if !file.exists() {
        return Err(Failure::usage(format!("--resume {name}: there is no such file"))
            .hint("begin with -o FILE.json, and resume that file")
            .about(name));
    }
    match store::read_document(file).map_err(|error| Failure::from(error).about(name.clone()))? {
        Document::Study(study) => Ok(*study),
        Document::Record(_) => Err(Failure::usage(format!("{name}: holds one record, and no sweep")).about(name)),
        Document::Search(_) => Err(Failure::usage(format!("{name}: holds a search, and no sweep")).about(name)),
        Document::Run(_) => Err(Failure::usage(format!("{name}: holds a run of a plan, and no sweep")).about(name)),
        Document::Look(_) => Err(Failure::usage(format!("{name}: holds a quick survey, not a sweep")).about(name)),
    }
}

/// The options by which `before` was begun, so that nobody has to remember them; with the file and the outputs of `now`.
///
/// # Errors
/// Other words that ask something, beside the file; words that are none of this version.
pub fn begun(now: &SweepOptions, before: &StudyDocument, file: &Path) -> Result<SweepOptions, Failure> {
    let name = file.display().to_string();
    let by = format!("it was begun by: {}", report::shell::line(&before.head.command));
    let TrialOptions { blocks, budget, seed } = now.trials;
    if blocks.is_some() || budget.is_some() || seed.is_some() {
        let what = format!("--resume {name}: the file says how its trials are made, and some of that was said again");
        return Err(Failure::usage(what).hint(by).about(name));
    }
    let options = swept_by(&before.head.command).map_err(|failure| failure.hint(by).about(name))?;
    Ok(SweepOptions { resume: now.resume.clone(), result: now.result.clone(), ..options })
}

/// The options of the sweep that a command line asks for, the program's name first, as a result keeps it.
///
/// # Errors
/// It is none, or has words that this version does not know.
fn swept_by(words: &[String]) -> Result<SweepOptions, Failure> {
    let argv = arranged(words.iter().map(OsString::from).collect(), &Line::command());
    let line = Line::try_parse_from(argv).map_err(|error| match error.kind() {
        ErrorKind::InvalidSubcommand => Failure::usage("the words by which it was begun are no sweep's"),
        _ => argv::failure(&error),
    })?;
    let Sweep::Sweep(options) = line.command;
    Ok(options)
}

/// Takes over from `before` what belongs to `now`: the trials that measured something, when it was begun and by which words.
///
/// # Errors
/// The two do not ask the same: their difference.
pub fn taken_over(before: StudyDocument, now: StudyDocument, file: &Path) -> Result<StudyDocument, Failure> {
    if let Some(differs) = difference(&before, &now) {
        let name = file.display().to_string();
        return Err(Failure::usage(format!("{name} asks another question: {differs}"))
            .hint(format!("it was begun by: {}", report::shell::line(&before.head.command)))
            .about(name));
    }
    // A trial that failed is tried again, and one of a setting there is not would never be told.
    let sound = |trial: &logbook::study::Trial| trial.record.is_some() && (trial.setting as usize) < now.settings.len();
    let trials = before.trials.into_iter().filter(sound).collect();
    Ok(StudyDocument { head: Head { tool: now.head.tool, ..before.head }, trials, ..now })
}

fn difference(before: &StudyDocument, now: &StudyDocument) -> Option<String> {
    if before.question != now.question {
        return Some("another axis, other figures or other methods".to_owned());
    }
    if before.blocks != now.blocks {
        return Some(format!("{} blocks there, {} here", before.blocks, now.blocks));
    }
    if before.settings.len() != now.settings.len() {
        return Some(format!("{} points there, {} here", before.settings.len(), now.settings.len()));
    }
    let words = |setting: &Setting| setting.command.join(" ");
    let mut pairs = before.settings.iter().zip(&now.settings);
    pairs
        .find(|(there, here)| there.command != here.command || there.at != here.at)
        .map(|(there, here)| format!("`{}` there, `{}` here", words(there), words(here)))
}
