//! The rows against iperf3: streams over TCP by throughput and by what they cost, and datagrams by the highest rate with hardly
//! a loss.

use anyhow::Result;

use super::Bench;
use crate::iperf3::{self, Ends, Streamed, Way};
use crate::ladder::Ladder;
use crate::row::{Path, Streams};
use crate::trial::Pair;

/// Runs of a C loop whose median is the limit.
const LIMIT_RUNS: usize = 5;

impl Bench {
    /// Figure of the C loops for a row's measurement; `None` for CPU time, which they do not report.
    pub(super) fn streams_limit(&self, streams: Streams, path: Path) -> Result<Option<f64>> {
        let ends = Ends::over(path)?;
        let (c, priority) = (&self.c, self.priority);
        let tcp = |fast, count| c.streams(fast, count, iperf3::CALL, &ends, priority);
        let run = || match streams {
            Streams::Cost => Ok(None),
            Streams::Plain => tcp(false, 1).map(Some),
            Streams::Fast | Streams::FastToPlain => tcp(true, 1).map(Some),
            Streams::Eight => tcp(false, 8).map(Some),
            Streams::Datagrams { segments } => {
                let segments = segments.then_some(iperf3::SEGMENTS);
                c.datagrams(segments, iperf3::DATAGRAM, &ends, priority).map(Some)
            }
        };
        let mut reached = (0..LIMIT_RUNS).filter_map(|_| run().transpose()).collect::<Result<Vec<f64>>>()?;
        reached.sort_unstable_by(f64::total_cmp);
        Ok(reached.get(reached.len() / 2).copied())
    }

    pub(super) fn streams(&self, streams: Streams, path: Path) -> Result<Vec<Pair>> {
        let ends = Ends::over(path)?;
        let (sonde, priority) = (&self.sonde, self.priority);
        let ours = |way, count| iperf3::sonde_tcp(sonde, &ends, way, count, priority);
        let theirs = |way, count| iperf3::iperf3_tcp(&ends, way, count, priority);
        let rate = |found: Streamed| found.megabits;
        let cost = |found: Streamed| found.seconds_per_gigabyte;
        match streams {
            Streams::Plain => self.alternate(|| ours(Way::Plain, 1).map(rate), || theirs(Way::Plain, 1).map(rate)),
            Streams::Cost => self.alternate(|| ours(Way::Plain, 1).map(cost), || theirs(Way::Plain, 1).map(cost)),
            Streams::Fast => self.alternate(|| ours(Way::Fast, 1).map(rate), || theirs(Way::Fast, 1).map(rate)),
            Streams::FastToPlain => self.alternate(|| ours(Way::Fast, 1).map(rate), || theirs(Way::Plain, 1).map(rate)),
            Streams::Eight => self.alternate(|| ours(Way::Plain, 8).map(rate), || theirs(Way::Plain, 8).map(rate)),
            Streams::Datagrams { segments } => {
                let (mut here, mut there) = (Ladder::default(), Ladder::default());
                self.alternate(
                    || here.highest(|rung| iperf3::sonde_udp(sonde, &ends, segments, rung, priority)),
                    || there.highest(|rung| iperf3::iperf3_udp(&ends, rung, priority)),
                )
            }
        }
    }
}
