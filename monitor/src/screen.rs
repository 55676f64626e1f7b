//! The screen: a table of the ways, below it the chosen one's latency over time, what marks part, and the keys.
//!
//! A pure function of what is shown ([`crate::view::View`]) and of how many cells there are.

mod map;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use crate::view::{LATELY, NOW, Row, Standing, View};
use crate::words::{self, mark_named, mark_told, notice_told, percentile_name, quantile, share, time_went, warnings};
use measure::span::Span;

/// Settings of drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// With colours.
    pub colour: bool,
    /// With ASCII letters alone.
    pub ascii: bool,
}

/// The keys that are shown at the bottom, as many as there is room for.
const KEYS: [&str; 9] =
    ["? keys", "q end", "m mark", "space freeze", "p percentile", "+ - time", "h histogram", "s order", "w write page"];

/// Below so many lines or columns there is a table alone.
const SMALL: (u16, u16) = (60, 15);

/// Draws `view`.
pub fn draw(frame: &mut Frame<'_>, view: &View, look: Look) {
    let area = frame.area();
    let mut page = Page { buffer: frame.buffer_mut(), look };
    if area.height == 0 || area.width == 0 {
        return;
    }
    page.head(view, line(area, 0));
    let keys = line(area, area.height - 1);
    if view.shows_help {
        page.help(within(area, 1, area.height.saturating_sub(2)));
        page.keys(view, keys);
        return;
    }
    let is_small = area.width < SMALL.0 || area.height < SMALL.1;
    // Heading and rows; the rest is for the chosen one, unless the table needs it all.
    let wanted = view.rows.len() as u16 + 1;
    let room = area.height.saturating_sub(2);
    let below = if is_small { 0 } else { 3 + told(view, area.width).len() as u16 + 6 };
    let table = if view.is_large && !is_small { 2 } else { wanted.min(room.saturating_sub(below).max(2)) };
    page.table(view, within(area, 1, table));
    if !is_small {
        page.chosen(view, within(area, 1 + table, room.saturating_sub(table)));
    }
    page.keys(view, keys);
}

fn within(area: Rect, from: u16, height: u16) -> Rect {
    Rect { y: area.y + from, height, ..area }
}

fn line(area: Rect, from: u16) -> Rect {
    within(area, from, 1)
}

struct Page<'a> {
    buffer: &'a mut Buffer,
    look: Look,
}

