//! Content of a recorder at the end, and the merging of those of several threads.

use super::gaps::Gap;
use super::order::LossPeriods;
use super::thinning::Series;
use super::values::Values;
use crate::event::{Counts, Second};
use crate::method::LoopKind;
use crate::unit::{Instant, Nanos};

/// All that was recorded, of one thread or of several merged.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Open or closed.
    pub kind: LoopKind,
    /// Requests by status, and the counts beside.
    pub counts: Counts,
    /// Response times of the answered: from the intended instant (open loop) or from the send (closed).
    pub response: Values,
    /// Service times of the answered, from the send; open loops only.
    pub service: Option<Values>,
    /// Lag of the sends behind their schedule; open loops only.
    pub slip: Option<Values>,
    /// The kept exchanges, a series for each thread.
    pub series: Vec<Series>,
    /// Reordered arrivals by extent (RFC 4737 section 4.2): class k holds those of 2^k to 2^(k+1)-1 arrivals.
    pub extents: [u64; 16],
    /// Runs of consecutive losses.
    pub loss_periods: LossPeriods,
    /// True where nothing was answered after the request that was lost last; with several threads, on all of them.
    pub ends_lost: bool,
    /// The seconds, a list for each thread.
    pub seconds: Vec<Vec<Second>>,
    /// Beginning of recording.
    pub began: Instant,
    /// End of recording.
    pub ended: Instant,
    /// Duration of the very first exchange, cold; absent where it was not answered.
    pub first: Option<Nanos>,
    /// Time for which due messages were held back.
    pub held_back: HeldBack,
    /// Departure of the last message of a load; absent where it was not reported.
    pub sent_until: Option<Instant>,
    /// The longest times without a reply of any kind, in the order of time, a list for each thread.
    pub gaps: Vec<Vec<Gap>>,
    /// Requests of each connection, where there are several; the order means nothing.
    pub flows: Vec<FlowCounts>,
}

/// Requests of one connection by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// Its number within the measurement, from 0.
    pub flow: u32,
    /// Requests that were recorded: those that were due.
    pub scheduled: u64,
    /// Those that were answered in time.
    pub answered: u64,
    /// Turns in which any left, a count; 0 where connections do not take turns.
    pub turns: u64,
}

/// Reason why a due message of an open loop does not leave, beside our own slowness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// The cap on outstanding requests is reached.
    Cap,
    /// The socket takes no more: the path or the peer does not keep up.
    Socket,
}

/// Times during which something due was held back; of several threads the sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeldBack {
    /// By the cap on outstanding requests.
    pub by_cap: Nanos,
    /// By a socket that took no more.
    pub by_socket: Nanos,
}

impl HeldBack {
    pub(super) fn add(&mut self, by: Held, span: Nanos) {
        let sum = match by {
            Held::Cap => &mut self.by_cap,
            Held::Socket => &mut self.by_socket,
        };
        *sum = Nanos(sum.0.saturating_add(span.0));
    }
}

impl Recording {
    /// Adds the recording of another thread of the same measurement.
    pub fn merge(&mut self, other: Self) {
        self.counts.add(&other.counts);
        self.response.merge(&other.response);
        for (mine, theirs) in [(&mut self.service, &other.service), (&mut self.slip, &other.slip)] {
            if let (Some(mine), Some(theirs)) = (mine.as_mut(), theirs.as_ref()) {
                mine.merge(theirs);
            }
        }
        self.series.extend(other.series);
        for (mine, theirs) in self.extents.iter_mut().zip(other.extents) {
            *mine += theirs;
        }
        self.loss_periods.periods += other.loss_periods.periods;
        self.loss_periods.longest = self.loss_periods.longest.max(other.loss_periods.longest);
        self.ends_lost &= other.ends_lost;
        self.seconds.extend(other.seconds);
        self.began = self.began.min(other.began);
        self.ended = self.ended.max(other.ended);
        self.first = self.first.or(other.first);
        self.sent_until = self.sent_until.max(other.sent_until);
        self.gaps.extend(other.gaps);
        self.flows.extend(other.flows);
        self.held_back.add(Held::Cap, other.held_back.by_cap);
        self.held_back.add(Held::Socket, other.held_back.by_socket);
    }

    /// Every answered exchange's response time as it came, when all were kept: then quantiles are exact.
    pub fn exact(&self) -> Option<Vec<u64>> {
        let all = self.series.iter().all(|series| series.stride == 1);
        all.then(|| self.series.iter().flat_map(|series| series.samples.iter().map(|kept| kept.response)).collect())
    }
}
