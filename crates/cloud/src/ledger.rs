//! The ledger of a run: what was begun, made and removed, on disk before and after each step.
//!
//! It is written whole into a new file, which then takes the old one's place, and both file and folder are flushed: a kill at any
//! instant leaves the old ledger or the new one. A thing stands in it as begun before the call that makes it, so whatever exists
//! is known. A ledger goes when everything of its run is gone.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use endpoint::stop::Stop;
use logbook::failure::{Failure, Side};
use logbook::machines::Cloud;
use measure::unit::Nanos;
use serde::{Deserialize, Serialize};

use crate::lock::{self, Held};
use crate::resource::{Resource, Values};
use crate::vendor::{Drawn, Machine};
use crate::wanted::Wanted;

/// Version of the ledger's form. One of another version is not read, and counts as owed.
const VERSION: u32 = 1;

/// Record of a run: its things and their states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// Version of this form.
    pub version: u32,
    /// The run's id.
    pub run: String,
    /// The cloud.
    pub cloud: Cloud,
    /// The account, where one was named.
    pub account: Option<String>,
    /// Owner of the run.
    pub owner: String,
    /// Begin of its making, in seconds since 1970.
    pub made: u64,
    /// Time from which anybody may remove it, in seconds since 1970.
    pub expires: u64,
    /// The process that works on it, or did last.
    pub process: u32,
    /// True where that process is to remove it too, before it ends.
    #[serde(default)]
    pub attended: bool,
    /// Phase of the run.
    pub phase: Phase,
    /// Its things, in an order in which each comes behind what it needs.
    pub entries: Vec<Entry>,
    /// Values that answers held.
    pub values: Values,
    /// Its machines.
    pub machines: Vec<Machine>,
    /// Last fault; absent where there was none.
    pub trouble: Option<String>,
}

/// Phase of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Its things are being made.
    Making,
    /// Everything is there.
    Up,
    /// Its things are being removed.
    Removing,
}

/// A thing and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The thing.
    pub resource: Resource,
    /// Its state.
    pub state: State,
}

/// State of a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// No call was made.
    Planned,
    /// A call was begun, whose end is not known.
    Begun,
    /// The call was refused: it had no effect.
    Refused,
    /// The call was accepted, or the thing was seen.
    Made,
    /// It was there and is no more.
    Gone,
}

impl Ledger {
    /// That of a run that is about to begin.
    pub fn of(wanted: &Wanted, drawn: &Drawn) -> Self {
        let entry = |resource: &Resource| Entry { resource: resource.clone(), state: State::Planned };
        Self {
            version: VERSION,
            run: wanted.run.clone(),
            cloud: wanted.cloud,
            account: wanted.account.clone(),
            owner: wanted.owner.clone(),
            made: wanted.made,
            expires: wanted.expires,
            process: std::process::id(),
            attended: false,
            phase: Phase::Making,
            entries: drawn.resources.iter().map(entry).collect(),
            values: Values::new(),
            machines: drawn.machines.clone(),
            trouble: None,
        }
    }

    /// Returns true where nothing of it is there: every thing that has to be removed was, or was never begun.
    pub fn is_clean(&self) -> bool {
        let left = |entry: &&Entry| !matches!(entry.state, State::Planned | State::Gone);
        !self.entries.iter().filter(|entry| entry.resource.delete.is_some()).any(|entry| left(&entry))
    }

    fn set(&mut self, key: &str, state: State) {
        for entry in &mut self.entries {
            if entry.resource.key == key {
                entry.state = state;
            }
        }
    }
}

/// Folder of the ledgers.
#[derive(Clone, Debug)]
pub struct Shelf {
    folder: PathBuf,
}

/// A ledger that was found.
#[derive(Debug)]
pub struct Listed {
    /// The run's id, by the file's name.
    pub run: String,
    /// Its file.
    pub file: PathBuf,
    /// Its content, or the reason for which that cannot be read.
    pub ledger: Result<Ledger, String>,
    /// True while a process works on the run.
    pub busy: bool,
}

