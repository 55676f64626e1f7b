//! Limits that an end of a stream is itself: the rate asked for, its host, a processor, a window, a shaper.

use super::reason::{End, Reason};
use super::{DropsSeen, EndSeen, Evidence, LOSSES, Limit, Limiter, MOST, ShaperSeen, TcpSeen, found};
use crate::throughput::silence::Silence;
use crate::unit::{Bytes, Nanos};

/// Share of the requested rate that must have left for that rate to be the limit.
const REACHED: f64 = 0.97;
/// Share of its time that a thread which cannot keep up is on a processor; the rest is waking up.
const SATURATED: f64 = 0.9;
/// Share of its time that a thread waits for a processor, from which that processor causes the shortfall.
pub(super) const CROWDED: f64 = 0.2;
/// Share of its time kept from running from which a control group is the limit: less is bursts that it makes up for.
pub(super) const THROTTLED: f64 = 0.1;
/// Ratio of the time that a thread waited for a processor to the time it ran, from which a quota may have kept it waiting.
const WAITED: f64 = 2.0;
/// Share of the time in which nothing arrived from which all that TCP counted meanwhile shows no limit.
const SILENT: f64 = 0.1;
/// Share of what was handed over and not sent from which that is the limit.
const KEPT_BACK: f64 = 0.1;
/// Share of what is missing of the requested rate from which what was not sent accounts for it: the rest is a socket that waited for the same queue.
const MISSING: f64 = 0.75;
/// Ratio of the packets that an interface dropped to the stream's losses, at most, where it lost them: of many more, most are of other programs.
const OTHERS: f64 = 4.0;
/// Share of a shaper's rate that a stream which it limits takes: above 1 for what it saved up, and for frames that are counted otherwise.
const SHAPED: std::ops::RangeInclusive<f64> = 0.9..=1.05;
/// Share of the rate of an unscaled window (a window in the shortest round trip) from which it is full, so that a sender that paces
/// itself by what came through waits for it only now and then.
const FULL: f64 = 0.85;
/// Share of the time that TCP itself says it was held back by something.
const HELD: f64 = 0.5;
/// Share of its time below which an end's busiest thread is not near its processor's limit.
pub(super) const SPARE: f64 = 0.75;
/// Share of its time from which a thread that leaves its window shut is the limit.
pub(super) const SLOW: f64 = 0.5;
/// Share of the time that TCP was held back by the window, from which the window may be the limit: a sender that paces waits for
/// itself the rest of the time.
pub(super) const SHUT: f64 = 0.1;
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

/// Share of the bytes that were sent again, from which silences are no other cause than losses: one outage has a window sent again.
const AGAIN: f64 = 0.05;

impl Evidence {
    /// The limit that an end is itself.
    pub(super) fn by_ends(&self) -> Option<Limit> {
        let by_sender = || self.by_rate().or_else(|| self.by_refusal()).or_else(|| self.by_shaper());
        let by_processor = || by_sender().or_else(|| self.by_processor()).or_else(|| self.by_interface());
        by_processor().or_else(|| self.by_drops()).or_else(|| self.by_silence()).or_else(|| self.by_window())
    }

    fn by_refusal(&self) -> Option<Limit> {
        let share = self.not_sent;
        // A thread that keeps a rate waits for its instants busily: what was refused explains a rate that was not reached.
        let explains = self.asked_bytes_per_s.zip(self.sent_bytes_per_s).is_some_and(|(asked, sent)| {
            sent < asked * REACHED && share < 1.0 && sent * share / (1.0 - share) >= (asked - sent) * MISSING
        });
        (share >= KEPT_BACK || explains).then(|| found(Limiter::SenderQueue, vec![Reason::NotSent { share }]))
    }

    /// The limit of datagrams that the receiver's kernel dropped while no processor was busy: its program was stopped, or slow for moments, or the
    /// buffer is small. No path lost them.
    fn by_drops(&self) -> Option<Limit> {
        let share = self.receiver.dropped.filter(|share| *share >= LOSSES)?;
        let is_most = self.datagrams_lost.is_none_or(|lost| share >= lost * MOST);
        let evidence = || std::iter::once(Reason::Dropped { share }).chain(self.unremarkable()).collect();
        is_most.then(|| found(Limiter::NotDetermined, evidence()))
    }

    /// While nothing arrives TCP waits for its buffers and sends a window again: what it counts then is the silence. Where it sent more
    /// again, losses may have made the silence: after each of them it waits twice as long.
    fn by_silence(&self) -> Option<Limit> {
        let Silence { total_ns, share, .. } = self.silence.filter(|silence| silence.share >= SILENT)?;
        let again = self.tcp.and_then(|tcp| tcp.retransmitted).filter(|_| self.losses().is_some());
        if again.is_some_and(|share| share >= AGAIN) {
            return None;
        }
        let silent = std::iter::once(Reason::Silent { total_ns, share });
        let again = again.map(|share| Reason::Retransmitted { share });
        Some(found(Limiter::NotDetermined, silent.chain(again).chain(self.unremarkable()).collect()))
    }

