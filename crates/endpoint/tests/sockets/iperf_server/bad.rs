//! Clients that mean harm or are broken: they hold up no other client, and each is reported.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::time::Duration;

use endpoint::peer::iperf::server::event::{Event, Transport};
use protocol::iperf::ask::Ask;
use protocol::iperf::settings::Amount;
use protocol::iperf::time::Stamp;
use protocol::iperf::wish::Way;
use test_case::test_case;

use crate::iperf_server::{Ours, until};
use crate::strangers::strangers;

fn connected(server: &Ours) -> TcpStream {
    let socket = TcpStream::connect(server.address()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket
}

/// Returns true where the server closed it, in whatever way.
fn is_closed(mut socket: TcpStream) -> bool {
    let mut rest = [0; 1 << 12];
    loop {
        match socket.read(&mut rest) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() != std::io::ErrorKind::WouldBlock,
        }
    }
}

#[test_case(b"", "no header within"; "nothing at all")]
#[test_case(&[0x40, 1, 0], "no header within"; "a part of a word")]
#[test_case(&[0x40, 1, 0, 0x78, 0, 0], "no header within"; "a part of a header")]
#[test_case(&[0x40, 1, 0, 2], "a header of 1 bytes"; "a header of one octet")]
#[test_case(&[0, 0x80, 0, 0, 0, 0, 0, 1], "bounceback messages of 1 bytes"; "small messages")]
#[test_case(&[0, 0x80, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF], "bounceback messages of"; "messages of four gigabytes")]
fn a_bad_beginning_is_told_of_and_closed(octets: &[u8], why: &str) {
    let server = Ours::start(Transport::Tcp);
    let mut socket = connected(&server);
    socket.write_all(octets).unwrap();
    until("a failure", || !server.failures().is_empty());
    assert!(server.failures()[0].contains(why), "{:?}", server.failures());
    assert!(is_closed(socket));
}

#[test_case(None, Some("abcd"), "which this server has none of"; "one that nobody asked for")]
#[test_case(Some("abcd"), None, "shows no permit key"; "none")]
#[test_case(Some("abcd"), Some("abce"), "another permit key"; "another")]
#[test_case(Some("abcd"), Some("abc"), "a permit key of 3 bytes"; "one that is none")]
fn a_key_that_is_not_the_servers_is_told_of_and_closed(wanted: Option<&str>, shown: Option<&str>, why: &str) {
    let server = Ours::with(Transport::Tcp, |settings| settings.key = wanted.map(str::to_owned));
    let header = Ask::default().first(Stamp::default());
    let header = if let Some(key) = shown { header.showing(key.as_bytes()) } else { header };
    let mut socket = connected(&server);
    socket.write_all(&header.encode()).unwrap();
    until("a failure", || !server.failures().is_empty());
    assert!(server.failures()[0].contains(why), "{:?}", server.failures());
    assert!(is_closed(socket));
    assert!(server.ended().is_empty());
}

#[test]
fn one_that_closes_at_once_is_told_of() {
    let server = Ours::start(Transport::Tcp);
    drop(connected(&server));
    until("a failure", || server.failures().iter().any(|why| why.contains("closed before its header")));
}

#[test]
fn one_that_is_silent_holds_up_nobody() {
    let server = Ours::start(Transport::Tcp);
    let silent: Vec<TcpStream> = (0..20).map(|_| connected(&server)).collect();
    let mut socket = connected(&server);
    let ask = Ask { way: Way::Reverse, amount: Amount::bytes(1_000), ..Ask::default() };
    socket.write_all(&ask.first(Stamp::default()).encode()).unwrap();
    assert!(is_closed(socket));
    assert_eq!(server.await_ended(1)[0].count.carried.bytes.0, 1_000);
    drop(silent);
}

#[test]
fn strangers_give_way_to_who_asks_for_a_test() {
    let server = Ours::with(Transport::Tcp, |settings| settings.limits.connections = 8);
    let mut known = connected(&server);
    known.write_all(&Ask::default().first(Stamp::default()).encode()).unwrap();
    until("a test", || server.events().iter().any(|event| matches!(event, Event::Began(_))));
    // Each has said a part of a header.
    let strangers = strangers(server.port(), 40, &[0x40, 1, 0]);
    let mut socket = connected(&server);
    let ask = Ask { way: Way::Reverse, amount: Amount::bytes(1_000), ..Ask::default() };
    socket.write_all(&ask.first(Stamp::default()).encode()).unwrap();
    assert!(is_closed(socket));
    assert_eq!(server.await_ended(1)[0].count.carried.bytes.0, 1_000);
    known.shutdown(Shutdown::Write).unwrap();
    assert_eq!(server.await_ended(2)[1].cut_short, None, "it was served to its end");
    drop(strangers);
}

