//! The real iperf's client against our server: what it prints is what we counted, to the octet.

use std::process::Command;
use std::sync::OnceLock;

use endpoint::peer::iperf::server::event::{Event, Kind, Transport};
use protocol::iperf::wish::Way;
use test_case::test_case;
use testbed::port;
use testbed::process::{self, Ended, LIMIT};

use crate::iperf_client::relay::Relay;
use crate::iperf_client::theirs;
use crate::iperf_server::{Ours, until};

/// Returns true where it is installed; where not, says so aloud.
fn is_here() -> bool {
    static HERE: OnceLock<bool> = OnceLock::new();
    let here = *HERE.get_or_init(|| {
        let output = Command::new("iperf").arg("--version").output();
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stderr).contains("version 2"))
    });
    if !here {
        testbed::skip::aloud("our iperf 2 server by the real iperf: it is not installed");
    }
    here
}

/// A client's run with these words, to its end. `None`: its threads waited for each other for ever, which was said aloud.
fn iperf(server: &Ours, words: &str) -> Option<Ended> {
    iperf_to(server.port(), words)
}

fn iperf_to(port: u16, words: &str) -> Option<Ended> {
    let host = if words.split(' ').any(|word| word == "-V") { "::1" } else { "127.0.0.1" };
    let port = port.to_string();
    let running =
        process::started(Command::new("iperf").args(["-c", host, "-p", &port]).args(words.split_whitespace()));
    running.comes_to(theirs::PATIENCE, |_| false);
    if !running.has_ended() {
        assert!(theirs::is_stuck(running.id()), "iperf {words}: {}", theirs::places(running.id()).join(", "));
        theirs::say_stuck();
        return None;
    }
    let ended = running.end(LIMIT);
    assert_eq!((ended.code, ended.overdue), (Some(0), false), "iperf {words}: {ended:?}");
    Some(ended)
}

