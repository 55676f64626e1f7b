//! The axes of a method, one type each: every combination that makes sense is a measurement.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::unit::{Bytes, Nanos, Rate, grouped};

/// Protocol that carries a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// A TCP segment on its own, usually a SYN, through a raw socket: no connection, answered by a kernel or a box before it.
    TcpSyn,
}

impl fmt::Display for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Icmp => "icmp",
            Self::TcpConnect => "tcp-connect",
            Self::TcpSyn => "tcp-syn",
        })
    }
}

/// Kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// A request and its reply over a connection or socket that is open already.
    Exchange,
    /// A new connection, a request and its reply over it, and its end.
    ConnectExchange,
    /// A new connection and its end, which the peer makes first: nothing is sent over it.
    ConnectClose,
    /// One direction, as fast as the path or a schedule allows. Nothing is answered, so nothing is timed but
    /// the calls of one end.
    Stream,
    /// Messages one way in an open loop, of which every `reply_every`-th (numbers n, 2n, … counted from 1) asks for a
    /// reply. Only those that ask are requests and have a fate; the others are counted beside.
    Load,
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exchange => "exchange",
            Self::ConnectExchange => "connect + exchange",
            Self::ConnectClose => "connect + close",
            Self::Stream => "stream",
            Self::Load => "load",
        })
    }
}

/// Direction of a stream, seen from our end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From us to the peer.
    #[default]
    Send,
    /// From the peer to us.
    Receive,
    /// The same number of streams each way, at once.
    Both,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Send => "send",
            Self::Receive => "receive",
            Self::Both => "both ways",
        })
    }
}

impl Direction {
    /// Returns true where our end sends.
    pub fn sends(self) -> bool {
        self != Self::Receive
    }

    /// Returns true where our end receives.
    pub fn receives(self) -> bool {
        self != Self::Send
    }
}

/// Send call of a stream's sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sending {
    /// The kernel copies it from memory, as for most programs.
    #[default]
    Copy,
    /// The kernel takes it from memory in place (`MSG_ZEROCOPY`); of TCP alone. On a path without a card it copies after all.
    ZeroCopy,
    /// From a file in memory (`sendfile`); of TCP alone.
    File,
}

impl Sending {
    /// Returns true for the default, which most programs use.
    pub fn is_plain(&self) -> bool {
        *self == Self::Copy
    }
}

impl fmt::Display for Sending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Copy => "copy",
            Self::ZeroCopy => "zero copy",
            Self::File => "sendfile",
        })
    }
}

/// Bound on the outstanding requests of one connection, and the rule for a request that is due beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Window {
    /// Closed loop: at most this many requests; a tick that finds the window full is missed, and counted.
    Closed(u32),
    /// Closed loop in steps: so many requests leave together over one connection, and when all of them have ended the
    /// next so many over the next connection. A tick that finds the former still out is kept: they leave as soon as
    /// those have ended, so a schedule is caught up with, and its waits show in no time.
    Volley(u32),
    /// Open loop: requests leave when due whether or not replies came. At this many outstanding the due request waits;
    /// it is still recorded from its intended instant, never skipped.
    Open {
        /// The cap on outstanding requests.
        cap: u32,
    },
}

/// Schedule of requests. Instants are computed from the start, never from the request before: nothing drifts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// As soon as the window allows.
    BackToBack,
    /// One every so many nanoseconds.
    Every {
        /// The interval in nanoseconds.
        interval_ns: Nanos,
    },
    /// A number of requests at the very start, and from then on one every so many nanoseconds: no random phase.
    Preloaded {
        /// Requests at the start, at least 1.
        count: u32,
        /// The interval in nanoseconds.
        interval_ns: Nanos,
    },
    /// As soon as the window allows, and at the latest so long after the request before it, answered or not: a loss does
    /// not hold the rest up, and no reply is given up for it.
    AtLatest {
        /// The longest gap in nanoseconds.
        gap_ns: Nanos,
        /// True where the gap becomes the smoothed round trip (RFC 6298, alpha 1/8) as soon as there is one, but never shorter
        /// than [`Schedule::LEAST_GAP`].
        adapts: bool,
    },
    /// This many a second, evenly.
    Rate {
        /// Requests per 1000 seconds.
        rate_per_1000s: Rate,
    },
    /// Exponential gaps with this mean rate: samples as random arrivals see the path (RFC 2330 section 11.1).
    Poisson {
        /// Requests per 1000 seconds, on average.
        rate_per_1000s: Rate,
    },
    /// A number of requests at once, at even intervals.
    Bursts {
        /// Requests of one burst.
        count: u32,
        /// Nanoseconds from burst to burst.
        interval_ns: Nanos,
    },
    /// One in each interval, in one of so many slots of its first half, or of its second where the seed is odd. The slot is drawn anew for each
    /// interval, and so is the instant in that slot's first half. Streams of one seed with different numbers never share a slot, and meet whatever
    /// comes back at even distances equally often.
    Slots {
        /// Nanoseconds from interval to interval, by the clock.
        interval_ns: Nanos,
        /// Slots of an interval, a count, at least 1.
        slots: u32,
        /// The number of this stream, a count from 0, below `slots`.
        slot: u32,
    },
    /// Each at the instant, and of the size, that a recorded trace has for it. This is its summary; the trace itself
    /// ([`crate::trace::Trace`]) travels beside the method.
    Trace {
        /// Messages of the trace, at least 1.
        messages: u64,
        /// Nanoseconds from the start to its last departure.
        length_ns: Nanos,
        /// Bytes of payload of all of them.
        bytes: Bytes,
        /// Bytes of payload of the smallest.
        smallest: Bytes,
        /// Bytes of payload of the largest.
        largest: Bytes,
    },
}

