//! A centre with agents that are played: what they told is kept once whatever is killed, what happened is told, and strangers learn nothing.

mod agents;
#[path = "../../../crates/sonde/tests/report/browser.rs"]
#[expect(dead_code, reason = "the pages of reports need more of it")]
mod browser;
mod collector;
mod full;
mod page;
#[path = "../../src/serve/metrics/otlp/proto.rs"]
mod proto;

use std::fmt::Write as _;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use jiff::Timestamp;
use rustix::process::Signal;
use serde_json::{Value, json};
use test_case::test_case;
use testbed::port;
use testbed::process::{Ended, Running, ended, started};
use testbed::wait;

const LIMIT: Duration = Duration::from_mins(2);

/// Turns `"@-5"` into the second five before this one, and `"@"` into the nanosecond: what an agent tells when it is asked, however long it was
/// until then.
const NOW: &str = r#"{
    while (match($0, /"@-?[0-9]+"/))
        $0 = substr($0, 1, RSTART - 1) (now + substr($0, RSTART + 2, RLENGTH - 3)) substr($0, RSTART + RLENGTH)
    gsub(/"@"/, now "000000000")
    print
}
"#;

/// A monitor of two hosts whose agents are a script: `sonde agent --reach` prints what stands in `told`, and stays until it is ended.
struct Stage {
    folder: tempfile::TempDir,
    port: u16,
    /// The store's file, within the folder.
    store: &'static str,
}

impl Stage {
    fn new(extra: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let script = format!(
            "#!/bin/sh\ncase \"$1\" in key) echo played > \"$2\"; exit 0;; esac\nread host\ncase \"$host\" in *'\"a\"'*) awk -v now=\"$(date +%s)\" -f {now} {told};; esac\nexec cat > {orders}\n",
            now = at("now.awk").display(),
            told = at("told").display(),
            orders = at("orders").display(),
        );
        fs::write(at("sonde"), script).unwrap();
        fs::set_permissions(at("sonde"), fs::Permissions::from_mode(0o755)).unwrap();
        let host = |name: &str, last: u8| {
            format!("[[hosts]]\nname = \"{name}\"\nreach = \"local\"\ninternal = \"10.0.0.{last}\"\n")
        };
        fs::write(at("plan.toml"), format!("name = \"played\"\n{extra}{}{}", host("a", 1), host("b", 2))).unwrap();
        fs::write(at("told"), "").unwrap();
        fs::write(at("now.awk"), NOW).unwrap();
        Self { folder, port: port::free(), store: "monitor.db" }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Tells beats of the agent on `a` to whoever connects, from the first to the last: as one that never heard that any is
    /// kept.
    fn tells(&self, beats: &[(u64, Value)]) {
        self.tells_at(beats.iter().map(|(at, cell)| (json!(at), cell)));
    }

    /// The same, of seconds counted from the one in which it is asked.
    fn tells_from_now(&self, beats: &[(i64, Value)]) {
        self.tells_at(beats.iter().map(|(at, cell)| (json!(format!("@{at}")), cell)));
    }

    fn tells_at<'a>(&self, beats: impl Iterator<Item = (Value, &'a Value)>) {
        let hello = json!({"told": "hello", "version": 1, "program": "sonde", "program_version": "0.1.0",
            "instance": "018f0000-0000-7000-8000-000000000001", "oldest": 1, "given_up": 0, "revision": null,
            "boot_id": null, "wall_ns": "@"});
        let mut text = format!("{hello}\n");
        for (number, (at, cell)) in beats.enumerate() {
            let beat = json!({"told": "beat", "seq": number + 1, "at": at, "own": {}, "cells": [cell]});
            writeln!(text, "{beat}").unwrap();
        }
        fs::write(self.at("told"), text).unwrap();
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sonde-monitor"));
        command.arg("monitor").arg(self.at("plan.toml"));
        for (option, name) in [("--state", "state"), ("--store", self.store), ("--sonde", "sonde")] {
            command.arg(option).arg(self.at(name));
        }
        command.args(["--listen", &self.port.to_string()]);
        command
    }

    fn start(&self) -> Running {
        let running = started(&mut self.command());
        wait::until("the page is served", || TcpStream::connect(("127.0.0.1", self.port)).is_ok());
        running
    }

    /// An answer of the server: its head and its body.
    fn get(&self, path: &str, head: &str) -> (String, String) {
        self.asked(&format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{head}\r\n"))
    }

    fn asked(&self, request: &str) -> (String, String) {
        self.tried(request).unwrap()
    }

    /// The same where the server may hang up before all was said to it.
    fn tried(&self, request: &str) -> std::io::Result<(String, String)> {
        let answer = String::from_utf8(self.octets(request)?).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        Ok((head.to_owned(), body.to_owned()))
    }

    fn octets(&self, request: &str) -> std::io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(LIMIT))?;
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(answer)
    }

    /// Intervals of a → b that the page shows.
    fn intervals(&self, since: u64) -> Vec<Value> {
        let (head, body) = self.get(&format!("/api/v1/cell?from=a&to=b&since={since}"), "");
        if head.starts_with("HTTP/1.1 200") { serde_json::from_str(&body).unwrap() } else { Vec::new() }
    }

    fn history(&self, words: &[&str]) -> Ended {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sonde-monitor"));
        ended(command.arg("history").args(words).arg("--store").arg(self.at(self.store)), LIMIT)
    }
}

