//! Makes what a study planned, keeps it meanwhile, and hands the whole over.

use std::sync::Arc;

use logbook::event::Line;
use logbook::record::Ended;
use logbook::study::{Place, Setting, StudyDocument, Trial};

use crate::command::deliver;
use crate::command::result_options::ResultOptions;
use crate::command::rtt::stream::Stream;
use crate::command::study::campaign::Campaign;
use crate::command::study::keep::Keeper;
use crate::command::study::trials::Planned;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

/// The planned settings, each with its place and what a reader may call it.
pub fn settings(planned: &Planned, places: Vec<Place>) -> Vec<Setting> {
    let each = planned.words.iter().zip(&planned.methods).zip(places);
    each.map(|((words, method), at)| Setting {
        name: name(&at),
        command: words.words(),
        method: Some(method.clone()),
        at,
    })
    .collect()
}

fn name(at: &Place) -> String {
    match at {
        Place::Point { of, value, .. } => format!("{of} at {value}"),
        Place::Corner { moved } => format!("moved {moved:b}"),
        Place::Floor => "back to back, nothing asleep".to_owned(),
        Place::PeerCpu { cpu } => format!("peer on CPU {cpu}"),
        _ => String::new(),
    }
}

/// Makes the trials that `study` has not yet, writes its files meanwhile, lets `judge` add what they say, and delivers it.
///
/// # Errors
/// Nothing at all could be measured, or a file could not be written.
pub fn make(
    mut study: StudyDocument,
    planned: &Planned,
    result: &ResultOptions,
    output: &Arc<Output>,
    judge: &mut dyn FnMut(&mut StudyDocument),
) -> Result<Exit, Failure> {
    let campaign = Campaign::new(output)?;
    let mut stream = Stream::open(result, output)?;
    let mut keeper = Keeper::of(result);
    let made = std::mem::take(&mut study.trials);
    campaign.announce(planned, &made, "--blocks");
    let mut each = |trials: &[Trial]| {
        keeper.keep(&|| StudyDocument { trials: trials.to_vec(), ..study.clone() });
        trials.last().is_none_or(|trial| stream.write(&Line::Trial(Box::new(trial.clone()))))
    };
    let course = match campaign.carry_out(planned, &study.settings, made, &mut each) {
        Ok(course) => course,
        Err(failure) => {
            stream.write_to_files(&Line::Error(Box::new(failure.told.clone())));
            return Err(failure);
        }
    };
    let complete = course.ended == Ended::Complete;
    let has_failures = course.trials.iter().any(|trial| trial.failure.is_some());
    study.trials = course.trials;
    study.ended = Some(course.ended);
    judge(&mut study);
    let delivered = deliver::study(&study, result, output);
    stream.write(&Line::Studied(Box::new(study)));
    stream.faults().into_iter().next().map_or(delivered, Err)?;
    Ok(match campaign.interruption().signal() {
        Some(signal) if !complete => Exit::CutShort(signal),
        _ if has_failures => Exit::PartlyDone,
        _ => Exit::Done,
    })
}