impl Schedule {
    /// A gap that adapts is never shorter: a path that loses all gets a hundred requests a second.
    pub const LEAST_GAP: Nanos = Nanos::millis(10);

    /// Returns true where requests are due at instants; otherwise replies make room for them.
    pub fn has_instants(&self) -> bool {
        !matches!(self, Self::BackToBack | Self::AtLatest { .. })
    }

    /// Mean time between requests; `None` back to back, where the path decides, and for a trace of one instant.
    pub fn mean_gap(&self) -> Option<Nanos> {
        match *self {
            Self::BackToBack | Self::AtLatest { .. } => None,
            Self::Every { interval_ns } | Self::Preloaded { interval_ns, .. } | Self::Slots { interval_ns, .. } => {
                Some(interval_ns)
            }
            Self::Rate { rate_per_1000s } | Self::Poisson { rate_per_1000s } => Some(rate_per_1000s.period()),
            Self::Bursts { count, interval_ns } => Some(Nanos(interval_ns.0 / u64::from(count.max(1)))),
            // From the first departure to the last there is one gap less than there are messages.
            Self::Trace { messages, length_ns, .. } => {
                length_ns.0.checked_div(messages.saturating_sub(1)).filter(|gap| *gap > 0).map(Nanos)
            }
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BackToBack => f.write_str("back to back"),
            Self::Every { interval_ns } | Self::Preloaded { count: 1, interval_ns } => write!(f, "every {interval_ns}"),
            Self::Preloaded { count, interval_ns } => write!(f, "{count} at once, then every {interval_ns}"),
            Self::AtLatest { gap_ns, adapts: false } => write!(f, "back to back, at the latest after {gap_ns}"),
            Self::AtLatest { gap_ns, adapts: true } => {
                write!(f, "back to back, at the latest after a round trip, {gap_ns} at first")
            }
            Self::Rate { rate_per_1000s } => write!(f, "{rate_per_1000s}"),
            Self::Poisson { rate_per_1000s } => write!(f, "poisson {rate_per_1000s}"),
            Self::Bursts { count, interval_ns } => write!(f, "bursts of {count} every {interval_ns}"),
            Self::Slots { interval_ns, .. } => write!(f, "one each {interval_ns} at a random instant"),
            Self::Trace { messages, length_ns, bytes, .. } => {
                write!(f, "trace of {} messages, {bytes} over {length_ns}", grouped(*messages))
            }
        }
    }
}

/// Pacing: how the sender waits for a send time. It changes the result: a spinning CPU is awake and warm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// Wait mode: how an end waits for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Waiting {
    /// Blocked in the kernel: woken by the scheduler, as most applications are.
    Block,
    /// Polling the socket without blocking: no wake-up, one CPU at 100 %.
    Spin,
    /// Blocked, while the kernel polls the card (`SO_BUSY_POLL`).
    BusyPoll {
        /// Longest poll by the kernel, in microseconds.
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spread {
    /// Connections (flows), at least 1.
    pub connections: u32,
    /// Threads that own them, at least 1 and at most as many as connections.
    pub threads: u32,
    /// True where one thread uses them one after the other, each for a while and in an order drawn anew for each round.
    /// Otherwise all are in use at the same time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_turn: bool,
    /// CPUs our threads are pinned to, in turn; empty: the scheduler decides.
    pub cpus: Vec<u32>,
    /// CPUs the peer's threads are pinned to, in turn; empty: its scheduler decides.
    pub peer_cpus: Vec<u32>,
}

impl Spread {
    /// The same over one connection.
    #[must_use]
    pub fn alone(&self) -> Self {
        Self { connections: 1, threads: 1, in_turn: false, ..self.clone() }
    }
}

/// End of a measurement; warm-up not included. The first bound that is reached ends it where several are set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stop {
    /// After this time, nanoseconds.
    pub after_ns: Option<Nanos>,
    /// After this many requests.
    pub count: Option<u64>,
    /// For a stream: ends it after this many bytes of payload, all connections together, with the first call that reaches them.
    pub bytes: Option<Bytes>,
    /// As soon as a quantile is known well enough.
    pub settled: Option<Settled>,
    /// Nanoseconds after the last departure until replies are no longer waited for; absent: each until its timeout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linger_ns: Option<Nanos>,
    /// The same where something was answered: twice the longest round trip so far, and at least so many nanoseconds.
    /// Absent: as `linger_ns` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linger_answered_ns: Option<Nanos>,
}

