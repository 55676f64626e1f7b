//! Each word of the command line arrives where it belongs.

use clap::Parser;
use measure::method::{Pacing, Refusal, Settled, Share, SocketOptions, Waiting};
use measure::unit::Nanos;
use test_case::test_case;

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: LoadOptions,
}

fn plan(words: &str) -> Plan {
    let line = Line::try_parse_from(["load"].into_iter().chain(words.split_whitespace()));
    of(line.unwrap_or_else(|error| panic!("{error}")).options).unwrap_or_else(|failure| panic!("{failure:?}"))
}

fn rate(per_second: u64) -> Rate {
    Rate::per_second(per_second).unwrap()
}

#[test_case("", Schedule::Rate { rate_per_1000s: rate(10_000) }; "nothing said")]
#[test_case("--rate 100k", Schedule::Rate { rate_per_1000s: rate(100_000) }; "rate")]
#[test_case("--rate max", Schedule::BackToBack; "max")]
#[test_case("--every 1ms", Schedule::Every { interval_ns: Nanos::millis(1) }; "every")]
#[test_case("--every 1ms --burst 4", Schedule::Bursts { count: 4, interval_ns: Nanos::millis(1) }; "bursts")]
#[test_case("--poisson 20k", Schedule::Poisson { rate_per_1000s: rate(20_000) }; "poisson")]
fn schedules(words: &str, schedule: Schedule) {
    let plan = plan(words);
    assert_eq!(plan.asked.schedule, Some(schedule));
    assert!(plan.asked.resolve().is_ok());
}

#[test_case("", None; "nothing said")]
#[test_case("--tcp", Some(Carrier::Tcp); "tcp")]
#[test_case("--udp", Some(Carrier::Udp); "udp")]
#[test_case("--carrier tcp", Some(Carrier::Tcp); "by name")]
fn carriers(words: &str, carrier: Option<Carrier>) {
    let asked = plan(words).asked;
    assert_eq!(asked.carrier, carrier);
    assert_eq!(asked.resolve().unwrap().traffic.carrier(), carrier.unwrap_or(Carrier::Udp));
}

#[test_case("--size 1kB", Some(Bytes(1_000)), Sizes::Fixed; "one")]
#[test_case("--size 64..1400", None, Sizes::Uniform { smallest: Bytes(64), largest: Bytes(1_400) }; "a range")]
#[test_case("--size 64:7", None, Sizes::Mix(vec![Share { bytes: Bytes(64), weight: 7 }]); "a mix")]
fn sizes_of_messages(words: &str, one: Option<Bytes>, several: impl Into<Sizes>) {
    let asked = plan(words).asked;
    assert_eq!((asked.request_bytes, asked.sizes), (one, several.into()));
}

#[test]
fn each_axis_arrives_where_it_belongs() {
    let Plan { asked, strict, samples, target, .. } = plan(
        "db1:99 --rate 1k --reply-every 10 --segments 8 --pace spin --wait spin --peer-wait block --cpu 2 --peer-cpu 0-1 \
         --size 100 --response-size 50 --connections 4 --threads 2 -t 30 -c 10k --until p99:5% --timeout 2s --warm-up 0 \
         --bind 10.0.0.1 --dscp ef --send-buffer 64KiB --seed 7 --strict --samples s.csv",
    );
    let expected = Asked {
        pattern: Some(Pattern::Load),
        schedule: Some(Schedule::Rate { rate_per_1000s: rate(1_000) }),
        pacing: Some(Pacing::Spin),
        waiting: Some(Waiting::Spin),
        peer_waiting: Some(Waiting::Block),
        reply_every: Some(10),
        batch: Some(Batch { messages: 8, by: BatchBy::Segments }),
        request_bytes: Some(Bytes(100)),
        response_bytes: Some(Bytes(50)),
        connections: Some(4),
        threads: Some(2),
        cpus: vec![2],
        peer_cpus: vec![0, 1],
        stop: Stop {
            after_ns: Some(Nanos::secs(30)),
            count: Some(10_000),
            settled: Some(Settled { quantile: 0.99, within: Some(0.05) }),
            ..Stop::default()
        },
        timeout_ns: Some(Nanos::secs(2)),
        warm_up_ns: Some(Nanos::ZERO),
        socket: SocketOptions {
            bind: Some("10.0.0.1".parse().unwrap()),
            tos: Some(46 << 2),
            nodelay: true,
            send_buffer_bytes: Some(Bytes(65_536)),
            ..SocketOptions::default()
        },
        seed: Some(7),
        ..Asked::default()
    };
    assert_eq!(asked, expected);
    assert!(asked.resolve().is_ok());
    assert_eq!((strict, target.map(|target| target.port)), (true, Some(99)));
    assert_eq!(samples.unwrap().path.to_str(), Some("s.csv"));
}

#[test]
fn a_batch_is_of_calls_or_of_segments() {
    let calls = Batch { messages: 16, by: BatchBy::Calls };
    assert_eq!(plan("--batch 16 --reply-every 2").asked.batch, Some(calls));
    assert_eq!(plan("--batch 16").asked.resolve(), Err(Refusal::NothingToBatch));
}

#[test_case("--rate 1k --every 1ms"; "two schedules")]
#[test_case("--burst 4"; "a burst of no schedule")]
#[test_case("--tcp --udp"; "two carriers")]
#[test_case("--carrier icmp"; "a carrier that answers all")]
#[test_case("--batch 4 --segments 4"; "two kinds of batches")]
#[test_case("--window 4"; "a window")]
fn what_does_not_go_together_is_refused_when_it_is_read(words: &str) {
    assert!(Line::try_parse_from(["load"].into_iter().chain(words.split_whitespace())).is_err());
}
