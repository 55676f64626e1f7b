//! Pages of the documentation, as a reader takes them: blocks, commands that are typed, and output that is shown below them.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the whole project.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of a page, which is named from the folder of the project.
///
/// # Panics
/// Where it cannot be read.
pub fn read(page: &str) -> String {
    fs::read_to_string(root().join(page)).unwrap_or_else(|error| panic!("{page}: {error}"))
}

/// The names of the pages in a folder of the project, in their order.
///
/// # Panics
/// Where the folder cannot be read.
pub fn pages_in(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(folder)).unwrap_or_else(|error| panic!("{folder}: {error}"));
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name in UTF-8"));
    let mut pages: Vec<String> =
        names.filter(|name| name.strip_suffix(".md").is_some()).map(|name| format!("{folder}/{name}")).collect();
    pages.sort();
    pages
}

/// A block of a page between two fences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    /// The word behind its first fence.
    pub mark: &'a str,
    /// The name of its screen, `<!-- screen: NAME -->` on the line before it.
    pub screen: Option<&'a str>,
    /// Its lines.
    pub text: String,
}

/// The blocks of a page.
pub fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut inside = false;
    let mut before = "";
    for line in page.lines() {
        match line.strip_prefix("```") {
            Some(mark) if !inside => {
                let screen = before.strip_prefix("<!-- screen: ").and_then(|rest| rest.strip_suffix(" -->"));
                blocks.push(Block { mark, screen, text: String::new() });
                inside = true;
            }
            Some(_) => inside = false,
            None if inside => blocks.last_mut().expect("one has begun").text.extend([line, "\n"]),
            None => {}
        }
        before = line;
    }
    blocks
}

impl Block<'_> {
    /// The commands behind its prompts, where it is a console; each with the output that is shown below it.
    pub fn commands(&self) -> Vec<(&str, String)> {
        let mut commands: Vec<(&str, String)> = Vec::new();
        for line in self.text.lines().filter(|_| self.mark == "console") {
            match (line.strip_prefix("$ "), commands.last_mut()) {
                (Some(command), _) => commands.push((command, String::new())),
                (None, Some((_, output))) => output.extend([line, "\n"]),
                (None, None) => {}
            }
        }
        commands
    }
}

/// Spans of code: the texts between backquotes outside of blocks.
pub fn spans(page: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    let outside = page.lines().filter(move |line| {
        let is_fence = line.starts_with("```");
        inside ^= is_fence;
        !inside && !is_fence
    });
    outside.flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// A command line from the name of our program on, whoever runs it and wherever; `None` where it is another program's.
pub fn of_ours(line: &str) -> Option<&str> {
    let line = line.strip_prefix("sudo ").unwrap_or(line);
    let in_namespace = line.strip_prefix("ip netns exec ").and_then(|rest| rest.split_once(' '));
    let line = in_namespace.map_or(line, |(_, command)| command);
    line.starts_with("sonde ").then_some(line)
}

/// A text with `0` for each number, digits that follow each other being one.
pub fn form(text: &str) -> String {
    let mut form = String::new();
    for c in text.chars() {
        match c {
            '0'..='9' if form.ends_with('0') => {}
            '0'..='9' => form.push('0'),
            other => form.push(other),
        }
    }
    form
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_their_marks_names_and_commands() {
        let page = "a\n<!-- screen: one -->\n```console\n$ sudo sonde rtt a\n  1 ms\n$ ls\n```\nb\n```\n$ c\n```\n";
        let found = blocks(page);
        assert_eq!(
            found.iter().map(|block| (block.mark, block.screen)).collect::<Vec<_>>(),
            [("console", Some("one")), ("", None)]
        );
        assert_eq!(found[0].commands(), [("sudo sonde rtt a", "  1 ms\n".to_owned()), ("ls", String::new())]);
        assert_eq!(found[1].commands(), []);
        assert_eq!(spans("`a` b `c d`\n```\n`e`\n```\n`f`\n").collect::<Vec<_>>(), ["a", "c d", "f"]);
    }

    #[test]
    fn ours_is_what_is_run_by_whomever_and_wherever() {
        assert_eq!(of_ours("sudo ip netns exec a sonde serve # there"), Some("sonde serve # there"));
        assert_eq!(of_ours("ls"), None);
    }

    #[test]
    fn numbers_have_one_form() {
        assert_eq!(form("p99 12.5 µs"), "p0 0.0 µs");
    }
}
