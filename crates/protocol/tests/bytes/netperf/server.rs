//! The server against whatever a client may say, and whole sessions of both.

use protocol::netperf::answer::{Calibration, Method, Ready, Results, Traffic};
use protocol::netperf::ask::{Ask, Family};
use protocol::netperf::client::{Answer, Client};
use protocol::netperf::error::{Nonsense, OLD_CLIENT, Step};
use protocol::netperf::passphrase::{BadPassphrase, LONGEST, Passphrase};
use protocol::netperf::server::{Action, Reason};
use protocol::netperf::{MESSAGE, OLD_MESSAGE};
use test_case::test_case;

use crate::netperf::captures::{read, server};
use crate::netperf::says::{asked, message, ready_of, request, results_of, rr, with};

#[test]
fn a_whole_session_from_our_client_to_our_server() {
    let (mut client, mut server) = (Client::new(None), server(None));
    for port in [5001, 5002] {
        let said = client.ask(&rr()).expect("its turn");
        assert_eq!(client.step(), Step::Ready);
        assert_eq!(server.feed(&said), [Action::Run(Box::new(rr()))]);
        let ready = Ready { receive_buffer: Some(131_072), ..Ready::at(port) };
        assert_eq!(client.feed(&server.ready(&ready)), Ok(vec![Answer::Ready(ready)]));
        assert_eq!(client.step(), Step::Results);
        let both = Some(Traffic { bytes: 7 << 32, calls: 7 });
        let results = Results {
            received: both,
            sent: both,
            transactions: Some(7),
            elapsed_seconds: Some(1.5),
            congestion: Some("cubic".to_owned()),
            ..Results::default()
        };
        assert_eq!(client.feed(&server.results(&results)), Ok(vec![Answer::Results(results)]));
        assert_eq!(client.step(), Step::Idle);
    }
    let question = client.calibrate(Some(1)).expect("its turn");
    let Some(Action::Answer(answer)) = server.feed(&question).pop() else { panic!("an answer") };
    let calibration = Calibration { rate: Some(100.0), count: 2 };
    assert_eq!(client.feed(&answer), Ok(vec![Answer::Cpu(calibration)]));
    assert_eq!(client.end(), Ok(()));
}

/// As captured from the real server, but for what it leaves in its buffer from answer to answer.
#[test]
fn requests_that_are_no_tests_are_answered_as_by_the_real_server() {
    let mut server = server(None);
    let mut answer = |kind: u32| match &server.feed(&message(&[kind, u32::MAX]))[..] {
        [Action::Answer(octets)] => octets.clone(),
        other => panic!("{kind}: {other:?}"),
    };
    for unknown in [9999, 4, 0, 3, 98, 99, 0x6100_0000, u32::MAX] {
        assert_eq!(answer(unknown), message(&[0, 998]), "{unknown}");
    }
    assert_eq!((answer(1), answer(2)), (message(&[3]), message(&[3])));
    assert_eq!(answer(5), message(&[5, 0, 100_f32.to_bits(), 2]));
    let mut system = message(&[601]);
    system[8..52].copy_from_slice(b",Deprecated,Deprecated,Deprecated,Deprecated");
    assert_eq!(answer(600), system);
    assert_eq!(server.feed(&request(&rr())), [Action::Run(Box::new(rr()))], "and the connection goes on");
}

#[test_case(|octets| with(octets, 88, 65_536), "server data port", 65_536; "port")]
#[test_case(|octets| with(octets, 108, u32::MAX), "client data port", i64::from(u32::MAX); "client port")]
#[test_case(|octets| with(octets, 92, 5), "address family", 5; "family")]
#[test_case(|octets| with(octets, 28, u32::MAX), "request size", -1; "request size")]
#[test_case(|octets| with(octets, 52, u32::MAX), "response size", -1; "response size")]
#[test_case(|octets| with(octets, 160, 0x6162_fffe), "congestion control", 0xff; "not UTF-8")]
#[test_case(|octets| (0..4).fold(octets, |octets, word| with(octets, 160 + 4 * word, 0x6162_6364)), "congestion control", 0x64; "no NUL")]
#[test_case(|octets| with(octets, 176, 0x6162_0a00), "fill file", 0x0a; "line end in a name")]
fn a_request_that_makes_no_sense_is_refused_and_the_connection_goes_on(
    change: fn(Vec<u8>) -> Vec<u8>,
    field: &'static str,
    value: i64,
) {
    let mut server = server(None);
    assert_eq!(server.feed(&change(request(&rr()))), [Action::Answer(message(&[98, 22]))]);
    assert_eq!(server.nonsense(), Some(Nonsense { field, value }));
    assert_eq!(server.nonsense(), None, "told once");
    assert_eq!(server.feed(&request(&rr())), [Action::Run(Box::new(rr()))]);
}

#[test]
fn the_other_words_of_an_ipv4_address_may_be_old() {
    let octets = with(with(request(&rr()), 120, 0x7f00_0001), 128, 0x1234_5678);
    assert_eq!(read(&octets).client_address, Some([127, 0, 0, 1].into()));
}

#[test]
fn of_no_family_the_address_itself_tells() {
    for address in [[127, 0, 0, 1].into(), [0xfe80, 0, 0, 0, 0, 0, 0, 1].into()] {
        let ask = Ask { family: Family::Unspecified, server_address: Some(address), ..rr() };
        assert_eq!(read(&request(&ask)).server_address, Some(address));
    }
}

