//! A cloud that is a folder: stand-ins for `gcloud`, `aws`, `az` and `kubectl` in front of the PATH, which remember what they made.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use assert_cmd::cargo::cargo_bin;
use tempfile::TempDir;
use testbed::process::{self, Ended, LIMIT, Running};

/// The run of every test.
pub const RUN: &str = "r1";

/// The clouds there are, and what makes one machine of each.
pub const CLOUDS: [(&str, &str, &str); 3] = [
    ("gcp", "us-central1-a", "c3-standard-4"),
    ("aws", "us-east-1a", "m7i.large"),
    ("azure", "eastus-1", "Standard_D2s_v6"),
];

/// The PATH of whoever runs the tests.
pub fn path() -> String {
    std::env::var_os("PATH").unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns true where every fault is tried at every step of every cloud, which takes minutes: `SONDE_CLOUD_WHOLE=1`.
pub fn whole() -> bool {
    std::env::var_os("SONDE_CLOUD_WHOLE").is_some()
}

/// Moments of a fault: before the deed of a call, or after it. The engine is the same for all clouds, so both of one of them
/// are enough in the usual run; a fault after the caller's death is the harder one.
pub fn moments(cloud: usize) -> &'static [&'static str] {
    if cloud == 0 || whole() { &["before", "after"] } else { &["before"] }
}

/// The calls at which a fault is tried where the engine's way through them is the same for all clouds: every one of the first
/// cloud, every third of the others, and every one where the whole is asked for.
pub fn steps(cloud: usize, calls: usize) -> impl Iterator<Item = usize> {
    (1..=calls).step_by(if cloud == 0 || whole() { 1 } else { 3 })
}

/// A cloud in a folder.
pub struct Scene {
    folder: TempDir,
    cloud: (&'static str, &'static str, &'static str),
}

impl Scene {
    /// An empty cloud of this vendor.
    pub fn of(cloud: (&'static str, &'static str, &'static str)) -> Self {
        let scene = Self { folder: tempfile::tempdir().unwrap(), cloud };
        let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cloud");
        for folder in ["bin", "cloud/things", "state"] {
            fs::create_dir_all(scene.path(folder)).unwrap();
        }
        symlink(ours.join("machine.sh"), scene.path("bin/machine.sh")).unwrap();
        for program in ["gcloud", "aws", "az", "kubectl"] {
            symlink(ours.join("stand_in.sh"), scene.path("bin").join(program)).unwrap();
            let part = format!("{program}.sh");
            symlink(ours.join(&part), scene.path("bin").join(part)).unwrap();
        }
        let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA7U2XSwau8fC6NL/hEiB7JCzE21WBoVOk8vyLLL7lHJ me@here\n";
        fs::write(scene.path("key.pub"), key).unwrap();
        fs::write(scene.path("key"), "not read\n").unwrap();
        scene
    }

    /// Another of this vendor that has come as far as this one: what it remembers, and what is owed.
    pub fn copy(&self) -> Self {
        let copy = Self::of(self.cloud);
        for folder in ["cloud", "state"] {
            copy_files(&self.path(folder), &copy.path(folder));
        }
        copy
    }

    /// A path in its folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `sonde lab` with these words, quick, one call at a time.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(cargo_bin("sonde"));
        command.arg("lab").args(words);
        self.around(&mut command);
        command
    }

    /// Runs `sonde` with these words to its end.
    pub fn sonde(&self, words: &[&str]) -> Ended {
        let mut command = Command::new(cargo_bin("sonde"));
        command.args(words);
        self.around(&mut command);
        process::ended(&mut command, LIMIT)
    }

    /// Has this cloud and this home around a command, and nothing else of whoever runs the tests.
    pub fn around(&self, command: &mut Command) {
        let path = format!("{}:{}", self.path("bin").display(), path());
        command.current_dir(self.folder.path());
        command.env_clear().env("PATH", path).env("HOME", self.folder.path()).env("USER", "me");
        command.env("XDG_STATE_HOME", self.path("state")).env("STAND_IN", self.path("cloud"));
    }

