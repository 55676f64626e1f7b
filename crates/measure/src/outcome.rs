//! Results of a measurement, as numbers that are ready to be kept, printed and compared.
//!
//! Made from a [`crate::recorder::Recording`] by [`crate::statistics`]. Every field is data; warnings are in
//! [`crate::verdict`].

pub mod change;
pub mod dark;
pub mod flows;
pub mod hops;
pub mod one_way;
pub mod periodic;
pub mod replies;
pub mod stalls;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::{Counts, Second};
use crate::method::{BatchBy, LoopKind};
use crate::unit::{Bytes, Nanos};
use change::Change;
use dark::Dark;
use flows::Flows;
use hops::Hops;
use one_way::OneWay;
use periodic::Periodic;
use replies::Replies;
use stalls::Stalls;

/// Result of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outcome {
    /// Open or closed loop.
    pub loop_kind: LoopKind,
    /// From the start of recording to its end, nanoseconds.
    pub elapsed_ns: Nanos,
    /// Requests by status, and the counts beside.
    pub counts: Counts,
    /// Requests a second that the schedule asks for, one-way messages of a load included; absent back to back.
    pub offered_per_s: Option<f64>,
    /// Requests a second that were sent, one-way messages included; of an open loop while it was sending, not while it
    /// waited for the last replies.
    pub sent_per_s: Option<f64>,
    /// For a load: messages a second that the peer received, over the same time; absent where the peer did not report its counts.
    pub received_per_s: Option<f64>,
    /// Requests a second that were answered in time, over the same time.
    pub answered_per_s: Option<f64>,
    /// Duration of the very first exchange, before the warm-up, in nanoseconds; in no distribution.
    pub first_ns: Option<Nanos>,
    /// Response times: from the intended instant in an open loop, from the send in a closed one.
    pub response: Distribution,
    /// Service times, from the send; open loops only.
    pub service: Option<Distribution>,
    /// Send instant minus intended instant; open loops only.
    pub slip: Option<Slip>,
    /// Quantiles over all that was sent and not refused, a request without a timely and sound answer ranking above every answer; only
    /// where there are such, and without quantiles that too few lie beyond.
    pub of_sent: Option<Vec<OfSent>>,
    /// Quantiles as an arrival at a random moment would see them, each answer weighted by its own length; closed loops
    /// back to back only, and without quantiles that too few answers lie beyond.
    pub time_weighted: Option<Vec<OfSent>>,
    /// Stalls that hold much of the time, more than percentiles show; closed loops back to back only, absent where there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalls: Option<Stalls>,
    /// Variation from one round trip to the next, by name.
    pub jitter: Option<Jitter>,
    /// Losses: their ratio, its interval, their runs.
    pub loss: Loss,
    /// The time in which nothing came back; absent where there was none that chance does not explain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dark: Option<Dark>,
    /// Reordered replies by their extent (RFC 4737 section 4.2): element k counts those that came 2^k to 2^(k+1)-1 replies
    /// after the earliest one that overtook them.
    pub reorder_extents: Vec<u64>,
    /// Result of the search for a steady state of the run.
    pub steady: Steady,
    /// After how many requests response times come back in step with a schedule of even distances; absent where they do not,
    /// or where it cannot be told (fewer than 400, several threads, thinned).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rhythm: Option<Rhythm>,
    /// Long times that come back at even distances in time; absent where there were none that chance does not explain, and where it
    /// cannot be told (thinned: more than a million answers).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub periodic: Option<Periodic>,
    /// A part of the run at another level; absent where there was none, or it cannot be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
    /// The seconds, all threads together.
    pub seconds: Vec<Second>,
    /// Distribution of the response times of each stretch of the run; absent where none were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stretches: Option<Stretches>,
    /// Where the time went, from kernel timestamps.
    pub split: Option<Split>,
    /// Both directions apart, and how far the clocks differ; only where the far side told its own times with each answer.
    pub one_way: Option<OneWay>,
    /// Settings and counts of each connection's socket, as the kernel reported them.
    pub sockets: Vec<SocketFacts>,
    /// The connections apart; absent of one alone, and where the engine does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Flows>,
    /// The hops of some of their paths; absent where none were traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hops: Option<Hops>,
    /// Replies of a program at work; absent where another one was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replies: Option<Replies>,
}

