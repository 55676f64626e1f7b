//! Options of a client, as a test that the engines know.

use std::net::{IpAddr, SocketAddr};

use endpoint::peer::iperf::client::Test;
use endpoint::peer::iperf::framed::{Content, Frames};
use endpoint::socket::tuning::Tuning;
use measure::event::INTERVAL;
use measure::method::{Asked, Carrier, Direction, Far, Pattern, Schedule, SocketOptions, Stop, Traffic, Window};
use measure::unit::{Bytes, Nanos};
use measure::varying::Spread;
use protocol::iperf::frame::Layout;
use protocol::iperf::wish::{Back, Pace, Quantity, Way};

use crate::persona::answer::Answer;
use crate::persona::iperf::options::{Amount, BOUNCE_LENGTH, Bounceback, Client, Form, Kind, Rate, Transport, frames};
use crate::persona::iperf::output::failure;
use crate::persona::iperf::run::place;
use crate::program::PROGRAM;
use crate::words;

/// The same client with an amount that is its file's, where it sends one.
///
/// # Errors
/// A file that cannot be sent, and why.
pub fn whole(client: &Client) -> Result<Client, Answer> {
    let Some(path) = &client.file else { return Ok(client.clone()) };
    let unfit = |why: &str| failure::other(&format!("-F {}: {why}", path.display()));
    let facts = std::fs::metadata(path).map_err(|cause| unfit(&place::said(&cause)))?;
    match facts.len() {
        _ if !facts.is_file() => Err(unfit("no file of a length: what it holds is sent, and its end ends the test")),
        0 => Err(unfit("an empty file: there is nothing to be sent")),
        bytes => Ok(Client { amount: Amount::Bytes(bytes), ..client.clone() }),
    }
}

/// The method with gaps, as it stands in a record.
pub fn asked(client: &Client, local: Option<IpAddr>) -> Asked {
    let common = &client.common;
    let bounce = match client.kind {
        Kind::Bounceback(bounce) => Some(bounce),
        _ => None,
    };
    let udp = common.transport == Transport::Udp;
    let window = common.window.map(|bytes| Bytes(bytes.into()));
    let size = common.length.map(|bytes| Bytes(bytes.into()));
    Asked {
        carrier: Some(if udp { Carrier::Udp } else { Carrier::Tcp }),
        pattern: Some(if bounce.is_some() { Pattern::Exchange } else { Pattern::Stream }),
        direction: bounce.is_none().then(|| direction(&client.kind)),
        request_bytes: if bounce.is_some() { size.or(Some(Bytes(BOUNCE_LENGTH.into()))) } else { size },
        response_bytes: bounce.and_then(|bounce| {
            bounce.reply.map(|bytes| Bytes(bytes.into())).or(size).or(Some(Bytes(BOUNCE_LENGTH.into())))
        }),
        connections: Some(client.streams),
        stop: stop(client.amount),
        // A request that is held longer than this is not lost for it.
        timeout_ns: bounce.map(|bounce| Nanos::secs(10 + u64::from(bounce.hold_ms) / 1_000)),
        warm_up_ns: Some(Nanos::ZERO),
        socket: SocketOptions {
            source_ports: None,
            bind: local,
            interface: common.bind.device.clone(),
            tos: common.tos,
            nodelay: !udp && (common.nodelay || bounce.is_some()),
            congestion: common.congestion.clone().filter(|_| !udp),
            send_buffer_bytes: window,
            receive_buffer_bytes: window,
        },
        nagle: !udp && !common.nodelay && bounce.is_none(),
        stamps: bounce.map(|_| false),
        ..Asked::default()
    }
}

/// The test of a method.
///
/// # Errors
/// A method that makes no sense, with the reason.
pub fn test(client: &Client, server: SocketAddr, asked: &Asked) -> Result<Test, Answer> {
    let to_group = server.ip().is_multicast();
    if to_group && (client.common.transport == Transport::Tcp || client.kind != Kind::Upload) {
        return Err(failure::other("a group is sent to, by datagrams: add -u, and leave away what makes it answer"));
    }
    let mut method =
        asked.resolve_towards(Far::Foreign).map_err(|refusal| failure::other(&words::refusal(&refusal)))?;
    if let (Kind::Bounceback(Bounceback { burst, period: Some(period), .. }), Traffic::Exchange(exchange)) =
        (&client.kind, &mut method.traffic)
    {
        // Each leaves after the reply before, a burst at the start of each period.
        method.schedule = Schedule::Bursts { count: *burst, interval_ns: *period };
        exchange.window = Window::Open { cap: 1 };
    }
    let common = &client.common;
    Ok(Test {
        datagrams: common.transport == Transport::Udp,
        way: way(&client.kind),
        back: back(client),
        streams: client.streams,
        quantity: match client.amount {
            Amount::Time(time) => Quantity::Time(time),
            Amount::Bytes(bytes) => Quantity::Bytes(bytes),
        },
        pace: client.rate.map(|rate| match rate {
            Rate::Bits(bits) => Pace::Bits(bits),
            Rate::Packets(packets) => Pace::Packets(packets),
        }),
        spread: match (client.rate, client.deviation) {
            (Some(Rate::Bits(mean)), Some(deviation)) => Some(Spread { mean, deviation }),
            _ => None,
        },
        frames: client.frames.map(|frames| Frames {
            per_second: frames.per_second,
            content: match frames.content {
                frames::Content::Varying { mean, deviation } => {
                    // The server tells its version too late: who knows that it is 2.1 says so by the form.
                    let plain = common.display.form == Form::V2_1_8;
                    Content::Varying(Spread { mean, deviation }, if plain { Layout::Plain } else { Layout::Barred })
                }
                frames::Content::Fixed(octets) => Content::Fixed(octets),
            },
            gap: frames.gap,
        }),
        near_congestion: client.near_congestion,
        file: client.file.clone(),
        key: client.key.clone(),
        write_times: client.write_times,
        call_bytes: common.length,
        trip_times: client.trip_times,
        detects: client.detects,
        plain: common.compatibility,
        // A sender to a group gets no report.
        silent: client.no_report || to_group,
        local_port: common.bind.port,
        tuning: Tuning {
            segment_bytes: common.mss.filter(|_| common.transport == Transport::Tcp),
            pacing_bytes_per_s: client.kernel_rate.map(|bits| bits / 8),
            unsent_bytes: client.prefetch,
            hops: client.hops,
            quick_acks: client.quick_acks,
            ..Tuning::default()
        },
        interval: common.display.interval.unwrap_or(INTERVAL),
        program: PROGRAM.to_owned(),
        ..Test::new(server, method)
    })
}

/// Direction of a stream, seen from our end.
pub fn direction(kind: &Kind) -> Direction {
    match kind {
        Kind::Reverse => Direction::Receive,
        Kind::FullDuplex => Direction::Both,
        _ => Direction::Send,
    }
}

fn way(kind: &Kind) -> Way {
    match kind {
        Kind::Reverse => Way::Reverse,
        Kind::FullDuplex => Way::Duplex,
        _ => Way::Upload,
    }
}

fn back(client: &Client) -> Option<Back> {
    let now = match client.kind {
        Kind::Dual => true,
        Kind::Tradeoff => false,
        _ => return None,
    };
    Some(Back { port: client.listen_port.unwrap_or(client.port), now })
}

fn stop(amount: Amount) -> Stop {
    match amount {
        Amount::Time(time) => Stop { after_ns: Some(time), ..Stop::default() },
        Amount::Bytes(bytes) => Stop { bytes: Some(Bytes(bytes)), ..Stop::default() },
    }
}
