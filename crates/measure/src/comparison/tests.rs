//! Simulated sides whose truth is known: how often the procedure raises a false alarm, and how often it misses.
//!
//! The runs are drawn here, apart from the analysis: a lognormal body of which one value in a hundred is a stall, values that
//! remember nine tenths of the one before, and runs that differ among themselves.

use std::sync::LazyLock;

use fastrand::Rng;
use test_case::test_case;

use super::*;

/// Values of a run: few, where each remembers the one before.
const VALUES: usize = 200;

/// Normal values, drawn once: sums of twelve even draws less six, which is not how the analysis' own tests draw.
static NORMAL: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let mut rng = Rng::with_seed(0);
    (0..1 << 16).map(|_| (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0).collect()
});

fn standard(rng: &mut Rng) -> f64 {
    NORMAL[usize::from(rng.u16(..))]
}

/// The p50, p90 and p99 of a run whose times are `scale` times as long as usual.
fn run(rng: &mut Rng, scale: f64) -> [f64; 3] {
    let mut state = standard(rng);
    let mut values: Vec<f64> = (0..VALUES)
        .map(|_| {
            state = 0.9 * state + (1.0_f64 - 0.81).sqrt() * standard(rng);
            let stall = if rng.u8(0..100) == 0 { 20.0 * rng.f64() } else { 1.0 };
            20_000.0 * scale * (0.2 * state).exp() * stall.max(1.0)
        })
        .collect();
    values.sort_unstable_by(f64::total_cmp);
    [0.5, 0.9, 0.99].map(|q| values[(q * VALUES as f64) as usize - 1])
}

/// A side's runs, each of a scale that deviates by `spread`, as figures p50, p90, p99.
fn side(rng: &mut Rng, runs: usize, scale: f64, spread: f64) -> [Vec<Option<f64>>; 3] {
    let made: Vec<[f64; 3]> = (0..runs)
        .map(|_| {
            let own = scale * (spread * standard(rng)).exp();
            run(rng, own)
        })
        .collect();
    [0, 1, 2].map(|k| made.iter().map(|run| Some(run[k])).collect())
}

fn figures(first: [Vec<Option<f64>>; 3], second: [Vec<Option<f64>>; 3]) -> Vec<Runs> {
    first.into_iter().zip(second).map(|(first, second)| Runs { first, second }).collect()
}

fn called_different(compared: &[Compared]) -> bool {
    compared.iter().any(|figure| matches!(figure.word, Word::More | Word::Less))
}

#[test_case(Design::Apart, 7, 1; "seven and seven")]
#[test_case(Design::Paired, 7, 2; "seven pairs")]
#[test_case(Design::Apart, 5, 3; "five and five")]
#[test_case(Design::Triples, 12, 6; "four blocks of three and three")]
fn sides_that_do_not_differ_are_called_different_in_no_more_than_6_5_percent(design: Design, runs: usize, seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let trials = 2_000;
    let alarms = (0..trials)
        .filter(|_| {
            let (first, second) = (side(&mut rng, runs, 1.0, 0.03), side(&mut rng, runs, 1.0, 0.03));
            called_different(&compare(&figures(first, second), design))
        })
        .count();
    assert!(alarms * 1_000 <= trials * 65, "{alarms} of {trials}");
}

#[test]
fn five_percent_more_at_a_deviation_of_two_is_found_in_nine_of_ten() {
    // The runs' own deviation is two percent; what few values a run has adds to it, so they are drawn without memory here.
    let mut rng = Rng::with_seed(4);
    let trials = 1_000;
    let runs = |rng: &mut Rng, scale: f64| (0..7).map(|_| Some(scale * (1.0 + 0.02 * standard(rng)))).collect();
    let found = (0..trials)
        .filter(|_| {
            let sides = Runs { first: runs(&mut rng, 20.0), second: runs(&mut rng, 21.0) };
            compare(&[sides], Design::Apart)[0].word == Word::More
        })
        .count();
    assert!(found >= 900, "{found} of {trials}");
}

