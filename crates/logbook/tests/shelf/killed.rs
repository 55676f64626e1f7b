//! Killed at any instant: the file opens, it is sound, and what was acknowledged is there, whole.

use logbook::shelf::Shelf;
use logbook::shelf::keeper::Keeper;
use rusqlite::Connection;
use std::path::Path;
use std::time::Duration;

use crate::scene;
use crate::writer::Writer;

/// How often a writer is killed: twice in three into the store, else into the spool.
const KILLS: u64 = 66;
/// More cells than a writer comes to before it is killed.
const CELLS: u64 = 10_000;

#[test]
fn what_was_acknowledged_is_there_after_a_kill_at_any_instant() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let mut chance = fastrand::Rng::with_seed(8);
    drop(scene::open(&file));
    let mut all = Vec::new();
    for run in 0..KILLS {
        // Whoever holds the store makes the writer spool.
        let holder = (run % 3 == 2).then(|| held(&file));
        let acknowledged = killed(&file, run, &mut chance);
        drop(holder);
        all.push(acknowledged);
        let (keeper, opening) = Keeper::at(&file);
        assert!(opening.shelf.is_none() && opening.spool.is_none(), "{opening:?}");
        assert_eq!(opening.spooled.left.len(), 0, "{opening:?}");
        drop(keeper);
        assert_eq!(scene::open(&file).complaints().unwrap(), [""; 0]);
        sound(&file, run, acknowledged);
    }
    assert!(all.iter().sum::<u64>() > KILLS, "hardly anything was written: {all:?}");
    for (run, acknowledged) in all.into_iter().enumerate() {
        sound(&file, run as u64, acknowledged);
    }
}

/// A transaction that others wait for.
fn held(file: &Path) -> Connection {
    let holder = Connection::open(file).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    holder
}

/// Starts a writer and kills it somewhere: within its start, between two cells, within a cell. How many it had acknowledged.
fn killed(file: &Path, run: u64, chance: &mut fastrand::Rng) -> u64 {
    let mut writer = Writer::start(file, run, CELLS, Duration::ZERO);
    let wanted = chance.u64(0..8);
    let mut acknowledged = 0;
    while acknowledged < wanted && writer.acknowledged().is_some() {
        acknowledged += 1;
    }
    for _ in 0..chance.u32(0..2_000_000) {
        std::hint::spin_loop();
    }
    writer.child.kill().unwrap();
    writer.child.wait().unwrap();
    while writer.acknowledged().is_some() {
        acknowledged += 1;
    }
    acknowledged
}

fn sound(file: &Path, run: u64, acknowledged: u64) {
    let shelf = scene::open(file);
    let Ok(found) = shelf.run(scene::run_id(run)) else {
        assert_eq!(acknowledged, 0, "run {run} is gone");
        return;
    };
    let there = found.cells.len() as u64;
    assert!((acknowledged..=acknowledged + 1).contains(&there), "run {run}: {there} of {acknowledged}");
    for (number, cell) in found.cells.iter().enumerate() {
        let (expected, record) = scene::cell(run, number as u64);
        assert_eq!(*cell, expected);
        assert_eq!(shelf.record(record.id).unwrap(), record);
    }
}
