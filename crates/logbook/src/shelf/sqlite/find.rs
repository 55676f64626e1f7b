//! Reads from the tables.

use std::io::Read as _;
use std::ops::ControlFlow;

use flate2::read::ZlibDecoder;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::of_engine;
use super::write::{nanos_of, word};
use crate::read::{self, ReadError};
use crate::record::Record;
use crate::run::{Cell, RunDocument};
use crate::shelf::error::Fault;
use crate::shelf::{CellFilter, EachRecord, Found, LAST, RecordFilter, RecordSummary, RunFilter, RunSummary, digits};
use crate::whole;

/// Names that are listed where a word starts several.
const LISTED: usize = 5;

pub(super) fn runs(at: &Connection, filter: &RunFilter) -> Result<Vec<RunSummary>, Fault> {
    // The last kept of several cells at one place counts.
    let sql = "SELECT id, started, plan, host_count, planned, ended,
                 (SELECT count(*) FROM (SELECT failed, max(seq) FROM cells WHERE run = id
                    GROUP BY from_host, to_host, over, method, repeat) WHERE failed = 0),
                 (SELECT count(*) FROM (SELECT failed, max(seq) FROM cells WHERE run = id
                    GROUP BY from_host, to_host, over, method, repeat) WHERE failed = 1)
               FROM runs WHERE started_ns >= ?1 AND (?2 IS NULL OR instr(lower(plan), lower(?2)) > 0)
               AND (?4 IS NULL OR started_ns < ?4) ORDER BY started_ns DESC, id DESC LIMIT ?3";
    let before = filter.before.map_or(Value::Null, |at| Value::Integer(nanos_of(at)));
    let given = [since(filter.since), text(filter.plan.as_ref()), limit(filter.limit), before];
    rows(at, sql, &given, |row| {
        let ended: Option<String> = field(row, 5)?;
        Ok(RunSummary {
            id: uuid(row, 0)?,
            started: parsed(&field::<String>(row, 1)?, "a run's start")?,
            plan: field(row, 2)?,
            hosts: count(field(row, 3)?),
            planned: field::<Option<i64>>(row, 4)?.map(count),
            ended: ended.map(|text| json(&text, "a run's end")).transpose()?,
            done: count(field(row, 6)?),
            failed: count(field(row, 7)?),
        })
    })
}

pub(super) fn records(at: &Connection, filter: &RecordFilter) -> Result<Vec<RecordSummary>, Fault> {
    let sql = "SELECT id, started, coalesce(host, address), method, (SELECT run FROM cells WHERE record = id LIMIT 1)
               FROM records WHERE started_ns >= ?1 AND (?2 IS NULL OR host = ?2 OR address = ?2)
               ORDER BY started_ns DESC, id DESC LIMIT ?3";
    let given = [since(filter.since), text(filter.target.as_ref()), limit(filter.limit)];
    rows(at, sql, &given, |row| {
        let run: Option<String> = field(row, 4)?;
        Ok(RecordSummary {
            id: uuid(row, 0)?,
            started: parsed(&field::<String>(row, 1)?, "a record's start")?,
            target: field(row, 2)?,
            method: field(row, 3)?,
            run: run.map(|id| parsed(&id, "a run's name")).transpose()?,
        })
    })
}

pub(super) fn find(at: &Connection, asked: &str) -> Result<Found, Fault> {
    if asked == LAST {
        let sql = "SELECT id FROM runs ORDER BY started_ns DESC, id DESC LIMIT 1";
        return rows(at, sql, &[], |row| uuid(row, 0))?.pop().map(Found::Run).ok_or(Fault::Empty);
    }
    let unknown = || Fault::Unknown { what: "run or record", word: asked.to_owned() };
    let digits = digits(asked).ok_or_else(unknown)?;
    let named = |table: &str| {
        // `g` comes after every digit there is.
        let sql = format!("SELECT id FROM {table} WHERE id >= ?1 AND id < ?1 || 'g' ORDER BY id LIMIT {}", LISTED + 1);
        rows(at, &sql, &[Value::Text(digits.clone())], |row| uuid(row, 0))
    };
    // The records of a run begin as it does where they were made within the minute: then it is the run that is meant.
    let mut found: Vec<Found> = named("runs")?.into_iter().map(Found::Run).collect();
    if found.is_empty() {
        found = named("records")?.into_iter().map(Found::Record).collect();
    }
    match found.as_slice() {
        [] => Err(unknown()),
        [one] => Ok(*one),
        several => {
            let name = |found: &Found| match found {
                Found::Run(id) => format!("run {id}"),
                Found::Record(id) => format!("record {id}"),
            };
            let more = (several.len() > LISTED).then(|| "more".to_owned());
            let names = several.iter().take(LISTED).map(name).chain(more).collect();
            Err(Fault::Ambiguous { word: asked.to_owned(), names })
        }
    }
}

/// A run without what stands in other tables.
pub(super) fn head(at: &Connection, id: Uuid) -> Result<RunDocument, Fault> {
    let sql = "SELECT document FROM runs WHERE id = ?1";
    let unknown = || Fault::Unknown { what: "run", word: id.to_string() };
    let found: Option<Vec<u8>> =
        at.query_row(sql, [id.simple().to_string()], |row| row.get(0)).optional().map_err(|error| of_engine(&error))?;
    let what = format!("run {id}");
    let text = unpressed(&found.ok_or_else(unknown)?, &what)?;
    read::document(&text).map_err(|fault| Fault::Unread { what, fault })
}

