//! Leads to the agent that stays on another host: puts this program there, and passes on what is said.

use std::io::{self, BufRead, BufReader, Read};
use std::process::{ExitStatus, Stdio};
use std::thread;

use endpoint::stop::Stop;
use lab::transport::ways::Ways;
use logbook::host::{Host, Reach};
use measure::unit::Nanos;

use crate::command::lab::place;
use crate::command::run::program;
use crate::exit::Exit;
use crate::failure::Failure;

/// The most of the line that says which host, octets.
const LONGEST: u64 = 1 << 20;
/// Longest silence of the way there.
const PATIENCE: Nanos = Nanos::secs(20);

/// Reads a host from the first line of standard input, and does `words` of this program there, with the rest of standard
/// input and output passed on. A program that was put there is removed afterwards where `clean` says so.
///
/// # Errors
/// A line that names no host, a way that does not lead there.
pub fn run(words: &[String], clean: bool) -> Result<Exit, Failure> {
    let mut input = BufReader::new(io::stdin());
    let host = host(&mut input)?;
    let stop = Stop::default();
    let is_sent = matches!(host.reach, Reach::Ssh(_) | Reach::Pod(_));
    let program = program::own(is_sent, &[])?;
    let ways = Ways::new(place::runtime(), place::labs());
    let way = ways.to(&host).map_err(place::failed)?;
    let name = way.put(&program, PATIENCE, &stop).map_err(place::failed)?;
    let all: Vec<String> = std::iter::once(name).chain(words.iter().cloned()).collect();
    let mut command = way.command(&all);
    let cannot = |error: io::Error| {
        let what = format!("{}: cannot run this program there: {error}", host.name);
        Failure::usage(what).about(host.name.clone()).hint("`sonde check` looks at the way to a host")
    };
    let mut child = command.stdin(Stdio::piped()).spawn().map_err(cannot)?;
    if let Some(mut into) = child.stdin.take() {
        // It ends with the child, or with whoever speaks to us: both end this process.
        thread::spawn(move || io::copy(&mut input, &mut into));
    }
    let status = child.wait().map_err(cannot)?;
    if clean {
        way.clean(PATIENCE, &stop).map_err(place::failed)?;
    }
    ended(&host, status)
}

fn host(input: &mut impl BufRead) -> Result<Host, Failure> {
    let mut line = String::new();
    let read = input.take(LONGEST).read_line(&mut line);
    let told = read
        .map_err(|error| error.to_string())
        .and_then(|_| serde_json::from_str(&line).map_err(|error| error.to_string()));
    told.map_err(|error| {
        Failure::usage(format!("standard input: its first line names no host: {error}"))
            .hint("write a host as `sonde run --json` tells of it, one object in one line")
    })
}

/// Its words for an error stand on standard error already.
fn ended(host: &Host, status: ExitStatus) -> Result<Exit, Failure> {
    if status.success() {
        return Ok(Exit::Done);
    }
    let what = format!("{}: the way to the agent there has ended: {status}", host.name);
    Err(Failure { exit: Exit::NothingAnswered, ..Failure::usage(what).about(host.name.clone()) })
}
