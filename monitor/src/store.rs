//! Store of what a monitor's agents tell: one seam, with a file of one monitor behind it or a database that a team shares.
//!
//! Each batch is *added*: a minute may come in as many parts as it likes, in any order. Each part says which beats of which
//! start of an agent it holds, and the store keeps the number of the last one in the same transaction; so a part that comes
//! twice adds nothing, and what was acknowledged is on the disk. Hours are made of their minutes and days of their hours
//! ([`Store::roll`]); until an interval is made, or made anew since something came late, readers get the sum of what it is
//! to be made of. So nobody ever reads less than is kept.
//!
//! Times are seconds since 1970 UTC; intervals are named by their first second, and a day is one of UTC. Not here: clocks, detectors, words of commands.

pub mod error;
pub mod place;
pub mod postgres;
pub mod sqlite;

use std::collections::{BTreeMap, BTreeSet};

use logbook::monitor::silence::Silence;
use logbook::monitor::talk::Over;
use measure::span::Span;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use error::{Fault, StoreError};

/// One host asked by another in one way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Cell {
    /// The host that asks.
    pub from: String,
    /// The host that is asked.
    pub to: String,
    /// Protocol of the cell.
    pub over: Over,
}

/// Length of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// 60 s.
    Minute,
    /// 3,600 s.
    Hour,
    /// 86,400 s, a day of UTC.
    Day,
}

impl Level {
    /// All, the shortest first.
    pub const ALL: [Self; 3] = [Self::Minute, Self::Hour, Self::Day];

    /// Its length in seconds.
    pub const fn seconds(self) -> u64 {
        match self {
            Self::Minute => 60,
            Self::Hour => 3_600,
            Self::Day => 86_400,
        }
    }

    /// The first second of the interval that second `at` belongs to.
    pub const fn start(self, at: u64) -> u64 {
        at - at % self.seconds()
    }

    /// True for an interval of this length in more than a tenth of which the host that asked was late itself: it says little of the network.
    pub const fn is_disturbed(self, span: &Span) -> bool {
        span.disturbed * 10 > self.seconds()
    }

    /// Level of its parts; `None`: minutes are made of beats.
    pub const fn below(self) -> Option<Self> {
        match self {
            Self::Minute => None,
            Self::Hour => Some(Self::Minute),
            Self::Day => Some(Self::Hour),
        }
    }

    /// Level that is made of it; `None`: days are the longest.
    pub const fn above(self) -> Option<Self> {
        match self {
            Self::Minute => Some(Self::Hour),
            Self::Hour => Some(Self::Day),
            Self::Day => None,
        }
    }

    /// Its table.
    const fn table(self) -> &'static str {
        match self {
            Self::Minute => "minutes",
            Self::Hour => "hours",
            Self::Day => "days",
        }
    }
}

/// Purpose for which a store is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To keep: it is made where there is none, and brought to the present form where an older program made it.
    Keep,
    /// To read, from a store that is there.
    Read,
}

/// Rows that are kept in one transaction: all of them or none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// Content of beats. One start of an agent may have several parts, in the order of its beats.
    pub parts: Vec<Part>,
    /// Incidents that began, changed or ended; the latest of each id is kept.
    pub incidents: Vec<Incident>,
    /// Marks; one whose id is kept already stays as it is.
    pub marks: Vec<Mark>,
}

/// Sum of some beats of one start of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Start of the agent.
    pub instance: Uuid,
    /// The number of the first beat in it.
    pub first: u64,
    /// The number of the last.
    pub last: u64,
    /// Counts and times that they add to each minute, by its first second.
    pub minutes: Vec<(Cell, u64, Span)>,
}

/// Something that a lookout found. The columns that are searched stand beside the whole of what it said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Incident {
    /// Names it for good.
    pub id: Uuid,
    /// Kind, as the lookout names it.
    pub kind: String,
    /// Hosts that it is about, or that its zones have; empty where it is about all or none was named.
    pub hosts: Vec<String>,
    /// The earliest second in which it may have begun.
    pub onset: u64,
    /// Time at which it was noticed.
    pub begun: u64,
    /// Time at which it was over; absent: it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<u64>,
    /// Time until which it is told to nobody, or was to be when it ended; absent: no silence was about it then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_until: Option<u64>,
    /// All that was found.
    pub told: Value,
}

