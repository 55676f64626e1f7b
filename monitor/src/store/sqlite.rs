//! A store in one file: `SQLite`, with its journal beside it while it is open.
//!
//! An acknowledged write is on the disk: the journal is written ahead (WAL) and flushed with each transaction. Minutes lie
//! by time, so that a minute of all cells is written in one place, and a removal frees whole pages, which the next minutes
//! fill: the file stops growing where removing begins, and is never rewritten as a whole.

mod form;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use logbook::monitor::silence::Silence;
use logbook::monitor::talk::Over;
use measure::span::Span;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::error::{Fault, StoreError};
use super::{
    Baseline, Batch, Cell, Incident, IncidentFilter, KeptSilence, LATEST, Level, Mark, Part, Purpose, Store, asked,
    asked_in, beat, count, is_new, json, level_of, row_named, second, silence_number,
};

/// Cells whose sums are in memory at a time while an interval is made.
const AT_ONCE: i64 = 2_048;

/// A store in a file.
pub struct SqliteStore {
    path: PathBuf,
    connection: Connection,
}

impl SqliteStore {
    /// The store in the file at `path`.
    ///
    /// # Errors
    /// None is there, where it is only to be read; a file that is something else, that is damaged, that a later program made; what the system says.
    pub fn open(path: &Path, purpose: Purpose) -> Result<Self, StoreError> {
        let failed = |fault| StoreError { place: path.display().to_string(), fault };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        if purpose == Purpose::Keep {
            flags |= OpenFlags::SQLITE_OPEN_CREATE;
            if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
                let told = |cause: std::io::Error| failed(Fault::Engine(format!("cannot make its folder: {cause}")));
                std::fs::create_dir_all(folder).map_err(told)?;
            }
        } else if let Err(cause) = std::fs::metadata(path) {
            let absent = cause.kind() == std::io::ErrorKind::NotFound;
            return Err(failed(if absent { Fault::Absent } else { Fault::Engine(cause.to_string()) }));
        }
        if path.is_dir() {
            return Err(failed(Fault::NotOurs("it is a folder".to_owned())));
        }
        let opened = Connection::open_with_flags(path, flags).map_err(|error| of_engine(&error));
        let connection = opened.and_then(|connection| form::prepared(connection, purpose)).map_err(failed)?;
        Ok(Self { path: path.to_owned(), connection })
    }

    /// Does something in one transaction.
    fn within<T>(&mut self, act: impl FnOnce(&Transaction) -> Result<T, Fault>) -> Result<T, StoreError> {
        let done = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(Fault::from);
        let done = done.and_then(|step| {
            let done = act(&step)?;
            step.commit()?;
            Ok(done)
        });
        done.map_err(|fault| self.failed(fault))
    }

    /// Reads something from one state of the store.
    fn read<T>(&mut self, act: impl FnOnce(&Connection) -> Result<T, Fault>) -> Result<T, StoreError> {
        let done = self.connection.transaction().map_err(Fault::from).and_then(|step| act(&step));
        done.map_err(|fault| self.failed(fault))
    }

    fn failed(&self, fault: Fault) -> StoreError {
        StoreError { place: self.place(), fault }
    }
}

/// Error of the engine, as one of ours.
fn of_engine(error: &rusqlite::Error) -> Fault {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Fault::Locked,
        Some(ErrorCode::ReadOnly) => Fault::ReadOnly,
        Some(ErrorCode::DiskFull) => Fault::Full,
        Some(ErrorCode::NotADatabase) => Fault::NotOurs("it is no SQLite file".to_owned()),
        Some(ErrorCode::DatabaseCorrupt) => Fault::Damaged { what: "the file".to_owned(), why: error.to_string() },
        _ => Fault::Engine(error.to_string()),
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        of_engine(&error)
    }
}

impl Store for SqliteStore {
    fn place(&self) -> String {
        self.path.display().to_string()
    }

    fn keep(&mut self, batch: &Batch) -> Result<(), StoreError> {
        self.within(|step| {
            let edges = edges(step)?;
            for part in &batch.parts {
                keep_part(step, part, &edges)?;
            }
            let mut incident = step.prepare_cached(
                "INSERT INTO incidents (id, onset, begun, ended, told) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (id) DO UPDATE SET onset = ?2, begun = ?3, ended = ?4, told = ?5",
            )?;
            for kept in &batch.incidents {
                let ended = kept.ended.map(second).transpose()?;
                incident.execute(params![id(kept.id), second(kept.onset)?, second(kept.begun)?, ended, json(kept)])?;
            }
            let mut mark = step.prepare_cached("INSERT OR IGNORE INTO marks (id, at, told) VALUES (?1, ?2, ?3)")?;
            for kept in &batch.marks {
                mark.execute(params![id(kept.id), second(kept.at)?, json(kept)])?;
            }
            Ok(())
        })
    }

