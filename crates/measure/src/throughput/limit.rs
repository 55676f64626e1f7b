//! Limit of a stream's rate and its cause, as far as observations show them.
//!
//! Looked at in the order in which one cause hides the next: the rate that was asked for, a sending host that does not send what it is handed
//! (which keeps a processor busy trying), a processor (an end that cannot keep up fills the other end's window and loses data that it cannot
//! take), a silence of the path, a window, a shaper of the sending host, and only then the path's rate. A path is never
//! named for an effect that the stream alone met, unless its round trips grew while nobody waited for a processor: it is told
//! apart by moving the rate ([`moved`]). Where nothing shows a cause it is not determined, and that is said.

pub mod moved;
pub mod reason;

use serde::{Deserialize, Serialize};

use crate::environment::Shaper;
use crate::throughput::limit::moved::Moved;
use crate::throughput::limit::reason::{End, Reason, Untested, Untried};
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

/// State of the senders' TCP, all streams together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TcpSeen {
    /// Share of the busy time in which the receiver's window held it back, 0 to 1.
    pub window_limited: Option<f64>,
    /// Share of the busy time in which the send buffer did, 0 to 1.
    pub buffer_limited: Option<f64>,
    /// Share of the bytes that were sent again, 0 to 1.
    pub retransmitted: Option<f64>,
    /// Share of the segments that arrived with a congestion mark, 0 to 1.
    pub marked: Option<f64>,
    /// True where the streams agreed on no window scaling: a window is 65,535 bytes at most.
    pub unscaled: bool,
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
/// Share of the requested rate that must have left for that rate to be the limit.
const REACHED: f64 = 0.97;
/// Share of its time that a thread which cannot keep up is on a processor; the rest is waking up.
const SATURATED: f64 = 0.9;
/// Share of its time that a thread waits for a processor, from which that processor causes the shortfall.
const CROWDED: f64 = 0.2;
/// Share of its time kept from running from which a control group is the limit: less is bursts that it makes up for.
const THROTTLED: f64 = 0.1;
/// Share of the time in which nothing arrived from which all that TCP counted meanwhile shows no limit.
const SILENT: f64 = 0.1;
/// Share of what was handed over and not sent from which that is the limit.
const KEPT_BACK: f64 = 0.1;
/// Share of a shaper's rate that a stream which it limits takes: above 1 for what it saved up, and for frames that are counted otherwise.
const SHAPED: std::ops::RangeInclusive<f64> = 0.9..=1.05;
/// Share of the rate of an unscaled window (a window in the shortest round trip) from which it is full, so that a sender that paces
/// itself by what came through waits for it only now and then.
const FULL: f64 = 0.85;
/// Share of the time that TCP itself says it was held back by something.
const HELD: f64 = 0.5;
/// Share of bytes sent again, or of datagrams lost, below which losses explain nothing.
const LOSSES: f64 = 0.001;
/// Delay that the stream's own round trips gain, beyond the path's own, from which a queue made it.
const QUEUE: Nanos = Nanos::millis(5);
/// Smaller growth, by itself and as a share of the shortest, from which losses may be those of a queue that the stream fills.
const OWN_QUEUE: Nanos = Nanos::millis(3);
const OWN_TIMES: f64 = 0.25;
/// Ratio of the growth of the stream's round trips to the mean wait of slower datagrams beside it, at least: a path of
/// uneven delay makes them wait too, each way half.
const EVEN: u64 = 4;
/// Likewise where both ends do next to nothing, so that neither makes round trips longer: so much, and so many times the shortest.
const IDLE_QUEUE: Nanos = Nanos::micros(300);
const IDLE_TIMES: f64 = 4.0;
/// Share of the time below which an end's busiest thread, with its waits, does next to nothing.
const IDLE: f64 = 0.25;
/// Looks at the smoothed round trip from which its middle one is no accident.
const IDLE_LOOKS: usize = 3;
/// Share of its time below which an end's busiest thread is not near its processor's limit.
const SPARE: f64 = 0.75;
/// Share of its time from which a thread that leaves its window shut is the limit.
const SLOW: f64 = 0.5;
/// Share of the time that TCP was held back by the window, from which the window may be the limit: a sender that paces waits for
/// itself the rest of the time.
const SHUT: f64 = 0.1;
/// Share of the window's rate (a window in the shortest round trip) from which a small window explains the stream's
/// rate. Round trips that are not even lower it; it is lower still where TCP itself reports that it waited for the
/// window most of the time. Above [`OVERFILLED`] the window that was seen is not the one that it had.
const FILLED: [f64; 2] = [0.4, 0.3];
const OVERFILLED: f64 = 1.3;
/// A receiver's socket buffer below this is small by somebody's setting: Linux gives 128 KiB to begin with (`tcp_rmem`), more where the reader keeps
/// up, and never less. It is full after a few segments, so that either end wakes up for each few of them.
const SMALL_BUFFER: u64 = 64 << 10;
/// The same for the receiver's buffer; a window is some half of it. One that holds far more than goes through in a round trip
/// is not small, whatever window a slow reader leaves.
const FILLED_BUFFER: f64 = 0.2;

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

    /// The limit that an end is itself.
    fn by_ends(&self) -> Option<Limit> {
        let by_processor = || self.by_rate().or_else(|| self.by_refusal()).or_else(|| self.by_processor());
        by_processor().or_else(|| self.by_silence()).or_else(|| self.by_window()).or_else(|| self.by_shaper())
    }

    fn by_refusal(&self) -> Option<Limit> {
        let share = self.not_sent;
        (share >= KEPT_BACK).then(|| found(Limiter::SenderQueue, vec![Reason::NotSent { share }]))
    }

    /// While nothing arrives TCP waits for its buffers and sends again: what it counts then is the silence.
    fn by_silence(&self) -> Option<Limit> {
        let Silence { total_ns, share, .. } = self.silence.filter(|silence| silence.share >= SILENT)?;
        let silent = std::iter::once(Reason::Silent { total_ns, share });
        Some(found(Limiter::NotDetermined, silent.chain(self.unremarkable()).collect()))
    }

    fn by_shaper(&self) -> Option<Limit> {
        let ShaperSeen { interface, shaper, share } =
            self.shaper.clone().filter(|seen| SHAPED.contains(&seen.share))?;
        let bytes_per_s = shaper.bytes_per_s as f64;
        Some(found(Limiter::SenderQueue, vec![Reason::Shaper { interface, qdisc: shaper.qdisc, bytes_per_s, share }]))
    }

    fn by_rate(&self) -> Option<Limit> {
        let (asked, sent) = (self.asked_bytes_per_s?, self.sent_bytes_per_s?);
        // TCP's bytes arrive, or stop those that follow; datagrams of which no report came may all be lost.
        let arrived = self.received_bytes_per_s.map_or(self.tcp.is_some(), |received| received >= asked * REACHED);
        (sent >= asked * REACHED && arrived)
            .then(|| found(Limiter::Rate, vec![Reason::SentOfRate { share: sent / asked }]))
    }

    fn by_processor(&self) -> Option<Limit> {
        // A sender that keeps the rate asked for could do more: it waits for its instants busily. One whose datagrams are lost on the way
        // has sent more than arrives, however busy it was with that.
        let paced =
            self.asked_bytes_per_s.zip(self.sent_bytes_per_s).is_some_and(|(asked, sent)| sent >= asked * REACHED);
        let ends = [
            Some((Limiter::ReceiverCpu, &self.receiver)),
            (!paced && !self.sends_too_much()).then_some((Limiter::SenderCpu, &self.sender)),
        ];
        let strained = |(limiter, end): (Limiter, &EndSeen)| {
            let why = end.strain();
            // Threads that hand a few segments over at a time, and wait for each other, are busy with that.
            let by_buffer = self.small_buffer().is_some() && matches!(why[..], [Reason::ThreadRan { .. }]);
            (!why.is_empty() && !by_buffer).then_some((limiter, why))
        };
        let mut strained: Vec<_> = ends.into_iter().flatten().filter_map(strained).collect();
        if strained.len() == 2 && self.throttled_alone().is_some() {
            // An end that its control group keeps from running is the cause; the other waits busily.
            strained.retain(|(limiter, _)| Some(*limiter) == self.throttled_alone());
        }
        if strained.len() == 2 && !self.receiver_holds() {
            strained.remove(0);
        }
        let (limiter, because) = strained.into_iter().next()?;
        Some(found(limiter, because))
    }

    /// True where datagrams were lost that the receiving host's kernel did not drop.
    fn sends_too_much(&self) -> bool {
        let dropped = self.receiver.dropped.unwrap_or(0.0);
        self.tcp.is_none() && self.datagrams_lost.is_some_and(|lost| lost - dropped > 1.0 - REACHED)
    }

    /// The one end that its control group keeps from running.
    fn throttled_alone(&self) -> Option<Limiter> {
        match (self.sender.is_throttled(), self.receiver.is_throttled()) {
            (true, false) => Some(Limiter::SenderCpu),
            (false, true) => Some(Limiter::ReceiverCpu),
            _ => None,
        }
    }

    /// Returns true where the sender waits for the receiver, while both are busy.
    fn receiver_holds(&self) -> bool {
        let window = self.tcp.and_then(|tcp| tcp.window_limited).is_some_and(|share| share > 0.1);
        window || self.receiver.dropped.is_some_and(|share| share > LOSSES)
    }

    fn by_window(&self) -> Option<Limit> {
        let tcp = self.tcp.as_ref()?;
        let unscaled =
            tcp.unscaled && self.fill(tcp, tcp.window).is_some_and(|fill| (FULL..=OVERFILLED).contains(&fill));
        if let (true, Some(bytes), Some(rtt_ns)) = (unscaled, tcp.window, tcp.rtt) {
            let waited = tcp.window_limited.map(|share| Reason::WaitedForWindow { share });
            let because = [Reason::Unscaled, Reason::Window { bytes, rtt_ns }].into_iter().chain(waited).collect();
            return Some(found(Limiter::ReceiveWindow, because));
        }
        if let Some(share) = tcp.window_limited.filter(|share| *share >= SHUT) {
            let mut because = vec![Reason::WaitedForWindow { share }];
            if let Some(bytes) = self.small_buffer() {
                because.push(Reason::ReceiveBuffer { bytes });
                return Some(self.through_small_buffer(because));
            }
            if self.fills_the_window(tcp, share >= HELD) {
                if let (Some(window), Some(rtt)) = (tcp.window, tcp.rtt.filter(|rtt| *rtt > Nanos::ZERO)) {
                    because.push(Reason::Window { bytes: window, rtt_ns: rtt });
                }
                return Some(found(Limiter::ReceiveWindow, because));
            }
            if share >= HELD {
                return Some(self.slow_reader(because));
            }
        }
        let fills = self.fill(tcp, tcp.send_buffer).is_some_and(|fill| (FILLED[0]..=OVERFILLED).contains(&fill));
        // Where much is sent again, the buffer is full of what waits for that.
        let least = if fills { SHUT } else { HELD };
        let share = tcp.buffer_limited.filter(|share| *share >= least && (fills || self.losses().is_none()))?;
        let mut because = vec![Reason::WaitedForSendBuffer { share }];
        if let (Some(buffer), Some(rtt), true) = (tcp.send_buffer, tcp.min_rtt, fills) {
            because.push(Reason::SendBuffer { bytes: buffer, rtt_ns: rtt });
        }
        Some(found(Limiter::SendBuffer, because))
    }

    /// Returns true where the rate is about a window in each round trip; `held` is true where TCP waited for the window
    /// most of the time.
    fn fills_the_window(&self, tcp: &TcpSeen, held: bool) -> bool {
        let fills = FILLED[usize::from(held)]..=OVERFILLED;
        self.fill(tcp, tcp.window).is_some_and(|fill| fills.contains(&fill))
            && self.fill(tcp, tcp.receive_buffer).is_none_or(|fill| fill >= FILLED_BUFFER)
    }

    /// Returns the ratio of the rate to so much `room` in each shortest round trip.
    fn fill(&self, tcp: &TcpSeen, room: Option<Bytes>) -> Option<f64> {
        Some(self.received_bytes_per_s? * tcp.min_rtt?.as_secs_f64() / room?.0.max(1) as f64)
    }

    /// The receiver's socket buffer, where it is small and TCP waited for its window most of the time.
    fn small_buffer(&self) -> Option<Bytes> {
        let tcp = self.tcp.filter(|tcp| tcp.window_limited.is_some_and(|share| share >= HELD))?;
        tcp.receive_buffer.filter(|bytes| bytes.0 < SMALL_BUFFER)
    }

    /// A window that is small because the buffer is: the limit, where the ends had time to spare. Where they had none,
    /// either may be.
    fn through_small_buffer(&self, mut because: Vec<Reason>) -> Limit {
        let is_busy = |end: &EndSeen| end.taken() >= SPARE;
        let limiter = if is_busy(&self.sender) || is_busy(&self.receiver) {
            because.extend(self.of_threads());
            Limiter::NotDetermined
        } else {
            Limiter::ReceiveWindow
        };
        found(limiter, because)
    }

    /// The ends' threads, unremarkable or not.
    fn of_threads(&self) -> impl Iterator<Item = Reason> {
        let ends = [(End::Sender, &self.sender), (End::Receiver, &self.receiver)];
        let busiest = ends.map(|(end, seen)| Some(Reason::BusiestThread { end, share: seen.busiest_thread? }));
        let waited = ends.map(|(end, seen)| Some(Reason::LongestWait { end, share: seen.waiting_thread? }));
        busiest.into_iter().chain(waited).flatten()
    }

    /// The window is shut because data is not read: returns the reader that causes it, where that shows. The path is not
    /// the limit.
    fn slow_reader(&self, mut because: Vec<Reason>) -> Limit {
        // One that sleeps most of the time has read all there is: then a proxy keeps the window shut, or the way behind it.
        let Some(share) = Some(self.receiver.taken()).filter(|share| *share >= SLOW) else {
            because.push(Reason::SlowReader);
            let (ran, waited) = (self.receiver.busiest_thread, self.receiver.waiting_thread);
            let idle = ran.zip(waited).map(|(ran, waited)| (1.0 - ran - waited).max(0.0));
            because.extend(idle.map(|share| Reason::IdleReader { share }));
            return found(Limiter::NotDetermined, because);
        };
        because.push(Reason::BusyReader { share });
        found(Limiter::ReceiverCpu, because)
    }

    /// The share of losses that the path is to explain; `None`: so few that they explain nothing.
    pub fn losses(&self) -> Option<f64> {
        let again = self.tcp.and_then(|tcp| tcp.retransmitted);
        again.or(self.datagrams_lost).filter(|share| *share >= LOSSES)
    }

    /// Returns the growth of the stream's own round trips, at least `least` and so many `times` the shortest; `None`
    /// where they did not grow, or where a wait for a processor or a reader caused it.
    fn grew(&self, least: Nanos, times: f64) -> Option<Nanos> {
        let tcp = self.tcp.filter(|tcp| tcp.window_limited.unwrap_or(0.0) < SHUT)?;
        let (rtt, min) = (tcp.rtt?, tcp.min_rtt?);
        let grew = Nanos(rtt.0.saturating_sub(min.0));
        let crowded = [&self.sender, &self.receiver].iter().any(|end| end.waiting_thread.unwrap_or(0.0) >= CROWDED);
        (grew >= least && grew.0 as f64 >= min.0 as f64 * times && !crowded).then_some(grew)
    }

    /// Returns the growth of the stream's own round trips.
    fn queue(&self) -> Option<Nanos> {
        self.grew(QUEUE, 1.0)
    }

    /// Returns a smaller growth of the stream's own round trips, where nothing else can have caused it: both ends idle
    /// and not kept from running, no window or buffer waited for, nothing lost.
    fn idle_queue(&self) -> Option<Nanos> {
        let tcp = self.tcp.filter(|tcp| tcp.buffer_limited.unwrap_or(0.0) < SHUT)?;
        let idle = |end: &EndSeen| {
            let does_little = end.busiest_thread.is_some() && end.taken() < IDLE && end.softirq.unwrap_or(0.0) < SLOW;
            does_little && end.throttled.is_some_and(|share| share < THROTTLED)
        };
        let alone = tcp.rtts >= IDLE_LOOKS && self.losses().is_none() && idle(&self.sender) && idle(&self.receiver);
        self.grew(IDLE_QUEUE, IDLE_TIMES).filter(|_| alone)
    }

    fn by_path(&self) -> Limit {
        let lost = self.losses().map(|lost| match self.tcp {
            Some(_) => Reason::Retransmitted { share: lost },
            None => Reason::DatagramsLost { share: lost },
        });
        let (moved, tried) = match &self.moved {
            Ok(moved) => {
                let each = self.received_bytes_per_s.map(|rate| rate / f64::from(self.streams.max(1)));
                moved.tells(self.losses(), self.received_bytes_per_s, each)
            }
            Err(untried) => (None, self.untried(*untried)),
        };
        // A stream that fills a queue loses what that drops; what the path takes of datagrams beside it may be none of its own.
        let fills = self.grew(OWN_QUEUE, OWN_TIMES).is_some();
        let moved = moved.filter(|limiter| *limiter != Limiter::Loss || !fills);
        let idle = self.idle_queue();
        let made = idle.filter(|grew| self.is_of_the_stream(*grew));
        let limiter = moved.or(made.map(|_| Limiter::Congestion)).unwrap_or(Limiter::NotDetermined);
        let trips = self.tcp.and_then(|tcp| tcp.rtt.zip(tcp.min_rtt)).filter(|_| idle.or(self.queue()).is_some());
        let queue = trips.map(|(rtt_ns, shortest_ns)| Reason::RoundTrips { rtt_ns, shortest_ns, idle: made.is_some() });
        let alone = self.loses_alone().then_some(Reason::OnlyStreamLoses);
        let marked = self.tcp.and_then(|tcp| tcp.marked).filter(|share| *share >= LOSSES);
        let marked = marked.map(|share| Reason::Marked { share });
        let unremarkable = if limiter == Limiter::NotDetermined { self.unremarkable() } else { Vec::new() };
        found(
            limiter,
            lost.into_iter().chain(marked).chain(queue).chain(tried).chain(alone).chain(unremarkable).collect(),
        )
    }

    /// True where the stream lost, and no datagram beside it did, as fast and faster.
    fn loses_alone(&self) -> bool {
        let (Ok(moved), Some(rate), Some(_), Some(_)) =
            (&self.moved, self.received_bytes_per_s, self.losses(), self.tcp)
        else {
            return false;
        };
        moved.carried_more(rate) && moved.lost_nothing()
    }

    /// Returns true where the stream caused the growth of its round trips: the path let nothing faster through beside it, and
    /// slower datagrams waited far less. False where none were sent, for then it is unknown.
    fn is_of_the_stream(&self, grew: Nanos) -> bool {
        let (Ok(moved), Some(rate)) = (&self.moved, self.received_bytes_per_s) else { return false };
        let slowest = moved.legs.first().filter(|leg| leg.left()).and_then(|leg| leg.datagrams.waited_ns);
        slowest.is_some_and(|waited| waited * EVEN as f64 <= grew.0 as f64) && !moved.carried_more(rate)
    }

    /// Returns the test that was not made, with the reason; empty where it would have shown nothing.
    fn untried(&self, why: Untried) -> Vec<Reason> {
        let what = if self.losses().is_some() {
            Untested::Losses
        } else if self.queue().or(self.idle_queue()).is_some() {
            Untested::RoundTrips
        } else {
            return Vec::new();
        };
        vec![Reason::NotTested { what, why }]
    }

    /// Returns the observations that show no limit.
    fn unremarkable(&self) -> Vec<Reason> {
        let ends = [(End::Sender, &self.sender), (End::Receiver, &self.receiver)];
        let spinning = ends.map(|(end, seen)| seen.spins.then_some(Reason::Spins { end }));
        let unread = ends.map(|(end, seen)| seen.throttled.is_none().then_some(Reason::QuotaUnread { end }));
        let again = self.tcp.and_then(|tcp| tcp.retransmitted).filter(|_| self.losses().is_none());
        let tcp = [
            self.tcp.and_then(|tcp| tcp.window_limited).map(|share| Reason::HeldByWindow { share }),
            self.tcp.and_then(|tcp| tcp.buffer_limited).map(|share| Reason::HeldBySendBuffer { share }),
            again.map(|share| Reason::FewRetransmitted { share }),
        ];
        self.of_threads().chain(spinning.into_iter().chain(unread).chain(tcp).flatten()).collect()
    }
}

