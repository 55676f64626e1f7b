//! Makes an outcome of a recording: every number of it, each where it was measured and absent where it was not.

mod rates;
mod seconds;
mod timeline;

use crate::method::{LoopKind, Method, Schedule};
use crate::outcome::one_way::OneWay;
use crate::outcome::periodic::Periodic;
use crate::outcome::replies::Replies;
use crate::outcome::{Distribution, Loss, Outcome, Slip, SocketFacts, Split, Steady};
use crate::outcome::{Quantile, Rhythm};
use crate::recorder::{Kept, Recording, Series, Values};
use crate::statistics::connections;
use crate::statistics::correlation::{self, Effective};
use crate::statistics::dark::dark;
use crate::statistics::flows::flows;
use crate::statistics::jitter::jitter;
use crate::statistics::loss::PeerCounts;
use crate::statistics::quantile::{LISTED, Ranked};
use crate::statistics::rhythm::rhythm;
use crate::statistics::series::interleaved;
use crate::statistics::steady::steady;
use crate::statistics::{loss, moments, payload};
use crate::unit::Nanos;
pub use rates::ACHIEVED;
use rates::Rates;
use seconds::{merged_seconds, stretches};
use timeline::Timeline;

/// Requests are behind schedule by more than an interval, or by more than this.
const SMALLEST_BEHIND: Nanos = Nanos::micros(1);

/// Facts of an outcome beside the recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extra {
    /// Where the time went, from kernel timestamps.
    pub split: Option<Split>,
    /// Both directions apart, from a peer that told its own times.
    pub one_way: Option<OneWay>,
    /// Settings and counts of each connection's socket, as the kernel reported them.
    pub sockets: Vec<SocketFacts>,
    /// Counts of the peer, from a reflector of ours.
    pub peer: PeerCounts,
    /// Replies of a program at work.
    pub replies: Option<Replies>,
}

/// Everything `recording` says about a run of `method`.
///
/// Up to a million values quantiles are exact and correlation sees each of them; beyond, quantiles have three digits and
/// correlation an even thinning, which makes every interval wider than it need be, never narrower.
pub fn summarise(recording: &Recording, method: &Method, extra: Extra) -> Outcome {
    let series = interleaved(&recording.series);
    let response = Sample::of(&recording.response, &series, |kept| kept.response);
    let mut listed = LISTED.to_vec();
    listed.extend(method.stop.settled.map(|settled| settled.quantile).filter(|q| !LISTED.contains(q)));
    listed.sort_unstable_by(f64::total_cmp);
    let from_send = |kept: &Kept| kept.response.saturating_sub(kept.slip);
    let service = recording.service.as_ref().map(|service| Sample::of(service, &series, from_send));
    let rates = Rates::of(recording, method, &extra.peer);
    // A run that follows a time without replies is in no steady state, however alike the replies are.
    let dark = dark(recording);
    let unanswered = loss::unanswered(&recording.counts);
    let saturating = recording.kind == LoopKind::Closed && !method.schedule.has_instants();
    let timeline = Timeline::of(recording, method);
    Outcome {
        loop_kind: recording.kind,
        elapsed_ns: elapsed(recording),
        counts: recording.counts,
        offered_per_s: rates.offered,
        sent_per_s: rates.sent,
        received_per_s: rates.received,
        answered_per_s: rates.answered,
        first_ns: recording.first,
        of_sent: loss::of_sent(&response.ranked, unanswered, &LISTED),
        time_weighted: saturating.then(|| loss::time_weighted(&response.ranked, &LISTED)).flatten(),
        stalls: if saturating { loss::stalls(&response.ranked) } else { None },
        response: response.distribution(&listed),
        service: service.map(|service| service.distribution(&LISTED)),
        slip: slip(recording, method, &series, &rates),
        jitter: jitter(recording),
        dark,
        loss: losses(recording, method, extra.peer),
        reorder_extents: extents(&recording.extents),
        steady: if dark.is_some() { Steady::NotFound } else { steady(&response.series, series.stride) },
        periodic: timeline
            .as_ref()
            .and_then(|timeline| timeline.periodic(&response.ranked, method))
            .filter(|periodic| !(saturating && follows_losses(periodic, unanswered, method.timeout_ns))),
        change: timeline.as_ref().and_then(Timeline::change),
        rhythm: in_step(&response.series, method).filter(|_| series.stride == 1),
        seconds: merged_seconds(&recording.seconds),
        stretches: stretches(recording),
        split: extra.split,
        one_way: extra.one_way,
        sockets: extra.sockets,
        replies: extra.replies,
        flows: flows(recording, method.seed),
        hops: None,
    }
}

