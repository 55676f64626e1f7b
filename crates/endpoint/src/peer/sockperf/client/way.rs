//! Links of several kinds for one engine: the sockets of a client that uses UDP, TCP and groups at once. A run of one
//! kind alone is faster with that kind's own link, for here each call looks up the kind.

use std::os::fd::AsFd;

use measure::unit::{Instant, Nanos};
use protocol::link::{Fault, Link};
use socket2::Socket;

use super::framed::Framed;
use super::group::Group;
use crate::link::clockwork::poll_until;
use crate::link::datagram::Datagram;

/// One of them.
#[derive(Debug)]
pub enum Way {
    /// Datagrams to one peer.
    Datagram(Datagram),
    /// Messages on a connection.
    Framed(Framed),
    /// Datagrams to a group.
    Group(Group),
}

impl Way {
    /// The socket itself, to read back what it got.
    pub fn socket(&self) -> &Socket {
        match self {
            Self::Datagram(link) => link.socket(),
            Self::Framed(link) => link.socket(),
            Self::Group(link) => link.socket(),
        }
    }

    fn spins(&self) -> bool {
        match self {
            Self::Datagram(link) => link.spins(),
            Self::Framed(link) => link.spins(),
            Self::Group(link) => link.spins(),
        }
    }

    /// Returns true where a message waits that no poll reports.
    fn has_message(&self) -> bool {
        matches!(self, Self::Framed(link) if link.has_message())
    }

    fn is_behind(&self) -> bool {
        matches!(self, Self::Framed(link) if link.is_behind())
    }
}

impl Link for Way {
    #[inline]
    fn now(&self) -> Instant {
        match self {
            Self::Datagram(link) => link.now(),
            Self::Framed(link) => link.now(),
            Self::Group(link) => link.now(),
        }
    }

    #[inline]
    fn send(&mut self, message: &[u8]) -> Result<(), Fault> {
        match self {
            Self::Datagram(link) => link.send(message),
            Self::Framed(link) => link.send(message),
            Self::Group(link) => link.send(message),
        }
    }

    #[inline]
    fn pending_refusal(&mut self) -> Option<Fault> {
        match self {
            Self::Datagram(link) => link.pending_refusal(),
            Self::Framed(_) | Self::Group(_) => None,
        }
    }

    fn held(&mut self) -> Nanos {
        match self {
            Self::Datagram(link) => link.held(),
            Self::Framed(link) => link.held(),
            Self::Group(link) => link.held(),
        }
    }

    #[inline]
    fn flush(&mut self) -> Result<bool, Fault> {
        match self {
            Self::Framed(link) => link.flush(),
            Self::Datagram(_) | Self::Group(_) => Ok(true),
        }
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8], until: Instant) -> Result<Option<usize>, Fault> {
        match self {
            Self::Datagram(link) => link.receive(buffer, until),
            Self::Framed(link) => link.receive(buffer, until),
            Self::Group(link) => link.receive(buffer, until),
        }
    }

    #[inline]
    fn try_receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, Fault> {
        match self {
            Self::Datagram(link) => link.try_receive(buffer),
            Self::Framed(link) => link.try_receive(buffer),
            Self::Group(link) => link.try_receive(buffer),
        }
    }

    fn wait_any(links: &mut [Self], until: Instant) {
        if links.iter().any(|link| link.spins() || link.has_message()) {
            return;
        }
        poll_until(links.iter().map(|link| (link.socket().as_fd(), link.is_behind())), until);
    }

    fn sleep(&self, until: Instant) {
        crate::pace::sleep_until(until);
    }

    #[inline]
    fn spin(&self, _until: Instant) {
        std::hint::spin_loop();
    }
}
