//! Data as only a hand-made client has them: classic tests, lost ends, paces, files.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream, UdpSocket};

use endpoint::clock::Monotonic;
use measure::unit::Nanos;
use protocol::netperf::ask::{Ask, Carrier, Flags, Length, Pacing, Test};
use protocol::netperf::data::PAD;
use protocol::netperf::error::Error;
use test_case::test_case;
use testbed::wait;

use super::Ours;
use super::session::{PATIENCE, Session, at, exchange, tcp_rr, udp};

/// A classic client does not close its data connection before it has its results.
#[test_case(Test::TcpRr; "tcp")]
#[test_case(Test::UdpRr; "udp")]
fn a_classic_test_by_time_ends_once_nothing_comes_any_more(test: Test) {
    let server = Ours::start();
    let mut session = Session::open(&server);
    let began = Monotonic::now();
    let ready = session.ask(&Ask::classic(test, Length::Seconds(1))).unwrap();
    if test == Test::TcpRr {
        let mut data = TcpStream::connect(at(&ready)).unwrap();
        (0..20).for_each(|_| exchange(&mut data));
        assert_eq!(session.results().transactions, Some(20));
    } else {
        let (data, _) = udp();
        data.connect(at(&ready)).unwrap();
        for _ in 0..20 {
            data.send(b"?").unwrap();
            data.recv(&mut [0]).unwrap();
        }
        assert_eq!(session.results().transactions, Some(20));
    }
    let took = Monotonic::now().since(began).unwrap();
    assert!(Nanos::secs(1) <= took && took < Nanos(PAD.0 + 1_000_000_000), "{took}");
}

#[test]
fn a_classic_stream_of_datagrams_is_counted() {
    let server = Ours::start();
    let mut session = Session::open(&server);
    let ready = session.ask(&Ask::classic(Test::UdpStream, Length::Seconds(1))).unwrap();
    let (data, _) = udp();
    for _ in 0..7 {
        data.send_to(&[1; 100], at(&ready)).unwrap();
    }
    let received = session.results().received.unwrap();
    assert_eq!((received.calls, received.bytes), (7, 700));
}

#[test]
fn a_response_that_got_lost_can_be_asked_for_again() {
    let server = Ours::start();
    let mut session = Session::open(&server);
    let (data, port) = udp();
    let ask = Ask { client_port: port, carrier: Carrier::Udp, ..tcp_rr(Length::Count(3)) };
    let ready = session.ask(&ask).unwrap();
    data.connect(at(&ready)).unwrap();
    for _ in 0..4 {
        data.send(b"?").unwrap();
        data.recv(&mut [0]).unwrap();
    }
    data.send(&[]).unwrap();
    assert_eq!(session.results().transactions, Some(4));
}

#[test]
fn the_end_of_a_udp_test_that_got_lost_costs_no_more_than_a_moment() {
    let server = Ours::start();
    let mut session = Session::open(&server);
    let (data, port) = udp();
    let ask = Ask { client_port: port, ..Ask::omni(Carrier::Udp, false, true, Length::Seconds(1)) };
    let ready = session.ask(&ask).unwrap();
    data.send_to(&[1; 10], at(&ready)).unwrap();
    assert_eq!(session.results().received.unwrap().bytes, 10);
}

#[test]
fn the_end_of_an_earlier_udp_test_is_not_taken_for_that_of_this_one() {
    let server = Ours::start();
    let mut session = Session::open(&server);
    let (data, port) = udp();
    let ask = Ask { client_port: port, ..Ask::omni(Carrier::Udp, false, true, Length::UntilTold) };
    let ready = session.ask(&ask).unwrap();
    udp().0.send_to(&[], at(&ready)).unwrap();
    data.send_to(&[1; 10], at(&ready)).unwrap();
    data.send_to(&[], at(&ready)).unwrap();
    assert_eq!(session.results().received.unwrap().calls, 1);
}

#[test]
fn datagrams_are_sent_to_nobody_but_the_client() {
    let server = Ours::start();
    let mut session = Session::open(&server);
    let other = Some(IpAddr::from([192, 0, 2, 1]));
    let ask = Ask { client_address: other, client_port: 9, ..Ask::omni(Carrier::Udp, true, false, Length::Seconds(1)) };
    let _ready = session.ask(&ask).unwrap();
    assert!(matches!(session.answer(), Err(Error::Refused { code: libc::EPERM, .. })));
}

/// Else a datagram of an octet under a forged source would have 64 KiB sent to its owner.
#[test]
fn responses_longer_than_requests_go_to_nobody_but_the_client() {
    let server = Ours::start();
    let mut session = Session::open(&server);
    let ask = Ask { carrier: Carrier::Udp, response_bytes: Some(1_000), ..tcp_rr(Length::Count(1)) };
    let ready = session.ask(&ask).unwrap();
    let other = UdpSocket::bind("127.0.0.2:0").unwrap();
    for _ in 0..3 {
        other.send_to(b"?", at(&ready)).unwrap();
    }
    let (client, _) = udp();
    client.send_to(b"?", at(&ready)).unwrap();
    assert_eq!(client.recv(&mut [0; 2_000]).unwrap(), 1_000);
    client.send_to(&[], at(&ready)).unwrap();
    assert_eq!(session.results().transactions, Some(1));
    other.set_nonblocking(true).unwrap();
    assert!(other.recv(&mut [0; 2_000]).is_err(), "nothing went there");
}

