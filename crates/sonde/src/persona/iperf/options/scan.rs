//! Words into options, as GNU's getopt reads them: bundles of letters, a value in the same word or the next, long names
//! cut short where that is clear, `--` before words that are none. What comes later counts.

use crate::persona::iperf::options::table::{ENTRIES, Entry, Key, Takes};

/// What was given, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given(Vec<(Key, Option<String>)>);

impl Given {
    /// Whether the option was given.
    pub fn has(&self, key: Key) -> bool {
        self.place(key).is_some()
    }

    /// Its value: the last one.
    pub fn text(&self, key: Key) -> Option<&str> {
        self.0.iter().rev().find(|(given, _)| *given == key)?.1.as_deref()
    }

    /// Where it stands for the last time.
    pub fn place(&self, key: Key) -> Option<usize> {
        self.0.iter().rposition(|(given, _)| *given == key)
    }

    /// The options, in order.
    pub fn keys(&self) -> impl Iterator<Item = Key> + '_ {
        self.0.iter().map(|(key, _)| *key)
    }

    /// Puts what the environment says in front: what is typed counts more.
    pub fn behind(self, mut first: Vec<(Key, Option<String>)>) -> Self {
        first.extend(self.0);
        Self(first)
    }
}

/// Why the words are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An option that takes a value, and no value.
    NoValue(String),
    /// An option that takes none, and one.
    Value(String),
    /// No option.
    Unknown(String),
    /// A name cut so short that it may be several.
    Ambiguous(String),
    /// A word that belongs to no option.
    Stray(String),
}

impl Fault {
    /// The complaint, as getopt words it.
    pub fn text(&self) -> String {
        match self {
            Self::NoValue(word) => format!("iperf: option `{word}' requires an argument"),
            Self::Value(word) => format!("iperf: option `{word}' doesn't allow an argument"),
            Self::Unknown(word) => format!("iperf: unrecognized option `{word}'"),
            Self::Ambiguous(word) => format!("iperf: option `{word}' is ambiguous"),
            Self::Stray(word) => format!("iperf: {word}: belongs to no option"),
        }
    }
}

/// Reads words.
///
/// # Errors
/// The first word that does not fit.
pub fn scan(words: &[String]) -> Result<Given, Fault> {
    let mut given = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            return words.next().map_or(Ok(Given(given)), |word| Err(Fault::Stray(word.clone())));
        }
        if let Some(name) = word.strip_prefix("--") {
            given.push(long(word, name, &mut words)?);
        } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            bundle(letters, &mut words, &mut given)?;
        } else {
            return Err(Fault::Stray(word.clone()));
        }
    }
    Ok(Given(given))
}

type Words<'a> = std::slice::Iter<'a, String>;

fn long(word: &str, name: &str, words: &mut Words<'_>) -> Result<(Key, Option<String>), Fault> {
    let (name, joined) = match name.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (name, None),
    };
    let called = format!("--{name}");
    let entry = named(name)
        .map_err(|several| if several { Fault::Ambiguous(called.clone()) } else { Fault::Unknown(word.to_owned()) })?;
    let value = match (entry.takes, joined) {
        (Takes::Nothing, Some(_)) => return Err(Fault::Value(called)),
        (Takes::Value, None) => Some(words.next().cloned().ok_or(Fault::NoValue(called))?),
        (_, joined) => joined,
    };
    Ok((entry.key, value))
}

/// The entry of a name, whole or cut short; `Err(true)`: it may be several.
fn named(name: &str) -> Result<&'static Entry, bool> {
    if let Some(entry) = ENTRIES.iter().find(|entry| entry.names.contains(&name)) {
        return Ok(entry);
    }
    let fits = |entry: &&Entry| entry.names.iter().any(|whole| whole.starts_with(name));
    let mut fitting = ENTRIES.iter().filter(fits);
    match (fitting.next().filter(|_| !name.is_empty()), fitting.next()) {
        (Some(entry), None) => Ok(entry),
        (Some(_), Some(_)) => Err(true),
        (None, _) => Err(false),
    }
}

fn bundle(letters: &str, words: &mut Words<'_>, given: &mut Vec<(Key, Option<String>)>) -> Result<(), Fault> {
    for (at, letter) in letters.char_indices() {
        let called = format!("-{letter}");
        let entry = ENTRIES.iter().find(|entry| entry.letter == Some(letter));
        let entry = entry.ok_or_else(|| Fault::Unknown(called.clone()))?;
        if entry.takes != Takes::Value {
            given.push((entry.key, None));
            continue;
        }
        let rest = &letters[at + letter.len_utf8()..];
        let value = if rest.is_empty() { words.next().cloned() } else { Some(rest.to_owned()) };
        given.push((entry.key, Some(value.ok_or(Fault::NoValue(called))?)));
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
    #[test_case("--time 5"; "long")]
    #[test_case("--time=5"; "long, behind an equals sign")]
    #[test_case("--ti=5"; "cut short")]
    #[test_case("-t 4 -t 5"; "the last one counts")]
    fn a_value_stands_in_several_places(line: &str) {
        assert_eq!(of(line).unwrap().text(Key::Time), Some("5"));
    }

    #[test]
    fn letters_go_together() {
        let given = of("-suei1").unwrap();
        assert_eq!(given.keys().collect::<Vec<_>>(), [Key::Server, Key::Udp, Key::Enhanced, Key::Interval]);
        assert_eq!(given.text(Key::Interval), Some("1"));
    }

    #[test]
    fn an_optional_value_stands_behind_an_equals_sign_alone() {
        assert_eq!(of("--bounceback=5").unwrap().text(Key::Bounceback), Some("5"));
        assert_eq!(of("--bounceback 5"), Err(Fault::Stray("5".into())));
    }

    #[test]
    fn a_whole_name_is_no_shortened_one() {
        assert_eq!(of("--bounceback").unwrap().keys().next(), Some(Key::Bounceback));
    }

    #[test_case("-t", "iperf: option `-t' requires an argument"; "no value")]
    #[test_case("--udp=1", "iperf: option `--udp' doesn't allow an argument"; "a value too many")]
    #[test_case("--bogus", "iperf: unrecognized option `--bogus'"; "an unknown name")]
    #[test_case("-Q", "iperf: unrecognized option `-Q'"; "an unknown letter")]
    #[test_case("--incr", "iperf: option `--incr' is ambiguous"; "too short")]
    #[test_case("5", "iperf: 5: belongs to no option"; "a stray word")]
    #[test_case("-- 5", "iperf: 5: belongs to no option"; "a word behind two dashes")]
    #[test_case("-", "iperf: -: belongs to no option"; "a dash")]
    fn faults(line: &str, expected: &str) {
        assert_eq!(of(line).unwrap_err().text(), expected);
    }
}