    /// A shaper that the stream fills leaves the processors no part in its rate, however busy they are with it; but one that they do not let it fill
    /// may have a rate near by.
    fn by_shaper(&self) -> Option<Limit> {
        let is_kept_from_running = self.sender.is_throttled() || self.receiver.is_throttled();
        let ShaperSeen { interface, shaper, share } =
            self.shaper.clone().filter(|seen| SHAPED.contains(&seen.share) && !is_kept_from_running)?;
        let bytes_per_s = shaper.bytes_per_s as f64;
        Some(found(Limiter::SenderQueue, vec![Reason::Shaper { interface, qdisc: shaper.qdisc, bytes_per_s, share }]))
    }

    /// The sending host's interface, where it says that it dropped what was lost. A drop of many segments at once counts as one there.
    fn by_interface(&self) -> Option<Limit> {
        let DropsSeen { interface, packets, lost } = self.drops.clone().filter(|_| self.losses().is_some())?;
        let is_ours = (lost as f64 * MOST..=lost as f64 * OTHERS).contains(&(packets as f64));
        is_ours.then(|| found(Limiter::SenderQueue, vec![Reason::InterfaceDropped { interface, packets, lost }]))
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
        let (limiter, mut because) = strained.into_iter().next()?;
        let (name, end) = match limiter {
            Limiter::ReceiverCpu => (End::Receiver, &self.receiver),
            _ => (End::Sender, &self.sender),
        };
        // A quota that cannot be read makes it wait like other programs do.
        let waited = end.waiting_thread.unwrap_or(0.0) >= WAITED * end.busiest_thread.unwrap_or(0.0);
        because.extend((end.throttled.is_none() && waited).then_some(Reason::QuotaUnread { end: name }));
        Some(found(limiter, because))
    }

    /// True where datagrams were lost, on the way or by the receiving host's kernel.
    fn sends_too_much(&self) -> bool {
        self.tcp.is_none() && self.datagrams_lost.is_some_and(|lost| lost > 1.0 - REACHED)
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
            if let Some(kept) = self.kept_small(tcp) {
                because.extend(kept);
                return Some(found(Limiter::ReceiveWindow, because));
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

    /// The reasons of a window that a great buffer does not explain: it went through whole in each round trip, of a sender that paced itself most
    /// of the time, and the reader had taken all there was. What a slow reader leaves of a buffer is waited for most of the time.
    fn kept_small(&self, tcp: &TcpSeen) -> Option<[Reason; 2]> {
        let is_full = self.fill(tcp, tcp.window).is_some_and(|fill| (FULL..=OVERFILLED).contains(&fill));
        let (bytes, rtt_ns, buffer_bytes) = (tcp.window?, tcp.rtt?, tcp.receive_buffer?);
        (is_full && self.receiver.taken() < SLOW)
            .then_some([Reason::Window { bytes, rtt_ns }, Reason::KeptSmall { buffer_bytes }])
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

    /// The window is shut because data is not read: returns the reader that causes it, where that shows. The path is not
    /// the limit.
    fn slow_reader(&self, mut because: Vec<Reason>) -> Limit {
        // One that sleeps most of the time has read all there is: then a proxy keeps the window shut, or the way behind it.
        let Some(share) = Some(self.receiver.taken()).filter(|share| *share >= SLOW) else {
            let window = self.tcp.and_then(|tcp| tcp.window.zip(tcp.rtt.filter(|rtt| *rtt > Nanos::ZERO)));
            because.extend(window.map(|(bytes, rtt_ns)| Reason::Window { bytes, rtt_ns }));
            because.push(Reason::SlowReader);
            let (ran, waited) = (self.receiver.busiest_thread, self.receiver.waiting_thread);
            let idle = ran.zip(waited).map(|(ran, waited)| (1.0 - ran - waited).max(0.0));
            because.extend(idle.map(|share| Reason::IdleReader { share }));
            return found(Limiter::NotDetermined, because);
        };
        because.push(Reason::BusyReader { share });
        found(Limiter::ReceiverCpu, because)
    }
}

impl EndSeen {
    /// Share of the time in which a thread was on a processor or waited for one, and could not have been faster.
    pub(super) fn taken(&self) -> f64 {
        self.busiest_thread.unwrap_or(0.0) + self.waiting_thread.unwrap_or(0.0)
    }

    fn is_throttled(&self) -> bool {
        self.throttled.is_some_and(|share| share >= THROTTLED)
    }

    /// Returns the evidence that the end could do no more; empty where there is none. What its kernel dropped alone is none: a program that is stopped
    /// does not read either.
    fn strain(&self) -> Vec<Reason> {
        let throttled = self.throttled.filter(|share| *share >= THROTTLED);
        // Other programs on the host take processors away: then a thread that could do no more waits for one.
        let waited = self.waiting_thread.unwrap_or(0.0);
        let busy = self.busiest_thread.filter(|share| share + waited >= SATURATED);
        let soft = self.softirq.filter(|share| *share >= SATURATED);
        let dropped = self.dropped.filter(|share| *share >= LOSSES);
        let is_strained = throttled.or(busy).or(soft).is_some();
        let dropped = dropped.filter(|_| is_strained);
        let told = [
            throttled.map(|share| Reason::Throttled { share }),
            busy.map(|share| Reason::ThreadRan { share, waited: Some(waited).filter(|share| *share >= 0.05) }),
            soft.map(|share| Reason::SoftInterrupts { share }),
            dropped.map(|share| Reason::Dropped { share }),
        ];
        told.into_iter().flatten().collect()
    }
}
