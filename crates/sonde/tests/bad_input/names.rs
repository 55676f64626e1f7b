//! Names that hold what a terminal obeys, in records and files from elsewhere: shown, never obeyed.

use std::path::Path;

use serde_json::Value;

use crate::{Ended, sonde};

/// Jumps to the next column, sets a colour that is none of ours, a terminal's title, clears its screen, turns letters around, and hides one.
const HOSTILE: &str = "h\tx\u{1b}[45m\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}2J\u{202e}\u{2066}\u{200b}\r\u{8}z";

/// Every string in `value` that is a name, a sentence or a setting becomes a hostile one; words that choose a form stay.
fn spoil(value: &mut Value, key: &str) {
    const CHOICES: [&str; 20] = [
        "format",
        "id",
        "question",
        "kind",
        "carrier",
        "pattern",
        "how",
        "by",
        "peer_waiting",
        "waiting",
        "pacing",
        "schedule",
        "histogram",
        "started",
        "measured",
        "direction",
        "loop",
        "estimator",
        "addressing",
        "histograms",
    ];
    match value {
        Value::String(text) if !CHOICES.contains(&key) && !text.is_empty() && !is_address(text) => {
            HOSTILE.clone_into(text);
        }
        Value::Array(all) => all.iter_mut().for_each(|one| spoil(one, key)),
        Value::Object(all) => all.iter_mut().for_each(|(key, one)| spoil(one, key)),
        _ => {}
    }
}

fn is_address(text: &str) -> bool {
    text.parse::<std::net::SocketAddr>().is_ok() || text.parse::<std::net::IpAddr>().is_ok()
}

/// Nothing that a terminal would obey but ends of lines, our colours, and tabs where they are cells of CSV or space of a page.
fn assert_harmless(text: &str, of: &str) {
    let rest = colourless(text);
    let is_screen = !of.contains("export") && of != "the page";
    let bad = rest.chars().find(|letter| match letter {
        '\n' => false,
        '\t' => is_screen,
        _ => letter.is_control() || "\u{202e}\u{2066}\u{200b}".contains(*letter),
    });
    assert_eq!(bad, None, "{of}: {rest:?}");
    assert!(!text.contains("\u{1b}[45m"), "{of}: a colour of others: {text:?}");
}

fn colourless(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut rest = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let after = part.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == ';');
        rest += after.strip_prefix('m').unwrap_or("\u{1b}");
    }
    rest
}

fn told(folder: &Path, words: &[&str]) -> Ended {
    let ended = Ended::of(sonde(words).current_dir(folder).env("CLICOLOR_FORCE", "1"));
    assert_harmless(&ended.stdout, &format!("{words:?}, standard output"));
    assert_harmless(&ended.stderr, &format!("{words:?}, standard error"));
    ended
}

#[test]
fn a_record_of_strangers_is_shown_and_not_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    told(at, &["rtt", "-c", "200", "--warm-up", "0", "-q", "-o", "good.json"]);
    let good: Value = serde_json::from_slice(&std::fs::read(at.join("good.json")).unwrap()).unwrap();
    // One string at a time where all at once is no record any more.
    let mut shown = 0;
    for part in ["tool", "command", "target", "peer", "ours", "theirs", "warnings", "outcome", "instrument", "method"] {
        let mut record = good.clone();
        spoil(&mut record[part], part);
        std::fs::write(at.join("bad.json"), record.to_string()).unwrap();
        for words in [
            &["show", "bad.json"][..],
            &["show", "-v", "bad.json"],
            &["show", "--json", "bad.json"],
            &["compare", "good.json", "bad.json"],
            &["export", "bad.json"],
            &["report", "bad.json", "-o", "bad.html"],
        ] {
            let ended = told(at, words);
            if ended.code == Some(0) && words == ["report", "bad.json", "-o", "bad.html"] {
                assert_harmless(&std::fs::read_to_string(at.join("bad.html")).unwrap(), "the page");
            }
            shown += usize::from(ended.code == Some(0) && ended.stdout.contains("owned"));
        }
    }
    assert!(shown >= 4, "hostile names were seen in {shown} outputs only");
}

#[test]
fn names_of_files_and_hosts_are_shown_and_not_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let file = format!("{HOSTILE}.toml");
    std::fs::write(at.join(&file), format!("name = {HOSTILE:?}\n[[hosts]]\nname = \"{}\"\n", "h\u{9b}2J")).unwrap();
    for words in [
        &["run", &file][..],
        &["serve", "--key", &file],
        &["rtt", HOSTILE],
        &["show", &file],
        &["compare", &file, &file],
        &["key", &file, "--list"],
        &["rtt", "--no-such-option", HOSTILE],
        &[HOSTILE],
    ] {
        let ended = told(at, words);
        assert_ne!(ended.code, Some(0), "{words:?}");
    }
}
