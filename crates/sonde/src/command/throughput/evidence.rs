//! Both ends' counts of one direction, as the evidence for what limits it. No I/O.

use endpoint::throughput::{Finding, HostCpu, Task, Told};
use measure::environment::Environment;
use measure::interval::arrivals::Datagrams;
use measure::interval::glance::TcpGlance;
use measure::method::{Carrier, Direction, Waiting};
use measure::outcome::SocketFacts;
use measure::throughput::change::{RateChange, change};
use measure::throughput::detail::{Detail, Processors, fairness, steady_after};
use measure::throughput::limit::moved::Moved;
use measure::throughput::limit::moved::leg::Leg;
use measure::throughput::limit::reason::Untried;
use measure::throughput::limit::{DropsSeen, EndSeen, Evidence, Limit, ShaperSeen, TcpSeen};
use measure::throughput::silence::{Silence, silence, whole};
use measure::throughput::{Carried, Interval, Stream, Throughput};
use measure::unit::{Bytes, Nanos};

/// One way of streams: their counts, and what both ends were busy with.
#[derive(Clone, Debug)]
pub struct Way {
    /// The counts.
    pub throughput: Throughput,
    /// Time after which nothing more is sent; absent where another thing ends the streams.
    lasts: Option<Nanos>,
    /// The peer's end of each stream.
    theirs: Vec<Stream>,
    sender: Processors,
    receiver: Processors,
    /// Share of what came that the receiver's kernel dropped.
    dropped: Option<f64>,
    /// Bytes per second that were asked for.
    asked: Option<f64>,
    datagrams: Option<Datagrams>,
    /// The receivers' socket buffers, and the senders'.
    receive_buffer: Option<Bytes>,
    send_buffer: Option<Bytes>,
    /// True where the senders' sockets agreed on no window scaling.
    unscaled: bool,
    cumulative: bool,
    segments: Option<(Bytes, Bytes)>,
    /// The shaper of the sending host whose rate is next to the stream's.
    shaper: Option<ShaperSeen>,
    /// Packets that the sending host's interface dropped itself.
    drops: Option<DropsSeen>,
    /// Share of the segments sent again that had arrived already.
    needless: Option<f64>,
    /// True for sender and receiver that spin while they wait.
    spin: [bool; 2],
}

impl Way {
    /// The evidence in `found` for `direction`; `None` where nothing went that way. `asked`: bytes per second that were asked for.
    pub fn of(found: &Finding, task: &Task, direction: Direction, asked: Option<f64>) -> Option<Self> {
        let mut throughput = found.throughput(direction)?;
        let sends = direction == Direction::Send;
        let told = if sends { &found.peer_received } else { &found.peer_sent };
        // Threads tell their CPU time from the start of the warm-up on.
        let warm_up = task.method.warm_up_ns;
        let (near, far) = (processors(found, sends, warm_up), far_processors(found, told, warm_up));
        let theirs: Vec<Stream> = told.iter().map(|told| told.stream.clone()).collect();
        let lasts = task.method.stop.after_ns;
        if lasts.is_some() {
            throughput.rate_by_stream(&theirs);
        }
        let receivers = if sends { &theirs } else { &throughput.streams };
        let datagrams = receivers.iter().filter_map(|stream| stream.datagrams).reduce(|one, other| one.and(&other));
        let datagrams = datagrams.map(|seen| with_tail(seen, found, sends, warm_up));
        let (sender, receiver) = if sends { (near, far) } else { (far, near) };
        let senders: Vec<&SocketFacts> = if sends {
            throughput.sockets.iter().collect()
        } else {
            told.iter().filter_map(|told| told.socket.as_ref()).collect()
        };
        let near_spins = task.method.waiting == Waiting::Spin;
        let far_spins = found.peer.waiting.or(task.method.peer_waiting) == Some(Waiting::Spin);
        let leaves_by = if sends { Some(&found.ours) } else { found.theirs.as_ref() };
        let shaper = leaves_by.zip(senders.first().copied()).and_then(|(environment, socket)| {
            shaper(environment, throughput.received_bytes_per_s?, frame_ratio(task, socket)?)
        });
        let sending = if sends { &throughput.streams } else { &theirs };
        let again = sum(sending.iter().map(|stream| stream.tcp?.retransmits));
        let had_already = sum(senders.iter().map(|socket| socket.had_already)).zip(again);
        let had_already = had_already.map(|(had, again)| had.min(again));
        let lost = again.map(|again| again - had_already.unwrap_or(0));
        let lost = lost.or(datagrams.map(|datagrams| datagrams.lost.max(0).cast_unsigned()));
        Some(Self {
            lasts,
            drops: leaves_by.zip(lost).and_then(|(environment, lost)| drops(environment, lost)),
            needless: had_already
                .zip(again)
                .filter(|(_, again)| *again > 0)
                .map(|(had, again)| had as f64 / again as f64),
            theirs,
            sender,
            receiver,
            dropped: dropped(found, sends, datagrams.as_ref(), task.segments()),
            asked,
            receive_buffer: buffer(&throughput.sockets, &found.peer_received, sends, |facts| {
                facts.receive_buffer_bytes
            }),
            send_buffer: buffer(&throughput.sockets, &found.peer_sent, !sends, |facts| facts.send_buffer_bytes),
            cumulative: senders.iter().any(|socket| socket.selective_acks == Some(false)),
            segments: senders.iter().filter_map(|socket| socket.mss_bytes.zip(socket.path_mtu_bytes)).min(),
            unscaled: senders.iter().any(|socket| socket.window_scaling == Some(false)),
            shaper,
            spin: if sends { [near_spins, far_spins] } else { [far_spins, near_spins] },
            datagrams,
            throughput,
        })
    }

