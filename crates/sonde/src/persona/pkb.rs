//! PerfKit Benchmarker's words for networks: its flags become plans of ours, and what was found becomes its samples.
//!
//! Words become [`flags::Flags`], these a [`job::Session`] of plans, each with the samples that are [`ask`]ed for: pure functions all.
//! The execution of a plan and the writing of samples are behind [`carry_out`].

pub mod ask;
pub mod benchmark;
pub mod carry_out;
pub mod config;
pub mod ending;
pub mod flags;
pub mod folder;
pub mod here;
pub mod job;
pub mod output;
pub mod provision;
pub mod run;
pub mod samples;
pub mod stages;
pub mod static_file;

use anstream::ColorChoice;
use uuid::Uuid;

use crate::exit::Exit;
use crate::persona::answer::Answer;
use crate::persona::call::{Call, Persona};
use crate::persona::pkb::flags::{Flags, complain, help};
use crate::persona::pkb::here::Here;
use crate::persona::pkb::job::Given;
use crate::system::variable;

/// Largest file of flags, settings or hosts, bytes.
const LARGEST_FILE: u64 = 4 << 20;

/// pkb.
pub static PERSONA: Persona = Persona {
    name: "pkb",
    alias: Some("pkb.py"),
    about: "PerfKit Benchmarker-compatible network benchmarks: same flags and samples; see `sonde pkb --help`",
    help: || format!("{EXAMPLES}\n{}", help::usage()),
    colours: ColorChoice::Never,
    linked: true,
    play,
};

const EXAMPLES: &str = "\
Examples:
  sonde pkb --benchmarks=ping --cloud=GCP --zone=us-east1-c --dry_run
  sonde pkb --benchmarks=netperf --static_vm_file=hosts.json --netperf_benchmarks=TCP_RR,UDP_RR
  sonde pkb --benchmarks=ping,iperf --cloud=AWS --zone=us-east-1a --zone=eu-west-1a --ip_addresses=BOTH
  sonde pkb --helpmatch=netperf                          flags of one matter, those refused among them
  sonde install-names ~/bin                              from then on as pkb

docs/pkb.md says what each benchmark measures by, and what differs.
";

/// Reads the words, and runs the benchmarks they name.
fn play(call: &Call<'_>) -> Result<Exit, Answer> {
    let flags = Flags::parse(call.words, &read)?;
    if let Some(answer) = asked_for_words(&flags) {
        return Err(answer);
    }
    let session = job::session(&flags, &given(), &read)?;
    run::run(&session, &flags, &call.command(), &Here::new(call.output), call.output)
}

/// Help and version.
fn asked_for_words(flags: &Flags) -> Option<Answer> {
    if let Some(word) = flags.text("helpmatch") {
        let text = help::matching(word);
        if text.is_empty() {
            // PKB says nothing then, and calls it well done.
            let none = complain(&format!("--helpmatch={word}: no flag and no group of flags has this word"));
            return Some(Answer { status: 0, ..none });
        }
        return Some(Answer::said(text, 0));
    }
    let on = |name: &str| flags.switch(name, false);
    let text = if on("version") {
        format!("{}\n", crate::program::PROGRAM)
    } else if on("helpfull") {
        help::full()
    } else if on("help") {
        help::usage()
    } else if on("helpshort") {
        help::short()
    } else {
        return None;
    };
    Some(Answer::said(text, 0))
}

/// A file's text, of a bounded length.
fn read(path: &str) -> Result<String, String> {
    let about = std::fs::metadata(path).map_err(|error| format!("cannot read it: {error}"))?;
    if !about.is_file() {
        return Err("is no file".to_owned());
    }
    if about.len() > LARGEST_FILE {
        return Err(format!("has {} bytes, and {LARGEST_FILE} are the most", about.len()));
    }
    std::fs::read_to_string(path).map_err(|error| format!("cannot read it: {error}"))
}

/// Values that flags leave open: a name that was drawn, and the user's.
fn given() -> Given {
    let drawn = Uuid::now_v7().simple().to_string();
    // The last digits of such a name are random, the first are the time.
    let run_uri = drawn[drawn.len() - 8..].to_owned();
    Given { run_uri, owner: user() }
}

/// User who runs this, as PKB finds it: the environment says, or else the machine's list of users.
fn user() -> String {
    let said = ["LOGNAME", "USER", "LNAME", "USERNAME"].into_iter().find_map(variable);
    let listed = || {
        let users = std::fs::read_to_string("/etc/passwd").ok()?;
        name_in(&users, rustix::process::getuid().as_raw()).map(str::to_owned)
    };
    said.or_else(listed).unwrap_or_else(|| "nobody".to_owned())
}

/// The name of the user with this number, in a list of lines `name:x:number:…`.
fn name_in(users: &str, number: u32) -> Option<&str> {
    let named = |line| {
        let mut fields = str::split(line, ':');
        let (name, own) = (fields.next()?, fields.nth(1)?);
        (own.parse() == Ok(number)).then_some(name)
    };
    users.lines().find_map(named).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_have_names() {
        let users = "root:x:0:0:root:/:/bin/bash\nbroken\nann:x:1000:1000::/srv/ann:/bin/sh\n";
        assert_eq!((name_in(users, 0), name_in(users, 1_000), name_in(users, 7)), (Some("root"), Some("ann"), None));
    }
}
