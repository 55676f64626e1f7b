//! Transcripts of the original as fixtures: version, command lines, what was printed.

use crate::persona::answer::Answer;
use crate::persona::iperf::options::{self, Asked, Client, Common, Role, Server};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/iperf");

/// One process of the original.
#[derive(Clone, Debug)]
pub struct Transcript {
    /// The file it stands in.
    pub file: String,
    /// The words behind the program's name.
    pub words: Vec<String>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// All processes of 2.1.8 that ran by themselves, not in a loop.
pub fn all() -> Vec<Transcript> {
    let entries = std::fs::read_dir(FOLDER).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.filter(|name| name != "about.txt" && is_of_2_1_8(name)).collect();
    names.sort_unstable();
    names.iter().flat_map(|name| of(name)).collect()
}

fn is_of_2_1_8(name: &str) -> bool {
    !["20-", "21-", "22-", "24-"].iter().any(|other| name.starts_with(other))
}

/// The processes of a file.
pub fn of(name: &str) -> Vec<Transcript> {
    let text = std::fs::read_to_string(format!("{FOLDER}/{name}")).unwrap();
    text.split("\n===== ").skip(1).map(|section| process(name, section)).collect()
}

fn process(file: &str, section: &str) -> Transcript {
    let (first, rest) = section.split_once('\n').unwrap();
    let (_, command) = first.split_once("$ iperf").unwrap();
    let command = command.split(['&', ';']).next().unwrap_or_default();
    let command = command.split("     (").next().unwrap_or_default();
    let (body, _) = rest.rsplit_once("----- exit status ").unwrap();
    let (stdout, stderr) = body.split_once("----- stderr\n").unwrap_or((body, ""));
    Transcript {
        file: file.to_owned(),
        words: command.split_whitespace().map(str::to_owned).collect(),
        stdout: stdout.strip_prefix("----- stdout\n").unwrap_or(stdout).to_owned(),
        stderr: stderr.to_owned(),
    }
}

impl Transcript {
    /// What its words ask for.
    pub fn asked(&self) -> Result<Asked, Answer> {
        options::parse(&self.words, |_| None)
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

    /// What both ends take.
    pub fn common(&self) -> Option<Common> {
        self.client().map(|client| client.common).or_else(|| self.server().map(|server| server.common))
    }
}
