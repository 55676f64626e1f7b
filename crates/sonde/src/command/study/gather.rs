//! The options of measuring commands among those of a study, put where the study's own definition finds them: behind `--`.
//!
//! So `sonde sweep db1 --over interval=1ms..1s --window 1` needs no second way to say `--window`, and the study does not define
//! over again what belongs to others.

use std::ffi::{OsStr, OsString};

use crate::command::study::words::Table;

/// Commands that take the options of measuring commands beside their own.
const STUDIES: [&str; 2] = ["sweep", "why"];

/// `argv` with what is no option of the study, but one of a measuring command, behind a `--`. Any other command line is as it was.
pub fn gathered(argv: Vec<OsString>) -> Vec<OsString> {
    let Some(at) = study(&argv) else { return argv };
    let name = argv[at].to_string_lossy().into_owned();
    let (own, others) = (Table::of(&name), Table::of_measuring());
    let (mut kept, mut apart) = (argv[..=at].to_vec(), Vec::new());
    let mut words = argv.into_iter().skip(at + 1);
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

/// Where the study's name stands, where one is asked for.
fn study(argv: &[OsString]) -> Option<usize> {
    let mut at = 1;
    while argv.get(at)?.to_string_lossy().starts_with('-') {
        at += if argv[at] == OsStr::new("--color") { 2 } else { 1 };
    }
    STUDIES.iter().any(|name| argv.get(at).is_some_and(|word| word == OsStr::new(name))).then_some(at)
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

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
        assert_eq!(gathered(split(argv)), split(expected));
    }
}
