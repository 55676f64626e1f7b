//! The bulk engine over real sockets on loopback: what one end sends, the other has.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::thread;

use endpoint::engine::Ended;
use endpoint::engine::stream::{self, Plan, Streamed};
use endpoint::link::bulk::{FileSender, Receiver, Sender, any_file, make_spare, new_file};
use endpoint::link::ring::{Ring, Shape};
use endpoint::socket;
use endpoint::stop::Stop;
use measure::method::Waiting;
use measure::throughput::Carried;
use measure::unit::{Bytes, Nanos};
use protocol::link::Fault;
use socket2::Socket;
use test_case::test_case;

/// Two ends of a TCP connection, ready for the engine.
pub fn connection() -> (Socket, Socket) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let far = listener.accept().unwrap().0;
    (glancing(near.into()), glancing(far.into()))
}

/// Two connected UDP sockets.
pub fn datagrams() -> (Socket, Socket) {
    let (near, far) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    near.connect(far.local_addr().unwrap()).unwrap();
    far.connect(near.local_addr().unwrap()).unwrap();
    (glancing(near.into()), glancing(far.into()))
}

fn glancing(socket: Socket) -> Socket {
    socket::set_glance(&socket).unwrap();
    socket
}

fn ring(size: usize) -> Ring {
    Ring::filled(Shape { buffers: 3, ..Shape::of(size) }, b"stream\0")
}

fn receive(socket: Socket, size: usize) -> thread::JoinHandle<Streamed<Receiver>> {
    thread::spawn(move || {
        let stop = Stop::default();
        stream::run(Receiver::new(socket, ring(size), Waiting::Block), &Plan::unbounded(&stop), None)
    })
}

#[test_case(Waiting::Block; "blocking")]
#[test_case(Waiting::Spin; "spinning")]
fn all_that_is_sent_over_tcp_is_received(waiting: Waiting) {
    let (near, far) = connection();
    let receiving = receive(far, 70_000);
    let stop = Stop::default();
    let plan = Plan { bytes: Some(20_000_000), ..Plan::unbounded(&stop) };
    let sent = stream::run(Sender::new(near, ring(50_000), waiting), &plan, None);
    drop(sent.way);
    let received = receiving.join().unwrap();
    assert_eq!((sent.ended, received.ended), (Ended::Complete, Ended::Complete));
    // A message that had room in parts counts as one, so that they end where they should.
    assert_eq!(sent.metered.carried.bytes, Bytes(20_000_000));
    assert_eq!(received.metered.carried.bytes, sent.metered.carried.bytes);
}

#[test]
fn datagrams_are_received_until_one_is_empty() {
    let (near, far) = datagrams();
    let receiving = receive(far, 65_536);
    let stop = Stop::default();
    let plan = Plan { bytes: Some(30 * 1_000), ..Plan::unbounded(&stop) };
    let sent = stream::run(Sender::new(near, ring(1_000), Waiting::Block), &plan, None);
    sent.way.socket().send(&[]).unwrap();
    let thirty = Carried { bytes: Bytes(30_000), calls: 30, failed_calls: 0 };
    assert_eq!((sent.metered.carried, receiving.join().unwrap().metered.carried), (thirty, thirty));
}

#[test]
fn a_file_arrives_as_it_is_and_from_its_start_again() {
    let (near, far) = connection();
    let file = new_file(b"0123456789", 25).unwrap();
    let stop = Stop::default();
    let plan = Plan { bytes: Some(60), ..Plan::unbounded(&stop) };
    let sent = stream::run(FileSender::new(near, file, 10).unwrap(), &plan, None);
    assert_eq!(sent.metered.carried, Carried { bytes: Bytes(60), calls: 7, failed_calls: 0 });
    drop(sent.way);
    let mut text = String::new();
    TcpStream::from(far).read_to_string(&mut text).unwrap();
    assert_eq!(text, "0123456789012345678901234".repeat(3)[..60]);
}

#[test]
fn a_file_without_content_is_refused() {
    let (near, _far) = connection();
    assert!(FileSender::new(near, new_file(b"x", 0).unwrap(), 10).is_err());
}

#[test]
fn a_peer_that_is_gone_ends_the_stream_as_broken() {
    let (near, far) = connection();
    drop(far);
    let stop = Stop::default();
    let sent = stream::run(Sender::new(near, ring(1_000), Waiting::Block), &Plan::unbounded(&stop), None);
    assert_eq!(sent.ended, Ended::Broken(Fault::Closed));
}

#[test]
fn a_peer_that_takes_nothing_holds_nobody_up() {
    let (near, _far) = connection();
    let stop = Stop::default();
    let plan = Plan { after: Some(Nanos::millis(300)), ..Plan::unbounded(&stop) };
    let sent = stream::run(Sender::new(near, ring(100_000), Waiting::Block), &plan, None);
    assert_eq!(sent.ended, Ended::Complete);
    assert!(sent.metered.elapsed() >= Nanos::millis(300));
}

#[test]
fn a_port_that_nobody_listens_at_costs_calls_and_no_end() {
    let (near, far) = datagrams();
    drop(far);
    let stop = Stop::default();
    let plan = Plan { after: Some(Nanos::millis(100)), ..Plan::unbounded(&stop) };
    let sent = stream::run(Sender::new(near, ring(10), Waiting::Block), &plan, None);
    assert_eq!(sent.ended, Ended::Complete);
    assert!(sent.metered.carried.failed_calls > 0, "{:?}", sent.metered.carried);
}

#[test]
fn a_receiver_is_heard_to_stop_while_nothing_comes() {
    let (mut near, far) = connection();
    near.write_all(b"12345").unwrap();
    let stop = Stop::default();
    let asks = stop.clone();
    let receiving = thread::spawn(move || {
        stream::run(Receiver::new(far, ring(100), Waiting::Block), &Plan::unbounded(&stop), None)
    });
    asks.request();
    let received = receiving.join().unwrap();
    assert_eq!((received.ended, received.metered.carried.bytes), (Ended::Stopped, Bytes(5)));
}

#[test]
fn who_may_make_no_file_has_the_spare_one() {
    make_spare();
    make_spare();
    assert_eq!(new_file(b"ab", 5).unwrap().metadata().unwrap().len(), 5);
    assert_eq!(any_file(b"ab", 5).unwrap().metadata().unwrap().len(), 5, "where one can be made it is");
}
