//! `sonde run`: a plan carried out over its hosts.

pub mod announce;
pub mod book;
pub mod options;
pub mod plan;
pub mod program;

use std::collections::BTreeSet;
use std::sync::Arc;

use endpoint::reflector::PORT;
use endpoint::signal::Signal;
use endpoint::stop::Stop;
use lab::campaign::cells::Course;
use lab::campaign::crew::Crew;
use lab::campaign::{Campaign, Measure, check, rule};
use lab::pairs::{self, Chosen};
use lab::rounds;
use lab::transport::ways::Ways;
use logbook::plan::{Directions, Plan};
use logbook::record::{Ended, Record};
use logbook::run::{Place, RunDocument, Stage};
use measure::unit::Nanos;
use protocol::native::key::Key;

use crate::command::lab::place;
use crate::command::run::plan::Asked;
use crate::command::runs::place::StoreOptions;
use crate::command::{deliver, key, rtt};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::signal;
use book::Book;
use options::RunOptions;

/// Carries the plan out, or what is left of a run, and tells it.
///
/// # Errors
/// A plan that makes no sense, a store that cannot be had, no host at all.
pub fn run(options: &RunOptions, words: Vec<String>, output: &Arc<Output>) -> Result<Exit, Failure> {
    let asked = plan::asked(options, words, output)?;
    if options.dry_run {
        let measures = plan::measures(&asked.run.plan)?;
        announce::plan(
            &asked.run.plan,
            &pairs::of(&asked.run.plan).map_err(|fault| plan::no_pairs(&fault))?,
            &measures,
            output,
        );
        return Ok(Exit::Done);
    }
    deliver::check(&options.result)?;
    let stages = asked.stages.clone();
    let carried = carry(asked, &options.store, options.patience, &|_| {}, output)?;
    deliver::run(&carried.run, &options.result, output)?;
    carried.kept?;
    Ok(match carried.signal {
        Some(signal) => Exit::CutShort(signal),
        None => exit(&carried.run, &stages),
    })
}

/// A run that came to its end.
pub struct Carried {
    /// Its document.
    pub run: RunDocument,
    /// What could not be kept of it.
    pub kept: Result<(), Failure>,
    /// The signal that ended it, where one did.
    pub signal: Option<Signal>,
}

/// Carries out what is asked for; `hear` is told each record as it is found.
///
/// # Errors
/// A plan that makes no sense, a store that cannot be had.
pub fn carry(
    asked: Asked,
    store: &StoreOptions,
    patience: Nanos,
    hear: &(dyn Fn(&Record) + Sync),
    output: &Output,
) -> Result<Carried, Failure> {
    let measures = plan::measures(&asked.run.plan)?;
    let chosen = pairs::of(&asked.run.plan).map_err(|fault| plan::no_pairs(&fault))?;
    announce::plan(&asked.run.plan, &chosen, &measures, output);
    let program = program::own()?;
    let bits =
        key::random_bits().map_err(|error| Failure::usage(format!("/dev/urandom: cannot draw a key: {error}")))?;
    let secret = format!("{}\n", Key(bits).to_text());
    let stop = Stop::default();
    let asked_to_end = stop.clone();
    let interruption = signal::watch(move || asked_to_end.request(), || {})
        .map_err(|error| Failure::usage(format!("cannot wait for signals: {error}")))?;
    let book = Book::open(asked.run, store, hear, output)?;
    let plan = book.plan();
    let ways = Ways::new(place::runtime(), place::labs());
    let campaign = Campaign {
        plan: &plan,
        ways: &ways,
        measures: &measures,
        program: &program,
        key: &secret,
        port: plan.port.unwrap_or(PORT),
        patience,
        stop: &stop,
        now: &rtt::now,
        watcher: &book,
    };
    carry_out(&campaign, &chosen, &asked.done, &asked.stages, &book, output);
    let signal = interruption.signal();
    let ended = signal.map_or(Ended::Complete, |signal| Ended::Interrupted { signal: signal.name().to_owned() });
    let (run, kept) = book.close(ended);
    Ok(Carried { run, kept, signal })
}

/// What the hosts do, from the first order to the last.
fn carry_out(
    campaign: &Campaign<'_>,
    chosen: &Chosen,
    done: &BTreeSet<Place>,
    stages: &[Stage],
    book: &Book<'_>,
    output: &Output,
) {
    let measuring = stages.contains(&Stage::Run);
    let serving = measuring || stages.contains(&Stage::Prepare);
    let crew = Crew::muster(campaign, &if serving { targets(campaign, chosen) } else { Vec::new() });
    if serving {
        let checks = if campaign.plan.check { check::all(campaign, &crew, chosen.pairs.pairs()) } else { Vec::new() };
        announce::openings(&rule::openings(&campaign.plan.hosts, &checks, campaign.port), output);
        book.reached(Stage::Prepare);
        if measuring {
            let machines = crew.machines();
            let rounds = rounds::of(&chosen.pairs, &machines, campaign.plan.at_once);
            let course = Course { campaign, crew: &crew, machines: &machines, checks: &checks, done };
            let seed = campaign.plan.seed.unwrap_or_default();
            for repeat in 0..campaign.plan.repeats {
                course.repeat(rounds::repeat(campaign.plan, &rounds, seed, repeat), repeat);
            }
            if !campaign.stop.requested() {
                book.reached(Stage::Run);
            }
        }
    }
    for member in crew.members() {
        book.last_seen(&member.seen());
    }
    if stages.contains(&Stage::Cleanup) {
        let failed = crew.clean(campaign);
        for failure in &failed {
            output.aside(&Failure { told: failure.clone(), ..Failure::usage("") }.text());
        }
        if failed.is_empty() {
            book.reached(Stage::Cleanup);
        }
    }
    crew.dismiss();
}

/// Which hosts are to be answered at.
fn targets(campaign: &Campaign<'_>, chosen: &Chosen) -> Vec<bool> {
    let mut targets = vec![false; campaign.plan.hosts.len()];
    let served = campaign.measures.iter().any(|measure: &Measure| measure.needs.server());
    for pair in chosen.pairs.pairs().iter().filter(|_| served) {
        targets[pair.second] = true;
        targets[pair.first] |= campaign.plan.directions == Directions::Both;
    }
    targets
}

/// 0: all was measured; 3: some of it; 1: nothing.
fn exit(run: &RunDocument, stages: &[Stage]) -> Exit {
    if !stages.contains(&Stage::Run) {
        return if run.hosts.iter().any(|host| host.lost.is_some()) { Exit::PartlyDone } else { Exit::Done };
    }
    let wanted = wanted(&run.plan);
    let measured = run.cells.iter().filter(|cell| cell.record.is_some() && cell.failure.is_none());
    match measured.map(|cell| &cell.place).collect::<BTreeSet<_>>().len() {
        0 => Exit::NothingAnswered,
        count if count < wanted => Exit::PartlyDone,
        _ => Exit::Done,
    }
}

/// Cells that the plan asks for.
pub fn wanted(plan: &Plan) -> usize {
    let Ok(chosen) = pairs::of(plan) else { return 0 };
    let each = |round: Vec<rounds::Turn>| round.iter().map(|turn| turn.tasks.len()).sum::<usize>();
    let one: Vec<rounds::Round> = vec![chosen.pairs.pairs().to_vec()];
    rounds::repeat(plan, &one, 0, 0).map(each).sum::<usize>() * plan.repeats as usize
}
