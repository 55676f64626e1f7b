//! The seam to what runs a plan, and to what makes samples of what it found.
//!
//! The rest of this folder turns words into an [`Order`], and what comes back into words; it starts nothing itself.

use std::path::Path;

use logbook::plan::Plan;
use logbook::record::Record;
use logbook::run::{RunDocument, Stage};
use uuid::Uuid;

use crate::failure::Failure;
use crate::persona::pkb::ask::{Ask, Row};
use crate::persona::pkb::provision::Machines;

/// A plan to be carried out.
#[derive(Clone, Debug)]
pub struct Order<'a> {
    /// The benchmark's name in the run: `netperf0`.
    pub uid: &'a str,
    /// The run's name in PKB's words: 1 to 12 letters and digits.
    pub run_uri: &'a str,
    /// Which of the run's benchmarks it is, a count from 0: with `run_uri` it names what is made on a cloud.
    pub place: usize,
    /// Our run: a new one, or the one that earlier stages began.
    pub id: Uuid,
    /// The run's folder, where hosts that are made are listed.
    pub folder: &'a Path,
    /// Whether earlier stages began it: then what it holds is gone on with, its hosts among it.
    pub resume: bool,
    /// Its stages, in order, without gaps.
    pub stages: &'a [Stage],
    /// The plan. It has no hosts where machines are to be made: those that were made take their place, in order.
    pub plan: &'a Plan,
    /// The machines to be made by the stage that provisions, and removed by the one that tears down.
    pub machines: Option<&'a Machines>,
    /// The command line as given, the program's name first.
    pub command: &'a [String],
}

/// What came of it.
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

/// Who carries out, and makes samples.
pub trait Runner {
    /// Does the stages of a plan, and comes back when they are done, failed or stopped.
    ///
    /// # Errors
    /// What kept it from being begun. What failed on the way stands in the document.
    fn carry_out(&self, order: &Order<'_>) -> Result<Carried, Failure>;

    /// The samples that are asked for.
    ///
    /// # Errors
    /// What keeps them from being made.
    fn samples(&self, ask: &Ask, carried: &Carried) -> Result<Samples, Failure>;
}
