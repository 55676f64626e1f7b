//! The parts of a study's command line that are put where its definition finds them, before it is parsed.
//!
//! Measuring options among those of `sweep` and `why` go behind `--`: so `sonde sweep db1 --over interval=1ms..1s --window 1` needs no
//! second way to say `--window`, and a study does not define over again what belongs to others. A side of `compare` that is made of
//! options alone gets its command's name in front, or it would be taken for an option.

use std::ffi::{OsStr, OsString};

use crate::command::argv::first_word;
use crate::command::study::words::Table;

/// Commands that take the options of measuring commands beside their own.
pub const TAKING_OPTIONS: [&str; 2] = ["sweep", "why"];
/// Commands whose arguments may be measuring commands.
const TAKING_SIDES: [&str; 1] = ["compare"];

/// `argv` as the study it asks for, which is defined in `definition`, finds its words. Any other command line is as it was.
pub fn arranged(argv: Vec<OsString>, definition: &clap::Command) -> Vec<OsString> {
    let Some(place) = first_word(&argv) else { return argv };
    let Some(name) = argv[place].to_str().map(str::to_owned) else { return argv };
    if TAKING_OPTIONS.contains(&name.as_str()) {
        options_apart(argv, place, &Table::within(definition, &name))
    } else if TAKING_SIDES.contains(&name.as_str()) {
        sides_marked(argv)
    } else {
        argv
    }
}

/// `argv` with what is none of the options of the study that is named at `place`, but one of a measuring command, behind a `--`.
fn options_apart(argv: Vec<OsString>, place: usize, own: &Table) -> Vec<OsString> {
    let others = Table::of_measuring();
    let (mut kept, mut apart) = (argv[..=place].to_vec(), Vec::new());
    let mut words = argv.into_iter().skip(place + 1);
    while let Some(word) = words.next() {
        if word == OsStr::new("--") {
            break;
        }
        let text = word.to_string_lossy().into_owned();
        let is_option = text.len() > 1 && text.starts_with('-');
        let (into, takes) = match (own.takes_next(&text), others.takes_next(&text)) {
            (Some(takes), _) if is_option => (&mut kept, takes),
            (None, Some(takes)) if is_option => (&mut apart, takes),
            _ => (&mut kept, false),
        };
        into.push(word);
        if takes {
            into.extend(words.next());
        }
    }
    apart.extend(words);
    if !apart.is_empty() {
        kept.push(OsString::from("--"));
        kept.extend(apart);
    }
    kept
}

/// `argv` with sides made of options alone, as `'--wait spin --udp'`, marked as what they are: an argument with blanks in it is no
/// option of ours, though it starts as one.
fn sides_marked(argv: Vec<OsString>) -> Vec<OsString> {
    let mark = |word: OsString| match word.to_str().filter(|word| is_side(word)) {
        Some(side) => OsString::from(format!("rtt {side}")),
        None => word,
    };
    argv.into_iter().map(mark).collect()
}

fn is_side(word: &str) -> bool {
    let (first, rest) = word.split_once(char::is_whitespace).unwrap_or((word, ""));
    // `--budget=1m 30s` is an option whose value has a blank.
    first.starts_with('-') && rest.trim_start().starts_with('-')
        || first.starts_with('-') && !first.contains('=') && !rest.is_empty()
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;
    use crate::cli::definition;

    #[test_case("sonde sweep db1 --over a=b --window 1", "sonde sweep db1 --over a=b -- --window 1"; "another's option")]
    #[test_case("sonde sweep --udp db1 --size=9 --over a=b", "sonde sweep db1 --over a=b -- --udp --size=9"; "in front")]
    #[test_case("sonde -q --color never sweep db1 -t 1 -o x.json", "sonde -q --color never sweep db1 -o x.json -- -t 1"; "everywhere's before it")]
    #[test_case("sonde sweep db1 --over a=b -- --udp", "sonde sweep db1 --over a=b -- --udp"; "said apart")]
    #[test_case("sonde sweep db1 --wait spin -- -P 4", "sonde sweep db1 -- --wait spin -P 4"; "both")]
    #[test_case("sonde sweep db1 --nonsense 1", "sonde sweep db1 --nonsense 1"; "nobody's option")]
    #[test_case("sonde sweep db1 --method --udp", "sonde sweep db1 --method --udp"; "a value that looks like one")]
    #[test_case("sonde rtt sweep --window 1", "sonde rtt sweep --window 1"; "another command")]
    #[test_case("sonde -q", "sonde -q"; "no command")]
    fn options_of_measuring_commands_are_put_apart(argv: &str, expected: &str) {
        let split = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(arranged(split(argv), &definition()), split(expected));
    }

    #[test_case(&["--wait spin"], &["rtt --wait spin"]; "options")]
    #[test_case(&["--udp --every=1ms"], &["rtt --udp --every=1ms"]; "options with an equals sign")]
    #[test_case(&["--budget=1m 30s", "--runs", "3"], &["--budget=1m 30s", "--runs", "3"]; "a value with a blank")]
    #[test_case(&["db1 --udp"], &["db1 --udp"]; "a host first")]
    fn options_in_one_argument_are_a_side(words: &[&str], expected: &[&str]) {
        for before in [&["sonde", "compare"][..], &["sonde", "--color", "never", "compare"]] {
            let argv = |words: &[&str]| before.iter().chain(words).map(OsString::from).collect::<Vec<_>>();
            assert_eq!(arranged(argv(words), &definition()), argv(expected));
        }
    }

    #[test]
    fn no_other_command_has_sides() {
        let argv: Vec<OsString> = ["sonde", "rtt", "--wait spin"].iter().map(OsString::from).collect();
        assert_eq!(arranged(argv.clone(), &definition()), argv);
    }
}
