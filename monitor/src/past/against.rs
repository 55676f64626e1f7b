//! Two stretches of time, of one cell or of two, judged as `sonde compare` judges runs.
//!
//! Each side is cut into blocks, each of which gives one number for each figure: neighbouring minutes resemble each other, and are not counted as if
//! each told something new. A block is [`APART`] times as long as an interval resembles those after it, and at least so long that a side has no
//! more than [`BLOCKS`]. Minutes in which the host that asked was late itself are left out: they say nothing of the network.

use std::fmt::Write;

use anyhow::Result;
use jiff::tz::TimeZone;
use logbook::moment::Moment;
use logbook::monitor::talk::Over;
use measure::comparison::{Compared, Design, Runs, compare};
use measure::span::Span;
use measure::statistics::correlation::effective;
use report::number::{count, time};
use serde::Serialize;

use super::document::{moment, written};
use super::table::{clock, named};
use super::time::Stretch;
use super::{Told, measured};
use crate::failure::Failure;
use crate::store::{Cell, Level, Store, sum};
use crate::words::{change, difference, percentile_name};

/// Length of a block, as a multiple of the number of intervals that resemble each other.
const APART: f64 = 3.0;
/// Blocks of a side at the most.
const BLOCKS: usize = 48;
/// Blocks of a side without which nothing is said.
const FEWEST: usize = 6;
/// Percentiles that are compared, beside the share that was lost.
const QUANTILES: [f64; 2] = [0.5, 0.99];

/// One side as it was asked for.
type Side<'a> = (&'a String, &'a String, Stretch);

/// Verdict on two stretches.
#[derive(Debug, PartialEq)]
enum Judged {
    /// Percentiles in nanoseconds, and the share that was lost; intervals of a block.
    Told { quantiles: Vec<Compared>, loss: Compared, block: usize },
    /// A side has so few intervals.
    TooFew([usize; 2]),
    /// It varies by itself for so many intervals that no side has enough blocks.
    Unsteady(usize),
}

/// Compares two stretches and tells it.
///
/// # Errors
/// Errors of the store; nothing is kept of a side.
pub fn told(
    store: &mut dyn Store,
    sides: [Side<'_>; 2],
    over: Option<Over>,
    json: bool,
    zone: &TimeZone,
) -> Result<Told> {
    let cells = pair(store, &sides, over)?;
    let level = level(store, &cells, &sides)?;
    let mut spans = Vec::new();
    let mut left_out = 0;
    for (cell, (_, _, stretch)) in cells.iter().zip(&sides) {
        let mut rows = store.history(cell, level, stretch.from, stretch.to).map_err(Failure::from)?;
        let all = rows.len();
        rows.retain(|(_, span)| !level.is_disturbed(span));
        left_out += all - rows.len();
        spans.push(rows.into_iter().map(|(_, span)| span).collect::<Vec<Span>>());
    }
    let judged = judged([&spans[0], &spans[1]]);
    let told =
        Comparison { cells: &cells, stretches: [sides[0].2, sides[1].2], level, left_out, judged: &judged, zone };
    Ok((if json { told.json() } else { told.text() }, matches!(judged, Judged::Told { .. })))
}

/// The cell of each side: by the one way that both were asked in.
fn pair(store: &mut dyn Store, sides: &[Side<'_>; 2], over: Option<Over>) -> Result<[Cell; 2]> {
    let [(a, b, _), (c, d, _)] = sides;
    let [first, second] = [measured(store, a, b, over)?, measured(store, c, d, over)?];
    let both = |cell: &&Cell| second.iter().any(|other| other.over == cell.over);
    let mut shared: Vec<&Cell> = first.iter().filter(both).collect();
    // UDP says most: it has the direction of losses.
    shared.sort_by_key(|cell| cell.over);
    let one = shared.first().ok_or_else(|| {
        Failure::new("the two sides were not measured by the same protocol", "`sonde history` lists what was measured")
    })?;
    let other = second.iter().find(|other| other.over == one.over).unwrap_or(one);
    Ok([(*one).clone(), other.clone()])
}

/// Minutes, where both sides have them; else hours. A day is too long to tell anything by.
fn level(store: &mut dyn Store, cells: &[Cell; 2], sides: &[Side<'_>; 2]) -> Result<Level> {
    for (cell, (_, _, stretch)) in cells.iter().zip(sides) {
        let minutes = store.history(cell, Level::Minute, stretch.from, stretch.to).map_err(Failure::from)?.len() as u64;
        let hours = store.history(cell, Level::Hour, stretch.from, stretch.to).map_err(Failure::from)?.len() as u64;
        // Minutes that are removed are in hours still.
        if minutes < hours.saturating_sub(1) * 30 {
            return Ok(Level::Hour);
        }
    }
    Ok(Level::Minute)
}

fn judged(sides: [&[Span]; 2]) -> Judged {
    let lengths = sides.map(<[Span]>::len);
    if lengths.iter().any(|length| *length < FEWEST) {
        return Judged::TooFew(lengths);
    }
    let resembling = resemblance(sides[0]).max(resemblance(sides[1]));
    let longest = lengths[0].max(lengths[1]);
    let block = ((resembling * APART).ceil() as usize).max(longest.div_ceil(BLOCKS)).max(1);
    if lengths.iter().any(|length| length / block < FEWEST) {
        return Judged::Unsteady(block);
    }
    let blocks = sides.map(|spans| {
        spans.chunks_exact(block).map(|chunk| sum(chunk.iter().cloned()).unwrap_or_default()).collect::<Vec<Span>>()
    });
    let figure = |of: &dyn Fn(&Span) -> Option<f64>| Runs {
        first: blocks[0].iter().map(of).collect(),
        second: blocks[1].iter().map(of).collect(),
    };
    let mut figures: Vec<Runs> =
        QUANTILES.iter().map(|q| figure(&|span| span.times.printed(*q).map(|(nanos, _)| nanos as f64))).collect();
    figures.push(figure(&Span::lost_share));
    let mut quantiles = compare(&figures, Design::Apart);
    match quantiles.pop() {
        Some(loss) => Judged::Told { quantiles, loss, block },
        None => Judged::TooFew(lengths),
    }
}

/// Number of intervals that tell as much as one that resembles no other, at least 1: by the medians.
fn resemblance(spans: &[Span]) -> f64 {
    let medians: Vec<f64> = spans.iter().filter_map(|span| Some((span.times.quantile(0.5)? as f64).ln())).collect();
    effective(medians.len(), |k| medians[k]).map_or(1.0, |worth| medians.len() as f64 / worth.size)
}

/// Two stretches and their verdict.
struct Comparison<'a> {
    cells: &'a [Cell; 2],
    stretches: [Stretch; 2],
    level: Level,
    left_out: usize,
    judged: &'a Judged,
    zone: &'a TimeZone,
}

#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    version: u32,
    first: Part<'a>,
    second: Part<'a>,
    interval_s: u64,
    /// Intervals in which the host that asked was late itself.
    disturbed_left_out: usize,
    /// Difference of the second side from the first; absent: nothing can be said.
    #[serde(skip_serializing_if = "Option::is_none")]
    compared: Option<Figures<'a>>,
    /// Reason for which nothing can be said.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Serialize)]
struct Part<'a> {
    #[serde(flatten)]
    cell: &'a Cell,
    since: Option<Moment>,
    until: Option<Moment>,
}

#[derive(Serialize)]
struct Figures<'a> {
    /// Intervals of a block, each of which counts once.
    block: usize,
    p50_ns: Option<&'a Compared>,
    p99_ns: Option<&'a Compared>,
    loss: &'a Compared,
}

