//! One run of a study: a process of its own, with sockets and connections of its own, that hands back its record.
//!
//! A run that shares nothing with the one before it is what makes runs independent: new ports are a new flow for every hash
//! between the ends. The process is this very program, called through a command prefix; so what works here works where the
//! prefix leads to another host.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};

use endpoint::stop::Stop;
use logbook::failure::{Failure, Side};
use logbook::read::ReadError;
use logbook::record::Record;
use logbook::whole;
use measure::unit::Nanos;
use rustix::process::Signal;

use crate::child::{self, Manner};
use crate::own;
use crate::transport::ssh::quoted;

/// Longest wait for a run that was asked to end, before it is killed, and what it measured is lost. Where many more programs want to
/// run than there are processors, its sums alone take seconds.
pub(crate) const GRACE: Nanos = Nanos::secs(30);
/// A run that is asked to end tells what it measured until then. It alone is asked: what leads to it elsewhere passes that on, or
/// ends by it. One octet more than a record may have is kept, so that too much is seen.
const MANNER: Manner =
    Manner { ask: |ending| ending.signal(Signal::INT), grace: GRACE, kept: whole::RECORD as usize + 1 };

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
        match child::see_through(&mut self.command(words), Stdio::null(), &most.into(), MANNER, stop) {
            Ok(ran) => outcome(&ran.printed, &ran.said, ran.took().filter(|_| ran.killed).map(|_| most)),
            Err(error) => Run::Failed(failure(format!("cannot start a run: {error}"))),
        }
    }

    fn command(&self, words: &[String]) -> Command {
        let mut command = self.prefix.split_first().map_or_else(own::command, |(program, prefix)| {
            let mut command = Command::new(program);
            command.args(prefix);
            command
        });
        let words = words.iter().map(String::as_str).chain(["--json", "--quiet"]);
        let words: Vec<String> =
            if self.by_shell { words.map(quoted).collect() } else { words.map(str::to_owned).collect() };
        command.args(words);
        command
    }
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
