//! Writes into the tables, each thing in one transaction: a thing that is given twice is there once, and one that is there
//! is never changed.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use serde::Serialize;
use uuid::Uuid;

use super::{find, of_engine};
use crate::document::{Form, Head, Unwritable};
use crate::moment::Moment;
use crate::record::Record;
use crate::run::{Cell, PairCheck, RunDocument};
use crate::shelf::Progress;
use crate::shelf::error::Fault;

/// Does `work` in a transaction that no other writer comes between.
fn whole(connection: &mut Connection, work: impl FnOnce(&Transaction<'_>) -> Result<(), Fault>) -> Result<(), Fault> {
    let begun = connection.transaction_with_behavior(TransactionBehavior::Immediate);
    let transaction = begun.map_err(|error| of_engine(&error))?;
    work(&transaction)?;
    transaction.commit().map_err(|error| of_engine(&error))
}

pub(super) fn begin(connection: &mut Connection, run: &RunDocument) -> Result<(), Fault> {
    let head = RunDocument {
        hosts: Vec::new(),
        checks: Vec::new(),
        cells: Vec::new(),
        stages: Vec::new(),
        ended: None,
        ..run.clone()
    };
    let text = head.to_json()?;
    let id = run.head.id.simple().to_string();
    whole(connection, |at| {
        let row = params![
            id,
            nanos(run.head.started),
            run.head.started.to_string(),
            run.plan.name,
            run.plan.hosts.len() as i64,
            run.planned.map(|planned| planned as i64),
            pressed(&text)?,
        ];
        let sql = "INSERT INTO runs (id, started_ns, started, plan, host_count, planned, document)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO NOTHING";
        if execute(at, sql, row)? == 0 {
            if find::head(at, run.head.id)? != head {
                return Err(Fault::Taken { what: format!("run {}", run.head.id) });
            }
        } else {
            replace(at, &id, &Progress::of(run))?;
        }
        run.checks.iter().try_for_each(|check| insert_check(at, &id, check))?;
        run.cells.iter().try_for_each(|cell| insert_cell(at, &id, cell))
    })
}

pub(super) fn add_cell(
    connection: &mut Connection,
    run: Uuid,
    cell: &Cell,
    record: Option<&Record>,
) -> Result<(), Fault> {
    if let Some(record) = record.filter(|record| cell.record != Some(record.head.id)) {
        return Err(Fault::Mismatch { cell: cell.record, given: Some(record.head.id) });
    }
    let prepared = record.map(Prepared::of).transpose()?;
    whole(connection, |at| {
        let id = known(at, run)?;
        if let Some(prepared) = &prepared {
            prepared.insert(at)?;
        }
        insert_cell(at, &id, cell)
    })
}

pub(super) fn add_check(connection: &mut Connection, run: Uuid, check: &PairCheck) -> Result<(), Fault> {
    whole(connection, |at| insert_check(at, &known(at, run)?, check))
}

pub(super) fn advance(connection: &mut Connection, run: Uuid, progress: &Progress) -> Result<(), Fault> {
    whole(connection, |at| replace(at, &known(at, run)?, progress))
}

pub(super) fn add_record(connection: &mut Connection, record: &Record) -> Result<(), Fault> {
    let prepared = Prepared::of(record)?;
    whole(connection, |at| prepared.insert(at))
}

pub(super) fn remove(connection: &mut Connection, run: Uuid) -> Result<(), Fault> {
    whole(connection, |at| {
        let id = known(at, run)?;
        let sql = "SELECT record FROM cells WHERE run = ?1 AND record IS NOT NULL
                   EXCEPT SELECT record FROM cells WHERE run <> ?1";
        let mut own = at.prepare(sql).map_err(|error| of_engine(&error))?;
        let own = own.query_map([&id], |row| row.get(0)).and_then(Iterator::collect::<Result<Vec<String>, _>>);
        let own = own.map_err(|error| of_engine(&error))?;
        for table in ["cells", "checks", "stages", "hosts"] {
            execute(at, &format!("DELETE FROM {table} WHERE run = ?1"), [&id])?;
        }
        for record in own {
            execute(at, "DELETE FROM records WHERE id = ?1", [record])?;
        }
        execute(at, "DELETE FROM runs WHERE id = ?1", [&id]).map(|_| ())
    })
}

/// A record as text, made before the transaction begins: others wait meanwhile.
struct Prepared<'a> {
    record: &'a Record,
    text: String,
    document: Vec<u8>,
}

impl<'a> Prepared<'a> {
    fn of(record: &'a Record) -> Result<Self, Fault> {
        let text = record.to_json()?;
        let document = pressed(&text)?;
        Ok(Self { record, text, document })
    }

    fn insert(&self, at: &Transaction<'_>) -> Result<(), Fault> {
        let Record { head: Head { id, started, .. }, target, question, method, .. } = self.record;
        let row = params![
            id.simple().to_string(),
            nanos(*started),
            started.to_string(),
            target.host,
            target.address.to_string(),
            target.port,
            word(question)?,
            method.to_string(),
            self.document,
        ];
        let sql = "INSERT INTO records (id, started_ns, started, host, address, port, question, method, document)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (id) DO NOTHING";
        if execute(at, sql, row)? == 1 || find::record(at, *id)?.to_json()? == self.text {
            return Ok(());
        }
        Err(Fault::Taken { what: format!("record {id}") })
    }
}