impl Comparison<'_> {
    fn text(&self) -> String {
        let [first, second] = [0, 1].map(|at| self.side(at));
        let mut text = match self.judged {
            Judged::Told { quantiles, loss, block } => {
                // Writing to a string does not fail.
                let mut text = String::new();
                for (q, of) in QUANTILES.iter().zip(quantiles) {
                    let medians = of.first.and_then(time).zip(of.second.and_then(time));
                    let medians = medians.map_or_else(String::new, |(first, second)| format!(" ({first} → {second})"));
                    let _written = writeln!(text, "{}{medians}", change(&percentile_name(*q), of));
                }
                let _written = writeln!(text, "{}\n  {second}\n  against {first}", difference(loss));
                let (a, b) = loss.runs;
                let length = *block as u64 * self.level.seconds() / 60;
                text + &format!("  {a}+{b} blocks of {} each\n", count(length, "minute", "minutes"))
            }
            other => format!("{}\n  {second}\n  against {first}\n", self.reason(other)),
        };
        if self.left_out > 0 {
            let many = count(self.left_out as u64, "interval", "intervals");
            let _written = writeln!(text, "  left out: {many} in which the host that asked was busy itself");
        }
        if self.differ_in_time_of_day() {
            text += "! Different times of day: a daily rhythm shows as a difference too → compare whole days\n";
        }
        text
    }

    fn side(&self, at: usize) -> String {
        let Stretch { from, to } = self.stretches[at];
        format!("{}, {} to {}", named(&self.cells[at]), clock(from, self.zone), clock(to, self.zone))
    }

    /// Reason for which nothing can be said; empty where the stretches are judged.
    fn reason(&self, judged: &Judged) -> String {
        let unit = if self.level == Level::Minute { "minutes" } else { "hours" };
        match judged {
            Judged::TooFew([a, b]) => format!("Too little to compare: {a} and {b} {unit}, {FEWEST} of each are needed"),
            Judged::Unsteady(block) => {
                format!("Not comparable: it varies by itself; {} {unit} of each side are needed", block * FEWEST)
            }
            Judged::Told { .. } => String::new(),
        }
    }

    /// Returns true where a rhythm of days would make a difference: a side is shorter than a day, and they begin at
    /// different times of it.
    fn differ_in_time_of_day(&self) -> bool {
        let day = Level::Day.seconds();
        let [one, other] = self.stretches;
        let is_short = |of: Stretch| of.to - of.from < day - 3_600;
        let apart = one.from.abs_diff(other.from) % day;
        // An hour's difference is that of a clock that was set for summer.
        (is_short(one) || is_short(other)) && apart.min(day - apart) > 3_600 + 900
    }

    fn json(&self) -> String {
        let part = |at: usize| Part {
            cell: &self.cells[at],
            since: moment(self.stretches[at].from, self.zone),
            until: moment(self.stretches[at].to, self.zone),
        };
        let (compared, reason) = match self.judged {
            Judged::Told { quantiles, loss, block } => {
                let figures = Figures { block: *block, p50_ns: quantiles.first(), p99_ns: quantiles.get(1), loss };
                (Some(figures), None)
            }
            other => (None, Some(self.reason(other))),
        };
        written(&Document {
            format: "sonde-history-comparison",
            version: 1,
            first: part(0),
            second: part(1),
            interval_s: self.level.seconds(),
            disturbed_left_out: self.left_out,
            compared,
            reason,
        })
    }
}

