//! Both directions of the path and the two clocks at its ends, from the four times of each exchange.
//!
//! The difference of two clocks is never known better than the path lets it be seen: every delay of one direction is an
//! estimate, and true within the bound beside it. Variations need no bound: a constant difference cancels in them.

pub mod extension;

use serde::{Deserialize, Serialize};

use self::extension::Extensions;
use crate::unit::Nanos;

/// Both directions of the path, and the clocks at its ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OneWay {
    /// Exchanges with all four times, warm-up included, a count; of more than 65,536 an even thinning makes the delays below.
    pub exchanges: u64,
    /// Exchanges whose departure our kernel stamped, a count; the time of the others was read just before the call.
    pub left_by_kernel: u64,
    /// Exchanges whose answer our kernel stamped, a count; the time of the others was read just after the call.
    pub came_by_kernel: u64,
    /// Round trip without the far side's own time: departure to return, less arrival to departure there. No clock difference
    /// is in it.
    pub path: Option<Spread>,
    /// Arrival to departure at the far side, by its clock.
    pub held: Option<Spread>,
    /// Delay there: estimated, within `clock.bound_ns`.
    pub forward: Option<Spread>,
    /// Delay back: estimated, within `clock.bound_ns`.
    pub reverse: Option<Spread>,
    /// The difference of the clocks; absent where nothing was exchanged, or where no steady clock explains the times.
    pub clock: Option<ClockDifference>,
    /// The stated agreement of the clocks; absent where none was stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<Agreement>,
    /// Our own clock.
    pub ours: ClockState,
    /// The far side's clock, as its last answer says.
    pub theirs: ClockState,
    /// True where the far side numbers its answers by itself, which separates losses there from losses back. False
    /// where it repeats the numbers that it is sent. Absent where nobody asked.
    pub counts_answers: Option<bool>,
    /// Losses whose direction is not known, because no later answer shows it, a count; absent where there were none.
    pub lost_either_way: Option<u64>,
    /// Remaining time to live of our packets at the far side, a number of hops; absent where it did not report it.
    pub time_to_live: Option<u8>,
    /// Answers of the far side to the optional parts of packets (RFC 8972); absent where it was asked by none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

/// Two clocks that are said to agree: both kept by PTP, or one clock of one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Agreement {
    /// Stated bound of their difference, nanoseconds.
    pub within_ns: Nanos,
    /// True where the times of the packets allow it. Then it is the bound of all delays; otherwise these are estimated as if nothing had
    /// been said.
    pub holds: bool,
}

/// A distribution of times that may be negative, in nanoseconds: by clocks that differ an answer comes before it left. A
/// quantile is absent where fewer than 10 values lie beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spread {
    /// The shortest.
    pub min_ns: i64,
    /// The median.
    pub p50_ns: Option<i64>,
    /// The 90th percentile.
    pub p90_ns: Option<i64>,
    /// The 99th percentile.
    pub p99_ns: Option<i64>,
    /// The longest.
    pub max_ns: i64,
}

/// Lead of the far side's clock over ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockDifference {
    /// The most that any estimate below is off, nanoseconds, as long as both clocks ran evenly in each of the windows.
    pub bound_ns: Nanos,
    /// The smallest difference that the far side's times show, nanoseconds.
    pub grain_ns: Nanos,
    /// Stretches in which one line describes the difference, in order of time.
    pub windows: Vec<ClockWindow>,
    /// Where one clock was set: before and after, no even run explains the times.
    pub steps: Vec<ClockStep>,
    /// Changes of the rate at which the difference grows, a count: a time service that slews a clock makes them.
    pub rate_changes: u64,
}

/// A stretch in which the difference is a line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockWindow {
    /// Beginning, nanoseconds since the first exchange.
    pub begin_ns: Nanos,
    /// End, nanoseconds since the first exchange.
    pub end_ns: Nanos,
    /// Exchanges examined in it, a count.
    pub exchanges: u64,
    /// The far side's clock less ours in its middle, nanoseconds.
    pub offset_ns: i64,
    /// Largest error of the line anywhere in the window, nanoseconds.
    pub bound_ns: Nanos,
    /// Drift of the far side's clock against ours, parts per million; below zero it loses.
    pub drift_ppm: f64,
    /// The slowest that the times allow, parts per million.
    pub drift_low_ppm: f64,
    /// The fastest, parts per million.
    pub drift_high_ppm: f64,
}

/// A clock that was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockStep {
    /// It happened after this, nanoseconds since the first exchange …
    pub after_ns: Nanos,
    /// … and before this.
    pub before_ns: Nanos,
    /// Size of the step: growth of the far side's lead, nanoseconds; below zero it fell back, or ours was set ahead.
    pub by_ns: i64,
    /// Largest error of the size, nanoseconds.
    pub bound_ns: Nanos,
}

/// State of an end's clock, as that end reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockState {
    /// True where an outside source keeps it at UTC; absent where it could not be read.
    pub synchronised: Option<bool>,
    /// The most that it may be off from UTC, as the end itself says, nanoseconds; absent where it does not say.
    pub error_ns: Option<Nanos>,
}
