//! Evidence for a limit, each piece with its figures. Its words stand where things are told.

use serde::{Deserialize, Serialize};

use crate::unit::{Bytes, Nanos};

/// An end of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The end that sends.
    Sender,
    /// The end that receives.
    Receiver,
}

/// The reason why no datagrams were sent beside the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Untried {
    /// Nobody asked for it, or the limit shows without.
    NotAsked,
    /// The run was ended.
    Stopped,
    /// None can be sent as fast as the stream went.
    TooFast,
    /// None came through: the peer accepted none, or the path drops all of this size.
    Refused,
    /// It is not known how fast the stream went, as where it broke off.
    Unrated,
}

/// A question that only datagrams beside the stream answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Untested {
    /// A queue, a policer or a lossy path: which of them loses.
    Losses,
    /// Round trips without the stream.
    RoundTrips,
}

/// A piece of evidence. Shares are 0 to 1; rates are bytes of payload per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the line of each kind names its figures")]
pub enum Reason {
    /// So short a stream shows nothing.
    ShortStream { elapsed_ns: Nanos },
    /// Share of the requested rate that was sent.
    SentOfRate { share: f64 },
    /// Share of its busy time in which TCP waited for the receiver's window.
    WaitedForWindow { share: f64 },
    /// Both ends agreed on no window scaling, so that no window is larger than 65,535 bytes, whatever the buffers.
    Unscaled,
    /// Both ends agreed on no selective acknowledgements, so that TCP finds one lost segment in a round trip, and sends again what had arrived.
    CumulativeAcks,
    /// A sender's segments, whose payload is less than half of what the path takes: an end or a box asked for such, or the path once refused larger
    /// ones.
    SmallSegments { mss_bytes: Bytes, path_mtu_bytes: Bytes },
    /// The receivers' window for a round trip.
    Window { bytes: Bytes, rtt_ns: Nanos },
    /// The receivers' socket buffers, which are small whatever the round trip.
    ReceiveBuffer { bytes: Bytes },
    /// The receivers' socket buffers, which would let a larger window through: a box on the path, or a setting of the receiver, keeps it small.
    KeptSmall { buffer_bytes: Bytes },
    /// Share of its busy time in which TCP waited for room in the send buffer.
    WaitedForSendBuffer { share: f64 },
    /// The send buffer for a round trip.
    SendBuffer { bytes: Bytes, rtt_ns: Nanos },
    /// The reason why the window stays small is not established.
    SlowReader,
    /// Share of the time in which the receiver's thread waited for data although the window was shut: a proxy may keep it so.
    IdleReader { share: f64 },
    /// Share of the time in which the receiver's thread ran or waited for a CPU.
    BusyReader { share: f64 },
    /// Share of the bytes that TCP sent again: the losses that are to be explained.
    Retransmitted { share: f64 },
    /// Share of the segments sent again that had arrived already, as the receiver says (DSACK, RFC 2883): nothing lost them. Packets overtake each
    /// other, or were late.
    Needless { share: f64 },
    /// Share of the segments that arrived with a congestion mark (ECN CE): something on the path asked TCP to send more slowly.
    Marked { share: f64 },
    /// Share of the datagrams that were lost.
    DatagramsLost { share: f64 },
    /// Round trips of the stream under load, beside the shortest; both ends idle or not.
    RoundTrips { rtt_ns: Nanos, shortest_ns: Nanos, idle: bool },
    /// A question that was not tested, and the reason.
    NotTested { what: Untested, why: Untried },
    /// Share of what the sending program handed over that its own host did not send: the interface's queue was full, or a rule forbids it.
    NotSent { share: f64 },
    /// A queue of the sending host's own interface that lets a rate of whole frames through, and the share of it that the stream took.
    Shaper { interface: String, qdisc: String, bytes_per_s: f64, share: f64 },
    /// Packets that the sending host's own interface dropped, beside the segments that were sent again because they had not arrived, or the
    /// datagrams that were lost.
    InterfaceDropped {
        interface: String,
        /// Packets that it dropped, a count: those of other programs too.
        packets: u64,
        /// Segments or datagrams that were lost, a count.
        lost: u64,
    },
    /// Time in which the receiver got nothing or next to nothing, and its share of the whole.
    Silent { total_ns: Nanos, share: f64 },
    /// Share of the time in which an end's control group was stopped by its CPU quota.
    Throttled { share: f64 },
    /// Share of the time in which an end's busiest thread ran; the share in which it waited for a CPU, where that counts.
    ThreadRan {
        share: f64,
        #[serde(rename = "waited_share")]
        waited: Option<f64>,
    },
    /// Share of the time in which a CPU of an end's host handled soft interrupts.
    SoftInterrupts { share: f64 },
    /// Share of the arrivals that an end's kernel dropped, because the program did not read them.
    Dropped { share: f64 },
    /// Datagrams of a rate, and the share that the path lost.
    Datagrams {
        bytes_per_s: f64,
        #[serde(rename = "lost_share")]
        lost: f64,
    },
    /// The stream loses, and no datagram beside it did, also faster: the cause of the losses takes TCP, its port or bursts alone.
    OnlyStreamLoses,
    /// Datagrams could not be sent as fast as the stream.
    SlowDatagrams,
    /// Datagrams could not be sent faster than the stream.
    NoFasterDatagrams,
    /// A queue that stood, with the shortest wait in the middle one of the intervals, and the rate that it let through. It may have been filling
    /// still.
    StandingQueue { waited_ns: Nanos, bytes_per_s: f64 },
    /// The same share lost at each rate that was tried.
    EvenLoss,
    /// Wait of at least three in four of the datagrams next after a lost one.
    WaitedAfterLoss { waited_ns: Nanos },
    /// The rate that got through at two rates alike.
    CappedRate { bytes_per_s: f64 },
    /// The bottleneck lets far more through than the stream had.
    FarMoreThanStream,
    /// The bottleneck lets less through than each connection of the stream had: it is of datagrams alone, or had saved up for the stream.
    LessThanStream,
    /// The bottleneck lets as much through as each of several connections of the stream had: it is of each by itself.
    AsMuchAsEach,
    /// Share of the time in which an end's busiest thread ran, unremarkable.
    BusiestThread { end: End, share: f64 },
    /// Longest share of the time in which a thread of an end waited for a CPU, unremarkable.
    LongestWait { end: End, share: f64 },
    /// The threads of an end spin while they wait, so that the time they ran shows nothing.
    Spins { end: End },
    /// The CPU quota of an end cannot be read.
    QuotaUnread { end: End },
    /// Share of the busy time held by the receiver's window, unremarkable.
    HeldByWindow { share: f64 },
    /// Share of the busy time held by the send buffer, unremarkable.
    HeldBySendBuffer { share: f64 },
    /// Share of the bytes that TCP sent again, too few to explain anything.
    FewRetransmitted { share: f64 },
}
