//! The client against whatever a server may answer: out of turn, cut short, too much, too old, or not netperf at all.

use measure::unit::Nanos;
use protocol::native::error::Side;
use protocol::netperf::answer::{Calibration, Method, Ready};
use protocol::netperf::ask::{Ask, Flags, Length, Pacing, Test, Unsayable};
use protocol::netperf::client::{Answer, Client};
use protocol::netperf::error::{Error, Nonsense, Step};
use protocol::netperf::{OLD_MESSAGE, REST};
use test_case::test_case;

use crate::netperf::captures::{read, server};
use crate::netperf::says::{asked, message, request, response, results_of, rr, with};
use crate::netperf::transcript;

fn running() -> Client {
    let mut client = asked();
    let ready = response(&Ready::at(5001));
    assert_eq!(client.feed(&ready), Ok(vec![Answer::Ready(Ready::at(5001))]));
    client
}

fn error(client: &mut Client, octets: &[u8]) -> Error {
    let error = client.feed(octets).expect_err("no sound answer");
    assert_eq!(client.feed(&[]), Err(error.clone()), "an error is final");
    assert_eq!((client.end(), client.silent(REST)), (Err(error.clone()), Err(error.clone())));
    assert_eq!(client.ask(&rr()), Err(error.clone()));
    assert_eq!(client.partial(), 0, "nothing is kept");
    error
}

type Change = fn(&mut Ask);

/// A netserver 2.5 as it is told of: it answers the request's first 256 octets, and later each further 256 by an error.
fn old_response() -> Vec<u8> {
    let mut octets = response(&Ready::at(5001));
    octets.truncate(OLD_MESSAGE);
    octets
}

#[test]
fn a_client_waits_for_its_answer_before_it_asks_again() {
    let mut client = asked();
    assert_eq!(client.ask(&rr()), Err(Error::OutOfTurn { step: Step::Ready }));
    assert_eq!(client.calibrate(None), Err(Error::OutOfTurn { step: Step::Ready }));
    assert!(client.feed(&response(&Ready::at(5001))).is_ok(), "and the session goes on");
}

#[test]
fn what_cannot_be_said_leaves_the_session_as_it_was() {
    let mut client = Client::new(None);
    let too_much = Ask { length: Length::Count(1 << 31 | 1), ..rr() };
    let error = client.ask(&too_much).expect_err("one more than fits");
    assert_eq!(error.to_string(), "count: 2147483649, but netperf's message holds at most 2147483648");
    assert_eq!((error.side(), client.step()), (Side::Ours, Step::Idle));
    assert!(client.ask(&Ask { length: Length::Count(1 << 31), ..rr() }).is_ok());
}

#[test_case(|ask| ask.length = Length::Seconds(0), "seconds: 0, which in netperf's message means until stopped"; "no seconds")]
#[test_case(|ask| ask.length = Length::Count(0), "count: 0, which in netperf's message means until stopped"; "no count")]
#[test_case(|ask| ask.length = Length::Seconds(1 << 31), "seconds: 2147483648, but netperf's message holds at most 2147483647"; "68 years")]
#[test_case(|ask| ask.send_buffer = Some(u32::MAX), "server send buffer: 4294967295, but netperf's message holds at most 2147483647"; "buffer")]
#[test_case(|ask| ask.congestion = Some("a-name-of-sixteen".to_owned()), "congestion control: 17, but netperf's message holds at most 15"; "long name")]
#[test_case(|ask| ask.congestion = Some(String::new()), "congestion control: not a name that can be sent"; "empty name")]
#[test_case(|ask| ask.fill_file = Some("a\0b".to_owned()), "fill file: not a name that can be sent"; "NUL in a name")]
#[test_case(|ask| ask.server_address = Some([0; 16].into()), ":: is not an address of the requested family (V4)"; "family")]
#[test_case(|ask| ask.request_bytes = None, "no request size for a request/response test"; "no size")]
#[test_case(|ask| ask.send_ring.clean = Some(1), "words to read before each send: the request of this test has no field for it"; "clean")]
fn what_omni_cannot_say_is_refused(change: Change, text: &str) {
    let mut ask = rr();
    change(&mut ask);
    assert_eq!(ask.check().expect_err("unsayable").to_string(), text);
}

