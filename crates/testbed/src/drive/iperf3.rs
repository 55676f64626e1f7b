//! Both ends of iperf3's control connection, its JSON and its login.

use measure::unit::Nanos;

use super::Input;
use protocol::iperf3::client::{Client, Event};
use protocol::iperf3::code::Code;
use protocol::iperf3::error::{Error, Step};
use protocol::iperf3::login::{PrivateKey, PublicKey, Token, Users};
use protocol::iperf3::parameters::{Direction, Parameters};
use protocol::iperf3::results::{Results, StreamResults};
use protocol::iperf3::server::{Action, Server};
use protocol::iperf3::{LONGEST_CLIENT_RESULTS, stream_id};

fn results(streams: u32) -> Results {
    let stream = |index| StreamResults { id: stream_id(index), ..StreamResults::default() };
    Results { streams: (0..streams as usize).map(stream).collect(), ..Results::default() }
}

/// A frame of what may be JSON.
fn framed(text: &[u8]) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes(), text].concat()
}

/// Parameters: read, written, read.
pub fn iperf3_parameters(data: &[u8]) {
    match Parameters::read(data) {
        Err(code) => assert!(code.text().is_some(), "{code:?} has a name"),
        Ok(read) => {
            assert!((1..=128).contains(&read.parallel) && (1..=1 << 20).contains(&read.block_bytes()));
            let text = read.write();
            let again = Parameters::read(text.as_bytes()).expect("what is within bounds stays so");
            assert_eq!((&again, again.write()), (&read, text), "parameters are read as they are written");
            assert!(read.uploads() + read.downloads() >= 1);
        }
    }
}

/// Results: read, written, read. A number of 17 digits stays what it is.
pub fn iperf3_results(data: &[u8]) {
    let Ok(read) = Results::read(data) else { return };
    let again = Results::read(read.write().as_bytes()).expect("what was read can be read again");
    let near = |one: f64, other: f64| (one - other).abs() <= one.abs().max(other.abs()) * f64::EPSILON;
    for (one, other) in read.streams.iter().zip(&again.streams) {
        assert!(near(one.jitter_s, other.jitter_s));
        let (lost, count) = (one.lost(true), one.counted());
        assert_eq!((lost, count), (other.lost(true), other.counted()));
    }
    assert!(
        near(read.cpu.total, again.cpu.total) && read.are_of(read.streams.len()) == again.are_of(read.streams.len())
    );
    let third = Results::read(again.write().as_bytes()).expect("and again");
    assert_eq!(third, again, "results are read as they are written");
}

/// The server's machine, fed by a client that says anything, in pieces and all at once.
pub fn iperf3_server(data: &[u8]) {
    let mut input = Input(data);
    let driver = input.byte();
    let piece = 1 + usize::from(input.byte());
    let script = script(&mut input);
    let whole = serve(driver, script.chunks(script.len().max(1)));
    assert_eq!(serve(driver, script.chunks(piece)), whole, "pieces of {piece}");
}

/// Octets of the far end: octets as they are, frames of them, and whole messages in their order.
fn script(input: &mut Input<'_>) -> Vec<u8> {
    let mut script = Vec::new();
    // Far below what is a flood, which depends on the pieces.
    while script.len() < 64 << 10
        && let Some(what) = input.next()
    {
        match what {
            0xf0 => script.extend(framed(Parameters::default().write().as_bytes())),
            0xf1 => script.extend(framed(results(u32::from(input.byte() & 3)).write().as_bytes())),
            0xf2 => {
                let length = usize::from(input.byte());
                script.extend(framed(input.take(length)));
            }
            octet => script.push(octet),
        }
    }
    script
}

