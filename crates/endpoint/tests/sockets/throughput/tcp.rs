//! Over TCP every octet that was sent is had, and both ends say so.

use std::net::IpAddr;

use endpoint::reflector::Settings;
use endpoint::reflector::permit::{Permit, Permits};
use endpoint::rtt::Ending;
use endpoint::stop::Stop;
use endpoint::throughput::{self, Finding, Task, Told};
use measure::event::Event;
use measure::method::{Asked, Carrier, Direction, Sending, SocketOptions};
use measure::throughput::meter::Metered;
use measure::unit::{Bytes, Nanos};
use protocol::native::limits::Limits;
use test_case::test_case;

use crate::served::with_reflector;
use crate::throughput::{V4, V6, asked, lasting, measured, rate, task};

const MIB: u64 = 1 << 20;

/// Octets of each stream of ours, warm-up included.
fn carried(metered: &Metered) -> Vec<u64> {
    metered.streams.iter().map(|stream| stream.carried.bytes.0 + stream.omitted.bytes.0).collect()
}

/// Octets of each stream of the reflector's, warm-up included.
fn told(streams: &[Told]) -> Vec<u64> {
    streams.iter().map(|told| told.stream.carried.bytes.0 + told.omitted.bytes.0).collect()
}

/// Both ends tell the same of each stream, whichever way it went, and nothing is missing.
fn assert_exact(found: &Finding) {
    assert_eq!((&found.ended, found.undrained, &found.report_missing), (&Ending::Complete, 0, &None));
    for (ours, theirs) in [(&found.sent, &found.peer_received), (&found.received, &found.peer_sent)] {
        assert_eq!(ours.as_ref().map(carried).unwrap_or_default(), told(theirs));
        assert!(theirs.iter().all(|told| told.trouble.is_none()), "{theirs:?}");
    }
}

#[test_case(Direction::Send, V4, 1; "sent, IPv4, one")]
#[test_case(Direction::Send, V6, 4; "sent, IPv6, four")]
#[test_case(Direction::Receive, V4, 4; "received, IPv4, four")]
#[test_case(Direction::Receive, V6, 1; "received, IPv6, one")]
#[test_case(Direction::Both, V4, 4; "both ways, IPv4, four")]
#[test_case(Direction::Both, V6, 1; "both ways, IPv6, one")]
fn both_ends_count_every_octet(direction: Direction, ip: IpAddr, streams: u32) {
    with_reflector(ip, |address| {
        let bytes = 16 * MIB + 3;
        let asked = asked(Carrier::Tcp, direction, streams, 100_000, bytes);
        let found = measured(&task(&asked, address));
        assert_exact(&found);
        let ways = usize::from(direction != Direction::Receive) + usize::from(direction != Direction::Send);
        assert_eq!(found.threads.len(), streams as usize * ways);
        for metered in [&found.sent, &found.received].into_iter().flatten() {
            assert_eq!(metered.streams.len(), streams as usize);
            // Each ends with the call that reaches its share.
            let beyond = metered.carried.bytes.0 - bytes;
            assert!(beyond < u64::from(streams) * 100_000, "{beyond}");
        }
        assert_eq!(found.sent.is_some(), direction != Direction::Receive);
        assert_eq!(found.received.is_some(), direction != Direction::Send);
    });
}

