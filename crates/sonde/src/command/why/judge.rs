//! The trials' numbers for causes, block by block, as `measure::why` takes them.

use logbook::record::Record;
use logbook::study::{Place, Question, StudyDocument};
use measure::study::figure::Figure;
use measure::study::moves;
use measure::why::{Blocks, Explanation, Moved, Observed, explain};

/// The figure that causes are judged by: the median says what a round trip usually takes.
const BY: Figure = Figure::Quantile(0.5);

/// The explanation of the round trips of `study`; `None` where that was not its question.
pub fn explanation(study: &StudyDocument) -> Option<Explanation> {
    let Question::Why { switches, .. } = &study.question else { return None };
    let times = |place: &Place| study.setting_at(place).map(|setting| study.figures_of(setting, BY));
    let numbers = |place: &Place, of: &dyn Fn(&Record) -> Option<f64>| {
        study.setting_at(place).map(|setting| study.numbers_of(setting, of)).unwrap_or_default()
    };
    let corners: Vec<Blocks> = moves::corners(switches.len())
        .into_iter()
        .map(|moved| times(&Place::Corner { moved }).unwrap_or_default())
        .collect();
    let block = |block: usize| corners.iter().map(|corner| corner.get(block).copied().flatten()).collect();
    let moved = study.settings.iter().filter_map(|setting| match setting.at {
        Place::PeerCpu { cpu } => {
            Some(Moved { cpu, times: times(&setting.at).unwrap_or_default(), waits: numbers(&setting.at, &waited) })
        }
        _ => None,
    });
    let back_to_back =
        study.settings.iter().find(|setting| matches!(setting.at, Place::Point { number: Some(0.0), .. }));
    Some(explain(&Observed {
        switches: switches.clone(),
        corners: (0..study.blocks as usize).map(block).collect(),
        floor: times(&Place::Floor).unwrap_or_default(),
        holds: back_to_back.map(|setting| numbers(&setting.at, &held)).unwrap_or_default(),
        waits: numbers(&Place::Corner { moved: 0 }, &waited),
        moved: moved.collect(),
    }))
}

/// The time that the peer's program kept a reply, by its own stamps.
fn held(record: &Record) -> Option<f64> {
    record.outcome.as_ref()?.split.as_ref()?.peer_hold_ns.map(|ns| ns.0 as f64)
}

/// For which share of the time the peer's threads waited for a CPU.
fn waited(record: &Record) -> Option<f64> {
    record.theirs.as_ref()?.disturbance.as_ref()?.run_queue_share
}
