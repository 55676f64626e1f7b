//! `sonde serve`: the far side, which answers what `sonde rtt` asks.

pub mod options;
pub mod plan;
pub mod ready;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;

use endpoint::error::EndpointError;
use endpoint::peer::iperf::server as iperf;
use endpoint::peer::iperf::server::event::Transport;
use endpoint::peer::iperf3::server::event::Nobody;
use endpoint::peer::iperf3::server::{self as iperf3, settings as iperf3_settings};
use endpoint::peer::netperf::server::{self as netserver, Netserver};
use endpoint::peer::sockperf::server as sockperf;
use endpoint::peer::sockperf::server::settings::{Carriers, Place};
use endpoint::peer::stamp::reflector::{self as stamp, StampReflector};
use endpoint::reflector::{Reflector, Settings, bind};
use endpoint::stop::Stop;
use endpoint::thread::check_allowed;
use protocol::native::key::Key;

use crate::command::key_file;
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
    let beside = Beside {
        netserver: plan.netperf.map(|port| netserver_beside(&addresses, port)).transpose()?,
        sockperf: plan.sockperf.map(|port| sockperf_beside(&addresses, port)).transpose()?,
        iperf: plan.iperf.map(|port| iperf_beside(&addresses, port)).transpose()?,
        iperf3: plan.iperf3.map(|port| iperf3_beside(&addresses, port)).transpose()?,
        stamp: plan.stamp.as_ref().map(|plan| stamp_beside(&addresses, plan, output)).transpose()?,
    };
    let status = status(&plan, &addresses);
    output.note(&format!("sonde serve: {status}\n"));
    let supervisor = Supervisor::of_environment();
    output.note(&beside.status());
    told(supervisor.ready(&status), output);
    let end = all(reflector, beside, &stop);
    told(supervisor.stopping(), output);
    end?;
    Ok(Exit::Done)
}

/// The servers of other tools' protocols that were asked for.
struct Beside {
    netserver: Option<Netserver>,
    sockperf: Option<sockperf::Server>,
    iperf: Option<iperf::Server>,
    iperf3: Option<iperf3::Server>,
    stamp: Option<StampReflector>,
}

impl Beside {
    /// A line for each: where it listens.
    fn status(&self) -> String {
        let line = |what: &str, places: Vec<SocketAddr>| {
            let mut places: Vec<String> = places.iter().map(ToString::to_string).collect();
            places.dedup();
            format!("sonde serve: {what} on {}\n", places.join(" and "))
        };
        let netserver = self.netserver.as_ref().map(|server| line("a netserver", server.addresses()));
        let sockperf = self.sockperf.as_ref().map(|server| line("a sockperf server", server.addresses()));
        let iperf = self
            .iperf
            .as_ref()
            .map(|server| line("an iperf 2 server", server.sockets().iter().map(|bound| bound.address).collect()));
        let iperf3 = self.iperf3.as_ref().map(|server| line("an iperf3 server", server.addresses()));
        let stamp = self.stamp.as_ref().map(|server| line("a session-reflector of STAMP", server.addresses()));
        [netserver, sockperf, iperf, iperf3, stamp].into_iter().flatten().collect()
    }
}

/// A netserver at the hosts of these addresses, on a port of its own.
fn netserver_beside(addresses: &[SocketAddr], port: u16) -> Result<Netserver, EndpointError> {
    let listen: Vec<SocketAddr> = addresses.iter().map(|address| SocketAddr::new(address.ip(), port)).collect();
    netserver::bind(netserver::Settings { listen, ..netserver::Settings::at(SocketAddr::from(([0; 4], port))) })
}

/// A sockperf server likewise, for datagrams and connections.
fn sockperf_beside(addresses: &[SocketAddr], port: u16) -> Result<sockperf::Server, EndpointError> {
    let place = |address: &SocketAddr| Place {
        address: SocketAddr::new(address.ip(), port),
        carriers: Carriers::Both,
        source: None,
    };
    let places: Vec<Place> = addresses.iter().map(place).collect();
    // A thread for each address and carrier: no client waits for another's.
    sockperf::bind(sockperf::settings::Settings {
        threads: 2 * places.len() as u32,
        ..sockperf::settings::Settings::at(places)
    })
}

/// An iperf 2 server likewise.
fn iperf_beside(addresses: &[SocketAddr], port: u16) -> Result<iperf::Server, EndpointError> {
    let both = [Transport::Tcp, Transport::Udp];
    let of_host = |address: &SocketAddr| {
        let address = SocketAddr::new(address.ip(), port);
        both.map(|transport| iperf::settings::Place { address, transport })
    };
    iperf::bind(iperf::settings::Settings::at(addresses.iter().flat_map(of_host).collect()))
}

/// An iperf3 server likewise.
fn iperf3_beside(addresses: &[SocketAddr], port: u16) -> Result<iperf3::Server, EndpointError> {
    let listen: Vec<SocketAddr> = addresses.iter().map(|address| SocketAddr::new(address.ip(), port)).collect();
    let settings = iperf3_settings::Settings::at(SocketAddr::from(([0; 4], port)));
    iperf3::bind(iperf3_settings::Settings { listen, ..settings }, Arc::new(Nobody))
}

/// A session-reflector of STAMP likewise, over UDP.
fn stamp_beside(addresses: &[SocketAddr], plan: &StampPlan, output: &Output) -> Result<StampReflector, Failure> {
    let listen = addresses.iter().map(|address| SocketAddr::new(address.ip(), plan.port)).collect();
    let key = plan.key.as_deref().map(|path| key_file::read_stamp(path, output)).transpose()?;
    let settings = stamp::Settings { key, counts: plan.counts, clock: plan.clock, ..stamp::Settings::at(listen) };
    Ok(stamp::bind(settings)?)
}

/// Runs the reflector and what is beside it; where one of them fails, all end.
fn all(reflector: Reflector, beside: Beside, stop: &Stop) -> Result<(), EndpointError> {
    let Beside { netserver, sockperf, iperf, iperf3, stamp } = beside;
    thread::scope(|scope| {
        let others = [
            netserver.map(|server| scope.spawn(move || stopping(stop, server.run(stop)))),
            sockperf.map(|server| scope.spawn(move || stopping(stop, server.run(stop).map(drop)))),
            iperf.map(|server| scope.spawn(move || stopping(stop, server.run(stop)))),
            iperf3.map(|server| scope.spawn(move || stopping(stop, server.run(stop)))),
            stamp.map(|server| scope.spawn(move || stopping(stop, server.run(stop)))),
        ];
        let end = stopping(stop, reflector.run(stop));
        let joined = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        others.into_iter().flatten().map(joined).fold(end, Result::and)
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
