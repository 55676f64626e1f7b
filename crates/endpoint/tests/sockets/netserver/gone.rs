//! Clients that stop in the middle, are of another age, or talk too much: each ends in bounded time, and others are served.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use endpoint::clock::Monotonic;
use endpoint::pace;
use endpoint::peer::netperf::server::Log;
use measure::unit::Nanos;
use protocol::netperf::ask::{Ask, Carrier, Length};
use protocol::netperf::{OLD_MESSAGE, REST};
use test_case::test_case;

use super::Ours;
use super::session::{PATIENCE, Session, at, good, tcp_rr, udp};

/// A netserver and what it says of its clients.
fn logging() -> (Ours, Arc<Mutex<Vec<String>>>) {
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let into = Arc::clone(&lines);
    let log = Log(Arc::new(move |line: &str| into.lock().unwrap().push(line.to_owned())));
    (Ours::with(|settings| settings.log = Some(log)), lines)
}

fn await_line(lines: &Mutex<Vec<String>>, holds: &str) {
    let give_up = Monotonic::now().after(Nanos::secs(30));
    while !lines.lock().unwrap().iter().any(|line| line.contains(holds)) {
        assert!(Monotonic::now() < give_up, "{holds}: {:?}", lines.lock().unwrap());
        pace::sleep_until(Monotonic::now().after(Nanos::millis(5)));
    }
}

/// Points at which a client stops: its test must end with it.
#[derive(Clone, Copy)]
enum Stops {
    BeforeConnecting,
    Idle,
    Unread,
}

#[test_case(Stops::BeforeConnecting, &tcp_rr(Length::Seconds(3_600)); "before it connects")]
#[test_case(Stops::BeforeConnecting, &Ask { per_connection: true, ..tcp_rr(Length::Seconds(3_600)) }; "before its first connection")]
#[test_case(Stops::BeforeConnecting, &Ask::omni(Carrier::Udp, false, true, Length::Seconds(3_600)); "before its first datagram")]
#[test_case(Stops::Idle, &tcp_rr(Length::UntilTold); "between transactions")]
#[test_case(Stops::Idle, &Ask::omni(Carrier::Tcp, false, true, Length::UntilTold); "in the middle of its stream")]
#[test_case(Stops::Unread, &Ask::omni(Carrier::Tcp, true, false, Length::UntilTold); "without reading on")]
fn a_client_that_is_gone_ends_its_test(stops: Stops, ask: &Ask) {
    let (server, lines) = logging();
    let mut session = Session::open(&server);
    let ready = session.ask(ask).unwrap();
    let data = match stops {
        Stops::BeforeConnecting => None,
        Stops::Idle | Stops::Unread => Some(TcpStream::connect(at(&ready)).unwrap()),
    };
    drop(session);
    await_line(&lines, "gone while its test ran");
    drop(data);
    good(&mut Session::open(&server));
}

#[test]
fn datagrams_to_a_client_that_is_gone_end() {
    let (server, lines) = logging();
    let mut session = Session::open(&server);
    let (data, port) = udp();
    let ask = Ask { client_port: port, ..Ask::omni(Carrier::Udp, true, false, Length::UntilTold) };
    session.ask(&ask).unwrap();
    data.recv(&mut [0; 100]).unwrap();
    drop((session, data));
    await_line(&lines, "gone while its test ran");
}

#[test]
fn a_client_that_wants_no_more_ends_a_stream_to_it() {
    let server = Ours::start();
    let mut session = Session::open(&server);
    let ready = session.ask(&Ask::omni(Carrier::Tcp, true, false, Length::UntilTold)).unwrap();
    let mut data = TcpStream::connect(at(&ready)).unwrap();
    data.read_exact(&mut [0; 1_000]).unwrap();
    data.shutdown(Shutdown::Write).unwrap();
    data.read_to_end(&mut Vec::new()).unwrap();
    assert!(session.results().sent.unwrap().bytes >= 1_000);
}

#[test]
fn an_old_client_is_told_so_in_its_own_size_and_dropped() {
    let (server, lines) = logging();
    let mut old = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).unwrap();
    old.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut message = vec![0; OLD_MESSAGE];
    message[3] = 13;
    old.write_all(&message).unwrap();
    let began = Monotonic::now();
    let mut answer = Vec::new();
    old.read_to_end(&mut answer).unwrap();
    assert_eq!(answer.len(), OLD_MESSAGE);
    assert_eq!(i32::from_be_bytes(answer[4..8].try_into().unwrap()), libc::EPROTONOSUPPORT);
    assert!(Monotonic::now().since(began).unwrap() < Nanos(REST.0 * 3));
    await_line(&lines, "older than 2.6");
}

#[test]
fn a_client_that_floods_is_dropped() {
    let server = Ours::start();
    let mut session = Session::open(&server);
    session.ask(&tcp_rr(Length::Count(1))).unwrap();
    let mut flooding = session.socket.try_clone().unwrap();
    flooding.set_write_timeout(Some(PATIENCE)).unwrap();
    // Nothing is read of the control connection while a test runs: what is written beyond its buffers waits.
    let ended = flooding.write_all(&vec![0x55; 64 << 10]);
    assert!(ended.is_ok() || matches!(ended.unwrap_err().kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionReset));
    drop((session, flooding));
    good(&mut Session::open(&server));
}

#[test]
fn a_netserver_that_stops_ends_its_tests() {
    let (server, _) = logging();
    let mut session = Session::open(&server);
    let ready = session.ask(&Ask::omni(Carrier::Tcp, true, false, Length::UntilTold)).unwrap();
    let mut data = TcpStream::connect(at(&ready)).unwrap();
    let reading = thread::spawn(move || {
        let mut sink = vec![0; 1 << 16];
        while data.read(&mut sink).is_ok_and(|count| count > 0) {}
    });
    drop(server);
    reading.join().unwrap();
    assert_eq!(session.socket.read(&mut [0; 1]).unwrap_or(0), 0, "it tells no results");
}
