//! Any way of a stream: threads of one run may differ in direction and in their way of sending.
//!
//! A branch a call, which every call of one thread takes alike.

use measure::throughput::Sight;
use measure::unit::Instant;
use protocol::bulk::{Bulk, Call, Numbering};
use protocol::link::Fault;
use socket2::Socket;

use super::numbered::{NumberedReceiver, NumberedSender};
use super::zero_copy::ZeroCopySender;
use super::{FileSender, Receiver, Sender};

/// One of the ways over sockets; `N` numbers datagrams.
#[derive(Debug)]
pub enum Any<N> {
    /// From memory.
    Send(Sender),
    /// From memory, in place.
    ZeroCopy(ZeroCopySender),
    /// From a file.
    File(FileSender),
    /// Taking what comes.
    Receive(Receiver),
    /// Numbered datagrams.
    SendNumbered(NumberedSender<N>),
    /// Taking numbered datagrams.
    ReceiveNumbered(NumberedReceiver<N>),
}

/// The same call on whichever it is.
macro_rules! each {
    ($any:expr, $way:ident => $does:expr) => {
        match $any {
            Any::Send($way) => $does,
            Any::ZeroCopy($way) => $does,
            Any::File($way) => $does,
            Any::Receive($way) => $does,
            Any::SendNumbered($way) => $does,
            Any::ReceiveNumbered($way) => $does,
        }
    };
}

impl<N: Numbering> Any<N> {
    /// The socket itself.
    pub fn socket(&self) -> &Socket {
        each!(self, way => way.socket())
    }

    /// Returns true for a sender.
    pub fn sends(&self) -> bool {
        !matches!(self, Self::Receive(_) | Self::ReceiveNumbered(_))
    }
}

impl<N: Numbering> Bulk for Any<N> {
    fn now(&self) -> Instant {
        each!(self, way => way.now())
    }

    #[inline]
    fn recently(&self) -> Instant {
        each!(self, way => way.recently())
    }

    #[inline]
    fn call(&mut self) -> Result<Call, Fault> {
        each!(self, way => way.call())
    }

    fn sight(&mut self) -> Sight {
        each!(self, way => way.sight())
    }

    fn begin(&mut self) -> Sight {
        each!(self, way => way.begin())
    }

    fn total(&mut self) -> Sight {
        each!(self, way => way.total())
    }

    fn sleep(&self, until: Instant) {
        each!(self, way => way.sleep(until));
    }

    #[inline]
    fn spin(&self, until: Instant) {
        each!(self, way => way.spin(until));
    }
}
