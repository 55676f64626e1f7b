//! Datagrams to a group of receivers: any member may answer, to us or to the group, so no answer is a stranger's.

use std::os::fd::AsFd;

use measure::method::Waiting;
use measure::unit::Instant;
use protocol::link::{Fault, Link};
use rustix::io::Errno;
use socket2::{SockAddr, Socket};

use crate::link::clockwork::poll_until;
use crate::link::datagram::Datagram;
use crate::stop::Stop;

/// A socket of datagrams that is not connected.
#[derive(Debug)]
pub struct Group {
    inner: Datagram,
    to: SockAddr,
}

impl Group {
    /// A link over `socket`, which has joined the group at `to` and is set to return from blocking calls every now and
    /// then (`socket::set_glance`).
    pub fn new(socket: Socket, to: SockAddr, waiting: Waiting, stop: Stop) -> Self {
        Self { inner: Datagram::new(socket, waiting, stop), to }
    }

    /// The socket itself, to read back what it got.
    pub fn socket(&self) -> &Socket {
        self.inner.socket()
    }

    pub(super) fn spins(&self) -> bool {
        self.inner.spins()
    }
}

impl Link for Group {
    #[inline]
    fn now(&self) -> Instant {
        self.inner.now()
    }

    #[inline]
    fn send(&mut self, message: &[u8]) -> Result<(), Fault> {
        loop {
            let Err(error) = self.socket().send_to_with_flags(message, &self.to, libc::MSG_NOSIGNAL) else {
                return Ok(());
            };
            match error.raw_os_error().map(Errno::from_raw_os_error) {
                Some(Errno::INTR) => {}
                errno => return Err(self.inner.fault(errno.unwrap_or(Errno::IO))),
            }
        }
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8], until: Instant) -> Result<Option<usize>, Fault> {
        self.inner.receive(buffer, until)
    }

    #[inline]
    fn try_receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, Fault> {
        self.inner.try_receive(buffer)
    }

    fn wait_any(links: &mut [Self], until: Instant) {
        if !links.iter().any(Self::spins) {
            poll_until(links.iter().map(|link| (link.socket().as_fd(), false)), until);
        }
    }

    fn sleep(&self, until: Instant) {
        self.inner.sleep(until);
    }

    #[inline]
    fn spin(&self, until: Instant) {
        self.inner.spin(until);
    }
}
