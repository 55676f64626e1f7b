//! Measurements as one page of HTML that needs nothing else: no network, no font, no script to be read.
//!
//! All numbers, charts and commands stand in the page as text and SVG; the script adds what a click can (`page/script.js`):
//! series that come and go, readouts, another axis, sorting. Up to [`FULL`] documents are told whole; of more, each has its
//! figures, its warnings and its command, its curve is drawn where it is chosen, and machines that were the same are told
//! once, so that the page of a thousand can be opened. Not here: charts (`picture`, `plot`), reading files, and what a number means (`measure`).

mod article;
mod ends;
mod facts;
mod figures;
mod flows;
mod html;
mod look;
mod overview;
mod readout;
mod run;
mod search;
mod study;
mod table;
#[cfg(test)]
mod tests;
mod wire;

use logbook::read::Document;
use logbook::record::Record;

use crate::answer;
use crate::markup::json_in_script;
use crate::number;
use crate::plot::{Axis, Chart, Frame, STYLE, Scale};
use crate::samples::grid::Grid;
pub use crate::source::Source;
use crate::words::{self, target};
use ends::Machines;
use html::Html;
use readout::Readouts;

/// Documents that are told whole; of more each is told shortly.
pub const FULL: usize = 40;

/// A document that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The file's name.
    pub name: String,
    /// The reason.
    pub why: String,
    /// The action to try.
    pub hint: String,
}

/// The page of these documents, in their order; `samples` are those of the only one.
pub fn render(sources: &[Source], unread: &[Unread], samples: Option<&Grid>) -> String {
    let mut page = Builder { html: Html::default(), readouts: Readouts::default(), machines: Machines::default() };
    let title = title(sources);
    page.head(&title, "");
    page.opening(sources, unread, &title);
    if sources.len() > 1 {
        overview::tell(&mut page, sources);
    }
    let brief = sources.len() > FULL;
    for (place, source) in sources.iter().enumerate() {
        let told = Told { place, source, brief, alone: sources.len() == 1, samples };
        match &source.document {
            Document::Record(record) => article::record(&mut page, &told, record),
            Document::Search(search) => search::tell(&mut page, &told, search),
            Document::Study(study) => study::tell(&mut page, &told, study),
            Document::Look(found) => look::tell(&mut page, &told, found),
            Document::Run(found) => run::tell(&mut page, &told, found),
        }
    }
    if brief {
        page.machines.tell(&mut page.html);
    }
    page.closing()
}

/// A panel that opens beside a page's first part, by a link to its id.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Panel {
    /// Its id in the page.
    pub(crate) id: String,
    /// Its title.
    pub(crate) name: String,
    /// Further words on it.
    pub(crate) under: String,
    /// The record that it shows; absent where there is none or it is not kept.
    pub(crate) record: Option<Box<Record>>,
    /// The reason why something of it failed, and the action to try.
    pub(crate) failed: Option<(String, Option<String>)>,
}

/// A page whose first part another room tells: `body` is markup of ours under a title, `style` what it is laid out by; `panels` open beside it.
pub(crate) fn around(title: &str, under: &str, style: &str, body: &str, panels: &[Panel]) -> String {
    let mut page = Builder { html: Html::default(), readouts: Readouts::default(), machines: Machines::default() };
    page.head(title, style);
    page.html.raw("<a class=\"skip\" href=\"#main\">To the results</a>\n<header class=\"page\">\n");
    page.html.element("h1", "", title);
    page.html.element("p", "class=\"method\"", under);
    page.html.raw("</header>\n<main id=\"main\">\n");
    page.html.raw(body);
    for panel in panels {
        article::panel(&mut page, panel);
    }
    if panels.iter().any(|panel| panel.record.is_some()) {
        let machines = page.machines.clone();
        page.html.details("Machines", |html| machines.tell(html));
    }
    page.closing()
}

/// The document that is being told, and its form.
struct Told<'a> {
    /// Its place among all, from 0.
    place: usize,
    source: &'a Source,
    /// True where it is told in short form.
    brief: bool,
    /// True where it is the only one, so that the page's title is its own.
    alone: bool,
    samples: Option<&'a Grid>,
}

impl Told<'_> {
    /// The name of its part of the page.
    fn id(&self) -> String {
        format!("r{}", self.place + 1)
    }
}

/// A page as it grows.
struct Builder {
    html: Html,
    readouts: Readouts,
    machines: Machines,
}

/// A chart for a column of text and for a telephone, of which the style shows one: letters stay readable where the chart is narrow.
pub(crate) fn drawn(id: &str, chart: &Chart) -> String {
    let names = chart.series.iter().filter(|series| !series.name.is_empty()).count().min(LEGEND) as u32;
    let broad = chart.svg(id, Frame { width: 640, height: 290 + 6 * names, titled: false });
    let narrow = chart.svg(&format!("{id}-narrow"), Frame { width: 380, height: 250 + 14 * names, titled: false });
    format!("<div class=\"broad\">{broad}</div><div class=\"narrow\">{narrow}</div>")
}

/// Names of a legend that a picture grows for.
const LEGEND: usize = 8;

