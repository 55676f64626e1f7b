//! Note of a lab, its place, and the lock on it: written before anything is made, and after each step.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use endpoint::clock::Monotonic;
use endpoint::pace;
use logbook::document::{Form, Mark};
use logbook::failure::Failure;
use logbook::host::Host;
use logbook::read::{self, ReadError};
use measure::unit::Nanos;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::network::layout::{self, Layout};
use crate::network::plan::is_name;
use crate::network::{ours, process};

/// Longest time that a lab may be held by a process that only looks at its lock.
const BRIEF: Nanos = Nanos::millis(500);

/// A lab as it is noted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Its form.
    #[serde(flatten)]
    pub mark: Mark<State>,
    /// Its name.
    pub id: String,
    /// Begin of its making, nanoseconds since 1970.
    pub made_ns: u64,
    /// The machine it is on, by its name: a home may be shared by several.
    pub machine: String,
    /// The running kernel's name of itself then: after another start of the machine nothing of the lab runs.
    pub boot: String,
    /// Value of `process::MARK` in the environment of every process that was started for it, and of no other.
    pub token: String,
    /// Phase of its life.
    pub phase: Phase,
    /// The namespaces it has or will have.
    pub namespaces: Vec<String>,
    /// The process that keeps its namespaces, where they were made without root.
    pub holder: Option<Process>,
    /// Processes that serve it.
    pub processes: Vec<Process>,
    /// Its hosts; empty before it is ready.
    pub hosts: Vec<Host>,
}

impl Form for State {
    const FORMAT: &'static str = "sonde-lab";
    const NAME: &'static str = "lab";
}

/// Phase of a lab's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// It is being made.
    Making,
    /// It is there.
    Ready,
    /// It is being removed.
    Removing,
}

/// A process, so that no other that got its number later is taken for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Start of the process, ticks of the kernel since the machine started.
    pub started: u64,
    /// Name for people, as `sshd of h1`.
    pub what: String,
}

/// Folder of the labs' notes.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

/// A lab that nobody else touches while this is there.
#[derive(Debug)]
pub struct Held {
    /// Its note, which [`Held::save`] writes.
    pub state: State,
    folder: Folder,
    /// Gone with this value, however the process ends.
    _lock: File,
}

impl State {
    /// Returns true where it is on another machine, as far as is known here. One that was renamed while it ran is still the
    /// same.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.boot != process::boot() && self.machine != process::machine()
    }
}

impl Folder {
    /// That at `path`, which need not be there yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The note of a lab.
    pub fn note(&self, id: &str) -> PathBuf {
        self.0.join(format!("{id}.json"))
    }

    /// The folder of a lab's own files.
    pub fn files(&self, id: &str) -> PathBuf {
        self.0.join(id)
    }

