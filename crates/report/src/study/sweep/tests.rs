//! Screens of sweeps: a plot, a table and notes; words in place of numbers; every width.

use insta::assert_snapshot;
use logbook::failure::Failure;
use logbook::record::{Ended, Record};
use logbook::study::{Place, Question, Setting, StudyDocument, Trial};
use measure::method::LoopKind;
use measure::recorder::Recorder;
use measure::statistics::summary::{Extra, summarise};
use measure::study::figure::Figure;
use measure::study::range::Values;
use measure::unit::{Instant, Nanos};
use measure::verdict::Warning;
use unicode_width::UnicodeWidthStr;

use crate::fixture;
use crate::layout::Style;
use crate::study::render;

/// A record whose times are all `times` as long as those of the fixture; its quantiles stand for the histogram alone.
fn record(warnings: Vec<Warning>) -> Record {
    Record { warnings, ..fixture::closed() }
}

fn sweep(points: &[&str], values: Values, blocks: u32) -> StudyDocument {
    let number = |value: &str| match values {
        Values::Times if value == "0" => Some(0.0),
        Values::Times => value.parse::<Nanos>().ok().map(|time| time.0 as f64),
        Values::Counts => value.parse().ok(),
        _ => None,
    };
    let names = ["icmp", "tcp"];
    let setting = |series: usize, value: &&str| Setting {
        name: format!("{} {value}", names[series]),
        command: vec!["rtt".to_owned(), "db1".to_owned(), format!("--{}", names[series])],
        method: None,
        at: Place::Point {
            series: series as u32,
            of: names[series].to_owned(),
            value: (*value).to_owned(),
            number: number(value),
        },
    };
    let settings: Vec<Setting> =
        (0..2).flat_map(|series| points.iter().map(move |value| setting(series, value))).collect();
    let trial = |block: u32, setting: usize| Trial {
        block,
        setting: setting as u32,
        record: Some(Box::new(record(Vec::new()))),
        failure: None,
    };
    let trials = (0..blocks).flat_map(|block| (0..settings.len()).map(move |setting| trial(block, setting))).collect();
    StudyDocument {
        head: fixture::head(0xab, &["sonde", "sweep"]),
        question: Question::Sweep {
            axis: "interval".to_owned(),
            values,
            figures: vec![Figure::Quantile(0.5), Figure::Quantile(0.99)],
            methods: names.map(|name| vec!["rtt".to_owned(), "db1".to_owned(), format!("--{name}")]).to_vec(),
        },
        settings,
        blocks,
        seed: 1,
        takes_ns: Some(Nanos::secs(60)),
        budget_ns: None,
        trials,
        ended: Some(Ended::Complete),
        comparisons: Vec::new(),
        claims: Vec::new(),
        rerun: None,
        explanation: None,
    }
}

#[test]
fn a_sweep_is_a_plot_a_table_and_its_notes() {
    let mut study = sweep(&["0", "10us", "1ms", "100ms"], Values::Times, 3);
    for trial in study.trials.iter_mut().filter(|trial| trial.setting == 1) {
        let missed = Warning::RateNotAchieved {
            offered_per_s: 100_000.0,
            sent_per_s: 40_000.0,
            held_back_by_window: true,
            held_back_by_socket: false,
            in_turn: false,
        };
        trial.record.as_mut().unwrap().warnings = vec![missed, Warning::IcmpIsNotTheApplication];
    }
    let lost = study.trials.iter_mut().find(|trial| trial.setting == 7).unwrap();
    lost.record = None;
    lost.failure =
        Some(Failure { what: "nobody there".to_owned(), to_whom: None, side: None, hint: None, partial: None });
    assert_snapshot!(render(&study, &Style::default()));
}

#[test]
fn a_point_beyond_both_ends_stands_in_the_answer() {
    let head = |study: &StudyDocument| {
        let text = render(study, &Style::default());
        text.split("\n\n").next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let mut study = sweep(&["0", "10us", "1ms", "100ms"], Values::Times, 3);
    assert!(head(&study).ends_with("icmp 21.0 µs → 21.0 µs; tcp 21.0 µs → 21.0 µs"), "{}", head(&study));
    // ICMP at 1 ms, in each block and then in all but one.
    for trial in study.trials.iter_mut().filter(|trial| trial.setting == 2) {
        trial.record = Some(Box::new(slow()));
    }
    assert!(
        head(&study).ends_with("icmp 21.0 µs → 21.0 µs, but 5.00 ms at 1 ms; tcp 21.0 µs → 21.0 µs"),
        "{}",
        head(&study)
    );
    study.trials.iter_mut().find(|trial| trial.setting == 2).unwrap().record = Some(Box::new(record(Vec::new())));
    assert!(!head(&study).contains("but"), "{}", head(&study));
}

/// A record of times of 5 ms.
fn slow() -> Record {
    let mut recorder = Recorder::new(LoopKind::Closed, 1_000);
    let at = |n: u64| Instant(n * 5_000_000);
    recorder.begin(at(1), None);
    (1..200).for_each(|n| recorder.answered(at(n), at(n + 1)));
    let record = record(Vec::new());
    Record { outcome: Some(summarise(&recorder.finish(at(200)), &record.method, Extra::default())), ..record }
}

#[test]
fn words_have_no_plot_and_every_width_holds() {
    let study = sweep(&["cubic", "bbr"], Values::Words, 6);
    for width in [40, 60, 80, 200] {
        for ascii in [false, true] {
            let text = render(&study, &Style { width, ascii, ..Style::default() });
            assert!(!text.contains('└') && !text.contains("+--"), "{text}");
            assert!(text.contains("95 % interval") && text.contains("cubic"), "{text}");
            for line in text.lines() {
                assert!(line.width() <= width && line.trim_end() == line, "`{line}` in {width}: {text}");
            }
        }
    }
}

#[test]
fn a_document_made_by_hand_does_no_harm() {
    let mut study = sweep(&["1", "2"], Values::Counts, 2);
    for (number, setting) in study.settings.iter_mut().enumerate() {
        let Place::Point { series, number: value, .. } = &mut setting.at else { panic!("a point") };
        *series = if number == 0 { 0 } else { u32::MAX };
        *value = Some(f64::NAN);
    }
    study.trials[0].setting = u32::MAX;
    study.trials[1].block = u32::MAX;
    render(&study, &Style::default());
    study.settings.clear();
    render(&study, &Style::default());
}

#[test]
fn what_was_written_meanwhile_says_so() {
    let mut study = sweep(&["1ms", "2ms"], Values::Times, 3);
    study.ended = None;
    study.trials.truncate(5);
    let text = render(&study, &Style::default());
    assert!(text.contains("5 of 12 trials.") && text.contains("still running"), "{text}");
}
