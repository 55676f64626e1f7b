//! `sonde agent`: this program on a host of a plan, told what to run by JSON lines. People need not call it.

mod answering;
mod attach;
mod cells;
mod desk;
mod folder;
mod health;
mod reach;
mod spool;
mod stay;

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use lab::agent::far;
use lab::own;
use measure::unit::Bytes;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use folder::Folder;

/// Options of `sonde agent`. Without an option it serves one run.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct AgentOptions {
    /// Stay: measure what a monitor assigned last, keep the results until it takes them, and answer the other agents
    #[arg(long, group = "part")]
    monitor: bool,
    /// Connect standard input and output to the agent that stays on this host
    #[arg(long, group = "part")]
    attach: bool,
    /// The same on the host that the first line of standard input names (an object as in a run's plan), with --start: sonde copies itself there
    #[arg(long, group = "part")]
    reach: bool,
    /// Where the agent keeps its socket, its key and its results: a folder, or a name below the state folder [default: agent]
    #[arg(long, value_name = "FOLDER")]
    state: Option<PathBuf>,
    /// Most octets of results that nobody has taken yet; beyond, the oldest are dropped and counted [default: 64MiB]
    #[arg(long, value_name = "SIZE")]
    spool: Option<Bytes>,
    /// Start an agent that stays where none does, or where one of an older version does
    #[arg(long, requires = "attach", conflicts_with = "end")]
    start: bool,
    /// End the agent that stays; its results stay in its folder
    #[arg(long, requires = "part", conflicts_with = "monitor")]
    end: bool,
    /// With --end: remove its folder too
    #[arg(long, requires = "end")]
    purge: bool,
    /// Given to an agent that was started by --start
    #[arg(long, hide = true, requires = "monitor")]
    detached: bool,
}

/// Results are kept up to this where nobody says otherwise, octets.
const SPOOL: Bytes = Bytes(64 << 20);

impl AgentOptions {
    /// Returns true where it stays: then it waits for signals itself.
    pub fn stays(&self) -> bool {
        self.monitor
    }

    /// The same on another host.
    fn words_there(&self) -> Vec<String> {
        let mut words = vec!["agent".to_owned(), "--attach".to_owned()];
        if let Some(state) = &self.state {
            words.extend(["--state".to_owned(), state.to_string_lossy().into_owned()]);
        }
        if let Some(spool) = self.spool {
            words.extend(["--spool".to_owned(), spool.0.to_string()]);
        }
        let doing = [(!self.end, "--start"), (self.end, "--end"), (self.purge, "--purge")];
        words.extend(doing.into_iter().filter(|(is_said, _)| *is_said).map(|(_, word)| word.to_owned()));
        words
    }
}

/// Does what the options say.
///
/// # Errors
/// A folder that cannot be had; nobody to speak to.
pub fn run(options: &AgentOptions, output: &Output) -> Result<Exit, Failure> {
    let spool = options.spool.unwrap_or(SPOOL);
    let folder = || Folder::of(options.state.as_deref());
    if options.monitor {
        return stay::run(folder()?, spool, options.detached, output);
    }
    if options.reach {
        return reach::run(&options.words_there(), options.end);
    }
    if options.attach && options.end {
        return attach::end(folder()?, options.purge);
    }
    if options.attach {
        return attach::run(&folder()?, options.start, spool);
    }
    serve_a_run()
}

/// Does what the lines on standard input say until they end.
///
/// # Errors
/// Nobody takes its lines any more.
fn serve_a_run() -> Result<Exit, Failure> {
    let named = (env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
    far::attend(io::stdin().lock(), io::stdout(), Path::new(own::PROGRAM), named)
        .map_err(|error| Failure::usage(format!("standard output: nobody listens to this agent: {error}")))?;
    Ok(Exit::Done)
}

/// Has this process end with the agent that started it, also where that is killed. Without an agent nothing happens.
pub fn end_with_it() {
    let Some(agent) = std::env::var_os(far::CHILD).and_then(|text| text.to_str()?.parse().ok()).and_then(Pid::from_raw)
    else {
        return;
    };
    // Where the kernel refuses, the agent's end is still told by its standard input's end, unless it is killed.
    let _ = set_parent_process_death_signal(Some(Signal::TERM));
    if getppid() != Some(agent) {
        std::process::abort();
    }
}
