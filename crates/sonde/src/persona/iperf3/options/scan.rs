//! Words into options as getopt reads them: `-t 5`, `-t5`, `-uR`, `--time 5`, `--time=5`, and long names cut short where
//! only one begins so. Of an option given twice the last counts.

use crate::persona::iperf3::options::table::{ENTRIES, Entry, Key, Takes};

/// What was given, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    options: Vec<(Key, Option<String>)>,
    /// Words that belong to no option.
    pub stray: Vec<String>,
}

impl Given {
    /// Whether the option was given.
    pub fn has(&self, key: Key) -> bool {
        self.options.iter().any(|(given, _)| *given == key)
    }

    /// Its last value; `None` without one.
    pub fn text(&self, key: Key) -> Option<&str> {
        self.options.iter().rfind(|(given, _)| *given == key)?.1.as_deref()
    }

    /// The options, in order.
    pub fn keys(&self) -> impl Iterator<Item = Key> + '_ {
        self.options.iter().map(|(key, _)| *key)
    }
}

/// Why the words are none, worded as getopt words it.
pub type Fault = String;

/// Reads words.
///
/// # Errors
/// The first word that does not fit.
pub fn scan(words: &[String]) -> Result<Given, Fault> {
    let mut given = Given::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            given.stray.extend(words.by_ref().cloned());
        } else if let Some(long) = word.strip_prefix("--") {
            let option = read_long(long, &mut words)?;
            given.options.push(option);
        } else if word.starts_with('-') && word != "-" {
            read_letters(&word[1..], &mut words, &mut given)?;
        } else {
            given.stray.push(word.clone());
        }
    }
    Ok(given)
}

type Words<'a> = std::slice::Iter<'a, String>;

fn read_long(word: &str, words: &mut Words<'_>) -> Result<(Key, Option<String>), Fault> {
    let (name, joined) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (word, None),
    };
    let (entry, full) = named(name, word)?;
    let value = match entry.takes {
        Takes::Nothing if joined.is_some() => return Err(format!("option '--{full}' doesn't allow an argument")),
        Takes::Nothing | Takes::Perhaps => joined,
        Takes::Value => match joined.or_else(|| words.next().cloned()) {
            None => return Err(format!("option '--{full}' requires an argument")),
            value => value,
        },
    };
    Ok((entry.key, value))
}

/// The option of a name, whole or cut short, and its whole name.
fn named(name: &str, word: &str) -> Result<(&'static Entry, &'static str), Fault> {
    let all = || ENTRIES.iter().flat_map(|entry| entry.names.iter().map(move |full| (entry, *full)));
    if let Some(exact) = all().find(|(_, full)| *full == name) {
        return Ok(exact);
    }
    let candidates: Vec<_> = all().filter(|(_, full)| full.starts_with(name)).collect();
    match candidates.as_slice() {
        [] => Err(format!("unrecognized option '--{word}'")),
        [first, rest @ ..] if rest.iter().all(|other| other.0.key == first.0.key) => Ok(*first),
        several => {
            let names: Vec<String> = several.iter().map(|(_, full)| format!("'--{full}'")).collect();
            Err(format!("option '--{word}' is ambiguous; possibilities: {}", names.join(" ")))
        }
    }
}

fn read_letters(letters: &str, words: &mut Words<'_>, given: &mut Given) -> Result<(), Fault> {
    let mut rest = letters;
    while let Some(letter) = rest.chars().next() {
        rest = &rest[letter.len_utf8()..];
        let entry = ENTRIES.iter().find(|entry| entry.letter == Some(letter));
        let entry = entry.ok_or_else(|| format!("invalid option -- '{letter}'"))?;
        let behind = (!rest.is_empty()).then(|| rest.to_owned());
        let value = match entry.takes {
            Takes::Nothing => {
                given.options.push((entry.key, None));
                continue;
            }
            Takes::Perhaps => behind,
            Takes::Value => match behind.or_else(|| words.next().cloned()) {
                None => return Err(format!("option requires an argument -- '{letter}'")),
                value => value,
            },
        };
        given.options.push((entry.key, value));
        return Ok(());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    fn of(line: &str) -> Result<Given, Fault> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        scan(&words)
    }

    #[test_case("-t 5"; "the next word")]
    #[test_case("-t5"; "the same word")]
    #[test_case("-uRt5"; "at the end of a bundle")]
    #[test_case("--time 5"; "long")]
    #[test_case("--time=5"; "long, behind an equals sign")]
    #[test_case("-t 9 -t 5"; "the last of two")]
    fn a_value_stands_in_many_places(line: &str) {
        assert_eq!(of(line).unwrap().text(Key::Time), Some("5"));
    }

    #[test]
    fn an_optional_value_stands_in_the_same_word_alone() {
        let given = of("--timestamps %s --cntl-ka=1/2/3 -d2").unwrap();
        assert_eq!((given.text(Key::Timestamps), given.stray.as_slice()), (None, &["%s".to_owned()][..]));
        assert_eq!((given.text(Key::Keepalive), given.text(Key::Debug)), (Some("1/2/3"), Some("2")));
    }

    #[test]
    fn two_names_of_one_option_are_not_ambiguous() {
        assert!(of("--verb").unwrap().has(Key::Verbose) && of("--linux=bbr").unwrap().has(Key::Congestion));
        assert!(of("--tim=5").unwrap_err().starts_with("option '--tim=5' is ambiguous"));
        assert_eq!(of("--server-b 1M").unwrap().text(Key::BitrateLimit), Some("1M"));
        assert!(of("--server").unwrap().has(Key::Server) && of("--json").unwrap().has(Key::Json));
    }

    #[test]
    fn behind_two_dashes_nothing_is_an_option() {
        let given = of("-u -- -R x").unwrap();
        assert!(given.has(Key::Udp) && !given.has(Key::Reverse));
        assert_eq!(given.stray, ["-R", "x"]);
        assert_eq!(given.keys().collect::<Vec<_>>(), [Key::Udp]);
    }

    #[test_case("-z", "invalid option -- 'z'"; "an unknown letter")]
    #[test_case("-t", "option requires an argument -- 't'"; "no value")]
    #[test_case("--time", "option '--time' requires an argument"; "no value, long")]
    #[test_case("--udp=1", "option '--udp' doesn't allow an argument"; "a value too many")]
    #[test_case("--bogus", "unrecognized option '--bogus'"; "an unknown name")]
    #[test_case("--bogus=3", "unrecognized option '--bogus=3'"; "an unknown name with a value")]
    #[test_case("--rsa", "option '--rsa' is ambiguous; possibilities: '--rsa-private-key-path' '--rsa-public-key-path'"; "two")]
    fn faults(line: &str, expected: &str) {
        assert_eq!(of(line).unwrap_err(), expected);
    }
}