impl Stage {
    fn picture(&self) -> Value {
        serde_json::from_str(&self.get("/api/v1/now", "").1).unwrap()
    }

    /// Requests of a → b that are kept.
    fn kept(&self, since: u64) -> u64 {
        self.intervals(since).iter().map(|each| each["sent"].as_u64().unwrap()).sum()
    }
}

/// The start of a minute some minutes ago.
fn earlier(minutes: u64) -> u64 {
    let now = Timestamp::now().as_second().unsigned_abs();
    now - now % 60 - minutes * 60
}

fn answer(took: u64) -> Value {
    json!({"to": "b", "times_ns": [took]})
}

#[test]
fn what_agents_told_is_kept_once_whatever_is_killed() {
    let stage = Stage::new("");
    let from = earlier(6);
    let beats = |count: u64| (0..count).map(|at| (from + at, answer(100_000 + at))).collect::<Vec<_>>();
    stage.tells(&beats(150));
    let first = stage.start();
    // Half of the third minute has come; it is long past, so that it is kept as it is.
    wait::until("what was told is kept", || stage.kept(from) == 150);
    first.signal(Signal::KILL);
    let _killed = first.end(LIMIT);
    // The agent tells all of it again, and more.
    stage.tells(&beats(200));
    let second = stage.start();
    wait::until("what was told since is kept", || stage.kept(from) == 200);
    second.signal(Signal::TERM);
    assert_eq!(second.end(LIMIT).code, Some(0));
    let told = stage.history(&["a", "b", "--since", "1h", "--by", "minute", "--json"]);
    let document: Value = serde_json::from_str(&told.stdout).unwrap_or_else(|error| panic!("{error}: {}", told.told()));
    let answered: Vec<u64> = document["cells"][0]["intervals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|each| each["counts"]["answered"].as_u64().unwrap())
        .collect();
    assert_eq!(answered, [60, 60, 60, 20], "{}", told.stdout);
}

#[test]
fn a_pair_that_falls_silent_is_told_by_all_ways() {
    let heard = tempfile::NamedTempFile::new().unwrap();
    let tell = format!("[[tell]]\nto = \"command\"\ncommand = [\"tee\", \"-a\", \"{}\"]\n", heard.path().display());
    let stage = Stage::new(&tell);
    // The other's agent was not put there at first, which is nobody's fault. It answered until a moment ago, and the beats go on into the
    // next seconds: the clock is a little ahead.
    let lost = json!({"to": "b", "lost": 1});
    let beats: Vec<_> = (-90..-60)
        .map(|at| (at, lost.clone()))
        .chain((-60..-8).map(|at| (at, answer(100_000))))
        .chain((-8..2).map(|at| (at, lost.clone())))
        .collect();
    stage.tells_from_now(&beats);
    let monitor = stage.start();
    monitor.until("the terminal tells it", |told| told.contains("nothing is answered"));
    wait::until("the page tells it", || stage.picture()["incidents"].as_array().is_some_and(|all| !all.is_empty()));
    assert_eq!(stage.picture()["incidents"][0]["kind"], "silent");
    assert_eq!(stage.picture()["past"], json!([]), "what was not there yet did not fall silent");
    wait::until("somebody was told", || fs::read_to_string(heard.path()).unwrap().contains("\"firing\""));
    let metrics = stage.get("/metrics", "").1;
    assert!(metrics.contains("sonde_incidents{kind=\"silent\"} 1"), "{metrics}");
    assert!(metrics.contains("sonde_host_requests_total{host=\"a\",over=\"udp\",fate=\"lost\"} 40"), "{metrics}");
    monitor.signal(Signal::TERM);
    assert_eq!(monitor.end(LIMIT).code, Some(0));
    let history = stage.history(&[]);
    assert!(history.stdout.contains("silent") || history.stdout.contains("nothing is answered"), "{}", history.told());
}

/// The process that leads to it has ended its standard error long before the line itself ends.
#[test]
fn an_agent_whose_line_ends_is_reached_for_again() {
    let stage = Stage::new("");
    let (begun, told) = (stage.at("begun"), stage.at("told"));
    let script = format!(
        "#!/bin/sh\ncase \"$1\" in key) echo played > \"$2\"; exit 0;; esac\nexec 2>&-\nread host\ncase \"$host\" in *'\"a\"'*) echo begun >> {};; *) exec cat;; esac\nhead -1 {}\nread order\n",
        begun.display(),
        told.display()
    );
    fs::write(stage.at("sonde"), script).unwrap();
    stage.tells(&[(1, answer(100_000))]);
    fs::write(&told, fs::read_to_string(&told).unwrap().replace("\"@\"", "1000000000")).unwrap();
    let monitor = stage.start();
    let times = || fs::read_to_string(&begun).map_or(0, |text| text.lines().count());
    wait::until("it is reached for a third time", || times() >= 3);
    monitor.signal(Signal::TERM);
    assert_eq!(monitor.end(LIMIT).code, Some(0));
}

#[test_case("[[silence]]\nuntil = 2199-01-01T00:00:00Z\nwhy = \"a new switch\"\n", Some(7_226_582_400); "silenced")]
#[test_case("[notice]\nkinds = [\"loss\"]\n", None; "of a kind that nobody is told of")]
fn of_what_the_plan_keeps_from_receivers_they_are_told_once_it_does_no_more(keeps: &str, until: Option<u64>) {
    let heard = tempfile::NamedTempFile::new().unwrap();
    let told = || fs::read_to_string(heard.path()).unwrap();
    let tell = format!("[[tell]]\nto = \"command\"\ncommand = [\"tee\", \"-a\", \"{}\"]\n", heard.path().display());
    let stage = Stage::new(&format!("{tell}{keeps}"));
    let lost = json!({"to": "b", "lost": 1});
    let beats = (-60..-8).map(|at| (at, answer(100_000))).chain((-8..2).map(|at| (at, lost.clone())));
    stage.tells_from_now(&beats.collect::<Vec<_>>());
    let monitor = stage.start();
    monitor.until("the terminal tells it", |told| told.contains("nothing is answered"));
    wait::until("the page says whether somebody silenced it", || {
        stage.picture()["incidents"]
            .as_array()
            .is_some_and(|all| all.len() == 1 && all[0]["silent_until"].as_u64() == until)
    });
    // The outbox is written after the notices that were due were sent.
    let outbox = || fs::read_to_string(stage.at("state/told-1.json")).unwrap_or_default();
    wait::until("it waits to be told", || {
        outbox().contains(&format!("\"silent_until\":{}", until.unwrap_or(u64::MAX)))
    });
    assert_eq!(told(), "");
    let plan = fs::read_to_string(stage.at("plan.toml")).unwrap();
    fs::write(stage.at("plan.toml"), plan.replace(keeps, "")).unwrap();
    wait::until("it is told", || told().contains("\"firing\""));
    monitor.signal(Signal::TERM);
    assert_eq!(monitor.end(LIMIT).code, Some(0));
}

/// The same where somebody asks for a silence by a command, before the incident and while it goes on.
#[test]
fn a_silence_by_a_command_is_heeded_by_a_monitor_that_runs() {
    let heard = tempfile::NamedTempFile::new().unwrap();
    let told = || fs::read_to_string(heard.path()).unwrap();
    let stage = Stage::new(&format!(
        "[[tell]]\nto = \"command\"\ncommand = [\"tee\", \"-a\", \"{}\"]\n",
        heard.path().display()
    ));
    let silence = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sonde-monitor"));
        command.args(["monitor", "silence"]).arg(stage.at("plan.toml")).args(words);
        let said = ended(command.arg("--store").arg(stage.at(stage.store)), LIMIT);
        assert_eq!(said.code, Some(0), "{}", said.told());
        said.told()
    };
    let first = stage.start();
    silence(&["--everything", "--for", "1h", "--why", "a new switch"]);
    first.signal(Signal::TERM);
    assert_eq!(first.end(LIMIT).code, Some(0));
    let lost = json!({"to": "b", "lost": 1});
    let beats = (-60..-8).map(|at| (at, answer(100_000))).chain((-8..2).map(|at| (at, lost.clone())));
    stage.tells_from_now(&beats.collect::<Vec<_>>());
    let monitor = stage.start();
    monitor.until("the terminal tells it", |told| told.contains("nothing is answered"));
    wait::until("the page says that nobody else is told, and why", || {
        stage.picture()["incidents"]
            .as_array()
            .unwrap()
            .iter()
            .any(|incident| incident["kind"] == "silent" && incident["silent_why"] == "a new switch")
    });
    let (_, metrics) = stage.get("/metrics", "");
    assert!(metrics.contains("sonde_incidents{kind=\"silent\"} 1\n"), "{metrics}");
    assert!(metrics.contains("sonde_incidents_silenced{kind=\"silent\"} 1\n"), "{metrics}");
    let outbox = || fs::read_to_string(stage.at("state/told-1.json")).unwrap_or_default();
    wait::until("it waits to be told", || outbox().contains("\"silent\""));
    assert_eq!(told(), "");
    let history = || stage.history(&[]).stdout;
    wait::until("history says so", || {
        history().lines().any(|line| line.starts_with("! silent") && line.contains(", silenced until "))
    });
    assert!(silence(&["--list"]).contains("1: all hosts, until "));
    silence(&["--end", "1"]);
    wait::until("what goes on is told", || told().contains("\"firing\""));
    wait::until("history forgets the silence", || !history().contains(", silenced until "));
    monitor.signal(Signal::TERM);
    assert_eq!(monitor.end(LIMIT).code, Some(0));
}

