//! With a key a datagram is known by its code: an observer who sees or keeps the others of a session is not answered.

use std::net::{SocketAddr, UdpSocket};

use endpoint::reflector::permit::{Permit, Permits};
use endpoint::reflector::{Settings, sessions::Together};
use measure::method::{Carrier, Direction as Ways, Pattern};
use protocol::bulk::{Mark, Numbering};
use protocol::native::header::{Flags, Header, LENGTH, STAMPED_LENGTH, Token};
use protocol::native::key::Key;
use protocol::native::limits::Limits;
use protocol::native::mac::{DatagramKey, Direction, Mac};
use protocol::native::message::{Open, capability};
use protocol::native::preamble::{Data, DataAnswer, DataRefusal};
use protocol::native::stream::{Ask, Numbers};
use test_case::test_case;

use crate::reflector::{settings, with_settings};
use testbed::client::{self, Session, asked, is_silent, udp};

fn key() -> Key {
    Key([7; 32])
}

fn keyed() -> Settings {
    let permits = Permits::keyed(vec![(key(), Permit::within(Limits::default()))]);
    Settings { permits, together: Together::default(), ..settings() }
}

fn open(authenticated: bool) -> Open {
    let capabilities = if authenticated { vec![capability::DATAGRAM_AUTH.to_owned()] } else { vec![] };
    Open { capabilities: capabilities.into_iter().collect(), flows: 2, stamps: true, ..client::open(Carrier::Udp) }
}

/// Runs `body` with a session of two flows over UDP, its reflector's address, and a socket whose flow the reflector knows.
fn with_session(authenticated: bool, body: impl FnOnce(Session, &UdpSocket)) {
    with_settings(keyed(), |address, _| {
        let session = Session::by_key(address, open(authenticated), Some(key())).unwrap();
        assert_eq!(session.mac().is_some(), authenticated);
        let socket = udp(address);
        let hello = session.request(u64::MAX, Flags::WARM_UP, 64, 64);
        assert_eq!(asked(&socket, &hello).len(), 64);
        body(session, &socket);
    });
}

/// Forgery by an observer, made from request 5 of a session.
type Attack = fn(&mut Vec<u8>, &Session);

const ANOTHER_NUMBER: Attack = |seen, _| seen[23] = 6;
const ANOTHER_LENGTH_ASKED: Attack = |seen, _| seen[31] = 40;
const OTHER_FLAGS: Attack = |seen, _| seen[25] = Flags::WARM_UP.0;
const LONGER: Attack = |seen, _| seen.truncate(60);
const THE_TOKEN_IN_THE_CLEAR: Attack = |seen, session| {
    Header { token: session.token(), seq: 6, flags: Flags::NONE, flow: 0, word: 64 }.write(seen);
};
const A_REPLY_SENT_BACK: Attack = |seen, session| {
    seen[23] = 6;
    if let Some(mac) = session.mac() {
        mac.seal(seen, Direction::Back);
    }
};
const ANOTHER_KEY: Attack = |seen, session| {
    seen[23] = 6;
    if session.mac().is_some() {
        Mac::new(&DatagramKey([1; 16])).seal(seen, Direction::There);
    }
};
const AGAIN: Attack = |_, _| ();

