//! `sonde lab cloud`: machines of a cloud, made, listed and removed.

pub mod down;
pub mod list;
pub mod options;
pub mod up;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand};
use cloud::ledger::Shelf;
use endpoint::stop::Stop;
use logbook::failure::Side;
use logbook::host::Host;

use crate::command::deliver;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::signal::{self, Interruption};
use crate::system::variable;

const EXAMPLES: &str = "\
Examples:
  sonde lab cloud up --cloud gcp --zone us-central1-b --machine-type n4-standard-2 --count 2 --from 203.0.113.7 --dry-run
  sonde lab cloud up --cloud aws --zone us-east-1a --zone us-east-1b --machine-type m7i.large --from 203.0.113.7 -o hosts.toml
  sonde lab cloud list                          runs, and which of them are still to be cleaned up
  sonde lab cloud down --run rk3v9x2m1          by its ledger; by its tags where there is none (--cloud)
  sonde lab cloud clean --older-than 6h --cloud aws

Each run has a ledger in ~/.local/state/sonde/cloud (XDG_STATE_HOME), written before and after each call: whatever ends
`up` in the middle, it is known what there is. Where a clean-up is owed, no other run is begun.
";

/// Options of `sonde lab cloud`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CloudOptions {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Make machines, their network and firewall, and print them as a list of hosts
    Up(Box<options::UpOptions>),
    /// Remove everything of a run
    Down(options::DownOptions),
    /// Remove every run of which a clean-up is owed, whose time is over, or that is older than asked
    Clean(options::CleanOptions),
    /// List the runs whose ledgers are here
    List(options::ListOptions),
}

/// Does what is asked.
///
/// # Errors
/// Errors of the cloud, its program or the ledger.
pub fn run(options: CloudOptions, output: &Arc<Output>) -> Result<Exit, Failure> {
    let stop = Stop::default();
    let asked = stop.clone();
    let interruption = signal::watch(move || asked.request(), || {})
        .map_err(|error| Failure::usage(format!("cannot watch for signals: {error}")))?;
    let room = Room::of(stop, interruption, output)?;
    match options.verb {
        Verb::Up(options) => up::run(&options, &room),
        Verb::Down(options) => down::run(&options, &room),
        Verb::Clean(options) => down::clean(&options, &room),
        Verb::List(options) => list::run(&options, &room),
    }
}

/// Means of every verb: ledgers, signals, output.
#[derive(Debug)]
pub struct Room {
    shelf: Shelf,
    stop: Stop,
    interruption: Interruption,
    output: Arc<Output>,
}

impl Room {
    /// One whose calls end in order where `stop` asks for it, by a signal that `interruption` knows.
    ///
    /// # Errors
    /// Nothing names a folder for ledgers.
    pub fn of(stop: Stop, interruption: Interruption, output: &Arc<Output>) -> Result<Self, Failure> {
        Ok(Self { shelf: Shelf::at(folder()?), stop, interruption, output: Arc::clone(output) })
    }

    /// The same for whoever goes on behind a stop: to remove is what was asked for then.
    pub fn going_on(&self) -> Self {
        let Self { shelf, interruption, output, .. } = self;
        Self {
            shelf: shelf.clone(),
            stop: Stop::default(),
            interruption: interruption.clone(),
            output: Arc::clone(output),
        }
    }

    /// Folder of its ledgers.
    pub fn shelf(&self) -> &Shelf {
        &self.shelf
    }

    /// The request to end, which its calls obey.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// A failure with the status of the signal that it came of, where one did.
    pub fn failure(&self, told: logbook::failure::Failure) -> Failure {
        let failure = failure(told);
        let exit = self.interruption.signal().map_or(failure.exit, Exit::CutShort);
        Failure { exit, ..failure }
    }

    fn tell(&self, what: &str) {
        self.output.note(&format!("  {what}\n"));
    }

    /// The end of a verb that failed: by a signal, where one asked for it.
    fn failed(&self, told: logbook::failure::Failure) -> Result<Exit, Failure> {
        let failure = failure(told);
        match self.interruption.signal() {
            Some(signal) => {
                self.output.complain(&failure);
                Ok(Exit::CutShort(signal))
            }
            None => Err(failure),
        }
    }
}

/// A library's failure as a command's: status 2 where the cause is ours.
pub(super) fn failure(told: logbook::failure::Failure) -> Failure {
    let exit = if told.side == Some(Side::Ours) { Exit::Usage } else { Exit::NothingAnswered };
    Failure { exit, usage: None, told }
}

/// The present time, in seconds since 1970.
fn now() -> u64 {
    endpoint::clock::wall() / 1_000_000_000
}

/// Folder of the ledgers.
fn folder() -> Result<PathBuf, Failure> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    let missing = || Failure::usage("neither XDG_STATE_HOME nor HOME names a folder for the ledger");
    Ok(state.ok_or_else(missing)?.join("sonde/cloud"))
}

/// Writes hosts into a file, or prints them.
pub(super) fn deliver_hosts(hosts: &[Host], file: Option<&PathBuf>, output: &Output) -> Result<(), Failure> {
    let text = toml::to_string(&BTreeMap::from([("hosts", hosts)]))
        .map_err(|error| Failure::usage(format!("the list of hosts cannot be written: {error}")))?;
    if let Some(file) = file {
        return deliver::write(file, text);
    }
    output.result(&text);
    Ok(())
}
