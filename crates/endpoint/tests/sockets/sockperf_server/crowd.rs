//! Clients that are many, silent, in pieces, gone, or forged: the others are served on.

use std::io::{ErrorKind, Write};
use std::net::{Ipv4Addr, UdpSocket};

use endpoint::peer::sockperf::server::settings::{Carriers, Settings};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use test_case::test_case;

use crate::sockperf_server::hand::{
    ASKING, PATIENCE, answered, good, good_tcp, is_over, message, read, receive, tcp, udp,
};
use crate::sockperf_server::{Ours, bound, listening, place, until};
use crate::strangers::strangers;

#[test]
fn a_thousand_idle_connections_keep_nobody_from_being_served() {
    endpoint::socket::raise_descriptor_limit();
    let server = Ours::start();
    let mut idle: Vec<_> = (0..1_000).map(|_| tcp(&server)).collect();
    good(&server);
    for at in [0, 500, 999] {
        let asked = message(1, ASKING, 14);
        idle[at].write_all(&asked).unwrap();
        assert_eq!(read(&mut idle[at], &asked), answered(&asked));
    }
    let totals = server.end();
    assert_eq!((totals.messages, totals.turned_away), (5, 0));
    assert!(idle.iter_mut().all(is_over), "its end is told to all");
}

#[test]
fn connections_beyond_the_bound_are_closed_and_its_place_is_free_again() {
    let (tell, lines) = listening();
    let server = Ours::with(|settings| {
        settings.limits.connections = 3;
        settings.tell = Some(tell);
    });
    let asked = message(1, ASKING, 14);
    let mut three: Vec<_> = (0..3).map(|_| tcp(&server)).collect();
    for stream in &mut three {
        stream.write_all(&asked).unwrap();
        assert_eq!(read(stream, &asked), answered(&asked));
    }
    assert!(is_over(&mut tcp(&server)));
    assert!(lines.lock().unwrap().iter().any(|line| line.contains("3 connections")), "{lines:?}");
    drop(three.pop());
    until("a free place", || {
        let mut stream = tcp(&server);
        stream.write_all(&asked).is_ok() && !is_over(&mut stream)
    });
    for stream in &mut three {
        stream.write_all(&asked).unwrap();
        assert_eq!(read(stream, &asked), answered(&asked), "the others never noticed");
    }
    drop(three);
    assert!(server.end().turned_away > 0);
}

#[test]
fn strangers_give_way_to_who_sends_a_message() {
    let server = Ours::with(|settings| settings.limits.connections = 8);
    let asked = message(1, ASKING, 14);
    let mut known = tcp(&server);
    let mut exchange = || {
        known.write_all(&asked).unwrap();
        assert_eq!(read(&mut known, &asked), answered(&asked));
    };
    exchange();
    let strangers = strangers(server.port(), 40, &asked[..10]);
    good(&server);
    exchange();
    drop(strangers);
    assert!(server.end().turned_away >= 34, "each but those there was room for");
}

/// Answers to waiting messages, with each setting that changes their handling: one socket or several, the source of the
/// answers, gaps.
#[test_case(|_| {}; "as it comes")]
#[test_case(|settings| settings.answer_from_asked = Some(true); "each answered from where it was asked")]
#[test_case(|settings| settings.spin = true; "polled for")]
#[test_case(|settings| settings.places.push(place("127.0.0.1:0", Carriers::Udp)); "of several sockets")]
#[test_case(|settings| settings.gaps = true; "looked at for gaps")]
fn what_has_gathered_is_answered_to_each_in_order(change: fn(&mut Settings)) {
    let server = bound(change);
    let port = server.addresses()[0].port();
    let clients: Vec<UdpSocket> = (0..3).map(|_| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap()).collect();
    for client in &clients {
        client.connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
    }
    // Before the server runs: of each six that one asks, two are in one datagram, one does not ask, one is garbage.
    let sent = |client: usize, at: u64| message(6 * at + 1 + client as u64, ASKING, 14 + client + (at % 50) as usize);
    for at in 0..60 {
        for (number, client) in clients.iter().enumerate() {
            let one = sent(number, at);
            match at % 6 {
                1 => client.send(&[one.clone(), one].concat()).unwrap(),
                3 => client.send(&message(at, 1, 30)).unwrap(),
                5 => client.send(b"garbage").unwrap(),
                _ => client.send(&one).unwrap(),
            };
        }
    }
    let server = Ours::run(server);
    for (number, client) in clients.iter().enumerate() {
        for at in (0..60).filter(|at| ![3, 5].contains(&(at % 6))) {
            for _ in 0..if at % 6 == 1 { 2 } else { 1 } {
                assert_eq!(receive(client), answered(&sent(number, at)), "client {number}, {at}");
            }
        }
    }
    let totals = server.end();
    assert_eq!((totals.messages, totals.malformed, totals.unsent, totals.dropped), (180, 30, 0, Some(0)));
}

