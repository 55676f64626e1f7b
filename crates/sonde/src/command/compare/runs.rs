//! Runs of the store as sides: compared cell by cell.
//!
//! A cell's repeats are its runs, made at the hours of the two, so that they are tested as groups; all cells are judged together, by
//! the rounds that they have in common.
//! A repeat that failed, or that was cut short, has no number.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use logbook::document::Mark;
use logbook::read::Document;
use logbook::run::{Cell, Figures, RunDocument};
use logbook::run_comparison::{ComparedCell, MethodDifference, RunComparisonDocument, Spot};
use logbook::shelf::Shelf;
use logbook::store;
use logbook::study::{ComparedFigure, ThresholdHeld};
use measure::comparison::attribution::Labels;
use measure::comparison::{Design, Runs, compare_rounds, fewest};
use measure::study::figure::Figure;
use measure::study::threshold::Held;

use crate::command::argv;
use crate::command::compare::options::CompareOptions;
use crate::command::deliver;
use crate::command::runs::place::StoreOptions;
use crate::command::runs::word::Words;
use crate::command::value::Format;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::program::tool;
use crate::system::now;
use clap::Parser;

/// The seed of the dealings of repeats that are drawn where there are very many: two comparisons of the same runs are the same.
const SEED: u64 = 1;

/// Two runs that are to be compared.
#[derive(Debug)]
pub struct Pair<'a> {
    first: RunDocument,
    second: RunDocument,
    words: Words<'a>,
}

/// The runs that `options` names; `None` where its sides are something else.
///
/// # Errors
/// Runs beside something else, and more than two.
pub fn of<'a>(options: &'a CompareOptions, output: &'a Output) -> Result<Option<Pair<'a>>, Failure> {
    let mut words = Words::new(&options.place, output);
    let runs = options.sides.iter().map(|side| run(side, &mut words)).collect::<Result<Vec<_>, _>>()?;
    let found = runs.iter().flatten().count();
    if found == 0 {
        return Ok(None);
    }
    let names = || options.sides.iter().zip(&runs).find(|(_, run)| run.is_none()).map(|(side, _)| side);
    if let Some(other) = names() {
        return Err(Failure::usage(format!("{other}: is not a run of a plan, and another side is"))
            .hint("`sonde runs` lists the stored runs")
            .about(other));
    }
    let runs: Result<[RunDocument; 2], _> = runs.into_iter().flatten().collect::<Vec<_>>().try_into();
    let [first, second] = runs.map_err(|_| Failure::usage("runs of plans are compared two at a time"))?;
    Ok(Some(Pair { first, second, words }))
}

fn run(side: &str, words: &mut Words<'_>) -> Result<Option<RunDocument>, Failure> {
    let path = Path::new(side);
    if path.is_file() {
        // A faulty file is reported by those who read it as records.
        return Ok(match store::read_document(path) {
            Ok(Document::Run(run)) => Some(*run),
            _ => None,
        });
    }
    match (path.exists(), words.run(side)?) {
        (false, Some(id)) => Ok(Some(words.shelf()?.run(id)?)),
        _ => Ok(None),
    }
}

/// The differences of `later` from `earlier`, cell by cell, where nothing is said of how they are compared.
///
/// # Errors
/// A document that is no run, and runs without a cell in common.
pub fn beside(
    earlier: &str,
    later: &str,
    place: &StoreOptions,
    output: &Output,
) -> Result<RunComparisonDocument, Failure> {
    /// The options as nobody said them.
    #[derive(Parser)]
    struct Plain {
        #[command(flatten)]
        options: CompareOptions,
    }
    let words = ["compare", earlier, later];
    let mut plain = Plain::try_parse_from(words).map_err(|error| argv::failure(&error))?;
    plain.options.place.clone_from(place);
    let pair = of(&plain.options, output)?;
    let mut pair = pair.ok_or_else(|| Failure::usage(format!("{earlier} and {later} are no runs of plans")))?;
    pair.found(&plain.options, words.map(str::to_owned).to_vec())
}

