//! The far side as a process of its own: it starts with a line, tells a supervisor, answers, and ends in order.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use predicates::str::contains;
use rustix::process::{Pid, Signal, kill_process};
use test_case::test_case;

use crate::{document, printed, sonde, sonde_in};

/// A reflector on ports of its own; ended when it goes out of scope.
pub struct Reflector {
    child: Child,
    stderr: BufReader<ChildStderr>,
    status: String,
}

impl Reflector {
    pub fn start(folder: &Path, words: &[&str]) -> Self {
        Self::start_by(&[], folder, words)
    }

    /// One that `starter`, a program with arguments, starts.
    pub fn start_by(starter: &[&OsStr], folder: &Path, words: &[&str]) -> Self {
        let prepared = sonde_in(folder, &[&["serve", "--port", "0"], words].concat());
        let line: Vec<&OsStr> = starter.iter().copied().chain([prepared.get_program()]).collect();
        let mut command = Command::new(line[0]);
        command
            .args(&line[1..])
            .args(prepared.get_args())
            .current_dir(folder)
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        for (name, value) in prepared.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.env("NOTIFY_SOCKET", folder.join("notify"));
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut status = String::new();
        stderr.read_line(&mut status).unwrap();
        Self { child, stderr, status }
    }

    /// The address of its first listener, as it told it.
    pub fn address(&self) -> String {
        let rest = self.status.split("listening on ").nth(1).unwrap_or_else(|| panic!("{}", self.status));
        rest.split([' ', ',']).next().unwrap().replace("[::]", "127.0.0.1")
    }

