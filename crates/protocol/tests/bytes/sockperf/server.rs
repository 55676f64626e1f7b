//! A server handles sound messages as the real ones do, and others better.

use proptest::prelude::*;
use protocol::sockperf::message::{Flags, HEADER, Header, LARGEST_DATAGRAM, LengthError};
use protocol::sockperf::server::{Decision, Malformed, Rules};
use test_case::test_case;

pub fn message(sequence: u64, flags: u16, length: u32, payload: &[u8]) -> Vec<u8> {
    let mut message = vec![0; HEADER];
    Header { sequence, flags: Flags(flags), length }.write(&mut message);
    message.extend_from_slice(payload);
    message
}

/// Returns the result of a datagram at a server of these rules: the messages it counts, those it sends, and the fault.
fn serve(rules: Rules, datagram: &[u8]) -> (u64, Vec<Vec<u8>>, Option<Malformed>) {
    let mut datagram = datagram.to_vec();
    let (mut counted, mut answers, mut malformed) = (0, vec![], None);
    for handled in rules.datagram(&mut datagram) {
        assert_eq!(malformed, None, "nothing is read after what is malformed");
        match handled {
            Ok(handled) => {
                counted += u64::from(handled.decision != Decision::Ignore);
                if handled.decision == Decision::Answer {
                    answers.push(handled.bytes.to_vec());
                }
            }
            Err(error) => malformed = Some(error),
        }
    }
    (counted, answers, malformed)
}

// As sockperf 3.7 and 3.10 answer the same octets.
#[test_case(3, Some(2); "valid")]
#[test_case(0xFFF3, Some(0xFFF2); "bits without a meaning")]
#[test_case(1, None; "no answer wanted")]
fn a_message_of_a_client_is_counted(flags: u16, answered: Option<u16>) {
    for sequence in [1, 0x8000_0000_0000_0005, 0, u64::MAX] {
        let answers: Vec<_> = answered.iter().map(|flags| message(sequence, *flags, 20, b"ABCDEF")).collect();
        let sent = message(sequence, flags, 20, b"ABCDEF");
        assert_eq!(serve(Rules::default(), &sent), (1, answers, None));
        assert_eq!(serve(Rules { answers: false, ..Rules::default() }, &sent), (1, vec![], None), "--dont-reply");
    }
}

#[test_case(2; "another server's answer")]
#[test_case(0; "another server's")]
#[test_case(4; "another server's warm-up")]
#[test_case(7; "a client's warm-up that asks")]
#[test_case(5; "a client's warm-up")]
fn a_message_of_no_client_is_ignored(flags: u16) {
    assert_eq!(serve(Rules::default(), &message(0, flags, 14, b"")), (0, vec![], None));
}

#[test]
fn several_messages_of_a_datagram_have_an_answer_each() {
    let sent = [message(1, 3, 16, b"aa"), message(2, 7, 14, b""), message(3, 3, 18, b"bbbb")].concat();
    let answers = vec![message(1, 2, 16, b"aa"), message(3, 2, 18, b"bbbb")];
    assert_eq!(serve(Rules::default(), &sent), (2, answers, None));
}

// With each of these 3.7 or 3.10, or both, spoil the datagrams that come next, or never come back.
#[test_case(&message(1, 3, 16, b"aaJUNK"), 1, Malformed::Tail { there: 4 }; "junk behind a message")]
#[test_case(&message(1, 3, 40, b"aaaaaa"), 0, Malformed::Cut { length: 40, there: 20 }; "shorter than it says")]
#[test_case(b"0123456789", 0, Malformed::Tail { there: 10 }; "less than a header")]
#[test_case(&message(1, 3, 0, b""), 0, Malformed::Length(LengthError::TooShort { length: 0 }); "no length, asking")]
#[test_case(&message(1, 0, 0, b""), 0, Malformed::Length(LengthError::TooShort { length: 0 }); "no length")]
#[test_case(&message(1, 3, 5, b""), 0, Malformed::Length(LengthError::TooShort { length: 5 }); "less than its header")]
#[test_case(&message(1, 3, 65_507, b"xx"), 0, Malformed::Cut { length: 65_507, there: 16 }; "the largest, cut")]
#[test_case(
    &message(1, 3, 70_000, b"xx"), 0, Malformed::Length(LengthError::TooLong { length: 70_000, largest: 65_507 });
    "too long")]
#[test_case(
    &message(1, 3, u32::MAX, b""), 0, Malformed::Length(LengthError::TooLong { length: u32::MAX, largest: 65_507 });
    "much too long")]
fn a_malformed_datagram_costs_no_other(datagram: &[u8], sound: u64, malformed: Malformed) {
    let (counted, answers, error) = serve(Rules::default(), datagram);
    assert_eq!((counted, answers.len() as u64, error), (sound, sound, Some(malformed)));
    assert!(!malformed.to_string().is_empty());
}

#[test]
fn an_empty_datagram_is_nothing() {
    assert_eq!(serve(Rules::default(), b""), (0, vec![], None));
}

#[test]
fn a_server_told_of_larger_messages_takes_them() {
    let payload = vec![7; 90_000 - HEADER];
    let sent = message(1, 3, 90_000, &payload);
    let rules = Rules { largest: 100_000, ..Rules::default() };
    assert_eq!(serve(rules, &sent), (1, vec![message(1, 2, 90_000, &payload)], None));
}

#[test]
fn a_datagram_of_any_length_is_handled() {
    let mut datagram = vec![0xFF; 70_000];
    for length in 0..=70_000_u32 {
        let there = length as usize;
        let head = Header { sequence: 1, flags: Flags(3), length };
        head.write(&mut datagram);
        let rest = datagram[there..].as_ptr();
        let mut handled = Rules::default().datagram(&mut datagram[..there]);
        match handled.next() {
            None => assert_eq!(length, 0),
            Some(Ok(answer)) => {
                assert!((14..=LARGEST_DATAGRAM).contains(&length));
                assert_eq!((answer.header, answer.decision, answer.bytes.len()), (head, Decision::Answer, there));
            }
            Some(Err(Malformed::Tail { there: tail })) => assert!(tail == there && there < HEADER),
            Some(Err(Malformed::Length(LengthError::TooLong { .. }))) => assert!(length > LARGEST_DATAGRAM),
            Some(Err(other)) => panic!("{length}: {other}"),
        }
        assert!(handled.next().is_none());
        assert_eq!(datagram[there..].as_ptr(), rest);
    }
}

proptest! {
    #[test]
    fn messages_are_handled_in_place_one_by_one(
        messages in prop::collection::vec((any::<u64>(), any::<u16>(), prop::collection::vec(any::<u8>(), 0..40)), 0..20),
    ) {
        let whole: Vec<_> = messages
            .iter()
            .map(|(sequence, flags, payload)| {
                message(*sequence, *flags, (HEADER + payload.len()) as u32, payload)
            })
            .collect();
        let mut datagram = whole.concat();
        let rules = Rules::default();
        let handled: Result<Vec<_>, _> = rules.datagram(&mut datagram).collect();
        let handled = handled.expect("whole messages");
        prop_assert_eq!(handled.len(), whole.len());
        for (handled, sent) in handled.iter().zip(&whole) {
            let mut expected = sent.clone();
            if handled.decision == Decision::Answer {
                expected[9] &= !1;
            }
            prop_assert_eq!(&*handled.bytes, &expected[..]);
            prop_assert_eq!(Some(handled.header), Header::read(sent));
            prop_assert_eq!(handled.decision, rules.decide(handled.header.flags));
        }
    }
}
