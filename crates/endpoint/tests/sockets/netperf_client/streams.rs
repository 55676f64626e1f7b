//! Streams both ways, by time and by bytes: what one end sent, the other has.

use std::net::IpAddr;

use endpoint::error::Side;
use endpoint::peer::netperf::client::stream::{Calls, Streams};
use endpoint::peer::netperf::client::{Found, Measured, Test};
use endpoint::rtt::Ending;
use endpoint::stop::Stop;
use measure::event::Event;
use measure::method::{Asked, Carrier, Direction, Far, Pacing, Pattern, Schedule, Stop as StopAt};
use measure::unit::{Bytes, Nanos};
use protocol::netperf::ask::{self, Ask, Length};
use test_case::test_case;
use testbed::port;

use crate::netperf_client::exchanges::results;
use crate::netperf_client::server::{Netserver, V4, V6, measured};

pub const SECOND: StopAt = StopAt {
    after_ns: Some(Nanos::secs(1)),
    count: None,
    bytes: None,
    settled: None,
    linger_ns: None,
    linger_answered_ns: None,
};

fn bytes(count: u64) -> StopAt {
    StopAt { bytes: Some(Bytes(count)), ..StopAt::default() }
}

pub fn streaming(carrier: Carrier, direction: Direction, stop: StopAt) -> Test {
    let length = match (stop.after_ns, stop.bytes) {
        (Some(time), _) => Length::Seconds((time.0 / 1_000_000_000) as u32),
        (None, Some(bytes)) => Length::Count(bytes.0),
        (None, None) => Length::UntilTold,
    };
    let asked = Asked {
        carrier: Some(carrier),
        pattern: Some(Pattern::Stream),
        direction: Some(direction),
        stop,
        ..Asked::default()
    };
    let method = asked.resolve_towards(Far::Foreign).expect("a sensible method");
    let its = if carrier == Carrier::Udp { ask::Carrier::Udp } else { ask::Carrier::Tcp };
    let sends = direction == Direction::Receive;
    Test::new(method, Ask::omni(its, sends, !sends, length))
}

fn streams(measured: &Measured) -> &Streams {
    let Found::Stream(streams) = &measured.found else { panic!("a stream") };
    streams
}

#[test_case(V4, &SECOND; "by time v4")]
#[test_case(V6, &SECOND; "by time v6")]
#[test_case(V4, &bytes(10_000_000); "by bytes v4")]
#[test_case(V6, &bytes(4_000); "by one call v6")]
fn what_we_send_the_server_has(host: IpAddr, stop: &StopAt) {
    let Some(server) = Netserver::start(&[]) else { return };
    let mut test = streaming(Carrier::Tcp, Direction::Send, stop.clone());
    test.calls.bytes = Some(4_000);
    let measured = measured(&mut server.session(host), &test);
    let theirs = results(&measured).received.expect("told");
    assert_eq!((measured.ended.clone(), measured.sent.bytes), (Ending::Complete, theirs.bytes));
    if let Some(bytes) = stop.bytes {
        assert_eq!(theirs.bytes, bytes.0);
    } else {
        assert!(measured.elapsed >= Nanos::secs(1) && theirs.bytes > 4_000);
        let cpu = measured.cpu.expect("a second has a hundred ticks");
        assert!(cpu.cpus >= 1 && cpu.busy_share > 0.0 && cpu.busy_share <= 1.0, "{cpu:?}");
    }
    let carried: u64 = streams(&measured).metered.intervals().flatten().map(|i| i.carried.bytes.0).sum();
    assert_eq!(carried, measured.sent.bytes, "the series adds up");
}

#[test]
fn whole_calls_are_sent_and_a_server_that_counts_takes_no_more_than_its_count_needs() {
    let Some(server) = Netserver::start(&[]) else { return };
    let measured = measured(&mut server.session(V4), &streaming(Carrier::Tcp, Direction::Send, bytes(10_000_000)));
    let call = streams(&measured).call_bytes.0;
    let buffer = measured.course.at_start.send_buffer_bytes.expect("told");
    assert_eq!((measured.ended.clone(), Bytes(call)), (Ending::Complete, buffer), "that of a new socket");
    assert_eq!(measured.sent.bytes, 10_000_000_u64.next_multiple_of(call));
    let theirs = results(&measured).received.expect("told").bytes;
    assert!((10_000_000..=measured.sent.bytes).contains(&theirs), "{theirs}");
}

