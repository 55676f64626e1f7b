//! Lines of at most a width: items that flow, paragraphs that wrap, tables that align, in colour or not.
//!
//! Widths are those of a terminal's cells. Nothing here knows what is told.

use std::ops::Range;

use anstyle::AnsiColor;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::markup::{on_one_line, sealed};

/// The look of a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Cells of a line, at least 40.
    pub width: usize,
    /// True where ANSI colours may be used.
    pub colour: bool,
    /// True where everything is printed, not only what fits a screen.
    pub verbose: bool,
    /// True where only ASCII may be used, for terminals whose locale is not UTF-8.
    pub ascii: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { width: 80, colour: false, verbose: false, ascii: false }
    }
}

impl Style {
    /// `text` as this style can show it.
    pub fn say(&self, text: &str) -> String {
        if self.ascii { in_ascii(text) } else { text.to_owned() }
    }

    /// `text`, a part of a line, as this style can show it: a tab or an end of a line in it is a sign.
    fn say_within_a_line(&self, text: &str) -> String {
        self.say(&on_one_line(text))
    }
}

/// True where the locale says that text is not UTF-8. Where it says nothing, as in most containers, text is UTF-8.
pub fn is_ascii_locale(variable: impl Fn(&str) -> Option<String>) -> bool {
    let said =
        ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| variable(name).filter(|value| !value.is_empty()));
    said.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        !(locale.contains("utf-8") || locale.contains("utf8"))
    })
}

/// The characters we use, as ASCII tells them; anything else of another script becomes `?`.
fn in_ascii(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            'µ' | 'μ' => plain.push('u'),
            '⇄' => plain.push_str("<->"),
            '±' => plain.push_str("+-"),
            '…' => plain.push_str(".."),
            '·' | '–' | '—' | '−' => plain.push('-'),
            '→' => plain.push_str("->"),
            '≥' => plain.push_str(">="),
            '≤' => plain.push_str("<="),
            '×' => plain.push('x'),
            '█'..='▌' => plain.push('#'),
            // Blocks of less than half a cell, and spaces that do not break.
            '▍'..='▏' | '\u{2007}' | '\u{2009}' | '\u{00a0}' | '\u{202f}' => plain.push(' '),
            _ if character.is_ascii() => plain.push(character),
            _ => plain.push('?'),
        }
    }
    plain
}

/// The weight of a piece of text for the reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Text as any other.
    #[default]
    Plain,
    /// Text that the eye should find first.
    Strong,
    /// Text that may be passed over.
    Faint,
    /// Text that must not be passed over.
    Alarm,
}

/// A piece of text of one tone; not broken where a line has room for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    text: String,
    tone: Tone,
}

impl Piece {
    /// `text` in `tone`.
    pub fn new(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: text.into(), tone }
    }
}

impl<T: Into<String>> From<T> for Piece {
    fn from(text: T) -> Self {
        Self::new(text, Tone::Plain)
    }
}

/// A screen that grows line by line. No line has spaces at its end.
#[derive(Clone, Debug)]
pub struct Page {
    style: Style,
    lines: Vec<String>,
    answers: Vec<String>,
    warnings: Vec<String>,
    /// Number of lines after the last warning that is shown.
    warned: usize,
}

/// Warnings that a screen shows without `-v`.
const MOST: usize = 3;

impl Page {
    /// An empty screen.
    pub fn new(style: Style) -> Self {
        Self { style, lines: Vec::new(), answers: Vec::new(), warnings: Vec::new(), warned: 0 }
    }

    /// The style of its text.
    pub fn style(&self) -> &Style {
        &self.style
    }

    /// The answers, without breaks.
    pub fn answers(&self) -> &[String] {
        &self.answers
    }

