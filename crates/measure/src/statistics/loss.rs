//! Loss ratios with their interval, and quantiles in which the unanswered have their rank.

use crate::event::Counts;
use crate::outcome::stalls::Stalls;
use crate::outcome::{Loss, OfSent};
use crate::recorder::LossPeriods;
use crate::statistics::quantile::{ROUGH_FROM, Ranked, beyond, rank};
use crate::unit::Nanos;

/// Standard normal quantile of a two-sided 95 % interval.
const Z: f64 = 1.959_963_984_540_054;

/// Counts of the peer, as far as it reported them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerCounts {
    /// Recorded requests it received.
    pub received: Option<u64>,
    /// Recorded requests it replied to.
    pub replied: Option<u64>,
    /// Arrivals that its kernel dropped at its sockets, warm-up included.
    pub dropped: Option<u64>,
    /// Messages that reached it from another address or port than their flow began with, and are in no other count; warm-up included.
    pub elsewhere: Option<u64>,
    /// True where copies that the path made are in neither of the first two.
    pub unique: bool,
}

/// Requests that left: all scheduled but those our own side failed to send.
pub fn sent(counts: &Counts) -> u64 {
    counts.scheduled.saturating_sub(counts.send_failed)
}

/// Lost and late over sent, with Wilson's interval, or up to 3/n where none of n was lost.
///
/// The interval takes losses for independent; where they come in runs, `longest_period` says so.
pub fn loss(counts: &Counts, periods: &LossPeriods, peer: PeerCounts) -> Loss {
    let (lost, sent) = (counts.missing(), sent(counts));
    let interval = wilson(lost, sent);
    // A copy that was counted stands for a request that was lost: then nobody knows how many there were of either.
    let told =
        |count: Option<u64>, of: u64| count.filter(|count| peer.unique || counts.duplicated == 0 && *count <= of);
    let received = told(peer.received, counts.messages_sent());
    let replied = told(peer.replied, counts.messages_sent());
    let came = counts.answered + counts.late + counts.corrupt;
    // Where replies are late, a missing one may only be later yet: nobody waits for it any more.
    let may_be_later = counts.late > 0 && counts.lost > 0;
    Loss {
        ratio: (sent > 0).then(|| lost as f64 / sent as f64),
        low: interval.map(|(low, _)| low),
        high: interval.map(|(_, high)| high),
        periods: periods.periods,
        longest_period: periods.longest,
        peer_received: received,
        peer_replied: replied,
        peer_dropped: peer.dropped,
        peer_elsewhere: peer.elsewhere.filter(|count| *count > 0),
        forward: received.and_then(|received| {
            let unseen = less(counts.messages_sent(), received)?;
            // Those of the warm-up are among them.
            let elsewhere = peer.elsewhere.and_then(|count| i64::try_from(count).ok()).unwrap_or(0);
            Some(unseen - elsewhere.min(unseen))
        }),
        reverse: replied.filter(|_| !may_be_later).and_then(|replied| less(replied, came)),
    }
}

/// `None` where more arrived than was sent: then one of the two numbers is wrong.
fn less(sent: u64, arrived: u64) -> Option<i64> {
    sent.checked_sub(arrived).and_then(|lost| i64::try_from(lost).ok())
}

/// Wilson's 95 % interval of a share of `part` in `whole`; with no `part` its upper end is the rule of three. `None`
/// where there is no whole.
pub(crate) fn wilson(part: u64, whole: u64) -> Option<(f64, f64)> {
    if whole == 0 {
        return None;
    }
    let (n, share) = (whole as f64, part as f64 / whole as f64);
    if part == 0 {
        return Some((0.0, (3.0 / n).min(1.0)));
    }
    let centre = share + Z * Z / (2.0 * n);
    let spread = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    let high = if part == whole { 1.0 } else { ((centre + spread) / scale).min(1.0) };
    Some((((centre - spread) / scale).max(0.0), high))
}

/// Requests that left and have no time: no timely, sound answer came. Those that were refused are not among them, for their answer came.
pub fn unanswered(counts: &Counts) -> u64 {
    sent(counts).saturating_sub(counts.answered).saturating_sub(counts.refused)
}

