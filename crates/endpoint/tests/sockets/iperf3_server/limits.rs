//! Requests that a server refuses to all clients.

use std::time::Duration;

use measure::unit::Nanos;
use protocol::iperf3::code::Code;
use protocol::iperf3::parameters::{Direction, Parameters, Protocol};
use test_case::test_case;
use testbed::wait;

use endpoint::peer::iperf3::server::settings::{Limits, RateLimit};

use super::Ours;
use super::hand::Hand;
use crate::strangers::strangers;

#[test_case(|limits| limits.streams = 3, 200; "streams")]
#[test_case(|limits| limits.buffer_bytes = 1 << 20, 200; "memory")]
#[test_case(|limits| limits.seconds = Some(11), 37; "time")]
#[test_case(|limits| limits.rate = Some(RateLimit::new(7_999)), 27; "rate")]
fn more_than_the_bound_is_refused(change: fn(&mut Limits), code: i32) {
    let server = Ours::with(|settings| change(&mut settings.limits));
    let asked =
        Parameters { parallel: 4, time: 10, omit: 2, rate: Some(2_000), block: Some(1 << 17), ..Parameters::default() };
    let mut hand = Hand::new(&server, 1);
    hand.ask(&asked);
    assert_eq!(hand.failure(), code);
    assert_eq!(server.notes.over(1).failed.map(|failed| failed.0), Some(Code(code)));
    assert_eq!(server.notes.over(1).events, ["accepted", "failed"]);
}

#[test]
fn strangers_give_way_to_who_asks_for_a_test() {
    let server = Ours::with(|settings| settings.limits.connections = 8);
    let mut known = Hand::new(&server, 1);
    known.ask(&Parameters::default());
    assert_eq!(known.hear(), Some(10));
    // Each has said a part of its cookie.
    let strangers = strangers(server.port(), 40, &[b'a'; 20]);
    let mut late = Hand::new(&server, 2);
    late.ask(&Parameters::default());
    assert_eq!(late.hear(), Some(10));
    let _stream = known.stream();
    assert_eq!((known.hear(), known.hear()), (Some(1), Some(2)), "its test goes on");
    drop(strangers);
}

/// A cookie is soon said: a test's place is not held by that alone.
#[test]
fn who_says_no_more_than_a_cookie_gives_its_test_away() {
    let server = Ours::with(|settings| settings.limits.tests = 3);
    let mut silent: Vec<Hand> = (1..4).map(|number| Hand::new(&server, number)).collect();
    assert!(silent.iter_mut().all(|hand| hand.hear() == Some(9)));
    // One cookie is enough: who is turned away leaves nothing behind.
    let let_in = || Hand::new(&server, 4).hear() == Some(9);
    assert!(wait::within(Duration::from_secs(8), let_in), "before the others have had their time (REST)");
    drop(silent);
}

#[test]
fn what_a_test_took_is_there_for_the_next() {
    let server = Ours::with(|settings| (settings.limits.streams, settings.limits.tests) = (2, 1));
    for number in 1..4 {
        let mut hand = Hand::new(&server, number);
        hand.ask(&Parameters { parallel: 2, ..Parameters::default() });
        assert_eq!(hand.hear(), Some(10));
        let _streams = (hand.stream(), hand.stream());
        assert_eq!((hand.hear(), hand.hear()), (Some(1), Some(2)));
        let mut busy = Hand::new(&server, 100 + number);
        assert_eq!((busy.hear(), busy.hear()), (Some(0xff), None));
        hand.finish(2);
        assert_eq!(server.notes.over(number.into()).failed, None);
        // The server is free when it has closed the connection, not when it has told the observer.
        assert_eq!(hand.hear(), None);
    }
}

#[test]
fn an_endless_test_is_none_where_time_is_bounded() {
    let server = Ours::with(|settings| settings.limits.seconds = Some(60));
    let mut hand = Hand::new(&server, 1);
    hand.ask(&Parameters { time: 0, bytes: 1, ..Parameters::default() });
    assert_eq!(hand.failure(), 37);
}

#[test]
fn sctp_is_refused() {
    let server = Ours::start();
    let mut hand = Hand::new(&server, 1);
    hand.ask(&Parameters { protocol: Protocol::Sctp, ..Parameters::default() });
    assert_eq!(hand.failure(), 18);
}

#[test]
fn a_test_that_carries_more_than_the_bound_is_ended() {
    let limit = RateLimit { bits_per_s: 100_000, averaging: Nanos::millis(200) };
    let server = Ours::with(|settings| settings.limits.rate = Some(limit));
    let mut hand = Hand::new(&server, 1);
    hand.ask(&Parameters { direction: Direction::Reverse, ..Parameters::default() });
    assert_eq!(hand.hear(), Some(10));
    let mut stream = hand.stream();
    assert_eq!((hand.hear(), hand.hear()), (Some(1), Some(2)));
    let reading = std::thread::spawn(move || std::io::copy(&mut stream, &mut std::io::sink()));
    assert_eq!(hand.failure(), 27);
    drop(reading.join());
    let told = server.notes.over(1);
    assert_eq!(told.events, ["accepted", "asked", "streams", "ran", "failed"]);
    assert!(told.ours.unwrap().streams[0].bytes > 0);
}

#[test]
fn silence_ends_a_test() {
    let server = Ours::with(|settings| settings.receive_timeout = Nanos::millis(200));
    let mut hand = Hand::new(&server, 1);
    hand.ask(&Parameters { time: 0, ..Parameters::default() });
    assert_eq!(hand.hear(), Some(10));
    let _stream = hand.stream();
    assert_eq!((hand.hear(), hand.hear(), hand.failure()), (Some(1), Some(2), 144));
}

#[test]
fn a_server_for_one_test_ends_after_one_that_failed() {
    let mut server = Ours::with(|settings| settings.one_off = true);
    let mut refused = Hand::new(&server, 1);
    assert_eq!(refused.hear(), Some(9));
    refused.say_framed("nonsense");
    assert_eq!(refused.failure(), 114);
    server.ended();
}

#[test]
fn a_server_for_one_test_ends_after_one_whose_client_vanished() {
    let mut server = Ours::with(|settings| settings.one_off = true);
    let mut hand = Hand::new(&server, 1);
    hand.ask(&Parameters::default());
    assert_eq!(hand.hear(), Some(10));
    drop((hand.stream(), hand));
    server.ended();
    assert_eq!(server.notes.over(1).failed.map(|(code, _)| code), Some(Code::CLOSED));
}

#[test]
fn a_server_for_one_test_does_not_end_after_who_asked_for_none() {
    let mut server = Ours::with(|settings| settings.one_off = true);
    drop(std::net::TcpStream::connect(server.at("127.0.0.1")).unwrap());
    let mut hand = Hand::new(&server, 1);
    hand.ask(&Parameters::default());
    assert_eq!(hand.hear(), Some(10));
    let _stream = hand.stream();
    assert_eq!((hand.hear(), hand.hear()), (Some(1), Some(2)));
    hand.finish(1);
    server.ended();
}
