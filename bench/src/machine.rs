//! The machine and the revision that a table was made with. No name of a host enters.

use std::fs;
use std::process::Command;

use serde::Serialize;

/// Facts of the machine above a table. A fact that could not be read is absent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Machine {
    /// Kernel release.
    pub kernel: Option<String>,
    /// CPU model.
    pub cpu: Option<String>,
    /// CPUs of the machine.
    pub cpus: Option<usize>,
    /// True where it is a guest of a hypervisor.
    pub guest: Option<bool>,
    /// Congestion control of a new TCP socket: both sides have it.
    pub congestion: Option<String>,
    /// Cost of a clock read, nanoseconds, by `clockcost`.
    pub clock_read_ns: Option<f64>,
    /// Tasks that were running or waiting to run over the last minute, when the bench began.
    pub load: Option<f64>,
    /// Git revision of what was measured; `+` where files were changed since.
    pub revision: Option<String>,
}

impl Machine {
    /// This machine; `clock_read_ns` as measured.
    pub fn here(clock_read_ns: Option<f64>) -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").ok();
        let field = |key: &str| {
            let text = cpuinfo.as_deref()?;
            let line = text.lines().find(|line| line.starts_with(key))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        Self {
            kernel: line_of("/proc/sys/kernel/osrelease"),
            cpu: field("model name"),
            cpus: cpuinfo.as_deref().map(|text| text.lines().filter(|line| line.starts_with("processor")).count()),
            guest: field("flags").map(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
            congestion: line_of("/proc/sys/net/ipv4/tcp_congestion_control"),
            clock_read_ns,
            load: line_of("/proc/loadavg").and_then(|line| line.split(' ').next()?.parse().ok()),
            revision: revision(),
        }
    }
}

fn line_of(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn revision() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let hash = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changed = !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    Some(if changed { format!("{hash}+") } else { hash })
}
