//! Every carrier end to end on real sockets over loopback: what was asked for is what was exchanged.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::thread;

use endpoint::control::Credential;
use endpoint::reflector::Settings;
use endpoint::reflector::permit::{Permit, Permits};
use endpoint::rtt::{self, Ending, Finding, Protocol, Target, Task};
use endpoint::stop::Stop;
use measure::event::INTERVAL;
use measure::method::{Asked, Carrier, Pattern, Schedule, Stop as StopAt, Waiting};
use measure::unit::{Bytes, Nanos, Rate};
use protocol::native::limits::Limits;
use test_case::test_case;
use testbed::port;

use crate::served::{PROGRAM, with_reflector, with_settings};

fn asked(carrier: Carrier, count: u64) -> Asked {
    Asked {
        carrier: Some(carrier),
        stop: StopAt { count: Some(count), ..StopAt::default() },
        warm_up_ns: Some(Nanos::millis(1)),
        // However long a busy machine keeps an end waiting: nothing is lost on loopback.
        timeout_ns: Some(Nanos::secs(60)),
        ..Asked::default()
    }
}

fn task(asked: &Asked, target: Option<SocketAddr>) -> Task {
    Task {
        trace: None,
        method: asked.resolve().expect("a sensible method"),
        target: target.map(|address| Target { host: address.ip().to_string(), address }),
        protocol: Protocol::Native,
        key: None,
        one_will_do: false,
        samples: false,
        interval: INTERVAL,
        program: PROGRAM.into(),
        verify: None,
    }
}

fn measured(asked: &Asked, target: Option<SocketAddr>) -> Finding {
    rtt::run(&task(asked, target), &Stop::default(), &mut |_| {}).expect("measured")
}

fn all_answered(finding: &Finding, count: u64) {
    let counts = &finding.recording.counts;
    assert_eq!(finding.ended, Ending::Complete);
    assert!(counts.balance(), "{counts:?}");
    assert_eq!((counts.scheduled, counts.answered), (count, count), "{counts:?}");
    assert_eq!(finding.recording.response.count(), count);
}

#[test_case(Carrier::Tcp, IpAddr::V4(Ipv4Addr::LOCALHOST); "tcp v4")]
#[test_case(Carrier::Udp, IpAddr::V4(Ipv4Addr::LOCALHOST); "udp v4")]
#[test_case(Carrier::Tcp, IpAddr::V6(Ipv6Addr::LOCALHOST); "tcp v6")]
#[test_case(Carrier::Udp, IpAddr::V6(Ipv6Addr::LOCALHOST); "udp v6")]
fn every_request_is_answered_and_the_peer_counts_the_same(carrier: Carrier, listen: IpAddr) {
    with_reflector(listen, |address| {
        let finding = measured(&asked(carrier, 300), Some(address));
        all_answered(&finding, 300);
        assert!(finding.peer_counts.received.expect("the reflector reports") >= 300);
        assert_eq!(finding.peer.program.as_deref(), Some(PROGRAM));
    });
}

#[test_case(Carrier::Udp, true, Some(true); "udp, authenticated")]
#[test_case(Carrier::Udp, false, Some(false); "udp, as told not to")]
#[test_case(Carrier::Tcp, true, None; "tcp, of connections")]
fn with_a_key_every_request_is_answered_and_the_record_knows_whether_datagrams_had_codes(
    carrier: Carrier,
    authenticate_datagrams: bool,
    authenticated: Option<bool>,
) {
    let key = protocol::native::key::Key([7; 32]);
    let permits = Permits::keyed(vec![(key.clone(), Permit::within(Limits::default()))]);
    with_settings(Settings { permits, ..Settings::loopback(PROGRAM) }, |address, _| {
        for (window, request) in [(1, 64), (4, 64), (1, 32), (1, 1_400)] {
            let asked = Asked {
                window: Some(window),
                request_bytes: Some(Bytes(request)),
                response_bytes: Some(Bytes(request)),
                ..asked(carrier, 300)
            };
            let key = Some(Credential { authenticate_datagrams, ..key.clone().into() });
            let task = Task { key, ..task(&asked, Some(address)) };
            let finding = rtt::run(&task, &Stop::default(), &mut |_| {}).expect("measured");
            all_answered(&finding, 300);
            assert_eq!(finding.peer.authenticated, authenticated);
            assert_eq!((finding.peer_counts.received, finding.peer_counts.replied), (Some(300), Some(300)));
        }
    });
}

#[test]
fn the_wildcard_of_ipv6_serves_both_and_answers_from_the_address_it_was_asked_at() {
    with_reflector(IpAddr::V6(Ipv6Addr::UNSPECIFIED), |address| {
        for host in
            [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V4(Ipv4Addr::new(127, 0, 0, 9)), IpAddr::V6(Ipv6Addr::LOCALHOST)]
        {
            for carrier in [Carrier::Tcp, Carrier::Udp] {
                all_answered(&measured(&asked(carrier, 20), Some(SocketAddr::new(host, address.port()))), 20);
            }
        }
    });
}