    fn kept(&mut self) -> Result<BTreeMap<Uuid, u64>, StoreError> {
        self.read(|connection| {
            let mut agents = connection.prepare_cached("SELECT instance, upto FROM agents")?;
            let mut rows = agents.query([])?;
            let mut kept = BTreeMap::new();
            while let Some(row) = rows.next()? {
                let name: String = row.get(0)?;
                let damaged = |why: &str| Fault::Damaged { what: format!("agents, {name}"), why: why.to_owned() };
                let instance = Uuid::parse_str(&name).map_err(|_| damaged("its instance is no UUID"))?;
                let upto: i64 = row.get(1)?;
                kept.insert(instance, u64::try_from(upto).map_err(|_| damaged("a number below 0"))?);
            }
            Ok(kept)
        })
    }

    fn roll(&mut self, level: Level, at: u64) -> Result<(), StoreError> {
        self.within(|step| roll(step, level, level.start(at)))
    }

    fn cells(&mut self) -> Result<Vec<Cell>, StoreError> {
        self.read(|connection| {
            let mut cells = connection
                .prepare_cached("SELECT from_host, to_host, over, id FROM cells ORDER BY from_host, to_host, over")?;
            let mut rows = cells.query([])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(cell_of(row)?);
            }
            found.sort();
            Ok(found)
        })
    }

    fn latest(&mut self) -> Result<Option<u64>, StoreError> {
        self.read(|connection| {
            let latest: Option<i64> = connection.query_row("SELECT max(at) FROM minutes", [], |row| row.get(0))?;
            Ok(latest.map(count))
        })
    }

    fn rows(&mut self, cell: &Cell, level: Level, from: u64, to: u64) -> Result<Vec<(u64, Span)>, StoreError> {
        let (from, to) = (second(from.min(LATEST)), second(to.min(LATEST)));
        self.read(|connection| {
            let (from, to) = (from?, to?);
            let Some(id) = cell_id(connection, cell)? else { return Ok(Vec::new()) };
            if level == Level::Minute {
                return minutes(connection, id, from, to);
            }
            let mut found = Vec::new();
            let table = level.table();
            let mut rows = connection.prepare_cached(&format!(
                "SELECT span, at FROM {table} WHERE cell = ?1 AND at >= ?2 AND at < ?3 ORDER BY at"
            ))?;
            let mut rows = rows.query(params![id, from, to])?;
            while let Some(row) = rows.next()? {
                let at: i64 = row.get(1)?;
                found.push((count(at), span_of(row, || row_named(level, at, id))?));
            }
            Ok(found)
        })
    }

    fn all_rows(&mut self, level: Level, at: u64) -> Result<Vec<(Cell, Span)>, StoreError> {
        let at = second(at.min(LATEST));
        self.read(|connection| {
            let at = at?;
            // By minutes one range of them; else one row of each cell, which the key finds.
            let join = if level == Level::Minute {
                "minutes AS part CROSS JOIN cells ON cells.id = part.cell".to_owned()
            } else {
                format!("cells CROSS JOIN {} AS part ON part.cell = cells.id", level.table())
            };
            let mut rows = connection
                .prepare_cached(&format!("SELECT from_host, to_host, over, id, span FROM {join} WHERE part.at = ?1"))?;
            let mut rows = rows.query(params![at])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let id: i64 = row.get(3)?;
                let octets = row.get_ref(4)?;
                found.push((cell_of(row)?, span_in(octets, || row_named(level, at, id))?));
            }
            found.sort_by(|(one, _), (other, _)| one.cmp(other));
            Ok(found)
        })
    }

    fn unmade(&mut self, level: Level, from: u64, to: u64) -> Result<BTreeSet<u64>, StoreError> {
        self.read(|connection| unmade(connection, level, from, to))
    }

    fn incidents(&mut self, filter: &IncidentFilter) -> Result<Vec<Incident>, StoreError> {
        self.read(|connection| {
            let open = "SELECT told, id FROM incidents WHERE ended IS NULL AND begun < ?2 AND ?1 IS NOT NULL";
            let all = "SELECT told, id FROM incidents WHERE onset < ?2 AND (ended IS NULL OR ended >= ?1)";
            let which = if filter.open { open } else { all };
            let mut rows = connection.prepare_cached(&format!("{which} ORDER BY begun DESC LIMIT ?3"))?;
            let most = i64::try_from(filter.most).unwrap_or(i64::MAX);
            documents(
                rows.query(params![second(filter.from.min(LATEST))?, second(filter.to.min(LATEST))?, most])?,
                "incidents",
            )
        })
    }

    fn marks(&mut self, from: u64, to: u64) -> Result<Vec<Mark>, StoreError> {
        self.read(|connection| {
            let mut rows =
                connection.prepare_cached("SELECT told, id FROM marks WHERE at >= ?1 AND at < ?2 ORDER BY at, id")?;
            documents(rows.query(params![second(from.min(LATEST))?, second(to.min(LATEST))?])?, "marks")
        })
    }

    fn accept(&mut self, baseline: &Baseline) -> Result<(), StoreError> {
        self.within(|step| {
            step.execute(
                "INSERT INTO baselines (name, told) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET told = ?2",
                params![baseline.name, json(baseline)],
            )?;
            Ok(())
        })
    }

    fn baselines(&mut self) -> Result<Vec<Baseline>, StoreError> {
        self.read(|connection| {
            let mut rows = connection.prepare_cached("SELECT told, name FROM baselines ORDER BY name")?;
            documents(rows.query([])?, "baselines")
        })
    }

    fn withdraw(&mut self, name: &str) -> Result<bool, StoreError> {
        self.within(|step| Ok(step.execute("DELETE FROM baselines WHERE name = ?1", [name])? > 0))
    }

    fn silence(&mut self, silence: &Silence, now: u64) -> Result<u64, StoreError> {
        self.within(|step| {
            step.execute(
                "INSERT INTO silences (until, told) VALUES (?1, ?2)",
                params![second(silence.until)?, asked(silence, now)?],
            )?;
            Ok(count(step.last_insert_rowid()))
        })
    }

    fn silences(&mut self, now: u64) -> Result<Vec<KeptSilence>, StoreError> {
        self.read(|connection| {
            let mut rows = connection
                .prepare_cached("SELECT told, number, until FROM silences WHERE until > ?1 ORDER BY number")?;
            let mut rows = rows.query(params![second(now.min(LATEST))?])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(asked_in(&row.get::<_, String>(0)?, row.get(1)?, row.get(2)?)?);
            }
            Ok(found)
        })
    }

    fn end_silence(&mut self, number: u64, now: u64) -> Result<bool, StoreError> {
        self.within(|step| {
            let ended = params![silence_number(number), second(now)?];
            Ok(step.execute("UPDATE silences SET until = ?2 WHERE number = ?1 AND until > ?2", ended)? > 0)
        })
    }

    fn remove(&mut self, level: Level, edge: u64) -> Result<(), StoreError> {
        self.within(|step| remove(step, level, second(edge)?))
    }

    fn forget(&mut self, before: u64) -> Result<(), StoreError> {
        self.within(|step| {
            step.execute("DELETE FROM agents WHERE latest < ?1", params![second(before)?])?;
            Ok(())
        })
    }

    fn size(&mut self) -> Result<u64, StoreError> {
        self.read(|connection| {
            let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
            Ok(count(number("page_count")?) * count(number("page_size")?))
        })
    }
}

