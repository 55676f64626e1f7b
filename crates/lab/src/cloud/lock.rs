//! Who works on a run: a lock that a vendor's program keeps too as long as it goes on, also when its caller was killed.
//!
//! The lock file is the standard input of every call. So a run whose `sonde` was killed in the middle of a call is taken up only
//! when that call has ended, or was ended here: what it makes is there to be found then, and nothing comes later.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use endpoint::clock::Monotonic;
use endpoint::pace;
use endpoint::stop::Stop;
use measure::unit::Nanos;
use rustix::process::{Pid, Signal, kill_process};

/// Between two tries.
const LOOK: Nanos = Nanos::millis(20);
/// So long somebody else may hold it in passing, who only wants to know whether it is held.
const PASSING: Nanos = Nanos::secs(1);
/// So long a call that was ended may take to be gone.
const GONE: Nanos = Nanos::secs(10);

/// Why a lock cannot be had.
#[derive(Debug)]
pub(super) enum Held {
    /// Another `sonde` works on the run.
    By(u32),
    /// A call of a killed one does not end.
    Stubborn(Vec<u32>),
    /// We were asked to stop.
    Stopped,
    /// What the system says.
    System(io::Error),
}

/// Takes the lock at `path`, waiting for calls of a killed `sonde` for `wait` and then ending them.
pub(super) fn take(path: &Path, wait: Nanos, stop: &Stop) -> Result<File, Held> {
    let file = open(path).map_err(Held::System)?;
    let began = Monotonic::now();
    let passed = |long: Nanos| Monotonic::now() >= began.after(long);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(Held::System(error)),
        }
        let holders = holders(path);
        let owner = holders.iter().find(|holder| !holder.by_input).map(|holder| holder.process);
        if let Some(owner) = owner.filter(|_| passed(PASSING)) {
            return Err(Held::By(owner));
        }
        if stop.requested() {
            return Err(Held::Stopped);
        }
        if owner.is_none() && passed(wait) {
            let left: Vec<u32> = holders.iter().map(|holder| holder.process).collect();
            for process in &left {
                end(*process);
            }
            if passed(Nanos(wait.0.saturating_add(GONE.0))) {
                return Err(Held::Stubborn(left));
            }
        }
        pace::sleep_until(Monotonic::now().after(LOOK));
    }
}

/// Whether a `sonde` holds it. A call that outlives its killed caller holds it too, and is nobody's work any more.
pub(super) fn is_held(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    if !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
        return false;
    }
    let holders = holders(path);
    // Nobody to be seen may be somebody else's process: then it is not ours to say that it is dead.
    holders.is_empty() || holders.iter().any(|holder| !holder.by_input)
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// A process that has the file open.
struct Holder {
    process: u32,
    /// As its standard input alone: a call, not a `sonde`.
    by_input: bool,
}

fn holders(path: &Path) -> Vec<Holder> {
    let Ok(path) = path.canonicalize() else { return Vec::new() };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let others = numbers.filter(|process| *process != std::process::id());
    others.filter_map(|process| holder(process, &path)).collect()
}

fn holder(process: u32, path: &Path) -> Option<Holder> {
    let files = fs::read_dir(PathBuf::from(format!("/proc/{process}/fd"))).ok()?.flatten();
    let ours = files.filter(|file| fs::read_link(file.path()).is_ok_and(|target| target == path));
    let names: Vec<_> = ours.map(|file| file.file_name()).collect();
    (!names.is_empty()).then(|| Holder { process, by_input: names.iter().all(|name| name == "0") })
}

/// Ends a call that a killed `sonde` left behind: it has our lock file for standard input, so it is none of anybody else's.
fn end(process: u32) {
    if let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) {
        // It may have ended in this moment.
        let _ = kill_process(pid, Signal::KILL);
    }
}
