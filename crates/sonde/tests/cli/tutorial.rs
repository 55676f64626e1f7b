//! The screens that the pages show have the form that this program prints. Screens of seconds are made again, over loopback;
//! those of minutes are held by the snapshots of `report`.

use std::fs;
use std::path::Path;

use test_case::test_case;

use crate::serve::Reflector;
use crate::{printed, sonde};

/// The output below the command of a page's block that is marked `<!-- screen: NAME -->`.
fn screen(page: &str, name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
    let text = fs::read_to_string(path).unwrap();
    let mark = format!("<!-- screen: {name} -->\n```console\n$ ");
    let block = text.split(&mark).nth(1).unwrap_or_else(|| panic!("{page} has no screen {name}"));
    let block = block.split("\n```").next().unwrap();
    let (_, output) = block.split_once('\n').unwrap_or_else(|| panic!("{page}: {name} has no output"));
    format!("{output}\n")
}

/// A text with `0` for each number, digits that follow each other being one.
fn form(text: &str) -> String {
    let mut form = String::new();
    for c in text.chars() {
        match c {
            '0'..='9' if form.ends_with('0') => {}
            '0'..='9' => form.push('0'),
            other => form.push(other),
        }
    }
    form
}

/// The headings of a screen's tables of percentiles, without what aligns them.
fn headings(screen: &str) -> Vec<String> {
    let is_heading = |words: &Vec<&str>| {
        let is_name = |word: &&str| word.starts_with('p') || !word.contains(|c: char| c.is_ascii_digit());
        words.contains(&"p50") && words.len() > 2 && words.iter().all(is_name)
    };
    let lines = screen.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines.filter(is_heading).map(|words| words.join(" ")).collect()
}

fn assert_headings(page: &str, name: &str, seen: &str) {
    let expected = headings(&screen(page, name));
    assert!(!expected.is_empty(), "{page}: {name} shows no percentiles");
    let seen_headings = headings(seen);
    for heading in expected {
        assert!(seen_headings.contains(&heading), "{page}: {name} shows `{heading}`, which is not printed:\n{seen}");
    }
}

/// Runs of blanks as one.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The snapshots of `report` in a folder, as one text.
fn snapshots(folder: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/src").join(folder).join("snapshots");
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect()
}

/// Screens that take minutes, a privilege or a broken path: what their lines begin with is what the snapshots of `report` have.
#[test_case("docs/howto/sweep.md", "sweep-decades", "study/sweep", &["interval icmp p50 min … max tcp p50 min … max icmp p99", "min … max of the blocks"]; "a sweep")]
#[test_case("docs/explain/causes.md", "why-udp", "study/why", &["possible cause effect 95 % interval share verdict", "effect: time that the switch saves"]; "causes")]
#[test_case("docs/howto/capture.md", "verify", "", &["on the wire verified on", "round trip p50", "as measured", "captured", "dropped none"]; "a capture")]
#[test_case("docs/howto/ports.md", "check", "", &["route", "ICMP echo answered in", "path MTU", "closed RST ·", "open or filtered no answer in"]; "a check")]
#[test_case("docs/howto/one-way.md", "one-way", "", &["one-way delay", "to the peer", "both ways", "held by peer", "each direction ±", "clock drift"]; "one-way delays")]
#[test_case("docs/store.md", "compare-runs", "run", &["change 95 % interval verdict", "not significant"]; "two runs")]
fn long_screens_have_the_lines_of_the_snapshots(page: &str, name: &str, folder: &str, lines: &[&str]) {
    let (shown, printed) = (plain(&screen(page, name)), plain(&snapshots(folder)));
    for line in lines {
        assert!(shown.contains(line), "{page}: {name} has no `{line}`");
        assert!(printed.contains(line), "{page}: {name} shows `{line}`, which no snapshot of {folder} has");
    }
}

const TUTORIALS: [&str; 2] = ["docs/tutorial.md", "docs/ja/tutorial.md"];

