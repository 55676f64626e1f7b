//! Times against the rate, of a search.

use logbook::search::SearchDocument;

use crate::plot::{Axis, Caveats, Chart, Mark, On, Point, Scale, Series, Unit};
use crate::search::{self, SHOWN};

/// Response times by the rate that was offered: a point is the median of the probes made at a rate.
pub fn by_rate(search: &SearchDocument) -> Option<Chart> {
    let rows = search::rows(search);
    let line = |place: usize| {
        let point = |row: &search::Row| {
            let caveats = Caveats { pace: row.ours + row.bunched > 0, ..Caveats::default() };
            let point = Point::new(row.rate.as_per_second(), row.quantiles[place]?.0 as f64);
            Some(Point { of: Some(row.probes as u64), caveats, ..point })
        };
        let points = rows.iter().filter_map(point).collect();
        Series { dots: true, ..Series::new(measure::unit::quantile_name(SHOWN[place]), points) }
    };
    let mut series: Vec<Series> = (0..SHOWN.len()).map(line).collect();
    series.retain(|series| series.points.len() > 1);
    let holds = search.bracket.met.map(|end| Mark {
        on: On::X,
        at: end.rate_per_1000s.as_per_second(),
        text: format!("{} holds", search::rate(end.rate_per_1000s)),
    });
    let x = Axis::new("messages a second offered", Unit::PerSecond, Scale::Log);
    let y = Axis::new("response", Unit::Time, Scale::Log);
    let alternative = search::sentence(search);
    (!series.is_empty()).then(|| Chart {
        alternative,
        series,
        marks: holds.into_iter().collect(),
        ..Chart::new("Response by rate", x, y)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn every_rate_has_its_medians() {
        let search = fixture::search();
        let chart = by_rate(&search).unwrap();
        assert_eq!(chart.series.len(), 2);
        let rates = search::rows(&search);
        assert_eq!(chart.series[0].points.len(), rates.iter().filter(|row| row.quantiles[0].is_some()).count());
        assert_eq!(chart.marks[0].at, search.bracket.met.unwrap().rate_per_1000s.as_per_second());
        assert!(chart.series[1].points.windows(2).all(|pair| pair[0].x < pair[1].x));
    }
}
