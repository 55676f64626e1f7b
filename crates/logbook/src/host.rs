//! A host of a plan: how it is reached, which of its addresses carry what is measured, and what is known of it.
//!
//! Control and data part here: a host is reached by a command (`reach`), and measured at an address.

pub mod data;

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use data::{DataAddress, DataAddresses, Family};

/// A host as it is listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Its name, which no other host of the plan has.
    pub name: String,
    /// Transport by which the host is reached.
    pub reach: Reach,
    /// Its addresses within its network; absent where it has none.
    #[serde(default)]
    pub internal: Option<DataAddresses>,
    /// Its addresses as seen from outside; absent where it has none.
    #[serde(default)]
    pub external: Option<DataAddresses>,
    /// Further facts of the host: `cloud`, `region`, `zone`, `machine_type`, `placement_group`, `nic`, `price_per_hour`, and
    /// any other.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The machine it lies on, where several hosts share one; absent: one of its own, as far as is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
}

/// Transport by which a host is reached: a program that is started here, never a protocol of ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// It is this machine.
    Local,
    /// A network namespace of this machine, by its name.
    Namespace(String),
    /// By the system's `ssh`.
    Ssh(Ssh),
    /// A pod of a cluster, by `kubectl`.
    Pod(Pod),
}

/// Arguments of `ssh`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ssh {
    /// The destination, as `user@host` or a name of `~/.ssh/config`.
    pub to: String,
    /// Its port number, 1 to 65535; absent: as `ssh` is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The file of the private key; absent: as `ssh` is configured, agents included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
    /// Settings of `ssh_config`, as `ProxyJump=bastion`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Words in front of `ssh` itself, as `ip netns exec NAME`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub through: Vec<String>,
}

/// Arguments of `kubectl exec`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Pod {
    /// The pod's name.
    pub pod: String,
    /// Its namespace; absent: that of the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its container; absent: its first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// The cluster's context; absent: the current one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
}

/// Kind of a host's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Address {
    /// That within its network.
    Internal,
    /// That seen from outside.
    External,
}

impl Host {
    /// Its addresses of this kind, where it has any.
    pub fn address(&self, which: Address) -> Option<&DataAddresses> {
        match which {
            Address::Internal => self.internal.as_ref(),
            Address::External => self.external.as_ref(),
        }
    }

    /// Address at which it is measured by `near`, over this kind of address and, where one is wanted, in this family.
    pub fn seen_from(&self, near: &Self, which: Address, family: Option<Family>) -> Option<&DataAddress> {
        self.address(which)?.seen_from(near.address(which), family)
    }

    /// Returns true where the host is known to be another machine than this one.
    pub fn is_elsewhere(&self) -> bool {
        match &self.reach {
            Reach::Local | Reach::Namespace(_) => false,
            Reach::Pod(_) => true,
            Reach::Ssh(ssh) => {
                let at = ssh.to.rsplit('@').next().unwrap_or_default();
                // Words in front may lead anywhere, and an sshd may be this machine's own.
                let is_own = at == "localhost" || at.parse::<IpAddr>().is_ok_and(|at| at.is_loopback());
                ssh.through.is_empty() && !is_own
            }
        }
    }

    /// An address of it that no other machine reaches it by.
    pub fn loopback(&self) -> Option<(Address, IpAddr)> {
        let each = [Address::Internal, Address::External].into_iter();
        let mut all = each.flat_map(|kind| {
            self.address(kind).into_iter().flat_map(move |all| all.each().iter().map(move |one| (kind, one)))
        });
        all.find_map(|(kind, one)| one.ip().filter(IpAddr::is_loopback).map(|address| (kind, address)))
    }

    /// The same where a program leads to another machine.
    pub fn unreachable(&self) -> Option<(Address, IpAddr)> {
        self.loopback().filter(|_| self.is_elsewhere())
    }

    /// Value of its label `name`; `None` where it has none.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.get(name).map(String::as_str)
    }
}

/// Returns true where `name` can stand in a table, a file's name and a line: 1 to 200 characters, none of them a control
/// character.
pub fn is_name(name: &str) -> bool {
    const LONGEST: usize = 200;
    !name.trim().is_empty() && name.chars().count() <= LONGEST && !name.contains(|letter: char| letter.is_control())
}

/// Returns true where `word` looks like an IPv4 address and is none, as 10.0.0.300.
pub fn is_mistyped_address(word: &str) -> bool {
    let parts: Vec<&str> = word.split('.').collect();
    let digits = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    parts.len() > 2 && parts.iter().all(digits) && word.parse::<IpAddr>().is_err()
}

/// Returns true where `word` can be an argument of a command: not empty, without control characters, and no option.
pub fn is_argument(word: &str) -> bool {
    !word.is_empty() && !word.starts_with('-') && !word.contains(|letter: char| letter.is_control())
}