    /// The leg of datagrams that were to leave at this rate; `None` where it is none, or nobody told of it.
    pub fn leg(&self, asked_bytes_per_s: f64) -> Option<Leg> {
        let intervals = self.receivers().iter().flat_map(|stream| &stream.intervals);
        let rates = (asked_bytes_per_s, self.throughput.sent_bytes_per_s?);
        Some(Leg { dropped: self.dropped.unwrap_or(0.0), ..Leg::of(rates, self.datagrams?, intervals) })
    }

    /// The evidence, with what datagrams met that were sent slower and faster, where any were.
    pub fn evidence(&self, moved: Result<Moved, Untried>) -> Evidence {
        let sender = if self.throughput.direction == Direction::Send { &self.throughput.streams } else { &self.theirs };
        let (made, failed) = sender.iter().fold((0_u64, 0_u64), |(made, failed), stream| {
            let (more, not) = (stream.carried.calls, stream.carried.failed_calls);
            (made.saturating_add(more), failed.saturating_add(not))
        });
        Evidence {
            not_sent: if failed == 0 { 0.0 } else { failed as f64 / made.saturating_add(failed) as f64 },
            shaper: self.shaper.clone(),
            drops: self.drops.clone(),
            silence: self.silence(),
            streams: self.throughput.streams.len() as u32,
            elapsed: Some(self.throughput.elapsed_ns),
            asked_bytes_per_s: self.asked,
            sent_bytes_per_s: self.throughput.sent_bytes_per_s,
            received_bytes_per_s: self.throughput.received_bytes_per_s,
            later_bytes_per_s: self.rate_change().map(|change| change.after_bytes_per_s),
            sender: seen(&self.sender, None, self.spin[0]),
            receiver: seen(&self.receiver, self.dropped, self.spin[1]),
            tcp: tcp(sender).map(|tcp| TcpSeen {
                unscaled: self.unscaled,
                cumulative: self.cumulative,
                segments: self.segments,
                needless: self.needless,
                receive_buffer: self.receive_buffer,
                send_buffer: self.send_buffer,
                ..tcp
            }),
            datagrams_lost: self.datagrams.and_then(|datagrams| datagrams.loss()),
            moved,
        }
    }

    /// The receiving end of each stream; empty where the peer told nothing.
    fn receivers(&self) -> &[Stream] {
        if self.throughput.direction == Direction::Send { &self.theirs } else { &self.throughput.streams }
    }

    /// Time in which the receiver got nothing. Where it told nothing, so long as our connections took nothing it cannot have got anything either.
    fn silence(&self) -> Option<Silence> {
        let ours = &self.throughput.streams;
        let is_tcp = ours.iter().all(|stream| stream.tcp.is_some());
        let receivers = if self.receivers().is_empty() && is_tcp { ours } else { self.receivers() };
        silence(receivers, self.counted())
    }

