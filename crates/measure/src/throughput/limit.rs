//! Limit of a stream's rate and its cause, as far as observations show them.
//!
//! Looked at in the order in which one cause hides the next. First those at the ends (`ends`): the rate that was asked for, a sending host
//! that does not send what it is handed (which keeps a processor busy trying), a shaper of it that is full, a processor (an end that cannot
//! keep up fills the other end's window and loses data that it cannot take), an interface of the sending host that drops, a silence of the
//! path, a window. Only then the path's rate (`path`): a path is never named for an effect that the stream alone met, unless its round trips
//! grew while nobody waited for a processor; it is told apart by moving the rate ([`moved`]). Where nothing shows a cause it is not determined,
//! and that is said.

mod ends;
pub mod moved;
mod path;
pub mod reason;

use serde::{Deserialize, Serialize};

use crate::environment::Shaper;
use crate::throughput::limit::ends::SPARE;
use crate::throughput::limit::moved::Moved;
use crate::throughput::limit::reason::{End, Reason, Untried};
use crate::throughput::silence::Silence;
use crate::unit::{Bytes, Nanos};

/// Observations from which the limit is judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// The streams' time; absent where it is not known.
    pub elapsed: Option<Nanos>,
    /// Bytes per second that were asked for, all streams together; absent: as many as go.
    pub asked_bytes_per_s: Option<f64>,
    /// Bytes per second that the sending program handed to its kernel.
    pub sent_bytes_per_s: Option<f64>,
    /// Bytes per second that the receiving program had.
    pub received_bytes_per_s: Option<f64>,
    /// Bytes per second that it had at the end, where its rate changed to another level; absent where it did not.
    pub later_bytes_per_s: Option<f64>,
    /// Number of streams that had them.
    pub streams: u32,
    /// The sending end.
    pub sender: EndSeen,
    /// The receiving end.
    pub receiver: EndSeen,
    /// Share of what the sending program handed over that its own host did not send, 0 to 1.
    pub not_sent: f64,
    /// The shaper of the sending host whose rate is next to the stream's.
    pub shaper: Option<ShaperSeen>,
    /// Packets that the sending host's interface dropped by its own count; absent where it counted none.
    pub drops: Option<DropsSeen>,
    /// Time in which nothing, or next to nothing, came to the receiver.
    pub silence: Option<Silence>,
    /// State of the senders' TCP, all streams together; absent for datagrams.
    pub tcp: Option<TcpSeen>,
    /// Share of the datagrams that were lost; absent of TCP.
    pub datagrams_lost: Option<f64>,
    /// Results of datagrams that were sent slower and faster, or the reason why none were.
    pub moved: Result<Moved, Untried>,
}

/// One end's processors. Shares are of the stream's time, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EndSeen {
    /// True where its threads spin while they wait: then neither share of theirs below shows anything, and both are absent.
    pub spins: bool,
    /// Share in which the busiest of the stream's threads was on a processor.
    pub busiest_thread: Option<f64>,
    /// Share in which any of them was ready to run and waited for a processor.
    pub waiting_thread: Option<f64>,
    /// Share in which the end's control group was kept from running (`cpu.max`); absent where that cannot be read.
    pub throttled: Option<f64>,
    /// Share that the busiest processor spent in soft interrupts, where the network's work is done.
    pub softirq: Option<f64>,
    /// Share of the arrivals that its kernel dropped because nobody took them.
    pub dropped: Option<f64>,
}

/// A shaper of the sending host, and what the stream took of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ShaperSeen {
    /// Name of the interface that it is of.
    pub interface: String,
    /// Its kind, and the rate that it lets through.
    pub shaper: Shaper,
    /// The stream's frames, as a share of that rate.
    pub share: f64,
}

/// Packets that an interface of the sending host dropped before they left, as where the program behind a tunnel reads too slowly.
#[derive(Clone, Debug, PartialEq)]
pub struct DropsSeen {
    /// Name of the interface.
    pub interface: String,
    /// Packets, those of other programs too.
    pub packets: u64,
    /// Segments that were sent again though they had not arrived, or datagrams that were lost.
    pub lost: u64,
}

/// State of the senders' TCP, all streams together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TcpSeen {
    /// Share of the busy time in which the receiver's window held it back, 0 to 1.
    pub window_limited: Option<f64>,
    /// Share of the busy time in which the send buffer did, 0 to 1.
    pub buffer_limited: Option<f64>,
    /// Share of the bytes that were sent again, 0 to 1.
    pub retransmitted: Option<f64>,
    /// Share of the segments sent again that had arrived already, as the receiver says of them (RFC 2883), 0 to 1.
    pub needless: Option<f64>,
    /// Share of the segments that arrived with a congestion mark, 0 to 1.
    pub marked: Option<f64>,
    /// True where the streams agreed on no window scaling: a window is 65,535 bytes at most.
    pub unscaled: bool,
    /// True where streams agreed on no selective acknowledgements.
    pub cumulative: bool,
    /// The payload of the smallest segments of a sender, with the MTU of its path as its kernel knows it.
    pub segments: Option<(Bytes, Bytes)>,
    /// The receivers' windows, of all streams together.
    pub window: Option<Bytes>,
    /// The receivers' socket buffers at the end, of all streams together.
    pub receive_buffer: Option<Bytes>,
    /// The senders' socket buffers, likewise.
    pub send_buffer: Option<Bytes>,
    /// Smoothed round trip: the middle one of those seen.
    pub rtt: Option<Nanos>,
    /// Number of looks at the round trip.
    pub rtts: usize,
    /// Smallest round trip.
    pub min_rtt: Option<Nanos>,
}

