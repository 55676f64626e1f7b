//! Words into options: `-t 5`, `-t5`, `-t=5`, `--time 5`, `--time=5`. No bundles, no abbreviations, nothing twice.
//!
//! A separate value may not begin with `-`, and what is no option and no value has no place.

use crate::persona::sockperf::options::table::{Entry, Key, Takes};

/// What was given, in order; no key twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given(Vec<(Key, Option<String>)>);

impl Given {
    /// Whether the option was given.
    pub fn has(&self, key: Key) -> bool {
        self.0.iter().any(|(given, _)| *given == key)
    }

    /// Its value; `None` without one.
    pub fn text(&self, key: Key) -> Option<&str> {
        self.0.iter().find(|(given, _)| *given == key)?.1.as_deref()
    }

    /// The options, in order.
    pub fn keys(&self) -> impl Iterator<Item = Key> + '_ {
        self.0.iter().map(|(key, _)| *key)
    }
}

/// Why the words are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An option that takes a value, and no value.
    NoValue(String),
    /// An option that takes none, and one.
    Value(String),
    /// The same option again.
    Again(String),
    /// No option of this subcommand.
    Unknown(String),
    /// A word that belongs to no option.
    Stray(String),
}

impl Fault {
    /// The complaint; the first three as the original words them, which says nothing about the others.
    pub fn text(&self) -> String {
        match self {
            Self::NoValue(word) => format!("Option {word} should have an argument"),
            Self::Value(word) => format!("Option {word} should not have an argument"),
            Self::Again(word) => format!("Option {word} should not be repeatable"),
            Self::Unknown(word) => format!("sockperf: {word}: is no option of this subcommand"),
            Self::Stray(word) => format!("sockperf: {word}: belongs to no option"),
        }
    }
}

/// Reads words by a table.
///
/// # Errors
/// The first word that does not fit.
pub fn scan(words: &[String], table: &[&Entry]) -> Result<Given, Fault> {
    let mut given = Given::default();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        if !word.starts_with('-') || word == "-" {
            return Err(Fault::Stray(word.clone()));
        }
        let (entry, joined) = matching(word, table).ok_or_else(|| Fault::Unknown(word.clone()))?;
        if given.has(entry.key) {
            return Err(Fault::Again(word.clone()));
        }
        let value = match (entry.takes, joined) {
            (Takes::Nothing, "") => None,
            (Takes::Nothing, _) => return Err(Fault::Value(word.clone())),
            (_, "") => words.next_if(|next| !next.starts_with('-')).cloned(),
            // A `=` with nothing behind it is a value of its own, as in the original: no number, and no name of much.
            (_, joined) => {
                Some(joined.strip_prefix('=').filter(|value| !value.is_empty()).unwrap_or(joined).to_owned())
            }
        };
        if entry.takes == Takes::Value && value.is_none() {
            return Err(Fault::NoValue(word.clone()));
        }
        given.0.push((entry.key, value));
    }
    Ok(given)
}

/// The entry of a word, and what stands behind the name in the same word.
fn matching<'a, 'b>(word: &'b str, table: &[&'a Entry]) -> Option<(&'a Entry, &'b str)> {
    let Some(long) = word.strip_prefix("--") else {
        let letter = word.chars().nth(1)?;
        let entry = table.iter().find(|entry| entry.letters.contains(letter))?;
        return Some((entry, &word[1 + letter.len_utf8()..]));
    };
    table.iter().find_map(|entry| {
        let behind = entry.names.iter().find_map(|name| long.strip_prefix(name).filter(|rest| ends_name(rest)))?;
        Some((*entry, behind))
    })
}

fn ends_name(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('=')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::persona::sockperf::options::table::{Subcommand, entries};
    use test_case::test_case;

    fn of(line: &str) -> Result<Given, Fault> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        scan(&words, &entries(Subcommand::PingPong))
    }

    #[test_case("-t 5"; "the next word")]
    #[test_case("-t5"; "the same word")]
    #[test_case("-t=5"; "behind an equals sign")]
    #[test_case("--time 5"; "long")]
    #[test_case("--time=5"; "long, behind an equals sign")]
    fn a_value_stands_in_five_places(line: &str) {
        assert_eq!(of(line), Ok(Given(vec![(Key::Time, Some("5".into()))])));
    }

    #[test]
    fn an_optional_value_may_be_the_next_word_or_none() {
        assert_eq!(of("--dummy-send 7 -d").unwrap().text(Key::DummySend), Some("7"));
        assert_eq!(of("--dummy-send -d").unwrap().text(Key::DummySend), None);
    }

    #[test_case("-t", "Option -t should have an argument"; "no value")]
    #[test_case("-t -1", "Option -t should have an argument"; "a value that begins with a dash")]
    #[test_case("--tcp=1", "Option --tcp=1 should not have an argument"; "a value too many")]
    #[test_case("-dt 5", "Option -dt should not have an argument"; "a bundle")]
    #[test_case("-t 1 -t 2", "Option -t should not be repeatable"; "twice")]
    #[test_case("--mps 1 --pps=2", "Option --pps=2 should not be repeatable"; "twice by two names")]
    #[test_case("--tim 1", "sockperf: --tim: is no option of this subcommand"; "an abbreviation")]
    #[test_case("--reply-every 1", "sockperf: --reply-every: is no option of this subcommand"; "an option of another subcommand")]
    #[test_case("-z", "sockperf: -z: is no option of this subcommand"; "an unknown letter")]
    #[test_case("--", "sockperf: --: is no option of this subcommand"; "two dashes")]
    #[test_case("-t 1 2", "sockperf: 2: belongs to no option"; "a stray word")]
    #[test_case("-", "sockperf: -: belongs to no option"; "a dash")]
    fn faults(line: &str, expected: &str) {
        assert_eq!(of(line).unwrap_err().text(), expected);
    }

    #[test]
    fn a_value_that_begins_with_a_dash_stands_behind_an_equals_sign() {
        assert_eq!(of("--timeout=-1").unwrap().text(Key::Timeout), Some("-1"));
    }
}
