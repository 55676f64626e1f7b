//! A run of a plan as a screen of text: how many cells were measured, its plan and hosts, failures by reason, a line for each cell.
//!
//! The last of several cells at one place counts. Not here: the matrix, and the records that the cells name.

pub mod comparison;
pub mod list;

use std::collections::BTreeMap;

use logbook::host::Address;
use logbook::plan::{AtOnce, Directions, Order, Plan};
use logbook::record::Ended;
use logbook::run::{Answer, Cell, Figures, HostSeen, PairCheck, Place, RunDocument, Stage};
use logbook::shelf::short;
use measure::outcome::Standing;
use measure::study::figure::Figure;
use measure::unit::Nanos;
use uuid::Uuid;

use crate::layout::{INDENT, Page, Piece, Style, Tone};
use crate::moment::moment;
use crate::number;
use crate::shell;

/// Column at which text behind a label starts.
const LABEL: usize = 14;
/// Digits of a record's id that are shown at least: the millisecond it was given.
const FEWEST: usize = 12;
/// The sign of an empty cell.
const ABSENT: &str = "–";

/// The screen for `run`: lines of at most `style.width` cells, none with spaces at its end.
pub fn render(run: &RunDocument, style: &Style) -> String {
    let mut page = Page::new(*style);
    let cells: Vec<&Cell> = run.last_cells().into_values().collect();
    page.answer(&answer(run));
    page.flow(INDENT, INDENT, " · ", &headline(run));
    asked(&mut page, run, cells.len());
    hosts(&mut page, run);
    checks(&mut page, run);
    failed(&mut page, &cells);
    measured(&mut page, run, &cells);
    page.finish()
}

/// `3 of 4 cells measured, 1 failed: b cannot listen on port 7663 (address in use). p50 54.2 µs to 61.0 µs`.
pub(crate) fn answer(run: &RunDocument) -> String {
    let cells = run.last_cells();
    let failed: Vec<&str> = cells.values().filter_map(|cell| Some(cell.failure.as_ref()?.what.as_str())).collect();
    let done = cells.len() - failed.len();
    let done = match run.planned {
        Some(planned) => format!("{done} of {}", number::count(planned, "cell", "cells")),
        None => number::count(done as u64, "cell", "cells"),
    };
    let ended = match &run.ended {
        None => ", still running or killed".to_owned(),
        Some(Ended::Complete) => String::new(),
        Some(Ended::Interrupted { signal }) => format!(", interrupted by {signal}"),
        Some(Ended::PeerLost { .. }) => ", ended early".to_owned(),
    };
    let reasons: std::collections::BTreeSet<&str> = failed.iter().copied().collect();
    let why = match (failed.first(), reasons.len()) {
        (None, _) => String::new(),
        (Some(first), 0 | 1) => format!(", {} failed: {first}", failed.len()),
        (Some(first), _) => {
            let others = number::count(reasons.len() as u64 - 1, "other reason", "other reasons");
            format!(", {} failed: {first} (and {others})", failed.len())
        }
    };
    let cells: Vec<&Cell> = cells.into_values().collect();
    let of = spreads(run, &cells);
    let of = if of.is_empty() { of } else { format!(". {of}") };
    format!("{done} measured{ended}{why}{of}{}", disturbed(&cells))
}

/// ` (busy hosts in 3 cells)`, where some of those with figures were measured on a host that was busy with other work.
fn disturbed(cells: &[&Cell]) -> String {
    let busy = cells.iter().filter(|cell| cell.figures.is_some_and(|figures| figures.disturbed == Some(true)));
    match busy.count() as u64 {
        0 => String::new(),
        count => format!(" (busy hosts in {})", number::count(count, "cell", "cells")),
    }
}

