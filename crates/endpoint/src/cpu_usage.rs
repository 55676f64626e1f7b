//! Use of the host's CPUs between two moments, from `/proc/stat` (the manual page of `proc_stat`).
//!
//! A CPU is busy when it is not idle: waiting for a disk and time stolen by a hypervisor count, as netperf has it too.
//! The kernel counts in ticks, usually of 10 ms: a shorter time shows nothing.

use std::collections::BTreeMap;

/// The CPU accounting's ticks per second: Linux shows user space 100, whatever it counts in itself.
pub const TICKS_PER_SECOND: u32 = 100;

/// Ticks of each CPU at one reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot(BTreeMap<u32, Times>);

/// Ticks of one CPU since the host was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Times {
    user: u64,
    system: u64,
    idle: u64,
    iowait: u64,
    irq: u64,
    softirq: u64,
    steal: u64,
}

/// CPU use, shares of 0 to 1, each the mean over the CPUs that were there all the time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// All but idle.
    pub busy_share: f64,
    /// Programs, niced ones and guests included.
    pub user_share: f64,
    /// The kernel.
    pub system_share: f64,
    /// Idle with a disk to wait for; busy all the same.
    pub iowait_share: f64,
    /// Interrupts.
    pub irq_share: f64,
    /// Software interrupts: most of what receiving costs.
    pub softirq_share: f64,
    /// The same of the CPU that has most of it.
    pub most_softirq_share: f64,
    /// Number of CPUs in the means.
    pub cpus: u32,
    /// Number of the busiest CPU.
    pub busiest: u32,
    /// Its own share, all but idle.
    pub busiest_share: f64,
}

impl Snapshot {
    /// Reads the ticks of the CPUs until now; `None` where the kernel does not report them.
    pub fn take() -> Option<Self> {
        Self::parse(&std::fs::read_to_string("/proc/stat").ok()?)
    }

    /// Reads the text of `/proc/stat`; `None` where no CPU is in it. Fields that a later kernel adds are passed over, ones
    /// that an older kernel lacks are 0.
    pub fn parse(text: &str) -> Option<Self> {
        let cpus: BTreeMap<u32, Times> = text.lines().filter_map(cpu).collect();
        (!cpus.is_empty()).then_some(Self(cpus))
    }

    /// CPUs in it.
    pub fn cpus(&self) -> u32 {
        self.0.len() as u32
    }

    /// Returns the CPU use since `earlier`; `None` where no tick has passed on any.
    pub fn since(&self, earlier: &Self) -> Option<Usage> {
        let spans: Vec<(u32, Times)> = self
            .0
            .iter()
            .filter_map(|(cpu, now)| Some((*cpu, now.since(earlier.0.get(cpu)?))))
            .filter(|(_, span)| span.total() > 0)
            .collect();
        let count = spans.len() as f64;
        let mean = |of: fn(&Times) -> u64| spans.iter().map(|(_, span)| span.share(of(span))).sum::<f64>() / count;
        // Among equally busy CPUs, the first.
        let (busiest, at_most) = spans.iter().rev().max_by(|one, other| one.1.busy().total_cmp(&other.1.busy()))?;
        Some(Usage {
            busy_share: spans.iter().map(|(_, span)| span.busy()).sum::<f64>() / count,
            user_share: mean(|span| span.user),
            system_share: mean(|span| span.system),
            iowait_share: mean(|span| span.iowait),
            irq_share: mean(|span| span.irq),
            softirq_share: mean(|span| span.softirq),
            most_softirq_share: spans.iter().map(|(_, span)| span.share(span.softirq)).fold(0.0, f64::max),
            cpus: spans.len() as u32,
            busiest: *busiest,
            busiest_share: at_most.busy(),
        })
    }
}

/// A line of one CPU; the line of all of them together has no number, and others are something else.
fn cpu(line: &str) -> Option<(u32, Times)> {
    let (number, fields) = line.strip_prefix("cpu")?.split_once(' ')?;
    let number = number.parse().ok()?;
    let mut ticks = fields.split_ascii_whitespace().map_while(|field| field.parse::<u64>().ok());
    // Time of guests, which follows, is in `user` and `nice` already.
    let (user, nice, system, idle) = (ticks.next()?, ticks.next()?, ticks.next()?, ticks.next()?);
    let mut next = || ticks.next().unwrap_or(0);
    let (iowait, irq, softirq, steal) = (next(), next(), next(), next());
    Some((number, Times { user: user.saturating_add(nice), system, idle, iowait, irq, softirq, steal }))
}

