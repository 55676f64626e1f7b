//! The course of a measurement: times, rates and what a stream carried, by the second.

use logbook::record::Record;
use measure::event::Second;
use measure::method::Direction;
use measure::throughput::{Interval, Throughput, per_second};
use measure::unit::{Nanos, quantile_name};

use super::stretches::Stretched;
use crate::number;
use crate::plot::{Axis, Band, Chart, Line, Point, Scale, Series, Unit};

/// Points of a course: about two pixels of a screen each.
const POINTS: usize = 300;
/// Streams that have lines of their own.
const STREAMS: usize = 8;
/// A last second shorter than this share of the others says nothing of a rate.
const WHOLE: f64 = 0.5;

/// Quantiles of each second where the record keeps its times, and otherwise its mean, within the shortest and the longest.
pub fn times(record: &Record) -> Option<Chart> {
    quantiles(record).or_else(|| means(record))
}

/// p50 and p99 of each stretch, within the band from p10 to p90.
fn quantiles(record: &Record) -> Option<Chart> {
    let stretched = Stretched::of(record)?;
    let about = super::settings(record, stretched.kept());
    let line = |q: f64, colour: usize| {
        let points = stretched.line(q);
        Series { about: about.clone(), colour: Some(colour), ..Series::new(quantile_name(q), points) }
    };
    let mut series = vec![Series { band: stretched.band(), ..line(0.5, 0) }, line(0.99, 1)];
    series[0].name = format!("p50 in p10–p90, {} per {}", stretched.values(), stretched.length());
    series.retain(|series| series.points.iter().any(|point| point.y.is_finite()));
    let medians =
        || series.first().into_iter().flat_map(|series| &series.points).map(|point| point.y).filter(|y| y.is_finite());
    let (low, high) = (medians().reduce(f64::min)?, medians().reduce(f64::max)?);
    let alternative = format!("The median lies between {} and {}.", Unit::Time.text(low), Unit::Time.text(high));
    let y = Axis::new("response", Unit::Time, Scale::Log);
    (stretched.len() > 1).then(|| Chart { alternative, series, ..over_time("Times over time", y) })
}

fn means(record: &Record) -> Option<Chart> {
    let seconds = thinned(&record.outcome.as_ref()?.seconds);
    let middle = |second: &Second| middle(second.at_ns, second.length_ns);
    let point = |second: &Second| Point::new(middle(second), second.mean_ns.unwrap_or(f64::NAN));
    let band = |second: &Second| {
        let end = |time: Option<Nanos>| time.map_or(f64::NAN, |time| time.0 as f64);
        Band { x: middle(second), low: end(second.min_ns), high: end(second.max_ns) }
    };
    let series = Series {
        band: seconds.iter().map(band).collect(),
        ..Series::new("mean, within shortest and longest", seconds.iter().map(point).collect())
    };
    let means = || seconds.iter().filter_map(|second| second.mean_ns);
    let (low, high) = (means().reduce(f64::min)?, means().reduce(f64::max)?);
    let alternative =
        format!("The mean of a second lies between {} and {}.", Unit::Time.text(low), Unit::Time.text(high));
    let y = Axis::new("mean of each second, and from its shortest to its longest", Unit::Time, Scale::Log);
    (seconds.len() > 1).then(|| Chart { alternative, series: vec![series], ..over_time("Times over time", y) })
}

/// Exchanges answered and lost each second.
pub fn rates(record: &Record) -> Option<Chart> {
    let all = thinned(&record.outcome.as_ref()?.seconds);
    let lengths: Vec<Nanos> = all.iter().map(|second| second.length_ns).collect();
    let seconds = &all[..whole(&lengths)];
    let rate = |second: &Second, count: u64| {
        Point::new(second.at_ns.0 as f64, count as f64 / second.length_ns.as_secs_f64().max(f64::MIN_POSITIVE))
    };
    let line = |name: &str, count: fn(&Second) -> u64| {
        let mut points: Vec<Point> = seconds.iter().map(|second| rate(second, count(second))).collect();
        points.extend(seconds.last().and_then(|last| held(&points, last.at_ns, last.length_ns)));
        Series { line: Line::Steps, ..Series::new(name, points) }
    };
    let answered = line("answered", |second| second.counts.answered);
    let unanswered = |second: &Second| second.counts.unanswered();
    let lost = seconds.iter().any(|second| unanswered(second) > 0);
    let mut series = vec![answered];
    if lost {
        series.push(line("without a timely answer", unanswered));
    }
    let values = || series[0].points.iter().map(|point| point.y);
    let (low, high) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
    let alternative = format!(
        "From {} to {} answered{}.",
        number::rate(low).unwrap_or_default(),
        number::rate(high).unwrap_or_default(),
        if lost { "; some were not" } else { "" }
    );
    let y = Axis::new("exchanges a second", Unit::PerSecond, Scale::Linear).from_zero();
    (seconds.len() > 1).then(|| Chart { alternative, series, ..over_time("Rate over time", y) })
}

