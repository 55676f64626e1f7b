//! CPUs: model, which may be used, shared cores, frequency governors, idle states, and the hypervisor under them.

use std::collections::{BTreeMap, BTreeSet};

use measure::environment::Environment;

use super::files::{Files, Notes};

const CPUS: &str = "/sys/devices/system/cpu";

/// Fills in the CPU's facts that last as long as the host runs.
pub(super) fn read_lasting(files: &Files, facts: &mut Environment, notes: &mut Notes) {
    let cpuinfo = notes.fact(files, "/proc/cpuinfo").unwrap_or_default();
    facts.cpu_model = model(&cpuinfo);
    if facts.cpu_model.is_none() && !cpuinfo.is_empty() {
        notes.unread("CPU model", "/proc/cpuinfo names none");
    }
    read_machine(files, facts, notes);
    facts.hypervisor = hypervisor(files, &cpuinfo, facts.machine.as_deref(), notes);
}

/// Fills in the CPU's other facts.
pub(super) fn read(files: &Files, facts: &mut Environment, notes: &mut Notes) {
    let allowed = allowed(files, notes);
    facts.cpus_allowed = allowed.as_ref().map(|cpus| cpus.len() as u32);
    facts.only_cpu = allowed.and_then(|cpus| <[u32; 1]>::try_from(cpus).ok()).map(|[cpu]| cpu);
    facts.cpus_online =
        notes.fact(files, &format!("{CPUS}/online")).and_then(|list| Some(parse_list(&list)?.len() as u32));
    facts.smt = notes.fact(files, &format!("{CPUS}/smt/active")).map(|active| active == "1");
    read_frequency(files, facts, notes);
    read_idle(files, facts, notes);
}

/// CPUs the process may run on, from its first thread: others may be pinned to fewer.
pub(super) fn allowed(files: &Files, notes: &mut Notes) -> Option<Vec<u32>> {
    let status = notes.fact(files, "/proc/self/status")?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    parse_list(list.trim())
}

/// `0-2,8` as 0, 1, 2, 8; `None` for text that is no such list.
pub(super) fn parse_list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cpus.extend(first.parse::<u32>().ok()?..=last.parse().ok()?);
    }
    Some(cpus)
}

/// The first value of `key` in the style of `/proc/cpuinfo`.
fn value<'a>(cpuinfo: &'a str, key: &str) -> Option<&'a str> {
    cpuinfo.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    })
}

fn model(cpuinfo: &str) -> Option<String> {
    // x86 has a name; Arm has numbers of maker and part; others say `cpu`.
    let arm =
        || Some(format!("Arm implementer {} part {}", value(cpuinfo, "CPU implementer")?, value(cpuinfo, "CPU part")?));
    value(cpuinfo, "model name").map(str::to_owned).or_else(arm).or_else(|| value(cpuinfo, "cpu").map(str::to_owned))
}

fn read_machine(files: &Files, facts: &mut Environment, notes: &mut Notes) {
    const DMI: &str = "/sys/class/dmi/id";
    /// Asset tag that Microsoft's cloud writes, the same on each machine; any other tag may be an owner's and is not
    /// kept.
    const AZURE: &str = "7783-7084-3265-9085-8269-3286-77";
    let parts = ["sys_vendor", "product_name"].map(|name| files.text(&format!("{DMI}/{name}")));
    let known: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    if known.is_empty() {
        notes.unread(DMI, "no maker or product there");
    } else {
        facts.machine = Some(known.join(" "));
    }
    if files.text(&format!("{DMI}/chassis_asset_tag")).is_ok_and(|tag| tag == AZURE) {
        notes.set(format!("{DMI}/chassis_asset_tag"), AZURE);
    }
}

/// The hypervisor's name where there is one. On a CPU that has no flag for it (Arm), what Xen or the device tree says.
fn hypervisor(files: &Files, cpuinfo: &str, machine: Option<&str>, notes: &mut Notes) -> Option<String> {
    if let Ok(kind) = files.text("/sys/hypervisor/type") {
        return Some(kind);
    }
    if let Ok(compatible) = files.text("/proc/device-tree/hypervisor/compatible") {
        return Some(compatible.trim_end_matches('\0').to_owned());
    }
    let Some(flags) = value(cpuinfo, "flags") else {
        notes.unread("hypervisor", "this CPU's flags do not tell");
        return None;
    };
    if !flags.split_ascii_whitespace().any(|flag| flag == "hypervisor") {
        return None;
    }
    let signature = if files.is_live() { signature() } else { None };
    Some(signature.or_else(|| machine.map(str::to_owned)).unwrap_or_else(|| "present, unnamed".to_owned()))
}

/// The name a hypervisor gives itself, CPUID leaf 0x40000000.
#[cfg(target_arch = "x86_64")]
fn signature() -> Option<String> {
    let leaf = std::arch::x86_64::__cpuid(0x4000_0000);
    let bytes: Vec<u8> = [leaf.ebx, leaf.ecx, leaf.edx].into_iter().flat_map(u32::to_le_bytes).collect();
    let name: String = bytes.into_iter().take_while(|&byte| byte != 0).map(char::from).collect();
    let name = name.trim();
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_graphic() || c == ' ');
    plain.then(|| match name {
        "KVMKVMKVM" => "KVM".to_owned(),
        "Microsoft Hv" => "Hyper-V".to_owned(),
        "VMwareVMware" => "VMware".to_owned(),
        "XenVMMXenVMM" => "Xen".to_owned(),
        other => other.to_owned(),
    })
}