/// Response times of the run stretch by stretch, coarsely. They can be added up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stretches {
    /// Seconds that each stretch holds, a count; the last may hold fewer. More than one only in runs of more than 512.
    pub seconds: u32,
    /// Answered exchanges that each value stands for: 1, or more where a long run was thinned.
    pub stride: u64,
    /// For each stretch the response times kept of it: `HdrHistogram` V2 encoding, base64, values in nanoseconds, one significant
    /// digit (16 counters for each doubling); empty where nothing was answered.
    pub histograms: Vec<String>,
}

/// A distribution of times in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Distribution {
    /// Number of values.
    pub count: u64,
    /// Shortest, nanoseconds.
    pub min_ns: Option<Nanos>,
    /// Longest, nanoseconds. A statistic of `count`, not of the network.
    pub max_ns: Option<Nanos>,
    /// Mean, nanoseconds.
    pub mean_ns: Option<f64>,
    /// Half the width of the mean's 95 % interval, nanoseconds, computed with the effective sample size.
    pub mean_ci_ns: Option<f64>,
    /// Sample standard deviation (n - 1), nanoseconds.
    pub stddev_ns: Option<f64>,
    /// Median absolute deviation from the median, unscaled, nanoseconds.
    pub mad_ns: Option<f64>,
    /// Quantiles from p50 to p99.999, nearest rank.
    pub quantiles: Vec<Quantile>,
    /// Number of independent values that would fix the mean as well as these correlated ones, at most `examined`; absent
    /// where the series is too short or constant.
    pub effective_sample_size: Option<f64>,
    /// Values of the series in order of time that correlation and intervals were computed from: all, or of more than a
    /// million an even thinning. Then the effective sample size is a lower bound.
    pub examined: Option<u64>,
    /// Correlation of one value with the next, -1 to 1; absent where the series was thinned.
    pub autocorrelation: Option<f64>,
    /// True where quantiles are exact; otherwise they have three significant digits.
    pub exact: bool,
    /// Values beyond the histogram's range of one hour, held at its end.
    pub saturated: u64,
    /// The histogram: `HdrHistogram` V2 encoding, base64, values in nanoseconds.
    pub histogram: String,
}

/// A quantile and how far it can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quantile {
    /// The quantile, 0 to 1: 0.99 for p99.
    pub q: f64,
    /// Its value by nearest rank, nanoseconds; absent where there are no values.
    pub value_ns: Option<Nanos>,
    /// Lower end of its 95 % interval, nanoseconds.
    pub low_ns: Option<Nanos>,
    /// Upper end of its 95 % interval, nanoseconds; absent where the sample has none.
    pub high_ns: Option<Nanos>,
    /// Values beyond it.
    pub beyond: u64,
    /// Reliability of the value, which decides whether it is printed.
    pub standing: Standing,
}

impl Quantile {
    /// Returns the greater distance from its value to an end of its interval, as a share of the value: 0.05 for ±5 %.
    /// `None` where an end is missing, or the value is 0.
    pub fn half_width(&self) -> Option<f64> {
        let (Nanos(low), Nanos(value), Nanos(high)) = (self.low_ns?, self.value_ns?, self.high_ns?);
        let widest = value.saturating_sub(low).max(high.saturating_sub(value));
        (value > 0).then(|| widest as f64 / value as f64)
    }
}

/// The printing rule: a quantile is firm with 100 values beyond it, rough with 10, not printed with fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// At least 100 values lie beyond.
    Firm,
    /// 10 to 99 lie beyond: printed with a `~`.
    Rough,
    /// Fewer than 10 lie beyond: not printed.
    TooFew,
}

