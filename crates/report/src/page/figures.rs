//! The figures of a record: the few that are read first, and those that stand in the overview.

use logbook::record::Record;
use measure::outcome::{Distribution, Outcome};
use measure::unit::{Nanos, grouped};

use super::table::Cell;
use crate::number;
use crate::text::limiter;

/// A figure: what it is, and its number.
pub(super) struct Figure {
    pub(super) name: String,
    pub(super) cell: Cell,
}

fn figure(name: impl Into<String>, text: Option<String>, value: f64) -> Option<Figure> {
    text.map(|text| Figure { name: name.into(), cell: Cell::number(Some(text), value) })
}

/// Those read first, the most telling one first.
pub(super) fn first(record: &Record) -> Vec<Figure> {
    let mut figures = Vec::new();
    if let Some(stream) = &record.stream {
        let rate = |name: &str, rate: Option<f64>| figure(name, number::bit_rate(rate?), rate?);
        figures.extend(rate("received", stream.received_bytes_per_s));
        figures.extend(rate("sent", stream.sent_bytes_per_s));
        if let Some(back) = &stream.back {
            figures.extend(rate("received, the other way", back.received_bytes_per_s));
        }
        let limit = stream.detail.as_ref().map(|detail| limiter(detail.limit.limiter).to_owned());
        figures.extend(limit.map(|text| Figure { name: "limited by".to_owned(), cell: Cell::from(text) }));
    }
    if let Some(outcome) = &record.outcome {
        figures.extend([0.5, 0.99, 0.999].into_iter().filter_map(|q| quantile(&outcome.response, q)));
        figures.extend(time("longest", outcome.response.max_ns));
        figures.extend(answered(outcome));
        figures.extend(lost(outcome));
    }
    figures
}

fn time(name: &str, time: Option<Nanos>) -> Option<Figure> {
    figure(name, time.map(number::measured), time?.0 as f64)
}

fn quantile(distribution: &Distribution, q: f64) -> Option<Figure> {
    let found = distribution.quantiles.iter().find(|quantile| quantile.q == q)?;
    figure(measure::unit::quantile_name(q), number::quantile(found), found.value_ns?.0 as f64)
}

fn answered(outcome: &Outcome) -> Option<Figure> {
    let rate = outcome.answered_per_s?;
    figure("answered", number::rate(rate), rate)
}

fn lost(outcome: &Outcome) -> Option<Figure> {
    let ratio = outcome.loss.ratio?;
    let share = if ratio > 0.0 { format!(" ({})", number::percent(ratio)) } else { String::new() };
    let count = outcome.counts.missing();
    figure("lost", Some(format!("{}{share}", grouped(count))), ratio)
}

/// Columns of the overview, in its order.
pub(super) const COLUMNS: [&str; 12] =
    ["min", "p50", "p90", "p99", "p99.9", "max", "mean", "answered", "received", "sent", "lost", "warnings"];

/// The cells of a record under [`COLUMNS`]; empty where it has no such number.
pub(super) fn row(record: &Record) -> Vec<Cell> {
    let outcome = record.outcome.as_ref();
    let of = |figure: Option<Figure>| figure.map_or_else(Cell::default, |figure| figure.cell);
    let quantile = |q| of(outcome.and_then(|outcome| quantile(&outcome.response, q)));
    let mean = outcome.and_then(|outcome| outcome.response.mean_ns);
    let stream = record.stream.as_ref();
    let rate = |rate: Option<f64>| rate.map_or_else(Cell::default, |rate| Cell::number(number::bit_rate(rate), rate));
    let warnings = record.warnings.len();
    vec![
        of(outcome.and_then(|outcome| time("min", outcome.response.min_ns))),
        quantile(0.5),
        quantile(0.9),
        quantile(0.99),
        quantile(0.999),
        of(outcome.and_then(|outcome| time("max", outcome.response.max_ns))),
        mean.map_or_else(Cell::default, |mean| Cell::number(number::time(mean), mean)),
        of(outcome.and_then(answered)),
        rate(stream.and_then(|stream| stream.received_bytes_per_s)),
        rate(stream.and_then(|stream| stream.sent_bytes_per_s)),
        of(outcome.and_then(lost)),
        if warnings > 0 { Cell::number(Some(warnings.to_string()), warnings as f64) } else { Cell::default() },
    ]
}