    /// The streams' time without that in which they only drained.
    fn counted(&self) -> Nanos {
        self.lasts.map_or(self.throughput.elapsed_ns, |lasts| lasts.min(self.throughput.elapsed_ns))
    }

    /// Two levels of the rate; none beside a silence, which is told by itself.
    fn rate_change(&self) -> Option<RateChange> {
        change(&whole(self.receivers(), self.counted())).filter(|_| self.silence().is_none())
    }

    /// The way with all that was found out about it.
    pub fn concluded(self, found: &Finding, moved: Result<Moved, Untried>) -> Throughput {
        let mut limit = self.evidence(moved).limit();
        // Readers of the record find the words where they were before the figures were.
        limit.because = report::words::limit::reasons(&limit.evidence);
        self.with(found, limit)
    }

    fn with(self, found: &Finding, limit: Limit) -> Throughput {
        let sends = self.throughput.direction == Direction::Send;
        let bytes: Vec<u64> = self.receivers().iter().map(|stream| stream.carried.bytes.0).collect();
        let silence = self.silence();
        let rate_change = self.rate_change();
        let is_nothing = self.throughput.received_bytes_per_s == Some(0.0);
        let is_broken = silence.is_some() || is_nothing;
        let detail = Detail {
            limit,
            sender: self.sender,
            receiver: self.receiver,
            datagrams: self.datagrams,
            fairness: fairness(&bytes),
            // A rate with silences in it, or of two levels, is no steady one, however it began.
            steady_after_ns: steady_after(&self.throughput.intervals).filter(|_| !is_broken && rate_change.is_none()),
            silence,
            rate_change,
            elsewhere: found.peer.elsewhere.filter(|count| sends && *count > 0),
            autotuning: found.autotuning,
            zero_copy: found.zero_copy.filter(|_| sends),
            undrained: if sends { found.undrained } else { 0 },
            theirs: self.theirs,
        };
        Throughput { detail: Some(Box::new(detail)), ..self.throughput }
    }
}

/// The shaper of a host's interface whose rate is next to that of a stream's frames.
fn shaper(environment: &Environment, bytes_per_s: f64, frame_ratio: f64) -> Option<ShaperSeen> {
    let interface = environment.interface.as_ref()?;
    let seen = interface.shapers.iter().map(|shaper| ShaperSeen {
        interface: interface.name.clone(),
        shaper: shaper.clone(),
        share: bytes_per_s * frame_ratio / shaper.bytes_per_s.max(1) as f64,
    });
    seen.min_by(|one, other| (one.share - 1.0).abs().total_cmp(&(other.share - 1.0).abs()))
}

/// The packets that a host's interface dropped before they left, beside what was lost.
fn drops(environment: &Environment, lost: u64) -> Option<DropsSeen> {
    let interface = environment.interface.as_ref()?.name.clone();
    let packets = environment.counters.get(&format!("interface.{interface}.tx_drop"))?;
    Some(DropsSeen { packets: u64::try_from(*packets).ok()?, interface, lost })
}

/// The sum where each is known.
fn sum(counts: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    let mut known = counts.peekable();
    known.peek()?;
    known.try_fold(0, |sum: u64, count| Some(sum.saturating_add(count?)))
}

/// The bytes of frames, as a shaper counts them (Ethernet with its header), for a byte of a stream's payload; `None` where the segments'
/// size is not known.
fn frame_ratio(task: &Task, socket: &SocketFacts) -> Option<f64> {
    const ETHERNET: f64 = 14.0;
    let address = if socket.local.starts_with('[') { 40.0 } else { 20.0 };
    let (payload, own) = match task.method.traffic.carrier() {
        // Twenty, and twelve of timestamps, which Linux sends unless told not to.
        Carrier::Tcp => (socket.mss_bytes?.0 as f64, 32.0),
        _ => (task.method.traffic.request_bytes().0 as f64, 8.0),
    };
    (payload > 0.0).then(|| (payload + own + address + ETHERNET) / payload)
}

