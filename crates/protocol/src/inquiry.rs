//! Which program answers at a port: one harmless question in each protocol, and what the answer shows.
//!
//! No test is started and no session left behind: each question is one message, and the connection is closed after the answer.
//! A TCP question is asked in one protocol. A UDP question is one for all: its 44 octets are at once a message of sockperf
//! that wants an answer, an unauthenticated STAMP packet, and what an echo service gives back.
//!
//! | octets | sockperf reads | STAMP reads (RFC 8762 section 4.2.1) | iperf 2 reads |
//! |---|---|---|---|
//! | 0-3 | sequence number | sequence number | a negative number: the end of a test that it has not, passed over |
//! | 4-7 | the same | time, seconds | |
//! | 8-9 | flags: a client's, answer wanted | time, fraction | |
//! | 10-11 | length | the same | |
//! | 12-13 | length: 44 | error estimate | |
//! | 14-43 | payload | must be zero | no flags that have a meaning |
//!
//! A server of iperf 2 over UDP and a reflector of ours answer no stranger over UDP; seen with iperf 2.1.8.
//!
//! Not here: sockets and how long is waited (`endpoint::reach`).

use measure::reach::{Service, Transport};

use crate::application::memcached::Memcached;
use crate::application::mqtt::Mqtt;
use crate::application::nats::Nats;
use crate::application::redis::Redis;
use crate::application::{self, Came, Reply, Speech};
use crate::iperf::ack::Ack;
use crate::iperf::ask::Ask;
use crate::iperf::settings::Amount;
use crate::iperf::time::Stamp;
use crate::iperf3::cookie::{self, Cookie};
use crate::iperf3::state::State;
use crate::native::preamble::{Answer, Control, Decline, Versions};
use crate::netperf::system;
use crate::sockperf::message::{self, Flags, Header};

/// Unpredictable octets, so that an answer is to this question.
pub type Draw = [u8; cookie::LENGTH - 1];

/// Octets of the UDP question.
pub const DATAGRAM: usize = 44;
/// Octets of an answer that are looked at: no more than a netserver's message.
pub const LONGEST_ANSWER: usize = 1_024;

/// What the octets of an answer so far show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// A program that is known.
    Known {
        /// Which.
        service: Service,
        /// What it says of itself, where that is more than that it is there.
        state: Option<String>,
    },
    /// None of those asked.
    Other,
    /// More has to come before it shows.
    Unfinished,
}

impl Reading {
    fn known(service: Service, state: Option<String>) -> Self {
        Self::Known { service, state }
    }
}

/// Where a program usually is. An iperf 2 server and our own reflector answer no stranger over UDP, and iperf3 listens there only in
/// a test, which a stray datagram would spoil.
pub const fn usual_port(service: Service, over: Transport) -> Option<u16> {
    match (service, over) {
        (Service::Sockperf, _) => Some(crate::sockperf::PORT),
        (Service::Echo, _) => Some(crate::echo::PORT),
        (Service::Sonde, Transport::Tcp) => Some(crate::native::PORT),
        (Service::Netserver, Transport::Tcp) => Some(crate::netperf::PORT),
        (Service::Iperf3, Transport::Tcp) => Some(crate::iperf3::PORT),
        (Service::Iperf, Transport::Tcp) => Some(crate::iperf::PORT),
        (Service::Stamp, Transport::Udp) => Some(crate::stamp::PORT),
        (Service::Redis, Transport::Tcp) => Some(application::redis::PROTOCOL.port),
        (Service::Memcached, Transport::Tcp) => Some(application::memcached::PROTOCOL.port),
        (Service::Nats, Transport::Tcp) => Some(application::nats::PROTOCOL.port),
        (Service::Mqtt, Transport::Tcp) => Some(application::mqtt::PROTOCOL.port),
        (Service::Postgres, Transport::Tcp) => Some(application::postgres::PROTOCOL.port),
        (_, Transport::Udp) | (Service::Stamp, Transport::Tcp) => None,
    }
}

/// Programs that are asked for over TCP where any may be there, in this order. sockperf first: a server of it that is stopped by
/// another question would be a poor guest's fault.
pub const ANYBODY: [Service; 6] =
    [Service::Sockperf, Service::Sonde, Service::Iperf3, Service::Netserver, Service::Iperf, Service::Echo];

