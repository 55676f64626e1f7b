//! Facts of measuring threads, gathered beside them: the times of exchanges, and the losses that sequence numbers show.

use std::iter::Sum;
use std::ops::Add;

use measure::clock_offset::Gathered;
use measure::outcome::one_way::ClockState;
use measure::unit::Nanos;
use protocol::stamp::time::ErrorEstimate;
use rtrb::{Consumer, Producer, RingBuffer};

use super::heard::Heard;
use super::opening::{Anchor, Opening};
use super::{Exchanged, Fact};
use crate::clock::Monotonic;
use crate::error::{Cause, EndpointError, Step};
use crate::session::scene::FarEnd;
use crate::stop::Stop;

/// Facts that a thread may be ahead: a tenth of a second of as many as a core can make.
const RING: usize = 1 << 15;

/// Gathers the facts of all sessions.
#[derive(Debug, Default)]
pub struct Gather {
    sessions: Vec<Session>,
    /// The times of exchanges.
    pub times: Gathered,
    /// Exchanges whose departure was stamped by the kernel.
    pub left_by_kernel: u64,
    /// Exchanges whose answer's arrival was stamped by the kernel.
    pub came_by_kernel: u64,
    error: Option<ErrorEstimate>,
    /// Time to live of the latest packet on its arrival at the peer; absent: not reported.
    pub time_to_live: Option<u8>,
    /// The parts of answers, added up.
    pub parts: Heard,
    /// True where the far side has ended a session.
    closed: bool,
    /// The most answers that are kept.
    most: usize,
    /// Answers kept one by one, as of [`Each`](super::Each).
    pub kept: Vec<Exchanged>,
}

#[derive(Debug)]
struct Session {
    facts: Consumer<Fact>,
    /// The latest answer before the recording.
    anchor: Anchor,
    /// The first number of the recording.
    began: Option<u32>,
    /// The number after its last.
    end: Option<u32>,
    /// The highest number of the recording that was answered, and the highest number of an answer.
    last: Option<Anchor>,
}

/// Losses among the recorded packets of a session, by its sequence numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// Answers that the peer has sent.
    pub answered: u64,
    /// Packets whose arrival at the peer no number shows.
    pub unsure: u64,
}

impl Add for Numbers {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { answered: self.answered + other.answered, unsure: self.unsure + other.unsure }
    }
}

impl Sum for Numbers {
    fn sum<I: Iterator<Item = Self>>(numbers: I) -> Self {
        numbers.fold(Self::default(), Add::add)
    }
}

