//! Breakdown of one way's round trips, and the disturbance of this host, by second.

use std::collections::{BTreeMap, VecDeque};

use logbook::event::ThreadSecond;
use measure::environment::Disturbance;
use measure::outcome::Split;
use measure::unit::Nanos;
use measure::verdict::threshold::{CPU_PRESSURE, RUN_QUEUE, STEAL};

/// Seconds that are kept: an hour of them.
const SECONDS: usize = 3_600;

/// A part of a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The send call of this host, to its queue.
    Send,
    /// The queue of this host, to its driver.
    Queue,
    /// Outside this host, where the peer tells nothing of itself.
    Outside,
    /// The path, both ways.
    Path,
    /// From the peer's receive stamp to its program.
    PeerWakeUp,
    /// The peer's program.
    PeerProgram,
    /// From the peer's send call to its driver.
    PeerSend,
    /// From this host's receive stamp to the program that measures.
    WakeUp,
}

impl Part {
    /// All, in the order of a round trip.
    pub const ALL: [Self; 8] = [
        Self::Send,
        Self::Queue,
        Self::Outside,
        Self::Path,
        Self::PeerWakeUp,
        Self::PeerProgram,
        Self::PeerSend,
        Self::WakeUp,
    ];

    /// Its time in a second's breakdown; absent where it was not stamped, and for a sum whose parts are given.
    fn of(self, split: &Split) -> Option<Nanos> {
        let is_whole = split.path_ns.is_some();
        match self {
            Self::Send => split.send_to_sched_ns,
            Self::Queue => split.sched_to_driver_ns,
            Self::Outside => split.outside_ns.filter(|_| !is_whole),
            Self::Path => split.path_ns,
            Self::PeerWakeUp => split.peer_wake_up_ns.filter(|_| is_whole),
            Self::PeerProgram => split.peer_hold_ns.filter(|_| is_whole),
            Self::PeerSend => split.peer_send_ns.filter(|_| is_whole),
            Self::WakeUp => split.wake_up_ns,
        }
    }
}

/// Facts of a second beside its response times.
#[derive(Clone, Debug, Default)]
struct Moment {
    split: Option<Split>,
    disturbance: Option<Disturbance>,
    dropped: BTreeMap<String, i64>,
}

/// The seconds of one way; each is counted from the start of the watch.
#[derive(Clone, Debug, Default)]
pub struct Breakdown {
    seconds: VecDeque<(u64, Moment)>,
}

/// Shares of the time in which this host was kept from measuring, 0 to 1: absent where it is no more than usual.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Busy {
    /// A measuring thread waited for a CPU.
    pub run_queue: Option<f64>,
    /// Some task of the host did.
    pub pressure: Option<f64>,
    /// The hypervisor gave the CPUs to others.
    pub steal: Option<f64>,
}

impl Breakdown {
    /// Takes in what second `at` said. Returns true where its figures are this host's own rather than the network's.
    pub fn push(&mut self, at: u64, told: &ThreadSecond) -> bool {
        let mut dropped = told.dropped.clone();
        dropped.retain(|_, count| *count > 0);
        let moment = Moment { split: told.split.clone(), disturbance: told.disturbance, dropped };
        self.seconds.push_back((at, moment));
        if self.seconds.len() > SECONDS {
            self.seconds.pop_front();
        }
        told.disturbance.is_some_and(|by| by.run_queue_share > Some(RUN_QUEUE) || by.steal_share > Some(STEAL))
    }

    fn between(&self, from: u64, to: u64) -> impl Iterator<Item = &Moment> + Clone {
        self.seconds.iter().filter(move |(at, _)| (from..to).contains(at)).map(|(_, moment)| moment)
    }

    /// Time of `part` in the seconds from `from` to before `to`, nanoseconds: the median of the seconds' medians.
    pub fn median(&self, part: Part, from: u64, to: u64) -> Option<f64> {
        let splits = self.between(from, to).filter_map(|moment| moment.split.as_ref());
        let mut medians: Vec<u64> = splits.filter_map(|split| part.of(split)).map(|time| time.0).collect();
        medians.sort_unstable();
        let middle = medians.len().checked_sub(1)? / 2;
        Some(medians[middle] as f64)
    }

