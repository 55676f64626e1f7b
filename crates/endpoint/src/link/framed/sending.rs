//! Octets that go out: a request at once or as far as there is room, the rest of it, and what a protocol or TLS says beside requests.

use std::os::fd::AsFd;

use protocol::application::Speech;
use protocol::link::Fault;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use socket2::Socket;

use super::{Framed, MOST_OWED, PATIENCE, Trouble};
use crate::clock::Monotonic;
use crate::link::clockwork::poll_one;
use crate::stop::GLANCE;

impl<S: Speech> Framed<S> {
    /// Sends a request on the connection that there is.
    #[inline]
    pub(super) fn put(&mut self, message: &[u8]) -> Result<(), Fault> {
        self.put_by(message, |socket, octets, flags| send(socket, octets, flags))
    }

    /// Sends a request on the connection that there is, by this call.
    #[inline]
    pub(super) fn put_by(
        &mut self,
        message: &[u8],
        hand: impl FnOnce(&Socket, &[u8], SendFlags) -> Result<usize, Errno>,
    ) -> Result<(), Fault> {
        self.put_as(self.numbered.wrapping_sub(1), message, hand)
    }

    /// The same of request `number`.
    #[inline]
    pub(super) fn put_as(
        &mut self,
        number: u64,
        message: &[u8],
        hand: impl FnOnce(&Socket, &[u8], SendFlags) -> Result<usize, Errno>,
    ) -> Result<(), Fault> {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let request = message;
        let message = self.secured.as_mut().map_or(message, |secured| secured.seal(message));
        let result = if self.unsent.is_empty() { hand(&self.socket, message, flags) } else { Ok(0) };
        self.early = self.outstanding.is_empty() && (self.begin < self.end || self.read > 0);
        self.outstanding.push_back(number);
        self.speech.asked(request);
        match result {
            Ok(count) if count == message.len() => Ok(()),
            Ok(count) => {
                self.unsent.extend_from_slice(&message[count..]);
                self.send_rest()
            }
            Err(Errno::AGAIN | Errno::INTR) => {
                self.unsent.extend_from_slice(message);
                self.send_rest()
            }
            Err(_) => {
                // The fault is reported for this one.
                self.outstanding.pop_back();
                Err(self.down())
            }
        }
    }

    /// Sends octets outside of any timed request.
    pub(super) fn say(&mut self, octets: &[u8]) -> Result<(), Trouble> {
        if octets.is_empty() {
            return Ok(());
        }
        self.owed = if self.unsent.is_empty() { octets.len() } else { self.owed + octets.len() };
        if self.owed > MOST_OWED {
            return Err(Trouble::Foreign("it asks without end, and reads no answer"));
        }
        let sealed = self.secured.as_mut().map_or(octets, |secured| secured.seal(octets));
        self.unsent.extend_from_slice(sealed);
        self.flush_now().map(|_| ())
    }

    /// Hands over what is left as far as it goes without waiting; whether nothing is left.
    pub(super) fn flush_now(&mut self) -> Result<bool, Trouble> {
        while !self.unsent.is_empty() {
            match send(&self.socket, &self.unsent, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(Errno::AGAIN) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(Trouble::System(errno)),
            }
        }
        Ok(true)
    }

    /// Sends what is left of a request that did not go at once.
    #[cold]
    fn send_rest(&mut self) -> Result<(), Fault> {
        let give_up = Monotonic::now().after(PATIENCE);
        while !self.door.patient && !self.flush_now().map_err(|_| self.down())? {
            if self.door.stop.requested() || Monotonic::now() >= give_up {
                return Err(Fault::System(Errno::TIMEDOUT.raw_os_error()));
            }
            poll_one(self.socket.as_fd(), true, Monotonic::now().after(GLANCE));
        }
        Ok(())
    }

    /// Says what has to be said for the session of TLS itself.
    pub(super) fn refresh(&mut self) -> Result<(), Fault> {
        let Some(secured) = &mut self.secured else { return Ok(()) };
        match secured.refresh(&mut self.unsent) {
            Ok(()) if self.unsent.is_empty() => Ok(()),
            Ok(()) => self.send_rest(),
            Err(_) => Err(self.down()),
        }
    }

    /// The connection broke under a request that was being sent. Where others are out, replies to them may have come before its end.
    #[cold]
    pub(super) fn down(&mut self) -> Fault {
        if self.door.patient && !self.failing && !self.outstanding.is_empty() {
            self.failing = true;
            self.unsent.clear();
        } else {
            self.broke();
        }
        Fault::Refused(Errno::CONNRESET.raw_os_error())
    }
}
