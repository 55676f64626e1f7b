//! Help as it is printed: a change of an option shows here first.

use insta::assert_snapshot;
use predicates::prelude::*;
use predicates::str::contains;
use test_case::test_case;

use crate::{printed, sonde};

#[test_case(&["--help"], "sonde")]
#[test_case(&["rtt", "-h"], "rtt-short")]
#[test_case(&["rtt", "--help"], "rtt-long")]
#[test_case(&["load", "-h"], "load-short")]
#[test_case(&["load", "--help"], "load-long")]
#[test_case(&["throughput", "-h"], "throughput-short")]
#[test_case(&["throughput", "--help"], "throughput-long")]
#[test_case(&["replay", "--help"], "replay")]
#[test_case(&["serve", "--help"], "serve")]
#[test_case(&["forward", "--help"], "forward")]
#[test_case(&["lab", "--help"], "lab")]
#[test_case(&["lab", "up", "--help"], "lab-up")]
#[test_case(&["look", "--help"], "look")]
#[test_case(&["check", "--help"], "check")]
#[test_case(&["self", "--help"], "self")]
#[test_case(&["sweep", "--help"], "sweep")]
#[test_case(&["why", "--help"], "why")]
#[test_case(&["study", "--help"], "study")]
#[test_case(&["rerun", "--help"], "rerun")]
#[test_case(&["runs", "--help"], "runs")]
#[test_case(&["show", "--help"], "show")]
#[test_case(&["report", "--help"], "report")]
#[test_case(&["export", "--help"], "export")]
#[test_case(&["key", "--help"], "key")]
#[test_case(&["install-names", "--help"], "install-names")]
#[test_case(&["man", "--help"], "man")]
#[test_case(&["completions", "--help"], "completions")]
#[test_case(&["explain", "--help"], "explain")]
fn help_is_as_it_was(words: &[&str], name: &str) {
    assert_snapshot!(name, printed(&mut sonde(words)));
}

#[test]
fn every_exit_status_is_in_the_help() {
    let text = printed(&mut sonde(&["rtt", "--help"]));
    for status in ["  0  ", "  1  ", "  2  ", " 99  ", "130  ", "143  "] {
        assert!(text.contains(status), "{status}");
    }
}

#[test]
fn help_has_no_colour_off_a_terminal_unless_asked() {
    assert!(!printed(&mut sonde(&["--help"])).contains('\u{1b}'));
    assert!(printed(&mut sonde(&["--color", "always", "--help"])).contains('\u{1b}'));
    assert!(printed(sonde(&["--help"]).env("CLICOLOR_FORCE", "1")).contains('\u{1b}'));
    assert!(!printed(sonde(&["--color=never", "--help"]).env("CLICOLOR_FORCE", "1")).contains('\u{1b}'));
}

#[test]
fn a_hidden_command_stays_hidden() {
    assert!(!printed(&mut sonde(&["--help"])).contains("reference"));
    sonde(&["reference", "--help"]).assert().success().stdout(contains("FOLDER"));
}

#[test]
fn topics_are_listed_and_printed_and_a_mistyped_one_is_answered_with_the_nearest() {
    let list = printed(&mut sonde(&["help"]));
    for topic in ["units", "exit status", "environment", "hosts and targets", "profiles", "warnings"] {
        assert!(list.contains(topic), "{list}");
        let page = printed(&mut sonde(&[&["help"], &topic.split(' ').collect::<Vec<_>>()[..]].concat()));
        assert!(page.lines().count() > 2 && page.lines().all(|line| line.chars().count() <= 80), "{page}");
    }
    assert!(
        printed(&mut sonde(&["help", "exit", "status"]))
            .contains("- 99: a requested condition or a claim does not hold")
    );
    assert_eq!(printed(&mut sonde(&["help", "rtt"])), printed(&mut sonde(&["rtt", "--help"])));
    sonde(&["help", "unti"])
        .assert()
        .code(2)
        .stderr(contains("neither a topic nor a command").and(contains("help units")));
}
