//! Our irtt server beside the original: the same clients and the same datagrams come to both, and have the same answers and lines.

mod by_hand;

use std::net::SocketAddr;
use std::process::Command;

use measure::method::Carrier;
use rustix::process::Signal;
use serde_json::Value;
use test_case::test_case;
use testbed::port;
use testbed::process::{self, Ended, LIMIT, Running, ended};
use testbed::servers::Place;

/// Two servers at this host with the same words, each with its port: ours, then the original; `None`, said aloud, where there is none.
fn servers(host: &str, words: &[&str]) -> Option<[(Running, u16); 2]> {
    let theirs = Place::here().started("irtt", Carrier::Udp, |_, port| {
        let at = format!("{host}:{port}");
        Place::here().program("irtt", &[&["server", "-b", &at][..], words].concat())
    })?;
    let port = port::free();
    let mut command = Command::new(env!("CARGO_BIN_EXE_sonde"));
    let ours = process::started(command.args(["irtt", "server", "-b", &format!("{host}:{port}")]).args(words));
    ours.until_it_listens(Carrier::Udp, port);
    Some([(ours, port), (theirs.running, theirs.port)])
}

/// Ends a server; all that it printed.
fn printed(server: Running) -> String {
    server.signal(Signal::INT);
    let ended = server.end(LIMIT);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{}", ended.told());
    ended.stdout
}

/// Ends a server; the form of its lines.
fn lines(server: Running) -> Vec<String> {
    printed(server).lines().map(form).collect()
}

/// A line with addresses, names of sessions and the version left out.
fn form(line: &str) -> String {
    if let Some((known, _)) = line.split_once(" version ") {
        return known.to_owned();
    }
    // The original adds the seal that there should be.
    let line = line.split_once("invalid HMAC").map_or(line, |(known, _)| known);
    let word = |word: &str| {
        let bare = word.trim_matches(['(', ')']);
        let inner = bare.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(bare);
        let is_token = |text: &str| text.len() == 16 && text.bytes().all(|octet| octet.is_ascii_hexdigit());
        if [bare, inner].iter().any(|text| text.parse::<SocketAddr>().is_ok()) {
            return word.replace(bare, "ADDRESS");
        }
        let token = bare.strip_prefix("token=").unwrap_or(bare);
        if is_token(token) { word.replace(token, "TOKEN") } else { word.to_owned() }
    };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// The original's client of the server at this port.
fn client(host: &str, port: u16, words: &[&str]) -> Ended {
    let at = format!("{host}:{port}");
    ended(&mut Place::here().program("irtt", &[&["client"][..], words, &[&at]].concat()), LIMIT)
}

/// The kinds of values in a document: names, and `null` where nothing is.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), shape(value))).collect(),
        Value::Array(all) => all.first().map_or(Value::Null, shape),
        Value::Number(_) => "number".into(),
        other => other.clone(),
    }
}