impl Incident {
    /// Its number, by which page, receivers and terminal name it.
    pub fn number(&self) -> u64 {
        self.id.as_u64_pair().1
    }
}

/// A silence that somebody asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptSilence {
    /// Its number in the store.
    pub number: u64,
    /// Time at which it was asked for.
    pub asked: u64,
    /// The silence, with its end and its reason.
    pub silence: Silence,
}

/// Change that a person noted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Names it for good.
    pub id: Uuid,
    /// Time of the change, seconds since 1970.
    pub at: u64,
    /// The change, as it was typed.
    pub text: String,
    /// Hosts that it is about; empty: all.
    #[serde(default)]
    pub hosts: Vec<String>,
}

/// A stretch of time that was accepted as how things should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    /// Its name. A baseline of a name that is kept replaces that one.
    pub name: String,
    /// Its first second.
    pub from: u64,
    /// The second after its last.
    pub to: u64,
    /// Hosts that it is for; empty: all.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Time at which it was accepted.
    pub accepted: u64,
    /// The incident whose time it is: that one alone ends by it; absent: those that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incident: Option<Uuid>,
}

/// Filter of incidents: those that were open at some second of the stretch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncidentFilter {
    /// The first second of it.
    pub from: u64,
    /// The second after its last.
    pub to: u64,
    /// Only those that go on.
    pub open: bool,
    /// At most so many, the latest first.
    pub most: usize,
}

impl Default for IncidentFilter {
    fn default() -> Self {
        Self { from: 0, to: LATEST, open: false, most: 1_000 }
    }
}

/// Retention of each level, in seconds; absent: for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Minutes.
    pub minutes: Option<u64>,
    /// Hours.
    pub hours: Option<u64>,
    /// Days.
    pub days: Option<u64>,
}

impl Default for Retention {
    /// Minutes for 14 days, hours for 400, days for ever.
    fn default() -> Self {
        let days = |count| Some(count * Level::Day.seconds());
        Self { minutes: days(14), hours: days(400), days: None }
    }
}

impl Retention {
    /// Retention of a level.
    pub fn of(&self, level: Level) -> Option<u64> {
        match level {
            Level::Minute => self.minutes,
            Level::Hour => self.hours,
            Level::Day => self.days,
        }
    }

    /// The first second of which a level is kept. Whole intervals of the level above are removed, so that nothing is ever
    /// made anew of a rest.
    fn edge(&self, level: Level, now: u64) -> Option<u64> {
        self.of(level).map(|kept| level.above().unwrap_or(level).start(now.saturating_sub(kept)))
    }
}

/// The last second that a store takes: in the year 36,812.
pub const LATEST: u64 = 1 << 40;

/// Keeps, adds up and finds what agents told. Each monitor and each reader opens one of its own.
pub trait Store: Send {
    /// Its place, as people name it; without a password.
    fn place(&self) -> String;

    /// Keeps all of `batch`, or none of it. A part whose beats are all kept already adds nothing, whatever it holds.
    ///
    /// # Errors
    /// [`Fault::Overlap`] where some beats of a part are kept and others are not, which only the agent can part: drop what was gathered of
    /// it and take its beats anew after [`Store::kept`]. Else what the store says: then nothing of the batch is kept, or it is all kept
    /// and only the answer was lost; giving it again is right in both cases.
    fn keep(&mut self, batch: &Batch) -> Result<(), StoreError>;

    /// The last beat that is kept of each start of an agent.
    fn kept(&mut self) -> Result<BTreeMap<Uuid, u64>, StoreError>;

    /// Makes the interval at `at` of the level anew from those it consists of. Made twice it is the same. One whose parts are no longer kept stays
    /// as it is: what comes late for it was added to it at once.
    fn roll(&mut self, level: Level, at: u64) -> Result<(), StoreError>;

    /// All cells of which anything was ever kept, in order.
    fn cells(&mut self) -> Result<Vec<Cell>, StoreError>;

