//! Output from the first line to the last, and the status at the end.

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use test_case::test_case;
use testbed::process::{self, LIMIT};
use testbed::wait;

use crate::sockperf_server::program::{Server, ended, file, is_here, ours};

/// A message of 14 bytes.
fn message(sequence: u64, flags: u16, length: u32) -> Vec<u8> {
    [&sequence.to_be_bytes()[..], &flags.to_be_bytes(), &length.to_be_bytes()].concat()
}

/// Sends `messages` over one UDP socket, each that asks answered before the next; the socket.
fn talk(port: u16, messages: &[Vec<u8>]) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    for message in messages {
        socket.send(message).unwrap();
        if message[9] & 2 == 2 {
            assert_eq!(socket.recv(&mut [0; 100]).unwrap(), message.len());
        }
    }
    socket
}

/// The number behind each `before` stands for itself.
fn without_number(text: &str, before: &str) -> String {
    let mut parts = text.split(before);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + before + "N" + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// Numbers of the system stand for themselves: a thread's, a port's.
fn general(text: &str, port: u16) -> String {
    let port_word = format!("{port:>5}");
    let text = text.replace(&port_word, "PPPPP").replace(&format!(":{port}"), ":PPPPP");
    without_number(&text, "[tid ")
}

const VERSION: &str = concat!("sockperf: == version #3.10-sonde.", env!("CARGO_PKG_VERSION"), " == \n");

#[test_case(Signal::INT, "interrupted by user"; "by hand")]
#[test_case(Signal::TERM, "interrupted by signal 15"; "by a supervisor")]
fn it_says_where_it_listens_and_how_much_it_was(signal: Signal, why: &str) {
    let server = Server::start(&["-i", "127.0.0.1"]);
    let port = server.ports()[0];
    talk(port, &[message(1, 3, 14), message(2, 1, 14), message(3, 3, 14)]);
    let (code, stdout, stderr) = server.end(signal);
    let expected = format!(
        "{VERSION}sockperf: [SERVER] listen on:\n[ 0] IP = 127.0.0.1       PORT = PPPPP # UDP\n\
         sockperf: Warmup stage (sending a few dummy messages)...\n\
         sockperf: [tid N] using recvfrom() to block on socket(s)\n\
         sockperf: Test end ({why})\nsockperf: Total 3 messages received and handled\n\
         sockperf: cleanupAfterLoop() exit\n"
    );
    assert_eq!((code, general(&stdout, port), stderr), (Some(0), expected, String::new()));
}

#[test]
fn nothing_received_is_said() {
    let server = Server::start(&["--tcp", "--dontwarmup"]);
    assert!(server.said.contains("IP = ::              PORT = ") && server.said.contains("# TCP\n"), "{}", server.said);
    assert!(!server.said.contains("Warmup"), "{}", server.said);
    let (code, stdout, _) = server.end(Signal::INT);
    assert_eq!(code, Some(0));
    assert!(stdout.contains("sockperf: No messages were received on the server.\n"), "{stdout}");
}

#[test]
fn a_port_that_is_taken_is_told_in_the_originals_words_and_a_status() {
    let server = Server::start(&["-i", "127.0.0.1", "--tcp"]);
    let port = server.ports()[0];
    let second = ended(&["sr", "--tcp", "-i", "127.0.0.1", "-p", &port.to_string()]);
    let expected = format!(
        "{VERSION}sockperf: ERROR: [fd=N] Can`t bind socket, IP to bind: 127.0.0.1:{port}\n \
         (errno=98 Address already in use)\nsockperf: cleanupAfterLoop() exit\n"
    );
    // Which descriptors are free is the matter of who runs the tests.
    let stdout = without_number(&second.stdout, "[fd=");
    assert_eq!((second.code, stdout), (Some(1), expected), "{}", second.told());
    assert!(second.stderr.starts_with("hint:  "), "{}", second.told());
    // The original starts a server of either kind on one port: so do we.
    let udp = Server::of(ours(), &["server", "-i", "127.0.0.1", "-p", &port.to_string()], 1);
    assert_eq!(udp.ports(), [port]);
}

#[test]
fn an_address_of_another_host_is_told() {
    let ended = ended(&["server", "-i", "192.0.2.1"]);
    assert_eq!(ended.code, Some(1), "{}", ended.told());
    assert!(ended.stdout.contains("errno=99 Cannot assign requested address"), "{}", ended.told());
}

#[test]
fn gaps_are_told_as_they_come_and_summed_up_at_the_end() {
    let server = Server::start(&["-i", "127.0.0.1", "-g"]);
    let port = server.ports()[0];
    let numbers = |numbers: &[u64]| numbers.iter().map(|number| message(*number, 1, 14)).collect::<Vec<_>>();
    let mut messages = numbers(&[1, 2, 5, 3, 6, 6, 10, 4, 11]);
    messages.push(message(0, 5, 14));
    messages.extend(numbers(&[1, 2, 4]));
    // Answered last: everything before it has been seen.
    messages.push(message(5, 3, 14));
    let socket = talk(port, &messages);
    let name = format!("{:<23}", format!("[127.0.0.1:{}]", socket.local_addr().unwrap().port()));
    let (_, stdout, _) = server.end(Signal::INT);
    let told = stdout.split("to block on socket(s)\n").nth(1).unwrap();
    let expected = format!(
        "sockperf: Starting new session: {name}\n\
         sockperf: {name} Total Dropped/OOO: 2           GAP:(2)     [3 - 4]\n\
         sockperf: {name} Total Dropped/OOO: 5           GAP:(3)     [7 - 9]\n\
         sockperf: {name} Summary: Total Dropped/OOO: 5\n\
         sockperf: Starting new session: {name}\n\
         sockperf: {name} Total Dropped/OOO: 1           GAP:(1)     [3 - 3]\n\
         sockperf: Test end (interrupted by user)\nsockperf: Total 13 messages received and handled\n\
         sockperf: {name} Summary: Total Dropped/OOO: 1\nsockperf: cleanupAfterLoop() exit\n"
    );
    assert_eq!(told, expected);
}

#[test]
fn a_message_that_is_too_long_is_told_in_the_originals_words() {
    let mut server = Server::start(&["-i", "127.0.0.1", "--tcp"]);
    let port = server.ports()[0];
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.write_all(&message(1, 3, 70_000)).unwrap();
    assert_eq!(stream.read(&mut [0; 1]).unwrap_or(0), 0, "the connection is closed");
    server.until("ERROR");
    let (code, stdout, stderr) = server.end(Signal::INT);
    let expected = format!(
        "ADDR = 127.0.0.1:{port} # TCP sockperf: ERROR: Message received was larger than expected, message ignored. \
         (errno=0 Success)\n"
    );
    assert!(stdout.contains(&expected), "{stdout}");
    assert!(stderr.contains("70000 bytes") && stderr.contains("1 times"), "{stderr}");
    assert_eq!(code, Some(0));
}

#[test]
fn signs_of_life_are_dots_or_figures() {
    let server = Server::start(&["-i", "127.0.0.1", "-a", "3"]);
    talk(server.ports()[0], &(1..=10).map(|number| message(number, 3, 14)).collect::<Vec<_>>());
    let (_, stdout, _) = server.end(Signal::INT);
    assert!(stdout.contains("socket(s)\n...\nsockperf: Test end"), "{stdout}");
    let server = Server::start(&["-i", "127.0.0.1", "-A", "5"]);
    talk(server.ports()[0], &(1..=10).map(|number| message(number, 3, 14)).collect::<Vec<_>>());
    let (_, stdout, _) = server.end(Signal::INT);
    let figures: Vec<_> = stdout.lines().filter(|line| line.contains("[usec]")).collect();
    assert_eq!(figures.len(), 2, "{stdout}");
    assert!(
        stdout.contains("-- Message Rate --") && figures[1].ends_with("[msg/s]               10 [msg]"),
        "{stdout}"
    );
}

#[test]
fn told_not_to_answer_it_counts() {
    let server = Server::start(&["-i", "127.0.0.1", "--dont-reply"]);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for number in 1..=50 {
        socket.send_to(&message(number, 3, 14), ("127.0.0.1", server.ports()[0])).unwrap();
    }
    let (_, stdout, _) = server.end(Signal::INT);
    assert!(stdout.contains("Total 50 messages received and handled"), "{stdout}");
    assert!(testbed::client::is_silent(&socket));
}

#[test]
fn a_feed_file_is_served_by_several_threads() {
    let (_folder, path) = file("feed.txt", "# four\nU:127.0.0.1:0\nT:127.0.0.1:0\n");
    let server = Server::of(ours(), &["server", "-f", &path, "--threads-num", "2", "-F", "p"], 2);
    let ports = server.ports();
    talk(ports[0], &[message(1, 3, 14)]);
    let mut stream = TcpStream::connect(("127.0.0.1", ports[1])).unwrap();
    stream.write_all(&message(1, 3, 14)).unwrap();
    stream.read_exact(&mut [0; 14]).unwrap();
    drop(stream);
    let (code, stdout, _) = server.end(Signal::INT);
    let lines: Vec<_> = stdout.lines().map(|line| line.split(" PORT").next().unwrap()).collect();
    let at = |begins: &str| {
        lines.iter().position(|line| line.starts_with(begins)).unwrap_or_else(|| panic!("{begins}: {stdout}"))
    };
    assert_eq!(at("sockperf: Running 2 threads to manage 2 sockets"), 1);
    assert_eq!(stdout.matches("sockperf: [SERVER] listen on:\n[ 0] IP = 127.0.0.1       PORT").count(), 2);
    assert_eq!(stdout.matches("using poll() to block on socket(s)").count(), 2);
    assert!(at("sockperf: Got signal 2 - exiting") < at("sockperf: Total 2 messages received and handled"));
    assert_eq!((code, lines.last()), (Some(0), Some(&"sockperf: server_select_per_thread() exit")));
}

#[test_case(&["server", "-f", "/no/such/file"], 4, "No such file"; "no feed file")]
#[test_case(&["server", "--cpu-affinity", "9999"], 1, "9999"; "no such cpu")]
#[test_case(&["server", "-i", "no-such-host.invalid"], 1, "no-such-host"; "no such host")]
#[test_case(&["server", "-i", "224.1.1.1", "--mc-rx-if", "no-such-0"], 1, "no-such-0"; "no such interface")]
#[test_case(&["server", "-i", "224.1.1.1", "--tcp"], 1, "no connection is made to a group"; "connections to a group")]
fn what_cannot_be_is_told_with_a_status(words: &[&str], status: i32, says: &str) {
    let ended = ended(words);
    assert_eq!(ended.code, Some(status), "{}", ended.told());
    assert!(ended.said(says), "{}", ended.told());
}

#[test]
fn more_threads_than_sockets_are_refused() {
    let (_folder, path) = file("feed.txt", "127.0.0.1:0\n");
    let ended = ended(&["server", "-f", &path, "--threads-num", "2"]);
    assert_eq!((ended.code, ended.said("less than sockets count")), (Some(1), true), "{}", ended.told());
    let (_folder, path) = file("feed.txt", "127.0.0.1\n");
    let ended = crate::sockperf_server::program::ended(&["server", "-f", &path]);
    assert_eq!((ended.code, ended.said("line 1")), (Some(1), true), "{}", ended.told());
}

#[test]
fn a_daemon_goes_on_behind_its_caller_and_keeps_its_output() {
    let (folder, path) = file("out.txt", "");
    let out = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    let mut command = ours();
    command.args(["server", "-i", "127.0.0.1", "-p", "0", "--daemonize"]).current_dir(folder.path());
    let status = command.stdin(Stdio::null()).stdout(out).status().unwrap();
    assert!(status.success());
    let text = || std::fs::read_to_string(&path).unwrap();
    wait::until("it serves", || text().split_once("[tid ").is_some_and(|(_, rest)| rest.contains('\n')));
    let port: u16 = text().split("PORT = ").nth(1).unwrap().split_whitespace().next().unwrap().parse().unwrap();
    // Its first thread has its number.
    let tid: i32 = text().split("[tid ").nth(1).unwrap().split(']').next().unwrap().parse().unwrap();
    let pid = std::fs::read_to_string(format!("/proc/{tid}/status")).unwrap();
    let pid = pid.lines().find_map(|line| line.strip_prefix("Tgid:")).unwrap().trim().parse().unwrap();
    talk(port, &[message(1, 3, 14)]);
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), Signal::TERM).unwrap();
    wait::until("its end", || text().contains("cleanupAfterLoop() exit\n"));
    assert!(text().starts_with("sockperf: Running as daemon\n"), "{}", text());
    assert!(text().contains("Total 1 messages received and handled"), "{}", text());
}

