//! Screens of causes: their switches, what remains, every doubt at every width.

use insta::assert_snapshot;
use logbook::record::Ended;
use logbook::study::{Place, Question, Setting, StudyDocument, Trial};
use measure::comparison::Interval;
use measure::study::moves;
use measure::unit::Nanos;
use measure::why::{Cause, Doubt, Examined, Explanation};
use unicode_width::UnicodeWidthStr;

use crate::fixture;
use crate::layout::Style;
use crate::study::render;

const SWITCHES: [Cause; 3] = [Cause::SleepPacing, Cause::OurWakeUp, Cause::PeerWakeUp];

fn interval(value: f64) -> Interval {
    Interval { value, low: Some(value * 0.9), high: Some(value * 1.1) }
}

fn examined(cause: Cause, takes: f64, doubt: Option<Doubt>) -> Examined {
    let share = Some(interval(takes / 107_000.0));
    let p = cause.has_switch().then_some(if doubt.is_none() { 0.012 } else { 0.4 });
    Examined { cause, takes: Some(interval(takes)), share, p, doubt, cpu: None, waited: None }
}

fn explanation() -> Explanation {
    let busy = Examined { cpu: Some(1), waited: Some(0.31), ..examined(Cause::PeerCpuBusy, 30_000.0, None) };
    Explanation {
        measured: Some(interval(107_000.0)),
        floor: Some(interval(6_200.0)),
        causes: vec![
            examined(Cause::SleepPacing, 29_800.0, None),
            examined(Cause::OurWakeUp, 1_200.0, Some(Doubt::NotShown)),
            examined(Cause::PeerWakeUp, 54_000.0, None),
            examined(Cause::ColdPath, 16_700.0, None),
            examined(Cause::PeerHolds, 2_100.0, Some(Doubt::AsAnyProgram)),
            busy,
        ],
        unexplained: Some(interval(6_500.0)),
        least_share: 0.1,
        fewest_blocks: Some(8),
    }
}

fn study(blocks: u32) -> StudyDocument {
    let words = "rtt db1 --every 10ms --window 1 --pace sleep --wait block --peer-wait block";
    let method: Vec<String> = words.split(' ').map(str::to_owned).collect();
    let point = |value: &str, number: f64| Place::Point {
        series: 0,
        of: "rtt".to_owned(),
        value: value.to_owned(),
        number: Some(number),
    };
    let mut places = vec![point("0", 0.0), point("1ms", 1e6), point("10ms", 1e7)];
    places.extend(moves::corners(3).into_iter().map(|moved| Place::Corner { moved }));
    places.extend([Place::Floor, Place::PeerCpu { cpu: 0 }, Place::PeerCpu { cpu: 1 }]);
    let setting = |at| Setting { name: String::new(), command: method.clone(), method: None, at };
    let settings: Vec<Setting> = places.into_iter().map(setting).collect();
    let trial = |block: u32, setting: usize| Trial {
        block,
        setting: setting as u32,
        record: Some(Box::new(fixture::closed())),
        failure: None,
    };
    StudyDocument {
        head: fixture::head(0xab, &["sonde", "why", "db1"]),
        question: Question::Why { interval_ns: Nanos::millis(10), method, switches: SWITCHES.to_vec() },
        trials: (0..blocks).flat_map(|block| (0..settings.len()).map(move |setting| trial(block, setting))).collect(),
        settings,
        blocks,
        seed: 1,
        takes_ns: Some(Nanos::secs(60)),
        budget_ns: None,
        ended: Some(Ended::Complete),
        comparisons: Vec::new(),
        claims: Vec::new(),
        rerun: None,
        explanation: Some(explanation()),
    }
}

#[test]
fn causes_their_switches_and_what_remains() {
    assert_snapshot!(render(&study(6), &Style::default()));
    assert_snapshot!(render(&study(6), &Style { verbose: true, ..Style::default() }));
}

#[test]
fn every_doubt_is_told_at_every_width() {
    let doubts = [
        Doubt::NotMeasured,
        Doubt::TooFewBlocks,
        Doubt::NotShown,
        Doubt::BeyondMeasured,
        Doubt::Small,
        Doubt::AsAnyProgram,
        Doubt::NotBusy,
        Doubt::NoOtherCpu,
    ];
    let mut study = study(2);
    for doubt in doubts {
        for cause in &mut study.explanation.as_mut().unwrap().causes {
            cause.doubt = Some(doubt);
            cause.takes = cause.takes.filter(|_| doubt != Doubt::NotMeasured);
        }
        for width in [40, 80, 160] {
            for ascii in [false, true] {
                let text = render(&study, &Style { width, ascii, verbose: true, ..Style::default() });
                assert!(text.contains("no cause"), "{text}");
                for line in text.lines() {
                    assert!(line.width() <= width && line.trim_end() == line, "`{line}` in {width}: {text}");
                }
            }
        }
    }
}

#[test]
fn a_study_that_was_cut_off_or_made_by_hand_is_told_too() {
    let mut study = study(1);
    study.explanation = None;
    study.ended = None;
    study.trials.truncate(2);
    assert!(render(&study, &Style::default()).contains("still running"));
    study.settings.clear();
    study.question = Question::Why { interval_ns: Nanos::ZERO, method: Vec::new(), switches: vec![Cause::ColdPath; 3] };
    render(&study, &Style::default());
}