/// A quantile over more than the answered.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OfSent {
    /// The quantile, 0 to 1: 0.99 for p99.
    pub q: f64,
    /// Its value, nanoseconds; absent where it falls among the unanswered: longer than the timeout.
    pub value_ns: Option<Nanos>,
}

/// Lag of the generator behind its schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Slip {
    /// Send instant minus intended instant.
    pub distribution: Distribution,
    /// Share of requests sent later than an interval (at least 1 us) behind, 0 to 1.
    pub behind_share: f64,
    /// True where the stated rate was offered: the messages sent are within 1 % of those due.
    pub rate_achieved: bool,
    /// Time for which the cap on outstanding requests held back due messages, nanoseconds, mean over threads; only of
    /// loads, and of new connections, each of which waits for the one before.
    pub held_by_cap_ns: Option<Nanos>,
    /// Time for which a socket without room held back due messages, nanoseconds, mean over threads; of loads, and
    /// elsewhere where there was such a time.
    pub held_by_socket_ns: Option<Nanos>,
}

/// Jitter is not one number: each has its name. All of round trips from the send, in nanoseconds. A quantile is absent
/// where fewer than 10 values lie beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Jitter {
    /// Median of |difference of consecutive round trips| (RFC 3393, RFC 5481 section 4.1).
    pub rtt_ipdv_p50_ns: Option<Nanos>,
    /// Its 95th percentile.
    pub rtt_ipdv_p95_ns: Option<Nanos>,
    /// Its 99th percentile.
    pub rtt_ipdv_p99_ns: Option<Nanos>,
    /// 95th percentile of round trip minus the shortest (RFC 5481 section 4.2).
    pub rtt_pdv_p95_ns: Option<Nanos>,
    /// 99th percentile of round trip minus the shortest.
    pub rtt_pdv_p99_ns: Option<Nanos>,
    /// 99.9th percentile of round trip minus the shortest.
    pub rtt_pdv_p999_ns: Option<Nanos>,
    /// Smoothed |difference|, 1/16 each, at the end of the run (RFC 3550 section 6.4.1, of round trips); mean over threads.
    pub rtt_rfc3550_ns: f64,
    /// Population standard deviation, as ping's mdev. Not jitter; for comparison.
    pub mdev_ns: f64,
}

/// Losses of a run. Ratios are of the sent, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Loss {
    /// Lost (late included) over sent, 0 to 1; absent where nothing was sent.
    pub ratio: Option<f64>,
    /// Lower end of its 95 % interval (Wilson), 0 to 1.
    pub low: Option<f64>,
    /// Upper end of its 95 % interval (Wilson; 3/n where none was lost), 0 to 1.
    pub high: Option<f64>,
    /// Runs of consecutive losses (RFC 3357).
    pub periods: u64,
    /// The longest of them, requests.
    pub longest_period: u64,
    /// Recorded requests the peer received; those missing from the sent ones were lost on the way there. Only from a
    /// reflector of ours or a session-reflector of STAMP that numbers its answers, and only where it can tell them from
    /// those of the warm-up.
    pub peer_received: Option<u64>,
    /// Recorded requests the peer replied to; as `peer_received`.
    pub peer_replied: Option<u64>,
    /// Arrivals that the peer's kernel dropped at the sockets of its datagrams, warm-up included: a receive buffer was full,
    /// or a checksum wrong. Messages that came in one buffer (`UDP_SEGMENT`) count as one. Absent where the peer did not tell.
    pub peer_dropped: Option<u64>,
    /// Messages that reached the peer from another address or port than their flow began with, warm-up and copies included: a box on the way gave
    /// the flow another. They were not answered and are not in `peer_received`. Absent where there were none, or the peer did not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_elsewhere: Option<u64>,
    /// Messages lost on the way there: sent less received and `peer_elsewhere`, copies that the path made not counted. Absent where the peer did not
    /// tell its counts, or told them with copies and the path made some.
    pub forward: Option<i64>,
    /// Replies lost on the way back: replies the peer sent less those that came, late ones included. Likewise.
    pub reverse: Option<i64>,
}

