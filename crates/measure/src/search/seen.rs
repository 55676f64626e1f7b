//! Data of a probe that conditions need, taken from the outcome of its measurement.

use crate::method::{Method, Schedule};
use crate::outcome::{Outcome, Slip};
use crate::search::condition::percent;
use crate::statistics::payload::ranked;
use crate::statistics::quantile::Ranked;
use crate::unit::Nanos;

/// Data of a probe that conditions need.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Messages that left, over those that were due, 0 to 1.
    pub achieved: f64,
    /// The same with those that our own system refused to take.
    pub tried: f64,
    /// True where a socket that accepted no more data held back the missing messages: then it was not our own side's doing.
    pub held: bool,
    /// Messages lost on the way, one way or the other.
    pub lost: u64,
    /// Messages that our own system refused to take, as a full queue of our own interface does: none of them left.
    pub refused: u64,
    /// Messages that left, or were to leave, together with the next ones, because our own side was late: the path met a burst
    /// that nobody asked for.
    pub bunched: u64,
    /// Messages that left.
    pub sent: u64,
    /// Messages that asked for an answer and got none that was timely and sound.
    pub unanswered: u64,
    /// Number of those that the peer refused.
    pub declined: u64,
    /// Response times.
    pub response: Ranked,
    /// Their mean, nanoseconds; absent where there are none.
    pub mean_ns: Option<f64>,
    /// Lag of the sends behind their schedule.
    pub slip: Ranked,
}

impl Seen {
    /// Extracts the data from `outcome`, of a run by `method`. Quantiles have the three digits of its histogram.
    pub fn of(outcome: &Outcome, method: &Method) -> Self {
        let counts = &outcome.counts;
        let (lost, sent) = losses(outcome, method);
        let slip =
            outcome.slip.as_ref().map_or(Ranked::Counted(Vec::new()), |slip| ranked(&slip.distribution.histogram));
        let refused = counts.unsent();
        let share = |sent| achieved(outcome, method, &slip, sent);
        let (achieved, tried) = (share(counts.messages_sent()), share(counts.messages_sent().saturating_add(refused)));
        Self {
            achieved,
            tried,
            held: held(outcome, 1.0 - achieved),
            lost,
            refused,
            bunched: bunched(outcome, method, sent.saturating_add(refused)),
            sent,
            unanswered: counts.unanswered(),
            declined: counts.refused,
            response: ranked(&outcome.response.histogram),
            mean_ns: outcome.response.mean_ns,
            slip,
        }
    }
}

impl Seen {
    /// Words for a time that falls among the messages without an answer: `beyond the timeout`, or the refusals that it falls among.
    pub(super) fn beyond(&self) -> String {
        match (self.declined, self.unanswered.saturating_sub(self.declined)) {
            (0, _) => "beyond the timeout".to_owned(),
            (declined, 0) => format!("among requests that the peer refused ({declined} of {})", self.sent),
            (declined, silent) => {
                format!("among requests refused ({declined}) or not answered in time ({silent}) of {}", self.sent)
            }
        }
    }

    /// Words for the shares that got no answer: `loss 0.120 %`, `refused 50.0 %`, or both.
    pub(super) fn gone(&self) -> String {
        let share = |count: u64| percent(count as f64 / self.sent.max(1) as f64);
        match (self.lost, self.declined) {
            (lost, 0) => format!("loss {}", share(lost)),
            (0, declined) => format!("refused {}", share(declined)),
            (lost, declined) => format!("loss {}, refused {}", share(lost), share(declined)),
        }
    }
}

/// Returns the lost messages and the sent ones. Where each asks for an answer, one that has none is lost. Otherwise the
/// peer counts the messages that it received and answered; where it does not report them, only those that asked are
/// known.
fn losses(outcome: &Outcome, method: &Method) -> (u64, u64) {
    let counts = &outcome.counts;
    let unanswered = counts.missing();
    let sent = counts.messages_sent();
    let lost = |less: i64| u64::try_from(less).unwrap_or_default();
    match (outcome.loss.forward, outcome.loss.reverse) {
        _ if method.traffic.load().is_none_or(|load| load.reply_every == 1) => (unanswered, sent),
        (Some(forward), reverse) => (lost(forward).saturating_add(reverse.map_or(0, lost)).max(unanswered), sent),
        (None, _) => (unanswered, counts.scheduled.saturating_sub(counts.send_failed)),
    }
}

