//! Several measurements side by side: their curves together, a table of their figures, and in what they differ.

use logbook::read::Document;
use logbook::record::Record;
use logbook::search::SearchDocument;

use super::table::{Cell, Row, Table};
use super::{Builder, Source, ends, facts, figures};
use crate::moment::moment;
use crate::number;
use crate::picture;

/// Curves drawn at first; of more, those are drawn that are chosen in the table.
const DRAWN: usize = 8;
/// Documents whose differences are told.
const COMPARED: usize = 12;

/// The part of the page before the measurements one by one.
pub(super) fn tell(page: &mut Builder, sources: &[Source]) {
    page.html.raw("<section aria-labelledby=\"together\">\n<h2 id=\"together\">Side by side</h2>\n");
    let records: Vec<&Record> =
        sources.iter().map(|source| record_of(&source.document)).collect::<Option<_>>().unwrap_or_default();
    let files: Vec<(&str, &Record)> =
        sources.iter().map(|source| source.name.as_str()).zip(records.iter().copied()).collect();
    let names = if records.is_empty() { plain_names(sources) } else { picture::names(&files) };
    curves(page, &records, &names);
    table(page, sources, &names);
    if (2..=COMPARED).contains(&records.len()) {
        differences(page, &records, &names);
    }
    page.html.raw("</section>\n");
}

/// The record of a document that is one.
fn record_of(document: &Document) -> Option<&Record> {
    match document {
        Document::Record(record) => Some(record),
        Document::Search(_) | Document::Study(_) | Document::Look(_) | Document::Run(_) => None,
    }
}

fn plain_names(sources: &[Source]) -> Vec<String> {
    // A document that is no record has its answer for a heading, which is too long for a name.
    let name = |(place, source): (usize, &Source)| match &source.document {
        Document::Record(record) => format!("{} · {}", place + 1, super::named(record)),
        _ => format!("{} · {}", place + 1, source.name),
    };
    sources.iter().enumerate().map(name).collect()
}

fn curves(page: &mut Builder, records: &[&Record], names: &[String]) {
    let named: Vec<(String, &Record)> = names.iter().cloned().zip(records.iter().copied()).collect();
    let Some(mut chart) = picture::percentiles_together(&named) else { return };
    let all = chart.clone();
    if chart.series.len() > DRAWN {
        // The axes are those of all, so that any of them has its place.
        let ends = |value: fn(&crate::plot::Point) -> f64| {
            let values =
                || all.series.iter().flat_map(|series| series.points.iter().map(value)).filter(|value| *value > 0.0);
            Some((values().reduce(f64::min)?, values().reduce(f64::max)?))
        };
        chart.y.range = ends(|point| point.y);
        chart.x.range = ends(|point| point.x).map(|(_, high)| (0.0, high));
        chart.series.truncate(DRAWN);
        let places = |series: &crate::plot::Series| series.points.iter().map(|point| (point.x, point.y)).collect();
        let curve = |number: usize| all.series.iter().find(|series| series.colour == Some(number)).map(places);
        let drawn = chart.series.iter().filter_map(|series| series.colour).collect();
        page.readouts.curves((0..records.len()).map(|number| curve(number).unwrap_or_default()), drawn);
        chart.alternative =
            format!("The first {DRAWN} of {}.", number::count(all.series.len() as u64, "curve", "curves"));
    }
    let caption = if all.series.len() > DRAWN {
        format!("The first {DRAWN} of {} are drawn.", all.series.len())
    } else {
        String::new()
    };
    page.chart("all-p", &chart, &caption);
}

fn table(page: &mut Builder, sources: &[Source], names: &[String]) {
    let of = |source: &Source| match &source.document {
        Document::Record(record) => (moment(record.head.started), figures::row(record)),
        Document::Search(search) => (moment(search.head.started), of_search(search)),
        Document::Study(study) => (moment(study.head.started), vec![Cell::default(); figures::COLUMNS.len()]),
        Document::Look(look) => (moment(look.head.started), vec![Cell::default(); figures::COLUMNS.len()]),
        Document::Run(run) => (moment(run.head.started), vec![Cell::default(); figures::COLUMNS.len()]),
    };
    let rows: Vec<(String, Vec<Cell>)> = sources.iter().map(of).collect();
    // Columns that nobody has anything in are left out.
    let used: Vec<usize> = (0..figures::COLUMNS.len())
        .filter(|column| rows.iter().any(|(_, cells)| cells.get(*column).is_some_and(|cell| *cell != Cell::default())))
        .collect();
    let head = ["measurement"].into_iter().chain(used.iter().map(|column| figures::COLUMNS[*column]));
    let head = head.chain(["started", "from"]).map(str::to_owned).collect();
    let row = |(place, ((started, cells), source)): (usize, (&(String, Vec<Cell>), &Source))| {
        let figures = used.iter().map(|column| cells[*column].clone());
        let faint = |text: &str| Cell { faint: true, ..Cell::from(text) };
        let last = [faint(started), faint(&source.name)];
        let cells = [Cell::from(names[place].as_str())].into_iter().chain(figures).chain(last).collect();
        Row { link: Some(format!("r{}", place + 1)), cells }
    };
    let rows = rows.iter().zip(sources).enumerate().map(row).collect();
    Table { caption: "Figures of each".to_owned(), head, rows, class: "index" }.tell(&mut page.html);
}

