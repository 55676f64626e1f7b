//! The one space every measurement is a point of: what is exchanged, when, how it is waited for, and when it ends.
//!
//! [`Asked`] is what a person or a plan said, with gaps; [`Asked::resolve`] fills the gaps with the defaults and refuses
//! what makes no sense, with a reason; [`Method`] is the result, which engines run and records keep. A tool of the field
//! is a point in this space, never a case in an engine.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::unit::{Bytes, Nanos, Rate};

/// How one pair of endpoints is measured, every axis settled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Method {
    /// What carries the requests.
    pub carrier: Carrier,
    /// What one request is.
    pub pattern: Pattern,
    /// How many requests of one connection may be outstanding.
    pub window: Window,
    /// When requests are due.
    pub schedule: Schedule,
    /// How the sender waits for the next due instant.
    pub pacing: Pacing,
    /// How our end waits for a reply.
    pub waiting: Waiting,
    /// How the peer waits for a request; absent where the peer is no program of ours.
    pub peer_waiting: Option<Waiting>,
    /// Which requests are answered: every n-th, counted from 1.
    pub reply_every: u32,
    /// Size of a request, bytes of payload: 1 to 1 GiB on TCP, up to 65,507 in one datagram.
    pub request_bytes: Bytes,
    /// Size of a reply, bytes of payload.
    pub response_bytes: Bytes,
    /// Over how many connections, threads and CPUs it is spread.
    pub spread: Spread,
    /// When it ends.
    pub stop: Stop,
    /// A request unanswered for so long, in nanoseconds, is lost; a reply after it is late.
    pub timeout_ns: Nanos,
    /// Unrecorded exchanges beforehand last at least so long, in nanoseconds; 0 is none.
    pub warm_up_ns: Nanos,
    /// Socket options asked for.
    pub socket: SocketOptions,
    /// Kernel timestamps: how often an exchange is split into its parts; absent: not at all.
    pub stamps: Option<Stamps>,
    /// Seed of every random draw of the run (Poisson gaps, start phase), so that a schedule can be repeated.
    pub seed: u64,
}

/// What carries a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Carrier {
    /// A TCP connection.
    Tcp,
    /// UDP datagrams.
    Udp,
    /// ICMP echo, answered by the peer's kernel.
    Icmp,
    /// The TCP handshake alone, to any port: a new connection each time, no peer program needed.
    TcpConnect,
}

impl fmt::Display for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Icmp => "icmp",
            Self::TcpConnect => "tcp-connect",
        })
    }
}

/// What one request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// A request and its reply over what is already open.
    Exchange,
    /// A new connection, a request and its reply over it, and its end.
    ConnectExchange,
}

/// How many requests of one connection may be outstanding, and what a due request does when they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Window {
    /// Closed loop: at most this many requests; a tick that finds the window full is missed, and counted.
    Closed(u32),
    /// Open loop: requests leave when due whether or not replies came. At this many outstanding the due request waits;
    /// it is still recorded from its intended instant, never skipped.
    Open {
        /// The cap on outstanding requests.
        cap: u32,
    },
}

/// When requests are due. Instants are computed from the start, never from the request before: nothing drifts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// As soon as the window allows.
    BackToBack,
    /// One every so many nanoseconds.
    Every {
        /// The interval in nanoseconds.
        interval_ns: Nanos,
    },
    /// This many a second, evenly.
    Rate {
        /// Requests per 1000 seconds.
        rate_per_1000s: Rate,
    },
    /// Exponential gaps with this mean rate: what a random arrival sees (RFC 2330 section 11.1).
    Poisson {
        /// Requests per 1000 seconds, on average.
        rate_per_1000s: Rate,
    },
    /// So many at once, every so often.
    Bursts {
        /// Requests of one burst.
        count: u32,
        /// Nanoseconds from burst to burst.
        interval_ns: Nanos,
    },
}

