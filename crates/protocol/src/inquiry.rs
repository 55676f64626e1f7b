//! Recognition of the program at a port: one harmless question in each protocol, and the conclusion from the answer.
//!
//! No test is started and no session left behind: each question is one message, and the connection is closed after the answer.
//! A TCP question is asked in one protocol. A UDP question is one for all: its 44 octets are at once a message of sockperf
//! that wants an answer, an unauthenticated STAMP packet, and a message that an echo service gives back.
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
//! Programs at work get the question that their protocol allows before any login: `PING`, `version`, `HEAD /`, a TLS
//! hello, STATUS of DNS, the time, `ApiVersions`, OPTIONS of SIP, or nothing where they speak first. HTTP within TLS
//! takes a handshake before its `HEAD /` (`endpoint::reach`). At an unknown port a silent program gets our own preamble
//! first, whose line end makes servers of lines answer; the answer may be worth one more question ([`further`]). Some
//! ports get no octet at all ([`left_alone`]).
//!
//! Not here: sockets and how long is waited (`endpoint::reach`).

mod greeting;
mod hello;

use measure::reach::{Service, Transport};

use crate::application::dns::Question;
use crate::application::http::{Expected, Http, Request};
use crate::application::kafka::Kafka;
use crate::application::memcached::Memcached;
use crate::application::mqtt::Mqtt;
use crate::application::redis::Redis;
use crate::application::sip::{self, Options, Sip};
use crate::application::{self, Came, Reply, Speech};
use crate::iperf::ack::Ack;
use crate::iperf::ask::Ask;
use crate::iperf::settings::Amount;
use crate::iperf::time::Stamp;
use crate::iperf3::cookie::{self, Cookie};
use crate::iperf3::state::State;
use crate::native::header::Flags as NativeFlags;
use crate::native::preamble::{Answer, Control, Decline, Versions};
use crate::netperf::system;
use crate::sockperf::message::{self, Flags, Header};
use crate::wire::Wire as _;

pub use greeting::{GREETERS, read as read_greeting};

/// Unpredictable octets, so that an answer is to this question.
pub type Draw = [u8; cookie::LENGTH - 1];

/// Octets of the UDP question.
pub const DATAGRAM: usize = 44;
/// Octets of an answer that are looked at: no more than a netserver's message.
pub const LONGEST_ANSWER: usize = 1_024;
/// The same of an answer whose end is a mark in it: the head of a response, a greeting that names a whole cluster.
pub const LONGEST_HEAD: usize = 32 << 10;

/// Conclusion from the octets of an answer so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// A program that is known.
    Known {
        /// The program's protocol.
        service: Service,
        /// Further information in its answer; absent where the answer shows only that it is there.
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
        (Service::Http, Transport::Tcp) => Some(application::http::PROTOCOL.port),
        (Service::Https, Transport::Tcp) => Some(application::http::SECURE.port),
        (Service::Mysql, Transport::Tcp) => Some(application::mysql::PROTOCOL.port),
        (Service::Kafka, Transport::Tcp) => Some(application::kafka::PROTOCOL.port),
        (Service::Ssh, Transport::Tcp) => Some(22),
        (Service::Dns, _) => Some(application::dns::PROTOCOL.port),
        (Service::Ntp, Transport::Udp) => Some(application::ntp::PROTOCOL.port),
        (Service::Sip, Transport::Udp) => Some(sip::PROTOCOL.port),
        (_, Transport::Udp) | (Service::Stamp | Service::Ntp | Service::Sip | Service::Tls, Transport::Tcp) => None,
    }
}

/// Further TCP ports at which a program usually is.
pub const ALSO_USUAL: [(u16, Service); 13] = [
    (8_000, Service::Http),
    (8_008, Service::Http),
    (8_080, Service::Http),
    (465, Service::Tls),
    (636, Service::Tls),
    (853, Service::Tls),
    (993, Service::Tls),
    (995, Service::Tls),
    (5_671, Service::Tls),
    (6_380, Service::Tls),
    (6_697, Service::Tls),
    (8_443, Service::Https),
    (8_883, Service::Tls),
];

/// Ports at which any octet may do harm, and the harm: there nobody is asked who was not named by the user.
pub fn left_alone(port: u16) -> Option<&'static str> {
    Some(match port {
        25 | 587 => "a mail server turns away who speaks before its greeting",
        515 | 9_100..=9_107 => "a printer prints what it gets",
        102 | 502 | 1_911 | 2_404 | 4_911 | 20_000 | 44_818 => "a control system may be there",
        _ => return None,
    })
}

