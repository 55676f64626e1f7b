//! A quick survey of a host as the screen a person reads: the answer, a row for each protocol that was measured, warnings; with `-v`
//! also more quantiles, a plot on one axis, and the ports that were tried.
//!
//! Nothing is judged here: `measure::look` finds the reference and the causes.

mod explanation;
mod picture;
mod sentence;

use std::fmt::Write as _;

use logbook::look::LookDocument;
use measure::comparison::Word;
use measure::look::further::most_rounds;
use measure::look::{Finding, Leg, Look, Subject, Sums, Who};
use measure::method::Carrier;
use measure::reach::{PortFinding, Seen, Service, Transport, Verdict};
use measure::unit::Nanos;
use unicode_width::UnicodeWidthStr;

use crate::flat::markdown::escaped;
use crate::layout::{INDENT, Page, Piece, Style, Tone};
use crate::moment::moment;
use crate::number;
use crate::words::{self, command::Command, port, warning};

pub use sentence::answer;

/// Between what stands side by side.
const JOINT: &str = " · ";
/// Column at which text behind a label starts.
const LABEL: usize = 10;

/// The first replies, on one line that grows while they come.
#[derive(Clone, Debug)]
pub struct FirstLine(String);

impl FirstLine {
    /// Before anything has answered: the host, the rounds and their length.
    pub fn new(host: &str, interval: Nanos, length: Nanos) -> Self {
        let more = most_rounds(length, interval);
        Self(format!("{host}: one round per {interval} for {length}, {more} more at most"))
    }

    /// The line with one more reply.
    pub fn add(&mut self, over: &str, port: Option<u16>, after: Nanos) -> &str {
        let port = port.map_or_else(String::new, |port| format!(" {port}"));
        let _ = write!(self.0, "{JOINT}{} {after}", over.to_uppercase() + &port);
        &self.0
    }

    /// The line as it is.
    pub fn text(&self) -> &str {
        &self.0
    }
}

/// The screen for `found`: lines of at most `style.width` cells, none with spaces at its end.
pub fn render(found: &LookDocument, style: &Style) -> String {
    let look = &found.look;
    let mut page = Page::new(*style);
    page.answer(&answer(found));
    for address in 0..look.addresses.len() as u32 {
        table(&mut page, look, address);
    }
    for text in explanation::reasons(look) {
        page.paragraph(INDENT, &Piece::default(), INDENT, &text);
    }
    page.gap();
    if style.verbose {
        picture::draw(&mut page, look);
    }
    for text in warnings(look) {
        page.warning(&text);
    }
    if style.verbose || look.judgement.believed.is_none() {
        page.gap();
        tried(&mut page, look);
    }
    page.finish()
}

/// The name of a row: `TCP :7663`.
pub(crate) fn name(leg: &Leg) -> String {
    let protocol = protocol(leg.carrier);
    leg.port.map_or_else(|| protocol.to_owned(), |port| format!("{protocol} :{port}"))
}

fn protocol(carrier: Carrier) -> &'static str {
    match carrier {
        Carrier::Icmp => "ICMP echo",
        Carrier::TcpConnect | Carrier::TcpSyn => "TCP connect",
        Carrier::Tcp => "TCP",
        Carrier::Udp => "UDP",
    }
}

/// The rows of an address as a screen shows them.
fn table(page: &mut Page, look: &Look, address: u32) {
    let rows = rows(look, address);
    if rows.len() < 2 {
        return;
    }
    if look.addresses.len() > 1 {
        page.line(INDENT, &[Piece::new(&look.addresses[address as usize].address, Tone::Strong)]);
    }
    let verbose = page.style().verbose;
    let width = |text: fn(&Row) -> &str| rows.iter().map(|row| text(row).width()).max().unwrap_or(0);
    let (who, reason) = (width(|row| &row.who), width(|row| &row.reason));
    let rows: Vec<Vec<Piece>> = rows.iter().map(|row| row.cells(verbose, who, reason)).collect();
    page.table(&rows);
    page.gap();
}

/// A head, and a row for each protocol that was measured at an address, the reference first, and below it one for its no-pause run.
fn rows(look: &Look, address: u32) -> Vec<Row> {
    let reference = look.judgement.believed.map(|believed| believed.leg);
    let mut legs: Vec<(u32, &Leg)> =
        (0..).zip(&look.legs).filter(|(_, leg)| leg.address == address && leg.sums.due > 0).collect();
    legs.sort_by_key(|(place, _)| Some(*place) != reference);
    let mut rows = vec![Row::head()];
    for (place, leg) in legs {
        let of = |finding: &&Finding| match finding.of {
            Subject::Leg { leg } | Subject::Further { leg, .. } => leg == place,
            _ => false,
        };
        let finding = look.judgement.findings.iter().find(of);
        let is_reference = Some(place) == reference;
        rows.push(Row::of(name(leg), leg.who.to_string(), &leg.sums, finding, is_reference));
        if let Some((number, burst)) = (0_u32..).zip(&look.bursts).find(|(_, burst)| burst.leg == place) {
            let of = |finding: &&Finding| finding.of == Subject::Burst { burst: number };
            let finding = look.judgement.findings.iter().find(of);
            rows.push(Row::of("  no pause".to_owned(), leg.who.to_string(), &burst.sums, finding, false));
        }
    }
    rows
}

