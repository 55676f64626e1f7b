//! ICMP echo that reports each message: times of departure and arrival, sender, TTL, and the errors that came in its
//! place.
//!
//! Sightings travel beside the engine's events through a ring of their own, wait-free and without allocation for a
//! sound reply. An error that names its request ends that one and no other; no packet from the network ends the run.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::os::fd::AsFd;

use measure::method::Waiting;
use measure::unit::{Instant, Nanos};
use protocol::icmp::echo::{self, HEADER};
use protocol::icmp::error::IcmpError;
use protocol::link::{Fault, Link};
use protocol::wire::{Reading, Wire};
use rustix::io::Errno;
use socket2::{SockAddr, Socket};

use super::clockwork::{fault_of, poll_one, poll_until};
use super::room::Room;
use super::teller::Teller;
use crate::clock::{Monotonic, wall};
use crate::pace;
use crate::socket::echo::{Heard, receive};
use crate::socket::queue::next_report;
use crate::socket::report::Report;
use crate::stop::Stop;

/// The first octets of a payload, which differ from request to request: numbers of ours, or a time stamp of others'.
pub const NUMBERED: usize = 16;
/// A send that meets an error of an earlier request is tried so often: each try takes errors away.
const TRIES: u32 = 4;

/// Something that was seen of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// The number of the request, from 0.
    pub seq: u64,
    /// Wall clock, nanoseconds since 1970.
    pub at: u64,
    /// Kind of the sighting.
    pub what: What,
}

/// Kind of a sighting of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// It left; `at` is just before the call that sent it.
    Sent,
    /// Our own host could not send it.
    NotSent {
        /// Error number of the failed call.
        errno: i32,
        /// The largest packet that would have gone, where it was too long, octets.
        mtu: Option<u32>,
    },
    /// A reply to it came.
    Reply(Reply),
    /// A router on the path, or the peer, sent an ICMP error about it.
    Complaint {
        /// Sender of the ICMP error.
        from: IpAddr,
        /// ICMP type.
        kind: u8,
        /// ICMP code.
        code: u8,
        /// The MTU of a packet too big, the pointer of a header that was not accepted.
        info: u32,
    },
}

/// A reply as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Its sender.
    pub from: IpAddr,
    /// The scope of a link-local sender: the index of an interface, 0 where there is none.
    pub scope: u32,
    /// TTL or hop limit, where it is known.
    pub ttl: Option<u8>,
    /// Octets of its ICMP message.
    pub octets: u32,
    /// True where its checksum is wrong.
    pub bad_checksum: bool,
    /// The payload, where it differs from what was sent behind its first 16 octets.
    pub wrong: Option<Box<[u8]>>,
    /// The IP options of its header, where it has some.
    pub options: Option<Box<[u8]>>,
}

/// An ICMP socket and what is known of its messages.
#[derive(Debug)]
pub struct EchoLink {
    socket: Socket,
    /// Destination of the requests, for a socket that is not connected.
    to: Option<SockAddr>,
    wire: echo::Echo,
    teller: Teller<Sighting>,
    spinning: bool,
    room: Room,
    stop: Stop,
    /// Number of the next request.
    next: u64,
    /// The requests' payload.
    payload: Vec<u8>,
    /// Refused requests that the engine has not heard of yet.
    refused: VecDeque<u64>,
    blamed: Option<u64>,
}

impl EchoLink {
    /// A link over `socket`, which is set to return from blocking calls every now and then; `payload` is what all requests
    /// carry behind their first 16 octets. The engine numbers requests from 0, and so does this.
    pub fn new(
        socket: Socket,
        to: Option<SockAddr>,
        wire: echo::Echo,
        payload: Vec<u8>,
        waiting: Waiting,
        teller: Teller<Sighting>,
        stop: Stop,
    ) -> Self {
        Self {
            socket,
            to,
            wire,
            teller,
            spinning: waiting == Waiting::Spin,
            room: Room::default(),
            stop,
            next: 0,
            payload,
            refused: VecDeque::new(),
            blamed: None,
        }
    }

