//! Splits stamped exchanges into their parts: send path, path, time at the peer, wake-up.
//!
//! All parts within one host are differences of one clock. The path is the time outside this host less the peer's own
//! part: the offset between the two clocks cancels in it.

use measure::event::Parts;
use measure::outcome::Split;
use measure::statistics::split;
use measure::unit::Nanos;
use protocol::link::{Departure, Stamped};
use protocol::native::header::PeerStamps;

/// One exchange with its stamps, all wall clock of this host in ns, but for the peer's.
#[derive(Clone, Copy, Debug)]
pub struct StampedExchange {
    /// Just before the send call.
    pub sent: u64,
    /// On the way out.
    pub departure: Departure,
    /// The reply.
    pub reply: Stamped,
    /// The peer's own stamps; those of its reply's departure come with the next stamped exchange.
    pub peer: Option<PeerStamps>,
    /// Round trip by the monotonic clock.
    pub round_trip: Nanos,
}

/// The parts of stamped exchanges so far, evenly thinned when there are many.
#[derive(Debug, Default)]
pub struct Splits {
    kept: Vec<Parts>,
    seen: u64,
    /// One in so many is kept; 0 before the first.
    stride: u64,
    /// The latest exchange, waiting for the peer to tell when its reply left.
    waiting: Option<StampedExchange>,
    backwards: u64,
}

/// Exchanges kept: at one stamped in 2 ms, those of a minute.
const KEPT: usize = 32_768;

impl Splits {
    /// Adds a stamped exchange. It is counted when the next one brings the last of its stamps, or at the end: returns the parts of the one
    /// that is counted now.
    pub fn add(&mut self, exchange: StampedExchange) -> Option<Parts> {
        let late_news = exchange.peer;
        self.waiting.replace(exchange).map(|earlier| self.settle(earlier, late_news))
    }

    /// A stamped exchange was not answered: nothing later belongs to the one before it.
    pub fn interrupted(&mut self) {
        if let Some(earlier) = self.waiting.take() {
            self.settle(earlier, None);
        }
    }

    fn settle(&mut self, exchange: StampedExchange, late_news: Option<PeerStamps>) -> Parts {
        let mut span = |from: Option<u64>, to: Option<u64>| {
            let (from, to) = from.zip(to)?;
            let span = to.checked_sub(from).map(Nanos);
            self.backwards += u64::from(span.is_none());
            span
        };
        let Departure { sched, driver } = exchange.departure;
        let Stamped { kernel, application, .. } = exchange.reply;
        let ours = Parts {
            send_to_sched: span(Some(exchange.sent), sched),
            sched_to_driver: span(sched, driver),
            outside: span(driver, kernel),
            wake_up: span(kernel, application),
            round_trip: Some(exchange.round_trip),
            ..Parts::default()
        };
        let parts = exchange.peer.map_or(ours, |peer| peer_side(ours, peer, late_news));
        self.keep(parts);
        parts
    }

    fn keep(&mut self, parts: Parts) {
        let stride = self.stride.max(1);
        if self.seen.is_multiple_of(stride) {
            if self.kept.len() >= KEPT {
                let mut place = 0;
                self.kept.retain(|_| {
                    place += 1;
                    place % 2 == 1
                });
                self.stride = stride * 2;
            }
            self.kept.push(parts);
        }
        self.seen += 1;
    }

    /// Takes over the parts of another thread.
    pub fn merge(&mut self, mut other: Self) {
        self.interrupted();
        other.interrupted();
        self.backwards += other.backwards;
        self.seen += other.seen;
        self.kept.append(&mut other.kept);
    }

    /// The medians; `None` where nothing was stamped. `unstamped` is the median of all exchanges.
    pub fn finish(mut self, unstamped: Option<Nanos>, clock_stepped: bool) -> Option<Split> {
        self.interrupted();
        let split = split::split(&self.kept)?;
        if clock_stepped {
            return Some(Split { clock_stepped, ..Split::default() });
        }
        let slowest = split::slowest(&self.kept).map(Box::new);
        let split = Split { samples: self.seen, round_trip_unstamped_ns: unstamped, slowest, ..split };
        let missing = missing(&split, self.backwards);
        Some(Split { missing, ..split })
    }
}

