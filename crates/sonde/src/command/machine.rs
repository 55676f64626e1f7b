//! `sonde self`: what can this machine resolve at all?

use std::path::PathBuf;

use clap::Args;
use endpoint::resolution::{Effort, resolve};
use logbook::document::Form;
use logbook::resolution::ResolutionDocument;
use measure::unit::Nanos;
use report::machine;

use crate::command::{deliver, value};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Output};
use crate::program::PROGRAM;

const EXAMPLES: &str = "\
Examples:
  sonde self               takes 6 seconds
  sonde self -t 3m         long enough for p99 at 10 ms
  sonde self --json        for machines
";

/// Arguments of `sonde self`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SelfOptions {
    /// Total duration: seconds, or with a unit
    #[arg(short = 't', long, value_name = "TIME", value_parser = value::run_length, default_value = "5.5s")]
    time: Nanos,
    /// Print one JSON document
    #[arg(short = 'J', long)]
    json: bool,
    /// Also write the result to FILE: .json or .txt; repeatable
    #[arg(short = 'o', long = "output", value_name = "FILE", value_parser = result_file)]
    output: Vec<ResultFile>,
}

/// A file for the result.
#[derive(Clone, Debug)]
struct ResultFile {
    path: PathBuf,
    json: bool,
}

fn result_file(text: &str) -> Result<ResultFile, String> {
    let path = PathBuf::from(text);
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("json") => Ok(ResultFile { path, json: true }),
        Some("txt") => Ok(ResultFile { path, json: false }),
        _ => Err("ends in no format we write here: .json or .txt".to_owned()),
    }
}

/// Looks, and tells.
///
/// # Errors
/// A file that cannot be written.
pub fn run(options: &SelfOptions, output: &Output) -> Result<Exit, Failure> {
    for file in &options.output {
        deliver::check_path(&file.path)?;
    }
    let shows = output.shows_progress();
    let found = resolve(PROGRAM, Effort::within(options.time), |part| {
        if shows {
            output.progress(&format!("looking at {part}"));
        }
    });
    output.progress_done();
    let text = || machine::render(&found, output.style());
    let json = || ResolutionDocument::new(PROGRAM, found.clone()).to_json();
    output.result(&if options.json { json()? } else { text() });
    for file in &options.output {
        let content = if file.json { json()? } else { output::plain(&text()) };
        deliver::write(&file.path, &content)?;
    }
    Ok(Exit::Done)
}
