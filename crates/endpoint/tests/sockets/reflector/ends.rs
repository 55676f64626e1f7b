//! Ends of sessions and of the reflector: silence, a client that vanishes, a stop, a second reflector on the port.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};

use endpoint::clock::Monotonic;
use endpoint::error::{Cause, Side};
use endpoint::reflector::{self, Settings};
use measure::method::Carrier;
use measure::unit::Nanos;
use protocol::native::error::SessionError;
use protocol::native::header::Flags;
use protocol::native::limits::Limits;
use protocol::native::message::{Ending, Open};
use protocol::native::preamble::{Data, DataAnswer, DataRefusal};
use test_case::test_case;

use crate::reflector::{settings, with_limits, with_reflector};
use testbed::client::open;
use testbed::client::{self, Session, asked, udp};
use testbed::wait;

/// As long as a session may be idle: a busy machine keeps no client from it for as long.
const IDLE: Nanos = Nanos::secs(2);

fn brief() -> Limits {
    Limits { idle_ns: IDLE, ..Limits::default() }
}

fn fault(error: &SessionError) -> Ending {
    match error {
        SessionError::Fault(notice) => notice.reason,
        other => panic!("{other}"),
    }
}

#[test_case(Carrier::Tcp)]
#[test_case(Carrier::Udp)]
fn a_client_that_vanished_is_given_up(carrier: Carrier) {
    with_limits(brief(), |address, _| {
        let session = Session::open(address, open(carrier)).unwrap();
        assert_eq!(session.opened.got.idle_ns, IDLE, "told beforehand");
        let (token, request) = (session.token(), session.request(0, Flags::NONE, 64, 64));
        let stream = (carrier == Carrier::Tcp).then(|| session.data(0).unwrap());
        assert_eq!(fault(&session.until_ended()), Ending::Idle);
        // Its token is void: on TCP it is refused, over UDP nothing comes back.
        let knock = client::data(address, Data { version: 1, token, flow: 0 });
        assert_eq!(knock.err(), Some(DataAnswer::Refused(DataRefusal::UnknownToken)));
        if let Some(mut stream) = stream {
            assert_eq!(
                wait::read(&mut stream, &mut [0; 8]).unwrap(),
                0,
                "the data connection is closed with its session"
            );
        } else {
            let (late, fresh) = (udp(address), Session::open(address, open(carrier)).unwrap());
            late.send(&request).unwrap();
            assert_eq!(asked(&udp(address), &fresh.request(0, Flags::NONE, 64, 64)).len(), 64);
            assert!(client::is_silent(&late));
        }
    });
}

#[test]
fn data_keeps_a_session_alive_and_its_duration_ends_it() {
    let limits = Limits { duration_ns: Nanos(2 * IDLE.0), ..brief() };
    with_limits(limits, |address, _| {
        let session = Session::open(address, open(Carrier::Tcp)).unwrap();
        let mut stream = session.data(0).unwrap();
        let request = session.request(0, Flags::NONE, 64, 64);
        // Until the reflector ends it: twice as long as it may be idle.
        let mut exchanged = 0_u64;
        while stream.write_all(&request).is_ok() && stream.read_exact(&mut [0; 64]).is_ok() {
            exchanged += 1;
        }
        assert!(exchanged > 0);
        assert_eq!(fault(&session.until_ended()), Ending::Duration);
    });
}

#[test]
fn a_stop_is_told_to_every_client_and_does_not_wait_for_the_silent() {
    let mut ended = None;
    with_limits(Limits::default(), |address, stop| {
        let sessions: Vec<_> =
            (0..20).map(|_| Session::open(address, Open { flows: 2, ..open(Carrier::Tcp) }).unwrap()).collect();
        let mut streams: Vec<_> = sessions.iter().map(|session| session.data(1).unwrap()).collect();
        let _silent = client::connect(address);
        stop.request();
        ended = Some(Monotonic::now());
        for session in sessions {
            assert_eq!(fault(&session.until_ended()), Ending::Stopping);
        }
        assert!(streams.iter_mut().all(|stream| wait::read(stream, &mut [0; 8]).is_ok_and(|count| count == 0)));
    });
    // The reflector's own end is waited for above. One that waited for the silent connection would take ten seconds.
    let took = Monotonic::now().since(ended.unwrap()).unwrap();
    assert!(took < Nanos::secs(9), "{took}");
}

#[test]
fn a_port_that_is_taken_is_refused_and_free_again_at_once() {
    let reflector = reflector::bind(settings()).unwrap();
    let address = reflector.addresses()[0];
    for taken in [address, SocketAddr::from((Ipv4Addr::UNSPECIFIED, address.port()))] {
        let error = reflector::bind(Settings::at(taken, "second")).expect_err("the port is taken");
        assert_eq!((error.side, error.peer.as_str()), (Side::Ours, taken.to_string().as_str()));
        assert!(matches!(&error.cause, Cause::System(cause) if cause.kind() == ErrorKind::AddrInUse), "{error}");
    }
    drop(reflector);
    assert_eq!(reflector::bind(Settings::at(address, "next")).unwrap().addresses(), [address]);
}

#[test]
fn the_port_of_a_reflector_that_had_clients_is_free_again_at_once() {
    let mut left = None;
    with_reflector(|address| {
        let session = Session::open(address, open(Carrier::Tcp)).unwrap();
        let mut stream = session.data(0).unwrap();
        stream.write_all(&session.request(0, Flags::NONE, 64, 64)).unwrap();
        stream.read_exact(&mut [0; 64]).unwrap();
        left = Some((address, stream));
    });
    let (address, _still_open) = left.unwrap();
    assert_eq!(reflector::bind(Settings::at(address, "next")).unwrap().addresses(), [address]);
}

#[test]
fn a_udp_port_that_is_taken_is_refused_although_tcp_is_free() {
    let other = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let error = reflector::bind(Settings::at(other.local_addr().unwrap(), "second")).expect_err("taken");
    assert!(matches!(&error.cause, Cause::System(cause) if cause.kind() == ErrorKind::AddrInUse), "{error}");
}