    /// Begins to note a lab.
    pub(super) fn take(&self, layout: &Layout, now_ns: u64) -> Result<Held, Failure> {
        let id = &layout.id;
        let taken = |where_: String| ours(id, format!("is there already: {where_}"), taken_hint(id));
        let cannot = |path: &Path, error: io::Error| {
            ours(
                id,
                format!("{}: cannot note it: {error}", path.display()),
                "let XDG_STATE_HOME name a folder of yours",
            )
        };
        if self.note(id).exists() {
            return Err(taken(self.note(id).display().to_string()));
        }
        if let Some(namespace) = process::listed(Path::new("/"), &layout::prefix(id)).into_iter().next() {
            return Err(taken(format!("a network namespace {namespace}")));
        }
        private().recursive(true).create(&self.0).map_err(|error| cannot(&self.0, error))?;
        let files = self.files(id);
        match private().create(&files) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(taken(files.display().to_string()));
            }
            Err(error) => return Err(cannot(&files, error)),
        }
        let lock = self.lock(id)?;
        let state = State {
            mark: Mark::default(),
            id: id.clone(),
            made_ns: now_ns,
            machine: process::machine(),
            boot: process::boot(),
            token: Uuid::now_v7().to_string(),
            phase: Phase::Making,
            namespaces: layout.namespaces(),
            holder: None,
            processes: Vec::new(),
            hosts: Vec::new(),
        };
        let held = Held { state, folder: self.clone(), _lock: lock };
        held.save().inspect_err(|_| {
            // Nothing was made yet, so nothing else is left.
            let _ = fs::remove_dir_all(&files);
            let _ = fs::remove_file(self.part(id));
        })?;
        Ok(held)
    }

    /// A lab that is to be removed.
    pub(super) fn hold(&self, id: &str) -> Result<Held, Failure> {
        let none = || ours(id, "there is none of this name", "`sonde lab list` shows those there are");
        if !is_name(id) || !self.note(id).exists() && !self.files(id).exists() {
            return Err(none());
        }
        if !self.files(id).exists() {
            // A folder may be left by a process that was killed while removing: the lock needs something to be at.
            let _ = private().create(self.files(id));
        }
        let lock = self.lock(id)?;
        // It may have been removed meanwhile by who held it.
        if !self.note(id).exists() && !self.files(id).exists() {
            return Err(none());
        }
        let state = self.read(id)?.unwrap_or_else(|| blank(id));
        if state.is_elsewhere() {
            let note = self.note(id).display().to_string();
            let hint =
                format!("remove it there; where that machine is no more, remove {note} and the folder beside it");
            return Err(ours(id, format!("is on another machine, {}", state.machine), hint));
        }
        Ok(Held { state, folder: self.clone(), _lock: lock })
    }

    /// Note of a lab; `None`: nothing that could be read.
    ///
    /// # Errors
    /// A note of a later version.
    pub fn read(&self, id: &str) -> Result<Option<State>, Failure> {
        let Ok(text) = fs::read_to_string(self.note(id)) else { return Ok(None) };
        match read::document(&text) {
            Err(ReadError::FromTheFuture { .. }) => {
                Err(ours(id, "was made by a later version of sonde", "use that version"))
            }
            found => Ok(found.ok()),
        }
    }

    /// Names of the labs of which anything is here.
    ///
    /// # Errors
    /// A folder that cannot be read.
    pub fn names(&self) -> Result<Vec<String>, Failure> {
        let entries = match fs::read_dir(&self.0) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => {
                let what = format!("{}: cannot be read: {error}", self.0.display());
                return Err(ours("list", what, "let XDG_STATE_HOME name a folder of yours"));
            }
        };
        let name = |entry: fs::DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            let id = name.strip_suffix(".json").unwrap_or(&name);
            is_name(id).then(|| id.to_owned())
        };
        let names: BTreeSet<String> = entries.flatten().filter_map(name).collect();
        Ok(names.into_iter().collect())
    }

    /// Removes half-written notes of processes that are no more.
    pub(super) fn sweep(&self) {
        for entry in fs::read_dir(&self.0).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let owner = name.to_str().and_then(|name| name.strip_suffix(".part")?.rsplit_once('.')?.1.parse().ok());
            if owner.is_some_and(|owner| process::started(owner).is_none()) {
                // A file that stays does no harm.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Returns true while a process makes or removes it.
    pub(super) fn is_held(&self, id: &str) -> bool {
        let Ok(files) = File::open(self.files(id)) else { return false };
        flock(&files, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
    }

    fn lock(&self, id: &str) -> Result<File, Failure> {
        let files = self.files(id);
        let cannot = |error: io::Error| {
            ours(id, format!("{}: cannot be held: {error}", files.display()), "`sonde lab clean`, and try again")
        };
        let file = File::open(&files).map_err(cannot)?;
        let since = Monotonic::now();
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(file),
                // A process that only looks holds it for a moment.
                Err(Errno::WOULDBLOCK) if Monotonic::now().since(since) < Some(BRIEF) => {
                    pace::sleep_until(Monotonic::now().after(Nanos::millis(5)));
                }
                Err(Errno::WOULDBLOCK) => {
                    return Err(ours(id, "somebody makes or removes it right now", "wait until that has ended"));
                }
                Err(error) => return Err(cannot(error.into())),
            }
        }
    }

    fn part(&self, id: &str) -> PathBuf {
        self.0.join(format!("{id}.json.{}.part", std::process::id()))
    }
}

impl Held {
    /// Notes what there is now; whoever reads sees the old note or the new one, never a part.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn save(&self) -> Result<(), Failure> {
        let id = &self.state.id;
        let part = self.folder.part(id);
        let mut text = serde_json::to_string_pretty(&self.state).expect("strings and numbers");
        text.push('\n');
        let written = File::create(&part)
            .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&part, self.folder.note(id)));
        written.map_err(|error| {
            let what = format!("{}: cannot note it: {error}", self.folder.note(id).display());
            ours(id, what, "make room there, or let XDG_STATE_HOME name another folder")
        })
    }

    /// The folder of its own files.
    pub fn files(&self) -> PathBuf {
        self.folder.files(&self.state.id)
    }

    /// Notes that it is no more.
    pub(super) fn forget(self) -> Result<(), Failure> {
        let id = &self.state.id;
        let there = |result: io::Result<()>| match result {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
        // The note goes last: without it nobody would know of the rest.
        there(fs::remove_dir_all(self.files())).and_then(|()| there(fs::remove_file(self.folder.note(id)))).map_err(
            |error| {
                let what = format!("{}: cannot be removed: {error}", self.files().display());
                ours(id, what, "remove it by hand")
            },
        )
    }
}

