//! A server that plays a part, over loopback: what it says unasked, what it says that is no reply, and how it ends connections.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};

use protocol::application::http::{Expected, Http, Request};
use protocol::application::talk::{Asking, Talk};
use protocol::application::tally::End;
use protocol::native::header::Flags;
use protocol::wire::{Reading, Wire};
use test_case::test_case;

use super::*;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const LAST: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
const TIMEOUT: &[u8] = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/// A server's part on one connection.
type Part = Box<dyn FnOnce(TcpStream) + Send>;

/// A client of a server that plays a part on each connection, one after the other.
struct Scene {
    link: Framed<Talk>,
    wire: Asking<Talk>,
    tally: Arc<Tally>,
    request: Vec<u8>,
    asked: u64,
    server: Option<JoinHandle<()>>,
}

impl Scene {
    fn new(parts: Vec<Part>, patient: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = listener.local_addr().unwrap();
        let server = thread::spawn(move || parts.into_iter().for_each(|part| part(listener.accept().unwrap().0)));
        let request = Request {
            method: "GET".into(),
            host: "db1".into(),
            target: "/".into(),
            fields: Vec::new(),
            body: Vec::new(),
            agent: "sonde".into(),
        };
        let talk = Talk::Http(Box::new(Http::new(&request, Expected::Any).unwrap()));
        let door = Door {
            peer,
            tls: None,
            options: SocketOptions::default(),
            waiting: Waiting::Block,
            patience: PATIENCE,
            patient,
            anew: None,
            scheduled: false,
            stamps: false,
            stop: Stop::default(),
        };
        let tally = Arc::new(Tally::default());
        let mut link = Framed::open(door, talk.clone(), Arc::clone(&tally)).unwrap();
        link.ask_alike();
        let (request, wire) = (talk.request(), Asking::new(talk, Arc::clone(&tally)));
        Self { link, wire, tally, request, asked: 0, server: Some(server) }
    }

    fn ask(&mut self, flags: Flags) -> Result<(), Fault> {
        self.wire.prepare(&mut self.request, self.asked, flags);
        self.asked += 1;
        self.link.ready()?;
        self.link.send(&self.request)
    }

    /// The next that comes, where `oldest` is the request that a reply without a number answers.
    fn hear(&mut self, oldest: u64) -> Result<Reading, Fault> {
        let mut buffer = [0; Digest::LENGTH];
        let until = Monotonic::now().after(PATIENCE);
        let length = self.link.receive(&mut buffer, until)?.expect("nothing came");
        Ok(self.wire.identify(&buffer[..length], oldest))
    }

    /// Replies that were counted.
    fn replies(&self) -> u64 {
        self.tally.kinds().iter().map(|(.., count)| count).sum()
    }

    /// Waits until octets are there that nobody has read, or the end of the connection.
    fn await_octets(&self) {
        let mut octet = [std::mem::MaybeUninit::uninit()];
        // A blocking call looks up now and then.
        while self.link.socket().peek(&mut octet).is_err() {}
        // What follows a reply at once is not looked for before the next request.
        pace::sleep_until(self.link.heard.after(IDLE_BY_ORDER).after(Nanos(1)));
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // After a failure the server may wait for what does not come.
        if !thread::panicking() {
            assert!(self.server.take().is_some_and(|server| server.join().is_ok()), "the server failed");
        }
    }
}

fn request(stream: &mut TcpStream) {
    let (mut head, mut octet) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut octet).unwrap();
        head.push(octet[0]);
    }
}

/// Answers so many requests, each by these octets.
fn answers(requests: u32, octets: &'static [&'static [u8]]) -> Part {
    Box::new(move |mut stream| {
        for _ in 0..requests {
            request(&mut stream);
            stream.write_all(&octets.concat()).unwrap();
        }
    })
}

/// Answers a request, says `between` when it is told to, and goes on to `then`.
fn between(said: Receiver<()>, between: &'static [u8], then: Part) -> Part {
    Box::new(move |mut stream| {
        request(&mut stream);
        stream.write_all(OK).unwrap();
        said.recv().unwrap();
        stream.write_all(between).unwrap();
        then(stream);
    })
}

fn ends() -> Part {
    Box::new(drop)
}

#[test]
fn a_second_reply_is_told_and_answers_nothing() {
    let mut scene = Scene::new(vec![answers(3, &[OK, OK])], false);
    for number in 0..3 {
        scene.ask(Flags::NONE).unwrap();
        if number > 0 {
            assert_eq!(scene.hear(number), Ok(Reading::Stray), "before reply {number}");
        }
        assert_eq!(scene.hear(number), Ok(Reading::Reply(number)));
    }
    assert_eq!(scene.replies(), 3, "it is counted with no replies");
}

/// Requests, several of which a client's kernel no longer acknowledges at once.
const SEVERAL: u32 = 50;
/// Requests on a new connection that it still does.
const FEW: u32 = 8;

