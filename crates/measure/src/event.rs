//! Events of a measurement, as listeners receive them: the recorder, a progress line, a file of samples.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::interval::Interval;
use crate::method::LoopKind;
use crate::outcome::replies::Kind;
use crate::unit::{Instant, Nanos};

pub use crate::details::Details;

/// Default length of an interval of the series.
pub const INTERVAL: Nanos = Nanos::secs(1);

/// Status of a scheduled request. Each has exactly one; duplicates and reorderings are counted beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// A sound reply came in time.
    Answered,
    /// A reply came after the timeout: not among the answered.
    Late,
    /// No reply within the timeout, and none since.
    Lost,
    /// Refused by an ICMP error or a reset attributed to it.
    Refused,
    /// A reply came whose content does not match its request.
    Corrupt,
    /// Our own side could not send it: no packet left, so no network lost it.
    SendFailed,
}

impl Fate {
    /// Returns true where something came from the peer, or in its name: a sound reply, a late one or a spoiled one. A
    /// refusal is none, whoever reported it.
    pub fn is_reply(self) -> bool {
        matches!(self, Self::Answered | Self::Late | Self::Corrupt)
    }
}

/// One scheduled request with its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The connection it went over, from 0.
    pub flow: u32,
    /// Its number within the connection, from 0; warm-up not counted.
    pub seq: u64,
    /// Scheduled send time; `None` in a closed loop back to back, where nothing is scheduled.
    pub intended: Option<Instant>,
    /// Instant of the hand-over to the kernel; `None` if that failed.
    pub sent: Option<Instant>,
    /// Instant at which the application had its reply; `None` where none came.
    pub received: Option<Instant>,
    /// Status of the request.
    pub fate: Fate,
    /// Details of one with a program at work; absent where the engine has none.
    pub details: Option<Details>,
}

impl Exchange {
    /// Returns the start of its response time, as the recorder takes it: a closed loop's request was not due while the
    /// one before was out. `None` where it was neither due nor sent.
    pub fn begins(&self, kind: LoopKind) -> Option<Instant> {
        match kind {
            LoopKind::Open => self.intended.or(self.sent),
            LoopKind::Closed => self.sent,
        }
    }
}

