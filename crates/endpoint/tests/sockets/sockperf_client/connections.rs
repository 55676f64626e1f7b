//! Connections: pieces of messages and several at once, a server that closes, does not read, or sends nonsense.

use std::io::Read;
use std::net::{Ipv4Addr, Shutdown};
use std::time::Duration;

use endpoint::engine::Ended;
use endpoint::error::Step;
use endpoint::peer::sockperf::client::{self, Test};
use endpoint::stop::Stop;
use measure::method::{Asked, Carrier, Waiting};
use measure::unit::{Bytes, Nanos};
use protocol::link::Fault;
use protocol::sockperf::wire::Tallied;
use rustix::io::Errno;
use test_case::test_case;
use testbed::port;

use crate::sockperf_client::rogue::{Rogue, messages, write};
use crate::sockperf_client::{load, over_tcp, ping_pong, place, run, test, test_with};

#[test_case(Waiting::Block)]
#[test_case(Waiting::Spin)]
fn replies_in_pieces_are_whole_in_the_end(waiting: Waiting) {
    let server = Rogue::connection(|stream| {
        stream.set_nodelay(true).expect("set");
        messages(stream, |came, stream| {
            let reply = came.answer();
            let cut = came.header.sequence as usize % reply.len();
            write(stream, &reply[..cut]);
            write(stream, &reply[cut..]);
        })
    });
    let asked = Asked { waiting: Some(waiting), ..over_tcp(ping_pong(60)) };
    assert_eq!(run(&test(&asked, server.address)).counts().answered, 60);
    assert_eq!(server.came().len(), 60);
}

#[test]
fn replies_that_come_together_are_told_apart() {
    let server = Rogue::connection(|stream| {
        let mut held = Vec::new();
        messages(stream, move |came, stream| {
            held.extend(came.answer());
            if came.header.sequence.is_multiple_of(8) {
                write(stream, &std::mem::take(&mut held));
            }
        })
    });
    let seen = run(&test(&Asked { volley: Some(8), ..over_tcp(ping_pong(64)) }, server.address));
    assert_eq!((seen.counts().answered, seen.ended()), (64, Ended::Complete));
    drop(server.came());
}

#[test_case(1; "one at a time")]
#[test_case(4; "in volleys")]
fn messages_larger_than_any_buffer_get_through(volley: u32) {
    let server = Rogue::connection(|stream| messages(stream, |came, stream| write(stream, &came.answer())));
    let size = Some(Bytes(1_048_575));
    let asked = Asked { request_bytes: size, response_bytes: size, ..over_tcp(ping_pong(12)) };
    let asked = Asked { volley: (volley > 1).then_some(volley), ..asked };
    let seen = run(&Test { integrity: true, ..test(&asked, server.address) });
    assert_eq!((seen.counts().answered, seen.measured.tallied), (12, Tallied::default()));
    drop(server.came());
}

#[test]
fn a_server_that_closes_ends_it_and_what_was_measured_stands() {
    let server = Rogue::connection(|stream| {
        messages(stream, |came, stream| {
            write(stream, &came.answer());
            if came.header.sequence == 7 {
                // Its end is read on the way.
                let _shut = stream.shutdown(Shutdown::Both);
            }
        })
    });
    let seen = run(&test(&over_tcp(ping_pong(100)), server.address));
    // Its kernel resets what still comes to it: that may be seen before its end is.
    let ended = seen.ended();
    assert!(matches!(ended, Ended::Broken(Fault::Closed | Fault::Reset)), "{ended:?}");
    assert_eq!(seen.counts().answered, 7);
    drop(server.came());
}

#[test_case(13; "shorter than a header")]
#[test_case(21; "longer than any request")]
#[test_case(u32::MAX; "longer than anything")]
fn a_length_that_cannot_be_ends_it(length: u32) {
    let server = Rogue::connection(move |stream| {
        messages(stream, move |came, stream| {
            let mut reply = came.answer();
            if came.header.sequence == 4 {
                reply[10..14].copy_from_slice(&length.to_be_bytes());
            }
            write(stream, &reply);
        })
    });
    let seen = run(&test(&over_tcp(ping_pong(100)), server.address));
    assert_eq!(seen.ended(), Ended::Broken(Fault::System(Errno::PROTO.raw_os_error())));
    assert_eq!(seen.counts().answered, 3);
    drop(server.came());
}

