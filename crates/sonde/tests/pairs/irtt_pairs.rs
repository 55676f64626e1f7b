//! `sonde rtt --peer irtt` against the real `irtt server`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use measure::method::Carrier;
use serde_json::Value;
use test_case::test_case;
use testbed::process::{Ended, LIMIT, ended};
use testbed::servers::{Place, Server};
use testbed::skip;

/// A server with more words; `None`, said aloud, where there is none.
fn server(host: &str, more: &[&str]) -> Option<Server> {
    Place::here().started("irtt", Carrier::Udp, |_, port| {
        let at = format!("{host}:{port}");
        Place::here().program("irtt", &[&["server", "-b", &at], more].concat())
    })
}

/// `sonde rtt` with that server.
fn sonde(host: &str, server: &Server, words: &[&str]) -> Ended {
    let port = server.port.to_string();
    let fixed = ["rtt", host, "--port", &port, "--peer", "irtt", "--json", "-q", "--timeout", "20s"];
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sonde"));
    ended(command.args(fixed).args(words).env_remove("SONDE_KEY_FILE"), LIMIT)
}

fn document(ended: &Ended) -> Value {
    let document = serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.told()));
    jsonschema::validate(&logbook::schema::json_schema(), &document).unwrap();
    document
}

#[test_case("127.0.0.1", &[], &["--every", "10ms"]; "as it is started usually")]
#[test_case("[::1]", &["-i", "0"], &["--every", "0"]; "back to back, over v6")]
#[test_case("127.0.0.1", &["-i", "0"], &["--poisson", "2k", "--size", "1200"]; "at a rate by chance, padded")]
#[test_case("127.0.0.1", &["-i", "0"], &["--every", "1ms", "--connections", "3"]; "three sessions")]
#[test_case("127.0.0.1", &["-i", "0", "--hmac=0x736563726574"], &["--irtt-key", "KEY"]; "sealed")]
fn the_server_is_measured_with_and_told_of_the_end(host: &'static str, theirs: &[&str], ours: &[&str]) {
    let Some(server) = server(host, theirs) else { return };
    let key = server.folder.path().join("key");
    fs::write(&key, "secret\n").unwrap();
    fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
    let key = key.to_str().unwrap();
    let ours: Vec<&str> = ours.iter().map(|word| if *word == "KEY" { key } else { word }).collect();
    let ended = sonde(host.trim_matches(['[', ']']), &server, &[&ours[..], &["-c", "100"]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.told());
    let document = document(&ended);
    let sessions = if ours.contains(&"--connections") { 3 } else { 1 };
    server.running.until("the end of each session", |told| told.matches("[CloseConn]").count() == sessions);
    let told = server.running.stdout();
    if told.contains("[ShortInterval]") {
        // Packets that were due while this machine stood still leave together, and such a server drops them.
        return skip::aloud("an irtt server with a shortest interval: this machine sent several packets at once");
    }
    let outcome = &document["outcome"];
    assert_eq!((&outcome["counts"]["answered"], &outcome["counts"]["lost"]), (&100.into(), &0.into()));
    assert_eq!((&document["peer"]["kind"], &document["peer"]["protocol"]), (&"foreign".into(), &"irtt".into()));
    let both = &outcome["one_way"];
    assert!(both["exchanges"].as_u64() >= Some(100) && both["counts_answers"] == true, "{both}");
    let held = both["held"]["min_ns"].as_i64();
    assert!(held.is_some_and(|held| held > 0), "its own times: {both}");
    // One host has one clock.
    let clock = &both["clock"];
    for window in clock["windows"].as_array().expect("windows") {
        let (offset, bound) = (window["offset_ns"].as_i64().unwrap(), window["bound_ns"].as_u64().unwrap());
        assert!(offset.unsigned_abs() <= bound, "{clock}");
    }
    assert_eq!(
        (&outcome["loss"]["forward"], &outcome["loss"]["reverse"]),
        (&0.into(), &0.into()),
        "{}",
        outcome["loss"]
    );
    let count = |words: &str| told.matches(words).count();
    assert_eq!((count("[NewConn]"), count("[Drop]")), (sessions, 0), "{told}");
}

#[test_case(&[], &["--every", "1ms"], "one packet every 10 ms", "--every 10ms"; "more often than it answers")]
#[test_case(&[], &["--poisson", "20"], "five at once", "-i 0"; "by chance")]
#[test_case(&["-d", "1s"], &["-t", "5"], "at most 1 s", "-t 1s"; "for longer than it serves")]
#[test_case(&["-l", "100"], &["--size", "200"], "100 bytes", "--size 100"; "longer than it takes")]
#[test_case(&["--no-dscp"], &["--dscp", "ef"], "does not mark", "--dscp"; "marked")]
#[test_case(&["--hmac=secret"], &[], "7 s", "--irtt-key"; "without its key")]
fn what_the_server_does_not_grant_is_told(theirs: &[&str], ours: &[&str], what: &str, hint: &str) {
    let Some(server) = server("127.0.0.1", theirs) else { return };
    let ended = sonde("127.0.0.1", &server, ours);
    assert_ne!(ended.code, Some(0), "{}", ended.told());
    assert!(ended.stderr.contains(what) && ended.stderr.contains(hint), "{}", ended.told());
}

#[test]
fn a_session_that_the_server_ends_is_a_lost_peer() {
    let Some(server) = server("127.0.0.1", &["-i", "0", "-d", "1s"]) else { return };
    // Nobody knows how long so many take.
    let ended = sonde("127.0.0.1", &server, &["--every", "0", "-c", "1000000000"]);
    assert!(ended.code != Some(0) && !ended.overdue, "{}", ended.told());
    assert!(ended.said("ended the session"), "{}", ended.told());
}

#[test]
fn nobody_at_the_port_is_told_at_once() {
    let port = testbed::port::free().to_string();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sonde"));
    let ended = ended(command.args(["rtt", "127.0.0.1", "--port", &port, "--peer", "irtt"]), LIMIT);
    assert!(ended.code != Some(0) && ended.stderr.contains("irtt server"), "{}", ended.told());
}
