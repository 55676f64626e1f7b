//! The measuring threads of one run: started together, watched from outside, gathered at the end.

use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use measure::event::Event;
use measure::outcome::SocketFacts;
use measure::recorder::Recording;
use measure::unit::Nanos;
use protocol::link::{Fault, Link};
use protocol::wire::Wire;
use rtrb::{Consumer, Producer, RingBuffer};

use super::scene::{FarEnd, Scene};
use crate::clock::wall;
use crate::engine::split::Splits;
use crate::engine::{self, Ended, Flow, Outlet, Run, Told};
use crate::error::{Cause, EndpointError, Step};
use crate::facts::thread::{ThreadFacts, ThreadSpan};
use crate::socket::GLANCE;
use crate::stop::Stop;
use crate::thread::{cpu_for, settle};

/// Events a thread may be ahead of its reader: at a million samples a second the reader may be away for 60 ms.
const RING: usize = 1 << 16;
/// Events a thread may be ahead where only seconds are told.
const RING_OF_SECONDS: usize = 256;

/// What all threads brought.
#[derive(Debug)]
pub struct Gathered {
    /// What was recorded.
    pub recording: Recording,
    /// What was stamped.
    pub splits: Splits,
    /// How it ended.
    pub ended: Ended,
    /// What each socket got.
    pub sockets: Vec<SocketFacts>,
    /// Why there are no stamps, where they were asked for.
    pub stamps_refused: Option<String>,
    /// When the threads were let go, nanoseconds since 1970.
    pub began_wall: u64,
    /// What went wrong with the control connection meanwhile.
    pub trouble: Option<String>,
}

/// What a thread brings home.
struct Home {
    run: Run,
    span: Option<ThreadSpan>,
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

    /// Sends home whoever came and comes.
    fn cancel(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1 = Some(false);
        self.changed.notify_all();
    }
}

/// Runs the engines over `crews`, the connections of each thread, until they end.
pub fn run<L, W>(crews: Vec<Vec<Flow<L, W>>>, scene: &mut Scene<'_>) -> Result<Gathered, EndpointError>
where
    L: Link + Send,
    W: Wire + Send,
{
    let threads = crews.len() as u32;
    // Its own flag, so that a lost peer ends the threads without pretending that the user asked.
    let (halt, settled) = (Stop::default(), Stop::default());
    let start = Gate::default();
    let (method, peer, samples, interval) = (scene.method, scene.peer, scene.samples, scene.interval);
    let mut trouble = None;
    let mut began_wall = 0;
    let homes = thread::scope(|scope| {
        let (mut readers, mut running) = (Vec::new(), Vec::new());
        for (number, flows) in (0..threads).zip(crews) {
            let (producer, consumer) = RingBuffer::new(if samples { RING } else { RING_OF_SECONDS });
            readers.push(consumer);
            let told = Told { method, stop: &halt, settled: &settled, thread: number, threads, samples, interval };
            let start = &start;
            let body = move || {
                let settled = settle(cpu_for(&method.spread.cpus, number), &peer.to_string());
                if !start.arrive() {
                    return Err(EndpointError::new(Step::StartThread, peer, Cause::Stopped));
                }
                // The others need not go on to an end that will not be told.
                settled.inspect_err(|_| told.stop.request()).map(|_pinned| work(flows, told, producer))
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
        while running.iter().any(|thread| !thread.is_finished()) {
            empty(&mut readers, scene.on_event);
            if scene.stop.requested() {
                halt.request();
            }
            if let Some(lost) = look_after(scene.far, trouble.is_some(), samples) {
                trouble = Some(lost);
                halt.request();
            }
        }
        empty(&mut readers, scene.on_event);
        running
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect::<Result<Vec<Home>, EndpointError>>()
    })?;
    let closed = homes.iter().any(|home| matches!(home.run.ended, Ended::Broken(Fault::Closed)));
    if closed && trouble.is_none() {
        trouble = scene.far.reason().map(|error| error.cause.to_string());
    }
    gather(homes, scene, began_wall, trouble)
}

fn work<L: Link, W: Wire>(flows: Vec<Flow<L, W>>, told: Told<'_>, producer: Producer<Event>) -> Home {
    let before = ThreadFacts::own();
    let run = engine::run(flows, told, Outlet::new(producer));
    let span = ThreadFacts::own().zip(before).and_then(|(after, before)| after.since(&before));
    Home { run, span }
}

fn empty(readers: &mut [Consumer<Event>], on_event: &mut dyn FnMut(Event)) {
    for reader in readers {
        while let Ok(event) = reader.pop() {
            on_event(event);
        }
    }
}

/// Waits a little, looking after the control connection meanwhile: `Some` when the peer is lost. Samples fill their
/// rings fast, so the waits are short then.
fn look_after(far: &mut dyn FarEnd, lost_before: bool, samples: bool) -> Option<String> {
    let pause = if samples { Nanos(GLANCE.0 / 50) } else { Nanos(GLANCE.0 / 4) };
    if lost_before {
        thread::park_timeout(pause.into());
        return None;
    }
    far.watch(pause).err().map(|error| error.cause.to_string())
}

fn gather(
    homes: Vec<Home>,
    scene: &mut Scene<'_>,
    began_wall: u64,
    trouble: Option<String>,
) -> Result<Gathered, EndpointError> {
    let mut whole: Option<Run> = None;
    for home in homes {
        if let Some(span) = home.span {
            scene.watch.add(span);
        }
        match &mut whole {
            None => whole = Some(home.run),
            Some(whole) => whole.merge(home.run),
        }
    }
    let nobody = || EndpointError::new(Step::StartThread, scene.peer, std::io::Error::other("no thread was started"));
    let Run { recording, splits, ended } = whole.ok_or_else(nobody)?;
    Ok(Gathered { recording, splits, ended, sockets: Vec::new(), stamps_refused: None, began_wall, trouble })
}

impl Run {
    fn merge(&mut self, other: Self) {
        self.recording.merge(other.recording);
        self.splits.merge(other.splits);
        self.ended = worse(self.ended, other.ended);
    }
}

/// The more telling of two ends: a broken thread says more than one that was stopped for it.
fn worse(one: Ended, other: Ended) -> Ended {
    match (one, other) {
        (Ended::Broken(fault), _) | (_, Ended::Broken(fault)) => Ended::Broken(fault),
        (Ended::Stopped, _) | (_, Ended::Stopped) => Ended::Stopped,
        _ => Ended::Complete,
    }
}
