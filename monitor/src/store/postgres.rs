//! A store in a PostgreSQL database, which several monitors and many readers share.
//!
//! A session that writes holds an advisory lock of the database until its transaction ends: minutes that two monitors add to
//! are added up, never overwritten. Rows come by COPY into a table of the session, and from there into place. A connection
//! that is lost is made again by the next call.

mod connect;
mod form;

use std::collections::{BTreeMap, BTreeSet};

use logbook::monitor::silence::Silence;
use logbook::monitor::talk::Over;
use measure::span::Span;
use postgres::binary_copy::BinaryCopyInWriter;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::{ToSql, Type};
use postgres::{Client, Config, GenericClient, Row, Transaction};
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::error::{Fault, StoreError};
use super::{
    Baseline, Batch, Cell, Incident, IncidentFilter, KeptSilence, LATEST, Level, Mark, Purpose, Store, asked, asked_in,
    beat, count, is_new, json, level_of, row_named, second, silence_number,
};

pub use connect::is_address;

/// The number of the advisory lock of those who write: the letters `sondekee`.
const WRITERS: i64 = 0x736f_6e64_656b_6565;

/// Rows of one table, by cell and interval.
type Rows = BTreeMap<(i64, i64), Vec<u8>>;

/// A store in a database.
pub struct PostgresStore {
    place: String,
    config: Config,
    purpose: Purpose,
    client: Option<Client>,
}

impl PostgresStore {
    /// The store in the database at `address`.
    ///
    /// # Errors
    /// An address that is none; a database that is away, refuses us, has no store of ours and is only to be read, or one of a later program.
    pub fn open(address: &str, purpose: Purpose) -> Result<Self, StoreError> {
        let (config, place) =
            connect::described(address).map_err(|fault| StoreError { place: "--store".to_owned(), fault })?;
        let mut store = Self { place, config, purpose, client: None };
        store.with(|client| form::prepare(client, purpose))?;
        Ok(store)
    }

    /// Does something over the connection, which is made where there is none.
    fn with<T>(&mut self, act: impl FnOnce(&mut Client) -> Result<T, Fault>) -> Result<T, StoreError> {
        let mut client = match self.client.take().filter(|client| !client.is_closed()) {
            Some(client) => client,
            None => connect::connected(&self.config, self.purpose).map_err(|fault| self.failed(fault))?,
        };
        let done = act(&mut client);
        if !client.is_closed() {
            self.client = Some(client);
            return done.map_err(|fault| self.failed(fault));
        }
        // Whatever was said: it is broken, and is not used again.
        done.map_err(|fault| if fault.passes() { fault } else { Fault::Away(fault.to_string()) })
            .map_err(|fault| self.failed(fault))
    }

    /// Writes in one transaction, while no other does.
    fn within<T>(&mut self, act: impl FnOnce(&mut Transaction<'_>) -> Result<T, Fault>) -> Result<T, StoreError> {
        self.with(|client| {
            let mut step = client.transaction()?;
            step.execute("SELECT pg_advisory_xact_lock($1)", &[&WRITERS])?;
            let done = act(&mut step)?;
            step.commit()?;
            Ok(done)
        })
    }

    fn failed(&self, fault: Fault) -> StoreError {
        StoreError { place: self.place.clone(), fault }
    }
}

impl Store for PostgresStore {
    fn place(&self) -> String {
        self.place.clone()
    }

    fn keep(&mut self, batch: &Batch) -> Result<(), StoreError> {
        self.within(|step| {
            let (added, agents) = new_of(step, batch)?;
            for (level, cells) in added {
                add(step, level, &cells)?;
            }
            for (instance, (upto, latest)) in agents {
                step.execute(
                    "INSERT INTO sonde.agents (instance, upto, latest) VALUES ($1, $2, $3) ON CONFLICT (instance)
                     DO UPDATE SET upto = excluded.upto, latest = greatest(agents.latest, excluded.latest)",
                    &[&id(instance), &beat(upto)?, &second(latest)?],
                )?;
            }
            for kept in &batch.incidents {
                let ended = kept.ended.map(second).transpose()?;
                step.execute(
                    "INSERT INTO sonde.incidents (id, onset, begun, ended, told) VALUES ($1, $2, $3, $4, $5)
                     ON CONFLICT (id) DO UPDATE SET onset = $2, begun = $3, ended = $4, told = $5",
                    &[&id(kept.id), &second(kept.onset)?, &second(kept.begun)?, &ended, &json(kept)],
                )?;
            }
            for kept in &batch.marks {
                step.execute(
                    "INSERT INTO sonde.marks (id, at, told) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING",
                    &[&id(kept.id), &second(kept.at)?, &json(kept)],
                )?;
            }
            Ok(())
        })
    }

