//! JSON as a [`Node`]. Its own reader decides that it is JSON, and reads its strings; here values get their lines.

use std::collections::BTreeMap;

use crate::document::Fault;
use crate::document::{Node, Value};

/// The document `text`.
pub(super) fn read(text: &str) -> Result<Node, Fault> {
    let hint = "it is what `tofu output -json` prints, or a list of static machines, whole and unchanged";
    // It refuses what lies too deep.
    serde_json::from_str::<serde::de::IgnoredAny>(text)
        .map_err(|error| Fault::new(error.line(), format!("no JSON: {error}"), hint))?;
    let mut reader = Reader { text, at: 0, line: 1 };
    reader.value()
}

/// A place in a text that is JSON.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl<'a> Reader<'a> {
    /// The next byte that is no space; 0 at the end.
    fn peek(&mut self) -> u8 {
        while let Some(&byte) = self.text.as_bytes().get(self.at) {
            if !byte.is_ascii_whitespace() {
                return byte;
            }
            self.line += usize::from(byte == b'\n');
            self.at += 1;
        }
        0
    }

    fn value(&mut self) -> Result<Node, Fault> {
        let (first, line) = (self.peek(), self.line);
        let value = match first {
            b'{' => self.map()?,
            b'[' => self.list()?,
            b'"' => Value::Text(self.string()?),
            _ => match self.word() {
                "null" => Value::Null,
                word => Value::Word(word.to_owned()),
            },
        };
        Ok(Node { line, value })
    }

    fn word(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let end = rest.find(|letter: char| letter.is_whitespace() || ",]}:".contains(letter)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn string(&mut self) -> Result<String, Fault> {
        let bytes = &self.text.as_bytes()[self.at..];
        let mut end = 1;
        while bytes.get(end).is_some_and(|byte| *byte != b'"') {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        let text = self.text.get(self.at..self.at + end + 1).unwrap_or("\"");
        self.at += text.len();
        serde_json::from_str(text)
            .map_err(|error| Fault::new(self.line, format!("no JSON: {error}"), "check the quotes"))
    }

    /// Past a comma or the end of what was opened; whether it is the end.
    fn closes(&mut self, end: u8) -> bool {
        let byte = self.peek();
        self.at += usize::from(byte == b',' || byte == end);
        byte != b','
    }

    fn list(&mut self) -> Result<Value, Fault> {
        let mut items = Vec::new();
        self.at += 1;
        if self.peek() == b']' {
            self.at += 1;
            return Ok(Value::List(items));
        }
        loop {
            items.push(self.value()?);
            if self.closes(b']') {
                return Ok(Value::List(items));
            }
        }
    }

    fn map(&mut self) -> Result<Value, Fault> {
        let mut entries = Vec::new();
        let mut seen = BTreeMap::new();
        self.at += 1;
        if self.peek() == b'}' {
            self.at += 1;
            return Ok(Value::Map(entries));
        }
        loop {
            self.peek();
            let (name, line) = (self.string()?, self.line);
            if let Some(first) = seen.insert(name.clone(), line) {
                return Err(Fault::twice(&name, line, first));
            }
            self.peek();
            self.at += 1;
            entries.push((name, self.value()?));
            if self.closes(b'}') {
                return Ok(Value::Map(entries));
            }
        }
    }
}
