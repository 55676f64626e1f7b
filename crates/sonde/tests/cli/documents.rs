//! Documents that are generated from the definitions: completions, manual pages, the reference.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use test_case::test_case;

use crate::{printed, sonde, sonde_in};

#[test_case("bash", "complete "; "bash")]
#[test_case("zsh", "#compdef sonde"; "zsh")]
#[test_case("fish", "complete -c sonde"; "fish")]
fn completions_know_commands_and_options(shell: &str, mark: &str) {
    let script = printed(&mut sonde(&["completions", shell]));
    for word in [mark, "rtt", "serve", "peer-wait", "tcp-connect"] {
        assert!(script.contains(word), "{word}");
    }
}

#[test]
fn bash_takes_its_completions_and_completes_with_them() {
    let script = printed(&mut sonde(&["completions", "bash"]));
    let line = "COMP_WORDS=(sonde rtt --wa) COMP_CWORD=2; _sonde sonde --wa rtt; printf '%s\\n' \"${COMPREPLY[@]}\"";
    // A file, as a shell reads it: the script is longer than an argument may be.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sonde.bash");
    std::fs::write(&file, format!("{script}\n{line}")).unwrap();
    let output = Command::new("bash").arg(&file).output().unwrap();
    let words = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        words.lines().collect::<Vec<_>>(),
        ["--wait", "--warm-up"],
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Renders a page as a reader sees it; `None` where this machine has no groff.
fn rendered(page: &str, folder: &Path) -> Option<String> {
    let file = folder.join("page.1");
    std::fs::write(&file, page).unwrap();
    let output = Command::new("groff").args(["-Kutf8", "-man", "-Tutf8", "-ww", "-P-cbou"]).arg(&file).output().ok()?;
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && complaints.is_empty(), "{complaints}");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test_case(&["man"], &["sonde(1)", "sonde-rtt(1)", "--color"]; "sonde")]
#[test_case(&["man", "rtt"], &["sonde-rtt(1)", "--peer-wait", "EXAMPLES", "143", concat!("sonde ", env!("CARGO_PKG_VERSION"))]; "rtt")]
#[test_case(&["man", "load"], &["sonde-load(1)", "--reply-every", "EXAMPLES", "--segments"]; "load")]
#[test_case(&["man", "throughput"], &["sonde-throughput(1)", "--with-latency", "EXAMPLES", "--bidir"]; "throughput")]
#[test_case(&["man", "serve"], &["sonde-serve(1)", "--max-sessions"]; "serve")]
fn a_manual_page_renders(words: &[&str], marks: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let page = printed(&mut sonde(words));
    assert!(page.contains(".TH "), "{page}");
    let Some(text) = rendered(&page, folder.path()) else {
        return testbed::skip::aloud("manual pages as rendered: no groff (groff-base)");
    };
    let text = text.replace('\u{2010}', "-");
    for mark in marks {
        assert!(text.contains(mark), "{mark} in {text}");
    }
}

#[test]
fn all_manual_pages_are_written() {
    let folder = tempfile::tempdir().unwrap();
    sonde_in(folder.path(), &["man", "--write", "man1"]).assert().success().stdout("");
    let names: Vec<String> = files(&folder.path().join("man1")).into_keys().collect();
    for name in ["sonde.1", "sonde-rtt.1", "sonde-serve.1", "sonde-key.1"] {
        assert!(names.iter().any(|there| there == name), "{name} in {names:?}");
    }
}

#[test]
fn the_committed_reference_is_that_of_the_definitions() {
    let folder = tempfile::tempdir().unwrap();
    sonde_in(folder.path(), &["reference", "reference"]).assert().success();
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let (made, mut committed) = (files(&folder.path().join("reference")), files(&committed));
    // Beside them stand pages that are written by hand.
    committed.retain(|_, text| text.contains("<!-- Made by `sonde reference`"));
    assert_eq!(made.keys().collect::<Vec<_>>(), committed.keys().collect::<Vec<_>>());
    for (name, text) in made {
        assert!(committed[&name] == text, "docs/reference/{name} is out of date: run `cargo run -- reference`");
    }
}

#[test]
fn the_committed_page_of_warnings_is_that_of_the_definitions() {
    let folder = tempfile::tempdir().unwrap();
    sonde_in(folder.path(), &["reference", "reference", "--warnings", "warnings.md"]).assert().success();
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/warnings.md");
    let [made, committed] = [&folder.path().join("warnings.md"), &committed].map(std::fs::read_to_string);
    assert!(made.unwrap() == committed.unwrap_or_default(), "docs/warnings.md is out of date: run `make docs`");
}

fn files(folder: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries.map(|e| (e.file_name().into_string().unwrap(), std::fs::read_to_string(e.path()).unwrap())).collect()
}