/// Losses of `recording`. Where each request opens a connection, one that the peer did not get may have lost a packet of the handshake on either way.
fn losses(recording: &Recording, method: &Method, peer: PeerCounts) -> Loss {
    let found = loss::loss(&recording.counts, &recording.loss_periods, peer);
    if method.traffic.connects() { Loss { forward: None, reverse: None, ..found } } else { found }
}

/// The first exchanges after a pause take longer by less than this share of the pause: what slept is woken, and caches are cold.
const AFTER_PAUSE: u64 = 10;

/// True of long times that a closed loop brings about itself: it waits for each lost reply until its timeout, and the exchange after the pause
/// takes a little longer. Losses at even distances, as of each hundredth packet, then have a period in time.
fn follows_losses(periodic: &Periodic, unanswered: u64, timeout: Nanos) -> bool {
    let (period, longer) = (periodic.period_ns.0, periodic.longer_ns.0);
    unanswered >= periodic.count.div_ceil(2) && period >= timeout.0 && longer.saturating_mul(AFTER_PAUSE) < timeout.0
}

/// Finds a rhythm in step with an even schedule kept by one thread: with several, the order is not that of time.
fn in_step(series: &[u64], method: &Method) -> Option<Rhythm> {
    let even = matches!(
        method.schedule,
        Schedule::Every { .. } | Schedule::Rate { .. } | Schedule::Preloaded { count: 1, .. }
    );
    if even && method.spread.threads == 1 { rhythm(series) } else { None }
}

/// The response times of `recording` as a distribution: for a recording of calls, which have no fates beside.
pub fn distribution(recording: &Recording) -> Distribution {
    let series = interleaved(&recording.series);
    Sample::of(&recording.response, &series, |kept| kept.response).distribution(&LISTED)
}

/// Quantile `q` of these response times with the interval that [`summarise`] gives it, where `series` has all of them
/// in order. Where it has a part, the interval is that of values which resemble their neighbours as much as these do.
pub fn quantile(values: &Values, series: &Series, q: f64) -> Quantile {
    let sample = Sample::of(values, series, |kept| kept.response);
    let part = values.count() as f64 / series.samples.len().max(1) as f64;
    // A thinned series is worth no more than its values, as at the end.
    let times = if series.stride > 1 { 1.0 } else { part };
    sample.ranked.with_interval(q, sample.worth_at(q, times))
}

/// Classes up to the last that is not empty.
fn extents(classes: &[u64; 16]) -> Vec<u64> {
    let used = classes.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
    classes[..used].to_vec()
}

fn elapsed(recording: &Recording) -> Nanos {
    recording.ended.since(recording.began).unwrap_or(Nanos::ZERO)
}

/// One kind of time of a run: its values, ranked, and in order.
struct Sample<'a> {
    values: &'a Values,
    ranked: Ranked,
    series: Vec<u64>,
    /// The connection of each value of the series.
    connections: Vec<u32>,
    thinned: bool,
}

impl<'a> Sample<'a> {
    fn of(values: &'a Values, series: &Series, time: impl Fn(&Kept) -> u64) -> Self {
        let times: Vec<u64> = series.samples.iter().map(time).collect();
        // Values that are not in the series (the slip of a request that was lost) are in the histogram alone.
        let exact = series.stride == 1 && times.len() as u64 == values.count();
        let ranked = if exact { Ranked::exact(times.clone()) } else { Ranked::counted(values) };
        let connections = series.samples.iter().map(|kept| kept.flow).collect();
        Self { values, ranked, series: times, connections, thinned: series.stride > 1 }
    }

