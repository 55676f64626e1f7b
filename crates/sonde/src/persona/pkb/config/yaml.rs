//! The part of YAML that files of settings are written in: blocks of mappings and lists, `[a, b]` and `{a: b}`, quotes, remarks, folded
//! text. Anchors, tags and several documents are refused. Every bare word is a text, but for true, false and null.

use serde_json::{Map, Value};

/// How deep a document may nest.
const DEEPEST: usize = 32;
/// Most lines of a document.
const MOST_LINES: usize = 20_000;

/// A line without its remark.
#[derive(Clone, Debug)]
struct Line {
    indent: usize,
    text: String,
    number: usize,
}

/// The document in `text`.
///
/// # Errors
/// The line that is not understood, and why.
pub fn read(text: &str) -> Result<Value, String> {
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate().take(MOST_LINES + 1) {
        if at == MOST_LINES {
            return Err(format!("has more than {MOST_LINES} lines"));
        }
        let bare = without_remark(line).trim_end();
        let content = bare.trim_start_matches(' ');
        if content.starts_with('\t') {
            return Err(format!("line {}: a tab indents: take spaces", at + 1));
        }
        if content.is_empty() || (at == 0 && content.starts_with("---")) {
            continue;
        }
        if content == "---" || content == "..." || content.starts_with('%') {
            if lines.is_empty() {
                continue;
            }
            return Err(format!("line {}: one document is read", at + 1));
        }
        lines.push(Line { indent: bare.len() - content.len(), text: content.to_owned(), number: at + 1 });
    }
    let mut reader = Reader { lines, at: 0 };
    let Some(first) = reader.lines.first() else { return Ok(Value::Null) };
    let indent = first.indent;
    let value = reader.block(indent, 0)?;
    match reader.lines.get(reader.at) {
        Some(line) => Err(format!("line {}: stands out of line", line.number)),
        None => Ok(value),
    }
}

/// A word by itself.
pub fn scalar(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "None" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => Value::String(unquoted(text)),
    }
}

fn unquoted(text: &str) -> String {
    if let Some(inner) = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        return inner.replace("''", "'");
    }
    match text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) => inner.replace("\\\"", "\"").replace("\\\\", "\\"),
        None => text.to_owned(),
    }
}

/// Up to a `#` that begins a remark: at the start or behind a blank, outside of quotes.
fn without_remark(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (at, letter) in line.char_indices() {
        match quote {
            Some(open) => quote = (letter != open).then_some(open),
            None if letter == '#' && before.is_whitespace() => return &line[..at],
            None if (letter == '"' || letter == '\'') && " [{,:-".contains(before) => quote = Some(letter),
            None => {}
        }
        before = letter;
    }
    line
}

/// Where a key ends: at a colon with a blank or nothing behind it, outside of quotes.
fn key_end(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, letter) in text.char_indices() {
        match quote {
            Some(open) => quote = (letter != open).then_some(open),
            None if at == 0 && (letter == '"' || letter == '\'') => quote = Some(letter),
            None if letter == ':' && text[at + 1..].chars().next().is_none_or(|next| next == ' ') => return Some(at),
            None => {}
        }
    }
    None
}

struct Reader {
    lines: Vec<Line>,
    at: usize,
}

impl Reader {
    fn peek(&self, indent: usize) -> Option<&Line> {
        self.lines.get(self.at).filter(|line| line.indent == indent)
    }

    fn block(&mut self, indent: usize, depth: usize) -> Result<Value, String> {
        let Some(line) = self.peek(indent) else { return Ok(Value::Null) };
        if depth > DEEPEST {
            return Err(format!("line {}: nested more than {DEEPEST} deep", line.number));
        }
        if is_item(&line.text) {
            return self.list(indent, depth);
        }
        if key_end(&line.text).is_some() && !line.text.starts_with(['[', '{']) {
            return self.mapping(indent, depth);
        }
        let (text, number) = (line.text.clone(), line.number);
        self.at += 1;
        self.value(&text, indent, number, depth)
    }

