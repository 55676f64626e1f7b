//! `sonde run`: a plan carried out over its hosts.

pub mod announce;
pub mod book;
pub mod foreseen;
pub mod options;
pub mod plan;
pub mod program;
pub mod provision;

use std::collections::BTreeSet;
use std::sync::Arc;

use endpoint::reflector::PORT;
use endpoint::signal::Signal;
use endpoint::stop::Stop;
use lab::campaign::cells::Course;
use lab::campaign::crew::{Crew, Part};
use lab::campaign::{Campaign, Measure, check, rule};
use lab::pairs::{self, Chosen};
use lab::rounds;
use lab::transport::Program;
use lab::transport::ways::Ways;
use logbook::host::{Host, Reach};
use logbook::plan::{Directions, Plan};
use logbook::record::{Ended, Record};
use logbook::run::{Place, RunDocument, Stage};
use measure::unit::Nanos;
use protocol::native::key::Key;

use crate::command::lab::cloud::Room;
use crate::command::lab::place;
use crate::command::run::plan::Asked;
use crate::command::run::provision::{Provision, is_of_hosts};
use crate::command::runs::place::StoreOptions;
use crate::command::{deliver, key};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::signal::{self, Interruption};
use crate::system::now;
use book::Book;
use foreseen::Foreseen;
use options::RunOptions;

/// Carries the plan out, or what is left of a run, and tells it.
///
/// # Errors
/// A plan that makes no sense, a store that cannot be had, no host at all.
pub fn run(options: &RunOptions, words: Vec<String>, output: &Arc<Output>) -> Result<Exit, Failure> {
    let asked = plan::asked(options, words, output)?;
    if options.dry_run {
        return look(&asked, options.result.json, output);
    }
    deliver::check(&options.result)?;
    deliver::without_export(&options.result, "a run of a plan")?;
    let stages = asked.stages.clone();
    let carried = carry(asked, &options.store, options.patience, &|_| {}, output)?;
    deliver::run(&carried.run, &options.result, output)?;
    carried.kept?;
    carried.removed?;
    Ok(match carried.signal {
        Some(signal) => Exit::CutShort(signal),
        None => exit(&carried.run, &stages),
    })
}

/// Says what would be measured.
fn look(asked: &Asked, json: bool, output: &Arc<Output>) -> Result<Exit, Failure> {
    let plan = &asked.run.plan;
    let measures = plan::measures(plan)?;
    let room = Room::of(Stop::default(), Interruption::default(), output)?;
    announce::machines(plan, &asked.stages, output);
    let provision = if plan.machines.is_empty() { None } else { Provision::of(&asked.run, &asked.stages, &room)? };
    let plan = provision.map_or_else(|| plan.clone(), |provision| provision.foreseen(plan));
    let chosen = chosen(&plan)?;
    announce::plan(&plan, &chosen, &measures, output);
    let foreseen = Foreseen::of(&plan, &chosen, &measures);
    output.result(&if json { foreseen.to_json()? } else { foreseen.to_string() });
    Ok(Exit::Done)
}

fn chosen(plan: &Plan) -> Result<Chosen, Failure> {
    pairs::of(plan).map_err(|fault| plan::no_pairs(&fault))
}

/// A run that came to its end.
pub struct Carried {
    /// Its document.
    pub run: RunDocument,
    /// The failure of keeping it.
    pub kept: Result<(), Failure>,
    /// The failure of removing its machines.
    pub removed: Result<(), Failure>,
    /// The signal that ended it, where one did.
    pub signal: Option<Signal>,
}

/// Carries out what is asked for; `hear` is told each record as it is found.
///
/// # Errors
/// A plan that makes no sense, machines that cannot be made, a store that cannot be had.
pub fn carry(
    asked: Asked,
    store: &StoreOptions,
    patience: Nanos,
    hear: &(dyn Fn(&Record) + Sync),
    output: &Arc<Output>,
) -> Result<Carried, Failure> {
    let Asked { mut run, done, stages, programs } = asked;
    let ready = Ready {
        measures: plan::measures(&run.plan)?,
        program: program::own(is_sent(&run.plan), &programs)?,
        key: secret()?,
        patience,
        done,
    };
    let stop = Stop::default();
    let asked_to_end = stop.clone();
    let interruption = signal::watch(move || asked_to_end.request(), || {})
        .map_err(|error| Failure::usage(format!("cannot wait for signals: {error}")))?;
    if run.plan.machines.is_empty() {
        // A plan that makes no sense is refused before anything is touched.
        chosen(&run.plan)?;
        let book = Book::open(run, store, hear, output)?;
        let measured = on_hosts(&ready, &stages, &book, &stop, output);
        return measured.map(|()| end(book, &interruption, Ok(())));
    }
    let room = Room::of(stop.clone(), interruption.clone(), output)?;
    announce::machines(&run.plan, &stages, output);
    let mut held = Vec::new();
    if let Some(provision) = Provision::of(&run, &stages, &room)? {
        chosen(&provision.foreseen(&run.plan))?;
        held = provision.make(&mut run, &room)?;
        run.planned = Some(wanted(&run.plan) as u64);
    }
    // Machines that are to be removed are, whatever becomes of the rest.
    let made = run.clone();
    let book = Book::open(run, store, hear, output);
    let measured = book.as_ref().map_or(Ok(()), |book| {
        if !held.is_empty() {
            book.reached(Stage::Provision);
        }
        on_hosts(&ready, &stages, book, &stop, output)
    });
    // Nobody could ask later for the end of the machines of a run that is kept nowhere.
    let unkept = book.is_err() && !held.is_empty();
    provision::release(held);
    let mut removed = Ok(());
    if stages.contains(&Stage::Teardown) || unkept {
        removed = provision::remove(&made, &room.going_on());
        if let (Ok(()), Ok(book)) = (&removed, &book) {
            book.reached(Stage::Teardown);
        }
    } else {
        let id = made.head.id;
        output.note(&format!("its machines stay: `sonde run --resume {id} --stage teardown` removes them\n"));
    }
    let book = book?;
    measured.map(|()| end(book, &interruption, removed))
}

