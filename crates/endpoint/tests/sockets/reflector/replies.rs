//! Each request gets the reply that it asks for: none, a shorter one, one in n, and no more than the rate allows.

use std::io::{Read, Write};
use std::net::TcpStream;

use endpoint::clock::Monotonic;
use measure::method::{Carrier, Pattern};
use measure::unit::{Bytes, Nanos, Rate};
use protocol::native::header::{Flags, Header, LENGTH};
use protocol::native::limits::Limits;
use protocol::native::message::Open;

use crate::reflector::{with_limits, with_reflector};
use testbed::client::open;
use testbed::client::{Session, asked, udp};

fn reply(stream: &mut TcpStream, length: usize) -> Vec<u8> {
    let mut reply = vec![0; length];
    stream.read_exact(&mut reply).expect("a reply");
    reply
}

fn number(reply: &[u8]) -> (u64, u32) {
    let header = Header::read(reply).expect("a header");
    (header.seq, header.word)
}

#[test]
fn a_silent_request_is_counted_and_not_answered() {
    with_reflector(|address| {
        let tcp = Session::open(address, open(Carrier::Tcp)).unwrap();
        let mut stream = tcp.data(0).unwrap();
        stream.write_all(&tcp.request(0, Flags::SILENT, 64, 64)).unwrap();
        stream.write_all(&tcp.request(1, Flags::NONE, 64, 64)).unwrap();
        assert_eq!(number(&reply(&mut stream, 64)), (1, 2));
        drop(stream);
        assert_eq!((tcp.close().replied, 1), (vec![1], 1));

        let session = Session::open(address, open(Carrier::Udp)).unwrap();
        let socket = udp(address);
        assert_eq!(number(&asked(&socket, &session.request(0, Flags::WARM_UP, 64, 64))), (0, 1));
        socket.send(&session.request(1, Flags::SILENT.with(Flags::WARM_UP), 64, 64)).unwrap();
        assert_eq!(number(&asked(&socket, &session.request(2, Flags::NONE, 64, 64))), (2, 3));
        let report = session.close();
        assert_eq!((report.received, report.replied), (vec![3], vec![2]));
    });
}

/// Plain requests have a way of their own through the reflector; what comes between them must not be miscounted there.
#[test]
fn plain_requests_and_others_in_turn_are_counted_in_one_row() {
    let other = |seq: u64| match seq % 4 {
        1 => (Flags::WARM_UP, 64, 64),
        2 => (Flags::NONE, 40, 40),
        3 => (Flags::ANNOUNCE, 64, 64),
        _ => (Flags::NONE, 64, 64),
    };
    with_reflector(|address| {
        let tcp = Session::open(address, open(Carrier::Tcp)).unwrap();
        let udp_session = Session::open(address, open(Carrier::Udp)).unwrap();
        let (mut stream, socket) = (tcp.data(0).unwrap(), udp(address));
        for seq in 0..40 {
            let (flags, asks, length) = other(seq);
            stream.write_all(&tcp.request(seq, flags, asks, 64)).unwrap();
            assert_eq!(number(&reply(&mut stream, length)), (seq, seq as u32 + 1));
            let answer = asked(&socket, &udp_session.request(seq, flags, asks, 64));
            assert_eq!((number(&answer), answer.len()), ((seq, seq as u32 + 1), length));
        }
        for report in [tcp.close(), udp_session.close()] {
            assert_eq!((report.received, report.replied, report.warm_up), (vec![40], vec![40], Some(vec![10])));
        }
    });
}

#[test]
fn one_request_in_n_is_answered_by_its_number() {
    with_reflector(|address| {
        let third = |carrier| Open { reply_every: 3, ..open(carrier) };
        let tcp = Session::open(address, third(Carrier::Tcp)).unwrap();
        let mut stream = tcp.data(0).unwrap();
        // Number 4 is missing: which are answered goes by number, not by count.
        for seq in [0, 1, 2, 3, 5, 6, 7, 8] {
            stream.write_all(&tcp.request(seq, Flags::NONE, 64, 64)).unwrap();
        }
        assert_eq!([number(&reply(&mut stream, 64)), number(&reply(&mut stream, 64))], [(2, 3), (5, 5)]);
        assert_eq!(number(&reply(&mut stream, 64)), (8, 8));

        let session = Session::open(address, third(Carrier::Udp)).unwrap();
        let socket = udp(address);
        // The first reply makes the flow known: only then is nothing of it passed over.
        assert_eq!(number(&asked(&socket, &session.request(2, Flags::NONE, 64, 64))), (2, 1));
        socket.send(&session.request(3, Flags::NONE, 64, 64)).unwrap();
        assert_eq!(number(&asked(&socket, &session.request(5, Flags::NONE, 64, 64))), (5, 3));
    });
}

