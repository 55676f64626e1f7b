//! Streams measured with several numbers of streams and cores, as one table: how does it scale?

use logbook::record::Record;
use measure::throughput::Throughput;

use crate::layout::{Page, Piece, Style, Tone};
use crate::number;
use crate::text::limiter;

/// The table of `records`, a row each: both ways of one that went both ways are two.
pub fn render(records: &[Record], style: &Style) -> String {
    let mut page = Page::new(*style);
    page.answer(&answer(records));
    let head = ["streams", "cores", "direction", "received", "of the first", "limited by"]
        .map(|text| Piece::new(text, Tone::Faint));
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

/// The highest rate, and with how many streams and cores it was reached.
fn answer(records: &[Record]) -> String {
    let of = |record: &Record| {
        let stream = record.stream.as_ref()?;
        let ways = std::iter::once(stream).chain(stream.back.as_deref());
        ways.filter_map(|way| way.received_bytes_per_s).reduce(f64::max)
    };
    let rates = records.iter().filter_map(|record| Some((record, of(record)?)));
    let Some((record, rate)) = rates.reduce(|best, other| if other.1 > best.1 { other } else { best }) else {
        return "Nothing was received with any number of streams".to_owned();
    };
    let streams = number::count(u64::from(record.method.spread.connections), "stream", "streams");
    let cores = match record.method.spread.cpus.len() as u64 {
        0 => String::new(),
        cores => format!(" on {}", number::count(cores, "core", "cores")),
    };
    format!("Highest: {} received with {streams}{cores}", number::bit_rate(rate).unwrap_or_default())
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
