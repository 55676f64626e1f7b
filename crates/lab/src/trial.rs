//! One run of a study: a process of its own, with sockets and connections of its own, that hands back its record.
//!
//! A run that shares nothing with the one before it is what makes runs independent: new ports are a new flow for every hash
//! between the ends. The process is this very program, called through a command prefix; so what works here works where the
//! prefix leads to another host.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use endpoint::clock::Monotonic;
use endpoint::pace;
use endpoint::stop::Stop;
use logbook::failure::{Failure, Side};
use logbook::read::ReadError;
use logbook::record::Record;
use logbook::whole;
use measure::unit::Nanos;
use rustix::process::{Pid, Signal, kill_process};

use crate::own;
use crate::transport::ssh::quoted;

/// Time between two looks at a run while it goes on.
const LOOK: Nanos = Nanos::millis(10);
/// Longest wait for a run that was asked to end, before it is killed, and what it measured is lost. Where many more programs want to
/// run than there are processors, its sums alone take seconds.
pub(crate) const GRACE: Nanos = Nanos::secs(30);

/// Program that makes the runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runner {
    /// The words in front of the measuring command, which lead to the program elsewhere; none: this very program.
    pub prefix: Vec<OsString>,
    /// True where a shell elsewhere reads the words behind the prefix, as behind `ssh HOST`.
    pub by_shell: bool,
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Run {
    /// It measured.
    Measured(Box<Record>),
    /// It could not, and says why.
    Failed(Failure),
}

impl Runner {
    /// Runs of this very program on this host.
    pub fn here() -> Self {
        Self::default()
    }

    /// Runs of the program that `prefix` leads to; behind `ssh` each word is quoted for the shell there.
    pub fn by(prefix: Vec<String>) -> Self {
        let program = prefix.first().and_then(|program| Path::new(program).file_name());
        let by_shell = program == Some(OsStr::new("ssh"));
        Self { prefix: prefix.into_iter().map(OsString::from).collect(), by_shell }
    }

    /// Runs by the `sonde` of `host`, a destination of ssh, which asks nothing at the terminal.
    pub fn over_ssh(host: &str) -> Self {
        Self::by(["ssh", "-o", "BatchMode=yes", "--", host, own::NAME].map(str::to_owned).to_vec())
    }

    /// Makes one run of `words` (a measuring command and its options) and waits for it, at most for `most`; `stop` has it end
    /// early, with what it measured until then.
    pub fn run(&self, words: &[String], most: Nanos, stop: &Stop) -> Run {
        match self.spawn(words) {
            Ok(child) => conclude(child, most, stop),
            Err(error) => Run::Failed(failure(format!("cannot start a run: {error}"))),
        }
    }

    fn spawn(&self, words: &[String]) -> io::Result<Child> {
        let mut command = self.prefix.split_first().map_or_else(own::command, |(program, prefix)| {
            let mut command = Command::new(program);
            command.args(prefix);
            command
        });
        let words = words.iter().map(String::as_str).chain(["--json", "--quiet"]);
        let words: Vec<String> =
            if self.by_shell { words.map(quoted).collect() } else { words.map(str::to_owned).collect() };
        command
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C at a terminal goes to the whole group: whether a run ends by it is for the study to say.
            .process_group(0)
            .spawn()
    }
}

/// Waits for the end of a run and reads what it printed.
fn conclude(mut child: Child, most: Nanos, stop: &Stop) -> Run {
    let printed = child.stdout.take().map(read_apart);
    let said = child.stderr.take().map(read_apart);
    let overdue = wait(&mut child, most, stop);
    let text =
        |reader: Option<thread::JoinHandle<String>>| reader.and_then(|reader| reader.join().ok()).unwrap_or_default();
    outcome(&text(printed), &text(said), overdue.then_some(most))
}

/// Result of a measuring command with this output and these errors; `overdue`, where it had to be killed after that time.
pub(crate) fn outcome(printed: &str, said: &str, overdue: Option<Nanos>) -> Run {
    if let Err(error) = whole::check(printed.len() as u64, whole::RECORD) {
        return Run::Failed(failure(format!("the run told too much: {error}")));
    }
    match (Record::read(printed), overdue) {
        (Ok(record), _) => Run::Measured(Box::new(record)),
        (Err(ReadError::Failure(document)), _) => Run::Failed(document.error),
        (Err(_), Some(most)) => Run::Failed(failure(format!("the run did not end within {most}, and was killed"))),
        (Err(error), None) => {
            let last = said.lines().rev().find(|line| !line.trim().is_empty()).map(str::to_owned);
            Run::Failed(failure(last.unwrap_or_else(|| format!("the run told nothing: {error}"))))
        }
    }
}

