//! Our client against the real server: what it prints is what we counted, to the octet and to the datagram.

use std::net::IpAddr;

use endpoint::engine::Ended;
use endpoint::peer::iperf::client::Test;
use measure::unit::Nanos;
use protocol::iperf::wish::{Back, Pace, Quantity, Way};
use test_case::test_case;
use testbed::port;

use crate::iperf_client::relay::Relay;
use crate::iperf_client::theirs::{Theirs, V4, V6, number};
use crate::iperf_client::{Made, by_bytes, flow};

#[test_case(V4, Way::Upload, false; "upload v4")]
#[test_case(V6, Way::Upload, false; "upload v6")]
#[test_case(V4, Way::Upload, true; "upload in bursts")]
#[test_case(V4, Way::Reverse, false; "reverse v4")]
#[test_case(V6, Way::Reverse, false; "reverse v6")]
#[test_case(V4, Way::Reverse, true; "reverse in bursts")]
#[test_case(V4, Way::Duplex, false; "both ways v4")]
#[test_case(V6, Way::Duplex, false; "both ways v6")]
fn octets_of_a_connection_are_the_same_at_both_ends(host: IpAddr, way: Way, trip_times: bool) {
    let Some(server) = Theirs::start(host, false, &[]) else { return };
    let made = Made::by(&Test { trip_times, ..by_bytes(server.address, way) });
    let expected = if trip_times { 327_760 } else { 307_200 };
    let of = |there: bool| if there { expected } else { 0 };
    assert_eq!((made.bytes(true), made.bytes(false)), (of(way != Way::Reverse), of(way != Way::Upload)));
    if let Some(lines) = server.end(made.outcome.found.len()) {
        let octets: Vec<u64> = lines.iter().take(made.outcome.found.len()).map(|fields| number(fields, 7)).collect();
        assert_eq!(octets, vec![expected; made.outcome.found.len()]);
    }
    made.assert_series();
    assert!(made.outcome.found.iter().all(|found| found.ended == Ended::Complete));
    if way != Way::Duplex {
        assert!(made.outcome.found[0].closed, "{:?}", made.outcome.found);
    }
    if trip_times && way == Way::Reverse {
        assert_eq!(made.outcome.found[0].latency.expect("bursts").count, 10);
    }
}

#[test_case(Way::Upload)]
#[test_case(Way::Reverse)]
#[test_case(Way::Duplex)]
fn parallel_connections_by_time(way: Way) {
    let Some(server) = Theirs::start(V4, false, &[]) else { return };
    let time = Quantity::Time(Nanos::millis(500));
    let made = Made::by(&Test { quantity: time, streams: 3, ..by_bytes(server.address, way) });
    let count = made.outcome.found.len();
    made.assert_series();
    let Some(lines) = server.end(count) else { return };
    let mut theirs: Vec<u64> = lines.iter().take(count).map(|fields| number(fields, 7)).collect();
    let mut ours: Vec<u64> = made.outcome.found.iter().map(|found| found.count.carried.bytes.0).collect();
    theirs.sort_unstable();
    ours.sort_unstable();
    assert_eq!(ours, theirs, "{:?}", made.outcome.found.iter().map(|found| found.lane).collect::<Vec<_>>());
}

#[test]
fn a_paced_connection_keeps_its_rate() {
    let Some(server) = Theirs::start(V4, false, &[]) else { return };
    let pace = Some(Pace::Bits(8_000_000));
    let test = by_bytes(server.address, Way::Upload);
    let made = Made::by(&Test { pace, call_bytes: Some(1_000), quantity: Quantity::Bytes(100_000), ..test });
    // A hundred writes, a millisecond apart; a busy machine may take longer, never less.
    let count = &made.outcome.found[0].count;
    assert_eq!((count.carried.calls, count.carried.bytes.0), (100, 100_000));
    assert!(count.ended.since(count.began) >= Some(Nanos::millis(99)), "{count:?}");
    assert_eq!(server.octets().unwrap_or(100_000), 100_000);
}

#[test]
fn the_servers_word_is_waited_for() {
    let Some(server) = Theirs::start(V4, false, &[]) else { return };
    let made = Made::by(&Test { detects: true, ..by_bytes(server.address, Way::Upload) });
    let ack = made.outcome.found[0].ack.expect("an acknowledgement");
    assert_eq!(ack.version.numbers()[0], 2);
    assert_eq!(server.octets().unwrap_or(307_200), 307_200);
}

#[test]
fn it_is_read_at_the_end_where_it_was_not() {
    let Some(server) = Theirs::start(V4, false, &[]) else { return };
    let made = Made::by(&by_bytes(server.address, Way::Upload));
    assert!(made.outcome.found[0].ack.is_some());
}

