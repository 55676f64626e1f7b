//! Folders that a program takes seconds to make, such as a database's: made once for all programs of tests, and copied for each server.
//!
//! They are kept in cargo's target folder, by the program that makes them and by its words: another program, or other words, make them anew.
//!
//! Invariant: a folder that stands under its name is whole, and nobody writes to it. One maker at a time has the lock, which the kernel
//! takes back from one that dies, and gives the name to its copy when that is complete. Not here: what a server's folder holds.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process;

/// Copies to `to`, which does not exist yet, the folder that `program` makes of these words for this user: by `make`, where there is none of it
/// yet.
///
/// # Panics
/// Where it cannot be made or copied.
pub fn copied(program: &Path, words: &[&str], user: u32, to: &Path, make: impl FnOnce(&Path)) {
    let file = fs::metadata(program).expect("a program that is installed");
    let mut key = DefaultHasher::new();
    (program, file.size(), file.mtime(), words, user).hash(&mut key);
    let name = program.file_name().expect("a program").to_string_lossy();
    copied_in(&kept(), &format!("{name}-{:016x}", key.finish()), to, make);
}

/// The folder in which cargo lets tests keep files: `tmp` beside that of the profile, in whose `deps` a program of tests is.
fn kept() -> PathBuf {
    let program = std::env::current_exe().expect("a program of tests");
    program.ancestors().nth(3).expect("a program in cargo's target folder").join("tmp")
}

fn copied_in(kept: &Path, name: &str, to: &Path, make: impl FnOnce(&Path)) {
    fs::create_dir_all(kept).expect("a folder of cargo's");
    let [whole, partial, lock] = ["", ".partial", ".lock"].map(|end| kept.join(format!("{name}{end}")));
    let lock = File::create(lock).expect("a file of ours");
    lock.lock().expect("a lock");
    if whole.exists() {
        drop(lock);
        return copy(&whole, to);
    }
    make(to);
    if partial.exists() {
        // The folder is of one that died half way.
        fs::remove_dir_all(&partial).expect("a folder of ours");
    }
    copy(to, &partial);
    fs::rename(&partial, &whole).expect("a name that nobody else gives");
}

/// Copies a folder with its owner and modes.
fn copy(from: &Path, to: &Path) {
    let ended = process::ended(Command::new("cp").args(["-a", "--reflink=auto"]).args([from, to]), process::LIMIT);
    assert_eq!(ended.code, Some(0), "{} to {}: {}", from.display(), to.display(), ended.told());
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn one_makes_it_and_all_have_it_whole_though_another_died_half_way() {
        let folder = tempfile::tempdir().expect("a folder");
        let kept = folder.path().join("kept");
        fs::create_dir_all(kept.join("data.partial")).expect("made");
        fs::write(kept.join("data.partial/half"), "h").expect("written");
        let made = AtomicUsize::new(0);
        let make = |to: &Path| {
            made.fetch_add(1, Ordering::Relaxed);
            fs::create_dir(to).expect("made");
            fs::write(to.join("file"), "whole").expect("written");
        };
        thread::scope(|scope| {
            for number in 0..8 {
                let (kept, to, make) = (&kept, folder.path().join(number.to_string()), &make);
                scope.spawn(move || copied_in(kept, "data", &to, make));
            }
        });
        assert_eq!(made.into_inner(), 1);
        for number in 0..8 {
            let to = folder.path().join(number.to_string());
            assert_eq!(fs::read_to_string(to.join("file")).expect("copied"), "whole");
            assert!(!to.join("half").exists());
        }
    }

    #[test]
    fn one_that_could_not_be_made_is_made_by_the_next() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let failed = thread::scope(|scope| {
            scope.spawn(|| copied_in(&at("kept"), "data", &at("first"), |_| panic!("no room"))).join().is_err()
        });
        assert!(failed);
        copied_in(&at("kept"), "data", &at("second"), |to| fs::create_dir(to).expect("made"));
        assert!(at("second").is_dir() && at("kept").join("data").is_dir());
    }
}