fn id(id: Uuid) -> String {
    id.simple().to_string()
}

/// A document in a row's first column, which its second names.
fn documents<T: DeserializeOwned>(mut rows: rusqlite::Rows<'_>, table: &str) -> Result<Vec<T>, Fault> {
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let name: String = row.get(1)?;
        let told: String = row.get(0)?;
        let read = serde_json::from_str(&told);
        found.push(read.map_err(|cause| Fault::Damaged { what: format!("{table}, {name}"), why: cause.to_string() })?);
    }
    Ok(found)
}

/// A cell in a row's first three columns; the fourth is its id.
fn cell_of(row: &Row<'_>) -> Result<Cell, Fault> {
    let name: String = row.get(2)?;
    let Some(over) = Over::named(&name) else {
        let what = format!("cells, {}", row.get::<_, i64>(3)?);
        return Err(Fault::Damaged { what, why: format!("`{name}` is no way of asking that is known") });
    };
    Ok(Cell { from: row.get(0)?, to: row.get(1)?, over })
}

fn span_of(row: &Row<'_>, named: impl Fn() -> String) -> Result<Span, Fault> {
    span_in(row.get_ref(0)?, named)
}

fn span_in(octets: ValueRef<'_>, named: impl Fn() -> String) -> Result<Span, Fault> {
    let damaged = |why: String| Fault::Damaged { what: named(), why };
    let octets = octets.as_blob().map_err(|cause| damaged(cause.to_string()))?;
    Span::from_octets(octets).map_err(|cause| damaged(cause.to_string()))
}

