//! Files that are no store, or no longer one: said by name, with what to try, and left as they are.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use logbook::shelf::Shelf;
use logbook::shelf::error::{Fault, ShelfError};
use logbook::shelf::keeper::{Keeper, Kept};
use logbook::shelf::sqlite::SqliteShelf;
use rusqlite::Connection;
use test_case::test_case;

use crate::scene::{self, cell, run, run_id};

fn refused(file: &Path) -> ShelfError {
    let before = fs::read(file).ok();
    let error = SqliteShelf::open(file, Duration::ZERO).unwrap_err();
    assert_eq!(fs::read(file).ok(), before, "it is left as it is");
    assert!(error.to_string().starts_with(&format!("{}: ", file.display())) && !error.hint().is_empty(), "{error}");
    error
}

/// A store with a run of so many cells, closed.
fn filled(file: &Path, cells: u64) {
    let mut shelf = scene::open(file);
    shelf.begin(&run(0)).unwrap();
    for number in 0..cells {
        let (cell, record) = cell(0, number);
        shelf.add_cell(run_id(0), &cell, Some(&record)).unwrap();
    }
}

#[test]
fn what_is_something_else_is_told_and_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("text"), "a,b\n1,2\n".repeat(200)).unwrap();
    assert!(matches!(refused(&path("text")).fault, Fault::NotOurs(_)));
    let other = Connection::open(path("other.db")).unwrap();
    other.execute_batch("CREATE TABLE songs (name TEXT)").unwrap();
    drop(other);
    assert!(matches!(refused(&path("other.db")).fault, Fault::NotOurs(_)));
    fs::create_dir(path("folder")).unwrap();
    assert!(matches!(refused(&path("folder")).fault, Fault::NotOurs(_)));
    fs::write(path("file"), "").unwrap();
    assert!(matches!(refused(&path("file/runs.db")).fault, Fault::System(_)), "a file in place of the folder");
}

/// A record that was put in place of one that is kept: a few kilobytes that stand for far more than a record may have.
#[test]
fn a_record_that_unpacks_to_more_than_one_may_have_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    filled(&file, 1);
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    let part = vec![b' '; 1 << 20];
    (0..300).for_each(|_| packer.write_all(&part).unwrap());
    let bomb = packer.finish().unwrap();
    assert!(bomb.len() < 1 << 20);
    let other = Connection::open(&file).unwrap();
    let id: String = other.query_row("SELECT id FROM records", [], |row| row.get(0)).unwrap();
    assert_eq!(other.execute("UPDATE records SET document = ?1", [&bomb]).unwrap(), 1);
    drop(other);
    let shelf = SqliteShelf::open_existing(&file).unwrap();
    let error = shelf.record(id.parse().unwrap()).unwrap_err();
    assert!(matches!(&error.fault, Fault::Damaged(what) if what.contains("longer than 64 MiB")), "{error}");
}

/// A view in the place of a table would be run: this one has no end.
#[test_case("DROP TABLE checks; CREATE VIEW checks AS WITH RECURSIVE n (seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n) SELECT seq FROM n"; "a view")]
#[test_case("CREATE TRIGGER more AFTER INSERT ON checks BEGIN DELETE FROM runs; END"; "a trigger")]
#[test_case("ALTER TABLE checks ADD COLUMN large BLOB AS (zeroblob(900000000))"; "a column that is computed")]
fn one_that_somebody_else_made_up_is_not_opened(made_up: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    filled(&file, 1);
    Connection::open(&file).unwrap().execute_batch(made_up).unwrap();
    assert!(matches!(refused(&file).fault, Fault::NotOurs(_)));
}

#[test]
fn one_that_is_not_there_is_made_or_missed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deep/er/runs.db");
    let error = SqliteShelf::open_existing(&file).unwrap_err();
    assert!(matches!(error.fault, Fault::Absent) && !file.exists(), "{error}");
    drop(scene::open(&file));
    assert!(SqliteShelf::open_existing(&file).is_ok());
}

#[test]
fn a_later_version_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    filled(&file, 1);
    let other = Connection::open(&file).unwrap();
    other.pragma_update(None, "user_version", 7).unwrap();
    drop(other);
    let error = refused(&file);
    assert!(matches!(error.fault, Fault::Later { version: 7, newest: 1 }), "{error}");
    assert!(error.to_string().contains("version 7") && error.hint().contains("later one"));
}

#[test_case(1, 4; "a quarter")]
#[test_case(3, 4; "three quarters")]
#[test_case(1, 100; "hardly anything")]
fn a_file_cut_short_is_damaged_and_says_so(share: u64, of: u64) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    filled(&file, 30);
    let whole = fs::metadata(&file).unwrap().len();
    fs::File::options().write(true).open(&file).unwrap().set_len(whole * share / of).unwrap();
    let error = refused(&file);
    assert!(matches!(error.fault, Fault::Damaged(_) | Fault::NotOurs(_)), "{error}");
}

#[test]
fn no_damage_to_a_file_is_more_than_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let (sound, file) = (folder.path().join("sound.db"), folder.path().join("runs.db"));
    filled(&sound, 4);
    let whole = fs::read(&sound).unwrap();
    let mut chance = fastrand::Rng::with_seed(3);
    for _ in 0..200 {
        let mut damaged = whole.clone();
        for _ in 0..chance.usize(1..20) {
            let at = chance.usize(..damaged.len());
            damaged[at] = chance.u8(..);
        }
        fs::write(&file, damaged).unwrap();
        let Ok(mut shelf) = SqliteShelf::open(&file, Duration::ZERO) else { continue };
        let (cell, record) = cell(0, 9);
        let said = [
            shelf.run(run_id(0)).err(),
            shelf.record(record.head.id).err(),
            shelf.find("last").err(),
            shelf.add_cell(run_id(0), &cell, Some(&record)).err(),
            shelf.complaints().err(),
        ];
        assert!(said.iter().flatten().all(|error| !error.to_string().is_empty() && !error.hint().is_empty()));
    }
}

#[test]
fn what_comes_to_a_store_that_is_none_waits_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    fs::write(&file, "no store, and nothing that sonde may overwrite").unwrap();
    let (keeper, opening) = Keeper::at(&file);
    assert!(matches!(opening.shelf.unwrap().fault, Fault::NotOurs(_)));
    let Kept::Spooled { path, first: true, why } = keeper.begin(&run(0)).unwrap() else { panic!("not spooled") };
    assert!(path.starts_with(folder.path().join("runs.db.spool")) && matches!(why.fault, Fault::NotOurs(_)));
    fs::remove_file(&file).unwrap();
    assert!(matches!(keeper.begin(&run(1)).unwrap(), Kept::Stored { caught_up: 1 }));
    let found = keeper.ask(|shelf| shelf.run(run_id(0))).unwrap();
    assert_eq!((found, path.exists()), (run(0), false));
}