/// A change that is to stay: whoever accepts its incident, or a time since it began, ends it.
#[test]
fn what_a_person_accepts_is_over() {
    let stage = Stage::new("");
    stage.tells_from_now(&(-60..2).map(|at| (at, answer(100_000))).collect::<Vec<_>>());
    let file = stage.at("state/centre.json");
    let monitor = stage.start();
    wait::until("what it knows is written down", || file.exists());
    monitor.signal(Signal::TERM);
    assert_eq!(monitor.end(LIMIT).code, Some(0));
    // As if all that a asks had become slower an hour ago.
    let mut state: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let begun = Timestamp::now().as_second() - 3_600;
    let incident = json!({"id": 7, "kind": "slower", "scope": {"is": "host", "host": "a", "role": "client"},
        "size": null, "onset": {"earliest": begun - 5, "likely": begun, "latest": begun + 5}, "affected": 1, "of": 1,
        "direction": null, "noticed": begun + 120, "returned": 0});
    let open = |incident: &Value| json!({"incident": incident, "quiet": null});
    // And it loses since then; and another host was slower, which the plan does not have any more.
    let (mut gone, mut loses) = (incident.clone(), incident.clone());
    (gone["id"], gone["scope"]["host"]) = (json!(8), json!("gone"));
    (loses["id"], loses["kind"]) = (json!(9), json!("loss"));
    state["lookout"]["incidents"] =
        json!({"last": 9, "open": [open(&incident), open(&gone), open(&loses)], "gone": []});
    state["incidents"] = json!([incident, gone, loses]);
    fs::write(&file, state.to_string()).unwrap();
    let monitor = stage.start();
    monitor.until("what nobody watches is over", |told| {
        told.contains("over: gone as it asks: slower")
            && told.contains(", incident 8 (")
            && told.contains("it is not watched any more")
    });
    let kinds = |of: &str| -> Vec<String> {
        let now = stage.picture();
        let kinds = now[of].as_array().unwrap().iter().map(|each| each["kind"].as_str().unwrap().to_owned());
        // The played agent tells nothing more, which is another one.
        kinds.filter(|kind| kind != "agent-silent").collect()
    };
    wait::until("the others go on", || kinds("incidents") == ["loss", "slower"]);
    let accept = |words: &[&str]| {
        let mut accept = Command::new(env!("CARGO_BIN_EXE_sonde-monitor"));
        ended(accept.arg("accept").args(words).arg("--store").arg(stage.at(stage.store)), LIMIT)
    };
    // The store has them a little later than the page.
    wait::until("one is accepted by its number", || accept(&["moved", "--incident", "7"]).code == Some(0));
    monitor.until("it is over", |told| {
        told.contains("over: a as it asks: slower") && told.contains("it was accepted as usual")
    });
    wait::until("it alone is over", || kinds("incidents") == ["loss"] && kinds("past")[0] == "slower");
    let accepted = accept(&["later", "10m..now"]);
    assert_eq!(accepted.code, Some(0), "{}", accepted.told());
    monitor.until("the other is over", |told| told.contains("over: a as it asks: requests are lost"));
    wait::until("the page has both among those that are over", || {
        kinds("incidents").is_empty() && kinds("past")[..2] == ["loss", "slower"]
    });
    monitor.signal(Signal::TERM);
    assert_eq!(monitor.end(LIMIT).code, Some(0));
}

