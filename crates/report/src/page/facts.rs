//! Whatever a value of the record holds, as names and words: each field that there is, in the unit its key names.

use measure::unit::{Bytes, Nanos, grouped};
use serde::Serialize;
use serde_json::Value;

use crate::number;

/// Each field of `value` that is there, by its path in words. A field of a later version is told too.
pub(super) fn of(value: &impl Serialize) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    // A value that cannot be written as JSON cannot have come from a record.
    if let Ok(value) = serde_json::to_value(value) {
        gather(&value, &mut Vec::new(), &mut facts);
    }
    facts
}

fn gather<'a>(value: &'a Value, path: &mut Vec<&'a str>, facts: &mut Vec<(String, String)>) {
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (key, value) in fields {
                path.push(key);
                gather(value, path, facts);
                path.pop();
            }
        }
        Value::Array(items) if items.is_empty() => {}
        Value::Array(items) if items.iter().any(Value::is_object) => {
            for item in items {
                gather(item, path, facts);
            }
        }
        Value::Array(items) => {
            let unit = path.last().copied().unwrap_or_default();
            let words: Vec<String> = items.iter().map(|item| words(item, unit)).collect();
            facts.push((name(path), words.join(", ")));
        }
        value => facts.push((name(path), words(value, path.last().copied().unwrap_or_default()))),
    }
}

/// The text of a number.
type Told = fn(f64) -> Option<String>;

/// Units that keys end in, each with how its numbers are told.
const UNITS: [(&str, Told); 8] = [
    ("_per_1000s", |value| number::rate(value / 1e3)),
    ("_bytes_per_s", number::bit_rate),
    ("_per_s", number::rate),
    ("_ns", |value| if value < 0.0 { number::time(value) } else { Some(Nanos(value as u64).to_string()) }),
    ("_bytes", |value| Some(Bytes(value.max(0.0) as u64).to_string())),
    ("_share", |value| Some(number::percent(value))),
    ("_mbps", |value| Some(format!("{} Mbit/s", grouped(value.max(0.0) as u64)))),
    ("_usecs", |value| Some(format!("{} µs", grouped(value.max(0.0) as u64)))),
];

/// A path as words: without the unit, which stands with the number.
fn name(path: &[&str]) -> String {
    let joined = path.join(" ");
    let bare = UNITS.iter().find_map(|(unit, _)| joined.strip_suffix(unit)).unwrap_or(&joined);
    // A name of the system's own, as `net.core.busy_poll`, is left as it is.
    if bare.contains('.') { bare.to_owned() } else { bare.replace(['_', '-'], " ") }
}

fn words(value: &Value, key: &str) -> String {
    let unit = UNITS.iter().find(|(unit, _)| key.ends_with(unit));
    match value {
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(count) => {
            let told = unit.and_then(|(_, told)| told(count.as_f64()?));
            told.unwrap_or_else(|| count.to_string())
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_field_is_told_in_its_unit_and_an_absent_one_not_at_all() {
        let value = json!({
            "timeout_ns": 1_000_000_000, "schedule": {"rate_per_1000s": 2_000_000}, "none": null, "list": [],
            "socket": {"tos": 3, "nodelay": true}, "mtu_bytes": 1_500, "net.core.busy_poll": "0", "behind_share": 0.25,
            "offloads": ["gro", "gso"],
        });
        let facts = of(&value);
        let told: Vec<String> = facts.iter().map(|(name, words)| format!("{name}: {words}")).collect();
        let expected = [
            "behind: 25 %",
            "mtu: 1500 B",
            "net.core.busy_poll: 0",
            "offloads: gro, gso",
            "schedule rate: 2 000 /s",
            "socket nodelay: yes",
            "socket tos: 3",
            "timeout: 1 s",
        ];
        assert_eq!(told, expected);
    }
}
