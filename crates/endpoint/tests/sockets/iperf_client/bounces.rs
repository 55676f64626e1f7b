//! Requests and replies: with the real server, and with ours.

use std::net::SocketAddr;

use endpoint::engine::Ended;
use endpoint::peer::iperf::client::Test;
use endpoint::peer::iperf::client::bounce::{self, Asked as Besides, Bounced};
use endpoint::peer::iperf::server::event::Transport;
use endpoint::stop::Stop;
use measure::method::{Asked, Carrier, Far, Pattern, Schedule, Stop as StopAt, Traffic, Window};
use measure::unit::{Bytes, Nanos};

use crate::iperf_client::ours::Ours;
use crate::iperf_client::theirs::{Theirs, V4, V6};

/// A test of `count` requests of 100 octets.
fn test(server: SocketAddr, count: u64) -> Test {
    let asked = Asked {
        carrier: Some(Carrier::Tcp),
        pattern: Some(Pattern::Exchange),
        request_bytes: Some(Bytes(100)),
        response_bytes: Some(Bytes(100)),
        stop: StopAt { count: Some(count), ..StopAt::default() },
        ..Asked::default()
    };
    Test::new(server, asked.resolve_towards(Far::Foreign).expect("a sensible method"))
}

fn made(test: &Test, besides: Besides) -> Bounced {
    let bounced =
        bounce::measure(test, besides, &Stop::default(), &mut |_| {}).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(bounced.gathered.ended, Ended::Complete);
    bounced
}

#[test]
fn every_request_is_answered() {
    for host in [V4, V6] {
        let Some(server) = Theirs::start(host, false, &[]) else { return };
        let bounced = made(&test(server.address, 200), Besides::default());
        let counts = bounced.gathered.recording.counts;
        assert_eq!((counts.answered, counts.lost, counts.corrupt), (200, 0, 0), "{counts:?}");
        assert!(bounced.one_way.is_none());
    }
}

#[test]
fn delays_one_way_add_up_to_less_than_the_round_trip() {
    let Some(server) = Theirs::start(V4, false, &[]) else { return };
    let bounced = made(&Test { trip_times: true, ..test(server.address, 100) }, Besides::default());
    let one_way = bounced.one_way.expect("one clock");
    assert_eq!((one_way.to.count, one_way.from.count), (100, 100));
    // Stamps are cut off to microseconds.
    assert!(one_way.to.min_ns >= -1_000 && one_way.from.min_ns >= 0, "{one_way:?}");
}

#[test]
fn bursts_leave_each_after_the_reply_before() {
    let server = Ours::start(Transport::Tcp);
    let mut test = test(server.address, 30);
    test.method.schedule = Schedule::Bursts { count: 10, interval_ns: Nanos::millis(100) };
    let Traffic::Exchange(exchange) = &mut test.method.traffic else { panic!("{}", test.method) };
    exchange.window = Window::Open { cap: 1 };
    let bounced = made(&test, Besides::default());
    let counts = bounced.gathered.recording.counts;
    assert_eq!((counts.answered, counts.lost, counts.corrupt), (30, 0, 0), "{counts:?}");
}

#[test]
fn a_server_holds_a_request_as_long_as_it_is_asked_to() {
    let server = Ours::start(Transport::Tcp);
    let bounced = made(&test(server.address, 5), Besides { hold_us: 20_000, late_acks: true });
    let shortest = bounced.gathered.recording.response.min();
    assert!(shortest >= Some(Nanos::millis(20)), "{shortest:?}");
}
