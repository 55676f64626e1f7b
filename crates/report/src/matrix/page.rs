//! Matrices as one page: the squares of a method over internal addresses beside those over external ones, a link from each to the
//! record of it, before beside after where two runs are compared, and every square as a row of a list.

use std::collections::{BTreeMap, BTreeSet};

use logbook::record::Record;
use logbook::run::RunDocument;
use logbook::run_comparison::{ComparedCell, RunComparisonDocument};
use measure::comparison::Word;
use measure::study::figure::Figure;
use uuid::Uuid;

use super::chart::{badness, by_host};
use super::square::{ITSELF, MARKS, NOT_MEASURED, NOTHING, Scale, TOO_FEW, told};
use super::text::{is_whole, scale, too_few};
use super::{Matrix, Square, all, list};
use crate::markup::escaped;
use crate::moment::moment;
use crate::number;
use crate::page::{Panel, around, drawn};

/// Most hosts that are shown square by square.
const MOST: usize = 120;
/// Most rows of the list of all squares.
const LISTED: usize = 2_000;
/// Most cells that open beside the page; of more, the list has the figures.
const TOLD: usize = 1_000;

/// The comparison beside a run.
#[derive(Clone, Copy)]
pub struct Beside<'a> {
    /// The comparison of its cells with those of an earlier run, which is the comparison's first.
    pub comparison: &'a RunComparisonDocument,
}

/// The page of `run`. `figure`: as of [`all`]. `records` finds a record by its name, where it is kept.
pub fn page(
    run: &RunDocument,
    figure: Option<Figure>,
    beside: Option<Beside<'_>>,
    records: &dyn Fn(Uuid) -> Option<Record>,
) -> String {
    let matrices = all(run, figure);
    let panels = panels(&matrices, records);
    let mut body = Body { out: String::new(), links: panels.iter().map(|panel| panel.id.clone()).collect() };
    body.hosts(run);
    for (method, same) in by_method(&matrices) {
        body.method(run, method, &same);
    }
    if let Some(beside) = beside {
        body.before_and_after(beside.comparison);
    }
    body.charts(run);
    body.list(&matrices);
    body.legend(&matrices);
    let name = run.plan.name.as_deref().map_or_else(String::new, |name| format!("{name} · "));
    let under = format!(
        "{name}{} · {} · {} · {}",
        moment(run.head.started),
        number::count(run.plan.hosts.len() as u64, "host", "hosts"),
        number::count(run.plan.methods.len() as u64, "method", "methods"),
        number::count(run.plan.repeats.into(), "repeat", "repeats"),
    );
    around(&crate::run::answer(run), &under, include_str!("style.css"), &body.out, &panels)
}

/// The panels beside the page, cell by cell: of several repeats the last one's record, or the reason why there is none.
fn panels(matrices: &[Matrix], records: &dyn Fn(Uuid) -> Option<Record>) -> Vec<Panel> {
    let shown = matrices.iter().filter(|matrix| matrix.hosts.len() <= MOST);
    let cells = shown.flat_map(|matrix| matrix.squares.iter().map(move |(place, square)| (matrix, *place, square)));
    let panel = |(matrix, (from, to), square): (&Matrix, (usize, usize), &Square)| {
        let record = square.records.last().and_then(|id| records(*id)).map(Box::new);
        let failed = square.failed().map(|(_, why)| (why.to_owned(), square.hint.clone()));
        let repeats = number::count(square.records.len() as u64, "repeat", "repeats");
        let last = square.records.last().map_or_else(String::new, |id| format!(" · {repeats}, the last is {id}"));
        (record.is_some() || failed.is_some()).then(|| Panel {
            id: cell_id(matrix, from, to),
            name: format!("{} → {}", matrix.hosts[from].name, matrix.hosts[to].name),
            under: format!("{}{last}", matrix.title()),
            record,
            failed,
        })
    };
    cells.filter_map(panel).take(TOLD).collect()
}

