//! Connections whose whole life is timed, with a peer of the test that reports what it saw.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;

use endpoint::clock::Monotonic;
use endpoint::link::handshake::ports::Ports;
use endpoint::link::handshake::{Content, Course, Handshake};
use endpoint::socket::tuning::Tuning;
use endpoint::stop::Stop;
use measure::method::{SocketOptions, Waiting};
use measure::unit::{Instant, Nanos};
use protocol::link::{Fault, Link};
use test_case::test_case;
use testbed::port;

const REPLY: usize = 3;

fn listener(at: IpAddr) -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind(SocketAddr::new(at, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

fn exchange() -> Content {
    Content::Exchange { preamble: Vec::new(), accepted: None, reply_length: REPLY }
}

/// An address of this host from which nothing else connects: a port of it is taken by us, or by who has it at all addresses. IPv6 has but one.
const OWN: Ipv4Addr = Ipv4Addr::new(127, 77, 0, 1);

/// A link from ports in order, of which the first is free at the moment.
fn link(peer: SocketAddr, content: Content, waiting: Waiting, ports: Ports) -> Handshake {
    let course = Course::Whole { ports, tuning: Tuning::default() };
    let options = SocketOptions { bind: peer.is_ipv4().then_some(OWN.into()), ..SocketOptions::default() };
    Handshake::new(peer, &options, waiting, content, course, Stop::default()).unwrap()
}

/// Some ports that no other program has.
fn some_ports() -> Ports {
    let row = port::row();
    Ports::from(row.start..=row.end - 1, row.start).unwrap()
}

fn soon() -> Instant {
    Monotonic::now().after(Nanos::secs(60))
}

/// Answers `count` connections and closes each; returns the ports they came from.
fn answer(listener: &TcpListener, count: usize, reply: &[u8]) -> Vec<u16> {
    let serve = |mut stream: TcpStream| {
        if !reply.is_empty() {
            stream.read_exact(&mut [0; 2]).unwrap();
            stream.write_all(reply).unwrap();
        }
        stream.peer_addr().unwrap().port()
    };
    (0..count).map(|_| serve(listener.accept().unwrap().0)).collect()
}

#[expect(clippy::disallowed_macros, reason = "a test that fails for want of ports says who has them")]
fn transact(link: &mut Handshake) -> Result<Option<usize>, Fault> {
    // Where all ports are taken, the kernel's table says by whom.
    link.ready().inspect_err(|_| eprintln!("{}", std::fs::read_to_string("/proc/net/tcp").unwrap_or_default()))?;
    link.send(&[1, 2])?;
    link.receive(&mut [0; 8], soon())
}

#[test_case(IpAddr::V4(Ipv4Addr::LOCALHOST), Waiting::Block; "v4")]
#[test_case(IpAddr::V6(Ipv6Addr::LOCALHOST), Waiting::Block; "v6")]
#[test_case(IpAddr::V4(Ipv4Addr::LOCALHOST), Waiting::Spin; "spinning")]
fn each_exchange_comes_from_the_next_port(at: IpAddr, waiting: Waiting) {
    let (listener, peer) = listener(at);
    let server = thread::spawn(move || answer(&listener, 20, b"abc"));
    let mut link = link(peer, exchange(), waiting, some_ports());
    for _ in 0..20 {
        assert_eq!(transact(&mut link), Ok(Some(REPLY)));
        assert!(link.socket().is_none(), "closed when the exchange is over");
    }
    let came_from = server.join().unwrap();
    assert!(came_from.is_sorted_by(|a, b| a < b), "{came_from:?}");
}

#[test]
fn a_connection_alone_lasts_until_the_peer_closes_it() {
    let (listener, peer) = listener(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let mut link = link(peer, Content::None, Waiting::Block, some_ports());
    link.ready().unwrap();
    link.send(&[]).unwrap();
    let accepted = listener.accept().unwrap().0;
    let shortly = Monotonic::now();
    assert_eq!(link.receive(&mut [], shortly), Ok(None), "the peer has not closed it");
    drop(accepted);
    assert_eq!(link.receive(&mut [], soon()), Ok(Some(0)));
}

#[test]
fn a_taken_port_is_passed_over() {
    let (listener, peer) = listener(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let row = port::row();
    let taken = row.start;
    let keep = TcpListener::bind(("0.0.0.0", taken)).unwrap();
    let server = thread::spawn(move || answer(&listener, 1, b"abc"));
    let ports = Ports::from(taken..=row.end - 1, taken).unwrap();
    assert_eq!(transact(&mut link(peer, exchange(), Waiting::Block, ports)), Ok(Some(REPLY)));
    assert_ne!(server.join().unwrap(), [taken]);
    drop(keep);
}

#[test]
fn where_no_port_is_left_our_own_side_failed() {
    let (_listener, peer) = listener(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let keep = TcpListener::bind("0.0.0.0:0").unwrap();
    let taken = keep.local_addr().unwrap().port();
    let mut link = link(peer, exchange(), Waiting::Block, Ports::from(taken..=taken, taken).unwrap());
    assert!(matches!(transact(&mut link), Err(Fault::SendFailed(_))));
}

#[test_case(b"ab", "cut short"; "too little")]
#[test_case(b"abcd", "longer"; "too much")]
fn a_wrong_reply_is_refused_and_the_next_is_sound(wrong: &'static [u8], what: &str) {
    let (listener, peer) = listener(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let server = thread::spawn(move || {
        answer(&listener, 1, wrong);
        answer(&listener, 1, b"abc")
    });
    let mut link = link(peer, exchange(), Waiting::Block, some_ports());
    assert!(matches!(transact(&mut link), Err(Fault::Refused(_))), "{what}");
    assert_eq!(transact(&mut link), Ok(Some(REPLY)));
    server.join().unwrap();
}

#[test]
fn nobody_there_is_a_refusal_that_ends_no_run() {
    let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, port::free()));
    let fault = transact(&mut link(peer, exchange(), Waiting::Block, some_ports())).unwrap_err();
    assert!(matches!(fault, Fault::Refused(_)) && !fault.ends_the_run(), "{fault:?}");
}
