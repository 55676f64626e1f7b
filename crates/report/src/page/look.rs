//! A quick survey as a part of a page: its rows side by side, what explains them, its warnings.

use logbook::look::LookDocument;
use logbook::record::Ended;

use super::table::{Cell, Row, Table};
use super::{Builder, Told, article};
use crate::layout::Style;
use crate::look::{self, PageRow};
use crate::markup::escaped;
use crate::picture;

/// Cells of a line of what is told as a terminal would.
const TERMINAL: usize = 100;

/// The answer, and the method below it.
pub(super) fn heading(found: &LookDocument) -> (String, String) {
    let rows = crate::number::count(found.look.legs.len() as u64, "protocol or port", "protocols and ports");
    (look::answer(found), format!("Quick survey of {}: {rows}, measured in the same rounds", found.look.host))
}

/// The part of the page that tells of `found`.
pub(super) fn tell(page: &mut Builder, told: &Told<'_>, found: &LookDocument) {
    article::opening(page, told);
    if found.ended != Ended::Complete {
        page.html.element("p", "class=\"early\"", "Ended early. What was found until then stands here.");
    }
    page.html.element("p", "class=\"when\"", &article::measured(&found.head, Some(found.look.took_ns)));
    let parts = look::parts(found);
    super::badge(page, &parts.warnings);
    for (address, rows) in &parts.tables {
        let head = look::HEAD.map(str::to_owned).to_vec();
        let rows = rows.iter().map(row).collect();
        let whose = if *address == found.look.host { String::new() } else { format!("{} at ", found.look.host) };
        Table { caption: format!("Rows of {whose}{address}"), head, rows, class: "numbers" }.tell(&mut page.html);
    }
    for note in &parts.notes {
        page.html.element("p", "class=\"when\"", note);
    }
    if let Some(chart) = picture::ways(found) {
        let caption = "p50 of each row, with its 95 % interval as a line. Below: the same without pause.";
        page.chart(&format!("{}-y", told.id()), &chart, caption);
    }
    article::command(page, &told.id(), &found.head.command);
    let printed = look::render(found, &Style { width: TERMINAL, verbose: true, ..Style::default() });
    page.html.details("All of it, as a terminal shows it", |html| {
        html.raw(&format!("<pre tabindex=\"0\">{}</pre>\n", escaped(&printed)));
    });
    page.html.raw("</article>\n");
}

/// A row, sorted by its median.
fn row((cells, median): &PageRow) -> Row {
    let cell = |(place, text): (usize, &String)| match median {
        Some(median) if place == 2 => Cell::number(Some(text.clone()), median.0 as f64),
        // A time and its unit stay on one line however narrow the screen is.
        _ if matches!(look::HEAD[place], "shift" | "min" | "p90") => Cell::from(text.replace(' ', "\u{a0}")),
        _ => Cell::from(text.as_str()),
    };
    cells.iter().enumerate().map(cell).collect()
}
