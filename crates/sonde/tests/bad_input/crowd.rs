//! `sonde serve` under a crowd: threads, descriptors and memory are bounded, and come back.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use measure::method::Carrier;
use protocol::native::header::Flags;
use protocol::native::message::Open;
use protocol::native::preamble::{Control, Versions};
use testbed::client::{self, Session};
use testbed::wait;

use crate::{Serve, count, rtt};

fn is_closed(mut stream: &TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let mut buffer = [0; 64];
    // Octets of the reflector before it closes are passed over.
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

#[test]
fn a_thousand_silent_connections_hold_up_nobody_and_are_closed() {
    let serve = Serve::start(&[]);
    let before = serve.descriptors();
    let preamble = Control { versions: Versions::OURS, keyed: None }.encode();
    let mut crowd = Vec::new();
    for number in 0..1_000 {
        let mut stream = TcpStream::connect(&serve.address).unwrap();
        // Some say nothing, some half a preamble, some all of it, some the start of a request to open.
        let words = match number % 4 {
            0 => Vec::new(),
            1 => preamble[..7].to_vec(),
            2 => preamble.to_vec(),
            _ => [&preamble[..], b"\0\0\0\x40{"].concat(),
        };
        stream.write_all(&words).unwrap();
        crowd.push(stream);
    }
    wait::until("all of them are let in", || serve.descriptors() >= before + 1_000);
    for carrier in ["--tcp", "--udp"] {
        let ended = rtt(&serve.address, &[carrier, "-c", "2000", "--warm-up", "0", "--timeout", "60s"]);
        assert_eq!((ended.code, count(&ended.record(), "answered")), (Some(0), 2_000), "{carrier}");
    }
    assert!(serve.memory_kib("VmHWM") < 128 << 10, "{} KiB", serve.memory_kib("VmHWM"));
    assert!(crowd.iter().all(is_closed), "each is given up in time");
    wait::until("nothing is left of them", || (serve.session_threads(), serve.descriptors()) == (0, before));
}

/// A whole session by hand: open, one exchange over TCP or UDP, close.
fn session(address: SocketAddr, carrier: Carrier) {
    let session = Session::open(address, Open { stamps: true, ..client::open(carrier) }).unwrap();
    let request = session.request(0, Flags::NONE, 64, 64);
    // Held until the report: while a flow runs, whoever came by its client's port would be heard as that client.
    let datagrams = client::udp(address);
    if carrier == Carrier::Tcp {
        let mut stream = session.data(0).unwrap();
        stream.write_all(&request).unwrap();
        stream.read_exact(&mut [0; 64]).unwrap();
    } else {
        assert_eq!(client::asked(&datagrams, &request).len(), 64);
    }
    let report = session.close();
    assert_eq!((report.received, report.replied), (vec![1], vec![1]));
    assert!(report.user_ns.is_some(), "its threads have ended and told their time");
}

#[test]
fn two_hundred_sessions_leave_nothing_behind() {
    let serve = Serve::start(&[]);
    let before = serve.descriptors();
    let memory: Vec<u64> = (0..4)
        .map(|_| {
            thread::scope(|scope| {
                for carrier in [Carrier::Tcp, Carrier::Udp].into_iter().cycle().take(50) {
                    let address = serve.address.parse().unwrap();
                    scope.spawn(move || session(address, carrier));
                }
            });
            serve.memory_kib("VmRSS")
        })
        .collect();
    wait::until("nothing is left", || (serve.session_threads(), serve.descriptors()) == (0, before));
    // The first fifty make the allocator grow; the others find room where they were.
    assert!(memory[3] < memory[0] + 8_192, "{memory:?} KiB after each fifty sessions");
}
