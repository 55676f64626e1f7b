//! A server that many have used is as light as one that few have: clients come and go in every way there is, and nothing of them
//! stays.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::Path;

use endpoint::clock::Monotonic;
use measure::method::Carrier;
use measure::unit::Nanos;
use protocol::native::header::Flags;
use protocol::native::message::Open;
use testbed::client::{self, Session, open};

use crate::idle::{await_rest, resident};
use crate::serve::Reflector;

/// Sessions; `SONDE_CHURN` says another number, as 100000. After the first third all memory that is used again and again has been taken,
/// and of those after it nothing may stay.
const SESSIONS: usize = 6_000;
/// Greatest difference in the process's memory, kB, however many they are: the allocator's own, which goes up and down by
/// that.
const ROOM: u64 = 1_536;
/// Clients at the same time.
const CLIENTS: usize = 8;

/// Descriptors and threads.
fn held(process: u32) -> (usize, usize) {
    let count = |what| std::fs::read_dir(Path::new("/proc").join(process.to_string()).join(what)).unwrap().count();
    (count("fd"), count("task"))
}

/// One client, in one of the ways in which clients come and go. Its datagrams leave by `socket`, whose port the one before it had a moment ago.
fn visit(address: SocketAddr, number: usize, socket: &UdpSocket) {
    let carrier = if number.is_multiple_of(2) { Carrier::Tcp } else { Carrier::Udp };
    let session = Session::open(address, Open { flows: 2, ..open(carrier) }).unwrap();
    let request = session.request(0, Flags::NONE, 64, 64);
    if carrier == Carrier::Udp {
        assert_eq!(client::asked(socket, &request).len(), 64);
    } else {
        let mut stream = session.data(0).unwrap();
        stream.write_all(&request).unwrap();
        stream.read_exact(&mut [0; 64]).unwrap();
        if number.is_multiple_of(6) {
            // It has two, and hears no more than the half of what it asked for.
            let mut other = session.data(1).unwrap();
            other.write_all(&request[..30]).unwrap();
        }
    }
    match number % 5 {
        // It goes without a word, or leaves its data connection open.
        0 => drop(session),
        1 => drop(TcpStream::connect(address).unwrap()),
        _ => assert_eq!(session.close().received.len(), 2),
    }
}

/// So many clients come and go, some at the same time.
fn visits(address: SocketAddr, number: usize) {
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let socket = client::udp(address);
            scope.spawn(move || (client..number).step_by(CLIENTS).for_each(|number| visit(address, number, &socket)));
        }
    });
}

#[expect(clippy::disallowed_methods, reason = "a test is told by its environment how much to try")]
fn asked() -> Option<String> {
    std::env::var("SONDE_CHURN").ok()
}

#[test]
fn nothing_stays_of_thousands_of_sessions() {
    let asked = asked();
    let sessions: usize = asked.as_ref().map_or(SESSIONS, |number| number.parse().expect("SONDE_CHURN is a number"));
    let (first, then) = (sessions / 3, sessions - sessions / 3);
    let folder = tempfile::tempdir().unwrap();
    let reflector = Reflector::start(folder.path(), &["--max-sessions", "3000"]);
    let address = reflector.address().parse().unwrap();
    await_rest(reflector.id());
    let empty = held(reflector.id());
    let begin = Monotonic::now();
    visits(address, first);
    let paused = Monotonic::now();
    await_rest(reflector.id());
    let before = resident(reflector.id());
    assert_eq!(held(reflector.id()), empty, "descriptors and threads after {first}");
    let resumed = Monotonic::now();
    visits(address, then);
    let took = Nanos(paused.since(begin).unwrap().0 + Monotonic::now().since(resumed).unwrap().0);
    await_rest(reflector.id());
    assert_eq!(held(reflector.id()), empty, "descriptors and threads after {then} more");
    let last = resident(reflector.id());
    if asked.is_some() {
        // Past the harness, which keeps what a passed test prints to itself.
        writeln!(
            std::io::stderr(),
            "{sessions} sessions in {took}: {before} kB after {first}, {last} kB after all; descriptors and threads {empty:?}"
        )
        .unwrap();
    } else {
        testbed::skip::aloud("100,000 sessions that come and go: `make churn`; here some thousands");
    }
    assert!(last < before + ROOM, "{last} kB, {before} kB {then} sessions before");
}
