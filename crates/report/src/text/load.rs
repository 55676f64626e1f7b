//! Figures of a load alone: one-way messages, the direction of losses, what held messages back, its seconds.

use measure::event::Second;
use measure::outcome::{Loss, Outcome, Slip};
use measure::unit::{Nanos, grouped};

use crate::layout::{INDENT, Page, Piece, Tone};
use crate::number;
use crate::text::column::LABEL;

/// The number of messages that left, where not each of them was a request.
pub(super) fn messages(outcome: &Outcome) -> Option<String> {
    let sent = outcome.counts.messages_sent();
    (outcome.counts.one_way > 0).then(|| number::count(sent, "message sent", "messages sent"))
}

/// Losses in each direction, where the peer counted and one of them is not 0.
pub(super) fn directions(outcome: &Outcome) -> Vec<String> {
    let (loss, sent) = (&outcome.loss, outcome.counts.messages_sent());
    if loss.forward.unwrap_or(0) == 0 && loss.reverse.unwrap_or(0) == 0 && loss.peer_elsewhere.is_none() {
        return Vec::new();
    }
    let way = |lost: i64, of: u64, way: &str| {
        let share =
            if lost > 0 && of > 0 { format!(" ({})", number::percent(lost as f64 / of as f64)) } else { String::new() };
        format!("{}{share} {way}", grouped(lost.unsigned_abs()))
    };
    let there = loss.forward.map(|lost| way(lost, sent, "on the way to the peer"));
    let back = loss.reverse.map(|lost| way(lost, loss.peer_replied.unwrap_or(0), "back"));
    [there, elsewhere(loss), back].into_iter().flatten().collect()
}

/// `3 600 came there from another port`: messages that the peer saw and does not answer.
fn elsewhere(loss: &Loss) -> Option<String> {
    loss.peer_elsewhere.map(|count| format!("{} came there from another port", grouped(count)))
}

/// The time for which scheduled messages could not be sent, and why, where it was long enough to be seen.
pub(super) fn held(slip: &Slip) -> impl Iterator<Item = String> {
    let held = [(slip.held_by_cap_ns, "the limit of requests in flight"), (slip.held_by_socket_ns, "a full socket")];
    held.into_iter().filter_map(|(span, by)| {
        let span = span.filter(|span| *span >= SEEN)?;
        Some(format!("held back {span} by {by}"))
    })
}

/// A shorter time is no cause of anything.
const SEEN: Nanos = Nanos::millis(1);

/// Each second, up to as many as a person looks through.
pub(super) fn course(page: &mut Page, seconds: &[Second]) {
    const SHOWN: usize = 60;
    let head = ["from", "sent", "answered", "lost", "min", "mean", "max"];
    let mut rows = vec![head.map(|text| Piece::new(text, Tone::Faint)).to_vec()];
    rows.extend(seconds.iter().take(SHOWN).map(|second| second_of(second).map(Piece::from).to_vec()));
    page.gap();
    if rows.len() > 1 {
        page.table(&rows);
    }
    if let Some(more) = seconds.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        page.paragraph(INDENT, &Piece::new("and", Tone::Faint), LABEL, &number::count(more as u64, "more", "more"));
    }
}

fn second_of(second: &Second) -> [String; 7] {
    let length = second.length_ns.as_secs_f64();
    let rate = |count: u64| number::rate((count as f64 / length).round()).unwrap_or_default();
    let time = |time: Option<Nanos>| time.map(|time| time.to_string()).unwrap_or_default();
    let counts = &second.counts;
    [
        second.at_ns.to_string(),
        rate(counts.messages_sent()),
        rate(counts.answered),
        grouped(counts.missing()),
        time(second.min_ns),
        second.mean_ns.and_then(number::time).unwrap_or_default(),
        time(second.max_ns),
    ]
}
