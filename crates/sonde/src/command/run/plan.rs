//! From a file, flags or an earlier run to what is to be done.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use lab::campaign::{Measure, Needs};
use lab::inventory;
use lab::pairs::NoPairs;
use logbook::document::Head;
use logbook::host::data::Family;
use logbook::plan::{Addresses, AtOnce, Directions, Order, Pairs, Plan, PlanError, PlannedMethod};
use logbook::run::{Place, RunDocument, Stage};
use logbook::shelf::Shelf;
use logbook::whole;
use measure::method::{Carrier, Method};
use uuid::Uuid;

use crate::command::run::options::RunOptions;
use crate::command::runs::word::Words as Names;
use crate::command::study::trials::{self, Aim};
use crate::command::study::words::Words;
use crate::failure::Failure;
use crate::output::Output;
use crate::program::tool;
use crate::system::{drawn_seed, now};
use measure::unit::Nanos;

/// An address that stands for the far side where a method is looked at without one (RFC 5737).
const NOBODY: &str = "192.0.2.1";
/// The length of a cell where its method does not say it.
const AIM: Aim = Aim { samples: 100, fewest: 1, least: Nanos::secs(2) };
/// All stages, in order.
const STAGES: [(&str, Stage); 5] = [
    ("provision", Stage::Provision),
    ("prepare", Stage::Prepare),
    ("run", Stage::Run),
    ("cleanup", Stage::Cleanup),
    ("teardown", Stage::Teardown),
];

/// The work to do.
pub struct Asked {
    /// The run, as far as it is.
    pub run: RunDocument,
    /// The part that is measured already.
    pub done: BTreeSet<Place>,
    /// The stages that are wanted now.
    pub stages: Vec<Stage>,
    /// Files of the program for hosts of their machines.
    pub programs: Vec<PathBuf>,
}

/// The request of the options.
///
/// # Errors
/// A plan that cannot be read or makes no sense, a run that is not there.
pub fn asked(options: &RunOptions, words: Vec<String>, output: &Output) -> Result<Asked, Failure> {
    let stages = options.stage.as_deref().map_or_else(|| Ok(vec![Stage::Prepare, Stage::Run]), stages)?;
    let programs = options.program.clone();
    if let Some(word) = &options.resume {
        let mut run = earlier(word, options, output)?;
        let measured = run.cells.iter().filter(|cell| cell.record.is_some() && cell.failure.is_none());
        let done = measured.map(|cell| cell.place.clone()).collect();
        run.checks.clear();
        return Ok(Asked { run, done, stages, programs });
    }
    let mut plan = options.plan.as_deref().map_or_else(|| Ok(Plan::default()), read)?;
    override_with(&mut plan, options)?;
    inventories(&mut plan, options)?;
    keys(&mut plan, options)?;
    if plan.methods.is_empty() {
        return Err(Failure::usage("the plan names no method")
            .hint("add --method tcp_rr, or --method 'rtt --udp -t 5s', or [[methods]] in the plan"));
    }
    plan.seed.get_or_insert_with(drawn_seed);
    let planned = super::wanted(&plan) as u64;
    let run = RunDocument::new(Head::new(Uuid::now_v7(), tool(), words, now()), plan, Some(planned));
    Ok(Asked { run, done: BTreeSet::new(), stages, programs })
}

/// A run of the store.
fn earlier(word: &str, options: &RunOptions, output: &Output) -> Result<RunDocument, Failure> {
    let mut names = Names::new(&options.store, output);
    let id = names.run(word)?.ok_or_else(|| {
        Failure::usage(format!("--resume {word}: the store has no run of that name"))
            .hint("`sonde runs` lists them")
            .about(word)
    })?;
    Ok(names.shelf()?.run(id)?)
}

fn read(file: &Path) -> Result<Plan, Failure> {
    let name = file.display().to_string();
    let text = whole::text(file, whole::BY_HAND)
        .map_err(|error| Failure::usage(format!("{name}: cannot read the plan: {error}")).about(&name))?;
    parse(&text, &name)
}