/// The digits of a run that is there.
fn known(at: &Connection, run: Uuid) -> Result<String, Fault> {
    let id = run.simple().to_string();
    let there = at.query_row("SELECT 1 FROM runs WHERE id = ?1", [&id], |_| Ok(())).optional();
    match there.map_err(|error| of_engine(&error))? {
        Some(()) => Ok(id),
        None => Err(Fault::Unknown { what: "run", word: run.to_string() }),
    }
}

fn insert_cell(at: &Transaction<'_>, run: &str, cell: &Cell) -> Result<(), Fault> {
    let record = cell.record.map(|id| id.simple().to_string());
    if let Some(record) = &record {
        let there = at.query_row("SELECT 1 FROM records WHERE id = ?1", [record], |_| Ok(())).optional();
        if there.map_err(|error| of_engine(&error))?.is_none() {
            return Err(Fault::Mismatch { cell: cell.record, given: None });
        }
    }
    let (place, text) = (&cell.place, json(cell)?);
    let over = word(&place.over)?;
    let sql = "INSERT INTO cells (run, from_host, to_host, over, method, repeat, started_ns, failed, record, cell)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO NOTHING";
    let failed = i64::from(cell.failure.is_some());
    let started = nanos(cell.started);
    let row = params![run, place.from, place.to, over, place.method, place.repeat, started, failed, record, text];
    if execute(at, sql, row)? == 1 {
        return Ok(());
    }
    let sql = "SELECT cell FROM cells WHERE run = ?1 AND from_host = ?2 AND to_host = ?3 AND over = ?4 AND method = ?5
               AND repeat = ?6 AND started_ns = ?7";
    let row = params![run, place.from, place.to, over, place.method, place.repeat, started];
    let there: String = at.query_row(sql, row, |row| row.get(0)).map_err(|error| of_engine(&error))?;
    let same = there == text || serde_json::from_str::<Cell>(&there).is_ok_and(|there| there == *cell);
    if same { Ok(()) } else { Err(Fault::Taken { what: format!("a cell from {} to {}", place.from, place.to) }) }
}

fn insert_check(at: &Transaction<'_>, run: &str, check: &PairCheck) -> Result<(), Fault> {
    let sql =
        "INSERT INTO checks (run, from_host, to_host, over, found) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING";
    execute(at, sql, params![run, check.from, check.to, word(&check.over)?, json(check)?]).map(|_| ())
}

fn replace(at: &Transaction<'_>, run: &str, progress: &Progress) -> Result<(), Fault> {
    let ended = progress.ended.as_ref().map(json).transpose()?;
    execute(at, "UPDATE runs SET ended = ?2 WHERE id = ?1", params![run, ended])?;
    execute(at, "DELETE FROM hosts WHERE run = ?1", [run])?;
    for (place, seen) in progress.hosts.iter().enumerate() {
        let sql = "INSERT INTO hosts (run, place, host, seen) VALUES (?1, ?2, ?3, ?4)";
        execute(at, sql, params![run, place as i64, seen.host, json(seen)?])?;
    }
    execute(at, "DELETE FROM stages WHERE run = ?1", [run])?;
    for (place, stage) in progress.stages.iter().enumerate() {
        let sql = "INSERT INTO stages (run, place, stage) VALUES (?1, ?2, ?3)";
        execute(at, sql, params![run, place as i64, word(stage)?])?;
    }
    Ok(())
}

fn execute(at: &Transaction<'_>, sql: &str, row: impl rusqlite::Params) -> Result<usize, Fault> {
    at.prepare_cached(sql).and_then(|mut sql| sql.execute(row)).map_err(|error| of_engine(&error))
}

/// Nanoseconds since 1970 UTC; of a moment that is further away than these can tell, the farthest.
pub(super) fn nanos(moment: Moment) -> i64 {
    nanos_of(moment.timestamp())
}

/// The same of an instant.
pub(super) fn nanos_of(at: Timestamp) -> i64 {
    let nanos = at.as_nanosecond();
    i64::try_from(nanos).unwrap_or(if nanos < 0 { i64::MIN } else { i64::MAX })
}

fn json(value: &impl Serialize) -> Result<String, Fault> {
    serde_json::to_string(value).map_err(|fault| Unwritable { what: "record", reason: fault.to_string() }.into())
}

/// A value that is one word in JSON, without its quotes.
pub(super) fn word(value: &impl Serialize) -> Result<String, Fault> {
    Ok(json(value)?.trim_matches('"').to_owned())
}

fn pressed(text: &str) -> Result<Vec<u8>, Fault> {
    let mut into = ZlibEncoder::new(Vec::new(), Compression::default());
    let pressed = into.write_all(text.as_bytes()).and_then(|()| into.finish());
    pressed.map_err(|fault| Unwritable { what: "record", reason: fault.to_string() }.into())
}