    fn kept(&mut self) -> Result<BTreeMap<Uuid, u64>, StoreError> {
        self.with(|client| {
            let rows = client.query("SELECT instance, upto FROM sonde.agents", &[])?;
            rows.iter().map(agent_of).collect()
        })
    }

    fn roll(&mut self, level: Level, at: u64) -> Result<(), StoreError> {
        self.within(|step| roll(step, level, level.start(at)))
    }

    fn cells(&mut self) -> Result<Vec<Cell>, StoreError> {
        self.with(|client| {
            let rows = client.query("SELECT from_host, to_host, over, id FROM sonde.cells", &[])?;
            let mut found: Vec<Cell> = rows.iter().map(cell_of).collect::<Result<_, _>>()?;
            found.sort();
            Ok(found)
        })
    }

    fn latest(&mut self) -> Result<Option<u64>, StoreError> {
        self.with(|client| {
            // The few kilobytes of each partition that say where minutes lie tell nothing of the last: the latest day alone
            // is read.
            let day: Option<i64> =
                client.query_one("SELECT max(at) FROM sonde.unmade WHERE level = 'hours'", &[])?.try_get(0)?;
            let from = day.unwrap_or(0);
            let latest: Option<i64> =
                client.query_one("SELECT max(at) FROM sonde.minutes WHERE at >= $1", &[&from])?.try_get(0)?;
            Ok(match latest {
                Some(latest) => Some(latest),
                None => client.query_one("SELECT max(at) FROM sonde.minutes", &[])?.try_get(0)?,
            }
            .map(count))
        })
    }

    fn rows(&mut self, cell: &Cell, level: Level, from: u64, to: u64) -> Result<Vec<(u64, Span)>, StoreError> {
        self.with(|client| {
            let table = level.table();
            let sql = format!(
                "SELECT part.span, part.at, cells.id FROM sonde.{table} AS part JOIN sonde.cells ON cells.id = part.cell
                 WHERE from_host = $1 AND to_host = $2 AND over = $3 AND part.at >= $4 AND part.at < $5 ORDER BY part.at"
            );
            let ends = (second(from.min(LATEST))?, second(to.min(LATEST))?);
            let rows = client.query(&sql, &[&cell.from, &cell.to, &cell.over.name(), &ends.0, &ends.1])?;
            let read = |row: &Row| {
                let (at, cell): (i64, i64) = (row.try_get(1)?, row.try_get(2)?);
                Ok((count(at), span_of(row.try_get(0)?, || row_named(level, at, cell))?))
            };
            rows.iter().map(read).collect()
        })
    }

    fn all_rows(&mut self, level: Level, at: u64) -> Result<Vec<(Cell, Span)>, StoreError> {
        self.with(|client| {
            let at = second(at.min(LATEST))?;
            let sql = format!(
                "SELECT from_host, to_host, over, id, span FROM sonde.{} AS part JOIN sonde.cells ON cells.id = part.cell
                 WHERE part.at = $1",
                level.table()
            );
            let read = |row: &Row| {
                let cell: i64 = row.try_get(3)?;
                Ok((cell_of(row)?, span_of(row.try_get(4)?, || row_named(level, at, cell))?))
            };
            let mut found: Vec<(Cell, Span)> = client.query(&sql, &[&at])?.iter().map(read).collect::<Result<_, Fault>>()?;
            found.sort_by(|(one, _), (other, _)| one.cmp(other));
            Ok(found)
        })
    }

    fn unmade(&mut self, level: Level, from: u64, to: u64) -> Result<BTreeSet<u64>, StoreError> {
        self.with(|client| unmade(client, level, from, to))
    }

