//! Reads words as options by the rules of GNU's getopt, from the table of a tool.
//!
//! Letters stand together (`-uR`), values in the same word or the next, long names may be cut short where only one
//! begins so, operands stand anywhere, and `--` ends the options. A tool whose rules differ says so in its [`Rules`].
//! A complaint ([`Fault`]) holds what was typed; the words that a tool has for it are its own, or one of the two forms
//! that GNU's getopt had. Not here: the meaning of values.

use std::path::PathBuf;
use std::slice::Iter;

/// One option: `K` is its meaning, `P` the part of the program that takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<K: 'static, P: 'static = ()> {
    /// Its meaning.
    pub key: K,
    /// Its letters.
    pub letters: &'static str,
    /// Its long names without dashes, the usual one first.
    pub names: &'static [&'static str],
    /// Its value.
    pub takes: Takes,
    /// The part of the program that takes it.
    pub place: P,
    /// For the help: the value, two blanks, the text; without a value the text alone.
    pub help: &'static str,
}

/// The value of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// None.
    Nothing,
    /// One.
    Value,
    /// One if it stands in the same word.
    Perhaps,
    /// The next word if that begins with a digit.
    NextNumber,
    /// The next word if that does not begin with a dash.
    NextWord,
}

/// An option without a value.
pub const fn flag<K, P>(
    key: K,
    letters: &'static str,
    names: &'static [&'static str],
    place: P,
    help: &'static str,
) -> Entry<K, P> {
    Entry { key, letters, names, takes: Takes::Nothing, place, help }
}

/// An option with a value.
pub const fn valued<K, P>(
    key: K,
    letters: &'static str,
    names: &'static [&'static str],
    place: P,
    help: &'static str,
) -> Entry<K, P> {
    Entry { key, letters, names, takes: Takes::Value, place, help }
}

/// An option with a value if that stands in the same word.
pub const fn perhaps<K, P>(
    key: K,
    letters: &'static str,
    names: &'static [&'static str],
    place: P,
    help: &'static str,
) -> Entry<K, P> {
    Entry { key, letters, names, takes: Takes::Perhaps, place, help }
}

/// Options that take values alike, for a tool that tells them apart by their letters and names.
pub const fn alike(takes: Takes, letters: &'static str, names: &'static [&'static str]) -> Entry<()> {
    Entry { key: (), letters, names, takes, place: (), help: "" }
}

impl<K, P> Entry<K, P> {
    /// Its name as complaints have it: the long one, else its letter.
    pub fn name(&self) -> String {
        match (self.names.first(), self.letters.chars().next()) {
            (Some(name), _) => format!("--{name}"),
            (None, letter) => letter.map_or_else(String::new, |letter| format!("-{letter}")),
        }
    }

    /// Its line of a help: `  -t, --time seconds      how long`, with at most so many names, the text in this column.
    pub fn line(&self, names: usize, column: usize) -> String {
        let letter = self.letters.chars().next().map_or("    ".to_owned(), |letter| format!("-{letter}, "));
        let names: Vec<String> = self.names.iter().take(names).map(|name| format!("--{name}")).collect();
        let (value, text) = match (self.takes, self.help.split_once("  ")) {
            (Takes::Nothing, _) | (_, None) => (String::new(), self.help),
            (Takes::Perhaps, Some((value, text))) => (format!("[={value}]"), text),
            (_, Some((value, text))) => (format!(" {value}"), text),
        };
        let left = format!("  {letter}{}{value}", names.join(", "));
        format!("{left:<column$} {text}\n")
    }
}

/// The rules by which a tool reads its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a rule of its own")]
pub struct Rules {
    /// Letters stand together in one word. Else all behind a letter, or behind its `=`, is its value.
    pub bundles: bool,
    /// Long names may be cut short.
    pub abbreviations: bool,
    /// A value in a word of its own may begin with a dash.
    pub dashed_values: bool,
    /// An option may be given again.
    pub repeats: bool,
    /// The meaning of `--`.
    pub dashes: Dashes,
    /// The most operands.
    pub operands: usize,
}

/// The meaning of `--`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dashes {
    /// All words behind it are operands.
    Operands,
    /// The words behind it are options of another table: see [`Scan::behind`].
    Section,
    /// It is no option, as any other word that is none.
    Nothing,
}

