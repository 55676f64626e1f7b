//! Settings as a person or a plan gave them, and the defaults for the rest.

use serde::{Deserialize, Serialize};

use super::Method;
use super::axis::{
    Carrier, Direction, Pacing, Pattern, Schedule, Sending, SocketOptions, Spread, Stamps, Stop, Waiting, Window,
};
use super::flat::{Flat, NotOf, Part};
use super::message::{Batch, Sizes};
use super::refusal::Refusal;
use super::traffic::{Application, Traffic};
use crate::unit::{Bytes, Nanos};

/// Default of each setting.
pub mod default {
    use crate::method::axis::Stamps;
    use crate::unit::{Bytes, Nanos};

    /// Length of a measurement: 10 s gives p99.9 and more at network speeds.
    pub const DURATION: Nanos = Nanos::secs(10);
    /// Size of a request and of a reply: the smallest Ethernet frame's order, and room for the native header.
    pub const SIZE: Bytes = Bytes(64);
    /// Lost after this: far above any round trip on Earth, short enough to wait for.
    pub const TIMEOUT: Nanos = Nanos::secs(1);
    /// Warm-up: neighbour resolution, slow start, page faults, frequency ramp.
    pub const WARM_UP: Nanos = Nanos::millis(400);
    /// Longest warm-up as a part of the recorded time, where that is short: two cells of 200 ms are worth more than one behind a
    /// warm-up of twice its length.
    pub const WARM_UP_PART: u64 = 4;
    /// From one echo request to the next, where nobody said: kernels answer as fast as they are asked, and a flood has to be asked for.
    pub const ECHO_INTERVAL: Nanos = Nanos::millis(10);
    /// Outstanding requests of an open loop: 65,536 hold a stall of 0.6 s at 100,000/s.
    pub const OPEN_CAP: u32 = 65_536;
    /// Bytes of one call of a TCP stream: large enough that the call itself costs little beside the copy.
    pub const CALL: Bytes = Bytes(128 << 10);
    /// Bytes of one datagram of a UDP stream: fits an Ethernet frame with room for the headers of a tunnel.
    pub const DATAGRAM: Bytes = Bytes(1_400);
    /// Connections that take turns: a path that half of all take is missed by eight with 0.8 %.
    pub const IN_TURN: u32 = 8;
    /// Stamps nobody asked for: the kernel stamps for a hundredth of the time, and the rest is as it is without.
    pub const STAMPS: Stamps = Stamps { spacing_ns: Nanos::millis(300), in_a_row: 16, rest: 99 };
    /// Stamps nobody asked for where requests are at least [`SLOW`] apart: of one request in four. A spell of
    /// several would last for most of the run there, and what the kernel adds to each packet is nothing beside such a gap.
    pub fn stamps_of_slow(gap: Nanos) -> Stamps {
        Stamps { spacing_ns: Nanos(gap.0.saturating_mul(4)), in_a_row: 1, rest: 0 }
    }
    /// Least mean gap between requests at which the kernel may stamp throughout.
    pub const SLOW: Nanos = Nanos::millis(1);
    /// Stamps asked for: five hundred a second, and the kernel stamps every packet of the host throughout, which takes
    /// a few percent of a short round trip.
    pub const STAMPS_ASKED: Stamps = Stamps { spacing_ns: Nanos::millis(2), in_a_row: 1, rest: 0 };
}

