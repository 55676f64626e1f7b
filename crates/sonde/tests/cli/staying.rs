//! `sonde agent --monitor`: agents that stay, measure each other and keep what they found until somebody has it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use testbed::port;

/// Far above what any of this takes: beats come once a second.
const PATIENCE: Duration = Duration::from_mins(1);
/// Octets of a key are of no matter here.
const KEY: &str = "sonde-key-1:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

fn sonde(words: &[&str], state: &Path) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("sonde"));
    command.arg("agent").args(words).arg("--state").arg(state).env_remove("NOTIFY_SOCKET");
    command
}

/// An agent that stays until it is killed or this is dropped.
struct Agent(Child);

impl Agent {
    fn start(state: &Path) -> Self {
        let mut child = sonde(&["--monitor"], state).stderr(Stdio::null()).spawn().unwrap();
        let socket = state.join("agent.sock");
        testbed::wait::until("the agent listens", || {
            assert_eq!(child.try_wait().unwrap(), None, "it has ended");
            UnixStream::connect(&socket).is_ok()
        });
        Self(child)
    }

    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Peer of an agent, as a monitor would be.
struct Centre {
    child: Child,
    told: Receiver<Value>,
}

impl Centre {
    fn attach(state: &Path) -> Self {
        Self::of(sonde(&["--attach"], state))
    }

    fn of(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (tell, told) = channel();
        thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let _ = tell.send(serde_json::from_str(&line).unwrap());
            }
        });
        Self { child, told }
    }

    fn order(&mut self, order: &Value) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{order}").unwrap();
    }

    fn assign(&mut self, host: &str, port: Option<u16>, cells: &[Value]) {
        let timeout = 5_000_000_000_u64;
        self.order(&json!({"do": "assign", "revision": 3, "host": host, "port": port, "key": KEY,
            "timeout_ns": timeout, "cells": cells}));
    }

    fn next(&self) -> Value {
        self.told.recv_timeout(PATIENCE).expect("it tells more than that")
    }

    /// The next thing that is told of this kind.
    fn told(&self, kind: &str) -> Value {
        loop {
            let told = self.next();
            if told["told"] == kind {
                return told;
            }
        }
    }

    /// Beats until one has what is wanted of its cell to that host.
    fn until(&self, to: &str, mut wanted: impl FnMut(&Value) -> bool) {
        loop {
            let beat = self.told("beat");
            if beat["cells"].as_array().unwrap().iter().any(|cell| cell["to"] == to && wanted(cell)) {
                return;
            }
        }
    }
}

impl Drop for Centre {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn cell(to: &str, over: &str, port: u16) -> Value {
    json!({"to": to, "address": "127.0.0.1", "port": port, "over": over, "every_ns": 100_000_000})
}

fn answered(cell: &Value) -> usize {
    cell["times_ns"].as_array().map_or(0, Vec::len)
}

/// Two agents that measure each other.
struct Two {
    folder: tempfile::TempDir,
    ports: (u16, u16),
    a: Option<Agent>,
    b: Option<Agent>,
}

impl Two {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (Agent::start(&folder.path().join("a")), Agent::start(&folder.path().join("b")));
        Self { folder, ports: (port::free(), port::free()), a: Some(a), b: Some(b) }
    }

    fn assigned(&self) -> (Centre, Centre) {
        let (mut a, mut b) = (Centre::attach(&self.place("a")), Centre::attach(&self.place("b")));
        b.assign("b", Some(self.ports.1), &[cell("a", "udp", self.ports.0)]);
        let to_b = ["udp", "tcp-connect"].map(|over| cell("b", over, self.ports.1));
        a.assign("a", Some(self.ports.0), &to_b);
        (a, b)
    }

    fn place(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }
}

