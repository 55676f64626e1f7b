//! Latency over time, and its histogram.

use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::{Page, line, within};
use crate::view::{LATELY, Row, View};
use measure::span::Span;

/// Shades of a colour terminal, from hardly any to the most: each is brighter than the one before.
const SHADES: [Color; 7] = [
    Color::Indexed(17),
    Color::Indexed(24),
    Color::Indexed(30),
    Color::Indexed(36),
    Color::Indexed(78),
    Color::Indexed(150),
    Color::Indexed(229),
];
/// The same without colours.
const LETTERS: [char; 4] = ['░', '▒', '▓', '█'];
/// The same in ASCII.
const PLAIN: [char; 4] = ['.', '+', '#', '@'];
/// Cells for the axis on the left.
const AXIS: u16 = 9;

/// A logarithmic scale from the least to the most, in so many places.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    low: f64,
    high: f64,
    places: usize,
}

impl Scale {
    /// Scale for these values, nanoseconds. It is a factor of two wide at least, so that noise does not look like a
    /// mountain.
    pub fn of(values: impl Iterator<Item = u64>, places: usize) -> Self {
        let (low, high) = values.fold((u64::MAX, 0), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = ((low.min(high).max(1) as f64).ln(), (high.max(1) as f64).ln());
        let missing = (std::f64::consts::LN_2 - (high - low)).max(0.0) / 2.0;
        Self { low: low - missing, high: high + missing, places }
    }

    /// The place of a value, from 0 at the least.
    pub fn place(&self, value: u64) -> usize {
        let share = ((value.max(1) as f64).ln() - self.low) / (self.high - self.low);
        ((share * self.places as f64) as usize).min(self.places - 1)
    }

    /// The value in the middle of a place, nanoseconds.
    fn middle(&self, place: usize) -> f64 {
        (self.low + (place as f64 + 0.5) / self.places as f64 * (self.high - self.low)).exp()
    }
}

/// The latest `count` columns of `row`, the last of which ends where the view does. Columns begin at whole multiples of their length, so
/// that they do not flow; the last one may not be over.
pub fn columns(row: &Row, view: &View, count: usize) -> Vec<Span> {
    let step = view.step();
    let end = view.end().next_multiple_of(step);
    let starts = (1..=count as u64).rev().map(|k| (end.checked_sub(k * step), end - (k - 1).min(end / step) * step));
    starts.map(|(from, to)| from.map_or_else(Span::default, |from| row.history.between(from, to))).collect()
}

/// The place among the shades, from 0, of `count` where the most is `most`: by the logarithm. `None` for nothing.
fn shade(count: u64, most: u64, shades: usize) -> Option<usize> {
    let share = (count as f64).ln_1p() / (most.max(1) as f64).ln_1p();
    (count > 0).then(|| ((share * shades as f64).ceil() as usize).clamp(1, shades) - 1)
}

/// Columns of time, rows of latency, shades of how many requests; a line of marks above it and one of losses below it.
pub fn heat(page: &mut Page<'_>, row: &Row, view: &View, area: Rect) {
    let height = area.height.saturating_sub(2);
    let width = area.width.saturating_sub(AXIS);
    if height < 2 || width < 8 {
        return;
    }
    let spans = columns(row, view, usize::from(width));
    if spans.iter().all(|span| span.times.count() == 0) {
        page.say(line(area, 0), AXIS, "no answer in this time", Style::new());
        return;
    }
    let all = spans.iter().flat_map(|span| span.times.buckets().map(|(value, _)| value));
    // With colours a cell has two halves.
    let halves = if page.look.colour && !page.look.ascii { 2 } else { 1 };
    let scale = Scale::of(all, usize::from(height) * halves);
    let counts: Vec<Vec<u64>> = spans.iter().map(|span| placed(span, &scale)).collect();
    let most = counts.iter().flatten().copied().max().unwrap_or(1);
    for k in 0..height {
        let lower = usize::from(height - 1 - k) * halves;
        if k % 2 == 0 {
            let middle = scale.middle(lower + halves / 2);
            let axis = report::number::short_time(middle).unwrap_or_default();
            page.say(line(area, 1 + k), 0, &format!("{axis:>8}"), Style::new());
        }
        for (x, column) in counts.iter().enumerate() {
            let (from, at) = (AXIS + x as u16, line(area, 1 + k));
            cell(page, at, from, &column[lower..lower + halves], most);
        }
    }
    notes(page, row, view, &spans, area, height);
}

/// Draws a cell: the lower half first.
fn cell(page: &mut Page<'_>, area: Rect, from: u16, counts: &[u64], most: u64) {
    if let [lower, upper] = counts {
        let colour = |count: u64| shade(count, most, SHADES.len()).map_or(Color::Reset, |place| SHADES[place]);
        let style = Style::new().fg(colour(*upper)).bg(colour(*lower));
        match (upper, lower) {
            (0, 0) => {}
            (0, _) => page.say(area, from, "▄", Style::new().fg(colour(*lower))),
            _ => page.say(area, from, "▀", style),
        }
        return;
    }
    let letters = if page.look.ascii { PLAIN } else { LETTERS };
    if let Some(place) = shade(counts[0], most, letters.len()) {
        page.say(area, from, &letters[place].to_string(), Style::new());
    }
}

/// Values of `span` in each place.
fn placed(span: &Span, scale: &Scale) -> Vec<u64> {
    let mut counts = vec![0; scale.places];
    span.times.buckets().for_each(|(value, count)| counts[scale.place(value)] += count);
    counts
}

/// Marks above the map, and below it the columns in which something was lost.
fn notes(page: &mut Page<'_>, row: &Row, view: &View, spans: &[Span], area: Rect, height: u16) {
    let step = view.step();
    let end = view.end().next_multiple_of(step);
    let first = end.saturating_sub(spans.len() as u64 * step);
    let unseen = spans.len() as u64 - (end - first) / step;
    let changes = row.notices.found().iter().filter(|notice| view.second(notice.incident.noticed) <= view.end());
    let changes =
        changes.map(|notice| (view.second(notice.incident.onset.likely), crate::incident::change(&notice.incident)));
    let marks = view.marks.iter().map(|mark| (mark.at, mark.text.clone()));
    for (at, text) in changes.chain(marks).filter(|(at, _)| (first..end).contains(at)) {
        let x = AXIS + (unseen + (at - first) / step) as u16;
        page.say(line(area, 0), x, &format!("▾{text} "), Style::new().add_modifier(Modifier::BOLD));
        for k in 0..height {
            page.say(line(area, 1 + k), x, "│", Style::new());
        }
    }
    let below = within(area, 1 + height, 1);
    page.say(below, 0, "   lost", Style::new());
    for (x, span) in spans.iter().enumerate() {
        let lost = span.counts.messages_sent().saturating_sub(span.counts.answered);
        if lost > 0 {
            let text = if lost < 10 { lost.to_string() } else { "×".to_owned() };
            page.say(below, AXIS + x as u16, &text, Style::new().fg(Color::Red));
        }
    }
}

/// Draws the distribution of the last minutes' response times.
pub fn histogram(page: &mut Page<'_>, row: &Row, view: &View, area: Rect) {
    let end = view.end();
    let span = row.history.between(end.saturating_sub(LATELY), end);
    let height = area.height;
    if span.times.count() == 0 || height < 2 {
        page.say(line(area, 0), AXIS, "no answer in this time", Style::new());
        return;
    }
    let scale = Scale::of(span.times.buckets().map(|(value, _)| value), usize::from(height));
    let counts = placed(&span, &scale);
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let room = u64::from(area.width.saturating_sub(AXIS + 10).max(1));
    let letter = if page.look.ascii { "#" } else { "█" };
    for (place, count) in counts.iter().enumerate() {
        let at = line(area, height - 1 - place as u16);
        let axis = report::number::short_time(scale.middle(place)).unwrap_or_default();
        page.say(at, 0, &format!("{axis:>8}"), Style::new());
        // The smallest count is seen too.
        let length = if *count == 0 { 0 } else { (count * room / most).max(1) };
        let bar = letter.repeat(length as usize);
        page.say(at, AXIS, &format!("{bar} {count}"), Style::new());
    }
}

/// Brightness of each shade, by the weights of Rec. 709 on the levels of xterm's cube of 6 × 6 × 6 colours.
#[cfg(test)]
pub fn brightness() -> Vec<u32> {
    let of = |shade: &Color| {
        let Color::Indexed(index) = shade else { panic!("{shade:?} is not one of the cube") };
        let level = |place: u32| if place == 0 { 0 } else { 55 + 40 * place };
        let index = u32::from(*index) - 16;
        2_126 * level(index / 36) + 7_152 * level(index / 6 % 6) + 722 * level(index % 6)
    };
    SHADES.iter().map(of).collect()
}
