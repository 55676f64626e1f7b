//! Runs one program to its end, or beside another, at the priority both sides share.
//!
//! Every program runs under `timeout`, so that none outlives the bench, and where real-time priority is allowed under
//! `chrt -f 50`: at that priority the other work of a busy machine stays off both CPUs. Two such tasks on one CPU never
//! yield to each other, so an end that spins has a CPU of its own.

use std::fmt;
use std::io::{BufRead, BufReader, PipeReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use lab::namespace::Pair;
use serde::Serialize;

/// Seconds after which a program that has not ended is ended: ten times what any run of a pair may take.
const LIMIT_S: u32 = 10;
/// Seconds a run under valgrind may take.
const VALGRIND_LIMIT_S: u32 = 300;
/// Idle time after each run. The kernel lets real-time tasks have 95 % of each second: with runs of 0.8 s and this
/// between them no second asks for more.
const REST: Duration = Duration::from_millis(150);

/// Signal by which a program is asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM, as a service manager asks.
    Terminate,
    /// SIGINT, as a person asks: what sockperf's server needs to tell its totals.
    Interrupt,
}

impl Signal {
    /// As `kill` takes it.
    fn option(self) -> &'static str {
        match self {
            Self::Terminate => "-TERM",
            Self::Interrupt => "-INT",
        }
    }
}

/// Scheduling of both sides by the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Priority {
    /// `SCHED_FIFO` 50.
    RealTime,
    /// The ordinary one.
    Normal,
}

impl Priority {
    /// Real-time where this user may have it.
    pub fn allowed() -> Self {
        let tried = Command::new("chrt").args(["-f", "50", "true"]).output();
        if tried.is_ok_and(|output| output.status.success()) { Self::RealTime } else { Self::Normal }
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RealTime => "real-time priority (SCHED_FIFO 50)",
            Self::Normal => "normal priority (real-time is not permitted)",
        })
    }
}

/// A program and its arguments, to be run under this bench's conditions.
#[derive(Clone, Debug)]
pub struct Call {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    limit_s: u32,
    host: Host,
    any_status: bool,
}

/// Host of a program.
#[derive(Clone, Debug, Default)]
pub enum Host {
    /// Here.
    #[default]
    Here,
    /// In the near of two namespaces.
    Near(Arc<Pair>),
    /// In the far one.
    Far(Arc<Pair>),
}

impl Host {
    fn command(&self, program: &str) -> Command {
        match self {
            Self::Here => Command::new(program),
            Self::Near(pair) => pair.near().command(program),
            Self::Far(pair) => pair.far().command(program),
        }
    }
}

impl Call {
    /// `program` with `arguments`, which are split at blanks.
    pub fn new(program: &Path, arguments: &str) -> Self {
        let arguments = arguments.split_whitespace().map(str::to_owned).collect();
        Self { program: program.to_owned(), arguments, limit_s: LIMIT_S, host: Host::Here, any_status: false }
    }

    /// The same at another host.
    #[must_use]
    pub fn at(self, host: Host) -> Self {
        Self { host, ..self }
    }

    /// The same, whatever it ends with: some programs end with 1 where they saw no reply.
    #[must_use]
    pub fn ending_anyhow(self) -> Self {
        Self { any_status: true, ..self }
    }

    /// The same, but ended only after `limit_s` seconds.
    #[must_use]
    pub fn with_limit(self, limit_s: u32) -> Self {
        Self { limit_s, ..self }
    }

    /// Runs it to its end and gives what it printed. Fails when it cannot be run, or ends otherwise than with 0.
    pub fn run(&self, priority: Priority) -> Result<String> {
        let output = self.command(priority, None).output();
        rest();
        self.printed(output)
    }

    /// Runs it to its end and gives how long that took, process and all.
    #[expect(clippy::disallowed_methods, reason = "times a program of the bench from outside; nothing measures by it")]
    pub fn time(&self, priority: Priority) -> Result<Duration> {
        let mut command = self.command(priority, None);
        let began = Instant::now();
        let output = command.output();
        let took = began.elapsed();
        rest();
        self.printed(output).map(|_| took)
    }

