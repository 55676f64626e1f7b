//! What the script reads: the points of each chart with their words, so that a readout says what the page says.

use serde_json::{Value, json};

use crate::markup::visible;
use crate::plot::{Chart, Unit};

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
    /// Those of `chart`, by its id in the page.
    pub(super) fn add(&mut self, id: &str, chart: &Chart) {
        let series = chart.series.iter().map(|series| {
            let points = series.points.iter().filter(|point| point.y.is_finite());
            let points: Vec<Value> = points
                .map(|point| {
                    let words = format!("{} {}", near(&chart.x.unit, point.x), chart.y.unit.text(point.y));
                    json!([short(point.x), short(point.y), words])
                })
                .collect();
            json!({ "name": visible(&series.name), "points": points })
        });
        let series: Vec<Value> = series.collect();
        self.charts.insert(id.to_owned(), json!(series));
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
