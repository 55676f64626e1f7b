//! Lines that no whole transcript has, or has only beside others.

use test_case::test_case;

use crate::persona::answer::Answer;
use crate::persona::sockperf::options::{self, Client, Command, Mps, Transport};
use crate::persona::sockperf::output::end::{self, End};
use crate::persona::sockperf::output::failure::{self, Errno};
use crate::persona::sockperf::output::paint::Paint::{Coloured, Plain};
use crate::persona::sockperf::output::{gaps, latency, throughput};
use crate::persona::sockperf::statistics::{Finding, Statistics};
use crate::persona::sockperf::transcript::Transcript;

fn client(line: &str) -> Client {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    match options::parse(&words).unwrap().command {
        Command::Client(client) => client,
        Command::Server(_) => panic!("{line} is a server"),
    }
}

fn nothing(finding: Finding) -> Statistics {
    Statistics { received: 3, dropped: 7, duplicated: 1, out_of_order: 0, finding }
}

fn told(statistics: &Statistics, never_waited: bool) -> String {
    let client = client("pp -i 127.0.0.1");
    let run = latency::Run {
        client: &client,
        lasted_ns: 1_000,
        sent: 9,
        skipped: 0,
        never_waited,
        statistics,
        columns: None,
    };
    run.text(Plain)
}

#[test_case(Finding::TooShort, &["sockperf: Test end before test start. Ending statistics early"]; "cut short")]
#[test_case(Finding::NothingValid, &[
    "sockperf: No valid observations found. Try tune parameters: --time/--number-of-packets/--mps/--reply-every",
    "sockperf: # dropped messages = 7; # duplicated messages = 1; # out-of-order messages = 0",
]; "nothing in the window")]
fn a_run_without_observations_says_so(finding: Finding, expected: &[&str]) {
    let statistics = nothing(finding);
    let told = told(&statistics, false);
    assert_eq!(told.lines().skip(2).collect::<Vec<_>>(), expected);
    assert_eq!(failure::worthless(&statistics).unwrap().status, 1);
}

#[test]
fn a_rate_beyond_reach_is_told_last() {
    let told = told(&nothing(Finding::TooShort), true);
    let last =
        "sockperf: Info: The requested message-per-second rate is too high. Try tuning --mps or --burst arguments";
    assert_eq!(told.lines().last(), Some(last));
}

fn throughput(line: &str, arrived: Option<u64>, skipped: u64) -> String {
    let client = client(line);
    let load = client.kind.load().unwrap();
    let (lasted_ns, display) = (1_000_000_000, &client.display);
    throughput::Run { load, display, lasted_ns, sent: 1_000, skipped, never_waited: false, arrived }.text(Plain)
}

#[test]
fn what_did_not_arrive_has_a_line_of_its_own() {
    let told = throughput("tp -i 127.0.0.1 -m 1472", Some(465), 0);
    assert_eq!(told.lines().last(), Some("sockperf: Receiver: 465 messages arrived, 535 of 1000 lost (53.50 %)"));
    assert!(!throughput("tp -i 127.0.0.1", None, 0).contains("Receiver"));
}

#[test]
fn skipped_sends_are_told() {
    let told = throughput("tp -i 127.0.0.1", None, 12);
    assert!(told.starts_with("sockperf: Total of 1000 messages sent in 1.000 sec (12 messages skipped)\n\n"), "{told}");
}

#[test]
fn a_run_of_nothing_divides_by_nothing() {
    let client = client("tp -i 127.0.0.1");
    let load = client.kind.load().unwrap();
    assert_eq!(load.rate, Mps::Max);
    let display = &client.display;
    let mut run =
        throughput::Run { load, display, lasted_ns: 5, sent: 0, skipped: 0, never_waited: false, arrived: Some(0) };
    assert_eq!(run.text(Coloured), "sockperf: No messages were sent\n");
    (run.lasted_ns, run.sent) = (0, 1);
    assert_eq!(run.text(Coloured), "");
}

#[test_case(End::Signal(15), "sockperf: Test end (interrupted by signal 15)\n"; "a signal")]
#[test_case(End::File, ""; "a file")]
fn ends(end: End, expected: &str) {
    assert_eq!(end::client(end, false), expected.to_owned() + "sockperf: Test ended\n");
}

#[test]
fn dots_are_ended_by_a_line_end() {
    assert_eq!(end::client(End::File, true), "\nsockperf: Test ended\n");
}

#[test]
fn a_server_that_nobody_asked_says_so() {
    assert!(end::server(End::User, 0).ends_with("sockperf: No messages were received on the server.\n"));
}

/// Seen with sockperf 3.10.
#[test_case("[::1]:55662", "sockperf: Starting new session: [[::1]:55662]          \n"; "IPv6")]
#[test_case("[::ffff:127.0.0.1]:7", "sockperf: Starting new session: [127.0.0.1:7]          \n"; "IPv4 over IPv6")]
fn senders_are_told_by_their_addresses(sender: &str, expected: &str) {
    assert_eq!(gaps::started(sender.parse().unwrap()), expected);
}

/// Seen with sockperf 3.10.
#[test]
fn files_and_threads_that_do_not_fit() {
    let said = "sockperf: Number of threads should be less than sockets count\n\
                sockperf: ERROR: program exits because of an error. (errno=0 Success)\n";
    assert_eq!((failure::too_many_threads().stdout.as_str(), failure::too_many_threads().status), (said, 1));
    let answer = failure::no_log("/nonexist/x".as_ref(), "No such file or directory");
    let said = "sockperf: Invalid 24 val. Can't open file /nonexist/x for writing: No such file or directory\n";
    assert_eq!((answer.stdout.as_str(), answer.status), (said, 1));
    assert!(failure::empty_feed("f".as_ref()).stdout.starts_with("sockperf: Feedfile 'f' is empty!\n"));
}

/// Captured from sockperf 3.10.
#[test_case(&failure::unknown_number(), "Sequence Number received was higher than expected", 6; "a number never sent")]
#[test_case(&failure::too_long(), "Message received was larger than expected.", 6; "an answer too long")]
#[test_case(&failure::corrupt(), "data integrity test failed", 2; "another message")]
fn an_answer_that_breaks_the_protocol(answer: &Answer, text: &str, status: u8) {
    assert_eq!(answer.stdout, format!("sockperf: ERROR: {text} (errno=0 Success)\n"));
    assert_eq!(answer.status, status);
}

#[test]
fn a_port_that_is_taken_and_one_where_nobody_listens() {
    let taken = Errno { number: 98, said: "Address already in use" };
    let answer = failure::bind(3, "127.0.0.1:11111".parse().unwrap(), taken);
    assert!(Transcript::of("36-bind-failure-1").stdout.ends_with(&(answer.stdout + &end::exit())));
    assert_eq!(answer.status, failure::NOTHING);
    let refused = Errno { number: 111, said: "Connection refused" };
    let answer = failure::connect(refused);
    assert!(Transcript::of("21-server-down-tcp-1").stdout.ends_with(&answer.stdout));
}

#[test]
fn a_connection_that_the_server_closed() {
    let answer = failure::closed("127.0.0.1:11111".parse().unwrap());
    let transcript = Transcript::of("37-tcp-server-killed-1");
    assert!(transcript.stdout.ends_with(&answer.stdout));
    assert_eq!(answer.status, transcript.status);
    let text = failure::socket_error("[::1]:7".parse().unwrap(), Transport::Udp, "what", Errno::NONE);
    assert_eq!(text, "ADDR = [::1]:7 # UDP sockperf: ERROR: what (errno=0 Success)\n");
}