/// The lines of `-y C`, field by field.
fn records(output: &Ended) -> Vec<Vec<String>> {
    output.stdout.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// Octets that the lines tell, which are final ones all.
fn bytes(output: &Ended) -> Vec<u64> {
    records(output).iter().map(|fields| fields[7].parse().unwrap()).collect()
}

#[test_case("-n 300K -l 32K", Way::Upload, 307_200; "upload")]
#[test_case("-n 300K -l 32K -V", Way::Upload, 307_200; "upload over IPv6")]
#[test_case("-n 300K -l 32K -X", Way::Upload, 307_200; "upload by one who waits for our word")]
#[test_case("-n 300K -l 32K --trip-times", Way::Upload, 327_760; "upload in bursts")]
#[test_case("-n 300K -l 32K -R", Way::Reverse, 307_200; "reverse")]
#[test_case("-n 300K -l 32K -R -V", Way::Reverse, 307_200; "reverse over IPv6")]
#[test_case("-n 300K -l 32K -R --trip-times", Way::Reverse, 327_760; "reverse in bursts")]
#[test_case("-n 300K -l 32K --full-duplex", Way::Duplex, 307_200; "both ways")]
fn octets_of_a_connection_are_the_same_at_both_ends(words: &str, way: Way, expected: u64) {
    if !is_here() {
        return;
    }
    let server = Ours::start(Transport::Tcp);
    let Some(output) = iperf(&server, &format!("{words} -y C")) else { return };
    let streams = if way == Way::Duplex { 2 } else { 1 };
    server.await_ended(streams);
    let theirs = bytes(&output);
    let (sent, received) = server.bytes();
    if way == Way::Reverse && words.contains("trip") && theirs != [expected] {
        // Of the last burst the original reads what has come, once, and ends: strace shows it, 3 of 700 beside six busy loops.
        let of_last = |bytes: &u64| (expected - (32 << 10)..=sent).contains(bytes);
        assert!(theirs.len() == 1 && theirs.iter().all(of_last) && sent <= expected, "{output:?}: {sent} sent");
        return;
    }
    assert_eq!(theirs, vec![expected; streams], "{output:?}");
    let ours = match way {
        Way::Upload => (0, expected),
        // A request's header is none of what we received.
        Way::Reverse => (expected, 0),
        Way::Duplex => (expected, expected),
    };
    assert_eq!((sent, received), ours, "{:?}", server.events());
    assert!(server.ended().iter().all(|one| one.cut_short.is_none()), "{:?}", server.events());
    if words.contains("trip") && way == Way::Upload {
        let latency = server.ended()[0].latency.expect("bursts");
        assert_eq!(latency.count, 10);
        assert!(latency.min_ns >= 0, "one clock: {latency:?}");
    }
}

#[test]
fn a_connection_by_time_is_counted_to_the_octet() {
    if !is_here() {
        return;
    }
    let server = Ours::start(Transport::Tcp);
    let Some(output) = iperf(&server, "-t 0.5 -P 3 -y C") else { return };
    server.await_ended(3);
    let mut theirs = bytes(&output);
    // Three streams, and in some versions their sum.
    theirs.truncate(3);
    let mut ours: Vec<u64> = server.ended().iter().map(|one| one.count.carried.bytes.0).collect();
    theirs.sort_unstable();
    ours.sort_unstable();
    assert_eq!(ours, theirs);
}

#[test]
fn a_client_without_a_header_is_served() {
    if !is_here() {
        return;
    }
    let server = Ours::start(Transport::Tcp);
    let Some(_) = iperf(&server, "-n 300K -l 32K -C") else { return };
    server.await_ended(1);
    assert_eq!(server.bytes(), (0, 307_200));
    assert!(server.events().iter().any(|event| matches!(event, Event::Began(began) if began.kind == Kind::Plain)));
}

#[test_case("-d"; "at once")]
#[test_case("-r"; "afterwards")]
fn we_connect_back(when: &str) {
    if !is_here() {
        return;
    }
    let server = Ours::start(Transport::Tcp);
    let Some(output) = iperf(&server, &format!("-n 300K -l 32K {when} -L {} -y C", port::free())) else { return };
    server.await_ended(2);
    assert_eq!(server.bytes(), (307_200, 307_200), "{output:?}");
    let told = bytes(&output);
    assert_eq!(told, [307_200; 2], "{output:?}");
}

#[test]
fn requests_are_answered() {
    if !is_here() {
        return;
    }
    let server = Ours::start(Transport::Tcp);
    let Some(output) = iperf(&server, "--bounceback=5 -t 1 -e") else { return };
    until("the end", || server.events().iter().any(|event| matches!(event, Event::Bounced { .. })));
    let replies = server.events().iter().find_map(|event| match event {
        Event::Bounced { replies, .. } => Some(*replies),
        _ => None,
    });
    let text = &output.stdout;
    let count =
        text.split("cnt(").nth(1).and_then(|rest| rest.split(')').next()).and_then(|text| text.parse::<u64>().ok());
    let (replies, count) = replies.zip(count).expect("both ends tell");
    // Theirs does not count the one in which its time ends.
    assert!(count >= 5 && (count..=count + 1).contains(&replies), "{replies} replies: {text}");
    assert_eq!(server.failures(), Vec::<String>::new());
}

/// Lost and all datagrams as the client prints them of the server's report.
fn reported(output: &Ended) -> (u64, u64) {
    let text = &output.stdout;
    let line = text.split("Server Report:").nth(1).unwrap_or_else(|| panic!("no report: {text}"));
    let pair = line
        .split_whitespace()
        .find(|word| word.contains('/') && !word.contains("sec") && word.as_bytes()[0].is_ascii_digit());
    let (lost, all) = pair.and_then(|pair| pair.split_once('/')).unwrap_or_else(|| panic!("{text}"));
    (lost.parse().unwrap(), all.parse().unwrap())
}

#[test_case("-u -b 4m -l 1000 -t 0.5"; "as usual")]
#[test_case("-u -b 4m -l 1000 -t 0.5 -V"; "over IPv6")]
#[test_case("-u -b 100pps -t 0.5"; "by datagrams a second")]
#[test_case("-u -b 1m -l 64 -t 0.5"; "shorter than a header")]
#[test_case("-u -b 4m -l 1000 -t 0.5 --trip-times"; "with trip times")]
fn a_flow_is_counted_and_reported(words: &str) {
    if !is_here() {
        return;
    }
    let server = Ours::start(Transport::Udp);
    let Some(output) = iperf(&server, words) else { return };
    let ended = server.await_ended(1).remove(0);
    let told = ended.count.sight.datagrams.expect("datagrams");
    let (lost, all) = reported(&output);
    assert_eq!((told.lost.cast_unsigned(), told.expected), (lost, all), "{output:?}");
    assert_eq!(told.received, ended.count.carried.calls);
    // The end of a flow is a datagram of it, and the client says one more than it sent.
    let text = &output.stdout;
    let sent: u64 = text.split("Sent ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap().parse().unwrap();
    assert_eq!(sent, all + 1, "{text}");
    assert!(told.transit.is_some_and(|transit| transit.min_ns > 0), "one clock");
}

#[test]
fn a_flow_without_a_header_is_served() {
    if !is_here() {
        return;
    }
    let server = Ours::start(Transport::Udp);
    let Some(output) = iperf(&server, "-u -b 4m -l 1000 -t 0.5 -C") else { return };
    let ended = server.await_ended(1).remove(0);
    assert_eq!(reported(&output).1, ended.count.sight.datagrams.unwrap().expected);
    assert!(server.events().iter().any(|event| matches!(event, Event::Began(began) if began.kind == Kind::Plain)));
}

#[test]
fn one_client_after_the_other_is_served_without_a_pause() {
    if !is_here() {
        return;
    }
    let server = Ours::start(Transport::Udp);
    for _ in 0..4 {
        let Some(output) = iperf(&server, "-u -b 400k -l 500 -t 0.2") else { return };
        assert_eq!(reported(&output).0, 0, "{output:?}");
    }
    assert_eq!(server.await_ended(4).len(), 4);
}

#[test]
fn several_flows_at_once_are_told_apart() {
    if !is_here() {
        return;
    }
    let server = Ours::start(Transport::Udp);
    let Some(_) = iperf(&server, "-u -b 160k -l 500 -t 0.5 -P 4") else { return };
    let ended = server.await_ended(4);
    for one in &ended {
        let told = one.count.sight.datagrams.unwrap();
        assert_eq!((told.lost, told.expected), (0, one.count.carried.calls), "{one:?}");
    }
}

// Where nothing may be lost, all datagrams of a flow fit a socket's buffer, whatever keeps its reader away.

/// Octets, lost and all datagrams of a line of `-y C`.
fn received(output: &Ended) -> Option<(u64, u64, u64)> {
    let number = |fields: &[String], at: usize| fields.get(at).and_then(|text| text.parse().ok());
    records(output).iter().find_map(|fields| Some((number(fields, 7)?, number(fields, 10)?, number(fields, 11)?)))
}

#[test_case("-R"; "reverse")]
#[test_case("-R -V"; "reverse over IPv6")]
fn we_send_datagrams(words: &str) {
    if !is_here() {
        return;
    }
    let server = Ours::start(Transport::Udp);
    let Some(output) = iperf(&server, &format!("-u -b 400k -l 500 -t 0.5 {words} -y C")) else { return };
    let ended = server.await_ended(1).remove(0);
    assert!(ended.sends && ended.cut_short.is_none(), "{ended:?}");
    let (bytes, lost, all) = received(&output).unwrap_or_else(|| panic!("{output:?}"));
    let sent = ended.count.carried;
    // Theirs counts the datagram that says that it was the last.
    assert_eq!((bytes, lost, all), (sent.bytes.0 + 500, 0, sent.calls + 1), "{output:?}");
}

#[test]
fn datagrams_go_both_ways() {
    if !is_here() {
        return;
    }
    let server = Ours::start(Transport::Udp);
    let Some(output) = iperf(&server, "-u -b 400k -l 500 -t 0.5 --full-duplex -y C") else { return };
    let ended = server.await_ended(2);
    let theirs = ended.iter().find(|one| !one.sends).unwrap().count.sight.datagrams.unwrap();
    assert_eq!(theirs.lost, 0, "{output:?}");
    assert!(theirs.received > 0 && ended.iter().all(|one| one.cut_short.is_none()), "{ended:?}");
}

#[test_case("-d"; "at once")]
#[test_case("-r"; "afterwards")]
fn a_flow_goes_back(when: &str) {
    if !is_here() {
        return;
    }
    let server = Ours::start(Transport::Udp);
    let Some(output) = iperf(&server, &format!("-u -b 400k -l 500 -t 0.5 {when} -L {}", port::free())) else { return };
    let ended = server.await_ended(2);
    let sent = ended.iter().find(|one| one.sends).unwrap();
    let report = sent.report.unwrap_or_else(|| panic!("no report: {output:?}"));
    assert_eq!((report.lost, report.datagrams), (0, sent.count.carried.calls + 1));
}

#[test]
fn loss_is_reported_to_the_datagram() {
    if !is_here() {
        return;
    }
    let server = Ours::start(Transport::Udp);
    let relay = Relay::to(server.address());
    let Some(output) = iperf_to(relay.address.port(), "-u -b 400k -l 500 -t 0.5") else { return };
    let told = server.await_ended(1).remove(0).count.sight.datagrams.unwrap();
    assert!(relay.lost() > 0);
    assert_eq!(reported(&output), (relay.lost(), told.expected), "{output:?}");
    assert_eq!((told.lost.cast_unsigned(), told.out_of_order), (relay.lost(), 0));
}