/// "Known well enough": the 95 % confidence interval of a quantile is no wider than a share of its value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Settled {
    /// The quantile, between 0 and 1.
    pub quantile: f64,
    /// Half the width of its interval as a share of its value: 0.05 is ±5 %. Absent: as soon as the printing rule prints it.
    pub within: Option<f64>,
}

/// Socket options asked for; absent ones stay as the system sets them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SocketOptions {
    /// The local address to bind to.
    pub bind: Option<std::net::IpAddr>,
    /// The network interface to bind to (`SO_BINDTODEVICE`).
    pub interface: Option<String>,
    /// The local ports to send from; absent: the system draws them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_ports: Option<SourcePorts>,
    /// The type-of-service octet, DSCP in its upper six bits.
    pub tos: Option<u8>,
    /// True where small TCP segments leave at once.
    pub nodelay: bool,
    /// The TCP congestion control by name.
    pub congestion: Option<String>,
    /// Send buffer in bytes, as asked; Linux doubles it.
    pub send_buffer_bytes: Option<Bytes>,
    /// Receive buffer in bytes, as asked; Linux doubles it, and setting it turns TCP's autotuning off.
    pub receive_buffer_bytes: Option<Bytes>,
}

/// A range of local ports. The route and treatment of a packet may depend on them, as they are part of the 5-tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SourcePorts {
    /// The lowest port, a number without unit, at least 1.
    pub first: u16,
    /// The highest port, a number without unit, at least the first.
    pub last: u16,
}

/// Ports of a part of a study; odd, as those of a flow.
const ROW: u16 = 17;
/// The first of the ports that flows have where nobody names any.
const FIRST: u16 = 40_000;
/// Ports for each of them.
const SPARE: u32 = 8;

impl SourcePorts {
    /// Ports for so many flows where nobody names any: from 40,000 on, each with some to fall back on.
    pub fn usual(flows: u32) -> Self {
        let many = flows.saturating_mul(SPARE).clamp(1, u32::from(u16::MAX - FIRST));
        Self { first: FIRST, last: FIRST + (many - 1) as u16 }
    }

    /// The ports of part `part` of a study: each has some to fall back on, and neighbouring parts have other ones.
    pub fn of_part(part: u64) -> Self {
        let parts = u64::from((u16::MAX - FIRST) / ROW);
        let first = FIRST + (part % parts) as u16 * ROW;
        Self { first, last: first + (ROW - 1) }
    }

    /// Those behind `port`; absent where it is the last.
    #[must_use]
    pub fn after(self, port: u16) -> Option<Self> {
        (self.first..self.last).contains(&port).then(|| Self { first: port + 1, ..self })
    }

    /// Returns the number of ports.
    pub fn count(self) -> u32 {
        u32::from(self.last.saturating_sub(self.first)) + 1
    }

    /// Those of connection `flow` (from 0) of `flows`: parts of one length, so that each has others to fall back on where one is taken.
    /// The length is odd: routers that choose by the low bits of a port see all of them.
    /// With fewer ports than connections, several connections share one.
    #[must_use]
    pub fn of_flow(self, flow: u32, flows: u32) -> Self {
        let part = (self.count() / flows.max(1)).saturating_sub(1) | 1;
        let first = self.first.saturating_add((u64::from(flow) * u64::from(part) % u64::from(self.count())) as u16);
        Self { first, last: first.saturating_add((part - 1) as u16) }
    }
}

/// `40000..40063`, and `40000` where it is one.
impl fmt::Display for SourcePorts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first)?;
        if self.last > self.first { write!(f, "..{}", self.last) } else { Ok(()) }
    }
}

/// Sampling of exchanges that are split into their parts by kernel timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stamps {
    /// From the start of one spell of stamped exchanges to that of the next at least so many nanoseconds.
    pub spacing_ns: Nanos,
    /// Exchanges stamped in one spell, at most.
    pub in_a_row: u32,
    /// After a spell the kernel does not stamp for at least so many times the spell's own length; 0: it stamps throughout.
    pub rest: u32,
}

/// Open or closed: whether a slow answer delays the requests after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LoopKind {
    /// The next request waits for an answer.
    Closed,
    /// Requests leave at their scheduled instants whatever the answers do.
    Open,
}

/// `p99±5%`.
impl fmt::Display for Settled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", crate::unit::quantile_name(self.quantile))?;
        match self.within {
            Some(within) => write!(f, "±{}%", within * 100.0),
            None => Ok(()),
        }
    }
}
