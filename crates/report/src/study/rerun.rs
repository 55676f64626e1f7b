//! A measurement that was made again: what is different about the hosts comes before what is different about the numbers.

use logbook::study::{Rerun, StudyDocument};
use measure::comparison::fewest;

use crate::layout::{INDENT, Page, Piece, Tone};

/// Facts that are shown where not all are asked for: what follows them is to stay on the screen.
const SHOWN: usize = 6;

/// Characters of a fact that is shown where not all are asked for.
const LONGEST: usize = 60;

/// The part of the screen before the comparison.
pub(super) fn render(page: &mut Page, study: &StudyDocument, rerun: &Rerun) {
    let answer = match rerun.environment.len() {
        0 => "No recorded fact of the hosts or their programs differs".to_owned(),
        1 => "1 fact of the hosts or their programs differs".to_owned(),
        count => format!("{count} facts of the hosts or their programs differ"),
    };
    page.answer(&answer);
    let shown = if page.style().verbose { usize::MAX } else { SHOWN };
    for fact in rerun.environment.iter().take(shown) {
        let told = format!("{} → {}", fact.first, fact.second);
        let told =
            if told.chars().count() > LONGEST && !page.style().verbose { "differs: -v".to_owned() } else { told };
        page.paragraph(INDENT, &Piece::new(format!("{}:", fact.axis), Tone::Strong), INDENT * 2, &told);
    }
    if let Some(more) = rerun.environment.len().checked_sub(shown).filter(|more| *more > 0) {
        page.paragraph(INDENT, &Piece::new(format!("… and {more} more: -v"), Tone::Faint), INDENT, "");
    }
    for change in &rerun.changes {
        page.warning(change);
    }
    page.paragraph(INDENT, &Piece::default(), INDENT, &scope(study));
    page.gap();
}

/// The scope of a comparison with an earlier hour.
fn scope(study: &StudyDocument) -> String {
    let runs = [0, 1].map(|setting| study.trials_of(setting).len());
    let needed = fewest(1, measure::comparison::Design::Apart);
    let hour = "The two were measured at different times: the time, the network or the hosts may be the reason for a difference";
    if runs.into_iter().min() >= Some(needed) {
        return format!("{hour}.");
    }
    format!(
        "{hour}. {}+{} runs do not show how much runs differ, so they cannot show a difference: it takes {needed} records and {needed} runs.",
        runs[0], runs[1]
    )
}
