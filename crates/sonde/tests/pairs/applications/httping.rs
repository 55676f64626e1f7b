//! Our httping beside the original, before the same nginx: both print lines of one form. And our tcping, which has no original here.

use std::path::Path;
use std::process::Command;

use test_case::test_case;
use testbed::servers::Server;
use testbed::{port, process, skip};

use super::LIMIT;
use super::real;
use super::secured::good;

const ORIGINAL: &str = "/usr/bin/httping";

/// Standard output, standard error and exit status.
type Said = (String, String, Option<i32>);

fn ours(name: &str, words: &[&str]) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sonde"));
    command.arg(name).args(words);
    let ended = process::ended(&mut command, LIMIT);
    (ended.stdout, ended.stderr, ended.code)
}

/// The output of both for the same words; `None`, said aloud, where the original is not installed.
fn both(words: &[&str]) -> Option<[Said; 2]> {
    if !Path::new(ORIGINAL).exists() {
        skip::aloud("httping is not installed: our httping was not held against it");
        return None;
    }
    let mut command = Command::new(ORIGINAL);
    command.args(words);
    let ended = process::ended(&mut command, LIMIT);
    Some([ours("httping", words), (ended.stdout, ended.stderr, ended.code)])
}

/// The text with one `N` for each number, and one blank for several: `-` before a number and a part that is not known are numbers too.
fn form(text: &str) -> String {
    let text = text.replace("n/a", "0.00").replace("= ", "=").replace("+ ", "+");
    let mut form = String::new();
    for sign in text.chars() {
        let sign = if sign.is_ascii_digit() { 'N' } else { sign };
        let again = matches!(sign, 'N' | ' ') && form.ends_with(sign);
        if !again {
            form.push(sign);
        }
    }
    form.replace("+ ", "+").replace("= ", "=").replace("(-N", "(N")
}

fn nginx() -> Option<(Server, String)> {
    let server = real::nginx("")?;
    let url = format!("http://127.0.0.1:{}/health", server.port);
    Some((server, url))
}

#[test_case(&[], Some(0); "the usual lines")]
#[test_case(&["-s"], Some(0); "the status")]
#[test_case(&["-S"], Some(0); "the parts")]
#[test_case(&["-s", "-S", "-G"], Some(0); "both, of GET")]
#[test_case(&["-G", "-b"], Some(0); "a rate")]
#[test_case(&["-G", "-b", "-X", "-s"], Some(0); "a rate, a size and the status")]
#[test_case(&["-m"], Some(0); "for machines")]
#[test_case(&["-m", "-s"], Some(0); "for machines, the status")]
#[test_case(&["-q"], Some(0); "nothing")]
#[test_case(&["-f"], Some(0); "without a wait")]
#[test_case(&["-r", "-Z", "-I", "me", "-R", "http://a/"], Some(0); "fields")]
fn both_print_lines_of_one_form(words: &[&str], code: Option<i32>) {
    let Some((_server, url)) = nginx() else { return };
    let words = [&["-g", &url, "-c", "3", "-i", "0.1"], words].concat();
    let Some([ours, original]) = both(&words) else { return };
    assert_eq!((form(&ours.0), ours.2, ours.1.as_str()), (form(&original.0), original.2, ""), "{ours:?} {original:?}");
    assert_eq!(ours.2, code, "{ours:?}");
}

/// The size of a head is the same to both, and statuses other than 200 fail where they are shown.
#[test_case("/busy", &["-s"], Some(127); "a status that is shown")]
#[test_case("/busy", &[], Some(0); "one that is not")]
#[test_case("/busy", &["-m"], Some(0); "one for machines")]
#[test_case("/busy", &["-m", "-s"], Some(127); "one for machines that is shown")]
fn other_statuses_are_counted_alike(path: &str, words: &[&str], code: Option<i32>) {
    let Some((_server, url)) = nginx() else { return };
    let url = url.replace("/health", path);
    let Some([ours, original]) = both(&[&["-g", &url, "-c", "2", "-i", "0.1"], words].concat()) else { return };
    // Its phrase is the server's own there, and the standard's here.
    let theirs = original.0.replace("503 Service Temporarily Unavailable", "503 Service Unavailable");
    assert_eq!((form(&ours.0), ours.2, code), (form(&theirs), original.2, code), "{ours:?} {original:?}");
    let heads = |text: &str| {
        text.lines()
            .filter_map(|line| Some(line.split_once('(')?.1.split_once(" bytes")?.0.to_owned()))
            .collect::<Vec<_>>()
    };
    // A reply to HTTP/1.1 says `keep-alive` where one to 1.0 says `close`.
    assert_eq!(heads(&ours.0).len(), heads(&original.0).len());
}

