//! The first look at a host: how far it is by each carrier, which of the numbers an application will see, and why the others
//! differ.
//!
//! A [`Leg`] is one way to ask the host and whoever answers there. All legs ask in the same rounds, a round being one interval of
//! the clock, so that what disturbs the path for a while disturbs all of them. What follows from their times is for [`judge`],
//! which names a cause where something was seen that shows it, and says that none is established everywhere else.
//!
//! Not here: sockets, and the choice of ports (`endpoint`, `sonde`).

pub mod blocks;
pub mod course;
pub mod further;
pub mod judge;
mod losses;
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

/// The quantiles that are told of a leg.
pub const SHOWN: [f64; 3] = [0.5, 0.9, 0.99];

/// What a first look found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Look {
    /// The host as it was asked for.
    pub host: String,
    /// Its addresses that were looked at: the one the name stands for, and then another that it was said to have.
    pub addresses: Vec<Asked>,
    /// From one round to the next, nanoseconds: every leg asks once in each.
    pub interval_ns: Nanos,
    /// How long the rounds were to go on, nanoseconds.
    pub length_ns: Nanos,
    /// Rounds beyond those, where they were contradictory or too few; absent where there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<further::Further>,
    /// The ways to ask it, in the order they are told.
    pub legs: Vec<Leg>,
    /// Exchanges back to back, between the rounds.
    pub bursts: Vec<Burst>,
    /// Why there are no exchanges back to back, where there are none.
    pub no_bursts: Option<String>,
    /// Of ports that refuse: whose resets they are, as far as that was looked at.
    pub resets: Vec<Reset>,
    /// What follows.
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
    /// Hosts that were busy meanwhile, kept from running, on one CPU, or with a slow clock.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// How long it took, looking the name up included, nanoseconds.
    pub took_ns: Nanos,
}

/// An address and what was tried there, once each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Asked {
    /// The address; a link-local one with its interface behind a `%`.
    pub address: String,
    /// What an ICMP echo request met with.
    pub echo: Seen,
    /// What each port met with.
    pub ports: Vec<PortFinding>,
}

/// One way to ask the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Leg {
    /// Which of the addresses, a number from 0.
    pub address: u32,
    /// What carries the requests.
    pub carrier: Carrier,
    /// Who answers.
    pub who: Who,
    /// The port number, 1 to 65535; absent where the carrier has none.
    pub port: Option<u16>,
    /// How it was asked in the rounds; absent where it was not.
    pub method: Option<Box<Method>>,
    /// Why it was not asked, or not to the end; absent where it was.
    pub trouble: Option<String>,
    /// What its exchanges came to.
    pub sums: Sums,
    /// How long a request was in the far side's hands, from its kernel's receive stamp to its own departure: median, nanoseconds.
    /// Absent where the far side does not tell.
    pub peer_ns: Option<Nanos>,
    /// What was left of the time to live of our packets there, a number of hops; absent where nobody told.
    pub ttl: Option<u8>,
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

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Who {
    /// A kernel, with no program behind it.
    Kernel,
    /// A program.
    Program {
        /// Which.
        service: Service,
    },
}

/// Requests of a leg and what became of them, counts of requests; and the times of the answered, from the send.
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
    /// Which leg, a number from 0.
    pub leg: u32,
    /// How it was asked.
    pub method: Box<Method>,
    /// What its exchanges came to, all runs together.
    pub sums: Sums,
    /// Lower quartile of each run, nanoseconds.
    pub quartiles_ns: Vec<Nanos>,
}

/// Whose resets a port's are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reset {
    /// Which of the addresses, a number from 0.
    pub address: u32,
    /// The port number that refuses, 1 to 65535.
    pub port: u16,
    /// What can be said.
    pub origin: Origin,
}

/// What follows from a look.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judgement {
    /// The leg whose number stands for what an application will see; absent where nothing answers.
    pub believed: Option<Believed>,
    /// What is said of everything else.
    pub findings: Vec<Finding>,
}

