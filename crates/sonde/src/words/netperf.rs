//! What to try where a session with a netserver failed.

use protocol::netperf::error::{Error, Step, UNKNOWN_REQUEST};

/// What to try against `error`; `None` where nothing is known to help.
pub fn netperf(error: &Error) -> Option<&'static str> {
    Some(match error {
        Error::Refused { code: UNKNOWN_REQUEST, .. } => {
            "the server was built without this test: try another one, or another netserver"
        }
        Error::OldServer { .. } => "a netserver older than 2.6 speaks 256-byte messages: update the server",
        Error::Closed { step: Step::Ready | Step::Calibration, received: 0 } => {
            "a server closes so where the passphrase is missing or wrong (-Z), or it crashed; its own output may tell"
        }
        Error::Closed { step: Step::Results, .. } => {
            "the server stopped in the middle of the test; its own output may tell"
        }
        Error::Silent { received: 1.., .. } => {
            "is this a netserver? (one older than 2.6 speaks 256-byte messages, newer ones 656)"
        }
        Error::Silent { step: Step::Results, .. } => {
            "the server or the path to it fell silent: see whether it still runs and what it says; over UDP it may still wait for the end of the data, whose last datagrams were lost"
        }
        Error::Silent { .. } => {
            "is this a netserver? a netserver older than 2.6 speaks 256-byte messages and waits for none"
        }
        Error::Nonsense { .. } | Error::Unasked { .. } => "is this a netserver, of 2.6 or newer?",
        _ => return None,
    })
}
