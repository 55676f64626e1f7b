//! Netperf as its drivers use it: ended by a signal, asked for what a host has not, read by its histogram.
//!
//! The original's behaviour was seen with netperf 2.7.0.

use rustix::process::Signal;
use test_case::test_case;
use testbed::port;
use testbed::process::{Ended, LIMIT};

use crate::netperf_pairs::ends::{End, Server};
use crate::netperf_pairs::fields::Fields;

/// Starts a long test, and sends it `signal` once a result in between was printed.
fn signalled(client: End, server: End, test: &str, signal: Signal) -> Option<Ended> {
    if !(client.is_here("a signal to netperf") && server.is_here("a signal to netperf")) {
        return None;
    }
    let listening = Server::start(server, &[]);
    let words = ["-H", "127.0.0.1", "-t", test, "-l", "600", "-D", "0.1", "--", "-k", "THROUGHPUT,ELAPSED_TIME"];
    let running = client.running(listening.port, &words);
    running.until("a result in between", |said| said.contains("NETPERF_INTERIM_RESULT[0]"));
    running.signal(signal);
    Some(running.end(LIMIT))
}

/// `runemomniaggdemo.sh` and `PerfKit` Benchmarker's `netperf_aggregate` end their tests so.
#[test_case(End::Ours, End::Ours, "TCP_RR"; "ours, TCP_RR")]
#[test_case(End::Ours, End::Ours, "UDP_RR"; "ours, UDP_RR")]
#[test_case(End::Ours, End::Ours, "TCP_STREAM"; "ours, TCP_STREAM")]
#[test_case(End::Ours, End::Real, "TCP_MAERTS"; "ours at a real one, TCP_MAERTS")]
#[test_case(End::Real, End::Ours, "TCP_RR"; "a real one at ours, TCP_RR")]
#[test_case(End::Real, End::Ours, "TCP_STREAM"; "a real one at ours, TCP_STREAM")]
fn an_alarm_ends_a_test_with_its_result(client: End, server: End, test: &str) {
    let Some(ended) = signalled(client, server, test, Signal::ALARM) else { return };
    let fields = Fields::of(&ended.stdout);
    // An original that sends is killed by SIGPIPE where our end meets it behind a send that went in part; the result is ours alone, and whole.
    let is_killed =
        (test, server) == ("TCP_MAERTS", End::Real) && ended.stderr.contains("instead of sending the results");
    assert_eq!((ended.overdue, ended.code), (false, Some(i32::from(is_killed))), "{}", ended.told());
    assert!(fields.number("THROUGHPUT").unwrap() > 0.0, "{}", ended.told());
    assert!(fields.number("ELAPSED_TIME").unwrap() < 600.0, "{}", ended.told());
}

/// Rate, unit, length and end of the results in between, by the rule of `post_proc.py`: what has four values is one.
fn between(stdout: &str) -> Vec<(f64, &str, f64, f64)> {
    let four = |line: &str| line.split(',').count() == 4;
    let read = |line: &'_ str| {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |at: usize| cells[at].trim().parse::<f64>().unwrap_or_else(|_| panic!("{line}"));
        (number(0), number(2), number(3))
    };
    let whole = stdout.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let lines = whole.lines().filter(|line| four(line));
    lines.map(|line| (read(line).0, line.split(',').nth(1).unwrap_or_default(), read(line).1, read(line).2)).collect()
}

