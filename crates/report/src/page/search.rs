//! A search for a rate as a part of a page: what was found, the curve of times against the rate, each rate, each probe.

use logbook::record::Ended;
use logbook::search::{Probe, SearchDocument};

use super::table::{Cell, Row, Table};
use super::{Builder, Told, article};
use crate::number;
use crate::picture;
use crate::search::{self, SHOWN};

/// The part of the page that tells of `found`.
pub(super) fn tell(page: &mut Builder, told: &Told<'_>, found: &SearchDocument) {
    let id = told.id();
    article::opening(page, told);
    if found.ended != Ended::Complete {
        page.html.element("p", "class=\"early\"", "Ended early. What was found until then stands here.");
    }
    page.html.element("p", "class=\"when\"", &search::how_surely(found));
    if let Some(chart) = picture::by_rate(found) {
        page.chart(&format!("{id}-c"), &chart, "A point is the median of the probes made at its rate.");
    }
    rates(page, found);
    if !told.brief {
        let table = probes(found);
        page.html.details("Every probe, in the order they were made", |html| table.tell(html));
    }
    article::command(page, &id, &found.head.command);
    page.html.raw("</article>\n");
}

fn rates(page: &mut Builder, found: &SearchDocument) {
    let row = |row: &search::Row| {
        let time = |place: usize| {
            row.quantiles[place]
                .map_or_else(Cell::default, |time| Cell::number(Some(number::measured(time)), time.0 as f64))
        };
        let share = |share: f64| Cell::number(Some(number::percent(share)), share);
        let rate = Cell::number(Some(search::rate(row.rate)), row.rate.as_per_second());
        let whose = match (row.ours, row.bunched) {
            (0, 0) => String::new(),
            (0, spoilt) => format!(", {spoilt} spoilt"),
            _ => ", this host".to_owned(),
        };
        let met = Cell::from(format!("{} of {}{whose}", row.met, row.probes));
        [rate]
            .into_iter()
            .chain((0..SHOWN.len()).map(time))
            .chain([share(row.lost), share(row.achieved), met])
            .collect::<Row>()
    };
    let rows = search::rows(found).iter().map(row).collect();
    let quantiles = SHOWN.map(measure::unit::quantile_name);
    let head = ["rate".to_owned()].into_iter().chain(quantiles);
    let head = head.chain(["lost", "sent", "met"].map(str::to_owned)).collect();
    Table { caption: "Probes by rate".to_owned(), head, rows, class: "sorted" }.tell(&mut page.html);
}

fn probes(found: &SearchDocument) -> Table {
    let row = |(place, probe): (usize, &Probe)| {
        let rate = probe.rate_per_1000s;
        let verdict = super::facts::of(&probe.verdict).into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(" ");
        let number = place as f64 + 1.0;
        let cells = [
            Cell::number(Some((place + 1).to_string()), number),
            Cell::number(Some(search::rate(rate)), rate.as_per_second()),
            Cell::from(verdict),
            Cell::from(probe.missed.join(", ")),
        ];
        cells.into_iter().collect::<Row>()
    };
    let rows = found.probes.iter().enumerate().map(row).collect();
    let head = ["probe", "rate", "verdict", "why it failed"].map(str::to_owned).to_vec();
    Table { caption: "Probes".to_owned(), head, rows, class: "sorted" }
}
