//! The survey of a host: its round-trip time by each protocol, the one that an application will see, and the causes of
//! the differences.
//!
//! A [`Leg`] is one way to ask the host and the side that answers there. All legs ask in the same rounds, a round being
//! one interval of the clock, so that a disturbance of the path meets all of them. [`judge`] draws the conclusions from
//! their times: it names a cause where an observation shows it, and reports that none is established everywhere else.
//!
//! Not here: sockets, and the choice of ports (`endpoint`, `sonde`).

pub mod blocks;
pub mod course;
pub mod further;
pub mod judge;
pub mod losses;
pub mod together;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::comparison::{Interval, Word};
use crate::method::{Carrier, Method};
use crate::origin::Origin;
use crate::outcome::Quantile;
use crate::outcome::change::Change;
use crate::outcome::dark::Dark;
use crate::outcome::periodic::Periodic;
use crate::reach::{PortFinding, Seen, Service};
use crate::statistics::quantile::Ranked;
use crate::unit::Nanos;
use crate::verdict::Warning;
use crate::verdict::order::wait_for;

/// The quantiles that are told of a leg.
pub const SHOWN: [f64; 3] = [0.5, 0.9, 0.99];

/// Result of one survey.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Look {
    /// The host as it was asked for.
    pub host: String,
    /// Its addresses that were probed: the one of the name, and then another that it was said to have.
    pub addresses: Vec<Asked>,
    /// Each port number that was named, 1 to 65535, beside those that are always tried; empty where none was, and absent from older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<u16>,
    /// An address of the name of the other version of IP than the first of those, at which nothing answered, or no port is open; absent where none
    /// was tried, or where it serves too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silent: Vec<Asked>,
    /// From one round to the next, nanoseconds: every leg asks once in each.
    pub interval_ns: Nanos,
    /// Planned length of the rounds, nanoseconds.
    pub length_ns: Nanos,
    /// Rounds beyond those, where they were contradictory or too few; absent where there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<further::Further>,
    /// The ways to ask it, in the order they are told.
    pub legs: Vec<Leg>,
    /// Exchanges back to back, between the rounds.
    pub bursts: Vec<Burst>,
    /// Reason why no exchanges ran back to back; absent where they ran.
    pub no_bursts: Option<String>,
    /// For ports that refuse: the sender of their resets, as far as it was examined.
    pub resets: Vec<Reset>,
    /// Conclusions from the data above.
    pub judgement: Judgement,
    /// The time in which nobody answered, of those that answer at other times; absent where there was none that chance does not explain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dark: Option<Dark>,
    /// A part of the time in which the reference took another time, and others with it; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
    /// Long times of all rows that come back at even distances; absent where there were none that chance does not explain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub periodic: Option<Periodic>,
    /// Warnings about hosts that were busy during the survey, kept from running, on one CPU, or with a slow clock.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// Duration of the survey, name lookup included, nanoseconds.
    pub took_ns: Nanos,
}

/// An address and the results of its probes, once each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Asked {
    /// The address; a link-local one with its interface behind a `%`.
    pub address: String,
    /// Result of an ICMP echo request.
    pub echo: Seen,
    /// Result of probing each port.
    pub ports: Vec<PortFinding>,
}

/// One way to ask the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Leg {
    /// Number of its address, from 0.
    pub address: u32,
    /// Protocol that carries the requests.
    pub carrier: Carrier,
    /// Answering side: a kernel or a program.
    pub who: Who,
    /// The port number, 1 to 65535; absent where the carrier has none.
    pub port: Option<u16>,
    /// Method of the exchanges in the rounds; absent where it was not asked in them.
    pub method: Option<Box<Method>>,
    /// Reason why it was not asked, or not to the end; absent where it was.
    pub trouble: Option<String>,
    /// Counts and times of its exchanges.
    pub sums: Sums,
    /// Time that the peer held a request, from its kernel's receive stamp to its own departure: median, nanoseconds.
    /// Absent where the peer does not report it.
    pub peer_ns: Option<Nanos>,
    /// Remaining time to live of our packets on arrival there, a number of hops; absent where nothing reported it.
    pub ttl: Option<u8>,
    /// The kind of its replies that came most often, as its protocol names it: `200`, `PONG`; absent where none is told apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<String>,
    /// The time in which it got no reply while others did; absent where there was none that chance does not explain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dark: Option<Dark>,
    /// The exchanges in the order of their rounds.
    pub exchanges: Vec<Timed>,
}