    fn incidents(&mut self, filter: &IncidentFilter) -> Result<Vec<Incident>, StoreError> {
        self.with(|client| {
            let rows = client.query(
                "SELECT told, id FROM sonde.incidents WHERE onset < $2 AND (ended IS NULL OR (ended >= $1 AND NOT $4))
                 ORDER BY begun DESC LIMIT $3",
                &[
                    &second(filter.from.min(LATEST))?,
                    &second(filter.to.min(LATEST))?,
                    &i64::try_from(filter.most).unwrap_or(i64::MAX),
                    &filter.open,
                ],
            )?;
            documents(&rows, "incidents")
        })
    }

    fn marks(&mut self, from: u64, to: u64) -> Result<Vec<Mark>, StoreError> {
        self.with(|client| {
            let rows = client.query(
                "SELECT told, id FROM sonde.marks WHERE at >= $1 AND at < $2 ORDER BY at, id",
                &[&second(from.min(LATEST))?, &second(to.min(LATEST))?],
            )?;
            documents(&rows, "marks")
        })
    }

    fn accept(&mut self, baseline: &Baseline) -> Result<(), StoreError> {
        self.within(|step| {
            step.execute(
                "INSERT INTO sonde.baselines (name, told) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET told = $2",
                &[&baseline.name, &json(baseline)],
            )?;
            Ok(())
        })
    }

    fn baselines(&mut self) -> Result<Vec<Baseline>, StoreError> {
        self.with(|client| {
            let rows = client.query("SELECT told, name FROM sonde.baselines ORDER BY name COLLATE \"C\"", &[])?;
            documents(&rows, "baselines")
        })
    }

    fn withdraw(&mut self, name: &str) -> Result<bool, StoreError> {
        self.within(|step| Ok(step.execute("DELETE FROM sonde.baselines WHERE name = $1", &[&name])? > 0))
    }

    fn silence(&mut self, silence: &Silence, now: u64) -> Result<u64, StoreError> {
        self.within(|step| {
            let row = step.query_one(
                "INSERT INTO sonde.silences (until, told) VALUES ($1, $2) RETURNING number",
                &[&second(silence.until)?, &asked(silence, now)?],
            )?;
            Ok(count(row.try_get(0)?))
        })
    }

    fn silences(&mut self, now: u64) -> Result<Vec<KeptSilence>, StoreError> {
        self.with(|client| {
            let sql = "SELECT told, number, until FROM sonde.silences WHERE until > $1 ORDER BY number";
            let rows = client.query(sql, &[&second(now.min(LATEST))?])?;
            rows.iter().map(|row| asked_in(row.try_get(0)?, row.try_get(1)?, row.try_get(2)?)).collect()
        })
    }

    fn end_silence(&mut self, number: u64, now: u64) -> Result<bool, StoreError> {
        self.within(|step| {
            let sql = "UPDATE sonde.silences SET until = $2 WHERE number = $1 AND until > $2";
            Ok(step.execute(sql, &[&silence_number(number), &second(now)?])? > 0)
        })
    }

    fn remove(&mut self, level: Level, edge: u64) -> Result<(), StoreError> {
        self.within(|step| remove(step, level, edge))
    }

    fn forget(&mut self, before: u64) -> Result<(), StoreError> {
        self.within(|step| {
            step.execute("DELETE FROM sonde.agents WHERE latest < $1", &[&second(before)?])?;
            Ok(())
        })
    }

