//! Command lines that are none, and what is said of them.

use predicates::prelude::*;
use predicates::str::{contains, starts_with};
use test_case::test_case;

use crate::{document, printed, sonde};

#[test]
fn bare_sonde_says_where_to_go() {
    let text = printed(&mut sonde(&[]));
    for word in ["sonde HOST", "sonde rtt", "sonde serve", "--help"] {
        assert!(text.contains(word), "{text}");
    }
    assert!(text.lines().count() <= 15, "short: {text}");
}

#[test_case("-i", "--every")]
#[test_case("-n", "-c COUNT")]
#[test_case("-w", "--every")]
#[test_case("-b", "--burst")]
#[test_case("-l", "--size")]
#[test_case("-u", "--udp")]
#[test_case("-R", "both ways")]
#[test_case("-d", "--size")]
#[test_case("-s", "--size")]
#[test_case("-p", "--port")]
#[test_case("-P", "--connections")]
#[test_case("-w10ms", "--every"; "with its value")]
#[test_case("-4i", "--every"; "in a bundle")]
fn an_old_option_is_answered_with_ours(theirs: &str, ours: &str) {
    sonde(&["rtt", "localhost", theirs])
        .assert()
        .code(2)
        .stdout("")
        .stderr(starts_with("error: ").and(contains("try:   ")).and(contains(ours)));
}

#[test_case(&["rt", "db1"], "rtt"; "a command with a typing error")]
#[test_case(&["rt"], "`sonde rtt` is one"; "the same alone, which might be a host")]
#[test_case(&["look", "db1", "--port", "1-17"], "16 at most"; "a look at more ports than one has")]
#[test_case(&["look", "224.0.0.1"], "multicast"; "a look at many")]
#[test_case(&["127.0.0.1", "-t", "0.5"], "1 s to 5 min"; "a look too short, without its word")]
#[test_case(&["127.0.0.1", "--also", "127.0.0.1"], "another address"; "one address twice")]
#[test_case(&["rtt", "-c", "10.0.0.2"], "sonde rtt 10.0.0.2"; "iperf's client")]
#[test_case(&["rtt", "--jsn"], "--json"; "a typing error")]
#[test_case(&["rtt", "--every", "10"], "10ms"; "a time without unit")]
#[test_case(&["rtt", "--size", "64K"], "KiB"; "a size of two readings")]
#[test_case(&["rtt", "--udp", "--size", "16"], "32"; "smaller than the header")]
#[test_case(&["rtt", "--udp", "--size", "0"], "32"; "no bytes")]
#[test_case(&["rtt", "--size", "2GiB"], "1073741824"; "beyond a gibibyte")]
#[test_case(&["rtt", "--window", "0"], "--every"; "open loop without schedule")]
#[test_case(&["rtt", "db1:80", "--port", "81"], "two ports"; "two ports")]
#[test_case(&["serve", "--listen", "10.0.0.2"], "--key"; "an open door")]
#[test_case(&["man", "nothing"], "rtt"; "no such page")]
fn an_error_says_what_to_do_instead(words: &[&str], instead: &str) {
    sonde(words).assert().code(2).stdout("").stderr(starts_with("error: ").and(contains(instead)));
}

#[test_case(&["rtt", "--json", "--every", "10"]; "a bad value")]
#[test_case(&["rtt", "-J", "-i", "1"]; "an old option")]
#[test_case(&["rtt", "-J", "--window", "0"]; "a method that makes no sense")]
fn with_json_a_failure_is_one_document_too(words: &[&str]) {
    let assert = sonde(words).assert().code(2).stderr(starts_with("error: "));
    let document = document(&assert.get_output().stdout);
    assert_eq!(document["format"], "sonde-error");
    assert_eq!(document["error"]["side"], "ours");
    assert!(document["error"]["what"].as_str().is_some_and(|what| !what.is_empty()));
    let schema = logbook::schema::error_schema();
    jsonschema::validate(&schema, &document).unwrap();
}

#[test]
fn with_json_lines_a_failure_is_the_last_event() {
    let assert = sonde(&["rtt", "--json-lines", "--window", "0"]).assert().code(2);
    let stdout = String::from_utf8(assert.get_output().stdout.clone()).unwrap();
    assert_eq!(stdout.lines().count(), 1, "{stdout}");
    assert_eq!(document(stdout.as_bytes())["event"], "error");
}

#[test]
fn the_version_is_printed() {
    sonde(&["-V"]).assert().success().stdout(format!("sonde {}\n", env!("CARGO_PKG_VERSION")));
    sonde(&["rtt", "--version"]).assert().success().stdout(contains(env!("CARGO_PKG_VERSION")));
}

#[test_case(&["--version", "--verbose"]; "in full")]
#[test_case(&["-vV"]; "in a bundle")]
#[test_case(&["rtt", "-V", "-v"]; "of a command")]
fn with_verbose_the_version_says_what_it_was_built_from(words: &[&str]) {
    let assert = sonde(words).assert().success().stderr("");
    let text = String::from_utf8(assert.get_output().stdout.clone()).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(concat!("sonde ", env!("CARGO_PKG_VERSION"))));
    let names: Vec<&str> = lines.filter_map(|line| line.split_once(": ")).map(|(name, _)| name).collect();
    assert_eq!(names, ["target", "profile"], "{text}");
    assert!(text.contains(std::env::consts::ARCH) && !text.contains(env!("CARGO_MANIFEST_DIR")), "{text}");
}
