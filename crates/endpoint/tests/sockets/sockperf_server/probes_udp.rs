//! Probes that sockperf 3.7 and 3.10 were sent by hand, one datagram after the other: our server survives all of them,
//! and answers each well-formed one, also behind those that bring the originals out of step.

use protocol::sockperf::server::Rules;
use test_case::test_case;

use crate::sockperf_server::Ours;
use crate::sockperf_server::hand::{ASKING, answered, claiming, message, receive, udp};

/// Sends each of `datagrams` and then one that is answered; what was answered before that, in order.
fn answers(server: &Ours, datagrams: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let socket = udp(server);
    for datagram in datagrams {
        socket.send(datagram).unwrap();
    }
    let last = message(0xFFFF_FFFF, ASKING, 14);
    socket.send(&last).unwrap();
    let mut answers = Vec::new();
    loop {
        let answer = receive(&socket);
        if answer == answered(&last) {
            return answers;
        }
        answers.push(answer);
    }
}

fn plain(sequence: u64) -> Vec<u8> {
    message(sequence, ASKING, 14)
}

#[test_case(&[message(1, ASKING, 20)]; "valid ping")]
#[test_case(&[message(2, 0xFFF3, 20)]; "unknown flag bits")]
#[test_case(&[message(0x8000_0000_0000_0005, ASKING, 14)]; "the highest bit of the number")]
#[test_case(&[message(1, ASKING, 65_507)]; "the largest datagram")]
#[test_case(&(14..120).map(|length| message(length as u64, ASKING, length)).collect::<Vec<_>>(); "every length")]
fn what_asks_is_answered_byte_for_byte(datagrams: &[Vec<u8>]) {
    let server = Ours::start();
    let expected: Vec<_> = datagrams.iter().map(|datagram| answered(datagram)).collect();
    assert!(answers(&server, datagrams) == expected);
    assert_eq!(server.end().messages, datagrams.len() as u64 + 1);
}

#[test_case(0x0001, 1; "a client that does not ask")]
#[test_case(0x0002, 0; "an answer")]
#[test_case(0x0007, 0; "a warm-up")]
#[test_case(0x0000, 0; "no flag")]
fn what_does_not_ask_is_not_answered(flags: u16, counted: u64) {
    let server = Ours::start();
    assert_eq!(answers(&server, &[message(3, flags, 14), plain(5)]), [answered(&plain(5))]);
    let totals = server.end();
    assert_eq!((totals.messages, totals.malformed), (counted + 2, 0));
}

/// `after`: how many plain ones follow, all of which are answered.
#[test_case(&claiming(1, ASKING, 40, 20), 3; "shorter than its length")]
#[test_case(b"0123456789", 2; "ten bytes")]
#[test_case(&claiming(1, ASKING, 70_000, 24), 1; "a length of 70,000")]
#[test_case(&claiming(1, ASKING, 65_507, 24), 1; "the largest length in a small datagram")]
#[test_case(&claiming(1, ASKING, 0, 14), 1; "a length of nothing")]
#[test_case(&claiming(1, 0, 0, 14), 1; "a length of nothing and no flag")]
#[test_case(&claiming(1, ASKING, 5, 14), 1; "a length of five")]
#[test_case(&claiming(1, ASKING, u32::MAX, 14), 1; "the largest number as a length")]
#[test_case(&claiming(1, ASKING, 13, 14), 1; "a length short of a header")]
#[test_case(&[0xFF; 1], 1; "one byte")]
fn what_is_malformed_disturbs_nobody(datagram: &[u8], after: u64) {
    let server = Ours::start();
    let plain: Vec<_> = (1..=after).map(plain).collect();
    let expected: Vec<_> = plain.iter().map(|datagram| answered(datagram)).collect();
    let other = udp(&server);
    let datagrams = [&[datagram.to_vec()][..], &plain].concat();
    assert_eq!(answers(&server, &datagrams), expected);
    let asked = message(9, ASKING, 14);
    other.send(&asked).unwrap();
    assert_eq!(receive(&other), answered(&asked), "nor another sender");
    let totals = server.end();
    assert_eq!((totals.messages, totals.malformed), (after + 2, 1));
}

#[test]
fn an_empty_datagram_is_nothing() {
    let server = Ours::start();
    assert_eq!(answers(&server, &[Vec::new(), plain(2)]), [answered(&plain(2))]);
    let totals = server.end();
    assert_eq!((totals.messages, totals.malformed), (2, 0));
}

#[test]
fn two_messages_in_a_datagram_are_answered_one_by_one() {
    let server = Ours::start();
    let (first, second) = (message(1, ASKING, 16), message(2, ASKING, 18));
    let joined = [first.clone(), second.clone()].concat();
    assert_eq!(answers(&server, &[joined]), [answered(&first), answered(&second)]);
}

#[test]
fn what_trails_a_message_is_dropped_with_its_datagram() {
    let server = Ours::start();
    let first = message(1, ASKING, 16);
    let trailing = [&first[..], b"JUNK"].concat();
    let expected: Vec<_> = [&first, &plain(2), &plain(3)].map(|asked| answered(asked)).into();
    assert_eq!(answers(&server, &[trailing, plain(2), plain(3)]), expected);
    assert_eq!(server.end().malformed, 1);
}

#[test]
fn told_not_to_answer_it_counts() {
    let server = Ours::with(|settings| settings.rules = Rules { answers: false, ..Rules::default() });
    let socket = udp(&server);
    for sequence in 1..=100 {
        socket.send(&plain(sequence)).unwrap();
    }
    assert!(testbed::client::is_silent(&socket));
    assert_eq!(server.end().messages, 100, "what has come when it ends is counted");
}

#[test]
fn every_length_of_anything_is_survived() {
    let server = Ours::start();
    let socket = udp(&server);
    let mut state = 1_u64;
    for length in (0..2_000).chain([9_000, 40_000, 65_507]) {
        let datagram: Vec<u8> = (0..length)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        socket.send(&datagram).unwrap();
    }
    let asked = message(9, ASKING, 14);
    // Some may have been dropped on the way: this one is asked until it is answered.
    socket.set_read_timeout(Some(std::time::Duration::from_millis(200))).unwrap();
    let mut buffer = vec![0; 1 << 16];
    crate::sockperf_server::until("an answer", || {
        socket.send(&asked).unwrap();
        socket.recv(&mut buffer).is_ok_and(|length| buffer[..length] == answered(&asked))
    });
}