#[test_case(Test::TcpRr, |ask| ask.send_bytes = Some(1), "server send size")]
#[test_case(Test::TcpRr, |ask| ask.flags = Flags::ROUTE.with(Flags::KEEPALIVE), "flags"; "keep-alive")]
#[test_case(Test::TcpRr, |ask| ask.flags = Flags::NONE, "flags"; "no route")]
#[test_case(Test::TcpCc, |ask| ask.per_connection = false, "direction")]
#[test_case(Test::TcpSink, |ask| ask.tos = Some(8), "type of service")]
#[test_case(Test::TcpSink, |ask| ask.send_ring.alignment = 64, "the server's buffers")]
#[test_case(Test::UdpStream, |ask| ask.congestion = Some("reno".to_owned()), "congestion control"; "UDP stream")]
#[test_case(Test::TcpMaerts, |ask| ask.pacing = Some(Pacing { burst: 1, interval_us: 1 }), "pacing at the server")]
fn what_a_classic_layout_has_no_place_for_is_refused(test: Test, change: Change, field: &'static str) {
    let mut ask = Ask::classic(test, Length::Seconds(1));
    assert_eq!(ask.check(), Ok(()));
    change(&mut ask);
    assert_eq!(ask.check(), Err(Unsayable::NoPlace { field }));
}

#[test]
fn a_classic_server_need_not_know_where_the_clients_socket_is() {
    let mut ask = Ask::classic(Test::UdpRr, Length::Seconds(1));
    ask.client_port = 4000;
    ask.client_address = Some([127, 0, 0, 1].into());
    assert_eq!(ask.check(), Ok(()));
}

#[test]
fn whatever_word_an_answer_opens_with_it_is_read() {
    for word in [0, 98, 99, 0x6200_0000, u32::MAX] {
        let ready = with(response(&Ready::at(5001)), 0, word);
        assert_eq!(asked().feed(&ready), Ok(vec![Answer::Ready(Ready::at(5001))]), "{word:x}");
        assert_eq!(running().feed(&message(&[word])).map(|answers| answers.len()), Ok(1), "{word:x}");
    }
}

#[test]
fn response_and_results_in_one_piece_are_two_answers() {
    let both = [response(&Ready::at(5001)), message(&[99])].concat();
    let answers = asked().feed(&both).expect("both");
    assert!(matches!(answers[..], [Answer::Ready(_), Answer::Results(_)]), "{answers:?}");
}

#[test]
fn results_in_place_of_the_response_are_no_response() {
    for capture in transcript::all().into_iter().filter(|capture| capture.name != "passphrase_missing") {
        let Some([request, _, results]) = capture.messages.first_chunk() else { continue };
        if !request.of_client || results.of_client || !request.fields.text("passphrase").is_empty() {
            continue;
        }
        let mut client = Client::new(None);
        client.ask(&read(&request.octets)).expect("a sound question");
        let error = error(&mut client, &results.octets);
        assert!(matches!(error, Error::Nonsense { step: Step::Ready, .. }), "{}: {error:?}", capture.name);
    }
}

#[test]
fn an_answer_nobody_asked_for_is_an_error() {
    let mut client = Client::new(None);
    assert_eq!(error(&mut client, b"220 "), Error::Unasked { octets: 4 });
    let mut client = running();
    let surplus = [message(&[99]), vec![1]].concat();
    let answers = client.feed(&surplus).expect("the results come first");
    assert!(matches!(answers[..], [Answer::Results(_)]), "{answers:?}");
    let said = error(&mut client, &[]);
    assert_eq!(said.to_string(), "unexpected octets from the server: 1");
    assert_eq!(said.side(), Side::Theirs);
}

#[test_case(998, "the server does not know this request (error 998 instead of the response to a test request)")]
#[test_case(22, "the server cannot do this: error 22 instead of the response to a test request")]
fn an_error_number_is_told(code: u32, text: &str) {
    let said = error(&mut asked(), &message(&[98, code]));
    assert_eq!(said, Error::Refused { step: Step::Ready, code: code.cast_signed() });
    assert_eq!((said.to_string().as_str(), said.side()), (text, Side::Theirs));
}

#[test]
fn an_error_number_in_place_of_results_is_told_as_such() {
    let mut server = server(None);
    server.feed(&request(&rr()));
    let mut client = asked();
    client.feed(&server.ready(&Ready::at(5001))).expect("ready");
    let said = error(&mut client, &server.refuse(104));
    assert_eq!(said, Error::Refused { step: Step::Results, code: 104 });
}

#[test_case(0)]
#[test_case(65_536)]
#[test_case(u32::MAX)]
fn a_data_port_that_cannot_be_is_no_port(port: u32) {
    let said = error(&mut asked(), &with(response(&Ready::at(5001)), 52, port));
    let nonsense = Nonsense { field: "data port", value: i64::from(port) };
    assert_eq!(said, Error::Nonsense { step: Step::Ready, nonsense });
    let text = format!("invalid value in the response to a test request: its data port is {port}");
    assert_eq!(said.to_string(), text);
}