#[cfg(test)]
mod tests {
    use measure::comparison::Word;
    use measure::event::Fate;
    use measure::unit::Nanos;
    use test_case::test_case;

    use super::*;

    /// Nearly normal: the sum of twelve.
    fn normal(rng: &mut fastrand::Rng) -> f64 {
        (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0
    }

    /// `Some(true)` where any figure differs; `None` where nothing was said.
    fn differs(judged: &Judged) -> Option<bool> {
        match judged {
            Judged::Told { quantiles, loss, .. } => {
                Some(quantiles.iter().chain([loss]).any(|of| matches!(of.word, Word::More | Word::Less)))
            }
            _ => None,
        }
    }

    /// Minutes of 20 requests about `level` ns, of which each is lost with probability `loss`; each minute's level resembles that before it by `memory`.
    fn minutes(rng: &mut fastrand::Rng, count: usize, level: f64, memory: f64, loss: f64) -> Vec<Span> {
        let mut wander = 0.0;
        let innovation = 0.05 * (1.0 - memory * memory).sqrt();
        let minute = |_| {
            wander = memory * wander + innovation * normal(rng);
            let mut span = Span::default();
            for _ in 0..20 {
                if rng.f64() < loss {
                    span.counts.end(Fate::Lost);
                } else {
                    span.answer(Nanos((level * f64::exp(wander) * (0.9 + 0.2 * rng.f64())) as u64));
                }
            }
            span
        };
        (0..count).map(minute).collect()
    }

    #[test]
    fn what_was_planted_is_told_with_its_size() {
        let mut rng = fastrand::Rng::with_seed(3);
        let before = minutes(&mut rng, 1_440, 100_000.0, 0.5, 0.001);
        let after = minutes(&mut rng, 1_440, 120_000.0, 0.5, 0.02);
        let Judged::Told { quantiles, loss, block } = judged([&before, &after]) else { panic!("enough of both") };
        assert_eq!(block, 30, "48 blocks of a day");
        assert_eq!((quantiles[0].word, quantiles[1].word, loss.word), (Word::More, Word::TooFewRuns, Word::More));
        let change = quantiles[0].change.unwrap();
        assert!(change.low.unwrap() < 0.2 && change.high.unwrap() > 0.2, "{change:?}");
        assert!((0.18..0.22).contains(&change.value), "{change:?}");
        assert!((loss.difference.unwrap().value - 0.019).abs() < 0.004, "{loss:?}");
    }

    #[test]
    fn too_little_is_said_to_be() {
        let mut rng = fastrand::Rng::with_seed(3);
        let some = minutes(&mut rng, 5, 1e5, 0.0, 0.0);
        assert_eq!(judged([&some, &some]), Judged::TooFew([5, 5]));
        // Times that rise by 1 % a minute have no level.
        let rising: Vec<Span> = (0..120).flat_map(|k| minutes(&mut rng, 1, 1e5 * 1.01_f64.powi(k), 0.0, 0.0)).collect();
        assert!(matches!(judged([&rising, &rising]), Judged::Unsteady(_)));
    }

    #[test_case(0.0, 60)]
    #[test_case(0.5, 300)]
    #[test_case(0.9, 720)]
    fn false_alarms_are_as_rare_as_promised(memory: f64, count: usize) {
        let (mut alarms, mut told) = (0, 0);
        for seed in 0..100 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let [one, other] = [0, 1].map(|_| minutes(&mut rng, count, 1e5, memory, 0.01));
            if let Some(differs) = differs(&judged([&one, &other])) {
                told += 1;
                alarms += usize::from(differs);
            }
        }
        assert!(told >= 80, "{told} of 100");
        // 5 of 100 are expected at 5 %; a probability of 0.1 % has more than 13.
        assert!(alarms <= 13, "{alarms} of {told}");
    }
}
