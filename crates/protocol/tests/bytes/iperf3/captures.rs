//! Our client and our server in the place of the real one: what they write is what was captured, octet by octet.

use protocol::bulk::{Mark, Numbering};
use protocol::iperf3::client::{Client, Event};
use protocol::iperf3::code::Code;
use protocol::iperf3::datagram::Counter;
use protocol::iperf3::error::Error;
use protocol::iperf3::parameters::{Direction, Parameters, Protocol, Segmentation};
use protocol::iperf3::results::{Omitted, Output, Results};
use protocol::iperf3::server::{Action, Reason, Server};
use test_case::test_case;

use super::transcript::{Capture, all, message, modern, named};

/// Tests that went their whole way.
fn whole() -> impl Iterator<Item = Capture> {
    all().into_iter().filter(|capture| capture.server_results().is_some())
}

fn results(text: Option<&[u8]>) -> Results {
    Results::read(text.expect("results")).expect("real ones")
}

/// Our server's part of a captured test, where the client's octets come in pieces.
fn serve(capture: &Capture, piece: usize) -> Vec<u8> {
    let mut server = Server::default();
    let mut said = server.greet();
    let mut done = false;
    for bytes in capture.client.chunks(piece) {
        let mut bytes = bytes;
        loop {
            let actions = server.feed(bytes);
            bytes = &[];
            if actions.is_empty() {
                break;
            }
            for action in actions {
                match action {
                    Action::Answer(octets) => said.extend(octets),
                    Action::Ask(_) => said.extend([server.accept(), server.start()].concat()),
                    Action::End => said.extend(server.exchange()),
                    Action::Results(_) => said.extend(server.results(&results(capture.server_results()))),
                    Action::Done => done = true,
                    Action::Close(reason) => panic!("{}: {reason}", capture.name),
                }
            }
        }
    }
    assert!(done && server.is_closed(), "{}: the client was content", capture.name);
    said
}

#[test_case(1)]
#[test_case(7)]
#[test_case(100_000)]
fn our_server_says_what_the_real_one_said(piece: usize) {
    let mut count = 0;
    for capture in whole() {
        let said = serve(&capture, piece);
        let expected = modern(&capture.server, 5);
        assert_eq!(String::from_utf8_lossy(&said), String::from_utf8_lossy(&expected), "{}", capture.name);
        assert_eq!(said, expected, "{}", capture.name);
        count += 1;
    }
    assert_eq!(count, 22);
}

#[test_case(1)]
#[test_case(7)]
#[test_case(100_000)]
fn our_client_says_what_the_real_one_said(piece: usize) {
    for capture in whole() {
        let parameters = Parameters::read(capture.parameters().expect("parameters")).expect("real ones");
        let mut client = Client::default();
        let (mut said, mut told) = (Vec::new(), None);
        // Up to its word to begin; what follows comes when the client has ended the test.
        let (before, after) = capture.server.split_at(4);
        for bytes in before.chunks(piece).chain(after.chunks(piece)) {
            let mut bytes = bytes;
            loop {
                let events = client.feed(bytes).unwrap_or_else(|error| panic!("{}: {error}", capture.name));
                bytes = &[];
                if events.is_empty() {
                    break;
                }
                for event in events {
                    match event {
                        Event::SendParameters => said.extend(client.parameters(&parameters)),
                        Event::OpenStreams | Event::MakeReady => {}
                        Event::Go => said.extend(client.end()),
                        Event::SendResults => said.extend(client.results(&results(capture.client_results()))),
                        Event::Results(results) => told = Some(results),
                        Event::Complete => said.extend(client.done()),
                        Event::ServerTerminated => panic!("{}: it did not", capture.name),
                    }
                }
            }
        }
        let expected = modern(&capture.client, 4 + capture.parameters().map_or(0, <[u8]>::len) + 1);
        assert_eq!(String::from_utf8_lossy(&said), String::from_utf8_lossy(&expected), "{}", capture.name);
        assert_eq!(said, expected, "{}", capture.name);
        assert_eq!(*told.expect("results"), results(capture.server_results()), "{}", capture.name);
        assert_eq!(client.ended(), Ok(()), "{}", capture.name);
    }
}

