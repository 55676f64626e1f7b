//! The yard: flows that have a request now and then, or none, answered by one thread that waits for events of all of them. A
//! flow that is silent costs a socket and its few buffers: no thread, no timer.
//!
//! A request costs one call and a look into a table more here than with its own thread. A flow whose requests come
//! close together, and which might make others wait, goes back to a thread.

use std::collections::HashMap;
use std::fmt;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::thread::gettid;

use crate::facts::thread::ThreadFacts;
use crate::stop::Stop;
use crate::thread::CpuTime;

/// Events taken by one call.
const AT_ONCE: usize = 64;
/// Token of the end's event.
const STOP: u64 = u64::MAX;

/// State of a flow after its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// All requests that arrived are answered.
    Wait,
    /// More requests arrive than the yard should answer.
    Busy,
    /// The flow has ended.
    Over,
}

/// A flow that rests here.
pub trait Resting: fmt::Debug + Send {
    /// Returns the socket that it waits for.
    ///
    /// # Errors
    /// It has no descriptor.
    fn socket(&self) -> Result<BorrowedFd<'_>, Errno>;
    /// Answers what has come, and never waits.
    fn turn(&mut self) -> Turn;
    /// The yard's thread used so much CPU time for it.
    fn used(&self, time: CpuTime);
    /// Gives it its own thread again.
    fn resume(self: Box<Self>);
    /// Ends it.
    fn end(self: Box<Self>);
}

/// All flows that rest.
#[derive(Debug)]
pub struct Yard {
    events: OwnedFd,
    book: Mutex<Book>,
    /// The thread that attends, once there is one.
    thread: OnceLock<u32>,
}

#[derive(Debug, Default)]
struct Book {
    next: u64,
    flows: HashMap<u64, Box<dyn Resting>>,
    /// Nobody is kept any more.
    closed: bool,
}

impl Yard {
    /// An empty one.
    ///
    /// # Errors
    /// A system that has no descriptor left.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self {
            events: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            book: Mutex::default(),
            thread: OnceLock::new(),
        })
    }

    /// Scheduler's facts of the thread that attends; `None` before it runs.
    pub fn facts(&self) -> Option<ThreadFacts> {
        ThreadFacts::of(*self.thread.get()?)
    }

    /// Keeps a flow until it ends or has much to do. Where the system cannot wait for one more it keeps its thread.
    pub fn keep(&self, flow: Box<dyn Resting>) {
        let mut book = self.book();
        if book.closed {
            drop(book);
            return end(flow);
        }
        let number = book.next;
        // Edge-triggered: stamps of sent packets stand in the error queue until they are read, and would be an event
        // for ever otherwise. Messages that arrived before it was added are an edge too.
        let flags = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
        let added =
            flow.socket().and_then(|socket| epoll::add(&self.events, socket, EventData::new_u64(number), flags));
        if added.is_err() {
            drop(book);
            return flow.resume();
        }
        book.next += 1;
        book.flows.insert(number, flow);
    }

    /// Attends to those that rest until `stop`.
    ///
    /// # Errors
    /// A system that cannot wait for events.
    pub fn run(&self, stop: &Stop) -> std::io::Result<()> {
        epoll::add(&self.events, stop.event()?, EventData::new_u64(STOP), EventFlags::IN)?;
        let mut events: Vec<Event> = Vec::with_capacity(AT_ONCE);
        let mut before = CpuTime::own();
        let _first = self.thread.set(gettid().as_raw_nonzero().get().cast_unsigned());
        while !stop.requested() {
            events.clear();
            match epoll::wait(&self.events, rustix::buffer::spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                self.attend(event.data.u64(), &mut before);
            }
        }
        let resting = {
            let mut book = self.book();
            book.closed = true;
            std::mem::take(&mut book.flows)
        };
        resting.into_values().for_each(end);
        Ok(())
    }

    fn attend(&self, number: u64, before: &mut CpuTime) {
        // The lock is not held while it has its turn.
        let Some(mut flow) = self.book().flows.remove(&number) else { return };
        let turn = flow.turn();
        // The CPU time of the wait for it is charged to the flow too.
        let now = CpuTime::own();
        flow.used(now.since(std::mem::replace(before, now)));
        if turn == Turn::Wait {
            self.book().flows.insert(number, flow);
            return;
        }
        let _out = flow.socket().and_then(|socket| epoll::delete(&self.events, socket));
        if turn == Turn::Busy { flow.resume() } else { flow.end() }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reflector ends: what has come was received, and is counted.
fn end(mut flow: Box<dyn Resting>) {
    let _last = flow.turn();
}
