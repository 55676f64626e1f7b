//! One call of a vendor's program: bounded in time and in what it may print, and ended with whatever it started.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use endpoint::clock::Monotonic;
use endpoint::pace;
use endpoint::stop::Stop;
use measure::unit::Nanos;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

use crate::fault::{Fault, Kind};
use crate::vendor::Tool;

/// Time between two looks at a call while it goes on.
const LOOK: Nanos = Nanos::millis(5);
/// Greatest output of a program, octets: lists of a thousand machines take a few MB.
const MOST: u64 = 32 << 20;
/// Longest wait for the rest of a program's output when it has ended; a process that it left behind may hold the pipe for
/// ever.
const DRAIN: std::time::Duration = std::time::Duration::from_secs(5);

/// Longest waits, the pauses between looks, and the number of tries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For the end of one call.
    pub call: Nanos,
    /// For the end of a call that goes on when we are asked to stop: what it makes is better known than guessed.
    pub grace: Nanos,
    /// Between two looks at whether something is there, or gone.
    pub look: Nanos,
    /// For a thing to be good, or gone.
    pub ready: Nanos,
    /// For a thing of which it is not known whether it was made: so long it may take to be seen.
    pub settle: Nanos,
    /// Before the second try of a call; twice as long before each further one.
    pub again: Nanos,
    /// Tries of a call, at least one.
    pub tries: u32,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            call: Nanos::secs(300),
            grace: Nanos::secs(20),
            look: Nanos::secs(3),
            ready: Nanos::secs(600),
            settle: Nanos::secs(20),
            again: Nanos::secs(1),
            tries: 6,
        }
    }
}

/// Caller of a vendor's program.
#[derive(Debug)]
pub struct Caller<'a> {
    /// The vendor's program.
    pub tool: &'a Tool,
    /// The account, where one was named.
    pub account: Option<String>,
    /// Longest waits and number of tries.
    pub patience: Patience,
    /// Asks for the end.
    pub stop: Stop,
    /// Standard input of the program. Where there is a ledger, that is its lock, an empty file: as long as a call goes on,
    /// also one whose caller was killed, the lock is held.
    pub input: Option<File>,
}

impl Caller<'_> {
    /// Output of the program for these words.
    ///
    /// # Errors
    /// As [`Fault`] tells.
    pub fn call(&self, words: &[String]) -> Result<String, Fault> {
        let mut child = self.start(words)?;
        let printed = child.stdout.take().map(read_apart);
        let said = child.stderr.take().map(read_apart);
        let status = self.wait(&mut child);
        let text = |reader: Option<Receiver<Vec<u8>>>| {
            let bytes = reader.and_then(|reader| reader.recv_timeout(DRAIN).ok()).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        match status {
            Ok(status) if status.success() => Ok(text(printed)),
            Ok(status) => {
                let said = text(said);
                let said =
                    if said.trim().is_empty() { format!("it ended with {status} and said nothing") } else { said };
                Err(Fault::read(self.tool, &said))
            }
            Err(fault) => Err(fault),
        }
    }

    /// The same as JSON; no output is `null`.
    ///
    /// # Errors
    /// As [`Fault`] tells.
    pub fn json(&self, words: &[String]) -> Result<Value, Fault> {
        let text = self.call(words)?;
        if text.trim().is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_str(&text).map_err(|error| {
            let start: String = text.chars().filter(|letter| !letter.is_control()).take(60).collect();
            Fault::new(Kind::Rubbish, format!("it printed `{start}`, which is no JSON: {error}"))
        })
    }

    /// The same, tried again where that is worth it.
    ///
    /// # Errors
    /// As [`Fault`] tells.
    pub fn patient_json(&self, words: &[String]) -> Result<Value, Fault> {
        self.patiently(Kind::is_worth_another_try, || self.json(words))
    }

    /// Removes by these words: what is not there is removed, and what is still in use is tried again.
    ///
    /// # Errors
    /// As [`Fault`] tells.
    pub fn delete(&self, words: &[String]) -> Result<(), Fault> {
        let again = |kind: Kind| kind.is_worth_another_try() || kind == Kind::Busy;
        match self.patiently(again, || self.call(words)) {
            Err(fault) if fault.kind != Kind::NotFound => Err(fault),
            _ => Ok(()),
        }
    }

    /// Tries `act` as often as patience allows, waiting longer each time, as long as what it meets is `worth` it.
    ///
    /// # Errors
    /// The last fault.
    pub fn patiently<T>(&self, worth: impl Fn(Kind) -> bool, act: impl Fn() -> Result<T, Fault>) -> Result<T, Fault> {
        let mut wait = self.patience.again;
        for _ in 1..self.patience.tries {
            match act() {
                Err(fault) if worth(fault.kind) => {
                    if !self.pause(wait) {
                        return Err(fault);
                    }
                    wait = Nanos(wait.0.saturating_mul(2));
                }
                end => return end,
            }
        }
        act()
    }

    /// Waits so long, unless asked to stop: `false`.
    pub fn pause(&self, long: Nanos) -> bool {
        let until = Monotonic::now().after(long);
        while Monotonic::now() < until {
            if self.stop.requested() {
                return false;
            }
            pace::sleep_until(until.min(Monotonic::now().after(Nanos::millis(50))));
        }
        !self.stop.requested()
    }

    fn start(&self, words: &[String]) -> Result<Child, Fault> {
        let program = self.tool.program;
        let input = match &self.input {
            Some(input) => input
                .try_clone()
                .map(Stdio::from)
                .map_err(|error| Fault::new(Kind::Other, format!("no call could be begun: {error}")))?,
            None => Stdio::null(),
        };
        let started = Command::new(program)
            .args(self.tool.whole(words, self.account.as_deref()))
            .envs(self.tool.environment.iter().copied())
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C at a terminal goes to the whole group: whether a call ends by it is for us to say.
            .process_group(0)
            .spawn();
        started.map_err(|error| match error.kind() {
            ErrorKind::NotFound => Fault::new(Kind::NotInstalled, format!("there is no `{program}`")),
            _ => Fault::new(Kind::NotInstalled, format!("`{program}` cannot be started: {error}")),
        })
    }

    fn wait(&self, child: &mut Child) -> Result<ExitStatus, Fault> {
        let mut until = Monotonic::now().after(self.patience.call);
        let mut stopped = false;
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) => {}
                Err(error) => return Err(Fault::new(Kind::Other, format!("its end cannot be seen: {error}"))),
            }
            let now = Monotonic::now();
            if self.stop.requested() && !stopped {
                stopped = true;
                until = until.min(now.after(self.patience.grace));
            }
            if now >= until {
                // It may have ended in this very moment; then there is nobody to kill.
                let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
                let _ = child.wait();
                let kind = if stopped { Kind::Stopped } else { Kind::Hung };
                return Err(Fault::new(kind, format!("`{}` was ended", self.tool.program)));
            }
            pace::sleep_until(now.after(LOOK));
        }
    }
}

/// All that comes of a pipe, by a thread of its own, so that neither pipe can fill while the other is read.
fn read_apart(pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (to, from) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // Octets read before an error are all there are; beyond the bound the pipe closes, and the program meets that.
        let _ = pipe.take(MOST).read_to_end(&mut bytes);
        let _ = to.send(bytes);
    });
    from
}