/// Limit of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Limiter {
    /// The rate that was asked for.
    Rate,
    /// The sending end's processors, or its share of them.
    SenderCpu,
    /// The receiving end's.
    ReceiverCpu,
    /// The receiver's window: its buffer is small for the round trip.
    ReceiveWindow,
    /// The sender's buffer.
    SendBuffer,
    /// The sending host itself: a shaper of its interface, a full queue, or a rule that forbids part of what is sent.
    SenderQueue,
    /// A queue on the path that is full, or kept full.
    Congestion,
    /// A rate that the path lets through without a queue.
    Policer,
    /// Losses on the path at any rate.
    Loss,
    /// Nothing that was seen shows it.
    NotDetermined,
}

/// The limit of a stream, with the evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limit {
    /// Limit of the stream.
    pub limiter: Limiter,
    /// The evidence in words with figures: put in where things are told, for readers of the record.
    pub because: Vec<String>,
    /// The evidence; absent in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Reason>,
}

/// Shares of less than this are of a few turns of the scheduler, and a start.
const SHORTEST: Nanos = Nanos::millis(200);
/// Share of bytes sent again, or of datagrams lost, below which losses explain nothing.
const LOSSES: f64 = 0.001;
/// Share of what was lost, or sent again, from which one cause accounts for it.
const MOST: f64 = 0.5;

impl Evidence {
    /// Returns true where something on the path may be the limit, so that only moving the rate tells: losses, longer
    /// round trips, or nothing at all where both ends had time to spare.
    pub fn wants_moving(&self) -> bool {
        let explained = self.by_ends();
        let spare = |end: &EndSeen| end.spins || end.busiest_thread.is_some() && end.taken() < SPARE;
        let short = self.elapsed.is_some_and(|elapsed| elapsed < SHORTEST);
        let idle = self.asked_bytes_per_s.is_none() && spare(&self.sender) && spare(&self.receiver);
        !short && explained.is_none() && (self.losses().is_some() || self.queue().is_some() || idle)
    }

    /// Returns the limit, with the evidence.
    pub fn limit(&self) -> Limit {
        if let Some(elapsed_ns) = self.elapsed.filter(|elapsed| *elapsed < SHORTEST) {
            return found(Limiter::NotDetermined, vec![Reason::ShortStream { elapsed_ns }]);
        }
        self.by_ends().unwrap_or_else(|| self.by_path())
    }

    /// The ends' threads, unremarkable or not.
    fn of_threads(&self) -> impl Iterator<Item = Reason> {
        let ends = [(End::Sender, &self.sender), (End::Receiver, &self.receiver)];
        let busiest = ends.map(|(end, seen)| Some(Reason::BusiestThread { end, share: seen.busiest_thread? }));
        let waited = ends.map(|(end, seen)| Some(Reason::LongestWait { end, share: seen.waiting_thread? }));
        busiest.into_iter().chain(waited).flatten()
    }

    /// The share of losses that the path is to explain, without what had arrived and was sent again all the same; `None`: so few that they explain
    /// nothing.
    pub fn losses(&self) -> Option<f64> {
        let again = self.tcp.and_then(|tcp| Some(tcp.retransmitted? * (1.0 - tcp.needless.unwrap_or(0.0))));
        again.or(self.datagrams_lost).filter(|share| *share >= LOSSES)
    }

    /// The share of the segments sent again that had arrived already, where so many were sent again and most of them needlessly.
    fn needless(&self) -> Option<f64> {
        let tcp = self.tcp.filter(|tcp| tcp.retransmitted.is_some_and(|share| share >= LOSSES))?;
        tcp.needless.filter(|share| *share >= MOST)
    }

    /// Returns the observations that show no limit.
    fn unremarkable(&self) -> Vec<Reason> {
        let ends = [(End::Sender, &self.sender), (End::Receiver, &self.receiver)];
        let spinning = ends.map(|(end, seen)| seen.spins.then_some(Reason::Spins { end }));
        let unread = ends.map(|(end, seen)| seen.throttled.is_none().then_some(Reason::QuotaUnread { end }));
        let again = self.tcp.and_then(|tcp| tcp.retransmitted).filter(|share| *share < LOSSES);
        let tcp = [
            self.tcp.and_then(|tcp| tcp.window_limited).map(|share| Reason::HeldByWindow { share }),
            self.tcp.and_then(|tcp| tcp.buffer_limited).map(|share| Reason::HeldBySendBuffer { share }),
            again.map(|share| Reason::FewRetransmitted { share }),
        ];
        self.of_threads().chain(spinning.into_iter().chain(unread).chain(tcp).flatten()).collect()
    }
}

fn found(limiter: Limiter, evidence: Vec<Reason>) -> Limit {
    Limit { limiter, because: Vec::new(), evidence }
}

#[cfg(test)]
mod tests;