fn missing(split: &Split, backwards: u64) -> Vec<String> {
    let mut missing: Vec<String> = [
        ("packet scheduler", split.send_to_sched_ns),
        ("driver", split.sched_to_driver_ns),
        ("receive", split.wake_up_ns),
        ("peer", split.peer_ns),
    ]
    .iter()
    .filter(|(_, value)| value.is_none())
    .map(|(name, _)| (*name).to_owned())
    .collect();
    if backwards > 0 {
        missing.push(format!("{backwards} stamps out of order"));
    }
    missing
}

/// `parts` with those of the peer, and the path without them.
fn peer_side(parts: Parts, peer: PeerStamps, late_news: Option<PeerStamps>) -> Parts {
    let widen = |value: Option<u32>| value.map(u64::from);
    let (wake_up, hold) = (widen(peer.wake_up), widen(peer.hold));
    let departure = late_news.and_then(|late| Some(u64::from(late.previous_sched?) + u64::from(late.previous_driver?)));
    let whole = wake_up.zip(hold).zip(departure).map(|((wake_up, hold), departure)| wake_up + hold + departure);
    let path = parts.outside.zip(whole).and_then(|(outside, whole)| outside.0.checked_sub(whole));
    Parts {
        path: path.map(Nanos),
        peer: whole.map(Nanos),
        peer_wake_up: wake_up.map(Nanos),
        peer_hold: hold.map(Nanos),
        peer_send: departure.map(Nanos),
        ..parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(at: u64, peer: Option<PeerStamps>) -> StampedExchange {
        StampedExchange {
            sent: at,
            departure: Departure { sched: Some(at + 900), driver: Some(at + 1_200) },
            reply: Stamped { length: 64, kernel: Some(at + 10_200), application: Some(at + 16_200) },
            peer,
            round_trip: Nanos(16_300),
        }
    }

    fn peer(sched: Option<u32>) -> PeerStamps {
        PeerStamps {
            received: Some(5),
            wake_up: Some(5_000),
            hold: Some(30),
            previous_sched: sched,
            previous_driver: sched.map(|_| 200),
        }
    }

    #[test]
    fn the_parts_of_an_exchange_add_up_to_what_lies_between_its_stamps() {
        let mut splits = Splits::default();
        splits.add(exchange(1_000_000, Some(peer(None))));
        splits.add(exchange(2_000_000, Some(peer(Some(1_100)))));
        let split = splits.finish(Some(Nanos(16_000)), false).unwrap();
        assert_eq!(split.samples, 2);
        assert_eq!(split.send_to_sched_ns, Some(Nanos(900)));
        assert_eq!(split.wake_up_ns, Some(Nanos(6_000)));
        assert_eq!(split.outside_ns, Some(Nanos(9_000)));
        // The peer's departure is known for the first alone, from the second's reply.
        assert_eq!(split.peer_ns, Some(Nanos(5_000 + 30 + 1_300)));
        assert_eq!(split.path_ns, Some(Nanos(9_000 - 6_330)));
        assert!(split.missing.is_empty());
    }

    #[test]
    fn many_are_thinned_evenly_and_all_are_counted() {
        let mut splits = Splits::default();
        for at in 0..3 * KEPT as u64 {
            splits.add(exchange(at, None));
        }
        splits.interrupted();
        assert_eq!((splits.seen, splits.stride), (3 * KEPT as u64, 4));
        assert!(splits.kept.len() <= KEPT && splits.kept.len() > KEPT / 2, "{}", splits.kept.len());
    }

    #[test]
    fn without_the_peer_its_part_is_absent_and_named() {
        let mut splits = Splits::default();
        splits.add(exchange(1_000_000, None));
        let split = splits.finish(None, false).unwrap();
        assert_eq!((split.peer_ns, split.path_ns), (None, None));
        assert_eq!(split.missing, ["peer"]);
    }

    #[test]
    fn a_stepped_system_clock_gives_no_split() {
        let mut splits = Splits::default();
        splits.add(exchange(1_000_000, None));
        let split = splits.finish(None, true).unwrap();
        assert_eq!((split.clock_stepped, split.samples, split.wake_up_ns), (true, 0, None));
    }

    #[test]
    fn nothing_stamped_is_no_split() {
        assert_eq!(Splits::default().finish(None, false), None);
    }
}
