//! Requests and replies: by count and by time, one and many outstanding, a connection for each, over both IP versions.

use std::net::IpAddr;

use endpoint::peer::netperf::client::{Found, Measured, Test};
use endpoint::rtt::Ending;
use endpoint::stop::Stop;
use measure::event::{Counts, Event};
use measure::method::{self, Carrier, Pattern, Stop as StopAt};
use measure::unit::Nanos;
use protocol::netperf::answer::{Results, Traffic};
use protocol::netperf::ask::{self, Ask, Length};
use test_case::test_case;

use crate::netperf_client::server::{Netserver, V4, V6, by_count, by_time, in_window, measured, with_length};

pub fn counts(measured: &Measured) -> Counts {
    let Found::Exchanges(gathered) = &measured.found else { panic!("exchanges") };
    assert!(gathered.recording.counts.balance());
    gathered.recording.counts
}

pub fn results(measured: &Measured) -> &Results {
    measured.course.results.as_ref().expect("the server's results")
}

/// Every request was answered, and the server counted as many.
fn all_answered(measured: &Measured, count: u64) {
    let counts = counts(measured);
    assert_eq!(measured.ended, Ending::Complete);
    assert_eq!((counts.scheduled, counts.answered), (count, count), "{counts:?}");
    assert_eq!(results(measured).transactions, Some(count));
}

#[test_case(Carrier::Tcp, Pattern::Exchange, V4, 1_000; "tcp_rr v4")]
#[test_case(Carrier::Tcp, Pattern::Exchange, V6, 1_000; "tcp_rr v6")]
#[test_case(Carrier::Udp, Pattern::Exchange, V4, 1_000; "udp_rr v4")]
#[test_case(Carrier::Udp, Pattern::Exchange, V6, 1_000; "udp_rr v6")]
#[test_case(Carrier::Tcp, Pattern::ConnectExchange, V4, 200; "tcp_crr v4")]
#[test_case(Carrier::Tcp, Pattern::ConnectExchange, V6, 200; "tcp_crr v6")]
#[test_case(Carrier::Tcp, Pattern::ConnectClose, V4, 200; "tcp_cc v4")]
#[test_case(Carrier::Tcp, Pattern::ConnectClose, V6, 200; "tcp_cc v6")]
fn by_count_both_ends_count_the_same(carrier: Carrier, pattern: Pattern, host: IpAddr, count: u64) {
    let Some(server) = Netserver::start(&[]) else { return };
    let mut session = server.session(host);
    let measured = measured(&mut session, &by_count(carrier, pattern, count));
    all_answered(&measured, count);
    let bytes = if pattern == Pattern::ConnectClose { 0 } else { count };
    assert_eq!(measured.sent, Traffic { bytes, calls: count });
    if pattern == Pattern::Exchange {
        assert_eq!(results(&measured).received.map(|traffic| traffic.bytes), Some(count));
        assert_eq!(results(&measured).sent.map(|traffic| traffic.bytes), Some(count));
        assert_eq!(measured.course.remote.port(), measured.course.ready.data_port);
        assert_eq!(measured.course.at_start.local, measured.course.local.to_string());
    }
    session.close(&Stop::default());
}

#[test_case(Carrier::Tcp, V4; "tcp_rr v4")]
#[test_case(Carrier::Udp, V6; "udp_rr v6")]
fn by_time_both_ends_count_the_same(carrier: Carrier, host: IpAddr) {
    let Some(server) = Netserver::start(&[]) else { return };
    let measured = measured(&mut server.session(host), &by_time(carrier, Pattern::Exchange, 1));
    let counts = counts(&measured);
    assert!(counts.answered > 100, "{counts:?}");
    all_answered(&measured, counts.answered);
    assert!(measured.elapsed >= Nanos::secs(1));
}

#[test]
fn results_that_come_four_seconds_late_are_waited_for() {
    let Some(server) = Netserver::start(&[]) else { return };
    let measured = measured(&mut server.session(V4), &by_time(Carrier::Tcp, Pattern::ConnectExchange, 1));
    let counts = counts(&measured);
    all_answered(&measured, counts.answered);
    assert!(measured.elapsed < Nanos::secs(4), "the server's wait is none of ours: {}", measured.elapsed);
}

#[test]
fn a_server_whose_results_are_not_wanted_is_free_at_once() {
    let Some(server) = Netserver::start(&[]) else { return };
    let stop = StopAt { count: Some(50), ..StopAt::default() };
    let test = with_length(Carrier::Tcp, Pattern::ConnectExchange, stop, Length::Seconds(3_600));
    let test = Test { wants_results: false, ..test };
    let measured = measured(&mut server.session(V4), &test);
    assert_eq!(counts(&measured).answered, 50);
    // It ends with an error in place of results; the point is that it ends.
    assert!(measured.course.results.is_err());
}

