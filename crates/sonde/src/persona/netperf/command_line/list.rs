//! The list behind `-o`, `-O` and `-k`: what is selected, or the names of all selectors where `?` asks for them.

use crate::persona::answer::Answer;
use crate::persona::netperf::options::form::{Form, Selection};
use crate::persona::netperf::selection;
use crate::persona::netperf::selector;

/// The form that a letter and the word behind it ask for, and what there is to say about unknown names.
///
/// # Errors
/// `?`: the names, with status 1.
pub fn form(letter: char, word: Option<&str>) -> Result<(Form, Option<String>), Answer> {
    if word == Some("?") {
        return Err(names(letter));
    }
    let (selection, unknown) = word.map_or((Selection::Default, Vec::new()), selection::read);
    let note = (!unknown.is_empty()).then(|| selection::unknown_note(letter, &unknown));
    let form = match letter {
        'o' => Form::Csv(selection),
        'O' => Form::Human(selection),
        _ => Form::Keyval(selection),
    };
    Ok((form, note))
}

/// All names between the two marks that the real program's table ends with: ours come last among them.
fn names(letter: char) -> Answer {
    let names: Vec<&str> =
        std::iter::once("OUTPUT_NONE").chain(selector::names()).chain(std::iter::once("OUTPUT_END")).collect();
    let separator = if letter == 'O' { "\n" } else { "," };
    Answer::said(names.join(separator) + "\n", 1)
}
