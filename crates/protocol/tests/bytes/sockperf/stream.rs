//! Connections: whole messages out of a stream that comes in pieces.

use proptest::prelude::*;
use protocol::sockperf::message::{HEADER, Header, LARGEST_DATAGRAM, LARGEST_STREAM, LengthError};
use protocol::sockperf::server::{Decision, Rules};
use protocol::sockperf::stream::Framer;
use test_case::test_case;

use crate::sockperf::server::message;

/// Messages that came out of a framer.
#[derive(Debug, Default, PartialEq, Eq)]
struct Served {
    counted: u64,
    answers: Vec<u8>,
    /// Send calls that the answers take.
    sends: usize,
    headers: Vec<Header>,
    error: Option<LengthError>,
}

fn feed(framer: &mut Framer, mut octets: &[u8], mut taken: impl FnMut(&mut Framer) -> bool) {
    while !octets.is_empty() {
        let room = framer.room();
        assert!(!room.is_empty(), "there is room once no whole message is left");
        let length = octets.len().min(room.len());
        room[..length].copy_from_slice(&octets[..length]);
        framer.filled(length);
        octets = &octets[length..];
        if !taken(framer) {
            return;
        }
    }
}

fn serve<'a>(rules: Rules, pieces: impl Iterator<Item = &'a [u8]>) -> Served {
    let (mut framer, mut served) = (Framer::new(rules.largest), Served::default());
    for piece in pieces {
        feed(&mut framer, piece, |framer| {
            loop {
                match framer.serve(&rules, |header| served.headers.push(*header)) {
                    Ok(Some(batch)) => {
                        served.counted += batch.counted;
                        served.answers.extend_from_slice(batch.answers);
                        served.sends += usize::from(!batch.answers.is_empty());
                    }
                    Ok(None) => return true,
                    Err(error) => {
                        served.error = Some(error);
                        return false;
                    }
                }
            }
        });
        if served.error.is_some() {
            break;
        }
    }
    served
}

/// The same, message by message.
fn expected(rules: Rules, messages: &[Vec<u8>]) -> Served {
    let mut served = Served::default();
    let mut before = Decision::Ignore;
    for message in messages {
        let mut answer = message.clone();
        let header = Header::read(message).expect("a header");
        let decision = rules.handle(header, &mut answer);
        served.headers.push(header);
        served.counted += u64::from(decision != Decision::Ignore);
        if decision == Decision::Answer {
            served.answers.extend(answer);
            served.sends += usize::from(before != Decision::Answer);
        }
        before = decision;
    }
    served
}

#[test]
fn messages_and_a_part_of_one_in_one_read() {
    let messages = [message(1, 3, 16, b"aa"), message(2, 1, 14, b""), message(3, 3, 18, b"bbbb")];
    let last = message(4, 3, 30, &[9; 16]);
    let stream = [messages.concat(), last[..20].to_vec()].concat();
    let served = serve(Rules::default(), [&stream[..], &last[20..]].into_iter());
    let answers = [message(1, 2, 16, b"aa"), message(3, 2, 18, b"bbbb"), message(4, 2, 30, &[9; 16])];
    assert_eq!((served.counted, served.answers, served.sends, served.error), (4, answers.concat(), 3, None));
}

#[test]
fn neighbours_that_are_all_answered_go_back_at_once() {
    let messages: Vec<_> = (1..=1000).map(|sequence| message(sequence, 3, 14, b"")).collect();
    let served = serve(Rules::default(), [&messages.concat()[..]].into_iter());
    let answers: Vec<_> = (1..=1000).map(|sequence| message(sequence, 2, 14, b"")).collect();
    assert_eq!((served.counted, served.answers, served.sends), (1000, answers.concat(), 1));
}

#[test]
fn what_is_ignored_takes_nothing_along() {
    // 3.7 loses what follows these in a segment.
    for ignored in [message(0, 7, 14, b""), message(1, 2, 14, b"")] {
        let stream = [ignored, message(2, 3, 14, b"")].concat();
        let served = serve(Rules::default(), [&stream[..]].into_iter());
        assert_eq!((served.counted, served.answers), (1, message(2, 2, 14, b"")));
    }
}