#[test]
fn a_count_of_connections_that_is_cut_short_is_not_waited_for() {
    let Some(server) = Netserver::start(&[]) else { return };
    let mut test = by_count(Carrier::Tcp, Pattern::ConnectExchange, 1_000_000_000);
    test.interval = Nanos::millis(20);
    let told = Stop::default();
    let mut listen = |event: Event| {
        if matches!(event, Event::Second { .. }) {
            told.request();
        }
    };
    let measured = server.session(V4).measure(&test, &told, &mut listen).expect("measured");
    assert_eq!(measured.ended, Ending::Stopped);
    // The server was told by a reset, and answers with that.
    assert!(measured.course.results.is_err_and(|error| error.to_string().contains("reset")));
}

#[test_case(Carrier::Tcp, 1_001; "tcp")]
#[test_case(Carrier::Tcp, 3; "tcp fewer than the window")]
#[test_case(Carrier::Udp, 1_001; "udp")]
#[test_case(Carrier::Udp, 3; "udp fewer than the window")]
fn a_burst_sends_no_more_than_the_count(carrier: Carrier, count: u64) {
    let Some(server) = Netserver::start(&[]) else { return };
    let test = in_window(by_count(carrier, Pattern::Exchange, count), 9);
    let mut session = server.session(V4);
    all_answered(&measured(&mut session, &test), count);
    all_answered(&measured(&mut session, &test), count);
}

#[test_case(ask::Test::TcpRr, Carrier::Tcp, Pattern::Exchange; "tcp_rr")]
#[test_case(ask::Test::UdpRr, Carrier::Udp, Pattern::Exchange; "udp_rr")]
#[test_case(ask::Test::TcpCrr, Carrier::Tcp, Pattern::ConnectExchange; "tcp_crr")]
#[test_case(ask::Test::TcpCc, Carrier::Tcp, Pattern::ConnectClose; "tcp_cc")]
fn the_classic_requests_say_the_same(classic: ask::Test, carrier: Carrier, pattern: Pattern) {
    let Some(server) = Netserver::start(&[]) else { return };
    let test = by_count(carrier, pattern, 100);
    let test = Test { ask: Ask::classic(classic, Length::Count(100)), ..test };
    all_answered(&measured(&mut server.session(V4), &test), 100);
}

#[test]
fn one_control_connection_serves_test_after_test() {
    let Some(server) = Netserver::start(&[]) else { return };
    let mut session = server.session(V4);
    for round in 1..=3 {
        for carrier in [Carrier::Tcp, Carrier::Udp] {
            all_answered(&measured(&mut session, &by_count(carrier, Pattern::Exchange, 100 * round)), 100 * round);
        }
        all_answered(&measured(&mut session, &by_count(Carrier::Tcp, Pattern::ConnectExchange, 20)), 20);
    }
    let calibration = session.calibrate(&Stop::default()).expect("it tells");
    assert!(calibration.count >= 1 && calibration.rate.is_some(), "{calibration:?}");
    session.close(&Stop::default());
}

#[test_case(Carrier::Tcp; "tcp")]
#[test_case(Carrier::Udp; "udp")]
fn a_test_until_told_ends_when_it_is_told(carrier: Carrier) {
    let Some(server) = Netserver::start(&[]) else { return };
    let stop = StopAt { after_ns: Some(Nanos::secs(600)), ..StopAt::default() };
    let test = with_length(carrier, Pattern::Exchange, stop, Length::UntilTold);
    let test = Test { interval: Nanos::millis(50), ..test };
    let told = Stop::default();
    let mut intervals = 0;
    let mut listen = |event: Event| {
        if matches!(event, Event::Second { .. }) {
            intervals += 1;
            if intervals == 3 {
                told.request();
            }
        }
    };
    let measured = server.session(V4).measure(&test, &told, &mut listen).expect("measured");
    let counts = counts(&measured);
    assert_eq!(measured.ended, Ending::Stopped);
    assert!(counts.answered > 0);
    // One that is under way when the wish comes is of no consequence to us, and may have been answered.
    let theirs = results(&measured).transactions.expect("told");
    assert!((counts.answered..=counts.answered + 1).contains(&theirs), "{theirs} of {counts:?}");
}

#[test_case(1, 1_000, Carrier::Tcp; "long replies")]
#[test_case(40_000, 300_000, Carrier::Tcp; "longer than the buffers")]
#[test_case(1_400, 8_000, Carrier::Udp; "datagrams")]
fn sizes_differ_as_asked(request: u32, response: u32, carrier: Carrier) {
    let Some(server) = Netserver::start(&[]) else { return };
    let mut test = by_count(carrier, Pattern::Exchange, 50);
    let method::Traffic::Exchange(exchange) = &mut test.method.traffic else { panic!("{}", test.method) };
    (exchange.request_bytes.0, exchange.response_bytes.0) = (request.into(), response.into());
    test.ask.request_bytes = Some(request);
    test.ask.response_bytes = Some(response);
    let measured = measured(&mut server.session(V4), &test);
    all_answered(&measured, 50);
    assert_eq!(results(&measured).received.map(|traffic| traffic.bytes), Some(50 * u64::from(request)));
    assert_eq!(results(&measured).sent.map(|traffic| traffic.bytes), Some(50 * u64::from(response)));
}
