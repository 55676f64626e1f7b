//! Clients made by hand, from the client's half of the protocol and plain sockets: what the real one never does, or does
//! only in builds that nobody has.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use endpoint::clock::Monotonic;
use endpoint::pace;
use endpoint::peer::netperf::server::{Limits, Log};
use measure::unit::Nanos;
use protocol::netperf::answer::{Ready, Results};
use protocol::netperf::ask::{Ask, Carrier, Family, Flags, Length, Pacing, Test};
use protocol::netperf::client::{Answer, Client};
use protocol::netperf::data::PAD;
use protocol::netperf::error::Error;
use protocol::netperf::{MESSAGE, OLD_MESSAGE, REST};
use test_case::test_case;

use super::Ours;

/// A wait for what has to come ends after this; nothing here takes as long.
const PATIENCE: Duration = Duration::from_secs(30);

/// A control connection with our netserver.
struct Session {
    socket: TcpStream,
    client: Client,
}

impl Session {
    fn open(server: &Ours) -> Self {
        let socket = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { socket, client: Client::new(None) }
    }

    fn ask(&mut self, ask: &Ask) -> Result<Ready, Error> {
        let said = self.client.ask(ask)?;
        self.socket.write_all(&said).unwrap();
        match self.answer()? {
            Answer::Ready(ready) => Ok(ready),
            other => panic!("asked for a test: {other:?}"),
        }
    }

    fn results(&mut self) -> Results {
        match self.answer().unwrap() {
            Answer::Results(results) => results,
            other => panic!("waited for results: {other:?}"),
        }
    }

    fn answer(&mut self) -> Result<Answer, Error> {
        let mut message = [0; MESSAGE];
        self.socket.read_exact(&mut message).unwrap();
        Ok(self.client.feed(&message)?.remove(0))
    }

    /// The error number that `ask` is answered with.
    fn refused(&mut self, ask: &Ask) -> i32 {
        let answer = self.ask(ask);
        // Our client gives up on an error; the connection is as good as before.
        self.client = Client::new(None);
        match answer {
            Err(Error::Refused { code, .. }) => code,
            other => panic!("{other:?}"),
        }
    }
}

fn at(ready: &Ready) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, ready.data_port).into()
}

fn tcp_rr(length: Length) -> Ask {
    Ask { request_bytes: Some(1), response_bytes: Some(1), ..Ask::omni(Carrier::Tcp, true, true, length) }
}

/// A transaction of one octet each way.
fn exchange(data: &mut TcpStream) {
    data.write_all(b"?").unwrap();
    data.read_exact(&mut [0]).unwrap();
}

/// A whole test, after which all must be well.
fn good(session: &mut Session) {
    let ready = session.ask(&tcp_rr(Length::Count(3))).unwrap();
    let mut data = TcpStream::connect(at(&ready)).unwrap();
    (0..3).for_each(|_| exchange(&mut data));
    drop(data);
    assert_eq!(session.results().transactions, Some(3));
}

/// UDP sockets as a client has them: the port is known before the server is asked.
fn udp() -> (UdpSocket, u16) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let port = socket.local_addr().unwrap().port();
    (socket, port)
}

#[test_case(&Ask { family: Family::Rds, ..tcp_rr(Length::Count(1)) }, libc::EAFNOSUPPORT; "a family we have not")]
#[test_case(&Ask::omni(Carrier::Other { protocol: 132, socket_type: 1 }, false, true, Length::Seconds(1)), libc::EPROTONOSUPPORT; "sctp")]
#[test_case(&Ask::omni(Carrier::Other { protocol: 33, socket_type: 3 }, false, true, Length::Seconds(1)), libc::EPROTONOSUPPORT; "dccp")]
#[test_case(&Ask::omni(Carrier::Tcp, false, false, Length::Seconds(1)), libc::EINVAL; "nothing to do")]
#[test_case(&Ask { per_connection: true, ..Ask::omni(Carrier::Tcp, true, false, Length::Seconds(1)) }, libc::EINVAL; "a connection for each piece of a stream")]
#[test_case(&Ask { per_connection: true, carrier: Carrier::Udp, ..tcp_rr(Length::Seconds(1)) }, libc::EOPNOTSUPP; "connections over udp")]
#[test_case(&Ask { request_bytes: Some(0), ..tcp_rr(Length::Count(1)) }, libc::EINVAL; "requests of nothing")]
#[test_case(&Ask { receive_bytes: Some(i32::MAX as u32), ..Ask::omni(Carrier::Tcp, false, true, Length::Seconds(1)) }, libc::ENOMEM; "calls of two gibibytes")]
#[test_case(&Ask { send_bytes: Some(65_508), ..Ask::omni(Carrier::Udp, true, false, Length::Seconds(1)) }, libc::EMSGSIZE; "datagrams beyond any")]
#[test_case(&Ask { congestion: Some("no-such-one".into()), ..tcp_rr(Length::Count(1)) }, libc::ENOENT; "a congestion control that is not there")]
#[test_case(&Ask { tos: Some(256), ..tcp_rr(Length::Count(1)) }, libc::EINVAL; "a type of service beyond an octet")]
#[test_case(&Ask { server_cpu: Some(4_000), ..tcp_rr(Length::Count(1)) }, libc::EINVAL; "a cpu that is not there")]
#[test_case(&Ask { server_address: Some(IpAddr::from([192, 0, 2, 1])), ..tcp_rr(Length::Count(1)) }, libc::EADDRNOTAVAIL; "an address that is not ours")]
fn what_cannot_be_done_is_answered_by_its_number_and_the_client_may_ask_again(ask: &Ask, code: i32) {
    let server = Ours::start();
    let mut session = Session::open(&server);
    assert_eq!(session.refused(ask), code);
    good(&mut session);
}

