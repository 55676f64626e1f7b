//! `sonde help`: a topic that no single command explains, or the help of a command.

use clap::Args;
use report::layout::{Page, Piece};

use crate::command::argv::nearest;
use crate::command::explain;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

/// The topics, a section each.
const TOPICS: &str = include_str!("../../../../docs/reference/topics.md");

const EXAMPLES: &str = "\
Examples:
  sonde help                      list the topics
  sonde help units                how times, sizes and rates are written
  sonde help rtt                  the same as `sonde rtt --help`
";

/// Arguments of `sonde help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct HelpOptions {
    /// A topic, or a command [default: list the topics]
    #[arg(value_name = "TOPIC")]
    words: Vec<String>,
}

/// Prints a topic, the help of a command, or the list of topics.
///
/// # Errors
/// A word that is neither.
pub fn run(options: &HelpOptions, mut definition: clap::Command, output: &Output) -> Result<Exit, Failure> {
    let topics = topics();
    let mut page = Page::new(*output.style());
    let word = options.words.join(" ");
    if options.words.is_empty() {
        page.answer("sonde help TOPIC");
        for topic in &topics {
            page.paragraph(2, &Piece::from(topic.name), 21, &topic.lines[0]);
        }
        page.gap();
        page.paragraph(0, &Piece::default(), 0, "sonde --help lists the commands, sonde COMMAND --help has examples.");
    } else if let Some(topic) = topics.iter().find(|topic| topic.name.eq_ignore_ascii_case(&word)) {
        page.answer(&topic.lines[0]);
        for line in topic.lines[1..].iter().skip_while(|line| line.is_empty()) {
            match line.strip_prefix("- ") {
                Some(item) => page.paragraph(2, &Piece::from("-"), 4, item),
                None if line.starts_with(' ') || line.is_empty() => page.line(0, &[Piece::from(line.as_str())]),
                None => page.paragraph(0, &Piece::default(), 0, line),
            }
        }
    } else {
        definition.build();
        output
            .result(&of_command(&mut definition, &options.words).ok_or_else(|| unknown(&word, &definition, &topics))?);
        return Ok(Exit::Done);
    }
    output.result(&page.finish());
    Ok(Exit::Done)
}

/// The help of a command, or of one within it.
fn of_command(definition: &mut clap::Command, words: &[String]) -> Option<String> {
    let found = words.iter().try_fold(definition, |command, word| command.find_subcommand_mut(word))?;
    Some(found.render_long_help().to_string())
}

/// The failure for a word that is neither a topic nor a command, with the nearest.
fn unknown(word: &str, definition: &clap::Command, topics: &[Topic]) -> Failure {
    let commands = definition.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name);
    let hint = match nearest(&word.to_lowercase(), topics.iter().map(|topic| topic.name).chain(commands)) {
        Some(near) => format!("sonde help {near}"),
        None if explain::is_explained(word) => format!("sonde explain {word}"),
        None => "`sonde help` lists the topics, `sonde explain` warnings and terms".to_owned(),
    };
    Failure::usage(format!("`{word}` is neither a topic nor a command")).hint(hint)
}

/// A topic: its name, and its lines, each a sentence or an item of a list.
struct Topic {
    name: &'static str,
    lines: Vec<String>,
}

/// The topics of their page.
fn topics() -> Vec<Topic> {
    let topic = |section: &'static str| {
        let (name, text) = section.split_once('\n').unwrap_or((section, ""));
        Topic { name: name.trim(), lines: lines(text) }
    };
    TOPICS.split("\n## ").skip(1).map(topic).collect()
}

/// Lines of a page that belong together, joined; those that are indented as code stay as they are.
fn lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.trim().lines() {
        let is_code = line.starts_with("    ");
        let line = if is_code { line.to_owned() } else { line.trim().replace('`', "") };
        let continues = open && !is_code && !line.is_empty() && !line.starts_with("- ");
        match lines.last_mut().filter(|_| continues) {
            Some(last) => last.extend([" ", &line]),
            None => lines.push(line.clone()),
        }
        open = !is_code && !line.is_empty();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_topic_begins_with_a_sentence_and_none_has_the_name_of_a_command() {
        let (topics, definition) = (topics(), crate::cli::definition());
        let names: Vec<&str> = topics.iter().map(|topic| topic.name).collect();
        assert_eq!(names, ["units", "exit status", "environment", "hosts and targets", "profiles", "warnings"]);
        for topic in &topics {
            assert!(topic.lines[0].ends_with('.') && topic.lines.len() > 2, "{}", topic.name);
            assert!(definition.find_subcommand(topic.name).is_none(), "{}", topic.name);
        }
    }

    #[test]
    fn the_topic_has_the_exit_status_of_every_help() {
        let status = |line: &str| line.trim().split_once("  ").map(|(status, says)| format!("- {status}: {says}"));
        let table: Vec<String> = crate::exit::TABLE.lines().filter_map(status).collect();
        let topics = topics();
        let topic = topics.iter().find(|topic| topic.name == "exit status").unwrap();
        let told: Vec<&String> = topic.lines.iter().filter(|line| line.starts_with("- ")).collect();
        assert_eq!(told, table.iter().collect::<Vec<_>>());
    }

    #[test]
    fn lines_that_belong_together_are_one() {
        let text = "One\ntwo.\n\n- a `b`\n  c\n- d\n\n    code\n    more\n\nend";
        assert_eq!(lines(text), ["One two.", "", "- a b c", "- d", "", "    code", "    more", "", "end"]);
    }

    #[test]
    fn a_word_that_is_none_is_answered_with_the_nearest() {
        let hint = |word: &str| unknown(word, &crate::cli::definition(), &topics()).told.hint.unwrap();
        assert_eq!(hint("profile"), "sonde help profiles");
        assert_eq!(hint("Unit"), "sonde help units");
        assert_eq!(hint("laod"), "sonde help load");
        assert_eq!(hint("disturbed"), "sonde explain disturbed");
        assert!(hint("zzzzzz").contains("lists the topics"));
    }
}
