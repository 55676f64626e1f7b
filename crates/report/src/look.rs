//! A first look at a host as the screen a person reads: what answered first, a row for each way to ask, a picture of them on one
//! axis, and a sentence that says which number to believe and why the others differ.
//!
//! Nothing is judged here: causes and their words come from `measure::look`. The first two lines can be printed while the host is
//! still being tried.

mod picture;
mod sentence;

use logbook::look::LookDocument;
use logbook::record::Ended;
use measure::look::{Burst, Leg, Look, Sums};
use measure::reach::{PortFinding, Seen, Transport, Verdict};
use measure::unit::Nanos;
use unicode_width::UnicodeWidthStr;

use crate::layout::{INDENT, Page, Piece, Style, Tone};
use crate::number;

/// Between what stands side by side.
const JOINT: &str = " · ";
/// Where text behind a label starts.
const LABEL: usize = 11;
/// The same behind the longest of them.
const LATER: usize = 13;

/// What is known before anything is asked.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    /// The host as it was asked for.
    pub host: &'a str,
    /// The addresses that are looked at.
    pub addresses: &'a [String],
    /// From one round to the next.
    pub interval: Nanos,
    /// How long the rounds go on.
    pub length: Nanos,
}

impl Opening<'_> {
    /// `db1 · 10.0.0.2 · every way once in 100 ms, for 5 s`.
    pub fn render(&self, style: &Style) -> String {
        let mut page = Page::new(*style);
        let addresses = self.addresses.iter().filter(|address| *address != self.host);
        let host = Piece::new(self.host, Tone::Strong);
        let how = format!("every way once in {}, for {}", self.interval, self.length);
        let items = [host].into_iter().chain(addresses.map(Piece::from)).chain([Piece::from(how)]);
        page.flow(0, INDENT, JOINT, &items.collect::<Vec<_>>());
        page.finish()
    }
}

/// The first answers, on a line that grows while they come.
#[derive(Clone, Debug)]
pub struct FirstLine {
    style: Style,
    /// Cells of the present line; 0: there is none yet.
    cells: usize,
}

impl FirstLine {
    /// Nothing yet.
    pub fn new(style: Style) -> Self {
        Self { style, cells: 0 }
    }

    /// What an answer adds to the line.
    pub fn add(&mut self, over: &str, port: Option<u16>, after: Nanos) -> String {
        let port = port.map_or_else(String::new, |port| format!(" {port}"));
        let item = self.style.say(&format!("{over}{port} {after}"));
        let joint = self.style.say(JOINT);
        let before = if self.cells == 0 {
            format!("{:INDENT$}{:<width$}", "", "first", width = LABEL - INDENT)
        } else if self.cells + joint.width() + item.width() > self.style.width {
            self.cells = 0;
            format!("\n{:LABEL$}", "")
        } else {
            joint
        };
        self.cells += before.trim_start_matches('\n').width() + item.width();
        before + &item
    }

    /// The end of the line, where there is one.
    pub fn end(&self) -> &'static str {
        if self.cells == 0 { "" } else { "\n" }
    }
}

/// The screen for `found`: lines of at most `style.width` cells, none with spaces at its end.
pub fn render(found: &LookDocument, style: &Style) -> String {
    let look = &found.look;
    let addresses: Vec<String> = look.addresses.iter().map(|asked| asked.address.clone()).collect();
    let opening =
        Opening { host: &look.host, addresses: &addresses, interval: look.interval_ns, length: look.length_ns };
    let mut text = opening.render(style);
    let mut line = FirstLine::new(*style);
    for asked in &look.addresses {
        let mut first = |over: &str, port, seen: &Seen| {
            if let Seen::Answer { after_ns } = seen {
                text.push_str(&line.add(over, port, *after_ns));
            }
        };
        first("icmp", None, &asked.echo);
        asked.ports.iter().for_each(|port| first(&port.transport.to_string(), Some(port.port), &port.seen));
    }
    text.push_str(line.end());
    text + &rest(found, style)
}

/// What stands below the first answers.
pub fn rest(found: &LookDocument, style: &Style) -> String {
    let look = &found.look;
    let mut page = Page::new(*style);
    // An empty line is none at the top of a page.
    page.line(0, &[]);
    if let Ended::Interrupted { signal } = &found.ended {
        let told = format!("by {signal}; what was seen until then stands here");
        page.paragraph(INDENT, &Piece::new("ended early", Tone::Alarm), LABEL + 2 * INDENT, &told);
        page.gap();
    }
    for address in 0..look.addresses.len() as u32 {
        table(&mut page, look, address);
    }
    picture::draw(&mut page, look);
    let label = Piece::new(if look.judgement.believed.is_some() { "believe" } else { "nothing" }, Tone::Strong);
    page.paragraph(INDENT, &label, LABEL, &sentence::of(look));
    page.gap();
    if let Some(text) = sentence::besides(look) {
        page.paragraph(INDENT, &Piece::new("besides", Tone::Faint), LATER, &text);
    }
    unasked(&mut page, look);
    tried(&mut page, look);
    page.finish()
}

/// How a leg is called on the screen: `tcp exchange :7663`.
pub(crate) fn name(leg: &Leg) -> String {
    leg.port.map_or_else(|| leg.name().to_owned(), |port| format!("{} :{port}", leg.name()))
}

