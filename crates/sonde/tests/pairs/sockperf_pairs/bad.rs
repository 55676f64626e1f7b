//! Servers that go, lie or are not there, and what a client is started with that cannot be.

use std::net::UdpSocket;

use test_case::test_case;
use testbed::port;
use testbed::process::{Ended, LIMIT};

use crate::sockperf_pairs::ends::{End, Server, ours};
use crate::sockperf_pairs::rogue::{Rogue, answer};

fn failed(ended: &Ended, code: i32, says: &str) {
    assert_eq!((ended.overdue, ended.code), (false, Some(code)), "{}", ended.told());
    assert!(ended.said(says), "{says:?}: {}", ended.told());
}

#[test_case("ping-pong", 1, "No messages were received from the server. Is the server down?"; "ping-pong")]
#[test_case("under-load --mps 1000", 1, "No messages were received from the server. Is the server down?"; "under-load")]
#[test_case("throughput --mps 1000", 1, "nobody listens there"; "throughput")]
#[test_case("ping-pong --tcp", 1, "Can`t connect socket (errno=111 Connection refused)"; "over TCP")]
fn a_closed_port_is_told(words: &str, code: i32, says: &str) {
    failed(&ours(&format!("{words} -i 127.0.0.1 -p {}", port::free())), code, says);
}

#[test]
fn a_server_that_never_answers_is_told() {
    let silent = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("bound").port();
    failed(&ours(&format!("ping-pong -i 127.0.0.1 -p {port}")), 1, "not one answer came");
}

#[test_case(End::Ours)]
#[test_case(End::Real)]
fn a_tcp_server_that_vanishes_is_told_with_what_was_measured(with: End) {
    if !with.is_here("a server that vanishes") {
        return;
    }
    let port = port::free().to_string();
    let server = Server::start(with, &["--tcp", "-i", "127.0.0.1", "-p", &port]);
    let running = End::Ours.running(&["ping-pong", "--tcp", "-i", "127.0.0.1", "-p", &port, "-t", "60", "-a", "1"]);
    // It has to have begun, which nobody but the client knows: a long run that ends soon after its server.
    let waits = Rogue::start(|_, message| answer(message));
    let meanwhile = ours(&format!("ping-pong {} --mps 100", waits.words()));
    assert_eq!(meanwhile.code, Some(0), "{}", meanwhile.told());
    server.kill();
    let ended = running.end(LIMIT);
    failed(&ended, 7, "A connection was forcibly closed by a peer (errno=0 Success)");
    assert!(ended.said("[Total Run] RunTime="), "{}", ended.told());
}

#[test]
fn a_udp_server_that_vanishes_is_loss() {
    let server = Rogue::start(|number, message| if number > 150 { vec![] } else { answer(message) });
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("play.csv");
    let lines: Vec<String> = (1..=200).map(|message| format!("{}, 20\n", f64::from(message) * 0.002)).collect();
    std::fs::write(&path, lines.concat()).expect("written");
    let ended = ours(&format!("playback {} --data-file {} --reply-every 1", server.words(), path.display()));
    assert_eq!(ended.code, Some(0), "{}", ended.told());
    assert!(ended.said("ReceivedMessages=150") && ended.said("# dropped messages = 50;"), "{}", ended.told());
}

