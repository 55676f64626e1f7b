//! Evidence for causes: where the time goes at each interval, and the round trip at every combination of switches.

use logbook::study::{Place, StudyDocument};
use measure::outcome::Split;
use measure::study::figure::Figure;
use measure::study::moves;
use measure::study::spread::Spread;
use measure::unit::Nanos;
use measure::why::Cause;

use super::{Asked, absent, time};
use crate::layout::{Page, Piece, Tone};
use crate::number;

/// A part of a round trip and where a split has it.
type Part = (&'static str, fn(&Split) -> Option<Nanos>);

/// Parts of a round trip, in the order in which they pass.
const PARTS: [Part; 6] = [
    ("send", |split| {
        Some(Nanos(split.send_to_sched_ns?.0.saturating_add(split.sched_to_driver_ns.unwrap_or_default().0)))
    }),
    ("path", |split| split.path_ns.or(split.outside_ns)),
    ("peer wake-up", |split| split.peer_wake_up_ns),
    ("peer holds", |split| split.peer_hold_ns),
    ("peer send", |split| split.peer_send_ns),
    ("wake-up", |split| split.wake_up_ns),
];
const MEDIAN: Figure = Figure::Quantile(0.5);

/// A row for each interval: the round trip and its parts.
pub fn intervals(page: &mut Page, study: &StudyDocument) {
    let places = study.settings.iter().map(|setting| &setting.at).enumerate();
    let points: Vec<(u32, f64)> = places
        .filter_map(|(setting, at)| match at {
            Place::Point { number: Some(number), .. } => Some((u32::try_from(setting).ok()?, *number)),
            _ => None,
        })
        .collect();
    if points.is_empty() {
        return;
    }
    page.line(0, &[Piece::new("time breakdown by interval", Tone::Strong)]);
    // Where the peer has no timestamps, the path and its own time are one number.
    let path = |record: &logbook::record::Record| Some(record.outcome.as_ref()?.split.as_ref()?.path_ns?.0 as f64);
    let knows_path = points.iter().any(|(setting, _)| study.numbers_of(*setting, &path).iter().any(Option::is_some));
    let names = PARTS.map(|(name, _)| if name == "path" && !knows_path { "path and peer" } else { name });
    let head = ["interval", "p50"].into_iter().chain(names);
    let mut rows = vec![head.map(|cell| Piece::new(cell, Tone::Faint)).collect::<Vec<_>>()];
    let median = |numbers: Vec<Option<f64>>| Spread::of(&numbers).map_or_else(absent, |spread| time(spread.median));
    for (setting, interval) in points {
        let name = number::short_time(interval).filter(|_| interval > 0.0).unwrap_or_else(|| "no pause".to_owned());
        let mut row = vec![Piece::new(name, Tone::Strong), Piece::from(median(study.figures_of(setting, MEDIAN)))];
        row.extend(PARTS.iter().map(|(_, part)| {
            let of = |record: &logbook::record::Record| {
                part(record.outcome.as_ref()?.split.as_ref()?).map(|time| time.0 as f64)
            };
            Piece::from(median(study.numbers_of(setting, &of)))
        }));
        rows.push(row);
    }
    page.table(&rows);
    page.gap();
}

/// A row for each combination of switches.
pub fn corners(page: &mut Page, study: &StudyDocument, asked: &Asked<'_>) {
    if asked.switches.is_empty() {
        return;
    }
    let title = format!("every combination of switches at one request per {}", asked.interval);
    page.paragraph(0, &Piece::default(), 0, &title);
    let ends = if study.blocks >= 6 { "95 % interval" } else { "min … max" };
    let mut rows = vec![["spinning", "p50", ends].map(|cell| Piece::new(cell, Tone::Faint)).to_vec()];
    for moved in moves::corners(asked.switches.len()) {
        let setting = study.setting_at(&Place::Corner { moved });
        let spread = setting.and_then(|setting| Spread::of(&study.figures_of(setting, MEDIAN)));
        let told = spread.map_or_else(absent, |spread| time(spread.median));
        let around = spread.map_or_else(absent, |spread| format!("{} … {}", time(spread.low), time(spread.high)));
        rows.push(vec![Piece::new(switches(asked, moved), Tone::Strong), told.into(), around.into()]);
    }
    page.table(&rows);
}

/// The parts that spin at a corner, by the switches' names.
fn switches(asked: &Asked<'_>, moved: moves::Corner) -> String {
    let word = |(bit, cause): (usize, &Cause)| match cause {
        _ if moved & 1 << bit == 0 => None,
        Cause::SleepPacing => Some("pacing"),
        Cause::OurWakeUp => Some("wait"),
        Cause::PeerWakeUp => Some("peer"),
        _ => None,
    };
    let spin: Vec<&str> = asked.switches.iter().enumerate().filter_map(word).collect();
    if spin.is_empty() { "nothing".to_owned() } else { spin.join(", ") }
}
