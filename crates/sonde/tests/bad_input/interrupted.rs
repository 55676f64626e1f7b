//! Ctrl-C at each stage: an end in time, and what was measured until then.

use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use endpoint::clock::Monotonic;
use rustix::process::Signal;
use serde_json::Value;
use socket2::{Domain, Socket, Type};
use test_case::test_case;
use testbed::wait;

use crate::rogue::{Deed, Rogue, Seen, well};
use crate::{Running, SOON, Serve, count, since};

/// Ctrl-C now: how it ended, long before it would have by itself.
fn interrupted(running: Running, signal: Signal) -> (Option<i32>, Value) {
    running.signal(signal);
    let asked = Monotonic::now();
    let (code, last, said) = running.end();
    assert!(since(asked) < SOON, "{:?} {said}", since(asked));
    (code, last)
}

fn wait_for(seen: &Receiver<Seen>, wanted: Seen) {
    while seen.recv_timeout(SOON).expect("the client goes on") != wanted {}
}

/// A measurement of a name whose server never says anything: in a network of its own, behind a cable that swallows all.
/// `None`: this system grants none.
fn asking_a_silent_server(folder: &std::path::Path) -> Option<Running> {
    let program = crate::sonde(&[""; 0]).get_program().to_string_lossy().into_owned();
    let (resolver, switch) = (folder.join("resolv.conf"), folder.join("nsswitch.conf"));
    std::fs::write(&resolver, "nameserver 192.0.2.53\n").unwrap();
    std::fs::write(&switch, "hosts: files dns\n").unwrap();
    let network = "ip link add near type veth peer name far && ip address add 192.0.2.1/24 dev near && \
                   ip link set near arp off up && ip link set far up";
    let (resolver, switch) = (resolver.display(), switch.display());
    let own = format!(
        "{network} && mount --bind '{resolver}' /etc/resolv.conf && \
         {{ [ ! -e /etc/nsswitch.conf ] || mount --bind '{switch}' /etc/nsswitch.conf; }}"
    );
    let unshare = |script: &str| {
        let mut command = std::process::Command::new("unshare");
        command.args(["-rmn", "sh", "-c", script]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let granted = unshare(&own).output().is_ok_and(|output| output.status.success());
    let script = format!("{own} && exec '{program}' rtt --json-lines silent.example -t 5");
    granted.then(|| Running::of(&mut unshare(&script)))
}

#[test]
fn while_it_looks_a_name_up() {
    let folder = tempfile::tempdir().unwrap();
    let Some(running) = asking_a_silent_server(folder.path()) else {
        return testbed::skip::aloud("Ctrl-C while a name is looked up: no namespace is granted here");
    };
    wait::until("it looks the name up", || running.has_thread("sonde-look-up"));
    let (code, last) = interrupted(running, Signal::INT);
    assert_eq!((code, &last["event"]), (Some(130), &"error".into()), "{last:#}");
    assert_eq!(
        last["data"]["what"],
        "silent.example: cannot look up its address: stopped before anything was measured"
    );
}

#[test]
fn while_it_connects() {
    // A full backlog: the kernel drops what knocks on.
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    listener.bind(&"127.0.0.1:0".parse::<std::net::SocketAddr>().unwrap().into()).unwrap();
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap().as_socket().unwrap();
    let held: Vec<_> = (0..3).map(|_| TcpStream::connect_timeout(&address, Duration::from_millis(50))).collect();
    assert!(held.iter().any(Result::is_err), "the backlog is full");
    let mut running = Running::start(&[&address.to_string(), "-t", "5"]);
    running.event("start");
    let (code, last) = interrupted(running, Signal::INT);
    assert_eq!((code, &last["event"]), (Some(130), &"error".into()), "{last:#}");
    assert!(last["data"]["what"].as_str().unwrap().contains("stopped before anything was measured"), "{last:#}");
}

#[test]
fn while_it_agrees() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let running = Running::start(&[&silent.local_addr().unwrap().to_string(), "-t", "5"]);
    let _connected = silent.accept().unwrap();
    let (code, last) = interrupted(running, Signal::INT);
    assert_eq!((code, &last["event"]), (Some(130), &"error".into()), "{last:#}");
}

#[test_case(&["--tcp"]; "tcp")]
#[test_case(&["--udp"]; "udp")]
#[test_case(&["--tcp", "--window", "4"]; "a window")]
fn while_it_warms_up(words: &[&str]) {
    let (address, seen) = Rogue::default().start();
    let running = Running::start(&[words, &[&address, "--warm-up", "600s", "-t", "600"]].concat());
    wait_for(&seen, Seen::Requests(50));
    let (code, last) = interrupted(running, Signal::INT);
    let record = &last["data"];
    assert_eq!((code, &record["ended"]["how"]), (Some(130), &"interrupted".into()), "{last:#}");
    assert_eq!(count(record, "scheduled"), 0, "warming up is not measuring");
}

#[test_case(Signal::INT, 130, "SIGINT")]
#[test_case(Signal::TERM, 143, "SIGTERM")]
#[test_case(Signal::HUP, 129, "SIGHUP")]
fn while_it_measures(signal: Signal, code: i32, name: &str) {
    let serve = Serve::start(&[]);
    let mut running = Running::start(&[&serve.address, "-t", "600", "--warm-up", "0", "--every", "1ms"]);
    running.event("second");
    let (ended, last) = interrupted(running, signal);
    let record = &last["data"];
    assert_eq!((ended, &record["ended"]["signal"]), (Some(code), &name.into()), "{last:#}");
    assert!(count(record, "answered") > 100);
    assert_eq!(count(record, "lost"), 0, "what was on its way is not called lost");
}

#[test]
fn a_terminal_that_goes_is_nothing_to_a_run_that_ignores_it() {
    let serve = Serve::start(&[]);
    let program = crate::sonde(&[""; 0]).get_program().to_string_lossy().into_owned();
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "trap '' HUP && exec \"$0\" \"$@\"", &program, "rtt", "--json-lines", &serve.address]);
    command.args(["-t", "600", "--warm-up", "0", "--every", "1ms"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = Running::of(&mut command);
    running.event("second");
    running.signal(Signal::HUP);
    // It goes on.
    running.event("second");
    running.event("second");
    let (code, last) = interrupted(running, Signal::INT);
    assert_eq!((code, &last["data"]["ended"]["signal"]), (Some(130), &"SIGINT".into()), "{last:#}");
}

#[test]
fn a_terminal_that_goes_is_told_twice_and_the_result_is_whole() {
    let serve = Serve::start(&[]);
    let mut running = Running::start(&[&serve.address, "-t", "600", "--warm-up", "0", "--every", "1ms"]);
    running.event("second");
    running.signal(Signal::HUP);
    let (code, last) = interrupted(running, Signal::HUP);
    assert_eq!((code, &last["data"]["ended"]["signal"]), (Some(129), &"SIGHUP".into()), "{last:#}");
}

#[test_case(&["--tcp", "--window", "100"]; "a window over tcp")]
#[test_case(&["--udp", "--window", "100"]; "a window over udp")]
fn while_the_last_replies_are_awaited(words: &[&str]) {
    // Over UDP a hello comes before the hundred.
    let manner = |n, request: &[u8]| if n <= 50 { well(n, request) } else { Deed::Silence };
    let (address, seen) = Rogue { manner, ..Rogue::default() }.start();
    let run = ["-c", "100", "--warm-up", "0", "--timeout", "600s"];
    let running = Running::start(&[words, &[&address], &run].concat());
    wait_for(&seen, Seen::Requests(100));
    let (code, last) = interrupted(running, Signal::INT);
    let record = &last["data"];
    assert_eq!((code, &record["ended"]["how"]), (Some(130), &"interrupted".into()), "{last:#}");
    assert!((1..=50).contains(&count(record, "answered")), "{:#}", record["outcome"]["counts"]);
}

#[test]
fn while_the_report_is_awaited() {
    let (address, seen) = Rogue { reports: false, ..Rogue::default() }.start();
    let running = Running::start(&[&address, "-c", "20", "--warm-up", "0"]);
    wait_for(&seen, Seen::Closing);
    let (code, last) = interrupted(running, Signal::INT);
    let record = &last["data"];
    assert_eq!(
        (code, &record["ended"]["how"], count(record, "answered")),
        (Some(0), &"complete".into(), 20),
        "{last:#}"
    );
}
