//! The flags, for people.

use std::fmt::Write;

use super::kind::{Fate, Flag, Kind};
use super::table::{GROUPS, Group};

const HEAD: &str = "\
usage: sonde pkb --benchmarks=NAMES [flags]
Network benchmarks by PerfKit Benchmarker's words: ping, netperf, iperf, mesh_network.
Flags are --name=value or --name value; a switch is --name or --noname.
A list takes commas. --flagfile=FILE reads flags, one a line.
";

const TAIL: &str = "
  --helpmatch=WORD  flags of a matter or a name, also those refused or without use here
  --helpfull        all of them
docs/pkb.md says what each benchmark measures by, and what differs.
";

/// Cells that a flag's form takes before its words stand in a line of their own.
const FORM: usize = 44;

/// The flags that do something here.
pub fn usage() -> String {
    let body: String = GROUPS.iter().map(|group| section(group, is_heeded)).collect();
    format!("{HEAD}{body}{TAIL}")
}

/// The first two groups.
pub fn short() -> String {
    let body: String = GROUPS.iter().take(2).map(|group| section(group, is_heeded)).collect();
    format!("{HEAD}{body}{TAIL}")
}

/// All.
pub fn full() -> String {
    let body: String = GROUPS.iter().map(|group| section(group, |_| true)).collect();
    format!("{HEAD}{body}")
}

/// Those whose name holds `word`, and those of groups whose title or module does; empty where there is none.
pub fn matching(word: &str) -> String {
    let of_one = |group: &Group| {
        let is_of_it = group.title.contains(word) || group.module.contains(word);
        if is_of_it && group.flags.is_empty() {
            return format!("\n{}: has no flags of its own\n", group.title);
        }
        section(group, |flag| is_of_it || flag.name.contains(word))
    };
    GROUPS.iter().map(of_one).collect()
}

fn is_heeded(flag: &Flag) -> bool {
    matches!(flag.fate, Fate::Heeded(_))
}

fn section(group: &Group, keep: impl Fn(&Flag) -> bool) -> String {
    let mut text = String::new();
    for flag in group.flags.iter().filter(|flag| keep(flag)) {
        if text.is_empty() {
            let _ = writeln!(text, "\n{}:", group.title);
        }
        let form = format!("  --{}{}", flag.name, takes(flag.kind));
        let words = match flag.fate {
            Fate::Heeded(help) => help.to_owned(),
            Fate::Idle(why) => format!("taken, and does nothing: {why}"),
            Fate::Refused { why, .. } => format!("refused: {why}"),
        };
        let _ = if form.len() < FORM {
            writeln!(text, "{form:<FORM$}{words}")
        } else {
            writeln!(text, "{form}\n{:FORM$}{words}", "")
        };
    }
    text
}

fn takes(kind: Kind) -> &'static str {
    match kind {
        Kind::Switch => "",
        Kind::Integer(..) | Kind::Number | Kind::Numbers => "=NUMBER",
        Kind::Text | Kind::Texts => "=TEXT",
        Kind::List => "=WORDS",
        Kind::Integers => "=NUMBERS",
        Kind::Choice(_) => "=WORD",
    }
}
