//! Servers that misbehave towards our client.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use test_case::test_case;
use testbed::port;
use testbed::process::{self, Ended};
use testbed::wait;

use super::message::{Message, SIZE};
use crate::netperf_pairs::ends::{End, Server};
use crate::netperf_pairs::fields::Fields;

/// Longest time until our client gives up on a server that is silent where an answer is due: the original's 120 seconds, and
/// its test.
const PATIENCE: Duration = Duration::from_secs(200);
/// Longest time where the server fell silent in a test of a few seconds: far less than an answer may take.
const OWN_TIME: Duration = Duration::from_secs(90);
/// Longest time where there is nothing to wait for.
const SOON: Duration = Duration::from_mins(1);

/// Acts of a server once it has a request.
type Manner = fn(&mut TcpStream);

fn closes(_: &mut TcpStream) {}

fn says(stream: &mut TcpStream, octets: &[u8]) {
    // The client may have gone.
    let _ = stream.write_all(octets);
}

/// Reads until the client is gone.
fn waits(stream: &mut TcpStream) {
    let _ = std::io::copy(stream, &mut std::io::sink());
}

fn says_a_part(stream: &mut TcpStream) {
    says(stream, &Message::ready(1).0[..100]);
}

fn is_of_old(stream: &mut TcpStream) {
    says(stream, &Message::ready(1).0[..256]);
    waits(stream);
}

fn is_silent(stream: &mut TcpStream) {
    waits(stream);
}

fn refuses(stream: &mut TcpStream) {
    says(stream, &Message::new(98, 13).0);
    waits(stream);
}

fn does_not_know(stream: &mut TcpStream) {
    says(stream, &Message::new(98, 998).0);
    waits(stream);
}

fn has_an_error_of_its_own(stream: &mut TcpStream) {
    says(stream, &Message::new(98, i32::MIN).0);
    waits(stream);
}

fn names_port_0(stream: &mut TcpStream) {
    says(stream, &Message::ready(0).0);
    waits(stream);
}

fn names_no_port(stream: &mut TcpStream) {
    says(stream, &Message::ready(70_000).0);
    waits(stream);
}

fn names_a_closed_port(stream: &mut TcpStream) {
    says(stream, &Message::ready(port::free().into()).0);
    waits(stream);
}

/// A data listener, told to the client.
fn ready(stream: &mut TcpStream) -> TcpListener {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    says(stream, &Message::ready(listener.local_addr().unwrap().port().into()).0);
    listener
}

fn never_accepts(stream: &mut TcpStream) {
    let _listener = ready(stream);
    waits(stream);
}

fn never_answers(stream: &mut TcpStream) {
    let listener = ready(stream);
    let data = listener.accept();
    waits(stream);
    drop(data);
}

fn closes_the_data_connection(stream: &mut TcpStream) {
    let listener = ready(stream);
    drop(listener.accept());
    waits(stream);
}

fn resets_the_data_connection(stream: &mut TcpStream) {
    let listener = ready(stream);
    if let Ok((data, _)) = listener.accept() {
        let data = socket2::Socket::from(data);
        data.set_linger(Some(Duration::ZERO)).unwrap();
    }
    waits(stream);
}

/// Ten answers over a data connection.
fn ten(stream: &mut TcpStream) -> Option<TcpStream> {
    let (mut data, _) = ready(stream).accept().ok()?;
    for _ in 0..10 {
        if data.read_exact(&mut [0]).is_ok() {
            says(&mut data, b"x");
        }
    }
    Some(data)
}

fn dies_mid_test(stream: &mut TcpStream) {
    drop(ten(stream));
}

fn falls_silent_mid_test(stream: &mut TcpStream) {
    let data = ten(stream);
    waits(stream);
    drop(data);
}

/// Answers as it should until the client is done with the data connection.
fn answers(stream: &mut TcpStream) {
    let listener = ready(stream);
    if let Ok((mut data, _)) = listener.accept() {
        while data.read_exact(&mut [0]).is_ok() {
            says(&mut data, b"x");
        }
    }
}

fn has_no_results(stream: &mut TcpStream) {
    answers(stream);
    waits(stream);
}

fn closes_before_its_results(stream: &mut TcpStream) {
    answers(stream);
}

fn has_a_part_of_its_results(stream: &mut TcpStream) {
    answers(stream);
    says(stream, &Message::new(98, 0).0[..SIZE - 1]);
}

fn fails_in_the_end(stream: &mut TcpStream) {
    answers(stream);
    says(stream, &Message::new(98, 12).0);
    waits(stream);
}

fn never_stops_talking(stream: &mut TcpStream) {
    let noise = [0xa5; 16 << 10];
    while stream.write_all(&noise).is_ok() {}
}

/// Starts a server of this manner and gives its control port. It serves as long as the test lives.
fn start(manner: Manner) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = vec![0; SIZE];
            if stream.read_exact(&mut request).is_ok() {
                manner(&mut stream);
            }
        }
    });
    port
}