/// A row for each way that was asked at an address, and below it one for its exchanges back to back.
fn table(page: &mut Page, look: &Look, address: u32) {
    let legs = || (0_u32..).zip(&look.legs).filter(|(_, leg)| leg.address == address && leg.sums.due > 0);
    if legs().next().is_none() {
        return;
    }
    if look.addresses.len() > 1 {
        page.line(INDENT, &[Piece::new(&look.addresses[address as usize].address, Tone::Strong)]);
    }
    let mut rows =
        vec![["", "answers", "min", "p50", "p90", "p99", "lost"].map(|text| Piece::new(text, Tone::Faint)).to_vec()];
    for (place, leg) in legs() {
        let believed = look.judgement.believed.is_some_and(|believed| believed.leg == place);
        let tone = if believed { Tone::Strong } else { Tone::Plain };
        rows.push(row(name(leg), &leg.who.to_string(), &leg.sums, tone));
        let burst = |burst: &&Burst| burst.leg == place;
        if let Some(burst) = look.bursts.iter().find(burst) {
            rows.push(row("  back to back".to_owned(), "", &burst.sums, Tone::Faint));
        }
    }
    // A quantile that no row has room for takes no column.
    for column in [5, 4] {
        if rows[1..].iter().all(|row| row[column] == Piece::from("")) {
            for row in &mut rows {
                row.remove(column);
            }
        }
    }
    page.table(&rows);
    page.gap();
}

fn row(name: String, who: &str, sums: &Sums, tone: Tone) -> Vec<Piece> {
    let quantile = |q: f64| {
        let found = sums.quantiles.iter().find(|quantile| quantile.q == q);
        found.and_then(number::quantile).unwrap_or_default()
    };
    let gone = sums.lost + sums.refused + sums.failed;
    let lost = if gone == 0 { "0".to_owned() } else { format!("{gone} of {}", sums.due) };
    let min = sums.min_ns.map_or(String::new(), |min| min.to_string());
    let middle = Piece::new(quantile(0.5), if tone == Tone::Strong { Tone::Strong } else { Tone::Plain });
    let first = [Piece::new(name, tone), Piece::from(who), Piece::from(min), middle];
    let rest = [quantile(0.9), quantile(0.99), lost].map(Piece::from);
    first.into_iter().chain(rest).collect()
}

/// The ways that were not asked, or not to the end, and why.
fn unasked(page: &mut Page, look: &Look) {
    for leg in &look.legs {
        if let Some(why) = &leg.trouble {
            let whom = if leg.who.is_program() { format!(" with {}", leg.who) } else { String::new() };
            let at = look.addresses.get(leg.address as usize).filter(|_| leg.address > 0);
            let at = at.map_or_else(String::new, |asked| format!(" at {}", asked.address));
            let how = if leg.sums.due == 0 { "not asked" } else { "cut short" };
            let text = format!("{}{whom}{at}: {why}", name(leg));
            page.paragraph(INDENT, &Piece::new(how, Tone::Alarm), LATER, &text);
        }
    }
    if let Some(why) = look.no_bursts.as_ref().filter(|_| look.judgement.believed.is_some()) {
        page.paragraph(INDENT, &Piece::new("not asked", Tone::Faint), LATER, &format!("back to back: {why}"));
    }
}

/// What each port met with: `tcp open 7663, 22; refused 7, 5001`.
fn tried(page: &mut Page, look: &Look) {
    for asked in &look.addresses {
        let mut parts = vec![format!("icmp {}", echo(&asked.echo))];
        for transport in [Transport::Tcp, Transport::Udp] {
            let ports =
                |verdict| asked.ports.iter().filter(move |port| (port.transport, port.verdict) == (transport, verdict));
            let verdicts = [Verdict::Open, Verdict::Refused, Verdict::Filtered, Verdict::OpenOrFiltered];
            let further = [Verdict::Unreachable, Verdict::NotAsked];
            let told = verdicts.into_iter().chain(further).filter_map(|verdict| {
                let numbers: Vec<String> = ports(verdict).map(|port: &PortFinding| port.port.to_string()).collect();
                (!numbers.is_empty()).then(|| format!("{verdict} {}", numbers.join(", ")))
            });
            let told: Vec<String> = told.collect();
            if !told.is_empty() {
                parts.push(format!("{transport} {}", told.join("; ")));
            }
        }
        let whose = if look.addresses.len() > 1 { format!("at {}: ", asked.address) } else { String::new() };
        let text = format!("{whose}{}", parts.join(JOINT));
        page.paragraph(INDENT, &Piece::new("tried", Tone::Faint), LATER, &text);
    }
}

fn echo(seen: &Seen) -> String {
    match seen {
        Seen::Answer { .. } => "answered".to_owned(),
        Seen::Reset { .. } => "reset".to_owned(),
        Seen::Error { says, from: Some(from), .. } => format!("{says}, says {from}"),
        Seen::Error { says, from: None, .. } => format!("{says}, says this machine"),
        Seen::Silence { waited_ns } => format!("no answer in {waited_ns}"),
        Seen::NotAsked { .. } => "not asked".to_owned(),
    }
}

#[cfg(test)]
mod tests;
