//! `sonde load` at programs at work: an open loop at their door, and the highest rate that they take.

use std::io::Write;

use test_case::test_case;

use super::played::{request, server};
use super::{brief, count, kind, measured_by, real, refused_by};

#[test]
fn redis_is_asked_on_a_schedule_whatever_it_answers() {
    let Some(redis) = real::redis(&[]) else { return };
    let url = format!("redis://127.0.0.1:{}", redis.port);
    let (record, code) = measured_by(
        "load",
        &[&url, "--poisson", "2k/s", "-c", "400", "--connections", "2", "--warm-up", "0", "--force"],
    );
    assert_eq!((count(&record, "answered"), code), (400, Some(0)), "{}", brief(&record));
    assert_eq!(kind(&record, "PONG"), 400, "{}", brief(&record));
    assert!(record["method"]["window"]["open"].is_object(), "an open loop: {}", record["method"]);
}

/// A program that refuses everything meets no condition, at whatever rate.
#[test]
fn a_rate_at_which_requests_are_refused_does_not_hold() {
    let (url, _) = server("http", |mut stream| {
        while request(&mut stream)? {
            stream.write_all(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")?;
        }
        Ok(())
    });
    let words = [&url, "--find", "p50<60s", "--rate", "200/s", "--probe", "100ms", "--force", "--strict"];
    let (found, code) = measured_by("load", &words);
    assert!(found["bracket"]["met"].is_null() && found["bracket"]["missed"].is_object(), "{}", found["bracket"]);
    assert_eq!(code, Some(1), "nothing was answered");
}

/// A rate that a prompt program takes, at the bound that was set.
#[test]
fn a_search_ends_at_the_rate_that_is_allowed() {
    let Some(redis) = real::redis(&[]) else { return };
    let url = format!("redis://127.0.0.1:{}", redis.port);
    // A condition that only a program that stands still does not meet.
    let words = [&url, "--find", "p50<60s", "--rate", "200/s", "--up-to", "400/s", "--probe", "100ms", "--force"];
    let (found, _) = measured_by("load", &words);
    assert_eq!(found["probes"][0]["record"]["method"]["application"]["request"], "PING", "{found}");
    let answered = |probe: &serde_json::Value| probe["record"]["outcome"]["counts"]["answered"].as_u64().unwrap_or(0);
    let probes = found["probes"].as_array().unwrap();
    assert!(probes.iter().all(|probe| answered(probe) > 0 && probe["verdict"] != "too-few"), "{found}");
}

#[test_case(&["redis://127.0.0.1", "--rate", "1k/s"], "add --force"; "too often")]
#[test_case(&["redis://127.0.0.1", "--find", "p99<1ms"], "add --force"; "a search")]
#[test_case(&["redis://127.0.0.1", "--rate", "max", "--force"], "--rate max"; "without a schedule")]
#[test_case(&["redis://127.0.0.1", "--size", "100"], "remove --size"; "a size")]
#[test_case(&["redis://127.0.0.1", "--reply-every", "10"], "remove --reply-every"; "fewer replies")]
#[test_case(&["redis://127.0.0.1", "--udp"], "asked over tcp"; "over UDP")]
#[test_case(&["http://127.0.0.1", "--verify"], "by their length"; "a length nobody knows")]
#[test_case(&["db1", "--force"], "programs at work"; "a force that nothing needs")]
fn what_a_program_is_not_loaded_with_is_said(words: &[&str], told: &str) {
    let said = refused_by("load", words);
    assert!(said.contains(told), "{said}");
}
