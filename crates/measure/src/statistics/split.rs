//! Where the time of some round trips went: the medians of their parts.

use crate::event::Parts;
use crate::outcome::Split;
use crate::unit::Nanos;

use super::quantile::Ranked;

/// The medians of these; `None` of none.
pub fn split(stamped: &[Parts]) -> Option<Split> {
    let median = |of: fn(&Parts) -> Option<Nanos>| {
        Ranked::exact(stamped.iter().filter_map(of).map(|part| part.0).collect()).quantile(0.5).map(Nanos)
    };
    (!stamped.is_empty()).then(|| Split {
        samples: stamped.len() as u64,
        send_to_sched_ns: median(|parts| parts.send_to_sched),
        sched_to_driver_ns: median(|parts| parts.sched_to_driver),
        outside_ns: median(|parts| parts.outside),
        wake_up_ns: median(|parts| parts.wake_up),
        path_ns: median(|parts| parts.path),
        peer_ns: median(|parts| parts.peer),
        peer_wake_up_ns: median(|parts| parts.peer_wake_up),
        peer_hold_ns: median(|parts| parts.peer_hold),
        peer_send_ns: median(|parts| parts.peer_send),
        round_trip_ns: median(|parts| parts.round_trip),
        ..Split::default()
    })
}

/// One in so many round trips is among the slowest.
const SLOW: usize = 10;
/// Fewest of them whose medians are told.
const LEAST_SLOW: usize = 5;
/// Each of them takes so many times the median, so that they are others than the rest, and not its upper end.
const SLOWER: u64 = 2;

/// The medians of the slowest tenth of these; `None` of fewer than 50, and where some of them took less than twice the median of all.
pub fn slowest(stamped: &[Parts]) -> Option<Split> {
    let mut by_time: Vec<(Nanos, Parts)> =
        stamped.iter().filter_map(|parts| Some((parts.round_trip?, *parts))).collect();
    by_time.sort_unstable_by_key(|(time, _)| *time);
    let count = by_time.len() / SLOW;
    if count < LEAST_SLOW {
        return None;
    }
    let (median, slow) = (by_time[by_time.len() / 2].0, &by_time[by_time.len() - count..]);
    if slow[0].0.0 < median.0.saturating_mul(SLOWER) {
        return None;
    }
    split(&slow.iter().map(|(_, parts)| *parts).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(round_trip: u64, peer: u64) -> Parts {
        let nanos = |value| Some(Nanos(value));
        Parts { round_trip: nanos(round_trip), peer: nanos(peer), path: nanos(10_000), ..Parts::default() }
    }

    #[test]
    fn the_slowest_tenth_says_where_its_own_time_went() {
        let mut stamped: Vec<Parts> = (0..90).map(|place| exchange(40_000 + place, 20_000)).collect();
        stamped.extend((0..10).map(|place| exchange(12_000_000 + place, 11_980_000)));
        let slow = slowest(&stamped).unwrap();
        assert_eq!((slow.samples, slow.peer_ns, slow.path_ns), (10, Some(Nanos(11_980_000)), Some(Nanos(10_000))));
        assert_eq!(split(&stamped).unwrap().peer_ns, Some(Nanos(20_000)), "of most");
    }

    #[test]
    fn an_upper_end_like_the_rest_or_too_few_say_nothing() {
        let even: Vec<Parts> = (0..100).map(|place| exchange(40_000 + 300 * place, 20_000)).collect();
        assert_eq!(slowest(&even), None);
        // Nine of them are slow, and the tenth is as the rest.
        let mut few: Vec<Parts> = (0..91).map(|_| exchange(40_000, 20_000)).collect();
        few.extend((0..9).map(|_| exchange(12_000_000, 20_000)));
        assert_eq!(slowest(&few), None);
        assert_eq!(slowest(&few[60..]), None, "of 40");
        assert_eq!(slowest(&[]), None);
    }
}
