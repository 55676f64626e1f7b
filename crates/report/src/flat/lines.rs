//! The records themselves, one JSON object a line, each with where it came from.

use std::io;

use serde_json::{Map, Value, json};

use super::Entry;
use crate::run::over;

/// The lines.
pub(super) fn all(entries: &[Entry<'_>]) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    for entry in entries {
        serde_json::to_writer(&mut lines, &line(entry)?)?;
        lines.push(b'\n');
    }
    Ok(lines)
}

fn line(entry: &Entry<'_>) -> io::Result<Value> {
    let mut line = Map::new();
    let mut add = |key: &str, value: Value| line.insert(key.to_owned(), value);
    add("file", json!(entry.file));
    if let Some(there) = entry.place {
        let place = &there.cell.place;
        let labels = |name: &str| there.run.plan.hosts.iter().find(|host| host.name == name).map(|host| &host.labels);
        add("run", json!(there.run.id));
        add("from", json!(place.from));
        add("to", json!(place.to));
        add("over", json!(over(place.over)));
        add("method", json!(place.method));
        add("repeat", json!(place.repeat));
        add("from_labels", json!(labels(&place.from)));
        add("to_labels", json!(labels(&place.to)));
    }
    add("record", serde_json::to_value(entry.record)?);
    Ok(Value::Object(line))
}
