//! The points of a sweep: every point of every curve as a measuring command that its own definition accepts.

use logbook::study::{Place, Question};
use measure::study::figure::{Figure, Unit};
use measure::study::range::{Step, Values};

use crate::command::study::axis::Axis;
use crate::command::study::point;
use crate::command::study::words::Words;
use crate::command::sweep::options::SweepOptions;
use crate::failure::Failure;

/// A curve's name that is longer stands apart, and a letter in its place.
const LONGEST: usize = 14;

/// A sweep, understood.
#[derive(Debug)]
pub struct Asked {
    /// The question as the document keeps it.
    pub question: Question,
    /// The words of each setting: the points of the first curve, then those of the next.
    pub words: Vec<Words>,
    /// Place of each.
    pub places: Vec<Place>,
}

impl Asked {
    /// The request of these options.
    ///
    /// # Errors
    /// A range that is none, an axis that a method does not have, a point that its command refuses.
    pub fn of(options: &SweepOptions) -> Result<Self, Failure> {
        let over = options.over.as_deref().ok_or_else(|| {
            Failure::usage("no setting to sweep over")
                .hint("--over SETTING=RANGE, as in --over interval=1us..1s")
                .about("--over")
        })?;
        let (axis, range) = point::over(over)?;
        let curves = curves(options)?;
        let values = common_values(&axis, &curves)?;
        let steps = point::steps(&range, values)
            .map_err(|error| Failure::usage(format!("--over {over}: {error}")).about("--over"))?;
        let (mut words, mut places) = (Vec::new(), Vec::new());
        for (series, (name, curve)) in (0..).zip(&curves) {
            for step in &steps {
                words.push(at(&axis, name, curve, step)?);
                places.push(Place::Point {
                    series,
                    of: name.clone(),
                    value: step.text.clone(),
                    number: point::kept(step, values),
                });
            }
        }
        let methods = curves.iter().map(|(_, words)| point::without(&axis, words).words()).collect();
        let figures = figures(options.figure, words.first())?;
        let question = Question::Sweep { axis: axis.name.to_owned(), values, figures, methods };
        Ok(Self { question, words, places })
    }
}

/// The curves by name: the methods, each with what is common to all.
fn curves(options: &SweepOptions) -> Result<Vec<(String, Words)>, Failure> {
    let common = common(options.host.as_ref(), &options.common)?;
    if options.methods.is_empty() {
        return Ok(vec![(common.command.clone(), common)]);
    }
    let mut curves: Vec<(String, Words)> = Vec::new();
    for (number, text) in (0..).zip(&options.methods) {
        let words = Words::read(text)?.with(&common);
        let short = text.trim().trim_start_matches('-').to_owned();
        let taken = curves.iter().any(|(name, _)| *name == short);
        let lettered = short.is_empty() || taken || short.chars().count() > LONGEST;
        curves.push((if lettered { letter(number) } else { short }, words));
    }
    Ok(curves)
}

fn letter(number: u8) -> String {
    if number < 26 { char::from(b'A' + number).to_string() } else { format!("method {}", u32::from(number) + 1) }
}

/// The words that all methods have in common.
///
/// # Errors
/// Options that a study has no use for, and two far sides.
pub fn common(host: Option<&String>, options: &[String]) -> Result<Words, Failure> {
    let mut common = Words::of(options)?;
    match (&common.host, host) {
        (Some(second), Some(first)) => {
            let what = format!("`{second}` is a second host beside `{first}`");
            return Err(Failure::usage(what).hint("sweep over several hosts: --over address=A,B"));
        }
        (None, Some(host)) => common.host = Some(host.clone()),
        (_, None) => {}
    }
    Ok(common)
}

fn common_values(axis: &Axis, curves: &[(String, Words)]) -> Result<Values, Failure> {
    let of = |words: &Words| point::values(axis, &words.command);
    let first = curves.first().map_or(axis.values, |(_, words)| of(words));
    match curves.iter().find(|(_, words)| of(words) != first) {
        Some((name, _)) => {
            let what = format!("{name}: a rate of its own kind, which is none of {}", curves[0].0);
            Err(Failure::usage(what).hint("make two sweeps: bits per second and requests per second do not mix"))
        }
        None => Ok(first),
    }
}

/// A curve's words at a point, which its command accepts.
fn at(axis: &Axis, name: &str, curve: &Words, step: &Step) -> Result<Words, Failure> {
    let words = point::put(axis, curve, &step.text)?;
    match words.method() {
        Ok(_) => Ok(words),
        Err(failure) => {
            let what = format!("{name} at {}={}: {}", axis.name, step.text, failure.told.what);
            let told = logbook::failure::Failure { what, ..failure.told };
            Err(Failure { told, usage: None, ..failure })
        }
    }
}

/// The figures of each point: those asked for, and the p99 beside another time.
fn figures(asked: Option<Figure>, first: Option<&Words>) -> Result<Vec<Figure>, Failure> {
    let streams = first.map(Words::method).transpose()?.is_some_and(|method| method.traffic.stream().is_some());
    let figure = asked.unwrap_or(if streams { Figure::Throughput } else { Figure::Quantile(0.5) });
    let tail = Figure::Quantile(0.99);
    let both = figure.unit() == Unit::Time && figure != tail;
    Ok(if both { vec![figure, tail] } else { vec![figure] })
}