    fn list(&mut self, indent: usize, depth: usize) -> Result<Value, String> {
        let mut list = Vec::new();
        while let Some(line) = self.peek(indent).filter(|line| is_item(&line.text)).cloned() {
            let rest = line.text[1..].trim_start();
            let offset = line.text.len() - rest.len();
            if rest.is_empty() {
                self.at += 1;
                list.push(self.nested(indent, depth)?);
            } else if is_item(rest) || (key_end(rest).is_some() && !rest.starts_with(['[', '{'])) {
                // What stands behind the dash begins a block of its own, as deep as it stands.
                self.lines[self.at] = Line { indent: indent + offset, text: rest.to_owned(), number: line.number };
                list.push(self.block(indent + offset, depth + 1)?);
            } else {
                self.at += 1;
                list.push(self.value(rest, indent, line.number, depth)?);
            }
        }
        Ok(Value::Array(list))
    }

    fn mapping(&mut self, indent: usize, depth: usize) -> Result<Value, String> {
        let mut map = Map::new();
        while let Some(line) = self.peek(indent).cloned() {
            let Some(end) = key_end(&line.text) else {
                return Err(format!("line {}: expected `key: value`", line.number));
            };
            let (key, rest) = (unquoted(line.text[..end].trim()), line.text[end + 1..].trim());
            self.at += 1;
            let value = match rest {
                "" => match self.peek(indent).filter(|next| is_item(&next.text)) {
                    Some(_) => self.list(indent, depth + 1)?,
                    None => self.nested(indent, depth)?,
                },
                _ => self.value(rest, indent, line.number, depth)?,
            };
            if map.insert(key.clone(), value).is_some() {
                return Err(format!("line {}: `{key}` is there twice", line.number));
            }
        }
        Ok(Value::Object(map))
    }

    /// The block that is deeper than `indent`; nothing where there is none.
    fn nested(&mut self, indent: usize, depth: usize) -> Result<Value, String> {
        match self.lines.get(self.at).map(|line| line.indent) {
            Some(deeper) if deeper > indent => self.block(deeper, depth + 1),
            _ => Ok(Value::Null),
        }
    }

    /// A value that begins in a line, and may go on in deeper ones.
    fn value(&mut self, first: &str, indent: usize, number: usize, depth: usize) -> Result<Value, String> {
        if first.starts_with(['&', '*', '!', '@', '`']) {
            return Err(format!("line {number}: `{first}`: anchors, references and tags are not read: write it out"));
        }
        let mut text = if first.starts_with(['>', '|']) { String::new() } else { first.to_owned() };
        while let Some(line) = self.lines.get(self.at).filter(|line| line.indent > indent) {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(&line.text);
            self.at += 1;
        }
        if text.starts_with(['[', '{']) {
            let mut flow = Flow { rest: &text };
            let value = flow.value(depth).map_err(|what| format!("line {number}: {what}"))?;
            return match flow.rest.trim() {
                "" => Ok(value),
                rest => Err(format!("line {number}: `{rest}` stands behind a list or mapping")),
            };
        }
        Ok(scalar(&text))
    }
}

fn is_item(text: &str) -> bool {
    text == "-" || text.starts_with("- ")
}

/// `[a, {b: c}]`.
struct Flow<'a> {
    rest: &'a str,
}