/// The bytes that streams carried each interval; in both directions where both were used.
pub fn carried(record: &Record) -> Option<Chart> {
    let stream = record.stream.as_ref()?;
    let ways: Vec<&Throughput> = [Some(stream), stream.back.as_deref()].into_iter().flatten().collect();
    let mut series = Vec::new();
    for way in &ways {
        let name = if way.direction == Direction::Receive { "from the peer" } else { "to the peer" };
        series.push(line(name, &way.intervals));
        let several = 2..=STREAMS;
        if ways.len() == 1 && several.contains(&way.streams.len()) {
            let each = way.streams.iter().enumerate();
            series.extend(each.map(|(number, stream)| line(&format!("stream {}", number + 1), &stream.intervals)));
        }
    }
    series.retain(|series| series.points.len() > 1);
    let values = || series.first().into_iter().flat_map(|series| series.points.iter().map(|point| point.y));
    let (low, high) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
    let alternative = format!(
        "From {} to {} {}.",
        number::bit_rate(low).unwrap_or_default(),
        number::bit_rate(high).unwrap_or_default(),
        series[0].name
    );
    let y = Axis::new("payload a second", Unit::BytesPerSecond, Scale::Linear).from_zero();
    Some(Chart { alternative, series, ..over_time("Throughput over time", y) })
}

fn over_time(title: &str, y: Axis) -> Chart {
    Chart::new(title, Axis::new("time since the start", Unit::Time, Scale::Linear), y)
}

fn middle(at: Nanos, length: Nanos) -> f64 {
    at.0 as f64 + length.0 as f64 / 2.0
}

/// The last value once more at its end: a step has a width.
fn held(points: &[Point], at: Nanos, length: Nanos) -> Option<Point> {
    Some(Point::new(at.0 as f64 + length.0 as f64, points.last()?.y))
}

fn line(name: &str, intervals: &[Interval]) -> Series {
    let counted: Vec<Interval> = intervals.iter().filter(|interval| !interval.omitted).copied().collect();
    let every = counted.len().div_ceil(POINTS).max(1);
    let merged = |chunk: &[Interval]| chunk.iter().copied().reduce(|one, next| one.then(&next));
    let all: Vec<Interval> = counted.chunks(every).filter_map(merged).collect();
    let lengths: Vec<Nanos> = all.iter().map(|interval| interval.length_ns).collect();
    let rate = |interval: &Interval| {
        let rate = per_second(interval.carried.bytes, interval.length_ns)?;
        Some(Point::new(interval.at_ns.0 as f64, rate))
    };
    let whole = &all[..whole(&lengths)];
    let mut points: Vec<Point> = whole.iter().filter_map(rate).collect();
    points.extend(whole.last().and_then(|last| held(&points, last.at_ns, last.length_ns)));
    Series { line: Line::Steps, ..Series::new(name, points) }
}

/// As many seconds as a screen shows; several become one, of which nothing is lost but where within it things were.
fn thinned(seconds: &[Second]) -> Vec<Second> {
    let every = seconds.len().div_ceil(POINTS).max(1);
    let merged = |chunk: &[Second]| chunk.iter().copied().reduce(|one, next| one.then(&next));
    seconds.chunks(every).filter_map(merged).collect()
}

/// The number of whole stretches: all, or all but a short last one.
fn whole(lengths: &[Nanos]) -> usize {
    match lengths {
        [first, .., last] if (last.0 as f64) < first.0 as f64 * WHOLE => lengths.len() - 1,
        _ => lengths.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use measure::event::Counts;

    fn of_seconds(count: u64) -> Record {
        let mut record = fixture::closed();
        let second = |k: u64| Second {
            at_ns: Nanos::secs(k),
            length_ns: Nanos::secs(1),
            counts: Counts { scheduled: 10, answered: 9, lost: 1, ..Counts::default() },
            min_ns: Some(Nanos(1_000)),
            mean_ns: (k != 1).then_some(2_000.0 + k as f64),
            max_ns: Some(Nanos(9_000)),
        };
        record.outcome.as_mut().unwrap().seconds = (0..count).map(second).collect();
        record
    }

    #[test]
    fn a_second_without_answers_breaks_the_line() {
        let chart = times(&of_seconds(4)).unwrap();
        let series = &chart.series[0];
        assert_eq!(series.points.iter().filter(|point| point.y.is_nan()).count(), 1);
        assert_eq!((series.points[2].x, series.points[2].y), (2.5e9, 2_002.0));
        assert_eq!((series.band[0].low, series.band[0].high), (1_000.0, 9_000.0));
    }

    #[test]
    fn rates_are_of_each_second_and_losses_stand_beside() {
        let chart = rates(&of_seconds(4)).unwrap();
        assert_eq!(chart.series.len(), 2);
        assert!(chart.series[0].points.iter().all(|point| point.y == 9.0));
        assert!(chart.series[1].points.iter().all(|point| point.y == 1.0));
    }

    #[test]
    fn a_long_course_is_thinned_and_keeps_its_sums() {
        let chart = rates(&of_seconds(4_096)).unwrap();
        assert!(chart.series[0].points.len() <= POINTS + 1);
        assert!(chart.series[0].points.iter().all(|point| (point.y - 9.0).abs() < 1e-9));
    }

    #[test]
    fn one_second_is_no_course() {
        assert_eq!(times(&of_seconds(1)), None);
        assert_eq!(times(&fixture::stream()), None);
    }

    #[test]
    fn a_stream_is_told_by_what_it_carried() {
        let record = fixture::stream();
        let intervals = &record.stream.as_ref().unwrap().intervals;
        let chart = carried(&record).unwrap();
        let first = chart.series[0].points[0];
        let told = intervals[0].carried.bytes.0 as f64 / intervals[0].length_ns.as_secs_f64();
        assert_eq!(first, Point::new(0.0, told));
    }
}