/// One exchange in its round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timed {
    /// Number of the round: intervals of the monotonic clock, a count.
    pub round: u64,
    /// The leg's connection, or socket, that it went by, a number from 0. A handshake makes a connection of its own each time.
    #[serde(default)]
    pub flow: u32,
    /// From the send to the reply, nanoseconds; absent where there was no sound reply in time.
    pub rtt_ns: Option<Nanos>,
}

/// Answering side of a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Who {
    /// A kernel, with no program behind it.
    Kernel,
    /// A program.
    Program {
        /// The program's protocol.
        service: Service,
    },
}

/// Requests of a leg by status, counts of requests; and the times of the answered, from the send.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sums {
    /// Requests that were due, a count.
    pub due: u64,
    /// Answered in time, a count.
    pub answered: u64,
    /// Not answered in time, a count.
    pub lost: u64,
    /// Refused, by a reset or an ICMP error, a count.
    pub refused: u64,
    /// Answered wrongly, or not sent for a reason of our own side, a count.
    pub failed: u64,
    /// Shortest, nanoseconds.
    pub min_ns: Option<Nanos>,
    /// A quarter is shorter, nanoseconds.
    pub p25_ns: Option<Nanos>,
    /// A quarter is longer, nanoseconds.
    pub p75_ns: Option<Nanos>,
    /// Longest, nanoseconds.
    pub max_ns: Option<Nanos>,
    /// Quantiles, each with whether it may be printed.
    pub quantiles: Vec<Quantile>,
}

/// Exchanges of a leg back to back, in several short runs with a connection each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Burst {
    /// Number of its leg, from 0.
    pub leg: u32,
    /// Method of these exchanges.
    pub method: Box<Method>,
    /// Counts and times of its exchanges, all runs together.
    pub sums: Sums,
    /// Lower quartile of each run, nanoseconds.
    pub quartiles_ns: Vec<Nanos>,
}

/// Sender of a port's resets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reset {
    /// Number of its address, from 0.
    pub address: u32,
    /// The port number that refuses, 1 to 65535.
    pub port: u16,
    /// Sender of the resets, as far as it is established.
    pub origin: Origin,
}

/// Conclusions from a survey.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judgement {
    /// The leg whose number represents an application's round trip; absent where nothing answers.
    pub believed: Option<Believed>,
    /// Findings about everything else.
    pub findings: Vec<Finding>,
}

/// The number to believe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Believed {
    /// Number of the leg, from 0.
    pub leg: u32,
    /// Part of the host and path that it represents.
    pub stands: Stands,
}

/// Part of the host and path that a round-trip time represents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Stands {
    /// A request of a program and the reply of another: all that an application will see but its own work.
    Application,
    /// The path and both kernels by the carrier of applications: no program there answered.
    Handshake,
    /// The path and both kernels by a carrier that applications do not use.
    Echo,
}

/// Finding about one subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// Subject of the finding.
    pub of: Subject,
    /// Distance above its reference; absent where no times are compared.
    pub shift: Option<Shift>,
    /// Result of the comparison; absent where no times are compared.
    pub word: Option<Word>,
    /// Cause of the difference; absent where no difference was shown.
    pub cause: Option<Cause>,
}

