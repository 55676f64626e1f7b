//! Faults: nobody there, a busy server, one that goes away, a signal.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use rustix::process::Signal;
use test_case::test_case;
use testbed::port;
use testbed::process::LIMIT;
use testbed::wait;

use crate::iperf3_pairs::ends::{End, Server};

#[test_case(""; "text")]
#[test_case("-J"; "json")]
fn nobody_listens(form: &str) {
    let ended = End::Ours.client(port::free(), form);
    let words = "unable to connect to server - server may have stopped running or use a different port, firewall \
                 issue, etc.: Connection refused";
    assert_eq!(ended.code, Some(1), "{}", ended.told());
    if form.is_empty() {
        assert!(ended.stderr.starts_with(&format!("iperf3: error - {words}\n")), "{}", ended.told());
        assert_eq!(ended.stdout, "");
    } else {
        let document: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON");
        assert_eq!((document["error"].as_str(), document["end"].as_object().unwrap().len()), (Some(words), 0));
    }
}

#[test]
fn a_name_that_is_none_is_told() {
    let mut command = End::Ours.program();
    let ended = testbed::process::ended(command.args(["-c", "nosuch.invalid"]), LIMIT);
    assert!(ended.code == Some(1) && ended.said("iperf3: error - unable to connect to server"), "{}", ended.told());
}

/// The original has one test at a time, and so has ours where it ends with its first.
#[test_case(End::Ours, End::Ours, "-1"; "ours at ours")]
#[test_case(End::Ours, End::Real, ""; "ours at a real one")]
#[test_case(End::Real, End::Ours, "-1"; "a real one at ours")]
fn a_busy_server_says_so(client: End, server: End, words: &str) {
    if !(client.is_here("a busy server") && server.is_here("a busy server")) {
        return;
    }
    let listening = Server::start(server, words);
    let mut command = End::Ours.program();
    command.args(["-c", "127.0.0.1", "-p", &listening.port.to_string(), "-t", "600", "-b", "1M"]);
    let first = testbed::process::started(&mut command);
    first.until("its second line, which says that its streams are there", |said| said.matches('\n').count() >= 2);
    let second = client.client(listening.port, "-t 1");
    first.signal(Signal::INT);
    first.end(LIMIT);
    assert_eq!(second.code, Some(1), "{}", second.told());
    assert!(second.said("the server is busy running a test. try again later"), "{}", second.told());
    drop(listening.end());
}

/// Ours serves whoever comes, and tells the tests one after the other.
#[test_case(End::Ours; "ours")]
#[test_case(End::Real; "real ones")]
fn a_server_of_ours_has_many_tests_at_once(client: End) {
    if !client.is_here("many tests at once") {
        return;
    }
    let listening = Server::start(End::Ours, "");
    let port = listening.port;
    let ended: Vec<_> = thread::scope(|scope| {
        let running: Vec<_> = (0..4).map(|_| scope.spawn(move || client.client(port, "-t 1 -b 1M"))).collect();
        running.into_iter().map(|one| one.join().expect("a client")).collect()
    });
    for one in &ended {
        assert_eq!(one.code, Some(0), "{}", one.told());
    }
    let told = listening.end().stdout;
    // Each test has its lines together: from the connection that was accepted to its summary.
    let tests: Vec<&str> = told.split("Accepted connection from ").skip(1).collect();
    assert_eq!(tests.len(), 4, "{told}");
    for test in tests {
        assert_eq!((test.matches("connected to").count(), test.matches("receiver\n").count()), (1, 1), "{told}");
    }
}

