//! Servers that do what no iperf3 does, or what an iperf3 in trouble does.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread::{self, JoinHandle};

use endpoint::error::hint::Hint;
use endpoint::peer::iperf3::client::{Finish, Session, Setup, Test};
use endpoint::stop::Stop;
use measure::unit::Nanos;
use protocol::iperf3::code::Code;
use protocol::iperf3::parameters::{Direction, Parameters, Protocol};
use protocol::iperf3::results::{Results, StreamResults};
use test_case::test_case;
use testbed::port;

use super::{complete, run, run_test};

/// A server whose first connection, with its cookie read, is handled by `body`.
fn server(body: impl FnOnce(&TcpListener, &UdpSocket, TcpStream) + Send + 'static) -> (SocketAddr, JoinHandle<()>) {
    // Both transports at one port: the system by itself gives one that may be taken for the other.
    let address = SocketAddr::from(([127, 0, 0, 1], port::free()));
    let (listener, datagrams) = (TcpListener::bind(address).unwrap(), UdpSocket::bind(address).unwrap());
    let running = thread::spawn(move || {
        let (mut control, _) = listener.accept().unwrap();
        control.read_exact(&mut [0; 37]).unwrap();
        body(&listener, &datagrams, control);
    });
    (address, running)
}

fn frame(control: &mut TcpStream) -> Vec<u8> {
    let mut length = [0; 4];
    control.read_exact(&mut length).unwrap();
    let mut text = vec![0; u32::from_be_bytes(length) as usize];
    control.read_exact(&mut text).unwrap();
    text
}

fn framed(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes(), text.as_bytes()].concat()
}

/// Comes as far as the client's streams.
fn greet(control: &mut TcpStream) {
    control.write_all(&[9]).unwrap();
    frame(control);
    control.write_all(&[10]).unwrap();
}

fn stream(listener: &TcpListener) -> TcpStream {
    let (mut stream, _) = listener.accept().unwrap();
    stream.read_exact(&mut [0; 37]).unwrap();
    stream
}

fn results() -> Results {
    Results { streams: vec![StreamResults { id: 1, bytes: 7, ..StreamResults::default() }], ..Results::default() }
}

#[test_case(&[0xff], Code::BUSY; "busy")]
#[test_case(&[9, 0xfe, 0, 0, 0, 27, 0, 0, 0, 5], Code::TOTAL_RATE; "that it cannot")]
#[test_case(&[9, 0xfe, 0, 0, 0, 142], Code::AUTHORISATION; "that it cannot, cut short")]
#[test_case(&[9, 11], Code::SERVER_TERMINATED; "that it ends")]
#[test_case(&[9], Code::CLOSED; "nothing more")]
#[test_case(b"HTTP/1.1 400 Bad Request\r\n", Code::MESSAGE; "something else")]
#[test_case(&[9, 1], Code::MESSAGE; "the wrong word")]
fn whatever_a_server_says_before_the_test_is_an_error_with_its_number(said: &'static [u8], code: Code) {
    let (address, running) = server(move |_, _, mut control| control.write_all(said).unwrap());
    let failure = run(address, Parameters::default()).unwrap_err();
    assert_eq!(failure.code, code, "{failure}");
    match failure.error.hint.as_deref() {
        Some(Hint::Iperf3(error)) => assert_eq!(error.code(), code),
        hint => assert_eq!((hint, code), (None, Code::SERVER_TERMINATED), "it ended by itself"),
    }
    running.join().unwrap();
}

#[test]
fn nobody_there_is_told_at_once() {
    let address = ([127, 0, 0, 1], port::free()).into();
    let failure = run(address, Parameters::default()).unwrap_err();
    assert_eq!((failure.code, failure.errno), (Code::CONNECT, Some(111)));
    assert_eq!(failure.error.hint.as_deref(), Some(&Hint::NoIperf3Server));
}

#[test_case(&[0xfe, 0, 0, 0, 27, 0, 0, 0, 0], Finish::Lost, Some(27); "that it cannot go on")]
#[test_case(&[11], Finish::ServerTerminated, None; "that it ends")]
#[test_case(&[], Finish::Lost, Some(109); "nothing, and is gone")]
#[test_case(&[77], Finish::Lost, Some(110); "nonsense")]
fn what_was_measured_stands_when_the_server_fails(said: &'static [u8], finish: Finish, code: Option<i32>) {
    for direction in [Direction::Upload, Direction::Reverse] {
        let (address, running) = server(move |listener, _, mut control| {
            greet(&mut control);
            let mut data = stream(listener);
            control.write_all(&[1, 2]).unwrap();
            if direction == Direction::Upload {
                data.read_exact(&mut vec![0; 100_000]).unwrap();
            } else {
                data.write_all(&vec![0; 100_000]).unwrap();
            }
            control.write_all(said).unwrap();
            if !said.is_empty() {
                // A client that ends a test still sends messages: they are read.
                std::io::copy(&mut control, &mut std::io::sink()).ok();
            }
        });
        let measured = run(address, Parameters { direction, ..Parameters::default() }).unwrap();
        assert_eq!((measured.finish, measured.trouble.map(|failure| failure.code.0)), (finish, code));
        assert!(measured.theirs.is_none());
        let bytes = measured.ours.streams[0].bytes;
        assert!(if direction == Direction::Upload { bytes >= 100_000 } else { bytes > 0 }, "{bytes}");
        running.join().unwrap();
    }
}