    /// The first second of the latest minute of which anything is kept.
    fn latest(&mut self) -> Result<Option<u64>, StoreError>;

    /// Rows of a cell as they are, for intervals that begin from `from` to before `to`, in order. Use [`Store::history`].
    fn rows(&mut self, cell: &Cell, level: Level, from: u64, to: u64) -> Result<Vec<(u64, Span)>, StoreError>;

    /// Rows of all cells of an interval as they are, by cell. Use [`Store::slice`].
    fn all_rows(&mut self, level: Level, at: u64) -> Result<Vec<(Cell, Span)>, StoreError>;

    /// Intervals of the level, from `from` to before `to`, that are still to be made.
    fn unmade(&mut self, level: Level, from: u64, to: u64) -> Result<BTreeSet<u64>, StoreError>;

    /// Incidents, the latest first.
    fn incidents(&mut self, filter: &IncidentFilter) -> Result<Vec<Incident>, StoreError>;

    /// Marks from second `from` to before `to`, in order.
    fn marks(&mut self, from: u64, to: u64) -> Result<Vec<Mark>, StoreError>;

    /// Keeps a baseline, in place of the one of its name.
    fn accept(&mut self, baseline: &Baseline) -> Result<(), StoreError>;

    /// All baselines, by name.
    fn baselines(&mut self) -> Result<Vec<Baseline>, StoreError>;

    /// Removes a baseline; whether there was one.
    fn withdraw(&mut self, name: &str) -> Result<bool, StoreError>;

    /// Keeps a silence that is asked for at second `now`; its number.
    fn silence(&mut self, silence: &Silence, now: u64) -> Result<u64, StoreError>;

    /// Silences that are not over at second `now`, by number.
    fn silences(&mut self, now: u64) -> Result<Vec<KeptSilence>, StoreError>;

    /// Ends a silence at second `now`; whether there was one that was not over.
    fn end_silence(&mut self, number: u64, now: u64) -> Result<bool, StoreError>;

    /// Removes intervals of the level that begin before `edge`, or some of them: how much goes at a time is the store's choice. Use [`Store::retain`].
    fn remove(&mut self, level: Level, edge: u64) -> Result<(), StoreError>;

    /// Forgets starts of agents that told of nothing from second `before` on.
    fn forget(&mut self, before: u64) -> Result<(), StoreError>;

    /// Octets that it takes up on its disk.
    fn size(&mut self) -> Result<u64, StoreError>;

    /// Intervals that are over by second `now` and are to be made, or made anew since something came late; the shorter first.
    ///
    /// # Errors
    /// Errors of the store.
    fn due(&mut self, now: u64) -> Result<Vec<(Level, u64)>, StoreError> {
        let mut due = Vec::new();
        for level in [Level::Hour, Level::Day] {
            let over = (now + 1).saturating_sub(level.seconds());
            due.extend(self.unmade(level, 0, over)?.into_iter().map(|at| (level, at)));
        }
        Ok(due)
    }

    /// Removes what is older than it is to be kept, after making what it is part of. Starts of agents are remembered as long as hours are.
    ///
    /// # Errors
    /// Errors of the store; rows removed before that are removed.
    fn retain(&mut self, now: u64, retention: &Retention) -> Result<(), StoreError> {
        for level in Level::ALL {
            let Some(edge) = retention.edge(level, now) else { continue };
            // Each is made in a transaction of its own: others get their turn.
            if let Some(above) = level.above() {
                for at in self.unmade(above, 0, edge)? {
                    self.roll(above, at)?;
                }
            }
            self.remove(level, edge)?;
        }
        retention.hours.map_or(Ok(()), |kept| self.forget(now.saturating_sub(kept)))
    }

