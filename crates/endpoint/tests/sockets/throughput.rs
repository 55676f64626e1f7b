//! Streams between both of our ends over loopback: one end's sent payload and the other's received payload must agree.
//!
//! Not here: the reflector's answers octet by octet ([`crate::throughput::by_hand`] has a strange client's attempts),
//! and the worth of the numbers (the bench).

mod by_hand;
mod datagrams;
mod lost;
mod path;
mod tcp;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use endpoint::rtt::Target;
use endpoint::stop::Stop;
use endpoint::throughput::{self, Finding, Task};
use measure::method::{Asked, Carrier, Direction, Pattern, Schedule};
use measure::unit::{Bytes, Nanos, Rate};

use crate::served::PROGRAM;

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

/// Streams of calls of `call` bytes, which end when they have carried `bytes` all together.
fn asked(carrier: Carrier, direction: Direction, streams: u32, call: u64, bytes: u64) -> Asked {
    let stop = measure::method::Stop { bytes: Some(Bytes(bytes)), ..Default::default() };
    Asked {
        carrier: Some(carrier),
        pattern: Some(Pattern::Stream),
        direction: Some(direction),
        request_bytes: Some(Bytes(call)),
        connections: Some(streams),
        stop,
        ..Asked::default()
    }
}

/// The same by time.
fn lasting(carrier: Carrier, direction: Direction, streams: u32, call: u64, time: Nanos) -> Asked {
    let stop = measure::method::Stop { after_ns: Some(time), ..Default::default() };
    Asked { stop, ..asked(carrier, direction, streams, call, 1) }
}

fn task(asked: &Asked, address: SocketAddr) -> Task {
    let target = Target { host: address.to_string(), address };
    Task { target: Some(target), ..Task::new(asked.resolve().expect("makes sense"), PROGRAM) }
}

/// Schedule of `per_second` calls or datagrams a second, all streams of a direction together.
fn rate(per_second: u64) -> Option<Schedule> {
    Rate::per_second(per_second).map(|rate_per_1000s| Schedule::Rate { rate_per_1000s })
}

fn measured(task: &Task) -> Finding {
    throughput::measure(task, &Stop::default(), &mut |_| ()).expect("measured")
}
