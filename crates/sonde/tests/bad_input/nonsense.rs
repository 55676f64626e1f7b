//! A peer that speaks nonsense in the middle: counted for what it is, never a hang, and what went before is kept.

use measure::environment::{Disturbance, Environment};
use measure::unit::{Bytes, Nanos};
use protocol::native::message::Report;
use test_case::test_case;

use crate::rogue::{Deed, Rogue, answered};
use crate::{Ended, SOON, count, rtt, sonde};

/// Requests that are answered properly before the nonsense starts; at the first of them UDP says hello.
const GOOD: u64 = 20;

/// Few enough to be over soon when each that is not answered is waited for in vain, for longer than a busy machine keeps
/// an answer back.
const BRIEF: [&str; 6] = ["-c", "25", "--warm-up", "0", "--timeout", "1s"];
const ALL: u64 = 25;

fn after_good(n: u64, request: &[u8], then: impl FnOnce(Vec<u8>) -> Deed) -> Deed {
    let reply = answered(n, request);
    if n <= GOOD { Deed::Reply(reply) } else { then(reply) }
}

fn other_token(n: u64, request: &[u8]) -> Deed {
    after_good(n, request, |mut reply| {
        reply[0] ^= 1;
        Deed::Reply(reply)
    })
}

fn garbage(n: u64, request: &[u8]) -> Deed {
    after_good(n, request, |reply| Deed::Reply(vec![0xA5; reply.len()]))
}

fn other_layout(n: u64, request: &[u8]) -> Deed {
    after_good(n, request, |mut reply| {
        reply[24] = 9;
        Deed::Reply(reply)
    })
}

fn too_short(n: u64, request: &[u8]) -> Deed {
    after_good(n, request, |mut reply| {
        reply.pop();
        Deed::Reply(reply)
    })
}

fn too_long(n: u64, request: &[u8]) -> Deed {
    after_good(n, request, |mut reply| {
        reply.push(0);
        Deed::Reply(reply)
    })
}

fn stump(n: u64, request: &[u8]) -> Deed {
    after_good(n, request, |_| Deed::Reply(vec![1, 2, 3]))
}

fn silence(n: u64, request: &[u8]) -> Deed {
    after_good(n, request, |_| Deed::Silence)
}

fn thrice(n: u64, request: &[u8]) -> Deed {
    after_good(n, request, |reply| Deed::Replies(vec![reply.clone(), reply.clone(), reply]))
}

fn flood(n: u64, request: &[u8]) -> Deed {
    after_good(n, request, |reply| Deed::Flood(vec![0xA5; reply.len() * 64]))
}

fn flood_of_datagrams(n: u64, request: &[u8]) -> Deed {
    after_good(n, request, |reply| Deed::Flood(vec![0xA5; reply.len()]))
}

fn close(n: u64, request: &[u8]) -> Deed {
    after_good(n, request, |_| Deed::Close)
}

/// Runs against a reflector of this manner; the record, which came in bounded time.
fn measured(manner: crate::rogue::Manner, words: &[&str], code: i32) -> serde_json::Value {
    let (record, status) = ended(manner, words);
    assert_eq!(status, Some(code), "{record:#}");
    record
}

/// The same of one that answers no more after a while: the status says whether the record calls it silent to the end.
fn measured_until_silence(manner: crate::rogue::Manner, words: &[&str]) -> serde_json::Value {
    let (record, status) = ended(manner, words);
    let is_silent = record["outcome"]["dark"]["to_the_end"] == true;
    assert_eq!(status, Some(i32::from(is_silent)), "{record:#}");
    record
}

fn ended(manner: crate::rogue::Manner, words: &[&str]) -> (serde_json::Value, Option<i32>) {
    let (address, _seen) = Rogue { manner, ..Rogue::default() }.start();
    let ended = rtt(&address, &[words, &BRIEF].concat());
    assert!(ended.took < SOON, "{:?}", ended.took);
    (ended.record(), ended.code)
}

#[test_case(other_token, &["--tcp"], "lost"; "another token over tcp")]
#[test_case(other_token, &["--udp"], "lost"; "another token over udp")]
#[test_case(garbage, &["--tcp"], "lost"; "garbage over tcp")]
#[test_case(garbage, &["--udp"], "lost"; "garbage over udp")]
#[test_case(garbage, &["--tcp", "--window", "4"], "lost"; "garbage in a window")]
#[test_case(garbage, &["--udp", "--every", "1ms"], "lost"; "garbage in an open loop")]
#[test_case(other_layout, &["--tcp"], "corrupt"; "another layout over tcp")]
#[test_case(other_layout, &["--udp", "--window", "4"], "corrupt"; "another layout over udp")]
#[test_case(too_short, &["--udp"], "corrupt"; "short datagrams")]
#[test_case(too_long, &["--udp"], "corrupt"; "long datagrams")]
#[test_case(stump, &["--udp"], "lost"; "stumps")]
#[test_case(silence, &["--tcp"], "lost"; "silence over tcp")]
#[test_case(silence, &["--udp"], "lost"; "silence over udp")]
fn nonsense_is_counted_and_the_run_goes_on(manner: crate::rogue::Manner, words: &[&str], fate: &str) {
    let record = measured_until_silence(manner, words);
    let answered = count(&record, "answered");
    assert!((1..=GOOD).contains(&answered), "{answered}");
    assert_eq!(
        (count(&record, "scheduled"), count(&record, fate)),
        (ALL, ALL - answered),
        "{:#}",
        record["outcome"]["counts"]
    );
}

