//! Programs at work as ways of a watch: their URLs are passed on as they stand, kinds of replies are named, options reach those who know them.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use test_case::test_case;
use testbed::process::{Ended, ended};

const LIMIT: Duration = Duration::from_mins(2);

/// The program that measures, built in the same run as this one.
fn sonde() -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_sonde-monitor")).with_file_name("sonde");
    assert!(path.exists(), "{} is built along with the whole workspace: cargo test --workspace", path.display());
    path
}

fn watched(words: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sonde-monitor"));
    command.arg("watch").args(words).env("LC_ALL", "C.UTF-8").env("TERM", "dumb");
    ended(&mut command, LIMIT)
}

/// Plays a server that hands each line to `answer`; its port. It ends with the test.
fn played(answer: fn(&str, u64) -> Option<String>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            thread::spawn(move || serve(&stream, answer));
        }
    });
    port
}

fn serve(stream: &TcpStream, answer: fn(&str, u64) -> Option<String>) {
    let mut stream = stream;
    let mut answered = 0;
    for line in BufReader::new(stream).lines() {
        let Ok(line) = line else { return };
        let Some(reply) = answer(&line, answered) else { continue };
        answered += 1;
        if stream.write_all(reply.as_bytes()).is_err() {
            return;
        }
    }
}

/// A web server that is busy at each fourth request.
fn web(line: &str, answered: u64) -> Option<String> {
    let status = if answered % 4 == 3 { "503 Service Unavailable" } else { "200 OK" };
    line.is_empty().then(|| format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n"))
}

/// A Redis, which gives back what `PING` had.
fn redis(line: &str, _answered: u64) -> Option<String> {
    let is_number = line.len() == 8 && line.bytes().all(|octet| octet.is_ascii_hexdigit());
    is_number.then(|| format!("$8\r\n{line}\r\n"))
}

#[test]
fn programs_are_watched_beside_each_other_and_refusals_are_named_in_their_second() {
    let (web, redis) =
        (format!("http://127.0.0.1:{}/health", played(web)), format!("redis://127.0.0.1:{}", played(redis)));
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().to_str().unwrap();
    let ended = watched(&[&web, &redis, "--every", "20ms", "-t", "2", "--json-lines", "-o", kept]);
    assert_eq!(ended.code, Some(0), "{}", ended.told());
    let lines: Vec<Value> = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (url, protocol, kind) in [(&web, "http", "200"), (&redis, "redis", "PONG")] {
        let of_way = || lines.iter().filter(|line| line["way"]["host"] == **url && line["way"]["protocol"] == protocol);
        let counted = |kind: &str| -> u64 {
            let seconds = of_way().filter(|line| line["event"] == "second");
            seconds.map(|second| second["data"]["replies"][kind]["count"].as_u64().unwrap_or(0)).sum()
        };
        let record = &of_way().find(|line| line["event"] == "end").unwrap()["data"];
        let replies = &record["outcome"]["replies"]["kinds"];
        assert!(replies[kind]["count"].as_u64() > Some(0), "{record:#}");
        for kind in [kind, "503"] {
            assert_eq!(counted(kind), replies[kind]["count"].as_u64().unwrap_or(0), "{kind}: {record:#}");
        }
        assert_eq!(counted("503"), record["outcome"]["counts"]["refused"].as_u64().unwrap(), "{record:#}");
        assert_eq!(counted("503") > 0, protocol == "http");
    }
    let files: Vec<_> =
        std::fs::read_dir(kept).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    for end in ["-health-http.json", "-redis.json"] {
        assert_eq!(files.iter().filter(|file| file.ends_with(end)).count(), 1, "{files:?}");
    }
}

#[test]
fn people_read_which_replies_refused() {
    let url = format!("http://127.0.0.1:{}/health", played(web));
    let told = watched(&[&url, "--every", "20ms", "-t", "1"]);
    assert_eq!(told.code, Some(0), "{}", told.told());
    assert!(
        told.stdout.contains(&format!("{url}: p50 ")) && told.stdout.contains("; refused by 503 ("),
        "{}",
        told.told()
    );
    let strict = watched(&[&url, "--every", "20ms", "-t", "1", "--expect", "404"]);
    assert_eq!(strict.code, Some(1), "no reply is as it is expected: {}", strict.told());
    assert!(strict.stdout.contains("200 ("), "{}", strict.told());
}

/// An option that nobody knows would look as if it was followed.
#[test_case(&["redis://127.0.0.1:1", "--ca", "ca.pem"], "--ca is for URLs")]
#[test_case(&["127.0.0.1", "--expect", "2xx"], "--expect is for URLs"; "a host")]
fn an_option_that_no_url_knows_is_refused(words: &[&str], told: &str) {
    let ended = watched(words);
    assert_eq!(ended.code, Some(2), "{}", ended.told());
    assert!(ended.stderr.contains(told), "{}", ended.told());
}

/// A watch and `sonde rtt` have one opinion on which URL takes which option, for every scheme.
#[test]
fn options_reach_those_who_know_them() {
    let help = ended(Command::new(sonde()).args(["rtt", "gopher://127.0.0.1"]), LIMIT);
    let known = help.stderr.split_once("It speaks ").map_or_else(|| panic!("{}", help.told()), |(_, known)| known);
    let schemes: Vec<&str> = known.split([',', ' ', '\n', '\'']).filter_map(|word| word.strip_suffix("://")).collect();
    assert!(schemes.len() > 20, "{}", help.told());
    let options: [&[&str]; 5] = [
        &["--insecure"],
        &["--password-file", "/nowhere"],
        &["--headers", "/nowhere"],
        &["--expect", "2xx"],
        &["--tls-name", "x"],
    ];
    for scheme in schemes {
        for option in options {
            let url = format!("{scheme}://127.0.0.1:1");
            let said = ended(Command::new(sonde()).args(["rtt", &url]).args(option).args(["-t", "100ms"]), LIMIT);
            let is_known = !said.stderr.contains(&format!("{} is for", option[0]));
            let watched = watched(&[&[url.as_str(), "-t", "1ms"], option].concat());
            let is_passed = !watched.stderr.contains(&format!("{} is for", option[0]));
            assert_eq!(is_passed, is_known, "{scheme} {option:?}: {}{}", said.told(), watched.told());
        }
    }
}
