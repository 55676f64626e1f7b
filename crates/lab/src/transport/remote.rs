//! Putting the program where a shell is: by its checksum, into a cache of the user there, whole or not at all.
//!
//! A file there under the program's name that is something else, being old or damaged, is replaced. The shell there is asked
//! in words that every POSIX shell understands; its answers are lines of a mark of their own, for a login may print whatever
//! it likes.

mod script;

use std::fs::File;
use std::process::{Command, Stdio};

use endpoint::clock::Monotonic;
use endpoint::stop::Stop;
use logbook::failure::{Failure, Side};
use measure::unit::Nanos;

use crate::child::{self, Finished, Patience, Unfinished};
use crate::transport::packed::Form;
use crate::transport::{Pause, Program, pod};

/// Digits of the checksum that the folder in the cache is named by.
const DIGITS: usize = 16;
/// SHA-256 of nothing: who tells that one can tell others.
const OF_NOTHING: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// A way on which a shell can be asked.
pub(super) trait Remote {
    /// The host as errors name it.
    fn whom(&self) -> &str;

    /// A command that has a POSIX shell run `script` there, with these for `$1` and on.
    fn shell(&self, script: &str, arguments: &[&str], patience: Nanos) -> Command;

    /// Reason for which the way itself failed; `None`: it did not, and it was the shell there that ended.
    fn fault(&self, finished: &Finished) -> Option<Fault>;

    /// The program that leads there, and the package it comes in.
    fn program(&self) -> (&'static str, &'static str);
}

/// Reason for which something failed, with the next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// The failure.
    pub(super) what: String,
    /// Side of the cause.
    pub(super) side: Option<Side>,
    /// Next step for the reader.
    pub(super) hint: String,
    /// True where it may be gone when it is tried again.
    pub(super) passing: bool,
}

impl Fault {
    pub(super) fn new(what: impl Into<String>, side: impl Into<Option<Side>>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), side: side.into(), hint: hint.into(), passing: false }
    }

    /// The same, which may be gone when it is tried again.
    pub(super) fn passing(self) -> Self {
        Self { passing: true, ..self }
    }

    /// As the failure of `step` towards `whom`.
    pub(super) fn of(self, whom: &str, step: &str) -> Failure {
        Failure {
            what: format!("{whom}: cannot {step}: {}", self.what),
            to_whom: Some(whom.to_owned()),
            side: self.side,
            hint: Some(self.hint),
            partial: None,
        }
    }
}

/// A program that lies on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Put {
    /// The name by which it is called there.
    pub(super) file: String,
    /// The digits that name its folder.
    pub(super) short: String,
}

/// Puts `program` there, the one for the host's machine, unless it is there. What may pass, as a connection that was cut or a file that
/// another run took away in this moment, is tried again for `patience`. What is asked there is waited for as long as something comes of it: it may
/// be silent for `patience`.
pub(super) fn put(way: &dyn Remote, program: &Program, patience: Nanos, stop: &Stop) -> Result<Put, Failure> {
    let due = Monotonic::now().after(patience);
    let (mut tries, mut pause) = (1, Pause::default());
    loop {
        let (step, mut fault) = match try_to_put(way, program, patience, stop) {
            Ok(put) => return Ok(put),
            Err(missed) => missed,
        };
        let due = due.after(program.packing());
        if !fault.passing || !pause.rest(due, stop) {
            if tries > 1 {
                fault.what = format!("{} (try {tries} within {patience})", fault.what);
            }
            return Err(fault.of(way.whom(), step));
        }
        tries += 1;
    }
}

