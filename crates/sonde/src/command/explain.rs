//! `sonde explain`: a warning or a term of the output, by the pages of documentation that this program was built with.

use clap::Args;
use report::layout::{Page, Piece};

use crate::command::argv::nearest;
use crate::command::reference::warnings;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

/// The terms, in tables whose rows are term, definition and Japanese term.
const GLOSSARY: &str = include_str!("../../../../docs/reference/glossary.md");

const EXAMPLES: &str = "\
Examples:
  sonde explain disturbed         a warning, by its kind
  sonde explain schedule lag      a term of the glossary
  sonde explain                   list all of them
";

/// Arguments of `sonde explain`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ExplainOptions {
    /// Kind of a warning, or a term of the glossary [default: list all]
    #[arg(value_name = "WORD")]
    words: Vec<String>,
}

/// One word that can be explained.
struct Entry {
    /// The word and its synonyms, as they are printed.
    names: Vec<String>,
    /// Paragraphs of the explanation.
    paragraphs: Vec<String>,
}

impl Entry {
    fn is_named(&self, word: &str) -> bool {
        self.names.iter().any(|name| name.eq_ignore_ascii_case(word))
    }
}

/// Prints the explanation of a word, or the list of words.
///
/// # Errors
/// A word that is neither a warning nor a term.
pub fn run(options: &ExplainOptions, output: &Output) -> Result<Exit, Failure> {
    let (warnings, terms) = (warning_entries(&warnings::page()), term_entries(GLOSSARY));
    let mut page = Page::new(*output.style());
    if options.words.is_empty() {
        for (label, entries) in [("Warnings", &warnings), ("Terms", &terms)] {
            page.gap();
            page.answer(&format!("{label}:"));
            let names: Vec<Piece> = entries.iter().map(|entry| Piece::from(entry.names[0].as_str())).collect();
            page.flow(2, 2, ", ", &names);
        }
    } else {
        let word = options.words.join(" ");
        let all = || warnings.iter().chain(&terms);
        let entries: Vec<&Entry> = all().filter(|entry| entry.is_named(&word)).collect();
        if entries.is_empty() {
            return Err(unknown(&word, all()));
        }
        for entry in entries {
            page.gap();
            page.answer(&entry.names.join(", "));
            for paragraph in &entry.paragraphs {
                page.paragraph(2, &Piece::default(), 2, paragraph);
            }
        }
    }
    output.result(&page.finish());
    Ok(Exit::Done)
}

/// True where there is an explanation of a word.
pub fn is_explained(word: &str) -> bool {
    warning_entries(&warnings::page()).iter().chain(&term_entries(GLOSSARY)).any(|entry| entry.is_named(word))
}

/// The failure for a word without explanation, with the nearest one that has one.
fn unknown<'a>(word: &str, entries: impl Iterator<Item = &'a Entry>) -> Failure {
    let names = entries.flat_map(|entry| &entry.names).map(String::as_str);
    let hint = match nearest(word, names) {
        Some(name) => format!("sonde explain {name}"),
        None => "`sonde explain` lists all words".to_owned(),
    };
    Failure::usage(format!("`{word}` is neither a warning nor a term of the glossary")).hint(hint)
}

/// The warnings of their page: a heading for each kind, and the text below it.
fn warning_entries(page: &str) -> Vec<Entry> {
    let sections = page.split("\n### `").skip(1);
    let entry = |section: &str| {
        let (kind, text) = section.split_once('`')?;
        let text = text.split("\n## ").next()?;
        let lines = text.lines().map(|line| line.trim_start_matches('>').trim().trim_end_matches('\\'));
        let paragraphs = lines.filter(|line| !line.is_empty()).map(|line| line.replace('`', "")).collect();
        Some(Entry { names: vec![kind.to_owned()], paragraphs })
    };
    sections.filter_map(entry).collect()
}

/// The terms of the glossary. A term before a comma or a bracket is a name by itself.
fn term_entries(glossary: &str) -> Vec<Entry> {
    let entry = |line: &str| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        let (term, definition) = (cells.next()?.replace('`', ""), cells.next()?.replace('`', ""));
        let names = term.split([',', '(', ')']).map(str::trim).filter(|name| !name.is_empty());
        let is_head = term == "term" || term.starts_with("---");
        (!is_head).then(|| Entry { names: names.map(str::to_owned).collect(), paragraphs: vec![definition] })
    };
    glossary.lines().filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_warning_and_every_term_has_an_explanation() {
        let (warnings, terms) = (warning_entries(&warnings::page()), term_entries(GLOSSARY));
        let kinds = warnings::page().matches("\n### ").count();
        assert_eq!(warnings.len(), kinds);
        assert!(terms.len() > 50, "only {} terms are found", terms.len());
        for entry in warnings.iter().chain(&terms) {
            assert!(!entry.names.is_empty() && !entry.paragraphs.concat().is_empty(), "{:?}", entry.names);
        }
    }

    #[test]
    fn a_term_goes_by_each_of_its_names() {
        let entries =
            term_entries("| term | definition | 日本語 |\n| --- | --- | --- |\n| round-trip time, RTT | a | b |\n");
        assert_eq!(entries.len(), 1);
        assert!(entries[0].is_named("rtt") && entries[0].is_named("Round-trip time") && !entries[0].is_named("time"));
    }

    #[test]
    fn a_mistyped_word_is_answered_with_the_nearest() {
        let hint = |word: &str| unknown(word, term_entries(GLOSSARY).iter()).told.hint.unwrap();
        assert_eq!(hint("schedul lag"), "sonde explain schedule lag");
        assert!(hint("zzzzzzzzzzzz").contains("lists all"));
    }
}
