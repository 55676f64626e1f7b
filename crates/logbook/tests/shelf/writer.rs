//! Processes that write, or take in what was spooled: this very program, started again.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use logbook::shelf::keeper::{Keeper, Kept};
use logbook::shelf::spool::Spool;
use logbook::shelf::sqlite::SqliteShelf;

use crate::scene;

/// The file, the number of the run, how many cells, and for how many seconds it waits for others.
const TOLD: [&str; 4] = ["SONDE_WRITER_FILE", "SONDE_WRITER_RUN", "SONDE_WRITER_CELLS", "SONDE_WRITER_WAIT"];

/// The file, and the folder that is taken in.
const TAKEN: [&str; 2] = ["SONDE_IMPORTER_FILE", "SONDE_IMPORTER_FOLDER"];

/// Starts a process that puts all that waits in `folder` into `file`.
pub fn importer(file: &Path, folder: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "writer::imports", "--ignored", "--test-threads=1"])
        .env(TAKEN[0], file)
        .env(TAKEN[1], folder);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// A writer that was started.
pub struct Writer {
    pub child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Writer {
    /// Starts one that keeps a run and so many cells of it in `file`.
    pub fn start(file: &Path, run: u64, cells: u64, wait: Duration) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "writer::writes", "--ignored", "--nocapture", "--test-threads=1"]);
        command.env(TOLD[0], file).env(TOLD[1], run.to_string()).env(TOLD[2], cells.to_string());
        command.env(TOLD[3], wait.as_secs().to_string());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// The number of the next cell that it says it has kept; `None` once it is gone.
    pub fn acknowledged(&mut self) -> Option<u64> {
        self.lines.by_ref().map_while(Result::ok).find_map(|line| line.strip_prefix("kept ")?.parse().ok())
    }
}

#[test]
#[ignore = "it is the other process of tests that start it"]
fn writes() {
    let told = TOLD.map(|name| std::env::var_os(name).and_then(|value| value.into_string().ok()));
    let [Some(file), Some(run), Some(cells), Some(wait)] = told else { return };
    let [run, cells, wait] = [run, cells, wait].map(|number| number.parse::<u64>().unwrap());
    let path = file.clone();
    let open = move |_| -> Result<Box<dyn logbook::shelf::Shelf>, _> {
        Ok(Box::new(SqliteShelf::open(Path::new(&path), Duration::from_secs(wait))?))
    };
    let (keeper, _) = Keeper::new(Box::new(open), Spool::beside(Path::new(&file)));
    let mut stdout = std::io::stdout();
    keeper.begin(&scene::run(run)).unwrap();
    for number in 0..cells {
        let (cell, record) = scene::cell(run, number);
        let kept = keeper.cell(scene::run_id(run), cell, Some(record)).unwrap();
        assert!(wait == 0 || matches!(kept, Kept::Stored { .. }), "{kept:?}");
        // A line of its own: the harness may have begun one.
        stdout.write_all(format!("\nkept {number}\n").as_bytes()).and_then(|()| stdout.flush()).unwrap();
    }
}

#[test]
#[ignore = "it is the other process of a test that starts it"]
fn imports() {
    let [Some(file), Some(folder)] = TAKEN.map(std::env::var_os) else { return };
    let mut shelf = SqliteShelf::open(Path::new(&file), Duration::from_mins(1)).unwrap();
    Spool::new(folder).take_all(&mut shelf).unwrap();
}
