//! Streams by raw sockets: a strange client's rights at a reflector, and their limits.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use endpoint::clock::Monotonic;
use endpoint::reflector::Settings;
use measure::method::{Carrier, Direction, Pattern};
use measure::unit::{Bytes, Instant, Nanos};
use protocol::bulk::{Mark, Numbering};
use protocol::native::error::SessionError;
use protocol::native::header::{Flags, Header};
use protocol::native::limits::Limits;
use protocol::native::message::{Open, Reason, capability};
use protocol::native::preamble::{DataAnswer, DataRefusal};
use protocol::native::stream::{Ask, Numbers};
use test_case::test_case;
use testbed::client::{Session, asked, connect, is_silent, open, udp};
use testbed::wait;

use crate::served::{with_reflector, with_settings};
use crate::throughput::V4;

/// Request for streams of calls of 1,000 octets.
fn streams(carrier: Carrier, flows: u32, direction: Direction) -> Open {
    let ask = Ask { direction, bytes: Some(Bytes(100_000)), ..Ask::default() };
    Open {
        pattern: Pattern::Stream,
        request_bytes: Bytes(1_000),
        response_bytes: Bytes(1_000),
        flows,
        stream: Some(Box::new(ask)),
        ..open(carrier)
    }
}

fn since(begun: Instant) -> Nanos {
    Monotonic::now().since(begun).expect("a clock that does not go back")
}

fn settings() -> Settings {
    Settings::at(SocketAddr::new(V4, 0), crate::served::PROGRAM)
}

#[test]
fn a_reflector_says_that_it_knows_streams() {
    with_reflector(V4, |address| {
        let session = Session::open(address, streams(Carrier::Tcp, 1, Direction::Send)).unwrap();
        assert!(session.opened.capabilities.contains(capability::STREAMS));
        let report = session.close();
        let told = &report.streams.unwrap()[0];
        assert!(told.trouble.as_ref().unwrap().contains("never began"), "{told:?}");
    });
}

#[test]
fn what_is_sent_to_a_sink_is_counted_until_its_end() {
    with_reflector(V4, |address| {
        let session = Session::open(address, streams(Carrier::Tcp, 2, Direction::Send)).unwrap();
        for (flow, octets) in [(0, 12_345), (1, 0)] {
            let mut stream = session.data(flow).unwrap();
            stream.write_all(&vec![7; octets]).unwrap();
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            assert_eq!(wait::read(&mut stream, &mut [0; 9]).unwrap(), 0, "it ends its half, too, and says nothing");
        }
        assert_eq!(session.data(0).unwrap_err(), DataAnswer::Refused(DataRefusal::FlowTaken), "once only");
        let streams = session.close().streams.unwrap();
        assert_eq!((streams[0].stream.carried.bytes, streams[1].stream.carried.bytes), (Bytes(12_345), Bytes(0)));
    });
}

#[test]
fn a_source_waits_until_it_is_let_go() {
    with_reflector(V4, |address| {
        let session = Session::open(address, streams(Carrier::Tcp, 1, Direction::Receive)).unwrap();
        let mut stream = session.data(0).unwrap();
        stream.set_nonblocking(true).unwrap();
        assert_eq!(stream.read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::WouldBlock);
        stream.set_nonblocking(false).unwrap();
        stream.write_all(&[9]).unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        assert_eq!(all.len(), 100_000);
        assert_eq!(session.close().streams.unwrap()[0].stream.carried.bytes, Bytes(100_000));
    });
}

#[test]
fn what_comes_before_the_answer_ends_the_connection() {
    with_reflector(V4, |address| {
        let session = Session::open(address, streams(Carrier::Tcp, 1, Direction::Send)).unwrap();
        let preamble = protocol::native::preamble::Data { version: 1, token: session.token(), flow: 0 }.encode();
        let mut stream = connect(address);
        stream.write_all(&[&preamble[..], &[0; 100]].concat()).unwrap();
        assert!(matches!(stream.read(&mut [0; 9]), Ok(0) | Err(_)), "it is not let in");
        assert_eq!(session.close().malformed, 1);
    });
}

