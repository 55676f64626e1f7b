//! Words into options by the rules of GNU getopt: bundles, values in the same word or the next, stray words anywhere,
//! `--` as the end. Long options are ours alone: the real program has none.

/// Which letters and long names there are.
#[derive(Clone, Copy, Debug)]
pub struct Grammar {
    /// Letters without a value.
    pub plain: &'static str,
    /// Letters with a value.
    pub valued: &'static str,
    /// Letters that take the next word as their value where it fits, and none otherwise.
    pub optional: &'static [Optional],
    /// Long names, and whether they take a value.
    pub long: &'static [(&'static str, bool)],
}

/// A letter, and whether a word may be its value.
pub type Optional = (char, fn(&str) -> bool);

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A letter and its value.
    Letter(char, Option<String>),
    /// A long name and its value.
    Long(&'static str, Option<String>),
    /// A word that is no option.
    Stray(String),
    /// What getopt complains of.
    Fault(Fault),
}

impl Grammar {
    /// Whether an empty word was given where a letter needs a value that says something. A brand may be empty.
    pub fn lacks_value(&self, letter: char, text: &str) -> bool {
        self.valued.contains(letter) && text.is_empty() && letter != 'B'
    }
}

/// What getopt complains of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No such letter.
    Letter(char),
    /// A letter that takes a value, at the end of the words.
    Value(char),
    /// No such long name, or a value where none is taken.
    Long(String),
    /// A long name that takes a value, without one.
    LongValue(&'static str),
}

impl Fault {
    /// The complaint, as getopt words it.
    pub fn text(&self, program: &str) -> String {
        match self {
            Self::Letter(letter) => format!("{program}: invalid option -- '{letter}'\n"),
            Self::Value(letter) => format!("{program}: option requires an argument -- '{letter}'\n"),
            Self::Long(name) => format!("{program}: unrecognized option '--{name}'\n"),
            Self::LongValue(name) => format!("{program}: option '--{name}' requires an argument\n"),
        }
    }
}

/// What was found before `--`, and the words behind it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// Options and stray words, in order.
    pub items: Vec<Item>,
    /// Words behind `--`.
    pub rest: Vec<String>,
}

/// Reads words up to `--`.
pub fn scan(words: &[String], grammar: &Grammar) -> Scan {
    let mut found = Scan::default();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        if word == "--" {
            found.rest = words[at..].to_vec();
            break;
        } else if let Some(long) = word.strip_prefix("--") {
            found.items.push(long_option(long, words, &mut at, grammar));
        } else if let Some(bundle) = word.strip_prefix('-').filter(|bundle| !bundle.is_empty()) {
            letters(bundle, words, &mut at, grammar, &mut found.items);
        } else {
            found.items.push(Item::Stray(word.clone()));
        }
    }
    found
}

fn letters(bundle: &str, words: &[String], at: &mut usize, grammar: &Grammar, items: &mut Vec<Item>) {
    for (index, letter) in bundle.char_indices() {
        let behind = &bundle[index + letter.len_utf8()..];
        if let Some((_, fits)) = grammar.optional.iter().find(|(known, _)| *known == letter) {
            let value = if behind.is_empty() { next(words, at, *fits) } else { None };
            items.push(Item::Letter(letter, value));
        } else if grammar.plain.contains(letter) {
            items.push(Item::Letter(letter, None));
        } else if grammar.valued.contains(letter) {
            let value = if behind.is_empty() { next(words, at, |_| true) } else { Some(behind.to_owned()) };
            items.push(match value {
                Some(value) => Item::Letter(letter, Some(value)),
                None => Item::Fault(Fault::Value(letter)),
            });
            return;
        } else {
            items.push(Item::Fault(Fault::Letter(letter)));
        }
    }
}

fn next(words: &[String], at: &mut usize, fits: impl Fn(&str) -> bool) -> Option<String> {
    let word = words.get(*at).filter(|word| fits(word))?;
    *at += 1;
    Some(word.clone())
}

fn long_option(text: &str, words: &[String], at: &mut usize, grammar: &Grammar) -> Item {
    let (name, joined) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value.to_owned())));
    let Some((name, valued)) = grammar.long.iter().find(|(known, _)| *known == name) else {
        return Item::Fault(Fault::Long(name.to_owned()));
    };
    match (valued, joined) {
        (true, None) => match next(words, at, |_| true) {
            Some(value) => Item::Long(name, Some(value)),
            None => Item::Fault(Fault::LongValue(name)),
        },
        (true, joined) => Item::Long(name, joined),
        (false, None) => Item::Long(name, None),
        (false, Some(_)) => Item::Fault(Fault::Long(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    const GRAMMAR: Grammar = Grammar {
        plain: "jr",
        valued: "lH",
        optional: &[('c', |word| word.starts_with(|c: char| c.is_ascii_digit()))],
        long: &[("json", false), ("record", true)],
    };

    fn letter(letter: char, value: &str) -> Item {
        Item::Letter(letter, Some(value.to_owned()).filter(|v| !v.is_empty()))
    }

    #[test_case("-l 5", &[letter('l', "5")]; "in the next word")]
    #[test_case("-l5", &[letter('l', "5")]; "in the same word")]
    #[test_case("-l -5", &[letter('l', "-5")]; "a negative number is a value")]
    #[test_case("-jrl5", &[letter('j', ""), letter('r', ""), letter('l', "5")]; "a bundle")]
    #[test_case("stray -j", &[Item::Stray("stray".into()), letter('j', "")]; "a stray word")]
    #[test_case("-", &[Item::Stray("-".into())]; "a dash alone")]
    #[test_case("-c 500", &[letter('c', "500")]; "an optional value")]
    #[test_case("-c -j", &[letter('c', ""), letter('j', "")]; "none")]
    #[test_case("-c500", &[letter('c', ""), Item::Fault(Fault::Letter('5')), Item::Fault(Fault::Letter('0')), Item::Fault(Fault::Letter('0'))]; "an optional value is never joined")]
    #[test_case("-l", &[Item::Fault(Fault::Value('l'))]; "no value")]
    #[test_case("-z", &[Item::Fault(Fault::Letter('z'))]; "no such letter")]
    #[test_case("--json --record=f", &[Item::Long("json", None), Item::Long("record", Some("f".into()))]; "long")]
    #[test_case("--record f", &[Item::Long("record", Some("f".into()))]; "long, next word")]
    #[test_case("--record", &[Item::Fault(Fault::LongValue("record"))]; "long without value")]
    #[test_case("--jsn", &[Item::Fault(Fault::Long("jsn".into()))]; "no such long")]
    fn words_are_read_as_getopt_reads_them(line: &str, expected: &[Item]) {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        assert_eq!(scan(&words, &GRAMMAR).items, expected);
    }

    #[test]
    fn what_is_behind_two_dashes_is_left() {
        let words: Vec<String> = ["-j", "--", "-l", "--", "x"].map(str::to_owned).into();
        assert_eq!(scan(&words, &GRAMMAR), Scan { items: vec![letter('j', "")], rest: words[2..].to_vec() });
    }
}
