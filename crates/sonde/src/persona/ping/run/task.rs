//! Options of a run, as a test that the engine knows.

use std::net::{IpAddr, SocketAddr};

use endpoint::peer::ping::Test;
use endpoint::socket::icmp::Wishes;
use measure::method::{Asked, Carrier, Far, Pacing, Pattern, Schedule, SocketOptions, Stop};
use measure::unit::{Bytes, Nanos};

use crate::persona::answer::Answer;
use crate::persona::ping::options::{AskedOfHops, INTERVAL, LINGER, Options, complain};
use crate::program::PROGRAM;
use crate::words;

/// Octets of IP options, where there are some.
pub const IP_OPTIONS: u32 = 40;
/// Without a reply a flood sends so often.
const FLOOD: Nanos = Nanos::millis(10);
/// The last replies have at least so long.
const LEAST_LINGER: Nanos = Nanos::millis(10);
/// A run waits for ever this long.
const FOR_EVER: Nanos = Nanos::secs(3_600);
/// Below this interval the original does not sleep: it looks for a reply again and again, and its CPU stays awake.
const SHORT: Nanos = Nanos::millis(10);
/// A run of no stated end has one: the engine's longest.
const WEEK: Nanos = Nanos::secs(7 * 86_400);

/// The method with gaps, as it stands in a record.
pub fn asked(options: &Options) -> Asked {
    let schedule = schedule(options);
    let paced = schedule.has_instants();
    let usual = if options.interval() < SHORT { Pacing::Spin } else { Pacing::Sleep };
    let linger = options.linger.map_or(LINGER, |linger| if linger == Nanos::ZERO { FOR_EVER } else { linger });
    let linger = linger.clamp(Nanos::millis(1), FOR_EVER);
    let deadline = options.deadline.map(|deadline| deadline.min(WEEK));
    // With a deadline requests leave until as many are answered as were asked for.
    let count = options.count.filter(|_| deadline.is_none());
    Asked {
        carrier: Some(Carrier::Icmp),
        pattern: Some(Pattern::Exchange),
        window: Some(if paced { 0 } else { options.preload }),
        schedule: Some(schedule),
        pacing: paced.then(|| options.own.pacing.unwrap_or(usual)),
        request_bytes: Some(Bytes(options.size.into())),
        connections: Some(1),
        threads: Some(1),
        stop: Stop {
            after_ns: deadline.or((count.is_none()).then_some(WEEK)),
            count,
            linger_ns: Some(if deadline.is_some() { Nanos::ZERO } else { linger }),
            linger_answered_ns: deadline
                .is_none()
                .then(|| options.interval().max(LEAST_LINGER))
                .map(|least| if paced { least } else { LEAST_LINGER }),
            ..Stop::default()
        },
        // The original gives no request up while it runs.
        timeout_ns: Some(linger.max(LINGER)),
        warm_up_ns: Some(Nanos::ZERO),
        socket: SocketOptions {
            bind: options.source,
            interface: options.interface.clone(),
            tos: options.tos,
            send_buffer_bytes: options.send_buffer.map(|bytes| Bytes(bytes.into())),
            ..SocketOptions::default()
        },
        stamps: Some(false),
        ..Asked::default()
    }
}

fn schedule(options: &Options) -> Schedule {
    if options.adaptive {
        let gap_ns = options.interval.filter(|interval| *interval > Nanos::ZERO).unwrap_or(INTERVAL);
        Schedule::AtLatest { gap_ns, adapts: true }
    } else if options.floods() {
        Schedule::AtLatest { gap_ns: FLOOD, adapts: false }
    } else {
        Schedule::Preloaded { count: options.preload, interval_ns: options.interval() }
    }
}

/// The interval as the original has it: whole milliseconds.
pub fn interval_ms(options: &Options) -> u64 {
    if options.floods() { 0 } else { options.interval().0 / 1_000_000 }
}

/// The test of a method.
///
/// # Errors
/// A method that makes no sense, with the reason.
pub fn test(options: &Options, asked: &Asked, address: SocketAddr) -> Result<Test, Answer> {
    let method = asked.resolve_towards(Far::Foreign).map_err(|refusal| complain(2, &words::refusal(&refusal)))?;
    Ok(Test {
        method,
        address,
        wishes: wishes(options, address),
        payload: payload(options),
        user_to_user: options.user_to_user,
        interval: measure::event::INTERVAL,
        program: PROGRAM.to_owned(),
    })
}

/// The same with the source address it starts with, where that is to stay.
pub fn from_source(options: &Options, mut test: Test, source: IpAddr) -> Test {
    if options.sticky && test.method.socket.bind.is_none() {
        test.method.socket.bind = Some(source);
    }
    test
}

fn wishes(options: &Options, address: SocketAddr) -> Wishes {
    Wishes {
        ttl: options.ttl,
        fragments: options.fragments,
        broadcast: options.broadcast,
        link_only: options.link_only,
        no_loopback: options.no_loopback,
        mark: options.mark,
        debug: options.debug,
        identifier: options.identifier,
        ip_options: options.asked_of_hops.filter(|_| address.is_ipv4()).map(ip_options),
        // Whoever answers is told, as the original tells it.
        anybody: !options.connect,
    }
}

/// RFC 791: each as long as it may be, filled up to 40 octets.
fn ip_options(asked: AskedOfHops) -> Vec<u8> {
    let head: &[u8] = match asked {
        AskedOfHops::Route => &[1, 7, 39, 4],
        AskedOfHops::Times => &[68, 40, 5, 0],
        AskedOfHops::TimesAndAddresses => &[68, 36, 5, 1],
    };
    let mut options = head.to_vec();
    options.resize(IP_OPTIONS as usize, 0);
    options
}

/// Octets by their place, or the pattern over and over.
fn payload(options: &Options) -> Vec<u8> {
    let places = 0..options.size;
    match options.pattern.len() {
        0 => places.map(|place| place as u8).collect(),
        length => places.map(|place| options.pattern[place as usize % length]).collect(),
    }
}
