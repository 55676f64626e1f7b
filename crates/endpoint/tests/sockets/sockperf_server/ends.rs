//! Start and end of a server: its addresses, its failures, and the counts of the last moment.

use std::io::Write;
use std::net::{Ipv4Addr, TcpStream, UdpSocket};

use endpoint::clock::Monotonic;
use endpoint::error::{Cause, Step};
use endpoint::peer::sockperf::server::settings::{Carriers, Settings};
use endpoint::peer::sockperf::server::{bind, bound::Kind};
use measure::unit::Nanos;
use socket2::{Domain, Socket, Type};
use test_case::test_case;

use crate::sockperf_server::hand::{ASKING, answered, message, read, receive, tcp, udp};
use crate::sockperf_server::{Ours, bound, listening, place};

#[test]
fn both_carriers_of_both_versions_share_a_port() {
    let server = Ours::start();
    assert_eq!(server.addresses[0], server.addresses[1]);
    let asked = message(1, ASKING, 30);
    for host in ["127.0.0.1", "::1"] {
        let socket = UdpSocket::bind((host, 0)).unwrap();
        socket.connect((host, server.port())).unwrap();
        socket.send(&asked).unwrap();
        assert_eq!(receive(&socket), answered(&asked));
        let mut stream = TcpStream::connect((host, server.port())).unwrap();
        stream.write_all(&asked).unwrap();
        assert_eq!(read(&mut stream, &asked), answered(&asked));
    }
    assert_eq!(server.end().messages, 4);
}

#[test]
fn an_answer_comes_from_the_address_that_was_asked() {
    let server = Ours::with(|settings| settings.answer_from_asked = Some(true));
    let asked = message(1, ASKING, 30);
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.connect((Ipv4Addr::new(127, 0, 0, 77), server.port())).unwrap();
    socket.set_read_timeout(Some(crate::sockperf_server::hand::PATIENCE)).unwrap();
    socket.send(&asked).unwrap();
    assert_eq!(receive(&socket), answered(&asked));
}

#[test_case(Carriers::Udp; "udp")]
#[test_case(Carriers::Tcp; "tcp")]
fn a_port_that_is_taken_is_told(carriers: Carriers) {
    let first = Ours::with(|settings| settings.places = vec![place("127.0.0.1:0", carriers)]);
    let taken = first.addresses[0].to_string();
    let error = bind(Settings::at(vec![place(&taken, carriers)])).unwrap_err();
    let Cause::System(cause) = &error.cause else { panic!("{error}") };
    assert_eq!((&error.step, cause.raw_os_error()), (&Step::Listen, Some(libc::EADDRINUSE)), "{error}");
    assert!(error.to_string().contains(&taken), "{error}");
}

#[test]
fn a_server_is_started_again_at_once() {
    let server = Ours::with(|settings| settings.places = vec![place("127.0.0.1:0", Carriers::Tcp)]);
    let at = server.addresses[0].to_string();
    let mut stream = tcp(&server);
    let asked = message(1, ASKING, 14);
    stream.write_all(&asked).unwrap();
    read(&mut stream, &asked);
    // The server ends the connection, and so its side of it is kept for a while.
    server.end();
    drop(stream);
    drop(Ours::with(|settings| settings.places = vec![place(&at, Carriers::Tcp)]));
}

#[test]
fn a_cpu_that_it_may_not_run_on_is_told_before_anything_is_served() {
    let error = bind(Settings { cpus: vec![1_000], ..Settings::at(Vec::new()) }).unwrap_err();
    assert_eq!(error.step, Step::Pin(1_000));
}

#[test]
fn what_was_sent_before_the_end_is_counted() {
    let server = Ours::start();
    let stream = tcp(&server);
    let mut writing = stream.try_clone().unwrap();
    // More than a socket's buffers hold: it is still being read when the end is requested.
    let all: Vec<u8> = (1..=200_000).flat_map(|number| message(number, 1, 14)).collect();
    writing.write_all(&all).unwrap();
    let socket = udp(&server);
    for number in 1..=100 {
        socket.send(&message(number, 1, 14)).unwrap();
    }
    drop((stream, writing));
    let totals = server.end();
    assert_eq!((totals.messages, totals.dropped, totals.malformed), (200_100, Some(0), 0));
}

#[test]
fn it_ends_in_bounded_time_while_clients_go_on() {
    let server = Ours::start();
    let mut stream = tcp(&server);
    let going_on = std::thread::spawn(move || while stream.write_all(&message(1, 1, 14)).is_ok() {});
    let began = Monotonic::now();
    server.end();
    assert!(Monotonic::now().since(began).unwrap() < Nanos::secs(20));
    going_on.join().unwrap();
}

#[test_case(1; "one thread")]
#[test_case(2; "two threads")]
#[test_case(9; "more threads than sockets")]
fn sockets_of_both_kinds_are_served_by_few_threads(threads: u32) {
    let (tell, lines) = listening();
    let server = Ours::with(|settings| {
        let carriers = [Carriers::Udp, Carriers::Udp, Carriers::Tcp, Carriers::Udp, Carriers::Tcp];
        settings.places = carriers.map(|carriers| place("127.0.0.1:0", carriers)).into();
        (settings.threads, settings.tell) = (threads, Some(tell));
    });
    let asked = message(1, ASKING, 14);
    for round in 0..3 {
        for at in [0, 1, 3] {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.connect(server.addresses[at]).unwrap();
            socket.send(&asked).unwrap();
            assert_eq!(receive(&socket), answered(&asked), "{round} {at}");
        }
        for at in [2, 4] {
            let mut stream = TcpStream::connect(server.addresses[at]).unwrap();
            stream.write_all(&asked).unwrap();
            assert_eq!(read(&mut stream, &asked), answered(&asked), "{round} {at}");
        }
    }
    assert_eq!(server.end().messages, 15);
    let lines = lines.lock().unwrap();
    let serving: Vec<_> = lines.iter().filter(|line| line.starts_with("Serving")).collect();
    assert_eq!(serving.len(), threads.min(5) as usize);
    for (index, line) in serving.iter().enumerate() {
        assert!(line.contains(&format!("thread: {index},")), "in their order: {lines:?}");
    }
}

#[test]
fn spinning_it_serves_several_sockets_too() {
    let server = Ours::with(|settings| {
        settings.places = [Carriers::Both, Carriers::Udp].map(|carriers| place("127.0.0.1:0", carriers)).into();
        settings.spin = true;
    });
    crate::sockperf_server::hand::good(&server);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(server.addresses[2]).unwrap();
    socket.send(&message(1, ASKING, 14)).unwrap();
    receive(&socket);
    assert_eq!(server.end().messages, 3);
}

#[test]
fn options_reach_the_sockets() {
    let server = bound(|settings| {
        settings.options.buffer_bytes = Some(20_000);
        settings.options.tos = Some(0x28);
        settings.options.pacing_bytes_per_s = Some(1_000_000);
        settings.options.busy_poll_us = Some(1);
        settings.options.reuse_address = true;
    });
    let kinds: Vec<Kind> = server.sockets().iter().map(|socket| socket.kind).collect();
    assert_eq!(kinds, [Kind::Udp, Kind::Tcp]);
    for socket in server.sockets() {
        let buffers = socket.buffers().unwrap();
        // The kernel doubles what is asked for.
        assert_eq!((buffers.receive, buffers.send), (40_000, 40_000));
    }
    // Another one may have the address too.
    let other = Socket::new(Domain::IPV6, Type::DGRAM, None).unwrap();
    other.set_reuse_address(true).unwrap();
    other.bind(&server.addresses()[0].into()).unwrap();
}
