//! Clients that misbehave towards our server.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use rustix::process::Signal;
use test_case::test_case;
use testbed::process::LIMIT;
use testbed::wait;

use super::message::{Message, SIZE};
use super::{descriptors_at_start, entries, peak_kib, serves};
use crate::netperf_pairs::ends::{End, Server};

fn connect(server: &Server) -> TcpStream {
    TcpStream::connect(("127.0.0.1", server.port)).unwrap()
}

/// Returns true where the server ends the connection within so many seconds; its octets before that are passed over.
fn is_ended(stream: &mut TcpStream, seconds: u64) -> bool {
    stream.set_read_timeout(Some(Duration::from_secs(seconds))).unwrap();
    loop {
        match stream.read(&mut [0; 4096]) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

#[test]
fn a_client_of_old_is_not_kept_waiting_for_ever() {
    let server = Server::start(End::Ours, &[]);
    let mut old = connect(&server);
    old.write_all(&Message::tcp_rr().0[..256]).unwrap();
    serves(&server);
    assert!(is_ended(&mut old, 40), "256 octets and silence are waited on");
    serves(&server);
}

#[test_case(1; "an octet")]
#[test_case(SIZE - 1; "all but one")]
#[test_case(SIZE + 300; "one and a part")]
fn what_ends_within_a_message_ends_the_connection(octets: usize) {
    let server = Server::start(End::Ours, &[]);
    let mut client = connect(&server);
    client.write_all(&Message::new(3, -1).0.repeat(2)[..octets]).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert!(is_ended(&mut client, 10));
    serves(&server);
}

#[test]
fn an_unknown_request_is_answered_as_that_and_the_next_one_is_heard() {
    let server = Server::start(End::Ours, &[]);
    let mut client = connect(&server);
    for kind in [0, 4, 7, 96, 99, 500, -1, i32::MIN, i32::MAX] {
        Message::new(kind, -1).send(&mut client);
        assert_eq!(Message::read(&mut client, 10).expect("an answer").word(4), 998, "request {kind}");
    }
    Message::new(5, -1).send(&mut client);
    let answer = Message::read(&mut client, 30).expect("an answer");
    assert_eq!(answer.word(0), 5, "the CPUs' rate");
    Message::tcp_rr().with(64, -3).send(&mut client);
    let ready = Message::read(&mut client, 10).expect("an answer");
    let mut data = TcpStream::connect(("127.0.0.1", ready.word(52) as u16)).unwrap();
    for _ in 0..3 {
        data.write_all(b"n").unwrap();
        data.read_exact(&mut [0]).unwrap();
    }
    drop(data);
    let results = Message::read(&mut client, 10).expect("results");
    assert_eq!((results.word(4), results.word(12), results.word(28)), (0, 3, 3));
}

#[test]
fn noise_is_no_harm() {
    let server = Server::start(End::Ours, &[]);
    let mut chance = fastrand::Rng::with_seed(12_865);
    for _ in 0..20 {
        let mut client = connect(&server);
        let length = chance.usize(1..20 * SIZE);
        let noise: Vec<u8> = std::iter::repeat_with(|| chance.u8(..)).take(length).collect();
        // The server may end it meanwhile.
        let _ = client.write_all(&noise);
        let _ = client.shutdown(Shutdown::Write);
        assert!(is_ended(&mut client, 20));
    }
    serves(&server);
}

/// Words of a request, and values that nobody can want.
const ABSURD: &[(usize, i32)] = &[
    (4, 99_999),
    (4, -2),
    (8, i32::MAX),
    (8, -7),
    (12, i32::MAX),
    (12, -7),
    (12, 0),
    (16, i32::MAX),
    (20, i32::MAX),
    (24, i32::MAX),
    (24, -1),
    (28, i32::MAX),
    (28, 0),
    (28, -7),
    (32, i32::MAX),
    (36, i32::MAX),
    (36, 0),
    (40, i32::MAX),
    (40, 3),
    (44, i32::MAX),
    (44, -1),
    (48, i32::MAX),
    (52, i32::MAX),
    (52, 0),
    (52, -7),
    (60, 0x7fc0_0000),
    (64, i32::MAX),
    (64, i32::MIN),
    (88, 70_000),
    (88, -1),
    (88, 1),
    (92, 99),
    (96, 9),
    (100, 255),
    (100, -1),
    (104, 0),
    (104, -1),
    (112, i32::MAX),
    (116, i32::MAX),
    (116, -1),
    (120, -1),
    (136, 0x0102_0304),
    (152, i32::MAX),
    (156, i32::MAX),
];

#[test]
fn absurd_requests_cost_neither_memory_nor_time() {
    let server = Server::start(End::Ours, &[]);
    for request in [Message::tcp_rr(), Message::udp_rr(), Message::tcp_stream(), Message::tcp_maerts()] {
        for (at, word) in ABSURD {
            let mut client = connect(&server);
            request.clone().with(*at, *word).send(&mut client);
            let Some(answer) = Message::read(&mut client, 10) else { continue };
            let port = answer.word(52);
            // Where it was accepted, the data connection must not be waited on by others either.
            if answer.word(4) == 0 && request.word(96) == 1 {
                assert!((1..=65_535).contains(&port), "word {at} = {word}: port {port}");
                let data =
                    TcpStream::connect_timeout(&format!("127.0.0.1:{port}").parse().unwrap(), Duration::from_secs(5));
                if let Ok(mut data) = data {
                    let _ = data.write_all(&[0; 2_000]);
                }
            }
        }
    }
    let mut client = connect(&server);
    Message::tcp_rr().with_text(160, "no-such-control").send(&mut client);
    assert!(Message::read(&mut client, 10).is_some(), "an algorithm that is not there");
    let mut client = connect(&server);
    Message::tcp_maerts().with_text(176, "/no/such/file").send(&mut client);
    assert!(Message::read(&mut client, 10).is_some(), "a file that is not there");
    drop(client);
    assert!(peak_kib(server.id()) < 256 << 10, "{} KiB", peak_kib(server.id()));
    serves(&server);
}

/// Acts of a client after its request was accepted.
#[derive(Clone, Copy)]
enum Then {
    /// It connects and says nothing.
    Connects,
    /// It sends part of a request and stops.
    Begins,
}

#[test_case(&Message::tcp_rr(), Then::Connects; "a connection without a request")]
#[test_case(&Message::tcp_rr().with(28, 100), Then::Begins; "half a request")]
#[test_case(&Message::tcp_stream(), Then::Connects; "a stream that never comes")]
#[test_case(&Message::tcp_maerts(), Then::Connects; "a stream that nobody reads")]
fn a_client_that_stops_gets_its_results_when_time_is_over(request: &Message, then: Then) {
    let server = Server::start(End::Ours, &[]);
    let mut client = connect(&server);
    request.send(&mut client);
    let ready = Message::read(&mut client, 10).expect("an answer");
    assert_eq!(ready.word(4), 0);
    let mut data = TcpStream::connect(("127.0.0.1", ready.word(52) as u16)).unwrap();
    if matches!(then, Then::Begins) {
        data.write_all(&[0; 50]).unwrap();
    }
    serves(&server);
    // The test is of a second; the original gives up four seconds later.
    let results = Message::read(&mut client, 20);
    assert!(results.is_some() || is_ended(&mut client, 1), "neither results nor an end");
    drop(data);
    serves(&server);
}

/// A client may be told to wait before it sends, so the server waits too; but no longer than a client waits for results.
#[test]
fn a_client_that_never_begins_gets_its_results_all_the_same() {
    let server = Server::start(End::Ours, &[]);
    let requests = [Message::tcp_rr(), Message::tcp_maerts(), Message::udp_rr(), Message::tcp_rr().with(64, -100)];
    let mut clients: Vec<TcpStream> = requests
        .iter()
        .map(|request| {
            let mut client = connect(&server);
            request.send(&mut client);
            assert_eq!(Message::read(&mut client, 10).expect("an answer").word(4), 0);
            client
        })
        .collect();
    serves(&server);
    for client in &mut clients {
        assert!(Message::read(client, 110).is_some(), "an end without results");
    }
    serves(&server);
}

#[test]
fn clients_that_vanish_leave_nothing_behind() {
    let server = Server::start(End::Ours, &[]);
    serves(&server);
    let (descriptors, threads) = (entries(server.id(), "fd"), entries(server.id(), "task"));
    let until_told =
        [Message::tcp_rr().with(64, 0), Message::udp_rr().with(64, -1_000), Message::tcp_stream().with(64, 0)];
    for request in until_told.iter().cycle().take(30) {
        let mut client = connect(&server);
        request.send(&mut client);
        let ready = Message::read(&mut client, 10).expect("an answer");
        if request.word(96) == 1 {
            drop(TcpStream::connect(("127.0.0.1", ready.word(52) as u16)).unwrap());
        }
    }
    let left = || (entries(server.id(), "fd"), entries(server.id(), "task"));
    // A thread that waits for the next client may have been there before.
    let came = wait::within(wait::LIMIT, || left().0 == descriptors && left().1 <= threads);
    assert!(came, "{:?}, not {:?}", left(), (descriptors, threads));
}

#[test_case(End::Ours; "ours")]
#[test_case(End::Real; "the original")]
fn a_client_that_is_stopped_mid_test_holds_up_nobody(client: End) {
    if !client.is_here("a client that is stopped") {
        return;
    }
    let server = Server::start(End::Ours, &[]);
    let before = descriptors_at_start(&server);
    // Its interim results tell when its test is under way.
    let running = client.running(server.port, &["-H", "127.0.0.1", "-t", "TCP_RR", "-l", "2"]);
    wait::until("the test begins", || entries(server.id(), "fd") > before + 1);
    running.signal(Signal::STOP);
    serves(&server);
    serves(&server);
    running.signal(Signal::CONT);
    assert!(!running.end(LIMIT).overdue);
    wait::until("nothing of it is left", || entries(server.id(), "fd") <= before);
}
