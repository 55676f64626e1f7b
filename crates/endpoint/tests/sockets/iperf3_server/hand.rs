//! Clients made by hand, which do what no iperf3 does.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::time::Duration;

use protocol::iperf3::code::Code;
use protocol::iperf3::cookie::Cookie;
use protocol::iperf3::parameters::{Direction, Parameters, Protocol};
use protocol::iperf3::results::{Results, StreamResults};
use protocol::iperf3::stream_id;
use testbed::wait;

use super::Ours;

/// The control connection of a client that says what it likes.
pub(super) struct Hand {
    pub control: TcpStream,
    pub cookie: Cookie,
    server: std::net::SocketAddr,
}

impl Hand {
    pub fn new(server: &Ours, number: u8) -> Self {
        let server = server.at("127.0.0.1");
        let cookie = Cookie::random([number; 36]);
        let mut control = connect(server);
        control.write_all(&cookie.octets()).unwrap();
        Self { control, cookie, server }
    }

    /// The next octet that the server says; `None`: it closed the connection.
    pub fn hear(&mut self) -> Option<u8> {
        let mut octet = [0];
        match wait::read(&mut self.control, &mut octet) {
            Ok(1) => Some(octet[0]),
            Ok(_) => None,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => None,
            Err(error) => panic!("{error}"),
        }
    }

    pub fn say(&mut self, octets: &[u8]) {
        self.control.write_all(octets).unwrap();
    }

    pub fn say_framed(&mut self, text: &str) {
        self.say(&[&(text.len() as u32).to_be_bytes(), text.as_bytes()].concat());
    }

    /// Says what is wanted; the server has greeted.
    pub fn ask(&mut self, parameters: &Parameters) {
        assert_eq!(self.hear(), Some(9));
        self.say_framed(&parameters.write());
    }

    pub fn stream(&self) -> TcpStream {
        let mut stream = connect(self.server);
        stream.write_all(&self.cookie.octets()).unwrap();
        stream
    }

    /// The number by which the server says that it cannot go on.
    pub fn failure(&mut self) -> i32 {
        assert_eq!(self.hear(), Some(0xfe));
        let mut numbers = [0; 8];
        self.control.read_exact(&mut numbers).unwrap();
        assert_eq!(self.hear(), None, "nothing follows");
        i32::from_be_bytes(numbers[..4].try_into().unwrap())
    }

    /// Ends a test of `streams`, to the last message. Returns the server's results.
    pub fn finish(&mut self, streams: usize) -> Results {
        self.say(&[4]);
        assert_eq!(self.hear(), Some(13));
        let stream = |index| StreamResults { id: stream_id(index), ..StreamResults::default() };
        let ours = Results { streams: (0..streams).map(stream).collect(), ..Results::default() };
        self.say_framed(&ours.write());
        let mut length = [0; 4];
        self.control.read_exact(&mut length).unwrap();
        let mut text = vec![0; u32::from_be_bytes(length) as usize];
        self.control.read_exact(&mut text).unwrap();
        assert_eq!(self.hear(), Some(14));
        self.say(&[16]);
        Results::read(&text).unwrap()
    }
}

fn connect(server: std::net::SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(server).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    stream
}

fn failed(server: &Ours, test: usize) -> (Code, String) {
    server.notes.over(test).failed.expect("a reason")
}

#[test]
fn a_test_by_hand_counts_what_was_sent() {
    let server = Ours::start();
    let mut hand = Hand::new(&server, 1);
    hand.ask(&Parameters { parallel: 2, ..Parameters::default() });
    assert_eq!(hand.hear(), Some(10));
    let (mut first, mut second) = (hand.stream(), hand.stream());
    assert_eq!((hand.hear(), hand.hear()), (Some(1), Some(2)));
    first.write_all(&[7; 10_000]).unwrap();
    second.write_all(&[7; 300]).unwrap();
    let told = hand.finish(2);
    assert_eq!(
        told.streams.iter().map(|stream| (stream.id, stream.bytes)).collect::<Vec<_>>(),
        [(1, 10_000), (3, 300)]
    );
    assert_eq!((told.sender_has_retransmits, server.notes.over(1).failed), (None, None));
}