/// Programs that are asked for over TCP where any may be there, in this order. sockperf first: a server of it that is stopped by
/// another question would be a poor guest's fault.
pub const ANYBODY: [Service; 6] =
    [Service::Sockperf, Service::Sonde, Service::Iperf3, Service::Netserver, Service::Iperf, Service::Echo];

/// Programs that answer the one question over UDP.
pub const DATAGRAM_SERVICES: [Service; 3] = [Service::Sockperf, Service::Stamp, Service::Echo];

/// The host and the port that are asked, for protocols whose questions name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The host as the user named it.
    pub host: &'a str,
    /// The port.
    pub port: u16,
}

impl Place<'_> {
    /// The place as a URL has it, whose protocol is usually at one of these ports.
    fn written(self, usual: &[u16]) -> String {
        let host = self.host.split('%').next().unwrap_or_default();
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        if usual.contains(&self.port) { host } else { format!("{host}:{}", self.port) }
    }
}

/// The request of HTTP that touches a program least: the head of its root, without a body.
///
/// `None` where the host has a name that no request can say.
pub fn head_request(place: Place<'_>) -> Option<Http> {
    let request = Request {
        method: "HEAD".into(),
        host: place.written(&[application::http::PROTOCOL.port, application::http::SECURE.port]),
        target: "/".into(),
        fields: Vec::new(),
        body: Vec::new(),
        agent: "sonde".into(),
    };
    Http::new(&request, Expected::Any).ok()
}

/// The last octets to a program that spoke first and got no question: OpenSSH logs an error of a client that goes without its version.
pub fn farewell(service: Service) -> &'static [u8] {
    if service == Service::Ssh { b"SSH-2.0-sonde\r\n" } else { b"" }
}

/// The program that may have answered our own preamble so: a connection more is worth while to ask for it.
pub fn further(answer: &[u8]) -> Option<Service> {
    // A server of HTTP refuses in clear also where it wants TLS; of TLS come an alert or an end.
    let secure = answer.is_empty() || answer.starts_with(&[21, 3]);
    match () {
        () if answer.starts_with(b"HTTP/1.") => Some(Service::Https),
        () if secure => Some(Service::Tls),
        () if answer.starts_with(b"ERROR") => Some(Service::Memcached),
        () if [&b"-ERR unknown command"[..], b"-NOAUTH", b"-DENIED"].iter().any(|words| answer.starts_with(words)) => {
            Some(Service::Redis)
        }
        () => None,
    }
}

/// Returns the first octets of a connection that looks for `service`; `None` for one that has no TCP.
pub fn over_tcp(service: Service, place: Place<'_>, draw: Draw) -> Option<Vec<u8>> {
    Some(match service {
        Service::Sonde => Control { versions: Versions::OURS, keyed: None }.encode().to_vec(),
        Service::Netserver => system::question(),
        Service::Sockperf => one_datagram(draw).to_vec(),
        Service::Iperf3 => Cookie::random(draw).octets().to_vec(),
        Service::Iperf => Ask { amount: Amount(-1), ..Ask::default() }.first(Stamp::UNSET).encode(),
        Service::Stamp | Service::Ntp | Service::Sip => return None,
        Service::Echo => Cookie::random(draw).octets()[..draw.len()].to_vec(),
        // The short form, which the longest lines of a log leave alone.
        Service::Redis => b"PING\r\n".to_vec(),
        Service::Memcached => Memcached::Version.request(),
        // They speak first.
        Service::Nats | Service::Mysql => Vec::new(),
        // Both ends may send their versions at once (RFC 4253 section 4.2).
        Service::Ssh => farewell(service).to_vec(),
        Service::Http => head_request(place)?.request(),
        // As far as one message goes.
        Service::Tls | Service::Https => hello::question(place.host, draw),
        Service::Dns => {
            let status = numbered(draw);
            [&(status.len() as u16).to_be_bytes()[..], &status].concat()
        }
        Service::Kafka => {
            let mut request = Kafka.request();
            Kafka.mark(&mut request, draw[0].into());
            request
        }
        Service::Mqtt => Mqtt::default().opening().into_owned(),
        Service::Postgres => application::postgres::SSL_REQUEST.to_vec(),
    })
}