    fn distribution(&self, listed: &[f64]) -> Distribution {
        let Self { values, ranked, series, connections, thinned } = self;
        let effective = correlation::effective(series.len(), |i| series[i] as f64);
        let over = connections::effective(connections, |i| series[i] as f64);
        let for_mean = effective.map(|effective| over.filter(|over| over.size < effective.size).unwrap_or(effective));
        Distribution {
            count: values.count(),
            min_ns: values.min(),
            max_ns: values.max(),
            mean_ns: moments::mean(values),
            mean_ci_ns: moments::mean_interval(values, for_mean),
            stddev_ns: moments::stddev(values),
            mad_ns: moments::mad(ranked),
            quantiles: listed.iter().map(|&q| ranked.with_interval(q, self.worth_at(q, 1.0))).collect(),
            effective_sample_size: effective.map(|effective| effective.size),
            examined: Some(series.len() as u64),
            autocorrelation: if *thinned { None } else { correlation::autocorrelation(series) },
            exact: matches!(ranked, Ranked::Exact(_)),
            saturated: values.saturated(),
            histogram: payload::encode(&values.histogram()),
        }
    }

    /// Independent values the sample is worth for quantile `q`, in a run that is so many `times` as long as the series.
    /// Where that cannot be established, as many as were examined: too few for a series, or all alike on this side of
    /// the quantile. Many connections are worth no more than these, however long each was asked.
    fn worth_at(&self, q: f64, times: f64) -> f64 {
        let Self { series, connections, .. } = self;
        let all = series.len() as f64;
        let Some(at) = self.ranked.quantile(q) else { return all * times };
        let in_time = correlation::effective_at(series, at);
        let size = in_time.map_or(all, |effective: Effective| effective.size) * times;
        let share = |beyond: bool| f64::from(u8::from(beyond));
        let over = connections::effective(connections, |i| share(series[i] > at))
            .or_else(|| connections::effective(connections, |i| share(series[i] >= at)));
        match over.filter(|over| over.size < size) {
            Some(over) => connections::for_ranks(over),
            None => in_time.map_or(all, |effective| effective.for_ranks()) * times,
        }
    }
}

