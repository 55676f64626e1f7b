//! Sessions that a server of TWAMP grants, played from RFC 5357: our reflector answers their packets.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use endpoint::error::hint::Hint;
use endpoint::error::{EndpointError, Step};
use endpoint::rtt::{self, Ending, Finding, Protocol, Task};
use endpoint::stop::Stop;
use measure::method::Asked;
use measure::unit::Bytes;
use protocol::twamp::Refusal;
use test_case::test_case;
use testbed::port;

use crate::stamp::{asked, task, with_reflector};

/// The behaviour of a server.
#[derive(Clone, Copy, Debug)]
struct Play {
    modes: u32,
    ready: u8,
    accept: u8,
    ack: u8,
    /// Number of its messages after which it closes the connection.
    messages: u32,
    /// It closes it when sessions have started.
    leaves: bool,
}

const GOOD: Play = Play { modes: 1, ready: 0, accept: 0, ack: 0, messages: u32::MAX, leaves: false };

/// The requests that a server heard, and the number of sessions that were stopped.
#[derive(Debug, Default)]
struct Heard {
    requests: Vec<[u8; 112]>,
    stopped: Option<u32>,
}

struct Server {
    stream: TcpStream,
    play: Play,
    heard: Heard,
    said: u32,
}

impl Server {
    fn say(&mut self, octets: &[u8]) -> Option<()> {
        self.said += 1;
        (self.said <= self.play.messages).then_some(())?;
        self.stream.write_all(octets).ok()
    }

    /// Serves one connection, whose sessions are reflected at `port`.
    fn serve(&mut self, port: u16) -> Option<()> {
        let mut greeting = [0; 64];
        greeting[12..16].copy_from_slice(&self.play.modes.to_be_bytes());
        self.say(&greeting)?;
        let mut response = [0; 164];
        self.stream.read_exact(&mut response).ok()?;
        assert_eq!(response[..4], [0, 0, 0, 1]);
        let mut ready = [0; 48];
        ready[15] = self.play.ready;
        self.say(&ready)?;
        loop {
            let mut command = [0; 32];
            self.stream.read_exact(&mut command).ok()?;
            match command[0] {
                5 => {
                    let mut request = [0; 112];
                    request[..32].copy_from_slice(&command);
                    self.stream.read_exact(&mut request[32..]).ok()?;
                    self.heard.requests.push(request);
                    let mut answer = [0; 48];
                    answer[0] = self.play.accept;
                    answer[2..4].copy_from_slice(&port.to_be_bytes());
                    self.say(&answer)?;
                }
                2 => {
                    let mut ack = [0; 32];
                    ack[0] = self.play.ack;
                    self.say(&ack)?;
                    if self.play.leaves {
                        return None;
                    }
                }
                3 => {
                    self.heard.stopped = Some(u32::from_be_bytes(command[4..8].try_into().unwrap()));
                    return Some(());
                }
                other => panic!("command {other}"),
            }
        }
    }
}

/// A server at a free port, for one connection.
fn server(play: Play, reflector: u16) -> (SocketAddr, Receiver<Heard>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (tell, heard) = mpsc::channel();
    thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut server = Server { stream, play, heard: Heard::default(), said: 0 };
        let _over = server.serve(reflector);
        drop(server.stream);
        // A test that does not ask is gone.
        let _nobody = tell.send(server.heard);
    });
    (address, heard)
}

fn run(asked: &Asked, server: SocketAddr) -> Result<Finding, EndpointError> {
    let task = Task { protocol: Protocol::Twamp { clocks_agree: None }, ..task(asked, server, None) };
    rtt::run(&task, &Stop::default(), &mut |_| {})
}