/// The rules of GNU's getopt.
pub const GNU: Rules = Rules {
    bundles: true,
    abbreviations: true,
    dashed_values: true,
    repeats: true,
    dashes: Dashes::Operands,
    operands: usize::MAX,
};

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item<K: 'static, P: 'static = ()> {
    /// An option, as it was called, and its value.
    Option(&'static Entry<K, P>, Called, Option<String>),
    /// A word that is no option.
    Operand(String),
}

/// An option's name as it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Called {
    /// By a letter.
    Letter(char),
    /// By a long name, here whole.
    Name(&'static str),
}

/// A word that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Reason.
    pub why: Why,
    /// The whole word.
    pub word: String,
    /// The letter, where it is one.
    pub letter: Option<char>,
    /// The long names that it may be, without dashes: one where that is clear, several where it is not.
    pub names: Vec<&'static str>,
}

/// Reason for which a word does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// No such option.
    Unknown,
    /// A long name cut so short that it may be several.
    Ambiguous,
    /// An option that takes a value, without one.
    NoValue,
    /// An option that takes none, with one.
    Value,
    /// The same option again.
    Again,
    /// One operand too many.
    Operand,
}

impl Fault {
    /// The option without its value, as it was typed.
    pub fn typed(&self) -> String {
        let name = || self.word.split_once('=').map_or(&*self.word, |(name, _)| name).to_owned();
        self.letter.map_or_else(name, |letter| format!("-{letter}"))
    }

    /// The words of glibc's getopt.
    pub fn glibc(&self) -> String {
        let name = self.names.first().copied().unwrap_or_default();
        match (self.why, self.letter) {
            (Why::Unknown, Some(letter)) => format!("invalid option -- '{letter}'"),
            (Why::Unknown, None) => format!("unrecognized option '{}'", self.word),
            (Why::NoValue, Some(letter)) => format!("option requires an argument -- '{letter}'"),
            (Why::NoValue, None) => format!("option '--{name}' requires an argument"),
            (Why::Value, _) => format!("option '--{name}' doesn't allow an argument"),
            (Why::Ambiguous, _) => {
                let names: Vec<String> = self.names.iter().map(|name| format!("'--{name}'")).collect();
                format!("option '{}' is ambiguous; possibilities: {}", self.word, names.join(" "))
            }
            (Why::Again | Why::Operand, _) => self.surplus(),
        }
    }

    /// The words of the getopt that older programs bring along.
    pub fn old_gnu(&self) -> String {
        match self.why {
            Why::Unknown if self.letter.is_none() => format!("unrecognized option `{}'", self.word),
            Why::Unknown => format!("unrecognized option `{}'", self.typed()),
            Why::NoValue => format!("option `{}' requires an argument", self.typed()),
            Why::Value => format!("option `{}' doesn't allow an argument", self.typed()),
            Why::Ambiguous => format!("option `{}' is ambiguous", self.typed()),
            Why::Again | Why::Operand => self.surplus(),
        }
    }

    /// Getopt has no words for these.
    fn surplus(&self) -> String {
        match self.why {
            Why::Again => format!("{}: is given twice", self.word),
            _ => format!("{}: belongs to no option", self.word),
        }
    }
}

/// Goes over words; ends at the last, or at `--` where another section begins.
#[derive(Clone, Debug)]
pub struct Scan<'a, K: 'static, P: 'static = ()> {
    rules: Rules,
    entries: Vec<&'static Entry<K, P>>,
    words: Iter<'a, String>,
    /// The word that is read, and its letters that are not read yet.
    word: &'a str,
    letters: &'a str,
    /// True where all words that come are operands.
    ended: bool,
    operands: usize,
    seen: Vec<&'static Entry<K, P>>,
}

