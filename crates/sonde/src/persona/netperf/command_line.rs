//! The words in order: those before `--`, those of the test behind it, and what is refused of them together.

pub mod draft;
pub mod global;
pub mod list;
pub mod number;
pub mod own;
pub mod refused;
pub mod rules;
pub mod server;
pub mod shape;
pub mod specific;
pub mod tos;
pub mod usage;

use crate::persona::answer::Answer;
use crate::persona::netperf::options::Options;

/// Reads the words behind the program's name. `program` is that name as it was typed.
///
/// # Errors
/// The text that is printed in place of a run: the usage, the version, a list of selectors, or the reason for which these
/// words cannot be.
pub fn parse(program: &str, words: &[String]) -> Result<Options, Answer> {
    let (mut draft, rest) = global::parse(program, words)?;
    if let Some(name) = &draft.unknown_test {
        return Err(global::unknown_test(name));
    }
    specific::parse(&mut draft, &rest)?;
    refused::check(&draft.options)?;
    draft.options.notes.extend(refused::notes(&draft.options));
    Ok(draft.options)
}

#[cfg(test)]
mod tests;