/// What a connection is opened with to find `service`; `None` for one that has no TCP.
pub fn over_tcp(service: Service, draw: Draw) -> Option<Vec<u8>> {
    Some(match service {
        Service::Sonde => Control { versions: Versions::OURS, keyed: None }.encode().to_vec(),
        Service::Netserver => system::question(),
        Service::Sockperf => over_udp(draw).to_vec(),
        Service::Iperf3 => Cookie::random(draw).octets().to_vec(),
        Service::Iperf => Ask { amount: Amount(-1), ..Ask::default() }.first(Stamp::UNSET).encode(),
        Service::Stamp => return None,
        Service::Echo => Cookie::random(draw).octets()[..draw.len()].to_vec(),
        // The short form, which the longest lines of a log leave alone.
        Service::Redis => b"PING\r\n".to_vec(),
        Service::Memcached => Memcached::Version.request(),
        // It speaks first.
        Service::Nats => Vec::new(),
        Service::Mqtt => Mqtt::default().opening().into_owned(),
        Service::Postgres => application::postgres::SSL_REQUEST.to_vec(),
    })
}

/// What `answer` to a `question` of [`over_tcp`] shows.
pub fn read_tcp(service: Service, question: &[u8], answer: &[u8]) -> Reading {
    match service {
        Service::Sonde => match Answer::read(answer) {
            Ok(Some((answer, _))) => Reading::known(service, sonde(&answer)),
            Ok(None) => Reading::Unfinished,
            Err(_) => Reading::Other,
        },
        Service::Netserver => match system::is_answer(answer) {
            Some(true) => Reading::known(service, None),
            Some(false) => Reading::Other,
            None => Reading::Unfinished,
        },
        Service::Iperf3 => match answer.first().map(|octet| State::of(*octet)) {
            None => Reading::Unfinished,
            Some(Some(State::ParamExchange)) => Reading::known(service, None),
            Some(Some(State::AccessDenied)) => Reading::known(service, Some("busy".into())),
            Some(Some(State::ServerError)) => Reading::known(service, Some("reports an error".into())),
            Some(_) => Reading::Other,
        },
        Service::Iperf => match Ack::read(answer) {
            Ok(Some((ack, _))) => {
                let [major, minor, patch] = ack.version.numbers();
                Reading::known(service, Some(format!("{major}.{minor}.{patch}")))
            }
            Ok(None) => Reading::Unfinished,
            Err(_) => Reading::Other,
        },
        Service::Sockperf => {
            let mut expected = question.to_vec();
            message::answer(&mut expected);
            prefix(service, &expected, answer)
        }
        Service::Echo => prefix(service, question, answer),
        Service::Stamp => Reading::Other,
        Service::Redis => speech(service, &mut Redis, answer),
        Service::Memcached => speech(service, &mut Memcached::Version, answer),
        Service::Nats => speech(service, &mut Nats::default(), answer),
        Service::Mqtt => speech(service, &mut Mqtt::default(), answer),
        Service::Postgres => match answer.first() {
            None => Reading::Unfinished,
            Some(b'S') => Reading::known(service, Some("offers TLS".into())),
            Some(b'N') => Reading::known(service, None),
            Some(_) => Reading::Other,
        },
    }
}

/// The first thing that a program at work says, as its protocol is read.
fn speech(service: Service, speech: &mut impl Speech, answer: &[u8]) -> Reading {
    if answer.is_empty() {
        return Reading::Unfinished;
    }
    match speech.take(answer).came {
        Came::Part | Came::Aside => Reading::Unfinished,
        Came::Opened | Came::Secure => Reading::known(service, None),
        Came::Declined(words) => Reading::known(service, Some(words.0)),
        // An answer has the name that everybody expects; what it lacks to be one is told.
        Came::Reply(Reply { sound: true, kind, .. }) if speech.kind(kind) != "NOAUTH" => Reading::known(service, None),
        Came::Reply(reply) => Reading::known(service, Some(format!("says {}", speech.kind(reply.kind)))),
        Came::Unsound(_) => Reading::Other,
    }
}

fn sonde(answer: &Answer) -> Option<String> {
    match answer.verdict {
        Ok(_) => None,
        Err(Decline::KeyRequired) => Some("wants a key".into()),
        Err(_) => Some(format!("speaks {}", answer.versions)),
    }
}

fn prefix(service: Service, expected: &[u8], answer: &[u8]) -> Reading {
    if answer.starts_with(expected) {
        Reading::known(service, None)
    } else if expected.starts_with(answer) {
        Reading::Unfinished
    } else {
        Reading::Other
    }
}

