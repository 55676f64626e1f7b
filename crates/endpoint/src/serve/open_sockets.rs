//! The sockets that threads wait at, so that they can be told to end: a call that waits for a message, however long,
//! returns when its socket is shut. So the threads need no timer, and silent clients cost nothing.

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
    /// Direction in which later sockets are shut at once; absent: the end has not come.
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

    /// Returns true where no socket has unread octets.
    pub fn is_quiet(&self) -> bool {
        // A socket whose queue cannot be read counts as not quiet.
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
