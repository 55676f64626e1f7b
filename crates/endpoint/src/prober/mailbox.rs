//! Orders to a thread that waits for events: a queue, and a descriptor that is readable while something may be in it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use rustix::event::{EventfdFlags, eventfd};

/// Receiving end of the orders.
#[derive(Debug)]
pub struct Mailbox<T> {
    orders: Receiver<T>,
    event: Arc<OwnedFd>,
}

/// Sending end of the orders.
#[derive(Debug)]
pub struct Post<T> {
    orders: Sender<T>,
    event: Arc<OwnedFd>,
}

impl<T> Clone for Post<T> {
    fn clone(&self) -> Self {
        Self { orders: self.orders.clone(), event: Arc::clone(&self.event) }
    }
}

/// A new one.
///
/// # Errors
/// A system that has no descriptor left.
pub fn open<T>() -> io::Result<(Post<T>, Mailbox<T>)> {
    let event = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
    let (send, orders) = channel();
    Ok((Post { orders: send, event: Arc::clone(&event) }, Mailbox { orders, event }))
}

impl<T> Post<T> {
    /// Sends an order. It is dropped where the receiver is gone.
    pub fn send(&self, order: T) {
        if self.orders.send(order).is_ok() {
            // Full only after 2⁶⁴ orders without a look: then it is readable.
            let _woken = rustix::io::write(&*self.event, &1_u64.to_ne_bytes());
        }
    }
}

impl<T> Mailbox<T> {
    /// Descriptor that is readable once something is in the queue.
    pub fn event(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }

    /// Is not readable from here on, until something new comes: [`Self::take`] is called until there is nothing after this.
    pub fn clear(&self) {
        let _count = rustix::io::read(&*self.event, &mut [0; 8]);
    }

    /// The next one, where there is one.
    pub fn take(&self) -> Option<T> {
        self.orders.try_recv().ok()
    }
}