/// `tcp_rr p50 54.2 µs to 61.0 µs, ping p50 80.1 µs`: the least and the most of the cells of each method, of the first few methods.
fn spreads(run: &RunDocument, cells: &[&Cell]) -> String {
    /// Methods that an answer has room for.
    const TOLD: usize = 3;
    let one = run.plan.methods.len() == 1;
    let spread = |name: &str| {
        let figures = cells.iter().filter(|cell| cell.place.method == name && cell.failure.is_none());
        let figures: Vec<_> = figures.filter_map(|cell| cell.figures).collect();
        let told = |values: Vec<f64>, tell: fn(f64) -> Option<String>| {
            let least = tell(values.iter().copied().reduce(f64::min)?)?;
            let most = tell(values.into_iter().reduce(f64::max)?)?;
            Some(if least == most { least } else { format!("{least} to {most}") })
        };
        let standing = |cell: &Figures| Figures::standing(&[*cell], Figure::Quantile(0.5));
        let printed = figures.iter().filter(|cell| standing(cell) != Standing::TooFew);
        let rough = if figures.iter().any(|cell| standing(cell) == Standing::Rough) { "~" } else { "" };
        let p50 = told(printed.filter_map(|cell| Some(cell.p50_ns?.0 as f64)).collect(), number::time);
        let rate =
            || told(figures.iter().filter_map(|cell| Some(cell.bits_per_second? / 8.0)).collect(), number::bit_rate);
        let told = p50.map(|told| format!("p50 {rough}{told}")).or_else(rate)?;
        Some(if one { told } else { format!("{name} {told}") })
    };
    let all = run.plan.methods.iter().take(TOLD).filter_map(|method| spread(&method.name));
    all.collect::<Vec<_>>().join(", ")
}

/// `run 0199f2ab-1234 · mesh · 2026-10-20 14:03:12+02:00 · 3 hosts`.
fn headline(run: &RunDocument) -> Vec<Piece> {
    let parts = [
        Some(Piece::new(format!("run {}", short(run.head.id)), Tone::Strong)),
        run.plan.name.as_deref().map(Piece::from),
        Some(Piece::from(moment(run.head.started))),
        Some(Piece::from(number::count(run.plan.hosts.len() as u64, "host", "hosts"))),
    ];
    parts.into_iter().flatten().collect()
}

fn asked(page: &mut Page, run: &RunDocument, seen: usize) {
    labelled(page, "ended", &ended(run.ended.as_ref()));
    if let Some(missing) = run.planned.and_then(|planned| planned.checked_sub(seen as u64)).filter(|count| *count > 0) {
        let text = format!("{} of the plan", number::count(missing, "cell", "cells"));
        page.paragraph(INDENT, &Piece::new("not started", Tone::Alarm), LABEL, &text);
    }
    if !run.stages.is_empty() {
        labelled(page, "stages", &run.stages.iter().map(|stage| stage_name(*stage)).collect::<Vec<_>>().join(", "));
    }
    labelled(page, "order", &order(&run.plan));
    for method in &run.plan.methods {
        // Without a name of its own a method is called by its command.
        let (label, command) = if method.name == method.command {
            ("method", &method.command)
        } else {
            (method.name.as_str(), &method.command)
        };
        labelled(page, label, command);
    }
    if page.style().verbose {
        labelled(page, "id", &run.head.id.to_string());
        labelled(page, "command", &shell::line(&run.head.command));
        labelled(page, "by", &format!("{} {}", run.head.tool.name, run.head.tool.version));
    }
}

/// The end of the run, for people.
fn ended(ended: Option<&Ended>) -> String {
    match ended {
        None => "no: still running, or killed".to_owned(),
        Some(Ended::Complete) => "complete".to_owned(),
        Some(Ended::Interrupted { signal }) => format!("early, by {signal}"),
        Some(Ended::PeerLost { reason }) => format!("early: {reason}"),
    }
}

fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Provision => "provision",
        Stage::Prepare => "prepare",
        Stage::Run => "run",
        Stage::Cleanup => "cleanup",
        Stage::Teardown => "teardown",
    }
}

/// `3 repeats from both ends, in random order (seed 4), pairs at once that share no machine`.
fn order(plan: &Plan) -> String {
    let repeats = number::count(plan.repeats.into(), "repeat", "repeats");
    let ends = match plan.directions {
        Directions::Both => "in both directions",
        Directions::Forward => "in one direction",
    };
    let order = match (plan.order, plan.seed) {
        (Order::Random, Some(seed)) => format!("in random order (seed {seed})"),
        (Order::Random, None) => "in random order".to_owned(),
        (Order::Listed, _) => "as listed".to_owned(),
    };
    let at_once = match plan.at_once {
        AtOnce::Rounds => "pairs at once that share neither host nor machine",
        AtOnce::One => "one pair at a time",
        AtOnce::Sharing => "pairs at once that share no host",
        AtOnce::All => "all pairs at once",
    };
    format!("{repeats} {ends}, {order}, {at_once}")
}

fn labelled(page: &mut Page, label: &str, text: &str) {
    page.paragraph(INDENT, &Piece::new(label, Tone::Faint), LABEL, text);
}