#[test_case(V4; "v4")]
#[test_case(V6; "v6")]
fn what_the_server_sends_by_bytes_we_have(host: IpAddr) {
    let Some(server) = Netserver::start(&[]) else { return };
    let mut session = server.session(host);
    for count in [1, 10_000_000] {
        let measured = measured(&mut session, &streaming(Carrier::Tcp, Direction::Receive, bytes(count)));
        let theirs = results(&measured).sent.expect("told");
        assert_eq!((measured.ended.clone(), measured.received.bytes), (Ending::Complete, theirs.bytes));
        assert!(theirs.bytes >= count && measured.received.calls > 0 && measured.sent.calls == 0);
    }
}

#[test_case(V4; "v4")]
#[test_case(V6; "v6")]
fn what_the_server_sends_by_time_we_have(host: IpAddr) {
    let Some(server) = Netserver::start(&[]) else { return };
    let measured = measured(&mut server.session(host), &streaming(Carrier::Tcp, Direction::Receive, SECOND));
    assert_eq!(measured.ended, Ending::Complete);
    // We may have missed the beginning of the second that the server reports.
    assert!(results(&measured).elapsed_seconds.is_some_and(|seconds| seconds >= 1.0) && measured.elapsed > Nanos::ZERO);
    // Its timer interrupts its last call, of which it does not count what had gone.
    let (theirs, call) =
        (results(&measured).sent.expect("told").bytes, measured.course.ready.send_bytes.expect("told"));
    let uncounted = measured.received.bytes.checked_sub(theirs);
    assert!(uncounted.is_some_and(|bytes| bytes < u64::from(call)), "{} and {theirs}", measured.received.bytes);
}

#[test_case(Direction::Send, V4; "to the server v4")]
#[test_case(Direction::Send, V6; "to the server v6")]
#[test_case(Direction::Receive, V4; "from the server v4")]
#[test_case(Direction::Receive, V6; "from the server v6")]
fn datagrams_are_counted_at_both_ends(direction: Direction, host: IpAddr) {
    let Some(server) = Netserver::start(&[]) else { return };
    let mut test = streaming(Carrier::Udp, direction, SECOND);
    test.calls.bytes = Some(1_000);
    test.ask.send_bytes = Some(1_000);
    let measured = measured(&mut server.session(host), &test);
    assert_eq!(measured.ended, Ending::Complete);
    let (sent, received) = match direction {
        Direction::Send => (measured.sent, results(&measured).received.expect("told")),
        _ => (results(&measured).sent.expect("told"), measured.received),
    };
    assert_eq!((sent.bytes % 1_000, received.bytes % 1_000), (0, 0), "whole datagrams");
    assert!(received.bytes > 0 && received.bytes <= sent.bytes, "{received:?} of {sent:?}");
}

#[test]
fn a_schedule_lets_so_many_calls_go() {
    let Some(server) = Netserver::start(&[]) else { return };
    // Ended by its bytes: the number of calls in a time depends on the machine, their least duration does not.
    let mut test = streaming(Carrier::Udp, Direction::Send, bytes(10_000));
    test.calls.bytes = Some(100);
    test.method.schedule = Schedule::Bursts { count: 2, interval_ns: Nanos::millis(20) };
    test.method.pacing = Pacing::Sleep;
    test.interval = Nanos::millis(200);
    let mut intervals = 0;
    let mut listen = |event: Event| intervals += u32::from(matches!(event, Event::Carried { .. }));
    let measured = server.session(V4).measure(&test, &Stop::default(), &mut listen).expect("measured");
    assert_eq!(measured.sent.calls, 100, "50 times two");
    assert_eq!(results(&measured).received.map(|theirs| theirs.calls), Some(100));
    assert!(
        measured.elapsed >= Nanos::millis(49 * 20),
        "the last two are due after 49 intervals: {:?}",
        measured.elapsed
    );
    assert!(intervals >= 2, "{intervals}");
}

