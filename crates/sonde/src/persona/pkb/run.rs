//! A session from its first plan to the table at its end.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use logbook::host::Address;
use logbook::plan::{Directions, Pairs, Plan};
use logbook::record::Ended;
use logbook::run::{Answer as Answered, Cell, Place, RunDocument, Stage};
use uuid::Uuid;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::persona::answer::Answer;
use crate::persona::pkb::ask::{Ask, Row};
use crate::persona::pkb::carry_out::{Carried, Order, Runner};
use crate::persona::pkb::ending::{self, Ending, Status, Substatus};
use crate::persona::pkb::flags::{Flags, complain};
use crate::persona::pkb::folder::Folder;
use crate::persona::pkb::job::{Job, Session};
use crate::persona::pkb::output::{announcement, summary, toml_of};

/// Runs each benchmark, and tells what came of it: 0 where all succeeded, else 1.
///
/// # Errors
/// The text that is printed in place of it: a folder or a file that cannot be had.
pub fn run(
    session: &Session,
    flags: &Flags,
    command: &[String],
    runner: &dyn Runner,
    output: &Output,
) -> Result<Exit, Answer> {
    if flags.switch("dry_run", false) {
        for job in &session.jobs {
            output.result(&announcement(session, job, &toml_of(job)));
        }
        return Ok(Exit::Done);
    }
    let unusable = |error: io::Error| complain(&format!("the run's folder cannot be used: {error}"));
    let folder = Folder::open(flags.text("temp_dir"), &session.run_uri).map_err(unusable)?;
    let mut runs = folder.runs().map_err(unusable)?;
    let samples = folder.samples(flags.text("json_path"));
    if let Some(path) = &samples {
        begin("json_path", path, flags.text("json_write_mode") == Some("w"))?;
    }
    let statuses = flags.text("completion_status_file").filter(|path| !path.is_empty()).map(PathBuf::from);
    if let Some(path) = &statuses {
        begin("completion_status_file", path, false)?;
    }
    let (mut ended, mut rows): (Vec<Ending<'_>>, Vec<Row>) = (Vec::new(), Vec::new());
    let mut over = false;
    for job in &session.jobs {
        if over {
            ended.push(Ending { job, status: Status::Skipped, detail: Vec::new() });
            continue;
        }
        let text = toml_of(job);
        output.note(&announcement(session, job, &text));
        folder.write_plan(&job.uid, &text).map_err(unusable)?;
        let resume = runs.contains_key(&job.uid);
        let id = *runs.entry(job.uid.clone()).or_insert_with(Uuid::now_v7);
        folder.write_runs(&runs).map_err(unusable)?;
        let order = Order { id, resume, stages: &session.stages, plan: &job.plan, command };
        let (ending, stopped) = one(job, &order, samples.as_deref(), runner, &mut rows, output);
        over = stopped || (ending.status.is_failed() && flags.switch("stop_after_benchmark_failure", false));
        ended.push(ending);
    }
    output.result(&summary(&rows));
    output.note(&ending::table(&ended));
    let lines = ending::lines(&ended);
    if let Some(path) = &statuses {
        fs::write(path, &lines).map_err(|error| unwritable("completion_status_file", path, &error))?;
    }
    folder.write_statuses(&lines).map_err(unusable)?;
    if let Some(path) = &samples {
        output.note(&format!("pkb: samples: {}\n", path.display()));
    }
    output.note(&format!("pkb: run {}: plans in {}\n", session.run_uri, folder.path().display()));
    let all = ended.iter().all(|one| one.status == Status::Succeeded);
    Ok(if all { Exit::Done } else { Exit::Persona(1) })
}

/// One benchmark: how it ended, and whether it was stopped, so that no other is begun.
fn one<'a>(
    job: &'a Job,
    order: &Order<'_>,
    samples: Option<&Path>,
    runner: &dyn Runner,
    rows: &mut Vec<Row>,
    output: &Output,
) -> (Ending<'a>, bool) {
    let tell = |failure: &Failure| output.aside(&format!("pkb: {}: {}", job.uid, failure.text()));
    let carried = match runner.carry_out(order) {
        Ok(carried) => carried,
        Err(failure) => {
            tell(&failure);
            let status = Status::Failed(Substatus::of(&failure));
            let ending = Ending { job, status, detail: vec![failure.text().trim_end().to_owned()] };
            return (ending, matches!(failure.exit, Exit::CutShort(_)));
        }
    };
    let stopped = matches!(carried.run.ended, Some(Ended::Interrupted { .. }));
    let mut trouble = troubles(&carried.run, job, order.stages);
    if order.stages.contains(&Stage::Run)
        && let Err(failure) = write(&job.ask, &carried, samples, runner, rows)
    {
        tell(&failure);
        trouble.push("its samples were not written".to_owned());
    }
    for what in &trouble {
        output.aside(&format!("pkb: {}: {what}\n", job.uid));
    }
    let is_done = trouble.is_empty() && !stopped;
    let status = if is_done { Status::Succeeded } else { Status::Failed(Substatus::of_run(&carried.run)) };
    (Ending { job, status, detail: trouble }, stopped)
}