    /// Load of this host in that time, where it was busy; over seconds that have it.
    pub fn busy(&self, from: u64, to: u64) -> Option<Busy> {
        let disturbances = self.between(from, to).filter_map(|moment| moment.disturbance.as_ref());
        let mean = |of: fn(&Disturbance) -> Option<f64>, limit: f64| {
            let shares = disturbances.clone().filter_map(of);
            let (sum, count) = shares.fold((0.0, 0), |(sum, count), share| (sum + share, count + 1));
            (count > 0).then(|| sum / f64::from(count)).filter(|share| *share > limit)
        };
        let found = Busy {
            run_queue: mean(|by| by.run_queue_share, RUN_QUEUE),
            pressure: mean(|by| by.cpu_pressure_share, CPU_PRESSURE),
            steal: mean(|by| by.steal_share, STEAL),
        };
        (found != Busy::default()).then_some(found)
    }

    /// Packets that the kernel of this host dropped in that time because a queue was full, by the counter's name.
    pub fn dropped(&self, from: u64, to: u64) -> BTreeMap<&str, i64> {
        let mut sum = BTreeMap::new();
        for (name, count) in self.between(from, to).flat_map(|moment| &moment.dropped) {
            *sum.entry(name.as_str()).or_default() += count;
        }
        sum
    }
}

#[cfg(test)]
pub mod tests {
    use measure::event::{Counts, Second};

    use super::*;

    /// A second whose stamped round trip had these parts, nanoseconds: the path, the peer's wake-up, this host's.
    pub fn second(path: u64, peer_wake_up: u64, wake_up: u64) -> ThreadSecond {
        let time = |nanos| Some(Nanos(nanos));
        let split = Split {
            samples: 4,
            outside_ns: time(path + peer_wake_up + 15_000),
            path_ns: time(path),
            peer_ns: time(peer_wake_up + 15_000),
            peer_wake_up_ns: time(peer_wake_up),
            peer_hold_ns: time(12_000),
            peer_send_ns: time(3_000),
            wake_up_ns: time(wake_up),
            ..Split::default()
        };
        ThreadSecond { split: Some(split), ..bare() }
    }

    fn bare() -> ThreadSecond {
        let (at_ns, length_ns) = (Nanos::ZERO, Nanos::secs(1));
        let counts = Counts::default();
        ThreadSecond::bare(0, Second { at_ns, length_ns, counts, min_ns: None, mean_ns: None, max_ns: None })
    }

    #[test]
    fn a_part_is_the_median_of_its_seconds_and_told_once() {
        let mut breakdown = Breakdown::default();
        for (at, path) in (0..).zip([5_000, 90_000, 6_000]) {
            breakdown.push(at, &second(path, 40_000, 8_000));
        }
        assert_eq!(breakdown.median(Part::Path, 0, 3), Some(6_000.0));
        assert_eq!(breakdown.median(Part::Path, 1, 2), Some(90_000.0));
        assert_eq!(breakdown.median(Part::Outside, 0, 3), None, "its parts tell it");
        assert_eq!(breakdown.median(Part::Send, 0, 3), None, "absent is absent");
        // A peer that tells nothing of itself.
        let mut silent = second(5_000, 0, 8_000);
        let split = silent.split.as_mut().unwrap();
        (split.path_ns, split.peer_ns, split.peer_hold_ns) = (None, None, None);
        let mut breakdown = Breakdown::default();
        breakdown.push(0, &silent);
        assert_eq!(
            (breakdown.median(Part::Outside, 0, 1), breakdown.median(Part::PeerWakeUp, 0, 1)),
            (Some(20_000.0), None)
        );
    }

    #[test]
    fn a_busy_host_is_told_with_its_share_and_a_quiet_one_is_not() {
        let with = |run_queue, pressure| ThreadSecond {
            disturbance: Some(Disturbance {
                run_queue_share: Some(run_queue),
                cpu_pressure_share: Some(pressure),
                ..Disturbance::default()
            }),
            dropped: BTreeMap::from([("Udp.RcvbufErrors".to_owned(), 2)]),
            ..bare()
        };
        let mut breakdown = Breakdown::default();
        assert!(!breakdown.push(0, &with(0.001, 0.02)));
        assert!(!breakdown.push(1, &bare()), "a second that says nothing of it");
        assert_eq!(breakdown.busy(0, 2), None);
        assert!(!breakdown.push(2, &with(0.001, 0.5)), "what others wait for is no lateness of ours");
        assert!(breakdown.push(3, &with(0.125, 0.75)));
        let busy = breakdown.busy(3, 4).unwrap();
        assert_eq!((busy.run_queue, busy.pressure, busy.steal), (Some(0.125), Some(0.75), None));
        assert_eq!(breakdown.dropped(0, 4), BTreeMap::from([("Udp.RcvbufErrors", 6)]));
        assert!(breakdown.dropped(1, 2).is_empty());
    }
}
