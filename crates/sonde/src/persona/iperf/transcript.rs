//! Transcripts of the original as fixtures: version, command lines, what was printed.

use crate::persona::answer::Answer;
use crate::persona::iperf::options::{self, Asked, Client, Common, Role, Server};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/iperf");

/// One process of the original.
#[derive(Clone, Debug)]
pub struct Transcript {
    /// The file it stands in.
    pub file: String,
    /// The version of the original.
    pub version: String,
    /// The words behind the program's name.
    pub words: Vec<String>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// All processes that ran by themselves, not in a loop.
pub fn all() -> Vec<Transcript> {
    let entries = std::fs::read_dir(FOLDER).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.filter(|name| name != "about.txt" && !name.starts_with("24-")).collect();
    names.sort_unstable();
    names.iter().flat_map(|name| of(name)).collect()
}

/// The processes of a file.
pub fn of(name: &str) -> Vec<Transcript> {
    let text = std::fs::read_to_string(format!("{FOLDER}/{name}")).unwrap();
    let versions = text.lines().nth(1).unwrap();
    text.split("\n===== ").skip(1).map(|section| process(name, versions, section)).collect()
}

fn process(file: &str, versions: &str, section: &str) -> Transcript {
    let (first, rest) = section.split_once('\n').unwrap();
    let (end, command) = first.split_once("$ iperf").unwrap();
    let (_, version) = versions.split_once(&format!("{}: iperf ", end.trim())).unwrap();
    let command = command.split(['&', ';']).next().unwrap_or_default();
    let command = command.split("     (").next().unwrap_or_default();
    let (body, _) = rest.rsplit_once("----- exit status ").unwrap();
    let (stdout, stderr) = body.split_once("----- stderr\n").unwrap_or((body, ""));
    Transcript {
        file: file.to_owned(),
        version: version.split_whitespace().next().unwrap().to_owned(),
        words: command.split_whitespace().map(str::to_owned).collect(),
        stdout: stdout.strip_prefix("----- stdout\n").unwrap_or(stdout).to_owned(),
        stderr: stderr.to_owned(),
    }
}

impl Transcript {
    /// Request in its words.
    pub fn asked(&self) -> Result<Asked, Answer> {
        // A program that was built without fast sampling has two decimals.
        let two = self.stdout.contains("] 0.00-").then_some(["--decimals", "2"]).into_iter().flatten();
        let words: Vec<String> = self.words.iter().cloned().chain(two.map(str::to_owned)).collect();
        options::parse(&words, |name| (name == "SONDE_IPERF_FORM").then(|| self.version.clone()))
    }

    /// The same of a client.
    pub fn client(&self) -> Option<Client> {
        match self.asked().ok()?.role {
            Role::Client(client) => Some(client),
            Role::Server(_) => None,
        }
    }

    /// The same of a server.
    pub fn server(&self) -> Option<Server> {
        match self.asked().ok()?.role {
            Role::Server(server) => Some(server),
            Role::Client(_) => None,
        }
    }

    /// Options of both ends.
    pub fn common(&self) -> Option<Common> {
        self.client().map(|client| client.common).or_else(|| self.server().map(|server| server.common))
    }
}
