//! Several settings measured against each other, as a document of its own: a comparison, a sweep, the causes of a round trip, or claims.
//!
//! It holds the settings, every trial with its whole record in the order they were made, and what was found: it can be judged
//! again from it alone. A study that was interrupted holds what it had, and says how it ended: the order of what is missing
//! follows from its seed. Versions are kept as the record's are; the records within have versions of their own.

use measure::claim::{Claim, ClaimFinding, Series, Term};
use measure::comparison::{Compared, Design, Look, Rule, Word};
use measure::method::Method;
use measure::statistics::loss;
use measure::study::figure::Figure;
use measure::study::moves::Worth;
use measure::study::range::Values;
use measure::study::threshold::{Held, Threshold};
use measure::unit::Nanos;
use measure::why::{Cause, Explanation};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::document::{Form, Head};
use crate::failure::Failure;
use crate::record::{Ended, Record};

/// A study: what was asked, which trials were made, and what they say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyDocument {
    /// Its name, and who made it when.
    #[serde(flatten)]
    pub head: Head<StudyDocument>,
    /// Question of the study.
    pub question: Question,
    /// The measured settings, each by one number of the trials: the first is a comparison's first side.
    pub settings: Vec<Setting>,
    /// Trials of each setting that were to be made, a number of blocks: each block has one of each. In a comparison that
    /// ended early: those that were made until then. With stored records: the most of one side.
    pub blocks: u32,
    /// Seed of the order in which a block's trials were made, and of every draw of the analysis, a number without unit.
    pub seed: u64,
    /// Announced duration, nanoseconds; absent where nothing was measured.
    pub takes_ns: Option<Nanos>,
    /// Allowed duration, nanoseconds; absent where none was given.
    pub budget_ns: Option<Nanos>,
    /// The trials, in the order they were made.
    pub trials: Vec<Trial>,
    /// Its end; absent in what was written while it went on.
    pub ended: Option<Ended>,
    /// Results of a comparison: each other side against the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<Comparison>,
    /// The claims that were stated, in their order, and what the trials say of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<StatedClaim>,
    /// The measurement that was made again, where a comparison is of an earlier one with its repetition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rerun: Option<Rerun>,
    /// Explanation of a round trip; absent where that was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
}

impl Form for StudyDocument {
    const FORMAT: &'static str = "sonde-study";
    const NAME: &'static str = "study";
}

/// Question of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Question {
    /// Do these differ, by how much, and by which axis?
    Compare {
        /// The order in which the runs were made.
        design: Design,
        /// Looks at which it was judged, where it was to end as soon as it is settled: it ended early where its blocks are
        /// fewer than the last look's runs. Without looks it was judged once.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        looks: Vec<Look>,
    },
    /// The course of figures along a setting.
    Sweep {
        /// The axis, as it was named.
        axis: String,
        /// Type of its values.
        values: Values,
        /// Figures of each point; the first is drawn. Times are nanoseconds, losses shares, rates a second, throughput bytes a
        /// second.
        figures: Vec<Figure>,
        /// The words of each curve, without those of its points.
        methods: Vec<Vec<String>>,
    },
    /// Where does the time go, and which switch shows it?
    Why {
        /// The interval at which causes were looked for, nanoseconds.
        interval_ns: Nanos,
        /// The words of what was looked at, no switch moved.
        method: Vec<String>,
        /// The causes that have a switch: bit k, from 0, of a corner is set where the k-th was moved.
        switches: Vec<Cause>,
    },
    /// Do these claims hold?
    Claims {
        /// The name of the plan that states them.
        name: String,
        /// Its subject, in a line; absent where the plan has none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// The moments at which they are judged: a study ends at the first that settles all.
        looks: Vec<Look>,
    },
}

/// One thing that trials were made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Setting {
    /// Its name for readers.
    pub name: String,
    /// The words that make a trial of it, behind the program's name; of stored records, their files.
    pub command: Vec<String>,
    /// The method it stands for; absent where a stored side has several.
    pub method: Option<Method>,
    /// Place of the setting.
    pub at: Place,
}