impl Gather {
    /// Gathers the same, and keeps so many answers.
    pub fn keeping(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    /// Adds a session; returns the sink for the facts of its wire.
    pub fn add(&mut self, opening: &Opening) -> Producer<Fact> {
        let (producer, facts) = RingBuffer::new(RING);
        self.sessions.push(Session { facts, anchor: opening.anchor, began: None, end: None, last: None });
        producer
    }

    /// Takes what was told since.
    pub fn empty(&mut self) {
        for index in 0..self.sessions.len() {
            while let Ok(fact) = self.sessions[index].facts.pop() {
                match fact {
                    Fact::Began(number) => self.sessions[index].began = Some(number),
                    Fact::Ended(number) => self.sessions[index].end = Some(number.wrapping_add(1)),
                    Fact::Closed => self.closed = true,
                    Fact::Answered(exchanged) => {
                        self.sessions[index].heard(&exchanged);
                        self.note(&exchanged);
                        // Sessions are counted apart: the first one gives the parts.
                        if index == 0 {
                            self.parts.hear(&exchanged);
                            if self.kept.len() < self.most {
                                self.kept.extend(self.sessions[0].kept(&exchanged));
                            }
                        }
                    }
                }
            }
        }
    }

    fn note(&mut self, exchanged: &Exchanged) {
        if let Some(times) = exchanged.times {
            self.times.add(times);
            self.left_by_kernel += u64::from(exchanged.left_by_kernel);
            self.came_by_kernel += u64::from(exchanged.came_by_kernel);
        }
        self.error = exchanged.error.or(self.error);
        self.time_to_live = exchanged.time_to_live.or(self.time_to_live);
    }

    /// Returns the state of the peer's clock, by its own report.
    pub fn theirs(&self) -> ClockState {
        let Some(error) = self.error else { return ClockState::default() };
        let told = error.error().filter(|_| error.synchronised).map(Nanos);
        ClockState { synchronised: Some(error.synchronised), error_ns: told }
    }

    /// The number with which session `index` may be asked once more, where its last packet has no answer yet and it was
    /// recorded at all.
    pub fn open_end(&self, index: usize) -> Option<u32> {
        let session = self.sessions.get(index)?;
        let (Some(_), Some(end)) = (session.began, session.end) else { return None };
        Some(end).filter(|end| session.last.is_none_or(|last| last.number.wrapping_add(1) != *end))
    }

    /// Returns the losses among the recorded packets of session `index`, whose peer numbers its answers. `closing` is a
    /// later answer, with the number of packets sent for it that had none.
    pub fn numbers(&self, index: usize, closing: Option<(Anchor, u32)>) -> Option<Numbers> {
        self.sessions.get(index)?.numbers(closing)
    }
}

impl Session {
    fn heard(&mut self, exchanged: &Exchanged) {
        let heard = Anchor { number: exchanged.number, own_number: exchanged.own_number };
        match self.began {
            Some(began) if !is_before(heard.number, began) => {
                let last = self.last.get_or_insert(heard);
                last.number = later(last.number, heard.number);
                last.own_number = later(last.own_number, heard.own_number);
            }
            _ => {
                self.anchor.number = later(self.anchor.number, heard.number);
                self.anchor.own_number = later(self.anchor.own_number, heard.own_number);
            }
        }
    }

    /// An answer to a recorded packet, with numbers that count from the first of these.
    fn kept(&self, exchanged: &Exchanged) -> Option<Exchanged> {
        let began = self.began.filter(|began| !is_before(exchanged.number, *began))?;
        let number = exchanged.number.wrapping_sub(began);
        let own_number = exchanged.own_number.wrapping_sub(self.anchor.own_number).wrapping_sub(1);
        Some(Exchanged { number, own_number, ..*exchanged })
    }

