//! Data ports that are taken or filtered, and control ports where nobody is.

use std::net::{TcpListener, UdpSocket};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use lab::namespace::{Namespace, NamespaceError, Pair};
use test_case::test_case;
use testbed::port;
use testbed::process::{self, LIMIT};

use super::serves;
use crate::netperf_pairs::ends::{End, Server};

#[test_case("TCP_RR"; "TCP")]
#[test_case("UDP_RR"; "UDP")]
fn a_data_port_that_is_taken_is_told(test: &str) {
    let server = Server::start(End::Ours, &[]);
    let port = port::free();
    let (_tcp, _udp) = (TcpListener::bind(("::", port)).unwrap(), UdpSocket::bind(("::", port)).unwrap());
    let words = ["-H", "127.0.0.1", "-t", test, "-l", "-100", "--", "-P", &format!(",{port}")];
    let ended = End::Ours.client(server.port, &words);
    assert!(!ended.overdue && ended.code.is_some_and(|code| code != 0), "{}", ended.told());
    assert!(ended.said(&port.to_string()) || ended.said("in use"), "{}", ended.told());
    serves(&server);
}

#[test_case("TCP_RR"; "TCP")]
#[test_case("UDP_RR"; "UDP")]
fn a_port_of_our_own_that_is_taken_is_told(test: &str) {
    let server = Server::start(End::Ours, &[]);
    let port = port::free();
    let (_tcp, _udp) = (TcpListener::bind(("::", port)).unwrap(), UdpSocket::bind(("::", port)).unwrap());
    let words = ["-H", "127.0.0.1", "-t", test, "-l", "-100", "--", "-P", &format!("{port},")];
    let ended = End::Ours.client(server.port, &words);
    assert!(!ended.overdue && ended.code.is_some_and(|code| code != 0), "{}", ended.told());
    assert!(ended.said(&port.to_string()) || ended.said("in use"), "{}", ended.told());
}

/// Two hosts, with a firewall at the far one; `None` where that cannot be had, which was said aloud.
fn behind(rule: &str) -> Option<Pair> {
    let what = "a data port behind a firewall";
    if std::process::Command::new("nft").arg("--version").stdin(Stdio::null()).output().is_err() {
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
    let rules = format!("table inet wall {{ chain input {{ type filter hook input priority 0; {rule}; }}; }}");
    let output = pair.far().command("nft").arg(&rules).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(pair)
}

fn within(namespace: &Namespace, name: &str) -> std::process::Command {
    // The name is the first word inside: a namespace's command runs through another program.
    let mut command = namespace.command(assert_cmd::cargo::cargo_bin!("sonde"));
    command.arg(name);
    command
}

/// All of them at the same time: there is nothing to be done but to wait.
#[test]
fn a_data_port_behind_a_firewall_is_told() {
    let walls = [
        ("tcp dport 5555 drop", "TCP_RR"),
        ("tcp dport 5555 reject with tcp reset", "TCP_RR"),
        ("tcp dport 5555 drop", "TCP_STREAM"),
        ("tcp dport 5555 drop", "TCP_CRR"),
        ("udp dport 5555 drop", "UDP_RR"),
    ];
    thread::scope(|scope| {
        for (rule, test) in walls {
            scope.spawn(move || told_behind(rule, test));
        }
    });
}

/// One wall, and the test that meets it.
fn told_behind(rule: &str, test: &str) {
    let Some(pair) = behind(rule) else { return };
    let server = Server::of(|| within(pair.far(), "netserver"), &[]);
    let mut command = within(pair.near(), "netperf");
    let far = pair.far().v4().to_string();
    command.args(["-p", &server.port.to_string(), "-H", &far, "-t", test, "-l", "2", "--", "-P", ",5555"]);
    // The server gives up on data that never came after a minute.
    let ended = process::ended(&mut command, Duration::from_secs(100));
    assert!(!ended.overdue && ended.code.is_some_and(|code| code != 0), "{}", ended.told());
    assert!(!ended.stderr.is_empty() && !ended.said("panicked"), "{}", ended.told());
    // Others are served meanwhile and afterwards.
    let mut command = within(pair.near(), "netperf");
    command.args(["-p", &server.port.to_string(), "-H", &far, "-t", "TCP_RR", "-l", "-100"]);
    let ended = process::ended(&mut command, LIMIT);
    assert_eq!(ended.code, Some(0), "{}", ended.told());
}

#[test]
fn nobody_at_the_control_port_is_told_in_the_original_s_words() {
    let port = port::free();
    let ended = End::Ours.client(port, &["-H", "127.0.0.1", "-t", "TCP_RR", "-l", "1"]);
    assert_eq!((ended.overdue, ended.code), (false, Some(255)), "{}", ended.told());
    let words = format!("are you sure there is a netserver listening on 127.0.0.1 at port {port}?");
    assert!(ended.said(&words), "{}", ended.told());
}
