//! Probes that sockperf 3.7 and 3.10 were sent by hand over connections, and one that they fail: serving two at once.

use std::io::Write;

use protocol::sockperf::server::Rules;
use test_case::test_case;

use crate::sockperf_server::hand::{ASKING, answered, claiming, good_tcp, is_over, message, read, tcp};
use crate::sockperf_server::{Ours, listening};

#[test]
fn a_message_that_comes_byte_by_byte_is_answered_once_it_is_whole() {
    let server = Ours::start();
    let (mut stream, asked) = (tcp(&server), message(1, ASKING, 20));
    for octet in &asked {
        stream.write_all(&[*octet]).unwrap();
    }
    assert_eq!(read(&mut stream, &asked), answered(&asked));
    drop(stream);
    assert_eq!(server.end().messages, 1);
}

#[test]
fn messages_that_come_together_are_answered_in_order() {
    let server = Ours::start();
    let mut stream = tcp(&server);
    let (one, two, three) = (message(1, ASKING, 16), message(2, 1, 14), message(3, ASKING, 18));
    let (head, tail) = (message(4, ASKING, 30)[..20].to_vec(), message(4, ASKING, 30)[20..].to_vec());
    stream.write_all(&[one.clone(), two, three.clone(), head.clone()].concat()).unwrap();
    let expected = [answered(&one), answered(&three)].concat();
    assert_eq!(read(&mut stream, &expected), expected);
    stream.write_all(&tail).unwrap();
    let whole = [head, tail].concat();
    assert_eq!(read(&mut stream, &whole), answered(&whole));
    drop(stream);
    assert_eq!(server.end().messages, 4);
}

#[test_case(0x0007; "a warm-up")]
#[test_case(0x0002; "an answer")]
fn what_is_not_for_us_spoils_nothing_behind_it(flags: u16) {
    let server = Ours::start();
    let mut stream = tcp(&server);
    let (next, last) = (message(2, ASKING, 14), message(3, ASKING, 14));
    stream.write_all(&[message(1, flags, 14), next.clone()].concat()).unwrap();
    assert_eq!(read(&mut stream, &next), answered(&next));
    stream.write_all(&last).unwrap();
    assert_eq!(read(&mut stream, &last), answered(&last));
    drop(stream);
    assert_eq!(server.end().messages, 2);
}

#[test_case(70_000; "too long")]
#[test_case(65_508; "one byte too long")]
#[test_case(u32::MAX; "far too long")]
#[test_case(13; "short of a header")]
#[test_case(0; "nothing")]
fn a_length_that_cannot_be_ends_its_connection_and_no_other(said: u32) {
    let (tell, lines) = listening();
    let server = Ours::with(|settings| settings.tell = Some(tell));
    let (mut stream, mut other) = (tcp(&server), tcp(&server));
    let before = message(1, ASKING, 14);
    stream.write_all(&[before.clone(), claiming(2, ASKING, said, 14)].concat()).unwrap();
    assert_eq!(read(&mut stream, &before), answered(&before), "what came before it is answered");
    assert!(is_over(&mut stream));
    let asked = message(5, ASKING, 14);
    other.write_all(&asked).unwrap();
    assert_eq!(read(&mut other, &asked), answered(&asked));
    good_tcp(&server);
    drop((stream, other));
    let totals = server.end();
    assert_eq!((totals.messages, totals.malformed, totals.connections), (3, 1, 3));
    let lines = lines.lock().unwrap();
    let told = lines.iter().filter(|line| line.starts_with("Malformed")).count();
    assert_eq!(told, 1, "{lines:?}");
}

#[test_case(65_507, 65_507; "the largest unless told otherwise")]
#[test_case(100_000, 90_000; "a larger one where told so")]
#[test_case(1_048_575, 1_048_575; "the largest of all")]
fn a_message_of_any_length_is_answered(largest: u32, length: usize) {
    let server = Ours::with(|settings| settings.rules = Rules { largest, ..Rules::default() });
    let (mut stream, asked) = (tcp(&server), message(1, ASKING, length));
    let mut writing = stream.try_clone().unwrap();
    let sent = asked.clone();
    let writer = std::thread::spawn(move || writing.write_all(&sent).unwrap());
    assert!(read(&mut stream, &asked) == answered(&asked));
    writer.join().unwrap();
}

#[test]
fn two_clients_are_served_at_once() {
    let server = Ours::start();
    let (mut first, mut second) = (tcp(&server), tcp(&server));
    for sequence in 1..=100 {
        let asked = message(sequence, ASKING, 14);
        for stream in [&mut second, &mut first] {
            stream.write_all(&asked).unwrap();
            assert_eq!(read(stream, &asked), answered(&asked));
        }
    }
    drop((first, second));
    let totals = server.end();
    assert_eq!((totals.messages, totals.connections), (200, 2));
}

#[test_case(false; "waiting")]
#[test_case(true; "spinning")]
fn answers_to_many_messages_are_whole_and_in_order(spin: bool) {
    let server = Ours::with(|settings| settings.spin = spin);
    let stream = tcp(&server);
    let messages: Vec<_> = (1..=20_000).map(|number| message(number, ASKING, 14 + number as usize % 90)).collect();
    let mut writing = stream.try_clone().unwrap();
    let all = messages.concat();
    let writer = std::thread::spawn(move || writing.write_all(&all).unwrap());
    let mut stream = stream;
    for message in &messages {
        assert_eq!(read(&mut stream, message), answered(message));
    }
    writer.join().unwrap();
    drop(stream);
    assert_eq!(server.end().messages, 20_000);
}