/// Octets sent before the server lets the test begin are part of it: a connection has one stream of octets.
#[test]
fn streams_are_known_by_the_order_they_were_opened_in() {
    let server = Ours::start();
    let mut hand = Hand::new(&server, 1);
    hand.ask(&Parameters { parallel: 8, direction: Direction::Both, rate: Some(8_000), ..Parameters::default() });
    assert_eq!(hand.hear(), Some(10));
    let mut streams: Vec<TcpStream> = (0..16).map(|_| hand.stream()).collect();
    for (index, stream) in streams[..8].iter_mut().enumerate() {
        stream.write_all(&vec![7; 100 + index]).unwrap();
    }
    assert_eq!((hand.hear(), hand.hear()), (Some(1), Some(2)));
    for stream in &mut streams[8..] {
        stream.read_exact(&mut [0; 1_000]).unwrap();
    }
    let told = hand.finish(16);
    let received: Vec<u64> = told.streams[..8].iter().map(|stream| stream.bytes).collect();
    assert_eq!(received, (100..108).collect::<Vec<u64>>());
    assert!(told.streams[8..].iter().all(|stream| stream.bytes > 0 && stream.retransmits.is_some()));
}

#[test]
fn a_stream_too_many_and_a_strange_one_are_turned_away() {
    let server = Ours::start();
    let mut hand = Hand::new(&server, 1);
    hand.ask(&Parameters { parallel: 2, ..Parameters::default() });
    assert_eq!(hand.hear(), Some(10));
    let _one = hand.stream();
    // A stranger's cookie starts another test, of which nothing comes.
    let mut stranger = Hand::new(&server, 2);
    assert_eq!(stranger.hear(), Some(9));
    drop(stranger);
    let _two = hand.stream();
    assert_eq!((hand.hear(), hand.hear()), (Some(1), Some(2)));
    hand.finish(2);
    assert_eq!((server.notes.over(1).failed, failed(&server, 2).0), (None, Code::CLOSED));
}

#[test]
fn a_connection_that_says_nothing_of_itself_is_closed() {
    let server = Ours::start();
    let mut silent = connect(server.at("127.0.0.1"));
    silent.write_all(b"short").unwrap();
    silent.shutdown(Shutdown::Write).unwrap();
    assert_eq!(wait::read(&mut silent, &mut [0]).unwrap(), 0);
    assert_eq!(server.notes.turned_away(), ["closed after 5 of 37 octets of its cookie"]);
    let mut stalled = connect(server.at("127.0.0.1"));
    assert_eq!(wait::read(&mut stalled, &mut [0]).unwrap(), 0, "in bounded time");
}

#[test]
fn a_client_that_stalls_anywhere_is_let_go() {
    let server = Ours::start();
    // All at once: each takes as long as the server's patience.
    let mut asked_for_nothing = Hand::new(&server, 1);
    assert_eq!(asked_for_nothing.hear(), Some(9));
    server_waits(&server, 1, "accepted");
    let mut half_asked = Hand::new(&server, 2);
    assert_eq!(half_asked.hear(), Some(9));
    half_asked.say(&[0, 0, 1, 0, b'{']);
    server_waits(&server, 2, "accepted");
    let mut untold = Hand::new(&server, 3);
    untold.ask(&Parameters::default());
    assert_eq!(untold.hear(), Some(10));
    let _stream = untold.stream();
    assert_eq!((untold.hear(), untold.hear()), (Some(1), Some(2)));
    untold.say(&[4]);
    assert_eq!(untold.hear(), Some(13));
    for (hand, test) in [(&mut asked_for_nothing, 1), (&mut half_asked, 2), (&mut untold, 3)] {
        assert_eq!(hand.hear(), None);
        assert!(failed(&server, test).1.contains("said nothing for"), "{test}");
    }
}

fn server_waits(server: &Ours, test: usize, event: &str) {
    assert_eq!(server.notes.told.lock().unwrap()[test - 1].events.last().map(String::as_str), Some(event));
}

