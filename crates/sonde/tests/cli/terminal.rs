//! Output of a terminal alone, and the effects of a person's keys there.

use std::process::Command;
use std::time::Duration;

use expectrl::process::unix::WaitStatus;
use expectrl::session::OsSession;
use expectrl::{ControlCode, Eof, Expect, Session};
use test_case::test_case;

use crate::sonde;

/// `sonde` with these words on a terminal of its own.
fn on_terminal(words: &[&str]) -> OsSession {
    on_terminal_of_kind("xterm", words)
}

fn on_terminal_of_kind(kind: &str, words: &[&str]) -> OsSession {
    in_environment(&[("TERM", kind)], words)
}

/// With these variables and no others that say something of colours or letters.
fn in_environment(variables: &[(&str, &str)], words: &[&str]) -> OsSession {
    let prepared = sonde(words);
    let mut command = Command::new(prepared.get_program());
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI", "SONDE_COLOR", "LC_ALL", "LC_CTYPE", "LANG"] {
        command.env_remove(name);
    }
    command.args(prepared.get_args()).envs(variables.iter().copied());
    let mut session = Session::spawn(command).unwrap();
    session.set_expect_timeout(Some(Duration::from_mins(1)));
    session
}

/// All that comes until the process ends, and how it ended.
fn rest(mut session: OsSession) -> (String, WaitStatus) {
    let found = session.expect(Eof).unwrap();
    let text = String::from_utf8_lossy(found.as_bytes()).into_owned();
    (text, session.get_process().wait().unwrap())
}

