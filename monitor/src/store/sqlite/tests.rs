//! The cases against a file, and what can be wrong with one.

use std::path::Path;

use rusqlite::Connection;
use tempfile::{TempDir, tempdir};
use test_case::test_case;

use super::*;
use crate::store::tests::{CASES, DAY, agent, batch, cell, seen};

fn open(folder: &TempDir) -> SqliteStore {
    SqliteStore::open(&folder.path().join("deep/monitor.db"), Purpose::Keep).unwrap()
}

#[test_case(0; "parts of a minute")]
#[test_case(1; "twice")]
#[test_case(2; "overlap")]
#[test_case(3; "longer intervals")]
#[test_case(4; "late")]
#[test_case(5; "removed")]
#[test_case(6; "documents")]
#[test_case(7; "absurd times")]
#[test_case(8; "silences")]
#[test_case(9; "each beat once")]
fn a_file_does(case: usize) {
    let folder = tempdir().unwrap();
    CASES[case].1(&|| Box::new(open(&folder)));
}

fn fault(path: &Path, purpose: Purpose) -> Fault {
    SqliteStore::open(path, purpose).err().unwrap().fault
}

#[test]
fn what_is_no_store_is_told_apart() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("monitor.db");
    assert!(matches!(fault(&path, Purpose::Read), Fault::Absent));
    assert!(!path.exists());
    std::fs::write(&path, "").unwrap();
    assert!(matches!(fault(&path, Purpose::Read), Fault::Absent), "an empty file");
    std::fs::write(&path, "not a database, but as long as the head of one would be: ".repeat(20)).unwrap();
    assert!(matches!(fault(&path, Purpose::Keep), Fault::NotOurs(_)));
    assert!(matches!(fault(folder.path(), Purpose::Keep), Fault::NotOurs(_)));
    let other = folder.path().join("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE runs (id)").unwrap();
    assert!(matches!(fault(&other, Purpose::Keep), Fault::NotOurs(_)));
    let newer = folder.path().join("newer.db");
    drop(SqliteStore::open(&newer, Purpose::Keep).unwrap());
    Connection::open(&newer).unwrap().pragma_update(None, "user_version", 3).unwrap();
    assert!(matches!(fault(&newer, Purpose::Read), Fault::Newer { version: 3, newest: 2 }));
}

/// Views and triggers would be run in the place of a table: a view need not end, and a trigger writes.
#[test_case("DROP TABLE marks; CREATE VIEW marks AS WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id, id AS at, id AS document FROM n"; "a view")]
#[test_case("CREATE TRIGGER more AFTER INSERT ON marks BEGIN DELETE FROM marks; END"; "a trigger")]
fn a_store_that_somebody_else_made_up_is_not_opened(made_up: &str) {
    for version in [1, 2] {
        let folder = tempdir().unwrap();
        let path = folder.path().join("monitor.db");
        drop(SqliteStore::open(&path, Purpose::Keep).unwrap());
        let by_hand = Connection::open(&path).unwrap();
        by_hand.execute_batch(made_up).unwrap();
        by_hand.pragma_update(None, "user_version", version).unwrap();
        drop(by_hand);
        assert!(matches!(fault(&path, Purpose::Read), Fault::NotOurs(_)));
    }
}

#[test]
fn a_store_of_the_first_version_is_brought_to_the_present_one() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("old.db");
    let old = Connection::open(&path).unwrap();
    old.execute_batch(include_str!("v1.sql")).unwrap();
    old.pragma_update(None, "application_id", 0x736f_6e6d).unwrap();
    old.pragma_update(None, "user_version", 1).unwrap();
    old.execute(
        "INSERT INTO marks VALUES ('00000000000000000000000000000007', 5, ?1)",
        [r#"{"id":"00000000-0000-0000-0000-000000000007","at":5,"text":"before"}"#],
    )
    .unwrap();
    drop(old);
    let mut store = SqliteStore::open(&path, Purpose::Read).unwrap();
    assert_eq!(store.silences(0).unwrap(), []);
    assert_eq!(store.marks(0, LATEST).unwrap()[0].text, "before");
}

