//! The sockets that threads wait at, so that they can be told to end: a call that waits for a message, however long, comes
//! back from one that is shut. So it needs no time after which it looks up, and nobody who is silent costs anything.

use std::collections::BTreeMap;
use std::net::Shutdown;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::ioctl_fionread;
use socket2::Socket;

/// The sockets of those that are served.
#[derive(Debug, Default)]
pub struct OpenSockets {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    next: u64,
    sockets: BTreeMap<u64, Arc<Socket>>,
    /// How far those are shut that come from here on.
    ended: Option<Shutdown>,
}

impl OpenSockets {
    /// Keeps hold of a socket until [`OpenSockets::leave`]; its number, from 0.
    pub fn enter(&self, socket: &Arc<Socket>) -> u64 {
        let mut inner = self.inner();
        if let Some(how) = inner.ended {
            let _shut = socket.shutdown(how);
        }
        let index = inner.next;
        inner.next += 1;
        inner.sockets.insert(index, Arc::clone(socket));
        index
    }

    /// It has ended.
    pub fn leave(&self, index: u64) {
        self.inner().sockets.remove(&index);
    }

    /// Whether nothing is there that has come and was not read.
    pub fn is_quiet(&self) -> bool {
        // Of one that cannot be asked nothing is expected.
        self.inner().sockets.values().all(|socket| ioctl_fionread(socket.as_ref()).is_ok_and(|waiting| waiting == 0))
    }

    /// Shuts all of them, and those that come later. Reading alone: what has come already is still read.
    pub fn end(&self, how: Shutdown) {
        let mut inner = self.inner();
        inner.ended = Some(how);
        for socket in inner.sockets.values() {
            // One that the client has ended is shut already.
            let _shut = socket.shutdown(how);
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