#[test]
fn memory_has_a_bound_for_one_test_and_for_all_together() {
    let limits = Limits { test_bytes: 1 << 20, all_bytes: 3 << 19, ..Limits::default() };
    let server = Ours::with(|settings| settings.limits = limits);
    let sink = |bytes| Ask { receive_bytes: Some(bytes), ..Ask::omni(Carrier::Tcp, false, true, Length::Count(1)) };
    let (mut one, mut other) = (Session::open(&server), Session::open(&server));
    assert_eq!(one.refused(&sink(1 << 20)), libc::ENOMEM, "its buffers' alignment comes on top");
    let ready = one.ask(&sink(1_000_000)).unwrap();
    assert_eq!(other.refused(&sink(600_000)), libc::ENOMEM);
    drop(TcpStream::connect(at(&ready)).unwrap());
    one.results();
    let ready = other.ask(&sink(600_000)).unwrap();
    drop(TcpStream::connect(at(&ready)).unwrap());
    other.results();
}

#[test]
fn as_many_buffers_as_memory_allows_are_used_and_told() {
    let server = Ours::with(|settings| settings.limits.test_bytes = 1 << 20);
    let mut session = Session::open(&server);
    let mut ask = Ask::omni(Carrier::Tcp, false, true, Length::Count(1));
    ask.receive_bytes = Some(1_000);
    ask.receive_ring.buffers = Some(i32::MAX as u32);
    let ready = session.ask(&ask).unwrap();
    let buffers = ready.receive_buffers.unwrap();
    assert!((100..600).contains(&buffers), "{buffers}");
}

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
    let ready = session.ask(&ask).unwrap();
    assert_eq!(ready.pacing, ask.pacing);
    let mut lengths = Vec::new();
    let began = Monotonic::now();
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
    let mut data = TcpStream::connect(at(&ready)).unwrap();
    let began = Monotonic::now();
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
    assert_eq!(data.read(&mut [0; 1]).unwrap(), 0);
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

/// Where a client stops: its test must end with it.
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
    data.shutdown(std::net::Shutdown::Write).unwrap();
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
fn clients_beyond_the_bound_are_turned_away_and_the_others_served_on() {
    let server = Ours::with(|settings| settings.limits.clients = 2);
    let (mut one, mut two) = (Session::open(&server), Session::open(&server));
    good(&mut one);
    good(&mut two);
    let mut third = Session::open(&server);
    let end = third.socket.read(&mut [0; 1]);
    assert!(matches!(end, Ok(0)) || end.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset));
    good(&mut one);
}

#[test]
fn a_thousand_clients_that_say_nothing_disturb_nobody() {
    let server = Ours::start();
    let idle: Vec<TcpStream> =
        (0..1_000).map(|_| TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).unwrap()).collect();
    good(&mut Session::open(&server));
    drop(idle);
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

#[test]
fn one_address_alone_can_be_served() {
    let server = Ours::with(|settings| settings.listen = vec!["127.0.0.1:0".parse().unwrap()]);
    good(&mut Session::open(&server));
    assert!(TcpStream::connect(("::1", server.port())).is_err());
}

#[test]
fn a_port_that_is_taken_is_told() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let settings = endpoint::peer::netperf::server::Settings::at(taken.local_addr().unwrap());
    let error = endpoint::peer::netperf::server::bind(settings).unwrap_err();
    assert!(error.to_string().contains("cannot listen there"), "{error}");
}