/// A method as requested: settings that were not given are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Asked {
    /// Protocol that carries the requests.
    pub carrier: Option<Carrier>,
    /// Kind of request.
    pub pattern: Option<Pattern>,
    /// Direction of a stream.
    pub direction: Option<Direction>,
    /// Outstanding requests of one connection; 0 is unbounded (an open loop).
    pub window: Option<u32>,
    /// Requests that leave together, the next when all of them have ended: in place of a window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volley: Option<u32>,
    /// Schedule of requests.
    pub schedule: Option<Schedule>,
    /// Pacing: how the sender waits for the next send time.
    pub pacing: Option<Pacing>,
    /// Wait mode of our end, until a reply comes.
    pub waiting: Option<Waiting>,
    /// Wait mode of the peer, until a request comes; absent: as it was started to.
    pub peer_waiting: Option<Waiting>,
    /// Every n-th message of a load asks for a reply, counted from 1; 0 is none.
    pub reply_every: Option<u32>,
    /// One-way messages of a load, or datagrams of a stream, that may leave in one call; absent: one.
    pub batch: Option<Batch>,
    /// Send call of a stream's sender; absent: the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sending: Option<Sending>,
    /// True where the receiver of a stream discards data unread.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub discard: bool,
    /// Size of a request in bytes; of a stream: of one call at our end.
    pub request_bytes: Option<Bytes>,
    /// Sizes of the messages of a load, where they differ: in place of `request_bytes`.
    pub sizes: Sizes,
    /// Size of a reply in bytes; of a stream: of one call at the peer's end.
    pub response_bytes: Option<Bytes>,
    /// Connections.
    pub connections: Option<u32>,
    /// Threads.
    pub threads: Option<u32>,
    /// True where one thread uses the connections one after the other.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_turn: bool,
    /// CPUs of our threads.
    pub cpus: Vec<u32>,
    /// CPUs of the peer's threads.
    pub peer_cpus: Vec<u32>,
    /// End of the measurement.
    pub stop: Stop,
    /// Nanoseconds after which a request is lost.
    pub timeout_ns: Option<Nanos>,
    /// Nanoseconds of warm-up.
    pub warm_up_ns: Option<Nanos>,
    /// Socket options.
    pub socket: SocketOptions,
    /// True where Nagle's algorithm stays on (`TCP_NODELAY` not set).
    pub nagle: bool,
    /// Kernel timestamps: whether, where it was said.
    pub stamps: Option<bool>,
    /// The program that is asked in its own protocol, where one is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application: Option<Application>,
    /// Seed of random draws.
    pub seed: Option<u64>,
}

/// Protocol of the far side, where it runs a program: the settings that it can honour depend on that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Far {
    /// Ours: each request may carry a header, and over UDP it must.
    Native,
    /// Another program's: messages have the form of its protocol, and its settings cannot be expressed in ours.
    Foreign,
    /// The same of a protocol that says at which rate the far side is to send.
    ForeignPaced,
    /// Nobody knows whose: probes of the bare wire, which anything may answer and an answer of any size.
    Anyone,
}

impl Asked {
    /// Adds connections in turn, where none are given and the round trips follow one another: a single connection
    /// shows its own path, queue and processor. Not where the peer spins on each, where all have one port, or are too few
    /// requests to share.
    #[must_use]
    pub fn over_several(self) -> Self {
        let usual = self.carrier.is_none_or(|carrier| matches!(carrier, Carrier::Tcp | Carrier::Udp))
            && self.pattern.is_none_or(|pattern| pattern == Pattern::Exchange)
            && self.window.is_none_or(|window| window == 1);
        let unsaid = self.connections.is_none() && self.threads.is_none() && self.peer_waiting != Some(Waiting::Spin);
        let alone = self.schedule.is_some_and(|schedule| schedule != Schedule::BackToBack)
            || self.volley.is_some()
            || self.stop.count.is_some()
            || self.socket.source_ports.is_some_and(|ports| ports.count() < default::IN_TURN);
        Self { in_turn: self.in_turn || usual && unsaid && !alone, ..self }
    }

    /// This with a pause between echo requests, where it says nothing of when they are due, and lasts for longer than the pause.
    #[must_use]
    pub fn with_pause(self) -> Self {
        let interval_ns = default::ECHO_INTERVAL;
        let lasts = self.stop.after_ns.is_none_or(|length| length > interval_ns);
        let echoes = self.carrier == Some(Carrier::Icmp) && self.volley.is_none() && lasts;
        let pause = echoes.then_some(Schedule::Every { interval_ns });
        Self { schedule: self.schedule.or(pause), ..self }
    }

    /// True where nobody said over how many connections.
    pub fn leaves_connections(&self) -> bool {
        self.in_turn && self.connections.is_none()
    }

    /// The method this asks for towards a reflector of ours or a kernel, gaps filled with [`default`]s, or the reason why
    /// it makes no sense.
    pub fn resolve(&self) -> Result<Method, Refusal> {
        self.resolve_towards(Far::Native)
    }