    /// The words of `sonde lab cloud VERB`.
    pub fn words<'a>(verb: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let quick = ["--look-every", "5ms", "--settle", "30ms", "--ready-timeout", "1s", "--call-timeout", "20s"];
        [&["cloud", verb][..], more, &quick, &["--at-once", "1"]].concat()
    }

    /// Runs `sonde lab cloud VERB` to its end.
    pub fn run(&self, verb: &str, more: &[&str]) -> Ended {
        process::ended(&mut self.command(&Self::words(verb, more)), LIMIT)
    }

    /// The words of an `up` of one machine.
    pub fn up_words<'a>(&self, more: &[&'a str]) -> Vec<&'a str> {
        let (cloud, zone, machine_type) = self.cloud;
        let own =
            ["--cloud", cloud, "--zone", zone, "--machine-type", machine_type, "--placement", "closest_supported"];
        let more = [&own, &["--from", "203.0.113.7", "--public-key", "key.pub", "--run", RUN][..], more].concat();
        Self::words("up", &more)
    }

    /// Makes one machine.
    pub fn up(&self, more: &[&str]) -> Ended {
        process::ended(&mut self.command(&self.up_words(more)), LIMIT)
    }

    /// Begins to make one machine.
    pub fn start_up(&self, more: &[&str]) -> Running {
        process::started(&mut self.command(&self.up_words(more)))
    }

    /// Removes the run.
    pub fn down(&self, more: &[&str]) -> Ended {
        self.run("down", &[&["--run", RUN], more].concat())
    }

    /// Has a call go wrong from now on, its number counted from now.
    pub fn fault(&self, number: usize, when: &str, how: &str) {
        let number = self.count() + number;
        fs::write(self.path("cloud/fault"), format!("{number} {when} {how}\n")).unwrap();
    }

    /// Has every call that removes go wrong.
    pub fn fault_of_removal(&self, how: &str) {
        fs::write(self.path("cloud/fault"), format!("delete before {how}\n")).unwrap();
    }

    /// Everything goes well from now on.
    pub fn heal(&self) {
        let _ = fs::remove_file(self.path("cloud/fault"));
    }

    /// Calls so far.
    pub fn count(&self) -> usize {
        fs::read_to_string(self.path("cloud/count")).map_or(0, |text| text.lines().count())
    }

    /// The calls so far, a line each.
    pub fn calls(&self) -> String {
        fs::read_to_string(self.path("cloud/calls")).unwrap_or_default()
    }

    /// Things that the cloud remembers.
    pub fn things(&self) -> Vec<String> {
        let files = fs::read_dir(self.path("cloud/things")).unwrap().map(Result::unwrap);
        // A file that says nothing is a thing that is gone.
        let there = files.filter(|file| file.metadata().unwrap().len() > 0);
        let mut names: Vec<String> = there.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Returns true where there is a ledger of the run.
    pub fn owes(&self) -> bool {
        self.path("state/sonde/cloud/r1.json").exists()
    }

    /// Calls of a removal or a making where nothing goes wrong.
    pub fn calls_of(&self, act: impl FnOnce(&Self) -> Ended) -> usize {
        let before = self.count();
        let ended = act(self);
        assert_eq!(ended.code, Some(0), "{}\n{}", ended.told(), self.calls());
        self.count() - before
    }

    /// Nothing is there, and nothing is owed; `what` says when.
    pub fn assert_clean(&self, what: &str, ended: &Ended) {
        assert_eq!(self.things(), [""; 0], "{what}: left\n{}\n{}", ended.told(), self.calls());
        assert!(!self.owes(), "{what}: owed though nothing is there\n{}", ended.told());
    }
}

/// Copies all files of a folder, and of those in it.
fn copy_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy_files(&from, &to);
        } else {
            fs::copy(from, to).unwrap();
        }
    }
}
