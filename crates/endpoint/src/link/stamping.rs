//! Kernel timestamps on a socket: of departures for single messages, of arrivals while a spell of them lasts.

use std::os::fd::{AsFd, BorrowedFd};

use protocol::link::{Departure, Stamped};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use socket2::Socket;

use crate::clock::wall;
use crate::socket::option;
use crate::socket::queue::{self, Notice, Point};

/// Flags set on a socket that ever stamps, throughout: they cost nothing until a message asks for its departure.
const THROUGHOUT: u32 =
    libc::SOF_TIMESTAMPING_SOFTWARE | libc::SOF_TIMESTAMPING_OPT_ID | libc::SOF_TIMESTAMPING_OPT_TSONLY;

/// Asked for with a single message: when it enters the packet scheduler and when the driver has it.
pub const MESSAGE_FLAGS: u32 = libc::SOF_TIMESTAMPING_TX_SCHED | libc::SOF_TIMESTAMPING_TX_SOFTWARE;

/// State of kernel stamping on a socket.
#[derive(Clone, Debug, Default)]
pub struct Stamping {
    possible: bool,
    arrivals: bool,
    /// Reason for which it does not stamp although it was asked to; absent: it stamps, or was not asked to.
    pub refused: Option<String>,
}

impl Stamping {
    /// Makes departures of this socket stampable, and arrivals once they are switched on. A kernel that refuses is no
    /// error: the split is absent then, and the record says why.
    pub fn prepare(socket: BorrowedFd<'_>) -> Self {
        match option::set_timestamping(socket, THROUGHOUT) {
            Ok(()) => Self { possible: true, ..Self::default() },
            Err(cause) => Self { refused: Some(format!("SO_TIMESTAMPING: {cause}")), ..Self::default() },
        }
    }

    /// Returns true where departures can be stamped.
    pub fn possible(&self) -> bool {
        self.possible
    }

    /// Switches stamps of arrivals on or off. While one socket of the host has them on the kernel stamps every packet
    /// that comes in, and it does so from a work item that runs a little later: the first arrivals have no stamp.
    pub fn switch(&mut self, socket: BorrowedFd<'_>, on: bool) {
        if !self.possible || self.arrivals == on {
            return;
        }
        let arrivals = if on { libc::SOF_TIMESTAMPING_RX_SOFTWARE } else { 0 };
        if option::set_timestamping(socket, THROUGHOUT | arrivals).is_ok() {
            self.arrivals = on;
        }
    }
}

/// Takes octets off a stream, with the timestamps of the last of them where they are wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Taker {
    /// True while they are.
    pub wanted: bool,
    kernel: Option<u64>,
    application: Option<u64>,
}

impl Taker {
    /// Octets put into `room`; 0 at the end of the stream.
    #[inline]
    pub fn take(&mut self, socket: &Socket, room: &mut [u8], flags: RecvFlags) -> Result<usize, Errno> {
        if self.wanted {
            self.take_stamped(socket, room, flags)
        } else {
            recv(socket, room, flags).map(|(_, count)| count)
        }
    }

    #[cold]
    fn take_stamped(&mut self, socket: &Socket, room: &mut [u8], flags: RecvFlags) -> Result<usize, Errno> {
        let arrival = queue::receive(socket.as_fd(), room, flags.bits().cast_signed());
        let arrival = arrival.map_err(Errno::from_raw_os_error)?;
        (self.kernel, self.application) = (arrival.stamp, Some(wall()));
        Ok(arrival.length)
    }

    /// A message of this length with what was taken since the last one: its last octets came then.
    pub fn stamped(&mut self, length: usize) -> Stamped {
        Stamped { length, kernel: self.kernel.take(), application: self.application.take() }
    }
}

/// Takes all departure stamps off the error queue of a stream, which says nothing else of use there.
pub fn departure(socket: BorrowedFd<'_>) -> Departure {
    let mut departure = Departure::default();
    while let Some(notice) = queue::next_notice(socket) {
        note(&mut departure, notice);
    }
    departure
}

/// Keeps what `notice` says of a departure: what it says of the latest stamped message wins.
pub fn note(departure: &mut Departure, notice: Notice) {
    match notice {
        Notice::Stamp { point: Point::Sched, at, .. } => departure.sched = Some(at),
        Notice::Stamp { point: Point::Driver, at, .. } => departure.driver = Some(at),
        Notice::Stamp { point: Point::Acknowledged, .. } | Notice::Error(_) | Notice::Released { .. } => {}
    }
}
