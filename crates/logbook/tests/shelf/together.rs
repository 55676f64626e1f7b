//! Several processes write at once: each waits for the others, and all of it is there.

use std::time::Duration;

use logbook::shelf::sqlite::SqliteShelf;
use logbook::shelf::{RunFilter, Shelf};
use test_case::test_case;

use crate::scene;
use crate::writer::Writer;

/// Longest wait of a writer: far longer than others need.
const WAIT: Duration = Duration::from_mins(1);

#[test_case(2, 60; "two write much")]
#[test_case(6, 1; "six make the file")]
fn processes_that_write_at_once_lose_nothing(writers: u64, cells: u64) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deep/runs.db");
    let mut all: Vec<Writer> = (0..writers).map(|run| Writer::start(&file, run, cells, WAIT)).collect();
    for writer in &mut all {
        while writer.acknowledged().is_some() {}
        assert!(writer.child.wait().unwrap().success());
    }
    let shelf = scene::open(&file);
    assert_eq!(shelf.complaints().unwrap(), [""; 0]);
    let found = shelf.runs(&RunFilter::default()).unwrap();
    let told: Vec<(u64, u64)> = found.iter().map(|run| (run.done, run.failed)).collect();
    assert_eq!(told, vec![(cells, 0); writers as usize]);
    for run in 0..writers {
        let numbers: Vec<u32> =
            shelf.run(scene::run_id(run)).unwrap().cells.iter().map(|cell| cell.place.repeat).collect();
        assert_eq!(numbers, (0..cells as u32).collect::<Vec<_>>());
    }
}

#[test]
fn a_reader_sees_one_instant_while_others_write() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let mut writer = Writer::start(&file, 0, 40, WAIT);
    assert_eq!(writer.acknowledged(), Some(0));
    let mut seen = 0;
    while let Some(number) = writer.acknowledged() {
        // As readers do: who closes the file last holds it for an instant.
        let shelf = SqliteShelf::open_existing(&file).unwrap();
        let cells = shelf.run(scene::run_id(0)).unwrap().cells.len() as u64;
        assert!(cells > number && cells >= seen, "{cells} cells after {number} was acknowledged");
        seen = cells;
    }
    assert!(writer.child.wait().unwrap().success());
    assert_eq!(scene::open(&file).run(scene::run_id(0)).unwrap().cells.len(), 40);
}
