//! Documents whose strings and numbers strangers wrote, told as text and as a page: nothing of theirs is obeyed or stops the program, wherever
//! it stands.

use std::sync::LazyLock;

use logbook::read::Document;
use serde_json::Value;

use crate::fixture;
use crate::layout::Style;
use crate::markup::for_terminal;
use crate::page::{self, Source};

/// One of each kind of document, and how many strings it has.
static GOOD: LazyLock<Vec<(Value, usize)>> = LazyLock::new(|| {
    let documents = [
        serde_json::to_value(fixture::closed()),
        serde_json::to_value(fixture::stream()),
        serde_json::to_value(fixture::comparison()),
        serde_json::to_value(fixture::search()),
        serde_json::to_value(fixture::look()),
        serde_json::to_value(fixture::run()),
    ];
    let counted = |mut document: Value| {
        let mut strings_there = 0;
        strings(&mut document, &mut |_| strings_there += 1);
        (document, strings_there)
    };
    documents.into_iter().flatten().map(counted).collect()
});

/// Spoils one string of a good document, as `octets` say, and tells it by every view of text: the first octet chooses the document, the
/// next two its string, and the rest is put there. Octets that are a document themselves are told as they are.
///
/// # Panics
/// Where a control of a stranger's would reach a terminal or a page.
pub fn document(octets: &[u8]) {
    let whole = str::from_utf8(octets).ok().and_then(|text| Document::read(text).ok());
    if let Some(document) = whole {
        assert_harmless(document);
    }
    let &[which, high, low, ref hostile @ ..] = octets else { return };
    let (good, strings_there) = &GOOD[usize::from(which) % GOOD.len()];
    let place = usize::from(u16::from_be_bytes([high, low])) % strings_there;
    if let Ok(document) = Document::read(&spoilt(good, place, &String::from_utf8_lossy(hostile)).to_string()) {
        assert_harmless(document);
    }
}

/// Visits each string of a document, keys of objects among them.
fn strings(value: &mut Value, visit: &mut dyn FnMut(&mut String)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(all) => all.iter_mut().for_each(|one| strings(one, visit)),
        Value::Object(all) => {
            let members = std::mem::take(all);
            for (mut key, mut member) in members {
                strings(&mut member, visit);
                visit(&mut key);
                all.insert(key, member);
            }
        }
        _ => {}
    }
}

/// The document with its string number `place` spoilt.
fn spoilt(good: &Value, place: usize, hostile: &str) -> Value {
    let (mut bad, mut at) = (good.clone(), 0);
    strings(&mut bad, &mut |text| {
        if at == place {
            hostile.clone_into(text);
        }
        at += 1;
    });
    bad
}

fn text(document: &Document, style: &Style) -> String {
    match document {
        Document::Record(record) => crate::text::render(record, style),
        Document::Search(found) => crate::search::render(found, style),
        Document::Study(found) => crate::study::render(found, style),
        Document::Look(found) => crate::look::render(found, style),
        Document::Run(found) => crate::run::render(found, style),
    }
}

