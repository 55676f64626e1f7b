//! An interval of a stream, and the payload carried in it.

pub mod arrivals;
pub mod bins;
pub mod glance;

use serde::{Deserialize, Serialize};

use self::arrivals::Datagrams;
use self::glance::TcpGlance;
use crate::frames::Frames;
use crate::unit::{Bytes, Nanos};

/// Payload that the calls of one end carried in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Carried {
    /// Bytes of payload that the kernel took or gave.
    pub bytes: Bytes,
    /// Calls that carried something; of datagrams: how many.
    pub calls: u64,
    /// Calls that our own side could not make because there was no buffer: their payload was never sent, so no
    /// network lost it. A count of calls.
    pub failed_calls: u64,
}

/// An interval of a stream as it went by; the last may be shorter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// Its start, nanoseconds after the start of the measurement.
    pub at_ns: Nanos,
    /// Length in nanoseconds.
    pub length_ns: Nanos,
    /// Payload carried within it.
    #[serde(flatten)]
    pub carried: Carried,
    /// State of the sender's TCP at its end: counts and times are since the connection began. Absent for a receiver, for
    /// datagrams, and where several streams are summed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpGlance>,
    /// Counts of the receiver of numbered datagrams within it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<Datagrams>,
    /// Counts of frames within it, where its payload is frames; in no record.
    #[serde(skip)]
    pub frames: Option<Frames>,
    /// True where it belongs to the warm-up, which counts from its own start and is in no sum.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub omitted: bool,
}
