//! The one-octet messages of the control connection.

/// State in a control message. Those that no iperf3 sends are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i8)]
pub enum State {
    /// Server: all streams are there; make ready.
    TestStart = 1,
    /// Server: go.
    TestRunning = 2,
    /// Client: stop.
    TestEnd = 4,
    /// Server: send your parameters.
    ParamExchange = 9,
    /// Server: open the streams.
    CreateStreams = 10,
    /// Server: it ends by itself, for a signal.
    ServerTerminate = 11,
    /// Client: it ends by itself, for a signal.
    ClientTerminate = 12,
    /// Server: send your results.
    ExchangeResults = 13,
    /// Server: these were mine.
    DisplayResults = 14,
    /// Client: finished.
    Done = 16,
    /// Server: it is busy, or the cookie is no test's.
    AccessDenied = -1,
    /// Server: it cannot go on; two words of 32 bits follow.
    ServerError = -2,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::TestStart,
        Self::TestRunning,
        Self::TestEnd,
        Self::ParamExchange,
        Self::CreateStreams,
        Self::ServerTerminate,
        Self::ClientTerminate,
        Self::ExchangeResults,
        Self::DisplayResults,
        Self::Done,
        Self::AccessDenied,
        Self::ServerError,
    ];

    /// As it is sent.
    pub const fn octet(self) -> u8 {
        (self as i8).cast_unsigned()
    }

    /// Returns the state of an octet; `None`: nothing that an iperf3 sends.
    pub fn of(octet: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.octet() == octet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_is_read_as_it_is_written_and_nothing_else_is_one() {
        for octet in 0..=255 {
            assert!(State::of(octet).is_none_or(|state| state.octet() == octet));
        }
        assert_eq!(State::ALL.map(State::octet), [1, 2, 4, 9, 10, 11, 12, 13, 14, 16, 0xff, 0xfe]);
        for state in State::ALL {
            assert_eq!(State::of(state.octet()), Some(state));
        }
    }
}
