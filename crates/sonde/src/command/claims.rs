//! `sonde study`: measures what claims are made of, and says of each whether it holds.

pub mod founding;
pub mod options;
pub mod plan;

use std::path::Path;
use std::sync::Arc;

use lab::trial::Runner;
use logbook::claims::ClaimPlan;
use logbook::document::Head;
use logbook::event::Line;
use logbook::record::Ended;
use logbook::study::{Place, Question, Setting, StatedClaim, StudyDocument, Trial};
use measure::claim::{self, Claim, ClaimVerdict};
use measure::comparison::{ALARMS, LOOKS, Look, STRETCH};
use measure::study::lengths::Wish;
use measure::unit::Nanos;
use report::verdicts;
use uuid::Uuid;

use crate::command::claims::options::ClaimOptions;
use crate::command::claims::plan::Hosts;
use crate::command::deliver;
use crate::command::rtt::stream::Stream;
use crate::command::study::campaign::{Campaign, Course};
use crate::command::study::keep::Keeper;
use crate::command::study::trials::{self, Aim, Planned, Stretches};
use crate::command::study::words::Words;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::program::tool;
use crate::system::now;

/// The least length of a run where time allows.
const LEAST: Nanos = Nanos::millis(500);
/// Failures in a row after which a measurement is given up, as the campaign has it.
const GIVEN_UP: usize = 2;

/// Measures, judges and delivers.
///
/// # Errors
/// A plan that cannot be read, hosts that it has no use for, files that cannot be made, peers that answer nothing.
pub fn run(options: &ClaimOptions, command: Vec<String>, output: &Arc<Output>) -> Result<Exit, Failure> {
    let Some(word) = &options.plan else {
        output.result(&founding::list(output.style()));
        return Ok(Exit::Done);
    };
    let (plan, text) = plan::read(word)?;
    let hosts = Hosts::of(&options.hosts, &plan)?;
    let asked = plan::asked(&plan, &hosts, &text, word)?;
    deliver::check(&options.result)?;
    [&options.junit, &options.summary].into_iter().flatten().try_for_each(|path| deliver::check_path(path))?;
    let runner = runner(options.runner.as_deref(), hosts.from.as_deref())?;
    Study::of(options, &plan, asked, command)?.run(runner, output)
}

/// The runner of all trials.
///
/// # Errors
/// Words that no shell would split, and both a runner and a host that measures.
pub fn runner(words: Option<&str>, from: Option<&str>) -> Result<Runner, Failure> {
    match (words, from) {
        (Some(_), Some(from)) => {
            let what = format!("--runner and --hosts both say who measures: {from}");
            Err(Failure::usage(what).hint("remove --runner, or say `local` in place of the host"))
        }
        (Some(words), None) => match shlex::split(words).filter(|prefix| !prefix.is_empty()) {
            Some(prefix) => Ok(Runner::by(prefix)),
            None => Err(Failure::usage(format!("`{words}`: names no program, or a quote is not closed"))
                .hint("'ip netns exec a sonde'")),
        },
        (None, Some(from)) => Ok(Runner::over_ssh(from)),
        (None, None) => Ok(Runner::here()),
    }
}

/// A study that is to be measured.
struct Study<'a> {
    options: &'a ClaimOptions,
    plan: &'a ClaimPlan,
    planned: Planned,
    settings: Vec<Setting>,
    claims: Vec<StatedClaim>,
    looks: Vec<Look>,
    seed: u64,
    command: Vec<String>,
}

