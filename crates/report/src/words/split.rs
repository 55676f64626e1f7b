//! Words for the parts of a round trip, as kernel timestamps tell them apart.

use measure::outcome::{Bearing, LEAST_STAMPED, Split};

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
