//! The resolution of a machine: the floor below every measurement made on it, and the conditions that would spoil one.
//!
//! Measured by `endpoint`, kept and shown by others. [`Resolution::judge`] names the conditions that would spoil a
//! measurement; its thresholds stand beside it. Not here: the judgement of a finished run ([`crate::verdict`]).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::unit::Nanos;

/// The resolution of a machine, as seen in a few seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resolution {
    /// The machine. Its `disturbance` is that of this look: run-queue delay and CPU pressure from the calm part, when
    /// one thread of ours ran and nothing else; steal and the rest from the whole.
    pub environment: Environment,
    /// Time that all of it took, nanoseconds.
    pub took_ns: Nanos,
    /// True where the program was built with optimisation; otherwise all costs of its own are too high.
    pub optimised_build: bool,
    /// Cost of reading the clock, and its smallest step.
    pub clock: ClockCost,
    /// Cost of recording one exchange, nanoseconds: median over batches.
    pub record_ns: Option<f64>,
    /// Lateness at an instant, by way of waiting and interval.
    pub lateness: Vec<Lateness>,
    /// From waking a thread to its running.
    pub wake_up: Vec<WakeUp>,
    /// Round trips over loopback, two threads: nothing measured on this machine's sockets can be below.
    pub loopback: Vec<LoopbackFloor>,
    /// Pauses of a thread that only reads the clock.
    pub hiccups: Option<Hiccups>,
    /// Conditions that would spoil a measurement here.
    pub spoilers: Vec<Spoiler>,
    /// Parts that could not be measured, and why.
    pub failed: Vec<String>,
}

/// The clock all round trips are measured with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockCost {
    /// Cost of a reading, nanoseconds: median over batches.
    pub read_ns: Option<f64>,
    /// The smallest difference other than 0 between consecutive readings, nanoseconds.
    pub smallest_step_ns: Option<Nanos>,
}

/// Times of one kind, in nanoseconds. A quantile is by nearest rank, and absent with fewer than 10 values beyond it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Times {
    /// Number of times.
    pub count: u64,
    /// Shortest, nanoseconds.
    pub min_ns: Option<Nanos>,
    /// Median, nanoseconds.
    pub p50_ns: Option<Nanos>,
    /// 99th percentile, nanoseconds.
    pub p99_ns: Option<Nanos>,
    /// 99.9th percentile, nanoseconds.
    pub p999_ns: Option<Nanos>,
    /// Longest, nanoseconds: a statistic of `count`.
    pub max_ns: Option<Nanos>,
}

impl Times {
    /// Those of `values`, nanoseconds in any order.
    ///
    /// ```
    /// use measure::resolution::Times;
    /// use measure::unit::Nanos;
    /// let times = Times::of((1..=100).collect());
    /// assert_eq!((times.p50_ns, times.p99_ns, times.max_ns), (Some(Nanos(50)), None, Some(Nanos(100))));
    /// ```
    pub fn of(mut values: Vec<u64>) -> Self {
        values.sort_unstable();
        let count = values.len();
        let quantile = |per_mille: usize| {
            let rank = (count * per_mille).div_ceil(1_000);
            (count >= rank + 10).then(|| Nanos(values[rank - 1]))
        };
        Self {
            count: count as u64,
            min_ns: values.first().copied().map(Nanos),
            p50_ns: quantile(500),
            p99_ns: quantile(990),
            p999_ns: quantile(999),
            max_ns: values.last().copied().map(Nanos),
        }
    }
}

/// A way of waiting for an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Keeping {
    /// Asleep, with the timer slack of 50 us that threads have by default. Nothing of ours paces so.
    SleepWithSlack,
    /// Asleep, timer slack 1 ns: pacing `sleep`.
    Sleep,
    /// Asleep until shortly before, then spinning: pacing `hybrid`.
    Hybrid,
    /// Spinning: pacing `spin`.
    Spin,
}

impl fmt::Display for Keeping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::SleepWithSlack => "sleep, slack 50 µs",
            Self::Sleep => "sleep",
            Self::Hybrid => "hybrid",
            Self::Spin => "spin",
        })
    }
}

/// Lateness at instants.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lateness {
    /// The way of waiting.
    pub keeping: Keeping,
    /// From instant to instant, nanoseconds. Instants are absolute: one kept late does not move the next.
    pub interval_ns: Nanos,
    /// The instant to the clock's first reading at or after it.
    pub late: Times,
    /// Share of the time the waiting thread was on a CPU, 0 to 1.
    pub cpu_share: Option<f64>,
}

