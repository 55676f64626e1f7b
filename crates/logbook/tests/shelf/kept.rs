//! A kept thing is had again, in its order, under its name; a thing that is given twice is there once.

use std::ops::ControlFlow;
use std::path::PathBuf;

use logbook::failure::Failure;
use logbook::host::Address;
use logbook::record::Ended;
use logbook::run::{Answer, Cell, PairCheck, RunDocument};
use logbook::shelf::error::{Fault, ShelfError};
use logbook::shelf::sqlite::SqliteShelf;
use logbook::shelf::{CellFilter, Found, Progress, RecordFilter, RunFilter, Shelf};
use tempfile::TempDir;
use test_case::test_case;

use crate::scene::{self, DONE, cell, moment, run, run_id, seen};

fn empty() -> (TempDir, PathBuf, SqliteShelf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let shelf = scene::open(&file);
    (folder, file, shelf)
}

fn check() -> PairCheck {
    PairCheck {
        from: "a".to_owned(),
        to: "b".to_owned(),
        over: Address::Internal,
        address: Some("10.0.0.2".parse().unwrap()),
        name: None,
        icmp: Answer::Open,
        tcp: Answer::Closed,
        udp: Answer::Silent,
        mtu_bytes: None,
        mtu_hole: false,
        failure: None,
    }
}

fn failed(mut cell: Cell) -> Cell {
    let what = "b: the agent is gone".to_owned();
    cell.failure = Some(Failure { what, to_whom: None, side: None, hint: None, partial: None });
    (cell.record, cell.figures, cell.host_lost) = (None, None, true);
    cell
}

/// A run that was written as it went on, and what it should be.
fn whole(shelf: &mut dyn Shelf) -> RunDocument {
    let mut expected = run(0);
    shelf.begin(&expected).unwrap();
    shelf.add_check(expected.head.id, &check()).unwrap();
    expected.checks.push(check());
    for number in 0..3 {
        let (cell, record) = cell(0, number);
        shelf.add_cell(expected.head.id, &cell, Some(&record)).unwrap();
        expected.cells.push(cell);
    }
    let lost = failed(cell(0, 3).0);
    shelf.add_cell(expected.head.id, &lost, None).unwrap();
    expected.cells.push(lost);
    shelf.advance(expected.head.id, &Progress { hosts: vec![seen("a")], ..Progress::default() }).unwrap();
    let ended = Some(Ended::Interrupted { signal: "SIGINT".to_owned() });
    let progress = Progress { hosts: vec![seen("a"), seen("b")], stages: DONE.to_vec(), ended };
    shelf.advance(expected.head.id, &progress).unwrap();
    (expected.hosts, expected.stages, expected.ended) = (progress.hosts, progress.stages, progress.ended);
    expected
}

#[test]
fn a_run_is_had_again_as_it_went_on() {
    let (_folder, file, mut shelf) = empty();
    let expected = whole(&mut shelf);
    assert_eq!(shelf.run(expected.head.id).unwrap(), expected);
    drop(shelf);
    let shelf = scene::open(&file);
    assert_eq!(shelf.run(expected.head.id).unwrap(), expected);
    let mut told = Vec::new();
    let mut each = |cell: Cell, record| {
        told.push((cell, record));
        ControlFlow::Continue(())
    };
    shelf.records_of(expected.head.id, &CellFilter::default(), &mut each).unwrap();
    assert_eq!(told, (0..3).map(|number| cell(0, number)).collect::<Vec<_>>());
    assert_eq!(shelf.complaints().unwrap(), [""; 0]);
}

