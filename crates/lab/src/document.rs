//! A document of values in values, whatever it was written in; each value knows its line.

pub mod yaml;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Line at which it begins, a count from 1.
    pub line: usize,
    /// Value at that line.
    pub value: Value,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// One value without quotes, as it is written: a number, a truth or a text.
    Word(String),
    /// One value that is a text whatever it looks like.
    Text(String),
    /// A value that is nobody's business.
    Hidden,
    /// Values in their order.
    List(Vec<Node>),
    /// Values by name, each name once, in their order.
    Map(Vec<(String, Node)>),
}

impl Node {
    /// The value of this name, where this is a map that has one.
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.entries().iter().find(|(key, _)| key == name).map(|(_, node)| node)
    }

    /// The values of a map with their names; of anything else none.
    pub fn entries(&self) -> &[(String, Self)] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// Its text, where it is one value.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Word(text) | Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Its kind, in a word.
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Word(_) | Value::Text(_) | Value::Hidden => "a single value",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }
}

/// A fault at a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}: {hint}")]
pub struct Fault {
    /// A count from 1; 0: nowhere in particular.
    pub line: usize,
    /// The fault.
    pub what: String,
    /// Next step for the reader.
    pub hint: String,
}

impl Fault {
    pub(crate) fn new(line: usize, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { line, what: what.into(), hint: hint.into() }
    }

    /// A key that stands in a map already.
    pub(crate) fn twice(key: &str, line: usize, first: usize) -> Self {
        let what = format!("a second key `{}`: the first stands in line {first}", key.escape_debug());
        Self::new(line, what, "put both together: one would hide the other")
    }
}
