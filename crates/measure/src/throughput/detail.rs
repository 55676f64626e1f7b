//! Results about streams where both ends report: processors, evenness, losses, and the limit with its cause.

use serde::{Deserialize, Serialize};

use super::change::RateChange;
use super::limit::Limit;
use super::silence::Silence;
use super::{Interval, Stream};
use crate::interval::arrivals::Datagrams;
use crate::unit::Nanos;

/// Further results about streams of one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Detail {
    /// Limit of the streams, with the evidence.
    pub limit: Limit,
    /// The peer's end of each stream, in the order of ours; empty where it told nothing.
    pub theirs: Vec<Stream>,
    /// The sending end's processors.
    pub sender: Processors,
    /// The receiving end's.
    pub receiver: Processors,
    /// Counts of the receiver of datagrams, all streams together; absent for TCP.
    pub datagrams: Option<Datagrams>,
    /// Evenness of several streams: Jain's index of their receivers' bytes, from 1 over their number (one has all) to 1
    /// (all alike). Absent for one stream (Jain, Chiu and Hawe, DEC-TR-301, 1984).
    pub fairness: Option<f64>,
    /// From the start of the streams until they were steady, in nanoseconds; absent where they never were, or where too few
    /// intervals tell.
    pub steady_after_ns: Option<Nanos>,
    /// Whole intervals in which the receiver got nothing; absent where there was none, or where too little came to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silence: Option<Silence>,
    /// A change of the rate in the middle of the streams; absent where there was none, or where a silence tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_change: Option<RateChange>,
    /// Number of datagrams that reached the peer from another address or port than their stream began with, as behind a box that gave it another;
    /// they are in no other count of the receiver. Absent where there were none, or the peer did not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<u64>,
    /// Automatic sizing of the sockets' buffers by our kernel; absent for datagrams.
    pub autotuning: Option<Autotuning>,
    /// Calls that sent in place, and of how many the kernel copied the payload after all; absent where none was asked for.
    pub zero_copy: Option<ZeroCopied>,
    /// Number of streams whose receiver did not say that it had taken all: the missing part may be on its way.
    pub undrained: u32,
}

impl Detail {
    /// The limit, and nothing else that is known.
    pub fn of(limit: Limit) -> Self {
        Self {
            limit,
            theirs: Vec::new(),
            sender: Processors::default(),
            receiver: Processors::default(),
            datagrams: None,
            fairness: None,
            steady_after_ns: None,
            silence: None,
            rate_change: None,
            elsewhere: None,
            autotuning: None,
            zero_copy: None,
            undrained: 0,
        }
    }
}

/// One end's processors while it streamed. Shares are from 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Processors {
    /// CPU time of each stream's thread, in nanoseconds, in their order; empty where it was not told.
    pub threads_ns: Vec<Nanos>,
    /// Longest any of them was on a processor, share of the streams' time.
    pub busiest_thread_share: Option<f64>,
    /// Longest any of the program's threads was ready to run and waited for a processor, likewise.
    pub waiting_thread_share: Option<f64>,
    /// Share of the time of all its processors in which they were not idle.
    pub busy_share: Option<f64>,
    /// The same of soft interrupts, where most of the work of receiving is done.
    pub softirq_share: Option<f64>,
    /// Share of its time in which the busiest processor was not idle.
    pub busiest_cpu_share: Option<f64>,
    /// Share of the time in which the end's control group was kept from running.
    pub throttled_share: Option<f64>,
    /// CPU time of the streams' threads for each gigabyte (10^9 bytes) that they carried, in nanoseconds.
    pub ns_per_gigabyte: Option<Nanos>,
}

/// Buffers whose size the kernel fits to the path; a size that was asked for turns it off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Autotuning {
    /// The send buffer.
    pub send: bool,
    /// The receive buffer.
    pub receive: bool,
}

/// Sends in place that the kernel is done with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ZeroCopied {
    /// Number of sends.
    pub sends: u64,
    /// Number of them whose payload the kernel copied after all.
    pub copied: u64,
}

/// Jain's index: (Σx)² / (n · Σx²). `None` below two streams, or where nothing was carried.
pub fn fairness(bytes: &[u64]) -> Option<f64> {
    let sum: f64 = bytes.iter().map(|bytes| *bytes as f64).sum();
    let squares: f64 = bytes.iter().map(|bytes| (*bytes as f64).powi(2)).sum();
    (bytes.len() > 1 && squares > 0.0).then(|| sum * sum / (bytes.len() as f64 * squares))
}

