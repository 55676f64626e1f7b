//! A measurement of streams between our two ends, whole: the session with the reflector, a connection or flow and a
//! thread for each stream, the bulk engine on them, and what both ends found.

mod finding;
mod lane;
mod open;

use std::net::SocketAddr;
use std::num::NonZeroU64;

use measure::event::Event;
use measure::method::{Direction, Method, Schedule, Sending, StreamOver};
use measure::throughput::meter::Metered;
use measure::unit::{Bytes, Nanos, Rate};
use protocol::native::message::Report;
use protocol::native::stream::flows;

pub use finding::{Finding, Thread};
pub use protocol::native::stream::{HostCpu, Told};

use crate::clock::wall_offset;
use crate::control::{Control, Credential};
use crate::cpu_usage::Snapshot;
use crate::environment::Reader;
use crate::environment::watch::Watch;
use crate::error::EndpointError;
use crate::reflector;
use crate::reflector::stream::tally::host_cpu;
use crate::rtt::{self, Target};
use crate::session::scene::Scene;
use crate::session::threads::{self, Brought};
use crate::stop::Stop;
use crate::wire;
use lane::Home;

/// Settings of one throughput measurement.
#[derive(Clone, Debug)]
pub struct Task {
    /// Method. `request_bytes` is the size of one call of the sender, over UDP of one datagram; `spread.connections`
    /// the number of streams in each direction, each with a thread; `schedule` the rate of calls or datagrams of all
    /// streams of one direction together, whichever end sends ([`calls_for`] converts bytes a second); `batch` the
    /// number of segments of a call. `sending` and `discard` hold for both ends.
    pub method: Method,
    /// True where a sender skips sends that are late, so that it never sends several at once: datagrams that probe a
    /// path must be as far apart as their rate says, and their number must be known.
    pub even: bool,
    /// True where the durations of our calls are recorded.
    pub timed: bool,
    /// Peer to measure against; absent: a reflector of our own, over loopback.
    pub target: Option<Target>,
    /// The key that the reflector wants.
    pub key: Option<Credential>,
    /// Length of an interval of the series; usually [`measure::event::INTERVAL`].
    pub interval: Nanos,
    /// Name and version of the program, for the peer and the record.
    pub program: String,
    /// Settings of the packet capture beside the measurement; absent: no capture.
    pub verify: Option<wire::Wish>,
}

impl Task {
    /// Streams as `method` has it, to and from a reflector of our own.
    pub fn new(method: Method, program: &str) -> Self {
        let (interval, program) = (measure::event::INTERVAL, program.to_owned());
        Self { method, even: false, timed: false, target: None, key: None, interval, program, verify: None }
    }

    /// Direction of the streams.
    pub fn direction(&self) -> Direction {
        self.method.traffic.stream().map_or(Direction::Send, |stream| stream.direction)
    }

    /// Streams each way.
    pub fn streams(&self) -> u32 {
        self.method.spread.connections.max(1)
    }

    /// Streams both ways together: of a run both ways the first half of the flows is ours to send on.
    pub fn flows(&self) -> u32 {
        flows(self.direction(), self.streams())
    }

    /// Datagrams of one call that sends; 1: each has its own, as programs send them.
    pub fn segments(&self) -> u32 {
        match self.over() {
            StreamOver::Udp { segments: Some(segments) } => segments.clamp(1, MOST_SEGMENTS),
            StreamOver::Udp { segments: None } | StreamOver::Tcp { .. } => 1,
        }
    }

    fn over(&self) -> StreamOver {
        let plain = StreamOver::Tcp { sending: Sending::Copy, discard: false };
        self.method.traffic.stream().map_or(plain, |stream| stream.over)
    }

    /// Calls or datagrams that a sending stream makes in 1000 s; `None`: as many as go.
    fn rate(&self) -> Option<Rate> {
        let of_all = match self.method.schedule {
            Schedule::BackToBack => return None,
            Schedule::Rate { rate_per_1000s } => rate_per_1000s.0.get(),
            other => 1_000_000_000_000 / other.mean_gap()?.0.max(1),
        };
        NonZeroU64::new((of_all / u64::from(self.streams())).max(1)).map(Rate)
    }

    fn is_of_datagrams(&self) -> bool {
        matches!(self.over(), StreamOver::Udp { .. })
    }
}

