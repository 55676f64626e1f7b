//! The full log and the histogram.

use test_case::test_case;

use crate::sockperf_pairs::agreement::number;
use crate::sockperf_pairs::ends::ours;
use crate::sockperf_pairs::forms::told;
use crate::sockperf_pairs::rogue::{Rogue, answer};

#[test_case("", 0.5; "half round trips")]
#[test_case("--full-rtt", 1.0; "whole ones")]
fn a_full_log_has_a_row_for_each_observation(option: &str, share: f64) {
    let server = Rogue::start(|_, message| answer(message));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log.csv");
    let words =
        format!("under-load {} --mps 1000 --reply-every 5 {option} --full-log {}", server.words(), path.display());
    let ended = ours(&words);
    assert_eq!(ended.code, Some(0), "{}", ended.told());
    let (text, log) = (told(&ended.stdout), std::fs::read_to_string(&path).expect("written"));
    let figures = "test was performed using the following parameters: --mps=1000 --burst=1 --reply-every=5 --msg-size=14 --time=1";
    assert!(log.contains(figures), "{log}");
    // All lines of the screen but the summary stand there too.
    let result = text.split_once("Test ended\n").expect("printed").1;
    assert!(result.lines().filter(|line| !line.contains("Summary: ")).all(|line| log.contains(line)), "{log}");
    let (_, rows) = log.split_once("packet, txTime(sec), rxTime(sec), ").expect("names");
    let rows: Vec<Vec<f64>> = rows
        .lines()
        .skip(1)
        .take_while(|line| !line.starts_with('-'))
        .map(|line| line.split(", ").map(|figure| figure.parse().expect("a number")).collect())
        .collect();
    let (_, valid) = text.split_once("[Valid Duration]").expect("printed");
    assert_eq!(Some(rows.len() as f64), number(valid, "ReceivedMessages="));
    for (index, row) in rows.iter().enumerate() {
        assert!((row[0] - index as f64).abs() < 0.5, "{row:?}");
        assert!(((row[2] - row[1]) * 1e6 * share - row[3]).abs() < 0.002, "{row:?}");
    }
    let longest = rows.iter().map(|row| row[3]).fold(0.0, f64::max);
    // Half a nanosecond goes one way from seconds and the other from nanoseconds, as in the original.
    let told = number(valid, "<MAX> observation =").expect("printed");
    assert!((longest - told).abs() < 0.0015, "{longest} {told}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("there").count(), 1, "nothing else is left behind");
}

#[test]
fn a_histogram_holds_all_observations() {
    let server = Rogue::start(|_, message| answer(message));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log.csv");
    let words = format!("ping-pong {} --mps 500 --histogram 10:0:100 --full-log {}", server.words(), path.display());
    let ended = ours(&words);
    assert!(ended.code == Some(0) && ended.said("[Histogram] Display"), "{}", ended.told());
    let log = std::fs::read_to_string(&path).expect("written");
    let (_, rows) = log.split_once("frequency\n").expect("a histogram");
    let counts = rows.lines().take_while(|line| !line.starts_with('-'));
    let counts: f64 = counts.filter_map(|line| line.split_whitespace().last()?.parse::<f64>().ok()).sum();
    assert_eq!(Some(counts), number(&ended.stdout, "sockperf: Total"));
}
