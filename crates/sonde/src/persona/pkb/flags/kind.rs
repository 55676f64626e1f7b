//! Types of flags' values, and the reading of a value.

/// A flag of PKB's, and what becomes of it here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flag {
    /// Its name without dashes.
    pub name: &'static str,
    /// Type of its value.
    pub kind: Kind,
    /// Effect of the flag.
    pub fate: Fate,
}

/// Type of a flag's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Nothing, or a word of truth; `--noNAME` is its opposite.
    Switch,
    /// A whole number from the first to the second.
    Integer(i64, i64),
    /// A number, 0 or above.
    Number,
    /// Any text.
    Text,
    /// Words with commas between them.
    List,
    /// Whole numbers and ranges with commas between them: `1,4-8,16-64-16`.
    Integers,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Any text; said again, it is added.
    Texts,
    /// A number; said again, it is added.
    Numbers,
}

/// Effect of a flag.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    /// It does what it says; the text is for the help.
    Heeded(&'static str),
    /// It is taken, and changes no number here; the text says why.
    Idle(&'static str),
    /// It would change what is found, and cannot be had: refused unless its value is one of these.
    Refused {
        /// Values that ask for nothing.
        off: &'static [&'static str],
        /// Lack, and the words to give in its place.
        why: &'static str,
    },
}

/// Value of a flag.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A switch's.
    Switch(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// A text or a choice.
    Text(String),
    /// Words.
    List(Vec<String>),
    /// Whole numbers.
    Integers(Vec<u32>),
    /// Numbers.
    Numbers(Vec<f64>),
}

/// Most numbers that a list of them makes.
const MOST_INTEGERS: usize = 1_000;

impl Kind {
    /// Returns true where the flag, given again, is added to the value before.
    pub fn adds(self) -> bool {
        matches!(self, Self::Texts | Self::Numbers)
    }

    /// The value in `text`.
    ///
    /// # Errors
    /// The type that the text should have.
    pub fn read(self, text: &str) -> Result<Value, String> {
        match self {
            Self::Switch => truth(text).map(Value::Switch).ok_or_else(|| "is neither true nor false".to_owned()),
            Self::Integer(least, most) => match text.trim().parse::<i64>() {
                Ok(number) if (least..=most).contains(&number) => Ok(Value::Integer(number)),
                Ok(_) => Err(format!("is no whole number from {least} to {most}")),
                Err(_) => Err("is no whole number".to_owned()),
            },
            Self::Number => number(text).map(Value::Number),
            Self::Text => Ok(Value::Text(text.to_owned())),
            Self::List => Ok(Value::List(list(text))),
            Self::Integers => integers(text).map(Value::Integers),
            Self::Choice(words) if words.contains(&text) => Ok(Value::Text(text.to_owned())),
            Self::Choice(words) => Err(format!("is none of {}", words.join(", "))),
            Self::Texts => Ok(Value::List(vec![text.to_owned()])),
            Self::Numbers => number(text).map(|number| Value::Numbers(vec![number])),
        }
    }
}

impl Value {
    /// The two as one, where they are of a kind that adds up; else the later.
    pub fn and(self, later: Self) -> Self {
        match (self, later) {
            (Self::List(mut all), Self::List(more)) => {
                all.extend(more);
                Self::List(all)
            }
            (Self::Numbers(mut all), Self::Numbers(more)) => {
                all.extend(more);
                Self::Numbers(all)
            }
            (_, later) => later,
        }
    }
}

fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "t" | "1" => Some(true),
        "false" | "f" | "0" => Some(false),
        _ => None,
    }
}

fn number(text: &str) -> Result<f64, String> {
    let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "is no number from 0 up".to_owned())
}

/// Words with commas between them; no words in an empty text.
fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// `1,3,5-7,8-16-4`.
fn integers(text: &str) -> Result<Vec<u32>, String> {
    let wrong = || "is no list of whole numbers and ranges, as 1,4-8,16-64-16".to_owned();
    let mut all = Vec::new();
    for group in text.split(',') {
        let parts: Result<Vec<u32>, _> = group.trim().split(['-', ':']).map(str::parse).collect();
        let (first, last, step) = match parts.map_err(|_| wrong())?.as_slice() {
            [one] => (*one, *one, 1),
            [first, last] => (*first, *last, 1),
            [first, last, step] => (*first, *last, *step),
            _ => return Err(wrong()),
        };
        if step == 0 || first > last {
            return Err(wrong());
        }
        let room = MOST_INTEGERS - all.len();
        all.extend((first..=last).step_by(step as usize).take(room + 1));
        if all.len() > MOST_INTEGERS {
            return Err(format!("makes more than {MOST_INTEGERS} numbers"));
        }
    }
    Ok(all)
}