/// The quantiles of `list` over all that was sent and not refused: a request without a timely, sound answer ranks above every answer, so
/// a quantile that falls among those has no value, only "longer than the timeout". Quantiles with fewer than 10 of the
/// sent beyond them are left out. `None` where each of them has its time.
pub fn of_sent(ranked: &Ranked, unanswered: u64, list: &[f64]) -> Option<Vec<OfSent>> {
    let sent = ranked.count() + unanswered;
    let of = |&q: &f64| OfSent { q, value_ns: rank(q, sent).and_then(|rank| ranked.at(rank)).map(Nanos) };
    let stands = |q: &&f64| beyond(**q, sent) >= ROUGH_FROM;
    (unanswered > 0).then(|| list.iter().filter(stands).map(of).collect())
}

/// Quantiles of `list` with each answer weighted by its own length: of the time spent waiting, the share `q` was
/// spent in answers no longer than this. In a loop back to back an arrival at a random moment would meet these.
/// Quantiles with fewer than 10 answers beyond them are left out. `None` where no time was spent or none is left.
pub fn time_weighted(ranked: &Ranked, list: &[f64]) -> Option<Vec<OfSent>> {
    let weights = ranked.weights();
    let length = |&(value, count): &(u64, u64)| u128::from(value) * u128::from(count);
    let total: u128 = weights.iter().map(length).sum();
    if total == 0 {
        return None;
    }
    let at = |q: f64| {
        // In parts of a billion, as ranks are.
        let wanted = (q * 1e9).round() as u128 * total;
        let mut spent = 0;
        let found = weights.iter().find(|step| {
            spent += length(step) * 1_000_000_000;
            spent >= wanted
        });
        found.map(|&(value, _)| value)
    };
    let all = list.iter().filter_map(|&q| {
        let value = at(q)?;
        (ranked.above(value) >= ROUGH_FROM).then_some(OfSent { q, value_ns: Some(Nanos(value)) })
    });
    Some(all.collect::<Vec<_>>()).filter(|found| !found.is_empty())
}

/// A stall takes so many times the median, so that each is less than half of all, however much of the time they hold,
const STALL: u64 = 20;
/// at least so long,
const SHORTEST_STALL: Nanos = Nanos::millis(1);
/// and matters where all of them together hold this share of the time.
const MUCH: f64 = 0.1;