impl Schedule {
    /// Mean time between requests; `None` back to back, where the path decides.
    pub fn mean_gap(&self) -> Option<Nanos> {
        match *self {
            Self::BackToBack => None,
            Self::Every { interval_ns } => Some(interval_ns),
            Self::Rate { rate_per_1000s } | Self::Poisson { rate_per_1000s } => Some(rate_per_1000s.period()),
            Self::Bursts { count, interval_ns } => Some(Nanos(interval_ns.0 / u64::from(count.max(1)))),
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BackToBack => f.write_str("back to back"),
            Self::Every { interval_ns } => write!(f, "every {interval_ns}"),
            Self::Rate { rate_per_1000s } => write!(f, "{rate_per_1000s}"),
            Self::Poisson { rate_per_1000s } => write!(f, "poisson {rate_per_1000s}"),
            Self::Bursts { count, interval_ns } => write!(f, "bursts of {count} every {interval_ns}"),
        }
    }
}

/// How the sender waits for a due instant. It changes the result: a spinning CPU is awake and warm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pacing {
    /// Sleep until the instant: late by the wake-up.
    Sleep,
    /// Sleep until shortly before, spin the rest.
    Hybrid,
    /// Read the clock until the instant: one CPU at 100 %.
    Spin,
}

impl fmt::Display for Pacing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sleep => "sleep",
            Self::Hybrid => "hybrid",
            Self::Spin => "spin",
        })
    }
}

/// How an end waits for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Waiting {
    /// Blocked in the kernel: woken by the scheduler, as most applications are.
    Block,
    /// Polling the socket without blocking: no wake-up, one CPU at 100 %.
    Spin,
    /// Blocked, the kernel polling the card meanwhile (`SO_BUSY_POLL`).
    BusyPoll {
        /// How long the kernel polls, in microseconds.
        micros: u32,
    },
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Block => f.write_str("block"),
            Self::Spin => f.write_str("spin"),
            Self::BusyPoll { micros } => write!(f, "busy-poll {micros} µs"),
        }
    }
}

/// Over how many connections, threads and CPUs a measurement is spread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Connections (flows), at least 1.
    pub connections: u32,
    /// Threads that own them, at least 1 and at most as many as connections.
    pub threads: u32,
    /// CPUs our threads are pinned to, in turn; empty: the scheduler decides.
    pub cpus: Vec<u32>,
    /// CPUs the peer's threads are pinned to, in turn; empty: its scheduler decides.
    pub peer_cpus: Vec<u32>,
}

/// When a measurement ends; warm-up not included. Whichever comes first where several are set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stop {
    /// After this time, nanoseconds.
    pub after_ns: Option<Nanos>,
    /// After this many requests.
    pub count: Option<u64>,
    /// As soon as a quantile is known well enough.
    pub settled: Option<Settled>,
}

/// "Known well enough": the 95 % confidence interval of a quantile is no wider than a share of its value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settled {
    /// The quantile, between 0 and 1.
    pub quantile: f64,
    /// Half the width of its interval as a share of its value: 0.05 is ±5 %. Absent: as soon as the printing rule prints it.
    pub within: Option<f64>,
}

/// Socket options asked for; absent ones stay as the system sets them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SocketOptions {
    /// The local address to bind to.
    pub bind: Option<std::net::IpAddr>,
    /// The network interface to bind to (`SO_BINDTODEVICE`).
    pub interface: Option<String>,
    /// The type-of-service octet, DSCP in its upper six bits.
    pub tos: Option<u8>,
    /// Whether small TCP segments leave at once.
    pub nodelay: bool,
    /// The TCP congestion control by name.
    pub congestion: Option<String>,
    /// Send buffer in bytes, as asked; Linux doubles it.
    pub send_buffer_bytes: Option<Bytes>,
    /// Receive buffer in bytes, as asked; Linux doubles it, and setting it turns TCP's autotuning off.
    pub receive_buffer_bytes: Option<Bytes>,
}

/// How often an exchange is split into its parts by kernel timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stamps {
    /// At most one exchange of a connection in so many nanoseconds is stamped; 0 is each.
    pub spacing_ns: Nanos,
}

