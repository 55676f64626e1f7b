//! Short names for several records: what tells each from the others.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use logbook::record::Record;

use crate::words::target;

/// Parts of a name at most: where more differ, the rest stands in the table.
const PARTS: usize = 3;

/// A name for each record of a file, with its number, of what not all have in common: the target and coordinates of the method; the name of
/// its file where all are alike.
pub fn names(records: &[(&str, &Record)]) -> Vec<String> {
    let parts: Vec<Vec<String>> = records.iter().map(|(_, record)| parts(record)).collect();
    let mut had: BTreeMap<&str, usize> = BTreeMap::new();
    for part in parts.iter().flatten() {
        *had.entry(part).or_default() += 1;
    }
    let own = |parts: &Vec<String>| {
        let own = parts.iter().filter(|part| had.get(part.as_str()).is_some_and(|count| *count < records.len()));
        own.take(PARTS).cloned().collect::<Vec<String>>().join(" · ")
    };
    let name = |(number, (parts, (file, _))): (usize, (&Vec<String>, &(&str, &Record)))| {
        let own = own(parts);
        let stem = Path::new(file).file_stem().map_or_else(|| (*file).into(), OsStr::to_string_lossy);
        let what = if own.is_empty() { stem.into_owned() } else { own };
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
        let told = names(&[("one.json", &one), ("other.json", &other)]);
        assert!(told[0].starts_with("1 · 10.0.0.2:7663 · tcp exchange"), "{told:?}");
        assert!(told[1].starts_with("2 · 10.0.0.2 · icmp"), "{told:?}");
    }

    #[test]
    fn those_that_are_alike_are_told_by_their_file() {
        let one = fixture::closed();
        assert_eq!(names(&[("runs/monday.json", &one), ("runs/tuesday.json", &one)])[1], "2 · tuesday");
        assert_eq!(names(&[]), [""; 0]);
    }
}