    /// The socket itself, to read back what it got.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    #[inline]
    fn hand_over(&mut self, message: &[u8]) -> Result<(), Errno> {
        let Self { socket, to, room, .. } = self;
        room.send(|flags| {
            let flags = flags.bits() as libc::c_int;
            let sent = match to {
                Some(to) => socket.send_to_with_flags(message, to, flags),
                None => socket.send_with_flags(message, flags),
            };
            sent.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
        })
        .map(|_| ())
    }

    /// The request `seq` did not leave, by `errno`. An error of an earlier request may have stood in its way, which is taken
    /// away here.
    #[cold]
    fn not_sent(&mut self, seq: u64, message: &[u8], mut errno: Errno) -> Result<(), Fault> {
        let at = wall();
        for _ in 0..TRIES {
            let (mut local, mut others) = (None, false);
            while let Some(complaint) = next_report(self.socket.as_fd()) {
                if complaint.from.is_some() {
                    others = true;
                    self.complained(&complaint, at);
                } else {
                    local = Some(complaint);
                }
            }
            if local.is_some() || !others {
                let mtu = local.filter(|local| local.errno == libc::EMSGSIZE).map(|local| local.info);
                self.teller.tell(Sighting { seq, at, what: What::NotSent { errno: errno.raw_os_error(), mtu } });
                return Err(Fault::SendFailed(errno.raw_os_error()));
            }
            let again = wall();
            match self.hand_over(message) {
                Ok(()) => {
                    self.teller.tell(Sighting { seq, at: again, what: What::Sent });
                    return Ok(());
                }
                Err(other) => errno = other,
            }
        }
        self.teller.tell(Sighting { seq, at, what: What::NotSent { errno: errno.raw_os_error(), mtu: None } });
        Err(Fault::SendFailed(errno.raw_os_error()))
    }

    /// Handles an ICMP error about a request, ours or another program's.
    fn complained(&mut self, complaint: &Report, at: u64) {
        let (Some(from), Some(number)) = (complaint.from, self.wire.quoted(complaint.quote())) else { return };
        let Some(seq) = self.sent_as(number) else { return };
        let Report { kind, code, info, .. } = *complaint;
        self.teller.tell(Sighting { seq, at, what: What::Complaint { from, kind, code, info } });
        // An ICMP error that is only advice leaves the request to its reply.
        if IcmpError::of(self.wire.family(), kind, code, info).is_some_and(IcmpError::is_final) {
            self.refused.push_back(seq);
        }
    }

    /// The latest request that had this number in its header.
    fn sent_as(&self, number: u16) -> Option<u64> {
        let latest = self.next.checked_sub(1)?;
        latest.checked_sub(u64::from(self.wire.header_number(latest).wrapping_sub(number)))
    }

    /// Handles a call that failed by `errno`: reads the error queue. A complaint about a request becomes its refusal;
    /// others do not concern the engine.
    #[cold]
    fn failed(&mut self, errno: Errno) -> Result<(), Fault> {
        let at = wall();
        let mut any = false;
        while let Some(complaint) = next_report(self.socket.as_fd()) {
            any = true;
            self.complained(&complaint, at);
        }
        match self.refusal() {
            Some(fault) => Err(fault),
            // An interface that is down says so once per socket; it may come up again.
            None if any || matches!(errno, Errno::NETDOWN | Errno::NETUNREACH | Errno::HOSTUNREACH) => Ok(()),
            None => match fault_of(errno) {
                Fault::TooLong => Ok(()),
                fault => Err(fault),
            },
        }
    }

    /// The next of the requests that were complained of.
    #[inline]
    fn refusal(&mut self) -> Option<Fault> {
        if self.refused.is_empty() {
            return None;
        }
        self.blamed = self.refused.pop_front();
        Some(Fault::Refused(libc::EHOSTUNREACH))
    }

