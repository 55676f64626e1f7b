//! `sonde matrix`: a run of a plan as squares, host by host: on the terminal, as a page, or as a picture.

use std::cell::RefCell;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use logbook::host::Address;
use logbook::run::RunDocument;
use logbook::shelf::Shelf;
use measure::study::figure::Figure;
use measure::unit::Bytes;
use report::matrix::{Beside, page, picture, text};
use report::number;
use report::plot::Frame;

use crate::command::compare::runs;
use crate::command::deliver;
use crate::command::pages::Form;
use crate::command::runs::place::StoreOptions;
use crate::command::runs::word::{self, Words};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  sonde matrix last                             medians of the latest run
  sonde matrix last --figure p99
  sonde matrix last -o mesh.html                a page with charts and the record of each cell
  sonde matrix last --method tcp_rr -o mesh.png
  sonde matrix last --before 0199f2ab -o moved.html   with a verdict for each cell
";

/// Arguments of `sonde matrix`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct MatrixOptions {
    /// The run: the first digits of its ID, `last`, or a file written by --json
    #[arg(value_name = "RUN")]
    run: String,
    /// Value of a cell: min, mean, p50 to p99.999, loss, rate or throughput [default: p50, for streams throughput]
    #[arg(long, value_name = "FIGURE")]
    figure: Option<Figure>,
    /// Compare with this earlier run, cell by cell (pages only)
    #[arg(long, value_name = "RUN")]
    before: Option<String>,
    /// Method of the picture [default: the first of the plan]
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    /// Addresses of the picture: internal or external [default: the first measured]
    #[arg(long, value_name = "WHICH", value_parser = over)]
    over: Option<Address>,
    /// Write to FILE: .html (page), .svg or .png (picture); repeatable [default: text on standard output]
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    output: Vec<Target>,
    #[command(flatten)]
    place: StoreOptions,
}

/// A file that is to be made, its form told by its ending.
#[derive(Clone, Debug)]
struct Target {
    path: PathBuf,
    form: Form,
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let path = PathBuf::from(text);
        let form = Form::of(&path).ok_or("ends in no form we make: .html (a page), .svg or .png (a picture)")?;
        Ok(Self { path, form })
    }
}

fn over(text: &str) -> Result<Address, String> {
    match text {
        "internal" => Ok(Address::Internal),
        "external" => Ok(Address::External),
        _ => Err("is neither internal nor external".to_owned()),
    }
}

/// Shows it.
///
/// # Errors
/// A run that is not there, a picture that there is none of, a file that cannot be written.
pub fn run(options: &MatrixOptions, output: &Output) -> Result<Exit, Failure> {
    for target in &options.output {
        deliver::check_path(&target.path)?;
    }
    let mut words = Words::new(&options.place, output);
    let run = word::run_document(&options.run, &mut words)?;
    let before = options.before.as_ref().map(|before| runs::beside(before, &options.run, &options.place, output));
    let before = before.transpose()?;
    if options.output.is_empty() {
        output.result(&text(&run, options.figure, output.style()));
        if let Some(before) = &before {
            output.result("\n");
            output.result(&report::run::comparison::render(before, output.style()));
        }
    }
    // Records are looked for one by one, and only those that are told.
    let words = RefCell::new(words);
    let record = |id| words.borrow_mut().shelf().ok().and_then(|shelf| shelf.record(id).ok());
    for target in &options.output {
        let content = if target.form == Form::Page {
            let beside = before.as_ref().map(|comparison| Beside { comparison });
            page(&run, options.figure, beside, &record).into_bytes()
        } else {
            drawn(&run, options, target.form)?
        };
        deliver::write(&target.path, &content)?;
        output.note(&format!("{}: {}\n", target.path.display(), number::size(Bytes(content.len() as u64))));
    }
    Ok(Exit::Done)
}

fn drawn(run: &RunDocument, options: &MatrixOptions, form: Form) -> Result<Vec<u8>, Failure> {
    let chart = picture(run, options.method.as_deref(), options.over, options.figure).map_err(|reason| {
        Failure::usage(format!("there is no picture: {reason}")).hint("write it as .html: a page shows everything")
    })?;
    match form {
        Form::Png => chart.png(Frame::alone()).map_err(|fault| Failure::usage(fault.to_string())),
        Form::Svg | Form::Page => Ok(chart.svg_document(Frame::alone()).into_bytes()),
    }
}
