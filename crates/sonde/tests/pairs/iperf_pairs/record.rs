//! The record of a run: the same document that every other measurement leaves.

use serde_json::Value;
use test_case::test_case;

use crate::iperf_pairs::ends::{End, Server};

#[test_case("-n 1M", "", "send"; "an upload")]
#[test_case("-n 1M -R", "", "receive"; "reverse")]
#[test_case("-u -t 0.3 -b 2m", "-u", "send"; "datagrams")]
fn a_run_is_kept(words: &str, server: &str, direction: &str) {
    let running = Server::start(End::Ours, server);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let line = format!("-c 127.0.0.1 -p {} {words} --json --record {}", running.port, file.display());
    let ended = End::Ours.client(&line);
    assert_eq!(ended.code, Some(0), "{}", ended.told());
    let record: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.told()));
    assert_eq!(record["stream"]["direction"], direction, "{record:#}");
    assert_eq!(record["peer"]["protocol"], "iperf");
    assert!(record["stream"]["ours"]["bytes"].as_u64() > Some(50_000), "{record:#}");
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(kept, record);
    running.end();
}

#[test]
fn requests_and_replies_are_kept() {
    let running = Server::start(End::Ours, "");
    let ended = End::Ours.client(&format!("-c 127.0.0.1 -p {} -t 0.5 --bounceback --json", running.port));
    let record: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.told()));
    assert_eq!(record["question"], "rtt", "{record:#}");
    assert!(record["outcome"]["counts"]["answered"].as_u64() >= Some(10), "{record:#}");
    running.end();
}