/// Reads the `answer` to a `question` of [`over_tcp`].
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
        Service::Stamp | Service::Ntp | Service::Sip => Reading::Other,
        Service::Redis => speech(service, &mut Redis, answer),
        Service::Memcached => speech(service, &mut Memcached::Version, answer),
        Service::Nats | Service::Mysql | Service::Ssh => greeting::one(service, answer),
        Service::Http => match head_request(Place { host: "", port: 80 }) {
            Some(mut http) => speech(service, &mut http, answer),
            None => Reading::Other,
        },
        Service::Tls | Service::Https => hello::read(answer),
        Service::Dns => match answer {
            [high, low, message @ ..] => {
                let length = usize::from(u16::from_be_bytes([*high, *low]));
                match message.get(..length) {
                    Some(message) => dns(question.get(2..).unwrap_or_default(), message),
                    None if length > LONGEST_ANSWER => Reading::Other,
                    None => Reading::Unfinished,
                }
            }
            _ => Reading::Unfinished,
        },
        Service::Kafka => speech(service, &mut Kafka, answer),
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
        // An answer has the name that everybody expects; the fault for which it is no answer is reported.
        Came::Reply(Reply { sound: true, kind, .. }) if speech.kind(kind) != "NOAUTH" => Reading::known(service, None),
        Came::Reply(reply) => Reading::known(service, Some(format!("says {}", speech.kind(reply.kind)))),
        Came::Unsound(_) => Reading::Other,
    }
}

/// A header of DNS that asks for STATUS, with a number that nobody foresees.
fn numbered(draw: Draw) -> Vec<u8> {
    let mut status = Question::status().message().to_vec();
    status[..2].copy_from_slice(&draw[..2]);
    status
}

fn dns(question: &[u8], message: &[u8]) -> Reading {
    let number = question.first_chunk().map(|number| u16::from_be_bytes(*number));
    match Question::status().read(message) {
        Some((given, _)) if Some(given) == number => Reading::known(Service::Dns, None),
        _ => Reading::Other,
    }
}

/// Text of a program: cut, and reduced to letters of ASCII.
fn plain(octets: &[u8]) -> String {
    let shown = |octet: &u8| if octet.is_ascii_graphic() || *octet == b' ' { char::from(*octet) } else { '.' };
    let text: String = octets.iter().take(LONGEST_STATE).map(shown).collect();
    text.trim_end_matches(['.', ' ']).to_owned()
}

/// Octets of a program's words about itself that are kept.
const LONGEST_STATE: usize = 80;

