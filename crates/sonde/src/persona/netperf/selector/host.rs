//! Selectors of the hosts, most of which the original no longer fills, and of the run's own words.

use super::{Row, always, int, int_or, row};

/// System, interface, pace, security, brand.
pub(super) const ROWS: [Row; 46] = [
    always("LOCAL_SYSNAME", &["Local", "Sysname"], DEPRECATED),
    always("LOCAL_SYSTEM_MODEL", &["Local", "System", "Model"], DEPRECATED),
    always("LOCAL_RELEASE", &["Local", "Release"], DEPRECATED),
    always("LOCAL_VERSION", &["Local", "Version"], DEPRECATED),
    always("LOCAL_MACHINE", &["Local", "Machine"], DEPRECATED),
    always("REMOTE_SYSNAME", &["Remote", "Sysname"], DEPRECATED),
    always("REMOTE_SYSTEM_MODEL", &["Remote", "System", "Model"], DEPRECATED),
    always("REMOTE_RELEASE", &["Remote", "Release"], DEPRECATED),
    always("REMOTE_VERSION", &["Remote", "Version"], DEPRECATED),
    always("REMOTE_MACHINE", &["Remote", "Machine"], DEPRECATED),
    always("LOCAL_INTERFACE_NAME", &["Local", "Interface", "Name"], DEPRECATED),
    always("LOCAL_INTERFACE_VENDOR", &["Local", "Interface", "Vendor"], "0xfffffffe"),
    always("LOCAL_INTERFACE_DEVICE", &["Local", "Interface", "Device"], "0xfffffffe"),
    always("LOCAL_INTERFACE_SUBVENDOR", &["Local", "Interface", "Subvendor"], "0xfffffffe"),
    always("LOCAL_INTERFACE_SUBDEVICE", &["Local", "Interface", "Subdevice"], "0xfffffffe"),
    always("LOCAL_DRIVER_NAME", &["Local", "Driver", "Name"], DEPRECATED),
    always("LOCAL_DRIVER_VERSION", &["Local", "Driver", "Version"], DEPRECATED),
    always("LOCAL_DRIVER_FIRMWARE", &["Local", "Driver", "Firmware"], DEPRECATED),
    always("LOCAL_DRIVER_BUS", &["Local", "Driver", "Bus"], DEPRECATED),
    always("LOCAL_INTERFACE_SLOT", &["Local", "Interface", "Slot"], DEPRECATED),
    always("REMOTE_INTERFACE_NAME", &["Remote", "Interface", "Name"], DEPRECATED),
    always("REMOTE_INTERFACE_VENDOR", &["Remote", "Interface", "Vendor"], "0xfffffffe"),
    always("REMOTE_INTERFACE_DEVICE", &["Remote", "Interface", "Device"], "0xfffffffe"),
    always("REMOTE_INTERFACE_SUBVENDOR", &["Remote", "Interface", "Subvendor"], "0xfffffffe"),
    always("REMOTE_INTERFACE_SUBDEVICE", &["Remote", "Interface", "Subdevice"], "0xfffffffe"),
    always("REMOTE_DRIVER_NAME", &["Remote", "Driver", "Name"], DEPRECATED),
    always("REMOTE_DRIVER_VERSION", &["Remote", "Driver", "Version"], DEPRECATED),
    always("REMOTE_DRIVER_FIRMWARE", &["Remote", "Driver", "Firmware"], DEPRECATED),
    always("REMOTE_DRIVER_BUS", &["Remote", "Driver", "Bus"], DEPRECATED),
    always("REMOTE_INTERFACE_SLOT", &["Remote", "Interface", "Slot"], DEPRECATED),
    row("LOCAL_INTERVAL_USECS", &["Local", "Interval", "Usecs"], |v| int(v.options.pace.local.interval_us())),
    row("LOCAL_INTERVAL_BURST", &["Local", "Interval", "Burst"], |v| int(v.options.pace.local.burst)),
    row("REMOTE_INTERVAL_USECS", &["Remote", "Interval", "Usecs"], |v| int(v.options.pace.remote.interval_us())),
    row("REMOTE_INTERVAL_BURST", &["Remote", "Interval", "Burst"], |v| int(v.options.pace.remote.burst)),
    always("LOCAL_SECURITY_TYPE_ID", &["Local", "OS", "Security", "Type ID"], "0"),
    always("LOCAL_SECURITY_TYPE", &["Local", "OS", "Security", "Type"], DEPRECATED),
    always("LOCAL_SECURITY_ENABLED_NUM", &["Local", "OS", "Security", "Enabled Num"], "0"),
    always("LOCAL_SECURITY_ENABLED", &["Local", "OS", "Security", "Enabled"], DEPRECATED),
    always("LOCAL_SECURITY_SPECIFIC", &["Local", "OS", "Security", "Specific"], DEPRECATED),
    always("REMOTE_SECURITY_TYPE_ID", &["Remote", "OS", "Security", "Type"], "0"),
    always("REMOTE_SECURITY_TYPE", &["Remote", "OS", "Security", "Type"], DEPRECATED),
    always("REMOTE_SECURITY_ENABLED_NUM", &["Remote", "OS", "Security", "Enabled"], "0"),
    always("REMOTE_SECURITY_ENABLED", &["Remote", "OS", "Security", "Enabled"], DEPRECATED),
    always("REMOTE_SECURITY_SPECIFIC", &["Remote", "OS", "Security", "Specific"], DEPRECATED),
    row("RESULT_BRAND", &["Result", "Tag"], |v| v.options.display.brand.as_ref().map(|brand| quoted(brand))),
    row("UUID", &["Test", "UUID"], |v| Some(v.facts.uuid.clone())),
];

/// Priority, congestion control, files, command line.
pub(super) const LAST: [Row; 9] = [
    row("LOCAL_SOCKET_PRIO", &["Local", "Socket", "Priority"], |v| int_or(v.local().priority, -1)),
    row("REMOTE_SOCKET_PRIO", &["Remote", "Socket", "Priority"], |v| int_or(v.remote().priority, -1)),
    row("LOCAL_SOCKET_TOS", &["Local", "Socket", "TOS"], |v| Some(tos(v.local().tos))),
    row("REMOTE_SOCKET_TOS", &["Remote", "Socket", "TOS"], |v| Some(tos(v.remote().tos))),
    row("LOCAL_CONG_CONTROL", &["Local", "Congestion", "Control", "Algorithm"], |v| {
        Some(v.local().congestion.clone().unwrap_or_default())
    }),
    row("REMOTE_CONG_CONTROL", &["Remote", "Congestion", "Control", "Algorithm"], |v| {
        Some(v.remote().congestion.clone().unwrap_or_default())
    }),
    row("LOCAL_FILL_FILE", &["Local", "Fill", "File"], |v| Some(v.options.fill_file.local.clone().unwrap_or_default())),
    row("REMOTE_FILL_FILE", &["Remote", "Fill", "File"], |v| {
        Some(v.options.fill_file.remote.clone().unwrap_or_default())
    }),
    row("COMMAND_LINE", &["Command", "Line"], |v| Some(quoted(&v.options.command_line))),
];

/// Value of the original where it no longer looks.
pub(super) const DEPRECATED: &str = "Deprecated";

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

/// All bits set where none was set.
fn tos(octet: Option<u8>) -> String {
    octet.map_or_else(|| "0xffffffff".to_owned(), |octet| format!("0x{octet:02x}"))
}