/// Returns true where a socket, or the peer's silence, held back at least half of the `missing` share of the messages
/// due.
fn held(outcome: &Outcome, missing: f64) -> bool {
    let Some(slip) = &outcome.slip else { return false };
    let spans = [slip.held_by_socket_ns, slip.held_by_cap_ns];
    let held: f64 = spans.into_iter().flatten().map(Nanos::as_secs_f64).sum();
    held > 0.0 && held >= missing / 2.0 * outcome.elapsed_ns.as_secs_f64()
}

/// Messages that were handed over later than an interval behind, of `tried`, where neither a socket held them back nor bursts were asked
/// for.
fn bunched(outcome: &Outcome, method: &Method, tried: u64) -> u64 {
    let held = |slip: &Slip| slip.held_by_socket_ns.is_some_and(|held| held > Nanos::ZERO);
    match (&outcome.slip, method.schedule) {
        (Some(slip), Schedule::Rate { .. } | Schedule::Poisson { .. }) if !held(slip) => {
            (slip.behind_share * tried as f64).round() as u64
        }
        _ => 0,
    }
}

/// `sent` messages over those that were due in the time there was.
fn achieved(outcome: &Outcome, method: &Method, slip: &Ranked, sent: u64) -> f64 {
    let time = method.stop.after_ns.map_or(outcome.elapsed_ns, |after| after.min(outcome.elapsed_ns)).as_secs_f64();
    let Some(due) = outcome.offered_per_s.map(|offered| offered * time).filter(|due| *due >= 1.0) else { return 1.0 };
    let sent = sent as f64;
    let share = |missing: f64| ((due - missing) / due).clamp(0.0, 1.0);
    let connections = f64::from(method.spread.connections.max(1));
    match method.schedule {
        // The number due is random, so four deviations of it are allowed. A sender that falls behind evenly is late by
        // half of the missing share at the median.
        Schedule::Poisson { .. } => {
            let late = slip.quantile(0.5).map_or(0.0, |late| 2.0 * Nanos(late).as_secs_f64() / time);
            share(due - sent - 4.0 * due.sqrt()).min((1.0 - late).max(0.0))
        }
        Schedule::Bursts { count, .. } => share(due - sent - f64::from(count) * connections),
        _ => share(due - sent - connections),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Fate;
    use crate::method::{Asked, Pattern, Stop};
    use crate::recorder::{Recorder, Sequence};
    use crate::statistics::loss::PeerCounts;
    use crate::statistics::payload;
    use crate::statistics::summary::{Extra, summarise};
    use crate::unit::{Instant, Rate};
    use test_case::test_case;

    fn at_rate(per_second: u64, reply_every: u32) -> Method {
        let schedule = Some(Schedule::Rate { rate_per_1000s: Rate::per_second(per_second).unwrap() });
        let stop = Stop { after_ns: Some(Nanos::secs(2)), ..Stop::default() };
        let reply_every = Some(reply_every);
        let pattern = Some(Pattern::Load);
        Asked { pattern, schedule, reply_every, stop, ..Asked::default() }.resolve().unwrap()
    }

    /// Two seconds of which `sent` messages left, every `reply_every`-th asking; the first `lost` of those have no answer.
    fn run(method: &Method, sent: u64, lost: u64, peer: PeerCounts) -> Outcome {
        let reply_every = u64::from(method.traffic.load().unwrap().reply_every);
        let mut recorder = Recorder::of(method, 100_000);
        recorder.begin(Instant(0), None);
        let mut sequence = Sequence::default();
        for number in 1..=sent {
            let due = Instant(number * 1_000);
            if !number.is_multiple_of(reply_every) {
                recorder.one_way(Some(Nanos(100)));
            } else if number / reply_every <= lost {
                recorder.ended(Fate::Lost, &mut sequence, number, Some(Nanos(100)));
            } else {
                recorder.answered_as_scheduled(due, due.after(Nanos(100)), due.after(Nanos::micros(number)));
            }
        }
        let extra = Extra { peer, ..Extra::default() };
        summarise(&recorder.finish(Instant(2_100_000_000)), method, extra)
    }

    #[test_case(2_000, 1.0; "all")]
    #[test_case(1_999, 1.0; "one short is the schedule's grain")]
    #[test_case(1_989, 0.995; "half a percent short")]
    #[test_case(0, 0.000_5; "none")]
    fn what_did_not_leave_is_missing_from_what_was_due(sent: u64, achieved: f64) {
        let method = at_rate(1_000, 1);
        let seen = Seen::of(&run(&method, sent, 0, PeerCounts::default()), &method);
        assert!((seen.achieved - achieved).abs() < 1e-9, "{}", seen.achieved);
        assert_eq!((seen.sent, seen.lost, seen.unanswered), (sent, 0, 0));
    }

    #[test]
    fn times_have_three_digits() {
        let method = at_rate(1_000, 1);
        let seen = Seen::of(&run(&method, 2_000, 0, PeerCounts::default()), &method);
        let p99 = seen.response.quantile(0.99).unwrap();
        assert!(p99.abs_diff(1_980_000) < 2_000, "{p99}");
        assert_eq!((seen.response.count(), seen.slip.quantile(0.5)), (2_000, Some(100)));
    }

    #[test_case(1, None, (30, 2_000); "each asks")]
    #[test_case(1, Some((1_990, 1_990)), (30, 2_000); "each asks, and some were lost on the way back")]
    #[test_case(10, Some((1_900, 190)), (120, 2_000); "the peer counts what came, and what it answered")]
    #[test_case(10, Some((2_000, 200)), (30, 2_000); "all came, and answers were lost")]
    #[test_case(10, Some((2_010, 170)), (30, 200); "copies were counted: the peer says nothing of losses")]
    #[test_case(10, None, (30, 200); "of those that asked, where the peer does not say")]
    fn losses_are_counted_by_whoever_sees_them(reply_every: u32, peer: Option<(u64, u64)>, expected: (u64, u64)) {
        let method = at_rate(1_000, reply_every);
        let peer = PeerCounts {
            received: peer.map(|(received, _)| received),
            replied: peer.map(|(_, replied)| replied),
            ..PeerCounts::default()
        };
        let seen = Seen::of(&run(&method, 2_000, 30, peer), &method);
        assert_eq!((seen.lost, seen.sent, seen.unanswered), (expected.0, expected.1, 30));
    }

    #[test]
    fn what_a_socket_held_back_is_not_our_own_doing() {
        let method = at_rate(1_000, 1);
        let mut outcome = run(&method, 1_800, 0, PeerCounts::default());
        let mut held = |span| {
            outcome.slip.as_mut().unwrap().held_by_socket_ns = span;
            Seen::of(&outcome, &method).held
        };
        // A tenth of 2.1 s is missing.
        assert!(!held(None) && !held(Some(Nanos::ZERO)) && !held(Some(Nanos::millis(100))));
        assert!(held(Some(Nanos::millis(110))));
    }

    #[test]
    fn what_left_late_left_in_a_bunch_unless_a_socket_held_it() {
        let method = at_rate(1_000, 1);
        let mut outcome = run(&method, 2_000, 0, PeerCounts::default());
        let mut bunched = |behind_share, held_by_socket_ns| {
            let slip = outcome.slip.as_mut().unwrap();
            (slip.behind_share, slip.held_by_socket_ns) = (behind_share, held_by_socket_ns);
            Seen::of(&outcome, &method).bunched
        };
        assert_eq!((bunched(0.0, None), bunched(0.01, None), bunched(0.01, Some(Nanos(1)))), (0, 20, 0));
    }

    #[test]
    fn what_our_own_system_refused_was_tried_and_did_not_leave() {
        let method = at_rate(1_000, 10);
        let mut outcome = run(&method, 1_990, 0, PeerCounts::default());
        (outcome.counts.one_way_failed, outcome.slip.as_mut().unwrap().behind_share) = (10, 0.02);
        let seen = Seen::of(&outcome, &method);
        assert_eq!((seen.refused, seen.sent, seen.lost, seen.bunched), (10, 199, 0, 4));
        assert!((seen.achieved - 0.995_5).abs() < 1e-9 && seen.tried == 1.0, "{} {}", seen.achieved, seen.tried);
    }

    #[test]
    fn at_random_what_is_missing_is_told_by_the_lateness() {
        let random = |method: &Method| Method {
            schedule: Schedule::Poisson { rate_per_1000s: Rate::per_second(1_000).unwrap() },
            ..method.clone()
        };
        let method = random(&at_rate(1_000, 1));
        let mut outcome = run(&method, 1_980, 0, PeerCounts::default());
        assert!((Seen::of(&outcome, &method).achieved - 1.0).abs() < 1e-6, "within the chance of arrivals");
        // Evenly behind, to 1 % at the end: half of 20 ms in the middle.
        let mut late = crate::recorder::Values::new();
        (1..=1_000).for_each(|k| late.record(k * 20_000));
        outcome.slip.as_mut().unwrap().distribution.histogram = payload::encode(&late.histogram());
        let achieved = Seen::of(&outcome, &method).achieved;
        assert!((achieved - 0.99).abs() < 1e-4, "{achieved}");
    }
}
