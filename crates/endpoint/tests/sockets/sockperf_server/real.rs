//! sockperf's own client against ours: every subcommand, both carriers. Its output shows what it found in our answers.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::thread;

use endpoint::peer::sockperf::server::settings::Carriers;
use protocol::sockperf::server::Rules;
use test_case::test_case;

use crate::sockperf_server::{Ours, place};

/// Returns true where it is installed; where not, says so aloud.
fn is_here() -> bool {
    static HERE: OnceLock<bool> = OnceLock::new();
    let here = *HERE.get_or_init(|| Command::new("sockperf").arg("--version").output().is_ok());
    if !here {
        testbed::skip::aloud("our sockperf server by the real sockperf: it is not installed");
    }
    here
}

/// Output of one run of the client.
struct Told {
    words: String,
    text: String,
}

impl Told {
    fn of(words: String, output: &Output) -> Self {
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        let told = Self { words, text };
        assert!(output.status.success() && !told.text.contains("ERROR"), "{told}");
        told
    }

    /// The number behind `before`.
    fn number(&self, before: &str) -> u64 {
        let rest = self.text.split(before).nth(1).unwrap_or_else(|| panic!("no {before} {self}"));
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap_or_else(|_| panic!("no number behind {before} {self}"))
    }

    fn sent(&self) -> u64 {
        self.number(if self.text.contains("SentMessages=") { "SentMessages=" } else { "Total of " })
    }

    /// No message was answered twice, or out of its order; all were answered but those, `under_way` at most, whose answer
    /// the client did not wait for when its time was over.
    fn assert_in_order(&self, under_way: u64) {
        assert_eq!(self.number("# out-of-order messages = "), 0, "{self}");
        self.assert_once(under_way);
    }

    /// The same in any order.
    fn assert_once(&self, under_way: u64) {
        assert_eq!(self.number("# duplicated messages = "), 0, "{self}");
        assert!(self.number("# dropped messages = ") <= under_way, "{self}");
    }
}

impl std::fmt::Display for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "by sockperf {}:\n{}", self.words, self.text)
    }
}

/// A client that asks on schedule ends with as many under way as a busy machine makes of them: that all were answered is
/// the server's to tell ([`assert_counted`]).
const ANY: u64 = u64::MAX;

/// Runs the client towards `server` with these words.
fn sockperf(server: &Ours, words: &str) -> Told {
    let words = format!("{words} -i 127.0.0.1 -p {}", server.port());
    let output = Command::new("sockperf").args(words.split_whitespace()).output().unwrap();
    Told::of(words, &output)
}

/// Every datagram that was sent has come, or was dropped by the kernel with that said.
fn assert_counted(server: Ours, told: &Told, tcp: bool) {
    let totals = server.end();
    let came = if tcp { totals.messages } else { totals.messages + totals.dropped.unwrap() };
    assert_eq!((came, totals.malformed, totals.unsent), (told.sent(), 0, 0), "{totals:?} {told}");
}

#[test_case("ping-pong --mps 1000"; "udp")]
#[test_case("ping-pong --mps 1000 --tcp"; "tcp")]
#[test_case("ping-pong --mps 1000 -m 64"; "udp of 64")]
#[test_case("ping-pong --mps 1000 -m 1472"; "udp of 1472")]
#[test_case("ping-pong --mps 1000 -m 1473"; "udp of 1473")]
#[test_case("ping-pong --mps 500 -m 65507"; "udp of 65507")]
#[test_case("ping-pong --mps 500 -m 65507 --tcp"; "tcp of 65507")]
#[test_case("ping-pong --mps 1000 -b 8"; "udp in bursts")]
#[test_case("ping-pong --mps 1000 -b 8 --tcp"; "tcp in bursts")]
#[test_case("ping-pong --mps 1000 -m 500 -r 200 --tcp"; "tcp of many sizes")]
#[test_case("ping-pong --mps 1000 -m 500 -r 200"; "udp of many sizes")]
#[test_case("ping-pong --mps 1000 -m 100 --data-integrity"; "udp compared")]
#[test_case("ping-pong --mps 1000 -m 3000 --data-integrity --tcp"; "tcp compared")]
#[test_case("ping-pong --mps 1000 --tcp --tcp-avoid-nodelay -b 4"; "tcp with a client that waits for full segments")]
fn ping_pong(words: &str) {
    if !is_here() {
        return;
    }
    let server = Ours::start();
    let told = sockperf(&server, &format!("{words} -t 1"));
    told.assert_in_order(8);
    assert!(told.number("ReceivedMessages=") >= told.sent().saturating_sub(8), "{told}");
    assert_counted(server, &told, words.contains("--tcp"));
}