#[test]
fn what_is_found_says_how_much_and_in_which_unit() {
    let some = |values: [f64; 7]| values.map(Some).to_vec();
    let first = some([100.0, 101.0, 99.0, 100.5, 99.5, 102.0, 98.0]);
    let second = some([110.0, 111.0, 109.0, 110.5, 109.5, 112.0, 108.0]);
    for design in [Design::Apart, Design::Paired] {
        let found = &compare(&[Runs { first: first.clone(), second: second.clone() }], design)[0];
        assert_eq!((found.word, found.runs), (Word::More, (7, 7)));
        assert_eq!((found.first, found.second), (Some(100.0), Some(110.0)));
        let (difference, change) = (found.difference.unwrap(), found.change.unwrap());
        assert_eq!(difference.value, 10.0);
        assert!((change.value - 0.1).abs() < 1e-3 && change.low.unwrap() > 0.0, "{change:?}");
        assert_eq!(found.delta.is_some(), design == Design::Apart);
    }
    let turned = &compare(&[Runs { first: second, second: first }], Design::Apart)[0];
    assert_eq!((turned.word, turned.delta), (Word::Less, Some(-1.0)));
}

#[test_case(4, Design::Apart, 1, Word::TooFewRuns; "four and four never")]
#[test_case(5, Design::Apart, 1, Word::More; "five and five")]
#[test_case(5, Design::Paired, 1, Word::TooFewRuns; "five pairs never")]
#[test_case(6, Design::Paired, 1, Word::More; "six pairs")]
#[test_case(6, Design::Paired, 2, Word::TooFewRuns; "six pairs of two figures")]
#[test_case(0, Design::Apart, 1, Word::TooFewRuns; "nothing")]
fn with_few_runs_it_is_said_that_they_are_few(runs: usize, design: Design, count: usize, word: Word) {
    let side = |from: usize| (0..runs).map(|k| Some((from + k) as f64)).collect::<Vec<_>>();
    let figures = vec![Runs { first: side(100), second: side(200) }; count];
    assert!(compare(&figures, design).iter().all(|figure| figure.word == word));
    assert_eq!(runs >= fewest(count, design), word == Word::More);
}

#[test]
fn a_run_without_the_figure_is_left_out_and_counted_so() {
    let first = vec![Some(1.0), None, Some(3.0), Some(2.0), Some(2.5), Some(1.5), Some(2.2)];
    let second = vec![Some(4.0), Some(5.0), None, Some(4.5), Some(4.4), Some(4.2), Some(4.1)];
    let runs = Runs { first, second };
    assert_eq!(compare(std::slice::from_ref(&runs), Design::Apart)[0].runs, (6, 6));
    assert_eq!(compare(&[runs], Design::Paired)[0].runs, (5, 5));
}

#[test]
fn a_loss_of_none_is_compared_without_a_share() {
    let none = vec![Some(0.0); 7];
    let some: Vec<Option<f64>> = (1..=7).map(|k| Some(f64::from(k) / 1_000.0)).collect();
    let found = &compare(&[Runs { first: none.clone(), second: some }], Design::Apart)[0];
    assert_eq!((found.word, found.change), (Word::More, None));
    let found = &compare(&[Runs { first: none.clone(), second: none }], Design::Apart)[0];
    assert_eq!((found.word, found.difference.unwrap().value), (Word::NotShown, 0.0));
}

#[test]
fn what_cannot_be_said_of_a_stopped_clock_or_no_runs_is_not_said() {
    assert_eq!(compare(&[], Design::Apart), []);
    let found = &compare(&[Runs { first: vec![None], second: vec![] }], Design::Paired)[0];
    assert_eq!((found.first, found.p, found.difference), (None, None, None));
}