/// From a week of hours that are kept a monitor knows what is normal in each of them.
#[test]
fn what_is_normal_in_hours_of_the_week_is_learnt_from_what_is_kept() {
    const HOURS: u64 = 170;
    let stage = Stage::new("");
    let from = earlier(HOURS * 60);
    stage.tells(&(0..HOURS).map(|hour| (from + hour * 3_600, answer(100_000))).collect::<Vec<_>>());
    let first = stage.start();
    wait::until("it is kept", || {
        let (_, body) = stage.get(&format!("/api/v1/cell?from=a&to=b&by=hour&since={from}"), "");
        let hours: Value = serde_json::from_str(&body).unwrap_or_default();
        hours
            .as_array()
            .is_some_and(|hours| hours.iter().map(|hour| hour["sent"].as_u64().unwrap()).sum::<u64>() == HOURS)
    });
    first.signal(Signal::TERM);
    assert_eq!(first.end(LIMIT).code, Some(0));
    let second = stage.start();
    let file = stage.at("state/centre.json");
    wait::until("it is known", || {
        let state: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        let mut cells = state["lookout"]["cells"].as_array().unwrap().iter();
        // Cells with both hosts, protocol, and figures.
        cells.any(|cell| cell[0] == "a" && cell[3]["season"].as_array().is_some_and(|hours| hours.len() == 168))
    });
    second.signal(Signal::TERM);
    assert_eq!(second.end(LIMIT).code, Some(0));
}