#[test]
fn colours_are_for_terminals() {
    let server = Server::start(&["-i", "127.0.0.1"]);
    let (_, stdout, _) = server.end(Signal::INT);
    assert!(!stdout.contains('\u{1b}'), "{stdout:?}");
}

#[test]
fn options_of_sockets_are_told_as_the_original_tells_them() {
    let server =
        Server::start(&["-i", "127.0.0.1", "--tcp", "--buffer-size", "8192", "--rate-limit", "1000000", "--lls", "1"]);
    let port = server.ports()[0];
    drop(TcpStream::connect(("127.0.0.1", port)).unwrap());
    let mut server = server;
    server.until("Socket buffers sizes of fd");
    let (_, stdout, _) = server.end(Signal::INT);
    let begin = "sockperf: succeed to set sock-SO_MAX_PACING_RATE\n\
                 sockperf: Socket buffers sizes of fd N: RX: 16384 Byte, TX: 16384 Byte\n";
    assert!(without_number(&stdout, "of fd ").starts_with(begin), "{stdout}");
    assert_eq!(stdout.matches("RX: 16384 Byte").count(), 2, "{stdout}");
}

#[test_case("sockperf", &["ping-pong", "-t", "1", "--mps", "1000"]; "3.7")]
#[test_case("sockperf-3.10", &["ping-pong", "-t", "1", "--mps", "1000"]; "3.10")]
#[test_case("sockperf-3.10", &["ping-pong", "-n", "500", "--tcp"]; "3.10 by number over tcp")]
#[test_case("sockperf-3.10", &["under-load", "-t", "1", "--mps", "1000", "--reply-every", "3", "--tcp"]; "3.10 under load over tcp")]
#[test_case("sockperf-3.10", &["throughput", "-t", "1", "--tcp"]; "3.10 one way over tcp")]
fn the_originals_client_is_served(client: &str, words: &[&str]) {
    if !is_here(client, "our sockperf server by the original's client") {
        return;
    }
    let carrier: &[&str] = if words.contains(&"--tcp") { &["--tcp"] } else { &[] };
    let server = Server::start(carrier);
    let port = server.ports()[0].to_string();
    let told = process::ended(Command::new(client).args(words).args(["-i", "127.0.0.1", "-p", &port]), LIMIT);
    let (_, stdout, _) = server.end(Signal::INT);
    let number = |text: &str, before: &str| -> u64 {
        let rest = text.split(before).nth(1).unwrap_or_else(|| panic!("no {before}: {text}\n{}", told.told()));
        rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
    };
    let sent = number(&told.stdout, if words[0] == "throughput" { "Total of " } else { "SentMessages=" });
    assert_eq!(number(&stdout, "sockperf: Total "), sent, "{stdout}\n{}", told.told());
    assert!(words[0] == "throughput" || told.said("# duplicated messages = 0"), "{}", told.told());
}