/// Where the two threads of an exchange run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Both on one CPU.
    OneCpu,
    /// Each on its own.
    TwoCpus,
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::OneCpu => "one CPU",
            Self::TwoCpus => "two CPUs",
        })
    }
}

/// From just before the write that wakes a thread, asleep in a read of a pipe, to the clock's first reading by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WakeUp {
    /// Where waker and woken run.
    pub placement: Placement,
    /// Time that it took.
    pub times: Times,
}

/// Protocol of the round trips of a floor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FloorCarrier {
    /// A TCP connection.
    Tcp,
    /// UDP datagrams.
    Udp,
}

impl fmt::Display for FloorCarrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        })
    }
}

/// Round trips of 64 bytes over loopback, one outstanding, back to back.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoopbackFloor {
    /// Their protocol.
    pub carrier: FloorCarrier,
    /// True where both ends poll their socket rather than block.
    pub spinning: bool,
    /// Where the two ends run.
    pub placement: Placement,
    /// Round trips.
    pub round_trip: Times,
    /// Round trips a second.
    pub per_s: f64,
}

/// Pauses of a pinned thread that reads the clock and does nothing else: the CPU was taken away from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hiccups {
    /// Time for which it read, nanoseconds.
    pub watched_ns: Nanos,
    /// Gaps above 10 us between consecutive readings.
    pub count: u64,
    /// All of them together, nanoseconds.
    pub total_ns: Nanos,
    /// The longest gap of all, nanoseconds, below 10 us too.
    pub longest_ns: Nanos,
}

/// The least hiccup: far above a clock reading, and above most interrupts.
pub const HICCUP: Nanos = Nanos::micros(10);

/// Something that would spoil a measurement on this machine. Its text gives the observation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Spoiler {
    /// The program was built without optimisation.
    UnoptimisedBuild,
    /// There is one CPU for everything.
    OneCpu,
    /// A control group limits CPU time: a thread beyond it waits for the next period.
    CpuLimit {
        /// The limit, as `50000 us in 100000 us`.
        limit: String,
        /// Number of periods in which it held this process back while we looked.
        throttled: u64,
    },
    /// Two CPUs share a core.
    SharedCores,
    /// A frequency governor that lowers the frequency of an idle CPU.
    SavingGovernor {
        /// Its name.
        governor: String,
    },
    /// An idle CPU sleeps so deeply that waking takes long.
    DeepIdleState {
        /// The deepest state and its exit latency.
        state: String,
    },
    /// The machine is a guest: an idle CPU is given back to the host.
    Guest {
        /// The hypervisor.
        hypervisor: String,
    },
    /// Reading the clock is a system call.
    SlowClock {
        /// Cost of a reading, nanoseconds.
        read_ns: f64,
        /// The kernel's clock source.
        source: Option<String>,
    },
    /// The clock steps coarsely.
    CoarseClock {
        /// Its smallest step, nanoseconds.
        step_ns: Nanos,
    },
    /// The hypervisor gives CPU time to others.
    Steal {
        /// Share of the time, 0 to 1.
        share: f64,
    },
    /// A thread of ours was ready and waited for a CPU, with nothing else of ours running.
    RunQueueDelay {
        /// Share of the time, 0 to 1.
        share: f64,
    },
    /// Tasks wait for a CPU.
    CpuPressure {
        /// Share of the time, 0 to 1.
        share: f64,
    },
    /// A thread that only reads the clock is interrupted.
    Hiccups {
        /// Rate per second.
        per_s: f64,
        /// Share of the time lost, 0 to 1.
        share: f64,
        /// The longest, nanoseconds.
        longest_ns: Nanos,
    },
}

/// Above this a state's exit shows in a round trip on a local network, microseconds.
const DEEP_IDLE_US: u64 = 10;
/// A reading through the vDSO costs 20 to 50 ns; a system call 100 and more.
const SLOW_CLOCK_NS: f64 = 100.0;
/// Steps from here on show in three digits of a local round trip.
const COARSE_CLOCK: Nanos = Nanos(100);
/// Shares of time from which on a run counts as disturbed.
const RUN_QUEUE_SHARE: f64 = 0.01;
const STEAL_SHARE: f64 = 0.01;
const PRESSURE_SHARE: f64 = 0.10;
/// Hiccups matter when they take this share of the time, or one is this long.
const HICCUP_SHARE: f64 = 0.001;
const LONG_HICCUP: Nanos = Nanos::millis(1);