    fn size(&mut self) -> Result<u64, StoreError> {
        self.with(|client| {
            let sql = "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
                       WHERE relnamespace = 'sonde'::regnamespace AND relkind = 'r'";
            Ok(count(client.query_one(sql, &[])?.try_get(0)?))
        })
    }
}

fn id(id: Uuid) -> String {
    id.simple().to_string()
}

/// A document in a row's first column, which its second names.
fn documents<T: DeserializeOwned>(rows: &[Row], table: &str) -> Result<Vec<T>, Fault> {
    let read = |row: &Row| {
        let what = || format!("{table}, {}", row.try_get::<_, &str>(1).unwrap_or_default());
        serde_json::from_str(row.try_get(0)?).map_err(|cause| Fault::Damaged { what: what(), why: cause.to_string() })
    };
    rows.iter().map(read).collect()
}

/// A cell in a row's first three columns; the fourth is its id.
fn cell_of(row: &Row) -> Result<Cell, Fault> {
    let (name, id): (&str, i64) = (row.try_get(2)?, row.try_get(3)?);
    let Some(over) = Over::named(name) else {
        let why = format!("`{name}` is no way of asking that is known");
        return Err(Fault::Damaged { what: format!("cells, {id}"), why });
    };
    Ok(Cell { from: row.try_get(0)?, to: row.try_get(1)?, over })
}

fn agent_of(row: &Row) -> Result<(Uuid, u64), Fault> {
    let (name, upto): (&str, i64) = (row.try_get(0)?, row.try_get(1)?);
    let damaged = |why: &str| Fault::Damaged { what: format!("agents, {name}"), why: why.to_owned() };
    let instance = Uuid::parse_str(name).map_err(|_| damaged("its instance is no UUID"))?;
    Ok((instance, u64::try_from(upto).map_err(|_| damaged("a number below 0"))?))
}

fn span_of(octets: &[u8], named: impl Fn() -> String) -> Result<Span, Fault> {
    Span::from_octets(octets).map_err(|cause| Fault::Damaged { what: named(), why: cause.to_string() })
}

fn unmade(client: &mut impl GenericClient, level: Level, from: u64, to: u64) -> Result<BTreeSet<u64>, Fault> {
    let rows = client.query(
        "SELECT at FROM sonde.unmade WHERE level = $1 AND at >= $2 AND at < $3",
        &[&level.table(), &second(from.min(LATEST))?, &second(to.min(LATEST))?],
    )?;
    rows.iter().map(|row| Ok(count(row.try_get(0)?))).collect()
}

fn edges(step: &mut Transaction<'_>) -> Result<BTreeMap<Level, u64>, Fault> {
    let rows = step.query("SELECT level, at FROM sonde.edges", &[])?;
    let mut found = BTreeMap::new();
    for row in &rows {
        let (name, at): (&str, i64) = (row.try_get(0)?, row.try_get(1)?);
        found.extend(Level::ALL.into_iter().filter(|level| level.table() == name).map(|level| (level, count(at))));
    }
    Ok(found)
}

/// Spans to be added, by level, cell and interval.
type Added = BTreeMap<Level, BTreeMap<(Cell, u64), Span>>;
/// The last beat of each start of an agent, and the latest minute that it told of.
type Agents = BTreeMap<Uuid, (u64, u64)>;

/// New parts of a batch.
fn new_of(step: &mut Transaction<'_>, batch: &Batch) -> Result<(Added, Agents), Fault> {
    let edges = edges(step)?;
    let instances: Vec<String> = batch.parts.iter().map(|part| id(part.instance)).collect();
    let rows = step.query("SELECT instance, upto FROM sonde.agents WHERE instance = ANY($1)", &[&instances])?;
    let mut kept: BTreeMap<Uuid, u64> = rows.iter().map(agent_of).collect::<Result<_, _>>()?;
    let (mut added, mut agents) = (Added::new(), Agents::new());
    for part in &batch.parts {
        if !is_new(part, kept.get(&part.instance).copied())? {
            continue;
        }
        kept.insert(part.instance, part.last);
        let agent = agents.entry(part.instance).or_default();
        agent.0 = part.last;
        for (cell, at, span) in &part.minutes {
            second(*at)?;
            agent.1 = agent.1.max(*at);
            let level = level_of(*at, &edges);
            added.entry(level).or_default().entry((cell.clone(), level.start(*at))).or_default().add(span);
        }
    }
    Ok((added, agents))
}

/// Adds to intervals of a level.
fn add(step: &mut Transaction<'_>, level: Level, added: &BTreeMap<(Cell, u64), Span>) -> Result<(), Fault> {
    let ids = cell_ids(step, added.keys().map(|(cell, _)| cell))?;
    let mut sums = BTreeMap::<(i64, i64), Span>::new();
    for ((cell, at), span) in added {
        let id = ids.get(cell).ok_or_else(|| Fault::Engine("a cell that was made is not there".to_owned()))?;
        sums.insert((*id, second(*at)?), span.clone());
    }
    let (cells, times): (Vec<i64>, Vec<i64>) = sums.keys().copied().unzip();
    let sql = format!(
        "SELECT part.span, part.cell, part.at FROM unnest($1::bigint[], $2::bigint[]) AS wanted (cell, at)
         JOIN sonde.{} AS part ON part.cell = wanted.cell AND part.at = wanted.at",
        level.table()
    );
    for row in step.query(&sql, &[&cells, &times])? {
        let (cell, at): (i64, i64) = (row.try_get(1)?, row.try_get(2)?);
        sums.entry((cell, at)).or_default().add(&span_of(row.try_get(0)?, || row_named(level, at, cell))?);
    }
    let rows = sums.into_iter().map(|(key, span)| (key, span.to_octets())).collect();
    put(step, level, &rows)?;
    for above in [Level::Hour, Level::Day].into_iter().filter(|above| *above > level) {
        let starts: BTreeSet<i64> = times.iter().map(|at| at - at % above.seconds() as i64).collect();
        let starts: Vec<i64> = starts.into_iter().collect();
        step.execute(
            "INSERT INTO sonde.unmade (level, at) SELECT $1, unnest($2::bigint[]) ON CONFLICT DO NOTHING",
            &[&above.table(), &starts],
        )?;
    }
    Ok(())
}

/// The ids of cells; those that are new are made.
fn cell_ids<'a>(
    step: &mut Transaction<'_>,
    cells: impl Iterator<Item = &'a Cell>,
) -> Result<BTreeMap<&'a Cell, i64>, Fault> {
    let cells: Vec<&Cell> = cells.collect::<BTreeSet<_>>().into_iter().collect();
    let column = |of: fn(&Cell) -> &str| cells.iter().map(|cell| of(cell)).collect::<Vec<&str>>();
    let columns = [column(|cell| &cell.from), column(|cell| &cell.to), column(|cell| cell.over.name())];
    let columns: [&(dyn ToSql + Sync); 3] = [&columns[0], &columns[1], &columns[2]];
    // Only what is not there is inserted: each that is tried takes an id.
    step.execute(
        "INSERT INTO sonde.cells (from_host, to_host, over)
         SELECT wanted.* FROM unnest($1::text[], $2::text[], $3::text[]) AS wanted (from_host, to_host, over)
         WHERE NOT EXISTS (SELECT FROM sonde.cells AS held WHERE held.from_host = wanted.from_host
            AND held.to_host = wanted.to_host AND held.over = wanted.over)",
        &columns,
    )?;
    let rows = step.query(
        "SELECT wanted.place, held.id
         FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS wanted (from_host, to_host, over, place)
         JOIN sonde.cells AS held USING (from_host, to_host, over)",
        &columns,
    )?;
    let id = |row: &Row| {
        let place = usize::try_from(row.try_get::<_, i64>(0).ok()?).ok()?.checked_sub(1)?;
        Some((*cells.get(place)?, row.try_get(1).ok()?))
    };
    Ok(rows.iter().filter_map(id).collect())
}