/// The name of a cell in its page: what a link to it ends with. Names of hosts that an address has no letters for become numbers.
fn cell_id(matrix: &Matrix, from: usize, to: usize) -> String {
    let plain = |text: &str| text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter));
    let name = |place: usize| {
        let name = &matrix.hosts[place].name;
        if plain(name) { name.clone() } else { format!("~{}", place + 1) }
    };
    let method: String = matrix
        .method
        .bytes()
        .map(
            |byte| {
                if plain(&char::from(byte).to_string()) { char::from(byte).to_string() } else { format!("~{byte:x}") }
            },
        )
        .collect();
    format!("cell={},{},{method},{}", name(from), name(to), crate::run::over(matrix.over))
}

fn by_method(matrices: &[Matrix]) -> Vec<(&str, Vec<&Matrix>)> {
    let mut methods: Vec<(&str, Vec<&Matrix>)> = Vec::new();
    for matrix in matrices {
        match methods.iter_mut().find(|(method, _)| *method == matrix.method) {
            Some((_, same)) => same.push(matrix),
            None => methods.push((&matrix.method, vec![matrix])),
        }
    }
    methods
}

/// The page's own part as it grows.
struct Body {
    out: String,
    links: BTreeSet<String>,
}

impl Body {
    /// Markup of ours.
    fn raw(&mut self, markup: &str) {
        self.out.push_str(markup);
    }

    fn hosts(&mut self, run: &RunDocument) {
        let lost = run.hosts.iter().filter_map(|seen| Some((&seen.host, seen.lost.as_ref()?)));
        let lost: Vec<String> = lost
            .map(|(host, why)| {
                format!("<li><strong>{}</strong> was given up: {}</li>\n", escaped(host), escaped(&why.what))
            })
            .collect();
        if !lost.is_empty() {
            self.raw(&format!("<ul class=\"lost\">\n{}</ul>\n", lost.concat()));
        }
        if run.ended.is_none() {
            self.raw("<p class=\"early\">The run has not ended, or was killed: what is missing was not begun.</p>\n");
        }
    }

    fn method(&mut self, run: &RunDocument, method: &str, matrices: &[&Matrix]) {
        let command = run.plan.methods.iter().find(|known| known.name == method).map_or("", |known| &known.command);
        self.raw(&format!("<section>\n<h2>{}</h2>\n", escaped(method)));
        // A method without a name of its own is called by its command.
        if command != method {
            self.raw(&format!("<p class=\"method\">{}</p>\n", escaped(command)));
        }
        self.raw("<div class=\"beside\">\n");
        for matrix in matrices {
            if matrix.hosts.len() > MOST { self.zones(matrix) } else { self.squares(matrix) }
        }
        self.raw("</div>\n</section>\n");
    }

    fn squares(&mut self, matrix: &Matrix) {
        let scale = scale(matrix);
        self.open(&format!("{} in {}", matrix.title(), scale.name));
        let zones = matrix.zones();
        let zoned = zones.iter().any(|(zone, _)| zone.is_some());
        if zoned {
            self.raw("<tr><td></td><td></td>");
            for (zone, hosts) in &zones {
                let zone = escaped(zone.unwrap_or("no zone"));
                self.raw(&format!("<th scope=\"colgroup\" colspan=\"{}\" class=\"zone\">{zone}</th>", hosts.len()));
            }
            self.raw("</tr>\n");
        }
        self.raw(if zoned { "<tr><td></td><td></td>" } else { "<tr><td></td>" });
        for host in &matrix.hosts {
            self.raw(&format!("<th scope=\"col\" class=\"to\"><span>{}</span></th>", escaped(&host.name)));
        }
        self.raw("</tr></thead>\n");
        for (zone, hosts) in &zones {
            self.raw("<tbody>\n");
            for from in hosts.clone() {
                self.raw("<tr>");
                if zoned && from == hosts.start {
                    let zone = escaped(zone.unwrap_or("no zone"));
                    self.raw(&format!("<th scope=\"rowgroup\" rowspan=\"{}\" class=\"zone\">{zone}</th>", hosts.len()));
                }
                let lost = if matrix.hosts[from].lost { " lost" } else { "" };
                self.raw(&format!("<th scope=\"row\" class=\"from{lost}\">{}</th>", escaped(&matrix.hosts[from].name)));
                for to in 0..matrix.hosts.len() {
                    self.square(matrix, from, to, scale);
                }
                self.raw("</tr>\n");
            }
            self.raw("</tbody>\n");
        }
        self.raw("</table></div>\n");
    }

