//! Results of each of several connections: a number from one connection is that of one path, queue and processor.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::outcome::Outcome;
use crate::unit::Nanos;

/// The connections of a run apart, and whether they differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Flows {
    /// Each connection, in the order of `sockets`.
    pub each: Vec<OfFlow>,
    /// Connections whose times are alike, from the quickest to the slowest: one group where no difference was shown. Absent where there
    /// were too few values to tell, of connections on several threads, and where many moved.
    pub groups: Option<Vec<FlowGroup>>,
    /// No smaller difference between groups is told, nanoseconds.
    pub least_ns: f64,
    /// Connections that took another time among the others from some time on than before it, by their number from 0: they are in no
    /// group. Where they are an eighth of all or more, there are no groups. Looked for where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<u32>,
    /// Connections that lose more than the others, or alone get no answer, by their number from 0; empty where no difference was shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub losing: Vec<u32>,
}

/// One connection of several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OfFlow {
    /// Requests that were due.
    pub scheduled: u64,
    /// Requests that were answered in time.
    pub answered: u64,
    /// Median time from the send to the reply, nanoseconds, of the values that were kept; absent where there are none.
    pub p50_ns: Option<Nanos>,
    /// The 99th percentile of them, nanoseconds; absent where fewer than 10 lie beyond.
    pub p99_ns: Option<Nanos>,
    /// The kept values: all of the run, or of more than a million an even thinning. `HdrHistogram` V2 encoding, base64, nanoseconds.
    pub histogram: String,
}

/// Connections whose times are alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowGroup {
    /// Their numbers from 0, ascending.
    pub flows: Vec<u32>,
    /// Median over the rounds of the median time in each; absent where nothing was answered.
    pub time: Option<Between>,
    /// Distance above the first group; absent for the first.
    pub shift: Option<Between>,
    /// Requests that were due on all of them.
    pub scheduled: u64,
    /// Requests that were answered in time.
    pub answered: u64,
}

/// A time and its 95 % interval, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Between {
    /// The estimate, nanoseconds.
    pub value_ns: f64,
    /// Lower end, nanoseconds; absent where there are too few values for one.
    pub low_ns: Option<f64>,
    /// Upper end, nanoseconds; likewise.
    pub high_ns: Option<f64>,
}

/// Connections from which groups that go by a next hop each are no accident: of so many, chance parts one in dozens as this host's table does.
const NO_ACCIDENT: usize = 8;

impl Outcome {
    /// True where each of several groups of connections has a next hop of its own: this host's routing table parts them, and no CPU.
    pub fn is_parted_by_next_hop(&self) -> bool {
        let Some(groups) = self.flows.as_ref().and_then(|flows| flows.groups.as_ref()) else { return false };
        let of_flow = |flow: &u32| self.sockets.get(*flow as usize)?.next_hop.as_deref();
        let of_group = |group: &FlowGroup| {
            let hops: Option<BTreeSet<&str>> = group.flows.iter().map(of_flow).collect();
            hops.filter(|hops| hops.len() == 1)
        };
        let hops: Option<Vec<_>> = groups.iter().map(of_group).collect();
        let flows: usize = groups.iter().map(|group| group.flows.len()).sum();
        let apart = |hops: Vec<BTreeSet<&str>>| hops.iter().collect::<BTreeSet<_>>().len() == hops.len();
        groups.len() > 1 && flows >= NO_ACCIDENT && hops.is_some_and(apart)
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;
    use crate::method::{Asked, LoopKind};
    use crate::outcome::SocketFacts;
    use crate::recorder::Recorder;
    use crate::statistics::summary::{Extra, summarise};
    use crate::unit::Instant;

    #[test_case(&[&["a", "a", "a", "a"], &["b", "b", "b", "b"]], true; "a hop each")]
    #[test_case(&[&["a", "a", "a"], &["b", "b", "b"]], false; "too few connections")]
    #[test_case(&[&["a", "a", "a", "a"], &["b", "b", "b", "a"]], false; "a group of two hops")]
    #[test_case(&[&["a", "a", "a", "a"], &["a", "a", "a", "a"]], false; "one hop for both")]
    #[test_case(&[&["a", "a", "a", "a", "a", "a", "a", "a"]], false; "one group")]
    #[test_case(&[&["a", "a", "a", "a"], &["b", "b", "b", ""]], false; "a hop that is not known")]
    fn groups_with_a_next_hop_each_are_parted_by_it(groups: &[&[&str]], expected: bool) {
        let recording = Recorder::new(LoopKind::Closed, 2).finish(Instant(1_000));
        let mut outcome = summarise(&recording, &Asked::default().resolve().unwrap(), Extra::default());
        let hop = |hop: &&str| Some((*hop).to_owned()).filter(|hop| !hop.is_empty());
        let socket = |next: &&str| SocketFacts { next_hop: hop(next), ..SocketFacts::default() };
        outcome.sockets = groups.iter().flat_map(|group| group.iter().map(socket)).collect();
        let mut flows = 0_u32..;
        let group = |hops: &&[&str]| FlowGroup {
            flows: flows.by_ref().take(hops.len()).collect(),
            time: None,
            shift: None,
            scheduled: 1,
            answered: 1,
        };
        let groups = Some(groups.iter().map(group).collect());
        outcome.flows = Some(Flows { each: Vec::new(), groups, least_ns: 1.0, moved: Vec::new(), losing: Vec::new() });
        assert_eq!(outcome.is_parted_by_next_hop(), expected);
    }
}
