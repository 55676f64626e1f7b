//! Where a result goes, for every command that has one.

use clap::Args;

use crate::command::value::Destination;

/// Where the result goes.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Where the result goes")]
pub struct ResultOptions {
    /// Print the record as one JSON document, also when nothing could be measured
    #[arg(short = 'J', long, conflicts_with = "json_lines")]
    pub json: bool,
    /// Print events as they happen, one JSON object a line: {"event": …, "data": …}
    #[arg(long)]
    pub json_lines: bool,
    /// Write the result into FILE as well: .json (record), .jsonl (events), .txt, .html (a page), .svg or .png (a chart); may be
    /// given again
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: Vec<Destination>,
}