#[test]
fn a_damaged_row_is_an_error_that_names_it() {
    let folder = tempdir().unwrap();
    let mut store = open(&folder);
    store
        .keep(&batch(agent(1), (1, 1), vec![(cell("a", "b"), DAY, seen(1_000)), (cell("a", "c"), DAY, seen(1))]))
        .unwrap();
    let raw = Connection::open(folder.path().join("deep/monitor.db")).unwrap();
    raw.execute("UPDATE minutes SET span = substr(span, 1, 5) WHERE cell = 1", []).unwrap();
    let history = |store: &mut SqliteStore, to| store.history(&cell("a", to), Level::Hour, 0, LATEST);
    let told = history(&mut store, "b").unwrap_err();
    assert!(told.to_string().contains(&format!("minutes, cell 1 at {DAY}")), "{told}");
    assert!(!told.fault.passes());
    assert_eq!(history(&mut store, "c").unwrap().len(), 1, "others are read");
    raw.execute("UPDATE cells SET over = 'pigeon' WHERE id = 1", []).unwrap();
    raw.execute("UPDATE agents SET instance = 'nobody'", []).unwrap();
    assert!(store.cells().unwrap_err().to_string().contains("pigeon"));
    assert!(matches!(store.kept().unwrap_err().fault, Fault::Damaged { .. }));
    // Damage of the file itself is found by SQLite.
    drop((store, raw));
    let path = folder.path().join("deep/monitor.db");
    let mut octets = std::fs::read(&path).unwrap();
    octets[100..].fill(0xff);
    std::fs::write(&path, octets).unwrap();
    let told = SqliteStore::open(&path, Purpose::Read).and_then(|mut store| store.cells());
    assert!(matches!(told.unwrap_err().fault, Fault::Damaged { .. }));
}

#[test]
fn a_full_disk_keeps_nothing_of_a_batch_and_all_of_those_before() {
    let folder = tempdir().unwrap();
    let mut store = open(&folder);
    let pages: i64 = store.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    store.connection.pragma_update_and_check(None, "max_page_count", pages + 8, |_| Ok(())).unwrap();
    let minute = |k: u64| (0..20).map(|to| (cell("a", &format!("host{to}")), DAY + k * 60, seen(1_000 + k))).collect();
    let full = (1..).find_map(|k| store.keep(&batch(agent(1), (k, k), minute(k))).err().map(|fault| (k, fault)));
    let (k, told) = full.unwrap();
    assert!(matches!(told.fault, Fault::Full) && told.fault.passes(), "{told}");
    assert_eq!(store.kept().unwrap()[&agent(1)], k - 1);
    let kept = store.history(&cell("a", "host0"), Level::Minute, 0, LATEST).unwrap();
    assert_eq!(kept.len() as u64, k - 1);
    store.connection.pragma_update_and_check(None, "max_page_count", 1_000_000, |_| Ok(())).unwrap();
    store.keep(&batch(agent(1), (k, k), minute(k))).unwrap();
    assert_eq!(store.kept().unwrap()[&agent(1)], k);
}

#[test]
fn what_is_removed_makes_room_for_what_comes() {
    let folder = tempdir().unwrap();
    let mut store = open(&folder);
    let kept = crate::store::Retention { minutes: Some(2 * 3_600), hours: Some(2 * 86_400), days: None };
    let mut sizes = Vec::new();
    for hour in 0..12 {
        for minute in 0..6 {
            let at = DAY + hour * 3_600 + minute * 600;
            let minutes = (0..300).map(|to| (cell("a", &format!("host{to}")), at, seen(1_000 + at % 977))).collect();
            store.keep(&batch(agent(1), (hour * 6 + minute + 1, hour * 6 + minute + 1), minutes)).unwrap();
        }
        store.retain(DAY + (hour + 1) * 3_600, &kept).unwrap();
        sizes.push(store.size().unwrap());
    }
    let hours_only = sizes[11] - sizes[3];
    // Eight hours of 300 rows of at most 60 octets each, with the tree around them; the minutes would be 14,400 rows.
    assert!(hours_only < 8 * 300 * 120, "{sizes:?}");
}
