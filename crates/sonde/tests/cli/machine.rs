//! `sonde self`: short looks, for what is told and not for the numbers.

use predicates::str::contains;

use crate::{document, printed, sonde, sonde_in};

#[test]
fn a_look_tells_every_part() {
    let text = printed(&mut sonde(&["self", "-t", "0.5"]));
    for part in ["clock ", "recorder ", "pauses ", "how late an instant is kept", "hybrid", "loopback", "tcp block"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn a_look_is_one_document_in_every_file() {
    let folder = tempfile::tempdir().unwrap();
    let stdout = printed(&mut sonde_in(folder.path(), &["self", "-t", "0.5", "-J", "-o", "a.json", "-o", "b.txt"]));
    let found = document(stdout.as_bytes());
    assert_eq!((&found["format"], &found["version"]), (&"sonde-self".into(), &1.into()));
    jsonschema::validate(&logbook::schema::self_schema(), &found).unwrap();
    let resolution: measure::resolution::Resolution = serde_json::from_value(found["resolution"].clone()).unwrap();
    assert!(resolution.clock.read_ns > Some(0.0) && !resolution.lateness.is_empty());
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("a.json"), stdout);
    assert!(read("b.txt").contains("how late an instant is kept"));
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_the_look() {
    sonde(&["self", "-t", "1h", "-o", "/nowhere/a.json"]).assert().code(2).stdout("").stderr(contains("folder"));
}
