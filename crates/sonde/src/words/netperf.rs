//! Actions where a session with a netserver failed.

use protocol::netperf::error::{Error, Step, UNKNOWN_REQUEST};

/// The action against `error`; `None` where nothing is known to help.
pub fn netperf(error: &Error) -> Option<&'static str> {
    Some(match error {
        Error::Refused { code: UNKNOWN_REQUEST, .. } => {
            "use another test or another netserver: this one was built without it"
        }
        Error::OldServer { .. } => "update the server: a netserver older than 2.6 uses 256-byte messages",
        Error::Closed { step: Step::Ready | Step::Calibration, received: 0 } => {
            "check the passphrase (-Z) and the output of the server: it closes so for a wrong passphrase, or it crashed"
        }
        Error::Closed { step: Step::Results, .. } => "read the output of the server: it stopped during the test",
        Error::Silent { received: 1.., .. } => {
            "check that this is the port of a netserver of 2.6 or newer (older ones use 256-byte messages, newer ones 656)"
        }
        Error::Silent { step: Step::Results, .. } => {
            "check that the server still runs, and the path: one of them stopped answering. Over UDP the server may still wait for lost last datagrams"
        }
        Error::Silent { .. } => {
            "check that this is the port of a netserver of 2.6 or newer: older ones use 256-byte messages"
        }
        Error::Nonsense { .. } | Error::Unasked { .. } => "check that this is the port of a netserver of 2.6 or newer",
        _ => return None,
    })
}