/// The file stands in a folder that nobody looked at when the monitor was started.
#[test]
fn hosts_of_a_file_that_the_plan_names_later_are_followed() {
    let stage = Stage::new("");
    let file = stage.at("listed/hosts.toml");
    fs::create_dir(stage.at("listed")).unwrap();
    let host = |name: &str, last: u8| {
        format!("[[hosts]]\nname = \"{name}\"\nreach = \"local\"\ninternal = \"10.0.0.{last}\"\n")
    };
    fs::write(&file, host("c", 3)).unwrap();
    let monitor = stage.start();
    let hosts = || stage.picture()["hosts"].as_array().map_or(0, Vec::len);
    let plan = fs::read_to_string(stage.at("plan.toml")).unwrap();
    let named = plan.replacen('\n', "\ninventory = [\"listed/hosts.toml\"]\n", 1);
    fs::write(stage.at("plan.toml"), named).unwrap();
    wait::until("its host is watched", || hosts() == 3);
    fs::write(&file, host("c", 3) + &host("d", 4)).unwrap();
    wait::until("another host is watched", || hosts() == 4);
    monitor.signal(Signal::TERM);
    assert_eq!(monitor.end(LIMIT).code, Some(0));
}

#[test]
fn what_strangers_send_to_the_page_is_answered_and_nothing_more() {
    let stage = Stage::new("");
    let token = stage.at("token");
    fs::write(&token, "a-word-of-more-than-16-letters\n").unwrap();
    let mut command = stage.command();
    let monitor = started(command.arg("--token-file").arg(&token));
    wait::until("the page is served", || TcpStream::connect(("127.0.0.1", stage.port)).is_ok());
    let status = |request: &str| stage.asked(request).0.split(' ').nth(1).unwrap().to_owned();
    let get = |path: &str, head: &str| status(&format!("GET {path} HTTP/1.1\r\nConnection: close\r\n{head}\r\n"));
    let known = "Host: localhost\r\nAuthorization: Bearer a-word-of-more-than-16-letters\r\n";
    assert_eq!(get("/", known), "200");
    assert_eq!(get("/", "Host: localhost\r\n"), "401");
    assert_eq!(get("/", "Host: localhost\r\nAuthorization: Bearer another\r\n"), "401");
    assert_eq!(get("/", "Host: localhost\r\nCookie: a=b; sonde-token=a-word-of-more-than-16-letters\r\n"), "200");
    assert_eq!(get("/?token=a-word-of-more-than-16-letters", "Host: localhost\r\n"), "303");
    // A name that somebody else's page gives this address.
    assert_eq!(get("/", &known.replace("localhost", "evil.example")), "421");
    assert_eq!(get("/../../etc/passwd", known), "404");
    assert_eq!(get("/api/v1/cell?from=a", known), "400");
    assert_eq!(get("/api/v1/cell?from=a&to=b&since=99999999999999999999", known), "400");
    assert_eq!(status(&format!("POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 0\r\n{known}\r\n")), "405");
    // A head that is too long is not read to its end: the sender hears so, or is cut off in the middle of it.
    match stage.tried(&format!("GET / HTTP/1.1\r\n{known}X: {}\r\n\r\n", "x".repeat(1 << 20))) {
        Ok((head, _)) => assert!(head.starts_with("HTTP/1.1 431"), "{head}"),
        Err(error) => assert!([ErrorKind::BrokenPipe, ErrorKind::ConnectionReset].contains(&error.kind()), "{error}"),
    }
    let (head, _) = stage.asked(&format!("GET / HTTP/1.1\r\nConnection: close\r\n{known}\r\n"));
    assert!(head.contains("content-security-policy: default-src 'none'"), "{head}");
    monitor.signal(Signal::TERM);
    assert_eq!(monitor.end(LIMIT).code, Some(0));
}