/// A lab of which nothing is noted but its name.
fn blank(id: &str) -> State {
    State {
        mark: Mark::default(),
        id: id.to_owned(),
        made_ns: 0,
        machine: process::machine(),
        boot: process::boot(),
        token: String::new(),
        phase: Phase::Removing,
        namespaces: Vec::new(),
        holder: None,
        processes: Vec::new(),
        hosts: Vec::new(),
    }
}

fn private() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

fn taken_hint(id: &str) -> String {
    format!(
        "give --name another, or remove it: `sonde lab down {id}`, or `sonde lab clean` where its making was cut short"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::plan::Wanted;

    fn layout(id: &str) -> Layout {
        let wanted = Wanted {
            id: id.to_owned(),
            hosts: 2,
            zones: None,
            rate: None,
            ssh: false,
            worse: None,
            program: "/bin/true".into(),
        };
        Layout::of(&wanted).unwrap()
    }

    #[test]
    fn what_is_noted_is_read_again_and_forgotten_whole() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::new(root.path().join("a/b"));
        assert_eq!(folder.names().unwrap(), [""; 0]);
        let held = folder.take(&layout("tst1"), 7).unwrap();
        assert!(folder.is_held("tst1"));
        assert_eq!(folder.read("tst1").unwrap().as_ref(), Some(&held.state));
        assert_eq!(held.state.namespaces, ["sondelab-tst1-switch", "sondelab-tst1-h1", "sondelab-tst1-h2"]);
        assert_eq!(folder.names().unwrap(), ["tst1"]);
        held.forget().unwrap();
        assert_eq!(fs::read_dir(root.path().join("a/b")).unwrap().count(), 0);
    }

    #[test]
    fn a_name_is_given_once_and_a_held_lab_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::new(root.path());
        let held = folder.take(&layout("tst2"), 7).unwrap();
        assert!(folder.take(&layout("tst2"), 7).unwrap_err().what.contains("is there already"));
        assert!(folder.hold("tst2").unwrap_err().what.contains("somebody makes or removes it"));
        drop(held);
        // A process that another test starts at this moment has it open as well, until it is another program.
        testbed::wait::until("nobody holds it", || !folder.is_held("tst2"));
        folder.hold("tst2").unwrap().forget().unwrap();
        assert!(folder.hold("tst2").unwrap_err().what.contains("there is none of this name"));
    }

    #[test]
    fn any_part_of_a_lab_is_enough_to_be_removed() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::new(root.path());
        fs::create_dir(folder.files("one")).unwrap();
        fs::write(folder.note("two"), "{").unwrap();
        fs::write(root.path().join("three.json.4194305.part"), "{").unwrap();
        fs::write(root.path().join("somebodys file"), "").unwrap();
        assert_eq!(folder.names().unwrap(), ["one", "two"]);
        folder.sweep();
        folder.hold("one").unwrap().forget().unwrap();
        folder.hold("two").unwrap().forget().unwrap();
        let left: Vec<_> = fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["somebodys file"]);
    }

    #[test]
    fn a_later_versions_lab_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::new(root.path());
        fs::write(folder.note("new"), r#"{"format": "sonde-lab", "version": 2}"#).unwrap();
        assert!(folder.hold("new").unwrap_err().what.contains("later version"));
    }

    #[test]
    fn a_lab_of_another_machine_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::new(root.path());
        let mut held = folder.take(&layout("tst3"), 7).unwrap();
        held.state.machine = "another".to_owned();
        assert!(!held.state.is_elsewhere(), "it was renamed");
        held.state.boot = "another".to_owned();
        held.save().unwrap();
        drop(held);
        assert!(folder.hold("tst3").unwrap_err().what.contains("on another machine, another"));
    }

    #[test]
    fn a_path_is_no_name() {
        let folder = Folder::new("/");
        assert!(folder.hold("../etc").unwrap_err().what.contains("none of this name"));
    }
}