/// Answers so many requests, each in two writes: with Nagle's algorithm the second waits for an acknowledgement of the first.
fn answers_in_parts() -> Part {
    Box::new(|mut stream| {
        let (head, body) = OK.split_at(OK.len() - 2);
        for _ in 0..SEVERAL {
            request(&mut stream);
            stream.write_all(head).unwrap();
            stream.write_all(body).unwrap();
        }
    })
}

#[test_case(answers_in_parts(), true; "in two writes")]
#[test_case(answers(SEVERAL, &[OK]), false; "in one")]
fn replies_that_wait_for_an_acknowledgement_of_ours_are_counted(server: Part, held: bool) {
    let mut scene = Scene::new(vec![server], false);
    for number in 0..u64::from(SEVERAL) {
        scene.ask(Flags::NONE).unwrap();
        assert_eq!(scene.hear(number), Ok(Reading::Reply(number)));
    }
    let (count, pauses) = scene.tally.held();
    assert_eq!(count > 0, held, "{count} replies, {pauses}");
    assert!(pauses >= Nanos::millis(38 * count), "{pauses}");
}

/// The client's kernel acknowledges the first part at once, so that nothing waits for that.
#[test]
fn replies_whose_rest_took_their_program_as_long_are_not() {
    let server: Part = Box::new(|mut stream| {
        stream.set_nodelay(true).unwrap();
        let (head, body) = OK.split_at(OK.len() - 2);
        for _ in 0..FEW {
            request(&mut stream);
            stream.write_all(head).unwrap();
            pace::sleep_until(Monotonic::now().after(Nanos::millis(43)));
            stream.write_all(body).unwrap();
        }
    });
    let mut scene = Scene::new(vec![server], false);
    for number in 0..u64::from(FEW) {
        scene.ask(Flags::NONE).unwrap();
        // A request that leaves soon after a reply has the kernel delay acknowledgements again.
        scene.link.socket().set_tcp_quickack(true).unwrap();
        assert_eq!(scene.hear(number), Ok(Reading::Reply(number)));
    }
    assert_eq!(scene.tally.held(), (0, Nanos::ZERO));
}

/// So many octets of it are there before the request.
#[test_case(OK.len(), [Reading::Stray, Reading::Reply(1)]; "all")]
#[test_case(20, [Reading::Reply(1), Reading::Stray]; "a part, which is known to be unasked when the rest has come")]
fn a_reply_that_was_there_before_the_request_answers_nothing(early: usize, expected: [Reading; 2]) {
    let (say, said) = channel();
    let rest: Part = Box::new(move |mut stream| {
        request(&mut stream);
        stream.write_all(&[&OK[early..], OK].concat()).unwrap();
    });
    let mut scene = Scene::new(vec![between(said, &OK[..early], rest)], false);
    scene.ask(Flags::NONE).unwrap();
    assert_eq!(scene.hear(0), Ok(Reading::Reply(0)));
    say.send(()).unwrap();
    scene.await_octets();
    scene.ask(Flags::NONE).unwrap();
    assert_eq!([scene.hear(1), scene.hear(1)].map(Result::unwrap), expected);
    assert_eq!(scene.replies(), 2);
}

#[test]
fn a_status_408_between_requests_is_the_end_of_its_connection() {
    let (say, said) = channel();
    let mut scene = Scene::new(vec![between(said, TIMEOUT, ends()), answers(1, &[OK])], false);
    scene.ask(Flags::NONE).unwrap();
    assert_eq!(scene.hear(0), Ok(Reading::Reply(0)));
    say.send(()).unwrap();
    scene.await_octets();
    scene.ask(Flags::NONE).unwrap();
    assert_eq!(scene.hear(1), Ok(Reading::Reply(1)));
    assert_eq!((scene.replies(), scene.tally.renewals()), (2, 1));
}

#[test_case(&OK[..20], (2, 1); "half a reply")]
#[test_case(&[], (2, 0); "no octet of one")]
#[test_case(OK, (0, 0); "one whole reply and one request out")]
fn what_is_left_behind_a_request_without_a_reply_is_counted(octets: &'static [u8], expected: (u64, u64)) {
    let (say, said) = channel();
    let is_whole = octets.len() == OK.len();
    let requests = if is_whole { 2 } else { 3 };
    let server: Part = Box::new(move |mut stream| {
        request(&mut stream);
        stream.write_all(OK).unwrap();
        for _ in 0..requests {
            request(&mut stream);
        }
        stream.write_all(octets).unwrap();
        said.recv().unwrap();
    });
    let mut scene = Scene::new(vec![server], true);
    for number in 0..=requests {
        scene.ask(Flags::NONE).unwrap();
        if number == 0 {
            assert_eq!(scene.hear(0), Ok(Reading::Reply(0)));
        }
    }
    if is_whole {
        assert_eq!(scene.hear(1), Ok(Reading::Reply(1)));
    } else if !octets.is_empty() {
        scene.await_octets();
        assert!(matches!(scene.link.look(RecvFlags::DONTWAIT), Ok(Look::Something)));
    }
    scene.link.note_left();
    say.send(()).unwrap();
    assert_eq!(scene.tally.stuck(), expected);
}

