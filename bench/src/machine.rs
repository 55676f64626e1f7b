//! The machine and the revision that a table was made with. No name of a host enters.

use std::fs;
use std::path::Path;
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
    /// Git revision that the measured program was built from, `-dirty` where files were changed; a quick build does not know it.
    pub revision: Option<String>,
}

impl Machine {
    /// This machine and the sonde at `program`; `clock_read_ns` as measured.
    pub fn here(program: &Path, clock_read_ns: Option<f64>) -> Self {
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
            revision: revision_of(program),
        }
    }
}

fn line_of(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// The first digits of the revision that `program` says it was built from: the checkout around it may be another's.
fn revision_of(program: &Path) -> Option<String> {
    let output = Command::new(program).args(["--version", "--verbose"]).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let revision = text.lines().find_map(|line| line.strip_prefix("revision:"))?.trim();
    let (hash, changed) = revision.split_once('-').map_or((revision, ""), |(hash, _)| (hash, "-dirty"));
    Some(format!("{}{changed}", hash.get(..12).unwrap_or(hash)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use test_case::test_case;

    use super::*;

    #[test_case("echo sonde 1; echo revision: 0123456789abcdef", Some("0123456789ab"); "first digits")]
    #[test_case("echo revision: 0123456789abcdef-dirty", Some("0123456789ab-dirty"); "changed files")]
    #[test_case("echo sonde 1", None; "a quick build")]
    fn the_revision_is_the_measured_programs(script: &str, revision: Option<&str>) {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("sonde");
        fs::write(&program, format!("#!/bin/sh\n[ \"$*\" = '--version --verbose' ] && {{ {script}; }}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(revision_of(&program).as_deref(), revision);
    }
}
