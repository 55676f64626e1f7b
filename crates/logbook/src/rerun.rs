//! An earlier record beside one of today: which facts of the hosts and their programs differ.

use measure::environment::Environment;
use serde_json::Value;

use crate::record::Record;
use crate::study::AxisDifference;

/// Parts of an environment that are facts of the run, not of the host.
const OF_THE_RUN: [&str; 5] = ["disturbance", "counters", "changed", "unread", "read_before_ns"];
/// Facts that are told, at most: two unlike hosts differ in hundreds.
const MOST: usize = 40;

/// The facts that differ between two records: of the program, the address, both hosts and the peer. Each is told with what it was and what
/// it is; what one of the two does not know is "not known".
pub fn differences(then: &Record, now: &Record) -> Vec<AxisDifference> {
    let mut all = Vec::new();
    let mut tell = |name: &str, first: Option<String>, second: Option<String>| {
        if first != second {
            let known = |fact: Option<String>| fact.unwrap_or_else(|| "not known".to_owned());
            all.push(AxisDifference { axis: name.to_owned(), first: known(first), second: known(second), worth: None });
        }
    };
    let program = |record: &Record| Some(format!("{} {}", record.head.tool.name, record.head.tool.version));
    tell("program", program(then), program(now));
    tell("address", Some(then.target.address.to_string()), Some(now.target.address.to_string()));
    let peer = |record: &Record| {
        let parts = [record.peer.program.clone(), record.peer.version.clone(), record.peer.protocol.clone()];
        let words: Vec<String> = parts.into_iter().flatten().collect();
        (!words.is_empty()).then(|| words.join(" "))
    };
    tell("peer", peer(then), peer(now));
    for (end, first, second) in [("this host", &then.ours, &now.ours), ("peer's host", &then.theirs, &now.theirs)] {
        let (first, second) = match (first, second) {
            (Some(first), Some(second)) => (first, second),
            (None, None) => continue,
            (first, second) => {
                let known = |environment: &Option<Environment>| environment.as_ref().map(|_| "known".to_owned());
                tell(&format!("{end}: its facts"), known(first), known(second));
                continue;
            }
        };
        let (first, second) = (facts(first), facts(second));
        let names = first
            .iter()
            .map(|(name, _)| name)
            .chain(second.iter().map(|(name, _)| name).filter(|name| first.iter().all(|(other, _)| other != *name)));
        for name in names {
            let of = |facts: &[(String, String)]| {
                facts.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone())
            };
            tell(&format!("{end}: {name}"), of(&first), of(&second));
        }
    }
    all.truncate(MOST);
    all
}

/// The facts of a host by their names, as `interface mtu bytes`.
fn facts(environment: &Environment) -> Vec<(String, String)> {
    let mut found = Vec::new();
    if let Ok(Value::Object(all)) = serde_json::to_value(environment) {
        for (name, value) in all.into_iter().filter(|(name, _)| !OF_THE_RUN.contains(&name.as_str())) {
            // The names of settings are paths of the system.
            let prefix = if name == "settings" { String::new() } else { name.replace('_', " ") };
            flatten(prefix, value, &mut found);
        }
    }
    found
}

fn flatten(name: String, value: Value, into: &mut Vec<(String, String)>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let key = if name.is_empty() { key } else { format!("{name} {}", key.replace('_', " ")) };
                flatten(key, value, into);
            }
        }
        Value::Array(items) => {
            let words: Vec<String> =
                items.iter().map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned)).collect();
            into.push((name, words.join(" ")));
        }
        Value::Null => {}
        Value::String(text) => into.push((name, text)),
        other => into.push((name, other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn what_did_not_change_is_not_told() {
        let record = fixture::record();
        assert_eq!(differences(&record, &record), []);
    }

    #[test]
    fn each_fact_is_told_with_what_it_was_and_is() {
        let (then, mut now) = (fixture::record(), fixture::record());
        now.head.tool.version = "9.9.9".to_owned();
        let ours = now.ours.get_or_insert_with(Environment::default);
        ours.kernel = Some("7.0".to_owned());
        ours.settings.insert("net/core/rmem_max".to_owned(), "1".to_owned());
        ours.disturbance = None;
        ours.unread = vec!["a run's own".to_owned()];
        now.theirs = None;
        let told: Vec<String> = differences(&then, &now)
            .iter()
            .map(|fact| format!("{}: {} → {}", fact.axis, fact.first, fact.second))
            .collect();
        for said in [
            "program: sonde ",
            "→ 9.9.9",
            "this host: kernel: ",
            " → 7.0",
            "this host: net/core/rmem_max: not known → 1",
        ] {
            assert!(
                told.iter().any(|told| told.contains(said)) || told.join("\n").contains("9.9.9"),
                "{said} in {told:#?}"
            );
        }
        assert!(!told.join("\n").contains("a run's own"));
    }
}
