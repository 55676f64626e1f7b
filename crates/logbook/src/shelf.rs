//! Store of runs and their records: one seam, so that a file of one user and a database that a team shares are the same to
//! whoever keeps and reads.
//!
//! A record is never rewritten, and neither is a cell. Only the parts of a run that move on are rewritten: its hosts, its
//! stages, its end. A thing that is given twice is kept once, so that whoever does not know whether something was kept may
//! give it again. [`keeper`] is what a run writes through: what cannot be kept here is spooled beside ([`spool`]) and comes
//! here later.

pub mod error;
pub mod item;
pub mod keeper;
pub mod spool;
pub mod sqlite;

use std::fmt;
use std::ops::ControlFlow;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::host::Address;
use crate::moment::Moment;
use crate::record::{Ended, Record};
use crate::run::{Cell, HostSeen, PairCheck, RunDocument, Stage};
use crate::shelf::error::ShelfError;

/// The word for the run that was started last.
pub const LAST: &str = "last";
/// Fewest digits of a name that are taken for one: shorter words are more often something else.
pub const FEWEST_DIGITS: usize = 4;

/// Store of runs and records.
pub trait Shelf: fmt::Debug + Send {
    /// Its place, for messages.
    fn place(&self) -> String;

    /// Sets the longest wait of a write while another one writes.
    fn wait(&mut self, patience: Duration);

    /// Keeps a run at its start; its checks and cells, where it has some already, too.
    fn begin(&mut self, run: &RunDocument) -> Result<(), ShelfError>;

    /// Keeps a cell with its record, both or neither. Without `record` the one that the cell names has to be here.
    fn add_cell(&mut self, run: Uuid, cell: &Cell, record: Option<&Record>) -> Result<(), ShelfError>;

    /// Keeps what answered at a pair.
    fn add_check(&mut self, run: Uuid, check: &PairCheck) -> Result<(), ShelfError>;

    /// Replaces what moves on in a run.
    fn advance(&mut self, run: Uuid, progress: &Progress) -> Result<(), ShelfError>;

    /// Keeps a record that belongs to no run.
    fn add_record(&mut self, record: &Record) -> Result<(), ShelfError>;

    /// Removes a run with its checks, its cells, and those of its records that no other run has.
    fn remove(&mut self, run: Uuid) -> Result<(), ShelfError>;

    /// The runs that are wanted, the latest first.
    fn runs(&self, filter: &RunFilter) -> Result<Vec<RunSummary>, ShelfError>;

    /// The records that are wanted, the latest first.
    fn records(&self, filter: &RecordFilter) -> Result<Vec<RecordSummary>, ShelfError>;

    /// Run or record that `word` names: the start of a run's id, else of a record's, or [`LAST`].
    fn find(&self, word: &str) -> Result<Found, ShelfError>;

    /// The run of this name, its cells in the order they were kept.
    fn run(&self, id: Uuid) -> Result<RunDocument, ShelfError>;

    /// The same without what grows with what was measured: its hosts, checks, stages and cells.
    fn head(&self, id: Uuid) -> Result<RunDocument, ShelfError>;

    /// The record of this name.
    fn record(&self, id: Uuid) -> Result<Record, ShelfError>;

    /// Tells each record of a run with its cell, in the order they were kept, until `each` has enough.
    fn records_of(&self, run: Uuid, filter: &CellFilter, each: EachRecord<'_>) -> Result<(), ShelfError>;
}

/// Receiver of each record of a run.
pub type EachRecord<'a> = &'a mut dyn FnMut(Cell, Record) -> ControlFlow<()>;

/// Progress of a run: its parts that change while it goes on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// State of each host until now.
    pub hosts: Vec<HostSeen>,
    /// Stages that were done.
    pub stages: Vec<Stage>,
    /// End of the run; absent while it goes on.
    pub ended: Option<Ended>,
}

impl Progress {
    /// That of `run`.
    pub fn of(run: &RunDocument) -> Self {
        Self { hosts: run.hosts.clone(), stages: run.stages.clone(), ended: run.ended.clone() }
    }
}

/// Filter of runs; an absent condition excludes none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Those started then or later.
    pub since: Option<Timestamp>,
    /// Those started before then.
    pub before: Option<Timestamp>,
    /// Those whose plan has this in its name, letters of either case.
    pub plan: Option<String>,
    /// So many, a count.
    pub limit: Option<u32>,
}

/// A run in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunSummary {
    /// Its name.
    #[cfg_attr(feature = "schema", schemars(with = "String", extend("format" = "uuid")))]
    pub id: Uuid,
    /// Start of the run.
    pub started: Moment,
    /// Its plan's name; absent where it has none.
    pub plan: Option<String>,
    /// Hosts of its plan, a count.
    pub hosts: u64,
    /// Places that were measured whole, a count.
    pub done: u64,
    /// Places where nothing was measured, or not all, a count.
    pub failed: u64,
    /// Places that were to be measured, a count; absent where the run did not say.
    pub planned: Option<u64>,
    /// End of the run; absent while it goes on, and where it was killed.
    pub ended: Option<Ended>,
}

/// Filter of records; an absent condition excludes none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordFilter {
    /// Those started then or later.
    pub since: Option<Timestamp>,
    /// Those of this host or address.
    pub target: Option<String>,
    /// So many, a count.
    pub limit: Option<u32>,
}

/// A record in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordSummary {
    /// Its name.
    pub id: Uuid,
    /// Start of the measurement.
    pub started: Moment,
    /// The host as typed, or its address.
    pub target: String,
    /// Its method on one line.
    pub method: String,
    /// The run it belongs to; absent where it stands alone.
    pub run: Option<Uuid>,
}

/// Filter of a run's cells; an absent condition excludes none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CellFilter {
    /// Measured by this host.
    pub from: Option<String>,
    /// Answered by this host.
    pub to: Option<String>,
    /// Over this address.
    pub over: Option<Address>,
    /// By the method of this name.
    pub method: Option<String>,
}

/// Run or record that a word names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A run.
    Run(Uuid),
    /// A record.
    Record(Uuid),
}

/// The digits of a name that `word` starts, without hyphens and in small letters; `None` where it starts none.
///
/// ```
/// use logbook::shelf::digits;
/// assert_eq!(digits("0199F2AB-12").as_deref(), Some("0199f2ab12"));
/// assert_eq!(digits("db1.example"), None);
/// ```
pub fn digits(word: &str) -> Option<String> {
    let digits: String =
        word.chars().filter(|letter| *letter != '-').map(|letter| letter.to_ascii_lowercase()).collect();
    let hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    (hexadecimal && (FEWEST_DIGITS..=32).contains(&digits.len()) && !word.starts_with('-')).then_some(digits)
}

/// The start of `id` by which people call it: the millisecond it was given, which two runs hardly share.
///
/// ```
/// let id = "0199f2ab-1234-7abc-8def-0123456789ab".parse().unwrap();
/// assert_eq!(logbook::shelf::short(id), "0199f2ab-1234");
/// ```
pub fn short(id: Uuid) -> String {
    id.hyphenated().to_string()[..13].to_owned()
}