    #[inline]
    fn heard(&mut self, heard: Heard, buffer: &[u8]) -> usize {
        let Heard { length, from, ttl, stamp, options, fragment: _ } = heard;
        let at = stamp.unwrap_or_else(wall);
        let delivered = &buffer[..length];
        let reading = self.wire.identify(delivered, self.next.saturating_sub(0xC000));
        if let (Some(message), false) = (self.wire.message(delivered), reading == Reading::Stray) {
            let number = u16::from_be_bytes([message[6], message[7]]);
            let seq = match reading {
                Reading::Reply(seq) | Reading::Corrupt(Some(seq)) => Some(seq),
                _ => self.sent_as(number),
            };
            let bare = delivered.len() == message.len();
            let header = &delivered[..delivered.len() - message.len()];
            let reply = Reply {
                from: from.map_or(IpAddr::from([0; 4]), |from| from.ip()),
                scope: from.map_or(0, |from| if let std::net::SocketAddr::V6(six) = from { six.scope_id() } else { 0 }),
                // A raw IPv4 socket delivers the IP header: octet 8 is the TTL.
                ttl: if bare { ttl } else { header.get(8).copied() },
                octets: u32::try_from(message.len()).unwrap_or(u32::MAX),
                bad_checksum: !bare && reading == Reading::Corrupt(None),
                wrong: self.differs(&message[HEADER..]),
                options: options.or_else(|| header.get(20..).filter(|options| !options.is_empty()).map(Into::into)),
            };
            if let Some(seq) = seq.filter(|seq| *seq < self.next) {
                self.teller.tell(Sighting { seq, at, what: What::Reply(reply) });
            }
        }
        length
    }

    /// The payload of a whole reply, where it is not what was sent.
    #[inline]
    fn differs(&self, payload: &[u8]) -> Option<Box<[u8]>> {
        let whole = payload.len() >= self.payload.len() && payload.len() > NUMBERED;
        let same = || payload[NUMBERED..self.payload.len()] == self.payload[NUMBERED..];
        (whole && self.payload.len() > NUMBERED && !same()).then(|| payload.into())
    }
}

impl Link for EchoLink {
    #[inline]
    fn now(&self) -> Instant {
        Monotonic::now()
    }

    #[inline]
    fn send(&mut self, message: &[u8]) -> Result<(), Fault> {
        let seq = self.next;
        self.next += 1;
        let at = wall();
        match self.hand_over(message) {
            Ok(()) => {
                self.teller.tell(Sighting { seq, at, what: What::Sent });
                Ok(())
            }
            Err(errno) => self.not_sent(seq, message, errno),
        }
    }

    fn held(&mut self) -> Nanos {
        self.room.take_waited()
    }

    fn receive(&mut self, buffer: &mut [u8], until: Instant) -> Result<Option<usize>, Fault> {
        if let Some(fault) = self.refusal() {
            return Err(fault);
        }
        let flags = if self.spinning { libc::MSG_DONTWAIT } else { 0 };
        loop {
            match receive(self.socket.as_fd(), buffer, flags) {
                Ok(heard) => return Ok(Some(self.heard(heard, buffer))),
                Err(libc::EAGAIN | libc::EINTR) => {}
                Err(errno) => self.failed(Errno::from_raw_os_error(errno))?,
            }
            if Monotonic::now() >= until || self.stop.requested() {
                return Ok(None);
            }
        }
    }

    #[inline]
    fn try_receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, Fault> {
        if let Some(fault) = self.refusal() {
            return Err(fault);
        }
        match receive(self.socket.as_fd(), buffer, libc::MSG_DONTWAIT) {
            Ok(heard) => Ok(Some(self.heard(heard, buffer))),
            Err(libc::EAGAIN | libc::EINTR) => Ok(None),
            Err(errno) => self.failed(Errno::from_raw_os_error(errno)).map(|()| None),
        }
    }

    fn wait_any(links: &mut [Self], until: Instant) {
        match links {
            [only] if only.spinning || !only.refused.is_empty() => {}
            [only] => poll_one(only.socket.as_fd(), false, until),
            [first, ..] if first.spinning => {}
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

    fn blamed(&mut self) -> Option<u64> {
        self.blamed.take()
    }
}
