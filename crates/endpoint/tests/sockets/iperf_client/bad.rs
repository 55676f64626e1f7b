//! Servers that are not there, say nothing or nonsense.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::thread;

use endpoint::error::Side;
use endpoint::error::hint::Hint;
use endpoint::peer::iperf::client::{self, Test};
use endpoint::stop::Stop;
use measure::unit::Nanos;
use protocol::iperf::fin::{self, AckFin};
use protocol::iperf::wish::{Quantity, Way};
use testbed::port;

use crate::iperf_client::{Made, by_bytes, flow};

fn localhost(port: u16) -> SocketAddr {
    SocketAddr::new([127, 0, 0, 1].into(), port)
}

#[test]
fn nobody_listens() {
    let test = by_bytes(localhost(port::free()), Way::Upload);
    let error = client::measure(&test, &Stop::default(), &mut |_| {}).expect_err("nobody there");
    assert_eq!(error.side, Side::Theirs, "{error}");
    assert_eq!(error.hint.as_deref(), Some(&Hint::NoIperfServer));
}

#[test]
fn a_server_that_resets_is_an_end_and_no_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        socket.read_exact(&mut [0; 60]).unwrap();
        // Octets left unread make the kernel reset the connection.
    });
    let test = Test { quantity: Quantity::Time(Nanos::secs(600)), ..by_bytes(address, Way::Upload) };
    let made = Made::by(&test);
    server.join().unwrap();
    assert!(matches!(made.outcome.found[0].ended, endpoint::engine::Ended::Broken(_)));
    assert!(!made.outcome.found[0].closed);
}

#[test]
fn a_server_that_sends_no_header_before_its_bursts_is_told_of() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || listener.accept().unwrap().0.write_all(b"0123456789").unwrap());
    let test = Test { trip_times: true, ..by_bytes(address, Way::Reverse) };
    let error = client::measure(&test, &Stop::default(), &mut |_| {}).expect_err("no header");
    server.join().unwrap();
    assert!(error.to_string().contains("no header"), "{error}");
}

#[test]
fn a_report_that_never_comes_is_missing() {
    // It takes everything and says nothing; small ones, so that a socket's buffer holds all of them.
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let test = flow(silent.local_addr().unwrap(), Way::Upload);
    let test = Test { quantity: Quantity::Bytes(640), call_bytes: Some(64), ..test };
    let made = Made::by(&test);
    let found = &made.outcome.found[0];
    assert_eq!((found.report, found.count.carried.calls), (None, 10));
    silent.set_nonblocking(true).unwrap();
    let came = std::iter::from_fn(|| silent.recv(&mut [0; 2_000]).ok()).count();
    assert_eq!(came, 10 + 200, "it was asked for two hundred times");
}

#[test]
fn datagrams_that_never_come_are_an_error() {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let test = flow(silent.local_addr().unwrap(), Way::Reverse);
    let error = client::measure(&test, &Stop::default(), &mut |_| {}).expect_err("nothing came");
    assert!(error.to_string().contains("no answer within"), "{error}");
}

#[test]
fn reports_of_nonsense_are_none() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    let answers = thread::spawn(move || {
        let mut octets = [0; 2_000];
        for length in [0, 1, 15, 16, 56, 128, 1_000] {
            let (_, from) = server.recv_from(&mut octets).unwrap();
            server.send_to(&vec![0xFF; length], from).unwrap();
        }
    });
    let made = Made::by(&Test { quantity: Quantity::Bytes(10_000), ..flow(address, Way::Upload) });
    answers.join().unwrap();
    assert_eq!(made.outcome.found[0].report, None);
}

#[test]
fn a_short_report_will_do() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    let report = AckFin { flags: AckFin::flags(false), bytes: 11_000, datagrams: 11, lost: 2, ..AckFin::default() };
    let answers = thread::spawn(move || {
        let mut octets = [0; 2_000];
        loop {
            let (_, from) = server.recv_from(&mut octets).unwrap();
            // A number below zero ends the flow.
            if octets[0] & 0x80 != 0 {
                return server.send_to(&report.encode(), from).unwrap();
            }
        }
    });
    let made = Made::by(&Test { quantity: Quantity::Bytes(10_000), ..flow(address, Way::Upload) });
    assert_eq!(answers.join().unwrap(), fin::SHORT);
    assert_eq!(made.outcome.found[0].report, Some(report));
}
