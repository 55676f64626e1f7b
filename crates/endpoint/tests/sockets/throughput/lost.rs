//! Result of a run that did not go to its end: the user stopped it, the reflector went, hung, or was too old.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use endpoint::clock::Monotonic;
use endpoint::error::hint::Hint;
use endpoint::reflector::Settings;
use endpoint::rtt::Ending;
use endpoint::stop::Stop;
use endpoint::throughput::{self, Task};
use measure::event::Event;
use measure::method::{Carrier, Direction, Pattern};
use measure::unit::{Instant, Nanos};
use protocol::native::error::SessionError;
use protocol::native::header::Token;
use protocol::native::limits::Limits;
use protocol::native::message::{Open, Reason, Refused};
use protocol::native::preamble::{DataAnswer, Versions};
use protocol::native::server::{Server, ServerEvent, Terms};
use test_case::test_case;

use crate::served::{with_reflector, with_settings};
use crate::throughput::{V4, lasting, task};

/// Far longer than any run here would last without its end.
const LONG: Nanos = Nanos::secs(60);
/// Within this it must have ended all the same.
const BOUND: Nanos = Nanos::secs(25);

fn since(begun: Instant) -> Nanos {
    Monotonic::now().since(begun).expect("a clock that does not go back")
}

fn long(carrier: Carrier, direction: Direction, address: SocketAddr) -> Task {
    let asked = lasting(carrier, direction, 2, 1_200, LONG);
    Task { interval: Nanos::millis(50), ..task(&asked, address) }
}

#[test_case(Carrier::Tcp, Direction::Send; "tcp, sent")]
#[test_case(Carrier::Tcp, Direction::Receive; "tcp, received")]
#[test_case(Carrier::Tcp, Direction::Both; "tcp, both ways")]
#[test_case(Carrier::Udp, Direction::Send; "udp, sent")]
#[test_case(Carrier::Udp, Direction::Receive; "udp, received")]
#[test_case(Carrier::Udp, Direction::Both; "udp, both ways")]
fn whoever_wants_the_end_has_what_was_measured_until_then(carrier: Carrier, direction: Direction) {
    with_reflector(V4, |address| {
        let (task, stop, begun) = (long(carrier, direction, address), Stop::default(), Monotonic::now());
        let found = throughput::measure(&task, &stop, &mut |event| {
            if matches!(event, Event::Carried { .. }) {
                stop.request();
            }
        });
        let found = found.expect("measured until then");
        assert!(since(begun) < BOUND);
        assert_eq!((&found.ended, &found.report_missing), (&Ending::Stopped, &None));
        let carried = found.sent.iter().chain(&found.received).map(|metered| metered.carried.bytes.0).sum::<u64>();
        assert!(carried > 0);
        // The reflector told of its part, too.
        let told = found.peer_sent.iter().chain(&found.peer_received);
        assert!(told.map(|told| told.stream.carried.bytes.0).sum::<u64>() > 0);
    });
}

#[test_case(Carrier::Tcp, Direction::Send; "tcp, sent")]
#[test_case(Carrier::Tcp, Direction::Receive; "tcp, received")]
#[test_case(Carrier::Udp, Direction::Both; "udp, both ways")]
fn a_reflector_that_stops_says_so_and_what_was_measured_stands(carrier: Carrier, direction: Direction) {
    let settings = Settings::at(SocketAddr::new(V4, 0), crate::served::PROGRAM);
    with_settings(settings, |address, reflector| {
        let begun = Monotonic::now();
        let task = long(carrier, direction, address);
        let found = throughput::measure(&task, &Stop::default(), &mut |event| {
            if matches!(event, Event::Carried { .. }) {
                reflector.request();
            }
        });
        let found = found.expect("measured until then");
        assert!(since(begun) < BOUND);
        let Ending::PeerLost { reason } = &found.ended else { panic!("{:?}", found.ended) };
        assert!(reason.contains("shutting down"), "{reason}");
        assert!(found.report_missing.is_some());
        assert!(found.sent.iter().chain(&found.received).all(|metered| metered.carried.bytes.0 > 0));
    });
}

/// A reflector by hand, up to a point: what it does with the request to open, and that it says nothing after.
struct Rogue {
    listener: TcpListener,
}

