//! What a person or a plan said, and how the gaps in it are filled.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Method;
use super::axis::{Carrier, Pacing, Pattern, Schedule, SocketOptions, Spread, Stamps, Stop, Waiting, Window};
use super::refusal::Refusal;
use crate::unit::{Bytes, Nanos};

/// What each axis is when nobody says.
pub mod default {
    use crate::unit::{Bytes, Nanos};

    /// How long a measurement runs: 10 s gives p99.9 and more at network speeds.
    pub const DURATION: Nanos = Nanos::secs(10);
    /// Size of a request and of a reply: the smallest Ethernet frame's order, and room for the native header.
    pub const SIZE: Bytes = Bytes(64);
    /// Lost after this: far above any round trip on Earth, short enough to wait for.
    pub const TIMEOUT: Nanos = Nanos::secs(1);
    /// Warm-up: neighbour resolution, slow start, page faults, frequency ramp.
    pub const WARM_UP: Nanos = Nanos::millis(400);
    /// Outstanding requests of an open loop: 65,536 hold a stall of 0.6 s at 100,000/s.
    pub const OPEN_CAP: u32 = 65_536;
    /// One stamped exchange each 2 ms: 500 a second cost under half a percent of a CPU.
    pub const STAMP_SPACING: Nanos = Nanos::millis(2);
}

/// A method as asked for: what was not said is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Asked {
    /// What carries the requests.
    pub carrier: Option<Carrier>,
    /// What one request is.
    pub pattern: Option<Pattern>,
    /// Outstanding requests of one connection; 0 is unbounded (an open loop).
    pub window: Option<u32>,
    /// When requests are due.
    pub schedule: Option<Schedule>,
    /// How the sender waits for the next instant.
    pub pacing: Option<Pacing>,
    /// How our end waits for a reply.
    pub waiting: Option<Waiting>,
    /// How the peer waits for a request.
    pub peer_waiting: Option<Waiting>,
    /// Size of a request in bytes.
    pub request_bytes: Option<Bytes>,
    /// Size of a reply in bytes.
    pub response_bytes: Option<Bytes>,
    /// Connections.
    pub connections: Option<u32>,
    /// Threads.
    pub threads: Option<u32>,
    /// CPUs of our threads.
    pub cpus: Vec<u32>,
    /// CPUs of the peer's threads.
    pub peer_cpus: Vec<u32>,
    /// When it ends.
    pub stop: Stop,
    /// Nanoseconds after which a request is lost.
    pub timeout_ns: Option<Nanos>,
    /// Nanoseconds of warm-up.
    pub warm_up_ns: Option<Nanos>,
    /// Socket options.
    pub socket: SocketOptions,
    /// Whether Nagle's algorithm stays on (`TCP_NODELAY` not set).
    pub nagle: bool,
    /// Kernel timestamps: whether, where it was said.
    pub stamps: Option<bool>,
    /// Seed of random draws.
    pub seed: Option<u64>,
}

impl Asked {
    /// The method this asks for, gaps filled with [`default`]s, or the reason why it makes no sense.
    pub fn resolve(&self) -> Result<Method, Refusal> {
        let carrier = self.carrier.unwrap_or(Carrier::Tcp);
        let pattern = self.pattern.unwrap_or(Pattern::Exchange);
        let schedule = self.schedule.unwrap_or(Schedule::BackToBack);
        let window = resolve_window(self.window, schedule)?;
        let (request_bytes, response_bytes) = self.resolve_sizes(carrier)?;
        let method = Method {
            carrier,
            pattern,
            window,
            schedule,
            pacing: self.pacing.unwrap_or(Pacing::Hybrid),
            waiting: self.waiting.unwrap_or(Waiting::Block),
            peer_waiting: match carrier {
                Carrier::Tcp | Carrier::Udp => Some(self.peer_waiting.unwrap_or(Waiting::Block)),
                Carrier::Icmp | Carrier::TcpConnect => None,
            },
            reply_every: 1,
            request_bytes,
            response_bytes,
            spread: self.resolve_spread()?,
            stop: self.resolve_stop()?,
            timeout_ns: self.timeout_ns.unwrap_or(default::TIMEOUT),
            warm_up_ns: self.warm_up_ns.unwrap_or(default::WARM_UP),
            socket: SocketOptions { nodelay: !self.nagle, ..self.socket.clone() },
            stamps: self.resolve_stamps(carrier, pattern)?,
            seed: self.seed.unwrap_or(0),
        };
        method.check(self)?;
        Ok(method)
    }

    fn resolve_sizes(&self, carrier: Carrier) -> Result<(Bytes, Bytes), Refusal> {
        if carrier == Carrier::TcpConnect {
            if self.request_bytes.is_some() || self.response_bytes.is_some() {
                return Err(Refusal::HandshakeCarriesNothing);
            }
            return Ok((Bytes(0), Bytes(0)));
        }
        let request = self.request_bytes.unwrap_or(default::SIZE);
        let response = self.response_bytes.unwrap_or(if carrier == Carrier::Icmp { request } else { default::SIZE });
        Ok((request, response))
    }

    fn resolve_spread(&self) -> Result<Spread, Refusal> {
        let connections = self.connections.unwrap_or(1);
        let threads = self.threads.unwrap_or(connections.clamp(1, 64));
        if connections == 0 || threads == 0 {
            return Err(Refusal::NothingToMeasureWith);
        }
        if threads > connections {
            return Err(Refusal::IdleThreads { threads, connections });
        }
        if connections > 65_536 || threads > 1_024 {
            return Err(Refusal::TooMany { connections, threads });
        }
        Ok(Spread { connections, threads, cpus: self.cpus.clone(), peer_cpus: self.peer_cpus.clone() })
    }

    fn resolve_stop(&self) -> Result<Stop, Refusal> {
        let mut stop = self.stop.clone();
        if stop.count == Some(0) || stop.after_ns == Some(Nanos::ZERO) {
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
        } else if stop.count.is_none() {
            stop.after_ns.get_or_insert(default::DURATION);
        }
        Ok(stop)
    }

    fn resolve_stamps(&self, carrier: Carrier, pattern: Pattern) -> Result<Option<Stamps>, Refusal> {
        let possible = pattern == Pattern::Exchange && carrier != Carrier::TcpConnect;
        // While a socket asks for receive stamps the kernel stamps every packet of the host: nothing beside a wake-up,
        // but two to three percent of a round trip that is spun for. There they are taken on request only.
        let spinning = self.waiting == Some(Waiting::Spin);
        match (self.stamps, possible) {
            (Some(true), false) => Err(Refusal::NoStampsOnHandshakes),
            (Some(false), _) | (None, false) => Ok(None),
            (None, true) if spinning => Ok(None),
            (Some(true) | None, true) => Ok(Some(Stamps { spacing_ns: default::STAMP_SPACING })),
        }
    }
}

fn resolve_window(asked: Option<u32>, schedule: Schedule) -> Result<Window, Refusal> {
    let on_schedule = schedule != Schedule::BackToBack;
    match asked {
        Some(0) if !on_schedule => Err(Refusal::UnboundedBackToBack),
        Some(0) => Ok(Window::Open { cap: default::OPEN_CAP }),
        Some(n) if n > 1 << 20 => Err(Refusal::WindowTooLarge { window: n }),
        Some(n) => Ok(Window::Closed(n)),
        None if on_schedule => Ok(Window::Open { cap: default::OPEN_CAP }),
        None => Ok(Window::Closed(1)),
    }
}
