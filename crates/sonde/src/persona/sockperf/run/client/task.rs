//! What was asked for, as a test the engines know.

use std::num::NonZeroU32;
use std::sync::Arc;

use endpoint::peer::sockperf::client::{Content, Groups, LINGER, Options, TCP_TIMEOUT, Test, UDP_TIMEOUT};
use endpoint::socket::multicast::{Interface, Outgoing};
use measure::method::{Asked, Carrier, Far, Pacing, Pattern, Schedule, Sizes, SocketOptions, Stop, Waiting};
use measure::trace::Trace;
use measure::unit::{Bytes, Nanos, Rate};
use protocol::sockperf::payload;

use crate::PROGRAM;
use crate::persona::answer::Answer;
use crate::persona::sockperf::options::{self, BEFORE, BEHIND, Client, Kind, Load, Mps, Own};
use crate::persona::sockperf::output::failure;
use crate::persona::sockperf::run::client::places::Places;
use crate::persona::sockperf::statistics::{COOL_DOWN_NS, WARM_UP_NS};

/// How long the intervals are where signs of life are wanted: they come that late at most.
const LIVELY: Nanos = Nanos::millis(50);

/// The method with gaps, as it stands in a record.
pub fn asked(client: &Client, own: &Own, places: &Places, trace: Option<&Trace>) -> Asked {
    let carrier = if places.has_datagrams() { Carrier::Udp } else { Carrier::Tcp };
    let ping_pong = matches!(client.kind, Kind::PingPong { .. });
    let load = client.kind.load();
    let schedule = trace.map(Trace::schedule).or_else(|| load.and_then(schedule));
    let (request_bytes, sizes) = load.map_or((None, Sizes::Fixed), sizes);
    // One message out, its answer back, the next: the engine that does nothing else.
    let lockstep = ping_pong && places.all.len() == 1 && schedule.is_none() && request_bytes.is_some();
    let lockstep = lockstep && burst(client) == NonZeroU32::MIN;
    let common = &client.common;
    Asked {
        carrier: Some(carrier),
        pattern: Some(if ping_pong { Pattern::Exchange } else { Pattern::Load }),
        window: lockstep.then_some(1),
        volley: (ping_pong && !lockstep).then_some(burst(client).get()),
        schedule,
        pacing: schedule.is_some().then(|| own.pacing.unwrap_or(Pacing::Hybrid)),
        waiting: Some(waiting(client)),
        reply_every: (!ping_pong).then(|| client.kind.reply_every().unwrap_or(0)),
        request_bytes,
        sizes,
        response_bytes: request_bytes,
        connections: u32::try_from(places.all.len()).ok(),
        threads: Some(1),
        cpus: if client.sender_cpus.0.is_empty() { &client.receiver_cpus } else { &client.sender_cpus }.0.clone(),
        stop: stop(client),
        timeout_ns: Some(if carrier == Carrier::Tcp { TCP_TIMEOUT } else { UDP_TIMEOUT }),
        warm_up_ns: Some(Nanos::ZERO),
        socket: SocketOptions {
            bind: places.local,
            tos: common.tos,
            send_buffer_bytes: common.buffer_bytes.map(|bytes| Bytes(bytes.into())),
            receive_buffer_bytes: common.buffer_bytes.map(|bytes| Bytes(bytes.into())),
            ..SocketOptions::default()
        },
        nagle: carrier == Carrier::Tcp && !common.nodelay,
        // Nothing that is printed shows them, and what is printed should be the tool's time alone.
        stamps: Some(false),
        seed: Some(seed().into()),
        ..Asked::default()
    }
}