impl Rogue {
    fn new() -> (Self, SocketAddr) {
        let listener = TcpListener::bind((V4, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        (Self { listener }, address)
    }

    /// Takes the control connection and decides on its request.
    fn control(&self, decide: impl FnOnce(&mut Server, &Open)) -> TcpStream {
        let (mut stream, _) = self.listener.accept().unwrap();
        let terms = Terms {
            program: "rogue".into(),
            versions: Versions::OURS,
            capabilities: [].into(),
            limits: Limits::default(),
            udp: true,
            keyring: None,
            decline: None,
        };
        let mut server = Server::new(terms, Instant(0));
        let mut decide = Some(decide);
        let mut buffer = [0; 4_096];
        while decide.is_some() {
            let count = stream.read(&mut buffer).unwrap();
            server.feed(&buffer[..count], Instant(0)).unwrap();
            while let Some(event) = server.event() {
                if let (ServerEvent::Open(open), Some(decide)) = (event, decide.take()) {
                    decide(&mut server, &open);
                }
            }
            stream.write_all(&server.outgoing()).unwrap();
        }
        stream
    }

    /// Lets a data connection in.
    fn data(&self) -> TcpStream {
        let (mut stream, _) = self.listener.accept().unwrap();
        stream.read_exact(&mut [0; 32]).unwrap();
        stream.write_all(&[DataAnswer::Accepted.code()]).unwrap();
        stream
    }
}

fn accept(server: &mut Server, open: &Open) {
    let got = Limits::default().grant(open);
    server.accept(Token([3; 16]), got, Instant(0)).unwrap();
}

/// As a process that was stopped: its kernel takes data until its buffers are full, and sends no message.
#[test_case(Direction::Send; "sent")]
#[test_case(Direction::Receive; "received")]
fn a_reflector_that_hangs_is_given_up(direction: Direction) {
    let (rogue, address) = Rogue::new();
    thread::scope(|scope| {
        let hung = scope.spawn(move || {
            let control = rogue.control(accept);
            (control, rogue.data(), rogue.data())
        });
        let begun = Monotonic::now();
        let task = long(Carrier::Tcp, direction, address);
        let found = throughput::measure(&task, &Stop::default(), &mut |_| ()).expect("there was a session");
        assert!(since(begun) < BOUND);
        assert!(matches!(found.ended, Ending::PeerLost { .. }), "{:?}", found.ended);
        assert!(found.report_missing.is_some());
        drop(hung.join().unwrap());
    });
}

/// As where the path lets nothing through any more when all has been sent: the reflector took it all, and what it counted is not heard.
#[test]
fn a_reflector_whose_report_does_not_come_is_lost_though_all_was_sent() {
    let (rogue, address) = Rogue::new();
    thread::scope(|scope| {
        let silent = scope.spawn(move || {
            let control = rogue.control(accept);
            for mut flow in [rogue.data(), rogue.data()] {
                std::io::copy(&mut flow, &mut std::io::sink()).unwrap();
            }
            control
        });
        let asked = lasting(Carrier::Tcp, Direction::Send, 2, 1_200, Nanos::millis(50));
        let found = throughput::measure(&task(&asked, address), &Stop::default(), &mut |_| ()).expect("a session");
        let Ending::PeerLost { reason } = &found.ended else { panic!("{:?}", found.ended) };
        assert!(reason.contains("no answer within"), "{reason}");
        assert!(found.report_missing.is_some() && found.sent.unwrap().carried.bytes.0 > 0);
        drop(silent.join().unwrap());
    });
}

/// As one that lost its power and came back: every connection is reset.
#[test]
fn a_reflector_that_goes_in_the_middle_leaves_what_was_measured() {
    let (rogue, address) = Rogue::new();
    thread::scope(|scope| {
        scope.spawn(move || {
            let control = rogue.control(accept);
            let mut flows = [rogue.data(), rogue.data()];
            let mut buffer = vec![0; 1 << 16];
            for flow in &mut flows {
                (0..10).for_each(|_| drop(flow.read(&mut buffer)));
            }
            drop((flows, control));
        });
        let found = throughput::measure(&long(Carrier::Tcp, Direction::Send, address), &Stop::default(), &mut |_| ());
        let found = found.expect("there was a session");
        assert!(matches!(found.ended, Ending::PeerLost { .. }), "{:?}", found.ended);
        assert!(found.sent.unwrap().carried.bytes.0 > 0);
        assert!(found.peer_received.is_empty());
    });
}

#[test]
fn an_older_reflector_refuses_the_pattern() {
    let (rogue, address) = Rogue::new();
    thread::scope(|scope| {
        scope.spawn(move || {
            rogue.control(|server, open| {
                assert_eq!(open.pattern, Pattern::Stream);
                let detail = "this protocol carries exchanges, and connections with one exchange each".to_owned();
                server.refuse(Refused { reason: Reason::Pattern, detail, hint: None }).unwrap();
            });
        });
        let error = throughput::measure(&long(Carrier::Tcp, Direction::Send, address), &Stop::default(), &mut |_| ());
        let error = error.expect_err("refused");
        assert!(error.to_string().contains("carries exchanges"), "{error}");
        let Some(Hint::Session(SessionError::Refused(refused))) = error.hint.as_deref() else { panic!("{error:?}") };
        assert_eq!(refused.reason, Reason::Pattern);
    });
}