    /// The method this asks for towards a far side of this kind, gaps filled with [`default`]s, or the reason why it
    /// makes no sense.
    pub fn resolve_towards(&self, far: Far) -> Result<Method, Refusal> {
        let pattern = self.pattern.unwrap_or(Pattern::Exchange);
        let carrier = self.carrier.unwrap_or(if pattern == Pattern::Load { Carrier::Udp } else { Carrier::Tcp });
        let schedule = self.schedule.unwrap_or(Schedule::BackToBack);
        let (request_bytes, response_bytes) = self.resolve_sizes(carrier, pattern, schedule)?;
        let traffic = Traffic::try_from(Flat {
            carrier,
            pattern,
            direction: self.direction.or((pattern == Pattern::Stream).then(Direction::default)),
            window: self.resolve_window(carrier, pattern, schedule)?,
            reply_every: self.reply_every.unwrap_or(1),
            batch: self.batch,
            sending: self.sending.unwrap_or_default(),
            discard: self.discard,
            request_bytes,
            sizes: self.sizes.clone(),
            response_bytes,
            stamps: self.resolve_stamps(carrier, pattern, schedule),
            application: self.application.clone(),
        })?;
        let stop = self.resolve_stop(schedule)?;
        let method = Method {
            schedule,
            pacing: self.pacing.unwrap_or(Pacing::Hybrid),
            waiting: self.waiting.unwrap_or(Waiting::Block),
            peer_waiting: self.peer_waiting,
            spread: self.resolve_spread()?,
            timeout_ns: self.timeout_ns.unwrap_or(default::TIMEOUT),
            warm_up_ns: self.warm_up_ns.unwrap_or(match (carrier, pattern) {
                (_, Pattern::Stream) | (Carrier::TcpSyn, _) => Nanos::ZERO,
                _ => stop
                    .after_ns
                    .map_or(default::WARM_UP, |length| default::WARM_UP.min(Nanos(length.0 / default::WARM_UP_PART))),
            }),
            stop,
            socket: SocketOptions { nodelay: !self.nagle, ..self.socket.clone() },
            seed: self.seed.unwrap_or(0),
            traffic,
        };
        method.check(self, far)?;
        Ok(method)
    }

    fn resolve_sizes(&self, carrier: Carrier, pattern: Pattern, schedule: Schedule) -> Result<(Bytes, Bytes), Refusal> {
        let usual = match (carrier, pattern) {
            (_, Pattern::Load) => return self.resolve_load_sizes(schedule),
            (_, Pattern::Exchange) if self.sizes.range().is_some() => return self.resolve_load_sizes(schedule),
            (Carrier::TcpConnect | Carrier::TcpSyn, _) | (_, Pattern::ConnectClose) => (Bytes(0), Bytes(0)),
            (Carrier::Udp, Pattern::Stream) => (default::DATAGRAM, Bytes(0)),
            (_, Pattern::Stream) => (default::CALL, Bytes(0)),
            (Carrier::Icmp, _) => (default::SIZE, self.request_bytes.unwrap_or(default::SIZE)),
            _ if self.application.is_some() => (default::SIZE, Bytes(0)),
            (_, Pattern::Exchange | Pattern::ConnectExchange) => (default::SIZE, default::SIZE),
        };
        Ok((self.request_bytes.unwrap_or(usual.0), self.response_bytes.unwrap_or(usual.1)))
    }

    /// Resolves the sizes of request and reply. For messages of several sizes the request is the largest; the reply is
    /// as long as the smallest, unless another is asked for.
    fn resolve_load_sizes(&self, schedule: Schedule) -> Result<(Bytes, Bytes), Refusal> {
        let told = match (schedule, self.sizes.range()) {
            (Schedule::Trace { .. }, Some(_)) => return Err(Refusal::SizesTwice),
            (Schedule::Trace { smallest, largest, .. }, None) => Some((smallest, largest)),
            (_, range) => range,
        };
        let (smallest, largest) = match (told, self.request_bytes) {
            (Some(_), Some(_)) => return Err(Refusal::SizesTwice),
            (Some(range), None) => range,
            (None, size) => (size.unwrap_or(default::SIZE), size.unwrap_or(default::SIZE)),
        };
        Ok((largest, self.response_bytes.unwrap_or(smallest)))
    }

