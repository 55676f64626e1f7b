//! Measurements against the real netserver: the record of one is as whole as of one against ours.

use std::net::TcpListener;
use std::process::{Command, Stdio};

use endpoint::clock::Monotonic;
use measure::event::Counts;
use measure::method::{Asked, Carrier, Far, Method};
use measure::unit::Nanos;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use test_case::test_case;
use testbed::port;
use testbed::process::{self, Running};

use crate::{document, printed, sonde};

/// A netserver that ends with the test, and whatever it started for its clients.
struct Netserver {
    port: String,
    _running: Running,
}

impl Netserver {
    /// One on a free port; `None`, said aloud, where there is none on this machine.
    fn start(words: &[&str]) -> Option<Self> {
        if Command::new("netserver").arg("-V").stdin(Stdio::null()).output().is_err() {
            testbed::skip::aloud("sonde rtt --peer netperf with a real netserver: no netserver on this machine");
            return None;
        }
        let port = port::free();
        let mut command = Command::new("netserver");
        let running = process::started(command.args(["-D", "-N", "-p", &port.to_string()]).args(words));
        running.until_listening(Carrier::Tcp, port);
        Some(Self { port: port.to_string(), _running: running })
    }

    /// `sonde rtt` with it at `host`.
    fn rtt(&self, host: &str, words: &[&str]) -> assert_cmd::Command {
        sonde(&[&["rtt", host, "--port", &self.port, "--peer", "netperf"], words].concat())
    }

    fn record(&self, host: &str, words: &[&str]) -> Value {
        document(printed(&mut self.rtt(host, &[&["--json", "-q"], words].concat())).as_bytes())
    }
}

fn counts(record: &Value) -> Counts {
    serde_json::from_value(record["outcome"]["counts"].clone()).unwrap()
}

#[test_case("127.0.0.1", &["-c", "200"]; "tcp")]
#[test_case("::1", &["-c", "200"]; "tcp over v6")]
#[test_case("127.0.0.1", &["-c", "200", "--udp"]; "udp")]
#[test_case("::1", &["-c", "200", "--udp", "--request-size", "1", "--response-size", "9"]; "udp over v6, of any size")]
#[test_case("127.0.0.1", &["-c", "40", "--crr"]; "connect and exchange")]
#[test_case("127.0.0.1", &["-c", "200", "--window", "8"]; "window")]
#[test_case("127.0.0.1", &["-c", "50", "--every", "1ms"]; "open loop")]
#[test_case("127.0.0.1", &["-c", "50", "--poisson", "1k/s", "--udp", "--warm-up", "0"]; "at random")]
#[test_case("127.0.0.1", &["-c", "200", "--connections", "3", "--threads", "2", "--peer-cpu", "0"]; "three connections")]
#[test_case("127.0.0.1", &["-c", "50", "--crr", "--rate", "1k/s", "--connections", "2"]; "connections on a schedule")]
fn a_measurement_with_a_netserver_is_one_valid_record(host: &str, words: &[&str]) {
    let Some(server) = Netserver::start(&[]) else { return };
    let record = server.record(host, words);
    jsonschema::validate(&logbook::schema::json_schema(), &record).unwrap();
    let counts = counts(&record);
    assert!(counts.balance(), "{counts:?}");
    assert_eq!(counts.answered, words[1].parse::<u64>().unwrap(), "{counts:?}");
    assert_eq!((&record["ended"]["how"], &record["target"]["own_reflector"]), (&"complete".into(), &false.into()));
    let peer = &record["peer"];
    assert_eq!(
        (&peer["kind"], &peer["protocol"], &peer["program"]),
        (&"foreign".into(), &"netperf".into(), &"netserver".into())
    );
    assert_eq!(record["theirs"], Value::Null, "it tells nothing of its machine");
    assert_eq!(record["method"], serde_json::to_value(resolved(&record)).unwrap());
    assert!(!record["warnings"].to_string().contains("no-report"), "{}", record["warnings"]);
}

/// Request of the record, resolved once more towards a foreign server.
fn resolved(record: &Value) -> Method {
    let mut asked: Asked = serde_json::from_value(record["asked"].clone()).unwrap();
    asked.seed = record["method"]["seed"].as_u64();
    asked.resolve_towards(Far::Foreign).unwrap()
}

#[test]
fn without_a_warm_up_the_netserver_counts_what_we_sent() {
    let Some(server) = Netserver::start(&[]) else { return };
    for words in [
        &["-c", "100", "--warm-up", "0"][..],
        &["-c", "100", "--warm-up", "0", "--udp"],
        &["-c", "20", "--warm-up", "0", "--crr"],
    ] {
        let record = server.record("127.0.0.1", words);
        assert_eq!(record["outcome"]["loss"]["peer_received"], words[1].parse::<u64>().unwrap(), "{words:?}");
    }
    let warmed = server.record("127.0.0.1", &["-c", "100"]);
    assert_eq!(warmed["outcome"]["loss"]["peer_received"], Value::Null, "it cannot tell the warm-up apart");
}

#[test]
fn a_run_ends_when_its_quantile_is_known() {
    let Some(server) = Netserver::start(&[]) else { return };
    let record = server.record("127.0.0.1", &["--until", "p90"]);
    assert_eq!(record["ended"]["how"], "complete");
    assert!(counts(&record).answered >= 100);
}

#[test]
fn a_timed_run_over_connections_does_not_wait_for_the_servers_timer() {
    let Some(server) = Netserver::start(&[]) else { return };
    let began = Monotonic::now();
    server.record("127.0.0.1", &["--crr", "-t", "300ms", "--warm-up", "0"]);
    // Its timer runs for more than half a minute.
    assert!(Monotonic::now().since(began).unwrap() < Nanos::secs(30));
}

#[test]
fn the_text_names_the_protocol() {
    let Some(server) = Netserver::start(&[]) else { return };
    let text = printed(&mut server.rtt("127.0.0.1", &["-c", "100", "-v"]));
    assert!(text.contains(": TCP to 127.0.0.1") && text.contains("netperf") && text.contains("netserver"), "{text}");
}

#[test]
fn a_passphrase_is_said() {
    let Some(server) = Netserver::start(&["-Z", "secret"]) else { return };
    assert_eq!(counts(&server.record("127.0.0.1", &["-c", "10", "--passphrase", "secret"])).answered, 10);
    let refused = server.rtt("127.0.0.1", &["-c", "10"]).assert().code(1);
    refused.stderr(contains("passphrase"));
}

#[test]
fn no_netserver_there_is_said_with_what_to_try() {
    let words = ["rtt", "127.0.0.1:1", "--peer", "netperf", "-c", "1"];
    sonde(&words).assert().code(1).stderr(contains("connection refused").and(contains("netserver")));
}

#[test]
fn a_server_that_hangs_up_is_told_as_one() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    std::thread::spawn(move || drop(listener.accept()));
    let words = ["rtt", "127.0.0.1", "--port", &port, "--peer", "netperf", "-c", "1"];
    sonde(&words).assert().code(1).stderr(contains("try:   "));
}
