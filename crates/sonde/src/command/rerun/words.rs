//! The words that make a record's measurement again: those of its own command, without what says how it was told.

use std::ffi::OsString;
use std::path::Path;

use logbook::record::Record;

use crate::command::argv::first_word;
use crate::command::study::words::{Said, Table, Words};
use crate::failure::Failure;

/// Options that say how a measurement is told, not how it is made.
const OF_TELLING: [&str; 12] = [
    "--json",
    "--json-lines",
    "--export",
    "--output",
    "--samples",
    "--histograms",
    "--write-out",
    "--verify-pcap",
    "--quiet",
    "--verbose",
    "--color",
    "--strict",
];
/// Commands whose records can be made again.
const COMMANDS: [&str; 4] = ["rtt", "load", "throughput", "syn"];

/// The way to repeat what is not repeated here.
const BY_HAND: &str = "call that command again, and compare the two records: sonde compare OLD.json NEW.json";

/// Tells whether a command line is one of another program's form.
pub type IsForeign = fn(&[OsString]) -> bool;

/// The words that all these records, each with its name, were made by.
///
/// # Errors
/// A record of another program's form or of a command that cannot be repeated, records of several commands, and a key that is missing.
pub fn of_all(records: &[(String, Record)], is_foreign: IsForeign, key: Option<&Path>) -> Result<Words, Failure> {
    let Some(((name, record), others)) = records.split_first() else {
        return Err(Failure::usage("no record to make again"));
    };
    let words = of(name, record, is_foreign, key)?;
    for (name, record) in others {
        let other = of(name, record, is_foreign, key)?;
        if other != words {
            let what = format!("{name}: was made by `{other}`, and the first record by `{words}`");
            return Err(Failure::usage(what).hint("make again records of one command").about(name));
        }
    }
    Ok(words)
}

/// The words that one record was made by.
fn of(name: &str, record: &Record, is_foreign: IsForeign, key: Option<&Path>) -> Result<Words, Failure> {
    let refused = |what: &str, hint: &str| Failure::usage(format!("{name}: {what}")).hint(hint).about(name);
    let argv: Vec<OsString> = record.head.command.iter().map(OsString::from).collect();
    if record.head.tool.name != env!("CARGO_PKG_NAME") || argv.len() < 2 {
        return Err(refused(
            "does not say by which command of sonde it was made",
            "measure with `sonde rtt -o FILE.json`, whose record can be made again",
        ));
    }
    if is_foreign(&argv) {
        let command = argv.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let what = format!("was made by `{command}`, in another program's form");
        return Err(refused(&what, BY_HAND));
    }
    let command = first_word(&argv).and_then(|at| Some((at, argv[at].to_str()?)));
    let Some((at, command)) = command.filter(|(_, command)| COMMANDS.contains(command)) else {
        let said = command.map_or("no command", |(_, command)| command);
        let what = format!("was made by `sonde {said}`; what can be made again is {}", COMMANDS.join(", "));
        return Err(refused(&what, BY_HAND));
    };
    let told = without_telling(command, &record.head.command[at + 1..]);
    let mut words = Words::of(&[vec![command.to_owned()], told].concat()).map_err(|failure| Failure {
        told: logbook::failure::Failure {
            what: format!("{name}: its command cannot be made again: {}", failure.told.what),
            to_whom: Some(name.to_owned()),
            hint: failure.told.hint.clone().or_else(|| Some(BY_HAND.to_owned())),
            ..failure.told
        },
        ..failure
    })?;
    let known = |option: &str| words.options.iter().any(|said| said.name == option);
    if record.peer.authentication.is_some() && !known("--key") {
        let Some(key) = key else {
            return Err(refused(
                "was measured with a key, which no record holds",
                "--key FILE, or SONDE_KEY_FILE in the environment",
            ));
        };
        words.options.push(Said { name: "--key".to_owned(), value: Some(key.display().to_string()) });
    }
    Ok(words)
}

/// The words behind a command's name without those that say how it is told.
fn without_telling(command: &str, words: &[String]) -> Vec<String> {
    let table = Table::of(command);
    let (mut kept, mut words) = (Vec::new(), words.iter());
    while let Some(word) = words.next() {
        let named = if word.starts_with('-') { table.named(word) } else { None };
        let is_told = named.is_some_and(|(name, _)| OF_TELLING.contains(&name));
        let value = table.takes_next(word).filter(|takes| *takes && word.starts_with('-')).and_then(|_| words.next());
        if !is_told {
            kept.push(word.clone());
            kept.extend(value.cloned());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case("db1 --json -o x.json -t 1", "db1 -t 1"; "outputs go")]
    #[test_case("--every 1ms db1 -q --samples=x.csv", "--every 1ms db1"; "attached values")]
    #[test_case("db1 --verbose --histograms -c 5", "db1 -c 5"; "switches")]
    fn what_says_how_it_is_told_is_left_out(words: &str, kept: &str) {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        assert_eq!(without_telling("rtt", &words).join(" "), kept);
    }

    #[test]
    fn every_option_of_telling_is_one() {
        let tables = COMMANDS.map(Table::of);
        for option in OF_TELLING {
            assert!(tables.iter().any(|table| table.named(option).is_some()), "{option}");
        }
    }
}
