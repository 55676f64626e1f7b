//! `sonde report`: records as a page, or one chart of them as a picture.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use logbook::read::Document;
use measure::unit::{Bytes, grouped};
use report::flat::Item;
use report::number;
use report::page::{self, Source, Unread};
use report::picture::{self, Kind};
use report::plot::{Chart, Frame};
use report::samples::grid::Grid;

use crate::command::deliver;
use crate::command::gather::{self, Gathered};
use crate::command::runs::place::StoreOptions;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  sonde report run.json -o page.html                     figures, charts, warnings, method, both ends
  sonde report monday.json tuesday.json -o week.html     side by side, with their differences
  sonde report runs/ -o all.html                         every record of a folder
  sonde report found.json -o curve.svg -o curve.png      the curve of a search, for a document
  sonde report run.json --plot histogram -o shape.svg
  sonde report run.json --samples all.csv -o page.html   with a finer heat map, from the samples
  sonde report last -o run.html                          every record of the latest run of a plan
";

/// Arguments of `sonde report`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ReportOptions {
    /// Records, searches and studies (files written by -o FILE.json or --json, or folders), - for standard input, or a stored run by the
    /// first digits of its ID or `last`
    #[arg(value_name = "RECORD", required = true)]
    records: Vec<PathBuf>,
    /// Write to FILE: .html (page), .svg or .png (one chart); repeatable
    #[arg(short = 'o', long = "output", value_name = "FILE", required = true)]
    output: Vec<Target>,
    /// Chart of the picture: percentiles, histogram, series, heat, curve, shift, causes, ways or one-way [default: depends on the record]
    #[arg(long, value_name = "CHART")]
    plot: Option<Kind>,
    /// Samples of the record, written by --samples FILE.csv, for a finer heat map
    #[arg(long, value_name = "FILE.csv")]
    samples: Option<PathBuf>,
    #[command(flatten)]
    place: StoreOptions,
}

/// A file that is to be made, its form told by its ending.
#[derive(Debug, Clone)]
struct Target {
    path: PathBuf,
    form: Form,
}

/// The form that a record is made into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A page of HTML.
    Page,
    /// One chart, as SVG.
    Svg,
    /// One chart, as PNG.
    Png,
}

impl Form {
    /// That of a file by its name's ending.
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "html" | "htm" => Some(Self::Page),
            "svg" => Some(Self::Svg),
            "png" => Some(Self::Png),
            _ => None,
        }
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let path = PathBuf::from(text);
        let form = Form::of(&path).ok_or("ends in no form we make: .html (a page), .svg or .png (one chart)")?;
        Ok(Self { path, form })
    }
}

/// Makes them.
///
/// # Errors
/// No record that can be read, samples that are not the record's, a chart that there is none of, a file that cannot be written.
pub fn run(options: &ReportOptions, output: &Output) -> Result<Exit, Failure> {
    for target in &options.output {
        deliver::check_path(&target.path)?;
    }
    let Gathered { found, unread } = gather::all(&options.records, &options.place, output)?;
    let samples = options.samples.as_ref().map(|path| samples(path, &found, output)).transpose()?;
    let sources = found.into_iter().map(|item| Source { name: item.name, document: item.document });
    let sources: Vec<Source> = sources.collect();
    let chart = || chart(&sources, options.plot, samples.as_ref());
    // Charts first: where there is none, nothing was written yet.
    let pictures = options.output.iter().filter(|target| target.form != Form::Page);
    let pictures = pictures.map(|target| Ok((target, picture(&chart()?, target.form)?)));
    let pictures = pictures.collect::<Result<Vec<_>, Failure>>()?;
    for (target, content) in pictures {
        write(target, &content, output)?;
    }
    let pages: Vec<&Target> = options.output.iter().filter(|target| target.form == Form::Page).collect();
    if !pages.is_empty() {
        let unread: Vec<Unread> = unread.into_iter().map(listed).collect();
        let page = page::render(&sources, &unread, samples.as_ref());
        for target in pages {
            write(target, page.as_bytes(), output)?;
        }
    }
    Ok(Exit::Done)
}

fn listed(file: gather::Unread) -> Unread {
    Unread { name: file.name, why: file.failure.told.what, hint: file.failure.told.hint.unwrap_or_default() }
}

fn write(target: &Target, content: &[u8], output: &Output) -> Result<(), Failure> {
    deliver::write(&target.path, content)?;
    output.note(&format!("{}: {}\n", target.path.display(), number::size(Bytes(content.len() as u64))));
    Ok(())
}

/// The chart that was asked for, or the one that the documents tell most by.
fn chart(sources: &[Source], asked: Option<Kind>, samples: Option<&Grid>) -> Result<Chart, Failure> {
    let kind = asked.unwrap_or_else(|| Kind::best(sources, samples));
    let none = |reason: &str| Failure::usage(format!("there is no chart of {kind}: {reason}"));
    let found = picture::of(sources, kind, samples);
    if asked.is_none() {
        return found.map_err(|reason| none(reason).hint("write it as .html: a page shows everything"));
    }
    let hint = "use another --plot, or .html: a page shows everything";
    found.map_err(|reason| none(reason).hint(hint).about("--plot"))
}

/// `document` as `sonde report` would make it: a page, or the chart that it tells most by.
///
/// # Errors
/// A document there is no chart of.
pub fn told(name: &str, document: Document, form: Form) -> Result<Vec<u8>, Failure> {
    let sources = [Source { name: name.to_owned(), document }];
    if form != Form::Page {
        return picture(&chart(&sources, None, None)?, form);
    }
    Ok(page::render(&sources, &[], None).into_bytes())
}

fn picture(chart: &Chart, form: Form) -> Result<Vec<u8>, Failure> {
    match form {
        Form::Png => chart.png(Frame::alone()).map_err(|fault| Failure::usage(fault.to_string())),
        Form::Svg | Form::Page => Ok(chart.svg_document(Frame::alone()).into_bytes()),
    }
}

/// Samples, where they can be those of the only record.
fn samples(path: &PathBuf, found: &[Item], output: &Output) -> Result<Grid, Failure> {
    let name = path.display().to_string();
    let refused = |what: String| Failure::usage(format!("{name}: {what}")).about(&name);
    let [Item { document: Document::Record(record), .. }] = found else {
        return Err(refused("samples belong to one record".to_owned()).hint("give that record alone"));
    };
    let counted = record.outcome.as_ref().map_or(0, |outcome| outcome.counts.answered);
    let file = File::open(path).map_err(|error| refused(format!("cannot read the samples: {error}")))?;
    let grid = Grid::read(BufReader::new(file)).map_err(|fault| {
        refused(fault.to_string()).hint("give a file that --samples FILE.csv wrote; Parquet is not read back")
    })?;
    if grid.answered() > counted {
        let what = format!("{} answered exchanges, the record has {}", grouped(grid.answered()), grouped(counted));
        return Err(refused(what).hint("these are samples of another measurement"));
    }
    if grid.answered() < counted {
        let missing = grouped(counted - grid.answered());
        output.note(&format!("note: {name}: {missing} of the record's {} answers are missing\n", grouped(counted)));
    }
    Ok(grid)
}