/// The title of the page.
fn title(sources: &[Source]) -> String {
    match sources {
        [] => "No measurement could be read".to_owned(),
        [source] => heading(&source.document).0,
        _ => number::count(sources.len() as u64, "measurement", "measurements"),
    }
}

/// The answer of a document, and its method.
fn heading(document: &Document) -> (String, String) {
    match document {
        Document::Record(record) => of_record(record),
        Document::Study(study) => study::heading(study),
        Document::Look(found) => look::heading(found),
        Document::Run(found) => run::heading(found),
        Document::Search(search) => (crate::search::sentence(search), crate::search::method_of(search)),
    }
}

/// The answer, and the method below it.
fn of_record(record: &Record) -> (String, String) {
    (answer::of(record), format!("{}, {}", named(record), words::method::of(&record.method)))
}

/// Protocol and peer of a record.
fn named(record: &Record) -> String {
    format!("{} to {}", words::method::protocol(&record.method), target::address(&record.target))
}

/// All warnings behind one line.
fn badge(page: &mut Builder, warnings: &[String]) {
    if warnings.is_empty() {
        return;
    }
    let count = number::count(warnings.len() as u64, "warning", "warnings");
    page.html.raw(&format!("<details class=\"warnings\">\n<summary>⚠ {count}</summary>\n<ul>\n"));
    for warning in warnings {
        page.html.element("li", "", warning);
    }
    page.html.raw("</ul>\n</details>\n");
}

impl Builder {
    fn head(&mut self, title: &str, further_style: &str) {
        // Nothing may be loaded from anywhere, whatever a record holds; a chart becomes a PNG by way of an image of the page's own.
        const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
        let version = env!("CARGO_PKG_VERSION");
        self.html.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        self.html.raw(&format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n"));
        self.html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        self.html.raw("<meta name=\"color-scheme\" content=\"light dark\">\n");
        self.html.raw(&format!("<meta name=\"generator\" content=\"sonde {version}\">\n"));
        self.html.element("title", "", title);
        self.html.raw("<style id=\"chart-style\">\n");
        self.html.raw(STYLE);
        self.html.raw("</style>\n<style>\n");
        self.html.raw(include_str!("page/style.css"));
        self.html.raw(further_style);
        self.html.raw("</style>\n</head>\n<body>\n");
    }

    fn opening(&mut self, sources: &[Source], unread: &[Unread], title: &str) {
        self.html.raw("<a class=\"skip\" href=\"#main\">To the results</a>\n<header class=\"page\">\n");
        self.html.element("h1", "", title);
        if let [source] = sources {
            self.html.element("p", "class=\"method\"", &heading(&source.document).1);
        }
        self.html.raw("</header>\n");
        if (2..=FULL).contains(&sources.len()) {
            self.contents(sources);
        }
        self.html.raw("<main id=\"main\">\n");
        if unread.is_empty() {
            return;
        }
        self.html.raw("<section class=\"unread\" aria-labelledby=\"unread\">\n<h2 id=\"unread\">Not read</h2>\n<ul>\n");
        for file in unread {
            self.html.raw("<li>");
            self.html.words(&file.why);
            self.html.raw(" <span class=\"advice\">");
            self.html.words(&file.hint);
            self.html.raw("</span></li>\n");
        }
        self.html.raw("</ul>\n</section>\n");
    }

    fn contents(&mut self, sources: &[Source]) {
        self.html.raw("<nav aria-label=\"On this page\">\n<ol>\n");
        for (place, source) in sources.iter().enumerate() {
            self.html.raw(&format!("<li><a href=\"#r{}\">", place + 1));
            self.html.words(&heading(&source.document).0);
            self.html.raw("</a></li>\n");
        }
        self.html.raw("</ol>\n</nav>\n");
    }

    /// A chart with its caption, and with another axis for the script where its times are drawn by ratio.
    fn chart(&mut self, id: &str, chart: &Chart, caption: &str) {
        self.readouts.add(id, chart);
        self.html.raw(&format!("<figure data-chart=\"{id}\">\n"));
        self.html.element("h3", "", &chart.title);
        self.html.raw(&format!("<div class=\"plot\">{}</div>\n", drawn(id, chart)));
        if chart.y.scale == Scale::Log && chart.cells.is_none() {
            let mut other = chart.clone();
            other.y = Axis { scale: Scale::Linear, range: None, ..other.y }.from_zero();
            self.html.raw(&format!("<template>{}</template>\n", drawn(&format!("{id}-linear"), &other)));
        }
        if !caption.is_empty() {
            self.html.element("figcaption", "", caption);
        }
        self.html.raw("</figure>\n");
    }

    fn closing(mut self) -> String {
        self.html.raw(
            "</main>\n<footer>\n<p>Times are round trips unless said otherwise. Intervals are of 95 %. A quantile is ",
        );
        self.html.raw("shown with 10 values beyond it, and as rough (~) with fewer than 100.</p>\n</footer>\n");
        let data = json_in_script(&self.readouts.to_json());
        self.html.raw(&format!("<script type=\"application/json\" id=\"data\">{data}</script>\n<script>\n"));
        self.html.raw(include_str!("page/script.js"));
        self.html.raw("</script>\n</body>\n</html>\n");
        self.html.finish()
    }
}
