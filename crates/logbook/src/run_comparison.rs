//! Two runs of plans, compared cell by cell, as a document of its own: what a migration changed, between which hosts, how surely.
//!
//! A cell of one run belongs to that of the other with the same hosts, kind of address and method; the repeats of a cell are its
//! runs, of which each gives one number. Not here: how two sets of numbers are judged (`measure::comparison`).

use measure::comparison::attribution::{Labels, Row, Shared, common};
use measure::study::figure::Figure;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::document::Tool;
use crate::document::{Form, Mark};
use crate::host::Address;
use crate::moment::Moment;
use crate::run::{Place, RunDocument};
use crate::study::{ComparedFigure, ThresholdHeld};

/// Two runs, compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunComparisonDocument {
    /// Its form.
    #[serde(flatten)]
    pub mark: Mark<RunComparisonDocument>,
    /// The program that compared.
    pub tool: Tool,
    /// The command line as given, the program's name first.
    pub command: Vec<String>,
    /// Time of the comparison.
    pub started: Moment,
    /// The run that the other is compared with.
    pub first: ComparedRun,
    /// The other run.
    pub second: ComparedRun,
    /// Cells that both have, in order.
    pub cells: Vec<ComparedCell>,
    /// Figures of cells that were judged together (Westfall and Young), a count: each is called different only where none of the others
    /// would come to differ as much by chance.
    pub judged_together: u32,
    /// Repeats of each cell with which so many could show a difference at all, a count.
    pub fewest_repeats: u32,
    /// Methods that have one name and two meanings.
    pub methods: Vec<MethodDifference>,
    /// Hosts and groups of hosts that what is worse has in common.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<SharedBy>,
    /// Cells that the first run alone has.
    pub first_alone: Vec<Spot>,
    /// Cells that the second run alone has.
    pub second_alone: Vec<Spot>,
}

impl Form for RunComparisonDocument {
    const FORMAT: &'static str = "sonde-run-comparison";
    const NAME: &'static str = "comparison of runs";
}

/// A run that is compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedRun {
    /// Its name.
    #[cfg_attr(feature = "schema", schemars(with = "String", extend("format" = "uuid")))]
    pub id: Uuid,
    /// Start of the run.
    pub started: Moment,
    /// Its plan's name; absent where it has none.
    pub plan: Option<String>,
}

/// Place of repeats in a run: method, address, and both hosts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spot {
    /// The method's name in the plan.
    pub method: String,
    /// Kind of the address.
    pub over: Address,
    /// The host that measured.
    pub from: String,
    /// The host that answered.
    pub to: String,
}

/// A cell that both runs have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedCell {
    /// Its place in both runs.
    pub spot: Spot,
    /// Figures that are compared; each number belongs to a repeat, in their order.
    pub figures: Vec<ComparedFigure>,
    /// The limits that were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<ThresholdHeld>,
}

/// Labels that the worse values of one kind have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SharedBy {
    /// The method's name in the plan.
    pub method: String,
    /// Kind of the address.
    pub over: Address,
    /// The figure that is worse.
    pub figure: Figure,
    /// Labels in common, and the number of cells that have them.
    #[serde(flatten)]
    pub shared: Shared,
}

impl RunComparisonDocument {
    /// Labels that the worse cells have in common, of each method, kind of address and figure, where the hosts have these
    /// labels.
    pub fn shared_by(cells: &[ComparedCell], labels: &Labels<'_>) -> Vec<SharedBy> {
        let mut groups: Vec<(&str, Address, Figure, Vec<Row<'_>>)> = Vec::new();
        for ComparedCell { spot, figures, .. } in cells {
            for figure in figures {
                let row = Row { from: &spot.from, to: &spot.to, is_worse: figure.is_better() == Some(false) };
                let is_its = |group: &&mut (&str, Address, Figure, _)| {
                    (group.0, group.1, group.2) == (&spot.method, spot.over, figure.figure)
                };
                match groups.iter_mut().find(is_its) {
                    Some(group) => group.3.push(row),
                    None => groups.push((&spot.method, spot.over, figure.figure, vec![row])),
                }
            }
        }
        let told = |(method, over, figure, rows): (&str, Address, Figure, Vec<Row<'_>>)| -> Vec<SharedBy> {
            let all = common(&rows, labels).into_iter();
            all.map(|shared| SharedBy { method: method.to_owned(), over, figure, shared }).collect()
        };
        groups.into_iter().flat_map(told).collect()
    }
}

/// A method that has one name and two meanings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MethodDifference {
    /// Its name.
    pub method: String,
    /// Method of that name in the first run.
    pub first: String,
    /// Method of that name in the second run.
    pub second: String,
}

impl From<&Place> for Spot {
    fn from(place: &Place) -> Self {
        let Place { from, to, over, method, .. } = place;
        Self { method: method.clone(), over: *over, from: from.clone(), to: to.clone() }
    }
}

impl From<&RunDocument> for ComparedRun {
    fn from(run: &RunDocument) -> Self {
        Self { id: run.head.id, started: run.head.started, plan: run.plan.name.clone() }
    }
}