#[test]
fn half_a_message_and_then_nothing_holds_up_nobody() {
    let server = Ours::start();
    let mut waiting = Vec::new();
    for length in [1, 13, 14, 50] {
        let mut stream = tcp(&server);
        stream.write_all(&message(1, ASKING, 100)[..length]).unwrap();
        waiting.push(stream);
    }
    good(&server);
    drop(waiting);
    good(&server);
    let totals = server.end();
    assert_eq!((totals.messages, totals.malformed, totals.connections), (4, 0, 6));
}

#[test]
fn garbage_over_connections_ends_them_and_nothing_else() {
    let server = Ours::start();
    for seed in 1..=50_u8 {
        let mut stream = tcp(&server);
        let garbage: Vec<u8> =
            (0..5_000_u32).map(|at| (at.wrapping_mul(u32::from(seed) * 97) >> 3) as u8 | 0x80).collect();
        // It may be closed while this is written.
        let _ = stream.write_all(&garbage);
        assert!(is_over(&mut stream));
    }
    good_tcp(&server);
    assert_eq!(server.end().malformed, 50);
}

#[test]
fn a_client_that_does_not_read_is_waited_for_by_nobody_else() {
    let server = Ours::start();
    let mut deaf = tcp(&server);
    deaf.set_write_timeout(Some(std::time::Duration::from_millis(300))).unwrap();
    let many = message(1, ASKING, 1_000).repeat(1_000);
    let full = loop {
        if let Err(error) = deaf.write_all(&many) {
            break error;
        }
    };
    assert!(matches!(full.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{full}");
    good(&server);
    // It ends in bounded time with this client still there.
    server.end();
    drop(deaf);
}

#[test]
fn a_client_that_vanishes_is_forgotten() {
    let server = Ours::start();
    for _ in 0..20 {
        let mut stream = tcp(&server);
        stream.write_all(&message(1, ASKING, 60_000)).unwrap();
        // The answer cannot be delivered: the kernel resets the connection.
        Socket::from(stream).set_linger(Some(std::time::Duration::ZERO)).unwrap();
    }
    good(&server);
    server.end();
}

/// A raw socket of UDP: whose port stands in a datagram is ours to say. `None`, said aloud, without the permission.
fn spoofing() -> Option<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::UDP)).ok();
    if socket.is_none() {
        testbed::skip::aloud("a sender that claims to be the server itself: raw sockets need CAP_NET_RAW");
    }
    socket
}

#[test]
fn who_claims_to_be_the_server_itself_starts_no_endless_talk() {
    let Some(raw) = spoofing() else { return };
    let server = Ours::with(|settings| settings.places = vec![place("127.0.0.1:0", Carriers::Udp)]);
    let to = SockAddr::from(std::net::SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    let spoof = |from: u16| {
        let payload = message(1, ASKING, 14);
        let length = (8 + payload.len()) as u16;
        let header = [from, server.port(), length, 0].map(u16::to_be_bytes).concat();
        raw.send_to(&[header, payload].concat(), &to).unwrap();
    };
    for _ in 0..10 {
        spoof(server.port());
    }
    let (socket, asked) = (udp(&server), message(2, ASKING, 14));
    socket.send(&asked).unwrap();
    assert_eq!(receive(&socket), answered(&asked));
    // Nobody can be answered there.
    spoof(0);
    socket.send(&asked).unwrap();
    assert_eq!(receive(&socket), answered(&asked));
    let totals = server.end();
    assert_eq!((totals.messages, totals.unsent), (13, 1), "an answer to itself is no client's message");
}