/// Checks the document: colours of ours are all that is left of what a terminal obeys.
fn assert_harmless(document: Document) {
    for verbose in [false, true] {
        let told = text(&document, &Style { verbose, colour: true, ..Style::default() });
        let shown = for_terminal(&told);
        let rest = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[1m\u{1b}[33m", "\u{1b}[33m"]
            .iter()
            .fold(shown.to_string(), |rest, ours| rest.replace(ours, ""));
        let bad = rest.chars().find(|letter| is_obeyed(*letter) || *letter == '\t');
        assert_eq!(bad, None, "{rest:?}");
    }
    let source = Source { name: "a\u{1b}[45mb\u{1b}[0mc".to_owned(), document };
    let page = page::render(&[source], &[], None);
    assert_eq!(page.chars().find(|letter| is_obeyed(*letter)), None);
}

fn is_obeyed(letter: char) -> bool {
    letter.is_control() && !matches!(letter, '\n' | '\t')
        || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use serde_json::Number;

    use super::*;
    use crate::flat::{Form, Item, Table};

    /// Sequences that terminals obey, each within words; the colour is none of ours.
    const HOSTILE: [&str; 7] = [
        "a\u{1b}[45mb\u{1b}[0mc",
        "a\u{1b}]0;title\u{7}b",
        "a\u{9b}45m\u{85}b",
        "a\tb\u{202e}\u{2066}b\u{200f}",
        "a\r\u{8}\u{7f}\0b",
        "a\u{fdd0}\u{fdd1}\u{fdd2}\u{fdd3}\u{fdd4}\u{fdd5}\u{1b}[45mb",
        "\u{feff}\u{2028}\u{1b}[45",
    ];

    /// Strings of a document that are spoilt, one at a time: those of a large one are alike.
    const TRIES: usize = 150;

    #[test]
    fn no_string_of_a_document_is_obeyed() {
        for (good, all) in GOOD.iter() {
            let (mut told, mut tried) = (0, 0);
            for place in (0..*all).step_by((all / TRIES).max(1)) {
                // Where the string chooses a form it is no document any more.
                let bad = spoilt(good, place, HOSTILE[place % HOSTILE.len()]);
                if let Ok(document) = Document::read(&bad.to_string()) {
                    assert_harmless(document);
                    told += 1;
                }
                tried += 1;
            }
            assert!(told * 4 > tried, "{told} of {tried} strings could be spoilt: {}", good["format"]);
        }
    }

    /// Visits each whole number of a document with the names that lead to it: those of a list have one place.
    fn numbers(value: &mut Value, place: &str, visit: &mut dyn FnMut(&str, &mut Number)) {
        match value {
            Value::Number(number) if !number.is_f64() => visit(place, number),
            Value::Array(all) => all.iter_mut().for_each(|one| numbers(one, place, visit)),
            Value::Object(all) => {
                all.iter_mut().for_each(|(key, member)| numbers(member, &format!("{place}.{key}"), visit));
            }
            _ => {}
        }
    }

    /// The document with `extreme` for each of its numbers at one of `places`; `None` where no such document is read.
    fn with(good: &Value, places: &[&String], extreme: u64) -> Option<Document> {
        let mut bad = good.clone();
        numbers(&mut bad, "", &mut |place, number| {
            if places.iter().any(|one| *one == place) {
                *number = extreme.into();
            }
        });
        Document::read(&bad.to_string()).ok()
    }

    /// Tells the document by every view.
    fn tell(document: Document) {
        let item = Item { name: "a".to_owned(), document, place: None };
        for form in [Form::Csv, Form::Lines, Form::Markdown] {
            let mut table = Table::new(form, Vec::new()).expect("a vector takes everything");
            table.add(&item).expect("a vector takes everything");
        }
        assert_harmless(item.document);
    }

    /// Numbers of a document that are spoilt alone, one at a time.
    const ALONE: usize = 12;

    /// In a build for debugging a sum or difference that leaves its type ends the program.
    #[test]
    fn no_number_of_a_document_ends_the_program() {
        for (good, _) in GOOD.iter() {
            let mut places = BTreeSet::new();
            numbers(&mut good.clone(), "", &mut |place, _| {
                places.insert(place.to_owned());
            });
            // All numbers that may be so large, for what is added; each alone, for what is taken away.
            let wide: Vec<&String> = places.iter().filter(|place| with(good, &[*place], u64::MAX).is_some()).collect();
            assert!(wide.len() > 1, "{}", good["format"]);
            let alone = wide.iter().step_by(wide.len().div_ceil(ALONE)).map(std::slice::from_ref);
            for spoilt in alone.chain([&wide[..]]) {
                for extreme in [u64::MAX, 0] {
                    with(good, spoilt, extreme).into_iter().for_each(tell);
                }
            }
        }
    }

    #[test]
    fn the_inputs_of_the_fuzzer_are_harmless() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/inputs/report_text.tar");
        let archive = std::fs::read(path).expect("the archive of the target");
        let inputs = testbed::corpus::files(&archive).expect("a whole archive");
        assert!(inputs.len() >= 100, "{} inputs", inputs.len());
        for (name, octets) in inputs {
            assert!(std::panic::catch_unwind(|| document(octets)).is_ok(), "{name} reaches a terminal");
        }
    }
}