impl Page<'_> {
    /// Writes `text` in one line of `area`, cut at its end. A character that would move the cursor or turn the text is shown
    /// by its number.
    fn say(&mut self, area: Rect, from: u16, text: &str, style: Style) {
        let is_seen = from < area.width && area.y < self.buffer.area.bottom();
        if !is_seen {
            return;
        }
        let style = if self.look.colour { style } else { Style { fg: None, bg: None, ..style } };
        let said = report::layout::Style { ascii: self.look.ascii, ..report::layout::Style::default() }
            .say(&report::markup::visible(text));
        self.buffer.set_stringn(area.x + from, area.y, said, usize::from(area.width - from), style);
    }

    fn head(&mut self, view: &View, area: Rect) {
        let state = match view.frozen {
            Some(_) => "standing still, measuring goes on",
            None => "live",
        };
        let right = format!("{}  {state}", view.clock(view.end()));
        let left = format!("sonde watch  {} ways · {} s a column", view.rows.len(), view.step());
        self.say(area, 0, &left, Style::new().add_modifier(Modifier::BOLD));
        let at = area.width.saturating_sub(right.chars().count() as u16);
        if usize::from(at) > left.chars().count() {
            self.say(area, at, &right, Style::new());
        }
    }

    fn keys(&mut self, view: &View, area: Rect) {
        let text = match (&view.typing, &view.notice) {
            (Some(mark), _) => {
                format!("mark at {}: {}_   (enter keeps it, escape drops it)", view.clock(mark.at), mark.text)
            }
            (_, Some(notice)) => notice.clone(),
            _ => fitting(&KEYS, usize::from(area.width)),
        };
        // The end of a text that is being typed stays visible.
        let width = usize::from(area.width);
        let skip = if view.typing.is_some() { text.chars().count().saturating_sub(width) } else { 0 };
        self.say(area, 0, &text.chars().skip(skip).collect::<String>(), Style::new().add_modifier(Modifier::REVERSED));
    }

    fn help(&mut self, area: Rect) {
        for (k, text) in words::HELP.lines().take(usize::from(area.height)).enumerate() {
            self.say(line(area, k as u16), 1, text, Style::new());
        }
    }

    fn table(&mut self, view: &View, area: Rect) {
        let columns = Columns::of(area.width);
        let percentile = percentile_name(view.percentile());
        self.cells(
            line(area, 0),
            &columns,
            &Cells::heading(&percentile),
            Style::new().add_modifier(Modifier::UNDERLINED),
        );
        let rows = view.ordered();
        let room = usize::from(area.height.saturating_sub(1));
        // The chosen row is always seen.
        let first = if view.is_large { view.chosen } else { (view.chosen + 1).saturating_sub(room) };
        for (k, row) in rows.iter().enumerate().skip(first).take(room) {
            let area = line(area, 1 + (k - first) as u16);
            let chosen = if k == view.chosen { Modifier::BOLD | Modifier::REVERSED } else { Modifier::empty() };
            let style =
                if matches!(row.standing, Standing::Failed(_)) { Style::new().fg(Color::Red) } else { Style::new() };
            self.cells(area, &columns, &Cells::of(row, view), style);
            self.say(area, 0, &shortened(&row.way.host, usize::from(columns.host)), style.add_modifier(chosen));
            if row.notices.is_open() || !warnings(row, view).is_empty() {
                self.say(area, columns.host, "!", Style::new().fg(Color::Yellow));
            }
            self.course(row, view, area, &columns);
        }
    }

    fn cells(&mut self, area: Rect, columns: &Columns, cells: &Cells, style: Style) {
        self.say(area, 0, &shortened(&cells.host, usize::from(columns.host)), style);
        let shown = cells.figures.iter().zip(&columns.figures).filter(|(_, (_, width))| *width > 0);
        for (text, (from, width)) in shown {
            self.say(area, *from, &format!("{text:>width$}", width = usize::from(*width)), style);
        }
        if let Some(course) = columns.course {
            self.say(area, course, &cells.course, style);
        }
    }

    /// The medians of the latest columns as bars: the highest is the highest of those that are seen.
    fn course(&mut self, row: &Row, view: &View, area: Rect, columns: &Columns) {
        const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        const PLAIN: [char; 8] = ['_', '.', '-', '=', '+', '*', '#', '@'];
        let Some(from) = columns.course else { return };
        if let Standing::Failed(why) = &row.standing {
            self.say(area, from, &format!("{why}; tried again"), Style::new().fg(Color::Red));
            return;
        }
        let spans = map::columns(row, view, usize::from(area.width - from));
        let levels: Vec<Option<u64>> = spans.iter().map(|span| span.times.quantile(view.percentile())).collect();
        let scale = map::Scale::of(levels.iter().flatten().copied(), BARS.len());
        let bars = if self.look.ascii { PLAIN } else { BARS };
        for (k, (level, span)) in levels.iter().zip(&spans).enumerate() {
            let bar = level
                .map_or(if span.counts.messages_sent() > 0 { '×' } else { ' ' }, |level| bars[scale.place(level)]);
            self.say(area, from + k as u16, &bar.to_string(), Style::new());
        }
    }

    fn chosen(&mut self, view: &View, area: Rect) {
        let Some(row) = view.chosen() else {
            let text = "asking which ways answer …";
            self.say(line(area, 0), 0, text, Style::new());
            return;
        };
        if area.height < 4 {
            return;
        }
        let told = told(view, area.width);
        let title = words::title(row, view, self.look.ascii);
        self.say(line(area, 0), 0, &title, Style::new().add_modifier(Modifier::BOLD));
        let map = within(area, 1, area.height - 1 - told.len() as u16);
        if view.shows_histogram {
            map::histogram(self, row, view, map);
        } else {
            map::heat(self, row, view, map);
        }
        for (k, text) in told.iter().enumerate() {
            let style = if text.starts_with('!') { Style::new().fg(Color::Yellow) } else { Style::new() };
            self.say(line(area, area.height - (told.len() - k) as u16), 0, text, style);
        }
    }
}

