//! Work of a whole machine up to some instant: its counters, its CPU time, and the wait of tasks for a CPU.

use measure::unit::{Instant, Nanos};

use super::counters::{self, Counters};
use super::cpu;
use super::files::{Files, Notes};
use crate::clock::Monotonic;

/// One reading.
#[derive(Debug)]
pub(super) struct Machine {
    /// Start of the reading.
    pub(super) at: Instant,
    pub(super) counters: Counters,
    pub(super) cpu_time: Option<CpuTime>,
    pub(super) pressure: Option<Pressure>,
    pub(super) squeezed: Option<u64>,
}

impl Machine {
    /// A reading of now, with the counters of `interface` where it is named.
    pub(super) fn read(files: &Files, interface: Option<&str>) -> Self {
        Self::with(files, || counters::read(files, interface))
    }

    /// The same with the counters of queues alone.
    pub(super) fn glance(files: &Files) -> Self {
        Self::with(files, || counters::queues(files))
    }

    fn with(files: &Files, counters: impl FnOnce() -> Counters) -> Self {
        Self {
            at: Monotonic::now(),
            cpu_time: CpuTime::read(files),
            pressure: Pressure::read(files),
            squeezed: counters::softnet(files).map(|softnet| softnet.squeezed),
            counters: counters(),
        }
    }
}

/// CPU time in the kernel's ticks, of the CPUs this process may use: all, and stolen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CpuTime {
    all: u64,
    stolen: u64,
}

impl CpuTime {
    /// Reads the lines `cpuN user nice system idle iowait irq softirq steal …` of `/proc/stat`. The columns behind
    /// steal are guests' time, which user and nice already contain.
    fn read(files: &Files) -> Option<Self> {
        let ours = cpu::allowed(files, &mut Notes::default())?;
        let text = files.text("/proc/stat").ok()?;
        let mut sum = Self { all: 0, stolen: 0 };
        for line in text.lines() {
            let Some((cpu, ticks)) = line.strip_prefix("cpu").and_then(|line| line.split_once(' ')) else { continue };
            if cpu.parse().is_ok_and(|cpu| ours.contains(&cpu)) {
                let ticks: Vec<u64> =
                    ticks.split_ascii_whitespace().map_while(|tick| tick.parse().ok()).take(8).collect();
                sum.stolen += *ticks.get(7)?;
                sum.all += ticks.iter().sum::<u64>();
            }
        }
        (sum.all > 0).then_some(sum)
    }

    pub(super) fn steal_share_since(self, earlier: Self) -> Option<f64> {
        let all = self.all.checked_sub(earlier.all).filter(|&ticks| ticks > 0)?;
        Some(self.stolen.checked_sub(earlier.stolen)? as f64 / all as f64)
    }
}

/// Pressure stall information of the CPUs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pressure {
    /// Just before and just after it was read: the time between two readings is taken at its longest, so that no share
    /// comes out above 1.
    read: [Instant; 2],
    /// Microseconds in which some task waited for a CPU, since boot.
    some_us: u64,
}

impl Pressure {
    /// The line `some avg10=… total=MICROSECONDS` of `/proc/pressure/cpu`.
    fn read(files: &Files) -> Option<Self> {
        let before = Monotonic::now();
        let text = files.text("/proc/pressure/cpu").ok()?;
        let after = Monotonic::now();
        let some_us =
            text.lines().find_map(|line| line.strip_prefix("some ")?.rsplit_once("total=")?.1.parse().ok())?;
        Some(Self { read: [before, after], some_us })
    }

    pub(super) fn share_since(&self, earlier: Self) -> Option<f64> {
        let watched = self.read[1].since(earlier.read[0]).filter(|&span| span > Nanos::ZERO)?;
        Some(self.some_us.checked_sub(earlier.some_us)? as f64 * 1e3 / watched.0 as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_is_a_share_of_the_time_between_readings() {
        let reading = |at: u64, some_us| Pressure { read: [Instant(at), Instant(at + 100)], some_us };
        assert_eq!(reading(999_900, 800).share_since(reading(0, 300)), Some(0.5));
        assert_eq!(reading(0, 800).share_since(reading(999_900, 300)), None, "the clock went back");
    }
}