#[test_case(Direction::Send; "sent")]
#[test_case(Direction::Receive; "received")]
#[test_case(Direction::Both; "both ways")]
fn by_time_with_a_warm_up_nothing_is_lost_either(direction: Direction) {
    with_reflector(V4, |address| {
        let time = Nanos::millis(400);
        let asked = Asked { warm_up_ns: Some(Nanos::millis(500)), ..lasting(Carrier::Tcp, direction, 2, 65_536, time) };
        let found = measured(&Task { interval: Nanos::millis(100), ..task(&asked, address) });
        assert_exact(&found);
        for metered in [&found.sent, &found.received].into_iter().flatten() {
            // A busy machine may leave one of them out.
            assert!(metered.streams.iter().any(|stream| stream.omitted.bytes.0 > 0), "{metered:?}");
        }
        // The sender's clock ended it; who receives sees the end a little later, or did not see all of the start.
        for told in &found.peer_sent {
            assert!(told.stream.elapsed_ns >= time, "{told:?}");
        }
        assert!(found.sent.is_none() || found.running >= time);
        // Intervals add up to what was counted, at both ends.
        for told in found.peer_received.iter().chain(&found.peer_sent) {
            let sum: u64 = told.stream.intervals.iter().map(|interval| interval.carried.bytes.0).sum();
            assert_eq!(sum, told.stream.carried.bytes.0);
            assert!(!told.stream.intervals.is_empty(), "{told:?}");
        }
    });
}

#[test_case(Sending::ZeroCopy, Direction::Send; "ours in place")]
#[test_case(Sending::ZeroCopy, Direction::Receive; "the reflector's in place")]
#[test_case(Sending::File, Direction::Send; "ours from a file")]
#[test_case(Sending::File, Direction::Receive; "the reflector's from a file")]
fn however_it_is_sent_and_taken_every_octet_counts(sending: Sending, direction: Direction) {
    with_reflector(V4, |address| {
        let asked = asked(Carrier::Tcp, direction, 2, 65_536, 32 * MIB);
        let asked = Asked { sending: Some(sending), discard: true, ..asked };
        let found = measured(&task(&asked, address));
        assert_exact(&found);
        let copied = if direction.sends() { found.zero_copy } else { found.peer_sent[0].zero_copy };
        assert_eq!(copied.is_some(), sending == Sending::ZeroCopy);
        if let Some(zero_copy) = copied {
            // On loopback the kernel copies after all, and says so.
            assert!(zero_copy.copied == zero_copy.sends && zero_copy.sends > 0, "{zero_copy:?}");
        }
    });
}

#[test]
fn both_ends_tell_what_it_took_and_what_it_met() {
    with_reflector(V4, |address| {
        let asked = lasting(Carrier::Tcp, Direction::Both, 2, 131_072, Nanos::millis(600));
        let found = measured(&task(&asked, address));
        assert_exact(&found);
        let took = |user: Option<Nanos>, system: Option<Nanos>| user.zip(system).is_some_and(|(u, s)| u.0 + s.0 > 0);
        assert!(found.threads.iter().all(|thread| took(Some(thread.cpu.user_ns), Some(thread.cpu.system_ns))));
        for told in found.peer_sent.iter().chain(&found.peer_received) {
            assert!(took(told.user_ns, told.system_ns), "{told:?}");
        }
        // Half a second holds fifty ticks.
        for cpu in [found.cpu.unwrap(), found.peer_cpu.unwrap()] {
            assert!(cpu.busy_share > 0.0 && cpu.busy_share <= 1.0 && cpu.softirq_share <= 1.0, "{cpu:?}");
        }
        assert!(found.theirs.is_some() && !found.own_reflector);
        // Senders know their TCP, receivers do not.
        assert!(found.peer_sent.iter().all(|told| told.stream.tcp.is_some_and(|tcp| tcp.busy_ns.is_some())));
        assert!(found.peer_received.iter().all(|told| told.stream.tcp.is_none()));
        let ours = found.throughput(Direction::Send).unwrap();
        assert!(ours.streams.iter().all(|stream| stream.tcp.is_some()), "{ours:?}");
        assert!(found.throughput(Direction::Receive).unwrap().received_bytes_per_s.unwrap() > 0.0);
        let goodput = ours.received_bytes_per_s.unwrap();
        assert!(goodput > 0.0 && goodput <= ours.sent_bytes_per_s.unwrap(), "{goodput}");
    });
}

