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