impl Resolution {
    /// Returns the conditions that would spoil a measurement here, from the observations; an absent one shows nothing.
    pub fn judge(&self) -> Vec<Spoiler> {
        let mut found = Vec::new();
        if !self.optimised_build {
            found.push(Spoiler::UnoptimisedBuild);
        }
        self.judge_machine(&mut found);
        self.judge_clock(&mut found);
        self.judge_disturbance(&mut found);
        found
    }

    fn judge_machine(&self, found: &mut Vec<Spoiler>) {
        let facts = &self.environment;
        if facts.cpus_allowed == Some(1) {
            found.push(Spoiler::OneCpu);
        }
        if let Some(limit) = facts.settings.get("cgroup.cpu_limit").filter(|limit| *limit != "none") {
            let throttled = facts.counters.get("cgroup.nr_throttled").copied().unwrap_or(0);
            found.push(Spoiler::CpuLimit { limit: limit.clone(), throttled: throttled.try_into().unwrap_or(0) });
        }
        if facts.smt == Some(true) {
            found.push(Spoiler::SharedCores);
        }
        let saving = facts.governors.iter().filter(|governor| *governor != "performance");
        found.extend(saving.map(|governor| Spoiler::SavingGovernor { governor: governor.clone() }));
        if let Some(state) = facts.deepest_idle_state.as_ref().filter(|state| exit_latency_us(state) > DEEP_IDLE_US) {
            found.push(Spoiler::DeepIdleState { state: state.clone() });
        }
        if let Some(hypervisor) = &facts.hypervisor {
            found.push(Spoiler::Guest { hypervisor: hypervisor.clone() });
        }
    }

    fn judge_clock(&self, found: &mut Vec<Spoiler>) {
        // Without optimisation the cost is that of our own code.
        if let Some(read_ns) = self.clock.read_ns.filter(|&cost| cost > SLOW_CLOCK_NS && self.optimised_build) {
            found.push(Spoiler::SlowClock { read_ns, source: self.environment.clock_source.clone() });
        }
        if let Some(step_ns) = self.clock.smallest_step_ns.filter(|&step| step > COARSE_CLOCK) {
            found.push(Spoiler::CoarseClock { step_ns });
        }
    }

    fn judge_disturbance(&self, found: &mut Vec<Spoiler>) {
        let seen = self.environment.disturbance.unwrap_or_default();
        let above = |share: Option<f64>, threshold: f64| share.filter(|&share| share > threshold);
        found.extend(above(seen.steal_share, STEAL_SHARE).map(|share| Spoiler::Steal { share }));
        found.extend(above(seen.run_queue_share, RUN_QUEUE_SHARE).map(|share| Spoiler::RunQueueDelay { share }));
        found.extend(above(seen.cpu_pressure_share, PRESSURE_SHARE).map(|share| Spoiler::CpuPressure { share }));
        if let Some(hiccups) = self.hiccups.filter(|hiccups| hiccups.watched_ns.0 > 0) {
            let share = hiccups.total_ns.0 as f64 / hiccups.watched_ns.0 as f64;
            if share > HICCUP_SHARE || hiccups.longest_ns > LONG_HICCUP {
                let per_s = hiccups.count as f64 / hiccups.watched_ns.as_secs_f64();
                found.push(Spoiler::Hiccups { per_s, share, longest_ns: hiccups.longest_ns });
            }
        }
    }
}

