//! What a mark parts: the minute before it and the minute after it, of one way, judged as `sonde compare` judges runs.
//!
//! A mark is a change that somebody made, at a time that is known, so that nothing is searched for. Each side is cut into stretches of
//! [`STRETCH`] seconds, each of which gives one number: neighbouring requests resemble each other, and are not counted as if each told
//! something new. What lies within [`SETTLING`] seconds after the mark belongs to neither side.

use measure::comparison::{Compared, Design, Runs, compare};

use crate::history::{History, Span};

/// Seconds of a stretch.
pub const STRETCH: u64 = 5;
/// Stretches of a side at the most: a minute.
pub const STRETCHES: u64 = 12;
/// Seconds after a mark in which what was done takes effect.
pub const SETTLING: u64 = 2;
/// Stretches of a side without which nothing is said.
pub const FEWEST: usize = 6;

/// What was found about a mark.
#[derive(Clone, Debug, PartialEq)]
pub enum Parted {
    /// Both sides have enough: the quantile asked for, and the share that was lost.
    Told(Box<Judged>),
    /// There was too little before the mark.
    TooLittleBefore,
    /// There will be enough after so many seconds.
    Within(u64),
}

/// What both sides of a mark say.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Of the quantile, in nanoseconds.
    pub latency: Compared,
    /// Of the share of the requests that was lost.
    pub loss: Compared,
}

/// What the mark at second `mark` parts, where seconds before `now` are known to the end.
pub fn parted(history: &History, mark: u64, now: u64, q: f64) -> Parted {
    let stretch = |from: u64| history.between(from, from + STRETCH);
    let before: Vec<Span> = (1..=STRETCHES).filter_map(|k| mark.checked_sub(k * STRETCH)).map(stretch).rev().collect();
    let begin = mark + SETTLING;
    let after: Vec<Span> =
        (0..STRETCHES).map(|k| begin + k * STRETCH).filter(|from| from + STRETCH <= now).map(stretch).collect();
    if answered(&before) < FEWEST {
        return Parted::TooLittleBefore;
    }
    if after.len() < FEWEST {
        return Parted::Within((begin + FEWEST as u64 * STRETCH).saturating_sub(now).max(1));
    }
    let figure = |of: &dyn Fn(&Span) -> Option<f64>| Runs {
        first: before.iter().map(of).collect(),
        second: after.iter().map(of).collect(),
    };
    let latency = figure(&|span| span.times.quantile(q).map(|nanos| nanos as f64));
    let loss = figure(&Span::lost_share);
    let mut compared = compare(&[latency, loss], Design::Apart).into_iter();
    match (compared.next(), compared.next()) {
        (Some(latency), Some(loss)) => Parted::Told(Box::new(Judged { latency, loss })),
        _ => Parted::TooLittleBefore,
    }
}

fn answered(stretches: &[Span]) -> usize {
    stretches.iter().filter(|span| span.counts.messages_sent() > 0).count()
}

#[cfg(test)]
mod tests {
    use measure::comparison::Word;
    use measure::event::Counts;
    use measure::unit::Nanos;

    use super::*;
    use crate::history::Distribution;

    /// Ten requests a second of about `level` ns, of which `lost` are lost.
    fn second(rng: &mut fastrand::Rng, level: f64, lost: u64) -> Span {
        let mut times = Distribution::default();
        (0..10 - lost).for_each(|_| times.put((level * (1.0 + 0.2 * rng.f64())) as u64, 1));
        let counts = Counts { scheduled: 10, answered: 10 - lost, lost, ..Counts::default() };
        Span { counts, max: times.quantile(1.0).map(Nanos), times }
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
        assert_eq!(parted(&history, 0, 0, 0.5), Parted::TooLittleBefore);
        (0..80).for_each(|at| history.push(at, &second(&mut rng, 1e5, 0)));
        assert_eq!(parted(&history, 20, 80, 0.5), Parted::TooLittleBefore);
        assert_eq!(parted(&history, 70, 80, 0.5), Parted::Within(22));
        assert_eq!(told(&history, 40, 80), (Word::NotShown, Word::NotShown));
    }

    /// Where nothing was changed, in at most as many of 400 as 5 % allow, that two figures share. Also where each second resembles the one
    /// before it (autocorrelation 0.5), as long as stretches are longer than that lasts.
    #[test]
    fn false_alarms_are_as_rare_as_promised() {
        for memory in [0.0, 0.5] {
            let alarms = (0..400).filter(|seed| {
                let mut rng = fastrand::Rng::with_seed(*seed);
                let (mut history, mut level) = (History::default(), 0.0);
                for at in 0..130 {
                    level = memory * level + normal(&mut rng) * 0.05;
                    let lost = u64::from(rng.f64() < 0.05);
                    history.push(at, &second(&mut rng, 1e5 * f64::exp(level), lost));
                }
                told(&history, 65, 130) != (Word::NotShown, Word::NotShown)
            });
            // 20 are expected at 5 %; more than 35 have a probability of 0.1 %.
            let alarms = alarms.count();
            assert!(alarms <= 35, "{alarms} of 400 with an autocorrelation of {memory}");
        }
    }
}