#[test]
fn what_is_given_twice_is_there_once_and_nothing_is_rewritten() {
    let (_folder, _, mut shelf) = empty();
    let expected = whole(&mut shelf);
    let (cell, record) = cell(0, 1);
    shelf.begin(&run(0)).unwrap();
    shelf.add_check(expected.head.id, &check()).unwrap();
    shelf.add_cell(expected.head.id, &cell, Some(&record)).unwrap();
    shelf.add_record(&record).unwrap();
    assert_eq!(shelf.run(expected.head.id).unwrap(), expected, "beginning again forgets nothing");
    let taken = |kept: Result<(), ShelfError>| matches!(kept.unwrap_err().fault, Fault::Taken { .. });
    let mut other = record.clone();
    other.head.command.clear();
    assert!(taken(shelf.add_record(&other)) && taken(shelf.add_cell(expected.head.id, &cell, Some(&other))));
    assert!(taken(shelf.add_cell(expected.head.id, &Cell { round: 7, ..cell }, Some(&record))));
    let mut other = run(0);
    other.head.command.clear();
    assert!(taken(shelf.begin(&other)));
    assert_eq!(shelf.run(expected.head.id).unwrap(), expected);
    assert_eq!(shelf.record(record.head.id).unwrap(), record);
}

#[test]
fn a_cell_and_its_record_are_there_both_or_neither() {
    let (_folder, _, mut shelf) = empty();
    let (mut cell, record) = cell(0, 0);
    let stray = shelf.add_cell(run_id(0), &cell, Some(&record)).unwrap_err();
    assert!(matches!(stray.fault, Fault::Unknown { what: "run", .. }), "{stray}");
    assert!(matches!(shelf.record(record.head.id).unwrap_err().fault, Fault::Unknown { what: "record", .. }));
    shelf.begin(&run(0)).unwrap();
    let without = shelf.add_cell(run_id(0), &cell, None).unwrap_err();
    assert!(matches!(without.fault, Fault::Mismatch { .. }), "{without}");
    cell.record = None;
    let unnamed = shelf.add_cell(run_id(0), &cell, Some(&record)).unwrap_err();
    assert!(matches!(unnamed.fault, Fault::Mismatch { .. }), "{unnamed}");
    assert_eq!(shelf.run(run_id(0)).unwrap().cells, []);
}

#[test]
fn a_cell_measured_again_counts_once_and_stands_twice() {
    let (_folder, _, mut shelf) = empty();
    shelf.begin(&run(0)).unwrap();
    let (again, record) = cell(0, 0);
    let first = Cell { started: moment(-9), ..failed(again.clone()) };
    shelf.add_cell(run_id(0), &first, None).unwrap();
    let counts = |shelf: &SqliteShelf| {
        let runs = shelf.runs(&RunFilter::default()).unwrap();
        (runs[0].done, runs[0].failed, runs[0].planned, runs[0].hosts)
    };
    assert_eq!(counts(&shelf), (0, 1, Some(40), 2));
    shelf.add_cell(run_id(0), &again, Some(&record)).unwrap();
    assert_eq!(counts(&shelf), (1, 0, Some(40), 2));
    let run = shelf.run(run_id(0)).unwrap();
    assert_eq!((run.cells.len(), run.cell(&again.place)), (2, Some(&again)));
}

#[test]
fn runs_are_listed_from_the_latest_by_what_is_asked() {
    let (_folder, _, mut shelf) = empty();
    assert_eq!(shelf.runs(&RunFilter::default()).unwrap(), []);
    for number in [3, 1, 2] {
        shelf.begin(&run(number)).unwrap();
    }
    let names = |filter: RunFilter| -> Vec<String> {
        shelf.runs(&filter).unwrap().into_iter().filter_map(|run| run.plan).collect()
    };
    assert_eq!(names(RunFilter::default()), ["mesh 3", "mesh 2", "mesh 1"]);
    assert_eq!(names(RunFilter { limit: Some(2), ..RunFilter::default() }), ["mesh 3", "mesh 2"]);
    assert_eq!(names(RunFilter { plan: Some("MESH 2".to_owned()), ..RunFilter::default() }), ["mesh 2"]);
    let since = Some(moment(2 * 3_600).timestamp());
    assert_eq!(names(RunFilter { since, ..RunFilter::default() }), ["mesh 3", "mesh 2"]);
    let first = &shelf.runs(&RunFilter::default()).unwrap()[0];
    assert_eq!((first.id, first.started, &first.ended), (run_id(3), moment(3 * 3_600), &None));
}

