//! A user of labs, with a home of their own: whatever a test leaves there or on the machine is seen.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use endpoint::stop::Stop;
use lab::transport::program::stripped;
use lab::transport::ways::Ways;
use lab::transport::{Program, Transport};
use logbook::failure::Failure;
use logbook::host::{Host, Reach};
use measure::unit::Nanos;

/// The longest that any step may take before a test fails: far more than it takes.
pub const PATIENCE: Nanos = Nanos::secs(120);

static COUNT: AtomicU32 = AtomicU32::new(0);

/// Somebody with a state folder of their own.
pub struct User {
    folder: tempfile::TempDir,
}

impl User {
    /// One who may make labs; `None`: nobody may here, which was said aloud.
    pub fn new(what: &str) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            testbed::skip::aloud(&format!("{what}: labs of namespaces are tested as root"));
            return None;
        }
        if Command::new("ip").arg("-V").output().is_err() {
            testbed::skip::aloud(&format!("{what}: no ip (iproute2)"));
            return None;
        }
        Some(Self { folder: tempfile::tempdir_in("/tmp").expect("a folder") })
    }

    /// The same where there is an sshd.
    pub fn with_sshd(what: &str) -> Option<Self> {
        if !Path::new("/usr/sbin/sshd").exists() || Command::new("ssh").arg("-V").output().is_err() {
            testbed::skip::aloud(&format!("{what}: no sshd (openssh-server) or no ssh (openssh-client)"));
            return None;
        }
        Self::new(what)
    }

    /// The folder of this user.
    pub fn home(&self) -> &Path {
        self.folder.path()
    }

    /// Folder of the notes on this user's labs.
    pub fn labs(&self) -> PathBuf {
        self.home().join("state/sonde/lab")
    }

    /// `sonde lab` with these words, as this user, not started yet.
    pub fn lab(&self, words: &[&str]) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("sonde"));
        command.arg("lab").args(words).stdin(Stdio::null());
        command.env("XDG_STATE_HOME", self.home().join("state")).env("XDG_RUNTIME_DIR", self.home());
        command.env_remove("SONDE_COLOR").env_remove("CLICOLOR_FORCE");
        command
    }

    /// The same, ended well; what it printed.
    pub fn done(&self, words: &[&str]) -> String {
        let output = self.lab(words).output().expect("started");
        assert!(output.status.success(), "{words:?}: {}", said(&output));
        String::from_utf8(output.stdout).expect("text")
    }

    /// A lab with these further words.
    pub fn up<'a>(&'a self, words: &[&str]) -> Lab<'a> {
        let id = name();
        let list = self.done(&[&["up", "--name", &id, "-q"], words].concat());
        let list: toml::Table = toml::from_str(&list).expect("TOML");
        let hosts = list["hosts"].clone().try_into().expect("hosts");
        Lab { user: self, id, hosts }
    }

    /// Names in the folder of this user's labs.
    pub fn noted(&self) -> Vec<String> {
        let entries = fs::read_dir(self.labs()).into_iter().flatten();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

impl Drop for User {
    fn drop(&mut self) {
        // Parts of a lab may be left by a test that failed; one that passed has left nothing.
        let _ = self.lab(&["clean", "--older-than", "0"]).output();
    }
}

/// A name that no other lab of these tests has.
pub fn name() -> String {
    format!("t{:x}x{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// A lab, removed when it goes out of scope.
pub struct Lab<'a> {
    user: &'a User,
    pub id: String,
    pub hosts: Vec<Host>,
}

impl Lab<'_> {
    /// A command in the namespace of `host`.
    pub fn on(&self, host: &str, words: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &format!("sondelab-{}-{host}", self.id)]).args(words).stdin(Stdio::null());
        command
    }

    /// Its own files.
    pub fn files(&self) -> PathBuf {
        self.user.labs().join(&self.id)
    }

    /// The way to a host.
    pub fn way(&self, host: &Host) -> Arc<dyn Transport> {
        Ways::new(self.user.home(), Some(self.user.labs())).to(host).expect("a way")
    }

    /// One of its hosts with other settings of ssh.
    pub fn told(&self, number: usize, change: impl FnOnce(&mut logbook::host::Ssh)) -> Host {
        let mut host = self.hosts[number].clone();
        let Reach::Ssh(told) = &mut host.reach else { panic!("reached by {:?}", host.reach) };
        change(told);
        host
    }

    /// Removes it; nothing of it may be left.
    pub fn down(&self) {
        self.user.done(&["down", &self.id]);
        assert_eq!(left(&self.id), Left::default());
    }
}

impl Drop for Lab<'_> {
    fn drop(&mut self) {
        // Where a test has removed it already there is none.
        let _ = self.user.lab(&["down", &self.id]).output();
    }
}

/// Remains of a lab on the machine.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Names of namespaces.
    pub namespaces: BTreeSet<String>,
    /// Command lines that name it, or processes whose environment does.
    pub processes: BTreeSet<String>,
}

/// Remains of the lab of this name.
pub fn left(id: &str) -> Left {
    let prefix = format!("sondelab-{id}-");
    let entries = fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    let namespaces = names.filter(|name| name.starts_with(&prefix)).collect();
    let folders = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let words = |folder: PathBuf| {
        let line = fs::read(folder.join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        // A command line names its files, or its namespaces; that of this program itself names neither.
        let named = line.contains(&prefix) || line.contains(&format!("/sonde/lab/{id}/"));
        (named && !line.contains("sonde lab ")).then_some(line)
    };
    Left { namespaces, processes: folders.filter_map(words).collect() }
}

/// Standard error of a program.
pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A program whose copies are put onto hosts: a script, so that none of them takes long.
pub fn program(folder: &Path, text: &str) -> Program {
    let path = folder.join("program");
    fs::write(&path, text).expect("written");
    Program::new(path, text.as_bytes(), protocol::checksum::sha256(text.as_bytes()))
}

/// This program.
pub fn sonde() -> Program {
    let path = assert_cmd::cargo::cargo_bin!("sonde").to_owned();
    let octets = stripped(&fs::read(&path).expect("built"));
    Program::new(path, &octets, protocol::checksum::sha256(&octets))
}

/// Puts it there.
pub fn put(way: &dyn Transport, program: &Program) -> Result<String, Failure> {
    way.put(program, PATIENCE, &Stop::default())
}

/// Starts `command` as the first of a group of its own.
pub fn apart(command: &mut Command) -> Child {
    command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn().expect("started")
}
