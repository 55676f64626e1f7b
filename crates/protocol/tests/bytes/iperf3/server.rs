//! Messages of a client that a server must survive.

use protocol::iperf3::client::{Client, Event};
use protocol::iperf3::code::Code;
use protocol::iperf3::parameters::{Direction, Parameters};
use protocol::iperf3::results::{Results, StreamResults};
use protocol::iperf3::server::{Action, Reason, Server};
use protocol::iperf3::state::State;
use protocol::iperf3::{LONGEST_CLIENT_RESULTS, LONGEST_PARAMETERS, stream_id};
use test_case::test_case;

fn framed(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes(), text.as_bytes()].concat()
}

fn failure(code: i32) -> Action {
    Action::Answer([&[0xfe][..], &code.to_be_bytes(), &[0; 4]].concat())
}

fn results(streams: usize) -> Results {
    let stream = |index| StreamResults { id: stream_id(index), ..StreamResults::default() };
    Results { streams: (0..streams).map(stream).collect(), ..Results::default() }
}

/// A server that was asked for nothing yet.
fn greeted() -> Server {
    let mut server = Server::default();
    assert_eq!(server.greet(), [9]);
    server
}

fn asked() -> Server {
    let mut server = greeted();
    assert_eq!(server.feed(&framed("{}")), [Action::Ask(Box::default())]);
    server
}

fn running() -> Server {
    let mut server = asked();
    assert_eq!((server.accept(), server.start()), (vec![10], vec![1, 2]));
    server
}

/// A server that waits for the client's results.
fn exchanging() -> Server {
    let mut server = running();
    assert_eq!(server.feed(&[4]), [Action::End]);
    assert_eq!(server.exchange(), [13]);
    server
}

#[test]
fn our_two_ends_understand_each_other() {
    let asked =
        Parameters { direction: Direction::Both, parallel: 3, title: Some("ä".to_owned()), ..Parameters::default() };
    let (mut client, mut server) = (Client::default(), greeted());
    assert_eq!(client.feed(&[9]), Ok(vec![Event::SendParameters]));
    assert_eq!(server.feed(&client.parameters(&asked)), [Action::Ask(Box::new(asked.clone()))]);
    client.feed(&server.accept()).unwrap();
    assert_eq!(client.feed(&server.start()), Ok(vec![Event::MakeReady, Event::Go]));
    assert_eq!(server.feed(&client.end()), [Action::End]);
    assert_eq!(client.feed(&server.exchange()), Ok(vec![Event::SendResults]));
    assert_eq!(server.feed(&client.results(&results(6))), [Action::Results(Box::new(results(6)))]);
    let told = client.feed(&server.results(&results(6))).unwrap();
    assert_eq!(told, [Event::Results(Box::new(results(6))), Event::Complete]);
    assert_eq!(server.feed(&client.done()), [Action::Done]);
    assert!(server.is_closed() && server.feed(&[16]).is_empty());
}

#[test_case(0)]
#[test_case(LONGEST_PARAMETERS as u32 + 1)]
#[test_case(u32::MAX)]
fn parameters_of_no_possible_length_close_the_connection_before_they_are_here(length: u32) {
    let reason = Reason::Length { length, most: LONGEST_PARAMETERS };
    assert_eq!(greeted().feed(&length.to_be_bytes()), [Action::Close(reason)]);
}

