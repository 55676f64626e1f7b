//! The records themselves, one JSON object a line, each with where it came from.

use std::collections::BTreeMap;
use std::io::{self, Write};

use logbook::record::Record;
use serde::Serialize;
use uuid::Uuid;

use super::Entry;
use crate::run::over;

/// Content of a line. A record that stands alone has no place in a run.
#[derive(Serialize)]
struct Line<'a> {
    file: &'a str,
    #[serde(flatten)]
    place: Option<Place<'a>>,
    record: &'a Record,
}

/// A record's place in a run. Labels of a host that the plan does not name are `null`.
#[derive(Serialize)]
struct Place<'a> {
    run: Uuid,
    from: &'a str,
    to: &'a str,
    over: &'a str,
    method: &'a str,
    repeat: u32,
    from_labels: Option<&'a BTreeMap<String, String>>,
    to_labels: Option<&'a BTreeMap<String, String>>,
}

/// Writes the line of `entry`.
pub(super) fn write(out: &mut impl Write, entry: &Entry<'_>) -> io::Result<()> {
    let place = entry.place.map(|there| {
        let place = &there.cell.place;
        let labels = |name: &str| there.run.plan.hosts.iter().find(|host| host.name == name).map(|host| &host.labels);
        Place {
            run: there.run.head.id,
            from: &place.from,
            to: &place.to,
            over: over(place.over),
            method: &place.method,
            repeat: place.repeat,
            from_labels: labels(&place.from),
            to_labels: labels(&place.to),
        }
    });
    let line = serde_json::to_string(&Line { file: entry.file, place, record: entry.record })?;
    writeln!(out, "{line}")
}