/// The needs of a run before it begins.
struct Ready {
    measures: Vec<Measure>,
    program: Program,
    key: String,
    patience: Nanos,
    done: BTreeSet<Place>,
}

fn secret() -> Result<String, Failure> {
    let bits = key::random_bits();
    let bits = bits.map_err(|error| Failure::usage(format!("/dev/urandom: cannot draw a key: {error}")))?;
    Ok(format!("{}\n", Key(bits).to_text()))
}

fn end(book: Book<'_>, interruption: &Interruption, removed: Result<(), Failure>) -> Carried {
    let signal = interruption.signal();
    let ended = signal.map_or(Ended::Complete, |signal| Ended::Interrupted { signal: signal.name().to_owned() });
    let (run, kept) = book.close(ended);
    Carried { run, kept, removed, signal }
}

/// The stages that are done on hosts.
fn on_hosts(ready: &Ready, stages: &[Stage], book: &Book<'_>, stop: &Stop, output: &Output) -> Result<(), Failure> {
    if !stages.iter().any(|stage| is_of_hosts(*stage)) {
        return Ok(());
    }
    let plan = book.plan();
    let chosen = chosen(&plan)?;
    announce::plan(&plan, &chosen, &ready.measures, output);
    let ways = Ways::new(place::runtime(), place::labs());
    let campaign = Campaign {
        plan: &plan,
        ways: &ways,
        measures: &ready.measures,
        program: &ready.program,
        key: &ready.key,
        port: plan.port.unwrap_or(PORT),
        patience: ready.patience,
        stop,
        now: &now,
        watcher: book,
    };
    carry_out(&campaign, &chosen, &ready.done, stages, book, output);
    Ok(())
}

/// The work of the hosts, from the first order to the last.
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
    let crew = Crew::muster(campaign, &parts(campaign, chosen, serving));
    if serving {
        let checks = if campaign.plan.check { check::all(campaign, &crew, chosen.pairs.pairs()) } else { Vec::new() };
        let port = |host: &str| {
            let member = crew.members().iter().find(|member| member.host.name == host);
            member.map_or(campaign.port, |member| member.port(campaign))
        };
        announce::openings(&rule::openings(&campaign.plan.hosts, &checks, &port), output);
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
    for member in crew.members().iter().filter(|member| member.takes_part()) {
        book.last_seen(&member.seen());
    }
    if stages.contains(&Stage::Cleanup) {
        let failed = crew.clean(campaign);
        for failure in &failed {
            output.complain(&Failure { told: failure.clone(), ..Failure::usage("") });
        }
        if failed.is_empty() {
            book.reached(Stage::Cleanup);
        }
    }
    crew.dismiss();
}

/// The part of each host; `serving`: not only to be cleaned.
fn parts(campaign: &Campaign<'_>, chosen: &Chosen, serving: bool) -> Vec<Part> {
    let mut parts = vec![Part::Nothing; campaign.plan.hosts.len()];
    let served = serving && campaign.measures.iter().any(|measure: &Measure| measure.needs.server());
    let both = campaign.plan.directions == Directions::Both;
    for pair in chosen.pairs.pairs() {
        for (host, answers) in [(pair.first, both), (pair.second, true)] {
            parts[host] = parts[host].max(if served && answers { Part::Served } else { Part::Agent });
        }
    }
    parts
}

/// True where the program goes to another machine.
fn is_sent(plan: &Plan) -> bool {
    let remote = |host: &Host| matches!(host.reach, Reach::Ssh(_) | Reach::Pod(_));
    !plan.machines.is_empty() || plan.hosts.iter().any(remote)
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
