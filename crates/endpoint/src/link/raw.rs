//! Packets on their own, through a raw socket that is connected to the peer's address: probes leave, and each packet
//! that arrives is handed over with its facts ([`protocol::syn::delivered`]), ICMP errors included.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use measure::method::Waiting;
use measure::unit::{Instant, Nanos};
use protocol::link::{Departure, Fault, Link, Stamped};
use protocol::syn::delivered::{Form, HEAD, Head};
use rustix::io::Errno;
use rustix::net::send;
use socket2::Socket;

use super::clockwork::{fault_of, poll_one, poll_until};
use super::room::Room;
use super::stamping::{self, Stamping};
use crate::clock::{Monotonic, wall};
use crate::pace;
use crate::socket::queue::{self, Notice};
use crate::socket::raw;
use crate::socket::report::Report;
use crate::stop::Stop;

/// Octets kept of a quoted packet: ports and number stand in its first eight.
const QUOTE: usize = 20;
/// Refusals that are kept at once; more than that say nothing new.
const KEPT: usize = 64;

/// A raw socket, of TCP, UDP or ICMP: which packets are answers is the wire's to say.
#[derive(Debug)]
pub struct Raw {
    socket: Socket,
    /// Source ports, held by ordinary sockets so that no other program on this host uses them during the run.
    reserved: Vec<Socket>,
    peer: IpAddr,
    spinning: bool,
    /// Kernel timestamps, where they were asked for.
    pub stamping: Stamping,
    hops: Hops,
    /// ICMP errors that are not read yet.
    pending: VecDeque<([u8; HEAD + QUOTE], usize)>,
    /// Stamps of the latest departure.
    stamps: Departure,
    room: Room,
    departed: Arc<AtomicU64>,
    stop: Stop,
}

/// Time to live of probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hops {
    /// As the socket has it.
    Same,
    /// One more with each probe, the next one this many.
    Rising(u8),
}

impl Raw {
    /// A link over `socket`, which is connected to `peer` and set to return from blocking calls every now and then
    /// (`socket::set_glance`).
    pub fn new(socket: Socket, reserved: Vec<Socket>, peer: IpAddr, hops: Hops, waiting: Waiting, stop: Stop) -> Self {
        Self {
            socket,
            reserved,
            peer,
            spinning: waiting == Waiting::Spin,
            stamping: Stamping::default(),
            hops,
            pending: VecDeque::new(),
            stamps: Departure::default(),
            room: Room::default(),
            departed: Arc::default(),
            stop,
        }
    }

    /// The socket itself, to read back what it got.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// The ends that are held: where what leaves comes from.
    pub fn ends(&self) -> Vec<SocketAddr> {
        self.reserved.iter().filter_map(|socket| socket.local_addr().ok()?.as_socket()).collect()
    }

