//! Words for the parts of a round trip, as kernel timestamps tell them apart.

use measure::outcome::{Bearing, LEAST_STAMPED, Split};
use measure::unit::grouped;

use crate::number;

/// The reason to show no parts: too few round trips were stamped, or stamping made them longer than the others, so that theirs are not known.
pub fn not_shown(split: &Split) -> Option<String> {
    if split.bearing() != Bearing::Unknown {
        return None;
    }
    if split.samples < LEAST_STAMPED {
        let trips = number::count(split.samples, "round trip has", "round trips have");
        return Some(format!("not shown: {trips} timestamps, and a median takes {LEAST_STAMPED}"));
    }
    let (stamped, all) = split.round_trip_ns.zip(split.round_trip_unstamped_ns)?;
    Some(format!("not shown: round trips with timestamps took {stamped} (p50), all of them {all}"))
}

/// The round trips that the parts are medians of. Stamping costs time itself: the parts explain those, not all.
pub fn source(split: &Split) -> String {
    let trips = number::count(split.samples, "timestamped round trip", "timestamped round trips");
    let whole = split.round_trip_ns.map_or_else(String::new, |whole| format!(", whose p50 is {whole}"));
    match split.bearing() {
        Bearing::AtMost => format!("Upper limits: medians of {trips}{whole}. Timestamps made them longer."),
        Bearing::Same | Bearing::Unknown => format!("(medians of {trips}{whole})"),
    }
}

/// The round trips that the parts of the slowest are medians of.
pub fn source_of_slowest(split: &Split, slowest: &Split) -> String {
    let (count, of) = (grouped(slowest.samples), grouped(split.samples));
    let whole = slowest.round_trip_ns.map_or_else(String::new, |whole| format!(", whose p50 is {whole}"));
    format!("(medians of the {count} slowest of {of}{whole})")
}

/// The note beside the parts of the slowest where TCP sent segments again.
pub const BEHIND_LOST: &str =
    "TCP sent segments again: what waits behind a lost one counts as the time of the host that has it";

/// The share of a place of which the parts are mostly made.
const MOSTLY: f64 = 2.0 / 3.0;

/// The place where at least two thirds of the time go: the path, the peer's host or this one; `None` where no place has that much, or not all are known.
pub fn mostly(split: &Split) -> Option<String> {
    let here = [split.send_to_sched_ns, split.sched_to_driver_ns, split.wake_up_ns];
    let here: f64 = here.into_iter().flatten().map(|time| time.0 as f64).sum();
    let [peer, path] = [split.peer_ns?, split.path_ns?].map(|time| time.0 as f64);
    let places = [("the peer's host", peer), ("the path", path), ("this host", here)];
    let whole = (peer + path + here).max(1.0);
    let share = |time: f64| time / whole;
    let (most, rest): (Vec<_>, Vec<_>) = places.into_iter().partition(|(_, time)| share(*time) >= MOSTLY);
    let ((name, time), [(second, of_second), (third, of_third)]) = (most.first()?, rest.get(..2)?) else { return None };
    let percent = |time: f64| match share(time) {
        little if little > 0.0 && little < 0.01 => "less than 1 %".to_owned(),
        share => number::percent((share * 100.0).round() / 100.0),
    };
    Some(format!(
        "Mostly {name} ({}); {second} has {}, {third} {}",
        percent(*time),
        percent(*of_second),
        percent(*of_third)
    ))
}

#[cfg(test)]
mod tests {
    use measure::unit::Nanos;

    use super::*;

    #[test]
    fn the_place_that_has_most_of_the_time_is_named() {
        let times = |path: u64, peer: u64, wake_up: u64| Split {
            path_ns: Some(Nanos(path)),
            peer_ns: Some(Nanos(peer)),
            wake_up_ns: Some(Nanos(wake_up)),
            ..Split::default()
        };
        let told = |split: Split| mostly(&split);
        assert_eq!(
            told(times(16_000, 793_000, 95_000)).as_deref(),
            Some("Mostly the peer's host (88 %); the path has 2 %, this host 11 %")
        );
        assert_eq!(
            told(times(70_000, 10_000, 20_000)).as_deref(),
            Some("Mostly the path (70 %); the peer's host has 10 %, this host 20 %")
        );
        assert_eq!(
            told(times(26_000, 13_000_000, 93_000)).as_deref(),
            Some("Mostly the peer's host (99 %); the path has less than 1 %, this host less than 1 %")
        );
        assert_eq!(told(times(60_000, 20_000, 20_000)), None);
        assert_eq!(told(Split { peer_ns: None, ..times(70_000, 10_000, 20_000) }), None);
    }
}