#[test]
fn a_server_that_is_not_there_is_told_alike_each_time() {
    let url = format!("http://127.0.0.1:{}/", port::free());
    let Some([ours, original]) = both(&["-g", &url, "-c", "2", "-i", "0.1"]) else { return };
    assert_eq!((form(&ours.0), ours.2), (form(&original.0), original.2));
    assert!(ours.0.contains("could not connect (Connection refused)\n\n") && ours.2 == Some(127), "{ours:?}");
}

#[test]
fn one_through_tls_is_verified_and_the_original_verifies_nobody() {
    let signed = good();
    let Some(server) = real::nginx(&signed.of_nginx("")) else { return };
    let url = format!("https://127.0.0.1:{}/health", server.port);
    let words = ["-g", &url, "-c", "2", "-i", "0.1", "-S"];
    let Some([refused, original]) = both(&words) else { return };
    assert!(refused.2 == Some(1) && refused.1.contains("--ca"), "{refused:?}");
    let ca = signed.text("ca.pem");
    for more in [&["--ca", &ca][..], &["--insecure"]] {
        let verified = ours("httping", &[&words, more].concat());
        assert_eq!((form(&verified.0), verified.2), (form(&original.0), original.2), "{verified:?}");
    }
}

#[test]
fn the_parts_of_a_time_are_its_sum_and_the_record_is_kept() {
    let Some((_server, url)) = nginx() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.json").display().to_string();
    let (stdout, stderr, code) = ours("httping", &[&url, "-c", "5", "-i", "0.05", "-S", "--record", &path]);
    assert_eq!(code, Some(0), "{stderr}");
    let lines: Vec<&str> = stdout.lines().filter(|line| line.starts_with("connected")).collect();
    assert_eq!(lines.len(), 5, "{stdout}");
    for line in lines {
        let (parts, whole) = line.split_once("time=").unwrap().1.trim_end_matches(" ms ").rsplit_once('=').unwrap();
        let parts: f64 = parts.split('+').filter_map(|part| part.trim().parse::<f64>().ok()).sum();
        let whole: f64 = whole.trim().parse().unwrap();
        assert!((parts - whole).abs() < 0.021, "rounded parts and their sum: {line}");
    }
    let record: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(record["outcome"]["counts"]["answered"], 5);
}

#[test]
fn tcping_tells_of_each_handshake() {
    let Some((server, _)) = nginx() else { return };
    let open = server.port.to_string();
    let (stdout, stderr, code) = ours("tcping", &["127.0.0.1", &open, "-c", "3", "-i", "0.05"]);
    assert_eq!((stderr.as_str(), code), ("", Some(0)), "{stdout}");
    let place = "N.N.N.N[N]";
    let line = format!("Connected to {place}: seq=N time=N.N ms\n");
    let summary = format!(
        "\n--- {place} tcping statistics ---\nN connections, N successed, N failed, N.N% success rate\n\
         minimum = N.Nms, maximum = N.Nms, average = N.Nms\n"
    );
    let expected = form(&[line.repeat(3), summary].concat());
    assert_eq!(form(&stdout), expected, "{stdout}");
    let closed = port::free().to_string();
    let (stdout, _, code) = ours("tcping", &["-p", &closed, "127.0.0.1", "-c", "2", "-i", "0.05"]);
    assert_eq!(code, Some(1), "{stdout}");
    assert!(stdout.contains("seq=2 connection refused\n") && stdout.contains("0.00% success rate\n"), "{stdout}");
    assert!(!stdout.contains("minimum"), "no time of what was not made: {stdout}");
}