    fn open(&mut self, caption: &str) {
        let caption = escaped(caption);
        self.raw(&format!(
            "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{caption}\"><table class=\"matrix\">\n<caption>{caption}</caption>\n<thead>"
        ));
    }

    fn square(&mut self, matrix: &Matrix, from: usize, to: usize, scale: Scale) {
        let Some(square) = matrix.squares.get(&(from, to)).filter(|_| from != to) else {
            let text = if from == to { ITSELF } else { NOTHING };
            self.raw(&format!("<td class=\"faint n\">{text}</td>"));
            return;
        };
        let title = escaped(&sentence(matrix, from, to, square));
        let (class, style, text) = match (square.spread, square.failed(), matrix.range()) {
            (Some(spread), _, Some((low, high))) => {
                let heat = badness(matrix.figure, spread.median, low, high) * 34.0;
                let class = if square.worse { "n worse" } else { "n" };
                (
                    class,
                    format!(" style=\"--heat:{heat:.0}%\""),
                    format!("{}{}", scale.text(spread.median), square.marks()),
                )
            }
            (_, Some((word, _)), _) => ("failed", String::new(), word.to_owned()),
            _ => ("faint n", String::new(), NOTHING.to_owned()),
        };
        let link = cell_id(matrix, from, to);
        let text = match self.links.get(&link) {
            Some(link) => format!("<a href=\"#{link}\">{}</a>", escaped(&text)),
            None => escaped(&text),
        };
        self.raw(&format!("<td class=\"{class}\"{style} title=\"{title}\">{text}</td>"));
    }

    /// For many hosts: zones towards zones.
    fn zones(&mut self, matrix: &Matrix) {
        let (scale, zones, between) = (scale(matrix), matrix.zones(), list::zones(matrix));
        self.open(&format!("{} in {}, medians over the hosts of each zone", matrix.title(), scale.name));
        let name = |zone: Option<&str>| escaped(zone.unwrap_or("no zone"));
        self.raw("<tr><td></td>");
        for (zone, _) in zones.iter().take(MOST) {
            self.raw(&format!("<th scope=\"col\" class=\"to\"><span>{}</span></th>", name(*zone)));
        }
        self.raw("</tr></thead>\n<tbody>\n");
        for (from, (zone, _)) in zones.iter().enumerate().take(MOST) {
            self.raw(&format!("<tr><th scope=\"row\" class=\"from\">{}</th>", name(*zone)));
            for to in 0..zones.len().min(MOST) {
                let text =
                    between.get(&(from, to)).map_or_else(|| NOTHING.to_owned(), |found| scale.text(found.median));
                self.raw(&format!("<td class=\"n\">{text}</td>"));
            }
            self.raw("</tr>\n");
        }
        self.raw("</tbody>\n</table></div>\n");
    }

    /// A list of what was compared: the number before, after, and what may be said.
    fn before_and_after(&mut self, comparison: &RunComparisonDocument) {
        self.raw("<section>\n<h2>Before beside after</h2>\n");
        let name = |run: &logbook::run_comparison::ComparedRun| {
            format!("{} ({})", run.plan.as_deref().unwrap_or("a run"), moment(run.started))
        };
        let under = format!("{} before, {} after", name(&comparison.first), name(&comparison.second));
        self.raw(&format!("<p class=\"method\">{}</p>\n", escaped(&under)));
        for (title, cells) in by_title(comparison) {
            self.compared(&title, &cells);
        }
        let few = comparison
            .cells
            .iter()
            .flat_map(|cell| &cell.figures)
            .any(|figure| figure.compared.word == Word::TooFewRuns);
        if few {
            self.raw(&format!(
                "<p class=\"faint\">A difference among so many cells takes {} repeats of each.</p>\n",
                comparison.fewest_repeats
            ));
        }
        self.raw("</section>\n");
    }