impl EndSeen {
    /// Share of the time in which a thread was on a processor or waited for one, and could not have been faster.
    fn taken(&self) -> f64 {
        self.busiest_thread.unwrap_or(0.0) + self.waiting_thread.unwrap_or(0.0)
    }

    fn is_throttled(&self) -> bool {
        self.throttled.is_some_and(|share| share >= THROTTLED)
    }

    /// Returns the evidence that the end could do no more; empty where there is none.
    fn strain(&self) -> Vec<Reason> {
        let throttled = self.throttled.filter(|share| *share >= THROTTLED);
        // Other programs on the host take processors away: then a thread that could do no more waits for one.
        let waited = self.waiting_thread.unwrap_or(0.0);
        let busy = self.busiest_thread.filter(|share| share + waited >= SATURATED);
        let soft = self.softirq.filter(|share| *share >= SATURATED);
        let dropped = self.dropped.filter(|share| *share >= LOSSES);
        let told = [
            throttled.map(|share| Reason::Throttled { share }),
            busy.map(|share| Reason::ThreadRan { share, waited: Some(waited).filter(|share| *share >= 0.05) }),
            soft.map(|share| Reason::SoftInterrupts { share }),
            dropped.map(|share| Reason::Dropped { share }),
        ];
        told.into_iter().flatten().collect()
    }
}

fn found(limiter: Limiter, evidence: Vec<Reason>) -> Limit {
    Limit { limiter, because: Vec::new(), evidence }
}

#[cfg(test)]
mod tests;