#[test]
fn the_joint_interval_holds_nothing_where_no_difference_was_shown() {
    let mut rng = Rng::with_seed(11);
    let (mut shown, mut wider) = (0, 0);
    for trial in 0..200 {
        let design = [Design::Paired, Design::Apart, Design::Triples][trial as usize % 3];
        let scale = 1.0 + f64::from(trial % 5) / 20.0;
        let side = |rng: &mut Rng, scale: f64| (0..10).map(|_| run(rng, scale)).collect::<Vec<_>>();
        let (first, second) = (side(&mut rng, 1.0), side(&mut rng, scale));
        let of = |side: &[[f64; 3]], at: usize| side.iter().map(|run| Some(run[at])).collect::<Vec<_>>();
        let figures: Vec<Runs> = (0..3).map(|at| Runs { first: of(&first, at), second: of(&second, at) }).collect();
        let compared = compare(&figures, design);
        let open = compared.iter().filter(|figure| figure.word == Word::NotShown).count();
        shown += 3 - open;
        for (runs, found) in figures.iter().zip(&compared).filter(|(_, found)| found.word == Word::NotShown) {
            let joint = runs.joint(Rule::once(design), open).unwrap();
            let (low, high) = (joint.low.unwrap(), joint.high.unwrap());
            assert!(low <= 0.0 && high >= 0.0, "{low} … {high}: {found:?}");
            let plain = found.change.unwrap();
            assert!(low <= plain.low.unwrap() && high >= plain.high.unwrap());
            wider += u32::from(plain.low.unwrap() > 0.0 || plain.high.unwrap() < 0.0);
        }
    }
    assert!(shown > 0 && wider > 0, "{shown} differences, {wider} that only one interval alone would show");
}

/// A comparison with looks: the runs made when it ended, and whether each interval of the first figure there holds `truth`.
fn with_looks(rng: &mut Rng, scale: f64) -> (u32, Vec<Compared>) {
    let mut sides: [[Vec<Option<f64>>; 3]; 2] = Default::default();
    for look in LOOKS {
        while sides[0][0].len() < look.runs as usize {
            // Drift meets both sides of a block.
            let drift = (0.05 * standard(rng)).exp();
            for _ in 0..STRETCH {
                for (side, scale) in sides.iter_mut().zip([1.0, scale]) {
                    let own = drift * scale * (0.03 * standard(rng)).exp();
                    for (figure, value) in side.iter_mut().zip(run(rng, own)) {
                        figure.push(Some(value));
                    }
                }
            }
        }
        let rule = Rule::after(Design::Triples, &LOOKS, look.runs);
        assert_eq!(rule.alarms, look.alarms);
        let [first, second] = sides.clone();
        let compared = compare_by(&figures(first, second), rule);
        if look == LOOKS[2] || matches!(compared[0].word, Word::More | Word::Less) {
            return (look.runs, compared);
        }
    }
    unreachable!("the last look ends it")
}

#[test]
fn all_looks_together_call_sides_that_do_not_differ_different_in_no_more_than_5_percent() {
    assert!((LOOKS.iter().map(|look| look.alarms).sum::<f64>() - ALARMS).abs() < 1e-12);
    let mut rng = Rng::with_seed(21);
    let trials = 2_000;
    let alarms = (0..trials).filter(|_| called_different(&with_looks(&mut rng, 1.0).1)).count();
    assert!(alarms * 100 <= trials * 5, "{alarms} of {trials}");
    // It is a test, not a refusal to say anything.
    assert!(alarms * 100 >= trials, "{alarms} of {trials}");
}

#[test]
fn what_was_planted_lies_in_the_interval_that_ended_it() {
    for (seed, scale) in [(22, 1.0), (23, 1.05), (24, 1.2)] {
        let mut rng = Rng::with_seed(seed);
        let trials = 1_000;
        let missed = (0..trials)
            .filter(|_| {
                let change = with_looks(&mut rng, scale).1[0].change.unwrap();
                let (low, high) = (1.0 + change.low.unwrap(), 1.0 + change.high.unwrap());
                low > scale || high < scale
            })
            .count();
        assert!(missed * 100 <= trials * 5, "{scale}: {missed} of {trials}");
    }
}

#[test]
fn twenty_percent_more_ends_it_at_the_first_look_and_two_percent_at_a_later_one() {
    let ended = |seed: u64, scale: f64| {
        let mut rng = Rng::with_seed(seed);
        let mut at: Vec<u32> = (0..301).map(|_| with_looks(&mut rng, scale).0).collect();
        at.sort_unstable();
        at[150]
    };
    assert_eq!(ended(25, 1.2), 6);
    assert_eq!(ended(26, 1.02), 12);
}
