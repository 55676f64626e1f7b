//! A study as the screen a person reads: what was set against what, what was found, and how surely.

pub(crate) mod comparison;
mod sweep;
pub(crate) mod why;

use logbook::record::Ended;
use logbook::study::{Question, StudyDocument};

use crate::layout::{INDENT, Page, Piece, Style, Tone};

/// Where text behind a label starts.
const LABEL: usize = 15;

/// The screen for `study`: lines of at most `style.width` cells, none with spaces at its end.
pub fn render(study: &StudyDocument, style: &Style) -> String {
    let mut page = Page::new(*style);
    match &study.question {
        Question::Compare { design } => comparison::render(&mut page, study, *design),
        Question::Sweep { axis, values, figures, methods } => {
            sweep::render(&mut page, study, &sweep::Asked { axis, values: *values, figures, methods });
        }
        Question::Why { interval_ns, method, switches } => {
            why::render(&mut page, study, &why::Asked { interval: *interval_ns, method, switches });
        }
        _ => {}
    }
    page.finish()
}

/// What a reader must know first: that there are fewer trials than were to be made.
fn incomplete(page: &mut Page, study: &StudyDocument) {
    let made = study.trials.iter().filter(|trial| trial.record.is_some()).count();
    let planned = study.planned();
    if study.takes_ns.is_none() || made >= planned {
        return;
    }
    let why = match &study.ended {
        Some(Ended::Interrupted { signal }) => format!("by {signal}: "),
        Some(Ended::PeerLost { reason }) => format!("the peer is gone ({reason}): "),
        Some(Ended::Complete) => String::new(),
        None => "written while it went on: ".to_owned(),
    };
    let told = format!("{why}{made} of {planned} trials were made; what was found until then stands here");
    page.paragraph(INDENT, &Piece::new("incomplete", Tone::Alarm), LABEL, &told);
    let failures: Vec<&str> =
        study.trials.iter().filter_map(|trial| trial.failure.as_ref()).map(|failure| failure.what.as_str()).collect();
    if let Some(first) = failures.first() {
        let told = format!("{} of the trials failed, the first so: {first}", failures.len());
        page.paragraph(INDENT, &Piece::new("", Tone::Plain), LABEL, &told);
    }
    page.gap();
}
