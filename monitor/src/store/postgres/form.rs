//! The tables, and the way to them from an older form.
//!
//! `sonde.version` holds the form's version, a count from 1; each step of [`STEPS`] leads from the version of its place to the next, and none is ever
//! changed. The one of several monitors starting at once that holds an advisory lock makes the step, and the others find it
//! made.

use postgres::{Client, GenericClient};

use crate::store::Purpose;
use crate::store::error::Fault;

/// From nothing to version 1, from there to version 2, and so on.
const STEPS: [&str; 2] = [include_str!("v1.sql"), include_str!("v2.sql")];
/// The version that this program writes.
const NEWEST: i64 = STEPS.len() as i64;
/// The number of the advisory lock of whoever makes a step: the letters `sondever`.
const MIGRATION: i64 = 0x736f_6e64_6576_6572;

/// Sees to it that the tables are there and of this version.
pub(super) fn prepare(client: &mut Client, purpose: Purpose) -> Result<(), Fault> {
    match (version(client)?, purpose) {
        (Some(version), _) if version > NEWEST => Err(Fault::Newer { version, newest: NEWEST }),
        (Some(NEWEST), _) => Ok(()),
        (None, Purpose::Read) => Err(Fault::Absent),
        _ => climb(client),
    }
}

/// The version of the form; `None` where there is nothing of ours.
fn version(client: &mut impl GenericClient) -> Result<Option<i64>, Fault> {
    // One look: between two, another monitor may have made it all.
    let row = client.query_one(
        "SELECT count(*) FILTER (WHERE relname = 'version'), count(*) FROM pg_class WHERE relkind = 'r'
         AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'sonde')",
        &[],
    )?;
    match (row.try_get::<_, i64>(0)?, row.try_get::<_, i64>(1)?) {
        (0, 0) => Ok(None),
        (0, _) => Err(Fault::NotOurs("its schema `sonde` has tables of something else".to_owned())),
        _ => {
            let row = client.query_opt("SELECT version FROM sonde.version", &[])?;
            row.map(|row| Ok(row.try_get(0)?)).transpose()
        }
    }
}

/// Leads to the present version in one transaction.
fn climb(client: &mut Client) -> Result<(), Fault> {
    let mut step = client.transaction()?;
    step.execute("SELECT pg_advisory_xact_lock($1)", &[&MIGRATION])?;
    let from = version(&mut step)?.unwrap_or(0);
    if from == 0 {
        step.batch_execute("CREATE SCHEMA IF NOT EXISTS sonde; CREATE TABLE sonde.version (version bigint NOT NULL)")?;
        step.execute("INSERT INTO sonde.version (version) VALUES (0)", &[])?;
    }
    for sql in STEPS.iter().skip(usize::try_from(from).unwrap_or(usize::MAX)) {
        step.batch_execute(sql)?;
    }
    step.execute("UPDATE sonde.version SET version = $1", &[&NEWEST])?;
    step.commit()?;
    Ok(())
}
