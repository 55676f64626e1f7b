//! Many datagrams handed over in one call: the kind of call, its limit, and the outcome where a kernel or path refuses
//! it.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use measure::method::{BatchBy, LARGEST_DATAGRAM, MOST_SEGMENTS_A_CALL};
use measure::outcome::Batched;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use super::room::Room;
use crate::socket::many;

/// Segments of one call at most.
const MOST: usize = MOST_SEGMENTS_A_CALL as usize;
/// The same of older kernels.
const MOST_BEFORE: usize = 64;

/// State of a socket that hands over many messages in one call.
#[derive(Debug)]
pub struct Batching {
    /// Kind of batch in use; absent: one message a call, because the kind asked for was refused.
    got: Option<BatchBy>,
    handed: Arc<Handed>,
    /// Segments of one call at most.
    most: usize,
    /// An error that stopped what came after the messages of the latest call: it belongs to the next.
    deferred: Option<Errno>,
}

impl Batching {
    /// `socket` will hand over many messages as `asked`, or one a call where its kernel cannot.
    pub fn new(socket: BorrowedFd<'_>, asked: BatchBy) -> Self {
        let refused = match asked {
            BatchBy::Calls => None,
            BatchBy::Segments => many::can_segment(socket).err(),
        };
        let got = refused.is_none().then_some(asked);
        let refused = refused.map_or(0, |error| error.raw_os_error().unwrap_or(libc::ENOPROTOOPT));
        let handed = Handed {
            asked,
            refused: AtomicI32::new(refused),
            calls: AtomicU64::new(0),
            messages: AtomicU64::new(0),
            cut_short: AtomicU64::new(0),
        };
        Self { got, handed: Arc::new(handed), most: MOST, deferred: None }
    }

    /// Counts of the batches, shared with the thread that sends: read them when sending is over.
    pub fn handed(&self) -> Arc<Handed> {
        Arc::clone(&self.handed)
    }

    /// Hands over the messages of `length` octets, at least 1, that stand one behind the other in `messages`. Returns how
    /// many were taken, from the first on: at least one, or the error that stopped the first.
    /// Without room in the socket they wait for it, and `room` counts the wait.
    pub fn send(
        &mut self,
        socket: BorrowedFd<'_>,
        room: &mut Room,
        messages: &[u8],
        length: usize,
    ) -> Result<usize, Errno> {
        if let Some(errno) = self.deferred.take() {
            return Err(errno);
        }
        let mut taken = 0;
        while taken * length < messages.len() {
            match room.send(|flags| self.call(socket, &messages[taken * length..], length, flags)) {
                Ok(count) => {
                    taken += count;
                    add(&self.handed.calls, 1);
                    add(&self.handed.messages, count as u64);
                }
                Err(errno) => {
                    add(&self.handed.cut_short, 1);
                    if taken == 0 {
                        return Err(errno);
                    }
                    self.deferred = Some(errno);
                    break;
                }
            }
        }
        Ok(taken)
    }

    /// One call; how many it took.
    fn call(
        &mut self,
        socket: BorrowedFd<'_>,
        messages: &[u8],
        length: usize,
        flags: SendFlags,
    ) -> Result<usize, Errno> {
        match self.got {
            Some(BatchBy::Segments) => self.segmented(socket, messages, length, flags),
            Some(BatchBy::Calls) if messages.len() > length => {
                let taken = many::send_each(socket, messages, length, flags)?;
                let offered = (messages.len() / length).min(many::CALLED);
                add(&self.handed.cut_short, u64::from(taken < offered));
                Ok(taken)
            }
            _ => one(socket, messages, length, flags),
        }
    }

    fn segmented(
        &mut self,
        socket: BorrowedFd<'_>,
        messages: &[u8],
        length: usize,
        flags: SendFlags,
    ) -> Result<usize, Errno> {
        let count = (messages.len() / length).min(self.most).min(LARGEST_DATAGRAM as usize / length);
        let (Ok(segment), 2..) = (u16::try_from(length), count) else { return one(socket, messages, length, flags) };
        match many::send_segmented(socket, &messages[..count * length], segment, flags) {
            Ok(()) => Ok(count),
            Err(Errno::INVAL) if count > MOST_BEFORE => {
                self.most = MOST_BEFORE;
                self.segmented(socket, messages, length, flags)
            }
            // The ICMP errors of earlier messages come here too; most of them are other numbers, which end one message alone.
            Err(errno @ (Errno::INVAL | Errno::IO | Errno::MSGSIZE)) => {
                self.refuse(errno);
                one(socket, messages, length, flags)
            }
            Err(errno) => Err(errno),
        }
    }

    /// From here on each message goes alone.
    #[cold]
    fn refuse(&mut self, errno: Errno) {
        self.got = None;
        self.handed.refused.store(errno.raw_os_error(), Ordering::Relaxed);
    }
}

/// Counts of the messages that a socket has handed over in batches; written by the thread that sends, read by any.
#[derive(Debug)]
pub struct Handed {
    asked: BatchBy,
    /// The error number by which what was asked was refused; 0: it was not.
    refused: AtomicI32,
    calls: AtomicU64,
    messages: AtomicU64,
    cut_short: AtomicU64,
}

impl Handed {
    /// Returns the counts for the record.
    pub fn told(&self) -> Batched {
        let refused = Some(self.refused.load(Ordering::Relaxed)).filter(|errno| *errno != 0);
        Batched {
            asked: self.asked,
            got: refused.is_none().then_some(self.asked),
            refused: refused.map(|errno| std::io::Error::from_raw_os_error(errno).to_string()),
            calls: self.calls.load(Ordering::Relaxed),
            messages: self.messages.load(Ordering::Relaxed),
            cut_short: self.cut_short.load(Ordering::Relaxed),
        }
    }
}

/// By the only thread that writes, which is why it takes no locked instruction.
fn add(counter: &AtomicU64, count: u64) {
    counter.store(counter.load(Ordering::Relaxed) + count, Ordering::Relaxed);
}

/// The first of `messages` alone.
fn one(socket: BorrowedFd<'_>, messages: &[u8], length: usize, flags: SendFlags) -> Result<usize, Errno> {
    send(socket, &messages[..length.min(messages.len())], flags).map(|_| 1)
}

#[cfg(test)]
mod tests;
