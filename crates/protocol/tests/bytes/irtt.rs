//! Datagrams of the real irtt 0.9.0, both ends, of one packet each: ours are the same octet by octet, and its replies are read.

use measure::unit::{Instant, Nanos};
use protocol::irtt::key::Key;
use protocol::irtt::opening::{self, Granted, Opening, Refusal};
use protocol::irtt::parameters::Parameters;
use protocol::irtt::server::{Arrival, Moment, Outcome, Rules, Server, Stamps};
use protocol::irtt::session::Session;
use test_case::test_case;

const CAPTURES: &str = include_str!("../fixtures/irtt/captures.txt");

/// Datagrams of a capture: the client's opening, packet and end, and the server's replies to the first two.
struct Capture {
    client: Vec<Vec<u8>>,
    server: Vec<Vec<u8>>,
}

fn octets(digits: &str) -> Vec<u8> {
    let pair = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal digits");
    (0..digits.len()).step_by(2).map(pair).collect()
}

fn capture(name: &str) -> Capture {
    assert!(CAPTURES.starts_with("program: irtt 0.9.0\n"));
    let head = format!("# {name}: ");
    let lines: Vec<&str> = CAPTURES
        .lines()
        .skip_while(|line| !line.starts_with(&head))
        .skip(1)
        .take_while(|line| !line.starts_with('#'))
        .collect();
    let of = |side: &str| lines.iter().filter_map(|line| line.strip_prefix(side)).map(octets).collect();
    Capture { client: of("> "), server: of("< ") }
}

/// The session that its command line asks for, but for a type of service.
fn opening(key: Option<&str>, length: usize, class: u8) -> Opening {
    let key = key.map(|key| Key::new(key.as_bytes()));
    Opening { key, length, class, duration: Some(1_000), gap: Some(20_000_000), is_even: true }
}

#[test_case("plain", None, 52, 0, None; "as it is")]
#[test_case("sealed", Some("secret"), 68, 0, None; "with a key")]
#[test_case("marked", None, 100, 184, None; "padded and marked")]
#[test_case("slower", None, 52, 0, Some(10_000_000); "of a server that answers less often")]
fn both_ends_say_what_ours_says_and_reads(name: &str, key: Option<&str>, length: usize, class: u8, floor: Option<u64>) {
    let Capture { client, server } = capture(name);
    let ([request, packet, end], [granted, reply]) = (&client[..], &server[..]) else { panic!("{name}") };
    let opening = opening(key, length, class);
    let token = match opening.read(granted) {
        Some(Ok(Granted { token, floor: found, has_times: true })) if found == floor => token,
        other => panic!("{other:?}"),
    };
    assert_eq!(&opening.request(), request);
    let session = Session { key: opening.key.clone(), token, length, has_times: true };
    let mut ours = vec![0xEE; length];
    session.open(&mut ours);
    session.write(&mut ours, 0);
    assert_eq!(&ours, packet);
    assert_eq!(&session.close(), end);
    let answer = session.read(reply).expect("a reply");
    let (came, left) = answer.times.expect("its times");
    assert_eq!((answer.number, answer.count, answer.is_last), (0, 1, false));
    // It was recorded after 2020, and answered within a second.
    assert!(came > 1_577_836_800_000_000_000 && left - came < 1_000_000_000, "{came} to {left}");
}

#[test]
fn a_server_with_one_time_for_both_gives_no_delays() {
    let server = capture("restricted").server;
    let Some(Ok(Granted { token, has_times: false, .. })) = opening(None, 52, 0).read(&server[0]) else { panic!() };
    let session = Session { key: None, token, length: 52, has_times: false };
    let answer = session.read(&server[1]).expect("a reply");
    assert_eq!((answer.number, answer.count, answer.times), (0, 1, None));
}

#[test_case("plain", None, 52; "as it is")]
#[test_case("sealed", Some("secret"), 68; "with a key")]
#[test_case("restricted", None, 52; "with one time for both")]
fn a_reply_is_read_by_the_parameters_that_were_granted(name: &str, key: Option<&str>, length: usize) {
    let server = capture(name).server;
    let key = key.map(|key| Key::new(key.as_bytes()));
    let granted = opening::reply(&server[0], key.as_ref()).expect("a reply").expect("parameters");
    let session = Session { key, token: granted.token, length, has_times: false };
    let reply = session.read_as(&granted.parameters, &server[1]).expect("a reply");
    assert_eq!((reply.number, reply.count, reply.window, reply.is_last), (0, Some(1), None, granted.is_closed));
    let (received, sent) = (reply.received, reply.sent);
    assert_eq!(received == sent, name == "restricted");
    assert!(received.wall.is_some() && received.wall <= sent.wall && received.monotonic <= sent.monotonic);
}