/// Place of a setting in its study.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "as", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Place {
    /// A side of a comparison.
    #[default]
    Side,
    /// Between the two sides: some axes moved to the second.
    Corner {
        /// The corner, a number of bits without unit: bit k, from 0, is set where the k-th axis that differs was moved.
        moved: u32,
    },
    /// A point of a curve.
    Point {
        /// Number of the curve, from 0.
        series: u32,
        /// Name of the curve.
        of: String,
        /// The axis's value as it was typed.
        value: String,
        /// The same as a number, in the axis's unit: nanoseconds, bytes, events or bits a second, or a count; absent where it is a
        /// word. 0 of an interval is back to back.
        number: Option<f64>,
    },
    /// Back to back, all switches moved: what an exchange costs at its best.
    Floor,
    /// A measurement that claims name.
    Measurement,
    /// No switch moved, and the peer on a CPU of its host.
    PeerCpu {
        /// The CPU, by its number there.
        cpu: u32,
    },
}

/// One run of one setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trial {
    /// Number of the block, from 0.
    pub block: u32,
    /// Number of the setting, from 0.
    pub setting: u32,
    /// The whole record, as `record.v1.json` describes it; absent where nothing was measured.
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Map<String, serde_json::Value>>"))]
    pub record: Option<Box<Record>>,
    /// The reason why nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

/// A claim of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatedClaim {
    /// The claim.
    pub claim: Claim,
    /// The words of somebody else, as of an article; absent where the plan has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// Its verdict by the trials; absent before they are judged, and where it was not measured.
    pub finding: Option<ClaimFinding>,
    /// The reason where it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmeasured: Option<String>,
}

/// An earlier measurement that was made again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rerun {
    /// The names of the earlier records, UUIDs.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub of: Vec<Uuid>,
    /// Facts of the hosts and their programs that are not as they were, each with what it was and what it is.
    pub environment: Vec<AxisDifference>,
    /// Differences between the two methods that the command alone does not show, each a sentence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<String>,
}

/// Result of one side against the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// The setting of the second side, a number of its own from 0; the first side is setting 0.
    pub second: u32,
    /// Compared figures; of several, each is judged with the others considered (Holm).
    pub figures: Vec<ComparedFigure>,
    /// Distance of each quantile of the second side from the first's.
    pub shifts: Vec<Shift>,
    /// The axes in which the two methods differ.
    pub axes: Vec<AxisDifference>,
    /// The figure by which the axes were moved, where they were.
    pub moved_by: Option<Figure>,
    /// The limits that were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<ThresholdHeld>,
    /// The reason why the two cannot be compared, where they cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomparable: Option<String>,
}

/// A figure, compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedFigure {
    /// The figure. Times are nanoseconds, losses shares, rates a second, throughput bytes a second.
    pub figure: Figure,
    /// Result of the runs.
    pub compared: Compared,
    /// Each run's number on the first side, in the order of blocks, in the unit of the figure; absent where a run has none.
    pub first: Vec<Option<f64>>,
    /// The same on the second side, in the unit of the figure.
    pub second: Vec<Option<f64>>,
}

impl ComparedFigure {
    /// True where a significant difference is one for the better; absent where none was shown.
    pub fn is_better(&self) -> Option<bool> {
        match self.compared.word {
            Word::More => Some(self.figure.more_is_better()),
            Word::Less => Some(!self.figure.more_is_better()),
            Word::NotShown | Word::TooFewRuns => None,
        }
    }
}

/// Distance of a quantile of the second side from that of the first: the shift function (Doksum 1974).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shift {
    /// The quantile, a share 0 to 1.
    pub q: f64,
    /// The difference, nanoseconds.
    pub difference_ns: f64,
    /// Lower end of the 95 % interval, nanoseconds; bootstrap over runs and blocks of values within.
    pub low_ns: f64,
    /// Upper end, nanoseconds.
    pub high_ns: f64,
}

/// An axis in which two methods differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AxisDifference {
    /// Its name.
    pub axis: String,
    /// Value of the first side there.
    pub first: String,
    /// Value of the second side there.
    pub second: String,
    /// Effect of moving it; absent where it was not moved.
    pub worth: Option<Worth>,
}

/// A limit and what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThresholdHeld {
    /// The limit.
    pub threshold: Threshold,
    /// Result of it.
    pub held: Held,
}

impl StudyDocument {
    /// The trials of one setting, by block.
    pub fn trials_of(&self, setting: u32) -> Vec<&Trial> {
        let mut trials: Vec<&Trial> = self.trials.iter().filter(|trial| trial.setting == setting).collect();
        trials.sort_by_key(|trial| trial.block);
        trials
    }

    /// The number that each block's trial of a setting has for `figure`; absent where a block has none.
    pub fn figures_of(&self, setting: u32, figure: Figure) -> Vec<Option<f64>> {
        self.numbers_of(setting, &|record| figure.of(record.outcome.as_ref(), record.stream.as_ref()))
    }

