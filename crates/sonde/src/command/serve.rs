//! `sonde serve`: the far side, which answers what `sonde rtt` asks.

pub mod options;
pub mod plan;
pub mod ready;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::thread;

use endpoint::error::EndpointError;
use endpoint::peer::stamp::reflector as stamp;
use endpoint::reflector::{Reflector, Settings, bind};
use endpoint::stop::Stop;
use endpoint::thread::check_allowed;
use protocol::native::key::Key;

use crate::command::key_file;
use crate::command::peer::Bound;
use crate::command::serve::options::ServeOptions;
use crate::command::serve::plan::{Plan, StampPlan};
use crate::command::serve::ready::Supervisor;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::program::PROGRAM;
use crate::signal;

/// Answers until a signal ends it.
///
/// # Errors
/// An address that cannot be listened at, a key that cannot be read, an open door without `--open`.
pub fn run(options: ServeOptions, output: &Output) -> Result<Exit, Failure> {
    let plan = Plan::of(options)?;
    // Each session would be refused otherwise.
    check_allowed(&plan.cpus)?;
    let key = plan.key.as_deref().map(|path| key_file::read(path, output)).transpose()?;
    let stop = Stop::default();
    let asked = stop.clone();
    signal::watch(move || asked.request(), || {})
        .map_err(|e| Failure::usage(format!("cannot wait for signals: {e}")))?;
    let reflector = bind_where_possible(&plan, key)?;
    let addresses = reflector.addresses();
    let mut beside = Vec::new();
    let hosts: Vec<IpAddr> = addresses.iter().map(SocketAddr::ip).collect();
    for (server, port) in plan.beside.chosen() {
        beside.push((server.name, (server.bind)(&hosts, port)?));
    }
    if let Some(plan) = &plan.stamp {
        beside.push(("a session-reflector of STAMP", stamp_beside(&addresses, plan, output)?));
    }
    let status = status(&plan, &addresses);
    output.note(&format!("sonde serve: {status}\n"));
    let supervisor = Supervisor::of_environment();
    for (name, bound) in &beside {
        output.note(&format!("sonde serve: {name} on {}\n", places(&bound.addresses)));
    }
    told(supervisor.ready(&status), output);
    let end = all(reflector, beside, &stop);
    told(supervisor.stopping(), output);
    end?;
    Ok(Exit::Done)
}

/// Addresses as they are said, each once.
fn places(addresses: &[SocketAddr]) -> String {
    let mut places: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    places.dedup();
    places.join(" and ")
}

/// A session-reflector of STAMP at the hosts of these addresses, over UDP.
fn stamp_beside(addresses: &[SocketAddr], plan: &StampPlan, output: &Output) -> Result<Bound, Failure> {
    let listen = addresses.iter().map(|address| SocketAddr::new(address.ip(), plan.port)).collect();
    let key = plan.key.as_deref().map(|path| key_file::read_stamp(path, output)).transpose()?;
    let settings = stamp::Settings { key, counts: plan.counts, clock: plan.clock, ..stamp::Settings::at(listen) };
    let reflector = stamp::bind(settings)?;
    Ok(Bound::new(reflector.addresses(), move |stop| reflector.run(stop)))
}

/// Runs the reflector and what is beside it; where one of them fails, all end.
fn all(reflector: Reflector, beside: Vec<(&str, Bound)>, stop: &Stop) -> Result<(), EndpointError> {
    thread::scope(|scope| {
        let start = |(_, bound): (_, Bound)| scope.spawn(move || stopping(stop, (bound.run)(stop)));
        let others: Vec<_> = beside.into_iter().map(start).collect();
        let end = stopping(stop, reflector.run(stop));
        let joined = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        others.into_iter().map(joined).fold(end, Result::and)
    })
}

/// What has ended, however it did, ends all others.
fn stopping(stop: &Stop, end: Result<(), EndpointError>) -> Result<(), EndpointError> {
    stop.request();
    end
}

/// A supervisor that cannot be told is no reason not to answer.
fn told(telling: io::Result<()>, output: &Output) {
    if let Err(error) = telling {
        output.note(&format!("note: cannot tell the supervisor: {error}\n"));
    }
}

fn bind_where_possible(plan: &Plan, key: Option<Key>) -> Result<Reflector, EndpointError> {
    let settings = Settings {
        listen: plan.listen.clone(),
        key,
        waiting: plan.waiting,
        cpus: plan.cpus.clone(),
        limits: plan.limits,
        behaviour: plan.behaviour,
        program: PROGRAM.to_owned(),
    };
    match (bind(settings.clone()), plan.without_ipv6) {
        (Err(error), Some(address)) if error.lacks_ipv6() => bind(Settings { listen: vec![address], ..settings }),
        (bound, _) => bound,
    }
}

/// One line: where it listens, and for whom.
fn status(plan: &Plan, addresses: &[SocketAddr]) -> String {
    let whom = if plan.key.is_some() {
        "for those who have the key"
    } else if plan.open {
        "open to anybody who reaches it"
    } else {
        "loopback alone: --key FILE or --open lets others in"
    };
    format!("listening on {}, TCP and UDP, {whom}", places(addresses))
}
