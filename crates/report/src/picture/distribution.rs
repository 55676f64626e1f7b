//! Distributions as curves of percentiles, and as bars.

use logbook::record::Record;
use measure::event::Counts;
use measure::method::LoopKind;
use measure::outcome::{Distribution, OfSent, Quantile};
use measure::statistics::payload;
use measure::throughput::latency::UnderLoad;
use measure::unit::{Nanos, grouped};

use crate::number;
use crate::plot::{Axis, Bar, Chart, Line, Point, Scale, Series, Unit};
use crate::words;

/// Points of a curve that stands alone, and of one among many: about as many as a screen tells apart.
const POINTS: usize = 160;
const POINTS_AMONG_MANY: usize = 64;
/// Values beyond a quantile below which too little is known of it: the printing rule.
const TOO_FEW: f64 = 10.0;
/// Values from which their shape says something.
const SHAPE: u64 = 100;
/// Bars at most.
const BARS: u64 = 96;
/// Share of the values that the bars show at most; the rest is the tail's, which the percentiles show.
const BODY: f64 = 0.99;
/// They end so many times as far above the median as p90 is: a thin tail would press the body together.
const REACH: f64 = 6.0;

/// Times by percentile: of the answered, with what else the record tells of: from the send, over all that was sent.
pub fn percentiles(record: &Record) -> Option<Chart> {
    let outcome = record.outcome.as_ref()?;
    let own = match outcome.loop_kind {
        LoopKind::Closed => "round trip",
        LoopKind::Open => "response, from the due instant",
    };
    let mut series = vec![curve(own, &outcome.response, POINTS)?];
    series[0].about = super::settings(record, outcome.response.count);
    series.extend(outcome.service.as_ref().and_then(|service| {
        let curve = curve("service, from the send", service, POINTS)?;
        Some(Series { dots: false, points: without_intervals(curve.points), ..curve })
    }));
    series.extend(outcome.of_sent.as_ref().and_then(|list| of_sent(list, &outcome.counts)));
    let alternative = told(&outcome.response);
    let mut chart = Chart { alternative, series, ..empty("Percentiles") };
    if chart.series.len() == 1 {
        own.clone_into(&mut chart.y.label);
    }
    Some(chart)
}

/// The same of several records, each by its name.
pub fn percentiles_together(records: &[(String, &Record)]) -> Option<Chart> {
    let curve = |(number, (name, record)): (usize, &(String, &Record))| {
        let response = &record.outcome.as_ref()?.response;
        let curve = curve(name, response, POINTS_AMONG_MANY)?;
        let (points, about) = (without_intervals(curve.points), super::settings(record, response.count));
        Some(Series { dots: false, points, colour: Some(number), about, ..curve })
    };
    let series: Vec<Series> = records.iter().enumerate().filter_map(curve).collect();
    let alternative = format!(
        "{} side by side; their values stand in the table.",
        number::count(series.len() as u64, "curve", "curves")
    );
    (!series.is_empty()).then(|| Chart { alternative, series, ..empty("Percentiles side by side") })
}

/// The same, each in a colour that is given: runs of one side have one.
pub(super) fn by_colour(records: &[(String, &Record, usize)], title: &str) -> Option<Chart> {
    let curve = |(name, record, colour): &(String, &Record, usize)| {
        let curve = curve(name, &record.outcome.as_ref()?.response, POINTS_AMONG_MANY)?;
        Some(Series { points: without_intervals(curve.points), colour: Some(*colour), ..curve })
    };
    let series: Vec<Series> = records.iter().filter_map(curve).collect();
    let alternative = number::count(series.len() as u64, "curve", "curves");
    (!series.is_empty()).then(|| Chart { alternative, series, ..empty(title) })
}

/// The times of exchanges beside streams: before, while and after they ran.
pub fn under_load(latency: &UnderLoad) -> Option<Chart> {
    let phases =
        [("before the streams", &latency.idle), ("while they ran", &latency.loaded), ("after", &latency.after)];
    let curves = phases.iter().enumerate().filter_map(|(number, (name, phase))| {
        Some(Series { colour: Some(number), ..curve(name, &phase.response, POINTS_AMONG_MANY)? })
    });
    let series: Vec<Series> = curves.collect();
    let alternative = phases.map(|(name, phase)| format!("{name}: {}", told(&phase.response))).join(" ");
    (!series.is_empty()).then(|| Chart { alternative, series, ..empty("Exchanges beside the streams") })
}

fn empty(title: &str) -> Chart {
    Chart::new(title, Axis::new("percentile", Unit::Quantile, Scale::Tail), Axis::new("time", Unit::Time, Scale::Log))
}

fn without_intervals(points: Vec<Point>) -> Vec<Point> {
    points.into_iter().map(|point| Point { interval: None, ..point }).collect()
}