#[test]
fn two_agents_measure_each_other_and_what_is_kept_is_not_told_again() {
    let two = Two::new();
    let (mut a, b) = two.assigned();
    let hello = a.told("hello");
    assert_eq!((&hello["version"], &hello["oldest"], &hello["given_up"]), (&json!(1), &Value::Null, &json!(0)));
    b.until("a", |cell| answered(cell) >= 9);
    a.until("b", |cell| cell["over"] == "tcp-connect" && answered(cell) >= 9);
    let beats: Vec<Value> = (0..3).map(|_| a.told("beat")).collect();
    for pair in beats.windows(2) {
        assert_eq!(pair[0]["seq"].as_u64().unwrap() + 1, pair[1]["seq"].as_u64().unwrap());
        assert!(pair[0]["at"].as_u64() <= pair[1]["at"].as_u64());
    }
    for cell in beats[0]["cells"].as_array().unwrap() {
        // Ten a second, each within a tenth of the period around its time; over loopback nothing is lost.
        assert!((9..=11).contains(&answered(cell)), "{cell}");
        assert!(
            ["lost", "late", "refused", "corrupt", "send_failed"].iter().all(|fate| cell[fate].is_null()),
            "{cell}"
        );
    }
    assert!(beats[0]["own"]["slip_ns"].as_u64() > Some(0) && beats[0]["own"]["own_cpu"].as_f64() > Some(0.0));
    let kept = beats[1]["seq"].as_u64().unwrap();
    a.order(&json!({"do": "kept", "instance": hello["instance"], "upto": kept}));
    a.order(&json!({"do": "answer"}));
    a.told("here");
    drop(a);
    let a = Centre::attach(&two.place("a"));
    let again = a.told("hello");
    assert_eq!(
        (&again["instance"], &again["oldest"], &again["revision"]),
        (&hello["instance"], &json!(kept + 1), &json!(3))
    );
}

/// Nobody keeps anything here, so the beats that are left are all that were, which says at which of them it counted.
#[test]
fn what_an_agent_did_is_told_to_who_connects_and_every_ten_seconds() {
    let two = Two::new();
    let (a, _b) = two.assigned();
    let of = |told: &Value, key: &str| told[key].as_u64().unwrap();
    let first = a.told("counters");
    assert!(of(&first, "spooled") < 10, "{first}");
    let (mut answers, mut due, mut last, mut second) = (0, 0, 0, None::<Value>);
    while second.as_ref().is_none_or(|second| of(second, "spooled") > last) {
        let told = a.next();
        if told["told"] == "counters" {
            second = Some(told);
        } else if told["told"] == "beat" {
            last = of(&told, "seq");
            for cell in told["cells"].as_array().unwrap() {
                let others = ["lost", "late", "refused", "corrupt", "send_failed"];
                answers += answered(cell) as u64;
                due += answered(cell) as u64 + others.iter().filter_map(|fate| cell[fate].as_u64()).sum::<u64>();
            }
        }
    }
    let second = second.unwrap();
    assert_eq!((of(&second, "spooled"), of(&second, "given_up")), (last, 0));
    let sent = of(&second, "sent");
    assert!(last >= 10 && answers > 0 && (answers..=due).contains(&sent), "{answers} of {due}: {second}");
    assert!(of(&second, "late") <= sent && of(&second, "cpu_ns") >= of(&first, "cpu_ns"), "{first} {second}");
    assert!(of(&first, "cpu_ns") > 0 && of(&second, "resident_bytes") > 1 << 20, "{second}");
    drop(a);
    let again = Centre::attach(&two.place("a")).told("counters");
    assert_eq!(of(&again, "connections"), of(&second, "connections") + 1);
}

#[test]
fn a_killed_agent_that_starts_again_tells_what_it_had_and_measures_what_it_was_assigned() {
    let mut two = Two::new();
    let (a, b) = two.assigned();
    let before = a.told("hello");
    a.until("b", |cell| answered(cell) >= 9);
    let seen = a.told("beat")["seq"].as_u64().unwrap();
    two.a.take().unwrap().kill();
    drop(a);
    two.a = Some(Agent::start(&two.place("a")));
    let a = Centre::attach(&two.place("a"));
    let after = a.told("hello");
    assert_ne!(before["instance"], after["instance"]);
    assert_eq!(a.told("instance"), json!({"told": "instance", "instance": before["instance"], "oldest": 1}));
    let mut numbers = Vec::new();
    let named = loop {
        let told = a.next();
        match told["told"].as_str() {
            Some("beat") => numbers.push(told["seq"].as_u64().unwrap()),
            Some("instance") => break told,
            _ => {}
        }
    };
    assert!(numbers.len() as u64 >= seen && numbers.iter().copied().eq(1..=numbers.len() as u64), "{numbers:?}");
    assert_eq!(named["instance"], after["instance"]);
    // Nobody has assigned anything to this start.
    assert_eq!(a.told("beat")["seq"], 1);
    a.until("b", |cell| answered(cell) >= 9);
    // And it is answered by the other again, and answers it.
    b.until("a", |cell| answered(cell) >= 9);
}