fn exited(status: WaitStatus) -> i32 {
    match status {
        WaitStatus::Exited(_, code) => code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn progress_is_shown_and_wiped() {
    let (text, status) = rest(on_terminal(&["rtt", "-t", "2.5", "--warm-up", "0"]));
    assert!(text.contains(" s of 2.50 s]  ") && text.contains(" replies, "), "{text}");
    assert!(text.contains("\r\u{1b}[2K"), "{text}");
    assert_eq!(exited(status), 0);
}

/// Also on a machine that builds and tests for others, which is known by `CI`; but not against who forces colours.
#[test_case(&[], false; "of a person")]
#[test_case(&[("CI", "true")], false; "of a machine that tests")]
#[test_case(&[("CLICOLOR_FORCE", "1")], true; "of who forces colours")]
fn a_terminal_that_obeys_nothing_gets_text_alone(more: &[(&str, &str)], coloured: bool) {
    let words = ["rtt", "-t", "1.2", "--warm-up", "0", "--no-stamps"];
    let (text, _) = rest(in_environment(&[&[("TERM", "dumb")], more].concat(), &words));
    assert_eq!(text.contains('\u{1b}'), coloured, "{text}");
    // The result is there, though a machine that is busy may have answered nothing in time.
    assert!(!text.contains("\u{1b}[2K") && text.contains("method"), "{text}");
}

/// By UDP, which any user may send; the peer is this host.
#[test]
fn the_live_view_of_hops_obeys_its_keys() {
    let mut session = on_terminal(&["mtr", "-u", "-n", "-i", "0.2", "127.0.0.1"]);
    session.expect("Keys: q end").unwrap();
    session.expect("StDev").unwrap();
    session.send("?").unwrap();
    session.expect("u  ICMP or UDP").unwrap();
    session.send("j").unwrap();
    session.expect("Javg").unwrap();
    session.send("p").unwrap();
    session.expect("paused: the space bar goes on").unwrap();
    session.send(" i").unwrap();
    session.expect("Seconds from one round to the next: _").unwrap();
    session.send("soon\r").unwrap();
    session.expect("-i soon: is not a time in seconds").unwrap();
    session.send("q").unwrap();
    let (text, status) = rest(session);
    assert_eq!(exited(status), 0, "{text}");
    let table = text.rsplit("HOST: ").next().expect("a table");
    assert!(table.contains("Jttr") && table.contains("  1.|-- 127.0.0.1"), "the last one stays: {text}");
}

#[test]
fn quiet_shows_no_progress() {
    let (text, _) = rest(on_terminal(&["rtt", "-q", "-t", "1.2", "--warm-up", "0", "--no-stamps"]));
    // The result is there, though a machine that is busy may have answered nothing in time.
    assert!(!text.contains("\u{1b}[2K") && text.contains("method"), "{text}");
}

#[test]
fn colour_is_for_terminals_and_can_be_declined() {
    let colour =
        |words: &[&str]| rest(on_terminal(&[&["rtt", "-q", "-c", "100"], words].concat())).0.contains("\u{1b}[");
    assert!(colour(&[]));
    assert!(!colour(&["--color", "never"]));
}

#[test]
fn ctrl_c_prints_what_was_measured() {
    let mut session = on_terminal(&["rtt", "-t", "1h", "--warm-up", "0"]);
    session.expect("replies").unwrap();
    session.send(ControlCode::EndOfText).unwrap();
    let (text, status) = rest(session);
    assert!(text.contains("round trips") && text.contains("interrupted by SIGINT"), "{text}");
    assert_eq!(exited(status), 130);
}

#[test]
fn ctrl_backslash_tells_the_numbers_so_far_and_goes_on() {
    let mut session = on_terminal(&["rtt", "-t", "6", "--warm-up", "0"]);
    session.expect("replies").unwrap();
    session.send(ControlCode::FileSeparator).unwrap();
    session.expect("so far: ").unwrap();
    let (text, status) = rest(session);
    assert!(text.contains("p50"), "{text}");
    assert_eq!(exited(status), 0);
}

/// The peer, which refuses, is the first hop here. The screen of a round is wiped before the next one is drawn.
#[test]
fn a_live_trace_is_drawn_round_after_round_and_reported_when_it_ends() {
    let target = format!("127.0.0.1:{}", testbed::port::free());
    let (text, _) = rest(on_terminal(&["paths", &target, "--trace", "--live", "-q", "-c", "2"]));
    assert!(!text.contains("unanswered"), "quiet is quiet: {text}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("record.json");
    let mut session = on_terminal(&["paths", &target, "--trace", "--live", "-o", file.to_str().unwrap()]);
    let screens = session.expect("round 3").unwrap();
    let screens = String::from_utf8_lossy(screens.as_bytes()).into_owned();
    // A line of names and one of the hop below the head: the cursor goes up two.
    assert!(screens.contains("unanswered") && screens.contains("\r\u{1b}[2A\u{1b}[J"), "{screens}");
    session.send(ControlCode::EndOfText).unwrap();
    let (text, status) = rest(session);
    let told = text.rsplit("\u{1b}[J").next().unwrap();
    assert!(told.contains("traced by TCP SYNs from its port,") && told.contains("interrupted by SIGINT"), "{text}");
    assert!(!told.contains("unanswered"), "the screen is gone: {text}");
    assert_eq!(exited(status), 130);
    let record: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let hops = &record["outcome"]["hops"];
    let hop = &hops["each"][0]["hops"][0];
    assert!(hops["rounds"].as_u64() >= Some(2) && hop["sent"].as_u64() >= Some(2), "{hops:#}");
    assert_eq!((&hop["answered"], &record["ended"]["signal"]), (&hop["sent"], &"SIGINT".into()), "{hops:#}");
}

#[test_case(&[], 130; "with text")]
#[test_case(&["--json-lines"], 130; "with events")]
fn a_signal_during_the_warm_up_ends_it_too(words: &[&str], code: i32) {
    let mut session = on_terminal(&[&["rtt", "--warm-up", "1h"], words].concat());
    session.expect(if words.is_empty() { "warming up" } else { "start" }).unwrap();
    session.send(ControlCode::EndOfText).unwrap();
    assert_eq!(exited(rest(session).1), code);
}