/// Lines below the map of the chosen row: its breakdown, the trouble of this host, the latest changes and marks.
fn told(view: &View, width: u16) -> Vec<String> {
    /// Changes and marks at the most.
    const LATEST: usize = 2;
    let Some(row) = view.chosen() else { return Vec::new() };
    let marks =
        view.marks.iter().map(|mark| (mark.at, format!("{}: {}", mark_named(mark, view), mark_told(mark, row, view))));
    let end = view.end();
    let seen = row.notices.found().iter().filter(|notice| view.second(notice.incident.noticed) <= end);
    let changes = seen.map(|notice| (view.second(notice.incident.onset.likely), notice_told(notice, row, view)));
    let mut latest: Vec<(u64, String)> = marks.chain(changes).collect();
    latest.sort_by_key(|(at, _)| *at);
    let latest = latest.split_off(latest.len().saturating_sub(LATEST)).into_iter().map(|(_, text)| text);
    let went = time_went(row, view);
    let went = (!went.is_empty()).then(|| format!("time went: {}", went.join(", ")));
    let all = went.into_iter().chain(warnings(row, view)).chain(latest);
    all.flat_map(|text| wrapped(&text, usize::from(width))).collect()
}

/// `text` in lines of at most `width`, between words; those after the first are set in.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) => lines.push(format!("  {word}")),
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Begins of the table's columns, and their widths.
struct Columns {
    host: u16,
    figures: Vec<(u16, u16)>,
    course: Option<u16>,
}

/// Widths of the figures, and below which width of the screen a figure is left out.
const FIGURES: [(u16, u16); 7] = [(4, 0), (9, 0), (8, 70), (6, 30), (9, 60), (9, 100), (6, 60)];

impl Columns {
    fn of(width: u16) -> Self {
        let host = (width / 5).clamp(8, 32);
        let mut at = host + 1;
        let figures = FIGURES.iter().map(|(wide, from)| {
            let place = (at, if width < *from { 0 } else { *wide });
            at += if place.1 > 0 { wide + 1 } else { 0 };
            place
        });
        let figures = figures.collect();
        Self { host, figures, course: (at + 8 < width).then_some(at + 1) }
    }
}

/// Texts of a line of the table.
struct Cells {
    host: String,
    figures: Vec<String>,
    course: String,
}

impl Cells {
    fn heading(percentile: &str) -> Self {
        let figures = ["", percentile, "max", "lost", &format!("5m {percentile}"), "5m p99", "5m lost"];
        let figures = figures.map(str::to_owned).to_vec();
        Self { host: "host".to_owned(), figures, course: format!("{percentile} over time") }
    }

    fn of(row: &Row, view: &View) -> Self {
        let end = view.end();
        let [now, lately] = [NOW, LATELY].map(|span| row.history.between(end.saturating_sub(span), end));
        let max = now.max.and_then(|max| report::number::time(max.0 as f64)).unwrap_or_default();
        let at = |span: &Span, q| quantile(&span.times, q);
        let figures = vec![
            row.way.protocol.short().to_owned(),
            at(&now, view.percentile()),
            max,
            share(&now),
            at(&lately, view.percentile()),
            at(&lately, 0.99),
            share(&lately),
        ];
        // A figure that is not wide enough for its column is not shown by half.
        let fitting = |(text, (width, _)): (String, &(u16, u16))| {
            if text.chars().count() > usize::from(*width) { "…".to_owned() } else { text }
        };
        let figures = figures.into_iter().zip(&FIGURES).map(fitting).collect();
        Self { host: String::new(), figures, course: String::new() }
    }
}

/// As many of `items`, from the first, as fit into a line of `width`.
fn fitting(items: &[&str], width: usize) -> String {
    items.iter().fold(String::new(), |line, item| match line.chars().count() {
        0 => (*item).to_owned(),
        length if length + 2 + item.len() <= width => format!("{line}  {item}"),
        _ => line,
    })
}

fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return format!("{text:<width$}");
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests;
