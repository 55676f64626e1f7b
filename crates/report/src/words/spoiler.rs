//! Words for what would spoil a measurement on a machine: the fact, and what to try.

use measure::resolution::{HICCUP, Spoiler};

use crate::number::percent;

/// The fact.
pub fn fact(spoiler: &Spoiler) -> String {
    match spoiler {
        Spoiler::UnoptimisedBuild => "this program was built without optimisation".to_owned(),
        Spoiler::OneCpu => "one CPU for both ends and everything else".to_owned(),
        Spoiler::CpuLimit { limit, throttled: 0 } => format!("CPU time is limited to {limit}"),
        Spoiler::CpuLimit { limit, throttled } => {
            format!("CPU time is limited to {limit}, and the limit stopped this process {throttled} times")
        }
        Spoiler::SharedCores => "CPUs share cores (SMT): a neighbour slows its sibling down".to_owned(),
        Spoiler::SavingGovernor { governor } => format!("frequency governor {governor}: an idle CPU gets slower"),
        Spoiler::DeepIdleState { state } => format!("an idle CPU sleeps as deep as {state}"),
        Spoiler::Guest { hypervisor } => format!("a guest of {hypervisor}: an idle CPU goes back to the host"),
        Spoiler::SlowClock { read_ns, source } => {
            let source = source.as_deref().unwrap_or("unknown");
            format!("reading the clock costs {read_ns:.0} ns, a system call each (clock source {source})")
        }
        Spoiler::CoarseClock { step_ns } => format!("the clock steps by {step_ns}"),
        Spoiler::Steal { share } => format!("the hypervisor took {} of the CPU time", percent(*share)),
        Spoiler::RunQueueDelay { share } => {
            format!("a thread ready to run waited for its CPU {} of the time", percent(*share))
        }
        Spoiler::CpuPressure { share } => format!("some task waited for a CPU {} of the time", percent(*share)),
        Spoiler::Hiccups { per_s, share, longest_ns } => format!(
            "a spinning thread is interrupted {per_s:.0} times a second for more than {HICCUP}, {} of the time, at most {longest_ns}",
            percent(*share)
        ),
    }
}

/// The action to try.
pub fn advice(spoiler: &Spoiler) -> &'static str {
    match spoiler {
        Spoiler::UnoptimisedBuild => "build with --release",
        Spoiler::OneCpu => "give the process a second CPU; the reflector belongs on another than the sender",
        Spoiler::CpuLimit { .. } => "raise the control group's CPU limit, and never spin under one",
        Spoiler::SharedCores => "pin the threads to CPUs of different cores, and keep the siblings idle",
        Spoiler::SavingGovernor { .. } => "set the governor to performance, or compare only at one interval",
        Spoiler::DeepIdleState { .. } => {
            "hold /dev/cpu_dma_latency at 0 or boot with idle states limited, or state the interval with each result"
        }
        Spoiler::Guest { .. } => {
            "expect waking to cost more after idle time; spin pacing and waiting on both ends shows how much"
        }
        Spoiler::SlowClock { .. } => "see why the kernel left the TSC: the clock source, and dmesg for `clocksource`",
        Spoiler::CoarseClock { .. } => "do not read single values below this step; look at the clock source",
        Spoiler::Steal { .. } => {
            "use a machine with CPUs of its own, or compare medians and minima, not means or rates"
        }
        Spoiler::RunQueueDelay { .. } => "stop what else runs here, pin to a free CPU, or use real-time priority",
        Spoiler::CpuPressure { .. } => "stop what else runs here, or compare medians and minima, not means or rates",
        Spoiler::Hiccups { .. } => "pin to another CPU, or isolate one (isolcpus, nohz_full, irqaffinity)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_has_its_figures() {
        let limit = |throttled| fact(&Spoiler::CpuLimit { limit: "5 us in 10 us".into(), throttled });
        assert_eq!(limit(0), "CPU time is limited to 5 us in 10 us");
        assert!(limit(3).ends_with("stopped this process 3 times"));
        assert_eq!(fact(&Spoiler::Steal { share: 0.042 }), "the hypervisor took 4.2 % of the CPU time");
    }
}