fn title(page: &mut Page, text: impl Into<String>) {
    page.gap();
    page.line(0, &[Piece::new(text, Tone::Strong)]);
}

fn hosts(page: &mut Page, run: &RunDocument) {
    title(page, "hosts");
    for host in &run.plan.hosts {
        let seen = run.hosts.iter().find(|seen| seen.host == host.name);
        let addresses = [&host.internal, &host.external].into_iter().flatten().map(ToString::to_string);
        let labels = host.labels.iter().map(|(name, value)| format!("{name} {value}"));
        let parts: Vec<String> = addresses.chain(labels).chain(seen.into_iter().flat_map(facts)).collect();
        page.paragraph(INDENT, &Piece::new(&host.name, Tone::Strong), LABEL, &parts.join(" · "));
        if let Some(lost) = seen.and_then(|seen| seen.lost.as_ref()) {
            page.paragraph(LABEL, &Piece::new("lost", Tone::Alarm), LABEL + 6, &told(lost));
        }
    }
}

/// The facts of a host.
fn facts(seen: &HostSeen) -> Vec<String> {
    let tool = seen.tool.as_ref().map(|tool| format!("{} {}", tool.name, tool.version));
    let cpus = seen.cpus.map(|cpus| number::count(cpus.into(), "CPU", "CPUs"));
    // Below a second it is the way of asking that is seen, and nothing measured depends on it.
    let clock = seen.clock_ahead_ns.filter(|ahead| ahead.unsigned_abs() >= 1_000_000_000);
    let clock = clock.map(|ahead| {
        let side = if ahead < 0 { "behind" } else { "ahead" };
        format!("clock {} {side}", Nanos(ahead.unsigned_abs()))
    });
    [seen.kernel.clone(), cpus, tool, clock].into_iter().flatten().collect()
}

fn told(failure: &logbook::failure::Failure) -> String {
    let hint = failure.hint.as_ref().map_or_else(String::new, |hint| format!(" → {hint}"));
    format!("{}{hint}", failure.what)
}

/// Pairs where not everything answered; where all did nothing needs to be told.
fn checks(page: &mut Page, run: &RunDocument) {
    let closed: Vec<(&PairCheck, Vec<String>)> =
        run.checks.iter().map(|check| (check, remarks(check))).filter(|(_, remarks)| !remarks.is_empty()).collect();
    if closed.is_empty() {
        return;
    }
    title(page, "no answer before the run");
    for (check, remarks) in closed {
        let pair = format!("{} → {} {} {}", check.from, check.to, over(check.over), at(check));
        page.paragraph(INDENT, &Piece::new(format!("{pair}:"), Tone::Plain), 2 * INDENT, &remarks.join(", "));
    }
}

/// The address that was asked, with the name that stands for it in the plan.
fn at(check: &PairCheck) -> String {
    let address = check.address.map(|address| address.to_string());
    check.name.iter().cloned().chain(address).collect::<Vec<_>>().join(" ")
}

fn remarks(check: &PairCheck) -> Vec<String> {
    let answer = |what: &str, answer: Answer| match answer {
        Answer::Open | Answer::NotAsked => None,
        Answer::Closed => Some(format!("{what} closed")),
        Answer::Rejected => Some(format!("{what} rejected on the path")),
        Answer::Silent => Some(format!("{what}: no answer")),
    };
    let hole = check.mtu_hole.then(|| {
        let size = check.mtu_bytes.map_or_else(String::new, |bytes| format!(" above {bytes} B"));
        format!("MTU black hole: packets{size} vanish")
    });
    let all = [answer("ICMP echo", check.icmp), answer("TCP", check.tcp), answer("UDP", check.udp), hole];
    all.into_iter().flatten().chain(check.failure.as_ref().map(told)).collect()
}

/// The failures by reason: a host that is lost takes many cells with it.
fn failed(page: &mut Page, cells: &[&Cell]) {
    let mut reasons: BTreeMap<String, Vec<&Place>> = BTreeMap::new();
    for cell in cells {
        if let Some(failure) = &cell.failure {
            reasons.entry(told(failure)).or_default().push(&cell.place);
        }
    }
    if reasons.is_empty() {
        return;
    }
    title(page, "failed");
    for (reason, places) in reasons {
        let label = Piece::new(number::count(places.len() as u64, "cell", "cells"), Tone::Alarm);
        page.paragraph(INDENT, &label, LABEL, &reason);
        let places: Vec<Piece> = places.into_iter().map(|place| Piece::from(pair(place))).collect();
        page.flow(LABEL, LABEL, ", ", &places);
    }
}

