//! The server: where it listens is said, then each connection and flow as it comes, goes on and ends.

mod desk;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::thread;

use endpoint::clock::Monotonic;
use endpoint::daemon::{self, Side, Streams};
use endpoint::error::{Cause, EndpointError, Step};
use endpoint::peer::iperf::server as peer;
use endpoint::peer::iperf::server::event::{Tell, Transport as Over};
use endpoint::peer::iperf::server::settings::{Place, Settings};
use endpoint::sandbox::Needs;
use endpoint::socket::multicast::Interface;
use endpoint::stop::Stop;
use measure::interval::bins::Layout;
use measure::method::SocketOptions;
use measure::unit::Nanos;

use crate::beginning::Beginning;
use crate::exit::Exit;
use crate::output::Output;
use crate::persona::answer::Answer;
use crate::persona::iperf::options::{PermitKey, Server, Transport};
use crate::persona::iperf::output::banner::{self, Window};
use crate::persona::iperf::output::failure;
use crate::persona::iperf::run::place;
use crate::persona::iperf::run::server::desk::Desk;
use crate::persona::process;
use crate::words;

/// Listens and serves, in the foreground or the background, until a signal, a time or a number of connections ends it.
///
/// # Errors
/// The text that is printed where it cannot.
pub fn run(asked: &Server, output: &Arc<Output>) -> Result<Exit, Answer> {
    let asked = &with_key(asked)?;
    if let Some(path) = &asked.common.output {
        place::redirect(path, |text| {
            output.result(text);
        })?;
    }
    let stop = Stop::default();
    let deaf = |error| failure::other(&format!("cannot wait for signals: {error}"));
    let beginning = Beginning::new().map_err(deaf)?;
    let desk = Arc::new(Desk::new(asked, output, &stop));
    let server = bind(asked, &desk)?;
    let say = |text: &str| {
        if !asked.common.display.csv && !asked.common.display.exclude.settings {
            output.result(text);
        }
    };
    for bound in server.sockets() {
        let bytes = bound.receive_buffer.and_then(|bytes| u32::try_from(bytes).ok()).unwrap_or(0);
        let window = Window { bytes, asked: asked.common.window };
        // A daemon's number is known behind the fork alone: what is said before is that of who started it.
        let facts = place::fresh(bound.address, asked.common.transport == Transport::Udp, &SocketOptions::default());
        let (port, congestion) = (bound.address.port(), facts.congestion.as_deref());
        say(&banner::server(asked, port, window, congestion, std::process::id()));
    }
    if asked.daemon && detach()? == Side::Foreground {
        return Ok(Exit::Done);
    }
    // It connects back where a client asks for that.
    let needs = Needs { connections: true, ..Needs::default() };
    let _interruption = process::confine(beginning, needs, &stop).map_err(deaf)?;
    if let Some(time) = asked.time.or(asked.key.as_ref().and_then(|key| key.time)) {
        end_after(time, &stop).map_err(|error| failure::other(&format!("cannot wait for the end: {error}")))?;
    }
    server.run(&stop).map_err(place::told)?;
    Ok(Exit::Done)
}

/// The same server with a key, where it is to make one.
fn with_key(asked: &Server) -> Result<Server, Answer> {
    let Some(key) = &asked.key else { return Ok(asked.clone()) };
    let shown = key.key.clone().map_or_else(new_key, Ok)?;
    Ok(Server { key: Some(PermitKey { key: Some(shown), ..key.clone() }), ..asked.clone() })
}

fn new_key() -> Result<String, Answer> {
    let drawn = endpoint::random::bytes::<16>();
    let octets = drawn.map_err(|error| failure::other(&format!("cannot make a key: {error}")))?;
    Ok(octets.iter().map(|octet| char::from(b"abcdefghijklmnopqrstuvwxyz234567"[usize::from(octet % 32)])).collect())
}

/// Threads are started behind this: none follows into the background. Its output there goes where it went before.
fn detach() -> Result<Side, Answer> {
    daemon::detach(Streams::OutputKept)
        .map_err(|error| failure::other(&format!("cannot go into the background: {error}")))
}

/// Asks for the end after `time`.
fn end_after(time: Nanos, stop: &Stop) -> std::io::Result<()> {
    let stop = stop.clone();
    let until = Monotonic::now().after(time);
    let wait = move || {
        stop.wait(until);
        stop.request();
    };
    thread::Builder::new().name("iperf-time".into()).spawn(wait).map(drop)
}

fn bind(asked: &Server, desk: &Arc<Desk>) -> Result<peer::Server, Answer> {
    let common = &asked.common;
    let any = place::anywhere(common.ipv6);
    let address = place::local(&common.bind, any, &Stop::default())?.unwrap_or(any);
    let transport = if common.transport == Transport::Udp { Over::Udp } else { Over::Tcp };
    let (first, last) = asked.ports;
    let places = (first..=last).map(|port| at(address, port, transport)).collect();
    let desk = Arc::clone(desk);
    let device = common.bind.device.as_deref().map(Interface::of).transpose();
    let device = device.map_err(|error| failure::other(&format!("-B: no such device: {error}")))?;
    let settings = Settings {
        interface: device,
        source: asked.source,
        interval: common.display.interval,
        read_bytes: common.length.filter(|_| common.transport == Transport::Tcp),
        buffer_bytes: common.window,
        key: asked.key.as_ref().and_then(|key| key.key.clone()),
        bins: asked.histograms.map(|bins| Layout { width: Nanos::micros(bins.width_us.into()), count: bins.bins }),
        tells_latencies: common.display.enhanced,
        tell: Some(Tell(Arc::new(move |event| desk.hear(event)))),
        ..Settings::at(places)
    };
    peer::bind(settings).map_err(unable)
}

fn at(address: IpAddr, port: u16, transport: Over) -> Place {
    Place { address: SocketAddr::new(address, port), transport }
}

/// Reason for which it cannot listen, in the original's words; the next step behind it.
fn unable(error: EndpointError) -> Answer {
    match &error.cause {
        Cause::System(cause) if error.step == Step::Listen => {
            let hint = words::hint(&error).map(|hint| format!("hint:  {hint}\n")).unwrap_or_default();
            let answer = failure::bind(&place::said(cause));
            Answer { stderr: answer.stderr + &hint, ..answer }
        }
        _ => place::told(error),
    }
}