/// The one question over UDP.
pub fn over_udp(draw: Draw) -> [u8; DATAGRAM] {
    let mut datagram = [0; DATAGRAM];
    let mut sequence = [0; 8];
    sequence.copy_from_slice(&draw[..8]);
    // A negative number, as iperf 2 reads it.
    sequence[0] |= 0x80;
    let header = Header {
        sequence: u64::from_be_bytes(sequence),
        flags: Flags::CLIENT.with(Flags::PONG_REQUEST),
        length: DATAGRAM as u32,
    };
    header.write(&mut datagram);
    datagram
}

/// Where a STAMP answer gives back the sender's number, time and error estimate.
const GIVEN_BACK: std::ops::Range<usize> = 24..38;
/// Octets of the shortest STAMP or TWAMP Light answer.
const STAMP_ANSWER: usize = 41;

/// What a datagram that came in answer to `question` shows.
pub fn read_udp(question: &[u8; DATAGRAM], answer: &[u8]) -> Reading {
    let mut pong = *question;
    message::answer(&mut pong);
    if answer == pong {
        Reading::known(Service::Sockperf, None)
    } else if answer == question {
        Reading::known(Service::Echo, None)
    } else if answer.len() >= STAMP_ANSWER && answer.get(GIVEN_BACK) == question.get(..GIVEN_BACK.len()) {
        Reading::known(Service::Stamp, None)
    } else {
        Reading::Other
    }
}

#[cfg(test)]
mod tests {
    use measure::authentication::Authentication;
    use proptest::prelude::*;
    use test_case::test_case;

    use super::*;
    use crate::iperf::settings::Version;
    use crate::native::preamble::Greeting;
    use crate::netperf::answer::Calibration;
    use crate::netperf::server::{Action, Server};

    const DRAW: Draw = [0x5A; 36];

    fn known(service: Service, state: Option<&str>) -> Reading {
        Reading::known(service, state.map(str::to_owned))
    }

    fn asked(service: Service) -> Vec<u8> {
        over_tcp(service, DRAW).unwrap()
    }

    #[test]
    fn our_reflector_says_whether_it_wants_a_key() {
        let question = asked(Service::Sonde);
        let Ok(Some((Greeting::Control(control), _))) = Greeting::read(&question) else { panic!("a greeting") };
        for (accepted, state) in [(&[][..], None), (&[Authentication::PreShared][..], Some("wants a key"))] {
            let answer = Answer::to(control, Versions::OURS, accepted).encode();
            assert_eq!(read_tcp(Service::Sonde, &question, &answer[..9]), Reading::Unfinished);
            assert_eq!(read_tcp(Service::Sonde, &question, &answer), known(Service::Sonde, state));
        }
        let newer = Versions { lowest: 7, highest: 9 };
        let answer = Answer::to(control, newer, &[]).encode();
        assert_eq!(read_tcp(Service::Sonde, &question, &answer), known(Service::Sonde, Some("speaks versions 7 to 9")));
        assert_eq!(read_tcp(Service::Sonde, &question, b"SSH-2.0-any"), Reading::Other);
    }

    #[test]
    fn netserver_is_known_by_its_answer_about_its_system() {
        let question = asked(Service::Netserver);
        let mut server = Server::new(None, Calibration { rate: None, count: 0 });
        let [Action::Answer(answer)] = &server.feed(&question)[..] else { panic!("one answer") };
        assert_eq!(read_tcp(Service::Netserver, &question, answer), known(Service::Netserver, None));
        assert_eq!(read_tcp(Service::Netserver, &question, &answer[..7]), Reading::Unfinished);
        assert_eq!(read_tcp(Service::Netserver, &question, &question), Reading::Other);
    }

    #[test]
    fn iperf3_is_known_also_when_it_is_busy() {
        let reading = |octet| read_tcp(Service::Iperf3, &asked(Service::Iperf3), &[octet]);
        assert_eq!(reading(State::ParamExchange.octet()), known(Service::Iperf3, None));
        assert_eq!(reading(State::AccessDenied.octet()), known(Service::Iperf3, Some("busy")));
        assert_eq!(reading(State::TestStart.octet()), Reading::Other);
        assert_eq!(reading(b'2'), Reading::Other);
    }

