//! Words into options as the original reads them: `-c 5`, `-c5`, `-SAp 80`, `--count 5`, `--count=5`. Of an option given twice the
//! last counts; a word that belongs to no option is the host.

use crate::persona::hping3::options::table::{ENTRIES, Entry, Key};

/// What was given.
#[derive(Clone, Debug, Default)]
pub struct Given {
    options: Vec<(&'static Entry, Option<String>)>,
    /// The host.
    pub host: Option<String>,
}

impl Given {
    /// Whether the option was given.
    pub fn has(&self, key: Key) -> bool {
        self.options.iter().any(|(entry, _)| entry.key == key)
    }

    /// Its last value.
    pub fn text(&self, key: Key) -> Option<&str> {
        self.options.iter().rfind(|(entry, _)| entry.key == key)?.1.as_deref()
    }

    /// The first that is refused.
    pub fn refused(&self) -> Option<&'static Entry> {
        self.options.iter().map(|(entry, _)| *entry).find(|entry| entry.key == Key::Refused)
    }

    /// Those without effect, and why.
    pub fn without_effect(&self) -> impl Iterator<Item = (&'static str, &'static str)> + '_ {
        let idle = self.options.iter().filter(|(entry, _)| entry.key == Key::Idle);
        idle.map(|(entry, _)| (entry.written(), entry.says))
    }
}

/// Reads words.
///
/// # Errors
/// The first word that does not fit, worded as the original words it.
pub fn scan(words: &[String]) -> Result<Given, String> {
    let mut given = Given::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word.starts_with("--") && word.len() > 2 {
            let (name, joined) =
                word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
            let entry = ENTRIES.iter().find(|entry| entry.name == name);
            let entry = entry.ok_or_else(|| format!("unrecognized option `{word}'"))?;
            let value = match (entry.value, joined) {
                (false, Some(_)) => return Err(format!("option `{name}' doesn't allow an argument")),
                (false, None) => None,
                (true, Some(value)) => Some(value.to_owned()),
                (true, None) => Some(next(&mut words, name)?),
            };
            given.options.push((entry, value));
        } else if word.starts_with('-') && word.len() > 1 {
            letters(&word[1..], &mut words, &mut given)?;
        } else if given.host.replace(word.clone()).is_some() {
            return Err(format!("`{word}' is a second host: one is probed at a time"));
        }
    }
    Ok(given)
}

fn next(words: &mut std::slice::Iter<'_, String>, name: &str) -> Result<String, String> {
    words.next().cloned().ok_or_else(|| format!("option `{name}' requires an argument"))
}

fn letters(letters: &str, words: &mut std::slice::Iter<'_, String>, given: &mut Given) -> Result<(), String> {
    let mut rest = letters.chars();
    while let Some(letter) = rest.next() {
        let entry = ENTRIES.iter().find(|entry| entry.letter == Some(letter));
        let entry = entry.ok_or_else(|| format!("unrecognized option `-{letter}'"))?;
        if !entry.value {
            given.options.push((entry, None));
            continue;
        }
        let behind = rest.as_str();
        let value = if behind.is_empty() { next(words, &format!("-{letter}"))? } else { behind.to_owned() };
        given.options.push((entry, Some(value)));
        return Ok(());
    }
    Ok(())
}
