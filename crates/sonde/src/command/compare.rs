//! `sonde compare`: do these differ, by how much, how surely, and in which axis lies the cause?

pub mod corners;
pub mod early;
pub mod judge;
pub mod options;
pub mod runs;
pub mod sides;

use std::cell::Cell;
use std::sync::Arc;

use lab::trial::Runner;
use logbook::document::Head;
use logbook::event::Line;
use logbook::moment::Moment;
use logbook::record::Ended;
use logbook::study::{AxisDifference, Place, Question, Setting, StudyDocument, Trial};
use measure::comparison::{Design, Look, STRETCH};
use measure::study::threshold::Held;
use measure::unit::Nanos;
use uuid::Uuid;

use crate::command::compare::corners::Corners;
use crate::command::compare::judge::{Asked, Differences};
use crate::command::compare::options::CompareOptions;
use crate::command::compare::sides::Side;
use crate::command::rtt::stream::Stream;
use crate::command::study::axis::differing;
use crate::command::study::campaign::{Campaign, Course};
use crate::command::study::trials::{Aim, FEWEST, Planned, plan};
use crate::command::study::words::Words;
use crate::command::{claims, deliver};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::program::tool;
use crate::system::now;

/// Runs of each side where nobody says: with pairs the fewest that can show a difference in each of three figures.
const RUNS: u32 = 7;
/// Length of runs: at least ten exchanges, so that a run has a median.
const AIM: Aim = Aim { samples: 10, fewest: FEWEST, least: Nanos::secs(1) };

/// Compares, and delivers what was found.
///
/// # Errors
/// Sides that cannot be read, files that cannot be made, a far side that answers nothing.
pub fn run(options: &CompareOptions, command: Vec<String>, output: &Arc<Output>) -> Result<Exit, Failure> {
    if let Some(pair) = runs::of(options, output)? {
        return pair.run(options, command, output);
    }
    let common = options.with.as_deref().map(Words::read).transpose()?;
    let sides = sides::read(&options.sides, common.as_ref())?;
    deliver::check(&options.result)?;
    let live: Option<Vec<Words>> = sides
        .iter()
        .map(|side| match side {
            Side::Live(words) => Some(words.clone()),
            Side::Stored { .. } => None,
        })
        .collect();
    match live {
        Some(words) => Live::of(options, words, command)?.run(output),
        None => stored(options, sides, command, output),
    }
}

/// A comparison that is to be measured.
struct Live<'a> {
    options: &'a CompareOptions,
    asked: Asked,
    settings: Vec<Setting>,
    /// The comparison of each side but the first.
    differences: Vec<Differences>,
    planned: Planned,
    /// Runs of each side, those of the last look where it may end early.
    runs: u32,
    seed: u64,
    command: Vec<String>,
}