fn seen(end: &Processors, dropped: Option<f64>, spins: bool) -> EndSeen {
    EndSeen {
        spins,
        busiest_thread: end.busiest_thread_share.filter(|_| !spins),
        waiting_thread: end.waiting_thread_share.filter(|_| !spins),
        throttled: end.throttled_share,
        // A processor of the end that does nothing else but soft interrupts: all of its time, and most of them.
        softirq: end.busiest_cpu_share.filter(|_| end.softirq_share.is_some_and(|share| share >= 0.5)),
        dropped,
    }
}

/// Our end's processors, of the threads that send or of those that receive.
fn processors(found: &Finding, sends: bool, warm_up: Nanos) -> Processors {
    let threads = found.threads.iter().filter(|thread| thread.sent == sends);
    let times: Vec<Nanos> = threads.map(|thread| Nanos(thread.cpu.user_ns.0 + thread.cpu.system_ns.0)).collect();
    let metered = if sends { found.sent.as_ref() } else { found.received.as_ref() };
    let mut carried = Carried::default();
    for stream in metered.iter().flat_map(|metered| &metered.streams) {
        carried.add(&stream.carried);
        carried.add(&stream.omitted);
    }
    let whole = Nanos(found.running.0 + warm_up.0);
    end(times, carried.bytes, whole, found.cpu.as_ref(), Some(&found.ours))
}

/// The peer's, as it told.
fn far_processors(found: &Finding, told: &[Told], warm_up: Nanos) -> Processors {
    let time = |told: &Told| Some(Nanos(told.user_ns?.0 + told.system_ns?.0));
    let times: Vec<Nanos> = told.iter().map(time).collect::<Option<_>>().unwrap_or_default();
    let mut carried = Carried::default();
    for told in told {
        carried.add(&told.stream.carried);
        carried.add(&told.omitted);
    }
    let elapsed = told.iter().map(|told| told.stream.elapsed_ns).max().unwrap_or(found.running);
    end(
        times,
        carried.bytes,
        Nanos(elapsed.0.saturating_add(warm_up.0)),
        found.peer_cpu.as_ref(),
        found.theirs.as_ref(),
    )
}

fn end(
    threads_ns: Vec<Nanos>,
    carried: Bytes,
    elapsed: Nanos,
    host: Option<&HostCpu>,
    environment: Option<&Environment>,
) -> Processors {
    let share = |time: u64| (elapsed.0 > 0).then(|| time as f64 / elapsed.0 as f64);
    let all: u64 = threads_ns.iter().map(|time| time.0).sum();
    let per_gigabyte = all as f64 / (carried.0 as f64 / 1e9);
    Processors {
        busiest_thread_share: threads_ns.iter().max().and_then(|time| share(time.0)).map(|share| share.min(1.0)),
        waiting_thread_share: environment.and_then(|environment| environment.disturbance?.run_queue_share),
        busy_share: host.map(|host| host.busy_share),
        softirq_share: host.map(|host| host.softirq_share),
        busiest_cpu_share: host.map(|host| host.busiest_share),
        throttled_share: environment.and_then(throttled_us).and_then(|us| share(us.saturating_mul(1_000))),
        ns_per_gigabyte: (all > 0 && carried.0 > 0).then_some(Nanos(per_gigabyte.round() as u64)),
        threads_ns,
    }
}

/// The time that a control group was kept from running. Counters that did not move are left out, as are those that cannot be read: it is
/// none only where there is no quota.
fn throttled_us(environment: &Environment) -> Option<u64> {
    let counted = environment.counters.get("cgroup.throttled_us").map(|us| us.unsigned_abs());
    counted.or(environment.settings.get("cgroup.cpu_limit").filter(|limit| *limit == "none").map(|_| 0))
}

/// With the datagrams that left after the highest number that came, where the receiver never heard of the last: no number accounts for them.
fn with_tail(seen: Datagrams, found: &Finding, sends: bool, warm_up: Nanos) -> Datagrams {
    let all: Option<u64> = found.threads.iter().filter(|thread| thread.sent).map(|thread| thread.sent_datagrams).sum();
    // Those of a warm-up are counted together with the others by the sender alone.
    let unheard = sends && found.undrained > 0 && warm_up == Nanos::ZERO;
    let tail = all.filter(|_| unheard).map_or(0, |all| all.saturating_sub(seen.expected));
    Datagrams { expected: seen.expected + tail, lost: seen.lost.saturating_add_unsigned(tail), ..seen }
}

