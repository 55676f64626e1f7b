//! Words for the parts of a round trip, as kernel timestamps tell them apart.

use measure::outcome::Split;

/// The reason to show no parts: stamping made the round trips longer than the others, so that theirs are not known.
pub fn not_shown(split: &Split) -> Option<String> {
    let (stamped, all) = split.round_trip_ns.zip(split.round_trip_unstamped_ns).filter(|_| split.is_dearer())?;
    Some(format!("not shown: round trips with timestamps took {stamped} (p50), all of them {all}"))
}