    /// Counter of the departures, to be read at the end: a run that is stopped forgets those still in flight.
    pub fn departed(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.departed)
    }

    /// Takes what is there. `Err`: nothing, or an error that no ICMP message explains.
    #[inline]
    fn take(&mut self, buffer: &mut [u8], flags: libc::c_int) -> Result<Stamped, Errno> {
        if let Some(refusal) = self.pending(buffer) {
            return Ok(refusal);
        }
        let Some((head, rest)) = buffer.split_at_mut_checked(HEAD) else { return Err(Errno::MSGSIZE) };
        match raw::receive(self.socket.as_fd(), rest, flags) {
            Ok(arrival) => {
                let at = Monotonic::now();
                let form = match arrival.hop_limit {
                    _ if self.peer.is_ipv4() => Form::Ipv4,
                    hop_limit => Form::Ipv6 { hop_limit: hop_limit.unwrap_or(0), traffic_class: arrival.traffic_class },
                };
                Head { form, from: arrival.from.unwrap_or(self.peer), at }.write(head);
                let (length, kernel) = (HEAD + arrival.length, arrival.stamp);
                let application = self.stamping.possible().then(wall);
                Ok(Stamped { length, kernel, application })
            }
            Err(errno @ (libc::EAGAIN | libc::EINTR)) => Err(Errno::from_raw_os_error(errno)),
            Err(errno) => {
                self.drain();
                self.pending(buffer).ok_or(Errno::from_raw_os_error(errno))
            }
        }
    }

    /// Empties the error queue: ICMP errors are kept until they are asked for, and so are the stamps of the latest
    /// departure. Taking an error off the queue is what makes the kernel forget it. `true`: there were errors.
    #[cold]
    fn drain(&mut self) -> bool {
        let mut found = false;
        let mut kept = [0; HEAD + QUOTE];
        while let Some((notice, quoted)) = queue::next_notice_into(self.socket.as_fd(), &mut kept[HEAD..]) {
            stamping::note(&mut self.stamps, notice);
            if let Notice::Error(Report { from: Some(from), kind, code, info, .. }) = notice {
                found = true;
                Head { form: Form::Icmp { kind, code, info }, from, at: Monotonic::now() }.write(&mut kept);
                if self.pending.len() < KEPT {
                    self.pending.push_back((kept, HEAD + quoted));
                }
            }
        }
        found
    }

    /// The oldest ICMP error that was kept.
    fn pending(&mut self, buffer: &mut [u8]) -> Option<Stamped> {
        let (kept, length) = self.pending.pop_front()?;
        let length = length.min(buffer.len());
        buffer[..length].copy_from_slice(&kept[..length]);
        Some(Stamped { length, kernel: None, application: None })
    }

    fn send_with(&mut self, mut call: impl FnMut(&Socket, &mut Room) -> Result<usize, Errno>) -> Result<(), Fault> {
        loop {
            match call(&self.socket, &mut self.room) {
                Ok(_) => {
                    // Nobody else writes it.
                    self.departed.store(self.departed.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                    return Ok(());
                }
                Err(errno) if self.drain() && errno != Errno::AGAIN => {}
                Err(errno) => return Err(own(errno)),
            }
        }
    }

    /// Returns true where a wait continues after its latest try failed by `errno`; `turns` counts the tries. An error
    /// ends the wait.
    fn goes_on(&self, errno: Errno, until: Instant, turns: &mut u32) -> Result<bool, Fault> {
        match errno {
            Errno::AGAIN => {
                *turns = turns.wrapping_add(1);
                let look = !self.spinning || turns.is_multiple_of(64);
                Ok(!look || !(Monotonic::now() >= until || self.stop.requested()))
            }
            Errno::INTR => Ok(true),
            errno => Err(fault_of(errno)),
        }
    }

    fn flags(&self) -> libc::c_int {
        if self.spinning { libc::MSG_DONTWAIT } else { 0 }
    }

    fn try_take(&mut self, buffer: &mut [u8]) -> Result<Option<Stamped>, Fault> {
        match self.take(buffer, libc::MSG_DONTWAIT) {
            Ok(stamped) => Ok(Some(stamped)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(errno) => Err(fault_of(errno)),
        }
    }
}

/// Fault of a send that our own side could not make: a route or an interface that is gone may come back, so the run
/// continues.
fn own(errno: Errno) -> Fault {
    match errno {
        Errno::NETDOWN | Errno::NETUNREACH | Errno::HOSTUNREACH | Errno::ADDRNOTAVAIL | Errno::NODEV | Errno::INVAL => {
            Fault::SendFailed(errno.raw_os_error())
        }
        errno => fault_of(errno),
    }
}

impl Link for Raw {
    #[inline]
    fn now(&self) -> Instant {
        Monotonic::now()
    }

    fn ready(&mut self) -> Result<(), Fault> {
        let Hops::Rising(ttl) = self.hops else { return Ok(()) };
        self.hops = Hops::Rising(ttl.saturating_add(1));
        raw::set_ttl(&self.socket, self.peer.is_ipv6(), ttl)
            .map_err(|error| Fault::SendFailed(error.raw_os_error().unwrap_or(0)))
    }

    #[inline]
    fn send(&mut self, message: &[u8]) -> Result<(), Fault> {
        self.send_with(|socket, room| room.send(|flags| send(socket, message, flags)))
    }

    fn held(&mut self) -> Nanos {
        self.room.take_waited()
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8], until: Instant) -> Result<Option<usize>, Fault> {
        let mut turns = 0;
        loop {
            match self.take(buffer, self.flags()) {
                Ok(stamped) => return Ok(Some(stamped.length)),
                Err(errno) => {
                    if !self.goes_on(errno, until, &mut turns)? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    #[inline]
    fn try_receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, Fault> {
        Ok(self.try_take(buffer)?.map(|stamped| stamped.length))
    }

    fn wait_any(links: &mut [Self], until: Instant) {
        if links.iter().any(|link| link.spinning || !link.pending.is_empty()) {
            return;
        }
        match links {
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

    fn stamp_arrivals(&mut self, on: bool) {
        self.stamping.switch(self.socket.as_fd(), on);
    }

    fn send_stamped(&mut self, message: &[u8]) -> Result<Option<u64>, Fault> {
        if !self.stamping.possible() {
            return self.send(message).map(|()| None);
        }
        let at = wall();
        self.send_with(|socket, room| {
            let call = |flags| queue::send_stamped(socket.as_fd(), message, stamping::MESSAGE_FLAGS, flags);
            room.send(call)
        })?;
        Ok(Some(at))
    }

    fn receive_stamped(&mut self, buffer: &mut [u8], until: Instant) -> Result<Option<Stamped>, Fault> {
        let mut turns = 0;
        loop {
            match self.take(buffer, self.flags()) {
                Ok(stamped) => return Ok(Some(stamped)),
                Err(errno) => {
                    if !self.goes_on(errno, until, &mut turns)? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    fn try_receive_stamped(&mut self, buffer: &mut [u8]) -> Result<Option<Stamped>, Fault> {
        self.try_take(buffer)
    }

    fn departure(&mut self) -> Departure {
        self.drain();
        std::mem::take(&mut self.stamps)
    }
}
