//! Reports on senders and on its own progress while it serves.

use std::io::Write;

use endpoint::peer::sockperf::server::event::Totals;

use crate::sockperf_server::hand::{ASKING, message, read, receive, tcp, udp};
use crate::sockperf_server::{Lines, Ours, listening};

fn told(lines: &Lines, kind: &str) -> Vec<String> {
    let lines = lines.lock().unwrap();
    lines.iter().filter(|line| line.starts_with(kind)).cloned().collect()
}

#[test]
fn gaps_are_told_as_the_original_tells_them() {
    let (tell, lines) = listening();
    let server = Ours::with(|settings| (settings.gaps, settings.tell) = (true, Some(tell)));
    let (first, second) = (udp(&server), udp(&server));
    for number in [1, 2, 5, 3, 6, 6, 10, 4, 11] {
        first.send(&message(number, 1, 14)).unwrap();
    }
    first.send(&message(0, 5, 14)).unwrap();
    for number in [1, 2, 4] {
        first.send(&message(number, 1, 14)).unwrap();
    }
    for number in [5, 6, 9] {
        second.send(&message(number, 1, 14)).unwrap();
    }
    let from = [&first, &second].map(|socket| socket.local_addr().unwrap());
    let totals = server.end();
    assert_eq!(totals.messages, 15);
    let mut missing = totals.missing;
    missing.sort_by_key(|(_, missing)| *missing);
    // The server listens at an address of IPv6, and sees those of IPv4 mapped.
    let missing: Vec<_> =
        missing.iter().map(|(from, missing)| (from.ip().to_canonical(), from.port(), *missing)).collect();
    assert_eq!(missing, [(from[0].ip(), from[0].port(), 1), (from[1].ip(), from[1].port(), 2)]);
    let seen: Vec<String> =
        told(&lines, "Gaps").iter().map(|line| line.split("seen: ").nth(1).unwrap().to_owned()).collect();
    let expected = [
        "Started }",
        "Gap(Gap { first: 3, last: 4, missing: 2 }) }",
        "Gap(Gap { first: 7, last: 9, missing: 5 }) }",
        "Ended { missing: 5 } }",
        "Started }",
        "Gap(Gap { first: 3, last: 3, missing: 1 }) }",
        "Started }",
        "Gap(Gap { first: 7, last: 8, missing: 2 }) }",
    ];
    assert_eq!(seen, expected);
}

#[test]
fn gaps_over_a_connection_are_told_too() {
    let (tell, lines) = listening();
    let server = Ours::with(|settings| (settings.gaps, settings.tell) = (true, Some(tell)));
    let mut stream = tcp(&server);
    stream.write_all(&[message(1, 1, 14), message(4, 1, 20)].concat()).unwrap();
    drop(stream);
    let Totals { missing, messages, .. } = server.end();
    assert_eq!((messages, missing.len(), missing[0].1), (2, 1, 2));
    assert_eq!(told(&lines, "Gaps").len(), 2);
}

#[test]
fn signs_of_life_come_each_so_many_messages() {
    let (tell, lines) = listening();
    let server = Ours::with(|settings| (settings.activity, settings.tell) = (Some(10), Some(tell)));
    let (socket, mut stream) = (udp(&server), tcp(&server));
    for number in 1..=20 {
        let asked = message(number, ASKING, 14);
        socket.send(&asked).unwrap();
        receive(&socket);
        stream.write_all(&asked).unwrap();
        read(&mut stream, &asked);
    }
    drop(stream);
    server.end();
    let told: Vec<String> =
        told(&lines, "Activity").iter().map(|line| line.split(['{', ',']).nth(1).unwrap().to_owned()).collect();
    assert_eq!(told, [" messages: 10", " messages: 20", " messages: 30", " messages: 40"]);
}

#[test]
fn buffers_of_each_connection_are_told_where_they_were_asked_for() {
    let (tell, lines) = listening();
    let server = Ours::with(|settings| (settings.options.buffer_bytes, settings.tell) = (Some(20_000), Some(tell)));
    for _ in 0..2 {
        crate::sockperf_server::hand::good_tcp(&server);
    }
    server.end();
    let told = told(&lines, "Buffers");
    assert_eq!(told.len(), 2);
    assert!(told.iter().all(|line| line.contains("receive: 40000, send: 40000")), "{told:?}");
}

#[test]
fn a_flood_of_garbage_is_told_a_few_times() {
    let (tell, lines) = listening();
    let server = Ours::with(|settings| settings.tell = Some(tell));
    let socket = udp(&server);
    for _ in 0..200 {
        socket.send(b"?").unwrap();
    }
    assert_eq!(server.end().malformed, 200);
    assert_eq!(told(&lines, "Malformed").len(), 16);
}
