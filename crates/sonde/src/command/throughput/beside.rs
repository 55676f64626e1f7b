//! Measurements beside the streams: exchanges before, while and after they run, and datagrams slower and faster than a
//! stream that meets losses.

use std::thread;

use endpoint::control::Credential;
use endpoint::error::EndpointError;
use endpoint::rtt::{self, Target};
use endpoint::stop::Stop;
use endpoint::throughput::{self, Finding, Task};
use measure::method::{Asked, Batch, BatchBy, Carrier, Direction, Method, Pattern, Schedule, Stop as End, default};
use measure::statistics::summary::{Extra, summarise};
use measure::throughput::latency::{Phase, UnderLoad};
use measure::throughput::limit::moved::Moved;
use measure::throughput::limit::moved::course::{Course, Wanted};
use measure::throughput::limit::moved::leg::Leg;
use measure::throughput::limit::reason::Untried;
use measure::unit::{Bytes, Nanos, Rate};

use crate::command::throughput::evidence::{Way, middle_rtt};
use crate::program::PROGRAM;

/// The length of each of the two quiet phases.
const QUIET: Nanos = Nanos::secs(3);
/// Exchanges beside the streams: so many a second are no load of their own, and enough for a 99th percentile in 10 s.
const EXCHANGES: u64 = 100;
/// An exchange without an answer for so long is lost: a queue of seconds is seen.
const PATIENCE: Nanos = Nanos::secs(2);
/// Intervals of a leg, as short as a reflector makes them: a queue that is full stays so for longer, a program that is late does
/// not.
const GLIMPSE: Nanos = Nanos::millis(100);
/// Calls a second beyond which no leg is tried: they cannot be made.
const MOST_A_SECOND: f64 = 300_000.0;

/// Peer of the exchanges and legs.
#[derive(Clone, Debug)]
pub struct Beside {
    /// Peer; `None`: a reflector of our own.
    pub target: Option<Target>,
    /// The key that it wants.
    pub key: Option<Credential>,
}

impl Beside {
    /// Runs `streams`, with exchanges before, meanwhile and after. Exchanges that fail cost the streams nothing: then there are
    /// none to tell of.
    pub fn with_latency(
        &self,
        length: Option<Nanos>,
        stop: &Stop,
        streams: impl FnOnce() -> Result<Finding, EndpointError>,
    ) -> Result<(Finding, Option<UnderLoad>), EndpointError> {
        let idle = self.exchanges(QUIET, stop);
        let over = Stop::default();
        let (found, loaded) = thread::scope(|scope| {
            // A run that ends by bytes has no length beforehand: its end ends them.
            let longest = length.unwrap_or(Nanos::secs(3_600));
            let probing = scope.spawn({
                let over = &over;
                move || self.exchanges(longest, over)
            });
            let found = streams();
            over.request();
            (found, probing.join().ok().flatten())
        });
        let found = found?;
        let after = self.exchanges(QUIET, stop);
        let phases = idle.zip(loaded).zip(after).map(|((idle, loaded), after)| UnderLoad {
            method: idle.1.to_string(),
            idle: idle.0,
            loaded: loaded.0,
            after: after.0,
            inside_ns: inside(&found),
        });
        Ok((found, phases))
    }

    /// Small datagrams, each due at its instant whatever became of those before; `None` where none could be made.
    fn exchanges(&self, length: Nanos, stop: &Stop) -> Option<(Phase, Method)> {
        let asked = Asked {
            carrier: Some(Carrier::Udp),
            schedule: Some(Schedule::Rate { rate_per_1000s: Rate::per_second(EXCHANGES)? }),
            stop: End { after_ns: Some(length), ..End::default() },
            timeout_ns: Some(PATIENCE),
            warm_up_ns: Some(Nanos::millis(100)),
            stamps: Some(false),
            ..Asked::default()
        };
        let task = rtt::Task {
            method: asked.resolve().ok()?,
            trace: None,
            target: self.target.clone(),
            protocol: rtt::Protocol::Native,
            key: self.key.clone(),
            one_will_do: false,
            samples: false,
            interval: measure::event::INTERVAL,
            program: PROGRAM.to_owned(),
            verify: None,
        };
        let found = rtt::run(&task, stop, &mut |_| {}).ok()?;
        let outcome = summarise(&found.recording, &task.method, Extra::default());
        let unanswered = outcome.counts.scheduled - outcome.counts.answered.min(outcome.counts.scheduled);
        Some((Phase { scheduled: outcome.counts.scheduled, unanswered, response: outcome.response }, task.method))
    }