/// Open or closed: whether a slow answer delays the requests after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoopKind {
    /// The next request waits for an answer.
    Closed,
    /// Requests leave at their scheduled instants whatever the answers do.
    Open,
}

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

/// The smallest datagram of the native protocol: its header. `protocol::native` holds it to this by a test.
pub const SMALLEST_NATIVE_DATAGRAM: u64 = 32;
/// The largest UDP payload over IPv4: 65,535 less 20 bytes of IP and 8 of UDP (RFC 768, RFC 791).
pub const LARGEST_DATAGRAM: u64 = 65_507;
/// The smallest ICMP echo payload that still tells one run's replies from another's: a sequence of 64 bits.
pub const SMALLEST_ECHO: u64 = 8;
/// The largest message on a stream.
pub const LARGEST_MESSAGE: u64 = 1 << 30;

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

impl Method {
    /// Whether a slow answer delays the requests after it.
    pub fn loop_kind(&self) -> LoopKind {
        match self.window {
            Window::Closed(_) => LoopKind::Closed,
            Window::Open { .. } => LoopKind::Open,
        }
    }

    /// Whether a reflector of ours has to be on the far side.
    pub fn needs_reflector(&self) -> bool {
        matches!(self.carrier, Carrier::Tcp | Carrier::Udp)
    }

    fn check(&self, asked: &Asked) -> Result<(), Refusal> {
        self.check_sizes()?;
        self.check_schedule()?;
        self.check_pattern()?;
        if !self.needs_reflector() && (asked.peer_waiting.is_some() || !self.spread.peer_cpus.is_empty()) {
            return Err(Refusal::NoPeerProgram { carrier: self.carrier });
        }
        if asked.pacing.is_some() && self.schedule == Schedule::BackToBack {
            return Err(Refusal::NothingToPace);
        }
        if self.timeout_ns == Nanos::ZERO || self.timeout_ns > Nanos::secs(3_600) {
            return Err(Refusal::NoTimeout { timeout: self.timeout_ns });
        }
        if self.stop.after_ns.is_some_and(|t| t > Nanos::secs(7 * 86_400)) {
            return Err(Refusal::TooLong);
        }
        if self.carrier != Carrier::Tcp && (asked.nagle || self.socket.congestion.is_some()) {
            return Err(Refusal::TcpOnly { carrier: self.carrier });
        }
        Ok(())
    }

    fn check_sizes(&self) -> Result<(), Refusal> {
        let (smallest, largest) = match self.carrier {
            Carrier::Tcp => (1, LARGEST_MESSAGE),
            Carrier::Udp => (SMALLEST_NATIVE_DATAGRAM, LARGEST_DATAGRAM),
            Carrier::Icmp => (SMALLEST_ECHO, LARGEST_DATAGRAM),
            Carrier::TcpConnect => return Ok(()),
        };
        for bytes in [self.request_bytes, self.response_bytes] {
            if bytes.0 < smallest || bytes.0 > largest {
                return Err(Refusal::Size { carrier: self.carrier, bytes, smallest, largest });
            }
        }
        if self.carrier == Carrier::Icmp && self.request_bytes != self.response_bytes {
            return Err(Refusal::EchoIsSymmetric);
        }
        if self.carrier == Carrier::Udp && self.response_bytes > self.request_bytes {
            return Err(Refusal::Amplifies { request: self.request_bytes, response: self.response_bytes });
        }
        Ok(())
    }