    /// Intervals of a cell that begin from `from` to before `to`, in order; those of which nothing is known are left out.
    ///
    /// # Errors
    /// Errors of the store; a damaged row by its name.
    fn history(&mut self, cell: &Cell, level: Level, from: u64, to: u64) -> Result<Vec<(u64, Span)>, StoreError> {
        let Some(below) = level.below() else { return self.rows(cell, level, from, to) };
        let unmade = self.unmade(level, from, to)?;
        let mut found: BTreeMap<u64, Span> = self.rows(cell, level, from, to)?.into_iter().collect();
        for at in unmade {
            let parts = self.history(cell, below, at, at + level.seconds())?;
            // An interval whose parts are gone has its row alone.
            if let Some(sum) = sum(parts.into_iter().map(|(_, span)| span)) {
                found.insert(at, sum);
            }
        }
        Ok(found.into_iter().collect())
    }

    /// All cells of one interval, in order.
    ///
    /// # Errors
    /// As of [`Store::history`].
    fn slice(&mut self, level: Level, at: u64) -> Result<Vec<(Cell, Span)>, StoreError> {
        let at = level.start(at);
        let rows = self.all_rows(level, at)?;
        let Some(below) = level.below() else { return Ok(rows) };
        if self.unmade(level, at, at + 1)?.is_empty() {
            return Ok(rows);
        }
        let mut sums = BTreeMap::<Cell, Span>::new();
        for part in (at..at + level.seconds()).step_by(below.seconds() as usize) {
            for (cell, span) in self.slice(below, part)? {
                sums.entry(cell).or_default().add(&span);
            }
        }
        let mut found: BTreeMap<Cell, Span> = rows.into_iter().collect();
        found.extend(sums);
        Ok(found.into_iter().collect())
    }
}

/// The sum of spans; `None` of none.
pub fn sum(spans: impl Iterator<Item = Span>) -> Option<Span> {
    spans.reduce(|mut sum, span| {
        sum.add(&span);
        sum
    })
}

/// A number of a store that is never below 0 where it is sound.
fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// A time as stores keep it.
fn second(at: u64) -> Result<i64, Fault> {
    match i64::try_from(at) {
        Ok(second) if at <= LATEST => Ok(second),
        _ => Err(Fault::Impossible(format!("a time {at} seconds after 1970"))),
    }
}

/// Text of a silence in its row; its number is the row's.
fn asked(silence: &Silence, now: u64) -> Result<String, Fault> {
    let asked = KeptSilence { number: 0, asked: now, silence: silence.clone() };
    serde_json::to_string(&asked).map_err(|cause| Fault::Impossible(format!("a silence ({cause})")))
}

/// A silence as it is, of what a row holds.
fn asked_in(told: &str, number: i64, until: i64) -> Result<KeptSilence, Fault> {
    let read = serde_json::from_str::<KeptSilence>(told);
    let mut asked =
        read.map_err(|cause| Fault::Damaged { what: format!("silences, {number}"), why: cause.to_string() })?;
    (asked.number, asked.silence.until) = (count(number), count(until));
    Ok(asked)
}

/// The number of a silence as stores keep it; what is beyond all is none.
fn silence_number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The number of a beat as stores keep it.
fn beat(number: u64) -> Result<i64, Fault> {
    i64::try_from(number).map_err(|_| Fault::Impossible(format!("a beat of number {number}")))
}

/// A row of a span, as an error names it.
fn row_named(level: Level, at: i64, cell: i64) -> String {
    format!("{}, cell {cell} at {at}", level.table())
}

fn json(document: &impl Serialize) -> String {
    serde_json::to_string(document).expect("our documents have string keys alone")
}

/// Returns true where a part is to be added, beats up to `kept` being kept.
fn is_new(part: &Part, kept: Option<u64>) -> Result<bool, Fault> {
    let kept = kept.unwrap_or(0);
    match part {
        Part { last, .. } if *last <= kept => Ok(false),
        Part { first, .. } if *first <= kept => {
            Err(Fault::Overlap { instance: part.instance, first: *first, last: part.last, kept })
        }
        _ => Ok(true),
    }
}

/// The levels from which on it is kept, for what is added to a minute: the shortest of which that minute is not yet removed.
fn level_of(minute: u64, edges: &BTreeMap<Level, u64>) -> Level {
    let is_kept = |level: &Level| edges.get(level).is_none_or(|edge| minute >= *edge);
    Level::ALL.into_iter().find(is_kept).unwrap_or(Level::Day)
}

#[cfg(test)]
pub mod tests;
