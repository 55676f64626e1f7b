//! Requests a second: offered, sent, received, answered, and the check that the requested rate was offered.

use super::elapsed;
use crate::method::{LoopKind, Method, Schedule};
use crate::recorder::Recording;
use crate::statistics::loss::PeerCounts;
use crate::unit::Nanos;

/// Share of the due requests that must have been sent for the stated rate to have been offered: the missing ones then move
/// no quantile that is firm.
pub const ACHIEVED: f64 = 0.99;

/// Requests a second; absent where there was no time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rates {
    pub offered: Option<f64>,
    pub sent: Option<f64>,
    pub received: Option<f64>,
    pub answered: Option<f64>,
    /// True where at least 99 % of the due messages were sent; `None` where nothing is due at stated instants.
    pub achieved: Option<bool>,
}

impl Rates {
    pub(super) fn of(recording: &Recording, method: &Method, peer: &PeerCounts) -> Self {
        let offered = offered(method);
        let counts = &recording.counts;
        let open = recording.kind == LoopKind::Open;
        let time = if open { sending(recording, method, offered) } else { elapsed(recording) };
        let per_second = |count: u64| (time > Nanos::ZERO).then(|| count as f64 / time.as_secs_f64());
        let achieved = if open { achieved(recording, method, offered, time) } else { None };
        let received = peer.received.filter(|_| method.traffic.load().is_some());
        Self {
            offered,
            sent: per_second(counts.messages_sent()),
            received: received.and_then(per_second),
            answered: per_second(counts.answered),
            achieved,
        }
    }
}

/// Requests a second that the schedule asks for, over all connections; `None` back to back.
fn offered(method: &Method) -> Option<f64> {
    let connections = f64::from(method.spread.connections.max(1));
    match method.schedule {
        Schedule::BackToBack | Schedule::AtLatest { .. } => None,
        Schedule::Every { interval_ns }
        | Schedule::Preloaded { interval_ns, .. }
        | Schedule::Slots { interval_ns, .. } => Some(1.0 / interval_ns.as_secs_f64()).filter(|rate| rate.is_finite()),
        Schedule::Rate { rate_per_1000s } | Schedule::Poisson { rate_per_1000s } => {
            Some(rate_per_1000s.as_per_second())
        }
        Schedule::Bursts { count, interval_ns } => {
            let each = if method.shares_bursts() { 1.0 } else { connections };
            Some(f64::from(count) * each / interval_ns.as_secs_f64()).filter(|rate| rate.is_finite())
        }
        // Only a whole trace has this rate: a part of it may be due at quite another.
        Schedule::Trace { messages, length_ns, .. } => {
            let whole = method.stop.count.is_none_or(|count| count >= messages)
                && method.stop.after_ns.is_none_or(|after| after > length_ns);
            Some(messages as f64 / length_ns.as_secs_f64()).filter(|rate| whole && rate.is_finite())
        }
    }
}

/// Returns the time in which an open loop was sending. A run of a stated time sends for that time and may wait for
/// replies after it; one that ended otherwise sent until the one after its last would have been due, or until its last
/// left where that was later.
fn sending(recording: &Recording, method: &Method, offered: Option<f64>) -> Nanos {
    let elapsed = elapsed(recording);
    if let Some(after) = method.stop.after_ns.filter(|after| elapsed >= *after) {
        return after;
    }
    let last = recording.sent_until.and_then(|at| at.since(recording.began));
    match (offered, last) {
        (Some(rate), last) => {
            let due = Nanos((recording.counts.messages() as f64 / rate * 1e9) as u64);
            let until = last.map_or(Nanos(due.0.saturating_add(last_slip(recording).0)), |last| last.max(due));
            elapsed.min(until)
        }
        (None, Some(last)) => last,
        (None, None) => elapsed,
    }
}

/// Returns true where at least 99 % of the due messages were sent. A trace is judged by its lag at the end: only the trace itself
/// has the number due by a moment.
fn achieved(recording: &Recording, method: &Method, offered: Option<f64>, time: Nanos) -> Option<bool> {
    if let Schedule::Trace { .. } = method.schedule {
        let grain = method.schedule.mean_gap().unwrap_or(Nanos::ZERO);
        let late = last_slip(recording).0 as f64;
        return Some(late <= time.0 as f64 * (1.0 - ACHIEVED) + grain.0 as f64);
    }
    let due = offered? * time.as_secs_f64();
    Some(recording.counts.messages() as f64 >= due * ACHIEVED - edge(method, due))
}