#[test]
fn a_page_for_all_is_refused_unless_it_is_meant() {
    let stage = Stage::new("");
    let mut command = Command::new(env!("CARGO_BIN_EXE_sonde-monitor"));
    command.arg("monitor").arg(stage.at("plan.toml")).arg("--state").arg(stage.at("state"));
    command.arg("--store").arg(stage.at("monitor.db")).arg("--sonde").arg(stage.at("sonde"));
    let refused = ended(command.args(["--listen", "0.0.0.0:1"]), LIMIT);
    assert_eq!(refused.code, Some(2));
    assert!(refused.said("--token-file") && refused.said("--open"), "{}", refused.told());
}

#[test]
fn a_second_monitor_of_the_same_folder_is_refused() {
    let stage = Stage::new("");
    let first = stage.start();
    let second = ended(&mut stage.command(), LIMIT);
    assert_eq!(second.code, Some(2));
    assert!(second.said("another monitor runs"), "{}", second.told());
    first.signal(Signal::TERM);
    assert_eq!(first.end(LIMIT).code, Some(0));
}

#[test]
fn a_plan_that_changes_is_taken_over_and_one_that_is_wrong_is_not() {
    let stage = Stage::new("");
    stage.tells(&[(earlier(2), answer(100_000))]);
    let monitor = stage.start();
    let plan = fs::read_to_string(stage.at("plan.toml")).unwrap();
    fs::write(
        stage.at("plan.toml"),
        format!("{plan}[[hosts]]\nname = \"a\"\nreach = \"local\"\ninternal = \"10.0.0.9\"\n"),
    )
    .unwrap();
    monitor.until("the wrong one is told", |told| told.contains("two are called `a`"));
    fs::write(
        stage.at("plan.toml"),
        format!("{plan}[[hosts]]\nname = \"c\"\nreach = \"local\"\ninternal = \"10.0.0.3\"\n"),
    )
    .unwrap();
    monitor.until("the right one is told", |told| told.contains("the plan changed: 3 hosts, 6 cells"));
    wait::until("the agent is told", || {
        orders(&stage.at("orders")).iter().any(|order| order["cells"].as_array().is_some_and(|cells| cells.len() == 2))
    });
    monitor.signal(Signal::TERM);
    assert_eq!(monitor.end(LIMIT).code, Some(0));
}