/// Distance of one subject above another, by lower quartiles of blocks of rounds (a disturbance only lengthens an exchange),
/// with its 95 % interval. Below zero it is shorter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shift {
    /// The estimate, nanoseconds.
    pub value_ns: f64,
    /// Lower end, nanoseconds; absent where so few rounds cannot reach 95 %.
    pub low_ns: Option<f64>,
    /// Upper end, nanoseconds.
    pub high_ns: Option<f64>,
}

impl From<Interval> for Shift {
    fn from(Interval { value, low, high }: Interval) -> Self {
        Self { value_ns: value, low_ns: low, high_ns: high }
    }
}

/// Subject of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Subject {
    /// A leg, compared with the believed one.
    Leg {
        /// Number of the leg, from 0.
        leg: u32,
    },
    /// A leg at a further address, compared with the same at the first.
    Further {
        /// Number of the leg, from 0.
        leg: u32,
        /// The one at the first address, a number from 0.
        against: u32,
    },
    /// Connections of a leg, its slowest group of them compared with its quickest.
    Flows {
        /// Number of the leg, from 0.
        leg: u32,
    },
    /// Lost requests of a leg, compared with those of the others.
    Losses {
        /// Number of the leg, from 0.
        leg: u32,
    },
    /// Exchanges back to back, compared with those of the rounds.
    Burst {
        /// Number of the burst, from 0.
        burst: u32,
    },
    /// ICMP echo at an address.
    Echo {
        /// Number of the address, from 0.
        address: u32,
    },
    /// TCP at an address.
    Tcp {
        /// Number of the address, from 0.
        address: u32,
    },
    /// A port that refuses.
    Port {
        /// Number of the address, from 0.
        address: u32,
        /// The port number.
        port: u16,
    },
}

/// Reason why a number differs from the one to believe. All but the last are established by an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The kernel answers: no program has to be woken, to work, or to ask others in turn.
    NobodyWoken,
    /// Echo requests take another path than TCP does, or wait on it; or a box nearer than the host answers TCP.
    SlowIcmp,
    /// Connections that differ in their ports alone take different times: several paths, or queues, share them out.
    Flow,
    /// Another box than the one that accepts connections refuses.
    AnotherHop,
    /// Something nearer than the host accepts connections, as a proxy does; or handshakes take a shorter path than echo and program.
    NearerHandshake,
    /// It loses, while nothing else on that host does: a limit, a filter, a program, or a path that others do not take or not then.
    LosesAlone,
    /// No handshake is answered in time, and one that was waited for took as long as one whose SYN is sent again. Connections that stand answer: a box
    /// drops first SYNs, or those with ECN.
    FirstSyn,
    /// No handshake is answered in time, and connections that stand answer: a limit of new ones, or a full listen queue.
    NewConnections,
    /// It is filtered: by a firewall, or by the host itself.
    Filtered,
    /// The interval: hardware and programs at rest for a while take longer.
    Interval,
    /// Another address of the host, and so another way to it.
    Address,
    /// Nothing that was seen shows why.
    NotEstablished,
}

impl Judgement {
    /// Names of the findings beside this judgement that a busy host causes by itself: connections have a thread or a
    /// queue each, on one CPU or another, and all times are longer while others run.
    pub fn of_a_busy_host(&self, changed: bool, periodic: bool) -> Vec<&'static str> {
        let flow = self.findings.iter().any(|finding| finding.cause == Some(Cause::Flow));
        let found = [("changed", changed), ("flow", flow), ("periodic", periodic)];
        found.into_iter().filter_map(|(name, is)| is.then_some(name)).collect()
    }
}

impl Look {
    /// Rows over TCP, a count: of each a segment may be on its way at the same time.
    pub fn tcp_rows(&self) -> u64 {
        let is_tcp = |leg: &&Leg| matches!(leg.carrier, Carrier::Tcp | Carrier::TcpConnect | Carrier::TcpSyn);
        self.legs.iter().filter(is_tcp).count() as u64
    }

    /// The time of all rounds; a look takes longer, for what it tries before them and asks behind them.
    pub fn rounds_ns(&self) -> Nanos {
        let most = self.legs.iter().map(|leg| leg.sums.due).max().unwrap_or(0);
        Nanos(self.interval_ns.0.saturating_mul(most))
    }