/// The test of a method.
///
/// # Errors
/// A method that makes no sense, with the reason.
pub fn test(
    client: &Client,
    own: &Own,
    places: &Places,
    asked: &Asked,
    trace: Option<Arc<Trace>>,
) -> Result<Test, Answer> {
    let mut method = asked.resolve_towards(Far::Foreign).map_err(|refusal| failure::other(&refusal.to_string()))?;
    // Among sockets of both kinds those of TCP have it too.
    method.socket.nodelay = client.common.nodelay;
    let longest = client.kind.load().map_or(payload::PLAYBACK_LONGEST, |load| load.size.most);
    let common = &client.common;
    Ok(Test {
        trace,
        local_port: client.local.port,
        burst: burst(client),
        content: Content { longest, seed: seed() },
        integrity: matches!(client.kind, Kind::PingPong { data_integrity: true, .. }),
        skips: common.skip_blocking_send,
        connect: Nanos::millis(client.connect_timeout_ms.into()),
        options: Options {
            reuse_address: common.reuse_address,
            busy_poll_us: common.busy_poll_us.filter(|_| common.nonblocked),
            pacing_bytes_per_s: common.pacing_rate.map(u64::from),
        },
        groups: groups(client)?,
        // A throughput gets no answers, and so nothing is told of it.
        samples: own.samples.is_some() || client.kind.reply_every().is_some(),
        interval: if common.activity.is_some() { LIVELY } else { measure::event::INTERVAL },
        program: PROGRAM.to_owned(),
        ..Test::new(method, places.all.clone())
    })
}

fn groups(client: &Client) -> Result<Groups, Answer> {
    let asked = &client.multicast;
    let interface = |option: &str, word: &Option<String>| {
        let found = word.as_ref().map(|word| Interface::of(word)).transpose();
        found.map_err(|error| failure::other(&format!("{option}: {error}")))
    };
    Ok(Groups {
        receive: interface("--mc-rx-if", &asked.receive_interface)?,
        outgoing: Outgoing {
            interface: interface("--mc-tx-if", &asked.send_interface)?,
            ttl: asked.ttl,
            loopback: asked.loopback,
        },
        warm_up: !client.common.skip_warm_up,
    })
}

/// Messages a second, where a rate was asked for.
pub fn rate(client: &Client) -> Option<u32> {
    match client.kind.load()?.rate {
        Mps::At(rate) => Some(rate),
        Mps::Max => None,
    }
}

fn burst(client: &Client) -> NonZeroU32 {
    client.kind.load().and_then(|load| NonZeroU32::new(load.burst)).unwrap_or(NonZeroU32::MIN)
}

fn schedule(load: &Load) -> Option<Schedule> {
    let Mps::At(rate) = load.rate else { return None };
    if load.burst == 1 {
        return Rate::per_second(rate.into()).map(|rate_per_1000s| Schedule::Rate { rate_per_1000s });
    }
    let interval = u64::from(load.burst) * 1_000_000_000 / u64::from(rate.max(1));
    Some(Schedule::Bursts { count: load.burst, interval_ns: Nanos(interval.max(1)) })
}

/// The one size of all messages, or how their sizes are drawn.
fn sizes(load: &Load) -> (Option<Bytes>, Sizes) {
    let (smallest, largest) = (Bytes(load.size.least().into()), Bytes(load.size.most.into()));
    if smallest == largest { (Some(largest), Sizes::Fixed) } else { (None, Sizes::Uniform { smallest, largest }) }
}

fn waiting(client: &Client) -> Waiting {
    match client.common.busy_poll_us {
        _ if client.common.nonblocked => Waiting::Spin,
        Some(micros) if micros > 0 => Waiting::BusyPoll { micros },
        _ => Waiting::Block,
    }
}

/// The time asked for is that of valid data: what is left out before and behind it comes on top.
fn stop(client: &Client) -> Stop {
    let linger_ns = Some(LINGER);
    match (&client.kind, client.kind.load().map(|load| load.stop)) {
        (Kind::Throughput { .. }, Some(options::Stop::Seconds(seconds))) => {
            Stop { after_ns: Some(Nanos::secs(seconds.into())), linger_ns, ..Stop::default() }
        }
        (_, Some(options::Stop::Seconds(seconds))) => {
            let around = Nanos(WARM_UP_NS + COOL_DOWN_NS);
            let length = Nanos(Nanos::secs(seconds.into()).0 + around.0);
            Stop { after_ns: Some(length), linger_ns, ..Stop::default() }
        }
        (_, Some(options::Stop::Messages(count))) => {
            let count = u64::from(BEFORE) + u64::from(count) + u64::from(BEHIND);
            Stop { count: Some(count), linger_ns, ..Stop::default() }
        }
        (_, None) => Stop { linger_ns, ..Stop::default() },
    }
}

/// What contents and sizes are drawn from: the environment variable that the original reads too.
#[expect(clippy::disallowed_methods, reason = "sonde is the crate that reads the environment")]
fn seed() -> u32 {
    std::env::var("SEED").map_or(payload::SEED, |text| payload::seed(&text))
}
