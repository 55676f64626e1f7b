//! `--write-out`: a text of each request, of played servers whose delays and faults are known.

use std::fs;
use std::io::Write;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use test_case::test_case;
use testbed::process;

use super::played::{OK, planted, request, server};
use super::{LIMIT, refused};

/// A time that a server lets pass.
const PLANTED: Duration = Duration::from_millis(30);

/// Standard output, standard error and exit status of a `sonde rtt` with these words.
fn said(words: &[&str]) -> (String, String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sonde"));
    command.arg("rtt").args(words);
    let ended = process::ended(&mut command, LIMIT);
    (ended.stdout, ended.stderr, ended.code)
}

#[test_case(PLANTED, Duration::ZERO; "before the first octet")]
#[test_case(Duration::ZERO, PLANTED; "between the first and the last")]
fn a_delay_of_the_server_lies_between_the_steps_that_it_was_between(before: Duration, within: Duration) {
    let (url, _) = server("http", move |mut stream| {
        stream.set_nodelay(true)?;
        if !request(&mut stream)? {
            return Ok(());
        }
        let (head, body) = OK.split_at(OK.len() - 1);
        planted(before);
        stream.write_all(head)?;
        planted(within);
        stream.write_all(body)
    });
    let template = "%{seq} %{fate} %{http_code} %{size_download} %{num_connects} %{time_connect} %{time_pretransfer} \
                    %{time_posttransfer} %{time_starttransfer} %{time_total}\\n";
    let (lines, stderr, code) =
        said(&[&url, "--crr", "-c", "12", "--every", "100ms", "--warm-up", "0", "-q", "--write-out", template]);
    assert_eq!((lines.lines().count(), code), (12, Some(0)), "{lines}{stderr}");
    let mut parts = Vec::new();
    for (number, line) in lines.lines().enumerate() {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(words[..5], [&number.to_string(), "answered", "200", "2", "1"], "{line}");
        let times: Vec<f64> = words[5..].iter().map(|time| time.parse().unwrap()).collect();
        assert!(times.is_sorted() && times[0] > 0.0, "each time is later than the one before: {line}");
        parts.push((times[3] - times[1], times[4] - times[3]));
    }
    let planted = PLANTED.as_secs_f64();
    if within.is_zero() {
        // The request goes before the server lets time pass.
        assert!(parts.iter().all(|(wait, _)| *wait >= planted), "{lines}");
        assert!(parts.iter().any(|(_, receive)| *receive < planted / 2.0), "{lines}");
    } else {
        // Where this end is late to see the first octet, the rest of the reply seems shorter: not in all requests.
        assert!(parts.iter().any(|(wait, receive)| *receive >= planted && *wait < planted / 2.0), "{lines}");
    }
}

#[test]
fn a_request_without_a_reply_has_the_steps_that_it_had() {
    // The first is the trial; each after it is closed in place of a reply, or refused in words.
    let seen = AtomicU64::new(0);
    let (url, _) = server("http", move |mut stream| {
        let number = seen.fetch_add(1, Ordering::SeqCst);
        if !request(&mut stream)? {
            return Ok(());
        }
        match number {
            0 => stream.write_all(OK),
            1 => Ok(()),
            _ => stream.write_all(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"),
        }
    });
    let template = "%{fate}|%{http_code}|%{num_connects}|%{time_namelookup}%{time_appconnect}|%{time_total}\\n";
    let (lines, stderr, code) = said(&[&url, "--crr", "-c", "2", "--warm-up", "0", "--write-out", template]);
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!((lines.len(), lines[0], code), (2, "refused||1||", Some(1)), "{lines:?} {stderr}");
    assert!(lines[1].starts_with("refused|503|1||0."), "{lines:?}");
}

#[test]
fn a_template_may_stand_in_a_file_and_the_record_beside_it() {
    let (url, _) = server("http", |mut stream| {
        request(&mut stream)?;
        stream.write_all(OK)
    });
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("form"), "%{remote_ip} %{response_code}%%\n").unwrap();
    let template = format!("@{}", path("form"));
    let words = [&url[..], "--crr", "-c", "3", "--warm-up", "0", "-o", &path("r.json"), "--write-out", &template];
    let (lines, stderr, code) = said(&words);
    assert_eq!((lines.as_str(), code), ("127.0.0.1 200%\n127.0.0.1 200%\n127.0.0.1 200%\n", Some(0)), "{stderr}");
    let record: serde_json::Value = serde_json::from_slice(&fs::read(path("r.json")).unwrap()).unwrap();
    assert_eq!(record["outcome"]["counts"]["answered"], 3);
}

#[test_case(&["http://127.0.0.1:1", "--write-out", "x"], "add --crr"; "connections that are kept")]
#[test_case(&["127.0.0.1", "--crr", "--write-out", "x"], "is for programs at work"; "no program at work")]
#[test_case(&["redis://127.0.0.1", "--crr", "--write-out", "%{http_code}"], "write %{reply}"; "a status of Redis")]
#[test_case(&["http://127.0.0.1:1", "--crr", "--write-out", "%{time_totl}"], "did you mean %{time_total}?"; "a typing error")]
#[test_case(&["http://127.0.0.1:1", "--crr", "--write-out", "@/nowhere/form"], "No such file"; "no file")]
#[test_case(&["http://127.0.0.1:1", "--crr", "--write-out", "x", "--json"], "cannot be used with"; "two forms of a result")]
fn what_cannot_be_written_is_refused(words: &[&str], told: &str) {
    let said = refused(words);
    assert!(said.contains(told), "{said}");
}
