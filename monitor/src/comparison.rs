//! Sides of a mark: the time before it and the time after it, of one way, judged as `sonde compare` judges runs.
//!
//! A mark is a change that somebody made, at a time that is known, so that nothing is searched for. Each side is cut into stretches,
//! each of which gives one number: neighbouring requests resemble each other, and are not counted as if each told something new. A stretch is
//! [`STRETCH`] seconds long, or [`APART`] times as long as a second resembles those after it, where that is longer: a latency that wanders
//! by itself differs between any two minutes. The [`SETTLING`] seconds after the mark belong to neither side.

use std::ops::Range;

use measure::comparison::{Compared, Design, Runs, Word, compare};
use measure::span::Span;
use measure::statistics::correlation::effective;

use crate::breakdown::Part;
use crate::history::History;
use crate::view::Row;

/// Seconds of a stretch at the least.
const STRETCH: u64 = 5;
/// The same at the most: what wanders for longer is told from no change.
const LONGEST: u64 = 120;
/// Length of a stretch, as a multiple of the time for which seconds resemble each other.
const APART: f64 = 3.0;
/// Seconds on either side by which that is found.
const EXAMINED: u64 = 600;
/// Stretches of a side at the most.
const STRETCHES: u64 = 12;
/// Seconds after a mark in which what was done takes effect.
const SETTLING: u64 = 2;
/// Stretches of a side without which nothing is said.
const FEWEST: usize = 6;

/// Result of the comparison about a mark.
#[derive(Clone, Debug, PartialEq)]
pub enum Parted {
    /// Both sides have enough: the quantile asked for, and the share that was lost.
    Told(Box<Judged>),
    /// There was too little before the mark; so many seconds are wanted.
    TooLittleBefore(u64),
    /// It wanders by itself for longer than can be told from a change.
    Unsteady,
    /// There will be enough after so many seconds.
    Within(u64),
}

/// Both sides of a mark, compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The quantile, in nanoseconds.
    pub latency: Compared,
    /// The share of the requests that was lost.
    pub loss: Compared,
}

/// The stretches on either side of a change.
struct Sides {
    before: Vec<Range<u64>>,
    after: Vec<Range<u64>>,
}

impl Sides {
    /// The time that ends before second `end`, and that from second `begin` to `now`.
    fn of(history: &History, end: u64, begin: u64, now: u64) -> Result<Self, Parted> {
        let examined = end.saturating_sub(EXAMINED)..end;
        let resembling =
            resemblance(history, examined.start, end).max(resemblance(history, begin, now.min(begin + EXAMINED)));
        let length = ((resembling * APART).ceil() as u64).max(STRETCH);
        if length > LONGEST {
            return Err(Parted::Unsteady);
        }
        let stretch = |from: u64| from..from + length;
        let before: Vec<_> = (1..=STRETCHES).filter_map(|k| end.checked_sub(k * length)).map(stretch).rev().collect();
        let after: Vec<_> =
            (0..STRETCHES).map(|k| begin + k * length).filter(|from| from + length <= now).map(stretch).collect();
        let is_answered = |of: &&Range<u64>| history.between(of.start, of.end).counts.messages_sent() > 0;
        if before.iter().filter(is_answered).count() < FEWEST {
            return Err(Parted::TooLittleBefore(length * FEWEST as u64));
        }
        if after.len() < FEWEST {
            return Err(Parted::Within((begin + FEWEST as u64 * length).saturating_sub(now).max(1)));
        }
        Ok(Self { before, after })
    }

    /// Values of `of` for each stretch.
    fn runs(&self, of: impl Fn(&Range<u64>) -> Option<f64>) -> Runs {
        Runs { first: self.before.iter().map(&of).collect(), second: self.after.iter().map(&of).collect() }
    }

    /// The distribution of each stretch.
    fn spans(&self, history: &History) -> [Vec<Span>; 2] {
        [&self.before, &self.after]
            .map(|stretches| stretches.iter().map(|of| history.between(of.start, of.end)).collect())
    }
}

/// Comparison of the sides of the mark at second `mark`, where seconds before `now` are known to the end.
pub fn parted(history: &History, mark: u64, now: u64, q: f64) -> Parted {
    let sides = match Sides::of(history, mark, mark + SETTLING, now) {
        Ok(sides) => sides,
        Err(why) => return why,
    };
    let [before, after] = sides.spans(history);
    let runs = |of: &dyn Fn(&Span) -> Option<f64>| Runs {
        first: before.iter().map(of).collect(),
        second: after.iter().map(of).collect(),
    };
    let latency = runs(&|span| span.times.quantile(q).map(|nanos| nanos as f64));
    let loss = runs(&Span::lost_share);
    let mut compared = compare(&[latency, loss], Design::Apart).into_iter();
    match (compared.next(), compared.next()) {
        (Some(latency), Some(loss)) => Parted::Told(Box::new(Judged { latency, loss })),
        _ => Parted::TooLittleBefore(0),
    }
}

/// Parts of the round trip that took longer or shorter after a change at second `mark` of a way, the one that moved most
/// first, and those of which no difference was shown. All parts together call one different with a probability of at most 5
/// % where none is. `None` where there is too little to say.
pub fn moved(row: &Row, mark: u64, now: u64) -> Option<Vec<(Part, Compared)>> {
    moved_between(row, mark, mark + SETTLING, now)
}