impl Listed {
    /// Reason for which a clean-up is owed, `None` where none is: its maker died in the middle, could not remove everything,
    /// or its time is over.
    pub fn owed(&self, now: u64) -> Option<String> {
        if self.busy {
            return None;
        }
        let ledger = match &self.ledger {
            Ok(ledger) => ledger,
            Err(error) => return Some(format!("its ledger cannot be read: {error}")),
        };
        match ledger.phase {
            Phase::Making => Some("it was cut off while it was being made".into()),
            Phase::Removing => Some(ledger.trouble.clone().unwrap_or_else(|| "its removal was cut off".into())),
            Phase::Up if ledger.expires <= now => Some("its time is over".into()),
            Phase::Up if ledger.attended => Some("whoever was to remove it has ended before".into()),
            Phase::Up => None,
        }
    }
}

impl Shelf {
    /// The ledgers in this folder, which is made when it is needed.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// All ledgers, by their runs' ids.
    ///
    /// # Errors
    /// The folder cannot be read: then it is not known what is owed.
    pub fn all(&self) -> Result<Vec<Listed>, Failure> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(unkept(&self.folder, "cannot be read", &error)),
        };
        let mut all = Vec::new();
        for entry in entries {
            let file = entry.map_err(|error| unkept(&self.folder, "cannot be read", &error))?.path();
            let Some(run) = run_of(&file) else { continue };
            match read(&file) {
                // It went in this moment.
                Err(None) => {}
                Err(Some(error)) => all.push(Listed { run, file, ledger: Err(error), busy: false }),
                Ok(ledger) => {
                    let busy = lock::works(&self.lock_file(&run), ledger.process);
                    all.push(Listed { run, file, ledger: Ok(ledger), busy });
                }
            }
        }
        all.sort_by(|a, b| a.run.cmp(&b.run));
        Ok(all)
    }

    /// Opens a run's ledger for the first time, and writes it.
    ///
    /// # Errors
    /// There is one already; it cannot be written.
    pub fn begin(&self, ledger: Ledger) -> Result<Book, Failure> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        made.map_err(|error| unkept(&self.folder, "cannot be made", &error))?;
        let lock = lock::take_new(&self.lock_file(&ledger.run)).map_err(|held| self.not_had(&ledger.run, held))?;
        let file = self.ledger_file(&ledger.run);
        if file.exists() {
            let failure = failure(format!("run {}: there is a ledger of it already, {}", ledger.run, file.display()));
            return Err(Failure { hint: Some("take another id (--run), or remove that run first".into()), ..failure });
        }
        let book = self.book(file, lock, ledger);
        book.note(|_| {})?;
        Ok(book)
    }

    /// Takes up a run's ledger. `None`: there is none. A call that a killed process left behind is waited for so long.
    ///
    /// # Errors
    /// Somebody works on the run; it cannot be read.
    pub fn take(&self, run: &str, wait: Nanos, stop: &Stop) -> Result<Option<Book>, Failure> {
        let file = self.ledger_file(run);
        if !file.exists() {
            return Ok(None);
        }
        let lock = self.locked(run, wait, stop)?;
        match read(&file) {
            Ok(ledger) => {
                let book = self.book(file, lock, Ledger { process: std::process::id(), ..ledger });
                // Where it cannot be written any more, what has to be removed can be removed all the same.
                let _ = book.note(|_| {});
                Ok(Some(book))
            }
            Err(None) => Ok(None),
            Err(Some(error)) => Err(Failure {
                hint: Some(format!(
                    "move {} away, and run the same with --by-tags: the cloud is asked then",
                    file.display()
                )),
                ..failure(format!("run {run}: its ledger cannot be read: {error}"))
            }),
        }
    }

    fn book(&self, file: PathBuf, lock: File, ledger: Ledger) -> Book {
        let lock_file = self.lock_file(&ledger.run);
        Book { file, lock_file, lock, ledger: Mutex::new(ledger) }
    }

    fn locked(&self, run: &str, wait: Nanos, stop: &Stop) -> Result<File, Failure> {
        let owner = || read(&self.ledger_file(run)).ok().map(|ledger| ledger.process);
        lock::take(&self.lock_file(run), wait, stop, owner).map_err(|held| self.not_had(run, held))
    }

    fn not_had(&self, run: &str, held: Held) -> Failure {
        match held {
            Held::System(error) => unkept(&self.lock_file(run), "cannot be locked", &error),
            Held::By(process) => Failure {
                hint: Some(format!("wait for process {process}, or end it: `kill {process}`")),
                ..failure(format!("run {run}: process {process} works on it"))
            },
            Held::Stubborn(processes) => {
                failure(format!("run {run}: others hold its lock and do not end: {processes:?}"))
            }
            Held::Stopped => failure(format!("run {run}: asked to stop while a call of its went on")),
        }
    }

    /// File in which `ssh` remembers the host keys of a run's machines: an address is handed on to other machines when it is
    /// free, whose keys are others.
    pub fn known_hosts(&self, run: &str) -> PathBuf {
        self.folder.join(format!("{run}.known_hosts"))
    }

    fn ledger_file(&self, run: &str) -> PathBuf {
        self.folder.join(format!("{run}.json"))
    }

    fn lock_file(&self, run: &str) -> PathBuf {
        self.folder.join(format!("{run}.lock"))
    }
}

