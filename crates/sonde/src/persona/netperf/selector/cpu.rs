//! Selectors of CPU use and what it cost.

use super::host::DEPRECATED;
use super::{Row, always, int_or, row, three, two};
use crate::persona::netperf::unit::Unit;
use crate::persona::netperf::view::View;

/// Use, method and service demand.
pub(super) const ROWS: [Row; 17] = [
    row("LOCAL_CPU_UTIL", &["Local", "CPU", "Util", "%"], |v| two(v.figures.cpu_percent.local.unwrap_or(-1.0))),
    row("LOCAL_CPU_PERCENT_USER", &["Local", "CPU", "User", "%"], |v| {
        two(v.local().cpu.map_or(0.0, |cpu| cpu.user_percent))
    }),
    row("LOCAL_CPU_PERCENT_SYSTEM", &["Local", "CPU", "System", "%"], |v| {
        two(v.local().cpu.map_or(0.0, |cpu| cpu.system_percent))
    }),
    row("LOCAL_CPU_PERCENT_IOWAIT", &["Local", "CPU", "I/O", "%"], |v| {
        two(v.local().cpu.map_or(0.0, |cpu| cpu.iowait_percent))
    }),
    row("LOCAL_CPU_PERCENT_IRQ", &["Local", "CPU", "IRQ", "%"], |v| {
        two(v.local().cpu.map_or(0.0, |cpu| cpu.irq_percent))
    }),
    row("LOCAL_CPU_PERCENT_SWINTR", &["Local", "CPU", "swintr", "%"], |v| {
        two(v.local().cpu.map_or(0.0, |cpu| cpu.softirq_percent))
    }),
    row("LOCAL_CPU_METHOD", &["Local", "CPU", "Util", "Method"], |v| {
        Some(v.local().cpu.map_or('U', |cpu| cpu.method).to_string())
    }),
    row("LOCAL_SD", &["Local", "Service", "Demand"], |v| three(v.figures.service_demand.local.unwrap_or(-1.0))),
    row("REMOTE_CPU_UTIL", &["Remote", "CPU", "Util", "%"], |v| two(v.figures.cpu_percent.remote.unwrap_or(-1.0))),
    row("REMOTE_CPU_PERCENT_USER", &["Remote", "CPU", "User", "%"], |v| {
        two(v.remote().cpu.map_or(0.0, |cpu| cpu.user_percent))
    }),
    row("REMOTE_CPU_PERCENT_SYSTEM", &["Remote", "CPU", "System", "%"], |v| {
        two(v.remote().cpu.map_or(0.0, |cpu| cpu.system_percent))
    }),
    row("REMOTE_CPU_PERCENT_IOWAIT", &["Remote", "CPU", "I/O", "%"], |v| {
        two(v.remote().cpu.map_or(0.0, |cpu| cpu.iowait_percent))
    }),
    row("REMOTE_CPU_PERCENT_IRQ", &["Remote", "CPU", "IRQ", "%"], |v| {
        two(v.remote().cpu.map_or(0.0, |cpu| cpu.irq_percent))
    }),
    row("REMOTE_CPU_PERCENT_SWINTR", &["Remote", "CPU", "swintr", "%"], |v| {
        two(v.remote().cpu.map_or(0.0, |cpu| cpu.softirq_percent))
    }),
    row("REMOTE_CPU_METHOD", &["Remote", "CPU", "Util", "Method"], |v| {
        Some(v.remote().cpu.map_or('U', |cpu| cpu.method).to_string())
    }),
    row("REMOTE_SD", &["Remote", "Service", "Demand"], |v| three(v.figures.service_demand.remote.unwrap_or(-1.0))),
    row("SD_UNITS", &["Service", "Demand", "Units"], |v| Some(service_demand_unit(v).to_owned())),
];

/// Bindings, counts and the busiest CPU.
pub(super) const COUNTS: [Row; 12] = [
    row("LOCAL_CPU_BIND", &["Local", "CPU", "Bind"], |v| int_or(v.options.bind_cpu.local, -1)),
    row("LOCAL_CPU_COUNT", &["Local", "CPU", "Count"], |v| int_or(v.local().cpu.map(|cpu| cpu.count), 0)),
    row("LOCAL_CPU_PEAK_UTIL", &["Local", "Peak", "Per CPU", "Util %"], |v| {
        two(v.local().cpu.map_or(-1.0, |cpu| cpu.peak_percent))
    }),
    row("LOCAL_CPU_PEAK_ID", &["Local", "Peak", "Per CPU", "ID"], |v| int_or(v.local().cpu.map(|cpu| cpu.peak_id), -1)),
    always("LOCAL_CPU_MODEL", &["Local", "CPU", "Model"], DEPRECATED),
    always("LOCAL_CPU_FREQUENCY", &["Local", "CPU", "Frequency", "MHz"], "0"),
    row("REMOTE_CPU_BIND", &["Remote", "CPU", "Bind"], |v| int_or(v.options.bind_cpu.remote, -1)),
    row("REMOTE_CPU_COUNT", &["Remote", "CPU", "Count"], |v| int_or(v.remote().cpu.map(|cpu| cpu.count), 0)),
    row("REMOTE_CPU_PEAK_UTIL", &["Remote", "Peak", "Per CPU", "Util %"], |v| {
        two(v.remote().cpu.map_or(0.0, |cpu| cpu.peak_percent))
    }),
    row("REMOTE_CPU_PEAK_ID", &["Remote", "Peak", "Per CPU", "ID"], |v| {
        int_or(v.remote().cpu.map(|cpu| cpu.peak_id), 0)
    }),
    always("REMOTE_CPU_MODEL", &["Remote", "CPU", "Model"], DEPRECATED),
    always("REMOTE_CPU_FREQUENCY", &["Remote", "CPU", "Frequency", "MHz"], "0"),
];

/// Microseconds of CPU a transaction, or a `KByte` of 1024 bytes.
fn service_demand_unit(v: &View<'_>) -> &'static str {
    if v.options.display.unit == Unit::Transactions { "usec/Tran" } else { "usec/KB" }
}
