//! The programs that are known, ours and the originals, each named by what it answers; and none is harmed by the question.

use std::process::{Command, Stdio};

use lab::chain::Chain;
use serde_json::Value;

use crate::reach::scene::{Found, Server, address, chain, check, each_check, run, sonde, target};

/// Service and state that are named at a port.
fn named(found: &Found, port: &str) -> (Value, Value) {
    let service = &found.port(port)["service"];
    (service["service"].clone(), service["state"].clone())
}

pub(super) fn installed(program: &str, package: &str) -> bool {
    let there = Command::new(program).arg("--version").stdin(Stdio::null()).output().is_ok();
    if !there {
        testbed::skip::aloud(&format!("check of {program}: it is not installed ({package})"));
    }
    there
}

#[test]
fn all_of_ours_are_named() {
    let Some(chain) = chain("a check of our servers") else { return };
    let mut command = sonde(chain.far());
    command.args(["serve", "--open", "--netperf", "--sockperf", "--iperf", "--iperf3", "--stamp"]);
    let at = ["tcp 7663", "tcp 12865", "tcp 11111", "udp 11111", "tcp 5001", "tcp 5201", "udp 862"];
    let _server = Server::start(chain.far(), command, &at);
    for six in [false, true] {
        each_check(&chain, &[&address(chain.far(), six)], |found| {
            let is = |port, service: &str| assert_eq!(named(found, port).0, service, "{port}");
            is("tcp 7663", "sonde");
            is("tcp 12865", "netserver");
            is("tcp 11111", "sockperf");
            is("udp 11111", "sockperf");
            is("tcp 5001", "iperf");
            is("tcp 5201", "iperf3");
            is("udp 862", "stamp");
            assert_eq!(found.told("tcp 7"), ["refused", "reset", "", ""]);
            assert_eq!(found.status, 0);
        });
    }
    // Each still does what it is there for.
    run(chain.near(), &[&program(), "rtt", &address(chain.far(), false), "-c", "3", "-q"]);
}

pub(super) fn program() -> String {
    assert_cmd::cargo::cargo_bin!("sonde").to_str().expect("a path in UTF-8").to_owned()
}

#[test]
fn a_server_that_wants_a_key_says_so() {
    let Some(chain) = chain("a check of a server with a key") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let key = folder.path().join("key").to_str().expect("a path in UTF-8").to_owned();
    run(chain.far(), &[&program(), "key", &key]);
    let mut command = sonde(chain.far());
    command.args(["serve", "--key", &key, "--listen", &address(chain.far(), false)]);
    let _server = Server::start(chain.far(), command, &["tcp 7663"]);
    each_check(&chain, &[&address(chain.far(), false), "--tcp", "7663"], |found| {
        assert_eq!(named(found, "tcp 7663"), ("sonde".into(), "wants a key".into()));
    });
}

/// An original, named at its own port and at another.
fn original(program: &str, package: &str, what: [&str; 2], words: impl Fn(&mut Command, u16), usual: u16) {
    if !installed(program, package) {
        return;
    }
    let Some(chain) = chain(&format!("a check of {program}")) else { return };
    let [service, transport] = what;
    for port in [usual, 4_321] {
        let mut command = chain.far().command(program);
        words(&mut command, port);
        let at = format!("{transport} {port}");
        let _server = Server::start(chain.far(), command, &[&at]);
        let named_port = if port == usual { port.to_string() } else { format!("{port}={service}") };
        let over = format!("--{transport}");
        each_check_apart(&chain, &[&address(chain.far(), false), &over, &named_port], |found| {
            assert_eq!(named(found, &at).0, service, "{}", found.port(&at));
            assert_eq!(found.status, 0);
        });
    }
}

/// One after the other: these serve one client at a time.
fn each_check_apart(chain: &Chain, words: &[&str], judge: impl Fn(&Found)) {
    for _ in 0..2 {
        judge(&check(chain, words));
    }
}

#[test]
fn netserver_is_named() {
    let words = |command: &mut Command, port: u16| {
        command.args(["-D", "-p", &port.to_string()]);
    };
    original("netserver", "netperf", ["netserver", "tcp"], words, 12_865);
}

#[test]
fn sockperf_is_named_over_both() {
    for (transport, more) in [("udp", None), ("tcp", Some("--tcp"))] {
        let words = |command: &mut Command, port: u16| {
            command.args(["sr", "-i", "0.0.0.0", "-p", &port.to_string()]).args(more);
        };
        original("sockperf", "sockperf", ["sockperf", transport], words, 11_111);
    }
}

#[test]
fn iperf_2_is_named_with_its_version() {
    let words = |command: &mut Command, port: u16| {
        command.args(["-s", "-p", &port.to_string()]);
    };
    original("iperf", "iperf", ["iperf", "tcp"], words, 5_001);
}