    /// The share of the time for which a host has to wait to bring this finding about, where its size is known.
    pub fn waits_needed(&self, kind: &str) -> Option<f64> {
        match kind {
            "changed" => {
                let change = self.change?;
                wait_for(Nanos(change.within_ns.0.abs_diff(change.before_ns.0)), 0.5, self.interval_ns)
            }
            "flow" => {
                let flows = self.judgement.findings.iter().filter(|finding| finding.cause == Some(Cause::Flow));
                let size = flows.filter_map(|finding| Some(finding.shift?.value_ns.abs())).fold(0.0, f64::max);
                wait_for(Nanos(size as u64), 0.5, self.interval_ns)
            }
            "periodic" => {
                let Periodic { longer_ns, count, .. } = self.periodic?;
                Some(longer_ns.0 as f64 * count as f64 / self.took_ns.0.max(1) as f64)
            }
            // What no kernel answered either was lost on the way.
            "retransmitted" => {
                let echo_lost = self.legs.iter().any(|leg| leg.carrier == Carrier::Icmp && leg.sums.lost > 0);
                (self.dark.is_some() || echo_lost).then_some(f64::INFINITY)
            }
            _ => None,
        }
    }
}

impl Cause {
    /// Returns true where an observation established it.
    pub fn is_established(self) -> bool {
        self != Self::NotEstablished
    }
}

impl Who {
    /// Returns true where a program has to be woken to answer.
    pub fn is_program(self) -> bool {
        matches!(self, Self::Program { .. })
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel => f.pad("kernel"),
            Self::Program { service } => service.fmt(f),
        }
    }
}

impl Leg {
    /// Returns its name, as `icmp echo`, `tcp handshake`, `udp exchange`.
    pub fn name(&self) -> &'static str {
        match self.carrier {
            Carrier::Icmp => "icmp echo",
            Carrier::TcpConnect | Carrier::TcpSyn => "tcp handshake",
            Carrier::Tcp => "tcp exchange",
            Carrier::Udp => "udp exchange",
        }
    }

    /// Returns true where at least one request was answered.
    pub fn answers(&self) -> bool {
        self.sums.answered > 0
    }

    /// Returns true where `other` has the same protocol, answering side and port, at any address.
    pub fn is_like(&self, other: &Self) -> bool {
        (self.carrier, self.who, self.port) == (other.carrier, other.who, other.port)
    }
}

impl Sums {
    /// Summarises the `times` of answered requests; `counts` counts the requests by status.
    pub fn of(times: Vec<u64>, counts: &crate::event::Counts) -> Self {
        let (lost, failed) = (counts.missing(), counts.corrupt.saturating_add(counts.send_failed));
        let ranked = Ranked::exact(times);
        let at = |q| ranked.quantile(q).map(Nanos);
        let count = ranked.count() as f64;
        Self {
            due: counts.scheduled,
            answered: counts.answered,
            lost,
            refused: counts.refused,
            failed,
            min_ns: ranked.at(1).map(Nanos),
            p25_ns: at(0.25),
            p75_ns: at(0.75),
            max_ns: ranked.at(ranked.count()).map(Nanos),
            quantiles: if count > 0.0 { SHOWN.map(|q| ranked.with_interval(q, count)).to_vec() } else { Vec::new() },
        }
    }

    /// The median, whether or not it may be printed; `None` where nothing was answered.
    pub fn median(&self) -> Option<Nanos> {
        self.at(0.5)
    }

    /// A quartile or one of [`SHOWN`], whether or not it may be printed; `None` of another, and where nothing was answered.
    pub fn at(&self, q: f64) -> Option<Nanos> {
        match q {
            0.25 => self.p25_ns,
            0.75 => self.p75_ns,
            _ => self.quantiles.iter().find(|quantile| quantile.q == q)?.value_ns,
        }
    }
}
