//! `sonde sweep`: how does the answer move along one axis?

pub mod asked;
pub mod options;
pub mod resume;

use std::path::PathBuf;
use std::sync::Arc;

use logbook::document::Head;
use logbook::study::StudyDocument;
use measure::unit::Nanos;
use report::shell;
use uuid::Uuid;

use crate::command::deliver;
use crate::command::result_options::ResultOptions;
use crate::command::study::make;
use crate::command::study::trials::{Aim, FEWEST, plan};
use crate::command::sweep::asked::Asked;
use crate::command::sweep::options::SweepOptions;
use crate::command::value::{Destination, Format as FileFormat};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::program::tool;
use crate::system::now;

/// Blocks where nobody says: the fewest that show how far trials lie apart (method section 12).
const BLOCKS: u32 = 3;
/// Length of trials: a hundred exchanges where time allows.
const AIM: Aim = Aim { samples: measure::study::lengths::SAMPLES, fewest: FEWEST, least: Nanos::secs(1) };

/// Sweeps, and delivers what was found.
///
/// # Errors
/// A setting that cannot be swept, files that cannot be made, a peer that answers nothing.
pub fn run(options: &SweepOptions, command: Vec<String>, output: &Arc<Output>) -> Result<Exit, Failure> {
    let before = options.resume.as_deref().map(resume::read).transpose()?;
    let begun = match (&options.over, &before, &options.resume) {
        (None, Some(before), Some(file)) => Some(resume::begun(options, before, file)?),
        _ => None,
    };
    let options = begun.as_ref().unwrap_or(options);
    let asked = Asked::of(options)?;
    if let Some(file) = begun.as_ref().and_then(|begun| begun.resume.as_deref()) {
        let (name, hint) =
            (file.display().to_string(), "if you know the file and the peer: say the whole command again");
        asked.words.iter().try_for_each(|words| words.send_no_file(&name, hint))?;
    }
    let result = with_resumed(options);
    deliver::check(&result)?;
    let seed = before.as_ref().map_or_else(|| options.trials.seeded(), |study| study.seed);
    let blocks = options.trials.blocks.unwrap_or(BLOCKS);
    let Asked { question, words, places } = asked;
    let planned = plan(words, blocks, seed, AIM, options.trials.budget.map(Into::into))?;
    let mut study = StudyDocument {
        head: Head::new(Uuid::now_v7(), tool(), command, now()),
        question,
        settings: make::settings(&planned, places),
        blocks,
        seed,
        takes_ns: Some(planned.takes),
        budget_ns: planned.budget,
        trials: Vec::new(),
        ended: None,
        comparisons: Vec::new(),
        claims: Vec::new(),
        rerun: None,
        explanation: None,
    };
    if let (Some(before), Some(file)) = (before, options.resume.as_deref()) {
        study = resume::taken_over(before, study, file)?;
    }
    let exit = make::make(study, &planned, &result, output, &mut |_| {})?;
    let kept = result.output.iter().find(|destination| destination.format == FileFormat::Json);
    if let (Exit::CutShort(_), Some(file)) = (exit, kept) {
        let file = shell::word(&file.path.to_string_lossy());
        output.note(&format!("`sonde sweep --resume {file}` measures what is missing\n"));
    }
    Ok(exit)
}

/// Destination of the result: the file that is resumed is one as well.
fn with_resumed(options: &SweepOptions) -> ResultOptions {
    let mut result = options.result.clone();
    let known = |path: &PathBuf| result.output.iter().any(|destination| destination.path == *path);
    if let Some(path) = options.resume.as_ref().filter(|path| !known(path)) {
        result.output.push(Destination { path: path.clone(), format: FileFormat::Json });
    }
    result
}