#[test_case(ANOTHER_NUMBER, 1, 0; "another number")]
#[test_case(ANOTHER_LENGTH_ASKED, 1, 0; "another length asked for")]
#[test_case(OTHER_FLAGS, 1, 0; "other flags")]
#[test_case(LONGER, 1, 0; "another length")]
#[test_case(THE_TOKEN_IN_THE_CLEAR, 1, 0; "the token in the clear")]
#[test_case(A_REPLY_SENT_BACK, 1, 0; "a reply sent back")]
#[test_case(ANOTHER_KEY, 1, 0; "the code of another key")]
#[test_case(AGAIN, 0, 1; "the same again")]
fn what_an_observer_sends_is_answered_without_codes_alone(attack: Attack, malformed: u64, again: u64) {
    for authenticated in [false, true] {
        with_session(authenticated, |session, socket| {
            let mut seen = session.request(5, Flags::NONE, 64, 64);
            let reply = asked(socket, &seen);
            assert_eq!(reply[..8], session.token().0[..8], "the session is named");
            assert_eq!(reply[8..16] == session.token().0[8..], !authenticated, "its token is told");
            attack(&mut seen, &session);
            // As the observer would with the client's address and port: the flow's own socket takes it.
            socket.send(&seen).unwrap();
            let next = asked(socket, &session.request(7, Flags::NONE, 64, 64));
            let answered = Header::read(&next).unwrap().seq != 7;
            assert_eq!(answered, !authenticated, "was it answered?");
            if answered {
                // The reply to 7 is behind it: all has been taken when the session is closed.
                socket.recv(&mut [0; 64]).unwrap();
            }
            assert!(is_silent(socket));
            let report = session.close();
            if authenticated {
                assert_eq!((report.malformed, report.again.clone()), (malformed, Some(vec![again, 0])), "{report:?}");
                assert_eq!(
                    (report.received.clone(), report.replied.clone()),
                    (vec![3 + again, 0], vec![3, 0]),
                    "{report:?}"
                );
            }
        });
    }
}

#[test]
fn what_came_before_the_first_request_or_long_ago_is_not_answered_again() {
    with_session(true, |session, socket| {
        let warm_up = session.request(1, Flags::WARM_UP, 64, 64);
        assert_eq!(asked(socket, &warm_up).len(), 64);
        let silent = session.request(2, Flags::SILENT, 64, 64);
        socket.send(&silent).unwrap();
        assert_eq!(asked(socket, &session.request(200_000, Flags::NONE, 64, 64)).len(), 64);
        for kept in [session.request(u64::MAX, Flags::WARM_UP, 64, 64), warm_up, silent] {
            socket.send(&kept).unwrap();
        }
        let next = asked(socket, &session.request(200_001, Flags::NONE, 64, 64));
        assert_eq!(Header::read(&next).unwrap().seq, 200_001);
        let report = session.close();
        assert_eq!((report.received, report.malformed), (vec![5, 0], 3));
    });
}

#[test]
fn no_flow_begins_by_a_datagram_without_a_code() {
    for authenticated in [false, true] {
        with_session(authenticated, |session, socket| {
            let address = session.address;
            let mut forged = session.request(0, Flags::NONE, 64, 64);
            forged[27] = 1;
            let thief = udp(address);
            thief.send(&forged).unwrap();
            if !authenticated {
                assert_eq!(thief.recv(&mut [0; 64]).unwrap(), 64, "flow 1 is the thief's");
                return;
            }
            // The shared socket takes first datagrams one after the other: the client's own comes behind it, and gets the flow.
            let mut first = session.request(0, Flags::NONE, 64, 64);
            Header { token: session.token(), seq: 0, flags: Flags::NONE, flow: 1, word: 64 }.write(&mut first);
            session.mac().unwrap().seal(&mut first, Direction::There);
            assert_eq!(asked(&udp(address), &first).len(), 64);
            assert!(is_silent(&thief) && is_silent(socket));
            assert_eq!(session.close().malformed, 1);
        });
    }
}

#[test]
fn the_stamps_of_a_reply_are_under_its_code() {
    with_session(true, |session, socket| {
        let mac = session.mac().unwrap();
        assert_eq!(asked(socket, &session.request(0, Flags::ANNOUNCE, 64, 64)).len(), 64);
        let reply = asked(socket, &session.request(1, Flags::STAMPED, 64, 64));
        assert!(mac.holds(&reply, Direction::Back));
        for octet in LENGTH..STAMPED_LENGTH {
            let mut wrong = reply.clone();
            wrong[octet] ^= 1;
            assert!(!mac.holds(&wrong, Direction::Back), "octet {octet}");
        }
    });
}

fn streams(direction: Ways) -> Open {
    Open {
        pattern: Pattern::Stream,
        stream: Some(Box::new(Ask { direction, bytes: Some(measure::unit::Bytes(64)), ..Ask::default() })),
        flows: 1,
        ..open(true)
    }
}

fn greeting(session: &Session, seq: u64, flags: Flags) -> Vec<u8> {
    session.request(seq, flags, 0, 32)
}

