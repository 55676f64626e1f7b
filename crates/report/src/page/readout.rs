//! The data of the script: the points of each chart with their words, so that a readout says what the page says.

use serde_json::{Value, json};

use crate::markup::visible;
use crate::number;
use crate::plot::{Axis, Caveats, Chart, Point, Unit};

/// Points of all charts of a page.
#[derive(Clone, Debug, Default)]
pub(super) struct Readouts {
    charts: serde_json::Map<String, Value>,
    /// Curves of documents by their place, where the overview has not drawn all.
    curves: Vec<Value>,
    /// Places of those that it has drawn.
    drawn: Vec<usize>,
}

impl Readouts {
    /// Those of `chart`, by its id in the page: each point with its words, the ends of its interval, and how many values it is of.
    pub(super) fn add(&mut self, id: &str, chart: &Chart) {
        let series = chart.series.iter().map(|series| {
            let points = series.points.iter().filter(|point| point.y.is_finite());
            let points: Vec<Value> = points.map(|point| entry(point, &near(&chart.x.unit, point.x), chart)).collect();
            json!({ "name": visible(&series.name), "about": visible(&series.about), "points": points })
        });
        let mut series: Vec<Value> = series.collect();
        if series.is_empty() {
            let bars = chart.bars.iter().map(|bar| {
                let ends = format!("{} … {}", chart.x.unit.text(bar.from), chart.x.unit.text(bar.to));
                entry(&Point::new(f64::midpoint(bar.from, bar.to), bar.height), &ends, chart)
            });
            let bars: Vec<Value> = bars.collect();
            series.push(json!({ "name": "", "about": "", "points": bars }));
        }
        let column = |axis: &Axis| {
            let unit = if axis.unit.base().is_empty() { String::new() } else { format!(" ({})", axis.unit.base()) };
            visible(format!("{}{unit}", axis.label).trim())
        };
        let mut told = json!({ "x": column(&chart.x), "y": column(&chart.y), "series": series });
        if let Unit::Names(names) = &chart.x.unit {
            told["names"] = names.iter().map(|name| visible(name)).collect();
        }
        if let Some(cells) = &chart.cells {
            let between = |edges: &[f64], unit: &Unit| -> Value {
                edges.windows(2).map(|ends| format!("{} … {}", unit.text(ends[0]), unit.text(ends[1]))).collect()
            };
            let edges = |edges: &[f64]| -> Value { edges.iter().map(|edge| short(*edge)).collect() };
            told["cells"] = json!({
                "columns": edges(&cells.columns), "rows": edges(&cells.rows), "counts": cells.counts, "missing": cells.missing,
                "across": between(&cells.columns, &chart.x.unit), "up": between(&cells.rows, &chart.y.unit),
            });
        }
        self.charts.insert(id.to_owned(), told);
    }

    /// A curve for each document, for the script to draw those that are chosen.
    pub(super) fn curves(&mut self, curves: impl Iterator<Item = Vec<(f64, f64)>>, drawn: Vec<usize>) {
        let points = |curve: Vec<(f64, f64)>| curve.iter().map(|(x, y)| json!([short(*x), short(*y)])).collect();
        self.curves = curves.map(points).collect();
        self.drawn = drawn;
    }

    pub(super) fn to_json(&self) -> String {
        json!({ "charts": self.charts, "curves": self.curves, "drawn": self.drawn }).to_string()
    }
}

/// `[x, y, words]`, and behind them the ends of its interval and how many values it is of, where there are such.
fn entry(point: &Point, place: &str, chart: &Chart) -> Value {
    let unit = &chart.y.unit;
    let mut words = vec![format!("{place} {}", unit.text(point.y))];
    let mut entry = vec![json!(short(point.x)), json!(short(point.y))];
    let end = |end: f64| if end.is_finite() { json!(short(end)) } else { Value::Null };
    let mut further = Vec::new();
    if let Some((low, high)) = point.interval {
        let told = |end: f64| if end.is_finite() { unit.text(end) } else { "∞".to_owned() };
        words.push(format!(" [{} … {}]", told(low), told(high)));
        further = vec![end(low), end(high)];
    }
    if let Some(count) = point.of {
        words.push(format!(", {}", number::count(count, "value", "values")));
        further.resize(2, Value::Null);
        further.push(json!(count));
    }
    for (says, _) in Caveats::WORDS.iter().zip(point.caveats.all()).filter(|(_, is)| *is) {
        words.push(format!(" · {says}"));
    }
    entry.push(json!(visible(&words.concat())));
    entry.extend(further);
    Value::from(entry)
}

/// Six digits: more than a screen shows.
fn short(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    // A share near 1 keeps its nines.
    if (0.5..1.0).contains(&value) {
        return 1.0 - six_digits(1.0 - value);
    }
    six_digits(value)
}

fn six_digits(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// The words of a place that is not one of the listed: a percentile with as many digits as its nines need.
fn near(unit: &Unit, value: f64) -> String {
    match unit {
        Unit::Quantile => {
            let nines = -(1.0 - value).max(1e-9).log10();
            let decimals = (nines.ceil() - 1.0).clamp(0.0, 7.0) as usize;
            let text = format!("{:.decimals$}", value * 100.0);
            let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
            format!("p{text}")
        }
        unit => unit.text(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case(0.5, "p50")]
    #[test_case(0.987_43, "p98.7")]
    #[test_case(0.999_95, "p99.995")]
    #[test_case(0.9, "p90")]
    fn a_place_between_has_few_digits(q: f64, text: &str) {
        assert_eq!(near(&Unit::Quantile, q), text);
    }

    #[test]
    fn a_share_near_one_keeps_its_nines() {
        assert_eq!(short(0.999_999_123_4), 1.0 - 8.766e-7);
        assert_eq!(short(123_456_789.0), 123_457_000.0);
    }
}
