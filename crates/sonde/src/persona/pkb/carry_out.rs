//! The seam to what runs a plan, and to what makes samples of what it found.
//!
//! The rest of this folder turns words into an [`Order`], and what comes back into words; it starts nothing itself.

use logbook::plan::Plan;
use logbook::record::Record;
use logbook::run::{RunDocument, Stage};
use uuid::Uuid;

use crate::failure::Failure;
use crate::persona::pkb::ask::{Ask, Row};

/// A plan to be carried out.
#[derive(Clone, Debug)]
pub struct Order<'a> {
    /// Our run: a new one, or the one that earlier stages began.
    pub id: Uuid,
    /// True where earlier stages began it: then the run goes on with its cells and its hosts.
    pub resume: bool,
    /// Its stages, in order, without gaps.
    pub stages: &'a [Stage],
    /// The plan.
    pub plan: &'a Plan,
    /// The command line as given, the program's name first.
    pub command: &'a [String],
}

/// Result of an order.
#[derive(Clone, Debug)]
pub struct Carried {
    /// The run's document, with the cells of all its stages so far.
    pub run: RunDocument,
    /// The records that its cells name.
    pub records: Vec<Record>,
}

/// Samples as they are to be written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// JSON, one sample a line, each with a line end.
    pub lines: String,
    /// The same for the table at the end.
    pub rows: Vec<Row>,
}

/// Runner of plans and maker of samples.
pub trait Runner {
    /// Does the stages of a plan, and comes back when they are done, failed or stopped.
    ///
    /// # Errors
    /// The fault that kept it from being begun. Faults on the way stand in the document.
    fn carry_out(&self, order: &Order<'_>) -> Result<Carried, Failure>;

    /// The samples that are asked for.
    ///
    /// # Errors
    /// The fault that keeps them from being made.
    fn samples(&self, ask: &Ask, carried: &Carried) -> Result<Samples, Failure>;
}
