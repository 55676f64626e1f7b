//! The verdicts of trials: the comparison of each side with the first, by the one procedure there is.

use logbook::record::{Ended, Record};
use logbook::study::{AxisDifference, ComparedFigure, Comparison, Place, Shift, StudyDocument, ThresholdHeld, Trial};
use measure::comparison::{Design, Look, Rule, Runs, Word, compare_by};
use measure::statistics::{payload, shift};
use measure::study::figure::{Figure, Unit};
use measure::study::moves::{Worth, corners, worth};
use measure::study::threshold::{Held, Threshold};

use crate::command::study::trials::Span;

/// Quantiles of the shift function.
const SHIFTED: [f64; 7] = [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99];
/// Values of a run that stand for its distribution.
const STANDING_FOR: u64 = 2_000;

/// The request to the trials.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The order in which the runs were made.
    pub design: Design,
    /// Looks at which it is judged, where it may end early; empty: once.
    pub looks: Vec<Look>,
    /// The figures that are compared; empty: those that are usual for what was measured.
    pub figures: Vec<Figure>,
    /// The limits.
    pub thresholds: Vec<Threshold>,
}

/// The axes in which a side differs from the first, with what each has there; told before they are measured.
pub type Differences = Vec<AxisDifference>;

/// The comparison of setting `second` with setting 0. `axes`: where they differ; where there are corners, what each closes.
pub fn comparison(study: &StudyDocument, second: u32, axes: Differences, asked: &Asked) -> Comparison {
    let mut found = Comparison {
        second,
        figures: Vec::new(),
        shifts: Vec::new(),
        axes,
        moved_by: None,
        thresholds: Vec::new(),
        incomparable: incomparable(study, second),
    };
    if found.incomparable.is_some() {
        return found;
    }
    found.figures = figures(study, second, asked);
    let by = found.figures.first().map(|figure| figure.figure);
    if by.is_some_and(|by| by.unit() == Unit::Time) {
        found.shifts = shifts(study, second);
    }
    let shown = found.figures.first().is_some_and(|figure| matches!(figure.compared.word, Word::More | Word::Less));
    if let Some(by) = by.filter(|_| shown)
        && let Some(worths) = worths(study, by, found.axes.len())
    {
        found.moved_by = Some(by);
        for (axis, worth) in found.axes.iter_mut().zip(worths) {
            axis.worth = Some(worth);
        }
    }
    found.thresholds = limits(asked, &found.figures);
    found
}

/// The reason why the two have no number in common, where they have none.
fn incomparable(study: &StudyDocument, second: u32) -> Option<String> {
    let kind = |setting: u32| {
        let records = study.trials_of(setting);
        let found = records.iter().find_map(|trial| trial.record.as_deref())?;
        Some(found.stream.is_some())
    };
    let name = |setting: u32| &study.settings[setting as usize].name;
    match (kind(0), kind(second)) {
        (Some(first), Some(other)) if first != other => {
            let (streams, exchanges) = if first { (0, second) } else { (second, 0) };
            Some(format!(
                "{} measured a stream and {} exchanges: a throughput and a round trip have no unit in common",
                name(streams),
                name(exchanges)
            ))
        }
        (None, _) => Some(unmeasured(study, 0)),
        (_, None) => Some(unmeasured(study, second)),
        _ => None,
    }
}

/// The reason why a setting has no measurement: its trials failed, or there was no time for one.
fn unmeasured(study: &StudyDocument, setting: u32) -> String {
    let name = &study.settings[setting as usize].name;
    match (study.trials_of(setting).is_empty(), study.budget_ns, &study.ended) {
        (false, ..) => format!("nothing could be measured by {name}"),
        (true, Some(budget), Some(Ended::Complete)) => {
            format!("the {} that --budget allows were used up before {name} was measured", Span(budget))
        }
        (true, ..) => format!("it ended before {name} was measured"),
    }
}

impl Asked {
    /// The figures that are compared, of streams or of exchanges.
    pub fn list(&self, streams: bool) -> Vec<Figure> {
        let mut list = match (self.figures.is_empty(), streams) {
            (false, _) => self.figures.clone(),
            (true, true) => Figure::OF_STREAMS.to_vec(),
            (true, false) => Figure::OF_EXCHANGES.to_vec(),
        };
        // A limit of a figure nobody named is a wish to see it.
        for threshold in &self.thresholds {
            if !list.contains(&threshold.figure) {
                list.push(threshold.figure);
            }
        }
        list
    }
}

/// Each figure of two sides, compared.
pub fn figures(study: &StudyDocument, second: u32, asked: &Asked) -> Vec<ComparedFigure> {
    let streams = study.trials.iter().filter_map(|trial| trial.record.as_ref()).any(|record| record.stream.is_some());
    let mut list = asked.list(streams);
    // By its times alone a side that loses a fifth looks like one that loses nothing.
    if asked.figures.is_empty() && !list.contains(&Figure::Loss) && loses(study, [0, second]) {
        list.push(Figure::Loss);
    }
    let runs: Vec<Runs> = list
        .iter()
        .map(|figure| Runs { first: study.figures_of(0, *figure), second: study.figures_of(second, *figure) })
        .collect();
    let compared = compare_by(&runs, Rule::after(asked.design, &asked.looks, study.blocks));
    let all = list.into_iter().zip(runs).zip(compared);
    all.map(|((figure, Runs { first, second }), compared)| ComparedFigure { figure, compared, first, second }).collect()
}

/// True where a trial of one of these settings has requests without an answer.
fn loses(study: &StudyDocument, settings: [u32; 2]) -> bool {
    let ratios = settings.into_iter().flat_map(|setting| study.figures_of(setting, Figure::Loss));
    ratios.flatten().any(|ratio| ratio > 0.0)
}

