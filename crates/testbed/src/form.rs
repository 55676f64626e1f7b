//! Comparison of the form of two outputs: the same words, columns, widths, blanks and line ends, and other values.
//!
//! A program that parses one must not be able to tell it from the other. Values differ from run to run, so they are
//! compared by class ([`atom`]): an integer stays an integer, two decimals stay two decimals. A blank more or less is a
//! difference, except where a value of another length takes or leaves room: that much, and no more.
//!
//! Headings over values whose widths follow the values are taken apart by [`columns`]. Not here: whether values agree
//! with each other.

pub mod atom;
pub mod columns;

use std::fmt;

use atom::{Atom, atoms};

/// Difference of an output from the form of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The line of what was seen, from 1.
    pub line: usize,
    /// The difference.
    pub what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

/// All differences of form between `model` and `seen`, line by line; none: the forms are the same.
pub fn differences(model: &str, seen: &str) -> Vec<Difference> {
    let lines = |text| str::split_inclusive(text, '\n').collect::<Vec<_>>();
    let (models, lines) = (lines(model), lines(seen));
    let mut differences = Vec::new();
    for (index, (model, seen)) in models.iter().zip(&lines).enumerate() {
        if let Err(what) = same_line(model, seen) {
            let (model, seen) = (model.escape_debug(), seen.escape_debug());
            let what = format!("{what}\n    model: {model}\n    seen:  {seen}");
            differences.push(Difference { line: index + 1, what });
        }
    }
    if models.len() != lines.len() {
        let line = models.len().min(lines.len()) + 1;
        let what = match (models.get(line - 1), lines.get(line - 1)) {
            (Some(model), _) => format!("ends before {model:?}"),
            (_, Some(seen)) => format!("goes on with {seen:?}"),
            _ => String::new(),
        };
        differences.push(Difference { line, what });
    }
    differences
}

/// Tests that one line has the form of another, its end included.
pub fn same_line(model: &str, seen: &str) -> Result<(), String> {
    let ended = |line: &str| line.ends_with('\n');
    if ended(model) != ended(seen) {
        return Err("only one of the two ends its line".to_owned());
    }
    let (model, seen) = (model.trim_end_matches('\n'), seen.trim_end_matches('\n'));
    let (models, atoms) = (atoms(model), atoms(seen));
    if models.len() != atoms.len() {
        return Err(format!("{} words and values, not {}", atoms.len(), models.len()));
    }
    for (model, seen) in models.iter().zip(&atoms) {
        if !model.class().admits(&seen.class()) {
            return Err(format!("`{}` is no such value as `{}`", seen.text, model.text));
        }
    }
    for at in 0..=atoms.len() {
        gap(at, (&models, model.chars().count()), (&atoms, seen.chars().count()))?;
    }
    Ok(())
}

/// Tests that the blanks in front of atom `at`, or behind the last, are as many as they may be.
///
/// A value that is longer takes room from the blanks beside it: from those in front where it is aligned to the right,
/// from those behind where to the left, and from none where it fills its field anyway.
fn gap(at: usize, model: (&[Atom<'_>], usize), seen: (&[Atom<'_>], usize)) -> Result<(), String> {
    let blanks = |(atoms, length): (&[Atom<'_>], usize)| {
        let from = at.checked_sub(1).map_or(0, |before| atoms[before].end());
        atoms.get(at).map_or(length, |atom| atom.at) - from
    };
    let longer = |index: Option<usize>| {
        let of = |index: usize| Some((model.0.get(index)?, seen.0.get(index)?));
        index.and_then(of).map_or(0, |(model, seen)| seen.length() as i64 - model.length() as i64)
    };
    let (before, after) = (longer(at.checked_sub(1)), longer(Some(at)));
    let (models, blanks) = (blanks(model), blanks(seen));
    let taken = models as i64 - blanks as i64;
    let least = before.min(0) + after.min(0);
    let most = before.max(0) + after.max(0);
    // A value beside a sign or the line's end has no field to fill.
    let glued = (models == 0) != (blanks == 0) && at != 0 && at != model.0.len();
    if glued || taken < least || taken > most {
        let place = seen.0.get(at).map_or("the end of the line".to_owned(), |atom| format!("`{}`", atom.text));
        return Err(format!("{blanks} blanks in front of {place}, not {models}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