    /// The warnings, without breaks, also those that are not shown.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// An empty line, unless there is one already or nothing above.
    pub fn gap(&mut self) {
        if self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(String::new());
        }
    }

    /// Items side by side, `between` them, broken between items where the width ends; further lines start at `indent`.
    pub fn flow(&mut self, first: usize, indent: usize, between: &str, items: &[Piece]) {
        let between = self.style.say(between);
        let room = self.style.width.saturating_sub(indent).max(1);
        let mut line = Line::indented(first);
        for (index, item) in items.iter().enumerate() {
            let item = self.shown(item);
            let parts = cut(&item.text, room);
            if index > 0 {
                let needed = between.width() + parts[0].width();
                if line.width + needed + closing(&between, index, items.len()) > self.style.width {
                    // The joint between two items stays at the line's end, so that it reads as going on.
                    line.push(&Piece::from(between.trim_end()), false);
                    self.lines.push(line.finish());
                    line = Line::indented(indent);
                } else {
                    line.push(&Piece::from(between.as_str()), false);
                }
            }
            // Only an item that is longer than a line goes on below itself.
            for (place, part) in parts.into_iter().enumerate() {
                if place > 0 {
                    self.lines.push(std::mem::replace(&mut line, Line::indented(indent)).finish());
                }
                line.push(&Piece::new(part, item.tone), self.style.colour);
            }
        }
        self.lines.push(line.finish());
    }

    /// `label` at `first`, then `text` wrapped between `indent` and the width. A number keeps its groups and its unit;
    /// a word longer than a line is cut.
    pub fn paragraph(&mut self, first: usize, label: &Piece, indent: usize, text: &str) {
        self.labelled(first, label, indent, &words(text));
    }

    fn labelled(&mut self, first: usize, label: &Piece, indent: usize, units: &[String]) {
        let label = self.shown(label);
        let mut line = Line::indented(first);
        line.push(&label, self.style.colour);
        line.pad_to(indent.max(line.width + usize::from(line.width > first)));
        for text in self.wrapped(indent, line.width - indent, units) {
            line.push(&Piece::from(text), false);
            self.lines.push(std::mem::replace(&mut line, Line::indented(indent)).finish());
        }
    }

    /// `label` at `first`, then items with ` · ` between them, wrapped between `indent` and the width. An item is broken only where it
    /// is longer than a line.
    pub fn items(&mut self, first: usize, label: &Piece, indent: usize, items: &[String]) {
        let room = self.style.width.saturating_sub(indent).max(1);
        let last = items.len().saturating_sub(1);
        let joined =
            items.iter().enumerate().map(|(place, item)| if place < last { format!("{item} ·") } else { item.clone() });
        let units: Vec<String> =
            joined.flat_map(|item| if item.width() <= room { vec![item] } else { words(&item) }).collect();
        self.labelled(first, label, indent, &units);
    }

    /// The answer, which stands first: strong, wrapped, with an empty line below.
    pub fn answer(&mut self, text: &str) {
        self.answers.push(text.to_owned());
        for line in self.wrapped(0, 0, &words(text)) {
            self.line(0, &[Piece::new(line, Tone::Strong)]);
        }
        self.gap();
    }

    /// A warning: `! fact → action`. Without `-v` a screen has the first three and the number of the others, so that the most important
    /// come first.
    pub fn warning(&mut self, text: &str) {
        self.warnings.push(text.to_owned());
        if self.style.verbose || self.warnings.len() <= MOST {
            self.paragraph(0, &Piece::new("!", Tone::Alarm), INDENT, text);
            self.warned = self.lines.len();
        }
    }

    /// The lines of `units` between `indent` and the width; the first has `first` cells less.
    fn wrapped(&self, indent: usize, first: usize, units: &[String]) -> Vec<String> {
        let room = self.style.width.saturating_sub(indent).max(1);
        let (mut lines, mut line, mut taken) = (Vec::new(), String::new(), first);
        for word in units.iter().flat_map(|word| cut(&self.style.say(word), room)) {
            if !line.is_empty() && taken + 1 + word.width() > room {
                lines.push(std::mem::take(&mut line));
                taken = 0;
            }
            if !line.is_empty() {
                line.push(' ');
                taken += 1;
            }
            taken += word.width();
            line.push_str(&word);
        }
        lines.push(line);
        lines
    }

    /// Rows of cells in columns, indented by two: the first column flush left, the others right. Columns that the width
    /// has no room for go into further blocks, each with the first column before it.
    pub fn table(&mut self, rows: &[Vec<Piece>]) {
        let rows: Vec<Vec<Piece>> = rows.iter().map(|row| row.iter().map(|cell| self.shown(cell)).collect()).collect();
        let count = rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.text.width()).max();
        let widths: Vec<usize> = (0..count).map(|column| width(column).unwrap_or(0)).collect();
        let between = if INDENT + joined(&widths, WIDE) <= self.style.width { WIDE } else { NARROW };
        for (number, block) in blocks(&widths, between, self.style.width.saturating_sub(INDENT)).iter().enumerate() {
            if number > 0 {
                self.gap();
            }
            for row in &rows {
                self.row(row, &widths, block, between);
            }
        }
    }

    /// The cells of `row` in the first column and those of `block`.
    fn row(&mut self, row: &[Piece], widths: &[usize], block: &Range<usize>, between: usize) {
        let mut line = Line::indented(INDENT);
        let mut edge = INDENT;
        for column in [0].into_iter().chain(block.clone()) {
            let cell = row.get(column).cloned().unwrap_or_default();
            edge += widths[column];
            if column > 0 {
                line.pad_to(edge - cell.text.width());
            }
            line.push(&cell, self.style.colour);
            // A first column that names nothing takes no room.
            edge += if widths[column] > 0 { between } else { 0 };
        }
        self.lines.push(line.finish());
    }

    /// A line as it is.
    pub fn line(&mut self, indent: usize, pieces: &[Piece]) {
        let mut line = Line::indented(indent);
        for piece in pieces {
            line.push(&self.shown(piece), self.style.colour);
        }
        self.lines.push(line.finish());
    }

    /// The screen, each line with its end.
    pub fn finish(mut self) -> String {
        if !self.style.verbose && self.warnings.len() > MOST {
            let below = self.lines.split_off(self.warned);
            self.line(INDENT, &[Piece::new(format!("{} more: -v", self.warnings.len() - MOST), Tone::Faint)]);
            self.lines.extend(below);
        }
        while self.lines.last().is_some_and(String::is_empty) {
            self.lines.pop();
        }
        let mut text = self.lines.join("\n");
        text.push('\n');
        text
    }

    fn shown(&self, piece: &Piece) -> Piece {
        Piece { text: self.style.say_within_a_line(&piece.text), tone: piece.tone }
    }
}

