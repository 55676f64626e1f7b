//! Killed at any instant: the file opens, it is sound, and what was acknowledged is there, whole.

use logbook::record::Ended;
use logbook::shelf::item::Item;
use logbook::shelf::keeper::Keeper;
use logbook::shelf::spool::Spool;
use logbook::shelf::{Progress, Shelf};
use rusqlite::Connection;
use std::path::Path;
use std::time::Duration;

use crate::scene;
use crate::writer::{Writer, importer};

/// Kills of a writer: two in three write into the store, the others into the spool.
const KILLS: u64 = 66;
/// Runs that are taken in at once, and cells of each.
const WAITING: (u64, u64) = (2, 16);
/// Least number of kills of those who take runs in.
const IMPORTS: usize = 8;
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

/// Starts a writer and kills it somewhere: within its start, between two cells, within a cell. Returns the number of things
/// that it had acknowledged.
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
        assert_eq!(shelf.record(record.head.id).unwrap(), record);
    }
}

/// Two processes take in the same spool, and both are killed: again and again, until nothing waits any more.
#[test]
fn an_import_that_is_killed_at_any_instant_loses_nothing_and_takes_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let (file, waiting) = (folder.path().join("runs.db"), folder.path().join("from-elsewhere"));
    let mut spool = Spool::new(&waiting);
    for item in (0..WAITING.0).flat_map(items) {
        spool.add(&item).unwrap();
    }
    drop(scene::open(&file));
    let all = spool.files().unwrap();
    let mut chance = fastrand::Rng::with_seed(9);
    let mut kills = 0;
    loop {
        let before = spool.files().unwrap().len();
        let mut importers = [importer(&file, &waiting), importer(&file, &waiting)];
        // From when they are at it, so that most of them are killed within a file and not within their start.
        let gone = |child: &mut std::process::Child| child.try_wait().unwrap().is_some();
        while spool.files().unwrap().len() == before && !importers.iter_mut().all(gone) {}
        for _ in 0..chance.u32(0..200_000) {
            std::hint::spin_loop();
        }
        for child in &mut importers {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let left = spool.files().unwrap();
        taken_in(&file, &all, &left);
        if left.is_empty() {
            break;
        }
        kills += usize::from(left.len() < before);
    }
    assert!(kills >= IMPORTS, "they were killed {kills} times only");
    for run in 0..WAITING.0 {
        let found = scene::open(&file).run(scene::run_id(run)).unwrap();
        assert_eq!(
            (found.ended, found.stages.len()),
            (Some(Ended::Complete), scene::DONE.len()),
            "the last word stands"
        );
    }
}

/// A run as it was spooled: its start, its cells, and how far it was after each.
fn items(number: u64) -> Vec<Item> {
    let run = scene::run_id(number);
    let mut items = vec![Item::Begin { run: Box::new(scene::run(number)) }];
    for at in 0..WAITING.1 {
        let (cell, record) = scene::cell(number, at);
        items.push(Item::Cell { run, cell: Box::new(cell), record: Some(Box::new(record)) });
        let ended = (at + 1 == WAITING.1).then_some(Ended::Complete);
        let stages = scene::DONE[..if ended.is_some() { 2 } else { 1 }].to_vec();
        items.push(Item::Advance { run, progress: Box::new(Progress { hosts: Vec::new(), stages, ended }) });
    }
    items
}

/// A file that is gone from the spool is on the shelf, whole and once; of those that wait only the first may be there too.
fn taken_in(file: &Path, all: &[std::path::PathBuf], left: &[std::path::PathBuf]) {
    let shelf = scene::open(file);
    assert_eq!(shelf.complaints().unwrap(), [""; 0]);
    assert_eq!(all[all.len() - left.len()..], *left, "they are taken in their order");
    let gone = (all.len() - left.len()) as u64;
    let each = 1 + 2 * WAITING.1;
    for run in 0..WAITING.0 {
        // The first of each pair behind the start is a cell.
        let of_run = gone.saturating_sub(run * each).min(each);
        let least = of_run / 2;
        let found = shelf.run(scene::run_id(run)).map(|run| run.cells).unwrap_or_default();
        assert!((least..=least + 1).contains(&(found.len() as u64)), "run {run}: {} of {least}", found.len());
        for (number, cell) in found.iter().enumerate() {
            let (expected, record) = scene::cell(run, number as u64);
            assert_eq!(*cell, expected);
            assert_eq!(shelf.record(record.head.id).unwrap(), record);
        }
    }
}