/// A search has no figures of its own in these columns but the rate that holds.
fn of_search(search: &SearchDocument) -> Vec<Cell> {
    let holds = search.bracket.met.map(|end| end.rate_per_1000s.as_per_second());
    let column = |name: &&str| match (*name, holds) {
        ("answered", Some(rate)) => Cell::number(number::rate(rate), rate),
        _ => Cell::default(),
    };
    figures::COLUMNS.iter().map(column).collect()
}

/// Coordinates of the method, and facts of both ends, that are not the same for all.
fn differences(page: &mut Builder, records: &[&Record], names: &[String]) {
    let all: Vec<Vec<Coordinate>> = records.iter().map(|record| coordinates(record)).collect();
    let mut keys: Vec<(&'static str, &String)> = Vec::new();
    for coordinate in all.iter().flatten() {
        let key = (coordinate.of, &coordinate.name);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys.sort_by_key(|(of, name)| (OF.iter().position(|known| known == of), *name));
    let rows: Vec<Row> = keys.iter().filter_map(|key| difference(&all, *key)).collect();
    page.html.element("h3", "", "Settings that differ");
    if rows.is_empty() {
        page.html.element("p", "", "None that was recorded: the method, target and hosts are the same.");
        return;
    }
    let head = [String::new()].into_iter().chain(names.iter().cloned()).collect();
    let caption = "Settings and facts that are not the same for all".to_owned();
    Table { caption, head, rows, class: "facts" }.tell(&mut page.html);
}

/// One fact of a measurement: of what, its name, what it is.
struct Coordinate {
    of: &'static str,
    name: String,
    text: String,
}

/// The subjects of coordinates, in the order in which they are told.
const OF: [&str; 5] = ["target", "method", "peer", "this host:", "the peer:"];

/// The text of an end that nobody looked at.
const UNSEEN: &str = "not looked at";

/// A row of what each has there, where these are not all the same. An end that was not looked at differs in nothing further.
fn difference(all: &[Vec<Coordinate>], (of, name): (&'static str, &String)) -> Option<Row> {
    let seen = |facts: &&Vec<Coordinate>| !facts.iter().any(|fact| fact.of == of && fact.text == UNSEEN);
    let text = |facts: &Vec<Coordinate>| {
        let found = facts.iter().filter(|fact| fact.of == of && fact.name == *name);
        found.map(|fact| fact.text.as_str()).collect::<Vec<_>>().join("; ")
    };
    let compared: Vec<String> =
        if name.is_empty() { all.iter().map(text).collect() } else { all.iter().filter(seen).map(text).collect() };
    let differ = compared.windows(2).any(|pair| pair[0] != pair[1]);
    let head = format!("{of} {name}");
    differ.then(|| [head.trim_end().to_owned()].into_iter().chain(all.iter().map(text)).collect())
}

fn coordinates(record: &Record) -> Vec<Coordinate> {
    let [target, method, peer, ours, theirs] = OF;
    let under = |of: &'static str, facts: Vec<(String, String)>| {
        facts.into_iter().map(move |(name, text)| Coordinate { of, name, text })
    };
    let mut all: Vec<Coordinate> = under(target, facts::of(&record.target)).collect();
    all.extend(under(method, facts::of(&record.method)));
    // Every run has a seed of its own.
    all.retain(|fact| (fact.of, fact.name.as_str()) != (method, "seed"));
    all.extend(under(peer, facts::of(&record.peer)));
    for (of, end) in [(ours, &record.ours), (theirs, &record.theirs)] {
        let seen = if end.is_some() { "looked at" } else { UNSEEN };
        all.push(Coordinate { of, name: String::new(), text: seen.to_owned() });
        all.extend(under(of, end.as_ref().map(ends::machine).unwrap_or_default()));
    }
    all
}
