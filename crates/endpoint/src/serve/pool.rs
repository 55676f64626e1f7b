//! Threads that serve one connection or flow after another.
//!
//! To start a thread takes longer than to answer a request over a new connection, and the client would measure it. So a
//! thread that has nothing left to serve waits a while for the next job; a new one is started only when none waits.
//! No lock is held while a job is handed over or served, beyond the list of those that wait.
//!
//! A job leaves its thread as it found it (see [`crate::thread::Pinned`]), and accounts only for the CPU time between its
//! own beginning and end. One that panics takes its thread along, and nothing else.

use std::io;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use measure::unit::Nanos;

use crate::pace;

/// Threads that wait at once; one more ends instead: each keeps the memory that its stack has touched.
const MOST: usize = 64;
/// Idle time after which a thread ends: a client that measures has a job for it many times a second.
const IDLE: Nanos = Nanos::secs(2);

type Job = Box<dyn FnOnce() + Send>;

/// The threads of one reflector.
#[derive(Debug, Default)]
pub struct Pool {
    idle: Mutex<Idle>,
}

/// Those that wait, the last to come at the end: its stack is warm, and the first ones get old enough to end.
#[derive(Debug, Default)]
struct Idle {
    threads: Vec<(ThreadId, SyncSender<Job>)>,
    closed: bool,
}

impl Pool {
    /// Has `job` done by a thread that waits, or by a new one. An error: none can be started, and `job` is dropped.
    pub fn serve(self: &Arc<Self>, job: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let Some(job) = self.hand_over(Box::new(job)) else { return Ok(()) };
        let pool = Arc::clone(self);
        thread::Builder::new().name("sonde-session".into()).spawn(move || pool.work(job)).map(drop)
    }

    /// Gives `job` to a thread that waits; back where none does.
    fn hand_over(&self, mut job: Job) -> Option<Job> {
        let mut idle = self.idle();
        while let Some((_, thread)) = idle.threads.pop() {
            match thread.try_send(job) {
                Ok(()) => return None,
                Err(TrySendError::Full(back) | TrySendError::Disconnected(back)) => job = back,
            }
        }
        Some(job)
    }

    /// Nobody waits any more from here on: those that do end now, the others after their job.
    pub fn close(&self) {
        let mut idle = self.idle();
        idle.closed = true;
        idle.threads.clear();
    }

    fn work(&self, first: Job) {
        // Every job finds it so, whether it asks for it or not.
        pace::be_punctual();
        let mut next = Some(first);
        while let Some(job) = next {
            job();
            next = self.next();
        }
    }

    /// Waits for the next job; `None` where the thread is to end.
    fn next(&self) -> Option<Job> {
        let own = thread::current().id();
        let (thread, given) = sync_channel(1);
        {
            let mut idle = self.idle();
            if idle.closed || idle.threads.len() >= MOST {
                return None;
            }
            idle.threads.push((own, thread));
        }
        given.recv_timeout(IDLE.into()).ok().or_else(|| {
            self.idle().threads.retain(|(thread, _)| *thread != own);
            // One that was handed over between the end of the wait and that.
            given.try_recv().ok()
        })
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