/// The packets that the receiver's kernel dropped at its sockets, of those that the numbers account for. A buffer of `segments` that is dropped
/// whole counts as one there: it is taken for full, as far as so many were lost.
fn dropped(found: &Finding, sends: bool, datagrams: Option<&Datagrams>, segments: u32) -> Option<f64> {
    let datagrams = datagrams.filter(|datagrams| datagrams.expected > 0)?;
    let (expected, lost) = (datagrams.expected as f64, datagrams.loss()?);
    let environment = if sends { found.theirs.as_ref()? } else { &found.ours };
    // A datagram that nobody took at a socket is somebody's, and nobody else streams so fast; one that the interface dropped
    // had arrived, too. Counters that did not move are left out there.
    let is_drop = |name: &str| {
        ["Udp.RcvbufErrors", "Udp6.RcvbufErrors"].contains(&name)
            || (name.starts_with("interface.") && name.ends_with(".rx_drop"))
    };
    let overflows = environment.counters.iter().filter(|(name, _)| is_drop(name)).map(|(_, count)| count);
    overflows.copied().reduce(|one, other| one + other).map(|dropped| {
        let each = f64::from(segments.max(1));
        (dropped.max(0) as f64 * each / expected).min(lost)
    })
}

/// The socket buffers of an end, all together: the peer's, where it is `far`.
fn buffer(ours: &[SocketFacts], theirs: &[Told], far: bool, of: fn(&SocketFacts) -> Option<Bytes>) -> Option<Bytes> {
    let theirs = || theirs.iter().map(|told| told.socket.as_ref().and_then(of));
    let all: Option<Vec<Bytes>> = if far { theirs().collect() } else { ours.iter().map(of).collect() };
    all.filter(|all| !all.is_empty()).map(|all| Bytes(all.iter().map(|bytes| bytes.0).sum()))
}

/// The figures of the senders' TCP, all together.
fn tcp(senders: &[Stream]) -> Option<TcpSeen> {
    let glances: Vec<&TcpGlance> = senders.iter().filter_map(|stream| stream.tcp.as_ref()).collect();
    if glances.is_empty() {
        return None;
    }
    let sum = |of: fn(&TcpGlance) -> Option<u64>| glances.iter().map(|glance| of(glance)).sum::<Option<u64>>();
    let share = |part: Option<u64>, whole: Option<u64>| {
        part.zip(whole).filter(|(_, whole)| *whole > 0).map(|(part, whole)| part as f64 / whole as f64)
    };
    let busy = sum(|glance| glance.busy_ns.map(|time| time.0));
    let intervals = || senders.iter().flat_map(|stream| &stream.intervals);
    Some(TcpSeen {
        window_limited: share(sum(|glance| glance.rwnd_limited_ns.map(|time| time.0)), busy),
        buffer_limited: share(sum(|glance| glance.sndbuf_limited_ns.map(|time| time.0)), busy),
        retransmitted: share(
            sum(|glance| glance.retransmitted_bytes.map(|bytes| bytes.0)),
            sum(|glance| glance.sent_bytes.map(|bytes| bytes.0)),
        ),
        needless: None,
        marked: share(sum(|glance| glance.delivered_marked), sum(|glance| glance.delivered)),
        unscaled: false,
        cumulative: false,
        segments: None,
        window: sum(|glance| glance.snd_wnd_bytes.map(|bytes| bytes.0)).map(Bytes),
        receive_buffer: None,
        send_buffer: None,
        rtt: middle_rtt(intervals()).or(glances.iter().filter_map(|glance| glance.rtt_ns).max()),
        rtts: intervals().filter(|interval| interval.tcp.is_some_and(|tcp| tcp.rtt_ns.is_some())).count(),
        min_rtt: glances.iter().filter_map(|glance| glance.min_rtt_ns).min(),
    })
}

/// The median over the intervals of the smoothed round trip at their ends.
pub fn middle_rtt<'a>(intervals: impl Iterator<Item = &'a Interval>) -> Option<Nanos> {
    let mut times: Vec<Nanos> = intervals.filter_map(|interval| interval.tcp?.rtt_ns).collect();
    times.sort_unstable();
    times.get(times.len().checked_sub(1)? / 2).copied()
}