#[test]
fn ping_prints_what_the_tutorial_shows() {
    let seen = printed(&mut sonde(&["ping", "-c", "10", "-i", "0.01", "127.0.0.1"]));
    for page in TUTORIALS {
        // A host that is slow now and then has several requests out at once, which ping says in a word of its own.
        assert_eq!(form(&seen).replace(", pipe 0", ""), form(&screen(page, "ping")), "{page}");
    }
}

#[test]
fn netperf_prints_what_the_tutorial_shows() {
    let folder = tempfile::tempdir().unwrap();
    let mut reflector = Reflector::start(folder.path(), &["--listen", "127.0.0.1", "--netperf", "0"]);
    let address = reflector.netserver();
    let port = address.rsplit(':').next().unwrap();
    let keys = "P50_LATENCY,MEAN_LATENCY,P99_LATENCY,TRANSACTION_RATE";
    let words = ["netperf", "-H", "127.0.0.1", "-p", port, "-t", "TCP_RR", "-l", "1", "--", "-o", keys];
    let seen = printed(&mut sonde(&words));
    for page in TUTORIALS {
        assert_eq!(form(&seen), form(&screen(page, "netperf")), "{page}");
    }
}

#[test]
fn rtt_prints_the_table_that_the_tutorial_shows() {
    let folder = tempfile::tempdir().unwrap();
    let reflector = Reflector::start(folder.path(), &["--listen", "127.0.0.1"]);
    let words = ["rtt", &reflector.address(), "--every", "5ms", "--window", "1", "-c", "200"];
    let seen = printed(sonde(&words).env("COLUMNS", "80"));
    for page in TUTORIALS {
        assert_headings(page, "rtt", &seen);
    }
}

/// Screens of the tutorial on Redis, of a Redis on loopback.
#[test]
fn redis_is_told_as_its_tutorial_shows() {
    const PAGES: [&str; 2] = ["docs/tutorial-redis.md", "docs/ja/tutorial-redis.md"];
    let shown = |name: &str, seen: &str| PAGES.iter().for_each(|page| assert_headings(page, name, seen));
    let Some(redis) = testbed::servers::Place::here().redis(&["--enable-debug-command", "yes"]) else { return };
    let url = format!("redis://127.0.0.1:{}", redis.port);
    let seen = |words: &[&str]| printed(sonde(words).env("COLUMNS", "80"));
    let often = ["-c", "400", "--every", "2ms", "--window", "1", "--force"];
    shown("near", &seen(&[&["rtt", &url][..], &often].concat()));
    shown("phases", &seen(&[&["rtt", &url, "--crr"][..], &often].concat()));
    let port = redis.port.to_string();
    let named = format!("{port}=redis");
    shown("look", &seen(&["127.0.0.1", "-t", "1", "--port", &named]));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mix.toml");
    // The list as the page has it.
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGES[0])).unwrap();
    let list = text.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    fs::write(&path, list.replace("DEBUG SLEEP 0.05", "DEBUG SLEEP 0.001")).unwrap();
    let mix = path.to_str().unwrap();
    let words = ["load", &url, "--mix", mix, "--poisson", "1k/s", "--connections", "4", "-c", "2000", "--force"];
    let seen = seen(&words);
    shown("mix", &seen);
    assert!(plain(&seen).contains("redis mix of 2 requests (reply nil, OK)"), "{seen}");
}

#[test]
fn a_survey_prints_the_table_that_the_pages_show() {
    let folder = tempfile::tempdir().unwrap();
    let reflector = Reflector::start(folder.path(), &["--listen", "127.0.0.1"]);
    let address = reflector.address();
    let port = format!("{}=sonde", address.rsplit(':').next().unwrap());
    let seen = printed(sonde(&["127.0.0.1", "-t", "1", "--port", &port]).env("COLUMNS", "80"));
    for page in ["README.md", "README.ja.md", "docs/tutorial.md", "docs/ja/tutorial.md"] {
        assert_headings(page, "look", &seen);
    }
}