#[test_case(13 => LengthError::TooShort { length: 13 })]
#[test_case(0 => LengthError::TooShort { length: 0 })]
#[test_case(65_508 => LengthError::TooLong { length: 65_508, largest: LARGEST_DATAGRAM })]
#[test_case(u32::MAX => LengthError::TooLong { length: u32::MAX, largest: LARGEST_DATAGRAM })]
fn a_length_that_no_message_has_ends_the_connection(length: u32) -> LengthError {
    let sound = [message(1, 1, 14, b""), message(2, 3, 14, b"")];
    let stream = [sound.concat(), message(3, 3, length, b""), message(4, 3, 14, b"")].concat();
    let rules = Rules::default();
    let served = serve(rules, stream.chunks(5));
    let before = Served { error: served.error, ..expected(rules, &sound) };
    assert_eq!(served, before, "what came before it was handled");
    let mut framer = Framer::new(rules.largest);
    feed(&mut framer, &stream[28..], |_| true);
    let error = framer.message().expect_err("a broken stream");
    assert_eq!((framer.message().map(drop), framer.serve(&rules, |_| ()).map(drop)), (Err(error), Err(error)));
    assert_eq!(served.error, Some(error));
    error
}

#[test]
fn the_largest_message_fits_and_no_more_is_kept_than_it() {
    let largest = message(1, 3, LARGEST_STREAM, &vec![5; LARGEST_STREAM as usize - HEADER]);
    let stream = [message(0, 1, 14, b""), largest.clone(), largest].concat();
    let rules = Rules { largest: LARGEST_STREAM, answers: true };
    let served = serve(rules, stream.chunks(65_536));
    assert_eq!((served.counted, served.answers.len(), served.error), (3, 2 * LARGEST_STREAM as usize, None));
    let mut framer = Framer::new(LARGEST_STREAM);
    feed(&mut framer, &stream[..200_000], |framer| {
        while framer.message().expect("sound").is_some() {}
        assert!(framer.pending() + framer.room().len() <= LARGEST_STREAM as usize);
        true
    });
    assert_eq!(framer.pending(), 200_000 - 14);
}

#[test]
fn more_than_fits_is_not_taken_for_filled() {
    let mut framer = Framer::new(LARGEST_DATAGRAM);
    let room = framer.room().len();
    framer.filled(usize::MAX / 2);
    assert_eq!(framer.pending(), room);
}

fn messages() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let payload = prop_oneof![
        8 => 0..20_usize,
        1 => 0..5000_usize,
        1 => 60_000..=LARGEST_DATAGRAM as usize - HEADER,
    ];
    let flags = prop_oneof![Just(1), Just(3), any::<u16>()];
    prop::collection::vec((any::<u64>(), flags, payload, any::<u8>()), 0..30).prop_map(|messages| {
        let made = messages.into_iter().map(|(sequence, flags, length, octet)| {
            message(sequence, flags, (HEADER + length) as u32, &vec![octet; length])
        });
        made.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pieces_of_any_length_hold_the_same_messages(messages in messages(), piece in 7..80_000_usize) {
        let (rules, stream) = (Rules::default(), messages.concat());
        let one_by_one = expected(rules, &messages);
        let served = serve(rules, stream.chunks(piece));
        prop_assert!(served.sends >= one_by_one.sends, "a row of answers may be cut by the pieces");
        prop_assert_eq!(Served { sends: one_by_one.sends, ..served }, one_by_one);
    }

    #[test]
    fn a_client_takes_them_out_one_by_one(messages in messages(), piece in 7..80_000_usize) {
        let (mut framer, mut seen) = (Framer::new(LARGEST_DATAGRAM), Vec::new());
        for piece in messages.concat().chunks(piece) {
            feed(&mut framer, piece, |framer| {
                while let Some((header, message)) = framer.message().expect("sound lengths") {
                    assert_eq!(Some(header), Header::read(message));
                    seen.push(message.to_vec());
                }
                true
            });
        }
        prop_assert_eq!(framer.pending(), 0);
        prop_assert!(seen == messages);
    }
}