/// The command lines of `runemomniaggdemo.sh`, ended as it ends them.
#[test_case("x", "-r 1 -b 9 -e 1 -T udp", "Trans/s"; "transactions in a burst")]
#[test_case("m", "-r 64K -s 1M -S 1M -b 12", "10^6bits/s"; "both ways")]
#[test_case("m", "-m 64K", "10^6bits/s"; "outbound")]
#[test_case("m", "-m ,64K", "10^6bits/s"; "inbound")]
#[test_case("x", "-r 1", "Trans/s"; "one transaction after the other")]
fn the_aggregate_script_has_its_results(unit: &str, test: &str, told: &str) {
    let listening = Server::start(End::Ours, &[]);
    let line = format!("-H 127.0.0.1 -D 0.5 -c -C -f {unit} -P 0 -t omni -l 7200 -v 2 -- {test} -u an-id -o all");
    let running = End::Ours.running(listening.port, &line.split_whitespace().collect::<Vec<_>>());
    running.until("two results in between", |said| between(said).len() >= 2);
    running.signal(Signal::ALARM);
    let ended = running.end(LIMIT);
    assert_eq!((ended.overdue, ended.code), (false, Some(0)), "{}", ended.told());
    let between = between(&ended.stdout);
    assert!(between.iter().all(|(_, unit, length, _)| *unit == told && *length > 0.0), "{between:?}");
    assert!(between.iter().any(|(rate, ..)| *rate > 0.0), "{between:?}");
    assert!(between.windows(2).all(|two| two[0].3 < two[1].3), "{between:?}");
    // The titles and the values of everything there is.
    let rows = ended.stdout.lines().filter(|line| line.split(',').count() > 100).count();
    assert!(rows >= 1 && ended.stdout.contains("an-id"), "{}", ended.told());
}

#[test_case(End::Ours, Signal::TERM; "ours, terminated")]
#[test_case(End::Ours, Signal::HUP; "ours, hung up")]
#[test_case(End::Real, Signal::TERM; "a real one, terminated")]
fn what_sends_a_program_away_gets_no_result(client: End, signal: Signal) {
    let Some(ended) = signalled(client, End::Ours, "TCP_RR", signal) else { return };
    // Ended by the signal itself: a shell makes 128 and its number of it.
    assert_eq!((ended.overdue, ended.code), (false, None), "{}", ended.told());
    assert!(!ended.stdout.contains("THROUGHPUT=") && ended.stderr.is_empty(), "{}", ended.told());
}

#[test]
fn a_record_is_kept_of_a_test_that_is_sent_away() {
    let (folder, listening) = (tempfile::tempdir().unwrap(), Server::start(End::Ours, &[]));
    let file = folder.path().join("run.json");
    let words = ["-H", "127.0.0.1", "-t", "TCP_RR", "-l", "600", "-D", "0.1", "--record", file.to_str().unwrap()];
    let running = End::Ours.running(listening.port, &words);
    running.until("a result in between", |said| said.contains("Interim result"));
    running.signal(Signal::TERM);
    let ended = running.end(LIMIT);
    assert_eq!((ended.overdue, ended.code), (false, Some(143)), "{}", ended.told());
    assert!(!ended.stdout.contains("Socket Size"), "{}", ended.told());
    let record: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert!(record["outcome"]["counts"]["answered"].as_u64().unwrap() > 0, "{record:#}");
}

fn done(client: End, server: End, words: &[&str]) -> Option<Ended> {
    let what = words.join(" ");
    if !(client.is_here(&what) && server.is_here(&what)) {
        return None;
    }
    let listening = Server::start(server, &[]);
    let ended = client.client(listening.port, &[&["-H", "127.0.0.1", "-l", "1"], words].concat());
    assert_eq!((ended.overdue, ended.code), (false, Some(0)), "{what}: {}", ended.told());
    Some(ended)
}

/// The original asks the system and goes on, whatever it answered: no machine here has a CPU of this number.
#[test_case(End::Ours, End::Ours, &["-t", "TCP_RR", "-T", "999"], "-T 999"; "a CPU that our client has not")]
#[test_case(End::Ours, End::Ours, &["-t", "TCP_RR", "-T", ",999"], ""; "a CPU that our server has not")]
#[test_case(End::Real, End::Ours, &["-t", "TCP_RR", "-T", "999,999"], ""; "a CPU that neither has, by the original")]
#[test_case(End::Ours, End::Ours, &["-t", "TCP_RR", "--", "-K", "nosuch"], "-K nosuch"; "a congestion control that our client has not")]
#[test_case(End::Real, End::Ours, &["-t", "TCP_STREAM", "--", "-K", ",nosuch"], ""; "one that our server has not, by the original")]
#[test_case(End::Ours, End::Ours, &["-t", "TCP_RR", "--", "-V", "-I", "-g", "-p", "5000,6000"], "-- -p"; "letters without effect")]
#[test_case(End::Real, End::Ours, &["-t", "TCP_RR", "--", "-V", "-I", "-p", "5000,6000"], ""; "letters without effect, by the original")]
#[test_case(End::Ours, End::Ours, &["-t", "UDP_STREAM", "--", "-m", "0"], ""; "a size of 0, which is none")]
#[test_case(End::Ours, End::Real, &["-t", "TCP_STREAM", "--", "-m", "0"], ""; "the same at the original")]
#[test_case(End::Real, End::Ours, &["-t", "UDP_STREAM", "--", "-m", "1024,70000"], ""; "a size that the test has no use for, by the original")]
#[test_case(End::Ours, End::Ours, &["-t", "UDP_STREAM", "--", "-m", "65507", "-M", "70000"], ""; "the largest datagram")]
#[test_case(End::Ours, End::Ours, &["-t", "UDP_RR", "--", "-r", "65507,65507"], ""; "the largest of both ways")]
fn what_cannot_be_had_ends_no_test(client: End, server: End, words: &[&str], note: &str) {
    let Some(ended) = done(client, server, words) else { return };
    assert!(ended.stderr.contains(note), "{}", ended.told());
    assert_eq!(note.is_empty(), ended.stderr.is_empty(), "{}", ended.told());
}

