//! The packets of a session whose replies have the far side's times, in the form of one of two protocols.

use protocol::stamp::part::Told;
use protocol::stamp::sender::Wrong;
use protocol::stamp::time::ErrorEstimate;
use protocol::{irtt, stamp};

/// Packets of a session.
#[derive(Debug)]
pub enum Packets {
    /// Those of STAMP.
    Stamp(stamp::sender::Session),
    /// Those of irtt.
    Irtt(irtt::session::Session),
}

/// The content of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The number of the packet that it answers.
    pub number: u32,
    /// Its own number: that of its packet, or the far side's count.
    pub own_number: u32,
    /// Arrival and departure at the far side, nanoseconds since 1970 by its clock; absent where it does not say.
    pub times: Option<(u64, u64)>,
    /// The error that the far side admits of its clock; absent where it does not say.
    pub error: Option<ErrorEstimate>,
    /// Time to live that was left of the packet; absent where the far side does not say.
    pub time_to_live: Option<u8>,
    /// True where the far side has ended the session with it.
    pub is_last: bool,
}

impl Packets {
    /// Writes all of a packet that stays the same, padding included.
    pub fn open(&self, packet: &mut [u8]) {
        match self {
            Self::Stamp(session) => session.open(packet),
            Self::Irtt(session) => session.open(packet),
        }
    }

    /// Writes packet `number`, which leaves at `at`, nanoseconds since 1970.
    #[inline]
    pub fn write(&self, packet: &mut [u8], number: u32, at: u64) {
        match self {
            Self::Stamp(session) => session.write(packet, number, at),
            Self::Irtt(session) => session.write(packet, number),
        }
    }

    /// The number in a packet of ours, or that of the packet that a reply says it answers; nothing of it is checked.
    pub fn number(&self, message: &[u8], is_answer: bool) -> u32 {
        match self {
            Self::Stamp(session) => session.number(message, is_answer),
            Self::Irtt(session) => session.number(message),
        }
    }

    /// Reads a reply that came at `near`, nanoseconds since 1970 by our clock.
    ///
    /// # Errors
    /// Octets that are none.
    pub fn read(&self, reply: &[u8], near: u64) -> Result<Answer, Wrong> {
        match self {
            Self::Stamp(session) => session.read(reply, near).map(|answer| Answer {
                number: answer.number,
                own_number: answer.own_number,
                times: Some((answer.received, answer.left)),
                error: Some(answer.error),
                time_to_live: answer.time_to_live,
                is_last: false,
            }),
            Self::Irtt(session) => {
                let answer = session.read(reply).map_err(|wrong| match wrong {
                    irtt::session::Wrong::Foreign => Wrong::Foreign,
                    irtt::session::Wrong::Corrupt => Wrong::Corrupt,
                })?;
                Ok(Answer {
                    number: answer.number,
                    own_number: answer.count,
                    times: answer.times,
                    error: None,
                    time_to_live: None,
                    is_last: answer.is_last,
                })
            }
        }
    }

    /// Answers to the optional parts by which STAMP asks.
    pub fn told(&self, reply: &[u8], near: u64) -> Told {
        match self {
            Self::Stamp(session) => session.told(reply, near),
            Self::Irtt(_) => Told::default(),
        }
    }
}