#[test]
fn a_source_starts_by_an_authentic_word_alone_and_what_it_sends_has_codes() {
    with_settings(keyed(), |address, _| {
        let session = Session::by_key(address, streams(Ways::Receive), Some(key())).unwrap();
        let (socket, mac) = (udp(address), session.mac().unwrap());
        let answer = asked(&socket, &greeting(&session, 0, Flags::WARM_UP));
        assert!(mac.holds(&answer, Direction::Back));
        let drawn = Header::read(&answer).unwrap().seq;
        // A recorded greeting sent again, and one forged by an observer who saw the answer.
        socket.send(&greeting(&session, 0, Flags::WARM_UP)).unwrap();
        let mut forged = greeting(&session, drawn, Flags::START);
        forged[8] ^= 1;
        socket.send(&forged).unwrap();
        let numbers = Numbers::new(&session.token(), 0).authenticated(Some(mac), Direction::There);
        let first = asked(&socket, &greeting(&session, drawn, Flags::START));
        assert!(matches!(numbers.read(&first), Some(Mark::Data { number: 1, .. })), "{first:?}");
        assert_ne!(first[..4], session.token().0[..4]);
        let mut wrong = first.clone();
        wrong[15] ^= 1;
        assert_eq!(numbers.read(&wrong), None, "another number");
        assert_eq!(session.close().malformed, 2);
    });
}

#[test]
fn a_sink_counts_what_is_authentic_alone() {
    with_settings(keyed(), |address, _| {
        let session = Session::by_key(address, streams(Ways::Send), Some(key())).unwrap();
        let (socket, mac) = (udp(address), session.mac().unwrap());
        assert!(mac.holds(&asked(&socket, &greeting(&session, 0, Flags::WARM_UP)), Direction::Back));
        let numbers = Numbers::new(&session.token(), 0);
        let ours = numbers.authenticated(Some(mac), Direction::There);
        let datagram = |numbers: Numbers, number| {
            let mut datagram = vec![0; 64];
            numbers.write(&mut datagram, number, measure::unit::Nanos(9));
            datagram
        };
        let sent_back = numbers.authenticated(Some(mac), Direction::Back);
        for sent in [datagram(ours, 1), datagram(numbers, 2), datagram(sent_back, 2), datagram(ours, 2)] {
            socket.send(&sent).unwrap();
        }
        // A forged end does not end it.
        socket.send(&numbers.last(2, measure::unit::Nanos(9))).unwrap();
        let end = asked(&socket, &ours.last(2, measure::unit::Nanos(9)));
        assert!(matches!(ours.read(&end), Some(Mark::Last { count: 2, .. })), "{end:?}");
        let report = session.close();
        let told = report.streams.unwrap()[0].stream.datagrams.unwrap();
        assert_eq!((told.received, told.lost, told.foreign), (2, 0, 3), "{told:?}");
    });
}

#[test]
fn a_token_is_of_no_use_at_another_address() {
    with_settings(settings(), |address, _| {
        let session = Session::open(address, client::open(Carrier::Tcp)).unwrap();
        let data = Data { version: 1, token: session.token(), flow: 0 };
        assert_eq!(from_elsewhere(address, data), DataAnswer::Refused(DataRefusal::UnknownToken));
        assert!(session.data(0).is_ok(), "the flow is not taken");
        assert_eq!(
            client::data(address, Data { token: Token([0; 16]), ..data }).unwrap_err(),
            DataAnswer::Refused(DataRefusal::UnknownToken)
        );
    });
}

/// Answer to a data connection with this preamble that comes from 127.0.0.99.
fn from_elsewhere(address: SocketAddr, preamble: Data) -> DataAnswer {
    use std::io::{Read, Write};
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, 99], 0)).into()).unwrap();
    socket.connect(&address.into()).unwrap();
    socket.set_read_timeout(Some(client::PATIENCE)).unwrap();
    let mut answer = [0];
    (&socket).write_all(&preamble.encode()).unwrap();
    (&socket).read_exact(&mut answer).unwrap();
    DataAnswer::from_code(answer[0])
}