    fn check_schedule(&self) -> Result<(), Refusal> {
        match self.schedule {
            Schedule::Every { interval_ns: Nanos::ZERO } | Schedule::Bursts { interval_ns: Nanos::ZERO, .. } => {
                Err(Refusal::ZeroInterval)
            }
            Schedule::Bursts { count: 0, .. } => Err(Refusal::EmptyBurst),
            Schedule::Bursts { count, .. } => match self.window {
                Window::Closed(n) if n < count => Err(Refusal::BurstBeyondWindow { burst: count, window: n }),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn check_pattern(&self) -> Result<(), Refusal> {
        let one_at_a_time = self.pattern == Pattern::ConnectExchange || self.carrier == Carrier::TcpConnect;
        if self.pattern == Pattern::ConnectExchange && self.carrier != Carrier::Tcp {
            return Err(Refusal::NothingToConnect { carrier: self.carrier });
        }
        if one_at_a_time && matches!(self.window, Window::Closed(n) if n > 1) {
            return Err(Refusal::OneHandshakeAtATime);
        }
        Ok(())
    }
}

/// The method on one line, as every output opens: `tcp exchange · window 1 · back to back · 64 B ⇄ 64 B`.
impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.carrier, self.pattern) {
            (Carrier::TcpConnect, _) => f.write_str("tcp handshake")?,
            (carrier, Pattern::ConnectExchange) => write!(f, "{carrier} connect + exchange")?,
            (carrier, Pattern::Exchange) => write!(f, "{carrier} exchange")?,
        }
        match self.window {
            Window::Closed(n) => write!(f, " · window {n}")?,
            Window::Open { .. } => f.write_str(" · open loop")?,
        }
        write!(f, " · {}", self.schedule)?;
        if self.carrier != Carrier::TcpConnect {
            write!(f, " · {} ⇄ {}", self.request_bytes, self.response_bytes)?;
        }
        if self.schedule != Schedule::BackToBack {
            write!(f, " · pace {}", self.pacing)?;
        }
        write!(f, " · {}", self.waiting)?;
        if let Some(peer) = self.peer_waiting.filter(|peer| *peer != self.waiting) {
            write!(f, " (peer {peer})")?;
        }
        if self.spread.connections > 1 {
            write!(f, " · {} connections", self.spread.connections)?;
        }
        if self.spread.threads > 1 {
            write!(f, " on {} threads", self.spread.threads)?;
        }
        match (&self.stop.settled, self.stop.count, self.stop.after_ns) {
            (Some(settled), ..) => write!(f, " · until {settled}"),
            (None, Some(count), _) => write!(f, " · {} requests", crate::unit::grouped(count)),
            (None, None, Some(time)) => write!(f, " · {time}"),
            (None, None, None) => Ok(()),
        }
    }
}

/// `p99±5%`, as it is typed after `--until`.
impl fmt::Display for Settled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", crate::statistics::quantile::name(self.quantile))?;
        match self.within {
            Some(within) => write!(f, "±{}%", within * 100.0),
            None => Ok(()),
        }
    }
}

