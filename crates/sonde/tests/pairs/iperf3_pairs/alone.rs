//! Ours by itself: one test and its end, the background, files, links, the record.

use std::process::Command;

use measure::method::Carrier;
use rustix::process::{Pid, Signal, kill_process};
use testbed::port;
use testbed::process::{self, LIMIT};
use testbed::wait;

use crate::iperf3_pairs::ends::{End, Server};

fn sonde(words: &[&str]) -> process::Ended {
    process::ended(Command::new(assert_cmd::cargo::cargo_bin!("sonde")).args(words), LIMIT)
}

#[test]
fn a_server_of_one_test_ends_behind_it() {
    for words in ["-1", "-1 -J", "-1 --json-stream"] {
        let listening = Server::start(End::Ours, words);
        assert_eq!(End::Ours.client(listening.port, "-t 1 -b 10M").code, Some(0));
        let served = listening.ended();
        assert_eq!((served.overdue, served.code), (false, Some(0)), "{}", served.told());
        match words {
            "-1" => assert_eq!(served.stdout.matches("Server listening on").count(), 1, "{}", served.told()),
            "-1 -J" => {
                let document: serde_json::Value = serde_json::from_str(&served.stdout).expect("JSON");
                assert!(document["end"]["sum_received"]["bytes"].as_u64().unwrap() > 0, "{}", served.told());
            }
            _ => {
                let events: Vec<serde_json::Value> =
                    served.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
                let names: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
                assert_eq!((names[0], names[1], names[names.len() - 1]), ("start", "interval", "end"));
            }
        }
    }
}

#[test]
fn a_confined_server_sends_without_copies() {
    let server = Server::start(End::Ours, "");
    let ended = End::Ours.client(server.port, "-Z -R -n 1M");
    assert_eq!((ended.overdue, ended.code), (false, Some(0)), "{}", ended.told());
}

#[test]
fn a_server_told_to_end_says_so() {
    let ended = Server::start(End::Ours, "").end();
    assert_eq!(ended.code, Some(0), "{}", ended.told());
    assert_eq!(ended.stderr, "iperf3: interrupt - the server has terminated by signal Interrupt(2)\n");
}

/// Ends the daemon when the test is over, however it ends.
struct Daemon(i32);

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(pid) = Pid::from_raw(self.0) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

#[test]
fn a_daemon_says_its_number_and_writes_its_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let (pidfile, log) = (folder.path().join("pid"), folder.path().join("log"));
    let port = port::free();
    let mut command = End::Ours.program();
    command.args(["-s", "-D", "-p", &port.to_string(), "--pidfile"]).arg(&pidfile).arg("--logfile").arg(&log);
    // All it printed is read to the end: a daemon that kept the pipe would not let this return.
    let ended = process::ended(&mut command, LIMIT);
    assert_eq!((ended.overdue, ended.code, ended.stdout.as_str()), (false, Some(0), ""), "{}", ended.told());
    wait::until("it listens", || port::listens(Carrier::Tcp, port));
    assert_eq!(End::Ours.client(port, "-t 1 -b 10M").code, Some(0));
    let number: i32 = std::fs::read_to_string(&pidfile).expect("a file").trim().parse().expect("a number");
    let daemon = Daemon(number);
    let text = std::fs::read_to_string(&log).expect("a log");
    assert!(text.contains("Accepted connection from 127.0.0.1") && text.contains("receiver\n"), "{text}");
    kill_process(Pid::from_raw(number).expect("a number"), Signal::TERM).expect("it runs");
    wait::until("it takes its file with it", || !pidfile.exists());
    drop(daemon);
}

#[test]
fn a_run_leaves_a_record() {
    let folder = tempfile::tempdir().expect("a folder");
    let listening = Server::start(End::Ours, "");
    for (place, words) in
        ["-t 1 -b 10M", "-k 40", "-t 1 -R -P 2 -b 10M", "-u -t 1 -b 5M --bidir"].into_iter().enumerate()
    {
        let path = folder.path().join(format!("run{place}.json"));
        let path = path.to_str().expect("text");
        let ended = End::Ours.client(listening.port, &format!("{words} --record {path}"));
        assert_eq!(ended.code, Some(0), "{}", ended.told());
        let record: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(path).expect("a record")).expect("JSON");
        assert_eq!(record["question"], "throughput", "{words}");
        assert_eq!(record["peer"]["protocol"], "iperf3", "{words}");
        assert!(record["stream"]["ours"]["bytes"].as_u64().unwrap() > 0, "{words}");
        assert_eq!(words.contains("--bidir"), record["stream"]["back"].is_object(), "{words}");
        assert_eq!(
            words.contains("-b"),
            record["method"]["schedule"] != "back-to-back",
            "{words}: {}",
            record["method"]
        );
        let shown = sonde(&["show", path]);
        assert_eq!(shown.code, Some(0), "{}", shown.told());
    }
    drop(listening.end());
}

#[test]
fn a_server_goes_beside_the_reflector() {
    let (port, own) = (port::free().to_string(), port::free().to_string());
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("sonde"));
    let serving = process::started(command.args(["serve", "--port", &own, "--iperf3", &port]));
    let number: u16 = port.parse().expect("a number");
    serving.until_listening(Carrier::Tcp, number);
    let several: Vec<_> = (0..3).map(|_| End::Ours.running(number, "-t 1 -b 5M")).collect();
    for running in several {
        let ended = running.end(LIMIT);
        assert_eq!(ended.code, Some(0), "many tests at once: {}", ended.told());
    }
    serving.signal(Signal::TERM);
    let ended = serving.end(LIMIT);
    assert!(ended.code == Some(0) && ended.said("an iperf3 server on 127.0.0.1:"), "{}", ended.told());
}

#[test]
fn by_a_link_and_as_a_first_word_it_is_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let made = sonde(&["install-names", folder.path().to_str().expect("text")]);
    assert_eq!(made.code, Some(0), "{}", made.told());
    let linked = process::ended(Command::new(folder.path().join("iperf3")).arg("-v"), LIMIT);
    let word = sonde(&["iperf3", "-v"]);
    assert_eq!((linked.code, linked.stdout.as_str()), (Some(0), word.stdout.as_str()));
    assert!(word.stdout.starts_with("iperf 3.21 (sonde "), "{}", word.told());
}