#[test]
fn a_name_is_found_by_its_start() {
    let (_folder, _, mut shelf) = empty();
    let find = |shelf: &SqliteShelf, word: &str| shelf.find(word);
    assert!(matches!(find(&shelf, "last").unwrap_err().fault, Fault::Empty));
    for number in [2, 1] {
        shelf.begin(&run(number)).unwrap();
    }
    let alone = scene::record(9, 0);
    shelf.add_record(&alone).unwrap();
    assert_eq!(find(&shelf, "last").unwrap(), Found::Run(run_id(2)));
    assert_eq!(find(&shelf, &run_id(1).to_string()).unwrap(), Found::Run(run_id(1)));
    assert_eq!(find(&shelf, "0199F2AB-0001").unwrap(), Found::Run(run_id(1)));
    assert_eq!(find(&shelf, &alone.head.id.simple().to_string()[..14]).unwrap(), Found::Record(alone.head.id));
    assert!(matches!(find(&shelf, "0199f2abff").unwrap_err().fault, Fault::Unknown { .. }));
    assert!(matches!(find(&shelf, "019").unwrap_err().fault, Fault::Unknown { .. }), "too short to be meant");
    let Fault::Ambiguous { names, .. } = find(&shelf, "0199f2ab").unwrap_err().fault else { panic!("not ambiguous") };
    assert_eq!(names.len(), 2, "{names:?}");
    let mut of_the_run = scene::record(1, 0);
    of_the_run.head.command.clear();
    shelf.add_record(&of_the_run).unwrap();
    assert_eq!(find(&shelf, "0199f2ab-0001").unwrap(), Found::Run(run_id(1)), "the run, not its record");
}

#[test]
fn records_are_listed_and_those_of_a_run_by_their_places() {
    let (_folder, _, mut shelf) = empty();
    let expected = whole(&mut shelf);
    let mut alone = scene::record(9, 0);
    alone.target.host = Some("db1".to_owned());
    shelf.add_record(&alone).unwrap();
    let listed = shelf.records(&RecordFilter { target: Some("db1".to_owned()), ..RecordFilter::default() }).unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].id, &listed[0].target, listed[0].run), (alone.head.id, &"db1".to_owned(), None));
    assert_eq!(listed[0].method, alone.method.to_string());
    let all = shelf.records(&RecordFilter { limit: Some(2), ..RecordFilter::default() }).unwrap();
    assert_eq!((all.len(), all[1].run), (2, Some(expected.head.id)));
}

#[test_case(&CellFilter::default(), 3; "all")]
#[test_case(&CellFilter { from: Some("a".into()), method: Some("tcp_rr".into()), ..CellFilter::default() }, 3; "of a method")]
#[test_case(&CellFilter { over: Some(Address::External), ..CellFilter::default() }, 0; "over another address")]
#[test_case(&CellFilter { to: Some("a".into()), ..CellFilter::default() }, 0; "to another host")]
fn records_of_a_run_are_told_until_enough(filter: &CellFilter, count: usize) {
    let (_folder, _, mut shelf) = empty();
    let expected = whole(&mut shelf);
    let told = |most: usize| {
        let mut told = 0;
        let mut each = |_: Cell, _| {
            told += 1;
            if told < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        shelf.records_of(expected.head.id, filter, &mut each).unwrap();
        told
    };
    assert_eq!((told(9), told(1)), (count, count.min(1)));
}

#[test]
fn a_record_that_json_cannot_tell_is_refused_and_nothing_of_it_is_there() {
    let (_folder, _, mut shelf) = empty();
    shelf.begin(&run(0)).unwrap();
    let (cell, mut record) = cell(0, 0);
    record.warnings = vec![measure::verdict::Warning::BehindSchedule { share: f64::INFINITY }];
    let error = shelf.add_cell(run_id(0), &cell, Some(&record)).unwrap_err();
    assert!(matches!(error.fault, Fault::Unwritable(_)) && !error.fault.is_of_store(), "{error}");
    assert_eq!(shelf.run(run_id(0)).unwrap().cells, []);
}
