//! `sonde why`: where does the time go, and which switch shows it?

pub mod judge;
pub mod options;
pub mod settings;

use std::sync::Arc;

use endpoint::clock::Monotonic;
use endpoint::stop::Stop;
use lab::trial::{Run, Runner};
use logbook::document::Head;
use logbook::record::Record;
use logbook::study::{Question, StudyDocument};
use measure::unit::Nanos;
use measure::why::fewest_blocks;
use uuid::Uuid;

use crate::command::deliver;
use crate::command::study::make;
use crate::command::study::trials::{Aim, Budget, FEWEST, plan};
use crate::command::study::words::Words;
use crate::command::why::options::WhyOptions;
use crate::command::why::settings::Settings;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::program::tool;
use crate::system::now;

/// Blocks where nobody says: one more than the fewest that can show one of five causes judged together, so that one may fail.
const BLOCKS: u32 = 9;
/// Length of trials: a hundred exchanges where time allows.
const AIM: Aim = Aim { samples: measure::study::lengths::SAMPLES, fewest: FEWEST, least: Nanos::secs(1) };
/// The length of the first look at the peer.
const LOOK: &str = "200ms";
/// No first look takes longer: then the peer does not answer in the end.
const PATIENCE: Nanos = Nanos::secs(30);
/// Part of a budget that is set aside for the first look.
const LOOKED: Nanos = Nanos::secs(2);
/// CPUs of a peer that is moved between as many settings as there can be.
const SEVERAL: u32 = 2;

/// Looks for causes, and delivers what was found.
///
/// # Errors
/// A method that cannot be measured, files that cannot be made, a peer that answers nothing.
pub fn run(options: &WhyOptions, command: Vec<String>, output: &Arc<Output>) -> Result<Exit, Failure> {
    let base = settings::base(options.host.as_ref(), &options.common)?;
    let intervals = settings::intervals(options.intervals.as_deref(), &base)?;
    deliver::check(&options.result)?;
    // Planned once before the first look with the most settings that it can lead to: what cannot be kept is refused before anything
    // is sent, and what is accepted is not refused afterwards.
    let blocks = options.trials.blocks.unwrap_or(BLOCKS);
    let seed = options.trials.seeded();
    let budget = options.trials.budget.map(|whole| Budget { whole, aside: LOOKED });
    plan(Settings::of(&base, &intervals, true, SEVERAL)?.words, blocks, seed, AIM, budget)?;
    let started = Monotonic::now();
    let (stamps, peer_cpus) = look(&base)?;
    let looked = Monotonic::now().since(started).unwrap_or_default();
    let settings = Settings::of(&base, &intervals, stamps, peer_cpus)?;
    let mut planned = plan(settings.words, blocks, seed, AIM, budget)?;
    planned.budget = options.trials.budget.map(|whole| Nanos(whole.0.saturating_sub(looked.0)));
    warn_of_few(blocks, &settings.question, output);
    let study = StudyDocument {
        head: Head::new(Uuid::now_v7(), tool(), command, now()),
        question: settings.question,
        settings: make::settings(&planned, settings.places),
        blocks,
        seed,
        takes_ns: Some(planned.takes),
        budget_ns: options.trials.budget,
        trials: Vec::new(),
        ended: None,
        comparisons: Vec::new(),
        claims: Vec::new(),
        rerun: None,
        explanation: None,
    };
    make::make(study, &planned, &options.result, output, &mut |study| {
        study.explanation = judge::explanation(study);
    })
}

/// Says before anything is measured what so few blocks cannot show.
fn warn_of_few(blocks: u32, question: &Question, output: &Output) {
    let Question::Why { switches, .. } = question else { return };
    // The interval itself is judged beside the switches, and a busy CPU where the peer tells of one.
    let fewest = fewest_blocks(switches.len() + 1);
    if blocks < fewest {
        let told = format!(
            "note: too few blocks: {blocks} cannot show any cause by its switch; it takes {fewest} (--blocks)\n"
        );
        output.note(&told);
    }
}

/// A first look at the peer: whether exchanges can be stamped all the while, and how many CPUs it has, as far as it tells.
///
/// # Errors
/// It does not answer.
fn look(base: &Words) -> Result<(bool, u32), Failure> {
    let runner = Runner::here();
    let run = |option: Option<&str>| {
        let mut words = base.clone();
        words.say("--time", Some(LOOK.to_owned()));
        words.options.retain(|said| said.name != "--count");
        if let Some(option) = option {
            words.say(option, None);
        }
        runner.run(&words.words(), PATIENCE, &Stop::default())
    };
    let peer_cpus = |record: &Record| record.theirs.as_ref().and_then(|theirs| theirs.cpus_online).unwrap_or(0);
    if let Run::Measured(record) = run(Some("--stamps")) {
        return Ok((true, peer_cpus(&record)));
    }
    match run(None) {
        Run::Measured(record) => Ok((false, peer_cpus(&record))),
        Run::Failed(told) => {
            let mut failure = Failure::usage(told.what.clone());
            failure.exit = Exit::NothingAnswered;
            failure.told = told;
            Err(failure)
        }
    }
}