    /// The reasons of the trials whose peer went away, in their order.
    pub fn broken_off(&self) -> impl Iterator<Item = &str> {
        let records = self.trials.iter().filter_map(|trial| trial.record.as_ref());
        records.filter_map(|record| match &record.ended {
            Ended::PeerLost { reason } => Some(reason.as_str()),
            Ended::Complete | Ended::Interrupted { .. } => None,
        })
    }

    /// The number that `of` finds in each block's record of a setting; absent where a block has none.
    pub fn numbers_of(&self, setting: u32, of: &dyn Fn(&Record) -> Option<f64>) -> Vec<Option<f64>> {
        let mut numbers = vec![None; self.blocks as usize];
        for trial in self.trials_of(setting) {
            if let (Some(number), Some(record)) = (numbers.get_mut(trial.block as usize), &trial.record) {
                *number = of(record);
            }
        }
        numbers
    }

    /// The first setting that lies there, a number of its own from 0.
    pub fn setting_at(&self, place: &Place) -> Option<u32> {
        let at = self.settings.iter().position(|setting| setting.at == *place)?;
        u32::try_from(at).ok()
    }

    /// The rule by which a comparison is judged, once more too; `None` of what is none.
    pub fn rule(&self) -> Option<Rule> {
        match &self.question {
            Question::Compare { design, looks } => Some(Rule::after(*design, looks, self.blocks)),
            _ => None,
        }
    }

    /// The series that the whole blocks have of a claim's figure: of the measurement that is named so.
    pub fn series(&self, term: &Term) -> Series {
        let Some(setting) = self.settings.iter().position(|setting| setting.name == term.of) else {
            return Series::default();
        };
        let setting = u32::try_from(setting).unwrap_or(u32::MAX);
        let sent = |record: &Record| record.outcome.as_ref().map(|outcome| loss::sent(&outcome.counts) as f64);
        let sent = self.numbers_of(setting, &sent).into_iter().map(|sent| sent.unwrap_or(0.0) as u64).collect();
        Series { values: self.figures_of(setting, term.figure), sent }
    }

    /// Trials that were to be made.
    pub fn planned(&self) -> usize {
        self.blocks as usize * self.settings.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Line;
    use crate::fixture;
    use crate::read::{Document, ReadError};
    use serde_json::{Value, json};

    #[test]
    fn a_study_is_read_as_it_was_written() {
        let study = fixture::study();
        let text = study.to_json().unwrap();
        assert_eq!(Document::read(&text), Ok(Document::Study(Box::new(study.clone()))));
        let wrong = ReadError::NotARecord { found: Some("sonde-study".to_owned()) };
        assert_eq!(Record::read(&text), Err(wrong), "it is not one record");
        let validator = jsonschema::validator_for(&crate::schema::study_schema()).unwrap();
        let faults: Vec<String> =
            validator.iter_errors(&serde_json::from_str(&text).unwrap()).map(|fault| fault.to_string()).collect();
        assert_eq!(faults, [] as [String; 0]);
        let lines = [Line::Trial(Box::new(study.trials[0].clone())), Line::Studied(Box::new(study.clone()))];
        let text: String = lines.iter().map(Line::to_json).collect();
        assert_eq!(Document::read(&text), Ok(Document::Study(Box::new(study))));
    }

    #[test]
    fn a_trial_may_have_no_record() {
        let mut study = serde_json::to_value(fixture::study()).unwrap();
        study["trials"][1]["record"] = Value::Null;
        let Ok(Document::Study(found)) = Document::read(&study.to_string()) else { panic!("not read") };
        assert!(found.trials[0].record.is_some() && found.trials[1].record.is_none());
    }

    #[test]
    fn a_later_or_broken_study_is_called_so() {
        let mut study = serde_json::to_value(fixture::study()).unwrap();
        study["version"] = json!(2);
        let read = Document::read(&study.to_string());
        assert_eq!(read, Err(ReadError::FromTheFuture { what: "study", version: 2, newest: 1 }));
        study["version"] = json!(1);
        study["settings"] = json!(3);
        let read = Document::read(&study.to_string());
        assert!(matches!(read, Err(ReadError::Malformed { what: "study", .. })));
    }

    #[test]
    fn numbers_stand_at_their_blocks() {
        let mut study = fixture::study();
        study.blocks = 3;
        let numbers = study.figures_of(1, Figure::Loss);
        assert_eq!(numbers.len(), 3);
        assert!(numbers[0].is_some() && numbers[1..] == [None, None], "one block was made");
    }
}