#[test_case("127.0.0.1", &[], &["-i", "20ms"]; "as they are started usually")]
#[test_case("[::1]", &["-i", "0"], &["-i", "5ms"]; "over v6")]
#[test_case("127.0.0.1", &["-i", "0", "--hmac=0x736563726574"], &["-i", "5ms", "--hmac=secret"]; "sealed")]
#[test_case("127.0.0.1", &["-i", "0"], &["-i", "5ms", "-l", "1400", "--fill=rand"]; "long")]
#[test_case("127.0.0.1", &["-i", "0"], &["-i", "5ms", "--stats=none", "--tstamp=none"]; "without fields")]
#[test_case("127.0.0.1", &["-i", "0"], &["-i", "5ms", "--stats=count", "--tstamp=send", "--clock=wall"]; "departure")]
#[test_case("127.0.0.1", &["-i", "0"], &["-i", "5ms", "--stats=window", "--tstamp=receive", "--clock=monotonic"]; "arrival")]
#[test_case("127.0.0.1", &["-i", "0"], &["-i", "5ms", "--tstamp=midpoint"]; "halfway")]
#[test_case("127.0.0.1", &["-i", "0"], &["-i", "5ms", "--dscp=184", "-l", "200"]; "marked")]
#[test_case("127.0.0.1", &["-i", "0", "--allow-fills=rand"], &["-i", "5ms", "-l", "200", "--sfill=rand"]; "filled by chance")]
#[test_case("127.0.0.1", &["-i", "0", "--allow-fills=p*", "--fill=none"], &["-i", "5ms", "-l", "99", "--sfill=pattern:0a"]; "filled by a pattern")]
#[test_case("127.0.0.1", &["-i", "0", "-l", "80", "--tstamp=single"], &["-i", "5ms", "-l", "200", "--loose"]; "restricted in length and times")]
#[test_case("127.0.0.1", &["-d", "100ms", "--no-dscp", "-i", "15ms"], &["-i", "1ms", "--dscp=8", "--loose"]; "restricted in time, rate and mark")]
#[test_case("127.0.0.1", &["--tstamp=none", "-i", "0"], &["-i", "5ms", "--sfill=none", "--loose"]; "restricted in times and fill")]
#[test_case("127.0.0.1", &["--timeout=8s", "-i", "0"], &["-i", "4s", "-d", "9s", "-n", "--loose"]; "restricted for the timeout")]
fn a_client_finds_the_same(host: &str, server: &[&str], words: &[&str]) {
    let Some(servers) = servers(host, server) else { return };
    // On a busy machine the last reply may take longer than three times what the others took.
    let fixed = ["-d", "200ms", "-o", "-", "-Q", "--wait=1s"];
    let seen = servers.map(|(server, port)| {
        let client = client(host, port, &[&fixed[..], words].concat());
        assert_eq!(client.code, Some(0), "{}", client.told());
        if !words.contains(&"-n") {
            server.until("the end of the session", |said| said.contains("[CloseConn]"));
        }
        let document: Value = serde_json::from_str(&client.stdout).unwrap_or(Value::Null);
        let stats = &document["stats"];
        let is_measured = !document.is_null();
        let asks_count = is_measured && stats["server_packets_received"] != 0;
        let counts = ["packets_received", "server_packets_received"].into_iter().take(1 + usize::from(asks_count));
        for count in counts {
            assert_eq!(stats[count], stats["packets_sent"], "{count}: {stats}");
        }
        let params = document["config"]["params"].clone();
        (lines(server), client.stderr, params, shape(&stats["rtt"]), shape(&document["round_trips"]))
    });
    let [ours, theirs] = seen;
    assert_eq!(ours, theirs);
}

#[test_case(&[], &["-i", "1ms"]; "for the interval")]
#[test_case(&["-d", "100ms"], &["-i", "20ms"]; "for the duration")]
#[test_case(&["-l", "80"], &["-l", "100"]; "for the length")]
#[test_case(&["--tstamp=single"], &[]; "for the times")]
#[test_case(&["--no-dscp"], &["--dscp=4"]; "for the mark")]
#[test_case(&[], &["--sfill=none"]; "for the fill")]
#[test_case(&["--allow-fills=*"], &["--sfill=pattern:0"]; "for a fill that there is not")]
#[test_case(&["--hmac=secret"], &["--timeouts=200ms"]; "without its key")]
#[test_case(&["--hmac=secret"], &["--timeouts=200ms", "--hmac=other"]; "with another key")]
#[test_case(&[], &["--timeouts=200ms", "--hmac=other"]; "with a key that it has not")]
#[test_case(&[], &["-n"]; "at once")]
fn a_client_ends_the_same(server: &[&str], words: &[&str]) {
    let Some(servers) = servers("127.0.0.1", server) else { return };
    let is_opened = !words.contains(&"--timeouts=200ms") && words != ["-n"];
    let [ours, theirs] = servers.map(|(server, port)| {
        let client = client("127.0.0.1", port, &[&["-d", "200ms"][..], words].concat());
        let at_port = |text: &str| text.replace(&format!(":{port}"), ":PORT");
        if is_opened {
            server.until("the end of the session", |said| said.contains("[CloseConn]"));
        }
        (client.code, at_port(&client.stdout), at_port(&client.stderr), lines(server))
    });
    assert_eq!(ours, theirs);
}

