//! End of a flow of datagrams: its client says that it was the last, over and over, until the server reports.
//!
//! Each time the number grows by one, every 10 ms, 200 times at most: about two seconds (seen with 2.1.8 and 2.2.1). A
//! report that does not come is a warning, no error.

use measure::unit::{Instant, Nanos};

use super::datagram::IperfNumbering;
use super::fin::AckFin;

/// From one datagram that ends the flow to the next.
pub const AGAIN: Nanos = Nanos::millis(10);
/// Messages that announce the end, at most.
pub const TRIES: u64 = 200;

/// The end of a flow, as its client sees it.
#[derive(Clone, Debug)]
pub struct Closing {
    numbering: IperfNumbering,
    sent: u64,
    said: u64,
    due: Instant,
    report: Option<AckFin>,
}

impl Closing {
    /// The end of a flow of `sent` datagrams, from `now` on.
    pub fn new(numbering: IperfNumbering, sent: u64, now: Instant) -> Self {
        Self { numbering, sent, said: 0, due: now, report: None }
    }

    /// Returns the instant to say it again, or to give up; `None`: the report is there, or it was said often enough.
    pub fn wake(&self) -> Option<Instant> {
        (self.report.is_none() && self.said <= TRIES).then_some(self.due)
    }

    /// Makes `datagram` say that it was the last, where that is due at `now`; the wall clock says `wall`. `false`: it is
    /// not, or was said often enough.
    pub fn depart(&mut self, datagram: &mut [u8], now: Instant, wall: Nanos) -> bool {
        if self.wake().is_none_or(|due| now < due) {
            return false;
        }
        self.due = now.after(AGAIN);
        self.said += 1;
        if self.said > TRIES {
            return false;
        }
        self.numbering.write_last(datagram, self.sent, self.said - 1, wall);
        true
    }

    /// A datagram came; whether it was the report.
    pub fn arrive(&mut self, datagram: &[u8]) -> bool {
        let report = AckFin::read(datagram);
        let came = report.is_some();
        self.report = self.report.or(report);
        came
    }

    /// Returns the report of the server.
    pub fn report(&self) -> Option<&AckFin> {
        self.report.as_ref()
    }

    /// Returns the number of messages that announced the end.
    pub fn said(&self) -> u64 {
        self.said.min(TRIES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bulk::{Mark, Numbering};

    #[test]
    fn it_is_said_until_the_report_comes() {
        let mut closing = Closing::new(IperfNumbering::CURRENT, 46, Instant(0));
        let mut datagram = [0; 16];
        for again in 0..3 {
            let now = closing.wake().unwrap();
            assert_eq!(now, Instant(again * 10_000_000));
            assert!(closing.depart(&mut datagram, now, Nanos(8_000)));
            let mark = IperfNumbering::CURRENT.read(&datagram);
            assert_eq!(mark, Some(Mark::Last { count: 46 + again, sent: Nanos(8_000) }));
            assert!(!closing.depart(&mut datagram, now.after(Nanos(9_999_999)), Nanos::ZERO), "not due yet");
            assert!(!closing.arrive(&datagram), "no report");
        }
        let report = AckFin { flags: AckFin::flags(false), bytes: 69_090, ..AckFin::default() };
        assert!(closing.arrive(&report.encode()));
        assert_eq!((closing.report(), closing.wake(), closing.said()), (Some(&report), None, 3));
    }

    #[test]
    fn it_is_given_up_after_two_seconds() {
        let mut closing = Closing::new(IperfNumbering::CURRENT, 1, Instant(0));
        let (mut now, mut said) = (Instant(0), 0);
        while let Some(due) = closing.wake() {
            now = due;
            said += u64::from(closing.depart(&mut [0; 16], now, Nanos::ZERO));
        }
        assert_eq!((now, said, closing.said()), (Instant(2_000_000_000), TRIES, TRIES));
    }
}
