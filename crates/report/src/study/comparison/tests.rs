//! Screens of comparisons: a difference, none that is significant, too few runs, effects, every width.

use insta::assert_snapshot;
use logbook::record::Ended;
use logbook::study::{AxisDifference, ComparedFigure, StudyDocument};
use measure::comparison::{Interval, Runs, Word, compare, compare_by};
use measure::study::figure::Figure;
use measure::study::moves::Worth;
use measure::verdict::Warning;

use super::*;
use crate::fixture;
use crate::layout::Style;
use crate::study;

/// A comparison by three figures, of which the runs of the last two have these numbers.
fn compared(second: [f64; 7], third: [f64; 7]) -> StudyDocument {
    let mut found = fixture::comparison();
    let side = |values: [f64; 7]| values.map(Some).to_vec();
    let first = [100.0, 101.0, 102.0, 103.0, 104.0, 105.0, 106.0].map(|value| value * 1e3);
    let figures = &mut found.comparisons[0].figures;
    let p50 = Runs { first: figures[0].first.clone(), second: figures[0].second.clone() };
    let with = |change: [f64; 7]| {
        let second: [f64; 7] = std::array::from_fn(|at| first[at] * (1.0 + change[at]));
        Runs { first: side(first), second: side(second) }
    };
    let runs = [p50, with(second), with(third)];
    let names = [0.5, 0.9, 0.99].map(Figure::Quantile);
    let judged = compare(&runs, Design::Paired);
    let figure = |((figure, compared), runs): ((Figure, Compared), Runs)| ComparedFigure {
        figure,
        compared,
        first: runs.first,
        second: runs.second,
    };
    *figures = names.into_iter().zip(judged).zip(runs).map(figure).collect();
    found
}

fn mixed() -> StudyDocument {
    compared([0.1, 0.02, 0.05, 0.07, 0.08, 0.06, -0.01], [0.3, -0.1, 0.2, -0.3, 0.1, -0.2, 0.05])
}

#[test]
fn a_difference_is_the_answer_and_the_effects_stand_below() {
    let mut found = mixed();
    let worth = |value: f64, interacts| Worth {
        closes: Interval { value, low: Some(value - 900.0), high: Some(value + 900.0) },
        share: Some(Interval { value: value / 5_000.0, low: None, high: None }),
        first: value * 0.9,
        last: value * 1.1,
        interacts,
    };
    let axis = |axis: &str, first: &str, second: &str, worth| AxisDifference {
        axis: axis.to_owned(),
        first: first.to_owned(),
        second: second.to_owned(),
        worth: Some(worth),
    };
    let comparison = &mut found.comparisons[0];
    comparison.axes = vec![
        axis("interval", "1 s", "no pause", worth(4_600.0, true)),
        axis("size", "56 B", "1 B", worth(400.0, false)),
    ];
    comparison.moved_by = Some(Figure::Quantile(0.5));
    assert_snapshot!(study::render(&found, &Style::default()));
    assert_snapshot!(study::render(&found, &Style { verbose: true, ..Style::default() }));
    let narrow = study::render(&found, &Style { width: 40, ascii: true, ..Style::default() });
    assert_eq!(narrow.lines().find(|line| line.width() > 40 || !line.is_ascii()), None, "{narrow}");
}

#[test]
fn no_significant_difference_has_the_interval_of_its_verdict() {
    let found = mixed();
    let comparison = &found.comparisons[0];
    let p90 = &comparison.figures[1];
    assert_eq!(p90.compared.word, Word::NotShown);
    assert!(p90.compared.change.unwrap().low.unwrap() > 0.0, "by itself it would be one: {p90:?}");
    let said = sentence(p90, "B", comparison, Rule::once(Design::Paired));
    assert!(
        said.starts_with("No significant difference in p90 [−1.0 % … +10.0 %, 2 figures judged together; "),
        "{said}"
    );
    assert!(said.contains("+2.0 % … +8.5 % by itself]: A 103 µs, B 110 µs, 7+7 paired runs"), "{said}");
}

#[test]
fn too_few_runs_and_too_short_ones_say_what_it_takes() {
    let mut found = mixed();
    for figure in &mut found.comparisons[0].figures {
        figure.compared.word = Word::TooFewRuns;
    }
    found.comparisons[0].figures[2].compared.runs = (0, 0);
    let text = study::render(&found, &Style::default());
    assert!(text.starts_with("Too few runs to show a difference in p50: 7+7 paired runs"), "{text}");
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let few = "! p50, p90: too few runs (7+7) to show a difference → at least 7 pairs (--runs 7)";
    assert!(flat.contains(few), "{text}");
    assert!(text.contains("! p99: too few exchanges per run → longer runs (-t)"), "{text}");
    found.trials[1].record.as_mut().unwrap().ended = Ended::PeerLost { reason: "connection reset by peer".to_owned() };
    let flat = study::render(&found, &Style::default()).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("! p99: too few exchanges per run") && !flat.contains("longer runs"), "{flat}");
    assert!(flat.contains("! The peer went away in 1 trial, the first: connection reset by peer →"), "{flat}");
}