#[test]
fn who_asks_more_often_than_it_answers_is_told() {
    let granted = &capture("slower").server[0];
    let asked = Opening { gap: Some(5_000_000), ..opening(None, 52, 0) };
    assert_eq!(asked.read(granted), Some(Err(Refusal::TooOften { floor: 10_000_000 })));
}

/// Rules of a server that was started with `-i 0`.
fn rules() -> Rules {
    Rules { interval: None, ..Rules::default() }
}

/// Asserts that our server makes the replies of a capture where it draws its names and reads its times.
fn replies_are_the_same(capture: &Capture, rules: Rules, token: u64, came: Moment, left: Moment) {
    let mut server = Server::new(rules, 0);
    let arrival = Arrival { from: "192.0.2.1:5000".parse().unwrap(), now: Instant(0), at: came };
    let mut replies = Vec::new();
    for datagram in &capture.client {
        let mut buffer = vec![0xEE; 1_024];
        buffer[..datagram.len()].copy_from_slice(datagram);
        let Outcome { reply, .. } = server.take(&mut buffer, datagram.len(), &arrival, || Some(token), || left);
        replies.extend(reply.map(|reply| buffer[..reply.length].to_vec()));
    }
    assert_eq!(replies, capture.server);
}

fn number<const N: usize>(octets: &[u8], at: usize) -> [u8; N] {
    *octets[at..].first_chunk().expect("so many octets")
}

#[test_case("plain", rules(), 4; "as it is")]
#[test_case("sealed", Rules { key: Some(Key::new(b"secret")), ..rules() }, 20; "with a key")]
#[test_case("marked", rules(), 4; "padded and marked")]
#[test_case("slower", Rules::default(), 4; "with the usual interval")]
#[test_case("restricted", Rules { stamps: Stamps::Single, ..rules() }, 4; "with one time for both")]
fn our_server_says_what_theirs_says(name: &str, rules: Rules, at: usize) {
    let capture = capture(name);
    let token = u64::from_le_bytes(number(&capture.server[0], at));
    let time = |place: usize| i64::from_le_bytes(number(&capture.server[1], at + 16 + 8 * place));
    let came = Moment { wall: time(0), monotonic: time(1) };
    let is_halfway = rules.stamps == Stamps::Single;
    let left = if is_halfway { came } else { Moment { wall: time(2), monotonic: time(3) } };
    replies_are_the_same(&capture, rules, token, came, left);
}

/// Rules of a server that grants these fills.
fn filling(fills: &str) -> Rules {
    Rules { fills: vec![fills.to_owned()], ..rules() }
}

#[test_case("arrival", rules(), Some(28); "counts, bits and arrival by the monotonic clock")]
#[test_case("filled", filling("pattern:*"), None; "a fill and no times")]
#[test_case("fill refused", rules(), Some(24); "bits, departure by the wall clock, and another fill")]
#[test_case("closed", Rules::default(), None; "an opening that closes")]
fn our_server_grants_what_theirs_grants(name: &str, rules: Rules, time: Option<usize>) {
    let capture = capture(name);
    let token = u64::from_le_bytes(number(&capture.server[0], 4));
    let time = time.map_or(0, |at| i64::from_le_bytes(number(&capture.server[1], at)));
    let moment = Moment { wall: time, monotonic: time };
    replies_are_the_same(&capture, rules, token, moment, moment);
}

#[test]
fn a_capture_has_the_parameters_of_its_command_line() {
    let asked = Parameters::decode(&capture("marked").client[0][4..]).expect("parameters");
    let expected = Parameters {
        version: 1,
        duration: 1_000,
        interval: 1,
        length: 100,
        stats: 1,
        stamp_at: 3,
        clock: 3,
        class: 184,
        fill: String::new(),
    };
    assert_eq!((asked.shortest(false), Nanos(asked.duration.cast_unsigned())), (52, Nanos::micros(1)));
    assert_eq!(asked, expected);
}
