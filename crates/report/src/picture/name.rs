//! Short names for several records: what tells each from the others.

use std::collections::BTreeMap;

use logbook::record::Record;

use crate::words::target;

/// Parts of a name at most: where more differ, the rest stands in the table.
const PARTS: usize = 3;

/// A name for each, with its number, of what not all have in common: the target, coordinates of the method, the start.
pub fn names(records: &[&Record]) -> Vec<String> {
    let parts: Vec<Vec<String>> = records.iter().map(|record| parts(record)).collect();
    let mut had: BTreeMap<&str, usize> = BTreeMap::new();
    for part in parts.iter().flatten() {
        *had.entry(part).or_default() += 1;
    }
    let own = |parts: &Vec<String>| {
        let own = parts.iter().filter(|part| had.get(part.as_str()).is_some_and(|count| *count < records.len()));
        own.take(PARTS).cloned().collect::<Vec<String>>().join(" · ")
    };
    let name = |(number, (parts, record)): (usize, (&Vec<String>, &&Record))| {
        let own = own(parts);
        let what = if own.is_empty() { record.head.started.to_string() } else { own };
        format!("{} · {what}", number + 1)
    };
    parts.iter().zip(records).enumerate().map(name).collect()
}

fn parts(record: &Record) -> Vec<String> {
    // The port of a reflector of our own is a new one each time.
    let target = if record.target.own_reflector { "own reflector".to_owned() } else { target::address(&record.target) };
    [target].into_iter().chain(record.method.to_string().split(" · ").map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn what_differs_names_them() {
        let (one, other) = (fixture::closed(), fixture::icmp());
        let told = names(&[&one, &other]);
        assert!(told[0].starts_with("1 · 10.0.0.2:7663 · tcp exchange"), "{told:?}");
        assert!(told[1].starts_with("2 · 10.0.0.2 · icmp"), "{told:?}");
    }

    #[test]
    fn those_that_are_alike_are_told_by_their_start() {
        let one = fixture::closed();
        assert_eq!(names(&[&one, &one])[1], "2 · 2026-10-20T14:03:12.25+02:00");
        assert_eq!(names(&[]), [""; 0]);
    }
}
