//! Kernel timestamps on a socket: asked for once, taken for single messages.

use std::os::fd::BorrowedFd;

use measure::unit::{Instant, Nanos};
use protocol::link::Departure;

use crate::clock::Monotonic;
use crate::socket::option;
use crate::socket::queue::{self, Notice, Point};

/// Receive stamps are switched on by the kernel from a work item: before that they are taken too late. Method section 14.
const SETTLE: Nanos = Nanos::millis(60);

const SOCKET_FLAGS: u32 = libc::SOF_TIMESTAMPING_SOFTWARE
    | libc::SOF_TIMESTAMPING_RX_SOFTWARE
    | libc::SOF_TIMESTAMPING_OPT_ID
    | libc::SOF_TIMESTAMPING_OPT_TSONLY;

/// Asked for with a single message: when it enters the packet scheduler and when the driver has it.
pub const MESSAGE_FLAGS: u32 = libc::SOF_TIMESTAMPING_TX_SCHED | libc::SOF_TIMESTAMPING_TX_SOFTWARE;

/// Whether and since when a socket stamps.
#[derive(Clone, Debug, Default)]
pub struct Stamping {
    good_from: Option<Instant>,
    /// Why it does not stamp, where it was asked to.
    pub refused: Option<String>,
}

impl Stamping {
    /// Switches stamping on. A kernel that refuses is no error: the split is absent then, and the record says why.
    pub fn on(socket: BorrowedFd<'_>) -> Self {
        match option::set_timestamping(socket, SOCKET_FLAGS) {
            Ok(()) => Self { good_from: Some(Monotonic::now().after(SETTLE)), refused: None },
            Err(cause) => Self { good_from: None, refused: Some(format!("SO_TIMESTAMPING: {cause}")) },
        }
    }

    /// Whether stamps taken now can be believed.
    pub fn ready(&self) -> bool {
        self.good_from.is_some_and(|from| Monotonic::now() >= from)
    }
}

/// Takes all departure stamps off the error queue: those of the latest stamped message win. What else stands there
/// (ICMP errors of earlier messages) has been told by the socket calls already.
pub fn departure(socket: BorrowedFd<'_>) -> Departure {
    let mut departure = Departure::default();
    while let Some(notice) = queue::next_notice(socket) {
        match notice {
            Notice::Stamp { point: Point::Sched, at, .. } => departure.sched = Some(at),
            Notice::Stamp { point: Point::Driver, at, .. } => departure.driver = Some(at),
            Notice::Stamp { point: Point::Acknowledged, .. } | Notice::Error { .. } => {}
        }
    }
    departure
}
