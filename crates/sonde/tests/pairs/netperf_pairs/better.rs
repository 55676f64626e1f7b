//! Differences in which the original is wrong or silent and ours is not, and additions of ours.

use std::process::{Command, Stdio};
use std::time::Duration;

use lab::namespace::{Namespace, NamespaceError, Pair};
use serde_json::Value;
use test_case::test_case;
use testbed::process::{self, Ended, LIMIT};

use crate::netperf_pairs::agreement;
use crate::netperf_pairs::ends::{End, Server};
use crate::netperf_pairs::fields::Fields;
use crate::netperf_pairs::transcripts::fixture;

fn ours(server: &Server, words: &[&str]) -> Ended {
    let ended = End::Ours.client(server.port, &[&["-H", "127.0.0.1"], words].concat());
    assert_eq!((ended.overdue, ended.code), (false, Some(0)), "{}", ended.told());
    ended
}

fn run(namespace: &Namespace, words: &[&str]) -> String {
    let output = namespace.command(words[0]).args(&words[1..]).output().expect("started");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Two hosts; the far one drops each tenth request to data port 5555, and counts it. A test's empty last datagrams pass.
fn lossy() -> Option<Pair> {
    let what = "losses in netperf's UDP_RR";
    if Command::new("nft").arg("--version").stdin(Stdio::null()).output().is_err() {
        testbed::skip::aloud(&format!("{what}: nft is not installed (nftables)"));
        return None;
    }
    let pair = match Pair::new() {
        Ok(pair) => pair,
        Err(error @ NamespaceError::Step { .. }) => panic!("{error}"),
        Err(error) => {
            testbed::skip::aloud(&format!("{what} between namespaces: {error}"));
            return None;
        }
    };
    let rules = "table inet truth { counter dropped { }
         chain input { type filter hook input priority 0;
         udp dport 5555 udp length > 8 numgen inc mod 10 == 0 counter name dropped drop; }; }";
    run(pair.far(), &["nft", rules]);
    Some(pair)
}

fn dropped(pair: &Pair) -> f64 {
    let text = run(pair.far(), &["nft", "list", "counter", "inet", "truth", "dropped"]);
    let mut words = text.split_whitespace().skip_while(|word| *word != "packets");
    words.nth(1).and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("{text}"))
}

#[test_case(End::Ours, &["-l", "-90"]; "ours, by count")]
#[test_case(End::Real, &["-l", "-90"]; "the original, by count")]
#[test_case(End::Ours, &["-l", "3"]; "ours, by time")]
fn a_lost_datagram_is_counted_and_the_next_one_sent(with: End, length: &[&str]) {
    if !with.is_here("losses in netperf's UDP_RR") {
        return;
    }
    let Some(pair) = lossy() else { return };
    let far = pair.far().v4().to_string();
    let server = Server::of(
        || match with {
            End::Ours => {
                let mut command = pair.far().command(assert_cmd::cargo::cargo_bin!("sonde"));
                command.arg("netserver");
                command
            }
            _ => pair.far().command("netserver"),
        },
        &[],
    );
    let mut command = pair.near().command(assert_cmd::cargo::cargo_bin!("sonde"));
    command.args(["netperf", "-p", &server.port.to_string(), "-H", &far, "-t", "UDP_RR"]).args(length);
    command.args(["--", "-P", ",5555", "-k", "LOST,LOCAL_SEND_CALLS,LOCAL_RECV_CALLS"]);
    let ended = process::ended(&mut command, Duration::from_mins(1));
    assert_eq!((ended.overdue, ended.code), (false, Some(0)), "{}", ended.told());
    let fields = Fields::of(&ended.stdout);
    let [lost, sent, answered] =
        ["LOST", "LOCAL_SEND_CALLS", "LOCAL_RECV_CALLS"].map(|name| fields.number(name).unwrap());
    assert!(lost > 0.0 && answered > 0.0, "{}", ended.told());
    assert_eq!(lost, dropped(&pair), "{}", ended.told());
    // The one that was under way when the time was over is neither.
    assert!((0.0..=1.0).contains(&(sent - lost - answered)), "{sent} - {lost} - {answered}: {}", ended.told());
}

/// The original's server notices four seconds later.
#[test_case("TCP_CRR")]
#[test_case("TCP_CC")]
fn connections_by_time_have_their_results_in_time(test: &str) {
    let server = Server::start(End::Ours, &[]);
    let ended = ours(&server, &["-t", test, "-l", "1"]);
    assert!(ended.took < Duration::from_millis(4_900), "{}", ended.told());
}

