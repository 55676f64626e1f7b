//! The packets of a session over a connected socket: each is told with its times as a program reads them, around its call.

use std::os::fd::AsFd;
use std::sync::Arc;

use measure::unit::{Instant, Nanos};
use protocol::irtt::fill::Filler;
use protocol::irtt::parameters::Parameters;
use protocol::irtt::reply::Reply;
use protocol::irtt::session::Session;
use protocol::link::{Fault, Link};
use protocol::native::header::Flags;
use protocol::wire::{Reading, Wire};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv, send};
use socket2::Socket;

use crate::clock::{Monotonic, wall};
use crate::link::room::Room;
use crate::link::teller::Teller;
use crate::pace;
use crate::stop::Stop;

/// Something that was seen of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sighting {
    /// A packet left.
    Sent {
        /// Its number.
        number: u32,
        /// Before its call.
        began: Moment,
        /// Behind its call.
        ended: Instant,
    },
    /// A reply came.
    Came {
        /// Behind the call that received it.
        at: Moment,
        /// Its octets.
        length: usize,
        /// Its content.
        reply: Reply,
    },
    /// The server ended the session.
    Closed,
    /// A call failed, which ends the test.
    Failed {
        /// True for the one that sends; false for one that was told that nobody took an earlier packet.
        sends: bool,
        /// Its error number.
        errno: i32,
    },
}

/// A time by both clocks of this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Nanoseconds since 1970.
    pub wall: u64,
    /// The same by the monotonic clock.
    pub monotonic: Instant,
}

impl Moment {
    #[inline]
    fn now() -> Self {
        Self { wall: wall(), monotonic: Monotonic::now() }
    }
}

/// A connected socket.
#[derive(Debug)]
pub struct IrttLink {
    socket: Socket,
    session: Arc<Session>,
    granted: Parameters,
    teller: Teller<Sighting>,
    room: Room,
    stop: Stop,
}

impl IrttLink {
    /// A link over `socket`, which is connected and set to return from blocking calls every now and then.
    pub fn new(
        socket: Socket,
        session: Arc<Session>,
        granted: Parameters,
        teller: Teller<Sighting>,
        stop: Stop,
    ) -> Self {
        Self { socket, session, granted, teller, room: Room::default(), stop }
    }

    /// The socket itself.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// A call failed: that ends the test.
    #[cold]
    fn failed(&mut self, sends: bool, errno: Errno) -> Fault {
        self.teller.tell(Sighting::Failed { sends, errno: errno.raw_os_error() });
        Fault::System(errno.raw_os_error())
    }

    /// Takes what came; `None`: nothing did, or no reply of this session.
    fn take(&mut self, buffer: &mut [u8], flags: RecvFlags) -> Result<Option<usize>, Fault> {
        let length = match recv(&self.socket, &mut *buffer, flags) {
            Ok((length, _)) => length,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
            Err(errno) => return Err(self.failed(false, errno)),
        };
        let at = Moment::now();
        let read = buffer.get(..length).map(|octets| self.session.read_as(&self.granted, octets));
        let Some(Ok(reply)) = read else { return Ok(None) };
        if reply.is_last {
            self.teller.tell(Sighting::Closed);
            return Err(Fault::Closed);
        }
        self.teller.tell(Sighting::Came { at, length, reply });
        Ok(Some(length))
    }
}

impl Link for IrttLink {
    #[inline]
    fn now(&self) -> Instant {
        Monotonic::now()
    }

    #[inline]
    fn send(&mut self, message: &[u8]) -> Result<(), Fault> {
        let number = self.session.number(message);
        let Self { socket, room, .. } = self;
        let began = Moment::now();
        match room.send(|flags| send(&*socket, message, flags)) {
            Ok(_) => {
                self.teller.tell(Sighting::Sent { number, began, ended: Monotonic::now() });
                Ok(())
            }
            // Whichever call is made first is told of a packet before that nobody took, which is no fault of this one.
            Err(errno) => Err(self.failed(errno != Errno::CONNREFUSED, errno)),
        }
    }

    fn held(&mut self) -> Nanos {
        self.room.take_waited()
    }