/// The parts of a survey as a page has them.
pub(crate) struct Parts {
    /// The rows of each address that has some.
    pub(crate) tables: Vec<(String, Vec<PageRow>)>,
    /// Explanations below the tables.
    pub(crate) notes: Vec<String>,
    /// The warnings, all of them.
    pub(crate) warnings: Vec<String>,
}

/// The cells of a row, and its median as a number.
pub(crate) type PageRow = ([String; 8], Option<Nanos>);

/// The heads of a row's cells; the third is the median.
pub(crate) const HEAD: [&str; 8] = ["protocol", "answered by", "p50", "lost", "shift", "reason", "min", "p90"];

/// The parts of the page.
pub(crate) fn parts(found: &LookDocument) -> Parts {
    let look = &found.look;
    let row = |row: Row| {
        let name = row.name.strip_prefix("  ").map_or(row.name.clone(), |name| format!("… {name}"));
        ([name, row.who, row.p50, row.lost, row.shift, row.reason, row.min, row.p90], row.median)
    };
    let table = |(address, asked): (u32, &measure::look::Asked)| {
        let rows: Vec<PageRow> = rows(look, address).into_iter().skip(1).map(row).collect();
        (!rows.is_empty()).then(|| (asked.address.clone(), rows))
    };
    let tables = (0..).zip(&look.addresses).filter_map(table).collect();
    Parts { tables, notes: explanation::reasons(look), warnings: warnings(look) }
}

/// The survey as Markdown, to paste into an issue: the answer, the table of each address, what explains it, the warnings, when and by what.
pub fn markdown(found: &LookDocument) -> String {
    let look = &found.look;
    let mut text = format!("**{}**\n\n", escaped(&answer(found)));
    for (address, asked) in (0..).zip(&look.addresses) {
        let rows = rows(look, address);
        if rows.len() < 2 {
            continue;
        }
        if look.addresses.len() > 1 {
            let _ = writeln!(text, "{}\n", escaped(&asked.address));
        }
        for (place, row) in rows.iter().enumerate() {
            let name = match row.name.strip_prefix("  ") {
                Some(name) => format!("… {}", escaped(name)),
                None => escaped(&row.name),
            };
            let rest = [&row.who, &row.p50, &row.lost, &row.shift, &row.reason].map(|cell| escaped(cell));
            let _ = writeln!(text, "| {name} | {} |", rest.join(" | "));
            if place == 0 {
                text.push_str("| --- | --- | ---: | ---: | ---: | --- |\n");
            }
        }
        text.push('\n');
    }
    for note in explanation::reasons(look).into_iter().chain(warnings(look)) {
        let _ = writeln!(text, "- {}", escaped(&note));
    }
    let (started, version) = (moment(found.head.started), &found.head.tool.version);
    let _ = writeln!(text, "\nOne request per {}, measured {started} (sonde {version})", look.interval_ns);
    text
}

/// A row of the table.
struct Row {
    name: String,
    median: Option<Nanos>,
    who: String,
    min: String,
    p50: String,
    p90: String,
    p99: String,
    lost: String,
    shift: String,
    reason: String,
    tone: Tone,
}

impl Row {
    fn head() -> Self {
        let [name, who, min, p50, p90, p99, lost, shift, reason] =
            ["protocol", "answered by", "min", "p50", "p90", "p99", "lost", "shift", "reason"].map(str::to_owned);
        Self { name, median: None, who, min, p50, p90, p99, lost, shift, reason, tone: Tone::Faint }
    }

    fn of(name: String, who: String, sums: &Sums, finding: Option<&Finding>, is_reference: bool) -> Self {
        let quantile = |q: f64| {
            let found = sums.quantiles.iter().find(|quantile| quantile.q == q);
            found.and_then(number::quantile).unwrap_or_default()
        };
        let gone = sums.lost.saturating_add(sums.refused).saturating_add(sums.failed);
        let differs = finding.filter(|finding| matches!(finding.word, Some(Word::More | Word::Less)));
        let shift = differs.and_then(|finding| finding.shift);
        let reason = if is_reference { "reference" } else { finding.map_or("", sentence::short) };
        Self {
            name,
            median: sums.median(),
            who,
            min: sums.min_ns.map_or(String::new(), number::measured),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            lost: match gone {
                0 => "0".to_owned(),
                _ if gone == sums.refused => format!("{gone} refused"),
                _ => format!("{gone} of {}", sums.due),
            },
            shift: shift.map_or_else(|| "–".to_owned(), |shift| number::signed_time(shift.value_ns.round() as i64)),
            reason: reason.to_owned(),
            tone: if is_reference { Tone::Strong } else { Tone::Plain },
        }
    }

