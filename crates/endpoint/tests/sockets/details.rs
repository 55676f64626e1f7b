//! Details of exchanges with a program at work: a played web server that answers 200 and 404 in turn.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use endpoint::rtt::{self, Protocol, Target, Task};
use endpoint::stop::Stop;
use measure::event::{Details, Event, Exchange, Fate, INTERVAL};
use measure::method::{Asked, Carrier, Far, Pattern, Schedule, Stop as StopAt};
use measure::unit::{Bytes, Nanos};
use protocol::application::http::{Expected, Http, Request};
use protocol::application::talk::Talk;
use protocol::application::{Application, of};
use test_case::test_case;

const REPLIES: [&[u8]; 2] =
    [b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", b"HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nno\n"];

/// Answers on one connection; `turn` is common to all of them.
fn answer(mut stream: TcpStream, turn: &AtomicBool) -> std::io::Result<()> {
    let (mut head, mut octet) = (Vec::new(), [0]);
    while stream.read(&mut octet)? > 0 {
        head.push(octet[0]);
        if head.ends_with(b"\r\n\r\n") {
            head.clear();
            stream.write_all(REPLIES[usize::from(turn.fetch_not(Ordering::SeqCst))])?;
        }
    }
    Ok(())
}

fn server() -> SocketAddr {
    server_but_for(None)
}

/// A server that says nothing on the connection with this number, from 0, and keeps it.
fn server_but_for(silent: Option<usize>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let turn = Arc::new(AtomicBool::new(false));
    thread::spawn(move || {
        let mut kept = Vec::new();
        for (number, stream) in listener.incoming().map_while(Result::ok).enumerate() {
            let turn = Arc::clone(&turn);
            if silent == Some(number) {
                kept.push(stream);
            } else {
                thread::spawn(move || drop(answer(stream, &turn)));
            }
        }
    });
    address
}

/// Ten exchanges with a separate server.
fn exchanges(pattern: Option<Pattern>, window: Option<u32>) -> Vec<Exchange> {
    let seen = exchanges_with(server(), Nanos::secs(60), pattern, window);
    assert!(seen.iter().all(|exchange| exchange.fate == Fate::Answered), "{seen:?}");
    seen
}

/// Ten exchanges with a server, each of which is lost after `timeout`.
fn exchanges_with(address: SocketAddr, timeout: Nanos, pattern: Option<Pattern>, window: Option<u32>) -> Vec<Exchange> {
    let request = Request {
        method: "GET".into(),
        host: "db1".into(),
        target: "/".into(),
        fields: Vec::new(),
        body: Vec::new(),
        agent: "sonde".into(),
    };
    let talk = Talk::Http(Box::new(Http::new(&request, Expected::Any).unwrap()));
    let application = Application::talk(of("http").unwrap(), talk);
    let asked = Asked {
        carrier: Some(Carrier::Tcp),
        pattern,
        window,
        schedule: Some(Schedule::Every { interval_ns: Nanos::millis(2) }),
        request_bytes: Some(Bytes(application.request_length() as u64)),
        application: Some(application.said()),
        stop: StopAt { count: Some(10), ..StopAt::default() },
        warm_up_ns: Some(Nanos::ZERO),
        timeout_ns: Some(timeout),
        ..Asked::default()
    };
    let task = Task {
        trace: None,
        method: asked.resolve_towards(Far::Foreign).expect("a sensible method"),
        target: Some(Target { host: address.ip().to_string(), address }),
        protocol: Protocol::Application(Box::new(application)),
        key: None,
        one_will_do: false,
        samples: true,
        interval: INTERVAL,
        program: "sonde test".into(),
        verify: None,
    };
    let mut seen = Vec::new();
    rtt::run(&task, &Stop::default(), &mut |event| seen.extend(exchange(&event))).expect("measured");
    assert_eq!(seen.len(), 10);
    seen
}

fn exchange(event: &Event) -> Option<Exchange> {
    match event {
        Event::Exchange(exchange) => Some(*exchange),
        _ => None,
    }
}

/// The trial had the first 200.
fn kind(seq: u64) -> u16 {
    if seq.is_multiple_of(2) { 404 } else { 200 }
}

#[test_case(Some(1); "one at a time")]
#[test_case(None; "whatever the replies do")]
fn a_connection_that_is_kept_tells_the_kind_of_each_reply(window: Option<u32>) {
    for Exchange { seq, details, .. } in exchanges(None, window) {
        let details = details.unwrap();
        assert_eq!(
            (details.kind, details.connected, details.opened, details.port),
            (Some(kind(seq)), None, None, None)
        );
    }
}

#[test]
fn a_connection_each_tells_its_steps_in_order() {
    let mut ports = Vec::new();
    for Exchange { seq, sent, received, details, .. } in exchanges(Some(Pattern::ConnectExchange), Some(1)) {
        let details = details.unwrap();
        let Details { connected, opened, handed, first, last, .. } = details;
        let steps = [sent, connected, opened, handed, first, last, received].map(Option::unwrap);
        assert!(steps.is_sorted(), "{steps:?}");
        let body = if kind(seq) == 404 { 3 } else { 2 };
        let head = REPLIES[usize::from(body == 3)].len() as u64 - body;
        assert_eq!((details.kind, details.head, details.body), (Some(kind(seq)), Some(Bytes(head)), Some(Bytes(body))));
        assert_eq!((details.secured, details.fault), (None, None));
        ports.extend(details.port);
    }
    ports.dedup();
    assert_eq!(ports.len(), 10, "each has a port of its own");
}

/// A reply has no number there, and would be taken for the one that is missing.
#[test]
fn a_reply_on_a_connection_of_its_own_is_to_no_request_before_it() {
    // The first connection is the trial's.
    let address = server_but_for(Some(4));
    let found = exchanges_with(address, Nanos::secs(3), Some(Pattern::ConnectExchange), Some(1));
    let fates: Vec<Fate> = found.iter().map(|exchange| exchange.fate).collect();
    let expected: Vec<Fate> = (0..10).map(|seq| if seq == 3 { Fate::Lost } else { Fate::Answered }).collect();
    assert_eq!(fates, expected);
}
