//! Messages of a server that a client must survive.

use measure::unit::Nanos;
use protocol::iperf3::client::{Client, Event};
use protocol::iperf3::code::Code;
use protocol::iperf3::error::{Error, Step};
use protocol::iperf3::parameters::{Direction, Parameters};
use protocol::iperf3::results::{Results, StreamResults, Unreadable};
use protocol::iperf3::state::State;
use protocol::iperf3::stream_id;
use protocol::native::error::Side;
use test_case::test_case;

fn say(states: &[State]) -> Vec<u8> {
    states.iter().map(|state| state.octet()).collect()
}

fn framed(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes(), text.as_bytes()].concat()
}

fn results(streams: usize) -> Results {
    let stream = |index| StreamResults { id: stream_id(index), bytes: 5, ..StreamResults::default() };
    Results { streams: (0..streams).map(stream).collect(), ..Results::default() }
}

/// A client that has come to `step`.
fn at(step: Step) -> Client {
    let mut client = Client::default();
    let path = [
        (Step::Greeting, vec![State::ParamExchange]),
        (Step::Streams, vec![State::CreateStreams]),
        (Step::Start, vec![State::TestStart]),
        (Step::Go, vec![State::TestRunning]),
        (Step::Run, vec![]),
        (Step::Exchange, vec![State::ExchangeResults]),
    ];
    for (from, states) in path {
        if client.step() == step {
            return client;
        }
        assert_eq!(client.step(), from);
        client.feed(&say(&states)).expect("in order");
        match from {
            Step::Greeting => drop(client.parameters(&Parameters::default())),
            Step::Run => drop(client.end()),
            Step::Exchange => drop(client.results(&results(1))),
            _ => {}
        }
    }
    if step == Step::Display {
        client.feed(&framed(&results(1).write())).expect("results");
    }
    assert_eq!(client.step(), step);
    client
}

const WAITING: [Step; 8] =
    [Step::Greeting, Step::Streams, Step::Start, Step::Go, Step::Run, Step::Exchange, Step::Results, Step::Display];

#[test]
fn a_server_may_give_up_at_any_time() {
    for step in WAITING {
        assert_eq!(at(step).feed(&[0xff]), Err(Error::Busy), "{step:?}");
        let said = [&[0xfe][..], &27_i32.to_be_bytes(), &5_i32.to_be_bytes()].concat();
        let why = Error::Server { code: Some(Code(27)), errno: Some(5) };
        assert_eq!(at(step).feed(&said), Err(why.clone()), "{step:?}");
        let mut client = at(step);
        for octet in &said[..8] {
            assert_eq!(client.feed(&[*octet]), Ok(vec![]), "{step:?}");
        }
        assert_eq!(client.feed(&said[8..]), Err(why), "{step:?}, in pieces");
        for cut in 1..9 {
            let mut client = at(step);
            assert_eq!(client.feed(&said[..cut]), Ok(vec![]));
            let code = (cut > 4).then_some(Code(27));
            assert_eq!(client.ended(), Err(Error::Server { code, errno: None }), "{step:?}, cut at {cut}");
        }
    }
}

#[test]
fn a_server_may_terminate_at_any_time_but_within_its_results() {
    for step in WAITING.into_iter().filter(|step| *step != Step::Results) {
        let mut client = at(step);
        assert_eq!(client.feed(&say(&[State::ServerTerminate])), Ok(vec![Event::ServerTerminated]), "{step:?}");
        assert_eq!((client.step(), client.done(), client.done()), (Step::Done, vec![16], vec![]));
        assert_eq!((client.feed(&[1, 2, 3]), client.ended()), (Ok(vec![]), Ok(())), "what follows is not looked at");
    }
}

#[test]
fn whatever_is_not_due_is_an_error_that_stays() {
    let due = [
        (Step::Greeting, State::ParamExchange),
        (Step::Streams, State::CreateStreams),
        (Step::Start, State::TestStart),
        (Step::Go, State::TestRunning),
        (Step::Exchange, State::ExchangeResults),
        (Step::Display, State::DisplayResults),
    ];
    let at_any_time = [State::AccessDenied, State::ServerError, State::ServerTerminate];
    for step in WAITING.into_iter().filter(|step| *step != Step::Results) {
        for said in State::ALL.into_iter().filter(|said| !at_any_time.contains(said) && !due.contains(&(step, *said))) {
            let mut client = at(step);
            let why = Error::OutOfOrder { said, step };
            assert_eq!(client.feed(&[said.octet()]), Err(why.clone()));
            assert_eq!((client.feed(&[9]), client.ended()), (Err(why.clone()), Err(why.clone())));
            assert!(client.end().is_empty() && client.results(&results(1)).is_empty() && client.done().is_empty());
            assert_eq!((why.side(), why.code()), (Side::Theirs, Code::MESSAGE));
        }
        assert_eq!(at(step).feed(b"H"), Err(Error::Unknown { octet: b'H', step }));
    }
}