#[test]
fn without_a_target_a_reflector_of_our_own_answers() {
    let finding = measured(&asked(Carrier::Tcp, 50), None);
    all_answered(&finding, 50);
    assert!(finding.own_reflector);
}

#[test_case(1, 1; "one byte")]
#[test_case(31, 7; "below a header")]
#[test_case(32, 4_000; "longer reply")]
#[test_case(1 << 20, 3; "longer than a piece")]
#[test_case(5, (1 << 20) + 13; "longer reply than a piece")]
fn tcp_messages_of_any_size(request: u64, response: u64) {
    let asked =
        Asked { request_bytes: Some(Bytes(request)), response_bytes: Some(Bytes(response)), ..asked(Carrier::Tcp, 20) };
    all_answered(&measured(&asked, None), 20);
}

#[test_case(32; "a header")]
#[test_case(1_400; "a frame")]
#[test_case(65_507; "the largest datagram")]
fn udp_messages_of_any_size(size: u64) {
    let asked =
        Asked { request_bytes: Some(Bytes(size)), response_bytes: Some(Bytes(size)), ..asked(Carrier::Udp, 20) };
    all_answered(&measured(&asked, None), 20);
}

#[test_case(Carrier::Tcp, 64; "tcp")]
#[test_case(Carrier::Udp, 64; "udp")]
#[test_case(Carrier::Tcp, 1; "tcp bare")]
fn a_window_of_many(carrier: Carrier, size: u64) {
    let asked = Asked {
        window: Some(16),
        request_bytes: Some(Bytes(size)),
        response_bytes: Some(Bytes(size)),
        ..asked(carrier, 2_000)
    };
    all_answered(&measured(&asked, None), 2_000);
}

#[test]
fn a_window_beyond_the_socket_buffers_does_not_lock_up() {
    let asked = Asked {
        window: Some(512),
        request_bytes: Some(Bytes(64 << 10)),
        response_bytes: Some(Bytes(64 << 10)),
        ..asked(Carrier::Tcp, 1_000)
    };
    all_answered(&measured(&asked, None), 1_000);
}

#[test_case(Carrier::Tcp; "tcp")]
#[test_case(Carrier::Udp; "udp")]
fn connections_on_fewer_threads(carrier: Carrier) {
    let asked = Asked { connections: Some(5), threads: Some(2), ..asked(carrier, 501) };
    let finding = measured(&asked, None);
    all_answered(&finding, 501);
    assert_eq!(finding.sockets.len(), 5);
}

#[test_case(Waiting::Spin; "spin")]
#[test_case(Waiting::BusyPoll { micros: 50 }; "busy poll")]
fn other_ways_to_wait(waiting: Waiting) {
    for carrier in [Carrier::Tcp, Carrier::Udp] {
        let asked = Asked { waiting: Some(waiting), peer_waiting: Some(waiting), ..asked(carrier, 100) };
        all_answered(&measured(&asked, None), 100);
    }
}

#[test_case(Schedule::Rate { rate_per_1000s: Rate::per_second(2_000).unwrap() }; "rate")]
#[test_case(Schedule::Poisson { rate_per_1000s: Rate::per_second(2_000).unwrap() }; "poisson")]
#[test_case(Schedule::Every { interval_ns: Nanos::micros(500) }; "every")]
#[test_case(Schedule::Bursts { count: 5, interval_ns: Nanos::millis(2) }; "bursts")]
fn open_loops_count_from_the_intended_instant(schedule: Schedule) {
    for carrier in [Carrier::Tcp, Carrier::Udp] {
        let finding = measured(&Asked { schedule: Some(schedule), ..asked(carrier, 200) }, None);
        all_answered(&finding, 200);
        let (service, slip) = (finding.recording.service.expect("open"), finding.recording.slip.expect("open"));
        assert_eq!((service.count(), slip.count()), (200, 200));
        let sums = service.sum() + slip.sum();
        assert_eq!(finding.recording.response.sum(), sums, "response is slip and service");
    }
}

#[test]
fn connect_and_exchange_makes_a_connection_each_time() {
    let asked = Asked { pattern: Some(Pattern::ConnectExchange), ..asked(Carrier::Tcp, 100) };
    all_answered(&measured(&asked, None), 100);
}

#[test]
fn a_handshake_needs_no_program_but_a_listener() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = listener.local_addr().expect("bound");
    // With its queue full a listener stops answering. The standard library's queue of 128 is shorter than this run with
    // its warm-up, which may be over before the thread below has run at all.
    socket2::SockRef::from(&listener).listen(1_024).expect("a longer queue");
    thread::spawn(move || listener.incoming().for_each(drop));
    let finding = measured(&asked(Carrier::TcpConnect, 100), Some(address));
    all_answered(&finding, 100);
    assert!(finding.theirs.is_none() && finding.peer.program.is_none());
}

#[test]
fn a_closed_port_refuses_each_handshake() {
    let address = ([127, 0, 0, 1], port::free()).into();
    let finding = measured(&asked(Carrier::TcpConnect, 10), Some(address));
    let counts = finding.recording.counts;
    assert_eq!((counts.scheduled, counts.refused), (10, 10), "{counts:?}");
}
