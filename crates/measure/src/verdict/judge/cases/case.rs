//! Parts of a case: a run without warnings, and changes to it.

use std::collections::BTreeMap;

use crate::answer::Class;
use crate::environment::{Disturbance, Environment, Interface};
use crate::method::{
    Application, Asked, BatchBy, Carrier, Direction, Method, Pattern, Schedule, Settled, Traffic, Window,
};
use crate::origin::{self, Origin};
use crate::outcome::change::Change;
use crate::outcome::dark::Dark;
use crate::outcome::periodic::Periodic;
use crate::outcome::replies::{Held, Replies};
use crate::outcome::stalls::Stalls;
use crate::outcome::{Batched, Outcome, SocketFacts, Standing};
use crate::probes::{Kind, Probes};
use crate::throughput::change::RateChange;
use crate::throughput::detail::Detail;
use crate::throughput::limit::{Limit, Limiter};
use crate::throughput::meter::Meter;
use crate::throughput::silence::Silence;
use crate::throughput::{Carried, Interval, Sight, Throughput};
use crate::unit::{Bytes, Instant, Nanos};
use crate::verdict::Warning;
use crate::verdict::judge::tests::{environment, exchange, quiet};
use crate::verdict::judge::{Context, contradictions, half_round_trip, judge, judge_stream, resets_timed};
use crate::verdict::order::settle;
use crate::wire::finding::{Check, Subject, Verdict, Wire};

/// A run that can be judged and raises no warning.
pub(super) struct Case {
    pub(super) outcome: Outcome,
    pub(super) stream: Throughput,
    pub(super) method: Method,
    pub(super) ours: Environment,
    pub(super) theirs: Environment,
    pub(super) context: Context,
    pub(super) probes: Probes,
    pub(super) wire: Wire,
    /// Judged as a stream.
    pub(super) streams: bool,
    /// Half round trips were printed.
    pub(super) halves: bool,
}

/// Three of five seconds.
pub(super) fn dark() -> Dark {
    Dark {
        spells: 1,
        total_ns: Nanos::secs(3),
        share: 0.6,
        longest_from_ns: Nanos::secs(2),
        longest_to_ns: Nanos::secs(5),
        to_the_end: true,
        unanswered: 3,
        refused_or_not_sent: 0,
        due: Some(40_000),
    }
}

/// A tenth of each second.
pub(super) fn detour() -> Change {
    let (from_ns, to_ns) = (Nanos::secs(2), Some(Nanos::secs(3)));
    let (before_ns, within_ns) = (Nanos::micros(20), Nanos::millis(2));
    Change { from_ns, to_ns, stretches: 1, before_ns, within_ns, of_firsts: false }
}

pub(super) fn half_stalled() -> Stalls {
    Stalls { count: 5, least_ns: Nanos::millis(90), share: 0.5 }
}

pub(super) fn each_second() -> Periodic {
    Periodic { period_ns: Nanos::secs(1), longer_ns: Nanos::millis(100), count: 9, ..Periodic::default() }
}

impl Case {
    pub(super) fn new() -> Self {
        let (mut outcome, method) = quiet();
        // Enough for each quantile.
        outcome.response.quantiles.iter_mut().for_each(|quantile| quantile.standing = Standing::Firm);
        let far = Environment { host: Some("far".into()), ..environment() };
        let context = Context {
            target: Some([10, 0, 0, 2].into()),
            clock_step_ns: Some(Nanos(1)),
            clock_read_ns: Some(Nanos(30)),
            ..Context::default()
        };
        Self {
            outcome,
            stream: steady_stream(&[1_000; 8]),
            method,
            ours: environment(),
            theirs: far,
            context,
            probes: Probes::default(),
            wire: Wire::default(),
            streams: false,
            halves: false,
        }
    }