fn cell_id(connection: &Connection, cell: &Cell) -> Result<Option<i64>, Fault> {
    let mut found =
        connection.prepare_cached("SELECT id FROM cells WHERE from_host = ?1 AND to_host = ?2 AND over = ?3")?;
    Ok(found.query_row(params![cell.from, cell.to, cell.over.name()], |row| row.get(0)).optional()?)
}

fn cell_made(step: &Transaction<'_>, cell: &Cell) -> Result<i64, Fault> {
    if let Some(id) = cell_id(step, cell)? {
        return Ok(id);
    }
    step.prepare_cached("INSERT INTO cells (from_host, to_host, over) VALUES (?1, ?2, ?3)")?.execute(params![
        cell.from,
        cell.to,
        cell.over.name()
    ])?;
    Ok(step.last_insert_rowid())
}

/// The minutes of a cell. They lie by time, so each is looked up by itself.
fn minutes(connection: &Connection, cell: i64, from: i64, to: i64) -> Result<Vec<(u64, Span)>, Fault> {
    let ends: (Option<i64>, Option<i64>) =
        connection.query_row("SELECT (SELECT min(at) FROM minutes), (SELECT max(at) FROM minutes)", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    let (Some(first), Some(last)) = ends else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let mut next = connection.prepare_cached("SELECT span FROM minutes WHERE at = ?1 AND cell = ?2")?;
    let length = Level::Minute.seconds() as i64;
    let begin = from.max(first);
    let begin = begin + (length - begin % length) % length;
    for at in (begin..to.min(last + 1)).step_by(length as usize) {
        let mut rows = next.query(params![at, cell])?;
        if let Some(row) = rows.next()? {
            found.push((count(at), span_of(row, || row_named(Level::Minute, at, cell))?));
        }
    }
    Ok(found)
}

fn edges(connection: &Connection) -> Result<BTreeMap<Level, u64>, Fault> {
    let mut edges = connection.prepare_cached("SELECT at FROM edges WHERE level = ?1")?;
    let mut found = BTreeMap::new();
    for level in Level::ALL {
        if let Some(at) = edges.query_row([level.table()], |row| row.get::<_, i64>(0)).optional()? {
            found.insert(level, count(at));
        }
    }
    Ok(found)
}

fn unmade(connection: &Connection, level: Level, from: u64, to: u64) -> Result<BTreeSet<u64>, Fault> {
    let mut rows = connection.prepare_cached("SELECT at FROM unmade WHERE level = ?1 AND at >= ?2 AND at < ?3")?;
    let (from, to) = (second(from.min(LATEST))?, second(to.min(LATEST))?);
    let found = rows.query_map(params![level.table(), from, to], |row| row.get::<_, i64>(0))?;
    Ok(found.map(|at| at.map(count)).collect::<Result<_, _>>()?)
}

fn keep_part(step: &Transaction<'_>, part: &Part, edges: &BTreeMap<Level, u64>) -> Result<(), Fault> {
    let name = id(part.instance);
    let upto: Option<i64> = step
        .prepare_cached("SELECT upto FROM agents WHERE instance = ?1")?
        .query_row([&name], |row| row.get(0))
        .optional()?;
    if !is_new(part, upto.map(count))? {
        return Ok(());
    }
    let mut unmade = BTreeSet::new();
    let mut latest = 0;
    for (cell, at, span) in &part.minutes {
        let level = level_of(*at, edges);
        add(step, level, cell_made(step, cell)?, second(level.start(*at))?, span)?;
        unmade.extend(
            [Level::Hour, Level::Day].into_iter().filter(|above| *above > level).map(|above| (above, above.start(*at))),
        );
        latest = latest.max(*at);
    }
    let mut note = step.prepare_cached("INSERT OR IGNORE INTO unmade (level, at) VALUES (?1, ?2)")?;
    for (level, at) in unmade {
        note.execute(params![level.table(), second(at)?])?;
    }
    step.prepare_cached(
        "INSERT INTO agents (instance, upto, latest) VALUES (?1, ?2, ?3)
         ON CONFLICT (instance) DO UPDATE SET upto = ?2, latest = max(latest, ?3)",
    )?
    .execute(params![name, beat(part.last)?, second(latest)?])?;
    Ok(())
}

/// Adds to what is kept of an interval.
fn add(step: &Transaction<'_>, level: Level, cell: i64, at: i64, span: &Span) -> Result<(), Fault> {
    let table = level.table();
    let mut held = step.prepare_cached(&format!("SELECT span FROM {table} WHERE cell = ?1 AND at = ?2"))?;
    let mut rows = held.query(params![cell, at])?;
    let (sum, sql) = match rows.next()? {
        None => (span.to_octets(), format!("INSERT INTO {table} (cell, at, span) VALUES (?1, ?2, ?3)")),
        Some(row) => {
            let mut sum = span_of(row, || row_named(level, at, cell))?;
            sum.add(span);
            (sum.to_octets(), format!("UPDATE {table} SET span = ?3 WHERE cell = ?1 AND at = ?2"))
        }
    };
    step.prepare_cached(&sql)?.execute(params![cell, at, sum])?;
    Ok(())
}

/// Makes an interval anew, cells by the thousand: their sums would not fit into little memory all at once.
fn roll(step: &Transaction<'_>, level: Level, at: u64) -> Result<(), Fault> {
    let Some(below) = level.below() else { return Ok(()) };
    let is_gone = edges(step)?.get(&below).is_some_and(|edge| at < *edge);
    if !is_gone {
        if below.below().is_some() {
            for part in unmade(step, below, at, at + level.seconds())? {
                roll(step, below, part)?;
            }
        }
        let last: Option<i64> = step.query_row("SELECT max(id) FROM cells", [], |row| row.get(0))?;
        for first in (0..=last.unwrap_or(-1)).step_by(AT_ONCE as usize) {
            roll_some(step, (level, below), at, first)?;
        }
    }
    step.prepare_cached("DELETE FROM unmade WHERE level = ?1 AND at = ?2")?
        .execute(params![level.table(), second(at)?])?;
    Ok(())
}

/// The same of [`AT_ONCE`] cells whose ids begin with `first`.
fn roll_some(step: &Transaction<'_>, (level, below): (Level, Level), at: u64, first: i64) -> Result<(), Fault> {
    let mut sums = BTreeMap::<i64, Span>::new();
    let mut take = |mut rows: rusqlite::Rows<'_>| -> Result<(), Fault> {
        while let Some(row) = rows.next()? {
            let (cell, part) = (row.get(1)?, row.get(2)?);
            sums.entry(cell).or_default().add(&span_of(row, || row_named(below, part, cell))?);
        }
        Ok(())
    };
    let some = first..first + AT_ONCE;
    if below == Level::Minute {
        let sql = "SELECT span, cell, at FROM minutes WHERE at = ?1 AND cell >= ?2 AND cell < ?3";
        let mut minute = step.prepare_cached(sql)?;
        for part in (at..at + level.seconds()).step_by(below.seconds() as usize) {
            take(minute.query(params![second(part)?, some.start, some.end])?)?;
        }
    } else {
        let sql = "SELECT part.span, part.cell, part.at FROM cells CROSS JOIN hours AS part ON part.cell = cells.id
                   WHERE cells.id >= ?1 AND cells.id < ?2 AND part.at >= ?3 AND part.at < ?4";
        let ends = (second(at)?, second(at + level.seconds())?);
        take(step.prepare_cached(sql)?.query(params![some.start, some.end, ends.0, ends.1])?)?;
    }
    let table = level.table();
    let mut put =
        step.prepare_cached(&format!("INSERT OR REPLACE INTO {table} (cell, at, span) VALUES (?1, ?2, ?3)"))?;
    for (cell, sum) in sums {
        put.execute(params![cell, second(at)?, sum.to_octets()])?;
    }
    Ok(())
}

/// Removes what is before `edge`, which only moves on.
fn remove(step: &Transaction<'_>, level: Level, edge: i64) -> Result<(), Fault> {
    let held: Option<i64> =
        step.query_row("SELECT at FROM edges WHERE level = ?1", [level.table()], |row| row.get(0)).optional()?;
    if held.is_some_and(|held| held >= edge) {
        return Ok(());
    }
    let table = level.table();
    if level == Level::Minute {
        step.execute("DELETE FROM minutes WHERE at < ?1", [edge])?;
    } else {
        // By cell: each is a range of the key.
        let sql = format!("DELETE FROM {table} WHERE at < ?1 AND cell IN (SELECT id FROM cells)");
        step.execute(&sql, [edge])?;
    }
    step.execute(
        "INSERT INTO edges (level, at) VALUES (?1, ?2) ON CONFLICT (level) DO UPDATE SET at = ?2",
        params![table, edge],
    )?;
    Ok(())
}

#[cfg(test)]
mod tests;
