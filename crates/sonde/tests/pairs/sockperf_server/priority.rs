//! A server at real-time priority that has one CPU for all of its threads.

use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::process::Signal;
use test_case::test_case;

use crate::sockperf_server::program::{Server, bare};

/// A thread that polls, or always finds something, never waits: whoever hears the signal has to be let in.
#[test_case(&["--nonblocked"]; "polling")]
#[test_case(&[]; "always with work")]
fn it_ends_when_it_is_asked_to(words: &[&str]) {
    let real_time = ["-f", "1", "taskset", "-c", "0"];
    let may = Command::new("chrt").args(real_time).arg("true").stderr(Stdio::null()).status();
    if !may.is_ok_and(|status| status.success()) {
        testbed::skip::aloud("a sockperf server at real-time priority: this user may not have it, or there is no chrt");
        return;
    }
    let mut command = Command::new("chrt");
    command.args(real_time).arg(assert_cmd::cargo::cargo_bin!("sonde"));
    let server = Server::of(bare(command), &[&["server", "-i", "127.0.0.1", "-p", "0"], words].concat(), 1);
    let to = ("127.0.0.1", server.ports()[0]);
    // One that asks for an answer: it has counted something before it is asked to end.
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.send_to(&message(CLIENT | PONG_ASKED), to).expect("a server that listens");
    socket.recv(&mut [0; 64]).expect("an answer");
    let over = AtomicBool::new(false);
    let (status, said, complaints) = thread::scope(|scope| {
        scope.spawn(|| {
            // One message that only counts, again and again; a server that has gone refuses it.
            let message = message(CLIENT);
            while !over.load(Ordering::Relaxed) {
                let _refused = socket.send_to(&message, to);
            }
        });
        let ended = server.end(Signal::INT);
        over.store(true, Ordering::Relaxed);
        ended
    });
    assert_eq!(status, Some(0), "{said}\n{complaints}");
    assert!(said.contains("Total"), "{said}");
}

/// A message of a client, first of its run.
fn message(flags: u8) -> [u8; 14] {
    [0, 0, 0, 0, 0, 0, 0, 1, 0, flags, 0, 0, 0, 14]
}

/// Flags of a message: who sends it, and that it wants an answer.
const CLIENT: u8 = 1;
const PONG_ASKED: u8 = 2;