/// The answer to a greeting of flow 0.
fn greeted(session: &Session, socket: &UdpSocket) -> u64 {
    let greeting = session.request(5, Flags::WARM_UP, 0, 32);
    let header = Header::read(&asked(socket, &greeting)).unwrap();
    assert_eq!((header.token, header.flow), (session.token(), 0));
    header.seq
}

#[test]
fn a_source_of_datagrams_floods_nobody_who_did_not_answer() {
    with_reflector(V4, |address| {
        let session = Session::open(address, streams(Carrier::Udp, 1, Direction::Receive)).unwrap();
        // A client with the token and another host's address gets one small answer there, and has to guess its content.
        let socket = udp(address);
        let drawn = greeted(&session, &socket);
        for guess in [drawn ^ 1, 0, 5] {
            let answer = asked(&socket, &session.request(guess, Flags::START, 0, 1_000));
            assert_eq!((answer.len(), Header::read(&answer).unwrap().seq), (32, drawn), "no longer than a header");
        }
        // From elsewhere not even that: the flow is the first one's.
        let other = udp(address);
        other.send(&session.request(drawn, Flags::START, 0, 32)).unwrap();
        socket.send(&session.request(drawn ^ 1, Flags::START, 0, 32)).unwrap();
        assert_eq!(Header::read(&received(&socket)).unwrap().seq, drawn);
        assert!(is_silent(&other));

        socket.send(&session.request(drawn, Flags::START, 0, 32)).unwrap();
        let numbers = Numbers::new(&session.token(), 0);
        let first = received(&socket);
        assert!(matches!(numbers.read(&first), Some(Mark::Data { number: 1, .. })), "{:?}", &first[..24]);
        assert_eq!(first.len(), 1_000);
        let last = std::iter::repeat_with(|| received(&socket)).find_map(|datagram| match numbers.read(&datagram) {
            Some(Mark::Last { count, .. }) => Some(count),
            _ => None,
        });
        assert_eq!(last, Some(100));
        socket.send(&numbers.last(100, Nanos(0))).unwrap();
        assert_eq!(session.close().streams.unwrap()[0].sent_datagrams, Some(100));
    });
}

fn received(socket: &UdpSocket) -> Vec<u8> {
    let mut buffer = vec![0; 65_536];
    let length = socket.recv(&mut buffer).expect("a datagram");
    buffer.truncate(length);
    buffer
}

#[test]
fn a_sink_of_datagrams_knows_what_came_and_what_did_not() {
    with_reflector(V4, |address| {
        let session = Session::open(address, streams(Carrier::Udp, 1, Direction::Send)).unwrap();
        let socket = udp(address);
        greeted(&session, &socket);
        // A second greeting, as where the first answer was lost.
        greeted(&session, &socket);
        let numbers = Numbers::new(&session.token(), 0);
        let send = |number| {
            let mut datagram = [0; 100];
            numbers.write(&mut datagram, number, Nanos(number));
            socket.send(&datagram).unwrap();
        };
        [1, 2, 3, 5, 4, 5, 9].into_iter().for_each(send);
        socket.send(&[0; 100]).unwrap();
        let answer = asked(&socket, &numbers.last(11, Nanos(0)));
        assert!(matches!(numbers.read(&answer), Some(Mark::Last { count: 11, .. })));
        let report = session.close();
        let told = &report.streams.unwrap()[0];
        let seen = told.stream.datagrams.unwrap();
        assert_eq!((seen.received, seen.lost, seen.expected), (6, 5, 11));
        assert_eq!((seen.out_of_order, seen.duplicates, seen.foreign), (1, 1, 1));
        assert_eq!(report.malformed, 0);
    });
}