#[test]
fn socket_options_reach_both_ends_and_are_read_back() {
    with_reflector(V4, |address| {
        let socket = SocketOptions {
            congestion: Some("reno".into()),
            send_buffer_bytes: Some(Bytes(40_000)),
            receive_buffer_bytes: Some(Bytes(50_000)),
            ..SocketOptions::default()
        };
        let asked = Asked { socket, ..asked(Carrier::Tcp, Direction::Both, 1, 8_192, 4 * MIB) };
        let found = measured(&task(&asked, address));
        assert_exact(&found);
        let tuned = found.autotuning.unwrap();
        assert!(!tuned.send && !tuned.receive);
        let theirs = found.peer_sent[0].socket.as_ref().unwrap();
        for facts in [&found.sockets[0], theirs] {
            // Linux doubles what it is asked for.
            assert_eq!(facts.congestion.as_deref(), Some("reno"));
            assert_eq!(
                (facts.send_buffer_bytes, facts.receive_buffer_bytes),
                (Some(Bytes(80_000)), Some(Bytes(100_000)))
            );
        }
    });
}

#[test_case(Direction::Send; "sent")]
#[test_case(Direction::Receive; "received")]
fn a_rate_is_held_by_whoever_sends(direction: Direction) {
    with_reflector(V4, |address| {
        // 100 calls of 10 kB a second, for half a second, on each of two streams.
        let asked = lasting(Carrier::Tcp, direction, 2, 10_000, Nanos::millis(500));
        let found = measured(&task(&Asked { schedule: rate(200), ..asked }, address));
        assert_exact(&found);
        let metered = found.sent.as_ref().or(found.received.as_ref()).unwrap();
        for bytes in carried(metered) {
            assert!(bytes <= 510_000, "{bytes} octets are more than fifty calls and the one at the start");
            assert!(bytes > 0);
        }
    });
}

#[test]
fn events_tell_of_each_stream_while_it_runs() {
    with_reflector(V4, |address| {
        let asked = lasting(Carrier::Tcp, Direction::Both, 2, 65_536, Nanos::millis(350));
        let task = Task { interval: Nanos::millis(100), ..task(&asked, address) };
        let mut bytes = [0_u64; 4];
        let found = throughput::measure(&task, &Stop::default(), &mut |event| {
            if let Event::Carried { thread, interval } = event {
                bytes[thread as usize] += interval.carried.bytes.0;
            }
        });
        let found = found.expect("measured");
        let streams = |metered: &Option<Metered>| carried(metered.as_ref().unwrap());
        assert_eq!([&bytes[..2], &bytes[2..]], [streams(&found.sent), streams(&found.received)]);
    });
}

#[test]
fn without_a_target_the_reflector_is_our_own() {
    let asked = asked(Carrier::Tcp, Direction::Send, 1, 65_536, MIB);
    let nowhere = std::net::SocketAddr::new(V4, 1);
    let found = measured(&Task { target: None, ..task(&asked, nowhere) });
    assert_exact(&found);
    assert!(found.own_reflector);
}

#[test]
fn a_key_is_asked_for_as_of_any_session() {
    let key = protocol::native::key::Key([7; 32]);
    let settings = Settings {
        permits: Permits::keyed(vec![(key.clone(), Permit::within(Limits::default()))]),
        ..Settings::loopback(crate::served::PROGRAM)
    };
    crate::served::with_settings(settings, |address, _| {
        let task = task(&asked(Carrier::Tcp, Direction::Send, 1, 65_536, MIB), address);
        assert!(throughput::measure(&task, &Stop::default(), &mut |_| ()).is_err());
        assert_exact(&measured(&Task { key: Some(key.into()), ..task }));
    });
}

#[test]
fn pinned_threads_stream_as_others() {
    with_reflector(V4, |address| {
        let cpu = a_cpu();
        let asked =
            Asked { cpus: vec![cpu], peer_cpus: vec![cpu], ..asked(Carrier::Tcp, Direction::Both, 2, 65_536, MIB) };
        let found = measured(&task(&asked, address));
        assert_exact(&found);
        assert_eq!(found.peer.cpus, [cpu]);
    });
}

/// A CPU that this process may use.
fn a_cpu() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim();
    list.split(['-', ',']).next().unwrap().parse().unwrap()
}
