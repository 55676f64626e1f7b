//! Every line of every run of 2.1.8, made again from the values that it printed.

mod parse;

use std::collections::BTreeSet;

use super::banner::{self, Place, Sending, Window};
use super::csv;
use super::heading::{Heading, Headings};
use super::line::Style;
use crate::persona::iperf::options::{Kind, Rate};
use crate::persona::iperf::transcript::{self, Transcript};

const RULE: &str = "------------------------------------------------------------";

/// Lines that are not compared, each with its reason.
fn is_passed_over(run: &Transcript, line: &str) -> bool {
    // What the shell said behind a client.
    line.starts_with("client exit") || line.contains(" flow ")
        // A server of --connect-only tells of connections that never had a number.
        || line.starts_with("(null)")
        // Frames and times of writes are refused here.
        || line.contains("isoch") || line.contains("Frame:rx") || line.contains("write-times")
        || run.words.iter().any(|word| word.contains("isochronous") || word.contains("write-times"))
        || run.file.starts_with("05-") && line.contains("  latency  ")
        // Of an isochronous client, as its server tells of it.
        || run.file.starts_with("05-") && line.starts_with("[  5]")
        // Deviations printed in microseconds under a heading of milliseconds.
        || line.starts_with("[ CT]")
        // A connection that was refused is no connection.
        || line.contains("local 0.0.0.0 port 0")
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
            if line.starts_with("[ ID]") {
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
            if line.starts_with("[ ID]") {
                stands = Some(format!("{line}\n"));
                continue;
            }
            if line.contains("] local ") || line.ends_with("Server Report:") {
                headings.interrupted();
            }
            if let Some(heading) = parse::heading(line) {
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
    let ours: BTreeSet<String> = all.iter().map(|heading| heading.line(Style::default())).collect();
    let mut seen = BTreeSet::new();
    for run in transcript::all() {
        for line in run.stdout.lines().filter(|line| line.starts_with("[ ID]") && !is_passed_over(&run, line)) {
            seen.insert(format!("{line}\n"));
        }
    }
    assert_eq!(ours, seen);
}

#[test]
fn what_is_said_first_is_made_again() {
    let mut compared = 0;
    for run in transcript::all() {
        if run.words.iter().any(|word| word.contains("isochronous") || word.contains("write-times")) {
            continue;
        }
        for block in banners(&run.stdout) {
            let again =
                if block.contains("Server listening") { listening(&run, &block) } else { connecting(&run, &block) };
            let Some(again) = again else { continue };
            assert_eq!(again, block, "{}: {:?}", run.file, run.words);
            compared += 1;
        }
    }
    assert!(compared > 50, "only {compared}");
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
            Some(banner::server(&server, port(block), window(block, server.common.window), pid(block)))
        }
        (_, Some(client)) => Some(banner::waiting(&client, port(block), window(block, None), pid(block))),
        _ => None,
    }
}

fn connecting(run: &Transcript, block: &str) -> Option<String> {
    let sending = |common: &crate::persona::iperf::options::Common| Sending {
        window: window(block, common.window),
        mss_bytes: common.display.mss.then_some(536),
        length: common.bytes(false),
        pid: pid(block),
    };
    match (run.client(), run.server()) {
        (Some(client), _) if matches!(client.kind, Kind::ConnectOnly(_)) => {
            Some(banner::client(&client, &sending(&client.common)))
        }
        (Some(client), _) => Some(banner::client(&client, &sending(&client.common))),
        (_, Some(server)) => {
            let place = Place { host: "127.0.0.1", port: port(block), streams: 1 };
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