/// The words of `text`; a number with its groups of three digits and its unit is one, and a joint hangs on the word
/// before it.
fn words(text: &str) -> Vec<String> {
    const UNITS: [&str; 13] = ["ns", "µs", "ms", "s", "B", "kB", "MB", "GB", "KiB", "MiB", "GiB", "%", "/s"];
    let mut words: Vec<String> = Vec::new();
    let text = text.replace('\t', "\u{2409}");
    for token in text.split_whitespace() {
        if let Some(last) = words.last_mut().filter(|_| token == "·") {
            last.push_str(" ·");
            continue;
        }
        let bare = token.trim_end_matches([',', ':', ';', ')', '.']);
        let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
        let group = digits == 3 && (bare.len() == 3 || bare[3..].starts_with('/'));
        match words.last_mut().filter(|last| last.ends_with(|end: char| end.is_ascii_digit())) {
            Some(last) if group || UNITS.contains(&bare) => {
                last.push(' ');
                last.push_str(token);
            }
            _ => words.push(token.to_owned()),
        }
    }
    words
}

/// `word` in pieces of at most `room` cells.
fn cut(word: &str, room: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for character in word.chars() {
        let piece = pieces.last().map_or(0, |piece| piece.width());
        if piece + character.width().unwrap_or(0) > room {
            pieces.push(String::new());
        }
        if let Some(piece) = pieces.last_mut() {
            piece.push(character);
        }
    }
    pieces
}

/// Column at which the lines under the headline start.
pub const INDENT: usize = 2;
/// Cells between two columns, where there is room.
const WIDE: usize = 3;
/// Cells between two columns, where there is not.
const NARROW: usize = 2;

