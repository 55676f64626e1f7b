//! The known facts of the hosts of a run, by the names that `PerfKit` Benchmarker has for them.

use std::collections::BTreeMap;

use logbook::host::data::DataAddresses;
use logbook::host::{Host, Reach};
use logbook::run::{Cell, RunDocument};

use super::Benchmark;

/// The known facts of both ends of a cell, and the kind of their addresses. It reports no type for the ends of a `ping`.
pub(super) fn pair(run: &RunDocument, cell: &Cell, benchmark: Benchmark) -> BTreeMap<String, String> {
    let keys: &[&str] = if benchmark == Benchmark::Ping { &["zone"] } else { &["zone", "machine_type"] };
    let host = |name: &str| run.plan.hosts.iter().find(|host| host.name == name);
    let mut metadata = BTreeMap::from([("ip_type".to_owned(), crate::run::over(cell.place.over).to_owned())]);
    let ends = match benchmark {
        Benchmark::BidirectionalNetwork => [("primary", primary(run, cell).0), ("secondary", primary(run, cell).1)],
        _ => [("sending", cell.place.from.as_str()), ("receiving", cell.place.to.as_str())],
    };
    for (end, name) in ends {
        for key in keys {
            if let Some(value) = host(name).and_then(|host| host.label(key)) {
                metadata.insert(format!("{end}_{key}"), value.to_owned());
            }
        }
        metadata.insert(format!("sonde_{end}_host"), name.to_owned());
    }
    metadata
}

/// The plan's first host and the other of `cell`.
fn primary<'a>(run: &RunDocument, cell: &'a Cell) -> (&'a str, &'a str) {
    let (from, to) = (cell.place.from.as_str(), cell.place.to.as_str());
    if run.plan.hosts.first().is_some_and(|first| first.name == to) { (to, from) } else { (from, to) }
}

/// The known facts of the hosts of `cell`, whichever way was measured: `vm_1_…` is the first of the plan; where the plan has more than two,
/// the one that asked. A mesh has one group of all hosts, without a name, and tells of its last.
pub(super) fn each(run: &RunDocument, cell: &Cell, benchmark: Benchmark) -> BTreeMap<String, String> {
    let hosts = &run.plan.hosts;
    let mut metadata = BTreeMap::new();
    let names: Vec<&str> = if benchmark == Benchmark::MeshNetwork {
        metadata.extend(hosts.last().into_iter().flat_map(|host| of(run, host, "", hosts.len())));
        hosts.iter().map(|host| host.name.as_str()).collect()
    } else if benchmark == Benchmark::BidirectionalNetwork {
        let others = hosts.len().saturating_sub(1);
        metadata.extend(hosts.first().into_iter().flat_map(|host| of(run, host, "primary_", 1)));
        metadata.extend(hosts.last().into_iter().flat_map(|host| of(run, host, "secondary_", others)));
        hosts.iter().map(|host| host.name.as_str()).collect()
    } else {
        let mut ends: Vec<&Host> =
            hosts.iter().filter(|host| [&cell.place.from, &cell.place.to].contains(&&host.name)).collect();
        if hosts.len() > 2 {
            ends.sort_by_key(|host| host.name != cell.place.from);
        }
        metadata.extend(ends.iter().zip(1..).flat_map(|(host, at)| of(run, host, &format!("vm_{at}_"), 1)));
        ends.iter().map(|host| host.name.as_str()).collect()
    };
    metadata.insert("vm_names".to_owned(), names.join(","));
    metadata
}

/// A cloud as it writes the three that it shares with us.
fn theirs(cloud: &str) -> &str {
    let known = [("gcp", "GCP"), ("aws", "AWS"), ("azure", "Azure")];
    known.into_iter().find(|(ours, _)| *ours == cloud).map_or(cloud, |(_, theirs)| theirs)
}

/// Addresses as Python writes a list of texts.
fn listed(addresses: &DataAddresses) -> String {
    let each: Vec<String> = addresses.each().iter().map(|address| format!("'{address}'")).collect();
    format!("[{}]", each.join(", "))
}

fn of(run: &RunDocument, host: &Host, prefix: &str, count: usize) -> Vec<(String, String)> {
    let seen = run.hosts.iter().find(|seen| seen.host == host.name);
    let kernel = seen.and_then(|seen| seen.kernel.as_deref()).and_then(release);
    // As it calls machines that were there before.
    let is_static = matches!(host.reach, Reach::Ssh(_)) && host.label("cloud").is_none();
    let known = [
        ("cloud", host.label("cloud").map(theirs).or(is_static.then_some("Static")).map(str::to_owned)),
        ("zone", host.label("zone").map(str::to_owned)),
        ("machine_type", host.label("machine_type").map(str::to_owned)),
        ("kernel_release", kernel.map(str::to_owned)),
        ("num_cpus", seen.and_then(|seen| seen.cpus).map(|cpus| cpus.to_string())),
        ("internal_ips", host.internal.as_ref().map(listed)),
        ("external_ips", host.external.as_ref().map(listed)),
        ("vm_count", Some(count.to_string())),
    ];
    known.into_iter().filter_map(|(key, value)| Some((format!("{prefix}{key}"), value?))).collect()
}

/// `6.1.0` of `Linux 6.1.0` as of `6.1.0 #1 SMP`.
fn release(kernel: &str) -> Option<&str> {
    kernel.strip_prefix("Linux ").unwrap_or(kernel).split(' ').next().filter(|release| !release.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_has_a_release() {
        assert_eq!(
            [release("Linux 6.1.0"), release("6.1.0 #1 SMP"), release("")],
            [Some("6.1.0"), Some("6.1.0"), None]
        );
    }
}