/// Counts of requests by status, with the counts beside. `scheduled` is the sum of the six statuses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    /// Requests that were due.
    pub scheduled: u64,
    /// Answered in time.
    pub answered: u64,
    /// Answered after the timeout.
    pub late: u64,
    /// Not answered.
    pub lost: u64,
    /// Refused by the peer or a hop.
    pub refused: u64,
    /// Answered with wrong content.
    pub corrupt: u64,
    /// Not sent, for a reason of our own side.
    pub send_failed: u64,
    /// Further copies of replies already had (RFC 5560); not among the fates.
    pub duplicated: u64,
    /// Replies that arrived after one with a larger sequence number (RFC 4737 section 3.3).
    pub reordered: u64,
    /// Messages that belong to no request of this run.
    pub strays: u64,
    /// Instants of a closed loop's schedule that passed while the window was full.
    pub ticks_missed: u64,
    /// Times our monotonic clock went backwards between two readings of one exchange; the exchange is answered, but
    /// its time is in no distribution.
    pub clock_steps: u64,
    /// Messages of a load that asked for no reply and were handed to the kernel. They have no fate: whether they arrived
    /// is for the peer to count. Absent: none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub one_way: u64,
    /// Messages of a load that our own side could not send: those that asked for no reply, and those that were left out
    /// because there was no room, before it was decided whether they ask. Absent: none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub one_way_failed: u64,
    /// Times a refusal was told while nothing that asks was out: messages that asked for no reply met it. A host on the
    /// way tells of some of them only. Absent: none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub one_way_refused: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Counts {
    /// Counts one more end of a scheduled request.
    #[inline]
    pub fn end(&mut self, fate: Fate) {
        self.scheduled += 1;
        match fate {
            Fate::Answered => self.answered += 1,
            Fate::Late => self.late += 1,
            Fate::Lost => self.lost += 1,
            Fate::Refused => self.refused += 1,
            Fate::Corrupt => self.corrupt += 1,
            Fate::SendFailed => self.send_failed += 1,
        }
    }

    /// Adds the counts of another part of the same measurement. A record that somebody wrote may have any count: sums stop at 2^64 - 1.
    pub fn add(&mut self, other: &Self) {
        let sum = |count: &mut u64, more: u64| *count = count.saturating_add(more);
        sum(&mut self.scheduled, other.scheduled);
        sum(&mut self.answered, other.answered);
        sum(&mut self.late, other.late);
        sum(&mut self.lost, other.lost);
        sum(&mut self.refused, other.refused);
        sum(&mut self.corrupt, other.corrupt);
        sum(&mut self.send_failed, other.send_failed);
        sum(&mut self.duplicated, other.duplicated);
        sum(&mut self.reordered, other.reordered);
        sum(&mut self.strays, other.strays);
        sum(&mut self.ticks_missed, other.ticks_missed);
        sum(&mut self.clock_steps, other.clock_steps);
        sum(&mut self.one_way, other.one_way);
        sum(&mut self.one_way_failed, other.one_way_failed);
        sum(&mut self.one_way_refused, other.one_way_refused);
    }

    /// Counts since `earlier`, which is an older state of the same counts. A status that was corrected in the
    /// meantime (lost, then late after all) shows as 0 here rather than as a negative number; the totals are right.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            scheduled: self.scheduled.saturating_sub(earlier.scheduled),
            answered: self.answered.saturating_sub(earlier.answered),
            late: self.late.saturating_sub(earlier.late),
            lost: self.lost.saturating_sub(earlier.lost),
            refused: self.refused.saturating_sub(earlier.refused),
            corrupt: self.corrupt.saturating_sub(earlier.corrupt),
            send_failed: self.send_failed.saturating_sub(earlier.send_failed),
            duplicated: self.duplicated.saturating_sub(earlier.duplicated),
            reordered: self.reordered.saturating_sub(earlier.reordered),
            strays: self.strays.saturating_sub(earlier.strays),
            ticks_missed: self.ticks_missed.saturating_sub(earlier.ticks_missed),
            clock_steps: self.clock_steps.saturating_sub(earlier.clock_steps),
            one_way: self.one_way.saturating_sub(earlier.one_way),
            one_way_failed: self.one_way_failed.saturating_sub(earlier.one_way_failed),
            one_way_refused: self.one_way_refused.saturating_sub(earlier.one_way_refused),
        }
    }

    /// Messages that were due, whether they asked for a reply or not.
    pub fn messages(&self) -> u64 {
        self.scheduled.saturating_add(self.one_way).saturating_add(self.one_way_failed)
    }

    /// Messages that left, whether they asked for a reply or not: those our own side failed to send did not.
    pub fn messages_sent(&self) -> u64 {
        self.scheduled.saturating_sub(self.send_failed).saturating_add(self.one_way)
    }

    /// Requests without a reply in time: lost ones and late ones.
    pub fn missing(&self) -> u64 {
        self.lost.saturating_add(self.late)
    }

    /// Requests that left and were not answered in time, however they ended.
    pub fn unanswered(&self) -> u64 {
        self.scheduled.saturating_sub(self.answered).saturating_sub(self.send_failed)
    }

    /// Messages that our own side could not send, whether they asked for a reply or not.
    pub fn unsent(&self) -> u64 {
        self.send_failed.saturating_add(self.one_way_failed)
    }

    /// Returns true where every scheduled request has exactly one status.
    pub fn balance(&self) -> bool {
        let fates = [self.answered, self.late, self.lost, self.refused, self.corrupt, self.send_failed];
        u128::from(self.scheduled) == fates.into_iter().map(u128::from).sum::<u128>()
    }
}

