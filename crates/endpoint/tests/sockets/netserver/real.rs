//! Every test that netperf 2.7 has, against ours. Its output shows our answers and the payload carried.

use std::collections::BTreeMap;
use std::process::{Command, Output};

use endpoint::clock::Monotonic;
use measure::method::Carrier;
use measure::unit::Nanos;
use protocol::netperf::data::PAD;
use protocol::netperf::passphrase::Passphrase;
use test_case::test_case;
use testbed::{port, wait};

use super::Ours;

/// Output of netperf's `-k`: every selector with its value.
type Told = BTreeMap<String, String>;

/// Runs netperf towards `server` at `host`; `None`, said aloud, where it is not installed.
fn netperf(server: &Ours, host: &str, words: &[&str]) -> Option<Output> {
    let mut command = Command::new("netperf");
    command.args(["-H", host, "-p", &server.port().to_string()]).args(words);
    let output = command.output().ok();
    if output.is_none() {
        testbed::skip::aloud("our netserver by the real netperf: it is not installed");
    }
    output
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The selectors netperf fills in for a test.
fn told(server: &Ours, host: &str, words: &[&str], specific: &[&str]) -> Option<Told> {
    let all = [words, &["--", "-k", "all"], specific].concat();
    let output = netperf(server, host, &all)?;
    let text = text(&output);
    assert!(output.status.success(), "{all:?}: {text}");
    let lines = text.lines().filter_map(|line| line.split_once('='));
    Some(lines.map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
}

fn number(told: &Told, key: &str) -> f64 {
    told.get(key).and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no number for {key}: {told:?}"))
}

/// These selectors have these values.
fn assert_told(told: &Told, expected: &[(&str, &str)]) {
    for (key, value) in expected {
        assert_eq!(told.get(*key).map(String::as_str), Some(*value), "{key}: {told:?}");
    }
}

#[test_case("127.0.0.1", &["-t", "TCP_RR"], &[]; "tcp rr")]
#[test_case("::1", &["-t", "TCP_RR"], &["-r", "100,70000"]; "tcp rr of other sizes, over v6")]
#[test_case("127.0.0.1", &["-t", "UDP_RR"], &[]; "udp rr")]
#[test_case("::1", &["-t", "UDP_RR"], &["-r", "1000,30"]; "udp rr of other sizes, over v6")]
#[test_case("127.0.0.1", &["-t", "omni"], &["-d", "rr"]; "omni over tcp")]
#[test_case("127.0.0.1", &["-t", "omni"], &["-d", "rr", "-T", "udp"]; "omni over udp")]
#[test_case("127.0.0.1", &["-t", "TCP_RR", "-w", "1ms", "-b", "1"], &[]; "paced where it can be")]
fn transactions_by_count_are_the_same_at_both_ends(host: &str, words: &[&str], specific: &[&str]) {
    let server = Ours::start();
    let Some(told) = told(&server, host, &[words, &["-l", "-200"]].concat(), specific) else { return };
    for key in ["LOCAL_SEND_CALLS", "REMOTE_SEND_CALLS", "REMOTE_RECV_CALLS"] {
        assert_eq!(number(&told, key), 200.0, "{key}: {told:?}");
    }
    assert_eq!(number(&told, "LOCAL_BYTES_SENT"), number(&told, "REMOTE_BYTES_RECVD"));
    assert_eq!(number(&told, "LOCAL_BYTES_RECVD"), number(&told, "REMOTE_BYTES_SENT"));
    assert!(number(&told, "THROUGHPUT") > 0.0);
}

#[test_case("127.0.0.1", &["-t", "TCP_CRR"], &[]; "tcp crr")]
#[test_case("::1", &["-t", "TCP_CRR"], &["-r", "100,70000"]; "tcp crr of other sizes, over v6")]
fn connections_by_count_are_the_same_at_both_ends(host: &str, words: &[&str], specific: &[&str]) {
    let server = Ours::start();
    let Some(told) = told(&server, host, &[words, &["-l", "-50"]].concat(), specific) else { return };
    assert_eq!(number(&told, "LOCAL_BYTES_SENT"), number(&told, "REMOTE_BYTES_RECVD"), "{told:?}");
    assert_eq!(number(&told, "LOCAL_BYTES_RECVD"), number(&told, "REMOTE_BYTES_SENT"), "{told:?}");
    let sizes = (number(&told, "REQUEST_SIZE"), number(&told, "REMOTE_BYTES_RECVD"));
    assert_eq!(sizes.0 * 50.0, sizes.1);
    assert_told(&told, &[("REMOTE_TRANSPORT_RETRANS", "-1")]);
}

#[test_case("127.0.0.1", &["-t", "TCP_STREAM"], &[], 1_000_000.0; "tcp stream")]
#[test_case("::1", &["-t", "TCP_STREAM"], &["-m", "1000", "-M", "333"], 1_000_000.0; "tcp stream of other sizes, over v6")]
#[test_case("127.0.0.1", &["-t", "UDP_STREAM"], &["-m", "1000", "-R", "1", "-s", "1M", "-S", "1M"], 50_000.0; "udp stream")]
fn a_stream_by_bytes_is_received_whole(host: &str, words: &[&str], specific: &[&str], bytes: f64) {
    let server = Ours::start();
    let Some(told) = told(&server, host, &[words, &["-l", &format!("-{bytes}")]].concat(), specific) else { return };
    assert!(number(&told, "LOCAL_BYTES_SENT") >= bytes, "{told:?}");
    assert_eq!(number(&told, "REMOTE_BYTES_RECVD"), number(&told, "LOCAL_BYTES_SENT"));
    assert!(number(&told, "REMOTE_RECV_CALLS") > 0.0);
}

#[test_case("127.0.0.1", &[]; "of the usual size")]
#[test_case("::1", &["-m", ",1000"]; "of small calls, over v6")]
fn a_stream_to_the_client_by_bytes_is_received_whole(host: &str, specific: &[&str]) {
    let server = Ours::start();
    let Some(told) = told(&server, host, &["-t", "TCP_MAERTS", "-l", "-1000000"], specific) else { return };
    let (sent, received) = (number(&told, "REMOTE_BYTES_SENT"), number(&told, "LOCAL_BYTES_RECVD"));
    assert!((1e6..=sent).contains(&received), "{told:?}");
    // The original stops reading as soon as it has enough, which may be within the last message.
    assert!(sent - 1e6 < number(&told, "REMOTE_SEND_SIZE"), "{told:?}");
}

/// Tests that end by time: of some the client does not say when.
#[test_case(&["-t", "TCP_RR"], &[]; "tcp rr")]
#[test_case(&["-t", "TCP_RR"], &["-b", "8", "-D"]; "tcp rr in bursts")]
#[test_case(&["-t", "TCP_CRR"], &[]; "tcp crr")]
#[test_case(&["-t", "UDP_RR"], &[]; "udp rr")]
#[test_case(&["-t", "UDP_RR"], &["-b", "4", "-e", "1"]; "udp rr in bursts")]
#[test_case(&["-t", "TCP_STREAM"], &[]; "tcp stream")]
#[test_case(&["-t", "TCP_MAERTS"], &[]; "tcp maerts")]
#[test_case(&["-t", "UDP_STREAM"], &["-R", "1"]; "udp stream")]
#[test_case(&["-t", "omni"], &["-c", "-d", "0"]; "omni of connections alone")]
#[test_case(&["-t", "omni"], &["-d", "recv"]; "omni to the client")]
#[test_case(&["-t", "omni"], &["-T", "udp", "-d", "recv", "-L", "127.0.0.1", "-H", "127.0.0.1", "-m", ",1000"]; "omni to the client by udp")]
fn a_test_by_time_has_its_results_before_the_original_would_tell_them(words: &[&str], specific: &[&str]) {
    let server = Ours::start();
    let began = Monotonic::now();
    let Some(told) = told(&server, "127.0.0.1", &[words, &["-l", "1"]].concat(), specific) else { return };
    let took = Monotonic::now().since(began).unwrap();
    assert!(took < Nanos(PAD.0 + 1_000_000_000), "{took}");
    assert!(number(&told, "THROUGHPUT") > 0.0, "{told:?}");
    assert!(number(&told, "ELAPSED_TIME") >= 1.0);
}

/// Tests that netperf still asks for in the old way. They have no selectors.
#[test_case("TCP_CC"; "connect and close")]
#[test_case("TCP_SENDFILE"; "sendfile")]
#[test_case("TCP_MSS"; "mss")]
fn a_classic_test_runs(test: &str) {
    let server = Ours::start();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vec![7; 1 << 20]).unwrap();
    let fill = file.path().display().to_string();
    let began = Monotonic::now();
    let words = ["-t", test, "-l", "1", "-P", "0", "-v", "0", "-F", &fill];
    let Some(output) = netperf(&server, "127.0.0.1", &words) else { return };
    let text = text(&output);
    let took = Monotonic::now().since(began).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.trim().parse::<f64>().is_ok_and(|rate| rate > 0.0), "{text}");
    assert!(took < Nanos(PAD.0 + 1_000_000_000), "{took}");
}