#[test]
fn an_error_behind_an_event_comes_with_the_next_call() {
    let mut client = at(Step::Streams);
    assert_eq!(client.feed(&[10, 77]), Ok(vec![Event::OpenStreams]));
    let why = Error::Unknown { octet: 77, step: Step::Start };
    assert_eq!((client.feed(&[]), client.partial()), (Err(why), 0));
}

#[test_case(0; "nothing at all")]
#[test_case(64 << 20; "beyond any results")]
#[test_case(u32::MAX >> 1; "beyond memory")]
fn results_of_no_possible_length_are_an_error_before_they_are_here(length: u32) {
    assert_eq!(at(Step::Results).feed(&length.to_be_bytes()), Err(Error::Length { length }));
}

#[test_case("{}", Error::Results { why: Unreadable::Missing("cpu_util_total") }; "an empty object")]
#[test_case("{\"cpu", Error::Results { why: Unreadable::NoObject }; "half an object")]
#[test_case(&results(0).write(), Error::Streams; "no stream")]
#[test_case(&results(2).write(), Error::Streams; "a stream too many")]
#[test_case(&"[".repeat(100_000), Error::Results { why: Unreadable::NoObject }; "nested without end")]
#[test_case(&format!("{{\"a\":{}", "{\"a\":".repeat(100_000)), Error::Results { why: Unreadable::NoObject }; "objects without end")]
fn results_that_make_no_sense_are_an_error(text: &str, why: Error) {
    assert_eq!(at(Step::Results).feed(&framed(text)), Err(why));
}

#[test]
fn results_are_of_the_streams_that_were_asked_for() {
    let mut client = Client::default();
    client.feed(&say(&[State::ParamExchange])).unwrap();
    let both = Parameters { parallel: 2, direction: Direction::Both, ..Parameters::default() };
    client.parameters(&both);
    client.feed(&[10, 1, 2]).unwrap();
    client.end();
    client.feed(&[13]).unwrap();
    client.results(&results(4));
    assert_eq!(client.feed(&framed(&results(4).write())), Ok(vec![Event::Results(Box::new(results(4)))]));
}

#[test]
fn a_closed_connection_is_an_error_until_all_is_done() {
    for step in WAITING {
        assert_eq!(at(step).ended(), Err(Error::Closed { step }));
        let waited = Nanos::secs(3);
        assert_eq!(at(step).silent(waited), Err(Error::Silent { step, waited }));
    }
    let mut client = at(Step::Display);
    assert_eq!(client.feed(&[14]), Ok(vec![Event::Complete]));
    assert_eq!((client.ended(), client.silent(Nanos::secs(1)), client.done()), (Ok(()), Ok(()), vec![16]));
}

#[test]
fn a_call_out_of_turn_writes_nothing() {
    let mut client = Client::default();
    assert!(client.parameters(&Parameters::default()).is_empty(), "nobody asked");
    assert!(client.end().is_empty() && client.results(&results(1)).is_empty() && client.done().is_empty());
    client.feed(&[9]).unwrap();
    assert!(!client.parameters(&Parameters::default()).is_empty());
    assert!(client.parameters(&Parameters::default()).is_empty(), "once");
    assert_eq!((client.terminate(), client.terminate(), client.step()), (vec![12], vec![], Step::Done));
}

#[test]
fn what_comes_while_it_is_our_turn_waits_and_is_bounded() {
    let mut client = Client::default();
    assert_eq!(client.feed(&[9, 10]), Ok(vec![Event::SendParameters]));
    assert_eq!(client.feed(&[1]), Ok(vec![]));
    client.parameters(&Parameters::default());
    assert_eq!(client.feed(&[]), Ok(vec![Event::OpenStreams, Event::MakeReady]));
    let mut client = Client::default();
    client.feed(&[9]).unwrap();
    let mut flood = Ok(vec![]);
    for _ in 0..40 {
        flood = flood.and_then(|_| client.feed(&vec![10; 1 << 20]));
    }
    assert_eq!(flood, Err(Error::Length { length: u32::MAX }));
}

#[test]
fn every_error_says_something() {
    let busy = Error::Busy;
    assert_eq!(busy.to_string(), "the server is busy running a test. try again later");
    let closed = Error::Closed { step: Step::Streams };
    assert!(closed.to_string().starts_with("control socket has closed unexpectedly"), "{closed}");
    let silent = Error::Server { code: None, errno: None };
    assert!(silent.to_string().contains("gives no reason"));
}