/// A harness that waits for its server has its end, however its client ended.
#[test_case(End::Ours, End::Ours; "ours at ours")]
#[test_case(End::Real, End::Ours; "a real one at ours")]
#[test_case(End::Ours, End::Real; "ours at a real one")]
fn a_client_that_vanished_ends_a_server_of_one_test(client: End, server: End) {
    if !(client.is_here("a vanished client") && server.is_here("a vanished client")) {
        return;
    }
    let listening = Server::start(server, "-1");
    let running = client.running(listening.port, "-t 600 -b 1M -i 0.2 --forceflush");
    running.until("an interval", |said| said.contains(" sec "));
    running.signal(Signal::KILL);
    drop(running.end(LIMIT));
    let served = listening.ended();
    assert!(!served.overdue, "{}", served.told());
    assert_eq!(served.stderr, "iperf3: the client has unexpectedly closed the connection\n", "{}", served.told());
    assert_eq!(served.stdout.matches("Server listening on").count(), 1, "{}", served.told());
}

#[test_case(End::Ours; "ours")]
#[test_case(End::Real; "a real one")]
fn more_buffer_than_there_is_is_an_error(client: End) {
    let most: u64 = std::fs::read_to_string("/proc/sys/net/core/wmem_max").unwrap().trim().parse().unwrap();
    if most >= 256 << 20 {
        testbed::skip::aloud(&format!("iperf3 -w 512M: this host grants {most} bytes, and twice"));
        return;
    }
    if !client.is_here("iperf3 -w 512M") {
        return;
    }
    let listening = Server::start(End::Ours, "");
    let ended = client.client(listening.port, "-t 1 -w 512M");
    let said = "iperf3: error - socket buffer size not set correctly\n";
    assert!(ended.code == Some(1) && ended.stderr.starts_with(said), "{}", ended.told());
    drop(listening.end());
}

#[test]
fn a_slash_between_two_cpus_is_read_as_the_original_reads_it() {
    let listening = Server::start(End::Ours, "");
    let ended = End::Ours.client(listening.port, "-t 1 -b 1M -A 0/0");
    assert!(ended.code == Some(0) && ended.stderr.contains("-A: the number before the slash"), "{}", ended.told());
    drop(listening.end());
}

#[test_case(End::Ours, End::Ours; "ours at ours")]
#[test_case(End::Ours, End::Real; "ours at a real one")]
#[test_case(End::Real, End::Ours; "a real one at ours")]
fn a_file_is_sent_once(client: End, server: End) {
    if !(client.is_here("iperf3 -F") && server.is_here("iperf3 -F")) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    std::fs::write(&file, vec![b'x'; 3_000_001]).expect("written");
    let listening = Server::start(server, "");
    let ended = client.client(listening.port, &format!("-t 600 -J -F {}", file.display()));
    assert_eq!((ended.overdue, ended.code), (false, Some(0)), "{}", ended.told());
    let document: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(document["end"]["sum_sent"]["bytes"], 3_000_001, "{}", ended.told());
    // A real server leaves out what is on its way when the end is said.
    if server == End::Ours {
        assert_eq!(document["end"]["sum_received"]["bytes"], 3_000_001, "{}", ended.told());
    }
    let told = &document["end"]["streams"][0]["diskfile"];
    assert_eq!((&told["size"], &told["percent_sent"]), (&3_000_001.into(), &100.into()), "{}", ended.told());
    drop(listening.end());
}

#[test_case(End::Ours; "ours")]
#[test_case(End::Real; "a real one")]
fn a_file_has_its_line_between_the_rows(client: End) {
    if !client.is_here("the line of iperf3 -F") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    std::fs::write(&file, vec![b'x'; 3_000_000]).expect("written");
    let listening = Server::start(End::Ours, "");
    let ended = client.client(listening.port, &format!("-t 600 -F {}", file.display()));
    let lines: Vec<&str> = ended.stdout.lines().collect();
    let told = format!("        Sent 2.86 MByte / 2.86 MByte (100%) of {}", file.display());
    let at = lines.iter().position(|line| **line == told).unwrap_or_else(|| panic!("{told}: {}", ended.told()));
    assert!(lines[at - 1].ends_with("sender") && lines[at + 1].ends_with("receiver"), "{}", ended.told());
    drop(listening.end());
}