/// The plan that `text` of the file `name` is, with methods that can be carried out.
///
/// # Errors
/// The fault, with its line and what to write.
pub fn parse(text: &str, name: &str) -> Result<Plan, Failure> {
    let told = |fault: PlanError| Failure { told: fault.into(), ..Failure::usage("") };
    let plan = Plan::read(text, name).map_err(told)?;
    for (place, planned) in plan.methods.iter().enumerate() {
        if let Err(failure) = measure(planned) {
            let logbook::failure::Failure { what, hint, .. } = failure.told;
            // The last thing it quotes is what it does not like.
            let quoted = what.rsplit('`').nth(1).map(str::to_owned);
            let hint = hint.unwrap_or_else(|| "see `docs/plans.md`".to_owned());
            return Err(told(Plan::method_fault(text, name, place, quoted.as_deref(), (what, hint))));
        }
    }
    Ok(plan)
}

/// Values of flags replace those of the file.
fn override_with(plan: &mut Plan, options: &RunOptions) -> Result<(), Failure> {
    if let Some(text) = &options.pairs {
        plan.pairs = pairs(text)?;
    }
    if !options.method.is_empty() {
        plan.methods = options.method.iter().map(|text| method(text)).collect();
    }
    if let Some(repeats) = options.repeats {
        plan.repeats = repeats;
    }
    if let Some(which) = &options.addresses {
        plan.addresses = one_of(
            "addresses",
            which,
            &[("internal", Addresses::Internal), ("external", Addresses::External), ("both", Addresses::Both)],
        )?;
    }
    if options.forward {
        plan.directions = Directions::Forward;
    }
    if let Some(which) = &options.at_once {
        plan.at_once = one_of(
            "at-once",
            which,
            &[("rounds", AtOnce::Rounds), ("one", AtOnce::One), ("sharing", AtOnce::Sharing), ("all", AtOnce::All)],
        )?;
    }
    if options.in_order {
        plan.order = Order::Listed;
    }
    plan.seed = options.seed.or(plan.seed);
    plan.port = options.port.or(plan.port);
    plan.check &= !options.no_check;
    Ok(())
}

fn one_of<T: Copy>(option: &str, word: &str, known: &[(&str, T)]) -> Result<T, Failure> {
    let found = known.iter().find(|(name, _)| *name == word).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        Failure::usage(format!("--{option} {word}: is none of them")).hint(format!("one of {}", names.join(", ")))
    })
}

fn pairs(text: &str) -> Result<Pairs, Failure> {
    match text.split_once('=') {
        None if text == "all" => Ok(Pairs::All),
        Some(("one-to-all", host)) => Ok(Pairs::OneToAll(host.to_owned())),
        Some(("between", label)) => Ok(Pairs::Between(label.to_owned())),
        Some(("within", label)) => Ok(Pairs::Within(label.to_owned())),
        Some(_) if text.contains(',') => {
            let (first, second) = text.split_once(',').unwrap_or((text, ""));
            Ok(Pairs::Labels(first.to_owned(), second.to_owned()))
        }
        _ => Err(Failure::usage(format!("--pairs {text}: names no pairs"))
            .hint("use all, one-to-all=HOST, between=LABEL, within=LABEL, or LABEL=VALUE,LABEL=VALUE")),
    }
}

/// A method of a flag: `NAME=WORDS`, where what stands in front of the sign is a name, or words that name themselves.
fn method(text: &str) -> PlannedMethod {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.chars().all(|letter| letter.is_alphanumeric() || "-_.".contains(letter))
            && !name.starts_with('-')
    };
    match text.split_once('=') {
        Some((name, command)) if is_name(name) => PlannedMethod { name: name.to_owned(), command: command.to_owned() },
        _ => PlannedMethod { name: text.to_owned(), command: text.to_owned() },
    }
}