    pub(super) fn kinds(&self) -> Vec<&'static str> {
        let Self { outcome, stream, method, ours, theirs, context, .. } = self;
        let mut found = if self.streams {
            judge_stream(stream, method, Some(ours), Some(theirs), context)
        } else {
            judge(outcome, method, Some(ours), Some(theirs), context)
        };
        found.extend(contradictions(&self.wire));
        found.extend(resets_timed(&self.probes));
        found.extend(half_round_trip(outcome, !self.halves));
        settle(found).iter().map(Warning::kind).collect()
    }
}

/// A stream that carried so much in each second.
pub(super) fn steady_stream(carried: &[u64]) -> Throughput {
    let mut meter = Meter::new(0);
    meter.begin(Instant(0), Sight::default());
    let metered = meter.finish(Instant(1_000_000_000), Sight::default());
    let second = |(at, bytes): (u64, &u64)| Interval {
        at_ns: Nanos::secs(at),
        length_ns: Nanos::secs(1),
        carried: Carried { bytes: Bytes(*bytes), ..Carried::default() },
        ..Interval::default()
    };
    let limit = Limit { limiter: Limiter::SenderCpu, because: Vec::new(), evidence: Vec::new() };
    Throughput {
        ours: Carried { bytes: Bytes(carried.iter().sum()), ..Carried::default() },
        intervals: (0..).zip(carried).map(second).collect(),
        detail: Some(Box::new(Detail::of(limit))),
        ..Throughput::of(Direction::Send, &metered, None, Vec::new())
    }
}

pub(super) fn every(interval_ns: Nanos) -> Schedule {
    Schedule::Every { interval_ns }
}

pub(super) fn socket() -> SocketFacts {
    SocketFacts {
        mss_bytes: Some(Bytes(1_448)),
        path_mtu_bytes: Some(Bytes(1_500)),
        nodelay: Some(true),
        ..SocketFacts::default()
    }
}

pub(super) fn batched(got: Option<BatchBy>) -> SocketFacts {
    let asked = BatchBy::Segments;
    SocketFacts {
        batched: Some(Batched { asked, got, refused: None, calls: 9, messages: 90, cut_short: 0 }),
        ..socket()
    }
}

/// Both ends are this host.
pub(super) fn on_one_host(case: &mut Case) {
    case.ours.interface = Some(loopback());
    case.theirs.host.clone_from(&case.ours.host);
}

pub(super) fn loopback() -> Interface {
    Interface { name: "lo".into(), ..Interface::default() }
}

pub(super) fn resets(count: u64, accepted: u64) -> Probes {
    let kind = |class, count| Kind {
        count,
        class,
        from: [10, 0, 0, 2].into(),
        flags: None,
        ttl: None,
        window: None,
        options: None,
        icmp: None,
    };
    let origin = Origin {
        compared_port: None,
        questioned: count,
        both_accept: false,
        accepted: 0,
        verdict: origin::Verdict::NotShown,
        traits: Vec::new(),
    };
    let kinds = vec![kind(Class::RstAck, count), kind(Class::SynAck, accepted), kind(Class::Icmp, 99)];
    Probes { kinds, others: 0, unseen: 0, origin: Some(origin) }
}

pub(super) fn waits(share: f64) -> Disturbance {
    Disturbance { watched_ns: Nanos::secs(1), run_queue_share: Some(share), ..Disturbance::default() }
}

pub(super) fn check(verdict: Verdict) -> Check {
    Check { subject: Subject::Requests, verdict, counted: Some(1), seen: Some(2), reason: None }
}

pub(super) fn throttle(case: &mut Case, micros: i64) {
    case.ours.disturbance = Some(waits(0.0));
    case.ours.counters = BTreeMap::from([("cgroup.throttled_us".to_owned(), micros)]);
}

/// Makes a case with so many retransmitted segments in a thousand requests.
pub(super) fn again(case: &mut Case, segments: u64) {
    (case.outcome.counts.scheduled, case.outcome.counts.answered) = (1_000, 1_000);
    case.outcome.sockets = vec![SocketFacts { retransmitted: Some(segments), ..SocketFacts::default() }];
}

/// Traffic of this carrier and pattern, with defaults in all else.
pub(super) fn traffic(carrier: Carrier, pattern: Pattern) -> Traffic {
    Asked { carrier: Some(carrier), pattern: Some(pattern), ..Asked::default() }.resolve().unwrap().traffic
}