#[test]
fn nonsense_ends_its_own_test_alone() {
    let server = Ours::start();
    let mut good = Hand::new(&server, 1);
    good.ask(&Parameters::default());
    assert_eq!(good.hear(), Some(10));
    let mut stream = good.stream();
    assert_eq!((good.hear(), good.hear()), (Some(1), Some(2)));

    let mut huge = Hand::new(&server, 2);
    assert_eq!(huge.hear(), Some(9));
    huge.say(&[0x7f, 0xff, 0xff, 0xff]);
    assert_eq!(huge.hear(), None);
    assert_eq!(failed(&server, 2).0, Code::PARAMETERS);

    let mut nested = Hand::new(&server, 3);
    assert_eq!(nested.hear(), Some(9));
    nested.say_framed(&"[".repeat(8_000));
    assert_eq!((nested.failure(), failed(&server, 3).0), (114, Code::PARAMETERS));

    let mut beyond = Hand::new(&server, 4);
    assert_eq!(beyond.hear(), Some(9));
    beyond.say_framed(r#"{"tcp":true,"parallel":1000000}"#);
    assert_eq!((beyond.failure(), failed(&server, 4).0), (6, Code::STREAMS));

    let mut early = Hand::new(&server, 5);
    early.ask(&Parameters::default());
    assert_eq!(early.hear(), Some(10));
    early.say(&[4]);
    assert_eq!(early.hear(), None);
    assert_eq!(failed(&server, 5).0, Code::MESSAGE);

    stream.write_all(&[1; 5_000]).unwrap();
    assert_eq!(good.finish(1).streams[0].bytes, 5_000);
    assert_eq!(server.notes.over(1).failed, None);
}

#[test]
fn a_client_that_goes_in_the_middle_takes_nothing_with_it() {
    let server = Ours::start();
    for (number, direction) in (1..).zip([Direction::Upload, Direction::Reverse, Direction::Both]) {
        let mut hand = Hand::new(&server, number);
        hand.ask(&Parameters { direction, ..Parameters::default() });
        assert_eq!(hand.hear(), Some(10));
        let streams: Vec<_> = (0..if direction == Direction::Both { 2 } else { 1 }).map(|_| hand.stream()).collect();
        assert_eq!((hand.hear(), hand.hear()), (Some(1), Some(2)));
        drop(hand);
        assert_eq!(failed(&server, number.into()).0, Code::CLOSED);
        drop(streams);
    }
}

#[test]
fn a_client_that_is_interrupted_is_answered_as_an_iperf3_answers() {
    let server = Ours::start();
    let mut hand = Hand::new(&server, 1);
    hand.ask(&Parameters::default());
    assert_eq!(hand.hear(), Some(10));
    let _stream = hand.stream();
    assert_eq!((hand.hear(), hand.hear()), (Some(1), Some(2)));
    hand.say(&[12]);
    assert_eq!((hand.failure(), failed(&server, 1).0), (119, Code::CLIENT_TERMINATED));
    assert_eq!(
        server.notes.over(1).events,
        ["accepted", "asked", "streams", "ran", "failed"],
        "what was measured is told"
    );
}

#[test]
fn a_server_that_stops_says_so() {
    let mut server = Ours::start();
    let mut hand = Hand::new(&server, 1);
    hand.ask(&Parameters::default());
    assert_eq!(hand.hear(), Some(10));
    let _stream = hand.stream();
    assert_eq!((hand.hear(), hand.hear()), (Some(1), Some(2)));
    let control = hand.control.try_clone().unwrap();
    let waiting = std::thread::spawn(move || (hand.hear(), hand));
    server.end();
    let (said, mut hand) = waiting.join().unwrap();
    assert_eq!(said, Some(11));
    hand.say(&[16]);
    drop(control);
    assert_eq!(failed(&server, 1).0, Code::SERVER_TERMINATED);
}

/// A flow that begins at an address of no test's client is not answered, and one of a test is, once.
#[test]
fn flows_belong_to_the_test_of_their_address() {
    let server = Ours::start();
    let stranger = UdpSocket::bind("127.0.0.2:0").unwrap();
    stranger.connect(server.at("127.0.0.1")).unwrap();
    let mut hand = Hand::new(&server, 1);
    hand.ask(&Parameters { protocol: Protocol::Udp, parallel: 2, block: Some(100), ..Parameters::default() });
    assert_eq!(hand.hear(), Some(10));
    stranger.send(b"9876").unwrap();
    let flow = || {
        let flow = UdpSocket::bind("127.0.0.1:0").unwrap();
        flow.connect(server.at("127.0.0.1")).unwrap();
        flow.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        flow
    };
    // A datagram that is no greeting is ignored; an old client's is one; a repeated greeting is answered again.
    let (first, second) = (flow(), flow());
    first.send(b"hello").unwrap();
    for (flow, hello) in [(&first, &b"9876"[..]), (&first, b"9876"), (&second, &[0x15, 0xcd, 0x5b, 7])] {
        flow.send(hello).unwrap();
        let mut reply = [0; 16];
        assert_eq!(flow.recv(&mut reply).unwrap(), 4);
        assert_eq!(&reply[..4], b"6789");
    }
    assert_eq!((hand.hear(), hand.hear()), (Some(1), Some(2)));
    let datagram = |number: u8| [&[0; 11][..], &[number], &[0; 88]].concat();
    for number in [1, 2, 5, 4, 6] {
        first.send(&datagram(number)).unwrap();
    }
    second.send(&datagram(1)).unwrap();
    let told = hand.finish(2);
    let seen: Vec<_> = told.streams.iter().map(|stream| (stream.packets, stream.errors, stream.bytes)).collect();
    assert_eq!(seen, [(6, 1, 500), (1, 0, 100)]);
    stranger.set_nonblocking(true).unwrap();
    assert!(stranger.recv(&mut [0; 16]).is_err(), "a stranger hears nothing");
}
