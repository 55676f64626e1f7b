//! Every line of every run of 2.1.8 and 2.2.1, made again from the values that it printed.

mod parse;

use std::collections::BTreeSet;

use super::banner::{self, Place, Sending, Window};
use super::csv;
use super::heading::{Heading, Headings};
use measure::frames::Frames;
use measure::unit::Nanos;

use super::line::{Carried, Moments, Span, Style, Tag};
use super::tcp::{Bursts, Reads, Writer};
use super::udp::{self, Received, Receiver, Sender};
use crate::persona::iperf::options::{Form, Kind, Rate};
use crate::persona::iperf::transcript::{self, Transcript};

const RULE: &str = "------------------------------------------------------------";

/// Lines that are not compared, each with its reason.
fn is_passed_over(run: &Transcript, line: &str) -> bool {
    // Lines of the shell behind a client.
    line.starts_with("client exit") || line.contains(" flow ")
        // A server of --connect-only tells of connections that never had a number.
        || line.starts_with("(null)")
        // Lines of frames are made by themselves below, and times of writes are zeros there.
        || line.contains("isoch") || line.contains("Frame:rx") || line.contains("write-times")
        || run.words.iter().any(|word| word.contains("isochronous") || word.contains("write-times"))
        || run.file.starts_with("05-") && line.contains("  latency  ")
        // A line of an isochronous client, in the output of its server.
        || run.file.starts_with("05-") && line.starts_with("[  5]")
        // Deviations printed in microseconds under a heading of milliseconds.
        || line.starts_with("[ CT]")
        // A connection that was refused is no connection.
        || line.contains("local 0.0.0.0 port 0")
        || run.version == "2.2.1" && is_passed_over_of_2_2_1(line)
}

/// Numbers of 2.2.1 that do not fit those beside them: reads of several streams, and of a bounce with trip times, are not the sum of theirs; a server's
/// plain report has no jitter and no share.
fn is_miscounted(run: &Transcript, line: &str) -> bool {
    let of_several = line.starts_with("[SUM-") && line.contains('=');
    let plain_report = line.contains(" 0.000 ms ") && line.ends_with(" (0%)");
    run.version == "2.2.1" && (of_several || plain_report || line.contains("ms (0/0) 0.000 Byte NAN"))
}

fn is_passed_over_of_2_2_1(line: &str) -> bool {
    // Lines of TCP's figures in the middle of a bounce, mostly zeros, and one-way times by interval.
    line.contains("K/(") || line.contains("OWD-") || line.contains("  OWD (ms)") && !line.contains("] 0.00")
        // Ids that are each end's own here.
        || line.contains(" remapped to ")
}

#[test]
fn every_line_is_made_again_from_its_values() {
    let mut compared = 0;
    for run in transcript::all() {
        let Some(common) = run.common() else { continue };
        if common.display.csv {
            continue;
        }
        let style = Style::of(&common.display);
        for line in run.stdout.lines().filter(|line| line.starts_with('[') && !is_passed_over(&run, line)) {
            if line.starts_with("[ ID]") || line.starts_with("[SUM-cnt]") || is_miscounted(&run, line) {
                continue;
            }
            let again = parse::again(line, style).unwrap_or_else(|| panic!("{}: no such line: {line}", run.file));
            assert_eq!(again.trim_end_matches('\n'), line, "{}", run.file);
            compared += 1;
        }
    }
    assert!(compared > 300, "only {compared} lines");
}

#[test]
fn headings_stand_where_the_original_has_them() {
    let mut compared = 0;
    for run in transcript::all() {
        let Some(common) = run.common().filter(|common| !common.display.csv) else { continue };
        if run.file.starts_with("05-udp") && common.display.interval.is_some() && run.server().is_some() {
            // An isochronous client has a heading of its own, which is not printed here.
            continue;
        }
        let style = Style::of(&common.display);
        let mut headings = Headings::default();
        let mut stands = None;
        for line in run.stdout.lines().filter(|line| line.starts_with('[') && !is_passed_over(&run, line)) {
            if line.starts_with("[ ID]") || line.starts_with("[SUM-cnt]") {
                stands = Some(format!("{line}\n"));
                continue;
            }
            if line.contains("] local ") || line.ends_with("Server Report:") {
                headings.interrupted();
            }
            if let Some(heading) = parse::heading(line, style) {
                let expected = headings.over(heading, style);
                assert_eq!(stands.take().unwrap_or_default(), expected, "{}: over {line}", run.file);
                compared += 1;
            }
        }
    }
    assert!(compared > 200, "only {compared} lines");
}

