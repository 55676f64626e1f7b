//! Clients, from their first line to their last.

use std::collections::BTreeMap;

use report::markup::for_terminal;

use crate::persona::sockperf::options::{CLIENT_HOST, Client, Histogram, Kind, Stop};
use crate::persona::sockperf::output::end::{self, End};
use crate::persona::sockperf::output::paint::Paint::{Coloured, Plain};
use crate::persona::sockperf::output::tests::{expected, progress};
use crate::persona::sockperf::output::{latency, start, throughput};
use crate::persona::sockperf::statistics::bins::Bins;
use crate::persona::sockperf::statistics::latency::Latency;
use crate::persona::sockperf::statistics::{Finding, Statistics, Valid};
use crate::persona::sockperf::transcript::{Transcript, file, sockets};

/// Asserts that ours prints a transcript's output; returns true where its status is 0.
pub fn is_the_same(name: &str) -> bool {
    let transcript = Transcript::of(name);
    let client = transcript.client();
    let ours = text(&transcript, &client);
    let ours = if transcript.version.starts_with("3.7") { as_three_seven(&ours) } else { ours };
    assert_eq!(ours, expected(&transcript), "{name}");
    transcript.status == 0
}

fn text(transcript: &Transcript, client: &Client) -> String {
    let throughput = matches!(client.kind, Kind::Throughput { .. });
    let sockets = sockets(&client.common.place, CLIENT_HOST);
    let buffers = client.common.buffer_bytes.map_or(String::new(), |_| start::buffers(3, 16_384, 16_384));
    let place = &client.common.place;
    let head = if throughput { start::sender(&sockets) } else { start::client(place, &sockets) };
    let result = if throughput { sent(transcript, client) } else { measured(transcript, client) };
    let progress = progress(transcript, client.common.activity, transcript.number("SentMessages=").unwrap_or(0));
    let text = [buffers, start::version(Coloured), head, start::warm_up(), start::starting(), progress].concat();
    for_terminal(&(text + &ended(transcript, client) + &result)).into_owned()
}

fn ended(transcript: &Transcript, client: &Client) -> String {
    let dots = client.common.activity.is_some_and(|activity| !activity.detailed);
    match client.kind.load().map(|load| load.stop) {
        None => end::client(End::File, dots),
        Some(Stop::Messages(_)) => {
            let (run, give_up) = (transcript.number("Estimate="), transcript.number("Time out in"));
            end::estimate(run.unwrap() * 1_000_000, give_up.unwrap() * 1_000_000) + &end::client(End::Number, dots)
        }
        Some(_) if transcript.stdout.contains("by user") => end::client(End::User, dots),
        Some(_) => end::client(End::Timer, dots),
    }
}

fn sent(transcript: &Transcript, client: &Client) -> String {
    let load = client.kind.load().unwrap();
    let sent = transcript.number("Total of").unwrap();
    let rate = transcript.number("Message Rate is").unwrap();
    // The time is printed to the millisecond, and the rate is made from more.
    let run_ns = sent * 1_000_000_000 / rate;
    let printed = transcript.number("messages sent in").unwrap();
    assert!((run_ns / 1_000_000).abs_diff(printed) <= 1, "{run_ns} and {printed} ms");
    let run = throughput::Run {
        load,
        display: &client.display,
        lasted_ns: run_ns,
        sent,
        skipped: 0,
        never_waited: false,
        arrived: None,
    };
    run.text(Coloured)
}

fn measured(transcript: &Transcript, client: &Client) -> String {
    let statistics = statistics(transcript, client);
    let run = latency::Run {
        client,
        lasted_ns: transcript.number("[Total Run] RunTime=").unwrap_or(0) * 1_000_000,
        sent: transcript.number("SentMessages=").unwrap_or(0),
        skipped: transcript.number("SkippedMessages=").unwrap_or(0),
        never_waited: false,
        statistics: &statistics,
        columns: Some(100),
    };
    assert!(!run.text(Plain).contains('\x1b'));
    run.text(Coloured)
}

/// The figures of a transcript as if they had been found.
pub fn statistics(transcript: &Transcript, client: &Client) -> Statistics {
    let number = |before: &str| transcript.number(before);
    let Some(received) = number("ReceivedMessages=") else {
        return Statistics {
            received: 0,
            dropped: 0,
            duplicated: 0,
            out_of_order: 0,
            finding: Finding::NothingReceived,
        };
    };
    let (_, valid) = transcript.stdout.split_once("[Valid Duration]").unwrap();
    let in_valid = Transcript { stdout: valid.to_owned(), ..transcript.clone() };
    let valid = Valid {
        run_ns: in_valid.number("RunTime=").unwrap() * 1_000_000,
        sent: in_valid.number("SentMessages=").unwrap(),
        latency: latency(&in_valid, client),
    };
    Statistics {
        received,
        dropped: number("# dropped messages =").unwrap(),
        duplicated: number("# duplicated messages =").unwrap(),
        out_of_order: number("# out-of-order messages =").unwrap(),
        finding: Finding::Valid(Box::new(valid)),
    }
}

fn latency(transcript: &Transcript, client: &Client) -> Latency {
    let number = |before: &str| transcript.number(before);
    let average = number("avg-latency=").or(number("avg-rtt=")).unwrap();
    let percentile = |name: &str| number(&format!("percentile {name} ="));
    Latency {
        observations: number("ReceivedMessages=").unwrap(),
        average_ns: average,
        deviation_ns: number("std-dev=").unwrap(),
        mean_distance_ns: number("mean-ad=").unwrap_or(0),
        median_distance_ns: number("median-ad=").unwrap_or(0),
        half_quartile_range_ns: number("siqr=").unwrap_or(0),
        max_ns: number("<MAX> observation =").unwrap(),
        min_ns: number("<MIN> observation =").unwrap(),
        percentiles_ns: ["99.999", "99.990", "99.900", "99.000", "90.000", "75.000", "50.000", "25.000"]
            .map(percentile),
        bins: client.display.histogram.map(bins),
    }
}

/// The bins as the full log of the transcript with a histogram tells them.
fn bins(histogram: Histogram) -> Bins {
    let log = file("12-pingpong-histogram.hist.csv");
    let (_, rows) = log.split_once("bin (usec)            frequency\n").unwrap();
    let mut bins = Bins { histogram, below: 0, within: BTreeMap::new(), above: 0 };
    for (name, count) in rows.lines().filter_map(|line| line.split_once(' ')) {
        let count = count.trim().parse().unwrap();
        match name.split_once('-') {
            None => {
                let begin: u64 = name.parse().unwrap();
                bins.within.insert((begin - u64::from(histogram.low_us)) / u64::from(histogram.bin_us), count);
            }
            Some((_, end)) if end == histogram.low_us.to_string() => bins.below = count,
            Some(_) => bins.above = count,
        }
    }
    bins
}

/// The older version has one figure beside the average.
pub fn as_three_seven(ours: &str) -> String {
    let cut = |line: &str| match line.split_once(", mean-ad=") {
        Some((begin, _)) => format!("{begin})\x1b[0m\n"),
        None => format!("{line}\n"),
    };
    ours.lines().map(cut).collect()
}