/// Reads nothing until `ready`, and then everything.
fn sluggish(ready: std::sync::mpsc::Receiver<()>) -> Rogue {
    Rogue::connection(move |stream| {
        // Also where the test has failed.
        let _told = ready.recv_timeout(Duration::from_secs(30));
        messages(stream, |_, _| {})
    })
}

#[test]
fn what_would_wait_is_left_out_and_its_number_goes_to_the_next() {
    let (tell, ready) = std::sync::mpsc::channel();
    let server = sluggish(ready);
    let mut asked = Asked { request_bytes: Some(Bytes(60_000)), ..over_tcp(load(0, 0)) };
    (asked.stop.count, asked.stop.after_ns) = (None, Some(Nanos::millis(200)));
    asked.socket.send_buffer_bytes = Some(Bytes(8_192));
    let seen = run(&Test { skips: true, ..test(&asked, server.address) });
    tell.send(()).expect("it waits");
    let counts = seen.counts();
    assert!(counts.one_way > 0 && counts.one_way_failed > 0, "{counts:?}");
    let numbers: Vec<u64> = server.came().iter().map(|came| came.header.sequence).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    // The last may have gone in part when the run was over.
    assert!((counts.one_way - 1..=counts.one_way).contains(&(numbers.len() as u64)), "{counts:?}, {}", numbers.len());
}

#[test]
fn without_it_a_sender_waits_for_a_server_that_does_not_read_and_no_longer_than_asked() {
    let (tell, ready) = std::sync::mpsc::channel();
    let server = sluggish(ready);
    let mut asked = Asked { request_bytes: Some(Bytes(60_000)), ..over_tcp(load(0, 0)) };
    (asked.stop.count, asked.stop.after_ns) = (None, Some(Nanos::millis(200)));
    let seen = run(&test(&asked, server.address));
    tell.send(()).expect("it waits");
    assert_eq!((seen.ended(), seen.counts().one_way_failed), (Ended::Complete, 0));
    assert!(server.came().len() as u64 <= seen.counts().one_way);
}

#[test]
fn sockets_of_both_kinds_serve_one_test() {
    let tcp = Rogue::connection(|stream| messages(stream, |came, stream| write(stream, &came.answer())));
    let udp = Rogue::datagrams(|came| vec![came.answer()]);
    let places = vec![place(Carrier::Udp, udp.address), place(Carrier::Tcp, tcp.address)];
    let seen = run(&test_with(&Asked { volley: Some(1), ..ping_pong(40) }, places));
    assert_eq!((seen.counts().answered, seen.counts().strays), (40, 0));
    let numbers = |server: Rogue| server.came().iter().map(|came| came.header.sequence).collect::<Vec<_>>();
    assert_eq!(numbers(udp), (1..=40).step_by(2).collect::<Vec<_>>());
    assert_eq!(numbers(tcp), (2..=40).step_by(2).collect::<Vec<_>>());
}

#[test]
fn a_closed_port_refuses_the_connection() {
    let test = test(&over_tcp(ping_pong(1)), (Ipv4Addr::LOCALHOST, port::free()).into());
    let error = client::prepare(&test).expect("a socket").connect(&test, &Stop::default()).expect_err("nobody listens");
    assert_eq!(error.step, Step::ConnectData);
    assert!(error.to_string().contains("connection refused"), "{error}");
}

#[test]
fn a_wish_to_stop_ends_a_wait_for_a_server_that_does_not_answer() {
    let (accepted, is_accepted) = std::sync::mpsc::channel();
    let server = Rogue::connection(move |mut stream| {
        let mut first = [0];
        stream.read_exact(&mut first).expect("a message");
        accepted.send(()).expect("it waits");
        messages(stream, |_, _| {});
        Vec::new()
    });
    let stop = Stop::default();
    let test = test(&over_tcp(ping_pong(10)), server.address);
    let session = client::prepare(&test).expect("a socket").connect(&test, &stop).expect("connected");
    let stops = stop.clone();
    let asking = std::thread::spawn(move || {
        is_accepted.recv().expect("the first message");
        stops.request();
    });
    let measured = session.measure(&test, &stop, &mut |_| {}).expect("measured");
    asking.join().expect("it asked");
    assert_eq!((measured.gathered.ended, measured.gathered.recording.counts.scheduled), (Ended::Stopped, 0));
    drop(server.came());
}