impl<'a> Study<'a> {
    fn of(
        options: &'a ClaimOptions,
        plan: &'a ClaimPlan,
        asked: Vec<Result<Words, String>>,
        command: Vec<String>,
    ) -> Result<Self, Failure> {
        let claims: Vec<StatedClaim> = plan.claims.iter().map(|claim| stated(claim, plan, &asked)).collect();
        let needed = |name: &str| {
            claims.iter().any(|claim| claim.unmeasured.is_none() && claim.claim.terms().any(|term| term.of == name))
        };
        let measured: Vec<(&str, Words)> = plan
            .measurements
            .iter()
            .zip(asked)
            .filter_map(|(measurement, words)| Some((measurement.name.as_str(), words.ok()?)))
            .filter(|(name, _)| needed(name))
            .collect();
        if measured.is_empty() {
            let why = claims.iter().find_map(|claim| claim.unmeasured.clone()).unwrap_or_default();
            return Err(
                Failure::usage(format!("nothing can be measured: {why}")).hint("sonde study PLAN --hosts FROM,TO")
            );
        }
        let (names, words): (Vec<&str>, Vec<Words>) = measured.into_iter().unzip();
        let mut wishes = Vec::new();
        for (name, words) in names.iter().zip(&words) {
            let (samples, fewest) = (plan::samples(plan, name), plan::fewest(plan, name));
            let aim = Aim { samples, fewest, least: LEAST };
            wishes.push(trials::wish(words, &words.method()?, aim));
        }
        let budget = options.trials.budget.or(plan.budget);
        let looks = looks(options.trials.blocks, &wishes, budget);
        let seed = options.trials.seeded();
        let blocks = looks.last().map_or(0, |look| look.runs);
        let planned =
            trials::within(words, wishes, Stretches { blocks, stretch: STRETCH, seed }, budget.map(Into::into))?;
        let each = planned.words.iter().zip(&planned.methods).zip(&names);
        let settings = each.map(|((words, method), name)| Setting {
            name: (*name).to_owned(),
            command: words.words(),
            method: Some(method.clone()),
            at: Place::Measurement,
        });
        let settings = settings.collect();
        Ok(Self { options, plan, planned, settings, claims, looks, seed, command })
    }

    fn run(self, runner: Runner, output: &Arc<Output>) -> Result<Exit, Failure> {
        let campaign = Campaign::by(vec![runner], output)?;
        let (mut stream, mut keeper) = (Stream::open(&self.options.result, output)?, Keeper::of(&self.options.result));
        let started = StudyDocument {
            head: Head::new(Uuid::now_v7(), tool(), self.command.clone(), now()),
            question: Question::Claims {
                name: self.plan.name.clone(),
                title: self.plan.title.clone(),
                looks: self.looks.clone(),
            },
            settings: self.settings.clone(),
            blocks: self.looks.last().map_or(0, |look| look.runs),
            seed: self.seed,
            takes_ns: Some(self.planned.takes),
            budget_ns: self.planned.budget,
            trials: Vec::new(),
            ended: None,
            comparisons: Vec::new(),
            claims: self.claims.clone(),
            rerun: None,
            explanation: None,
        };
        campaign.announce(&self.planned, &[], "--runs");
        let mut ended_at = None;
        let mut each = |trials: &[Trial]| {
            keeper.keep(&|| StudyDocument { trials: trials.to_vec(), ..started.clone() });
            let kept = trials.last().is_none_or(|trial| stream.write(&Line::Trial(Box::new(trial.clone()))));
            ended_at = self.settled_at(trials, &started, &campaign);
            kept && ended_at.is_none()
        };
        let course = match campaign.carry_out(&self.planned, &self.settings, Vec::new(), &mut each) {
            Ok(course) => course,
            Err(failure) => {
                stream.write_to_files(&Line::Error(Box::new(failure.told.clone())));
                return Err(failure);
            }
        };
        let Course { trials, ended } = course;
        let blocks = ended_at.unwrap_or(started.blocks);
        let study = judged(StudyDocument { trials, ended: Some(ended), blocks, ..started }, &self.looks);
        let delivered = self.deliver(&study, output);
        let exit = exit(&study, &campaign);
        stream.write(&Line::Studied(Box::new(study)));
        stream.faults().into_iter().next().map_or(delivered, Err)?;
        Ok(exit)
    }

