//! Sizes of nothing and of a GiB, and windows beyond any buffer.

use std::process::Child;

use test_case::test_case;

use crate::{Ended, SOON, Serve, assert_error, count, memory_kib, rtt, sonde};

#[test_case(&["--size", "0"], "0 B does not fit tcp"; "nothing over tcp")]
#[test_case(&["--size", "2GiB"], "2 GiB does not fit tcp"; "more than tcp takes")]
#[test_case(&["--udp", "--size", "0"], "0 B does not fit udp: from 32"; "nothing over udp")]
#[test_case(&["--udp", "--size", "31"], "31 B does not fit udp: from 32"; "less than the header")]
#[test_case(&["--udp", "--size", "65508"], "does not fit udp: from 32 to 65507"; "more than a datagram")]
#[test_case(&["--udp", "--size", "1GiB"], "1 GiB does not fit udp"; "a GiB in a datagram")]
#[test_case(&["--udp", "--request-size", "64", "--response-size", "65"], "65 B"; "a reply longer than its request")]
#[test_case(&["--window", "0"], "window"; "no window and no schedule")]
fn what_makes_no_sense_is_refused_before_anything_is_sent(words: &[&str], said: &str) {
    let ended = rtt("127.0.0.1:9", words);
    let error = &ended.document()["error"];
    assert_eq!((ended.code, error["side"].as_str()), (Some(2), Some("ours")), "{error:#}");
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
}

/// The most memory a process had, while it can still be asked.
fn peak_of(child: &mut Child) -> u64 {
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        // It may end between the two looks.
        if let Ok(status) = std::fs::read_to_string(format!("/proc/{}/status", child.id())) {
            let line = status.lines().find(|line| line.starts_with("VmHWM"));
            peak = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(peak).max(peak);
        }
        std::thread::yield_now();
    }
    peak
}

#[test]
fn a_gib_each_way_takes_no_more_memory_than_its_pieces() {
    let serve = Serve::start(&[]);
    let words = ["rtt", &serve.address, "--json", "--size", "1GiB", "-c", "1", "--warm-up", "0", "--timeout", "60s"];
    let mut child = sonde(&words).spawn().unwrap();
    let ours = peak_of(&mut child);
    let output = child.wait_with_output().unwrap();
    let record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(count(&record, "answered"), 1, "{:#}", record["outcome"]["counts"]);
    let theirs = memory_kib(serve.child.id(), "VmHWM");
    assert!(ours > 0 && ours < 64 << 10, "{ours} KiB");
    assert!(theirs < 64 << 10, "{theirs} KiB");
}

#[test]
fn what_the_reflector_does_not_take_is_refused_with_its_bound() {
    let serve =
        Serve::start(&["--max-size", "1MiB", "--max-rate", "100/s", "--max-connections", "2", "--max-duration", "1m"]);
    let refused = |words: &[&str], said: &[&str]| assert_error(&serve.address, words, 1, "theirs", said);
    refused(&["--size", "1GiB", "-c", "1"], &["largest request: 1 GiB was asked for, 1 MiB is the limit"]);
    refused(&["--rate", "1k/s", "-c", "1"], &["rate per flow: 1 000/s was asked for, 100/s is the limit"]);
    refused(&["--connections", "3", "-c", "3"], &["flows per session: 3 was asked for, 2 is the limit"]);
    refused(&["-t", "2m"], &["duration: 138 s was asked for, 60 s is the limit", "come on top of -t"]);
    let within = rtt(&serve.address, &["--rate", "190/s", "--connections", "2", "-c", "10", "--warm-up", "0"]);
    assert_eq!(count(&within.record(), "answered"), 10, "two connections share the rate");
}

#[test_case(&["--window", "16", "--size", "1MiB", "-c", "48"], 48; "messages longer than the buffers")]
#[test_case(&["--window", "64", "--size", "16MiB", "-c", "64"], 64; "a GiB on its way")]
#[test_case(&["--window", "10000", "--size", "1kB", "-c", "20000"], 20_000; "ten thousand at once")]
fn a_window_beyond_the_buffers_is_worked_off_on_a_stream(words: &[&str], answered: u64) {
    let serve = Serve::start(&[]);
    let ended = rtt(&serve.address, &[words, &["--warm-up", "1ms", "--timeout", "60s"]].concat());
    assert_eq!((ended.code, count(&ended.record(), "answered")), (Some(0), answered), "{}", ended.stderr);
    let theirs = memory_kib(serve.child.id(), "VmHWM");
    assert!(theirs < 64 << 10, "{theirs} KiB");
}