#[test_case(End::Ours; "ours")]
#[test_case(End::Real; "the original")]
fn a_file_that_is_too_small_is_not_sent(client: End) {
    if !client.is_here("TCP_SENDFILE of a small file") {
        return;
    }
    let (folder, listening) = (tempfile::tempdir().unwrap(), Server::start(End::Ours, &[]));
    let file = folder.path().join("small");
    std::fs::write(&file, "hello").unwrap();
    let words = ["-H", "127.0.0.1", "-t", "TCP_SENDFILE", "-l", "1", "-F", file.to_str().unwrap()];
    let ended = client.client(listening.port, &words);
    assert_eq!((ended.overdue, ended.code), (false, Some(1)), "{}", ended.told());
    let words = if client == End::Ours { "it has 5 bytes" } else { "file too small" };
    assert!(ended.stderr.contains(words), "{}", ended.told());
}

#[test]
fn a_server_that_is_not_there_is_named_once() {
    let port = port::free();
    let ended = End::Ours.client(port, &["-H", "127.0.0.1"]);
    assert!(ended.stderr.starts_with(&format!("netperf: 127.0.0.1:{port}: cannot ")), "{}", ended.told());
    let datagram =
        End::Ours.client(Server::start(End::Ours, &[]).port, &["-H", "127.0.0.1", "-t", "UDP_RR", "--", "-r", "65508"]);
    assert!(datagram.stderr.contains("65508 bytes do not fit"), "{}", datagram.told());
}

/// Columns of each row of a histogram.
fn columns(stdout: &str) -> Vec<usize> {
    let rows = stdout.lines().filter(|line| line.contains("_USEC") || line.contains("_MSEC") || line.contains("_SEC "));
    rows.map(|line| line.matches(':').count()).collect()
}

#[test_case(&[], "", &[], 10; "a person's")]
#[test_case(&[], "", &["-o", "THROUGHPUT"], 1_000; "a program's")]
#[test_case(&["--buckets", "100"], "50", &["-o", "THROUGHPUT"], 100; "by option, which comes before the environment")]
#[test_case(&[], "50", &[], 50; "by environment")]
#[test_case(&[], "many", &[], 10; "by an environment of nonsense")]
fn a_histogram_is_as_fine_as_is_wanted(option: &[&str], variable: &str, selection: &[&str], expected: usize) {
    let listening = Server::start(End::Ours, &[]);
    let mut command = End::Ours.program("netperf").unwrap();
    command.env("SONDE_NETPERF_BUCKETS", variable).args(["-p", &listening.port.to_string(), "-H", "127.0.0.1"]);
    command.args(["-t", "TCP_RR", "-l", "-100", "-v", "2"]).args(option).arg("--").args(selection);
    let ended = testbed::process::ended(&mut command, LIMIT);
    assert_eq!((ended.code, columns(&ended.stdout)), (Some(0), vec![expected; 8]), "{}", ended.told());
    assert_eq!(ended.stderr.contains("SONDE_NETPERF_BUCKETS=many: "), variable == "many", "{}", ended.told());
}
