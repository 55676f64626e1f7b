//! Tables: each with a caption, and with a head for every row and column.

use super::html::Html;
use crate::markup::escaped;

/// A table.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    /// Its title.
    pub(super) caption: String,
    /// Heads of its columns; that of the rows' heads first.
    pub(super) head: Vec<String>,
    /// Its rows; the first cell of each is its head.
    pub(super) rows: Vec<Row>,
    /// Further class, as `facts`.
    pub(super) class: &'static str,
}

/// A row.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    /// Anchor in the page that its head leads to.
    pub(super) link: Option<String>,
    pub(super) cells: Vec<Cell>,
}

/// A cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Cell {
    pub(super) text: String,
    /// The number that it is sorted by, where it is one.
    pub(super) value: Option<f64>,
    /// True where it is printed with less weight.
    pub(super) faint: bool,
}

impl Cell {
    /// A number as it is told, and as it is sorted by.
    pub(super) fn number(text: Option<String>, value: f64) -> Self {
        text.map_or_else(Self::default, |text| Self { text, value: Some(value), faint: false })
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

impl<C: Into<Cell>> FromIterator<C> for Row {
    fn from_iter<I: IntoIterator<Item = C>>(cells: I) -> Self {
        Self { link: None, cells: cells.into_iter().map(Into::into).collect() }
    }
}

impl Table {
    /// Nothing where it has no rows.
    pub(super) fn tell(&self, html: &mut Html) {
        if self.rows.is_empty() {
            return;
        }
        let caption = escaped(&self.caption);
        // A table that is wider than the screen is scrolled by itself, by keys too.
        html.raw(&format!("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{caption}\">\n"));
        let class = if self.class.is_empty() { String::new() } else { format!(" class=\"{}\"", self.class) };
        html.raw(&format!("<table{class}>\n<caption>{caption}</caption>\n<thead><tr>"));
        for (column, head) in self.head.iter().enumerate() {
            let number = if self.is_number(column) { " class=\"n\"" } else { "" };
            html.raw(&format!("<th scope=\"col\"{number}>{}</th>", escaped(head)));
        }
        html.raw("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            self.row(row, html);
        }
        html.raw("</tbody>\n</table>\n</div>\n");
    }

    fn row(&self, row: &Row, html: &mut Html) {
        html.raw("<tr>");
        for (column, cell) in row.cells.iter().enumerate() {
            let classes = [(self.is_number(column), "n"), (cell.faint, "faint")];
            let classes: Vec<&str> = classes.into_iter().filter_map(|(is, class)| is.then_some(class)).collect();
            let class = if classes.is_empty() { String::new() } else { format!(" class=\"{}\"", classes.join(" ")) };
            let value = cell.value.map_or_else(String::new, |value| format!(" data-v=\"{value}\""));
            let text = escaped(&cell.text);
            let cell = match (column, &row.link) {
                (0, Some(link)) => format!("<th scope=\"row\"{class}{value}><a href=\"#{link}\">{text}</a></th>"),
                (0, None) => format!("<th scope=\"row\"{class}{value}>{text}</th>"),
                _ => format!("<td{class}{value}>{text}</td>"),
            };
            html.raw(&cell);
        }
        html.raw("</tr>\n");
    }

    /// Numbers stand flush right.
    fn is_number(&self, column: usize) -> bool {
        self.rows.iter().any(|row| row.cells.get(column).is_some_and(|cell| cell.value.is_some()))
    }
}