impl Pair<'_> {
    /// Compares, and delivers what was found.
    ///
    /// # Errors
    /// Options of live sides alone, runs without a cell in common, a figure that is in no record.
    pub fn run(mut self, options: &CompareOptions, command: Vec<String>, output: &Output) -> Result<Exit, Failure> {
        check(options)?;
        let found = self.found(options, command)?;
        deliver::run_comparison(&found, &options.result, output)?;
        let mut limits = found.cells.iter().flat_map(|cell| &cell.thresholds).map(|limit| limit.held);
        let failed = limits.any(|held| held == Held::Exceeded || options.strict && held != Held::Kept);
        Ok(if failed { Exit::Threshold } else { Exit::Done })
    }

    fn found(&mut self, options: &CompareOptions, command: Vec<String>) -> Result<RunComparisonDocument, Failure> {
        let (first, second) = (self.first.clone(), self.second.clone());
        let (one, other) = (spots(&first), spots(&second));
        let common: Vec<&Spot> = one.keys().filter(|spot| other.contains_key(spot)).collect();
        if common.is_empty() {
            return Err(Failure::usage("the two runs have no cell in common: other hosts, addresses or methods")
                .hint("cells belong together where from, to, address and the method's name are the same"));
        }
        let mut all: Vec<(&Spot, Figure, Runs)> = Vec::new();
        for spot in common {
            for figure in figures(options, one[spot].iter().chain(&other[spot])) {
                let runs =
                    Runs { first: self.numbers(&one[spot], figure)?, second: self.numbers(&other[spot], figure)? };
                all.push((spot, figure, runs));
            }
        }
        let runs: Vec<Runs> = all.iter().map(|(_, _, runs)| runs.clone()).collect();
        let compared = compare_rounds(&runs, SEED);
        let judged = compared.iter().filter(|figure| figure.p.is_some()).count();
        let mut cells: Vec<ComparedCell> = Vec::new();
        for ((spot, figure, Runs { first, second }), compared) in all.into_iter().zip(compared) {
            let limits = options.fail_if.iter().filter(|limit| limit.figure == figure);
            let held = limits.map(|limit| ThresholdHeld { threshold: *limit, held: limit.judge(&compared) });
            let held: Vec<ThresholdHeld> = held.collect();
            let figure = ComparedFigure { figure, compared, first, second };
            match cells.last_mut().filter(|cell| cell.spot == *spot) {
                Some(cell) => {
                    cell.figures.push(figure);
                    cell.thresholds.extend(held);
                }
                None => cells.push(ComparedCell { spot: spot.clone(), figures: vec![figure], thresholds: held }),
            }
        }
        let alone = |one: &Spots<'_>, other: &Spots<'_>| -> Vec<Spot> {
            one.keys().filter(|spot| !other.contains_key(spot)).cloned().collect()
        };
        Ok(RunComparisonDocument {
            mark: Mark::default(),
            tool: tool(),
            command,
            started: now(),
            first: (&first).into(),
            second: (&second).into(),
            shared: RunComparisonDocument::shared_by(&cells, &labels(&second)),
            cells,
            judged_together: judged as u32,
            fewest_repeats: fewest(1, Design::Apart) as u32,
            methods: methods(&first, &second),
            first_alone: alone(&one, &other),
            second_alone: alone(&other, &one),
        })
    }

    /// The values of `figure` of each repeat.
    fn numbers(&mut self, cells: &[&Cell], figure: Figure) -> Result<Vec<Option<f64>>, Failure> {
        let whole = |cell: &&Cell| cell.failure.is_none();
        if Figures::keeps(figure) {
            let kept = |cell: &&Cell| whole(cell).then(|| cell.figures?.figure(figure)).flatten();
            return Ok(cells.iter().map(kept).collect());
        }
        let mut numbers = Vec::with_capacity(cells.len());
        for cell in cells {
            let record = cell
                .record
                .filter(|_| whole(cell))
                .map(|id| -> Result<_, Failure> { Ok(self.words.shelf()?.record(id)?) });
            let record = record.transpose()?;
            numbers.push(record.and_then(|record| figure.of(record.outcome.as_ref(), record.stream.as_ref())));
        }
        Ok(numbers)
    }
}

/// The labels of a run's hosts, by name.
fn labels(run: &RunDocument) -> Labels<'_> {
    run.plan.hosts.iter().map(|host| (host.name.as_str(), &host.labels)).collect()
}

/// Cells by what they are repeats of.
type Spots<'a> = BTreeMap<Spot, Vec<&'a Cell>>;

fn spots(run: &RunDocument) -> Spots<'_> {
    let mut spots = Spots::new();
    // By place, so that repeats come in their order.
    for (place, cell) in run.last_cells() {
        spots.entry(place.into()).or_default().push(cell);
    }
    spots
}

/// The figures that are compared of a cell: those asked for, else its chief number; and those that have a limit.
fn figures<'a>(options: &CompareOptions, cells: impl Iterator<Item = &'a &'a Cell>) -> Vec<Figure> {
    let stream = cells.filter_map(|cell| cell.figures).any(|figures| figures.bits_per_second.is_some());
    let chief = if stream { Figure::Throughput } else { Figure::Quantile(0.5) };
    let mut list = if options.figures.is_empty() { vec![chief] } else { options.figures.clone() };
    // A limit of throughput is none of exchanges, and the other way round.
    let fits = |figure: &Figure| stream == (*figure == Figure::Throughput);
    for limit in options.fail_if.iter().map(|limit| limit.figure).filter(fits) {
        if !list.contains(&limit) {
            list.push(limit);
        }
    }
    let fitting: Vec<Figure> = list.iter().copied().filter(fits).collect();
    if fitting.is_empty() { vec![chief] } else { fitting }
}

fn methods(first: &RunDocument, second: &RunDocument) -> Vec<MethodDifference> {
    let names: BTreeSet<&str> = first.plan.methods.iter().map(|method| method.name.as_str()).collect();
    let command = |run: &RunDocument, name: &str| {
        run.plan.methods.iter().find(|method| method.name == name).map(|method| method.command.clone())
    };
    let pairs = names.into_iter().filter_map(|name| Some((name, command(first, name)?, command(second, name)?)));
    pairs
        .filter(|(_, first, second)| first != second)
        .map(|(method, first, second)| MethodDifference { method: method.to_owned(), first, second })
        .collect()
}

/// Refuses what only live sides have.
fn check(options: &CompareOptions) -> Result<(), Failure> {
    deliver::check(&options.result)?;
    let live = [
        ("--with", options.with.is_some()),
        ("--runner-a", options.runner_a.is_some()),
        ("--runs", options.trials.blocks.is_some()),
        ("--budget", options.trials.budget.is_some()),
    ];
    if let Some((name, _)) = live.into_iter().find(|(_, given)| *given) {
        let what = format!("{name}: nothing is measured where runs of plans are compared");
        return Err(Failure::usage(what).hint("remove it").about(name));
    }
    let lines = options.result.output.iter().any(|destination| destination.format == Format::JsonLines);
    if lines || options.result.json_lines {
        return Err(Failure::usage("--json-lines: two runs are compared at once, there are no events to tell")
            .hint("use --json"));
    }
    Ok(())
}
