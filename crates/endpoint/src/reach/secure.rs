//! HTTP within TLS, asked over one connection: a handshake, and in it the head of the root.
//!
//! Nothing is asked of a server with a wrong certificate, or that has chosen another protocol inside: that is reported,
//! and TLS is the service found.

use std::io::{ErrorKind, Read, Write};

use measure::reach::Service;
use measure::unit::{Instant, Nanos};
use protocol::application::Speech;
use protocol::inquiry::{LONGEST_HEAD, Place, Reading, head_request, read_tcp};
use protocol::tls::handshake::Handshake;
use protocol::tls::record::{Came, Session};
use protocol::tls::{Terms, TlsError};
use rustix::event::PollFlags;
use socket2::Socket;

use super::service::{Found, Heard, ended};
use super::wait::{self, Waited};
use crate::clock::Monotonic;
use crate::stop::Stop;

/// Octets of a look at the socket.
const PIECE: usize = 4 << 10;

/// Asks over a connected socket that does not block.
pub(super) fn ask(socket: &Socket, terms: &Terms, place: Place<'_>, timeout: Nanos, stop: &Stop) -> Heard {
    let asking = Asking { socket, stop, give_up: Monotonic::now().after(timeout) };
    let found = asking.secure(terms).and_then(|(session, plain, behind)| asking.head(session, plain, behind, place));
    Heard { found: found.unwrap_or_else(|why| why), answer: Vec::new() }
}

struct Asking<'a> {
    socket: &'a Socket,
    stop: &'a Stop,
    give_up: Instant,
}

impl Asking<'_> {
    /// A session, the data that came with its begin, and what came behind them.
    fn secure(&self, terms: &Terms) -> Result<(Session, Vec<u8>, Vec<u8>), Found> {
        let mut handshake = Handshake::begin(terms).map_err(|_| Found::NotAsked)?;
        let (mut out, mut first) = (Vec::new(), Vec::new());
        handshake.go_on(&[], &mut out).map_err(|_| Found::NotAsked)?;
        loop {
            self.say(&mut out)?;
            let piece = self.next()?;
            if first.len() < PIECE {
                first.extend_from_slice(&piece);
            }
            let done = handshake.go_on(&piece, &mut out);
            // The server receives the reason, where it still listens.
            let said = self.say(&mut out);
            match done {
                Err(error) => return Err(untold(&error, &first)),
                Ok(true) => break said?,
                Ok(false) => {}
            }
        }
        handshake.finish().map_err(|error| untold(&error, &first))
    }

    fn head(
        &self,
        mut session: Session,
        mut plain: Vec<u8>,
        mut came: Vec<u8>,
        place: Place<'_>,
    ) -> Result<Found, Found> {
        let version = session.facts().version;
        let secure = || Found::Known { service: Service::Tls, state: Some(version.to_owned()) };
        let Some(request) = head_request(place) else { return Ok(secure()) };
        let mut out = Vec::new();
        session.seal(&request.request(), &mut out);
        loop {
            self.say(&mut out)?;
            match read_tcp(Service::Http, &[], &plain) {
                Reading::Known { state, .. } => {
                    session.close(&mut out);
                    let _heard = self.say(&mut out);
                    let state = [Some(version.to_owned()), state].into_iter().flatten().collect::<Vec<_>>().join(", ");
                    return Ok(Found::Known { service: Service::Https, state: Some(state) });
                }
                Reading::Unfinished if plain.len() <= LONGEST_HEAD => {}
                _ => return Ok(secure()),
            }
            match session.open(&mut came, &mut out) {
                Ok(Came::Data { octets, data }) => {
                    plain.extend_from_slice(&came[data]);
                    came.drain(..octets);
                }
                Ok(Came::Aside(octets)) => drop(came.drain(..octets)),
                // One that is silent inside, or ends, is TLS still.
                Ok(Came::Part) => {
                    let told = |found| if found == Found::NotAsked { found } else { secure() };
                    came.extend(self.next().map_err(told)?);
                }
                Ok(Came::End) | Err(_) => return Ok(secure()),
            }
        }
    }

    /// Sends all of `out`.
    fn say(&self, out: &mut Vec<u8>) -> Result<(), Found> {
        while !out.is_empty() {
            match (&mut &*self.socket).write(out) {
                Ok(count) => drop(out.drain(..count)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.until(PollFlags::OUT)?,
                Err(error) => return Err(ended(&error)),
            }
        }
        Ok(())
    }

    /// The octets that come next.
    fn next(&self) -> Result<Vec<u8>, Found> {
        let mut piece = vec![0; PIECE];
        loop {
            self.until(PollFlags::IN)?;
            match (&mut &*self.socket).read(&mut piece) {
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(error) => return Err(ended(&error)),
                Ok(0) => return Err(Found::Closed),
                Ok(count) => {
                    piece.truncate(count);
                    return Ok(piece);
                }
            }
        }
    }

    fn until(&self, events: PollFlags) -> Result<(), Found> {
        match wait::until(self.socket, events, self.give_up, self.stop) {
            Waited::Stopped => Err(Found::NotAsked),
            Waited::Late => Err(Found::Silent),
            Waited::Ready(_) => Ok(()),
        }
    }
}

/// The finding of a handshake that leads nowhere, whose server began with `first`.
fn untold(error: &TlsError, first: &[u8]) -> Found {
    let secure = |state: String| Found::Known { service: Service::Tls, state: Some(state) };
    match error {
        TlsError::Untrusted | TlsError::NoRoots => secure("certificate not trusted".to_owned()),
        TlsError::Untimely { .. } => secure("certificate not valid now".to_owned()),
        TlsError::Misnamed { .. } => secure("certificate for another name".to_owned()),
        TlsError::Unbelievable(_) => secure("certificate not accepted".to_owned()),
        TlsError::Alert(name) => secure(format!("alert {name}")),
        // A server of HTTP in clear says so.
        _ => match read_tcp(Service::Tls, &[], first) {
            Reading::Known { service, state } => Found::Known { service, state },
            _ => Found::Other,
        },
    }
}
