//! A watch of real servers: what it passes on adds up, what fails comes back, and a terminal gets what it had.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use expectrl::process::unix::WaitStatus;
use expectrl::{Eof, Expect, Session};
use measure::method::Carrier;
use measure::statistics::payload;
use rustix::process::Signal;
use serde_json::Value;
use testbed::port;
use testbed::process::{Running, ended, started};

const LIMIT: Duration = Duration::from_mins(2);

/// The program that measures, built in the same run as this one.
fn sonde() -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_sonde-monitor")).with_file_name("sonde");
    assert!(path.exists(), "{} is built along with the whole workspace: cargo test --workspace", path.display());
    path
}

fn serve(port: u16) -> Running {
    let port_word = port.to_string();
    let running = started(Command::new(sonde()).args(["serve", "--open", "--no-sandbox", "--port", &port_word]));
    running.until_listening(Carrier::Tcp, port);
    running
}

fn watch(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sonde-monitor"));
    command.arg("watch").args(words).env("LC_ALL", "C.UTF-8").env_remove("NO_COLOR").env("TERM", "xterm-256color");
    command
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

#[test]
fn seconds_add_up_to_the_record() {
    let port = port::free();
    let _server = serve(port);
    let folder = tempfile::tempdir().unwrap();
    let host = format!("127.0.0.1:{port}");
    let kept = folder.path().join("records");
    let words = ["--protocol", "tcp", "--protocol", "udp", "--every", "5ms", "-t", "2", "--json-lines", "-o"];
    let ended = ended(watch(&[&host]).args(words).arg(&kept), LIMIT);
    assert_eq!(ended.code, Some(0), "{}", ended.told());
    let lines = lines(&ended.stdout);
    for protocol in ["tcp", "udp"] {
        let is_of_way = |line: &&Value| line["way"]["protocol"] == protocol && line["way"]["host"] == *host;
        let of_way: Vec<&Value> = lines.iter().filter(is_of_way).collect();
        let seconds = || of_way.iter().filter(|line| line["event"] == "second").map(|line| &line["data"]);
        let answered: u64 = seconds().map(|second| second["counts"]["answered"].as_u64().unwrap()).sum();
        let mut told: Vec<u64> = seconds().flat_map(|second| values(&second["histogram"])).collect();
        told.sort_unstable();
        let text = std::fs::read_to_string(kept.join(format!("127.0.0.1-{port}-{protocol}.json"))).unwrap();
        let record: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(of_way.last().unwrap()["data"], record, "what is passed on is what is kept");
        assert_eq!(record["outcome"]["counts"]["answered"], answered);
        assert_eq!(told, values(&record["outcome"]["response"]["histogram"]), "bucket by bucket");
        assert!(answered > 0, "{record:#}");
    }
}

/// A second tells where the time went and how this host was; the record was made with stamps as well.
#[test]
fn seconds_tell_where_the_time_went() {
    let port = port::free();
    let _server = serve(port);
    let host = format!("127.0.0.1:{port}");
    for (word, wanted) in [(None, true), (Some("--no-stamps"), false)] {
        let words = ["--protocol", "udp", "-t", "3", "--json-lines"];
        let ended = ended(watch(&[&host]).args(words).args(word), LIMIT);
        assert_eq!(ended.code, Some(0), "{}", ended.told());
        let lines = lines(&ended.stdout);
        let seconds: Vec<&Value> =
            lines.iter().filter(|line| line["event"] == "second").map(|line| &line["data"]).collect();
        assert!(seconds.iter().all(|second| second["disturbance"]["watched_ns"].as_u64() > Some(0)), "{seconds:#?}");
        let stamped = |second: &&&Value| second["split"]["samples"].as_u64() > Some(0);
        // Some kernels stamp and some do not: the record says which.
        let record = &lines.last().unwrap()["data"];
        let has = |part: &str| record["outcome"]["split"][part].is_u64();
        assert_eq!(seconds.iter().any(|second| stamped(&second)), wanted && has("round_trip_ns"), "{record:#}");
        for part in ["wake_up_ns", "outside_ns"] {
            let told = seconds.iter().any(|second| second["split"][part].is_u64());
            assert_eq!(told, wanted && has(part), "{part}: {seconds:#?}");
        }
    }
}

/// The values that a payload holds, ascending, each as the middle of its bucket.
fn values(payload: &Value) -> Vec<u64> {
    let histogram = payload::decode(payload.as_str().expect("a payload")).unwrap();
    let buckets = payload::buckets(&histogram).into_iter();
    buckets.flat_map(|(value, count)| std::iter::repeat_n(value.0, count as usize)).collect()
}

/// A server that goes away is told of, and measured again once it is back.
#[test]
fn what_fails_is_tried_again() {
    let port = port::free();
    let server = serve(port);
    let host = format!("127.0.0.1:{port}");
    let watch = started(watch(&[&host]).args(["--protocol", "tcp", "--every", "20ms", "--json-lines"]));
    let count = |text: &str, event: &str| text.matches(&format!("\"event\":\"{event}\"")).count();
    watch.until("measured", |text| count(text, "second") > 0);
    server.signal(Signal::KILL);
    watch.until("told that it failed", |text| count(text, "error") + count(text, "end") > 0);
    let _another = serve(port);
    let before = count(&watch.stdout(), "second");
    watch.until("measured again", |text| count(text, "second") > before + 1);
    watch.signal(Signal::TERM);
    let ended = watch.end(LIMIT);
    assert_eq!(ended.code, Some(0), "{}", ended.told());
}

#[test]
fn a_way_that_nobody_answers_is_said_and_has_a_status() {
    let host = format!("127.0.0.1:{}", port::free());
    let ended = ended(watch(&[&host]).args(["--protocol", "tcp", "-t", "1"]), LIMIT);
    assert_eq!(ended.code, Some(1), "{}", ended.told());
    assert!(ended.stdout.contains("refused"), "{}", ended.told());
}

#[test]
fn the_measuring_program_that_is_not_there_is_named() {
    let ended = ended(watch(&["127.0.0.1", "--sonde", "/nowhere/sonde"]).args(["--protocol", "icmp"]), LIMIT);
    assert_eq!(ended.code, Some(2), "{}", ended.told());
    assert!(ended.stderr.contains("/nowhere/sonde"), "{}", ended.told());
}

/// A page of what there is so far, which leaves nothing else behind.
#[test]
fn a_page_is_written_of_what_there_is() {
    let port = port::free();
    let _server = serve(port);
    let (sonde, folder) = (sonde(), tempfile::tempdir().unwrap());
    let host = format!("127.0.0.1:{port}");
    let words = [&host, "--protocol", "tcp", "--every", "20ms", "--sonde", sonde.to_str().unwrap()];
    let mut command = watch(&words);
    command.current_dir(folder.path());
    let mut session = Session::spawn(command).unwrap();
    session.set_expect_timeout(Some(LIMIT));
    session.expect("µs").unwrap();
    // Whoever ends it at once gets the page too.
    session.send("wq").unwrap();
    session.expect("\u{1b}[?1049l").unwrap();
    let rest = session.expect(Eof).unwrap();
    let summary = String::from_utf8_lossy(rest.as_bytes()).into_owned();
    assert!(summary.contains("tcp: p50") && summary.contains("written: sonde-watch-"), "{summary}");
    let pages: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [page] = pages.as_slice() else { panic!("one page and nothing beside it: {pages:?}") };
    let text = std::fs::read_to_string(page).unwrap();
    assert!(text.contains("<html") && text.contains("127.0.0.1"), "{}", page.display());
}

/// Dialogue with a person: the screen, a mark, the end with a summary, the terminal as it was.
#[test]
fn a_terminal_shows_it_and_gets_back_what_it_had() {
    let port = port::free();
    let _server = serve(port);
    let sonde = sonde();
    let host = format!("127.0.0.1:{port}");
    let words = [&host, "--protocol", "tcp", "--every", "20ms", "--sonde", sonde.to_str().unwrap()];
    let mut session = Session::spawn(watch(&words)).unwrap();
    session.set_expect_timeout(Some(LIMIT));
    session.expect("\u{1b}[?1049h").unwrap();
    session.expect("over time").unwrap();
    session.expect("µs").unwrap();
    // Keys are taken in their order. Only the differences between them are drawn, so that no text in it is whole.
    session.send("mcable moved\rhq").unwrap();
    session.expect("\u{1b}[?1049l").unwrap();
    let rest = session.expect(Eof).unwrap();
    let summary = String::from_utf8_lossy(rest.as_bytes()).into_owned();
    assert!(summary.contains("tcp: p50") && summary.contains("cable moved\r\n"), "{summary}");
    assert!(summary.contains("too short a time before it"), "{summary}");
    assert!(matches!(session.get_process().wait().unwrap(), WaitStatus::Exited(_, 0)));
}
