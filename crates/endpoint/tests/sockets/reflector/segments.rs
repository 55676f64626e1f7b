//! One-way messages, alone and many in one buffer: each is counted, those that ask are answered, and a malformed one
//! spoils none of its neighbours.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;

use endpoint::reflector::{Behaviour, Settings};
use endpoint::socket::many;
use measure::method::{Batch, BatchBy, Carrier, Waiting};
use measure::unit::{Bytes, Nanos};
use protocol::native::header::{Flags, Header};
use protocol::native::message::{Open, capability};
use rustix::net::SendFlags;
use test_case::test_case;
use testbed::client::{Session, asked, is_silent, open, udp};

use crate::reflector::{settings, with_reflector, with_settings};

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

fn batched(length: u64) -> Open {
    Open {
        batch: Some(Batch { messages: 128, by: BatchBy::Segments }),
        request_bytes: Bytes(length),
        response_bytes: Bytes(length.min(64)),
        receive_buffer_bytes: Some(Bytes(1 << 20)),
        ..open(Carrier::Udp)
    }
}

/// A session whose flow is known to the reflector by number 0.
fn known(address: SocketAddr, open: Open) -> (Session, UdpSocket) {
    let length = open.response_bytes.0 as usize;
    let session = Session::open(address, open).unwrap();
    let socket = udp(address);
    assert_eq!(number(&asked(&socket, &session.request(0, Flags::NONE, 64, length))), (0, 1));
    (session, socket)
}

fn number(reply: &[u8]) -> (u64, u32) {
    let header = Header::read(reply).expect("a header");
    (header.seq, header.word)
}

fn reply(socket: &UdpSocket) -> (u64, u32) {
    let mut buffer = [0; 1_500];
    let length = socket.recv(&mut buffer).expect("a reply");
    number(&buffer[..length])
}

/// One-way messages of these numbers and this length, one behind the other.
fn one_way(session: &Session, numbers: std::ops::Range<u64>, length: usize) -> Vec<u8> {
    numbers.flat_map(|seq| session.request(seq, Flags::SILENT, 64, length)).collect()
}

fn send(socket: &UdpSocket, messages: &[u8], segment: usize) {
    many::send_segmented(socket.as_fd(), messages, segment as u16, SendFlags::NOSIGNAL)
        .expect("loopback takes segments");
}

#[test_case(V4; "IPv4")]
#[test_case(V6; "IPv6")]
fn every_segment_is_counted_whatever_its_size_and_number(ip: IpAddr) {
    let listen = vec![SocketAddr::new(ip, 0)];
    with_settings(Settings { listen, ..settings() }, |address, _| {
        for length in [32, 33, 64, 65, 500, 1_472] {
            let (session, socket) = known(address, batched(length));
            let length = length as usize;
            let (mut sent, mut replied) = (1, 1);
            for count in [1, 2, 3, 44, 63, 64, 65, 128].into_iter().filter(|count| *count as usize * length <= 65_507) {
                // The last one is shorter, as the last of a buffer may be, but a header at least.
                let mut messages = one_way(&session, sent..sent + count - 1, length);
                messages.extend(one_way(&session, sent..sent + 1, length.div_ceil(2).max(32)));
                send(&socket, &messages, length);
                sent += count;
                // The same thread takes it after all of them, and its reply carries the number received.
                let answer = asked(&socket, &session.request(sent, Flags::NONE, 64, 64.min(length)));
                sent += 1;
                assert_eq!(number(&answer), (sent - 1, sent as u32), "{count} of {length} octets");
                replied += 1;
            }
            assert!(is_silent(&socket));
            let report = session.close();
            assert_eq!((report.received, report.replied, report.malformed), (vec![sent], vec![replied], 0));
            assert_eq!(report.dropped, Some(0));
        }
    });
}

#[test_case(Waiting::Block; "blocking")]
#[test_case(Waiting::Spin; "spinning")]
fn those_that_ask_are_answered_one_by_one_with_the_count_so_far(waiting: Waiting) {
    with_reflector(|address| {
        let (session, socket) = known(address, Open { waiting: Some(waiting), ..batched(64) });
        let flags = |seq: u64| if seq.is_multiple_of(10) { Flags::NONE } else { Flags::SILENT };
        let messages: Vec<u8> = (1..=100).flat_map(|seq| session.request(seq, flags(seq), 64, 64)).collect();
        send(&socket, &messages, 64);
        for seq in (10..=100).step_by(10) {
            assert_eq!(reply(&socket), (seq, seq as u32 + 1));
        }
        let report = session.close();
        assert_eq!((report.received, report.replied), (vec![101], vec![11]));
    });
}

#[test]
fn what_makes_no_sense_spoils_none_of_its_neighbours() {
    with_reflector(|address| {
        let (session, socket) = known(address, batched(64));
        let mut messages = one_way(&session, 1..65, 64);
        // A token, a version, a flow; the first, the last, and two in a row.
        for (index, octet) in [(0, 3), (20, 24), (21, 27), (63, 15)] {
            messages[index * 64 + octet] ^= 0x40;
        }
        send(&socket, &messages, 64);
        // In a buffer whose messages are longer than agreed on none makes sense, but for a shorter last one.
        let long = [one_way(&session, 65..68, 80), session.request(68, Flags::NONE, 64, 64)].concat();
        send(&socket, &long, 80);
        assert_eq!(reply(&socket), (68, 62));
        // A message shorter than a header is none of the session's.
        send(&socket, &[one_way(&session, 69..71, 64), vec![0; 31]].concat(), 64);
        assert_eq!(number(&asked(&socket, &session.request(71, Flags::NONE, 64, 64))), (71, 65));
        let report = session.close();
        assert_eq!((report.received, report.replied, report.malformed), (vec![65], vec![3], 8));
    });
}