#[test]
fn refusals_of_a_side_are_told_with_what_they_cost() {
    let mut found = mixed();
    let of_second = found.trials.iter_mut().filter(|trial| trial.setting == 1);
    for (trial, refused) in of_second.zip([90_000_u64, 10, 10]) {
        let outcome = trial.record.as_mut().unwrap().outcome.as_mut().unwrap();
        outcome.counts.scheduled = outcome.counts.answered + refused;
        outcome.counts.refused = refused;
        outcome.replies.get_or_insert_default().add("429".to_owned(), false, refused);
    }
    let flat = study::render(&found, &Style::default()).split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "requests were refused (reply 429), in 3 of 7 trials. 1 trial has no p50, because too few";
    assert!(flat.contains("! B: 90 020 of ") && flat.contains(said), "{flat}");
}

#[test]
fn what_cannot_be_compared_says_why_and_what_is_missing_stands_in_the_answer() {
    let mut found = mixed();
    found.trials.truncate(13);
    found.ended = None;
    let text = study::render(&found, &Style::default());
    assert!(text.contains("paired runs\n(incomplete: 13 of 14 trials)"), "{text}");
    assert!(text.contains("! 1 trial is missing; the study was still running"), "{text}");
    found.comparisons[0].incomparable = Some("A measured a stream".to_owned());
    let text = study::render(&found, &Style::default());
    assert!(text.starts_with("A and B are not comparable: A measured a stream\n"), "{text}");
    found.comparisons.clear();
    assert!(study::render(&found, &Style::default()).starts_with("Nothing was compared (incomplete: 13"));
}

#[test]
fn an_early_end_says_so_and_by_which_rule() {
    let mut found = fixture::comparison();
    let Question::Compare { design, looks } = &mut found.question else { panic!("a comparison") };
    (*design, *looks) = (Design::Triples, measure::comparison::LOOKS.to_vec());
    found.blocks = 6;
    found.trials.retain(|trial| trial.block < 6);
    let figure = &mut found.comparisons[0].figures[0];
    figure.first.truncate(6);
    figure.second.truncate(6);
    let runs = Runs { first: figure.first.clone(), second: figure.second.clone() };
    let judged = compare_by(std::slice::from_ref(&runs), found.rule().unwrap()).remove(0);
    found.comparisons[0].figures[0].compared = judged;
    let figure = &found.comparisons[0].figures[0];
    assert_eq!((found.rule().unwrap().alarms, figure.compared.word), (0.016, Word::More));
    let text = study::render(&found, &Style { verbose: true, ..Style::default() });
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let early = "Ended after 6 of 12 runs of each side: p50 differs. The intervals allow for the early end.";
    assert!(flat.contains(early) && !flat.contains("incomplete"), "{text}");
    assert!(flat.contains("5 % divided among looks after 6, 9, 12 runs (1.6 %, 1.2 %, 2.2 %)"), "{text}");
    let told = so_far(figure, "B").unwrap();
    assert!(told.starts_with("B's p50 +") && told.ends_with(']'), "{told}");
    // Cut short between two looks it is judged by the last one's part, and says what is missing.
    found.blocks = 12;
    assert_eq!(found.rule().unwrap().alarms, 0.022);
    assert!(study::render(&found, &Style::default()).contains("incomplete: 12 of 24 trials"));
}

/// The first trial of each side as a stored record; the second side's quantiles moved by so much.
fn two_records(by: u64) -> StudyDocument {
    let mut found = fixture::comparison();
    found.question = Question::Compare { design: Design::Apart, looks: Vec::new() };
    (found.takes_ns, found.blocks) = (None, 1);
    found.trials.truncate(2);
    let first = found.trials[0].record.clone().unwrap();
    let second = found.trials[1].record.insert(first);
    for quantile in &mut second.outcome.as_mut().unwrap().response.quantiles {
        for end in [&mut quantile.value_ns, &mut quantile.low_ns, &mut quantile.high_ns].into_iter().flatten() {
            end.0 += by;
        }
    }
    let figure = &mut found.comparisons[0].figures[0];
    figure.first.truncate(1);
    figure.second.truncate(1);
    let runs = Runs { first: figure.first.clone(), second: figure.second.clone() };
    figure.compared = compare(std::slice::from_ref(&runs), Design::Apart).remove(0);
    found
}

#[test]
fn two_single_records_are_told_apart_by_their_own_intervals_and_for_these_two_alone() {
    let flat = |found: &StudyDocument| {
        let text = study::render(found, &Style::default());
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let apart = flat(&two_records(50_000));
    assert!(apart.starts_with("Too few runs (1+1) to show a difference in p50. These two runs differ: A "), "{apart}");
    assert!(apart.contains("The 95 % intervals of p50 within each run lie apart: A "), "{apart}");
    assert!(apart.contains("at least 5 records a side: sonde compare FOLDER FOLDER"), "{apart}");
    let alike = flat(&two_records(0));
    assert!(alike.contains("in p50. None is shown between these two: A "), "{alike}");
    assert!(alike.contains("within each run overlap: A "), "{alike}");
    // Without an answer to some of the requests, or where the times changed meanwhile, the intervals say less.
    let mut lossy = two_records(50_000);
    lossy.trials[0].record.as_mut().unwrap().outcome.as_mut().unwrap().counts.scheduled += 1;
    assert!(flat(&lossy).starts_with("Too few runs to show a difference in p50: 1+1 runs"));
    let mut moving = two_records(50_000);
    moving.trials[1].record.as_mut().unwrap().warnings.push(Warning::NotSteady { shift_ns: Some(9_000) });
    assert!(flat(&moving).starts_with("Too few runs to show a difference in p50: 1+1 runs"));
}
