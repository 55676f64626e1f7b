//! Both directions of a path apart, as far as the clocks let them be told.

use measure::outcome::one_way::{OneWay, Spread};

use crate::number;
use crate::plot::{Axis, Chart, Mark, On, Point, Scale, Series, Unit};

/// Delays there and back from the shortest to the longest, each with the most that the clocks may be off.
pub fn one_way(both: &OneWay) -> Option<Chart> {
    let bound = both.clock.as_ref().map(|clock| clock.bound_ns.0 as f64);
    let ways = [("there", &both.forward, bound), ("back", &both.reverse, bound), ("there and back", &both.path, None)];
    let curve = |(name, spread, bound): &(&str, &Option<Spread>, Option<f64>)| {
        let values = values((*spread).as_ref()?);
        let point = |(place, value): (usize, &Option<i64>)| {
            let y = (*value)? as f64;
            Some(Point { interval: bound.map(|bound| (y - bound, y + bound)), ..Point::new(place as f64, y) })
        };
        Some(Series { dots: true, ..Series::new(*name, values.iter().enumerate().filter_map(point).collect()) })
    };
    let series: Vec<Series> = ways.iter().filter_map(curve).collect();
    let told = ways.iter().filter_map(|(name, spread, _)| {
        let median = number::signed_time((*spread).as_ref()?.p50_ns?);
        Some(format!("{name} {}", median.trim_start_matches('+')))
    });
    let told: Vec<String> = told.collect();
    let within = both.clock.as_ref().map_or_else(String::new, |clock| format!(", each way ±{}", clock.bound_ns));
    let alternative = format!("Medians: {}{within}.", told.join(", "));
    let names = ["shortest", "p50", "p90", "p99", "longest"].map(str::to_owned).to_vec();
    let x = Axis::new("", Unit::Names(names), Scale::Linear);
    let y = Axis::new("delay", Unit::Time, Scale::Linear).from_zero();
    let marks = vec![Mark { on: On::Y, at: 0.0, text: String::new() }];
    (!series.is_empty()).then(|| Chart { alternative, series, marks, ..Chart::new("Each direction apart", x, y) })
}

fn values(spread: &Spread) -> [Option<i64>; 5] {
    [Some(spread.min_ns), spread.p50_ns, spread.p90_ns, spread.p99_ns, Some(spread.max_ns)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn each_direction_is_a_line_within_what_the_clocks_allow() {
        let record = fixture::one_way();
        let both = record.outcome.unwrap().one_way.unwrap();
        let chart = one_way(&both).unwrap();
        let names: Vec<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(names, ["there", "back", "there and back"]);
        let bound = both.clock.as_ref().unwrap().bound_ns.0 as f64;
        let first = chart.series[0].points[0];
        assert_eq!(first.y, both.forward.unwrap().min_ns as f64);
        assert_eq!(first.interval, Some((first.y - bound, first.y + bound)));
        assert_eq!(chart.series[2].points[0].interval, None, "no clock difference is in it");
    }
}