/// The run whose ledger a file is.
fn run_of(file: &Path) -> Option<String> {
    (file.extension()? == "json").then(|| file.file_stem().map(|run| run.to_string_lossy().into_owned()))?
}

/// Content of a file; `Err(None)`: it is not there.
fn read(file: &Path) -> Result<Ledger, Option<String>> {
    let text = fs::read_to_string(file).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => None,
        _ => Some(error.to_string()),
    })?;
    let ledger: Ledger = serde_json::from_str(&text).map_err(|error| Some(error.to_string()))?;
    if ledger.version == VERSION { Ok(ledger) } else { Err(Some(format!("it has version {}", ledger.version))) }
}

/// A ledger that is open, and locked as long as it is.
#[derive(Debug)]
pub struct Book {
    file: PathBuf,
    lock_file: PathBuf,
    lock: File,
    ledger: Mutex<Ledger>,
}

impl Book {
    /// Copy of its content.
    pub fn ledger(&self) -> Ledger {
        self.open().clone()
    }

    /// Values that answers held so far.
    pub fn values(&self) -> Values {
        self.open().values.clone()
    }

    /// The lock, for calls to hold.
    ///
    /// # Errors
    /// The system has no room for it.
    pub fn lock(&self) -> Result<File, Failure> {
        self.lock.try_clone().map_err(|error| unkept(&self.lock_file, "cannot be held", &error))
    }

    /// Notes what became of a thing, and what was read of it.
    ///
    /// # Errors
    /// It cannot be written; what was noted is then not so.
    pub fn note_state(&self, key: &str, state: State, values: &Values) -> Result<(), Failure> {
        self.note(|ledger| {
            ledger.set(key, state);
            ledger.values.extend(values.iter().map(|(name, value)| (name.clone(), value.clone())));
        })
    }

    /// Changes it, and writes it.
    ///
    /// # Errors
    /// It cannot be written; the change is kept in memory all the same.
    pub fn note(&self, change: impl FnOnce(&mut Ledger)) -> Result<(), Failure> {
        let mut ledger = self.open();
        change(&mut ledger);
        write(&self.file, &ledger).map_err(|error| unkept(&self.file, "cannot be written", &error))
    }

    /// Takes it away: nothing of its run is left.
    ///
    /// # Errors
    /// It cannot be taken away.
    pub fn close(self) -> Result<(), Failure> {
        fs::remove_file(&self.file).map_err(|error| unkept(&self.file, "cannot be removed", &error))?;
        // Files that stay of these do no harm.
        let _ = fs::remove_file(&self.lock_file);
        let _ = fs::remove_file(self.lock_file.with_extension("known_hosts"));
        Ok(())
    }

    fn open(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn write(file: &Path, ledger: &Ledger) -> io::Result<()> {
    let new = file.with_extension("json.new");
    let mut text = serde_json::to_vec_pretty(ledger)?;
    text.push(b'\n');
    let mut to = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    to.write_all(&text)?;
    to.sync_all()?;
    fs::rename(&new, file)?;
    File::open(file.parent().unwrap_or(Path::new(".")))?.sync_all()
}

fn unkept(file: &Path, what: &str, error: &io::Error) -> Failure {
    Failure {
        to_whom: Some(file.display().to_string()),
        hint: Some("nothing is made in a cloud of which no ledger can be kept: make room, or name another folder (XDG_STATE_HOME)".into()),
        ..failure(format!("{}: {what}: {error}", file.display()))
    }
}

fn failure(what: String) -> Failure {
    Failure { what, to_whom: None, side: Some(Side::Ours), hint: None, partial: None }
}