#[test]
fn cpu_use_is_told_where_it_was_asked_for() {
    let server = Ours::start();
    let words = ["-t", "TCP_STREAM", "-l", "1", "-c", "-C"];
    let Some(told) = told(&server, "127.0.0.1", &words, &[]) else { return };
    assert_told(&told, &[("REMOTE_CPU_METHOD", "S")]);
    assert!((1.0..=100.0).contains(&number(&told, "REMOTE_CPU_UTIL")), "{told:?}");
    assert!(number(&told, "REMOTE_CPU_COUNT") >= 1.0);
    assert!(number(&told, "REMOTE_CPU_PEAK_UTIL") >= number(&told, "REMOTE_CPU_UTIL"));
    let parts = ["USER", "SYSTEM", "IOWAIT", "IRQ", "SWINTR"];
    let sum: f64 = parts.iter().map(|part| number(&told, &format!("REMOTE_CPU_PERCENT_{part}"))).sum();
    assert!(sum <= number(&told, "REMOTE_CPU_UTIL") + 0.1, "{sum}");
}

#[test]
fn the_cpus_are_calibrated() {
    let server = Ours::start();
    let Some(output) = netperf(&server, "127.0.0.1", &["-t", "REM_CPU", "-P", "0", "-v", "0"]) else { return };
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(text(&output).trim().parse::<f64>(), Ok(100.0));
}

