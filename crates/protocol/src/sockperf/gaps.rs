//! Messages of a sender that never came, as a server sees them that only counts.
//!
//! Seen with sockperf 3.7 and 3.10 (`server -g`): the first message of a sender opens a session, whatever its number. A
//! number above the expected one is a gap; a lower one, late or twice, changes nothing, so reordered messages stay
//! counted among the dropped. A client's warm-up ends the session.

use crate::sockperf::message::{Flags, Header};

/// One sender, told apart by its address and port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sender {
    session: Option<Session>,
}

/// State of a sender since its session began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Session {
    /// `None` after the last number that there is.
    expected: Option<u64>,
    missing: u64,
}

/// Conclusion from a message about its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Nothing new.
    Nothing,
    /// A session began.
    Started,
    /// These messages did not come, or not in order.
    Gap(Gap),
    /// A warm-up ended the session.
    Ended {
        /// All that did not come in it, or not in order.
        missing: u64,
    },
}

/// Messages that did not come, or not in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Number of the first.
    pub first: u64,
    /// Number of the last.
    pub last: u64,
    /// All of the session so far, these among them.
    pub missing: u64,
}

impl Gap {
    /// Returns the number of messages.
    pub fn count(self) -> u64 {
        self.last - self.first + 1
    }
}

impl Sender {
    /// A message came from this sender: any at all, those that are ignored too.
    pub fn see(&mut self, header: &Header) -> Seen {
        if !header.flags.has(Flags::CLIENT) {
            return Seen::Nothing;
        }
        if header.flags.has(Flags::WARMUP) {
            return self.session.take().map_or(Seen::Nothing, |session| Seen::Ended { missing: session.missing });
        }
        let came = header.sequence;
        let Some(session) = &mut self.session else {
            self.session = Some(Session { expected: came.checked_add(1), missing: 0 });
            return Seen::Started;
        };
        session.see(came)
    }

    /// All that did not come in the present session, or not in order; `None` outside of one.
    pub fn missing(&self) -> Option<u64> {
        self.session.map(|session| session.missing)
    }
}

impl Session {
    fn see(&mut self, came: u64) -> Seen {
        let Some(expected) = self.expected.filter(|expected| *expected <= came) else { return Seen::Nothing };
        self.expected = came.checked_add(1);
        if came == expected {
            return Seen::Nothing;
        }
        self.missing += came - expected;
        Seen::Gap(Gap { first: expected, last: came - 1, missing: self.missing })
    }
}
