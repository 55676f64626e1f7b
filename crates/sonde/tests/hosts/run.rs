//! `sonde run` over hosts that are addresses of this machine's loopback, and over ones that are reached by a stand-in of `ssh`: what
//! becomes of a plan when all goes well, and when hosts do not answer, are lost in the middle, or say nonsense.

mod closed;
mod hosts;
mod whole;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A folder with a store, plans and hosts of its own.
pub(in crate::run) struct Lab {
    folder: TempDir,
    port: u16,
}

impl Lab {
    pub(in crate::run) fn new() -> Self {
        // Where a port is taken sonde goes on to the next ones: they are nobody else's either.
        Self { folder: tempfile::tempdir().unwrap(), port: testbed::port::row().start }
    }

    pub(in crate::run) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(in crate::run) fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// A plan of so many hosts on loopback, with these methods and what else belongs at its top.
    pub(in crate::run) fn plan(&self, hosts: usize, methods: &[(&str, &str)], more: &str) -> String {
        let hosts: String = (1..=hosts).map(local).collect::<Vec<_>>().concat();
        self.write("plan.toml", &format!("{more}\nport = {}\n{}{hosts}", self.port, methods_of(methods)))
    }

    pub(in crate::run) fn port(&self) -> u16 {
        self.port
    }

    pub(in crate::run) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("sonde"));
        command
            .args(words)
            .env("SONDE_STORE", self.path("runs.db"))
            .env("HOME", self.folder.path())
            .env("XDG_RUNTIME_DIR", self.folder.path())
            .env_remove("XDG_CACHE_HOME")
            .env_remove("XDG_STATE_HOME")
            .env_remove("SONDE_KEY_FILE")
            .env("COLUMNS", "100")
            .stdin(Stdio::null());
        command
    }

    /// Its exit status, the run it printed, and what it said beside.
    pub(in crate::run) fn run(&self, words: &[&str]) -> (Option<i32>, Value, String) {
        let output = self.command(&[&["run"], words, &["--json"]].concat()).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let run = serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}\n{said}"));
        (output.status.code(), run, said)
    }

    pub(in crate::run) fn start(&self, words: &[&str]) -> Child {
        let mut command = self.command(&[&["run"], words].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }
}

/// The table of a host on loopback.
pub(in crate::run) fn local(number: usize) -> String {
    format!("[[hosts]]\nname = \"h{number}\"\nreach = \"local\"\ninternal = \"127.0.0.{number}\"\n")
}

/// The tables of methods, each with its name and its command.
pub(in crate::run) fn methods_of(methods: &[(&str, &str)]) -> String {
    let one = |(name, command): &(&str, &str)| format!("[[methods]]\nname = \"{name}\"\ncommand = \"{command}\"\n");
    methods.iter().map(one).collect::<Vec<_>>().concat()
}

/// Cells of a run as `from>to method repeat`, with whether each was measured.
pub(in crate::run) fn cells(run: &Value) -> Vec<(String, bool)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let cell = |cell: &Value| {
        let place = &cell["place"];
        let name =
            format!("{}>{} {} {}", text(&place["from"]), text(&place["to"]), text(&place["method"]), place["repeat"]);
        (name, cell["record"].is_string() && cell["failure"].is_null())
    };
    let mut cells: Vec<(String, bool)> = run["cells"].as_array().unwrap().iter().map(cell).collect();
    cells.sort();
    cells
}

/// Processes of this program whose command line has this word in it: their folders in `/proc`, and their lines.
pub(in crate::run) fn processes(word: &str) -> Vec<(PathBuf, String)> {
    let program = assert_cmd::cargo::cargo_bin!("sonde").canonicalize().unwrap();
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let found = entries.filter_map(|entry| {
        let folder = entry.path();
        let is_ours = std::fs::read_link(folder.join("exe")).is_ok_and(|exe| exe == program);
        let line = std::fs::read_to_string(folder.join("cmdline")).unwrap_or_default().replace('\0', " ");
        (is_ours && line.contains(word)).then_some((folder, line))
    });
    found.collect()
}

/// Their lines alone.
pub(in crate::run) fn running(word: &str) -> Vec<String> {
    processes(word).into_iter().map(|(_, line)| line).collect()
}

pub(in crate::run) fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none())
}