impl<'a, K, P> Scan<'a, K, P> {
    /// Scan of words, by these entries.
    pub fn new(words: &'a [String], entries: impl IntoIterator<Item = &'static Entry<K, P>>, rules: Rules) -> Self {
        Self {
            rules,
            entries: entries.into_iter().collect(),
            words: words.iter(),
            word: "",
            letters: "",
            ended: false,
            operands: 0,
            seen: Vec::new(),
        }
    }

    /// The words that are not read yet.
    pub fn behind(&self) -> &'a [String] {
        self.words.as_slice()
    }

    fn operand(&mut self, word: &'a str) -> Result<Item<K, P>, Fault> {
        self.word = word;
        self.operands += 1;
        if self.operands > self.rules.operands {
            return Err(self.fault(Why::Operand, None, Vec::new()));
        }
        Ok(Item::Operand(word.to_owned()))
    }

    /// The next letter of the word.
    fn letter(&mut self, letter: char) -> Result<Item<K, P>, Fault> {
        self.letters = &self.letters[letter.len_utf8()..];
        let known = self.entries.iter().find(|entry| entry.letters.contains(letter)).copied();
        let entry = known.ok_or_else(|| self.fault(Why::Unknown, Some(letter), Vec::new()))?;
        let goes_on = !self.letters.is_empty() && self.rules.bundles;
        let value = match entry.takes {
            Takes::Nothing | Takes::NextNumber | Takes::NextWord if goes_on => self.once(entry).map(|()| None),
            _ => {
                let joined = Some(std::mem::take(&mut self.letters)).filter(|joined| !joined.is_empty());
                let joined = joined.map(|joined| if self.rules.bundles { joined } else { behind_equals(joined) });
                self.value(entry, joined)
            }
        };
        value
            .map(|value| Item::Option(entry, Called::Letter(letter), value))
            .map_err(|why| self.fault(why, Some(letter), entry.names.to_vec()))
    }

    /// A long name and what stands behind it.
    fn long(&mut self, text: &'a str) -> Result<Item<K, P>, Fault> {
        let (name, joined) = text.find('=').map_or((text, None), |at| (&text[..at], Some(&text[at..])));
        let joined = joined.map(|joined| if self.rules.bundles { &joined[1..] } else { behind_equals(joined) });
        let (entry, name) = self.named(name)?;
        let value = self.value(entry, joined).map_err(|why| self.fault(why, None, vec![name]))?;
        Ok(Item::Option(entry, Called::Name(name), value))
    }

    /// The entry of a name, whole or cut short, and its whole name.
    fn named(&self, name: &str) -> Result<(&'static Entry<K, P>, &'static str), Fault> {
        let all = || self.entries.iter().flat_map(|entry| entry.names.iter().map(move |whole| (*entry, *whole)));
        if let Some(exact) = all().find(|(_, whole)| *whole == name) {
            return Ok(exact);
        }
        let fits = |(_, whole): &(_, &str)| self.rules.abbreviations && whole.starts_with(name);
        let fitting: Vec<_> = all().filter(fits).collect();
        let names = || fitting.iter().map(|(_, whole)| *whole).collect();
        match fitting.as_slice() {
            [] => Err(self.fault(Why::Unknown, None, Vec::new())),
            [first, others @ ..] if others.iter().all(|other| std::ptr::eq(other.0, first.0)) => Ok(*first),
            _ => Err(self.fault(Why::Ambiguous, None, names())),
        }
    }

    /// The value of an option; `joined` stands in its own word.
    fn value(&mut self, entry: &'static Entry<K, P>, joined: Option<&str>) -> Result<Option<String>, Why> {
        self.once(entry)?;
        let dashed = self.rules.dashed_values;
        match (entry.takes, joined) {
            (Takes::Nothing, Some(_)) => Err(Why::Value),
            (_, Some(joined)) => Ok(Some(joined.to_owned())),
            (Takes::Nothing | Takes::Perhaps, None) => Ok(None),
            (Takes::Value, None) => self.next_if(|word| dashed || !word.starts_with('-')).map(Some).ok_or(Why::NoValue),
            (Takes::NextNumber, None) => Ok(self.next_if(|word| word.starts_with(|c: char| c.is_ascii_digit()))),
            (Takes::NextWord, None) => Ok(self.next_if(|word| !word.starts_with('-'))),
        }
    }

    fn once(&mut self, entry: &'static Entry<K, P>) -> Result<(), Why> {
        if !self.rules.repeats && self.seen.iter().any(|seen| std::ptr::eq(*seen, entry)) {
            return Err(Why::Again);
        }
        self.seen.push(entry);
        Ok(())
    }

    fn next_if(&mut self, fits: impl Fn(&str) -> bool) -> Option<String> {
        let word = self.words.as_slice().first().filter(|word| fits(word))?;
        self.words.next();
        Some(word.clone())
    }

    fn fault(&self, why: Why, letter: Option<char>, names: Vec<&'static str>) -> Fault {
        Fault { why, word: self.word.to_owned(), letter, names }
    }
}