#[test]
fn iperf3_is_named_and_when_it_is_busy_that_is_said() {
    let words = |command: &mut Command, port: u16| {
        command.args(["-s", "-p", &port.to_string()]);
    };
    original("iperf3", "iperf3", ["iperf3", "tcp"], words, 5_201);
    if !installed("iperf3", "iperf3") {
        return;
    }
    let Some(chain) = chain("a check of a busy iperf3") else { return };
    let mut command = chain.far().command("iperf3");
    command.arg("-s");
    let _server = Server::start(chain.far(), command, &["tcp 5201"]);
    let mut client = chain.near().command("iperf3");
    // A test that goes on longer than ours, at a rate that leaves the machine to others.
    client.args(["-c", &address(chain.far(), false), "-t", "60", "-b", "100k", "-l", "1k"]);
    let _test = Server::start(chain.near(), client, &[]);
    testbed::wait::until("a test that runs", || {
        run(chain.far(), &["ss", "-Htn", "sport", "=", "5201"]).lines().count() > 1
    });
    each_check_apart(&chain, &[&address(chain.far(), false), "--tcp", "5201"], |found| {
        assert_eq!(named(found, "tcp 5201"), ("iperf3".into(), "busy".into()));
    });
}

#[test]
fn an_iperf_2_over_udp_goes_on_after_the_question() {
    if !installed("iperf", "iperf") {
        return;
    }
    let Some(chain) = chain("a check of iperf 2 over UDP") else { return };
    let mut command = chain.far().command("iperf");
    command.args(["-s", "-u"]);
    let _server = Server::start(chain.far(), command, &["udp 5001"]);
    let found = check(&chain, &[&address(chain.far(), false), "--udp", "5001"]);
    assert_eq!(found.told("udp 5001"), ["open-or-filtered", "silence", "", ""], "it answers no stranger");
    let said = run(chain.near(), &["iperf", "-c", &address(chain.far(), false), "-u", "-t", "0.2"]);
    assert!(said.contains("Server Report"), "{said}");
}

/// A server of a few lines in another language, written from the RFC alone.
fn in_python(chain: &Chain, script: &str, at: &[&str]) -> Server {
    let mut command = chain.far().command("python3");
    command.args(["-c", script]);
    Server::start(chain.far(), command, at)
}

/// RFC 8762 section 4.3.1: number, time, error estimate, session, time of arrival, then what the sender sent, its hop limit.
const STAMP: &str = "\
import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.bind(('::', 862))
while True:
    q, a = s.recvfrom(2048)
    s.sendto(q[:4] + b'TRANSMIT' + b'\\x01\\x01' + bytes(2) + b'RECEIVED' + q[:14] + bytes(2) + b'\\x40' + bytes(3), a)
";

/// RFC 862, over UDP and TCP.
const ECHO: &str = "\
import socket, threading
def give_back():
    u = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    u.bind(('::', 7))
    while True:
        q, a = u.recvfrom(2048)
        u.sendto(q, a)
threading.Thread(target=give_back, daemon=True).start()
s = socket.create_server(('::', 7), family=socket.AF_INET6, dualstack_ipv6=True, backlog=64)
while True:
    c, _ = s.accept()
    for piece in iter(lambda: c.recv(2048), b''):
        c.sendall(piece)
    c.close()
";

#[test]
fn stamp_and_echo_are_named() {
    if !installed("python3", "python3") {
        return;
    }
    let Some(chain) = chain("a check of STAMP and echo") else { return };
    let _stamp = in_python(&chain, STAMP, &["udp 862"]);
    let _echo = in_python(&chain, ECHO, &["udp 7", "tcp 7"]);
    for six in [false, true] {
        let words = [&*address(chain.far(), six), "--tcp", "7", "--udp", "7,862"];
        each_check(&chain, &words, |found| {
            let names = ["tcp 7", "udp 7", "udp 862"].map(|port| named(found, port).0);
            assert_eq!(names, ["echo", "echo", "stamp"], "{}", found.address);
            assert_eq!(found.status, 0);
        });
    }
}

/// Says its own name, whatever it is asked, as many servers do.
const MAIL: &str = "\
import socket, threading
s = socket.create_server(('::', 5201), family=socket.AF_INET6, dualstack_ipv6=True, backlog=64)
while True:
    c, _ = s.accept()
    c.sendall(b'220 mail ready\\r\\n')
    threading.Thread(target=c.recv, args=(64,)).start()
";

#[test]
fn a_program_of_no_known_kind_is_not_given_a_name() {
    let Some(chain) = chain("a check of an unknown server") else { return };
    if !installed("python3", "python3") {
        return;
    }
    let _server = in_python(&chain, MAIL, &["tcp 5201"]);
    each_check(&chain, &[&target(&chain, false, "5201=any"), "--tries", "1"], |found| {
        let service = &found.port("tcp 5201")["service"];
        assert_eq!(service["answer"], "other", "{service}");
        assert_eq!(found.told("tcp 5201")[0], "open");
    });
}
