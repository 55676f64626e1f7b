//! Files and connections, by Landlock: those that a server may still open. Open ones stay open.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, LandlockStatus, RestrictionStatus, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use super::{Extent, Missing, Needs};

/// The newest of which something is used here: access to devices (5), signals to others (6).
const KNOWN: ABI = ABI::V6;
/// Folders of the host's facts that are reported with a measurement.
const SYSTEM: [&str; 6] =
    ["/sys/class", "/sys/devices", "/sys/fs/cgroup", "/sys/module", "/sys/hypervisor", "/sys/kernel/mm"];

/// Bounds what is opened from here on.
pub(super) fn bound(needs: &Needs) -> Result<Extent, Missing> {
    let status = restrict(needs).map_err(|error| Missing::Refused(error.to_string()))?;
    match (status.ruleset, status.landlock) {
        (RulesetStatus::FullyEnforced, _) => Ok(Extent::Whole),
        (RulesetStatus::PartiallyEnforced, _) => Ok(Extent::Part),
        (RulesetStatus::NotEnforced, LandlockStatus::NotEnabled) => Err(Missing::Disabled),
        (RulesetStatus::NotEnforced, _) => Err(Missing::Absent),
    }
}

fn restrict(needs: &Needs) -> Result<RestrictionStatus, RulesetError> {
    let read = AccessFs::from_read(KNOWN) & !AccessFs::Execute;
    let write =
        AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::MakeReg | AccessFs::RemoveFile;
    let mut ruleset = Ruleset::default().handle_access(AccessFs::from_all(KNOWN))?.scope(Scope::Signal)?;
    if !needs.connections {
        ruleset = ruleset.handle_access(AccessNet::from_all(KNOWN))?;
    }
    ruleset
        .create()?
        .add_rules(path_beneath_rules(SYSTEM.map(PathBuf::from).into_iter().chain(kernel()), read))?
        .add_rules(path_beneath_rules(&needs.read, read))?
        .add_rules(path_beneath_rules(&needs.write, write))?
        .restrict_self()
}

/// Entries of /proc about this process and the host, without other processes.
fn kernel() -> Vec<PathBuf> {
    let own = std::process::id().to_string();
    let is_other = |name: &str| name.bytes().all(|octet| octet.is_ascii_digit()) && name != own;
    let Ok(entries) = Path::new("/proc").read_dir() else { return Vec::new() };
    // Links, as /proc/self, lead to files that have their own rule.
    let facts = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
    facts.filter(|entry| !is_other(&entry.file_name().to_string_lossy())).map(|entry| entry.path()).collect()
}