/// A `=` with nothing behind it is a value of its own.
fn behind_equals(joined: &str) -> &str {
    joined.strip_prefix('=').filter(|value| !value.is_empty()).unwrap_or(joined)
}

impl<K, P> Iterator for Scan<'_, K, P> {
    type Item = Result<Item<K, P>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(letter) = self.letters.chars().next() {
            return Some(self.letter(letter));
        }
        let mut word = self.words.next()?;
        if word == "--" && !self.ended && self.rules.dashes != Dashes::Nothing {
            if self.rules.dashes == Dashes::Section {
                return None;
            }
            self.ended = true;
            word = self.words.next()?;
        }
        let Some(option) = word.strip_prefix('-').filter(|option| !self.ended && !option.is_empty()) else {
            return Some(self.operand(word));
        };
        self.word = word;
        if let Some(name) = option.strip_prefix('-') {
            return Some(self.long(name));
        }
        self.letters = option;
        option.chars().next().map(|letter| self.letter(letter))
    }
}

/// All that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given<K: 'static, P: 'static = ()> {
    /// The options and their values, in order.
    pub options: Vec<(&'static Entry<K, P>, Option<String>)>,
    /// The words that are no options.
    pub operands: Vec<String>,
}

impl<K: Copy + PartialEq, P> Given<K, P> {
    /// All words of a scan.
    ///
    /// # Errors
    /// The first word that does not fit.
    pub fn all(scan: Scan<'_, K, P>) -> Result<Self, Fault> {
        let mut given = Self { options: Vec::new(), operands: Vec::new() };
        for item in scan {
            match item? {
                Item::Option(entry, _, value) => given.options.push((entry, value)),
                Item::Operand(word) => given.operands.push(word),
            }
        }
        Ok(given)
    }

    /// Returns true where the option was given.
    pub fn has(&self, key: K) -> bool {
        self.place(key).is_some()
    }

    /// Its last value.
    pub fn text(&self, key: K) -> Option<&str> {
        self.options[self.place(key)?].1.as_deref()
    }

    /// The same as a path.
    pub fn path(&self, key: K) -> Option<PathBuf> {
        self.text(key).map(PathBuf::from)
    }

    /// Its last place among the options.
    pub fn place(&self, key: K) -> Option<usize> {
        self.options.iter().rposition(|(entry, _)| entry.key == key)
    }

    /// The options, in order.
    pub fn entries(&self) -> impl Iterator<Item = &'static Entry<K, P>> + '_ {
        self.options.iter().map(|(entry, _)| *entry)
    }

    /// The meanings of the options, in order.
    pub fn keys(&self) -> impl Iterator<Item = K> + '_ {
        self.entries().map(|entry| entry.key)
    }
}

#[cfg(test)]
mod tests;
