//! Many control connections that say nothing.

use std::io::Write;
use std::net::TcpStream;

use testbed::wait;

use super::message::Message;
use super::{entries, peak_kib, serves};
use crate::netperf_pairs::ends::{End, Server};

#[test]
fn a_thousand_idle_connections_hold_up_nobody() {
    let server = Server::start(End::Ours, &[]);
    serves(&server);
    let before = entries(server.id(), "fd");
    let crowd: Vec<TcpStream> = (0..1_000)
        .map(|number| {
            let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
            // Some say nothing, some a part of a request, some ask for something and then nothing more.
            match number % 3 {
                0 => {}
                1 => stream.write_all(&Message::tcp_rr().0[..300]).unwrap(),
                _ => Message::new(1, -1).send(&mut stream),
            }
            stream
        })
        .collect();
    serves(&server);
    for test in ["TCP_RR", "UDP_RR", "TCP_STREAM"] {
        let ended =
            End::Ours.client(server.port, &["-H", "127.0.0.1", "-t", test, "-l", "1", "--", "-k", "THROUGHPUT"]);
        assert_eq!(ended.code, Some(0), "{test}: {}", ended.told());
    }
    assert!(peak_kib(server.id()) < 256 << 10, "{} KiB", peak_kib(server.id()));
    drop(crowd);
    wait::until("all are let go of", || entries(server.id(), "fd") <= before);
    serves(&server);
}