/// A distribution in words: its quantiles that may be printed, and of how many values.
fn told(distribution: &Distribution) -> String {
    let printed = distribution.quantiles.iter().filter_map(|quantile| {
        Some(format!("{} {}", measure::unit::quantile_name(quantile.q), number::quantile(quantile)?))
    });
    let longest = distribution.max_ns.map(|max| format!("longest {max}"));
    let values = number::count(distribution.count, "value", "values");
    let parts: Vec<String> = printed.chain(longest).chain([format!("of {values}")]).collect();
    format!("{}.", parts.join(", "))
}

/// The curve of a distribution from its histogram, three digits exact, with the quantiles that the record lists.
fn curve(name: &str, distribution: &Distribution, most: usize) -> Option<Series> {
    let count = distribution.count;
    let values = payload::decode(&distribution.histogram).ok()?;
    let buckets = payload::buckets(&values);
    let (least, total) = (distribution.min_ns?, buckets.iter().map(|(_, count)| count).sum::<u64>());
    let nines = (total as f64).log10();
    let mut points = vec![Point::new(0.0, least.0 as f64)];
    let (mut seen, mut place) = (0, 0);
    for number in 1..=most {
        let q = 1.0 - 10_f64.powf(-nines * number as f64 / most as f64);
        let rank = measure::statistics::quantile::rank(q, total)?;
        while seen + buckets.get(place).map_or(u64::MAX - seen, |(_, count)| *count) < rank {
            seen += buckets[place].1;
            place += 1;
        }
        points.extend(buckets.get(place).map(|(value, _)| Point::new(q, value.0.max(least.0) as f64)));
    }
    let points = with_listed(sparse(points), distribution);
    let doubtful_from = Some(1.0 - TOO_FEW / count.max(1) as f64);
    (total > 1).then(|| Series { doubtful_from, ..Series::new(name, points) })
}

/// The quantiles of the record among the points of its curve, which they replace nearby: they are exact and have intervals.
fn with_listed(points: Vec<Point>, distribution: &Distribution) -> Vec<Point> {
    let listed = |quantile: &Quantile| {
        // A quantile that may not be printed may not be drawn with an interval either.
        number::quantile(quantile)?;
        let value = quantile.value_ns?.0 as f64;
        let end = |end: Option<Nanos>| end.map_or(f64::NAN, |end| end.0 as f64);
        let interval = quantile.low_ns.map(|low| (low.0 as f64, end(quantile.high_ns)));
        Some(Point { interval, ..Point::new(quantile.q, value) })
    };
    let listed: Vec<Point> = distribution.quantiles.iter().filter_map(listed).collect();
    let near = |point: &Point| listed.iter().any(|known| (nines(known.x) - nines(point.x)).abs() < 0.012);
    let mut all: Vec<Point> = points.into_iter().filter(|point| point.x == 0.0 || !near(point)).collect();
    all.extend(&listed);
    all.sort_by(|left, right| left.x.total_cmp(&right.x));
    // A curve never falls: three digits beside an exact value may.
    let mut floor = 0.0_f64;
    for point in &mut all {
        floor = floor.max(point.y);
        if point.interval.is_none() {
            point.y = floor;
        }
    }
    all
}

fn nines(q: f64) -> f64 {
    -(1.0 - q).log10()
}

/// Without the points in the middle of a level stretch.
fn sparse(points: Vec<Point>) -> Vec<Point> {
    let mut kept: Vec<Point> = Vec::with_capacity(points.len());
    for point in points {
        if let [.., before, last] = kept.as_mut_slice()
            && before.y == point.y
            && last.y == point.y
        {
            last.x = point.x;
            continue;
        }
        kept.push(point);
    }
    kept
}

/// Quantiles over all that was sent; those that fall among the unanswered have no place, and end the line.
fn of_sent(list: &[OfSent], counts: &Counts) -> Option<Series> {
    let answered = list.iter().filter_map(|of_sent| Some(Point::new(of_sent.q, of_sent.value_ns?.0 as f64)));
    let points: Vec<Point> = answered.collect();
    (!points.is_empty()).then(|| Series {
        line: Line::Dashed,
        dots: true,
        ..Series::new(words::of_sent(counts), points)
    })
}

