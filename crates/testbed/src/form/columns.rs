//! Columns whose widths follow what stands in them: lines of headings over a line of values, all aligned to the left.
//!
//! The rule they keep: a column is one blank wider than its longest heading, or two wider than its value where that is
//! more; every cell is filled up with blanks, the last one too.

use super::atom::atoms;

/// A column: its headings from top to bottom, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// One for each line of headings; empty where there are fewer.
    pub headings: Vec<String>,
    /// Text below them.
    pub value: String,
}

/// The columns of `lines`, of which the last has the values. The error tells how they break the rule.
pub fn columns(lines: &[&str]) -> Result<Vec<Column>, String> {
    let first = lines.first().ok_or("no line")?;
    let characters: Vec<Vec<char>> = lines.iter().map(|line| line.chars().collect()).collect();
    let length = characters[0].len();
    if let Some(other) = characters.iter().position(|line| line.len() != length) {
        return Err(format!("{:?} is not as long as {first:?}", lines[other]));
    }
    // Every column has a first heading, of one word.
    let starts: Vec<usize> = atoms_of_words(first);
    let ends = starts.iter().skip(1).copied().chain([length]);
    starts.iter().zip(ends).map(|(start, end)| column(&characters, *start, end)).collect()
}

fn atoms_of_words(line: &str) -> Vec<usize> {
    let mut starts: Vec<usize> = Vec::new();
    let mut end = None;
    for atom in atoms(line) {
        // Signs and words that touch are one word.
        if end != Some(atom.at) {
            starts.push(atom.at);
        }
        end = Some(atom.end());
    }
    starts
}

fn column(lines: &[Vec<char>], start: usize, end: usize) -> Result<Column, String> {
    let cell = |line: &Vec<char>| -> String { line[start..end].iter().collect() };
    let mut cells: Vec<String> = Vec::new();
    for line in lines {
        let cell = cell(line);
        let text = cell.trim_end();
        if text.starts_with(' ') {
            return Err(format!("{text:?} does not begin where its column does"));
        }
        cells.push(text.to_owned());
    }
    let value = cells.pop().unwrap_or_default();
    let longest = cells.iter().map(|heading| heading.chars().count()).max().unwrap_or(0);
    let width = longest.max(value.chars().count() + 1) + 1;
    if width != end - start {
        return Err(format!("the column of {value:?} under {cells:?} is {} wide, not {width}", end - start));
    }
    Ok(Column { headings: cells, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: [&str; 5] = [
        "Local       Elapsed Throughput Command  ",
        "Send Socket Time               Line     ",
        "Size        (sec)                       ",
        "                                        ",
        "3939840     1.00    94532.09   \"a b c\"  ",
    ];

    #[test]
    fn headings_and_values_are_taken_apart() {
        let columns = columns(&LINES).unwrap();
        let values: Vec<&str> = columns.iter().map(|column| column.value.as_str()).collect();
        assert_eq!(values, ["3939840", "1.00", "94532.09", "\"a b c\""]);
        assert_eq!(columns[0].headings, ["Local", "Send Socket", "Size", ""]);
        assert_eq!(columns[3].headings, ["Command", "Line", "", ""]);
    }

    #[test]
    fn a_value_without_text_has_its_column_too() {
        let columns = columns(&["Local Fill ", "Fill  File ", "a          "]).unwrap();
        assert_eq!((columns[0].value.as_str(), columns[1].value.as_str()), ("a", ""));
    }

    #[test]
    fn a_width_of_its_own_is_an_error() {
        let broken = |line: usize, text| {
            let mut lines = LINES;
            lines[line] = text;
            columns(&lines).unwrap_err()
        };
        let said = broken(4, "3939840     1.00    94532.09  \"a b c\"   ");
        assert!(said.contains("Throughput") || said.contains("wide") || said.contains("begin"), "{said}");
        assert!(broken(3, "").contains("as long"));
        let wider = LINES.map(|line| format!("{line} "));
        assert!(columns(&wider.each_ref().map(String::as_str)).unwrap_err().contains("wide, not 9"));
    }
}