/// Puts rows into a table, in place of those that are there.
fn put(step: &mut Transaction<'_>, level: Level, rows: &Rows) -> Result<(), Fault> {
    if level == Level::Minute {
        let days: BTreeSet<i64> = rows.keys().map(|(_, at)| at / Level::Day.seconds() as i64).collect();
        days.into_iter().try_for_each(|day| make_day(step, day))?;
    }
    let copy = step.copy_in("COPY pg_temp.coming (at, cell, span) FROM STDIN (FORMAT binary)")?;
    let mut copy = BinaryCopyInWriter::new(copy, &[Type::INT8, Type::INT8, Type::BYTEA]);
    for ((cell, at), octets) in rows {
        copy.write(&[at, cell, octets])?;
    }
    copy.finish()?;
    let table = level.table();
    step.execute(
        &format!(
            "INSERT INTO sonde.{table} (at, cell, span) SELECT at, cell, span FROM pg_temp.coming
             ON CONFLICT (cell, at) DO UPDATE SET span = excluded.span"
        ),
        &[],
    )?;
    step.batch_execute("TRUNCATE pg_temp.coming")?;
    Ok(())
}

/// Makes the partition of a day, where it is not there.
fn make_day(step: &mut Transaction<'_>, day: i64) -> Result<(), Fault> {
    let name = format!("sonde.minutes_{day}");
    let there: bool = step.query_one("SELECT to_regclass($1) IS NOT NULL", &[&name])?.try_get(0)?;
    if !there {
        let length = Level::Day.seconds() as i64;
        let (from, to) = (day * length, (day + 1) * length);
        step.batch_execute(&format!(
            "CREATE TABLE {name} PARTITION OF sonde.minutes FOR VALUES FROM ({from}) TO ({to})"
        ))?;
    }
    Ok(())
}

