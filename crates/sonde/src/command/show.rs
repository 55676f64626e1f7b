//! `sonde show`: records, searches, first looks and runs printed again, as text or as they are.

use std::path::{Path, PathBuf};

use clap::Args;
use logbook::event::Line;
use logbook::read::Document;
use logbook::shelf::{Found, Shelf};

use crate::command::result_options::ResultOptions;
use crate::command::rtt::stream::Stream;
use crate::command::runs::place::StoreOptions;
use crate::command::runs::word::{Named, Words};
use crate::command::{deliver, gather};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  sonde show result.json                 as it was printed
  sonde show monday.json tuesday.json    one after the other
  sonde show -v result.json              with the environment of both hosts
  sonde show old.json --json             in the current format
  sonde rtt db1 --json | sonde show -    from a pipe
  sonde show last                        the latest stored run
  sonde show 0199f2ab-1234               a run or a record by the first digits of its ID
";

/// Arguments of `sonde show`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ShowOptions {
    /// Records, searches, studies, surveys and runs: files written by --json or --json-lines, - for standard input, or a stored run or
    /// record by the first digits of its ID, or `last`
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    place: StoreOptions,
    /// Where the result goes
    #[command(flatten)]
    result: ResultOptions,
}

/// Prints them.
///
/// # Errors
/// A file that cannot be read or holds no record: what came before it is printed.
pub fn run(options: &ShowOptions, output: &Output) -> Result<Exit, Failure> {
    let one_only = options.result.json || !options.result.output.is_empty();
    if one_only && options.files.len() > 1 {
        return Err(Failure::usage("one document holds one record, and several files were given")
            .hint("show them one at a time, or as --json-lines"));
    }
    let mut words = Words::new(&options.place, output);
    let mut stream = Stream::open(&options.result, output)?;
    for (place, file) in options.files.iter().enumerate() {
        let document = document(file, &mut words)?;
        if place > 0 && !options.result.json_lines {
            output.result("\n");
        }
        let line = match document {
            Document::Record(record) => {
                deliver::record(&record, &options.result, output)?;
                Line::End(record)
            }
            Document::Search(search) => {
                deliver::search(&search, &options.result, output)?;
                Line::Found(search)
            }
            Document::Look(look) => {
                deliver::look(&look, &options.result, output)?;
                Line::Looked(look)
            }
            Document::Run(run) => {
                deliver::run(&run, &options.result, output)?;
                Line::Ran(run)
            }
            Document::Study(study) => {
                deliver::study(&study, &options.result, output)?;
                Line::Studied(study)
            }
        };
        stream.write(&line);
    }
    stream.faults().into_iter().next().map_or(Ok(Exit::Done), Err)
}

/// The document in a file or in the store.
fn document(word: &Path, words: &mut Words<'_>) -> Result<Document, Failure> {
    Ok(match words.find(word)? {
        Named::File(file) => gather::read(&file)?,
        Named::Kept(Found::Run(id)) => Document::Run(Box::new(words.shelf()?.run(id)?)),
        Named::Kept(Found::Record(id)) => Document::Record(Box::new(words.shelf()?.record(id)?)),
    })
}