/// The number in `C6 133 us`; 0 where there is none.
fn exit_latency_us(state: &str) -> u64 {
    state.strip_suffix(" us").and_then(|state| state.rsplit(' ').next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Disturbance;

    fn sound() -> Resolution {
        Resolution {
            environment: Environment {
                cpus_allowed: Some(4),
                smt: Some(false),
                governors: vec!["performance".into()],
                deepest_idle_state: Some("C1E 10 us".into()),
                settings: [("cgroup.cpu_limit".into(), "none".into())].into(),
                disturbance: Some(Disturbance {
                    run_queue_share: Some(0.01),
                    steal_share: Some(0.0),
                    cpu_pressure_share: Some(0.1),
                    ..Disturbance::default()
                }),
                ..Environment::default()
            },
            optimised_build: true,
            clock: ClockCost { read_ns: Some(30.0), smallest_step_ns: Some(Nanos(10)) },
            hiccups: Some(Hiccups {
                watched_ns: Nanos::secs(1),
                count: 50,
                total_ns: Nanos::millis(1),
                longest_ns: Nanos::micros(100),
            }),
            ..Resolution::default()
        }
    }

    #[test]
    fn a_sound_machine_spoils_nothing_and_neither_does_an_unknown_one() {
        assert_eq!(sound().judge(), []);
        assert_eq!(Resolution { optimised_build: true, ..Resolution::default() }.judge(), []);
    }

    /// Makes a sound machine an unsound one.
    type Plant = fn(&mut Resolution);

    #[test]
    fn each_spoiler_is_named_when_planted_and_alone() {
        let planted: [(Spoiler, Plant); 14] = [
            (Spoiler::UnoptimisedBuild, |r| r.optimised_build = false),
            (Spoiler::OneCpu, |r| r.environment.cpus_allowed = Some(1)),
            (Spoiler::CpuLimit { limit: "5 us in 10 us".into(), throttled: 3 }, |r| {
                r.environment.settings.insert("cgroup.cpu_limit".into(), "5 us in 10 us".into());
                r.environment.counters.insert("cgroup.nr_throttled".into(), 3);
            }),
            (Spoiler::SharedCores, |r| r.environment.smt = Some(true)),
            (Spoiler::SavingGovernor { governor: "powersave".into() }, |r| {
                r.environment.governors.push("powersave".into());
            }),
            (Spoiler::DeepIdleState { state: "C6 133 us".into() }, |r| {
                r.environment.deepest_idle_state = Some("C6 133 us".into());
            }),
            (Spoiler::Guest { hypervisor: "KVM".into() }, |r| r.environment.hypervisor = Some("KVM".into())),
            (Spoiler::SlowClock { read_ns: 400.0, source: None }, |r| r.clock.read_ns = Some(400.0)),
            (Spoiler::CoarseClock { step_ns: Nanos(279) }, |r| r.clock.smallest_step_ns = Some(Nanos(279))),
            (Spoiler::Steal { share: 0.02 }, |r| disturb(r).steal_share = Some(0.02)),
            (Spoiler::RunQueueDelay { share: 0.02 }, |r| disturb(r).run_queue_share = Some(0.02)),
            (Spoiler::CpuPressure { share: 0.2 }, |r| disturb(r).cpu_pressure_share = Some(0.2)),
            (Spoiler::Hiccups { per_s: 50.0, share: 0.01, longest_ns: Nanos::micros(100) }, |r| {
                r.hiccups.as_mut().unwrap().total_ns = Nanos::millis(10);
            }),
            (Spoiler::Hiccups { per_s: 50.0, share: 0.001, longest_ns: Nanos::millis(4) }, |r| {
                r.hiccups.as_mut().unwrap().longest_ns = Nanos::millis(4);
            }),
        ];
        for (spoiler, plant) in planted {
            let mut machine = sound();
            plant(&mut machine);
            assert_eq!(machine.judge(), std::slice::from_ref(&spoiler));
        }
    }

    fn disturb(resolution: &mut Resolution) -> &mut Disturbance {
        resolution.environment.disturbance.as_mut().unwrap()
    }

    #[test]
    fn an_unoptimised_build_blames_no_clock() {
        let clock = ClockCost { read_ns: Some(400.0), ..ClockCost::default() };
        assert_eq!(Resolution { clock, ..Resolution::default() }.judge(), [Spoiler::UnoptimisedBuild]);
    }

    #[test]
    fn a_quantile_takes_ten_values_beyond_it() {
        let times = |n: u64| Times::of((1..=n).rev().collect());
        assert_eq!((times(19).p50_ns, times(20).p50_ns), (None, Some(Nanos(10))));
        assert_eq!((times(999).p99_ns, times(1_000).p99_ns), (None, Some(Nanos(990))));
        assert_eq!((times(9_999).p999_ns, times(10_000).p999_ns), (None, Some(Nanos(9_990))));
        assert_eq!(times(0), Times::default());
        assert_eq!((times(1).min_ns, times(1).max_ns), (Some(Nanos(1)), Some(Nanos(1))));
    }

    #[test]
    fn it_survives_its_own_json() {
        let mut whole = sound();
        whole.spoilers = vec![Spoiler::Guest { hypervisor: "KVM".into() }, Spoiler::OneCpu];
        whole.lateness.push(Lateness {
            keeping: Keeping::SleepWithSlack,
            interval_ns: Nanos::millis(1),
            late: Times::of(vec![5; 30]),
            cpu_share: None,
        });
        let text = serde_json::to_string(&whole).unwrap();
        assert!(text.contains(r#""keeping":"sleep-with-slack","interval_ns":1000000"#), "{text}");
        assert_eq!(serde_json::from_str::<Resolution>(&text).unwrap(), whole);
    }
}