/// `a → b tcp_rr #1`.
fn pair(place: &Place) -> String {
    let outside = if place.over == Address::External { " external" } else { "" };
    format!("{} → {}{outside} {} #{}", place.from, place.to, place.method, place.repeat)
}

/// Kind of a host's address, as a word.
pub(crate) fn over(address: Address) -> &'static str {
    match address {
        Address::Internal => "internal",
        Address::External => "external",
    }
}

/// A table for each method and kind of address, in the plan's order of methods.
fn measured(page: &mut Page, run: &RunDocument, cells: &[&Cell]) {
    let names = Names::of(run, cells);
    let place = |method: &str| run.plan.methods.iter().position(|there| there.name == method).unwrap_or(usize::MAX);
    let mut groups: BTreeMap<(usize, &str, Address), Vec<&Cell>> = BTreeMap::new();
    for cell in cells {
        let Place { method, over, .. } = &cell.place;
        groups.entry((place(method), method, *over)).or_default().push(cell);
    }
    for ((_, method, address), mut cells) in groups {
        title(page, format!("{method} · {}", over(address)));
        cells.sort_by(|one, other| one.place.cmp(&other.place));
        let columns: Vec<&Column> =
            COLUMNS.iter().filter(|column| cells.iter().any(|cell| (column.of)(cell).is_some())).collect();
        let mut rows: Vec<Vec<Piece>> = vec![head(&columns)];
        rows.extend(cells.iter().map(|cell| row(cell, &columns, &names, run.plan.repeats > 1)));
        page.table(&rows);
    }
    let is_firm = |cell: &&Cell| {
        let figures = cell.figures.unwrap_or_default();
        [0.5, 0.99]
            .into_iter()
            .map(Figure::Quantile)
            .all(|figure| figures.figure(figure).is_none() || Figures::standing(&[figures], figure) == Standing::Firm)
    };
    if !cells.iter().all(is_firm) {
        page.gap();
        labelled(page, "~", "rough: 10 to 99 round trips lie beyond it. With fewer a percentile is not printed.");
    }
    if cells.iter().any(|cell| cell.record.is_some()) {
        page.gap();
        labelled(page, "record", "first digits of its ID: `sonde show DIGITS` shows all of it");
    }
}

/// The names of records: as many digits of their ids as tell them from each other and from their run.
struct Names {
    digits: usize,
}

impl Names {
    fn of(run: &RunDocument, cells: &[&Cell]) -> Self {
        let ids = cells.iter().filter_map(|cell| cell.record).chain([run.head.id]);
        let mut ids: Vec<String> = ids.map(|id| id.simple().to_string()).collect();
        ids.sort_unstable();
        ids.dedup();
        let alike = |two: &[String]| two[0].bytes().zip(two[1].bytes()).take_while(|(one, other)| one == other).count();
        let most = ids.windows(2).map(alike).max().unwrap_or_default();
        Self { digits: FEWEST.max(most + 1) }
    }

    /// The start of `id`, with its hyphens.
    fn name(&self, id: Uuid) -> String {
        let mut left = self.digits;
        let wanted = |letter: &char| {
            let goes_on = left > 0;
            left -= usize::from(goes_on && *letter != '-');
            goes_on
        };
        id.hyphenated().to_string().chars().take_while(wanted).collect()
    }
}

fn head(columns: &[&Column]) -> Vec<Piece> {
    let names = columns.iter().map(|column| column.name).chain(["record"]);
    [Piece::default()].into_iter().chain(names.map(|name| Piece::new(name, Tone::Faint))).collect()
}

/// A column of what was measured.
struct Column {
    name: &'static str,
    of: fn(&Cell) -> Option<Piece>,
}

const COLUMNS: [Column; 6] = [
    Column { name: "p50", of: |cell| percentile(cell, 0.5) },
    Column { name: "p99", of: |cell| percentile(cell, 0.99) },
    Column { name: "lost", of: |cell| cell.figures?.lost_ratio.map(|share| Piece::from(number::percent(share))) },
    Column { name: "exchanges", of: |cell| number::rate(cell.figures?.exchanges_per_second?).map(Piece::from) },
    Column { name: "throughput", of: |cell| number::bit_rate(cell.figures?.bits_per_second? / 8.0).map(Piece::from) },
    Column { name: "note", of: note },
];

