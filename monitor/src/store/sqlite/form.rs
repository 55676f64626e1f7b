//! The tables, and the way to them from an older form.
//!
//! `PRAGMA user_version` is the form's version, a count from 1; each step of [`STEPS`] leads from the version of its place to the next, and
//! none is ever changed.

use std::time::Duration;

use logbook::shelf::sqlite::is_made_by;
use rusqlite::{Connection, TransactionBehavior};

use super::of_engine;
use crate::store::Purpose;
use crate::store::error::Fault;

/// From nothing to version 1, from there to version 2, and so on.
const STEPS: [&str; 2] = [include_str!("v1.sql"), include_str!("v2.sql")];
/// The version that this program writes.
const NEWEST: i64 = STEPS.len() as i64;
/// The number by which our files are told from those of other programs: the letters `sonm`.
const APPLICATION: i64 = 0x736f_6e6d;
/// Longest wait for another process: its transactions take milliseconds, and seconds where an hour of many cells is made.
const PATIENCE: Duration = Duration::from_secs(30);
/// The journal is cut to this once it is written back.
const JOURNAL_OCTETS: i64 = 64 << 20;
/// Memory for pages, in units of 1,024 octets where negative: what a minute of 16,000 cells touches.
const CACHE: i64 = -16 << 10;

/// `connection`, made ready: its tables are there and of this version.
pub(super) fn prepared(mut connection: Connection, purpose: Purpose) -> Result<Connection, Fault> {
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(64);
    let version = version(&connection)?;
    if purpose == Purpose::Read && version == 0 {
        return Err(Fault::Absent);
    }
    if purpose == Purpose::Keep {
        match connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(())) {
            // Another process that opens the file at this instant may hold it: then it is the one that sets this.
            Err(error) if !matches!(of_engine(&error), Fault::Locked) => return Err(of_engine(&error)),
            _ => {}
        }
        connection.pragma_update(None, "synchronous", "full")?;
        connection.pragma_update_and_check(None, "journal_size_limit", JOURNAL_OCTETS, |_| Ok(()))?;
    }
    connection.pragma_update(None, "cache_size", CACHE)?;
    if version < NEWEST {
        climb(&mut connection)?;
    } else {
        check(&connection, NEWEST)?;
    }
    Ok(connection)
}

/// The version of the file's form; 0 of a new one.
fn version(connection: &Connection) -> Result<i64, Fault> {
    let number =
        |name: &str| -> Result<i64, Fault> { Ok(connection.pragma_query_value(None, name, |row| row.get(0))?) };
    let (application, version) = (number("application_id")?, number("user_version")?);
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (application, version) {
        (APPLICATION, version) if version > NEWEST => Err(Fault::Newer { version, newest: NEWEST }),
        (APPLICATION, version) => Ok(version),
        (0, 0) if tables == 0 => Ok(0),
        _ => Err(Fault::NotOurs("it is another program's SQLite file".to_owned())),
    }
}

/// Refuses a file whose tables of this version are not as ours are made.
fn check(connection: &Connection, version: i64) -> Result<(), Fault> {
    if is_made_by(connection, STEPS.iter().take(usize::try_from(version).unwrap_or(0)))? {
        Ok(())
    } else {
        Err(Fault::NotOurs("its tables are not made as those of a store are".to_owned()))
    }
}

/// Leads the file to the present version in one transaction. A process that comes second finds it there.
fn climb(connection: &mut Connection) -> Result<(), Fault> {
    let step = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let from = version(&step)?;
    check(&step, from)?;
    for sql in STEPS.iter().skip(usize::try_from(from).unwrap_or(0)) {
        step.execute_batch(sql)?;
    }
    step.pragma_update(None, "application_id", APPLICATION)?;
    step.pragma_update(None, "user_version", NEWEST)?;
    step.commit()?;
    Ok(())
}