/// The number to believe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Believed {
    /// Which leg, a number from 0.
    pub leg: u32,
    /// What it stands for.
    pub stands: Stands,
}

/// What a number stands for.
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

/// What is said of one thing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// Of what.
    pub of: Subject,
    /// How far it lies above what it is held against; absent where no times are compared.
    pub shift: Option<Shift>,
    /// Whether it differs; absent where no times are compared.
    pub word: Option<Word>,
    /// Why; absent where no difference was shown.
    pub cause: Option<Cause>,
}

/// How far one thing lies above another, by lower quartiles of blocks of rounds (what disturbs an exchange only makes it longer),
/// and the 95 % interval of that; below zero it is shorter.
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

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Subject {
    /// A leg, held against the believed one.
    Leg {
        /// Which, a number from 0.
        leg: u32,
    },
    /// A leg at a further address, held against the same at the first.
    Further {
        /// Which, a number from 0.
        leg: u32,
        /// The one at the first address, a number from 0.
        against: u32,
    },
    /// Connections of a leg, its slowest group of them held against its quickest.
    Flows {
        /// Which, a number from 0.
        leg: u32,
    },
    /// Lost requests of a leg, held against those of the others.
    Losses {
        /// Which, a number from 0.
        leg: u32,
    },
    /// Exchanges back to back, held against those of the rounds.
    Burst {
        /// Which, a number from 0.
        burst: u32,
    },
    /// ICMP echo at an address.
    Echo {
        /// Which, a number from 0.
        address: u32,
    },
    /// TCP at an address.
    Tcp {
        /// Which, a number from 0.
        address: u32,
    },
    /// A port that refuses.
    Port {
        /// Which of the addresses, a number from 0.
        address: u32,
        /// The port number.
        port: u16,
    },
}

/// Why a number is another than the one to believe. All but the last are established by what was seen.
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
    /// It loses, while nothing else on that host does: not the path alone, but a limit, a filter or a program.
    LosesAlone,
    /// It is filtered: by a firewall, or by the host itself.
    Filtered,
    /// The interval: what has not run for a while takes longer.
    Interval,
    /// Another address of the host, and so another way to it.
    Address,
    /// Nothing that was seen shows why.
    NotEstablished,
}

impl Judgement {
    /// Names of what is said beside this that a busy host brings about by itself: connections have a thread or a queue each, on one CPU or another,
    /// and all times are longer while others run.
    pub fn of_a_busy_host(&self, changed: bool, periodic: bool) -> Vec<&'static str> {
        let flow = self.findings.iter().any(|finding| finding.cause == Some(Cause::Flow));
        let found = [("changed", changed), ("flow", flow), ("periodic", periodic)];
        found.into_iter().filter_map(|(name, is)| is.then_some(name)).collect()
    }
}

impl Cause {
    /// Whether what was seen shows it.
    pub fn is_established(self) -> bool {
        self != Self::NotEstablished
    }
}

impl Who {
    /// Whether a program has to be woken.
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
    /// How it is called: `icmp echo`, `tcp handshake`, `udp exchange`.
    pub fn name(&self) -> &'static str {
        match self.carrier {
            Carrier::Icmp => "icmp echo",
            Carrier::TcpConnect | Carrier::TcpSyn => "tcp handshake",
            Carrier::Tcp => "tcp exchange",
            Carrier::Udp => "udp exchange",
        }
    }

    /// Whether any request was answered.
    pub fn answers(&self) -> bool {
        self.sums.answered > 0
    }

    /// Whether the same is asked as of `other`, whatever the address.
    pub fn is_like(&self, other: &Self) -> bool {
        (self.carrier, self.who, self.port) == (other.carrier, other.who, other.port)
    }
}

impl Sums {
    /// What `times` of answered requests come to, `counts` being what became of the others.
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
