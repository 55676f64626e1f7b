//! The rules by which netperf and netserver read their words: GNU's, in two sections with `--` between them.
//!
//! Long options are ours alone: the real program has none.

use crate::persona::getopt::{Dashes, Entry, Fault, GNU, Rules, Takes, Why};

/// The rules.
pub const RULES: Rules = Rules { abbreviations: false, dashes: Dashes::Section, ..GNU };

/// The complaint of a word.
pub fn complaint(program: &str, fault: &Fault) -> String {
    let says = match (fault.why, fault.letter) {
        (Why::Unknown, None) => format!("unrecognized option '{}'", fault.typed()),
        (Why::Value, None) => format!("unrecognized option '{}'", fault.word),
        _ => fault.glibc(),
    };
    format!("{program}: {says}\n")
}

/// Returns true where an empty word was given to a letter that needs a value. A brand may be empty.
pub fn lacks_value(entry: &Entry<()>, letter: char, text: &str) -> bool {
    entry.takes == Takes::Value && text.is_empty() && letter != 'B'
}
