//! A run: probes leave by the engine that measures all else, replies become lines as they come.

mod printer;
mod record;
mod scan;

use std::net::SocketAddr;
use std::sync::Arc;

use endpoint::clock::wall_offset;
use endpoint::environment::Reader;
use endpoint::error::EndpointError;
use endpoint::name::{self, Family};
use endpoint::stop::Stop;
use endpoint::syn::{self, Ears, From, Kind, Probing, local_address};
use measure::method::{self, Carrier, Far, Method, Schedule, SocketOptions};
use measure::unit::{Bytes, Nanos};
use protocol::syn::probe::Aim;

use self::printer::Printer;
use crate::command::syn as native;
use crate::exit::Exit;
use crate::output::Output;
use crate::persona::answer::Answer;
use crate::persona::hping3::options::{Asked, Mode, is_ipv6};
use crate::persona::hping3::output::{FLOODING, Place, heading};
use crate::persona::process;
use crate::persona::record::Keeping;
use crate::program::PROGRAM;
use crate::system::now;
use crate::words;

/// Longest wait for replies behind the last packet, as the original does.
const LINGER: Nanos = Nanos::secs(1);

/// Runs what was asked for.
///
/// # Errors
/// The lines where nothing could be sent.
pub fn run(asked: &Asked, command: &[String], output: &Arc<Output>) -> Result<Exit, Answer> {
    let stop = Stop::default();
    let interruption = process::heed(&stop).map_err(|error| complaint(&error.to_string()))?;
    let peer = look_up(asked, &stop)?;
    native::plan::check_target(peer.ip())?;
    if let Some(ports) = &asked.scan {
        return scan::run(asked, ports, peer, &stop, output);
    }
    let keeping = Keeping::of(asked.record.as_deref(), false)?;
    let (asked_of, method) = method(asked)?;
    let probing = probing(asked, method, peer);
    let place = place(asked, peer).map_err(|error| told(&error))?;
    let (offset_before, started) = (wall_offset(), now());
    output.result(&heading(asked, &place));
    if asked.flood {
        output.aside(FLOODING);
    }
    let printer = std::cell::RefCell::new(Printer::new(asked, output));
    let ears = Ears {
        on_event: &mut |event| printer.borrow_mut().event(&event, &stop),
        on_answer: &mut |answer| printer.borrow_mut().answer(answer),
    };
    let measured = syn::measure(&probing, &stop, ears).map_err(|error| told(&error))?;
    let printed = printer.into_inner().finish(measured.departed, measured.unseen);
    output.aside(&printed.summary.text(&asked.host));
    let inquiry = record::Inquiry {
        command,
        asked: &asked_of,
        probing: &probing,
        host: asked.host.clone(),
        offset_before,
        started,
        signal: interruption.signal(),
    };
    keeping.deliver(|| Ok(inquiry.record(measured, printed.counter)))?;
    Ok(match printed.flags.filter(|_| asked.exit_code) {
        Some(flags) => Exit::Persona(flags.0),
        None if printed.summary.received > 0 => Exit::Done,
        None => Exit::Persona(1),
    })
}

fn complaint(what: &str) -> Answer {
    Answer::complaint(format!("hping3: {what}\n"))
}

/// An error with what to try, behind the program's name.
fn told(error: &EndpointError) -> Answer {
    let hint = words::hint(error).map_or_else(String::new, |hint| format!("hint:  {hint}\n"));
    Answer::complaint(format!("hping3: {error}: {}\n{hint}", error.cause))
}

/// Names are IPv4's, as in the original; an address may be of either version.
fn look_up(asked: &Asked, stop: &Stop) -> Result<SocketAddr, Answer> {
    let family = if is_ipv6(&asked.host) { Family::V6 } else { Family::V4 };
    name::look_up(&asked.host, asked.port, family, stop)
        .map_err(|_| Answer::complaint(format!("Unable to resolve '{}'\n", asked.host)))
}

/// The method as asked for and as carried out: an open loop.
fn method(asked: &Asked) -> Result<(method::Asked, Method), Answer> {
    let wanted = method::Asked {
        carrier: Some(match asked.mode {
            Mode::Tcp => Carrier::TcpSyn,
            Mode::Icmp => Carrier::Icmp,
            Mode::Udp => Carrier::Udp,
        }),
        schedule: Some(Schedule::Every { interval_ns: asked.interval }),
        request_bytes: Some(Bytes(asked.data)),
        // A datagram's answer is what somebody makes it; as long as its request is a guess.
        response_bytes: (asked.mode != Mode::Tcp).then_some(Bytes(asked.data)),
        warm_up_ns: Some(Nanos::ZERO),
        stop: method::Stop { count: asked.count, after_ns: longest(asked), ..method::Stop::default() },
        timeout_ns: Some(LINGER),
        stamps: Some(false),
        socket: SocketOptions { interface: asked.interface.clone(), tos: asked.tos, ..SocketOptions::default() },
        ..method::Asked::default()
    };
    let method = wanted.resolve_towards(Far::Anyone).map_err(|refusal| complaint(&words::refusal(&refusal)))?;
    Ok((wanted, method))
}

/// Without a count it goes on until it is stopped: a week is as good.
fn longest(asked: &Asked) -> Option<Nanos> {
    asked.count.is_none().then_some(Nanos::secs(7 * 86_400))
}

fn probing(asked: &Asked, method: Method, peer: SocketAddr) -> Probing {
    let sources = match (asked.source_port, asked.keep) {
        (None, false) => From::Held,
        (Some(port), false) => From::Rising(port),
        (port, true) => From::Always(port.unwrap_or(KEPT)),
    };
    Probing {
        kind: match asked.mode {
            Mode::Tcp => Kind::Segments,
            Mode::Icmp => Kind::Echoes,
            Mode::Udp => Kind::Datagrams,
        },
        aim: if asked.rising { Aim::Rising(asked.port) } else { Aim::One(asked.port) },
        sources,
        flags: asked.flags,
        window: asked.window,
        options: options(asked),
        seq: asked.seq,
        ack: asked.ack,
        bad_checksum: asked.bad_checksum,
        ttl: asked.ttl,
        ttl_rises: asked.traceroute,
        fragmentable: !asked.dont_fragment,
        samples: true,
        program: PROGRAM.to_owned(),
        ..Probing::syn(method, peer)
    }
}

/// Source port that all keep where none is given: the original draws one.
const KEPT: u16 = 2_640;

/// TCP options in the order of the original: largest segment, timestamps.
fn options(asked: &Asked) -> Vec<u8> {
    let mut options = Vec::new();
    if let Some(mss) = asked.mss {
        let [high, low] = mss.to_be_bytes();
        options.extend([2, 4, high, low]);
    }
    if asked.timestamps {
        options.extend([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0]);
    }
    options
}

fn place(asked: &Asked, peer: SocketAddr) -> Result<Place, EndpointError> {
    let options = SocketOptions { interface: asked.interface.clone(), ..SocketOptions::default() };
    let local = local_address(peer, &options)?.ip();
    let reader = Reader::host(PROGRAM).towards(peer.ip());
    let reader = match &asked.interface {
        Some(name) => reader.through(name.clone()),
        None => reader,
    };
    let interface = reader.read().interface;
    let name = interface.as_ref().map(|interface| interface.name.clone()).or(asked.interface.clone());
    Ok(Place {
        interface: name.unwrap_or_else(|| "unknown".to_owned()),
        local,
        mtu: interface.and_then(|interface| interface.mtu_bytes),
        remote: peer.ip(),
    })
}
