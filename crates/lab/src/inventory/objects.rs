//! Hosts as objects of JSON: what `tofu output -json` prints, and static machines of `PerfKit` Benchmarker.

use super::facts::Facts;
use crate::document::Fault;
use crate::document::{Node, Value};
use crate::inventory::bound::enough;

/// Outputs that are taken for the hosts where there are several of their kind, the first of them that is there.
const OUTPUTS: [&str; 4] = ["sonde_hosts", "hosts", "instances", "machines"];

/// The hosts of what `tofu output -json` prints, or `tofu output -json NAME`: a list or map of objects.
pub(super) fn tofu(document: &Node) -> Result<Vec<Facts>, Fault> {
    let hint = "write an output `hosts` whose value is a list of objects with `name`, `internal_ip` and `external_ip`";
    if is_hosts(document) && !is_outputs(document) {
        return objects(document);
    }
    if !is_outputs(document) {
        return Err(Fault::new(document.line, format!("{} that lists no hosts", document.kind()), hint));
    }
    let fitting: Vec<(&String, &Node)> = document
        .entries()
        .iter()
        .filter_map(|(name, output)| Some((name, output.get("value")?)))
        .filter(|(_, value)| is_hosts(value))
        .collect();
    let preferred = OUTPUTS.iter().find_map(|wanted| fitting.iter().find(|(name, _)| name == wanted));
    match (preferred, fitting.as_slice()) {
        (Some((_, value)), _) | (None, [(_, value)]) => objects(value),
        (None, []) => Err(Fault::new(document.line, "no output is a list or map of hosts", hint)),
        (None, several) => {
            let names: Vec<&str> = several.iter().take(8).map(|(name, _)| name.as_str()).collect();
            let what = format!("several outputs list hosts: {}", names.join(", "));
            Err(Fault::new(document.line, what, "print one of them, as `tofu output -json NAME`, or name it `hosts`"))
        }
    }
}

/// Returns true where each entry is an output: a value, and a mark that it may be shown or not.
fn is_outputs(node: &Node) -> bool {
    let output = |node: &Node| node.get("value").is_some() && node.get("sensitive").is_some();
    !node.entries().is_empty() && node.entries().iter().all(|(_, node)| output(node))
}

/// Returns true where it may be a list of hosts: objects, or addresses by name.
fn is_hosts(node: &Node) -> bool {
    let address = |node: &Node| node.text().is_some_and(|text| text.parse::<std::net::IpAddr>().is_ok());
    match &node.value {
        Value::List(items) => !items.is_empty() && items.iter().all(|item| !item.entries().is_empty()),
        Value::Map(entries) => {
            !entries.is_empty() && entries.iter().all(|(_, item)| !item.entries().is_empty() || address(item))
        }
        _ => false,
    }
}

fn objects(node: &Node) -> Result<Vec<Facts>, Fault> {
    let named: Vec<(Option<&str>, &Node)> = match &node.value {
        Value::List(items) => items.iter().map(|item| (None, item)).collect(),
        _ => node.entries().iter().map(|(name, item)| (Some(name.as_str()), item)).collect(),
    };
    enough(named.len(), node.line)?;
    named.into_iter().map(|(name, item)| object(name, item)).collect()
}

fn object(name: Option<&str>, item: &Node) -> Result<Facts, Fault> {
    let own = ["name", "hostname", "id"].iter().find_map(|key| item.get(key)?.text());
    let hint = "give each host a `name`, or list them as a map by name";
    let name = item.get("name").and_then(Node::text).or(name).or(own);
    let name = name.ok_or_else(|| Fault::new(item.line, "a host without a name", hint))?;
    let mut facts = Facts::new(name, item.line);
    if let Some(address) = item.text() {
        facts.tell("address", address, item.line)?;
    }
    for (key, value) in item.entries().iter().filter(|(key, _)| key != "name") {
        match &value.value {
            Value::Word(text) | Value::Text(text) => facts.tell(key, text, value.line)?,
            // Labels may stand together, as clouds have them.
            Value::Map(entries) if ["labels", "tags"].contains(&key.as_str()) => {
                for (label, value) in entries {
                    facts.tell(label, value.text().unwrap_or_default(), value.line)?;
                }
            }
            _ => {}
        }
    }
    Ok(facts)
}

/// Keys of a static machine that say nothing of the network or of how it is reached.
const OF_DISKS: [&str; 6] = [
    "install_packages",
    "local_disks",
    "scratch_disk_mountpoints",
    "disable_interrupt_moderation",
    "disable_rss",
    "rdp_port",
];

/// The static machines of `PerfKit` Benchmarker. A machine has no name there: it is called by its address.
pub(super) fn pkb(document: &Node) -> Result<Vec<Facts>, Fault> {
    let hint = "a static machine has `ip_address`, `user_name` and `keyfile_path`";
    let Value::List(items) = &document.value else {
        return Err(Fault::new(document.line, format!("{} where static machines are a list", document.kind()), hint));
    };
    enough(items.len(), document.line)?;
    items.iter().map(|item| static_machine(item, hint)).collect()
}

fn static_machine(item: &Node, hint: &str) -> Result<Facts, Fault> {
    for key in ["ip_address", "user_name", "keyfile_path"] {
        if item.get(key).and_then(Node::text).is_none() {
            return Err(Fault::new(item.line, format!("a static machine without `{key}`"), hint));
        }
    }
    let text = |key: &str| item.get(key).and_then(Node::text);
    let address = text("ip_address").unwrap_or_default();
    let name = text("name").map(str::to_owned).or_else(|| {
        // Several that one address leads to, through ports that are forwarded, differ in these.
        text("ssh_port").filter(|port| *port != "22").map(|port| format!("{address}:{port}"))
    });
    let mut facts = Facts::new(name.as_deref().unwrap_or(address), item.line);
    for (key, value) in item.entries().iter().filter(|(key, _)| key != "name" && !OF_DISKS.contains(&key.as_str())) {
        facts.tell(key, value.text().unwrap_or_default(), value.line)?;
    }
    // The first of several is the one that is measured.
    if let (None, Some(Value::List(addresses))) =
        (text("internal_ip"), item.get("internal_ips").map(|node| &node.value))
        && let Some(first) = addresses.iter().find_map(Node::text)
    {
        facts.tell("internal_ip", first, item.line)?;
    }
    Ok(facts)
}
