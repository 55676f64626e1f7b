//! A disk that is full, and one that is read-only: in a mount namespace of its own, which goes with the process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use logbook::shelf::error::Fault;
use logbook::shelf::item::Item;
use logbook::shelf::keeper::{Keeper, Kept};
use logbook::shelf::{RunFilter, Shelf};

use crate::scene::{self, cell, run, run_id};

/// The folder of a small file system.
const SMALL: &str = "SONDE_SMALL_DISK";

/// Runs the ignored test of this name on a file system of a megabyte.
fn on_a_small_disk(name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=1m tmpfs \"$SONDE_SMALL_DISK\" || exit 77\nexec \"$@\"";
    let own = std::env::current_exe().unwrap();
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, "sh"])
        .arg(own)
        .args(["--exact", name, "--ignored", "--nocapture"])
        .env(SMALL, folder.path())
        .output();
    match output {
        Ok(output) if output.status.success() => {
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(said.contains("1 passed"), "{said}");
        }
        Ok(output) if output.status.code() == Some(101) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
        _ => testbed::skip::aloud("a full and a read-only disk: no file system can be mounted here"),
    }
}

fn disk() -> Option<PathBuf> {
    std::env::var_os(SMALL).map(PathBuf::from)
}

#[test]
fn a_full_disk_loses_nothing() {
    on_a_small_disk("room::fills_its_disk");
}

#[test]
#[ignore = "it is the other process of the test above"]
fn fills_its_disk() {
    let Some(disk) = disk() else { return };
    let (file, ballast) = (disk.join("runs.db"), disk.join("ballast"));
    fs::write(&ballast, vec![7; 300_000]).unwrap();
    let (keeper, _) = Keeper::at(&file);
    keeper.begin(&run(0)).unwrap();
    let mut spooled = 0;
    let mut number = 0;
    let lost = loop {
        let (cell, record) = cell(0, number);
        let item = Item::Cell { run: run_id(0), cell: Box::new(cell), record: Some(Box::new(record)) };
        match keeper.keep(item.clone()) {
            Ok(Kept::Stored { .. }) => {}
            Ok(Kept::Spooled { why, .. }) => {
                assert!(matches!(why.fault, Fault::Full), "{why}");
                spooled += 1;
            }
            Err(lost) => {
                assert_eq!(lost.item, item);
                assert!(matches!(lost.shelf.fault, Fault::Full) && lost.hint_is_of_room(), "{lost}");
                break lost;
            }
        }
        number += 1;
        assert!(number < 1_000, "a megabyte holds no thousand records");
    };
    fs::remove_file(&ballast).unwrap();
    let Kept::Stored { caught_up } = keeper.keep(lost.item).unwrap() else { panic!("not stored") };
    assert_eq!(caught_up, spooled);
    drop(keeper);
    let shelf = scene::open(&file);
    let found = shelf.run(run_id(0)).unwrap();
    assert_eq!(found.cells, (0..=number).map(|number| cell(0, number).0).collect::<Vec<_>>());
    assert_eq!(shelf.complaints().unwrap(), [""; 0]);
}

/// True where the hints name the lack of room.
trait OfRoom {
    fn hint_is_of_room(&self) -> bool;
}

impl OfRoom for logbook::shelf::keeper::Lost {
    fn hint_is_of_room(&self) -> bool {
        self.shelf.hint().contains("free some space") && self.spool.hint().contains("free some space")
    }
}

#[test]
fn a_read_only_disk_is_read() {
    on_a_small_disk("room::reads_what_it_may_not_write");
}

fn mount(disk: &Path, how: &str) {
    assert!(Command::new("mount").args(["-o", how]).arg(disk).status().unwrap().success());
}

#[test]
#[ignore = "it is the other process of the test above"]
fn reads_what_it_may_not_write() {
    let Some(disk) = disk() else { return };
    let file = disk.join("runs and more?.db");
    {
        let (keeper, _) = Keeper::at(&file);
        keeper.begin(&run(0)).unwrap();
        let (cell, record) = cell(0, 0);
        keeper.cell(run_id(0), cell, Some(record)).unwrap();
    }
    mount(&disk, "remount,ro");
    let (keeper, _) = Keeper::at(&file);
    let runs = keeper.ask(|shelf| shelf.runs(&RunFilter::default())).unwrap();
    assert_eq!((runs.len(), runs[0].done), (1, 1));
    let (cell, record) = cell(0, 1);
    let lost = keeper.cell(run_id(0), cell, Some(record)).unwrap_err();
    assert!(matches!(lost.shelf.fault, Fault::ReadOnly), "{lost}");
    mount(&disk, "remount,rw");
    assert!(matches!(keeper.keep(lost.item).unwrap(), Kept::Stored { .. }));
}
