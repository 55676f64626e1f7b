//! The engines. Exchanges: one loop for a window of one, one for all else, over any link and any wire; [`stream`] for
//! bytes one way.
//!
//! An engine owns its thread. Between a stamp and a socket call there is nothing but that call: no allocation, no lock,
//! no log line. Rare tasks (the end of a second, a stamped exchange, the wish to stop) hide behind a single comparison
//! with the next [`edge::Edges`].

pub mod edge;
pub mod exchanges;
pub mod gap;
pub mod lockstep;
pub mod outstanding;
pub mod pacing;
pub mod spell;
pub mod split;
pub mod stream;
mod turns;
pub mod warm_up;
pub mod windowed;

use measure::event::{Counts, Details, Event, Exchange, Fate};
use measure::method::{Method, Traffic};
use measure::recorder::{FlowCounts, Recorder, Recording};
use measure::trace::Trace;
use measure::unit::{Instant, Nanos};
use protocol::link::{Fault, Link};
use protocol::wire::{Reading, Wire};
use rtrb::Producer;

use crate::stop::Stop;
use split::Splits;
use warm_up::Warmed;

/// One connection as an engine has it: the link, how its messages are told apart, and their memory.
#[derive(Debug)]
pub struct Flow<L, W> {
    /// The way to the peer.
    pub link: L,
    /// Wire, which finds the request of each reply.
    pub wire: W,
    /// Its number within the measurement, from 0.
    pub index: u32,
    /// The request, or its head.
    pub request: Vec<u8>,
    /// Room for a reply, or for its head; one byte more than expected on datagrams, so that longer ones are seen.
    pub reply: Vec<u8>,
    /// Bytes a sound reply brings into `reply`; `None` where the wire checks it itself.
    pub expected: Option<usize>,
}

impl<L: Link, W: Wire> Flow<L, W> {
    #[inline]
    fn read(&mut self, length: usize, oldest: u64) -> Reading {
        let reading = self.wire.identify(&self.reply[..length], oldest);
        match (reading, self.expected) {
            (Reading::Reply(seq), Some(expected)) if expected != length => Reading::Corrupt(Some(seq)),
            (reading, _) => reading,
        }
    }
}

/// Context of an engine besides its flows.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    /// Method of the measurement.
    pub method: &'a Method,
    /// Trace to replay; present where the schedule is a trace.
    pub trace: Option<&'a Trace>,
    /// Set for an early end.
    pub stop: &'a Stop,
    /// Set when the quantile that ends the run is known well enough, for all threads.
    pub settled: &'a Stop,
    /// The number of this thread, from 0.
    pub thread: u32,
    /// Threads of the whole measurement: stops by count and kept values are shared out.
    pub threads: u32,
    /// True where every exchange is reported as an event.
    pub samples: bool,
    /// Length of an interval of the series: a [`Event::Second`] is reported after each. Usually
    /// [`measure::event::INTERVAL`]; at least a millisecond.
    pub interval: Nanos,
}

impl Told<'_> {
    /// This thread's part of the requests, where they are counted.
    fn share_of_count(&self) -> Option<u64> {
        let (thread, threads) = (u64::from(self.thread), u64::from(self.threads));
        self.method.stop.count.map(|count| count / threads + u64::from(thread < count % threads))
    }

    /// Length of a turn of one of several connections: so long that finding everything cold again costs little beside
    /// it, and so short that each has its turn often. Absent where they do not take turns.
    fn turn(&self) -> Option<Nanos> {
        let flows = self.method.spread.in_turn.then_some(u64::from(self.method.spread.connections))?;
        let stop = &self.method.stop;
        // The duration of a run by count is not known: there each exchange is a turn. So is each handshake: one from a
        // port that a reset has closed some 20 µs before may meet the socket that the peer is about to close, and gets
        // no answer. One of 30,000 was lost in this way between idle hosts.
        let each = stop.count.is_some() || self.method.traffic.connects();
        let length = stop.after_ns.filter(|_| !each).map_or(0, |length| length.0 / flows / TURNS);
        Some(Nanos(length).min(LONGEST_TURN))
    }

    /// Values this thread may keep as they came.
    fn exact(&self) -> usize {
        let all = measure::recorder::EXACT / self.threads as usize;
        // A run by count needs no more room than its count.
        self.share_of_count().map_or(all, |count| usize::try_from(count).unwrap_or(all).clamp(16, all))
    }

    /// The same where no exchange begins before the one before it has ended: of a short run fewer values can come, and room for a
    /// million takes longer to make than a tenth of such a run.
    fn exact_in_succession(&self) -> usize {
        let most = |length: Nanos| usize::try_from(length.0 / QUICKEST.0).map_or(usize::MAX, |most| most.max(16));
        self.exact().min(self.method.stop.after_ns.map_or(usize::MAX, most))
    }
}