/// The same of a change that began after second `end` and before second `begin`.
pub fn moved_between(row: &Row, end: u64, begin: u64, now: u64) -> Option<Vec<(Part, Compared)>> {
    let sides = Sides::of(&row.history, end, begin, now).ok()?;
    let runs = Part::ALL.map(|part| sides.runs(|of| row.breakdown.median(part, of.start, of.end)));
    let mut compared: Vec<_> = Part::ALL.into_iter().zip(compare(&runs, Design::Apart)).collect();
    compared.retain(|(_, compared)| compared.word != Word::TooFewRuns);
    let size = |compared: &Compared| {
        let is_shown = matches!(compared.word, Word::More | Word::Less);
        compared.difference.filter(|_| is_shown).map_or(0.0, |difference| difference.value.abs())
    };
    compared.sort_by(|(_, one), (_, other)| size(other).total_cmp(&size(one)));
    (!compared.is_empty()).then_some(compared)
}

/// Number of seconds of those from `from` to before `to` that tell as much as one that resembles no other, at least 1: by
/// the medians.
fn resemblance(history: &History, from: u64, to: u64) -> f64 {
    let medians: Vec<f64> =
        history.seconds(from, to).filter_map(|span| Some((span.times.quantile(0.5)? as f64).ln())).collect();
    effective(medians.len(), |k| medians[k]).map_or(1.0, |worth| medians.len() as f64 / worth.size)
}

#[cfg(test)]
mod tests {
    use measure::event::Counts;
    use measure::unit::Nanos;

    use test_case::test_case;

    use super::*;
    use measure::span::Distribution;

    /// Ten requests a second of about `level` ns, of which `lost` are lost: in buckets of three digits, as seconds come.
    fn second(rng: &mut fastrand::Rng, level: f64, lost: u64) -> Span {
        let mut times = Distribution::default();
        (0..10 - lost).for_each(|_| times.put(bucket((level * (1.0 + 0.2 * rng.f64())) as u64), 1));
        let counts = Counts { scheduled: 10, answered: 10 - lost, lost, ..Counts::default() };
        Span { counts, max: times.quantile(1.0).map(Nanos), times, ..Span::default() }
    }

    /// The middle of the bucket of three digits, whose leading bits are 11.
    fn bucket(nanos: u64) -> u64 {
        let shift = (u64::BITS - nanos.leading_zeros()).saturating_sub(11);
        ((nanos >> shift) << shift) + ((1 << shift) >> 1)
    }

    /// Nearly normal: the sum of twelve.
    fn normal(rng: &mut fastrand::Rng) -> f64 {
        (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0
    }

    fn told(history: &History, mark: u64, now: u64) -> (Word, Word) {
        match parted(history, mark, now, 0.5) {
            Parted::Told(judged) => (judged.latency.word, judged.loss.word),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_was_planted_is_told_with_its_size() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut history = History::default();
        for at in 0..140 {
            let level = if at < 70 { 100_000.0 } else { 130_000.0 };
            history.push(at, &second(&mut rng, level, u64::from(at >= 70)));
        }
        let Parted::Told(judged) = parted(&history, 70, 140, 0.5) else { panic!("both sides are there") };
        let Judged { latency, loss } = *judged;
        assert_eq!((latency.word, loss.word), (Word::More, Word::More));
        let change = latency.change.unwrap();
        assert!((0.28..0.32).contains(&change.value), "{change:?}");
        assert!(change.low.unwrap() < 0.3 && change.high.unwrap() > 0.3, "{change:?}");
    }

    #[test]
    fn too_little_is_said_to_be() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut history = History::default();
        assert_eq!(parted(&history, 0, 0, 0.5), Parted::TooLittleBefore(30));
        (0..80).for_each(|at| history.push(at, &second(&mut rng, 1e5, 0)));
        assert_eq!(parted(&history, 20, 80, 0.5), Parted::TooLittleBefore(30));
        assert_eq!(parted(&history, 70, 80, 0.5), Parted::Within(22));
        assert_eq!(told(&history, 40, 80), (Word::NotShown, Word::NotShown));
    }

    /// False alarms at 400 marks at which nothing was changed, in worlds where each second resembles the one before it by
    /// `memory`: the marks that showed a difference in latency or loss, and those that were judged at all.
    fn alarms(memory: f64, mark: u64, now: u64) -> (usize, usize) {
        let outcomes = (0..400).filter_map(|seed| {
            let mut rng = fastrand::Rng::with_seed(seed);
            let (mut history, mut level) = (History::default(), 0.0);
            for at in 0..now {
                level = memory * level + normal(&mut rng) * 0.05;
                let lost = u64::from(rng.f64() < 0.05);
                history.push(at, &second(&mut rng, 1e5 * f64::exp(level), lost));
            }
            match parted(&history, mark, now, 0.5) {
                Parted::Told(judged) => Some((judged.latency.word, judged.loss.word)),
                _ => None,
            }
        });
        let words: Vec<_> = outcomes.collect();
        (words.iter().filter(|words| **words != (Word::NotShown, Word::NotShown)).count(), words.len())
    }

    #[test_case(0.0, 65, 130, 300)]
    #[test_case(0.5, 65, 130, 100)]
    #[test_case(0.5, 400, 800, 300)]
    #[test_case(0.8, 65, 130, 0; "too short to tell, mostly")]
    #[test_case(0.8, 400, 800, 300)]
    #[test_case(0.9, 400, 800, 100)]
    #[test_case(0.95, 400, 800, 0; "for longer than a stretch")]
    fn false_alarms_are_as_rare_as_promised(memory: f64, mark: u64, now: u64, judged_at_least: usize) {
        let (alarms, judged) = alarms(memory, mark, now);
        assert!(judged >= judged_at_least, "{judged} of 400");
        // 20 of 400 are expected at 5 %, a probability of 0.1 % has more than 35.
        assert!(alarms <= 35, "{alarms} of 400");
    }
}