impl Times {
    /// The kernel's count of idle and iowait may go back a little: then nothing has passed.
    fn since(&self, earlier: &Self) -> Self {
        Self {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
            idle: self.idle.saturating_sub(earlier.idle),
            iowait: self.iowait.saturating_sub(earlier.iowait),
            irq: self.irq.saturating_sub(earlier.irq),
            softirq: self.softirq.saturating_sub(earlier.softirq),
            steal: self.steal.saturating_sub(earlier.steal),
        }
    }

    fn total(&self) -> u64 {
        let all = [self.user, self.system, self.idle, self.iowait, self.irq, self.softirq, self.steal];
        all.iter().fold(0, |sum, ticks| sum.saturating_add(*ticks))
    }

    fn share(&self, ticks: u64) -> f64 {
        ticks as f64 / self.total() as f64
    }

    fn busy(&self) -> f64 {
        1.0 - self.share(self.idle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "\
cpu  2000 0 1000 100000 0 0 0 0 0 0
cpu0 1000 0 500 50000 100 10 20 5 0 0
cpu1 1000 0 500 50000 100 10 20 5 0 0
intr 12345 0 9
ctxt 99
";
    const AFTER: &str = "\
cpu  2060 10 1080 100220 0 0 0 0 0 0
cpu0 1010 10 520 50050 105 11 22 7 40 0
cpu1 1040 0 510 50150 100 10 20 5 0 0
cpu2 10 0 0 0
intr 12399 0 9
";

    fn read(text: &str) -> Snapshot {
        Snapshot::parse(text).unwrap()
    }

    #[test]
    fn shares_are_means_over_the_cpus_and_all_but_idle_is_busy() {
        let usage = read(AFTER).since(&read(BEFORE)).unwrap();
        // CPU 0: 20 user, 20 system, 50 idle, 5 iowait, 1 irq, 2 softirq, 2 stolen: 100. CPU 1: 40, 10, 150: 200.
        let near = |seen: f64, expected: f64| assert!((seen - expected).abs() < 1e-12, "{seen} {expected}");
        near(usage.busy_share, f64::midpoint(0.5, 0.25));
        near(usage.user_share, f64::midpoint(0.2, 0.2));
        near(usage.system_share, f64::midpoint(0.2, 0.05));
        near(usage.iowait_share, 0.025);
        near(usage.irq_share, 0.005);
        near(usage.softirq_share, 0.01);
        near(usage.most_softirq_share, 0.02);
        assert_eq!((usage.cpus, usage.busiest), (2, 0), "the third was not there before");
        near(usage.busiest_share, 0.5);
    }

    #[test]
    fn no_tick_is_no_usage() {
        assert_eq!(read(BEFORE).since(&read(BEFORE)), None);
    }

    #[test]
    fn counts_that_go_back_are_none_passed() {
        let back = AFTER.replace("50050 105", "50050 90");
        let usage = read(&back).since(&read(BEFORE)).unwrap();
        assert!((usage.iowait_share, usage.busiest) == (0.0, 0), "{usage:?}");
    }

    #[test]
    fn an_old_kernel_has_fewer_fields_and_nonsense_has_no_cpu() {
        assert_eq!(read("cpu0 1 2 3 4").0[&0], Times { user: 3, system: 3, idle: 4, ..Times::default() });
        for nonsense in ["", "cpu 1 2 3 4", "cpu0 1 2 3", "cpux 1 2 3 4", "cpu0 a b c d", "cpu0"] {
            assert_eq!(Snapshot::parse(nonsense), None, "{nonsense}");
        }
        let huge = read("cpu0 18446744073709551615 18446744073709551615 18446744073709551615 18446744073709551615");
        assert!(huge.since(&read("cpu0 0 0 0 0")).unwrap().busy_share.is_finite());
    }

    #[test]
    fn this_host_tells() {
        let now = Snapshot::take().unwrap();
        assert!(now.cpus() >= 1);
    }
}