fn changed(number: u64, message: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<Vec<u8>> {
    let mut replies = answer(message);
    if number == 60 {
        change(&mut replies[0]);
    }
    replies
}

#[test]
fn a_reply_that_is_not_its_request_is_told_by_the_status() {
    let server = Rogue::start(|number, message| changed(number, message, |reply| reply[15] ^= 1));
    let ended = ours(&format!("ping-pong {} --mps 100 -m 20 --data-integrity", server.words()));
    failed(&ended, 2, "data integrity test failed (errno=0 Success)");
    assert!(ended.said("Summary: Latency is") && ended.said("# dropped messages = 1;"), "{}", ended.told());
}

#[test]
fn a_number_that_was_not_sent_is_told_by_the_status() {
    let server = Rogue::start(|number, message| changed(number, message, |reply| reply[6] += 1));
    let ended = ours(&format!("ping-pong {} --mps 100 -t 2", server.words()));
    failed(&ended, 6, "Sequence Number received was higher than expected");
    assert!(ended.said("Summary: Latency is"), "{}", ended.told());
}

#[test]
fn a_reply_longer_than_any_request_is_told_by_the_status() {
    let server = Rogue::start(|number, message| changed(number, message, |reply| reply.resize(100, 0)));
    failed(&ours(&format!("ping-pong {} --mps 100", server.words())), 6, "Message received was larger than expected.");
}

#[test]
fn garbage_of_any_length_hurts_nobody() {
    let server = Rogue::start(|number, message| {
        let garbage = (0..number % 40).map(|octet| (octet * number % 251) as u8).collect::<Vec<u8>>();
        // A number that was never sent would be told by the status.
        let garbage = if garbage.len() < 14 { garbage } else { [&[0; 8], &garbage[8..]].concat() };
        [vec![garbage], answer(message), vec![vec![], vec![0; 65_507]]].concat()
    });
    let ended = ours(&format!("ping-pong {} --mps 500", server.words()));
    assert_eq!(ended.code, Some(0), "{}", ended.told());
    assert!(ended.said("# dropped messages = 0;"), "{}", ended.told());
}

#[test_case("ping-pong -m 0", "'-m' Invalid message size: 0 (min: 14)"; "no room for a header")]
#[test_case("ping-pong -m 65508", "'-m' Invalid message size: 65508 (max: 65507)"; "beyond a datagram")]
#[test_case("under-load -m 1048576 --tcp", "'-m' Invalid message size: 1048576 (max: 1048575)"; "beyond a message")]
#[test_case("ping-pong -i no.such.host.invalid", "no.such.host.invalid"; "a name that nobody knows")]
#[test_case("ping-pong --client_ip 192.0.2.77", "Can`t bind socket"; "an address of another host")]
#[test_case("ping-pong -i 224.4.4.4 --tcp", "no connection is made to a group"; "a connection to a group")]
#[test_case("ping-pong -i 224.4.4.4 --mc-tx-if nowhere0", "nowhere0"; "an interface that is not there")]
#[test_case("ping-pong --full-log /nonexistent/log", "Can't open file /nonexistent/log for writing"; "a log in no folder")]
#[test_case("ping-pong --record /nonexistent/run.json", "/nonexistent/run.json"; "a record in no folder")]
#[test_case("ping-pong --samples /nonexistent/run.csv", "/nonexistent/run.csv"; "samples in no folder")]
fn what_cannot_be_is_told_before_anything_is_sent(words: &str, says: &str) {
    failed(&ours(words), 1, says);
}

#[test_case("0.02, 20\n0.01, 20\n", 2, "out-of-order timestamp at line #2"; "time that runs backwards")]
#[test_case("0.02, 20\n0.02, 20\n", 2, "illegal time or size at line #2"; "the same time")]
#[test_case("0.02, 13\n", 2, "illegal time or size at line #1"; "a size below a header")]
#[test_case("0.02, 65508\n", 2, "illegal time or size at line #1"; "a size beyond a datagram")]
#[test_case("0.02; 20\n", 1, "can't read time & size, at line #1"; "no line of it")]
#[test_case("# nothing\n", 1, "nothing to send"; "nothing")]
fn a_file_that_cannot_be_played_is_told(text: &str, code: i32, says: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("pb.csv");
    std::fs::write(&path, text).expect("written");
    failed(&ours(&format!("playback --data-file {}", path.display())), code, says);
}

#[test_case("playback --data-file", 4, "Can't open file"; "playback")]
#[test_case("ping-pong -f", 4, "Can't open file"; "feed")]
fn a_file_that_is_not_there_is_told(words: &str, code: i32, says: &str) {
    failed(&ours(&format!("{words} /nonexistent/file")), code, says);
}

#[test_case("# none\n", "is empty!"; "nobody")]
#[test_case("127.0.0.1\n", "no port after the address"; "no port")]
#[test_case("T:224.1.1.1:5\n", "no connection is made to a group"; "a connection to a group")]
fn a_feed_file_that_names_nobody_is_told(text: &str, says: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("feed.txt");
    std::fs::write(&path, text).expect("written");
    failed(&ours(&format!("ping-pong -f {}", path.display())), 1, says);
}
