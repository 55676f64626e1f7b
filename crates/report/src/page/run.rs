//! A run of a plan as a part of a page: what a terminal shows of it, whole.

use logbook::record::Ended;
use logbook::run::RunDocument;

use super::{Builder, Told, article};
use crate::layout::Style;
use crate::markup::escaped;
use crate::number;
use crate::run;

/// Cells of a line of what is told as a terminal would.
const TERMINAL: usize = 100;

/// The answer as a terminal has it, and the name of the run.
pub(super) fn heading(found: &RunDocument) -> (String, String) {
    let name = found.plan.name.clone().unwrap_or_else(|| logbook::shelf::short(found.head.id));
    let hosts = number::count(found.plan.hosts.len() as u64, "host", "hosts");
    (run::answer(found), format!("run {name} · {hosts}"))
}

/// The part of the page that tells of `found`.
pub(super) fn tell(page: &mut Builder, told: &Told<'_>, found: &RunDocument) {
    article::opening(page, told);
    if found.ended != Some(Ended::Complete) {
        page.html.element("p", "class=\"early\"", "Not ended. What was found until then stands here.");
    }
    let printed = run::render(found, &Style { width: TERMINAL, verbose: true, ..Style::default() });
    page.html.raw(&format!("<pre tabindex=\"0\">{}</pre>\n", escaped(&printed)));
    article::command(page, &told.id(), &found.head.command);
    page.html.raw("</article>\n");
}