/// The shift of each quantile, of values that stand for the runs' histograms: their order within a run is not kept, so that the
/// intervals tell how runs differ, and blocks within them are drawn as if values came in any order.
fn shifts(study: &StudyDocument, second: u32) -> Vec<Shift> {
    let of = |setting: u32| -> Vec<Vec<u64>> {
        let records = study.trials_of(setting).into_iter().filter_map(|trial| trial.record.as_deref());
        records.enumerate().filter_map(|(place, record)| standing_for(record, study.seed ^ place as u64)).collect()
    };
    let (first, other) = (of(0), of(second));
    let found = shift::shifts(&slices(&first), &slices(&other), &SHIFTED, study.seed).unwrap_or_default();
    found
        .into_iter()
        .map(|shift| Shift { q: shift.q, difference_ns: shift.difference, low_ns: shift.low, high_ns: shift.high })
        .collect()
}

fn slices(runs: &[Vec<u64>]) -> Vec<&[u64]> {
    runs.iter().map(Vec::as_slice).collect()
}

/// Values at evenly spaced ranks of a run's distribution, shuffled.
fn standing_for(record: &Record, seed: u64) -> Option<Vec<u64>> {
    let times = payload::ranked(&record.outcome.as_ref()?.response.histogram);
    let (count, taken) = (times.count(), times.count().min(STANDING_FOR));
    let rank = |place: u64| (place * count + count / 2) / taken.max(1) + 1;
    let mut values: Vec<u64> = (0..taken).filter_map(|place| times.at(rank(place).min(count))).collect();
    measure::study::shuffle(&mut values, seed);
    (!values.is_empty()).then_some(values)
}

/// The effect of each axis, where every corner was a setting.
fn worths(study: &StudyDocument, by: Figure, axes: usize) -> Option<Vec<Worth>> {
    if axes < 2 {
        return None;
    }
    let corners = corners(axes);
    let all = *corners.last()?;
    let setting = |corner: u32| match corner {
        0 => Some(0),
        corner if corner == all => Some(1),
        corner => {
            let at = study.settings.iter().position(|setting| setting.at == Place::Corner { moved: corner });
            at.and_then(|at| u32::try_from(at).ok())
        }
    };
    let columns: Vec<Vec<Option<f64>>> = corners
        .iter()
        .map(|corner| setting(*corner).map(|setting| study.figures_of(setting, by)))
        .collect::<Option<_>>()?;
    let blocks: Vec<Vec<Option<f64>>> =
        (0..study.blocks as usize).map(|block| columns.iter().map(|column| column[block]).collect()).collect();
    worth(axes, &blocks)
}

/// Each limit, and what became of it.
pub fn limits(asked: &Asked, figures: &[ComparedFigure]) -> Vec<ThresholdHeld> {
    asked.thresholds.iter().map(|threshold| held(threshold, figures)).collect()
}

fn held(threshold: &Threshold, figures: &[ComparedFigure]) -> ThresholdHeld {
    let found = figures.iter().find(|figure| figure.figure == threshold.figure);
    let held = found.map_or(Held::TooFewRuns, |figure| threshold.judge(&figure.compared));
    ThresholdHeld { threshold: *threshold, held }
}

/// The axes in which the methods of stored records differ, as far as records tell: told, not moved.
pub fn told_by_records(first: &[&Trial], second: &[&Trial]) -> Differences {
    let record = |trials: &[&Trial]| trials.iter().find_map(|trial| trial.record.clone());
    let (Some(first), Some(second)) = (record(first), record(second)) else { return Vec::new() };
    let target = |record: &Record| record.target.host.clone().unwrap_or_else(|| record.target.address.to_string());
    let (one, other) = (&first.method, &second.method);
    let stream = one.traffic.stream().is_some();
    let rows = [
        ("address", target(&first), target(&second)),
        ("carrier", one.traffic.carrier().to_string(), other.traffic.carrier().to_string()),
        ("interval", one.schedule.to_string(), other.schedule.to_string()),
        ("window", format!("{:?}", one.traffic.window()), format!("{:?}", other.traffic.window())),
        ("pacing", one.pacing.to_string(), other.pacing.to_string()),
        ("wait", one.waiting.to_string(), other.waiting.to_string()),
        ("size", one.traffic.request_bytes().to_string(), other.traffic.request_bytes().to_string()),
        ("connections", one.spread.connections.to_string(), other.spread.connections.to_string()),
    ];
    rows.into_iter()
        .filter(|(axis, first, second)| first != second && !(stream && matches!(*axis, "window" | "pacing")))
        .map(|(axis, first, second)| AxisDifference { axis: axis.to_owned(), first, second, worth: None })
        .collect()
}

#[cfg(test)]
mod tests {
    use logbook::study::Setting;
    use measure::unit::Nanos;

    use super::*;

    #[test]
    fn a_side_that_nothing_was_measured_of_says_why() {
        let setting =
            |name: &str| Setting { name: name.to_owned(), command: Vec::new(), method: None, at: Place::Side };
        let settings = vec![setting("A"), setting("B")];
        let began = crate::system::now();
        let mut study = super::super::empty(Vec::new(), began, (Design::Paired, &[]), settings, 2, 1);
        assert_eq!(unmeasured(&study, 0), "it ended before A was measured");
        study.budget_ns = Some(Nanos::secs(4));
        assert_eq!(unmeasured(&study, 0), "the 4 s that --budget allows were used up before A was measured");
        study.ended = Some(Ended::Interrupted { signal: "SIGINT".to_owned() });
        assert_eq!(unmeasured(&study, 0), "it ended before A was measured");
        study.trials.push(Trial { block: 0, setting: 1, record: None, failure: None });
        assert_eq!(unmeasured(&study, 1), "nothing could be measured by B");
    }
}