#[test_case(too_short; "short replies")]
#[test_case(too_long; "long replies")]
fn a_stream_out_of_step_is_told_by_its_headers(manner: crate::rogue::Manner) {
    let record = measured_until_silence(manner, &["--tcp"]);
    // The first reply that is too long is whole as far as can be seen; after that nothing fits.
    assert!((1..=GOOD + 1).contains(&count(&record, "answered")), "{:#}", record["outcome"]["counts"]);
}

#[test]
fn copies_are_counted_beside_the_answers() {
    let record = measured(thrice, &["--udp"], 0);
    assert_eq!(count(&record, "answered"), ALL);
    assert!(count(&record, "duplicated") > 0, "{:#}", record["outcome"]["counts"]);
}

#[test_case(flood, &["--tcp"]; "in lockstep")]
#[test_case(flood, &["--tcp", "--window", "4"]; "in a window")]
#[test_case(flood, &["--tcp", "--every", "1ms"]; "in an open loop")]
#[test_case(flood_of_datagrams, &["--udp"]; "datagrams in lockstep")]
#[test_case(flood_of_datagrams, &["--udp", "--window", "4"]; "datagrams in a window")]
fn a_flood_drowns_no_run(manner: crate::rogue::Manner, words: &[&str]) {
    let record = measured_until_silence(manner, words);
    assert!(count(&record, "answered") >= 1 && count(&record, "strays") > 0, "{:#}", record["outcome"]["counts"]);
}

#[test_case(&[]; "in lockstep")]
#[test_case(&["--window", "4"]; "in a window")]
fn a_connection_that_is_closed_ends_the_run_with_what_there_is(words: &[&str]) {
    let record = measured(close, words, 1);
    assert!((1..=GOOD).contains(&count(&record, "answered")), "{:#}", record["outcome"]["counts"]);
    assert_eq!(record["ended"]["how"], "peer-lost", "{:#}", record["ended"]);
}

#[test_case(b"\xFF\xFF\xFF\xFFnonsense".to_vec(); "a frame that cannot be")]
#[test_case(frame("{\"type\":"); "half a message")]
#[test_case(frame(r#"{"type":"received","received":[1,2]}"#); "counts of other flows")]
#[test_case(frame(r#"{"type":"fault","reason":"other","detail":"enough"}"#); "a word of farewell")]
fn nonsense_on_the_control_connection_ends_the_run_with_what_there_is(words: Vec<u8>) {
    let outburst = Some((200, words));
    let (address, _seen) = Rogue { outburst, ..Rogue::default() }.start();
    // Endless without the outburst, but for the test's patience.
    let ended = rtt(&address, &["-t", "600", "--warm-up", "0"]);
    let record = ended.record();
    assert_eq!((ended.code, &record["ended"]["how"]), (Some(1), &"peer-lost".into()), "{:#}", record["ended"]);
    assert!(count(&record, "answered") >= 1);
    assert!(ended.took < SOON, "{:?}", ended.took);
}

fn frame(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes(), text.as_bytes()].concat()
}

#[test]
fn a_peer_that_does_not_report_is_told() {
    let (address, _seen) = Rogue { reports: false, ..Rogue::default() }.start();
    let ended = rtt(&address, &BRIEF);
    let record = ended.record();
    assert_eq!((ended.code, count(&record, "answered")), (Some(0), ALL));
    assert!(record["theirs"].is_null(), "what was not told is absent");
    let warnings = record["warnings"].to_string();
    assert!(warnings.contains("no-report"), "{warnings}");
}

/// A report in which every number is this one, and of so many flows.
fn report(number: u64, flows: usize) -> Report {
    let each = vec![number; flows];
    let share = Some(number as f64);
    let disturbance = Disturbance {
        watched_ns: Nanos(number),
        run_queue_share: share,
        steal_share: share,
        cpu_pressure_share: share,
        involuntary_switches: Some(number),
        user_ns: Some(Nanos(number)),
        system_ns: Some(Nanos(number)),
        softnet_squeezed: Some(number),
    };
    Report {
        received: each.clone(),
        warm_up: Some(each.clone()),
        again: Some(each.clone()),
        replied: each.clone(),
        replied_again: Some(each),
        malformed: number,
        limited_ns: Some(Nanos(number)),
        dropped: Some(number),
        receive_buffer_bytes: Some(Bytes(number)),
        user_ns: Some(Nanos(number)),
        system_ns: Some(Nanos(number)),
        environment: Environment {
            disturbance: Some(disturbance),
            read_before_ns: Some(Nanos(number)),
            ..Environment::default()
        },
        ..Report::default()
    }
}

/// The client's own counts stay as they were, and are told.
#[test_case("--tcp"; "tcp")]
#[test_case("--udp"; "udp")]
fn a_report_of_numbers_that_none_has_breaks_nothing(carrier: &str) {
    for number in [0, 1, i64::MAX.unsigned_abs(), u64::MAX] {
        for flows in [0, 1, 3] {
            let (address, _seen) = Rogue { lie: Some(report(number, flows)), ..Rogue::default() }.start();
            let told = rtt(&address, &[&BRIEF[..], &[carrier]].concat());
            assert_eq!(count(&told.record(), "answered"), ALL, "{number} of {flows}: {}", told.stderr);
            let told = Ended::of(&mut sonde(&[&["rtt", &address, "-v", carrier], &BRIEF[..]].concat()));
            assert!(told.stdout.contains("25"), "{number} of {flows}: {}{}", told.stdout, told.stderr);
        }
    }
}
