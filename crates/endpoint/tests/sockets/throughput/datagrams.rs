//! Over UDP the datagrams sent are those received and those lost: sequence numbers say so, and so do the kernel's
//! counts of its drops.

use std::net::IpAddr;

use endpoint::reflector::Settings;
use endpoint::reflector::permit::{Permit, Permits};
use endpoint::rtt::Ending;
use endpoint::stop::Stop;
use endpoint::throughput::{self, Finding, Task};
use measure::interval::arrivals::Datagrams;
use measure::method::{Asked, Batch, BatchBy, Carrier, Direction, SocketOptions};
use measure::unit::{Bytes, Nanos};
use protocol::native::key::Key;
use protocol::native::limits::Limits;
use test_case::test_case;

use crate::served::{PROGRAM, with_reflector, with_settings};
use crate::throughput::{V4, V6, asked, lasting, measured, rate, task};

/// Counts of one stream, warm-up included: datagrams sent, and those that its receiver counted and its kernel dropped.
#[derive(Debug)]
struct Flow {
    sent: u64,
    counted: Datagrams,
    omitted: Option<Datagrams>,
    bytes: u64,
    dropped: Option<u64>,
}

/// The streams that went to the reflector, and those that came from it.
fn flows(found: &Finding) -> (Vec<Flow>, Vec<Flow>) {
    let sent = found.threads.iter().filter_map(|thread| thread.sent_datagrams);
    let there = sent.zip(&found.peer_received).map(|(sent, told)| Flow {
        sent,
        counted: told.stream.datagrams.expect("a receiver of datagrams counts them"),
        omitted: None,
        bytes: told.stream.carried.bytes.0 + told.omitted.bytes.0,
        dropped: told.socket.as_ref().and_then(|socket| socket.dropped),
    });
    let streams = found.received.iter().flat_map(|metered| &metered.streams);
    let sockets = found.threads.iter().zip(&found.sockets).filter(|(thread, _)| !thread.sent).map(|(_, socket)| socket);
    let back = found.peer_sent.iter().zip(streams.zip(sockets)).map(|(told, (stream, socket))| Flow {
        sent: told.sent_datagrams.expect("a sender of datagrams numbers them"),
        counted: stream.sight.datagrams.expect("a receiver of datagrams counts them"),
        omitted: stream.omitted_sight.datagrams,
        bytes: stream.carried.bytes.0 + stream.omitted.bytes.0,
        dropped: socket.dropped,
    });
    (there.collect(), back.collect())
}

/// Asserts that every datagram sent either arrived or is reported as lost; on loopback only a full buffer loses one.
fn assert_exact(found: &Finding, size: u64, together: bool) {
    assert_eq!((&found.ended, found.undrained, &found.report_missing), (&Ending::Complete, 0, &None));
    let (there, back) = flows(found);
    assert_eq!(there.len() + back.len(), found.threads.len());
    for flow in there.iter().chain(&back) {
        let omitted = flow.omitted.unwrap_or_default();
        let (received, lost) = (flow.counted.received + omitted.received, flow.counted.lost + omitted.lost);
        assert_eq!(received + lost.cast_unsigned(), flow.sent, "{flow:?}");
        assert_eq!(flow.bytes, received * size, "{flow:?}");
        assert_eq!((flow.counted.duplicates, flow.counted.foreign, flow.counted.out_of_order), (0, 0, 0), "{flow:?}");
        let (dropped, lost) = (flow.dropped.unwrap(), lost.cast_unsigned());
        if together {
            // Datagrams in one buffer that was dropped count as one there.
            assert!(dropped <= lost, "{flow:?}");
        } else {
            // A buffer that is still full drops what says that it was the last, too, which is said ten times at most.
            assert!((lost..=lost + 10).contains(&dropped), "{flow:?}");
        }
    }
}

#[test_case(Direction::Send, V4, 1; "sent, IPv4, one")]
#[test_case(Direction::Send, V6, 4; "sent, IPv6, four")]
#[test_case(Direction::Receive, V4, 4; "received, IPv4, four")]
#[test_case(Direction::Receive, V6, 1; "received, IPv6, one")]
#[test_case(Direction::Both, V4, 4; "both ways, IPv4, four")]
#[test_case(Direction::Both, V6, 1; "both ways, IPv6, one")]
fn what_is_sent_is_what_comes_and_what_is_lost(direction: Direction, ip: IpAddr, streams: u32) {
    with_reflector(ip, |address| {
        let bytes = 4_000 * 1_000;
        let asked = asked(Carrier::Udp, direction, streams, 1_000, bytes);
        let found = measured(&task(&asked, address));
        assert_exact(&found, 1_000, false);
        let (there, back) = flows(&found);
        for way in [&there, &back].into_iter().filter(|way| !way.is_empty()) {
            // Bytes end the sender, whatever came of them.
            assert_eq!(way.iter().map(|flow| flow.sent).sum::<u64>(), 4_000);
        }
    });
}