#[test]
fn a_peer_that_comes_later_is_measured_from_then_on() {
    let mut two = Two::new();
    two.b.take().unwrap().kill();
    let mut a = Centre::attach(&two.place("a"));
    a.assign(
        "a",
        None,
        &[cell("b", "udp", two.ports.1), cell("b", "tcp-connect", two.ports.1), cell("b", "tcp-syn", 1)],
    );
    a.assign("a", None, &[cell("b", "udp", two.ports.1), cell("b", "tcp-connect", two.ports.1)]);
    let trouble = a.told("trouble");
    assert!(trouble["to"] == "b" && trouble["text"].as_str().unwrap().contains("refused"), "{trouble}");
    a.until("b", |cell| cell["over"] == "tcp-connect" && cell["refused"].as_u64() >= Some(9));
    a.until("b", |cell| cell["over"].is_null() && cell["refused"].as_u64() >= Some(9));
    two.b = Some(Agent::start(&two.place("b")));
    Centre::attach(&two.place("b")).assign("b", Some(two.ports.1), &[]);
    a.until("b", |cell| cell["over"].is_null() && answered(cell) >= 9);
    a.until("b", |cell| cell["over"] == "tcp-connect" && answered(cell) >= 9);
}

#[test]
fn the_newest_connection_is_spoken_to_and_garbage_ends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let _agent = Agent::start(folder.path());
    let (first, second) = (Centre::attach(folder.path()), ());
    first.told("hello");
    let () = second;
    let mut second = Centre::attach(folder.path());
    second.told("hello");
    first.told("replaced");
    for garbage in ["", "{", "[1,2]", "{\"do\":\"what-comes-later\"}", "\u{0}\u{1}"] {
        writeln!(second.child.stdin.as_mut().unwrap(), "{garbage}").unwrap();
    }
    second.order(&json!({"do": "answer"}));
    second.told("here");
    // One that says nothing whole, and one that reads nothing.
    let mut rude = UnixStream::connect(folder.path().join("agent.sock")).unwrap();
    second.told("replaced");
    rude.write_all(&[0xff; 4_096]).unwrap();
    let mut third = Centre::attach(folder.path());
    third.order(&json!({"do": "answer"}));
    third.told("here");
    drop(rude);
}

#[test]
fn a_port_that_another_has_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let _agent = Agent::start(folder.path());
    let taken = TcpListener::bind(("127.0.0.1", port::free())).unwrap();
    let mut centre = Centre::attach(folder.path());
    centre.assign("a", Some(taken.local_addr().unwrap().port()), &[]);
    let trouble = centre.told("trouble");
    assert!(trouble["to"] == "a" && trouble["text"].as_str().unwrap().contains("cannot listen there"), "{trouble}");
}

#[test]
fn a_folder_has_one_agent_and_its_files_are_its_owners() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("a");
    let _agent = Agent::start(&state);
    let mut centre = Centre::attach(&state);
    centre.assign("a", None, &[]);
    centre.order(&json!({"do": "answer"}));
    centre.told("here");
    for (name, mode) in [("", 0o700), ("agent.sock", 0o600), ("key", 0o600), ("assignment.json", 0o600)] {
        let found = std::fs::metadata(state.join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{name}");
    }
    let second = sonde(&["--monitor"], &state).output().unwrap();
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(second.status.code() == Some(2) && said.contains("another agent has this folder"), "{said}");
}

/// Ends what `--start` has started.
struct Started<'a>(&'a Path);

impl Drop for Started<'_> {
    fn drop(&mut self) {
        let _ = sonde(&["--attach", "--end"], self.0).status();
    }
}

#[test]
fn one_is_started_where_none_is_and_in_place_of_an_older_one() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("a");
    let nobody = sonde(&["--attach"], &state).output().unwrap();
    assert!(String::from_utf8_lossy(&nobody.stderr).contains("no agent stays here"));
    // One of before, which is asked to end.
    let listener = UnixListener::bind(state.join("agent.sock")).unwrap();
    let older = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let hello = json!({"told": "hello", "version": 1, "program": "sonde", "program_version": "0.0.9", "given_up": 0,
            "instance": "01a215a3-fbe8-752c-9fea-15c45fb2fd0f", "oldest": null, "revision": null, "boot_id": null, "wall_ns": 1});
        writeln!(stream, "{hello}").unwrap();
        let mut order = String::new();
        BufReader::new(stream).read_line(&mut order).unwrap();
        order
    });
    let _started = Started(&state);
    let first = Centre::of(sonde(&["--attach", "--start"], &state));
    let hello = first.told("hello");
    assert_eq!(older.join().unwrap().trim(), r#"{"do":"end"}"#);
    assert_eq!(hello["program_version"], env!("CARGO_PKG_VERSION"));
    drop(first);
    // It stays, and is not started twice.
    let second = Centre::of(sonde(&["--attach", "--start"], &state));
    assert_eq!(second.told("hello")["instance"], hello["instance"]);
}