/// Requests that may be missing by the schedule's own grain: one of each connection, a burst of each, or four standard
/// deviations of a Poisson count.
fn edge(method: &Method, due: f64) -> f64 {
    let connections = f64::from(method.spread.connections.max(1));
    match method.schedule {
        Schedule::Poisson { .. } => 4.0 * due.sqrt(),
        Schedule::Bursts { count, .. } => f64::from(count) * connections,
        _ => connections,
    }
}

/// Returns the lag of the last kept request, the greatest of all threads.
fn last_slip(recording: &Recording) -> Nanos {
    let last = recording.series.iter().filter_map(|series| series.samples.last());
    last.map(|kept| Nanos(kept.slip)).max().unwrap_or(Nanos::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::{Asked, Pattern, Stop};
    use crate::recorder::Recorder;
    use crate::statistics::summary::{Extra, summarise};
    use crate::unit::{Bytes, Instant};

    /// A load of so many messages, one a millisecond, every tenth of which was answered, all so late.
    fn load(messages: u64, late: impl Fn(u64) -> u64, stop: Stop, schedule: Schedule) -> (Recording, Method) {
        let asked = Asked {
            pattern: Some(Pattern::Load),
            reply_every: Some(10),
            schedule: Some(schedule),
            stop,
            ..Asked::default()
        };
        let mut recorder = Recorder::of(&asked.resolve().unwrap(), 100_000);
        recorder.begin(Instant(0), None);
        for n in 0..messages {
            let due = Instant(n * 1_000_000);
            let sent = due.after(Nanos(late(n)));
            recorder.sent_until(sent);
            if n % 10 == 9 {
                recorder.answered_as_scheduled(due, sent, sent.after(Nanos::micros(40)));
            } else {
                recorder.one_way(Some(Nanos(late(n))));
            }
        }
        let end = Instant((messages - 1) * 1_000_000 + late(messages - 1) + 300_000_000);
        (recorder.finish(end), asked.resolve().unwrap())
    }

    const PER_MILLISECOND: Schedule = Schedule::Every { interval_ns: Nanos::millis(1) };

    fn by_count(count: u64) -> Stop {
        Stop { count: Some(count), ..Stop::default() }
    }

    #[test]
    fn rates_of_a_load_are_of_all_its_messages() {
        let (recording, method) = load(1_000, |_| 500, by_count(1_000), PER_MILLISECOND);
        let peer = PeerCounts { received: Some(990), replied: Some(100), ..PeerCounts::default() };
        let found = summarise(&recording, &method, Extra { peer, ..Extra::default() });
        assert_eq!((found.offered_per_s, found.sent_per_s), (Some(1_000.0), Some(1_000.0)));
        assert_eq!((found.received_per_s, found.answered_per_s), (Some(990.0), Some(100.0)));
        let slip = found.slip.unwrap();
        assert!(slip.rate_achieved && slip.distribution.count == 1_000);
        assert_eq!((slip.held_by_cap_ns, slip.held_by_socket_ns), (Some(Nanos::ZERO), Some(Nanos::ZERO)));
    }

    #[test]
    fn a_load_that_fell_behind_sent_until_its_last_message_left() {
        // Each takes twice its interval: the last leaves after 2 s.
        let (recording, method) = load(1_000, |n| n * 1_000_000, by_count(1_000), PER_MILLISECOND);
        let found = summarise(&recording, &method, Extra::default());
        assert!((found.sent_per_s.unwrap() - 500.5).abs() < 0.01, "{:?}", found.sent_per_s);
        assert_eq!((found.slip.unwrap().rate_achieved, found.received_per_s), (false, None));
    }

    #[test]
    fn a_load_as_fast_as_it_can_has_the_rate_it_had() {
        let (recording, method) = load(1_001, |_| 0, by_count(1_001), Schedule::BackToBack);
        let found = summarise(&recording, &method, Extra::default());
        assert_eq!((found.offered_per_s, found.sent_per_s), (None, Some(1_001.0)));
        assert!(found.slip.is_none() && found.service.is_none());
    }

    #[test]
    fn a_trace_has_a_rate_where_it_is_whole_and_is_judged_by_its_end() {
        let (smallest, largest) = (Bytes(64), Bytes(64));
        let trace =
            Schedule::Trace { messages: 1_000, length_ns: Nanos::millis(999), bytes: Bytes(64_000), smallest, largest };
        let told = |late: u64, stop: Stop| {
            let (recording, method) = load(1_000, |_| late, stop, trace);
            let found = summarise(&recording, &method, Extra::default());
            (found.offered_per_s.map(f64::round), found.slip.unwrap().rate_achieved)
        };
        assert_eq!(told(1_000, Stop::default()), (Some(1_001.0), true));
        assert_eq!(told(100_000_000, Stop::default()), (Some(1_001.0), false));
        assert_eq!(told(1_000, by_count(999)), (None, true), "a part of it");
    }
}