/// Why a method makes no sense. Each says what to ask for instead.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A handshake has no payload.
    #[error(
        "tcp-connect measures the handshake alone: it carries no request. Drop the sizes, or use --crr for connect + exchange"
    )]
    HandshakeCarriesNothing,
    /// A count of zero.
    #[error("at least one connection and one thread are needed")]
    NothingToMeasureWith,
    /// Threads without a connection.
    #[error(
        "{threads} threads cannot share {connections} connection(s): each thread owns at least one. Raise --connections"
    )]
    IdleThreads {
        /// Threads asked for.
        threads: u32,
        /// Connections asked for.
        connections: u32,
    },
    /// More than any machine here carries.
    #[error("{connections} connections on {threads} threads: at most 65536 and 1024")]
    TooMany {
        /// Connections asked for.
        connections: u32,
        /// Threads asked for.
        threads: u32,
    },
    /// A count or a duration of zero.
    #[error("a run of no time or no requests measures nothing: give -t or -c above 0")]
    NothingToMeasure,
    /// A quantile outside its range.
    #[error("{quantile} is no quantile: --until takes one between 0 and 100 %, as in p99 or p99±5%")]
    NoQuantile {
        /// What was asked for.
        quantile: f64,
    },
    /// A tolerance outside its range.
    #[error("the tolerance of --until is a share between 0 and 100 %, as in p99±5%")]
    NoTolerance,
    /// Stamps asked for where there are none.
    #[error(
        "kernel timestamps split an exchange on an open socket; a handshake is timed by the connect call alone. Drop --stamps"
    )]
    NoStampsOnHandshakes,
    /// An open loop without a schedule.
    #[error(
        "an unbounded window back to back would only fill buffers: give --every, --rate or --poisson, or a window above 0"
    )]
    UnboundedBackToBack,
    /// A window beyond what is kept.
    #[error("a window of {window} is beyond 1048576 outstanding requests")]
    WindowTooLarge {
        /// What was asked for.
        window: u32,
    },
    /// The far side runs no program of ours.
    #[error(
        "{carrier} is answered by the peer's kernel: there is no program whose waiting or CPU could be set. Drop --peer-wait and --peer-cpu"
    )]
    NoPeerProgram {
        /// The carrier.
        carrier: Carrier,
    },
    /// Pacing without a schedule.
    #[error("back to back there is no instant to wait for: --pace needs --every, --rate, --poisson or --burst")]
    NothingToPace,
    /// A timeout outside its range.
    #[error("a timeout of {timeout} cannot be waited for: give one above 0 and up to 1h")]
    NoTimeout {
        /// What was asked for.
        timeout: Nanos,
    },
    /// Longer than a week.
    #[error("a single run lasts at most 7 days (168h)")]
    TooLong,
    /// TCP options on another carrier.
    #[error("--nagle and --congestion are TCP's; the carrier is {carrier}")]
    TcpOnly {
        /// The carrier.
        carrier: Carrier,
    },
    /// A size outside what the carrier can carry.
    #[error("{bytes} does not fit {carrier}: from {smallest} to {largest} bytes{}", size_reason(*carrier))]
    Size {
        /// The carrier.
        carrier: Carrier,
        /// What was asked for.
        bytes: Bytes,
        /// The smallest that works.
        smallest: u64,
        /// The largest that works.
        largest: u64,
    },
    /// An echo of another size.
    #[error("an ICMP echo comes back as it was sent: request and response have one size")]
    EchoIsSymmetric,
    /// A reply longer than its request, over UDP.
    #[error(
        "a UDP reply of {response} to a request of {request} would amplify: the reflector never answers with more than came in. Use tcp, or a request as long"
    )]
    Amplifies {
        /// The request.
        request: Bytes,
        /// The reply.
        response: Bytes,
    },
    /// No interval.
    #[error("an interval of 0 is back to back: leave --every away")]
    ZeroInterval,
    /// No requests in a burst.
    #[error("a burst has at least one request")]
    EmptyBurst,
    /// A burst that cannot leave at once.
    #[error(
        "a burst of {burst} does not fit a window of {window}: it would never leave at once. Raise --window, or leave it away for an open loop"
    )]
    BurstBeyondWindow {
        /// Requests of a burst.
        burst: u32,
        /// The window.
        window: u32,
    },
    /// Connect + exchange over something without connections.
    #[error("{carrier} has no connection to make: connect + exchange is for tcp")]
    NothingToConnect {
        /// The carrier.
        carrier: Carrier,
    },
    /// Concurrent handshakes on one thread.
    #[error("handshakes are made one at a time a connection: raise --connections instead of --window")]
    OneHandshakeAtATime,
}

