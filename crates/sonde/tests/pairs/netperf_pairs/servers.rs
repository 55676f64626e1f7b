//! Our netserver as a program: what it prints, how it is called, and how it becomes a daemon.

use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use measure::method::Carrier;
use rustix::process::{Pid, Signal, kill_process};
use testbed::port;
use testbed::process::{self, Ended, LIMIT};
use testbed::wait;

use crate::netperf_pairs::ends::{End, Server};
use crate::netperf_pairs::fields::Fields;
use crate::netperf_pairs::forms::{Layout, compared};
use crate::netperf_pairs::odd::explained;
use crate::netperf_pairs::transcripts::fixture;

fn netserver(words: &[&str]) -> Ended {
    process::ended(End::Ours.program("netserver").unwrap().args(words), LIMIT)
}

#[test]
fn usage_goes_to_standard_error() {
    let (console, ended) = (fixture("netserver_1_h"), netserver(&["-h"]));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(console.status), ""), "{}", ended.told());
    assert!(ended.stderr.starts_with("\nUsage: netserver [options] \n\nOptions:\n"), "{}", ended.told());
    let ours = explained(&ended.stderr);
    let lacking: Vec<char> = explained(&console.stderr).into_iter().filter(|one| !ours.contains(one)).collect();
    assert!(lacking.is_empty(), "{lacking:?}: {}", ended.told());
}

#[test]
fn in_the_foreground_it_says_where_it_listens() {
    let console = fixture("netserver_3_foreground");
    let port = port::free();
    let running = process::started(End::Ours.program("netserver").unwrap().args(["-D", "-p", &port.to_string()]));
    // The port answers before it has said anything.
    running.until("its first line", |said| said.contains('\n'));
    running.until_listening(Carrier::Tcp, port);
    running.signal(Signal::TERM);
    let ended = running.end(LIMIT);
    assert_eq!(compared(&console.stdout, &ended.stdout, Layout::Lines), [""; 0], "{}", ended.told());
    assert!(ended.said(&format!("'{port}'")) && ended.stderr.is_empty(), "{}", ended.told());
}

#[test]
fn a_port_in_use_is_told_in_the_original_s_words() {
    let console = fixture("netserver_4_port_in_use");
    let server = Server::start(End::Ours, &[]);
    let ended = netserver(&["-D", "-p", &server.port.to_string()]);
    assert_eq!(ended.code, Some(console.status), "{}", ended.told());
    assert_eq!(compared(&console.stdout, &ended.stdout, Layout::Lines), [""; 0], "{}", ended.told());
    // The reason may stand behind it.
    let first = ended.stderr.split_inclusive('\n').next().unwrap_or_default();
    assert_eq!(compared(&console.stderr, first, Layout::Lines), [""; 0], "{}", ended.told());
}

/// The processes whose command line holds this word.
fn processes_with(word: &str) -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    let holds = |pid: &i32| {
        let line = std::fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline")).unwrap_or_default();
        line.split(|octet| *octet == 0).any(|part| part == word.as_bytes())
    };
    entries.filter_map(|name| name.parse().ok()).filter(holds).collect()
}

/// Ends the daemon when the test is over, however it ends.
struct Daemon(String);

impl Drop for Daemon {
    fn drop(&mut self) {
        for pid in processes_with(&self.0).into_iter().filter_map(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

#[test]
fn a_daemon_lets_go_of_its_terminal_and_serves() {
    let console = fixture("netserver_5_default");
    let number = port::free();
    let port = number.to_string();
    let daemon = Daemon(port.clone());
    // All it printed is read to the end: a daemon that kept the pipe would not let this return.
    let ended = netserver(&["-p", &port, "-4"]);
    assert_eq!((ended.overdue, ended.code), (false, Some(console.status)), "{}", ended.told());
    assert_eq!(compared(&console.stdout, &ended.stdout, Layout::Lines), [""; 0], "{}", ended.told());
    wait::until("it listens", || port::listens(Carrier::Tcp, number));
    let client = End::Ours.client(number, &["-H", "127.0.0.1", "-t", "TCP_RR", "-l", "-100"]);
    assert_eq!(client.code, Some(0), "{}", client.told());
    let pids = processes_with(&port);
    assert!(!pids.is_empty());
    for pid in pids {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        assert_eq!(fields[4], "0", "it has no terminal: {stat}");
    }
    drop(daemon);
}

#[test]
fn links_and_subcommands_are_the_same_programs() {
    let folder = tempfile::tempdir().unwrap();
    let sonde = assert_cmd::cargo::cargo_bin!("sonde");
    let installed = Command::new(sonde).arg("install-names").arg(folder.path()).output().unwrap();
    assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
    let linked = |name: &str| Command::new(folder.path().join(name));
    let subcommand = |name: &str| {
        let mut command = Command::new(sonde);
        command.arg(name);
        command
    };
    let ways: [&dyn Fn(&str) -> Command; 2] = [&linked, &subcommand];
    for server in ways {
        let server = Server::of(|| server("netserver"), &[]);
        for client in ways {
            let mut command = client("netperf");
            command.args(["-p", &server.port.to_string(), "-H", "127.0.0.1", "-t", "TCP_RR", "-l", "-100", "--"]);
            let ended = process::ended(command.args(["-k", "LOCAL_RECV_CALLS,COMMAND_LINE"]), LIMIT);
            let fields = Fields::of(&ended.stdout);
            assert_eq!((ended.code, fields.text("LOCAL_RECV_CALLS")), (Some(0), Ok("100")), "{}", ended.told());
        }
    }
}

#[test]
fn a_family_is_listened_on_alone_where_asked_for() {
    for (option, yes, no) in [("-4", "127.0.0.1", "::1"), ("-6", "::1", "127.0.0.1")] {
        let server = Server::start(End::Ours, &[option]);
        assert!(TcpStream::connect((yes, server.port)).is_ok(), "{option}");
        let other = TcpStream::connect((no, server.port));
        // With -6 the original's one socket takes both.
        assert!(option == "-6" || other.is_err(), "{option}");
    }
}