#[test]
fn parameters_as_long_as_may_be_are_read() {
    let text = format!(r#"{{"title":"{}"}}"#, "x".repeat(LONGEST_PARAMETERS - 12));
    assert_eq!(text.len(), LONGEST_PARAMETERS);
    let mut server = greeted();
    for octet in framed(&text).split_last().unwrap().1 {
        assert!(server.feed(&[*octet]).is_empty());
    }
    assert_eq!(server.partial(), LONGEST_PARAMETERS + 3);
    assert!(matches!(server.feed(b"}")[..], [Action::Ask(_)]));
}

#[test_case("{\"time\":-1}", 5)]
#[test_case("{\"parallel\":1e9}", 6)]
#[test_case("nonsense", 114)]
#[test_case(&"[".repeat(8_000), 114; "nested without end")]
fn what_cannot_be_asked_for_is_answered_by_its_number(text: &str, code: i32) {
    let reason = Reason::Parameters(Code(code));
    assert_eq!(greeted().feed(&framed(text)), [failure(code), Action::Close(reason)]);
}

#[test]
fn whatever_is_not_due_closes_the_connection() {
    for said in State::ALL {
        let octet = said.octet();
        let expected = |server: &str| match (server, said) {
            (_, State::ClientTerminate) => vec![failure(119), Action::Close(Reason::Terminated)],
            ("running", State::TestEnd) => vec![Action::End],
            _ => vec![Action::Close(Reason::OutOfOrder(said))],
        };
        assert_eq!(running().feed(&[octet]), expected("running"));
        let mut server = asked();
        server.accept();
        assert_eq!(server.feed(&[octet]), expected("opening"));
    }
    assert_eq!(running().feed(b"G"), [Action::Close(Reason::Unknown(b'G'))]);
}

#[test]
fn a_client_may_give_up_at_any_time() {
    let given_up = [failure(119), Action::Close(Reason::Terminated)];
    let mut server = asked();
    assert_eq!((server.feed(&[12]), server.accept()), (vec![], vec![10]), "heard when it is its turn");
    assert_eq!(server.feed(&[]), given_up);
    assert_eq!(running().feed(&[12]), given_up);
    assert_eq!(exchanging().feed(&[12, 0, 0, 0]), given_up);
}

#[test]
fn results_must_be_of_the_streams_that_there_were() {
    assert_eq!(exchanging().feed(&framed(&results(1).write())), [Action::Results(Box::new(results(1)))]);
    assert_eq!(exchanging().feed(&framed(&results(2).write())), [Action::Close(Reason::Streams)]);
    let unreadable = exchanging().feed(&framed("{}"));
    assert!(matches!(unreadable[..], [Action::Close(Reason::Results(_))]), "{unreadable:?}");
    let length = LONGEST_CLIENT_RESULTS as u32 + 1;
    let reason = Reason::Length { length, most: LONGEST_CLIENT_RESULTS };
    assert_eq!(exchanging().feed(&length.to_be_bytes()), [Action::Close(reason)]);
}

#[test]
fn what_comes_early_waits_and_is_bounded() {
    let mut server = running();
    let early = [&[4][..], &framed(&results(1).write())].concat();
    assert_eq!(server.feed(&early), [Action::End]);
    assert_eq!((server.partial(), server.exchange()), (0, vec![13]));
    assert_eq!(server.feed(&[]), [Action::Results(Box::new(results(1)))]);
    let mut server = asked();
    let flood = server.feed(&vec![1; 1 << 20]);
    assert_eq!(flood, [Action::Close(Reason::Flood(1 << 20))]);
}

#[test]
fn a_call_out_of_turn_writes_nothing() {
    let mut server = Server::default();
    assert!(server.accept().is_empty() && server.start().is_empty() && server.exchange().is_empty());
    assert!(server.results(&results(1)).is_empty() && server.fail(Code::BUSY, 0).is_empty());
    assert!(server.terminate().is_empty());
    assert_eq!((server.greet(), server.greet()), (vec![9], vec![]));
    let mut server = running();
    assert_eq!((server.terminate(), server.terminate()), (vec![11], vec![]));
    assert_eq!(server.feed(&[4]), [Action::Done], "the end crossed our word");
    let mut server = running();
    assert_eq!(server.fail(Code::EXPIRED, 7), [&[0xfe][..], &160_i32.to_be_bytes(), &7_i32.to_be_bytes()].concat());
    assert!(server.fail(Code::EXPIRED, 7).is_empty() && server.feed(&[4]).is_empty());
}

#[test]
fn every_reason_says_something() {
    let reasons = [
        Reason::Parameters(Code::STREAMS),
        Reason::Length { length: 0, most: 1 },
        Reason::Streams,
        Reason::Unknown(3),
        Reason::OutOfOrder(State::Done),
        Reason::Flood(9),
        Reason::Terminated,
        Reason::Failed(Code::EXPIRED),
    ];
    assert!(reasons.iter().all(|reason| !reason.to_string().is_empty()));
}
