//! Where a result goes, for every command that has one.

use clap::Args;

use crate::command::value::Destination;

/// Where the result goes.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct ResultOptions {
    /// Print the record as one JSON document, also if the measurement failed
    #[arg(short = 'J', long, conflicts_with = "json_lines")]
    pub json: bool,
    /// Print events as they happen, one JSON object per line: {"event": …, "data": …}
    #[arg(long)]
    pub json_lines: bool,
    /// Also write the result to FILE: .json (record), .jsonl (events), .txt, .html (page), .svg or .png (chart); repeatable
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: Vec<Destination>,
}
