//! Transcripts of the original as fixtures: version, command line, what was printed, the exit status.

use std::net::SocketAddr;

use crate::persona::sockperf::options::{self, Asked, Client, Command, Place, Server, Transport};
use crate::persona::sockperf::output::start::Endpoint;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/sockperf");

/// One run of the original.
#[derive(Clone, Debug)]
pub struct Transcript {
    /// Its version.
    pub version: String,
    /// The words behind the program's name.
    pub words: Vec<String>,
    /// Standard output.
    pub stdout: String,
    /// Exit status.
    pub status: u8,
}

/// A file of the fixtures.
pub fn file(name: &str) -> String {
    std::fs::read_to_string(format!("{FOLDER}/{name}")).unwrap().replace("<ESC>", "\x1b")
}

/// The names of all runs.
pub fn names() -> Vec<String> {
    let entries = std::fs::read_dir(FOLDER).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let runs = entries.filter_map(|name| name.strip_suffix(".txt").map(str::to_owned));
    let mut names: Vec<String> = runs.filter(|name| name != "about").collect();
    names.sort_unstable();
    names
}

impl Transcript {
    /// Reads a run by name.
    pub fn of(name: &str) -> Self {
        let text = file(&format!("{name}.txt"));
        let (head, rest) = text.split_once("--- stdout\n").unwrap();
        let (stdout, status) = rest.rsplit_once("--- exit status ").unwrap();
        let line = |prefix| head.lines().find_map(|line| line.strip_prefix(prefix)).unwrap();
        Self {
            version: line("# sockperf ").to_owned(),
            words: line("$ sockperf").split_whitespace().map(str::to_owned).collect(),
            stdout: stdout.to_owned(),
            status: status.trim().parse().unwrap(),
        }
    }

    /// Request in its words.
    pub fn asked(&self) -> Asked {
        options::parse(&self.words).unwrap_or_else(|answer| panic!("{:?}: {answer:?}", self.words))
    }

    /// The same of a client.
    pub fn client(&self) -> Client {
        match self.asked().command {
            Command::Client(client) => client,
            Command::Server(_) => panic!("{:?} is a server", self.words),
        }
    }

    /// The same of a server.
    pub fn server(&self) -> Server {
        match self.asked().command {
            Command::Server(server) => server,
            Command::Client(_) => panic!("{:?} is a client", self.words),
        }
    }

    /// A number behind a text; a point in it does not count as one: `5.759` is 5759.
    pub fn number(&self, before: &str) -> Option<u64> {
        let (_, rest) = self.stdout.split_once(before)?;
        let digits = rest.trim_start().chars().take_while(|c| c.is_ascii_digit() || *c == '.').filter(|c| *c != '.');
        digits.collect::<String>().parse().ok()
    }
}

/// The sockets that a place names.
pub fn sockets(place: &Place, any: &str) -> Vec<Endpoint> {
    match place {
        Place::One(socket) => {
            let address = socket.host.as_deref().unwrap_or(any).parse().unwrap();
            vec![Endpoint { address: SocketAddr::new(address, socket.port), transport: socket.transport }]
        }
        Place::Feed { .. } => file("18-feedfile.feed").lines().map(feed).collect(),
    }
}

fn feed(line: &str) -> Endpoint {
    let (transport, address) = line.split_once(':').unwrap();
    let transport = if transport == "T" { Transport::Tcp } else { Transport::Udp };
    Endpoint { address: address.parse().unwrap(), transport }
}