#[cfg(not(target_arch = "x86_64"))]
fn signature() -> Option<String> {
    None
}

/// Folders of single CPUs, `cpu0` and up.
fn cpu_folders(files: &Files) -> Vec<String> {
    let is_cpu = |name: &String| {
        name.strip_prefix("cpu").is_some_and(|n| !n.is_empty() && n.bytes().all(|digit| digit.is_ascii_digit()))
    };
    files.names(CPUS).into_iter().filter(is_cpu).map(|name| format!("{CPUS}/{name}")).collect()
}

/// Each value of `file` over all CPUs, once.
fn distinct(files: &Files, file: &str) -> BTreeSet<String> {
    cpu_folders(files).iter().filter_map(|cpu| files.text(&format!("{cpu}/{file}")).ok()).collect()
}

fn read_frequency(files: &Files, facts: &mut Environment, notes: &mut Notes) {
    facts.governors = distinct(files, "cpufreq/scaling_governor").into_iter().collect();
    if facts.governors.is_empty() {
        notes.unread(&format!("{CPUS}/cpu*/cpufreq"), "this kernel does not set frequencies here");
        return;
    }
    for file in ["cpufreq/energy_performance_preference", "cpufreq/scaling_driver"] {
        let values: Vec<String> = distinct(files, file).into_iter().collect();
        if !values.is_empty() {
            notes.set(format!("{CPUS}/cpu*/{file}"), values.join(", "));
        }
    }
    let khz: Vec<u64> =
        distinct(files, "cpufreq/scaling_cur_freq").iter().filter_map(|frequency| frequency.parse().ok()).collect();
    if let (Some(least), Some(most)) = (khz.iter().min(), khz.iter().max()) {
        notes.set(format!("{CPUS}/cpu*/cpufreq/scaling_cur_freq"), format!("{least} to {most} kHz"));
    }
}

fn read_idle(files: &Files, facts: &mut Environment, notes: &mut Notes) {
    // The kernel says `none` where no driver is loaded: a fact, and then there are no states.
    facts.idle_driver = notes.fact(files, &format!("{CPUS}/cpuidle/current_driver")).filter(|driver| driver != "none");
    if let Ok(governor) = files
        .text(&format!("{CPUS}/cpuidle/current_governor_ro"))
        .or_else(|_| files.text(&format!("{CPUS}/cpuidle/current_governor")))
    {
        notes.set(format!("{CPUS}/cpuidle/current_governor"), governor);
    }
    for file in files.names("/sys/module/haltpoll/parameters") {
        notes.setting(files, &format!("/sys/module/haltpoll/parameters/{file}"));
    }
    let deepest = idle_states(files).into_iter().filter(|state| state.enabled).max_by_key(|state| state.latency_us);
    facts.deepest_idle_state = deepest.map(|state| format!("{} {} us", state.name, state.latency_us));
}

/// One idle state of one CPU.
struct IdleState {
    name: String,
    enabled: bool,
    latency_us: u64,
    usage: Option<i64>,
    time_us: Option<i64>,
}

fn idle_states(files: &Files) -> Vec<IdleState> {
    let mut states = Vec::new();
    for cpu in cpu_folders(files) {
        for state in files.names(&format!("{cpu}/cpuidle")) {
            let at = |file: &str| format!("{cpu}/cpuidle/{state}/{file}");
            let (Ok(name), Some(latency_us)) = (files.text(&at("name")), files.number(&at("latency"))) else {
                continue;
            };
            states.push(IdleState {
                name,
                enabled: files.text(&at("disable")).is_ok_and(|disabled| disabled == "0"),
                latency_us,
                usage: files.number(&at("usage")),
                time_us: files.number(&at("time")),
            });
        }
    }
    states
}

/// Passes on the entries into each idle state and the microseconds in it, over all CPUs: `cpuidle.C6.usage`,
/// `….time_us`.
pub(super) fn idle_counters(files: &Files, mut take: impl FnMut(&str, &str, i64)) {
    let mut sums: BTreeMap<(&str, &str), i64> = BTreeMap::new();
    let states = idle_states(files);
    for state in &states {
        for (what, value) in [("usage", state.usage), ("time_us", state.time_us)] {
            if let Some(value) = value {
                *sums.entry((&state.name, what)).or_default() += value;
            }
        }
    }
    for ((state, what), value) in sums {
        take(state, what, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case("0-2,8", &[0, 1, 2, 8])]
    #[test_case("3", &[3])]
    #[test_case("", &[]; "none")]
    fn a_list_of_cpus_is_read(text: &str, cpus: &[u32]) {
        assert_eq!(parse_list(text).as_deref(), Some(cpus));
    }

    #[test_case("0-"; "open range")]
    #[test_case("a"; "no number")]
    fn what_is_no_list_is_absent(text: &str) {
        assert_eq!(parse_list(text), None);
    }

    #[test]
    fn an_arm_model_is_told_by_its_numbers() {
        let cpuinfo = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert_eq!(model(cpuinfo).as_deref(), Some("Arm implementer 0x41 part 0xd0c"));
        assert_eq!(model("processor : 0\n"), None);
    }
}