/// One second of a measurement as it went by, or whatever interval the task chose (the last may be shorter).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Second {
    /// Its start, nanoseconds after the start of the measurement.
    pub at_ns: Nanos,
    /// Length in nanoseconds.
    pub length_ns: Nanos,
    /// Requests that ended within it, by status.
    pub counts: Counts,
    /// Shortest response time of those answered in it, in nanoseconds; absent when none was.
    pub min_ns: Option<Nanos>,
    /// Mean response time of those answered in it, in nanoseconds; absent when none was.
    pub mean_ns: Option<f64>,
    /// Longest response time of those answered in it, in nanoseconds; absent when none was.
    pub max_ns: Option<Nanos>,
}

impl Second {
    /// Seconds of several threads as one: counts add up, extremes are the outermost, the mean is of all answers.
    #[must_use]
    pub fn merged<'a>(seconds: impl Iterator<Item = &'a Self> + Clone) -> Self {
        let mut counts = Counts::default();
        seconds.clone().for_each(|second| counts.add(&second.counts));
        let recorded = |second: &Self| second.counts.answered.saturating_sub(second.counts.clock_steps);
        let weights = seconds.clone().map(recorded).fold(0, u64::saturating_add);
        let sum: f64 = seconds.clone().filter_map(|second| Some(second.mean_ns? * recorded(second) as f64)).sum();
        Self {
            at_ns: seconds.clone().map(|second| second.at_ns).min().unwrap_or(Nanos::ZERO),
            length_ns: seconds.clone().map(|second| second.length_ns).max().unwrap_or(Nanos::ZERO),
            counts,
            min_ns: seconds.clone().filter_map(|second| second.min_ns).min(),
            mean_ns: (weights > 0).then(|| sum / weights as f64),
            max_ns: seconds.filter_map(|second| second.max_ns).max(),
        }
    }

    /// This one and the one after it as one.
    #[must_use]
    pub fn then(&self, next: &Self) -> Self {
        Self {
            length_ns: Nanos(self.length_ns.0.saturating_add(next.length_ns.0)),
            ..Self::merged([self, next].into_iter())
        }
    }
}

/// Parts of one round trip between kernel timestamps, nanoseconds. A part is absent where the kernel or the peer gave no stamp for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Application's send call to the packet scheduler.
    pub send_to_sched: Option<Nanos>,
    /// Packet scheduler to the driver.
    pub sched_to_driver: Option<Nanos>,
    /// Driver to receive stamp, all that lies outside this host.
    pub outside: Option<Nanos>,
    /// Receive stamp to the application: our wake-up.
    pub wake_up: Option<Nanos>,
    /// The path both ways, the peer's host taken out.
    pub path: Option<Nanos>,
    /// The peer from its receive stamp to its driver.
    pub peer: Option<Nanos>,
    /// Part of `peer`: receive stamp to the peer's application, its wake-up.
    pub peer_wake_up: Option<Nanos>,
    /// Part of `peer`: the peer's application, from receive to send.
    pub peer_hold: Option<Nanos>,
    /// Part of `peer`: the peer's send call to its driver.
    pub peer_send: Option<Nanos>,
    /// Round trip as the application saw it.
    pub round_trip: Option<Nanos>,
}

/// Event that an engine pushes while it runs; sinks turn it into a progress line, JSON lines or a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The warm-up is over and recording starts now.
    Started {
        /// The thread of ours that says so.
        thread: u32,
        /// Its instant, from which the instants of its exchanges count.
        at: Instant,
    },
    /// A second went by, or the interval that the task chose.
    Second {
        /// The thread of ours whose second it was.
        thread: u32,
        /// Counts and times of that second.
        second: Second,
    },
    /// A second of a stream went by, or the interval that the task chose.
    Carried {
        /// The thread of ours whose interval it was.
        thread: u32,
        /// Bytes and calls of that interval.
        interval: Box<Interval>,
    },
    /// A request ended; only when samples were asked for.
    Exchange(Exchange),
    /// A round trip was split into its parts by kernel timestamps; only when samples were asked for.
    Split(Parts),
    /// Replies of a program at work since the event of that kind before, by the names of their kinds; comes before the second in which they were
    /// counted.
    Replies(BTreeMap<String, Kind>),
    /// Samples the ring could not take because its reader fell behind: the file lacks so many.
    SamplesDropped {
        /// Samples lost, a count.
        count: u64,
    },
}
