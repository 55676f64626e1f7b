//! Failures name the problem, its side and a remedy; and no wait is endless.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;

use endpoint::error::hint::Hint;
use endpoint::error::{Cause, EndpointError, Side, Step};
use endpoint::peer::netperf::client::{Session, Setup};
use endpoint::rtt::Ending;
use endpoint::stop::Stop;
use measure::event::Event;
use measure::method::{Carrier, Pattern};
use measure::unit::Nanos;
use protocol::netperf::MESSAGE;
use protocol::netperf::answer::{Calibration, Ready};
use protocol::netperf::ask;
use protocol::netperf::error::Error;
use protocol::netperf::server::{Action, Server};
use rustix::process::Signal;
use test_case::test_case;
use testbed::port;

use crate::netperf_client::server::{Netserver, V4, by_count, by_time, passphrase, setup};

fn refused(setup: Setup) -> EndpointError {
    let stop = Stop::default();
    let test = by_count(Carrier::Tcp, Pattern::Exchange, 1);
    Session::open(setup, &stop)
        .and_then(|mut session| session.measure(&test, &stop, &mut |_| {}))
        .expect_err("an error")
}

/// One client is served by `serve`.
fn impostor(serve: impl FnOnce(std::net::TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || serve(listener.accept().expect("a client").0));
    address
}

#[test]
fn nobody_listens() {
    let error = refused(setup(([127, 0, 0, 1], port::free()).into()));
    assert_eq!(error.side, Side::Theirs);
    assert_eq!(error.hint.as_deref(), Some(&Hint::NoNetserver));
}

#[test_case(Some(passphrase("wrong")); "wrong")]
#[test_case(None; "missing")]
fn a_passphrase_that_does_not_fit(said: Option<protocol::netperf::passphrase::Passphrase>) {
    let Some(server) = Netserver::start(&["-Z", "right"]) else { return };
    let error = refused(Setup { passphrase: said, ..setup(server.at(V4)) });
    assert!(matches!(error.hint.as_deref(), Some(Hint::Netperf(Error::Closed { received: 0, .. }))), "{error:?}");
}

#[test]
fn an_old_server_is_known_by_its_messages() {
    let old = impostor(|mut stream| {
        stream.read_exact(&mut [0; MESSAGE]).expect("a request");
        // Error 998 is what it says to each of the three messages of 256 octets that it takes ours for.
        let mut answer = [0; 256];
        answer[4..8].copy_from_slice(&998_u32.to_be_bytes());
        stream.write_all(&answer.repeat(2)).expect("two answers");
        stream.write_all(&[0; 144]).expect("the start of a third");
        let _end = stream.read(&mut [0; 1]);
    });
    let error = refused(setup(old));
    assert_eq!(error.side, Side::Theirs);
}

#[test]
fn a_data_port_that_is_closed_is_told_apart_from_no_server() {
    let closed = port::free();
    let server = impostor(move |mut stream| {
        let mut server = Server::new(None, Calibration { rate: None, count: 1 });
        let mut buffer = [0; MESSAGE];
        while stream.read_exact(&mut buffer).is_ok() {
            for action in server.feed(&buffer) {
                if matches!(action, Action::Run(_)) {
                    stream.write_all(&server.ready(&Ready::at(closed))).expect("told");
                }
            }
        }
    });
    let error = refused(setup(server));
    assert_eq!(error.side, Side::Path, "{error:?}");
    assert_eq!((&error.step, error.hint.as_deref()), (&Step::ConnectData, Some(&Hint::DataPortClosed)));
}

#[test]
fn a_server_that_says_nothing_does_not_outlast_the_wish_to_stop() {
    let silent = impostor(|mut stream| {
        let _end = stream.read_to_end(&mut Vec::new());
    });
    let stop = Stop::default();
    let mut session = Session::open(setup(silent), &stop).expect("open");
    stop.request();
    let error =
        session.measure(&by_count(Carrier::Tcp, Pattern::Exchange, 1), &stop, &mut |_| {}).expect_err("stopped");
    assert!(matches!(error.cause, Cause::Stopped), "{error:?}");
}

#[test_case(Carrier::Tcp; "tcp")]
#[test_case(Carrier::Udp; "udp")]
fn a_server_that_dies_in_the_middle_ends_the_test_there(carrier: Carrier) {
    let Some(server) = Netserver::start(&[]) else { return };
    let mut test = by_time(carrier, Pattern::Exchange, 600);
    test.interval = Nanos::millis(50);
    let mut alive = true;
    let mut listen = |event: Event| {
        if alive && matches!(event, Event::Second { .. }) {
            alive = false;
            server.signal(Signal::KILL);
        }
    };
    let mut session = server.session(V4);
    let measured = session.measure(&test, &Stop::default(), &mut listen).expect("what was measured stands");
    assert!(matches!(&measured.ended, Ending::PeerLost { .. }), "{:?}", measured.ended);
    assert!(measured.course.results.is_err() && measured.received.calls > 0);
}

#[test]
fn a_protocol_that_the_kernel_has_not_is_refused_by_name() {
    let Some(server) = Netserver::start(&[]) else { return };
    let mut test = by_count(Carrier::Tcp, Pattern::Exchange, 1);
    test.ask.carrier = ask::Carrier::Other { protocol: 132, socket_type: 1 };
    // The kernel may have it and the server not; where both have, one transaction is made.
    match server.session(V4).measure(&test, &Stop::default(), &mut |_| {}) {
        Err(error) if error.side == Side::Ours => {
            assert_eq!(error.hint.as_deref(), Some(&Hint::NoProtocol("SCTP")));
        }
        Err(error) => assert_eq!(error.side, Side::Theirs, "{error:?}"),
        Ok(measured) => assert_eq!(measured.received.calls, 1),
    }
    test.ask.carrier = ask::Carrier::Other { protocol: 132, socket_type: 4 };
    let error = server.session(V4).measure(&test, &Stop::default(), &mut |_| {}).expect_err("no engine for it");
    assert_eq!(error.side, Side::Ours, "{error:?}");
}

#[test]
fn what_cannot_be_asked_is_refused_before_anything_is_sent() {
    let Some(server) = Netserver::start(&[]) else { return };
    let mut session = server.session(V4);
    let mut test = by_count(Carrier::Tcp, Pattern::Exchange, 1);
    test.ask.congestion = Some("a-name-of-no-algorithm".into());
    let error = session.measure(&test, &Stop::default(), &mut |_| {}).expect_err("refused");
    assert_eq!(error.side, Side::Ours, "{error:?}");
    let next = by_count(Carrier::Tcp, Pattern::Exchange, 1);
    session.measure(&next, &Stop::default(), &mut |_| {}).expect("the session goes on");
}