/// All that comes of a pipe, by a thread of its own, so that neither pipe can fill while the other is read.
fn read_apart(pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // Octets read before an error are all there are; an endless stream is read to its end, and not kept.
        let mut pipe = pipe;
        let _ = pipe.by_ref().take(whole::RECORD + 1).read_to_end(&mut bytes);
        let _ = io::copy(&mut pipe, &mut io::sink());
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits until the run has ended. `true`: it had to be killed, for it took too long.
fn wait(child: &mut Child, most: Nanos, stop: &Stop) -> bool {
    let started = Monotonic::now();
    let mut asked_at = None;
    loop {
        match child.try_wait() {
            Ok(None) => {}
            Ok(Some(_)) | Err(_) => return false,
        }
        let now = Monotonic::now();
        let overdue = now.since(started) > Some(most);
        if (stop.requested() || overdue) && asked_at.is_none() {
            signal(child, Signal::INT);
            asked_at = Some(now);
        }
        if asked_at.is_some_and(|asked| now.since(asked) > Some(GRACE)) {
            // It may have ended in this very moment; then there is nobody to kill.
            let _ = child.kill();
            let _ = child.wait();
            return overdue;
        }
        pace::sleep_until(now.after(LOOK));
    }
}

/// Sends it `signal`. A child that has not been waited for keeps its number, so that nobody else can be meant.
fn signal(child: &Child, signal: Signal) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

fn failure(what: String) -> Failure {
    Failure { what, to_whom: None, side: Some(Side::Ours), hint: None, partial: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Runner {
        // The words behind the script are its arguments, which it need not look at.
        Runner::by(["sh", "-c", script, "run"].map(str::to_owned).to_vec())
    }

    fn failed(run: Run) -> String {
        match run {
            Run::Failed(failure) => failure.what,
            Run::Measured(_) => panic!("there was nothing to measure with"),
        }
    }

    #[test]
    fn the_last_words_of_a_run_without_a_document_are_told() {
        let run = shell("echo nonsense; echo first >&2; echo 'error: last' >&2; exit 3").run(
            &[],
            Nanos::secs(60),
            &Stop::default(),
        );
        assert_eq!(failed(run), "error: last");
        let run = shell("exit 0").run(&[], Nanos::secs(60), &Stop::default());
        assert!(failed(run).starts_with("the run told nothing"));
    }

    #[test]
    fn an_error_document_is_the_runs_own_word() {
        let document = r#"{"format":"sonde-error","version":1,"error":{"what":"nobody there","to_whom":null,"side":"theirs","hint":null}}"#;
        let run = shell(&format!("echo '{document}'; exit 1")).run(&[], Nanos::secs(60), &Stop::default());
        assert_eq!(failed(run), "nobody there");
    }

    #[test]
    fn a_run_that_hangs_is_ended() {
        let run = shell("exec sleep 600").run(&[], Nanos::millis(50), &Stop::default());
        // SIGINT ends it, and it tells nothing; where whoever started the tests has SIGINT ignored, as a shell does for what
        // runs behind its back, it takes a harder hand.
        let told = failed(run);
        assert!(told.starts_with("the run told nothing") || told.ends_with("and was killed"), "{told}");
        let stop = Stop::default();
        stop.request();
        failed(shell("exec sleep 600").run(&[], Nanos::secs(600), &stop));
    }

    #[test]
    fn a_shell_elsewhere_reads_each_word_as_one() {
        let folder = tempfile::tempdir().unwrap();
        let ssh = folder.path().join("ssh");
        // As the real one: its words behind the host are put together, and a shell reads them.
        std::fs::write(&ssh, "#!/bin/sh\nshift\nexec sh -c \"$*\"\n").unwrap();
        std::fs::set_permissions(&ssh, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let prefix = [ssh.to_str().unwrap(), "db1", "printf '%s|' >&2"].map(str::to_owned).to_vec();
        let words = ["rtt", "http://db1/?a=1&b=$(id)", "it's"].map(str::to_owned);
        let told = failed(Runner::by(prefix).run(&words, Nanos::secs(60), &Stop::default()));
        assert_eq!(told, "rtt|http://db1/?a=1&b=$(id)|it's|--json|--quiet|");
    }

    #[test]
    fn a_program_that_is_not_there_is_said() {
        let runner = Runner::by(vec!["/nowhere/sonde".to_owned()]);
        assert!(failed(runner.run(&[], Nanos::secs(1), &Stop::default())).starts_with("cannot start a run"));
    }
}