/// As netperf's own does, for a host whose data come from another of its addresses.
#[test]
fn responses_as_long_as_requests_go_where_the_first_request_came_from() {
    let server = Ours::start();
    let mut session = Session::open(&server);
    let ready = session.ask(&Ask { carrier: Carrier::Udp, ..tcp_rr(Length::Count(1)) }).unwrap();
    let other = UdpSocket::bind("127.0.0.2:0").unwrap();
    other.set_read_timeout(Some(PATIENCE)).unwrap();
    other.send_to(b"?", at(&ready)).unwrap();
    assert_eq!(other.recv(&mut [0; 10]).unwrap(), 1);
    other.send_to(&[], at(&ready)).unwrap();
    assert_eq!(session.results().transactions, Some(1));
}

#[test]
fn datagrams_to_the_client_are_paced_and_end_as_a_client_ends_its_own() {
    let server = Ours::start();
    let mut session = Session::open(&server);
    let (data, port) = udp();
    let ask = Ask {
        client_port: port,
        send_bytes: Some(100),
        pacing: Some(Pacing { burst: 2, interval_us: 10_000 }),
        ..Ask::omni(Carrier::Udp, true, false, Length::Count(2_000))
    };
    let began = Monotonic::now();
    let ready = session.ask(&ask).unwrap();
    assert_eq!(ready.pacing, ask.pacing);
    let mut lengths = Vec::new();
    while lengths.last() != Some(&0) {
        lengths.push(data.recv(&mut [0; 200]).unwrap());
    }
    // Twenty in ten bursts: nine intervals at least lie between the first and the last.
    assert!(Monotonic::now().since(began).unwrap() >= Nanos::millis(80));
    assert_eq!((lengths.len(), lengths[0]), (21, 100));
    assert_eq!(session.results().sent.unwrap().bytes, 2_000);
}

#[test]
fn responses_are_paced_where_that_was_asked_for() {
    let server = Ours::start();
    let mut session = Session::open(&server);
    let pacing = Some(Pacing { burst: 3, interval_us: 20_000 });
    let ready = session.ask(&Ask { pacing, ..tcp_rr(Length::Count(10)) }).unwrap();
    let began = Monotonic::now();
    let mut data = TcpStream::connect(at(&ready)).unwrap();
    (0..10).for_each(|_| exchange(&mut data));
    let took = Monotonic::now().since(began).unwrap();
    assert!(took >= Nanos::millis(40), "three waits, the first of which may be short: {took}");
    drop(data);
    assert_eq!(session.results().transactions, Some(10));
}

#[test]
fn a_stream_from_a_file_arrives_and_says_so() {
    let server = Ours::start();
    let mut session = Session::open(&server);
    let ask = Ask {
        flags: Flags::SENDFILE.with(Flags::ROUTE),
        send_bytes: Some(1_000),
        ..Ask::omni(Carrier::Tcp, true, false, Length::Count(100_000))
    };
    let ready = session.ask(&ask).unwrap();
    assert!(ready.flags.has(Flags::SENDFILE));
    let mut received = Vec::new();
    TcpStream::connect(at(&ready)).unwrap().read_to_end(&mut received).unwrap();
    assert_eq!((received.len(), &received[..9]), (100_000, &b"netperf\0n"[..]));
    assert_eq!(session.results().sent.unwrap().bytes, 100_000);
}

#[test]
fn a_file_that_a_client_names_is_not_sent() {
    let server = Ours::start();
    let mut session = Session::open(&server);
    let secret = tempfile::NamedTempFile::new().unwrap();
    let short = secret.path().with_file_name("secret.txt");
    std::fs::write(&short, "secret ".repeat(1_000)).unwrap();
    let name = short.display().to_string();
    assert!(name.len() <= 31, "it has to fit its field: {name}");
    let ask = Ask {
        fill_file: Some(name),
        send_bytes: Some(5_000),
        ..Ask::omni(Carrier::Tcp, true, false, Length::Count(5_000))
    };
    let ready = session.ask(&ask).unwrap();
    let mut received = Vec::new();
    TcpStream::connect(at(&ready)).unwrap().read_to_end(&mut received).unwrap();
    std::fs::remove_file(short).unwrap();
    assert_eq!(received.len(), 5_000);
    assert!(!received.windows(6).any(|octets| octets == b"secret"));
    session.results();
}

#[test]
fn a_client_that_sends_more_requests_than_it_asked_for_has_all_its_responses() {
    let server = Ours::start();
    let mut session = Session::open(&server);
    let ready = session.ask(&tcp_rr(Length::Count(3))).unwrap();
    let mut data = TcpStream::connect(at(&ready)).unwrap();
    data.write_all(b"??????").unwrap();
    data.read_exact(&mut [0; 3]).unwrap();
    // Ours has ended its half; what was too much resets nothing.
    data.write_all(b"?").unwrap();
    assert_eq!(wait::read(&mut data, &mut [0; 1]).unwrap(), 0);
    drop(data);
    assert_eq!(session.results().transactions, Some(3));
}

#[test]
fn a_connection_that_says_nothing_holds_the_next_one_up_for_a_while_only() {
    let server = Ours::start();
    let mut session = Session::open(&server);
    let ready = session.ask(&Ask { per_connection: true, ..tcp_rr(Length::Count(2)) }).unwrap();
    let mute = TcpStream::connect(at(&ready)).unwrap();
    for _ in 0..2 {
        exchange(&mut TcpStream::connect(at(&ready)).unwrap());
    }
    assert_eq!(session.results().transactions, Some(2));
    drop(mute);
}