/// The stalls among the answers of a loop back to back, which counts each once however long it lasts: a queue that is full for half of the time is
/// in few of the answers. `None` where their share of the time is small.
pub fn stalls(ranked: &Ranked) -> Option<Stalls> {
    let from = Nanos(ranked.quantile(0.5)?.saturating_mul(STALL)).max(SHORTEST_STALL).0;
    let weights = ranked.weights();
    let time =
        |weights: &[(u64, u64)]| -> f64 { weights.iter().map(|&(value, count)| value as f64 * count as f64).sum() };
    let first = weights.partition_point(|&(value, _)| value < from);
    let (all, long) = (time(&weights), weights.get(first..)?);
    let count = long.iter().map(|&(_, count)| count).sum();
    let share = time(long) / all;
    (share >= MUCH).then_some(Stalls { count, least_ns: Nanos(long.first()?.0), share })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::{Sequence, Values};
    use crate::statistics::quantile::LISTED;
    use proptest::prelude::*;
    use test_case::test_case;

    fn counts(answered: u64, lost: u64, late: u64, send_failed: u64) -> Counts {
        Counts {
            scheduled: answered + lost + late + send_failed,
            answered,
            lost,
            late,
            send_failed,
            ..Counts::default()
        }
    }

    #[test_case(counts(0, 0, 0, 0), None, None, None; "nothing sent")]
    #[test_case(counts(0, 0, 0, 5), None, None, None; "sends that failed are no loss and nothing was sent")]
    #[test_case(counts(300, 0, 0, 0), Some(0.0), Some(0.0), Some(0.01); "none of 300: below 3 in 300")]
    #[test_case(counts(2, 0, 0, 0), Some(0.0), Some(0.0), Some(1.0); "none of two says nothing")]
    #[test_case(counts(90, 6, 4, 0), Some(0.1), Some(0.055_229_1), Some(0.174_365_7); "ten of a hundred, late ones included")]
    #[test_case(counts(0, 10, 0, 3), Some(1.0), Some(0.722_467_3), Some(1.0); "all of ten")]
    fn a_loss_ratio_has_wilsons_interval(counts: Counts, ratio: Option<f64>, low: Option<f64>, high: Option<f64>) {
        let found = loss(&counts, &LossPeriods::default(), PeerCounts::default());
        let close = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => (a - b).abs() < 1e-6,
            (a, b) => a == b,
        };
        assert!(close(found.ratio, ratio) && close(found.low, low) && close(found.high, high), "{found:?}");
    }

    #[test]
    fn runs_of_losses_and_the_peers_count_are_handed_on() {
        let (mut periods, mut sequence) = (LossPeriods::default(), Sequence::default());
        for seq in [3, 4, 9] {
            periods.lost(&mut sequence, seq);
        }
        let peer = PeerCounts {
            received: Some(99),
            replied: Some(98),
            dropped: Some(97),
            unique: true,
            ..PeerCounts::default()
        };
        let found = loss(&counts(97, 3, 0, 0), &periods, peer);
        assert_eq!((found.periods, found.longest_period), (2, 2));
        assert_eq!((found.peer_received, found.peer_replied, found.peer_dropped), (Some(99), Some(98), Some(97)));
        assert_eq!((found.forward, found.reverse), (Some(1), Some(1)));
    }

    #[test]
    fn each_way_is_what_left_one_end_less_what_came_to_the_other() {
        let load = Counts { one_way: 900, one_way_failed: 7, ..counts(96, 3, 0, 1) };
        let ways = |received, replied| {
            let found = loss(&load, &LossPeriods::default(), PeerCounts { received, replied, ..PeerCounts::default() });
            (found.forward, found.reverse)
        };
        assert_eq!(ways(Some(990), Some(98)), (Some(9), Some(2)), "999 left, 96 replies came");
        assert_eq!(ways(Some(1_005), None), (None, None), "the path doubled some: how many were lost nobody knows");
        assert_eq!(ways(None, Some(0)), (None, None));
    }

    #[test]
    fn where_replies_are_late_what_did_not_come_may_be_later_yet() {
        let peer = PeerCounts { received: Some(100), replied: Some(100), unique: true, ..PeerCounts::default() };
        let ways = |lost, late| {
            let found = loss(&counts(100 - lost - late, lost, late, 0), &LossPeriods::default(), peer);
            (found.forward, found.reverse)
        };
        assert_eq!(ways(38, 0), (Some(0), Some(38)));
        assert_eq!(ways(38, 20), (Some(0), None));
        assert_eq!(ways(0, 20), (Some(0), Some(0)), "all came");
    }

    #[test_case(false, (None, None); "a peer that counts copies too")]
    #[test_case(true, (Some(2), Some(1)); "one that knows them")]
    fn a_path_that_makes_copies_hides_losses_from_who_counts_them(unique: bool, ways: (Option<i64>, Option<i64>)) {
        let counts = Counts { duplicated: 2, ..counts(97, 3, 0, 0) };
        let peer = PeerCounts { received: Some(98), replied: Some(98), unique, ..PeerCounts::default() };
        let found = loss(&counts, &LossPeriods::default(), peer);
        assert_eq!((found.forward, found.reverse), ways);
        assert_eq!(found.peer_received.is_some(), unique);
    }

    #[test]
    fn with_two_percent_lost_p99_is_beyond_the_timeout() {
        let ranked = Ranked::exact((1..=980).collect());
        let found = of_sent(&ranked, 20, &LISTED).unwrap();
        let value = |q: f64| found.iter().find(|of| of.q == q).map(|of| of.value_ns);
        assert_eq!(value(0.5), Some(Some(Nanos(500))));
        assert_eq!(value(0.9), Some(Some(Nanos(900))));
        assert_eq!(value(0.99), Some(None), "among the lost");
        assert_eq!(value(0.999), None, "one beyond: not printed");
        assert_eq!(of_sent(&ranked, 0, &LISTED), None);
    }

    #[test]
    fn nothing_but_losses_have_no_value_at_all() {
        let found = of_sent(&Ranked::exact(vec![]), 100, &LISTED).unwrap();
        assert_eq!(found, vec![OfSent { q: 0.5, value_ns: None }, OfSent { q: 0.9, value_ns: None }]);
    }

    #[test]
    fn a_random_arrival_meets_the_stall() {
        // 990 answers of 10 us and 10 of 10 ms: the stalls are 1 % of the answers and 91 % of the time.
        let ranked = Ranked::exact([vec![10_000; 979], vec![10_000_000; 21]].concat());
        assert_eq!(ranked.quantile(0.5), Some(10_000));
        // Half the time was spent in stalls, but beyond 10 ms there is nothing: not told.
        assert_eq!(time_weighted(&ranked, &[0.5]), None);
        let longer = Ranked::exact([vec![10_000; 979], vec![10_000_000; 21], vec![11_000_000; 10]].concat());
        assert_eq!(
            time_weighted(&longer, &[0.5, 0.99]),
            Some(vec![OfSent { q: 0.5, value_ns: Some(Nanos(10_000_000)) }])
        );
        assert_eq!(time_weighted(&Ranked::exact(vec![]), &LISTED), None);
        assert_eq!(time_weighted(&Ranked::exact(vec![0; 50]), &LISTED), None);
    }

    proptest! {
        #[test]
        fn weights_are_the_lengths_themselves(list in prop::collection::vec(1_u64..50, 30..80), percent in 1_u64..60) {
            // Oracle: each value repeated as often as it is long, then nearest rank in integers.
            let mut arrivals: Vec<u64> = list.iter().flat_map(|&x| std::iter::repeat_n(x, x as usize)).collect();
            arrivals.sort_unstable();
            let wanted = arrivals[(percent as usize * arrivals.len()).div_ceil(100) - 1];
            let enough = list.iter().filter(|&&x| x > wanted).count() >= 10;
            let found = time_weighted(&Ranked::exact(list), &[percent as f64 / 100.0]);
            prop_assert_eq!(found.map(|all| all[0].value_ns), enough.then_some(Some(Nanos(wanted))));
        }

        #[test]
        fn wilson_holds_the_share(part in 0_u64..500, more in 0_u64..500) {
            if let Some((low, high)) = wilson(part, part + more) {
                let share = part as f64 / (part + more) as f64;
                prop_assert!(0.0 <= low && low <= share && share <= high && high <= 1.0);
            }
        }
    }

    #[test]
    fn histogram_steps_weigh_alike() {
        let list: Vec<u64> = (1..=200).map(|x| x * 10).collect();
        let mut values = Values::new();
        for &value in &list {
            values.record(value);
        }
        assert_eq!(time_weighted(&Ranked::counted(&values), &LISTED), time_weighted(&Ranked::exact(list), &LISTED));
    }

    #[test_case(33, 92_000_000 => Some((33, 92_000_000)); "a processor that is taken away each tenth of a second")]
    #[test_case(1, 204_000_000 => Some((1, 204_000_000)); "one retransmission")]
    #[test_case(3, 4_000_000 => None; "little of the time")]
    #[test_case(900, 92_000_000 => Some((900, 92_000_000)); "a queue that is full most of the time, and that p99 shows")]
    fn stalls_hold_much_of_the_time(count: usize, length: u64) -> Option<(u64, u64)> {
        let values = [vec![17_000; 10_000], vec![length; count]].concat();
        let found = stalls(&Ranked::exact(values))?;
        let long = (count as u64 * length) as f64;
        assert!((found.share - long / (long + 170_000_000.0)).abs() < 1e-9);
        Some((found.count, found.least_ns.0))
    }

    #[test]
    fn no_answer_is_no_stall() {
        assert_eq!(stalls(&Ranked::exact(vec![])), None);
        assert_eq!(stalls(&Ranked::exact(vec![0; 4])), None);
    }
}