#[test]
fn parameters_are_written_as_they_were_captured() {
    let mut count = 0;
    for capture in all() {
        let Some(text) = capture.parameters() else { continue };
        let read = Parameters::read(text).unwrap_or_else(|code| panic!("{}: {code}", capture.name));
        assert_eq!(read.write().as_bytes(), text, "{}", capture.name);
        count += 1;
    }
    assert_eq!(count, 29, "all but a client that was turned away and one whose parameters are cut");
}

#[test]
fn parameters_of_many_options_are_understood() {
    let capture = named("udp-many-options");
    let read = Parameters::read(capture.parameters().unwrap()).unwrap();
    let expected = Parameters {
        protocol: Protocol::Udp,
        server_affinity: Some(1),
        time: 1,
        parallel: 2,
        block: Some(500),
        rate: Some(1_000_000),
        fq_rate: Some(50_000_000),
        burst: 5,
        segmentation: Some(Segmentation::OFF),
        tos: 32,
        title: Some("mytitle".to_owned()),
        extra_data: Some("xd".to_owned()),
        get_server_output: true,
        repeating_payload: true,
        dont_fragment: true,
        client_version: Some("3.21".to_owned()),
        ..Parameters::default()
    };
    assert_eq!(read, expected);
    let read = Parameters::read(named("tcp-window-mss-nodelay-congestion").parameters().unwrap()).unwrap();
    assert_eq!((read.window, read.mss, read.nodelay), (Some(256 << 10), Some(1_400), true));
    assert_eq!((read.congestion.as_deref(), read.time, read.direction), (Some("cubic"), 1, Direction::Upload));
}