    /// Its cells; the words are flush left in columns of `who` and `reason` cells.
    fn cells(&self, verbose: bool, who: usize, reason: usize) -> Vec<Piece> {
        let left = |text: &str, width: usize| format!("{text}{}", " ".repeat(width - text.width()));
        let mut cells = vec![self.name.clone(), left(&self.who, who)];
        cells.extend(verbose.then(|| self.min.clone()));
        cells.push(self.p50.clone());
        cells.extend(verbose.then(|| [self.p90.clone(), self.p99.clone()]).into_iter().flatten());
        cells.extend([self.lost.clone(), self.shift.clone(), left(&self.reason, reason)]);
        cells.into_iter().map(|text| Piece::new(text, self.tone)).collect()
    }
}

/// No program, and rows that were not measured, or not to the end.
fn warnings(look: &Look) -> Vec<String> {
    // A program that is there and was not measured comes first: it was asked for.
    let mut texts = sentence::programs(look);
    texts.extend(sentence::errors(look));
    texts.extend(sentence::named_ports(look));
    texts.extend(sentence::silent_address(look));
    texts.extend(sentence::reset(look));
    texts.extend(sentence::handshakes(look));
    texts.extend(
        [sentence::busy(look), sentence::periodic(look), sentence::varies(look), sentence::no_program(look)]
            .into_iter()
            .flatten(),
    );
    // Datagrams are answered by `sonde serve` alone.
    let is_ours = |leg: &Leg| matches!(leg.who, Who::Program { service: Service::Sonde });
    let further = if look.legs.iter().any(is_ours) { Command::Load } else { Command::Ask };
    for warning in look.warnings.iter().filter(|warning| warning.busy_end().is_none()) {
        let advice = warning::advice(warning, further).map_or_else(String::new, |advice| format!(" → {advice}"));
        texts.push(format!("{}{advice}", warning::seen(warning)));
    }
    for leg in &look.legs {
        if let Some(dark) = &leg.dark {
            texts.push(format!(
                "{}: {}, while others answered → look for a firewall or a stopped program",
                name(leg),
                words::dark::seen(dark).replacen('N', "n", 1)
            ));
        }
        let is_told = sentence::is_unmeasured(leg);
        if let Some(why) = leg.trouble.as_ref().filter(|_| !is_told) {
            let whom = if leg.who.is_program() { format!(" ({})", leg.who) } else { String::new() };
            let at = look.addresses.get(leg.address as usize).filter(|_| leg.address > 0);
            let at = at.map_or_else(String::new, |asked| format!(" at {}", asked.address));
            let how = if leg.sums.due == 0 { "not measured" } else { "cut short" };
            texts.push(format!("{}{whom}{at} {how}: {why}", name(leg)));
        }
    }
    if let Some(why) = look.no_bursts.as_ref().filter(|_| look.judgement.believed.is_some()) {
        texts.push(format!("No run without pause: {why}"));
    }
    texts
}

/// The result of each port: `TCP open 7663, 22; closed 7, 5001`.
fn tried(page: &mut Page, look: &Look) {
    for asked in &look.addresses {
        let mut parts = vec![format!("ICMP {}", echo(&asked.echo))];
        for transport in [Transport::Tcp, Transport::Udp] {
            let ports =
                |verdict| asked.ports.iter().filter(move |port| (port.transport, port.verdict) == (transport, verdict));
            let verdicts =
                [Verdict::Open, Verdict::Reset, Verdict::Refused, Verdict::Filtered, Verdict::OpenOrFiltered];
            let further = [Verdict::Unreachable, Verdict::NotAsked];
            let told = verdicts.into_iter().chain(further).filter_map(|verdict| {
                let numbers: Vec<String> = ports(verdict).map(|port: &PortFinding| port.port.to_string()).collect();
                (!numbers.is_empty()).then(|| format!("{} {}", port::state(verdict), numbers.join(", ")))
            });
            let told: Vec<String> = told.collect();
            if !told.is_empty() {
                parts.push(format!("{} {}", transport.to_string().to_uppercase(), told.join("; ")));
            }
        }
        let whose = if look.addresses.len() > 1 { format!("at {}: ", asked.address) } else { String::new() };
        let text = format!("{whose}{}", parts.join(JOINT));
        page.paragraph(INDENT, &Piece::new("tried", Tone::Faint), LABEL, &text);
    }
}

fn echo(seen: &Seen) -> String {
    match seen {
        Seen::Answer { .. } => "answered".to_owned(),
        Seen::Reset { .. } | Seen::AcceptedThenReset { .. } => "reset".to_owned(),
        Seen::Error { .. } if seen.is_without_neighbour() => "no reply to ARP or neighbour discovery".to_owned(),
        Seen::Error { says, from: Some(from), .. } => format!("{}, says {from}", port::error(*says)),
        Seen::Error { says, from: None, .. } => format!("{}, says this host", port::error(*says)),
        Seen::Silence { waited_ns } => format!("no answer in {waited_ns}"),
        Seen::NotAsked { .. } => "not asked".to_owned(),
    }
}

#[cfg(test)]
mod tests;
