//! Combinations of a matrix that are run: comparisons of flags, as
//! `zones < extra_zones and machine_type != 'n1-standard-1'`.

use std::cmp::Ordering;

/// Any of several groups, each of which holds where all its comparisons do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter(Vec<Vec<Comparison>>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Comparison {
    one: Term,
    sign: Sign,
    other: Term,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    /// A flag.
    Name(String),
    /// Itself.
    Value(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Less,
    AtMost,
    More,
    AtLeast,
    Same,
    Different,
}

/// Longest text of a filter.
const LONGEST: usize = 4_096;

/// The filter in `text`.
///
/// # Errors
/// Text that is not understood: anything but comparisons with `and` and `or` between them.
pub fn read(text: &str) -> Result<Filter, String> {
    if text.len() > LONGEST {
        return Err(format!("is longer than {LONGEST} bytes"));
    }
    let words = words(text)?;
    let groups = words.split(|word| *word == Word::Plain("or".into()));
    let groups: Result<Vec<_>, String> = groups
        .map(|group| {
            group.split(|word| *word == Word::Plain("and".into())).map(comparison).collect::<Result<Vec<_>, _>>()
        })
        .collect();
    groups.map(Filter)
}

impl Filter {
    /// Returns true where the filter holds for flags of these values.
    ///
    /// # Errors
    /// A flag of which nothing is told.
    pub fn holds(&self, value: &dyn Fn(&str) -> Option<String>) -> Result<bool, String> {
        let term = |term: &Term| match term {
            Term::Value(text) => Ok(text.clone()),
            Term::Name(name) => value(name).ok_or_else(|| format!("`{name}` is not among the flags of the settings")),
        };
        for group in &self.0 {
            let mut all = true;
            for Comparison { one, sign, other } in group {
                all &= sign.holds(order(&term(one)?, &term(other)?));
            }
            if all {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Sign {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Less => order == Ordering::Less,
            Self::AtMost => order != Ordering::Greater,
            Self::More => order == Ordering::Greater,
            Self::AtLeast => order != Ordering::Less,
            Self::Same => order == Ordering::Equal,
            Self::Different => order != Ordering::Equal,
        }
    }
}

/// Numbers by their value, words by their letters.
fn order(one: &str, other: &str) -> Ordering {
    match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(one), Ok(other)) => one.total_cmp(&other),
        _ => one.cmp(other),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    Plain(String),
    Quoted(String),
    Sign(Sign),
}

fn comparison(words: &[Word]) -> Result<Comparison, String> {
    let [one, Word::Sign(sign), other] = words else {
        return Err("compares are understood, as `zones < extra_zones`, with `and` and `or` between them".to_owned());
    };
    let term = |word: &Word| match word {
        Word::Quoted(text) => Ok(Term::Value(text.clone())),
        Word::Plain(text) if text.parse::<f64>().is_ok() => Ok(Term::Value(text.clone())),
        Word::Plain(text) => Ok(Term::Name(text.clone())),
        Word::Sign(_) => Err("two signs in a row".to_owned()),
    };
    Ok(Comparison { one: term(one)?, sign: *sign, other: term(other)? })
}

fn words(text: &str) -> Result<Vec<Word>, String> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (word, length) = match first {
            '\'' | '"' => {
                let end = rest[1..].find(first).ok_or("a quote is left open")?;
                (Word::Quoted(rest[1..=end].to_owned()), end + 2)
            }
            '<' | '>' | '=' | '!' => sign(rest)?,
            _ => {
                let is_name = |letter: char| letter.is_alphanumeric() || "_.".contains(letter);
                let end = rest.find(|letter| !is_name(letter)).unwrap_or(rest.len());
                if end == 0 {
                    return Err(format!("`{first}` is not understood"));
                }
                (Word::Plain(rest[..end].to_owned()), end)
            }
        };
        words.push(word);
        rest = rest[length..].trim_start();
    }
    Ok(words)
}

fn sign(rest: &str) -> Result<(Word, usize), String> {
    const SIGNS: [(&str, Sign); 6] = [
        ("<=", Sign::AtMost),
        (">=", Sign::AtLeast),
        ("==", Sign::Same),
        ("!=", Sign::Different),
        ("<", Sign::Less),
        (">", Sign::More),
    ];
    let found = SIGNS.iter().find(|(text, _)| rest.starts_with(text));
    found
        .map(|(text, sign)| (Word::Sign(*sign), text.len()))
        .ok_or_else(|| "`=` alone compares nothing: `==`".to_owned())
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn flags(name: &str) -> Option<String> {
        let value = match name {
            "zones" => "asia-east1-a",
            "extra_zones" => "us-east1-b",
            "num_vms" => "10",
            _ => return None,
        };
        Some(value.to_owned())
    }

    #[test_case("zones < extra_zones", true; "by letters")]
    #[test_case("zones >= extra_zones", false; "the other way")]
    #[test_case("num_vms > 9", true; "by number")]
    #[test_case("zones == 'asia-east1-a' and num_vms != 10", false; "both")]
    #[test_case("zones == \"x\" or num_vms <= 10", true; "either")]
    fn filters_hold_or_not(text: &str, expected: bool) {
        assert_eq!(read(text).unwrap().holds(&flags), Ok(expected));
    }

    #[test_case("zones"; "a name alone")]
    #[test_case(""; "nothing")]
    #[test_case("zones = 'x'"; "one sign of equality")]
    #[test_case("zones in ['x']"; "a list")]
    #[test_case("not (zones < extra_zones)"; "brackets")]
    #[test_case("zones < 'x"; "an open quote")]
    #[test_case("__import__('os').system('x')"; "a call")]
    fn what_is_not_understood_is_refused(text: &str) {
        assert!(read(text).is_err(), "{:?}", read(text));
    }

    #[test]
    fn an_unknown_flag_is_told() {
        assert!(read("zonse < 'a'").unwrap().holds(&flags).unwrap_err().contains("zonse"));
    }
}
