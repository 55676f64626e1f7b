//! Count of a sender's messages that arrived: a question of ours that sockperf's servers pass over, and that ours answer.
//!
//! | octets | |
//! |---|---|
//! | 0-7 | a number of the sender's choice, which comes back |
//! | 8-9 | [`ASKED`], or [`TOLD`] in the answer |
//! | 10-13 | [`LENGTH`] |
//! | 14-21 | [`MARK`] |
//! | 22-29 | in the answer the number of the question since which this sender's messages are counted |
//! | 30-37 | in the answer how many were counted since |
//!
//! All are big-endian. The server counts a sender apart once it has asked; who asks again later, and is told the same
//! beginning, knows that the count is its own and whole.
//!
//! A question has not the client's bit, so sockperf 3.7 neither counts nor answers it, looks for no gap at it, and
//! answers later messages as ever (seen over UDP; with `-g`, and with a `-m` below [`LENGTH`]). So does 3.10 with any
//! message that lacks that bit (seen). Over TCP nothing is lost, and 3.7 passes over the messages behind such a one in
//! one segment: there it is not asked. An answer is as long as its question, so nobody is sent more than he sent.

use crate::sockperf::message::{Flags, HEADER, Header};

/// Bytes of a question, and of its answer.
pub const LENGTH: usize = HEADER + 24;
/// The flags of a question.
pub const ASKED: Flags = Flags(0x0100);
/// The flags of an answer.
pub const TOLD: Flags = Flags(0x0200);
/// Beginning that no other message of such flags has.
pub const MARK: [u8; 8] = *b"sondecnt";

/// Where the octets that only an answer fills begin.
const SINCE: usize = HEADER + MARK.len();
const ARRIVED: usize = SINCE + 8;

/// Content of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// The number of its question.
    pub number: u64,
    /// The number of the question since which is counted.
    pub since: u64,
    /// Messages of the sender that were counted since.
    pub arrived: u64,
}

/// The question of this number.
pub fn question(number: u64) -> [u8; LENGTH] {
    let mut message = [0; LENGTH];
    Header { sequence: number, flags: ASKED, length: LENGTH as u32 }.write(&mut message);
    message[HEADER..SINCE].copy_from_slice(&MARK);
    message
}

/// The number of a question; `None`: the message is none.
pub fn question_in(message: &[u8]) -> Option<u64> {
    number_in(message, ASKED)
}

/// Turns a question into its answer; any other message stays as it is.
pub fn answer(question: &mut [u8], since: u64, arrived: u64) {
    let Some(number) = question_in(question) else { return };
    Header { sequence: number, flags: TOLD, length: LENGTH as u32 }.write(question);
    question[SINCE..ARRIVED].copy_from_slice(&since.to_be_bytes());
    question[ARRIVED..LENGTH].copy_from_slice(&arrived.to_be_bytes());
}

/// Reads an answer; `None`: the message is none.
pub fn told(message: &[u8]) -> Option<Told> {
    let number = number_in(message, TOLD)?;
    let at = |start: usize| Some(u64::from_be_bytes(*message.get(start..)?.first_chunk()?));
    Some(Told { number, since: at(SINCE)?, arrived: at(ARRIVED)? })
}

/// The number of a whole message of these flags.
fn number_in(message: &[u8], flags: Flags) -> Option<u64> {
    let header = Header::read(message).filter(|header| header.flags == flags)?;
    let whole = message.len() == LENGTH && header.length as usize == LENGTH;
    (whole && message[HEADER..].starts_with(&MARK)).then_some(header.sequence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sockperf::server::{Decision, Rules};

    #[test]
    fn a_question_comes_back_with_a_count() {
        let mut message = question(7);
        assert_eq!((question_in(&message), told(&message)), (Some(7), None));
        answer(&mut message, 5, 500);
        assert_eq!((question_in(&message), told(&message)), (None, Some(Told { number: 7, since: 5, arrived: 500 })));
        let before = message;
        answer(&mut message, 9, 9);
        assert_eq!(message, before, "an answer is not answered");
    }

    #[test]
    fn its_octets_are_these() {
        let mut message = question(0x0102_0304_0506_0708);
        let head = [1, 2, 3, 4, 5, 6, 7, 8, 1, 0, 0, 0, 0, 38];
        assert_eq!(message[..], [&head[..], b"sondecnt", &[0; 16]].concat());
        answer(&mut message, 1, 2);
        assert_eq!(message[8..10], [2, 0]);
        assert_eq!(message[22..], [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2]);
    }

    #[test]
    fn servers_that_know_nothing_of_it_pass_it_over() {
        for flags in [ASKED, TOLD] {
            assert_eq!(Rules::default().decide(flags), Decision::Ignore);
        }
    }

    #[test]
    fn nothing_else_is_taken_for_it() {
        let message = question(7);
        for octet in 8..SINCE {
            let mut other = message;
            other[octet] ^= 1;
            assert_eq!(question_in(&other), None, "octet {octet}");
        }
        let mut answered = message;
        answer(&mut answered, 1, 1);
        for length in 0..LENGTH {
            assert_eq!((question_in(&message[..length]), told(&answered[..length])), (None, None));
        }
        assert_eq!(question_in(&[&message[..], &[0]].concat()), None);
        let mut cut = message[..LENGTH - 1].to_vec();
        answer(&mut cut, 5, 5);
        assert_eq!(cut, message[..LENGTH - 1]);
    }
}