/// No exchange over sockets is quicker: each takes two system calls at either end. Were one, the values kept would be thinned.
const QUICKEST: Nanos = Nanos(1_000);
/// Turns of each connection in a run by time.
const TURNS: u64 = 64;
/// No turn is longer but by one exchange.
const LONGEST_TURN: Nanos = Nanos::millis(50);

/// Events between two checks that the reader of a ring keeps up.
const LOOK: u32 = 1_024;
/// Unread events that are no sign of a reader who cannot run.
const USUAL: usize = 4_096;

/// The way events leave a measuring thread: a wait-free ring that is emptied elsewhere.
#[derive(Debug)]
pub struct Outlet {
    ring: Producer<Event>,
    pushed: u32,
    dropped: u64,
}

impl Outlet {
    /// An outlet into `ring`.
    pub fn new(ring: Producer<Event>) -> Self {
        Self { ring, pushed: 0, dropped: 0 }
    }

    /// Hands an event over; a full ring drops samples, counted, rather than hold the measurement.
    #[inline]
    pub fn push(&mut self, event: Event) {
        if self.ring.push(event).is_err() {
            self.dropped += 1;
        }
        self.pushed = self.pushed.wrapping_add(1);
        if self.pushed.is_multiple_of(LOOK) {
            self.let_read();
        }
    }

    /// A thread that polls at real-time priority keeps its reader from their CPU for ever: one that is far behind is let
    /// run, between two exchanges.
    #[cold]
    fn let_read(&self) {
        if self.ring.buffer().capacity() - self.ring.slots() > USUAL {
            rustix::thread::sched_yield();
        }
    }

    fn finish(mut self) {
        if self.dropped > 0 {
            let count = self.dropped;
            // The reader goes on emptying the ring until the thread has ended, so there is room again at some point.
            while self.ring.push(Event::SamplesDropped { count }).is_err() {
                std::thread::yield_now();
            }
        }
    }
}

/// Cause of an engine's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// As the method says.
    Complete,
    /// Asked to stop.
    Stopped,
    /// The link could not go on.
    Broken(Fault),
}

/// Refused handshakes in a row, from the first on and one right behind the other, that end a run: the port is closed, and more of
/// them would only be a flood.
pub const MOST_REFUSED: u64 = 20;

/// Ends a run of handshakes after too many refusals; `None` where it continues.
fn refusals_end(told: &Told<'_>, counts: &Counts, fault: Fault) -> Option<Ended> {
    let floods = matches!(told.method.traffic, Traffic::Handshake { .. }) && !told.method.schedule.has_instants();
    let refused = matches!(fault, Fault::Refused(_)) && counts.refused >= MOST_REFUSED;
    (floods && refused && counts.answered + counts.lost == 0).then_some(Ended::Broken(fault))
}

/// Result of an engine's run.
#[derive(Debug)]
pub struct Run {
    /// Recording of the run.
    pub recording: Recording,
    /// Exchanges split into their parts.
    pub splits: Splits,
    /// Cause of its end.
    pub ended: Ended,
    /// Warm-up before the recording.
    pub warmed: Warmed,
}

/// Makes the sample of one exchange.
fn sample(
    flow: u32,
    seq: u64,
    intended: Option<Instant>,
    sent: Option<Instant>,
    received: Option<Instant>,
    fate: Fate,
    details: Option<Details>,
) -> Event {
    Event::Exchange(Exchange { flow, seq, intended, sent, received, fate, details })
}

/// Schedule lag of a request; `None` where it was not scheduled.
fn slip(intended: Option<Instant>, sent: Instant) -> Option<Nanos> {
    intended.map(|due| sent.since(due).unwrap_or(Nanos::ZERO))
}

/// Result of the request that a fault hit.
fn fate_of(fault: Fault) -> Fate {
    match fault {
        Fault::Refused(_) => Fate::Refused,
        Fault::SendFailed(_) | Fault::TooLong | Fault::LeftOut => Fate::SendFailed,
        Fault::Closed | Fault::Reset | Fault::System(_) => Fate::Lost,
    }
}

/// Ends a recorder and its outlet, and reports the second that was cut short.
fn finish(
    thread: u32,
    mut recorder: Recorder,
    flows: Vec<FlowCounts>,
    at: Instant,
    splits: Splits,
    ended: Ended,
    mut outlet: Outlet,
) -> Run {
    if let Some(second) = recorder.last_second(at) {
        outlet.push(Event::Second { thread, second });
    }
    outlet.finish();
    Run { recording: Recording { flows, ..recorder.finish(at) }, splits, ended, warmed: Warmed::default() }
}
