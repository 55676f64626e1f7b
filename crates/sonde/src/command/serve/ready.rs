//! Telling a supervisor that the reflector answers, or ends: systemd's readiness protocol, one datagram to the socket
//! that `NOTIFY_SOCKET` names. Without that variable nothing is told.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use measure::unit::Nanos;

/// The supervisor that started us, where it wants to be told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Supervisor(Option<OsString>);

impl Supervisor {
    /// The one named by the environment.
    pub fn of_environment() -> Self {
        Self(std::env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()))
    }

    /// "I answer now", with a line for its status display.
    ///
    /// # Errors
    /// A socket that does not take it.
    pub fn ready(&self, status: &str) -> io::Result<()> {
        self.tell(&format!("READY=1\nSTATUS={status}"))
    }

    /// "I am ending".
    ///
    /// # Errors
    /// A socket that does not take it.
    pub fn stopping(&self) -> io::Result<()> {
        self.tell("STOPPING=1")
    }

    /// "I am still at work", said at least every [`Self::patience`].
    ///
    /// # Errors
    /// A socket that does not take it.
    pub fn alive(&self) -> io::Result<()> {
        self.tell("WATCHDOG=1")
    }

    /// Time between two signs of life that it wants, where it does: half of its own wait at the most.
    pub fn patience(&self) -> Option<Nanos> {
        let waits: u64 = std::env::var_os("WATCHDOG_USEC")?.to_str()?.parse().ok()?;
        self.0.as_ref().map(|_| Nanos(waits.saturating_mul(500))).filter(|half| *half > Nanos::ZERO)
    }

    fn tell(&self, text: &str) -> io::Result<()> {
        let Some(name) = &self.0 else { return Ok(()) };
        let socket = UnixDatagram::unbound()?;
        socket.connect_addr(&address(name)?)?;
        socket.send(text.as_bytes()).map(|_| ())
    }
}

/// A name that starts with `@` is one of Linux's abstract sockets, anything else a path.
fn address(name: &OsStr) -> io::Result<SocketAddr> {
    match name.as_bytes().strip_prefix(b"@") {
        Some(rest) => SocketAddr::from_abstract_name(rest),
        None => SocketAddr::from_pathname(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(socket: &UnixDatagram) -> String {
        let mut buffer = [0; 256];
        let length = socket.recv(&mut buffer).unwrap();
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    }

    #[test]
    fn a_supervisor_at_a_path_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        let supervisor = Supervisor(Some(path.into()));
        supervisor.ready("listening").unwrap();
        assert_eq!(received(&socket), "READY=1\nSTATUS=listening");
        supervisor.stopping().unwrap();
        assert_eq!(received(&socket), "STOPPING=1");
    }

    #[test]
    fn a_supervisor_at_an_abstract_name_is_told() {
        let name = format!("sonde-test-{}", std::process::id());
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        Supervisor(Some(format!("@{name}").into())).stopping().unwrap();
        assert_eq!(received(&socket), "STOPPING=1");
    }

    #[test]
    fn without_a_supervisor_nothing_is_told() {
        Supervisor(None).ready("listening").unwrap();
    }

    #[test]
    fn a_supervisor_that_is_gone_is_an_error() {
        assert!(Supervisor(Some("/nowhere/notify".into())).stopping().is_err());
    }
}
