//! `sonde lab cloud list`: what there is, and what is owed.

use std::fmt::Write;

use cloud::ledger::{Listed, Phase};

use crate::command::lab::cloud::down::tagged;
use crate::command::lab::cloud::options::ListOptions;
use crate::command::lab::cloud::{Room, failure, now};
use crate::exit::Exit;
use crate::failure::Failure;

/// Lists.
///
/// # Errors
/// A folder or a cloud that cannot be read.
pub fn run(options: &ListOptions, room: &Room) -> Result<Exit, Failure> {
    let mut text: String = room.shelf.all().map_err(failure)?.iter().map(|listed| row(listed, now())).collect();
    if let Some(cloud) = options.tags.cloud {
        for found in tagged(cloud, &options.tags, &options.calls, room)? {
            let owner = found.owner.unwrap_or_default();
            let _ = writeln!(text, "{}\t{cloud}\ttagged\t{}\t{}\t{owner}", found.run, found.what, until(found.expires));
        }
    }
    if text.is_empty() {
        room.output.note("no runs\n");
    }
    room.output.result(&text);
    Ok(Exit::Done)
}

/// Run, cloud, where it stands, machines, until when, and what is owed.
fn row(listed: &Listed, now: u64) -> String {
    let owed = listed.owed(now).map_or_else(String::new, |why| format!("\tclean-up owed: {why}"));
    match &listed.ledger {
        Err(_) => format!("{}\t?\t?\t?\t?{owed}\n", listed.run),
        Ok(ledger) => {
            let phase = match (ledger.phase, listed.busy) {
                (Phase::Making, true) => "being made",
                (Phase::Removing, true) => "being removed",
                (Phase::Up, _) => "up",
                (Phase::Making, false) => "cut off",
                (Phase::Removing, false) => "not removed",
            };
            let machines = ledger.machines.len();
            let until = until(Some(ledger.expires));
            format!("{}\t{}\t{phase}\t{machines} machines\t{until}{owed}\n", ledger.run, ledger.cloud)
        }
    }
}

fn until(expires: Option<u64>) -> String {
    let time = expires.and_then(|expires| jiff::Timestamp::from_second(i64::try_from(expires).ok()?).ok());
    time.map_or_else(|| "until ?".to_owned(), |time| format!("until {time}"))
}
