//! Charts of a study: the runs of its sides, how far each quantile moved, what an axis does along a sweep.

use std::collections::BTreeMap;

use logbook::record::Record;
use logbook::study::{Comparison, Place, Question, Setting, StudyDocument};
use measure::study::figure::{Figure, Unit as Counted};
use measure::verdict::Warning;

use super::distribution;
use crate::plot::{Axis, Caveats, Chart, Mark, On, Point, Scale, Series, Unit};

/// Curves drawn of each setting at most.
const RUNS: usize = 12;

/// The percentiles of every run, a colour for each side: what differs more between sides than within them is seen.
pub fn runs(study: &StudyDocument) -> Option<Chart> {
    let mut named: Vec<(String, &Record, usize)> = Vec::new();
    for (place, setting) in sides(study) {
        let records = study.trials_of(place).into_iter().filter_map(|trial| trial.record.as_deref());
        for (number, record) in records.take(RUNS).enumerate() {
            // A name once in the legend is enough.
            let name = if number == 0 { setting.name.clone() } else { String::new() };
            named.push((name, record, place as usize));
        }
    }
    distribution::by_colour(&named, "Percentiles of every run")
}

/// The settings that are compared, or that claims name, each by its number.
pub fn sides(study: &StudyDocument) -> impl Iterator<Item = (u32, &Setting)> {
    (0..).zip(&study.settings).filter(|(_, setting)| matches!(setting.at, Place::Side | Place::Measurement))
}

/// The distance of each quantile of the second side from the first's, with intervals.
pub fn shifts(comparison: &Comparison, second: &str) -> Option<Chart> {
    let point = |shift: &logbook::study::Shift| Point {
        interval: Some((shift.low_ns, shift.high_ns)),
        ..Point::new(shift.q, shift.difference_ns)
    };
    let points: Vec<Point> = comparison.shifts.iter().map(point).collect();
    let told = comparison.shifts.iter().map(|shift| {
        let [value, low, high] = [shift.difference_ns, shift.low_ns, shift.high_ns].map(|ns| Unit::Time.text(ns));
        format!("{} {value} ({low} to {high})", measure::unit::quantile_name(shift.q))
    });
    let alternative = told.collect::<Vec<_>>().join(", ");
    let x = Axis::new("percentile", Unit::Quantile, Scale::Tail);
    let y = Axis::new(format!("{second} − A"), Unit::Time, Scale::Linear).from_zero();
    (!points.is_empty()).then(|| Chart {
        alternative,
        series: vec![Series::new("", points)],
        marks: vec![Mark { on: On::Y, at: 0.0, text: "no shift".to_owned() }],
        ..Chart::new("Difference by percentile", x, y)
    })
}

/// The figure of a sweep against its axis: medians over the blocks, with the lowest and the highest trial of each point.
pub fn sweep(study: &StudyDocument) -> Option<Chart> {
    let Question::Sweep { axis, figures, .. } = &study.question else { return None };
    let figure = figures.first()?;
    let points: Vec<(u32, &str, &str, Option<f64>)> = study.settings.iter().filter_map(point_of).collect();
    let numbered = points.iter().all(|(.., number)| number.is_some_and(f64::is_finite));
    let words: Vec<&str> = points.iter().fold(Vec::new(), |mut words, (_, _, value, _)| {
        if !words.contains(value) {
            words.push(value);
        }
        words
    });
    let mut curves: BTreeMap<u32, Series> = BTreeMap::new();
    for (place, setting) in (0..).zip(&study.settings) {
        let Some((series, of, value, number)) = point_of(setting) else { continue };
        let x = if numbered { number } else { words.iter().position(|word| *word == value).map(|place| place as f64) };
        let mut seen: Vec<f64> = study.figures_of(place, *figure).into_iter().flatten().collect();
        seen.sort_unstable_by(f64::total_cmp);
        let (Some(x), Some(low), Some(high)) = (x, seen.first(), seen.last()) else { continue };
        let median = f64::midpoint(seen[(seen.len() - 1) / 2], seen[seen.len() / 2]);
        let curve = curves.entry(series).or_insert_with(|| Series { dots: true, ..Series::new(of, Vec::new()) });
        let interval = (seen.len() > 1).then_some((*low, *high));
        curve.points.push(Point {
            interval,
            of: Some(seen.len() as u64),
            caveats: caveats(study, place),
            ..Point::new(x, median)
        });
    }
    let mut series: Vec<Series> = curves.into_values().collect();
    for curve in &mut series {
        curve.points.sort_by(|left, right| left.x.total_cmp(&right.x));
    }
    let wide = |values: &[f64]| match (values.iter().copied().reduce(f64::min), values.iter().copied().reduce(f64::max))
    {
        (Some(low), Some(high)) => low > 0.0 && high / low >= 8.0,
        _ => false,
    };
    let numbers: Vec<f64> = points.iter().filter_map(|(.., number)| *number).collect();
    let x = if numbered {
        Axis::new(axis.as_str(), counted(axis), if wide(&numbers) { Scale::Log } else { Scale::Linear })
    } else {
        Axis::new(axis.as_str(), Unit::Names(words.into_iter().map(str::to_owned).collect()), Scale::Linear)
    };
    let values: Vec<f64> = series.iter().flat_map(|curve| curve.points.iter().map(|point| point.y)).collect();
    let scale = if wide(&values) { Scale::Log } else { Scale::Linear };
    let mut y = Axis::new(figure.to_string(), unit(*figure), scale);
    y.from_zero = scale == Scale::Linear;
    let alternative = told(&series, &x.unit, &y.unit);
    (!values.is_empty()).then(|| Chart { alternative, series, ..Chart::new(format!("{figure} over {axis}"), x, y) })
}