/// Reads on where `octets` begin as `with` does.
fn bounded(octets: &[u8], with: &[u8], read: impl FnOnce(&[u8]) -> Reading) -> Reading {
    match octets.strip_prefix(with) {
        Some(rest) => read(rest),
        None if with.starts_with(octets) => Reading::Unfinished,
        None => Reading::Other,
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

/// The question over UDP to `service`; the one for all where none is named.
pub fn over_udp(service: Option<Service>, place: Place<'_>, draw: Draw) -> Vec<u8> {
    match service {
        Some(Service::Sip) => options(place, draw),
        Some(Service::Dns) => numbered(draw),
        Some(Service::Ntp) => {
            // Nothing known of leap seconds, version 4, a client; its time is a number that nobody foresees (RFC 5905 section 7.3).
            let mut packet = vec![0; application::ntp::LENGTH];
            packet[0] = 0x23;
            packet[NTP_TRANSMIT].copy_from_slice(&draw[..8]);
            packet
        }
        _ => one_datagram(draw).to_vec(),
    }
}

/// OPTIONS of SIP to a place; nothing where no request can say its name.
fn options(place: Place<'_>, draw: Draw) -> Vec<u8> {
    let host = place.written(&[sip::PROTOCOL.port]);
    let Ok(options) = Options::new(&host, None, "sonde") else { return Vec::new() };
    let mut key = [0; 16];
    key.copy_from_slice(&draw[..16]);
    let mut client = Sip::new(&options, key, std::sync::Arc::default());
    let mut request = vec![0; client.length()];
    client.open(&mut request);
    client.prepare(&mut request, 0, NativeFlags::NONE);
    request
}

/// The times of origin and of transmission in a packet of NTP.
const NTP_ORIGIN: std::ops::Range<usize> = 24..32;
const NTP_TRANSMIT: std::ops::Range<usize> = 40..48;

fn ntp(question: &[u8], answer: &[u8]) -> Reading {
    let [first, stratum, ..] = answer else { return Reading::Other };
    let is_ours = answer.len() >= application::ntp::LENGTH && answer.get(NTP_ORIGIN) == question.get(NTP_TRANSMIT);
    if !is_ours || first & 7 != 4 {
        return Reading::Other;
    }
    let state = match (stratum, answer.get(12..16)) {
        // A kiss of death (section 7.4).
        (0, Some(word)) => format!("says {}", plain(word)),
        _ => format!("stratum {stratum}"),
    };
    Reading::known(Service::Ntp, Some(state))
}

fn one_datagram(draw: Draw) -> [u8; DATAGRAM] {
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

/// The finding of a datagram that came in answer to `question` to `service`.
pub fn read_udp(service: Option<Service>, question: &[u8], answer: &[u8]) -> Reading {
    match service {
        Some(Service::Dns) => return dns(question, answer),
        Some(Service::Ntp) => return ntp(question, answer),
        Some(Service::Sip) => {
            let told = |status| if status == 200 { None } else { Some(format!("says {status}")) };
            let status = sip::status_of(question, answer);
            return status.map_or(Reading::Other, |status| Reading::known(Service::Sip, told(status)));
        }
        _ => {}
    }
    let mut pong = question.to_vec();
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
    const PLACE: Place<'static> = Place { host: "db1", port: 8_080 };

    fn known(service: Service, state: Option<&str>) -> Reading {
        Reading::known(service, state.map(str::to_owned))
    }

    fn asked(service: Service) -> Vec<u8> {
        over_tcp(service, PLACE, DRAW).unwrap()
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
        let question = over_udp(None, PLACE, DRAW);
        assert!(question[0] & 0x80 != 0 && question[14..] == [0; 30]);
        let header = Header::read(&question).unwrap();
        assert_eq!((header.length, header.flags), (44, Flags::CLIENT.with(Flags::PONG_REQUEST)));
        let mut pong = question.clone();
        message::answer(&mut pong);
        assert_eq!(read_udp(None, &question, &pong), known(Service::Sockperf, None));
        assert_eq!(read_udp(None, &question, &question), known(Service::Echo, None));
        // RFC 8762 section 4.3.1, figure 4: number, times, and from octet 24 the content of the sender's packet.
        let mut stamp = vec![0x11; 44];
        stamp[24..38].copy_from_slice(&question[..14]);
        assert_eq!(read_udp(None, &question, &stamp), known(Service::Stamp, None));
        assert_eq!(read_udp(None, &question, &stamp[..41]), known(Service::Stamp, None), "TWAMP Light");
        for nothing in [&stamp[..40], &[], &[0; 44], &pong[..43]] {
            assert_eq!(read_udp(None, &question, nothing), Reading::Other);
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
        assert_eq!([Service::Stamp, Service::Ntp].map(|service| over_tcp(service, PLACE, DRAW)), [None, None]);
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
    #[test_case(Service::Http, b"HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Length: 612\r\n\r\n", None; "http")]
    #[test_case(Service::Http, b"HTTP/1.1 503 Service Unavailable\r\n\r\n", Some("says 503"); "http that does nothing")]
    #[test_case(Service::Dns, b"\0\x0c\x5a\x5a\x90\x04\0\0\0\0\0\0\0\0", None; "dns")]
    #[test_case(Service::Kafka, b"\0\0\0\x10\0\0\0\x5a\0\0\0\0\0\x01\0\x12\0\0\0\x03", None; "kafka")]
    #[test_case(Service::Ssh, b"SSH-2.0-OpenSSH_9.2p1\r\n", Some("OpenSSH_9.2p1"); "ssh")]
    #[test_case(Service::Mysql, b"\x0b\0\0\0\x0a8.0.36\0\x01\0\0", Some("8.0.36"); "mysql")]
    fn programs_at_work_are_known_by_their_first_answer(service: Service, answer: &[u8], state: Option<&str>) {
        let question = asked(service);
        for cut in 0..answer.len() {
            assert_eq!(read_tcp(service, &question, &answer[..cut]), Reading::Unfinished, "{cut}");
        }
        assert_eq!(read_tcp(service, &question, answer), known(service, state));
        assert_eq!(read_tcp(service, &question, b"\x7fanything else of any length\r\n"), Reading::Other);
    }

    #[test]
    fn a_head_is_asked_of_the_host_that_was_named() {
        let asked =
            |host, port| String::from_utf8(over_tcp(Service::Http, Place { host, port }, DRAW).unwrap()).unwrap();
        assert_eq!(asked("db1", 8_080), "HEAD / HTTP/1.1\r\nHost: db1:8080\r\nUser-Agent: sonde\r\n\r\n");
        assert!(asked("fe80::1%eth0", 80).contains("\r\nHost: [fe80::1]\r\n"));
        assert_eq!(over_tcp(Service::Http, Place { host: "a\r\nb", port: 80 }, DRAW), None);
    }

    #[test]
    fn names_and_time_are_asked_by_a_datagram() {
        let status = over_udp(Some(Service::Dns), PLACE, DRAW);
        assert_eq!(status, b"\x5a\x5a\x10\0\0\0\0\0\0\0\0\0");
        let answer = b"\x5a\x5a\x90\x04\0\0\0\0\0\0\0\0";
        assert_eq!(read_udp(Some(Service::Dns), &status, answer), known(Service::Dns, None));
        assert_eq!(read_udp(Some(Service::Dns), b"\x5a\x5b\x10\0\0\0\0\0\0\0\0\0", answer), Reading::Other);
        let time = over_udp(Some(Service::Ntp), PLACE, DRAW);
        assert_eq!((time.len(), time[0], &time[40..]), (48, 0x23, &DRAW[..8]));
        let mut answer = vec![0x24, 2, 0, 0xE7];
        answer.resize(48, 1);
        answer[24..32].copy_from_slice(&DRAW[..8]);
        assert_eq!(read_udp(Some(Service::Ntp), &time, &answer), known(Service::Ntp, Some("stratum 2")));
        for cut in 0..answer.len() {
            assert_eq!(read_udp(Some(Service::Ntp), &time, &answer[..cut]), Reading::Other, "{cut}");
        }
        answer[1] = 0;
        answer[12..16].copy_from_slice(b"RATE");
        assert_eq!(read_udp(Some(Service::Ntp), &time, &answer), known(Service::Ntp, Some("says RATE")));
    }

    #[test]
    fn a_telephone_is_asked_what_it_can_do() {
        let options = over_udp(Some(Service::Sip), PLACE, DRAW);
        let text = String::from_utf8(options.clone()).unwrap();
        assert!(text.starts_with("OPTIONS sip:db1:8080 SIP/2.0\r\n") && text.ends_with("\r\n\r\n"), "{text}");
        let fields: String = text.lines().skip(1).take(5).flat_map(|line| [line, "\r\n"]).collect();
        let answer = |status: &str| format!("SIP/2.0 {status}\r\n{fields}Content-Length: 0\r\n\r\n");
        let read = |answer: &str| read_udp(Some(Service::Sip), &options, answer.as_bytes());
        assert_eq!(read(&answer("200 OK")), known(Service::Sip, None));
        assert_eq!(read(&answer("404 Not Found")), known(Service::Sip, Some("says 404")));
        assert_eq!(read(&answer("200 OK").replace("tag=", "tag=x")), Reading::Other, "of somebody else's call");
        assert_eq!(read(&text), Reading::Other, "an echo");
        assert_eq!(over_udp(Some(Service::Sip), Place { host: "a b", port: 1 }, DRAW), b"");
    }

    #[test]
    fn an_answer_to_our_own_question_leads_further() {
        let of = |answer: &[u8]| further(answer);
        assert_eq!(of(b"-ERR unknown command 'sonde'"), Some(Service::Redis));
        assert_eq!(of(b"-NOAUTH Authentication required.\r\n"), Some(Service::Redis));
        assert_eq!(of(b"ERROR\r\n"), Some(Service::Memcached));
        assert_eq!([of(b""), of(&[21, 3, 3])], [Some(Service::Tls); 2]);
        assert_eq!(of(b"HTTP/1.1 400 Bad"), Some(Service::Https));
        assert_eq!(of(b"500 unknown"), None);
    }

    #[test]
    fn ports_where_octets_do_harm_are_nobody_s_usual_ones() {
        for port in 1..=u16::MAX {
            let usual = |service: &Service| usual_port(*service, Transport::Tcp) == Some(port);
            let known = Service::ALL.iter().any(usual) || ALSO_USUAL.iter().any(|(also, _)| *also == port);
            assert!(left_alone(port).is_none() || !known, "{port}");
        }
        assert!([25, 9_100, 502].iter().all(|port| left_alone(*port).is_some()));
    }

    /// A message of sockperf whose length makes 3.10 wait for ever at full load: less than its header.
    #[test]
    fn no_other_question_stalls_a_sockperf_server() {
        // Others are asked where they usually are, or are said to be.
        for service in ANYBODY.into_iter().chain([Service::Tls, Service::Memcached, Service::Redis]) {
            let Some(question) = over_tcp(service, PLACE, DRAW) else { continue };
            let Some(length) = Header::read(&question).map(|header| header.length) else { continue };
            assert!(length > message::LARGEST_DATAGRAM || service == Service::Sockperf, "{service}: {length}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(draw: Draw, answer in prop::collection::vec(any::<u8>(), 0..800)) {
            read_greeting(&answer);
            further(&answer);
            for service in Service::ALL {
                let question = over_tcp(service, PLACE, draw).unwrap_or_default();
                read_tcp(service, &question, &answer);
                read_udp(Some(service), &over_udp(Some(service), PLACE, draw), &answer);
            }
        }
    }
}
