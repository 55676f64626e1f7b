//! Programs at work that the prober asks: played on sockets of this host, so that the results are known beforehand.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use endpoint::prober::{Assignment, Prober, Target, Told};
use measure::method::Carrier;
use measure::outcome::replies::Kind;
use measure::prober::CellId;
use measure::unit::Nanos;
use protocol::application::dns::Question;
use protocol::application::http::{Expected, Http, Request};
use protocol::application::redis::Redis;
use protocol::application::talk::Talk;
use protocol::application::{self, Application, Asked};

/// Far above what any of this takes.
const PATIENCE: Duration = Duration::from_mins(1);
const EVERY: Nanos = Nanos::millis(20);

fn redis() -> Application {
    Application::talk(application::of("redis").unwrap(), Talk::Redis(Redis))
}

fn http() -> Application {
    let request = Request {
        method: "GET".into(),
        host: "played".into(),
        target: "/".into(),
        fields: Vec::new(),
        body: Vec::new(),
        agent: "sonde".into(),
    };
    let talk = Talk::Http(Box::new(Http::new(&request, Expected::Any).unwrap()));
    Application::talk(application::of("http").unwrap(), talk)
}

fn dns() -> Application {
    let question = Question::new("a.test", "A").unwrap();
    Application {
        protocol: application::of("dns").unwrap(),
        words: "A a.test".into(),
        asked: Asked::Dns(question),
        mix: None,
        tls: None,
    }
}

/// Plays a server that answers each line, or does not, and ends a connection after `most` replies. Returns its port. It
/// ends with the test.
fn played(most: u64, answer: fn(&str, u64) -> Option<String>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || serve(&stream, most, answer));
        }
    });
    port
}

fn serve(stream: &TcpStream, most: u64, answer: fn(&str, u64) -> Option<String>) {
    let (mut out, mut answered) = (stream, 0);
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let Some(reply) = answer(&line, answered) else { continue };
        answered += 1;
        if out.write_all(reply.as_bytes()).is_err() || answered == most {
            return;
        }
    }
}

fn pong(line: &str, _answered: u64) -> Option<String> {
    let is_number = line.len() == 8 && line.bytes().all(|octet| octet.is_ascii_hexdigit());
    is_number.then(|| format!("$8\r\n{line}\r\n"))
}

/// Busy at each second request.
fn busy(line: &str, answered: u64) -> Option<String> {
    let status = if answered % 2 == 1 { "503 Busy" } else { "200 OK" };
    line.is_empty().then(|| format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n"))
}

/// The last word of a server that says that it ends the connection.
fn closing(line: &str, _answered: u64) -> Option<String> {
    line.is_empty().then(|| "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".to_owned())
}

/// A server that speaks something else.
fn gibberish(line: &str, _answered: u64) -> Option<String> {
    (!line.is_empty()).then(|| "220 mail.test ESMTP\r\n".to_owned())
}

/// A name server that knows no name.
fn names() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    thread::spawn(move || {
        let mut octets = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut octets) {
            // QR, and NXDOMAIN.
            (octets[2], octets[3]) = (octets[2] | 0x80, 3);
            let _gone = socket.send_to(&octets[..length], from);
        }
    });
    port
}

fn asked(all: Vec<(CellId, u16, Application)>, every: Nanos) -> (Prober, Receiver<Told>) {
    let (tell, told) = channel();
    let prober = Prober::start(1, "test", tell).unwrap();
    let target = |port, application| Target {
        host: "127.0.0.1".to_owned(),
        port,
        carrier: Carrier::Tcp,
        every,
        question: Some(Arc::new(application)),
    };
    let cells = all.into_iter().map(|(cell, port, application)| (cell, target(port, application))).collect();
    prober.assign(Assignment { timeout: Nanos::secs(20), credential: None, cells });
    (prober, told)
}

/// The requests of one cell by their ends.
#[derive(Debug, Default)]
struct Sum {
    answered: u64,
    refused: u64,
    /// Lost, corrupt, late or not sent.
    other: u64,
    kinds: BTreeMap<String, u64>,
}

/// Sums of seconds until `enough`.
fn until(told: &Receiver<Told>, enough: impl Fn(&BTreeMap<CellId, Sum>) -> bool) -> BTreeMap<CellId, Sum> {
    let mut sums = BTreeMap::<CellId, Sum>::new();
    while !enough(&sums) {
        let Told::Second { second, programs, .. } = told.recv_timeout(PATIENCE).expect("it goes on") else { continue };
        for (cell, tally) in second.tallies {
            let sum = sums.entry(cell).or_default();
            let answered = tally.times.len() as u64;
            sum.answered += answered;
            sum.refused += tally.refused;
            sum.other += tally.due() - answered - tally.refused;
        }
        for (cell, program) in programs {
            let sum = sums.entry(cell).or_default();
            for (name, Kind { count, .. }) in program.replies {
                *sum.kinds.entry(name).or_default() += count;
            }
        }
    }
    sums
}

#[test]
fn programs_are_asked_beside_each_other_and_their_replies_are_told_by_kind() {
    let never = u64::MAX;
    let all = vec![(0, played(never, pong), redis()), (1, played(never, busy), http()), (2, names(), dns())];
    let (_prober, told) = asked(all, EVERY);
    let sums = until(&told, |sums| sums.len() == 3 && sums.values().all(|sum| sum.answered >= 40));
    let kinds = |cell| sums[&cell].kinds.keys().map(String::as_str).collect::<Vec<_>>();
    assert_eq!((kinds(0), kinds(1), kinds(2)), (vec!["PONG"], vec!["200", "503"], vec!["NXDOMAIN"]));
    assert!(sums[&0].refused == 0 && sums[&2].refused == 0, "NXDOMAIN is an answer: {sums:#?}");
    assert!(sums[&1].refused >= 39, "{sums:#?}");
    assert!(sums.values().all(|sum| sum.other == 0), "{sums:#?}");
}

/// Each connection is good for one reply, as the server says with it: requests that are due or out go over the next.
#[test]
fn a_server_that_ends_connections_and_says_so_loses_nothing() {
    let (_prober, told) = asked(vec![(0, played(5, closing), http())], Nanos::millis(50));
    let sums = until(&told, |sums| sums.get(&0).is_some_and(|sum| sum.answered >= 40));
    assert_eq!((sums[&0].refused, sums[&0].other), (0, 0), "{sums:#?}");
}

#[test]
fn whoever_speaks_something_else_is_told_as_that() {
    let (_prober, told) = asked(vec![(7, played(u64::MAX, gibberish), redis())], EVERY);
    loop {
        let Told::Trouble { cell, error } = told.recv_timeout(PATIENCE).expect("it goes on") else { continue };
        assert_eq!(cell, 7);
        assert!(!error.to_string().is_empty());
        break;
    }
    until(&told, |sums| sums.get(&7).is_some_and(|sum| sum.refused >= 20 && sum.answered == 0));
}
