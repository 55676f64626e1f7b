//! Pacing: bursts leave on a schedule that does not slip, and waits are no part of a latency.

use serde_json::Value;
use test_case::test_case;

use crate::netperf_pairs::agreement;
use crate::netperf_pairs::ends::{End, Server};
use crate::netperf_pairs::fields::Fields;

/// The selectors of a run, and how many instants went by while a reply was out: none is made up for by a crowd.
struct Paced {
    fields: Fields,
    missed: f64,
}

/// Runs ours against `with`; all rules hold.
fn paced(with: End, words: &str) -> Option<Paced> {
    if !with.is_here(&format!("pacing, `{words}`")) {
        return None;
    }
    let server = Server::start(with, &[]);
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("record");
    let words = format!("-H 127.0.0.1 --record {} {words}", record.display());
    let words: Vec<&str> = words.split_whitespace().collect();
    let ended = End::Ours.client(server.port, &words);
    assert_eq!(ended.code, Some(0), "{}", ended.told());
    let fields = Fields::of(&ended.stdout);
    let at = agreement::Ends { original_server: with == End::Real, ..agreement::OURS };
    assert_eq!(agreement::complaints(&fields, at), [""; 0], "{}", ended.told());
    let record: Value = serde_json::from_slice(&std::fs::read(&record).unwrap()).unwrap();
    let missed = record["outcome"]["counts"]["ticks_missed"].as_f64().unwrap_or(0.0);
    Some(Paced { fields, missed })
}

/// No more operations of the client than were due in the printed time, bursts from its beginning on; and half of them at
/// least, where a machine that gives the client no CPU at its end leaves the last of them out. A server that sends may begin before
/// the client, whose time is printed, gets a CPU: of it as many may come as are due in the `length` that was asked for.
fn on_schedule(Paced { fields, missed }: &Paced, operations: &str, burst: f64, interval_s: f64, length: Option<f64>) {
    let operations = fields.number(operations).unwrap() + missed;
    let time = fields.number("ELAPSED_TIME").unwrap().max(length.unwrap_or(0.0));
    let due = time / interval_s * burst;
    // The first burst leaves at once; the last may be cut, and a time is printed in hundredths.
    let most = due + 2.0 * burst + burst * 0.005_1 / interval_s;
    assert!(operations <= most && operations >= due / 2.0, "{operations} operations, {due} were due: {fields:?}");
}

#[test_case(End::Ours, "-t TCP_RR -l 2 -w 10ms -b 1", 1.0, 0.01; "ours, every 10 ms")]
#[test_case(End::Real, "-t TCP_RR -l 2 -w 10ms -b 1", 1.0, 0.01; "the original, every 10 ms")]
#[test_case(End::Ours, "-t UDP_RR -l 2 -w 5ms -b 3", 3.0, 0.005; "ours, three every 5 ms over UDP")]
#[test_case(End::Real, "-t UDP_RR -l 1 -w 2ms -b 1 --pacing spin", 1.0, 0.002; "spinning")]
#[test_case(End::Ours, "-t TCP_RR -l 1 -w 2ms -b 1 --pacing sleep", 1.0, 0.002; "sleeping")]
#[test_case(End::Ours, "-t TCP_RR -l 1 -w 2ms -b 1 --pacing hybrid", 1.0, 0.002; "sleeping and spinning")]
fn transactions_leave_on_schedule(with: End, words: &str, burst: f64, interval_s: f64) {
    let Some(paced) = paced(with, &format!("{words} -- -k all")) else { return };
    on_schedule(&paced, "LOCAL_RECV_CALLS", burst, interval_s, None);
    let fields = &paced.fields;
    assert_eq!(fields.number("LOCAL_INTERVAL_USECS"), Ok((interval_s * 1e6).round()));
    assert_eq!(fields.number("LOCAL_INTERVAL_BURST"), Ok(burst));
    // The wait for the next burst is no latency, neither the mean one nor that computed from the rate.
    let [trip, mean] = ["RT_LATENCY", "MEAN_LATENCY"].map(|name| fields.number(name).unwrap());
    assert!((trip - mean).abs() <= mean / 50.0 + 0.1, "{trip} and {mean} us");
    // Where no instant passed while a reply was out, each came within its interval.
    assert!(paced.missed > 0.0 || mean < interval_s * 1e6, "{mean} us");
}

#[test_case(End::Ours, "-t UDP_STREAM -l 1 -w 10ms -b 4", "-m 1000"; "ours")]
#[test_case(End::Real, "-t UDP_STREAM -l 1 -w 10ms -b 4", "-m 1000 -R 1"; "the original")]
#[test_case(End::Ours, "-t TCP_STREAM -l 1 -w 10ms -b 4", "-m 1000 -D"; "ours over TCP")]
fn a_stream_leaves_on_schedule(with: End, global: &str, own: &str) {
    let Some(paced) = paced(with, &format!("{global} -- {own} -k all")) else { return };
    on_schedule(&paced, "LOCAL_SEND_CALLS", 4.0, 0.01, None);
}

#[test]
fn a_server_of_ours_paces_what_it_sends() {
    let words = "-t TCP_MAERTS -l 1 -w ,10ms -b ,2 -- -m ,1000 -D -k all";
    let paced = paced(End::Ours, words).unwrap();
    on_schedule(&paced, "REMOTE_SEND_CALLS", 2.0, 0.01, Some(1.0));
    let fields = paced.fields;
    assert_eq!(fields.number("REMOTE_INTERVAL_USECS"), Ok(10_000.0));
    assert_eq!(fields.number("REMOTE_INTERVAL_BURST"), Ok(2.0));
}
