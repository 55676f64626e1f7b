//! The causes of a round trip as a chart: what each is worth, named or not.

use logbook::study::StudyDocument;
use measure::why::{Cause, Examined};

use crate::plot::{Axis, Bar, Chart, Line, Mark, On, Point, Scale, Series, Unit};

/// Half of a bar, where from one to the next is 1.
const HALF: f64 = 0.32;

/// A bar for each cause that is named, and a dot with its interval for every one that was measured.
pub fn causes(study: &StudyDocument) -> Option<Chart> {
    let found = study.explanation.as_ref()?;
    let measured: Vec<&Examined> = found.causes.iter().filter(|cause| cause.takes.is_some()).collect();
    let series = |name: &str, named: bool, colour: usize| {
        let points = measured.iter().enumerate().filter(|(_, cause)| cause.is_established() == named);
        let points = points.filter_map(|(place, cause)| point(place, cause)).collect();
        Series { line: Line::None, dots: true, colour: Some(colour), ..Series::new(name, points) }
    };
    let named = series("named", true, 1);
    let bar = |point: &Point| Bar { from: point.x - HALF, to: point.x + HALF, height: point.y };
    let bars = named.points.iter().map(bar).collect();
    let told = measured.iter().filter_map(|cause| {
        let takes = Unit::Time.text(cause.takes?.value);
        let doubt = if cause.is_established() { "" } else { ", not established" };
        Some(format!("{} {takes}{doubt}", crate::study::why::name(cause.cause)))
    });
    let alternative = format!("Effect of each cause: {}.", told.collect::<Vec<_>>().join("; "));
    let names = measured.iter().map(|cause| short(cause.cause).to_owned()).collect();
    let x = Axis::new("", Unit::Names(names), Scale::Linear);
    let y = Axis::new("effect (time saved)", Unit::Time, Scale::Linear).from_zero();
    let series: Vec<Series> = [named, series("not established", false, 2)].into_iter().collect();
    let series: Vec<Series> = series.into_iter().filter(|series| !series.points.is_empty()).collect();
    (!series.is_empty()).then(|| Chart {
        alternative,
        series,
        bars,
        marks: vec![Mark { on: On::Y, at: 0.0, text: String::new() }],
        ..Chart::new("Effect of each cause", x, y)
    })
}

fn point(place: usize, cause: &Examined) -> Option<Point> {
    let takes = cause.takes?;
    Some(Point { interval: takes.low.zip(takes.high), ..Point::new(place as f64, takes.value) })
}

/// A cause in as few letters as a label has room for.
fn short(cause: Cause) -> &'static str {
    match cause {
        Cause::SleepPacing => "sleep pacing",
        Cause::OurWakeUp => "local wake-up",
        Cause::PeerWakeUp => "peer's wake-up",
        Cause::ColdPath => "the interval",
        Cause::PeerHolds => "peer holds",
        Cause::PeerCpuBusy => "peer's CPU busy",
    }
}