impl Flow<'_> {
    fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth > DEEPEST {
            return Err(format!("nested more than {DEEPEST} deep"));
        }
        self.rest = self.rest.trim_start();
        if self.eat('[') {
            let mut list = Vec::new();
            while !self.eat(']') {
                list.push(self.value(depth + 1)?);
                self.comma(']')?;
            }
            return Ok(Value::Array(list));
        }
        if self.eat('{') {
            let mut map = Map::new();
            while !self.eat('}') {
                let key = unquoted(&self.word(true)?);
                let value = if self.eat(':') { self.value(depth + 1)? } else { Value::Null };
                map.insert(key, value);
                self.comma('}')?;
            }
            return Ok(Value::Object(map));
        }
        self.word(false).map(|word| scalar(&word))
    }

    fn eat(&mut self, letter: char) -> bool {
        self.rest = self.rest.trim_start();
        let rest = self.rest.strip_prefix(letter);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// A comma, or what closes: that is left for its own turn.
    fn comma(&mut self, closing: char) -> Result<(), String> {
        if self.eat(',') || self.rest.starts_with(closing) {
            return Ok(());
        }
        Err(format!("`{closing}` or a comma is missing"))
    }

    fn word(&mut self, is_key: bool) -> Result<String, String> {
        self.rest = self.rest.trim_start();
        let quote = self.rest.chars().next().filter(|letter| "'\"".contains(*letter));
        let end = match quote {
            Some(quote) => self.rest[1..].find(quote).map(|end| end + 2).ok_or("a quote is left open")?,
            None => self
                .rest
                .char_indices()
                .find(|(at, letter)| ",[]{}".contains(*letter) || (is_key && *letter == ':' && *at > 0))
                .map_or(self.rest.len(), |(at, _)| at),
        };
        let word = self.rest[..end].trim().to_owned();
        if word.is_empty() {
            return Err("a word is missing".to_owned());
        }
        self.rest = &self.rest[end..];
        Ok(word)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use test_case::test_case;

    use super::*;

    #[test]
    fn settings_are_read() {
        let text = "# of regions\nping:\n  description: >\n    from each\n    to each\n  flag_matrix: inter_region   # its name\n  \
                    flag_matrix_filters:\n    inter_region: \"zones < extra_zones\"\n  flag_matrix_defs:\n    inter_region:\n      \
                    zones: [asia-east1-a,us-east1-b,\n        us-west1-a]\n      machine_type:\n      - n1-standard-2\n      \
                    - 'c2 #4'\n  flags: {cloud: GCP, official: true, owner: ~}\n";
        let expected = json!({"ping": {
            "description": "from each to each",
            "flag_matrix": "inter_region",
            "flag_matrix_filters": {"inter_region": "zones < extra_zones"},
            "flag_matrix_defs": {"inter_region": {
                "zones": ["asia-east1-a", "us-east1-b", "us-west1-a"], "machine_type": ["n1-standard-2", "c2 #4"]}},
            "flags": {"cloud": "GCP", "official": true, "owner": null},
        }});
        assert_eq!(read(text), Ok(expected));
    }

    #[test]
    fn lists_of_mappings_are_read() {
        let text = "benchmarks:\n- netperf:\n    flags:\n      netperf_test_length: 10\n- iperf: {}\n-\n  ping:\n";
        let expected = json!({"benchmarks": [
            {"netperf": {"flags": {"netperf_test_length": "10"}}}, {"iperf": {}}, {"ping": null}]});
        assert_eq!(read(text), Ok(expected));
    }

    #[test_case("a: *b", "line 1"; "a reference")]
    #[test_case("a: 1\n---\nb: 2", "one document"; "two documents")]
    #[test_case("a: [1, 2", "`]` or a comma"; "an open list")]
    #[test_case("a:\n\tb: 1", "a tab"; "a tab")]
    #[test_case("a: 1\na: 2", "twice"; "a key twice")]
    #[test_case("a: 1\nb", "expected `key: value`"; "no key")]
    #[test_case("  a: 1\nb: 2", "out of line"; "further out")]
    fn what_is_not_understood_is_told(text: &str, says: &str) {
        let fault = read(text).unwrap_err();
        assert!(fault.contains(says), "{fault}");
    }

    #[test]
    fn deep_nesting_is_refused() {
        assert!(read(&format!("a: {}", "[".repeat(100_000))).unwrap_err().contains("deep"));
        let steps: String = (0..2_000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect::<Vec<_>>().concat();
        assert!(read(&steps).unwrap_err().contains("deep"));
        assert_eq!(read("# nothing\n"), Ok(Value::Null));
    }
}