#[test]
fn a_file_is_sent_from_the_page_cache_and_the_calls_are_timed() {
    let Some(server) = Netserver::start(&[]) else { return };
    let mut test = streaming(Carrier::Tcp, Direction::Send, bytes(1_000_000));
    test.ask = Ask::classic(ask::Test::TcpSink, Length::Count(1_000_000));
    test.calls = Calls { bytes: Some(10_000), sendfile: true, timed: true, ..Calls::default() };
    let measured = measured(&mut server.session(V4), &test);
    assert_eq!(results(&measured).received.map(|theirs| theirs.bytes), Some(1_000_000));
    assert_eq!(
        streams(&measured).metered.calls.as_ref().map(|calls| calls.response.count()),
        Some(measured.sent.calls)
    );
}

#[test]
fn buffers_are_filled_from_a_file() {
    let Some(server) = Netserver::start(&[]) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("fill");
    std::fs::write(&path, b"abc").expect("written");
    let mut test = streaming(Carrier::Tcp, Direction::Send, bytes(100_000));
    test.calls.fill = Some(path.clone());
    let mut session = server.session(V4);
    assert_eq!(results(&measured(&mut session, &test)).received.map(|theirs| theirs.bytes > 0), Some(true));
    test.calls.fill = Some(path.with_extension("none"));
    let error = session.measure(&test, &Stop::default(), &mut |_| {}).expect_err("no such file");
    assert_eq!(error.side, Side::Ours, "{error}");
}

#[test]
fn an_absurd_size_is_refused_before_memory_is_taken() {
    let Some(server) = Netserver::start(&[]) else { return };
    let mut test = streaming(Carrier::Tcp, Direction::Send, bytes(1));
    test.calls = Calls { bytes: Some(u32::MAX), buffers: Some(u32::MAX), ..Calls::default() };
    let error = server.session(V4).measure(&test, &Stop::default(), &mut |_| {}).expect_err("refused");
    assert_eq!(error.side, Side::Ours, "{error}");
}

#[test_case(Direction::Send, Length::UntilTold; "sending until told")]
#[test_case(Direction::Receive, Length::Seconds(600); "receiving for long")]
fn a_stream_ends_when_it_is_told(direction: Direction, length: Length) {
    let Some(server) = Netserver::start(&[]) else { return };
    let mut test = streaming(Carrier::Tcp, direction, StopAt { after_ns: Some(Nanos::secs(600)), ..SECOND });
    test.ask.length = length;
    test.interval = Nanos::millis(50);
    let told = Stop::default();
    let mut listen = |event: Event| {
        if matches!(event, Event::Carried { .. }) {
            told.request();
        }
    };
    let measured = server.session(V4).measure(&test, &told, &mut listen).expect("measured");
    assert_eq!(measured.ended, Ending::Stopped);
    if direction == Direction::Send {
        assert_eq!(results(&measured).received.map(|theirs| theirs.bytes), Some(measured.sent.bytes));
    }
}

#[test]
fn stream_after_stream_over_one_control_connection() {
    let Some(server) = Netserver::start(&[]) else { return };
    let mut session = server.session(V4);
    for direction in [Direction::Send, Direction::Receive, Direction::Send] {
        let mut test = streaming(Carrier::Tcp, direction, bytes(1_000_000));
        test.data.local_port = port::free();
        test.ask.send_bytes = Some(5_000);
        test.calls.bytes = Some(4_000);
        let measured = measured(&mut session, &test);
        let (results, streams) = (results(&measured), streams(&measured));
        assert_eq!((streams.call_bytes, measured.course.local.port()), (Bytes(4_000), test.data.local_port));
        let (ours, theirs) = match direction {
            Direction::Send => (measured.sent, results.received),
            _ => (measured.received, results.sent),
        };
        assert_eq!((ours.bytes, theirs.map(|theirs| theirs.bytes)), (1_000_000, Some(1_000_000)));
    }
}
