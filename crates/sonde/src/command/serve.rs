//! `sonde serve`: the far side, which answers what `sonde rtt` asks.

pub mod options;
pub mod plan;
pub mod ready;

use std::io;
use std::net::SocketAddr;
use std::thread;

use endpoint::error::{Cause, EndpointError, Step};
use endpoint::peer::netperf::server::{self as netserver, Netserver};
use endpoint::reflector::{Reflector, Settings, bind};
use endpoint::stop::Stop;
use protocol::native::key::Key;
use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_getaffinity};

use crate::command::key_file;
use crate::command::serve::options::ServeOptions;
use crate::command::serve::plan::Plan;
use crate::command::serve::ready::Supervisor;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::{PROGRAM, signal};

/// Answers until a signal ends it.
///
/// # Errors
/// An address that cannot be listened at, a key that cannot be read, an open door without `--open`.
pub fn run(options: ServeOptions, output: &Output) -> Result<Exit, Failure> {
    let plan = Plan::of(options)?;
    check_cpus(&plan.cpus)?;
    let key = plan.key.as_deref().map(|path| key_file::read(path, output)).transpose()?;
    let stop = Stop::default();
    let asked = stop.clone();
    signal::watch(move || asked.request(), || {})
        .map_err(|e| Failure::usage(format!("cannot wait for signals: {e}")))?;
    let reflector = bind_where_possible(&plan, key)?;
    let addresses = reflector.addresses();
    let netserver = plan.netperf.map(|port| netserver_beside(&addresses, port)).transpose()?;
    let status = status(&plan, &addresses);
    output.note(&format!("sonde serve: {status}\n"));
    let supervisor = Supervisor::of_environment();
    if let Some(netserver) = &netserver {
        let places: Vec<String> = netserver.addresses().iter().map(ToString::to_string).collect();
        output.note(&format!("sonde serve: a netserver on {}\n", places.join(" and ")));
    }
    told(supervisor.ready(&status), output);
    let end = both(reflector, netserver, &stop);
    told(supervisor.stopping(), output);
    end?;
    Ok(Exit::Done)
}

/// A netserver at the hosts of these addresses, on a port of its own.
fn netserver_beside(addresses: &[SocketAddr], port: u16) -> Result<Netserver, EndpointError> {
    let listen: Vec<SocketAddr> = addresses.iter().map(|address| SocketAddr::new(address.ip(), port)).collect();
    netserver::bind(netserver::Settings { listen, ..netserver::Settings::at(SocketAddr::from(([0; 4], port))) })
}

/// Runs the reflector, and the netserver where there is one; where one of them fails, both end.
fn both(reflector: Reflector, netserver: Option<Netserver>, stop: &Stop) -> Result<(), EndpointError> {
    let Some(netserver) = netserver else { return reflector.run(stop) };
    thread::scope(|scope| {
        let beside = scope.spawn(|| {
            let end = netserver.run(stop);
            stop.request();
            end
        });
        let end = reflector.run(stop);
        stop.request();
        let other = beside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        end.and(other)
    })
}

/// Each session would be refused for a CPU that its threads may not run on: better now.
fn check_cpus(cpus: &[u32]) -> Result<(), EndpointError> {
    let Ok(allowed) = sched_getaffinity(None) else { return Ok(()) };
    let may_run = |cpu: u32| CpuSet::MAX_CPU > cpu as usize && allowed.is_set(cpu as usize);
    match cpus.iter().find(|cpu| !may_run(**cpu)) {
        Some(cpu) => Err(EndpointError::new(Step::Pin(*cpu), "this host", Errno::INVAL)),
        None => Ok(()),
    }
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
        (Err(error), Some(address)) if lacks_ipv6(&error) => bind(Settings { listen: vec![address], ..settings }),
        (bound, _) => bound,
    }
}

/// Whether the machine has no IPv6 at all, or none on its loopback interface.
fn lacks_ipv6(error: &EndpointError) -> bool {
    let of_ipv6 = error.peer.parse::<SocketAddr>().is_ok_and(|address| address.is_ipv6());
    let Cause::System(cause) = &error.cause else { return false };
    let unsupported = cause.raw_os_error() == Some(Errno::AFNOSUPPORT.raw_os_error());
    of_ipv6 && (unsupported || cause.kind() == io::ErrorKind::AddrNotAvailable)
}

/// One line: where it listens, and for whom.
fn status(plan: &Plan, addresses: &[SocketAddr]) -> String {
    let places: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    let whom = if plan.key.is_some() {
        "for those who have the key"
    } else if plan.open {
        "open to anybody who reaches it"
    } else {
        "loopback alone: --key FILE or --open lets others in"
    };
    format!("listening on {}, TCP and UDP, {whom}", places.join(" and "))
}