fn write(
    ask: &Ask,
    carried: &Carried,
    path: Option<&Path>,
    runner: &dyn Runner,
    rows: &mut Vec<Row>,
) -> Result<(), Failure> {
    let samples = runner.samples(ask, carried)?;
    rows.extend(samples.rows);
    let Some(path) = path else { return Ok(()) };
    let written = OpenOptions::new().append(true).create(true).open(path).and_then(|mut file| {
        file.write_all(samples.lines.as_bytes())?;
        file.flush()
    });
    written.map_err(|error| Failure::usage(format!("{}: cannot write the samples: {error}", path.display())))
}

/// Makes the file that a flag names, or empties it, before anything is measured: where it cannot be had nothing is.
fn begin(flag: &str, path: &Path, over: bool) -> Result<(), Answer> {
    let mut options = OpenOptions::new();
    let opened = if over { options.write(true).truncate(true) } else { options.append(true) }.create(true).open(path);
    opened.map(|_| ()).map_err(|error| unwritable(flag, path, &error))
}

fn unwritable(flag: &str, path: &Path, error: &io::Error) -> Answer {
    complain(&format!("--{flag}={}: cannot write there: {error}", path.display()))
}

/// Parts of a benchmark that were not done, a line each, at most so many.
fn troubles(run: &RunDocument, job: &Job, stages: &[Stage]) -> Vec<String> {
    const MOST: usize = 10;
    let lost = run.hosts.iter().filter_map(|host| host.lost.as_ref().map(|why| format!("{}: {}", host.host, why.what)));
    let mut all: Vec<String> = lost.collect();
    // Where hosts are there already nothing is made or removed.
    let is_made = |stage: &Stage| !matches!(stage, Stage::Provision | Stage::Teardown) || !job.plan.machines.is_empty();
    let missing = stages.iter().filter(|stage| is_made(stage) && !run.stages.contains(stage));
    all.extend(missing.map(|stage| format!("the stage `{}` was not done", format!("{stage:?}").to_lowercase())));
    if stages.contains(&Stage::Run) {
        all.extend(
            wanted(&run.plan)
                .iter()
                .filter(|place| !is_left_out(run, &job.ask, place))
                .filter_map(|place| unmeasured(run, place)),
        );
    }
    if all.len() > MOST {
        let more = all.len() - MOST;
        all.truncate(MOST);
        all.push(format!("and {more} more"));
    }
    all
}

fn unmeasured(run: &RunDocument, place: &Place) -> Option<String> {
    let Place { from, to, method, repeat, .. } = place;
    let what = format!("{method} from {from} to {to}, repeat {repeat}");
    match run.cell(place) {
        None => Some(format!("{what}: was not begun")),
        Some(Cell { failure: Some(failure), .. }) => Some(format!("{what}: {}", failure.what)),
        Some(Cell { record: None, .. }) => Some(format!("{what}: nothing was measured")),
        Some(_) => None,
    }
}

/// Returns true where internal addresses are asked only where they answer, and these did not.
fn is_left_out(run: &RunDocument, ask: &Ask, place: &Place) -> bool {
    let is_of = |from: &str, to: &str| from == place.from && to == place.to;
    let unanswered = run
        .checks
        .iter()
        .any(|check| check.over == Address::Internal && is_of(&check.from, &check.to) && check.icmp != Answered::Open);
    ask.internal_where_reachable && place.over == Address::Internal && unanswered
}

/// Every cell that a plan asks for, of the pairs it lists or of all.
fn wanted(plan: &Plan) -> BTreeSet<Place> {
    let mut pairs: Vec<(&str, &str)> = match &plan.pairs {
        Pairs::Listed(listed) => listed.iter().map(|(one, other)| (one.as_str(), other.as_str())).collect(),
        _ => (plan.hosts.iter().enumerate())
            .flat_map(|(at, one)| plan.hosts[at + 1..].iter().map(|other| (one.name.as_str(), other.name.as_str())))
            .collect(),
    };
    if plan.directions == Directions::Both {
        pairs = pairs.into_iter().flat_map(|(one, other)| [(one, other), (other, one)]).collect();
    }
    let has =
        |name: &str, over: Address| plan.hosts.iter().any(|host| host.name == name && host.address(over).is_some());
    let mut places = BTreeSet::new();
    for (from, to) in pairs {
        for over in plan.addresses.each().iter().filter(|over| has(to, **over)) {
            for method in &plan.methods {
                places.extend((0..plan.repeats).map(|repeat| Place {
                    from: from.to_owned(),
                    to: to.to_owned(),
                    over: *over,
                    method: method.name.clone(),
                    repeat,
                }));
            }
        }
    }
    places
}

#[cfg(test)]
mod tests;
