//! Lateness of a wait for an instant, asleep or spinning.

use std::io;
use std::num::NonZeroU64;

use measure::resolution::{Keeping, Lateness, Times};
use measure::unit::{Instant, Nanos};

use crate::clock::Monotonic;
use crate::facts::thread::ThreadFacts;
use crate::pace::{self, Margin};

/// The kernel's default timer slack, set again because a thread inherits its parent's.
const DEFAULT_SLACK: NonZeroU64 = NonZeroU64::new(50_000).expect("not 0");

/// Keeps instants `interval` apart for `span` on the calling thread; at least one.
pub(super) fn measure(keeping: Keeping, interval: Nanos, span: Nanos) -> io::Result<Lateness> {
    match keeping {
        Keeping::SleepWithSlack => rustix::thread::set_current_timer_slack(Some(DEFAULT_SLACK))?,
        Keeping::Sleep | Keeping::Hybrid | Keeping::Spin => pace::be_punctual(),
    }
    let count = (span.0 / interval.0).max(1);
    let mut late = Vec::with_capacity(count as usize);
    let mut margin = Margin::default();
    let begin = ThreadFacts::own();
    let start = Monotonic::now().after(interval);
    for k in 0..count {
        let due = start.after(Nanos(k * interval.0));
        late.push(keep(keeping, &mut margin, due).0);
    }
    let used = ThreadFacts::own().zip(begin).and_then(|(end, begin)| end.since(&begin));
    let cpu_share = used.map(|used| used.ran_ns.0 as f64 / used.watched_ns.0.max(1) as f64);
    Ok(Lateness { keeping, interval_ns: interval, late: Times::of(late), cpu_share })
}

/// Waits for `due`, and says how late that ended.
fn keep(keeping: Keeping, margin: &mut Margin, due: Instant) -> Nanos {
    match keeping {
        Keeping::SleepWithSlack | Keeping::Sleep => pace::sleep_until(due),
        Keeping::Hybrid => {
            let wake = due.before(margin.now());
            if Monotonic::now() < wake {
                pace::sleep_until(wake);
                margin.woke(Monotonic::now().since(wake).unwrap_or_default());
            }
        }
        Keeping::Spin => {}
    }
    loop {
        if let Some(late) = Monotonic::now().since(due) {
            return late;
        }
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// Runs on a separate thread, whose timer slack may be changed.
    fn lateness(keeping: Keeping) -> Lateness {
        thread::spawn(move || measure(keeping, Nanos::millis(1), Nanos::millis(100)).unwrap()).join().unwrap()
    }

    #[test]
    fn every_instant_is_kept_once() {
        let seen = lateness(Keeping::Sleep);
        assert_eq!((seen.late.count, seen.interval_ns), (100, Nanos::millis(1)));
    }

    #[test]
    fn slack_shows_and_spinning_does_not_sleep() {
        // The slack is 50 us and is used whole where no other timer is due: the least lateness of a sleep with slack is
        // above the least without.
        let (slack, sleep, spin) =
            (lateness(Keeping::SleepWithSlack), lateness(Keeping::Sleep), lateness(Keeping::Spin));
        assert!(slack.late.p50_ns > sleep.late.min_ns, "{slack:?} {sleep:?}");
        assert!(spin.late.min_ns < sleep.late.min_ns, "{spin:?} {sleep:?}");
    }
}