#[test]
fn a_host_that_comes_back_with_another_address_is_asked_there_and_its_history_goes_on() {
    let stage = Stage::new("");
    let from = earlier(4);
    let beats = |count: u64| (0..count).map(|at| (from + at, answer(100_000))).collect::<Vec<_>>();
    stage.tells(&beats(60));
    let monitor = stage.start();
    wait::until("a minute is kept", || stage.kept(from) == 60);
    let addresses = || {
        let orders = orders(&stage.at("orders"));
        let cells = orders.iter().filter_map(|order| order["cells"].as_array()).flatten();
        let to_b = cells.filter(|cell| cell["to"] == "b").map(|cell| cell["address"].as_str().unwrap().to_owned());
        to_b.collect::<Vec<_>>()
    };
    wait::until("the agent is told where b is", || addresses().iter().any(|each| each == "10.0.0.2"));
    let plan = fs::read_to_string(stage.at("plan.toml")).unwrap();
    fs::write(stage.at("plan.toml"), plan.replace("10.0.0.2", "10.0.0.22")).unwrap();
    wait::until("the agent is told where b is now", || addresses().iter().any(|each| each == "10.0.0.22"));
    // The way to the agent of `a` is made anew where it is ended; it has gone on with the same numbers.
    stage.tells(&beats(120));
    monitor.signal(Signal::TERM);
    assert_eq!(monitor.end(LIMIT).code, Some(0));
    let again = stage.start();
    wait::until("the second minute is kept", || stage.kept(from) == 120);
    again.signal(Signal::TERM);
    assert_eq!(again.end(LIMIT).code, Some(0));
}

