//! Settings kept verbatim under their path: those that bear on the time of a round trip and have no field of their own.

use super::files::{Files, Notes};

/// Files whose text is kept as it stands.
pub(super) const PATHS: &[&str] = &[
    "/proc/sys/kernel/numa_balancing",
    "/proc/sys/kernel/sched_rt_runtime_us",
    "/proc/sys/net/core/busy_poll",
    "/proc/sys/net/core/busy_read",
    "/proc/sys/net/core/netdev_budget",
    "/proc/sys/net/core/netdev_budget_usecs",
    "/proc/sys/net/core/netdev_max_backlog",
    "/proc/sys/net/core/optmem_max",
    "/proc/sys/net/core/rmem_default",
    "/proc/sys/net/core/rmem_max",
    "/proc/sys/net/core/wmem_default",
    "/proc/sys/net/core/wmem_max",
    "/proc/sys/net/ipv4/icmp_echo_ignore_all",
    "/proc/sys/net/ipv4/icmp_msgs_per_sec",
    "/proc/sys/net/ipv4/icmp_ratelimit",
    "/proc/sys/net/ipv4/icmp_ratemask",
    "/proc/sys/net/ipv4/ping_group_range",
    "/proc/sys/net/ipv4/tcp_allowed_congestion_control",
    "/proc/sys/net/ipv4/tcp_autocorking",
    "/proc/sys/net/ipv4/tcp_available_congestion_control",
    "/proc/sys/net/ipv4/tcp_ecn",
    "/proc/sys/net/ipv4/tcp_limit_output_bytes",
    "/proc/sys/net/ipv4/tcp_min_rtt_wlen",
    "/proc/sys/net/ipv4/tcp_mtu_probing",
    "/proc/sys/net/ipv4/tcp_no_metrics_save",
    "/proc/sys/net/ipv4/tcp_notsent_lowat",
    "/proc/sys/net/ipv4/tcp_rmem",
    "/proc/sys/net/ipv4/tcp_sack",
    "/proc/sys/net/ipv4/tcp_slow_start_after_idle",
    "/proc/sys/net/ipv4/tcp_timestamps",
    "/proc/sys/net/ipv4/tcp_wmem",
    "/sys/devices/system/clocksource/clocksource0/available_clocksource",
    "/sys/devices/system/cpu/isolated",
    "/sys/devices/system/cpu/nohz_full",
    "/sys/kernel/mm/transparent_hugepage/enabled",
];

/// Files that belong to one maker's hardware or one way of building the kernel: kept where they are, and nothing is
/// said where they are not.
pub(super) const WHERE_PRESENT: &[&str] = &[
    "/sys/devices/system/cpu/amd_pstate/status",
    "/sys/devices/system/cpu/cpufreq/boost",
    "/sys/devices/system/cpu/intel_pstate/no_turbo",
    "/sys/devices/system/cpu/intel_pstate/status",
    "/sys/module/pcie_aspm/parameters/policy",
];

/// Words of the kernel's command line that bear on time; the others (roots, labels, whatever a deployer wrote) are not kept.
pub(super) const WORDS: &[&str] = &[
    "amd_pstate",
    "clocksource",
    "cpufreq.off",
    "cpuidle.off",
    "cpuidle_haltpoll.force",
    "haltpoll.guest_halt_poll_ns",
    "idle",
    "intel_idle.max_cstate",
    "intel_pstate",
    "irqaffinity",
    "isolcpus",
    "maxcpus",
    "mitigations",
    "nmi_watchdog",
    "nohlt",
    "nohz",
    "nohz_full",
    "nosmt",
    "nowatchdog",
    "pcie_aspm",
    "preempt",
    "processor.max_cstate",
    "rcu_nocbs",
    "skew_tick",
    "threadirqs",
    "transparent_hugepage",
    "tsc",
];

const MITIGATIONS: &str = "/sys/devices/system/cpu/vulnerabilities";

/// Reads what lasts as long as the host runs.
pub(super) fn read_lasting(files: &Files, notes: &mut Notes) {
    if let Some(line) = notes.fact(files, "/proc/cmdline") {
        notes.set("/proc/cmdline", words_about_time(&line));
    }
}

/// Reads all others.
pub(super) fn read(files: &Files, notes: &mut Notes) {
    for path in PATHS {
        notes.setting(files, path);
    }
    for path in WHERE_PRESENT {
        if let Ok(text) = files.text(path) {
            notes.set(*path, text);
        }
    }
    for name in files.names(MITIGATIONS) {
        notes.setting(files, &format!("{MITIGATIONS}/{name}"));
    }
    read_process(files, notes);
}

fn words_about_time(line: &str) -> String {
    let bears = |word: &&str| WORDS.contains(&word.split_once('=').map_or(*word, |(name, _)| name));
    line.split_ascii_whitespace().filter(bears).collect::<Vec<_>>().join(" ")
}

/// Reads the process's scheduling policy, niceness, capabilities, and the timer slack its threads inherit.
fn read_process(files: &Files, notes: &mut Notes) {
    notes.setting(files, "/proc/self/timerslack_ns");
    if let Some((policy, nice)) = notes.fact(files, "/proc/self/stat").and_then(|stat| parse_stat(&stat)) {
        notes.set("process.policy", policy);
        notes.set("process.nice", nice);
    }
    if let Ok(status) = files.text("/proc/self/status")
        && let Some(capabilities) = status.lines().find_map(|line| line.strip_prefix("CapEff:"))
    {
        notes.set("process.capabilities", capabilities.trim());
    }
}

/// Scheduling policy by name and niceness, from `/proc/self/stat` (proc(5): fields 41 and 19). The name in field 2 may
/// hold anything, brackets and spaces too, so counting starts behind its last bracket.
fn parse_stat(stat: &str) -> Option<(&'static str, i64)> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let policy = match *fields.get(38)? {
        "0" => "other",
        "1" => "fifo",
        "2" => "round-robin",
        "3" => "batch",
        "5" => "idle",
        "6" => "deadline",
        "7" => "ext",
        _ => return None,
    };
    Some((policy, fields.get(16)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_bear_on_time_are_kept() {
        let line = "BOOT_IMAGE=/vmlinuz root=UUID=1234 ro isolcpus=2,3 token=secret nosmt idle=poll quiet";
        assert_eq!(words_about_time(line), "isolcpus=2,3 nosmt idle=poll");
    }

    #[test]
    fn policy_and_niceness_are_found_behind_any_name() {
        let mut fields = vec!["0"; 50];
        fields[16] = "-5";
        fields[38] = "1";
        let stat = format!("42 (a) b) {}", fields.join(" "));
        assert_eq!(parse_stat(&stat), Some(("fifo", -5)));
        assert_eq!(parse_stat("42 (a"), None);
    }
}
