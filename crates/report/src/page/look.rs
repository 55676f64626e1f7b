//! A first look as a part of a page: its ways side by side, and what a terminal shows of it, whole.

use logbook::look::LookDocument;
use logbook::record::Ended;

use super::{Builder, Told, article};
use crate::layout::Style;
use crate::look;
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
    if let Some(chart) = picture::ways(found) {
        let caption = "Bars: p50 of each row, with its 95 % interval. Dots below: the same without pause.";
        page.chart(&format!("{}-y", told.id()), &chart, caption);
    }
    let printed = look::render(found, &Style { width: TERMINAL, verbose: true, ..Style::default() });
    page.html.raw(&format!("<pre tabindex=\"0\">{}</pre>\n", escaped(&printed)));
    article::command(page, &told.id(), &found.head.command);
    page.html.raw("</article>\n");
}