    /// Sends datagrams slower and faster than `way` went, until they tell what the path does.
    ///
    /// # Errors
    /// The reason why that cannot be done.
    pub fn moved(&self, task: &Task, way: &Way, stop: &Stop) -> Result<Moved, Untried> {
        let arrived = way.throughput.received_bytes_per_s.filter(|rate| *rate > 0.0).ok_or(Untried::Unrated)?;
        let most = MOST_A_SECOND * f64::from(task.segments()) * size_of(task).0 as f64;
        let course = Course {
            arrived_bytes_per_s: arrived,
            lost: way.evidence(Err(Untried::NotAsked)).losses(),
            datagram: size_of(task),
            most_bytes_per_s: most,
        };
        let mut moved = Moved::default();
        while let Some(wanted) = moved.next(&course).filter(|_| !stop.requested()) {
            moved.legs.push(self.leg(task, way.throughput.direction, wanted, stop).ok_or(Untried::Refused)?);
        }
        match moved.legs.len() {
            0 if stop.requested() => Err(Untried::Stopped),
            0 => Err(Untried::TooFast),
            _ => Ok(moved),
        }
    }

    fn leg(&self, task: &Task, direction: Direction, wanted: Wanted, stop: &Stop) -> Option<Leg> {
        let size = size_of(task);
        let rate = throughput::calls_for(wanted.bytes_per_s as u64, size)?;
        let asked = Asked {
            carrier: Some(Carrier::Udp),
            pattern: Some(Pattern::Stream),
            direction: Some(direction),
            schedule: Some(Schedule::Rate { rate_per_1000s: rate }),
            request_bytes: Some(size),
            // One call a datagram may be too slow for the rate, and a buffer of many is a burst that the path need not take.
            batch: Some(Batch { messages: task.segments(), by: BatchBy::Segments }).filter(|batch| batch.messages > 1),
            stop: End { after_ns: Some(wanted.length), ..End::default() },
            warm_up_ns: Some(Nanos::ZERO),
            // Buffers are those of the stream's own carrier.
            socket: measure::method::SocketOptions {
                congestion: None,
                // The streams have them.
                source_ports: None,
                send_buffer_bytes: None,
                receive_buffer_bytes: None,
                ..task.method.socket.clone()
            },
            ..Asked::default()
        };
        let method = asked.resolve().ok()?;
        let (target, key) = (self.target.clone(), self.key.clone());
        let probe = Task { even: true, ..super::task_of(method, target, key, GLIMPSE) };
        let found = throughput::measure(&probe, stop, &mut |_| {}).ok()?;
        Way::of(&found, &probe, direction, None)?.leg(wanted.bytes_per_s)
    }
}

/// Bytes of a datagram of a leg.
fn size_of(task: &Task) -> Bytes {
    if task.method.traffic.carrier() == Carrier::Udp { task.method.traffic.request_bytes() } else { default::DATAGRAM }
}

/// The round trip that the loaded flows' own TCP sees.
fn inside(found: &Finding) -> Option<Nanos> {
    let ours = found.sent.iter().flat_map(|metered| metered.streams.iter()).flat_map(|stream| &stream.intervals);
    let theirs = found.peer_sent.iter().flat_map(|told| &told.stream.intervals);
    middle_rtt(ours.chain(theirs))
}

/// Bytes per second that a schedule of calls of `size` asks for; `None` where it asks for none.
pub fn asked_for(schedule: Schedule, size: Bytes) -> Option<f64> {
    let Schedule::Rate { rate_per_1000s } = schedule else { return None };
    Some(rate_per_1000s.0.get() as f64 / 1_000.0 * size.0 as f64)
}