#[test]
fn a_passphrase_is_wanted_first_and_has_to_be_the_same() {
    let said = |text: &str| {
        let passphrase = Passphrase::new(text).expect("a short one");
        Client::new(Some(passphrase)).ask(&rr()).expect("its turn")
    };
    let run = [Action::Run(Box::new(rr()))];
    assert_eq!(server(Some("sesame")).feed(&said("sesame")), run);
    assert_eq!(server(None).feed(&said("sesame")), run, "who wants none does not mind");
    let wrong = [Action::Close(Reason::WrongPassphrase)];
    for text in ["wrong", "sesam", "sesame ", ""] {
        assert_eq!(server(Some("sesame")).feed(&said(text)), wrong, "{text:?}");
    }
    let mut closed = server(Some("sesame"));
    assert!(closed.awaits_passphrase());
    assert_eq!(closed.feed(&request(&rr())), [Action::Close(Reason::NoPassphrase)]);
    assert_eq!((closed.feed(&said("sesame")), closed.stale()), (vec![], vec![]), "once closed, closed");
    assert_eq!(closed.ready(&Ready::at(1)), b"");
}

#[test]
fn a_passphrase_fits_or_is_none() {
    let longest = "x".repeat(LONGEST);
    let passphrase = Passphrase::new(longest.clone()).expect("it fits");
    assert_eq!(format!("{passphrase:?}"), "Passphrase(647 octets)");
    let said = Client::new(Some(passphrase)).ask(&rr()).expect("its turn");
    assert_eq!(server(Some(&longest)).feed(&said).len(), 1);
    assert_eq!(Passphrase::new("x".repeat(LONGEST + 1)), Err(BadPassphrase::TooLong { length: LONGEST + 1 }));
    assert_eq!(Passphrase::new("a\0b"), Err(BadPassphrase::Nul));
}

#[test]
fn what_comes_while_a_test_runs_waits_and_too_much_ends_the_connection() {
    let mut server = server(None);
    let three = [request(&rr()), message(&[9999]), request(&rr())].concat();
    assert_eq!(server.feed(&three), [Action::Run(Box::new(rr()))]);
    assert_eq!((server.partial(), server.stale()), (0, vec![]), "no timer runs for it");
    server.ready(&Ready::at(5001));
    server.results(&Results::default());
    assert_eq!(server.feed(&[]), [Action::Answer(message(&[0, 998])), Action::Run(Box::new(rr()))]);
    assert_eq!(server.feed(&[0; 2 * MESSAGE]), []);
    assert_eq!(server.feed(&[0]), [Action::Close(Reason::Flood)]);
}

#[test]
fn a_driver_out_of_turn_says_nothing() {
    let mut server = server(None);
    assert_eq!((server.ready(&Ready::at(1)), server.refuse(22)), (vec![], vec![]));
    server.feed(&request(&rr()));
    assert_eq!(server.results(&Results::default()), b"", "no response yet");
    assert_eq!(server.refuse(98), message(&[98, 98]));
    assert_eq!(server.results(&Results::default()), b"", "no test runs");
    assert_eq!(server.feed(&request(&rr())).len(), 1, "and the client may ask again");
}

#[test_case(OLD_MESSAGE)]
#[test_case(2 * OLD_MESSAGE; "with a passphrase")]
fn an_old_client_is_told_in_its_own_size(length: usize) {
    let mut server = server(None);
    let mut short = request(&rr());
    short.truncate(length);
    assert_eq!((server.feed(&short), server.partial()), (vec![], length));
    let mut answer = message(&[98, OLD_CLIENT.cast_unsigned()]);
    answer.truncate(OLD_MESSAGE);
    assert_eq!(server.stale(), [Action::Answer(answer), Action::Close(Reason::OldClient)]);
    assert_eq!(server.feed(&[0; MESSAGE]), [], "once closed, closed");
}

#[test]
fn half_a_message_does_not_stay_for_ever_and_none_may() {
    let mut server = server(None);
    assert_eq!(server.stale(), []);
    server.feed(&[0; 655]);
    let [Action::Close(reason)] = server.stale()[..] else { panic!("closed") };
    assert_eq!(reason.to_string(), "only 655 of 656 octets of a message arrived");
}

#[test]
fn counters_wrap_as_their_fields_do_and_sizes_stop_at_the_largest() {
    let (mut client, mut server) = (asked(), server(None));
    server.feed(&request(&rr()));
    let ready = Ready { send_buffer: Some(u32::MAX), ..Ready::at(5001) };
    let seen = ready_of(&mut client, &server.ready(&ready));
    assert_eq!(seen.send_buffer, Some(i32::MAX.cast_unsigned()));
    let much = Some(Traffic { bytes: u64::MAX, calls: (1 << 32) + 5 });
    let results = Results { received: much, transactions: Some((1 << 32) + 7), ..Results::default() };
    let seen = results_of(&mut client, &server.results(&results));
    assert_eq!(seen.received, Some(Traffic { bytes: u64::MAX, calls: 5 }));
    assert_eq!(seen.transactions, Some(7));
}

#[test]
fn every_method_of_measuring_cpu_use_has_its_letter() {
    let letters: String = (0..14).map(|number| Method(number).letter()).collect();
    assert_eq!(letters, "UIPTLRNKSCEMOU");
}

/// Checks the bound on the octets of a stranger.
#[test]
fn a_stranger_gets_no_further_than_one_message() {
    let mut server = server(None);
    assert_eq!(server.feed(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"), []);
    assert_eq!(server.stale(), [Action::Close(Reason::Stalled { received: 27 })]);
}
