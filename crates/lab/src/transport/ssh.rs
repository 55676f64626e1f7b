//! A host by the system's `ssh`: agents, jump hosts and `~/.ssh/config` work as for the user, and one connection serves all.
//!
//! Nothing is ever asked at a terminal. A user's settings for a host stand before those set here, for `ssh` honours the
//! first.

mod said;
pub(super) mod sockets;
mod word;

pub use sockets::sweep;
pub(crate) use word::quoted;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};

use endpoint::stop::Stop;
use logbook::failure::{Failure, Side};
use logbook::host;
use measure::unit::Nanos;

use crate::child::{self, Finished};
use crate::transport::remote::{self, Fault, Remote};
use crate::transport::ssh::sockets::Sockets;
use crate::transport::{Program, Transport, command_of};

/// The longest time that `ssh` may take to connect, whatever patience there is.
const CONNECT: u64 = 10;
/// Longest wait for `ssh` to close a shared connection: both ends of that are on this machine.
const CLOSE: Nanos = Nanos::secs(2);

/// The way to a host by `ssh`.
#[derive(Clone, Debug)]
pub struct Ssh {
    told: host::Ssh,
    sockets: Arc<Sockets>,
    /// Tells this host's connection from one to the same address by another way.
    tag: String,
    /// The folder of the program that was put there.
    put: Arc<OnceLock<String>>,
}

impl Ssh {
    /// The way as `told`, with shared connections in `sockets`.
    ///
    /// # Errors
    /// A destination that is none.
    pub fn new(told: host::Ssh, sockets: Arc<Sockets>) -> Result<Self, Failure> {
        if told.to.is_empty() || told.to.starts_with('-') {
            let fault =
                Fault::new("is no destination of ssh", Side::Ours, "write user@host, or a name of ~/.ssh/config");
            return Err(fault.of(&told.to, "be reached"));
        }
        let mut hasher = DefaultHasher::new();
        format!("{told:?}").hash(&mut hasher);
        let tag = format!("{:08x}", hasher.finish() as u32);
        Ok(Self { told, sockets, tag, put: Arc::default() })
    }

    /// `ssh` and what it is told, up to the destination.
    fn ssh(&self, patience: Nanos) -> Vec<String> {
        let told = &self.told;
        let connect = (patience.0 / 1_000_000_000).clamp(1, CONNECT);
        let settings = [
            "ControlMaster=auto".to_owned(),
            "ControlPersist=60".to_owned(),
            format!("ControlPath={}", self.socket()),
            format!("ConnectTimeout={connect}"),
            // A host that is gone is noticed within half a minute, not when TCP gives up.
            "ServerAliveInterval=10".to_owned(),
            "ServerAliveCountMax=3".to_owned(),
            "LogLevel=ERROR".to_owned(),
        ];
        let mut words = told.through.clone();
        words.extend(["ssh", "-T", "-o", "BatchMode=yes"].map(str::to_owned));
        for setting in told.options.iter().chain(&settings) {
            words.extend(["-o".to_owned(), setting.clone()]);
        }
        if let Some(port) = told.port {
            words.extend(["-p".to_owned(), port.to_string()]);
        }
        if let Some(file) = &told.key_file {
            // Without the second, all keys of an agent would be tried before it, and a host gives up after a few.
            words.extend(["-i", file, "-o", "IdentitiesOnly=yes"].map(str::to_owned));
        }
        words.extend(["--".to_owned(), told.to.clone()]);
        words
    }

    fn socket(&self) -> String {
        format!("{}/{}%C", self.sockets.folder().display(), self.tag)
    }

    /// Ends the shared connection, where one is open.
    fn close(&self) {
        let mut words = self.ssh(CLOSE);
        let before = words.len() - 2;
        words.splice(before..before, ["-O".to_owned(), "exit".to_owned()]);
        // That there is none is what is wanted.
        let _ = child::run(&mut command_of(&[], &words), Stdio::null(), CLOSE, &Stop::default());
    }
}

impl Remote for Ssh {
    fn whom(&self) -> &str {
        &self.told.to
    }

    fn shell(&self, script: &str, arguments: &[&str], patience: Nanos) -> Command {
        let words: Vec<String> =
            ["sh", "-c", script, "sonde"].into_iter().chain(arguments.iter().copied()).map(quoted).collect();
        command_of(&self.ssh(patience), &[words.join(" ")])
    }

    fn fault(&self, finished: &Finished) -> Option<Fault> {
        said::fault(&self.told, finished)
    }

    fn program(&self) -> (&'static str, &'static str) {
        ("ssh", "openssh-client")
    }
}

impl Transport for Ssh {
    fn put(&self, program: &Program, patience: Nanos, stop: &Stop) -> Result<String, Failure> {
        let put = remote::put(self, program, patience, stop)?;
        // It is the same program each time it is put by one process.
        let _ = self.put.set(put.short);
        Ok(put.file)
    }

    fn command(&self, words: &[String]) -> Command {
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        // In the place of the login shell: a signal of the host's side then meets the program itself.
        command_of(&self.ssh(Nanos::secs(CONNECT)), &[format!("exec {}", words.join(" "))])
    }

    fn clean(&self, patience: Nanos, stop: &Stop) -> Result<(), Failure> {
        let cleaned = self.put.get().map_or(Ok(()), |short| remote::clean(self, short, patience, stop));
        self.close();
        cleaned
    }
}

#[cfg(test)]
mod tests;