#[test_case("under-load --mps 2000 --reply-every 1"; "udp, each")]
#[test_case("under-load --mps 2000 --reply-every 10"; "udp, each tenth")]
#[test_case("under-load --mps 2000 --reply-every 100"; "udp, each hundredth")]
#[test_case("under-load --mps 2000 --reply-every 1 --tcp"; "tcp, each")]
#[test_case("under-load --mps 2000 --reply-every 10 --tcp"; "tcp, each tenth")]
#[test_case("under-load --mps 2000 --reply-every 100 --tcp -m 1473"; "tcp, each hundredth")]
#[test_case("under-load --mps 2000 --reply-every 10 -b 8 -m 200 -r 100"; "udp in bursts of many sizes")]
#[test_case("under-load --mps 2000 --reply-every 10 --tcp --tcp-skip-blocking-send"; "tcp that skips what would block")]
fn under_load(words: &str) {
    if !is_here() {
        return;
    }
    let server = Ours::start();
    let told = sockperf(&server, &format!("{words} -t 1"));
    told.assert_in_order(ANY);
    assert!(told.number("ReceivedMessages=") > 0, "{told}");
    assert_counted(server, &told, words.contains("--tcp"));
}

#[test_case("throughput --mps 5000 -m 1472"; "udp")]
#[test_case("throughput -m 65507"; "udp at its most")]
#[test_case("throughput --tcp"; "tcp at its most")]
#[test_case("throughput --tcp -m 1473 -r 1000"; "tcp of many sizes")]
fn throughput(words: &str) {
    if !is_here() {
        return;
    }
    let server = Ours::start();
    let told = sockperf(&server, &format!("{words} -t 1"));
    assert!(told.sent() > 0, "{told}");
    assert_counted(server, &told, words.contains("--tcp"));
}

#[test]
fn a_large_message_over_tcp() {
    if !is_here() {
        return;
    }
    let server = Ours::with(|settings| settings.rules = Rules { largest: 100_000, ..Rules::default() });
    let told = sockperf(&server, "ping-pong --tcp -m 100000 --mps 200 -t 1 --data-integrity");
    told.assert_in_order(1);
    assert_counted(server, &told, true);
}

/// A file for one test, with the folder that holds it.
fn file(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

#[test_case(""; "udp")]
#[test_case("--tcp"; "tcp")]
fn playback(carrier: &str) {
    if !is_here() {
        return;
    }
    let text = (1..=300).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "{:.3}, {}", f64::from(number) / 1_000.0, 14 + number * 7);
        text
    });
    let (_folder, path) = file("playback.txt", &text);
    let server = Ours::start();
    let told = sockperf(&server, &format!("playback --data-file {} --reply-every 3 {carrier}", path.display()));
    told.assert_in_order(ANY);
    assert_eq!(told.sent(), 300, "{told}");
    assert!((1..=100).contains(&told.number("ReceivedMessages=")), "{told}");
    assert_counted(server, &told, !carrier.is_empty());
}

#[test_case("ping-pong --mps 1000", 1; "ping-pong, one thread")]
#[test_case("under-load --mps 2000 --reply-every 5", 2; "under load, two threads")]
#[test_case("ping-pong --mps 1000 -b 3", 4; "in bursts, a thread for each socket")]
fn four_sockets_of_a_feed_file(words: &str, threads: u32) {
    if !is_here() {
        return;
    }
    let server = Ours::with(|settings| {
        let carriers = [Carriers::Udp, Carriers::Udp, Carriers::Tcp, Carriers::Tcp];
        settings.places = carriers.map(|carriers| place("127.0.0.1:0", carriers)).into();
        settings.threads = threads;
    });
    let line = |(index, address): (usize, &SocketAddr)| format!("{}:{address}\n", if index < 2 { 'U' } else { 'T' });
    let feed: String = server.addresses.iter().enumerate().map(line).collect();
    let (_folder, path) = file("feed.txt", &feed);
    let words = format!("{words} -t 1 -f {} -F e", path.display());
    let output = Command::new("sockperf").args(words.split_whitespace()).output().unwrap();
    let told = Told::of(words, &output);
    // Between sockets, which have threads of their own, there is no order.
    told.assert_once(ANY);
    assert_counted(server, &told, false);
}

#[test_case("ping-pong --mps 500"; "udp")]
#[test_case("ping-pong --mps 500 --tcp"; "tcp")]
fn two_clients_at_once(words: &str) {
    if !is_here() {
        return;
    }
    let server = Ours::start();
    let words = &format!("{words} -t 1");
    let told = thread::scope(|scope| {
        let both = [(); 2].map(|()| scope.spawn(|| sockperf(&server, words)));
        both.map(|client| client.join().unwrap())
    });
    for told in &told {
        told.assert_in_order(1);
    }
    let totals = server.end();
    let sent: u64 = told.iter().map(Told::sent).sum();
    assert_eq!(totals.messages + totals.dropped.unwrap(), sent, "{totals:?} {} {}", told[0], told[1]);
}