/// A percentile under the printing rule: `~` before a rough one, none of too few round trips.
fn percentile(cell: &Cell, q: f64) -> Option<Piece> {
    let (figures, figure) = (cell.figures?, Figure::Quantile(q));
    let value = Nanos(figures.figure(figure)? as u64);
    match Figures::standing(&[figures], figure) {
        Standing::Firm => Some(Piece::from(value.to_string())),
        Standing::Rough => Some(Piece::from(format!("~{value}"))),
        Standing::TooFew => None,
    }
}

fn note(cell: &Cell) -> Option<Piece> {
    match (&cell.failure, cell.record, cell.beside) {
        (Some(_), Some(_), _) => Some(Piece::new("cut short", Tone::Alarm)),
        (Some(_), None, _) => Some(Piece::new(if cell.host_lost { "host lost" } else { "failed" }, Tone::Alarm)),
        (None, _, 0) => None,
        (None, _, beside) => Some(Piece::from(format!("{beside} beside"))),
    }
}

fn row(cell: &Cell, columns: &[&Column], names: &Names, repeats: bool) -> Vec<Piece> {
    let Place { from, to, repeat, .. } = &cell.place;
    let repeat = if repeats { format!(" #{repeat}") } else { String::new() };
    let name = Piece::new(format!("{from} → {to}{repeat}"), Tone::Strong);
    let empty = |column: &Column| Piece::new(if column.name == "note" { "" } else { ABSENT }, Tone::Faint);
    let record = cell.record.map_or_else(|| Piece::new(ABSENT, Tone::Faint), |id| Piece::from(names.name(id)));
    let found = columns.iter().map(|column| (column.of)(cell).unwrap_or_else(|| empty(column)));
    [name].into_iter().chain(found).chain([record]).collect()
}

#[cfg(test)]
mod tests {
    use logbook::host::Reach;

    use super::*;
    use crate::fixture;

    fn wide(text: &str) -> Option<&str> {
        text.lines().find(|line| unicode_width::UnicodeWidthStr::width(*line) > 80 || line.ends_with(' '))
    }

    #[test]
    fn a_run_is_a_screen() {
        let text = render(&fixture::run(), &Style::default());
        assert_eq!(wide(&text), None, "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn records_are_called_by_what_tells_them_apart() {
        let mut run = fixture::run();
        let id = |text: &str| text.parse::<Uuid>().unwrap();
        let shown = |run: &RunDocument| Names::of(run, &run.cells.iter().collect::<Vec<_>>());
        run.cells.truncate(2);
        run.cells[0].record = Some(id("0199f2ab-1235-7abc-8def-0123456789ab"));
        run.cells[1].record = Some(id("0199f2ab-1236-7abc-8def-0123456789ab"));
        assert_eq!(shown(&run).name(run.cells[1].record.unwrap()), "0199f2ab-1236");
        // Two of one millisecond, and one of that in which the run was started.
        run.cells[1].record = Some(id("0199f2ab-1235-7abd-8def-0123456789ab"));
        assert_eq!(shown(&run).name(run.cells[1].record.unwrap()), "0199f2ab-1235-7abd");
        run.head.id = id("0199f2ab-1235-7abd-8def-1123456789ab");
        assert_eq!(shown(&run).name(run.cells[1].record.unwrap()), "0199f2ab-1235-7abd-8def-0");
        let text = render(&run, &Style::default());
        assert!(text.contains("0199f2ab-1235-7abc-8def-0") && wide(&text).is_none(), "{text}");
    }

    #[test]
    fn a_run_that_goes_on_tells_what_is_not_started() {
        let mut run = fixture::run();
        (run.ended, run.planned) = (None, Some(60));
        run.cells.truncate(2);
        let text = render(&run, &Style::default());
        assert!(text.contains("ended       no: still running, or killed"), "{text}");
        assert!(text.contains("not started 58 cells of the plan"), "{text}");
    }

    #[test]
    fn long_names_and_no_cells_keep_to_the_width() {
        let mut run = fixture::run();
        run.cells.clear();
        run.hosts.clear();
        run.plan.hosts[0].name = "host-with-a-name.of.a.region.and.a.zone.example.com.internal".to_owned();
        run.plan.hosts[0].reach = Reach::Local;
        run.plan.hosts[1].labels.insert("zone".to_owned(), "z".repeat(300));
        run.plan.name = Some("n".repeat(300));
        for style in [Style::default(), Style { verbose: true, ascii: true, ..Style::default() }] {
            let text = render(&run, &style);
            assert_eq!(wide(&text), None, "{text}");
        }
    }
}
