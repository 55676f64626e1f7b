//! Streams measured with several numbers of streams and cores, as one table: how does it scale?

use logbook::record::Record;
use measure::throughput::Throughput;

use crate::layout::{INDENT, Page, Piece, Style, Tone};
use crate::number;
use crate::text::limiter;

/// The table of `records`, a row each: both ways of one that went both ways are two.
pub fn render(records: &[Record], style: &Style) -> String {
    let mut page = Page::new(*style);
    page.line(INDENT, &[Piece::new("by streams and cores", Tone::Strong)]);
    let head =
        ["streams", "cores", "way", "received", "of the first", "limited by"].map(|text| Piece::new(text, Tone::Faint));
    let mut rows = vec![head.to_vec()];
    let mut first = None;
    for record in records {
        let ways = record.stream.iter().flat_map(|stream| std::iter::once(stream).chain(stream.back.as_deref()));
        for way in ways {
            let base = *first.get_or_insert(way.received_bytes_per_s);
            rows.push(row(record, way, base));
        }
    }
    page.table(&rows);
    page.finish()
}

fn row(record: &Record, way: &Throughput, first: Option<f64>) -> Vec<Piece> {
    let ratio = way.received_bytes_per_s.zip(first).filter(|(_, first)| *first > 0.0);
    let cores = record.method.spread.cpus.len();
    [
        record.method.spread.connections.to_string(),
        if cores > 0 { cores.to_string() } else { "any".to_owned() },
        way.direction.to_string(),
        way.received_bytes_per_s.and_then(number::bit_rate).unwrap_or_default(),
        ratio.map(|(rate, first)| format!("{:.2}×", rate / first)).unwrap_or_default(),
        way.detail.as_ref().map(|found| limiter(found.limit.limiter).to_owned()).unwrap_or_default(),
    ]
    .map(Piece::from)
    .to_vec()
}
