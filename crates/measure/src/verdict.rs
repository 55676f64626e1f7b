//! Typed warnings that qualify a result, each with the figures on which it rests.
//!
//! [`judge`] decides when one is due, by the numbers of [`threshold`]. Not here: their text and advice
//! (`report::words::warning`), and errors, which leave no result to qualify.

pub mod judge;
mod kind;
pub mod lost;
pub mod order;
pub mod refused;
pub mod threshold;

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::method::{BatchBy, Carrier};
use crate::outcome::change::Change;
use crate::outcome::dark::Dark;
use crate::outcome::periodic::Periodic;
use crate::outcome::stalls::Stalls;
use crate::throughput::change::RateChange;
use crate::throughput::silence::Silence;
use crate::unit::{Bytes, Nanos};
use crate::wire::finding::Subject;
use lost::LeavesBy;
use refused::RefusedBy;

/// Records of before did not tell: their words took it for shown.
fn is_shown() -> bool {
    true
}

/// Something that qualifies a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Warning {
    /// No target was given: the peer is a reflector in this very process, over loopback.
    OwnReflector,
    /// The peer was asked at an address of this very host: the traffic crossed no network, unless a tunnel or a proxy listens there.
    SameHost {
        /// The address it was asked at.
        address: IpAddr,
        /// True where it is shown that the peer is this host: a kernel answered, or the peer's facts are those of this host.
        #[serde(default = "is_shown")]
        shown: bool,
    },
    /// The peer was asked at an address of this very host, and says that it is another: a tunnel or a proxy stands between, or a container.
    CarriedOn {
        /// The address it was asked at.
        address: IpAddr,
        /// The first fact in which the two differ, as this host has it: its name, or else its kernel, machine or CPU.
        ours: String,
        /// The same as the peer has it.
        theirs: String,
    },
    /// The handshake is answered by the peer's kernel, or by a box before it: no application was asked.
    HandshakeIsNotTheApplication,
    /// Most answers were resets: a closed port was timed, and a box on the way may have answered in the host's place.
    ResetsTimed {
        /// Answers that were resets, a count.
        resets: u64,
        /// Answers in all, a count.
        answers: u64,
        /// True where the resets are known to come from another hop than the host.
        another_hop: bool,
        /// True where they were compared with the answers of a port on which the host accepts connections.
        compared: bool,
    },
    /// Between requests both ends were idle for so long that the wake-up is part of the round trip.
    IdleBetween {
        /// From one request to the next, nanoseconds.
        interval_ns: Nanos,
        /// The median round trip, nanoseconds; absent where there were too few to print it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        median_ns: Option<Nanos>,
        /// Part of it in which both ends woke up, by kernel timestamps: median, nanoseconds; absent where they do not show it.
        waking_ns: Option<Nanos>,
    },
    /// Several requests were outstanding, so the rate says nothing of how long one takes.
    RateIsNotRoundTrip {
        /// Mean number of outstanding requests.
        outstanding: f64,
        /// The time that one over the rate would make, nanoseconds.
        reciprocal_ns: Nanos,
        /// The mean round trip, nanoseconds.
        mean_ns: f64,
    },
    /// The program printed half of each round trip under the name of latency.
    HalfRoundTrip,
    /// Long round trips make the mean.
    MeanMisleads {
        /// The mean, nanoseconds.
        mean_ns: f64,
        /// The median, nanoseconds.
        median_ns: Nanos,
    },
    /// Stalls hold much of the time of a closed loop back to back.
    Stalled {
        /// Their count, length and share of the time.
        stalls: Stalls,
        /// Answers in all, a count.
        answered: u64,
    },
    /// A periodic delay fits the schedule's own period: an even schedule meets it at the same places each time.
    Rhythm {
        /// After how many requests it comes back.
        lag: u32,
        /// The same as time, nanoseconds; the rhythm itself may be a whole part of it.
        period_ns: Nanos,
        /// Correlation of ranks at that distance, -1 to 1.
        correlation: f64,
    },
    /// Long times come back at even distances in time.
    Periodic {
        /// Their period, length and number.
        periodic: Periodic,
        /// True where the loop was closed, and so met each of them once, however long it lasted.
        closed: bool,
    },
    /// For a part of the run exchanges took another time than for the rest.
    Changed {
        /// Its beginning and end, and both levels.
        change: Change,
    },
    /// One stream kept one CPU of an end busy where that end has more: another stream might have had more through.
    OneStreamOneCpu {
        /// The end: `our` or `the peer's`.
        end: String,
        /// Number of CPUs on which that end may run.
        cpus: u32,
    },
    /// Times grew while fewer requests were answered in time than were offered, and others late: they wait in a queue.
    Overtaken {
        /// Requests a second by the schedule.
        offered_per_s: f64,
        /// Requests a second that were answered in time.
        answered_per_s: f64,
    },
    /// The rate of a stream has two levels, one after the other.
    RateChanged {
        /// Both, and the time of the change.
        change: RateChange,
    },
    /// The rate of a stream counts its start, in which it was slower.
    StartIncluded {
        /// From its start until it was steady, nanoseconds.
        steady_after_ns: Nanos,
        /// Share of the steady rate by which the whole lies below it, 0 to 1.
        share: f64,
    },
    /// For a part of the time the receiver of a stream got nothing.
    Silent {
        /// Its intervals.
        silence: Silence,
    },
    /// A stream was too short to tell whether it was steady.
    TooShort {
        /// Whole intervals of the stream, a count.
        intervals: u64,
        /// Whole intervals needed, a count.
        needed: u64,
    },
    /// The clock is coarse compared with the round trip.
    CoarseClock {
        /// Its smallest step, nanoseconds.
        step_ns: Option<Nanos>,
        /// Duration of one reading, nanoseconds.
        read_ns: Option<Nanos>,
        /// The median round trip, nanoseconds.
        median_ns: Nanos,
    },
    /// The kernel keeps time by a clock that is slow or coarse to read.
    SlowClockSource {
        /// Its name.
        source: String,
        /// The end: `our` or `the peer's`.
        end: String,
    },
    /// A control group kept an end from running.
    Throttled {
        /// The end: `our` or `the peer's`.
        end: String,
        /// For how long, nanoseconds, all its CPUs together.
        throttled_ns: Nanos,
        /// In how long a time, nanoseconds.
        watched_ns: Nanos,
    },
    /// Replies of a program came in parts, with a pause between them as long as this host delays an acknowledgement.
    HeldReplies {
        /// Such replies, a count.
        count: u64,
        /// Replies in all, a count.
        replies: u64,
        /// Their mean pause, nanoseconds.
        pause_ns: Nanos,
    },
    /// Small messages, several on the way at a time, wait for each other's acknowledgement.
    Nagle {
        /// Size of the smallest request, bytes.
        request_bytes: Bytes,
        /// Size of a whole segment, bytes.
        segment_bytes: Bytes,
    },
    /// A message is longer than a packet of the path, so it is many packets.
    Fragmented {
        /// Size of the largest message, bytes of payload.
        message_bytes: Bytes,
        /// Largest packet, bytes of IP.
        mtu_bytes: Bytes,
        /// Number of packets of that message.
        fragments: u64,
        /// The longest message that is one packet, bytes of payload.
        whole_bytes: Bytes,
    },
    /// TCP gives its window up during each pause, and a message is more than it may send at once then.
    IdleRestart {
        /// The end that sends it: `our` or `the peer's`.
        end: String,
        /// Size of the message, bytes.
        message_bytes: Bytes,
        /// The least that TCP sends before the first acknowledgement, bytes.
        window_bytes: Bytes,
        /// The pause, nanoseconds.
        interval_ns: Nanos,
    },
    /// A quantile asked for needs more answers than there are.
    TooFewForQuantile {
        /// The quantile, 0 to 1.
        q: f64,
        /// Answers it takes to print it.
        needed: u64,
        /// Answers seen.
        seen: u64,
        /// Run length at the present rate that would give them, nanoseconds.
        run_for_ns: Option<Nanos>,
    },
    /// Consecutive values resemble each other so much that the sample tells less than its size.
    Correlated {
        /// Values.
        count: u64,
        /// Independent values worth as much.
        effective: f64,
    },
    /// The stated rate was not offered.
    RateNotAchieved {
        /// Requests a second due.
        offered_per_s: f64,
        /// Requests a second sent.
        sent_per_s: f64,
        /// True where the window's cap held requests back (the peer's side), rather than our own pacing.
        held_back_by_window: bool,
        /// True where a socket that accepted no more data held them back (the path's side, or the peer's).
        held_back_by_socket: bool,
        /// True where the cap is inherent: each connection makes one handshake after the other. Absent: it is not.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        in_turn: bool,
    },
    /// Requests were sent behind schedule by our own side.
    BehindSchedule {
        /// Share of requests, 0 to 1.
        share: f64,
    },
    /// Ticks of a closed loop passed while replies were outstanding.
    TicksMissed {
        /// Missed ticks, a count.
        count: u64,
        /// Ticks in all, those at which a request left included, a count.
        due: u64,
    },
    /// For a part of the time nothing came back at all.
    Dark {
        /// Its beginning and its extent.
        dark: Dark,
    },
    /// No request with a message of this size was answered, while smaller packets to the same host were: those of the connection that it was
    /// agreed on, or that carried it.
    SizeUnanswered {
        /// Size of the largest message, bytes of payload.
        message_bytes: Bytes,
        /// The number of requests that were sent.
        sent: u64,
    },
    /// Requests were lost.
    Lost {
        /// Lost requests, late ones included, a count.
        count: u64,
        /// Requests sent, a count.
        sent: u64,
        /// Messages that our own sockets had no room for, warm-up included; absent where there were none, or it is not
        /// known.
        dropped_by_us: Option<u64>,
        /// Messages that the peer's sockets had no room for, warm-up included; absent where there were none, or it is
        /// not known, and for loads, which report it with the losses on the way there.
        #[serde(default)]
        dropped_by_peer: Option<u64>,
        /// Those of them whose reply came after the timeout, a count.
        #[serde(default, skip_serializing_if = "crate::event::is_zero")]
        late: u64,
        /// Mechanism that decides how many messages are on the way at once.
        leaves_by: LeavesBy,
        /// The share of the run's time, from 0 to 1, that passed in waiting for them, where each held up the next one; absent below a hundredth.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waited_share: Option<f64>,
        /// Segments of TCP that were sent again and that the peer's kernel had not acknowledged at the end, a count.
        #[serde(default, skip_serializing_if = "crate::event::is_zero")]
        unacknowledged: u64,
    },
    /// About as many messages came that answer no request as requests were lost, none of which was answered late: replies may be altered on the way.
    Altered {
        /// Messages that answer no request, a count.
        strays: u64,
        /// Requests whose reply did not come, a count.
        lost: u64,
    },
    /// Requests were answered by something that is no reply to them.
    Corrupt {
        /// Such requests, a count.
        count: u64,
        /// Requests sent, a count.
        sent: u64,
        /// The first such answer and the reason, in words; absent where it was not kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seen: Option<String>,
    },
    /// A program at work sent replies that nobody asked for, over a connection on which replies without numbers answer by their order; or many
    /// datagrams came that answer no request.
    Unasked {
        /// Such replies, a count.
        count: u64,
        /// True where they were datagrams, which anybody may send.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        over_udp: bool,
    },
    /// Messages of a load were lost on the way there.
    LostOnTheWay {
        /// Messages lost on the way there, a count.
        count: u64,
        /// Messages sent, those that asked for no reply included, a count.
        sent: u64,
        /// Messages that the peer's host had no room for in its receive buffers; absent where there were none, or it is
        /// not known.
        dropped_by_peer: Option<u64>,
    },
    /// Packets whose checksum is wrong came to a host, whose kernel drops them: they were damaged on the way.
    Damaged {
        /// Those that this host's kernel counted, a count.
        here: u64,
        /// Those that the peer's did, a count; absent where it did not tell.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        peer: Option<u64>,
    },
    /// Messages reached the peer from another address or port than their flow began with: a box on the way gave the flow another. They stay
    /// unanswered.
    Rebound {
        /// Such messages, a count.
        count: u64,
        /// Messages sent, a count; absent for a stream.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sent: Option<u64>,
    },
    /// TCP sent segments again: they or their acknowledgements were lost, or came later than TCP's timeout. Data that
    /// waited for one counts as answered.
    Retransmitted {
        /// Segments sent again by this host's sockets, a count; warm-up included.
        segments: u64,
        /// Part of these segments that the peer had already, a count: it answered late, or its answer was lost. Absent
        /// where there were none, or it is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        had_already: Option<u64>,
        /// Requests, and messages without a reply, sent, a count.
        requests: u64,
    },
    /// Requests were refused: answered by a reset or an ICMP error instead of a reply.
    Refused {
        /// Refused requests, a count.
        count: u64,
        /// Requests sent, a count.
        sent: u64,
        /// Protocol that carried them.
        carrier: Carrier,
        /// Where the refusals came from, as far as that can be told from here.
        by: RefusedBy,
    },
    /// Messages could not be sent by our own side.
    SendFailed {
        /// Messages not sent, a count.
        count: u64,
    },
    /// The machine at one end was disturbed while it measured.
    Disturbed {
        /// The end: `our` or `the peer's`.
        end: String,
        /// Disturbances with their sizes, as `run-queue delay 4.2 %`.
        by: Vec<String>,
        /// Share of the time for which the measurement is known to have waited for a CPU there, 0 to 1; absent where no such time was read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waited_share: Option<f64>,
        /// Other findings of this result that a busy host brings about by itself, so that the network is not shown to be the cause: kinds of
        /// warnings, and `groups` of flows. Not those that are far larger than this host's waits.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        spoils: Vec<String>,
    },
    /// The run did not settle.
    NotSteady {
        /// Median of the last third minus that of the first, nanoseconds, where it drifted.
        shift_ns: Option<i64>,
    },
    /// The monotonic clock stepped back.
    ClockStepped {
        /// Steps back, a count.
        count: u64,
    },
    /// The system clock stepped, so kernel stamps could not be placed.
    SystemClockStepped,
    /// ICMP is answered by the peer's kernel and may take another path.
    IcmpIsNotTheApplication,
    /// A frequency governor saves power.
    PowerSavingGovernor {
        /// Its name.
        governor: String,
        /// The end: `our` or `the peer's`.
        end: String,
        /// True where it keeps CPUs at their lowest frequency even when they are busy.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        lowest: bool,
    },
    /// Both ends share one CPU, or there is but one.
    OneCpu,
    /// The quantile that was to settle did not.
    NotSettled {
        /// The quantile, 0 to 1.
        q: f64,
        /// Half-width of its interval at the end, the wider side, as a share of its value; absent where it has no interval.
        reached: Option<f64>,
    },
    /// The run was ended early.
    Interrupted,
    /// A peer stopped in the middle; the result covers the time before.
    PeerLost {
        /// Description of the event.
        reason: String,
    },
    /// The peer did not report at the end: its counts and its machine's facts are missing.
    NoReport {
        /// Reason, in words.
        reason: String,
    },
    /// Threads of the server waited because of a bound that its owner has set: the result is that bound, not the network.
    ServerLimited {
        /// Time that threads waited, all together, nanoseconds.
        waited_ns: Nanos,
    },
    /// A socket got less than was asked.
    GotLess {
        /// Name of the option.
        option: String,
        /// Requested value.
        asked: String,
        /// Value in effect.
        got: String,
    },
    /// Messages were to leave many at once, and the kernel refused.
    NotBatched {
        /// Requested way of sending.
        asked: BatchBy,
        /// Words of the kernel's refusal.
        reason: String,
    },
    /// Samples are missing from the file because it could not be written fast enough, or at all.
    SamplesIncomplete {
        /// Missing samples, a count.
        missing: u64,
        /// Reason; absent where it is not known.
        reason: Option<String>,
    },
    /// Our counts contradict the traffic of the interface.
    WireContradicts {
        /// Quantity that was compared, which is also the unit of both numbers.
        subject: Subject,
        /// Our count, in the subject's unit.
        counted: u64,
        /// Count at the interface, in the subject's unit.
        seen: u64,
        /// Name of the interface.
        interface: String,
        /// Possible explanation; absent where there is none.
        reason: Option<String>,
    },
    /// Kernel timestamps could not be had.
    NoStamps {
        /// Reason, in words.
        reason: String,
    },
}
