//! A connected UDP socket that remembers when each packet left, by the kernel's stamps where they can be had.

use std::os::fd::AsFd;
use std::sync::Arc;

use measure::method::Waiting;
use measure::unit::Instant;
use protocol::link::{Fault, Link};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use socket2::Socket;

use super::packets::Packets;
use super::{Glimpse, Seen};
use crate::clock::{Monotonic, wall};
use crate::link::clockwork::{fault_of, poll_one, poll_until};
use crate::pace;
use crate::socket::option;
use crate::socket::queue::{self, Notice, Point};
use crate::stop::Stop;

/// Flags of the socket throughout: stamps of arrivals, and departures reported by their number.
const ARRIVALS: u32 =
    libc::SOF_TIMESTAMPING_SOFTWARE | libc::SOF_TIMESTAMPING_OPT_TSONLY | libc::SOF_TIMESTAMPING_RX_SOFTWARE;
/// Numbers departures from 0 as soon as it is set anew.
const NUMBERED: u32 = ARRIVALS | libc::SOF_TIMESTAMPING_OPT_ID;
/// Asked for with each packet: when the driver has it.
const DEPARTURE: u32 = libc::SOF_TIMESTAMPING_TX_SOFTWARE;
/// Packets of which the departure is remembered; a power of two.
const REMEMBERED: usize = 4_096;

/// A packet that left.
#[derive(Clone, Copy, Debug, Default)]
struct Departure {
    number: u32,
    /// Just before the call; 0: none.
    called: u64,
    /// Told by the kernel; 0: not.
    stamped: u64,
}

/// The latest packets.
#[derive(Debug)]
struct Departures {
    by_number: Vec<Departure>,
    /// The number of the packet that the kernel counts so manyth.
    by_id: Vec<u32>,
    next_id: u32,
    /// Stamps that have not come yet.
    awaited: u32,
}

impl Default for Departures {
    fn default() -> Self {
        let by_number = vec![Departure::default(); REMEMBERED];
        Self { by_number, by_id: vec![0; REMEMBERED], next_id: 0, awaited: 0 }
    }
}

impl Departures {
    fn place(number: u32) -> usize {
        number as usize % REMEMBERED
    }

    fn left(&mut self, number: u32, called: u64, stamps: bool) {
        self.by_number[Self::place(number)] = Departure { number, called, stamped: 0 };
        if stamps {
            self.by_id[Self::place(self.next_id)] = number;
            self.next_id = self.next_id.wrapping_add(1);
            self.awaited += 1;
        }
    }

    fn stamped(&mut self, id: u32, at: u64) {
        self.awaited = self.awaited.saturating_sub(1);
        let number = self.by_id[Self::place(id)];
        let departure = &mut self.by_number[Self::place(number)];
        // The driver has it after the call began, and within a second: else the count is not that of the kernel.
        if departure.number == number && at.checked_sub(departure.called).is_some_and(|later| later < 1_000_000_000) {
            departure.stamped = at;
        }
    }

    fn of(&self, number: u32) -> (u64, bool) {
        let departure = self.by_number[Self::place(number)];
        match departure {
            Departure { number: other, .. } if other != number => (0, false),
            Departure { called, stamped: 0, .. } => (called, false),
            Departure { stamped, .. } => (stamped, true),
        }
    }

    fn forget_numbering(&mut self) {
        (self.next_id, self.awaited) = (0, 0);
    }
}

/// A connected socket.
#[derive(Debug)]
pub struct StampLink {
    socket: Socket,
    flags: libc::c_int,
    stamps: bool,
    /// Reason for which there are no kernel stamps although they were wanted; absent: there are.
    pub refused: Option<String>,
    session: Arc<Packets>,
    departures: Departures,
    glimpse: Arc<Glimpse>,
    stop: Stop,
}

impl StampLink {
    /// A link over `socket`, which is connected and set to return from blocking calls every now and then.
    pub fn new(socket: Socket, session: Arc<Packets>, waiting: Waiting, stamps: bool, stop: Stop) -> Self {
        let set = if stamps { option::set_timestamping(socket.as_fd(), NUMBERED) } else { Ok(()) };
        let refused = set.as_ref().err().map(|cause| format!("SO_TIMESTAMPING: {cause}"));
        let flags = if waiting == Waiting::Spin { libc::MSG_DONTWAIT } else { 0 };
        let (departures, glimpse) = (Departures::default(), Arc::default());
        Self { socket, flags, stamps: stamps && set.is_ok(), refused, session, departures, glimpse, stop }
    }

    /// Returns the times of the latest answer, as this link notes them.
    pub fn glimpse(&self) -> Arc<Glimpse> {
        Arc::clone(&self.glimpse)
    }

