//! A first look as a chart: every way that answered, side by side.

use logbook::look::LookDocument;
use measure::look::{Leg, Sums};
use measure::method::Carrier;

use crate::plot::{Axis, Bar, Chart, Line, Point, Scale, Series, Unit};

/// Ways whose medians are further apart than this are drawn by ratio, where a bar would have no foot.
const WIDE: f64 = 50.0;
/// Half of a bar, where from one to the next is 1.
const HALF: f64 = 0.32;

/// A bar for the median of each way in the rounds, with its interval, and a dot for its exchanges back to back.
pub fn ways(found: &LookDocument) -> Option<Chart> {
    let look = &found.look;
    let legs: Vec<(u32, &Leg)> = (0..).zip(&look.legs).filter(|(_, leg)| median(&leg.sums, 0.0).is_some()).collect();
    let mut rounds = Series { colour: Some(1), ..dots("in the rounds") };
    let mut bursts = Series { colour: Some(2), ..dots("no pause") };
    let (mut bars, mut told) = (Vec::new(), Vec::new());
    for (place, (number, leg)) in legs.iter().enumerate() {
        let x = place as f64;
        let Some(point) = median(&leg.sums, x) else { continue };
        bars.push(Bar { from: x - HALF, to: x + HALF, height: point.y });
        rounds.points.push(point);
        let own = look.bursts.iter().find(|burst| burst.leg == *number);
        let own = own.and_then(|burst| median(&burst.sums, x));
        bursts.points.extend(own);
        let close = own.map_or_else(String::new, |own| format!(", without pause {}", Unit::Time.text(own.y)));
        told.push(format!("{} {}{close}", crate::look::name(leg), Unit::Time.text(point.y)));
    }
    let values: Vec<f64> = rounds.points.iter().chain(&bursts.points).map(|point| point.y).collect();
    let ends = values.iter().copied().reduce(f64::min).zip(values.iter().copied().reduce(f64::max))?;
    let scale = if ends.0 > 0.0 && ends.1 / ends.0 >= WIDE { Scale::Log } else { Scale::Linear };
    if scale == Scale::Log {
        bars.clear();
    }
    let mut y = Axis::new("median round trip", Unit::Time, scale);
    y.from_zero = scale == Scale::Linear;
    let x = Axis::new("", Unit::Names(legs.iter().map(|(_, leg)| short(leg)).collect()), Scale::Linear);
    let series = [rounds, bursts].into_iter().filter(|series| !series.points.is_empty()).collect();
    let alternative = format!("Medians: {}.", told.join("; "));
    Some(Chart { alternative, series, bars, ..Chart::new("Each protocol, measured in the same rounds", x, y) })
}

/// Dots of another colour than the bars, so that an interval is seen on them.
fn dots(name: &str) -> Series {
    Series { line: Line::None, dots: true, ..Series::new(name, Vec::new()) }
}

fn median(sums: &Sums, x: f64) -> Option<Point> {
    let found = sums.quantiles.iter().find(|quantile| (quantile.q - 0.5).abs() < 1e-9)?;
    let interval = found.low_ns.zip(found.high_ns).map(|(low, high)| (low.0 as f64, high.0 as f64));
    Some(Point { interval, ..Point::new(x, found.value_ns?.0 as f64) })
}

/// A way in as few letters as a label has room for.
fn short(leg: &Leg) -> String {
    let carrier = match leg.carrier {
        Carrier::Icmp => "icmp",
        Carrier::TcpConnect | Carrier::TcpSyn => "connect",
        Carrier::Tcp => "tcp",
        Carrier::Udp => "udp",
    };
    let also = if leg.address > 0 { " (2)" } else { "" };
    leg.port.map_or_else(|| format!("{carrier}{also}"), |port| format!("{carrier}{also} :{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn every_way_that_answered_is_a_bar_with_its_median() {
        let found = fixture::look();
        let chart = ways(&found).unwrap();
        let answered: Vec<&Leg> = found.look.legs.iter().filter(|leg| leg.answers()).collect();
        let bars = if chart.y.scale == Scale::Log { 0 } else { answered.len() };
        assert_eq!((chart.bars.len(), chart.series[0].points.len()), (bars, answered.len()));
        for (bar, point) in chart.bars.iter().zip(&chart.series[0].points) {
            let (low, high) = point.interval.expect("fifty exchanges have an interval");
            assert!(bar.height == point.y && low <= point.y && point.y <= high, "{point:?}");
        }
        assert_eq!(chart.series[1].points.len(), found.look.bursts.len());
        assert!(chart.alternative.contains("without pause"), "{}", chart.alternative);
        let Unit::Names(names) = &chart.x.unit else { panic!("names") };
        assert!(names.iter().all(|name| name.chars().count() <= 18), "{names:?}");
    }

    #[test]
    fn where_nothing_answered_there_is_no_chart() {
        let mut found = fixture::look();
        found.look.legs.clear();
        assert_eq!(ways(&found), None);
    }
}