    /// The runs of each measurement after these trials, where a look is due that settles every claim.
    fn settled_at(&self, trials: &[Trial], study: &StudyDocument, campaign: &Campaign<'_>) -> Option<u32> {
        let runs = trials.last()?.block + 1;
        let is_done = |setting: u32| {
            let own: Vec<&Trial> = trials.iter().filter(|trial| trial.setting == setting).collect();
            let failed = own.iter().rev().take_while(|trial| trial.record.is_none()).count();
            own.iter().any(|trial| trial.block + 1 == runs) || failed >= GIVEN_UP
        };
        let due = self.looks.iter().any(|look| look.runs == runs);
        if !due || !(0..self.settings.len() as u32).all(is_done) {
            return None;
        }
        let study = judged(StudyDocument { trials: trials.to_vec(), blocks: runs, ..study.clone() }, &self.looks);
        let open =
            study.claims.iter().filter(|claim| claim.finding.is_some_and(|found| !found.verdict.is_settled())).count();
        campaign.remark(&format!("{} of {} claims settled", study.claims.len() - open, study.claims.len()));
        (open == 0).then_some(runs)
    }

    /// Prints the result and writes the files. Every file is tried; the first fault is told.
    fn deliver(&self, study: &StudyDocument, output: &Output) -> Result<(), Failure> {
        let write =
            |path: Option<&Path>, text: &dyn Fn() -> String| path.map_or(Ok(()), |path| deliver::write(path, text()));
        let faults = [
            deliver::study(study, &self.options.result, output),
            write(self.options.junit.as_deref(), &|| verdicts::junit(study)),
            write(self.options.summary.as_deref(), &|| verdicts::summary(study)),
        ];
        faults.into_iter().collect()
    }
}

/// A claim before it is judged; one whose measurements cannot be made says why.
fn stated(planned: &logbook::claims::PlannedClaim, plan: &ClaimPlan, asked: &[Result<Words, String>]) -> StatedClaim {
    let missing = planned.claim.terms().find_map(|term| {
        let at = plan.measurements.iter().position(|measurement| measurement.name == term.of)?;
        asked.get(at)?.as_ref().err().cloned()
    });
    StatedClaim { claim: planned.claim.clone(), said: planned.said.clone(), finding: None, unmeasured: missing }
}

/// Moments at which claims are judged: once where the number of runs was said, else at the looks of a comparison, stretched
/// as far as the budget has room. However long the last may take, the first comes where a comparison has its last.
fn looks(runs: Option<u32>, wishes: &[Wish], budget: Option<Nanos>) -> Vec<Look> {
    match runs {
        Some(runs) => vec![Look { runs, alarms: ALARMS }],
        None => trials::looks(wishes, budget, LOOKS[LOOKS.len() - 1].runs),
    }
}

/// The study with what its trials say of each claim.
fn judged(mut study: StudyDocument, looks: &[Look]) -> StudyDocument {
    let measured = |claim: &&mut StatedClaim| claim.unmeasured.is_none();
    let claims: Vec<Claim> = study.claims.iter_mut().filter(measured).map(|claim| claim.claim.clone()).collect();
    let found = claim::settle(&claims, looks, study.blocks, &|term| study.series(term));
    for (claim, found) in study.claims.iter_mut().filter(measured).zip(found) {
        claim.finding = Some(found);
    }
    study
}

/// The exit status by what was found.
fn exit(study: &StudyDocument, campaign: &Campaign<'_>) -> Exit {
    if let (Some(signal), Some(Ended::Interrupted { .. })) = (campaign.interruption().signal(), &study.ended) {
        return Exit::CutShort(signal);
    }
    let verdicts: Vec<Option<ClaimVerdict>> =
        study.claims.iter().map(|claim| claim.finding.map(|found| found.verdict)).collect();
    match () {
        () if verdicts.contains(&Some(ClaimVerdict::DoesNotHold)) => Exit::Threshold,
        () if verdicts.iter().any(|verdict| *verdict != Some(ClaimVerdict::Holds)) => Exit::NotShown,
        () if study.trials.iter().any(|trial| trial.failure.is_some()) => Exit::PartlyDone,
        () => Exit::Done,
    }
}