    fn receive(&mut self, buffer: &mut [u8], until: Instant) -> Result<Option<usize>, Fault> {
        loop {
            if let Some(length) = self.take(buffer, RecvFlags::empty())? {
                return Ok(Some(length));
            }
            if Monotonic::now() >= until || self.stop.requested() {
                return Ok(None);
            }
        }
    }

    fn try_receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, Fault> {
        self.take(buffer, RecvFlags::DONTWAIT)
    }

    /// A wish to stop ends the wait: the last one may be long, and has no other end.
    fn wait_any(links: &mut [Self], until: Instant) {
        let sockets: Vec<_> = links.iter().map(|link| link.socket.as_fd()).collect();
        if let Some(link) = links.first() {
            link.stop.wait_or_inputs(&sockets, until);
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

/// Packets numbered and filled.
#[derive(Debug)]
pub struct EchoWire {
    session: Arc<Session>,
    /// Octets of their fields.
    fields: usize,
    filler: Filler,
    fills_once: bool,
    /// Number of the last one.
    last: Option<u64>,
}

impl EchoWire {
    /// A wire of packets whose fields have so many octets, `count` of them where that is known.
    pub fn new(session: Arc<Session>, fields: usize, filler: Filler, fills_once: bool, count: Option<u64>) -> Self {
        Self { session, fields, filler, fills_once, last: count.map(|count| count.saturating_sub(1)) }
    }

    fn fill(&mut self, message: &mut [u8]) {
        if let Some(rest) = message.get_mut(self.fields..) {
            self.filler.fill(rest);
        }
    }
}

impl Wire for EchoWire {
    fn open(&mut self, message: &mut [u8]) {
        self.session.open(message);
        if self.fills_once {
            self.fill(message);
        }
    }

    #[inline]
    fn prepare(&mut self, message: &mut [u8], seq: u64, _flags: Flags) {
        if !self.fills_once {
            self.fill(message);
        }
        self.session.write(message, seq as u32);
    }

    /// The link hands over nothing but replies. That to the last packet is left out: the engine would end with it, and not
    /// wait for others and for copies until the caller has had enough.
    fn identify(&mut self, reply: &[u8], _oldest: u64) -> Reading {
        let number = u64::from(self.session.number(reply));
        if self.last == Some(number) { Reading::Stray } else { Reading::Reply(number) }
    }
}

#[cfg(test)]
mod tests {
    use protocol::irtt::fill::Fill;

    use super::*;

    fn wire(fill: Fill, fills_once: bool) -> EchoWire {
        let session = Session { key: None, token: 7, length: 20, has_times: false };
        EchoWire::new(Arc::new(session), 16, Filler::new(fill, 3), fills_once, Some(5))
    }

    /// The fillings of two packets.
    fn filled(mut wire: EchoWire) -> [Vec<u8>; 2] {
        let mut message = vec![0xee; 20];
        wire.open(&mut message);
        [0, 1].map(|seq| {
            wire.prepare(&mut message, seq, Flags::NONE);
            assert_eq!(u64::from(wire.session.number(&message)), seq);
            message[16..].to_vec()
        })
    }

    #[test]
    fn packets_are_filled_each_or_once() {
        assert_eq!(filled(wire(Fill::Kept, false)), [[0; 4], [0; 4]]);
        assert_eq!(filled(wire(Fill::Pattern(vec![1, 2, 3]), false)), [[1, 2, 3, 1], [2, 3, 1, 2]]);
        assert_eq!(filled(wire(Fill::Pattern(vec![1, 2, 3]), true)), [[1, 2, 3, 1], [1, 2, 3, 1]]);
        let [first, second] = filled(wire(Fill::Random, false));
        assert_ne!(first, second);
    }

    #[test]
    fn the_last_reply_does_not_end_the_wait() {
        let mut wire = wire(Fill::Kept, false);
        let mut reply = vec![0; 20];
        wire.open(&mut reply);
        let mut read = |seq| {
            wire.prepare(&mut reply, seq, Flags::NONE);
            wire.identify(&reply, 0)
        };
        assert_eq!((read(3), read(4)), (Reading::Reply(3), Reading::Stray));
    }
}
