//! Output of a program that was called from a shell: the fixture that an output is compared with.
//!
//! ```text
//! # a remark
//! $ program --option 'one word'
//! --- stdout
//! …
//! --- stderr
//! …
//! --- exit status 0
//! ```
//! Standard output and error are kept octet by octet, so also where the last line has no end.

/// One call of a program, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Console {
    /// Remarks for the reader.
    pub remarks: Vec<String>,
    /// The words it was called with, its name first.
    pub command: Vec<String>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// Its exit status.
    pub status: i32,
}

impl Console {
    /// Reads the text form; the error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (head, rest) = text.split_once("--- stdout\n").ok_or("no line `--- stdout`")?;
        let (stdout, rest) = rest.split_once("--- stderr\n").ok_or("no line `--- stderr`")?;
        let (stderr, rest) = rest.split_once("--- exit status ").ok_or("no line `--- exit status`")?;
        let status = rest.trim_end().parse().map_err(|_| format!("no exit status: {rest:?}"))?;
        let mut remarks = Vec::new();
        let mut command = None;
        for line in head.lines() {
            match (line.strip_prefix("# "), line.strip_prefix("$ ")) {
                (Some(remark), _) => remarks.push(remark.to_owned()),
                (_, Some(line)) if command.is_none() => command = Some(words(line)?),
                _ => return Err(format!("neither a remark nor a command: {line:?}")),
            }
        }
        let command = command.filter(|words| !words.is_empty()).ok_or("no command")?;
        Ok(Self { remarks, command, stdout: stdout.to_owned(), stderr: stderr.to_owned(), status })
    }

    /// The words behind the program's name.
    pub fn arguments(&self) -> &[String] {
        &self.command[1..]
    }
}

/// The words of a line, as a shell takes it apart at blanks and single quotes.
fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    for letter in line.chars() {
        match letter {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    if quoted { Err(format!("a quote without its end: {line}")) } else { Ok(words) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# one\n$ netperf -k 'A, B' '' x\n--- stdout\nA=1 \nuuid--- stderr\nhm\n--- exit status 255\n";

    #[test]
    fn a_call_is_read() {
        let console = Console::parse(TEXT).unwrap();
        assert_eq!(console.remarks, ["one"]);
        assert_eq!(console.command, ["netperf", "-k", "A, B", "", "x"]);
        assert_eq!(console.arguments().len(), 4);
        assert_eq!((console.stdout.as_str(), console.stderr.as_str()), ("A=1 \nuuid", "hm\n"));
        assert_eq!(console.status, 255);
    }

    #[test]
    fn what_lacks_a_part_is_refused() {
        for part in ["--- stdout\n", "--- stderr\n", "--- exit status 255\n", "$ netperf -k 'A, B' '' x\n"] {
            assert!(Console::parse(&TEXT.replace(part, "")).is_err(), "{part}");
        }
        assert!(Console::parse(&TEXT.replace("255", "x")).is_err());
        assert!(Console::parse(&TEXT.replace("B'", "B")).is_err());
        assert!(Console::parse(&TEXT.replace("# one", "one")).is_err());
    }
}
