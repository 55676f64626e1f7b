//! Audit of `sonde serve` for users of the servers beside it, and its counters.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::{TcpStream, UdpSocket};
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;
use testbed::port;

use crate::serve::Reflector;
use crate::{document, sonde_in};

/// The port of the server beside it that is called so, at its first address.
fn port_of(reflector: &mut Reflector, name: &str) -> String {
    let line = reflector.line_that(&format!("sonde serve: {name} on "));
    let first = line.trim_end().split(" on ").nth(1).unwrap().split(' ').next().unwrap();
    first.rsplit(':').next().unwrap().to_owned()
}

/// Lines of the audit, until there is one of each of these.
fn entries(reflector: &mut Reflector, mut wanted: BTreeSet<(&str, &str)>) -> Vec<Value> {
    let mut all = Vec::new();
    while !wanted.is_empty() {
        let entry = document(reflector.line_that("{\"time\":").as_bytes());
        wanted.retain(|(server, event)| entry["server"] != *server || entry["event"] != *event);
        all.push(entry);
    }
    all
}

/// Asserts that Prometheus' own checker has no complaint.
fn check_by_promtool(counters: &str) {
    let mut command = Command::new("promtool");
    let checking =
        command.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut checking) = checking.spawn() else {
        return testbed::skip::aloud("the counters of sonde serve as Prometheus reads them: no promtool (prometheus)");
    };
    checking.stdin.take().unwrap().write_all(counters.as_bytes()).unwrap();
    let output = checking.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap());
    assert!(output.status.success() && said.iter().all(String::is_empty), "{said:?}");
}

#[test]
fn each_server_beside_writes_down_who_used_it_and_counts() {
    let folder = tempfile::tempdir().unwrap();
    let stamp = port::free().to_string();
    let beside =
        ["--netperf", "0", "--sockperf", "0", "--iperf", "0", "--iperf3", "0", "--stamp", "--stamp-port", &stamp];
    let audit = ["--audit=json", "--counters", "sonde.prom"];
    let mut reflector = Reflector::start(folder.path(), &[&beside[..], &audit].concat());
    let netperf = port_of(&mut reflector, "a netserver");
    let sockperf = port_of(&mut reflector, "a sockperf server");
    let iperf = port_of(&mut reflector, "an iperf 2 server");
    let iperf3 = port_of(&mut reflector, "an iperf3 server");
    let run = |words: &[&str]| sonde_in(folder.path(), words).assert().success();
    run(&["rtt", "127.0.0.1", "--port", &netperf, "--peer", "netperf", "-c", "5", "-q"]);
    run(&["rtt", "127.0.0.1", "--port", &stamp, "--peer", "stamp", "-c", "5", "--warm-up", "0", "-q"]);
    run(&["rtt", &reflector.address(), "-c", "5", "--warm-up", "0", "-q"]);
    run(&["sockperf", "ping-pong", "--tcp", "-i", "127.0.0.1", "-p", &sockperf, "-t", "1"]);
    run(&["iperf", "-c", "127.0.0.1", "-p", &iperf, "-n", "100000"]);
    run(&["iperf3", "-c", "127.0.0.1", "-p", &iperf3, "-n", "1M", "-R"]);
    // Somebody who says what is no cookie.
    let mut stranger = TcpStream::connect(("127.0.0.1", iperf3.parse().unwrap())).unwrap();
    stranger.write_all(b"\x1b[2Jhello\n").unwrap();
    drop(stranger);
    let servers = ["netperf", "sockperf", "iperf", "iperf3"];
    let wanted = servers.into_iter().flat_map(|server| [(server, "began"), (server, "ended")]);
    let entries = entries(&mut reflector, wanted.chain([("iperf3", "refused")]).collect());
    for server in servers {
        let of = |event: &str| entries.iter().find(|entry| entry["server"] == server && entry["event"] == event);
        let (began, ended) = (of("began").unwrap(), of("ended").unwrap());
        assert!(began["from"].as_str().unwrap().starts_with("127.0.0.1:"), "{began}");
        assert_eq!((&began["protocol"], &began["session"], &ended["session"]), (&"tcp".into(), &1.into(), &1.into()));
        assert_eq!((&began["from"], &ended["how"]), (&ended["from"], &"closed".into()), "{ended}");
        let octets = ended["received_bytes"].as_u64().unwrap() + ended["sent_bytes"].as_u64().unwrap();
        assert!(octets > 0 && ended["duration_ns"].as_u64().unwrap() > 0 && began["test"].is_string(), "{ended}");
    }
    let refused = entries.iter().find(|entry| entry["event"] == "refused").unwrap();
    assert!(refused["reason"].as_str().unwrap().contains("10 of 37 octets"), "{refused}");
    assert_eq!(entries.iter().filter(|entry| entry.get("server").is_none()).count(), 2, "our own: {entries:?}");
    reflector.signal(Signal::USR1);
    let told: Vec<String> = (0..6).map(|_| reflector.line_that(" received, ")).collect();
    assert!(told.iter().all(|line| line.starts_with("  ")) && told[0].contains("iperf "), "{told:?}");
    // Somebody's datagram that belongs to no session is taken whenever its thread comes to it.
    UdpSocket::bind("127.0.0.1:0").unwrap().send_to(&[7; 50], reflector.address()).unwrap();
    let file = folder.path().join("sonde.prom");
    let mut counters = String::new();
    testbed::wait::until("a datagram that makes no sense", || {
        std::fs::remove_file(&file).unwrap();
        reflector.signal(Signal::USR1);
        testbed::wait::until("the counters", || file.exists());
        counters = std::fs::read_to_string(&file).unwrap();
        counters.contains("sonde_malformed_messages_total{server=\"sonde\"} 1\n")
    });
    let peak =
        counters.lines().find_map(|line| line.strip_prefix("sonde_granted_memory_peak_bytes{server=\"sonde\"} "));
    assert!(peak.unwrap().parse::<u64>().unwrap() > 0, "{counters}");
    for line in [
        "sonde_malformed_bytes_total{server=\"sonde\"} 50",
        "sonde_granted_memory_bytes{server=\"sonde\"} 0",
        "sonde_sessions_opened_total{server=\"netperf\"} 1",
        "sonde_sessions_ended_total{server=\"sonde\",how=\"closed\"} 1",
        "sonde_clients_refused_total{server=\"iperf3\",reason=\"protocol\"} 1",
        "sonde_requests_answered_total{server=\"sonde\"} 5",
    ] {
        assert!(counters.lines().any(|one| one == line), "{line}\n{counters}");
    }
    let of_stamp =
        counters.lines().find_map(|line| line.strip_prefix("sonde_requests_answered_total{server=\"stamp\"} "));
    assert!(of_stamp.unwrap().parse::<u64>().unwrap() >= 5, "{counters}");
    check_by_promtool(&counters);
    assert_eq!(reflector.end(Signal::TERM).0, Some(0));
}

#[test]
fn counters_that_cannot_be_written_are_said_and_told_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let mut reflector = Reflector::start(folder.path(), &["--counters", "nowhere/sonde.prom"]);
    reflector.signal(Signal::USR1);
    let told = reflector.line_that("cannot write the counters");
    assert!(told.contains("nowhere/sonde.prom"), "{told}");
    reflector.line_that("served so far: ");
    assert_eq!(reflector.end(Signal::INT).0, Some(0));
}
