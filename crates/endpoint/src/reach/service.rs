//! One question over a connection, and what comes back.

use std::io::{ErrorKind, Read, Write};

use measure::reach::{Service, ServiceFinding};
use measure::unit::Nanos;
use protocol::inquiry::{LONGEST_ANSWER, Reading, over_tcp, read_tcp};
use rustix::event::PollFlags;
use socket2::Socket;

use super::wait::{self, Waited};
use crate::clock::Monotonic;
use crate::random;
use crate::stop::Stop;

/// What a question met with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Known {
        state: Option<String>,
    },
    Other,
    Silent,
    Closed,
    /// It could not be asked, or a signal ended it.
    NotAsked,
}

impl Found {
    /// As it is told of who was `asked`; `None` where there is nothing to tell.
    pub(super) fn told(self, asked: Vec<Service>) -> Option<ServiceFinding> {
        match self {
            Self::Known { .. } | Self::NotAsked => None,
            Self::Other => Some(ServiceFinding::Other { asked }),
            Self::Silent => Some(ServiceFinding::Silent { asked }),
            Self::Closed => Some(ServiceFinding::Closed { asked }),
        }
    }
}

/// Asks over a connected socket that does not block whether `service` is there.
pub(super) fn ask(socket: &Socket, service: Service, timeout: Nanos, stop: &Stop) -> Found {
    let Some(question) = random::bytes().ok().and_then(|draw| over_tcp(service, draw)) else { return Found::NotAsked };
    // A fresh connection has room for one message; one that has not is closed already.
    if (&mut &*socket).write_all(&question).is_err() {
        return Found::Closed;
    }
    let give_up = Monotonic::now().after(timeout);
    let mut answer = Vec::new();
    loop {
        match wait::until(socket, PollFlags::IN, give_up, stop) {
            Waited::Stopped => return Found::NotAsked,
            Waited::Late if answer.is_empty() => return Found::Silent,
            Waited::Late => return Found::Other,
            Waited::Ready(_) => {}
        }
        let mut piece = [0; LONGEST_ANSWER];
        match (&mut &*socket).read(&mut piece) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => continue,
            Ok(0) | Err(_) => return if answer.is_empty() { Found::Closed } else { Found::Other },
            Ok(length) => answer.extend_from_slice(&piece[..length]),
        }
        match read_tcp(service, &question, &answer) {
            Reading::Known { state, .. } => return Found::Known { state },
            Reading::Other => return Found::Other,
            Reading::Unfinished if answer.len() > LONGEST_ANSWER => return Found::Other,
            Reading::Unfinished => {}
        }
    }
}
