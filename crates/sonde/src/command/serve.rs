//! `sonde serve`: the far side, which answers what `sonde rtt` asks.

mod audit;
mod counters;
pub mod options;
pub mod plan;
pub mod ready;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::thread;

use endpoint::error::EndpointError;
use endpoint::peer::irtt::server as irtt;
use endpoint::peer::stamp::reflector as stamp;
use endpoint::reflector::permit::{Permit, Permits};
use endpoint::reflector::{Reflector, Settings, bind};
use endpoint::serve::book::{Book, Books};
use endpoint::serve::door::Door;
use endpoint::stop::Stop;
use endpoint::thread::check_allowed;
use protocol::native::key::Holder;

use crate::beginning::{Beginning, Confined};
use crate::command::key_file::KeyFile;
use crate::command::key_list;
use crate::command::peer::Bound;
use crate::command::serve::audit::Audit;
use crate::command::serve::counters::Counters;
use crate::command::serve::options::ServeOptions;
use crate::command::serve::plan::{Plan, StampPlan};
use crate::command::serve::ready::Supervisor;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::program::PROGRAM;
use crate::{signal, words};

/// The server of our own protocol, where it is counted.
pub const OWN: &str = "sonde";

/// Answers until a signal ends it.
///
/// # Errors
/// An address that cannot be listened at, a key that cannot be read, an open door without `--open`.
pub fn run(options: ServeOptions, output: &Arc<Output>) -> Result<Exit, Failure> {
    let plan = Plan::of(options)?;
    let beginning = Beginning::new().map_err(|error| Failure::usage(format!("cannot wait for signals: {error}")))?;
    // Each session would be refused otherwise.
    check_allowed(&plan.cpus)?;
    let permits = permits(&plan)?;
    let books = Books::default();
    let audit = plan.audit.map(|format| (format, audit::Queue::new()));
    let queue = audit.as_ref().map(|(_, queue)| queue);
    let book = |server| books.begin(server, queue.map(audit::Queue::bookkeeper));
    let reflector = bind_where_possible(&plan, permits.clone(), book(OWN))?;
    let door = |server| Door { gate: plan.gate.clone(), book: book(server) };
    let addresses = reflector.addresses();
    let mut beside = Vec::new();
    let hosts: Vec<IpAddr> = addresses.iter().map(SocketAddr::ip).collect();
    for (server, port) in plan.beside.chosen() {
        beside.push((server.name, (server.bind)(&hosts, port, &plan.manner(door(server.option)))?));
    }
    if let Some(stamp) = &plan.stamp {
        beside.push(("a session-reflector of STAMP", stamp_beside(&addresses, stamp, door("stamp"))?));
    }
    if let Some(port) = plan.irtt {
        beside.push(("an irtt server", irtt_beside(&addresses, port, door("irtt"))?));
    }
    let (confined, sandbox) = sandboxed(&plan, beginning);
    let stop = Stop::default();
    watch(&confined, &plan, permits, (books, &stop), output)?;
    let status = status(&plan, &addresses);
    output.note(&format!("sonde serve: {status}\n"));
    let supervisor = Supervisor::of_environment();
    for (name, bound) in &beside {
        output.note(&format!("sonde serve: {name} on {}\n", places(&bound.addresses)));
    }
    output.note(&format!("sonde serve: sandbox: {sandbox}\n"));
    let audit = audit.map(|(format, queue)| queue.write(format, Arc::clone(output))).transpose();
    let audit = audit.map_err(|error| Failure::usage(format!("cannot start the thread of the audit: {error}")))?;
    told(supervisor.ready(&status), output);
    let end = all(reflector, beside, &stop);
    audit.into_iter().for_each(Audit::finish);
    told(supervisor.stopping(), output);
    end?;
    Ok(Exit::Done)
}

/// A signal ends it, SIGUSR1 has its counters told, and SIGHUP its keys read again.
fn watch(
    confined: &Confined,
    plan: &Plan,
    permits: Permits,
    (books, stop): (Books, &Stop),
    output: &Arc<Output>,
) -> Result<(), Failure> {
    let asked = stop.clone();
    let counters = Counters { books, file: plan.counters.clone(), output: Arc::clone(output) };
    let reload = plan.key.as_ref().map(|file| {
        let identified = plan.identity.is_some();
        let again = Again { file: file.clone(), identified, usual: plan.usual(), permits, output: Arc::clone(output) };
        Box::new(move || again.read()) as Box<dyn Fn() + Send>
    });
    let watched = signal::watch_server(confined, move || asked.request(), move || counters.tell(), reload);
    watched.map(drop).map_err(|error| Failure::usage(format!("cannot wait for signals: {error}")))
}

