//! Destination of a result, for every command that has one.

use clap::{Args, ValueEnum};

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
    /// Print the result in another form: markdown (a table to paste into an issue)
    #[arg(long, value_name = "FORM", hide_possible_values = true, conflicts_with_all = ["json", "json_lines"])]
    pub export: Option<Export>,
    /// Also write the result to FILE: .json (record), .jsonl (events), .txt, .html (page), .svg or .png (chart); repeatable
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: Vec<Destination>,
}

/// A form of a result in place of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Export {
    /// A table to paste into an issue
    Markdown,
}