#[test]
fn connections_are_bounded() {
    let server = Ours::with(Transport::Tcp, |settings| settings.limits.connections = 2);
    let held = [connected(&server), connected(&server)];
    // The kernel decides which one is beyond the limit.
    let third = connected(&server);
    until("a refusal", || server.failures().iter().any(|why| why.contains("the limit of 2 connections is reached")));
    drop(held);
    drop(third);
}

#[test]
fn one_that_does_not_read_ends_with_the_server() {
    let server = Ours::start(Transport::Tcp);
    let mut socket = connected(&server);
    let ask = Ask { way: Way::Reverse, amount: Amount::bytes(1 << 30), ..Ask::default() };
    socket.write_all(&ask.first(Stamp::default()).encode()).unwrap();
    until("its begin", || server.events().iter().any(|event| matches!(event, Event::Began(_))));
    // The server ends here, within its own patience, or its thread would be waited for without an end.
    drop(server);
    drop(socket);
}

#[test]
fn flows_are_bounded_and_nonsense_begins_none() {
    let server = Ours::with(Transport::Udp, |settings| settings.limits.flows = 3);
    for length in 0..20 {
        UdpSocket::bind("127.0.0.1:0").unwrap().send_to(&vec![0xFF; length], server.address()).unwrap();
    }
    let sockets: Vec<UdpSocket> = (0..6).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
    for socket in &sockets {
        // One that does not go on would give way.
        for number in [1, 2] {
            let mut datagram = [0; 100];
            datagram[3] = number;
            socket.send_to(&datagram, server.address()).unwrap();
        }
    }
    until("a refusal", || server.failures().iter().any(|why| why.contains("no more flows")));
    let began = server.events().iter().filter(|event| matches!(event, Event::Began(_))).count();
    assert_eq!((began, server.failures().len()), (3, 1), "told of once");
}

#[test]
fn strangers_are_not_served_where_one_is_awaited() {
    for transport in [Transport::Tcp, Transport::Udp] {
        let server = Ours::with(transport, |settings| settings.only = Some([127, 0, 0, 9].into()));
        let mut datagram = [0; 100];
        datagram[3] = 1;
        match transport {
            Transport::Tcp => assert!(is_closed(connected(&server))),
            Transport::Udp => {
                UdpSocket::bind("127.0.0.1:0").unwrap().send_to(&datagram, server.address()).unwrap();
            }
        }
        until("a refusal", || !server.failures().is_empty());
        assert!(!server.events().iter().any(|event| matches!(event, Event::Began(_))));
    }
}

#[test_case(1, "127.0.0.1", "it did not go on"; "one datagram each")]
#[test_case(2, "127.0.0.1", "nothing came for a while"; "two datagrams each")]
#[test_case(2, "127.0.0.2", "more than half of all flows"; "another address does not wait")]
fn flows_that_are_none_keep_nobody_out_for_long(count: u8, from: &str, gone: &str) {
    let server = Ours::with(Transport::Udp, |settings| settings.limits.flows = 3);
    let mut datagram = [0; 100];
    let sockets: Vec<UdpSocket> = (0..3).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
    for socket in &sockets {
        for number in 1..=count {
            datagram[3] = number;
            socket.send_to(&datagram, server.address()).unwrap();
        }
    }
    let client = UdpSocket::bind((from, 0)).unwrap();
    datagram[3] = 1;
    let port = client.local_addr().unwrap().port();
    until("its turn", || {
        client.send_to(&datagram, server.address()).unwrap();
        server.events().iter().any(|event| matches!(event, Event::Began(began) if began.peer.port() == port))
    });
    let why = server.ended()[0].cut_short.clone();
    assert!(why.as_ref().is_some_and(|why| why.contains(gone) && why.ends_with("its place was needed")), "{why:?}");
}
