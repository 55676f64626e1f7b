//! One question over a connection, and what comes back.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;

use measure::reach::{Service, ServiceFinding};
use measure::unit::Nanos;
use protocol::inquiry::{
    GREETERS, LONGEST_ANSWER, LONGEST_HEAD, Place, Reading, farewell, over_tcp, read_greeting, read_tcp,
};
use rustix::event::PollFlags;
use socket2::Socket;

use super::wait::{self, Waited};
use crate::clock::Monotonic;
use crate::random;
use crate::stop::Stop;

/// Longest wait for a program that speaks first, where the program is not known.
const GREETING: Nanos = Nanos::millis(300);
/// The same in handshakes, where they take longer.
const HANDSHAKES: u64 = 4;
/// Longest wait for the end of a connection, where a program would take an early end for a fault.
const PARTING: Nanos = Nanos::millis(300);

/// Outcome of one question to an open port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Known {
        service: Service,
        state: Option<String>,
    },
    Other,
    Silent,
    Closed,
    Reset,
    /// It could not be asked, or a signal ended it.
    NotAsked,
}

impl Found {
    /// Converts it to a finding; `asked` are the services that were tried, each for as long as `within`. `None` where there is nothing to report.
    pub(super) fn told(self, asked: Vec<Service>, within: Nanos) -> Option<ServiceFinding> {
        match self {
            Self::Known { service, state } => Some(ServiceFinding::Known { service, state }),
            Self::NotAsked => None,
            Self::Other => Some(ServiceFinding::Other { asked }),
            Self::Silent => Some(ServiceFinding::Silent { asked, within_ns: Some(within) }),
            Self::Closed => Some(ServiceFinding::Closed { asked }),
            Self::Reset => Some(ServiceFinding::Reset { asked }),
        }
    }
}

/// The finding of a connection, and the octets that showed it.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) found: Found,
    pub(super) answer: Vec<u8>,
}

/// Waits on a connected socket for a program that speaks first; `None`: nothing came, and it may be asked.
pub(super) fn listen(socket: &Socket, handshake: Nanos, timeout: Nanos, stop: &Stop) -> Option<Heard> {
    let patience = Nanos(handshake.0.saturating_mul(HANDSHAKES)).max(GREETING).min(timeout);
    let heard = hear(socket, patience, stop, &|_, answer| read_greeting(answer), None);
    if heard.found == Found::Silent {
        return None;
    }
    if let Found::Known { service, .. } = heard.found {
        part(socket, farewell(service), stop);
    }
    Some(heard)
}

/// Asks over a connected socket that does not block whether `service` is there.
pub(super) fn ask(socket: &Socket, service: Service, place: Place<'_>, timeout: Nanos, stop: &Stop) -> Heard {
    let nothing = |found| Heard { found, answer: Vec::new() };
    let Some(question) = random::bytes().ok().and_then(|draw| over_tcp(service, place, draw)) else {
        return nothing(Found::NotAsked);
    };
    // A fresh connection has room for one message; one that has not is closed already.
    if let Err(error) = (&mut &*socket).write_all(&question) {
        return nothing(ended(&error));
    }
    let read = |question: &[u8], answer: &[u8]| match read_tcp(service, question, answer) {
        // Somebody else may have spoken first.
        Reading::Other if !GREETERS.contains(&service) => read_greeting(answer),
        reading => reading,
    };
    let heard = hear(socket, timeout, stop, &read, Some(&question));
    if service == Service::Ssh && matches!(heard.found, Found::Known { .. }) {
        part(socket, &[], stop);
    }
    heard
}

/// Reads until `read` knows the service, or knows that it is none of the known ones.
fn hear(
    socket: &Socket,
    timeout: Nanos,
    stop: &Stop,
    read: &dyn Fn(&[u8], &[u8]) -> Reading,
    question: Option<&[u8]>,
) -> Heard {
    let give_up = Monotonic::now().after(timeout);
    let mut answer = Vec::new();
    let found = loop {
        match wait::until(socket, PollFlags::IN, give_up, stop) {
            Waited::Stopped => break Found::NotAsked,
            Waited::Late if answer.is_empty() => break Found::Silent,
            Waited::Late => break Found::Other,
            Waited::Ready(_) => {}
        }
        let mut piece = [0; LONGEST_ANSWER];
        match (&mut &*socket).read(&mut piece) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => continue,
            Ok(0) => break if answer.is_empty() { Found::Closed } else { Found::Other },
            Err(error) => break if answer.is_empty() { ended(&error) } else { Found::Other },
            Ok(length) => answer.extend_from_slice(&piece[..length]),
        }
        match read(question.unwrap_or_default(), &answer) {
            Reading::Known { service, state } => break Found::Known { service, state },
            Reading::Other => break Found::Other,
            Reading::Unfinished if answer.len() > LONGEST_HEAD => break Found::Other,
            Reading::Unfinished => {}
        }
    };
    Heard { found, answer }
}

/// The end of a connection, by the error of a call on it.
pub(super) fn ended(error: &std::io::Error) -> Found {
    if error.kind() == ErrorKind::ConnectionReset { Found::Reset } else { Found::Closed }
}

/// Says the last words, and lets the program end the connection.
fn part(socket: &Socket, words: &[u8], stop: &Stop) {
    if (&mut &*socket).write_all(words).is_err() || socket.shutdown(Shutdown::Write).is_err() {
        return;
    }
    let give_up = Monotonic::now().after(PARTING);
    let mut piece = [0; LONGEST_ANSWER];
    while matches!(wait::until(socket, PollFlags::IN, give_up, stop), Waited::Ready(_)) {
        match (&mut &*socket).read(&mut piece) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
    }
}