/// The distribution: up to 99 % of the values as bars of one width.
pub fn histogram(record: &Record) -> Option<Chart> {
    let calls = record.stream.as_ref().and_then(|stream| stream.calls.as_ref());
    let distribution = record.outcome.as_ref().map(|outcome| &outcome.response).or(calls)?;
    let values = payload::decode(&distribution.histogram).ok()?;
    let buckets = payload::buckets(&values);
    let total: u64 = buckets.iter().map(|(_, count)| count).sum();
    if total < SHAPE {
        return None;
    }
    let (edges, scale) = edges(&buckets, total)?;
    let mut counts = vec![0_u64; edges.len() - 1];
    let mut beyond = 0;
    for (value, count) in &buckets {
        let place = edges.partition_point(|edge| *edge <= value.0 as f64);
        match counts.get_mut(place.saturating_sub(1)) {
            Some(bar) if place > 0 => *bar += count,
            _ => beyond += count,
        }
    }
    let bar =
        |(edges, count): (&[f64], &u64)| Bar { from: edges[0], to: edges[1], height: *count as f64 / total as f64 };
    let bars = edges.windows(2).zip(&counts).filter(|(_, count)| **count > 0).map(bar).collect();
    let (low, high) = (*edges.first()?, *edges.last()?);
    let longest = distribution.max_ns.map_or_else(String::new, |max| format!(", up to {max}"));
    let tail =
        format!(" {} lie beyond {}{longest}.", number::percent(beyond as f64 / total as f64), Unit::Time.text(high));
    let alternative = format!(
        "{} of {} values from {} to {}.{}",
        number::percent(1.0 - beyond as f64 / total as f64),
        grouped(total),
        Unit::Time.text(low),
        Unit::Time.text(high),
        if beyond > 0 { tail } else { String::new() }
    );
    let x = Axis::new("time", Unit::Time, scale).over(low, high);
    let y = Axis::new("share of the values", Unit::Share, Scale::Linear).from_zero();
    Some(Chart { alternative, bars, ..Chart::new("Distribution", x, y) })
}

/// Edges of bars over the body of the values: equal widths, or equal ratios where the body spans more than a decade. No bar is
/// narrower than two buckets of the histogram, which would make a comb of it.
fn edges(buckets: &[(Nanos, u64)], total: u64) -> Option<(Vec<f64>, Scale)> {
    let at = |share: f64| {
        let (mut seen, needed) = (0, (total as f64 * share).ceil() as u64);
        let found = buckets.iter().find(|(_, count)| {
            seen += count;
            seen >= needed
        })?;
        Some(found.0.0.max(1))
    };
    let (median, most) = (at(0.5)?, at(0.9)?);
    let reach = median + ((most - median) as f64 * REACH) as u64;
    let (low, high) = (buckets.first()?.0.0.max(1), at(BODY)?.min(reach.max(most)));
    // Three digits: a bucket is a 1,024th of its power of two at most.
    let bucket = 1_u64 << (high.ilog2().saturating_sub(10));
    if high / low >= 10 {
        let ratio = high as f64 / low as f64 * 1.001;
        let edge = |number: u64| low as f64 * ratio.powf(number as f64 / BARS as f64);
        return Some(((0..=BARS).map(edge).collect(), Scale::Log));
    }
    let width = ((high - low) / BARS).max(bucket).div_ceil(2 * bucket) * 2 * bucket;
    let first = low / width * width;
    let edges: Vec<f64> = (0..=(high - first) / width + 1).map(|number| (first + number * width) as f64).collect();
    Some((edges, Scale::Linear))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_quantiles_of_the_record_are_on_the_curve() {
        let record = fixture::closed();
        let chart = percentiles(&record).unwrap();
        let curve = &chart.series[0];
        for quantile in record.outcome.unwrap().response.quantiles {
            let value = quantile.value_ns.unwrap().0 as f64;
            let point = curve.points.iter().find(|point| point.x == quantile.q);
            match number::quantile(&quantile) {
                Some(_) => assert_eq!(point.map(|point| point.y), Some(value), "{quantile:?}"),
                None => assert!(point.is_none_or(|point| point.interval.is_none()), "{quantile:?}"),
            }
        }
        assert!(curve.points.windows(2).all(|pair| pair[0].x < pair[1].x && pair[0].y <= pair[1].y));
        assert!(curve.points.len() <= POINTS + 10);
        assert_eq!(curve.doubtful_from, Some(1.0 - 10.0 / 40_000.0));
    }

    #[test]
    fn bars_hold_all_but_the_tail() {
        for record in [fixture::closed, fixture::open_with_losses, fixture::stream, fixture::load] {
            let record = record();
            let chart = histogram(&record).unwrap();
            let sum: f64 = chart.bars.iter().map(|bar| bar.height).sum();
            assert!((0.9..=1.0 + 1e-9).contains(&sum), "{sum}");
            assert!(chart.bars.windows(2).all(|pair| pair[0].to <= pair[1].from), "{:?}", chart.bars);
            assert!(chart.bars.len() <= BARS as usize + 2);
        }
        assert_eq!(histogram(&fixture::icmp()), None, "20 values have no shape");
    }

    #[test]
    fn what_was_lost_is_on_a_curve_of_its_own() {
        let chart = percentiles(&fixture::open_with_losses()).unwrap();
        let names: Vec<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(names, ["response, from the due instant", "service, from the send", "of all sent"]);
        assert_eq!(percentiles(&fixture::silent()), None);
        assert_eq!(percentiles(&fixture::stream()), None);
    }

    #[test]
    fn level_stretches_are_two_points() {
        let points = [(0.0, 1.0), (0.1, 1.0), (0.2, 1.0), (0.3, 2.0)].map(|(x, y)| Point::new(x, y)).to_vec();
        let places: Vec<f64> = sparse(points).iter().map(|point| point.x).collect();
        assert_eq!(places, [0.0, 0.2, 0.3]);
    }
}
