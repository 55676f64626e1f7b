//! JSON as cJSON writes it: indented by tabs, or in one line.

use std::fmt::Write;

use crate::persona::iperf3::output::number;

/// A value to be written.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Keys in order; a key may come twice.
    Object(Vec<(&'static str, Value)>),
    /// Values in order.
    Array(Vec<Value>),
    /// A whole number.
    Integer(i64),
    /// Any other.
    Number(f64),
    /// Text.
    Text(String),
    /// `true` or `false`.
    Flag(bool),
    /// `null`.
    Null,
    /// JSON that somebody else wrote.
    Raw(String),
}

impl Value {
    /// A count.
    pub fn count(count: impl TryInto<i64>) -> Self {
        Self::Integer(count.try_into().unwrap_or(i64::MAX))
    }

    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Indented, with the end of its line.
    pub fn document(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, Some(0));
        text + "\n"
    }

    /// In one line, with its end.
    pub fn line(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, None);
        text + "\n"
    }

    /// `depth`: tabs in front of its end; `None`: no blanks at all.
    fn write(&self, out: &mut String, depth: Option<usize>) {
        match self {
            Self::Object(entries) => object(entries, out, depth),
            Self::Array(values) => {
                out.push('[');
                for (place, value) in values.iter().enumerate() {
                    if place > 0 {
                        out.push_str(if depth.is_some() { ", " } else { "," });
                    }
                    value.write(out, depth.map(|depth| depth + 1));
                }
                out.push(']');
            }
            Self::Integer(value) => {
                let _ = write!(out, "{value}");
            }
            Self::Number(value) => out.push_str(&number::json(*value)),
            Self::Text(text) => quote(text, out),
            Self::Flag(flag) => out.push_str(if *flag { "true" } else { "false" }),
            Self::Null => out.push_str("null"),
            Self::Raw(json) => match depth {
                Some(depth) => indent(json, out, depth),
                None => out.push_str(json),
            },
        }
    }
}

fn object(entries: &[(&'static str, Value)], out: &mut String, depth: Option<usize>) {
    out.push('{');
    if depth.is_some() {
        out.push('\n');
    }
    for (place, (key, value)) in entries.iter().enumerate() {
        if let Some(depth) = depth {
            tabs(depth + 1, out);
        }
        quote(key, out);
        out.push_str(if depth.is_some() { ":\t" } else { ":" });
        value.write(out, depth.map(|depth| depth + 1));
        if place + 1 < entries.len() {
            out.push(',');
        }
        if depth.is_some() {
            out.push('\n');
        }
    }
    if let Some(depth) = depth {
        tabs(depth, out);
    }
    out.push('}');
}

fn tabs(count: usize, out: &mut String) {
    out.extend(std::iter::repeat_n('\t', count));
}

fn quote(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

/// Deeper than any output of a server, and no deeper are tabs written.
const DEEPEST: usize = 64;

/// Sound JSON, written anew with tabs; strings and numbers stay as they are.
fn indent(json: &str, out: &mut String, depth: usize) {
    let mut inside: Vec<char> = Vec::new();
    // Within an array each level counts as well: depth of the lines is that of the innermost object.
    let level = |inside: &[char]| (depth + inside.len()).min(DEEPEST);
    let mut letters = json.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => {
                out.push('"');
                copy_string(&mut letters, out);
            }
            '{' => {
                inside.push('{');
                out.push_str("{\n");
                if letters.peek() != Some(&'}') {
                    tabs(level(&inside), out);
                }
            }
            '}' => {
                inside.pop();
                if !out.ends_with('\n') {
                    out.push('\n');
                }
                tabs(level(&inside), out);
                out.push('}');
            }
            '[' => {
                inside.push('[');
                out.push('[');
            }
            ']' => {
                inside.pop();
                out.push(']');
            }
            ',' if inside.last() == Some(&'{') => {
                out.push_str(",\n");
                tabs(level(&inside), out);
            }
            ',' => out.push_str(", "),
            ':' => out.push_str(":\t"),
            blank if blank.is_ascii_whitespace() => {}
            other => out.push(other),
        }
    }
}

fn copy_string(letters: &mut impl Iterator<Item = char>, out: &mut String) {
    while let Some(letter) = letters.next() {
        out.push(letter);
        match letter {
            '\\' => out.extend(letters.next()),
            '"' => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Value {
        let inner = Value::Object(vec![("socket", Value::Integer(5)), ("ok", Value::Flag(true))]);
        let again = Value::Object(vec![("seconds", Value::Number(0.5)), ("none", Value::Null)]);
        Value::Object(vec![
            ("list", Value::Array(vec![inner, again])),
            ("empty", Value::Array(Vec::new())),
            ("end", Value::Object(Vec::new())),
            ("text", Value::text("a\"b\\c\n\u{1}é")),
        ])
    }

    #[test]
    fn an_array_is_a_level_of_its_own() {
        let expected = "{\n\t\"list\":\t[{\n\t\t\t\"socket\":\t5,\n\t\t\t\"ok\":\ttrue\n\t\t}, {\n\t\t\t\"seconds\":\t0.5,\n\
                        \t\t\t\"none\":\tnull\n\t\t}],\n\t\"empty\":\t[],\n\t\"end\":\t{\n\t},\n\
                        \t\"text\":\t\"a\\\"b\\\\c\\n\\u0001é\"\n}\n";
        assert_eq!(sample().document(), expected);
    }

    #[test]
    fn a_line_has_no_blanks() {
        let expected = "{\"list\":[{\"socket\":5,\"ok\":true},{\"seconds\":0.5,\"none\":null}],\"empty\":[],\"end\":{},\
                        \"text\":\"a\\\"b\\\\c\\n\\u0001é\"}\n";
        assert_eq!(sample().line(), expected);
    }

    #[test]
    fn what_another_wrote_in_one_line_is_indented_alike() {
        let raw = Value::Raw(sample().line());
        assert_eq!(Value::Object(vec![("raw", raw)]).document(), Value::Object(vec![("raw", sample())]).document());
    }

    #[test]
    fn what_is_no_json_does_no_harm() {
        for text in ["", "}", "]]", "\"", "{\"a\\", "[[[[", ",:,"] {
            assert!(Value::Raw(text.to_owned()).document().ends_with('\n'));
        }
    }
}
