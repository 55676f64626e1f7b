//! The numbers in a message's first word.

use crate::netperf::answer::Calibration;
use crate::netperf::ask::{Dialect, Test};
use crate::netperf::message::Message;
use crate::netperf::pass::Pass;

/// Request of a client's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Debug output on or off: answered, and nothing else.
    Debug,
    /// Asks for the rate of the CPUs.
    Calibrate,
    /// A passphrase: never answered.
    Passphrase,
    /// Asks for the system. Answered with a text that says nothing.
    System,
    /// A test.
    Test(Dialect),
}

pub(super) const DEBUG_ANSWER: u32 = 3;
pub(super) const CALIBRATE: u32 = 5;
pub(super) const PASSPHRASE: u32 = 6;
const SYSTEM_ANSWER: u32 = 601;

impl Kind {
    /// Returns the request with this number; `None` for one that no server of a common build knows. Node identification
    /// (4) is one of them.
    pub fn of(number: u32) -> Option<Self> {
        Some(match number {
            1 | 2 => Self::Debug,
            CALIBRATE => Self::Calibrate,
            PASSPHRASE => Self::Passphrase,
            600 => Self::System,
            _ => Self::Test(Dialect::asked_by(number)?),
        })
    }
}

impl Dialect {
    /// The number of a request; its response has the next one, its results the one after.
    pub(super) fn request(self) -> u32 {
        match self {
            Self::Omni => 97,
            Self::Classic(Test::TcpSink) => 10,
            Self::Classic(Test::TcpRr) => 13,
            Self::Classic(Test::UdpStream) => 16,
            Self::Classic(Test::UdpRr) => 19,
            Self::Classic(Test::TcpCrr) => 34,
            Self::Classic(Test::TcpMaerts) => 94,
            Self::Classic(Test::TcpCc) => 300,
        }
    }

    pub(super) fn response(self) -> u32 {
        self.request() + 1
    }

    pub(super) fn results(self) -> u32 {
        self.request() + 2
    }

    fn asked_by(number: u32) -> Option<Self> {
        let classic = Test::ALL.into_iter().map(Self::Classic);
        std::iter::once(Self::Omni).chain(classic).find(|dialect| dialect.request() == number)
    }
}

/// Writes the rate and number of the CPUs.
pub(super) fn write_calibration(mut calibration: Calibration) -> Message {
    let mut pass = Pass::writing(CALIBRATE, 0);
    walk_calibration(&mut pass, &mut calibration);
    pass.nearest()
}

/// Reads the rate and number of the server's CPUs.
pub(super) fn read_calibration(message: &Message) -> Calibration {
    let mut calibration = Calibration { rate: None, count: 0 };
    walk_calibration(&mut Pass::over(message), &mut calibration);
    calibration
}

fn walk_calibration(pass: &mut Pass, calibration: &mut Calibration) {
    pass.rate(8, &mut calibration.rate);
    pass.word(12, &mut calibration.count);
}

/// Writes the answer to a question for the system.
pub(super) fn system() -> Message {
    let mut message = Message::new(SYSTEM_ANSWER, 0);
    message.put_text(8, b",Deprecated,Deprecated,Deprecated,Deprecated");
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_number_is_read_as_what_it_asks_for_and_answers_are_no_requests() {
        for dialect in std::iter::once(Dialect::Omni).chain(Test::ALL.map(Dialect::Classic)) {
            assert_eq!(Kind::of(dialect.request()), Some(Kind::Test(dialect)));
            assert_eq!((Kind::of(dialect.response()), Kind::of(dialect.results())), (None, None));
        }
        for unknown in [0, 3, 4, 7, 99, 601, 0x6100_0000, u32::MAX] {
            assert_eq!(Kind::of(unknown), None, "{unknown}");
        }
    }
}