/// The warnings of a setting's trials that are of its point.
fn caveats(study: &StudyDocument, place: u32) -> Caveats {
    let mut found = Caveats::default();
    for trial in study.trials_of(place) {
        found.incomplete |= trial.failure.is_some();
        for warning in trial.record.iter().flat_map(|record| &record.warnings) {
            match warning {
                Warning::Disturbed { .. } | Warning::Throttled { .. } => found.busy = true,
                Warning::RateNotAchieved { .. } | Warning::TicksMissed { .. } | Warning::BehindSchedule { .. } => {
                    found.pace = true;
                }
                Warning::Lost { .. }
                | Warning::LostOnTheWay { .. }
                | Warning::Refused { .. }
                | Warning::Interrupted
                | Warning::PeerLost { .. } => found.incomplete = true,
                _ => {}
            }
        }
    }
    found
}

fn point_of(setting: &Setting) -> Option<(u32, &str, &str, Option<f64>)> {
    match &setting.at {
        Place::Point { series, of, value, number } => Some((*series, of, value, *number)),
        _ => None,
    }
}

/// The ends of each curve.
fn told(series: &[Series], x: &Unit, y: &Unit) -> String {
    let one = |curve: &Series| {
        let (first, last) = (curve.points.first()?, curve.points.last()?);
        let [from, to] = [first, last].map(|point| format!("{} at {}", y.text(point.y), x.text(point.x)));
        Some(format!("{}: from {from} to {to}.", curve.name))
    };
    series.iter().filter_map(one).collect::<Vec<_>>().join(" ")
}

/// Unit of an axis of that name, as the study's numbers have it.
fn counted(axis: &str) -> Unit {
    match axis {
        "interval" => Unit::Time,
        "size" | "send-buffer" | "receive-buffer" => Unit::Bytes,
        "rate" => Unit::PerSecond,
        _ => Unit::Plain,
    }
}

/// Unit of a figure.
pub fn unit(figure: Figure) -> Unit {
    match figure.unit() {
        Counted::Time => Unit::Time,
        Counted::Share => Unit::Share,
        Counted::Rate => Unit::PerSecond,
        Counted::Bytes => Unit::BytesPerSecond,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn every_run_has_a_curve_and_every_side_a_colour() {
        let study = fixture::comparison();
        let chart = runs(&study).unwrap();
        assert_eq!(chart.series.len(), study.trials.len());
        let names: Vec<&str> =
            chart.series.iter().map(|series| series.name.as_str()).filter(|name| !name.is_empty()).collect();
        assert_eq!(names, ["A", "B"]);
        assert_eq!(chart.series.iter().filter(|series| series.colour == Some(1)).count(), 7);
    }

    #[test]
    fn a_shift_stands_with_its_interval() {
        let study = fixture::comparison();
        let comparison = &study.comparisons[0];
        let chart = shifts(comparison, "B").unwrap();
        let (point, shift) = (&chart.series[0].points[0], &comparison.shifts[0]);
        assert_eq!(
            (point.x, point.y, point.interval),
            (shift.q, shift.difference_ns, Some((shift.low_ns, shift.high_ns)))
        );
    }

    #[test]
    fn a_sweep_is_medians_with_their_outermost_trials() {
        let study = fixture::sweep();
        let chart = sweep(&study).unwrap();
        assert_eq!((chart.x.unit.clone(), chart.x.scale, chart.series.len()), (Unit::Time, Scale::Log, 2));
        let first = &chart.series[0].points[0];
        let mut trials: Vec<f64> = study.figures_of(0, Figure::Quantile(0.5)).into_iter().flatten().collect();
        trials.sort_by(f64::total_cmp);
        assert_eq!((first.x, first.y, first.interval), (1e3, trials[1], Some((trials[0], trials[2]))));
        assert!(chart.series.iter().all(|series| series.points.windows(2).all(|pair| pair[0].x < pair[1].x)));
        assert_eq!(sweep(&fixture::comparison()), None);
    }

    #[test]
    fn a_point_has_the_caveats_of_its_trials() {
        let mut study = fixture::sweep();
        assert!(sweep(&study).unwrap().series[0].points.iter().all(|point| point.caveats == Caveats::default()));
        let trial = study.trials.iter_mut().find(|trial| trial.setting == 0).unwrap();
        trial.record.as_mut().unwrap().warnings.push(Warning::BehindSchedule { share: 0.2 });
        let chart = sweep(&study).unwrap();
        let marked = Caveats { pace: true, ..Caveats::default() };
        assert_eq!(chart.series[0].points.iter().filter(|point| point.caveats == marked).count(), 1);
        let svg = chart.svg("c", crate::plot::Frame::default());
        assert!(svg.contains(">interval not kept<") && !svg.contains(">busy machine<"), "{svg}");
        assert_eq!(svg.matches("class=\"caveat\"").count(), 2, "one beside the point, one in its explanation");
    }

    #[test]
    fn words_of_an_axis_stand_side_by_side() {
        let mut study = fixture::sweep();
        for setting in &mut study.settings {
            if let Place::Point { number, .. } = &mut setting.at {
                *number = None;
            }
        }
        let chart = sweep(&study).unwrap();
        assert!(matches!(&chart.x.unit, Unit::Names(names) if names.len() == 3), "{:?}", chart.x);
    }
}
