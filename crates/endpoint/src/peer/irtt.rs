//! Sessions of irtt's servers: datagrams open them and end them. Their packets are exchanged as those of STAMP are ([`super::stamp::sender`]).

pub mod client;

pub mod server;

use std::net::SocketAddr;

use measure::unit::Nanos;
use protocol::irtt::opening::{Granted, Opening, Refusal};
use protocol::irtt::session::Session;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::Socket;

use crate::clock::Monotonic;
use crate::error::hint::Hint;
use crate::error::{Cause, EndpointError, Step};
use crate::stop::Stop;

/// Times for which the reply to each request for a session is waited for: one may be lost.
const WAITS: [Nanos; 3] = [Nanos::secs(1), Nanos::secs(2), Nanos::secs(4)];
/// Octets of the longest reply that is read; parameters have far fewer.
const LONGEST: usize = 1_500;

/// Asks the server, to which `socket` is connected, for a session.
///
/// # Errors
/// Nobody at that port, silence, a session that cannot be had as it is wanted, or `stop`.
pub fn open(socket: &Socket, server: SocketAddr, opening: &Opening, stop: &Stop) -> Result<Granted, EndpointError> {
    let failed = |cause: Cause| EndpointError::new(Step::Agree, server, cause);
    let broken = |errno: Errno| {
        let error = failed(std::io::Error::from(errno).into());
        if errno == Errno::CONNREFUSED { error.with_hint(Hint::NoIrttServer) } else { error }
    };
    let hinted = |refusal: Refusal| failed(Cause::Peer(refusal.to_string())).with_hint(Hint::IrttRefusal(refusal));
    match ask(socket, &opening.request(), &WAITS, stop, |reply| opening.read(reply)) {
        Ok(read) => read.map_err(hinted),
        Err(Unanswered::Call { errno, .. }) => Err(broken(Errno::from_raw_os_error(errno))),
        Err(Unanswered::Stopped) => Err(failed(Cause::Stopped)),
        Err(Unanswered::Silent) => {
            let patience = Nanos(WAITS.iter().map(|wait| wait.0).sum());
            let hint = Hint::IrttSilent { keyed: opening.key.is_some() };
            Err(failed(Cause::Silence(patience)).with_hint(hint))
        }
    }
}

/// The reason why a request for a session has no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// A call of the socket failed.
    Call {
        /// True for the one that sends.
        sends: bool,
        /// Its error number.
        errno: i32,
    },
    /// Nothing came.
    Silent,
    /// We were asked to stop.
    Stopped,
}

/// Sends `request`, and again where for the next of `waits` nothing came that `read` takes for its reply.
fn ask<T>(
    socket: &Socket,
    request: &[u8],
    waits: &[Nanos],
    stop: &Stop,
    mut read: impl FnMut(&[u8]) -> Option<T>,
) -> Result<T, Unanswered> {
    let call = |sends, errno: Errno| Unanswered::Call { sends, errno: errno.raw_os_error() };
    let mut reply = [0; LONGEST];
    for wait in waits {
        send(socket, request, SendFlags::NOSIGNAL).map_err(|errno| call(true, errno))?;
        let until = Monotonic::now().after(*wait);
        while Monotonic::now() < until {
            match recv(socket, &mut reply[..], RecvFlags::DONTWAIT) {
                Ok((length, _)) => {
                    if let Some(read) = read(&reply[..length]) {
                        return Ok(read);
                    }
                }
                Err(Errno::AGAIN | Errno::INTR) => {
                    stop.wait_or_input(socket, until);
                }
                Err(errno) => return Err(call(false, errno)),
            }
            if stop.requested() {
                return Err(Unanswered::Stopped);
            }
        }
    }
    Err(Unanswered::Silent)
}

/// The end of a session, which the server is told when this is dropped: best effort, for nothing answers, and it forgets silent ones.
#[derive(Debug)]
pub struct Farewell {
    socket: Socket,
    datagram: Vec<u8>,
}

impl Farewell {
    /// The end of `session`, said over `socket`.
    pub fn new(socket: Socket, session: &Session) -> Self {
        Self { socket, datagram: session.close() }
    }
}

impl Drop for Farewell {
    fn drop(&mut self) {
        let _unheard = send(&self.socket, &self.datagram, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    }
}
