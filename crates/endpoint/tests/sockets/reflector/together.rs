//! Limits of all sessions together: a rate, a bandwidth, and places that no single address keeps from others.

use std::net::{SocketAddr, TcpStream};
use std::num::NonZeroU64;
use std::thread;

use endpoint::clock::Monotonic;
use endpoint::reflector::Settings;
use endpoint::reflector::budget::{Bounds, Budget};
use endpoint::reflector::permit::{Permit, Permits};
use endpoint::reflector::sessions::Together;
use measure::method::{Carrier, Pattern};
use measure::unit::{Bytes, Nanos, Rate};
use protocol::native::error::SessionError;
use protocol::native::header::Flags;
use protocol::native::key::Key;
use protocol::native::limits::{Limits, memory};
use protocol::native::message::{Ending, Open, Reason};
use protocol::native::preamble::Decline;
use protocol::native::stream::Ask;
use test_case::test_case;

use crate::reflector::{settings, with_settings};
use testbed::client::{PATIENCE, Session, asked, open, udp};

fn bounded(octets: u64, messages: u64) -> Bounds {
    Bounds { octets: NonZeroU64::new(octets), messages: Rate::per_second(messages) }
}

fn together(bounds: Bounds) -> Settings {
    Settings { together: Together { bounds, ..Together::default() }, ..settings() }
}

fn by_key(bounds: Bounds) -> Settings {
    let permit = Permit { name: Some("a".to_owned()), budget: Budget::of(bounds), ..Permit::within(Limits::default()) };
    Settings { permits: Permits::keyed(vec![(Key([7; 32]), permit)]), ..settings() }
}

/// 64 octets each way: 100 messages a second, or 3,200 octets.
#[test_case(&together(bounded(u64::MAX, 100)), None; "messages of all")]
#[test_case(&together(bounded(3_200, 1 << 40)), None; "octets of all")]
#[test_case(&by_key(bounded(u64::MAX, 100)), Some(&Key([7; 32])); "messages of a key")]
#[test_case(&by_key(bounded(3_200, 1 << 40)), Some(&Key([7; 32])); "octets of a key")]
fn sessions_beside_each_other_share_what_is_allowed(settings: &Settings, key: Option<&Key>) {
    with_settings(settings.clone(), |address, _| {
        let began = Monotonic::now();
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let session = Session::by_key(address, open(Carrier::Udp), key.cloned()).unwrap();
                    let socket = udp(address);
                    for seq in 0..25 {
                        assert_eq!(asked(&socket, &session.request(seq, Flags::NONE, 64, 64)).len(), 64);
                    }
                    let report = session.close();
                    assert!(report.limited_ns.is_some_and(|waited| waited > Nanos::millis(100)), "{report:?}");
                });
            }
        });
        // 100 messages, or 3,200 octets each way, but for those that the row was ahead by.
        let took = Monotonic::now().since(began).unwrap();
        assert!(took >= Nanos::millis(900), "{took}");
    });
}

#[test]
fn what_is_sent_one_way_waits_too() {
    with_settings(together(bounded(u64::MAX, 100)), |address, _| {
        let session = Session::open(address, open(Carrier::Udp)).unwrap();
        let socket = udp(address);
        // Its socket is there then.
        assert_eq!(asked(&socket, &session.request(u64::MAX, Flags::WARM_UP, 64, 64)).len(), 64);
        let began = Monotonic::now();
        for seq in 0..100 {
            socket.send(&session.request(seq, Flags::SILENT, 64, 64)).unwrap();
        }
        assert_eq!(asked(&socket, &session.request(100, Flags::NONE, 64, 64)).len(), 64);
        let took = Monotonic::now().since(began).unwrap();
        assert!(took >= Nanos::millis(900), "{took}");
        assert_eq!(session.close().received, [102]);
    });
}

#[test]
fn without_bounds_nobody_waits() {
    with_settings(settings(), |address, _| {
        let session = Session::open(address, open(Carrier::Udp)).unwrap();
        assert_eq!(asked(&udp(address), &session.request(0, Flags::NONE, 64, 64)).len(), 64);
        assert_eq!(session.close().limited_ns, Some(Nanos::ZERO));
    });
}