/// Segments of one call at most, on every kernel that knows them.
const MOST_SEGMENTS: u32 = 64;

/// Returns the rate at which calls of `call` bytes carry `bytes_per_s`, in calls per 1000 s; at least one. `None` where
/// the rate is 0, or beyond counting.
pub fn calls_for(bytes_per_s: u64, call: Bytes) -> Option<Rate> {
    let calls = u128::from(bytes_per_s) * 1_000 / u128::from(call.0.max(1));
    let calls = u64::try_from(calls).ok()?.max(1);
    NonZeroU64::new(calls).filter(|_| bytes_per_s > 0).map(Rate)
}

/// Measures. Blocks until it is over; `on_event` is called on this thread, never on a measuring one: with
/// [`Event::Started`] and [`Event::Carried`], whose thread is the number of the flow. In a run in both directions this
/// end sends on the first half of the flows.
pub fn measure(task: &Task, stop: &Stop, on_event: &mut dyn FnMut(Event)) -> Result<Finding, EndpointError> {
    // Best effort: many streams take more descriptors than a process usually gets.
    crate::socket::raise_descriptor_limit();
    match &task.target {
        Some(target) => against(task, target.address, false, stop, on_event),
        // Told apart in the record.
        None => reflector::beside(&task.program, |address| against(task, address, true, stop, on_event))?,
    }
}

/// Results of the threads and the facts of this host during the run.
struct Ours {
    brought: Brought<Home>,
    cpu: Option<HostCpu>,
    clock_stepped: bool,
}

fn against(
    task: &Task,
    peer: SocketAddr,
    own: bool,
    stop: &Stop,
    on_event: &mut dyn FnMut(Event),
) -> Result<Finding, EndpointError> {
    let options = &task.method.socket;
    // Before the first packet, so that each handshake is seen.
    let wire = task.verify.map(|wish| wire::Watch::start(&task.method, peer, wish)).transpose()?;
    let mut control = Control::open(peer, open::request(task), task.key.as_ref(), options, stop)?;
    let lanes = open::lanes(task, peer, &control, stop)?;
    let reader = Reader::host(task.program.clone()).towards(peer.ip());
    let mut watch = Watch::start(match &options.interface {
        Some(interface) => reader.through(interface.clone()),
        None => reader,
    });
    let halt = Stop::default();
    let works: Vec<_> = lanes.into_iter().map(|lane| move |post: threads::Post<'_>| lane.run(task, post)).collect();
    let mut scene = Scene {
        method: &task.method,
        trace: None,
        peer,
        far: &mut control,
        samples: false,
        interval: task.interval,
        stop,
        halt: &halt,
        watch: &mut watch,
        on_event,
    };
    let (before, offset_before) = (Snapshot::take(), wall_offset());
    let brought = threads::run(works, &mut scene, |home: &Home| home.ended)?;
    let cpu = Snapshot::take().zip(before).and_then(|(now, before)| now.since(&before)).map(host_cpu);
    let clock_stepped = (wall_offset() - offset_before).unsigned_abs() > CLOCK_TOLERANCE;
    let peer_facts = rtt::facts_of(&control);
    let wire = wire.map(|wire| wire.finish(control.local().into_iter().collect()));
    let report = if brought.trouble.is_some() {
        // A lost peer is not asked any more; the reflector ends the session by itself.
        let lost = brought.trouble.as_ref().map(|error| error.cause.to_string()).unwrap_or_default();
        control.give_up("the peer was lost");
        Err(lost)
    } else {
        control.close(stop).map_err(|error| error.cause.to_string())
    };
    let ours = Ours { brought, cpu, clock_stepped };
    let finding = finding::conclude(task, ours, report, watch.finish(), peer_facts, peer, own);
    Ok(Finding { wire, ..finding })
}

/// Largest difference between the changes of wall and monotonic clock that is not taken for a step, nanoseconds.
const CLOCK_TOLERANCE: u128 = 50_000_000;

/// All of one way's streams as one; `None` where there are none.
fn together(streams: impl Iterator<Item = Metered>) -> Option<Metered> {
    streams.reduce(|mut all, more| {
        all.merge(more);
        all
    })
}

/// Report of the reflector, or the reason for which there is none.
type Word = Result<Report, String>;

#[cfg(test)]
mod tests;
