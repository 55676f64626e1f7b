//! Hosts out of the machines of a run.

use std::collections::BTreeMap;
use std::net::IpAddr;

use logbook::host::{Host, Reach, Ssh};

use crate::ledger::Ledger;
use crate::resource::fill;

/// Login to the machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// The user.
    pub user: String,
    /// The file of the private key; absent: as `ssh` is configured.
    pub key_file: Option<String>,
    /// Settings of `ssh_config` for each of them.
    pub options: Vec<String>,
}

/// The run's machines as hosts, reached at their external address, or at their internal one where they have no other. One
/// without any is left out: there is no way to it.
pub fn hosts(ledger: &Ledger, login: &Login) -> Vec<Host> {
    let address = |name: &str| ledger.values.get(name).and_then(|text| text.parse::<IpAddr>().ok());
    let hosts = ledger.machines.iter().filter_map(|machine| {
        let (internal, external) = (address(&machine.internal), address(&machine.external));
        let to = external.or(internal)?;
        let told = |(key, value): (&String, &String)| Some((key.clone(), fill(value, &ledger.values).ok()?));
        let mut labels: BTreeMap<String, String> = machine.labels.iter().filter_map(told).collect();
        labels.insert("run".into(), ledger.run.clone());
        let reach = Reach::Ssh(Ssh {
            to: format!("{}@{to}", login.user),
            port: None,
            key_file: login.key_file.clone(),
            options: login.options.clone(),
            through: Vec::new(),
        });
        let (internal, external) = (internal.map(Into::into), external.map(Into::into));
        Some(Host { name: machine.name.clone(), reach, internal, external, labels, machine: None })
    });
    hosts.collect()
}
