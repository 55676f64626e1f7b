//! One record of a page: its figures, warnings, charts, method, ends and command.

use logbook::document::Head;
use logbook::record::{Ended, Record};
use measure::outcome::{Bearing, Distribution, Outcome, Split};
use measure::unit::quantile_name;
use measure::unit::{Nanos, grouped};

use super::table::{Cell, Row, Table};
use super::{Builder, Panel, Told, ends, facts, figures, flows, heading, wire};
use crate::answer;
use crate::layout::Style;
use crate::markup::escaped;
use crate::moment::moment;
use crate::number;
use crate::picture;
use crate::plot::Chart;
use crate::shell;
use crate::text;
use crate::words::{self, command::Command, warning};

/// Cells of a line of what is told as a terminal would.
const TERMINAL: usize = 100;
/// Under a curve of percentiles.
const DOTTED: &str =
    "Dots are the quantiles of the table with their intervals. Dotted: fewer than 10 values lie beyond.";

/// The part of the page that tells of `record`.
pub(super) fn record(page: &mut Builder, told: &Told<'_>, record: &Record) {
    let id = told.id();
    opening(page, told);
    ended(page, record);
    first_figures(page, record);
    warnings(page, record);
    if told.brief {
        brief(page, record);
    } else {
        charts(page, told, record);
        method(page, record);
        page.html.raw("<h3>Both hosts</h3>\n");
        ends::tell(&mut page.html, record);
    }
    command(page, &id, &record.head.command);
    if !told.brief {
        let style = Style { width: TERMINAL, verbose: true, ..Style::default() };
        let printed = escaped(&text::render(record, &style));
        page.html.details("All of it, as a terminal shows it", |html| {
            html.raw(&format!("<pre tabindex=\"0\">{printed}</pre>\n"));
        });
    }
    page.html.raw("</article>\n");
}

/// The panel beside a matrix: a record in short form, or the reason why there is none.
pub(super) fn panel(page: &mut Builder, panel: &Panel) {
    let id = &panel.id;
    page.html.raw(&format!("<article class=\"cell\" id=\"{id}\" tabindex=\"-1\" aria-labelledby=\"{id}-n\">\n"));
    page.html.raw("<a class=\"close\" href=\"#main\">Close</a>\n");
    page.html.element("h2", &format!("id=\"{id}-n\""), &panel.name);
    page.html.element("p", "class=\"method\"", &panel.under);
    if let Some((why, action)) = &panel.failed {
        page.html.element("p", "class=\"early\"", &format!("Failed: {why}"));
        if let Some(action) = action {
            page.html.element("p", "", &format!("→ {action}"));
        }
    }
    if let Some(record) = &panel.record {
        page.html.element("p", "class=\"found\"", &answer::of(record));
        ended(page, record);
        first_figures(page, record);
        warnings(page, record);
        brief(page, record);
        command(page, id, &record.head.command);
    }
    page.html.raw("</article>\n");
}

/// The head of a document's part: of the only one the page's own head says the same.
pub(super) fn opening(page: &mut Builder, told: &Told<'_>) {
    let id = told.id();
    let (what, rest) = heading(&told.source.document);
    page.html.raw(&format!("<article id=\"{id}\" aria-labelledby=\"{id}-name\">\n"));
    if told.alone {
        page.html.element("h2", &format!("id=\"{id}-name\" class=\"unseen\""), "Results");
    } else {
        let what = escaped(&what);
        page.html.raw(&format!("<h2 id=\"{id}-name\"><span class=\"place\">{}</span> {what}</h2>\n", told.place + 1));
        page.html.element("p", "class=\"method\"", &rest);
    }
}

fn ended(page: &mut Builder, record: &Record) {
    let elapsed = record.elapsed().unwrap_or(Nanos::ZERO);
    let how = match &record.ended {
        Ended::Complete => return,
        Ended::Interrupted { signal } => format!("by {signal} after {elapsed}"),
        Ended::PeerLost { reason } => format!("broke off after {elapsed}: {reason}"),
    };
    page.html.element("p", "class=\"early\"", &format!("Ended early {how}. What was measured until then stands here."));
}

fn first_figures(page: &mut Builder, record: &Record) {
    page.html.raw("<dl class=\"figures\">\n");
    for figure in figures::first(record) {
        let (name, text) = (escaped(&figure.name), escaped(&figure.cell.text));
        page.html.raw(&format!("<div><dt>{name}</dt><dd>{text}</dd></div>\n"));
    }
    page.html.raw("</dl>\n");
    let exchanges = record.outcome.as_ref().map(|outcome| {
        let (answered, scheduled) = (grouped(outcome.counts.answered), grouped(outcome.counts.scheduled));
        format!(" {answered} of {scheduled} exchanges answered.")
    });
    let told = format!("{}{}", measured(&record.head, record.elapsed()), exchanges.unwrap_or_default());
    page.html.element("p", "class=\"when\"", &told);
}

