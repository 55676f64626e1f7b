//! CSV: the first line names the columns, each further line is a host. Commas, semicolons or tabs part them.

use std::collections::BTreeSet;

use super::facts::Facts;
use crate::document::Fault;
use crate::inventory::bound::enough;

/// Names of the column that has the host's name.
const NAMES: [&str; 4] = ["name", "host", "hostname", "inventory_hostname"];

/// Returns true where a column of this name has the host's name.
pub(super) fn is_name(column: &str) -> bool {
    NAMES.contains(&column.trim_matches('"').to_ascii_lowercase().as_str())
}

/// The hosts of a table.
pub(super) fn read(text: &str) -> Result<Vec<Facts>, Fault> {
    let head = text.lines().next().unwrap_or_default();
    let between = [',', ';', '\t'].into_iter().max_by_key(|&mark| head.matches(mark).count()).unwrap_or(',');
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(between as u8)
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let hint = "the first line names the columns, as `name,address,zone`; each further line has as many values";
    let fault = |error: &csv::Error| {
        let line = error.position().map_or(0, |position| position.line() as usize);
        Fault::new(line, reason(error), hint)
    };
    let columns: Vec<String> = reader.headers().map_err(|error| fault(&error))?.iter().map(str::to_owned).collect();
    let lower: Vec<String> = columns.iter().map(|name| name.to_ascii_lowercase().replace([' ', '-'], "_")).collect();
    let mut seen = BTreeSet::new();
    if let Some(twice) = lower.iter().find(|name| !seen.insert(name.as_str())) {
        return Err(Fault::new(1, format!("two columns are named `{twice}`"), hint));
    }
    // `name` before `host`: beside the one the other is an address.
    let name = NAMES.iter().find_map(|name| lower.iter().position(|column| column == name));
    let name = name.ok_or_else(|| Fault::new(1, "no column is named `name`", hint))?;
    let mut hosts = Vec::new();
    for row in reader.records() {
        let row = row.map_err(|error| fault(&error))?;
        let line = row.position().map_or(0, |position| position.line() as usize);
        let mut host = Facts::new(row.get(name).unwrap_or_default(), line);
        for (column, value) in lower.iter().zip(&row).enumerate().filter(|(at, _)| *at != name).map(|(_, pair)| pair) {
            host.tell(column, value, line)?;
        }
        hosts.push(host);
        enough(hosts.len(), line)?;
    }
    Ok(hosts)
}

fn reason(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} values, where the first line names {expected_len} columns")
        }
        _ => error.to_string(),
    }
}