/// Cells that columns of these `widths` take, `between` them.
fn joined(widths: &[usize], between: usize) -> usize {
    let columns = widths.iter().filter(|width| **width > 0);
    columns.map(|width| width + between).sum::<usize>().saturating_sub(between)
}

/// The columns after the first, in runs that fit `room` together with it; one column at least in each.
fn blocks(widths: &[usize], between: usize, room: usize) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let mut start = 1;
    for end in 1..=widths.len() {
        let over = end < widths.len() && {
            let columns: Vec<usize> = [widths[0]].into_iter().chain(widths[start..=end].iter().copied()).collect();
            joined(&columns, between) > room && end > start
        };
        if over || end == widths.len() {
            blocks.push(start..end);
            start = end;
        }
    }
    blocks
}

/// Room that a joint at the end of the line takes, where there are more items to come.
fn closing(between: &str, index: usize, count: usize) -> usize {
    if index + 1 < count { between.trim_end().width() } else { 0 }
}

/// A line as it grows; its width is counted apart from its colours.
struct Line {
    text: String,
    width: usize,
}

impl Line {
    fn indented(cells: usize) -> Self {
        Self { text: " ".repeat(cells), width: cells }
    }

    fn pad_to(&mut self, cells: usize) {
        let missing = cells.saturating_sub(self.width);
        self.text.push_str(&" ".repeat(missing));
        self.width += missing;
    }

    fn push(&mut self, piece: &Piece, colour: bool) {
        self.width += piece.text.width();
        let style = match piece.tone {
            Tone::Plain => anstyle::Style::new(),
            _ if !colour => anstyle::Style::new(),
            Tone::Strong => anstyle::Style::new().bold(),
            Tone::Faint => anstyle::Style::new().dimmed(),
            Tone::Alarm => AnsiColor::Yellow.on_default().bold(),
        };
        // Spaces at the end stay outside the colour, so that those of a line can be taken off.
        let text = piece.text.trim_end();
        let (on, off) = (sealed(&style.render().to_string()), sealed(&style.render_reset().to_string()));
        let coloured = if text.is_empty() { [""; 3] } else { [on.as_str(), text, &off] };
        self.text.extend(coloured);
        self.text.push_str(&piece.text[text.len()..]);
    }

