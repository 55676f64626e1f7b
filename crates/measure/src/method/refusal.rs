//! Why a method makes no sense, in words for the person who asked for it.

use super::axis::Carrier;
use crate::unit::{Bytes, Nanos};

/// Why a method makes no sense. Each says what to ask for instead.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A handshake has no payload.
    #[error(
        "tcp-connect measures the handshake alone: it carries no request. Drop the sizes, or use --crr for connect + exchange"
    )]
    HandshakeCarriesNothing,
    /// A count of zero.
    #[error("at least one connection and one thread are needed")]
    NothingToMeasureWith,
    /// Threads without a connection.
    #[error(
        "{threads} threads cannot share {connections} connection(s): each thread owns at least one. Raise --connections"
    )]
    IdleThreads {
        /// Threads asked for.
        threads: u32,
        /// Connections asked for.
        connections: u32,
    },
    /// More than any machine here carries.
    #[error("{connections} connections on {threads} threads: at most 65536 and 1024")]
    TooMany {
        /// Connections asked for.
        connections: u32,
        /// Threads asked for.
        threads: u32,
    },
    /// A count or a duration of zero.
    #[error("a run of no time or no requests measures nothing: give -t or -c above 0")]
    NothingToMeasure,
    /// A quantile outside its range.
    #[error("{quantile} is no quantile: --until takes one between 0 and 100 %, as in p99 or p99±5%")]
    NoQuantile {
        /// What was asked for.
        quantile: f64,
    },
    /// A tolerance outside its range.
    #[error("the tolerance of --until is a share between 0 and 100 %, as in p99±5%")]
    NoTolerance,
    /// Stamps asked for where there are none.
    #[error(
        "kernel timestamps split an exchange on an open socket; a handshake is timed by the connect call alone. Drop --stamps"
    )]
    NoStampsOnHandshakes,
    /// Stamps asked for on a stream.
    #[error("kernel timestamps split an exchange, and a stream has none. Drop --stamps")]
    NoStampsOnStreams,
    /// A close has no payload.
    #[error("connect + close carries no request: drop the sizes, or ask for connect + exchange")]
    CloseCarriesNothing,
    /// A direction of exchanges.
    #[error("an exchange goes both ways: only a stream has a direction")]
    ExchangesGoBothWays,
    /// A stream over something that carries none.
    #[error("{carrier} carries no stream: take tcp or udp")]
    NothingToStream {
        /// The carrier.
        carrier: Carrier,
    },
    /// A window of a stream.
    #[error("a stream awaits no replies, so there is no window: what is on its way is for TCP to say")]
    StreamHasNoWindow,
    /// An end by requests or by a quantile, of a stream.
    #[error("a stream has no requests to count and no quantile to settle: end it by time or by bytes")]
    StreamHasNoRequests,
    /// An end by bytes, of exchanges.
    #[error("only a stream ends by bytes: end exchanges by time or by their count")]
    OnlyStreamsEndByBytes,
    /// A schedule of a stream that we receive.
    #[error("what we receive comes when the peer sends it: ask the peer to pace it, or drop the schedule")]
    PacedReceiver,
    /// What a foreign protocol cannot ask for.
    #[error("the peer speaks another program's protocol, which cannot say how it waits. Drop --peer-wait")]
    ForeignWaiting,
    /// A window said twice.
    #[error("a volley is a window of its own: ask for one of the two")]
    WindowTwice,
    /// A volley of something that is no exchange.
    #[error("a volley ends when all of its requests have: only exchanges end so")]
    VolleysAreExchanges,
    /// An open loop without a schedule.
    #[error(
        "an unbounded window back to back would only fill buffers: give --every, --rate or --poisson, or a window above 0"
    )]
    UnboundedBackToBack,
    /// A window beyond what is kept.
    #[error("a window of {window} is beyond 1048576 outstanding requests")]
    WindowTooLarge {
        /// What was asked for.
        window: u32,
    },
    /// The far side runs no program of ours.
    #[error(
        "{carrier} is answered by the peer's kernel: there is no program whose waiting or CPU could be set. Drop --peer-wait and --peer-cpu"
    )]
    NoPeerProgram {
        /// The carrier.
        carrier: Carrier,
    },
    /// Pacing without a schedule.
    #[error("back to back there is no instant to wait for: --pace needs --every, --rate, --poisson or --burst")]
    NothingToPace,
    /// A timeout outside its range.
    #[error("a timeout of {timeout} cannot be waited for: give one above 0 and up to 1h")]
    NoTimeout {
        /// What was asked for.
        timeout: Nanos,
    },
    /// Longer than a week.
    #[error("a single run lasts at most 7 days (168h)")]
    TooLong,
    /// TCP options on another carrier.
    #[error("--nagle and --congestion are TCP's; the carrier is {carrier}")]
    TcpOnly {
        /// The carrier.
        carrier: Carrier,
    },
    /// A size outside what the carrier can carry.
    #[error("{bytes} does not fit {carrier}: from {smallest} to {largest} bytes{}", size_reason(*carrier))]
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
    #[error("an ICMP echo comes back as it was sent: request and response have one size")]
    EchoIsSymmetric,
    /// A reply longer than its request, over UDP.
    #[error(
        "a UDP reply of {response} to a request of {request} would amplify: the reflector never answers with more than came in. Use tcp, or a request as long"
    )]
    Amplifies {
        /// The request.
        request: Bytes,
        /// The reply.
        response: Bytes,
    },
    /// No interval.
    #[error("an interval of 0 is back to back: leave --every away")]
    ZeroInterval,
    /// No requests in a burst.
    #[error("a burst has at least one request")]
    EmptyBurst,
    /// A burst that cannot leave at once.
    #[error(
        "a burst of {burst} does not fit a window of {window}: it would never leave at once. Raise --window, or leave it away for an open loop"
    )]
    BurstBeyondWindow {
        /// Requests of a burst.
        burst: u32,
        /// The window.
        window: u32,
    },
    /// Connect + exchange over something without connections.
    #[error("{carrier} has no connection to make: connect + exchange is for tcp")]
    NothingToConnect {
        /// The carrier.
        carrier: Carrier,
    },
    /// Every zeroth message.
    #[error("--reply-every 0 asks for no reply at all, so nothing would be timed: take 1 or more")]
    ReplyEveryNothing,
    /// Fewer replies than requests, of exchanges.
    #[error("an exchange always asks for its reply: --reply-every is for a load")]
    RepliesToEach,
    /// Sizes said twice.
    #[error("the size of messages is said twice: by a size, by a range or mix of sizes, or by a trace, only once")]
    SizesTwice,
    /// A distribution of sizes outside of a load.
    #[error("messages of different sizes are for a load: give exchanges one size")]
    SizesAreLoads,
    /// Messages of different sizes on a stream of ours.
    #[error("over tcp the reflector tells messages apart by their one size: take udp for messages of different sizes")]
    SizesOnStreams,
    /// A range that runs backwards.
    #[error("a range of sizes from {smallest} to {largest} is empty: the smaller comes first")]
    SizesBackwards {
        /// What was said to be the smallest.
        smallest: Bytes,
        /// What was said to be the largest.
        largest: Bytes,
    },
    /// A mix without sizes, or with a size that never comes.
    #[error("a mix of sizes has at least one, each with a share above 0, as in 64:7,576:4,1500:1")]
    EmptyShare,
    /// A trace of something that is no load.
    #[error("a recorded trace is replayed as a load: it cannot be the schedule of exchanges or of a stream")]
    TracesAreLoads,
    /// A load over something that answers each message.
    #[error("{carrier} answers each message by the peer's kernel: a load takes udp or tcp")]
    NothingToLoad {
        /// The carrier.
        carrier: Carrier,
    },
    /// A window of a load.
    #[error("a load is an open loop: its messages leave when they are due, whatever is outstanding. Drop --window")]
    LoadHasNoWindow,
    /// Stamps asked for on a load.
    #[error("kernel timestamps split the exchanges of `sonde rtt`, not those of a load. Drop --stamps")]
    NoStampsOnLoads,
    /// Messages too short to say that they want no reply.
    #[error(
        "over tcp a message of {bytes} has no room to say that it wants no reply: take {smallest} bytes or more, or --reply-every 1"
    )]
    NoRoomToAsk {
        /// The size asked for.
        bytes: Bytes,
        /// The smallest that has room.
        smallest: u64,
    },
    /// A batch of something that is no load.
    #[error("an exchange leaves alone: batches are for a load")]
    BatchesAreLoads,
    /// A way of handing over of something that is no stream.
    #[error("zero copy, sendfile and throwing away unread are for streams: an exchange reads and writes its messages")]
    PathsAreStreams,
    /// A way of handing over of datagrams.
    #[error("zero copy, sendfile and throwing away unread are for tcp. For udp there is segmentation offload")]
    PathsAreTcp,
    /// A batch on a stream.
    #[error("{carrier} joins messages by itself: batches are for udp")]
    BatchesAreDatagrams {
        /// The carrier.
        carrier: Carrier,
    },
    /// A batch where each message asks for a reply.
    #[error(
        "messages that ask for a reply leave alone, and with --reply-every 1 all do: raise --reply-every for batches"
    )]
    NothingToBatch,
    /// A batch too small or too large.
    #[error("{messages} messages of {bytes} are no batch: from 2 to {most} fit one call")]
    Batch {
        /// Messages of a batch, as asked for.
        messages: u32,
        /// The most that fit.
        most: u32,
        /// The size of the largest.
        bytes: Bytes,
    },
    /// A reply's size asked of a carrier whose answers are bare.
    #[error("a probe's answer is a bare segment: leave --response-size away")]
    ProbesGetNoPayload,
    /// Concurrent handshakes on one thread.
    #[error("handshakes are made one at a time a connection: raise --connections instead of --window")]
    OneHandshakeAtATime,
}

fn size_reason(carrier: Carrier) -> &'static str {
    match carrier {
        Carrier::Udp => " (the header with token and sequence takes 32; one datagram carries 65507 at most)",
        Carrier::Icmp => " (8 tell our replies from others')",
        Carrier::TcpSyn => " (one segment is one packet)",
        Carrier::Tcp | Carrier::TcpConnect => "",
    }
}
