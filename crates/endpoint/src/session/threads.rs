//! Threads that measure together: started at one moment, watched from outside, brought home.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use measure::event::Event;
use measure::unit::Nanos;
use protocol::link::Fault;
use rtrb::{Consumer, RingBuffer};

use super::scene::{FarEnd, Scene};
use crate::clock::{Monotonic, wall};
use crate::engine::{Ended, Outlet};
use crate::error::{Cause, EndpointError, Step};
use crate::facts::thread::{ThreadFacts, ThreadSpan};
use crate::stop::{GLANCE, Stop};
use crate::thread::{cpu_for, settle};

/// Events a thread may be ahead of its reader: at a million samples a second the reader may be away for 60 ms.
const RING: usize = 1 << 16;
/// Events that a thread may be ahead where only seconds are reported.
const RING_OF_SECONDS: usize = 256;

/// Context of a thread besides its work.
#[derive(Debug)]
pub struct Post<'a> {
    /// Set for an early end.
    pub stop: &'a Stop,
    /// Set when the quantile that ends the run is known well enough, for all threads.
    pub settled: &'a Stop,
    /// The number of this thread, from 0.
    pub thread: u32,
    /// Threads of the whole measurement.
    pub threads: u32,
    /// Outlet of its events.
    pub outlet: Outlet,
}

/// Results of all threads.
#[derive(Debug)]
pub struct Brought<T> {
    /// Return values of the threads' work.
    pub each: Vec<T>,
    /// Wall clock at the start of the threads, nanoseconds since 1970.
    pub began_wall: u64,
    /// Error of the control connection during the run; absent: none.
    pub trouble: Option<EndpointError>,
}

/// Lets the threads of a run go at one moment, or sends them home where one of them could not be started.
#[derive(Debug, Default)]
struct Gate {
    state: Mutex<(u32, Option<bool>)>,
    changed: Condvar,
}

impl Gate {
    /// A thread is ready: waits to be let go. `false`: there will be no run.
    fn arrive(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 += 1;
        self.changed.notify_all();
        let state = self.changed.wait_while(state, |state| state.1.is_none());
        state.unwrap_or_else(PoisonError::into_inner).1 == Some(true)
    }

    /// Waits until `threads` are ready, and lets them go.
    fn open(&self, threads: u32) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = self.changed.wait_while(state, |state| state.0 < threads);
        state.unwrap_or_else(PoisonError::into_inner).1 = Some(true);
        self.changed.notify_all();
    }

    /// Ends all waiting threads, and those that still arrive.
    fn cancel(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1 = Some(false);
        self.changed.notify_all();
    }
}

/// A thread that runs: the last of all that ends reports it, however it ends.
struct Ongoing<'a> {
    left: &'a AtomicU32,
    done: &'a Stop,
}

impl Drop for Ongoing<'_> {
    fn drop(&mut self) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.done.request();
        }
    }
}

/// Does each of `works` on its own thread until all have ended; `ended` returns the cause of one's end.
pub fn run<T, B>(works: Vec<B>, scene: &mut Scene<'_>, ended: fn(&T) -> Ended) -> Result<Brought<T>, EndpointError>
where
    T: Send,
    B: FnOnce(Post<'_>) -> T + Send,
{
    let threads = works.len() as u32;
    let (start, settled) = (Gate::default(), Stop::default());
    let (left, done) = (AtomicU32::new(threads), Stop::default());
    let (method, peer, samples, halt) = (scene.method, scene.peer, scene.samples, scene.halt);
    let mut trouble = None;
    let mut began_wall = 0;
    let homes = thread::scope(|scope| {
        let (mut readers, mut running) = (Vec::new(), Vec::new());
        for (number, work) in (0..threads).zip(works) {
            let (producer, consumer) = RingBuffer::new(if samples { RING } else { RING_OF_SECONDS });
            readers.push(consumer);
            let (start, settled) = (&start, &settled);
            let ongoing = Ongoing { left: &left, done: &done };
            let body = move || {
                let _ongoing = ongoing;
                let pinned = settle(cpu_for(&method.spread.cpus, number), &peer.to_string());
                if !start.arrive() {
                    return Err(EndpointError::new(Step::StartThread, peer, Cause::Stopped));
                }
                // The others need not go on to an end that will not be told.
                let _pinned = pinned.inspect_err(|_| halt.request())?;
                Ok(watched(work, Post { stop: halt, settled, thread: number, threads, outlet: Outlet::new(producer) }))
            };
            let builder = thread::Builder::new().name(format!("sonde-rtt-{number}"));
            match builder.spawn_scoped(scope, body) {
                Ok(thread) => running.push(thread),
                Err(cause) => {
                    start.cancel();
                    return Err(EndpointError::new(Step::StartThread, peer, cause));
                }
            }
        }
        scene.watch.begin();
        began_wall = wall();
        start.open(threads);
        while !done.requested() {
            empty(&mut readers, scene.on_event);
            if scene.stop.requested() {
                halt.request();
            }
            if let Some(lost) = look_after(scene.far, trouble.is_some(), samples, &done) {
                trouble = Some(lost);
                halt.request();
            }
        }
        empty(&mut readers, scene.on_event);
        running
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect::<Result<Vec<(T, Option<ThreadSpan>)>, EndpointError>>()
    })?;
    let closed = homes.iter().any(|(home, _)| matches!(ended(home), Ended::Broken(Fault::Closed | Fault::Reset)));
    if closed && trouble.is_none() {
        trouble = scene.far.reason();
    }
    let (each, spans): (Vec<T>, Vec<Option<ThreadSpan>>) = homes.into_iter().unzip();
    spans.into_iter().flatten().for_each(|span| scene.watch.add(span));
    Ok(Brought { each, began_wall, trouble })
}

/// Does `work`, and returns the scheduler's facts of that time.
fn watched<T>(work: impl FnOnce(Post<'_>) -> T, post: Post<'_>) -> (T, Option<ThreadSpan>) {
    let before = ThreadFacts::own();
    let home = work(post);
    let span = ThreadFacts::own().zip(before).and_then(|(after, before)| after.since(&before));
    (home, span)
}

fn empty(readers: &mut [Consumer<Event>], on_event: &mut dyn FnMut(Event)) {
    for reader in readers {
        while let Ok(event) = reader.pop() {
            on_event(event);
        }
    }
}

/// Waits a little, or until all are `done`, and watches the control connection: `Some` when the peer is lost. Samples
/// fill their rings fast, so the waits are short then.
fn look_after(far: &mut dyn FarEnd, lost_before: bool, samples: bool, done: &Stop) -> Option<EndpointError> {
    let pause = if samples { Nanos(GLANCE.0 / 50) } else { Nanos(GLANCE.0 / 4) };
    if lost_before {
        done.wait(Monotonic::now().after(pause));
        return None;
    }
    far.watch(pause, done).err()
}

/// The more telling of two ends: a broken thread says more than one that was stopped for it.
pub fn worse(one: Ended, other: Ended) -> Ended {
    match (one, other) {
        (Ended::Broken(fault), _) | (_, Ended::Broken(fault)) => Ended::Broken(fault),
        (Ended::Stopped, _) | (_, Ended::Stopped) => Ended::Stopped,
        _ => Ended::Complete,
    }
}
