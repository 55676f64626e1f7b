//! A run: the host is looked up, requests leave, each reply is told, and the figures follow.

pub mod hearing;
pub mod record;
pub mod task;

use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use endpoint::clock;
use endpoint::error::EndpointError;
use endpoint::name;
use endpoint::peer::ping::{self as peer, Prepared, Test};
use endpoint::signal::Signal;
use endpoint::socket::multicast::Interface;
use endpoint::stop::Stop;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::persona::answer::Answer;
use crate::persona::ping::options::{Options, complain};
use crate::persona::ping::output::{failure, header, summary};
use crate::persona::ping::run::hearing::Hearing;
use crate::persona::ping::run::record::Inquiry;
use crate::persona::record::Keeping;
use crate::signal;
use crate::system::now;

/// Status where nobody reads what is printed: of the original, which SIGPIPE ends.
const READER_GONE: u8 = 128 + 13;

/// Measures and prints. `command` is the whole command line.
///
/// # Errors
/// The text that is printed in place of a result.
pub fn run(options: &Options, command: &[String], output: &Arc<Output>) -> Result<Exit, Answer> {
    let keeping = Keeping::of(options.own.record.as_deref(), options.own.json).map_err(told)?;
    let stop = Stop::default();
    let (asked_to_stop, interim) = (stop.clone(), Arc::new(AtomicBool::new(false)));
    let asked_how = Arc::clone(&interim);
    let interruption = signal::watch(move || asked_to_stop.request(), move || asked_how.store(true, Ordering::Relaxed))
        .map_err(|error| complain(2, &format!("cannot wait for signals: {error}")))?;
    let address = address(options, &stop)?;
    let asked = task::asked(options);
    let test = task::test(options, &asked, address)?;
    let not_opened = |error: EndpointError| failure::not_opened(&error, options.interface.as_deref());
    let source = peer::source(address, &test.method, &test.wishes).map_err(not_opened)?;
    // As the original has it: nobody's address of IPv4 is this host's.
    let (address, test) = match address {
        SocketAddr::V4(any) if any.ip().is_unspecified() => {
            let own = SocketAddr::new(source, 0);
            (own, Test { address: own, ..test })
        }
        given => (given, test),
    };
    let test = task::from_source(options, test, source);
    if options.broadcast && address.is_ipv4() && !address.ip().is_multicast() && source != address.ip() {
        output.note("WARNING: pinging broadcast address\n");
    }
    let prepared = peer::prepare(&test).map_err(not_opened)?;
    let mut hearing = Hearing::new(options, &test, &prepared, &interim, (output, &stop));
    hearing.begin(&beginning(options, &test, source, &mut hearing.names()));
    let (started, offset_before) = (now(), clock::wall_offset());
    let measured = prepared.measure(&test, &stop, &mut hearing).map_err(not_opened)?;
    let heard = hearing.finish();
    let summary = summary::Summary {
        host: &options.destination,
        statistics: &heard.statistics,
        paced_by_replies: options.adaptive || options.flood || task::interval_ms(options) == 0,
    };
    if !options.own.json {
        output.result(&summary.text());
    }
    if measured.unheard > 0 {
        let what = "messages are in none of these figures: this host could not keep up with printing; -q is faster";
        output.note(&format!("ping: {} {what}\n", measured.unheard));
    }
    let inquiry =
        Inquiry { command, asked: &asked, test: &test, options, offset_before, started, signal: interruption.signal() };
    let kept = keeping.deliver(|| Ok(inquiry.record(measured, &heard.errors)));
    if let Some(document) = kept.map_err(told)? {
        output.result(&document);
    }
    if !output.is_open() && output.fault().is_none() {
        return Ok(Exit::Persona(READER_GONE));
    }
    Ok(status(options, &heard.statistics, interruption.signal()))
}

fn told(failure: Failure) -> Answer {
    Answer { status: 2, ..failure.into() }
}

/// The original's: 0 where something was answered, and with a deadline as much as was asked for; else 1. A signal that is
/// no Ctrl-C ends the original without a word, by itself.
fn status(options: &Options, statistics: &super::statistics::Statistics, signal: Option<Signal>) -> Exit {
    if let Some(signal @ (Signal::Terminate | Signal::Hangup)) = signal {
        return Exit::CutShort(signal);
    }
    let short = options.deadline.is_some() && options.count.is_some_and(|count| statistics.received < count);
    if statistics.received == 0 || short { Exit::Persona(1) } else { Exit::Persona(0) }
}

fn address(options: &Options, stop: &Stop) -> Result<SocketAddr, Answer> {
    let host = &options.destination;
    if host.is_empty() {
        return Err(complain(2, ": Name or service not known"));
    }
    let found = name::look_up(host, 0, options.family, stop).map_err(|error| failure::unknown(host, &error))?;
    let SocketAddr::V6(six) = found else { return Ok(found) };
    let Some(interface) = options.interface.as_deref().filter(|_| six.scope_id() == 0 && needs_scope(six)) else {
        return Ok(found);
    };
    let index = match Interface::of(interface) {
        Ok(Interface::Index(index)) => index,
        Ok(Interface::Address(_)) => 0,
        Err(_) => return Err(complain(2, &format!("unknown iface: {interface}"))),
    };
    Ok(SocketAddrV6::new(*six.ip(), 0, 0, index).into())
}

/// Returns true where an address means something on one link alone.
fn needs_scope(address: SocketAddrV6) -> bool {
    address.ip().is_unicast_link_local() || address.ip().is_multicast()
}

fn beginning(options: &Options, test: &Test, source: IpAddr, names: &mut hearing::Names) -> String {
    let told = options.source.is_some() || options.interface.is_some() || options.sticky;
    let source = source.to_string();
    header::Header {
        host: &options.destination,
        // IPv4 has the number alone, whatever was typed.
        address: &match test.address {
            SocketAddr::V6(six) => names.of(six.ip().to_owned().into(), six.scope_id()),
            SocketAddr::V4(four) => four.ip().to_string(),
        },
        six: test.address.is_ipv6(),
        source: told.then_some(source.as_str()),
        interface: options.interface.as_deref(),
        size: options.size,
        options: test.wishes.ip_options.as_ref().map_or(0, |_| task::IP_OPTIONS),
        pattern: if options.quiet { &[] } else { &options.pattern },
    }
    .text()
}

impl Hearing<'_> {
    /// Says what is said first, unless a record alone is printed.
    fn begin(&mut self, text: &str) {
        self.say(text);
    }
}

/// The identifier that lines tell, where they are to.
fn identifier(options: &Options, prepared: &Prepared) -> Option<u16> {
    options.verbose.then(|| prepared.identifier()).flatten()
}