/// Gives up what is needed no more, unless that is not wanted; says what is in force.
fn sandboxed(plan: &Plan, beginning: Beginning) -> (Confined, String) {
    if !plan.sandbox {
        return (beginning.keep_all(), "off".to_owned());
    }
    let needs = plan.needs();
    let (confined, sandbox) = beginning.confine(&needs);
    (confined, words::sandbox(&sandbox, &needs))
}

/// Addresses as they are said, each once.
fn places(addresses: &[SocketAddr]) -> String {
    let mut places: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    places.dedup();
    places.join(" and ")
}

/// A session-reflector of STAMP at the hosts of these addresses, over UDP.
fn stamp_beside(addresses: &[SocketAddr], plan: &StampPlan, door: Door) -> Result<Bound, Failure> {
    let listen = addresses.iter().map(|address| SocketAddr::new(address.ip(), plan.port)).collect();
    let key = plan.key.as_ref().map(KeyFile::read_stamp).transpose()?;
    let usual = stamp::Settings::at(listen);
    let settings =
        stamp::Settings { key, door, counts: plan.counts, lengthens: plan.lengthens, clock: plan.clock, ..usual };
    let reflector = stamp::bind(settings)?;
    Ok(Bound::new(reflector.addresses(), move |stop| reflector.run(stop)))
}

/// A server of irtt at the hosts of these addresses, over UDP.
fn irtt_beside(addresses: &[SocketAddr], port: u16, door: Door) -> Result<Bound, Failure> {
    let listen = addresses.iter().map(|address| SocketAddr::new(address.ip(), port)).collect();
    let server = irtt::bind(irtt::Settings { door, ..irtt::Settings::at(listen) })?;
    Ok(Bound::new(server.addresses(), move |stop| server.run(stop)))
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

/// Requests the end of all others, whichever end this one has.
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

/// Clients that may use the reflector: those of the key file, or whoever comes.
fn permits(plan: &Plan) -> Result<Permits, Failure> {
    let usual = plan.usual();
    match &plan.key {
        Some(file) => {
            let all = holders(file, plan.identity.is_some(), &usual, false)?;
            let identity = plan.identity.as_ref().map(KeyFile::identity).transpose()?;
            Ok(match identity {
                Some(identity) => Permits::identified(all, identity),
                None => Permits::keyed(all),
            })
        }
        None => Ok(Permits::open(usual)),
    }
}

/// The holders of the keys in `file`: one key without a name, or a list. Where it is read again, nothing in it lets nobody in: its
/// last key was taken away. A list that names identities is for a server that has one too.
fn holders(file: &KeyFile, identified: bool, usual: &Permit, again: bool) -> Result<Vec<(Holder, Permit)>, Failure> {
    let text = file.text("create one: `sonde key FILE`")?;
    let is_list = key_list::is_list(&text) || again && key_list::is_bare(&text);
    if !is_list {
        return Ok(vec![(file.parse(&text)?.into(), usual.clone())]);
    }
    let listed = key_list::read(&text, &file.name(), usual)?;
    let of_identity = |one: &&key_list::Listed| matches!(one.holder, Holder::Identity(_));
    if let Some(one) = listed.iter().find(of_identity).filter(|_| !identified) {
        let what = format!("{}: key {:?} is an identity, and this server has none to show it", file.name(), one.name());
        return Err(Failure::usage(what)
            .hint("make one, `sonde key FILE --identity`, and start with --identity FILE")
            .about(file.name()));
    }
    Ok(listed.into_iter().map(|one| (one.holder, one.permit)).collect())
}

/// The keys, read again while it runs: sessions that are open go on.
struct Again {
    file: KeyFile,
    /// True where the server has an identity.
    identified: bool,
    usual: Permit,
    permits: Permits,
    output: Arc<Output>,
}

impl Again {
    /// Where they cannot be read, those that were read before stay.
    fn read(&self) {
        match holders(&self.file, self.identified, &self.usual, true) {
            Ok(all) => {
                let count = report::number::count(all.len() as u64, "key", "keys");
                self.permits.replace(all);
                self.output.note(&format!("sonde serve: {}: {count} read again\n", self.file.name()));
            }
            Err(failure) => {
                self.output.complain(&failure);
                self.output.aside("sonde serve: the keys of before stay in force\n");
            }
        }
    }
}

fn bind_where_possible(plan: &Plan, permits: Permits, book: Book) -> Result<Reflector, EndpointError> {
    let settings = Settings {
        listen: plan.listen.clone(),
        gate: plan.gate.clone(),
        permits,
        book,
        waiting: plan.waiting,
        cpus: plan.cpus.clone(),
        limits: plan.limits,
        together: plan.together,
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