#[test]
fn what_is_asked_of_the_socket_is_set() {
    let server = Ours::start();
    let specific = ["-D", "-S", "50000,60000", "-K", "reno", "-m", "2000", "-M", "3000", "-P", ",0", "-y", "3,4"];
    let words = ["-t", "TCP_STREAM", "-l", "-100000", "-Y", "0x10,0x20"];
    let Some(told) = told(&server, "127.0.0.1", &words, &specific) else { return };
    assert_told(
        &told,
        &[
            ("REMOTE_NODELAY", "1"),
            ("REMOTE_CONG_CONTROL", "reno"),
            ("REMOTE_RECV_SIZE", "3000"),
            ("RSR_SIZE", "120000"),
        ],
    );
}

#[test]
fn the_data_port_is_the_one_asked_for_or_the_test_is_refused() {
    let server = Ours::start();
    let port = port::free();
    let taken = std::net::TcpListener::bind(("0.0.0.0", port)).unwrap();
    let specific = |port: u16| format!(",{port}");
    let words = |port: &str| ["-t", "TCP_RR", "-l", "-10", "--", "-P", port].map(str::to_owned);
    let asked = words(&specific(port));
    let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
    let Some(refused) = netperf(&server, "127.0.0.1", &asked) else { return };
    assert!(!refused.status.success());
    assert!(text(&refused).contains("98"), "{}", text(&refused));
    drop(taken);
    // A child that another test is just starting may have it a moment longer.
    wait::until("the port to be free", || !port::listens(Carrier::Tcp, port));
    let free = netperf(&server, "127.0.0.1", &asked).unwrap();
    assert!(free.status.success(), "{}", text(&free));
}

#[test_case(&["-Z", "open sesame"], true; "the right one")]
#[test_case(&["-Z", "open barley"], false; "a wrong one")]
#[test_case(&[], false; "none")]
fn a_passphrase_is_asked_for(words: &[&str], let_in: bool) {
    let server = Ours::with(|settings| settings.passphrase = Some(Passphrase::new("open sesame").unwrap()));
    let Some(output) = netperf(&server, "127.0.0.1", &[words, &["-t", "TCP_RR", "-l", "-10"]].concat()) else { return };
    assert_eq!(output.status.success(), let_in, "{}", text(&output));
    assert_eq!(text(&output).contains("partial response received: 0 bytes"), !let_in, "{}", text(&output));
}

#[test]
fn a_passphrase_nobody_wants_does_no_harm() {
    let server = Ours::start();
    let Some(output) = netperf(&server, "127.0.0.1", &["-Z", "hello", "-t", "TCP_RR", "-l", "-10"]) else { return };
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn a_client_that_waits_longer_than_the_original_would_is_served() {
    let server = Ours::start();
    // netperf -s: seconds between the response and the data.
    let words = ["-t", "TCP_RR", "-l", "1", "-s", "5"];
    let Some(told) = told(&server, "127.0.0.1", &words, &[]) else { return };
    assert!(number(&told, "REMOTE_RECV_CALLS") > 0.0, "{told:?}");
}

#[test]
fn ten_clients_at_once_are_served_each_as_if_alone() {
    let server = Ours::start();
    std::thread::scope(|scope| {
        let clients: Vec<_> =
            (0..10).map(|_| scope.spawn(|| told(&server, "127.0.0.1", &["-t", "TCP_RR", "-l", "-300"], &[]))).collect();
        for client in clients {
            let Some(told) = client.join().unwrap() else { return };
            assert_eq!(number(&told, "REMOTE_RECV_CALLS"), 300.0);
        }
    });
}