/// A client that vanished without a word leaves nothing behind, whatever its streams were at.
#[test_case(Carrier::Tcp, Direction::Send; "tcp, sent")]
#[test_case(Carrier::Tcp, Direction::Receive; "tcp, received")]
#[test_case(Carrier::Udp, Direction::Send; "udp, sent")]
#[test_case(Carrier::Udp, Direction::Receive; "udp, received")]
fn a_client_that_says_nothing_is_given_up(carrier: Carrier, direction: Direction) {
    with_reflector(V4, |address| {
        let ask = Ask { direction, ..Ask::default() };
        let idle = Nanos::secs(2);
        let wanted = Open { idle_ns: idle, stream: Some(Box::new(ask)), ..streams(carrier, 1, direction) };
        let session = Session::open(address, wanted).unwrap();
        let (begun, socket) = (Monotonic::now(), udp(address));
        // The stream begins, and then the other end does nothing: only the buffers' content moves.
        let _held = if carrier == Carrier::Tcp {
            let mut stream = session.data(0).unwrap();
            stream.write_all(&[1]).unwrap();
            Some(stream)
        } else {
            let drawn = greeted(&session, &socket);
            socket.send(&session.request(drawn, Flags::START, 0, 32)).unwrap();
            None
        };
        let ended = session.until_ended();
        assert!(
            matches!(&ended, SessionError::Fault(notice) if notice.reason == protocol::native::message::Ending::Idle),
            "{ended:?}"
        );
        assert!(since(begun) < Nanos::secs(30), "{}", since(begun));
    });
}

#[test]
fn a_source_of_datagrams_stops_with_its_control_connection() {
    with_reflector(V4, |address| {
        let ask = Ask { direction: Direction::Receive, ..Ask::default() };
        let wanted = Open { stream: Some(Box::new(ask)), ..streams(Carrier::Udp, 1, Direction::Receive) };
        let session = Session::open(address, wanted).unwrap();
        let socket = udp(address);
        let drawn = greeted(&session, &socket);
        socket.send(&session.request(drawn, Flags::START, 0, 32)).unwrap();
        received(&socket);
        drop(session);
        // Until nothing comes for far longer than the reflector takes to look up.
        socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        let begun = Monotonic::now();
        while socket.recv(&mut [0; 2_000]).is_ok() {
            assert!(since(begun) < Nanos::secs(30), "it goes on");
        }
    });
}

#[test]
fn sessions_at_once_stay_apart() {
    with_reflector(V4, |address| {
        let open: Vec<_> = (0..20_u64)
            .map(|n| (n, Session::open(address, streams(Carrier::Tcp, 1, Direction::Send)).unwrap()))
            .collect();
        let streams: Vec<_> = open.iter().map(|(_, session)| session.data(0).unwrap()).collect();
        for (mut stream, octets) in streams.into_iter().zip((0..20).map(|n| 1_000 * n)) {
            stream.write_all(&vec![1; octets]).unwrap();
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            assert_eq!(wait::read(&mut stream, &mut [0]).unwrap(), 0);
        }
        for (n, session) in open {
            assert_eq!(session.close().streams.unwrap()[0].stream.carried.bytes, Bytes(1_000 * n));
        }
    });
}

#[test]
fn more_than_the_reflector_has_room_for_is_refused() {
    let refused = |limits: Limits, open: Open| {
        with_settings(Settings { limits, ..settings() }, |address, _| match Session::open(address, open) {
            Err(SessionError::Refused(refused)) => refused,
            other => panic!("{other:?}"),
        })
    };
    let few = Limits { memory_bytes: Bytes(2 << 20), ..Limits::default() };
    assert_eq!(refused(few, streams(Carrier::Tcp, 4, Direction::Send)).reason, Reason::Memory);
    let unknown = Ask { direction: Direction::Receive, congestion: Some("nonesuch".into()), ..Ask::default() };
    let open = Open { stream: Some(Box::new(unknown)), ..streams(Carrier::Tcp, 1, Direction::Receive) };
    let told = refused(Limits::default(), open);
    assert!(told.detail.contains("nonesuch") && told.hint.is_some(), "{told:?}");
}

#[test]
fn a_rate_that_the_reflector_is_held_to_bounds_its_streams() {
    let limits = Limits { rate_per_flow: measure::unit::Rate::per_second(100), ..Limits::default() };
    with_settings(Settings { limits, ..settings() }, |address, _| {
        let ask = Ask { direction: Direction::Receive, after_ns: Some(Nanos::millis(300)), ..Ask::default() };
        let wanted = Open { stream: Some(Box::new(ask)), ..streams(Carrier::Tcp, 1, Direction::Receive) };
        let session = Session::open(address, wanted).unwrap();
        let mut stream = session.data(0).unwrap();
        stream.write_all(&[1]).unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        assert!(!all.is_empty() && all.len() <= 31 * 1_000, "{}", all.len());
    });
}
