//! `sonde export`: records as a table, one row each, or as they are, one line each.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, ValueEnum};
use logbook::shelf::Shelf;
use report::flat::{self, Item};
use report::samples;
use report::samples::pkb::Publisher;

use crate::command::deliver;
use crate::command::gather::{self, Gathered};
use crate::command::runs::place::StoreOptions;
use crate::command::runs::word::{self, Words};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  sonde export runs/*.json -o all.csv        one row a record, the unit in each column's name
  sonde export runs/ -o all.parquet          every record of a folder, for data frames
  sonde export found.json -o probes.csv      one row for each probe of a search
  sonde export run.json                      CSV on standard output
  sonde export last -o mesh.parquet          every record of the latest run, with its place and labels
  sonde export last --format jsonl           the records themselves, one a line
  sonde export last --format pkb             samples as PerfKit Benchmarker publishes them
";

/// What `sonde export` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ExportOptions {
    /// Records, searches and studies, as -o FILE.json or --json wrote them, or folders of them; - is standard input; or a run that is
    /// kept, by the start of its name or `last`: every record of it
    #[arg(value_name = "RECORD", required = true)]
    records: Vec<PathBuf>,
    /// Where to: .csv, .parquet or .jsonl; may be given again. Left out: standard output
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    output: Vec<Target>,
    /// In which form [default: as the file's name ends; CSV on standard output]
    #[arg(long, value_name = "FORM", value_enum)]
    format: Option<Form>,
    #[command(flatten)]
    place: StoreOptions,
}

/// A form that records are exported in: a further one is a value here and an arm in [`Form::of`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// A table as text
    Csv,
    /// A table in columns, for data frames
    Parquet,
    /// The records, one JSON object a line
    Jsonl,
    /// `PerfKit` Benchmarker's samples, one JSON object a line: of runs of plans alone
    Pkb,
}

/// A file, with the form that its ending names, where it names one.
#[derive(Clone, Debug)]
struct Target {
    path: PathBuf,
    form: Option<Form>,
}

impl FromStr for Target {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let path = PathBuf::from(text);
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        let form = match ending.as_deref() {
            Some("csv") => Some(Form::Csv),
            Some("parquet") => Some(Form::Parquet),
            Some("jsonl" | "ndjson") => Some(Form::Jsonl),
            _ => None,
        };
        Ok(Self { path, form })
    }
}

impl Form {
    /// What is written.
    fn of(self, found: &[Item]) -> Result<Vec<u8>, Failure> {
        match self {
            Self::Csv => flat::table(found, samples::Format::Csv),
            Self::Parquet => flat::table(found, samples::Format::Parquet),
            Self::Jsonl | Self::Pkb => flat::lines(found),
        }
        .map_err(|fault| Failure::usage(format!("no table: {fault}")))
    }
}

/// Writes the table.
///
/// # Errors
/// No record that can be read, a file that cannot be written.
pub fn run(options: &ExportOptions, output: &Output) -> Result<Exit, Failure> {
    let targets = options.output.iter().map(|target| Ok((target.path.as_path(), form(target, options.format)?)));
    let targets = targets.collect::<Result<Vec<(&Path, Form)>, Failure>>()?;
    let printed = options.format.unwrap_or(Form::Csv);
    if targets.is_empty() && printed == Form::Parquet {
        return Err(Failure::usage("Parquet is no text: it goes into a file").hint("give -o FILE.parquet"));
    }
    for (path, _) in &targets {
        deliver::check_path(path)?;
    }
    if printed == Form::Pkb || targets.iter().any(|(_, form)| *form == Form::Pkb) {
        return pkb(options, &targets, output);
    }
    let Gathered { found, .. } = gather::all(&options.records, &options.place, output)?;
    if targets.is_empty() {
        output.exactly(&String::from_utf8_lossy(&printed.of(&found)?));
    }
    for (path, form) in targets {
        deliver::write(path, form.of(&found)?)?;
        let rows = report::number::count(flat::rows(&found) as u64, "row", "rows");
        output.note(&format!("{}: {rows}\n", path.display()));
    }
    Ok(Exit::Done)
}

/// Writes samples of runs: they tell of pairs of hosts, which a record alone does not know.
fn pkb(options: &ExportOptions, targets: &[(&Path, Form)], output: &Output) -> Result<Exit, Failure> {
    if targets.iter().any(|(_, form)| *form != Form::Pkb) {
        return Err(Failure::usage("--format pkb: files of another form beside it").hint("export these by themselves"));
    }
    let words = RefCell::new(Words::new(&options.place, output));
    let (mut lines, mut told) = (Vec::new(), 0);
    for name in &options.records {
        let run = word::run_document(&name.to_string_lossy(), &mut words.borrow_mut())?;
        let record = |id| words.borrow_mut().shelf().ok().and_then(|shelf| shelf.record(id).ok());
        told += samples::pkb::write(&mut lines, &run, &BTreeMap::new(), &Publisher::default(), &record)
            .map_err(|fault| Failure::usage(format!("{}: no samples: {fault}", name.display())))?;
    }
    if targets.is_empty() {
        output.exactly(&String::from_utf8_lossy(&lines));
    }
    for (path, _) in targets {
        deliver::write(path, &lines)?;
        output.note(&format!("{}: {}\n", path.display(), report::number::count(told as u64, "sample", "samples")));
    }
    Ok(Exit::Done)
}

fn form(target: &Target, asked: Option<Form>) -> Result<Form, Failure> {
    asked.or(target.form).ok_or_else(|| {
        let name = target.path.display().to_string();
        let what = format!("{name}: ends in no form of records: .csv, .parquet or .jsonl");
        Failure::usage(what).hint("end it in one of them, or say --format").about(name)
    })
}
