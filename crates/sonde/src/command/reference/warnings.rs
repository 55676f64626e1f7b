//! `docs/warnings.md`: each kind of warning, what it says, when it is raised and what to try, from its definition.

use std::collections::BTreeSet;
use std::fmt::Write;

use measure::verdict::order::Group;
use report::words::command::Command;
use report::words::warning::example::{Example, examples};
use report::words::warning::{self, advice, raised_when, seen};

const HEAD: &str = "\
# Warnings
<!-- Made by `sonde reference` from the definitions of the warnings: change those. -->

What sonde says beside its numbers where a method is wrong for the question, or a number cannot be taken as it stands. Each warning
has a `kind`, which the record keeps in `warnings` with the figures it rests on, a line that says what was seen, and behind `→` what to try.

- A warning is raised by what the record holds, by the thresholds below, and by nothing else: `sonde show` tells the same again. What
  could not be read raises nothing.
- Each thing is told once: of two warnings that say the same, the one that says why stays (*left out beside*).
- What weighs most stands first, in the order of this page. On the screen three stand with what to try, and a line says how
  many more there are; `-v` and the record have all of them.
- No warning changes a number or the exit status; `--strict` does, where a rate was not achieved, a request got no reply, or `--until` was not reached.
- What to try names options of sonde's own commands. Of a record that `sonde ping`, `sonde netperf` or another stand-in has written, it
  is that of the command which asks the same question.
- No warning is no certificate: what is not on this page was not looked for.
";

const TAIL: &str = "
## Not told, and why

| | |
|---|---|
| another frequency governor at each end | each end's is told where it slows down; that they differ adds nothing |
| timer slack | the measuring threads ask for none; what is left shows as the slip of the schedule, and is told by it |
| one host behind two network namespaces or two guests | nothing that a program may read tells them from two machines |
| delayed acknowledgements at the peer | no time is taken from an acknowledgement, but for those TCP tells of itself, which say so |
| a TCP message of several segments | its size stands in the method, and TCP sends again what is lost of it: no more is wrong with it |
| interrupts that a card holds back | `rx_usecs` says how long at most, not how long they were; [facts.md](facts.md) has where it stands |
| a run that is one of one | how far runs differ shows in several runs alone, and no single record knows |
";

/// The page.
pub fn page() -> String {
    let all = examples();
    let mut text = HEAD.to_owned();
    for group in Group::ALL {
        let _ = write!(text, "\n## {}\n", warning::title(group));
        let mut told = BTreeSet::new();
        for example in all.iter().filter(|example| example.warning.group() == group) {
            let kind = example.warning.kind();
            if told.insert(kind) {
                let alike: Vec<&Example> = all.iter().filter(|other| other.warning.kind() == kind).collect();
                write_kind(&mut text, kind, &alike);
            }
        }
    }
    text + TAIL
}

fn write_kind(text: &mut String, kind: &str, examples: &[&Example]) {
    let [first, ..] = examples else { return };
    let commands: BTreeSet<Command> = examples.iter().flat_map(|example| example.commands.iter().copied()).collect();
    let of = if commands.len() == Command::ALL.len() { "all".to_owned() } else { names(commands) };
    let _ = write!(text, "\n### `{kind}`\n\n{}\n", raised_when(&first.warning));
    let _ = writeln!(text, "Commands: {of}.");
    let beside = first.warning.gives_way_to();
    if !beside.is_empty() {
        let beside: Vec<String> = beside.iter().map(|kind| format!("`{kind}`")).collect();
        let _ = writeln!(text, "Left out beside {}.", beside.join(" and "));
    }
    for (seen, advised) in grouped(examples) {
        let _ = write!(text, "\n> {}\n", seen.join("\\\n> "));
        for (advice, commands) in &advised {
            // Where it is the same for all, whose it is goes without saying.
            let of = if advised.len() == 1 { String::new() } else { format!(" ({})", names(commands.iter().copied())) };
            let _ = write!(text, ">\n> → {advice}{of}\n");
        }
    }
}

type Advised = Vec<(String, BTreeSet<Command>)>;

/// The texts of the examples, those together that have the same action.
fn grouped(examples: &[&Example]) -> Vec<(Vec<String>, Advised)> {
    let mut groups: Vec<(Vec<String>, Advised)> = Vec::new();
    for example in examples {
        let mut advised: Advised = Vec::new();
        for command in example.commands {
            let Some(advice) = advice(&example.warning, *command) else { continue };
            match advised.iter_mut().find(|(there, _)| *there == advice) {
                Some((_, commands)) => _ = commands.insert(*command),
                None => advised.push((advice, BTreeSet::from([*command]))),
            }
        }
        let seen = seen(&example.warning);
        match groups.iter_mut().find(|(_, there)| *there == advised) {
            Some((all, _)) if !all.contains(&seen) => all.push(seen),
            Some(_) => {}
            None => match groups.iter_mut().find(|(all, _)| *all == [seen.clone()]) {
                Some((_, there)) => merge(there, advised),
                None => groups.push((vec![seen], advised)),
            },
        }
    }
    groups
}

/// Adds what else is advised against what was seen likewise.
fn merge(there: &mut Advised, further: Advised) {
    for (advice, commands) in further {
        match there.iter_mut().find(|(known, _)| *known == advice) {
            Some((_, known)) => known.extend(commands),
            None => there.push((advice, commands)),
        }
    }
}

fn names(commands: impl IntoIterator<Item = Command>) -> String {
    commands.into_iter().map(|command| format!("`{command}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::definition;

    /// Text between backticks is of another program.
    fn own_words(advice: &str) -> String {
        advice.split('`').step_by(2).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn no_advice_names_an_option_that_the_command_does_not_have() {
        let mut whole = definition();
        whole.build();
        let has = |command: Command, option: &str| {
            let command = whole.find_subcommand(command.name()).unwrap();
            command.get_arguments().any(|argument| argument.get_long().is_some_and(|long| long == option))
        };
        let mut absent = Vec::new();
        for Example { warning, commands } in examples() {
            for command in commands {
                let advice = own_words(&advice(&warning, *command).unwrap_or_default());
                let words = advice.split(|c: char| c.is_whitespace() || ",;:()".contains(c));
                let options = words.filter_map(|word| word.strip_prefix("--"));
                let missing = options.filter(|option| !has(*command, option));
                absent.extend(missing.map(|option| format!("{}: --{option} of {command}", warning.kind())));
            }
        }
        assert_eq!(absent, [] as [String; 0]);
    }

    #[test]
    fn each_kind_stands_on_the_page_once_and_no_line_of_it_is_empty() {
        let page = page();
        for example in examples() {
            let heading = format!("\n### `{}`\n", example.warning.kind());
            assert_eq!(page.matches(&heading).count(), 1, "{heading}");
            assert!(page.contains(&seen(&example.warning)), "{:?}", example.warning);
        }
        assert!(!page.contains("> \n") && !page.contains("()"), "{page}");
    }
}