#[test]
fn a_connection_closed_too_early_is_told_with_what_came() {
    let mut client = asked();
    let said = client.end().expect_err("an answer is due");
    assert_eq!(said, Error::Closed { step: Step::Ready, received: 0 });
    let mut client = running();
    client.feed(&[0; 300]).expect("not whole");
    let said = client.end().expect_err("results are due");
    assert_eq!(said.to_string(), "the server closed the connection after 300 of 656 octets of the results");
    assert_eq!((client.partial(), client.end()), (0, Err(said)));
}

#[test]
fn silence_is_told_with_what_came() {
    let mut client = asked();
    let said = client.silent(Nanos::secs(120)).expect_err("an answer is due");
    assert_eq!(said.to_string(), "no answer within 120 s while we waited for the response to a test request");
    let mut client = asked();
    client.feed(&[0; 655]).expect("not whole");
    let said = client.silent(REST).expect_err("the rest is due");
    assert_eq!(said.to_string(), "only 655 of 656 octets of the response to a test request arrived within 5 s");
    assert_eq!((Client::new(None).silent(REST), said.side()), (Ok(()), Side::Path));
}

#[test]
fn an_old_server_is_told_by_its_short_message() {
    let mut client = asked();
    assert_eq!(client.feed(&old_response()), Ok(vec![]), "it may be the first part of a long one");
    assert_eq!(client.partial(), OLD_MESSAGE);
    let said = client.silent(REST).expect_err("a short message");
    assert_eq!(said, Error::OldServer { step: Step::Ready });
    assert_eq!(
        said.to_string(),
        "the server answers in messages of 256 octets instead of 656: a netserver older than 2.6"
    );
}

#[test]
fn three_short_messages_of_an_old_server_are_not_taken_for_a_long_one() {
    let mut results = message(&[99]);
    results.truncate(OLD_MESSAGE);
    let mut unknown = message(&[0, 998]);
    unknown.truncate(OLD_MESSAGE);
    let both = [old_response(), results, unknown.clone()].concat();
    assert_eq!(error(&mut asked(), &both), Error::OldServer { step: Step::Ready });
    let both = [old_response(), unknown.clone(), unknown].concat();
    assert_eq!(error(&mut asked(), &both), Error::OldServer { step: Step::Ready });
}

/// Made from what is known of the source of 2.6: no capture of one exists.
#[test]
fn results_of_netperf_2_6_are_read_where_they_stand() {
    let ask = Ask { flags: Flags::ROUTE.with(Flags::MEASURE_CPU), ..rr() };
    let mut client = Client::new(None);
    client.ask(&ask).expect("its turn");
    client.feed(&response(&Ready { flags: Flags::MEASURE_CPU, ..Ready::at(5001) })).expect("ready");
    let mut octets = with(with(message(&[99]), 52, 12.5_f32.to_bits()), 60, 8);
    octets = with(with(octets, 64, 4), 68, 3);
    octets = with(with(octets, 72, 50_f32.to_bits()), 92, 17);
    octets[256..261].copy_from_slice(b"cubic");
    let results = results_of(&mut client, &octets);
    let cpu = results.cpu.expect("measured");
    assert_eq!((cpu.util, cpu.user, cpu.swintr), (Some(12.5), None, None));
    assert_eq!((cpu.method, cpu.count, cpu.peak_id, cpu.peak_util), (Method::PROC_STAT, 4, Some(3), Some(50.0)));
    assert_eq!((results.retransmits, results.congestion.as_deref()), (Some(17), Some("cubic")));
}

#[test]
fn cpu_use_is_not_believed_where_nobody_measured() {
    let mut client = running();
    let octets = with(with(message(&[99]), 52, 12.5_f32.to_bits()), 80, 8);
    let results = results_of(&mut client, &octets);
    assert_eq!(results.cpu, None, "not asked for");
    let ask = Ask { flags: Flags::ROUTE.with(Flags::MEASURE_CPU), ..rr() };
    client.ask(&ask).expect("its turn");
    client.feed(&response(&Ready::at(5001))).expect("ready, and measures nothing");
    let results = results_of(&mut client, &octets);
    assert_eq!(results.cpu, None, "asked for, and not done");
}

#[test]
fn numbers_that_are_none_are_not_said() {
    let nan = f32::NAN.to_bits();
    let octets = with(with(message(&[99]), 48, nan), 276, 0xff00_0000);
    let results = results_of(&mut running(), &octets);
    assert_eq!((results.elapsed_seconds, &results.congestion), (None, &None));
    let mut client = Client::new(None);
    client.calibrate(None).expect("its turn");
    let calibration = Calibration { rate: None, count: 2 };
    assert_eq!(client.feed(&message(&[5, 0, nan, 2])), Ok(vec![Answer::Cpu(calibration)]));
}
