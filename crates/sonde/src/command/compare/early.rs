//! A comparison that may end early: which can, how its trials are made, and when it is settled.
//!
//! Its trials are shorter than usual and there are more of them, so that it takes no longer than a comparison that is judged once,
//! and half as long where the first look settles it.

use logbook::study::{ComparedFigure, StudyDocument, ThresholdHeld};
use measure::comparison::{LOOKS, STRETCH, Word};
use measure::study::figure::Figure;
use measure::study::lengths::{self, Wish};
use measure::study::threshold::Held;
use measure::unit::Nanos;

use crate::command::compare::judge::{self, Asked};
use crate::command::study::trials::{self, Aim, FEWEST, Planned, Stretches};
use crate::command::study::words::Words;
use crate::failure::Failure;

/// The plan of such a comparison; `None` where it would take longer than one that is judged once, of `runs` runs whose trials are as
/// long as `aim` has them: a length that was said, a stream, or so few exchanges a second that shorter trials would not resolve the
/// percentiles that are asked for.
///
/// # Errors
/// A side that its command would refuse.
pub fn plan(
    sides: &[Words],
    figures: &[Figure],
    seed: u64,
    (runs, aim): (u32, Aim),
    budget: Option<Nanos>,
) -> Result<Option<Planned>, Failure> {
    let methods = sides.iter().map(Words::method).collect::<Result<Vec<_>, _>>()?;
    if methods.iter().any(|method| method.traffic.stream().is_some()) {
        return Ok(None);
    }
    let usual: Vec<Wish> = sides.iter().zip(&methods).map(|(words, method)| trials::wish(words, method, aim)).collect();
    if usual.iter().any(|wish| wish.fixed) {
        return Ok(None);
    }
    let short = usual.iter().zip(&methods).map(|(wish, method)| {
        let needed = method.schedule.mean_gap().map_or(Nanos::ZERO, |gap| {
            let usual = wish.length.0 / gap.0.max(1);
            let most = figures.iter().map(|figure| exchanges(*figure, usual)).max().unwrap_or(FEWEST);
            Nanos(gap.0.saturating_mul(most))
        });
        Wish { length: needed.max(lengths::SHORTEST), ..*wish }
    });
    let short: Vec<Wish> = short.collect();
    let blocks = LOOKS[LOOKS.len() - 1].runs;
    // On a busy machine trials take longer: a quarter of the budget is kept in hand.
    let allowed = budget.map_or(Nanos(u64::MAX), |budget| Nanos(budget.0 / 4 * 3));
    if lengths::whole(&short, blocks) > lengths::whole(&usual, runs).min(allowed) {
        return Ok(None);
    }
    trials::made_of(sides.to_vec(), &short, Stretches { blocks, stretch: STRETCH, seed }, budget).map(Some)
}

/// Exchanges that a trial needs for a figure, where `usual` are those of a trial of usual length: what that does not resolve, a shorter one
/// need not.
fn exchanges(figure: Figure, usual: u64) -> u64 {
    let needed = match figure {
        // One value beyond it at least.
        Figure::Quantile(q) => (1.0 / (1.0 - q).max(1e-9) - 1e-6).ceil() as u64,
        Figure::Loss => usual,
        _ => FEWEST,
    };
    if needed > usual { FEWEST } else { needed.max(FEWEST) }
}

/// The study as it stands once so many runs of each side are made, where that is a look that settles it.
pub fn settled(study: &StudyDocument, asked: &Asked) -> bool {
    let sides = study.settings.len() as u32;
    (1..sides).all(|second| {
        let figures = judge::figures(study, second, asked);
        is_settled(&figures, &judge::limits(asked, &figures))
    })
}

/// True where the answer is there: every limit is kept or exceeded, or without limits the first figure differs. Nothing is settled by a
/// difference that is not shown: how small it must be is for a limit to say.
fn is_settled(figures: &[ComparedFigure], limits: &[ThresholdHeld]) -> bool {
    if limits.is_empty() {
        return figures.first().is_some_and(|figure| matches!(figure.compared.word, Word::More | Word::Less));
    }
    limits.iter().all(|limit| matches!(limit.held, Held::Kept | Held::Exceeded))
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    const USUAL: (u32, Aim) = (7, Aim { samples: 10, fewest: FEWEST, least: Nanos::secs(1) });

    fn planned(words: &str, figures: &[Figure], budget: Option<Nanos>) -> Option<Planned> {
        let sides = ["db1", "db2"].map(|host| Words::read(&format!("{host} {words}")).unwrap());
        plan(&sides, figures, 1, USUAL, budget).unwrap()
    }

    fn judged_once(words: &str) -> Nanos {
        let sides = ["db1", "db2"].map(|host| Words::read(&format!("{host} {words}")).unwrap());
        trials::plan(sides.to_vec(), USUAL.0, 1, USUAL.1, None).unwrap().takes
    }

    #[test_case("", &Figure::OF_EXCHANGES; "back to back")]
    #[test_case("--every 1ms", &Figure::OF_EXCHANGES; "a thousand a second")]
    #[test_case("--icmp --every 1s", &[Figure::Quantile(0.5)]; "the median of a ping")]
    fn it_never_takes_longer_and_half_as_long_at_the_first_look(words: &str, figures: &[Figure]) {
        let (planned, once) = (planned(words, figures, None).unwrap(), judged_once(words));
        assert_eq!(planned.turns.len(), 24);
        assert!(planned.takes <= once, "{} and {once}", planned.takes);
        let first = Nanos(planned.takes.0 / 12 * u64::from(LOOKS[0].runs));
        assert!(first.0 * 2 <= once.0, "{first} and {once}");
    }

    #[test_case("-t 1", &Figure::OF_EXCHANGES; "a length that was said")]
    #[test_case("-c 100", &Figure::OF_EXCHANGES; "a count that was said")]
    #[test_case("--every 10ms", &Figure::OF_EXCHANGES; "shorter trials would have no p99")]
    #[test_case("--every 1ms", &[Figure::Loss]; "losses take exchanges")]
    fn what_shorter_trials_would_not_resolve_is_judged_once(words: &str, figures: &[Figure]) {
        assert!(planned(words, figures, None).is_none());
    }

    #[test]
    fn a_budget_that_its_last_look_does_not_fit_into_leaves_one_judgement() {
        assert!(planned("", &Figure::OF_EXCHANGES, Some(Nanos::secs(20))).is_none());
        assert!(planned("", &Figure::OF_EXCHANGES, Some(Nanos::secs(60))).is_some());
    }
}