#[test]
fn nothing_is_said_where_that_is_wanted() {
    let Some(server) = Theirs::start(V4, false, &[]) else { return };
    let made = Made::by(&Test { plain: true, ..by_bytes(server.address, Way::Upload) });
    assert_eq!((made.bytes(true), made.outcome.found[0].ack), (307_200, None));
    // 2.1.8 does not count the word by which it sees that there is no header.
    assert!([307_196, 307_200].contains(&server.octets().unwrap_or(307_200)));
}

#[test_case(V4, true; "at once v4")]
#[test_case(V4, false; "afterwards v4")]
#[test_case(V6, true; "at once v6")]
fn the_server_connects_back(host: IpAddr, now: bool) {
    let Some(server) = Theirs::start(host, false, &[]) else { return };
    let back = Some(Back { port: port::free(), now });
    let made = Made::by(&Test { back, ..by_bytes(server.address, Way::Upload) });
    assert_eq!((made.bytes(true), made.outcome.missing_back), (307_200, 0));
    let back: Vec<u64> = made.back.iter().map(|ended| ended.count.carried.bytes.0).collect();
    assert_eq!(back, [307_200]);
}

#[test_case(V4, false, 1_000; "v4")]
#[test_case(V6, false, 1_000; "v6")]
#[test_case(V4, true, 1_000; "with trip times")]
#[test_case(V4, false, 64; "shorter than a header")]
fn a_flow_is_reported(host: IpAddr, trip_times: bool, size: u32) {
    let Some(server) = Theirs::start(host, true, &[]) else { return };
    let pace = Some(Pace::Packets(500));
    let quantity = Quantity::Bytes(10_000);
    let test = Test { trip_times, call_bytes: Some(size), pace, quantity, ..flow(server.address, Way::Upload) };
    let made = Made::by(&test);
    let found = &made.outcome.found[0];
    let report = found.report.expect("a report");
    let sent = found.count.carried;
    assert_eq!((report.lost, report.out_of_order, report.datagrams), (0, 0, sent.calls + 1));
    assert_eq!(report.bytes, sent.bytes.0 + u64::from(size), "the one that ends it counts");
    // The first one of short ones is as long as a header.
    let calls = if size == 64 { 10_000_u64.div_ceil(64) } else { 10 };
    assert_eq!(sent.calls, calls);
    assert_eq!(report.has_rest(), trip_times);
    made.assert_series();
}

#[test]
fn parallel_flows_are_reported_each() {
    let Some(server) = Theirs::start(V4, true, &[]) else { return };
    let made = Made::by(&Test { streams: 3, ..flow(server.address, Way::Upload) });
    for found in &made.outcome.found {
        let report = found.report.expect("a report");
        assert_eq!(report.datagrams, found.count.carried.calls + 1);
    }
}

#[test_case(V4; "v4")]
#[test_case(V6; "v6")]
fn the_server_sends_datagrams(host: IpAddr) {
    let Some(server) = Theirs::start(host, true, &[]) else { return };
    let made = Made::by(&flow(server.address, Way::Reverse));
    let found = &made.outcome.found[0];
    let told = found.count.sight.datagrams.expect("datagrams");
    assert_eq!((told.lost, told.expected - told.received, found.closed), (0, 0, true), "{found:?}");
    assert_eq!(told.received, 60);
    assert!(told.transit.is_some_and(|transit| transit.min_ns > 0), "one clock");
}

#[test]
fn datagrams_go_both_ways() {
    let Some(server) = Theirs::start(V4, true, &[]) else { return };
    let made = Made::by(&flow(server.address, Way::Duplex));
    let told = made.lanes(false).next().unwrap().count.sight.datagrams.expect("datagrams");
    assert_eq!(told.lost, 0);
    assert_eq!(told.received, 60);
    assert_eq!(made.bytes(true), 30_000);
}

#[test_case(true; "at once")]
#[test_case(false; "afterwards")]
fn a_flow_comes_back(now: bool) {
    let Some(server) = Theirs::start(V4, true, &[]) else { return };
    let back = Some(Back { port: port::free(), now });
    let made = Made::by(&Test { back, ..flow(server.address, Way::Upload) });
    assert!(made.outcome.found[0].report.is_some());
    assert_eq!((made.back.len(), made.outcome.missing_back), (1, 0));
    let told = made.back[0].count.sight.datagrams.expect("datagrams");
    assert_eq!((told.lost, made.back[0].cut_short.as_ref()), (0, None));
    assert!((60..=61).contains(&told.received), "{told:?}, with the one that ends it");
}

#[test]
fn loss_is_reported_to_the_datagram() {
    let Some(server) = Theirs::start(V4, true, &[]) else { return };
    let relay = Relay::to(server.address);
    let made = Made::by(&flow(relay.address, Way::Upload));
    let report = made.outcome.found[0].report.expect("a report");
    assert_eq!(relay.lost(), 60 / crate::iperf_client::relay::EVERY);
    assert_eq!((report.lost, report.datagrams, report.out_of_order), (relay.lost(), 61, 0));
}
