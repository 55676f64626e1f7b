//! Actions where a control connection of our own protocol failed.

use protocol::native::error::SessionError;
use protocol::native::message::{Reason, Refused};
use protocol::native::preamble::Decline;

/// The action against `error`; `None` where nothing is known to help.
pub fn session(error: &SessionError) -> Option<String> {
    let text = match error {
        SessionError::NotSonde(stranger) if stranger.saw.speaker.is_mute() => {
            "correct the port, or look whether `sonde serve` hangs there, or whether a middlebox cuts connections"
        }
        SessionError::NotSonde(_) => "correct the port: no `sonde serve` answers at this one",
        SessionError::Declined { decline, .. } => declined(*decline),
        SessionError::WrongKey => "use the same key file at both ends",
        SessionError::WrongPeer => {
            "compare --peer-identity with what `sonde key FILE --public` prints for the server's identity: another server may answer here"
        }
        SessionError::UnknownIdentity { identity } => {
            return Some(format!(
                "at the server: `sonde key LIST --add NAME --peer-identity {identity}`, then send it SIGHUP"
            ));
        }
        SessionError::Refused(refused) => return refusal(refused),
        SessionError::Overdue { .. } => {
            "check that the host is not overloaded and that no firewall drops the connection's packets"
        }
        SessionError::Closed { .. } => "check that the peer still runs: it ended, or a middlebox cut the connection",
        SessionError::Contradiction { .. }
        | SessionError::Frame(_)
        | SessionError::Unreadable { .. }
        | SessionError::OutOfOrder { .. }
        | SessionError::Flood => "compare `sonde --version` at both ends: the peer violates the protocol",
        SessionError::Fault(_)
        | SessionError::Tampered
        | SessionError::Outlived { .. }
        | SessionError::Crypto { .. } => return None,
    };
    Some(text.to_owned())
}

/// The server says for itself what would be let in, but for options: those are the client's.
fn refusal(refused: &Refused) -> Option<String> {
    let text = match refused.reason {
        Reason::Duration => {
            "shorten -t, or raise --max-duration of the server: warm-up, last replies and report come on top of -t"
        }
        Reason::Pattern if refused.hint.is_none() => {
            "start the same version there: a reflector of another version may support fewer methods"
        }
        Reason::Cpus if refused.hint.is_none() => "choose another --peer-cpu",
        _ => return refused.hint.clone(),
    };
    Some(text.to_owned())
}

fn declined(decline: Decline) -> &'static str {
    match decline {
        Decline::TooOld => "update this end",
        Decline::TooNew => "update the other end",
        Decline::KeyRequired => "give the server's key, or an identity that it knows: --key FILE",
        Decline::NoIdentityHere => {
            "start the server with --identity FILE, in a version that knows identities; or give a pre-shared key of it"
        }
        Decline::NoKeyHere => "start the server with the key file, or measure without a key",
        Decline::Busy => "try again when another measurement has ended",
        Decline::Stopping => "start it again there, then measure",
        Decline::UnknownKind | Decline::Other(_) => "compare `sonde --version` at both ends, and update the older one",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_named_by_the_client_and_all_else_by_the_server() {
        let of = |reason, hint: Option<&str>| {
            let hint = hint.map(str::to_owned);
            session(&SessionError::Refused(Refused { reason, detail: String::new(), hint }))
        };
        assert_eq!(of(Reason::Cpus, None).unwrap(), "choose another --peer-cpu");
        assert!(of(Reason::Duration, Some("ask for less")).unwrap().contains("--max-duration"));
        assert_eq!(of(Reason::Flows, Some("ask for less")).unwrap(), "ask for less");
        assert_eq!(of(Reason::Flows, None), None);
    }
}
