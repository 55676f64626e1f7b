//! Reasons to refuse a method.

use super::axis::Carrier;
use super::flat::NotOf;
use crate::unit::{Bytes, Nanos};

/// Reason to refuse a method. The caller that took the settings says what to ask for instead.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// A setting for traffic that does not have it.
    NotOf(NotOf),
    /// A count of zero.
    NothingToMeasureWith,
    /// Threads without a connection.
    IdleThreads {
        /// Threads asked for.
        threads: u32,
        /// Connections asked for.
        connections: u32,
    },
    /// Connections in turn, on several threads.
    TurnsOfThreads {
        /// Threads asked for.
        threads: u32,
    },
    /// Fewer source ports than connections that each want one.
    FewPorts {
        /// Source ports asked for.
        ports: u32,
        /// Connections asked for.
        connections: u32,
    },
    /// More than any machine here carries.
    TooMany {
        /// Connections asked for.
        connections: u32,
        /// Threads asked for.
        threads: u32,
    },
    /// A count or a duration of zero.
    NothingToMeasure,
    /// A quantile outside its range.
    NoQuantile {
        /// Requested quantile.
        quantile: f64,
    },
    /// A tolerance outside its range.
    NoTolerance,
    /// A schedule of a stream that we receive.
    PacedReceiver,
    /// A wait mode of the peer, which a foreign protocol cannot set.
    ForeignWaiting,
    /// A window said twice.
    WindowTwice,
    /// An open loop without a schedule.
    UnboundedBackToBack,
    /// A window above the most requests that are kept.
    WindowTooLarge {
        /// Requested window, a number of requests.
        window: u32,
    },
    /// Pacing without a schedule.
    NothingToPace,
    /// A timeout outside its range.
    NoTimeout {
        /// Requested timeout, nanoseconds.
        timeout: Nanos,
    },
    /// Longer than a week.
    TooLong,
    /// Requests further apart than the run is long.
    IntervalBeyondEnd {
        /// From one request to the next.
        interval: Nanos,
        /// Length of the run, nanoseconds.
        length: Nanos,
    },
    /// A size outside the range of the protocol.
    Size {
        /// The carrier.
        carrier: Carrier,
        /// Requested size, bytes.
        bytes: Bytes,
        /// The smallest that works.
        smallest: u64,
        /// The largest that works.
        largest: u64,
    },
    /// An echo of another size.
    EchoIsSymmetric,
    /// A reply longer than its request, over UDP.
    Amplifies {
        /// The request.
        request: Bytes,
        /// The reply.
        response: Bytes,
    },
    /// No interval.
    ZeroInterval,
    /// No requests in a burst.
    EmptyBurst,
    /// A burst that cannot leave at once.
    BurstBeyondWindow {
        /// Requests of a burst.
        burst: u32,
        /// The window.
        window: u32,
    },
    /// Every zeroth message.
    ReplyEveryNothing,
    /// Sizes said twice.
    SizesTwice,
    /// Messages of different sizes on a stream of ours.
    SizesOnStreams,
    /// A range that runs backwards.
    SizesBackwards {
        /// Requested smallest size, bytes.
        smallest: Bytes,
        /// Requested largest size, bytes.
        largest: Bytes,
    },
    /// A mix without sizes, or with a size that never comes.
    EmptyShare,
    /// Messages too short to say that they want no reply.
    NoRoomToAsk {
        /// The size asked for.
        bytes: Bytes,
        /// The smallest that has room.
        smallest: u64,
    },
    /// A batch where each message asks for a reply.
    NothingToBatch,
    /// A batch too small or too large.
    Batch {
        /// Messages of a batch, as asked for.
        messages: u32,
        /// The most that fit.
        most: u32,
        /// The size of the largest.
        bytes: Bytes,
    },
}

impl From<NotOf> for Refusal {
    fn from(not: NotOf) -> Self {
        Self::NotOf(not)
    }
}