/// `Measured 2026-11-29 00:11:23+00:00 for 5 s by sonde 0.1.0.`
pub(super) fn measured<D>(head: &Head<D>, elapsed: Option<Nanos>) -> String {
    let elapsed = elapsed.map(|elapsed| format!(" for {elapsed}")).unwrap_or_default();
    format!("Measured {}{elapsed} by {} {}.", moment(head.started), head.tool.name, head.tool.version)
}

/// All warnings behind one line, each with what to try.
fn warnings(page: &mut Builder, record: &Record) {
    if record.warnings.is_empty() {
        return;
    }
    let command = Command::of(&record.method);
    let count = number::count(record.warnings.len() as u64, "warning", "warnings");
    page.html.raw(&format!("<details class=\"warnings\">\n<summary>⚠ {count}</summary>\n<ul>\n"));
    for warning in &record.warnings {
        page.html.raw("<li>");
        page.html.words(&warning::seen(warning));
        if let Some(advice) = warning::advice(warning, command) {
            page.html.raw(". <span class=\"advice\">");
            page.html.words(&advice);
            page.html.raw("</span>");
        }
        page.html.raw("</li>\n");
    }
    page.html.raw("</ul>\n</details>\n");
}

/// A line on each end; the machines stand at the end of the page.
fn brief(page: &mut Builder, record: &Record) {
    page.html.raw("<p class=\"when\">");
    for (end, label) in [(&record.ours, "This host: "), (&record.theirs, " · the peer: ")] {
        let Some(end) = end else { continue };
        let number = page.machines.number(end);
        let host = escaped(end.host.as_deref().unwrap_or_default());
        page.html.raw(&format!("{label}<a href=\"#m{number}\">machine {number}</a> {host}"));
    }
    page.html.raw("</p>\n");
}

fn charts(page: &mut Builder, told: &Told<'_>, record: &Record) {
    let id = told.id();
    if let Some(chart) = picture::percentiles(record) {
        page.chart(&format!("{id}-p"), &chart, DOTTED);
    }
    if let Some(outcome) = &record.outcome {
        quantiles(page, outcome);
    }
    flows::tell(&mut page.html, record);
    if let Some(chart) = picture::connections(record) {
        page.chart(&format!("{id}-c"), &chart, &chart.alternative);
    }
    flows::hops(&mut page.html, record);
    let beside = record.stream.as_ref().and_then(|stream| stream.latency.as_ref());
    let heat = match told.samples.filter(|_| told.alone) {
        Some(grid) => picture::heat(grid),
        None => picture::heat_of(record),
    };
    let shape = picture::histogram(record);
    let others: [(&str, Option<Chart>, &str); 6] = [
        ("s", picture::carried(record), "Each interval, as the local host counted it."),
        ("l", beside.and_then(|latency| picture::under_load(latency)), "Exchanges over a flow of their own."),
        ("h", shape, ""),
        ("w", heat, ""),
        ("t", picture::times(record), ""),
        ("a", picture::rates(record), ""),
    ];
    for (which, chart, caption) in others {
        if let Some(chart) = chart {
            let caption = if caption.is_empty() { chart.alternative.clone() } else { caption.to_owned() };
            page.chart(&format!("{id}-{which}"), &chart, &caption);
        }
    }
    let outcome = record.outcome.as_ref();
    if let Some(chart) = outcome.and_then(|outcome| picture::one_way(outcome.one_way.as_ref()?)) {
        let caption = "There and back by themselves lie within their bars: no two clocks are known better.";
        page.chart(&format!("{id}-o"), &chart, caption);
    }
    if let Some(split) = outcome.and_then(|outcome| outcome.split.as_ref()) {
        parts(page, split);
    }
    if let Some(wire) = &record.wire {
        wire::tell(page, wire);
    }
}

/// The quantiles that may be printed, with their intervals.
fn quantiles(page: &mut Builder, outcome: &Outcome) {
    let response = &outcome.response;
    let extreme = |name: &str, value: Option<Nanos>| {
        let value = value?;
        Some([Cell::from(name), Cell::number(Some(value.to_string()), value.0 as f64)].into_iter().collect::<Row>())
    };
    let listed = response.quantiles.iter().filter_map(|quantile| {
        let (text, value) = (number::quantile(quantile)?, quantile.value_ns?.0 as f64);
        let interval = Cell::from(number::interval(quantile).unwrap_or_default());
        let beyond = Cell::number(Some(grouped(quantile.beyond)), quantile.beyond as f64);
        Some(
            [Cell::from(quantile_name(quantile.q)), Cell::number(Some(text), value), interval, beyond]
                .into_iter()
                .collect(),
        )
    });
    let rows =
        extreme("shortest", response.min_ns).into_iter().chain(listed).chain(extreme("longest", response.max_ns));
    let head = ["", "value", "95 % interval", "values beyond"].map(str::to_owned).to_vec();
    let rows = rows.collect();
    page.html.raw("<div class=\"half\">\n");
    Table { caption: "Quantiles of the answered".to_owned(), head, rows, class: "numbers" }.tell(&mut page.html);
    if let Some(told) = mean(response) {
        page.html.element("p", "class=\"when\"", &told);
    }
    page.html.raw("</div>\n");
}

