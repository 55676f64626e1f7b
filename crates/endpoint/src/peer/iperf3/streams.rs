//! The streams of one end of a test, each on its own thread.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use measure::event::Event;
use measure::method::Pacing;
use measure::outcome::SocketFacts;
use measure::throughput::meter::StreamCount;
use measure::unit::{Instant, Nanos};
use protocol::iperf3::datagram::Counter;
use protocol::iperf3::parameters::{Parameters, Protocol};
use rtrb::{Consumer, RingBuffer};

use super::course::{AtIt, Bounds, Course, Guarded};
use super::sockets::{self, Connection};
use crate::clock::wall;
use crate::engine::stream::{self, Plan, Streamed};
use crate::engine::{Ended, Outlet};
use crate::error::{Cause, EndpointError, Step};
use crate::facts::socket::socket_facts;
use crate::facts::thread::{ThreadFacts, ThreadSpan};
use crate::link::bulk::any::Any;
use crate::stop::Stop;
use crate::thread::{CpuTime, settle};

/// Intervals that a thread may be ahead of its reader.
const RING: usize = 256;

/// A stream that is there, before it runs.
#[derive(Debug)]
pub struct Ready {
    /// Addresses and numbers of the stream.
    pub connection: Connection,
    /// Its way.
    pub way: Any<Counter>,
    /// Facts of its socket once it was connected.
    pub at_start: SocketFacts,
}

/// A stream that has run.
#[derive(Debug)]
pub struct Ran {
    /// Addresses and numbers of the stream.
    pub connection: Connection,
    /// Counts and times of the payload.
    pub count: StreamCount,
    /// Duration without the part that is left out. For a receiver it ends with the test, or with the last bytes that
    /// were on their way by then.
    pub elapsed: Nanos,
    /// Cause of the end; [`Ended::Stopped`] is a sender's end by the end of the test.
    pub ended: Ended,
    /// Facts of its socket once it was connected.
    pub at_start: SocketFacts,
    /// Facts of its socket at the end.
    pub at_end: SocketFacts,
    /// CPU time of its thread.
    pub cpu: CpuTime,
    /// Scheduler's facts of its thread; absent where not known.
    pub span: Option<ThreadSpan>,
    /// The socket, still open: the protocol says when it is to be closed.
    pub way: Any<Counter>,
}

/// Settings of the streams' run.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Parameters agreed on with the peer.
    pub parameters: &'a Parameters,
    /// Duration of our senders without the part that is left out; `None`: until the test is over.
    pub after: Option<Nanos>,
    /// Length of an interval.
    pub interval: Nanos,
    /// The CPU of all threads; `None`: any.
    pub cpu: Option<u32>,
    /// Longest time for which a stream may carry nothing; then the test ends.
    pub patience: Nanos,
    /// State that the streams share.
    pub course: &'a Course,
    /// Pacing: the way in which a call's time is waited for.
    pub pacing: Pacing,
    /// True where the peer closes its connections before it asks for results, as a server does.
    pub closes: bool,
}

/// Runs `streams` until they end. Meanwhile `look` is called again and again, with when the threads were let go; it waits a
/// little each time. Events come on the calling thread. Returns them in order, and when they began, nanoseconds since 1970.
pub fn run(
    streams: Vec<Ready>,
    how: Run<'_>,
    on_event: &mut dyn FnMut(Event),
    look: &mut dyn FnMut(Instant),
) -> Result<(Vec<Ran>, u64), EndpointError> {
    let fail = |cause: std::io::Error| EndpointError::new(Step::StartThread, "this host", cause);
    thread::scope(|scope| {
        let (mut gates, mut readers, mut threads): (Vec<Sender<()>>, Vec<_>, Vec<_>) = Default::default();
        for (number, ready) in (0..).zip(streams) {
            let (producer, consumer) = RingBuffer::new(RING);
            let (gate, opened) = channel();
            let at_it = AtIt::of(how.course, ready.connection.sends);
            let body = move || one(ready, number, how, Outlet::new(producer), &opened, at_it);
            // If a thread cannot be started the gates go, and with them the threads that wait at them.
            let thread = thread::Builder::new().name(format!("sonde-iperf3-{number}")).spawn_scoped(scope, body);
            threads.push(thread.map_err(fail)?);
            gates.push(gate);
            readers.push(consumer);
        }
        let (began, began_wall) = (crate::clock::Monotonic::now(), wall());
        for gate in gates {
            let _let_go = gate.send(());
        }
        while threads.iter().any(|thread| !thread.is_finished()) {
            empty(&mut readers, on_event);
            look(began);
        }
        empty(&mut readers, on_event);
        let ran = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect::<Result<Vec<Ran>, EndpointError>>()?;
        Ok((ran, began_wall))
    })
}

fn empty(readers: &mut [Consumer<Event>], on_event: &mut dyn FnMut(Event)) {
    for reader in readers {
        while let Ok(event) = reader.pop() {
            on_event(event);
        }
    }
}

fn one(
    ready: Ready,
    number: u32,
    how: Run<'_>,
    outlet: Outlet,
    opened: &Receiver<()>,
    at_it: AtIt<'_>,
) -> Result<Ran, EndpointError> {
    let Ready { connection, way, at_start } = ready;
    let pinned = settle(how.cpu, &connection.remote.to_string());
    if opened.recv().is_err() {
        return Err(EndpointError::new(Step::StartThread, connection.remote, Cause::Stopped));
    }
    let _pinned = pinned.inspect_err(|_| how.course.stop())?;
    let omits = how.parameters.omit > 0;
    let bounds = Bounds {
        sends: connection.sends,
        // A block is one segment cut by the kernel, as in the original.
        block: how.parameters.block_bytes() * if connection.sends { how.parameters.segments() } else { 1 },
        closes: how.closes && how.parameters.protocol == Protocol::Tcp,
        omits,
        patience: how.patience,
    };
    let never = Stop::default();
    let schedule = sockets::schedule(how.parameters);
    let plan = Plan {
        schedule: if connection.sends { schedule } else { measure::method::Schedule::BackToBack },
        pacing: how.pacing,
        warm_up: Nanos::secs(u64::from(how.parameters.omit)),
        after: how.after.filter(|_| connection.sends),
        interval: how.interval,
        thread: number,
        // Receivers go on until nothing more comes.
        ..Plan::unbounded(if connection.sends { how.course.over() } else { &never })
    };
    let before = ThreadFacts::own();
    let Streamed { way, mut metered, ended } = stream::run(Guarded::new(way, how.course, bounds), &plan, Some(outlet));
    drop(at_it);
    let last = way.last();
    let way = way.into_inner();
    let span = ThreadFacts::own().zip(before).and_then(|(after, before)| after.since(&before));
    let nothing = || EndpointError::new(Step::Measure, connection.remote, Cause::Stopped);
    let count = metered.streams.pop().ok_or_else(nothing)?;
    let end = match how.course.ended_at() {
        Some(ended) if !connection.sends => last.unwrap_or(ended).min(count.ended),
        _ => count.ended,
    };
    Ok(Ran {
        elapsed: end.since(count.began).unwrap_or_default(),
        at_end: socket_facts(way.socket()),
        cpu: CpuTime::own(),
        connection,
        count,
        ended,
        at_start,
        span,
        way,
    })
}
