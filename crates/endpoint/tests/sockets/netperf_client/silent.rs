//! A server that falls silent in the middle of a test, and one that is merely slow to tell what it saw.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;

use endpoint::clock::Monotonic;
use endpoint::pace;
use endpoint::peer::netperf::client::{Session, Test};
use endpoint::rtt::Ending;
use endpoint::stop::Stop;
use measure::method::{Carrier, Direction, Pattern, Waiting};
use measure::unit::Nanos;
use protocol::netperf::MESSAGE;
use protocol::netperf::answer::{Calibration, Ready, Results};
use protocol::netperf::server::{Action, Server};
use test_case::test_case;
use testbed::port;
use testbed::wait;

use crate::netperf_client::exchanges::{counts, results};
use crate::netperf_client::server::{by_count, by_time, measured, setup};
use crate::netperf_client::streams::{SECOND, streaming};

/// Transactions, or bytes, until a server falls silent.
const SOME: usize = 5;
/// A test of a second is over long before this; waiting for a reply, or for results, is not.
const BOUND: Nanos = Nanos::secs(40);
/// Delay of a slow server's results: longer than that of a server that missed the end of the data can be.
const SLOW: Nanos = Nanos::secs(10);

/// A server by hand, which has said that it is ready for its one test.
struct Stage {
    control: TcpStream,
    machine: Server,
    tcp: TcpListener,
    udp: UdpSocket,
    /// Client's data address, where it gave one.
    client: SocketAddr,
    /// Data connections that stay open.
    open: Vec<TcpStream>,
}

/// Behaviour of the server from there on. Connections left open stay so until the client is gone.
type Manner = fn(&mut Stage);

impl Stage {
    fn data(&self) -> TcpStream {
        self.tcp.accept().expect("a data connection").0
    }

    fn slowly(&mut self) {
        pace::sleep_until(Monotonic::now().after(SLOW));
        let seen = Results { transactions: Some(SOME as u64), ..Results::default() };
        let message = self.machine.results(&seen);
        self.control.write_all(&message).expect("told");
    }
}

/// A server of this manner; where it listens.
fn server(manner: impl FnOnce(&mut Stage) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || {
        let mut control = listener.accept().expect("a client").0;
        let mut machine = Server::new(None, Calibration { rate: None, count: 1 });
        let mut request = [0; MESSAGE];
        control.read_exact(&mut request).expect("a request");
        let [Action::Run(ask)] = &machine.feed(&request)[..] else { panic!("no test") };
        let client = SocketAddr::from(([127, 0, 0, 1], ask.client_port));
        let (tcp, udp) = sockets();
        let message = machine.ready(&Ready::at(udp.local_addr().expect("bound").port()));
        control.write_all(&message).expect("told");
        let mut stage = Stage { control, machine, tcp, udp, client, open: Vec::new() };
        manner(&mut stage);
        let _end = stage.control.read_to_end(&mut Vec::new());
    });
    address
}

/// For data, both on one port.
fn sockets() -> (TcpListener, UdpSocket) {
    let place = (Ipv4Addr::LOCALHOST, port::free());
    (TcpListener::bind(place).expect("a listener"), UdpSocket::bind(place).expect("a socket"))
}

fn answers(data: &mut TcpStream, count: usize) {
    for _ in 0..count {
        data.read_exact(&mut [0]).expect("a request");
        data.write_all(b"x").expect("sent");
    }
}

fn answers_some(stage: &mut Stage) {
    let mut data = stage.data();
    answers(&mut data, SOME);
    stage.open.push(data);
}

fn answers_some_connections(stage: &mut Stage) {
    for _ in 0..SOME {
        answers(&mut stage.data(), 1);
    }
    let data = stage.data();
    stage.open.push(data);
}

fn answers_some_datagrams(stage: &mut Stage) {
    for _ in 0..SOME {
        let (_, client) = stage.udp.recv_from(&mut [0; 9]).expect("a request");
        stage.udp.send_to(b"x", client).expect("sent");
    }
}

fn reads_some(stage: &mut Stage) {
    let mut data = stage.data();
    data.read_exact(&mut [0; SOME]).expect("the start of a stream");
    stage.open.push(data);
}

fn sends_some(stage: &mut Stage) {
    let mut data = stage.data();
    data.write_all(&[0; SOME]).expect("sent");
    stage.open.push(data);
}

fn sends_some_datagrams(stage: &mut Stage) {
    for _ in 0..SOME {
        stage.udp.send_to(b"x", stage.client).expect("sent");
    }
}

fn does_nothing(_: &mut Stage) {}

fn sends(carrier: Carrier) -> Test {
    streaming(carrier, Direction::Send, SECOND)
}

fn receives(carrier: Carrier) -> Test {
    streaming(carrier, Direction::Receive, SECOND)
}