fn try_to_put(way: &dyn Remote, program: &Program, patience: Nanos, stop: &Stop) -> Result<Put, (&'static str, Fault)> {
    const LOOK: &str = "look for the program there";
    const UPLOAD: &str = "put the program there";
    const RUN: &str = "run the program there";
    let Some(short) = program.sha256.get(..DIGITS) else {
        return Err((LOOK, Fault::new("its checksum is none", Side::Ours, "this is a defect: please report it")));
    };
    let arguments = [short, &program.sha256];
    let finished = ask(way, &script::look(), &arguments, None, patience, stop).map_err(|fault| (LOOK, fault))?;
    let seen = Seen::of(&finished.printed);
    let file = seen.file.clone().ok_or_else(|| (LOOK, no_answer(&finished)))?;
    if let Some(other) = seen.other(program) {
        return try_to_put(way, other, patience, stop);
    }
    if let Some(fault) = seen.unfit(program.machine()) {
        return Err((LOOK, fault));
    }
    let put = Put { file, short: short.to_owned() };
    if seen.sum.as_deref() == Some(&*program.sha256) {
        return seen.runs(&finished).map_or(Ok(put), |fault| Err((RUN, fault)));
    }
    let input = program.input(seen.form).map_err(|error| {
        let what = format!("no memory for what is sent: {error}");
        (UPLOAD, Fault::new(what, Side::Ours, "end what takes the memory of this machine"))
    })?;
    let arguments = [short, &program.sha256, seen.form.word()];
    let finished =
        ask(way, &script::put(), &arguments, Some(input), patience, stop).map_err(|fault| (UPLOAD, fault))?;
    let seen = Seen::of(&finished.printed);
    if let Some(fault) = seen.not_put(&finished) {
        return Err((UPLOAD, fault));
    }
    seen.runs(&finished).map_or(Ok(put), |fault| Err((RUN, fault)))
}

/// Takes away what [`put`] put there. No program of ours is there any more when this returns well.
pub(super) fn clean(way: &dyn Remote, short: &str, patience: Nanos, stop: &Stop) -> Result<(), Failure> {
    let fail = |fault: Fault| fault.of(way.whom(), "take the program away");
    let finished = ask(way, &script::clean(), &[short], None, patience, stop).map_err(fail)?;
    if finished.status.success() {
        return Ok(());
    }
    let hint = format!("remove ~/.cache/sonde/{short} there by hand");
    Err(fail(Fault::new(words_of(&finished), Side::Theirs, hint)))
}

fn ask(
    way: &dyn Remote,
    script: &str,
    arguments: &[&str],
    input: Option<File>,
    patience: Nanos,
    stop: &Stop,
) -> Result<Finished, Fault> {
    let watched = input.as_ref().and_then(|input| input.try_clone().ok());
    let input = input.map_or_else(Stdio::null, Stdio::from);
    let within = Patience::of_silence(patience, watched);
    let finished = child::run(&mut way.shell(script, arguments, patience), input, within, stop);
    let (program, package) = way.program();
    let fault = match finished {
        Ok(finished) => match way.fault(&finished) {
            None => return Ok(finished),
            Some(fault) => fault,
        },
        Err(Unfinished::NotStarted(error)) => Fault::new(
            format!("`{program}` does not start: {error}"),
            Side::Ours,
            format!("install {package}, or look at what stands in front of `{program}`"),
        ),
        Err(Unfinished::TooLong(said, took)) => {
            let said = child::last_line(&said).map_or_else(String::new, |line| format!("; the last it said: {line}"));
            Fault::new(
                format!("{took}, so it was given up{said}"),
                None,
                format!("try the same by hand, with `{program}`, and see where it hangs"),
            )
        }
        Err(Unfinished::Stopped) => Fault::new("it was asked to stop", Side::Ours, "start it again"),
    };
    Err(fault)
}

/// Answers of a script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Seen {
    machine: Option<String>,
    file: Option<String>,
    check: Option<String>,
    sum: Option<String>,
    ran: Option<i32>,
    failed: Option<String>,
    put: bool,
    /// The form in which the octets may be sent.
    form: Form,
    /// It lies there no more: another run took it away.
    vanished: bool,
}

impl Seen {
    /// Reads the lines of the mark; a later one stands.
    fn of(printed: &str) -> Self {
        let mut seen = Self::default();
        for line in printed.lines().filter_map(|line| line.strip_prefix(script::MARK)) {
            let (name, value) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
            let text = || Some(value.to_owned()).filter(|value| !value.is_empty());
            match name {
                "machine" => seen.machine = text(),
                "file" => seen.file = text(),
                "check" => seen.check = first_word(value),
                "sum" => seen.sum = first_word(value),
                "ran" => seen.ran = value.parse().ok(),
                "failed" => seen.failed = text(),
                "put" => seen.put = true,
                "gzip" => seen.form = Form::Gzip,
                "xz" => seen.form = Form::Xz,
                "vanished" => seen.vanished = true,
                _ => {}
            }
        }
        seen
    }