#[test_case(1, 44; "one session")]
#[test_case(3, 44; "three")]
#[test_case(1, 1_400; "with padding")]
fn sessions_are_asked_for_started_and_stopped(sessions: u32, octets: u16) {
    with_reflector(
        "127.0.0.1",
        |settings| settings,
        |reflector| {
            let (address, heard) = server(GOOD, reflector.port());
            let size = Some(Bytes(octets.into()));
            let asked = Asked { connections: Some(sessions), request_bytes: size, response_bytes: size, ..asked(60) };
            let finding = run(&asked, address).expect("measured");
            let counts = finding.recording.counts;
            assert_eq!((counts.answered, counts.lost, finding.ended), (60, 0, Ending::Complete));
            assert_eq!(finding.target, reflector);
            assert!(finding.one_way.is_some_and(|found| found.exchanges > 0));
            let heard = heard.recv().unwrap();
            assert_eq!((heard.requests.len(), heard.stopped), (sessions as usize, Some(sessions)));
            for request in &heard.requests {
                assert_eq!(request[..2], [5, 4]);
                assert_eq!((&request[16..20], &request[32..36]), (&[127, 0, 0, 1][..], &[127, 0, 0, 1][..]));
                assert_ne!(request[12..14], [0, 0], "the port that packets come from");
                assert_eq!(request[64..68], u32::from(octets - 14).to_be_bytes());
            }
        },
    );
}

#[test_case(Play { modes: 0, ..GOOD }, Some(Refusal::NoMode); "no mode")]
#[test_case(Play { modes: 6, ..GOOD }, Some(Refusal::NotOpen(6)); "authenticated modes alone")]
#[test_case(Play { ready: 1, ..GOOD }, Some(Refusal::Code(1)); "not ready")]
#[test_case(Play { accept: 5, ..GOOD }, Some(Refusal::Code(5)); "a session refused")]
#[test_case(Play { ack: 2, ..GOOD }, Some(Refusal::Code(2)); "a start refused")]
#[test_case(Play { messages: 0, ..GOOD }, None; "closed at once")]
#[test_case(Play { messages: 1, ..GOOD }, None; "closed behind the greeting")]
#[test_case(Play { messages: 2, ..GOOD }, None; "closed instead of a session")]
#[test_case(Play { messages: 3, ..GOOD }, None; "closed instead of a start")]
fn who_does_not_grant_is_told_of(play: Play, refusal: Option<Refusal>) {
    let (address, _heard) = server(play, port::free());
    let error = run(&asked(5), address).expect_err("not measured");
    assert_eq!((&error.step, error.peer.as_str()), (&Step::Agree, &*address.to_string()));
    match refusal {
        Some(refusal) => assert_eq!(error.hint.as_deref(), Some(&Hint::TwampRefusal(refusal)), "{error}"),
        None => {
            assert!(error.to_string().contains("control connection") || error.to_string().contains("reset"), "{error}");
        }
    }
}

#[test]
fn a_session_without_a_port_is_none() {
    let (address, _heard) = server(GOOD, 0);
    let error = run(&asked(5), address).expect_err("not measured");
    assert_eq!(error.hint.as_deref(), Some(&Hint::TwampRefusal(Refusal::NoPort)), "{error}");
}

#[test]
fn where_nobody_listens_there_is_no_session() {
    let address = SocketAddr::from(([127, 0, 0, 1], port::free()));
    let error = run(&asked(5), address).expect_err("not measured");
    assert_eq!((error.step, error.hint.as_deref()), (Step::Connect, Some(&Hint::NoTwampServer)));
}

#[test]
fn a_server_that_goes_away_meanwhile_is_told_of() {
    with_reflector(
        "127.0.0.1",
        |settings| settings,
        |reflector| {
            let (address, heard) = server(Play { leaves: true, ..GOOD }, reflector.port());
            let finding = run(&asked(50), address).expect("measured");
            assert_eq!((finding.recording.counts.answered, heard.recv().unwrap().stopped), (50, None));
            assert!(matches!(finding.ended, Ending::PeerLost { .. }), "{:?}", finding.ended);
        },
    );
}