    fn compared(&mut self, title: &str, cells: &[&ComparedCell]) {
        let mut hosts: Vec<&str> =
            cells.iter().flat_map(|cell| [cell.spot.from.as_str(), cell.spot.to.as_str()]).collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts.truncate(MOST);
        let places: BTreeMap<(&str, &str), &ComparedCell> =
            cells.iter().map(|cell| ((cell.spot.from.as_str(), cell.spot.to.as_str()), *cell)).collect();
        self.open(title);
        self.raw("<tr><td></td>");
        for host in &hosts {
            self.raw(&format!("<th scope=\"col\" class=\"to\"><span>{}</span></th>", escaped(host)));
        }
        self.raw("</tr></thead>\n<tbody>\n");
        for from in &hosts {
            self.raw(&format!("<tr><th scope=\"row\" class=\"from\">{}</th>", escaped(from)));
            for to in &hosts {
                self.raw(&places.get(&(*from, *to)).and_then(|cell| verdict(cell)).unwrap_or_else(|| {
                    format!("<td class=\"faint n\">{}</td>", if from == to { ITSELF } else { NOTHING })
                }));
            }
            self.raw("</tr>\n");
        }
        self.raw("</tbody>\n</table></div>\n");
    }

    fn charts(&mut self, run: &RunDocument) {
        let charts = by_host(run);
        if charts.is_empty() {
            return;
        }
        self.raw("<section>\n<h2>Throughput by kind of host</h2>\n<div class=\"beside\">\n");
        for (number, chart) in charts.iter().enumerate() {
            let svg = drawn(&format!("by-host-{number}"), chart);
            let (title, caption) = (escaped(&chart.title), escaped(&chart.alternative));
            self.raw(&format!(
                "<figure>\n<h3>{title}</h3>\n<div class=\"plot\">{svg}</div>\n<figcaption>{caption}</figcaption>\n</figure>\n"
            ));
        }
        self.raw("</div>\n</section>\n");
    }

    /// Every square as a row, with all its figures; the script sorts and filters it.
    fn list(&mut self, matrices: &[Matrix]) {
        const HEAD: [&str; 9] = ["from", "to", "over", "method", "p50", "p99", "lost", "throughput", "exchanges"];
        const FIGURES: [Figure; 5] =
            [Figure::Quantile(0.5), Figure::Quantile(0.99), Figure::Loss, Figure::Throughput, Figure::Rate];
        let all: usize = matrices.iter().map(|matrix| matrix.squares.len()).sum();
        let summary =
            if all > LISTED { format!("{LISTED} of {all} cells as a list") } else { "All cells as a list".to_owned() };
        self.raw(&format!("<details>\n<summary>{summary}</summary>\n<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{summary}\"><table class=\"index\">\n<caption>Medians over repeats</caption>\n<thead><tr>"));
        for head in HEAD.iter().chain(&["note"]) {
            self.raw(&format!("<th scope=\"col\">{head}</th>"));
        }
        self.raw("</tr></thead>\n<tbody>\n");
        let squares = matrices
            .iter()
            .flat_map(|matrix| matrix.squares.iter().map(move |(place, square)| (matrix, place, square)));
        for (matrix, (from, to), square) in squares.take(LISTED) {
            let words =
                [&matrix.hosts[*from].name, &matrix.hosts[*to].name, crate::run::over(matrix.over), &matrix.method];
            self.raw(&format!("<tr><th scope=\"row\">{}</th>", escaped(words[0])));
            for word in &words[1..] {
                self.raw(&format!("<td>{}</td>", escaped(word)));
            }
            for figure in FIGURES {
                let value = square.figures.iter().find(|(known, _)| *known == figure).map(|(_, value)| *value);
                let text = value.map_or_else(
                    || "<td></td>".to_owned(),
                    |value| format!("<td class=\"n\" data-v=\"{value}\">{}</td>", escaped(&told(figure, value))),
                );
                self.raw(&text);
            }
            let note = square.failed().map_or_else(|| square.marks(), |(word, _)| format!("{word} {}", square.marks()));
            self.raw(&format!("<td>{}</td></tr>\n", escaped(note.trim())));
        }
        self.raw("</tbody>\n</table></div>\n</details>\n");
    }

