//! Runs and records as lists, a line each.

use logbook::record::Ended;
use logbook::shelf::{RecordSummary, RunSummary, short};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::ABSENT;
use crate::layout::{Page, Piece, Style, Tone};
use crate::moment::moment;

/// Cells between two columns.
const BETWEEN: usize = 2;
/// Fewest cells of a last column, however narrow the screen.
const LAST: usize = 8;

/// The list of `runs`, in their order; an empty one says so.
pub fn runs(runs: &[RunSummary], style: &Style) -> String {
    let row = |run: &RunSummary| {
        vec![
            short(run.id),
            minute(run.started),
            run.hosts.to_string(),
            run.done.to_string(),
            run.failed.to_string(),
            run.planned.map_or_else(|| ABSENT.to_owned(), |planned| planned.to_string()),
            ended(run.ended.as_ref()),
            run.plan.clone().unwrap_or_else(|| ABSENT.to_owned()),
        ]
    };
    let alarms = |run: &RunSummary| {
        let mut alarms = vec![Tone::Strong, Tone::Plain, Tone::Plain, Tone::Plain];
        alarms.push(if run.failed > 0 { Tone::Alarm } else { Tone::Plain });
        alarms
    };
    let rows = runs.iter().map(|run| (row(run), alarms(run))).collect();
    let head = ["run", "started", "hosts", "done", "failed", "of", "ended", "plan"];
    list(&head, &[2, 3, 4, 5], rows, "no stored run matches", style)
}

/// The list of `records`, in their order.
pub fn records(records: &[RecordSummary], style: &Style) -> String {
    let row = |record: &RecordSummary| {
        let run = record.run.map_or_else(|| ABSENT.to_owned(), short);
        vec![record.id.to_string(), run, minute(record.started), format!("{} · {}", record.target, record.method)]
    };
    let rows = records.iter().map(|record| (row(record), vec![Tone::Strong])).collect();
    list(&["record", "run", "started", "what"], &[], rows, "no stored record matches", style)
}

/// Rows under `head`, the columns of `numbers` flush right; the last column is cut where the width ends.
fn list(head: &[&str], numbers: &[usize], rows: Vec<(Vec<String>, Vec<Tone>)>, none: &str, style: &Style) -> String {
    let mut page = Page::new(*style);
    if rows.is_empty() {
        page.line(0, &[Piece::new(none, Tone::Faint)]);
        return page.finish();
    }
    let faint = vec![Tone::Faint; head.len()];
    let head = (head.iter().map(ToString::to_string).collect(), faint);
    let all: Vec<(Vec<String>, Vec<Tone>)> = std::iter::once(head).chain(rows).collect();
    let last = all[0].0.len() - 1;
    let width = |column: usize| all.iter().map(|(row, _)| row[column].width()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..last).map(width).collect();
    let taken: usize = widths.iter().map(|width| width + BETWEEN).sum();
    let room = style.width.saturating_sub(taken).max(LAST);
    for (row, tones) in &all {
        let mut pieces = Vec::new();
        for (column, text) in row.iter().enumerate() {
            let pad = |cells: usize| Piece::from(" ".repeat(cells));
            let tone = tones.get(column).copied().unwrap_or_default();
            if column == last {
                pieces.push(Piece::new(cut(text, room), tone));
                continue;
            }
            let missing = widths[column] - text.width();
            let (before, behind) = if numbers.contains(&column) { (missing, 0) } else { (0, missing) };
            pieces.extend([pad(before), Piece::new(text, tone), pad(behind + BETWEEN)]);
        }
        page.line(0, &pieces);
    }
    page.finish()
}

/// To the minute: `2026-10-20 14:03`.
fn minute(at: logbook::moment::Moment) -> String {
    moment(at).chars().take(16).collect()
}

fn ended(ended: Option<&Ended>) -> String {
    match ended {
        None => "open".to_owned(),
        Some(Ended::Complete) => "complete".to_owned(),
        Some(Ended::Interrupted { signal }) => signal.clone(),
        Some(Ended::PeerLost { .. }) => "lost".to_owned(),
    }
}

/// `text` in at most `room` cells.
fn cut(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let mut left = room.saturating_sub(1);
    let kept = text.chars().take_while(|letter| {
        let taken = letter.width().unwrap_or(0);
        let fits = taken <= left;
        left = left.saturating_sub(taken);
        fits
    });
    kept.collect::<String>() + "…"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn summary(number: u8) -> RunSummary {
        let run = fixture::run();
        RunSummary {
            id: run.head.id,
            started: run.head.started,
            plan: (number > 0).then(|| "mesh over three zones and their hosts".to_owned()),
            hosts: 3,
            done: 1_024,
            failed: number.into(),
            planned: (number < 2).then_some(1_030),
            ended: match number {
                0 => None,
                1 => Some(Ended::Complete),
                _ => Some(Ended::Interrupted { signal: "SIGINT".to_owned() }),
            },
        }
    }

    #[test]
    fn runs_are_a_line_each() {
        let text = runs(&[0, 1, 2].map(summary), &Style::default());
        assert!(text.lines().all(|line| line.width() <= 80 && !line.ends_with(' ')), "{text}");
        insta::assert_snapshot!(text);
        assert_eq!(runs(&[], &Style::default()), "no stored run matches\n");
    }
}
