//! Why a method makes no sense.

use super::axis::Carrier;
use crate::unit::{Bytes, Nanos};

/// Why a method makes no sense. What to ask for instead is for those to say who took the question.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// A handshake has no payload.
    HandshakeCarriesNothing,
    /// A count of zero.
    NothingToMeasureWith,
    /// Threads without a connection.
    IdleThreads {
        /// Threads asked for.
        threads: u32,
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
        /// What was asked for.
        quantile: f64,
    },
    /// A tolerance outside its range.
    NoTolerance,
    /// Stamps asked for where there are none.
    NoStampsOnHandshakes,
    /// Stamps asked for on a stream.
    NoStampsOnStreams,
    /// A close has no payload.
    CloseCarriesNothing,
    /// A direction of exchanges.
    ExchangesGoBothWays,
    /// A stream over something that carries none.
    NothingToStream {
        /// The carrier.
        carrier: Carrier,
    },
    /// A window of a stream.
    StreamHasNoWindow,
    /// An end by requests or by a quantile, of a stream.
    StreamHasNoRequests,
    /// An end by bytes, of exchanges.
    OnlyStreamsEndByBytes,
    /// A schedule of a stream that we receive.
    PacedReceiver,
    /// What a foreign protocol cannot ask for.
    ForeignWaiting,
    /// A window said twice.
    WindowTwice,
    /// A volley of something that is no exchange.
    VolleysAreExchanges,
    /// An open loop without a schedule.
    UnboundedBackToBack,
    /// A window beyond what is kept.
    WindowTooLarge {
        /// What was asked for.
        window: u32,
    },
    /// The far side runs no program of ours.
    NoPeerProgram {
        /// The carrier.
        carrier: Carrier,
    },
    /// Pacing without a schedule.
    NothingToPace,
    /// A timeout outside its range.
    NoTimeout {
        /// What was asked for.
        timeout: Nanos,
    },
    /// Longer than a week.
    TooLong,
    /// TCP options on another carrier.
    TcpOnly {
        /// The carrier.
        carrier: Carrier,
    },
    /// A size outside what the carrier can carry.
    Size {
        /// The carrier.
        carrier: Carrier,
        /// What was asked for.
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
    /// Connect + exchange over something without connections.
    NothingToConnect {
        /// The carrier.
        carrier: Carrier,
    },
    /// Every zeroth message.
    ReplyEveryNothing,
    /// Fewer replies than requests, of exchanges.
    RepliesToEach,
    /// Sizes said twice.
    SizesTwice,
    /// A distribution of sizes outside of a load.
    SizesAreLoads,
    /// Messages of different sizes on a stream of ours.
    SizesOnStreams,
    /// A range that runs backwards.
    SizesBackwards {
        /// What was said to be the smallest.
        smallest: Bytes,
        /// What was said to be the largest.
        largest: Bytes,
    },
    /// A mix without sizes, or with a size that never comes.
    EmptyShare,
    /// A trace of something that is no load.
    TracesAreLoads,
    /// A load over something that answers each message.
    NothingToLoad {
        /// The carrier.
        carrier: Carrier,
    },
    /// A window of a load.
    LoadHasNoWindow,
    /// Stamps asked for on a load.
    NoStampsOnLoads,
    /// Messages too short to say that they want no reply.
    NoRoomToAsk {
        /// The size asked for.
        bytes: Bytes,
        /// The smallest that has room.
        smallest: u64,
    },
    /// A batch of something that is no load.
    BatchesAreLoads,
    /// A way of handing over of something that is no stream.
    PathsAreStreams,
    /// A way of handing over of datagrams.
    PathsAreTcp,
    /// A batch on a stream.
    BatchesAreDatagrams {
        /// The carrier.
        carrier: Carrier,
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
    /// A reply's size asked of a carrier whose answers are bare.
    ProbesGetNoPayload,
    /// Concurrent handshakes on one thread.
    OneHandshakeAtATime,
}
