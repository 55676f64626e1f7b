//! Between two hosts, with the original's client: groups, where it joins, warms up, and hears the answers by the group;
//! and a host of several addresses.

use std::process::Command;

use lab::namespace::{Namespace, NamespaceError, Pair};
use rustix::process::Signal;
use test_case::test_case;
use testbed::process::{self, Ended, LIMIT};

use crate::sockperf_server::program::{Server, bare, file, is_here};

/// Two hosts, or a skip said aloud.
fn pair() -> Option<Pair> {
    match Pair::new() {
        Ok(pair) => Some(pair),
        // Namespaces are to be had, but not as they should be: a defect, not a skip.
        Err(error @ NamespaceError::Step { .. }) => panic!("{error}"),
        Err(error) => {
            testbed::skip::aloud(&format!("groups between namespaces: {error}"));
            None
        }
    }
}

/// A server of ours on a host.
fn server(host: &Namespace, words: &[&str]) -> Server {
    Server::of(bare(host.command(assert_cmd::cargo::cargo_bin!("sonde"))), &[&["server"], words].concat(), 1)
}

/// The original's client on a host.
fn client(host: &Namespace, name: &str, words: &[&str]) -> Ended {
    let mut command: Command = host.command(name);
    process::ended(command.args(words), LIMIT)
}

/// Options by which a host joins and sends. Its routes lead to no group.
fn at(host: &Namespace) -> [String; 4] {
    let address = host.v4().to_string();
    ["--mc-rx-if".to_owned(), address.clone(), "--mc-tx-if".to_owned(), address]
}

/// The number of answers that a client has had, each of them once. Messages under way when its time was over it calls
/// dropped.
fn answers(ended: &Ended) -> u64 {
    assert!(ended.said("# duplicated messages = 0"), "{}", ended.told());
    let rest = ended.stdout.split("ReceivedMessages=").nth(1).unwrap_or_default();
    rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().expect("a number")
}

#[test_case("ping-pong", &[]; "each answered to the group")]
#[test_case("ping-pong", &["--force-unicast-reply"]; "each answered to its sender")]
#[test_case("under-load", &["-g"]; "on schedule, with gaps looked for")]
fn the_originals_client_speaks_to_a_group(subcommand: &str, words: &[&str]) {
    if !is_here("sockperf", "groups with the original's client") {
        return;
    }
    let Some(pair) = pair() else { return };
    let own = at(pair.far());
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let server = server(pair.far(), &[&["-i", "224.4.4.4", "-p", "11111"], &own[..], words].concat());
    let own = at(pair.near());
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let asks = [subcommand, "-i", "224.4.4.4", "-t", "1", "--mps", "500"];
    let more: &[&str] = if subcommand == "under-load" { &["--reply-every", "5"] } else { &[] };
    let ended = client(pair.near(), "sockperf", &[&asks, more, &own[..]].concat());
    assert!(answers(&ended) > 10, "{}", ended.told());
    let (code, stdout, stderr) = server.end(Signal::INT);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    assert!(stdout.contains("IP = 224.4.4.4       PORT = 11111 # UDP"), "{stdout}");
    // The client's warm-ups are not counted; with -g they open and end nothing.
    let sent: String =
        ended.stdout.split("SentMessages=").nth(1).unwrap().chars().take_while(char::is_ascii_digit).collect();
    assert!(stdout.contains(&format!("Total {sent} messages")), "{sent}: {stdout}");
    assert_eq!(stdout.contains("Summary: Total Dropped/OOO: 0"), words.contains(&"-g"), "{stdout}");
}

#[test]
fn two_groups_on_one_port_are_answered_to_the_sender() {
    if !is_here("sockperf", "groups with the original's client") {
        return;
    }
    let Some(pair) = pair() else { return };
    let (_folder, path) = file("feed.txt", "U:224.4.4.4:7001\nU:224.4.4.5:7001\n");
    let own = at(pair.far());
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let server = server(pair.far(), &[&["-f", &path], &own[..]].concat());
    let own = at(pair.near());
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let asks = ["ping-pong", "-i", "224.4.4.5", "-p", "7001", "-t", "1", "--mps", "500"];
    let ended = client(pair.near(), "sockperf", &[&asks, &own[..]].concat());
    assert!(answers(&ended) > 10, "{}", ended.told());
    let (_, stdout, _) = server.end(Signal::INT);
    assert!(stdout.contains("[ 1] IP = 224.4.4.5       PORT =  7001 # UDP"), "{stdout}");
}

#[test]
fn one_sender_alone_is_heard_where_told_so() {
    if !is_here("sockperf", "groups with the original's client") {
        return;
    }
    let Some(pair) = pair() else { return };
    for (source, heard) in [(pair.near().v4().to_string(), true), ("192.0.2.1".to_owned(), false)] {
        let own = at(pair.far());
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        let server = server(pair.far(), &[&["-i", "224.4.4.4", "--mc-source-filter", &source], &own[..]].concat());
        let own = at(pair.near());
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        let asks = ["under-load", "-i", "224.4.4.4", "-t", "1", "--mps", "500", "--reply-every", "5"];
        let ended = client(pair.near(), "sockperf", &[&asks, &own[..]].concat());
        let (_, stdout, _) = server.end(Signal::INT);
        assert_eq!(stdout.contains("No messages were received"), !heard, "{stdout} {}", ended.told());
    }
}

/// The number of a host's interface.
fn number(host: &Namespace) -> String {
    let listed = host.command("ip").args(["-o", "link", "show", host.interface()]).output().expect("ip");
    String::from_utf8_lossy(&listed.stdout).split(':').next().expect("a number").to_owned()
}

#[test]
fn a_group_of_ipv6_is_spoken_to() {
    if !is_here("sockperf-3.10", "groups of IPv6 with the original's client") {
        return;
    }
    let Some(pair) = pair() else { return };
    let far = pair.far().interface();
    // 3.10 takes an interface of IPv6 by its number.
    let near = number(pair.near());
    let server = server(pair.far(), &["-i", "ff15::4", "-p", "11111", "--mc-rx-if", far, "--mc-tx-if", far]);
    let asks = ["ping-pong", "-i", "ff15::4", "-t", "1", "--mps", "500", "--mc-rx-if", &near, "--mc-tx-if", &near];
    let ended = client(pair.near(), "sockperf-3.10", &asks);
    assert!(answers(&ended) > 10, "{}", ended.told());
    assert!(server.end(Signal::INT).1.contains("IP = ff15::4"));
}

#[test]
fn a_host_of_several_addresses_answers_from_the_one_that_was_asked() {
    let Some(pair) = pair() else { return };
    let far = pair.far();
    let second = "198.18.77.2";
    let added = far.command("ip").args(["addr", "add", &format!("{second}/32"), "dev", far.interface()]).status();
    assert!(added.expect("ip").success());
    let via = far.v4().to_string();
    let routed = pair.near().command("ip").args(["route", "add", second, "via", &via]).status();
    assert!(routed.expect("ip").success());
    let server = server(far, &["-p", "11111"]);
    for asked in [second, &via] {
        // Its socket is connected: it hears nobody but whom it asks.
        let mut client = bare(pair.near().command(assert_cmd::cargo::cargo_bin!("sonde")));
        let words = ["ping-pong", "-i", asked, "-p", "11111", "-t", "1", "--mps", "100"];
        let ended = process::ended(client.args(words), LIMIT);
        assert!(answers(&ended) > 10, "{asked}: {}", ended.told());
    }
    assert_eq!(server.end(Signal::INT).0, Some(0));
}