    /// Runs it under callgrind, at normal priority for that takes long; profiles go to files that begin with `profile`.
    pub fn run_under_callgrind(&self, profile: &Path, options: &[&str]) -> Result<String> {
        self.printed(self.command(Priority::Normal, Some((profile, options))).output())
    }

    /// Starts it, and waits for the first line it prints: that it is ready.
    pub fn start(&self, priority: Priority) -> Result<Running> {
        self.spawn(self.command(priority, None))
    }

    /// Starts it under callgrind.
    pub fn start_under_callgrind(&self, profile: &Path) -> Result<Running> {
        self.spawn(self.command(Priority::Normal, Some((profile, &[]))))
    }

    fn command(&self, priority: Priority, callgrind: Option<(&Path, &[&str])>) -> Command {
        let mut command = self.host.command("timeout");
        let limit_s = if callgrind.is_some() { VALGRIND_LIMIT_S } else { self.limit_s };
        command.args(["-k", "1", &limit_s.to_string()]);
        if priority == Priority::RealTime {
            command.args(["chrt", "-f", "50"]);
        }
        if let Some((profile, options)) = callgrind {
            command.args(["valgrind", "-q", "--tool=callgrind"]).args(options);
            command.arg(format!("--callgrind-out-file={}.%p", profile.display()));
        }
        command.arg(&self.program).args(&self.arguments).stdin(Stdio::null());
        command
    }

    fn printed(&self, output: std::io::Result<Output>) -> Result<String> {
        let output = output.with_context(|| format!("cannot run {self}"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let ended_well = output.status.success() || self.any_status && output.status.code() == Some(1);
        if !ended_well {
            let errors = String::from_utf8_lossy(&output.stderr);
            bail!("{self} ended with {}: {}", output.status, errors.lines().last().unwrap_or("it said nothing").trim());
        }
        Ok(text)
    }

    fn spawn(&self, mut command: Command) -> Result<Running> {
        let (reader, writer) = std::io::pipe()?;
        command.stdout(writer.try_clone()?).stderr(writer);
        let child = command.spawn().with_context(|| format!("cannot start {self}"))?;
        // The command holds the pipe's other end: without this its closing would never be seen.
        drop(command);
        let mut running = Running { child, said: BufReader::new(reader), first: String::new() };
        running.said.read_line(&mut running.first)?;
        if let Some(status) = running.child.try_wait()? {
            bail!("{self} ended with {status}: {}", running.first.trim());
        }
        Ok(running)
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.program.file_name().unwrap_or_default().to_string_lossy();
        write!(f, "`{name} {}`", self.arguments.join(" "))
    }
}

/// A program that runs beside; ended when it is dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    said: BufReader<PipeReader>,
    first: String,
}

impl Running {
    /// Its first line.
    pub fn first_line(&self) -> &str {
        self.first.trim()
    }

    /// Asks it to end by SIGTERM, which `timeout` hands on, waits until it has, and gives the rest of what it printed.
    pub fn end(self) -> Result<String> {
        self.end_by(Signal::Terminate)
    }

    /// The same by another signal.
    pub fn end_by(mut self, signal: Signal) -> Result<String> {
        self.stop(signal);
        let mut rest = String::new();
        self.said.read_to_string(&mut rest)?;
        Ok(rest)
    }

    fn stop(&mut self, signal: Signal) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // Should that fail, `timeout` ends it in its time.
            let _ = Command::new("kill").args([signal.option(), &self.child.id().to_string()]).status();
            let _ = self.child.wait();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop(Signal::Terminate);
    }
}

/// Waits as between two runs.
#[expect(clippy::disallowed_methods, reason = "the bench is no part of a measurement: it rests between two")]
pub fn rest() {
    std::thread::sleep(REST);
}
