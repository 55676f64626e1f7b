//! Messages of other threads to a thread that waits for its socket too.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use rustix::event::{EventfdFlags, eventfd};

/// Receiving end of the messages; readable while one may be there.
#[derive(Debug)]
pub struct Mailbox<T> {
    things: Receiver<T>,
    bell: Arc<OwnedFd>,
}

/// Sending end of the messages.
#[derive(Debug)]
pub struct Slot<T> {
    to: Sender<T>,
    bell: Arc<OwnedFd>,
}

/// An empty one.
///
/// # Errors
/// A system that has no descriptor left.
pub fn mailbox<T>() -> io::Result<(Slot<T>, Mailbox<T>)> {
    let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
    let (to, things) = channel();
    Ok((Slot { to, bell: Arc::clone(&bell) }, Mailbox { things, bell }))
}

impl<T> Clone for Slot<T> {
    fn clone(&self) -> Self {
        Self { to: self.to.clone(), bell: Arc::clone(&self.bell) }
    }
}

impl<T> Slot<T> {
    /// Sends a message. It is dropped where the receiver is gone.
    pub fn send(&self, thing: T) {
        let _taken = self.to.send(thing);
        self.ring();
    }

    /// Wakes who waits, for something that is not sent.
    pub fn ring(&self) {
        // Its count is taken as a whole, and cannot come near its bound.
        let _rung = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }
}

impl<T> Mailbox<T> {
    /// Takes the messages that have arrived since the last call.
    pub fn take(&self) -> impl Iterator<Item = T> {
        // First the bell: what comes behind this rings it anew.
        let _rung = rustix::io::read(&self.bell, &mut [0_u8; 8]);
        self.things.try_iter()
    }
}

impl<T> AsFd for Mailbox<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use measure::unit::Instant;

    use super::*;
    use crate::stop::Stop;

    #[test]
    fn what_is_sent_wakes_who_waits_and_is_taken_once() {
        let (slot, mailbox) = mailbox().unwrap();
        let stop = Stop::default();
        thread::scope(|scope| {
            scope.spawn(|| slot.send(7));
            assert!(stop.wait_or_input(&mailbox, Instant::NEVER));
        });
        slot.send(8);
        assert_eq!(mailbox.take().collect::<Vec<_>>(), [7, 8]);
        assert!(!stop.wait_or_input(&mailbox, Instant(0)), "nothing is there any more");
    }
}