#[test]
fn what_is_no_reply_is_kept() {
    let parts: [Part; 2] = [
        Box::new(|mut stream| {
            request(&mut stream);
            stream.write_all(OK).unwrap();
            request(&mut stream);
            stream.write_all(b"\x16\x03\x01\0\r\n").unwrap();
        }),
        answers(1, &[OK, b"SSH-2.0\r\n"]),
    ];
    let mut scene = Scene::new(parts.into_iter().chain([answers(1, &[OK])]).collect(), false);
    for (number, heard) in
        [Reading::Reply(0), Reading::Corrupt(None), Reading::Reply(2), Reading::Stray].iter().enumerate()
    {
        scene.ask(Flags::NONE).unwrap();
        assert_eq!(scene.hear(number as u64), Ok(*heard));
    }
    assert_eq!(scene.hear(3), Ok(Reading::Reply(3)), "behind what nobody asked for");
    assert_eq!(scene.tally.unread(), Some(r#"the reply is none of HTTP/1: "\x16\x03\x01\x00""#));
}

#[test]
fn connections_that_are_made_anew_in_the_warm_up_are_not_counted() {
    let mut scene = Scene::new(vec![answers(1, &[LAST]), answers(1, &[LAST]), answers(1, &[OK])], false);
    for (number, flags) in [Flags::WARM_UP, Flags::WARM_UP, Flags::NONE].into_iter().enumerate() {
        scene.ask(flags).unwrap();
        assert_eq!(scene.hear(number as u64), Ok(Reading::Reply(number as u64)));
    }
    assert_eq!((scene.replies(), scene.tally.renewals()), (1, 1));
}

/// Takes so many requests, and answers the first of them alone.
fn leaves(requests: u32) -> Part {
    Box::new(move |mut stream| {
        for _ in 0..requests {
            request(&mut stream);
        }
        stream.write_all(LAST).unwrap();
    })
}

#[test]
fn what_a_server_leaves_at_an_end_that_it_announces_is_asked_once_more() {
    let mut scene = Scene::new(vec![leaves(3), answers(2, &[OK])], true);
    for _ in 0..3 {
        scene.ask(Flags::NONE).unwrap();
    }
    for number in 0..3 {
        assert_eq!(scene.hear(number), Ok(Reading::Reply(number)));
    }
    assert_eq!((scene.replies(), scene.tally.renewals()), (3, 1));
}

#[test]
fn it_is_not_asked_a_third_time() {
    let mut scene = Scene::new(vec![leaves(3), leaves(2)], true);
    for _ in 0..3 {
        scene.ask(Flags::NONE).unwrap();
    }
    assert_eq!([scene.hear(0), scene.hear(1)], [Ok(Reading::Reply(0)), Ok(Reading::Reply(1))]);
    assert_eq!(scene.hear(2), Err(Fault::Refused(Errno::CONNRESET.raw_os_error())));
    assert_eq!(scene.link.blamed(), Some(2));
}

/// Takes so many requests, answers `replies` of them, and resets the connection: one more is left unread.
fn answers_and_resets(requests: u32, replies: usize) -> Part {
    Box::new(move |mut stream| {
        for _ in 0..requests {
            request(&mut stream);
        }
        stream.write_all(&OK.repeat(replies)).unwrap();
        // Closing with octets that nobody has read resets.
        stream.peek(&mut [0]).unwrap();
    })
}

#[test]
fn replies_that_came_before_a_reset_are_read_though_sending_fails() {
    let mut scene = Scene::new(vec![answers_and_resets(3, 2), answers(1, &[OK])], true);
    let reset = Fault::Refused(Errno::CONNRESET.raw_os_error());
    for _ in 0..4 {
        scene.ask(Flags::NONE).unwrap();
    }
    // The reset comes when it comes; each request until then goes down with the others.
    while scene.ask(Flags::NONE).is_ok() {
        std::hint::spin_loop();
    }
    let failed = scene.asked - 1;
    // Before what has come is read, nothing is asked: that would be refused, and so would all after it.
    assert!(!scene.link.has_room(failed));
    assert_eq!([scene.hear(0), scene.hear(1)], [Ok(Reading::Reply(0)), Ok(Reading::Reply(1))]);
    for number in 2..failed {
        assert_eq!((scene.hear(number), scene.link.blamed()), (Err(reset), Some(number)));
    }
    assert!(scene.link.has_room(0));
    let (next, behind) = (scene.asked, failed - 3);
    scene.ask(Flags::NONE).unwrap();
    assert_eq!(scene.hear(next), Ok(Reading::Reply(next)));
    assert_eq!((scene.replies(), scene.tally.down(End::Reset)), (3, behind + 1));
}