#[test]
fn a_window_beyond_the_buffers_loses_datagrams_and_counts_them() {
    let serve = Serve::start(&[]);
    let words = ["--udp", "--window", "10000", "--size", "1400", "-t", "1", "--warm-up", "0", "--timeout", "200ms"];
    let ended = rtt(&serve.address, &[&words[..], &["--receive-buffer", "8KiB"]].concat());
    let record = ended.record();
    assert_eq!(ended.code, Some(0));
    assert!(count(&record, "lost") + count(&record, "late") > 0, "{:#}", record["outcome"]["counts"]);
    assert!(count(&record, "answered") > 0);
    assert!(ended.took < SOON, "{:?}", ended.took);
}

#[test]
fn more_connections_than_descriptors_is_our_side() {
    let serve = Serve::start(&[]);
    let program = sonde(&[""; 0]).get_program().to_string_lossy().into_owned();
    let script = format!("ulimit -n 64; exec '{program}' rtt {} --json --connections 200 -c 200", serve.address);
    let ended = Ended::of(std::process::Command::new("sh").args(["-c", &script]));
    let error = &ended.document()["error"];
    assert_eq!((ended.code, error["side"].as_str()), (Some(2), Some("ours")), "{error:#}");
    assert!(ended.stderr.contains("too many open files"), "{}", ended.stderr);
}

/// Recordings that are small for a disk and large for a memory: messages of four octets, and packets each of a flow of its own.
#[test_case(&|| b"0,1\n".repeat(10_000_002), "it has more than 10 000 000 messages", "split -l"; "messages")]
#[test_case(&|| many_flows(1_000_001), "it has more than 1 000 000 flows", "with a filter"; "flows")]
fn a_recording_with_more_in_it_than_is_told_apart_is_refused(content: &dyn Fn() -> Vec<u8>, what: &str, try_it: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("recording");
    std::fs::write(&file, content()).unwrap();
    let mut child = sonde(&["replay", "127.0.0.1:9", file.to_str().unwrap()]).spawn().unwrap();
    let ours = peak_of(&mut child);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(what) && said.contains(try_it), "{said}");
    assert!(ours > 0 && ours < 768 << 10, "{ours} KiB");
}

/// A record as long as one may be, of words of a letter: each takes ten times its octets in memory. The end of a stream of
/// events likewise.
#[test_case(&[]; "printed")]
#[test_case(&["--json"]; "as a document")]
fn a_record_of_millions_of_words_takes_no_gigabyte(how: &[&str]) {
    let serve = Serve::start(&[]);
    let record = rtt(&serve.address, &["-c", "1", "--warm-up", "0"]).record().to_string();
    let words = "\"a\",".repeat(((64 << 20) - record.len()) / 4);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("record.json");
    let long = record.replacen("\"command\":[", &format!("\"command\":[{words}"), 1);
    assert_ne!(long, record);
    std::fs::write(&file, long).unwrap();
    let mut child = sonde(&[&["show", file.to_str().unwrap()], how].concat()).spawn().unwrap();
    let ours = peak_of(&mut child);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("it has more than 6 million values"), "{said}");
    assert!(ours > 0 && ours < 256 << 10, "{ours} KiB");
}

/// A capture of datagrams over bare IP, each between ports and addresses of its own.
fn many_flows(count: u32) -> Vec<u8> {
    let mut capture: Vec<u8> = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101].map(u32::to_le_bytes).concat();
    for number in 0..count {
        capture.extend([0, 0, 29, 29].map(u32::to_le_bytes).concat());
        capture.extend([0x45, 0, 0, 29, 0, 0, 0, 0, 64, 17, 0, 0]);
        capture.extend((0x0a00_0000 + number).to_be_bytes());
        capture.extend([10, 255, 255, 1, 0, 7, 0, 7, 0, 9, 0, 0, b'x']);
    }
    capture
}