fn size_reason(carrier: Carrier) -> &'static str {
    match carrier {
        Carrier::Udp => " (the header with token and sequence takes 32; one datagram carries 65507 at most)",
        Carrier::Icmp => " (8 tell our replies from others')",
        Carrier::Tcp | Carrier::TcpConnect => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    const EVERY_MS: Option<Schedule> = Some(Schedule::Every { interval_ns: Nanos::millis(1) });

    #[test]
    fn nothing_said_is_a_closed_tcp_exchange() {
        let method = Asked::default().resolve().unwrap();
        assert_eq!(method.window, Window::Closed(1));
        assert_eq!(method.loop_kind(), LoopKind::Closed);
        assert_eq!(method.stop.after_ns, Some(default::DURATION));
        assert_eq!(method.to_string(), "tcp exchange · window 1 · back to back · 64 B ⇄ 64 B · block · 10 s");
    }

    #[test]
    fn a_schedule_alone_is_an_open_loop_and_a_window_closes_it() {
        let open = Asked { schedule: EVERY_MS, ..Asked::default() }.resolve().unwrap();
        assert_eq!(open.loop_kind(), LoopKind::Open);
        let closed = Asked { schedule: EVERY_MS, window: Some(1), ..Asked::default() }.resolve().unwrap();
        assert_eq!(closed.window, Window::Closed(1));
    }

    #[test]
    fn a_count_alone_has_no_time_limit() {
        let stop = Stop { count: Some(100), ..Stop::default() };
        assert_eq!(Asked { stop, ..Asked::default() }.resolve().unwrap().stop.after_ns, None);
    }

    #[test_case(&Asked { carrier: Some(Carrier::TcpConnect), request_bytes: Some(Bytes(1)), ..Asked::default() }, &Refusal::HandshakeCarriesNothing; "payload in a handshake")]
    #[test_case(&Asked { connections: Some(0), ..Asked::default() }, &Refusal::NothingToMeasureWith; "no connection")]
    #[test_case(&Asked { threads: Some(2), ..Asked::default() }, &Refusal::IdleThreads { threads: 2, connections: 1 }; "threads without connections")]
    #[test_case(&Asked { window: Some(0), ..Asked::default() }, &Refusal::UnboundedBackToBack; "open loop without schedule")]
    #[test_case(&Asked { carrier: Some(Carrier::Icmp), peer_cpus: vec![1], ..Asked::default() }, &Refusal::NoPeerProgram { carrier: Carrier::Icmp }; "peer cpu for icmp")]
    #[test_case(&Asked { pacing: Some(Pacing::Spin), ..Asked::default() }, &Refusal::NothingToPace; "pacing without schedule")]
    #[test_case(&Asked { carrier: Some(Carrier::Udp), nagle: true, ..Asked::default() }, &Refusal::TcpOnly { carrier: Carrier::Udp }; "nagle on udp")]
    #[test_case(&Asked { carrier: Some(Carrier::Udp), pattern: Some(Pattern::ConnectExchange), ..Asked::default() }, &Refusal::NothingToConnect { carrier: Carrier::Udp }; "crr on udp")]
    #[test_case(&Asked { carrier: Some(Carrier::TcpConnect), window: Some(4), ..Asked::default() }, &Refusal::OneHandshakeAtATime; "window of handshakes")]
    #[test_case(&Asked { carrier: Some(Carrier::Udp), response_bytes: Some(Bytes(128)), ..Asked::default() }, &Refusal::Amplifies { request: Bytes(64), response: Bytes(128) }; "amplification")]
    #[test_case(&Asked { schedule: Some(Schedule::Every { interval_ns: Nanos::ZERO }), ..Asked::default() }, &Refusal::ZeroInterval; "interval of zero")]
    #[test_case(&Asked { schedule: Some(Schedule::Bursts { count: 8, interval_ns: Nanos::millis(1) }), window: Some(4), ..Asked::default() }, &Refusal::BurstBeyondWindow { burst: 8, window: 4 }; "burst beyond window")]
    #[test_case(&Asked { stop: Stop { count: Some(0), ..Stop::default() }, ..Asked::default() }, &Refusal::NothingToMeasure; "no requests")]
    fn nonsense_is_refused_with_its_reason(asked: &Asked, refusal: &Refusal) {
        assert_eq!(asked.resolve().unwrap_err(), *refusal);
    }

    #[test_case(Carrier::Udp, 31; "below the header")]
    #[test_case(Carrier::Udp, 65_508; "beyond a datagram")]
    #[test_case(Carrier::Tcp, 0; "nothing")]
    #[test_case(Carrier::Tcp, (1 << 30) + 1; "beyond a gibibyte")]
    #[test_case(Carrier::Icmp, 7; "no room for the sequence")]
    fn a_size_beyond_the_carrier_is_refused_with_the_limits(carrier: Carrier, bytes: u64) {
        let asked = Asked {
            carrier: Some(carrier),
            request_bytes: Some(Bytes(bytes)),
            response_bytes: Some(Bytes(bytes)),
            ..Asked::default()
        };
        assert!(matches!(asked.resolve(), Err(Refusal::Size { .. })));
    }
}