    fn resolve_spread(&self) -> Result<Spread, Refusal> {
        let connections = self.connections.unwrap_or(if self.in_turn { default::IN_TURN } else { 1 });
        let threads = self.threads.unwrap_or(if self.in_turn { 1 } else { connections.clamp(1, 64) });
        if connections == 0 || threads == 0 {
            return Err(Refusal::NothingToMeasureWith);
        }
        if threads > connections {
            return Err(Refusal::IdleThreads { threads, connections });
        }
        if connections > 65_536 || threads > 1_024 {
            return Err(Refusal::TooMany { connections, threads });
        }
        if self.in_turn && threads > 1 {
            return Err(Refusal::TurnsOfThreads { threads });
        }
        if let Some(ports) = self.socket.source_ports.filter(|ports| ports.count() < connections) {
            return Err(Refusal::FewPorts { ports: ports.count(), connections });
        }
        let in_turn = self.in_turn && connections > 1;
        Ok(Spread { connections, threads, in_turn, cpus: self.cpus.clone(), peer_cpus: self.peer_cpus.clone() })
    }

    fn resolve_stop(&self, schedule: Schedule) -> Result<Stop, Refusal> {
        let mut stop = self.stop.clone();
        if stop.count == Some(0) || stop.after_ns == Some(Nanos::ZERO) || stop.bytes == Some(Bytes(0)) {
            return Err(Refusal::NothingToMeasure);
        }
        if let Some(settled) = stop.settled {
            if !(settled.quantile > 0.0 && settled.quantile < 1.0) {
                return Err(Refusal::NoQuantile { quantile: settled.quantile });
            }
            if settled.within.is_some_and(|w| w <= 0.0 || w >= 1.0) {
                return Err(Refusal::NoTolerance);
            }
            // A noisy path may never settle: an hour bounds the wait for it.
            stop.after_ns.get_or_insert(Nanos::secs(3_600));
        } else if stop.count.is_none() && stop.bytes.is_none() && !matches!(schedule, Schedule::Trace { .. }) {
            stop.after_ns.get_or_insert(default::DURATION);
        }
        Ok(stop)
    }

    fn resolve_stamps(&self, carrier: Carrier, pattern: Pattern, schedule: Schedule) -> Option<Stamps> {
        // On request only: of a stream the timestamps are those of a reply's last segment, whose octets may be another's too.
        let framed = self.application.is_some() && carrier == Carrier::Tcp;
        let possible = pattern == Pattern::Exchange && carrier != Carrier::TcpConnect && !framed;
        // To switch receive stamps on the kernel needs a CPU for a moment, which a spinning thread of real-time priority
        // does not give it. There they are taken on request only.
        let spinning = self.waiting == Some(Waiting::Spin);
        match self.stamps {
            Some(asked) => asked.then_some(default::STAMPS_ASKED),
            None if !possible || spinning => None,
            None => {
                let slow = schedule.mean_gap().filter(|gap| *gap >= default::SLOW);
                Some(slow.map_or(default::STAMPS, default::stamps_of_slow))
            }
        }
    }

    fn resolve_window(&self, carrier: Carrier, pattern: Pattern, schedule: Schedule) -> Result<Window, Refusal> {
        let open = Window::Open { cap: default::OPEN_CAP };
        let on_schedule = schedule.has_instants();
        match (self.window, self.volley) {
            (Some(_), Some(_)) => Err(Refusal::WindowTwice),
            (_, Some(0)) => Err(Refusal::EmptyBurst),
            (Some(n), _) | (_, Some(n)) if n > 1 << 20 => Err(Refusal::WindowTooLarge { window: n }),
            (_, Some(n)) => Ok(Window::Volley(n)),
            (Some(_), _) if pattern == Pattern::Stream => Err(NotOf { what: Part::Window, carrier, pattern }.into()),
            (None, _) if pattern == Pattern::Stream => Ok(Window::Closed(1)),
            (None | Some(0), _) if pattern == Pattern::Load || on_schedule => Ok(open),
            (Some(0), _) => Err(Refusal::UnboundedBackToBack),
            (window, _) => Ok(Window::Closed(window.unwrap_or(1))),
        }
    }
}