impl<'a> Live<'a> {
    fn of(options: &'a CompareOptions, sides: Vec<Words>, command: Vec<String>) -> Result<Self, Failure> {
        let corners = match sides.as_slice() {
            [first, second] if !options.no_moves && options.runner_a.is_none() => corners::between(first, second),
            _ => None,
        };
        let differences = sides[1..]
            .iter()
            .map(|second| differences(&sides[0], second, corners.as_ref()))
            .collect::<Result<Vec<_>, _>>()?;
        let mut words = sides;
        let mut places = vec![Place::Side; words.len()];
        // The first and the last corner are the two sides.
        let settings = corners.map(|corners| corners.settings).unwrap_or_default();
        let between = settings.len().saturating_sub(1);
        for (moved, setting) in settings.into_iter().take(between).skip(1) {
            words.push(setting);
            places.push(Place::Corner { moved });
        }
        let seed = options.trials.seeded();
        let mut asked = asked(options, Design::Paired);
        let budget = options.trials.budget;
        // The effect of each setting is measured in whole blocks of all settings, and a number that was said is exact.
        let early = match options.trials.blocks {
            None if places.iter().all(|place| *place == Place::Side) => {
                early::plan(&words, &asked.list(false), seed, (RUNS, AIM), budget)?
            }
            _ => None,
        };
        let (runs, planned) = if let Some((planned, looks)) = early {
            (asked.design, asked.looks) = (Design::Triples, looks);
            (asked.looks.last().map_or(RUNS, |look| look.runs), planned)
        } else {
            let runs = options.trials.blocks.unwrap_or(RUNS);
            (runs, plan(words, runs, seed, AIM, budget.map(Into::into))?)
        };
        let runner = |number: usize| [&options.runner_a, &options.runner_b].get(number).copied()?.as_ref();
        let settings = planned.words.iter().zip(&planned.methods).zip(places).enumerate();
        let axes: Vec<&str> = differences[0].iter().map(|difference| difference.axis.as_str()).collect();
        let settings = settings
            .map(|(number, ((words, method), at))| Setting {
                name: runner(number)
                    .map_or_else(|| name(number, &at, &axes), |by| format!("{} by {by}", letter(number))),
                command: words.words(),
                method: Some(method.clone()),
                at,
            })
            .collect();
        Ok(Self { options, asked, settings, differences, planned, runs, seed, command })
    }

    fn run(self, output: &Arc<Output>) -> Result<Exit, Failure> {
        let campaign = Campaign::by(runners(self.options, self.settings.len())?, output)?;
        let mut stream = Stream::open(&self.options.result, output)?;
        let started = now();
        campaign.announce(&self.planned, &[], "--runs");
        if !self.asked.looks.is_empty() {
            output.note("it ends earlier if the answer is settled; --runs sets a fixed number\n");
        }
        let ended_at = Cell::new(None);
        let mut each = |trials: &[Trial]| {
            let kept = trials.last().is_none_or(|trial| stream.write(&Line::Trial(Box::new(trial.clone()))));
            ended_at.set(self.look(trials, started, &campaign));
            kept && ended_at.get().is_none()
        };
        let course = match campaign.carry_out(&self.planned, &self.settings, Vec::new(), &mut each) {
            Ok(course) => course,
            Err(failure) => {
                stream.write_to_files(&Line::Error(Box::new(failure.told.clone())));
                return Err(failure);
            }
        };
        let (options, asked, differences) = (self.options, self.asked.clone(), self.differences.clone());
        let runs = ended_at.get().unwrap_or(self.runs);
        let study = judged(self.document(course, started, runs), &differences, &asked);
        let exit = exit(&study, options.strict, &campaign);
        let delivered = deliver::study(&study, &options.result, output);
        stream.write(&Line::Studied(Box::new(study)));
        stream.faults().into_iter().next().map_or(delivered, Err)?;
        Ok(exit)
    }

    /// Looks at the trials so far, where blocks are whole: says what they show, and the number of runs where that settles it.
    fn look(&self, trials: &[Trial], started: Moment, campaign: &Campaign<'_>) -> Option<u32> {
        let looks = &self.asked.looks;
        let (settings, stretch) = (self.settings.len(), if looks.is_empty() { 1 } else { STRETCH });
        let runs = (trials.len() / settings) as u32;
        let whole = trials.len() == runs as usize * settings && runs.is_multiple_of(stretch);
        if !whole || runs == self.runs || !trials.iter().all(|trial| trial.record.is_some()) {
            return None;
        }
        let course = Course { trials: trials.to_vec(), ended: Ended::Complete };
        let study = self.document(course, started, runs);
        let sides = 1..=self.differences.len() as u32;
        let told: Vec<String> = sides
            .filter_map(|second| {
                let first = judge::figures(&study, second, &self.asked).into_iter().next()?;
                report::study::so_far(&first, &study.settings[second as usize].name)
            })
            .collect();
        campaign.remark(&told.join(", "));
        (looks.iter().any(|look| look.runs == runs) && early::settled(&study, &self.asked)).then_some(runs)
    }

