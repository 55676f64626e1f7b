//! Incidents: facts about a change that was noticed, without words for people.

use serde::{Deserialize, Serialize};

/// Kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Nothing is answered.
    Silent,
    /// An agent reports nothing, while the network still reaches its host or no other host probes it.
    AgentSilent,
    /// A probing host is itself late or drops replies: its seconds feed no detector.
    Overloaded,
    /// More requests are lost than before.
    Loss,
    /// The median response time is longer.
    Slower,
    /// The median response time is shorter.
    Faster,
    /// More responses are slow, at the same median.
    Tail,
}

impl Kind {
    /// Kinds that mean harm.
    pub const WORSE: [Self; 6] =
        [Self::Silent, Self::AgentSilent, Self::Overloaded, Self::Loss, Self::Slower, Self::Tail];

    /// Kinds whose evidence grows: a person may accept their new level as usual.
    pub const GRADUAL: [Self; 4] = [Self::Loss, Self::Slower, Self::Faster, Self::Tail];

    pub(super) fn is_latency(self) -> bool {
        matches!(self, Self::Slower | Self::Faster)
    }
}

/// Role of a host in the cells that an incident affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Both the cells that it probes and the cells in which it answers.
    Both,
    /// Only the cells that it probes.
    Client,
    /// Only the cells in which it answers.
    Server,
}

/// Smallest part of the mesh that explains an incident.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum Scope {
    /// All cells.
    Everything,
    /// All cells within one zone.
    Zone {
        /// Its name.
        zone: String,
    },
    /// Cells between two zones.
    Zones {
        /// Zone of the probing hosts.
        from: String,
        /// Zone of the answering hosts.
        to: String,
        /// True where the cells of the other direction are affected as well.
        both_ways: bool,
    },
    /// Cells that the hosts of one machine probe.
    Machine {
        /// Its name.
        machine: String,
    },
    /// Cells of one host.
    Host {
        /// Its name.
        host: String,
        /// Role in which its cells are affected.
        role: Role,
    },
    /// Cells of one pair of hosts.
    Pair {
        /// The probing host.
        from: String,
        /// The answering host.
        to: String,
        /// True where the cells of the other direction are affected as well.
        both_ways: bool,
    },
    /// Cells of one pair, one end of which has too few partners: its own fault and that of the path look the same.
    HostOrPair {
        /// The end with too few partners.
        host: String,
        /// The probing host.
        from: String,
        /// The answering host.
        to: String,
        /// True where the cells of the other direction are affected as well.
        both_ways: bool,
    },
    /// No part explains at least 70 % of the change, or resampling does not confirm it.
    Unknown,
}

/// Direction in which requests or replies are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Requests do not arrive at the answering host.
    Out,
    /// Replies do not arrive at the probing host.
    Back,
    /// Both.
    Both,
}

/// An estimate with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Size of a change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "of", content = "is")]
pub enum Size {
    /// Median response time now over before: 1.3 is 30 % slower. Median over the affected cells.
    Ratio(Estimate),
    /// Share of all requests of the affected cells that are lost, 0 to 1, with Wilson's interval.
    Lost(Estimate),
    /// Share of the responses that are longer than the 99th percentile before was, relative to the median, 0 to 1: before it was 0.01.
    Slow(Estimate),
    /// Share of the last minute's seconds that were disturbed, 0 to 1.
    Disturbed(f64),
}

/// Time at which a change began: it lies between the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Onset {
    /// Earliest second since 1970.
    pub earliest: u64,
    /// Most likely second.
    pub likely: u64,
    /// Latest second.
    pub latest: u64,
}

/// A change that was noticed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Incident {
    /// Number of the incident, from 1; never used twice by one lookout and those restored from it.
    pub id: u64,
    /// Kind of change.
    pub kind: Kind,
    /// Where.
    pub scope: Scope,
    /// Size of the change; absent where the kind has no size or too little was seen yet.
    pub size: Option<Size>,
    /// Time of its beginning.
    pub onset: Onset,
    /// Cells of the scope that are affected, a count.
    pub affected: u64,
    /// Cells of the scope, a count. Where the scope is unknown: all cells.
    pub of: u64,
    /// Direction of the loss; absent where the far ends did not say, and for kinds other than loss.
    pub direction: Option<Direction>,
    /// Source port that alone is affected; absent: ports do not differ, or are not measured apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Second since 1970 at which the incident was noticed.
    pub noticed: u64,
    /// Number of times it ended and began again within the hold time.
    pub returned: u32,
}

/// Reason for which an incident ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum Ending {
    /// The change is gone.
    Resolved,
    /// Another incident with a wider scope explains it.
    Merged {
        /// That incident's number.
        into: u64,
    },
    /// A person accepted the state as the new normal.
    Accepted,
    /// No cell of it is watched any more.
    Unwatched,
}

/// Change of an incident.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "change")]
pub enum Change {
    /// It was noticed.
    Began {
        /// The incident.
        incident: Incident,
    },
    /// More is known of it: its scope or its size changed.
    Changed {
        /// The incident as it is now.
        incident: Incident,
    },
    /// It ended.
    Ended {
        /// The incident as it was last.
        incident: Incident,
        /// The second since 1970 from which the change was gone.
        at: u64,
        /// Reason of the end.
        ending: Ending,
    },
}

impl Change {
    /// The incident as it is after the change.
    pub fn incident(&self) -> &Incident {
        match self {
            Self::Began { incident } | Self::Changed { incident } | Self::Ended { incident, .. } => incident,
        }
    }
}
