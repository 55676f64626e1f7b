//! Nobody there, or somebody else.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use test_case::test_case;
use testbed::port;

use crate::{Ended, SOON, assert_error, rtt, sonde};

/// Answers every connection by `manner`, for as long as the tests run.
fn stranger(manner: fn(TcpStream)) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for connection in listener.incoming() {
            manner(connection.unwrap());
        }
    });
    address
}

fn after_a_word(mut connection: TcpStream, answer: &[u8]) {
    let mut word = [0; 1_024];
    assert!(connection.read(&mut word).unwrap() > 0);
    // The client may have gone already.
    let _told = connection.write_all(answer);
}

#[test]
fn an_unknown_host_is_our_side_and_nothing_was_measured() {
    let name = "no-such-host.invalid";
    assert_error(name, &["-c", "5"], 2, "ours", &["cannot look up its address", "check the name"]);
}

#[test_case(&["--tcp"]; "tcp")]
#[test_case(&["--udp"]; "udp, whose session is TCP")]
#[test_case(&["--crr"]; "a connection for each exchange")]
fn a_closed_port_refuses(words: &[&str]) {
    let closed = format!("127.0.0.1:{}", port::free());
    assert_error(&closed, &[words, &["-c", "5"]].concat(), 1, "theirs", &["connection refused", "`sonde serve`"]);
}

#[test]
fn a_handshake_with_a_closed_port_is_counted_as_refused() {
    let closed = format!("127.0.0.1:{}", port::free());
    let ended = rtt(&closed, &["--connect", "-c", "5"]);
    let record = ended.record();
    assert_eq!((ended.code, crate::count(&record, "refused")), (Some(1), 5));
    let refused = record["warnings"].as_array().unwrap().iter().find(|warning| warning["kind"] == "refused");
    assert_eq!(
        refused.map(|warning| (&warning["count"], &warning["carrier"])),
        Some((&5.into(), &"tcp-connect".into()))
    );
    // Told to people too, with what to try. The kernel counts the ICMP errors that other tests meet meanwhile, and then it is not known whether
    // it was a reset.
    let text = Ended::of(&mut sonde(&["rtt", &closed, "--connect", "-c", "5"])).stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let tries = ["name an open port (HOST:PORT)", "check that a program still listens"];
    assert!(
        text.contains("Refused: 5 of 5 requests: TCP connect") && tries.iter().any(|what| text.contains(what)),
        "{text}"
    );
}

#[test_case(|connection| after_a_word(connection, b"HTTP/1.1 400 Bad Request\r\n\r\n"), "it speaks HTTP"; "a web server")]
#[test_case(|connection| after_a_word(connection, b"\x15\x03\x01\x00\x02\x02\x46"), "it speaks TLS"; "a TLS server")]
#[test_case(|mut connection| { let _told = connection.write_all(b"SSH-2.0-OpenSSH_9.6\r\n"); let _ = connection.read(&mut [0; 64]); }, "it speaks SSH"; "an SSH server")]
#[test_case(|connection| after_a_word(connection, &[b'x'; 10_000]), "in an unknown way"; "a flood")]
#[test_case(drop, "closed the connection without sending anything"; "one that closes at once")]
#[test_case(|connection| { let _ = connection.shutdown(Shutdown::Write); let _ = (&connection).read(&mut [0; 64]); }, "closed the connection without sending anything"; "one that closes its half")]
#[test_case(echo, "sends back whatever it is sent"; "an echo service")]
fn whoever_else_answers_is_named(manner: fn(TcpStream), said: &str) {
    let address = stranger(manner);
    let ended = assert_error(&address, &["-c", "5"], 1, "theirs", &["sonde", said, "`sonde serve`"]);
    assert!(ended.took < SOON, "{:?}", ended.took);
}

fn echo(mut connection: TcpStream) {
    let mut buffer = [0; 1_024];
    while let Ok(count @ 1..) = connection.read(&mut buffer) {
        if connection.write_all(&buffer[..count]).is_err() {
            return;
        }
    }
}

#[test]
fn a_server_that_waits_for_more_is_given_up_in_time() {
    // Kept by the kernel's backlog: accepted, and never a word.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let ended = assert_error(&address, &["-c", "5"], 1, "theirs", &["sends nothing"]);
    assert!(ended.took < SOON, "{:?}", ended.took);
}