#[test]
fn every_heading_of_the_original_is_one_of_ours() {
    let all = [
        Heading::Plain,
        Heading::Received,
        Heading::Writer,
        Heading::Reader,
        Heading::Bursts,
        Heading::Sender,
        Heading::Receiver,
        Heading::Bounce,
    ];
    let of_2_2 =
        [Heading::BothWays, Heading::Read, Heading::Writers, Heading::Readers, Heading::Senders, Heading::Receivers];
    let ours = |style: Style| -> BTreeSet<String> { all.iter().map(|heading| heading.line(style)).collect() };
    let mut seen = BTreeSet::new();
    for run in transcript::all() {
        let Some(common) = run.common() else { continue };
        let style = Style::of(&common.display);
        let more = of_2_2.map(|heading| heading.line(style));
        let is_heading = |line: &&str| line.starts_with("[ ID]") || line.starts_with("[SUM-cnt]");
        for line in run.stdout.lines().filter(|line| is_heading(line) && !is_passed_over(&run, line)) {
            let line = format!("{line}\n");
            assert!(ours(style).contains(&line) || more.contains(&line), "{}: {line}", run.file);
            if style.form == Form::V2_1_8 {
                seen.insert(line);
            }
        }
    }
    assert_eq!(ours(Style { form: Form::V2_1_8, ..Style::default() }), seen);
}

#[test]
fn what_is_said_first_is_made_again() {
    let mut compared = 0;
    for run in transcript::all() {
        for block in banners(&run.stdout) {
            let again =
                if block.contains("Server listening") { listening(&run, &block) } else { connecting(&run, &block) };
            let Some(again) = again else { continue };
            // It serves one client of a group at a time; here several are served.
            let block = block.replace("Server set to single client traffic mode (per multicast receive)\n", "");
            // A gap between datagrams that 2.2.1 has forgotten how to count.
            let block = if block.contains("target: 0.00 us") { block.replace("0.00 us", &gap(&again)) } else { block };
            assert_eq!(again, block, "{}: {:?}", run.file, run.words);
            compared += 1;
        }
    }
    assert!(compared > 50, "only {compared}");
}

/// The gap that a banner tells.
fn gap(block: &str) -> String {
    let (_, rest) = block.split_once("IPG target: ").unwrap();
    rest.split(" (").next().unwrap().to_owned()
}

/// Blocks between two rules, both included.
fn banners(text: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut block: Option<Vec<&str>> = None;
    for line in text.lines() {
        match (&mut block, line == RULE) {
            (None, true) => block = Some(vec![line]),
            (Some(lines), is_rule) => {
                lines.push(line);
                if is_rule {
                    blocks.push(lines.join("\n") + "\n");
                    block = None;
                }
            }
            (None, false) => {}
        }
    }
    blocks
}

fn window(block: &str, asked: Option<u32>) -> Window {
    let line = block
        .lines()
        .find(|line| line.contains("window size:") || line.contains("buffer size:") && line.starts_with("UDP"));
    let bytes = line.and_then(|line| line.split_once("size: ")).and_then(|(_, rest)| {
        let mut words = rest.split_whitespace();
        parse::bytes(words.next()?, words.next()?)
    });
    Window { bytes: bytes.unwrap_or(0.0) as u32, asked }
}

fn pid(block: &str) -> u32 {
    let digits = block.split_once("with pid ").map_or("", |(_, rest)| rest);
    digits.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0)
}