#[test]
fn messages_without_a_header_are_answered_by_their_order() {
    with_reflector(|address| {
        let small = Open { request_bytes: Bytes(4), response_bytes: Bytes(2), reply_every: 2, ..open(Carrier::Tcp) };
        let session = Session::open(address, small).unwrap();
        let mut stream = session.data(0).unwrap();
        stream.write_all(b"aaaabbbbccccdddd").unwrap();
        assert_eq!(reply(&mut stream, 4), b"bbdd");
    });
}

#[test]
fn a_shorter_reply_is_had_for_the_asking() {
    with_reflector(|address| {
        let large = Bytes(1 << 20);
        let session =
            Session::open(address, Open { response_bytes: large, request_bytes: Bytes(100), ..open(Carrier::Tcp) })
                .unwrap();
        let mut stream = session.data(0).unwrap();
        for (seq, asks, length) in
            [(0, 1 << 20, 1 << 20), (1, 1, 1), (2, 600_000, 600_000), (3, 1 << 21, 1 << 20), (4, 32, 32)]
        {
            stream.write_all(&session.request(seq, Flags::NONE, asks, 100)).unwrap();
            let reply = reply(&mut stream, length);
            if length >= LENGTH {
                assert_eq!(number(&reply), (seq, seq as u32 + 1));
            }
        }
        // Nothing asked for is nothing sent: the next reply comes next.
        stream.write_all(&session.request(5, Flags::NONE, 0, 100)).unwrap();
        stream.write_all(&session.request(6, Flags::NONE, 64, 100)).unwrap();
        assert_eq!(number(&reply(&mut stream, 64)), (6, 7));
    });
}

#[test]
fn a_message_of_another_layout_or_flow_is_not_answered_on_a_stream_either() {
    with_reflector(|address| {
        let session = Session::open(address, open(Carrier::Tcp)).unwrap();
        let mut stream = session.data(0).unwrap();
        let mut strange = session.request(0, Flags::NONE, 64, 64);
        strange[24] = 7;
        stream.write_all(&strange).unwrap();
        strange[24] = 1;
        strange[27] = 7;
        stream.write_all(&strange).unwrap();
        stream.write_all(&session.request(1, Flags::NONE, 64, 64)).unwrap();
        assert_eq!(number(&reply(&mut stream, 64)), (1, 1));
        drop(stream);
        assert_eq!(session.close().malformed, 2);
    });
}

/// 1 in 5 ms, and 10 ms that a flow may be ahead: `count` replies take this at least.
fn least(count: u64) -> Nanos {
    Nanos::millis(5 * (count - 1) - 10)
}

fn bounded() -> Limits {
    Limits { rate_per_flow: Rate::per_second(200), ..Limits::default() }
}

#[test]
fn a_bounded_rate_is_not_exceeded_whatever_is_sent() {
    with_limits(bounded(), |address, _| {
        let tcp = Session::open(address, open(Carrier::Tcp)).unwrap();
        let mut stream = tcp.data(0).unwrap();
        let began = Monotonic::now();
        for seq in 0..60 {
            stream.write_all(&tcp.request(seq, Flags::NONE, 64, 64)).unwrap();
        }
        reply(&mut stream, 60 * 64);
        let took = Monotonic::now().since(began).unwrap();
        assert!(took >= least(60), "{took}");

        let session = Session::open(address, open(Carrier::Udp)).unwrap();
        let socket = udp(address);
        // The first reply makes the flow known: only then is nothing of it passed over.
        asked(&socket, &session.request(u64::MAX, Flags::WARM_UP, 64, 64));
        let began = Monotonic::now();
        for seq in 0..60 {
            socket.send(&session.request(seq, Flags::NONE, 64, 64)).unwrap();
        }
        for _ in 0..60 {
            socket.recv(&mut [0; 64]).expect("60 datagrams fit any buffer");
        }
        let took = Monotonic::now().since(began).unwrap();
        assert!(took >= least(60), "{took}");
    });
}

#[test]
fn a_bounded_rate_holds_across_connections_of_one_flow() {
    with_limits(bounded(), |address, _| {
        let session = Session::open(address, Open { pattern: Pattern::ConnectExchange, ..open(Carrier::Tcp) }).unwrap();
        let began = Monotonic::now();
        for seq in 0..30 {
            let mut stream = session.data(0).unwrap();
            stream.write_all(&session.request(seq, Flags::NONE, 64, 64)).unwrap();
            reply(&mut stream, 64);
        }
        let took = Monotonic::now().since(began).unwrap();
        assert!(took >= least(30), "{took}");
    });
}