    fn legend(&mut self, matrices: &[Matrix]) {
        let used: String = matrices.iter().flat_map(|matrix| matrix.squares.values()).map(Square::marks).collect();
        self.raw("<dl class=\"legend\">\n");
        for (mark, says) in MARKS.iter().filter(|(mark, _)| used.contains(*mark)) {
            self.raw(&format!("<div><dt>{mark}</dt><dd>{}</dd></div>\n", escaped(says)));
        }
        if too_few(matrices) {
            self.raw(&format!("<div><dt>repeats</dt><dd>{TOO_FEW}</dd></div>\n"));
        }
        let mut reasons = BTreeMap::new();
        for (reason, count) in matrices.iter().flat_map(Matrix::reasons) {
            *reasons.entry(reason).or_insert(0) += count;
        }
        for ((word, why), count) in reasons {
            self.raw(&format!(
                "<div><dt>{word}</dt><dd>{} <span class=\"faint\">in {count}</span></dd></div>\n",
                escaped(&why)
            ));
        }
        if matrices.iter().any(|matrix| !is_whole(matrix)) {
            self.raw(&format!("<div><dt>{NOTHING}</dt><dd>{NOT_MEASURED}</dd></div>\n"));
        }
        self.raw("</dl>\n<p class=\"faint\">The stronger its colour, the worse a cell. A cell is the median over repeats; it opens its last record.</p>\n");
    }
}

/// A square in a sentence.
fn sentence(matrix: &Matrix, from: usize, to: usize, square: &Square) -> String {
    let pair = format!("{} → {}", matrix.hosts[from].name, matrix.hosts[to].name);
    match (square.spread, square.failed()) {
        (Some(spread), _) if spread.runs > 1 => {
            let of = |value: f64| told(matrix.figure, value);
            format!("{pair}: {} ({} … {}, {} repeats)", of(spread.median), of(spread.low), of(spread.high), spread.runs)
        }
        (Some(spread), _) => format!("{pair}: {}", told(matrix.figure, spread.median)),
        (None, Some((_, why))) => format!("{pair}: {why}"),
        (None, None) => format!("{pair}: no such figure"),
    }
}

/// The cells of a comparison by what they are of.
fn by_title(comparison: &RunComparisonDocument) -> BTreeMap<String, Vec<&ComparedCell>> {
    let mut titles: BTreeMap<String, Vec<&ComparedCell>> = BTreeMap::new();
    for cell in &comparison.cells {
        if let Some(figure) = cell.figures.first() {
            let title = format!("{} · {} · {}", cell.spot.method, crate::run::over(cell.spot.over), figure.figure);
            titles.entry(title).or_default().push(cell);
        }
    }
    titles
}

/// A square of before and after, with the comparison's word; `None` where there is nothing to compare.
fn verdict(cell: &ComparedCell) -> Option<String> {
    let figure = cell.figures.first()?;
    let compared = &figure.compared;
    let of = |value: f64| escaped(&told(figure.figure, value));
    let more = figure.figure.more_is_better();
    let (word, class) = match (compared.word, more) {
        (Word::More, true) | (Word::Less, false) => ("better", "better"),
        (Word::More, false) | (Word::Less, true) => ("worse", "worse"),
        (Word::NotShown, _) => ("no significant difference", "faint"),
        (Word::TooFewRuns, _) => ("too few repeats", "faint"),
    };
    let change = compared.change.map_or_else(String::new, |change| {
        let sign = if change.value < 0.0 { "−" } else { "+" };
        format!(" {sign}{}", number::percent(change.value.abs()))
    });
    let (before, after) = (of(compared.first?), of(compared.second?));
    Some(format!("<td class=\"n {class}\">{before} → {after}<br><small>{word}{change}</small></td>"))
}
