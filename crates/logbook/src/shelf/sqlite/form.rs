//! The tables, and the way to them from an older form.
//!
//! `PRAGMA user_version` is the form's version, a count from 1; each step of [`STEPS`] leads from the version of its place to the
//! next, and none is ever changed. Names are columns where they are searched or joined; everything else stands in JSON documents,
//! whose own versions the readers know.

use std::time::Duration;

use rusqlite::{Connection, MAIN_DB, TransactionBehavior};

use super::{APPLICATION, of_engine};
use crate::shelf::error::Fault;

/// From nothing to version 1, from there to version 2, and so on.
const STEPS: [&str; 1] = [include_str!("v1.sql")];

/// The version that this program writes.
pub(super) const NEWEST: i64 = STEPS.len() as i64;

/// Makes `connection` ready: says what the file is, and makes or renews its tables.
pub(super) fn prepare(connection: &mut Connection, patience: Duration) -> Result<(), Fault> {
    let engine = |error: rusqlite::Error| of_engine(&error);
    connection.busy_timeout(patience).map_err(engine)?;
    let version = version(connection)?;
    let writable = !connection.is_readonly(MAIN_DB).map_err(engine)?;
    if writable {
        // Another process that opens the file at this instant may hold it: then it is the one that sets this.
        match connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(())) {
            Err(error) if !matches!(of_engine(&error), Fault::Busy) => return Err(of_engine(&error)),
            _ => {}
        }
        connection.pragma_update(None, "synchronous", "full").map_err(engine)?;
        connection.pragma_update(None, "foreign_keys", true).map_err(engine)?;
    }
    match (version < NEWEST, writable) {
        (false, _) => check(connection, NEWEST),
        (true, true) => climb(connection),
        (true, false) => Err(Fault::ReadOnly),
    }
}

/// The version of the file's form; 0 of a new one.
fn version(connection: &Connection) -> Result<i64, Fault> {
    let number = |name: &str| -> Result<i64, Fault> {
        connection.pragma_query_value(None, name, |row| row.get(0)).map_err(|error| of_engine(&error))
    };
    let (application, version) = (number("application_id")?, number("user_version")?);
    let tables: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(|error| of_engine(&error))?;
    match (application, version) {
        (APPLICATION, version) if version > NEWEST => Err(Fault::Later { version, newest: NEWEST }),
        (APPLICATION, version) => Ok(version),
        (0, 0) if tables == 0 => Ok(0),
        _ => Err(Fault::NotOurs("it is another program's SQLite file".to_owned())),
    }
}

/// Refuses a file whose tables of this version are not as ours are made.
fn check(connection: &Connection, version: i64) -> Result<(), Fault> {
    let steps = STEPS.iter().take(usize::try_from(version).unwrap_or(0));
    if is_made_by(connection, steps).map_err(|error| of_engine(&error))? {
        Ok(())
    } else {
        Err(Fault::NotOurs("its tables are not made as those of a store are".to_owned()))
    }
}

/// True where a file has all that these steps make, made as they make it, and no trigger: what stands in the place of a table would be run by
/// whoever opens the file, and need not end.
///
/// # Errors
/// The engine's, of the file or of the steps.
pub fn is_made_by<'a>(connection: &Connection, steps: impl Iterator<Item = &'a &'a str>) -> rusqlite::Result<bool> {
    let made = Connection::open_in_memory()?;
    for sql in steps {
        made.execute_batch(sql)?;
    }
    let (ours, its) = (parts(&made)?, parts(connection)?);
    Ok(ours.iter().all(|part| its.contains(part)) && its.iter().all(|(kind, ..)| kind != "trigger"))
}

/// Kind, name and making of everything in a file.
fn parts(of: &Connection) -> rusqlite::Result<Vec<(String, String, Option<String>)>> {
    let mut all = of.prepare("SELECT type, name, sql FROM sqlite_schema")?;
    let parts = all.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    parts.collect()
}

/// Leads the file to the present version in one transaction. A process that comes second finds it there.
fn climb(connection: &mut Connection) -> Result<(), Fault> {
    let engine = |error: rusqlite::Error| of_engine(&error);
    let step = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(engine)?;
    let from = version(&step)?;
    check(&step, from)?;
    for sql in STEPS.iter().skip(usize::try_from(from).unwrap_or(0)) {
        step.execute_batch(sql).map_err(engine)?;
    }
    step.pragma_update(None, "application_id", APPLICATION).map_err(engine)?;
    step.pragma_update(None, "user_version", NEWEST).map_err(engine)?;
    step.commit().map_err(engine)
}