    /// The socket itself.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Takes what stands on the error queue: stamps of departures, and errors that the calls have told of already.
    fn collect(&mut self) {
        while let Some(notice) = queue::next_notice(self.socket.as_fd()) {
            if let Notice::Stamp { point: Point::Driver, id, at } = notice {
                self.departures.stamped(id, at);
            }
        }
    }

    #[cold]
    fn fault(&mut self, errno: Errno) -> Fault {
        self.collect();
        fault_of(errno)
    }

    /// Starts the numbering of departures anew: it is not known that the kernel has counted a packet that did not
    /// leave.
    #[cold]
    fn count_anew(&mut self) {
        self.collect();
        let socket = self.socket.as_fd();
        let set = option::set_timestamping(socket, ARRIVALS).and_then(|()| option::set_timestamping(socket, NUMBERED));
        self.stamps = set.is_ok();
        self.departures.forget_numbering();
    }

    fn take(&mut self, buffer: &mut [u8], flags: libc::c_int) -> Result<Option<usize>, Fault> {
        let arrival = match queue::receive(self.socket.as_fd(), buffer, flags) {
            Ok(arrival) => arrival,
            Err(libc::EAGAIN | libc::EINTR) => {
                // Else what stands there would end every wait.
                if self.departures.awaited > 0 {
                    self.collect();
                }
                return Ok(None);
            }
            Err(errno) => return Err(self.fault(Errno::from_raw_os_error(errno))),
        };
        let came = arrival.stamp.unwrap_or_else(wall);
        if self.departures.awaited > 0 {
            self.collect();
        }
        let (sent, left_by_kernel) = self.departures.of(self.session.number(&buffer[..arrival.length], true));
        let (came_by_kernel, time_to_live) = (arrival.stamp.is_some(), arrival.time_to_live);
        self.glimpse.put(Seen { sent, came, left_by_kernel, came_by_kernel, time_to_live });
        Ok(Some(arrival.length))
    }
}

impl Link for StampLink {
    #[inline]
    fn now(&self) -> Instant {
        Monotonic::now()
    }

    fn send(&mut self, message: &[u8]) -> Result<(), Fault> {
        let number = self.session.number(message, false);
        let called = wall();
        let sent = if self.stamps {
            queue::send_stamped(self.socket.as_fd(), message, DEPARTURE, SendFlags::NOSIGNAL)
        } else {
            send(&self.socket, message, SendFlags::NOSIGNAL)
        };
        match sent {
            Ok(_) => {
                self.departures.left(number, called, self.stamps);
                Ok(())
            }
            Err(errno) => {
                if self.stamps {
                    self.count_anew();
                }
                Err(self.fault(errno))
            }
        }
    }

    fn receive(&mut self, buffer: &mut [u8], until: Instant) -> Result<Option<usize>, Fault> {
        loop {
            if let Some(length) = self.take(buffer, self.flags)? {
                return Ok(Some(length));
            }
            if Monotonic::now() >= until || self.stop.requested() {
                return Ok(None);
            }
        }
    }

    fn try_receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, Fault> {
        self.take(buffer, libc::MSG_DONTWAIT)
    }

    fn wait_any(links: &mut [Self], until: Instant) {
        match links {
            [first, ..] if first.flags != 0 => {}
            [only] => poll_one(only.socket.as_fd(), false, until),
            _ => poll_until(links.iter().map(|link| (link.socket.as_fd(), false)), until),
        }
    }

    fn sleep(&self, until: Instant) {
        pace::sleep_until(until);
    }

    #[inline]
    fn spin(&self, _until: Instant) {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_departure_is_told_by_the_kernel_where_it_has_stamped_it() {
        let mut departures = Departures::default();
        departures.left(7, 1_000, true);
        departures.left(8, 2_000, true);
        departures.stamped(1, 2_500);
        assert_eq!((departures.of(7), departures.of(8), departures.of(9)), ((1_000, false), (2_500, true), (0, false)));
        assert_eq!(departures.awaited, 1);
    }

    #[test]
    fn a_stamp_that_cannot_be_of_the_packet_is_passed_over() {
        let mut departures = Departures::default();
        departures.left(7, 1_000, true);
        departures.stamped(0, 999);
        assert_eq!(departures.of(7), (1_000, false));
        departures.stamped(0, 2_000_000_000);
        assert_eq!(departures.of(7), (1_000, false));
    }

    #[test]
    fn packets_of_long_ago_are_forgotten() {
        let mut departures = Departures::default();
        departures.left(1, 5, false);
        departures.left(1 + REMEMBERED as u32, 6, false);
        assert_eq!((departures.of(1), departures.of(1 + REMEMBERED as u32)), ((0, false), (6, false)));
    }
}