#[test]
fn a_server_that_hangs_up_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let port = listener.local_addr().expect("an address").port();
    let server = thread::spawn(move || {
        let (mut connection, _) = listener.accept().expect("a client");
        let mut cookie = [0; 37];
        connection.read_exact(&mut cookie).expect("a cookie");
        connection.write_all(&[9]).expect("asked");
    });
    let ended = End::Ours.client(port, "-t 1");
    server.join().expect("the server");
    assert_eq!(ended.code, Some(1), "{}", ended.told());
    assert!(ended.said("iperf3: error - control socket has closed unexpectedly"), "{}", ended.told());
}

#[test_case(End::Ours; "ours")]
#[test_case(End::Real; "real")]
fn an_interrupt_ends_a_client_with_what_it_has(server: End) {
    if !server.is_here("an interrupt") {
        return;
    }
    let listening = Server::start(server, "");
    let mut command = End::Ours.program();
    let words = ["-t", "600", "-b", "10M", "-i", "0.2", "--logfile"];
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    command.args(["-c", "127.0.0.1", "-p", &listening.port.to_string()]).args(words).arg(&log);
    let running = testbed::process::started(&mut command);
    let intervals = || std::fs::read_to_string(&log).unwrap_or_default().matches(" sec ").count();
    wait::until("two intervals", || intervals() >= 2);
    running.signal(Signal::INT);
    let ended = running.end(LIMIT);
    let text = std::fs::read_to_string(&log).expect("a log");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{}\n{text}", ended.told());
    assert!(
        text.contains("sender\n") && text.contains("0.00 Bytes  0.00 bits/sec                  receiver\n"),
        "{text}"
    );
    assert!(text.contains("iperf3: interrupt - the client has terminated by signal Interrupt(2)\n"), "{text}");
    let served = listening.end();
    assert!(served.said("the client has terminated"), "{}", served.told());
}

#[test]
fn a_congestion_control_that_is_none_is_told_as_the_original_tells_it() {
    let listening = Server::start(End::Ours, "");
    let ended = End::Ours.client(listening.port, "-t 1 -C nosuch");
    assert_eq!(ended.code, Some(1), "{}", ended.told());
    assert!(ended.stdout.starts_with("Connecting to host 127.0.0.1, port "), "{}", ended.told());
    assert!(ended.said("iperf3: error - unable to set TCP_CONGESTION: Supplied congestion"), "{}", ended.told());
    drop(listening.end());
}

#[test]
fn a_server_says_what_it_does_not_allow() {
    let listening = Server::start(End::Ours, "--server-bitrate-limit 1M --server-max-duration 5");
    let rate = End::Ours.client(listening.port, "-t 1 -b 5M");
    assert!(
        rate.code == Some(1) && rate.said("total required bandwidth is larger than server limit"),
        "{}",
        rate.told()
    );
    let long = End::Ours.client(listening.port, "-t 50 -b 100K");
    assert_eq!(long.code, Some(1), "{}", long.told());
    assert!(End::Ours.client(listening.port, "-t 1 -b 500K -l 1000").code == Some(0));
    drop(listening.end());
}

#[test_case("-A 999", "unable to set CPU affinity: Invalid argument"; "a CPU")]
#[test_case("-C nosuch", "unable to set TCP_CONGESTION: Supplied congestion control algorithm not supported on this host"; "a congestion control")]
fn what_this_host_has_not_is_told_once(words: &str, text: &str) {
    let listening = Server::start(End::Ours, "");
    for client in [End::Ours, End::Real].into_iter().filter(|client| client.is_here(words)) {
        let ended = client.client(listening.port, &format!("-t 1 {words}"));
        assert_eq!(ended.code, Some(1), "{client}: {}", ended.told());
        assert_eq!(ended.stderr.lines().next(), Some(&*format!("iperf3: error - {text}")), "{client}");
        assert!(ended.stdout.matches("Connecting to host").count() <= 1, "{client}: {}", ended.told());
    }
    drop(listening.end());
}