fn port(block: &str) -> u16 {
    let (_, rest) = block.split_once(" port ").unwrap();
    rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

fn listening(run: &Transcript, block: &str) -> Option<String> {
    match (run.server(), run.client()) {
        (Some(server), _) => {
            let name = block.split_once("congestion control default ").and_then(|(_, rest)| rest.lines().next());
            Some(banner::server(&server, port(block), window(block, server.common.window), name, pid(block)))
        }
        (_, Some(client)) => Some(banner::waiting(&client, port(block), window(block, None), pid(block))),
        _ => None,
    }
}

fn connecting(run: &Transcript, block: &str) -> Option<String> {
    let sending = |common: &crate::persona::iperf::options::Common| Sending {
        window: window(block, common.window),
        mss_bytes: common.display.mss.then_some(536),
        congestion: block.split_once(" using ").map(|(_, rest)| rest.lines().next().unwrap_or_default()),
        length: common.bytes(false),
        pid: pid(block),
    };
    match (run.client(), run.server()) {
        (Some(client), _) if matches!(client.kind, Kind::ConnectOnly(_)) => {
            Some(banner::client(&client, &sending(&client.common)))
        }
        (Some(client), _) => Some(banner::client(&client, &sending(&client.common))),
        (_, Some(server)) => {
            let place = Place { host: "127.0.0.1", port: port(block), streams: 1, load: 0 };
            // Whose rate that is: 5m in the one transcript of UDP that has it.
            Some(banner::connecting_back(&server.common, &place, Some(Rate::Bits(5_000_000)), &sending(&server.common)))
        }
        _ => None,
    }
}

#[test]
fn values_separated_by_commas() {
    let mut compared = 0;
    for run in transcript::all().iter().filter(|run| run.file.starts_with("09")) {
        for line in run.stdout.lines().filter(|line| line.contains(',')) {
            let row: csv::Row = parse::row(line);
            assert_eq!(row.line().trim_end(), line, "{}", run.file);
            compared += 1;
        }
    }
    assert!(compared >= 20, "only {compared}");
}

#[test]
fn complaints_are_those_of_the_original() {
    let mut compared = 0;
    for run in transcript::of("11-errors.txt") {
        let Err(answer) = run.asked() else { continue };
        let theirs = run.stderr.lines().next().unwrap_or_default();
        // The version's number and what stands behind it are our own; a word that is no option is no warning here.
        let is_own = theirs.starts_with("iperf version") || theirs.contains("unrecognized");
        let ours = answer.stderr.lines().next().unwrap_or_default();
        assert!(is_own || ours == theirs, "{:?}: {ours}\n{theirs}", run.words);
        assert_eq!(answer.status, 1, "{:?}", run.words);
        compared += 1;
    }
    assert!(compared >= 5, "only {compared}");
}

/// Lines of 2.2.1, and one of 2.1.8, with `--isochronous=50:4m,1m`.
#[test]
fn lines_of_frames_are_the_originals() {
    let style = Style::default();
    let carried = |to: u64, bytes_per_s: f64, bytes: f64| Carried {
        tag: Tag::Stream(1),
        span: Span { from: Nanos::ZERO, to: Nanos(to * 100_000) },
        bytes,
        bytes_per_s,
    };
    let frames = Frames { carried: 51, ..Frames::default() };
    let (tcp, udp) = (carried(10_000, 4.02e6 / 8.0, 491.0 * 1024.0), carried(10_000, 4.03e6 / 8.0, 492.0 * 1024.0));
    let sender = Sender { writes: 372, errors: 0, per_second: 372.0 };
    assert_eq!(
        sender.line_of_frames(&udp, &frames, style),
        "[  1] 0.0000-1.0000 sec   492 KBytes  4.03 Mbits/sec  372/0     372 pps   51/0/0\n"
    );
    let writer = Writer {
        writes: 51,
        cwnd_bytes: Some(1_044 * 1_024),
        segment_bytes: 60_000,
        rtt_us: 292,
        deviation_us: 473,
        ..Writer::default()
    };
    assert_eq!(
        writer.line_of_frames(&tcp, &frames, style),
        "[  1] 0.0000-1.0000 sec   491 KBytes  4.02 Mbits/sec  51/0        0     1044K(18)/292(473) us         51/0/0       1721\n"
    );
    let older = Writer { writes: 50, cwnd_bytes: Some(1_151 * 1_024), rtt_us: 79, ..writer };
    assert_eq!(
        older.line_of_frames(
            &carried(10_000, 4.107_368e6 / 8.0, 501.0 * 1024.0),
            &frames,
            Style { form: Form::V2_1_8, ..style }
        ),
        "[  1] 0.0000-1.0000 sec   501 KBytes  4.11 Mbits/sec  50/0        0     1151K/79 us         51/0/0        6499\n"
    );
    let moments = |all: [f64; 4]| Moments { mean_ms: all[0], min_ms: all[1], max_ms: all[2], deviation_ms: all[3] };
    let latency = moments([0.005, 0.0, 0.046, 0.008]);
    let received = Received { jitter_ms: 0.001, total: 372, ..Received::default() };
    let receiver =
        Receiver { received, latency: Some(latency), per_second: 372.0, count: 372, reads: Some(372), timed: true };
    let late = moments([-3.693, -3.797, 0.03, 0.537]);
    assert_eq!(
        receiver.line_of_frames(&udp, &frames, Some(late), style),
        "[  1] 0.0000-1.0000 sec   492 KBytes  4.03 Mbits/sec   0.001 ms 0/372 (0%) 0.005/0.000/0.046/0.008 ms 372 pps  51/0 -3.693/-3.797/0.030/0.537 ms 100750\n"
    );
    assert!(receiver.line_of_frames(&udp, &frames, None, style).ends_with("pps  51/0 -/-/-/- ms  -\n"));
    let bursts = Bursts { count: 50, latency: moments([0.629, 0.066, 23.662, 3.362]), bytes: 10_049 };
    assert_eq!(
        bursts.line_of_frames(&tcp, &Reads([50, 1, 0, 0, 0, 0, 0, 0]), style),
        "[  1] 0.0000-1.0000 sec   491 KBytes  4.02 Mbits/sec  0.629/0.066/23.662/3.362 ms (50/10049) 799  51=50:1:0:0:0:0:0:0\n"
    );
    assert_eq!(
        udp::schedule(Tag::Stream(1), moments([0.109, 0.081, 0.478, 0.06])),
        "[  1] Isoch schedule errors (mean/min/max/stdev) = 0.109/0.081/0.478/0.060 ms\n"
    );
}