pub(super) fn run(at: &Connection, id: Uuid) -> Result<RunDocument, Fault> {
    // One transaction, so that all is of one instant while others write.
    let at = at.unchecked_transaction().map_err(|error| of_engine(&error))?;
    let mut run = head(&at, id)?;
    let of_run = [Value::Text(id.simple().to_string())];
    run.hosts = rows(&at, "SELECT seen FROM hosts WHERE run = ?1 ORDER BY place", &of_run, |row| {
        json(&field::<String>(row, 0)?, "a host of a run")
    })?;
    run.stages = rows(&at, "SELECT stage FROM stages WHERE run = ?1 ORDER BY place", &of_run, |row| {
        json(&format!("\"{}\"", field::<String>(row, 0)?), "a stage of a run")
    })?;
    run.checks = rows(&at, "SELECT found FROM checks WHERE run = ?1 ORDER BY seq", &of_run, |row| {
        json(&field::<String>(row, 0)?, "a check of a run")
    })?;
    run.cells = rows(&at, "SELECT cell FROM cells WHERE run = ?1 ORDER BY seq", &of_run, |row| {
        json(&field::<String>(row, 0)?, "a cell of a run")
    })?;
    let ended = rows(&at, "SELECT ended FROM runs WHERE id = ?1", &of_run, |row| field::<Option<String>>(row, 0))?;
    run.ended = ended.into_iter().flatten().next().map(|text| json(&text, "a run's end")).transpose()?;
    Ok(run)
}

pub(super) fn record(at: &Connection, id: Uuid) -> Result<Record, Fault> {
    let sql = "SELECT document FROM records WHERE id = ?1";
    let found: Option<Vec<u8>> =
        at.query_row(sql, [id.simple().to_string()], |row| row.get(0)).optional().map_err(|error| of_engine(&error))?;
    let unknown = || Fault::Unknown { what: "record", word: id.to_string() };
    as_record(&found.ok_or_else(unknown)?, &format!("record {id}"))
}

pub(super) fn records_of(at: &Connection, run: Uuid, filter: &CellFilter, each: EachRecord<'_>) -> Result<(), Fault> {
    let sql = "SELECT c.cell, r.document FROM cells c JOIN records r ON r.id = c.record
               WHERE c.run = ?1 AND (?2 IS NULL OR c.from_host = ?2) AND (?3 IS NULL OR c.to_host = ?3)
                 AND (?4 IS NULL OR c.over = ?4) AND (?5 IS NULL OR c.method = ?5) ORDER BY c.seq";
    let over = filter.over.map(|over| word(&over)).transpose()?;
    let given = [
        Value::Text(run.simple().to_string()),
        text(filter.from.as_ref()),
        text(filter.to.as_ref()),
        text(over.as_ref()),
        text(filter.method.as_ref()),
    ];
    let engine = |error: rusqlite::Error| of_engine(&error);
    let mut found = at.prepare_cached(sql).map_err(engine)?;
    let mut rows = found.query(params_from_iter(given)).map_err(engine)?;
    while let Some(row) = rows.next().map_err(engine)? {
        let cell: Cell = json(&field::<String>(row, 0)?, "a cell of a run")?;
        let record = as_record(&field::<Vec<u8>>(row, 1)?, "a record of a run")?;
        if let ControlFlow::Break(()) = each(cell, record) {
            break;
        }
    }
    Ok(())
}

fn as_record(document: &[u8], what: &str) -> Result<Record, Fault> {
    let text = unpressed(document, what)?;
    Record::read(&text).map_err(|fault| Fault::Unread { what: what.to_owned(), fault })
}

fn unpressed(document: &[u8], what: &str) -> Result<String, Fault> {
    let damaged = |why: &str| Fault::Damaged(format!("{what} {why}"));
    let mut text = String::new();
    let read = ZlibDecoder::new(document).take(whole::RECORD + 1).read_to_string(&mut text);
    read.map_err(|_| damaged("is not as it was compressed"))?;
    // A file that holds more is damaged, or made to fill the memory.
    whole::check(text.len() as u64, whole::RECORD).map_err(|error| damaged(&format!("cannot be read: {error}")))?;
    Ok(text)
}

fn rows<T>(
    at: &Connection,
    sql: &str,
    given: &[Value],
    of: impl Fn(&Row<'_>) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let engine = |error: rusqlite::Error| of_engine(&error);
    let mut found = at.prepare_cached(sql).map_err(engine)?;
    let mut rows = found.query(params_from_iter(given)).map_err(engine)?;
    let mut all = Vec::new();
    while let Some(row) = rows.next().map_err(engine)? {
        all.push(of(row)?);
    }
    Ok(all)
}

fn field<T: rusqlite::types::FromSql>(row: &Row<'_>, place: usize) -> Result<T, Fault> {
    row.get(place).map_err(|error| of_engine(&error))
}

/// A count, which the engine has as a signed number.
fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn uuid(row: &Row<'_>, place: usize) -> Result<Uuid, Fault> {
    parsed(&field::<String>(row, place)?, "a name")
}

fn parsed<T: std::str::FromStr>(text: &str, what: &str) -> Result<T, Fault> {
    text.parse().map_err(|_| Fault::Damaged(format!("{what} is `{text}`")))
}

fn json<T: DeserializeOwned>(text: &str, what: &str) -> Result<T, Fault> {
    serde_json::from_str(text).map_err(|fault| {
        let fault = ReadError::Malformed { what: "run", place: None, reason: fault.to_string() };
        Fault::Unread { what: what.to_owned(), fault }
    })
}

fn text(given: Option<&String>) -> Value {
    given.map_or(Value::Null, |text| Value::Text(text.clone()))
}

fn since(at: Option<jiff::Timestamp>) -> Value {
    Value::Integer(at.map_or(i64::MIN, nanos_of))
}

/// Negative: all.
fn limit(limit: Option<u32>) -> Value {
    Value::Integer(limit.map_or(-1, i64::from))
}