#[test]
fn a_host_is_reached_by_its_line_and_left_without_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("a");
    let _started = Started(&state);
    let mut centre = Centre::of(sonde(&["--reach"], &state));
    centre.order(&json!({"name": "here", "reach": "local"}));
    centre.told("hello");
    centre.order(&json!({"do": "answer"}));
    centre.told("here");
    let ended = |words: &[&str], line: &str| {
        let mut child = sonde(words, &state).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        writeln!(child.stdin.take().unwrap(), "{line}").unwrap();
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (child.wait().unwrap().code(), said)
    };
    let (status, said) = ended(&["--reach"], "nobody");
    assert!(status == Some(2) && said.contains("its first line names no host"), "{said}");
    assert_eq!(ended(&["--reach", "--end", "--purge"], r#"{"name":"here","reach":"local"}"#).0, Some(0));
    assert!(!state.exists());
}

#[test]
fn a_supervisor_is_told_that_it_is_ready_and_again_and_again_that_it_lives() {
    let folder = tempfile::tempdir().unwrap();
    let notify = folder.path().join("notify");
    let socket = UnixDatagram::bind(&notify).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut command = sonde(&["--monitor"], &folder.path().join("a"));
    let child = command.env("NOTIFY_SOCKET", &notify).env("WATCHDOG_USEC", "200000").stderr(Stdio::null()).spawn();
    let _agent = Agent(child.unwrap());
    let heard = || {
        let mut buffer = [0; 256];
        let length = socket.recv(&mut buffer).unwrap();
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    };
    assert!(heard().starts_with("READY=1"));
    assert_eq!((heard(), heard()), ("WATCHDOG=1".to_owned(), "WATCHDOG=1".to_owned()));
}

#[test]
fn its_reflector_answers_small_exchanges_and_nothing_else() {
    let two = Two::new();
    let (_a, b) = two.assigned();
    b.until("a", |cell| answered(cell) >= 9);
    let key = two.place("a").join("key");
    let port = two.ports.0.to_string();
    let asked = |words: &[&str]| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("sonde"));
        command.args(words).args(["127.0.0.1", "--port", &port, "--key"]).arg(&key).env_remove("SONDE_STORE");
        let output = command.output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (went, said) = asked(&["rtt", "--udp", "-c", "5", "-q", "--peer-wait", "block"]);
    assert!(went, "{said}");
    for (words, why) in [
        (&["throughput", "-t", "1", "-q"][..], "largest request"),
        (&["rtt", "--tcp", "-c", "5", "-q", "--size", "4000"], "largest request"),
        (&["rtt", "--udp", "-c", "5", "-q", "--peer-cpu", "0"], "right to choose CPUs"),
    ] {
        let (went, said) = asked(words);
        assert!(!went && said.contains(why), "{words:?}: {said}");
    }
}

#[test]
fn what_many_hours_have_left_is_told_to_who_reads_and_held_up_by_nobody_who_does_not() {
    const BEATS: u64 = 20_000;
    let folder = tempfile::tempdir().unwrap();
    let before = "01a215a3-fbe8-752c-9fea-15c45fb2fd0f";
    let spool = folder.path().join("spool");
    std::fs::create_dir(&spool).unwrap();
    let beat = |seq: u64| {
        let cell = json!({"to": "b", "times_ns": vec![seq; 100]});
        json!({"told": "beat", "seq": seq, "at": 1_000 + seq, "own": {}, "cells": [cell]}).to_string()
    };
    let head = json!({ "instance": before }).to_string();
    let text = std::iter::once(head).chain((1..=BEATS).map(beat)).collect::<Vec<_>>().join("\n") + "\n";
    std::fs::write(spool.join("00000001.beats"), &text).unwrap();
    let agent = Agent::start(folder.path());
    let rude = UnixStream::connect(folder.path().join("agent.sock")).unwrap();
    let mut centre = Centre::attach(folder.path());
    centre.told("hello");
    assert_eq!(centre.told("instance")["instance"], before);
    for seq in 1..=BEATS {
        assert_eq!(centre.told("beat")["seq"], seq);
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", agent.0.id())).unwrap();
    let own = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    let own: u64 = own.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(text.len() > 10_000_000 && own < 30_000, "{} octets of beats, {own} kB of its own", text.len());
    centre.order(&json!({"do": "kept", "instance": before, "upto": BEATS}));
    centre.order(&json!({"do": "answer"}));
    centre.told("here");
    drop((centre, rude));
    let next = Centre::attach(folder.path());
    next.told("hello");
    assert!(!spool.join("00000001.beats").exists(), "nothing is left of it");
}
