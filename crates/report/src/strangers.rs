//! Documents whose strings strangers wrote, told as text and as a page: nothing of theirs is obeyed, wherever it stands.

use logbook::read::Document;
use serde_json::Value;

use crate::fixture;
use crate::layout::Style;
use crate::markup::for_terminal;
use crate::page::{self, Source};

/// What terminals obey, each within words; the colour is none of ours.
const HOSTILE: [&str; 7] = [
    "a\u{1b}[45mb\u{1b}[0mc",
    "a\u{1b}]0;title\u{7}b",
    "a\u{9b}45m\u{85}b",
    "a\u{202e}\u{2066}b\u{200f}",
    "a\r\u{8}\u{7f}\0b",
    "a\u{fdd0}\u{fdd1}\u{fdd2}\u{fdd3}\u{fdd4}\u{fdd5}\u{1b}[45mb",
    "\u{feff}\u{2028}\u{1b}[45",
];

/// Strings of a document that are spoilt, one at a time: those of a large one are alike.
const TRIES: usize = 150;

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
fn spoilt(good: &Value, place: usize) -> Value {
    let (mut bad, mut at) = (good.clone(), 0);
    strings(&mut bad, &mut |text| {
        if at == place {
            HOSTILE[place % HOSTILE.len()].clone_into(text);
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

/// Of the document: colours of ours are all that is left of what a terminal obeys.
fn assert_harmless(document: Document) {
    for verbose in [false, true] {
        let told = text(&document, &Style { verbose, colour: true, ..Style::default() });
        let shown = for_terminal(&told);
        let rest = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[1m\u{1b}[33m", "\u{1b}[33m"]
            .iter()
            .fold(shown.to_string(), |rest, ours| rest.replace(ours, ""));
        let bad = rest.chars().find(|letter| is_obeyed(*letter));
        assert_eq!(bad, None, "{rest:?}");
    }
    let source = Source { name: HOSTILE[0].to_owned(), document };
    let page = page::render(&[source], &[], None);
    assert_eq!(page.chars().find(|letter| is_obeyed(*letter)), None);
}

fn is_obeyed(letter: char) -> bool {
    letter.is_control() && !matches!(letter, '\n' | '\t')
        || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[test]
fn no_string_of_a_document_is_obeyed() {
    let documents = [
        serde_json::to_value(fixture::closed()).unwrap(),
        serde_json::to_value(fixture::stream()).unwrap(),
        serde_json::to_value(fixture::comparison()).unwrap(),
        serde_json::to_value(fixture::search()).unwrap(),
        serde_json::to_value(fixture::look()).unwrap(),
        serde_json::to_value(fixture::run()).unwrap(),
    ];
    for good in documents {
        let (mut told, mut tried, mut all) = (0, 0, 0);
        strings(&mut good.clone(), &mut |_| all += 1);
        for place in (0..all).step_by((all / TRIES).max(1)) {
            // Where the string chooses a form it is no document any more.
            if let Ok(document) = Document::read(&spoilt(&good, place).to_string()) {
                assert_harmless(document);
                told += 1;
            }
            tried += 1;
        }
        assert!(told * 4 > tried, "{told} of {tried} strings could be spoilt: {}", good["format"]);
    }
}