    #[test]
    fn iperf_2_tells_its_version() {
        let mut ack = Ack::new(None);
        ack.version = Version { upper: 0x0002_0002, lower: 0x0001_0001 };
        let question = asked(Service::Iperf);
        assert_eq!(question.len(), 60, "as 2.1.8 begins a test");
        assert_eq!(read_tcp(Service::Iperf, &question, &ack.encode()), known(Service::Iperf, Some("2.2.1")));
        assert_eq!(read_tcp(Service::Iperf, &question, &question), Reading::Other);
    }

    #[test]
    fn one_datagram_tells_three_services_apart() {
        let question = over_udp(DRAW);
        assert!(question[0] & 0x80 != 0 && question[14..] == [0; 30]);
        let header = Header::read(&question).unwrap();
        assert_eq!((header.length, header.flags), (44, Flags::CLIENT.with(Flags::PONG_REQUEST)));
        let mut pong = question;
        message::answer(&mut pong);
        assert_eq!(read_udp(&question, &pong), known(Service::Sockperf, None));
        assert_eq!(read_udp(&question, &question), known(Service::Echo, None));
        // RFC 8762 section 4.3.1, figure 4: number, times, and from octet 24 what the sender sent.
        let mut stamp = vec![0x11; 44];
        stamp[24..38].copy_from_slice(&question[..14]);
        assert_eq!(read_udp(&question, &stamp), known(Service::Stamp, None));
        assert_eq!(read_udp(&question, &stamp[..41]), known(Service::Stamp, None), "TWAMP Light");
        for nothing in [&stamp[..40], &[], &[0; 44], &pong[..43]] {
            assert_eq!(read_udp(&question, nothing), Reading::Other);
        }
    }

    #[test]
    fn sockperf_and_echo_answer_over_tcp_in_pieces() {
        for service in [Service::Sockperf, Service::Echo] {
            let question = asked(service);
            let mut answer = question.clone();
            if service == Service::Sockperf {
                message::answer(&mut answer);
            }
            for cut in 0..answer.len() {
                assert_eq!(read_tcp(service, &question, &answer[..cut]), Reading::Unfinished, "{cut}");
            }
            assert_eq!(read_tcp(service, &question, &answer), known(service, None));
        }
        assert_eq!(over_tcp(Service::Stamp, DRAW), None);
    }

    // As redis-server 7.0, memcached 1.6, nats-server 2.9, mosquitto 2.0 and PostgreSQL 15 answer.
    #[test_case(Service::Redis, b"+PONG\r\n", None; "redis")]
    #[test_case(Service::Redis, b"-NOAUTH Authentication required.\r\n", Some("says NOAUTH"); "redis that wants a login")]
    #[test_case(Service::Memcached, b"VERSION 1.6.18\r\n", None; "memcached")]
    #[test_case(Service::Nats, b"INFO {\"version\":\"2.9.10\"}\r\n", None; "nats")]
    #[test_case(Service::Mqtt, &[0x20, 2, 0, 0], None; "mqtt")]
    #[test_case(Service::Mqtt, &[0x20, 2, 0, 5], Some("not authorized"); "mqtt that lets nobody in")]
    #[test_case(Service::Postgres, b"N", None; "postgres")]
    #[test_case(Service::Postgres, b"S", Some("offers TLS"); "postgres with TLS")]
    fn programs_at_work_are_known_by_their_first_answer(service: Service, answer: &[u8], state: Option<&str>) {
        let question = asked(service);
        for cut in 0..answer.len() {
            assert_eq!(read_tcp(service, &question, &answer[..cut]), Reading::Unfinished, "{cut}");
        }
        assert_eq!(read_tcp(service, &question, answer), known(service, state));
        assert_eq!(read_tcp(service, &question, b"HTTP/1.1 400 Bad Request\r\n"), Reading::Other);
    }

    /// A message of sockperf whose length makes 3.10 wait for ever at full load: less than its header.
    #[test]
    fn no_other_question_stalls_a_sockperf_server() {
        for service in Service::ALL {
            let Some(question) = over_tcp(service, DRAW) else { continue };
            let Some(length) = Header::read(&question).map(|header| header.length) else { continue };
            assert!(length > message::LARGEST_DATAGRAM || service == Service::Sockperf, "{service}: {length}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(draw: Draw, answer in prop::collection::vec(any::<u8>(), 0..800)) {
            read_udp(&over_udp(draw), &answer);
            for service in Service::ALL {
                let question = over_tcp(service, draw).unwrap_or_default();
                read_tcp(service, &question, &answer);
            }
        }
    }
}
