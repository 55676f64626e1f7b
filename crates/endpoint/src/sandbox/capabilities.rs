//! Capabilities: all are given up but those that are still needed, in every set of the thread.

use std::io;

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

use super::Capability;

impl Capability {
    fn bit(self) -> CapabilitySet {
        match self {
            Self::NetBindService => CapabilitySet::NET_BIND_SERVICE,
            Self::NetAdmin => CapabilitySet::NET_ADMIN,
            Self::DacReadSearch => CapabilitySet::DAC_READ_SEARCH,
            Self::DacOverride => CapabilitySet::DAC_OVERRIDE,
        }
    }
}

/// Keeps those of `needed` that the thread has; returns them.
pub(super) fn keep(needed: &[Capability]) -> io::Result<Vec<Capability>> {
    let had = capabilities(None)?;
    let kept: Vec<Capability> = needed.iter().copied().filter(|one| had.permitted.contains(one.bit())).collect();
    let left = kept.iter().fold(CapabilitySet::empty(), |all, one| all | one.bit());
    let wanted = CapabilitySets { effective: left, permitted: left, inheritable: CapabilitySet::empty() };
    // A unit that grants none may forbid the call as well. A capability that is no longer permitted leaves the ambient
    // set too.
    if had != wanted {
        set_capabilities(None, wanted)?;
    }
    Ok(kept)
}