    fn finish(self) -> String {
        self.text.trim_end().to_owned()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use test_case::test_case;

    use super::*;

    fn page(width: usize) -> Page {
        Page::new(Style { width, ..Style::default() })
    }

    fn pieces(texts: &[&str]) -> Vec<Piece> {
        texts.iter().map(|text| Piece::from(*text)).collect()
    }

    #[test]
    fn three_warnings_are_shown_and_the_number_of_the_others() {
        let said = |count: usize, verbose: bool| {
            let mut page = Page::new(Style { width: 40, verbose, ..Style::default() });
            (0..count).for_each(|number| page.warning(&format!("fact {number}")));
            page.gap();
            page.paragraph(INDENT, &Piece::default(), INDENT, "below");
            (page.warnings().len(), page.finish())
        };
        assert_eq!(said(5, false), (5, "! fact 0\n! fact 1\n! fact 2\n  2 more: -v\n\n  below\n".to_owned()));
        assert_eq!(said(5, true).1.matches("! ").count(), 5);
        assert_eq!(said(3, false), said(3, true));
    }

    #[test]
    fn an_answer_is_strong_and_a_warning_is_marked() {
        let mut page = Page::new(Style { width: 40, colour: true, ..Style::default() });
        page.answer("p50 15.5 µs, p99 83.2 µs, 0 lost: TCP to 10.93.0.2:7663");
        page.warning("This host was busy. Compare only min and p50 → pin it with --cpu");
        let text = page.finish();
        assert!(crate::markup::for_terminal(&text).lines().take(2).all(|line| line.starts_with("\u{1b}[1m")), "{text}");
        assert_eq!(
            without_colour(&text),
            "p50 15.5 µs, p99 83.2 µs, 0 lost: TCP to\n10.93.0.2:7663\n\n! This host was busy. Compare only min\n  and p50 → pin it with --cpu\n"
        );
    }

    #[test]
    fn items_break_between_items() {
        let mut page = page(12);
        page.flow(0, 2, " · ", &pieces(&["one", "two", "three", "4"]));
        assert_eq!(page.finish(), "one · two ·\n  three · 4\n");
    }

    #[test]
    fn words_wrap_under_the_first() {
        let mut page = page(20);
        page.paragraph(2, &Piece::from("note"), 8, "as many words as it takes");
        assert_eq!(page.finish(), "  note  as many\n        words as it\n        takes\n");
    }

    #[test]
    fn a_number_keeps_its_groups_and_its_unit() {
        let mut page = page(16);
        page.paragraph(0, &Piece::default(), 0, "it took 1 388 124 ns, or 1.4 ms, yes");
        assert_eq!(page.finish(), "it took\n1 388 124 ns, or\n1.4 ms, yes\n");
    }

    #[test]
    fn a_word_longer_than_a_line_is_cut() {
        let mut page = page(8);
        page.paragraph(0, &Piece::default(), 2, "abcdefghijk");
        assert_eq!(page.finish(), "  abcdef\n  ghijk\n");
    }

    #[test]
    fn columns_align_by_cells_not_bytes() {
        let mut page = page(40);
        page.table(&[pieces(&["a", "µs µs", "1"]), pieces(&["bb", "x", "22"])]);
        assert_eq!(page.finish(), "  a    µs µs    1\n  bb       x   22\n");
    }

    #[test]
    fn columns_without_room_go_into_a_further_block() {
        let mut page = page(14);
        page.table(&[pieces(&["n", "one", "two", "three"]), pieces(&["m", "1", "2", "3"])]);
        assert_eq!(page.finish(), "  n  one  two\n  m    1    2\n\n  n  three\n  m      3\n");
    }

    #[test]
    fn a_first_column_without_names_takes_no_room() {
        let mut page = page(40);
        page.table(&[pieces(&["", "one", "two"]), pieces(&["", "1", "2"])]);
        assert_eq!(page.finish(), "  one   two\n    1     2\n");
    }

    #[test]
    fn colour_changes_no_place() {
        let rows = [vec![Piece::new("a", Tone::Faint), Piece::new("1", Tone::Strong)], pieces(&["bb", "22"])];
        let mut plain = page(40);
        plain.table(&rows);
        let mut coloured = Page::new(Style { colour: true, ..Style::default() });
        coloured.table(&rows);
        let (plain, coloured) = (plain.finish(), coloured.finish());
        assert_ne!(plain, coloured);
        assert_eq!(without_colour(&coloured), plain);
    }

    /// Takes away what stands between ESC and `m`.
    pub(crate) fn without_colour(text: &str) -> String {
        let text = crate::markup::for_terminal(text);
        let mut parts = text.split('\u{1b}');
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |whole, part| whole + part.split_once('m').map_or("", |(_, rest)| rest))
    }

    #[test_case(&[], false; "nothing said")]
    #[test_case(&[("LANG", "C.UTF-8")], false; "utf-8")]
    #[test_case(&[("LANG", "en_US.utf8"), ("LC_ALL", "")], false; "an empty one says nothing")]
    #[test_case(&[("LANG", "en_US.UTF-8"), ("LC_ALL", "C")], true; "overruled")]
    #[test_case(&[("LC_CTYPE", "de_DE.ISO-8859-1")], true; "latin")]
    fn the_locale_decides_about_letters(said: &[(&str, &str)], ascii: bool) {
        let lookup = |name: &str| said.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        assert_eq!(is_ascii_locale(lookup), ascii);
    }

    #[test]
    fn ascii_is_ascii() {
        let style = Style { ascii: true, ..Style::default() };
        assert_eq!(style.say("64 B ⇄ 64 B · 25 µs ± 1 é"), "64 B <-> 64 B - 25 us +- 1 ?");
    }
}