#[test_case(Direction::Send; "sent")]
#[test_case(Direction::Receive; "received")]
fn in_segments_every_datagram_counts(direction: Direction) {
    with_reflector(V4, |address| {
        let asked = asked(Carrier::Udp, direction, 2, 500, 6_400 * 500);
        let batch = Some(Batch { messages: 64, by: BatchBy::Segments });
        let found = measured(&task(&Asked { batch, ..asked }, address));
        assert_exact(&found, 500, true);
    });
}

#[test_case(Direction::Send, 1; "sent")]
#[test_case(Direction::Receive, 1; "received")]
#[test_case(Direction::Both, 1; "both ways")]
#[test_case(Direction::Both, 16; "both ways, in segments")]
fn so_it_is_where_each_is_authenticated(direction: Direction, segments: u32) {
    let key = Key([7; 32]);
    let permits = Permits::keyed(vec![(key.clone(), Permit::within(Limits::default()))]);
    with_settings(Settings { permits, ..Settings::loopback(PROGRAM) }, |address, _| {
        let asked = asked(Carrier::Udp, direction, 2, 500, 6_400 * 500);
        let batch = Some(Batch { messages: segments, by: BatchBy::Segments }).filter(|batch| batch.messages > 1);
        let found = measured(&Task { key: Some(key.into()), ..task(&Asked { batch, ..asked }, address) });
        assert_exact(&found, 500, segments > 1);
        assert_eq!(found.peer.authenticated, Some(true));
    });
}

#[test_case(Direction::Send; "sent")]
#[test_case(Direction::Receive; "received")]
#[test_case(Direction::Both; "both ways")]
fn at_a_rate_by_time_with_a_warm_up_nothing_is_miscounted(direction: Direction) {
    with_reflector(V4, |address| {
        // Few enough to fit a socket's buffer, whatever keeps its reader away.
        let time = lasting(Carrier::Udp, direction, 2, 200, Nanos::millis(400));
        let asked = Asked { warm_up_ns: Some(Nanos::millis(100)), schedule: rate(100), ..time };
        let found = measured(&task(&asked, address));
        let (there, back) = flows(&found);
        assert_eq!((&found.ended, found.undrained), (&Ending::Complete, 0));
        for flow in there.iter().chain(&back) {
            assert!(flow.sent > 0, "{flow:?}");
            assert_eq!(flow.counted.lost, 0, "{flow:?}");
        }
        for flow in &back {
            let all = flow.counted.received + flow.omitted.unwrap().received;
            assert_eq!((all, flow.bytes), (flow.sent, flow.sent * 200));
        }
        for (flow, told) in there.iter().zip(&found.peer_received) {
            let all = told.stream.carried.calls + told.omitted.calls;
            assert_eq!((all, flow.bytes), (flow.sent, flow.sent * 200));
            assert!(told.stream.datagrams.unwrap().jitter_ns.is_some(), "{told:?}");
        }
    });
}

#[test]
fn a_full_buffer_is_told_as_loss_to_the_datagram() {
    with_reflector(V4, |address| {
        // The smallest buffer there is, and bursts as fast as they go.
        let socket = SocketOptions { receive_buffer_bytes: Some(Bytes(1)), ..SocketOptions::default() };
        for direction in [Direction::Send, Direction::Receive] {
            let asked = asked(Carrier::Udp, direction, 1, 1_000, 20_000 * 1_000);
            let asked = Asked { socket: socket.clone(), ..asked };
            let found = measured(&task(&asked, address));
            assert_exact(&found, 1_000, false);
            let (there, back) = flows(&found);
            assert_eq!(there.iter().chain(&back).map(|flow| flow.sent).collect::<Vec<_>>(), [20_000]);
        }
    });
}

#[test_case(24, true; "the smallest")]
#[test_case(23, false; "one octet less than a number")]
#[test_case(65_507, true; "the largest")]
fn a_datagram_is_as_large_as_its_number_at_least(size: u64, passes: bool) {
    with_reflector(V4, |address| {
        for direction in [Direction::Send, Direction::Receive] {
            let task = task(&asked(Carrier::Udp, direction, 1, size, size * 100), address);
            let found = throughput::measure(&task, &Stop::default(), &mut |_| ());
            match found {
                Ok(found) => {
                    assert!(passes, "{found:?}");
                    assert_exact(&found, size, false);
                }
                Err(error) => {
                    assert!(!passes, "{error}");
                    assert!(error.to_string().contains("24 B at least"), "{error}");
                }
            }
        }
    });
}
