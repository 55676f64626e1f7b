//! What to try against what would spoil a measurement on a machine.

use measure::resolution::Spoiler;

/// What to try against what was seen.
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
