//! `sonde export`: records as a table, one row each.

use std::path::PathBuf;

use clap::Args;
use report::flat;
use report::samples::Format;

use crate::command::deliver;
use crate::command::gather::{self, Gathered};
use crate::command::value::SampleFile;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  sonde export runs/*.json -o all.csv        one row a record, the unit in each column's name
  sonde export runs/ -o all.parquet          every record of a folder, for data frames
  sonde export found.json -o probes.csv      one row for each probe of a search
  sonde export run.json                      CSV on standard output
";

/// What `sonde export` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ExportOptions {
    /// Records, searches and studies, as -o FILE.json or --json wrote them, or folders of them; - is standard input
    #[arg(value_name = "RECORD", required = true)]
    records: Vec<PathBuf>,
    /// Where to: .csv or .parquet; may be given again. Left out: CSV on standard output
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    output: Vec<SampleFile>,
}

/// Writes the table.
///
/// # Errors
/// No record that can be read, a file that cannot be written.
pub fn run(options: &ExportOptions, output: &Output) -> Result<Exit, Failure> {
    for file in &options.output {
        deliver::check_path(&file.path)?;
    }
    let Gathered { found, .. } = gather::all(&options.records, output)?;
    let table = |format| flat::table(&found, format).map_err(|fault| Failure::usage(format!("no table: {fault}")));
    if options.output.is_empty() {
        output.exactly(&String::from_utf8_lossy(&table(Format::Csv)?));
    }
    for file in &options.output {
        deliver::write(&file.path, table(file.format)?)?;
        let rows = report::number::count(flat::rows(&found) as u64, "row", "rows");
        output.note(&format!("{}: {rows}\n", file.path.display()));
    }
    Ok(Exit::Done)
}