    /// The program for the host's machine, where `program` is not that one.
    fn other<'a>(&self, program: &'a Program) -> Option<&'a Program> {
        let theirs = self.machine.as_deref().filter(|theirs| *theirs != program.machine())?;
        program.for_machine(theirs)
    }

    /// Reason for which no program can be put there, before one is.
    fn unfit(&self, ours: &str) -> Option<Fault> {
        if let Some(theirs) = self.machine.as_deref().filter(|theirs| *theirs != ours) {
            return Some(Fault::new(
                format!("this program is for {ours}, and the host is {theirs}"),
                Side::Ours,
                "give the program for that machine too (--program FILE), or leave the host out",
            ));
        }
        if self.check.as_deref() != Some(OF_NOTHING) {
            return Some(Fault::new(
                "nothing there tells a SHA-256, so what lies there cannot be checked",
                Side::Theirs,
                "install sha256sum there (coreutils or busybox)",
            ));
        }
        None
    }

    /// Reason for which it was not put there; `None`: it was.
    fn not_put(&self, finished: &Finished) -> Option<Fault> {
        if self.put {
            return None;
        }
        let said = words_of(finished);
        let full = ["No space left", "quota exceeded", "not enough space"];
        let Some(failed) = &self.failed else { return Some(no_answer(finished)) };
        if full.iter().any(|words| finished.said.contains(words)) {
            return Some(Fault::new(
                format!("the disk of its cache folder is full: {said}"),
                Side::Theirs,
                "make room there, or let XDG_CACHE_HOME of that login name a folder with room",
            ));
        }
        // As shells tell of a folder that was taken away since it was made.
        let vanished = ["No such file", "nonexistent"].iter().any(|words| finished.said.contains(words));
        if vanished && failed != "folder" {
            return Some(Fault::new(said, Side::Theirs, "another run cleans up there: try again").passing());
        }
        Some(match failed.as_str() {
            "folder" => Fault::new(
                format!("its cache folder cannot be made: {said}"),
                Side::Theirs,
                "let HOME or XDG_CACHE_HOME of that login name a folder that it may write to",
            ),
            "sum" => Fault::new(
                "what arrived is not what was sent",
                Side::Path,
                "try again; where it stays so, something on the way changes data",
            ),
            _ => Fault::new(said, Side::Theirs, "look at the cache folder there: ~/.cache/sonde"),
        })
    }

    /// Reason for which the program there does not run; `None`: it does.
    fn runs(&self, finished: &Finished) -> Option<Fault> {
        if self.vanished {
            let what = "it was taken away in this moment";
            return Some(Fault::new(what, Side::Theirs, "another run cleans up there: try again").passing());
        }
        match self.ran {
            Some(0) => None,
            Some(126) => Some(Fault::new(
                format!("it may not be run from its cache folder: {}", words_of(finished)),
                Side::Theirs,
                "that file system is mounted noexec: let XDG_CACHE_HOME of that login name a folder on another",
            )),
            Some(127) => Some(Fault::new(
                format!("what it needs is not there: {}", words_of(finished)),
                Side::Theirs,
                "use the static build, which needs no libraries of the host",
            )),
            Some(status) => Some(Fault::new(
                format!("it ended with status {status}: {}", words_of(finished)),
                Side::Theirs,
                "start it there by hand: ~/.cache/sonde/…/sonde --version",
            )),
            None => Some(no_answer(finished)),
        }
    }
}

fn first_word(text: &str) -> Option<String> {
    text.split_whitespace().next().map(str::to_owned)
}

/// The last thing it said, or that it said nothing.
pub(super) fn words_of(finished: &Finished) -> String {
    let lines = finished.said.lines().rev().map(str::trim);
    let last = lines.filter(|line| !line.starts_with(pod::ENDED)).find(|line| !line.is_empty());
    last.map_or_else(|| format!("it says nothing ({})", finished.status), str::to_owned)
}

fn no_answer(finished: &Finished) -> Fault {
    let printed = child::last_line(&finished.printed).map_or_else(String::new, |line| format!("; it printed: {line}"));
    Fault::new(
        format!("no POSIX shell answered: {}{printed}", words_of(finished)),
        Side::Theirs,
        "the login there must let commands run by `sh`",
    )
}

#[cfg(test)]
mod tests;