#[test]
fn what_is_announced_and_does_not_fit_is_refused_by_name() {
    let keyed = by_key(bounded(10_000, 1_000));
    for (settings, key) in [(together(bounded(10_000, 1_000)), None), (keyed, Some(Key([7; 32])))] {
        with_settings(settings, |address, _| {
            let session = |open: Open| Session::by_key(address, open, key.clone());
            let fast = Open { rate_per_flow: Rate::per_second(200), ..open(Carrier::Udp) };
            match session(fast).expect_err("refused") {
                SessionError::Refused(refused) => {
                    assert_eq!(refused.reason, Reason::Rate);
                    assert!(refused.detail.starts_with("traffic of all sessions: "), "{}", refused.detail);
                }
                other => panic!("{other}"),
            }
            assert!(session(Open { rate_per_flow: Rate::per_second(100), ..open(Carrier::Udp) }).is_ok());
        });
    }
}

/// A session of a client at 127.0.0.`last`.
fn at(last: u8, address: SocketAddr, open: Open) -> Result<Session, SessionError> {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, last], 0)).into()).unwrap();
    socket.connect(&address.into()).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    Session::over(stream, address, open, None)
}

fn is_turned_away(result: Result<Session, SessionError>) -> bool {
    match result {
        Err(SessionError::Declined { decline: Decline::Busy, .. }) => true,
        Err(SessionError::Refused(refused)) => matches!(refused.reason, Reason::Sessions | Reason::Memory),
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_address_leaves_half_of_all_places_to_others() {
    let limits = Limits { sessions: 4, ..Limits::default() };
    with_settings(Settings { limits, ..settings() }, |address, _| {
        let mut ours: Vec<Session> = (0..4).map(|_| Session::open(address, open(Carrier::Udp)).unwrap()).collect();
        let socket = udp(address);
        assert_eq!(asked(&socket, &ours[0].request(0, Flags::NONE, 64, 64)).len(), 64);
        assert!(is_turned_away(Session::open(address, open(Carrier::Udp))), "of the same address none gives way");
        let _theirs = [at(99, address, open(Carrier::Udp)).unwrap(), at(98, address, open(Carrier::Udp)).unwrap()];
        // The newest receive the reason; the first continues.
        for _ in 0..2 {
            match ours.pop().unwrap().until_ended() {
                SessionError::Fault(notice) => {
                    assert_eq!(notice.reason, Ending::Other);
                    assert!(notice.detail.contains("another client needs this place"), "{}", notice.detail);
                }
                other => panic!("{other}"),
            }
        }
        assert_eq!(asked(&socket, &ours[0].request(1, Flags::NONE, 64, 64)).len(), 64);
        assert!(is_turned_away(at(97, address, open(Carrier::Udp))), "nobody has more than half any more");
        assert!(ours.into_iter().all(|session| session.close().malformed == 0));
    });
}

#[test]
fn one_address_leaves_half_of_all_memory_to_others() {
    let one = || Open { request_bytes: Bytes(10_000), ..open(Carrier::Tcp) };
    let each = memory(&one());
    let together = Together { memory: Bytes(each.0 * 4), ..Together::default() };
    with_settings(Settings { together, ..settings() }, |address, _| {
        let mut ours: Vec<Session> = (0..4).map(|_| Session::open(address, one()).unwrap()).collect();
        assert!(is_turned_away(Session::open(address, one())));
        let theirs = at(99, address, one());
        assert!(theirs.is_ok(), "{theirs:?}");
        assert!(matches!(ours.pop().unwrap().until_ended(), SessionError::Fault(_)));
        assert_eq!(ours.len(), 3);
        assert!(ours.into_iter().all(|session| session.data(0).is_ok()));
    });
}

/// Settings under which clients may choose one CPU.
fn pinned_by(all: bool) -> Settings {
    let together = Together { pinned: all.then_some(1), ..Together::default() };
    let pinned = (!all).then_some(1);
    let permit = Permit { name: Some("a".to_owned()), pinned, ..Permit::within(Limits::default()) };
    let other = Permit { name: Some("b".to_owned()), ..Permit::within(Limits::default()) };
    let permits = Permits::keyed(vec![(Key([7; 32]), permit), (Key([8; 32]), other)]);
    Settings { together, permits, ..settings() }
}

#[test_case(true; "all sessions")]
#[test_case(false; "those of a key")]
fn cpus_that_clients_choose_are_bounded_for(all: bool) {
    let allowed = rustix::thread::sched_getaffinity(None).unwrap();
    let cpus: Vec<u32> = (0..1_024).filter(|cpu| allowed.is_set(*cpu as usize)).take(2).collect();
    let [first, second] = cpus[..] else {
        return testbed::skip::aloud("a bound of CPUs that clients choose: one CPU is allowed here");
    };
    with_settings(pinned_by(all), |address, _| {
        let on = |key: u8, flows: u32, cpus: &[u32]| {
            let wanted = Open { cpus: cpus.to_vec(), flows, ..open(Carrier::Udp) };
            Session::by_key(address, wanted, Some(Key([key; 32])))
        };
        let refused = |session: Result<Session, SessionError>| matches!(session, Err(SessionError::Refused(refused)) if refused.reason == Reason::Cpus);
        assert!(refused(on(7, 2, &[first, second])), "two at once");
        assert!(on(7, 1, &[first, second]).is_ok(), "its one thread has the first");
        let kept = on(7, 1, &[first]).unwrap();
        assert!(on(7, 1, &[first]).is_ok(), "the same again");
        assert!(on(7, 1, &[]).is_ok(), "none is chosen");
        assert!(refused(on(7, 1, &[second])));
        assert_eq!(refused(on(8, 1, &[second])), all, "by another key");
        kept.close();
        testbed::wait::until("a CPU in its place", || on(7, 1, &[second]).is_ok());
    });
}

#[test]
fn who_showed_a_key_gives_way_to_nobody() {
    let permits = Permits::keyed(vec![(Key([7; 32]), Permit::within(Limits::default()))]);
    let limits = Limits { sessions: 2, ..Limits::default() };
    with_settings(Settings { permits, limits, ..settings() }, |address, _| {
        let session = || Session::by_key(address, open(Carrier::Udp), Some(Key([7; 32])));
        let _ours = [session().unwrap(), session().unwrap()];
        assert!(is_turned_away(at(99, address, open(Carrier::Udp)).or_else(|_| session())));
    });
}

#[test]
fn a_stream_waits_for_its_place_and_says_so() {
    // A megabyte a second, and as much to be sent over two streams.
    with_settings(together(bounded(1_000_000, 1 << 40)), |address, _| {
        let ask =
            Ask { bytes: Some(Bytes(1_000_000)), direction: measure::method::Direction::Receive, ..Ask::default() };
        let wanted = Open {
            pattern: Pattern::Stream,
            stream: Some(Box::new(ask)),
            flows: 2,
            request_bytes: Bytes(10_000),
            response_bytes: Bytes(10_000),
            ..open(Carrier::Tcp)
        };
        let session = Session::open(address, wanted).unwrap();
        let began = Monotonic::now();
        let taken: u64 = thread::scope(|scope| {
            let flows: Vec<_> = (0..2)
                .map(|flow| {
                    let mut stream = session.data(flow).unwrap();
                    scope.spawn(move || {
                        std::io::Write::write_all(&mut stream, &[1]).unwrap();
                        std::io::copy(&mut stream, &mut std::io::sink()).unwrap()
                    })
                })
                .collect();
            flows.into_iter().map(|flow| flow.join().unwrap()).sum()
        });
        let took = Monotonic::now().since(began).unwrap();
        assert_eq!(taken, 1_000_000);
        assert!(took >= Nanos::millis(900), "{took}");
        let report = session.close();
        assert!(report.limited_ns.is_some_and(|waited| waited > Nanos::millis(100)), "{:?}", report.limited_ns);
    });
}
