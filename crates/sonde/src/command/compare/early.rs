//! A comparison that may end early: which can, how its trials are made, and when it is settled.
//!
//! Its trials are shorter than usual and there are more of them, so that it takes no longer than a comparison that is judged once,
//! and half as long where the first look settles it.

use logbook::study::{ComparedFigure, StudyDocument, ThresholdHeld};
use measure::comparison::{LOOKS, Look, STRETCH, Word};
use measure::study::figure::Figure;
use measure::study::lengths::{self, Wish};
use measure::study::threshold::Held;
use measure::unit::Nanos;

use crate::command::compare::judge::{self, Asked};
use crate::command::study::trials::{self, Aim, FEWEST, Planned, Stretches};
use crate::command::study::words::Words;
use crate::failure::Failure;

/// The plan of such a comparison and the moments at which it is judged, as many and as far apart as the budget has room for; `None` where it would take longer than one that is judged once, of `runs` runs whose trials are as
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
) -> Result<Option<(Planned, Vec<Look>)>, Failure> {
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
    let allowed = budget.map_or(Nanos(u64::MAX), trials::in_hand);
    if lengths::whole(&short, LOOKS[LOOKS.len() - 1].runs) > lengths::whole(&usual, runs).min(allowed) {
        return Ok(None);
    }
    let looks = trials::looks(&short, budget, LOOKS[0].runs);
    let blocks = looks.last().map_or(runs, |look| look.runs);
    let wishes = lengthened(&short, &usual, budget.map(trials::in_hand), blocks);
    let planned = trials::made_of(sides.to_vec(), &wishes, Stretches { blocks, stretch: STRETCH, seed }, budget)?;
    Ok(Some((planned, looks)))
}

/// Trials as long as usual, as far as so many have room: what a budget has beyond the most runs makes each more exact.
fn lengthened(short: &[Wish], usual: &[Wish], allowed: Option<Nanos>, blocks: u32) -> Vec<Wish> {
    let wishes = short.iter().zip(usual);
    let longer =
        |(short, usual): (&Wish, &Wish)| Wish { length: usual.length.max(short.length), least: short.length, ..*usual };
    let wishes: Vec<Wish> = wishes.map(longer).collect();
    let lengths = allowed.and_then(|allowed| lengths::within(allowed, &wishes, blocks));
    let lengths = lengths.unwrap_or_else(|| short.iter().map(|wish| wish.length).collect());
    short.iter().zip(lengths).map(|(wish, length)| Wish { length, ..*wish }).collect()
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
        plan(&sides, figures, 1, USUAL, budget).unwrap().map(|(planned, _)| planned)
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
        let of =
            |seconds| planned("", &Figure::OF_EXCHANGES, Some(Nanos::secs(seconds))).map(|planned| planned.turns.len());
        assert_eq!([21, 60, 300].map(of), [None, Some(48), Some(120)]);
    }

    #[test]
    fn a_budget_is_spent_where_the_answer_takes_it() {
        for seconds in [40, 60, 120, 300, 900] {
            let planned = planned("", &Figure::OF_EXCHANGES, Some(Nanos::secs(seconds))).unwrap();
            let (takes, allowed) = (planned.takes.0, seconds * 750_000_000);
            // A step more would be 24 trials; at the most of both, trials are as long as usual.
            let full = planned.words[0].time() == Some(USUAL.1.least) && planned.turns.len() == 120;
            assert!(takes <= allowed && (full || takes > allowed / 2), "{seconds} s: {takes} ns");
        }
    }
}
