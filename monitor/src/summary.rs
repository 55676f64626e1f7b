//! Summary at the end of a watch: a line for each way, and the sides of each mark.

use std::fmt::Write;

use crate::view::{Row, Standing, View};
use crate::words::{mark_named, mark_told, notice_told, quantile, share};

/// The summary as text.
pub fn text(view: &View) -> String {
    let mut text = String::new();
    for row in &view.rows {
        // Writing to a string does not fail.
        let _written = writeln!(text, "{}", of(row));
        for notice in row.notices.found() {
            let _written = writeln!(text, "  {}", notice_told(notice, row, view));
        }
    }
    for mark in &view.marks {
        let _written = writeln!(text, "{}", mark_named(mark, view));
        for row in &view.rows {
            let _written = writeln!(text, "  {}: {}", row.way.named(), mark_told(mark, row, view));
        }
    }
    text
}

/// `db1 tcp: p50 24.9 µs, p99 41.5 µs, 0 % of 3 000 lost`.
fn of(row: &Row) -> String {
    let way = row.way.named();
    let whole = row.history.whole();
    if whole.counts.messages_sent() == 0 {
        let why = if let Standing::Failed(why) = &row.standing {
            report::markup::visible(why)
        } else {
            "nothing was sent".to_owned()
        };
        return format!("{way}: {why}");
    }
    let [p50, p99] = [0.5, 0.99].map(|q| quantile(&whole.times, q));
    let sent = whole.counts.messages_sent();
    let refused = row.refusals.whole().map(|kinds| format!("; refused by {kinds}")).unwrap_or_default();
    format!("{way}: p50 {p50}, p99 {p99}, {} of {sent} lost{refused}", share(whole))
}

/// A line of how a way does now, for whoever has no screen.
pub fn now(row: &Row, view: &View) -> String {
    let end = view.end();
    let from = end.saturating_sub(crate::view::NOW);
    let span = row.history.between(from, end);
    let refused = row.refusals.between(from, end).map(|kinds| format!("; refused by {kinds}")).unwrap_or_default();
    let what = match &row.standing {
        Standing::Failed(why) => format!("{}; tried again", report::markup::visible(why)),
        _ => format!("p50 {}, {} lost{refused}", quantile(&span.times, 0.5), share(&span)),
    };
    format!("{} {}: {what}", view.clock(end), row.way.named())
}
