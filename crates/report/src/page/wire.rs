//! A measurement checked against its packets (`--verify`), as a table.

use measure::unit::grouped;
use measure::wire::finding::{Check, Verdict, Wire};

use super::Builder;
use super::table::{Cell, Row, Table};
use crate::number;

/// Each claim with what was counted, what was seen, and the verdict.
pub(super) fn tell(page: &mut Builder, wire: &Wire) {
    page.html.raw("<h3>On the wire</h3>\n");
    let rows = wire.checks.iter().map(row).collect();
    let packets = number::count(wire.capture.packets, "packet", "packets");
    let dropped = match wire.capture.dropped {
        0 => String::new(),
        dropped => format!(", {} dropped", grouped(dropped)),
    };
    let caption = format!("Checked against the packets on {}: {packets} captured{dropped}", wire.interface);
    let head = ["", "counted", "seen", "verdict", "why"].map(str::to_owned).to_vec();
    Table { caption, head, rows, class: "numbers" }.tell(&mut page.html);
}

fn row(check: &Check) -> Row {
    let count = |count: Option<u64>| Cell::number(count.map(grouped), count.unwrap_or_default() as f64);
    let verdict = match check.verdict {
        Verdict::Verified => "verified",
        Verdict::Contradicted => "contradicted",
        Verdict::NotEstablished => "not established",
    };
    let why = Cell { faint: true, ..Cell::from(check.reason.clone().unwrap_or_default()) };
    let cells = [Cell::from(check.subject.name()), count(check.counted), count(check.seen), Cell::from(verdict), why];
    cells.into_iter().collect()
}