/// From the start until the rate was steady: the start of the first of two intervals in a row that carried at least nine
/// tenths of what those of the second half did, by their median. To the grain of an interval; the last, which may be short,
/// is left out. `None` below [`TELLING`] whole ones, where most of the second half carried nothing, beyond a third of them (what is so long is
/// no start, but a rate that goes on changing), and where more than a quarter of those behind carried far less than that, or far more.
pub fn steady_after(intervals: &[Interval]) -> Option<Nanos> {
    let whole = intervals.split_last().map_or(&[] as &[Interval], |(_, whole)| whole);
    if whole.len() < TELLING {
        return None;
    }
    let bytes = |interval: &Interval| interval.carried.bytes.0;
    let mut late: Vec<u64> = whole[whole.len() / 2..].iter().map(bytes).collect();
    late.sort_unstable();
    let usual = Some(late[late.len() / 2]).filter(|usual| *usual > 0)?;
    let enough = usual / 10 * 9;
    let from = whole.windows(2).position(|pair| pair.iter().all(|interval| bytes(interval) >= enough))?;
    let is_far = |interval: &&Interval| bytes(interval) < usual / 4 * 3 || bytes(interval) > usual / 3 * 4;
    let far = whole[from..].iter().filter(is_far).count();
    (from <= whole.len() / START && far <= (whole.len() - from) / FAR).then(|| whole[from].at_ns)
}

/// Whole intervals from which it is told when streams were steady.
pub const TELLING: usize = 5;
/// A start is at most one of so many parts of a run.
const START: usize = 3;
/// A steady rate leaves at most one of so many parts of the intervals behind its start a quarter below it, or a third above.
const FAR: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::throughput::Carried;
    use crate::unit::Bytes;
    use test_case::test_case;

    fn seconds(carried: &[u64]) -> Vec<Interval> {
        let second = |(at, bytes): (u64, &u64)| Interval {
            at_ns: Nanos::secs(at),
            length_ns: Nanos::secs(1),
            carried: Carried { bytes: Bytes(*bytes), ..Carried::default() },
            ..Interval::default()
        };
        (0..).zip(carried).map(second).collect()
    }

    #[test_case(&[900, 1000, 1000, 1000, 1000, 3], Some(0); "from the start")]
    #[test_case(&[100, 400, 950, 1000, 1010, 990, 7], Some(2); "after a slow start")]
    #[test_case(&[100, 1000, 400, 950, 1000, 1000, 990, 980, 990, 7], Some(3); "one fast interval is none")]
    #[test_case(&[100, 1000, 400, 950, 1000, 1000, 990, 980, 7], None; "what is longer than a third is no start")]
    #[test_case(&[1000, 200, 1000, 200, 1000, 1000, 3], None; "a rate that goes back and forth")]
    #[test_case(&[400, 400, 200, 200, 400, 400, 200, 200, 400, 7], None; "two rates by turns")]
    #[test_case(&[200, 200, 400, 400, 200, 200, 400, 200, 200, 7], None; "two rates by turns, and mostly the lower")]
    #[test_case(&[400, 410, 390, 290, 400, 420, 380, 400, 400, 7], Some(0); "one that falls short now and then")]
    #[test_case(&[100, 1000, 1000, 1000, 5], None; "too few to tell")]
    #[test_case(&[1000, 1000, 1000, 0, 0, 0, 0, 3], None; "nothing later")]
    fn streams_are_steady_from_where_they_carry_what_they_will(carried: &[u64], second: Option<u64>) {
        assert_eq!(steady_after(&seconds(carried)), second.map(Nanos::secs));
    }

    #[test_case(&[5, 5, 5, 5], Some(1.0); "all alike")]
    #[test_case(&[8, 0, 0, 0], Some(0.25); "one has all")]
    #[test_case(&[1, 3], Some(0.8); "one to three")]
    #[test_case(&[7], None; "one stream")]
    #[test_case(&[0, 0], None; "nothing carried")]
    fn jains_index_is_from_one_over_their_number_to_one(bytes: &[u64], expected: Option<f64>) {
        assert_eq!(fairness(bytes), expected);
    }
}