fn slip(recording: &Recording, method: &Method, series: &Series, rates: &Rates) -> Option<Slip> {
    let values = recording.slip.as_ref().filter(|values| values.count() > 0)?;
    let sample = Sample::of(values, series, |kept| kept.slip);
    let behind = method.schedule.mean_gap().unwrap_or(Nanos::ZERO).max(SMALLEST_BEHIND);
    let is_load = method.traffic.load().is_some();
    // Elsewhere it is noted where the peer takes no more at once, or a socket.
    let measures_cap = is_load || method.traffic.connects() || recording.held_back.by_cap > Nanos::ZERO;
    let measures_socket = is_load || recording.held_back.by_socket > Nanos::ZERO;
    let held =
        |span: Nanos, is_measured: bool| is_measured.then(|| Nanos(span.0 / u64::from(method.spread.threads.max(1))));
    Some(Slip {
        held_by_cap_ns: held(recording.held_back.by_cap, measures_cap),
        held_by_socket_ns: held(recording.held_back.by_socket, measures_socket),
        behind_share: sample.ranked.above(behind.0) as f64 / values.count() as f64,
        rate_achieved: rates.achieved?,
        distribution: sample.distribution(&LISTED),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Fate;
    use crate::method::{Asked, Pattern, Settled, Stop};
    use crate::outcome::Standing;
    use crate::recorder::{Recorder, Sequence};
    use crate::statistics::simulated::latencies;
    use crate::unit::{Instant, Rate};
    use proptest::prelude::*;
    use test_case::test_case;

    fn method(asked: &Asked) -> Method {
        asked.resolve().unwrap()
    }

    fn at_rate(per_second: u64, after: Nanos) -> Method {
        let schedule = Some(Schedule::Rate { rate_per_1000s: Rate::per_second(per_second).unwrap() });
        method(&Asked { schedule, stop: Stop { after_ns: Some(after), ..Stop::default() }, ..Asked::default() })
    }

    /// A closed loop back to back that takes these times.
    fn closed(trips: &[u64], keep: usize) -> Recording {
        let mut recorder = Recorder::new(LoopKind::Closed, keep);
        let mut now = Instant(1_000);
        recorder.begin(now, Some(Nanos(9_999)));
        for &trip in trips {
            let sent = now;
            now = now.after(Nanos(trip));
            recorder.answered(sent, now);
        }
        recorder.finish(now)
    }

    #[test]
    fn an_empty_recording_has_no_number_but_zero_counts() {
        let recording = Recorder::new(LoopKind::Closed, 10).finish(Instant(0));
        let found = summarise(&recording, &method(&Asked::default()), Extra::default());
        assert_eq!((found.sent_per_s, found.answered_per_s, found.offered_per_s), (None, None, None));
        let Distribution { count, min_ns, max_ns, mean_ns, mean_ci_ns, stddev_ns, mad_ns, .. } = found.response;
        assert_eq!((count, min_ns, max_ns), (0, None, None));
        assert_eq!((mean_ns, mean_ci_ns, stddev_ns, mad_ns), (None, None, None, None));
        assert!(found.response.quantiles.iter().all(|q| q.value_ns.is_none() && q.standing == Standing::TooFew));
        assert_eq!((found.loss.ratio, found.of_sent, found.time_weighted, found.jitter), (None, None, None, None));
        assert_eq!(found.steady, Steady::TooShort);
    }

    #[test]
    fn an_empty_open_loop_too() {
        let recording = Recorder::new(LoopKind::Open, 10).finish(Instant(0));
        let found = summarise(&recording, &at_rate(1_000, Nanos::secs(1)), Extra::default());
        assert_eq!((found.slip, found.sent_per_s, found.offered_per_s), (None, None, Some(1_000.0)));
        assert_eq!(found.service.unwrap().mean_ns, None);
    }

    #[test]
    fn a_closed_loop_is_told_whole() {
        let trips: Vec<u64> = (1..=1_000).map(|i| 10_000 + (i * 7_919) % 1_000).collect();
        let extra = Extra { peer: PeerCounts { received: Some(1_000), ..PeerCounts::default() }, ..Extra::default() };
        let found = summarise(&closed(&trips, 2_000), &method(&Asked::default()), extra);
        assert_eq!(found.first_ns, Some(Nanos(9_999)));
        assert_eq!(found.elapsed_ns, Nanos(trips.iter().sum()));
        assert_eq!((found.service.clone(), found.slip.clone(), found.of_sent.clone()), (None, None, None));
        let response = &found.response;
        assert!(response.exact);
        assert_eq!((response.min_ns, response.max_ns), (Some(Nanos(10_000)), Some(Nanos(10_999))));
        assert_eq!(response.mean_ns, Some(10_499.5));
        // The values 10000 to 10999, each once: rank 500 is 10499.
        assert_eq!(response.quantiles[0].value_ns, Some(Nanos(10_499)));
        assert_eq!(response.mad_ns, Some(250.0));
        let rate = found.answered_per_s.unwrap();
        assert!((rate - 1e9 / 10_499.5).abs() < 1e-6, "{rate}");
        assert_eq!(found.time_weighted.as_ref().unwrap()[0].q, 0.5);
        assert!(found.time_weighted.unwrap()[0].value_ns >= response.quantiles[0].value_ns);
        assert_eq!(found.loss.peer_received, Some(1_000));
        assert!(found.jitter.is_some());
    }

    #[test]
    fn a_thinned_run_has_wider_intervals_and_no_lag_one() {
        let trips = latencies(&mut fastrand::Rng::with_seed(1), 40_000);
        let whole = summarise(&closed(&trips, 50_000), &method(&Asked::default()), Extra::default());
        let thinned = summarise(&closed(&trips, 1_000), &method(&Asked::default()), Extra::default());
        assert!(whole.response.exact && !thinned.response.exact);
        assert_eq!(whole.response.examined, Some(40_000));
        assert!(thinned.response.examined.unwrap() <= 1_000);
        assert!(whole.response.autocorrelation.is_some() && thinned.response.autocorrelation.is_none());
        assert!(thinned.jitter.is_none());
        // Sums of the recorder stay exact.
        assert_eq!(whole.response.mean_ns, thinned.response.mean_ns);
        assert_eq!(whole.response.stddev_ns, thinned.response.stddev_ns);
        for (exact, rough) in whole.response.quantiles.iter().zip(&thinned.response.quantiles) {
            let (x, y) = (exact.value_ns.unwrap().0 as f64, rough.value_ns.unwrap().0 as f64);
            assert!((x - y).abs() <= x / 1_024.0, "{exact:?} {rough:?}");
            assert_eq!((exact.beyond, exact.standing), (rough.beyond, rough.standing));
        }
        let width = |found: &Outcome| {
            let median = found.response.quantiles[0];
            median.high_ns.unwrap().0 - median.low_ns.unwrap().0
        };
        assert!(width(&thinned) > 3 * width(&whole));
    }

    #[test]
    fn the_histogram_is_read_back_as_it_was() {
        let recording = closed(&[10, 20, 20, 3_000_000], 10);
        let found = summarise(&recording, &method(&Asked::default()), Extra::default());
        let read = payload::decode(&found.response.histogram).unwrap();
        assert_eq!(read, recording.response.histogram());
    }

    /// An open loop of `count` requests at 1000/s, the n-th sent `late(n)` behind and answered 50 us later.
    fn open(count: u64, late: impl Fn(u64) -> u64, drain: Nanos) -> Recording {
        let mut recorder = Recorder::new(LoopKind::Open, 100_000);
        recorder.begin(Instant(0), None);
        let mut last = Instant(0);
        for n in 0..count {
            let due = Instant(n * 1_000_000);
            let sent = due.after(Nanos(late(n)));
            last = sent.after(Nanos::micros(50));
            recorder.answered_as_scheduled(due, sent, last);
        }
        recorder.finish(last.after(drain))
    }

    #[test]
    fn an_open_loop_on_time_achieved_its_rate() {
        let found = summarise(&open(1_000, |_| 500, Nanos::ZERO), &at_rate(1_000, Nanos::secs(1)), Extra::default());
        let slip = found.slip.unwrap();
        assert!(slip.rate_achieved);
        assert_eq!(slip.behind_share, 0.0);
        assert_eq!(found.offered_per_s, Some(1_000.0));
        assert!((found.sent_per_s.unwrap() - 1_000.0).abs() < 2.0, "{:?}", found.sent_per_s);
        assert_eq!(found.response.min_ns, Some(Nanos(50_500)));
        assert_eq!(found.service.unwrap().max_ns, Some(Nanos::micros(50)));
    }

    #[test]
    fn waiting_for_the_last_replies_lowers_no_rate() {
        let timed = summarise(&open(1_000, |_| 0, Nanos::secs(1)), &at_rate(1_000, Nanos::secs(1)), Extra::default());
        assert_eq!((timed.sent_per_s, timed.answered_per_s), (Some(1_000.0), Some(1_000.0)));
        let mut counted = at_rate(1_000, Nanos::secs(1));
        counted.stop = Stop { count: Some(1_000), ..Stop::default() };
        let counted = summarise(&open(1_000, |_| 0, Nanos::secs(1)), &counted, Extra::default());
        assert_eq!(counted.sent_per_s, Some(1_000.0));
        assert!(counted.slip.unwrap().rate_achieved);
    }

    #[test_case(true; "ended by time")]
    #[test_case(false; "ended by count")]
    fn a_generator_that_falls_behind_did_not_offer_its_rate(by_time: bool) {
        // Each request 1 ms later still: 500/s instead of 1000/s.
        let mut asked = at_rate(1_000, Nanos::secs(1));
        if !by_time {
            asked.stop = Stop { count: Some(500), ..Stop::default() };
        }
        let found = summarise(&open(500, |n| n * 1_000_000, Nanos::millis(1)), &asked, Extra::default());
        let slip = found.slip.unwrap();
        assert!(!slip.rate_achieved);
        // Later than an interval: all from the third on.
        assert_eq!(slip.behind_share, 498.0 / 500.0);
        assert!((found.sent_per_s.unwrap() - 500.0).abs() < 2.0, "{:?}", found.sent_per_s);
    }

    #[test]
    fn a_poisson_count_may_fall_short_by_chance_and_not_by_more() {
        let rate_per_1000s = Rate::per_second(1_000).unwrap();
        let mut poisson = at_rate(1_000, Nanos::secs(1));
        poisson.schedule = Schedule::Poisson { rate_per_1000s };
        let achieved = |count| {
            let found = summarise(&open(count, |_| 0, Nanos::secs(1)), &poisson, Extra::default());
            found.slip.unwrap().rate_achieved
        };
        assert!(achieved(950));
        assert!(!achieved(800));
    }

    #[test]
    fn lost_requests_have_a_slip_and_a_rank() {
        let mut recorder = Recorder::new(LoopKind::Open, 10_000);
        recorder.begin(Instant(0), None);
        let mut sequence = Sequence::default();
        for n in 0..1_000_u64 {
            let due = Instant(n * 1_000_000);
            if n % 50 == 7 {
                recorder.ended(Fate::Lost, &mut sequence, n, Some(Nanos(100)));
            } else {
                recorder.answered_as_scheduled(due, due.after(Nanos(100)), due.after(Nanos::micros(60)));
            }
        }
        let found =
            summarise(&recorder.finish(Instant(1_000_000_000)), &at_rate(1_000, Nanos::secs(1)), Extra::default());
        assert_eq!(found.slip.unwrap().distribution.count, 1_000);
        assert_eq!(found.loss.ratio, Some(0.02));
        let of_sent = found.of_sent.unwrap();
        assert_eq!(of_sent.iter().find(|of| of.q == 0.99).unwrap().value_ns, None);
        assert_eq!(of_sent.iter().find(|of| of.q == 0.9).unwrap().value_ns, Some(Nanos::micros(60)));
        assert!(found.time_weighted.is_none(), "an open loop's own times are what arrivals see");
    }

    #[test]
    fn a_refusal_is_no_reply_that_takes_longer_than_the_timeout() {
        let of_sent = |others: Fate| {
            let mut recorder = Recorder::new(LoopKind::Closed, 10_000);
            recorder.begin(Instant(0), None);
            let mut sequence = Sequence::default();
            for n in 0..1_000_u64 {
                match n % 10 {
                    1..5 => recorder.ended(Fate::Refused, &mut sequence, n, None),
                    0 => recorder.ended(others, &mut sequence, n, None),
                    _ => recorder.answered(Instant(n * 100), Instant(n * 100 + 60)),
                }
            }
            summarise(&recorder.finish(Instant(100_000)), &method(&Asked::default()), Extra::default()).of_sent
        };
        assert_eq!(of_sent(Fate::Refused), None, "all answers came");
        // 500 answered and 100 lost: the lost are a sixth of those that were not refused.
        let found = of_sent(Fate::Lost).unwrap();
        let values: Vec<Option<Nanos>> = found.iter().map(|of| of.value_ns).collect();
        assert_eq!(values, [Some(Nanos(60)), None]);
    }

    /// A SYN or the answer to it may be what was lost: the peer's count of requests does not tell.
    #[test]
    fn where_each_request_opens_a_connection_the_way_of_a_loss_is_not_known() {
        let recording = || {
            let (mut recorder, mut sequence) = (Recorder::new(LoopKind::Closed, 100), Sequence::default());
            recorder.begin(Instant(0), None);
            (0..9).for_each(|n| recorder.answered(Instant(n * 100), Instant(n * 100 + 60)));
            recorder.ended(Fate::Lost, &mut sequence, 9, None);
            recorder.finish(Instant(1_000))
        };
        let ways = |pattern| {
            let peer = PeerCounts { received: Some(9), replied: Some(9), unique: true, ..PeerCounts::default() };
            let extra = Extra { peer, ..Extra::default() };
            let loss = summarise(&recording(), &method(&Asked { pattern, ..Asked::default() }), extra).loss;
            (loss.peer_received, loss.forward, loss.reverse)
        };
        assert_eq!(ways(None), (Some(9), Some(1), Some(0)));
        assert_eq!(ways(Some(Pattern::ConnectExchange)), (Some(9), None, None));
    }

    #[test]
    fn the_quantile_to_settle_is_listed() {
        let stop = Stop { settled: Some(Settled { quantile: 0.95, within: None }), ..Stop::default() };
        let found = summarise(&closed(&[5; 50], 100), &method(&Asked { stop, ..Asked::default() }), Extra::default());
        let listed: Vec<f64> = found.response.quantiles.iter().map(|quantile| quantile.q).collect();
        assert_eq!(listed, [0.5, 0.9, 0.95, 0.99, 0.999, 0.999_9, 0.999_99]);
    }

    #[test]
    fn reorder_classes_end_with_the_last_that_holds_something() {
        let mut classes = [0; 16];
        assert_eq!(extents(&classes), Vec::<u64>::new());
        (classes[0], classes[2]) = (4, 1);
        assert_eq!(extents(&classes), [4, 0, 1]);
    }

    proptest! {
        #[test]
        fn fields_agree_with_each_other(
            trips in prop::collection::vec(1_u64..10_000_000, 1..300), more in prop::collection::vec(1_u64..10_000_000, 0..300), keep in 2_usize..400
        ) {
            let mut recording = closed(&trips, keep);
            recording.merge(closed(&more, keep));
            let found = summarise(&recording, &method(&Asked::default()), Extra::default());
            let all: Vec<u64> = trips.iter().chain(&more).copied().collect();
            let response = &found.response;
            prop_assert_eq!(response.count, all.len() as u64);
            let (min, max) = (response.min_ns.unwrap(), response.max_ns.unwrap());
            let values: Vec<Nanos> = response.quantiles.iter().map(|q| q.value_ns.unwrap()).collect();
            prop_assert!(min <= values[0] && values.is_sorted() && *values.last().unwrap() <= max);
            let mean = response.mean_ns.unwrap();
            prop_assert!(min.0 as f64 <= mean + 1e-6 && mean <= max.0 as f64 + 1e-6);
            let answered: u64 = found.seconds.iter().map(|second| second.counts.answered).sum();
            prop_assert_eq!(answered, found.counts.answered);
            let stretches = found.stretches.unwrap();
            let kept: u64 = stretches.histograms.iter().map(|text| payload::decode(text).map_or(0, |found| found.len())).sum();
            prop_assert!(kept * stretches.stride >= answered.saturating_sub(2 * stretches.stride) && kept <= answered);
            let rate = found.answered_per_s.unwrap();
            prop_assert!((rate * found.elapsed_ns.as_secs_f64() / all.len() as f64 - 1.0).abs() < 1e-9);
            if response.exact {
                let mut sorted = all;
                sorted.sort_unstable();
                prop_assert_eq!(values[0].0, sorted[sorted.len().div_ceil(2) - 1]);
            }
            if let Some(size) = response.effective_sample_size {
                prop_assert!(size >= 1.0 && size <= response.examined.unwrap() as f64);
            }
        }
    }
}