/// Orders so far, whole lines alone.
fn orders(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[test]
fn metrics_are_as_promtool_wants_them() {
    let stage = Stage::new("");
    stage.tells(&[(earlier(1), answer(100_000))]);
    // Fields and lines of a later version are passed over.
    let counters = json!({"told": "counters", "sent": 7, "late": 2, "spooled": 1, "given_up": 0, "connections": 3,
        "cpu_ns": 1_500_000_000_u64, "resident_bytes": 4_096_000, "later": true});
    let later = json!({"told": "of-a-later-version"});
    let told = fs::read_to_string(stage.at("told")).unwrap();
    fs::write(stage.at("told"), format!("{told}{later}\n{counters}\n")).unwrap();
    // Its line stays.
    let script = fs::read_to_string(stage.at("sonde")).unwrap();
    fs::write(stage.at("sonde"), script.replace("exec cat", "exec 3>&1\nexec cat")).unwrap();
    let monitor = stage.start();
    wait::until("a second is counted, and what the agent counted", || {
        let metrics = stage.get("/metrics", "").1;
        let lines = [
            "sonde_host_round_trip_seconds_count{host=\"a\",over=\"udp\"} 1\n",
            "sonde_agent_requests_total{host=\"a\"} 7\n",
            "sonde_agent_cpu_seconds_total{host=\"a\"} 1.5\n",
            "sonde_agent_resident_memory_bytes{host=\"a\"} 4096000\n",
        ];
        lines.iter().all(|line| metrics.contains(line))
    });
    let text = stage.get("/metrics", "").1;
    let checker = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn();
    match checker {
        Ok(mut checker) => {
            checker.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
            let said = checker.wait_with_output().unwrap();
            assert!(
                said.status.success(),
                "{}{}",
                String::from_utf8_lossy(&said.stdout),
                String::from_utf8_lossy(&said.stderr)
            );
        }
        Err(_) => testbed::skip::aloud("metrics by promtool: it is not installed (Debian: prometheus)"),
    }
    monitor.signal(Signal::TERM);
    assert_eq!(monitor.end(LIMIT).code, Some(0));
}

/// A list that is asked for again and again: what is new is taken over, what is broken leaves the last list in force.
#[test]
fn hosts_that_are_found_come_and_go_while_it_runs() {
    let list = tempfile::NamedTempFile::new().unwrap();
    let found = |names: &[&str]| {
        let host = |(at, name): (usize, &&str)| json!({"name": name, "reach": "local", "internal": format!("10.0.1.{}", at + 1)});
        let hosts: Vec<Value> = names.iter().enumerate().map(host).collect();
        fs::write(list.path(), json!({"hosts": hosts}).to_string()).unwrap();
    };
    found(&["c"]);
    let ask = format!("command = [\"cat\", \"{}\"]", list.path().display());
    let stage = Stage::new("");
    let plan = fs::read_to_string(stage.at("plan.toml")).unwrap();
    fs::write(stage.at("plan.toml"), format!("{plan}[[discover]]\nfrom = \"command\"\nevery = \"10s\"\n{ask}\n"))
        .unwrap();
    let checked = ended(
        Command::new(env!("CARGO_BIN_EXE_sonde-monitor")).args(["monitor", "check"]).arg(stage.at("plan.toml")),
        LIMIT,
    );
    assert!(checked.stdout.contains("3 hosts"), "{}", checked.told());
    let running = stage.start();
    let shows = |name: &str| stage.get("/api/v1/now", "").1.contains(&format!("\"{name}\""));
    wait::until("the host that was found is shown", || shows("c"));
    assert!(!shows("d"));
    fs::write(list.path(), "no list").unwrap();
    running.until("said that the last list stays", |text| text.contains("the last list stays (1 found)"));
    assert!(shows("c"));
    found(&["c", "d"]);
    wait::until("the new host is shown", || shows("d"));
    running.until("said that it answers again", |text| text.contains("discovery by command: answers again"));
    running.signal(Signal::TERM);
    assert_eq!(running.end(LIMIT).code, Some(0));
    // A start while nobody answers has the list of before.
    fs::remove_file(list.path()).unwrap();
    let again = stage.start();
    wait::until("the hosts of before are shown", || shows("c") && shows("d"));
    again.signal(Signal::TERM);
    assert_eq!(again.end(LIMIT).code, Some(0));
}