/// Makes an interval anew: its parts come by cell, so that one cell's sum is in memory at a time.
fn roll(step: &mut Transaction<'_>, level: Level, at: u64) -> Result<(), Fault> {
    let Some(below) = level.below() else { return Ok(()) };
    let is_gone = edges(step)?.get(&below).is_some_and(|edge| at < *edge);
    if !is_gone {
        if below.below().is_some() {
            for part in unmade(step, below, at, at + level.seconds())? {
                roll(step, below, part)?;
            }
        }
        let rows = sums(step, below, (second(at)?, second(at + level.seconds())?))?;
        put(step, level, &rows)?;
    }
    step.execute("DELETE FROM sonde.unmade WHERE level = $1 AND at = $2", &[&level.table(), &second(at)?])?;
    Ok(())
}

/// The sum of each cell over a stretch, as a row of its first second.
fn sums(step: &mut Transaction<'_>, level: Level, (from, to): (i64, i64)) -> Result<Rows, Fault> {
    let sql = format!("SELECT span, cell, at FROM sonde.{} WHERE at >= $1 AND at < $2 ORDER BY cell", level.table());
    let mut parts = step.query_raw(&sql, [from, to])?;
    let (mut rows, mut sum) = (Rows::new(), None::<(i64, Span)>);
    while let Some(row) = parts.next()? {
        let (cell, at): (i64, i64) = (row.try_get(1)?, row.try_get(2)?);
        let span = span_of(row.try_get(0)?, || row_named(level, at, cell))?;
        match &mut sum {
            Some((of, sum)) if *of == cell => sum.add(&span),
            _ => {
                let done = sum.replace((cell, span));
                rows.extend(done.map(|(cell, sum)| ((cell, from), sum.to_octets())));
            }
        }
    }
    rows.extend(sum.map(|(cell, sum)| ((cell, from), sum.to_octets())));
    Ok(rows)
}

/// Removes what is before `edge`; of minutes whole days.
fn remove(step: &mut Transaction<'_>, level: Level, edge: u64) -> Result<(), Fault> {
    let edge = if level == Level::Minute { Level::Day.start(edge) } else { edge };
    if edges(step)?.get(&level).is_some_and(|held| *held >= edge) {
        return Ok(());
    }
    if level == Level::Minute {
        let rows = step.query(
            "SELECT inhrelid::regclass::text, substring(relname FROM '^minutes_([0-9]{1,9})$')::bigint
             FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid WHERE inhparent = 'sonde.minutes'::regclass",
            &[],
        )?;
        let first = second(edge / Level::Day.seconds())?;
        let is_over = |row: &&Row| row.try_get::<_, Option<i64>>(1).ok().flatten().is_some_and(|day| day < first);
        for row in rows.iter().filter(is_over) {
            step.batch_execute(&format!("DROP TABLE {}", row.try_get::<_, &str>(0)?))?;
        }
    } else {
        step.execute(&format!("DELETE FROM sonde.{} WHERE at < $1", level.table()), &[&second(edge)?])?;
    }
    step.execute(
        "INSERT INTO sonde.edges (level, at) VALUES ($1, $2) ON CONFLICT (level) DO UPDATE SET at = $2",
        &[&level.table(), &second(edge)?],
    )?;
    Ok(())
}

#[cfg(test)]
mod tests;