/// Puts the hosts of all inventories among those of the plan: files that the plan names are seen from its folder.
fn inventories(plan: &mut Plan, options: &RunOptions) -> Result<(), Failure> {
    let told = |told| Failure { told, ..Failure::usage("") };
    let folder = options.plan.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
    inventory::gather(plan, folder).map_err(told)?;
    plan.inventory.clone_from(&options.inventory);
    inventory::gather(plan, Path::new("")).map_err(told)
}

/// Keys of machines that the plan names are seen from its folder too.
fn keys(plan: &mut Plan, options: &RunOptions) -> Result<(), Failure> {
    let folder = options.plan.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
    for file in plan.machines.iter_mut().filter_map(|machines| machines.public_key.as_mut()) {
        let whole = std::path::absolute(folder.join(&*file));
        let whole = whole.map_err(|error| Failure::usage(format!("{file}: names no file: {error}")).about(&**file))?;
        *file = whole.display().to_string();
    }
    Ok(())
}

/// The plan's methods, ready to be run.
///
/// # Errors
/// One that its command would refuse, or that says what the plan says.
pub fn measures(plan: &Plan) -> Result<Vec<Measure>, Failure> {
    plan.methods.iter().map(measure).collect()
}

fn measure(planned: &PlannedMethod) -> Result<Measure, Failure> {
    let mut words = Words::read(&planned.command)?;
    let about = |what: &str, hint: &str| {
        Failure::usage(format!("method `{}`: {what}", planned.name)).hint(hint.to_owned()).about(&planned.name)
    };
    if words.command == "syn" {
        return Err(about("probes a port", "the methods of a plan are rtt, load and throughput"));
    }
    if let Some(host) = &words.host {
        return Err(about(&format!("names a host, `{host}`"), "the plan says who measures whom"));
    }
    for option in ["--port", "--key"] {
        if words.value(option).is_some() && words.value("--peer").is_none() {
            return Err(about(&format!("says {option}"), "the plan says the port, and each run has a key of its own"));
        }
    }
    words.host = Some(NOBODY.to_owned());
    let foreign = words.value("--peer").is_some();
    let mut lengths = trials::plan(vec![words], 1, 0, AIM, None)?;
    let (mut words, method) = (lengths.words.remove(0), lengths.methods.remove(0));
    words.host = None;
    let (lasts, most) = (lengths.each[0], lengths.most[0]);
    Ok(Measure {
        name: planned.name.clone(),
        family: family(&words),
        words: words.of_method(&method).words(),
        needs: needs(&method, foreign),
        lasts,
        most,
    })
}

/// The family that the method's words ask for.
fn family(words: &Words) -> Option<Family> {
    words.words().iter().find_map(|word| match word.as_str() {
        "-4" => Some(Family::V4),
        "-6" => Some(Family::V6),
        _ => None,
    })
}

fn needs(method: &Method, foreign: bool) -> Needs {
    match method.traffic.carrier() {
        Carrier::Icmp => Needs::Echo,
        _ if foreign => Needs::ItsOwn,
        Carrier::TcpConnect | Carrier::TcpSyn => Needs::Port,
        Carrier::Tcp | Carrier::Udp => Needs::Reflector,
    }
}

/// Stages by their names: in their order, none left out between the first and the last.
fn stages(text: &str) -> Result<Vec<Stage>, Failure> {
    let named: Result<Vec<usize>, Failure> = text
        .split(',')
        .map(|word| {
            let at = STAGES.iter().position(|(name, _)| *name == word.trim());
            at.ok_or_else(|| {
                Failure::usage(format!("--stage {text}: `{word}` is not a stage"))
                    .hint("use provision, prepare, run, cleanup or teardown")
            })
        })
        .collect();
    let named = named?;
    if named.windows(2).any(|two| two[1] != two[0] + 1) {
        return Err(Failure::usage(format!("--stage {text}: stages come in order and without gaps"))
            .hint("as in --stage prepare,run"));
    }
    Ok(named.into_iter().map(|at| STAGES[at].1).collect())
}

/// A plan without pairs, as a failure.
pub fn no_pairs(fault: &NoPairs) -> Failure {
    Failure::usage(fault.to_string())
}