    fn numbers(&self, closing: Option<(Anchor, u32)>) -> Option<Numbers> {
        let (began, end) = (self.began?, self.end?);
        // Packets of the warm-up between the latest answered and the first recorded.
        let before = u64::from(began.wrapping_sub(self.anchor.number).wrapping_sub(1));
        let since = |own_number: u32| u64::from(own_number.wrapping_sub(self.anchor.own_number));
        let (answered, after) = match (closing, self.last) {
            (_, Some(last)) if last.number.wrapping_add(1) == end => (since(last.own_number), 0),
            // The answer to the last question is no answer to a recorded packet.
            (Some((anchor, unanswered)), _) => (since(anchor.own_number).saturating_sub(1), u64::from(unanswered)),
            (None, Some(last)) => (since(last.own_number), u64::from(end.wrapping_sub(last.number).wrapping_sub(1))),
            (None, None) => return None,
        };
        Some(Numbers { answered, unsure: before + after })
    }
}

fn is_before(one: u32, other: u32) -> bool {
    one.wrapping_sub(other).cast_signed() < 0
}

fn later(one: u32, other: u32) -> u32 {
    if is_before(one, other) { other } else { one }
}

impl FarEnd for Gather {
    fn watch(&mut self, patience: Nanos, done: &Stop) -> Result<(), EndpointError> {
        done.wait(Monotonic::now().after(patience));
        self.empty();
        if self.closed {
            let cause = Cause::Peer("the server ended the session".to_owned());
            return Err(EndpointError::new(Step::Agree, "the server", cause));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use protocol::stamp::part::Told;
    use protocol::stamp::time::Format;
    use test_case::test_case;

    use super::*;

    fn answered(number: u32, own_number: u32) -> Fact {
        Fact::Answered(Exchanged {
            number,
            own_number,
            times: None,
            left_by_kernel: false,
            came_by_kernel: false,
            error: Some(ErrorEstimate::new(true, Format::Ntp, Some(1_000))),
            time_to_live: Some(64),
            answer_time_to_live: None,
            left: None,
            told: Told::default(),
        })
    }

    /// Ten recorded packets from number 5 on, the answers to which are given; before them number 3 was answered as number 1.
    fn gathered(answers: &[(u32, u32)]) -> Gather {
        let mut gather = Gather::default();
        let anchor = Anchor { number: 3, own_number: 1 };
        let mut facts = gather.add(&Opening { exchanged: (0, 0), anchor, next: 4, counts: true });
        facts.push(answered(4, 2)).unwrap();
        facts.push(Fact::Began(5)).unwrap();
        for (number, own_number) in answers {
            facts.push(answered(*number, *own_number)).unwrap();
        }
        facts.push(Fact::Ended(14)).unwrap();
        gather.empty();
        gather
    }

    const NONE: Option<(Anchor, u32)> = None;

    fn closing(own_number: u32, unanswered: u32) -> (Anchor, u32) {
        (Anchor { number: 15 + unanswered, own_number }, unanswered)
    }

    #[test_case(&[(5, 3), (9, 7), (14, 12)], NONE, 10, 0; "the last was answered, none was lost there")]
    #[test_case(&[(5, 3), (14, 9)], NONE, 7, 0; "three were lost there")]
    #[test_case(&[(5, 3), (10, 8)], NONE, 6, 4; "the last four are not told of")]
    #[test_case(&[(5, 3), (10, 8)], Some(closing(11, 0)), 8, 0; "a closing answer tells")]
    #[test_case(&[(5, 3), (10, 8)], Some(closing(11, 2)), 8, 2; "but for those that were lost with it")]
    #[test_case(&[], Some(closing(3, 0)), 0, 0; "none arrived")]
    #[test_case(&[(14, 12), (13, 11)], NONE, 10, 0; "out of order")]
    fn numbers_tell_how_many_arrived(
        answers: &[(u32, u32)],
        closing: Option<(Anchor, u32)>,
        answered: u64,
        unsure: u64,
    ) {
        let gather = gathered(answers);
        assert_eq!(gather.numbers(0, closing), Some(Numbers { answered, unsure }));
        let is_open = !answers.iter().any(|(number, _)| *number == 14);
        assert_eq!(gather.open_end(0), is_open.then_some(15));
    }

    #[test]
    fn answers_that_are_kept_are_numbered_from_the_first_recorded() {
        let mut gather = Gather::keeping(2);
        let anchor = Anchor { number: u32::MAX, own_number: 1 };
        let mut facts = gather.add(&Opening { exchanged: (0, 0), anchor, next: 0, counts: true });
        for fact in [answered(u32::MAX, 1), Fact::Began(0), answered(1, 2), answered(1, 3), answered(2, 4)] {
            facts.push(fact).unwrap();
        }
        gather.empty();
        let kept: Vec<_> = gather.kept.iter().map(|exchanged| (exchanged.number, exchanged.own_number)).collect();
        assert_eq!(kept, [(1, 0), (1, 1)], "no more than the most");
    }

    #[test]
    fn without_a_word_nothing_is_told() {
        assert_eq!(gathered(&[]).numbers(0, None), None);
        assert_eq!(Gather::default().theirs(), ClockState::default());
    }

    #[test]
    fn the_far_clock_is_as_good_as_it_says() {
        let theirs = gathered(&[(5, 3)]).theirs();
        assert_eq!(theirs.synchronised, Some(true));
        assert!(theirs.error_ns.is_some_and(|error| (1_000..1_020).contains(&error.0)), "{theirs:?}");
    }
}