/// All at the same time, for what there is to be done is to wait.
#[test]
fn a_server_that_falls_silent_is_given_up_by_the_tests_own_time() {
    let cases: [(&str, Manner, Test, Option<usize>); 7] = [
        ("tcp_rr", answers_some, by_time(Carrier::Tcp, Pattern::Exchange, 1), Some(SOME)),
        ("tcp_crr", answers_some_connections, by_time(Carrier::Tcp, Pattern::ConnectExchange, 1), Some(SOME)),
        ("udp_rr", answers_some_datagrams, by_time(Carrier::Udp, Pattern::Exchange, 1), Some(SOME)),
        ("tcp_stream", reads_some, sends(Carrier::Tcp), None),
        ("tcp_maerts", sends_some, receives(Carrier::Tcp), Some(SOME)),
        ("udp_stream", does_nothing, sends(Carrier::Udp), None),
        ("udp to us", sends_some_datagrams, receives(Carrier::Udp), Some(SOME)),
    ];
    thread::scope(|scope| {
        for (name, manner, test, came) in &cases {
            scope.spawn(move || is_given_up(name, *manner, test, *came));
        }
    });
}

fn is_given_up(name: &str, manner: Manner, test: &Test, came: Option<usize>) {
    let mut test = test.clone();
    if test.method.traffic.carrier() == Carrier::Udp {
        test.method.timeout_ns = Nanos::millis(200);
    }
    let began = Monotonic::now();
    let mut session = Session::open(setup(server(manner)), &Stop::default()).expect("open");
    let measured = measured(&mut session, &test);
    session.close(&Stop::default());
    let took = Monotonic::now().since(began).expect("a clock that goes on");
    assert!(took < BOUND, "{name}: {took} for a test of a second");
    let error = measured.found.trouble().or(measured.course.results.as_ref().err()).expect("an error");
    assert!(error.to_string().contains("no answer within"), "{name}: {error:?}");
    // Payload that arrived before is kept.
    assert!(came.is_none_or(|came| measured.received.bytes == came as u64), "{name}: {:?}", measured.received);
}

fn answers_all_and_is_slow(stage: &mut Stage) {
    let mut data = stage.data();
    answers(&mut data, SOME);
    assert_eq!(wait::read(&mut data, &mut [0]).expect("the end"), 0);
    drop(data);
    stage.slowly();
}

fn reads_all_and_is_slow(stage: &mut Stage) {
    std::io::copy(&mut stage.data(), &mut std::io::sink()).expect("a stream");
    stage.slowly();
}

fn takes_datagrams_and_is_slow(stage: &mut Stage) {
    let mut buffer = vec![0; 1 << 16];
    while stage.udp.recv(&mut buffer).expect("a datagram") > 0 {}
    // As every server does when it has seen the end.
    stage.udp = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    stage.slowly();
}

#[test]
fn a_server_that_is_slow_with_its_results_is_waited_for() {
    let cases: [(&str, Manner, Test); 3] = [
        ("tcp_rr", answers_all_and_is_slow, by_count(Carrier::Tcp, Pattern::Exchange, SOME as u64)),
        ("tcp_stream", reads_all_and_is_slow, sends(Carrier::Tcp)),
        ("udp_stream", takes_datagrams_and_is_slow, sends(Carrier::Udp)),
    ];
    thread::scope(|scope| {
        for (name, manner, test) in &cases {
            scope.spawn(move || is_waited_for(name, *manner, test));
        }
    });
}

fn is_waited_for(name: &str, manner: Manner, test: &Test) {
    let mut session = Session::open(setup(server(manner)), &Stop::default()).expect("open");
    let measured = measured(&mut session, test);
    assert_eq!(measured.ended, Ending::Complete, "{name}");
    assert_eq!(results(&measured).transactions, Some(SOME as u64), "{name}");
    assert!(measured.elapsed < SLOW, "{name}: the wait is no part of the test: {}", measured.elapsed);
}

#[test_case(Waiting::Block; "blocking")]
#[test_case(Waiting::Spin; "spinning")]
fn a_request_that_is_out_when_the_user_stops_is_not_lost(waiting: Waiting) {
    let stop = Stop::default();
    let asked = stop.clone();
    let address = server(move |stage| {
        let mut data = stage.data();
        answers(&mut data, SOME);
        data.read_exact(&mut [0]).expect("one more request");
        asked.request();
        stage.open.push(data);
    });
    let mut session = Session::open(setup(address), &Stop::default()).expect("open");
    let mut test = by_count(Carrier::Tcp, Pattern::Exchange, 1_000_000);
    test.method.waiting = waiting;
    let measured = session.measure(&test, &stop, &mut |_| {}).expect("what was measured stands");
    let counts = counts(&measured);
    assert_eq!(measured.ended, Ending::Stopped);
    assert_eq!((counts.scheduled, counts.answered, counts.lost), (SOME as u64, SOME as u64, 0), "{counts:?}");
}