#[test]
fn what_the_real_ones_told_is_understood() {
    let told = results(named("udp-omit").server_results());
    let stream = told.streams[0];
    assert_eq!((stream.bytes, stream.packets, stream.omitted), (50_000, 101, Some(Omitted { errors: 0, packets: 51 })));
    assert_eq!((stream.lost(true), stream.counted(), told.sender_has_retransmits), (Some(0), 50, None));
    let old = results(named("udp-omit-client3.21-server3.12").server_results());
    assert_eq!((old.streams[0].omitted, old.streams[0].retransmits, old.sender_has_retransmits), (None, None, None));
    let tcp = results(named("tcp-bidir").client_results());
    assert_eq!((tcp.congestion.as_deref(), tcp.sender_has_retransmits), (Some("bbr"), Some(true)));
    assert_eq!(tcp.streams.iter().map(|stream| stream.retransmits).collect::<Vec<_>>(), [Some(0), None]);
    let Some(Output::Text(text)) = results(named("get-server-output").server_results()).output else {
        panic!("the server's output")
    };
    assert!(text.starts_with("Accepted connection from") && text.ends_with("receiver\n"), "{text}");
    let output = results(named("get-server-output-json").server_results()).output;
    assert!(matches!(output, Some(Output::Json(json)) if json.starts_with(r#"{"start":{"connected":[{"socket":5"#)));
}

/// Returns the error of our client at a server that turns it away.
fn turned_away(name: &str) -> Error {
    let capture = named(name);
    let mut client = Client::default();
    let mut bytes = &capture.server[..];
    loop {
        match client
            .feed(bytes)
            .and_then(|events| if events.is_empty() { client.ended().map(|()| events) } else { Ok(events) })
        {
            Ok(events) => {
                bytes = &[];
                if events.contains(&Event::SendParameters) {
                    client.parameters(&Parameters::default());
                }
            }
            Err(error) => return error,
        }
    }
}

#[test_case("busy-access-denied-second", &Error::Busy)]
#[test_case("server-error-ratelimit-params", &Error::Server { code: Some(Code(27)), errno: Some(0) })]
#[test_case("server-error-ratelimit-running", &Error::Server { code: Some(Code(27)), errno: Some(0) }; "twice, of which one counts")]
#[test_case("server-error-maxduration", &Error::Server { code: Some(Code(37)), errno: Some(0) })]
#[test_case("client-terminate", &Error::Server { code: Some(Code(119)), errno: Some(0) })]
#[test_case("auth-bad-3.12", &Error::Server { code: Some(Code(142)), errno: None }; "one number alone")]
#[test_case("auth-bad-3.21", &Error::Closed { step: protocol::iperf3::error::Step::Streams }; "closed without a word")]
fn our_client_understands_why_it_is_turned_away(name: &str, why: &Error) {
    assert_eq!(turned_away(name), *why);
}

#[test]
fn our_client_hears_that_the_server_terminates_and_says_the_last_word() {
    let capture = named("server-terminate");
    let mut client = Client::default();
    assert_eq!(client.feed(&capture.server), Ok(vec![Event::SendParameters]));
    client.parameters(&Parameters::default());
    let seen = client.feed(&[]).unwrap();
    assert_eq!(seen, [Event::OpenStreams, Event::MakeReady, Event::Go, Event::ServerTerminated]);
    assert_eq!((client.done(), client.ended()), (vec![*capture.client.last().unwrap()], Ok(())));
}

/// Our server in the place of one that did not let a test run to its end.
fn cut_short(name: &str, mut decide: impl FnMut(&mut Server) -> Vec<u8>) -> (Vec<u8>, Vec<Action>) {
    let capture = named(name);
    let mut server = Server::default();
    let mut said = server.greet();
    let asked = 4 + capture.parameters().expect("parameters").len();
    let Some(Action::Ask(_)) = server.feed(&capture.client[..asked]).pop() else { panic!("asked") };
    said.extend(decide(&mut server));
    let actions = server.feed(&capture.client[asked..]);
    for action in &actions {
        if let Action::Answer(octets) = action {
            said.extend(octets);
        }
    }
    (said, actions)
}

#[test]
fn our_server_turns_away_as_the_real_one_does() {
    let (said, _) = cut_short("server-error-ratelimit-params", |server| server.fail(Code::TOTAL_RATE, 0));
    assert_eq!(said, named("server-error-ratelimit-params").server);
    let (said, _) = cut_short("server-error-maxduration", |server| server.fail(Code::SERVER_DURATION, 0));
    assert_eq!(said, named("server-error-maxduration").server);
    let (said, _) = cut_short("auth-bad-3.12", |server| server.fail(Code::AUTHORISATION, 0));
    assert_eq!(said[..6], named("auth-bad-3.12").server[..], "and a second number, as clients wait for it");
    assert_eq!(said.len(), 10);
}

#[test]
fn our_server_ends_as_the_real_one_does() {
    let run = |server: &mut Server| [server.accept(), server.start()].concat();
    let (said, actions) = cut_short("client-terminate", run);
    assert_eq!(said, named("client-terminate").server);
    assert_eq!(actions.last(), Some(&Action::Close(Reason::Terminated)));
    let (said, actions) = cut_short("server-terminate", |server| [run(server), server.terminate()].concat());
    assert_eq!((said, actions), (named("server-terminate").server, vec![Action::Done]));
}

/// The start of a stream captured with 32 and one with 64 bits: `datagram` tests hold the octets, here is their distance.
#[test]
fn the_last_datagram_of_a_captured_second_is_number_51() {
    let head = [0, 0, 0x04, 0x6c, 0, 0x09, 0xf6, 0xaf, 0, 0, 0, 0x33];
    let Some(Mark::Data { number, sent }) = Counter::Bits32.read(&head) else { panic!("a datagram") };
    assert_eq!((number, sent.0 / 1_000), (51, 1_132_652_975));
}

#[test]
fn a_frame_is_told_from_what_follows() {
    assert_eq!(message(&named("udp").client).map(<[u8]>::len), Some(212));
}