#[test]
fn in_a_buffer_flags_are_heeded_as_alone() {
    with_reflector(|address| {
        let (session, socket) = known(address, batched(64));
        let flags = [Flags::SILENT.with(Flags::WARM_UP), Flags::WARM_UP, Flags::ANNOUNCE, Flags::STAMPED];
        let messages: Vec<u8> = (1..).zip(flags).flat_map(|(seq, flags)| session.request(seq, flags, 64, 64)).collect();
        send(&socket, &messages, 64);
        assert_eq!([reply(&socket), reply(&socket), reply(&socket)], [(2, 3), (3, 4), (4, 5)]);
        let report = session.close();
        assert_eq!((report.received, report.replied, report.warm_up), (vec![5], vec![4], Some(vec![2])));
    });
}

#[test]
fn who_does_not_ask_for_it_is_served_one_by_one_and_counted_alike() {
    with_reflector(|address| {
        for by in [None, Some(BatchBy::Calls)] {
            let batch = by.map(|by| Batch { messages: 64, by });
            let (session, socket) = known(address, Open { batch, ..batched(64) });
            assert_eq!(session.opened.got.batch, None);
            send(&socket, &one_way(&session, 1..65, 64), 64);
            assert_eq!(number(&asked(&socket, &session.request(65, Flags::NONE, 64, 64))), (65, 66));
            assert_eq!(session.close().received, [66]);
        }
    });
}

#[test]
fn what_is_granted_is_said() {
    with_reflector(|address| {
        let wanted = batched(64);
        let (session, _socket) = known(address, Open { stamps: true, ..wanted.clone() });
        assert!(session.opened.capabilities.contains(capability::SEGMENTS));
        assert_eq!((session.opened.got.batch, session.opened.got.stamps), (wanted.batch, false));
        // Linux doubles what is asked for, up to the doubled bound of the system.
        let most: u64 = std::fs::read_to_string("/proc/sys/net/core/rmem_max").unwrap().trim().parse().unwrap();
        assert_eq!(session.close().receive_buffer_bytes, Some(Bytes(2 * most.min(1 << 20))));
        let over_tcp = Session::open(address, Open { carrier: Carrier::Tcp, ..wanted }).unwrap();
        assert_eq!(over_tcp.opened.got.batch, None);
        let report = over_tcp.close();
        assert_eq!((report.dropped, report.receive_buffer_bytes), (None, None), "there was no socket of datagrams");
    });
}

/// The client's messages equal those that the reflector received plus those that its kernel dropped, each segment in a
/// separate buffer.
#[test_case(true; "in calls of many")]
#[test_case(false; "in calls of one")]
fn what_is_lost_in_a_full_buffer_is_told(together: bool) {
    // A reply that is held keeps the reflector from its buffer, until it is full.
    let behaviour = Behaviour { hold: Some(Nanos::millis(300)), ..Behaviour::default() };
    with_settings(Settings { behaviour, ..settings() }, |address, _| {
        let small = Open { batch: None, receive_buffer_bytes: Some(Bytes(8_192)), ..batched(64) };
        let (session, socket) = known(address, small);
        socket.send(&session.request(1, Flags::NONE, 64, 64)).unwrap();
        let messages = one_way(&session, 2..102, 64);
        for _ in 0..10 {
            if together {
                let mut rest = &messages[..];
                while !rest.is_empty() {
                    rest = &rest[64 * many::send_each(socket.as_fd(), rest, 64, SendFlags::NOSIGNAL).unwrap()..];
                }
            } else {
                messages.chunks(64).for_each(|message| assert_eq!(socket.send(message).unwrap(), 64));
            }
        }
        assert_eq!(reply(&socket).0, 1);
        let report = session.close();
        let dropped = report.dropped.unwrap();
        assert!(dropped > 0 && report.received[0] < 1_002, "{report:?}");
        assert_eq!(report.received[0] + dropped, 1_002);
    });
}

/// The last reply comes before the messages behind it are looked at; closing at once must not lose them.
#[test_case(true; "in segments")]
#[test_case(false; "one by one")]
fn what_has_come_when_the_session_is_closed_was_received(segments: bool) {
    with_reflector(|address| {
        for _ in 0..20 {
            let wanted = if segments { batched(64) } else { Open { batch: None, ..batched(64) } };
            let (session, socket) = known(address, wanted);
            socket.send(&session.request(1, Flags::NONE, 64, 64)).unwrap();
            for begin in (2..1_002).step_by(100) {
                send(&socket, &one_way(&session, begin..begin + 100, 64), 64);
            }
            assert_eq!(reply(&socket), (1, 2));
            let report = session.close();
            // A system that grants little room may drop some, each in a separate buffer.
            assert_eq!(report.received[0] + report.dropped.unwrap(), 1_002);
        }
    });
}