    fn document(&self, course: Course, started: Moment, runs: u32) -> StudyDocument {
        StudyDocument {
            takes_ns: Some(self.planned.takes),
            budget_ns: self.planned.budget,
            trials: course.trials,
            ended: Some(course.ended),
            ..empty(
                self.command.clone(),
                started,
                (self.asked.design, &self.asked.looks),
                self.settings.clone(),
                runs,
                self.seed,
            )
        }
    }
}

/// The runner of each side.
///
/// # Errors
/// Runners that lead nowhere, and runners of more sides than two.
fn runners(options: &CompareOptions, sides: usize) -> Result<Vec<Runner>, Failure> {
    let runners: Vec<&str> = [&options.runner_a, &options.runner_b].into_iter().flatten().map(String::as_str).collect();
    if runners.is_empty() {
        return Ok(vec![Runner::here()]);
    }
    if sides != runners.len() {
        return Err(Failure::usage(format!("--runner-a and --runner-b are for two sides, and there are {sides}"))
            .hint("compare two sides"));
    }
    runners.into_iter().map(|words| claims::runner(Some(words), None)).collect()
}

/// A study without trials.
fn empty(
    command: Vec<String>,
    started: Moment,
    (design, looks): (Design, &[Look]),
    settings: Vec<Setting>,
    blocks: u32,
    seed: u64,
) -> StudyDocument {
    StudyDocument {
        head: Head::new(Uuid::now_v7(), tool(), command, started),
        question: Question::Compare { design, looks: looks.to_vec() },
        settings,
        blocks,
        seed,
        takes_ns: None,
        budget_ns: None,
        trials: Vec::new(),
        ended: Some(Ended::Complete),
        comparisons: Vec::new(),
        claims: Vec::new(),
        rerun: None,
        explanation: None,
    }
}

fn asked(options: &CompareOptions, design: Design) -> Asked {
    Asked { design, looks: Vec::new(), figures: options.figures.clone(), thresholds: options.fail_if.clone() }
}

/// The side's letter; between the sides, what was moved of the first.
fn name(number: usize, at: &Place, axes: &[&str]) -> String {
    match at {
        Place::Corner { moved } => {
            let axes = axes
                .iter()
                .enumerate()
                .filter(|(place, _)| moved & 1 << place != 0)
                .map(|(_, axis)| report::study::setting(axis));
            format!("A with B's {}", axes.collect::<Vec<_>>().join(" and "))
        }
        _ => letter(number),
    }
}

/// A, B, …, Z, then numbers.
fn letter(number: usize) -> String {
    u8::try_from(number)
        .ok()
        .filter(|number| *number < 26)
        .map_or_else(|| format!("side {}", number + 1), |number| char::from(b'A' + number).to_string())
}

/// Differences between two commands; settings that cannot be moved apart are moved together.
fn differences(first: &Words, second: &Words, corners: Option<&Corners>) -> Result<Differences, Failure> {
    let (one, other) = (first.method()?, second.method()?);
    let groups = corners.map_or_else(
        || differing(first, second).into_iter().map(|axis| vec![axis]).collect(),
        |corners| corners.groups.clone(),
    );
    let told = |axes: &[crate::command::study::axis::Axis]| {
        let join = |texts: Vec<String>| texts.join("; ");
        AxisDifference {
            axis: axes.iter().map(|axis| axis.name).collect::<Vec<_>>().join(" and "),
            first: join(axes.iter().map(|axis| axis.told(first, &one)).collect()),
            second: join(axes.iter().map(|axis| axis.told(second, &other)).collect()),
            worth: None,
        }
    };
    Ok(groups.iter().map(|axes| told(axes)).collect())
}

/// The study with what its trials say.
fn judged(mut study: StudyDocument, differences: &[Differences], asked: &Asked) -> StudyDocument {
    let sides = study.settings.iter().filter(|setting| setting.at == Place::Side).count() as u32;
    let found =
        (1..sides).zip(differences).map(|(second, axes)| judge::comparison(&study, second, axes.clone(), asked));
    study.comparisons = found.collect();
    study
}