#[test]
fn an_interrupted_test_says_so_and_has_what_was_measured() {
    let (address, running) = server(move |listener, _, mut control| {
        greet(&mut control);
        let mut data = stream(listener);
        control.write_all(&[1, 2]).unwrap();
        let reading = thread::spawn(move || std::io::copy(&mut data, &mut std::io::sink()));
        let mut said = Vec::new();
        control.read_to_end(&mut said).unwrap();
        assert_eq!(said, [12]);
        drop(reading.join());
    });
    let stop = Stop::default();
    let session = Session::open(Setup::towards(vec![address]), &stop).unwrap();
    let mut test = Test::new(Parameters { time: 1_000, ..Parameters::default() });
    test.interval = Nanos::millis(20);
    // The user has seen enough with the first interval.
    let measured = session.measure(&test, &stop, &mut |progress| {
        if matches!(progress, endpoint::peer::iperf3::client::Progress::Engine(measure::event::Event::Carried { .. })) {
            stop.request();
        }
    });
    let measured = measured.unwrap();
    assert_eq!(measured.finish, Finish::Stopped);
    assert!(measured.ours.streams[0].bytes > 0 && measured.theirs.is_none() && measured.trouble.is_none());
    running.join().unwrap();
}

#[test]
fn silence_of_the_data_ends_the_test() {
    let (address, running) = server(move |listener, _, mut control| {
        greet(&mut control);
        let _data = stream(listener);
        control.write_all(&[1, 2]).unwrap();
        std::io::copy(&mut control, &mut std::io::sink()).ok();
    });
    let mut test = Test::new(Parameters { time: 1_000, direction: Direction::Reverse, ..Parameters::default() });
    test.receive_timeout = Nanos::millis(200);
    let measured = run_test(address, &test, &Stop::default()).unwrap();
    assert_eq!((measured.finish, measured.trouble.unwrap().code), (Finish::Silent, Code::NOTHING_RECEIVED));
    running.join().unwrap();
}

#[test_case(true; "and answered in the old way")]
#[test_case(false; "and its answer too")]
fn a_first_datagram_that_was_lost_is_sent_again(answers: bool) {
    let (address, running) = server(move |_, datagrams, mut control| {
        greet(&mut control);
        let mut hello = [0; 16];
        datagrams.recv_from(&mut hello).unwrap();
        let (count, from) = datagrams.recv_from(&mut hello).unwrap();
        assert_eq!(&hello[..count], b"9876");
        if answers {
            // As a server before 3.12 does it.
            datagrams.send_to(&987_654_321_u32.to_le_bytes(), from).unwrap();
        }
        control.write_all(&[1, 2]).unwrap();
        let mut octet = [0];
        control.read_exact(&mut octet).unwrap();
        assert_eq!(octet, [4]);
        control.write_all(&[13]).unwrap();
        frame(&mut control);
        control.write_all(&framed(&results().write())).unwrap();
        control.write_all(&[14]).unwrap();
        control.read_exact(&mut octet).unwrap();
        assert_eq!(octet, [16]);
    });
    let parameters = Parameters { protocol: Protocol::Udp, blocks: 2, time: 0, ..Parameters::default() };
    let (measured, _) = complete(address, &Test::new(parameters));
    assert_eq!(measured.theirs, Some(results()));
    running.join().unwrap();
}

#[test]
fn a_server_that_tells_nonsense_of_the_test_leaves_ours() {
    let (address, running) = server(move |listener, _, mut control| {
        greet(&mut control);
        let mut data = stream(listener);
        control.write_all(&[1, 2]).unwrap();
        std::io::copy(&mut (&mut data).take(1_000), &mut std::io::sink()).unwrap();
        let mut octet = [0];
        control.read_exact(&mut octet).unwrap();
        control.write_all(&[13]).unwrap();
        frame(&mut control);
        control.write_all(&framed("{}")).unwrap();
        std::io::copy(&mut control, &mut std::io::sink()).ok();
    });
    let parameters = Parameters { blocks: 1, block: Some(1_000), time: 0, ..Parameters::default() };
    let measured = run(address, parameters).unwrap();
    assert_eq!((measured.finish, measured.trouble.unwrap().code), (Finish::Lost, Code::RESULTS));
    assert_eq!(measured.ours.streams[0].bytes, 1_000);
    running.join().unwrap();
}

#[test_case(Parameters { protocol: Protocol::Sctp, ..Parameters::default() }, 18; "sctp")]
#[test_case(Parameters { flow_label: Some(7), ..Parameters::default() }, 127; "a flow label")]
fn what_we_cannot_do_is_refused_before_the_server_is_asked(parameters: Parameters, code: i32) {
    let (address, running) = server(|_, _, mut control| {
        let mut said = Vec::new();
        control.read_to_end(&mut said).unwrap();
        assert!(said.is_empty(), "{said:?}");
    });
    assert_eq!(run(address, parameters).unwrap_err().code, Code(code));
    running.join().unwrap();
}
