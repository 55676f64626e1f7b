//! Plan of a campaign over several hosts: its hosts, pairs, methods and repeats.
//!
//! A plan is written as TOML, or made of flags; either way it stands in the document of the run with nothing left open.
//! [`Plan::read`] reads one and says what is wrong where; `schema/plan.v1.json` describes it for editors.

mod check;
mod read;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::machines::Machines;

pub(crate) use read::worded_parts as worded;
pub use read::{PlanError, hosts};

/// Most hosts of a plan: a mesh of so many has 8 million pairs.
pub const MOST_HOSTS: usize = 4_096;
/// Most repeats of a plan.
pub const MOST_REPEATS: u32 = 1_000;
/// Most methods of a plan.
pub const MOST_METHODS: usize = 100;

/// Measurements between several hosts: a plan as it is written in TOML.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Name for the reader; absent: none was given.
    #[serde(default)]
    pub name: Option<String>,
    /// Files that list hosts, beside those listed here, each as `path` or `form:path`; seen from the folder of the plan. Empty in
    /// the document of a run: what they listed stands in `hosts`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inventory: Vec<String>,
    /// The hosts; names are different.
    #[serde(default)]
    pub hosts: Vec<Host>,
    /// Machines that the stage `provision` makes, and `teardown` removes: they become hosts, behind those listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<Machines>,
    /// Pairs that measure each other.
    #[serde(default)]
    pub pairs: Pairs,
    /// Directions in which each pair is measured: from one of its ends, or from both, one after the other.
    #[serde(default)]
    pub directions: Directions,
    /// Addresses that carry the measurements.
    #[serde(default)]
    pub addresses: Addresses,
    /// Methods by which each pair is measured.
    pub methods: Vec<PlannedMethod>,
    /// Measurements of each, a count from 1 to 1,000.
    #[serde(default = "one")]
    pub repeats: u32,
    /// Order of the measurements.
    #[serde(default)]
    pub order: Order,
    /// Seed of the order, a number without unit; absent in a plan: drawn, and then present in the document of the run.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Pairs that may be measured at the same time.
    #[serde(default)]
    pub at_once: AtOnce,
    /// Port number of the far side, over TCP and UDP, 1 to 65535; absent: the usual one.
    #[serde(default)]
    pub port: Option<u16>,
    /// True where each pair is asked for the ports that answer before it is measured.
    #[serde(default = "yes")]
    pub check: bool,
}

impl Default for Plan {
    /// A plan that says nothing yet.
    fn default() -> Self {
        Self {
            name: None,
            inventory: Vec::new(),
            hosts: Vec::new(),
            machines: Vec::new(),
            pairs: Pairs::default(),
            directions: Directions::default(),
            addresses: Addresses::default(),
            methods: Vec::new(),
            repeats: one(),
            order: Order::default(),
            seed: None,
            at_once: AtOnce::default(),
            port: None,
            check: yes(),
        }
    }
}

/// A way of measuring.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlannedMethod {
    /// Its name, which no other method of the plan has.
    pub name: String,
    /// The measuring command and its options without a host, as `rtt --udp -t 5s`, split as a shell does.
    pub command: String,
}

/// Pairs of hosts that measure each other. A pair has two different hosts, and is there once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Pairs {
    /// Each with each.
    #[default]
    All,
    /// This one with each other.
    OneToAll(String),
    /// Those that differ in this label, as `zone`.
    Between(String),
    /// Those that agree in this label.
    Within(String),
    /// Those of which one has the first label and the other the second, each as `name=value`.
    Labels(String, String),
    /// These.
    Listed(Vec<(String, String)>),
}

/// Directions in which a pair is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Directions {
    /// From either end, one after the other.
    #[default]
    Both,
    /// From the first of the pair alone.
    Forward,
}

/// Addresses that carry the measurements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Addresses {
    /// Internal ones.
    #[default]
    Internal,
    /// External ones.
    External,
    /// Both, each a cell of its own.
    Both,
}

/// Order of pairs, directions and methods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Drawn anew for each repeat.
    #[default]
    Random,
    /// As listed, each time.
    Listed,
}

/// Pairs that may be measured at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AtOnce {
    /// Pairs that share neither a host nor a machine.
    #[default]
    Rounds,
    /// One alone.
    One,
    /// Pairs that share no host, though hosts may share a machine: they take its processors from each other.
    Sharing,
    /// All pairs, whatever they share: contention is what is measured.
    All,
}

impl Addresses {
    /// Those that are meant.
    pub fn each(self) -> &'static [crate::host::Address] {
        use crate::host::Address::{External, Internal};
        match self {
            Self::Internal => &[Internal],
            Self::External => &[External],
            Self::Both => &[Internal, External],
        }
    }
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}
