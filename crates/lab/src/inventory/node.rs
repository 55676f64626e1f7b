//! A document of values in values, whatever it was written in; each value knows its line.

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    /// Where it begins, a count from 1.
    pub line: usize,
    pub value: Value,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// Nothing.
    Null,
    /// One value, as text.
    Text(String),
    /// A value that is nobody's business.
    Hidden,
    List(Vec<Node>),
    /// Values by name, each name once, in their order.
    Map(Vec<(String, Node)>),
}

impl Node {
    /// The value of this name, where this is a map that has one.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        self.entries().iter().find(|(key, _)| key == name).map(|(_, node)| node)
    }

    /// The values of a map with their names; of anything else none.
    pub(super) fn entries(&self) -> &[(String, Self)] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// Its text, where it is one value.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What it is, in a word.
    pub(super) fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Text(_) | Value::Hidden => "a single value",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }
}