/// Exchanges with a program in its own protocol.
pub(super) fn asking() -> Traffic {
    let application = Application { protocol: "http".into(), request: "GET /".into(), mix: None };
    let asked = Asked { carrier: Some(Carrier::Tcp), application: Some(application), ..Asked::default() };
    asked.resolve().unwrap().traffic
}

pub(super) fn window(case: &mut Case, window: u32) {
    exchange(&mut case.method).window = Window::Closed(window);
    case.outcome.answered_per_s = Some(f64::from(window) * 1e9 / case.outcome.response.mean_ns.unwrap());
}

pub(super) fn mean(case: &mut Case, times: f64) {
    let median = case.outcome.response.quantiles[0].value_ns.unwrap();
    case.outcome.response.mean_ns = Some(median.0 as f64 * times);
}

pub(super) fn busy(case: &mut Case, share: f64) {
    (case.streams, case.method.spread.connections) = (true, 1);
    case.stream.detail.as_mut().unwrap().sender.busiest_thread_share = Some(share);
}

pub(super) fn stream(case: &mut Case, carried: &[u64]) {
    (case.streams, case.stream) = (true, steady_stream(carried));
}

/// A stream whose receiver got nothing for this share of the time.
pub(super) fn silent(case: &mut Case, share: f64) {
    let mut stream = steady_stream(&[1_000; 6]);
    let (longest_from_ns, longest_to_ns) = (Nanos::secs(1), Nanos::secs(2));
    let total_ns = Nanos::secs(1);
    let bytes = Bytes(0);
    let silence = Silence { times: 1, total_ns, share, bytes, longest_from_ns, longest_to_ns, to_the_end: false };
    stream.detail.as_mut().expect("made with one").silence = Some(silence);
    (case.streams, case.stream) = (true, stream);
}

pub(super) fn rate_changed(case: &mut Case, changed: bool) {
    let mut stream = steady_stream(&[1_000; 6]);
    let change = RateChange { at_ns: Nanos::secs(4), before_bytes_per_s: 1e8, after_bytes_per_s: 1e6 };
    stream.detail.as_mut().expect("made with one").rate_change = changed.then_some(change);
    (case.streams, case.stream) = (true, stream);
}

pub(super) fn until(case: &mut Case, within: f64) {
    case.method.stop.settled = Some(Settled { quantile: 0.5, within: Some(within) });
}

/// `held` of 100 replies came in parts.
pub(super) fn held(case: &mut Case, held: u64) {
    let mut replies =
        Replies { held: Some(Held { count: held, pauses_ns: Nanos(held * 41_000_000) }), ..Replies::default() };
    replies.add("200".into(), true, 100);
    case.outcome.replies = Some(replies);
}

pub(super) fn nagle(case: &mut Case, window: u32) {
    exchange(&mut case.method).window = Window::Closed(window);
    case.outcome.sockets = vec![SocketFacts { nodelay: Some(false), ..socket() }];
}

pub(super) fn datagrams(case: &mut Case, bytes: u64) {
    let exchange = exchange(&mut case.method);
    (exchange.carrier, exchange.response_bytes) = (Carrier::Udp, Bytes(bytes));
    case.outcome.sockets = vec![socket()];
}

/// Makes a case of datagrams of so many bytes, none of them answered, though the peer agreed on them.
pub(super) fn unanswered(case: &mut Case, bytes: u64) {
    datagrams(case, bytes);
    let counts = &mut case.outcome.counts;
    (counts.lost, counts.answered) = (counts.scheduled, 0);
    case.context.connected = true;
}

pub(super) fn restart(case: &mut Case, bytes: u64, on: &str) {
    case.method.schedule = every(Nanos::secs(1));
    exchange(&mut case.method).response_bytes = Bytes(bytes);
    case.outcome.sockets = vec![socket()];
    case.theirs.settings.insert("/proc/sys/net/ipv4/tcp_slow_start_after_idle".into(), on.into());
}