/// Stored records: each a trial of its side, tested as they are.
fn stored(
    options: &CompareOptions,
    sides: Vec<Side>,
    command: Vec<String>,
    output: &Arc<Output>,
) -> Result<Exit, Failure> {
    if options.runner_a.is_some() {
        return Err(Failure::usage("--runner-a: nothing is measured where records are compared").hint("remove it"));
    }
    if let Some(budget) = options.trials.budget {
        let what = format!("--budget {budget}: nothing is measured where records are compared");
        return Err(Failure::usage(what).hint("remove it"));
    }
    let (mut settings, mut trials) = (Vec::new(), Vec::new());
    for (number, side) in sides.into_iter().enumerate() {
        let Side::Stored { name, records } = side else { continue };
        let method = records.first().map(|(_, record)| record.method.clone());
        let alike = records.iter().all(|(_, record)| Some(&record.method) == method.as_ref());
        let mut files: Vec<String> = records.iter().map(|(file, _)| file.display().to_string()).collect();
        files.dedup();
        settings.push(Setting {
            name: format!("{} {name}", letter(number)),
            command: files,
            method: method.filter(|_| alike),
            at: Place::Side,
        });
        let trial = |(block, (_, record))| Trial {
            block: block as u32,
            setting: number as u32,
            record: Some(Box::new(record)),
            failure: None,
        };
        trials.extend(records.into_iter().enumerate().map(trial));
    }
    let blocks = trials.iter().map(|trial: &Trial| trial.block + 1).max().unwrap_or(0);
    let seed = options.trials.seed.unwrap_or(1);
    let study = StudyDocument { trials, ..empty(command, now(), (Design::Apart, &[]), settings, blocks, seed) };
    let first = study.trials_of(0);
    let differences: Vec<Differences> = (1..study.settings.len() as u32)
        .map(|second| judge::told_by_records(&first, &study.trials_of(second)))
        .collect();
    let study = judged(study, &differences, &asked(options, Design::Apart));
    let mut stream = Stream::open(&options.result, output)?;
    let delivered = deliver::study(&study, &options.result, output);
    let exit = status(&study, options.strict);
    stream.write(&Line::Studied(Box::new(study)));
    stream.faults().into_iter().next().map_or(delivered, Err)?;
    exit
}

fn exit(study: &StudyDocument, strict: bool, campaign: &Campaign<'_>) -> Exit {
    match campaign.interruption().signal() {
        Some(signal) => Exit::CutShort(signal),
        None => status(study, strict).unwrap_or(Exit::NothingAnswered),
    }
}

/// The exit status by what was found; an error where nothing could be compared.
fn status(study: &StudyDocument, strict: bool) -> Result<Exit, Failure> {
    let mut held = study.comparisons.iter().flat_map(|comparison| &comparison.thresholds).map(|limit| limit.held);
    if let Some(why) = study.comparisons.iter().find_map(|comparison| comparison.incomparable.clone()) {
        let mut failure = Failure::usage(why).hint("compare measurements of the same kind");
        failure.exit = if study.takes_ns.is_some() { Exit::NothingAnswered } else { Exit::Usage };
        return Err(failure);
    }
    let failed = held.any(|held| held == Held::Exceeded || strict && held != Held::Kept);
    let broken_off = study.broken_off().count();
    let has_failures = broken_off > 0 || study.trials.iter().any(|trial| trial.failure.is_some());
    Ok(match (failed, has_failures) {
        (true, _) => Exit::Threshold,
        // As of one measurement whose peer went away.
        _ if broken_off > 0 && broken_off == study.trials.len() => Exit::NothingAnswered,
        (_, true) => Exit::PartlyDone,
        _ => Exit::Done,
    })
}