/// Result of the search for a steady state.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Steady {
    /// Settled; so many answers at its start differ from the rest (MSER-5), which stay in all numbers.
    Settled {
        /// Answers before the steady part.
        transient: u64,
    },
    /// The end of the run differs from its start.
    Drifting {
        /// Median of the last third minus median of the first, in nanoseconds.
        shift_ns: i64,
    },
    /// No steady part was found.
    NotFound,
    /// Too few answers to tell.
    TooShort,
}

/// Where the time of a round trip went, medians over the stamped exchanges, nanoseconds. A part is absent where the
/// kernel or the peer gave no stamp for it. The sum of medians need not be the median of sums: both stand here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Split {
    /// Exchanges that were stamped whole.
    pub samples: u64,
    /// Application's send call to the packet scheduler.
    pub send_to_sched_ns: Option<Nanos>,
    /// Packet scheduler to the driver.
    pub sched_to_driver_ns: Option<Nanos>,
    /// Driver to receive stamp, all that lies outside this host.
    pub outside_ns: Option<Nanos>,
    /// Receive stamp to the application: our wake-up.
    pub wake_up_ns: Option<Nanos>,
    /// The path both ways, the peer's host taken out (exact: one-way errors cancel in the sum).
    pub path_ns: Option<Nanos>,
    /// The peer from its receive stamp to its driver.
    pub peer_ns: Option<Nanos>,
    /// Part of `peer_ns`: receive stamp to the peer's application, its wake-up.
    pub peer_wake_up_ns: Option<Nanos>,
    /// Part of `peer_ns`: the peer's application, from receive to send.
    pub peer_hold_ns: Option<Nanos>,
    /// Part of `peer_ns`: the peer's send call to its driver.
    pub peer_send_ns: Option<Nanos>,
    /// Round trip of the stamped exchanges as the application saw it.
    pub round_trip_ns: Option<Nanos>,
    /// Round trip of all exchanges, for comparison: a difference is the cost of stamping.
    pub round_trip_unstamped_ns: Option<Nanos>,
    /// Time stamps the kernel refused or did not deliver, by name.
    pub missing: Vec<String>,
    /// True where the split was given up because the system clock stepped during the run.
    pub clock_stepped: bool,
    /// The same of the slowest tenth of these exchanges, whose time may have gone elsewhere; absent of fewer than 50, and where some of that
    /// tenth took less than twice the median of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowest: Option<Box<Split>>,
}

/// Use of the parts of stamped round trips for what is known of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bearing {
    /// They are those of all.
    Same,
    /// Stamping made the round trips longer: a part of all is at most what it is of them.
    AtMost,
    /// There are too few, or stamping made them longer by too much.
    Unknown,
}

impl Split {
    /// Use of its parts for all round trips, by [`LEAST_STAMPED`], [`DEARER`] and [`FAR_DEARER`].
    pub fn bearing(&self) -> Bearing {
        let ratio = |(stamped, all): (Nanos, Nanos)| stamped.0 as f64 / all.0.max(1) as f64;
        let ratio = self.round_trip_ns.zip(self.round_trip_unstamped_ns).map_or(1.0, ratio);
        match ratio {
            _ if self.samples < LEAST_STAMPED || ratio > FAR_DEARER => Bearing::Unknown,
            _ if ratio > DEARER => Bearing::AtMost,
            _ => Bearing::Same,
        }
    }
}

/// Fewest stamped round trips whose medians are reported: of fewer the median moves by more than [`DEARER`] on a busy host.
pub const LEAST_STAMPED: u64 = 10;
/// Highest ratio of the median of the stamped round trips to that of all, up to which their parts are those of all.
pub const DEARER: f64 = 1.1;
/// The same, up to which they are reported at all.
pub const FAR_DEARER: f64 = 1.5;