    /// The address of the netserver beside it, whose line comes next.
    pub fn netserver(&mut self) -> String {
        let mut beside = String::new();
        self.stderr.read_line(&mut beside).unwrap();
        beside.trim_end().strip_prefix("sonde serve: a netserver on ").unwrap().to_owned()
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it by `signal`; gives back its exit status and what else it said.
    /// The next line with these words.
    pub fn line_that(&mut self, words: &str) -> String {
        loop {
            let mut line = String::new();
            self.stderr.read_line(&mut line).unwrap();
            assert!(!line.is_empty(), "it ended without a word of {words}");
            if line.contains(words) {
                return line;
            }
        }
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub fn end(mut self, signal: Signal) -> (Option<i32>, String) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        let mut rest = String::new();
        self.stderr.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

impl Drop for Reflector {
    fn drop(&mut self) {
        // Ended already where the test went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test_case(Signal::TERM; "by a supervisor")]
#[test_case(Signal::INT; "by hand")]
fn it_tells_its_supervisor_and_ends_in_order(signal: Signal) {
    let folder = tempfile::tempdir().unwrap();
    let supervisor = UnixDatagram::bind(folder.path().join("notify")).unwrap();
    let reflector = Reflector::start(folder.path(), &[]);
    assert!(reflector.status.starts_with("sonde serve: listening on 127.0.0.1:"), "{}", reflector.status);
    assert!(reflector.status.contains("loopback alone"), "{}", reflector.status);
    assert!(told(&supervisor).starts_with("READY=1\n"));
    let (status, rest) = reflector.end(signal);
    assert_eq!(status, Some(0));
    assert!(rest.starts_with("sonde serve: sandbox: ") && rest.lines().count() == 1, "{rest}");
    assert_eq!(told(&supervisor), "STOPPING=1");
}

fn told(supervisor: &UnixDatagram) -> String {
    let mut buffer = [0; 512];
    let length = supervisor.recv(&mut buffer).unwrap();
    String::from_utf8(buffer[..length].to_vec()).unwrap()
}

#[test_case(&["-c", "200"]; "tcp")]
#[test_case(&["-c", "200", "--udp"]; "udp")]
#[test_case(&["-c", "20", "--crr"]; "connect and exchange")]
#[test_case(&["-c", "20", "--connect"]; "handshakes")]
fn it_answers_another_process(words: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let reflector = Reflector::start(folder.path(), &[]);
    let address = reflector.address();
    let words = [&["rtt", &address, "--json", "-q", "--warm-up", "0"], words].concat();
    let record = document(printed(&mut sonde(&words)).as_bytes());
    assert_eq!(record["outcome"]["counts"]["answered"], words[7].parse::<u64>().unwrap());
    assert_eq!(record["target"]["own_reflector"], false);
    assert_eq!(record["target"]["host"], "127.0.0.1");
}

#[test]
fn a_key_lets_in_those_who_have_it_alone() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["right.key", "wrong.key"] {
        sonde_in(folder.path(), &["key", name]).assert().success();
    }
    let reflector = Reflector::start(folder.path(), &["--key", "right.key"]);
    let address = reflector.address();
    let rtt =
        |words: &[&str]| sonde_in(folder.path(), &[&["rtt", &address, "-c", "10", "-q", "--json"], words].concat());
    rtt(&["--key", "right.key"]).assert().success();
    rtt(&[]).env("SONDE_KEY_FILE", "right.key").assert().success();
    for words in [&["--key", "wrong.key"][..], &[]] {
        let assert = rtt(words).assert().code(1);
        assert!(document(&assert.get_output().stdout)["error"]["hint"].is_string());
    }
    rtt(&["--key", "missing.key"]).assert().code(2);
}

#[test]
fn it_waits_as_it_was_started_to_unless_the_client_says() {
    let folder = tempfile::tempdir().unwrap();
    let reflector = Reflector::start(folder.path(), &["--wait", "spin", "--cpu", "0"]);
    let address = reflector.address();
    let method = |words: &[&str]| {
        let words = [&["rtt", &address, "-J", "-q", "-c", "50"], words].concat();
        document(printed(&mut sonde(&words)).as_bytes())["method"].clone()
    };
    let as_started = method(&[]);
    assert_eq!((&as_started["peer_waiting"], &as_started["spread"]["peer_cpus"]), (&"spin".into(), &[0].into()));
    assert_eq!(method(&["--peer-wait", "block"])["peer_waiting"], "block");
}

#[test]
fn a_cpu_that_is_not_there_is_refused_at_once() {
    let assert = sonde(&["serve", "--port", "0", "--cpu", "0,4000"]).assert().code(2);
    let text = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    assert!(text.contains("CPU 4000") && text.contains("try:   "), "{text}");
}

#[test]
fn a_hold_is_seen_in_full() {
    let folder = tempfile::tempdir().unwrap();
    let reflector = Reflector::start(folder.path(), &["--hold", "3ms"]);
    let record = document(printed(&mut sonde(&["rtt", &reflector.address(), "-J", "-q", "-c", "50"])).as_bytes());
    let shortest = record["outcome"]["response"]["min_ns"].as_u64().unwrap();
    assert!(shortest >= 3_000_000, "{shortest}");
}

#[test]
fn a_peer_that_dies_leaves_what_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let reflector = Reflector::start(folder.path(), &[]);
    let prepared = sonde(&["rtt", &reflector.address(), "--json-lines", "-t", "60", "--warm-up", "0"]);
    let mut child = Command::new(prepared.get_program())
        .args(prepared.get_args())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.by_ref().any(|line| line.starts_with(r#"{"event":"second""#)));
    reflector.end(Signal::KILL);
    let end = document(lines.last().unwrap().as_bytes());
    assert_eq!((&end["event"], &end["data"]["ended"]["how"]), (&"end".into(), &"peer-lost".into()), "{end}");
    assert!(end["data"]["outcome"]["counts"]["answered"].as_u64() > Some(0));
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn a_port_in_use_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let reflector = Reflector::start(folder.path(), &[]);
    let assert = sonde(&["serve", "--listen", &reflector.address()]).assert().code(2);
    let text = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    assert!(text.contains("in use") && text.contains("try:   "), "{text}");
}

#[test]
fn a_sockperf_server_beside_it_answers_over_udp_and_tcp() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["--listen", "127.0.0.1", "--listen", "::1", "--sockperf", "0", "--netperf", "0"];
    let mut reflector = Reflector::start(folder.path(), &words);
    let mut beside = [String::new(), String::new()];
    for line in &mut beside {
        reflector.stderr.read_line(line).unwrap();
    }
    assert!(beside[0].starts_with("sonde serve: a netserver on 127.0.0.1:"), "{beside:?}");
    let places = beside[1].trim_end().strip_prefix("sonde serve: a sockperf server on ").unwrap();
    let places: Vec<&str> = places.split(" and ").collect();
    assert_eq!(places.len(), 2, "{beside:?}");
    let message = [0, 0, 0, 0, 0, 0, 0, 1, 0, 3, 0, 0, 0, 14];
    let mut answer = [0; 14];
    for place in places {
        let socket = UdpSocket::bind(if place.contains('[') { "[::1]:0" } else { "127.0.0.1:0" }).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        socket.send_to(&message, place).unwrap();
        assert_eq!((socket.recv(&mut answer).unwrap(), answer[9]), (14, 2));
        let mut stream = TcpStream::connect(place).unwrap();
        stream.write_all(&message).unwrap();
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(answer[9], 2);
    }
    assert_eq!(reflector.end(Signal::TERM).0, Some(0));
}

#[test]
fn an_iperf_server_beside_it_answers_iperfs_clients() {
    let folder = tempfile::tempdir().unwrap();
    let mut reflector = Reflector::start(folder.path(), &["--listen", "127.0.0.1", "--iperf", "0"]);
    let mut beside = String::new();
    reflector.stderr.read_line(&mut beside).unwrap();
    let places =
        beside.trim_end().strip_prefix("sonde serve: an iperf 2 server on ").unwrap_or_else(|| panic!("{beside}"));
    let ports: Vec<&str> = places.split(" and ").map(|place| place.rsplit_once(':').unwrap().1).collect();
    let &[tcp, udp] = ports.as_slice() else { panic!("{beside}") };
    sonde(&["iperf", "-c", "127.0.0.1", "-p", tcp, "-n", "64K"]).assert().success();
    sonde(&["iperf", "-u", "-c", "127.0.0.1", "-p", udp, "-t", "0.1", "-b", "1m"]).assert().success();
    assert_eq!(reflector.end(Signal::TERM).0, Some(0));
}

#[test]
fn a_sockperf_server_is_not_for_those_with_a_key() {
    let words = ["serve", "--key", "fleet.key", "--sockperf"];
    sonde(&words).assert().code(2).stderr(contains("--sockperf"));
}

#[test]
fn a_netserver_beside_it_answers_netperfs_clients() {
    let folder = tempfile::tempdir().unwrap();
    let mut reflector = Reflector::start(folder.path(), &["--listen", "127.0.0.1", "--netperf", "0"]);
    let address = reflector.netserver();
    let words = ["rtt", &address, "--peer", "netperf", "--warm-up", "0", "-c", "50", "--json"];
    let record = document(printed(&mut sonde(&words)).as_bytes());
    assert_eq!(
        (&record["peer"]["protocol"], &record["outcome"]["counts"]["answered"]),
        (&"netperf".into(), &50.into())
    );
    assert_eq!(record["outcome"]["loss"]["peer_received"], 50);
    assert_eq!(reflector.end(Signal::TERM).0, Some(0));
}
