//! The machine's clocks: the one room that reads them.

use measure::clock::Clock;
use measure::unit::{Instant, Nanos};

/// `CLOCK_MONOTONIC`, read through the vDSO: about 30 ns a reading, slewed by time services but never stepped.
#[derive(Clone, Copy, Debug, Default)]
pub struct Monotonic;

impl Clock for Monotonic {
    #[inline]
    fn now(&self) -> Instant {
        Instant(read(libc::CLOCK_MONOTONIC))
    }
}

impl Monotonic {
    /// The present instant.
    #[inline]
    pub fn now() -> Instant {
        Instant(read(libc::CLOCK_MONOTONIC))
    }
}

/// The present instant of the same clock as the standard library has it, for a machine of others that counts in its instants.
#[expect(clippy::disallowed_methods, reason = "this is the room that reads clocks")]
pub fn as_others_have_it() -> std::time::Instant {
    std::time::Instant::now()
}

/// `CLOCK_REALTIME` in nanoseconds since 1970: the clock that kernel socket stamps are in. It can be stepped.
#[inline]
pub fn wall() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// The monotonic clock as of the latest tick (`CLOCK_MONOTONIC_COARSE`): 1 to 10 ms behind, never ahead, at a fifth of what
/// a reading costs.
#[inline]
pub fn recently() -> Instant {
    Instant(read(libc::CLOCK_MONOTONIC_COARSE))
}

/// Returns the lead of the wall clock over the monotonic one, in nanoseconds, read close together (the wall reading
/// lies between two monotonic ones; the tightest of a few). It moves slowly under a time service and jumps with a step.
pub fn wall_offset() -> i128 {
    (0..5)
        .map(|_| {
            let before = read(libc::CLOCK_MONOTONIC);
            let wall = read(libc::CLOCK_REALTIME);
            let after = read(libc::CLOCK_MONOTONIC);
            (after.saturating_sub(before), i128::from(wall) - i128::from(before / 2 + after / 2))
        })
        .min_by_key(|(width, _)| *width)
        .map_or(0, |(_, offset)| offset)
}

/// The processor time that this process has taken, all its threads together.
pub fn own_cpu() -> Nanos {
    Nanos(read(libc::CLOCK_PROCESS_CPUTIME_ID))
}

#[inline]
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to, and lives through the call. All four clocks exist on every
    // Linux, so the call cannot fail.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_does_not_go_back() {
        let readings: Vec<Instant> = (0..1_000).map(|_| Monotonic::now()).collect();
        assert!(readings.is_sorted());
    }

    #[test]
    fn the_cheap_clock_is_never_ahead() {
        for _ in 0..1_000 {
            assert!(recently() <= Monotonic::now());
        }
    }

    #[test]
    fn the_wall_clock_agrees_with_its_offset() {
        let expected = i128::from(Monotonic::now().0) + wall_offset();
        // A second apart would be a wrong clock, not a slow reading.
        assert!((i128::from(wall()) - expected).abs() < 1_000_000_000);
    }
}
