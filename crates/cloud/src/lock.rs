//! Lock of a run: a vendor's program keeps it too as long as it goes on, also when its caller was killed.
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
/// So long its owner may be about to let it go.
const PASSING: Nanos = Nanos::secs(1);
/// So long a call that was ended may take to be gone.
const GONE: Nanos = Nanos::secs(10);

/// Reason for which a lock cannot be had.
#[derive(Debug)]
pub(super) enum Held {
    /// Another `sonde` works on the run.
    By(u32),
    /// A call of a killed one does not end.
    Stubborn(Vec<u32>),
    /// We were asked to stop.
    Stopped,
    /// Error of the system.
    System(io::Error),
}

/// Takes the lock at `path`. `owner` tells whose it is by the ledger: where that process has the file open, it works on the run.
/// Everybody else who has it open is a call that a killed `sonde` left behind: those are waited for, for `wait`, and then ended.
pub(super) fn take(path: &Path, wait: Nanos, stop: &Stop, owner: impl Fn() -> Option<u32>) -> Result<File, Held> {
    let file = open(path).map_err(Held::System)?;
    let began = Monotonic::now();
    let passed = |long: Nanos| Monotonic::now() >= began.after(long);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(Held::System(error)),
        }
        let owner = owner().filter(|owner| works(path, *owner));
        if let Some(owner) = owner.filter(|_| passed(PASSING)) {
            return Err(Held::By(owner));
        }
        if stop.requested() {
            return Err(Held::Stopped);
        }
        if owner.is_none() && passed(wait) {
            let left = holders(path);
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

/// Takes the lock of a run that is about to begin: nobody is waited for, and nobody ended.
pub(super) fn take_new(path: &Path) -> Result<File, Held> {
    let file = open(path).map_err(Held::System)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Held::Stubborn(holders(path))),
        Err(TryLockError::Error(error)) => Err(Held::System(error)),
    }
}

/// Returns true where this process has the file open: then it lives, and is the one that was noted, not another of its
/// number.
pub(super) fn works(path: &Path, process: u32) -> bool {
    path.canonicalize().is_ok_and(|path| has_open(process, &path))
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// The other processes that have the file open.
fn holders(path: &Path) -> Vec<u32> {
    let Ok(path) = path.canonicalize() else { return Vec::new() };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter(|process| *process != std::process::id() && has_open(*process, &path)).collect()
}

fn has_open(process: u32, path: &Path) -> bool {
    let files = fs::read_dir(PathBuf::from(format!("/proc/{process}/fd"))).into_iter().flatten().flatten();
    files.into_iter().any(|file| fs::read_link(file.path()).is_ok_and(|target| target == path))
}

/// Ends a call that a killed `sonde` left behind: it has our lock file from that, so it is none of anybody else's.
fn end(process: u32) {
    if let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) {
        // It may have ended in this moment.
        let _ = kill_process(pid, Signal::KILL);
    }
}
