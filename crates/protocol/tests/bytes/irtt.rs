//! Datagrams of the real irtt 0.9.0, both ends, of one packet each: ours are the same octet by octet, and its replies are read.

use protocol::irtt::key::Key;
use protocol::irtt::opening::{Granted, Opening, Refusal};
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

#[test]
fn who_asks_more_often_than_it_answers_is_told() {
    let granted = &capture("slower").server[0];
    let asked = Opening { gap: Some(5_000_000), ..opening(None, 52, 0) };
    assert_eq!(asked.read(granted), Some(Err(Refusal::TooOften { floor: 10_000_000 })));
}
