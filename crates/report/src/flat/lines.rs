//! The records themselves, one JSON object a line, each with where it came from.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::Entry;
use crate::run::over;

/// Writes the line of `entry`.
pub(super) fn write(out: &mut impl Write, entry: &Entry<'_>) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &line(entry)?)?;
    out.write_all(b"\n")
}

fn line(entry: &Entry<'_>) -> io::Result<Value> {
    let mut line = Map::new();
    let mut add = |key: &str, value: Value| line.insert(key.to_owned(), value);
    add("file", json!(entry.file));
    if let Some(there) = entry.place {
        let place = &there.cell.place;
        let labels = |name: &str| there.run.plan.hosts.iter().find(|host| host.name == name).map(|host| &host.labels);
        add("run", json!(there.run.head.id));
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