#[test_case(&["-x"]; "an unknown letter")]
#[test_case(&["--foo"]; "an unknown name")]
#[test_case(&["-b"]; "no value of a letter")]
#[test_case(&["--hmac", "key"]; "no value of a name")]
#[test_case(&["-d", "5"]; "a time without a unit")]
#[test_case(&["--pburst=x"]; "no number")]
#[test_case(&["--no-dscp=x"]; "neither true nor false")]
#[test_case(&["--tstamp=x"]; "times")]
#[test_case(&["--fill=x"]; "a fill")]
#[test_case(&["--fill=pattern:0"]; "half an octet")]
#[test_case(&["--hmac=0xg0"]; "a key")]
#[test_case(&["--gc=x"]; "a mode")]
#[test_case(&["-b", "a:b:c"]; "no address")]
#[test_case(&["-4", "-b", "[::1]"]; "an address of another version")]
#[test_case(&["-b", "%nosuch*"]; "no interface")]
#[test_case(&["-b", ":5,127.0.0.1:5"]; "all addresses and one")]
#[test_case(&["-b", "192.0.2.1:2112"]; "another host's address")]
fn words_that_do_not_fit_end_the_same(words: &[&str]) {
    let mut theirs = Place::here().program("irtt", &[&["server"][..], words].concat());
    if theirs.output().is_err() {
        return testbed::skip::aloud("irtt is not installed: the complaints of our server were not compared");
    }
    let mut ours = Command::new(env!("CARGO_BIN_EXE_sonde"));
    let seen = [ended(ours.args(["irtt", "server"]).args(words), LIMIT), ended(&mut theirs, LIMIT)];
    let [ours, theirs] = seen.map(|ended| {
        // Behind a complaint the help stands, which is ours.
        (ended.code, ended.stderr.lines().next().map(str::to_owned), ended.stdout.lines().map(form).collect::<Vec<_>>())
    });
    assert_eq!(ours, theirs);
}

#[test]
fn the_server_beside_our_reflector_serves_the_original_s_client() {
    if Place::here().program("irtt", &["version"]).output().is_err() {
        return testbed::skip::aloud("irtt is not installed: the irtt server beside our reflector was not asked");
    }
    let port = port::free();
    let mut command = Command::new(env!("CARGO_BIN_EXE_sonde"));
    command.args(["serve", "--listen", "127.0.0.1", "--port", "0", "--irtt", &port.to_string()]);
    let serving = process::started(command.env_remove("SONDE_KEY_FILE"));
    serving.until_it_listens(Carrier::Udp, port);
    let client = client("127.0.0.1", port, &["-d", "200ms", "-i", "20ms", "-q", "--wait=1s"]);
    assert!(client.code == Some(0) && client.said("(0.00% loss)"), "{}", client.told());
    serving.signal(Signal::USR1);
    let counted = || serving.stderr().lines().any(|line| line.contains("irtt") && line.contains("answered"));
    testbed::wait::until("its counts", counted);
}

#[test]
fn an_interface_is_listened_at_by_all_its_addresses() {
    let Some(theirs) = Place::here().started("irtt", Carrier::Udp, |_, port| {
        Place::here().program("irtt", &["server", "-b", &format!("%l*:{port}")])
    }) else {
        return;
    };
    let port = port::free();
    let mut command = Command::new(env!("CARGO_BIN_EXE_sonde"));
    let ours = process::started(command.args(["irtt", "server", "-b", &format!("%l*:{port}")]));
    ours.until_it_listens(Carrier::Udp, port);
    let started = |server: Running, port: u16| -> Vec<String> {
        let lines = printed(server).replace(&format!(":{port}"), ":PORT");
        lines.lines().filter(|line| line.starts_with("[ListenerStart]")).map(str::to_owned).collect()
    };
    assert_eq!(started(ours, port), started(theirs.running, theirs.port));
}