fn serve<'a>(driver: u8, pieces: impl Iterator<Item = &'a [u8]>) -> Vec<String> {
    let mut server = Server::default();
    let mut streams = 0;
    let mut seen = vec![format!("{:?}", server.greet())];
    for piece in pieces {
        let mut actions = server.feed(piece);
        while !actions.is_empty() {
            for action in std::mem::take(&mut actions) {
                seen.push(format!("{action:?}"));
                let answer = match &action {
                    Action::Ask(asked) => {
                        streams = asked.uploads() + asked.downloads();
                        if driver & 1 == 0 {
                            [server.accept(), server.start()].concat()
                        } else {
                            server.fail(Code::TOTAL_RATE, 0)
                        }
                    }
                    Action::End if driver & 2 == 0 => server.exchange(),
                    Action::Results(told) => {
                        assert!(told.are_of(streams as usize));
                        server.results(&results(streams))
                    }
                    Action::Close(reason) => {
                        assert!(!reason.to_string().is_empty() && server.is_closed());
                        Vec::new()
                    }
                    _ => Vec::new(),
                };
                seen.push(format!("{answer:?}"));
            }
            actions = server.feed(&[]);
        }
        assert!(server.partial() <= LONGEST_CLIENT_RESULTS + 4);
    }
    if server.is_closed() {
        assert!(
            server.feed(&[16]).is_empty() && server.terminate().is_empty() && server.fail(Code::BUSY, 0).is_empty()
        );
    }
    seen
}

/// The client's machine, fed by a server that says anything, in pieces and all at once.
pub fn iperf3_client(data: &[u8]) {
    let mut input = Input(data);
    let driver = input.byte();
    let piece = 1 + usize::from(input.byte());
    let script = script(&mut input);
    let whole = ask(driver, script.chunks(script.len().max(1)));
    let pieces = ask(driver, script.chunks(piece));
    // The driver decides the end of the test, and a server that goes on before that is out of order.
    if driver & 4 == 0 {
        assert_eq!(pieces, whole, "pieces of {piece}");
    }
}

fn ask<'a>(driver: u8, pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<String>, Option<Error>) {
    let mut client = Client::default();
    let direction = if driver & 1 == 0 { Direction::Upload } else { Direction::Both };
    let parameters = Parameters { direction, ..Parameters::default() };
    let streams = parameters.uploads() + parameters.downloads();
    let mut seen = Vec::new();
    for piece in pieces {
        let mut bytes = piece;
        loop {
            let events = match client.feed(bytes) {
                Ok(events) => events,
                Err(error) => return (seen, Some(check(&mut client, error))),
            };
            bytes = &[];
            if events.is_empty() {
                break;
            }
            for event in events {
                seen.push(format!("{event:?}"));
                let answer = match event {
                    Event::SendParameters => client.parameters(&parameters),
                    Event::Go if driver & 4 != 0 => client.end(),
                    Event::SendResults => client.results(&results(streams)),
                    Event::Complete | Event::ServerTerminated => client.done(),
                    Event::Results(told) => {
                        assert!(told.are_of(streams as usize));
                        Vec::new()
                    }
                    Event::Go | Event::MakeReady | Event::OpenStreams => Vec::new(),
                };
                seen.push(format!("{answer:?}"));
            }
        }
    }
    let over = client.step() == Step::Done;
    let error = if driver & 2 == 0 { client.silent(Nanos::secs(1)) } else { client.ended() }.err();
    assert_eq!(error.is_none(), over);
    (seen, error.map(|error| check(&mut client, error)))
}

/// Errors are final and say something.
fn check(client: &mut Client, error: Error) -> Error {
    assert!(!error.to_string().is_empty());
    let _ = (error.side(), error.code());
    assert_eq!((client.feed(&[9]), client.ended()), (Err(error.clone()), Err(error.clone())));
    assert!(client.end().is_empty() && client.done().is_empty() && client.partial() == 0);
    error
}

/// Texts of tokens, users and keys.
pub fn iperf3_login(data: &[u8]) {
    if let Some(token) = Token::read(data) {
        let again = token.plaintext().map(|text| Token::read(text.as_bytes()));
        assert!(again.is_none_or(|again| again == Some(token)), "a token is read as it is written");
    }
    let text = String::from_utf8_lossy(data);
    match Users::read(&text) {
        Ok(users) => assert!(!users.has("", "")),
        Err(line) => assert!(line.line >= 1 && line.line <= text.lines().count()),
    }
    if let Err(error) = PublicKey::from_pem(&text) {
        assert!(!error.to_string().is_empty());
    }
    if let Err(error) = PrivateKey::from_pem(&text) {
        assert!(!error.to_string().is_empty());
    }
}
