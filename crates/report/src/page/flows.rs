//! The connections of a record apart: their groups, each of them by its port, and their hops as a screen shows them.

use logbook::record::Record;
use measure::outcome::flows::FlowGroup;
use measure::unit::grouped;

use super::html::Html;
use super::table::{Cell, Row, Table};
use crate::layout::Style;
use crate::markup::escaped;
use crate::number;
use crate::text::{self, flows};

/// Cells of a line of the hops.
const TERMINAL: usize = 100;

/// The scope of the numbers, and the connections apart where there are several.
pub(super) fn tell(html: &mut Html, record: &Record) {
    if let Some(scope) = flows::scope(record) {
        html.element("p", "", &format!("Scope of the numbers: {scope}."));
    }
    let Some(of_all) = record.outcome.as_ref().and_then(|outcome| outcome.flows.as_ref()) else { return };
    html.raw("<h3>Connections</h3>\n");
    html.element("p", "", &flows::summary(of_all, record));
    let groups = of_all.groups.as_deref().filter(|groups| groups.len() > 1).unwrap_or_default();
    let head = ["group", "connections", "p50 [95 %]", "slower by", "lost", "source ports and next hop"];
    Table {
        caption: "Groups of connections whose times are alike".to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows: groups.iter().enumerate().map(|(place, group)| row(place, group, record)).collect(),
        class: "",
    }
    .tell(html);
}

/// The hops, where some were traced.
pub(super) fn hops(html: &mut Html, record: &Record) {
    if let Some(hops) = text::hops(record, &Style { width: TERMINAL, ..Style::default() }) {
        html.raw(&format!("<h3>Hops</h3>\n<pre tabindex=\"0\">{}</pre>\n", escaped(&hops)));
    }
}

fn row(place: usize, group: &FlowGroup, record: &Record) -> Row {
    let lost = group.scheduled.saturating_sub(group.answered);
    let time = |of: &Option<measure::outcome::flows::Between>| {
        of.map_or_else(Cell::default, |of| {
            Cell::number(number::within(of.value_ns, of.low_ns.zip(of.high_ns)), of.value_ns)
        })
    };
    let count = group.flows.len() as u64;
    [
        Cell::from(flows::name(place)),
        Cell::number(Some(grouped(count)), count as f64),
        time(&group.time),
        time(&group.shift),
        Cell::number(Some(format!("{} of {}", grouped(lost), grouped(group.scheduled))), lost as f64),
        Cell::from(flows::whereabouts(&group.flows, record).join("; ")),
    ]
    .into_iter()
    .collect()
}
