//! The science knows no command line: in what `measure`, `protocol` and `endpoint` say, no option is spelled and no command
//! of ours is named. That is for those who take the words and print them: `report::words` and `sonde`.

use std::collections::BTreeSet;

use crate::lexis::{Kind, code_of, pieces};
use crate::tree::{File, files};

/// Crates that hand over what is the case.
const WORDLESS: [&str; 3] = ["measure", "protocol", "endpoint"];

/// Files whose words are another program's, as it sends and prints them.
const QUOTED: [&str; 1] = ["crates/protocol/src/iperf3/code.rs"];

/// Complaints about the words for people in one file outside of its tests: those of its literals and, in `measure`, of the
/// documentation that becomes the schemas' descriptions.
fn complaints(file: &File) -> Vec<String> {
    let text = without_tests(&file.text);
    let mut complaints = Vec::new();
    let mut line = 1;
    for (kind, piece) in pieces(&text) {
        let said = match kind {
            Kind::Literal => true,
            Kind::Comment => file.in_crate() == Some("measure") && piece.starts_with("///"),
            Kind::Code => false,
        };
        if let Some(words) = command_line(piece).filter(|_| said) {
            complaints.push(format!("{}:{line}: `{words}` is of the command line", file.path));
        }
        line += piece.matches('\n').count();
    }
    complaints
}

/// The first option or command of ours in a text.
fn command_line(text: &str) -> Option<&str> {
    let word = |at: usize| {
        let length = text[at..].find(|c: char| !(c.is_alphanumeric() || "- ".contains(c))).unwrap_or(text.len() - at);
        text[at..at + length].trim_end()
    };
    let begins = |at: usize| !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_');
    let follows = |at: usize, rest: &str| text[at + rest.len()..].starts_with(|c: char| c.is_ascii_lowercase());
    let option = text.match_indices("--").find(|(at, dashes)| begins(*at) && follows(*at, dashes));
    let ours = |name: &'static str| text.match_indices(name).find(|(at, name)| begins(*at) && follows(*at, name));
    let found = [option, ours("sonde "), ours("sonde --")].into_iter().flatten().map(|(at, _)| at).min()?;
    Some(word(found))
}

/// The text with what is compiled for tests alone blanked, line by line as before.
fn without_tests(text: &str) -> String {
    let code = code_of(text);
    // Blanks are one octet each where the characters were more: what is left out is found by its lines.
    let mut kept: Vec<&str> = text.split('\n').collect();
    let lines: Vec<&str> = code.split('\n').collect();
    let mut at = 0;
    while at < lines.len() {
        let length = if lines[at].trim() == "#[cfg(test)]" { item(&lines[at..]) } else { 0 };
        kept[at..at + length].fill("");
        at += length.max(1);
    }
    kept.join("\n")
}

/// Number of lines of an item, with its attributes.
fn item(lines: &[&str]) -> usize {
    let mut depth = 0_usize;
    for (index, line) in lines.iter().enumerate() {
        let (opened, closed) = (line.matches('{').count(), line.matches('}').count());
        depth = (depth + opened).saturating_sub(closed);
        let ends = if opened + closed > 0 { depth == 0 } else { depth == 0 && line.trim_end().ends_with(';') };
        if ends {
            return index + 1;
        }
    }
    lines.len()
}

/// Modules of a file that are for tests alone, as the beginnings of their paths.
fn test_modules(file: &File) -> Vec<String> {
    let folder = file.path.trim_end_matches("lib.rs").trim_end_matches("mod.rs").trim_end_matches(".rs");
    let folder = folder.trim_end_matches('/');
    let code = code_of(&file.text);
    let lines: Vec<&str> = code.lines().collect();
    let named = |pair: &[&str]| {
        let module = pair[1].trim().trim_start_matches("pub").trim_start().strip_prefix("mod ")?.strip_suffix(';')?;
        (pair[0].trim() == "#[cfg(test)]").then(|| format!("{folder}/{module}"))
    };
    lines.windows(2).filter_map(named).collect()
}

/// The files of the crates that are wordless, but for those that are for tests alone or quote.
fn wordless() -> Vec<File> {
    let sources = |file: &File| {
        let of = |name: &&str| file.path.starts_with(&format!("crates/{name}/src/"));
        file.is_rust() && WORDLESS.iter().any(of) && !QUOTED.contains(&file.path.as_str())
    };
    let files: Vec<File> = files().into_iter().filter(sources).collect();
    let tests: BTreeSet<String> = files.iter().flat_map(test_modules).collect();
    let for_tests = |file: &File| {
        tests.iter().any(|test| file.path == format!("{test}.rs") || file.path.starts_with(&format!("{test}/")))
    };
    files.into_iter().filter(|file| !for_tests(file)).collect()
}

#[test]
fn the_science_knows_no_command_line() {
    let files = wordless();
    for name in WORDLESS {
        assert!(files.iter().any(|file| file.in_crate() == Some(name)), "{name} is not read");
    }
    let complaints: Vec<String> = files.iter().flat_map(complaints).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// Complaints about a file of this crate with this text.
fn said(crate_: &str, text: &str) -> Vec<String> {
    let path = format!("crates/{crate_}/src/room.rs");
    let complaints = complaints(&File::of(&path, text));
    complaints.into_iter().filter_map(|line| line.strip_prefix(&format!("{path}:")).map(str::to_owned)).collect()
}

#[test]
fn an_option_or_a_command_in_a_literal_is_a_complaint() {
    let of_command_line = |line, words| vec![format!("{line}: `{words}` is of the command line")];
    assert_eq!(said("measure", "fn f() {\n    \"lower --rate, or wait\"\n}"), of_command_line(2, "--rate"));
    assert_eq!(said("endpoint", "const A: &str = \"a\n--b-c=1\";"), of_command_line(1, "--b-c"));
    assert_eq!(said("protocol", "r#\"see `sonde serve`\"#"), of_command_line(1, "sonde serve"));
    assert_eq!(said("protocol", "\"compare `sonde --version`\""), of_command_line(1, "sonde --version"));
}

#[test]
fn documentation_is_said_in_measure_alone() {
    let text = "/// As typed after `--until`.\nstruct A;\n// not --this";
    assert_eq!(said("measure", text), ["1: `--until` is of the command line"]);
    assert_eq!(said("protocol", text), [""; 0]);
}

#[test]
fn what_only_looks_alike_and_what_is_for_tests_is_let_be() {
    assert_eq!(said("measure", "let a = \"a--b -- --\" ; let b = --c; \"sonde 0.1, sonder\""), [""; 0]);
    let test = "#[cfg(test)]\nmod tests {\n    fn f() {\n        \"--rate {\"\n    }\n}\nconst A: &str = \"--every\";";
    assert_eq!(said("measure", test), ["7: `--every` is of the command line"]);
    let file =
        File::of("crates/measure/src/room.rs", "#[cfg(test)]\nmod tests;\n#[cfg(test)]\npub mod made_up;\nmod real;");
    assert_eq!(test_modules(&file), ["crates/measure/src/room/tests", "crates/measure/src/room/made_up"]);
    let file = File::of("crates/measure/src/lib.rs", "#[cfg(test)]\nmod fixture;");
    assert_eq!(test_modules(&file), ["crates/measure/src/fixture"]);
}
