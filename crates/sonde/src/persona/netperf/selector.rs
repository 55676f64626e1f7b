//! The output selectors: name, header words, value. One table; each block of `all` has a file of rows.

mod connection;
mod cpu;
mod host;
mod latency;
mod own;
mod result;
mod transfer;

use crate::persona::netperf::view::View;

/// Lines of a header of `-O`.
pub const HEADER_LINES: usize = 4;

/// One selector.
#[derive(Debug)]
struct Row {
    name: &'static str,
    /// Words of the header, a line of `-O` each.
    header: &'static [&'static str],
    value: Value,
}

/// Source of a value.
#[derive(Clone, Copy, Debug)]
enum Value {
    /// From the facts; `None` where there is nothing to print.
    Of(fn(&View<'_>) -> Option<String>),
    /// The same for every run.
    Always(&'static str),
}

/// A selector: a row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Selector(&'static Row);

impl PartialEq for Selector {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for Selector {}

impl Selector {
    /// By its name, whatever its case.
    pub fn named(name: &str) -> Option<Self> {
        rows().find(|row| row.name.eq_ignore_ascii_case(name)).map(Self)
    }

    /// By the words of its header, joined by blanks.
    pub fn headed(header: &str) -> Option<Self> {
        rows().map(Self).find(|selector| selector.header().eq_ignore_ascii_case(header))
    }

    /// Its name, as `-k` prints it.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// The words of its header joined by blanks, as `-o` prints them.
    pub fn header(self) -> String {
        self.0.header.join(" ")
    }

    /// The word of a header line of `-O`; empty where it has none there.
    pub fn header_line(self, line: usize) -> &'static str {
        self.0.header.get(line).copied().unwrap_or_default()
    }

    /// Returns true where it needs durations.
    pub fn is_latency(self) -> bool {
        latency::ROWS.iter().chain(&own::LATENCY).any(|row| row.name == self.0.name)
    }

    /// Its value, as text; `None` where the selector prints nothing.
    pub fn value(self, view: &View<'_>) -> Option<String> {
        match self.0.value {
            Value::Of(find) => find(view),
            Value::Always(text) => Some(text.to_owned()),
        }
    }
}

/// Rows of the original, block by block, then ours.
fn rows() -> impl Iterator<Item = &'static Row> {
    blocks().into_iter().flatten().flat_map(|rows| rows.iter()).chain(&own::LATENCY).chain(&own::OTHERS)
}

fn blocks() -> [Vec<&'static [Row]>; 4] {
    [
        vec![&result::ROWS],
        vec![&cpu::ROWS, &result::CERTAINTY],
        vec![&transfer::RATES, &cpu::COUNTS, &connection::ROWS, &transfer::ROWS],
        vec![&host::ROWS, &latency::ROWS, &host::LAST],
    ]
}

/// All names in the table's order, ours last.
pub fn names() -> impl Iterator<Item = &'static str> {
    rows().map(|row| row.name)
}

/// Values of `all` by name: the original's selectors in its four blocks, none of ours.
pub fn all() -> Vec<Vec<&'static str>> {
    let of = |rows: &Vec<&'static [Row]>| rows.iter().flat_map(|rows| rows.iter()).map(|row| row.name).collect();
    blocks().iter().map(of).collect()
}

const fn row(name: &'static str, header: &'static [&'static str], find: fn(&View<'_>) -> Option<String>) -> Row {
    Row { name, header, value: Value::Of(find) }
}

const fn always(name: &'static str, header: &'static [&'static str], text: &'static str) -> Row {
    Row { name, header, value: Value::Always(text) }
}

/// Two decimals.
#[expect(clippy::unnecessary_wraps, reason = "every value of the table may be absent")]
fn two(value: f64) -> Option<String> {
    Some(format!("{value:.2}"))
}

/// Three decimals.
#[expect(clippy::unnecessary_wraps, reason = "every value of the table may be absent")]
fn three(value: f64) -> Option<String> {
    Some(format!("{value:.3}"))
}

/// An integer.
#[expect(clippy::unnecessary_wraps, reason = "every value of the table may be absent")]
fn int(value: impl Into<i128>) -> Option<String> {
    Some(value.into().to_string())
}

/// An integer, or what the original prints in its place.
fn int_or(value: Option<impl Into<i128>>, absent: i128) -> Option<String> {
    int(value.map_or(absent, Into::into))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_is_there_once() {
        let names: Vec<&str> = names().collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    }

    #[test]
    fn a_header_has_words_for_four_lines_at_most() {
        for row in rows() {
            assert!(!row.header.is_empty() && row.header.len() <= HEADER_LINES, "{}", row.name);
        }
    }

    #[test]
    fn all_has_four_blocks_of_the_original() {
        let blocks = all();
        assert_eq!(blocks.iter().map(Vec::len).collect::<Vec<_>>(), [24, 29, 58, 62]);
        assert!(!blocks.iter().flatten().any(|name| *name == "LOST"));
    }
}