/// Settings and counts of a socket, read back from the kernel after it was connected.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SocketFacts {
    /// Our address and port.
    pub local: String,
    /// The next hop of packets that leave the socket, as address and interface, by this host's routing table; absent for a single
    /// connection, and where the table could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_hop: Option<String>,
    /// The flow label of its packets, a number without unit, which follows from the port; absent over IPv4, and where the system draws one
    /// for each connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow_label: Option<u32>,
    /// The peer's address and port.
    pub remote: String,
    /// Send buffer, bytes, as the kernel counts it.
    pub send_buffer_bytes: Option<Bytes>,
    /// Receive buffer, bytes, as the kernel counts it.
    pub receive_buffer_bytes: Option<Bytes>,
    /// True where `TCP_NODELAY` is set.
    pub nodelay: Option<bool>,
    /// TCP congestion control.
    pub congestion: Option<String>,
    /// TCP maximum segment size, bytes.
    pub mss_bytes: Option<Bytes>,
    /// True where both ends agreed on window scaling (RFC 7323), without which a window ends at 65,535 bytes; absent without TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_scaling: Option<bool>,
    /// True where both ends agreed on selective acknowledgements (RFC 2018), without which each further segment that is lost in a round trip takes
    /// another to find; absent without TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selective_acks: Option<bool>,
    /// Path MTU known to the kernel, bytes.
    pub path_mtu_bytes: Option<Bytes>,
    /// Type-of-service octet.
    pub tos: Option<u8>,
    /// Messages that came for this socket, warm-up included, and were dropped by our own kernel: its receive buffer was
    /// full, or a checksum wrong. Datagrams only.
    pub dropped: Option<u64>,
    /// Segments TCP sent again; 0 where those were of its handshake alone.
    pub retransmitted: Option<u64>,
    /// Segments of TCP that the peer's kernel had not acknowledged at the end, a count; absent where it had acknowledged all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unacknowledged: Option<u64>,
    /// Segments that the peer had already when they came again, as its kernel said (DSACK, RFC 2883); absent where the kernel does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub had_already: Option<u64>,
    /// TCP's smoothed round trip at the end, nanoseconds. Includes the peer's delayed acknowledgements: no latency.
    pub kernel_smoothed_rtt_ns: Option<Nanos>,
    /// The smallest round trip TCP saw, nanoseconds.
    pub kernel_min_rtt_ns: Option<Nanos>,
    /// Kind of socket that carried ICMP: `ping` (unprivileged) or `raw`.
    pub icmp_socket: Option<String>,
    /// ICMP errors that came in place of replies, warm-up included, a count of each by its text, behind which stands the sender where it is another
    /// than the peer; absent: none, or nobody looked.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub icmp_errors: BTreeMap<String, u64>,
    /// Batches of one-way messages, warm-up included; absent where none were requested.
    pub batched: Option<Batched>,
}

/// Batches in which one-way messages left a socket: as requested, and as sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Batched {
    /// Requested kind of batch.
    pub asked: BatchBy,
    /// Kind of batch in use; absent: one message a call, because the kernel refused the request.
    pub got: Option<BatchBy>,
    /// Words of the kernel's refusal; the messages before it left as requested, those from there on one a call. An invalid
    /// argument or a message too long: a message is longer than the packets of the path, or the kernel too old; an
    /// input/output error: a device on the path computes no checksums.
    pub refused: Option<String>,
    /// Calls that handed over such messages, a count.
    pub calls: u64,
    /// Messages they handed over, a count.
    pub messages: u64,
    /// Calls that left a part of their messages unsent, because there was no room or an error came, a count.
    pub cut_short: u64,
}

/// A rhythm of a series.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rhythm {
    /// Its distance, a number of requests.
    pub lag: u32,
    /// Correlation of ranks at that distance, -1 to 1.
    pub correlation: f64,
}