/// `Mean 25.61 µs ± 0.04, standard deviation 5.3 µs.`
fn mean(response: &Distribution) -> Option<String> {
    let mean = number::estimate(response.mean_ns?, response.mean_ci_ns)?;
    let spread = response.stddev_ns.and_then(number::time).map(|spread| format!(", standard deviation {spread}"));
    Some(format!("Mean {mean}{}.", spread.unwrap_or_default()))
}

/// Breakdown of the time, by kernel timestamps.
fn parts(page: &mut Builder, split: &Split) {
    if split.clock_stepped {
        return;
    }
    let parts = |split: &Split| {
        [
            ("local send call to the queue", split.send_to_sched_ns),
            ("local queue to the driver", split.sched_to_driver_ns),
            ("the path, both ways", split.path_ns),
            ("the peer’s host", split.peer_ns),
            ("path and peer together", split.outside_ns.filter(|_| split.path_ns.is_none() || split.peer_ns.is_none())),
            ("local wake-up", split.wake_up_ns),
            ("round trip, stamped", split.round_trip_ns),
            ("round trip, all", split.round_trip_unstamped_ns),
        ]
    };
    let told = |name: &str| words::split::not_shown(split).is_none() || name.starts_with("round trip");
    let slowest = split.slowest.as_deref().map(parts);
    let number = |time: Nanos| Cell::number(Some(time.to_string()), time.0 as f64);
    let row = |(place, (name, time)): (usize, &(&str, Option<Nanos>))| -> Option<Row> {
        let of_all = (*time).filter(|_| told(name))?;
        let of_slowest = slowest.map(|slowest| slowest[place].1.map_or_else(|| Cell::from(""), number));
        Some([Cell::from(*name), number(of_all)].into_iter().chain(of_slowest).collect())
    };
    let rows: Vec<Row> = parts(split).iter().enumerate().filter_map(row).collect();
    if rows.is_empty() {
        return;
    }
    page.html.raw("<div class=\"half\">\n<h3>Where the time went</h3>\n");
    let caption = format!("Medians of {}, by kernel timestamps", number::count(split.samples, "exchange", "exchanges"));
    let head = ["", "time"].into_iter().chain(slowest.map(|_| "slowest tenth")).map(str::to_owned).collect();
    Table { caption, head, rows, class: "numbers" }.tell(&mut page.html);
    if let Some(why) = words::split::not_shown(split) {
        page.html.element("p", "", &format!("Parts are {why}."));
    } else if split.bearing() == Bearing::AtMost {
        page.html.element("p", "", &words::split::source(split));
    }
    page.html.raw("</div>\n");
}

/// The method, every setting of it, as it was carried out, and the instrument.
fn method(page: &mut Builder, record: &Record) {
    page.html.raw("<h3>Method</h3>\n");
    page.html.element("p", "", &words::method::with_protocol(&record.method));
    let table = |caption: &str, facts: Vec<(String, String)>| {
        let rows = facts.into_iter().map(|(name, text)| [name, text].into_iter().collect()).collect();
        let head = ["", "value"].map(str::to_owned).to_vec();
        Table { caption: caption.to_owned(), head, rows, class: "facts" }
    };
    let tables = [
        table("The method, as carried out", facts::of(&record.method)),
        table("Peer", facts::of(&record.peer)),
        table("Instrument", facts::of(&record.instrument)),
        table("Sockets", record.sockets().iter().flat_map(facts::of).collect()),
    ];
    page.html.details("All settings of the method, the peer, the instrument and the sockets", |html| {
        for table in &tables {
            table.tell(html);
        }
    });
}

/// The command that was given, as a shell takes it.
pub(super) fn command(page: &mut Builder, id: &str, words: &[String]) {
    if words.is_empty() {
        return;
    }
    let line = escaped(&shell::line(words));
    page.html.raw(&format!("<h3 id=\"{id}-command\">The command</h3>\n"));
    page.html.raw(&format!("<pre class=\"command\" tabindex=\"0\"><code>{line}</code></pre>\n"));
}