#[test]
fn further_percentiles_are_ordered_and_exact() {
    let server = Server::start(End::Ours, &[]);
    let names = ["10", "25", "50", "75", "90", "95", "99", "999", "9999", "99999"].map(|p| format!("P{p}_LATENCY"));
    let all = Fields::of(&fixture("seed001_2").stdout);
    let list = format!("{},LOST,{}", all.names().collect::<Vec<_>>().join(","), names.join(","));
    let fields = Fields::of(&ours(&server, &["-t", "TCP_RR", "-l", "1", "--", "-k", &list]).stdout);
    assert_eq!(agreement::complaints(&fields, agreement::OURS), [""; 0]);
    for name in &names {
        assert!(fields.number(name).unwrap() >= fields.number("MIN_LATENCY").unwrap(), "{name}");
    }
    // One value: it is every percentile.
    let list = format!("MIN_LATENCY,MAX_LATENCY,{}", names.join(","));
    let fields = Fields::of(&ours(&server, &["-t", "TCP_RR", "-l", "-1", "--", "-k", &list]).stdout);
    for name in names.iter().map(String::as_str).chain(["MAX_LATENCY"]) {
        assert_eq!(fields.text(name), fields.text("MIN_LATENCY"), "{name}");
    }
    // Calls of no microsecond at all have percentiles too.
    let words = ["-t", "TCP_STREAM", "-l", "1", "--", "-m", "1", "-k", "all"];
    let fields = Fields::of(&ours(&server, &words).stdout);
    assert_eq!(agreement::complaints(&fields, agreement::OURS), [""; 0]);
}

#[test_case(&["-t", "TCP_RR"]; "TCP_RR")]
#[test_case(&["-t", "UDP_RR"]; "UDP_RR")]
#[test_case(&["-t", "TCP_CRR"]; "TCP_CRR")]
#[test_case(&["-t", "TCP_STREAM"]; "TCP_STREAM")]
#[test_case(&["-t", "TCP_MAERTS"]; "TCP_MAERTS")]
#[test_case(&["-t", "UDP_STREAM"]; "UDP_STREAM")]
fn a_result_is_a_record_that_is_shown(test: &[&str]) {
    let server = Server::start(End::Ours, &[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let path = file.to_str().unwrap();
    let ended = ours(&server, &[test, &["-l", "1", "--record", path, "--", "-k", "THROUGHPUT"]].concat());
    assert!(Fields::of(&ended.stdout).number("THROUGHPUT").unwrap() > 0.0, "{}", ended.told());
    let record: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(record["format"], "sonde-record");
    let shown = Command::new(assert_cmd::cargo::cargo_bin!("sonde")).args(["show", path]).output().unwrap();
    assert!(shown.status.success() && !shown.stdout.is_empty(), "{}", String::from_utf8_lossy(&shown.stderr));
    let printed = ours(&server, &[test, &["-l", "1", "--json"]].concat());
    let record: Value =
        serde_json::from_str(&printed.stdout).unwrap_or_else(|error| panic!("{error}: {}", printed.told()));
    assert_eq!(record["format"], "sonde-record");
}

#[test_case(End::Ours; "ours")]
#[test_case(End::Real; "the original")]
fn a_standing_netserver_is_measured_natively(with: End) {
    if !with.is_here("`sonde rtt --peer netperf`") {
        return;
    }
    let server = Server::start(with, &[]);
    for carrier in ["--tcp", "--udp"] {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("sonde"));
        let address = format!("127.0.0.1:{}", server.port);
        command.args(["rtt", "--peer", "netperf", &address, carrier, "-c", "500", "--warm-up", "0", "--json", "-q"]);
        let ended = process::ended(&mut command, LIMIT);
        assert_eq!(ended.code, Some(0), "{}", ended.told());
        let record: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(record["outcome"]["counts"]["answered"], 500, "{record:#}");
    }
}

/// A histogram agrees with the selectors beside it, in ours and in the original that was built with one.
#[test_case(End::Ours, "TCP_RR"; "ours over TCP")]
#[test_case(End::Ours, "UDP_RR"; "ours over UDP")]
#[test_case(End::Ours, "TCP_STREAM"; "ours, of a stream")]
#[test_case(End::Built("spin"), "TCP_RR"; "the original over TCP")]
#[test_case(End::Built("spin"), "TCP_STREAM"; "the original, of a stream")]
fn a_histogram_is_of_what_was_measured(client: End, test: &str) {
    if !client.is_here("a histogram") {
        return;
    }
    let server = Server::start(End::Ours, &[]);
    let ended = client.client(server.port, &["-H", "127.0.0.1", "-t", test, "-l", "1", "-v", "2", "--", "-k", "all"]);
    assert_eq!(ended.code, Some(0), "{}", ended.told());
    let fields = Fields::of(&ended.stdout);
    let counted = if test == "TCP_STREAM" { "LOCAL_SEND_CALLS" } else { "LOCAL_RECV_CALLS" };
    let expected = fields.number(counted).ok().filter(|_| client == End::Ours);
    assert_eq!(agreement::histogram(&ended.stdout, &fields, expected), Ok(()), "{}", ended.told());
}
