//! Things that cannot be put into the store wait beside it, come in later, once, in their order, and are lost on no way.

use std::fs;
use std::path::Path;
use std::time::Duration;

use logbook::record::Ended;
use logbook::shelf::error::Fault;
use logbook::shelf::item::Item;
use logbook::shelf::keeper::{Keeper, Kept};
use logbook::shelf::spool::{Spool, Why};
use logbook::shelf::sqlite::SqliteShelf;
use logbook::shelf::{Progress, Shelf};
use rusqlite::Connection;

use crate::scene::{self, DONE, cell, run, run_id};

/// A keeper that waits for nobody.
fn keeper(file: &Path) -> Keeper {
    let path = file.to_owned();
    let open = move |_| -> Result<Box<dyn Shelf>, _> { Ok(Box::new(SqliteShelf::open(&path, Duration::ZERO)?)) };
    Keeper::new(Box::new(open), Spool::beside(file)).0
}

fn files(file: &Path) -> Vec<String> {
    let found = Spool::beside(file).files().unwrap();
    found.iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

/// All that a run has to keep, in its order.
fn items() -> Vec<Item> {
    let mut items = vec![Item::Begin { run: Box::new(run(0)) }];
    for number in 0..12 {
        let (cell, record) = cell(0, number);
        items.push(Item::Cell { run: run_id(0), cell: Box::new(cell), record: Some(Box::new(record)) });
    }
    let progress = Progress { hosts: vec![scene::seen("a")], stages: DONE.to_vec(), ended: Some(Ended::Complete) };
    items.push(Item::Advance { run: run_id(0), progress: Box::new(progress) });
    items.push(Item::Record { record: Box::new(scene::record(1, 0)) });
    items
}

fn all_there(file: &Path) {
    let shelf = scene::open(file);
    let found = shelf.run(run_id(0)).unwrap();
    assert_eq!(found.cells, (0..12).map(|number| cell(0, number).0).collect::<Vec<_>>());
    assert_eq!((found.ended, found.stages), (Some(Ended::Complete), DONE.to_vec()));
    assert_eq!(shelf.record(scene::record(1, 0).head.id).unwrap(), scene::record(1, 0));
    assert_eq!((shelf.complaints().unwrap(), files(file)), (vec![], vec![]));
}

#[test]
fn while_another_holds_the_store_things_wait_and_then_go_first() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let keeper = keeper(&file);
    let mut told = Vec::new();
    let holder = Connection::open(&file).unwrap();
    for (number, item) in items().into_iter().enumerate() {
        match number {
            3 => holder.execute_batch("BEGIN IMMEDIATE").unwrap(),
            8 => holder.execute_batch("ROLLBACK").unwrap(),
            _ => {}
        }
        told.push(match keeper.keep(item).unwrap() {
            Kept::Stored { caught_up } => format!("stored {caught_up}"),
            Kept::Spooled { first, why, .. } => {
                assert!(matches!(why.fault, Fault::Busy), "{why}");
                format!("spooled {first}")
            }
        });
    }
    assert_eq!(told[..3], ["stored 0"; 3]);
    assert_eq!(told[3..8], ["spooled true", "spooled false", "spooled false", "spooled false", "spooled false"]);
    assert_eq!((&told[8], &told[9]), (&"stored 5".to_owned(), &"stored 0".to_owned()));
    all_there(&file);
    assert!(!Spool::beside(&file).folder().exists(), "an empty spool goes");
}

#[test]
fn what_a_process_left_is_taken_by_the_next_and_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let mut spool = Spool::beside(&file);
    let paths: Vec<_> = items().iter().map(|item| spool.add(item).unwrap()).collect();
    let kept: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    let (_, opening) = Keeper::at(&file);
    assert_eq!((opening.spooled.taken, opening.spooled.left.len()), (items().len() as u64, 0));
    all_there(&file);
    // As if the process had been killed between the store's commit and the file's removal.
    fs::create_dir_all(spool.folder()).unwrap();
    for (path, content) in paths.iter().zip(kept) {
        fs::write(path, content).unwrap();
    }
    let (_, opening) = Keeper::at(&file);
    assert_eq!((opening.spooled.taken, opening.spooled.left.len()), (items().len() as u64, 0));
    all_there(&file);
}

#[test]
fn a_file_that_is_not_sound_stays_and_stops_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let mut spool = Spool::beside(&file);
    let paths: Vec<_> = items().iter().map(|item| spool.add(item).unwrap()).collect();
    let whole = fs::read_to_string(&paths[4]).unwrap();
    fs::write(&paths[4], &whole[..whole.len() / 2]).unwrap();
    fs::write(&paths[5], whole.replacen("\"version\": 1", "\"version\": 9", 1)).unwrap();
    fs::write(spool.folder().join("0000000000-notes.json"), "{}").unwrap();
    fs::write(spool.folder().join(".0000000001-part.json.77.part"), "half a").unwrap();
    let (keeper, opening) = Keeper::at(&file);
    let left: Vec<String> = opening.spooled.left.iter().map(|left| left.why.to_string()).collect();
    assert_eq!(opening.spooled.taken as usize, items().len() - 2);
    assert_eq!(left.len(), 3, "{left:?}");
    assert!(left[0].contains("not a sonde record") && left[1].contains("not JSON at line"), "{left:?}");
    assert!(left[2].contains("version 9, which is newer"), "{left:?}");
    assert!(opening.spooled.left.iter().all(|left| !left.why.hint().is_empty() && left.path.exists()));
    assert_eq!(keeper.ask(|shelf| shelf.run(run_id(0))).unwrap().cells.len(), 10);
}

#[test]
fn what_the_store_refuses_is_kept_beside_and_told_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let keeper = keeper(&file);
    keeper.begin(&run(0)).unwrap();
    let (kept, record) = cell(0, 0);
    keeper.cell(run_id(0), kept.clone(), Some(record.clone())).unwrap();
    let mut other = record;
    other.head.command.clear();
    for _ in 0..2 {
        let Kept::Spooled { first: true, why, .. } = keeper.cell(run_id(0), kept.clone(), Some(other.clone())).unwrap()
        else {
            panic!("not spooled")
        };
        assert!(matches!(why.fault, Fault::Taken { .. }), "{why}");
    }
    assert!(matches!(keeper.record(scene::record(5, 5)).unwrap(), Kept::Stored { caught_up: 0 }), "the store is sound");
    drop(keeper);
    let (_, opening) = Keeper::at(&file);
    assert!(matches!(&opening.spooled.left[..], [one, _] if matches!(one.why, Why::Shelf(_))), "{opening:?}");
}

#[test]
fn where_nothing_can_be_written_the_caller_has_it_still() {
    let folder = tempfile::tempdir().unwrap();
    let (file, spool) = (folder.path().join("runs.db"), folder.path().join("runs.db.spool"));
    fs::write(&file, "no store").unwrap();
    fs::write(&spool, "a file in place of the spool").unwrap();
    let (keeper, opening) = Keeper::at(&file);
    assert!(opening.shelf.is_some());
    let given = items().swap_remove(1);
    let lost = keeper.keep(given.clone()).unwrap_err();
    assert_eq!(lost.item, given);
    assert!(lost.to_string().contains("runs.db: this is not a sonde store"), "{lost}");
    fs::remove_file(&spool).unwrap();
    assert!(matches!(keeper.keep(lost.item).unwrap(), Kept::Spooled { .. }));
}