fn told_clearly(ended: &Ended) {
    assert!(!ended.overdue && ended.code.is_some_and(|code| code != 0), "{}", ended.told());
    assert!(!ended.said("panicked"), "{}", ended.told());
    // Beside the banner there is a sentence that says what is wrong.
    let sentence = ended
        .stderr
        .lines()
        .chain(ended.stdout.lines())
        .any(|line| !line.contains(" TEST from ") && line.contains(' '));
    assert!(sentence, "{}", ended.told());
}

#[test_case(closes; "closes")]
#[test_case(says_a_part; "says a part")]
#[test_case(refuses; "refuses")]
#[test_case(does_not_know; "does not know the request")]
#[test_case(has_an_error_of_its_own; "has an error of its own")]
#[test_case(names_port_0; "names port 0")]
#[test_case(names_no_port; "names a number that is no port")]
#[test_case(names_a_closed_port; "names a closed port")]
#[test_case(dies_mid_test; "dies mid test")]
#[test_case(closes_before_its_results; "closes before its results")]
#[test_case(has_a_part_of_its_results; "has a part of its results")]
#[test_case(fails_in_the_end; "fails in the end")]
#[test_case(never_stops_talking; "never stops talking")]
fn a_server_that_misbehaves_is_told_in_time(manner: Manner) {
    told_clearly(&against(manner, SOON));
}

/// A test of a second with a server of this manner.
fn against(manner: Manner, limit: Duration) -> Ended {
    let port = start(manner);
    let mut command = End::Ours.program("netperf").unwrap();
    command.args(["-p", &port.to_string(), "-H", "127.0.0.1", "-t", "TCP_RR", "-l", "1"]);
    process::ended(&mut command, limit)
}

/// Asserts peer, reason and next step, in that order, as of everybody who fell silent in a test.
fn silence_is_told(ended: &Ended) {
    told_clearly(ended);
    let [who, why, what] = ["127.0.0.1:", "no answer within", "\nhint:"].map(|words| ended.stderr.find(words));
    assert!(who.is_some() && who < why && why < what, "{}", ended.told());
}

#[test]
fn what_came_before_a_server_fell_silent_is_printed() {
    let port = start(falls_silent_mid_test);
    let mut command = End::Ours.program("netperf").unwrap();
    command.args(["-p", &port.to_string(), "-H", "127.0.0.1", "-t", "TCP_RR", "-l", "1", "--"]);
    let ended = process::ended(command.args(["-k", "LOCAL_RECV_CALLS"]), OWN_TIME);
    silence_is_told(&ended);
    assert_eq!(Fields::of(&ended.stdout).text("LOCAL_RECV_CALLS"), Ok("10"), "{}", ended.told());
}

/// All of them at the same time: there is nothing to be done but to wait.
#[test]
fn a_server_that_falls_silent_in_a_test_is_told_by_the_tests_own_time() {
    let manners: [Manner; 3] = [never_accepts, never_answers, falls_silent_mid_test];
    let stopped: [&[&str]; 6] = [
        &["-t", "TCP_RR", "-l", "8"],
        &["-t", "TCP_CRR", "-l", "8"],
        &["-t", "TCP_STREAM", "-l", "8"],
        &["-t", "TCP_MAERTS", "-l", "8"],
        &["-t", "UDP_RR", "-l", "8"],
        &["-t", "UDP_STREAM", "-l", "8"],
    ];
    thread::scope(|scope| {
        for manner in manners {
            scope.spawn(move || silence_is_told(&against(manner, OWN_TIME)));
        }
        for words in stopped {
            scope.spawn(move || silence_is_told(&against_one_that_stops(words, OWN_TIME)));
        }
    });
}

/// These too: each is waited for as long as an answer may take.
#[test]
fn a_server_that_may_still_answer_is_told_in_the_end() {
    let manners: [(&str, Manner); 5] = [
        ("is of old", is_of_old),
        ("is silent", is_silent),
        ("closes the data connection", closes_the_data_connection),
        ("resets the data connection", resets_the_data_connection),
        ("has no results", has_no_results),
    ];
    let stopped: [&[&str]; 2] = [&["-t", "TCP_RR", "-l", "-100000000"], &["-t", "UDP_RR", "-l", "-100000000"]];
    thread::scope(|scope| {
        for (name, manner) in manners {
            scope.spawn(move || {
                let ended = against(manner, PATIENCE);
                told_clearly(&ended);
                assert!(name != "is of old" || ended.said("256"), "{name}: {}", ended.told());
            });
        }
        for words in stopped {
            scope.spawn(move || silence_is_told(&against_one_that_stops(words, PATIENCE)));
        }
    });
}

/// A server of ours that is stopped when the test of `words` is under way: the client has connected its data socket, for which it has to
/// have the server's answer. A server that is stopped before that may still answer, and is waited for longer.
fn against_one_that_stops(words: &[&str], limit: Duration) -> Ended {
    let server = Server::start(End::Ours, &[]);
    let running = End::Ours.running(server.port, &[&["-H", "127.0.0.1"], words].concat());
    wait::until("data flow", || super::connected(&running) > 1);
    server.stop();
    running.end(limit)
}
